/*
 * alone_many.c: tests short kernels, about which a call alone tells little, in a batch in which
 * every call has its own inputs and every output is judged.
 *
 * Such a batch confirms the time of other batches within the factor of calls alone, and the time
 * that a call alone may take longer is only added once. Many inputs do not fit the caches that one
 * set of them fits. So a batch that takes too long is compared with what it takes to read the same
 * arguments in the same manner (cold.c), of which a candidate is granted as much as it can have
 * read in its usual batches.
 */
#include "judge/alone.h"

#include "base/clock.h"
#include "base/instrumented.h"

/* Kernels are tested on many inputs if a call takes at most MANY_TIMES the time that a call alone
   may take longer, with AK_MANY_LEAST calls or more, usually MANY_USUAL or more. The references of
   all of them take at most about MANY_REFERENCES_NS. */
#define MANY_TIMES         4.0
#define MANY_USUAL         4
#define CHEAP_BYTES        ((size_t)1 << 20)
#define MANY_REFERENCES_NS (300 * AK_MS_NS)

/* The calls of a batch, what a call takes in the usual batches, and readings of the arguments. */
typedef struct test {
    size_t calls;
    double each_ns;
    uint32_t iterations; /* of the usual batches */
    bool opened;
    ak_cold cold;
    ak_alone_calls reads;
} test;

/* Returns how many calls a batch on many inputs has, at most many_count: so many that
   AK_ALONE_TIMES the time of usual calls exceeds what a call alone may take longer, or as many as
   CHEAP_BYTES hold. It is fewer if making so many references would take longer than
   MANY_REFERENCES_NS. Of the times that references took the least counts, because a wait must not
   make references look so slow that a short kernel is not tested. */
static size_t calls_on_many(const ak_loaded *r, double each_ns)
{
    const ak_evaluator *e = r->e;
    const size_t cheap = CHEAP_BYTES / (e->own[0].arrays.total + 1);
    const double need = ak_alone_slack(r) / (AK_ALONE_TIMES * each_ns + 1) + 1;
    const double most = (double)MANY_REFERENCES_NS / ((double)e->prepared_ns + 1);
    size_t calls = need < MANY_USUAL      ? MANY_USUAL
                   : need < AK_PLACES_MAX ? (size_t)need
                                          : AK_PLACES_MAX;
    calls = calls > cheap ? calls : cheap;
    calls = calls < e->many_count ? calls : e->many_count;
    return (double)calls < most ? calls : (size_t)most;
}

/* Runs a batch of calls, each on its own inputs, which the process has never seen, and judges every
   output. */
static ak_status batch_on_many(ak_loaded *r, size_t calls, ak_error *err)
{
    ak_evaluator *e = r->e;
    for (size_t i = 0; i < calls; i++) {
        AK_DO(r->many_seen || !e->many[i].ready ? ak_unseen_refresh(e, &e->many[i], err) : AK_OK);
    }
    r->many = r->many_seen = true;
    ak_status status = ak_loaded_batch(r, &e->many[0], (uint32_t)calls, err);
    r->many = false;
    for (size_t i = 0; status == AK_OK && r->outcome.status == AK_TRIAL_OK && i < calls; i++) {
        const ak_outcome outcome = r->outcome;
        status = ak_loaded_judge(r, &e->many[i], false, err);
        r->outcome = r->outcome.status == AK_TRIAL_OK ? outcome : r->outcome;
    }
    e->memory.resident[AK_STAGE_SETS] = NULL;
    return status;
}

/* Reads the arguments of such a batch, and gives by how many ns the caches may delay the
   candidate's batch. */
static ak_status delay_on_many(double *out, test *t, ak_loaded *r, ak_error *err)
{
    ak_outcome outcome;
    if (!t->opened) {
        AK_DO(ak_cold_open(&t->cold, r, ak_evaluator_draw(r->e), t->iterations, 0, err));
        t->opened = true;
    }
    if (t->cold.reader != NULL) {
        AK_DO(ak_cold_many(&outcome, &t->cold, r->e->many, t->calls, err));
        r->e->memory.resident[AK_STAGE_SETS] = NULL;
    }
    if (t->cold.reader != NULL) {
        ak_alone_add(&t->reads, &outcome);
    }
    *out = ak_alone_delay(&t->reads, (double)t->calls * t->cold.batch_ns, ak_alone_slack(r),
                          (double)t->calls * t->each_ns);
    return AK_OK;
}

/* Runs such batches until one is fast enough or AK_ALONE_LEAST, all but the first in new processes,
   are too slow even without waits; the times of these then count. If neither happens, the candidate
   is left unjudged. */
static ak_status confirm(test *t, ak_loaded *r, ak_error *err)
{
    const double limit = (double)t->calls * AK_ALONE_TIMES * t->each_ns + ak_alone_slack(r);
    ak_alone_looks looks = {.begin_ns = ak_clock_ns(), .iterations = t->iterations, .many = true};
    for (;;) {
        double delay = 0;
        AK_DO(batch_on_many(r, t->calls, err));
        const ak_outcome outcome = r->outcome;
        if (outcome.status == AK_TRIAL_OK && (double)outcome.ns > limit) {
            AK_DO(delay_on_many(&delay, t, r, err));
        }
        if (outcome.status != AK_TRIAL_OK || (double)outcome.ns <= limit + delay) {
            r->unseen_count = 0;
            return AK_OK;
        }
        const int64_t waited = outcome.waits_known ? outcome.waited_ns : 0;
        const bool certain = (double)(outcome.ns - waited) > limit + delay;
        if (certain) {
            r->unseen_ms[r->unseen_count++] = (double)outcome.ns / 1e6 / (double)t->calls;
        }
        if (r->unseen_count == AK_ALONE_LEAST) {
            return AK_OK;
        }
        AK_LOADED_DO(r, ak_alone_again(&looks, r, certain, err));
    }
}

ak_status ak_alone_many(ak_loaded *r, double each_ms, uint32_t iterations, ak_error *err)
{
    test t = {.calls = calls_on_many(r, each_ms * 1e6),
              .each_ns = each_ms * 1e6,
              .iterations = iterations};
    if (AK_INSTRUMENTED || t.calls < AK_MANY_LEAST || r->candidate->artifact == NULL ||
        t.each_ns > MANY_TIMES * ak_alone_slack(r)) {
        return AK_OK;
    }
    const ak_status status = confirm(&t, r, err);
    ak_cold_close(&t.cold);
    return status;
}
