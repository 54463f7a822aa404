/* test_archive.c: tests that the archive keeps its promises: no acknowledged trial is lost, no
   file of another program is touched, and every text is read back as it was written. */
#include "archive/overview.h"
#include "archive/store.h"
#include "archive_fixture.h"
#include "base/hash.h"
#include "formats/format.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- rows -------------------------------------------------------------------------------------
 */

static void test_round_trip(void **state)
{
    fixture *f = fixture_of(state);
    double samples[3];
    ak_run run = literal_run("00112233445566aa");
    run.environment = (char *)"ffeeddccbbaa99887766554433221100";
    run.environment_json = (char *)"{\"cpu\":\"a\"}";
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    ak_trial parent = literal_trial("MR=4", 2.0);
    int64_t parent_id = add_trial(f->archive, parent);
    ak_trial trial = full_trial(samples);
    trial.timestamp = (char *)"2999-11-21T10:54:22.123Z"; /* after its parent, which is of now */
    trial.parent = parent_id;
    int64_t id = add_trial(f->archive, trial);
    assert_true(id > parent_id);

    /* Through a new connection, as another program would see it. */
    ak_archive_close(f->archive);
    f->archive = NULL;
    assert_ok(ak_archive_open(&f->archive, f->path, err));
    trial_list list = {0};
    assert_ok(ak_archive_each(f->archive, NULL, collect, &list, err));
    assert_int_equal(list.count, 2);
    assert_int_equal(list.items[1].id, id);
    assert_int_equal(list.items[1].parent, parent_id);
    assert_same_trial(&list.items[1], &trial);
    assert_non_null(list.items[0].timestamp); /* filled in */
    assert_int_equal(list.items[0].parent, 0);
    assert_null(list.items[0].run);
    list_clear(&list);
}

static void no_file(void *context, const char *name, const char *data, size_t length)
{
    (void)context;
    (void)data;
    (void)length;
    fail_msg("a file %s", name);
}

/* If the source of an archived trial was not kept, the error says so and is not AK_NOT_FOUND. */
static void test_source_that_was_not_kept(void **state)
{
    fixture *f = fixture_of(state);
    ak_trial trial = literal_trial("MR=4", 2.0);
    trial.environment = (char *)"aa";
    int64_t id = add_trial(f->archive, trial);
    assert_refused(ak_archive_source(f->archive, id + 1, no_file, NULL, err), AK_NOT_FOUND,
                   "has no trial");
    assert_refused(ak_archive_source(f->archive, id, no_file, NULL, err), AK_UNAVAILABLE,
                   "nobody knows");
    ak_run run = literal_run("r1");
    run.environment = (char *)"aa";
    run.environment_json = (char *)"{\"source\":\"0123\"}";
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    assert_refused(ak_archive_source(f->archive, id, no_file, NULL, err), AK_UNAVAILABLE,
                   "did not keep");
}

static void test_environment_words(void **state)
{
    fixture *f = fixture_of(state);
    ak_trial trial = literal_trial("MR=4", 2.0);
    trial.environment = (char *)"aa";
    (void)add_trial(f->archive, trial); /* a hash without words */
    json_t *words;
    assert_ok(ak_archive_environment(&words, f->archive, "aa", err));
    assert_null(words);
    ak_run run = literal_run("r1");
    run.environment = (char *)"aa";
    run.environment_json = (char *)"{\"cpu\":\"x\"}";
    assert_ok(ak_archive_add_run(f->archive, &run, err)); /* brings them */
    run.id = (char *)"r2";
    run.environment_json = (char *)"{\"cpu\":\"other\"}";
    assert_ok(ak_archive_add_run(f->archive, &run, err)); /* and they stay */
    assert_ok(ak_archive_environment(&words, f->archive, "aa", err));
    assert_string_equal(ak_json_text_at(words, "cpu"), "x");
    json_decref(words);
    assert_ok(ak_archive_environment(&words, f->archive, "unknown", err));
    assert_null(words);
}

/* Words whose hash of 64 digits is another were changed by hand. */
static void test_environment_words_by_hand(void **state)
{
    fixture *f = fixture_of(state);
    char hash[AK_HASH_BYTES];
    json_t *words;
    ak_run run = literal_run("r1"), out;
    run.environment_json = (char *)"{\"cpu\":\"x\"}";
    ak_hash_text(hash, run.environment_json, strlen(run.environment_json));
    run.environment = hash;
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    assert_ok(ak_archive_environment(&words, f->archive, hash, err));
    json_decref(words);
    assert_ok(
        ak_store_execute(f->archive, "UPDATE environments SET words = '{\"cpu\":\"y\"}'", err));
    assert_refused(ak_archive_environment(&words, f->archive, hash, err), AK_CORRUPT,
                   "was changed after it was archived");
    assert_refused(ak_archive_get_run(&out, f->archive, "r1", err), AK_CORRUPT,
                   "was changed after it was archived");
}

static void test_runs_are_named_by_their_first_digits(void **state)
{
    fixture *f = fixture_of(state);
    static const char *const ids[] = {"abcd000000000001", "abcd000000000002", "abce", "r1"};
    for (size_t i = 0; i < AK_COUNT(ids); i++) {
        ak_run run = literal_run(ids[i]);
        assert_ok(ak_archive_add_run(f->archive, &run, err));
    }
    static const char *const named[][2] = {{"abcd000000000001", "abcd000000000001"},
                                           {"abcd000000000002", "abcd000000000002"},
                                           {"abce", "abce"},
                                           {"r1", "r1"}};
    for (size_t i = 0; i < AK_COUNT(named); i++) {
        char *id = NULL;
        assert_ok(ak_archive_find_run(&id, f->archive, named[i][0], err));
        assert_string_equal(id, named[i][1]);
        ak_text_free(id);
    }
    char *id = NULL;
    assert_refused(ak_archive_find_run(&id, f->archive, "abcd", err), AK_INVALID, "several runs");
    assert_refused(ak_archive_find_run(&id, f->archive, "abc", err), AK_NOT_FOUND, "--runs");
    assert_refused(ak_archive_find_run(&id, f->archive, "r", err), AK_NOT_FOUND, "no run r");
    assert_refused(ak_archive_find_run(&id, f->archive, "abcf", err), AK_NOT_FOUND, "abcf");
    ak_run run = literal_run("00ff000000000001");
    run.kernel = (char *)"other";
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    assert_ok(ak_archive_find_run(&id, f->archive, "00ff", err));
    assert_string_equal(id, run.id);
    ak_text_free(id);

    /* The list: newest first, with a limit, and what the filter selects. */
    char *text = NULL;
    size_t matched = 0;
    const ak_archive_filter two = {.limit = 2}, one = {.kernel = "other"};
    assert_ok(ak_archive_runs_json(&text, &matched, f->archive, &two, err));
    assert_int_equal(matched, 5);
    const char *newest = strstr(text, run.id), *next = strstr(text, "\"r1\"");
    assert_true(newest != NULL && next != NULL && newest < next);
    assert_null(strstr(text, "abce"));
    ak_text_free(text);
    assert_ok(ak_archive_runs_json(&text, &matched, f->archive, &one, err));
    assert_int_equal(matched, 1);
    ak_text_free(text);
}

static void test_runs(void **state)
{
    fixture *f = fixture_of(state);
    ak_run got;
    assert_refused(ak_archive_get_run(&got, f->archive, NULL, err), AK_NOT_FOUND, "tune");
    ak_run run = literal_run("r1");
    run.options_json = (char *)"{\"evaluations\": 60}";
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    assert_refused(ak_archive_add_run(f->archive, &run, err), AK_INVALID, "already");
    run.id = (char *)"r2";
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    assert_ok(ak_archive_get_run(&got, f->archive, NULL, err));
    assert_string_equal(got.id, "r2");
    assert_null(got.ended);
    assert_null(got.result_json);
    ak_run_clear(&got);
    assert_ok(ak_archive_end_run(f->archive, "r1", "2026-11-21T11:00:00.000Z", "{\"a\":1}", err));
    assert_ok(ak_archive_get_run(&got, f->archive, "r1", err));
    assert_string_equal(got.ended, "2026-11-21T11:00:00.000Z");
    assert_string_equal(got.result_json, "{\"a\":1}");
    assert_string_equal(got.options_json, "{\"evaluations\": 60}");
    assert_string_equal(got.kernel, "matmul");
    ak_run_clear(&got);
    assert_refused(ak_archive_end_run(f->archive, "r9", "x", NULL, err), AK_NOT_FOUND, "r9");
    assert_refused(ak_archive_end_run(f->archive, "r1", "x", "{oops", err), AK_INVALID, "result");
    assert_refused(ak_archive_get_run(&got, f->archive, "r9", err), AK_NOT_FOUND, "r9");
    run.id = (char *)"r3";
    run.options_json = (char *)"[";
    assert_refused(ak_archive_add_run(f->archive, &run, err), AK_INVALID, "options");
    run.options_json = NULL;
    run.kernel = NULL;
    assert_refused(ak_archive_add_run(f->archive, &run, err), AK_INVALID, "kernel");
    run = literal_run("r4");
    run.device = (char *)"\xff";
    assert_refused(ak_archive_add_run(f->archive, &run, err), AK_INVALID, "UTF-8");
}

static void test_filter(void **state)
{
    fixture *f = fixture_of(state);
    ak_trial trial = literal_trial("MR=4", 2.0);
    (void)add_trial(f->archive, trial);
    (void)add_trial(f->archive, literal_trial("MR=6", 1.0));
    (void)add_trial(f->archive, literal_trial("MR=8", 0));
    trial = literal_trial("MR=4", 3.0);
    trial.kernel = (char *)"softmax";
    trial.implementation = (char *)"portable";
    trial.device = (char *)"cuda:0";
    trial.size = (char *)"R=1";
    trial.dtype = (char *)"f64";
    trial.choices = (char *)"a=b";
    trial.environment = (char *)"ee";
    (void)add_trial(f->archive, trial);
    const struct {
        ak_archive_filter filter;
        size_t count;
    } cases[] = {
        {{0}, 4},
        {{.kernel = "matmul"}, 3},
        {{.kernel = "matmul", .ok_only = true}, 2},
        {{.kernel = "nothing"}, 0},
        {{.implementation = "portable"}, 1},
        {{.device = "host"}, 3},
        {{.size = "R=1"}, 1},
        {{.dtype = "f64"}, 1},
        {{.choices = "a=b"}, 1},
        {{.choices = ""}, 3},
        {{.environment = "ee"}, 1},
        {{.config = "MR=4"}, 2},
        {{.config = "MR=4", .kernel = "softmax", .device = "cuda:0"}, 1},
        {{.run = "r1"}, 0},
        {{.limit = 3}, 3},
        {{.ok_only = true, .limit = 100}, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t count;
        assert_int_equal(count_trials(f->archive, &cases[i].filter), cases[i].count);
        assert_ok(ak_archive_count(&count, NULL, f->archive, &cases[i].filter, err));
        assert_true(count == cases[i].count || cases[i].filter.limit == 3);
    }
    trial_list list = {0};
    ak_archive_filter best = {.best_first = true};
    assert_ok(ak_archive_each(f->archive, &best, collect, &list, err));
    assert_int_equal(list.count, 4);
    assert_true(list.items[0].median_ms == 1.0);
    assert_true(list.items[2].median_ms == 3.0);
    assert_int_equal(list.items[3].status, AK_TRIAL_COMPILE_ERROR); /* failures last */
    list_clear(&list);
}

static bool add_another(void *context, const ak_trial *trial)
{
    ak_trial copy;
    assert_ok(ak_trial_copy(&copy, trial, err));
    assert_ok(ak_archive_add_trial(context, &copy, err));
    ak_trial_clear(&copy);
    return true;
}

static bool stop_at_once(void *context, const ak_trial *trial)
{
    (void)count_one(context, trial);
    return false;
}

static void test_visitor(void **state)
{
    fixture *f = fixture_of(state);
    (void)add_trial(f->archive, literal_trial("MR=4", 2.0));
    (void)add_trial(f->archive, literal_trial("MR=6", 1.0));
    /* Adding while visiting ends, and shows each trial once. */
    assert_ok(ak_archive_each(f->archive, NULL, add_another, f->archive, err));
    assert_int_equal(count_trials(f->archive, NULL), 4);
    size_t seen = 0;
    assert_ok(ak_archive_each(f->archive, NULL, stop_at_once, &seen, err));
    assert_int_equal(seen, 1);
}

static void test_texts(void **state)
{
    static const char *const nasty[] = {
        "'; DROP TABLE trials; --",
        "\" OR 1=1",
        "a\nb\tc\r\n",
        "?1 ?2 :a @b $c %s %n",
        "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
        "",
        "{\"a\": [1,",
    };
    fixture *f = fixture_of(state);
    for (size_t i = 0; i < sizeof nasty / sizeof nasty[0]; i++) {
        ak_trial trial = literal_trial(nasty[i], 0);
        char *text = (char *)(uintptr_t)nasty[i];
        trial.reason = text;
        trial.size = text;
        trial.model = text;
        trial.environment = text;
        (void)add_trial(f->archive, trial);
        ak_archive_filter filter = {.config = nasty[i], .size = nasty[i], .environment = nasty[i]};
        trial_list list = {0};
        assert_ok(ak_archive_each(f->archive, &filter, collect, &list, err));
        assert_int_equal(list.count, 1);
        assert_string_equal(list.items[0].config, nasty[i]);
        assert_string_equal(list.items[0].reason, nasty[i]);
        list_clear(&list);
    }
}

static void test_bad_bytes(void **state)
{
    fixture *f = fixture_of(state);
    /* What a compiler said is kept as well as it can be; what identifies a trial must be clean. */
    ak_trial trial = literal_trial("MR=4", 0);
    trial.reason = (char *)"caf\xe9: \xc0\xaf \xed\xa0\x80 end";
    (void)add_trial(f->archive, trial);
    trial_list list = {0};
    assert_ok(ak_archive_each(f->archive, NULL, collect, &list, err));
    assert_string_equal(list.items[0].reason, "caf\xef\xbf\xbd: \xef\xbf\xbd\xef\xbf\xbd "
                                              "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd end");
    list_clear(&list);
    trial.config = (char *)"MR=\xff";
    assert_refused(ak_archive_add_trial(f->archive, &trial, err), AK_INVALID, "config");
    trial.config = (char *)"MR=4";
    trial.kernel = NULL;
    assert_refused(ak_archive_add_trial(f->archive, &trial, err), AK_INVALID, "kernel");
    trial = literal_trial("MR=4", 1);
    trial.tflops = (double)NAN;
    assert_refused(ak_archive_add_trial(f->archive, &trial, err), AK_INVALID, "tflops");
    char *long_text = ak_alloc(AK_TRIAL_TEXT_BYTES_MAX + 2, 1);
    memset(long_text, 'a', AK_TRIAL_TEXT_BYTES_MAX + 1);
    trial = literal_trial(long_text, 1);
    assert_refused(ak_archive_add_trial(f->archive, &trial, err), AK_LIMIT, "config");
    ak_free(long_text);
    assert_int_equal(count_trials(f->archive, NULL), 1);
}

static void test_dangling(void **state)
{
    fixture *f = fixture_of(state);
    ak_trial trial = literal_trial("MR=4", 1);
    trial.timestamp = (char *)"2026-11-21T10:54:22.123Z";
    trial.run = (char *)"nowhere";
    assert_refused(ak_archive_add_trial(f->archive, &trial, err), AK_INVALID, "nowhere");
    trial.run = NULL;
    trial.parent = 77;
    assert_refused(ak_archive_add_trial(f->archive, &trial, err), AK_INVALID, "77");
    trial.parent = 0;
    assert_ok(ak_archive_add_trial(f->archive, &trial, err)); /* the statement is usable again */
}

/* ---- the best ---------------------------------------------------------------------------------
 */

/* The best of several implementations is the fastest, not the one that was measured last. Each
   counts by its trials in its latest environment. */
static void test_best_of_implementations(void **state)
{
    static const struct {
        const char *implementation, *environment;
        double ms;
    } made[] = {{"quick", "e0", 0.5}, {"quick", "e1", 0.7}, {"slow", "e2", 0.9}};
    static const char *const environments[][2] = {{"e0", "{\"driver\":\"2\",\"source\":\"a\"}"},
                                                  {"e1", "{\"driver\":\"2\",\"source\":\"b\"}"},
                                                  {"e2", "{\"driver\":\"2\",\"source\":\"c\"}"},
                                                  {"e9", "{\"driver\":\"1\",\"source\":\"d\"}"}};
    fixture *f = fixture_of(state);
    ak_trial best;
    for (size_t i = 0; i < 4; i++) {
        ak_run run = literal_run(environments[i][0]);
        run.environment = (char *)(uintptr_t)environments[i][0];
        run.environment_json = (char *)(uintptr_t)environments[i][1];
        assert_ok(ak_archive_add_run(f->archive, &run, err));
    }
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        ak_trial trial = literal_trial("MR=4", made[i].ms);
        trial.implementation = (char *)(uintptr_t)made[i].implementation;
        trial.environment = (char *)(uintptr_t)made[i].environment;
        (void)add_trial(f->archive, trial);
    }
    assert_ok(ak_archive_best(&best, f->archive, NULL, err));
    assert_string_equal(best.implementation, "quick");
    assert_true(best.median_ms == 0.7);
    ak_trial_clear(&best);
    ak_trial stale = literal_trial("MR=4", 0.1); /* of another driver: it does not compete */
    stale.implementation = (char *)"stale";
    stale.environment = (char *)"e9";
    (void)add_trial(f->archive, stale);
    ak_trial fresh = literal_trial("MR=4", 0.95);
    fresh.implementation = (char *)"slow";
    fresh.environment = (char *)"e2";
    (void)add_trial(f->archive, fresh);
    assert_ok(ak_archive_best(&best, f->archive, NULL, err));
    assert_true(best.median_ms == 0.7);
    ak_trial_clear(&best);
    ak_archive_filter filter = {.implementation = "slow"};
    assert_ok(ak_archive_best(&best, f->archive, &filter, err));
    assert_true(best.median_ms == 0.9);
    ak_trial_clear(&best);
}

/* Each task has its own best, in the order in which the tasks first had a time. A task of which
   nothing holds has none. */
static void test_best_of_tasks(void **state)
{
    static const struct {
        const char *size, *config;
        double ms;
    } made[] = {
        {"N=7", "MR=4", 0.9}, {"N=5", "MR=4", 0.6}, {"N=7", "MR=6", 0.8}, {"N=9", "MR=4", 1}};
    fixture *f = fixture_of(state);
    ak_trials best = {0};
    assert_ok(ak_archive_best_of_tasks(&best, f->archive, NULL, err));
    assert_int_equal(best.count, 0);
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        ak_trial trial = literal_trial(made[i].config, made[i].ms);
        trial.size = (char *)(uintptr_t)made[i].size;
        (void)add_trial(f->archive, trial);
    }
    ak_trial wrong = literal_trial("MR=4", 0);
    wrong.size = (char *)"N=9";
    wrong.status = AK_TRIAL_WRONG_RESULT;
    (void)add_trial(f->archive, wrong);
    assert_ok(ak_archive_best_of_tasks(&best, f->archive, NULL, err));
    assert_int_equal(best.count, 2);
    assert_string_equal(best.list[0].size, "N=7");
    assert_string_equal(best.list[0].config, "MR=6");
    assert_string_equal(best.list[1].size, "N=5");
    ak_trials_clear(&best);
    ak_archive_filter filter = {.size = "N=5"};
    assert_ok(ak_archive_best_of_tasks(&best, f->archive, &filter, err));
    assert_int_equal(best.count, 1);
    assert_true(best.list[0].median_ms == 0.6);
    ak_trials_clear(&best);
    /* Tasks may differ in the end of a long text alone. */
    char choices[4000];
    memset(choices, 'x', sizeof choices);
    memcpy(choices, "a=", 2);
    choices[sizeof choices - 1] = 0;
    for (int i = 0; i < 2; i++) {
        ak_trial trial = literal_trial("MR=4", 1 + i);
        trial.size = (char *)"N=11";
        choices[sizeof choices - 2] = (char)('0' + i);
        trial.choices = choices;
        (void)add_trial(f->archive, trial);
    }
    filter.size = "N=11";
    assert_ok(ak_archive_best_of_tasks(&best, f->archive, &filter, err));
    assert_int_equal(best.count, 2);
    ak_trials_clear(&best);
}

/* A configuration that failed the check before the finish is not the best, although it passed the
   check of the search. */
static void test_what_failed_a_later_check_is_not_best(void **state)
{
    fixture *f = fixture_of(state);
    ak_trial best;
    (void)add_trial(f->archive, literal_trial("MR=4", 0.5));
    (void)add_trial(f->archive, literal_trial("MR=6", 0.7));
    ak_trial wrong = literal_trial("MR=4", 0);
    wrong.status = AK_TRIAL_WRONG_RESULT;
    (void)add_trial(f->archive, wrong);
    ak_trial hung = literal_trial("MR=8", 0);
    hung.status = AK_TRIAL_TIMED_OUT;
    (void)add_trial(f->archive, literal_trial("MR=8", 0.6));
    (void)add_trial(f->archive, hung); /* in the search the machine may have been busy */
    hung.strategy = (char *)AK_FINALISTS;
    hung.reason = (char *)AK_NOT_JUDGED "the machine was too busy";
    (void)add_trial(f->archive, hung);
    assert_ok(ak_archive_best(&best, f->archive, NULL, err));
    assert_string_equal(best.config, "MR=8");
    ak_trial_clear(&best);
    hung.reason = (char *)"no answer within 2 s, at N=7";
    (void)add_trial(f->archive, hung);
    assert_ok(ak_archive_best(&best, f->archive, NULL, err));
    assert_string_equal(best.config, "MR=6");
    ak_trial_clear(&best);
    wrong.config = (char *)"MR=6";
    wrong.status = AK_TRIAL_CRASHED;
    (void)add_trial(f->archive, wrong);
    assert_refused(ak_archive_best(&best, f->archive, NULL, err), AK_NOT_FOUND, "later check");
    /* Nor if it wins a finish: that also checks sizes drawn at random, which may all be right. */
    ak_run run = literal_run("r1");
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    assert_ok(ak_archive_end_run(f->archive, "r1", "2026-11-21T11:00:00.000Z",
                                 "{\"best\": {\"config\": \"MR=6\", \"ms\": 0.8}, "
                                 "\"contestants\": [{\"name\": \"tuned\", \"ms\": 0.8}]}",
                                 err));
    assert_refused(ak_archive_best(&best, f->archive, NULL, err), AK_NOT_FOUND, "later check");
}

static void test_best(void **state)
{
    fixture *f = fixture_of(state);
    ak_trial best;
    assert_refused(ak_archive_best(&best, f->archive, NULL, err), AK_NOT_FOUND, "tune");
    ak_run run = literal_run("r1");
    run.environment = (char *)"e1";
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    ak_trial trial = literal_trial("MR=4", 1.0);
    trial.environment = (char *)"e0"; /* faster, but in another environment, and older */
    trial.median_ms = 0.5;
    (void)add_trial(f->archive, trial);
    trial.environment = (char *)"e1";
    trial.run = (char *)"r1";
    trial.median_ms = 0.9;
    (void)add_trial(f->archive, trial);
    trial.config = (char *)"MR=6";
    trial.median_ms = 0.91;
    int64_t second = add_trial(f->archive, trial);
    assert_ok(ak_archive_best(&best, f->archive, NULL, err));
    assert_true(best.median_ms == 0.9);
    ak_trial_clear(&best);
    /* A run that was cancelled had no finish: its best is no more than a trial. */
    static const char *const cancelled[] = {
        "{\"stopped_by\": \"cancelled\", \"best\": {\"config\": \"MR=6\", \"ms\": 0.1}}",
        "{\"stopped_by\": \"cancelled\", \"best\": {\"config\": \"MR=6\", \"ms\": 0.1}, "
        "\"contestants\": []}",
    };
    for (size_t i = 0; i < sizeof cancelled / sizeof cancelled[0]; i++) {
        assert_ok(
            ak_archive_end_run(f->archive, "r1", "2026-11-21T11:00:00.000Z", cancelled[i], err));
        assert_ok(ak_archive_best(&best, f->archive, NULL, err));
        assert_true(best.median_ms == 0.9);
        ak_trial_clear(&best);
    }
    /* The finish of the run measured again, and found the second to be the faster one. */
    assert_ok(ak_archive_end_run(f->archive, "r1", "2026-11-21T11:00:00.000Z",
                                 "{\"best\": {\"config\": \"MR=6\", \"ms\": 0.95, "
                                 "\"ci_ms\": [0.94, 0.96], \"tflops\": 1.5}, "
                                 "\"contestants\": [{\"name\": \"cuBLASLt\", \"ms\": 0.97, "
                                 "\"sm_clock_mhz\": 1900}, {\"name\": \"equally fast\", "
                                 "\"config\": \"MR=4\", \"ms\": 0.95, \"sm_clock_mhz\": 1111}, "
                                 "{\"name\": \"tuned\", \"config\": \"MR=6\", \"ms\": 0.95, "
                                 "\"sm_clock_mhz\": 1755, \"throttle\": \"power_cap\"}], "
                                 "\"noise\": {\"candidates\": 3, \"seconds\": 2.1}}",
                                 err));
    assert_ok(ak_archive_best(&best, f->archive, NULL, err));
    assert_int_equal(best.id, second);
    assert_true(best.median_ms == 0.95 && best.ci_low_ms == 0.94 && best.tflops == 1.5);
    assert_true(best.sm_clock_mhz == 1755 && best.power_watts == 0);
    assert_string_equal(best.throttle, "power_cap");
    assert_true(best.finish_candidates == 3 && best.finish_seconds == 2.1);
    assert_true(best.search_ms == 0.91);
    ak_trial_clear(&best);
    ak_archive_filter old = {.environment = "e0"};
    assert_ok(ak_archive_best(&best, f->archive, &old, err));
    assert_true(best.median_ms == 0.5);
    ak_trial_clear(&best);
    /* Times of different tasks cannot be compared. */
    trial.size = (char *)"M=1,N=1,K=1";
    (void)add_trial(f->archive, trial);
    assert_refused(ak_archive_best(&best, f->archive, NULL, err), AK_INVALID, "size");
    ak_archive_filter small = {.size = "M=1,N=1,K=1"};
    assert_ok(ak_archive_best(&best, f->archive, &small, err));
    assert_string_equal(best.size, "M=1,N=1,K=1");
    ak_trial_clear(&best);
}

/* Ends a run with a finish in which `tuned` won with a time and a speed over the default, MR=1, and
   which measured MR=4 beside it. */
static void end_with(fixture *f, const char *id, const char *ended, const char *tuned, double ms,
                     const char *speed, double fourth_ms)
{
    char result[900];
    ak_run run = literal_run(id);
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    (void)snprintf(
        result, sizeof result,
        "{\"best\": {\"config\": \"%s\", \"ms\": %g, \"ci_ms\": [%g, %g]}, "
        "\"contestants\": [{\"name\": \"tuned\", \"config\": \"%s\", \"ms\": %g, "
        "\"over_default\": %s}, {\"name\": \"default\", \"config\": \"MR=1\", \"ms\": "
        "%g, \"over_default\": {\"ratio\": 1, \"ratio_ci\": [1, 1], \"verdict\": null}}, "
        "{\"name\": \"second finalist\", \"config\": \"MR=4\", \"ms\": %g}]}",
        tuned, ms, 0.99 * ms, 1.01 * ms, tuned, ms, speed, ms, fourth_ms);
    assert_ok(ak_archive_end_run(f->archive, id, ended, result, err));
}

static void assert_best(fixture *f, const char *config, double ms, const char *run)
{
    ak_trial best;
    assert_ok(ak_archive_best(&best, f->archive, NULL, err));
    assert_string_equal(best.config, config);
    assert_true(best.median_ms == ms);
    assert_string_equal(best.run, run);
    ak_trial_clear(&best);
}

/* The lowest of the times of several finishes is luck: a configuration counts as the latest finish
   measured it, and winners of different finishes are ordered by what these decided. */
static void test_best_of_several_finishes(void **state)
{
    static const char faster[] =
        "{\"ratio\": 1.3, \"ratio_ci\": [1.28, 1.32], \"verdict\": \"faster\"}";
    static const char tie[] = "{\"ratio\": 1.0, \"ratio_ci\": [0.99, 1.01], \"verdict\": \"tie\"}";
    fixture *f = fixture_of(state);
    static const char *const configs[] = {"MR=1", "MR=4", "MR=6", "MR=8"};
    for (size_t i = 0; i < 4; i++) {
        (void)add_trial(f->archive, literal_trial(configs[i], 2.0));
    }
    end_with(f, "r1", "2026-11-21T11:00:00.000Z", "MR=6", 0.7, faster, 0.9);
    assert_best(f, "MR=6", 0.7, "r1");
    /* The same configuration, measured again. */
    end_with(f, "r2", "2026-11-21T12:00:00.000Z", "MR=6", 0.8, faster, 0.9);
    assert_best(f, "MR=6", 0.8, "r2");
    /* An older finish may be added later. */
    end_with(f, "r0", "2026-11-21T10:00:00.000Z", "MR=6", 0.6, faster, 0.9);
    assert_best(f, "MR=6", 0.8, "r2");
    /* Another one in a faster hour, which is no faster than the default was then. */
    end_with(f, "r3", "2026-11-21T13:00:00.000Z", "MR=8", 0.75, tie, 0.9);
    assert_best(f, "MR=6", 0.8, "r2");
    /* One whose win another finish has refuted. */
    end_with(f, "r4", "2026-11-21T09:00:00.000Z", "MR=4", 0.5, faster, 0.5);
    assert_best(f, "MR=6", 0.8, "r2");
}

static bool refute(fixture *f, const char *config, ak_trial_status status, const char *reason)
{
    ak_trial trial = literal_trial(config, 0);
    bool refuted;
    trial.strategy = NULL;
    trial.status = status;
    trial.reason = (char *)(uintptr_t)reason;
    assert_ok(ak_archive_refute(&refuted, f->archive, &trial, err));
    ak_free(trial.strategy);
    ak_free(trial.timestamp);
    return refuted;
}

/* A configuration that won a finish and failed a check since is not the best, and that finish says
   nothing of those who lost to it. */
static void test_best_of_refuted_winners(void **state)
{
    static const char faster[] =
        "{\"ratio\": 1.3, \"ratio_ci\": [1.28, 1.32], \"verdict\": \"faster\"}";
    fixture *f = fixture_of(state);
    static const char *const configs[] = {"MR=1", "MR=4", "MR=6"};
    ak_archive_filter wrong = {.config = "MR=8"};
    for (size_t i = 0; i < 3; i++) {
        (void)add_trial(f->archive, literal_trial(configs[i], 2.0));
    }
    end_with(f, "r1", "2026-11-21T11:00:00.000Z", "MR=4", 0.8, faster, 0.8);
    end_with(f, "r2", "2026-11-21T12:00:00.000Z", "MR=6", 0.5, faster, 0.9);
    assert_best(f, "MR=6", 0.5, "r2");
    assert_false(refute(f, "MR=8", AK_TRIAL_WRONG_RESULT, "at M=7: wrong")); /* has no result */
    assert_int_equal(count_trials(f->archive, &wrong), 0);
    assert_false(refute(f, "MR=6", AK_TRIAL_TIMED_OUT, "not judged: the machine was busy"));
    assert_best(f, "MR=6", 0.5, "r2");
    assert_true(refute(f, "MR=6", AK_TRIAL_WRONG_RESULT, "at M=7: C[0]: got 0, expected 1"));
    assert_best(f, "MR=4", 0.8, "r1");
}

/* The best of a run that resumed may be a trial of an earlier run, and the run may have no trial of
   its own. */
static void test_best_of_a_run_that_resumed(void **state)
{
    fixture *f = fixture_of(state);
    char result[400];
    const ak_archive_filter of_second = {.run = "r2"}, of_third = {.run = "r3"};
    ak_trial best, good = literal_trial("MR=6", 0.7), bad = literal_trial("MR=4", 17);
    for (size_t i = 0; i < 3; i++) {
        ak_run run = literal_run(((const char *const[]){"r1", "r2", "r3"})[i]);
        assert_ok(ak_archive_add_run(f->archive, &run, err));
    }
    good.run = (char *)"r1";
    bad.run = (char *)"r2";
    int64_t first = add_trial(f->archive, good);
    (void)add_trial(f->archive, bad);
    assert_refused(ak_archive_best(&best, f->archive, &of_third, err), AK_NOT_FOUND, "no trial");
    (void)snprintf(result, sizeof result,
                   "{\"best\": {\"config\": \"MR=6\", \"ms\": 0.8, \"trial\": %lld}, "
                   "\"contestants\": [{\"name\": \"tuned\", \"ms\": 0.8}]}",
                   (long long)first);
    for (size_t i = 0; i < 2; i++) {
        const ak_archive_filter *filter = i == 0 ? &of_second : &of_third;
        assert_ok(
            ak_archive_end_run(f->archive, filter->run, "2026-11-21T11:00:00.000Z", result, err));
        assert_ok(ak_archive_best(&best, f->archive, filter, err));
        assert_string_equal(best.config, "MR=6");
        assert_true(best.median_ms == 0.8 && best.id == first);
        assert_string_equal(best.run, filter->run); /* whose finish it was */
        ak_trial_clear(&best);
    }
    assert_int_equal(count_trials(f->archive, &of_second), 1); /* those that it made */
}

/* Adds a run "many" over two sizes, one of which is that of the trial `like`. */
static void add_many(fixture *f, const ak_trial *like)
{
    char sizes[200];
    (void)snprintf(sizes, sizeof sizes, "%s;M=1,N=1,K=1", like->size);
    ak_run run = literal_run("many");
    run.size = sizes;
    run.environment = like->environment;
    assert_ok(ak_archive_add_run(f->archive, &run, err));
}

/* A run over many sizes compares all elites at each size. The winner of a size need not be the best
   of that size's own run. */
static void test_best_of_many_sizes(void **state)
{
    fixture *f = fixture_of(state);
    ak_trial best, own = literal_trial("MR=4", 0.8), other = literal_trial("MR=6", 0.9);
    other.gbs = 7;
    other.efficiency = 0.35;
    (void)add_trial(f->archive, own);
    (void)add_trial(f->archive, other);
    char result[700];
    (void)snprintf(result, sizeof result,
                   "{\"configs\": [{\"MR\": 4}, {\"MR\": 6}], \"sizes\": [{\"size\": "
                   "\"M=1,N=1,K=1\", \"winner\": 0, \"ms\": 0.1}, {\"size\": \"%s\", "
                   "\"run\": \"own\", \"winner\": 1, \"ms\": 0.7, \"library\": \"BLIS\", "
                   "\"library_ms\": 0.8, \"over_library\": {\"ratio\": 1.1, \"ratio_ci\": "
                   "[0.9, 1.4], \"verdict\": \"undecided\", \"undecided_because\": \"times "
                   "vary\"}}], \"warnings\": [\"busy\"]}",
                   own.size);
    add_many(f, &own);
    assert_ok(ak_archive_best(&best, f->archive, NULL, err));
    assert_string_equal(best.config, "MR=4");
    ak_trial_clear(&best);
    assert_ok(ak_archive_end_run(f->archive, "many", "2026-11-21T11:00:00.000Z", result, err));
    assert_ok(ak_archive_best(&best, f->archive, NULL, err));
    assert_string_equal(best.config, "MR=6");
    assert_true(best.median_ms == 0.7);
    /* The rates are those of this time, not of the trial's 0.9 ms. */
    assert_float_equal(best.gbs, 9, 1e-9);
    assert_float_equal(best.efficiency, 0.45, 1e-9);
    assert_float_equal(best.tflops, 1 / 0.7, 1e-9);
    /* It won in the run over many sizes, beside the library of that comparison. */
    assert_string_equal(best.run, "many");
    char *text;
    json_t *evidence;
    assert_ok(ak_archive_evidence(&text, f->archive, &best, err));
    assert_ok(ak_json_parse_text(&evidence, text, "evidence", err));
    const json_t *baseline = json_object_get(evidence, "baseline");
    assert_string_equal(ak_json_text_at(baseline, "name"), "BLIS");
    assert_true(ak_json_number_at(baseline, "ms") == 0.8);
    assert_string_equal(ak_json_text_at(baseline, "verdict"), "undecided");
    assert_string_equal(ak_json_text_at(evidence, "undecided"),
                        "Its speed is not decided against BLIS: times vary (0.900 to 1.400).");
    assert_int_equal(json_array_size(json_object_get(evidence, "warnings")), 1);
    json_decref(evidence);
    ak_text_free(text);
    ak_trial_clear(&best);
    /* The winner of the size's own run was measured again beside it, and lost. */
    const char *ids[] = {"own", "later"};
    for (size_t i = 0; i < 2; i++) {
        ak_run run = literal_run(ids[i]);
        run.environment = own.environment;
        assert_ok(ak_archive_add_run(f->archive, &run, err));
        assert_ok(ak_archive_end_run(f->archive, ids[i], "2026-11-21T11:00:00.000Z",
                                     "{\"best\": {\"config\": \"MR=4\", \"ms\": 0.6}, "
                                     "\"contestants\": [{\"name\": \"tuned\", \"ms\": 0.6}]}",
                                     err));
        assert_ok(ak_archive_best(&best, f->archive, NULL, err));
        assert_string_equal(best.config, i == 0 ? "MR=6" : "MR=4");
        ak_trial_clear(&best);
    }
}

/* Ids of runs are kept and compared whole, however long they are and whatever they hold: a run over
   many sizes that has measured the winner of one run again says nothing of another one. */
static void test_best_of_runs_with_long_ids(void **state)
{
    fixture *f = fixture_of(state);
    ak_trial own = literal_trial("MR=4", 0.8);
    char ids[2][160], result[500];
    for (int i = 0; i < 2; i++) {
        (void)snprintf(ids[i], sizeof ids[i], "%0120d %d", 0, i);
        const ak_run run = literal_run(ids[i]);
        assert_ok(ak_archive_add_run(f->archive, &run, err));
    }
    (void)add_trial(f->archive, own);
    (void)add_trial(f->archive, literal_trial("MR=6", 0.9));
    (void)snprintf(result, sizeof result,
                   "{\"configs\": [{\"MR\": 6}], \"sizes\": [{\"size\": \"%s\", \"run\": \"%s\", "
                   "\"winner\": 0, \"ms\": 0.7}]}",
                   own.size, ids[1]);
    own.environment = NULL;
    add_many(f, &own);
    assert_ok(ak_archive_end_run(f->archive, "many", "2026-11-21T12:00:00.000Z", result, err));
    assert_best(f, "MR=6", 0.7, "many");
    for (int i = 1; i >= 0; i--) {
        assert_ok(ak_archive_end_run(f->archive, ids[i], "2026-11-21T11:00:00.000Z",
                                     "{\"best\": {\"config\": \"MR=4\", \"ms\": 0.6}, "
                                     "\"contestants\": [{\"name\": \"tuned\", \"ms\": 0.6}]}",
                                     err));
        assert_best(f, i == 1 ? "MR=6" : "MR=4", i == 1 ? 0.7 : 0.6, i == 1 ? "many" : ids[i]);
    }
}

/* With another objective, the winner at a size is decided by its cost, not its time. */
static void test_best_of_many_sizes_by_cost(void **state)
{
    fixture *f = fixture_of(state);
    ak_trial best, one = literal_trial("MR=6", 0.9);
    char result[500];
    one.cost = one.cost_low = one.cost_high = 5;
    (void)add_trial(f->archive, one);
    (void)snprintf(result, sizeof result,
                   "{\"configs\": [{\"MR\": 6}], \"sizes\": [{\"size\": \"%s\", \"winner\": 0, "
                   "\"ms\": 0.7, \"cost\": 4}]}",
                   one.size);
    add_many(f, &one);
    assert_ok(ak_archive_end_run(f->archive, "many", "2026-11-21T11:00:00.000Z", result, err));
    assert_ok(ak_archive_best(&best, f->archive, NULL, err));
    assert_true(best.median_ms == 0.7 && best.cost == 4 && best.cost_low == 4);
    ak_trial_clear(&best);
}

/* ---- opening ----------------------------------------------------------------------------------
 */

static void test_paths(void **state)
{
    fixture *f = fixture_of(state);
    char deep[AK_PATH_MAX], data[AK_PATH_MAX];
    ak_archive *archive = NULL;
    assert_ok(ak_fs_join(deep, f->folder, "a/b/c.db", err));
    assert_refused(ak_archive_open(&archive, deep, err), AK_NOT_FOUND, "/a/b does not exist");
    assert_ok(ak_fs_join(data, f->folder, "a", err)); /* nor is any folder above it created */
    assert_false(ak_fs_is_folder(data));
    assert_ok(ak_fs_join(data, f->folder, "a/b", err));
    assert_ok(ak_fs_mkdirs(data, err));
    assert_ok(ak_archive_open(&archive, deep, err));
    assert_string_equal(ak_archive_path(archive), deep);
    ak_archive_close(archive);
    assert_true(ak_fs_is_file(deep));

    assert_int_equal(setenv("AUTOKERNEL_ARCHIVE", deep, 1), 0);
    assert_ok(ak_archive_open(&archive, NULL, err));
    assert_string_equal(ak_archive_path(archive), deep);
    ak_archive_close(archive);
    assert_ok(ak_archive_open(&archive, f->path, err)); /* the argument goes before it */
    assert_string_equal(ak_archive_path(archive), f->path);
    ak_archive_close(archive);
    assert_int_equal(unsetenv("AUTOKERNEL_ARCHIVE"), 0);

    assert_int_equal(setenv("XDG_DATA_HOME", f->folder, 1), 0);
    assert_ok(ak_fs_join(data, f->folder, "autokernel/archive.db", err));
    assert_ok(ak_archive_open(&archive, NULL, err)); /* creates the folder of the default place */
    assert_string_equal(ak_archive_path(archive), data);
    ak_archive_close(archive);
    assert_int_equal(unsetenv("XDG_DATA_HOME"), 0);

    /* Names to which SQLite gives a meaning are files like any other. */
    char here[AK_PATH_MAX];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(f->folder), 0);
    assert_ok(ak_archive_open(&archive, ":memory:", err));
    ak_archive_close(archive);
    assert_true(ak_fs_is_file(":memory:"));
    assert_ok(ak_archive_open(&archive, "file:x.db?mode=memory", err));
    ak_archive_close(archive);
    assert_true(ak_fs_is_file("file:x.db?mode=memory"));
    assert_int_equal(chdir(here), 0);
}

static void test_unusable_paths(void **state)
{
    fixture *f = fixture_of(state);
    ak_archive *archive;
    char under[AK_PATH_MAX];
    write_file(f->file, "text");
    assert_ok(ak_fs_join(under, f->file, "archive.db", err));
    assert_refused(ak_archive_open(&archive, under, err), AK_IO, "file");
    assert_refused(ak_archive_open(&archive, "", err), AK_INVALID, "empty");
    assert_refused(ak_archive_open(&archive, f->folder, err), AK_INVALID, "is not a file");
    assert_refused(ak_archive_open(&archive, "/dev/full", err), AK_INVALID, "is not a file");
    assert_refused(ak_archive_open(&archive, "/proc/archive.db", err), AK_IO, "/proc/archive.db");
    char *long_path = ak_alloc(AK_PATH_MAX + 2, 1);
    memset(long_path, 'a', AK_PATH_MAX + 1);
    assert_refused(ak_archive_open(&archive, long_path, err), AK_LIMIT, "choose a shorter one");
    ak_free(long_path);
    ak_archive_close(NULL);
}

/* Opening is refused with this status and message. The file keeps its bytes, and no other file
   appears beside it. */
static void assert_left_alone(fixture *f, ak_status wanted, const char *part)
{
    char *before, *after;
    size_t before_bytes, after_bytes;
    ak_archive *archive = NULL;
    AK_AT_END(ak_fs_names_free) ak_fs_names names = {0};
    assert_ok(ak_fs_read(&before, &before_bytes, f->path, 1 << 24, err));
    assert_refused(ak_archive_open(&archive, f->path, err), wanted, part);
    assert_null(archive);
    assert_ok(ak_fs_read(&after, &after_bytes, f->path, 1 << 24, err));
    assert_int_equal(before_bytes, after_bytes);
    assert_memory_equal(before, after, before_bytes);
    assert_ok(ak_fs_list(&names, f->folder, err));
    assert_int_equal(names.count, 1);
    ak_free(before);
    ak_free(after);
}

static void execute(const char *path, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void test_not_a_database(void **state)
{
    fixture *f = fixture_of(state);
    write_file(f->path, "kernel,ms\nmatmul,1\n");
    assert_left_alone(f, AK_CORRUPT, "is not an archive");
    char *large = ak_alloc(70000, 1);
    memset(large, 'x', 69999);
    write_file(f->path, large);
    ak_free(large);
    assert_left_alone(f, AK_CORRUPT, "is not an archive");
}

static void test_other_database(void **state)
{
    fixture *f = fixture_of(state);
    execute(f->path, "CREATE TABLE songs (title TEXT); INSERT INTO songs VALUES ('x')");
    assert_left_alone(f, AK_INVALID, "another program");
    execute(f->path, "PRAGMA application_id = 5; PRAGMA user_version = 1");
    assert_left_alone(f, AK_INVALID, "another program");
}

static void make_archive(fixture *f, size_t trials)
{
    ak_archive *archive;
    assert_ok(ak_archive_open(&archive, f->path, err));
    for (size_t i = 0; i < trials; i++) {
        (void)add_trial(archive, literal_trial("MR=4", 1));
    }
    ak_archive_close(archive);
}

static void test_newer_schema(void **state)
{
    fixture *f = fixture_of(state);
    make_archive(f, 1);
    execute(f->path, "PRAGMA user_version = 999");
    assert_left_alone(f, AK_INVALID, "newer");
    execute(f->path, "PRAGMA user_version = 0");
    assert_left_alone(f, AK_CORRUPT, "no schema version");
    execute(f->path, "PRAGMA user_version = 2; DROP TABLE trials");
    assert_left_alone(f, AK_CORRUPT, "damaged");
}

static void test_altered_rows(void **state)
{
    fixture *f = fixture_of(state);
    ak_archive *archive = NULL;
    ak_trial best, trial = literal_trial("MR=4", 1), broken = literal_trial("MR=6", 0);
    broken.status = AK_TRIAL_CRASHED;
    broken.reason = (char *)"not \xff UTF-8";
    broken.max_error = (double)NAN;
    assert_ok(ak_archive_open(&archive, f->path, err));
    (void)add_trial(archive, trial);
    (void)add_trial(archive, broken);
    assert_ok(ak_archive_best(&best, archive, NULL, err));
    ak_trial_clear(&best);
    const ak_archive_filter second = {.id = 2};
    assert_int_equal(count_trials(archive, &second), 1);
    ak_archive_close(archive);
    /* What is worked out again may change, and what is older has no checksum. */
    execute(f->path, "UPDATE trials SET efficiency = 0.5, bound = 'memory' WHERE id = 1");
    assert_ok(ak_archive_open(&archive, f->path, err));
    assert_int_equal(count_trials(archive, NULL), 2);
    ak_archive_close(archive);
    static const char *const changes[] = {"ms = 0.5",
                                          "config = 'MR=8'",
                                          "status = 'crashed'",
                                          "samples_ms = x'0000000000000000'",
                                          "run = NULL, model = 'x'",
                                          "compile_worker = 2"};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        char sql[200];
        (void)snprintf(
            sql, sizeof sql,
            "DROP TABLE IF EXISTS kept; CREATE TABLE kept AS SELECT * FROM trials WHERE id = "
            "1; UPDATE trials SET %s WHERE id = 1",
            changes[i]);
        execute(f->path, sql);
        assert_ok(ak_archive_open(&archive, f->path, err));
        size_t seen = 0;
        assert_refused(ak_archive_each(archive, NULL, count_one, &seen, err), AK_CORRUPT,
                       "trial 1 was changed");
        ak_archive_close(archive);
        execute(f->path, "DELETE FROM trials WHERE id = 1; INSERT INTO trials SELECT * FROM kept; "
                         "DROP TABLE kept");
    }
    execute(f->path, "UPDATE trials SET ms = 0.5, checksum = NULL WHERE id = 1");
    assert_ok(ak_archive_open(&archive, f->path, err));
    assert_ok(ak_archive_best(&best, archive, NULL, err));
    assert_true(best.median_ms == 0.5);
    ak_trial_clear(&best);
    ak_archive_close(archive);
    /* A row without a checksum is no way around what a trial must be. */
    static const char *const values[] = {"-1", "9e999", "-9e999"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char sql[100];
        size_t seen = 0;
        (void)snprintf(sql, sizeof sql, "UPDATE trials SET ms = %s, checksum = NULL WHERE id = 1",
                       values[i]);
        execute(f->path, sql);
        assert_ok(ak_archive_open(&archive, f->path, err));
        assert_refused(ak_archive_each(archive, NULL, count_one, &seen, err), AK_CORRUPT,
                       "trial 1 is damaged: its \"ms\" is");
        ak_archive_close(archive);
    }
}

/* An archive that cannot be written, because of its folder or its owner, can be read. */
static void test_read_only(void **state)
{
    fixture *f = fixture_of(state);
    ak_archive *archive = NULL;
    char folder[AK_PATH_MAX];
    make_archive(f, 2);
    (void)snprintf(folder, sizeof folder, "%s", f->path);
    *strrchr(folder, '/') = 0;
    const bool root = geteuid() == 0;
    for (int older = 0; older < 2; older++) {
        if (older) {
            execute(f->path,
                    "ALTER TABLE trials DROP COLUMN checksum; ALTER TABLE trials DROP COLUMN "
                    "compile_worker; ALTER TABLE trials DROP COLUMN compiled_before_ns; "
                    "ALTER TABLE trials DROP COLUMN joules; ALTER TABLE trials DROP COLUMN "
                    "joules_low; ALTER TABLE trials DROP COLUMN joules_high; ALTER TABLE trials "
                    "DROP COLUMN code_bytes; ALTER TABLE trials DROP COLUMN cost; ALTER TABLE "
                    "trials DROP COLUMN cost_low; ALTER TABLE trials DROP COLUMN cost_high; "
                    "ALTER TABLE trials DROP COLUMN code_hash; ALTER TABLE trials DROP COLUMN "
                    "same_code; ALTER TABLE trials DROP COLUMN imported; "
                    "ALTER TABLE runs DROP COLUMN result_checksum; "
                    "ALTER TABLE environments DROP "
                    "COLUMN same_as; PRAGMA user_version = 3");
        }
        assert_int_equal(chmod(f->path, 0444), 0);
        assert_int_equal(chmod(folder, 0555), 0);
        assert_true(!root || seteuid(65534) == 0);
        ak_error why = AK_ERROR_INIT;
        ak_status read = ak_archive_open_existing(&archive, f->path, &why);
        ak_archive *other = NULL;
        ak_error refused = AK_ERROR_INIT;
        ak_status written = ak_archive_open(&other, f->path, &refused);
        assert_true(!root || seteuid(0) == 0);
        if (read != AK_OK) {
            fail_msg("%s", why.text);
        }
        assert_int_equal(count_trials(archive, NULL), 2);
        ak_archive_close(archive);
        assert_true(written != AK_OK);
        assert_non_null(strstr(refused.text, f->path));
        assert_int_equal(chmod(folder, 0755), 0);
        assert_int_equal(chmod(f->path, 0644), 0);
    }
    char wal[AK_PATH_MAX + 8];
    (void)snprintf(wal, sizeof wal, "%s-wal", f->path);
    assert_int_not_equal(access(wal, F_OK), 0); /* nothing was left beside it */
}

static bool count_run(void *context, const ak_overview_run *run)
{
    *(size_t *)context += run->has_result;
    return true;
}

/* A result that was changed in the file is refused wherever it is read, also after a trial of the
   run was removed. Results from before schema 11 have no checksum and are read. */
static void changed_results_are_refused(void **state)
{
    static const char *const changes[] = {
        "UPDATE runs SET result = replace(result, '0.5', '0.1')",
        "UPDATE runs SET size = 'N=2'",
        "UPDATE runs SET result = NULL",
    };
    fixture *f = fixture_of(state);
    ak_run run = literal_run("r1");
    ak_removal removal;
    size_t count = 0;
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    ak_trial trial = literal_trial("MR=4", 2.0);
    trial.run = (char *)"r1";
    add_trial(f->archive, trial);
    assert_ok(ak_archive_end_run(f->archive, "r1", "2026-11-21T11:00:00.000Z",
                                 "{\"best\": {\"ms\": 0.5, \"trial\": 1}}", err));
    assert_ok(ak_archive_remove(&removal, f->archive, "#1", true, err));
    assert_ok(ak_archive_get_run(&run, f->archive, "r1", err));
    assert_non_null(strstr(run.result_json, "0.5,\"trial\":null"));
    ak_run_clear(&run);
    assert_ok(ak_store_execute(f->archive, "CREATE TABLE kept AS SELECT * FROM runs", err));
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        assert_ok(ak_store_execute(f->archive, changes[i], err));
        assert_refused(ak_archive_get_run(&run, f->archive, "r1", err), AK_CORRUPT,
                       "the result of run r1 was changed");
        assert_refused(ak_archive_runs_since(f->archive, 0, count_run, &count, err), AK_CORRUPT,
                       "the result of run r1 was changed");
        assert_ok(ak_store_execute(f->archive, "UPDATE runs SET result_checksum = NULL", err));
        assert_ok(ak_archive_get_run(&run, f->archive, "r1", err));
        ak_run_clear(&run);
        assert_ok(ak_store_execute(f->archive,
                                   "DELETE FROM runs; INSERT INTO runs SELECT * FROM kept", err));
    }
    assert_ok(ak_archive_runs_since(f->archive, 0, count_run, &count, err));
    assert_int_equal(count, 1);
}

/* Gives the tables the form that they had in version 1 of the schema. */
static void go_back_to_version_1(const char *path)
{
    execute(path, "DROP TABLE calls; ALTER TABLE trials DROP COLUMN hypothesis; "
                  "ALTER TABLE trials DROP COLUMN measured_on; "
                  "ALTER TABLE trials DROP COLUMN device_uuid; "
                  "ALTER TABLE trials DROP COLUMN sm_clock_mhz; "
                  "ALTER TABLE trials DROP COLUMN memory_clock_mhz; "
                  "ALTER TABLE trials DROP COLUMN power_watts; "
                  "ALTER TABLE trials DROP COLUMN temperature_celsius; "
                  "ALTER TABLE trials DROP COLUMN throttle; "
                  "ALTER TABLE trials DROP COLUMN utilisation; "
                  "ALTER TABLE trials DROP COLUMN checksum; "
                  "ALTER TABLE trials DROP COLUMN compile_worker; "
                  "ALTER TABLE trials DROP COLUMN compiled_before_ns; "
                  "ALTER TABLE trials DROP COLUMN joules; "
                  "ALTER TABLE trials DROP COLUMN joules_low; "
                  "ALTER TABLE trials DROP COLUMN joules_high; "
                  "ALTER TABLE trials DROP COLUMN code_bytes; "
                  "ALTER TABLE trials DROP COLUMN cost; "
                  "ALTER TABLE trials DROP COLUMN cost_low; "
                  "ALTER TABLE trials DROP COLUMN cost_high; "
                  "ALTER TABLE trials DROP COLUMN code_hash; "
                  "ALTER TABLE trials DROP COLUMN same_code; "
                  "ALTER TABLE trials DROP COLUMN imported; "
                  "ALTER TABLE runs DROP COLUMN result_checksum; "
                  "ALTER TABLE environments DROP COLUMN same_as; "
                  "PRAGMA user_version = 1");
}

static bool count_calls(void *context, const ak_call *call)
{
    size_t *count = context;
    assert_string_equal(call->run, "0123456789abcdef");
    assert_string_equal(call->model, "openai:gpt-5");
    assert_string_equal(call->state, "# State");
    assert_true(call->generation == (int)*count + 1);
    if (*count == 0) {
        assert_string_equal(call->reply, "odd \xef\xbf\xbd bytes");
        assert_null(call->error);
        assert_true(call->priced && call->cost_usd == 0.25 && call->input_tokens == 1234);
    } else {
        assert_null(call->reply);
        assert_string_equal(call->fault, "key");
        assert_false(call->priced);
    }
    (*count)++;
    return true;
}

static void add_calls(ak_archive *archive)
{
    ak_run run = {.id = "0123456789abcdef", .started = "2026-01-01T00:00:00.000Z", .kernel = "k"};
    ak_call call = {.run = run.id,
                    .generation = 1,
                    .model = "openai:gpt-5",
                    .system = "s",
                    .brief = "b",
                    .state = "# State",
                    .reply = "odd \xff bytes",
                    .proposals = "[]",
                    .input_tokens = 1234,
                    .priced = true,
                    .cost_usd = 0.25};
    assert_ok(ak_archive_add_run(archive, &run, err));
    assert_ok(ak_archive_add_call(archive, &call, err));
    call.generation = 2;
    call.reply = NULL;
    call.priced = false;
    call.fault = "key";
    call.error = "401";
    assert_ok(ak_archive_add_call(archive, &call, err));
    call.run = "no such run";
    assert_refused(ak_archive_add_call(archive, &call, err), AK_INVALID, "cannot be written");
}

/* An archive of an older autokernel is converted to the present schema without loss. */
static void test_migration(void **state)
{
    fixture *f = fixture_of(state);
    size_t calls = 0;
    make_archive(f, 3);
    go_back_to_version_1(f->path);
    ak_archive *archive;
    assert_ok(ak_archive_open(&archive, f->path, err));
    assert_int_equal(count_trials(archive, NULL), 3);
    ak_trial trial = literal_trial("MR=5", 1);
    trial.hypothesis = "because";
    (void)add_trial(archive, trial);
    add_calls(archive);
    assert_ok(ak_archive_each_call(archive, NULL, count_calls, &calls, err));
    assert_int_equal(calls, 2);
    assert_ok(ak_archive_each_call(archive, "other", count_calls, &calls, err));
    assert_int_equal(calls, 2);
    ak_archive_close(archive);
    assert_ok(ak_archive_open(&archive, f->path, err)); /* and is so from now on */
    ak_archive_close(archive);
}

/* If a newer autokernel was killed, its write-ahead log must be left as it is: opening is
   refused. */
static void test_newer_schema_with_log(void **state)
{
    fixture *f = fixture_of(state);
    char log[AK_PATH_MAX + 8];
    make_archive(f, 1);
    pid_t child = fork();
    if (child == 0) {
        sqlite3 *db;
        (void)sqlite3_open(f->path, &db);
        (void)sqlite3_exec(db, "PRAGMA user_version = 999", NULL, NULL, NULL);
        _exit(0); /* without closing */
    }
    int ended;
    assert_int_equal(waitpid(child, &ended, 0), child);
    (void)snprintf(log, sizeof log, "%s-wal", f->path);
    assert_true(ak_fs_is_file(log));
    char *before, *after;
    size_t before_bytes, after_bytes;
    ak_archive *archive = NULL;
    assert_ok(ak_fs_read(&before, &before_bytes, f->path, 1 << 24, err));
    assert_refused(ak_archive_open(&archive, f->path, err), AK_INVALID, "newer");
    assert_ok(ak_fs_read(&after, &after_bytes, f->path, 1 << 24, err));
    assert_int_equal(before_bytes, after_bytes);
    assert_memory_equal(before, after, before_bytes);
    assert_true(ak_fs_is_file(log));
    ak_free(before);
    ak_free(after);
}

static void test_damaged(void **state)
{
    fixture *f = fixture_of(state);
    make_archive(f, 200);
    char *bytes;
    size_t count;
    assert_ok(ak_fs_read(&bytes, &count, f->path, 1 << 24, err));
    assert_true(count > 8 * 4096);
    for (size_t page = 1; page * 4096 < count; page++) {
        char kept[4096];
        memcpy(kept, bytes + page * 4096, sizeof kept);
        memset(bytes + page * 4096, 0xa5, sizeof kept);
        assert_ok(ak_fs_write(f->path, bytes, count, err));
        assert_left_alone(f, AK_CORRUPT, "damaged");
        memcpy(bytes + page * 4096, kept, sizeof kept);
    }
    assert_ok(ak_fs_write(f->path, bytes, count / 2, err)); /* cut in half */
    assert_left_alone(f, AK_CORRUPT, "damaged");
    assert_ok(ak_fs_write(f->path, bytes, count, err));
    ak_archive *archive;
    assert_ok(ak_archive_open(&archive, f->path, err)); /* whole again */
    assert_int_equal(count_trials(archive, NULL), 200);
    ak_archive_close(archive);
    ak_free(bytes);
}

/* Rows with values that STRICT tables allow but that make no sense, such as an unknown status or
   samples that are no numbers. */
static void test_hostile_rows(void **state)
{
    fixture *f = fixture_of(state);
    make_archive(f, 1);
    ak_archive *archive;
    size_t count = 0;
    execute(f->path, "UPDATE trials SET status = 'fine'");
    assert_ok(ak_archive_open(&archive, f->path, err));
    assert_refused(ak_archive_each(archive, NULL, count_one, &count, err), AK_CORRUPT, "fine");
    ak_archive_close(archive);
    execute(f->path, "UPDATE trials SET status = 'ok', samples_ms = x'0102030405'");
    assert_ok(ak_archive_open(&archive, f->path, err));
    assert_refused(ak_archive_each(archive, NULL, count_one, &count, err), AK_CORRUPT, "samples");
    ak_archive_close(archive);
    /* A trigger in a crafted file is not run. */
    execute(f->path, "UPDATE trials SET samples_ms = NULL; CREATE TRIGGER evil AFTER INSERT ON "
                     "trials BEGIN DELETE FROM trials; END");
    assert_ok(ak_archive_open(&archive, f->path, err));
    (void)add_trial(archive, literal_trial("MR=4", 1));
    assert_int_equal(count_trials(archive, NULL), 2);
    ak_archive_close(archive);
}

/* ---- several processes, and death -------------------------------------------------------------
 */

/* Runs in a child process: adds trials without end and acknowledges each on the pipe. */
static void add_for_ever(const char *path, int fd, size_t limit)
{
    ak_archive *archive;
    if (ak_archive_open(&archive, path, NULL) != AK_OK) {
        _exit(2);
    }
    for (size_t i = 0; limit == 0 || i < limit; i++) {
        ak_trial trial = literal_trial("MR=4", 1);
        if (ak_archive_add_trial(archive, &trial, NULL) != AK_OK || write(fd, "+", 1) != 1) {
            _exit(3);
        }
        ak_free(trial.timestamp);
    }
    ak_archive_close(archive);
    _exit(0);
}

static void assert_sound(ak_archive *archive, const char *path)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    (void)archive;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(statement, 0), "ok");
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
}

static void test_killed(void **state)
{
    fixture *f = fixture_of(state);
    size_t acknowledged = 0;
    for (int round = 0; round < 12; round++) {
        int pipes[2];
        assert_int_equal(pipe(pipes), 0);
        pid_t child = fork();
        if (child == 0) {
            add_for_ever(f->path, pipes[1], 0);
        }
        (void)close(pipes[1]);
        /* Killed after so many acknowledgements, that is somewhere in the next trial. The first
           rounds hit the creation of the archive. */
        for (int i = 0; i < round * 3; i++) {
            char c;
            assert_int_equal(read(pipes[0], &c, 1), 1);
            acknowledged++;
        }
        assert_int_equal(kill(child, SIGKILL), 0);
        int ended;
        assert_int_equal(waitpid(child, &ended, 0), child);
        assert_true(WIFSIGNALED(ended));
        char rest[4096];
        ssize_t more = read(pipes[0], rest, sizeof rest);
        assert_true(more >= 0);
        acknowledged += (size_t)more;
        (void)close(pipes[0]);
        ak_archive *archive;
        assert_ok(ak_archive_open(&archive, f->path, err));
        size_t kept = count_trials(archive, NULL);
        /* Of each round at most one trial was durable but not yet acknowledged. */
        assert_in_range(kept, acknowledged, acknowledged + (size_t)round + 1);
        assert_sound(archive, f->path);
        ak_archive_close(archive);
    }
    assert_true(acknowledged >= 3 * 66);
}

static void test_several_processes(void **state)
{
    enum { PROCESSES = 4, EACH = 40 };
    fixture *f = fixture_of(state);
    pid_t children[PROCESSES];
    int null_pipes[2];
    assert_int_equal(pipe(null_pipes), 0);
    for (int i = 0; i < PROCESSES; i++) { /* all of them find that there is no archive yet */
        children[i] = fork();
        if (children[i] == 0) {
            add_for_ever(f->path, null_pipes[1], EACH);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int ended;
        assert_int_equal(waitpid(children[i], &ended, 0), children[i]);
        assert_true(WIFEXITED(ended));
        assert_int_equal(WEXITSTATUS(ended), 0);
    }
    (void)close(null_pipes[0]);
    (void)close(null_pipes[1]);
    ak_archive *archive;
    assert_ok(ak_archive_open(&archive, f->path, err));
    assert_int_equal(count_trials(archive, NULL), PROCESSES * EACH);
    assert_sound(archive, f->path);
    ak_archive_close(archive);
}

/* ---- failing memory and failing disks ---------------------------------------------------------
 */

/* Writes and reads a run and a trial with all members set. Returns true if all calls succeeded. */
static bool use_everything(const char *path)
{
    ak_archive *archive = NULL;
    ak_error err = AK_ERROR_INIT;
    double samples[3];
    ak_trial trial = full_trial(samples), best = {0};
    ak_run run = literal_run("00112233445566aa"), got = {0};
    trial.reason = (char *)"\xff";
    run.environment = trial.environment;
    run.choices = trial.choices;
    run.environment_json = (char *)"{}";
    run.result_json = (char *)"{\"best\": {\"config\": \"MR=6,KC=256,fast=True,alpha=0.1,"
                              "compiler=gcc\", \"ms\": 1}}";
    size_t count = 0;
    bool good = ak_archive_open(&archive, path, &err) == AK_OK &&
                ak_archive_add_run(archive, &run, &err) == AK_OK &&
                ak_archive_add_trial(archive, &trial, &err) == AK_OK &&
                ak_archive_get_run(&got, archive, NULL, &err) == AK_OK &&
                ak_archive_each(archive, NULL, count_one, &count, &err) == AK_OK && count == 1 &&
                ak_archive_best(&best, archive, NULL, &err) == AK_OK;
    if (!good) {
        assert_int_not_equal(err.status, AK_OK);
        assert_true(err.text[0] != 0);
    }
    ak_trial_clear(&best);
    ak_run_clear(&got);
    ak_archive_close(archive);
    return good;
}

static void remove_archive(const char *path)
{
    static const char *const tails[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < 4; i++) {
        char name[AK_PATH_MAX + 16];
        (void)snprintf(name, sizeof name, "%s%s", path, tails[i]);
        ak_fs_remove(name);
    }
}

static void test_allocation_failures(void **state)
{
    fixture *f = fixture_of(state);
    size_t nth = 1;
    for (;; nth++) {
        ak_alloc_fail_at(nth);
        bool good = use_everything(f->path);
        ak_alloc_fail_at(0);
        remove_archive(f->path);
        if (good) {
            break;
        }
    }
    assert_true(nth > 20);
}

/* A file system between SQLite and the real one that fails writes, flushes and truncations from the
   nth on. */
static long fail_write_at; /* 0: never */
static long write_count;
static int fail_code;
static sqlite3_vfs *real_vfs;
static sqlite3_vfs test_vfs;

typedef struct test_file {
    sqlite3_file base;
    sqlite3_file *real;
} test_file;

static sqlite3_file *real_file(sqlite3_file *file)
{
    return ((test_file *)file)->real;
}

static bool write_fails(void)
{
    write_count++;
    return fail_write_at != 0 && write_count >= fail_write_at;
}

static int file_close(sqlite3_file *file)
{
    sqlite3_file *real = real_file(file);
    return real->pMethods == NULL ? SQLITE_OK : real->pMethods->xClose(real);
}

static int file_read(sqlite3_file *file, void *out, int bytes, sqlite3_int64 at)
{
    return real_file(file)->pMethods->xRead(real_file(file), out, bytes, at);
}

static int file_write(sqlite3_file *file, const void *data, int bytes, sqlite3_int64 at)
{
    if (write_fails()) {
        return fail_code;
    }
    return real_file(file)->pMethods->xWrite(real_file(file), data, bytes, at);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    if (write_fails()) {
        return SQLITE_IOERR_TRUNCATE;
    }
    return real_file(file)->pMethods->xTruncate(real_file(file), size);
}

static int file_sync(sqlite3_file *file, int flags)
{
    if (write_fails()) {
        return fail_code == SQLITE_FULL ? SQLITE_FULL : SQLITE_IOERR_FSYNC;
    }
    return real_file(file)->pMethods->xSync(real_file(file), flags);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return real_file(file)->pMethods->xFileSize(real_file(file), size);
}

static int file_lock(sqlite3_file *file, int level)
{
    return real_file(file)->pMethods->xLock(real_file(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
    return real_file(file)->pMethods->xUnlock(real_file(file), level);
}

static int file_reserved(sqlite3_file *file, int *out)
{
    return real_file(file)->pMethods->xCheckReservedLock(real_file(file), out);
}

static int file_control(sqlite3_file *file, int op, void *arg)
{
    return real_file(file)->pMethods->xFileControl(real_file(file), op, arg);
}

static int file_sector(sqlite3_file *file)
{
    return real_file(file)->pMethods->xSectorSize(real_file(file));
}

static int file_characteristics(sqlite3_file *file)
{
    return real_file(file)->pMethods->xDeviceCharacteristics(real_file(file));
}

static int file_map(sqlite3_file *file, int page, int bytes, int extend, void volatile **out)
{
    return real_file(file)->pMethods->xShmMap(real_file(file), page, bytes, extend, out);
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return real_file(file)->pMethods->xShmLock(real_file(file), offset, count, flags);
}

static void file_barrier(sqlite3_file *file)
{
    real_file(file)->pMethods->xShmBarrier(real_file(file));
}

static int file_unmap(sqlite3_file *file, int remove)
{
    return real_file(file)->pMethods->xShmUnmap(real_file(file), remove);
}

static const sqlite3_io_methods file_methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_characteristics,
    .xShmMap = file_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_barrier,
    .xShmUnmap = file_unmap,
};

static int vfs_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags,
                    int *out_flags)
{
    (void)vfs;
    test_file *t = (test_file *)file;
    t->real = (sqlite3_file *)(t + 1);
    int code = real_vfs->xOpen(real_vfs, name, t->real, flags, out_flags);
    file->pMethods = t->real->pMethods == NULL ? NULL : &file_methods;
    return code;
}

static void test_failing_disk(void **state)
{
    static const int codes[] = {SQLITE_FULL, SQLITE_IOERR_WRITE};
    fixture *f = fixture_of(state);
    real_vfs = sqlite3_vfs_find(NULL);
    test_vfs = *real_vfs;
    test_vfs.zName = "failing";
    test_vfs.szOsFile = (int)sizeof(test_file) + real_vfs->szOsFile;
    test_vfs.xOpen = vfs_open;
    assert_int_equal(sqlite3_vfs_register(&test_vfs, 1), SQLITE_OK);
    for (size_t c = 0; c < 2; c++) {
        long nth = 1;
        fail_code = codes[c];
        for (bool good = false; !good; nth++) {
            fail_write_at = 0;
            make_archive(f, 2);
            /* From now on the disk fails at the nth write. */
            write_count = 0;
            fail_write_at = nth;
            size_t acknowledged = 2;
            ak_archive *archive = NULL;
            ak_error fault = AK_ERROR_INIT;
            ak_status status = ak_archive_open(&archive, f->path, &fault);
            for (int i = 0; i < 3 && status == AK_OK; i++) {
                ak_trial trial = literal_trial("MR=4", 1);
                status = ak_archive_add_trial(archive, &trial, &fault);
                acknowledged += status == AK_OK ? 1 : 0;
                ak_free(trial.timestamp);
            }
            ak_archive_close(archive); /* may fail to fold the log in: it stays for the next */
            good = status == AK_OK;
            if (!good) {
                assert_int_equal(fault.status, AK_IO);
                assert_non_null(strstr(fault.text, codes[c] == SQLITE_FULL ? "full" : "I/O"));
            }
            fail_write_at = 0;
            assert_ok(ak_archive_open(&archive, f->path, err));
            assert_in_range(count_trials(archive, NULL), acknowledged, acknowledged + 1);
            assert_sound(archive, f->path);
            ak_archive_close(archive);
            remove_archive(f->path);
        }
        assert_true(nth > 5);
    }
    /* The same while the archive is created: nothing, or a whole one, is left. */
    long nth = 1;
    fail_code = SQLITE_FULL;
    for (bool good = false; !good; nth++) {
        ak_archive *archive = NULL;
        write_count = 0;
        fail_write_at = nth;
        good = ak_archive_open(&archive, f->path, NULL) == AK_OK;
        ak_archive_close(archive);
        fail_write_at = 0;
        archive = NULL;
        assert_ok(ak_archive_open(&archive, f->path, err));
        ak_archive_close(archive);
        remove_archive(f->path);
    }
    assert_true(nth > 5);
    assert_int_equal(sqlite3_vfs_unregister(&test_vfs), SQLITE_OK);
}

#define WITH_ARCHIVE(test)                                                                         \
    cmocka_unit_test_setup_teardown(test, fixture_open_archive, fixture_close)
#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, fixture_open, fixture_close)

int main(void)
{
    fixture_fail_json_too();
    const struct CMUnitTest tests[] = {
        WITH_ARCHIVE(test_round_trip),
        WITH_ARCHIVE(test_source_that_was_not_kept),
        WITH_ARCHIVE(test_environment_words),
        WITH_ARCHIVE(test_environment_words_by_hand),
        WITH_ARCHIVE(test_runs_are_named_by_their_first_digits),
        WITH_ARCHIVE(test_runs),
        WITH_ARCHIVE(test_filter),
        WITH_ARCHIVE(test_visitor),
        WITH_ARCHIVE(test_texts),
        WITH_ARCHIVE(test_bad_bytes),
        WITH_ARCHIVE(test_dangling),
        WITH_ARCHIVE(test_best_of_implementations),
        WITH_ARCHIVE(test_best),
        WITH_ARCHIVE(test_best_of_a_run_that_resumed),
        WITH_ARCHIVE(test_best_of_several_finishes),
        WITH_ARCHIVE(test_best_of_refuted_winners),
        WITH_ARCHIVE(test_best_of_many_sizes),
        WITH_ARCHIVE(test_best_of_many_sizes_by_cost),
        WITH_ARCHIVE(test_best_of_runs_with_long_ids),
        WITH_ARCHIVE(test_best_of_tasks),
        WITH_ARCHIVE(test_what_failed_a_later_check_is_not_best),
        WITH_FOLDER(test_paths),
        WITH_FOLDER(test_unusable_paths),
        WITH_FOLDER(test_not_a_database),
        WITH_FOLDER(test_other_database),
        WITH_FOLDER(test_newer_schema),
        WITH_FOLDER(test_altered_rows),
        WITH_FOLDER(test_read_only),
        WITH_ARCHIVE(changed_results_are_refused),
        WITH_FOLDER(test_migration),
        WITH_FOLDER(test_newer_schema_with_log),
        WITH_FOLDER(test_damaged),
        WITH_FOLDER(test_hostile_rows),
        WITH_FOLDER(test_killed),
        WITH_FOLDER(test_several_processes),
        WITH_FOLDER(test_allocation_failures),
        WITH_FOLDER(test_failing_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
