/* test_opencl.c: tests what the compile workers of OpenCL may read. test_backend.c and cli/opencl
   test the rest, where there is a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/opencl/opencl.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_icd_that_lies_elsewhere_can_be_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
