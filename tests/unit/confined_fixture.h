/* confined_fixture.h: a program that stands for the compiler of a backend, and tries what a
   confined compiler must not do. Include cmocka.h before it. */
#ifndef AK_CONFINED_FIXTURE_H
#define AK_CONFINED_FIXTURE_H

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/backend.h"
#include "backend/sandbox.h"
#include "base/clock.h"
#include "base/fs.h"

/* Compiles a small source in a folder of its own by that program. Fails unless the program can
   neither read nor change files elsewhere nor open a socket, but can write the artifact. */
static void assert_confined(ak_status (*compile)(ak_compile_result *out, const ak_compile_job *job,
                                                 ak_error *err))
{
    char root[AK_PATH_MAX], private[AK_PATH_MAX], home[AK_PATH_MAX], text[4 * AK_PATH_MAX];
    char program[AK_PATH_MAX], source[AK_PATH_MAX], artifact[AK_PATH_MAX], path[AK_PATH_MAX];
    ak_compile_result result = {0};
    ak_error err = AK_ERROR_INIT;
    if (ak_sandbox_landlock_abi() == 0) {
        skip();
    }
    assert_int_equal(ak_fs_temp(root, NULL), AK_OK);
    assert_int_equal(ak_fs_temp(home, NULL), AK_OK);
    assert_int_equal(ak_fs_temp(private, NULL), AK_OK);
    assert_int_equal(ak_fs_write_in(path, private, "key", "canary\n", 7, NULL), AK_OK);
    (void)snprintf(
        text, sizeof text,
        "#!/bin/bash\n"
        "read -r line <'%s/key' && { echo \"error: it reads the user's files\"; exit 1; }\n"
        "echo x >'%s/new' && { echo \"error: it writes elsewhere\"; exit 1; }\n"
        "exec 5<>/dev/udp/127.0.0.1/9 && { echo \"error: it opens a socket\"; exit 1; }\n"
        "echo code >\"$4\"\n",
        private, private);
    assert_int_equal(ak_fs_write_in(program, home, "program", text, strlen(text), NULL), AK_OK);
    assert_int_equal(chmod(program, 0700), 0);
    /* No cache has a source of this name. */
    (void)snprintf(text, sizeof text, "// %s\n", root);
    assert_int_equal(ak_fs_write_in(source, root, "kernel.c", text, strlen(text), NULL), AK_OK);
    assert_int_equal(ak_fs_join(artifact, root, "kernel.bin", NULL), AK_OK);
    const ak_compile_job job = {.source_path = source,
                                .folder = root,
                                .artifact = artifact,
                                .timeout_ns = 60 * AK_SECOND_NS};
    const char *before = getenv("AUTOKERNEL_WORKER");
    (void)snprintf(text, sizeof text, "%s", before == NULL ? "" : before);
    (void)setenv("AUTOKERNEL_WORKER", program, 1);
    assert_int_equal(compile(&result, &job, &err), AK_OK);
    if (result.status != AK_TRIAL_OK) {
        fail_msg("%s", result.reason);
    }
    if (before == NULL) {
        (void)unsetenv("AUTOKERNEL_WORKER");
    } else {
        (void)setenv("AUTOKERNEL_WORKER", text, 1);
    }
    ak_compile_result_clear(&result);
    ak_fs_remove(root);
    ak_fs_remove(home);
    ak_fs_remove(private);
}

#endif
