/* test_ceilings.c: tests that the highest measured ceilings are kept, and that a run warns if it
   begins on a busy machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "archive/archive.h"
#include "base/fs.h"
#include "measure/ceilings.h"
#include "tuner/warning.h"

static const ak_ceilings idle = {.peak_tflops = 0.235, .copy_gbs = 30, .measured = true};
static const ak_ceilings busy = {.peak_tflops = 0.102, .copy_gbs = 31, .measured = true};

static void the_highest_is_kept(void **state)
{
    char folder[AK_PATH_MAX], path[AK_PATH_MAX];
    (void)state;
    assert_int_equal(ak_fs_temp(folder, NULL), AK_OK);
    (void)setenv("XDG_CACHE_HOME", folder, 1);
    ak_ceilings now = idle;
    ak_ceilings_keep(&now, "host f32 1");
    assert_true(now.peak_tflops == 0.235 && now.copy_gbs == 30);
    now = busy;
    ak_ceilings_keep(&now, "host f32 1");
    assert_true(now.peak_tflops == 0.235 && now.copy_gbs == 31 && now.measured);
    now = busy;
    ak_ceilings_keep(&now, "host f64 1"); /* of another dtype */
    assert_true(now.peak_tflops == 0.102);
    now = (ak_ceilings){0};
    ak_ceilings_keep(&now, "host f32 2"); /* nothing is known */
    assert_true(now.peak_tflops == 0 && !now.measured);

    assert_int_equal(ak_fs_join(path, folder, "autokernel/ceilings.json", NULL), AK_OK);
    assert_int_equal(ak_fs_write(path, "{\"host f32 1\":", 13, NULL), AK_OK); /* damaged */
    now = busy;
    ak_ceilings_keep(&now, "host f32 1");
    assert_true(now.peak_tflops == 0.102);
    now = idle;
    ak_ceilings_keep(&now, "host f32 1");
    now = busy;
    ak_ceilings_keep(&now, "host f32 1");
    assert_true(now.peak_tflops == 0.235);
    ak_fs_remove(folder);
}

static void a_rise_is_said(void **state)
{
    (void)state;
    ak_warnings warnings = {0};
    assert_int_equal(ak_warn_ceilings(&warnings, &idle, &idle, NULL), AK_OK);
    assert_int_equal(warnings.count, 0);
    ak_ceilings after = busy;
    assert_true(ak_ceilings_raise(&after, &idle) && !ak_ceilings_raise(&after, &busy));
    assert_int_equal(ak_warn_ceilings(&warnings, &busy, &after, NULL), AK_OK);
    assert_int_equal(warnings.count, 1);
    assert_non_null(strstr(warnings.texts[0], "were measured too low when the run began"));
    assert_non_null(strstr(warnings.texts[0], "(0.102 TFLOP/s and "));
    assert_non_null(strstr(warnings.texts[0], "; now 0.235 and "));
    assert_non_null(strstr(warnings.texts[0], "rely on those of this result"));
    ak_warnings_free(&warnings);
}

/* The time of the best may differ by factors between the search and the finish. */
static void times_far_apart_are_said(void **state)
{
    (void)state;
    ak_warnings list = {0};
    ak_compared best = {.median_ms = 1.4, .config = (char *)"MR=4"};
    assert_int_equal(ak_warn_apart(&list, &best, 1, NULL), AK_OK);
    assert_int_equal(ak_warn_apart(&list, &best, 2, NULL), AK_OK);
    assert_int_equal(ak_warn_apart(&list, &best, 0, NULL), AK_OK); /* not known */
    best.note = (char *)"the time of calls on unseen inputs";
    assert_int_equal(ak_warn_apart(&list, &best, 0.1, NULL), AK_OK);
    assert_int_equal(list.count, 0);
    best.note = NULL;
    assert_int_equal(ak_warn_apart(&list, &best, 0.1234, NULL), AK_OK);
    assert_int_equal(ak_warn_apart(&list, &best, 7, NULL), AK_OK);
    assert_int_equal(list.count, 2);
    assert_non_null(strstr(list.texts[0], "1.4 ms in the finish and 0.1234 ms in the search"));
    assert_non_null(strstr(list.texts[1], "1.4 ms in the finish and 7 ms in the search"));
    ak_warnings_free(&list);
}

/* One sentence says it of all, whichever have a note; without a common kind of times each note is
   said. */
static void kinds_of_times_are_said(void **state)
{
    (void)state;
    ak_warnings list = {0};
    ak_noise noise = {.candidates = 4, .unseen = 2};
    const ak_compared both[] = {
        {.name = (char *)"tuned", .median_ms = 1, .note = (char *)"as it is"},
        {.name = (char *)"BLIS", .median_ms = 2, .note = (char *)"so too"}};
    assert_int_equal(ak_warn_comparison(&list, &noise, both, 2, NULL), AK_OK);
    assert_int_equal(list.count, 1);
    assert_non_null(strstr(list.texts[0], "all times are those of calls on inputs that were not "
                                          "seen before, because 2 of 4 candidates took"));
    /* Its time of before is of another kind. */
    assert_int_equal(ak_warn_slower(&list, &both[1], 0.1, NULL), AK_OK);
    assert_int_equal(list.count, 1);
    noise.unseen = 0;
    assert_int_equal(ak_warn_comparison(&list, &noise, both, 2, NULL), AK_OK);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.texts[2], "BLIS: so too");
    ak_warnings_free(&list);
}

/* A time that contradicts the decided speed is told, also against a library; others are not. */
static void contradictions_are_said(void **state)
{
    (void)state;
    ak_warnings list = {0};
    const ak_noise noise = {.candidates = 3};
    const ak_speed one = {.ratio = 1, .low = 1, .high = 1};
    const ak_speed faster = {
        .ratio = 1.081, .low = 1.077, .high = 1.085, .verdict = AK_SPEED_FASTER};
    ak_compared all[] = {
        {.name = (char *)"tuned", .config = (char *)"MR=4", .median_ms = 4, .over_default = faster},
        {.name = (char *)"default", .config = (char *)"MR=2", .median_ms = 3, .over_default = one},
        {.name = (char *)"BLIS", .median_ms = 5, .ratio = 1, .ratio_low = 1, .ratio_high = 1}};
    assert_int_equal(ak_warn_comparison(&list, &noise, all, 3, NULL), AK_OK);
    assert_int_equal(list.count, 1);
    assert_non_null(strstr(list.texts[0], "#1 is faster than default in the rounds that both took "
                                          "part in, but its time over all rounds is longer "
                                          "(4 and 3 ms)"));
    all[0].median_ms = 2.9;
    assert_int_equal(ak_warn_comparison(&list, &noise, all, 3, NULL), AK_OK);
    assert_int_equal(list.count, 1);
    all[0].verdict = AK_SPEED_SLOWER;
    assert_int_equal(ak_warn_comparison(&list, &noise, all, 3, NULL), AK_OK);
    assert_int_equal(list.count, 2);
    assert_non_null(strstr(list.texts[1], "#1 is slower than BLIS"));
    ak_warnings_free(&list);
}

static void what_was_not_judged_is_said(void **state)
{
    (void)state;
    ak_warnings list = {0};
    ak_compared fastest = {.median_ms = 1, .config = (char *)"MR=4"};
    assert_int_equal(ak_warn_not_judged(&list, &fastest, NULL), AK_OK);
    fastest.median_ms = 0;
    fastest.reason = (char *)"crashed";
    assert_int_equal(ak_warn_not_judged(&list, &fastest, NULL), AK_OK);
    assert_int_equal(list.count, 0);
    fastest.reason = (char *)AK_NOT_JUDGED "the machine was too busy";
    assert_int_equal(ak_warn_not_judged(&list, &fastest, NULL), AK_OK);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.texts[0], "the fastest of the search (MR=4) could not be judged; run "
                                       "again with --resume");
    ak_warnings_free(&list);
}

/* The warning of the beginning goes when a finish has measured. */
static void a_warning_is_kept_and_dropped(void **state)
{
    (void)state;
    ak_tune_result result = {0};
    ak_warnings began = {0};
    assert_int_equal(ak_warn_began(&began, 0.09, NULL), AK_OK);
    assert_int_equal(began.count, 0);
    assert_int_equal(ak_warn_began(&began, 0.43, NULL), AK_OK);
    assert_non_null(strstr(began.texts[0], "43 % of the time"));
    const char *first = ak_warn_keep(&result, NULL, "run", began.texts[0]);
    assert_non_null(ak_warn_keep(&result, NULL, "run", "another"));
    assert_int_equal(result.warning_count, 2);
    ak_warn_drop(&result, first);
    ak_warn_drop(&result, NULL);
    assert_int_equal(result.warning_count, 1);
    assert_string_equal(result.warnings[0], "another");
    ak_tune_result_clear(&result);
    ak_warnings_free(&began);
}

static void a_busy_machine_is_said(void **state)
{
    (void)state;
    ak_warnings warnings = {0};
    ak_warnings before = {0};
    assert_int_equal(ak_warn_start(&before, -1, NULL), AK_OK); /* not known */
    assert_int_equal(ak_warn_start(&before, 0.09, NULL), AK_OK);
    assert_int_equal(before.count, 0);
    assert_int_equal(ak_warn_start(&before, 0.43, NULL), AK_OK);
    assert_int_equal(before.count, 1);
    assert_non_null(strstr(before.texts[0], "the machine is busy"));
    assert_non_null(strstr(before.texts[0], "43 %"));
    ak_warnings_free(&before);
    ak_warnings beside = {0};
    ak_noise trials = {.pressure_before = -1, .pressure = -1, .pressure_after = -1, .rounds = 3};
    assert_int_equal(ak_warn_trials(&beside, &trials, NULL), AK_OK); /* not known */
    trials = (ak_noise){.pressure_before = 0.09, .pressure = 0.45, .rounds = 3};
    assert_int_equal(ak_warn_trials(&beside, &trials, NULL), AK_OK);
    assert_int_equal(beside.count, 0);
    trials.disturbed = 1; /* the same pressure, and the time of a trial has waits */
    assert_int_equal(ak_warn_trials(&beside, &trials, NULL), AK_OK);
    trials = (ak_noise){.pressure_before = 0.02, .pressure = 0.97, .rounds = 3};
    assert_int_equal(ak_warn_trials(&beside, &trials, NULL), AK_OK);
    trials = (ak_noise){.pressure = 0.03, .pressure_after = 0.12, .rounds = 3};
    assert_int_equal(ak_warn_trials(&beside, &trials, NULL), AK_OK);
    assert_int_equal(beside.count, 3);
    assert_non_null(strstr(beside.texts[0], "45 %"));
    assert_non_null(strstr(beside.texts[1], "97 % of the time, so these times may be too long"));
    assert_non_null(strstr(beside.texts[2], "12 %"));
    ak_warnings_free(&beside);
    ak_noise noise = {.control = {.ratio = 1.001, .low = 0.99, .high = 1.01}, .pressure = 0.02};
    assert_int_equal(ak_warn_noise(&warnings, &noise, NULL, 0, NULL), AK_OK);
    noise.pressure = -1; /* not known */
    assert_int_equal(ak_warn_noise(&warnings, &noise, NULL, 0, NULL), AK_OK);
    assert_int_equal(warnings.count, 0);
    noise.pressure = 0.43; /* of a machine whose other processors were busy */
    noise.rounds = 40;
    noise.disturbed = 3;
    assert_int_equal(ak_warn_noise(&warnings, &noise, NULL, 0, NULL), AK_OK);
    assert_int_equal(warnings.count, 0);
    noise.disturbed = 20;
    noise.waits_known = true;
    noise.control = (ak_speed){.ratio = 0.95, .low = 0.92, .high = 1.02};
    assert_int_equal(ak_warn_noise(&warnings, &noise, NULL, 0, NULL), AK_OK);
    assert_int_equal(warnings.count, 2);
    assert_non_null(strstr(warnings.texts[0], " 43 % of the time, and in 20 of 40 rounds the "));
    assert_non_null(strstr(warnings.texts[1], "differed by 5.3 % (95 % interval -2.0 .. 8.7 %): a "
                                              "speed whose interval comes within 5.3 % of 1 is a "
                                              "tie, and one that comes within 8.7 % is not"));
    ak_warnings_free(&warnings);
    /* Where nothing tells whether the measurement waited, no number is given. */
    noise = (ak_noise){.pressure = 0.97, .rounds = 9};
    assert_int_equal(ak_warn_noise(&warnings, &noise, NULL, 0, NULL), AK_OK);
    assert_int_equal(warnings.count, 1);
    assert_non_null(
        strstr(warnings.texts[0], "whether the measurement itself waited is not known"));
    assert_null(strstr(warnings.texts[0], "of 9 rounds"));
    ak_warnings_free(&warnings);
    /* A check that timed out beside other work is told with it. */
    assert_int_equal(ak_warn_timed_out(&warnings, -1, NULL), AK_OK);
    assert_int_equal(ak_warn_timed_out(&warnings, 0.01, NULL), AK_OK);
    assert_int_equal(warnings.count, 0);
    assert_int_equal(ak_warn_timed_out(&warnings, 0.9, NULL), AK_OK);
    assert_int_equal(warnings.count, 1);
    assert_non_null(
        strstr(warnings.texts[0], "a configuration that timed out may be right; check"));
    ak_warnings_free(&warnings);
    /* A control whose interval is wide decides nothing, and makes no ties. */
    noise = (ak_noise){.control = {.ratio = 1.471, .low = 0.8, .high = 2.5}};
    assert_int_equal(ak_warn_noise(&warnings, &noise, NULL, 0, NULL), AK_OK);
    assert_int_equal(warnings.count, 1);
    assert_non_null(strstr(warnings.texts[0], "(95 % interval -20.0 .. 150.0 %): that is too "
                                              "uncertain, so no speed is decided"));
    ak_warnings_free(&warnings);
    /* One that nearly agrees is shown if its interval left a candidate undecided. */
    noise.control = (ak_speed){.ratio = 1.005, .low = 0.98, .high = 1.03};
    ak_compared list = {.over_default = {.doubt = AK_DOUBT_NONE}};
    assert_int_equal(ak_warn_noise(&warnings, &noise, &list, 1, NULL), AK_OK);
    assert_int_equal(warnings.count, 0);
    list.doubt = AK_DOUBT_CONTROL;
    assert_int_equal(ak_warn_noise(&warnings, &noise, &list, 1, NULL), AK_OK);
    assert_int_equal(warnings.count, 1);
    assert_non_null(strstr(warnings.texts[0], "within 1.0 % of 1 is a tie, and one that comes "
                                              "within 3.0 % is not decided"));
    ak_warnings_free(&warnings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_highest_is_kept),
        cmocka_unit_test(a_rise_is_said),
        cmocka_unit_test(times_far_apart_are_said),
        cmocka_unit_test(kinds_of_times_are_said),
        cmocka_unit_test(contradictions_are_said),
        cmocka_unit_test(what_was_not_judged_is_said),
        cmocka_unit_test(a_warning_is_kept_and_dropped),
        cmocka_unit_test(a_busy_machine_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
