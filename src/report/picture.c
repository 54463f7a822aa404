#include <math.h>

#include "base/ascii.h"
#include "base/number.h"
#include "report/headline.h"

/* ---- convergence ----------------------------------------------------------------------------- */

#define SPARK_COLUMNS 48

/* Returns the time of the best, by the objective, of the first `evaluations`; 0: none was
   successful. */
static double best_after(const ak_report_model *model, size_t evaluations)
{
    double ms = 0;
    for (size_t i = 0; i < model->step_count && model->steps[i].evaluation <= evaluations; i++) {
        ms = model->steps[i].trial->median_ms;
    }
    return ms;
}

void ak_picture_convergence(ak_buf *out, const ak_report_model *model)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    if (model->step_count == 0) {
        return;
    }
    size_t columns = model->count < SPARK_COLUMNS ? model->count : SPARK_COLUMNS;
    double first = model->steps[0].trial->median_ms;
    double last = model->steps[model->step_count - 1].trial->median_ms;
    double range = log(first) - log(last); /* first / last may exceed a double */
    ak_headline_ms(out, first);
    ak_buf_putc(out, ' ');
    for (size_t c = 0; c < columns; c++) {
        double ms = best_after(model, (c + 1) * model->count / columns);
        /* With another objective than the time, a step may be faster than the last one. */
        double height = ms <= 0 ? -1 : range > 0 ? fmin(1, (log(first) - log(ms)) / range) : 1;
        ak_buf_puts(out, height < 0 ? " " : blocks[(size_t)(height * 7 + 0.5)]);
    }
    ak_buf_putc(out, ' ');
    ak_headline_ms(out, last);
    ak_buf_putc(out, '\n');
}

/* ---- roofline -------------------------------------------------------------------------------- */

#define ROWS    13
#define COLUMNS 62
#define LABEL   9   /* columns to the left of the picture */
#define DEEPEST 300 /* points slower than peak / DEEPEST do not extend the scale */

/* Logarithmic scales: x is flop/byte, y is TFLOP/s. */
typedef struct plane {
    double x_low, x_high, y_low, y_high;
    char cell[ROWS][COLUMNS];
} plane;

/* Returns the cell of a value. Values outside the range get the first or the last cell, and NaN
   gets the first. */
static size_t place(double value, double low, double high, size_t cells)
{
    double at = (log(value) - log(low)) / (log(high) - log(low)) * (double)(cells - 1);
    return !(at > 0) ? 0 : at >= (double)(cells - 1) ? cells - 1 : (size_t)(at + 0.5);
}

/* Returns whether a device can have this figure. A record may hold any number. */
static bool is_sane(double value)
{
    return value > 1e-12 && value < 1e12;
}

static void put(plane *p, double x, double y, char sign)
{
    if (x > 0 && y > 0) {
        size_t row = ROWS - 1 - place(y, p->y_low, p->y_high, ROWS);
        p->cell[row][place(x, p->x_low, p->x_high, COLUMNS)] = sign;
    }
}

/* Puts a sign at its place or, if the signs of the best or of libraries are there already, to the
   right of them. In the last column it replaces the sign that is there. */
static void put_beside(plane *p, double x, double y, char sign)
{
    size_t row = ROWS - 1 - place(y, p->y_low, p->y_high, ROWS);
    size_t column = place(x, p->x_low, p->x_high, COLUMNS);
    while (column + 1 < COLUMNS &&
           (p->cell[row][column] == '*' || ak_ascii_is_letter(p->cell[row][column]))) {
        column++;
    }
    p->cell[row][column] = sign;
}

static void draw_roof(plane *p, const ak_placement *roof)
{
    for (size_t c = 0; c < COLUMNS; c++) {
        double share = (double)c / (COLUMNS - 1);
        double x = p->x_low * pow(p->x_high / p->x_low, share);
        double memory = x * roof->bandwidth_gbs / 1e3;
        put(p, x, fmin(memory, roof->peak_tflops), memory < roof->peak_tflops ? '/' : '-');
    }
}

/* Returns the sign of a library: a, b, ... z, and then a again. */
static char sign_of(size_t library)
{
    return (char)('a' + library % 26);
}

static bool is_library(const json_t *one)
{
    return !json_is_string(json_object_get(one, "config")) && ak_json_number_at(one, "tflops") > 0;
}

static void print_legend(ak_buf *out, const ak_report_model *model)
{
    size_t library = 0;
    const ak_placement *roof = &model->best.placement;
    char text[AK_REAL_BYTES], other[AK_REAL_BYTES];
    ak_buf_print(out, "* best, %s TFLOP/s", ak_number_figure(text, model->best.tflops, AK_DIGITS));
    if (model->ok_count > 0) {
        ak_buf_puts(out, "   . configurations");
    }
    AK_EACH(one, json_object_get(model->result, "contestants")) {
        if (is_library(one)) {
            ak_buf_print(out, "\n%c %.50s, %s TFLOP/s", sign_of(library),
                         ak_json_text_at(one, "name"),
                         ak_number_figure(text, ak_json_number_at(one, "tflops"), AK_DIGITS));
            library++;
        }
    }
    ak_buf_print(out, "\n/ %s, %s GB/s   - arithmetic, %s TFLOP/s\n",
                 roof->cache ? "a cache" : "memory",
                 ak_number_figure(text, roof->bandwidth_gbs, AK_DIGITS),
                 ak_number_figure(other, roof->peak_tflops, AK_DIGITS));
}

static void print_plane(ak_buf *out, const plane *p, double intensity)
{
    char text[AK_REAL_BYTES];
    ak_buf_print(out, "%*s\n", LABEL - 1, "TFLOP/s");
    for (size_t r = 0; r < ROWS; r++) {
        double share = (double)(ROWS - 1 - r) / (ROWS - 1);
        bool labelled = r % 4 == 0;
        double tflops = p->y_low * pow(p->y_high / p->y_low, share);
        (void)ak_number_print(text, sizeof text, "%.3g", tflops);
        if (strlen(text) > LABEL - 2) { /* too wide, such as 0.000527 */
            (void)ak_number_print(text, sizeof text, "%.1e", tflops);
        }
        size_t width = COLUMNS;
        while (width > 0 && p->cell[r][width - 1] == ' ') {
            width--;
        }
        ak_buf_print(out, "%*s |%.*s\n", LABEL - 2, labelled ? text : "", (int)width, p->cell[r]);
    }
    char low[AK_REAL_BYTES], high[AK_REAL_BYTES];
    (void)ak_number_print(low, sizeof low, "%.2g", p->x_low);
    (void)ak_number_print(high, sizeof high, "%.2g", p->x_high);
    (void)ak_number_print(text, sizeof text, "%.4g", intensity);
    size_t at = place(intensity, p->x_low, p->x_high, COLUMNS);
    size_t used = strlen(low), half = strlen(text) / 2;
    size_t gap = at > used + half + 1 ? at - used - half : 1;
    size_t end = used + gap + strlen(text);
    size_t rest = COLUMNS > end + strlen(high) ? COLUMNS - end - strlen(high) : 1;
    ak_buf_print(out, "%*s%s%*s%s%*s%s\n%*s%s\n", LABEL, "", low, (int)gap, "", text, (int)rest, "",
                 high, LABEL, "", "flop/byte");
}

static void draw_bar(ak_buf *out, const char *name, double share)
{
    static const char full[] = "##################################################";
    double shown = share > 1 ? 1 : share;
    if (is_sane(share)) {
        ak_buf_print(out, "%-10s |%-*.*s| %.1f %%\n", name, (int)sizeof full - 1,
                     (int)((double)(sizeof full - 1) * shown + 0.5), full, share * 100);
    }
}

void ak_picture_roofline(ak_buf *out, const ak_report_model *model)
{
    const ak_placement *roof = &model->best.placement;
    if (!model->best.found) {
        return;
    }
    if (!is_sane(roof->intensity) || !is_sane(roof->peak_tflops) || !is_sane(roof->bandwidth_gbs) ||
        !is_sane(model->best.tflops)) {
        draw_bar(out, "arithmetic", roof->compute_utilisation);
        draw_bar(out, roof->cache ? "cache" : "memory", roof->bandwidth_utilisation);
        return;
    }
    double ridge = roof->peak_tflops * 1e3 / roof->bandwidth_gbs;
    double slowest = model->best.tflops;
    for (size_t i = 0; i < model->ok_count; i++) {
        double tflops = model->ranking[i]->tflops;
        slowest = tflops > 0 && tflops < slowest ? tflops : slowest;
    }
    slowest = fmax(slowest, roof->peak_tflops / DEEPEST);
    plane p = {.x_low = fmin(roof->intensity, ridge) / 8,
               .x_high = fmax(roof->intensity, ridge) * 8,
               .y_high = roof->peak_tflops * 1.5};
    p.y_low = fmin(slowest, fmin(p.x_low * roof->bandwidth_gbs / 1e3, roof->peak_tflops)) / 1.5;
    memset(p.cell, ' ', sizeof p.cell);
    draw_roof(&p, roof);
    for (size_t i = 0; i < model->ok_count; i++) {
        put(&p, roof->intensity, model->ranking[i]->tflops, '.');
    }
    put(&p, roof->intensity, model->best.tflops, '*');
    size_t library = 0;
    AK_EACH(one, json_object_get(model->result, "contestants")) {
        if (is_library(one)) {
            put_beside(&p, roof->intensity, ak_json_number_at(one, "tflops"), sign_of(library++));
        }
    }
    print_plane(out, &p, roof->intensity);
    print_legend(out, model);
}
