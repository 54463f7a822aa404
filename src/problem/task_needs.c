/* task_needs.c: evaluates what an implementation demands at a shape: its conditions on the task
   ("Needs" and conditions with "EverySize"), workspace and threads. */
#include "problem/task_bind.h"

#include <string.h>

#include "base/fs.h"
#include "problem/backend_rules.h"
#include "problem/source_text.h"

#define TASK_BLAME_MAX 256 /* bytes of a configuration in a message */
#define WHERE_MAX      256
#define TEXT_MAX       (1u << 14) /* bytes; a message with the names of all parameters has fewer */

/* ---- messages -------------------------------------------------------------------------------- */

ak_status ak_task_blame(const ak_task *task, const ak_shape *shape, const ak_config *config,
                        ak_error *err)
{
    char text[TASK_BLAME_MAX];
    if (err == NULL || err->status == AK_OK || err->status == AK_NO_MEMORY) {
        return err == NULL ? AK_INVALID : err->status;
    }
    size_t length = strlen(err->text), count = task->problem->size_count;
    bool own = ak_shape_is_same(shape, &task->shape);
    for (size_t i = 0; !own && i < count && length < sizeof err->text; i++) {
        (void)snprintf(err->text + length, sizeof err->text - length, "%s%.30s=%lld",
                       i == 0 ? ", at " : ",", task->problem->sizes[i].name,
                       (long long)shape->size[i]);
        length = strlen(err->text);
    }
    if (config != NULL && length < sizeof err->text) {
        (void)ak_config_format(text, sizeof text, task->space, config);
        (void)snprintf(err->text + length, sizeof err->text - length, ", for %s", text);
    }
    return err->status;
}

/* ---- ignored directives and unused parameters ------------------------------------------------ */

const char *ak_task_ignored(const ak_task *task)
{
    const ak_implementation_spec *implementation = task->implementation;
    ak_source_omp needs = AK_SOURCE_OMP_NONE;
    bool ignored = strcmp(task->backend, "host") == 0 && !implementation->openmp &&
                   implementation->source != NULL &&
                   ak_source_openmp(&needs, implementation->source) &&
                   needs == AK_SOURCE_OMP_THREADS;
    return ignored ? "the source has directives of OpenMP, which are ignored: \"Threads\" of the "
                     "space file is not \"openmp\" (docs/formats.md)"
                   : task->left_out;
}

/* Returns whether the word at `at` is the name that a directive tests or defines (#ifndef NAME,
   #define NAME 4); such a use makes the same code for all values. */
static bool is_guard(const char *text, const char *at)
{
    static const char *const directives[] = {"ifdef", "ifndef", "define", "undef"};
    const size_t end = ak_source_back(text, (size_t)(at - text), " \t");
    const size_t begin = ak_source_back(text, end, "abcdefghijklmnopqrstuvwxyz");
    const size_t mark = ak_source_back(text, begin, " \t");
    bool guard = false;
    for (size_t i = 0; i < AK_COUNT(directives); i++) {
        guard = guard || (strlen(directives[i]) == end - begin &&
                          strncmp(text + begin, directives[i], end - begin) == 0);
    }
    return guard && mark > 0 && text[mark - 1] == '#' && end < (size_t)(at - text);
}

/* Returns whether a text mentions a parameter, as a word whose value matters or by the macro for a
   value (NAME_is_value). */
static bool mentions(const char *text, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)) != NULL; at += length) {
        const bool begins = at == text || strchr(AK_SOURCE_WORD, at[-1]) == NULL;
        const char next = at[length];
        const bool ends = next == 0 || strchr(AK_SOURCE_WORD, next) == NULL;
        if (begins && ((ends && !is_guard(text, at)) || strncmp(at + length, "_is_", 4) == 0)) {
            return true;
        }
    }
    return false;
}

/* Returns whether a parameter that the source does not mention is certainly unused. This needs a
   source that has the kernel, is all that is compiled and does not paste names together (##), and a
   backend that passes parameters as macros. A backend does so if it has rules for options. Returns
   false for Triton, a recording and a data sheet. */
static bool is_whole(const ak_task *task)
{
    const char *source = task->implementation->source;
    const ak_backend_rules *rules = ak_backend_rules_find(task->backend);
    return source != NULL && rules != NULL && rules->allows_option != NULL &&
           mentions(source, task->implementation->kernel_name) && !task->recorded && !task->sheet &&
           !ak_implementation_is_triton(task->implementation) && strstr(source, "##") == NULL &&
           strstr(source, "#include \"") == NULL;
}

ak_status ak_task_find_unused(ak_task *task, ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf names = AK_BUF(TEXT_MAX), text = AK_BUF(TEXT_MAX);
    AK_FREED char *plain = NULL;
    AK_AT_END(ak_text_free_at) char *specification = NULL;
    size_t count = 0;
    if (!is_whole(task)) {
        return AK_OK;
    }
    const char *source = task->implementation->source; /* a string literal in _Pragma holds code */
    plain = strstr(source, "_Pragma") == NULL ? ak_source_plain(source) : ak_strdup(source);
    AK_DO(ak_made(plain, err));
    AK_DO(ak_json_text(&specification,
                       json_object_get(task->implementation->definition, "KernelSpecification"),
                       err));
    for (size_t i = 0; i < ak_space_parameter_count(task->space); i++) {
        const ak_parameter *one = ak_space_parameter(task->space, i);
        if (one->use == AK_USE_DEFINE && ak_space_occurring(task->space, i) > 1 &&
            !mentions(plain, one->name) && !mentions(specification, one->name)) {
            ak_buf_print(&names, "%s%s", count++ == 0 ? "" : ", ", one->name);
        }
    }
    AK_DO(ak_buf_status(&names, err));
    if (count > 0) {
        const char *these = count == 1 ? "it" : "them";
        ak_buf_print(&text,
                     "the source of the kernel does not use the parameter%s %s: all values make "
                     "the same code; use %s there, or take %s out of the space file",
                     ak_plural(count), names.data, these, these);
        AK_DO(ak_buf_take(&task->unused, &text, err));
    }
    return AK_OK;
}

const char *ak_task_unused(const ak_task *task)
{
    return task->unused;
}

/* ---- workspace and threads ------------------------------------------------------------------- */

/* An expression of the implementation that must give a whole number from `least` to `most`. */
typedef struct quantity {
    const char *key, *text;
    int64_t least, most;
} quantity;

static ak_status evaluate(int64_t *out, const quantity *q, const ak_scope *scope, const char *where,
                          ak_error *err)
{
    char place[WHERE_MAX];
    (void)snprintf(place, sizeof place, "%.200s: %s", where, q->key);
    AK_DO(ak_expr_int(out, q->text, scope, place, err));
    AK_FAIL_IF(*out < q->least || *out > q->most, err, AK_INVALID,
               "%s: \"%.160s\" is %lld; it must be from %lld to %lld", place, q->text,
               (long long)*out, (long long)q->least, (long long)q->most);
    return AK_OK;
}

/* Gives the quantities "Workspace" and "Threads" of an implementation. */
static void list_quantities(quantity *workspace, quantity *threads,
                            const ak_implementation_spec *implementation)
{
    const double memory = ak_task_memory();
    const int64_t most = memory < (double)TASK_SIZE_MAX ? (int64_t)memory : TASK_SIZE_MAX;
    *workspace = (quantity){"Workspace", implementation->workspace, 0, most};
    *threads = (quantity){"Threads", implementation->threads, 1, TASK_THREADS_MAX};
}

static ak_status evaluate_both(int64_t *need, int64_t *count,
                               const ak_implementation_spec *implementation, const ak_scope *scope,
                               const char *where, ak_error *err)
{
    quantity workspace, threads;
    list_quantities(&workspace, &threads, implementation);
    AK_DO(evaluate(need, &workspace, scope, where, err));
    return evaluate(count, &threads, scope, where, err);
}

ak_status ak_task_workspace(size_t *bytes, int *threads, const ak_task *task, const ak_shape *shape,
                            const ak_config *config, ak_error *err)
{
    const ak_implementation_spec *implementation = task->implementation;
    ak_scope *scope = NULL;
    ak_error why = AK_ERROR_INIT;
    int64_t need = 0, count = 0;
    AK_DO(ak_task_scope(&scope, task, shape, config, err));
    ak_status status = evaluate_both(&need, &count, implementation, scope,
                                     ak_fs_base(implementation->where), &why);
    ak_scope_free(scope);
    if (status != AK_OK) {
        (void)ak_task_blame(task, shape, config, &why);
        return ak_fail(err, status, "%s", why.text);
    }
    *bytes = (size_t)need;
    *threads = (int)count;
    return AK_OK;
}

/* Sets *out to whether an expression reads a parameter, so that its value depends on the
   configuration. */
static ak_status reads_parameter(bool *out, const quantity *q, const ak_task *task, ak_error *err)
{
    char place[WHERE_MAX];
    AK_AT_END(ak_expr_free_at) ak_expr *expr = NULL;
    const char *const *names;
    size_t parameter;
    (void)snprintf(place, sizeof place, "%.200s: %s", task->implementation->where, q->key);
    *out = false;
    AK_DO(ak_expr_parse(&expr, q->text, place, err));
    const size_t count = ak_expr_names(&names, expr);
    for (size_t i = 0; i < count; i++) {
        *out = *out || ak_space_parameter_find(&parameter, task->space, names[i]);
    }
    return AK_OK;
}

/* Fails if the quantity has no allowed value in `scope`, which is that of the default
   configuration, and if every other configuration has the same fault. */
static ak_status try_quantity(const quantity *q, const ak_task *task, const ak_scope *scope,
                              ak_error *err)
{
    ak_error why = AK_ERROR_INIT;
    bool varies;
    int64_t value;
    AK_DO(reads_parameter(&varies, q, task, err));
    const ak_status status = evaluate(&value, q, scope, task->implementation->where, &why);
    varies = varies && status != AK_NO_MEMORY && ak_task_knows(task, q->text);
    return status == AK_OK || varies ? AK_OK : ak_fail(err, status, "%s", why.text);
}

ak_status ak_task_try_workspace(const ak_task *task, ak_error *err)
{
    AK_AT_END(ak_scope_free_at) ak_scope *scope = NULL;
    ak_config config;
    quantity workspace, threads;
    list_quantities(&workspace, &threads, task->implementation);
    ak_space_default(&config, task->space);
    AK_DO(ak_task_scope(&scope, task, &task->shape, &config, err));
    AK_DO(try_quantity(&workspace, task, scope, err));
    return try_quantity(&threads, task, scope, err);
}

/* ---- conditions ------------------------------------------------------------------------------ */

/* Returns whether an expression can be evaluated and is true. */
static bool holds(const char *text, const ak_scope *scope, const char *where)
{
    bool truth = false;
    return ak_expr_bool(&truth, text, scope, where, NULL) == AK_OK && truth;
}

static const json_t *conditions_of(const ak_task *task)
{
    const json_t *definition = task->implementation->definition;
    return json_object_get(json_object_get(definition, "ConfigurationSpace"), "Conditions");
}

/* Returns the expression of a condition with "EverySize"; NULL for other conditions. */
static const char *for_every_size(const json_t *condition)
{
    const bool every = json_is_true(json_object_get(condition, "EverySize"));
    return every ? ak_json_text_or_null(condition, "Expression") : NULL;
}

const json_t *ak_task_broken_need(const ak_implementation_spec *implementation,
                                  const ak_scope *scope)
{
    AK_EACH(need, implementation->needs) {
        if (!holds(ak_json_text_at(need, "Expression"), scope, implementation->where)) {
            return need;
        }
    }
    return NULL;
}

ak_status ak_task_allows(bool *out, const ak_task *task, const ak_shape *shape,
                         const ak_config *config, ak_error *err)
{
    const ak_implementation_spec *implementation = task->implementation;
    const json_t *conditions = conditions_of(task);
    AK_AT_END(ak_scope_free_at) ak_scope *scope = NULL;
    AK_DO(ak_task_scope(&scope, task, shape, config, err));
    *out = ak_task_broken_need(implementation, scope) == NULL;
    for (size_t i = 0; *out && config != NULL && i < json_array_size(conditions); i++) {
        const char *text = for_every_size(json_array_get(conditions, i));
        *out = text == NULL || holds(text, scope, implementation->where);
    }
    return AK_OK;
}

ak_status ak_task_broken_condition(const char **out, const ak_task *task, const ak_shape *shape,
                                   const ak_config *config, ak_error *err)
{
    const json_t *conditions = conditions_of(task);
    AK_AT_END(ak_scope_free_at) ak_scope *scope = NULL;
    *out = NULL;
    AK_DO(ak_task_scope(&scope, task, shape, config, err));
    for (size_t i = 0; *out == NULL && i < json_array_size(conditions); i++) {
        const json_t *condition = json_array_get(conditions, i);
        const char *text = json_is_string(condition)
                               ? json_string_value(condition)
                               : ak_json_text_or_null(condition, "Expression");
        *out = text == NULL || holds(text, scope, task->implementation->where) ? NULL : text;
    }
    return AK_OK;
}

/* ---- configurations with equal needs --------------------------------------------------------- */

/* Returns whether the parameters that an expression reads have equal values in two configurations.
 */
static bool reads_alike(const char *text, const ak_task *task, const ak_config *a,
                        const ak_config *b)
{
    AK_AT_END(ak_expr_free_at) ak_expr *expr = NULL;
    const char *const *names;
    bool alike = true;
    if (ak_expr_parse(&expr, text, task->implementation->where, NULL) != AK_OK) {
        return false;
    }
    const size_t count = ak_expr_names(&names, expr);
    for (size_t i = 0; i < count; i++) {
        size_t parameter;
        alike = alike && (!ak_space_parameter_find(&parameter, task->space, names[i]) ||
                          a->at[parameter] == b->at[parameter]);
    }
    return alike;
}

bool ak_task_needs_alike(const ak_task *task, const ak_config *a, const ak_config *b)
{
    const ak_implementation_spec *implementation = task->implementation;
    const json_t *conditions = conditions_of(task);
    bool alike = implementation->launch == NULL &&
                 reads_alike(implementation->workspace, task, a, b) &&
                 reads_alike(implementation->threads, task, a, b);
    for (size_t i = 0; alike && i < json_array_size(conditions); i++) {
        const char *text = for_every_size(json_array_get(conditions, i));
        alike = text == NULL || reads_alike(text, task, a, b);
    }
    return alike;
}
