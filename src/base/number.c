/* number.c: see number.h. uselocale changes only the calling thread. newlocale returns the C
   library's static "C" locale, which needs no memory, so that it cannot fail. */
#include "base/number.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

locale_t ak_number_enter(void)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    assert(plain != (locale_t)0);
    return uselocale(plain);
}

void ak_number_leave(locale_t before)
{
    (void)uselocale(before);
}

int ak_number_vprint(char *out, size_t bytes, const char *format, va_list args)
{
    locale_t before = ak_number_enter();
    int length = vsnprintf(out, bytes, format, args);
    ak_number_leave(before);
    return length;
}

int ak_number_print(char *out, size_t bytes, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = ak_number_vprint(out, bytes, format, args);
    va_end(args);
    return length;
}

double ak_number_read(const char *text, char **end)
{
    locale_t before = ak_number_enter();
    double value = strtod(text, end);
    ak_number_leave(before);
    return value;
}

void ak_number_shortest(char out[AK_REAL_BYTES], double value)
{
    for (int digits = 15; digits <= 17; digits++) {
        (void)ak_number_print(out, AK_REAL_BYTES, "%.*g", digits, value);
        if (ak_number_read(out, NULL) == value) {
            return;
        }
    }
}

const char *ak_number_figure(char out[AK_REAL_BYTES], double value, int digits)
{
    if (!isfinite(value)) {
        (void)snprintf(out, AK_REAL_BYTES, "?");
        return out;
    }
    /* The exponent after rounding counts: 9.9996 becomes 10.00, with one more digit before the
       point. */
    (void)ak_number_print(out, AK_REAL_BYTES, "%.*e", digits - 1, value);
    const char *e = strchr(out, 'e');
    int exponent = e == NULL ? 0 : (int)ak_number_read(e + 1, NULL);
    if (value == 0) {
        (void)snprintf(out, AK_REAL_BYTES, "0");
    } else if (exponent < 15 && exponent >= -7) {
        int decimals = digits - 1 - exponent;
        (void)ak_number_print(out, AK_REAL_BYTES, "%.*f", decimals < 0 ? 0 : decimals, value);
    }
    return out;
}

const char *ak_number_short(char out[AK_REAL_BYTES], double value, int digits)
{
    (void)ak_number_figure(out, value, digits);
    if (strchr(out, '.') != NULL && strchr(out, 'e') == NULL) {
        size_t length = strlen(out);
        while (out[length - 1] == '0') {
            length--;
        }
        out[length - (out[length - 1] == '.')] = 0;
    }
    return out;
}

const char *ak_number_ratio(char out[AK_REAL_BYTES], double ratio)
{
    if (ratio >= 0.1 && ratio < 1e6) {
        (void)ak_number_print(out, AK_REAL_BYTES, ratio < 10 ? "%.3f" : "%.1f", ratio);
        return out;
    }
    return ak_number_figure(out, ratio, AK_DIGITS_DURATION);
}

const char *ak_number_few(char out[AK_REAL_BYTES], size_t samples)
{
    (void)snprintf(out, AK_REAL_BYTES, "%zu sample%s: no interval", samples,
                   samples == 1 ? "" : "s");
    return out;
}

const char *ak_number_size(char out[AK_REAL_BYTES], size_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    if (bytes < 1024) {
        (void)snprintf(out, AK_REAL_BYTES, "%zu byte%s", bytes, bytes == 1 ? "" : "s");
        return out;
    }
    double scaled = (double)bytes / 1024;
    size_t unit = 0;
    while (scaled >= 1024 && unit + 1 < sizeof units / sizeof units[0]) {
        scaled /= 1024;
        unit++;
    }
    (void)ak_number_print(out, AK_REAL_BYTES, "%.4g %s", scaled, units[unit]);
    return out;
}
