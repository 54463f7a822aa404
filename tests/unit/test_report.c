/* test_report.c: tests reports in five formats, also of runs with an incomplete record, and that
   they contain no control characters that affect a terminal. */
#include "archive_fixture.h"

#include "archive/overview.h"
#include "archive/store.h"
#include "report/versus.h"
#include "report/changes.h"
#include "report/outcome.h"
#include "report/page.h"
#include "report/section.h"

static const char *const formats[] = {"text", "csv", "json", "md", "html"};
#define FORMATS (sizeof formats / sizeof formats[0])

/* Limit on the failing allocation: no report makes nearly as many, so a loop that reaches it would
   never succeed. */
#define NTH_MAX 100000

/* Fills the archive with a run of a dozen trials whose finish prefers the second fastest. */
static void fill(ak_archive *archive)
{
    ak_run run = literal_run("00112233445566aa");
    run.environment = (char *)"ee00";
    run.environment_json = (char *)"{\"device\": \"Some CPU @ 2 GHz\", \"compilers\": {\"gcc\": "
                                   "\"12.2.0\", \"clang\": \"14.0.6\"}, \"huge\": [1, 2, 3]}";
    run.options_json = (char *)"{\"evaluations\": 60, \"seconds\": 0, \"seed\": 7}";
    assert_ok(ak_archive_add_run(archive, &run, err));
    ak_trial trial = literal_trial("", 1);
    trial.run = run.id;
    trial.environment = run.environment;
    trial.bound = (char *)"compute";
    trial.efficiency = 0.8;
    trial.propose_ns = 1000;
    static const struct {
        const char *config;
        double ms;
    } made[] = {
        {"MR=4,KC=64,cc=gcc", 4.0},  {"MR=4,KC=128,cc=gcc", 3.0}, {"MR=6,KC=64,cc=gcc", 3.5},
        {"MR=6,KC=128,cc=gcc", 2.0}, {"MR=6,KC=256,cc=gcc", 1.9}, {"MR=8,KC=256,cc=gcc", 2.5},
        {"MR=6,KC=512,cc=gcc", 2.2},
    };
    int64_t parent = 0;
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        trial.config = (char *)(uintptr_t)made[i].config;
        trial.median_ms = made[i].ms;
        trial.tflops = made[i].ms > 0 ? 1 / made[i].ms : 0;
        trial.ci_low_ms = made[i].ms * 0.99;
        trial.ci_high_ms = made[i].ms * 1.01;
        trial.parent = parent;
        trial.generation = (int)i;
        trial.predicted_gain = 0.1;
        trial.model = i == 3 ? (char *)"openai:gpt-5" : NULL;
        parent = add_trial(archive, trial);
    }
    trial.status = AK_TRIAL_COMPILE_ERROR;
    trial.reason = (char *)"host.c:9: error: bad \x1b[31mcolour\x07 | pipe, \"quote\"";
    trial.median_ms = 0;
    (void)add_trial(archive, trial);
    (void)add_trial(archive, trial);
    trial.status = AK_TRIAL_TIMED_OUT;
    trial.reason = NULL;
    (void)add_trial(archive, trial);
}

static void end(ak_archive *archive)
{
    assert_ok(ak_archive_end_run(
        archive, "00112233445566aa", "2026-11-21T10:55:00.000Z",
        "{\"seconds\": 12.5, \"stopped_by\": \"evaluations\", \"best\": {\"config\": "
        "\"MR=6,KC=128,cc=gcc\", \"ms\": 1.95, \"ci_ms\": [1.94, 1.96], \"tflops\": 0.5, \"gbs\": "
        "10.0, \"efficiency\": 0.75, \"speedup\": 1.02}, \"baseline\": {\"name\": \"OpenBLAS\", "
        "\"version\": \"0.3.21 Cooperlake\", \"ms\": 1.989}, \"contestants\": [{\"name\": "
        "\"OpenBLAS\", \"version\": \"0.3.21\", \"ms\": 1.989, \"ci_ms\": [1.98, 1.99], \"ratio\": "
        "1, \"tie\": true}, {\"name\": \"tuned\", \"config\": \"MR=6,KC=128,cc=gcc\", \"ms\": "
        "1.95}]}",
        err));
}

static json_t *json_report(ak_archive *archive)
{
    char *text;
    json_t *report;
    assert_ok(ak_report(&text, archive, NULL, "json", err));
    assert_ok(ak_json_parse(&report, text, strlen(text), "report", err));
    ak_text_free(text);
    return report;
}

static const json_t *at(const json_t *value, const char *key)
{
    const json_t *found = json_object_get(value, key);
    if (found == NULL) {
        fail_msg("the report has no \"%s\"", key);
    }
    return found;
}

static void test_model(void **state)
{
    fixture *f = fixture_of(state);
    fill(f->archive);
    end(f->archive);
    json_t *report = json_report(f->archive);
    const json_t *best = at(report, "best"), *author = at(best, "proposed_by");
    assert_string_equal(json_string_value(at(best, "config")), "MR=6,KC=128,cc=gcc");
    assert_string_equal(json_string_value(at(best, "measured")), "finish");
    assert_true(json_number_value(at(best, "ms")) == 1.95);
    assert_true(json_number_value(at(best, "speedup")) == 1.02);
    assert_int_equal(json_integer_value(at(best, "trial")), 4);
    assert_int_equal(json_integer_value(at(author, "evaluation")), 4);
    assert_string_equal(json_string_value(at(author, "model")), "openai:gpt-5");
    assert_int_equal(json_integer_value(at(author, "parent")), 3);

    const json_t *trials = at(report, "trials");
    assert_int_equal(json_integer_value(at(trials, "evaluated")), 10);
    assert_int_equal(json_integer_value(at(trials, "ok")), 7);
    assert_int_equal(json_integer_value(at(at(trials, "failed"), "compile_error")), 2);
    assert_int_equal(json_integer_value(at(at(trials, "failed"), "timed_out")), 1);

    const json_t *fastest = at(report, "fastest");
    assert_int_equal(json_array_size(fastest), 7);
    assert_true(json_number_value(at(json_array_get(fastest, 0), "ms")) == 1.9);
    assert_true(json_number_value(at(json_array_get(fastest, 6), "ms")) == 4.0);

    const json_t *steps = at(report, "convergence");
    static const int evaluations[] = {1, 2, 4, 5};
    assert_int_equal(json_array_size(steps), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(json_integer_value(at(json_array_get(steps, i), "evaluation")),
                         evaluations[i]);
    }

    const json_t *failures = at(report, "failures");
    assert_int_equal(json_array_size(failures), 2);
    assert_int_equal(json_integer_value(at(json_array_get(failures, 0), "count")), 2);
    assert_string_equal(json_string_value(at(json_array_get(failures, 1), "status")), "timed_out");

    /* MR=6 is in all of the three fastest, cc never changed. */
    const json_t *values = at(report, "values");
    bool seen = false;
    for (size_t i = 0; i < json_array_size(values); i++) {
        const json_t *value = json_array_get(values, i);
        assert_string_not_equal(json_string_value(at(value, "parameter")), "cc");
        if (strcmp(json_string_value(at(value, "parameter")), "MR") == 0 &&
            strcmp(json_string_value(at(value, "value")), "6") == 0) {
            seen = true;
            assert_int_equal(json_integer_value(at(value, "top")), 3);
            assert_int_equal(json_integer_value(at(value, "all")), 4);
        }
    }
    assert_true(seen);
    assert_int_equal(json_integer_value(at(report, "top_count")), 3);

    const json_t *seconds = at(report, "seconds");
    assert_true(json_number_value(at(seconds, "wall")) == 12.5);
    assert_true(fabs(json_number_value(at(seconds, "compile")) - 1.0) < 1e-9);
    const json_t *proposers = at(report, "proposers");
    assert_int_equal(json_array_size(proposers), 2);
    assert_int_equal(json_integer_value(at(json_array_get(proposers, 1), "proposed")), 1);
    assert_string_equal(json_string_value(at(report, "command")),
                        "autokernel tune matmul --impl host --device host --size M=64,N=32,K=16 "
                        "--dtype f32 --strategy random --evals 60 --seed 7");
    json_decref(report);
}

/* A run that was killed has no result, so its best is the fastest trial. */
static void test_unfinished(void **state)
{
    fixture *f = fixture_of(state);
    fill(f->archive);
    json_t *report = json_report(f->archive);
    const json_t *best = at(report, "best");
    assert_string_equal(json_string_value(at(best, "config")), "MR=6,KC=256,cc=gcc");
    assert_string_equal(json_string_value(at(best, "measured")), "search");
    assert_true(json_is_null(at(best, "speedup")));
    assert_true(json_is_null(at(report, "baseline")));
    json_decref(report);
    char *text;
    assert_ok(ak_report(&text, f->archive, NULL, "text", err));
    assert_non_null(strstr(text, "still running, or killed"));
    assert_non_null(strstr(text, "partly luck"));
    assert_null(strstr(text, "Warnings"));
    ak_text_free(text);
    assert_ok(ak_archive_end_run(f->archive, "00112233445566aa", NULL,
                                 "{\"warnings\": [\"the machine was busy\"]}", err));
    assert_ok(ak_report(&text, f->archive, NULL, "text", err));
    assert_non_null(strstr(text, "still running, or killed"));
    assert_non_null(strstr(text, "the machine was busy"));
    ak_text_free(text);
    report = json_report(f->archive);
    assert_int_equal(json_array_size(at(report, "warnings")), 1);
    assert_true(json_is_null(at(at(report, "seconds"), "rest")));
    assert_int_equal(json_integer_value(at(at(report, "trials"), "evaluated")), 10);
    json_decref(report);
    size_t matched;
    const ak_archive_filter all = {.limit = 1};
    assert_ok(ak_archive_runs_json(&text, &matched, f->archive, &all, err));
    assert_non_null(strstr(text, "\"trials\":10"));
    assert_non_null(strstr(text, "\"best_ms\":1.9,"));
    ak_text_free(text);
    /* A check that belongs to no run refutes the fastest, so the next one is the best. */
    ak_trial trial = literal_trial("MR=6,KC=256,cc=gcc", 0);
    trial.environment = (char *)"ee00";
    trial.status = AK_TRIAL_WRONG_RESULT;
    (void)add_trial(f->archive, trial);
    report = json_report(f->archive);
    assert_string_equal(json_string_value(at(at(report, "best"), "config")), "MR=6,KC=128,cc=gcc");
    json_decref(report);
    assert_ok(ak_archive_runs_json(&text, &matched, f->archive, &all, err));
    assert_non_null(strstr(text, "\"best_ms\":2.0,"));
    assert_non_null(strstr(text, "\"refuted\":null"));
    ak_text_free(text);
}

/* Every format shows the placement of the best on the roofline in the words of `tune`, and the cost
   of the language model. */
static void test_roofline_and_cost(void **state)
{
    fixture *f = fixture_of(state);
    fill(f->archive);
    assert_ok(ak_archive_end_run(
        f->archive, "00112233445566aa", "2026-11-21T10:55:00.000Z",
        "{\"best\": {\"config\": \"MR=6,KC=128,cc=gcc\", \"ms\": 1.95, \"gbs\": 124.5, "
        "\"efficiency\": 1.245}, \"roofline\": {\"bound\": \"memory\", \"cache\": false, "
        "\"bytes\": 5e6, \"gbs\": 124.5, \"bandwidth_gbs\": 100, \"efficiency\": 1.245}, "
        "\"llm\": {\"model\": \"openai:gpt-5\", \"calls\": 3, \"failed\": 1, \"input_tokens\": "
        "1234, \"output_tokens\": 56, \"cost_usd\": 0.0125}}",
        err));
    static const char *const wanted[] = {
        "124.5 % of the memory's bandwidth, as the data stay in a cache", "5 MB", "1234 in, 56 out",
        "$0.0125"};
    static const char *const people[] = {"text", "text:60", "md", "csv"};
    for (size_t i = 0; i < sizeof people / sizeof people[0]; i++) {
        char *text;
        assert_ok(ak_report(&text, f->archive, NULL, people[i], err));
        for (size_t k = 0; k < sizeof wanted / sizeof wanted[0]; k++) {
            bool folded = i == 1 && k == 0;
            assert_non_null(strstr(text, folded ? "124.5 % of the memory's" : wanted[k]));
        }
        assert_null(strstr(text, "attainable"));
        ak_text_free(text);
    }
    json_t *report = json_report(f->archive);
    assert_string_equal(json_string_value(at(at(report, "roofline"), "bound")), "memory");
    assert_int_equal(json_integer_value(at(at(report, "llm"), "input_tokens")), 1234);
    json_decref(report);
}

/* In every format, a run over many sizes counts the trials of the runs of its sizes. */
static void test_many_sizes(void **state)
{
    fixture *f = fixture_of(state);
    fill(f->archive);
    end(f->archive);
    ak_run run = literal_run("sizes");
    run.started = (char *)"2027-01-01T00:00:00.000Z";
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    assert_ok(ak_archive_end_run(f->archive, run.id, run.started,
                                 "{\"sizes\": [{\"run\": \"00112233445566aa\"}]}", err));
    char *text;
    assert_ok(ak_report(&text, f->archive, run.id, "text", err));
    assert_non_null(strstr(text, "10, of which 7 ok, in the runs of its sizes"));
    ak_text_free(text);
    json_t *report = json_report(f->archive);
    const json_t *trials = at(report, "trials");
    assert_string_equal(json_string_value(at(at(report, "run"), "id")), run.id);
    assert_int_equal(json_integer_value(at(trials, "evaluated")), 10);
    assert_int_equal(json_integer_value(at(trials, "ok")), 7);
    assert_int_equal(json_integer_value(at(at(trials, "failed"), "compile_error")), 2);
    json_decref(report);
}

/* In the picture, libraries with equal speeds are drawn side by side. */
static void test_alike_libraries(void **state)
{
    fixture *f = fixture_of(state);
    fill(f->archive);
    assert_ok(ak_archive_end_run(
        f->archive, "00112233445566aa", "2026-11-21T10:55:00.000Z",
        "{\"best\": {\"config\": \"MR=6,KC=128,cc=gcc\", \"ms\": 2, \"tflops\": 0.25}, "
        "\"contestants\": [{\"name\": \"one\", \"ms\": 2, \"tflops\": 0.25}, {\"name\": \"two\", "
        "\"ms\": 2, \"tflops\": 0.25}, {\"name\": \"tuned\", \"ms\": 2, \"tflops\": 0.25, "
        "\"config\": \"MR=6,KC=128,cc=gcc\"}], \"roofline\": {\"bound\": \"compute\", \"flops\": "
        "5e8, "
        "\"bytes\": 3e6, \"tflops\": 0.25, \"gbs\": 1.5, \"peak_tflops\": 0.5, \"bandwidth_gbs\": "
        "50, "
        "\"intensity\": 160, \"compute_utilisation\": 0.5, \"bandwidth_utilisation\": 0.03}}",
        err));
    char *text;
    assert_ok(ak_report(&text, f->archive, NULL, "text", err));
    assert_non_null(strstr(text, "*ab\n"));
    ak_text_free(text);
}

/* The labels of the picture fit their column even for very small rates. */
static void test_small_rates(void **state)
{
    fixture *f = fixture_of(state);
    fill(f->archive);
    assert_ok(ak_archive_end_run(
        f->archive, "00112233445566aa", "2026-11-21T10:55:00.000Z",
        "{\"best\": {\"config\": \"MR=6,KC=128,cc=gcc\", \"ms\": 2, \"tflops\": 0.00025}, "
        "\"contestants\": [], \"roofline\": {\"bound\": \"compute\", \"flops\": 5e5, "
        "\"bytes\": 3e3, \"tflops\": 0.00025, \"gbs\": 0.0015, \"peak_tflops\": 0.0005, "
        "\"bandwidth_gbs\": 0.05, \"intensity\": 160, \"compute_utilisation\": 0.5, "
        "\"bandwidth_utilisation\": 0.03}}",
        err));
    char *text;
    assert_ok(ak_report(&text, f->archive, NULL, "text", err));
    assert_non_null(strstr(text, "4.2e-05 |"));
    ak_text_free(text);
}

/* A run that was cancelled names the best of its search, but there was no finish. */
static void test_cancelled(void **state)
{
    static const char *const results[] = {
        "{\"stopped_by\": \"cancelled\", \"best\": {\"config\": \"MR=6,KC=256,cc=gcc\", \"ms\": "
        "1.9, "
        "\"speedup\": null}, \"baseline\": null, \"contestants\": []}",
        "{\"stopped_by\": \"cancelled\", \"best\": {\"config\": \"MR=6,KC=256,cc=gcc\", \"ms\": "
        "1.9}}",
        "{\"stopped_by\": \"cancelled\", \"best\": {\"config\": \"MR=6,KC=256,cc=gcc\", \"ms\": "
        "1.9, \"measured\": \"again\"}}",
    };
    fixture *f = fixture_of(state);
    fill(f->archive);
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
        assert_ok(ak_archive_end_run(f->archive, "00112233445566aa", "2026-11-21T10:55:00.000Z",
                                     results[i], err));
        json_t *report = json_report(f->archive);
        const json_t *best = at(report, "best");
        assert_string_equal(json_string_value(at(best, "config")), "MR=6,KC=256,cc=gcc");
        assert_string_equal(json_string_value(at(best, "measured")), i < 2 ? "search" : "again");
        assert_int_equal(json_integer_value(at(best, "trial")), 5);
        json_decref(report);
        char *text;
        assert_ok(ak_report(&text, f->archive, NULL, "text", err));
        assert_non_null(strstr(text, i < 2 ? "once, during the search"
                                           : "again during the search, beside the"));
        assert_null(strstr(text, "again at the end"));
        ak_text_free(text);
    }
    end(f->archive); /* with candidates it is a finish */
    char *text;
    assert_ok(ak_report(&text, f->archive, NULL, "text", err));
    assert_non_null(strstr(text, "again at the end"));
    ak_text_free(text);
}

/* The report of an imported run works without its options, its result and the members of its
   environment. */
static void test_imported(void **state)
{
    static const char *const sources[] = {"csv", "json", "kernels"};
    fixture *f = fixture_of(state);
    fill(f->archive);
    end(f->archive);
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        char path[AK_PATH_MAX], name[16], *text;
        size_t added;
        ak_archive *second = NULL;
        (void)snprintf(name, sizeof name, "second%zu.db", i);
        assert_ok(ak_fs_join(path, f->folder, name, err));
        assert_ok(ak_archive_open(&second, path, err));
        assert_ok(ak_archive_export(f->archive, NULL, sources[i], f->file, err));
        assert_ok(ak_archive_import(&added, NULL, second, sources[i], f->file, err));
        assert_int_equal(added, 10);
        for (size_t j = 0; j < FORMATS; j++) {
            assert_ok(ak_report(&text, second, NULL, formats[j], err));
            assert_non_null(strstr(text, "MR=6,KC=256,cc=gcc"));
            ak_text_free(text);
        }
        assert_ok(ak_report(&text, second, NULL, "text", err));
        assert_non_null(strstr(text, "ee00")); /* the hash is known */
        assert_non_null(strstr(text, "not recorded (imported)"));
        assert_null(strstr(text, "\nEnvironment\n"));
        assert_null(strstr(text, "\nOptions of the run\n"));
        assert_null(strstr(text, "\nFinish"));
        ak_text_free(text);
        ak_archive_close(second);
    }
}

static void test_empty_run(void **state)
{
    fixture *f = fixture_of(state);
    char *text;
    for (size_t i = 0; i < FORMATS; i++) {
        assert_refused(ak_report(&text, f->archive, NULL, formats[i], err), AK_NOT_FOUND, "tune");
    }
    ak_run run = literal_run("r1");
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    for (size_t i = 0; i < FORMATS; i++) {
        assert_ok(ak_report(&text, f->archive, "r1", formats[i], err));
        assert_true(strlen(text) > 100);
        ak_text_free(text);
        assert_refused(ak_report(&text, f->archive, "r2", formats[i], err), AK_NOT_FOUND, "r2");
    }
    assert_refused(ak_report(&text, f->archive, "r1", "pdf", err), AK_INVALID,
                   "text csv json md html");
    assert_ok(ak_report(&text, f->archive, "r1", "text", err));
    assert_non_null(strstr(text, "none: no trial was successful"));
    ak_text_free(text);
}

static size_t characters(const char *text, size_t bytes)
{
    size_t count = 0;
    for (size_t i = 0; i < bytes; i++) {
        count += ((unsigned char)text[i] & 0xc0) != 0x80 ? 1 : 0;
    }
    return count;
}

static void test_text(void **state)
{
    fixture *f = fixture_of(state);
    fill(f->archive);
    ak_trial trial = literal_trial("", 1.8);
    char config[600] = "";
    for (int i = 0; i < 40; i++) {
        char one[16];
        (void)snprintf(one, sizeof one, "%sP%d=\xc3\xa9%d", i == 0 ? "" : ",", i, i * 7);
        memcpy(config + strlen(config), one, strlen(one) + 1);
    }
    trial.config = config;
    trial.run = (char *)"00112233445566aa";
    (void)add_trial(f->archive, trial);
    end(f->archive);
    char *text;
    assert_ok(ak_report(&text, f->archive, NULL, "text", err));
    static const char *const wanted[] = {
        "OpenBLAS 0.3.21 Cooperlake: 1.989 ms",
        "1.020 times the baseline",
        "75.0 % of what this device can do, bound by compute",
        "random with openai:gpt-5, evaluation 4 of 11",
        "Convergence",
        "compilers.gcc",
        "autokernel tune matmul",
        ("P39=\xc3\xa9"
         "273"),
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        if (strstr(text, wanted[i]) == NULL) {
            fail_msg("the report lacks \"%s\":\n%s", wanted[i], text);
        }
    }
    for (const char *line = text; *line != 0;) {
        size_t length = strcspn(line, "\n");
        if (strncmp(line, "  command  ", 11) != 0) { /* which is to be copied: never folded */
            assert_in_range(characters(line, length), 0, 100);
        }
        assert_true(length == 0 || line[length - 1] != ' ');
        line += length + 1;
    }
    for (const char *p = text; *p != 0; p++) {
        assert_true(*p == '\n' || (unsigned char)*p >= 0x20); /* no escape sequences */
    }
    ak_text_free(text);
}

static void test_md(void **state)
{
    fixture *f = fixture_of(state);
    fill(f->archive);
    end(f->archive);
    char *text;
    assert_ok(ak_report(&text, f->archive, NULL, "md", err));
    assert_memory_equal(text, "# autokernel: matmul\n", 21);
    assert_non_null(strstr(text, "\\| pipe"));
    assert_non_null(strstr(text, "| ---: | --- | --- | --- |"));
    assert_null(strchr(text, '\x1b'));
    ak_text_free(text);
}

/* In Markdown neither a note nor a name in a picture marks anything up. */
static void test_md_of_strange_notes(void **state)
{
    (void)state;
    static const char *const notes[][2] = {
        {"a <script>*b*</script> | `c` [d](https://e) _f_ # ![g](h)",
         "a \\<script\\>\\*b\\*\\</script\\> \\| \\`c\\` \\[d\\](https://e) \\_f\\_ \\# "
         "!\\[g\\](h)"},
        {"- a list", "\\- a list"},
        {"+ a list", "\\+ a list"},
        {"12. a list", "12\\. a list"},
        {"1) a list", "1\\) a list"},
        {"     code", "code"},
        {"# a heading", "\\# a heading"},
        {"1.5 times as fast", "1.5 times as fast"},
        {"12 configurations", "12 configurations"}};
    const char *cells[] = {"name", "value"};
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        char wanted[200];
        AK_AT_END(ak_buf_free) ak_buf out = AK_BUF(4096);
        const ak_section section = {.title = "Best",
                                    .note = notes[i][0],
                                    .columns = 2,
                                    .picture = "a x\n````\n<script>\n",
                                    .cells = cells,
                                    .cell_count = 2};
        ak_report_md.print_section(&out, &section, 0);
        (void)snprintf(wanted, sizeof wanted,
                       "## Best\n\n%s\n\n`````text\na x\n````\n<script>\n`````\n\n", notes[i][1]);
        if (strstr(out.data, wanted) == NULL) {
            fail_msg("%s\nlacks\n%s", out.data, wanted);
        }
    }
}

/* A result has a parameter that is a text as one, also if it looks like a number. */
static void test_outcome_of_texts(void **state)
{
    (void)state;
    static const char *const texts[] = {"4", "0.5", "0.50", "True"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char config[32];
        (void)snprintf(config, sizeof config, "S=%s,A=1", texts[i]);
        const ak_trial trial = literal_trial(config, 2);
        json_t *result = json_pack("{s:[{s:{s:s, s:i}, s:f}]}", "contestants", "config", "S",
                                   texts[i], "A", 1, "ms", 1.5);
        assert_true(ak_outcome_of(result, &trial).cost == 1.5);
        json_decref(result);
        result = json_pack("{s:[{s:{s:s, s:i}, s:f}]}", "contestants", "config", "S", "0.500", "A",
                           1, "ms", 1.5);
        assert_true(ak_outcome_of(result, &trial).cost == 2);
        json_decref(result);
    }
}

static void test_csv(void **state)
{
    fixture *f = fixture_of(state);
    fill(f->archive);
    end(f->archive);
    char *text;
    assert_ok(ak_report(&text, f->archive, NULL, "csv", err));
    assert_memory_equal(text, "section,row,column,value\n", 25);
    assert_non_null(strstr(text, "\nBest,1,configuration,\"MR=6,KC=128,cc=gcc\"\n"));
    /* A tenth of the time less is a ninth more speed, the figure of `llm show`. */
    assert_non_null(strstr(text, "generation 3, predicted gain of speed 11.1 %"));
    assert_non_null(strstr(text, "\nFastest configurations,1,ms,1.900\n"));
    assert_non_null(strstr(text, "\nFailures,1,count,2\n"));
    assert_non_null(strstr(text, "\"host.c:9: error: bad  [31mcolour  | pipe, \"\"quote\"\"\""));
    ak_text_free(text);
}

/* Returns the data of a page, which stand between two tags. */
static json_t *page_data(const char *page)
{
    static const char tag[] = "<script type=\"application/json\" id=\"data\">";
    const char *begin = strstr(page, tag);
    assert_non_null(begin);
    begin += sizeof tag - 1;
    const char *end_tag = strstr(begin, "</script>");
    assert_non_null(end_tag);
    json_t *data;
    assert_ok(ak_json_parse(&data, begin, (size_t)(end_tag - begin), "page", err));
    return data;
}

/* Texts of a kernel, a compiler or a model cannot end the block of data in an HTML page. */
static void test_html(void **state)
{
    static const char hostile[] = "</script><script>alert(1)</script><!--";
    fixture *f = fixture_of(state);
    fill(f->archive);
    ak_trial trial = literal_trial("MR=6,KC=</script>,cc=gcc", 1.85);
    trial.run = (char *)"00112233445566aa";
    (void)add_trial(f->archive, trial);
    trial.status = AK_TRIAL_COMPILE_ERROR;
    trial.median_ms = 0;
    trial.reason = (char *)(uintptr_t)hostile;
    (void)add_trial(f->archive, trial);
    end(f->archive);
    char *text;
    assert_ok(ak_report(&text, f->archive, NULL, "html", err));
    assert_non_null(strstr(text, "Content-Security-Policy\" content=\"default-src 'none'"));
    assert_null(strstr(text, "alert(1)</script>"));
    assert_null(strstr(text, "unsafe"));
    json_t *data = page_data(text);
    const json_t *trials = at(data, "trials"), *reasons = at(trials, "reasons");
    assert_string_equal(json_string_value(json_array_get(reasons, json_array_size(reasons) - 1)),
                        hostile);
    assert_int_equal(json_integer_value(at(trials, "shown")), 12);
    assert_int_equal(json_array_size(at(trials, "ms")), 12);
    /* Nothing was spilled in any: such a column is left out. */
    assert_null(json_object_get(trials, "spill_bytes"));
    json_decref(data);
    ak_text_free(text);
}

/* The worth of a change comes from pairs of trials that differ in this change alone. */
/* A page shows all trials up to a limit. If there are more, it never shows more than the limit. */
static void test_limit_of_trials(void **state)
{
    const size_t most = AK_PAGE_TRIALS_MAX + 10000;
    ak_trial *trials = ak_alloc(most, sizeof *trials);
    const ak_trial **ranking = ak_alloc(most, sizeof *ranking);
    ak_report_step *steps = ak_alloc(most, sizeof *steps);
    (void)state;
    for (size_t i = 0; i < most; i++) {
        ranking[i] = &trials[i];
        steps[i].evaluation = most / 4 + i;
    }
    static const size_t cases[][3] = {/* trials, steps, shown */
                                      {AK_PAGE_TRIALS_MAX - 1, 0, AK_PAGE_TRIALS_MAX - 1},
                                      {AK_PAGE_TRIALS_MAX, 0, AK_PAGE_TRIALS_MAX},
                                      {AK_PAGE_TRIALS_MAX + 10000, 0, 16000},
                                      {AK_PAGE_TRIALS_MAX + 10000, 3000, 17500},
                                      {AK_PAGE_TRIALS_MAX + 10000, 18000, AK_PAGE_TRIALS_MAX},
                                      {AK_PAGE_TRIALS_MAX + 10000, 20000, AK_PAGE_TRIALS_MAX}};
    for (size_t i = 0; i < AK_COUNT(cases); i++) {
        const ak_report_model model = {.trials = trials,
                                       .count = cases[i][0],
                                       .ranking = ranking,
                                       .ok_count = cases[i][0],
                                       .steps = steps,
                                       .step_count = cases[i][1]};
        json_t *page = ak_page_trials(&model);
        assert_non_null(page);
        assert_int_equal(ak_json_number_at(page, "count"), cases[i][0]);
        assert_int_equal(ak_json_number_at(page, "shown"), cases[i][2]);
        json_decref(page);
    }
    ak_free(trials);
    ak_free(ranking);
    ak_free(steps);
}

/* A change is open only where its bounds lie on both sides of 1 and are wide; one pair can decide
   both for it and against it. */
static void test_open_changes(void **state)
{
    (void)state;
    static const struct {
        ak_report_change change;
        bool open;
    } cases[] = {
        {{.pairs = 0}, false},
        {{.pairs = 1, .speed = 14.2, .least = 8.437, .greatest = 16.9}, false},
        {{.pairs = 1, .speed = 0.3, .least = 0.2, .greatest = 0.5}, false},
        {{.pairs = 1, .speed = 1.2, .least = 0.8, .greatest = 1.9}, true},
        {{.pairs = 5, .speed = 1.2, .least = 0.8, .greatest = 1.9}, true},
        {{.pairs = 1, .speed = 1, .least = 0.97, .greatest = 1.03}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(ak_report_change_is_open(&cases[i].change), cases[i].open);
    }
}

/* A run that resumed shows the trials of earlier runs, marked, and counts its own. */
static void test_resumed(void **state)
{
    fixture *f = fixture_of(state);
    fill(f->archive);
    ak_run run = literal_run("ff01");
    run.environment = (char *)"ee00";
    run.started = (char *)"2999-11-21T10:54:00.000Z"; /* after those trials, which are of today */
    run.options_json = (char *)"{\"resume\": true}";
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    char *text;
    for (size_t with_trial = 0; with_trial < 2; with_trial++) {
        ak_trial trial = literal_trial("MR=9,KC=64,cc=gcc", 5);
        trial.run = run.id;
        trial.environment = run.environment;
        trial.timestamp = (char *)"2999-11-21T10:55:00.000Z";
        if (with_trial == 1) {
            (void)add_trial(f->archive, trial);
        }
        assert_ok(ak_report(&text, f->archive, "ff01", "json", err));
        json_t *report;
        assert_ok(ak_json_parse(&report, text, strlen(text), "report", err));
        ak_text_free(text);
        const json_t *trials = at(report, "trials"), *fastest = at(report, "fastest");
        assert_int_equal(json_integer_value(at(trials, "evaluated")), with_trial);
        assert_int_equal(json_integer_value(at(trials, "resumed")), 7);
        assert_int_equal(json_array_size(fastest), 7 + with_trial);
        assert_true(json_is_true(at(json_array_get(fastest, 0), "resumed")));
        assert_string_equal(json_string_value(at(at(report, "best"), "config")),
                            "MR=6,KC=256,cc=gcc");
        assert_int_equal(json_array_size(at(report, "proposers")), with_trial);
        assert_int_equal(json_array_size(at(report, "convergence")), 4);
        json_decref(report);
        assert_ok(ak_report(&text, f->archive, "ff01", "text:0", err));
        assert_non_null(strstr(text, "7 trials of earlier runs, shown with them"));
        assert_non_null(strstr(text, " (resumed)\n"));
        assert_non_null(strstr(text, "evaluation 5 of "));
        assert_non_null(strstr(text, "in an earlier run (resumed)"));
        assert_non_null(strstr(text, "MR=6,KC=256,cc=gcc"));
        ak_text_free(text);
    }
    assert_ok(ak_report(&text, f->archive, "ff01", "html", err));
    json_t *data = page_data(text);
    ak_text_free(text);
    assert_int_equal(json_integer_value(at(at(data, "trials"), "count")), 8);
    assert_int_equal(json_integer_value(json_array_get(at(at(data, "trials"), "resumed"), 0)), 1);
    assert_int_equal(json_integer_value(json_array_get(at(at(data, "trials"), "resumed"), 7)), 0);
    json_decref(data);
    /* The record of its end says how many they were. */
    assert_ok(ak_archive_end_run(f->archive, "ff01", "2999-11-21T10:56:00.000Z",
                                 "{\"resumed\": 2, \"seconds\": 1}", err));
    assert_ok(ak_report(&text, f->archive, "ff01", "text:0", err));
    assert_non_null(strstr(text, "2 trials of earlier runs"));
    ak_text_free(text);
}

/* A candidate that failed in the finish is named with its trial. */
static void test_failed_in_finish(void **state)
{
    fixture *f = fixture_of(state);
    char *text;
    fill(f->archive);
    assert_ok(ak_archive_end_run(
        f->archive, "00112233445566aa", "2026-11-21T10:55:00.000Z",
        "{\"seconds\": 12.5, \"contestants\": [{\"name\": \"first finalist\", \"config\": "
        "\"MR=6,KC=256,cc=gcc\", \"ms\": null, \"reason\": \"not judged: busy\"}, {\"name\": "
        "\"second finalist\", \"config\": \"MR=1,KC=1,cc=gcc\", \"reason\": \"crashed\"}, "
        "{\"name\": \"BLIS\", \"reason\": \"no such function\"}]}",
        err));
    assert_ok(ak_report(&text, f->archive, NULL, "text:0", err));
    assert_non_null(strstr(text, "failed: not judged: busy: trial #5, MR=6,KC=256,cc=gcc\n"));
    assert_non_null(strstr(text, "failed: crashed: MR=1,KC=1,cc=gcc\n"));
    assert_non_null(strstr(text, "failed: no such function\n"));
    ak_text_free(text);
}

/* Joins the lines of a text into one. */
static void unwrap(char *text)
{
    char *to = text;
    for (const char *c = text; *c != 0; c++) {
        bool blank = *c == ' ' || *c == '\n';
        if (!blank || to == text || to[-1] != ' ') {
            *to++ = blank ? ' ' : *c;
        }
    }
    *to = 0;
}

static void test_changes(void **state)
{
    fixture *f = fixture_of(state);
    ak_run run = literal_run("r1");
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    static const struct {
        const char *config;
        double ms;
    } made[] = {
        {"A=1,B=1,C=x", 8.0}, {"A=2,B=1,C=x", 4.0}, {"A=1,B=2,C=x", 6.0},
        {"A=2,B=2,C=x", 2.0}, {"A=2,B=2,C=y", 1.0}, {"A=3,B=2,C=x", 0.0},
    };
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        ak_trial trial = literal_trial(made[i].config, made[i].ms);
        trial.run = run.id;
        trial.strategy = (char *)(uintptr_t)(i == 0 ? "default" : "random");
        trial.status = made[i].ms > 0 ? AK_TRIAL_OK : AK_TRIAL_CRASHED;
        (void)add_trial(f->archive, trial);
    }
    char *text;
    assert_ok(ak_report(&text, f->archive, "r1", "html", err));
    json_t *data = page_data(text);
    const json_t *changes = at(data, "changes");
    /* A: 8/4 and 6/2; B: 8/6 and 4/2; C: 2/1; each time 1 % up or down. */
    static const struct {
        const char *name;
        double speed, least, greatest;
        int pairs;
    } wanted[] = {{"A", 2.5, 2, 3, 2}, {"B", (8.0 / 6 + 2) / 2, 8.0 / 6, 2, 2}, {"C", 2, 2, 2, 1}};
    assert_int_equal(json_array_size(changes), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *one = json_array_get(changes, i);
        assert_string_equal(json_string_value(at(one, "parameter")), wanted[i].name);
        assert_true(fabs(json_number_value(at(one, "speed")) - wanted[i].speed) < 1e-12);
        assert_true(fabs(json_number_value(at(one, "least")) - wanted[i].least * 0.99 / 1.01) <
                    1e-12);
        assert_true(fabs(json_number_value(at(one, "greatest")) -
                         wanted[i].greatest * 1.01 / 0.99) < 1e-12);
        assert_int_equal(json_integer_value(at(one, "pairs")), wanted[i].pairs);
    }
    json_decref(data);
    ak_text_free(text);
    assert_ok(ak_report(&text, f->archive, "r1", "text", err));
    assert_non_null(
        strstr(text, "It changes 3 of 3 parameters of the default: A from 1 to 2 (2.500"));
    assert_null(strstr(text, "8.000 times"));
    unwrap(text);
    assert_non_null(strstr(text, "Its speed is not decided against the default configuration: not "
                                 "measured beside each other."));
    ak_text_free(text);
}

typedef struct made_trial {
    const char *config, *code;
    double ms;
    int same_code;
} made_trial;

/* Returns the report, as one line, of a run with this result and these trials, of which the first
   is the default. */
static char *report_of_trials(fixture *f, const char *result, const made_trial *made, size_t count)
{
    char *text;
    ak_run run = literal_run("r1");
    run.result_json = (char *)(uintptr_t)result;
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    for (size_t i = 0; i < count; i++) {
        ak_trial trial = literal_trial(made[i].config, made[i].ms);
        trial.run = run.id;
        trial.strategy = (char *)(uintptr_t)(i == 0 ? "default" : "random");
        trial.code_hash = (char *)(uintptr_t)made[i].code;
        trial.same_code = made[i].same_code;
        (void)add_trial(f->archive, trial);
    }
    assert_ok(ak_report(&text, f->archive, "r1", "text", err));
    unwrap(text);
    return text;
}

/* A change whose interval leaves open that it is none is no speed, and neither is one that makes
   the same code. The search cannot be said to have come nearer to its best than that is known. */
static void test_no_difference_in_words(void **state)
{
    static const made_trial made[] = {{"A=1,B=1,C=1", "c1", 4.0, 0},
                                      {"A=2,B=1,C=1", "c2", 3.98, 0},
                                      {"A=2,B=2,C=1", "c3", 2.0, 0},
                                      {"A=2,B=2,C=2", "c3", 2.0, 1}};
    static const char best[] = "{\"best\": {\"config\": \"A=2,B=2,C=2\", \"ms\": 2.0}}";
    char *text = report_of_trials(fixture_of(state), best, made, AK_COUNT(made));
    assert_non_null(strstr(text, "A from 1 to 2 (no difference, 0.985 to 1.025 in 1 pair)"));
    assert_non_null(strstr(text, "B from 1 to 2 (1.990 times as fast"));
    assert_non_null(strstr(text, "C from 1 to 2 (the same code in 1 pair)"));
    assert_non_null(strstr(text, "within 5 % of its best after 3."));
    ak_text_free(text);
}

/* Bounds that are far apart do not say that there is no difference, even if one of them is 1, the
   ratio of two trials with the same code. */
static void test_wide_change_in_words(void **state)
{
    static const made_trial made[] = {{"A=1,B=1", "c1", 4.0, 0},
                                      {"A=2,B=1", "c1", 4.0, 1},
                                      {"A=1,B=2", "c2", 6.0, 0},
                                      {"A=2,B=2", "c3", 3.0, 0}};
    static const char best[] = "{\"best\": {\"config\": \"A=2,B=2\", \"ms\": 3.0}}";
    char *text = report_of_trials(fixture_of(state), best, made, AK_COUNT(made));
    const char *change = strstr(text, "A from 1 to 2 (");
    assert_non_null(change);
    assert_non_null(strstr(change, "in 2 pairs)"));
    assert_true(strncmp(change + 15, "no difference", 13) != 0);
    ak_text_free(text);
}

/* Returns the report of `run`, to which one trial is added. */
static char *report_of_run(fixture *f, const ak_run *run)
{
    char *text;
    assert_ok(ak_archive_add_run(f->archive, run, err));
    ak_trial trial = literal_trial("MR=6", 1);
    trial.run = run->id;
    (void)add_trial(f->archive, trial);
    assert_ok(ak_report(&text, f->archive, run->id, "text", err));
    return text;
}

/* If a difference is no larger than the control's interval, the sentences also say that it is not
   decided. */
static void test_control_in_words(void **state)
{
    fixture *f = fixture_of(state);
    char *text;
    ak_run run = literal_run("r1");
    run.result_json =
        (char *)"{\"reference\": \"OpenBLAS\", \"noise\": {\"control\": {\"ratio\": 1.01, "
                "\"ratio_ci\": [0.858, 1.02]}, \"deviation\": 0.01, \"rounds\": 20, "
                "\"disturbed\": 3}, \"contestants\": [{\"name\": \"tuned\", \"ms\": 1, "
                "\"config\": \"MR=6\", \"ratio\": 1.3, \"ratio_ci\": [1.29, 1.31], "
                "\"verdict\": \"faster\"}, {\"name\": \"BLIS\", \"ms\": 1.2, \"ratio\": "
                "1.1, \"ratio_ci\": [1.09, 1.11]}, {\"name\": \"ATLAS\", \"ms\": 2, \"ratio\": "
                "0.65, \"ratio_ci\": [0.64, 0.66]}, {\"name\": \"OpenBLAS\", \"ms\": 1.3, "
                "\"ratio\": 1, \"ratio_ci\": [1, 1]}]}";
    text = report_of_run(f, &run);
    unwrap(text);
    assert_non_null(strstr(text, "not decided against BLIS: same code differs ("));
    assert_non_null(strstr(text, "2.000 times that of ATLAS"));
    assert_non_null(strstr(text, "1.300 times that of OpenBLAS"));
    ak_text_free(text);
}

/* Sentences say what the finish decided, even on a busy machine if enough rounds were
   undisturbed. */
static void test_decided_in_words(void **state)
{
    fixture *f = fixture_of(state);
    char *text;
    ak_run run = literal_run("r1");
    run.result_json =
        (char *)"{\"reference\": \"OpenBLAS\", \"noise\": {\"rounds\": 20, \"disturbed\": 15}, "
                "\"contestants\": [{\"name\": \"tuned\", \"ms\": 1, \"config\": \"MR=6\", "
                "\"ratio\": 1.3, \"ratio_ci\": [1.29, 1.31], \"verdict\": \"faster\"}, {\"name\": "
                "\"BLIS\", \"ms\": 2, \"ratio\": 0.65, \"ratio_ci\": [0.64, 0.66], \"verdict\": "
                "\"undecided\", \"undecided_because\": \"busy\"}, {\"name\": \"ATLAS\", \"ms\": 2, "
                "\"ratio\": 0.65, \"ratio_ci\": "
                "[0.64, 0.66], \"verdict\": \"slower\"}, {\"name\": \"MKL\", \"ms\": 1.3, "
                "\"ratio\": 1, \"ratio_ci\": [0.99, 1.01], \"verdict\": \"tie\"}, {\"name\": "
                "\"OpenBLAS\", \"ms\": 1.3, \"ratio\": 1, \"ratio_ci\": [1, 1]}]}";
    text = report_of_run(f, &run);
    unwrap(text);
    assert_non_null(strstr(text, "not decided against BLIS"));
    assert_non_null(
        strstr(text, "not decided against MKL")); /* disturbed rounds suffice for a tie */
    assert_non_null(strstr(text, "2.000 times that of ATLAS"));
    assert_non_null(strstr(text, "(not decided: busy)"));
    assert_non_null(strstr(text, "\"Not decided: busy\": candidates waited for a processor"));
    ak_text_free(text);
}

/* A configuration that failed the check before the finish is not reported as the best. */
static void test_failed_later(void **state)
{
    fixture *f = fixture_of(state);
    char *text;
    ak_run run = literal_run("r1");
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    ak_trial trial = literal_trial("MR=6", 1);
    trial.run = run.id;
    (void)add_trial(f->archive, trial);
    trial.status = AK_TRIAL_TIMED_OUT;
    trial.strategy = (char *)AK_FINALISTS;
    (void)add_trial(f->archive, trial);
    for (size_t i = 0; i < FORMATS; i++) {
        assert_ok(ak_report(&text, f->archive, "r1", formats[i], err));
        assert_null(strstr(text, "The best configuration takes"));
        ak_text_free(text);
    }
    assert_ok(ak_report(&text, f->archive, "r1", "md", err));
    assert_non_null(strstr(text, "Every configuration that was timed failed a later check."));
    ak_text_free(text);
    trial = literal_trial("MR=8", 2);
    trial.run = run.id;
    (void)add_trial(f->archive, trial);
    assert_ok(ak_report(&text, f->archive, "r1", "md", err));
    assert_non_null(strstr(text, "The best configuration takes 2"));
    ak_text_free(text);
}

/* Two runs can be compared in every format. */
/* A ratio of two runs is no surer than either of them: their controls and disturbed rounds count.
 */
static void test_apart(void **state)
{
    (void)state;
    static const struct {
        const char *of_a, *of_b;
        ak_speed_verdict verdict;
        ak_speed_doubt doubt;
    } cases[] = {
        {"{\"rounds\": 18, \"disturbed\": 0}", "null", AK_SPEED_FASTER, AK_DOUBT_NONE},
        {"{\"control\": {\"ratio\": 1.01, \"ratio_ci\": [0.995, 1.02]}}", "null", AK_SPEED_FASTER,
         AK_DOUBT_NONE},
        {"{\"control\": {\"ratio\": 1.076, \"ratio_ci\": [0.936, 1.236]}}", "null",
         AK_SPEED_UNDECIDED, AK_DOUBT_CONTROL},
        {"null", "{\"control\": {\"ratio\": 1.076, \"ratio_ci\": [0.936, 1.236]}}",
         AK_SPEED_UNDECIDED, AK_DOUBT_CONTROL},
        {"null", "{\"rounds\": 18, \"disturbed\": 17}", AK_SPEED_UNDECIDED, AK_DOUBT_BUSY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *a = json_loads(cases[i].of_a, JSON_DECODE_ANY, NULL),
               *b = json_loads(cases[i].of_b, JSON_DECODE_ANY, NULL);
        const ak_speed s =
            ak_apart_speed(&(ak_apart){1.06, 1.05, 1.07, a}, &(ak_apart){1.0, 0.995, 1.005, b});
        assert_true(s.low > 1.04 && s.ratio > 1.059 && s.high < 1.08);
        assert_int_equal(s.verdict, cases[i].verdict);
        assert_int_equal(s.doubt, cases[i].doubt);
        json_decref(a);
        json_decref(b);
    }
    const ak_speed recorded =
        ak_apart_speed(&(ak_apart){2, 0, 0, NULL}, &(ak_apart){1, 0, 0, NULL});
    assert_true(recorded.ratio == 2 && recorded.low == 0);
    assert_int_equal(recorded.verdict, AK_SPEED_NONE);
}

static void test_versus(void **state)
{
    fixture *f = fixture_of(state);
    fill(f->archive);
    end(f->archive);
    ak_run run = literal_run("ffee");
    run.environment = (char *)"ee01";
    run.environment_json = (char *)"{\"device\": \"Some CPU @ 2 GHz\", \"compilers\": {\"gcc\": "
                                   "\"13.1.0\", \"clang\": \"14.0.6\"}}";
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    static const struct {
        const char *config;
        double ms;
    } made[] = {
        {"MR=6,KC=256,cc=gcc", 0.95}, {"MR=6,KC=128,cc=gcc", 4.0}, {"MR=9,KC=9,cc=gcc", 7.0}};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        ak_trial trial = literal_trial(made[i].config, made[i].ms);
        trial.run = run.id;
        (void)add_trial(f->archive, trial);
    }
    char *text;
    for (size_t i = 0; i < FORMATS; i++) {
        assert_ok(ak_report_versus(&text, f->archive, "00112233445566aa", "ffee", formats[i], err));
        /* Below is what A has at 1.9 and 2 ms, B at 0.95 and 4. */
        assert_non_null(strstr(text, "MR=6,KC=256,cc=gcc"));
        ak_text_free(text);
        assert_refused(ak_report_versus(&text, f->archive, "ffee", "r9", formats[i], err),
                       AK_NOT_FOUND, "r9");
    }
    assert_ok(ak_report_versus(&text, f->archive, "00112233445566aa", "ffee", "text", err));
    assert_non_null(
        strstr(text, "2, of which 1 was faster in B; the median is 1.000 times as fast in B"));
    ak_text_free(text);
    assert_ok(ak_report_versus(&text, f->archive, "00112233445566aa", "ffee", "csv", err));
    static const char *const wanted[] = {
        "Where the environments differ,1,fact,compilers.gcc",
        "Where the environments differ,1,A,12.2.0",
        "Where the environments differ,1,B,13.1.0",
        "Where the best configurations differ,1,parameter,KC",
        "Where the best configurations differ,1,B,256",
        "Configurations that both tried,1,times as fast in B,2.000",
        "Configurations that both tried,2,times as fast in B,0.500",
        "What each found,10,B,-", /* B has no end */
        "\"Time, s\",6,stage,rest",
        "\"Time, s\",6,B,-",
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        if (strstr(text, wanted[i]) == NULL) {
            fail_msg("the comparison lacks \"%s\":\n%s", wanted[i], text);
        }
    }
    assert_null(strstr(text, "compilers.clang")); /* which is the same */
    ak_text_free(text);
    assert_ok(ak_report_versus(&text, f->archive, "00112233445566aa", "ffee", "html", err));
    json_t *data = page_data(text);
    assert_string_equal(json_string_value(at(data, "kind")), "versus");
    assert_int_equal(json_array_size(at(data, "common")), 2);
    json_decref(data);
    ak_text_free(text);
    ak_status status = AK_NO_MEMORY;
    for (size_t nth = 1; status != AK_OK && nth < NTH_MAX; nth += 97) {
        ak_alloc_fail_at(nth);
        status = ak_report_versus(&text, f->archive, "00112233445566aa", "ffee", "html", NULL);
        ak_alloc_fail_at(0);
    }
    assert_int_equal(status, AK_OK);
    ak_text_free(text);
}

/* The command that repeats a run is quoted so that it can be pasted into a shell. */
static void test_command_quoting(void **state)
{
    fixture *f = fixture_of(state);
    ak_run run = literal_run("r1");
    run.kernel = (char *)"my kernel; rm -rf $HOME 'x'";
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    json_t *report = json_report(f->archive);
    assert_non_null(strstr(json_string_value(at(report, "command")),
                           "tune 'my kernel; rm -rf $HOME '\\''x'\\''' --impl"));
    json_decref(report);
    run.id = (char *)"r2";
    run.options_json = (char *)"{\"command\": \"autokernel tune matmul --evals 5\"}";
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    report = json_report(f->archive);
    assert_string_equal(json_string_value(at(report, "command")),
                        "autokernel tune matmul --evals 5");
    json_decref(report);
    run.kernel = (char *)"k";
    run.id = (char *)"r3";
    run.options_json =
        (char *)"{\"device\": \"cuda:0,cuda:1\", \"sizes\": \"256;512;M=64,N=2048,K=64;M=65,N=2049,"
                "K=65;M=66,N=2050,K=66\", \"dispatch\": 2, \"strategy\": \"hybrid:stall=3\", "
                "\"evaluations\": 40, \"seconds\": 0, \"seed\": 3, \"threads\": 2, "
                "\"allow_numerics\": true, \"llm\": \"openai:gpt-5\", \"llm_effort\": \"low\", "
                "\"llm_budget\": 0.5, \"generations\": 4, \"batch\": 8}";
    static const char whole[] =
        "autokernel tune k --impl host --device cuda:0,cuda:1 --sizes '256;512;M=64,N=2048,K=64;"
        "M=65,N=2049,K=65;M=66,N=2050,K=66' --dispatch 2 --dtype f32 --strategy hybrid:stall=3 "
        "--evals 40 --seed 3 --threads 2 --llm openai:gpt-5 --llm-effort low --llm-budget 0.5 "
        "--generations 4 --batch 8 --allow-numerics";
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    report = json_report(f->archive);
    assert_string_equal(json_string_value(at(report, "command")), whole);
    json_decref(report);
    char *text;
    assert_ok(ak_report(&text, f->archive, NULL, "text:0", err));
    assert_non_null(strstr(text, whole)); /* on one line, however long */
    ak_text_free(text);
    /* On a screen it is folded as a shell takes it. */
    assert_ok(ak_report(&text, f->archive, NULL, "text:100", err));
    assert_non_null(strstr(text, "autokernel tune k --impl host --device cuda:0,cuda:1 \\\n"));
    ak_text_free(text);
    assert_refused(ak_report(&text, f->archive, NULL, "text:x", err), AK_INVALID, "text:x");
}

/* The report shows trials by device, the device's clocks and power in the finish, and the
   warnings. */
static void test_devices(void **state)
{
    static const char *const wanted[] = {
        "cuda:0       2   2    1.250         1765  GPU-00",
        "cuda:1       1   0        -            -  GPU-01",
        "tuned        1755        2619  612         51  power_cap",
        "warning  the clock differed by 3.0 %",
        "relative to the first finalist",
        "Overlap says",
        "1.000  between runs",
        "13.1.0",
    };
    fixture *f = fixture_of(state);
    char *text;
    ak_run run = literal_run("r1");
    run.result_json =
        (char
             *)"{\"contestants\": [{\"name\": \"tuned\", \"ms\": 1.2, \"ci_ms\": [1.1, 1.3], "
               "\"ratio\": 1, \"tie\": false, \"config\": \"MR=6\", \"overlap\": \"between runs\", "
               "\"sm_clock_mhz\": 1755, \"memory_clock_mhz\": 2619, "
               "\"power_watts\": 612.4, \"temperature_celsius\": 51, \"throttle\": \"power_cap\", "
               "\"utilisation\": 0.75}, {\"name\": \"cuBLASLt\", \"version\": \"13.1.0\", "
               "\"overlap\": \"none\", \"ms\": 1.2}], \"warnings\": [\"the clock differed by 3.0 "
               "%\"]}";
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    ak_trial trial = literal_trial("MR=4", 1.5);
    trial.run = run.id;
    trial.measured_on = (char *)"cuda:0";
    trial.device_uuid = (char *)"GPU-00";
    trial.sm_clock_mhz = 1755;
    trial.throttle = (char *)"none";
    (void)add_trial(f->archive, trial);
    trial.config = (char *)"MR=6";
    trial.median_ms = 1.25;
    trial.sm_clock_mhz = 1775;
    (void)add_trial(f->archive, trial);
    trial.config = (char *)"MR=8";
    trial.status = AK_TRIAL_CRASHED;
    trial.reason = (char *)"CUDA_ERROR_ILLEGAL_ADDRESS";
    trial.measured_on = (char *)"cuda:1";
    trial.device_uuid = (char *)"GPU-01";
    trial.median_ms = trial.sm_clock_mhz = 0;
    (void)add_trial(f->archive, trial);
    json_t *report = json_report(f->archive);
    const json_t *devices = at(report, "devices");
    assert_int_equal(json_array_size(devices), 2);
    assert_string_equal(json_string_value(at(json_array_get(devices, 1), "uuid")), "GPU-01");
    assert_int_equal(json_array_size(at(report, "warnings")), 1);
    json_decref(report);
    assert_ok(ak_report(&text, f->archive, NULL, "text", err));
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        if (strstr(text, wanted[i]) == NULL) {
            fail_msg("the report lacks \"%s\":\n%s", wanted[i], text);
        }
    }
    ak_text_free(text);
}

static char *report_of(ak_archive *archive, const char *run, const char *format)
{
    char *text;
    assert_ok(ak_report(&text, archive, run, format, err));
    return text;
}

/* In the report of a run on a recording, the command has the path of the file, and times have no
   interval. The run is the latest although its clock begins in 1970. */
static void test_recorded(void **state)
{
    fixture *f = fixture_of(state);
    fill(f->archive);
    ak_run run = literal_run("r1");
    run.device = (char *)"sim:host";
    run.started = (char *)"1970-01-01T00:00:00.000Z";
    run.options_json = (char *)"{\"recording\": \"tiny.json\", \"kernel\": \"matmul\"}";
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    ak_trial trial = literal_trial("MR=4", 0.0249);
    trial.run = run.id;
    trial.device = run.device;
    trial.ci_low_ms = trial.ci_high_ms = trial.median_ms;
    (void)add_trial(f->archive, trial);
    char *text = report_of(f->archive, NULL, "text:0");
    assert_non_null(strstr(text, "r1\n"));
    assert_non_null(strstr(text, "0.02490 ms\n"));
    assert_null(strstr(text, "0.0249 to"));
    assert_null(strstr(text, "0.02490 to"));
    assert_null(strstr(text, "0.02490 .."));
    assert_non_null(strstr(text, "in the folder that holds tiny.json"));
    ak_text_free(text);
    json_t *report = json_report(f->archive);
    assert_true(json_is_null(at(at(report, "best"), "ci_ms")));
    assert_string_equal(json_string_value(at(report, "command_beside")), "tiny.json");
    json_decref(report);
    json_t *paths = json_pack("{s:s}", "recording", "/data/some place/tiny.json");
    ak_archive_note_whereabouts(f->archive, "r1", paths);
    json_decref(paths);
    report = json_report(f->archive);
    assert_non_null(strstr(json_string_value(at(report, "command")),
                           "--device 'sim:/data/some place/tiny.json'"));
    assert_true(json_is_null(at(report, "command_beside")));
    assert_string_equal(json_string_value(at(at(report, "run"), "state")), "running");
    json_decref(report);
}

/* Rows that another program wrote, and messages with characters that change the direction of text,
   do no harm. */
static void test_hostile_rows(void **state)
{
    static const char spoil[] = "UPDATE trials SET ms = 9e999, ci_low_ms = -9e999, tflops = 9e999, "
                                "predicted_gain = 9e999, checksum = NULL WHERE id = 2";
    static const char repair[] = "UPDATE trials SET ms = 1, ci_low_ms = NULL, tflops = NULL, "
                                 "predicted_gain = 0 WHERE id = 2";
    fixture *f = fixture_of(state);
    fill(f->archive);
    ak_trial trial = literal_trial("MR=5,KC=64,cc=gcc", 0);
    trial.run = (char *)"00112233445566aa";
    trial.environment = (char *)"ee00";
    trial.strategy = (char *)"default";
    trial.reason = (char *)"=1+2 is \xe2\x80\xae"
                           "desrever\xe2\x81\xa6";
    (void)add_trial(f->archive, trial);
    assert_ok(ak_store_execute(f->archive, spoil, err));
    char *refused = NULL;
    assert_refused(ak_report(&refused, f->archive, NULL, "text", err), AK_CORRUPT,
                   "trial 2 is damaged");
    assert_ok(ak_store_execute(f->archive, repair, err));
    for (size_t i = 0; i < FORMATS; i++) {
        char *text = report_of(f->archive, NULL, formats[i]);
        assert_null(strstr(text, "\xe2\x80\xae"));
        assert_null(strstr(text, "\xe2\x81\xa6"));
        if (strcmp(formats[i], "text") == 0) {
            assert_non_null(strstr(text, "The default configuration failed (compile error): =1+2"));
        }
        if (strcmp(formats[i], "csv") == 0) {
            assert_non_null(strstr(text, ",reason,'=1+2"));
        }
        ak_text_free(text);
    }
    json_t *report = json_report(f->archive);
    assert_string_equal(json_string_value(at(at(report, "default"), "status")), "compile_error");
    assert_int_equal(json_array_size(at(report, "fastest")), 7);
    json_decref(report);
}

/* The seconds of all stages and the rest add up to those of the run. */
static void test_rest(void **state)
{
    static const char *const stages[] = {"propose", "compile",  "check",
                                         "measure", "overhead", "rest"};
    fixture *f = fixture_of(state);
    double sum = 0;
    fill(f->archive);
    end(f->archive);
    json_t *report = json_report(f->archive);
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        sum += json_number_value(at(at(report, "seconds"), stages[i]));
    }
    assert_true(fabs(sum - 12.5) < 1e-9);
    json_decref(report);
    char *text = report_of(f->archive, NULL, "text");
    assert_non_null(strstr(text, "  rest  "));
    ak_text_free(text);
}

/* No ratio is shown for the times of different tasks. */
static void test_other_tasks(void **state)
{
    fixture *f = fixture_of(state);
    char *text;
    json_t *object;
    fill(f->archive);
    ak_run run = literal_run("r1");
    run.kernel = (char *)"softmax";
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    ak_trial trial = literal_trial("MR=4,KC=64,cc=gcc", 8);
    trial.kernel = run.kernel;
    trial.run = run.id;
    (void)add_trial(f->archive, trial);
    assert_ok(ak_report_versus(&text, f->archive, "00112233445566aa", "r1", "json", err));
    assert_ok(ak_json_parse(&object, text, strlen(text), "versus", err));
    assert_true(json_is_null(at(object, "ratio")));
    assert_true(json_is_null(at(object, "ratio_ci")));
    assert_string_equal(json_string_value(at(object, "why_not")), "the kernels differ");
    json_decref(object);
    ak_text_free(text);
}

/* The record of a run may hold any JSON, and reports still work. */
static void test_odd_records(void **state)
{
    static const char *const odd[] = {
        "[]",
        "[null]",
        "{\"best\": 3, \"baseline\": [], \"contestants\": {}}",
        ("{\"best\": {\"config\": 5, \"ms\": \"x\", \"ci_ms\": {}}, "
         "\"contestants\": [1, {}], \"seconds\": \"long\"}"),
        "{\"best\": {}, \"contestants\": \"none\", \"warnings\": [5, \"busy\", {}]}",
        "{\"best\": {\"config\": \"of=another,run=1\", \"ms\": 1}}",
    };
    fixture *f = fixture_of(state);
    fill(f->archive);
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        char id[8], *text;
        (void)snprintf(id, sizeof id, "r%zu", i);
        ak_run run = literal_run(id);
        run.options_json = (char *)(uintptr_t)odd[i];
        run.environment = (char *)id;
        run.environment_json = run.options_json;
        run.result_json = run.options_json;
        assert_ok(ak_archive_add_run(f->archive, &run, err));
        for (size_t j = 0; j < FORMATS; j++) {
            assert_ok(ak_report(&text, f->archive, id, formats[j], err));
            ak_text_free(text);
        }
        json_t *report;
        assert_ok(ak_report(&text, f->archive, id, "json", err));
        assert_ok(ak_json_parse(&report, text, strlen(text), "report", err));
        assert_true(json_is_array(at(report, "finish")));
        assert_true(json_array_size(at(report, "warnings")) <= 1);
        json_decref(report);
        ak_text_free(text);
    }
}

/* Reports work with the least and the greatest figures that a record can hold, which no device
   has. */
static void test_wild_figures(void **state)
{
    static const char *const wild[] = {
        ("{\"best\": {\"config\": \"A=1\", \"ms\": 1, \"tflops\": 1e-310}, \"seconds\": 1e308, "
         "\"roofline\": {\"bound\": \"compute\", \"peak_tflops\": 1e-320, \"bandwidth_gbs\": "
         "1e308, "
         "\"intensity\": 1e308, \"tflops\": 1e-310, \"compute_utilisation\": 1e308}}"),
        ("{\"best\": {\"config\": \"A=1\", \"ms\": 1e308, \"tflops\": 1e-300}, \"roofline\": "
         "{\"bound\": \"compute\", \"peak_tflops\": 1e300, \"bandwidth_gbs\": 1e-300, "
         "\"intensity\": "
         "1e-300, \"tflops\": 1e-300}, \"contestants\": [{\"name\": \"a\", \"ms\": 1e-300, "
         "\"tflops\": 1e-300, \"ci_ms\": [9, 1]}]}"),
        ("{\"best\": {\"config\": \"A=1\", \"ms\": 1e-308, \"tflops\": 100}, \"roofline\": "
         "{\"bound\": \"compute\", \"peak_tflops\": 1, \"bandwidth_gbs\": 1, \"intensity\": 1, "
         "\"tflops\": 100}, \"contestants\": [{\"name\": \"a\", \"ms\": 1, \"tflops\": 1e308}]}"),
    };
    fixture *f = fixture_of(state);
    for (size_t i = 0; i < sizeof wild / sizeof wild[0]; i++) {
        char id[8], *text;
        (void)snprintf(id, sizeof id, "w%zu", i);
        ak_run run = literal_run(id);
        run.result_json = (char *)(uintptr_t)wild[i];
        assert_ok(ak_archive_add_run(f->archive, &run, err));
        static const double times[] = {1e308, 1.0, 1e-308};
        for (size_t k = 0; k < sizeof times / sizeof times[0]; k++) {
            ak_trial trial = literal_trial(k == 0 ? "A=1" : "A=2", times[k]);
            trial.tflops = 1e308 / (double)(1 + k);
            trial.run = run.id;
            (void)add_trial(f->archive, trial);
        }
        for (size_t j = 0; j < FORMATS; j++) {
            assert_ok(ak_report(&text, f->archive, id, formats[j], err));
            ak_text_free(text);
        }
    }
}

/* Times of imported trials are added up, however long they are said to have taken. */
static void test_endless_stages(void **state)
{
    fixture *f = fixture_of(state);
    ak_trial trial = literal_trial("A=1", 1.0);
    ak_run run = literal_run("endless");
    char *text;
    trial.run = run.id;
    trial.compile_ns = trial.measure_ns = INT64_MAX;
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    (void)add_trial(f->archive, trial);
    (void)add_trial(f->archive, trial);
    assert_ok(ak_report(&text, f->archive, run.id, "json", err));
    json_t *report = json_loads(text, 0, NULL);
    json_t *seconds = json_object_get(report, "seconds");
    assert_true(json_real_value(json_object_get(seconds, "compile")) > 18e9);
    assert_true(json_real_value(json_object_get(seconds, "measure")) > 18e9);
    json_decref(report);
    ak_text_free(text);
}

static void test_no_memory(void **state)
{
    fixture *f = fixture_of(state);
    fill(f->archive);
    end(f->archive);
    for (size_t i = 0; i < FORMATS; i++) {
        ak_status status = AK_NO_MEMORY;
        char *text = NULL;
        size_t nth;
        for (nth = 1; status != AK_OK && nth < NTH_MAX; nth++) {
            ak_alloc_fail_at(nth);
            status = ak_report(&text, f->archive, NULL, formats[i], NULL);
            ak_alloc_fail_at(0);
        }
        assert_int_equal(status, AK_OK);
        assert_true(nth > 50);
        ak_text_free(text);
    }
}

#define WITH_ARCHIVE(test)                                                                         \
    cmocka_unit_test_setup_teardown(test, fixture_open_archive, fixture_close)

int main(void)
{
    fixture_fail_json_too();
    const struct CMUnitTest tests[] = {
        WITH_ARCHIVE(test_model),
        WITH_ARCHIVE(test_unfinished),
        WITH_ARCHIVE(test_roofline_and_cost),
        WITH_ARCHIVE(test_many_sizes),
        WITH_ARCHIVE(test_alike_libraries),
        WITH_ARCHIVE(test_small_rates),
        WITH_ARCHIVE(test_cancelled),
        WITH_ARCHIVE(test_imported),
        WITH_ARCHIVE(test_empty_run),
        WITH_ARCHIVE(test_text),
        WITH_ARCHIVE(test_md),
        WITH_ARCHIVE(test_csv),
        WITH_ARCHIVE(test_html),
        cmocka_unit_test(test_limit_of_trials),
        cmocka_unit_test(test_open_changes),
        cmocka_unit_test(test_md_of_strange_notes),
        cmocka_unit_test(test_outcome_of_texts),
        WITH_ARCHIVE(test_resumed),
        WITH_ARCHIVE(test_failed_in_finish),
        WITH_ARCHIVE(test_changes),
        WITH_ARCHIVE(test_no_difference_in_words),
        WITH_ARCHIVE(test_wide_change_in_words),
        WITH_ARCHIVE(test_control_in_words),
        WITH_ARCHIVE(test_decided_in_words),
        WITH_ARCHIVE(test_failed_later),
        cmocka_unit_test(test_apart),
        WITH_ARCHIVE(test_versus),
        WITH_ARCHIVE(test_command_quoting),
        WITH_ARCHIVE(test_devices),
        WITH_ARCHIVE(test_recorded),
        WITH_ARCHIVE(test_hostile_rows),
        WITH_ARCHIVE(test_rest),
        WITH_ARCHIVE(test_other_tasks),
        WITH_ARCHIVE(test_odd_records),
        WITH_ARCHIVE(test_wild_figures),
        WITH_ARCHIVE(test_endless_stages),
        WITH_ARCHIVE(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
