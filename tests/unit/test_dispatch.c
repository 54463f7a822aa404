/* test_dispatch.c: tests dispatch.json: it is written from the latest run over many sizes, and
   gives a configuration for any size. */
#include "archive_fixture.h"

#include "formats/config_file.h"

static const char result[] =
    "{\"kernel\":\"matmul\",\"sizes\":["
    "{\"size\":\"M=64,N=64\",\"ms\":0.5,\"config\":2,\"loss\":1.0,\"loss_ci\":[1.0,1.0]},"
    "{\"size\":\"M=512,N=8\",\"ms\":0.25,\"config\":0,\"loss\":1.1,\"loss_ci\":[1.05,1.2]}],"
    "\"configs\":[{\"A\":1,\"cc\":\"gcc\"},{\"A\":2,\"cc\":\"gcc\"},{\"A\":4,\"cc\":\"clang\"}],"
    "\"table\":{\"configs\":[0,2],\"method\":\"exact\",\"geomean\":1.05,\"worst\":1.1,"
    "\"worst_size\":\"M=512,N=8\"}}";

static void add_run(fixture *f, const char *id, const char *document)
{
    ak_run run = literal_run(id);
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    assert_ok(ak_archive_end_run(f->archive, id, "2026-11-21T11:00:00.000Z", document, err));
}

static void test_the_latest_table_is_written(void **state)
{
    fixture *f = fixture_of(state);
    add_run(f, "1111111111111111", result);
    add_run(f, "2222222222222222", "{\"table\":null}");
    add_run(f, "3333333333333333", "{}");
    assert_ok(ak_archive_export(f->archive, NULL, "dispatch", f->file, err));
    json_t *file = NULL;
    assert_ok(ak_json_read(&file, f->file, err));
    assert_int_equal(json_integer_value(json_object_get(file, "schema")), 1);
    assert_string_equal(json_string_value(json_object_get(file, "kind")), "dispatch");
    assert_string_equal(json_string_value(json_object_get(file, "run")), "1111111111111111");
    const json_t *configs = json_object_get(file, "configs");
    assert_int_equal(json_array_size(configs), 2);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(configs, 1), "A")), 4);
    const json_t *sizes = json_object_get(file, "sizes");
    assert_int_equal(json_array_size(sizes), 2);
    /* Indices are into the list of this file. */
    assert_int_equal(json_integer_value(json_object_get(json_array_get(sizes, 0), "config")), 1);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(sizes, 1), "config")), 0);
    assert_true(json_real_value(json_object_get(json_array_get(sizes, 1), "loss")) == 1.1);
    json_decref(file);
}

static void test_what_cannot_be_written_is_refused(void **state)
{
    fixture *f = fixture_of(state);
    assert_refused(ak_archive_export(f->archive, NULL, "dispatch", f->file, err), AK_NOT_FOUND,
                   "--sizes");
    add_run(f, "1111111111111111", result);
    ak_archive_filter other = {.kernel = "softmax"}, sized = {.size = "M=64,N=64"};
    assert_refused(ak_archive_export(f->archive, &other, "dispatch", f->file, err), AK_NOT_FOUND,
                   "--sizes");
    assert_refused(ak_archive_export(f->archive, &sized, "dispatch", f->file, err), AK_INVALID,
                   "leave the size out");
    add_run(f, "2222222222222222", "{\"table\":{\"configs\":[5]},\"sizes\":[],\"configs\":[]}");
    assert_refused(ak_archive_export(f->archive, NULL, "dispatch", f->file, err), AK_CORRUPT,
                   "configuration 5");
    assert_false(ak_fs_is_file(f->file));
}

static void assert_order(const fixture *f, const char *size, const char *first, size_t wanted)
{
    char **texts = NULL;
    size_t count = 0;
    assert_ok(ak_config_file_read(&texts, &count, f->file, size, err));
    assert_int_equal(count, wanted);
    assert_string_equal(texts[0], first);
    ak_config_file_free(texts, count);
}

static void test_the_nearest_size_comes_first(void **state)
{
    fixture *f = fixture_of(state);
    add_run(f, "1111111111111111", result);
    assert_ok(ak_archive_export(f->archive, NULL, "dispatch", f->file, err));
    assert_order(f, "M=64,N=64", "A=4,cc=clang", 2);
    assert_order(f, "M=512,N=8", "A=1,cc=gcc", 2);
    assert_order(f, "M=65,N=63", "A=4,cc=clang", 2);
    assert_order(f, "M=4096,N=9", "A=1,cc=gcc", 2);
    /* Ratios count, not differences: 16 is nearer to 64 than to 2, 11 is not. */
    write_file(f->file, "{\"kind\":\"dispatch\",\"configs\":[{\"A\":1},{\"A\":2}],\"sizes\":["
                        "{\"size\":{\"n\":2},\"config\":0},{\"size\":{\"n\":64},\"config\":1}]}");
    assert_order(f, "n=16", "A=2", 2);
    assert_order(f, "n=11", "A=1", 2);
    /* Of equally near ones the first; a configuration that two sizes share is tried once. */
    write_file(f->file, "{\"kind\":\"dispatch\",\"configs\":[{\"A\":1},{\"A\":2}],\"sizes\":["
                        "{\"size\":{\"n\":2},\"config\":1},{\"size\":{\"n\":8},\"config\":0},"
                        "{\"size\":{\"n\":9},\"config\":1}]}");
    assert_order(f, "n=4", "A=2", 2);
    /* A best_config.json is for whatever it is used for. */
    write_file(f->file, "{\"schema\":1,\"config\":{\"A\":3}}");
    assert_order(f, "n=4", "A=3", 1);
}

static void test_bad_files_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"[]", "object"},
        {"{\"kind\":\"other\"}", "kind \"other\""},
        {"{\"kind\":7}", "kind"},
        {"{\"kind\":\"dispatch\",\"schema\":2}", "schema 2"},
        {"{\"kind\":\"dispatch\"}", "\"sizes\""},
        {"{\"kind\":\"dispatch\",\"sizes\":[],\"configs\":[]}", "1 to 4096"},
        {"{\"kind\":\"dispatch\",\"sizes\":[1],\"configs\":[{}]}", "sizes[0]"},
        {"{\"kind\":\"dispatch\",\"sizes\":[{}],\"configs\":[{}]}", "\"size\""},
        {"{\"kind\":\"dispatch\",\"sizes\":[{\"size\":{\"n\":1}}],\"configs\":[{}]}", "\"config\""},
        {"{\"kind\":\"dispatch\",\"sizes\":[{\"size\":{\"n\":1},\"config\":-1}],\"configs\":[{}]}",
         "configuration -1"},
        {"{\"kind\":\"dispatch\",\"sizes\":[{\"size\":{\"n\":1},\"config\":1}],\"configs\":[{}]}",
         "configuration 1"},
        {"{\"kind\":\"dispatch\",\"sizes\":[{\"size\":{\"m\":1},\"config\":0}],\"configs\":[{}]}",
         "\"n\""},
        {"{\"kind\":\"dispatch\",\"sizes\":[{\"size\":{\"n\":0},\"config\":0}],\"configs\":[{}]}",
         "1 or more"},
        {"{\"kind\":\"dispatch\",\"sizes\":[{\"size\":{\"n\":1},\"config\":0}],\"configs\":[3]}",
         "configs[0]"},
    };
    fixture *f = fixture_of(state);
    char **texts;
    size_t count;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_file(f->file, cases[i][0]);
        assert_refused(ak_config_file_read(&texts, &count, f->file, "n=4", err), AK_INVALID,
                       cases[i][1]);
    }
    char *text;
    write_file(f->file, "{\"kind\":\"dispatch\"}");
    assert_refused(ak_best_config_read(&text, f->file, err), AK_INVALID, "many sizes");
}

static void test_allocation_failures(void **state)
{
    fixture *f = fixture_of(state);
    add_run(f, "1111111111111111", result);
    ak_status status = AK_NO_MEMORY;
    for (size_t nth = 1; status != AK_OK && nth < 10000; nth++) {
        ak_alloc_fail_at(nth);
        status = ak_archive_export(f->archive, NULL, "dispatch", f->file, NULL);
        ak_alloc_fail_at(0);
        assert_true(status == AK_OK || !ak_fs_is_file(f->file));
    }
    assert_int_equal(status, AK_OK);
    status = AK_NO_MEMORY;
    for (size_t nth = 1; status != AK_OK && nth < 10000; nth++) {
        char **texts = NULL;
        size_t count = 0;
        ak_alloc_fail_at(nth);
        status = ak_config_file_read(&texts, &count, f->file, "M=64,N=64", NULL);
        ak_alloc_fail_at(0);
        if (status == AK_OK) {
            ak_config_file_free(texts, count);
        }
    }
    assert_int_equal(status, AK_OK);
}

#define WITH_ARCHIVE(test)                                                                         \
    cmocka_unit_test_setup_teardown(test, fixture_open_archive, fixture_close)

int main(void)
{
    fixture_fail_json_too();
    const struct CMUnitTest tests[] = {
        WITH_ARCHIVE(test_the_latest_table_is_written),
        WITH_ARCHIVE(test_what_cannot_be_written_is_refused),
        WITH_ARCHIVE(test_the_nearest_size_comes_first),
        WITH_ARCHIVE(test_bad_files_are_refused),
        WITH_ARCHIVE(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
