/* strategy.c: the table of strategies, and the choice of one by its text. */
#include "strategy/strategy.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"

const ak_strategy_ops *const ak_strategies[] = {
#define X(name) &ak_strategy_##name,
#include "strategy/strategies.def"
#undef X
    NULL,
};

ak_status ak_strategy_open(ak_strategy **out, const ak_strategy_ops *ops,
                           const ak_strategy_context *context, ak_error *err)
{
    AK_AT_END(ak_strategy_close_at) ak_strategy *made = ak_alloc(1, ops->bytes);
    AK_DO(ak_made(made, err));
    made->ops = ops;
    AK_DO(ops->open(made, context, err));
    AK_GIVE(out, made);
    return AK_OK;
}

void ak_strategy_close(ak_strategy *strategy)
{
    if (strategy != NULL) {
        strategy->ops->close(strategy);
        ak_free(strategy);
    }
}

ak_status ak_strategy_find(const ak_strategy_ops **out, const char *name, ak_error *err)
{
    const char *names[AK_COUNT(ak_strategies)] = {NULL};
    AK_AT_END(ak_buf_free) ak_buf known = AK_BUF(256);
    for (size_t i = 0; ak_strategies[i] != NULL; i++) {
        names[i] = ak_strategies[i]->name;
        if (strcmp(names[i], name) == 0) {
            *out = ak_strategies[i];
            return AK_OK;
        }
        ak_buf_print(&known, "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    const char *meant = ak_text_meant(name, names);
    AK_FAIL_IF(meant != NULL, err, AK_NOT_FOUND, "there is no strategy \"%.80s\"; did you mean %s?",
               name, meant);
    return ak_fail(err, AK_NOT_FOUND, "there is no strategy \"%.80s\"; choose one of: %s", name,
                   known.data);
}

/* ---- hyper-parameters ------------------------------------------------------------------------ */

size_t ak_strategy_hyper_count(const ak_strategy_ops *ops)
{
    size_t count = 0;
    while (ops->hypers != NULL && ops->hypers[count].name != NULL) {
        count++;
    }
    return count;
}

double ak_strategy_hyper(const ak_strategy_context *context, const ak_hyper *hypers, size_t index)
{
    assert(hypers[index].name != NULL);
    return context->hyper == NULL ? hypers[index].initial : context->hyper[index];
}

ak_status ak_strategy_hyper_text(char **out, const ak_hyper *hyper, ak_error *err)
{
    ak_buf text = AK_BUF(1024);
    ak_buf_print(&text, "%g (%g to %g): %s", hyper->initial, hyper->low, hyper->high, hyper->help);
    return ak_buf_take(out, &text, err);
}

static ak_status no_such_hyper(const ak_strategy_ops *ops, const char *name, ak_error *err)
{
    size_t count = ak_strategy_hyper_count(ops);
    AK_FAIL_IF(count == 0, err, AK_NOT_FOUND,
               "strategy %s has no hyper-parameters; leave out \"%.60s\"", ops->name, name);
    AK_AT_END(ak_buf_free) ak_buf known = AK_BUF(1024);
    for (size_t i = 0; i < count; i++) {
        ak_buf_print(&known, "%s%s", i == 0 ? "" : ", ", ops->hypers[i].name);
    }
    return ak_fail(err, AK_NOT_FOUND, "strategy %s has no hyper-parameter \"%.60s\"; it has: %s",
                   ops->name, name, known.data);
}

/* Reads one "name=value" and modifies `text`. */
static ak_status choose_hyper(ak_strategy_choice *choice, bool *given, char *text, ak_error *err)
{
    const char *strategy = choice->ops->name;
    char *equals = strchr(text, '=');
    AK_FAIL_IF(equals == NULL, err, AK_INVALID, "strategy %s: \"%.60s\" must be NAME=NUMBER",
               strategy, text);
    *equals = 0;
    const ak_hyper *hypers = choice->ops->hypers;
    const size_t count = ak_strategy_hyper_count(choice->ops);
    const size_t i = AK_FIND(hypers, count, name, text);
    if (i == count) {
        return no_such_hyper(choice->ops, text, err);
    }
    const ak_hyper *hyper = &hypers[i];
    AK_FAIL_IF(given[i], err, AK_INVALID, "strategy %s: %s is given twice", strategy, hyper->name);
    double value;
    AK_FAIL_IF(!ak_text_real(&value, equals + 1) || value < hyper->low || value > hyper->high ||
                   (hyper->whole && floor(value) != value),
               err, AK_INVALID,
               "strategy %s: %s cannot be \"%.60s\"; it must be a %snumber from %g to %g", strategy,
               hyper->name, equals + 1, hyper->whole ? "whole " : "", hyper->low, hyper->high);
    given[i] = true;
    choice->hyper[i] = value;
    return AK_OK;
}

ak_status ak_strategy_choose(ak_strategy_choice *out, const char *text, ak_error *err)
{
    char copy[AK_STRATEGY_TEXT_MAX];
    size_t length = strlen(text);
    AK_FAIL_IF(length >= sizeof copy, err, AK_LIMIT,
               "the strategy is longer than %d bytes: \"%.40s...\"", AK_STRATEGY_TEXT_MAX - 1,
               text);
    memcpy(copy, text, length + 1);
    char *rest = strchr(copy, ':');
    if (rest != NULL) {
        *rest++ = 0;
    }
    ak_strategy_choice choice = {0};
    bool given[AK_HYPERS_MAX] = {false};
    AK_DO(ak_strategy_find(&choice.ops, copy, err));
    for (size_t i = 0; i < ak_strategy_hyper_count(choice.ops); i++) {
        choice.hyper[i] = choice.ops->hypers[i].initial;
    }
    while (rest != NULL) {
        char *comma = strchr(rest, ',');
        if (comma != NULL) {
            *comma = 0;
        }
        AK_DO(choose_hyper(&choice, given, rest, err));
        rest = comma == NULL ? NULL : comma + 1;
    }
    *out = choice;
    return AK_OK;
}

ak_status ak_strategy_text(char out[AK_STRATEGY_TEXT_MAX], const ak_strategy_choice *choice,
                           ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(AK_STRATEGY_TEXT_MAX - 1);
    ak_buf_puts(&text, choice->ops->name);
    char separator = ':';
    for (size_t i = 0; i < ak_strategy_hyper_count(choice->ops); i++) {
        const ak_hyper *hyper = &choice->ops->hypers[i];
        if (choice->hyper[i] != hyper->initial) {
            ak_buf_print(&text, "%c%s=%.10g", separator, hyper->name, choice->hyper[i]);
            separator = ',';
        }
    }
    AK_DO(ak_buf_status(&text, err));
    memcpy(out, text.data, text.length + 1);
    return AK_OK;
}
