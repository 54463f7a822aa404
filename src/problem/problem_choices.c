/* problem_choices.c: reads "choices" of problem.json: the problem options, which are texts from a
   list or numbers within a range. */
#include "problem/problem_read.h"

#include <string.h>

#include "base/alloc.h"

#define CHOICE_VALUES_MAX 64

static const char *const choice_keys[] = {
    "name", "type", "values", "default", "minimum", "maximum", "implicit", "description", NULL};

static ak_status read_choice_values(ak_choice_spec *choice, const json_t *json,
                                    ak_problem_reader *r)
{
    json_t *list = NULL;
    const char *fallback;
    AK_DO(ak_json_array_or_null(&list, json, "values", r->where, r->err));
    size_t count = json_array_size(list);
    AK_FAIL_IF(count == 0 || count > CHOICE_VALUES_MAX, r->err, AK_INVALID,
               "%s: \"values\" must be a list of 1 to %d strings", r->where, CHOICE_VALUES_MAX);
    AK_DO(ak_json_string_or(&fallback, json, "default", NULL, r->where, r->err));
    const char **values;
    AK_DO(AK_ARENA_NEW(values, r->problem->arena, count, r->err));
    for (size_t i = 0; i < count; i++) {
        values[i] = json_string_value(json_array_get(list, i));
        AK_FAIL_IF(values[i] == NULL || !ak_problem_is_word(values[i]), r->err, AK_INVALID,
                   "%s: value %zu must be a string of letters, digits and _; an option that is a "
                   "number has \"type\": \"int\" or \"real\" and no \"values\"",
                   r->where, i + 1);
        AK_FAIL_IF(AK_HAS_TEXT(values, i, values[i]), r->err, AK_INVALID,
                   "%s: the value \"%s\" is there twice", r->where, values[i]);
    }
    choice->values = values;
    choice->value_count = count;
    choice->default_index = fallback == NULL ? 0 : AK_FIND_TEXT(values, count, fallback);
    AK_FAIL_IF(choice->default_index == count, r->err, AK_INVALID,
               "%s: the default \"%.60s\" is not one of its values", r->where, fallback);
    return AK_OK;
}

/* Reads "type": "text" (the default), "int" or "real". */
static ak_status read_choice_kind(ak_choice_spec *choice, const json_t *json, ak_problem_reader *r)
{
    static const char *const kinds[] = {"text", "int", "real"}; /* in the order of ak_choice_kind */
    const char *type;
    AK_DO(ak_json_string_or(&type, json, "type", kinds[0], r->where, r->err));
    choice->kind = (ak_choice_kind)AK_FIND_TEXT(kinds, AK_COUNT(kinds), type);
    AK_FAIL_IF((size_t)choice->kind >= AK_COUNT(kinds), r->err, AK_INVALID,
               "%s: \"type\" is \"%.40s\"; it must be text, int or real", r->where, type);
    return AK_OK;
}

static ak_status read_choice_number(double *out, ak_choice_kind kind, const json_t *json,
                                    const char *key, double fallback, ak_problem_reader *r)
{
    const json_t *value = json_object_get(json, key);
    *out = value == NULL ? fallback : json_number_value(value);
    AK_FAIL_IF(value != NULL &&
                   !(kind == AK_CHOICE_WHOLE ? json_is_integer(value) : json_is_number(value)),
               r->err, AK_INVALID, "%s: \"%s\" must be a %snumber", r->where, key,
               kind == AK_CHOICE_WHOLE ? "whole " : "");
    return AK_OK;
}

/* Reads an option that is a number from "minimum" to "maximum", both included. */
static ak_status read_choice_range(ak_choice_spec *choice, const json_t *json, ak_problem_reader *r)
{
    const ak_choice_kind kind = choice->kind;
    AK_DO(read_choice_number(&choice->low, kind, json, "minimum", -AK_CHOICE_NUMBER_MAX, r));
    AK_DO(read_choice_number(&choice->high, kind, json, "maximum", AK_CHOICE_NUMBER_MAX, r));
    AK_DO(read_choice_number(&choice->fallback, kind, json, "default", 0.0, r));
    AK_FAIL_IF(json_object_get(json, "values") != NULL, r->err, AK_INVALID,
               "%s: a number has no \"values\"", r->where);
    AK_FAIL_IF(!(choice->low <= choice->fallback && choice->fallback <= choice->high &&
                 choice->low >= -AK_CHOICE_NUMBER_MAX && choice->high <= AK_CHOICE_NUMBER_MAX),
               r->err, AK_INVALID,
               "%s: the default %g is not from %g to %g, which must be within 2^53", r->where,
               choice->fallback, choice->low, choice->high);
    return AK_OK;
}

/* Adds the option's default to the scope in which expressions are tried. */
static ak_status name_choice(const ak_choice_spec *choice, ak_problem_reader *r)
{
    char index[AK_KERNEL_NAME_MAX + 16];
    if (choice->kind == AK_CHOICE_REAL) {
        return ak_scope_set_real(r->sizes, choice->name, choice->fallback, r->err);
    }
    if (choice->kind == AK_CHOICE_WHOLE) {
        return ak_scope_set_int(r->sizes, choice->name, (int64_t)choice->fallback, r->err);
    }
    (void)snprintf(index, sizeof index, "choice_%s", choice->name);
    AK_DO(ak_scope_set_int(r->sizes, index, (int64_t)choice->default_index, r->err));
    return ak_scope_set_text(r->sizes, choice->name, choice->values[choice->default_index], r->err);
}

ak_status ak_problem_read_choices(ak_problem_reader *r)
{
    json_t *list = NULL;
    ak_problem *problem = r->problem;
    AK_DO(ak_json_array_or_null(&list, r->json, "choices", r->path, r->err));
    size_t count = json_array_size(list);
    AK_FAIL_IF(count > AK_CHOICES_MAX, r->err, AK_LIMIT,
               "%s has %zu choices; at most %d are possible", r->path, count, AK_CHOICES_MAX);
    for (size_t i = 0; i < count; i++) {
        const json_t *json = json_array_get(list, i);
        ak_choice_spec *choice = &problem->choices[i];
        ak_problem_at(r, "choice", i + 1);
        AK_DO(ak_problem_check_object(json, choice_keys, r));
        AK_DO(ak_problem_read_name(&choice->name, json, true, r));
        AK_DO(ak_json_string_or(&choice->description, json, "description", "", r->where, r->err));
        AK_DO(ak_json_bool_or(&choice->implicit, json, "implicit", false, r->where, r->err));
        AK_DO(read_choice_kind(choice, json, r));
        AK_DO(choice->kind == AK_CHOICE_TEXT ? read_choice_values(choice, json, r)
                                             : read_choice_range(choice, json, r));
        AK_DO(name_choice(choice, r));
        problem->choice_count++;
    }
    return AK_OK;
}
