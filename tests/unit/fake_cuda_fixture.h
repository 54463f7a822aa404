/* fake_cuda_fixture.h: the fake CUDA device (tests/fakes/fake_cuda.c) in place of driver, compiler
   and libraries, and a folder for caches and files. Include cmocka.h before it. */
#ifndef AK_FAKE_CUDA_FIXTURE_H
#define AK_FAKE_CUDA_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"

static char folder[AK_PATH_MAX];

/* Sets up a group of tests. */
static inline int use_fake_cuda(void **state)
{
    static const char *const variables[] = {"AUTOKERNEL_LIBCUDA", "AUTOKERNEL_LIBNVRTC",
                                            "AUTOKERNEL_LIBCUBLASLT", "AUTOKERNEL_LIBCUDNN",
                                            "AUTOKERNEL_LIBNVML"};
    (void)state;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        (void)setenv(variables[i], AK_TEST_FAKE_CUDA, 1);
    }
    (void)unsetenv("FAKE_CUDA");
    if (ak_fs_temp(folder, NULL) != AK_OK) {
        return 1;
    }
    (void)setenv("XDG_CACHE_HOME", folder, 1);
    return 0;
}

static inline int drop_folder(void **state)
{
    (void)state;
    ak_fs_remove(folder);
    return 0;
}

static inline void write_file(const char *name, const char *text)
{
    char path[AK_PATH_MAX];
    assert_int_equal(ak_fs_join(path, folder, name, NULL), AK_OK);
    assert_int_equal(ak_fs_write(path, text, strlen(text), NULL), AK_OK);
}

#endif
