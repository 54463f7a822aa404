/*
 * hidden.c: draws shapes that no candidate can know, to check a candidate whose result is to be
 * reported. A problem does not say which sizes it allows; it only lists some: the task's own shape
 * and the edge-case shapes. So a hidden shape keeps what all listed shapes have in common: the
 * range and the common divisor of each size and, for each pair of sizes, that one is a multiple of
 * the other or at most as large as the other.
 */
#include "judge/loaded.h"

#include <string.h>

#include "base/clock.h"
#include "judge/stage.h"

/* A hidden shape has at most this much work and AK_HIDDEN_BYTES of memory, so that its reference
   takes a tenth of a second. */
#define HIDDEN_FLOPS 3e8
/* Attempts to draw one shape: in the first PURE_ATTEMPTS all sizes are near the task's own or, for
   a far shape, anywhere between the listed ones; the rest mix both kinds. */
#define PURE_ATTEMPTS   200
#define BETTER_ATTEMPTS 1000 /* after these, DRAWS equally good shapes are enough */
#define ATTEMPTS        8000
#define DRAWS           8
/* Limits of ak_task_checked_sizes, which only finds out whether a hidden shape exists. With an
   eighth of a worker's attempts, it hardly ever finds a shape where a worker finds none. */
#define SHOWN_ATTEMPTS (ATTEMPTS / 8)
#define SHOWN_NS       (AK_SECOND_NS / 4)
#define FACTOR_MAX     1000 /* what remains after all factors up to this counts as prime */
/* A size near the task's own is at most this many common divisors away from it. */
#define NEAR 8

typedef struct listed {
    const ak_task *task;
    size_t shapes, sizes;
    int64_t low[AK_SIZES_MAX], high[AK_SIZES_MAX], divisor[AK_SIZES_MAX];
    int64_t next[AK_SIZES_MAX];                /* the smallest listed size above 1; 0: none */
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
            if (size[a] > 1 && (l->next[a] == 0 || size[a] < l->next[a])) {
                l->next[a] = size[a];
            }
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

static int64_t between(int64_t first, int64_t last, ak_rng *rng)
{
    return first + (int64_t)ak_rng_below(rng, (uint64_t)(last - first) + 1);
}

typedef enum { DRAW_NEAR, DRAW_ANY, DRAW_OWN } draw_kind;

/* Draws a divisor of a positive number; all exponents of a prime factor are equally likely. */
static int64_t draw_divisor(int64_t number, ak_rng *rng)
{
    int64_t divisor = 1;
    for (int64_t factor = 2; number > 1; factor++) {
        int exponent = 0;
        factor = factor > FACTOR_MAX ? number : factor;
        for (; number % factor == 0; number /= factor) {
            exponent++;
        }
        for (int64_t taken = between(0, exponent, rng); taken > 0; taken--) {
            divisor *= factor;
        }
    }
    return divisor;
}

/* Draws a size near the task's own, or a size between the smallest and the largest listed one, with
   about equal odds for each power of two; or takes the task's own. The range is clipped before the
   draw, not the drawn size after it: else most sizes near the largest would be the largest, which
   is listed. With `divided`, a size between the listed ones is a multiple of a divisor of the
   task's own size, because a condition may demand a multiple, which the task's own size is. A size
   between 1 and the next larger listed one becomes 1: two nearly equal elements that are normalised
   have no accurate result, so a deviation would not show a wrong kernel. */
static int64_t draw_size(const listed *l, size_t a, draw_kind kind, bool divided, ak_rng *rng)
{
    int64_t step = l->divisor[a] > 0 ? l->divisor[a] : 1;
    int64_t least = l->low[a] / step, most = l->high[a] / step;
    int64_t own = l->task->shape.size[a] / step;
    int64_t first = kind == DRAW_OWN ? own : own - NEAR, last = kind == DRAW_OWN ? own : own + NEAR;
    if (kind == DRAW_ANY) {
        int from = 0, to = 0;
        while (least >> from > 1) {
            from++;
        }
        while (most >> to > 1) {
            to++;
        }
        first = INT64_C(1) << between(from, to, rng);
        last = 2 * first - 1;
    }
    int64_t drawn = between(first < least ? least : first, last > most ? most : last, rng);
    if (kind == DRAW_ANY && divided) {
        int64_t rest = drawn % draw_divisor(own, rng);
        drawn -= drawn - rest >= least && drawn > rest ? rest : 0;
    }
    return step * drawn < l->next[a] ? l->low[a] : step * drawn;
}

/* Returns whether the reference takes little work and memory and the implementation (with
   wish->only the configuration) may run at these sizes; *suits then says whether the configuration
   may. */
static bool is_usable(bool *suits, const listed *l, const int64_t *size, const ak_hidden_wish *wish)
{
    ak_stage stage;
    ak_error why = AK_ERROR_INIT;
    bool may = false;
    const ak_shape *shape = &stage.shape;
    if (ak_stage_plan(&stage, NULL, l->task, size, 0, 0, &why) != AK_OK ||
        shape->flops > HIDDEN_FLOPS || (wish->bytes > 0 && stage.arrays.total > wish->bytes)) {
        return false;
    }
    if (ak_stage_bytes(&stage) > AK_HIDDEN_BYTES ||
        ak_task_allows(suits, l->task, shape, wish->config, &why) != AK_OK) {
        return false;
    }
    return *suits ||
           (!wish->only && ak_task_allows(&may, l->task, shape, NULL, &why) == AK_OK && may);
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

static double product(const listed *l, const int64_t *size)
{
    double all = 1;
    for (size_t a = 0; a < l->sizes; a++) {
        all *= (double)size[a];
    }
    return all;
}

/* Returns how many of the sizes also occur in a listed shape. Sizes that are equal in all listed
   shapes are not counted. */
static size_t known_sizes(const listed *l, const int64_t *size)
{
    size_t known = 0;
    for (size_t a = 0; a < l->sizes; a++) {
        bool found = false;
        for (size_t i = 0; i < l->shapes && !found; i++) {
            found = listed_shape(l, i)[a] == size[a];
        }
        known += found && l->low[a] != l->high[a];
    }
    return known;
}

/* Returns the index of a random size that differs between listed shapes, or 0 if there is none. */
static size_t varied_size(const listed *l, ak_rng *rng)
{
    size_t chosen = 0, count = 0;
    for (size_t a = 0; a < l->sizes; a++) {
        if (l->low[a] != l->high[a] && ak_rng_below(rng, ++count) == 0) {
            chosen = a;
        }
    }
    return chosen;
}

/* Draws all sizes. With `mixed`, each may be the task's own, near it or anywhere, but at least one
   size of a far shape is anywhere. */
static void draw_sizes(int64_t *size, const listed *l, bool far, bool mixed, bool divided,
                       ak_rng *rng)
{
    static const draw_kind kinds[8] = {DRAW_OWN, DRAW_NEAR, DRAW_NEAR, DRAW_NEAR,
                                       DRAW_ANY, DRAW_ANY,  DRAW_ANY,  DRAW_ANY};
    const size_t any = mixed && far ? varied_size(l, rng) : l->sizes;
    memset(size, 0, AK_SIZES_MAX * sizeof *size);
    for (size_t a = 0; a < l->sizes; a++) {
        draw_kind kind = mixed ? kinds[ak_rng_below(rng, 8)] : far ? DRAW_ANY : DRAW_NEAR;
        size[a] = draw_size(l, a, a == any ? DRAW_ANY : kind, divided, rng);
    }
}

/* Returns false if a shape cannot be used or has more faults than *faults; otherwise sets *faults
   to its faults: one for each size that a listed shape has, too (known_sizes), and AK_SIZES_MAX if
   the configuration may not run at it. */
static bool is_good(size_t *faults, const int64_t *size, const listed *l,
                    const ak_hidden_wish *wish)
{
    bool suits = false;
    const size_t known = known_sizes(l, size), least = *faults;
    if (known > least || !is_like_listed(l, size) || !is_usable(&suits, l, size, wish)) {
        return false;
    }
    *faults = known + (suits ? 0 : AK_SIZES_MAX);
    return *faults <= least;
}

/* Takes a shape that the configuration may run at, if there is one, and among those one with the
   fewest listed sizes: a candidate that is right at one listed width only would pass at any shape
   of that width. Of the first DRAWS equally good shapes it takes the largest: a candidate that
   skips the work for large shapes only would pass at a small one, and shapes near a large task are
   not affordable. If the shape is to be far, it takes the first, which may have any size. */
static bool draw(int64_t *size, const listed *l, const ak_hidden_wish *wish, int attempts,
                 ak_rng *rng)
{
    enum { WORST = 2 * AK_SIZES_MAX };
    const int64_t end = ak_clock_ns() + wish->ns;
    const int wanted = wish->far ? 1 : DRAWS;
    size_t least = WORST + 1;
    double largest = 0;
    int equal = 0;
    for (int i = 0; i < attempts && (equal < wanted || (least > 0 && i < BETTER_ATTEMPTS)); i++) {
        int64_t drawn[AK_SIZES_MAX];
        size_t faults = equal < wanted ? least : least - 1;
        const bool mixed = i >= PURE_ATTEMPTS;
        const bool divided = mixed && least >= AK_SIZES_MAX && ak_rng_below(rng, 2) == 0;
        if (ak_clock_ns() >= end) {
            break;
        }
        draw_sizes(drawn, l, wish->far, mixed, divided, rng);
        if (!is_good(&faults, drawn, l, wish)) {
            continue;
        }
        const double own = product(l, drawn);
        if (faults < least || own > largest) {
            memcpy(size, drawn, sizeof drawn);
            largest = own;
        }
        equal = faults < least ? 1 : equal + 1;
        least = faults;
    }
    return least <= WORST;
}

bool ak_hidden_draw(int64_t *size, const ak_task *task, const ak_hidden_wish *wish, ak_rng *rng)
{
    listed l;
    if (!is_open(task->problem)) {
        return false;
    }
    look(&l, task);
    return draw(size, &l, wish, ATTEMPTS, rng);
}

/* ---- what is checked ------------------------------------------------------------------------- */

/* Sets *out to whether the configuration may run at a listed shape other than the task's own. */
static ak_status runs_elsewhere(bool *out, const listed *l, const ak_config *config, ak_error *err)
{
    *out = false;
    for (size_t i = 1; i < l->shapes && !*out; i++) {
        const int64_t *size = listed_shape(l, i);
        ak_shape shape;
        if (memcmp(size, l->task->shape.size, l->sizes * sizeof *size) != 0) {
            AK_DO(ak_task_shape(&shape, l->task, size, err));
            AK_DO(ak_task_allows(out, l->task, &shape, config, err));
        }
    }
    return AK_OK;
}

ak_status ak_task_checked_sizes(ak_checked_sizes *out, const ak_task *task, const ak_config *config,
                                ak_error *err)
{
    const ak_hidden_wish wish = {.config = config, .only = true, .far = true, .ns = SHOWN_NS};
    listed l;
    ak_rng rng;
    int64_t size[AK_SIZES_MAX];
    bool elsewhere = false;
    ak_rng_seed(&rng, 0);
    look(&l, task);
    AK_DO(runs_elsewhere(&elsewhere, &l, config, err));
    *out = is_open(task->problem) && draw(size, &l, &wish, SHOWN_ATTEMPTS, &rng) ? AK_CHECKED_DRAWN
           : elsewhere                                                           ? AK_CHECKED_LISTED
                                                                                 : AK_CHECKED_OWN;
    return AK_OK;
}
