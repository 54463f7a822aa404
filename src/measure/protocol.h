/*
 * protocol.h: says how the batches of a comparison follow each other. A device that has rested runs
 * at its highest clock; after seconds of work, power and heat lower the clock. So the same kernels
 * can rank differently: after a rest the kernel with the fewest cycles wins, under load the kernel
 * that uses the least energy. NVIDIA's advice for profiling CUTLASS says that clocks settle after
 * about 3 s of matrix products back to back.
 *
 * In each protocol the candidates take turns in random order, one batch at a time. Times of
 * different protocols must not be compared, so keep to one.
 */
#ifndef AK_MEASURE_PROTOCOL_H
#define AK_MEASURE_PROTOCOL_H

#include "base/status.h"

/* X(NAME, word, rest before a batch, runs that warm up before a batch, work before the first batch
   that counts, shortest batch, longest batch, description). All times are in ms. */
#define AK_PROTOCOLS(X)                                                                            \
    X(INTERLEAVED, "interleaved", 0, 0, 0, 5, 20,                                                  \
      "batches of 5 to 20 ms in turns, without a rest")                                            \
    X(BURST, "burst", 500, 3, 0, 20, 20, "half a second of rest, 3 runs, then 20 ms that count")   \
    X(SUSTAINED, "sustained", 0, 0, 2500, 100, 100,                                                \
      "2.5 s of work in turns, then batches of 100 ms, without a rest")

typedef struct ak_protocol {
    const char *name, *description;
    int64_t rest_ns, lead_in_ns, batch_min_ns, batch_max_ns;
    uint32_t warm_runs;
} ak_protocol;

typedef enum ak_protocol_id {
#define AK_PROTOCOL_ENUM(id, word, rest, warm, lead_in, least, most, text) AK_PROTOCOL_##id,
    AK_PROTOCOLS(AK_PROTOCOL_ENUM)
#undef AK_PROTOCOL_ENUM
        AK_PROTOCOL_COUNT
} ak_protocol_id;
extern const ak_protocol ak_protocols[AK_PROTOCOL_COUNT];

/* Finds a protocol by name; NULL means interleaved. Returns AK_INVALID with all names if there
   is none. */
ak_status ak_protocol_find(const ak_protocol **out, const char *name, ak_error *err);
/* Returns the least time in seconds that `rounds` batches of each of `count` candidates take,
   without the runs that warm up. */
double ak_protocol_seconds(const ak_protocol *protocol, size_t count, size_t rounds);

#endif
