/*
 * mcp_rpc.h: splits bytes into lines, parses lines as JSON-RPC 2.0 messages, and makes replies.
 * These functions read and write no stream. Nothing that the client sends is trusted: the length of
 * lines is limited, and a line that is not a message gets the error that the standard prescribes.
 */
#ifndef AK_CLI_MCP_RPC_H
#define AK_CLI_MCP_RPC_H

#include "base/json.h"

#define AK_RPC_LINE_MAX (1u << 20) /* bytes of a line from the client */

/* Codes of https://www.jsonrpc.org/specification, except the last three: NO_RESOURCE and
   NO_REVISION come from the Model Context Protocol, and BUSY is in the range that the specification
   leaves to servers. */
typedef enum ak_rpc_code {
    AK_RPC_OK = 0,
    AK_RPC_NO_JSON = -32700,
    AK_RPC_NO_REQUEST = -32600,
    AK_RPC_NO_METHOD = -32601,
    AK_RPC_BAD_PARAMS = -32602,
    AK_RPC_INTERNAL = -32603,
    AK_RPC_NO_RESOURCE = -32002,
    AK_RPC_NO_REVISION = -32022,
    AK_RPC_BUSY = -32000
} ak_rpc_code;

/* Splits bytes, which come in pieces of any length, into lines. ak_rpc_feed passes each whole line
   to `visit`, without its line break, and skips blank lines. For a line that is longer than
   AK_RPC_LINE_MAX, or for which there is no memory, it passes NULL once. Start from
   AK_RPC_LINES_INIT. */
typedef struct ak_rpc_lines {
    ak_buf line;
    bool too_long;
} ak_rpc_lines;
#define AK_RPC_LINES_INIT                                                                          \
    {                                                                                              \
        .line = AK_BUF(AK_RPC_LINE_MAX)                                                            \
    }
typedef void (*ak_rpc_line_visitor)(void *context, const char *line, size_t length);
void ak_rpc_feed(ak_rpc_lines *lines, const char *bytes, size_t count, ak_rpc_line_visitor visit,
                 void *context);
/* Passes on the last line if it has no line break, and frees what `lines` holds. */
void ak_rpc_feed_end(ak_rpc_lines *lines, ak_rpc_line_visitor visit, void *context);

/* A request, or a notification if `id` is NULL. The members are borrowed from the value that was
   read. */
typedef struct ak_rpc_message {
    const json_t *id; /* a text or a whole number */
    const char *method;
    const json_t *params; /* an object or NULL */
} ak_rpc_message;

/* Parses a line (NULL: it was too long). Returns AK_RPC_OK and the value in *out, which the caller
   releases, or the code of the error to reply. */
ak_rpc_code ak_rpc_parse(json_t **out, const char *line, size_t length, ak_error *err);
/* Reads one message. `out->id` is set if it can be read, even on failure. A response is read as a
   notification with an empty method, because the server sends no requests. */
ak_rpc_code ak_rpc_read(ak_rpc_message *out, const json_t *value, ak_error *err);

/* Make the messages to send. They take ownership of `result` and `params` and return NULL if there
   is no memory. */
json_t *ak_rpc_result(const json_t *id, json_t *result);
json_t *ak_rpc_error(const json_t *id, ak_rpc_code code, const char *text);
json_t *ak_rpc_notice(const char *method, json_t *params);

#endif
