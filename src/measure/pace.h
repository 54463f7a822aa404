/*
 * pace.h: how the batches of a comparison follow each other. A device that has rested runs at its
 * highest clock; one that has worked for seconds is held back by power and heat. So the same
 * kernels can rank differently: after a rest the fewest cycles win, under load the fewest joules.
 * NVIDIA's advice for profiling CUTLASS is that clocks settle after about 3 s of products back to
 * back.
 *
 * In each pace contestants take turns, a batch each, in random order. Choose one and keep to it;
 * figures of different paces are not to be compared.
 */
#ifndef AK_MEASURE_PACE_H
#define AK_MEASURE_PACE_H

#include "base/status.h"

/* X(NAME, word, rest before a batch, runs to warm up before it, work before the first batch that
   counts, shortest and longest batch; all in ms, what it is for) */
#define AK_PACES(X)                                                                                \
    X(INTERLEAVED, "interleaved", 0, 0, 0, 5, 20,                                                  \
      "batches of 5 to 20 ms in turns, without a rest")                                            \
    X(BURST, "burst", 500, 3, 0, 20, 20, "half a second of rest, 3 runs, then 20 ms that count")   \
    X(SUSTAINED, "sustained", 0, 0, 2500, 100, 100,                                                \
      "2.5 s of work in turns, then batches of 100 ms, without a rest")

typedef struct ak_pace {
    const char *name, *description;
    int64_t rest_ns, lead_in_ns, batch_min_ns, batch_max_ns;
    uint32_t warm_runs;
} ak_pace;

typedef enum ak_pace_id {
#define AK_PACE_ENUM(id, word, rest, warm, lead_in, least, most, text) AK_PACE_##id,
    AK_PACES(AK_PACE_ENUM)
#undef AK_PACE_ENUM
        AK_PACE_COUNT
} ak_pace_id;
extern const ak_pace ak_paces[AK_PACE_COUNT];

/* NULL: the first, interleaved. AK_INVALID names those that there are. */
ak_status ak_pace_find(const ak_pace **out, const char *name, ak_error *err);
/* What `rounds` batches of each of `count` contestants take at least. */
double ak_pace_seconds(const ak_pace *pace, size_t count, size_t rounds);

#endif
