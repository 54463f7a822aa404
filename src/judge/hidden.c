/*
 * hidden.c: draws shapes that no candidate can know, to check a candidate before it is promoted. A
 * problem does not say which sizes it allows; it only lists some: the task's own shape and the
 * edge-case shapes. So a hidden shape keeps what all listed shapes have in common: the range and
 * the common divisor of each size and, for each pair of sizes, that one is a multiple of the other
 * or at most as large as the other.
 */
#include "judge/loaded.h"

#include <string.h>

/* A hidden shape has at most this much work and memory, so that its reference takes a tenth of a
   second. */
#define HIDDEN_FLOPS 3e8
#define HIDDEN_BYTES (32.0 * 1024 * 1024)
/* Attempts to draw one shape: the first NEAR_ATTEMPTS are near the task's own sizes, the rest also
   between all listed sizes. */
#define NEAR_ATTEMPTS 200
#define ATTEMPTS      1000
#define DRAWS         8
/* A size near the task's own is at most this many common divisors away from it. */
#define NEAR 8

typedef struct listed {
    const ak_task *task;
    size_t shapes, sizes;
    int64_t low[AK_SIZES_MAX], high[AK_SIZES_MAX], divisor[AK_SIZES_MAX];
    bool multiple[AK_SIZES_MAX][AK_SIZES_MAX]; /* the first is a multiple of the second */
    bool at_most[AK_SIZES_MAX][AK_SIZES_MAX];
} listed;

static const int64_t *listed_shape(const listed *l, size_t i)
{
    return i == 0 ? l->task->shape.size : l->task->problem->edge_cases[i - 1];
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void look(listed *l, const ak_task *task)
{
    *l = (listed){.task = task,
                  .shapes = task->problem->edge_case_count + 1,
                  .sizes = task->problem->size_count};
    memset(l->multiple, 1, sizeof l->multiple);
    memset(l->at_most, 1, sizeof l->at_most);
    for (size_t i = 0; i < l->shapes; i++) {
        const int64_t *size = listed_shape(l, i);
        for (size_t a = 0; a < l->sizes; a++) {
            l->low[a] = i == 0 || size[a] < l->low[a] ? size[a] : l->low[a];
            l->high[a] = i == 0 || size[a] > l->high[a] ? size[a] : l->high[a];
            l->divisor[a] = common_divisor(size[a], l->divisor[a]);
            for (size_t b = 0; b < l->sizes; b++) {
                l->multiple[a][b] = l->multiple[a][b] && size[a] % size[b] == 0;
                l->at_most[a][b] = l->at_most[a][b] && size[a] <= size[b];
            }
        }
    }
}

static bool is_like_listed(const listed *l, const int64_t *size)
{
    for (size_t i = 0; i < l->shapes; i++) {
        if (memcmp(listed_shape(l, i), size, l->sizes * sizeof *size) == 0) {
            return false; /* the shape itself is listed */
        }
    }
    for (size_t a = 0; a < l->sizes; a++) {
        for (size_t b = 0; b < l->sizes; b++) {
            if ((l->multiple[a][b] && size[a] % size[b] != 0) ||
                (l->at_most[a][b] && size[a] > size[b])) {
                return false;
            }
        }
    }
    return true;
}

/* Draws a size near the task's own, or a size between the smallest and the largest listed one, with
   about equal odds for each power of two. */
static int64_t draw_size(const listed *l, size_t a, bool near, ak_rng *rng)
{
    int64_t step = l->divisor[a] > 0 ? l->divisor[a] : 1;
    int64_t least = l->low[a] / step, most = l->high[a] / step, drawn;
    if (near) {
        drawn = l->task->shape.size[a] / step + (int64_t)ak_rng_below(rng, 2 * NEAR + 1) - NEAR;
    } else {
        int bits = 0;
        while (most >> bits > 1) {
            bits++;
        }
        int64_t power = INT64_C(1) << ak_rng_below(rng, (uint64_t)bits + 1);
        drawn = power + (int64_t)ak_rng_below(rng, (uint64_t)power);
    }
    drawn = drawn < least ? least : drawn > most ? most : drawn;
    return drawn * step;
}

static bool is_affordable(const listed *l, const int64_t *size)
{
    ak_shape shape;
    ak_error why = AK_ERROR_INIT;
    double bytes = 0;
    if (ak_task_shape(&shape, l->task, size, &why) != AK_OK || shape.flops > HIDDEN_FLOPS) {
        return false;
    }
    for (size_t i = 0; i < l->task->problem->argument_count; i++) {
        bytes += (double)shape.bytes[i];
    }
    return bytes <= HIDDEN_BYTES;
}

/* Returns whether hidden shapes can be drawn: inputs from files exist at one size only, and the
   problem must list edge-case shapes. */
static bool is_open(const ak_problem *problem)
{
    for (size_t i = 0; i < problem->argument_count; i++) {
        if (problem->arguments[i].fill == AK_FILL_FILE) {
            return false;
        }
    }
    return problem->edge_case_count > 0;
}

static bool draw_shape(int64_t *size, const listed *l, ak_rng *rng)
{
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        memset(size, 0, AK_SIZES_MAX * sizeof *size);
        for (size_t a = 0; a < l->sizes; a++) {
            bool near = attempt < NEAR_ATTEMPTS || ak_rng_below(rng, 2) == 0;
            size[a] = draw_size(l, a, near, rng);
        }
        if (is_like_listed(l, size) && is_affordable(l, size)) {
            return true;
        }
    }
    return false;
}

static double product(const listed *l, const int64_t *size)
{
    double all = 1;
    for (size_t a = 0; a < l->sizes; a++) {
        all *= (double)size[a];
    }
    return all;
}

/* Takes the largest of DRAWS shapes: a candidate that skips the work for large shapes only would
   pass at a small one, and shapes near a large task are not affordable. */
bool ak_hidden_draw(int64_t *size, const ak_task *task, ak_rng *rng)
{
    listed l;
    bool any = false;
    if (!is_open(task->problem)) {
        return false;
    }
    look(&l, task);
    for (int i = 0; i < DRAWS; i++) {
        int64_t drawn[AK_SIZES_MAX];
        if (draw_shape(drawn, &l, rng) && (!any || product(&l, drawn) > product(&l, size))) {
            memcpy(size, drawn, sizeof drawn);
            any = true;
        }
    }
    return any;
}
