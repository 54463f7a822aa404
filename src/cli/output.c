#include "cli/output.h"

#include <errno.h>
#include <math.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/layout.h"
#include "base/number.h"
#include "base/plain.h"
#include "cli/command.h"

/* Limit on the bytes of a JSON value that is printed; a kernel's whole space of parameters fits. */
#define JSON_PIECE_MAX (64u << 20)

/* errno of the first failed write to standard output; stdio does not keep it. */
static int write_error;

static void note_error(bool failed)
{
    if (failed && write_error == 0) {
        write_error = errno == 0 ? EIO : errno;
    }
}

/* ---- lines ----------------------------------------------------------------------------------- */

#define COLUMNS_DEFAULT 80 /* for a terminal that does not report its width */
#define COLUMNS_LEAST   20
#define COLUMNS_MOST    10000
#define LINE_BYTES_MAX  (1u << 20)
#define TEXT_BYTES_MAX  (1u << 30)
#define HANGING         2 /* indentation of the rest of a folded line */

size_t ak_columns_wanted(void)
{
    int64_t wanted = 0;
    const char *set = ak_env("COLUMNS");
    bool good = set != NULL && ak_text_int(&wanted, set) && wanted >= COLUMNS_LEAST &&
                wanted <= COLUMNS_MOST;
    return good ? (size_t)wanted : 0;
}

size_t ak_columns(FILE *stream)
{
    struct winsize size;
    const size_t wanted = ak_columns_wanted();
    if (!isatty(fileno(stream)) || wanted > 0) {
        return isatty(fileno(stream)) ? wanted : 0;
    }
    bool known = ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col >= COLUMNS_LEAST;
    return known ? size.ws_col : COLUMNS_DEFAULT;
}

/* The incomplete last line of standard output, which is folded when it is complete; used on a
   terminal only. */
static ak_buf pending = AK_BUF(LINE_BYTES_MAX);

static void write_text(const char *text, size_t bytes)
{
    note_error(fwrite(text, 1, bytes, stdout) < bytes);
}

static void write_line(char *line, size_t bytes, size_t width)
{
    AK_AT_END(ak_buf_free) ak_buf folded = AK_BUF(2 * LINE_BYTES_MAX);
    char after = line[bytes];
    line[bytes] = 0;
    ak_layout_fill(&folded, line, width, 0, strspn(line, " ") + HANGING);
    line[bytes] = after;
    if (ak_buf_status(&folded, NULL) == AK_OK) {
        write_text(folded.data, folded.length);
    } else {
        write_text(line, bytes);
    }
}

/* Writes the complete lines of `pending` and, with `all`, the rest. */
static void write_pending(size_t width, bool all)
{
    size_t begin = 0;
    for (size_t at = 0; at < pending.length; at++) {
        if (pending.data[at] == '\n') {
            write_line(pending.data + begin, at - begin, width);
            write_text("\n", 1);
            begin = at + 1;
        }
    }
    ak_buf rest = AK_BUF(LINE_BYTES_MAX);
    if (all) {
        write_text(pending.data + begin, pending.length - begin);
    } else {
        ak_buf_append(&rest, pending.data + begin, pending.length - begin);
    }
    ak_buf_free(&pending);
    pending = rest;
}

static void print_part(const char *text, size_t bytes)
{
    const size_t width = ak_columns(stdout);
    if (width == 0 || bytes > LINE_BYTES_MAX / 2) {
        write_pending(width, true);
        write_text(text, bytes);
    } else {
        ak_buf_append(&pending, text, bytes);
        write_pending(width, pending.failed != AK_OK);
    }
}

static void print_screened(const char *format, va_list args)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(TEXT_BYTES_MAX);
    ak_buf_vprint(&text, format, args);
    if (ak_buf_status(&text, NULL) != AK_OK) {
        write_pending(ak_columns(stdout), true);
        errno = ENOMEM;
        note_error(true);
    } else {
        ak_plain_screen(text.data);
        print_part(text.data, text.length);
    }
}

static void set_style(ak_style style)
{
    static const char *const sequences[] = {"\033[0m", "\033[1m", "\033[2m", "\033[32m",
                                            "\033[31m"};
    const char *term = ak_env("TERM");
    if (ak_env("NO_COLOR") == NULL && term != NULL && strcmp(term, "dumb") != 0 &&
        isatty(fileno(stdout))) {
        print_part(sequences[style], strlen(sequences[style]));
    }
}

void ak_out(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_screened(format, args);
    va_end(args);
}

void ak_out_styled(ak_style style, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_style(style);
    print_screened(format, args);
    set_style(AK_STYLE_PLAIN);
    va_end(args);
}

void ak_out_whole(const char *text)
{
    write_pending(0, true);
    char *screened = isatty(fileno(stdout)) ? ak_strdup(text) : NULL;
    if (screened != NULL) {
        ak_plain_screen(screened);
        write_text(screened, strlen(screened));
        ak_free(screened);
    } else if (isatty(fileno(stdout))) {
        errno = ENOMEM;
        note_error(true);
    } else {
        write_text(text, strlen(text));
    }
}

ak_status ak_out_document(ak_status status, char *text)
{
    if (status == AK_OK) {
        ak_out_whole(text);
        ak_out_whole("\n");
    }
    ak_text_free(text);
    return status;
}

ak_status ak_out_parse(json_t **out, ak_status status, char **text, const char *what, ak_error *err)
{
    if (status == AK_OK) {
        status = ak_json_parse_text(out, *text, what, err);
    }
    ak_text_free(*text);
    *text = NULL;
    return status;
}

bool ak_out_json(const json_t *value)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(JSON_PIECE_MAX);
    if (value != NULL) {
        ak_json_print(&text, value, false);
    }
    bool good = value != NULL && ak_buf_status(&text, NULL) == AK_OK;
    if (good) {
        ak_buf_putc(&text, '\n');
        ak_out_whole(text.data);
    }
    return good;
}

/* The program's name in suggestions. */
static const char *own_name = "autokernel";

/* The arguments of the command that runs. */
static const ak_args *settings_of;

void ak_out_settings(const ak_args *args)
{
    settings_of = args;
}

void ak_out_started_as(const char *program)
{
    char found[AK_PATH_MAX];
    if (strchr(program, '/') != NULL && strpbrk(program, " \t\n'\"\\$`") == NULL &&
        !ak_fs_which(found, own_name)) {
        own_name = program;
    }
}

void ak_out_next(const char *command, const char *why)
{
    static const char label[] = "next: ";
    const size_t width = ak_columns(stdout), indent = sizeof label - 1;
    AK_AT_END(ak_buf_free) ak_buf whole = AK_BUF(LINE_BYTES_MAX), line = AK_BUF(LINE_BYTES_MAX);
    ak_buf_print(&whole, "%s %s", own_name, command);
    ak_layout_command(&line, whole.data, width, indent, indent + HANGING);
    const char *last = strrchr(line.data, '\n');
    size_t used = last == NULL ? indent + ak_layout_width(line.data) : ak_layout_width(last + 1);
    bool beside = width == 0 || used + ak_layout_width(why) + 4 <= width;
    ak_out_styled(AK_STYLE_BOLD, "next:");
    ak_out(" %s%s", line.data, beside ? "  " : "\n      ");
    ak_out_styled(AK_STYLE_DIM, "(%s)", why);
    ak_out("\n");
}

static void print_error(const char *label, const char *text)
{
    const size_t indent = strlen(label);
    AK_AT_END(ak_buf_free) ak_buf line = AK_BUF(LINE_BYTES_MAX);
    /* Results that were printed earlier come first, even if both streams are one file. */
    write_pending(ak_columns(stdout), true);
    note_error(fflush(stdout) != 0);
    ak_layout_fill(&line, text, ak_columns(stderr), indent, indent);
    ak_plain_screen(line.data);
    (void)fprintf(stderr, "%s%s\n", label, line.data);
}

void ak_complain(const char *text)
{
    print_error("autokernel: ", text);
}

static void print_labelled(const char *label, const char *format, va_list args)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(LINE_BYTES_MAX);
    ak_buf_vprint(&text, format, args);
    print_error(label, text.data);
}

void ak_tell(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_labelled("", format, args);
    va_end(args);
}

void ak_warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_labelled("warning: ", format, args);
    va_end(args);
}

/* Appends the origin of each option whose value the error contains, unless the option was typed,
   its value has one character, or the error names the origin already. The archive is left out,
   because many errors with another cause contain its path. */
static void add_origins(ak_buf *out, const char *text)
{
    for (size_t i = 0; settings_of != NULL && i < AK_OPTION_COUNT; i++) {
        const char *value = settings_of->text[i], *origin = settings_of->origin[i];
        if (i != AK_OPTION_ARCHIVE && value != NULL && strlen(value) > 1 && origin != NULL &&
            strncmp(origin, "--", 2) != 0 && strstr(text, value) != NULL &&
            strstr(text, origin) == NULL) {
            ak_buf_print(out, "; \"%.60s\" is from %s", value, origin);
        }
    }
}

int ak_complain_error(const ak_error *err)
{
    const char *text = err->text[0] != 0 ? err->text : ak_status_text(err->status);
    ak_buf line = AK_BUF(LINE_BYTES_MAX);
    ak_buf_puts(&line, text);
    if (err->status == AK_INTERNAL) {
        ak_buf_puts(&line, "; this is a bug in autokernel: please report it");
    } else {
        add_origins(&line, text);
    }
    ak_complain(ak_buf_status(&line, NULL) == AK_OK ? line.data : text);
    ak_buf_free(&line);
    switch (err->status) {
    case AK_INVALID:
    case AK_NOT_FOUND:
    case AK_LIMIT:
    case AK_CORRUPT: /* damaged input counts as unusable input */
        return AK_EXIT_USAGE;
    default:
        return AK_EXIT_FAILED;
    }
}

int ak_complain_none(const ak_error *err, bool named)
{
    const int code = ak_complain_error(err);
    return err->status == AK_NOT_FOUND && !named ? AK_EXIT_FAILED : code;
}

int ak_out_end(int code)
{
    write_pending(ak_columns(stdout), true);
    ak_buf_free(&pending);
    note_error(fflush(stdout) != 0);
    if (write_error == 0 && ferror(stdout)) {
        write_error = EIO;
    }
    if (write_error == 0) {
        return code;
    }
    /* There is no message for EPIPE, because a reader such as head may close the pipe. */
    if (write_error != EPIPE) {
        char text[160];
        (void)snprintf(text, sizeof text, "cannot write to standard output: %s%s",
                       strerror(write_error), ak_fs_advice(write_error));
        (void)fprintf(stderr, "autokernel: %s\n", text);
    }
    return code == AK_EXIT_DONE ? AK_EXIT_FAILED : code;
}

const char *ak_show_real(char out[AK_NUMBER_BYTES], double value)
{
    if (value == 0) {
        (void)snprintf(out, AK_NUMBER_BYTES, "-");
        return out;
    }
    return ak_number_figure(out, value, AK_DIGITS);
}

const char *ak_show_interval(char out[AK_NUMBER_BYTES], double low, double high)
{
    char a[AK_NUMBER_BYTES], b[AK_NUMBER_BYTES];
    if (high <= 0 || !(high > low)) { /* a recorded time has no interval */
        (void)snprintf(out, AK_NUMBER_BYTES, "-");
        return out;
    }
    (void)snprintf(out, AK_NUMBER_BYTES, "%.20s .. %.20s", ak_show_real(a, low),
                   ak_show_real(b, high));
    return out;
}

const char *ak_show_trial_interval(char out[AK_NUMBER_BYTES], const ak_trial *trial)
{
    const size_t few = ak_trial_few_samples(trial);
    return few > 1 ? ak_number_few(out, few)
                   : ak_show_interval(out, trial->ci_low_ms, trial->ci_high_ms);
}

const char *ak_show_spread(char out[AK_NUMBER_BYTES], double low, double high)
{
    char interval[AK_NUMBER_BYTES];
    const char *text = ak_show_interval(interval, low, high);
    out[0] = 0;
    if (strcmp(text, "-") != 0) {
        (void)snprintf(out, AK_NUMBER_BYTES, " (%.44s)", text);
    }
    return out;
}

const char *ak_show_ratio(char out[AK_NUMBER_BYTES], double value)
{
    if (value <= 0 || !isfinite(value)) {
        (void)snprintf(out, AK_NUMBER_BYTES, "-");
    } else {
        char number[AK_REAL_BYTES];
        (void)snprintf(out, AK_NUMBER_BYTES, "%sx", ak_number_ratio(number, value));
    }
    return out;
}

const char *ak_show_rate(char out[AK_NUMBER_BYTES], double tflops, double gbs, const char *bound)
{
    char number[AK_NUMBER_BYTES];
    bool bytes = gbs > 0 && (!(tflops > 0) || (bound != NULL && strcmp(bound, "memory") == 0));
    const char *unit = bytes ? " GB/s" : tflops > 0 ? " TFLOP/s" : "";
    (void)snprintf(out, AK_NUMBER_BYTES, "%.30s%s", ak_show_real(number, bytes ? gbs : tflops),
                   unit);
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
