/*
 * host_locale.c: is linked into every unit test. If AK_TEST_LOCALE names a locale, the test runs
 * in that locale, as in a program that has called setlocale; without the locale it is skipped
 * (exit code 77). Tests of running out of memory, which repeat one operation thousands of times and
 * look at no text, are left out there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void set_locale(void)
{
    const char *name = getenv("AK_TEST_LOCALE");
    if (name != NULL && setlocale(LC_ALL, name) == NULL) {
        (void)printf("skip: no locale \"%s\" here; tests/locale/make.sh needs localedef\n", name);
        exit(77);
    }
    if (name != NULL) {
        cmocka_set_skip_filter("test_no_memory*");
    }
}
