/* hidden.h: draws shapes that no candidate can know, to check a candidate whose result is to be
   reported. */
#ifndef AK_JUDGE_HIDDEN_H
#define AK_JUDGE_HIDDEN_H

#include "base/rng.h"
#include "problem/task.h"

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
   Returns false if no such shape is found. */
bool ak_hidden_draw(int64_t *size, const ak_task *task, const ak_hidden_wish *wish, ak_rng *rng);

#endif
