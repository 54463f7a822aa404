/* test_export.c: tests that an import restores what was exported, that a mistake in a file is
   refused with its place, and that a file is imported as a whole or not at all. */
#include "archive_fixture.h"

#include <math.h>
#include <zlib.h>

#include <unistd.h>

#include "formats/format.h"

/* ---- helpers ----------------------------------------------------------------------------------
 */

static ak_archive *open_second(fixture *f)
{
    char path[AK_PATH_MAX];
    ak_archive *second = NULL;
    assert_ok(ak_fs_join(path, f->folder, "second.db", err));
    assert_ok(ak_archive_open(&second, path, err));
    return second;
}

/* Fills the archive with a run that has all kinds of trials. */
static void fill(ak_archive *archive)
{
    double samples[3];
    ak_trial trial = full_trial(samples);
    ak_run run = literal_run(trial.run);
    run.choices = trial.choices;
    run.environment = trial.environment;
    run.environment_json = (char *)"{\"cpu\": \"a, b\", \"compiler\": {\"gcc\": \"12.2\"}}";
    assert_ok(ak_archive_add_run(archive, &run, err));
    trial.parent = add_trial(archive, trial);
    trial.config = (char *)"MR=8,KC=128,fast=False,alpha=1.0,compiler=clang";
    trial.timestamp = (char *)"2026-11-21T10:54:23.000Z";
    trial.median_ms = 0.25;
    trial.tflops *= 4.0 / 3; /* the same work */
    trial.gbs *= 4.0 / 3;
    trial.max_error = 0.5;
    (void)add_trial(archive, trial);
    trial.config = (char *)"MR=8,KC=256,fast=False,alpha=1.0,compiler=clang";
    for (int i = 1; i < AK_TRIAL_STATUS_COUNT; i++) {
        trial.status = (ak_trial_status)i;
        trial.reason = (char *)"said \"no\", twice\nand at length, 'quoted'; DROP TABLE trials";
        trial.median_ms = trial.ci_low_ms = trial.ci_high_ms = 0;
        trial.tflops = trial.gbs = trial.efficiency = 0;
        trial.sample_count = 0;
        trial.bound = NULL;
        trial.model = NULL;
        (void)add_trial(archive, trial);
    }
}

static void export_to_file(fixture *f, ak_archive *archive, const char *format)
{
    assert_ok(ak_archive_export(archive, NULL, format, f->file, err));
}

static char *slurp(const char *path)
{
    char *text;
    assert_ok(ak_fs_read(&text, NULL, path, 1 << 28, err));
    return text;
}

static void assert_import_refused(fixture *f, const char *format, const char *text,
                                  const char *part)
{
    size_t added = 77;
    write_file(f->file, text);
    assert_refused(ak_archive_import(&added, NULL, f->archive, format, f->file, err), AK_INVALID,
                   part);
    assert_refused(ak_archive_import(&added, NULL, f->archive, format, f->file, err), AK_INVALID,
                   f->file);
    assert_int_equal(added, 77);
    assert_int_equal(count_trials(f->archive, NULL), 0);
}

/* ---- every format -----------------------------------------------------------------------------
 */

static void collect_names(void *context, const char *name, const char *description)
{
    ak_buf_print(context, "%s ", name);
    assert_true(strlen(description) > 10);
}

static void test_formats(void **state)
{
    fixture *f = fixture_of(state);
    ak_buf names = AK_BUF(256);
    size_t added;
    assert_ok(ak_formats_each(collect_names, &names, err));
    assert_string_equal(names.data,
                        "csv json kernels kernel-tuner t4 t1 triton best dispatch bundle c ");
    ak_buf_free(&names);
    assert_refused(ak_archive_export(f->archive, NULL, "xml", f->file, err), AK_INVALID,
                   "kernel-tuner");
    assert_refused(ak_archive_import(&added, NULL, f->archive, "xml", f->file, err), AK_INVALID,
                   "kernel-tuner");
    assert_refused(ak_archive_import(&added, NULL, f->archive, "best", f->file, err), AK_INVALID,
                   "exported but not imported");
    assert_refused(ak_archive_import(&added, NULL, f->archive, "json", f->file, err), AK_NOT_FOUND,
                   f->file);
    assert_refused(ak_archive_import(&added, NULL, f->archive, "json", f->folder, err), AK_INVALID,
                   "not a file");
    write_file(f->file, "{\"kernel\": \"k\"}");
    assert_refused(ak_archive_import(&added, NULL, f->archive, NULL, f->file, err), AK_INVALID,
                   "holds no trials");
}

/* The format of the file is recognised, whether it is compressed or not. Its trials are in the
   archive already, so none is added. */
static void assert_recognised(fixture *f, ak_archive *archive, size_t count)
{
    char packed[AK_PATH_MAX];
    size_t added = 1, known = 0;
    assert_ok(ak_fs_join(packed, f->folder, "packed", err));
    char *text = slurp(f->file);
    gzFile out = gzopen(packed, "wb");
    assert_int_equal(gzwrite(out, text, (unsigned)strlen(text)), strlen(text));
    assert_int_equal(gzclose(out), Z_OK);
    ak_free(text);
    const char *const paths[] = {f->file, packed};
    for (size_t i = 0; i < 2; i++) {
        assert_ok(ak_archive_import(&added, &known, archive, NULL, paths[i], err));
        assert_int_equal(added, 0);
        assert_int_equal(known, count);
    }
    ak_fs_remove(packed);
}

/* The formats csv, json and kernels lose nothing. */
static void test_lossless(void **state)
{
    static const char *const formats[] = {"csv", "json", "kernels"};
    fixture *f = fixture_of(state);
    trial_list before = {0};
    fill(f->archive);
    assert_ok(ak_archive_each(f->archive, NULL, collect, &before, err));
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        ak_archive *second = open_second(f);
        trial_list after = {0};
        size_t added = 0;
        ak_trial earlier = literal_trial("A=1", 1); /* so that ids shift */
        earlier.timestamp = (char *)"2020-01-01T00:00:00.000Z";
        (void)add_trial(second, earlier);
        export_to_file(f, f->archive, formats[i]);
        assert_ok(ak_archive_import(&added, NULL, second, formats[i], f->file, err));
        assert_int_equal(added, before.count);
        assert_recognised(f, second, added);
        assert_ok(ak_archive_each(second, NULL, collect, &after, err));
        assert_int_equal(after.count, before.count + 1);
        for (size_t j = 0; j < before.count; j++) {
            assert_same_trial(&before.items[j], &after.items[j + 1]);
        }
        assert_int_equal(after.items[2].parent, after.items[1].id); /* translated */
        ak_run run;
        assert_ok(ak_archive_get_run(&run, second, NULL, err)); /* brought along, in outline */
        assert_string_equal(run.id, before.items[0].run);
        assert_string_equal(run.kernel, "matmul");
        ak_run_clear(&run);
        list_clear(&after);
        ak_archive_close(second);
        char path[AK_PATH_MAX];
        assert_ok(ak_fs_join(path, f->folder, "second.db", err));
        ak_fs_remove(path);
    }
    list_clear(&before);
}

/* Three samples have no 95 % interval. The file of a user has none, and what reads it knows their
   range again (test_lossless). */
static void test_few_samples_in_csv(void **state)
{
    fixture *f = fixture_of(state);
    fill(f->archive);
    export_to_file(f, f->archive, "csv");
    char *text = slurp(f->file);
    assert_non_null(strstr(text, "ms,ci_low_ms,ci_high_ms,max_error"));
    assert_non_null(strstr(text, ",,,0.5,"));
    ak_free(text);
}

/* Three runs of one task: the first has made the trials, the second took its winner over (--resume)
   and has measured it again, and the third was one over two sizes, which names another winner at
   `of_size`, the run of its first size. */
static void fill_finishes(ak_archive *archive)
{
    static const char result[] =
        "{\"best\": {\"trial\": %lld, \"config\": {\"A\": %d}, \"ms\": %s, \"ci_ms\": [0.3, 0.4], "
        "\"tflops\": 2.5, \"gbs\": 3.5, \"efficiency\": 0.5, \"joules\": 0.25, \"cost\": %s, "
        "\"cost_low\": 0.2, \"cost_high\": 0.3}, \"contestants\": [{\"name\": \"cuBLASLt\", "
        "\"ms\": "
        "0.2}, {\"name\": \"tuned\", \"ms\": %s, \"sm_clock_mhz\": 1755.0, \"throttle\": "
        "\"power_cap\"}], \"noise\": {\"candidates\": 2, \"seconds\": 1.5}}";
    static const char *const runs[] = {"first", "second", "of_size", "many"};
    static const char *const ms[] = {"0.34", "0.35", "0.11"}; /* the latest counts, not the least */
    char text[1000];
    int64_t won[2];
    for (int i = 0; i < 4; i++) {
        ak_run run = literal_run(runs[i]);
        run.size = (char *)(i == 2 ? "M=8,N=8,K=8" : i == 3 ? "M=8,N=8,K=8;M=9,N=9,K=9" : run.size);
        char started[40], made[40];
        (void)snprintf(started, sizeof started, "2026-11-21T11:0%d:00.000Z", i);
        (void)snprintf(made, sizeof made, "2026-11-21T11:0%d:30.000Z", i);
        run.started = started;
        assert_ok(ak_archive_add_run(archive, &run, err));
        ak_trial trial = literal_trial(i == 2 ? "A=2" : "A=1", 0.5);
        trial.run = run.id;
        trial.size = run.size;
        trial.timestamp = made;
        if (i == 0 || i == 2) {
            won[i / 2] = add_trial(archive, trial);
            trial.config = (char *)"A=3";
            (void)add_trial(archive, trial);
        }
        if (i < 3) {
            (void)snprintf(text, sizeof text, result, (long long)won[i / 2], i / 2 + 1, ms[i],
                           ms[i], ms[i]);
        } else {
            (void)snprintf(text, sizeof text,
                           "{\"configs\": [{\"A\": 2}, {\"A\": 3}], \"sizes\": [{\"size\": "
                           "\"M=8,N=8,K=8\", \"run\": \"of_size\", \"winner\": 1, \"ms\": 0.4, "
                           "\"ci_ms\": [0.39, 0.41]}, "
                           "{\"size\": \"M=9,N=9,K=9\", \"run\": \"gone\", \"winner\": 1, \"ms\": "
                           "0.3}]}");
        }
        assert_ok(ak_archive_end_run(archive, run.id, "2026-11-21T12:00:00.000Z", text, err));
    }
}

/* Exported trials, without what differs between two exports of the same: the time of the export. */
static char *exported(fixture *f, ak_archive *archive, const char *format)
{
    export_to_file(f, archive, format);
    char *text = slurp(f->file), *created = strstr(text, "\"created\": \"");
    if (created != NULL) {
        memset(created, ' ', strlen("\"created\": \"2026-11-21T12:00:00.000Z\""));
    }
    return text;
}

/* A finish without a library that decided nothing: files and words say so. */
static void test_evidence(void **state)
{
    static const char result[] =
        "{\"best\": {\"config\": {\"A\": 1}, \"ms\": 0.36}, \"baseline\": null, \"contestants\": "
        "[{\"name\": \"tuned\", \"config\": {\"A\": 1}, \"ms\": 0.36, \"over_default\": "
        "{\"ratio\": "
        "1.5, \"ratio_ci\": [0.9, 2.5], \"verdict\": \"undecided\", \"undecided_because\": \"times "
        "vary\"}}], \"warnings\": [\"the machine was busy\"]}";
    fixture *f = fixture_of(state);
    ak_run run = literal_run("first");
    ak_trial trial = literal_trial("A=1", 0.5), best;
    char *text;
    json_t *file = NULL;
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    trial.run = run.id;
    (void)add_trial(f->archive, trial);
    assert_ok(ak_archive_end_run(f->archive, run.id, "2026-11-21T12:00:00.000Z", result, err));
    export_to_file(f, f->archive, "best");
    assert_ok(ak_json_read(&file, f->file, err));
    const json_t *over_default = json_object_get(file, "over_default");
    assert_string_equal(ak_json_text_at(over_default, "verdict"), "undecided");
    assert_string_equal(ak_json_text_at(over_default, "undecided_because"), "times vary");
    assert_true(json_is_null(json_object_get(file, "baseline")));
    assert_int_equal(json_array_size(json_object_get(file, "warnings")), 1);
    json_decref(file);
    assert_ok(ak_archive_best(&best, f->archive, NULL, err));
    assert_ok(ak_archive_evidence(&text, f->archive, &best, err));
    assert_non_null(strstr(text,
                           "Its speed is not decided against the default configuration: times "
                           "vary (0.900 to 2.500)."));
    ak_text_free(text);
    /* Another configuration of the run has none of this. */
    assert_ok(ak_trial_set_text(&best.config, "A=2", err));
    assert_ok(ak_archive_evidence(&text, f->archive, &best, err));
    assert_null(strstr(text, "not decided"));
    ak_text_free(text);
    ak_trial_clear(&best);
}

/* json and kernels keep what finishes found of their winners, those of runs that resumed and of
   runs over many sizes, too: the best is the same, and so is an export of what was imported. */
static void test_finishes(void **state)
{
    static const char *const formats[] = {"json", "kernels"};
    fixture *f = fixture_of(state);
    fill_finishes(f->archive);
    for (size_t i = 0; i < 3; i++) {
        const bool refuted = i == 2; /* a check has refuted what won the run over two sizes */
        ak_archive *second = open_second(f);
        size_t added = 0;
        if (refuted) {
            ak_trial wrong = literal_trial("A=3", 0);
            wrong.status = AK_TRIAL_WRONG_RESULT;
            wrong.size = (char *)"M=8,N=8,K=8";
            (void)add_trial(f->archive, wrong);
        }
        char *first = exported(f, f->archive, formats[i % 2]);
        assert_ok(ak_archive_import(&added, NULL, second, NULL, f->file, err));
        assert_int_equal(added, refuted ? 5 : 4);
        char *again = exported(f, second, formats[i % 2]);
        assert_null(strstr(first, "\"imported\":1"));
        for (char *at = again; (at = strstr(at, "\"imported\":1")) != NULL; at++) {
            at[strlen("\"imported\":")] = '0';
        }
        assert_string_equal(first, again);
        ak_free(first);
        ak_free(again);
        for (size_t j = 0; j < 2; j++) {
            ak_trial a, b;
            ak_archive_filter filter = {.size = j == 0 ? "M=64,N=32,K=16" : "M=8,N=8,K=8"};
            assert_ok(ak_archive_best(&a, f->archive, &filter, err));
            assert_ok(ak_archive_best(&b, second, &filter, err));
            assert_true(a.median_ms == (j == 0 ? 0.35 : refuted ? 0.11 : 0.4));
            assert_true(a.ci_low_ms == (j == 0 || refuted ? 0.3 : 0.39));
            assert_string_equal(a.config, j == 0 ? "A=1" : refuted ? "A=2" : "A=3");
            /* The entry of a size has no run over many sizes to name, but the size's own. */
            assert_string_equal(a.run, j == 0 ? "second" : refuted ? "of_size" : "many");
            assert_string_equal(b.run, j == 0 ? "second" : "of_size");
            assert_ok(ak_trial_set_text(&b.run, a.run, err));
            assert_same_trial(&a, &b);
            assert_int_equal(a.imported, 0);
            assert_int_equal(b.imported, 1);
            assert_int_equal(a.finish_candidates, b.finish_candidates);
            assert_true(a.finish_seconds == b.finish_seconds);
            ak_trial_clear(&a);
            ak_trial_clear(&b);
        }
        ak_archive_close(second);
        char path[AK_PATH_MAX];
        assert_ok(ak_fs_join(path, f->folder, "second.db", err));
        ak_fs_remove(path);
    }
}

/* The formats kernel-tuner and t4 keep what they can express. */
static void test_exchange(void **state)
{
    static const char *const formats[] = {"kernel-tuner", "t4"};
    fixture *f = fixture_of(state);
    double samples[3];
    ak_trial trial = full_trial(samples);
    ak_run run = literal_run(trial.run);
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    trial.compile_ns = 5000000;
    (void)add_trial(f->archive, trial);
    ak_trial failed = trial;
    failed.config = (char *)"MR=8,KC=256,fast=False,alpha=1.0,compiler=clang";
    failed.status = AK_TRIAL_COMPILE_ERROR;
    failed.sample_count = 0;
    (void)add_trial(f->archive, failed);
    for (size_t i = 0; i < 2; i++) {
        ak_archive *second = open_second(f);
        trial_list after = {0};
        size_t added = 0;
        export_to_file(f, f->archive, formats[i]);
        assert_ok(ak_archive_import(&added, NULL, second, formats[i], f->file, err));
        assert_int_equal(added, 2);
        assert_recognised(f, second, added);
        assert_ok(ak_archive_each(second, NULL, collect, &after, err));
        const ak_trial *got = &after.items[0];
        assert_string_equal(got->kernel, "matmul");
        assert_string_equal(got->device, "host");
        assert_string_equal(got->size, trial.size);
        assert_string_equal(got->dtype, trial.dtype);
        assert_string_equal(got->implementation, trial.implementation);
        assert_string_equal(got->choices, trial.choices);
        assert_true(fabs(got->tflops - trial.tflops) < 1e-9);
        assert_true(got->gbs == trial.gbs);
        assert_true(got->efficiency == (i == 0 ? 0 : trial.efficiency));
        assert_string_equal(got->config, trial.config);
        assert_string_equal(got->timestamp, trial.timestamp);
        assert_string_equal(got->strategy, "import");
        assert_int_equal(got->compile_ns, trial.compile_ns);
        assert_int_equal(got->sample_count, 3);
        assert_memory_equal(got->samples_ms, samples, sizeof samples);
        assert_true(got->median_ms == 0.1); /* of the samples */
        assert_null(got->run);
        assert_int_equal(after.items[1].status, AK_TRIAL_COMPILE_ERROR);
        assert_string_equal(after.items[1].config, failed.config);
        assert_true(after.items[1].median_ms == 0 && after.items[1].gbs == 0);
        assert_non_null(after.items[1].reason);
        list_clear(&after);
        ak_archive_close(second);
        char path[AK_PATH_MAX];
        assert_ok(ak_fs_join(path, f->folder, "second.db", err));
        ak_fs_remove(path);
    }
}

static void test_one_task_only(void **state)
{
    fixture *f = fixture_of(state);
    static const char *const formats[] = {"kernel-tuner", "t4"};
    for (size_t i = 0; i < 2; i++) {
        assert_refused(ak_archive_export(f->archive, NULL, formats[i], f->file, err), AK_NOT_FOUND,
                       "no trial");
        assert_false(ak_fs_is_file(f->file));
    }
    (void)add_trial(f->archive, literal_trial("A=1", 1));
    ak_trial other = literal_trial("A=1", 1);
    other.device = (char *)"cuda:0";
    (void)add_trial(f->archive, other);
    for (size_t i = 0; i < 2; i++) {
        assert_refused(ak_archive_export(f->archive, NULL, formats[i], f->file, err), AK_INVALID,
                       "device");
        assert_false(ak_fs_is_file(f->file));
    }
    ak_archive_filter filter = {.device = "host"};
    assert_ok(ak_archive_export(f->archive, &filter, "t4", f->file, err));
    (void)add_trial(f->archive, literal_trial("B=1", 1));
    assert_refused(ak_archive_export(f->archive, &filter, "kernel-tuner", f->file, err), AK_INVALID,
                   "different parameters");
}

/* A file of Triton configurations names neither kernel nor device, so it is for one of each. */
static void test_triton_of_one_place(void **state)
{
    fixture *f = fixture_of(state);
    char *text = NULL;
    ak_trial trial = literal_trial("BLOCK=64,num_warps=4", 1);
    trial.implementation = (char *)"triton";
    (void)add_trial(f->archive, trial);
    assert_ok(ak_archive_export(f->archive, NULL, "triton", f->file, err));
    ak_trial other = trial;
    other.kernel = (char *)"softmax";
    other.config = (char *)"BLOCK=128,num_warps=8";
    (void)add_trial(f->archive, other);
    assert_refused(ak_archive_export(f->archive, NULL, "triton", f->file, err), AK_INVALID,
                   "(kernel \"matmul\" and \"softmax\")");
    ak_archive_filter filter = {.kernel = "softmax"};
    assert_ok(ak_archive_export_text(&text, f->archive, &filter, "triton", err));
    assert_non_null(strstr(text, "softmax on host"));
    assert_non_null(strstr(text, "{\"BLOCK\": 128}, num_warps=8"));
    assert_null(strstr(text, "{\"BLOCK\": 64}"));
    ak_text_free(text);
    other.device = (char *)"cuda:0";
    (void)add_trial(f->archive, other);
    assert_refused(ak_archive_export(f->archive, &filter, "triton", f->file, err), AK_INVALID,
                   "(device \"host\" and \"cuda:0\"): choose one device (--device)");
}

/* ---- csv --------------------------------------------------------------------------------------
 */

static void test_csv_text(void **state)
{
    fixture *f = fixture_of(state);
    ak_trial trial = literal_trial("A=1,B=2", 0.5);
    trial.timestamp = (char *)"2026-11-21T10:54:22.123Z";
    (void)add_trial(f->archive, trial);
    export_to_file(f, f->archive, "csv");
    char *text = slurp(f->file);
    static const char head[] = "timestamp,name,ms,tflops,status,config,id,";
    static const char row[] = "\n2026-11-21T10:54:22.123Z,matmul,0.5,2,ok,\"A=1,B=2\",1,";
    assert_memory_equal(text, head, sizeof head - 1);
    assert_non_null(strstr(text, row));
    ak_free(text);
}

/* A kernel without parameters has one configuration, the empty one. */
static void test_no_parameters(void **state)
{
    static const char *const formats[] = {"csv", "json", "kernels", "kernel-tuner", "t4"};
    fixture *f = fixture_of(state);
    (void)add_trial(f->archive, literal_trial("", 2));
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        trial_list list = {0};
        size_t added;
        export_to_file(f, f->archive, formats[i]);
        assert_ok(ak_archive_import(&added, NULL, f->archive, formats[i], f->file, err));
        assert_ok(ak_archive_each(f->archive, NULL, collect, &list, err));
        assert_string_equal(list.items[list.count - 1].config, "");
        assert_true(list.items[list.count - 1].median_ms == 2);
        list_clear(&list);
    }
}

static void test_csv_foreign(void **state)
{
    fixture *f = fixture_of(state);
    size_t added;
    trial_list list = {0};
    write_file(f->file, "\xef\xbb\xbfname,config,ms,status,timestamp\r\n"
                        "gemm,\"A=1,B=\"\"x\"\"\",1.5,ok,2024-01-02 03:04:05\r\n"
                        "\r\n"
                        "gemm,A=2,,compile_error,\r\n"
                        "gemm,A=3,2.5,ok,");
    assert_ok(ak_archive_import(&added, NULL, f->archive, "csv", f->file, err));
    assert_int_equal(added, 3);
    assert_ok(ak_archive_each(f->archive, NULL, collect, &list, err));
    assert_string_equal(list.items[0].config, "A=1,B=\"x\"");
    assert_string_equal(list.items[0].timestamp, "2024-01-02T03:04:05.000Z");
    assert_string_equal(list.items[0].strategy, "import");
    assert_true(list.items[0].median_ms == 1.5);
    assert_int_equal(list.items[1].status, AK_TRIAL_COMPILE_ERROR);
    assert_true(list.items[2].median_ms == 2.5);
    list_clear(&list);
}

static void test_csv_refusals(void **state)
{
    fixture *f = fixture_of(state);
    static const char *const cases[][2] = {
        {"", "is empty"},
        {"name,config\n", "column \"status\" is missing"},
        {"name,config,status,statuz\n", "did you mean \"status\""},
        {"name,config,status,name\n", "twice"},
        {"name,config,status\nk,A=1,invalid\nk,A=1\n", ":3: the row has fewer cells"},
        {"name,config,status\nk,A=1,ok,5\n", ":2: the row has more cells"},
        {"name,config,status\nk,\"A=1,ok\n", ":2: a quote is not closed"},
        {"name,config,status\nk,\"A\"=1,ok\n", ":2: there is text after"},
        {"name,config,status\nk,A=1,invalid\nk,A=1,good\n", ":3: column \"status\""},
        {"name,config,status\nk,A=1,\n", ":2: column \"status\" is empty"},
        {"name,config,status\n,A=1,ok\n", ":2: \"kernel\" is missing"},
        {"name,config,status,ms\nk,A=1,ok,fast\n", ":2: column \"ms\""},
        {"name,config,status,ms\nk,A=1,ok,-1\n", ":2: \"ms\" is negative"},
        {"name,config,status,ms\nk,A=1,ok,nan\n", ":2: column \"ms\""},
        {"name,config,status,ms\nk,A=1,ok,1e999\n", ":2: column \"ms\""},
        {"name,config,status,registers\nk,A=1,ok,1.5\n", ":2: column \"registers\""},
        {"name,config,status,timestamp\nk,A=1,ok,today\n", ":2: \"today\" is not a time"},
        {"name,config,status,samples_ms\nk,A=1,ok,1 x\n", ":2: column \"samples_ms\""},
        {"name,config,status,id\nk,A=1,ok,x\n", ":2: column \"id\""},
        {"name,config,status\nk\xff,A=1,ok\n", ":2: \"kernel\" is not UTF-8"},
        {"name,config,status\nk,A=1,ok\n", ":2: the status is ok, but there is no time"},
        {"name,config,status,ms\nk,A=1,ok,1\nk,A=1,ok,\n", ":3: the status is ok, but there is no"},
        {"name,config,status,ms\nk,A=1,ok,0\n", ":2: the status is ok, but there is no time"},
        {"name,config,status,ms\nk,,ok,1\n", ":2: the status is ok, but \"config\" is empty"},
        {"name,config,status,ms,ci_low_ms,ci_high_ms\nk,A=1,ok,5,4.96,5.04\nk,A=1,ok,3,4,6\n",
         ":3 contradicts itself: \"ms\" is 3, which its interval, 4 to 6, does not contain"},
        {"name,config,status,ms,samples_ms\nk,A=1,ok,1,1.005\nk,A=1,ok,5,1 1 2\n",
         ":3 contradicts itself: \"ms\" is 5, and its samples are 1 to 2"},
        {"name,config,status,ms,joules,joules_low,joules_high\nk,A=1,ok,5,7,1,2\n",
         ":2 contradicts itself: \"joules\" is 7"},
        {"name,config,status,ms,tflops\nk,A=1,ok,1e-6,2e6\n", ":2 is implausible: no device does"},
        {"name,config,status,ms,gbs\nk,A=1,ok,1e-6,2e7\n", ":2 is implausible: no device does"},
        {"name,config,status,ms,tflops,efficiency,bound\nk,A=1,ok,1,1,4.1,compute\n",
         ":2 is implausible: 4.1 times as fast"},
        {"name,config,status,ms,gbs,efficiency,bound\nk,A=1,ok,1,1,65,memory\n",
         ":2 is implausible: 65 times as fast"},
        {"name,config,status,ms,tflops,environment\nk,A=1,ok,1,1,e\nk,A=2,ok,0.5,1,e\n",
         ":3 contradicts itself or another trial: by its \"tflops\" and \"ms\" it does 0.5 times"},
        {"name,config,status,ms,gbs,environment\nk,A=1,ok,1,1,e\nk,A=2,ok,0.5,4,e\n",
         ":3 contradicts itself or another trial: by its \"gbs\" and \"ms\" it does 2 times"},
        {"name,config,status,ms,tflops,efficiency,bound,environment\n"
         "k,A=1,ok,1,1,0.1,compute,e\nk,A=2,ok,0.02,,,compute,e\n",
         ":3 is implausible: 5 times as fast as the roofline"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_import_refused(f, "csv", cases[i][0], cases[i][1]);
    }
}

/* ---- json -------------------------------------------------------------------------------------
 */

static void test_json_refusals(void **state)
{
    fixture *f = fixture_of(state);
    static const char good[] = "{\"kernel\":\"k\",\"config\":\"A=1\",\"status\":\"ok\",\"ms\":1}";
    char text[512];
    assert_import_refused(f, "json", "", "");
    assert_import_refused(f, "json", "[", ":1:1");
    assert_import_refused(f, "json", "{}", "array");
    assert_import_refused(f, "json", "[1]", "trial 1");
    assert_import_refused(f, "json", "[{\"a\":NaN}]", ":1:");
    assert_import_refused(f, "json", "[{\"kernel\":\"k\",\"config\":\"A=1\",\"status\":\"ok\"}]",
                          "trial 1: the status is ok, but there is no time");
    assert_import_refused(f, "json", "[{\"run\":{\"kernel\":\"k\"}}]",
                          "trial 1: a run needs an \"id\"");
    (void)snprintf(text, sizeof text, "[%.*s,\"finishes\":[{\"run\":\"r\",\"ms\":1}]}]",
                   (int)sizeof good - 2, good);
    assert_import_refused(f, "json", text, "trial 1: \"started\"");
    (void)snprintf(text, sizeof text,
                   "[%.*s,\"finishes\":[{\"run\":\"r\",\"ms\":1,\"started\":\"now\"}]}]",
                   (int)sizeof good - 2, good);
    assert_import_refused(f, "json", text, "trial 1: \"now\" is not a time");
    (void)snprintf(text, sizeof text, "[%s,{\"kernel\":\"k\"}]", good);
    assert_import_refused(f, "json", text, "trial 2"); /* and the first is not kept */
    (void)snprintf(text, sizeof text, "[%s,%s,]", good, good);
    assert_import_refused(f, "json", text, ":1:");
    (void)snprintf(text, sizeof text,
                   "[{\"kernel\":\"k\",\"kernel\":\"k\",\"config\":\"\",\"status\":\"ok\"}]");
    assert_import_refused(f, "json", text, "duplicate");
    size_t added = 0;
    char deep[256];
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    write_file(f->file, deep);
    assert_refused(ak_archive_import(&added, NULL, f->archive, "json", f->file, err), AK_LIMIT,
                   "deeper");
    assert_ok(ak_fs_write(f->file, "\x1f\x8b\x08\x00zip", 8, err)); /* compressed, and cut */
    assert_refused(ak_archive_import(&added, NULL, f->archive, "json", f->file, err), AK_CORRUPT,
                   "gzip");
    (void)snprintf(text, sizeof text, "[%s]", good);
    write_file(f->file, text);
    assert_ok(ak_archive_import(&added, NULL, f->archive, "json", f->file, err));
    assert_int_equal(added, 1);
}

/* ---- kernels ----------------------------------------------------------------------------------
 */

static void test_kernels_foreign(void **state)
{
    fixture *f = fixture_of(state);
    size_t added;
    trial_list list = {0};
    write_file(f->file,
               "{\"metadata\": {\"device\": \"A100\", \"dtype\": \"f16\", \"author\": [1]},\n"
               " \"kernels\": [\n"
               "  {\"name\": \"gemm\", \"config\": {\"BM\": 128, \"swizzle\": true}, \"ms\": 0.5,\n"
               "   \"tflops\": 200.5, \"note\": \"left alone\"},\n"
               "  {\"name\": \"gemm\", \"config\": \"BM=64\", \"status\": \"wrong_result\",\n"
               "   \"device\": \"H100\"}]}");
    assert_ok(ak_archive_import(&added, NULL, f->archive, "kernels", f->file, err));
    assert_ok(ak_archive_each(f->archive, NULL, collect, &list, err));
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].config, "BM=128,swizzle=True");
    assert_string_equal(list.items[0].device, "A100");
    assert_string_equal(list.items[0].dtype, "f16");
    assert_int_equal(list.items[0].status, AK_TRIAL_OK);
    assert_true(list.items[0].tflops == 200.5);
    assert_string_equal(list.items[1].device, "H100");
    assert_int_equal(list.items[1].status, AK_TRIAL_WRONG_RESULT);
    assert_string_equal(list.items[1].config, "BM=64");
    list_clear(&list);
}

static void test_kernels_refusals(void **state)
{
    fixture *f = fixture_of(state);
    assert_import_refused(f, "kernels", "[]", "\"kernels\" is missing");
    assert_import_refused(f, "kernels", "{\"kernels\": {}}", "array");
    assert_import_refused(f, "kernels", "{\"kernels\": [3]}", "kernel 1");
    assert_import_refused(f, "kernels", "{\"kernels\": [{\"config\": \"\", \"ms\": 1}]}", "name");
    assert_import_refused(f, "kernels", "{\"kernels\": [{\"name\": \"k\", \"ms\": 1}]}", "config");
    assert_import_refused(f, "kernels", "{\"kernels\": [{\"name\": \"k\", \"config\": \"\"}]}",
                          "\"status\"");
    assert_import_refused(f, "kernels",
                          "{\"kernels\": [{\"name\": \"k\", \"config\": {\"a\": []}, \"ms\": 1}]}",
                          "\"a\"");
    assert_import_refused(
        f, "kernels",
        "{\"metadata\": {\"device\": 3}, \"kernels\": [{\"name\": \"k\", \"config\": \"\", "
        "\"ms\": 1}]}",
        "device");
}

/* ---- Kernel Tuner -----------------------------------------------------------------------------
 */

#define CACHE_HEAD                                                                                 \
    "{\n\"device_name\": \"A100\",\n\"kernel_name\": \"conv\",\n\"problem_size\": [64, 32],\n"     \
    "\"tune_params_keys\": [\"b\", \"a\"],\n\"tune_params\": {\"a\": [1], \"b\": [2]},\n"          \
    "\"objective\": \"time\",\n\"cache\": {\n"
#define CACHE_ONE                                                                                  \
    "\"2,1\": {\"a\": 1, \"b\": 2, \"time\": 9.5, \"times\": [30.0, 1.0, 2.0, 3.0, 2.5], "         \
    "\"compile_time\": 12.5, \"GFLOP/s\": 1500, \"strategy_time\": 0, "                            \
    "\"timestamp\": \"2023-02-15 02:00:02.984915+00:00\"}"
#define CACHE_TWO "\"2,3\": {\"a\": 3, \"b\": 2, \"time\": \"CompilationFailedConfig\"}"

static void test_kernel_tuner_files(void **state)
{
    static const struct {
        const char *text;
        size_t count;
    } cases[] = {
        {"\xef\xbb\xbf" CACHE_HEAD CACHE_ONE ",\n" CACHE_TWO "}\n}", 2}, /* with a mark */
        {CACHE_HEAD CACHE_ONE ",\n" CACHE_TWO ",", 2},                   /* stopped */
        {CACHE_HEAD CACHE_ONE ",\n" CACHE_TWO "\n", 2},
        {CACHE_HEAD CACHE_ONE ",\n" CACHE_TWO "}", 2},
        {CACHE_HEAD CACHE_ONE ",\n\"2,3\": {\"a\": 3, \"b\"", 1}, /* cut short */
        {CACHE_HEAD, 0},
        {CACHE_HEAD "\"2,3\": {\"a\": 3, \"b\": 2, \"time\": 1, \"__error__\": "
                    "\"RuntimeFailedConfig\"}}}",
         1},
    };
    fixture *f = fixture_of(state);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t added = 77, known = 77;
        write_file(f->file, cases[i].text);
        assert_ok(ak_archive_import(&added, &known, f->archive, i == 0 ? NULL : "kernel-tuner",
                                    f->file, err));
        assert_int_equal(added + known, cases[i].count);
        assert_int_equal(added, i == 0 ? 2 : i == 6 ? 1 : 0); /* what is new */
        assert_int_equal(ak_archive_left_out(f->archive) != NULL, i == 4);
    }
    trial_list list = {0};
    assert_ok(ak_archive_each(f->archive, NULL, collect, &list, err));
    const ak_trial *first = &list.items[0];
    assert_string_equal(first->kernel, "conv");
    assert_string_equal(first->device, "A100");
    assert_string_equal(first->size, "X=64,Y=32");
    assert_string_equal(first->config, "b=2,a=1"); /* in the order of the keys */
    assert_string_equal(first->timestamp, "2023-02-15T02:00:02.984Z");
    assert_true(first->median_ms == 2.5); /* not the mean of 9.5 */
    assert_true(first->ci_low_ms == 1.0 && first->ci_high_ms == 30.0);
    assert_true(first->tflops == 1.5);
    assert_int_equal(first->compile_ns, 12500000);
    assert_int_equal(list.items[1].status, AK_TRIAL_COMPILE_ERROR);
    assert_string_equal(list.items[1].reason, "CompilationFailedConfig");
    assert_int_equal(list.items[list.count - 1].status, AK_TRIAL_LAUNCH_ERROR);
    list_clear(&list);
}

static void test_kernel_tuner_refusals(void **state)
{
    fixture *f = fixture_of(state);
    assert_import_refused(f, "kernel-tuner", "", "");
    assert_import_refused(f, "kernel-tuner", "[]", "kernel_name");
    assert_import_refused(f, "kernel-tuner", CACHE_HEAD CACHE_ONE "}} more",
                          "end of file expected");
    assert_import_refused(f, "kernel-tuner", "{\"kernel_name\": \"k\"}", "tune_params_keys");
    assert_import_refused(f, "kernel-tuner", CACHE_HEAD "x,\n" CACHE_ONE, ":9:1:");
    assert_import_refused(f, "kernel-tuner", CACHE_HEAD "\"a\": 3}}", "cache \"a\"");
    assert_import_refused(f, "kernel-tuner", CACHE_HEAD "\"a\": {\"a\": 1, \"time\": 1}}}",
                          "\"b\" is missing");
    assert_import_refused(
        f, "kernel-tuner",
        CACHE_HEAD CACHE_ONE ", \"x\": {\"a\": 1, \"b\": 1, \"time\": \"Oops\"}}}", "Oops");
    assert_import_refused(f, "kernel-tuner", CACHE_HEAD "\"a\": {\"a\": 1, \"b\": 1}}}", "time");
    assert_import_refused(
        f, "kernel-tuner",
        CACHE_HEAD "\"a\": {\"a\": 1, \"b\": 1, \"time\": 1, \"times\": [\"x\"]}}}", "times");
    assert_import_refused(f, "kernel-tuner",
                          CACHE_HEAD
                          "\"a\": {\"a\": 1, \"b\": 1, \"time\": 0.001, \"times\": [3, 2]}}}",
                          "\"time\" is 0.001 ms, and the runtimes are 2 to 3 ms");
}

/* The member "autokernel" that export adds to such a file is refused if it has another form. */
static void test_kernel_tuner_own(void **state)
{
    fixture *f = fixture_of(state);
    trial_list list = {0};
    size_t added;
    assert_import_refused(f, "kernel-tuner",
                          "{\"autokernel\": 1, \"kernel_name\": \"k\", "
                          "\"tune_params_keys\": [], \"cache\": {}}",
                          "autokernel");
    assert_import_refused(f, "kernel-tuner",
                          "{\"autokernel\": {\"dtype\": 1}, \"kernel_name\": "
                          "\"k\", \"tune_params_keys\": [], \"cache\": {}}",
                          "dtype");
    write_file(f->file, "{\"autokernel\": {\"dtype\": \"f16\"}, \"kernel_name\": \"k\", "
                        "\"problem_size\": 7, \"tune_params_keys\": [\"a\"], "
                        "\"cache\": {\"1\": {\"a\": 1, \"time\": 2}}}");
    assert_ok(ak_archive_import(&added, NULL, f->archive, "kernel-tuner", f->file, err));
    assert_ok(ak_archive_each(f->archive, NULL, collect, &list, err));
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].dtype, "f16");
    assert_string_equal(list.items[0].size, "X=7");
    list_clear(&list);
}

static void test_kernel_tuner_repeats(void **state)
{
    fixture *f = fixture_of(state);
    (void)add_trial(f->archive, literal_trial("A=1", 3));
    (void)add_trial(f->archive, literal_trial("A=1", 2));
    (void)add_trial(f->archive, literal_trial("A=1", 0)); /* failed once more */
    (void)add_trial(f->archive, literal_trial("A=2", 0));
    (void)add_trial(f->archive, literal_trial("A=-4", 7));
    export_to_file(f, f->archive, "kernel-tuner");
    json_t *file;
    assert_ok(ak_json_read(&file, f->file, err));
    const json_t *cache = json_object_get(file, "cache");
    assert_int_equal(json_object_size(cache), 3);
    assert_true(json_number_value(json_object_get(json_object_get(cache, "1"), "time")) == 2.0);
    assert_string_equal(json_string_value(json_object_get(json_object_get(cache, "2"), "time")),
                        "CompilationFailedConfig");
    const json_t *values = json_object_get(json_object_get(file, "tune_params"), "A");
    static const int ascending[] = {-4, 1, 2}; /* not in the order of the trials */
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(json_integer_value(json_array_get(values, i)), ascending[i]);
    }
    assert_int_equal(json_array_size(values), 3);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(file, "problem_size"), 1)),
                     32);
    json_decref(file);
}

/* ---- T4 ---------------------------------------------------------------------------------------
 */

static void test_t4_foreign(void **state)
{
    fixture *f = fixture_of(state);
    char path[AK_PATH_MAX];
    size_t added;
    trial_list list = {0};
    assert_ok(ak_fs_join(path, f->folder, "A100_T4.json", err));
    write_file(path,
               "{\"metadata\": {\"timeunit\": \"miliseconds\"}, \"results\": [\n"
               "{\"timestamp\": \"2023-12-22 09:54:05.502007+00:00\", \"configuration\": {\"x\": "
               "16}, \"times\": {\"compilation\": 918.5, \"runtimes\": [4.0, 3.0, 3.5]}, "
               "\"invalidity\": \"correct\", \"measurements\": [{\"name\": \"time\", \"value\": "
               "3.9, \"unit\": \"\"}]},\n"
               "{\"configuration\": {\"x\": 32}, \"times\": {}, \"invalidity\": \"timeout\", "
               "\"measurements\": [{\"name\": \"time\", \"value\": \"RuntimeFailedConfig\"}]},\n"
               "{\"configuration\": {\"x\": 64}, \"invalidity\": \"correct\", \"measurements\": "
               "[{\"name\": \"time\", \"value\": 7}, {\"name\": \"efficiency\", \"value\": -3, "
               "\"unit\": \"of the roofline\"}, {\"name\": \"gbs\", \"value\": 5, \"unit\": "
               "\"\"}, {\"name\": \"tflops\", \"value\": 2, \"unit\": \"TFLOP/s\"}]}],\n"
               "\"schema_version\": \"1.0.0\"}");
    assert_ok(ak_archive_import(&added, NULL, f->archive, "t4", path, err));
    assert_int_equal(added, 3);
    assert_ok(ak_archive_each(f->archive, NULL, collect, &list, err));
    assert_string_equal(list.items[0].kernel, "A100_T4");
    assert_string_equal(list.items[0].config, "x=16");
    assert_true(list.items[0].median_ms == 3.5);
    assert_int_equal(list.items[0].compile_ns, 918500000);
    assert_int_equal(list.items[1].status, AK_TRIAL_TIMED_OUT);
    assert_true(list.items[2].median_ms == 7.0 && list.items[2].tflops == 2);
    assert_true(list.items[2].gbs == 0 && list.items[2].efficiency == 0); /* not ours */
    list_clear(&list);
}

/* The unit of a measurement takes precedence over that of the file. All other times are in the
   file's unit. */
static void test_t4_units(void **state)
{
    fixture *f = fixture_of(state);
    size_t added;
    trial_list list = {0};
    assert_import_refused(f, "t4", "{\"metadata\": {\"timeunit\": \"foo\"}, \"results\": []}",
                          "\"timeunit\" is \"foo\"");
    assert_import_refused(f, "t4",
                          "{\"metadata\": {\"timeunit\": \"us\"}, \"results\": ["
                          "{\"configuration\": {\"x\": 1}, \"invalidity\": \"correct\", "
                          "\"times\": {\"runtimes\": [100]}, \"measurements\": "
                          "[{\"name\": \"time\", \"value\": 100, \"unit\": \"ns\"}]}]}",
                          "result 1 contradicts itself: the measurement \"time\" is 0.0001 ms");
    write_file(
        f->file,
        "{\"metadata\": {\"timeunit\": \"microseconds\"}, \"results\": ["
        "{\"configuration\": {\"x\": 1}, \"invalidity\": \"correct\", \"times\": "
        "{\"compilation\": 2000}, \"measurements\": [{\"name\": \"time\", \"value\": 1500}]},"
        "{\"configuration\": {\"x\": 2}, \"invalidity\": \"correct\", \"measurements\": "
        "[{\"name\": \"time\", \"value\": 2, \"unit\": \"s\"}]},"
        "{\"configuration\": {\"x\": 3}, \"invalidity\": \"correct\", \"times\": "
        "{\"runtimes\": [500, 500]}}]}");
    assert_ok(ak_archive_import(&added, NULL, f->archive, "t4", f->file, err));
    assert_ok(ak_archive_each(f->archive, NULL, collect, &list, err));
    assert_true(fabs(list.items[0].median_ms - 1.5) < 1e-9);
    assert_int_equal(list.items[0].compile_ns, 2000000);
    assert_true(fabs(list.items[1].median_ms - 2000) < 1e-9);
    assert_true(fabs(list.items[2].median_ms - 0.5) < 1e-9);
    list_clear(&list);
}

static void test_t4_refusals(void **state)
{
    fixture *f = fixture_of(state);
    assert_import_refused(f, "t4", "{}", "results");
    assert_import_refused(f, "t4", "{\"results\": [1]}", "result 1");
    assert_import_refused(f, "t4",
                          "{\"results\": [{\"configuration\": {\"x\": 1}, \"invalidity\": "
                          "\"correct\", \"correctness\": 0, \"measurements\": [{\"name\": "
                          "\"time\", \"value\": 1}]}]}",
                          "result 1 contradicts itself");
    assert_import_refused(f, "t4", "{\"results\": [{\"invalidity\": \"correct\"}]}",
                          "configuration");
    assert_import_refused(f, "t4", "{\"results\": [{\"configuration\": {}}]}", "invalidity");
    assert_import_refused(
        f, "t4", "{\"results\": [{\"configuration\": {}, \"invalidity\": \"odd\"}]}", "odd");
    assert_import_refused(f, "t4",
                          "{\"results\": [{\"configuration\": {}, \"invalidity\": \"correct\"}]}",
                          "time is missing");
    assert_import_refused(f, "t4", "{\"metadata\": {\"device\": 1}, \"results\": []}", "device");
}

/* ---- best_config.json -------------------------------------------------------------------------
 */

static void test_best(void **state)
{
    fixture *f = fixture_of(state);
    assert_refused(ak_archive_export(f->archive, NULL, "best", f->file, err), AK_NOT_FOUND, "tune");
    assert_false(ak_fs_is_file(f->file));
    fill(f->archive);
    export_to_file(f, f->archive, "best");
    json_t *best;
    assert_ok(ak_json_read(&best, f->file, err));
    assert_int_equal(json_integer_value(json_object_get(best, "schema")), 1);
    assert_string_equal(json_string_value(json_object_get(best, "kernel")), "matmul");
    assert_true(json_number_value(json_object_get(best, "ms")) == 0.25);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(best, "size"), "N")), 32);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(best, "choices"), "bias")), "add");
    const json_t *config = json_object_get(best, "config");
    assert_int_equal(json_integer_value(json_object_get(config, "KC")), 128);
    assert_true(json_is_false(json_object_get(config, "fast")));
    const json_t *environment = json_object_get(best, "environment");
    assert_string_equal(json_string_value(json_object_get(environment, "hash")),
                        "ffeeddccbbaa99887766554433221100");
    assert_string_equal(json_string_value(json_object_get(environment, "cpu")), "a, b");
    assert_true(json_is_null(json_object_get(best, "ci_ms"))); /* of three samples */
    assert_int_equal(json_integer_value(json_object_get(best, "trial")), 2);
    assert_string_equal(json_string_value(json_object_get(best, "autokernel")), AK_VERSION);
    json_decref(best);
    char *text;
    assert_ok(ak_best_config_read(&text, f->file, err));
    assert_string_equal(text, "MR=8,KC=128,fast=False,alpha=1.0,compiler=clang");
    ak_free(text);
}

static void test_best_read_refusals(void **state)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"[1]", "object"},
        {"{}", "config"},
        {"{\"schema\": 2, \"config\": {}}", "schema 2"},
        {"{\"config\": \"A=1\"}", "config"},
        {"{\"config\": {\"a\": null}}", "\"a\""},
    };
    fixture *f = fixture_of(state);
    char *text;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_file(f->file, cases[i][0]);
        assert_refused(ak_best_config_read(&text, f->file, err), AK_INVALID, cases[i][1]);
        assert_refused(ak_best_config_read(&text, f->file, err), AK_INVALID, f->file);
    }
    ak_fs_remove(f->file);
    assert_refused(ak_best_config_read(&text, f->file, err), AK_NOT_FOUND, f->file);
    write_file(f->file, "{\"config\": {\"MR\": 6, \"cc\": \"gcc\"}}");
    assert_ok(ak_best_config_read(&text, f->file, err));
    assert_string_equal(text, "MR=6,cc=gcc");
    ak_free(text);
}

/* ---- where it goes ----------------------------------------------------------------------------
 */

static void test_standard_output(void **state)
{
    fixture *f = fixture_of(state);
    (void)add_trial(f->archive, literal_trial("A=1", 1));
    export_to_file(f, f->archive, "json");
    char *expected = slurp(f->file), path[AK_PATH_MAX];
    assert_ok(ak_fs_join(path, f->folder, "out", err));
    int kept = dup(STDOUT_FILENO);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_int_equal(fflush(stdout), 0);
    assert_int_equal(dup2(fileno(out), STDOUT_FILENO), STDOUT_FILENO);
    ak_status status = ak_archive_export(f->archive, NULL, "json", "-", NULL);
    FILE *full = fopen("/dev/full", "w");
    assert_int_equal(dup2(fileno(full), STDOUT_FILENO), STDOUT_FILENO);
    ak_error fault = AK_ERROR_INIT;
    ak_status refused = ak_archive_export(f->archive, NULL, "json", "-", &fault);
    assert_int_equal(dup2(kept, STDOUT_FILENO), STDOUT_FILENO);
    (void)close(kept);
    (void)fclose(full);
    (void)fclose(out);
    assert_int_equal(status, AK_OK);
    assert_int_equal(refused, AK_IO);
    assert_non_null(strstr(fault.text, "standard output"));
    char *got = slurp(path);
    assert_string_equal(got, expected);
    ak_free(got);
    ak_free(expected);
}

static void test_unwritable(void **state)
{
    fixture *f = fixture_of(state);
    char under[AK_PATH_MAX];
    (void)add_trial(f->archive, literal_trial("A=1", 1));
    write_file(f->file, "kept");
    assert_ok(ak_fs_join(under, f->file, "out.json", err));
    assert_refused(ak_archive_export(f->archive, NULL, "json", under, err), AK_IO, "out.json");
    assert_refused(ak_archive_export(f->archive, NULL, "json", "/proc/out.json", err), AK_NOT_FOUND,
                   "/proc/out.json");
    /* A failing export leaves what was there. */
    ak_archive_filter none = {.kernel = "nothing"};
    assert_refused(ak_archive_export(f->archive, &none, "t4", f->file, err), AK_NOT_FOUND,
                   "no trial");
    char *text = slurp(f->file);
    assert_string_equal(text, "kept");
    ak_free(text);
}

/* Limit on the failing allocation: no call here makes nearly as many, so a loop that reaches it
   would never succeed. */
#define NTH_MAX 100000

static void test_no_memory(void **state)
{
    static const char *const formats[] = {"csv", "json", "kernels", "kernel-tuner", "t4", "best"};
    fixture *f = fixture_of(state);
    fill(f->archive);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        ak_archive *second = open_second(f);
        size_t before = 0;
        ak_error fault = AK_ERROR_INIT;
        ak_status status = AK_NO_MEMORY;
        size_t nth;
        for (nth = 1; status != AK_OK && nth < NTH_MAX; nth++) {
            ak_fs_remove(f->file);
            ak_alloc_fail_at(nth);
            status = ak_archive_export(f->archive, NULL, formats[i], f->file, &fault);
            ak_alloc_fail_at(0);
            assert_true(status == AK_OK || !ak_fs_is_file(f->file));
        }
        assert_string_equal(status == AK_OK ? "" : fault.text, "");
        assert_true(nth > 10);
        if (strcmp(formats[i], "best") == 0) {
            char *text = NULL;
            status = AK_NO_MEMORY;
            for (nth = 1; status != AK_OK && nth < NTH_MAX; nth++) {
                ak_alloc_fail_at(nth);
                status = ak_best_config_read(&text, f->file, NULL);
                ak_alloc_fail_at(0);
            }
            assert_int_equal(status, AK_OK);
            ak_free(text);
            ak_archive_close(second);
            break;
        }
        status = AK_NO_MEMORY;
        size_t added = 0;
        for (nth = 1; status != AK_OK && nth < NTH_MAX; nth++) {
            ak_alloc_fail_at(nth);
            status = ak_archive_import(&added, NULL, second, formats[i], f->file, &fault);
            ak_alloc_fail_at(0);
            before += status == AK_OK ? added : 0;
            assert_int_equal(count_trials(second, NULL), before); /* all or nothing */
        }
        assert_string_equal(status == AK_OK ? "" : fault.text, "");
        assert_true(added > 0);
        char path[AK_PATH_MAX];
        ak_archive_close(second);
        assert_ok(ak_fs_join(path, f->folder, "second.db", err));
        ak_fs_remove(path);
    }
}

#define WITH_ARCHIVE(test)                                                                         \
    cmocka_unit_test_setup_teardown(test, fixture_open_archive, fixture_close)

int main(void)
{
    fixture_fail_json_too();
    const struct CMUnitTest tests[] = {
        WITH_ARCHIVE(test_formats),
        WITH_ARCHIVE(test_lossless),
        WITH_ARCHIVE(test_few_samples_in_csv),
        WITH_ARCHIVE(test_finishes),
        WITH_ARCHIVE(test_evidence),
        WITH_ARCHIVE(test_exchange),
        WITH_ARCHIVE(test_one_task_only),
        WITH_ARCHIVE(test_triton_of_one_place),
        WITH_ARCHIVE(test_csv_text),
        WITH_ARCHIVE(test_no_parameters),
        WITH_ARCHIVE(test_csv_foreign),
        WITH_ARCHIVE(test_csv_refusals),
        WITH_ARCHIVE(test_json_refusals),
        WITH_ARCHIVE(test_kernels_foreign),
        WITH_ARCHIVE(test_kernels_refusals),
        WITH_ARCHIVE(test_kernel_tuner_files),
        WITH_ARCHIVE(test_kernel_tuner_refusals),
        WITH_ARCHIVE(test_kernel_tuner_own),
        WITH_ARCHIVE(test_kernel_tuner_repeats),
        WITH_ARCHIVE(test_t4_foreign),
        WITH_ARCHIVE(test_t4_units),
        WITH_ARCHIVE(test_t4_refusals),
        WITH_ARCHIVE(test_best),
        WITH_ARCHIVE(test_best_read_refusals),
        WITH_ARCHIVE(test_standard_output),
        WITH_ARCHIVE(test_unwritable),
        WITH_ARCHIVE(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
