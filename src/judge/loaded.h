/*
 * loaded.h: a candidate or library that is loaded on the evaluator's device, and what every trial,
 * check and comparison does with it, one batch at a time. Private to judge/.
 */
#ifndef AK_JUDGE_LOADED_H
#define AK_JUDGE_LOADED_H

#include "base/rng.h"
#include "judge/candidate.h"
#include "judge/stage.h"

/* ---- hidden (hidden.c) ----------------------------------------------------------------------- */

/* Draws shapes that no candidate can know, to check a candidate whose result is to be
   reported. */

/* The arguments of a hidden shape take at most this many bytes. */
#define AK_HIDDEN_BYTES (32.0 * 1024 * 1024)

typedef struct ak_hidden_wish {
    const ak_config *config; /* shapes at which this may run are preferred; NULL: no preference */
    bool only;               /* draw no shape at which `config` may not run */
    bool far;     /* sizes lie anywhere between the smallest and the largest listed ones; else near
                     the task's own if that is affordable */
    size_t bytes; /* limit for the arguments and their red zones; 0: none */
    int64_t ns;   /* time limit; the best shape found by then counts */
} ak_hidden_wish;

/* Draws the sizes of a shape that the problem does not list but that is like the listed shapes.
   Returns false if no such shape is found within the time limit and some thousand attempts, or if
   none may be drawn (inputs from files, or no edge-case shape). */
bool ak_hidden_draw(int64_t *size, const ak_task *task, const ak_hidden_wish *wish, ak_rng *rng);

/* A task has at most this many stages for contents that are new to the process of a candidate. It
   has several if these cost little, so that one disturbance does not decide. */
#define AK_FRESH_MAX 3
/* A batch on many inputs has at least this many calls (alone_many.c). */
#define AK_MANY_LEAST 2
/* At most this many times of calls on unseen inputs are kept. */
#define AK_UNSEEN_MAX 64
/* At most this many hidden shapes are drawn when the device is opened, one for each of the first
   three habits of a fill (inputs.h); only the last is far (hidden_check.c). */
#define AK_HIDDEN_MAX 3
/* One of this many timed batches is judged on average, in addition to the first and the last. */
#define AK_JUDGE_EVERY 8
/* Size of the text with which a library reports its version. */
#define AK_VERSION_BYTES 200

/* The fastest version of a library for the task. */
typedef struct ak_library_choice {
    char *base, *best;
} ak_library_choice;

struct ak_evaluator {
    const ak_backend_ops *backend;
    const ak_task *task;
    ak_device *device;
    ak_reference *reference;
    ak_stage_memory memory;
    ak_stage own[AK_STAGE_SETS];
    size_t sets;
    /* Stages with other inputs for place 0, which are prepared when they are needed. */
    ak_stage fresh[AK_FRESH_MAX];
    size_t fresh_count;
    uint64_t refreshed;  /* how often a fresh stage got new contents */
    int64_t prepared_ns; /* the least time in which a stage got unseen contents; 0: none did */
    /* Stages for a batch each of whose calls has arguments of its own. They lie one behind the
       other, and are prepared when they are needed. */
    ak_stage many[AK_PLACES_MAX];
    size_t many_count;
    ak_stage few; /* own inputs with few terms (few.c), prepared when needed */
    size_t few_count;
    ak_stage_split split;
    ak_stage *edge_cases;
    size_t edge_case_count;
    ak_stage hidden[AK_HIDDEN_MAX];
    size_t hidden_count;
    const ak_stage *far; /* the far one of `hidden`, or NULL */
    /* The far shape that was last drawn for a single candidate, which was not checked at `far`. It
       lies in the place of the edge-case shapes, at `apart`, which has `apart_bytes`. */
    ak_stage fitting;
    size_t fitting_count, apart, apart_bytes;
    uint64_t fittings; /* how many fitting shapes were drawn */
    /* The first stream of inputs that no candidate's author can compute; the others follow. */
    uint64_t secret;
    ak_stage_times preparation;
    ak_rng rng;
    unsigned round;
    size_t block_bytes; /* of the device's memory that the stages share */
    ak_library_choice *choices;
    size_t choice_count, choice_capacity;
    int64_t weighing_ns;               /* shortest batch whose energy is measured; 0: none is */
    const ak_judge_candidate *culprit; /* the candidate that lost the device, or NULL */
    struct {
        int64_t begin_ns, spent_ns; /* since a candidate was loaded last (aside.c) */
    } aside;
    bool unjudged; /* of the latest candidate: the machine was too busy to judge it */
    bool waited;   /* of the latest trial: so few batches were undisturbed by waits for a processor
                      that its time is that of others, too */
};

typedef struct ak_loaded {
    ak_evaluator *e;
    const ak_judge_candidate *candidate;
    ak_runnable *runnable;
    int64_t timeout_ns;
    int threads;        /* that the latest batch asked for; a backend may have fewer */
    ak_outcome outcome; /* result of the latest batch */
    /* For each set of inputs, the shortest time in ns of a call in a batch of several calls; 0:
       none. */
    double each_ns[AK_STAGE_SETS];
    bool unpredicted; /* branch predictors forget the kernel before the next launches */
    bool warmed;      /* the next launch of one call is preceded by another (backend.h) */
    bool unseen;      /* inputs appear only when the kernel is ready for the call */
    bool many;        /* the stage is the first of e->many, and each call has the next of them */
    bool many_seen;   /* this process has seen their contents */
    bool weigh;       /* measure the energy of the batches */
    bool checks;      /* batches are judged in full, so nothing need be set aside */
    bool last;        /* the next batch is the last: judge what it sets aside, if the backend can */
    double joules;    /* energy of the latest batch that was weighed */
    double max_error;
    /* The times of calls on unseen inputs, which replace those of batches if their median is longer
       (ak_loaded_unseen_counts), or the times per call of batches on many unseen inputs; none if
       batches count. */
    double unseen_ms[AK_UNSEEN_MAX];
    size_t unseen_count;
    double unseen_times; /* median of unseen calls over that of batches; 0: batches count */
} ak_loaded;

/* Does what AK_DO does, and returns AK_OK if the candidate `r` has failed by then. */
#define AK_LOADED_DO(r, call)                                                                      \
    do {                                                                                           \
        AK_DO(call);                                                                               \
        if ((r)->outcome.status != AK_TRIAL_OK) {                                                  \
            return AK_OK;                                                                          \
        }                                                                                          \
    } while (0)

/* Loads a candidate. As in all calls here, `outcome` reports what the candidate did; the returned
   status reports failures of everything else. */
ak_status ak_loaded_open(ak_loaded *r, ak_evaluator *e, const ak_judge_candidate *candidate,
                         int64_t timeout_ns, ak_error *err);
void ak_loaded_close(ak_loaded *r);
/* Loads the candidate again, on a CPU in a new process, whose memory lies in other pages, and runs
   it once. Keeps the times and the largest error so far. */
ak_status ak_loaded_renew(ak_loaded *r, ak_error *err);
/* Puts the inputs in place, fills the arguments that are only written (ak_guard_old) and runs
   `iterations` times. The outcome is `invalid` if the configuration has no workspace or threads at
   this shape. */
ak_status ak_loaded_batch(ak_loaded *r, ak_stage *stage, uint32_t iterations, ak_error *err);
/* Does what ak_loaded_batch does, and then checks the red zones, because other candidates run on
   the same memory next. Does not judge the output. */
ak_status ak_loaded_watched(ak_loaded *r, ak_stage *stage, uint32_t iterations, ak_error *err);
/* Checks the red zones of all sets after batches that were not judged. */
ak_status ak_loaded_check_zones(ak_loaded *r, ak_error *err);
/* Ends the turn of a candidate, after which another may run: candidates share their memory, and one
   may damage what belongs to the next. Checks the red zones of all sets of inputs and, in mapped
   memory, the red zones and the gaps between rows of every stage that lies in the block; there also
   the inputs, with `inputs` or if that is cheap or one has integers. This candidate is blamed for
   the first damage that is found. If it has failed already, nothing is checked, but everything is
   repaired; inputs only in mapped memory. */
ak_status ak_loaded_end_turn(ak_loaded *r, bool inputs, ak_error *err);
/* Wipes mapped memory and has everything put in place anew before its next use, so that a candidate
   finds nothing there that another process has left. A candidate can map the whole block, and
   unseen inputs are unseen only by its own process, so one candidate could leave its results for
   another by the same author. For the same reason the places that no launch has used are wiped,
   too: only the candidate knows whether it has written there. 16 MiB take 1 to 3 ms. */
void ak_evaluator_wipe(ak_evaluator *e);
/* If an input in mapped memory was changed, has all inputs restored before their next use, and
   returns true. Blames no candidate. */
bool ak_evaluator_mend_inputs(ak_evaluator *e);
/* Judges the latest batch (ak_stage_judge); libraries get twice the tolerance, and the copy is not
   judged. With `quick`, outputs that equal accepted ones need no comparison, if the host judges. */
ak_status ak_loaded_judge(ak_loaded *r, ak_stage *stage, bool quick, ak_error *err);
/* Runs and judges `rounds` times at a shape, whose inputs come from the random stream `stream`
   unless they were made before. */
ak_status ak_loaded_check_at(ak_loaded *r, ak_stage *stage, uint64_t stream, int rounds,
                             ak_error *err);
/* Checks a library at the task's size. If it has several ways to do the work, checks them in turn
   until one is right: a wrong way must not take part, and must not exclude a right one. */
ak_status ak_loaded_check_library(ak_loaded *r, ak_error *err);
/* Checks a candidate as every trial does: at one edge-case shape of little work, unless the
   candidate supports none or is specialised, and at the task's own. */
ak_status ak_loaded_check_usual(ak_loaded *r, ak_error *err);
/* Sets *out to whether the candidate supports this shape. */
ak_status ak_loaded_allowed(bool *out, const ak_loaded *r, const ak_stage *stage, ak_error *err);
/* If there are two sets of inputs, exchanges their contents now and then, so that what a candidate
   remembers by address is wrong from then on. Contents of more than a few MiB, which take longer to
   move than a batch takes, are exchanged only with `certain`: before the first batch and before the
   calls alone. */
ak_status ak_loaded_change(ak_loaded *r, bool certain, ak_error *err);
/* split.c: finds out once, for e->split, how the problem can be divided. */
ak_status ak_split_find(ak_evaluator *e, ak_error *err);
/* Returns the index of the edge-case shape whose smallest output has the most elements, or
   edge_case_count if there is none. A shape with a size of 1 is left out, because its right result
   can be trivial: row sums are a copy of the input if a row has one element. */
size_t ak_evaluator_largest_edge_case(const ak_evaluator *e);
/* loaded_rows.c: draws as many rows of the stage as the reference computes in some ten
   milliseconds, but at least `least` if there are as many, and at most AK_STAGE_ROWS_MAX; of long
   rows only some columns, if these are separate, too. Takes the whole problem if it is small and
   has no separate rows. AK_UNAVAILABLE: neither is possible, or right results come from files. */
ak_status ak_rows_draw(ak_stage_rows *rows, ak_evaluator *e, const ak_stage *stage, size_t least,
                       ak_error *err);
/* Compares the rows, whose reference has been computed, with what the latest launch has written or,
   with rows->aside, set aside. Skips an output whose reference is not finite or does not fit its
   dtype. */
ak_status ak_rows_judge(ak_loaded *r, const ak_stage_rows *rows, ak_error *err);
/* few.c: `plan` plans the inputs with few terms, if the problem declares such; `check` runs and
   judges a candidate on them, if there are any and the reference can be had for some rows. */
ak_status ak_few_plan(ak_evaluator *e, ak_error *err);
ak_status ak_few_check(ak_loaded *r, ak_error *err);
/* audit.c: for a task one of whose outputs has fewer than AK_SELFTEST_ELEMENTS elements, returns
   AK_INVALID if the tolerance of an output would accept a wrong result: zeros, a copy of an input,
   results that are 1 % too large, each for several draws of the inputs, and, of a larger output,
   what ak_compare_selftest tries. */
ak_status ak_audit(ak_evaluator *e, ak_error *err);
/* exchange.c: returns AK_INVALID if the tolerances would accept a kernel that never reads one of
   its inputs, although the result depends on it, as far as a reference in double shows that at a
   small shape. */
ak_status ak_exchange_inputs(ak_evaluator *e, ak_error *err);
/* aside.c: `wanted` draws whether the next batch sets aside what it writes for contents that the
   harness has no result for; `judge` judges that after the batch, if the reference can be had.
   ak_loaded_batch calls both. `batch` runs one batch more, for which `wanted` is true without a
   draw: whoever has run all batches cannot know that this one follows. It does nothing if the
   backend sets nothing aside. */
bool ak_aside_wanted(ak_loaded *r, const ak_stage *stage);
ak_status ak_aside_judge(ak_loaded *r, const ak_stage *stage, ak_error *err);
ak_status ak_aside_batch(ak_loaded *r, ak_stage *stage, uint32_t iterations, ak_error *err);
/* Compares calls alone with calls in a batch of `iterations`; `each_ms` is the time per call of the
   fastest sample (alone.c). If the machine is too busy to tell, the outcome is `timed_out` and
   e->unjudged is set: nothing is known of the candidate. If calls on unseen inputs take much longer
   than calls in batches, r->unseen_ms has their times. If the times show that the candidate leaves
   out or reuses work, the outcome is `rejected`. On a device that is not a CPU, and in an
   instrumented build, only the results of the calls are judged. */
ak_status ak_loaded_alone(ak_loaded *r, double each_ms, uint32_t iterations, ak_error *err);
/* Returns whether the times of calls on unseen inputs count instead of the batches' times: if there
   are any and their median is longer. */
bool ak_loaded_unseen_counts(const ak_loaded *r, const double *samples_ms, size_t batches);
/* If the times of calls on unseen inputs count, sets *out to a note that says so, which the caller
   frees with ak_free. */
ak_status ak_loaded_say_unseen(char **out, const ak_loaded *r, ak_error *err);

/* weigh.c: measures energy. `ready` learns how often the device's counter moves and sets
   weighing_ns; it fails with one line if there is no counter that this process may read. `tick`
   waits until the counter moves and gives its value, so that two ticks enclose whole steps. `trial`
   weighs a few batches once the times of the trial are known. `times` is the ratio of these times
   to those of its batches (unseen_times), and the energy is taken to grow like the time. */
ak_status ak_weigh_ready(ak_evaluator *e, ak_error *err);
ak_status ak_weigh_tick(double *joules, ak_evaluator *e, ak_error *err);
ak_status ak_weigh_trial(ak_trial *out, ak_loaded *r, double times, ak_error *err);

/* Plans the hidden shapes, in the place of the edge-case shapes at `base` (hidden_check.c). Raises
   the end of the block so far, *end. */
ak_status ak_hidden_plan(size_t *end, ak_evaluator *e, size_t base, ak_error *err);
/* Checks a candidate at the hidden shapes that its conditions allow. If the far one is not among
   them, draws a far shape for this candidate and, if one is found, checks it there. */
ak_status ak_hidden_check(ak_loaded *r, ak_error *err);

/* Plans a stage that shares the place at `base` with others (evaluator.c). Raises *end, the end of
   the block so far, if the stage ends later. */
ak_status ak_evaluator_plan_apart(ak_stage *stage, size_t *end, ak_evaluator *e,
                                  const int64_t *size, size_t base, ak_error *err);
/* Returns whether all inputs are constant and other numbers may replace them (evaluator.c). */
bool ak_evaluator_constants_vary(const ak_task *task);
/* Returns how long a batch, or several, are to last: `usual_ns`, or less if a test asks for that
   (evaluate.c). */
int64_t ak_evaluator_batch_ns(int64_t usual_ns);
/* Visits all stages: those at the task's own shape (own, fresh, many and few), edge cases, hidden
   ones and the fitting one. */
void ak_evaluator_each_stage(ak_evaluator *e, void (*visit)(ak_stage *stage));
/* Draws the inputs of a batch at random, so that a candidate cannot know which ones come next. */
ak_stage *ak_evaluator_draw(ak_evaluator *e);
/* Returns the last set of inputs, for a batch that will be judged. No check before the timing has
   used it, unless there is only one set. */
ak_stage *ak_evaluator_last_set(ak_evaluator *e);
/* Adds the device's conditions (clocks, power, temperature) since the last call to *to. */
void ak_evaluator_conditions(ak_conditions *to, ak_evaluator *e);
/* Returns whether threads of this batch waited for a processor for more than AK_VERDICT_DISTURBED
   of its time; false if waits are not known. */
bool ak_outcome_waited(const ak_outcome *outcome);

/* ---- unseen (unseen.c) ----------------------------------------------------------------------- */

/* Makes calls on contents that the candidate's process has not seen, from which it can have kept
   nothing. Each begins as a call of a batch does: with its inputs in the caches, and with awake
   threads. */

/* Prepares a fresh stage that is not ready with the contents of a random stream. Notes in
   e->prepared_ns what that takes if it is the least so far. */
ak_status ak_unseen_prepare(ak_evaluator *e, ak_stage *stage, uint64_t stream, ak_error *err);
/* Gives a fresh stage contents that no process has seen. */
ak_status ak_unseen_refresh(ak_evaluator *e, ak_stage *stage, ak_error *err);
/* Makes one call on the contents of the stage and judges its result; r->outcome has its time. */
ak_status ak_unseen_call(ak_loaded *r, ak_stage *stage, ak_error *err);

#endif
