/*
 * contents.h: what the arguments hold while a candidate is timed on a device where they stay at
 * fixed addresses, so that a candidate that reuses earlier results is wrong or slow. The backends
 * cuda and opencl share it. After the sets of arguments follow two spare places: one has the *own*
 * contents, which the harness has uploaded and can judge; the other has the *other* contents, the
 * same numbers mixed (mixed.h): each element comes from one of two rows at random distances, so
 * that no run has seen any of the rows. Integers are mixed only if each is drawn by itself, because
 * others may be indices. Floats that are not drawn one by one (those of files, or spread ones)
 * change places by whole rows.
 *
 *   - During a batch most sets hold other contents. One set, drawn at random, is judged: it holds
 *     the own contents, or gets them after the clock has stopped and is run once more.
 *
 *   - Outputs are poisoned before the candidate's first batch. After that they hold what the
 *     candidate has written there for other contents, which looks right and is wrong. So a kernel
 *     cannot see whether an output is already done.
 *
 *   - After some batches the sets that took part, or after a single run the judged one, get
 *     contents that no run has seen, and one run on each is timed, each by itself if sets share
 *     inputs. If such runs take longer than those of the batch several times in a row, the batch
 *     did not do all of its work.
 *
 *   - If a run may begin early and the sets share no inputs, a run on the own contents after the
 *     clock has stopped begins while these are still being written. A kernel that does not wait for
 *     them gives a wrong result.
 *
 *   - If the launch asks for it, one set with other contents, from the batch or never seen before,
 *     is set aside for the judge, with what a run has written there. So a candidate must also be
 *     right where the harness has no result, and cannot leave out work on other contents.
 *
 * A backend says how its memory is copied and its runs are timed (ak_contents_ops); what is copied
 * and timed, and which set is judged, is decided here. The functions of a backend return 0 or its
 * driver's code, which ends the batch.
 */
#ifndef AK_BACKEND_LAUNCH_CONTENTS_H
#define AK_BACKEND_LAUNCH_CONTENTS_H

#include "backend/backend.h"
#include "base/rng.h"
#include "check/guard.h"

/* The spare places. */
typedef enum ak_contents_spare { AK_CONTENTS_OWN, AK_CONTENTS_OTHER } ak_contents_spare;
#define AK_CONTENTS_SPARES 2

typedef struct ak_contents_ops {
    /* How long runs on unseen contents may take: each of them `times` times as long as a run of the
       batch, plus `each_ns`; all of them together `all_ns` more and, where sets share inputs, the
       time of second runs on the same contents. A candidate is rejected if they take longer `tries`
       times in a row. */
    double times, each_ns, all_ns;
    int tries;
    /* Whether the batch is timed again each time that runs on unseen contents took longer; the next
       comparison then uses that time, or 1.5 times the first one if that is less. This is for
       devices that other work slows down. */
    bool repeats;
    /* If the arguments have at most so many bytes, each run of a batch of several has contents that
       no run has seen. Such batches are not compared. */
    size_t fresh_bytes;
    int64_t least_ns; /* shorter batches are not compared with runs on unseen contents */
    unsigned cold;    /* number of longer batches at the beginning that are not compared either */

    /* Copies to both spare places the arguments that the harness has uploaded. */
    int (*begin)(ak_runnable *runnable);
    /* Makes an argument's other contents from its own ones. */
    int (*mix)(ak_runnable *runnable, size_t argument, const ak_mixed *mixed);
    /* Fills a set from a spare place. Without `outputs`, outputs whose rows adjoin stay as they
       are, but their red zones are filled. */
    int (*fill)(ak_runnable *runnable, size_t set, ak_contents_spare from, bool outputs);
    /* Times runs on rotating sets, from number 0 on, or a single run on `set`. */
    int (*time)(int64_t *ns, ak_runnable *runnable, uint32_t runs, size_t set, int64_t timeout_ns);
    /* (optional) Returns the time of the shortest run in the latest timing, in ns; 0: unknown. Each
       run on unseen contents then counts with this time: other work makes some runs longer, and
       none shorter. */
    int64_t (*fastest)(const ak_runnable *runnable);
    /* Copies the set that is judged to where runs on unseen contents do not change it. A run of the
       batch took run_ns. */
    int (*keep)(ak_runnable *runnable, size_t set, double run_ns);
    /* Copies a set to the spare place of the other contents, which are not needed any more. */
    int (*set_aside)(ak_runnable *runnable, size_t set);
    /* (optional) Runs on a set that holds other contents, while the own ones are written to its
       inputs by something that the run must wait for. */
    int (*late)(ak_runnable *runnable, size_t set, int64_t timeout_ns);
    /* (optional) Copies what was kept to where the harness reads it; NULL: `keep` has done so. */
    int (*end)(ak_runnable *runnable);
} ak_contents_ops;

/* What is remembered from batch to batch of a candidate at a shape. A backend sets the first seven
   members, and the others to 0, when it prepares a candidate. */
typedef struct ak_contents {
    const ak_contents_ops *ops;
    ak_runnable *runnable;
    ak_rng *rng;
    size_t sets;        /* more than 1 */
    bool shared;        /* all sets share some inputs, which hold what was filled in last */
    bool early;         /* a run may begin before the work in front of it has ended: `late` may be
                           used */
    bool whole_rows;    /* the device has no code that mixes: rows change places as a whole */
    bool visited;       /* the sets hold what this candidate has written, not poison */
    bool looked;        /* a batch was compared with unseen contents */
    bool waited;        /* a run began while its inputs were written */
    size_t right_set;   /* the set whose outputs are right for the own inputs; SIZE_MAX: none */
    unsigned long_runs; /* batches that were long enough to be compared */
    ak_mixed mixed[AK_ARGUMENTS_MAX]; /* the other contents, as in ak_outcome */
} ak_contents;

/* Runs a candidate's batch at the task's own shape, and leaves for the harness what a run on the
   uploaded inputs has written. Sets out->alone; with launch->aside also out->mixed and, once a set
   is set aside, out->aside; and status and reason if it rejects the candidate. */
int ak_contents_batch(int64_t *ns, ak_contents *contents, const ak_launch *launch, ak_outcome *out);

/* ---- zones (zones.c) ------------------------------------------------------------------------- */

/* The red zones before and after a candidate's workspace on a device (check/guard.h). They
   are painted before each batch, with another key and content each time, and checked after it. A
   backend says how a zone is sent and fetched. */

typedef struct ak_zones {
    ak_guard_stream streams[2];          /* of the zones before and after, as painted */
    unsigned char bytes[AK_GUARD_BYTES]; /* of the zone that is sent or fetched */
    unsigned rounds;
} ak_zones;

/* Sends or fetches the zone on one side of the first `workspace` bytes, from or to `bytes` of
   ak_zones. Returns 0 or the driver's code. */
typedef int (*ak_zone_copy)(ak_device *device, ak_guard_side side, size_t workspace);

/* Paints and sends both zones. Returns 0 or the driver's code. */
int ak_zones_paint(ak_zones *zones, ak_dtype dtype, ak_device *device, size_t workspace,
                   ak_zone_copy send);
/* Gives whether the zones before and after the workspace are unchanged. Returns 0, or the driver's
   code, after which `whole` says nothing. */
int ak_zones_check(bool whole[2], ak_zones *zones, ak_device *device, size_t workspace,
                   ak_zone_copy fetch);

#endif
