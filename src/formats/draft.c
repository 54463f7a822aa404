#include "formats/draft.h"

#include <math.h>
#include <stdlib.h>

#include "base/number.h"
#include "base/value_json.h"

void ak_draft_clear(ak_draft *draft)
{
    for (size_t p = 0; p < draft->parameter_count; p++) {
        ak_free(draft->parameters[p].name);
        json_decref(draft->parameters[p].values);
        ak_map_free(draft->parameters[p].places);
    }
    json_decref(draft->facts);
    *draft = (ak_draft){0};
}

ak_status ak_draft_text(char **member, const char *text, ak_error *err)
{
    return ak_trial_set_text(member, ak_or_empty(text), err);
}

char **ak_draft_member(const ak_draft *draft, const char *name)
{
    ak_recording *r = draft->recording;
    const struct {
        const char *name;
        char **text;
    } members[] = {{"kernel", &r->kernel}, {"implementation", &r->implementation},
                   {"device", &r->device}, {"size", &r->size},
                   {"dtype", &r->dtype},   {"choices", &r->choices}};
    return members[AK_FIND(members, AK_COUNT(members), name, name)].text;
}

ak_status ak_draft_take_texts(ak_draft *draft, const json_t *object, const char *const *names,
                              ak_error *err)
{
    for (; *names != NULL; names++) {
        const char *text;
        AK_DO(ak_json_string_or(&text, object, *names, NULL, draft->where, err));
        AK_DO(text == NULL ? AK_OK : ak_draft_text(ak_draft_member(draft, *names), text, err));
    }
    return AK_OK;
}

/* Objectives for which higher is better, among those that tuners know by name (Kernel Tuner,
   kernel_tuner/util.py, get_objective_defaults; files of KTT have only times, and of an archive
   only the times are read). */
static const char *const maximised[] = {"GFLOP/s",  "TFLOP/s", "GB/s",    "TB/s",   "GFLOPS/W",
                                        "TFLOPS/W", "GFLOP/J", "TFLOP/J", "fitness"};

const char *ak_draft_objective_of(char out[AK_OBJECTIVE_NAME_BYTES], const char *choices)
{
    const bool maximise = strncmp(ak_choices_objective(out, choices), "max:", 4) == 0;
    const char *name = maximise ? out + 4 : out;
    return AK_HAS_TEXT(maximised, AK_COUNT(maximised), name) == maximise ? name : "time";
}

ak_status ak_draft_objective(ak_draft *draft, const char *name, ak_error *err)
{
    const bool maximise = AK_HAS_TEXT(maximised, AK_COUNT(maximised), name);
    draft->recording->maximise = maximise;
    if (maximise && strchr(name, '/') != NULL) { /* rates are named by their units */
        AK_DO(ak_draft_text(&draft->recording->unit, name, err));
    }
    return ak_draft_text(&draft->recording->objective, name, err);
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* Longer than the longest text that a space accepts, so that the space reports a text that is too
   long. */
#define VALUE_BYTES 300

/* Writes a key that is equal for values that a space treats as equal: 1 and 1.0, but not "1". From
   1e17 on, a whole real and an integer have different keys. Returns false if the value is not a
   number, a text or a boolean. */
static bool value_key(char out[VALUE_BYTES], const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_INTEGER:
        (void)snprintf(out, VALUE_BYTES, "%lld", (long long)json_integer_value(value));
        return true;
    case JSON_REAL:
        (void)ak_number_print(out, VALUE_BYTES, "%.17g", json_real_value(value));
        return true;
    case JSON_STRING:
        (void)snprintf(out, VALUE_BYTES, "\"%s", json_string_value(value));
        return true;
    case JSON_TRUE:
        (void)snprintf(out, VALUE_BYTES, "True");
        return true;
    case JSON_FALSE:
        (void)snprintf(out, VALUE_BYTES, "False");
        return true;
    default:
        return false;
    }
}

static ak_status place_of(uint16_t *out, ak_draft_parameter *parameter, const json_t *value,
                          const char *where, ak_error *err)
{
    char key[VALUE_BYTES];
    size_t place;
    AK_FAIL_IF(value == NULL || !value_key(key, value), err, AK_INVALID,
               value == NULL ? "%s: parameter \"%.60s\" is missing"
                             : "%s: the value of \"%.60s\" must be a number, a text, true "
                               "or false",
               where, parameter->name);
    if (!ak_map_get(&place, parameter->places, key)) {
        place = json_array_size(parameter->values);
        AK_FAIL_IF(place > UINT16_MAX - 1, err, AK_LIMIT,
                   "%s: parameter \"%.60s\" has more than %d values", where, parameter->name,
                   UINT16_MAX);
        AK_DO(
            ak_stored(json_array_append(parameter->values, (json_t *)(uintptr_t)value) == 0, err));
        AK_DO(ak_map_put(parameter->places, key, place, err));
    }
    *out = (uint16_t)place;
    return AK_OK;
}

ak_status ak_draft_parameter_add(ak_draft *draft, const char *name, const json_t *values,
                                 ak_error *err)
{
    AK_FAIL_IF(draft->parameter_count == AK_PARAMETERS_MAX, err, AK_LIMIT,
               "%s: more than %d parameters", draft->where, AK_PARAMETERS_MAX);
    ak_draft_parameter *parameter = &draft->parameters[draft->parameter_count++];
    *parameter = (ak_draft_parameter){.name = ak_strdup(name),
                                      .values = json_array(),
                                      .places = ak_map_new(),
                                      .ordered = values != NULL};
    AK_DO(ak_stored(
        parameter->name != NULL && parameter->values != NULL && parameter->places != NULL, err));
    AK_EACH(value, values) {
        uint16_t place;
        AK_DO(place_of(&place, parameter, value, draft->where, err));
    }
    return AK_OK;
}

/* ---- configurations -------------------------------------------------------------------------- */

/* Limit for the cost of one configuration in seconds: a month. A longer time is a mistake of units
   and would spoil every sum. */
#define SECONDS_MAX 2.6e6

ak_status ak_draft_add(ak_draft *draft, const json_t *config, const ak_record *record,
                       const char *where, ak_error *err)
{
    ak_recording *to = draft->recording;
    AK_FAIL_IF(to->count == AK_RECORDING_CONFIGS_MAX, err, AK_LIMIT,
               "%s: more than %d configurations", draft->where, AK_RECORDING_CONFIGS_MAX);
    /* The reciprocal must be finite, too, because strategies get it if higher is better. */
    AK_FAIL_IF(record->status == AK_TRIAL_OK &&
                   !(record->value > 0 && isfinite(record->value) && isfinite(1 / record->value)),
               err, AK_INVALID, "%s: worked, but its %s is not above 0", where, to->objective);
    AK_FAIL_IF(!(record->seconds <= SECONDS_MAX), err, AK_INVALID,
               "%s: it cost more than %g seconds", where, SECONDS_MAX);
    const json_t *unnamed = to->count + draft->parameter_count == 0 ? config : NULL;
    AK_EACH_MEMBER(name, value, unnamed) {
        AK_DO(ak_draft_parameter_add(draft, name, NULL, err));
    }
    AK_DO(AK_GROW(to->configs, &draft->config_capacity, to->count + 1, err));
    AK_DO(AK_GROW(to->records, &draft->record_capacity, to->count + 1, err));
    ak_config *at = &to->configs[to->count];
    *at = (ak_config){{0}};
    for (size_t p = 0; p < draft->parameter_count; p++) {
        ak_draft_parameter *parameter = &draft->parameters[p];
        const json_t *value = json_object_get(config, parameter->name);
        AK_DO(place_of(&at->at[p], parameter, value, where, err));
    }
    to->records[to->count] = *record;
    if (record->status != AK_TRIAL_OK) {
        to->records[to->count].value = 0;
    }
    to->count++;
    return AK_OK;
}

ak_status ak_draft_status(ak_trial_status *out, const json_t *result, const char *key,
                          const ak_draft_word *words, const char *where, ak_error *err)
{
    const char *word;
    AK_AT_END(ak_buf_free) ak_buf known = AK_BUF(300);
    AK_DO(ak_json_string(&word, result, key, where, err));
    for (size_t i = 0; words[i].word != NULL; i++) {
        if (strcmp(words[i].word, word) == 0) {
            *out = words[i].status;
            return AK_OK;
        }
        ak_buf_print(&known, "%s%s", i == 0 ? "" : ", ", words[i].word);
    }
    return ak_fail(err, AK_INVALID, "%s: \"%s\" is \"%.60s\", not one of: %s", where, key, word,
                   known.data);
}

/* KTT begins the words with capital letters; Kernel Tuner writes "miliseconds". */
static const struct {
    const char *names[5]; /* NULL-terminated */
    double ms;
} units[] = {{{"s", "seconds", "Seconds"}, 1e3},
             {{"ms", "milliseconds", "Milliseconds", "miliseconds"}, 1},
             {{"us", "microseconds", "Microseconds"}, 1e-3},
             {{"ns", "nanoseconds", "Nanoseconds"}, 1e-6}};

ak_status ak_draft_unit(double *ms, const json_t *object, const char *key, const char *where,
                        ak_error *err)
{
    const char *unit = NULL;
    size_t at = 0;
    AK_DO(ak_json_string_or(&unit, object, key, "", where, err));
    while (at < AK_COUNT(units) && !ak_text_is_one_of(unit, units[at].names)) {
        at++;
    }
    AK_FAIL_IF(unit[0] != 0 && at == AK_COUNT(units), err, AK_INVALID,
               "%s: \"%s\" is \"%.40s\", not one of: s, seconds, ms, milliseconds, us, "
               "microseconds, ns, nanoseconds",
               where, key, unit);
    *ms = unit[0] == 0 ? *ms : units[at].ms;
    return AK_OK;
}

double ak_draft_sum(const json_t *object, const char *const *keys)
{
    double sum = 0;
    for (size_t i = 0; keys[i] != NULL; i++) {
        const json_t *value = json_object_get(object, keys[i]);
        double number = json_is_number(value) ? json_number_value(value) : 0;
        sum += number >= 0 ? number : 0;
    }
    return sum;
}

/* ---- the end --------------------------------------------------------------------------------- */

typedef struct numbered {
    double number;
    uint16_t place;
} numbered;

static int by_number(const void *a, const void *b)
{
    const numbered *x = a, *y = b;
    return x->number != y->number ? (x->number < y->number ? -1 : 1)
                                  : (x->place > y->place) - (x->place < y->place);
}

/* Sorts the values of a parameter in ascending order if they are numbers and the file gave no
   order, so that near values are neighbours. */
static ak_status sort_values(ak_draft *draft, size_t p, ak_error *err)
{
    ak_draft_parameter *parameter = &draft->parameters[p];
    size_t count = json_array_size(parameter->values);
    bool numbers = !parameter->ordered;
    for (size_t i = 0; i < count && numbers; i++) {
        numbers = json_is_number(json_array_get(parameter->values, i));
    }
    if (!numbers || count == 0) {
        return AK_OK;
    }
    AK_FREED numbered *list = ak_alloc(count, sizeof *list);
    AK_FREED uint16_t *moved = ak_alloc(count, sizeof *moved);
    json_auto_t *sorted = json_array();
    AK_DO(ak_stored(list != NULL && moved != NULL && sorted != NULL, err));
    for (size_t i = 0; i < count; i++) {
        list[i] = (numbered){json_number_value(json_array_get(parameter->values, i)), (uint16_t)i};
    }
    qsort(list, count, sizeof *list, by_number);
    for (size_t i = 0; i < count; i++) {
        moved[list[i].place] = (uint16_t)i;
        AK_DO(ak_stored(
            json_array_append(sorted, json_array_get(parameter->values, list[i].place)) == 0, err));
    }
    for (size_t i = 0; i < draft->recording->count; i++) {
        draft->recording->configs[i].at[p] = moved[draft->recording->configs[i].at[p]];
    }
    json_decref(parameter->values);
    parameter->values = json_incref(sorted);
    return AK_OK;
}

/* Gives the values of a parameter or, if some of them are texts and others are not, all as texts:
   in a file without types, a text parameter with the values "0.50" and "4" has a text and a
   number. */
static json_t *values_of(const ak_draft_parameter *parameter)
{
    size_t texts = 0;
    AK_EACH(value, parameter->values) {
        texts += json_is_string(value);
    }
    if (texts == 0 || texts == json_array_size(parameter->values)) {
        return json_incref(parameter->values);
    }
    json_t *list = json_array();
    AK_EACH(one, parameter->values) {
        AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(VALUE_BYTES);
        ak_value_print(&text, one);
        ak_json_add(&list, json_is_string(one)    ? json_incref(one)
                           : text.failed == AK_OK ? json_string(text.data)
                                                  : NULL);
    }
    return list;
}

static ak_status define(json_t **out, const ak_draft *draft, ak_error *err)
{
    json_t *list = json_array(), *definition = json_object();
    for (size_t p = 0; p < draft->parameter_count; p++) {
        ak_json_add(&list, json_pack("{s:s, s:o}", "Name", draft->parameters[p].name, "Values",
                                     values_of(&draft->parameters[p])));
    }
    return ak_json_give(out, definition, ak_json_set(definition, "TuningParameters", list), err);
}

/* ---- as a T1 file has it --------------------------------------------------------------------- */

#define CONFIG_BYTES (AK_PARAMETERS_MAX * 400) /* no valid configuration needs more */

/* Writes a configuration as "x=1,on=True,cc=gcc". */
static ak_status config_text(ak_buf *out, const ak_draft *draft, const ak_config *config,
                             ak_error *err)
{
    ak_buf_clear(out);
    for (size_t p = 0; p < draft->parameter_count; p++) {
        const json_t *value = json_array_get(draft->parameters[p].values, config->at[p]);
        ak_buf_print(out, "%s%s=", p == 0 ? "" : ",", draft->parameters[p].name);
        ak_value_print(out, value);
    }
    return ak_buf_status(out, err);
}

/* Replaces the value indices of the configurations by those in the T1 file's space, in which each
   configuration must be valid. */
static ak_status translate(ak_draft *draft, const json_t *definition, const char *where,
                           ak_error *err)
{
    ak_recording *to = draft->recording;
    AK_AT_END(ak_space_free_at) ak_space *space = NULL;
    ak_space_spec spec = {.definition = definition, .allow_numerics = true, .where = where};
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(CONFIG_BYTES);
    AK_DO(ak_space_build(&space, &spec, err));
    for (size_t i = 0; i < to->count; i++) {
        AK_DO(config_text(&text, draft, &to->configs[i], err));
        const ak_status status = ak_config_parse(&to->configs[i], space, text.data, err);
        AK_DO(status == AK_OK || status == AK_NO_MEMORY
                  ? status
                  : ak_fail_within(err, "%s does not fit %s", draft->where, where));
    }
    return AK_OK;
}

static bool gives_default(const json_t *definition)
{
    AK_EACH(parameter, json_object_get(definition, "TuningParameters")) {
        if (json_object_get(parameter, "Default") != NULL) {
            return true;
        }
    }
    return false;
}

/* ---- sorting --------------------------------------------------------------------------------- */

typedef struct placed {
    ak_config config;
    ak_record record;
    size_t order; /* position in the file */
} placed;

static int by_config(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    for (size_t p = 0; p < AK_PARAMETERS_MAX; p++) {
        if (x->config.at[p] != y->config.at[p]) {
            return x->config.at[p] < y->config.at[p] ? -1 : 1;
        }
    }
    return (x->order > y->order) - (x->order < y->order);
}

/* Sorts the configurations as their space will number them. Of several results of one
   configuration it keeps the last in the file that is OK, or the last of all if none is. */
static ak_status sort_configs(ak_recording *out, ak_error *err)
{
    AK_FREED placed *list = NULL;
    AK_DO(AK_NEW(list, out->count, err));
    for (size_t i = 0; i < out->count; i++) {
        list[i] = (placed){out->configs[i], out->records[i], i};
    }
    qsort(list, out->count, sizeof *list, by_config);
    size_t kept = 0;
    for (size_t i = 0; i < out->count; i++) {
        bool again = kept > 0 &&
                     memcmp(&out->configs[kept - 1], &list[i].config, sizeof list[i].config) == 0;
        if (!again) {
            out->configs[kept] = list[i].config;
            out->records[kept++] = list[i].record;
        } else if (list[i].record.status == AK_TRIAL_OK ||
                   out->records[kept - 1].status != AK_TRIAL_OK) {
            out->records[kept - 1] = list[i].record;
        }
    }
    out->count = kept;
    return AK_OK;
}

ak_status ak_draft_finish(ak_draft *draft, const json_t *definition, const char *where,
                          ak_error *err)
{
    ak_recording *out = draft->recording;
    AK_FAIL_IF(out->count == 0, err, AK_INVALID,
               "%s holds no configuration: a recording needs at least one", draft->where);
    for (size_t p = 0; p < draft->parameter_count; p++) {
        AK_DO(sort_values(draft, p, err));
    }
    if (definition != NULL) {
        AK_DO(translate(draft, definition, where, err));
        out->definition = json_incref((json_t *)(uintptr_t)definition);
        out->has_default = gives_default(definition);
    } else {
        AK_DO(define(&out->definition, draft, err));
    }
    AK_DO(sort_configs(out, err));
    for (const char *const *name = ak_task_texts; *name != NULL; name++) {
        char **text = ak_draft_member(draft, *name);
        AK_DO(*text == NULL ? ak_draft_text(text, "", err) : AK_OK);
    }
    return ak_recording_space_new(&out->space, out, err);
}
