/* test_latest.c: tests that times decide what is "latest", and not the order in which trials and
   runs were added: an older archive may be imported later. */
#include "archive_fixture.h"

#include "formats/format.h"
#include "recording/recording.h"

static const char *const days[] = {"2026-11-22T10:00:00.000Z", "2026-11-20T10:00:00.000Z"};

static ak_trial on_day(int day, const char *config, double ms)
{
    ak_trial trial = literal_trial(config, ms);
    trial.timestamp = (char *)(uintptr_t)days[day];
    trial.environment = (char *)(uintptr_t)(day == 0 ? "new" : "old");
    return trial;
}

/* The newer version of the kernel counts, although the older one was added later and was faster. */
static void the_latest_environment_counts(void **state)
{
    fixture *f = fixture_of(state);
    ak_trial best;
    trial_list list = {.count = 0};
    int64_t newer = add_trial(f->archive, on_day(0, "MR=4", 2.0));
    int64_t older = add_trial(f->archive, on_day(1, "MR=4", 1.0));
    assert_ok(ak_archive_best(&best, f->archive, NULL, err));
    assert_int_equal(best.id, newer);
    ak_trial_clear(&best);
    /* another implementation, of the older machine */
    ak_trial other = on_day(1, "MR=4", 0.5);
    other.implementation = (char *)"other";
    (void)add_trial(f->archive, other);
    assert_ok(ak_archive_best(&best, f->archive, NULL, err));
    assert_int_equal(best.id, newer);
    ak_trial_clear(&best);
    /* visitors, which keep the last that they see */
    const ak_archive_filter host = {.implementation = "host"};
    assert_ok(ak_archive_each(f->archive, &host, collect, &list, err));
    assert_int_equal(list.count, 2);
    assert_true(list.items[0].id == older && list.items[1].id == newer);
    list_clear(&list);
    char *text = NULL; /* of several trials of a configuration, the latest */
    assert_ok(ak_archive_export_text(&text, f->archive, &host, "kernel-tuner", err));
    assert_null(strstr(text, days[1]));
    ak_text_free(text);
}

/* An environment whose hash was renamed counts as one environment, in counts of the archive and
   when it is read as a recording. */
static void one_environment_of_two_hashes(void **state)
{
    fixture *f = fixture_of(state);
    bool renamed;
    size_t trials, environments;
    ak_recording *recording;
    (void)add_trial(f->archive, on_day(1, "MR=4", 1.0));
    (void)add_trial(f->archive, on_day(0, "MR=8", 2.0));
    for (size_t expected = 2; expected > 0; expected--) {
        assert_ok(ak_archive_count(&trials, &environments, f->archive, NULL, err));
        assert_true(trials == 2 && environments == expected);
        assert_ok(ak_recording_open(&recording, ak_archive_path(f->archive), err));
        assert_int_equal(recording->count, 3 - expected);
        ak_recording_close(recording);
        assert_ok(ak_archive_rename_environment(&renamed, f->archive, "old", "new", "{}", err));
    }
}

/* Trials on recordings are ordered by their position in the archive, because the clock of each run
   begins in 1970. */
static void recordings_have_no_time(void **state)
{
    fixture *f = fixture_of(state);
    ak_trial best, first = on_day(0, "MR=4", 1.0), second = on_day(1, "MR=4", 2.0);
    const ak_archive_filter sim = {.device = "sim"};
    first.device = second.device = (char *)"sim:a";
    first.timestamp = (char *)"1970-01-01T00:00:09.000Z";
    second.timestamp = (char *)"1970-01-01T00:00:01.000Z";
    (void)add_trial(f->archive, first);
    int64_t last = add_trial(f->archive, second);
    assert_ok(ak_archive_best(&best, f->archive, &sim, err));
    assert_int_equal(best.id, last);
    ak_trial_clear(&best);
}

static void add_run(ak_archive *archive, const char *id, const char *device, const char *started,
                    const char *ended, const char *result)
{
    ak_run run = literal_run(id);
    run.device = (char *)(uintptr_t)device;
    run.started = (char *)(uintptr_t)started;
    run.environment = (char *)"e";
    assert_ok(ak_archive_add_run(archive, &run, err));
    assert_ok(ak_archive_end_run(archive, id, ended, result, err));
}

static void assert_latest(ak_archive *archive, const char *id)
{
    ak_run run;
    assert_ok(ak_archive_get_run(&run, archive, NULL, err));
    assert_string_equal(run.id, id);
    ak_run_clear(&run);
}

#define TABLE(ms)                                                                                  \
    "{\"kernel\": \"matmul\", \"configs\": [{\"MR\": 4}], \"table\": {\"configs\": [0]}, "         \
    "\"sizes\": [{\"size\": \"M=1\", \"config\": 0, \"ms\": " ms "}]}"

static void runs_go_by_time(void **state)
{
    fixture *f = fixture_of(state);
    ak_archive *a = f->archive;
    /* a run over many sizes is added, begins before and ends after the run of its size */
    add_run(a, "aaaa", "host", "2026-11-22T10:00:01.000Z", "2026-11-22T10:00:02.000Z", "{}");
    add_run(a, "bbbb", "host", "2026-11-22T10:00:00.000Z", "2026-11-22T10:00:03.000Z", TABLE("5"));
    assert_latest(a, "bbbb");
    add_run(a, "cccc", "host", "2026-11-20T10:00:00.000Z", "2026-11-20T10:00:03.000Z", TABLE("7"));
    assert_latest(a, "bbbb");
    char *text = NULL;
    size_t matched = 0;
    assert_ok(ak_archive_export_text(&text, a, NULL, "dispatch", err));
    assert_non_null(strstr(text, "\"run\": \"bbbb\""));
    ak_text_free(text);
    ak_run like = literal_run("none"), found;
    bool there = false;
    like.environment = (char *)"e";
    static const char *const newest_first[] = {"bbbb", "aaaa", "cccc"};
    for (size_t i = 0; i < sizeof newest_first / sizeof newest_first[0]; i++) {
        assert_ok(ak_archive_ended_run(&there, &found, a, &like, i, err));
        assert_true(there);
        assert_string_equal(found.id, newest_first[i]);
        ak_run_clear(&found);
    }
    assert_ok(ak_archive_ended_run(&there, &found, a, &like, 3, err));
    assert_false(there);
    /* a run on a recording is as new as what was there when it was made */
    add_run(a, "dddd", "sim:x", "1970-01-01T00:00:00.000Z", "1970-01-01T00:00:09.000Z", "{}");
    assert_latest(a, "dddd");
    add_run(a, "eeee", "host", "2026-11-23T10:00:00.000Z", "2026-11-23T10:00:03.000Z", "{}");
    assert_latest(a, "eeee");
    assert_ok(ak_archive_runs_json(&text, &matched, a, &(ak_archive_filter){0}, err));
    const char *at = text;
    for (const char *const *id =
             (const char *const[]){"eeee", "dddd", "bbbb", "aaaa", "cccc", NULL};
         *id != NULL; id++) {
        at = strstr(at, *id);
        assert_non_null(at);
    }
    ak_text_free(text);
}

int main(void)
{
#define WITH_ARCHIVE(test)                                                                         \
    cmocka_unit_test_setup_teardown(test, fixture_open_archive, fixture_close)
    const struct CMUnitTest tests[] = {
        WITH_ARCHIVE(the_latest_environment_counts),
        WITH_ARCHIVE(one_environment_of_two_hashes),
        WITH_ARCHIVE(recordings_have_no_time),
        WITH_ARCHIVE(runs_go_by_time),
    };
    fixture_fail_json_too();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
