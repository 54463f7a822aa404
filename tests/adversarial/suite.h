/* suite.h: attacks and honest kernels of a folder of tests/adversarial, given to a pool of workers.
   Needs the headers that cmocka.h needs, and cmocka.h, before it. */
#ifndef AK_TEST_ADVERSARIAL_SUITE_H
#define AK_TEST_ADVERSARIAL_SUITE_H

#include <math.h>

#include "../unit/pool_fixture.h"
#include "backend/backend.h"
#include "base/fs.h"

typedef struct attack {
    int number;
    const char *name;
    ak_trial_status status; /* one that may be found in several ways: of the first of them */
    const char *reason;     /* a part of it; NULL: any of a wrong result or a rejection */
} attack;

#define WRONG    AK_TRIAL_WRONG_RESULT
#define REJECTED AK_TRIAL_REJECTED

typedef struct suite {
    ak_task *task;
    ak_pool *pool;
} suite;

static suite open_suite(const char *folder, const char *device, const char *size)
{
    const ak_backend_ops *backend = NULL;
    ak_error err = AK_ERROR_INIT;
    char path[AK_PATH_MAX];
    suite s = {0};
    ak_scope *facts = ak_scope_new(NULL);
    assert_int_equal(ak_fs_join(path, AK_TEST_ADVERSARIAL, folder, &err), AK_OK);
    char name[32] = "";
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(device, ":"), device);
    assert_int_equal(ak_backend_find(&backend, name, &err), AK_OK);
    if (backend->facts(facts, device, 2, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    ak_task_spec spec = {.kernel = path, .device = device, .size = size, .threads = 2, .seed = 7};
    ak_device_facts known = {
        .backend = name, .device = device, .facts = facts, .available = backend->available};
    ak_pool_options options = {.compile_workers = 2, .launch_timeout_ns = 20 * AK_SECOND_NS};
    if (ak_task_bind(&s.task, &spec, &known, &err) != AK_OK ||
        ak_pool_open(&s.pool, s.task, &options, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    ak_scope_free(facts);
    return s;
}

static void close_suite(suite *s)
{
    ak_pool_close(s->pool);
    ak_task_close(s->task);
}

/* Some attacks work only in batches of several calls, and batches of the usual length would be
   single calls where other programs on the same core halve the processor's speed. */
static void submit(const suite *s, ak_job_kind kind, uint64_t id, const char *config)
{
    ak_error err = AK_ERROR_INIT;
    ak_job job = {.kind = kind,
                  .id = id,
                  .timer = {.budget_ns = 20 * AK_MS_NS, .batch_ns = 2 * AK_TIMER_BATCH_NS}};
    if (ak_config_parse(&job.config, s->task->space, config, &err) != AK_OK ||
        ak_pool_submit(s->pool, &job, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
}

/* Whoever does all of the work after all, as where the machine is so busy that batches are single
   calls, has not won anything. Neither has who was not judged because of that; the honest one,
   which must be accepted, was. */
#define NO_FASTER 0.5
/* The same for a time of single calls on inputs that were not seen. Other work on the machine
   stretches the honest one's batches, which are longer than a slice of the scheduler, and not such
   calls. An attack that replays takes at most a tenth. */
#define NO_FASTER_ALONE 0.2

/* 1 if that is not what must become of it, which it `says`. With `comparable`, its time can be
   compared with the honest one's. */
static int wrong_fate(const attack *a, bool wasting, const ak_trial *trial, double honest_ms,
                      bool comparable, bool says)
{
    const char *reason = trial->reason == NULL ? "" : trial->reason;
    bool named = a->reason != NULL || (a->status != WRONG && a->status != REJECTED);
    double least = strstr(reason, "calls on inputs that it has not seen") != NULL ? NO_FASTER_ALONE
                                                                                  : NO_FASTER;
    bool stopped =
        trial->status == WRONG || trial->status == REJECTED ||
        (trial->status == AK_TRIAL_TIMED_OUT && strstr(reason, AK_NOT_JUDGED) != NULL) ||
        (trial->status == AK_TRIAL_OK && (!comparable || trial->median_ms > least * honest_ms));
    bool fits = named ? trial->status == a->status &&
                            (a->reason == NULL || strstr(reason, a->reason) != NULL)
                      : stopped || (a->number == 15 && trial->status == AK_TRIAL_COMPILE_ERROR);
    if (!fits && says) {
        print_error("%2d %s%s: must be %s (%s), is %s in %g ms (honest: %g): %s\n", a->number,
                    a->name, wasting ? ", and wastes time" : "", ak_trial_status_text(a->status),
                    a->reason == NULL ? "any reason" : a->reason,
                    ak_trial_status_text(trial->status), trial->median_ms, honest_ms, reason);
    }
    return fits ? 0 : 1;
}

static double fastest_of(const ak_trial *trial)
{
    double least = HUGE_VAL;
    for (size_t i = 0; i < trial->sample_count; i++) {
        least = trial->samples_ms[i] < least ? trial->samples_ms[i] : least;
    }
    return least;
}

/* Whether the device worker has seen it. What is refused by how it looks, or does not compile, is
   refused by the same look whether it wastes time or not. */
static bool has_run(const ak_trial *trial)
{
    return trial->check_ns + trial->measure_ns + trial->overhead_ns > 0;
}

static int wrong_fates(const attack *list, size_t tries, size_t forms, const bool *tried,
                       const ak_result *results, double honest_ms, bool told, bool says)
{
    int wrong = 0;
    for (size_t i = 0; i < tries; i++) {
        wrong += tried[i] ? wrong_fate(&list[i / forms], i % forms == 1, &results[i].trial,
                                       honest_ms, told || !results[i].waited, says)
                          : 0;
    }
    return wrong;
}

/* Whether the time of an honest one is its own: it was measured, without waits for a processor. */
static bool has_own_time(const ak_result *result)
{
    return result->trial.status == AK_TRIAL_OK && !result->waited;
}

/* Tries each attack in `forms` forms: bare and, where there is a limit of plausibility and the bare
   form came as far as to be run, wasting time. The first of the list is honest. */
static void try_attacks_at(const char *folder, const char *device, const char *size,
                           const attack *list, size_t count, size_t forms)
{
    enum { TRIALS_MAX = 512, HONEST_AGAIN = 5 };
    static const char *const parameters[] = {"ATTACK=%d", "ATTACK=%d,WASTE=%d"};
    suite s = open_suite(folder, device, size);
    ak_result results[TRIALS_MAX] = {0};
    bool tried[TRIALS_MAX] = {false};
    const size_t tries = forms * count;
    assert_true(tries <= TRIALS_MAX);
    for (size_t form = 0; form < forms; form++) {
        size_t waiting = 0;
        for (size_t i = form; i < tries; i += forms) {
            char config[64];
            if (form > 0 && !has_run(&results[i - form].trial)) {
                continue;
            }
            (void)snprintf(config, sizeof config, parameters[forms - 1], list[i / forms].number,
                           (int)form);
            submit(&s, AK_JOB_TRIAL, i, config);
            tried[i] = true;
            waiting++;
        }
        for (; waiting > 0; waiting--) {
            ak_result result = wait_one(s.pool);
            results[result.id] = result;
        }
    }
    assert_true(has_run(&results[0].trial)); /* the honest one */
    double honest_ms = HUGE_VAL;
    bool told = false; /* an honest one had its own time */
    for (size_t i = 0; i < forms; i++) {
        honest_ms = fmin(honest_ms, fastest_of(&results[i].trial));
        told = told || has_own_time(&results[i]);
    }
    /* What a busy machine left unjudged is tried again, unless that is a fate that it may have:
       some attacks are never judged beside other programs, and each try takes a minute. */
    for (int again = 0; again < UNJUDGED_MAX; again++) {
        size_t i = 0;
        while (i < tries &&
               !(tried[i] && is_unjudged(results[i].trial.status, results[i].trial.reason) &&
                 wrong_fate(&list[i / forms], i % forms == 1, &results[i].trial, honest_ms, true,
                            false) != 0)) {
            i++;
        }
        if (i == tries) {
            break;
        }
        char config[64];
        (void)snprintf(config, sizeof config, parameters[forms - 1], list[i / forms].number,
                       (int)(i % forms));
        submit(&s, AK_JOB_TRIAL, i, config);
        ak_result result = wait_one(s.pool);
        ak_result_clear(&results[i]);
        results[i] = result;
    }
    /* Where the machine was busy with something else while the honest one ran, it runs again, in
       another pool: the same one would only repeat the outcome of equal code. If it waited in most
       batches of all its trials, its time is mostly that of other programs: twelve of them make 900
       ms of 30. Then an attack that waited as well, whose time the product gives with that doubt,
       cannot be compared with it. */
    for (int again = 0; again < HONEST_AGAIN; again++) {
        if (wrong_fates(list, tries, forms, tried, results, honest_ms, true, false) == 0) {
            break;
        }
        suite fresh = open_suite(folder, device, size);
        submit(&fresh, AK_JOB_TRIAL, tries, forms == 1 ? "ATTACK=0" : "ATTACK=0,WASTE=0");
        ak_result result = wait_one(fresh.pool);
        honest_ms = fmin(honest_ms, fastest_of(&result.trial));
        told = told || has_own_time(&result);
        close_suite(&fresh);
        ak_result_clear(&result);
    }
    int wrong = wrong_fates(list, tries, forms, tried, results, honest_ms, told, true);
    for (size_t i = 0; i < tries; i++) {
        ak_result_clear(&results[i]);
    }
    close_suite(&s);
    assert_int_equal(wrong, 0);
}

static void try_attacks(const char *folder, const char *device, const attack *list, size_t count,
                        size_t forms)
{
    try_attacks_at(folder, device, NULL, list, count, forms);
}

/* Gives the configurations VARIANT=0 to VARIANT=COUNT-1, in steps, as jobs of a kind; all must be
   accepted. */
static void every_one_is_right(const char *folder, const char *device, const char *size,
                               ak_job_kind kind, int count, int step)
{
    suite s = open_suite(folder, device, size);
    int wrong = 0;
    for (int i = 0; i < count; i += step) {
        char config[32];
        (void)snprintf(config, sizeof config, "VARIANT=%d", i);
        submit(&s, kind, (uint64_t)i, config);
    }
    for (int i = 0; i < count; i += step) {
        ak_result result = wait_one(s.pool);
        if (result.trial.status != AK_TRIAL_OK) {
            print_error("variant %d at %s: %s: %s\n", (int)result.id, size,
                        ak_trial_status_text(result.trial.status), result.trial.reason);
            wrong++;
        }
        ak_result_clear(&result);
    }
    close_suite(&s);
    assert_int_equal(wrong, 0);
}

/* What must become of candidates for the finish. */
static void try_checks(const char *folder, const char *device, const char *size, const attack *list,
                       size_t count)
{
    suite s = open_suite(folder, device, size);
    int wrong = 0;
    for (size_t i = 0; i < count; i++) {
        char config[64];
        (void)snprintf(config, sizeof config, "ATTACK=%d%s", list[i].number,
                       strcmp(device, "host") == 0 ? ",WASTE=0" : "");
        submit(&s, AK_JOB_CHECK, i, config);
    }
    for (size_t i = 0; i < count; i++) {
        ak_result result = wait_one(s.pool);
        wrong += wrong_fate(&list[result.id], false, &result.trial, 0, true, true);
        ak_result_clear(&result);
    }
    close_suite(&s);
    assert_int_equal(wrong, 0);
}

#endif
