/* test_reads.c: tests which files of the home folder a confined process may read because a tool
   needs them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "backend/reads.h"
#include "backend/script.h"
#include "base/text.h"

static char root[AK_PATH_MAX], home[AK_PATH_MAX + 8];
static ak_reads reads;

static const char *in(char out[AK_PATH_MAX], const char *name)
{
    assert_int_equal(ak_fs_join(out, home, name, NULL), AK_OK);
    return out;
}

static void make_file(const char *name)
{
    char path[AK_PATH_MAX], folder[AK_PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%s", in(path, name));
    *strrchr(folder, '/') = 0;
    assert_int_equal(ak_fs_mkdirs(folder, NULL), AK_OK);
    assert_int_equal(ak_fs_write(path, "#!/bin/sh\n", 10, NULL), AK_OK);
    assert_int_equal(chmod(path, 0755), 0);
}

static bool may_read(const char *name)
{
    char text[AK_PATH_MAX], path[AK_PATH_MAX];
    if (realpath(in(text, name), path) == NULL) {
        (void)snprintf(path, sizeof path, "%s", text);
    }
    for (size_t i = 0; i < reads.count; i++) {
        const size_t length = strlen(reads.path[i]);
        if (strncmp(path, reads.path[i], length) == 0 &&
            (path[length] == '/' || path[length] == 0)) {
            return true;
        }
    }
    return false;
}

static void read_tool(const char *name)
{
    char path[AK_PATH_MAX];
    ak_reads_open(&reads);
    ak_reads_add_tool(&reads, in(path, name));
    assert_true(may_read(name));
    assert_false(may_read(".ssh/id_rsa"));
    assert_false(may_read(".local/share/keys"));
    assert_false(may_read("letter.txt"));
}

static void a_tool_opens_no_home(void **state)
{
    (void)state;
    char path[AK_PATH_MAX];
    make_file("bin/gcc");
    make_file("lib/gcc/x86_64-linux-gnu/12/crt.o");
    make_file("gcc");
    make_file(".local/bin/gcc");
    make_file(".local/lib/clang/14/include/stddef.h");
    make_file(".tools/cc");
    make_file("../bin/gcc");
    read_tool("bin/gcc");
    assert_true(may_read("lib/gcc/x86_64-linux-gnu/12/crt.o"));
    read_tool("gcc");
    read_tool(".local/bin/gcc");
    assert_true(may_read(".local/lib/clang/14/include/stddef.h"));
    read_tool(".tools/cc");
    read_tool("../bin/gcc");
    assert_int_equal(symlink("bin", in(path, "link")), 0);
    read_tool("bin/gcc");
    assert_true(may_read("bin/gcc"));
}

static void an_installation_in_the_home_works(void **state)
{
    (void)state;
    make_file("opt/gcc/bin/gcc");
    make_file("opt/gcc/bin/as");
    make_file("opt/gcc/libexec/gcc/cc1");
    make_file("conda/bin/x86_64-conda-linux-gnu-gcc");
    make_file("conda/x86_64-conda-linux-gnu/sysroot/usr/include/stdio.h");
    make_file("conda/.condarc");
    make_file(".venv/bin/python");
    make_file(".venv/lib/python3/site-packages/numpy.py");
    make_file(".venv/pyvenv.cfg");
    make_file(".pyenv/versions/3.11/bin/python");
    make_file(".pyenv/versions/3.11/lib/python3.11/os.py");
    read_tool("opt/gcc/bin/gcc");
    assert_true(may_read("opt/gcc/bin/as"));
    assert_true(may_read("opt/gcc/libexec/gcc/cc1"));
    read_tool("conda/bin/x86_64-conda-linux-gnu-gcc");
    assert_true(may_read("conda/x86_64-conda-linux-gnu/sysroot/usr/include/stdio.h"));
    assert_false(may_read("conda/.condarc"));
    read_tool(".venv/bin/python");
    assert_true(may_read(".venv/lib/python3/site-packages/numpy.py"));
    assert_true(may_read(".venv/pyvenv.cfg"));
    read_tool(".pyenv/versions/3.11/bin/python");
    assert_true(may_read(".pyenv/versions/3.11/lib/python3.11/os.py"));
}

static void no_folder_is_the_home(void **state)
{
    (void)state;
    char path[AK_PATH_MAX], list[2 * AK_PATH_MAX];
    make_file("lib/libone.so");
    make_file("own.so");
    make_file(".secret/own.so");
    ak_reads_open(&reads);
    ak_reads_add_folder(&reads, home);
    ak_reads_add_folder(&reads, root);
    ak_reads_add_folder(&reads, "/");
    ak_reads_add_folder(&reads, in(path, "."));
    ak_reads_add_folder(&reads, in(path, ".secret"));
    ak_reads_add_folder(&reads, "relative");
    (void)snprintf(list, sizeof list, "%s:/:%s", home, in(path, "lib"));
    (void)setenv("AK_TEST_READS", list, 1);
    ak_reads_add_variable(&reads, "AK_TEST_READS");
    assert_true(may_read("lib/libone.so"));
    assert_false(may_read("own.so"));
    ak_reads_add_beside(&reads, in(path, "own.so"));
    ak_reads_add_beside(&reads, in(path, ".secret/own.so"));
    assert_true(may_read("own.so"));
    assert_true(may_read(".secret/own.so"));
    assert_false(may_read(".secret/other"));
    assert_false(may_read("letter.txt"));
}

/* A Python in ~/.local may read its library and packages, but nothing else of the home folder. */
static void python_opens_no_home(void **state)
{
    (void)state;
    char prefix[AK_PATH_MAX], program[AK_PATH_MAX], user[AK_PATH_MAX], library[AK_PATH_MAX];
    make_file(".local/bin/python3.11");
    make_file(".local/lib/python3.11/os.py");
    make_file(".local/lib/python3.11/site-packages/numpy.py");
    in(prefix, ".local");
    in(program, ".local/bin/python3.11");
    in(library, ".local/lib/python3.11");
    in(user, ".local/lib/python3.11/site-packages");
    char none[] = "";
    const ak_script_home found = {
        .path = {program, prefix, prefix, user, library, user, user, none}};
    ak_reads_open(&reads);
    ak_script_reads(&reads, &found);
    assert_true(may_read(".local/lib/python3.11/os.py"));
    assert_true(may_read(".local/bin/python3.11"));
    assert_false(may_read(".local/share/keys"));
    assert_false(may_read("letter.txt"));
}

static int open_home(void **state)
{
    (void)state;
    if (ak_fs_temp(root, NULL) != AK_OK) {
        return -1;
    }
    (void)snprintf(home, sizeof home, "%s/home", root);
    (void)setenv("HOME", home, 1);
    return ak_fs_mkdirs(home, NULL) == AK_OK ? 0 : -1;
}

static int close_home(void **state)
{
    (void)state;
    ak_fs_remove(root);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tool_opens_no_home),
        cmocka_unit_test(an_installation_in_the_home_works),
        cmocka_unit_test(no_folder_is_the_home),
        cmocka_unit_test(python_opens_no_home),
    };
    return cmocka_run_group_tests(tests, open_home, close_home);
}
