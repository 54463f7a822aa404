/*
 * The attacks and the honest kernels for OpenCL on the first device that there is, as in
 * test_adversarial.c; opencl/attacks.def names them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "suite.h"

#define DEVICE        "opencl:0"
#define OK            AK_TRIAL_OK
#define CRASHED       AK_TRIAL_CRASHED
#define TIMED_OUT     AK_TRIAL_TIMED_OUT
#define COMPILE_ERROR AK_TRIAL_COMPILE_ERROR
#define STOPPED       AK_TRIAL_REJECTED

static const attack attacks[] = {
#define X(number, name, status, reason) {number, name, status, reason},
#include "opencl/attacks.def"
#undef X
};
static const attack in_place[] = {
#define X(number, name, status, reason) {number, name, status, reason},
#include "opencl_in_place/attacks.def"
#undef X
};
/* What a trial does not see, and the check of finalists must. */
static const attack promoted[] = {
    {0, "honest", OK, NULL},
    {1, "does nothing", WRONG, "at N="},
    {44, "is right for numbers in the middle", WRONG, "Y["},
    {45, "is right at the sizes that are listed", WRONG, "at N="},
    {46, "is right where numbers lie evenly", WRONG, "at N="},
};
enum { VARIANTS = 20 };

static void no_attack_is_accepted(void **state)
{
    (void)state;
    try_attacks("opencl", DEVICE, attacks, sizeof attacks / sizeof attacks[0], 1);
}

/* A run of a few microseconds is not judged by what it takes more on contents that it has not seen,
   because no run of a batch has any other. */
static void no_short_attack_is_accepted(void **state)
{
    static const attack short_ones[] = {{0, "honest", OK, NULL},
                                        {52, "computes only what is not kept", STOPPED, NULL}};
    (void)state;
    try_attacks_at("opencl", DEVICE, "N=256,K=64", short_ones,
                   sizeof short_ones / sizeof short_ones[0], 1);
}

static void no_attack_in_place_is_accepted(void **state)
{
    (void)state;
    try_attacks("opencl_in_place", DEVICE, in_place, sizeof in_place / sizeof in_place[0], 1);
}

/* Each of these two moves the results of rows that it has seen. */
static void no_attack_by_rows_is_accepted(void **state)
{
    static const attack rows[] = {{0, "honest", OK, NULL},
                                  {1, "moves the results of rows that it knows", STOPPED, NULL}};
    (void)state;
    try_attacks("opencl_rows", DEVICE, rows, sizeof rows / sizeof rows[0], 1);
    try_attacks("opencl_products", DEVICE, rows, sizeof rows / sizeof rows[0], 1);
}

static void no_attack_is_promoted(void **state)
{
    (void)state;
    try_checks("opencl", DEVICE, NULL, promoted, sizeof promoted / sizeof promoted[0]);
}

static void every_honest_kernel_is_accepted(void **state)
{
    (void)state;
    every_one_is_right("opencl_honest", DEVICE, "M=30,N=70,K=33", AK_JOB_TRIAL, VARIANTS, 1);
    /* With more than 64 KiB of arguments, runs on unseen contents are compared. */
    every_one_is_right("opencl_honest", DEVICE, "M=130,N=150,K=133", AK_JOB_TRIAL, VARIANTS, 1);
}

/* Where rows are no separate problems, a row by itself has another result than among all. */
static void rows_may_need_their_neighbours(void **state)
{
    (void)state;
    every_one_is_right("opencl_neighbours", DEVICE, "H=30,W=33", AK_JOB_TRIAL, 2, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_attack_is_accepted),
        cmocka_unit_test(no_short_attack_is_accepted),
        cmocka_unit_test(no_attack_in_place_is_accepted),
        cmocka_unit_test(no_attack_by_rows_is_accepted),
        cmocka_unit_test(no_attack_is_promoted),
        cmocka_unit_test(every_honest_kernel_is_accepted),
        cmocka_unit_test(rows_may_need_their_neighbours),
    };
    const ak_backend_ops *backend;
    ak_error err = AK_ERROR_INIT;
    ak_scope *facts = ak_scope_new(NULL);
    bool here = ak_backend_find(&backend, "opencl", &err) == AK_OK &&
                backend->facts(facts, DEVICE, 0, &err) == AK_OK;
    ak_scope_free(facts);
    if (!here) {
        print_message("%s\n", err.text);
        return getenv("AK_TEST_OPENCL") != NULL ? 1 : 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
