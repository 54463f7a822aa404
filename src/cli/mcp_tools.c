/* mcp_tools.c: the table of tools. mcp_tools.json says what they are for, and has the schemas of
   their arguments and results. */

#include "base/alloc.h"
#include "base/asset.h"
#include "cli/mcp.h"
#include "cli/trial_table.h"

/* ---- the table ------------------------------------------------------------------------------- */

const ak_mcp_tool ak_mcp_tools[] = {
    {"list_kernels", ak_mcp_list_kernels},
    {"describe_space", ak_mcp_describe_space},
    {"facts", ak_mcp_facts},
    {"measure", ak_mcp_measure},
    {"compare", ak_mcp_compare},
    {"history", ak_mcp_history},
    {"best", ak_mcp_best},
    {"report", ak_mcp_report},
    {"export", ak_mcp_export},
};
const size_t ak_mcp_tool_count = AK_COUNT(ak_mcp_tools);

/* ---- its schemas ----------------------------------------------------------------------------- */

/* Replaces every member {"$ref": NAME} of an object, or of the objects in it, by a copy of what
   `shared` has under NAME. */
static bool resolve(json_t *value, const json_t *shared)
{
    bool good = true;
    AK_EACH_MEMBER(key, each, value) {
        const char *name = ak_json_text_or_null(each, "$ref");
        good = good && (name == NULL ? resolve(each, shared)
                                     : ak_json_set(value, key,
                                                   json_deep_copy(json_object_get(shared, name))));
    }
    return good;
}

/* Returns what mcp_tools.json says about a tool, with the arguments that name a task as "task" if
   the tool takes them; NULL: no memory. */
static json_t *about(const ak_mcp_tool *tool)
{
    json_auto_t *file = NULL;
    const ak_asset *asset = ak_asset_find("src/cli/mcp_tools.json");
    (void)ak_json_parse(&file, asset->data, asset->length, asset->path, NULL);
    json_t *shared = json_object_get(file, "shared"), *found = NULL;
    bool good = resolve(shared, shared);
    AK_EACH(each, json_object_get(file, "tools")) {
        found = ak_json_text_is(each, "name", tool->name) ? each : found;
    }
    if (json_is_true(json_object_get(found, "task"))) {
        good = good && json_object_set(found, "task", json_object_get(shared, "task")) == 0;
    }
    good = good && resolve(json_object_get(found, "arguments"), shared) &&
           resolve(json_object_get(found, "result"), shared);
    return ak_json_whole(json_incref(found), good);
}

json_t *ak_mcp_input_schema(const ak_mcp_tool *tool, const ak_mcp *mcp)
{
    json_auto_t *said = about(tool);
    const json_t *task = json_object_get(said, "task");
    json_t *properties = json_object(), *required = json_array(), *names = json_array();
    for (size_t i = 0; i < mcp->kernel_count; i++) {
        ak_json_add(&names, json_string(mcp->kernels[i].name));
    }
    json_t *kernel = json_pack("{s:s, s:o}", "type", "string", "enum", names);
    bool good = said != NULL && kernel != NULL;
    if (json_is_object(task)) {
        good = good && json_object_set(properties, "kernel", kernel) == 0 &&
               json_object_update(properties, (json_t *)(uintptr_t)task) == 0 &&
               ak_json_append(required, json_string("kernel"));
    }
    json_decref(kernel);
    good = good && json_object_update(properties, json_object_get(said, "arguments")) == 0 &&
           json_array_extend(required, json_object_get(said, "required")) == 0;
    json_t *schema = json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties,
                               "required", required, "additionalProperties", false);
    return ak_json_whole(schema, good);
}

json_t *ak_mcp_tool_json(const ak_mcp_tool *tool, const ak_mcp *mcp)
{
    json_auto_t *said = about(tool);
    json_t *result = json_object_get(said, "result"), *required = json_array();
    const int reads = json_is_true(json_object_get(said, "reads"));
    AK_EACH_MEMBER(key, each, result) { /* a result always has all of its members */
        ak_json_add(&required, json_string(key));
    }
    return json_pack("{s:s, s:O, s:O, s:o, s:{s:s, s:O, s:o}, s:{s:b, s:b, s:b, s:b}}", "name",
                     tool->name, "title", json_object_get(said, "title"), "description",
                     json_object_get(said, "description"), "inputSchema",
                     ak_mcp_input_schema(tool, mcp), "outputSchema", "type", "object", "properties",
                     result, "required", required, "annotations", "readOnlyHint", reads,
                     "destructiveHint", false, "idempotentHint", reads, "openWorldHint", false);
}

/* ---- arguments ------------------------------------------------------------------------------- */

const char *ak_mcp_text(const ak_mcp_call *call, const char *key, const char *fallback)
{
    const char *text = ak_json_text_or_null(call->arguments, key);
    return text == NULL ? fallback : text;
}

/* If the server was started for one device, refuses every other. Otherwise refuses recordings: a
   recording is a file, which only the user who starts the server may name. */
static ak_status check_device(const ak_args *args, const char *device, ak_error *err)
{
    const char *set = args->text[AK_OPTION_DEVICE];
    if (device == NULL || (set != NULL && strcmp(set, device) == 0)) {
        return AK_OK;
    }
    AK_FAIL_IF(set != NULL && strcmp(set, "auto") != 0, err, AK_INVALID,
               "device '%.60s': this server was started for %.200s; leave the device out", device,
               set);
    AK_FAIL_IF(strncmp(device, "sim", 3) == 0 || strchr(device, '/') != NULL, err, AK_INVALID,
               "device '%.60s': only whoever starts this server can name a recording", device);
    return AK_OK;
}

ak_status ak_mcp_args(ak_args *out, const ak_mcp_call *call, ak_error *err)
{
    static const struct {
        const char *key;
        ak_option_id id;
    } texts[] = {{"size", AK_OPTION_SIZE},
                 {"dtype", AK_OPTION_DTYPE},
                 {"choices", AK_OPTION_SET},
                 {"implementation", AK_OPTION_IMPL},
                 {"device", AK_OPTION_DEVICE}};
    const ak_mcp *mcp = call->mcp;
    const char *kernel = ak_mcp_text(call, "kernel", "");
    *out = *mcp->args;
    out->operand_count = 0;
    const size_t at = AK_FIND(mcp->kernels, mcp->kernel_count, name, kernel);
    if (at < mcp->kernel_count) {
        out->operand[0] = mcp->kernels[at].operand;
        out->operand_count = 1;
    }
    ak_status status = check_device(out, ak_mcp_text(call, "device", NULL), err);
    for (size_t i = 0; i < AK_COUNT(texts); i++) {
        const char *text = ak_mcp_text(call, texts[i].key, NULL);
        if (text != NULL) {
            out->text[texts[i].id] = text;
            out->origin[texts[i].id] = texts[i].key;
        }
    }
    return status;
}

ak_status ak_mcp_config_text(char **out, const json_t *value, ak_error *err)
{
    ak_buf text = AK_BUF(8192);
    if (json_is_string(value)) {
        ak_buf_puts(&text, json_string_value(value));
    }
    AK_EACH_MEMBER(key, each, value) {
        ak_buf_print(&text, "%s%s=", text.length == 0 ? "" : ",", key);
        if (json_is_string(each)) {
            ak_buf_puts(&text, json_string_value(each));
        } else if (json_is_boolean(each)) {
            ak_buf_puts(&text, json_is_true(each) ? "True" : "False");
        } else if (json_is_integer(each)) {
            ak_buf_print(&text, "%lld", (long long)json_integer_value(each));
        } else {
            ak_buf_real(&text, json_real_value(each));
        }
    }
    return ak_buf_take(out, &text, err);
}

ak_status ak_mcp_config(ak_config *out, const json_t *value, const ak_args *args,
                        const ak_task *task, ak_error *err)
{
    char *text = NULL;
    ak_candidate one;
    ak_args named = *args;
    size_t count = 0;
    AK_DO(ak_mcp_config_text(&text, value, err));
    ak_status status = AK_OK;
    if (strcmp(text, "default") == 0 || text[0] == 0) {
        ak_space_default(out, ak_task_space(task));
    } else if (text[0] == '#' && strchr(text, ';') == NULL) {
        named.config[0] = text;
        named.config_count = 1;
        status = ak_args_candidates(&one, &count, &named, task, err);
        *out = status == AK_OK ? one.config : *out;
    } else {
        status = ak_config_parse(out, ak_task_space(task), text, err);
    }
    ak_free(text);
    if (status != AK_OK && err != NULL) {
        ak_mcp_restate(err);
    }
    return status;
}

ak_status ak_mcp_warn(ak_mcp_call *call, json_t *list, ak_error *err)
{
    AK_EACH(one, list) {
        ak_buf_print(&call->text, "warning: %s\n", json_string_value(one));
    }
    return ak_stored(json_object_set(call->result, "warnings", list) == 0, err);
}

ak_status ak_mcp_warn_also(ak_mcp_call *call, const char *text, ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf words = AK_BUF(AK_JSON_BYTES_MAX);
    ak_mcp_words(&words, text);
    AK_DO(ak_buf_status(&words, err));
    ak_buf_print(&call->text, "warning: %s\n", words.data);
    return ak_stored(
        ak_json_append(json_object_get(call->result, "warnings"), json_string(words.data)), err);
}

ak_status ak_mcp_warnings(ak_mcp_call *call, const ak_task *task, const ak_args *args,
                          ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf sizes = AK_BUF(AK_JSON_BYTES_MAX);
    ak_default_sizes(&sizes, task, args);
    AK_DO(ak_buf_status(&sizes, err));
    const char *const found[] = {ak_task_ignored(task), ak_task_unused(task),
                                 sizes.length > 0 ? sizes.data : NULL};
    AK_DO(ak_stored(ak_json_set(call->result, "warnings", json_array()), err));
    for (size_t i = 0; i < AK_COUNT(found); i++) {
        AK_DO(found[i] == NULL ? AK_OK : ak_mcp_warn_also(call, found[i], err));
    }
    return AK_OK;
}

/* ---- trials ---------------------------------------------------------------------------------- */

json_t *ak_mcp_trial_json(const ak_trial *trial)
{
    static const char *const left_out[] = {
        "samples_ms",     "propose_ns", "overhead_ns", "environment", "device_uuid",
        "predicted_gain", "generation", "model",       "hypothesis",  "parent"};
    char *text = NULL;
    json_t *object = NULL;
    (void)ak_out_parse(&object, ak_trial_json(&text, trial, NULL), &text, "trial", NULL);
    for (size_t i = 0; i < AK_COUNT(left_out); i++) {
        (void)json_object_del(object, left_out[i]);
    }
    return object;
}

void ak_mcp_trial_line(ak_buf *out, const ak_trial *trial)
{
    char ms[AK_NUMBER_BYTES], interval[AK_NUMBER_BYTES], share[AK_NUMBER_BYTES];
    char why[AK_ROOFLINE_WHY_BYTES];
    if (trial->id > 0) {
        ak_buf_print(out, "#%lld ", (long long)trial->id);
    }
    ak_buf_print(out, "%s", ak_trial_status_text(trial->status));
    if (trial->status == AK_TRIAL_OK) {
        ak_buf_print(out, " %s ms", ak_show_real(ms, trial->median_ms));
        if (trial->ci_high_ms > trial->ci_low_ms) {
            ak_buf_print(out, " (%s)", ak_show_trial_interval(interval, trial));
        }
    }
    if (trial->status == AK_TRIAL_OK && trial->efficiency > 0) {
        ak_buf_print(out, ", %s of the roofline%s", ak_show_percent(share, trial->efficiency),
                     ak_roofline_why(why, trial));
    }
    if (trial->reason != NULL) {
        ak_buf_print(out, ": %s", trial->reason);
    }
    ak_buf_puts(out, trial->same_code ? AK_SAME_CODE : "");
    ak_buf_print(out, "; %s\n", ak_or_empty(trial->config));
}
