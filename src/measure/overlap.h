/*
 * overlap.h: says whether a kernel of a timed batch may begin before the kernel ahead of it has
 * ended. CUDA calls this programmatic dependent launch: the launch of the next kernel, and the part
 * of it that needs no results, run while the previous kernel ends.
 *
 * If runs overlap, the measured time holds for a program that calls the kernel repeatedly, or whose
 * other kernels in the stream allow the overlap. It does not hold for a program that calls the
 * kernel now and then. Two candidates with different overlap differ in more than their code, so the
 * overlap is stored with each candidate.
 */
#ifndef AK_MEASURE_OVERLAP_H
#define AK_MEASURE_OVERLAP_H

#include <stdbool.h>

/* X(NAME, word) */
#define AK_OVERLAP_MAP(X)                                                                          \
    X(NONE, "none")                                                                                \
    X(WITHIN, "within runs") /* kernels of one run overlap; runs do not */                         \
    X(BETWEEN, "between runs")

typedef enum ak_overlap {
    AK_OVERLAP_UNKNOWN,
#define AK_OVERLAP_ENUM(name, word) AK_OVERLAP_##name,
    AK_OVERLAP_MAP(AK_OVERLAP_ENUM)
#undef AK_OVERLAP_ENUM
} ak_overlap;

/* Returns the word, or NULL for AK_OVERLAP_UNKNOWN. */
const char *ak_overlap_text(ak_overlap overlap);
/* Finds the overlap with this word. Returns false if there is none. */
bool ak_overlap_parse(ak_overlap *out, const char *text);

#endif
