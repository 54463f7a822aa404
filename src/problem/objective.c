#include "problem/task.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"

struct ak_objective {
    char text[AK_OBJECTIVE_BYTES];
    char unit[32];
    bool maximise, weighs;
    ak_expr *expr; /* NULL: the values come from a recording */
};

/* The measured values that an expression may read. The last four describe code and are unknown for
   libraries. */
static const char *const measured_names[] = {
    "ms",        "seconds",      "joules",      "watts",      "tflops", "gbs",
    "registers", "shared_bytes", "spill_bytes", "code_bytes", NULL};
/* Objectives with names, and the expressions that they stand for. */
static const struct {
    const char *name, *text, *expr, *unit;
    bool maximise;
} known[] = {
    {"energy", "energy", "joules", "J", false},
    {"joules", "energy", "joules", "J", false},
    {"edp", "edp", "joules*seconds", "J*s", false},
    {"tflops", "max:tflops", "tflops", "TFLOP/s", true},
    {"max:tflops", "max:tflops", "tflops", "TFLOP/s", true},
    {"gbs", "max:gbs", "gbs", "GB/s", true},
    {"max:gbs", "max:gbs", "gbs", "GB/s", true},
};

/* Copies a text without blanks at its ends. Refuses a text that is empty, too long or has a quote,
   a line break or a comma; commas separate choices. */
static ak_status trim(char out[AK_OBJECTIVE_BYTES], const char *text, ak_error *err)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t", text[length - 1]) != NULL) {
        length--;
    }
    AK_FAIL_IF(length == 0 || length >= AK_OBJECTIVE_BYTES, err, AK_INVALID,
               "objective: must be time, energy, edp or an expression of at most %d bytes",
               AK_OBJECTIVE_BYTES - 1);
    memcpy(out, text, length);
    out[length] = 0;
    AK_FAIL_IF(strpbrk(out, ",\n\"") != NULL, err, AK_INVALID,
               "objective %.100s: must have no comma, quote or line break; write a condition as "
               "\"A if A < B else B\"",
               out);
    return AK_OK;
}

ak_status ak_objective_parse(ak_objective **out, const char *text, ak_error *err)
{
    char asked[AK_OBJECTIVE_BYTES];
    *out = NULL;
    AK_DO(trim(asked, text, err));
    if (strcmp(asked, "time") == 0 || strcmp(asked, "ms") == 0) {
        return AK_OK;
    }
    AK_AT_END(ak_objective_free_at) ak_objective *o = NULL;
    AK_DO(AK_NEW(o, 1, err));
    o->maximise = strncmp(asked, "max:", 4) == 0;
    const char *expr = o->maximise ? asked + 4 : asked, *shown = asked;
    const size_t at = AK_FIND(known, AK_COUNT(known), name, asked);
    if (at < AK_COUNT(known)) {
        expr = known[at].expr;
        shown = known[at].text;
        (void)snprintf(o->unit, sizeof o->unit, "%s", known[at].unit);
        o->maximise = known[at].maximise;
    }
    (void)snprintf(o->text, sizeof o->text, "%s", shown);
    AK_DO(ak_expr_parse(&o->expr, expr, "--objective", err));
    const char *const *names;
    size_t count = ak_expr_names(&names, o->expr);
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        o->weighs = o->weighs || strcmp(names[i], "joules") == 0 || strcmp(names[i], "watts") == 0;
        any = any || ak_text_is_one_of(names[i], measured_names);
    }
    AK_FAIL_IF(!any, err, AK_INVALID,
               "objective %.100s: reads nothing that is measured; it must be time, energy, edp, or "
               "an expression over ms, seconds, joules, watts, tflops, gbs, registers, "
               "shared_bytes, spill_bytes or code_bytes",
               asked);
    AK_GIVE(out, o);
    return AK_OK;
}

ak_status ak_objective_recorded(ak_objective **out, const char *name, const char *unit,
                                bool maximise, ak_error *err)
{
    char asked[AK_OBJECTIVE_BYTES], text[AK_OBJECTIVE_BYTES + 4];
    AK_DO(trim(asked, name, err));
    (void)snprintf(text, sizeof text, "%s%s", maximise ? "max:" : "", asked);
    AK_DO(trim(asked, text, err));
    ak_objective *o;
    AK_DO(AK_NEW(o, 1, err));
    o->maximise = maximise;
    (void)snprintf(o->text, sizeof o->text, "%s", asked);
    (void)snprintf(o->unit, sizeof o->unit, "%.31s", unit);
    *out = o;
    return AK_OK;
}

void ak_objective_free(ak_objective *o)
{
    if (o != NULL) {
        ak_expr_free(o->expr);
        ak_free(o);
    }
}

const char *ak_objective_text(const ak_objective *o)
{
    return o == NULL ? "time" : o->text;
}

bool ak_objective_is_recorded(const ak_objective *o)
{
    return o != NULL && o->expr == NULL;
}

bool ak_objective_weighs(const ak_objective *o)
{
    return o != NULL && o->weighs;
}

const char *ak_objective_unit(const ak_objective *o)
{
    return o == NULL ? "ms" : o->unit;
}

double ak_objective_value(const ak_objective *o, double cost)
{
    return o != NULL && o->maximise && cost > 0 ? 1 / cost : cost;
}

void ak_objective_print(ak_buf *out, const ak_objective *o, double cost)
{
    const char *unit = ak_objective_unit(o);
    char value[AK_REAL_BYTES];
    ak_buf_print(out, "%s%s%s", ak_number_short(value, ak_objective_value(o, cost), AK_DIGITS),
                 unit[0] == 0 ? "" : " ", unit);
}

ak_status ak_objective_check(const ak_objective *o,
                             bool (*knows)(const void *context, const char *name),
                             const void *context, ak_error *err)
{
    const char *const *names;
    size_t count = o == NULL ? 0 : ak_expr_names(&names, o->expr);
    for (size_t i = 0; i < count; i++) {
        if (!ak_text_is_one_of(names[i], measured_names) && !knows(context, names[i])) {
            const char *meant = ak_text_meant(names[i], measured_names);
            return meant != NULL
                       ? ak_fail(err, AK_INVALID,
                                 "objective %.100s: nothing is called %.60s; did you mean %s?",
                                 o->text, names[i], meant)
                       : ak_fail(err, AK_INVALID,
                                 "objective %.100s: nothing is called %.60s: it is neither "
                                 "measured nor a size, an option or a parameter",
                                 o->text, names[i]);
        }
    }
    return AK_OK;
}

ak_status ak_objective_check_work(const ak_objective *o, double flops, double traffic,
                                  ak_error *err)
{
    const struct {
        const char *rate, *work;
        double amount;
    } rates[] = {{"tflops", "flops", flops}, {"gbs", "bytes", traffic}};
    const char *const *names;
    const size_t count = o == NULL ? 0 : ak_expr_names(&names, o->expr);
    for (size_t i = 0; i < count; i++) {
        const size_t at = AK_FIND(rates, AK_COUNT(rates), rate, names[i]);
        AK_FAIL_IF(at < AK_COUNT(rates) && !(rates[at].amount > 0), err, AK_INVALID,
                   "objective %.100s: %s is not known, because \"%s\" of the problem is 0: write a "
                   "formula into problem.json, or choose another objective",
                   o->text, rates[at].rate, rates[at].work);
    }
    return AK_OK;
}

/* Adds the measured values to a scope; those that were not measured or are unknown are left out. */
static ak_status set_measured(ak_scope *scope, const ak_objective_facts *f, ak_error *err)
{
    const double seconds = f->ms / 1e3;
    const struct {
        const char *name;
        double value;
    } reals[] = {{"ms", f->ms},
                 {"seconds", seconds},
                 {"joules", f->joules},
                 {"watts", seconds > 0 ? f->joules / seconds : 0},
                 {"tflops", seconds > 0 ? f->flops / seconds * 1e-12 : 0},
                 {"gbs", seconds > 0 ? f->traffic / seconds * 1e-9 : 0}};
    const struct {
        const char *name;
        int value;
    } ints[] = {{"registers", f->registers},
                {"shared_bytes", f->shared_bytes},
                {"spill_bytes", f->spill_bytes},
                {"code_bytes", f->code_bytes}};
    for (size_t i = 0; i < AK_COUNT(reals); i++) {
        if (reals[i].value > 0) { /* 0: not measured, or the problem states no work */
            AK_DO(ak_scope_set_real(scope, reals[i].name, reals[i].value, err));
        }
    }
    for (size_t i = 0; f->has_code && i < AK_COUNT(ints); i++) {
        bool known_value = ints[i].value > 0 || strstr(ints[i].name, "_bytes") != NULL;
        bool missing = strcmp(ints[i].name, "code_bytes") == 0 && ints[i].value == 0;
        if (known_value && !missing) {
            AK_DO(ak_scope_set_int(scope, ints[i].name, ints[i].value, err));
        }
    }
    return AK_OK;
}

/* Returns AK_UNAVAILABLE if the expression reads something that is unknown or was not measured. */
static ak_status find_missing(const ak_objective *o, const ak_scope *scope, ak_error *err)
{
    const char *const *names;
    ak_value value;
    AK_FAIL_IF(o->expr == NULL, err, AK_UNAVAILABLE,
               "objective %.100s: its values are those of a recording; choose another objective",
               o->text);
    size_t count = ak_expr_names(&names, o->expr);
    for (size_t i = 0; i < count; i++) {
        AK_FAIL_IF(!ak_scope_get(&value, scope, names[i]), err, AK_UNAVAILABLE,
                   "objective %.100s: %.60s is not known here; choose another objective", o->text,
                   names[i]);
    }
    return AK_OK;
}

ak_status ak_objective_cost(double *out, const ak_objective *o, const ak_scope *outer,
                            const ak_objective_facts *facts, ak_error *err)
{
    ak_value value;
    AK_AT_END(ak_arena_free_at) ak_arena *arena = ak_arena_new();
    AK_AT_END(ak_scope_free_at) ak_scope *scope = ak_scope_new(outer);
    AK_DO(ak_stored(scope != NULL && arena != NULL, err));
    AK_DO(set_measured(scope, facts, err));
    AK_DO(find_missing(o, scope, err));
    AK_DO(ak_expr_eval(&value, o->expr, scope, arena, err));
    double number = 0;
    (void)ak_value_number(&number, &value);
    AK_FAIL_IF(!(number > 0) || !isfinite(number), err, AK_INVALID,
               "objective %.100s: is %.6g; an objective must be a number above 0", o->text, number);
    *out = o->maximise ? 1 / number : number;
    return AK_OK;
}

const char *ak_choices_objective(char out[AK_OBJECTIVE_NAME_BYTES], const char *choices)
{
    static const char key[] = AK_OBJECTIVE_CHOICE "=";
    for (const char *at = choices; at != NULL && *at != 0;) {
        size_t length = strcspn(at, ",");
        if (strncmp(at, key, sizeof key - 1) == 0) {
            (void)snprintf(out, AK_OBJECTIVE_NAME_BYTES, "%.*s", (int)(length - sizeof key + 1),
                           at + sizeof key - 1);
            return out;
        }
        at += length + (at[length] == ',' ? 1 : 0);
    }
    (void)snprintf(out, AK_OBJECTIVE_NAME_BYTES, "time");
    return out;
}

double ak_trial_value(const ak_trial *trial)
{
    char name[AK_OBJECTIVE_NAME_BYTES];
    bool maximise = strncmp(ak_choices_objective(name, trial->choices), "max:", 4) == 0;
    return maximise && trial->cost > 0 ? 1 / trial->cost : trial->cost;
}
