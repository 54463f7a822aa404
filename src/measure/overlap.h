/*
 * overlap.h: may kernels of a timed batch begin before those ahead of them have ended? CUDA calls
 * such launches programmatic: the launch, and the part of the next kernel that needs no results,
 * are hidden behind the end of the one before.
 *
 * Between runs this is a time that a program sees which calls the kernel again and again or has
 * others in its stream that allow it, not one that calls it now and then. Contestants that differ
 * in it differ in more than their code, so it is kept with each of them.
 */
#ifndef AK_MEASURE_OVERLAP_H
#define AK_MEASURE_OVERLAP_H

#include <stdbool.h>

/* X(NAME, word) */
#define AK_OVERLAP_MAP(X)                                                                          \
    X(NONE, "none")                                                                                \
    X(WITHIN, "within runs") /* a run is several kernels; each waits for the whole run before */   \
    X(BETWEEN, "between runs")

typedef enum ak_overlap {
    AK_OVERLAP_UNKNOWN,
#define AK_OVERLAP_ENUM(name, word) AK_OVERLAP_##name,
    AK_OVERLAP_MAP(AK_OVERLAP_ENUM)
#undef AK_OVERLAP_ENUM
} ak_overlap;

/* NULL if it is not known. */
const char *ak_overlap_text(ak_overlap overlap);
/* False if the text is none of these. */
bool ak_overlap_parse(ak_overlap *out, const char *text);

#endif
