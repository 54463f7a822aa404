/* test_remove.c: tests that a removed run or trial takes along what only it needs, and nothing
   else. */
#include "archive_fixture.h"

#include "archive/overview.h"
#include "archive/store.h"

static int64_t ask(ak_archive *archive, const char *sql)
{
    int64_t number = -1;
    assert_ok(ak_store_ask(&number, archive, sql, err));
    return number;
}

/* Adds a run with an environment and sources of its own, and one trial. */
static int64_t add_run(ak_archive *archive, const char *id, const char *environment,
                       const char *source, int64_t parent)
{
    char words[60];
    ak_pack sources = {0};
    ak_run run = literal_run(id);
    ak_trial trial = literal_trial("MR=4", 1.0);
    (void)snprintf(words, sizeof words, "{\"source\": \"%s\"}", source);
    run.environment = trial.environment = (char *)(uintptr_t)environment;
    run.environment_json = words;
    trial.run = (char *)(uintptr_t)id;
    trial.parent = parent;
    assert_ok(ak_archive_add_run(archive, &run, err));
    assert_ok(ak_pack_add(&sources, "k/problem.json", "{}", 2, err));
    assert_ok(ak_archive_keep_sources(archive, source, &sources, err));
    ak_pack_clear(&sources);
    return add_trial(archive, trial);
}

static void end_run(ak_archive *archive, const char *id, const char *result)
{
    assert_ok(ak_archive_end_run(archive, id, "2026-11-21T11:00:00.000Z", result, err));
}

static void a_run_goes_with_what_only_it_had(void **state)
{
    fixture *f = fixture_of(state);
    ak_removal gone;
    char result[100];
    trial_list list = {.count = 0};
    int64_t first = add_run(f->archive, "aaaa1", "e1", "s1", 0);
    (void)add_run(f->archive, "bbbb2", "e2", "s2", first);
    const ak_call call = {
        .run = "aaaa1", .model = "m", .system = "", .brief = "", .state = "", .attempts = 1};
    assert_ok(ak_archive_add_call(f->archive, &call, err));
    (void)snprintf(result, sizeof result, "{\"best\":{\"trial\":%lld,\"ms\":1.50}}",
                   (long long)first);
    end_run(f->archive, "aaaa1", "{}");
    end_run(f->archive, "bbbb2", result);
    for (int really = 0; really < 2; really++) {
        assert_ok(ak_archive_remove(&gone, f->archive, "aaaa", really == 1, err));
        assert_true(gone.runs == 1 && gone.trials == 1 && gone.calls == 1 && gone.sources == 1);
        assert_int_equal(ask(f->archive, "SELECT count(*) FROM trials"), 2 - really);
    }
    assert_int_equal(ask(f->archive, "SELECT count(*) FROM runs"), 1);
    assert_int_equal(ask(f->archive, "SELECT count(*) FROM calls"), 0);
    assert_int_equal(ask(f->archive, "SELECT count(*) FROM sources WHERE hash = 's2'"), 1);
    assert_int_equal(ask(f->archive, "SELECT count(*) FROM environments"), 1);
    assert_int_equal(ask(f->archive, "SELECT result = '{\"best\":{\"trial\":null,\"ms\":1.50}}' "
                                     "FROM runs"),
                     1);
    assert_ok(ak_archive_each(f->archive, NULL, collect, &list, err)); /* its checksum is right */
    assert_true(list.count == 1 && list.items[0].parent == 0);
    list_clear(&list);
    assert_refused(ak_archive_remove(&gone, f->archive, "aaaa1", true, err), AK_NOT_FOUND,
                   "no run aaaa1");
}

/* If an environment was renamed, its members are stored under the new hash. They stay as long as
   either hash is needed. */
static void words_of_todays_hash_stay(void **state)
{
    fixture *f = fixture_of(state);
    ak_removal gone;
    bool renamed;
    json_t *words;
    (void)add_run(f->archive, "aaaa1", "former", "s1", 0);
    assert_ok(ak_archive_rename_environment(&renamed, f->archive, "former", "today",
                                            "{\"source\": \"s2\"}", err));
    (void)add_run(f->archive, "bbbb2", "today", "s2", 0);
    assert_ok(ak_archive_remove(&gone, f->archive, "bbbb2", true, err));
    assert_int_equal(gone.sources, 0);
    assert_ok(ak_archive_environment(&words, f->archive, "former", err));
    assert_string_equal(ak_json_text_at(words, "source"), "s2");
    json_decref(words);
    assert_ok(ak_archive_remove(&gone, f->archive, "aaaa1", true, err));
    assert_int_equal(ask(f->archive, "SELECT count(*) FROM environments"), 0);
    assert_int_equal(ask(f->archive, "SELECT count(*) FROM sources"), 0);
}

static void a_trial_goes_alone(void **state)
{
    fixture *f = fixture_of(state);
    ak_removal gone;
    char name[24];
    int64_t first = add_run(f->archive, "aaaa1", "e1", "s1", 0);
    end_run(f->archive, "aaaa1", "{}");
    (void)snprintf(name, sizeof name, "#%lld", (long long)first);
    assert_ok(ak_archive_remove(&gone, f->archive, name, true, err));
    assert_true(gone.runs == 0 && gone.trials == 1 && gone.sources == 0); /* its run needs them */
    assert_refused(ak_archive_remove(&gone, f->archive, name, true, err), AK_NOT_FOUND, "no trial");
    assert_refused(ak_archive_remove(&gone, f->archive, "#one", true, err), AK_INVALID, "'#5'");
}

static void a_run_that_goes_on_is_refused(void **state)
{
    fixture *f = fixture_of(state);
    ak_removal gone;
    json_t *none = json_object();
    (void)add_run(f->archive, "aaaa1", "e1", "s1", 0);
    ak_archive_note_whereabouts(f->archive, "aaaa1", none); /* this process */
    json_decref(none);
    assert_refused(ak_archive_remove(&gone, f->archive, "aaaa1", true, err), AK_INVALID,
                   "goes on; end it first");
    assert_refused(ak_archive_remove(&gone, f->archive, "#1", true, err), AK_INVALID, "goes on");
    end_run(f->archive, "aaaa1", "{}");
    assert_ok(ak_archive_remove(&gone, f->archive, "aaaa1", true, err));
}

/* With a run over many sizes, the runs of its sizes are removed, except those that another such run
   names. */
static void a_run_over_many_sizes(void **state)
{
    fixture *f = fixture_of(state);
    ak_removal gone;
    static const char *const ids[] = {"aaaa1", "bbbb2", "cccc3", "dddd4"};
    for (size_t i = 0; i < 4; i++) {
        (void)add_run(f->archive, ids[i], "e", "s", 0);
    }
    end_run(f->archive, "aaaa1", "{}");
    end_run(f->archive, "bbbb2", "{}");
    end_run(f->archive, "cccc3", "{\"sizes\": [{\"run\": \"aaaa1\"}, {\"run\": \"bbbb2\"}]}");
    end_run(f->archive, "dddd4", "{\"sizes\": [{\"run\": \"bbbb2\"}, {}]}");
    assert_ok(ak_archive_remove(&gone, f->archive, "cccc3", true, err));
    assert_true(gone.runs == 2 && gone.trials == 2 && gone.sources == 0);
    assert_int_equal(ask(f->archive, "SELECT count(*) FROM runs WHERE id IN ('bbbb2', 'dddd4')"),
                     2);
}

int main(void)
{
#define WITH_ARCHIVE(test)                                                                         \
    cmocka_unit_test_setup_teardown(test, fixture_open_archive, fixture_close)
    const struct CMUnitTest tests[] = {
        WITH_ARCHIVE(a_run_goes_with_what_only_it_had),
        WITH_ARCHIVE(words_of_todays_hash_stay),
        WITH_ARCHIVE(a_trial_goes_alone),
        WITH_ARCHIVE(a_run_that_goes_on_is_refused),
        WITH_ARCHIVE(a_run_over_many_sizes),
    };
    fixture_fail_json_too();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
