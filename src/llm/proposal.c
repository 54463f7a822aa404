/* proposal.c: see proposal.h. An answer is foreign input, so nothing about it is assumed. */
#include "llm/proposal.h"

#include <math.h>

#include "base/number.h"

#define VALUE_BYTES 256
/* A value of a proposal that is longer than this is not shown. */
#define WISH_BYTES_MAX 4096

const char *ak_suggestion_status_text(ak_suggestion_status status)
{
    static const char *const texts[] = {
#define AK_SUGGESTION_TEXT(name, text) text,
        AK_SUGGESTION_MAP(AK_SUGGESTION_TEXT)
#undef AK_SUGGESTION_TEXT
    };
    return texts[status];
}

/* Copies foreign text as ak_prompt_quote cleans it, without its quotes. */
static void copy_clean(char *out, size_t bytes, const char *text, size_t max)
{
    AK_AT_END(ak_buf_free) ak_buf clean = AK_BUF(4096);
    ak_prompt_quote(&clean, text, max);
    size_t length = clean.length >= 2 ? clean.length - 2 : 0;
    (void)snprintf(out, bytes, "%.*s", (int)length, clean.length >= 2 ? clean.data + 1 : "");
}

void ak_suggestion_judge(ak_suggestion *out, ak_suggestion_status status, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    (void)ak_number_vprint(text, sizeof text, format, args);
    va_end(args);
    out->status = status;
    size_t length = strlen(out->note);
    if (length > 0 && length + 2 < sizeof out->note) {
        memcpy(out->note + length, "; ", 3);
        length += 2;
    }
    const size_t room = sizeof out->note - length;
    if (room > 4) {
        copy_clean(out->note + length, room, text, room - 4);
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool number_of(double *out, const ak_value *value)
{
    if (value->type == AK_VALUE_INT) {
        *out = (double)value->as.integer;
    } else if (value->type == AK_VALUE_REAL) {
        *out = value->as.real;
    } else {
        return false;
    }
    return true;
}

/* Returns true if the JSON value stands for this legal value. Numbers and booleans are compared by
   value, so 1, 1.0 and true are equal. A string must be the value as configurations show it: "1" is
   1, but not true, which is "True". */
static bool same(const json_t *wish, const ak_value *value)
{
    char text[VALUE_BYTES];
    double number;
    if (value->type == AK_VALUE_BOOL && json_is_boolean(wish)) {
        return json_is_true(wish) == value->as.boolean;
    }
    if (json_is_number(wish) && value->type == AK_VALUE_BOOL) {
        return json_number_value(wish) == (value->as.boolean ? 1.0 : 0.0);
    }
    if (json_is_number(wish) && number_of(&number, value)) {
        return json_number_value(wish) == number;
    }
    if (json_is_boolean(wish) && number_of(&number, value)) {
        return number == (json_is_true(wish) ? 1.0 : 0.0);
    }
    if (json_is_string(wish)) {
        (void)ak_value_format(text, sizeof text, value);
        return ak_space_value_is(value, text, json_string_value(wish));
    }
    return false;
}

/* Reads a proposed number, with or without quotes: 96 or "96". Returns false if it is not a
   number. */
static bool wished_number(double *out, const json_t *wish)
{
    if (json_is_number(wish)) {
        *out = json_number_value(wish);
        return isfinite(*out);
    }
    return json_is_string(wish) && ak_text_real(out, json_string_value(wish));
}

/* Finds the legal number nearest to `wish`. Returns false if `wish` does not lie between two legal
   numbers, or if a value of the parameter is not a number. */
static bool snap(size_t *out, const ak_parameter *parameter, double wish)
{
    size_t below = SIZE_MAX, above = SIZE_MAX;
    double low = 0, high = 0;
    for (size_t v = 0; v < parameter->value_count; v++) {
        double number;
        if (!number_of(&number, &parameter->values[v])) {
            return false;
        }
        if (number <= wish && (below == SIZE_MAX || number > low)) {
            below = v;
            low = number;
        }
        if (number >= wish && (above == SIZE_MAX || number < high)) {
            above = v;
            high = number;
        }
    }
    if (below == SIZE_MAX || above == SIZE_MAX) {
        return false;
    }
    *out = wish - low <= high - wish ? below : above;
    return true;
}

static void wish_text(char out[VALUE_BYTES], const json_t *wish)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(WISH_BYTES_MAX);
    ak_json_print(&text, wish, false);
    copy_clean(out, VALUE_BYTES, text.failed == AK_OK ? text.data : "(too long to be shown)", 60);
}

/* Sets parameter `p` to the proposed value, or to the nearest legal one if the proposed number lies
   between two. Returns false if the suggestion is refused. */
static bool set_value(ak_suggestion *out, const ak_space *space, size_t p, const json_t *wish)
{
    const ak_parameter *parameter = ak_space_parameter(space, p);
    char asked[VALUE_BYTES], taken[VALUE_BYTES];
    double number;
    size_t v = 0;
    while (v < parameter->value_count && !same(wish, &parameter->values[v])) {
        v++;
    }
    if (ak_space_occurring(space, p) == 1) {
        return true; /* the parent has the only legal value, whatever was proposed */
    }
    if (v == parameter->value_count) {
        wish_text(asked, wish);
        if (!wished_number(&number, wish) || !snap(&v, parameter, number)) {
            ak_suggestion_judge(out, AK_SUGGESTION_OFF_GRID, "%s has no value %s", parameter->name,
                                asked);
            return false;
        }
        (void)ak_value_format(taken, sizeof taken, &parameter->values[v]);
        ak_suggestion_judge(out, AK_SUGGESTION_SNAPPED, "%s=%.60s was taken as %.60s",
                            parameter->name, asked, taken);
    }
    out->config.at[p] = (uint16_t)v;
    return true;
}

/* ---- elements -------------------------------------------------------------------------------- */

/* Copies the configuration of the parent. An unknown parent is replaced by the default, because the
   rest of the proposal is still worth a trial; the note says so. */
static void read_parent(ak_suggestion *out, const json_t *element, const ak_space *space,
                        const ak_experience *trials, size_t trial_count)
{
    const json_t *parent = json_object_get(element, "parent");
    char text[VALUE_BYTES];
    int64_t number = 0;
    ak_space_default(&out->config, space);
    if (parent == NULL || json_is_null(parent)) {
        return;
    }
    bool known = json_is_integer(parent);
    if (known) {
        number = json_integer_value(parent);
    } else if (json_is_string(parent)) { /* such as "#12" */
        const char *digits = json_string_value(parent);
        known = ak_text_int(&number, digits[0] == '#' ? digits + 1 : digits);
    }
    if (!known || number < 0 || (uint64_t)number > trial_count) {
        wish_text(text, parent);
        ak_suggestion_judge(out, AK_SUGGESTION_SNAPPED,
                            "the parent %s is no trial and was taken for the default", text);
        return;
    }
    out->parent = (size_t)number;
    if (number > 0) { /* 0 stands for the default, which may have no trial yet */
        out->config = trials[number - 1].config;
    }
}

static bool read_changes(ak_suggestion *out, const json_t *changes, const ak_space *space)
{
    AK_EACH_MEMBER(name, wish, changes) {
        size_t p;
        if (json_is_null(wish)) {
            continue;
        }
        if (!ak_space_parameter_find(&p, space, name)) {
            ak_suggestion_judge(out, AK_SUGGESTION_UNKNOWN, "there is no parameter %.80s", name);
            return false;
        }
        if (!set_value(out, space, p, wish)) {
            return false;
        }
    }
    return true;
}

/* Writes the changes as proposed, leaving out those that are null. */
static void describe(ak_suggestion *out, const json_t *changes)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(65536);
    AK_EACH_MEMBER(name, wish, changes) {
        if (!json_is_null(wish) && text.length < AK_PROMPT_TEXT_MAX) {
            char value[VALUE_BYTES];
            wish_text(value, wish);
            ak_buf_print(&text, "%s%.80s=%s", text.length == 0 ? "" : ",", name, value);
        }
    }
    copy_clean(out->text, sizeof out->text, text.data, AK_PROMPT_TEXT_MAX);
}

/* Reads a percentage, even one in quotes ("15", "+15 %"), as a gain. Returns NaN for anything else,
   and for a gain outside AK_EXPECTED_LOW to AK_EXPECTED_HIGH. */
static double gain_of(const json_t *percents)
{
    const char *text = json_string_value(percents);
    char *end = NULL;
    double gain = (text == NULL ? json_number_value(percents) : ak_number_read(text, &end)) / 100.0;
    bool whole =
        text == NULL ? json_is_number(percents) : end != text && end[strspn(end, " %")] == 0;
    return whole && gain >= AK_EXPECTED_LOW && gain <= AK_EXPECTED_HIGH ? gain : (double)NAN;
}

void ak_suggestion_read(ak_suggestion *out, const json_t *element, const ak_space *space,
                        const ak_experience *trials, size_t trial_count)
{
    *out = (ak_suggestion){.status = AK_SUGGESTION_ACCEPTED, .expected = (double)NAN};
    const json_t *changes = json_object_get(element, "changes");
    const json_t *gain = json_object_get(element, "expected_gain_pct");
    const char *hypothesis = ak_json_text_or_null(element, "hypothesis");
    if (!json_is_object(element) || !json_is_object(changes)) {
        char text[VALUE_BYTES];
        wish_text(text, element);
        copy_clean(out->text, sizeof out->text, text, AK_PROMPT_TEXT_MAX);
        ak_suggestion_judge(out, AK_SUGGESTION_MALFORMED,
                            "a proposal is an object whose \"changes\" is an object");
        return;
    }
    describe(out, changes);
    copy_clean(out->hypothesis, sizeof out->hypothesis, hypothesis == NULL ? "" : hypothesis,
               AK_PROMPT_TEXT_MAX);
    out->expected = gain_of(gain);
    read_parent(out, element, space, trials, trial_count);
    if (!read_changes(out, changes, space)) {
        return;
    }
    ak_error why = AK_ERROR_INIT;
    if (ak_config_explain(space, &out->config, &why) != AK_OK) {
        /* only AK_INVALID comes with words that help the model */
        ak_suggestion_judge(out, AK_SUGGESTION_CONDITION, "%s",
                            why.status == AK_INVALID ? why.text
                                                     : "is not among the valid configurations");
    }
}
