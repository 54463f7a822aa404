/* page_trials.c: see page.h. Numbers are rounded to a few digits, so that ten thousand trials fit
   into a file of a few megabytes. */
#include "report/page.h"

#include "archive/field.h"
#include "base/map.h"
#include "base/number.h"
#include "base/utf8.h"
#include "formats/format.h"

#define DIGITS_OF_TIMES 6
#define DIGITS          4

/* The trials that are shown, as indices into model->trials, in the order of evaluation. */
typedef struct choice {
    const ak_report_model *model;
    size_t *at;
    size_t count;
} choice;

/* Marks the best trials by the objective and then, beginning with the latest, the trials that were
   better than all before them. Returns how many it has marked, at most AK_PAGE_TRIALS_MAX. */
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
    AK_FREED bool *fast = ak_alloc(model->count, sizeof *fast);
    *out = (choice){.model = model, .at = ak_alloc(model->count, sizeof *out->at)};
    if (out->at == NULL || fast == NULL) {
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

static const ak_trial *trial_of(const choice *c, size_t at)
{
    return &c->model->trials[c->at[at]];
}

/* Returns the field with this name (archive/field.h); NULL for NULL. */
static const ak_field *field_of(const char *name)
{
    return name == NULL ? NULL : &ak_fields[AK_FIND(ak_fields, AK_FIELD_COUNT, name, name)];
}

/* Returns the number in a field of a trial; times in ns become seconds. */
static double number_of(const ak_trial *trial, const ak_field *field)
{
    switch (field->kind) {
    case AK_FIELD_INT:
        return *ak_field_int(trial, field);
    case AK_FIELD_LINK:
        return (double)*ak_field_long(trial, field);
    case AK_FIELD_LONG:
        return (double)*ak_field_long(trial, field) / 1e9;
    default:
        return *ak_field_real(trial, field);
    }
}

static double id_at(const choice *c, size_t at)
{
    return (double)trial_of(c, at)->id;
}

static double evaluation_at(const choice *c, size_t at)
{
    return (double)(c->at[at] + 1);
}

static double resumed_at(const choice *c, size_t at)
{
    return c->at[at] < c->model->resumed ? 1 : 0;
}

/* Returns when the trial was complete, in seconds since the run began; 0 if it is not known. */
static double since_start(const choice *c, size_t at)
{
    double start, end;
    bool known = ak_format_seconds(&start, c->model->run.started) &&
                 ak_format_seconds(&end, trial_of(c, at)->timestamp) && end >= start;
    return known ? end - start : 0;
}

static const struct {
    const char *name;
    const char *field; /* field of the trial; NULL: `get` returns the numbers */
    int digits;        /* significant digits; 0: whole numbers */
    double (*get)(const choice *c, size_t at);
} columns[] = {
    {"evaluation", NULL, 0, evaluation_at},
    {"id", NULL, 0, id_at},
    {"end_s", NULL, 9, since_start},
    {"ms", "ms", DIGITS_OF_TIMES, NULL},
    {"low_ms", "ci_low_ms", DIGITS_OF_TIMES, NULL},
    {"high_ms", "ci_high_ms", DIGITS_OF_TIMES, NULL},
    {"generation", "generation", 0, NULL},
    {"parent", "parent", 0, NULL},
    {"predicted_gain", "predicted_gain", DIGITS, NULL},
    {"propose_s", "propose_ns", DIGITS, NULL},
    {"compile_s", "compile_ns", DIGITS, NULL},
    {"check_s", "check_ns", DIGITS, NULL},
    {"measure_s", "measure_ns", DIGITS, NULL},
    {"overhead_s", "overhead_ns", DIGITS, NULL},
    {"compile_worker", "compile_worker", 0, NULL},
    {"compiled_before_s", "compiled_before_ns", DIGITS, NULL},
    {"error", "max_error", DIGITS, NULL},
    {"registers", "registers", 0, NULL},
    {"shared_bytes", "shared_bytes", 0, NULL},
    {"spill_bytes", "spill_bytes", 0, NULL},
    {"same_code", "same_code", 0, NULL},
    {"resumed", NULL, 0, resumed_at},
    {"occupancy", "occupancy", DIGITS, NULL},
    {"tflops", "tflops", DIGITS, NULL},
    {"gbs", "gbs", DIGITS, NULL},
    {"efficiency", "efficiency", DIGITS, NULL},
    {"sm_clock_mhz", "sm_clock_mhz", DIGITS, NULL},
    {"memory_clock_mhz", "memory_clock_mhz", DIGITS, NULL},
    {"power_watts", "power_watts", DIGITS, NULL},
    {"temperature_celsius", "temperature_celsius", DIGITS, NULL},
    {"utilisation", "utilisation", DIGITS, NULL},
};

/* Adds a column of numbers; a column of zeros is left out. Returns false if memory is out. */
static bool add_numbers(json_t *out, const choice *c, size_t column)
{
    bool any = false;
    json_t *list = json_array();
    const ak_field *field = field_of(columns[column].field);
    for (size_t i = 0; i < c->count; i++) {
        const ak_trial *trial = trial_of(c, i);
        const bool few =
            field != NULL && ak_field_is_interval(field) && ak_trial_few_samples(trial) > 0;
        double value = field == NULL ? columns[column].get(c, i)
                       : few         ? 0
                                     : number_of(trial, field);
        int digits = columns[column].digits;
        bool known = value - value == 0; /* finite */
        any = any || (known && value != 0);
        value = known && digits > 0 ? rounded(value, digits) : value;
        if (!ak_json_append(list, known ? number_json(value) : json_null())) {
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

/* ---- columns of texts, which are often repeated ---------------------------------------------- */

static const struct {
    const char *name, *names; /* name of the column; name of the list that its indices refer to */
    const char *field;        /* field of the trial; NULL: its status */
    size_t most;
} texts[] = {
    {"strategy", "strategies", "strategy", 1000}, {"model", "models", "model", 1000},
    {"status", "statuses", NULL, 1000},           {"reason", "reasons", "reason", 200},
    {"device", "devices", "measured_on", 1000},   {"throttle", "throttles", "throttle", 1000},
};

/* Returns the text. One of more than AK_PAGE_REASON_BYTES_MAX bytes, such as a compiler's long
   output, is cut and marked as cut. NULL: no memory. */
static json_t *reason_json(const char *text)
{
    const size_t length = ak_utf8_cut(text, AK_PAGE_REASON_BYTES_MAX);
    if (text[length] == 0) {
        return json_string(text);
    }
    AK_AT_END(ak_buf_free) ak_buf cut = AK_BUF(AK_PAGE_REASON_BYTES_MAX + 32);
    ak_buf_append(&cut, text, length);
    ak_buf_puts(&cut, " ... (cut)");
    return cut.failed == AK_OK ? json_string(cut.data) : NULL;
}

/* Finds the index of a text in `names`, and adds the text if it is new; -1 if it is new and `names`
   has `most` texts already. */
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
    return ak_json_append(names, reason_json(text)) ? ak_map_put(known, text, at, NULL)
                                                    : AK_NO_MEMORY;
}

static bool add_texts(json_t *out, const choice *c, size_t column)
{
    ak_map *known = ak_map_new();
    json_auto_t *list = json_array(), *names = json_array();
    const ak_field *field = field_of(texts[column].field);
    bool good = known != NULL && list != NULL && names != NULL, any = false;
    for (size_t i = 0; good && i < c->count; i++) {
        const ak_trial *trial = trial_of(c, i);
        const char *text =
            field == NULL ? ak_trial_status_text(trial->status) : *ak_field_text(trial, field);
        json_int_t at = -1;
        good = text == NULL || index_of(&at, known, names, text, texts[column].most) == AK_OK;
        good = good && ak_json_append(list, json_integer(at));
        any = any || text != NULL;
    }
    ak_map_free(known);
    return good && (!any || (ak_json_set(out, texts[column].name, json_incref(list)) &&
                             ak_json_set(out, texts[column].names, json_incref(names))));
}

/* Returns, for each parameter, the index of its value in each trial; -1: the trial has no value. */
static json_t *configs_json(const choice *c)
{
    const ak_matrix *m = &c->model->matrix;
    json_t *all = json_array();
    for (size_t p = 0; p < m->column_count; p++) {
        json_t *list = json_array();
        for (size_t i = 0; i < c->count; i++) {
            uint16_t value = m->rows[c->at[i] * m->column_count + p];
            json_int_t at = value == AK_MATRIX_NONE ? -1 : value;
            ak_json_add(&list, json_integer(at));
        }
        ak_json_add(&all, list);
    }
    return all;
}

static json_t *parameters_json(const ak_matrix *m)
{
    json_t *all = json_array();
    for (size_t p = 0; p < m->column_count; p++) {
        const ak_matrix_column *column = &m->columns[p];
        json_t *one = json_pack("{s:s, s:o}", "name", column->name, "values",
                                ak_json_texts((const char *const *)column->values, column->count));
        ak_json_add(&all, one);
    }
    return all;
}

json_t *ak_page_trials(const ak_report_model *model)
{
    choice c;
    if (choose(&c, model) != AK_OK) {
        return NULL;
    }
    json_t *out = json_object();
    bool good = ak_json_set_count(out, "count", model->count) &&
                ak_json_set_count(out, "shown", c.count) &&
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
