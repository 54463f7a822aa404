/* cmd_check.c: checks results over edge-case sizes and the given one, without timing. */
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/value_json.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/task_args.h"

#define RANDOM_DEFAULT 3
/* Draws beyond the wanted number before the search for new configurations gives up: a small space
   may have no more. */
#define DRAWS_MAX 100

/* Adds up to `wanted` random configurations that are not in the list yet. */
static size_t add_random(ak_candidate *list, size_t count, size_t wanted, const ak_space *space,
                         uint64_t seed)
{
    ak_rng rng;
    ak_rng_seed(&rng, seed);
    uint64_t valid = ak_space_count(space);
    for (size_t added = 0, draws = 0; added < wanted && draws < wanted + DRAWS_MAX; draws++) {
        ak_config config;
        ak_space_at(&config, space, ak_rng_below(&rng, valid));
        bool seen = false;
        for (size_t i = 0; i < count && !seen; i++) {
            seen = memcmp(&list[i].config, &config, sizeof config) == 0;
        }
        if (!seen) {
            list[count].config = config;
            (void)snprintf(list[count].name, sizeof list[count].name, "random %zu", ++added);
            count++;
        }
    }
    return count;
}

static ak_status show_one(json_t *rows, const ak_candidate *candidate, const ak_trial *trial,
                          const ak_space *space, bool json, ak_error *err)
{
    char *text = NULL, error[AK_NUMBER_BYTES];
    bool ok = trial->status == AK_TRIAL_OK;
    if (json) {
        json_t *row = json_object();
        bool good = ak_json_set_text(row, "name", candidate->name) &&
                    ak_json_set(row, "config", ak_config_json(space, &candidate->config)) &&
                    ak_json_set_text(row, "status", ak_trial_status_text(trial->status)) &&
                    ak_json_set_text(row, "reason", trial->reason) &&
                    ak_json_set_real(row, "max_error", trial->max_error);
        return json_array_append_new(rows, row) == 0 && good ? AK_OK : ak_fail_memory(err);
    }
    ak_status status = AK_OK;
    AK_TRY(ak_config_text(&text, space, &candidate->config, err));
    ak_out("%s%-13s%s %-9s ", ak_style_on(stdout, ok ? AK_STYLE_GOOD : AK_STYLE_BAD),
           ak_trial_status_text(trial->status), ak_style_on(stdout, AK_STYLE_PLAIN),
           candidate->name);
    if (ok) {
        ak_out("largest error %s of what is allowed; %s\n",
               ak_show_percent(error, trial->max_error), text);
    } else {
        ak_out("%s; %s\n", trial->reason == NULL ? "no reason given" : trial->reason, text);
    }
out:
    ak_free(text);
    return status;
}

/* Says what it means that the default configuration is wrong where it is the reference too. */
static void explain_itself(const ak_task *task)
{
    static const char by_default[] = "agrees with the default configuration";
    const char *reference = ak_task_reference(task);
    if (reference != NULL && strncmp(reference, by_default, strlen(by_default)) == 0) {
        ak_out("the default configuration is its own reference and disagrees with itself: it reads "
               "outside its arrays or what it has not written, or its threads race; see the shapes "
               "in problem.json\n");
    }
}

/* Prints the summary and returns the exit code. `wrong` of `count` configurations failed the check.
   `rejected` random ones were never run, because the compiler's report ruled them out (spills, for
   instance): whether they are right is not known. `wanted` more than `count` means that the check
   was interrupted. */
static int finish(const ak_args *args, const ak_task *task, json_t *rows, size_t count,
                  size_t wrong, size_t rejected, size_t wanted, const char *sanitizers)
{
    char also[64] = "";
    if (rejected > 0) {
        (void)snprintf(also, sizeof also, "; %zu %s rejected before running", rejected,
                       rejected == 1 ? "was" : "were");
    }
    ak_error err = AK_ERROR_INIT;
    if (ak_args_has(args, AK_OPTION_JSON)) {
        json_t *object = json_object();
        bool good = object != NULL && ak_task_json(object, task) &&
                    ak_json_set(object, "checked", json_incref(rows)) &&
                    ak_json_set(object, "ok", json_boolean(wrong == 0)) &&
                    (sanitizers[0] == 0 || ak_json_set_text(object, "sanitizers", sanitizers)) &&
                    ak_out_json(object);
        json_decref(object);
        if (!good) {
            (void)ak_fail_memory(&err);
            return ak_complain_error(&err);
        }
    } else {
        const bool edges = ak_task_edge_cases(task) > 0;
        ak_out("%zu of %zu configuration%s %s right %s %s%s%s\n", count - wrong - rejected, count,
               ak_plural(count), count == 1 ? "is" : "are",
               edges ? "over edge-case sizes and" : "at", ak_task_size(task),
               edges ? "" : "; the kernel names no edge-case sizes (\"awkward\")", also);
        if (sanitizers[0] != 0) {
            ak_out("%s\n", sanitizers);
        }
        if (wrong == 0) {
            ak_next_on_task("tune", "find the fastest", args, task, false);
        } else if (wrong < count) {
            ak_next_on_task("list", "what the parameters mean", args, task, false);
        }
    }
    if (wrong > 0) {
        (void)ak_fail(&err, AK_CRASHED, "%.80s: %zu of %zu configuration%s failed the check",
                      args->operand[0], wrong, count, ak_plural(count));
        return ak_complain_error(&err);
    }
    if (count < wanted) {
        (void)ak_fail(&err, AK_CANCELLED, "%.80s: interrupted after %zu of %zu configuration%s",
                      args->operand[0], count, wanted, ak_plural(wanted));
        return ak_complain_error(&err);
    }
    return AK_EXIT_DONE;
}

/* This function is long because the counts and what must be closed belong to the whole command. */
static int run(const ak_args *args)
{
    ak_error err = AK_ERROR_INIT;
    ak_task *task = NULL;
    ak_tester *tester = NULL;
    ak_progress progress = {0};
    char sanitizers[640] = "";
    size_t count = 0, named = 0, done = 0, wrong = 0, rejected = 0;
    size_t wanted = ak_args_has(args, AK_OPTION_CONFIGS) ? (size_t)args->number[AK_OPTION_CONFIGS]
                    : args->config_count == 0            ? RANDOM_DEFAULT
                                                         : 0;
    bool json = ak_args_has(args, AK_OPTION_JSON), itself = false;
    int code = AK_EXIT_FAILED;
    ak_candidate *list = ak_alloc(AK_CONFIGS_MAX + wanted, sizeof *list);
    json_t *rows = json_array();
    ak_status status = list == NULL || rows == NULL ? ak_fail_memory(&err) : AK_OK;
    if (status == AK_OK) {
        status = ak_args_known_task(&task, args, &err);
    }
    if (status == AK_OK) {
        status = ak_args_candidates(list, &count, args, task, &err);
    }
    if (status == AK_OK && strncmp(ak_task_device(task), "sim:", 4) == 0) {
        status =
            ak_fail(&err, AK_INVALID,
                    "%.80s: a recording has only times: nothing can be checked on --device sim",
                    args->operand[0]);
    }
    ak_catch_interrupts();
    if (status == AK_OK) {
        ak_task_set_cancel(task, &ak_interrupted);
        named = count;
        count = add_random(list, count, wanted, ak_task_space(task),
                           (uint64_t)args->number[AK_OPTION_SEED]);
        status = ak_tester_open(&tester, task, &err);
    }
    if (status == AK_OK) {
        ak_tester_sanitize(tester, ak_args_has(args, AK_OPTION_SANITIZE));
    }
    if (status == AK_OK) {
        status = ak_progress_open(&progress, NULL, ak_args_has(args, AK_OPTION_QUIET), json, &err);
    }
    if (status == AK_OK && !json) {
        ak_task_print(task);
    }
    while (status == AK_OK && done < count) {
        ak_trial trial = {0};
        ak_progress_wait wait = {.progress = &progress, .name = list[done].name};
        ak_tester_on_wait(tester, ak_progress_waiting, &wait);
        ak_progress_step(&progress, "checking", done, count);
        status = ak_tester_check(&trial, tester, &list[done].config, &err);
        ak_progress_step(&progress, "", 1, 1);
        if (status == AK_OK) {
            bool never_ran =
                trial.status == AK_TRIAL_REJECTED && done >= named && trial.check_ns == 0;
            rejected += never_ran;
            wrong += trial.status != AK_TRIAL_OK && !never_ran;
            status = show_one(rows, &list[done], &trial, ak_task_space(task), json, &err);
            itself = itself || (trial.status == AK_TRIAL_WRONG_RESULT && done < named &&
                                strcmp(list[done].name, "default") == 0);
            done++;
        }
        ak_trial_clear(&trial);
    }
    if (status == AK_CANCELLED && done > 0) {
        status = AK_OK; /* what was checked before the interrupt is shown */
    } else if (status == AK_CANCELLED) {
        (void)ak_fail(&err, AK_CANCELLED, "%.80s: interrupted before a configuration was checked",
                      args->operand[0]);
    }
    if (status == AK_OK) {
        ak_tester_sanitizing(sanitizers, sizeof sanitizers, tester);
    }
    if (status == AK_OK && itself && !json) {
        explain_itself(task);
    }
    code = status == AK_OK ? finish(args, task, rows, done, wrong, rejected, count, sanitizers)
                           : ak_complain_error(&err);
    ak_tester_close(tester);
    ak_task_close(task);
    json_decref(rows);
    ak_free(list);
    return code;
}

const ak_command ak_cmd_check = {
    .name = "check",
    .summary = "check results against a reference, over edge-case sizes too",
    .operands = "KERNEL",
    .least = 1,
    .most = 1,
    .options = AK_O_TASK | AK_O_RUN | AK_O(CONFIG) | AK_O(CONFIGS) | AK_O(ARCHIVE) | AK_O(JSON) |
               AK_O(QUIET) | AK_O(SANITIZE) | AK_O(HELP),
    .about = "Compares results with a reference computed in double precision. Inputs are fresh, "
             "outputs are poisoned, and red zones surround every buffer. The check covers "
             "edge-case sizes and the given size.\n\n"
             "Without --config it checks the default configuration and a few random ones. If "
             "several implementations exist, the one with the best archived result is used. Exit "
             "code 1 says that a result is wrong, or that a configuration of --config could not be "
             "run.",
    .examples = "  autokernel check matmul --size 64\n"
                "  autokernel check matmul --config KC=128 --size 64\n"
                "  autokernel check softmax --configs 5 --seed 7\n",
    .run = run,
};
