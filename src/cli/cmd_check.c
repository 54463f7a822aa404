/* cmd_check.c: checks results at edge-case sizes and at the given one, without timing. */

#include "base/alloc.h"
#include "base/device_name.h"
#include "base/rng.h"
#include "base/value_json.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/task_args.h"

#define RANDOM_DEFAULT 3
/* Limit on the draws beyond one for each wanted configuration. A draw may give a configuration that
   is in the list already; if the list has all of a small space, drawing would never end. */
#define DRAWS_MAX 100

/* Adds up to `wanted` random configurations that are not in the list yet. Returns the new length of
   the list. */
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

/* A check of `count` configurations. The first `named` come from --config or are the default.
   `done` are finished. Of these, `wrong` failed, and `rejected` never ran, because the compiler's
   report ruled them out (register spills, for instance), so it is not known whether they are right.
   `refused` counts the rejected ones among the first `named`; they make the command fail too. */
typedef struct checking {
    const ak_args *args;
    ak_task *task;
    ak_tester *tester;
    ak_progress progress;
    ak_candidate *list;
    json_t *rows;
    size_t count, named, done, wrong, rejected, refused;
    size_t least, most; /* fewest and most edge-case sizes tried for a right configuration */
    size_t undrawn;     /* right configurations for which no random size could be drawn */
    bool json, itself;  /* itself: the default configuration gives a wrong result */
    bool ran_wrong;     /* a configuration was wrong or crashed, which sanitizers may explain */
    size_t rounded;     /* wrong results that look like rounding */
    size_t alike;       /* configurations with the first one's wrong result, itself included */
    char first[240];    /* reason of the first configuration's trial; "": none */
    char sanitizers[800];
    char busy[400]; /* a warning that the machine was busy; "": it was not, or nothing timed out */
    ak_archive *archive; /* opened for the first failure */
} checking;

/* Explains wrong results: those that look like rounding, by a tolerance that may be too tight; of
   the others, that of the default configuration if it is its own reference, else one that all of
   several configurations share. */
static void explain(const checking *c)
{
    static const char by_default[] = "agrees with the default configuration";
    const char *reference = ak_or_empty(ak_task_reference(c->task));
    if (c->rounded > 0) {
        ak_out("%zu wrong result%s like rounding: the tolerance in problem.json may be too tight "
               "for the sums of this kernel (docs/howto-kernel.md)\n",
               c->rounded, c->rounded == 1 ? " looks" : "s look");
    }
    if (strncmp(reference, by_default, strlen(by_default)) != 0) {
        if (c->alike > 1 && c->alike == c->done) {
            ak_out("all %zu have the same wrong result: probably no parameter is at fault, but the "
                   "kernel, its arguments or the reference\n",
                   c->alike);
        }
    } else if (c->itself) {
        ak_out("the default configuration is its own reference and disagrees with itself: it reads "
               "outside its arrays or what it has not written, or its threads race; see the shapes "
               "in problem.json and the fills of arrays that hold indices\n");
    }
}

/* Prints the result of one configuration, or adds it to c->rows with --json. If it is right, it was
   checked at `sizes` edge-case sizes, and `reach` says whether also at sizes drawn at random. */
static ak_status show_one(const checking *c, const ak_candidate *candidate, const ak_trial *trial,
                          size_t sizes, ak_checked_sizes reach, ak_error *err)
{
    const ak_space *space = ak_task_space(c->task);
    AK_FREED char *text = NULL;
    char error[AK_NUMBER_BYTES];
    bool ok = trial->status == AK_TRIAL_OK;
    if (c->json) {
        json_t *row = json_object();
        bool good = ak_json_set_text(row, "name", candidate->name) &&
                    ak_json_set(row, "config", ak_config_json(space, &candidate->config)) &&
                    ak_json_set_text(row, "status", ak_trial_status_text(trial->status)) &&
                    ak_json_set_text(row, "reason", trial->reason) &&
                    ak_json_set_real(row, "max_error", trial->max_error) &&
                    (!ok || (ak_json_set_count(row, "edge_cases", sizes) &&
                             ak_json_set(row, "drawn", json_boolean(reach == AK_CHECKED_DRAWN))));
        return ak_stored(ak_json_append(c->rows, row) && good, err);
    }
    AK_DO(ak_config_text(&text, space, &candidate->config, err));
    ak_out_styled(ok ? AK_STYLE_GOOD : AK_STYLE_BAD, "%-13s", ak_trial_status_text(trial->status));
    ak_out(" %-9s ", candidate->name);
    if (ok) {
        ak_out("largest error %s of what is allowed; %s\n",
               trial->max_error > 0 ? ak_show_percent(error, trial->max_error) : "0 %", text);
    } else {
        ak_out("%s; %s\n", trial->reason == NULL ? "no reason given" : trial->reason, text);
    }
    return AK_OK;
}

static ak_status show_json(const checking *c, ak_error *err)
{
    json_auto_t *object = json_object();
    bool good = object != NULL && ak_task_json(object, c->task) &&
                ak_json_set(object, "checked", json_incref(c->rows)) &&
                ak_json_set(object, "ok", json_boolean(c->wrong + c->refused == 0)) &&
                (c->busy[0] == 0 || ak_json_set(object, "warnings", json_pack("[s]", c->busy))) &&
                (c->sanitizers[0] == 0 || ak_json_set_text(object, "sanitizers", c->sanitizers)) &&
                ak_out_json(object);
    return ak_stored(good, err);
}

/* Suggests --sanitize, unless it was given, if it may explain a failure: sanitizers exist for
   source code on the host and on CUDA, but not for Triton. */
static void suggest_sanitizers(const checking *c)
{
    const char *device = ak_task_device(c->task);
    const bool built = strncmp(device, "host", 4) == 0 || strncmp(device, "cuda", 4) == 0;
    if (c->ran_wrong && built && strncmp(ak_task_implementation(c->task), "triton", 6) != 0 &&
        !ak_args_has(c->args, AK_OPTION_SANITIZE)) {
        ak_next_on_task("check --sanitize", "finds reads and writes out of bounds", c->args,
                        c->task, false);
    }
}

static void show_text(const checking *c)
{
    char also[96] = "", tried[128] = "", most[32] = "", undrawn[128] = "", some[48] = "";
    const size_t count = c->done, right = count - c->wrong - c->rejected;
    const size_t all = ak_task_edge_cases(c->task);
    const bool none = all == 0 || (right > 0 && c->most == 0); /* no edge-case size was tried */
    if (c->rejected > 0) {
        char failed[32] = "";
        (void)snprintf(failed, sizeof failed, "%zu failed and ", c->wrong);
        (void)snprintf(also, sizeof also, "; %s%zu %s rejected before running",
                       c->wrong > 0 ? failed : "", c->rejected, c->rejected == 1 ? "was" : "were");
    }
    if (all == 0) {
        (void)snprintf(tried, sizeof tried, "; the kernel names no edge-case sizes (\"awkward\")");
    } else if (none) {
        (void)snprintf(
            tried, sizeof tried,
            "; none of the %zu edge-case size%s was tried: conditions of the space exclude %s", all,
            ak_plural(all), all == 1 ? "it" : "them");
    } else if (right > 0 && c->least < all) {
        if (c->least < c->most) {
            (void)snprintf(most, sizeof most, " to %zu", c->most);
        }
        (void)snprintf(tried, sizeof tried, "; %zu%s of %zu edge-case sizes %s tried", c->least,
                       most, all, c->least == 1 && most[0] == 0 ? "was" : "were");
    }
    if (all > 0 && c->undrawn > 0) {
        if (c->undrawn < right) {
            (void)snprintf(some, sizeof some, " for %zu of them", c->undrawn);
        }
        (void)snprintf(undrawn, sizeof undrawn, "; no other size could be drawn%s%s", some,
                       none ? "" : ", so only listed ones were checked");
    }
    ak_out("%zu of %zu configuration%s %s right %s %s%s%s%s\n", right, count, ak_plural(count),
           count == 1 ? "is" : "are", none ? "at" : "over edge-case sizes and",
           ak_task_size(c->task), tried, undrawn, also);
    if (c->sanitizers[0] != 0) {
        ak_out("%s\n", c->sanitizers);
    }
    if (c->busy[0] != 0) {
        ak_out("warning: %s\n", c->busy);
    }
    if (c->wrong + c->refused == 0) {
        ak_next_on_task("tune", "find the fastest", c->args, c->task, false);
    } else {
        suggest_sanitizers(c);
    }
}

/* Prints the summary. Fails if a configuration failed its check, if a named one was rejected, or if
   not all were checked. */
static ak_status conclude(const checking *c, ak_error *err)
{
    if (c->json) {
        AK_DO(show_json(c, err));
    } else {
        show_text(c);
    }
    if (c->wrong + c->refused > 0) {
        const size_t failed = c->wrong + c->rejected;
        return ak_fail(err, AK_CRASHED, "%.80s: %zu of %zu configuration%s %s", c->args->operand[0],
                       failed, c->done, ak_plural(c->done),
                       c->rejected == 0 ? "failed the check"
                       : c->wrong > 0   ? "failed the check or were rejected before running"
                       : failed == 1    ? "was rejected before running"
                                        : "were rejected before running");
    }
    AK_FAIL_IF(c->done < c->count, err, AK_CANCELLED,
               "%.80s: interrupted after %zu of %zu configuration%s", c->args->operand[0], c->done,
               c->count, ak_plural(c->count));
    return AK_OK;
}

/* Opens the task and a tester, and chooses the configurations. */
static ak_status prepare(checking *c, ak_error *err)
{
    const ak_args *args = c->args;
    const size_t wanted = (size_t)ak_args_number(args, AK_OPTION_CONFIGS,
                                                 args->config_count == 0 ? RANDOM_DEFAULT : 0);
    c->list = ak_alloc(AK_CONFIGS_MAX + wanted, sizeof *c->list);
    c->rows = json_array();
    AK_DO(ak_stored(c->list != NULL && c->rows != NULL, err));
    AK_DO(ak_args_known_task(&c->task, args, err));
    AK_DO(ak_args_candidates(c->list, &c->named, args, c->task, err));
    AK_FAIL_IF(ak_device_is_recorded(ak_task_device(c->task)), err, AK_INVALID,
               "%.80s: a recording has only times: nothing can be checked on --device sim",
               args->operand[0]);
    ak_warn_ignored(c->task);
    ak_catch_interrupts();
    ak_task_set_cancel(c->task, &ak_interrupted);
    c->count = add_random(c->list, c->named, wanted, ak_task_space(c->task),
                          (uint64_t)args->number[AK_OPTION_SEED]);
    AK_DO(ak_tester_open(&c->tester, c->task, err));
    ak_tester_sanitize(c->tester, ak_args_has(args, AK_OPTION_SANITIZE));
    return ak_progress_open(&c->progress, args, err);
}

/* Notes a failure in the archive if that has results for the configuration, which then no longer
   count. If this fails, only warns. */
static void refute(checking *c, ak_trial *trial)
{
    ak_error why = AK_ERROR_INIT;
    bool refuted = false;
    ak_status status =
        c->archive == NULL
            ? ak_archive_open_existing(&c->archive, c->args->text[AK_OPTION_ARCHIVE], &why)
            : AK_OK;
    status = status == AK_OK ? ak_archive_refute(&refuted, c->archive, trial, &why) : status;
    if (status != AK_OK) {
        ak_warn("the archive does not learn of this failure, so 'best' may still give its results "
                "of this configuration: %s",
                why.text);
    } else if (refuted && !c->json) {
        ak_out("the archive has results of this configuration, which count no longer\n");
    }
}

static ak_status check_next(checking *c, ak_error *err)
{
    const ak_candidate *candidate = &c->list[c->done];
    AK_AT_END(ak_trial_clear) ak_trial trial = {0};
    ak_progress_wait wait = {.progress = &c->progress,
                             .tester = c->tester,
                             .name = candidate->name,
                             .reference = ak_task_reference(c->task)};
    ak_tester_on_wait(c->tester, ak_progress_waiting, &wait);
    ak_progress_step(&c->progress, "checking", c->done, c->count);
    ak_status status = ak_tester_check(&trial, c->tester, &candidate->config, err);
    ak_progress_step(&c->progress, "", 1, 1);
    if (status == AK_OK) {
        const bool named = c->done < c->named;
        bool never_ran = trial.status == AK_TRIAL_REJECTED && trial.check_ns == 0;
        c->rejected += never_ran;
        c->refused += never_ran && named;
        c->wrong += trial.status != AK_TRIAL_OK && !never_ran;
        const bool wrong = trial.status == AK_TRIAL_WRONG_RESULT;
        const bool rounded =
            wrong && strstr(ak_or_empty(trial.reason), "looks like rounding") != NULL;
        c->rounded += rounded;
        c->ran_wrong = c->ran_wrong || (wrong && !rounded) || trial.status == AK_TRIAL_CRASHED;
        if (c->done == 0) {
            (void)snprintf(c->first, sizeof c->first, "%s", ak_or_empty(trial.reason));
        }
        c->alike += wrong && !rounded && ak_text_same(c->first, trial.reason) &&
                    strstr(c->first, ": got ") != NULL;
        c->itself =
            c->itself || (wrong && !rounded && named && strcmp(candidate->name, "default") == 0);
        size_t sizes = 0;
        ak_checked_sizes reach = AK_CHECKED_OWN;
        if (trial.status == AK_TRIAL_OK) {
            AK_DO(ak_task_edge_cases_of(&sizes, c->task, &candidate->config, err));
            AK_DO(ak_task_checked_sizes(&reach, c->task, &candidate->config, err));
            c->undrawn += reach != AK_CHECKED_DRAWN;
            c->least = sizes < c->least ? sizes : c->least;
            c->most = sizes > c->most ? sizes : c->most;
        }
        status = show_one(c, candidate, &trial, sizes, reach, err);
        if (trial.status != AK_TRIAL_OK && !never_ran) {
            refute(c, &trial);
        }
        c->done++;
    }
    return status;
}

static ak_status check_all(checking *c, ak_error *err)
{
    ak_status status = AK_OK;
    if (!c->json) {
        ak_task_print(c->task);
    }
    while (status == AK_OK && c->done < c->count) {
        status = check_next(c, err);
    }
    /* After an interrupt, what was checked before is shown. */
    return status == AK_CANCELLED && c->done > 0 ? AK_OK : status;
}

static int run(const ak_args *args, ak_error *err)
{
    checking c = {.args = args, .least = SIZE_MAX, .json = ak_args_has(args, AK_OPTION_JSON)};
    ak_status status = AK_OK;
    AK_TRY(prepare(&c, err));
    AK_TRY(check_all(&c, err));
    ak_tester_sanitizing(c.sanitizers, sizeof c.sanitizers, c.tester);
    (void)ak_tester_pressure(c.busy, sizeof c.busy, c.tester);
    if (!c.json) {
        explain(&c);
    }
    AK_TRY(conclude(&c, err));
out:
    if (status == AK_CANCELLED && c.done == 0) {
        (void)ak_fail(err, AK_CANCELLED, "%.80s: interrupted before a configuration was checked",
                      args->operand[0]);
    }
    ak_archive_close(c.archive);
    ak_tester_close(c.tester);
    ak_task_close(c.task);
    json_decref(c.rows);
    ak_free(c.list);
    return status == AK_OK ? AK_EXIT_DONE : ak_complain_error(err);
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
             "outputs begin with NaN, large and small numbers, zeros and wrong results, and red "
             "zones surround every buffer. The check covers edge-case sizes and the given "
             "size. A configuration that fails is noted in the archive if that has results of it, "
             "so that they no longer count.\n\n"
             "Without --config it checks the default configuration and a few random ones. If "
             "several implementations exist, the one with the best archived result is used. Exit "
             "code 1 says that a result is wrong, or that a configuration of --config could not be "
             "run.",
    .examples = "  autokernel check matmul --size 64\n"
                "  autokernel check matmul --config KC=128 --size 64\n"
                "  autokernel check softmax --configs 5 --seed 7\n",
    .run = run,
};
