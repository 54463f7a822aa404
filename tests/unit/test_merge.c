/* test_merge.c: tests the merging of archives: everything is copied, but only once if it is merged
   again; conflicting ids are replaced; runs that have continued are updated. */
#include "archive_fixture.h"

#include "archive/field.h"
#include "archive/store.h"
#include "base/hash.h"

typedef struct world {
    fixture *f;
    ak_archive *other;
    char path[AK_PATH_MAX];
} world;

static int64_t ask(ak_archive *archive, const char *sql)
{
    int64_t number = -1;
    assert_ok(ak_store_ask(&number, archive, sql, err));
    return number;
}

static void open_other(world *w, void **state, const char *name)
{
    w->f = fixture_of(state);
    assert_ok(ak_fs_join(w->path, w->f->folder, name, err));
    assert_ok(ak_archive_open(&w->other, w->path, err));
}

static void put_run(ak_archive *archive, const char *id, const char *started, const char *size)
{
    const ak_run run = {.id = (char *)(uintptr_t)id,
                        .started = (char *)(uintptr_t)started,
                        .kernel = "k",
                        .implementation = "host",
                        .device = "host",
                        .size = (char *)(uintptr_t)size,
                        .dtype = "f32",
                        .choices = "",
                        .environment = "e1",
                        .environment_json = "{\"source\": \"s1\"}",
                        .options_json = "{\"seed\": 1}"};
    assert_ok(ak_archive_add_run(archive, &run, err));
}

static int64_t put_trial(ak_archive *archive, const char *run, const char *config, double ms,
                         int64_t parent)
{
    double samples[2] = {ms, ms};
    ak_trial trial = {.run = (char *)(uintptr_t)run,
                      .timestamp = ak_strdup("2026-11-22T10:00:00.000Z"),
                      .kernel = "k",
                      .implementation = "host",
                      .device = "host",
                      .size = "N=1",
                      .dtype = "f32",
                      .choices = "",
                      .config = (char *)(uintptr_t)config,
                      .environment = "e1",
                      .strategy = "random",
                      .status = AK_TRIAL_OK,
                      .median_ms = ms,
                      .samples_ms = samples,
                      .sample_count = 2,
                      .parent = parent};
    assert_ok(ak_archive_add_trial(archive, &trial, err));
    ak_free(trial.timestamp);
    return trial.id;
}

static void put_call(ak_archive *archive, const char *run)
{
    const ak_call call = {.run = (char *)(uintptr_t)run,
                          .started = "2026-11-22T10:00:01.000Z",
                          .model = "m",
                          .system = "s",
                          .brief = "b",
                          .state = "t",
                          .attempts = 1};
    assert_ok(ak_archive_add_call(archive, &call, err));
}

static void expect_merge(world *w, size_t added, size_t known)
{
    size_t got_added = 0, got_known = 0;
    assert_ok(ak_archive_import(&got_added, &got_known, w->f->archive, NULL, w->path, err));
    assert_int_equal(got_added, added);
    assert_int_equal(got_known, known);
}

/* Fills an archive with a run of two trials, one of which is the parent of the other, a result that
   names one of them, a call and sources. */
static void fill(ak_archive *archive)
{
    char result[160];
    ak_pack sources = {0};
    put_run(archive, "aaaaaaaaaaaaaaaa", "2026-11-22T10:00:00.000Z", "N=1");
    int64_t first = put_trial(archive, "aaaaaaaaaaaaaaaa", "A=1", 2.0, 0);
    int64_t second = put_trial(archive, "aaaaaaaaaaaaaaaa", "A=2", 1.0, first);
    (void)snprintf(result, sizeof result,
                   "{\"best\": {\"config\": {\"A\": 2}, \"ms\": 1.0, \"trial\": %lld}, \"run\": "
                   "\"aaaaaaaaaaaaaaaa\"}",
                   (long long)second);
    assert_ok(
        ak_archive_end_run(archive, "aaaaaaaaaaaaaaaa", "2026-11-22T10:01:00.000Z", result, err));
    put_call(archive, "aaaaaaaaaaaaaaaa");
    assert_ok(ak_pack_add(&sources, "k/problem.json", "{}", 2, err));
    assert_ok(ak_archive_keep_sources(archive, "s1", &sources, err));
    ak_pack_clear(&sources);
}

#define COUNT(table) "SELECT count(*) FROM " table

static void test_everything_comes(void **state)
{
    world w;
    open_other(&w, state, "other.db");
    fill(w.other);
    put_run(w.f->archive, "bbbbbbbbbbbbbbbb", "2026-11-22T09:00:00.000Z", "N=2");
    put_trial(w.f->archive, "bbbbbbbbbbbbbbbb", "A=1", 3.0, 0);
    expect_merge(&w, 2, 0);
    assert_int_equal(ask(w.f->archive, COUNT("runs")), 2);
    assert_int_equal(ask(w.f->archive, COUNT("trials")), 3);
    assert_int_equal(ask(w.f->archive, COUNT("calls")), 1);
    assert_int_equal(ask(w.f->archive, COUNT("sources")), 1);
    assert_int_equal(ask(w.f->archive, COUNT("environments WHERE words IS NOT NULL")), 1);
    /* ids are translated */
    assert_int_equal(ask(w.f->archive, "SELECT b.parent = a.id FROM trials a, trials b WHERE "
                                       "a.ms = 2 AND b.ms = 1"),
                     1);
    assert_int_equal(ask(w.f->archive, "SELECT json_extract (result, '$.best.trial') = t.id FROM "
                                       "runs, trials t WHERE t.ms = 1 AND result IS NOT NULL"),
                     1);
    assert_int_equal(ask(w.f->archive, COUNT("runs WHERE imported = 0 AND options IS NOT NULL")),
                     2);
    /* checksums are right: everything can be read again */
    ak_run run = {0};
    ak_trial best = {0};
    const ak_archive_filter filter = {.run = "aaaaaaaaaaaaaaaa"};
    assert_ok(ak_archive_best(&best, w.f->archive, &filter, err));
    assert_string_equal(best.config, "A=2");
    ak_trial_clear(&best);
    assert_ok(ak_archive_get_run(&run, w.f->archive, "aaaaaaaaaaaaaaaa", err));
    assert_string_equal(run.ended, "2026-11-22T10:01:00.000Z");
    ak_run_clear(&run);
    /* twice is once, and a third time as well */
    expect_merge(&w, 0, 2);
    expect_merge(&w, 0, 2);
    assert_int_equal(ask(w.f->archive, COUNT("runs")), 2);
    assert_int_equal(ask(w.f->archive, COUNT("calls")), 1);
    ak_archive_close(w.other);
}

/* A run that has ended here without a result stays ended, if the other archive has only what was
   kept of it while it ran. */
static void test_an_end_stays(void **state)
{
    world w;
    open_other(&w, state, "other.db");
    ak_archive *const archives[] = {w.f->archive, w.other};
    for (size_t i = 0; i < 2; i++) {
        put_run(archives[i], "aaaaaaaaaaaaaaaa", "2026-11-22T10:00:00.000Z", "N=1");
        put_trial(archives[i], "aaaaaaaaaaaaaaaa", "A=1", 2.0, 0);
        assert_ok(ak_archive_end_run(archives[i], "aaaaaaaaaaaaaaaa", "2026-11-22T10:01:00.000Z",
                                     "{\"warnings\": []}", err));
    }
    assert_int_equal(ask(w.f->archive, "UPDATE runs SET result = NULL, result_checksum = NULL "
                                       "RETURNING 1"),
                     1);
    assert_int_equal(ask(w.other, "UPDATE runs SET ended = NULL RETURNING 1"), 1);
    expect_merge(&w, 0, 1);
    assert_int_equal(
        ask(w.f->archive, COUNT("runs WHERE ended IS NOT NULL AND result IS NOT NULL")), 1);
    ak_run run = {0};
    assert_ok(ak_archive_get_run(&run, w.f->archive, "aaaaaaaaaaaaaaaa", err));
    ak_run_clear(&run);
    ak_archive_close(w.other);
}

/* A result that is nested as deeply as JSON may be here is copied like any other. */
static void test_a_deep_result_comes(void **state)
{
    world w;
    char deep[2 * AK_JSON_DEPTH_MAX + 16] = "{\"a\":", *text = NULL;
    size_t n = strlen(deep);
    memset(deep + n, '[', AK_JSON_DEPTH_MAX - 1);
    deep[n + AK_JSON_DEPTH_MAX - 1] = '1';
    memset(deep + n + AK_JSON_DEPTH_MAX, ']', AK_JSON_DEPTH_MAX - 1);
    deep[n + 2 * AK_JSON_DEPTH_MAX - 1] = '}';
    open_other(&w, state, "other.db");
    put_run(w.other, "aaaaaaaaaaaaaaaa", "2026-11-22T10:00:00.000Z", "N=1");
    assert_ok(
        ak_archive_end_run(w.other, "aaaaaaaaaaaaaaaa", "2026-11-22T10:01:00.000Z", deep, err));
    expect_merge(&w, 0, 0);
    ak_run run = {0};
    json_t *result = NULL;
    assert_ok(ak_archive_get_run(&run, w.f->archive, "aaaaaaaaaaaaaaaa", err));
    assert_ok(ak_json_parse_text(&result, run.result_json, "result", err));
    assert_ok(ak_json_text(&text, result, err));
    assert_string_equal(text, deep);
    ak_text_free(text);
    json_decref(result);
    ak_run_clear(&run);
    ak_archive_close(w.other);
}

/* A run that was merged while it ran is completed by the next merge. */
static void test_went_on(void **state)
{
    world w;
    open_other(&w, state, "other.db");
    put_run(w.other, "aaaaaaaaaaaaaaaa", "2026-11-22T10:00:00.000Z", "N=1");
    int64_t first = put_trial(w.other, "aaaaaaaaaaaaaaaa", "A=1", 2.0, 0);
    expect_merge(&w, 1, 0);
    put_trial(w.other, "aaaaaaaaaaaaaaaa", "A=2", 1.0, first);
    put_call(w.other, "aaaaaaaaaaaaaaaa");
    assert_ok(ak_archive_end_run(w.other, "aaaaaaaaaaaaaaaa", "2026-11-22T10:01:00.000Z",
                                 "{\"best\": null}", err));
    expect_merge(&w, 1, 1);
    assert_int_equal(
        ask(w.f->archive, COUNT("runs WHERE ended IS NOT NULL AND result IS NOT NULL")), 1);
    assert_int_equal(ask(w.f->archive, COUNT("calls")), 1);
    assert_int_equal(ask(w.f->archive, COUNT("trials WHERE parent IS NOT NULL")), 1);
    ak_archive_close(w.other);
}

/* A different run with the same id gets a new id, which is the same in every merge. */
static void test_conflict(void **state)
{
    world w;
    open_other(&w, state, "other.db");
    fill(w.other);
    put_run(w.f->archive, "aaaaaaaaaaaaaaaa", "2026-11-20T10:00:00.000Z", "N=7");
    put_trial(w.f->archive, "aaaaaaaaaaaaaaaa", "A=1", 5.0, 0);
    expect_merge(&w, 2, 0);
    expect_merge(&w, 0, 2);
    assert_int_equal(ask(w.f->archive, COUNT("runs")), 2);
    assert_int_equal(ask(w.f->archive, COUNT("trials WHERE run = 'aaaaaaaaaaaaaaaa'")), 1);
    assert_int_equal(
        ask(w.f->archive, COUNT("trials JOIN runs ON run = runs.id WHERE ended NOTNULL "
                                "AND runs.id <> 'aaaaaaaaaaaaaaaa'")),
        2);
    assert_int_equal(ask(w.f->archive, COUNT("runs WHERE json_extract (result, '$.run') = id")), 1);
    assert_int_equal(
        ask(w.f->archive, COUNT("calls JOIN runs ON run = runs.id WHERE ended NOTNULL")), 1);
    ak_archive_close(w.other);
}

/* Two runs on a recording that a language model led differently begin with one id and at one time.
   Each merge keeps them apart. */
static void test_same_start(void **state)
{
    static const char *const ends[] = {"1970-01-01T00:01:00.000Z", "1970-01-01T00:02:00.000Z",
                                       "1970-01-01T00:03:00.000Z"};
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
            world w;
            char name[32];
            (void)snprintf(name, sizeof name, "end-%d-%zu.db", again, i);
            open_other(&w, state, name);
            put_run(w.other, "aaaaaaaaaaaaaaaa", "1970-01-01T00:00:00.000Z", "N=1");
            put_trial(w.other, "aaaaaaaaaaaaaaaa", "A=1", 1.0 + (double)i, 0);
            assert_ok(ak_archive_end_run(w.other, "aaaaaaaaaaaaaaaa", ends[i], "{}", err));
            expect_merge(&w, again ? 0 : 1, again ? 1 : 0);
            assert_int_equal(ask(w.f->archive, COUNT("runs")), again ? 3 : (int)i + 1);
            ak_archive_close(w.other);
        }
    }
}

/* Many archives with equal trial ids can be merged. */
static void test_many(void **state)
{
    enum { ARCHIVES = 150, TRIALS = 3 };
    for (int i = 0; i < ARCHIVES; i++) {
        world w;
        char name[32], id[20], config[16];
        (void)snprintf(name, sizeof name, "job-%d.db", i);
        (void)snprintf(id, sizeof id, "%016d", i % 100); /* some conflict */
        open_other(&w, state, name);
        ak_store_execute(w.other, "PRAGMA synchronous = OFF", NULL);
        char started[32];
        (void)snprintf(started, sizeof started, "2026-11-22T10:00:00.%03dZ", i);
        put_run(w.other, id, started, "N=1");
        for (int k = 0; k < TRIALS; k++) {
            (void)snprintf(config, sizeof config, "A=%d", k);
            put_trial(w.other, id, config, 1.0 + k, 0);
        }
        expect_merge(&w, TRIALS, 0);
        ak_archive_close(w.other);
    }
    assert_int_equal(ask(fixture_of(state)->archive, COUNT("runs")), ARCHIVES);
    assert_int_equal(ask(fixture_of(state)->archive, COUNT("trials")), ARCHIVES * TRIALS);
}

/* A file is merged as a whole or not at all, and the error is one line. */
static void test_refused(void **state)
{
    world w;
    size_t added, known;
    open_other(&w, state, "other.db");
    fill(w.other);
    assert_refused(ak_archive_import(&added, &known, w.f->archive, NULL, w.f->path, err),
                   AK_INVALID, "is the archive itself");
    assert_refused(ak_archive_import(&added, &known, w.f->archive, "json", w.path, err), AK_INVALID,
                   "0 byte");
    assert_ok(ak_store_execute(w.other, "UPDATE trials SET ms = 0.5 WHERE ms = 1", err));
    assert_refused(ak_archive_import(&added, &known, w.f->archive, NULL, w.path, err), AK_CORRUPT,
                   "was changed after it was archived");
    assert_ok(ak_store_execute(w.other, "UPDATE trials SET ms = 1 WHERE ms = 0.5", err));
    assert_ok(
        ak_store_execute(w.other, "UPDATE runs SET result = replace(result, '1.0', '0.1')", err));
    assert_refused(ak_archive_import(&added, &known, w.f->archive, NULL, w.path, err), AK_CORRUPT,
                   "the result of run aaaaaaaaaaaaaaaa was changed after it was archived");
    assert_int_equal(ask(w.f->archive, COUNT("runs")), 0);
    assert_int_equal(ask(w.f->archive, COUNT("environments")), 0);
    ak_archive_close(w.other);
    assert_ok(ak_fs_write(w.path, "SQLite format 3\0 and no more", 28, err));
    assert_refused(ak_archive_import(&added, &known, w.f->archive, NULL, w.path, err), AK_CORRUPT,
                   "is not an archive");
}

static void forge(world *w, const char *sql)
{
    assert_ok(ak_store_change(w->other, sql, NULL, 0, err));
}

static void add_environment(world *w, const char *hash, const char *words, const char *same_as)
{
    const char *const texts[] = {hash, words, same_as};
    assert_ok(ak_store_change(w->other,
                              "INSERT INTO environments (hash, words, first_seen, same_as) VALUES "
                              "(?1, ?2, '2026', ?3)",
                              texts, 3, err));
}

/* Environments are what their hashes of 64 digits say, and those of two such hashes are never the
   same: another archive could give its results to an environment of ours. */
static void test_environments_are_their_hashes(void **state)
{
    world w;
    static const char words[] = "{\"driver\": \"1\", \"source\": \"s2\"}";
    static const char edited[] = "{\"driver\": \"1\", \"source\": \"s3\"}";
    char today[AK_HASH_BYTES], other[AK_HASH_BYTES];
    size_t added, known;
    open_other(&w, state, "other.db");
    fill(w.other);
    ak_hash_text(today, words, strlen(words));
    ak_hash_text(other, edited, strlen(edited));
    add_environment(&w, today, edited, NULL);
    assert_refused(ak_archive_import(&added, &known, w.f->archive, NULL, w.path, err), AK_CORRUPT,
                   "was changed after it was archived");
    assert_int_equal(ask(w.f->archive, COUNT("environments")), 0);
    forge(&w, "DELETE FROM environments WHERE length(hash) = 64");
    add_environment(&w, today, words, NULL);
    add_environment(&w, other, edited, today);
    add_environment(&w, "00000000000000000000000000000001", "{\"driver\": \"2\"}", today);
    add_environment(&w, "00000000000000000000000000000002", NULL, today);
    add_environment(&w, "00000000000000000000000000000003", edited, today);
    expect_merge(&w, 2, 0);
    assert_int_equal(ask(w.f->archive, COUNT("environments")), 6);
    assert_int_equal(ask(w.f->archive, COUNT("environments WHERE same_as IS NOT NULL")), 1);
    assert_int_equal(ask(w.f->archive, COUNT("environments WHERE same_as IS NOT NULL AND hash LIKE "
                                             "'%3'")),
                     1);
    ak_archive_close(w.other);
}

/* Files that another archive has under a hash make way for those of whoever opens the kernel. */
static void test_own_sources_replace_others(void **state)
{
    world w;
    ak_pack sources = {0}, kept = {0};
    open_other(&w, state, "other.db");
    fill(w.other);
    expect_merge(&w, 2, 0);
    assert_ok(ak_pack_add(&sources, "k/problem.json", "{} ", 3, err));
    assert_ok(ak_archive_keep_sources(w.f->archive, "s1", &sources, err));
    assert_ok(ak_archive_get_sources(&kept, w.f->archive, "s1", err));
    assert_int_equal(kept.files[0].length, 3);
    ak_pack_clear(&sources);
    ak_pack_clear(&kept);
    ak_archive_close(w.other);
}

/* Whether a row without a checksum was changed is not known; a merge and what follows leave it so.
 */
static void test_no_checksum_comes(void **state)
{
    world w;
    open_other(&w, state, "other.db");
    fill(w.other);
    forge(&w, "UPDATE trials SET checksum = NULL WHERE ms = 1");
    expect_merge(&w, 2, 0);
    assert_int_equal(ask(w.f->archive, "SELECT checksum IS NULL FROM trials WHERE ms = 1"), 1);
    assert_int_equal(ask(w.f->archive, "SELECT checksum IS NULL FROM trials WHERE ms = 2"), 0);
    const int64_t unsummed = ask(w.f->archive, "SELECT id FROM trials WHERE ms = 1");
    assert_ok(ak_archive_keep_code(w.f->archive, unsummed, "0123", err));
    assert_int_equal(ask(w.f->archive, COUNT("trials WHERE checksum IS NULL AND code_hash = "
                                             "'0123'")),
                     1);
    ak_archive_close(w.other);
}

/* A trial that is ok has a time, also if its checksum is right. */
static void test_no_time_comes(void **state)
{
    world w;
    char sql[160];
    bool found = false;
    ak_trial trial = {0};
    const ak_archive_filter one = {.id = 1};
    open_other(&w, state, "other.db");
    fill(w.other);
    assert_ok(ak_archive_first(&found, &trial, w.other, &one, err));
    trial.median_ms = 0;
    (void)snprintf(sql, sizeof sql, "UPDATE trials SET ms = NULL, checksum = %lld WHERE id = 1",
                   (long long)ak_trial_checksum(&trial));
    ak_trial_clear(&trial);
    forge(&w, sql);
    size_t added = 0, known = 0;
    assert_refused(ak_archive_import(&added, &known, w.f->archive, NULL, w.path, err), AK_INVALID,
                   "trial 1: the status is ok, but there is no time");
    assert_int_equal(ask(w.f->archive, COUNT("trials")), 0);
    ak_archive_close(w.other);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_open_archive, fixture_close)
    const struct CMUnitTest tests[] = {
        TEST(test_everything_comes),
        TEST(test_an_end_stays),
        TEST(test_went_on),
        TEST(test_conflict),
        TEST(test_same_start),
        TEST(test_many),
        TEST(test_refused),
        TEST(test_environments_are_their_hashes),
        TEST(test_a_deep_result_comes),
        TEST(test_own_sources_replace_others),
        TEST(test_no_checksum_comes),
        TEST(test_no_time_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
