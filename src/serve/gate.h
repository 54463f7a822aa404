/*
 * gate.h: decides which requests the dashboard answers.
 *
 * A page of a foreign site that runs in the user's browser can send requests to this machine. Three
 * rules keep such a page out. The Host of a request must be localhost, 127.0.0.1, [::1] or the
 * address that the server listens at, so a name that an attacker points at this machine is refused.
 * The Origin, if the request has one, must be the dashboard itself. The header Sec-Fetch-Site must
 * not name another site, unless the user follows a link. With a token, any Host is accepted, but a
 * request without the token is refused.
 */
#ifndef AK_SERVE_GATE_H
#define AK_SERVE_GATE_H

/* The parts of a request that decide; NULL: the request has none. */
typedef struct ak_gate_request {
    const char *method, *host, *origin, *site, *mode; /* site, mode: the Sec-Fetch headers */
    const char *authorization, *cookie, *argument;    /* where a token may be */
} ak_gate_request;

typedef struct ak_gate {
    const char *address; /* the server's own address, accepted as a Host; NULL: none */
    unsigned port;
    const char *token; /* NULL: no token is needed */
} ak_gate;

/* Returns the HTTP status: 200, or that of a refusal; *why is then the reason in one line. */
unsigned ak_gate_check(const char **why, const ak_gate *gate, const ak_gate_request *request);

#endif
