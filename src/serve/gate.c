#include "serve/guests.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"

/* Returns whether `host` is NAME:PORT. The port may be missing if it is 80, the default of HTTP. */
static bool is_name_of(const char *host, const char *name, unsigned port)
{
    char with_port[64];
    (void)snprintf(with_port, sizeof with_port, "%s:%u", name, port);
    return ak_ascii_equal(host, with_port) || (port == 80 && ak_ascii_equal(host, name));
}

static bool is_local(const char *host, const ak_gate *gate)
{
    const unsigned port = gate->port;
    return is_name_of(host, "127.0.0.1", port) || is_name_of(host, "localhost", port) ||
           is_name_of(host, "[::1]", port) ||
           (gate->address != NULL && is_name_of(host, gate->address, port));
}

/* Compares in constant time: the loop always runs over the whole token, so the duration does not
   tell how much of a guess is right. */
static bool same_token(const char *token, const char *given)
{
    size_t length = strlen(token), other = given == NULL ? 0 : strlen(given);
    unsigned char difference = length == other ? 0 : 1;
    for (size_t i = 0; i < length; i++) {
        difference |= (unsigned char)(token[i] ^ (other > 0 ? given[i % other] : 0));
    }
    return difference == 0;
}

static bool knows_token(const char *token, const ak_gate_request *request)
{
    static const char bearer[] = "Bearer ";
    const char *given = request->authorization;
    bool has_bearer = given != NULL && strncmp(given, bearer, sizeof bearer - 1) == 0;
    return same_token(token, has_bearer ? given + sizeof bearer - 1 : NULL) ||
           same_token(token, request->cookie) || same_token(token, request->argument);
}

unsigned ak_gate_check(const char **why, const ak_gate *gate, const ak_gate_request *request)
{
    static const char http[] = "http://";
    const char *host = request->host, *origin = request->origin, *site = request->site;
    *why = "";
    if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0) {
        *why = "the dashboard only shows: GET is all it answers";
        return 405;
    }
    if (host == NULL || (gate->token == NULL && !is_local(host, gate))) {
        *why = "the Host of this request is not this machine";
        return 403;
    }
    if (origin != NULL && (strncmp(origin, http, sizeof http - 1) != 0 ||
                           !ak_ascii_equal(origin + sizeof http - 1, host))) {
        *why = "another site asks: its Origin is not the dashboard";
        return 403;
    }
    bool link = request->mode != NULL && strcmp(request->mode, "navigate") == 0;
    if (site != NULL && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0 && !link) {
        *why = "another site asks";
        return 403;
    }
    if (gate->token != NULL && !knows_token(gate->token, request)) {
        *why = "this dashboard wants its token: open /?token=...";
        return 401;
    }
    return 200;
}
