/*
 * output.h: prints for people and programs.
 *
 * Results go to standard output, progress and complaints to standard error. Texts may come from
 * outside (archives, kernels, compilers), so every print to a terminal replaces their control
 * characters but line breaks and tabs, and only ak_out_styled adds the sequences that set a style.
 * So no such text can steer a terminal, or hide what is printed or pass for it. On a terminal,
 * lines are folded between words, except by ak_out_whole, and tables in their columns (table.h). A
 * pipe or a file gets whole lines, except that help is folded there too. The variable COLUMNS
 * overrides the width that the terminal reports.
 */
#ifndef AK_CLI_OUTPUT_H
#define AK_CLI_OUTPUT_H

#include "base/json.h"

/* AK_EXIT_NO_WORKER is for the autokernel that started this one (cli/wide.c). It says that the
   worker could not be started or was lost, so the task itself may work elsewhere. */
typedef enum ak_exit {
    AK_EXIT_DONE = 0,
    AK_EXIT_FAILED = 1,
    AK_EXIT_USAGE = 2,
    AK_EXIT_NO_WORKER = 69
} ak_exit;

void ak_out(const char *format, ...) __attribute__((format(printf, 1, 2)));
typedef enum ak_style {
    AK_STYLE_PLAIN,
    AK_STYLE_BOLD,
    AK_STYLE_DIM,
    AK_STYLE_GOOD,
    AK_STYLE_BAD
} ak_style;
/* Does what ak_out does, in a style; without one if NO_COLOR is set, TERM is unset or "dumb", or
   standard output is no terminal. */
void ak_out_styled(ak_style style, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints a text whose lines are not folded. In a pipe or a file every byte of it is kept, because
   it may be data. */
void ak_out_whole(const char *text);
/* If `status`, the result of the call that made the text, is AK_OK, prints the text and a line
   break. Frees the text and returns `status`. */
ak_status ak_out_document(ak_status status, char *text);
/* If `status`, the result of the call that made the JSON text, is AK_OK, parses the text. Frees the
   text and sets *text to NULL. `what` names the text in messages:

       AK_TRY(ak_out_parse(&facts, ak_task_facts(&text, task, NULL, err), &text, "facts", err)); */
ak_status ak_out_parse(json_t **out, ak_status status, char **text, const char *what,
                       ak_error *err);
/* Returns the width of the terminal that a stream is connected to: that of COLUMNS, else what the
   terminal reports now if that is 20 or more, else 80; 0 if the stream is not connected to a
   terminal. */
size_t ak_columns(FILE *stream);
/* Returns the width that the variable COLUMNS sets; 0: none from 20 to 10000. */
size_t ak_columns_wanted(void);
/* Prints a JSON value and a line break. Returns false and prints nothing if `value` is NULL, its
   text is longer than 64 MiB, or memory is out. */
bool ak_out_json(const json_t *value);
/* Prints "next:" and a command to try, with what it does. */
void ak_out_next(const char *command, const char *why);
/* Makes suggestions name the program as it was started, if that is a path that needs no quotes and
   the shell does not find `autokernel`. */
void ak_out_started_as(const char *program);
/* Keeps a pointer to the arguments of the command that runs. An error that contains the value of a
   setting then says where the setting is from; output.c has the exceptions. NULL ends this. */
struct ak_args;
void ak_out_settings(const struct ak_args *args);
/* Prints one line on standard error, with "autokernel: " in front. */
void ak_complain(const char *text);
/* Prints one line on standard error. */
void ak_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints one line on standard error, with "warning: " in front. */
void ak_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Complains about an error and returns the exit code: 2 for input that is wrong, missing, damaged
   or over a limit, else 1. */
int ak_complain_error(const ak_error *err);
/* Ends a command with the line and the exit code of the error, if a call that fills *err fails. */
#define AK_OR_COMPLAIN(call)                                                                       \
    do {                                                                                           \
        if ((call) != AK_OK) {                                                                     \
            return ak_complain_error(err);                                                         \
        }                                                                                          \
    } while (0)
/* Does the same as ak_complain_error, but returns 1 for AK_NOT_FOUND, because an archive that has
   no such entry yet is no mistake of the user. With `named`, the user named the missing entry, and
   the exit code is 2. */
int ak_complain_none(const ak_error *err, bool named);
/* Flushes standard output; to be called last. Returns `code`, or 1 if that is 0 and a write failed.
   A failed write is also complained about, unless the reader has closed the pipe. */
int ak_out_end(int code);

/* Numbers for people. Each function returns `out`. */
#define AK_NUMBER_BYTES 48
/* Writes four significant digits, from 1e-7 up to 1e15 without an exponent: 1365, 12.34, 0.001234;
   "-" for 0, "?" for a value that is not finite. */
const char *ak_show_real(char out[AK_NUMBER_BYTES], double value);
const char *ak_show_interval(char out[AK_NUMBER_BYTES], double low, double high);
/* Writes the interval of a trial's time; "3 samples: no interval" if its samples are too few; "-"
   if it has none or one, as on a recording. */
const char *ak_show_trial_interval(char out[AK_NUMBER_BYTES], const ak_trial *trial);
/* Writes " (LOW .. HIGH)", to follow a figure; "" if there is no interval. */
const char *ak_show_spread(char out[AK_NUMBER_BYTES], double low, double high);
/* Writes "1.234x", from 10 on "12.3x"; "-" if the value is not positive and finite. */
const char *ak_show_ratio(char out[AK_NUMBER_BYTES], double value);
/* Writes the rate that `bound` selects, "0.2081 TFLOP/s" or "39.97 GB/s", or the other if only that
   is known; "-" if neither is. `bound` is "compute", "memory" or NULL, which means "compute". */
const char *ak_show_rate(char out[AK_NUMBER_BYTES], double tflops, double gbs, const char *bound);
const char *ak_show_percent(char out[AK_NUMBER_BYTES], double fraction);
/* Writes 1234567 as "1,234,567", and values from 1e15 on as "1.23e+15". */
const char *ak_show_count(char out[AK_NUMBER_BYTES], double count);
/* Writes "12 s", "3:05" or "1:02:03". */
const char *ak_show_seconds(char out[AK_NUMBER_BYTES], double seconds);

#endif
