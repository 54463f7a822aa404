/* hidden.h: draws shapes that no candidate can know, to check a candidate before it is promoted. */
#ifndef AK_JUDGE_HIDDEN_H
#define AK_JUDGE_HIDDEN_H

#include "base/rng.h"
#include "problem/task.h"

/* The arguments of a hidden shape take at most so many bytes. */
#define AK_HIDDEN_BYTES (32.0 * 1024 * 1024)

typedef struct ak_hidden_wish {
    const ak_config *config; /* one that may run at the shape if there is such a shape; NULL: any */
    bool only;               /* no shape is better than one that `config` may not run at */
    bool far;     /* its sizes are any between the smallest and the largest listed ones; else they
                     are near the task's own where that is affordable */
    size_t bytes; /* the arguments and their red zones take at most so many; 0: any number */
    int64_t ns;   /* what was found in this time counts */
} ak_hidden_wish;

/* Draws the sizes of a shape that the problem does not list but that is like the listed shapes.
   Returns false if no such shape is found. */
bool ak_hidden_draw(int64_t *size, const ak_task *task, const ak_hidden_wish *wish, ak_rng *rng);

#endif
