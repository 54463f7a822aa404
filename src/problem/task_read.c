/* task_read.c: reads the texts of a spec: "M=512,N=512" (sizes), "activation=relu" (problem
   options) and a dtype. It also writes the texts that a task shows, which name every size, and
   every option except implicit ones at their defaults. */
#include "problem/task_bind.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

#define TASK_TEXT_MAX 1024 /* bytes of a text of sizes or options */

/* ---- "name=value,name=value" ----------------------------------------------------------------- */

typedef struct pair_reader {
    const char *what; /* "size", for messages */
    ak_status (*set)(ak_task *task, const char *name, const char *value, ak_error *err);
} pair_reader;

static ak_status read_pairs(ak_task *task, const char *text, const pair_reader *reader,
                            ak_error *err)
{
    char copy[TASK_TEXT_MAX];
    AK_FAIL_IF(strlen(text) >= sizeof copy, err, AK_LIMIT, "%s: the text is longer than %d bytes",
               reader->what, TASK_TEXT_MAX - 1);
    memcpy(copy, text, strlen(text) + 1);
    char *rest = ak_text_trim(copy), *item;
    rest = *rest == 0 ? NULL : rest;
    while ((item = strsep(&rest, ",")) != NULL) {
        char *equals = strchr(item, '=');
        AK_FAIL_IF(equals == NULL, err, AK_INVALID, "%s: \"%.60s\" is not of the form name=value",
                   reader->what, item);
        *equals = 0;
        AK_DO(reader->set(task, ak_text_trim(item), ak_text_trim(equals + 1), err));
    }
    return AK_OK;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static ak_status read_size(int64_t *out, const char *name, const char *text, ak_error *err)
{
    int64_t value;
    AK_FAIL_IF(!ak_text_int(&value, text) || value < 1 || value > TASK_SIZE_MAX, err, AK_INVALID,
               "size %s: \"%.40s\" is not possible; it must be a whole number from 1 to 2^53", name,
               text);
    *out = value;
    return AK_OK;
}

static ak_status set_size(ak_task *task, const char *name, const char *value, ak_error *err)
{
    const char *names[AK_SIZES_MAX + 1] = {NULL};
    const ak_problem *problem = task->problem;
    for (size_t i = 0; i < problem->size_count; i++) {
        names[i] = problem->sizes[i].name;
        if (strcmp(names[i], name) == 0) {
            AK_FAIL_IF(task->shape.size[i] != 0, err, AK_INVALID, "size %s is given twice", name);
            return read_size(&task->shape.size[i], name, value, err);
        }
    }
    return ak_problem_lacks(problem, "size", name, names, AK_INVALID, err);
}

ak_status ak_task_read_sizes(ak_task *task, const char *text, ak_error *err)
{
    static const pair_reader reader = {"size", set_size};
    const ak_problem *problem = task->problem;
    AK_AT_END(ak_buf_free) ak_buf canonical = AK_BUF(TASK_TEXT_MAX);
    if (text != NULL && *text != 0 && strchr(text, '=') == NULL) {
        AK_FAIL_IF(problem->size_count == 0, err, AK_INVALID,
                   "%s has no sizes, so \"%.40s\" sets none", problem->name, text);
        for (size_t i = 0; i < problem->size_count; i++) {
            AK_DO(read_size(&task->shape.size[i], problem->sizes[i].name, text, err));
        }
    } else if (text != NULL) {
        AK_DO(read_pairs(task, text, &reader, err));
    }
    for (size_t i = 0; i < problem->size_count; i++) {
        if (task->shape.size[i] == 0) {
            task->shape.size[i] = problem->tune_size[i];
        }
        ak_buf_print(&canonical, "%s%s=%lld", i == 0 ? "" : ",", problem->sizes[i].name,
                     (long long)task->shape.size[i]);
    }
    return ak_buf_take(&task->size_text, &canonical, err);
}

/* ---- dtype, options -------------------------------------------------------------------------- */

ak_status ak_task_read_dtype(bool *given, ak_task *task, const char *text, ak_error *err)
{
    const ak_problem *problem = task->problem;
    *given = text != NULL && *text != 0;
    task->dtype = problem->dtypes[0];
    if (!*given) {
        return AK_OK;
    }
    AK_AT_END(ak_buf_free) ak_buf list = AK_BUF(100);
    bool found = false;
    const char *names[AK_COUNT(problem->dtypes) + 1] = {NULL};
    for (size_t i = 0; i < problem->dtype_count && !found; i++) {
        const char *name = ak_dtype_text(problem->dtypes[i]);
        names[i] = name;
        ak_buf_print(&list, "%s%s", i == 0 ? "" : ", ", name);
        if (strcmp(name, text) == 0) {
            task->dtype = problem->dtypes[i];
            found = true;
        }
    }
    const char *meant = found ? NULL : ak_text_meant(text, names);
    return found           ? AK_OK
           : meant != NULL ? ak_fail(err, AK_INVALID, "%s has no dtype \"%.40s\"; did you mean %s?",
                                     problem->name, text, meant)
                           : ak_fail(err, AK_INVALID, "%s has no dtype \"%.40s\"; it has %s",
                                     problem->name, text, list.data);
}

static ak_status read_number(double *out, const ak_choice_spec *choice, const char *text,
                             ak_error *err)
{
    double value;
    bool whole = choice->kind == AK_CHOICE_WHOLE;
    AK_FAIL_IF(!ak_text_real(&value, text) || !(value >= choice->low && value <= choice->high) ||
                   (whole && value != floor(value)),
               err, AK_INVALID,
               "option %s: \"%.40s\" is not possible; it must be a %snumber from %.16g to %.16g",
               choice->name, text, whole ? "whole " : "", choice->low, choice->high);
    *out = value == 0.0 ? 0.0 : value; /* makes -0 the same as 0 */
    return AK_OK;
}

/* Appends "alpha=0.5": with the fewest digits that read back as the same number, and a whole
   number without a fraction. */
static void print_choice(ak_buf *out, const ak_task *task, size_t i)
{
    const ak_choice_spec *choice = &task->problem->choices[i];
    const char *between = out->length == 0 ? "" : ",";
    char text[40];
    if (choice->kind == AK_CHOICE_TEXT) {
        ak_buf_print(out, "%s%s=%s", between, choice->name, choice->values[task->choice[i]]);
        return;
    }
    const double number = task->number[i];
    ak_value value = {.type = AK_VALUE_INT};
    if (fabs(number) <= AK_CHOICE_NUMBER_MAX && number == floor(number)) {
        value.as.integer = (int64_t)number;
    } else {
        value = (ak_value){.type = AK_VALUE_REAL, .as.real = number};
    }
    (void)ak_value_format(text, sizeof text, &value);
    ak_buf_print(out, "%s%s=%s", between, choice->name, text);
}

static ak_status set_choice(ak_task *task, const char *name, const char *value, ak_error *err)
{
    const char *names[AK_CHOICES_MAX + 1] = {NULL};
    const ak_problem *problem = task->problem;
    const bool own = AK_HAS(problem->choices, problem->choice_count, name, AK_OBJECTIVE_CHOICE);
    if (!own && strcmp(name, AK_OBJECTIVE_CHOICE) == 0) {
        AK_FAIL_IF(task->objective != NULL, err, AK_INVALID, "option %s is given twice", name);
        return ak_objective_parse(&task->objective, value, err);
    }
    for (size_t i = 0; i < problem->choice_count; i++) {
        const ak_choice_spec *choice = &problem->choices[i];
        names[i] = choice->name;
        if (strcmp(names[i], name) != 0) {
            continue;
        }
        AK_FAIL_IF(task->choice[i] >= 0, err, AK_INVALID, "option %s is given twice", name);
        if (choice->kind != AK_CHOICE_TEXT) {
            task->choice[i] = 0;
            return read_number(&task->number[i], choice, value, err);
        }
        const size_t at = AK_FIND_TEXT(choice->values, choice->value_count, value);
        if (at < choice->value_count) {
            task->choice[i] = (int)at;
            return AK_OK;
        }
        AK_AT_END(ak_buf_free) ak_buf list = AK_BUF(400);
        for (size_t v = 0; v < choice->value_count; v++) {
            ak_buf_print(&list, "%s%s", v == 0 ? "" : ", ", choice->values[v]);
        }
        return ak_fail(err, AK_INVALID, "option %s cannot be \"%.60s\"; it can be %s", name, value,
                       list.data);
    }
    return ak_problem_lacks(problem, "option", name, names, AK_INVALID, err);
}

ak_status ak_task_read_choices(ak_task *task, const char *text, ak_error *err)
{
    static const pair_reader reader = {"choices", set_choice};
    const ak_problem *problem = task->problem;
    for (size_t i = 0; i < problem->choice_count; i++) {
        task->choice[i] = -1;
    }
    AK_AT_END(ak_buf_free) ak_buf canonical = AK_BUF(TASK_TEXT_MAX);
    AK_DO(text == NULL ? AK_OK : read_pairs(task, text, &reader, err));
    for (size_t i = 0; i < problem->choice_count; i++) {
        const ak_choice_spec *choice = &problem->choices[i];
        if (task->choice[i] < 0) {
            task->choice[i] = (int)choice->default_index;
            task->number[i] = choice->fallback;
        }
        bool usual =
            task->choice[i] == (int)choice->default_index && task->number[i] == choice->fallback;
        if (!usual || !choice->implicit) {
            print_choice(&canonical, task, i);
        }
    }
    if (task->objective != NULL) {
        ak_buf_print(&canonical, "%s" AK_OBJECTIVE_CHOICE "=%s", canonical.length == 0 ? "" : ",",
                     ak_objective_text(task->objective));
    }
    return ak_buf_take(&task->choices_text, &canonical, err);
}
