/*
 * choose.c: ak_task_choose: which of several implementations that can do a task.
 *
 * By what was measured, never by name: first the archive, where all of them were measured at this
 * size or one near it, in the environment of today; else their default configurations, measured
 * now. Only where neither is to be had does the order of the kernel's folder decide. Each of the
 * three says so in a line that goes with the task.
 *
 * The defaults are measured one after the other and not interleaved: implementations have workers
 * of their own. What sets them apart is more than that blurs; what is closer does not matter much.
 */
#include "archive/archive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tuner/session.h"

#define CANDIDATES_MAX 8
#define SIZES_MAX      128
/* Sizes are near if the ratios of their extents multiply to no more than this. */
#define NEAR         2.0
#define RACE_WAIT_NS (3600 * AK_SECOND_NS)
#define PROPOSED_BY  "race of implementations"

/* The best of one implementation at one size, as far as the archive knows. */
typedef struct known {
    char size[256];
    double distance, ms; /* ms 0: only that its default fails there */
    size_t trials;       /* that were ok */
    char why[160];
} known;

typedef struct candidate {
    ak_task *task;
    char environment[AK_ENVIRONMENT_BYTES];
    char *environment_json;
    known sizes[SIZES_MAX];
    size_t count;
    double ms; /* of what it is chosen by; 0: none */
    size_t trials;
    char why[160]; /* of a default that failed */
} candidate;

typedef struct chooser {
    candidate *list;
    size_t count;
    const volatile int *cancel;
} chooser;

/* ---- what the archive knows ------------------------------------------------------------------ */

/* The product of the ratios of extents, each above 1, as a logarithm; infinite if the texts are not
   of one kernel. */
static double distance_of(const char *a, const char *b)
{
    double sum = 0;
    while (*a != 0 && *b != 0) {
        size_t name = strcspn(a, "=");
        if (a[name] != '=' || strncmp(a, b, name + 1) != 0) {
            return (double)INFINITY;
        }
        char *end_a, *end_b;
        double x = (double)strtoll(a + name + 1, &end_a, 10);
        double y = (double)strtoll(b + name + 1, &end_b, 10);
        if (x < 1 || y < 1 || *end_a != *end_b) {
            return (double)INFINITY;
        }
        sum += fabs(log2(x / y));
        a = end_a + (*end_a == ',' ? 1 : 0);
        b = end_b + (*end_b == ',' ? 1 : 0);
    }
    return *a == *b ? sum : (double)INFINITY;
}

/* Is it a failure that would be there again? What may be the machine's fault is tried anew. */
static bool is_lasting(const ak_trial *trial)
{
    return trial->strategy != NULL && strcmp(trial->strategy, PROPOSED_BY) == 0 &&
           (trial->status == AK_TRIAL_COMPILE_ERROR || trial->status == AK_TRIAL_LAUNCH_ERROR ||
            trial->status == AK_TRIAL_WRONG_RESULT || trial->status == AK_TRIAL_REJECTED);
}

static void tell_why(char out[160], const ak_trial *trial)
{
    (void)snprintf(out, 160, "%s: %.120s", ak_trial_status_text(trial->status),
                   trial->reason == NULL ? "" : trial->reason);
}

static bool learn(void *context, const ak_trial *trial)
{
    candidate *c = context;
    double distance = distance_of(trial->size, c->task->size_text);
    size_t at = 0;
    bool ok = trial->status == AK_TRIAL_OK && trial->median_ms > 0;
    if (distance > log2(NEAR) || !(ok || (distance == 0 && is_lasting(trial))) ||
        strlen(trial->size) >= sizeof c->sizes[0].size) {
        return true;
    }
    while (at < c->count && strcmp(c->sizes[at].size, trial->size) != 0) {
        at++;
    }
    if (at == SIZES_MAX) {
        return true;
    }
    known *k = &c->sizes[at];
    if (at == c->count) {
        *k = (known){.distance = distance};
        (void)snprintf(k->size, sizeof k->size, "%s", trial->size);
        c->count++;
    }
    if (ok) {
        k->ms = k->ms <= 0 || trial->median_ms < k->ms ? trial->median_ms : k->ms;
        k->trials++;
    } else {
        tell_why(k->why, trial);
    }
    return true;
}

static ak_status ask_archive(candidate *c, ak_archive *archive, ak_error *err)
{
    /* Not the device: equal ones have the same environment, whatever their numbers are. */
    ak_archive_filter filter = {.kernel = c->task->problem->name,
                                .implementation = c->task->implementation->name,
                                .dtype = ak_dtype_text(c->task->dtype),
                                .choices = c->task->choices_text,
                                .environment = c->environment};
    return ak_archive_each(archive, &filter, learn, c, err);
}

static const known *known_at(const candidate *c, const char *size)
{
    for (size_t i = 0; i < c->count; i++) {
        if (strcmp(c->sizes[i].size, size) == 0) {
            return &c->sizes[i];
        }
    }
    return NULL;
}

/* The nearest size at which `needed` of the candidates were tried and one worked; NULL if there is
   none. */
static const known *nearest(const chooser *ch, size_t needed)
{
    const known *best = NULL;
    for (size_t i = 0; i < ch->count; i++) {
        for (size_t k = 0; k < ch->list[i].count; k++) {
            const known *size = &ch->list[i].sizes[k];
            size_t have = 0;
            bool any = false;
            for (size_t j = 0; j < ch->count; j++) {
                const known *other = known_at(&ch->list[j], size->size);
                have += other != NULL ? 1 : 0;
                any = any || (other != NULL && other->ms > 0);
            }
            if (any && have >= needed && (best == NULL || size->distance < best->distance)) {
                best = size;
            }
        }
    }
    return best;
}

/* ---- the race -------------------------------------------------------------------------------- */

static ak_status run_default(candidate *c, const chooser *ch, ak_archive *archive, ak_error *err)
{
    ak_session session;
    ak_session_options options = {.compile_workers = 1, .cancel = ch->cancel};
    ak_job job = {.kind = AK_JOB_TRIAL};
    ak_result result = {0};
    ak_status status = ak_session_open(&session, c->task, &options, err);
    if (status != AK_OK) {
        return status;
    }
    job.id = session.next_job++;
    ak_space_default(&job.config, c->task->space);
    status = ak_pool_submit(session.pool, &job, err);
    if (status == AK_OK) {
        status = ak_pool_wait(&result, session.pool, RACE_WAIT_NS, err);
    }
    ak_trial *trial = &result.trial;
    if (status == AK_OK) {
        status = ak_session_complete(trial, &session, &job.config, NULL, err);
    }
    if (status == AK_OK) {
        trial->strategy = ak_strdup(PROPOSED_BY);
        status = trial->strategy == NULL ? ak_fail_memory(err)
                 : archive == NULL       ? AK_OK
                                         : ak_archive_add_trial(archive, trial, err);
    }
    if (status == AK_OK && trial->status == AK_TRIAL_OK) {
        c->ms = trial->median_ms;
    } else if (status == AK_OK) {
        tell_why(c->why, trial);
    }
    ak_result_clear(&result);
    ak_session_close(&session);
    return status;
}

/* ---- the choice ------------------------------------------------------------------------------ */

static size_t fastest(const chooser *ch)
{
    size_t best = 0;
    for (size_t i = 1; i < ch->count; i++) {
        double ms = ch->list[i].ms;
        if (ms > 0 && (ch->list[best].ms <= 0 || ms < ch->list[best].ms)) {
            best = i;
        }
    }
    return best;
}

static const char *name_of(const candidate *c)
{
    return c->task->implementation->name;
}

/* The winner first, then the others. */
static void put_others(ak_buf *out, const chooser *ch, size_t winner, bool raced)
{
    for (size_t i = 0; i < ch->count; i++) {
        const candidate *c = &ch->list[i];
        if (i == winner) {
            continue;
        }
        if (c->ms <= 0 && c->why[0] == 0) {
            ak_buf_print(out, ", nothing is known of %s", name_of(c));
        } else if (c->ms <= 0) {
            ak_buf_print(out, ", %s %s failed (%s)", raced ? "that of" : "the default of",
                         name_of(c), c->why);
        } else if (raced) {
            ak_buf_print(out, ", that of %s %.4g ms", name_of(c), c->ms);
        } else {
            ak_buf_print(out, ", %s %.4g ms (of %zu)", name_of(c), c->ms, c->trials);
        }
    }
}

static void choose_by_archive(size_t *out, ak_buf *reason, chooser *ch, const known *at)
{
    char size[sizeof at->size];
    bool here = at->distance == 0;
    (void)snprintf(size, sizeof size, "%s", at->size);
    for (size_t i = 0; i < ch->count; i++) {
        const known *k = known_at(&ch->list[i], size);
        ch->list[i].ms = k == NULL ? 0 : k->ms;
        ch->list[i].trials = k == NULL ? 0 : k->trials;
        (void)snprintf(ch->list[i].why, sizeof ch->list[i].why, "%s", k == NULL ? "" : k->why);
    }
    *out = fastest(ch);
    const candidate *won = &ch->list[*out];
    ak_buf_print(reason, "by the archive: %s took %.4g ms (best of %zu trial%s)", name_of(won),
                 won->ms, won->trials, won->trials == 1 ? "" : "s");
    put_others(reason, ch, *out, false);
    if (!here) {
        ak_buf_print(reason, ", at the near size %s", size);
    }
}

static ak_status choose_by_race(size_t *out, ak_buf *reason, chooser *ch, ak_archive *archive,
                                ak_error *err)
{
    ak_status status = AK_OK;
    for (size_t i = 0; i < ch->count && status == AK_OK; i++) {
        status = run_default(&ch->list[i], ch, archive, err);
    }
    if (status != AK_OK) {
        return status;
    }
    *out = fastest(ch);
    const candidate *won = &ch->list[*out];
    if (won->ms > 0) {
        ak_buf_print(reason, "by measuring the defaults: that of %s took %.4g ms", name_of(won),
                     won->ms);
    } else {
        ak_buf_print(reason, "the first of the kernel's folder: the default of %s failed (%s)",
                     name_of(won), won->why);
    }
    put_others(reason, ch, *out, true);
    return AK_OK;
}

static ak_status choose(size_t *out, ak_buf *reason, chooser *ch, ak_archive *archive, bool race,
                        ak_error *err)
{
    ak_status status = AK_OK;
    for (size_t i = 0; i < ch->count && status == AK_OK; i++) {
        candidate *c = &ch->list[i];
        status = ak_session_environment(c->environment, &c->environment_json, c->task, err);
        if (status == AK_OK && archive != NULL) {
            status = ask_archive(c, archive, err);
        }
    }
    if (status != AK_OK) {
        return status;
    }
    const known *at = nearest(ch, ch->count);
    if (at == NULL && !race) {
        at = nearest(ch, 1); /* better than nothing */
    }
    if (at != NULL) {
        choose_by_archive(out, reason, ch, at);
        return AK_OK;
    }
    if (race) {
        return choose_by_race(out, reason, ch, archive, err);
    }
    *out = 0;
    ak_buf_print(reason,
                 "the first of the kernel's folder that can do it; nothing is measured yet");
    return AK_OK;
}

/* Every implementation that can do what `first` does, which is one of them and comes first. Takes
   `first`. */
static ak_status gather(chooser *ch, ak_task *first, const ak_task_spec *spec, ak_error *err)
{
    ch->list = ak_alloc(CANDIDATES_MAX, sizeof *ch->list);
    if (ch->list == NULL) {
        ak_task_close(first);
        return ak_fail_memory(err);
    }
    ch->list[ch->count++].task = first;
    for (size_t i = 0; i < first->problem->implementation_count && ch->count < CANDIDATES_MAX;
         i++) {
        const char *name = first->problem->implementations[i].name;
        ak_task_spec other = *spec;
        ak_task *task = NULL;
        other.implementation = name;
        other.dtype = ak_dtype_text(first->dtype);
        other.device = first->devices;
        if (strcmp(name, first->implementation->name) != 0 &&
            ak_task_open(&task, &other, NULL) == AK_OK) {
            ch->list[ch->count++].task = task;
        }
    }
    return AK_OK;
}

ak_status ak_task_choose(ak_task **out, const ak_task_spec *spec, ak_archive *archive, bool race,
                         const volatile int *cancel, ak_error *err)
{
    ak_task *first = NULL;
    chooser ch = {.cancel = cancel};
    size_t chosen = 0;
    ak_buf reason = AK_BUF(4096);
    ak_status status = ak_task_open(&first, spec, err);
    if (status != AK_OK) {
        return status;
    }
    if (spec->implementation != NULL || first->recorded ||
        ak_problem_runnable(first->problem, NULL) != AK_OK) {
        *out = first;
        return AK_OK;
    }
    status = gather(&ch, first, spec, err);
    if (status == AK_OK && ch.count > 1) {
        status = choose(&chosen, &reason, &ch, archive, race, err);
        status = status == AK_OK ? ak_buf_status(&reason, err) : status;
    }
    if (status == AK_OK && ch.count > 1) {
        status = ak_buf_take(&ch.list[chosen].task->reason, &reason, err);
    }
    if (status == AK_OK) {
        *out = ch.list[chosen].task;
        ch.list[chosen].task = NULL;
    }
    for (size_t i = 0; i < ch.count; i++) {
        ak_task_close(ch.list[i].task);
        ak_free(ch.list[i].environment_json);
    }
    ak_free(ch.list);
    ak_buf_free(&reason);
    return status;
}
