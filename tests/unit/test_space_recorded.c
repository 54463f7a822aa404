/*
 * test_space_recorded.c: compares the number of valid configurations of published spaces with the
 * published counts. AUTOKERNEL_SPACES names the folder of their T1 files; without it the test
 * skips itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fs.h"
#include "problem/task.h"

#define SKIPPED 77

static void test_counts(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        double cartesian;
        uint64_t valid;
    } spaces[] = {
        {"gemm_milo.json", 663552, 116928},
        {"hotspot_milo.json", 4440000, 82984},
        {"dedispersion_milo.json", 22272, 11130},
    };
    for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++) {
        char path[AK_PATH_MAX];
        ak_error err = AK_ERROR_INIT;
        ak_task *task = NULL;
        ak_device_facts device = {.backend = "host", .device = "host"};
        assert_int_equal(ak_fs_join(path, ak_env("AUTOKERNEL_SPACES"), spaces[i].file, NULL),
                         AK_OK);
        if (ak_task_bind(&task, &(ak_task_spec){.kernel = path}, &device, &err) != AK_OK) {
            fail_msg("%s", err.text);
        }
        assert_true(ak_space_cartesian(task->space) == spaces[i].cartesian);
        assert_int_equal(ak_space_count(task->space), spaces[i].valid);
        ak_task_close(task);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts)};
    if (ak_env("AUTOKERNEL_SPACES") == NULL) {
        (void)printf("skipped: AUTOKERNEL_SPACES names no folder of recorded spaces\n");
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
