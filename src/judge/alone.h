/*
 * alone.h: decides by the times of calls alone (batches of one call) whether a candidate does all
 * of its work in larger batches. alone_decide.c reads no clock and runs nothing, so tests use
 * invented times; alone.c makes the calls, and cold.c the readings.
 *
 * A call took at most its time by the clock, and at least that time less the time for which its
 * threads, or the one that reads the clock, waited for a processor, as far as that is known. A
 * candidate passes by the upper bound and is rejected by the lower one. On a starved machine the
 * two can be so far apart that neither decides: the finding is then AK_ALONE_UNKNOWN, and the
 * candidate has not passed.
 *
 * If the task has unseen inputs, only calls on these confirm the time of a batch: on inputs that a
 * candidate has seen, it can be fast or slow on purpose, whichever helps it. AK_ALONE_SLOWER does
 * not reject a candidate, because the work of an honest kernel may depend on the data; but its time
 * is then that of calls on unseen inputs, if that is longer.
 *
 * A call on unseen inputs must not count as slow only because its data had to come from memory: the
 * calls of other candidates have that work as well, but the times of their batches do not show it.
 * So calls that seem slow are compared with what a reading of the same arguments takes from the
 * same beginning (cold.c).
 */
#ifndef AK_JUDGE_ALONE_H
#define AK_JUDGE_ALONE_H

#include "judge/loaded.h"

/* Most times of one kind of call that are kept. A look counts at most this many calls on inputs
   that were seen before, and as many after changed results. */
#define AK_ALONE_CALLS 48
/* At least this many of these calls are made if calls on unseen inputs are compared with them. */
#define AK_ALONE_AGAIN_CALLS 24
/* At least this many calls on unseen inputs, or batches on many inputs, decide that their times
   replace those of batches. At least as many readings are made, unless the reader or the candidate
   fails. */
#define AK_ALONE_LEAST 3

/* A call behind another on the same inputs, whose results were changed in between, may take this
   many times as long as a call in a batch. */
#define AK_ALONE_RESULTS_TIMES 1.25

/* The times of some calls, in nanoseconds. Begins as {0}. */
typedef struct ak_alone_calls {
    size_t count, quiet_count;
    double least; /* by the clock */
    double ns[AK_ALONE_CALLS];
    double certain[AK_ALONE_CALLS]; /* without the time for which threads waited, if that is
                                       known */
    double quiet[AK_ALONE_CALLS];   /* calls that no known wait disturbed (ak_outcome_waited) */
} ak_alone_calls;

typedef enum ak_alone_finding {
    AK_ALONE_FINE,
    AK_ALONE_IDLES,  /* a call alone takes longer than a call in a batch */
    AK_ALONE_REUSES, /* a call on unseen inputs takes longer than one on seen inputs */
    AK_ALONE_SLOWER, /* a call on unseen inputs takes longer than one in a batch, but not much
                        longer than one on seen inputs */
    AK_ALONE_UNKNOWN
} ak_alone_finding;

typedef struct ak_alone_limits {
    double call_ns; /* a call alone may take this long */
    double full_ns; /* a call on unseen inputs that takes at most this confirms the batch's time */
    double times;   /* a call on unseen inputs may take this many times as long as one on seen
                       inputs */
    double more_ns; /* plus this time */
    double each_ns; /* what a call takes in a batch: the time that must be confirmed */
    bool batches;   /* the batches had more than one call */
} ak_alone_limits;

/* The times behind a finding: of the calls that it is about (alone_ns), and of the calls that they
   are compared with (other_ns). */
typedef struct ak_alone_evidence {
    double alone_ns, other_ns;
} ak_alone_evidence;

/* Adds the time of the call that had this outcome. */
void ak_alone_add(ak_alone_calls *calls, const ak_outcome *outcome);
/* Decides by calls on unseen inputs (`fresh`, perhaps none) and on seen ones (`again`), and may
   sort their times. Sets *evidence for IDLES, with other_ns 0, and for REUSES; it is 0 for other
   findings. */
ak_alone_finding ak_alone_decide(ak_alone_evidence *evidence, ak_alone_calls *fresh,
                                 ak_alone_calls *again, const ak_alone_limits *limits);
/* Decides only by calls on unseen inputs, each on different ones: FINE if one confirms the time of
   the batch, SLOWER if at least half of them (of AK_ALONE_AGAIN_CALLS or more, nine tenths)
   certainly took longer, else UNKNOWN. May sort the times. */
ak_alone_finding ak_alone_decide_unseen(ak_alone_calls *calls, const ak_alone_limits *limits);

/* What a call of a batch took. Begins as {0}: there is no batch. */
typedef struct ak_alone_batch {
    double ns;      /* by the clock */
    double certain; /* without the time for which threads waited, if that is known */
} ak_alone_batch;
ak_alone_batch ak_alone_batch_of(const ak_outcome *outcome, uint32_t calls);
/* Calls on inputs that were just seen, whose results were all changed in between. Begins as {0}. */
typedef struct ak_alone_results {
    ak_alone_calls calls;
    size_t fast; /* those about as fast as a call in a batch */
    size_t slow; /* those certainly slower */
} ak_alone_results;
/* Adds a call that was made between two batches, or between none. In the batches whose time is to
   be confirmed a call took each_ns. Other programs on the same core halve a processor's speed for
   milliseconds or minutes, and no wait tells, so a call is compared with the batches around it: it
   is fast by the faster of them or by each_ns, and slow by all three. Alone it may take more_ns
   longer, besides AK_ALONE_RESULTS_TIMES. */
void ak_alone_add_result(ak_alone_results *results, const ak_outcome *outcome,
                         ak_alone_batch before, ak_alone_batch after, double each_ns,
                         double more_ns);
/* Decides by these calls: FINE if at least half of them, and AK_ALONE_LEAST, were fast, because not
   all are judged. Once AK_ALONE_CALLS were made, IDLES if nine tenths were slow, and FINE if not
   and one was fast. Else UNKNOWN. Sets *evidence for IDLES, with other_ns 0, and may then sort the
   times. */
ak_alone_finding ak_alone_decide_results(ak_alone_evidence *evidence, ak_alone_results *results);

/* Returns by how many ns a call on unseen inputs may take longer because its data come from memory:
   what calls that only read the arguments certainly took beyond usual_ns, or 0. usual_ns is the
   time of such a call in a batch, plus what a call alone takes longer where memory costs nothing.
   Sorts the times. */
double ak_alone_cold(ak_alone_calls *reads, double usual_ns);

/* Returns the delay that ak_alone_cold gives for readings that take read_ns in a batch and slack_ns
   more alone. A candidate whose call takes less than read_ns in a batch (each_ns) cannot read all
   of the arguments there, so it gets only the share each_ns / read_ns of the delay. With all of it,
   a kernel that replays results would be excused by the time that reading takes on a busy machine,
   which is about the time of an honest kernel that is limited by memory. */
double ak_alone_delay(ak_alone_calls *reads, double read_ns, double slack_ns, double each_ns);

/* Returns whether a kernel, such as one that appends rows to a cache, touches so few of its
   arguments' bytes that a call alone finds little of them in the caches, however they were read
   before. `touched` is what the problem declares; if that is 0, the answer is false. */
bool ak_alone_touches_little(double touched, double bytes);
/* Decides about such a kernel whose calls alone took too long, found->alone_ns: in a batch its data
   lie in the caches, alone in memory. If readings of as many bytes, spread over the
   arguments, took longer than usual_ns by as much (ak_alone_cold), the finding is SLOWER: the
   kernel is not rejected, but only calls on unseen inputs can confirm the time of its batches. Else
   the finding is IDLES, or UNKNOWN if there are too few readings. Sorts the times of the readings.
 */
ak_alone_finding ak_alone_decide_little(const ak_alone_evidence *found, ak_alone_calls *reads,
                                        double usual_ns, const ak_alone_limits *limits);

/* Returns the pause in ns before calls are made again that have decided nothing in `looks` looks,
   which took spent_ns; 0: they are not made again, and the candidate is left unjudged. With `many`,
   a look is one batch on many inputs. */
int64_t ak_alone_pause(int looks, bool many, int64_t spent_ns);

/* ---- cold (cold.c) --------------------------------------------------------------------------- */

/* Measures what it takes to bring the arguments of a call alone from where they are.

   Before a call on unseen inputs the harness reads the arguments, so that they lie in the caches as
   in a batch. Other programs can push them out again before the call begins, or leave no room for
   them. Then the call takes longer than in a batch, although the kernel leaves nothing out there.

   A process in which nothing is loaded tells: its calls only read the arguments, with as many
   threads as the candidate and from the same beginning, by turns with those of the candidate. That
   process has no reason to be slow, so its calls can acquit a candidate, which the candidate's own
   calls on seen inputs cannot. */

typedef struct ak_cold {
    ak_loaded *r;
    ak_runnable *reader; /* NULL: none, because it failed or was not opened */
    double batch_ns;     /* what a call takes in a batch */
    size_t bytes;        /* that a call reads; 0: all of the arguments */
} ak_cold;

/* Starts the process and measures its calls in batches of 2 to `iterations` calls (2 if that is
   less) on the set `seen`. Its calls read `bytes` bytes, in lines at equal distances across all
   arguments; 0: all bytes. There is no reader if the process fails. */
ak_status ak_cold_open(ak_cold *out, ak_loaded *r, ak_stage *seen, uint32_t iterations,
                       size_t bytes, ak_error *err);
/* Makes one call that begins as a call on the unseen contents of a stage does. The reader must be
   open. Closes a reader that fails, which says nothing of the candidate: `out` then has no time. */
ak_status ak_cold_call(ak_outcome *out, ak_cold *c, ak_stage *fresh, ak_error *err);
/* Makes a batch of calls, each on the contents of one of so many stages, that begins as a batch on
   many inputs does. */
ak_status ak_cold_many(ak_outcome *out, ak_cold *c, ak_stage *many, size_t calls, ak_error *err);
/* Does nothing if it was not opened. */
void ak_cold_close(ak_cold *c);

/* ---- calls on many inputs (alone_many.c), and what they share with calls alone (alone.c) ------
 */

/* A call alone may take this many times as long as a call in a batch, plus ak_alone_slack ns,
   because it begins with its data in other caches and its time is measured less exactly. */
#define AK_ALONE_TIMES 2.5
double ak_alone_slack(const ak_loaded *r);
/* Looks at a candidate, which go on until one decides. */
typedef struct ak_alone_looks {
    int64_t begin_ns;
    uint32_t iterations; /* of the candidate's batches */
    bool many;           /* a look is one batch on many inputs */
    int count;           /* of those that have decided nothing */
} ak_alone_looks;
/* Prepares the next look after one that has decided nothing. Waits before that unless that one
   `told` something, because other programs may end. Starts a new process, to which all inputs are
   new, and runs a batch on each set of inputs: there the candidate can again do what it is
   suspected of. Leaves the candidate unjudged if no look follows (ak_alone_pause). */
ak_status ak_alone_again(ak_alone_looks *looks, ak_loaded *r, bool told, ak_error *err);

/* Tests whether a short kernel, about which a call alone tells little, does all of the calls of a
   batch; if not, r->unseen_ms has the times that count. The fastest of its usual batches, of
   `iterations` calls, took each_ms for a call. Does nothing for other kernels and libraries. */
ak_status ak_alone_many(ak_loaded *r, double each_ms, uint32_t iterations, ak_error *err);

#endif
