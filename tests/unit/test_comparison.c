/* test_comparison.c: tests by which kind of times the candidates of a comparison are compared. A
   device whose candidates take invented times computes what a kernel does that appends rows to a
   cache. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "autokernel/autokernel.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/instrumented.h"
#include "judge/evaluate.h"
#include "judge/loaded.h"

#define US 1000

/* What calls of a candidate take, in microseconds. */
typedef struct invented {
    double batch_us, alone_us, unseen_us;
} invented;

/* The reader of arguments (judge/cold.c), which has no name. */
static const invented reader = {.batch_us = 1, .alone_us = 90, .unseen_us = 90};
static const invented warm = {.batch_us = 2, .alone_us = 3, .unseen_us = 20};
static const invented cold = {.batch_us = 1.5, .alone_us = 57, .unseen_us = 57};
static const invented library = {.batch_us = 1, .alone_us = 2, .unseen_us = 10};

static const ak_backend_ops *host;
static unsigned char *block;

static ak_status load(ak_runnable **out, ak_device *device, const ak_load *load,
                      ak_outcome *outcome, ak_error *err)
{
    (void)device, (void)outcome, (void)err;
    const invented *times = load->baseline != NULL                   ? &library
                            : load->artifact == NULL                 ? &reader
                            : strcmp(load->artifact, "cold.so") == 0 ? &cold
                                                                     : &warm;
    *out = (ak_runnable *)(uintptr_t)times;
    return AK_OK;
}

/* Appends the rows, as the reference of tests/adversarial/append does. */
static void append(const ak_launch *launch, size_t place)
{
    const int64_t *size = launch->shape->size;
    unsigned char *at = block + place * launch->stride;
    const float *x = (const float *)(at + launch->offset[0]);
    const int32_t *p = (const int32_t *)(at + launch->offset[1]);
    float *cache = (float *)(at + launch->offset[2]);
    for (int64_t i = 0; i < size[0]; i++) {
        for (int64_t k = 0; k < size[2]; k++) {
            cache[(i * size[1] + p[i]) * size[2] + k] = 2 * x[i * size[2] + k];
        }
    }
}

static ak_status launch(ak_outcome *out, ak_runnable *runnable, const ak_launch *launch,
                        ak_error *err)
{
    const invented *times = (const invented *)runnable;
    const bool single = launch->iterations == 1;
    const double us = single && launch->unseen ? times->unseen_us
                      : single                 ? times->alone_us
                                               : launch->iterations * times->batch_us;
    (void)err;
    for (size_t i = 0; i < (launch->stride > 0 ? launch->iterations : 1) && times != &reader; i++) {
        append(launch, i);
    }
    *out = (ak_outcome){.status = AK_TRIAL_OK, .ns = (int64_t)(us * US), .waits_known = true};
    return AK_OK;
}

static void unload(ak_runnable *runnable)
{
    (void)runnable;
}

static ak_status reserve(ak_device *device, size_t bytes, ak_error *err)
{
    AK_DO(host->reserve(device, bytes, err));
    block = host->map(device);
    return AK_OK;
}

/* Compares candidates of these artifacts; NULL is the library. */
static void compare(ak_comparison_entry *entries, ak_comparison_course *course,
                    const char *const *artifacts, size_t count)
{
    ak_backend_ops ops;
    ak_evaluator *e;
    ak_task *task;
    ak_error err = AK_ERROR_INIT;
    ak_scope *facts = ak_scope_new(NULL);
    ak_judge_candidate candidates[4] = {{0}};
    const ak_comparison_plan plan = {.seconds = 0.1,
                                     .protocol = &ak_protocols[AK_PROTOCOL_INTERLEAVED]};
    const ak_comparison_request request = {
        .candidates = candidates, .count = count, .plan = &plan, .timeout_ns = AK_SECOND_NS};
    assert_int_equal(ak_backend_find(&host, "host", &err), AK_OK);
    assert_int_equal(host->facts(facts, "host", 1, &err), AK_OK);
    ops = *host;
    ops.load = load;
    ops.launch = launch;
    ops.unload = unload;
    ops.reserve = reserve;
    const ak_device_facts device = {.backend = "host", .device = "host", .facts = facts};
    const ak_task_spec spec = {.kernel = AK_TEST_ADVERSARIAL "/append",
                               .device = "host",
                               .size = "B=4,S=64,D=16",
                               .threads = 1};
    const char *folder = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    if (ak_task_bind(&task, &spec, &device, &err) != AK_OK ||
        ak_evaluator_open(&e, &ops, task, folder, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    for (size_t i = 0; i < count; i++) {
        candidates[i].artifact = artifacts[i];
        candidates[i].baseline = artifacts[i] == NULL ? "library" : NULL;
        assert_int_equal(ak_config_parse(&candidates[i].config, task->space, "VARIANT=0", &err),
                         AK_OK);
    }
    if (ak_compare_candidates(entries, course, e, &request, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    ak_evaluator_close(e);
    ak_task_close(task);
    ak_scope_free(facts);
}

static void assert_times(ak_comparison_entry *entry, double us, const char *note)
{
    assert_int_equal(entry->status, AK_TRIAL_OK);
    for (size_t i = 0; i < entry->sample_count; i++) {
        assert_float_equal(entry->samples_ms[i] * 1000, us, 1e-6);
    }
    if (note == NULL) {
        assert_null(entry->reason);
    } else {
        assert_non_null(strstr(entry->reason, note));
    }
    ak_comparison_entry_clear(entry);
}

static void batches_count_if_they_do_for_all(void **state)
{
    (void)state;
    ak_comparison_entry entries[2] = {{0}};
    ak_comparison_course course;
    compare(entries, &course, (const char *[]){"warm.so", NULL}, 2);
    assert_int_equal(course.unseen, 0);
    assert_times(&entries[0], warm.batch_us, NULL);
    assert_times(&entries[1], library.batch_us, NULL);
}

/* The cold one, which takes 57 us, would otherwise stand beside one of 2 us that takes 20. */
static void one_on_unseen_inputs_makes_all_be_compared_there(void **state)
{
    (void)state;
    ak_comparison_entry entries[3] = {{0}};
    ak_comparison_course course;
    compare(entries, &course, (const char *[]){"warm.so", "cold.so", NULL}, 3);
    if (AK_INSTRUMENTED) { /* times say nothing there */
        for (size_t i = 0; i < AK_COUNT(entries); i++) {
            ak_comparison_entry_clear(&entries[i]);
        }
        skip();
    }
    assert_int_equal(course.unseen, 1);
    assert_true(entries[0].sample_count >= AK_COMPARISON_GROUPS);
    for (size_t i = 0; i < AK_COUNT(entries); i++) {
        assert_int_equal(entries[i].sample_count, course.group * AK_COMPARISON_GROUPS);
    }
    assert_times(&entries[0], warm.unseen_us, "not seen: 10 times that in a batch");
    assert_times(&entries[1], cold.unseen_us, "not seen: 38 times that in a batch");
    assert_times(&entries[2], library.unseen_us, "not seen: 10 times that in a batch");
}

int main(int argc, char **argv)
{
    if (argc > 1) { /* the process that runs the kernels, of which none runs here */
        return ak_worker_main(argc, argv);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_count_if_they_do_for_all),
        cmocka_unit_test(one_on_unseen_inputs_makes_all_be_compared_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
