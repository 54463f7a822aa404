/* test_split.c: tests how problems are divided: by rows, by rows and columns, or not at all; and
   that what is computed of them is what the reference gives among all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "autokernel/autokernel.h"
#include "backend/backend.h"
#include "base/alloc.h"
#include "judge/evaluate.h"
#include "judge/loaded.h"

/* Opens an evaluator on the host for a task of the kernel. */
static ak_evaluator *open_at(ak_task **task, const char *kernel, const char *size,
                             const char *choices)
{
    const ak_backend_ops *backend;
    ak_evaluator *e;
    ak_error err = AK_ERROR_INIT;
    ak_scope *facts = ak_scope_new(NULL);
    const char *folder = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    if (ak_backend_find(&backend, "host", &err) != AK_OK ||
        backend->facts(facts, "host", 1, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    const ak_device_facts device = {.backend = "host", .device = "host", .facts = facts};
    const ak_task_spec spec = {.kernel = kernel, .size = size, .choices = choices, .threads = 1};
    if (ak_task_bind(task, &spec, &device, &err) != AK_OK ||
        ak_evaluator_open(&e, backend, *task, folder, &err) != AK_OK) {
        fail_msg("%s: %s", kernel, err.text);
    }
    ak_scope_free(facts);
    return e;
}

static void assert_split(const char *kernel, const char *size, const char *choices, bool rows,
                         size_t column)
{
    ak_task *task = NULL;
    ak_error err = AK_ERROR_INIT;
    ak_evaluator *e = open_at(&task, kernel, size, choices);
    assert_int_equal(ak_split_find(e, &err), AK_OK);
    if (e->split.rows != rows || e->split.column != column) {
        fail_msg("%s %s: rows %d, column %zu", kernel, choices, e->split.rows, e->split.column);
    }
    ak_evaluator_close(e);
    ak_task_close(task);
}

static void test_products_separate_by_rows_and_columns(void **state)
{
    (void)state;
    static const char *const layouts[] = {"layout=nn", "layout=nt", "layout=tn", "layout=tt"};
    for (size_t i = 0; i < AK_COUNT(layouts); i++) {
        assert_split("matmul", "M=40,N=50,K=30", layouts[i], true, 1);
    }
    assert_split("matmul", "M=40,N=50,K=30", "pad_a=1,pad_b=3,pad_c=5,beta=0.5", true, 1);
    assert_split("matmul_act", "M=40,N=50,K=30", "bias=add,activation=silu,residual=add", true, 1);
}

/* Their shapes would allow to divide them by columns, too. */
static void test_normalisations_separate_by_rows(void **state)
{
    (void)state;
    static const char *const kernels[] = {"softmax", "layernorm", "rmsnorm", "reduce"};
    for (size_t i = 0; i < AK_COUNT(kernels); i++) {
        assert_split(kernels[i], "rows=40,cols=50", "", true, 0);
    }
}

static void test_neighbours_do_not_separate(void **state)
{
    (void)state;
    assert_split(AK_TEST_DATA "/kernels/blur", "height=30,width=20", "", false, 0);
}

/* A few elements of a long sum, of an operand with gaps between its rows. */
static void test_columns_are_those_of_the_whole(void **state)
{
    (void)state;
    static const char *const choices[] = {"layout=nn,pad_a=3,pad_b=1,pad_c=2,beta=0.5",
                                          "layout=tt"};
    for (size_t i = 0; i < AK_COUNT(choices); i++) {
        ak_task *task = NULL;
        ak_error err = AK_ERROR_INIT;
        ak_evaluator *e = open_at(&task, "matmul", "M=70,N=300,K=500", choices[i]);
        ak_stage_split split = {.known = true, .rows = true, .column = 1};
        const ak_stage_draw draw = {.split = &split, .flops = 1e6, .least = 1};
        ak_stage_rows *rows;
        assert_int_equal(AK_NEW(rows, 1, &err), AK_OK);
        assert_int_equal(ak_stage_rows_draw(rows, &e->own[0], &draw, &e->rng, &err), AK_OK);
        assert_int_equal(rows->rows.count, 32);
        assert_int_equal(rows->columns.count, 64); /* at least so many */
        assert_int_equal(ak_stage_rows_compute(rows, e->reference, &err), AK_OK);
        assert_true(ak_stage_rows_agree(rows));
        rows->column[7] = (rows->column[7] + 1) % 300;
        assert_false(ak_stage_rows_agree(rows));
        ak_stage_rows_free(rows);
        ak_evaluator_close(e);
        ak_task_close(task);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) { /* the process that runs the kernels, of which none runs here */
        return ak_worker_main(argc, argv);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_separate_by_rows_and_columns),
        cmocka_unit_test(test_normalisations_separate_by_rows),
        cmocka_unit_test(test_neighbours_do_not_separate),
        cmocka_unit_test(test_columns_are_those_of_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
