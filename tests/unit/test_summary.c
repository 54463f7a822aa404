/* test_summary.c: tests the sentences that say what a comparison found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "tuner/side_by_side.h"

enum { TUNED, DEFAULT, LIBRARY, COUNT };

typedef struct scene {
    ak_compared list[COUNT];
    ak_comparison_result comparison;
} scene;

static scene of(ak_speed over_default, ak_speed over_library)
{
    scene s = {.list = {{.name = (char *)"tuned", .median_ms = 1, .over_default = over_default},
                        {.name = (char *)"default", .median_ms = 2},
                        {.name = (char *)"OpenBLAS", .version = (char *)"0.3.21", .median_ms = 1}},
               .comparison = {.library = over_library.ratio > 0 ? LIBRARY : COUNT}};
    s.list[TUNED].ratio = over_library.ratio;
    s.list[TUNED].ratio_low = over_library.low;
    s.list[TUNED].ratio_high = over_library.high;
    s.list[TUNED].verdict = over_library.verdict;
    s.list[TUNED].doubt = over_library.doubt;
    s.list[DEFAULT].over_default = (ak_speed){1, 1, 1, AK_SPEED_NONE, AK_DOUBT_NONE};
    return s;
}

static void assert_words(scene *s, size_t which, const char *wanted)
{
    char *words = NULL;
    s->comparison.list = s->list;
    s->comparison.count = COUNT;
    s->comparison.fallback = DEFAULT;
    assert_int_equal(ak_summary(&words, &s->comparison, which, NULL, NULL), AK_OK);
    assert_string_equal(words, wanted);
    ak_free(words);
}

static void the_default_and_a_library(void **state)
{
    (void)state;
    ak_speed much = {2.1, 2.04, 2.16, AK_SPEED_FASTER, AK_DOUBT_NONE},
             tie = {1.01, 0.99, 1.03, AK_SPEED_TIE, AK_DOUBT_NONE},
             little = {1.04, 1.02, 1.06, AK_SPEED_FASTER, AK_DOUBT_NONE}, none = {0};
    scene a = of(much, tie), b = of(tie, little), c = of(much, none), d = of(none, none);
    assert_words(&a, TUNED, "2.100 times the default (2.040 .. 2.160); a tie with OpenBLAS 0.3.21");
    assert_words(
        &b, TUNED,
        "a tie with the default; 1.040 times the speed of OpenBLAS 0.3.21 (1.020 .. 1.060)");
    assert_words(&c, TUNED, "2.100 times the default (2.040 .. 2.160)");
    assert_words(&d, DEFAULT, "nothing faster than the default was found");
}

/* The sentence gives the same reason for an undecided verdict as tables and JSON. */
static void what_is_not_decided_says_why(void **state)
{
    (void)state;
    ak_speed much = {2.1, 2.04, 2.16, AK_SPEED_FASTER, AK_DOUBT_NONE},
             open = {8.3, 1.1, 335, AK_SPEED_UNDECIDED, AK_DOUBT_VARIES},
             busy = {1.2, 1.1, 1.3, AK_SPEED_UNDECIDED, AK_DOUBT_BUSY},
             differs = {1.2, 1.1, 1.3, AK_SPEED_UNDECIDED, AK_DOUBT_CONTROL}, none = {0};
    scene a = of(busy, busy), b = of(much, open), c = of(open, none), d = of(differs, differs),
          e = of(differs, open), f = of(busy, much), g = of(none, none);
    scene *const scenes[] = {&a, &b, &c, &d, &e, &f, &g};
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        scenes[i]->comparison.noise = (ak_noise){.pressure = 0.68, .rounds = 40, .disturbed = 30};
    }
    g.list[TUNED].over_default = differs;
    assert_words(&a, TUNED, "not decided: busy (pressure 68 %)");
    assert_words(&b, TUNED,
                 "2.100 times the default (2.040 .. 2.160); not decided against OpenBLAS 0.3.21: "
                 "times vary (1.100 .. 335.0)");
    assert_words(&c, TUNED, "not decided: times vary (1.100 .. 335.0)");
    assert_words(&d, TUNED, "not decided: same code differs");
    assert_words(&e, TUNED,
                 "not decided against the default: same code differs; not decided against OpenBLAS "
                 "0.3.21: times vary (1.100 .. 335.0)");
    assert_words(&f, TUNED,
                 "not decided against the default: busy (pressure 68 %); 2.100 times the speed of "
                 "OpenBLAS 0.3.21 (2.040 .. 2.160)");
    assert_words(&g, DEFAULT,
                 "whether anything is faster than the default is not decided: same code differs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_and_a_library),
        cmocka_unit_test(what_is_not_decided_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
