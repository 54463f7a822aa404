/* test_hidden.c: tests the sizes that are drawn for a candidate before the finish: they are no
   listed sizes if others are possible, and they keep what the listed ones have in common. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend/cuda/cuda.h"
#include "base/clock.h"
#include "judge/loaded.h"
#include "problem/task.h"

#define DRAWN 100
/* Drawing takes less than this on any machine. */
#define PATIENCE_NS (200 * AK_SECOND_NS)

static ak_task *bind(bool cuda, const char *kernel, const char *size, const char *dtype)
{
    ak_scope *facts = ak_scope_new(NULL);
    static const char *names[] = {"cpu_threads", "vector_bytes", "vector_registers",
                                  "l1d_bytes",   "l2_bytes",     "l3_bytes"};
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !cuda; i++) {
        (void)ak_scope_set_int(facts, names[i], i < 3 ? 16 : 1 << 20, NULL);
    }
    if (cuda) {
        assert_int_equal(ak_cuda_sheet_facts(facts, "cuda:H200", NULL), AK_OK);
    }
    ak_task *task = NULL;
    ak_error err = AK_ERROR_INIT;
    const ak_device_facts device = {
        .backend = cuda ? "cuda" : "host", .device = cuda ? "cuda:0" : "host", .facts = facts};
    const ak_task_spec spec = {.kernel = kernel, .size = size, .dtype = dtype};
    if (ak_task_bind(&task, &spec, &device, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    ak_scope_free(facts);
    return task;
}

static bool is_listed(const ak_task *task, size_t a, int64_t value)
{
    bool listed = task->shape.size[a] == value;
    for (size_t i = 0; i < task->problem->edge_case_count; i++) {
        listed = listed || task->problem->edge_cases[i][a] == value;
    }
    return listed;
}

/* The listed rows of a normalisation have 1 or at least 7 elements, and so do the drawn ones: for
   two elements that are nearly equal, no kernel gives accurate results. */
static void test_no_size_below_the_listed_ones(void **state)
{
    (void)state;
    static const char *const sizes[] = {"rows=65,cols=65", "rows=1,cols=1", "rows=9,cols=8"};
    for (size_t t = 0; t < sizeof sizes / sizeof sizes[0]; t++) {
        ak_task *task = bind(false, "layernorm", sizes[t], NULL);
        ak_rng rng;
        ak_rng_seed(&rng, t);
        for (int i = 0; i < DRAWN; i++) {
            int64_t size[AK_SIZES_MAX];
            const ak_hidden_wish wish = {.far = i % 2 == 1, .ns = PATIENCE_NS};
            assert_true(ak_hidden_draw(size, task, &wish, &rng));
            assert_true(size[1] == 1 || size[1] >= 7);
        }
        ak_task_close(task);
    }
}

/* Drawn sizes are never listed ones, so a kernel that is right only at listed sizes is found. */
static void test_no_listed_size(void **state)
{
    (void)state;
    static const char *const tasks[][2] = {{"matmul", "256"},
                                           {"matmul", "M=1,N=4096,K=4096"},
                                           {"matmul", "4096"},
                                           {"softmax", "rows=65537,cols=8"},
                                           {"softmax", "rows=8192,cols=50257"},
                                           {"layernorm", "rows=7,cols=262144"}};
    for (size_t t = 0; t < sizeof tasks / sizeof tasks[0]; t++) {
        ak_task *task = bind(false, tasks[t][0], tasks[t][1], NULL);
        ak_rng rng;
        ak_rng_seed(&rng, t);
        for (int i = 0; i < DRAWN; i++) {
            int64_t size[AK_SIZES_MAX];
            const ak_hidden_wish wish = {.far = i % 2 == 1, .ns = PATIENCE_NS};
            assert_true(ak_hidden_draw(size, task, &wish, &rng));
            for (size_t a = 0; a < task->problem->size_count; a++) {
                if (is_listed(task, a, size[a])) {
                    fail_msg("%s %s: draw %d has a listed %s of %lld", tasks[t][0], tasks[t][1], i,
                             task->problem->sizes[a].name, (long long)size[a]);
                }
            }
        }
        ak_task_close(task);
    }
}

/* A shape is found at which the default configuration can run, for example with rows of a multiple
   of 16 bytes and with the head_dim that the code supports. If two sizes depend on each other, one
   of them may be a listed one. */
static void test_what_shapes_must_keep(void **state)
{
    (void)state;
    static const struct {
        const char *kernel, *size, *dtype;
        bool cuda;
    } tasks[] = {{"attention", NULL, NULL, false},
                 {"attention", NULL, "bf16", true},
                 {"attention_decode", NULL, "bf16", true},
                 {"matmul", "2048", "bf16", true},
                 {"matmul", "M=40,N=1000,K=1000", "bf16", true}};
    for (size_t t = 0; t < sizeof tasks / sizeof tasks[0]; t++) {
        ak_task *task = bind(tasks[t].cuda, tasks[t].kernel, tasks[t].size, tasks[t].dtype);
        ak_rng rng;
        ak_config usual;
        ak_rng_seed(&rng, t);
        ak_space_default(&usual, task->space);
        for (int i = 0; i < DRAWN / 10; i++) {
            const ak_config *config = i % 2 == 0 ? &usual : NULL;
            const ak_hidden_wish wish = {.config = config, .far = i % 4 == 0, .ns = PATIENCE_NS};
            int64_t size[AK_SIZES_MAX];
            ak_shape shape;
            bool may = false;
            assert_true(ak_hidden_draw(size, task, &wish, &rng));
            assert_int_equal(ak_task_shape(&shape, task, size, NULL), AK_OK);
            assert_int_equal(ak_task_allows(&may, task, &shape, config, NULL), AK_OK);
            if (!may) {
                char text[256];
                ak_task_size_text(text, sizeof text, task->problem, size);
                fail_msg("%s %s: draw %d must not run at %s", tasks[t].kernel, tasks[t].size, i,
                         text);
            }
        }
        ak_task_close(task);
    }
}

/* A far size may be any between the listed ones; a near one is at most 8 below the task's own. */
static void test_far_sizes(void **state)
{
    (void)state;
    ak_task *task = bind(false, AK_TEST_DATA "/../adversarial/sizes", NULL, NULL);
    const int64_t own = task->shape.size[0];
    int near = 0, small = 0, large = 0;
    ak_rng rng;
    ak_rng_seed(&rng, 1);
    for (int i = 0; i < DRAWN; i++) {
        int64_t size[AK_SIZES_MAX];
        ak_hidden_wish wish = {.far = true, .ns = PATIENCE_NS};
        assert_true(ak_hidden_draw(size, task, &wish, &rng));
        near += size[0] >= own - 8;
        small += size[0] < 256;
        large += size[0] >= 256 && size[0] < own - 8;
        wish.far = false;
        assert_true(ak_hidden_draw(size, task, &wish, &rng));
        assert_true(size[0] >= own - 8 && size[0] < own);
    }
    assert_in_range(near, 0, DRAWN / 10);
    assert_in_range(small, DRAWN / 5, DRAWN);
    assert_in_range(large, DRAWN / 5, DRAWN);
    ak_task_close(task);
}

static ak_checked_sizes checked(const ak_task *task, const char *text)
{
    ak_config config;
    ak_checked_sizes out;
    assert_int_equal(ak_config_parse(&config, task->space, text, NULL), AK_OK);
    assert_int_equal(ak_task_checked_sizes(&out, task, &config, NULL), AK_OK);
    return out;
}

/* A shape that the conditions of a configuration allow is found if there is one, and it is known
   for which configurations there is none. */
static void test_what_conditions_exclude(void **state)
{
    (void)state;
    ak_task *task = bind(false, AK_TEST_DATA "/../adversarial/sizes", NULL, NULL);
    ak_rng rng;
    ak_config config;
    ak_rng_seed(&rng, 1);
    assert_int_equal(ak_config_parse(&config, task->space, "ATTACK=3,WASTE=0", NULL), AK_OK);
    ak_hidden_wish wish = {.config = &config, .only = true, .far = true, .ns = PATIENCE_NS};
    for (int i = 0; i < DRAWN; i++) {
        int64_t size[AK_SIZES_MAX];
        wish.bytes = i % 2 == 0 ? 0 : 300000; /* three arrays of 24575 numbers and red zones */
        assert_true(ak_hidden_draw(size, task, &wish, &rng));
        assert_true(size[0] % 4096 == 0 && size[0] < task->shape.size[0]);
        assert_true(wish.bytes == 0 || size[0] <= 20480);
    }
    assert_int_equal(checked(task, "ATTACK=0,WASTE=0"), AK_CHECKED_DRAWN);
    assert_int_equal(checked(task, "ATTACK=3,WASTE=0"), AK_CHECKED_DRAWN);
    assert_int_equal(checked(task, "ATTACK=4,WASTE=0"), AK_CHECKED_OWN);
    assert_int_equal(ak_config_parse(&config, task->space, "ATTACK=4,WASTE=0", NULL), AK_OK);
    int64_t size[AK_SIZES_MAX];
    assert_false(ak_hidden_draw(size, task, &wish, &rng));
    ak_task_close(task);
}

/* If the time is over before a size is found, drawing fails. */
static void test_time(void **state)
{
    (void)state;
    ak_task *task = bind(false, AK_TEST_DATA "/../adversarial/sizes", NULL, NULL);
    const ak_hidden_wish wish = {.ns = 0};
    int64_t size[AK_SIZES_MAX];
    ak_rng rng;
    ak_rng_seed(&rng, 1);
    assert_false(ak_hidden_draw(size, task, &wish, &rng));
    ak_task_close(task);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_listed_size),
        cmocka_unit_test(test_no_size_below_the_listed_ones),
        cmocka_unit_test(test_what_shapes_must_keep),
        cmocka_unit_test(test_far_sizes),
        cmocka_unit_test(test_what_conditions_exclude),
        cmocka_unit_test(test_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
