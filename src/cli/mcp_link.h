/*
 * mcp_link.h: the two pipes of `autokernel mcp`, and the messages that come while a tool works.
 *
 * A thread reads standard input. It answers pings and lines that are not JSON at once, notes
 * cancellations, watches the deadline and queues other messages, which the caller takes one by one.
 * A request for which the queue has no room is refused; any other message is then dropped. Only
 * messages go to standard output: what other code prints there is redirected to standard error.
 */
#ifndef AK_CLI_MCP_LINK_H
#define AK_CLI_MCP_LINK_H

#include "cli/mcp_rpc.h"

/* Limit on the messages that wait while a request is under way, and on those in a batch, whose
   replies are kept until the last one is there. */
#define AK_MCP_WAITING_MAX 64

typedef struct ak_mcp_link ak_mcp_link;

/* The reason why a request must end before its work is done; AK_MCP_GO: it need not. */
typedef enum ak_mcp_stop {
    AK_MCP_GO,
    AK_MCP_CANCELLED, /* the client cancelled it and wants no reply */
    AK_MCP_TIME,      /* the deadline has passed */
    AK_MCP_END        /* the client has gone, or a signal came */
} ak_mcp_stop;

ak_status ak_mcp_link_open(ak_mcp_link **out, ak_error *err);
void ak_mcp_link_close(ak_mcp_link *link);

/* Waits for the next message and returns it; NULL after a signal, or at the end of the input once
   no message waits. The message belongs to the link and lives until the next one is taken, because
   the reader's thread compares cancellations with its id. The request of the message is then under
   way. */
const json_t *ak_mcp_link_take(ak_mcp_link *link);
/* Puts another request of a batch under way. `id` must live until the next request is under way. */
void ak_mcp_link_begin(ak_mcp_link *link, const json_t *id);
/* Sends a message and takes ownership of it. A reply above 64 MiB is replaced by an error, and
   after a signal the rest is not sent. NULL, the result of functions that found no memory for a
   message, is ignored. */
void ak_mcp_link_send(ak_mcp_link *link, json_t *message);

/* These functions concern the request under way. _stopped returns why it must end, or AK_MCP_GO.
   _cancel returns a pointer to the same value, for ak_task_set_cancel; it may change at any time.
   _deadline sets the time (ak_clock_ns) at which the request must end. */
ak_mcp_stop ak_mcp_link_stopped(const ak_mcp_link *link);
const volatile int *ak_mcp_link_cancel(const ak_mcp_link *link);
void ak_mcp_link_deadline(ak_mcp_link *link, int64_t at_ns);

/* Sends the progress of the request under way, `done` of `total`, with this token. Nothing is sent
   if the token is NULL, because the client wants no progress, or if the client has cancelled the
   request. */
void ak_mcp_link_progress(ak_mcp_link *link, const json_t *token, double done, double total,
                          const char *text);
/* Sends progress without a total every second until the request must end or the next one is under
   way, for work whose end cannot be estimated. `token` and `text` must live until then. A call with
   a NULL token ends it earlier. */
void ak_mcp_link_tick(ak_mcp_link *link, const json_t *token, const char *text);

#endif
