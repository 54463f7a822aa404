/*
 * guard.h: makes buffers that show what a kernel did wrong. Each array lies between two red zones
 * with unpredictable bytes; before a launch that is checked, outputs are filled with poison (in
 * floats a NaN pattern), with numbers, or with results that are not right; inputs are hashed.
 *
 *     | zone 0 | array 0 | zone 1 | array 1 | ... | zone `count` |
 *
 * A zone reaches from the last byte of one array to the first of the next, so every byte between
 * the first and the last zone is checked. A write outside of an array is detected unless it writes
 * what is there already. Therefore the content is chosen so that a wrong kernel does not produce
 * it:
 *
 * Each word is a hash of a secret key, the argument, the side and the position, so that copies from
 * one zone to another, or within a zone to another position, are detected.
 *
 * In every second round the zones of floats hold signalling NaNs with a random payload; e5m2 has
 * only one payload for them, and e4m3 only one NaN. Arithmetic of IEEE 754 on x86, AArch64 and
 * NVIDIA devices never results in one: it gives a quiet NaN, with the payload of an operand or the
 * canonical one. So in floats other than e4m3, z[n] = f(x[n], y[n]) is detected whatever f is, and
 * a kernel that lets a zone into its result spoils the result. Zones of whole numbers hold any
 * numbers then.
 *
 * In the other rounds the zones hold numbers of one sign or the other. A kernel that works in place
 * with min, max or comparisons ("x < 0 ? 0 : x") may leave a NaN as it is, but cannot leave both
 * positive and negative numbers as they are.
 *
 * No content detects a kernel that reads a zone and writes back what it has read. Reading a zone
 * does no harm: it is ordinary memory.
 *
 * If rows do not adjoin, the bytes between them are painted in the same way.
 */
#ifndef AK_CHECK_GUARD_H
#define AK_CHECK_GUARD_H

#include "problem/problem.h"

/* Bytes of the zone on either side of an array; between two arrays there are at least twice as
   many. A zone is as large as some rows of a small matrix, or one row of 4096 f32 elements. A write
   that is farther off usually hits another argument, which is checked too. The size is a multiple
   of a page. */
#define AK_GUARD_BYTES 16384
/* A block that begins this many bytes after a page has its arrays at 64 modulo 128, so that they
   are aligned to 64 bytes and to no more. */
#define AK_GUARD_SHIFT ((size_t)64)

typedef struct ak_guard_arrays {
    size_t count;
    size_t bytes[AK_ARGUMENTS_MAX];
    ak_dtype dtype[AK_ARGUMENTS_MAX];
    /* set by ak_guard_layout: */
    size_t offset[AK_ARGUMENTS_MAX]; /* multiples of 256 */
    /* bytes of all arrays with their zones, a multiple of a page */
    size_t total;
} ak_guard_arrays;

/* Lays arrays out in one block of memory, from `count` and `bytes`. Returns false if the block
   would exceed size_t. Up to sixteen arrays of whole pages get offsets that differ modulo a page,
   so that arrays whose sizes are powers of two do not compete for the same cache sets. */
bool ak_guard_layout(ak_guard_arrays *arrays);
/* Gives the bytes [*begin, *end) of a zone in the block. `zone` is at most arrays->count. */
void ak_guard_zone(size_t *begin, size_t *end, const ak_guard_arrays *arrays, size_t zone);

typedef enum ak_guard_content {
    AK_GUARD_NAN,
    AK_GUARD_POSITIVE,
    AK_GUARD_NEGATIVE
} ak_guard_content;

/* The content of all zones, and of the bytes between rows, during a launch. */
typedef struct ak_guard_pattern {
    uint64_t key;
    ak_guard_content content; /* integers: any number, or numbers of one sign */
} ak_guard_pattern;

/* Returns the content for a round: NaN in every second round; in the others, positive and negative
   numbers alternate. */
ak_guard_content ak_guard_content_of(unsigned round);
/* Writes the pattern into all zones. `memory` has arrays->total bytes. */
void ak_guard_paint(void *memory, const ak_guard_arrays *arrays, const ak_guard_pattern *pattern);
/* Returns the index of the first argument with a damaged zone, or `count`. *after says whether the
   damaged zone is the one after the argument, and is not set if none is damaged; `after` may be
   NULL. */
size_t ak_guard_damaged(bool *after, const void *memory, const ak_guard_arrays *arrays,
                        const ak_guard_pattern *pattern);

/* The bytes in a zone, or in all gaps of an array, as little-endian 8-byte words. Word i is
   (ak_guard_word(key, i) & keep) | set. */
typedef struct ak_guard_stream {
    uint64_t key, keep, set;
} ak_guard_stream;
typedef enum ak_guard_side { AK_GUARD_BEFORE, AK_GUARD_AFTER, AK_GUARD_BETWEEN } ak_guard_side;
/* Returns the stream of one side of an argument. */
ak_guard_stream ak_guard_stream_of(const ak_guard_pattern *pattern, size_t argument,
                                   ak_guard_side side, ak_dtype dtype);
/* Returns word i of a key: the output function of SplitMix64 (Steele, Lea, Flood 2014). */
uint64_t ak_guard_word(uint64_t key, uint64_t i);
/* ak_guard_write writes the bytes first .. first + bytes of a stream to `place`. ak_guard_holds
   returns true if `place` holds them. */
void ak_guard_write(void *place, size_t first, size_t bytes, const ak_guard_stream *stream);
bool ak_guard_holds(const void *place, size_t first, size_t bytes, const ak_guard_stream *stream);

/* The rows of an array: `row` bytes of every `pitch` bytes. There is no gap after the last row. */
typedef struct ak_guard_rows {
    size_t rows, row, pitch;
} ak_guard_rows;
/* ak_guard_paint_gaps writes a stream into the gaps between rows. ak_guard_gaps_whole returns
   true if all gaps still hold it. */
void ak_guard_paint_gaps(void *array, const ak_guard_rows *rows, const ak_guard_stream *stream);
bool ak_guard_gaps_whole(const void *array, const ak_guard_rows *rows,
                         const ak_guard_stream *stream);

/* ak_guard_poison fills an array with poison; ak_guard_is_poison returns true if an element holds
   it. Poison is a NaN in floats, signalling except in 8-bit ones. In whole numbers it is one of 16
   numbers: those of 8 bytes are beyond 2^53, where no result is right; narrower ones may be right
   results. It differs between AK_GUARD_ROUNDS rounds, except in 8-bit floats, so an element that is
   never written is wrong in one of two rounds; higher rounds wrap around. */
#define AK_GUARD_ROUNDS 16
void ak_guard_poison(void *array, size_t bytes, ak_dtype dtype, unsigned round);
bool ak_guard_is_poison(const void *element, ak_dtype dtype);

/* What outputs hold before a call. Only a kernel that writes all of its results without reading old
   ones is right after each of these contents. A kernel that begins a maximum with the old content
   is right after NaN and low numbers; one that keeps what looks like a result is wrong only after
   results of other inputs. */
typedef enum ak_guard_old {
    AK_GUARD_OLD_POISON,
    AK_GUARD_OLD_HIGH,    /* a number larger than usual results, in floats positive */
    AK_GUARD_OLD_LOW,     /* a number smaller than usual results, in floats negative */
    AK_GUARD_OLD_RESULTS, /* results of other inputs or, if there are none, altered ones */
    AK_GUARD_OLD_ZERO
} ak_guard_old;

/* Each of these comes once in AK_GUARD_OLDS rounds, in two orders that alternate. */
#define AK_GUARD_OLDS 5
ak_guard_old ak_guard_old_of(unsigned round);
/* Returns the first round, from `round` on, at which one of the two orders begins, with poison. */
unsigned ak_guard_first_round(unsigned round);
/* Fills an array with what it holds before a round. High numbers stand in for
   AK_GUARD_OLD_RESULTS. */
void ak_guard_fill_old(void *array, size_t bytes, ak_dtype dtype, unsigned round);

/* Returns the number of bits in the fraction of a float; 0 for whole numbers. */
uint32_t ak_guard_fraction(ak_dtype dtype);
/* Returns an element with other bits in the upper part of its fraction: a number of the same sign
   and magnitude that differs by more than rounding. Only the lowest `bytes` bytes of `element` and
   of the result count. Zero and subnormal numbers become a number between 1 and 2, and a whole
   number becomes one near it. NaN and infinities stay as they are. */
uint64_t ak_guard_altered(uint64_t element, size_t bytes, uint32_t fraction, uint64_t random);

#endif
