/*
 * fuzz_mcp.c: reads any bytes as what a client sends to `autokernel mcp`, in pieces whose size
 * the first byte chooses. Each line becomes a message or an error, and either gets a reply of one
 * line.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/mcp_rpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool good)
{
    if (!good) {
        abort();
    }
}

static void take_line(void *context, const char *line, size_t length)
{
    ak_error err = AK_ERROR_INIT;
    ak_rpc_message message = {0};
    ak_buf text = AK_BUF(1 << 22);
    json_t *value = NULL;
    size_t *lines = context;
    demand(line == NULL || (length > 0 && length <= AK_RPC_LINE_MAX));
    demand(line == NULL || memchr(line, '\n', length) == NULL);
    ak_rpc_code code = ak_rpc_parse(&value, line, length, &err);
    demand((code == AK_RPC_OK) == (value != NULL));
    if (code == AK_RPC_OK) {
        code = ak_rpc_read(&message, value, &err);
        demand(code != AK_RPC_OK || message.method != NULL);
        demand(message.id == NULL || json_is_string(message.id) || json_is_integer(message.id));
    }
    demand(code == AK_RPC_OK || err.text[0] != 0);
    json_t *reply = code == AK_RPC_OK ? ak_rpc_result(message.id, ak_json_shown(message.method))
                                      : ak_rpc_error(message.id, code, err.text);
    ak_json_print(&text, reply, false);
    demand(reply != NULL && ak_buf_status(&text, NULL) == AK_OK);
    demand(memchr(text.data, '\n', text.length) == NULL);
    ak_buf_free(&text);
    json_decref(reply);
    json_decref(value);
    ++*lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ak_rpc_lines lines = AK_RPC_LINES_INIT;
    size_t count = 0, breaks = 0, piece = size > 0 ? 1 + data[0] % 64u : 1;
    for (size_t at = size > 0 ? 1 : 0; at < size; at += piece) {
        size_t part = size - at < piece ? size - at : piece;
        ak_rpc_feed(&lines, (const char *)data + at, part, take_line, &count);
    }
    ak_rpc_feed_end(&lines, take_line, &count);
    for (size_t at = 1; at < size; at++) {
        breaks += data[at] == '\n';
    }
    demand(count <= breaks + 1);
    return 0;
}
