/* progress.c: see progress.h. Events are found by name. Unknown events and missing members are
   ignored, so that the stream can grow. */
#include "cli/progress.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>

#include "base/charset.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/layout.h"
#include "base/number.h"
#include "base/plain.h"
#include "cli/options.h"
#include "cli/target.h"

#define VALUE_BYTES    120
#define LINE_MAX_BYTES 512
#define BAR_CELLS_MIN  5
#define BAR_CELLS_MAX  24
#define HANGING        2
#define TREND_CELLS    8

ak_status ak_progress_open(ak_progress *out, const ak_args *args, ak_error *err)
{
    const char *events_path = args->text[AK_OPTION_EVENTS];
    const bool quiet = ak_args_has(args, AK_OPTION_QUIET);
    const char *term = ak_env("TERM");
    bool terminal = isatty(STDERR_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
    *out = (ak_progress){.bar = terminal && !quiet,
                         .lines = !terminal && !quiet && !ak_args_has(args, AK_OPTION_JSON),
                         .events_path = events_path};
    AK_FAIL_IF(events_path != NULL && strcmp(events_path, "-") == 0, err, AK_INVALID,
               "--events -: standard output has the result; name a file or a pipe");
    if (events_path != NULL) {
        AK_DO(ak_target_of_events(events_path, args, err));
        out->events = fopen(events_path, "we");
        if (out->events == NULL) {
            const int why = errno;
            return ak_fail(
                err, AK_IO, "--events %.200s: cannot be written: %s%s", events_path, strerror(why),
                why == ENOENT ? "; name a file in a folder that exists" : ak_fs_advice(why));
        }
    }
    return AK_OK;
}

/* Erases the line that was drawn. If the terminal has become narrower, it has folded the line, so
   all rows of the line are erased. */
static void erase(ak_progress *p)
{
    if (p->drawn > 0) {
        size_t width = ak_columns(stderr), rows = width == 0 ? 0 : (p->drawn - 1) / width;
        if (rows > 0) {
            (void)fprintf(stderr, "\033[%zuA", rows);
        }
        (void)fputs(rows > 0 ? "\r\033[J" : "\r\033[K", stderr);
        p->drawn = 0;
    }
}

/* Prints a line that stays, above the redrawn one. Control characters are replaced, because texts
   come from kernels and compilers. */
__attribute__((format(printf, 2, 3))) static void say(ak_progress *p, const char *format, ...)
{
    if (!p->bar && !p->lines) {
        return;
    }
    char line[LINE_MAX_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    ak_plain_line(line);
    erase(p);
    AK_AT_END(ak_buf_free) ak_buf folded = AK_BUF(4 * LINE_MAX_BYTES);
    ak_layout_fill(&folded, line, ak_columns(stderr), 0, HANGING);
    (void)fprintf(stderr, "%s\n", folded.data);
}

/* Draws a line that the next one overwrites, cut to the width of the terminal. */
static void draw(ak_progress *p, char *line)
{
    ak_plain_line(line);
    size_t width = ak_columns(stderr), bytes = strlen(line);
    if (width > 0 && ak_layout_width(line) >= width) {
        bytes = ak_layout_cut(line, width - 1);
    }
    erase(p);
    (void)fprintf(stderr, "%.*s", (int)bytes, line);
    (void)fflush(stderr);
    p->drawn = width > 0 && ak_layout_width(line) >= width ? width - 1 : ak_layout_width(line);
}

/* Returns how much of the run is over, from 0 to 1: the share of its evaluations or of its time,
   whichever is larger. */
static double fraction_of(const ak_progress *p, double elapsed)
{
    double by_count = p->total > 0 ? (double)p->done / (double)p->total : 0;
    double by_time = p->seconds_budget > 0 ? elapsed / p->seconds_budget : 0;
    double fraction = by_count > by_time ? by_count : by_time;
    return fraction > 1 ? 1 : fraction;
}

/* Appends to the line if the terminal has room for all of it, so that no figure is cut. An empty
   line takes the text in any case. */
__attribute__((format(printf, 2, 3))) static void add(char line[LINE_MAX_BYTES], const char *format,
                                                      ...)
{
    size_t used = strlen(line), width = ak_columns(stderr);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line + used, LINE_MAX_BYTES - used, format, args);
    va_end(args);
    if (width > 0 && used > 0 && ak_layout_width(line) >= width) {
        line[used] = 0;
    }
}

/* Records best_ms if `done` is a multiple of trend_step. When the array is full, every second value
   is dropped and trend_step doubles. */
static void note_trend(ak_progress *p)
{
    p->trend_step = p->trend_step == 0 ? 1 : p->trend_step;
    if (p->done % p->trend_step != 0) {
        return;
    }
    if (p->trend_count == AK_TREND_MAX) {
        for (size_t i = 0; i < AK_TREND_MAX / 2; i++) {
            p->trend[i] = p->trend[2 * i + 1];
        }
        p->trend_count = AK_TREND_MAX / 2;
        p->trend_step *= 2;
    }
    p->trend[p->trend_count++] = p->best_ms;
}

/* Appends a small chart of how the best speed grew, if it did and the terminal has UTF-8, on a
   logarithmic scale from the first best to the present one. */
static void add_trend(char text[LINE_MAX_BYTES], const ak_progress *p)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    char cells[TREND_CELLS * 4 + 1] = "";
    double first = 0;
    size_t used = 0;
    for (size_t i = 0; i < p->trend_count && first <= 0; i++) {
        first = p->trend[i];
    }
    if (first <= 0 || p->best_ms >= first || p->trend_count < 2 || !ak_charset_is_utf8()) {
        return;
    }
    for (size_t c = 0; c < TREND_CELLS; c++) {
        double ms = p->trend[(c + 1) * (p->trend_count - 1) / TREND_CELLS];
        double height = ms > 0 ? log(first / ms) / log(first / p->best_ms) : 0;
        height = height < 0 ? 0 : height > 1 ? 1 : height;
        used += (size_t)snprintf(cells + used, sizeof cells - used, "%s",
                                 blocks[(size_t)(height * 7 + 0.5)]);
    }
    add(text, " %s", cells);
}

/* Draws "[####......] 23/60, best 12.3 ms, 0.174 TFLOP/s, ..."; the bar gets the columns that the
   figures leave. */
static void draw_bar(ak_progress *p)
{
    double elapsed = (double)(ak_clock_ns() - p->begin_ns) / 1e9;
    double fraction = fraction_of(p, elapsed);
    char text[LINE_MAX_BYTES] = "", line[LINE_MAX_BYTES] = "", left[AK_NUMBER_BYTES];
    add(text, "%zu", p->before + p->done);
    if (p->total < AK_EVALUATIONS_OPEN) {
        add(text, "/%zu", p->before + p->total);
    }
    if (p->best_ms > 0) {
        char space[AK_NUMBER_BYTES], figure[AK_REAL_BYTES];
        const char *rate = ak_show_rate(space, p->best_tflops, p->bytes / p->best_ms / 1e6,
                                        p->memory_bound ? "memory" : "compute");
        bool known = strcmp(rate, "-") != 0;
        if (p->best_value > 0) {
            add(text, ", best %s %s", ak_number_short(figure, p->best_value, AK_DIGITS), p->unit);
        }
        add(text, ", %s%s ms%s%s", p->best_value > 0 ? "" : "best ",
            ak_number_short(figure, p->best_ms, 3), known ? ", " : "", known ? rate : "");
    }
    /* Figures that do not fit are left out, so the most important come first. */
    if (p->best_ms > 0 && p->baseline_ms > 0 && p->unit[0] == 0) {
        add(text, ", %.2fx %s", p->baseline_ms / p->best_ms, p->baseline);
    }
    if (p->best_ms > 0 && p->default_ms > 0 && p->unit[0] == 0) {
        add(text, ", %.2fx default", p->default_ms / p->best_ms);
    }
    if (p->best_ms > 0) {
        add_trend(text, p);
    }
    if (p->failed > 0) {
        add(text, ", %zu failed", p->failed);
    }
    if (fraction > 0 && fraction < 1) {
        add(text, ", %s left", ak_show_seconds(left, elapsed / fraction * (1 - fraction)));
    }
    int cells =
        (int)ak_columns(stderr) - (int)ak_layout_width(text) - 4; /* brackets, blank, last column */
    cells = cells > BAR_CELLS_MAX ? BAR_CELLS_MAX : cells;
    if (cells >= BAR_CELLS_MIN) {
        add(line, "[");
        for (int i = 0; i < cells; i++) {
            add(line, "%c", i < (int)(fraction * cells + 0.5) ? '#' : '.');
        }
        add(line, "] ");
    }
    add(line, "%s", text);
    draw(p, line);
}

/* Says how many trials of the task --resume leaves out because the kernel or the environment
   differs. */
static void say_not_counted(ak_progress *p, const json_t *event)
{
    static const char *const whose[] = {
        "of an earlier version of the kernel",
        "from another environment (compilers, machine, settings)",
    };
    const double counts[] = {ak_json_number_at(event, "outdated"),
                             ak_json_number_at(event, "elsewhere")};
    for (size_t i = 0; i < 2; i++) {
        if (counts[i] > 0) {
            say(p, "%.0f trial%s %s %s not counted", counts[i], counts[i] == 1 ? "" : "s", whose[i],
                counts[i] == 1 ? "is" : "are");
        }
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

static void say_space(ak_progress *p, const json_t *event)
{
    char valid[AK_NUMBER_BYTES], cartesian[AK_NUMBER_BYTES];
    say(p, "%s valid configuration%s of %s; strategy %s%s",
        ak_show_count(valid, ak_json_number_at(event, "valid")),
        ak_plural((size_t)ak_json_number_at(event, "valid")),
        ak_show_count(cartesian, ak_json_number_at(event, "cartesian")),
        ak_json_text_at(event, "strategy"),
        !json_is_true(json_object_get(event, "strategy_is_default")) ? ""
        : ak_json_text_is(event, "strategy", "portfolio")
            ? " (the default: no language model is configured)"
            : " (the default with a language model)");
}

static void on_start(ak_progress *p, const json_t *event)
{
    /* With several sizes, each size has a run and starts from 0. */
    p->done = p->failed = p->trend_count = p->trend_step = 0;
    p->before = (size_t)ak_json_number_at(event, "resumed");
    p->default_ms = p->baseline_ms = 0;
    p->best_ms = ak_json_number_at(event, "best_ms"); /* best time of the resumed trials */
    p->best_tflops = ak_json_number_at(event, "best_tflops");
    p->best_value = ak_json_number_at(event, "best_value");
    const char *objective = ak_json_text_at(event, "objective");
    const char *unit = ak_json_text_at(event, "unit");
    (void)snprintf(p->unit, sizeof p->unit, "%.60s", unit[0] != 0 ? unit : objective);
    p->total = (size_t)ak_json_number_at(event, "evaluations");
    const double valid_left = ak_json_number_at(event, "valid") - (double)p->before;
    if ((double)p->total > valid_left) { /* each configuration is tried once */
        p->total = valid_left > 0 ? (size_t)valid_left : 0;
    }
    p->seconds_budget = ak_json_number_at(event, "seconds");
    p->bytes = ak_json_number_at(event, "bytes");
    p->memory_bound = ak_json_text_is(event, "bound", "memory");
    p->begin_ns = ak_clock_ns();
    const char *choices = ak_json_text_at(event, "choices");
    const char *dtype = ak_json_text_at(event, "dtype"); /* "" if a recording does not say it */
    say(p, "tuning %s %s%s%s%s%s on %s (implementation %s)", ak_json_text_at(event, "kernel"),
        ak_json_text_at(event, "size"), choices[0] == 0 && dtype[0] == 0 ? "" : " ", choices,
        dtype[0] == 0 ? "" : " ", dtype, ak_json_text_at(event, "devices"),
        ak_json_text_at(event, "implementation"));
    if (ak_json_text_at(event, "reason")[0] != 0) {
        say(p, "implementation %s: %s", ak_json_text_at(event, "implementation"),
            ak_json_text_at(event, "reason"));
    }
    say_space(p, event);
    if (ak_json_text_at(event, "model_told")[0] != 0) {
        say(p, "%s is told %s%s", ak_json_text_at(event, "model"),
            ak_json_text_at(event, "model_told"),
            ak_json_text_is(event, "model_share", "space") ? "" : " (--llm-share tells it less)");
    }
    if (ak_json_number_at(event, "resumed") > 0) {
        char best[AK_NUMBER_BYTES];
        bool timed = p->unit[0] == 0;
        say(p, "resumed with %.0f trial%s of the archive, best %s %s",
            ak_json_number_at(event, "resumed"),
            ak_plural((size_t)ak_json_number_at(event, "resumed")),
            ak_show_real(best, timed ? p->best_ms : p->best_value), timed ? "ms" : p->unit);
    }
    say_not_counted(p, event);
    if (ak_json_number_at(event, "peak_tflops") > 0) {
        char peak[AK_NUMBER_BYTES], copy[AK_NUMBER_BYTES];
        say(p, "this device: %s TFLOP/s at most, %s GB/s copying",
            ak_show_real(peak, ak_json_number_at(event, "peak_tflops")),
            ak_show_real(copy, ak_json_number_at(event, "copy_gbs")));
    }
}

/* Writes ", 0.123 J", the value under an objective other than the time; "" if there is none. */
static const char *show_value(char out[VALUE_BYTES], const ak_progress *p, const json_t *event)
{
    char number[AK_NUMBER_BYTES];
    double value = ak_json_number_at(event, "value");
    out[0] = 0;
    if (value > 0) {
        (void)snprintf(out, VALUE_BYTES, ", %s %s", ak_show_real(number, value), p->unit);
    }
    return out;
}

/* Writes " (3 samples: no interval)" if a trial has several samples, but too few for an interval;
   else "". A recorded time is a single sample. */
static const char *show_few(char out[AK_NUMBER_BYTES], const json_t *event)
{
    char words[AK_REAL_BYTES];
    const size_t samples = json_array_size(json_object_get(event, "samples_ms"));
    const bool few = samples > 1 && json_is_null(json_object_get(event, "ci_ms"));
    (void)snprintf(out, AK_NUMBER_BYTES, few ? " (%s)" : "%s",
                   few ? ak_number_few(words, samples) : "");
    return out;
}

static void on_baseline(ak_progress *p, const json_t *event)
{
    double ms = ak_json_number_at(event, "ms");
    char a[AK_NUMBER_BYTES], b[AK_NUMBER_BYTES];
    if (ms > 0 && (p->baseline_ms <= 0 || ms < p->baseline_ms)) {
        p->baseline_ms = ms;
        (void)snprintf(p->baseline, sizeof p->baseline, "%s", ak_json_text_at(event, "name"));
    }
    char value[VALUE_BYTES];
    say(p, "library %s %s: %s ms, %s%s", ak_json_text_at(event, "name"),
        ak_json_text_at(event, "version"), ak_show_real(a, ms),
        ak_show_rate(b, ak_json_number_at(event, "tflops"), ak_json_number_at(event, "gbs"),
                     p->memory_bound ? "memory" : "compute"),
        show_value(value, p, event));
}

static void on_trial(ak_progress *p, const json_t *event)
{
    const char *status = ak_json_text_at(event, "status");
    char a[AK_NUMBER_BYTES], b[AK_NUMBER_BYTES];
    bool ok = strcmp(status, "ok") == 0;
    double ms = ak_json_number_at(event, "ms");
    bool better = ok && ms > 0 &&
                  (p->unit[0] == 0 ? p->best_ms <= 0 || ms < p->best_ms
                                   : p->best_value != ak_json_number_at(event, "best_value"));
    /* A configuration that fails in the check before the finish was counted in the search
       already. */
    bool again = ak_json_text_is(event, "strategy", AK_FINALISTS);
    p->done += again ? 0 : 1;
    p->default_ms = ak_json_number_at(event, "default_ms");
    if (ak_json_number_at(event, "best_ms") > 0) {
        p->best_ms = ak_json_number_at(event, "best_ms");
        p->best_tflops = ak_json_number_at(event, "best_tflops");
        p->best_value = ak_json_number_at(event, "best_value");
    }
    note_trend(p);
    if (!ok) {
        p->failed++;
        if (p->reason[0] == 0) {
            (void)snprintf(p->reason, sizeof p->reason, "%s", ak_json_text_at(event, "reason"));
        }
    }
    if (!p->lines) {
        return;
    }
    char of[32] = "";
    const size_t at = p->before + p->done;
    if (p->total < AK_EVALUATIONS_OPEN) {
        (void)snprintf(of, sizeof of, "/%zu", p->before + p->total);
    }
    if (ok) {
        const char *rate =
            ak_show_rate(b, ak_json_number_at(event, "tflops"), ak_json_number_at(event, "gbs"),
                         ak_json_text_at(event, "bound"));
        bool known = strcmp(rate, "-") != 0;
        char shown[VALUE_BYTES], few[AK_NUMBER_BYTES];
        const char *note = ak_json_text_at(event, "reason");
        say(p, "%zu%s ok %s ms%s%s%s%s%s%s%s", at, of, ak_show_real(a, ms), known ? " " : "",
            known ? rate : "", show_value(shown, p, event), better ? " best" : "",
            show_few(few, event), note[0] == 0 ? "" : "; ", note);
    } else if (again) {
        say(p, "check before the finish: %s: %s", status, ak_json_text_at(event, "reason"));
    } else {
        say(p, "%zu%s %s: %s", at, of, status, ak_json_text_at(event, "reason"));
    }
}

static void on_phase(ak_progress *p, const json_t *event)
{
    static const struct {
        const char *name, *text;
    } phases[] = {
        {"survey", "measuring the libraries that are installed"},
        {"finish", "measuring the best again, in turns with the default and the libraries"},
        {"size", "tuning"},
        {"cross", "measuring the best of all sizes at every size"},
        {"confirm", "measuring the shared configuration beside the winner"}};
    for (size_t i = 0; i < AK_COUNT(phases); i++) {
        if (!ak_json_text_is(event, "name", phases[i].name)) {
            continue;
        }
        if (ak_json_number_at(event, "of") > 0) {
            say(p, "size %.0f of %.0f, %s: %s", ak_json_number_at(event, "n"),
                ak_json_number_at(event, "of"), ak_json_text_at(event, "size"), phases[i].text);
        } else {
            say(p, "%s", phases[i].text);
        }
    }
}

/* Prints a warning even with --quiet or --json, but not the same one twice in succession. */
static void on_warning(ak_progress *p, const json_t *event)
{
    const char *text = ak_json_text_at(event, "text");
    if (strncmp(p->warned, text, sizeof p->warned - 1) != 0) {
        bool wanted = p->lines;
        p->lines = true;
        say(p, "warning: %s", text);
        p->lines = wanted;
        (void)snprintf(p->warned, sizeof p->warned, "%s", text);
    }
}

/* Prints the event's text, which is written for the user. */
static void on_text(ak_progress *p, const json_t *event)
{
    say(p, "%s", ak_json_text_at(event, "text"));
}

static void on_llm(ak_progress *p, const json_t *event)
{
    const json_t *proposals = json_object_get(event, "proposals");
    size_t taken = 0;
    AK_EACH(proposal, proposals) {
        const char *verdict = ak_json_text_at(proposal, "verdict");
        taken += strcmp(verdict, "accepted") == 0 || strcmp(verdict, "snapped") == 0;
    }
    const size_t count = json_array_size(proposals);
    char seconds[AK_NUMBER_BYTES], made[64];
    (void)snprintf(made, sizeof made, "%zu of %zu proposal%s taken", taken, count,
                   ak_plural(count));
    if (ak_json_text_at(event, "error")[0] == 0) {
        say(p, "%s, generation %.0f: %s, after %s", ak_json_text_at(event, "model"),
            ak_json_number_at(event, "generation"), count > 0 ? made : "no proposals in the answer",
            ak_show_seconds(seconds, ak_json_number_at(event, "seconds")));
    }
}

void ak_progress_event(void *progress, const char *name, const char *json)
{
    static const struct {
        const char *name;
        void (*handle)(ak_progress *, const json_t *);
        bool redraw; /* whether the bar is drawn again after it */
    } handlers[] = {{"start", on_start, true},      {"baseline", on_baseline, false},
                    {"trial", on_trial, true},      {"phase", on_phase, false},
                    {"warning", on_warning, false}, {"llm", on_llm, false},
                    {"like", on_text, false},       {"waiting", on_text, false}};
    ak_progress *p = progress;
    if (p->events != NULL && p->events_error == 0 &&
        (fprintf(p->events, "%s\n", json) < 0 || fflush(p->events) != 0)) {
        p->events_error = errno == 0 ? EIO : errno;
    }
    for (size_t i = 0; i < AK_COUNT(handlers); i++) {
        json_t *event = NULL;
        if (strcmp(name, handlers[i].name) == 0 &&
            ak_json_parse_text(&event, json, "event", NULL) == AK_OK) {
            handlers[i].handle(p, event);
            json_decref(event);
            if (p->bar && handlers[i].redraw) {
                draw_bar(p);
            }
        }
    }
}

void ak_progress_step(ak_progress *p, const char *word, size_t done, size_t total)
{
    if (p->bar && done < total) {
        char line[LINE_MAX_BYTES];
        (void)snprintf(line, sizeof line, "%s %zu/%zu", word, done + 1, total);
        draw(p, line);
    } else {
        erase(p);
    }
}

void ak_progress_waiting(void *wait, double seconds)
{
    ak_progress_wait *w = wait;
    char line[LINE_MAX_BYTES];
    const bool ready = ak_tester_ready(w->tester);
    bool *said = ready ? &w->said : &w->said_reference;
    if (ready) {
        (void)snprintf(
            line, sizeof line,
            "%s: compiling or running for %.0f s; it is given up only if it does not end", w->name,
            seconds);
    } else {
        (void)snprintf(line, sizeof line,
                       "computing inputs and right results for %.0f s; reference: %s", seconds,
                       w->reference == NULL ? "none" : w->reference);
    }
    if (w->progress->bar) {
        draw(w->progress, line);
    } else if (!*said) {
        say(w->progress, "%s", line);
    }
    *said = true;
}

ak_status ak_progress_close(ak_progress *p, ak_error *err)
{
    erase(p);
    (void)fflush(stderr);
    if (p->events != NULL && fclose(p->events) != 0 && p->events_error == 0) {
        p->events_error = errno == 0 ? EIO : errno;
    }
    p->events = NULL;
    AK_FAIL_IF(p->events_error != 0, err, AK_IO, "cannot write %s: %s%s", p->events_path,
               strerror(p->events_error), ak_fs_advice(p->events_error));
    return AK_OK;
}
