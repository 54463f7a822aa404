/*
 * output.h: what the command line prints. Results go to standard output, progress and complaints to
 * standard error. Text from outside (archives, kernels, compilers) is shown with control characters
 * replaced, so that it cannot steer a terminal.
 */
#ifndef AK_CLI_OUTPUT_H
#define AK_CLI_OUTPUT_H

#include "base/json.h"

typedef enum ak_exit { AK_EXIT_DONE = 0, AK_EXIT_FAILED = 1, AK_EXIT_USAGE = 2 } ak_exit;

void ak_out(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A JSON value, or a text that is one, and a line break. False: no memory. */
bool ak_out_json(const json_t *value);
/* "next:" and a command to try. */
void ak_out_next(const char *command, const char *why);
/* One line on standard error, with "autokernel: " in front. */
void ak_complain(const char *text);
/* The same for an error; returns the exit code: 2 for wrong input, else 1. */
int ak_complain_error(const ak_error *err);
/* At the very end: flushes, and turns a failed write into a complaint and exit code 1. */
int ak_out_end(int code);

typedef enum ak_style {
    AK_STYLE_PLAIN,
    AK_STYLE_BOLD,
    AK_STYLE_DIM,
    AK_STYLE_GOOD,
    AK_STYLE_BAD
} ak_style;
/* The escape sequence, or "" where colour is not wanted: NO_COLOR, not a terminal, TERM=dumb. */
const char *ak_style_on(FILE *stream, ak_style style);

/* Numbers for people. Each returns `out`. */
#define AK_NUMBER_BYTES 48
/* Four significant digits without an exponent: 1365, 12.34, 0.001234; "-" for 0. */
const char *ak_show_real(char out[AK_NUMBER_BYTES], double value);
const char *ak_show_interval(char out[AK_NUMBER_BYTES], double low, double high);
/* "1.23x"; "-" for 0. */
const char *ak_show_ratio(char out[AK_NUMBER_BYTES], double value);
const char *ak_show_percent(char out[AK_NUMBER_BYTES], double fraction);
/* 1234567 as "1,234,567"; large ones as 2.4e+09. */
const char *ak_show_count(char out[AK_NUMBER_BYTES], double count);
/* "12 s", "3:05", "1:02:03" */
const char *ak_show_seconds(char out[AK_NUMBER_BYTES], double seconds);

#endif
