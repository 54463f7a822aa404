/* test_impact.c: tests parameter importance on times that are computed from known effects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "report/importance.h"

#define TRIALS_MAX 400

typedef struct made {
    ak_trial trials[TRIALS_MAX];
    size_t count;
} made;

static char *text(const char *value)
{
    char *copy = ak_strdup(value);
    assert_non_null(copy);
    return copy;
}

/* Adds a trial of the task `size`. If log_ms is NAN, the trial failed. */
static void add(made *m, const char *size, const char *config, double log_ms)
{
    assert_true(m->count < TRIALS_MAX);
    ak_trial *t = &m->trials[m->count++];
    t->kernel = text("made");
    t->size = text(size);
    t->config = text(config);
    t->status = isnan(log_ms) ? AK_TRIAL_CRASHED : AK_TRIAL_OK;
    t->median_ms = isnan(log_ms) ? 0 : exp(log_ms);
}

static void forget(made *m)
{
    for (size_t i = 0; i < m->count; i++) {
        ak_trial_clear(&m->trials[i]);
    }
    m->count = 0;
}

/* Adds a trial for every combination of A (1, 2, 4, 8), B (1..3), MODE (x, y) and NOTHING
   (0..2). */
static void all_combinations(made *m, double (*log_ms)(int a, int b, int mode))
{
    for (int a = 0; a < 4; a++) {
        for (int b = 0; b < 3; b++) {
            for (int i = 0; i < 6; i++) {
                char config[80];
                (void)snprintf(config, sizeof config, "A=%d,FIXED=7,B=%d,MODE=%s,NOTHING=%d",
                               1 << a, b + 1, i % 2 == 0 ? "x" : "y", i / 2);
                add(m, "n=1", config, log_ms(a, b, i % 2));
            }
        }
    }
}

/* A and MODE add up. Their variances are 4 * 1.25 = 5 and 1 * 0.25. */
static double additive(int a, int b, int mode)
{
    (void)b;
    return 2.0 * a + mode;
}

/* B and MODE have an effect only together. */
static double together(int a, int b, int mode)
{
    return 0.1 * a + ((b == 0) != (mode == 1) ? 2.0 : 0.0);
}

static size_t place(const ak_importance *importance, const char *name)
{
    for (size_t i = 0; i < importance->parameter_count; i++) {
        if (strcmp(importance->parameters[i].name, name) == 0) {
            return i;
        }
    }
    fail_msg("no parameter %s", name);
    return 0;
}

static double share(const ak_importance *importance, const char *name)
{
    return importance->parameters[place(importance, name)].share;
}

static void test_main_effects(void **state)
{
    (void)state;
    made m = {0};
    ak_importance importance;
    all_combinations(&m, additive);
    assert_int_equal(ak_importance_of(&importance, m.trials, m.count, NULL), AK_OK);
    assert_null(importance.why);
    assert_int_equal(importance.trials, 72);
    assert_int_equal(importance.tasks, 1);
    assert_true(importance.r2 > 0.95);
    assert_string_equal(importance.parameters[0].name, "A");
    assert_string_equal(importance.parameters[1].name, "MODE");
    assert_true(fabs(share(&importance, "A") - 5.0 / 5.25) < 0.05);
    assert_true(fabs(share(&importance, "MODE") - 0.25 / 5.25) < 0.03);
    assert_true(share(&importance, "B") < 0.01 && share(&importance, "NOTHING") < 0.01);
    assert_true(share(&importance, "FIXED") == 0);
    for (size_t i = 0; i < importance.pair_count; i++) {
        assert_true(importance.pairs[i].share < 0.05);
    }
    /* A=1 or A<=2: which separates better is the median's affair; faster it is in any case. */
    assert_non_null(importance.best.text);
    assert_int_equal(strncmp(importance.best.text, "A", 1), 0);
    assert_true(importance.best.ratio > 5);
    assert_int_equal(importance.best.trials + importance.best.others, 72);
    assert_true(importance.worst.ratio < 0.2);
    const ak_importance_parameter *a = &importance.parameters[place(&importance, "A")];
    assert_int_equal(a->value_count, 4);
    assert_string_equal(a->values[3].text, "8"); /* by size, not by the alphabet */
    assert_int_equal(a->values[3].tried, 18);
    assert_int_equal(a->values[3].ok, 18);
    ak_importance_clear(&importance);
    forget(&m);
}

static void test_an_interaction(void **state)
{
    (void)state;
    made m = {0};
    ak_importance importance;
    all_combinations(&m, together);
    assert_int_equal(ak_importance_of(&importance, m.trials, m.count, NULL), AK_OK);
    assert_null(importance.why);
    assert_true(importance.pair_count >= 1);
    const char *a = importance.parameters[importance.pairs[0].a].name;
    const char *b = importance.parameters[importance.pairs[0].b].name;
    assert_true((strcmp(a, "B") == 0 && strcmp(b, "MODE") == 0) ||
                (strcmp(a, "MODE") == 0 && strcmp(b, "B") == 0));
    /* A table of B and MODE: variance 1; MODE alone 1/9, B alone 0. */
    assert_true(importance.pairs[0].share > 0.7);
    assert_true(share(&importance, "B") < 0.1 && share(&importance, "MODE") < 0.2);
    assert_non_null(importance.best.text);
    assert_non_null(strstr(importance.best.text, " and "));
    assert_non_null(strstr(importance.best.text, "MODE="));
    ak_importance_clear(&importance);
    forget(&m);
}

/* Sizes differ by a factor of 1000, which no parameter explains. */
static void test_tasks_are_compared_within_themselves(void **state)
{
    (void)state;
    made m = {0};
    ak_importance importance;
    for (int i = 0; i < 60; i++) {
        char config[80];
        (void)snprintf(config, sizeof config, "A=%d,B=%s", i % 3, i / 3 % 2 ? "True" : "False");
        add(&m, i < 30 ? "n=1" : "n=1000", config, (i % 3 == 0 ? 1.0 : 0.0) + (i < 30 ? 0 : 6.9));
    }
    assert_int_equal(ak_importance_of(&importance, m.trials, m.count, NULL), AK_OK);
    assert_null(importance.why);
    assert_int_equal(importance.tasks, 2);
    assert_true(share(&importance, "A") > 0.95);
    assert_non_null(importance.worst.text);
    assert_string_equal(importance.worst.text, "A=0");
    assert_string_equal(importance.parameters[place(&importance, "B")].values[1].text, "True");
    assert_int_equal(importance.worst.trials, 20);
    assert_true(fabs(importance.worst.ratio - exp(-1)) < 1e-9);
    ak_importance_clear(&importance);
    forget(&m);
}

static void test_too_little_is_said(void **state)
{
    (void)state;
    made m = {0};
    ak_importance importance;
    ak_rng rng;
    ak_rng_seed(&rng, 5);
    assert_int_equal(ak_importance_of(&importance, NULL, 0, NULL), AK_OK);
    assert_string_equal(importance.why, "not enough trials to tell");
    ak_importance_clear(&importance);
    for (int i = 0; i < AK_IMPORTANCE_TRIALS_MIN - 1; i++) {
        add(&m, "n=1", i % 2 == 0 ? "A=1" : "A=2", i % 2);
    }
    add(&m, "n=1", "A=1", (double)NAN); /* a failure is no time */
    add(&m, "n=1", "B=1", 0.0);         /* another kernel's parameters */
    assert_int_equal(ak_importance_of(&importance, m.trials, m.count, NULL), AK_OK);
    assert_string_equal(importance.why, "not enough trials to tell");
    assert_int_equal(importance.trials, AK_IMPORTANCE_TRIALS_MIN - 1);
    assert_int_equal(importance.left_out, 1);
    assert_int_equal(importance.parameters[0].values[0].tried, AK_IMPORTANCE_TRIALS_MIN / 2 + 1);
    assert_int_equal(importance.parameters[0].values[0].ok, AK_IMPORTANCE_TRIALS_MIN / 2);
    assert_null(importance.best.text);
    ak_importance_clear(&importance);
    forget(&m);
    for (int i = 0; i < 100; i++) { /* noise */
        char config[80];
        (void)snprintf(config, sizeof config, "A=%d,B=%d", i % 10, i / 10);
        add(&m, "n=1", config, ak_rng_real(&rng));
    }
    assert_int_equal(ak_importance_of(&importance, m.trials, m.count, NULL), AK_OK);
    assert_non_null(importance.why);
    assert_true(importance.r2 < AK_IMPORTANCE_R2_MIN);
    json_t *json = ak_importance_to_json(&importance);
    assert_true(json_is_string(json_object_get(json, "why_not")));
    assert_true(json_is_null(
        json_object_get(json_array_get(json_object_get(json, "parameters"), 0), "share")));
    json_decref(json);
    ak_importance_clear(&importance);
    forget(&m);
    for (int i = 0; i < 30; i++) {
        add(&m, "n=1", "A=1", ak_rng_real(&rng));
    }
    assert_int_equal(ak_importance_of(&importance, m.trials, m.count, NULL), AK_OK);
    assert_string_equal(importance.why, "no parameter had two values");
    ak_importance_clear(&importance);
    forget(&m);
}

static void test_no_memory_is_reported(void **state)
{
    (void)state;
    made m = {0};
    for (int i = 0; i < 24; i++) {
        add(&m, "n=1", i % 2 == 0 ? "A=1" : "A=2", i % 2);
    }
    ak_status status = AK_NO_MEMORY;
    for (size_t n = 1; status == AK_NO_MEMORY && n < 2000; n++) {
        ak_importance importance;
        ak_alloc_fail_at(n);
        status = ak_importance_of(&importance, m.trials, m.count, NULL);
        ak_alloc_fail_at(0);
        if (status == AK_OK) {
            ak_importance_clear(&importance);
        }
    }
    assert_int_equal(status, AK_OK);
    forget(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_main_effects),
        cmocka_unit_test(test_an_interaction),
        cmocka_unit_test(test_tasks_are_compared_within_themselves),
        cmocka_unit_test(test_too_little_is_said),
        cmocka_unit_test(test_no_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
