/* brief.c: computes what a task's shape requires and what its device offers. */
#include "llm/brief.h"

#include <math.h>

#include "base/device_name.h"
#include "base/fs.h"
#include "base/number.h"
#include "measure/placement.h"

#define LINE_MAX_BYTES 400

/* Explanations of device facts whose names do not say enough. Other facts appear under their names
   alone. */
static const struct {
    const char *name, *meaning;
} meanings[] = {
    {"cpu_threads", "hardware threads that kernels may use"},
    {"vector_bytes", "width of the widest vectors"},
    {"vector_registers", "architectural vector registers"},
    {"l1d_bytes", "first-level data cache, of each core"},
    {"l2_bytes", "second-level cache; of each core, or of the whole GPU"},
    {"l3_bytes", "last-level cache, shared"},
    {"sm_count", "streaming multiprocessors"},
    {"compute_capability", "90 is 9.0"},
    {"shared_bytes_max", "shared memory, at most for a block"},
    {"shared_bytes_sm", "shared memory, of each multiprocessor"},
    {"registers_sm", "32-bit registers, of each multiprocessor"},
    {"threads_sm", "resident threads, at most for a multiprocessor"},
    {"blocks_sm", "resident blocks, at most for a multiprocessor"},
    {"memory_bytes", "device memory"},
    {"clock_mhz", "highest clock of the multiprocessors"},
    {"memory_bus_bits", "width of the memory bus"},
};

/* Formats a number of bytes: "131072 bytes (128 KiB)", or "96 bytes" below 1 KiB. */
static void show_bytes(char *out, size_t bytes, double value)
{
    char size[AK_REAL_BYTES];
    if (value < 1024.0) {
        (void)ak_number_print(out, bytes, "%.0f bytes", value);
    } else {
        (void)ak_number_print(out, bytes, "%.0f bytes (%s)", value,
                              ak_number_size(size, (size_t)value));
    }
}

static ak_status add_fact(ak_brief *brief, bool hardware, const char *name, const char *text,
                          ak_error *err)
{
    ak_fact **list = hardware ? &brief->hardware : &brief->shape;
    size_t *count = hardware ? &brief->hardware_count : &brief->shape_count;
    size_t *capacity = hardware ? &brief->hardware_capacity : &brief->shape_capacity;
    AK_DO(AK_GROW(*list, capacity, *count + 1, err));
    ak_fact *fact = &(*list)[*count];
    fact->name = ak_arena_strndup(brief->arena, name, strlen(name));
    fact->text = ak_arena_strndup(brief->arena, text, strlen(text));
    AK_DO(ak_stored(fact->name != NULL && fact->text != NULL, err));
    (*count)++;
    return AK_OK;
}

/* ---- share ----------------------------------------------------------------------------------- */

static const struct {
    const char *text, *told;
} shares[] = {
#define X(name, text, told) {text, told},
    AK_SHARE_MAP(X)
#undef X
};

ak_status ak_share_parse(ak_share *out, const char *text, ak_error *err)
{
    const size_t i = text == NULL ? AK_SHARE_SOURCE : AK_FIND(shares, AK_COUNT(shares), text, text);
    AK_FAIL_IF(i == AK_COUNT(shares), err, AK_INVALID,
               "a language model cannot be told \"%.40s\"; choose one of: space, facts, "
               "source",
               text);
    *out = (ak_share)i;
    return AK_OK;
}

const char *ak_share_text(ak_share share)
{
    return shares[share].text;
}

const char *ak_share_told(ak_share share, const ak_task *task)
{
    if (share == AK_SHARE_SOURCE && ak_or_empty(task->implementation->source)[0] == 0) {
        share = AK_SHARE_FACTS;
    }
    return shares[share].told;
}

/* ---- hardware -------------------------------------------------------------------------------- */

/* Returns true if the constant belongs to the problem and not to the device, whose facts are in
   the same scope. */
static bool of_the_problem(const ak_task *task, const char *name)
{
    if (strcmp(name, "dtype") == 0 || strcmp(name, "dtype_bytes") == 0 ||
        strncmp(name, "choice_", 7) == 0) {
        return true;
    }
    return AK_HAS(task->problem->sizes, task->problem->size_count, name, name) ||
           AK_HAS(task->problem->choices, task->problem->choice_count, name, name);
}

static ak_status add_device_fact(ak_brief *brief, const char *name, const ak_value *value,
                                 ak_error *err)
{
    char label[LINE_MAX_BYTES], text[LINE_MAX_BYTES];
    const size_t at = AK_FIND(meanings, AK_COUNT(meanings), name, name);
    const char *meaning = at < AK_COUNT(meanings) ? meanings[at].meaning : NULL;
    (void)snprintf(label, sizeof label, "%s%s%s%s", name, meaning == NULL ? "" : " (",
                   meaning == NULL ? "" : meaning, meaning == NULL ? "" : ")");
    if (value->type == AK_VALUE_INT && ak_fs_has_suffix(name, "_bytes")) {
        show_bytes(text, sizeof text, (double)value->as.integer);
    } else {
        (void)ak_value_format(text, sizeof text, value);
    }
    return add_fact(brief, true, label, text, err);
}

static ak_status add_ceiling(ak_brief *brief, const char *name, double value, const char *unit,
                             bool measured, ak_error *err)
{
    char text[LINE_MAX_BYTES];
    (void)ak_number_print(text, sizeof text, "%.4g %s%s", value, unit,
                          measured ? ", measured here" : ", from the data sheet");
    return value > 0 ? add_fact(brief, true, name, text, err) : AK_OK;
}

static ak_status add_hardware(ak_brief *brief, const ak_task *task, const ak_ceilings *ceilings,
                              ak_error *err)
{
    const char *name;
    ak_value value;
    for (size_t i = 0; ak_scope_at(&name, &value, task->constants, i); i++) {
        if (!of_the_problem(task, name)) {
            AK_DO(add_device_fact(brief, name, &value, err));
        }
    }
    const struct {
        const char *name, *unit;
        double value;
    } rows[] = {
        {"peak arithmetic rate for this dtype", "TFLOP/s", ceilings->peak_tflops},
        {"copying memory far larger than the caches", "GB/s", ceilings->copy_gbs},
        {"triad a[i] = b[i] + s*c[i]", "GB/s", ceilings->triad_gbs},
        {"copying within the first-level cache", "GB/s", ceilings->l1_gbs},
        {"copying within the last private cache", "GB/s", ceilings->cache_gbs},
    };
    for (size_t i = 0; i < AK_COUNT(rows); i++) {
        AK_DO(
            add_ceiling(brief, rows[i].name, rows[i].value, rows[i].unit, ceilings->measured, err));
    }
    return AK_OK;
}

/* ---- shape ----------------------------------------------------------------------------------- */

static double constant(const ak_task *task, const char *name)
{
    return (double)ak_task_fact(task, name);
}

/* Adds the size of all arguments as a multiple of each cache whose size is known. */
static ak_status add_caches(ak_brief *brief, const ak_task *task, double total, ak_error *err)
{
    char text[LINE_MAX_BYTES], times[AK_REAL_BYTES];
    bool gpu = constant(task, "sm_count") > 0;
    const struct {
        const char *fact, *name, *text;
    } caches[] = {
        {"l1d_bytes", "all arguments and the first-level cache", "that of one core"},
        {"l2_bytes", "all arguments and the second-level cache", gpu ? "it" : "that of one core"},
        {"l3_bytes", "all arguments and the last-level cache", "it, which the cores share"}};
    for (size_t i = 0; i < AK_COUNT(caches); i++) {
        double cache = constant(task, caches[i].fact);
        if (cache > 0) {
            (void)snprintf(text, sizeof text, "%s times %s",
                           ak_number_short(times, total / cache, 3), caches[i].text);
            AK_DO(add_fact(brief, false, caches[i].name, text, err));
        }
    }
    return AK_OK;
}

static ak_status add_arguments(ak_brief *brief, const ak_task *task, ak_error *err)
{
    char text[LINE_MAX_BYTES], size[80], name[80];
    double total = 0;
    for (size_t i = 0; i < task->problem->argument_count; i++) {
        static const char *const access[] = {"read", "written", "read and written"};
        const ak_argument_spec *argument = &task->problem->arguments[i];
        total += (double)task->shape.bytes[i];
        show_bytes(size, sizeof size, (double)task->shape.bytes[i]);
        (void)snprintf(name, sizeof name, "argument %.40s", argument->name);
        (void)snprintf(text, sizeof text, "%zu elements, %s, %s", task->shape.elements[i], size,
                       access[argument->access]);
        AK_DO(add_fact(brief, false, name, text, err));
    }
    show_bytes(size, sizeof size, total);
    AK_DO(add_fact(brief, false, "all arguments together", size, err));
    return add_caches(brief, task, total, err);
}

/* Adds what limits a task: the balance of the device, and the least time that the ceilings allow.
   The figures are those of the placement that the end of the run and the report show. */
static ak_status add_bound(ak_brief *brief, const ak_task *task, const ak_ceilings *ceilings,
                           const ak_placement *p, ak_error *err)
{
    char text[LINE_MAX_BYTES];
    (void)ak_number_print(text, sizeof text, "%.4g flop/byte: below it %s, above it arithmetic",
                          p->peak_tflops * 1e3 / p->bandwidth_gbs,
                          p->cache ? "the bandwidth of the caches limits" : "memory limits");
    AK_DO(add_fact(brief, false, "balance of this device", text, err));
    AK_DO(add_fact(brief, false, "bound for this shape",
                   !p->memory_bound ? "arithmetic"
                   : p->cache ? "the bandwidth of a cache, as all arguments fit the cores' own"
                              : "memory",
                   err));
    ak_ceilings highest = ak_task_ceilings(task, ceilings, true);
    brief->least_ms = fmax(p->compute_ms, p->memory_ms);
    brief->least_cached =
        p->memory_bound && ak_roofline_bandwidth(&highest) > p->bandwidth_gbs && !p->cache;
    (void)ak_number_print(text, sizeof text,
                          p->cache ? "%.4g ms, if only the ceilings limit"
                                   : "%.4g ms, if all data comes from memory and only the ceilings "
                                     "limit",
                          brief->least_ms);
    return add_fact(brief, false, "least possible time", text, err);
}

/* Adds operations and traffic, the arithmetic intensity if there is traffic, and what limits the
   task if the ceilings are known. */
static ak_status add_roofline(ak_brief *brief, const ak_task *task, const ak_ceilings *ceilings,
                              ak_error *err)
{
    char text[LINE_MAX_BYTES];
    ak_placement p;
    ak_place_task(&p, task, ceilings, 0);
    (void)ak_number_print(text, sizeof text, "%.6g", p.flops);
    AK_DO(add_fact(brief, false, "useful floating-point operations", text, err));
    show_bytes(text, sizeof text, p.bytes);
    AK_DO(add_fact(brief, false, "compulsory memory traffic", text, err));
    if (p.bytes > 0) {
        (void)ak_number_print(text, sizeof text, "%.4g flop/byte", p.intensity);
        AK_DO(add_fact(brief, false, "arithmetic intensity", text, err));
    }
    bool known = p.bandwidth_gbs > 0 && p.peak_tflops > 0;
    return known ? add_bound(brief, task, ceilings, &p, err) : AK_OK;
}

/* ---- facts of the space file ----------------------------------------------------------------- */

static ak_status check_names(const ak_brief *brief, const ak_expr *expr, const char *where,
                             ak_error *err)
{
    const char *const *names;
    size_t count = ak_expr_names(&names, expr);
    for (size_t i = 0; i < count; i++) {
        ak_value value;
        size_t parameter;
        AK_FAIL_IF(!ak_space_parameter_find(&parameter, brief->space, names[i]) &&
                       !ak_scope_get(&value, brief->constants, names[i]),
                   err, AK_INVALID,
                   "%s: reads \"%.60s\", which is neither a parameter nor a size nor a "
                   "fact of the device",
                   where, names[i]);
    }
    return AK_OK;
}

static ak_status read_derived(ak_brief *brief, const ak_task *task, ak_error *err)
{
    static const char *const keys[] = {"Name", "Expression", "Unit", NULL};
    json_t *list;
    AK_DO(ak_json_array_or_null(&list, task->implementation->definition, "Facts",
                                task->implementation->where, err));
    AK_FAIL_IF(json_array_size(list) > AK_FACTS_MAX, err, AK_LIMIT,
               "%s: \"Facts\" has more than %d entries", task->implementation->where, AK_FACTS_MAX);
    AK_EACH(entry, list) {
        char where[256];
        const char *expression = NULL;
        ak_derived *derived = &brief->derived[brief->derived_count];
        (void)snprintf(where, sizeof where, "%.180s: fact %zu", task->implementation->where,
                       entry_at + 1);
        AK_DO(ak_json_only(entry, keys, where, err));
        AK_DO(ak_json_string(&derived->name, entry, "Name", where, err));
        AK_FAIL_IF(AK_HAS(brief->derived, brief->derived_count, name, derived->name), err,
                   AK_INVALID, "%s: \"Name\" \"%.60s\" is that of another fact", where,
                   derived->name);
        AK_DO(ak_json_string(&expression, entry, "Expression", where, err));
        AK_DO(ak_json_string_or(&derived->unit, entry, "Unit", "", where, err));
        if (task->recorded && !ak_task_knows(task, expression)) {
            continue; /* the fact reads a name that this recording lacks */
        }
        AK_DO(ak_expr_parse(&derived->expr, expression, where, err));
        brief->derived_count++;
        AK_DO(check_names(brief, derived->expr, where, err));
    }
    return AK_OK;
}

void ak_derived_show(char *out, size_t bytes, const ak_brief *brief, const ak_derived *derived,
                     const ak_config *config)
{
    ak_value value;
    AK_AT_END(ak_scope_free_at) ak_scope *scope = ak_scope_new(brief->constants);
    AK_AT_END(ak_arena_free_at) ak_arena *arena = ak_arena_new();
    bool good = scope != NULL && arena != NULL &&
                ak_config_scope(scope, brief->space, config, NULL) == AK_OK &&
                ak_expr_eval(&value, derived->expr, scope, arena, NULL) == AK_OK;
    double number = !good                         ? 0
                    : value.type == AK_VALUE_INT  ? (double)value.as.integer
                    : value.type == AK_VALUE_REAL ? value.as.real
                    : value.type == AK_VALUE_BOOL ? (double)value.as.boolean
                                                  : 0;
    if (!good) {
        (void)snprintf(out, bytes, "?");
    } else if (value.type == AK_VALUE_STRING) {
        (void)ak_value_format(out, bytes, &value);
    } else if (strcmp(derived->unit, "bytes") == 0) {
        show_bytes(out, bytes, number);
    } else {
        (void)ak_number_print(out, bytes, "%.6g%s%.40s", number, derived->unit[0] == 0 ? "" : " ",
                              derived->unit);
    }
}

/* ---- environment ----------------------------------------------------------------------------- */

/* Members of an environment whose version matters to a proposal, and their names in the prompt. */
static const struct {
    const char *key, *name;
} versions[] = {{"nvrtc", "NVRTC"},
                {"triton", "Triton"},
                {"version", ""},
                {"driver", "driver"},
                {"libc", "glibc"}};

/* Appends a version, preceded by the name unless the version contains it: "gcc (Debian) 12.2". */
static void put_version(ak_buf *out, const char *name, const char *version)
{
    name = strstr(version, name) != NULL ? "" : name;
    ak_buf_print(out, "%s%s%s%s", out->length == 0 ? "" : ", ", name, name[0] == 0 ? "" : " ",
                 version);
}

ak_status ak_brief_environment(ak_brief *brief, const json_t *environment, ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(LINE_MAX_BYTES);
    const char *name = ak_json_text_at(environment, "name");
    AK_EACH_MEMBER(key, value, json_object_get(environment, "compilers")) {
        put_version(&text, key, json_is_string(value) ? json_string_value(value) : "");
    }
    for (size_t i = 0; i < AK_COUNT(versions); i++) {
        const char *version = ak_json_text_at(environment, versions[i].key);
        if (version[0] != 0) {
            put_version(&text, versions[i].name, version);
        }
    }
    brief->software = ak_arena_strndup(brief->arena, text.data, text.length);
    if (name[0] != 0) {
        brief->device = ak_arena_strndup(brief->arena, name, strlen(name));
    }
    return ak_stored(brief->software != NULL && brief->device != NULL, err);
}

/* Returns the name of a device as the prompt shows it. A recording is named "sim:" and then after
   its device or, if that is unknown, its file; a model is not shown the name of a file, which says
   nothing to it. */
static const char *shown_device(const char *device)
{
    const char *name = ak_device_is_recorded(device) ? device + strlen(AK_DEVICE_RECORDED) : device;
    return name != device && strstr(name, ".json") != NULL ? "not named in the recording" : name;
}

/* Lists all options of the task. choices_text leaves out implicit options that have their default,
   but conditions may read these too. */
static ak_status list_choices(ak_brief *brief, const ak_task *task, ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(LINE_MAX_BYTES * 8);
    ak_buf_puts(&text, task->choices_text);
    for (size_t i = 0; i < task->problem->choice_count; i++) {
        const ak_choice_spec *choice = &task->problem->choices[i];
        bool left_out = choice->implicit && task->choice[i] == (int)choice->default_index &&
                        task->number[i] == choice->fallback;
        if (left_out && choice->kind == AK_CHOICE_TEXT) {
            ak_buf_print(&text, "%s%s=%s", text.length == 0 ? "" : ",", choice->name,
                         choice->values[choice->default_index]);
        } else if (left_out) {
            ak_buf_print(&text, "%s%s=%g", text.length == 0 ? "" : ",", choice->name,
                         choice->fallback);
        }
    }
    ak_status status = ak_buf_status(&text, err);
    brief->choices =
        status == AK_OK ? ak_arena_strndup(brief->arena, text.data, text.length) : NULL;
    return status == AK_OK && brief->choices == NULL ? ak_fail_memory(err) : status;
}

/* ---- public functions ------------------------------------------------------------------------ */

ak_status ak_brief_open(ak_brief *out, const ak_task *task, const ak_ceilings *ceilings,
                        ak_error *err)
{
    static const ak_ceilings unknown = {0};
    if (ceilings == NULL) {
        ceilings = &unknown;
    }
    *out = (ak_brief){.kernel = task->problem->name,
                      .description =
                          task->problem->description == NULL ? "" : task->problem->description,
                      .implementation = task->implementation->name,
                      .device = shown_device(task->device),
                      .software = "",
                      .size = task->size_text,
                      .dtype = ak_dtype_text(task->dtype),
                      .choices = "",
                      .source = task->implementation->source,
                      .definition = task->implementation->definition,
                      .space = task->space,
                      .constants = task->constants,
                      .rejects_spills = task->implementation->rejects_spills};
    out->arena = ak_arena_new();
    ak_status status = AK_OK;
    AK_TRY(ak_made(out->arena, err));
    AK_TRY(list_choices(out, task, err));
    AK_TRY(add_hardware(out, task, ceilings, err));
    AK_TRY(add_roofline(out, task, ceilings, err));
    AK_TRY(add_arguments(out, task, err));
    AK_TRY(read_derived(out, task, err));
out:
    if (status != AK_OK) {
        ak_brief_close(out);
    }
    return status;
}

ak_status ak_brief_space(ak_brief *out, const ak_space *space, const ak_scope *constants,
                         const char *kernel, const char *device, ak_error *err)
{
    *out = (ak_brief){.kernel = kernel,
                      .description = "",
                      .implementation = "",
                      .device = shown_device(device),
                      .software = "",
                      .size = "",
                      .dtype = "",
                      .choices = "",
                      .space = space,
                      .constants = constants};
    out->arena = ak_arena_new();
    const char *name;
    ak_value value;
    ak_status status = ak_made(out->arena, err);
    for (size_t i = 0;
         status == AK_OK && constants != NULL && ak_scope_at(&name, &value, constants, i); i++) {
        char text[LINE_MAX_BYTES];
        bool type = strcmp(name, "dtype") == 0 || strcmp(name, "dtype_bytes") == 0;
        (void)ak_value_format(text, sizeof text, &value);
        status = type ? AK_OK : add_fact(out, false, name, text, err);
    }
    if (status != AK_OK) {
        ak_brief_close(out);
    }
    return status;
}

void ak_brief_close(ak_brief *brief)
{
    for (size_t i = 0; i < AK_FACTS_MAX; i++) {
        ak_expr_free(brief->derived[i].expr);
    }
    AK_FREE_ALL(brief->hardware, brief->shape);
    ak_arena_free(brief->arena);
    *brief = (ak_brief){0};
}
