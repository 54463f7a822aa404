/*
 * test_verdict.c: tests the verdicts of comparisons: noise is never shown as faster or slower, and
 * a real difference is found. The times are invented, with the disturbances of real ones:
 * differences between processes, and lasting load.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "measure/pressure.h"
#include "measure/verdict.h"

enum { GROUPS = 9, GROUP = 5, ROUNDS = GROUPS * GROUP, RUNS = 1000, NAIVE = 20 };

typedef struct machine {
    double process; /* deviation of what a process is slower by for as long as it lives */
    double load;    /* of the load, which is the same for all in a round and changes slowly */
    double batch;   /* of one batch */
    double hits; /* part of the groups in which something else runs on the core of one candidate */
} machine;

static ak_speed_verdict verdict_of(const ak_stats *ratio, const ak_stats *control, bool clean)
{
    ak_speed_doubt doubt;
    return ak_verdict_doubt(&doubt, ratio, control, clean);
}

static double normal(ak_rng *rng)
{
    double sum = 0;
    for (int i = 0; i < 12; i++) { /* Irwin and Hall */
        sum += (double)ak_rng_below(rng, 1u << 30) / (double)(1u << 30);
    }
    return sum - 6;
}

static bool chance(ak_rng *rng, double part)
{
    return (double)ak_rng_below(rng, 1000000) < part * 1e6;
}

/* Makes the times of three candidates. The second is `speed` times as fast as the first, and the
   third equals the first. */
static void measure(double ms[3][ROUNDS], bool disturbed[ROUNDS], ak_rng *rng, const machine *m,
                    double speed)
{
    double load = 0, process[3] = {0}, hit[3] = {1, 1, 1};
    for (size_t i = 0; i < ROUNDS; i++) {
        load = 0.8 * load + m->load * normal(rng);
        disturbed[i] = false;
        for (size_t c = 0; c < 3; c++) {
            if (i % GROUP == 0) {
                process[c] = m->process * normal(rng);
                hit[c] = chance(rng, m->hits) ? 1.8 : 1;
            }
            disturbed[i] = disturbed[i] || hit[c] > 1;
            ms[c][i] =
                hit[c] * exp(load + process[c] + m->batch * normal(rng)) / (c == 1 ? speed : 1);
        }
    }
}

typedef struct counts {
    size_t of[5]; /* by ak_speed_verdict */
    size_t naive; /* of every NAIVE-th: the interval of single rounds does not contain 1 */
} counts;

static counts study(const machine *m, double speed, bool told)
{
    counts out = {{0}, 0};
    ak_rng rng;
    ak_rng_seed(&rng, 17);
    for (int run = 0; run < RUNS; run++) {
        double ms[3][ROUNDS];
        bool disturbed[ROUNDS];
        ak_stats ratio, control, naive;
        measure(ms, disturbed, &rng, m, speed);
        const bool *known = told ? disturbed : NULL;
        bool clean = ak_verdict_ratio(&ratio, ms[0], ms[1], known, ROUNDS, GROUP);
        (void)ak_verdict_ratio(&control, ms[0], ms[2], known, ROUNDS, GROUP);
        if (run % NAIVE == 0) {
            double ratios[ROUNDS];
            for (int i = 0; i < ROUNDS; i++) {
                ratios[i] = ms[0][i] / ms[1][i];
            }
            ak_stats_of(&naive, ratios, ROUNDS);
            out.naive += naive.low > 1 || naive.high < 1;
        }
        out.of[verdict_of(&ratio, &control, clean)]++;
    }
    return out;
}

static const machine quiet = {.process = 0.005, .load = 0.01, .batch = 0.004, .hits = 0};
static const machine busy = {.process = 0.02, .load = 0.2, .batch = 0.1, .hits = 0.3};

/* Noise gives almost no wins. Intervals over single rounds instead of groups would give many. */
static void noise_is_never_a_win(void **state)
{
    (void)state;
    counts idle = study(&quiet, 1, false), loaded = study(&busy, 1, false);
    assert_true(idle.naive > RUNS / NAIVE / 10);
    assert_true(idle.of[AK_SPEED_FASTER] + idle.of[AK_SPEED_SLOWER] <= RUNS / 100);
    assert_true(loaded.of[AK_SPEED_FASTER] + loaded.of[AK_SPEED_SLOWER] <= 3 * RUNS / 100);
    assert_int_equal(idle.of[AK_SPEED_NONE] + loaded.of[AK_SPEED_NONE], 0);
}

static void what_is_faster_is_found(void **state)
{
    (void)state;
    counts by_3 = study(&quiet, 1.03, false), by_5 = study(&quiet, 1.05, false);
    assert_true(by_3.of[AK_SPEED_FASTER] > RUNS * 8 / 10);
    assert_true(by_5.of[AK_SPEED_FASTER] > RUNS * 98 / 100);
    assert_int_equal(study(&quiet, 1 / 1.1, false).of[AK_SPEED_SLOWER], RUNS);
}

/* If the machine is disturbed now and then, the disturbed rounds are known and left out. */
static void disturbed_rounds_are_left_out(void **state)
{
    (void)state;
    machine m = quiet;
    m.hits = 0.08;
    assert_true(study(&m, 1.05, true).of[AK_SPEED_FASTER] >
                study(&m, 1.05, false).of[AK_SPEED_FASTER] + RUNS / 10);
    assert_true(study(&m, 1, true).of[AK_SPEED_FASTER] <= RUNS / 100);
}

/* If all rounds were disturbed, nothing is decided, because identical code can differ by more than
   the control shows. */
static void nothing_is_won_among_disturbed_rounds(void **state)
{
    (void)state;
    double slow[ROUNDS], fast[ROUNDS];
    bool disturbed[ROUNDS];
    for (size_t i = 0; i < ROUNDS; i++) {
        slow[i] = 2 + 0.001 * (double)(i % 7);
        fast[i] = 1;
        disturbed[i] = true;
    }
    ak_stats ratio, control;
    bool clean = ak_verdict_ratio(&ratio, slow, fast, disturbed, ROUNDS, GROUP);
    assert_true(!clean && ak_verdict_ratio(&control, slow, slow, NULL, ROUNDS, GROUP));
    assert_int_equal(verdict_of(&ratio, &control, clean), AK_SPEED_UNDECIDED);
    assert_int_equal(verdict_of(&control, &control, clean), AK_SPEED_TIE);
    assert_int_equal(verdict_of(&ratio, &control, true), AK_SPEED_FASTER);
    assert_int_equal(verdict_of(&ratio, &ratio, true), AK_SPEED_UNDECIDED); /* twice itself */
    disturbed[0] = false; /* one group of many is not enough */
    assert_false(ak_verdict_ratio(&ratio, slow, fast, disturbed, ROUNDS, GROUP));
    assert_true(ak_verdict_ratio(&ratio, slow, fast, NULL, 3, GROUP)); /* few, all undisturbed */
}

static ak_stats of(double ratio, double low, double high)
{
    return (ak_stats){.median = ratio, .low = low, .high = high};
}

static void verdicts_have_their_limits(void **state)
{
    (void)state;
    const ak_stats same = {.median = 1.0, .low = 0.998, .high = 1.002};
    const ak_stats off = {.median = 0.96, .low = 0.95, .high = 0.97};
    const ak_stats wide = {.median = 1.0, .low = 0.951, .high = 1.034};
    const ak_stats unsure = {.median = 1.0, .low = 0.85, .high = 1.15};
    ak_stats a = of(1.04, 1.02, 1.06), b = of(1.5, 1.3, 1.7), c = of(1.008, 1.005, 1.009),
             d = of(0.9, 0.88, 0.92), nothing = of((double)NAN, (double)NAN, (double)NAN);
    assert_int_equal(verdict_of(&a, &same, true), AK_SPEED_FASTER);
    assert_int_equal(verdict_of(&a, &off, true), AK_SPEED_TIE); /* the same code differs as much */
    assert_int_equal(verdict_of(&a, &wide, true), AK_SPEED_UNDECIDED); /* it may */
    assert_int_equal(verdict_of(&d, &wide, true), AK_SPEED_SLOWER);
    assert_int_equal(verdict_of(&a, &unsure, true), AK_SPEED_UNDECIDED);
    assert_int_equal(verdict_of(&b, &same, true), AK_SPEED_UNDECIDED); /* wider than a fifth */
    assert_int_equal(verdict_of(&c, &same, true), AK_SPEED_TIE); /* too small to be believed */
    assert_int_equal(verdict_of(&d, &same, true), AK_SPEED_SLOWER);
    assert_int_equal(verdict_of(&nothing, &same, true), AK_SPEED_UNDECIDED);
    assert_int_equal(verdict_of(&a, &nothing, true), AK_SPEED_UNDECIDED);

    /* Why: an interval far from 1 looks like a decision. */
    const ak_stats far = {.median = 8.4, .low = 7.4, .high = 9.5};
    static const struct {
        ak_speed_doubt why;
        bool clean;
    } rules[] = {{AK_DOUBT_VARIES, true}, {AK_DOUBT_CONTROL, true}, {AK_DOUBT_CONTROL, true},
                 {AK_DOUBT_BUSY, false},  {AK_DOUBT_NONE, true},    {AK_DOUBT_NONE, false}};
    const ak_stats bytes = of(7.1, 7.1 * (1 - 1e-15), 7.1 * (1 + 1e-15)); /* of code */
    const ak_stats itself = of(1, 1, 1);
    const ak_stats *const ratios[] = {&far, &a, &a, &a, &a, &bytes};
    const ak_stats *const controls[] = {&same, &wide, &unsure, &same, &same, &itself};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        ak_speed_doubt doubt = AK_DOUBT_NONE;
        ak_speed_verdict verdict = ak_verdict_doubt(&doubt, ratios[i], controls[i], rules[i].clean);
        assert_int_equal(doubt, rules[i].why);
        assert_int_equal(verdict == AK_SPEED_UNDECIDED, doubt != AK_DOUBT_NONE);
        assert_int_equal(ak_speed_doubt_text(doubt)[0] == 0, doubt == AK_DOUBT_NONE);
    }
}

static void few_rounds(void **state)
{
    (void)state;
    const double a[] = {2, 2.1, 1.9, 2}, b[] = {1, 1.05, 0.95, 1};
    ak_stats ratio;
    (void)ak_verdict_ratio(&ratio, a, b, NULL, 4, 1);
    assert_true(fabs(ratio.median - 2) < 1e-12 && ratio.low <= 2 && ratio.high >= 2);
    (void)ak_verdict_ratio(&ratio, a, b, NULL, 4,
                           4); /* one group: its rounds count by themselves */
    assert_int_equal(ratio.count, 4);
    (void)ak_verdict_ratio(&ratio, a, b, NULL, 1, 1);
    assert_true(isnan(ratio.median) && isnan(ratio.low));
    (void)ak_verdict_ratio(&ratio, a, b, NULL, 0, 0);
    assert_true(isnan(ratio.high));
}

static void pressure_is_read(void **state)
{
    (void)state;
    static const char text[] = "some avg10=98.89 avg60=93.78 avg300=55.04 total=286422577\n"
                               "full avg10=0.00 avg60=0.00 avg300=0.00 total=12\n";
    assert_int_equal(ak_pressure_parse(text), 286422577);
    assert_int_equal(ak_pressure_parse("full avg10=0 total=1\nsome avg10=0 total=7\n"), 7);
    assert_int_equal(ak_pressure_parse("full avg10=0 total=1\n"), -1);
    assert_int_equal(ak_pressure_parse("some avg10=0.00\nfull total=3\n"), -1);
    assert_int_equal(ak_pressure_parse("some total=x\n"), -1);
    assert_int_equal(ak_pressure_parse(""), -1);
    ak_pressure_mark from = {.at_ns = 0, .waited_us = 100}, to = {.at_ns = 1000000000};
    to.waited_us = 430100;
    assert_true(fabs(ak_pressure_between(&from, &to) - 0.43) < 1e-12);
    to.waited_us = -1;
    assert_true(ak_pressure_between(&from, &to) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_is_never_a_win),
        cmocka_unit_test(what_is_faster_is_found),
        cmocka_unit_test(disturbed_rounds_are_left_out),
        cmocka_unit_test(nothing_is_won_among_disturbed_rounds),
        cmocka_unit_test(verdicts_have_their_limits),
        cmocka_unit_test(few_rounds),
        cmocka_unit_test(pressure_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
