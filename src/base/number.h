/*
 * number.h: converts between numbers and texts in the same way in every locale.
 *
 * A program that uses the library may have called setlocale. If a comma separates decimals there,
 * the C library's strtod reads "1.5" as 1 and its printf writes 0.5 as "0,5". So the library
 * converts all reals with the functions below, which set the locale "C" for the calling thread
 * during the call; tools/lint.sh refuses the C library's own functions elsewhere. ascii.h
 * classifies the letters and digits of names for the same reason.
 */
#ifndef AK_BASE_NUMBER_H
#define AK_BASE_NUMBER_H

#include <locale.h>
#include <stdarg.h>
#include <stddef.h>

#define AK_REAL_BYTES 32

/* Print as snprintf and vsnprintf do: `out` ends in a 0 if `bytes` is not 0, and the result is
   the length of the whole text, or negative if it cannot be formatted. */
int ak_number_print(char *out, size_t bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int ak_number_vprint(char *out, size_t bytes, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* Reads a number as strtod does: returns the number that the text begins with and sets *end (unless
   `end` is NULL) to the text after the number. *end is `text` if there is no number. */
double ak_number_read(const char *text, char **end);

/* Writes a number with 15, 16 or 17 significant digits, the fewest that read back as the same
   number. Trailing zeros are left out. */
void ak_number_shortest(char out[AK_REAL_BYTES], double value);

/* The one rule of how many digits people see, in every table, sentence and picture; tools.js
   repeats it for pages. What was measured (times, rates, bandwidths) has AK_DIGITS significant
   digits, and all of those before the decimal point if these are more; it ends in zeros if they
   were measured, and has no exponent from 10^-7 to 10^15. A ratio of speeds has thousandths, and
   tenths from 10 on, because the noise of a measurement is not finer. A duration has
   AK_DIGITS_DURATION digits in the same way, as has a ratio below 0.1 or from 10^6 on. A share has
   tenths of a percent. */
#define AK_DIGITS          4
#define AK_DIGITS_DURATION 3
/* The functions below return `out`. A value that is not finite is written as "?", and 0 as "0". */
const char *ak_number_figure(char out[AK_REAL_BYTES], double value, int digits);
/* Writes as ak_number_figure does, but drops trailing zeros after the decimal point: 100, 0.5,
   12345. Sentences use it where %g would write 1e+02. */
const char *ak_number_short(char out[AK_REAL_BYTES], double value, int digits);
const char *ak_number_ratio(char out[AK_REAL_BYTES], double ratio);
/* Writes that so few samples give no 95 % interval: "3 samples: no interval". */
const char *ak_number_few(char out[AK_REAL_BYTES], size_t samples);
/* Writes a number of bytes in the largest unit, up to TiB, that makes it 1 or more: "1.5 MiB". */
const char *ak_number_size(char out[AK_REAL_BYTES], size_t bytes);

/* Enclose calls of another library that converts numbers: between them the thread is in the
   locale "C". ak_number_leave takes the result of ak_number_enter. */
locale_t ak_number_enter(void);
void ak_number_leave(locale_t before);

#endif
