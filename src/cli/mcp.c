/* mcp.c: handles the messages of a session; see mcp.h. */
#include "cli/mcp.h"

#include "base/alloc.h"
#include "cli/options.h"

/* Revisions of the protocol, newest first: https://modelcontextprotocol.io/specification. Their
   names are dates, so strcmp orders them. The newest revision has no sessions: each request names
   the revision. In all others, a session begins with "initialize". */
#define NEWEST     "2026-07-28"
#define TOOL_FAULT "2025-11-25" /* from here on a tool's result reports wrong arguments */
#define STRUCTURED "2025-06-18" /* from here on results have structured content */
#define BATCHES    "2025-03-26" /* the only revision with batches of messages */
static const char *const revisions[] = {NEWEST, TOOL_FAULT, STRUCTURED, BATCHES, "2024-11-05"};
#define REVISIONS (AK_COUNT(revisions))
/* Members of "_meta" in requests and results of the newest revision. */
#define META_VERSION      "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_SERVER       "io.modelcontextprotocol/serverInfo"
/* How long, in ms, a client may cache a list. The tools do not change while the server runs, and
   the files of kernels seldom do. */
#define KEEP_MS 3600000

static const char instructions[] =
    "autokernel measures configurations of compute kernels: it compiles them, checks every result "
    "against a reference in double precision and times them. Begin with list_kernels and "
    "describe_space. Propose configurations with measure, a few at a time: those that are invalid "
    "or fail come back with the reason. The intervals say what is noise. Before you call one "
    "faster, let compare measure both interleaved and read the verdict. Everything that was "
    "measured stays in the archive (history, best). Whoever started this server set how many "
    "configurations may be measured and for how long; results say what is left.";

/* A method. It returns AK_RPC_OK and its result (NULL for a notification), or the code of an
   error. */
typedef ak_rpc_code (*method_run)(json_t **result, ak_mcp *mcp, const ak_rpc_message *message,
                                  ak_error *err);

static ak_rpc_code no_memory(ak_error *err)
{
    (void)ak_fail_memory(err);
    return AK_RPC_INTERNAL;
}

static ak_rpc_code give(json_t **result, json_t *value, ak_error *err)
{
    *result = value;
    return value == NULL ? no_memory(err) : AK_RPC_OK;
}

static bool since(const ak_mcp *mcp, const char *revision)
{
    return mcp->revision != NULL && strcmp(mcp->revision, revision) >= 0;
}

/* ---- beginning ------------------------------------------------------------------------------- */

static json_t *capabilities(void)
{
    return json_pack("{s:{s:b}, s:{s:b, s:b}}", "tools", "listChanged", 0, "resources",
                     "listChanged", 0, "subscribe", 0);
}

static json_t *server(void)
{
    return json_pack("{s:s, s:s, s:s}", "name", "autokernel", "title", "autokernel", "version",
                     ak_version());
}

static ak_rpc_code initialize(json_t **result, ak_mcp *mcp, const ak_rpc_message *message,
                              ak_error *err)
{
    const char *wanted = ak_json_text_or_null(message->params, "protocolVersion");
    if (mcp->revision != NULL) {
        (void)ak_fail(err, AK_INVALID, "initialize: this session is initialized already");
        return AK_RPC_NO_REQUEST;
    }
    if (wanted == NULL) {
        (void)ak_fail(err, AK_INVALID, "initialize: \"protocolVersion\" must be a text");
        return AK_RPC_BAD_PARAMS;
    }
    mcp->revision = revisions[1]; /* the newest that has sessions */
    for (size_t i = 1; i < REVISIONS; i++) {
        mcp->revision = strcmp(revisions[i], wanted) == 0 ? revisions[i] : mcp->revision;
    }
    return give(result,
                json_pack("{s:s, s:o, s:o, s:s}", "protocolVersion", mcp->revision, "capabilities",
                          capabilities(), "serverInfo", server(), "instructions", instructions),
                err);
}

/* Describes this server in the newest revision, which has no initialize. */
static ak_rpc_code discover(json_t **result, ak_mcp *mcp, const ak_rpc_message *message,
                            ak_error *err)
{
    (void)mcp, (void)message;
    return give(result,
                json_pack("{s:o, s:o, s:s, s:{s:o}}", "supportedVersions",
                          ak_json_texts(revisions, REVISIONS), "capabilities", capabilities(),
                          "instructions", instructions, "_meta", META_SERVER, server()),
                err);
}

static ak_rpc_code initialized(json_t **result, ak_mcp *mcp, const ak_rpc_message *message,
                               ak_error *err)
{
    mcp->ready = mcp->revision != NULL;
    return message->id == NULL ? AK_RPC_OK : give(result, json_object(), err);
}

static ak_rpc_code ping(json_t **result, ak_mcp *mcp, const ak_rpc_message *message, ak_error *err)
{
    (void)mcp, (void)message;
    return give(result, json_object(), err);
}

/* ---- tools ----------------------------------------------------------------------------------- */

static ak_rpc_code list_tools(json_t **result, ak_mcp *mcp, const ak_rpc_message *message,
                              ak_error *err)
{
    (void)message;
    json_t *tools = json_array();
    for (size_t i = 0; i < ak_mcp_tool_count; i++) {
        ak_json_add(&tools, ak_mcp_tool_json(&ak_mcp_tools[i], mcp));
    }
    return give(result, json_pack("{s:o}", "tools", tools), err);
}

static ak_rpc_code find_tool(const ak_mcp_tool **out, const json_t *params, ak_error *err)
{
    const char *names[32] = {NULL};
    const char *name = ak_json_text_or_null(params, "name");
    char hint[200];
    for (size_t i = 0; name != NULL && i < ak_mcp_tool_count; i++) {
        names[i] = ak_mcp_tools[i].name;
        if (strcmp(name, names[i]) == 0) {
            *out = &ak_mcp_tools[i];
            return AK_RPC_OK;
        }
    }
    if (name == NULL) {
        (void)ak_fail(err, AK_INVALID, "tools/call: \"name\" must be a text");
        return AK_RPC_BAD_PARAMS;
    }
    ak_hint(hint, sizeof hint, name, names, "tools/list has them");
    (void)ak_fail(err, AK_INVALID, "there is no tool '%.60s'; %s", name, hint);
    return AK_RPC_BAD_PARAMS;
}

/* Makes the result of a tool call, which failed if `err` has a failure. In revisions without
   structured content, a call that succeeded has that content as a second text. */
static json_t *tool_result(const ak_mcp *mcp, ak_mcp_call *call, const ak_error *err)
{
    bool failed = err->status != AK_OK, old = !since(mcp, STRUCTURED);
    AK_FREED char *json = NULL;
    json_t *content = json_pack("[{s:s, s:o}]", "type", "text", "text",
                                ak_json_shown(failed ? err->text : call->text.data));
    json_t *result = json_pack("{s:o, s:b}", "content", content, "isError", failed);
    bool good = result != NULL;
    if (good && !failed && old) {
        good = ak_json_text(&json, call->result, NULL) == AK_OK &&
               ak_json_append(content, json_pack("{s:s, s:s}", "type", "text", "text", json));
    } else if (good && !failed) {
        good = json_object_set(result, "structuredContent", call->result) == 0;
    }
    return ak_json_whole(result, good);
}

static ak_rpc_code call_tool(json_t **result, ak_mcp *mcp, const ak_rpc_message *message,
                             ak_error *err)
{
    const ak_mcp_tool *tool = NULL;
    ak_rpc_code code = find_tool(&tool, message->params, err);
    if (code != AK_RPC_OK) {
        return code;
    }
    const json_t *token =
        json_object_get(json_object_get(message->params, "_meta"), "progressToken");
    const json_t *given = json_object_get(message->params, "arguments");
    json_auto_t *none = json_object(), *schema = ak_mcp_input_schema(tool, mcp);
    ak_mcp_call call = {.mcp = mcp,
                        .arguments = given == NULL ? none : given,
                        .token = json_is_string(token) || json_is_integer(token) ? token : NULL,
                        .result = json_object(),
                        .text = AK_BUF(AK_JSON_BYTES_MAX)};
    if (none == NULL || schema == NULL || call.result == NULL) {
        code = no_memory(err);
    } else if (ak_mcp_check(schema, call.arguments, tool->name, err) != AK_OK) {
        /* an error in a result reaches the model, which can then correct the call */
        code = since(mcp, TOOL_FAULT) ? give(result, tool_result(mcp, &call, err), err)
                                      : AK_RPC_BAD_PARAMS;
    } else {
        ak_error fault = AK_ERROR_INIT;
        ak_status status = tool->run(&call, &fault);
        fault.status = status == AK_OK ? ak_buf_status(&call.text, &fault) : status;
        ak_mcp_restate(&fault);
        code = give(result, tool_result(mcp, &call, &fault), err);
    }
    ak_buf_free(&call.text);
    json_decref(call.result);
    return code;
}

/* ---- resources ------------------------------------------------------------------------------- */

static ak_rpc_code list_resources(json_t **result, ak_mcp *mcp, const ak_rpc_message *message,
                                  ak_error *err)
{
    (void)message;
    return give(result, ak_mcp_resources(mcp), err);
}

static ak_rpc_code list_templates(json_t **result, ak_mcp *mcp, const ak_rpc_message *message,
                                  ak_error *err)
{
    (void)mcp, (void)message;
    return give(result, json_pack("{s:[]}", "resourceTemplates"), err);
}

static ak_rpc_code read_resource(json_t **result, ak_mcp *mcp, const ak_rpc_message *message,
                                 ak_error *err)
{
    const char *uri = ak_json_text_or_null(message->params, "uri");
    if (uri == NULL) {
        (void)ak_fail(err, AK_INVALID, "resources/read: \"uri\" must be a text");
        return AK_RPC_BAD_PARAMS;
    }
    ak_status status = ak_mcp_resource(result, mcp, uri, err);
    return status == AK_OK          ? AK_RPC_OK
           : status == AK_NOT_FOUND ? AK_RPC_NO_RESOURCE
                                    : AK_RPC_INTERNAL;
}

/* ---- messages -------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    bool early;  /* also allowed before notifications/initialized */
    bool newest; /* only in the newest revision */
    int keep_ms; /* in the newest revision, how long its result may be cached; -1: not at all */
    method_run run;
} methods[] = {{"initialize", true, false, -1, initialize},
               {"server/discover", false, true, KEEP_MS, discover},
               {"ping", true, false, -1, ping},
               {"notifications/initialized", true, false, -1, initialized},
               {"tools/list", false, false, KEEP_MS, list_tools},
               {"tools/call", false, false, -1, call_tool},
               {"resources/list", false, false, KEEP_MS, list_resources},
               {"resources/templates/list", false, false, KEEP_MS, list_templates},
               {"resources/read", false, false, 0, read_resource}};

/* Adds what results of the newest revision have: their type and, unless `keep_ms` is negative, how
   long they may be cached. */
static ak_rpc_code complete(json_t *result, int keep_ms, ak_error *err)
{
    bool good = ak_json_set_text(result, "resultType", "complete");
    if (keep_ms >= 0) {
        good = good && ak_json_set(result, "ttlMs", json_integer(keep_ms)) &&
               ak_json_set_text(result, "cacheScope", "private");
    }
    return good ? AK_RPC_OK : no_memory(err);
}

static ak_rpc_code run_method(json_t **result, ak_mcp *mcp, const ak_rpc_message *message,
                              ak_error *err)
{
    for (size_t i = 0; i < AK_COUNT(methods); i++) {
        if (strcmp(methods[i].name, message->method) != 0 ||
            (methods[i].newest && !since(mcp, NEWEST))) {
            continue;
        }
        if (!methods[i].early && !mcp->ready) {
            (void)ak_fail(err, AK_INVALID, "%s comes before %s", message->method,
                          mcp->revision == NULL ? "initialize" : "notifications/initialized");
            return AK_RPC_NO_REQUEST;
        }
        ak_rpc_code code = methods[i].run(result, mcp, message, err);
        return code == AK_RPC_OK && since(mcp, NEWEST) ? complete(*result, methods[i].keep_ms, err)
                                                       : code;
    }
    (void)ak_fail(err, AK_INVALID, "there is no method '%.60s'", message->method);
    return AK_RPC_NO_METHOD;
}

/* Runs a request that names its revision in "_meta" and so needs no session. Returns
   AK_RPC_NO_REVISION, with that name as the error's text, if it is not the newest. */
static ak_rpc_code run_alone(json_t **result, ak_mcp *mcp, const ak_rpc_message *message,
                             ak_error *err)
{
    const json_t *meta = json_object_get(message->params, "_meta");
    const char *wanted = ak_json_text_or_null(meta, META_VERSION);
    const char *before = mcp->revision;
    bool ready = mcp->ready;
    if (wanted == NULL || !json_is_object(json_object_get(meta, META_CAPABILITIES))) {
        (void)ak_fail(err, AK_INVALID,
                      "_meta must have the text \"" META_VERSION "\" and the object "
                      "\"" META_CAPABILITIES "\"");
        return AK_RPC_BAD_PARAMS;
    }
    if (strcmp(wanted, NEWEST) != 0) {
        (void)ak_fail(err, AK_INVALID, "%.40s", wanted);
        return AK_RPC_NO_REVISION;
    }
    mcp->revision = NEWEST;
    mcp->ready = true;
    ak_rpc_code code = run_method(result, mcp, message, err);
    mcp->revision = before;
    mcp->ready = ready;
    return code;
}

/* Makes the error for a request that names a revision other than the newest in "_meta". It says
   that only the newest is supported there. */
static json_t *revision_error(const json_t *id, const char *wanted)
{
    json_t *reply = ak_rpc_error(id, AK_RPC_NO_REVISION, "Unsupported protocol version");
    json_t *data =
        json_pack("{s:[s], s:o}", "supported", NEWEST, "requested", ak_json_shown(wanted));
    bool good = ak_json_set(json_object_get(reply, "error"), "data", data);
    return ak_json_whole(reply, good);
}

static json_t *answer_one(ak_mcp *mcp, const json_t *value)
{
    ak_rpc_message message;
    ak_error err = AK_ERROR_INIT;
    json_t *result = NULL;
    ak_rpc_code code = ak_rpc_read(&message, value, &err);
    bool notice = code == AK_RPC_OK && message.id == NULL;
    if (code == AK_RPC_OK) {
        const json_t *meta = json_object_get(message.params, "_meta");
        bool alone = !notice && json_object_get(meta, META_VERSION) != NULL;
        code = alone ? run_alone(&result, mcp, &message, &err)
                     : run_method(&result, mcp, &message, &err);
    }
    if (notice || ak_mcp_link_stopped(mcp->link) == AK_MCP_CANCELLED) {
        json_decref(result);
        return NULL; /* nobody waits for a reply */
    }
    return code == AK_RPC_OK            ? ak_rpc_result(message.id, result)
           : code == AK_RPC_NO_REVISION ? revision_error(message.id, err.text)
                                        : ak_rpc_error(message.id, code, err.text);
}

static json_t *answer_batch(ak_mcp *mcp, const json_t *batch)
{
    json_t *replies = json_array();
    AK_EACH(each, batch) {
        ak_mcp_link_begin(mcp->link, json_object_get(each, "id"));
        json_t *reply = answer_one(mcp, each);
        if (reply != NULL) {
            (void)ak_json_append(replies, reply);
        }
    }
    if (json_array_size(replies) == 0) {
        json_decref(replies);
        return NULL;
    }
    return replies;
}

json_t *ak_mcp_answer(ak_mcp *mcp, const json_t *value)
{
    if (!json_is_array(value)) {
        return answer_one(mcp, value);
    }
    if (mcp->revision == NULL || strcmp(mcp->revision, BATCHES) != 0) {
        return ak_rpc_error(NULL, AK_RPC_NO_REQUEST,
                            "this revision has no batches; send one message a line");
    }
    if (json_array_size(value) == 0) {
        return ak_rpc_error(NULL, AK_RPC_NO_REQUEST, "a batch must not be empty");
    }
    if (json_array_size(value) > AK_MCP_WAITING_MAX) {
        return ak_rpc_error(NULL, AK_RPC_BUSY,
                            "a batch has at most 64 messages; send less at once");
    }
    return answer_batch(mcp, value);
}
