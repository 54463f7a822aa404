/*
 * alone.h: decides by the times of calls alone whether a candidate has done all of its work in a
 * batch. Reads no clock and runs nothing, so that tests use invented times; alone.c makes the
 * calls.
 *
 * A call took at most its time by the clock, and at least that time less the time for which its
 * threads, or the one that reads the clock, waited for a processor. A candidate passes by the upper
 * bound and is rejected by the lower one. On a starved machine the two can be so far apart that
 * neither decides: the finding is then AK_ALONE_UNKNOWN, which is no acquittal.
 *
 * Only calls on unseen inputs confirm the time of a batch: whatever a candidate does on inputs that
 * it has seen, it can do on purpose, in the calls for which it helps. AK_ALONE_SLOWER is no
 * accusation, because the work of an honest kernel may depend on the data; but the time that counts
 * is then that of calls on unseen inputs.
 */
#ifndef AK_JUDGE_ALONE_H
#define AK_JUDGE_ALONE_H

#include "judge/loaded.h"

/* At most this many calls are made on inputs that were seen before. */
#define AK_ALONE_CALLS 48
/* At least this many, if calls on unseen inputs are compared with them. */
#define AK_ALONE_AGAIN_CALLS 24

/* The times of some calls, in nanoseconds. Begins as {0}. */
typedef struct ak_alone_calls {
    size_t count, quiet_count;
    double least; /* by the clock */
    double ns[AK_ALONE_CALLS];
    double certain[AK_ALONE_CALLS]; /* without the time for which threads waited */
    double quiet[AK_ALONE_CALLS];   /* calls during which no thread waited */
} ak_alone_calls;

typedef enum ak_alone_finding {
    AK_ALONE_FINE,
    AK_ALONE_IDLES,  /* a call alone takes longer than a call in a batch */
    AK_ALONE_REUSES, /* a call on unseen inputs takes longer than one on seen inputs */
    AK_ALONE_SLOWER, /* it takes longer than a call in a batch, and some on seen inputs do so too */
    AK_ALONE_UNKNOWN
} ak_alone_finding;

typedef struct ak_alone_limits {
    double call_ns; /* a call alone may take this long */
    double full_ns; /* one on unseen inputs that takes at most this confirms the batch's time */
    double times;   /* a call on unseen inputs may take so many times as long as one on seen ones */
    double more_ns; /* and this much longer */
    bool batches;   /* the batches had more than one call */
} ak_alone_limits;

/* What the two kinds of calls took: those of one kind that the finding is about, and those that it
   compares them with. */
typedef struct ak_alone_evidence {
    double alone_ns, other_ns;
} ak_alone_evidence;

/* Adds the call of an outcome. */
void ak_alone_add(ak_alone_calls *calls, const ak_outcome *outcome);
/* Decides. Sorts the times. *evidence has a meaning unless the finding is FINE or UNKNOWN; other_ns
   is 0 for IDLES. */
ak_alone_finding ak_alone_decide(ak_alone_evidence *evidence, ak_alone_calls *fresh,
                                 ak_alone_calls *again, const ak_alone_limits *limits);
/* Decides by calls on unseen inputs alone, each on other ones: FINE if one confirms the time of the
   batch, SLOWER if most certainly take longer, else UNKNOWN. */
ak_alone_finding ak_alone_decide_unseen(ak_alone_calls *calls, const ak_alone_limits *limits);

#endif
