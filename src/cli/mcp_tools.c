/* mcp_tools.c: the table of tools, with the schemas of their arguments and results. */

#include "base/alloc.h"
#include "cli/mcp.h"
#include "cli/trial_table.h"

/* ---- the table ------------------------------------------------------------------------------- */

/* Properties of the arguments that name a task, except "kernel", which ak_mcp_input_schema adds. */
#define TASK                                                                                       \
    "\"size\": {\"type\": \"string\", \"maxLength\": 400, \"description\": \"M=1024,N=1024,"       \
    "K=1024, or one number for all sizes alike; left out: the kernel's default\"},"                \
    "\"dtype\": {\"type\": \"string\", \"maxLength\": 40, \"description\": \"such as f32, u8\"},"  \
    "\"choices\": {\"type\": \"string\", \"maxLength\": 400, \"description\": \"options of the "   \
    "problem, such as activation=relu\"},"                                                         \
    "\"implementation\": {\"type\": \"string\", \"maxLength\": 80, \"description\": \"one that "   \
    "list_kernels names; left out: the best for the device\"},"                                    \
    "\"device\": {\"type\": \"string\", \"maxLength\": 80, \"description\": \"auto, host or "      \
    "cuda:0; left out: as this server was started\"}"

#define CONFIG                                                                                     \
    "{\"type\": [\"object\", \"string\"], \"maxLength\": 4000, \"additionalProperties\": "         \
    "{\"type\": [\"string\", \"number\", \"boolean\"], \"maxLength\": 200}, \"description\": "     \
    "\"{\\\"UNROLL\\\": 4} or \\\"UNROLL=4\\\"; parameters left out have their default; "          \
    "\\\"default\\\" is the default, \\\"#5\\\" the configuration of trial 5\"}"

#define FORMATS                                                                                    \
    "[\"best\", \"json\", \"csv\", \"kernels\", \"kernel-tuner\", \"t4\", \"t1\", \"dispatch\"]"
#define OBJECT  "{\"type\": \"object\"}"
#define OBJECTS "{\"type\": \"array\", \"items\": {\"type\": \"object\"}}"
#define STRING  "{\"type\": \"string\"}"
#define WARNINGS                                                                                   \
    "\"warnings\": {\"type\": \"array\", \"items\": " STRING                                       \
    ", \"description\": \"what the kernel has and this task ignores, parameters that its source "  \
    "does not use, and what makes measured times less certain, such as a busy machine\"}"
#define PRESSURE                                                                                   \
    "\"pressure\": {\"type\": [\"number\", \"null\"], \"description\": \"part of the time in "     \
    "which "                                                                                       \
    "tasks of this machine waited for a processor, at most; null: not known\"}"
#define CHANGED                                                                                    \
    "\"warnings\": {\"type\": \"array\", \"items\": " STRING                                       \
    ", \"description\": \"which kernels have changed since these results were measured\"}"
#define BUDGET                                                                                     \
    "\"budget\": {\"type\": \"object\", \"description\": \"what is left; null: no limit\"}"

const ak_mcp_tool ak_mcp_tools[] = {
    {"list_kernels", "List kernels",
     "The kernels that may be worked on: what they compute, their sizes, dtypes, options and "
     "implementations.",
     false, true, "", "", "\"kernels\": " OBJECTS ", " BUDGET, ak_mcp_list_kernels},
    {"describe_space", "Describe a search space",
     "What can be tuned in a kernel at one size on one device: every parameter with its values and "
     "its default, the conditions between parameters with their reasons, how many configurations "
     "are valid, and what is known of the device and of the shape.",
     true, true, "", "",
     "\"task\": " OBJECT ", " WARNINGS ", \"facts\": " OBJECT ", \"parameters\": " OBJECTS
     ", \"conditions\": " OBJECTS ", \"default\": " OBJECT
     ", \"cartesian\": {\"type\": \"number\"}, \"valid\": {\"type\": \"number\"}",
     ak_mcp_describe_space},
    {"facts", "Facts of a configuration",
     "Before anything is measured: is this configuration valid (if not, why), what is its "
     "canonical text, which compiler and options does it come to, how many threads and bytes of "
     "workspace does it take, and what follows from it by the kernel's own formulas.",
     true, true, "\"config\": " CONFIG, "\"config\"",
     "\"valid\": {\"type\": \"boolean\"}, \"reason\": {\"type\": [\"string\", \"null\"]}, "
     "\"facts\": {\"type\": [\"object\", \"null\"]}",
     ak_mcp_facts},
    {"measure", "Check and time configurations",
     "Compiles each configuration, checks its results against the reference over edge-case sizes "
     "and times it. Each comes back as a trial: status (ok, invalid, compile_error, wrong_result, "
     "crashed, timed_out, ...), the reason if it failed, the median time in ms with its 95 % "
     "interval, rates and the fraction of the roofline. Trials are archived.",
     true, false,
     "\"configs\": {\"type\": \"array\", \"minItems\": 1, \"maxItems\": 64, \"items\": " CONFIG "}",
     "\"configs\"",
     "\"task\": " OBJECT ", " WARNINGS ", \"trials\": " OBJECTS ", " PRESSURE
     ", \"stopped_by\": {\"type\": [\"string\", \"null\"]}, " BUDGET,
     ak_mcp_measure},
    {"compare", "Compare configurations",
     "Measures configurations, and with \"baselines\" the vendor libraries, interleaved in one "
     "run, which is the only fair way to say that one is faster. The verdict of each beside the "
     "reference is faster, slower, tie or undecided. Nothing is archived: ratios hold within one "
     "comparison.",
     true, false,
     "\"configs\": {\"type\": \"array\", \"minItems\": 1, \"maxItems\": 16, \"items\": " CONFIG
     "}, \"baselines\": {\"type\": \"boolean\", \"description\": \"the libraries too; left out: "
     "false\"}",
     "\"configs\"", "\"comparison\": " OBJECT ", " WARNINGS ", " BUDGET, ak_mcp_compare},
    {"history", "Show trials",
     "What was tried of a kernel, failures included: the latest ones, oldest first.", true, true,
     "\"status\": {\"type\": \"string\", \"maxLength\": 40, \"description\": \"only trials that "
     "ended so, such as ok\"}, \"limit\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": "
     "1000, \"description\": \"left out: 20\"}",
     "", "\"matched\": {\"type\": \"integer\"}, \"trials\": " OBJECTS, ak_mcp_history},
    {"best", "Show the best",
     "The best trial of every size, dtype, set of options and device of a kernel that was "
     "measured.",
     true, true, "", "", "\"trials\": " OBJECTS ", " CHANGED, ak_mcp_best},
    {"report", "Report of a run",
     "What happened in a run of 'autokernel tune' on one of these kernels: the latest one, or one "
     "by its identity.",
     false, true,
     "\"run\": {\"type\": \"string\", \"maxLength\": 80}, \"format\": {\"type\": \"string\", "
     "\"enum\": [\"text\", \"md\", \"csv\", \"json\"], \"description\": \"left out: md\"}",
     "", "\"format\": " STRING ", \"report\": " STRING, ak_mcp_report},
    {"export", "Export results",
     "The archive's trials of a kernel as the text of a file. best: best_config.json, which "
     "'autokernel bench --config @FILE' and production code read. Others are for spreadsheets and "
     "for other tuners; t1 is the space.",
     true, true,
     "\"format\": {\"type\": \"string\", \"enum\": " FORMATS
     ", \"description\": \"left out: best\"}",
     "", "\"format\": " STRING ", \"content\": " STRING ", " CHANGED, ak_mcp_export},
};
const size_t ak_mcp_tool_count = AK_COUNT(ak_mcp_tools);

/* ---- its schemas ----------------------------------------------------------------------------- */

static json_t *parse(const ak_buf *text)
{
    json_t *value = NULL;
    bool good = ak_buf_status(text, NULL) == AK_OK &&
                ak_json_parse(&value, text->data, text->length, "tools", NULL) == AK_OK;
    return good ? value : NULL;
}

json_t *ak_mcp_input_schema(const ak_mcp_tool *tool, const ak_mcp *mcp)
{
    ak_buf text = AK_BUF(1 << 16);
    const char *own = tool->properties[0] == 0 ? "" : ", ";
    ak_buf_print(&text,
                 "{\"type\": \"object\", \"properties\": {%s%s%s}, \"required\": [%s%s%s], "
                 "\"additionalProperties\": false}",
                 tool->task ? "\"kernel\": {\"type\": \"string\"}, " TASK : "",
                 tool->task ? own : "", tool->properties, tool->task ? "\"kernel\"" : "",
                 tool->task && tool->required[0] != 0 ? ", " : "", tool->required);
    json_t *schema = parse(&text);
    json_auto_t *names = json_array();
    ak_buf_free(&text);
    for (size_t i = 0; i < mcp->kernel_count; i++) {
        ak_json_add(&names, json_string(mcp->kernels[i].name));
    }
    json_t *kernel = json_object_get(json_object_get(schema, "properties"), "kernel");
    const bool good =
        names != NULL && (kernel == NULL || json_object_set(kernel, "enum", names) == 0);
    return ak_json_whole(schema, good);
}

/* All properties are required, because a result always has all of its members. */
static json_t *output_schema(const ak_mcp_tool *tool)
{
    ak_buf text = AK_BUF(1 << 16);
    ak_buf_print(&text, "{\"type\": \"object\", \"properties\": {%s}}", tool->output);
    json_t *schema = parse(&text), *required = json_array();
    ak_buf_free(&text);
    AK_EACH_MEMBER(key, each, json_object_get(schema, "properties")) {
        ak_json_add(&required, json_string(key));
    }
    bool good = ak_json_set(schema, "required", required);
    return ak_json_whole(schema, good);
}

json_t *ak_mcp_tool_json(const ak_mcp_tool *tool, const ak_mcp *mcp)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:{s:b, s:b, s:b, s:b}}", "name", tool->name,
                     "title", tool->title, "description", tool->description, "inputSchema",
                     ak_mcp_input_schema(tool, mcp), "outputSchema", output_schema(tool),
                     "annotations", "readOnlyHint", tool->reads, "destructiveHint", false,
                     "idempotentHint", tool->reads, "openWorldHint", false);
}

/* ---- arguments ------------------------------------------------------------------------------- */

const char *ak_mcp_text(const ak_mcp_call *call, const char *key, const char *fallback)
{
    const char *text = ak_json_text_or_null(call->arguments, key);
    return text == NULL ? fallback : text;
}

/* If the server was started for one device, refuses every other. Also refuses recordings: a
   recording is a file, which only the user who starts the server may name. */
static ak_status check_device(const ak_args *args, const char *device, ak_error *err)
{
    const char *set = args->text[AK_OPTION_DEVICE];
    if (device == NULL || (set != NULL && strcmp(set, device) == 0)) {
        return AK_OK;
    }
    if (set != NULL && strcmp(set, "auto") != 0) {
        return ak_fail(err, AK_INVALID,
                       "device '%.60s': this server was started for %.200s; leave the device out",
                       device, set);
    }
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
    AK_EACH_MEMBER(key, each, (json_t *)value) {
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
