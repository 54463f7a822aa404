/* task.c: binds a problem: reads the texts of a spec, gathers every name that expressions may use,
   and builds the space for just this size and device. */
#include "problem/task.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/text.h"

#define TASK_TEXT_MAX    1024 /* of sizes and of choices, as given */
#define TASK_THREADS_MAX 4096
#define TASK_SIZE_MAX    (INT64_C(1) << 53) /* exact as a real, too */

/* ---- "name=value,name=value" ----------------------------------------------------------------- */

typedef struct pair_reader {
    const char *what; /* "size" */
    ak_status (*set)(ak_task *task, const char *name, const char *value, ak_error *err);
} pair_reader;

static char *trim(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t')) {
        text[--length] = 0;
    }
    return text;
}

static ak_status read_pairs(ak_task *task, const char *text, const pair_reader *reader,
                            ak_error *err)
{
    char copy[TASK_TEXT_MAX];
    if (strlen(text) >= sizeof copy) {
        return ak_fail(err, AK_LIMIT, "%s: the text is longer than %d bytes", reader->what,
                       TASK_TEXT_MAX - 1);
    }
    memcpy(copy, text, strlen(text) + 1);
    char *item = trim(copy);
    bool more = *item != 0;
    ak_status status = AK_OK;
    while (more && status == AK_OK) {
        char *comma = strchr(item, ',');
        more = comma != NULL;
        if (more) {
            *comma = 0;
        }
        char *equals = strchr(item, '=');
        if (equals == NULL) {
            return ak_fail(err, AK_INVALID, "%s: \"%.60s\" is not of the form name=value",
                           reader->what, item);
        }
        *equals = 0;
        status = reader->set(task, trim(item), trim(equals + 1), err);
        item = more ? comma + 1 : item;
    }
    return status;
}

static ak_status unknown_name(const char *what, const char *name, const char *const *names,
                              const ak_problem *problem, ak_error *err)
{
    const char *near = ak_text_nearest(name, names);
    if (names[0] == NULL) {
        return ak_fail(err, AK_INVALID, "%s has no %ss, so no \"%.60s\"", problem->name, what,
                       name);
    }
    if (near != NULL) {
        return ak_fail(err, AK_INVALID, "%s has no %s \"%.60s\"; did you mean \"%s\"?",
                       problem->name, what, name, near);
    }
    ak_buf list = AK_BUF(400);
    for (size_t i = 0; names[i] != NULL; i++) {
        ak_buf_print(&list, "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    ak_status status = ak_fail(err, AK_INVALID, "%s has no %s \"%.60s\"; it has %s", problem->name,
                               what, name, list.data);
    ak_buf_free(&list);
    return status;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static ak_status read_size(int64_t *out, const char *name, const char *text, ak_error *err)
{
    int64_t value;
    if (!ak_text_int(&value, text) || value < 1 || value > TASK_SIZE_MAX) {
        return ak_fail(
            err, AK_INVALID,
            "size %s: \"%.40s\" is not possible; it must be a whole number from 1 to 2^53", name,
            text);
    }
    *out = value;
    return AK_OK;
}

static ak_status set_size(ak_task *task, const char *name, const char *value, ak_error *err)
{
    const char *names[AK_SIZES_MAX + 1] = {NULL};
    const ak_problem *problem = task->problem;
    for (size_t i = 0; i < problem->size_count; i++) {
        names[i] = problem->sizes[i].name;
        if (strcmp(names[i], name) == 0) {
            if (task->shape.size[i] != 0) {
                return ak_fail(err, AK_INVALID, "size %s is given twice", name);
            }
            return read_size(&task->shape.size[i], name, value, err);
        }
    }
    return unknown_name("size", name, names, problem, err);
}

static ak_status read_sizes(ak_task *task, const char *text, ak_error *err)
{
    static const pair_reader reader = {"size", set_size};
    const ak_problem *problem = task->problem;
    ak_status status = AK_OK;
    if (text != NULL && *text != 0 && strchr(text, '=') == NULL) {
        if (problem->size_count == 0) {
            return ak_fail(err, AK_INVALID, "%s has no sizes, so no size \"%.40s\"", problem->name,
                           text);
        }
        for (size_t i = 0; i < problem->size_count && status == AK_OK; i++) {
            status = read_size(&task->shape.size[i], problem->sizes[i].name, text, err);
        }
    } else if (text != NULL) {
        status = read_pairs(task, text, &reader, err);
    }
    ak_buf canonical = AK_BUF(TASK_TEXT_MAX);
    for (size_t i = 0; i < problem->size_count && status == AK_OK; i++) {
        if (task->shape.size[i] == 0) {
            task->shape.size[i] = problem->tune_size[i];
        }
        ak_buf_print(&canonical, "%s%s=%lld", i == 0 ? "" : ",", problem->sizes[i].name,
                     (long long)task->shape.size[i]);
    }
    if (status == AK_OK) {
        status = ak_buf_take(&task->size_text, &canonical, err);
    }
    ak_buf_free(&canonical);
    return status;
}

/* ---- dtype, choices -------------------------------------------------------------------------- */

/* *given is false if the text leaves the choice to us. */
static ak_status read_dtype(bool *given, ak_task *task, const char *text, ak_error *err)
{
    const ak_problem *problem = task->problem;
    *given = text != NULL && *text != 0;
    task->dtype = problem->dtypes[0];
    if (!*given) {
        return AK_OK;
    }
    ak_buf list = AK_BUF(100);
    bool found = false;
    for (size_t i = 0; i < problem->dtype_count && !found; i++) {
        const char *name = ak_dtype_text(problem->dtypes[i]);
        ak_buf_print(&list, "%s%s", i == 0 ? "" : ", ", name);
        if (strcmp(name, text) == 0) {
            task->dtype = problem->dtypes[i];
            found = true;
        }
    }
    ak_status status = found ? AK_OK
                             : ak_fail(err, AK_INVALID, "%s has no dtype \"%.40s\"; it has %s",
                                       problem->name, text, list.data);
    ak_buf_free(&list);
    return status;
}

static ak_status read_number(double *out, const ak_choice_spec *choice, const char *text,
                             ak_error *err)
{
    double value;
    bool whole = choice->kind == AK_CHOICE_WHOLE;
    if (!ak_text_real(&value, text) || !(value >= choice->low && value <= choice->high) ||
        (whole && value != floor(value))) {
        return ak_fail(err, AK_INVALID,
                       "choice %s: \"%.40s\" is not possible; it must be a %snumber from %.16g to "
                       "%.16g",
                       choice->name, text, whole ? "whole " : "", choice->low, choice->high);
    }
    *out = value == 0.0 ? 0.0 : value; /* there is one zero */
    return AK_OK;
}

/* The value of a choice that is a number; a whole one as an integer. */
static ak_value number_of(const ak_choice_spec *choice, double number)
{
    return choice->kind == AK_CHOICE_WHOLE
               ? (ak_value){.type = AK_VALUE_INT, .as.integer = (int64_t)number}
               : (ak_value){.type = AK_VALUE_REAL, .as.real = number};
}

/* "alpha=0.5": with the fewest digits that read back, and without a fraction of nothing. */
static void print_choice(ak_buf *out, const ak_task *task, size_t i)
{
    const ak_choice_spec *choice = &task->problem->choices[i];
    const char *between = out->length == 0 ? "" : ",";
    char text[40];
    if (choice->kind == AK_CHOICE_TEXT) {
        ak_buf_print(out, "%s%s=%s", between, choice->name, choice->values[task->choice[i]]);
        return;
    }
    const double number = task->number[i];
    ak_value value = {.type = AK_VALUE_INT};
    if (fabs(number) <= AK_CHOICE_NUMBER_MAX && number == floor(number)) {
        value.as.integer = (int64_t)number;
    } else {
        value = (ak_value){.type = AK_VALUE_REAL, .as.real = number};
    }
    (void)ak_value_format(text, sizeof text, &value);
    ak_buf_print(out, "%s%s=%s", between, choice->name, text);
}

static ak_status set_choice(ak_task *task, const char *name, const char *value, ak_error *err)
{
    const char *names[AK_CHOICES_MAX + 1] = {NULL};
    const ak_problem *problem = task->problem;
    for (size_t i = 0; i < problem->choice_count; i++) {
        const ak_choice_spec *choice = &problem->choices[i];
        names[i] = choice->name;
        if (strcmp(names[i], name) != 0) {
            continue;
        }
        if (task->choice[i] >= 0) {
            return ak_fail(err, AK_INVALID, "choice %s is given twice", name);
        }
        if (choice->kind != AK_CHOICE_TEXT) {
            task->choice[i] = 0;
            return read_number(&task->number[i], choice, value, err);
        }
        for (size_t v = 0; v < choice->value_count; v++) {
            if (strcmp(choice->values[v], value) == 0) {
                task->choice[i] = (int)v;
                return AK_OK;
            }
        }
        ak_buf list = AK_BUF(400);
        for (size_t v = 0; v < choice->value_count; v++) {
            ak_buf_print(&list, "%s%s", v == 0 ? "" : ", ", choice->values[v]);
        }
        ak_status status = ak_fail(err, AK_INVALID, "choice %s cannot be \"%.60s\"; it can be %s",
                                   name, value, list.data);
        ak_buf_free(&list);
        return status;
    }
    return unknown_name("choice", name, names, problem, err);
}

static ak_status read_choices(ak_task *task, const char *text, ak_error *err)
{
    static const pair_reader reader = {"choices", set_choice};
    const ak_problem *problem = task->problem;
    for (size_t i = 0; i < problem->choice_count; i++) {
        task->choice[i] = -1;
    }
    ak_status status = text == NULL ? AK_OK : read_pairs(task, text, &reader, err);
    ak_buf canonical = AK_BUF(TASK_TEXT_MAX);
    for (size_t i = 0; i < problem->choice_count && status == AK_OK; i++) {
        const ak_choice_spec *choice = &problem->choices[i];
        if (task->choice[i] < 0) {
            task->choice[i] = (int)choice->default_index;
            task->number[i] = choice->fallback;
        }
        bool usual =
            task->choice[i] == (int)choice->default_index && task->number[i] == choice->fallback;
        if (!usual || !choice->implicit) {
            print_choice(&canonical, task, i);
        }
    }
    if (status == AK_OK) {
        status = ak_buf_take(&task->choices_text, &canonical, err);
    }
    ak_buf_free(&canonical);
    return status;
}

/* ---- names for expressions ------------------------------------------------------------------- */

static ak_status set_sizes(ak_scope *scope, const ak_problem *problem, const int64_t *size,
                           ak_error *err)
{
    ak_status status = AK_OK;
    for (size_t i = 0; i < problem->size_count && status == AK_OK; i++) {
        status = ak_scope_set_int(scope, problem->sizes[i].name, size[i], err);
    }
    return status;
}

static ak_status refuse_fact(const ak_scope *scope, const char *name, const ak_problem *problem,
                             ak_error *err)
{
    ak_value value;
    return ak_scope_get(&value, scope, name)
               ? ak_fail(err, AK_INVALID, "%s: \"%s\" is the name of a device fact; rename it",
                         problem->where, name)
               : AK_OK;
}

static ak_status set_choices(ak_scope *scope, const ak_task *task, ak_error *err)
{
    ak_status status = AK_OK;
    for (size_t i = 0; i < task->problem->choice_count && status == AK_OK; i++) {
        const ak_choice_spec *choice = &task->problem->choices[i];
        char index[80];
        if (choice->kind != AK_CHOICE_TEXT) {
            status = ak_scope_set(scope, choice->name, number_of(choice, task->number[i]), err);
            continue;
        }
        (void)snprintf(index, sizeof index, "choice_%.63s", choice->name);
        status = ak_scope_set_int(scope, index, task->choice[i], err);
        if (status == AK_OK) {
            status = ak_scope_set_text(scope, choice->name, choice->values[task->choice[i]], err);
        }
    }
    return status;
}

static ak_status gather_constants(ak_task *task, const ak_scope *facts, ak_error *err)
{
    const ak_problem *problem = task->problem;
    task->constants = ak_scope_new(NULL);
    if (task->constants == NULL) {
        return ak_fail_memory(err);
    }
    ak_scope *scope = task->constants;
    ak_status status = ak_scope_copy(scope, facts, err); /* the caller's may end */
    for (size_t i = 0; i < problem->size_count && status == AK_OK; i++) {
        status = refuse_fact(scope, problem->sizes[i].name, problem, err);
    }
    for (size_t i = 0; i < problem->choice_count && status == AK_OK; i++) {
        status = refuse_fact(scope, problem->choices[i].name, problem, err);
    }
    if (status == AK_OK) {
        status = set_sizes(scope, problem, task->shape.size, err);
    }
    if (status == AK_OK) {
        status = ak_scope_set_int(scope, "dtype_bytes", (int64_t)ak_dtype_bytes(task->dtype), err);
    }
    if (status == AK_OK) {
        status = ak_scope_set_text(scope, "dtype", ak_dtype_text(task->dtype), err);
    }
    return status == AK_OK ? set_choices(scope, task, err) : status;
}

ak_status ak_task_choices_scope(ak_scope *out, ak_problem *problem, const char *choices,
                                ak_error *err)
{
    ak_task task = {.problem = problem};
    ak_status status = read_choices(&task, choices, err);
    ak_free(task.choices_text);
    return status == AK_OK ? set_choices(out, &task, err) : status;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static double physical_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGE_SIZE);
    return pages <= 0 || bytes <= 0 ? INFINITY : (double)pages * (double)bytes;
}

static ak_status measure_argument(ak_shape *out, size_t i, const ak_task *task,
                                  const ak_scope *scope, const char *where, ak_error *err)
{
    const ak_argument_spec *argument = &task->problem->arguments[i];
    size_t elements = 1;
    int64_t extent = 1, pitch = 0;
    for (size_t d = 0; d < argument->rank; d++) {
        ak_status status = ak_expr_int(&extent, argument->shape[d], scope, where, err);
        if (status != AK_OK) {
            return status;
        }
        if (extent < 1) {
            return ak_fail(err, AK_INVALID,
                           "%s: argument %s has the extent %s = %lld; it must be 1 or more", where,
                           argument->name, argument->shape[d], (long long)extent);
        }
        if (__builtin_mul_overflow(elements, (size_t)extent, &elements)) {
            return ak_fail(err, AK_LIMIT, "%s: argument %s has 2^64 elements or more", where,
                           argument->name);
        }
    }
    ak_dtype dtype = argument->dtype_follows ? task->dtype : argument->dtype;
    out->elements[i] = elements;
    out->row[i] = out->pitch[i] = (size_t)extent;
    if (argument->pitch != NULL) {
        ak_status status = ak_expr_int(&pitch, argument->pitch, scope, where, err);
        if (status == AK_OK && pitch < extent) {
            status = ak_fail(err, AK_INVALID,
                             "%s: argument %s has rows of %lld elements, more than its pitch %s = "
                             "%lld",
                             where, argument->name, (long long)extent, argument->pitch,
                             (long long)pitch);
        }
        if (status != AK_OK) {
            return status;
        }
        out->pitch[i] = (size_t)pitch;
    }
    size_t span; /* elements from the first to the last */
    if (__builtin_mul_overflow(elements / out->row[i] - 1, out->pitch[i], &span) ||
        __builtin_add_overflow(span, out->row[i], &span) ||
        __builtin_mul_overflow(span, ak_dtype_bytes(dtype), &out->bytes[i])) {
        return ak_fail(err, AK_LIMIT, "%s: argument %s has 2^64 bytes or more", where,
                       argument->name);
    }
    return AK_OK;
}

/* A number that is finite and not negative. */
static ak_status measure_number(double *out, const char *text, const char *what,
                                const ak_scope *scope, const char *where, ak_error *err)
{
    ak_status status = ak_expr_real(out, text, scope, where, err);
    if (status == AK_OK && !(*out >= 0.0 && *out < INFINITY)) {
        status =
            ak_fail(err, AK_INVALID, "%s: %s is %g; it must not be negative", where, what, *out);
    }
    return status;
}

static ak_status measure_work(ak_shape *out, const ak_task *task, ak_scope *scope,
                              const char *where, ak_error *err)
{
    const ak_problem *problem = task->problem;
    ak_status status = measure_number(&out->flops, problem->flops, "flops", scope, where, err);
    if (status == AK_OK) {
        status = measure_number(&out->traffic, problem->bytes, "bytes", scope, where, err);
    }
    if (status == AK_OK) {
        status = ak_scope_set_real(scope, "eps", ak_dtype_epsilon(task->dtype), err);
    }
    for (size_t i = 0; i < problem->tolerance_count && status == AK_OK; i++) {
        const ak_tolerance_spec *tolerance = &problem->tolerances[i];
        if (tolerance->dtype != task->dtype) {
            continue;
        }
        status = measure_number(&out->relative, tolerance->relative, "the relative tolerance",
                                scope, where, err);
        if (status == AK_OK) {
            status =
                measure_number(&out->rms, tolerance->rms, "the rms tolerance", scope, where, err);
        }
    }
    return status;
}

ak_status ak_task_shape(ak_shape *out, const ak_task *task, const int64_t *size, ak_error *err)
{
    const ak_problem *problem = task->problem;
    ak_shape shape = {.flops = 0.0};
    char where[256] = "";
    size_t length = 0;
    for (size_t i = 0; i < problem->size_count && length < sizeof where; i++) {
        int written = snprintf(where + length, sizeof where - length, "%s%.30s=%lld",
                               i == 0 ? "size " : ",", problem->sizes[i].name, (long long)size[i]);
        length += written > 0 ? (size_t)written : 0;
        if (size[i] < 1) {
            return ak_fail(err, AK_INVALID, "size %s is %lld; it must be 1 or more",
                           problem->sizes[i].name, (long long)size[i]);
        }
        shape.size[i] = size[i];
    }
    ak_scope *scope = ak_scope_new(task->constants);
    ak_status status = scope == NULL ? ak_fail_memory(err) : set_sizes(scope, problem, size, err);
    double total = 0.0, memory = physical_memory();
    for (size_t i = 0; i < problem->argument_count && status == AK_OK; i++) {
        status = measure_argument(&shape, i, task, scope, where, err);
        /* The harness holds each argument, a pristine copy and, in double, what the reference has.
         */
        total += 2.0 * (double)shape.bytes[i] + 8.0 * (double)shape.elements[i];
    }
    if (status == AK_OK && total > memory && !task->recorded && !task->sheet) {
        status =
            ak_fail(err, AK_LIMIT,
                    "%s: the arguments and their reference need %.1f GB and this machine has %.1f "
                    "GB; choose a smaller size",
                    where, total / 1e9, memory / 1e9);
    }
    if (status == AK_OK) {
        status = measure_work(&shape, task, scope, where, err);
    }
    ak_scope_free(scope);
    if (status == AK_OK) {
        *out = shape;
    }
    return status;
}

ak_status ak_task_scope(ak_scope **out, const ak_task *task, const ak_shape *shape,
                        const ak_config *config, ak_error *err)
{
    ak_scope *scope = ak_scope_new(task->constants);
    ak_status status =
        scope == NULL ? ak_fail_memory(err) : set_sizes(scope, task->problem, shape->size, err);
    if (status == AK_OK && config != NULL) {
        status = ak_config_scope(scope, task->space, config, err);
    }
    if (status != AK_OK) {
        ak_scope_free(scope);
        return status;
    }
    *out = scope;
    return AK_OK;
}

ak_status ak_task_workspace(size_t *bytes, int *threads, const ak_task *task, const ak_shape *shape,
                            const ak_config *config, ak_error *err)
{
    const ak_implementation_spec *implementation = task->implementation;
    ak_scope *scope = NULL;
    int64_t need = 0, count = 0;
    ak_status status = ak_task_scope(&scope, task, shape, config, err);
    if (status == AK_OK) {
        status = ak_expr_int(&need, implementation->workspace, scope, implementation->where, err);
    }
    if (status == AK_OK) {
        status = ak_expr_int(&count, implementation->threads, scope, implementation->where, err);
    }
    ak_scope_free(scope);
    if (status != AK_OK) {
        return status;
    }
    if (need < 0 || (double)need > physical_memory()) {
        return ak_fail(err, need < 0 ? AK_INVALID : AK_LIMIT,
                       "%s: Workspace is %lld bytes, which is not possible on this machine",
                       implementation->where, (long long)need);
    }
    if (count < 1 || count > TASK_THREADS_MAX) {
        return ak_fail(err, AK_INVALID, "%s: Threads is %lld; it must be from 1 to %d",
                       implementation->where, (long long)count, TASK_THREADS_MAX);
    }
    *bytes = (size_t)need;
    *threads = (int)count;
    return AK_OK;
}

/* The first of the conditions on the task that does not hold, or NULL. One that cannot be evaluated
   does not hold. */
static const json_t *broken_need(const ak_implementation_spec *implementation,
                                 const ak_scope *scope)
{
    for (size_t i = 0; i < json_array_size(implementation->needs); i++) {
        const json_t *need = json_array_get(implementation->needs, i);
        const char *text = json_string_value(json_object_get(need, "Expression"));
        bool holds = false;
        if (ak_expr_bool(&holds, text, scope, implementation->where, NULL) != AK_OK || !holds) {
            return need;
        }
    }
    return NULL;
}

ak_status ak_task_allows(bool *out, const ak_task *task, const ak_shape *shape,
                         const ak_config *config, ak_error *err)
{
    const ak_implementation_spec *implementation = task->implementation;
    const json_t *space = json_object_get(implementation->definition, "ConfigurationSpace");
    const json_t *conditions = json_object_get(space, "Conditions");
    ak_scope *scope = NULL;
    ak_status status = ak_task_scope(&scope, task, shape, config, err);
    if (status != AK_OK) {
        return status;
    }
    *out = broken_need(implementation, scope) == NULL;
    for (size_t i = 0; *out && config != NULL && i < json_array_size(conditions); i++) {
        const json_t *condition = json_array_get(conditions, i);
        if (json_is_true(json_object_get(condition, "EverySize"))) {
            const char *text = json_string_value(json_object_get(condition, "Expression"));
            bool holds = false;
            *out = ak_expr_bool(&holds, text, scope, implementation->where, NULL) == AK_OK && holds;
        }
    }
    ak_scope_free(scope);
    return AK_OK;
}

/* ---- binding --------------------------------------------------------------------------------- */

static ak_status hash_sources(ak_task *task, ak_error *err)
{
    char *definition = NULL, *problem = NULL;
    ak_status status = ak_json_text(&definition, task->implementation->definition, err);
    if (status == AK_OK) {
        status = ak_json_text(&problem, task->problem->documents[0], err);
    }
    ak_hasher *hasher = status == AK_OK ? ak_hasher_new() : NULL;
    if (hasher != NULL) {
        ak_hasher_add_text(hasher, task->implementation->source);
        ak_hasher_add_text(hasher, task->problem->reference_source);
        ak_hasher_add_text(hasher, problem);
        ak_hasher_add_text(hasher, definition);
        ak_hasher_end(task->source_hash, hasher);
    } else if (status == AK_OK) {
        status = ak_fail_memory(err);
    }
    ak_free(definition);
    ak_free(problem);
    return status;
}

static ak_status choose_threads(ak_task *task, int wanted, ak_error *err)
{
    ak_value fact;
    if (wanted < 0 || wanted > TASK_THREADS_MAX) {
        return ak_fail(err, AK_INVALID,
                       "threads: %d is not possible; it must be from 1 to %d, or 0 "
                       "for all",
                       wanted, TASK_THREADS_MAX);
    }
    task->threads = wanted;
    if (wanted == 0) {
        bool known = ak_scope_get(&fact, task->constants, "cpu_threads") &&
                     fact.type == AK_VALUE_INT && fact.as.integer >= 1 &&
                     fact.as.integer <= TASK_THREADS_MAX;
        task->threads = known ? (int)fact.as.integer : 0; /* the device has none of its own */
    }
    return AK_OK;
}

bool ak_task_knows(const ak_task *task, const char *expression)
{
    ak_expr *expr = NULL;
    const char *const *names;
    if (ak_expr_parse(&expr, expression, "", NULL) != AK_OK) {
        return false;
    }
    size_t count = ak_expr_names(&names, expr), known = 0;
    for (size_t i = 0; i < count; i++) {
        ak_value value;
        size_t parameter;
        known += ak_space_parameter_find(&parameter, task->space, names[i]) ||
                 ak_scope_get(&value, task->constants, names[i]);
    }
    ak_expr_free(expr);
    return known == count;
}

static ak_status build_space(ak_task *task, const ak_device_facts *device, ak_error *err)
{
    const ak_implementation_spec *implementation = task->implementation;
    if (device->space != NULL) {
        return device->space(&task->space, &task->definition, device->space_context, implementation,
                             task->constants, err);
    }
    ak_space_spec spec = {.definition =
                              json_object_get(implementation->definition, "ConfigurationSpace"),
                          .constants = task->constants,
                          .allow_numerics = task->allow_numerics,
                          .fix = task->fix,
                          .available = device->available,
                          .available_context = device->available_context,
                          .where = implementation->where};
    return ak_space_build(&task->space, &spec, err);
}

/* Finds mistakes in Workspace and Threads before the first candidate is compiled for nothing. */
static ak_status try_workspace(const ak_task *task, ak_error *err)
{
    size_t bytes;
    int threads;
    ak_config config;
    ak_space_default(&config, task->space);
    return ak_task_workspace(&bytes, &threads, task, &task->shape, &config, err);
}

/* Can the implementation do this task, as far as that does not depend on parameters? With
   `dtype_given` false the dtype is the first of the problem's that it computes in. */
static ak_status fits(const ak_implementation_spec *implementation, ak_task *task, bool dtype_given,
                      const ak_scope *facts, ak_error *err)
{
    const ak_problem *problem = task->problem;
    ak_buf list = AK_BUF(100);
    bool found = problem->dtype_count == 0;
    for (size_t i = 0; i < problem->dtype_count; i++) {
        ak_dtype dtype = problem->dtypes[i];
        bool has = (implementation->dtypes >> dtype & 1u) != 0;
        if (has) {
            ak_buf_print(&list, "%s%s", list.length == 0 ? "" : ", ", ak_dtype_text(dtype));
        }
        if (has && !found && (!dtype_given || dtype == task->dtype)) {
            task->dtype = dtype;
            found = true;
        }
    }
    ak_status status =
        found ? AK_OK
              : ak_fail(err, AK_INVALID,
                        "%s: implementation %s has no dtype %s; it "
                        "has %s",
                        problem->name, implementation->name, ak_dtype_text(task->dtype), list.data);
    ak_buf_free(&list);
    if (status == AK_OK) {
        ak_scope_free(task->constants);
        task->constants = NULL;
        status = gather_constants(task, facts, err);
    }
    const json_t *broken =
        status == AK_OK && !task->recorded ? broken_need(implementation, task->constants) : NULL;
    return broken == NULL ? status
                          : ak_fail(err, AK_INVALID, "%s: implementation %s needs %s",
                                    problem->name, implementation->name,
                                    json_string_value(json_object_get(broken, "Description")));
}

/* The implementation that was asked for, or the first one for the device that can do the task: of
   those written for one architecture, which know it best, then of the others. */
static ak_status choose_implementation(ak_task *task, const ak_task_spec *spec, bool dtype_given,
                                       const ak_device_facts *device, ak_error *err)
{
    const ak_problem *problem = task->problem;
    bool runnable = ak_problem_runnable(problem, NULL) == AK_OK;
    ak_buf list = AK_BUF(300);
    if (spec->implementation != NULL) {
        ak_status status =
            ak_problem_find(&task->implementation, problem, spec->implementation, err);
        if (status == AK_OK && runnable && !task->recorded &&
            strcmp(task->implementation->backend, device->backend) != 0) {
            status =
                ak_fail(err, AK_INVALID, "%s: implementation \"%s\" is for %s devices, not \"%s\"",
                        problem->name, task->implementation->name, task->implementation->backend,
                        device->device);
        }
        return status == AK_OK ? fits(task->implementation, task, dtype_given, device->facts, err)
                               : status;
    }
    ak_status status = AK_NOT_FOUND;
    const size_t count = problem->implementation_count;
    for (size_t i = 0; i < count; i++) {
        ak_buf_print(&list, "%s%s", i == 0 ? "" : ", ", problem->implementations[i].name);
    }
    for (size_t i = 0; status != AK_OK && i < 2 * count; i++) {
        const ak_implementation_spec *implementation = &problem->implementations[i % count];
        const bool own_turn = (implementation->architecture != NULL) == (i < count);
        if (own_turn && (!runnable || task->recorded ||
                         strcmp(implementation->backend, device->backend) == 0)) {
            status = fits(implementation, task, dtype_given, device->facts, err);
            task->implementation = implementation;
            if (status == AK_NO_MEMORY) {
                break;
            }
        }
    }
    if (task->implementation == NULL) {
        status =
            ak_fail(err, AK_NOT_FOUND, "%s has no implementation for the device \"%s\"; it has %s",
                    problem->name, device->backend, list.data);
    }
    ak_buf_free(&list);
    return status;
}

static ak_status bind(ak_task *task, const ak_task_spec *spec, const ak_device_facts *device,
                      ak_error *err)
{
    task->allow_numerics = spec->allow_numerics;
    task->seed = spec->seed;
    task->recorded = device->space != NULL;
    task->sheet = device->sheet;
    task->problem = device->problem;
    ak_status status =
        device->problem != NULL ? AK_OK : ak_problem_open(&task->problem, spec->kernel, err);
    if (status != AK_OK) {
        return status;
    }
    task->kernel = ak_strdup(spec->kernel);
    task->device = ak_strdup(device->device);
    task->devices = ak_strdup(device->devices == NULL ? device->device : device->devices);
    task->fix = ak_strdup(spec->fix);
    task->libraries = ak_strdup(spec->libraries);
    task->protocol = ak_strdup(spec->protocol);
    if (task->kernel == NULL || task->device == NULL || task->devices == NULL ||
        (spec->fix != NULL && task->fix == NULL) ||
        (spec->libraries != NULL && task->libraries == NULL) ||
        (spec->protocol != NULL && task->protocol == NULL)) {
        return ak_fail_memory(err);
    }
    bool runnable = ak_problem_runnable(task->problem, NULL) == AK_OK, dtype_given = false;
    status = read_dtype(&dtype_given, task, spec->dtype, err);
    if (status == AK_OK) {
        status = read_choices(task, spec->choices, err);
    }
    if (status == AK_OK) {
        status = read_sizes(task, spec->size, err);
    }
    if (status == AK_OK) {
        status = choose_implementation(task, spec, dtype_given, device, err);
    }
    if (status == AK_OK) {
        task->backend = task->recorded ? device->backend : task->implementation->backend;
        status = choose_threads(task, spec->threads, err);
    }
    if (status == AK_OK) {
        int64_t size[AK_SIZES_MAX];
        memcpy(size, task->shape.size, sizeof size);
        status = ak_task_shape(&task->shape, task, size, err);
    }
    if (status == AK_OK) {
        status = hash_sources(task, err);
    }
    if (status == AK_OK) {
        status = build_space(task, device, err);
    }
    if (status == AK_OK) {
        const char *rank =
            json_string_value(json_object_get(task->implementation->definition, "Rank"));
        task->rank = rank != NULL && task->recorded && !ak_task_knows(task, rank) ? NULL : rank;
    }
    return status == AK_OK && runnable && !task->recorded ? try_workspace(task, err) : status;
}

ak_status ak_task_bind(ak_task **out, const ak_task_spec *spec, const ak_device_facts *device,
                       ak_error *err)
{
    ak_task *task = ak_alloc(1, sizeof *task);
    if (task == NULL) {
        ak_problem_close(device->problem);
        return ak_fail_memory(err);
    }
    ak_status status = bind(task, spec, device, err);
    if (status != AK_OK) {
        ak_task_close(task);
        return status;
    }
    *out = task;
    return AK_OK;
}

void ak_task_set_cancel(ak_task *task, const volatile int *cancel)
{
    task->cancel = cancel;
}

void ak_task_close(ak_task *task)
{
    if (task != NULL) {
        ak_space_free(task->space);
        json_decref(task->definition);
        ak_scope_free(task->constants);
        ak_problem_close(task->problem);
        ak_free(task->device);
        ak_free(task->devices);
        ak_free(task->kernel);
        ak_free(task->size_text);
        ak_free(task->fix);
        ak_free(task->libraries);
        ak_free(task->protocol);
        ak_free(task->reason);
        ak_free(task->choices_text);
        ak_free(task);
    }
}

/* ---- looking --------------------------------------------------------------------------------- */

const ak_space *ak_task_space(const ak_task *task)
{
    return task->space;
}

const ak_problem *ak_task_problem(const ak_task *task)
{
    return task->problem;
}

const char *ak_task_implementation(const ak_task *task)
{
    return task->implementation->name;
}

const char *ak_task_reason(const ak_task *task)
{
    return task->reason;
}

bool ak_task_by_sheet(const ak_task *task)
{
    return task->sheet;
}

const char *ak_task_device(const ak_task *task)
{
    return task->device;
}

const char *ak_task_devices(const ak_task *task)
{
    return task->devices;
}

const char *ak_task_size(const ak_task *task)
{
    return task->size_text;
}

const char *ak_task_dtype(const ak_task *task)
{
    return ak_dtype_text(task->dtype);
}

const char *ak_task_choices(const ak_task *task)
{
    return task->choices_text;
}

double ak_task_flops(const ak_task *task)
{
    return task->shape.flops;
}

double ak_task_bytes(const ak_task *task)
{
    return task->shape.traffic;
}

/* Macros whose values follow from the task: whole numbers; a truth is 1 or 0. */
static ak_status add_defines(ak_options *out, const ak_task *task, ak_error *err)
{
    const ak_implementation_spec *implementation = task->implementation;
    const char *name;
    json_t *text;
    ak_status status = AK_OK;
    json_object_foreach((json_t *)(uintptr_t)implementation->defines, name, text)
    {
        char line[160];
        int64_t value = 0;
        status = ak_expr_int(&value, json_string_value(text), task->constants,
                             implementation->where, err);
        if (status == AK_OK) {
            (void)snprintf(line, sizeof line, "-D%.63s=%lld", name, (long long)value);
            status = ak_options_add(out, line, err);
        }
        if (status != AK_OK) {
            break;
        }
    }
    return status;
}

ak_status ak_task_options(ak_options *out, const ak_task *task, const ak_config *config,
                          ak_error *err)
{
    char line[160];
    const ak_problem *problem = task->problem;
    (void)snprintf(line, sizeof line, "-Ddtype_is_%s=1", ak_dtype_text(task->dtype));
    ak_status status = ak_options_add(out, line, err);
    for (size_t i = 0; i < problem->choice_count && status == AK_OK; i++) {
        if (problem->choices[i].kind == AK_CHOICE_TEXT) {
            (void)snprintf(line, sizeof line, "-D%.63s_is_%.63s=1", problem->choices[i].name,
                           problem->choices[i].values[task->choice[i]]);
            status = ak_options_add(out, line, err);
        }
    }
    status = status == AK_OK ? add_defines(out, task, err) : status;
    ak_value fact;
    if (status == AK_OK && task->implementation->launch != NULL) {
        const char *own = task->implementation->architecture;
        bool known =
            ak_scope_get(&fact, task->constants, "compute_capability") && fact.type == AK_VALUE_INT;
        if (own != NULL) {
            (void)snprintf(line, sizeof line, "--gpu-architecture=%.40s", own);
        } else {
            (void)snprintf(line, sizeof line, "--gpu-architecture=sm_%lld",
                           known ? (long long)fact.as.integer : 80);
        }
        status = ak_options_add(out, line, err);
    }
    for (size_t i = 0; i < task->implementation->option_count && status == AK_OK; i++) {
        status = ak_options_add(out, task->implementation->options[i], err);
    }
    return status == AK_OK ? ak_config_options(out, task->space, config, err) : status;
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static const char *const spec_keys[] = {
    "kernel",         "implementation", "device", "size",      "dtype",    "choices", "fix",
    "allow_numerics", "threads",        "seed",   "libraries", "protocol", NULL};

ak_status ak_task_spec_to_json(json_t **out, const ak_task *task, ak_error *err)
{
    json_t *json = json_object();
    /* JSON has no unsigned numbers: the seed travels as the int64_t with the same bits */
    bool fine = json != NULL && ak_json_set_text(json, "kernel", task->kernel) &&
                ak_json_set_text(json, "implementation", task->implementation->name) &&
                ak_json_set_text(json, "device", task->devices) &&
                ak_json_set_text(json, "size", task->size_text) &&
                ak_json_set_text(json, "dtype", ak_dtype_text(task->dtype)) &&
                ak_json_set_text(json, "choices", task->choices_text) &&
                (task->fix == NULL || ak_json_set_text(json, "fix", task->fix)) &&
                (task->libraries == NULL || ak_json_set_text(json, "libraries", task->libraries)) &&
                (task->protocol == NULL || ak_json_set_text(json, "protocol", task->protocol)) &&
                ak_json_set(json, "allow_numerics", json_boolean(task->allow_numerics)) &&
                ak_json_set(json, "threads", json_integer(task->threads)) &&
                ak_json_set(json, "seed", json_integer((json_int_t)task->seed));
    if (!fine) {
        json_decref(json);
        return ak_fail_memory(err);
    }
    *out = json;
    return AK_OK;
}

ak_status ak_task_spec_from_json(ak_task_spec *out, const json_t *object, ak_error *err)
{
    static const char where[] = "task";
    ak_task_spec spec = {.kernel = NULL};
    int64_t threads, seed;
    if (!json_is_object(object)) {
        return ak_fail(err, AK_INVALID, "%s: must be an object", where);
    }
    ak_status status = ak_json_only(object, spec_keys, where, err);
    if (status == AK_OK) {
        status = ak_json_string(&spec.kernel, object, "kernel", where, err);
    }
    if (status == AK_OK) {
        status =
            ak_json_string_or(&spec.implementation, object, "implementation", NULL, where, err);
    }
    if (status == AK_OK) {
        status = ak_json_string_or(&spec.device, object, "device", NULL, where, err);
    }
    if (status == AK_OK) {
        status = ak_json_string_or(&spec.size, object, "size", NULL, where, err);
    }
    if (status == AK_OK) {
        status = ak_json_string_or(&spec.dtype, object, "dtype", NULL, where, err);
    }
    if (status == AK_OK) {
        status = ak_json_string_or(&spec.choices, object, "choices", NULL, where, err);
    }
    if (status == AK_OK) {
        status = ak_json_string_or(&spec.fix, object, "fix", NULL, where, err);
    }
    if (status == AK_OK) {
        status = ak_json_string_or(&spec.libraries, object, "libraries", NULL, where, err);
    }
    if (status == AK_OK) {
        status = ak_json_string_or(&spec.protocol, object, "protocol", NULL, where, err);
    }
    if (status == AK_OK) {
        status = ak_json_bool_or(&spec.allow_numerics, object, "allow_numerics", false, where, err);
    }
    if (status == AK_OK) {
        status = ak_json_int_or(&threads, object, "threads", 0, where, err);
    }
    if (status == AK_OK) {
        status = ak_json_int_or(&seed, object, "seed", 0, where, err);
    }
    if (status != AK_OK) {
        return status;
    }
    if (threads < 0 || threads > TASK_THREADS_MAX) {
        return ak_fail(err, AK_INVALID, "%s: \"threads\" must be from 0 to %d", where,
                       TASK_THREADS_MAX);
    }
    spec.threads = (int)threads;
    spec.seed = (uint64_t)seed;
    *out = spec;
    return AK_OK;
}
