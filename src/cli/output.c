/* output.c: see output.h. */
#include "cli/output.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"

/* The largest JSON value that is printed in one piece: a kernel's whole space of parameters fits.
 */
#define JSON_PIECE_MAX (64u << 20)

/* errno of the first write to standard output that failed; stdio forgets it. */
static int write_error;

static void note_error(bool failed)
{
    if (failed && write_error == 0) {
        write_error = errno == 0 ? EIO : errno;
    }
}

void ak_out(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    note_error(vprintf(format, args) < 0);
    va_end(args);
}

bool ak_out_json(const json_t *value)
{
    ak_buf text = AK_BUF(JSON_PIECE_MAX);
    if (value != NULL) {
        ak_json_print(&text, value, false);
    }
    bool good = value != NULL && ak_buf_status(&text, NULL) == AK_OK;
    if (good) {
        ak_out("%s\n", text.data);
    }
    ak_buf_free(&text);
    return good;
}

void ak_out_next(const char *command, const char *why)
{
    ak_out("%snext:%s autokernel %s  %s(%s)%s\n", ak_style_on(stdout, AK_STYLE_BOLD),
           ak_style_on(stdout, AK_STYLE_PLAIN), command, ak_style_on(stdout, AK_STYLE_DIM), why,
           ak_style_on(stdout, AK_STYLE_PLAIN));
}

void ak_complain(const char *text)
{
    /* Results that were printed before come first, also where both streams are one file. */
    note_error(fflush(stdout) != 0);
    (void)fprintf(stderr, "autokernel: %s\n", text);
}

int ak_complain_error(const ak_error *err)
{
    ak_complain(err->text[0] != 0 ? err->text : ak_status_text(err->status));
    switch (err->status) {
    case AK_INVALID:
    case AK_NOT_FOUND:
    case AK_LIMIT:
    case AK_CORRUPT: /* input, too: what was given cannot be used as it is */
        return AK_EXIT_USAGE;
    default:
        return AK_EXIT_FAILED;
    }
}

int ak_out_end(int code)
{
    note_error(fflush(stdout) != 0);
    if (write_error == 0 && ferror(stdout)) {
        write_error = EIO;
    }
    if (write_error == 0) {
        return code;
    }
    if (write_error != EPIPE) { /* a reader that has seen enough, such as head, is no fault */
        char text[160];
        (void)snprintf(text, sizeof text, "cannot write to standard output: %s",
                       strerror(write_error));
        (void)fprintf(stderr, "autokernel: %s\n", text);
    }
    return code == AK_EXIT_DONE ? AK_EXIT_FAILED : code;
}

const char *ak_style_on(FILE *stream, ak_style style)
{
    static const char *const codes[] = {[AK_STYLE_PLAIN] = "\033[0m",
                                        [AK_STYLE_BOLD] = "\033[1m",
                                        [AK_STYLE_DIM] = "\033[2m",
                                        [AK_STYLE_GOOD] = "\033[32m",
                                        [AK_STYLE_BAD] = "\033[31m"};
    const char *term = ak_env("TERM");
    if (ak_env("NO_COLOR") != NULL || term == NULL || strcmp(term, "dumb") == 0 ||
        !isatty(fileno(stream))) {
        return "";
    }
    return codes[style];
}

const char *ak_show_real(char out[AK_NUMBER_BYTES], double value)
{
    if (value == 0 || !isfinite(value)) {
        (void)snprintf(out, AK_NUMBER_BYTES, "%s", value == 0 ? "-" : "?");
        return out;
    }
    /* The digits before the point decide how many follow it. */
    int decimals = 3 - (int)floor(log10(fabs(value)));
    decimals = decimals < 0 ? 0 : decimals > 9 ? 9 : decimals;
    (void)snprintf(out, AK_NUMBER_BYTES, fabs(value) < 1e15 ? "%.*f" : "%.*e", decimals, value);
    return out;
}

const char *ak_show_interval(char out[AK_NUMBER_BYTES], double low, double high)
{
    char a[AK_NUMBER_BYTES], b[AK_NUMBER_BYTES];
    if (high <= 0) {
        (void)snprintf(out, AK_NUMBER_BYTES, "-");
        return out;
    }
    (void)snprintf(out, AK_NUMBER_BYTES, "%.20s .. %.20s", ak_show_real(a, low),
                   ak_show_real(b, high));
    return out;
}

const char *ak_show_ratio(char out[AK_NUMBER_BYTES], double value)
{
    if (value <= 0 || !isfinite(value)) {
        (void)snprintf(out, AK_NUMBER_BYTES, "-");
    } else {
        (void)snprintf(out, AK_NUMBER_BYTES, "%.*fx", value < 10 ? 3 : 1, value);
    }
    return out;
}

const char *ak_show_percent(char out[AK_NUMBER_BYTES], double fraction)
{
    if (fraction <= 0 || !isfinite(fraction)) {
        (void)snprintf(out, AK_NUMBER_BYTES, "-");
    } else {
        (void)snprintf(out, AK_NUMBER_BYTES, "%.1f %%", fraction * 100);
    }
    return out;
}

const char *ak_show_count(char out[AK_NUMBER_BYTES], double count)
{
    if (!(count < 1e15)) {
        (void)snprintf(out, AK_NUMBER_BYTES, "%.3g", count);
        return out;
    }
    char digits[AK_NUMBER_BYTES];
    int length = snprintf(digits, sizeof digits, "%.0f", count);
    char *to = out;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            *to++ = ',';
        }
        *to++ = digits[i];
    }
    *to = 0;
    return out;
}

const char *ak_show_seconds(char out[AK_NUMBER_BYTES], double seconds)
{
    long long whole = seconds < 0 ? 0 : (long long)(seconds + 0.5);
    if (whole < 60) {
        (void)snprintf(out, AK_NUMBER_BYTES, "%lld s", whole);
    } else if (whole < 3600) {
        (void)snprintf(out, AK_NUMBER_BYTES, "%lld:%02lld", whole / 60, whole % 60);
    } else {
        (void)snprintf(out, AK_NUMBER_BYTES, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60,
                       whole % 60);
    }
    return out;
}
