/* cmd_compare.c: vendor libraries, the default and the best that is archived, in one interleaved
 * run. */
#include <string.h>

#include "base/alloc.h"
#include "cli/options.h"
#include "cli/task_args.h"

#define SECONDS_DEFAULT 5.0

typedef struct search {
    const ak_space *space;
    ak_config config;
    bool found;
} search;

/* The time is measured anew, so trials of another environment may name the candidate. */
static ak_status find_best(search *s, const ak_task *task, ak_archive *archive, ak_error *err)
{
    ak_archive_filter filter = {.kernel = ak_problem_name(ak_task_problem(task)),
                                .implementation = ak_task_implementation(task),
                                .device = ak_task_device(task),
                                .size = ak_task_size(task),
                                .dtype = ak_task_dtype(task),
                                .choices = ak_task_choices(task),
                                .ok_only = true};
    ak_trial trial = {0};
    ak_status status = ak_archive_best(&trial, archive, &filter, err);
    if (status == AK_OK) {
        /* One of an earlier form of the kernel may no longer be in the space. */
        s->found = ak_config_parse(&s->config, s->space, trial.config, NULL) == AK_OK;
    }
    ak_trial_clear(&trial);
    return status == AK_NOT_FOUND ? AK_OK : status;
}

static ak_status print(const ak_comparison *comparison, const ak_task *task, const search *best,
                       const ak_args *args, ak_error *err)
{
    if (ak_args_has(args, AK_OPTION_JSON)) {
        char *text = NULL;
        ak_status status = ak_comparison_json(&text, comparison, task, err);
        if (status == AK_OK) {
            ak_out("%s\n", text);
        }
        ak_text_free(text);
        return status;
    }
    ak_task_print(task);
    ak_contestants_print(comparison->contestants, comparison->count);
    ak_warnings_print(comparison->warnings, comparison->warning_count);
    ak_out("\n");
    if (!best->found) {
        ak_out("nothing is archived for this kernel, size and type on this device\n");
    }
    ak_next_on_task(best->found ? "export" : "tune",
                    best->found ? "write best_config.json" : "find the best", args, task, true);
    return AK_OK;
}

static int run(const ak_args *args)
{
    ak_error err = AK_ERROR_INIT;
    ak_task *task = NULL;
    ak_comparison comparison = {0};
    ak_config configs[2];
    const char *names[2] = {"default", "best"};
    search best = {0};
    size_t count = 1;
    ak_archive *archive = NULL;
    ak_catch_interrupts();
    ak_status status = ak_args_task(&task, args, &err);
    if (status == AK_OK) {
        status = ak_archive_open_existing(&archive, args->text[AK_OPTION_ARCHIVE], &err);
    }
    if (status == AK_OK) {
        status = ak_args_measured_task(&task, args, archive, true, &err);
    }
    if (status == AK_OK) {
        best.space = ak_task_space(task);
        ak_space_default(&configs[0], best.space);
        status = find_best(&best, task, archive, &err);
    }
    if (status == AK_OK && best.found) {
        configs[count++] = best.config;
        if (memcmp(&configs[0], &configs[1], sizeof configs[0]) == 0) {
            names[0] = "best = default";
            count = 1;
        }
    }
    if (status == AK_OK) {
        double seconds =
            ak_args_has(args, AK_OPTION_TIME) ? args->number[AK_OPTION_TIME] : SECONDS_DEFAULT;
        ak_task_set_cancel(task, &ak_interrupted);
        status = ak_compare(&comparison, task, configs, names, count, true, seconds, &err);
    }
    if (status == AK_CANCELLED) {
        (void)ak_fail(&err, AK_CANCELLED, "%.80s: interrupted; nothing is known yet",
                      args->operand[0]);
    }
    if (status == AK_OK) {
        status = print(&comparison, task, &best, args, &err);
    }
    for (size_t i = 0; i < comparison.count && status == AK_OK; i++) {
        const ak_contestant *c = &comparison.contestants[i];
        if (c->median_ms <= 0 && c->library == NULL) { /* a library's failure is in the table */
            status = ak_fail(&err, AK_CRASHED, "%.80s: %.80s failed: %.200s", args->operand[0],
                             c->name, c->reason == NULL ? "no reason given" : c->reason);
        }
    }
    ak_comparison_clear(&comparison);
    ak_task_close(task);
    ak_archive_close(archive);
    return status == AK_OK ? AK_EXIT_DONE : ak_complain_error(&err);
}

const ak_command ak_cmd_compare = {
    .name = "compare",
    .summary = "vendor libraries, the default and the best found, interleaved",
    .operands = "KERNEL",
    .least = 1,
    .most = 1,
    .options = AK_O_TASK | AK_O_RUN | AK_O(LIBRARIES) | AK_O(PROTOCOL) | AK_O(TIME) |
               AK_O(ARCHIVE) | AK_O(JSON) | AK_O(HELP),
    .about =
        "Measures every installed library, the default configuration and the best that the "
        "archive\n"
        "has for this kernel, size, type and device in turns, so that a machine that slows down\n"
        "slows all of them. Speeds are relative to the fastest library; where the interval of the\n"
        "ratio contains 1, it is a tie. --time is for the whole measurement (default 5s).",
    .examples = "  autokernel compare matmul --size 64\n"
                "  autokernel compare matmul --size M=512,N=512,K=512 --time 3s\n",
    .run = run,
};
