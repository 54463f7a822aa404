#include "cli/mcp_rpc.h"

/* ---- lines ----------------------------------------------------------------------------------- */

static void give_line(ak_rpc_lines *lines, ak_rpc_line_visitor visit, void *context)
{
    if (lines->too_long) {
        visit(context, NULL, 0);
    } else if (strspn(lines->line.data, " \t\r") < lines->line.length) {
        visit(context, lines->line.data, lines->line.length);
    }
    lines->too_long = false;
    ak_buf_clear(&lines->line);
}

void ak_rpc_feed(ak_rpc_lines *lines, const char *bytes, size_t count, ak_rpc_line_visitor visit,
                 void *context)
{
    while (count > 0) {
        const char *end = memchr(bytes, '\n', count);
        size_t part = end == NULL ? count : (size_t)(end - bytes);
        if (lines->line.length + part > AK_RPC_LINE_MAX) {
            lines->too_long = true;
        }
        if (!lines->too_long) {
            ak_buf_append(&lines->line, bytes, part);
            lines->too_long = ak_buf_status(&lines->line, NULL) != AK_OK;
        }
        if (end == NULL) {
            return;
        }
        give_line(lines, visit, context);
        bytes += part + 1;
        count -= part + 1;
    }
}

void ak_rpc_feed_end(ak_rpc_lines *lines, ak_rpc_line_visitor visit, void *context)
{
    give_line(lines, visit, context);
    ak_buf_free(&lines->line);
}

/* ---- what comes in --------------------------------------------------------------------------- */

ak_rpc_code ak_rpc_parse(json_t **out, const char *line, size_t length, ak_error *err)
{
    if (line == NULL) {
        (void)ak_fail(err, AK_LIMIT, "this line is longer than 1 MiB; send less at once");
        return AK_RPC_NO_REQUEST;
    }
    return ak_json_parse(out, line, length, "this line", err) == AK_OK ? AK_RPC_OK : AK_RPC_NO_JSON;
}

ak_rpc_code ak_rpc_read(ak_rpc_message *out, const json_t *value, ak_error *err)
{
    *out = (ak_rpc_message){0};
    const char *fault = NULL;
    const json_t *id = json_object_get(value, "id");
    const json_t *version = json_object_get(value, "jsonrpc");
    const json_t *method = json_object_get(value, "method");
    out->id = json_is_string(id) || json_is_integer(id) ? id : NULL;
    out->method = json_is_string(method) ? json_string_value(method) : "";
    out->params = json_object_get(value, "params");
    bool response = method == NULL && (json_object_get(value, "result") != NULL ||
                                       json_object_get(value, "error") != NULL);
    if (!json_is_object(value)) {
        fault = "a message must be an object";
    } else if (!json_is_string(version) || strcmp(json_string_value(version), "2.0") != 0) {
        fault = "\"jsonrpc\" must be \"2.0\"";
    } else if (id != NULL && out->id == NULL) {
        fault = "\"id\" must be a text or a whole number";
    } else if (response) {
        out->id = NULL;
    } else if (!json_is_string(method)) {
        fault = "\"method\" must be a text";
    } else if (out->params != NULL && !json_is_object(out->params)) {
        (void)ak_fail(err, AK_INVALID, "\"params\" must be an object");
        return AK_RPC_BAD_PARAMS;
    }
    if (fault != NULL) {
        (void)ak_fail(err, AK_INVALID, "%s", fault);
        return AK_RPC_NO_REQUEST;
    }
    return AK_RPC_OK;
}

/* ---- what goes out --------------------------------------------------------------------------- */

static json_t *id_of(const json_t *id)
{
    return id == NULL ? json_null() : json_deep_copy(id);
}

json_t *ak_rpc_result(const json_t *id, json_t *result)
{
    return json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id", id_of(id), "result", result);
}

json_t *ak_rpc_error(const json_t *id, ak_rpc_code code, const char *text)
{
    return json_pack("{s:s, s:o, s:{s:i, s:o}}", "jsonrpc", "2.0", "id", id_of(id), "error", "code",
                     (int)code, "message", ak_json_shown(text));
}

json_t *ak_rpc_notice(const char *method, json_t *params)
{
    return json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params", params);
}
