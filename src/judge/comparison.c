#include "judge/comparison.h"

#include "judge/loaded.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "measure/verdict.h"

#define COMPARISON_ROUNDS_MAX 256
/* A group of rounds is planned to have this many batches of each candidate. */
#define COMPARISON_GROUP_ROUNDS 8
/* At most this share of a comparison's time may go into new processes. */
#define COMPARISON_RENEWAL 0.2
/* A comparison gets its extra time if more than this share of its rounds were disturbed. */
#define COMPARISON_DISTURBED      0.25
#define COMPARISON_ITERATIONS_MAX 1000000
/* A batch that is shorter than planned by this factor is replaced by one of more calls. */
#define COMPARISON_SHORT 4
/* Rounds of calls on unseen inputs go on for at most this share of the comparison's time once each
   group has one. */
#define COMPARISON_UNSEEN 0.25

void ak_baseline_info_clear(ak_baseline_info *info)
{
    AK_FREE_ALL(info->name, info->title, info->version, info->note);
    *info = (ak_baseline_info){0};
}

void ak_baseline_info_free(ak_baseline_info *list, size_t count)
{
    for (size_t i = 0; list != NULL && i < count; i++) {
        ak_baseline_info_clear(&list[i]);
    }
    ak_free(list);
}

void ak_comparison_entry_clear(ak_comparison_entry *entry)
{
    AK_FREE_ALL(entry->reason, entry->version, entry->samples_ms, entry->waited, entry->joules,
                entry->costs);
    *entry = (ak_comparison_entry){0};
}

typedef struct comparison {
    ak_evaluator *e;
    ak_loaded loaded[AK_JUDGED_MAX];
    uint32_t iterations[AK_JUDGED_MAX];
    double *samples[AK_JUDGED_MAX]; /* COMPARISON_ROUNDS_MAX values each */
    double *waited[AK_JUDGED_MAX];
    double *joules[AK_JUDGED_MAX]; /* NULL unless the objective needs the energy */
    bool waits_known[AK_JUDGED_MAX];
    ak_conditions conditions[AK_JUDGED_MAX];
    const ak_protocol *protocol;
    size_t count, rounds, disturbed;
    int64_t batch_ns;   /* planned time of a batch */
    bool damaged;       /* a candidate has changed inputs: they are checked after each batch */
    int64_t renewal_ns; /* about the time that new processes for all candidates take */
} comparison;

static bool alive(const comparison *d, size_t i)
{
    return d->loaded[i].outcome.status == AK_TRIAL_OK;
}

/* Returns whether a candidate may be loaded anew. On other devices than the CPU a library may not:
   it would lose what it has chosen and compiled. */
static bool renewable(const comparison *d, size_t i)
{
    return alive(d, i) && (d->loaded[i].candidate->artifact != NULL || d->e->backend->is_cpu);
}

/* Judges the latest batch of a candidate, unless the block holds what several runs in place have
   left: the reference has the result of a single run. */
static ak_status judge_some(comparison *d, size_t i, ak_stage *stage, ak_error *err)
{
    ak_loaded *r = &d->loaded[i];
    bool whole = !ak_problem_works_in_place(stage->task->problem) || d->iterations[i] == 1 ||
                 r->outcome.alone;
    return alive(d, i) && whole ? ak_loaded_judge(r, stage, true, err) : AK_OK;
}

/* Finds by the latest batch how many iterations make a batch of the planned time. */
static void size_batch(comparison *d, size_t i)
{
    double each = (double)d->loaded[i].outcome.ns / d->iterations[i];
    double wanted = (double)d->batch_ns / (each > 1.0 ? each : 1.0);
    wanted = wanted > COMPARISON_ITERATIONS_MAX ? COMPARISON_ITERATIONS_MAX : wanted;
    d->iterations[i] = wanted < 1.0 ? 1 : (uint32_t)wanted;
}

/* Loads and checks a candidate and finds how many iterations make a batch. */
static ak_status enter(comparison *d, size_t i, const ak_judge_candidate *candidate,
                       int64_t timeout_ns, ak_error *err)
{
    ak_loaded *r = &d->loaded[i];
    int64_t begin = ak_clock_ns();
    d->iterations[i] = 1;
    AK_DO(ak_loaded_open(r, d->e, candidate, timeout_ns, err));
    int64_t loaded = ak_clock_ns();
    if (alive(d, i)) {
        AK_DO(candidate->artifact != NULL ? ak_loaded_check_usual(r, err)
                                          : ak_loaded_check_library(r, err));
    }
    /* There are two passes because the first estimate comes from a cold run. */
    for (int pass = 0; alive(d, i) && pass < 2; pass++) {
        ak_stage *own = ak_evaluator_last_set(d->e); /* inputs as in the first batch of a trial */
        AK_DO(ak_loaded_change(r, pass == 0, err));
        AK_DO(alive(d, i) ? ak_loaded_watched(r, own, d->iterations[i], err) : AK_OK);
        AK_DO(judge_some(d, i, own, err));
        if (alive(d, i)) {
            size_batch(d, i);
            d->renewal_ns += pass == 0 && renewable(d, i) ? loaded - begin + r->outcome.ns : 0;
        }
    }
    return ak_loaded_end_turn(r, true, err);
}

/* Does what the protocol demands before a batch that counts. */
static ak_status rest_and_warm_up(comparison *d, size_t i, ak_error *err)
{
    if (d->protocol->rest_ns > 0) {
        ak_clock_sleep_ns(d->protocol->rest_ns);
    }
    return d->protocol->warm_runs == 0 ? AK_OK
                                       : ak_loaded_watched(&d->loaded[i], ak_evaluator_draw(d->e),
                                                           d->protocol->warm_runs, err);
}

/* Runs candidates in turns until the device has worked for as long as the protocol demands; these
   batches do not count. */
static ak_status lead_in(comparison *d, ak_error *err)
{
    int64_t end = ak_clock_ns() + d->protocol->lead_in_ns;
    for (size_t i = 0, idle = 0;
         d->protocol->lead_in_ns > 0 && idle < d->count && ak_clock_ns() < end;
         i = (i + 1) % d->count) {
        idle = alive(d, i) ? 0 : idle + 1;
        if (alive(d, i)) {
            AK_DO(ak_loaded_watched(&d->loaded[i], ak_evaluator_draw(d->e), d->iterations[i], err));
            AK_DO(ak_loaded_end_turn(&d->loaded[i], false, err));
        }
    }
    return AK_OK;
}

/* Restores inputs that another candidate has changed, so that the next one is not blamed for it.
   From then on the inputs are checked after each batch, which finds the culprit. */
static void mend(comparison *d)
{
    d->damaged = ak_evaluator_mend_inputs(d->e) || d->damaged;
}

/* May exchange the contents of the inputs between rounds (ak_loaded_change). All candidates of a
   round get the same contents. */
static ak_status change_for_round(comparison *d, ak_error *err)
{
    for (size_t i = 0; i < d->count; i++) {
        if (alive(d, i)) {
            return ak_loaded_change(&d->loaded[i], false, err);
        }
    }
    return AK_OK;
}

/* Runs a batch that counts. The first calls of a kernel can be much slower than later ones, so a
   batch that turns out to be far too short is replaced by one of more calls. */
static ak_status counted_batch(comparison *d, size_t i, ak_stage *stage, ak_error *err)
{
    ak_loaded *r = &d->loaded[i];
    for (;;) {
        ak_conditions before = {0};
        AK_LOADED_DO(r, rest_and_warm_up(d, i, err));
        ak_evaluator_conditions(&before, d->e); /* drops conditions from the warm-up */
        r->weigh = d->joules[i] != NULL;
        ak_status status = ak_loaded_watched(r, stage, d->iterations[i], err);
        r->weigh = false;
        if (status != AK_OK || !alive(d, i) || r->outcome.ns >= d->batch_ns / COMPARISON_SHORT ||
            d->iterations[i] == COMPARISON_ITERATIONS_MAX) {
            return status;
        }
        size_batch(d, i);
    }
}

/* Draws the order in which the candidates run in a round. */
static void draw_order(size_t order[AK_JUDGED_MAX], comparison *d)
{
    for (size_t i = 0; i < d->count; i++) {
        size_t j = ak_rng_below(&d->e->rng, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
}

/* Keeps the time of a call in this round and the share of it for which threads waited. Returns
   whether that disturbed the round. */
static bool keep_time(comparison *d, size_t i, uint32_t calls)
{
    const ak_outcome *outcome = &d->loaded[i].outcome;
    const bool known = outcome->waits_known && outcome->ns > 0;
    double *waited = &d->waited[i][d->rounds];
    d->samples[i][d->rounds] = (double)outcome->ns / 1e6 / (double)calls;
    *waited = known ? (double)outcome->waited_ns / (double)outcome->ns : 0;
    d->waits_known[i] = d->waits_known[i] || known;
    return *waited > AK_VERDICT_DISTURBED;
}

static ak_status one_round(comparison *d, ak_error *err)
{
    size_t order[AK_JUDGED_MAX];
    ak_conditions before = {0};
    AK_DO(change_for_round(d, err));
    /* All candidates run on the same stage, because where inputs lie makes a difference. */
    ak_stage *stage = ak_evaluator_draw(d->e);
    bool disturbed = false;
    ak_evaluator_conditions(&before, d->e); /* drops conditions from before the round */
    draw_order(order, d);
    for (size_t k = 0; k < d->count; k++) {
        size_t i = order[k];
        if (!alive(d, i)) {
            continue;
        }
        const bool judged = ak_rng_below(&d->e->rng, AK_JUDGE_EVERY) == 0;
        if (judged || d->damaged) {
            mend(d);
        }
        AK_DO(counted_batch(d, i, stage, err));
        ak_evaluator_conditions(&d->conditions[i], d->e);
        if (!alive(d, i)) {
            AK_DO(ak_loaded_end_turn(&d->loaded[i], false, err));
            continue;
        }
        disturbed = keep_time(d, i, d->iterations[i]) || disturbed;
        if (d->joules[i] != NULL) {
            d->joules[i][d->rounds] = d->loaded[i].joules / (double)d->iterations[i];
        }
        AK_DO(judged ? judge_some(d, i, stage, err) : AK_OK);
        AK_DO(ak_loaded_end_turn(&d->loaded[i], d->damaged, err));
    }
    d->rounds++;
    d->disturbed += disturbed ? 1 : 0;
    return AK_OK;
}

/* Gives the version that a library reports once it has run; NULL if it reports none. */
static ak_status tell_version(char **out, const ak_loaded *r, ak_error *err)
{
    const ak_backend_ops *backend = r->e->backend;
    char text[AK_VERSION_BYTES] = "";
    if (r->candidate->baseline != NULL && backend->baseline_version != NULL) {
        backend->baseline_version(text, sizeof text, r->e->device, r->candidate->baseline);
    }
    return ak_copy_text(out, text[0] == 0 ? NULL : text, err);
}

static double seconds_since(int64_t begin_ns)
{
    return (double)(ak_clock_ns() - begin_ns) / 1e9;
}

/* Checks the result of a candidate or library once more after the last round. Of a candidate also
   checks whether calls on unseen inputs confirm the times of its batches, and its results on inputs
   with few terms. */
static ak_status confirm(comparison *d, size_t i, ak_error *err)
{
    ak_loaded *r = &d->loaded[i];
    ak_stage *own = ak_evaluator_last_set(d->e);
    const bool whole = !ak_problem_works_in_place(own->task->problem) || r->outcome.alone;
    mend(d);
    if (!alive(d, i)) {
        return AK_OK;
    }
    ak_evaluator_wipe(d->e);
    r->last = true;
    AK_DO(ak_loaded_batch(r, own, whole ? d->iterations[i] : 1, err));
    r->last = false;
    AK_DO(alive(d, i) ? ak_loaded_judge(r, own, false, err) : AK_OK);
    if (alive(d, i) && r->candidate->artifact != NULL) {
        ak_stats stats;
        ak_stats_of(&stats, d->samples[i], d->rounds);
        AK_DO(ak_loaded_alone(r, stats.min, d->iterations[i], err));
        AK_DO(alive(d, i) ? ak_few_check(r, err) : AK_OK);
    }
    return ak_loaded_end_turn(r, true, err);
}

/* Returns for how many candidates only the times of calls on unseen inputs count. */
static size_t unconfirmed(const comparison *d)
{
    size_t count = 0;
    for (size_t i = 0; i < d->count; i++) {
        count += alive(d, i) && ak_loaded_unseen_counts(&d->loaded[i], d->samples[i], d->rounds);
    }
    return count;
}

/* Has every candidate that has not failed make one call on the same contents, which its process has
   not seen. A call on seen contents wakes the processor before each. */
static ak_status unseen_round(comparison *d, ak_error *err)
{
    size_t order[AK_JUDGED_MAX];
    ak_stage *fresh = &d->e->fresh[0], *seen = ak_evaluator_draw(d->e);
    AK_DO(ak_unseen_refresh(d->e, fresh, err));
    draw_order(order, d);
    for (size_t k = 0; k < d->count; k++) {
        ak_loaded *r = &d->loaded[order[k]];
        if (!alive(d, order[k])) {
            continue;
        }
        ak_evaluator_wipe(d->e);
        AK_DO(ak_loaded_watched(r, seen, 1, err));
        AK_DO(alive(d, order[k]) ? ak_unseen_call(r, fresh, err) : AK_OK);
        if (alive(d, order[k])) {
            (void)keep_time(d, order[k], 1);
        }
        AK_DO(ak_loaded_end_turn(r, true, err));
    }
    d->rounds++;
    return AK_OK;
}

/* Multiplies the energies of the batches by `times`, for each of `rounds` rounds: the energy of a
   call grows like its time. */
static void stretch_energy(double *joules, size_t rounds, double times, size_t batches)
{
    for (size_t k = rounds; joules != NULL && k-- > 0;) {
        joules[k] = joules[k % batches] * times;
    }
}

/* Replaces the times of all candidates and libraries by times of calls on unseen inputs: if one
   candidate has only such times, the others' batch times are not comparable with them. */
static ak_status measure_unseen(ak_comparison_course *course, comparison *d,
                                const ak_comparison_plan *plan, ak_error *err)
{
    const int64_t begin = ak_clock_ns();
    const size_t batches = d->rounds;
    double usual_ms[AK_JUDGED_MAX];
    ak_stats stats;
    ak_pressure_mark from, to;
    assert(d->e->fresh_count > 0); /* without fresh contents no candidate has such times */
    for (size_t i = 0; i < d->count; i++) {
        ak_stats_of(&stats, d->samples[i], batches);
        usual_ms[i] = stats.median;
        d->waits_known[i] = false;
    }
    ak_pressure_take(&from);
    d->rounds = 0;
    do {
        for (size_t g = 0; g < AK_COMPARISON_GROUPS; g++) {
            AK_DO(unseen_round(d, err));
        }
    } while (d->rounds + AK_COMPARISON_GROUPS <= AK_UNSEEN_MAX &&
             seconds_since(begin) < COMPARISON_UNSEEN * plan->seconds);
    ak_pressure_take(&to);
    course->during = ak_pressure_between(&from, &to);
    course->after = ak_pressure_look();
    course->group = d->rounds / AK_COMPARISON_GROUPS;
    for (size_t i = 0; i < d->count; i++) {
        if (alive(d, i)) {
            ak_stats_of(&stats, d->samples[i], d->rounds);
            d->loaded[i].unseen_times = stats.median / usual_ms[i];
            stretch_energy(d->joules[i], d->rounds, d->loaded[i].unseen_times, batches);
        }
    }
    return AK_OK;
}

static ak_status leave(ak_comparison_entry *out, comparison *d, size_t i, ak_error *err)
{
    ak_loaded *r = &d->loaded[i];
    AK_DO(tell_version(&out->version, r, err));
    out->status = r->outcome.status;
    if (out->status != AK_TRIAL_OK) {
        return ak_copy_text(&out->reason, r->outcome.reason, err);
    }
    out->sample_count = d->rounds;
    AK_GIVE(&out->samples_ms, d->samples[i]);
    AK_GIVE(&out->joules, d->joules[i]);
    if (d->waits_known[i]) {
        AK_GIVE(&out->waited, d->waited[i]);
    }
    out->conditions = d->conditions[i];
    out->overlap =
        d->e->backend->overlap == NULL ? AK_OVERLAP_UNKNOWN : d->e->backend->overlap(r->runnable);
    return ak_loaded_say_unseen(&out->reason, r, err);
}

/* Replaces all entries: names the candidate that lost the device, and has the others fail, too.
   They may be measured again without it. */
static ak_status blame(ak_comparison_entry *out, const comparison *d,
                       const ak_judge_candidate *candidates, ak_error *err)
{
    bool told = true;
    for (size_t i = 0; i < d->count; i++) {
        const ak_outcome *outcome = &d->loaded[i].outcome;
        bool said = outcome->status != AK_TRIAL_OK && outcome->reason[0] != 0;
        ak_comparison_entry_clear(&out[i]);
        out[i].culprit = &candidates[i] == d->e->culprit;
        out[i].status = out[i].culprit && said ? outcome->status : AK_TRIAL_CRASHED;
        out[i].reason = ak_strdup(!out[i].culprit ? "another candidate lost the device"
                                  : said          ? outcome->reason
                                                  : "it left the device in an error");
        told = told && out[i].reason != NULL;
    }
    return ak_stored(told, err);
}

/* Runs the first group, whose time shows how many rounds a group can have in `seconds`. */
static ak_status first_group(ak_comparison_course *course, comparison *d, double seconds,
                             ak_error *err)
{
    int64_t begin = ak_clock_ns();
    ak_status status = AK_OK;
    do {
        status = one_round(d, err);
    } while (status == AK_OK && d->rounds < COMPARISON_ROUNDS_MAX / (2 * AK_COMPARISON_GROUPS) &&
             seconds_since(begin) * (double)(d->rounds + 1) / (double)d->rounds < seconds);
    course->group = d->rounds;
    return status;
}

static ak_status one_group(const ak_comparison_course *course, comparison *d, bool fresh,
                           ak_error *err)
{
    for (size_t i = 0; fresh && i < d->count; i++) {
        if (renewable(d, i)) {
            AK_DO(ak_loaded_renew(&d->loaded[i], err));
            AK_DO(ak_loaded_end_turn(&d->loaded[i], false, err));
        }
    }
    for (size_t i = 0; i < course->group; i++) {
        AK_DO(one_round(d, err));
    }
    return AK_OK;
}

static bool was_disturbed(const comparison *d)
{
    return (double)d->disturbed > COMPARISON_DISTURBED * (double)d->rounds;
}

/* Runs AK_COMPARISON_GROUPS groups, and up to as many again if the machine was busy and there is
   extra time. Candidates get new processes before as many groups as COMPARISON_RENEWAL allows. */
static ak_status all_groups(ak_comparison_course *course, comparison *d,
                            const ak_comparison_plan *plan, double entering, ak_error *err)
{
    int64_t begin = ak_clock_ns();
    double renewal = (double)d->renewal_ns / 1e9;
    size_t renewals = AK_COMPARISON_GROUPS - 1;
    while (renewals > 0 && (double)renewals * renewal > COMPARISON_RENEWAL * plan->seconds) {
        renewals--;
    }
    ak_pressure_mark from, to;
    course->before = ak_pressure_look();
    ak_pressure_take(&from);
    double left = plan->seconds - (double)renewals * renewal -
                  (entering < plan->seconds / 2 ? entering : plan->seconds / 2);
    ak_status status = first_group(course, d, left / AK_COMPARISON_GROUPS, err);
    for (size_t g = 1; status == AK_OK && g < 2 * (size_t)AK_COMPARISON_GROUPS; g++) {
        if (g >= AK_COMPARISON_GROUPS) {
            double each = seconds_since(begin) / (double)g;
            if (!was_disturbed(d) ||
                entering + each * (double)(g + 1) > plan->seconds + plan->extra) {
                break;
            }
            course->extended = true;
        }
        bool fresh = g * renewals / (AK_COMPARISON_GROUPS - 1) !=
                     (g - 1) * renewals / (AK_COMPARISON_GROUPS - 1);
        status = one_group(course, d, fresh, err);
    }
    ak_pressure_take(&to);
    course->during = ak_pressure_between(&from, &to);
    course->after = ak_pressure_look();
    return status;
}

ak_status ak_compare_candidates(ak_comparison_entry *out, ak_comparison_course *course,
                                ak_evaluator *e, const ak_comparison_request *request,
                                ak_error *err)
{
    const ak_judge_candidate *candidates = request->candidates;
    const ak_comparison_plan *plan = request->plan;
    const size_t count = request->count;
    assert(count > 0 && count <= AK_JUDGED_MAX);
    comparison *d;
    AK_DO(AK_NEW(d, 1, err));
    int64_t begin = ak_clock_ns();
    const ak_protocol *protocol = plan->protocol;
    double batches = (double)count * AK_COMPARISON_GROUPS * COMPARISON_GROUP_ROUNDS;
    int64_t batch = (int64_t)(plan->seconds * 1e9 / batches);
    batch = batch < protocol->batch_min_ns   ? protocol->batch_min_ns
            : batch > protocol->batch_max_ns ? protocol->batch_max_ns
                                             : batch;
    batch = ak_evaluator_batch_ns(batch);
    const bool weigh = ak_objective_weighs(e->task->objective);
    d->batch_ns = weigh && batch < e->weighing_ns ? e->weighing_ns : batch;
    ak_status status = AK_OK;
    *course = (ak_comparison_course){.group = 1, .before = -1, .during = -1, .after = -1};
    d->e = e;
    d->protocol = protocol;
    d->count = count;
    for (size_t i = 0; i < count; i++) {
        AK_TRY(AK_NEW(d->samples[i], COMPARISON_ROUNDS_MAX, err));
        AK_TRY(AK_NEW(d->waited[i], COMPARISON_ROUNDS_MAX, err));
        AK_TRY(weigh ? AK_NEW(d->joules[i], COMPARISON_ROUNDS_MAX, err) : AK_OK);
        AK_TRY(enter(d, i, &candidates[i], request->timeout_ns, err));
    }
    const double entering = seconds_since(begin);
    AK_TRY(lead_in(d, err));
    AK_TRY(all_groups(course, d, plan, entering, err));
    for (size_t i = 0; i < count; i++) {
        AK_TRY(confirm(d, i, err));
    }
    course->unseen = unconfirmed(d);
    AK_TRY(course->unseen > 0 ? measure_unseen(course, d, plan, err) : AK_OK);
    for (size_t i = 0; i < count; i++) {
        AK_TRY(leave(&out[i], d, i, err));
    }
out:
    if (ak_evaluator_lost(e)) { /* the lost device is the cause of whatever else failed */
        status = blame(out, d, candidates, err);
        course->group = 1;
        course->unseen = 0;
    }
    for (size_t i = 0; i < count; i++) {
        ak_loaded_close(&d->loaded[i]);
        AK_FREE_ALL(d->samples[i], d->waited[i], d->joules[i]);
    }
    ak_free(d);
    return status;
}
