/* page_trials.c: see page.h. Numbers are rounded to a few digits, so that ten thousand trials fit
   into a file of a few megabytes. */
#include "report/page.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/number.h"
#include "base/utf8.h"

#define DIGITS_OF_TIMES 6
#define DIGITS          4

/* Which trials are shown, in the order of evaluation. */
typedef struct choice {
    const ak_report_model *model;
    size_t *at;
    size_t count;
} choice;

/* Marks the fastest trials and those that were faster than all before them, the latest first, and
   returns how many these are, at most AK_PAGE_TRIALS_MAX. */
static size_t mark_fast(bool *fast, const ak_report_model *model)
{
    size_t count = 0;
    for (size_t i = 0; i < model->ok_count && i < AK_PAGE_FAST_MIN; i++) {
        fast[model->ranking[i] - model->trials] = true;
        count++;
    }
    for (size_t i = model->step_count; i-- > 0 && count < AK_PAGE_TRIALS_MAX;) {
        bool *step = &fast[model->steps[i].evaluation - 1];
        count += *step ? 0 : 1;
        *step = true;
    }
    return count;
}

static ak_status choose(choice *out, const ak_report_model *model)
{
    bool *fast = ak_alloc(model->count, sizeof *fast);
    *out = (choice){.model = model, .at = ak_alloc(model->count, sizeof *out->at)};
    if (out->at == NULL || fast == NULL) {
        ak_free(fast);
        ak_free(out->at);
        return AK_NO_MEMORY;
    }
    const size_t marked = mark_fast(fast, model), room = AK_PAGE_TRIALS_MAX - marked;
    const size_t others = model->count - marked;
    const size_t nth = room == 0 ? 0 : (others + room - 1) / room;
    for (size_t i = 0, seen = 0; i < model->count; i++) {
        if (fast[i] || (nth > 0 && seen++ % nth == 0)) {
            out->at[out->count++] = i;
        }
    }
    ak_free(fast);
    return AK_OK;
}

static double rounded(double value, int digits)
{
    char text[AK_REAL_BYTES];
    (void)ak_number_print(text, sizeof text, "%.*g", digits, value);
    return ak_number_read(text, NULL);
}

/* Returns a number; whole numbers become integers, which are shorter as text. */
static json_t *number_json(double value)
{
    bool whole = value > -1e15 && value < 1e15 && value == (double)(long long)value;
    return whole ? json_integer((json_int_t)value) : json_real(value);
}

typedef double (*getter)(const choice *c, size_t at, size_t offset);

static const ak_trial *trial_of(const choice *c, size_t at)
{
    return &c->model->trials[c->at[at]];
}

static double real_at(const choice *c, size_t at, size_t offset)
{
    double value;
    memcpy(&value, (const char *)trial_of(c, at) + offset, sizeof value);
    return value;
}

static double seconds_at(const choice *c, size_t at, size_t offset)
{
    int64_t ns;
    memcpy(&ns, (const char *)trial_of(c, at) + offset, sizeof ns);
    return (double)ns / 1e9;
}

static double int_at(const choice *c, size_t at, size_t offset)
{
    int value;
    memcpy(&value, (const char *)trial_of(c, at) + offset, sizeof value);
    return value;
}

static double id_at(const choice *c, size_t at, size_t offset)
{
    int64_t value;
    memcpy(&value, (const char *)trial_of(c, at) + offset, sizeof value);
    return (double)value;
}

static double evaluation_at(const choice *c, size_t at, size_t offset)
{
    (void)offset;
    return (double)(c->at[at] + 1);
}

/* Reads the seconds since 1970 from "2026-11-21T10:54:22.123Z"; false for another form. */
static bool read_utc(double *out, const char *text)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd.dddZ";
    int part[7] = {0};
    size_t at = 0;
    if (text == NULL || strlen(text) != sizeof form - 1) {
        return false;
    }
    for (size_t i = 0; form[i] != 0; i++) {
        bool digit = text[i] >= '0' && text[i] <= '9';
        if (form[i] == 'd' ? !digit : text[i] != form[i]) {
            return false;
        }
        if (form[i] == 'd') {
            part[at] = 10 * part[at] + (text[i] - '0');
        } else {
            at++;
        }
    }
    struct tm utc = {.tm_year = part[0] - 1900,
                     .tm_mon = part[1] - 1,
                     .tm_mday = part[2],
                     .tm_hour = part[3],
                     .tm_min = part[4],
                     .tm_sec = part[5]};
    *out = (double)timegm(&utc) + part[6] / 1e3;
    return true;
}

/* Returns when the trial was complete, in seconds since the run began. */
static double since_start(const choice *c, size_t at, size_t offset)
{
    double start, end;
    (void)offset;
    bool known = read_utc(&start, c->model->run.started) &&
                 read_utc(&end, trial_of(c, at)->timestamp) && end >= start;
    return known ? end - start : 0;
}

#define OF(member) offsetof(ak_trial, member)
static const struct {
    const char *name;
    getter get;
    size_t offset;
    int digits; /* 0: whole */
} columns[] = {
    {"evaluation", evaluation_at, 0, 0},
    {"id", id_at, OF(id), 0},
    {"end_s", since_start, 0, 9},
    {"ms", real_at, OF(median_ms), DIGITS_OF_TIMES},
    {"low_ms", real_at, OF(ci_low_ms), DIGITS_OF_TIMES},
    {"high_ms", real_at, OF(ci_high_ms), DIGITS_OF_TIMES},
    {"generation", int_at, OF(generation), 0},
    {"parent", id_at, OF(parent), 0},
    {"predicted_gain", real_at, OF(predicted_gain), DIGITS},
    {"propose_s", seconds_at, OF(propose_ns), DIGITS},
    {"compile_s", seconds_at, OF(compile_ns), DIGITS},
    {"check_s", seconds_at, OF(check_ns), DIGITS},
    {"measure_s", seconds_at, OF(measure_ns), DIGITS},
    {"overhead_s", seconds_at, OF(overhead_ns), DIGITS},
    {"compile_worker", int_at, OF(compile_worker), 0},
    {"compiled_before_s", seconds_at, OF(compiled_before_ns), DIGITS},
    {"error", real_at, OF(max_error), DIGITS},
    {"registers", int_at, OF(registers), 0},
    {"shared_bytes", int_at, OF(shared_bytes), 0},
    {"spill_bytes", int_at, OF(spill_bytes), 0},
    {"occupancy", real_at, OF(occupancy), DIGITS},
    {"tflops", real_at, OF(tflops), DIGITS},
    {"gbs", real_at, OF(gbs), DIGITS},
    {"efficiency", real_at, OF(efficiency), DIGITS},
    {"sm_clock_mhz", real_at, OF(sm_clock_mhz), DIGITS},
    {"memory_clock_mhz", real_at, OF(memory_clock_mhz), DIGITS},
    {"power_watts", real_at, OF(power_watts), DIGITS},
    {"temperature_celsius", real_at, OF(temperature_celsius), DIGITS},
    {"utilisation", real_at, OF(utilisation), DIGITS},
};
#undef OF

/* Adds a column of numbers; a column of zeros is left out. Returns false if memory is out. */
static bool add_numbers(json_t *out, const choice *c, size_t column)
{
    bool any = false;
    json_t *list = json_array();
    for (size_t i = 0; i < c->count; i++) {
        double value = columns[column].get(c, i, columns[column].offset);
        int digits = columns[column].digits;
        bool known = value - value == 0; /* finite */
        any = any || (known && value != 0);
        value = known && digits > 0 ? rounded(value, digits) : value;
        if (json_array_append_new(list, known ? number_json(value) : json_null()) != 0) {
            json_decref(list);
            return false;
        }
    }
    if (any) {
        return ak_json_set(out, columns[column].name, list);
    }
    json_decref(list);
    return true;
}

/* ---- texts that repeat themselves ------------------------------------------------------------ */

#define OF(member) offsetof(ak_trial, member)
static const struct {
    const char *name, *names; /* name of the column; name of the list that its indices refer to */
    size_t offset, most;
} texts[] = {
    {"strategy", "strategies", OF(strategy), 1000}, {"model", "models", OF(model), 1000},
    {"status", "statuses", OF(status), 1000},       {"reason", "reasons", OF(reason), 200},
    {"device", "devices", OF(measured_on), 1000},   {"throttle", "throttles", OF(throttle), 1000},
};

static const char *text_at(const choice *c, size_t at, size_t offset)
{
    const char *text;
    if (offset == OF(status)) {
        return ak_trial_status_text(trial_of(c, at)->status);
    }
    memcpy(&text, (const char *)trial_of(c, at) + offset, sizeof text);
    return text;
}
#undef OF

/* Returns a text that may come from a compiler, cut to a length that a person reads. NULL: no
   memory. */
static json_t *reason_json(const char *text)
{
    const size_t length = ak_utf8_cut(text, AK_PAGE_REASON_BYTES_MAX);
    if (text[length] == 0) {
        return json_string(text);
    }
    ak_buf cut = AK_BUF(AK_PAGE_REASON_BYTES_MAX + 32);
    ak_buf_append(&cut, text, length);
    ak_buf_puts(&cut, " ... (cut)");
    json_t *value = cut.failed == AK_OK ? json_string(cut.data) : NULL;
    ak_buf_free(&cut);
    return value;
}

/* Finds the index of a text in `names`, adding a new one; -1 if `names` has `most` texts already.
 */
static ak_status index_of(json_int_t *out, ak_map *known, json_t *names, const char *text,
                          size_t most)
{
    size_t at;
    *out = -1;
    if (ak_map_get(&at, known, text)) {
        *out = (json_int_t)at;
        return AK_OK;
    }
    at = json_array_size(names);
    if (at == most) {
        return AK_OK;
    }
    *out = (json_int_t)at;
    return json_array_append_new(names, reason_json(text)) == 0 ? ak_map_put(known, text, at, NULL)
                                                                : AK_NO_MEMORY;
}

static bool add_texts(json_t *out, const choice *c, size_t column)
{
    ak_map *known = ak_map_new();
    json_t *list = json_array(), *names = json_array();
    bool good = known != NULL && list != NULL && names != NULL, any = false;
    for (size_t i = 0; good && i < c->count; i++) {
        const char *text = text_at(c, i, texts[column].offset);
        json_int_t at = -1;
        good = text == NULL || index_of(&at, known, names, text, texts[column].most) == AK_OK;
        good = good && json_array_append_new(list, json_integer(at)) == 0;
        any = any || text != NULL;
    }
    ak_map_free(known);
    if (good && any) {
        good = ak_json_set(out, texts[column].name, json_incref(list)) &&
               ak_json_set(out, texts[column].names, json_incref(names));
    }
    json_decref(list);
    json_decref(names);
    return good;
}

/* Returns, for each parameter, the index of its value in each trial; -1: the trial has no value. */
static json_t *configs_json(const choice *c)
{
    const ak_matrix *m = &c->model->matrix;
    json_t *all = json_array();
    bool good = true;
    for (size_t p = 0; p < m->column_count; p++) {
        json_t *list = json_array();
        for (size_t i = 0; i < c->count; i++) {
            uint16_t value = m->rows[c->at[i] * m->column_count + p];
            json_int_t at = value == AK_MATRIX_NONE ? -1 : value;
            good = json_array_append_new(list, json_integer(at)) == 0 && good;
        }
        good = json_array_append_new(all, list) == 0 && good;
    }
    return ak_json_whole(all, good);
}

static json_t *parameters_json(const ak_matrix *m)
{
    json_t *all = json_array();
    bool good = all != NULL;
    for (size_t p = 0; good && p < m->column_count; p++) {
        const ak_matrix_column *column = &m->columns[p];
        json_t *one = json_pack("{s:s, s:o}", "name", column->name, "values",
                                ak_json_texts((const char *const *)column->values, column->count));
        good = json_array_append_new(all, one) == 0;
    }
    return ak_json_whole(all, good);
}

json_t *ak_page_trials(const ak_report_model *model)
{
    choice c;
    if (choose(&c, model) != AK_OK) {
        return NULL;
    }
    json_t *out = json_object();
    bool good = ak_json_set(out, "count", json_integer((json_int_t)model->count)) &&
                ak_json_set(out, "shown", json_integer((json_int_t)c.count)) &&
                ak_json_set(out, "parameters", parameters_json(&model->matrix)) &&
                ak_json_set(out, "config", configs_json(&c));
    for (size_t i = 0; good && i < AK_COUNT(columns); i++) {
        good = add_numbers(out, &c, i);
    }
    for (size_t i = 0; good && i < AK_COUNT(texts); i++) {
        good = add_texts(out, &c, i);
    }
    ak_free(c.at);
    return ak_json_whole(out, good);
}
