/* host_locale.c: linked into every unit test. Where AK_TEST_LOCALE names a locale, the test runs as
   a program that has set it before it calls the library; where that locale cannot be had, it is
   skipped (exit code 77). */
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
}
