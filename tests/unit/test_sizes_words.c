/* test_sizes_words.c: tests the sentences about tables of many sizes: an undecided size is neither
   a win nor a loss. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/headline.h"

/* The JSON of a size: the loss of the table, and its speed relative to the library. */
#define SIZE(name, loss, verdict, speed, decided)                                                  \
    "{\"size\": \"n=" #name "\", \"ms\": 2, \"library_ms\": 4, \"config\": 0, \"loss\": " #loss    \
    ", \"loss_verdict\": \"" verdict "\", \"config_over_library\": {\"ratio\": " #speed            \
    ", \"verdict\": \"" decided "\"}}"

static void assert_words(const char *sizes, const char *wanted, const char *libraries)
{
    char text[2000];
    json_t *result;
    ak_buf words = AK_BUF(4000), others = AK_BUF(4000);
    (void)snprintf(text, sizeof text, "{\"table\": {\"configs\": [0]}, \"sizes\": [%s]}", sizes);
    result = json_loads(text, 0, NULL);
    assert_non_null(result);
    const ak_report_model model = {.result = result, .objective = "time"};
    ak_headline_sizes(&words, &model);
    ak_headline_libraries(&others, &model);
    assert_string_equal(words.data, wanted);
    assert_string_equal(others.data == NULL ? "" : others.data, libraries);
    ak_buf_free(&words);
    ak_buf_free(&others);
    json_decref(result);
}

static void what_is_decided_is_told(void **state)
{
    (void)state;
    assert_words(SIZE(1, 1, "none", 2, "faster") "," SIZE(2, 1.1, "slower", 8, "faster"),
                 "2 sizes were tuned; a table of 1 configuration for all of them is 4.9 % slower "
                 "than the best of each (geometric mean), 10.0 % at worst.",
                 "It has 4.000 times the speed of the fastest library of each size (geometric mean "
                 "of 2), from 2.000 at n=1 to 8.000 at n=2.");
}

static void what_is_not_decided_is_in_no_figure(void **state)
{
    (void)state;
    assert_words(SIZE(1, 0.5, "undecided", 4.1, "undecided") "," SIZE(2, 1, "none", 2, "faster"),
                 "2 sizes were tuned; a table of 1 configuration for all of them is 0.0 % slower "
                 "than the best of each (geometric mean where that was decided), 0.0 % at worst; "
                 "it was not decided for 1 size.",
                 "It has 2.000 times the speed of the fastest library of each size (geometric mean "
                 "of 1), from 2.000 at n=2 to 2.000 at n=2; not decided at 1 size.");
    assert_words(SIZE(1, 0.5, "undecided", 4.1, "undecided"),
                 "1 size was tuned; what a table of 1 configuration for all of them loses against "
                 "the best of each was not decided.",
                 "Against the fastest library of each size nothing was decided.");
    /* An earlier version recorded the times of libraries and no verdict. */
    assert_words(
        "{\"size\": \"n=1\", \"ms\": 2, \"library_ms\": 4, \"loss\": 1}",
        "1 size was tuned; a table of 1 configuration for all of them is 0.0 % slower than "
        "the best of each (geometric mean), 0.0 % at worst.",
        "Against the fastest library of each size nothing was decided.");
}

static void a_tie_is_no_win(void **state)
{
    (void)state;
    assert_words(
        SIZE(1, 0.99, "tie", 1.009, "tie"),
        "1 size was tuned; a table of 1 configuration for all of them is 0.0 % slower than "
        "the best of each (geometric mean), 0.0 % at worst.",
        "It is a tie with the fastest library at 1 size.");
    assert_words(SIZE(1, 1, "none", 1.009, "tie") "," SIZE(2, 1, "none", 0.25, "slower"),
                 "2 sizes were tuned; a table of 1 configuration for all of them is 0.0 % slower "
                 "than the best of each (geometric mean), 0.0 % at worst.",
                 "It has 0.500 times the speed of the fastest library of each size (geometric mean "
                 "of 2), from 0.250 at n=2 to 1.000 at n=1; it is a tie at 1 size.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_decided_is_told),
        cmocka_unit_test(what_is_not_decided_is_in_no_figure),
        cmocka_unit_test(a_tie_is_no_win),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
