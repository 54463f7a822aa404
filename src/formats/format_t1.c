/*
 * format_t1.c: writes a task's space as a T1 input file (FORMAT 1.0.0, the JSON schema of Kernel
 * Tuner 1.5.0).
 *
 * The space files of kernels can say more than T1: expressions read sizes, options of the problem
 * and facts of the device. In the T1 file these are resolved: every name that is not a parameter is
 * replaced by its value, values are lists, and conditions that the task decides are left out. The
 * T1 file holds the same configurations as the space, for this task only. T1 1.0.0 has no word for
 * C or Triton, so a kernel of any backend but CUDA is called OpenCL there; the member "autokernel"
 * names the backend.
 */
#include "formats/format.h"

#include "base/ascii.h"
#include "base/value_json.h"
#include "problem/task.h"

#define TEXT_MAX   (1u << 20)
#define LET_DEPTH  8  /* nesting of names that are defined by names */
#define NAME_BYTES 64 /* size of a name, including the final 0 */

/* ---- expressions ----------------------------------------------------------------------------- */

/* Prints a value as Python writes it within an expression: negative numbers are in parentheses. */
static void print_literal(ak_buf *out, const ak_value *value)
{
    char number[64];
    if (value->type == AK_VALUE_STRING) {
        ak_buf_putc(out, '\'');
        for (const char *p = value->as.string; *p != 0; p++) {
            ak_buf_puts(out, *p == '\'' || *p == '\\' ? "\\" : "");
            ak_buf_putc(out, *p);
        }
        ak_buf_putc(out, '\'');
        return;
    }
    (void)ak_value_format(number, sizeof number, value);
    ak_buf_print(out, number[0] == '-' ? "(%s)" : "%s", number);
}

static void resolve(ak_buf *out, json_t *read, const char *text, const ak_task *task, int depth);

static void resolve_name(ak_buf *out, json_t *read, const char *name, const ak_task *task,
                         int depth)
{
    size_t parameter;
    ak_value value;
    const json_t *lets = json_object_get(task->implementation->launch, "Let"); /* docs/cuda.md */
    const char *let = ak_json_text_or_null(ak_json_find(lets, "Name", name), "Value");
    if (ak_space_parameter_find(&parameter, task->space, name)) {
        (void)ak_json_set(read, name, json_true());
        ak_buf_puts(out, name);
    } else if (let != NULL && depth < LET_DEPTH) {
        ak_buf_putc(out, '(');
        resolve(out, read, let, task, depth + 1);
        ak_buf_putc(out, ')');
    } else if (ak_scope_get(&value, task->constants, name)) {
        print_literal(out, &value);
    } else {
        /* The name is a function, a keyword or the variable of a list. */
        ak_buf_puts(out, name);
    }
}

/* Copies an expression with its names replaced and adds each parameter that it reads as a member of
   `read`. Texts and numbers such as 1e5 and 0xff are copied unchanged. */
static void resolve(ak_buf *out, json_t *read, const char *text, const ak_task *task, int depth)
{
    for (const char *p = text; *p != 0;) {
        size_t length = 1;
        if (*p == '\'' || *p == '"') {
            while (p[length] != 0 && p[length] != *p) {
                length += p[length] == '\\' && p[length + 1] != 0 ? 2 : 1;
            }
            length += p[length] != 0 ? 1 : 0;
        } else if (ak_ascii_is_word(*p)) {
            while (ak_ascii_is_word(p[length])) {
                length++;
            }
        }
        char name[NAME_BYTES];
        bool is_name = ak_ascii_is_word(*p) && !ak_ascii_is_digit(*p) && length < sizeof name;
        if (is_name) {
            memcpy(name, p, length);
            name[length] = 0;
            resolve_name(out, read, name, task, depth);
        } else {
            ak_buf_append(out, p, length);
        }
        p += length;
    }
}

/* Returns the resolved text of an expression or number; NULL if there is no memory. */
static json_t *resolved(json_t *read, const json_t *expression, const ak_task *task)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(TEXT_MAX);
    if (json_is_string(expression)) {
        resolve(&text, read, json_string_value(expression), task, 0);
    } else {
        ak_json_print(&text, expression, false);
    }
    return ak_buf_status(&text, NULL) == AK_OK ? json_string(text.data) : NULL;
}

/* ---- ConfigurationSpace ---------------------------------------------------------------------- */

static const char *type_of(const ak_parameter *parameter)
{
    const char *type = "int";
    for (size_t i = 0; i < parameter->value_count; i++) {
        ak_value_type one = parameter->values[i].type;
        if (one != AK_VALUE_INT) {
            type = one == AK_VALUE_STRING ? "string" : one == AK_VALUE_REAL ? "float" : "bool";
        }
    }
    return type;
}

static json_t *parameter_of(const ak_parameter *parameter)
{
    AK_AT_END(ak_buf_free) ak_buf values = AK_BUF(TEXT_MAX);
    for (size_t i = 0; i < parameter->value_count; i++) {
        ak_buf_puts(&values, i == 0 ? "[" : ", ");
        print_literal(&values, &parameter->values[i]);
    }
    ak_buf_putc(&values, ']');
    return ak_buf_status(&values, NULL) != AK_OK
               ? NULL
               : json_pack("{s:s, s:s, s:s, s:o, s:s?}", "Name", parameter->name, "Type",
                           type_of(parameter), "Values", values.data, "Default",
                           ak_value_json(&parameter->values[parameter->default_index]),
                           "Description", parameter->description);
}

/* Adds a condition unless it reads no parameter, so that the task alone decides it. A condition
   that is left out is true, because the space would be empty otherwise. */
static bool add_condition(json_t *list, const ak_task *task, size_t index)
{
    json_auto_t *read = json_object(), *names = json_array();
    json_auto_t *source = json_string(ak_space_condition(task->space, index));
    json_auto_t *object = json_object();
    json_auto_t *text = read == NULL || source == NULL ? NULL : resolved(read, source, task);
    bool good = names != NULL && text != NULL && object != NULL;
    AK_EACH_MEMBER(name, value, read) {
        good = good && ak_json_append(names, json_string(name));
    }
    bool wanted = json_object_size(read) > 0;
    return good && ak_json_set(object, "Parameters", json_incref(names)) &&
           ak_json_set(object, "Expression", json_incref(text)) &&
           ak_json_set_text(object, "Description", ak_space_condition_reason(task->space, index)) &&
           (!wanted || json_array_append(list, object) == 0);
}

static json_t *space_of(const ak_task *task)
{
    json_t *parameters = json_array(), *conditions = json_array();
    bool good = conditions != NULL;
    for (size_t i = 0; i < ak_space_parameter_count(task->space); i++) {
        ak_json_add(&parameters, parameter_of(ak_space_parameter(task->space, i)));
    }
    for (size_t i = 0; i < ak_space_condition_count(task->space) && good; i++) {
        good = add_condition(conditions, task, i);
    }
    return json_pack("{s:o, s:o}", "TuningParameters", parameters, "Conditions",
                     ak_json_whole(conditions, good));
}

/* ---- KernelSpecification --------------------------------------------------------------------- */

/* Converts the list under `key` to {"X": .., "Y": .., "Z": ..}, as far as the list goes. Without a
   list, "X" is `fallback`. */
static json_t *extents_of(const ak_task *task, const char *key, const char *fallback)
{
    static const char *const axes[] = {"X", "Y", "Z"};
    const json_t *list = json_object_get(task->implementation->launch, key);
    json_t *object = json_object();
    json_auto_t *read = json_object(), *one = json_string(fallback);
    bool good = object != NULL && read != NULL && one != NULL;
    for (size_t i = 0; i < 3 && good && (i == 0 || i < json_array_size(list)); i++) {
        const json_t *from = json_array_size(list) == 0 ? one : json_array_get(list, i);
        good = ak_json_set(object, axes[i], resolved(read, from, task));
    }
    return ak_json_whole(object, good);
}

static const char *type_name(ak_dtype dtype)
{
    return !ak_dtype_is_float(dtype) ? ak_dtype_numpy(dtype)
           : dtype == AK_DTYPE_F16   ? "half"
           : dtype == AK_DTYPE_F32   ? "float"
           : dtype == AK_DTYPE_F64   ? "double"
                                     : "custom";
}

static json_t *argument_of(const ak_task *task, size_t index)
{
    static const char *const access[] = {[AK_ACCESS_IN] = "ReadOnly",
                                         [AK_ACCESS_OUT] = "WriteOnly",
                                         [AK_ACCESS_INOUT] = "ReadWrite"};
    const ak_argument_spec *argument = &task->problem->arguments[index];
    ak_dtype dtype = ak_task_argument_dtype(task, index);
    bool constant = argument->fill == AK_FILL_CONSTANT || argument->access == AK_ACCESS_OUT;
    const double fill = argument->access == AK_ACCESS_OUT ? 0 : argument->fill_a;
    json_t *object =
        json_pack("{s:s, s:s, s:I, s:s, s:I, s:s, s:s}", "Name", argument->name, "Type",
                  type_name(dtype), "TypeSize", (json_int_t)ak_dtype_bytes(dtype), "MemoryType",
                  "Vector", "Size", (json_int_t)task->shape.elements[index], "AccessType",
                  access[argument->access], "FillType", constant ? "Constant" : "Random");
    return ak_json_whole(object, !constant || ak_json_set_real(object, "FillValue", fill));
}

static bool add_arguments(json_t *kernel, const ak_task *task)
{
    json_t *list = json_array();
    for (size_t i = 0; i < task->problem->argument_count; i++) {
        ak_json_add(&list, argument_of(task, i));
    }
    return ak_json_set(kernel, "Arguments", list);
}

static json_t *kernel_of(const ak_task *task)
{
    const json_t *ours = json_object_get(task->implementation->definition, "KernelSpecification");
    const json_t *options = json_object_get(ours, "CompilerOptions");
    bool cuda = strcmp(task->backend, "cuda") == 0;
    const char *file = ak_json_text_or_null(ours, "KernelFile");
    const char *threads = task->implementation->threads;
    json_t *kernel = json_object();
    bool good = kernel != NULL && ak_json_set_text(kernel, "Language", cuda ? "CUDA" : "OpenCL") &&
                ak_json_set_text(kernel, "KernelName", task->implementation->kernel_name) &&
                ak_json_set_text(kernel, "KernelFile", ak_or_empty(file)) &&
                ak_json_set_text(kernel, "GlobalSizeType", "CUDA") && /* sizes count blocks */
                ak_json_set(kernel, "GlobalSize", extents_of(task, "Grid", "1")) &&
                ak_json_set(kernel, "LocalSize", extents_of(task, "Block", threads)) &&
                ak_json_set(kernel, "ProblemSize",
                            ak_json_integers(task->shape.size, task->problem->size_count)) &&
                ak_json_set(kernel, "Device", json_pack("{s:s}", "Name", task->device)) &&
                (options == NULL ||
                 json_object_set(kernel, "CompilerOptions", (json_t *)(uintptr_t)options) == 0) &&
                add_arguments(kernel, task);
    return ak_json_whole(kernel, good);
}

/* ---- the file -------------------------------------------------------------------------------- */

static json_t *own_of(const ak_task *task)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "kernel", task->problem->name,
                     "implementation", task->implementation->name, "backend", task->backend, "size",
                     task->size_text, "dtype", ak_dtype_text(task->dtype), "choices",
                     task->choices_text);
}

static ak_status write_t1(ak_buf *out, const ak_task *task, ak_error *err)
{
    json_auto_t *file = json_object();
    bool good =
        file != NULL &&
        ak_json_set(file, "General",
                    json_pack("{s:i, s:s, s:s}", "FormatVersion", 1, "TimeUnit", "Milliseconds",
                              "OutputFormat", "JSON")) &&
        ak_json_set(file, "autokernel", own_of(task)) &&
        ak_json_set(file, "ConfigurationSpace", space_of(task)) &&
        ak_json_set(file, "KernelSpecification", kernel_of(task)) &&
        ak_json_set(file, "Search", json_pack("{s:s}", "Name", "random_sample")) &&
        ak_json_set(file, "Budget",
                    json_pack("[{s:s, s:i}]", "Type", "ConfigurationCount", "BudgetValue", 60));
    if (good) {
        ak_json_print(out, file, true);
        ak_buf_putc(out, '\n');
    }
    return good ? ak_buf_status(out, err) : ak_fail_memory(err);
}

const ak_format_ops ak_format_t1 = {
    .name = "t1",
    .description = "T1 input file: the space of a task, with sizes and device resolved",
    .write_task = write_t1,
};
