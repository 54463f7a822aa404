/*
 * test_locale.c: tests the library in a program that has called setlocale. Conversions of the C
 * library then give other results; those of autokernel must not. The tests locale/NAME run other
 * unit tests in the same locale (tests/CMakeLists.txt).
 */
#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/ascii.h"
#include "base/number.h"
#include "space_fixture.h"

/* Suppresses a leak of glibc, which keeps the split text of LOCPATH when a locale is set. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:__argz_add_sep\n";
}

static void the_locale_is_hostile(void **state)
{
    (void)state;
    char text[16];
    (void)snprintf(text, sizeof text, "%g", 0.5);
    assert_string_equal(text, "0,5");
    assert_true(strtod("1.5", NULL) == 1.0);
    assert_true(isalpha(0xe4));
    assert_int_not_equal(toupper('i'), 'I');
}

static void numbers_have_a_point(void **state)
{
    (void)state;
    char text[AK_REAL_BYTES], *end;
    const char *source = "1.5e3,7";
    assert_true(ak_number_read(source, &end) == 1500.0);
    assert_ptr_equal(end, source + 5);
    assert_int_equal(ak_number_print(text, sizeof text, "%.2f %g", 1234.5, 0.5), 11);
    assert_string_equal(text, "1234.50 0.5");
    ak_number_shortest(text, 0.1);
    assert_string_equal(text, "0.1");
    ak_number_shortest(text, 1.0 / 3.0);
    assert_true(ak_number_read(text, NULL) == 1.0 / 3.0);
    ak_error err = AK_ERROR_INIT;
    (void)ak_fail(&err, AK_INVALID, "%g is too large", 2.5);
    assert_string_equal(err.text, "2.5 is too large");
    double seconds = 0;
    assert_true(ak_text_seconds(&seconds, "1.5h") && seconds == 5400.0);
    assert_false(ak_text_real(&seconds, "1,5"));
}

static void the_locale_of_the_program_stays(void **state)
{
    (void)state;
    char text[AK_REAL_BYTES];
    ak_number_shortest(text, 0.1);
    the_locale_is_hostile(state);
    locale_t own = newlocale(LC_ALL_MASK, "hostile", (locale_t)0); /* of this thread alone */
    locale_t before = uselocale(own);
    ak_number_shortest(text, 0.1);
    assert_string_equal(text, "0.1");
    assert_ptr_equal(uselocale((locale_t)0), own);
    (void)uselocale(before);
    freelocale(own);
}

static void *convert(void *context)
{
    size_t *wrong = context;
    for (int i = 0; i < 2000; i++) {
        char text[AK_REAL_BYTES];
        ak_number_shortest(text, i + 0.5);
        *wrong += strchr(text, ',') != NULL || ak_number_read(text, NULL) != i + 0.5;
    }
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    size_t wrong[4] = {0};
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, convert, &wrong[i]), 0);
    }
    the_locale_is_hostile(state);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(wrong[i], 0);
    }
}

/* The real number in a condition is read with '.' as decimal point: 3 configurations are valid, not
   4. */
static void conditions_mean_what_they_say(void **state)
{
    (void)state;
    ak_space *space =
        fixture_space("{\"TuningParameters\": ["
                      "{\"Name\": \"UNROLL\", \"Type\": \"int\", \"Values\": \"[1, 2, 4, 8]\"},"
                      "{\"Name\": \"SHARE\", \"Type\": \"float\", \"Values\": \"[0.5]\"}],"
                      "\"Conditions\": [{\"Expression\": \"UNROLL >= 1.5\"}]}");
    assert_int_equal(ak_space_count(space), 3);
    ak_config config;
    ak_space_at(&config, space, 0);
    char text[64];
    assert_true(ak_config_format(text, sizeof text, space, &config) > 0);
    assert_string_equal(text, "UNROLL=2,SHARE=0.5");
    ak_space_free(space);
}

static void json_is_json(void **state)
{
    (void)state;
    json_t *value = NULL;
    char *text = NULL;
    const char *source = "{\"a\":0.25,\"b\":1.5e-7}";
    assert_int_equal(ak_json_parse(&value, source, strlen(source), "test", NULL), AK_OK);
    assert_true(ak_json_number_at(value, "a") == 0.25);
    assert_int_equal(ak_json_text(&text, value, NULL), AK_OK);
    assert_non_null(strstr(text, "0.25"));
    assert_non_null(strstr(text, "1.5e-07"));
    ak_free(text);
    json_decref(value);
}

static void letters_are_those_of_ascii(void **state)
{
    (void)state;
    assert_false(ak_ascii_is_letter((char)0xe4));
    assert_false(ak_ascii_is_blank((char)0xa0));
    assert_int_equal(ak_ascii_upper('i'), 'I');
    assert_int_equal(ak_ascii_lower('I'), 'i');
    assert_true(ak_ascii_equal("RETRY-AFTER-MS", "retry-after-ms"));
    assert_false(ak_ascii_equal("id", "ids"));
    assert_true(ak_ascii_begins("ID: 7", "id"));
    assert_false(ak_ascii_begins("i", "id"));
    assert_string_equal(ak_ascii_find("an INVALID key", "invalid"), "INVALID key");
    assert_null(ak_ascii_find("an inval", "invalid"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_locale_is_hostile),
        cmocka_unit_test(numbers_have_a_point),
        cmocka_unit_test(the_locale_of_the_program_stays),
        cmocka_unit_test(threads_do_not_disturb_each_other),
        cmocka_unit_test(conditions_mean_what_they_say),
        cmocka_unit_test(json_is_json),
        cmocka_unit_test(letters_are_those_of_ascii),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
