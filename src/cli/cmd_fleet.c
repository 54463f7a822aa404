/* cmd_fleet.c: shows which workers a launcher reaches, and writes the array job that tunes each
   size on its own node. */

#include "base/asset.h"
#include "base/alloc.h"
#include "base/fs.h"
#include "base/shell.h"
#include "cli/options.h"
#include "cli/size_list.h"
#include "cli/table.h"
#include "cli/task_args.h"

#define SCRIPT_BYTES_MAX (1u << 20)
#define BUILD_SHOWN      8

/* ---- status ---------------------------------------------------------------------------------- */

/* Adds a cell with a member that is a number, and its unit; "-" if it is missing. */
static void cell_number(ak_table *table, const json_t *object, const char *key, const char *unit)
{
    char text[AK_NUMBER_BYTES];
    const json_t *value = json_object_get(object, key);
    ak_table_cell_if(table, json_is_number(value), "%s%s",
                     ak_show_real(text, json_number_value(value)), unit);
}

static void cell_whole(ak_table *table, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    ak_table_cell_if(table, json_is_integer(value), "%lld", (long long)json_integer_value(value));
}

static const char *or_dash(const char *text)
{
    return text == NULL || *text == 0 ? "-" : text;
}

static void print_status(const json_t *list)
{
    ak_table table;
    ak_table_begin(&table, ">worker", "host", "device", "state", ">start", ">message", ">cores",
                   ">compilers", "build", "files", "reason", NULL);
    AK_EACH(one, list) {
        const json_t *shared = json_object_get(one, "shared");
        cell_whole(&table, one, "worker");
        ak_table_cell(&table, "%s", or_dash(ak_json_text_at(one, "host")));
        ak_table_cell(&table, "%s", or_dash(ak_json_text_at(one, "device")));
        ak_table_cell(&table, "%s", ak_json_text_at(one, "state"));
        cell_number(&table, one, "start_s", " s");
        cell_number(&table, one, "round_trip_ms", " ms");
        cell_whole(&table, one, "cores");
        cell_whole(&table, one, "compile_workers");
        ak_table_cell(&table, "%.*s", BUILD_SHOWN, or_dash(ak_json_text_at(one, "build")));
        ak_table_cell(&table, "%s",
                      shared == NULL         ? "-"
                      : json_is_true(shared) ? "shared"
                                             : "travel");
        ak_table_cell(&table, "%s", or_dash(ak_json_text_at(one, "reason")));
    }
    ak_table_print(&table);
}

static int run_status(const ak_args *args, ak_error *err)
{
    char *text = NULL;
    json_auto_t *list = NULL;
    size_t ready = 0;
    ak_catch_interrupts();
    const ak_option_set own_of_status =
        AK_O(LAUNCHER) | AK_O(WORKERS) | AK_O(DEVICE) | AK_O(JSON) | AK_O(QUIET);
    AK_OR_COMPLAIN(ak_args_refuse(args, ~own_of_status, "is for 'fleet batch'", err));
    if (!ak_args_has(args, AK_OPTION_LAUNCHER)) {
        AK_OR_COMPLAIN(ak_fail(err, AK_INVALID,
                               "fleet status: say with --launcher how workers are started, such as "
                               "ssh:gpu1,gpu2 or slurm"));
    }
    AK_OR_COMPLAIN(ak_out_parse(&list,
                                ak_fleet_status(&text, args->text[AK_OPTION_LAUNCHER],
                                                args->text[AK_OPTION_WORKERS],
                                                args->text[AK_OPTION_DEVICE], &ak_interrupted, err),
                                &text, "fleet", err));
    AK_EACH(one, list) {
        ready += ak_json_text_is(one, "state", "ready") ? 1 : 0;
    }
    if (!ak_args_has(args, AK_OPTION_JSON)) {
        print_status(list);
        const size_t all = json_array_size(list);
        ak_out("%zu of %zu worker%s %s ready\n", ready, all, ak_plural(all),
               all == 1 ? "is" : "are");
    } else {
        AK_OR_COMPLAIN(ak_stored(ak_out_json(list), err));
    }
    return ready == json_array_size(list) ? AK_EXIT_DONE : AK_EXIT_FAILED;
}

/* ---- batch ----------------------------------------------------------------------------------- */

/* Options of `fleet batch` that are not passed on to the jobs. */
static const ak_option_set own = AK_O(SIZES) | AK_O(LAUNCHER) | AK_O(WORKERS);

/* Adds the words that were typed, without "batch", the kernel and the options of `own`. */
static void add_options(ak_buf *out, const ak_args *args)
{
    size_t operands = 0;
    bool is_value = false; /* the word is the value of the option before it */
    for (int i = 0; i < args->word_count; i++) {
        const char *word = args->words[i];
        const int skip = ak_option_words(word, own);
        const bool is_operand =
            operands < 2 && !is_value && strcmp(word, args->operand[operands]) == 0;
        is_value = !is_value && ak_option_words(word, ak_command_find("fleet")->options) == 2;
        operands += is_operand ? 1 : 0;
        if (skip > 0) {
            i += skip - 1;
            is_value = false;
        } else if (!is_operand) {
            ak_buf_putc(out, ' ');
            ak_shell_quote(out, word);
        }
    }
}

/* Adds a line for each srun option in --launcher slurm:OPTIONS; sbatch takes the same options. */
static ak_status add_slurm_options(ak_buf *out, const ak_args *args, ak_error *err)
{
    static const char *const written[] = {"--array", "-a", "--job-name", "-J"};
    const char *launcher = args->text[AK_OPTION_LAUNCHER];
    const char *at = launcher == NULL ? "slurm" : launcher;
    AK_FAIL_IF(strncmp(at, "slurm", 5) != 0 || (at[5] != 0 && at[5] != ':'), err, AK_INVALID,
               "fleet batch writes a job for Slurm: --launcher must be slurm or "
               "slurm:OPTIONS");
    for (at += at[5] == ':' ? 6 : 5; *at != 0; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        for (size_t i = 0; i < AK_COUNT(written); i++) {
            const size_t name = strlen(written[i]);
            AK_FAIL_IF(strncmp(at, written[i], name) == 0 &&
                           (at[name] == '=' || name >= length || name == 2),
                       err, AK_INVALID,
                       "fleet batch: the job has its own %s: leave it out of --launcher",
                       written[i]);
        }
        ak_buf_print(out, "#SBATCH %.*s\n", (int)length, at);
        at += length;
    }
    return AK_OK;
}

static ak_status write_script(ak_buf *out, const ak_size_list *list, size_t limit,
                              const ak_args *args, ak_error *err)
{
    const char *program = ak_env("AUTOKERNEL_WORKER");
    const char *rest = ak_asset_find("src/cli/templates/slurm.in")->data;
    ak_asset_part(out, &rest);
    ak_buf_print(out, "%zu", list->count - 1);
    if (limit > 0) {
        ak_buf_print(out, "%%%zu", limit);
    }
    ak_asset_part(out, &rest);
    AK_DO(add_slurm_options(out, args, err));
    ak_asset_part(out, &rest);
    for (size_t i = 0; i < list->count; i++) {
        ak_buf_puts(out, "    ");
        ak_shell_quote(out, list->items[i]);
        ak_buf_putc(out, '\n');
    }
    ak_asset_part(out, &rest);
    ak_shell_quote(out, program == NULL ? "autokernel" : program);
    ak_asset_part(out, &rest);
    ak_shell_quote(out, args->operand[1]);
    ak_asset_part(out, &rest);
    add_options(out, args);
    ak_asset_part(out, &rest);
    return ak_buf_status(out, err);
}

/* Opens the task at each size, so that mistakes are found before the jobs start. A device that is
   missing here is no mistake, because the nodes may have it. */
static ak_status check_sizes(const ak_size_list *list, const ak_args *args, ak_error *err)
{
    ak_problem *problem = NULL;
    ak_task *tasks[AK_TUNE_SIZES_MAX] = {NULL};
    ak_status status = ak_problem_open(&problem, args->operand[1], err);
    ak_problem_close(problem);
    for (size_t i = 0; i < list->count && status == AK_OK; i++) {
        ak_args one = *args;
        one.operand[0] = args->operand[1];
        one.text[AK_OPTION_SIZE] = list->items[i];
        status = ak_args_task(&tasks[i], &one, err);
        for (size_t j = 0; j < i && status == AK_OK; j++) {
            if (tasks[j] != NULL && strcmp(ak_task_size(tasks[j]), ak_task_size(tasks[i])) == 0) {
                status = ak_fail(err, AK_INVALID, "size %s is given twice", ak_task_size(tasks[i]));
            }
        }
        if (status == AK_UNAVAILABLE ||
            (status == AK_NOT_FOUND && ak_args_has(args, AK_OPTION_DEVICE))) {
            status = AK_OK;
        }
    }
    AK_END_EACH(ak_task_close, tasks, list->count);
    return status;
}

static int run_batch(const ak_args *args, ak_error *err)
{
    AK_AT_END(ak_size_list_free) ak_size_list list = {0};
    AK_AT_END(ak_buf_free) ak_buf script = AK_BUF(SCRIPT_BYTES_MAX);
    size_t limit = 0;
    if (args->operand_count < 2 || !ak_args_has(args, AK_OPTION_SIZES)) {
        AK_OR_COMPLAIN(
            ak_fail(err, AK_INVALID,
                    "fleet batch needs a kernel and its sizes: 'autokernel fleet batch matmul "
                    "--sizes @FILE'"));
    }
    if (ak_args_has(args, AK_OPTION_WORKERS)) {
        AK_OR_COMPLAIN(ak_fleet_size(&limit, "slurm", args->text[AK_OPTION_WORKERS], NULL, err));
    }
    AK_OR_COMPLAIN(ak_size_list_read(&list, args->text[AK_OPTION_SIZES], err));
    AK_OR_COMPLAIN(check_sizes(&list, args, err));
    AK_OR_COMPLAIN(write_script(&script, &list, limit, args, err));
    ak_out_whole(script.data);
    return AK_EXIT_DONE;
}

static int run(const ak_args *args, ak_error *err)
{
    static const ak_verb verbs[] = {{"status", run_status}, {"batch", run_batch}};
    return ak_verb_run(verbs, AK_COUNT(verbs), args, "fleet has no subcommand",
                       "see 'autokernel fleet --help'", err);
}

const ak_command ak_cmd_fleet = {
    .name = "fleet",
    .summary = "show which workers a launcher can start, or print a job for a cluster",
    .operands = "status|batch [KERNEL]",
    .least = 1,
    .most = 2,
    .options = AK_O_TASK | AK_O_RUN | AK_O(SIZES) | AK_O(LIBRARIES) | AK_O(PROTOCOL) |
               AK_O(STRATEGY) | AK_O(EVALS) | AK_O(TIME) | AK_O(TARGET_SPEEDUP) |
               AK_O(FINISH_TIME) | AK_O(JSON) | AK_O(QUIET) | AK_O(HELP),
    .about = "status starts each worker of --launcher, prints how long its start and the round "
             "trip of a message took, or why it did not start, and ends them all. The exit code is "
             "0 if all are ready.\n\n"
             "batch prints an array job for Slurm: each task tunes one of the --sizes on a node of "
             "its own, into an archive of its own in the folder autokernel-jobs (or "
             "AUTOKERNEL_JOBS). --workers N lets at most N run at once; the OPTIONS of --launcher "
             "slurm:OPTIONS become options of the job, all others options of 'autokernel tune'. "
             "'autokernel import autokernel-jobs/*.db' then adds all archives to yours.",
    .examples = "  autokernel fleet status --launcher ssh:gpu1,gpu2*4\n"
                "  autokernel fleet status --launcher slurm --workers 4 --device cuda:0\n"
                "  autokernel fleet batch matmul --sizes @sizes.txt --workers 32 "
                "--launcher 'slurm:--gpus-per-task=1' --device cuda:0 > tune.sbatch\n",
    .run = run,
};
