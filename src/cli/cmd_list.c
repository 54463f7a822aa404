/* cmd_list.c: lists what this build offers, or the parameters and conditions of one kernel. */
#include <unistd.h>

#include "base/value_json.h"
#include "cli/options.h"
#include "cli/table.h"
#include "cli/task_args.h"

/* Limit on the characters of a list of values in the table, beyond which it has only the default
   and, if values follow that, the number of all values; --json prints all values. */
#define VALUES_SHOWN 100

/* ---- the build ------------------------------------------------------------------------------- */

typedef struct listing {
    json_t *rows;
    bool kernels; /* add_row also adds "implementations" */
    bool failed;
} listing;

json_t *ak_implementations_json(const ak_problem *problem)
{
    json_t *list = json_array();
    for (size_t i = 0; i < ak_problem_implementation_count(problem); i++) {
        json_t *name = json_string(ak_problem_implementation(problem, i));
        ak_json_add(&list, name);
    }
    return list;
}

static void add_row(void *context, const char *name, const char *description)
{
    listing *list = context;
    json_t *row = json_object();
    bool good =
        ak_json_set_text(row, "name", name) && ak_json_set_text(row, "description", description);
    ak_problem *problem = NULL;
    if (list->kernels && good && ak_problem_open(&problem, name, NULL) == AK_OK) {
        good = ak_json_set(row, "implementations", ak_implementations_json(problem));
        ak_problem_close(problem);
    }
    list->failed |= !ak_json_append(list->rows, row) || !good;
}

/* Joins the names of implementations with blanks; "" if there are none. */
static void join(char *out, size_t bytes, const json_t *names)
{
    out[0] = 0;
    AK_EACH(name, names) {
        size_t used = strlen(out);
        (void)snprintf(out + used, bytes - used, "%s%s", name_at == 0 ? "" : " ",
                       json_string_value(name));
    }
}

static void print_section(const char *title, const json_t *rows)
{
    ak_table table;
    bool kernels = strcmp(title, "kernels") == 0;
    ak_table_begin(&table, title, kernels ? "implementations" : "", "", NULL);
    AK_EACH(row, rows) {
        char names[256];
        join(names, sizeof names, json_object_get(row, "implementations"));
        const char *description = ak_json_text_or_null(row, "description");
        ak_table_cell(&table, "  %s", ak_json_text_or_null(row, "name"));
        ak_table_cell(&table, "%s", kernels ? names : ak_or_empty(description));
        ak_table_cell(&table, "%s", kernels && description != NULL ? description : "");
    }
    ak_table_print(&table);
    ak_out("\n");
}

static const struct {
    ak_list_kind kind;
    const char *title;
} sections[] = {{AK_LIST_KERNELS, "kernels"},       {AK_LIST_BACKENDS, "backends"},
                {AK_LIST_STRATEGIES, "strategies"}, {AK_LIST_HYPERPARAMETERS, "hyper-parameters"},
                {AK_LIST_PROVIDERS, "providers"},   {AK_LIST_BASELINES, "baselines"},
                {AK_LIST_FORMATS, "formats"}};

/* Returns whether the operand is the title of a list, and no path that exists. */
static bool names_list(const ak_args *args)
{
    const char *name = args->operand[0];
    return args->operand_count > 0 && access(name, F_OK) != 0 &&
           AK_HAS(sections, AK_COUNT(sections), title, name);
}

/* Lists all of this build, or what the operand names. */
static int list_build(const ak_args *args, ak_error *err)
{
    const char *only = args->operand[0];
    json_auto_t *all = json_object();
    bool good = all != NULL;
    for (size_t i = 0; i < AK_COUNT(sections) && good; i++) {
        if (only != NULL && strcmp(sections[i].title, only) != 0) {
            continue;
        }
        listing list = {.rows = json_array(), .kernels = sections[i].kind == AK_LIST_KERNELS};
        good = ak_json_set(all, sections[i].title, list.rows);
        AK_OR_COMPLAIN(good ? ak_list(sections[i].kind, add_row, &list, err) : AK_OK);
        good = good && !list.failed;
    }
    const bool json = ak_args_has(args, AK_OPTION_JSON);
    AK_OR_COMPLAIN(ak_stored(good && (!json || ak_out_json(all)), err));
    if (!json) {
        AK_EACH_MEMBER(title, rows, all) {
            print_section(title, rows);
        }
        ak_out_next("list matmul", "what can be tuned in a kernel");
    }
    return AK_EXIT_DONE;
}

/* ---- one kernel ------------------------------------------------------------------------------ */

static const char *use_text(ak_parameter_use use)
{
    static const char *const texts[] = {
        [AK_USE_DEFINE] = "define", [AK_USE_OPTION] = "option", [AK_USE_COMPILER] = "compiler"};
    return texts[use];
}

static json_t *parameter_json(const ak_parameter *p)
{
    json_t *values = json_array();
    for (size_t v = 0; v < p->value_count; v++) {
        ak_json_add(&values, ak_value_json(&p->values[v]));
    }
    return json_pack("{s:s, s:s?, s:o, s:o, s:s, s:b}", "name", p->name, "description",
                     p->description, "values", values, "default",
                     ak_value_json(&p->values[p->default_index]), "use", use_text(p->use),
                     "numerics", p->numerics);
}

static json_t *whole_json(double count)
{
    return count < 9e15 ? json_integer((json_int_t)count) : json_real(count);
}

json_t *ak_space_json(const ak_task *task)
{
    const ak_space *space = ak_task_space(task);
    const ak_problem *problem = ak_task_problem(task);
    ak_config fallback;
    ak_space_default(&fallback, space);
    json_t *object = json_object();
    json_auto_t *parameters = json_array(), *conditions = json_array();
    for (size_t i = 0; i < ak_space_parameter_count(space); i++) {
        ak_json_add(&parameters, parameter_json(ak_space_parameter(space, i)));
    }
    for (size_t i = 0; i < ak_space_condition_count(space); i++) {
        json_t *row = json_pack("{s:s, s:s?}", "expression", ak_space_condition(space, i), "reason",
                                ak_space_condition_reason(space, i));
        ak_json_add(&conditions, row);
    }
    const bool good = ak_task_json(object, task) &&
                      ak_json_set_text(object, "description", ak_problem_description(problem)) &&
                      ak_json_set(object, "implementations", ak_implementations_json(problem)) &&
                      ak_json_set_real(object, "flops", ak_task_flops(task)) &&
                      ak_json_set_real(object, "bytes", ak_task_bytes(task)) &&
                      ak_json_set(object, "parameters", json_incref(parameters)) &&
                      ak_json_set(object, "conditions", json_incref(conditions)) &&
                      ak_json_set(object, "default", ak_config_json(space, &fallback)) &&
                      ak_json_set(object, "cartesian", whole_json(ak_space_cartesian(space))) &&
                      ak_json_set(object, "valid", whole_json((double)ak_space_count(space)));
    return ak_json_whole(object, good);
}

/* Formats a parameter's values with the default in brackets, "64 [128] 256". A long list is cut. */
static void show_values(char *out, size_t bytes, const ak_parameter *p)
{
    size_t used = 0;
    out[0] = 0;
    for (size_t v = 0; v < p->value_count; v++) {
        char value[VALUES_SHOWN];
        ak_value_show(value, sizeof value, &p->values[v]);
        bool is_default = v == p->default_index;
        /* The default is shown even if the list is cut before it. */
        if (used + strlen(value) > VALUES_SHOWN && !is_default) {
            if (v < p->default_index) {
                continue;
            }
            (void)snprintf(out + used, bytes - used, " .. (%zu)", p->value_count);
            return;
        }
        (void)snprintf(out + used, bytes - used, is_default ? "%s[%s]" : "%s%s",
                       used == 0 ? "" : " ", value);
        used = strlen(out);
    }
}

/* Prints a table of two columns from lines of the form "label text", with two blanks or more
   between. */
static void print_description(const char *text)
{
    ak_table table;
    ak_table_begin(&table, "", "", NULL);
    while (*text != 0) {
        size_t line = strcspn(text, "\n"), label = 0;
        while (label < line && strncmp(text + label, "  ", 2) != 0) {
            label++;
        }
        size_t begin = label + strspn(text + label, " ");
        ak_table_cell(&table, "%.*s", (int)label, text);
        ak_table_cell(&table, "%.*s", (int)(begin < line ? line - begin : 0), text + begin);
        text += line + (text[line] == '\n' ? 1 : 0);
    }
    ak_table_print(&table);
}

static void print_task(const ak_task *task, const char *description)
{
    const ak_space *space = ak_task_space(task);
    char values[4 * VALUES_SHOWN], valid[AK_NUMBER_BYTES], cartesian[AK_NUMBER_BYTES];
    ak_task_print(task);
    print_description(description);
    ak_out("%s", description[0] == 0 ? "" : "\n");
    ak_table table;
    ak_table_begin(&table, "parameter", "values [default]", "", NULL);
    for (size_t i = 0; i < ak_space_parameter_count(space); i++) {
        const ak_parameter *p = ak_space_parameter(space, i);
        show_values(values, sizeof values, p);
        ak_table_cell(&table, "%s", p->name);
        ak_table_cell(&table, "%s", values);
        ak_table_cell(&table, "%s%s", p->description,
                      p->numerics ? " (changes results: --allow-numerics)" : "");
    }
    ak_table_print(&table);
    if (ak_space_condition_count(space) > 0) {
        ak_out("\n");
        ak_table_begin(&table, "condition", "why", NULL);
        for (size_t i = 0; i < ak_space_condition_count(space); i++) {
            ak_table_cell(&table, "%s", ak_space_condition(space, i));
            ak_table_cell(&table, "%s", ak_space_condition_reason(space, i));
        }
        ak_table_print(&table);
    }
    ak_out("\nCartesian %s, valid %s\n\n", ak_show_count(cartesian, ak_space_cartesian(space)),
           ak_show_count(valid, (double)ak_space_count(space)));
}

static int list_kernel(const ak_args *args, ak_error *err)
{
    AK_AT_END(ak_task_close_at) ak_task *task = NULL;
    AK_AT_END(ak_text_free_at) char *description = NULL;
    AK_OR_COMPLAIN(ak_args_look(&task, args, err));
    if (ak_args_has(args, AK_OPTION_JSON)) {
        json_auto_t *object = ak_space_json(task);
        AK_OR_COMPLAIN(ak_stored(ak_out_json(object), err));
        return AK_EXIT_DONE;
    }
    AK_OR_COMPLAIN(ak_problem_describe(&description, ak_task_problem(task), err));
    print_task(task, description);
    /* A space file without a problem has no sizes and cannot be compiled or timed, so `tune` is not
       suggested. */
    if (ak_task_size(task)[0] == 0) {
        ak_out_next("new kernel my_kernel", "a kernel folder to put this space into");
    } else if (!ak_task_by_sheet(task)) {
        ak_next_on_task("tune", "find the fastest", args, task, false);
    }
    return AK_EXIT_DONE;
}

static int run(const ak_args *args, ak_error *err)
{
    if (args->operand_count > 0 && !names_list(args)) {
        return list_kernel(args, err);
    }
    /* Without a kernel, a typed option is a mistake; a setting for all commands is not. */
    for (size_t i = 0; i < AK_OPTION_COUNT; i++) {
        if (i != AK_OPTION_JSON && ak_args_typed(args, (ak_option_id)i)) {
            AK_OR_COMPLAIN(ak_fail(err, AK_INVALID,
                                   "%s is about a kernel: 'autokernel list KERNEL %s ...'",
                                   args->origin[i], args->origin[i]));
        }
    }
    return list_build(args, err);
}

const ak_command ak_cmd_list = {
    .name = "list",
    .summary = "list kernels, strategies and formats, or the parameters of one kernel",
    .operands = "[KERNEL]",
    .most = 1,
    .options = AK_O_TASK | AK_O(THREADS) | AK_O(JSON) | AK_O(HELP),
    .about = "Without a KERNEL, lists the kernels, backends, strategies, baselines and formats of "
             "this build; with the title of one of these lists, such as strategies, that list "
             "alone.\n\n"
             "With a KERNEL, lists its parameters with their values, the conditions between them "
             "with the reasons, and how many configurations are valid at this size on this device. "
             "A device that this machine does not have is described by its data sheet: --device "
             "cuda:H200, cuda:H100 or cuda:A100. An implementation for devices that this machine "
             "lacks is shown for the first of these.",
    .examples = "  autokernel list\n"
                "  autokernel list strategies\n"
                "  autokernel list matmul\n"
                "  autokernel list matmul --size 64 --json\n"
                "  autokernel list matmul --impl cuda_sm90 --dtype bf16\n",
    .run = run,
};
