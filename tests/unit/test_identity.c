/*
 * test_identity.c: tests that the identity of a kernel depends on its code and on how it is
 * measured, and not on prose, white space or the order of members. Results of an archive with the
 * former kind of identity, tests/data/archive_8, still count.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/archive.h"
#include "archive/store.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/hash.h"
#include "problem/sources.h"

#define OLD_ARCHIVE AK_TEST_DATA "/archive_8"
#define OLD_KERNEL  OLD_ARCHIVE "/twice"

static void assert_fine(ak_status status, const ak_error *err)
{
    if (status != AK_OK) {
        fail_msg("%s", err->text);
    }
}

static void hash_kernel(char out[AK_SOURCES_HASH_BYTES], const char *folder, bool whole)
{
    ak_error err = AK_ERROR_INIT;
    ak_problem *problem = NULL;
    const ak_implementation_spec *implementation = NULL;
    assert_fine(ak_problem_open(&problem, folder, &err), &err);
    assert_fine(ak_problem_find(&implementation, problem, "host", &err), &err);
    assert_fine(whole ? ak_sources_hash_former(out, 1, problem, implementation, &err)
                      : ak_sources_hash(out, problem, implementation, &err),
                &err);
    ak_problem_close(problem);
}

/* Copies a file of the old kernel and replaces one text by another; NULL: replaces none. */
static void copy_file(const char *folder, const char *name, const char *text, const char *other)
{
    char path[AK_PATH_MAX], *content = NULL;
    size_t length = 0;
    ak_error err = AK_ERROR_INIT;
    ak_buf out = AK_BUF(1 << 16);
    assert_fine(ak_fs_join(path, OLD_KERNEL, name, &err), &err);
    assert_fine(ak_fs_read(&content, &length, path, 1 << 16, &err), &err);
    const char *at = text == NULL ? NULL : strstr(content, text);
    assert_true(text == NULL || at != NULL);
    ak_buf_print(&out, "%.*s%s%s", (int)(at == NULL ? 0 : at - content), content,
                 at == NULL ? "" : other, at == NULL ? content : at + strlen(text));
    assert_fine(ak_buf_status(&out, &err), &err);
    assert_fine(ak_fs_join(path, folder, name, &err), &err);
    assert_fine(ak_fs_write(path, out.data, out.length, &err), &err);
    ak_buf_free(&out);
    ak_free(content);
}

static void copy_kernel(const char *folder, const char *file, const char *text, const char *other)
{
    static const char *const names[] = {"problem.json", "host.json", "host.c", "reference.c"};
    for (size_t i = 0; i < AK_COUNT(names); i++) {
        bool changed = strcmp(names[i], file) == 0;
        copy_file(folder, names[i], changed ? text : NULL, other);
    }
}

/* Headers outside of the kernel's folder count with what they contain, through other headers too,
   and those that nobody includes do not; nor do those that compilers find by themselves. A file is
   read in many ways, and compilers go on from the first folder that has a name to the second. */
static void test_headers_outside(void **state)
{
    static const struct {
        const char *name, *content;
        bool counts;
    } edits[] = {
        {"outer.h", "#include \"sub/inner.h\"\n/* edited */\n", true},
        {"sub/inner.h", "#define TWO 3\n", true},
        {"beside.h", "#define NOBODY 1\n", false},
        {"sub/beside.h", "#define NOBODY 1\n", false},
        {"absolute.h", "#define ABSOLUTE 2\n", true},
        {"imported.h", "#define IMPORTED 2\n", true},
        {"digraph.h", "#define DIGRAPH 2\n", true},
        {"trigraph.h", "#define TRIGRAPH 2\n", true},
        {"comments.h", "#define COMMENTS 2\n", true},
        {"joined.h", "#define JOINED 2\n", true},
        {"trigraph_joined.h", "#define TRIGRAPH_JOINED 2\n", true},
        {"named.h", "#define NAMED 2\n", true},
        {"embedded.bin", "2", true},
        {"fortran.inc", "integer, parameter :: two = 2\n", true},
        {"second/twice.h", "#define TWICE 2\n", true},
    };
    static const char includes[] =
        "#include <stdio.h>\n # include \"outer.h\"\n#include \"%s/absolute.h\"\n"
        "#import \"imported.h\"\n%%:include <digraph.h>\n?\?=include \"trigraph.h\"\n"
        "/*\n*/ #/* */include/**/\"comments.h\"\n#inc\\\nlude \\ \n \"joined.h\"\n"
        "#inclu?\?/\nde \"trigraph_joined.h\"\n#define NAME \"named.h\"\n#include NAME\n"
        "#if 0\n#embed \"embedded.bin\"\n#endif\n#include_next <twice.h>\n      INCLUDE "
        "'fortran.inc'\nvoid";
    char then[AK_SOURCES_HASH_BYTES], now[AK_SOURCES_HASH_BYTES], folder[AK_PATH_MAX];
    char headers[AK_PATH_MAX], sub[AK_PATH_MAX], path[AK_PATH_MAX], options[3 * AK_PATH_MAX];
    char source[2 * AK_PATH_MAX];
    ak_error err = AK_ERROR_INIT;
    (void)state;
    assert_fine(ak_fs_temp(folder, &err), &err);
    assert_fine(ak_fs_temp(headers, &err), &err);
    assert_fine(ak_fs_join(sub, headers, "sub", &err), &err);
    assert_fine(ak_fs_mkdirs(sub, &err), &err);
    assert_fine(ak_fs_join(sub, headers, "second", &err), &err);
    assert_fine(ak_fs_mkdirs(sub, &err), &err);
    copy_kernel(folder, "none", NULL, NULL);
    hash_kernel(then, folder, false);
    (void)snprintf(options, sizeof options, "\"CompilerOptions\": [\"-I%s\", \"-I%s\", ", headers,
                   sub);
    (void)snprintf(source, sizeof source, includes, headers);
    copy_file(folder, "host.json", "\"CompilerOptions\": [", options);
    copy_file(folder, "host.c", "void", source);
    assert_fine(ak_fs_join(path, headers, "twice.h", &err), &err);
    assert_fine(ak_fs_write(path, "#include_next <twice.h>\n", 24, &err), &err);
    for (size_t i = 0; i < AK_COUNT(edits); i++) {
        const char *first = i == 0 ? "#include \"sub/inner.h\"\n" : "\n";
        assert_fine(ak_fs_join(path, headers, edits[i].name, &err), &err);
        assert_fine(ak_fs_write(path, first, strlen(first), &err), &err);
    }
    hash_kernel(then, folder, false);
    for (size_t i = 0; i < AK_COUNT(edits); i++) {
        assert_fine(ak_fs_join(path, headers, edits[i].name, &err), &err);
        assert_fine(ak_fs_write(path, edits[i].content, strlen(edits[i].content), &err), &err);
        hash_kernel(now, folder, false);
        if ((strcmp(now, then) != 0) != edits[i].counts) {
            fail_msg("%s: %s", edits[i].name, edits[i].counts ? "does not count" : "counts");
        }
        memcpy(then, now, sizeof then);
    }
    /* What stands behind a 0 byte counts, too. */
    assert_fine(ak_fs_join(path, headers, "named.h", &err), &err);
    assert_fine(ak_fs_write(path, "\n\0#define NAMED 3\n", 19, &err), &err);
    hash_kernel(then, folder, false);
    assert_fine(ak_fs_write(path, "\n\0#define NAMED 4\n", 19, &err), &err);
    hash_kernel(now, folder, false);
    assert_string_not_equal(now, then);
    ak_fs_remove(folder);
    ak_fs_remove(headers);
}

static void write_in(const char *folder, const char *name, const char *text)
{
    char path[AK_PATH_MAX];
    ak_error err = AK_ERROR_INIT;
    assert_fine(ak_fs_write_in(path, folder, name, text, strlen(text), &err), &err);
}

/* Writes a copy of the old kernel that includes one header of a folder, and finds the folder. */
static void include_header(const char *folder, const char *headers, const char *name)
{
    char options[2 * AK_PATH_MAX], source[AK_PATH_MAX];
    (void)snprintf(options, sizeof options, "\"CompilerOptions\": [\"-I%s\", ", headers);
    (void)snprintf(source, sizeof source, "#include \"%s\"\nvoid", name);
    copy_kernel(folder, "none", NULL, NULL);
    copy_file(folder, "host.json", "\"CompilerOptions\": [", options);
    copy_file(folder, "host.c", "void", source);
}

/* Makes the headers of these numbers, all of them links to one file, and one that includes them and
   those of lower numbers. */
static void make_headers(const char *headers, int first, int end)
{
    char name[32], path[AK_PATH_MAX];
    ak_error err = AK_ERROR_INIT;
    ak_buf list = AK_BUF(1 << 20);
    for (int i = first; i < end; i++) {
        (void)snprintf(name, sizeof name, "%d.h", i);
        assert_fine(ak_fs_join(path, headers, name, &err), &err);
        assert_int_equal(symlink("one.h", path), 0);
    }
    for (int i = 0; i < end; i++) {
        ak_buf_print(&list, "#include \"%d.h\"\n", i);
    }
    assert_fine(ak_buf_status(&list, &err), &err);
    assert_fine(ak_fs_write_in(path, headers, "all.h", list.data, list.length, &err), &err);
    ak_buf_free(&list);
}

/* However many headers there are, an edit of the last one is noticed; more than the limit, and more
   folders than the limit, are refused in a line that says so. */
static void test_many_headers(void **state)
{
    enum { MANY = 1000, LIMIT = 8192, FOLDERS = 256 };
    char then[AK_SOURCES_HASH_BYTES], now[AK_SOURCES_HASH_BYTES];
    char folder[AK_PATH_MAX], headers[AK_PATH_MAX], path[AK_PATH_MAX], last[32];
    ak_error err = AK_ERROR_INIT;
    ak_hasher *hasher;
    ak_buf options = AK_BUF(1 << 16);
    (void)state;
    assert_fine(ak_fs_temp(folder, &err), &err);
    assert_fine(ak_fs_temp(headers, &err), &err);
    include_header(folder, headers, "all.h");
    write_in(headers, "one.h", "\n");
    make_headers(headers, 0, MANY);
    (void)snprintf(last, sizeof last, "%d.h", MANY - 1);
    assert_fine(ak_fs_join(path, headers, last, &err), &err);
    assert_int_equal(unlink(path), 0);
    write_in(headers, last, "\n");
    hash_kernel(then, folder, false);
    write_in(headers, last, "#define LAST 2\n");
    hash_kernel(now, folder, false);
    assert_string_not_equal(now, then);
    json_t *definition = json_pack("{s:s+}", "options", "-I", headers);
    make_headers(headers, MANY, LIMIT); /* all.h is one more */
    hasher = ak_hasher_new();
    assert_int_equal(ak_headers_add(hasher, "k.c", "#include \"all.h\"", definition, &err),
                     AK_LIMIT);
    assert_non_null(strstr(err.text, "k.c: the source names more than 8192 headers"));
    ak_hasher_end(now, hasher);
    json_decref(definition);
    for (int i = 0; i <= FOLDERS; i++) {
        ak_buf_print(&options, " -I/nowhere/%d", i);
    }
    definition = json_pack("{s:s}", "options", options.data);
    hasher = ak_hasher_new();
    assert_int_equal(ak_headers_add(hasher, "k.c", "", definition, &err), AK_LIMIT);
    assert_non_null(strstr(err.text, "more than 256 folders of headers"));
    ak_hasher_end(now, hasher);
    json_decref(definition);
    ak_buf_free(&options);
    ak_fs_remove(folder);
    ak_fs_remove(headers);
}

/* A header that is too large to be read counts with its size and its date. */
static void test_large_header(void **state)
{
    enum { LARGE = 5 << 20 };
    char then[AK_SOURCES_HASH_BYTES], now[AK_SOURCES_HASH_BYTES];
    char folder[AK_PATH_MAX], headers[AK_PATH_MAX], path[AK_PATH_MAX];
    ak_error err = AK_ERROR_INIT;
    const struct timespec dates[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    char *text = ak_alloc(LARGE, 1);
    (void)state;
    assert_non_null(text);
    memset(text, '\n', LARGE);
    assert_fine(ak_fs_temp(folder, &err), &err);
    assert_fine(ak_fs_temp(headers, &err), &err);
    include_header(folder, headers, "large.h");
    assert_fine(ak_fs_write_in(path, headers, "large.h", text, LARGE, &err), &err);
    hash_kernel(then, folder, false);
    hash_kernel(now, folder, false);
    assert_string_equal(now, then);
    assert_int_equal(utimensat(AT_FDCWD, path, dates, 0), 0);
    hash_kernel(now, folder, false);
    assert_string_not_equal(now, then);
    assert_fine(ak_fs_write(path, text, LARGE - 1, &err), &err);
    assert_int_equal(utimensat(AT_FDCWD, path, dates, 0), 0);
    hash_kernel(then, folder, false);
    assert_string_not_equal(now, then);
    ak_free(text);
    ak_fs_remove(folder);
    ak_fs_remove(headers);
}

/* Modules that a Python reference imports from the kernel's folder, directly or through others,
   count and are kept with the sources; files that nobody mentions are not. */
static void test_python_modules(void **state)
{
    static const struct {
        const char *name, *first, *then;
        bool counts;
    } files[] = {
        {"helper.py", "import deep\n", "import deep # edited\n", true},
        {"deep.py", "from parts import one\n", "from parts import one # edited\n", true},
        {"parts/__init__.py", "", "import math\n", true},
        {"parts/one.py", "one = 1\n", "one = 2\n", true},
        {"parts/two.py", "two = 1\n", "two = 2\n", false},
        {"plot.py", "plot = 1\n", "plot = 2\n", false},
        {"venv/one.py", "one = 1\n", "one = 2\n", false},
        {"helper_test.py", "import helper\n", "import helper, deep\n", false},
    };
    char then[AK_SOURCES_HASH_BYTES], now[AK_SOURCES_HASH_BYTES], folder[AK_PATH_MAX];
    char name[AK_PATH_MAX];
    ak_error err = AK_ERROR_INIT;
    ak_problem *problem = NULL;
    const ak_implementation_spec *implementation = NULL;
    ak_pack sources = {0};
    (void)state;
    assert_fine(ak_fs_temp(folder, &err), &err);
    copy_kernel(folder, "problem.json", "reference.c", "reference.py");
    write_in(folder, "reference.py",
             "from helper import right\ndef reference(x): return right(x)\n");
    for (size_t i = 0; i < AK_COUNT(files); i++) {
        write_in(folder, files[i].name, files[i].first);
    }
    hash_kernel(then, folder, false);
    assert_fine(ak_problem_open(&problem, folder, &err), &err);
    assert_fine(ak_problem_find(&implementation, problem, "host", &err), &err);
    assert_fine(ak_sources_of(&sources, problem, implementation, 0, &err), &err);
    for (size_t i = 0; i < AK_COUNT(files); i++) {
        (void)snprintf(name, sizeof name, "%s/%s", problem->name, files[i].name);
        write_in(folder, files[i].name, files[i].then);
        hash_kernel(now, folder, false);
        if ((strcmp(now, then) != 0) != files[i].counts ||
            (ak_pack_find(&sources, name) != NULL) != files[i].counts) {
            fail_msg("%s: %s", files[i].name, files[i].counts ? "does not count" : "counts");
        }
        memcpy(then, now, sizeof then);
    }
    ak_pack_clear(&sources);
    ak_problem_close(problem);
    ak_fs_remove(folder);
}

static void test_what_counts(void **state)
{
    static const struct {
        const char *file, *text, *other;
        bool counts;
    } edits[] = {
        {"problem.json", "the kernel of", "a kernel of", false},
        {"problem.json", "\"elements\"", "\"how many\"", false},
        {"problem.json", "\"flops\": \"n\",\n  \"bytes\": \"2*n*dtype_bytes\"",
         "\"bytes\":\"2*n*dtype_bytes\",\"flops\":\"n\"", false},
        {"problem.json", "\"schema\": 1,", "\"schema\": 1, \"notes\": \"a note\",", false},
        {"problem.json", "\"schema\": 1,", "\"schema\": 1, \"sets\": {\"a\": 1},", false},
        {"problem.json", "\"access\": \"in\"", "\"description\": \"x\", \"access\": \"in\"", false},
        {"host.json", "16 turns at least", "sixteen turns", false},
        {"host.json", "\"Default\": 4", "\"Description\": \"turns\", \"Default\": 4", false},
        {"host.json", "\"Type\": \"int\", \"Values\"", "\"Values\"", true},
        {"host.json", "\"KernelSpecification\"",
         "\"Title\": \"t\", \"Facts\": [], \"General\": {}, \"KernelSpecification\"", false},
        {"problem.json", "\"default\": 4096", "\"default\": 4095", true},
        {"problem.json", "4*eps", "5*eps", true},
        {"problem.json", "uniform(-1,1)", "uniform(-1,2)", true},
        {"problem.json", "\"n\": 99", "\"n\": 98", true},
        {"problem.json", "\"flops\": \"n\"", "\"flops\": \"2*n\"", true},
        {"host.json", "[1, 4, 16, 64]", "[1, 4, 64, 16]", true},
        {"host.json", "UNROLL * 16 <= n", "UNROLL * 8 <= n", true},
        {"host.json", "-O1", "-O2", true},
        {"host.json", "\"KernelSpecification\"", "\"Other\": 1, \"KernelSpecification\"", true},
        {"host.json", "\"CompilerOptions\"",
         "\"Defines\": {\"Description\": \"1\"}, \"CompilerOptions\"", true},
        {"host.c", "a turn. */", "a turn */", true},
        {"reference.c", "void", "/* a comment */\nvoid", true},
    };
    char then[AK_SOURCES_HASH_BYTES], now[AK_SOURCES_HASH_BYTES], folder[AK_PATH_MAX];
    ak_error err = AK_ERROR_INIT;
    (void)state;
    hash_kernel(then, OLD_KERNEL, false);
    for (size_t i = 0; i < AK_COUNT(edits); i++) {
        assert_fine(ak_fs_temp(folder, &err), &err);
        copy_kernel(folder, edits[i].file, edits[i].text, edits[i].other);
        hash_kernel(now, folder, false);
        ak_fs_remove(folder);
        if ((strcmp(then, now) != 0) != edits[i].counts) {
            fail_msg("%s: %s: %s", edits[i].file, edits[i].other,
                     edits[i].counts ? "does not count" : "counts");
        }
    }
}

/* A parameter, a macro or a value may be called "Description", and then it is no prose. */
static void test_names_are_no_prose(void **state)
{
    static const char text[] =
        "{\"KernelSpecification\":{\"Defines\":{\"Description\":\"1\"}},\"ConfigurationSpace\":"
        "{\"Title\":\"x\",\"Starts\":[{\"Config\":{\"Title\":2,\"Description\":1}}]}}";
    ak_error err = AK_ERROR_INIT;
    json_t *document = NULL;
    char *out = NULL;
    (void)state;
    assert_fine(ak_json_parse(&document, text, strlen(text), "space", &err), &err);
    assert_fine(ak_space_identity(&out, document, &err), &err);
    assert_string_equal(out, "{\"ConfigurationSpace\":{\"Starts\":[{\"Config\":{\"Description\":1,"
                             "\"Title\":2}}]},\"KernelSpecification\":{\"Defines\":{"
                             "\"Description\":\"1\"}}}");
    ak_free(out);
    json_decref(document);
}

/* A folder with the name of a built-in kernel and another description is not taken for a different
   kernel. */
static void test_prose_is_no_other_kernel(void **state)
{
    char folder[AK_PATH_MAX], path[AK_PATH_MAX], command[4 * AK_PATH_MAX];
    ak_error err = AK_ERROR_INIT;
    ak_problem *problem = NULL;
    (void)state;
    assert_fine(ak_fs_temp(folder, &err), &err);
    (void)snprintf(command, sizeof command,
                   "cp -r '%s/../../kernels/softmax' '%s/../../kernels/matmul' '%s' && sed -i "
                   "'s/\"description\": \"/&In words of our own: /' "
                   "'%s/softmax/problem.json'",
                   AK_TEST_DATA, AK_TEST_DATA, folder, folder);
    assert_int_equal(system(command), 0);
    assert_fine(ak_fs_join(path, folder, "softmax", &err), &err);
    assert_fine(ak_problem_open(&problem, path, &err), &err);
    ak_problem_close(problem);
    ak_fs_remove(folder);
}

/* ---- the archive of schema 8 ----------------------------------------------------------------- */

static void execute(sqlite3 *db, const char *sql)
{
    char *why = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) {
        fail_msg("%s", why);
    }
}

/* Changes the version in the archive's only environment to that of this autokernel. The checksums
   of the trials cover the environment's hash, so they are removed. */
static void take_version(sqlite3 *db)
{
    sqlite3_stmt *rows = NULL;
    char hash[AK_HASH_BYTES], sql[512];
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT replace(words, '\"autokernel\":\"0.1.0\"', "
                                        "'\"autokernel\":\"" AK_VERSION "\"') FROM environments",
                                        -1, &rows, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(rows), SQLITE_ROW);
    const char *words = (const char *)sqlite3_column_text(rows, 0);
    ak_hash_quick(hash, words, strlen(words));
    (void)snprintf(sql, sizeof sql,
                   "UPDATE environments SET words = replace(words, "
                   "'\"autokernel\":\"0.1.0\"', '\"autokernel\":\"" AK_VERSION "\"'), "
                   "hash = '%s'; UPDATE runs SET environment = '%s'; "
                   "UPDATE trials SET environment = '%s', checksum = NULL",
                   hash, hash, hash);
    (void)sqlite3_finalize(rows);
    execute(db, sql);
}

static void make_old_archive(const char *path)
{
    sqlite3 *db = NULL;
    char *sql = NULL;
    size_t length = 0;
    ak_error err = AK_ERROR_INIT;
    assert_fine(ak_fs_read(&sql, &length, OLD_ARCHIVE "/archive.sql", 1 << 20, &err), &err);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    execute(db, sql);
    if (strcmp(AK_VERSION, "0.1.0") != 0) {
        take_version(db);
    }
    (void)sqlite3_close(db);
    ak_free(sql);
}

static int64_t ask(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *rows = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &rows, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(rows), SQLITE_ROW);
    int64_t number = sqlite3_column_int64(rows, 0);
    (void)sqlite3_finalize(rows);
    (void)sqlite3_close(db);
    return number;
}

static size_t resume(const char *kernel, const char *path, size_t evaluations)
{
    ak_error err = AK_ERROR_INIT;
    ak_archive *archive = NULL;
    ak_task *task = NULL;
    ak_tune_result result;
    const ak_task_spec spec = {
        .kernel = kernel, .device = "sim:" OLD_ARCHIVE "/recording.json", .threads = 1, .seed = 1};
    const ak_tune_options options = {.evaluations = evaluations, .resume = true};
    assert_fine(ak_archive_open(&archive, path, &err), &err);
    assert_fine(ak_task_open(&task, &spec, &err), &err);
    assert_fine(ak_tune(&result, task, archive, &options, &err), &err);
    size_t resumed = result.resumed;
    ak_tune_result_clear(&result);
    ak_task_close(task);
    ak_archive_close(archive);
    return resumed;
}

/* Merges the archive into a new one, in which its results must still count. */
static void check_merged(const char *kernel, const char *path, const char *folder)
{
    char other[AK_PATH_MAX];
    size_t added = 0, known = 0;
    ak_error err = AK_ERROR_INIT;
    ak_archive *archive = NULL;
    assert_fine(ak_fs_join(other, folder, "other.db", &err), &err);
    assert_fine(ak_archive_open(&archive, other, &err), &err);
    assert_fine(ak_archive_merge(&added, &known, archive, path, &err), &err);
    assert_int_equal(added, 4);
    ak_archive_close(archive);
    assert_int_equal(resume(kernel, other, 4), 4);
}

static void test_old_results_still_count(void **state)
{
    char folder[AK_PATH_MAX], path[AK_PATH_MAX], kernel[AK_PATH_MAX], hash[AK_SOURCES_HASH_BYTES];
    ak_error err = AK_ERROR_INIT;
    (void)state;
    /* what the commit before wrote into the archive */
    hash_kernel(hash, OLD_KERNEL, true);
    assert_string_equal(hash, "ad45b98ddc687edfe69e5396a657ea1d");
    assert_fine(ak_fs_temp(folder, &err), &err);
    assert_fine(ak_fs_join(path, folder, "archive.db", &err), &err);
    assert_fine(ak_fs_join(kernel, folder, "twice", &err), &err);
    make_old_archive(path);
    assert_int_equal(resume(OLD_KERNEL, path, 4), 3);
    assert_int_equal(ask(path, "PRAGMA user_version"), AK_SCHEMA_VERSION);
    assert_int_equal(ask(path, "SELECT count(*) FROM environments WHERE same_as IS NOT NULL"), 1);
    assert_int_equal(ask(path, "SELECT count(DISTINCT environment) FROM trials"), 2);

    /* Another description makes no difference from now on. */
    assert_int_equal(mkdir(kernel, 0700), 0);
    copy_kernel(kernel, "problem.json", "the kernel of", "a kernel of");
    assert_int_equal(resume(kernel, path, 4), 4);
    assert_int_equal(ask(path, "SELECT count(*) FROM trials"), 4);
    check_merged(kernel, path, folder);

    /* An edit that counts does. */
    copy_kernel(kernel, "host.json", "-O1", "-O2");
    assert_int_equal(resume(kernel, path, 4), 0);
    ak_fs_remove(folder);
}

/* If the kernel was changed before the archive was converted, old results do not count for it. */
static void test_old_results_of_another_kernel_do_not_count(void **state)
{
    char folder[AK_PATH_MAX], path[AK_PATH_MAX], kernel[AK_PATH_MAX];
    ak_error err = AK_ERROR_INIT;
    (void)state;
    assert_fine(ak_fs_temp(folder, &err), &err);
    assert_fine(ak_fs_join(path, folder, "archive.db", &err), &err);
    assert_fine(ak_fs_join(kernel, folder, "twice", &err), &err);
    make_old_archive(path);
    assert_int_equal(mkdir(kernel, 0700), 0);
    copy_kernel(kernel, "host.json", "-O1", "-O2");
    assert_int_equal(resume(kernel, path, 4), 0);
    assert_int_equal(ask(path, "SELECT count(*) FROM environments WHERE same_as IS NOT NULL"), 0);
    ak_fs_remove(folder);
}

/* Reading another archive, as a recording or to merge it, does not convert it. */
static void test_reading_changes_nothing(void **state)
{
    char folder[AK_PATH_MAX], path[AK_PATH_MAX], other[AK_PATH_MAX], *before, *after;
    size_t length = 0, now = 0, added, known;
    ak_error err = AK_ERROR_INIT;
    ak_archive *archive = NULL;
    ak_recording *recording = NULL;
    (void)state;
    assert_fine(ak_fs_temp(folder, &err), &err);
    assert_fine(ak_fs_join(path, folder, "archive.db", &err), &err);
    assert_fine(ak_fs_join(other, folder, "other.db", &err), &err);
    make_old_archive(path);
    assert_fine(ak_fs_read(&before, &length, path, 1 << 20, &err), &err);
    assert_fine(ak_recording_open(&recording, path, &err), &err);
    ak_recording_close(recording);
    assert_fine(ak_archive_open(&archive, other, &err), &err);
    assert_fine(ak_archive_merge(&added, &known, archive, path, &err), &err);
    ak_archive_close(archive);
    assert_fine(ak_fs_read(&after, &now, path, 1 << 20, &err), &err);
    assert_int_equal(now, length);
    assert_memory_equal(after, before, length);
    ak_free(before);
    ak_free(after);
    ak_fs_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_python_modules),
        cmocka_unit_test(test_what_counts),
        cmocka_unit_test(test_headers_outside),
        cmocka_unit_test(test_many_headers),
        cmocka_unit_test(test_large_header),
        cmocka_unit_test(test_names_are_no_prose),
        cmocka_unit_test(test_prose_is_no_other_kernel),
        cmocka_unit_test(test_old_results_still_count),
        cmocka_unit_test(test_old_results_of_another_kernel_do_not_count),
        cmocka_unit_test(test_reading_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
