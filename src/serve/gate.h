/*
 * gate.h: decides which requests the dashboard answers.
 *
 * A page of a foreign site that runs in the user's browser can send requests to this machine. Three
 * rules keep such a page out. The Host of a request must be localhost, 127.0.0.1, [::1] or the
 * address that the server listens at, so a name that an attacker points at this machine is refused.
 * The Origin, if the request has one, must be the dashboard itself. The header Sec-Fetch-Site must
 * not name another site, unless the request opens a page, as a link does. With a token, any Host is
 * accepted, but a request without the token is refused.
 */
#ifndef AK_SERVE_GATE_H
#define AK_SERVE_GATE_H

/* The parts of a request that the decision depends on. NULL: the request has no such part; `method`
   is never NULL. */
typedef struct ak_gate_request {
    const char *method, *host, *origin, *site, *mode; /* site, mode: the Sec-Fetch headers */
    const char *authorization, *cookie, *argument;    /* where a token may be */
} ak_gate_request;

typedef struct ak_gate {
    const char *address; /* the server's own address, accepted as a Host; NULL: none */
    unsigned port;
    const char *token; /* NULL: no token is needed */
} ak_gate;

/* Returns 200, or the HTTP status of a refusal. *why is the reason in one line, a constant text; it
   is empty for 200. */
unsigned ak_gate_check(const char **why, const ak_gate *gate, const ak_gate_request *request);

#endif
