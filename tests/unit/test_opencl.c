/* test_opencl.c: tests what the compile workers of OpenCL may read, that its compiler is confined
   and what it does where it reaches no device, where PoCL's cache is, the limit of a launch, and
   the kernels that mix contents. test_backend.c and cli/opencl test the rest, where there is a
   device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "backend/opencl/opencl_device.h"
#include "base/alloc.h"
#include "confined_fixture.h"

static char root[AK_PATH_MAX];

static const char *in(char *out, const char *name)
{
    assert_int_equal(ak_fs_join(out, root, name, NULL), AK_OK);
    return out;
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char place[AK_PATH_MAX], path[AK_PATH_MAX];
    assert_int_equal(ak_fs_mkdirs(in(place, folder), NULL), AK_OK);
    assert_int_equal(ak_fs_join(path, place, name, NULL), AK_OK);
    assert_int_equal(ak_fs_write(path, text, strlen(text), NULL), AK_OK);
}

static void read_folders(ak_compile_folders *out)
{
    *out = (ak_compile_folders){.writable = ""};
    assert_int_equal(ak_opencl_folders(out, NULL, 0, NULL), AK_OK);
    assert_string_equal(out->reads.path[0], "/etc/OpenCL");
}

/* For an OpenCL library outside the system's folders, the folder above its "lib" can be read or,
   without a "lib", its own folder. Each folder is listed once. Libraries that are named without a
   path need none. */
static void an_icd_that_lies_elsewhere_can_be_read(void **state)
{
    (void)state;
    char text[2 * AK_PATH_MAX], path[AK_PATH_MAX];
    ak_compile_folders folders;
    assert_int_equal(ak_fs_temp(root, NULL), AK_OK);
    write_file("conda/lib", "libpocl.so.2", "");
    write_file("debian/usr/lib/x86_64-linux-gnu", "libpocl.so.2", "");
    write_file("debian/usr/lib/x86_64-linux-gnu", "other.so", "");
    write_file("wheel/.libs", "libpocl.so", "");
    (void)snprintf(text, sizeof text, "%s\n", in(path, "conda/lib/libpocl.so.2"));
    write_file("vendors", "a.icd", text);
    write_file("vendors", "b.icd", in(path, "debian/usr/lib/x86_64-linux-gnu/libpocl.so.2"));
    write_file("vendors", "c.icd", in(path, "debian/usr/lib/x86_64-linux-gnu/other.so"));
    write_file("vendors", "d.icd", in(path, "wheel/.libs/libpocl.so"));
    write_file("vendors", "e.icd", "libnvidia-opencl.so.1");
    write_file("vendors", "f.icd", "/no/lib/such.so");
    write_file("vendors", "README", in(path, "wheel"));
    (void)setenv("OCL_ICD_VENDORS", in(path, "vendors"), 1);
    read_folders(&folders);
    assert_true(AK_HAS_TEXT(folders.reads.path, folders.reads.count, path));
    assert_true(AK_HAS_TEXT(folders.reads.path, folders.reads.count, in(path, "conda")));
    assert_true(AK_HAS_TEXT(folders.reads.path, folders.reads.count, in(path, "debian/usr")));
    assert_true(AK_HAS_TEXT(folders.reads.path, folders.reads.count, in(path, "wheel/.libs")));
    (void)setenv("OCL_ICD_VENDORS", in(path, "vendors/a.icd"), 1);
    (void)setenv("AUTOKERNEL_LIBOPENCL", in(path, "debian/usr/lib/x86_64-linux-gnu/other.so"), 1);
    read_folders(&folders);
    assert_true(AK_HAS_TEXT(folders.reads.path, folders.reads.count, in(path, "vendors/a.icd")));
    assert_true(AK_HAS_TEXT(folders.reads.path, folders.reads.count, in(path, "conda")));
    assert_true(AK_HAS_TEXT(folders.reads.path, folders.reads.count, in(path, "debian/usr")));
    (void)unsetenv("AUTOKERNEL_LIBOPENCL");
    (void)unsetenv("OCL_ICD_VENDORS");
    ak_fs_remove(root);
}

/* The process that loads the driver's compiler is confined, also outside of compile workers. */
static void the_compiler_is_confined(void **state)
{
    (void)state;
    assert_confined(ak_opencl_compile);
}

/* A confined process may see a device and get no context of it. The source then is the artifact,
   which the device's worker builds. */
static void a_device_without_context_keeps_the_source(void **state)
{
    (void)state;
    static const char source[] = "kernel void f(global float *x) { x[0] = 1; }\n";
    char path[AK_PATH_MAX], artifact[AK_PATH_MAX];
    const char *const options[] = {AK_OPENCL_DEVICE_OPTION "opencl:0", "-DSTEP=1"};
    ak_compile_result result = {0};
    ak_error err = AK_ERROR_INIT;
    AK_FREED char *text = NULL;
    (void)setenv("AUTOKERNEL_LIBOPENCL", AK_TEST_FAKE_OPENCL, 1);
    assert_int_equal(ak_fs_temp(root, NULL), AK_OK);
    assert_int_equal(ak_fs_write(in(path, "k.cl"), source, strlen(source), NULL), AK_OK);
    const ak_compile_job job = {.source_path = path,
                                .argv = options,
                                .argc = AK_COUNT(options),
                                .folder = root,
                                .artifact = in(artifact, "k.bin"),
                                .timeout_ns = 60 * AK_SECOND_NS};
    assert_int_equal(ak_opencl_compile(&result, &job, &err), AK_OK);
    if (result.status != AK_TRIAL_OK) {
        fail_msg("%s", result.reason);
    }
    assert_int_equal(ak_fs_read(&text, NULL, artifact, 4096, NULL), AK_OK);
    assert_string_equal(text, "//autokernel-opencl -DSTEP=1\n"
                              "kernel void f(global float *x) { x[0] = 1; }\n");
    ak_compile_result_clear(&result);
    (void)unsetenv("AUTOKERNEL_LIBOPENCL");
    ak_fs_remove(root);
}

/* Without a home, PoCL's cache is in a folder that nobody else can have made beforehand or may
   enter, and stays the same in a process. */
static void a_cache_without_a_home_is_private(void **state)
{
    (void)state;
    static const char *const names[] = {"HOME", "XDG_CACHE_HOME", "POCL_CACHE_DIR", "TMPDIR"};
    char *before[AK_COUNT(names)], first[AK_PATH_MAX + 32], again[AK_PATH_MAX + 32];
    char planted[AK_PATH_MAX];
    struct stat info;
    for (size_t i = 0; i < AK_COUNT(names); i++) {
        before[i] = ak_strdup(getenv(names[i]));
        (void)unsetenv(names[i]);
    }
    assert_int_equal(ak_fs_temp(root, NULL), AK_OK);
    (void)setenv("TMPDIR", root, 1);
    assert_int_equal(mkdir(in(planted, "autokernel-opencl"), 0777), 0);
    ak_opencl_pocl_cache(first, sizeof first);
    ak_opencl_pocl_cache(again, sizeof again);
    assert_string_equal(first, again);
    const char *folder = first + strlen("POCL_CACHE_DIR=");
    assert_memory_equal(first, "POCL_CACHE_DIR=", folder - first);
    assert_memory_equal(folder, root, strlen(root));
    assert_string_not_equal(folder, planted);
    assert_int_equal(stat(folder, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    for (size_t i = 0; i < AK_COUNT(names); i++) {
        (void)(before[i] == NULL ? unsetenv(names[i]) : setenv(names[i], before[i], 1));
        ak_free(before[i]);
    }
    ak_fs_remove(root);
}

/* ---- the limit of a launch ------------------------------------------------------------------- */

/* The states that the event of a launch passes through, one at each question; the last one stays.
 */
static const int32_t *states;

static int32_t fake_flush(void *queue)
{
    (void)queue;
    return 0;
}

static int32_t fake_event_info(void *event, uint32_t name, size_t bytes, void *value,
                               size_t *needed)
{
    (void)event;
    (void)needed;
    assert_int_equal(name, AK_CL_EVENT_STATUS);
    assert_int_equal(bytes, sizeof *states);
    memcpy(value, states, sizeof *states);
    states += *states == AK_CL_RUNNING || *states == 0 ? 0 : 1;
    return 0;
}

static int32_t fake_event_release(void *event)
{
    (void)event;
    return 0;
}

/* Before the first launch of a kernel runs, an ICD may compile it, which does not count against the
   limit of the launch. A kernel that runs and does not end is found as ever. */
static void compiling_at_the_first_launch_is_no_hang(void **state)
{
    (void)state;
    static const int32_t compiles[] = {AK_CL_QUEUED, AK_CL_SUBMITTED, AK_CL_SUBMITTED, 0};
    static const int32_t hangs[] = {AK_CL_QUEUED, AK_CL_SUBMITTED, AK_CL_RUNNING};
    const ak_opencl cl = {
        .flush = fake_flush, .event_info = fake_event_info, .event_release = fake_event_release};
    ak_device device = {.cl = &cl};
    states = compiles;
    assert_int_equal(ak_opencl_wait_first(&device, NULL, 1), 0);
    assert_false(device.lost);
    states = hangs;
    assert_int_equal(ak_opencl_wait_first(&device, NULL, 1), AK_CL_HANGS);
    assert_true(device.lost);
    device = (ak_device){.cl = &cl}; /* a later launch has no such time */
    states = compiles;
    assert_int_equal(ak_opencl_wait(&device, NULL, 1), AK_CL_HANGS);
    assert_true(device.lost);
}

/* ---- the kernels that mix contents ----------------------------------------------------------- */

/* A driver that counts the objects that it has made and not released. The call with the number
   `fails_at` fails, and leaves an error's number where a handle would be. */
static int objects, calls, fails_at;

static void *make(int32_t *code)
{
    static char thing;
    *code = ++calls == fails_at ? AK_CL_OUT_OF_HOST_MEMORY : 0;
    objects += *code == 0;
    return &thing; /* a handle that a driver may leave, but that is none after an error */
}

static void *fake_source(void *context, uint32_t count, const char **text, const size_t *lengths,
                         int32_t *code)
{
    (void)context, (void)count, (void)text, (void)lengths;
    return make(code);
}

static int32_t fake_build(void *program, uint32_t count, void *const *devices, const char *options,
                          void (*notify)(void *program, void *user), void *data)
{
    (void)program, (void)count, (void)devices, (void)options, (void)notify, (void)data;
    return ++calls == fails_at ? AK_CL_BUILD_FAILURE : 0;
}

static void *fake_kernel(void *program, const char *name, int32_t *code)
{
    (void)program, (void)name;
    return make(code);
}

static int32_t fake_release(void *object)
{
    assert_non_null(object);
    objects--;
    return 0;
}

/* Wherever the build fails, nothing of them is left, the next call fails alike or builds them,
   and after a success there is every kernel. */
static void kernels_that_mix_are_whole_or_absent(void **state)
{
    (void)state;
    const ak_opencl cl = {.program_source = fake_source,
                          .program_build = fake_build,
                          .kernel_create = fake_kernel,
                          .kernel_release = fake_release,
                          .program_release = fake_release};
    for (int at = 1; at <= 6; at++) {
        ak_device device = {.cl = &cl};
        for (int tries = 0; tries < 2; tries++) {
            calls = 0;
            fails_at = at;
            assert_int_not_equal(ak_opencl_contents_open(&device), 0);
            assert_int_equal(objects, 0);
        }
        fails_at = 0;
        for (int tries = 0; tries < 2; tries++) {
            assert_int_equal(ak_opencl_contents_open(&device), 0);
            assert_int_equal(objects, 5);
            for (size_t i = 0; i < AK_COUNT(device.mixing.kernels); i++) {
                assert_non_null(device.mixing.kernels[i]);
            }
        }
        ak_opencl_contents_close(&device);
        assert_int_equal(objects, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_icd_that_lies_elsewhere_can_be_read),
        cmocka_unit_test(the_compiler_is_confined),
        cmocka_unit_test(a_device_without_context_keeps_the_source),
        cmocka_unit_test(a_cache_without_a_home_is_private),
        cmocka_unit_test(compiling_at_the_first_launch_is_no_hang),
        cmocka_unit_test(kernels_that_mix_are_whole_or_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
