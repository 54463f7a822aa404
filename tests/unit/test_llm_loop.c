/* test_llm_loop.c: tests the strategies that ask a language model. A script answers, depending on
   what it is shown, and times come from a formula. Every fault that a model can have is tested,
   too. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "script_fixture.h"
#include "space_fixture.h"

/* The optimum is A=64, B=5, C=z, with 1 ms. C=x with A=32 or more does not compile, and B=4 gives
   wrong results. */
static const char space_text[] =
    "{\"TuningParameters\": ["
    "{\"Name\": \"A\", \"Type\": \"int\", \"Values\": [1, 2, 4, 8, 16, 32, 64], \"Default\": 4},"
    "{\"Name\": \"B\", \"Type\": \"int\", \"Values\": [1, 2, 3, 4, 5], \"Default\": 2},"
    "{\"Name\": \"C\", \"Type\": \"string\", \"Values\": [\"x\", \"y\", \"z\"], \"Default\": "
    "\"y\"},"
    "{\"Name\": \"D\", \"Type\": \"int\", \"Values\": [0, 1], \"Default\": 0}],"
    "\"Conditions\": [{\"Expression\": \"C != 'z' or D == 0\", \"Description\": \"z has no D\"}]}";

#define TRIALS_MAX 512

typedef struct run {
    ak_space *space;
    script model;
    ak_advisor_options advisor;
    ak_strategy *strategy;
    size_t evaluations, count;
    struct {
        char config[64];
        double ms; /* 0: failed */
        char strategy[32], hypothesis[AK_PROMPT_TEXT_MAX + 8];
        bool model;
        int generation;
    } trials[TRIALS_MAX];
    char notice[600];
    size_t notices, calls, failed_calls, rechecked;
    double spent_usd;
    json_t *proposals; /* of the latest call */
} run;

static int64_t value_of(const run *r, const ak_config *config, size_t p)
{
    return ak_config_value(r->space, config, p).as.integer;
}

/* Writes the outcome of a configuration as a trial. */
static void outcome(ak_trial *out, const run *r, const ak_config *config)
{
    int64_t a = value_of(r, config, 0), b = value_of(r, config, 1);
    const char *c = ak_config_value(r->space, config, 2).as.string;
    *out = (ak_trial){.status = AK_TRIAL_OK};
    if (a >= 32 && c[0] == 'x') {
        out->status = AK_TRIAL_COMPILE_ERROR;
        out->reason = (char *)(uintptr_t) "k.c:7:1: error: A is too large for x";
    } else if (a >= 32 && b == 4) {
        out->status = AK_TRIAL_WRONG_RESULT;
        out->reason = (char *)(uintptr_t) "Y[0] is 2, should be 1";
        out->max_error = 77;
    } else {
        out->median_ms = 1 + fabs(log2(64.0 / (double)a)) + (5 - (double)b) +
                         (c[0] == 'z' ? 0 : 3) + (double)value_of(r, config, 3);
    }
}

static void on_tell(void *context, const ak_call *call)
{
    run *r = context;
    r->calls++;
    r->failed_calls += call->error != NULL;
    r->spent_usd += call->cost_usd;
    assert_non_null(call->state);
    assert_true((call->error == NULL) == (call->reply != NULL));
    json_decref(r->proposals);
    r->proposals = call->proposals == NULL ? NULL : json_loads(call->proposals, 0, NULL);
}

static void on_notice(void *context, const char *text)
{
    run *r = context;
    r->notices++;
    (void)snprintf(r->notice, sizeof r->notice, "%s", text);
}

static run *open_loop(const char *strategy, script_reply reply, size_t evaluations, int generations,
                      int looks, bool rechecks)
{
    run *r = ak_alloc(1, sizeof *r);
    r->space = fixture_space(space_text);
    script_open(&r->model, reply);
    r->model.looks = looks;
    r->evaluations = evaluations;
    r->advisor = (ak_advisor_options){.model = reply == NULL ? NULL : &r->model.model,
                                      .generations = generations,
                                      .patient = looks >= 0,
                                      .rechecks = rechecks,
                                      .tell = on_tell,
                                      .notice = on_notice,
                                      .context = r};
    ak_strategy_choice choice;
    ak_error err = AK_ERROR_INIT;
    ak_strategy_context context = {.space = r->space,
                                   .kernel = "k",
                                   .seed = 1,
                                   .evaluations = evaluations,
                                   .advisor = &r->advisor};
    if (ak_strategy_choose(&choice, strategy, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    context.hyper = choice.hyper;
    if (ak_strategy_open(&r->strategy, choice.ops, &context, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    return r;
}

static run *open_run(const char *strategy, script_reply reply, size_t evaluations, int generations)
{
    return open_loop(strategy, reply, evaluations, generations, -1, true);
}

static void try_one(run *r, const ak_proposal *p, const char *strategy)
{
    ak_trial trial;
    ak_error err = AK_ERROR_INIT;
    assert_true(r->count < TRIALS_MAX);
    outcome(&trial, r, &p->config);
    ak_observation seen = {.config = &p->config,
                           .ok = trial.status == AK_TRIAL_OK,
                           .ms = trial.median_ms,
                           .trial = &trial};
    (void)ak_config_format(r->trials[r->count].config, sizeof r->trials[0].config, r->space,
                           &p->config);
    r->trials[r->count].ms = trial.median_ms;
    r->trials[r->count].generation = p->generation;
    r->trials[r->count].model = p->model != NULL;
    (void)snprintf(r->trials[r->count].strategy, sizeof r->trials[0].strategy, "%s",
                   p->strategy == NULL ? strategy : p->strategy);
    (void)snprintf(r->trials[r->count].hypothesis, sizeof r->trials[0].hypothesis, "%s",
                   p->hypothesis == NULL ? "" : p->hypothesis);
    r->count++;
    if (r->strategy->ops->observe(r->strategy, &seen, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
}

/* Searches as the tuner does: the default first, then proposals; when there are none,
   configurations are measured again, and the reply is awaited. Returns why the search ended. */
static const char *search(run *r)
{
    const ak_strategy_ops *ops = r->strategy->ops;
    ak_proposal proposal = {0}, list[3];
    ak_config doubts[8];
    ak_error err = AK_ERROR_INIT;
    ak_space_default(&proposal.config, r->space);
    try_one(r, &proposal, "default");
    while (r->count < r->evaluations) {
        size_t count = 0, want = r->evaluations - r->count < 3 ? r->evaluations - r->count : 3;
        for (bool found = true; found && count < want; count += found) {
            if (ops->propose(&list[count], &found, r->strategy, &err) != AK_OK) {
                fail_msg("%s", err.text);
            }
        }
        for (size_t i = count; i > 0; i--) { /* results come in any order */
            try_one(r, &list[i - 1], ops->name);
        }
        if (count > 0) {
            continue;
        }
        size_t again = ops->recheck == NULL ? 0 : ops->recheck(doubts, r->strategy, 8);
        for (size_t i = 0; i < again; i++) {
            ak_trial trial;
            outcome(&trial, r, &doubts[i]);
            ak_observation seen = {
                .config = &doubts[i], .ok = true, .ms = trial.median_ms, .again = true};
            assert_int_equal(ops->observe(r->strategy, &seen, NULL), AK_OK);
        }
        r->rechecked += again;
        if (again == 0 && (ops->await == NULL || !ops->await(r->strategy, 0))) {
            return ops->ended == NULL ? NULL : ops->ended(r->strategy);
        }
    }
    return "evaluations";
}

/* Frees a run whose strategy is closed. */
static void free_run(run *r)
{
    script_close(&r->model);
    json_decref(r->proposals);
    ak_space_free(r->space);
    ak_free(r);
}

static void close_run(run *r)
{
    ak_strategy_close(r->strategy);
    free_run(r);
}

/* Returns the best time of the configurations that a generation of the model proposed; HUGE_VAL if
   there is none. */
static double best_of(const run *r, int generation)
{
    double best = HUGE_VAL;
    for (size_t i = 0; i < r->count; i++) {
        if (r->trials[i].model && r->trials[i].generation == generation && r->trials[i].ms > 0) {
            best = fmin(best, r->trials[i].ms);
        }
    }
    return best;
}

static size_t count_of(const run *r, const char *strategy)
{
    size_t count = 0;
    for (size_t i = 0; i < r->count; i++) {
        count += strcmp(r->trials[i].strategy, strategy) == 0;
    }
    return count;
}

/* ---- the closed loop --------------------------------------------------------------------------
 */

/* Returns the number after `label` in the part of the text that begins with `from`; -1 if there is
   none. */
static int number_after(const char *text, const char *from, const char *label)
{
    const char *at = strstr(text, from);
    at = at == NULL ? NULL : strstr(at, label);
    return at == NULL ? -1 : atoi(at + strlen(label));
}

/* A model that knows only what it is shown. From anchor A it takes one step in A and one in B. It
   tries C=x once, and not again after the prompt has said that it does not compile. */
static ak_status climb(ak_buf *out, script *self, const char *state, ak_error *err)
{
    (void)self;
    (void)err;
    int best = number_after(state, "## Anchors", "A = #");
    if (strstr(state, "before generation 1 ") != NULL) {
        ak_buf_puts(out, "{\"proposals\": ["
                         "{\"hypothesis\": \"x may be fast\", \"expected_gain_pct\": 50, "
                         "\"parent\": null, \"changes\": {\"A\": 32, \"C\": \"x\"}},"
                         "{\"hypothesis\": \"more A\", \"expected_gain_pct\": \"+10 %\", "
                         "\"parent\": null, \"changes\": {\"A\": 8}}]}");
        return AK_OK;
    }
    int a = number_after(state, "A = #", "A="), b = number_after(state, "A = #", "B=");
    bool x_failed = strstr(state, "A is too large for x") != NULL;
    ak_buf_print(out,
                 "{\"proposals\": ["
                 "{\"hypothesis\": \"twice A\", \"expected_gain_pct\": 20, \"parent\": %d, "
                 "\"changes\": {\"A\": %d}},"
                 "{\"hypothesis\": \"B and z\", \"expected_gain_pct\": 30, \"parent\": %d, "
                 "\"changes\": {\"B\": %d, \"C\": \"z\", \"D\": 0}},"
                 "{\"hypothesis\": \"what failed is left alone\", \"expected_gain_pct\": 5, "
                 "\"parent\": %d, \"changes\": {\"A\": %d, \"B\": %d, \"C\": \"%s\", \"D\": 0}}]}",
                 best, a < 64 ? a * 2 : a, best, b < 5 ? b + 1 : b, best, a < 64 ? a * 2 : a,
                 b < 5 ? b + 1 : b, x_failed ? "z" : "x");
    return AK_OK;
}

static void test_closed_loop(void **state)
{
    (void)state;
    run *r = open_run("llm:fill=0", climb, 100, 6);
    assert_string_equal(search(r), "generations");
    assert_int_equal(r->model.questions, 6);
    /* Failures and results reach the next prompt. */
    const char *second = r->model.asked[1];
    assert_non_null(strstr(second, "- 1 compile_error: it did not compile\n"));
    assert_non_null(strstr(second, "\"k.c:7:1: error: A is too large for x\""));
    assert_non_null(strstr(second, "expected +50 %, failed (compile_error). \"x may be fast\""));
    assert_non_null(strstr(second, "measured +10 %: faster, as expected. \"more A\""));
    assert_non_null(strstr(second, "(measured again)"));
    assert_non_null(strstr(second, "generation 2 of 6"));
    /* And each generation is better than the one before: it learned. */
    for (int g = 2; g <= 5; g++) {
        assert_true(best_of(r, g) < best_of(r, g - 1));
    }
    assert_true(best_of(r, 5) <= 2);
    /* x was not proposed again. */
    size_t x = 0;
    for (size_t i = 0; i < r->count; i++) {
        x += r->trials[i].model && strstr(r->trials[i].config, "C=x") != NULL;
    }
    assert_int_equal(x, 1);
    assert_int_equal(r->notices, 0);
    assert_int_equal(r->calls, 6);
    assert_true(r->rechecked > 0);
    assert_non_null(strstr(r->trials[1].hypothesis, "m")); /* "more A", or "x may be fast" */
    close_run(r);
}

/* If a repeated measurement would give the same time, nothing is measured again. */
static void test_without_rechecks(void **state)
{
    (void)state;
    run *r = open_loop("llm:fill=0", climb, 100, 6, -1, false);
    assert_string_equal(search(r), "generations");
    assert_int_equal(r->rechecked, 0);
    assert_null(strstr(r->model.asked[1], "measured again"));
    close_run(r);
}

/* Equal runs give equal results, however long replies take: with `llm` always, with `hybrid` if it
   is told to wait for replies. */
static void test_deterministic(void **state)
{
    (void)state;
    static const char *const strategies[] = {"llm", "hybrid"};
    for (size_t s = 0; s < 2; s++) {
        run *runs[2];
        for (int i = 0; i < 2; i++) {
            runs[i] = open_loop(strategies[s], climb, 60, 4, i == 0 ? 0 : 7, true);
            (void)search(runs[i]);
        }
        assert_int_equal(runs[0]->count, runs[1]->count);
        for (size_t t = 0; t < runs[0]->count; t++) {
            assert_string_equal(runs[0]->trials[t].config, runs[1]->trials[t].config);
        }
        assert_string_equal(runs[0]->model.asked[2], runs[1]->model.asked[2]);
        close_run(runs[0]);
        close_run(runs[1]);
    }
}

/* Until the first reply comes, random configurations are tried, `fill` in all; then those of the
   model. */
static void test_overlap(void **state)
{
    (void)state;
    run *r = open_run("llm:fill=6", climb, 60, 2);
    r->model.looks = 3;
    (void)search(r);
    assert_int_equal(count_of(r, "random"), 6);
    for (size_t i = 1; i <= 6; i++) {
        assert_string_equal(r->trials[i].strategy, "random");
        assert_false(r->trials[i].model);
    }
    assert_true(r->trials[7].model);
    assert_string_equal(r->trials[7].strategy, "llm");
    close_run(r);
}

/* Closing the strategy abandons a pending question and reports what it may have cost. */
static void test_abandoned(void **state)
{
    (void)state;
    run *r = open_run("llm:fill=0", climb, 60, 2);
    ak_proposal proposal;
    bool found = true;
    r->model.looks = 1000;
    assert_int_equal(r->strategy->ops->propose(&proposal, &found, r->strategy, NULL), AK_OK);
    assert_false(found);
    assert_true(r->strategy->ops->await(r->strategy, 0));
    ak_strategy_close(r->strategy);
    assert_true(r->model.abandoned);
    assert_int_equal(r->calls, 1);
    assert_int_equal(r->failed_calls, 1);
    assert_true(r->spent_usd > 0.2);
    free_run(r);
}

/* A reply that came after the last look was paid for: its tokens and its cost are reported. */
static void test_late(void **state)
{
    (void)state;
    run *r = open_run("llm:fill=0", climb, 60, 2);
    ak_proposal proposal;
    bool found = true;
    r->model.looks = 1000;
    r->model.late = true;
    assert_int_equal(r->strategy->ops->propose(&proposal, &found, r->strategy, NULL), AK_OK);
    assert_false(found);
    ak_strategy_close(r->strategy);
    assert_true(r->model.abandoned);
    assert_int_equal(r->calls, 1);
    assert_int_equal(r->failed_calls, 0);
    assert_true(r->spent_usd > 0.009 && r->spent_usd < 0.011);
    free_run(r);
}

static void test_oneshot(void **state)
{
    (void)state;
    run *r = open_run("llm-oneshot", climb, 30, 5);
    assert_string_equal(search(r), "generations");
    assert_int_equal(r->model.questions, 1);
    assert_true(count_of(r, "llm-oneshot") > 0);
    close_run(r);
}

/* The search continues while the model thinks, and to its end. Trials record which of the two
   proposed them. */
static void test_hybrid(void **state)
{
    (void)state;
    run *r = open_run("hybrid", climb, 60, 3);
    r->model.looks = 4;
    assert_string_equal(search(r), "evaluations");
    assert_int_equal(r->count, 60);
    assert_int_equal(r->model.questions, 3);
    assert_true(count_of(r, "hybrid") >= 2);
    assert_true(count_of(r, "portfolio") >= 30);
    assert_string_equal(r->trials[1].strategy, "portfolio");
    double best = HUGE_VAL;
    for (size_t i = 0; i < r->count; i++) {
        best = r->trials[i].ms > 0 ? fmin(best, r->trials[i].ms) : best;
    }
    assert_true(best == 1);
    /* A second seed builds on what the search found meanwhile. */
    assert_non_null(strstr(r->model.asked[1], "## Anchors"));
    close_run(r);
}

/* However many configurations are under way at once, the model sees most results before it is asked
   again. A trial that never gets a result does not end the run. */
static void test_many_under_way(void **state)
{
    (void)state;
    enum { UNDER_WAY = 24, ALL = 40 };
    run *r = open_run("hybrid", climb, ALL, 3);
    const ak_strategy_ops *ops = r->strategy->ops;
    ak_proposal flights[ALL];
    size_t sent = 0, seen = 0;
    bool quiet = false;
    while (!quiet && seen < ALL) {
        bool found = true;
        while (found && sent < ALL && sent - seen < UNDER_WAY) {
            assert_int_equal(ops->propose(&flights[sent], &found, r->strategy, NULL), AK_OK);
            sent += found;
        }
        if (sent > seen && seen != 3) {
            try_one(r, &flights[seen], ops->name);
            seen++;
        } else if (sent > seen) {
            seen++; /* its result never comes */
        } else {
            quiet = !ops->await(r->strategy, 0);
        }
    }
    assert_int_equal(seen, ALL);
    assert_int_equal(r->model.questions, 3);
    assert_true(number_after(r->model.asked[1], "# State", "generation 2 of 3\n\n") >= 6);
    assert_true(number_after(r->model.asked[2], "# State", "generation 3 of 3\n\n") >= 16);
    close_run(r);
}

/* ---- early ends -------------------------------------------------------------------------------
 */

/* A model that always proposes new configurations, none of them better than the default. */
static ak_status wander(ak_buf *out, script *self, const char *state, ak_error *err)
{
    (void)state;
    (void)err;
    ak_buf_print(out,
                 "{\"proposals\": [{\"hypothesis\": \"\", \"expected_gain_pct\": 1, \"parent\": "
                 "null, \"changes\": {\"A\": 1, \"B\": %d, \"D\": %d}}]}",
                 1 + self->questions / 2 % 2, self->questions % 2);
    return AK_OK;
}

static void test_stalled(void **state)
{
    (void)state;
    run *r = open_run("llm:fill=0", wander, 60, 9);
    assert_string_equal(search(r), "stalled");
    assert_int_equal(r->model.questions, 2);
    close_run(r);
}

/* A model that, from the second question on, says by an empty list that it expects nothing
   better. */
static ak_status give_up(ak_buf *out, script *self, const char *state, ak_error *err)
{
    if (self->questions == 1) {
        return climb(out, self, state, err);
    }
    ak_buf_puts(out, "{\"proposals\": []}");
    return AK_OK;
}

/* A trial that could not be judged because the machine was busy is not mentioned to the model. Any
   other time-out is a failure of the configuration. */
static void test_not_judged(void **state)
{
    (void)state;
    static const char *const reasons[] = {
        AK_NOT_JUDGED "the machine was too busy to tell calls alone from calls in a batch",
        "no end after 10 s"};
    for (size_t i = 0; i < 2; i++) {
        run *r = open_run("llm", climb, 8, 2);
        ak_trial trial = {.status = AK_TRIAL_TIMED_OUT, .reason = (char *)(uintptr_t)reasons[i]};
        ak_config config;
        ak_proposal proposal;
        bool found = false;
        ak_space_default(&config, r->space);
        ak_observation seen = {.config = &config, .trial = &trial};
        assert_int_equal(r->strategy->ops->observe(r->strategy, &seen, NULL), AK_OK);
        assert_int_equal(r->strategy->ops->propose(&proposal, &found, r->strategy, NULL), AK_OK);
        assert_int_equal(strstr(r->model.asked[0], "timed_out") != NULL, i == 1);
        close_run(r);
    }
}

/* An empty list after proposals that were used is an answer and not a fault, so no other strategy
   takes over. */
static void test_satisfied(void **state)
{
    (void)state;
    run *r = open_run("llm:fill=0", give_up, 60, 9);
    assert_string_equal(search(r), "satisfied");
    assert_int_equal(r->model.questions, 2);
    assert_non_null(strstr(r->model.asked[1], "An empty list says that you expect nothing more"));
    assert_int_equal(r->notices, 0);
    assert_int_equal(count_of(r, "portfolio"), 0);
    close_run(r);
    r = open_run("hybrid", give_up, 60, 4);
    assert_string_equal(search(r), "evaluations");
    assert_int_equal(r->model.questions, 2);
    assert_int_equal(r->notices, 0);
    close_run(r);
}

/* A model whose second and later replies are no valid answers, which is a fault even after a good
   one. */
static ak_status break_off(ak_buf *out, script *self, const char *state, ak_error *err)
{
    if (self->questions == 1) {
        return climb(out, self, state, err);
    }
    ak_buf_puts(out, self->questions == 2 ? "{}" : "{\"proposals\": [17]}");
    return AK_OK;
}

static void test_broken_off(void **state)
{
    (void)state;
    run *r = open_run("hybrid", break_off, 60, 9);
    assert_string_equal(search(r), "evaluations");
    assert_int_equal(r->model.questions, 3);
    assert_int_equal(r->notices, 1);
    assert_non_null(strstr(r->notice, "script:one gave no usable proposal 2 times in a row"));
    const char *third = r->model.asked[2];
    assert_non_null(strstr(third, "\"the whole answer\": \"it held no list of proposals"));
    close_run(r);
}

/* ---- faults -----------------------------------------------------------------------------------
 */

static ak_status dead(ak_buf *out, script *self, const char *state, ak_error *err)
{
    (void)out;
    (void)state;
    self->fault = AK_LLM_FAULT_NETWORK;
    return ak_fail(err, AK_IO, "script:one: connection refused; is the server running?");
}

static ak_status unauthorized(ak_buf *out, script *self, const char *state, ak_error *err)
{
    (void)out;
    (void)state;
    self->fault = AK_LLM_FAULT_KEY;
    return ak_fail(err, AK_UNAVAILABLE, "script:one: 401: the key is not valid");
}

/* A model whose context has no room for facts. */
static ak_status narrow(ak_buf *out, script *self, const char *state, ak_error *err)
{
    if (strstr(self->brief, "Device ") != NULL) {
        self->fault = AK_LLM_FAULT_CONTEXT;
        return ak_fail(err, AK_LIMIT, "script:one: 400: the context is too small");
    }
    return climb(out, self, state, err);
}

/* A question that is too long for the model is asked again in a shorter form, and later questions
   are short, too. */
static void test_too_long(void **state)
{
    (void)state;
    run *r = open_run("llm", narrow, 30, 3);
    (void)search(r);
    assert_string_equal(r->notice, "");
    assert_true(r->model.questions >= 4); /* the first three times */
    assert_string_equal(r->model.asked[0], r->model.asked[2]);
    close_run(r);
}

static ak_status junk(ak_buf *out, script *self, const char *state, ak_error *err)
{
    (void)self;
    (void)state;
    (void)err;
    ak_buf_puts(out, "I am sorry, as a language model I cannot say. {\"a\": [1, 2");
    return AK_OK;
}

static ak_status empty(ak_buf *out, script *self, const char *state, ak_error *err)
{
    (void)self;
    (void)state;
    (void)err;
    ak_buf_puts(out, "{\"proposals\": []}");
    return AK_OK;
}

static ak_status off_grid(ak_buf *out, script *self, const char *state, ak_error *err)
{
    (void)state;
    (void)err;
    ak_buf_print(out,
                 "{\"proposals\": [{\"changes\": {\"A\": 1000}}, {\"changes\": {\"E\": 1}},"
                 "{\"changes\": {\"C\": \"z\", \"D\": 1}}, 17, null, [],"
                 "{\"changes\": {\"A\": %s}}]}",
                 self->questions == 1 ? "7" : "\"many\"");
    return AK_OK;
}

static ak_status flood(ak_buf *out, script *self, const char *state, ak_error *err)
{
    (void)self;
    (void)state;
    (void)err;
    ak_buf_puts(out, "{\"proposals\": [");
    for (int i = 0; i < 50000; i++) {
        ak_buf_print(out, "%s{\"hypothesis\": \"%d\", \"changes\": {\"A\": %d, \"B\": %d}}",
                     i == 0 ? "" : ",", i, 1 << (i % 7), 1 + i / 7 % 5);
    }
    ak_buf_puts(out, "]}");
    return AK_OK;
}

static void test_faults(void **state)
{
    (void)state;
    static const struct {
        const char *name, *notice;
        script_reply reply;
    } rows[] = {
        {"none", "no language model is configured", NULL},
        {"dead", "connection refused; is the server running?", dead},
        {"401", "401: the key is not valid", unauthorized},
        {"junk",
         "script:one gave no usable proposal 2 times in a row (the last: the whole answer: it held "
         "no list of proposals that can be read); carrying on",
         junk},
        {"empty", "script:one gave no usable proposal 2 times in a row", empty},
    };
    static const char *const strategies[] = {"llm", "llm-oneshot", "hybrid"};
    for (size_t s = 0; s < 3; s++) {
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            run *r = open_run(strategies[s], rows[i].reply, 50, 4);
            const char *why = search(r);
            /* It ends well: the budget is used, by the strategy that carried on. */
            if (why == NULL || strcmp(why, "evaluations") != 0 || r->count != 50 ||
                count_of(r, "portfolio") < 30 || count_of(r, strategies[s]) > 0) {
                fail_msg("%s, %s: %s after %zu, %zu by portfolio", strategies[s], rows[i].name,
                         why == NULL ? "?" : why, r->count, count_of(r, "portfolio"));
            }
            /* One shot has one answer only, which is said in other words. */
            const char *notice = strstr(rows[i].notice, "2 times") != NULL && s == 1
                                     ? "script:one gave no usable proposal"
                                     : rows[i].notice;
            if (strstr(r->notice, notice) == NULL ||
                strstr(r->notice, "carrying on with the strategy portfolio") == NULL) {
                fail_msg("%s, %s: notice \"%s\"", strategies[s], rows[i].name, r->notice);
            }
            assert_int_equal(r->notices, 1);
            close_run(r);
        }
    }
}

static void test_no_start(void **state)
{
    (void)state;
    run *r = open_run("llm", climb, 30, 2);
    r->model.refuse_to_start = true;
    assert_string_equal(search(r), "evaluations");
    assert_non_null(strstr(r->notice, "nobody there"));
    close_run(r);
}

/* Values that are not legal are refused or replaced by the nearest, and the next prompt says so. */
static void test_off_grid(void **state)
{
    (void)state;
    run *r = open_run("llm:fill=0", off_grid, 30, 2);
    (void)search(r);
    assert_int_equal(r->model.questions, 2);
    const char *second = r->model.asked[1];
    assert_non_null(strstr(second, "\"A=1000\": \"A has no value 1000\""));
    assert_non_null(strstr(second, "\"E=1\": \"there is no parameter E\""));
    assert_non_null(strstr(second, "breaks condition 1"));
    assert_non_null(strstr(second, "\"A=7\": \"A=7 was taken as 8\""));
    assert_non_null(strstr(second, "\"17\": \"a proposal is an object"));
    bool eight = false;
    for (size_t i = 0; i < r->count; i++) {
        eight = eight || (r->trials[i].model && strncmp(r->trials[i].config, "A=8,", 4) == 0);
    }
    assert_true(eight);
    close_run(r);
}

/* Of 50,000 proposals one batch is tried, some more are recorded, and the rest is not examined. */
static void test_flood(void **state)
{
    (void)state;
    run *r = open_run("llm:fill=0", flood, 40, 1);
    r->advisor.batch = 0;
    assert_string_equal(search(r), "generations");
    assert_true(r->count <= 40);
    assert_in_range(json_array_size(r->proposals), 30, 256);
    size_t repeated = 0, i;
    json_t *p;
    json_array_foreach(r->proposals, i, p) {
        repeated += strcmp(json_string_value(json_object_get(p, "verdict")), "repeated") == 0;
    }
    assert_true(repeated > 0);
    close_run(r);
}

/* Trials of an earlier run count as the model's own if the same model proposed them. Those of
   another model are shown with its name. */
static void test_earlier_authors(void **state)
{
    (void)state;
    static const char *const models[] = {"script:one", "script:two", NULL};
    run *r = open_run("llm:fill=0", climb, 30, 1);
    for (size_t i = 0; i < 3; i++) {
        ak_config config;
        ak_space_default(&config, r->space);
        config.at[1] = (uint16_t)i;
        ak_trial trial = {.status = AK_TRIAL_OK,
                          .median_ms = 5 + (double)i,
                          .strategy = (char *)(uintptr_t) "hybrid",
                          .model = (char *)(uintptr_t)models[i]};
        ak_observation seen = {.config = &config, .ok = true, .ms = 5 + (double)i, .trial = &trial};
        assert_int_equal(r->strategy->ops->observe(r->strategy, &seen, NULL), AK_OK);
    }
    bool found = false;
    ak_proposal proposal;
    assert_int_equal(r->strategy->ops->propose(&proposal, &found, r->strategy, NULL), AK_OK);
    assert_int_equal(r->model.questions, 1);
    assert_non_null(strstr(r->model.asked[0], "#1 5 ms: "));
    assert_non_null(strstr(r->model.asked[0], "#2 6 ms (by script:two): "));
    assert_non_null(strstr(r->model.asked[0], "#3 7 ms (by hybrid): "));
    close_run(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_earlier_authors),
        cmocka_unit_test(test_closed_loop),
        cmocka_unit_test(test_without_rechecks),
        cmocka_unit_test(test_deterministic),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_abandoned),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_oneshot),
        cmocka_unit_test(test_hybrid),
        cmocka_unit_test(test_many_under_way),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_stalled),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_no_start),
        cmocka_unit_test(test_off_grid),
        cmocka_unit_test(test_flood),
        cmocka_unit_test(test_satisfied),
        cmocka_unit_test(test_not_judged),
        cmocka_unit_test(test_broken_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
