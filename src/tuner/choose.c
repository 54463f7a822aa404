/*
 * choose.c: implements ak_task_choose, which picks one of several implementations that can do a
 * task, unless the user names one.
 *
 * Measurements decide, not names. The archive decides if it holds results of all implementations
 * that take part (gather) at this size or one near it, in the present environment, and one of them
 * worked. Otherwise, with `race`, the default configurations are measured now; without it, archived
 * results of some implementations suffice. If there is no result, the order in the kernel's folder
 * decides. If there was a choice, the task carries a line that says how it was made.
 *
 * The defaults are measured one after the other and not interleaved: implementations usually differ
 * by more than the noise that this adds, and smaller differences matter little. They share the
 * workers of one session and are compiled side by side, but each has a session of its own on a CPU,
 * where a compiler disturbs the timing, and with a launcher. The search begins with the same code,
 * which it finds in the compile cache.
 */
#include "archive/store.h"

#include <math.h>

#include "tuner/elsewhere.h"
#include "tuner/session.h"

/* Most implementations that take part, and most sizes of each that are known from the archive.
   Further ones are ignored. */
#define CANDIDATES_MAX 8
#define SIZES_MAX      128
/* Two sizes are near each other if they are alike (ak_near_sizes) and the ratios of their extents
   multiply to at most this. */
#define NEAR        2.0
#define PROPOSED_BY "race of implementations"

/* The best result of one implementation at one size in the archive. */
typedef struct known {
    char size[256];
    double distance, cost; /* cost is 0 if only a failure of the default is known there */
    size_t trials;         /* number of trials that were ok */
    char why[160];
} known;

typedef struct candidate {
    ak_task *task;
    char environment[AK_ENVIRONMENT_BYTES];
    char *environment_json;
    known sizes[SIZES_MAX];
    size_t count;
    double cost; /* of the default or the archived best, by the objective; 0: failed or unknown */
    size_t trials;
    char why[160]; /* reason for which the default failed */
} candidate;

typedef struct chooser {
    candidate *list;
    size_t count;
    const volatile int *cancel;
} chooser;

/* ---- archive --------------------------------------------------------------------------------- */

/* Returns whether a default failed in an earlier race for a reason that would recur. If the machine
   may have caused the failure, the default is tried again. */
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

/* Returns what is known at a size, or NULL. */
static known *known_at(candidate *c, const char *size)
{
    for (size_t i = 0; i < c->count; i++) {
        if (strcmp(c->sizes[i].size, size) == 0) {
            return &c->sizes[i];
        }
    }
    return NULL;
}

static bool learn(void *context, const ak_trial *trial)
{
    candidate *c = context;
    bool alike = false;
    double distance = ak_near_sizes(&alike, trial->size, c->task->size_text);
    bool ok = ak_trial_cost(trial) > 0;
    if (distance > log2(NEAR) || !alike || !(ok || (distance == 0 && is_lasting(trial))) ||
        strlen(trial->size) >= sizeof c->sizes[0].size) {
        return true;
    }
    known *k = known_at(c, trial->size);
    if (k == NULL && c->count == SIZES_MAX) {
        return true;
    }
    if (k == NULL) {
        k = &c->sizes[c->count++];
        *k = (known){.distance = distance};
        (void)snprintf(k->size, sizeof k->size, "%s", trial->size);
    }
    if (ok) {
        k->cost = k->cost <= 0 || ak_trial_cost(trial) < k->cost ? ak_trial_cost(trial) : k->cost;
        k->trials++;
    } else {
        tell_why(k->why, trial);
    }
    return true;
}

static ak_status ask_archive(candidate *c, ak_archive *archive, ak_error *err)
{
    /* The filter does not name the device, because equal devices have the same environment whatever
       their numbers. */
    ak_archive_filter filter = {.kernel = c->task->problem->name,
                                .implementation = c->task->implementation->name,
                                .dtype = ak_task_dtype(c->task),
                                .choices = c->task->choices_text,
                                .environment = c->environment};
    return ak_archive_each(archive, &filter, learn, c, err);
}

/* Returns the nearest size at which at least `needed` of the candidates were tried and at least one
   of them worked; NULL if there is no such size. */
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
                any = any || (other != NULL && other->cost > 0);
            }
            if (any && have >= needed && (best == NULL || size->distance < best->distance)) {
                best = size;
            }
        }
    }
    return best;
}

/* ---- race ------------------------------------------------------------------------------------ */

/* Stores a trial. If the archive is locked, the trial is written during the run that follows or
   when the archive is closed. Otherwise the trial's environment and sources are stored as well,
   because perhaps no run of this implementation will ever store them. */
static ak_status keep_trial(ak_archive *archive, ak_trial *trial, const candidate *c,
                            const chooser *ch, ak_error *err)
{
    const ak_archive_patience patience = {.cancel = ch->cancel};
    ak_status status = ak_archive_defer(archive, &patience, err);
    if (status == AK_OK) {
        status = ak_archive_add_trial(archive, trial, err);
        if (status == AK_OK && ak_archive_waiting(archive) == 0) {
            (void)ak_store_need_environment(archive, c->environment, c->environment_json, NULL);
            ak_session_keep_sources(c->task, archive);
        }
        ak_archive_undefer(archive);
    }
    return status;
}

static ak_status submit_default(ak_session *session, const candidate *c, ak_error *err)
{
    ak_job job = {.kind = AK_JOB_TRIAL,
                  .id = session->next_job++,
                  .task = c->task == session->task ? NULL : c->task,
                  .specialised = true};
    ak_space_default(&job.config, c->task->space);
    return ak_pool_submit(session->pool, &job, err);
}

/* Archives the trial of a default, and keeps its cost or the reason for its failure. */
static ak_status take_default(candidate *c, ak_trial *trial, const ak_session *session,
                              const chooser *ch, ak_archive *archive, ak_error *err)
{
    ak_config config;
    ak_session own = *session; /* a copy for the task of this implementation */
    own.task = c->task;
    memcpy(own.environment, c->environment, sizeof own.environment);
    ak_space_default(&config, c->task->space);
    AK_DO(ak_session_complete_trial(trial, &own, &config, NULL, err));
    AK_DO(ak_copy_text(&trial->strategy, PROPOSED_BY, err));
    AK_DO(archive == NULL ? AK_OK : keep_trial(archive, trial, c, ch, err));
    if (trial->status == AK_TRIAL_OK) {
        c->cost = ak_trial_cost(trial);
    } else {
        tell_why(c->why, trial);
    }
    return AK_OK;
}

/* Measures the defaults of list[0..count) that have no cost yet, one after the other. */
static ak_status try_defaults(candidate *list, size_t count, ak_session *session, const chooser *ch,
                              ak_archive *archive, ak_error *err)
{
    AK_AT_END(ak_result_clear) ak_result result = {0};
    const uint64_t first = session->next_job;
    size_t sent[CANDIDATES_MAX], sent_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (list[i].cost <= 0) {
            AK_DO(submit_default(session, &list[i], err));
            sent[sent_count++] = i;
        }
    }
    for (size_t i = 0; i < sent_count; i++) {
        AK_DO(ak_session_wait(&result, session, first, sent_count, err));
        candidate *c = &list[sent[result.id - first]];
        AK_DO(take_default(c, &result.trial, session, ch, archive, err));
        ak_result_clear(&result);
    }
    return AK_OK;
}

/* Measures the defaults of the implementations list[0..count) by the workers of one session. A
   default that fails is tried once more, because a busy machine can cause the failure. */
static ak_status run_defaults(candidate *list, size_t count, const chooser *ch, ak_archive *archive,
                              ak_error *err)
{
    AK_AT_END(ak_session_close) ak_session session = {0};
    const ak_task *others[CANDIDATES_MAX];
    for (size_t i = 1; i < count; i++) {
        others[i - 1] = list[i].task;
    }
    const ak_pool_options options = {.compile_workers = (int)count,
                                     .others = others,
                                     .other_count = count - 1,
                                     .cancel = ch->cancel};
    ak_status status = ak_session_open(&session, list[0].task, &options, err);
    for (int i = 0; status == AK_OK && i < 2; i++) {
        status = try_defaults(list, count, &session, ch, archive, err);
    }
    return status;
}

/* ---- choice ---------------------------------------------------------------------------------- */

static size_t fastest(const chooser *ch)
{
    size_t best = 0;
    for (size_t i = 1; i < ch->count; i++) {
        double ms = ch->list[i].cost;
        if (ms > 0 && (ch->list[best].cost <= 0 || ms < ch->list[best].cost)) {
            best = i;
        }
    }
    return best;
}

static const char *name_of(const candidate *c)
{
    return c->task->implementation->name;
}

/* Prints the cost in the unit of the objective. */
static void put_cost(ak_buf *out, const candidate *c)
{
    ak_objective_print(out, c->task->objective, c->cost);
}

/* Appends the results of the candidates other than the winner. */
static void put_others(ak_buf *out, const chooser *ch, size_t winner, bool raced)
{
    for (size_t i = 0; i < ch->count; i++) {
        const candidate *c = &ch->list[i];
        if (i == winner) {
            continue;
        }
        if (c->cost <= 0 && c->why[0] == 0) {
            ak_buf_print(out, ", nothing is known of %s", name_of(c));
        } else if (c->cost <= 0) {
            ak_buf_print(out, ", %s %s failed (%s)", raced ? "that of" : "the default of",
                         name_of(c), c->why);
        } else if (raced) {
            ak_buf_print(out, ", that of %s ", name_of(c));
            put_cost(out, c);
        } else {
            ak_buf_print(out, ", %s ", name_of(c));
            put_cost(out, c);
            ak_buf_print(out, " (of %zu)", c->trials);
        }
    }
}

static void choose_by_archive(size_t *out, ak_buf *reason, chooser *ch, const known *at)
{
    for (size_t i = 0; i < ch->count; i++) {
        const known *k = known_at(&ch->list[i], at->size);
        ch->list[i].cost = k == NULL ? 0 : k->cost;
        ch->list[i].trials = k == NULL ? 0 : k->trials;
        (void)snprintf(ch->list[i].why, sizeof ch->list[i].why, "%s", k == NULL ? "" : k->why);
    }
    *out = fastest(ch);
    const candidate *won = &ch->list[*out];
    ak_buf_print(reason, "by the archive: %s has ", name_of(won));
    put_cost(reason, won);
    ak_buf_print(reason, " (best of %zu trial%s)", won->trials, ak_plural(won->trials));
    put_others(reason, ch, *out, false);
    if (at->distance > 0) {
        ak_buf_print(reason, ", at the near size %s", at->size);
    }
}

static ak_status choose_by_race(size_t *out, ak_buf *reason, chooser *ch, ak_archive *archive,
                                ak_error *err)
{
    const ak_backend_ops *backend = NULL;
    AK_DO(ak_backend_find(&backend, ch->list[0].task->backend, err));
    const bool apart = backend->is_cpu || ch->list[0].task->launcher != NULL;
    for (size_t i = 0, group = apart ? 1 : ch->count; i < ch->count; i += group) {
        AK_DO(run_defaults(&ch->list[i], group, ch, archive, err));
    }
    *out = fastest(ch);
    const candidate *won = &ch->list[*out];
    if (won->cost > 0) {
        ak_buf_print(reason, "by measuring the defaults: that of %s has ", name_of(won));
        put_cost(reason, won);
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
    for (size_t i = 0; i < ch->count; i++) {
        candidate *c = &ch->list[i];
        AK_DO(ak_session_environment(c->environment, &c->environment_json, c->task, err));
        ak_session_rename(c->task, archive, c->environment, c->environment_json);
        AK_DO(archive == NULL ? AK_OK : ask_archive(c, archive, err));
    }
    const known *at = nearest(ch, ch->count);
    if (at == NULL && !race) {
        at = nearest(ch, 1); /* results of some candidates are better than none */
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

/* Collects up to CANDIDATES_MAX implementations that can do the task of `first`, which becomes the
   first candidate. Takes ownership of `first`, even if it fails. */
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
        /* An implementation in Triton takes part only if the user names it, because starting Python
           with Triton takes seconds. */
        if (strcmp(name, first->implementation->name) != 0 &&
            !ak_implementation_is_triton(&first->problem->implementations[i]) &&
            ak_task_open(&task, &other, NULL) == AK_OK) {
            ch->list[ch->count++].task = task;
        }
    }
    return AK_OK;
}

static void chooser_clear(chooser *ch)
{
    for (size_t i = 0; i < ch->count; i++) {
        ak_task_close(ch->list[i].task);
        ak_free(ch->list[i].environment_json);
    }
    ak_free(ch->list);
}

ak_status ak_task_choose(ak_task **out, const ak_task_spec *spec, ak_archive *archive, bool race,
                         const volatile int *cancel, ak_error *err)
{
    ak_task *first = NULL;
    AK_AT_END(chooser_clear) chooser ch = {.cancel = cancel};
    size_t chosen = 0;
    AK_AT_END(ak_buf_free) ak_buf reason = AK_BUF(4096);
    AK_DO(ak_task_open(&first, spec, err));
    if (spec->implementation != NULL || first->recorded ||
        ak_problem_runnable(first->problem, NULL) != AK_OK) {
        *out = first;
        return AK_OK;
    }
    AK_DO(gather(&ch, first, spec, err));
    if (ch.count > 1) {
        AK_DO(choose(&chosen, &reason, &ch, archive, race, err));
        AK_DO(ak_buf_take(&ch.list[chosen].task->reason, &reason, err));
    }
    AK_GIVE(out, ch.list[chosen].task);
    return AK_OK;
}
