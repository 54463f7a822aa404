/* test_waiting.c: tests that what a run writes waits in memory while another program holds the
   archive. */
#include "archive_fixture.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/store.h"
#include "base/clock.h"

typedef struct told {
    size_t lines;
    char last[800];
} told;

static void hear(void *context, const char *line)
{
    told *t = context;
    t->lines++;
    (void)snprintf(t->last, sizeof t->last, "%s", line);
}

static sqlite3 *lock(const fixture *f, const char *how)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, how, NULL, NULL, NULL), SQLITE_OK);
    return db;
}

static void unlock(sqlite3 *db)
{
    assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int64_t add(ak_archive *archive, int number, int64_t parent)
{
    char config[32];
    (void)snprintf(config, sizeof config, "N=%d", number);
    ak_trial trial = {.run = "0123456789abcdef",
                      .kernel = "matmul",
                      .config = config,
                      .environment = "e",
                      .status = AK_TRIAL_INVALID,
                      .reason = "no",
                      .parent = parent};
    assert_ok(ak_archive_add_trial(archive, &trial, err));
    ak_free(trial.timestamp);
    return trial.id;
}

static const ak_run a_run = {.id = "0123456789abcdef", .kernel = "matmul", .environment = "e"};

typedef struct order {
    int next;
    int64_t latest, parent;
} order;

static bool in_order(void *context, const ak_trial *trial)
{
    order *o = context;
    char config[32];
    (void)snprintf(config, sizeof config, "N=%d", o->next++);
    assert_string_equal(trial->config, config);
    assert_true(trial->id > o->latest);
    o->latest = trial->id;
    o->parent = trial->parent;
    return true;
}

static void what_cannot_be_written_waits(void **state)
{
    fixture *f = fixture_of(state);
    told t = {0};
    const ak_archive_patience patience = {.tell = hear, .context = &t};
    sqlite3 *db = lock(f, "BEGIN IMMEDIATE");
    ak_call call = {
        .run = "0123456789abcdef", .model = "m", .system = "", .brief = "", .state = ""};
    assert_ok(ak_archive_defer(f->archive, &patience, err));
    assert_ok(ak_archive_add_run(f->archive, &a_run, err));
    int64_t first = add(f->archive, 1, 0), second = add(f->archive, 2, first);
    assert_ok(ak_archive_add_call(f->archive, &call, err));
    assert_true(first < 0 && second < 0 && first != second);
    assert_int_equal(ak_archive_trial_id(f->archive, first), 0);
    assert_ok(ak_archive_end_run(f->archive, a_run.id, "2026-11-22T10:00:00.000Z", "{}", err));
    assert_int_equal(ak_archive_waiting(f->archive), 5);
    assert_int_equal(t.lines, 1); /* once */
    assert_non_null(strstr(t.last, "kept locked by another program"));
    unlock(db);
    assert_ok(ak_archive_settle(f->archive, err));
    assert_int_equal(ak_archive_waiting(f->archive), 0);
    assert_int_equal(t.lines, 2);
    assert_non_null(strstr(t.last, "nothing is lost"));
    int64_t id = ak_archive_trial_id(f->archive, first);
    assert_true(id > 0 && ak_archive_trial_id(f->archive, second) > id);
    order o = {.next = 1};
    ak_archive_filter all = {0};
    assert_ok(ak_archive_each(f->archive, &all, in_order, &o, err));
    assert_int_equal(o.next, 3);
    assert_int_equal(o.parent, id);
    ak_run run = {0};
    assert_ok(ak_archive_get_run(&run, f->archive, a_run.id, err));
    assert_string_equal(run.ended, "2026-11-22T10:00:00.000Z");
    ak_run_clear(&run);
}

static int on_commit(void *context, sqlite3 *db, const char *database, int pages)
{
    (void)db, (void)database, (void)pages;
    ++*(int *)context;
    return SQLITE_OK;
}

/* Trials that are added together are committed together, or all of them wait. */
static void trials_share_a_commit(void **state)
{
    enum { COUNT = 5 };
    fixture *f = fixture_of(state);
    ak_trial list[3][COUNT], *trials[COUNT];
    char configs[3][COUNT][16];
    const ak_archive_patience patience = {.tell = NULL};
    int commits = 0;
    for (int g = 0; g < 3; g++) {
        for (int i = 0; i < COUNT; i++) {
            (void)snprintf(configs[g][i], sizeof configs[g][i], "N=%d", g * COUNT + i + 1);
            list[g][i] = (ak_trial){.run = "0123456789abcdef",
                                    .kernel = "matmul",
                                    .config = configs[g][i],
                                    .environment = "e",
                                    .status = AK_TRIAL_INVALID,
                                    .reason = "no"};
        }
    }
    assert_ok(ak_archive_defer(f->archive, &patience, err));
    assert_ok(ak_archive_add_run(f->archive, &a_run, err));
    sqlite3 *db = lock(f, "BEGIN IMMEDIATE");
    for (int i = 0; i < COUNT; i++) {
        trials[i] = &list[0][i];
    }
    assert_ok(ak_archive_add_trials(f->archive, trials, COUNT, err)); /* they wait */
    assert_int_equal(ak_archive_waiting(f->archive), COUNT);
    for (int i = 0; i < COUNT; i++) {
        trials[i] = &list[1][i];
    }
    assert_ok(ak_archive_add_trials(f->archive, trials, COUNT, err)); /* behind the others */
    assert_true(list[1][0].id < 0);
    unlock(db);
    assert_ok(ak_archive_settle(f->archive, err));
    assert_ok(ak_archive_defer(f->archive, &patience, err));
    (void)sqlite3_wal_hook(f->archive->db, on_commit, &commits);
    for (int i = 0; i < COUNT; i++) {
        trials[i] = &list[2][i];
    }
    assert_ok(ak_archive_add_trials(f->archive, trials, COUNT, err));
    assert_int_equal(commits, 1);
    assert_true(list[2][COUNT - 1].id == list[2][0].id + COUNT - 1 && list[2][0].id > 0);
    order o = {.next = 1};
    ak_archive_filter all = {0};
    assert_ok(ak_archive_each(f->archive, &all, in_order, &o, err));
    assert_int_equal(o.next, 3 * COUNT + 1);
    assert_ok(ak_archive_settle(f->archive, err));
    for (int g = 0; g < 3; g++) {
        for (int i = 0; i < COUNT; i++) {
            ak_free(list[g][i].timestamp);
        }
    }
}

/* With two runs on one archive, trials that one adds while the other waits come before the waiting
   ones. */
static void others_may_write_meanwhile(void **state)
{
    fixture *f = fixture_of(state);
    told t = {0};
    ak_archive *other = NULL;
    const ak_archive_patience patience = {.tell = hear, .context = &t};
    assert_ok(ak_archive_open(&other, f->path, err));
    assert_ok(ak_archive_defer(f->archive, &patience, err));
    assert_ok(ak_archive_add_run(f->archive, &a_run, err));
    int64_t before = add(f->archive, 1, 0);
    assert_true(before > 0 && t.lines == 0);
    sqlite3 *db = lock(f, "BEGIN EXCLUSIVE");
    int64_t waits = add(f->archive, 2, before);
    unlock(db);
    int64_t theirs = add(other, 3, 0);
    while (ak_archive_waiting(f->archive) > 0) { /* as a run does, between its trials */
        ak_clock_sleep_ns(10 * AK_MS_NS);
        ak_archive_retry(f->archive);
    }
    assert_true(ak_archive_trial_id(f->archive, waits) > theirs);
    assert_true(add(f->archive, 4, waits) > 0);
    assert_ok(ak_archive_settle(f->archive, err));
    ak_archive_close(other);
}

static void what_still_waits_goes_to_a_file(void **state)
{
    fixture *f = fixture_of(state);
    told t = {0};
    volatile int cancel = 0;
    char path[AK_PATH_MAX];
    size_t added = 0, known = 0;
    const ak_archive_patience patience = {.tell = hear, .context = &t, .cancel = &cancel};
    assert_ok(ak_archive_defer(f->archive, &patience, err));
    assert_ok(ak_archive_add_run(f->archive, &a_run, err));
    (void)add(f->archive, 1, 0);
    sqlite3 *db = lock(f, "BEGIN IMMEDIATE");
    int64_t second = add(f->archive, 2, 0);
    (void)add(f->archive, 3, second);
    ak_run other = a_run; /* one of which nothing is written yet, without trials */
    other.id = "fedcba9876543210";
    other.environment_json = "{\"source\": \"s\"}";
    assert_ok(ak_archive_end_run(f->archive, a_run.id, "2026-11-22T10:00:00.000Z",
                                 "{\"contestants\": []}", err));
    assert_ok(ak_archive_add_run(f->archive, &other, err));
    assert_ok(ak_archive_end_run(f->archive, other.id, "2026-11-22T11:00:00.000Z", "{}", err));
    cancel = 1; /* Ctrl-C: nothing is waited for */
    assert_ok(ak_archive_settle(f->archive, err));
    unlock(db);
    assert_non_null(strstr(t.last, "2 trials and the result of the run are in a file"));
    assert_non_null(strstr(t.last, "autokernel import --format json"));
    assert_ok(ak_fs_join(path, f->folder, "autokernel-waiting-fedcba9876543210.json", err));
    assert_string_equal(ak_archive_left(f->archive), path);
    ak_run run = {0}; /* twice is once */
    assert_ok(ak_archive_import(&added, &known, f->archive, "json", path, err));
    assert_int_equal(added, 2);
    assert_int_equal(ak_archive_results_added(f->archive), 2);
    assert_ok(ak_archive_import(&added, &known, f->archive, "json", path, err));
    assert_true(added == 0 && known == 2 && ak_archive_results_added(f->archive) == 0);
    assert_null(ak_archive_left_out(f->archive));
    /* Another archive lacks the beginning of the first run, and so cannot have its result. */
    ak_archive *elsewhere = NULL;
    char there[AK_PATH_MAX];
    assert_ok(ak_fs_join(there, f->folder, "elsewhere.db", err));
    assert_ok(ak_archive_open(&elsewhere, there, err));
    assert_ok(ak_archive_import(&added, &known, elsewhere, "json", path, err));
    assert_int_equal(added, 2);
    assert_int_equal(ak_archive_results_added(elsewhere), 1); /* of the run that it has whole */
    assert_non_null(strstr(ak_archive_left_out(elsewhere), "the result of a run is left out"));
    ak_archive_close(elsewhere);
    assert_ok(ak_archive_get_run(&run, f->archive, a_run.id, err));
    assert_string_equal(run.ended, "2026-11-22T10:00:00.000Z");
    assert_string_equal(run.result_json, "{\"contestants\": []}");
    ak_run_clear(&run);
    assert_ok(ak_archive_get_run(&run, f->archive, other.id, err));
    assert_string_equal(run.ended, "2026-11-22T11:00:00.000Z");
    assert_string_equal(run.environment_json, other.environment_json);
    assert_false(run.imported);
    ak_run_clear(&run);
    order o = {.next = 1};
    ak_archive_filter all = {0};
    assert_ok(ak_archive_each(f->archive, &all, in_order, &o, err));
    assert_int_equal(o.next, 4);
    assert_int_equal(o.parent, o.latest - 1);
}

/* Adds a trial of a run that the archive does not have, which it refuses. */
static int64_t add_stray(ak_archive *archive)
{
    ak_trial trial = {.run = "00000000000000ff",
                      .kernel = "matmul",
                      .config = "N=99",
                      .environment = "e",
                      .status = AK_TRIAL_INVALID,
                      .reason = "no"};
    assert_ok(ak_archive_add_trial(archive, &trial, err));
    ak_free(trial.timestamp);
    return trial.id;
}

/* What the archive refuses does not keep the items behind it from being written. It goes to the
   file, and nothing is tried again for it. */
static void what_is_refused_stops_nothing(void **state)
{
    fixture *f = fixture_of(state);
    told t = {0};
    const ak_archive_patience patience = {.tell = hear, .context = &t};
    assert_ok(ak_archive_defer(f->archive, &patience, err));
    assert_ok(ak_archive_add_run(f->archive, &a_run, err));
    sqlite3 *db = lock(f, "BEGIN IMMEDIATE");
    const int64_t first = add(f->archive, 1, 0), stray = add_stray(f->archive);
    const int64_t second = add(f->archive, 2, first), third = add(f->archive, 3, stray);
    assert_ok(ak_archive_end_run(f->archive, a_run.id, "2026-11-22T10:00:00.000Z", "{}", err));
    unlock(db);
    const int64_t began = ak_clock_ns();
    assert_ok(ak_archive_settle(f->archive, err));
    assert_true(ak_clock_ns() - began < 30 * AK_SECOND_NS); /* not the minute for a lock */
    assert_int_equal(ak_archive_waiting(f->archive), 0);
    assert_int_equal(ak_archive_trial_id(f->archive, stray), 0);
    assert_true(ak_archive_trial_id(f->archive, second) > 0);
    assert_true(ak_archive_trial_id(f->archive, third) > 0);
    assert_non_null(strstr(t.last, "1 trial of the run is in a file"));
    assert_non_null(strstr(t.last, "is not in the archive"));
    order o = {.next = 1};
    ak_archive_filter all = {0};
    assert_ok(ak_archive_each(f->archive, &all, in_order, &o, err));
    assert_int_equal(o.next, 4);
    assert_int_equal(o.parent, 0); /* that of the third is not in the archive */
    assert_non_null(ak_archive_left(f->archive));
    assert_true(ak_fs_is_file(ak_archive_left(f->archive)));
}

/* Of trials that are added together, one that is refused does not take the others with it. */
static void others_of_a_group_are_added(void **state)
{
    fixture *f = fixture_of(state);
    ak_trial list[3], *trials[3];
    static const char *const configs[] = {"N=1", "N=99", "N=2"};
    const ak_archive_patience patience = {.tell = NULL};
    for (int i = 0; i < 3; i++) {
        list[i] = (ak_trial){.run = (char *)(uintptr_t)(i == 1 ? "00000000000000ff" : a_run.id),
                             .kernel = "matmul",
                             .config = (char *)(uintptr_t)configs[i],
                             .environment = "e",
                             .status = AK_TRIAL_INVALID,
                             .reason = "no"};
        trials[i] = &list[i];
    }
    assert_ok(ak_archive_defer(f->archive, &patience, err));
    assert_ok(ak_archive_add_run(f->archive, &a_run, err));
    assert_refused(ak_archive_add_trials(f->archive, trials, 3, err), AK_INVALID,
                   "the trial's run 00000000000000ff or its parent 0 is not in the archive");
    order o = {.next = 1};
    ak_archive_filter all = {0};
    assert_ok(ak_archive_each(f->archive, &all, in_order, &o, err));
    assert_int_equal(o.next, 3);
    assert_ok(ak_archive_settle(f->archive, err));
    for (int i = 0; i < 3; i++) {
        ak_free(list[i].timestamp);
    }
}

/* If no file can be written either, the error says what is lost, even if it is only the end of a
   run. */
static void what_is_lost_is_named(void **state)
{
    fixture *f = fixture_of(state);
    volatile int cancel = 1;
    char home[AK_PATH_MAX], path[AK_PATH_MAX];
    const ak_archive_patience patience = {.cancel = &cancel};
    assert_non_null(getcwd(home, sizeof home));
    assert_ok(ak_archive_defer(f->archive, &patience, err));
    assert_ok(ak_archive_add_run(f->archive, &a_run, err));
    sqlite3 *db = lock(f, "BEGIN IMMEDIATE");
    assert_ok(ak_archive_end_run(f->archive, a_run.id, "2026-11-22T10:00:00.000Z", "{}", err));
    assert_ok(ak_fs_join(path, f->folder, "autokernel-waiting-0123456789abcdef.json", err));
    assert_int_equal(mkdir(path, 0700), 0); /* every place for the file is this folder */
    assert_int_equal(setenv("TMPDIR", f->folder, 1), 0);
    assert_int_equal(chdir(f->folder), 0);
    assert_refused(ak_archive_settle(f->archive, err), AK_IO, "the result of the run is lost: ");
    assert_int_equal(chdir(home), 0);
    assert_int_equal(unsetenv("TMPDIR"), 0);
    unlock(db);
}

/* If a program closes the archive without settling, waiting trials are kept in a file. */
static void closing_keeps_what_waits(void **state)
{
    fixture *f = fixture_of(state);
    char path[AK_PATH_MAX];
    const ak_archive_patience patience = {0};
    assert_ok(ak_archive_defer(f->archive, &patience, err));
    assert_ok(ak_archive_add_run(f->archive, &a_run, err));
    sqlite3 *db = lock(f, "BEGIN IMMEDIATE");
    (void)add(f->archive, 1, 0);
    ak_archive_close(f->archive);
    f->archive = NULL;
    unlock(db);
    assert_ok(ak_fs_join(path, f->folder, "autokernel-waiting-0123456789abcdef.json", err));
    assert_true(ak_fs_is_file(path));
}

/* Without ak_archive_defer, a locked archive is an error of one line. */
static void without_patience_a_lock_is_an_error(void **state)
{
    fixture *f = fixture_of(state);
    sqlite3 *db = lock(f, "BEGIN IMMEDIATE");
    assert_refused(ak_archive_add_run(f->archive, &a_run, err), AK_TIMED_OUT,
                   "another program has kept it locked for 10 s");
    unlock(db);
}

static int close_all(void **state)
{
    fixture *f = fixture_of(state);
    ak_archive_close(f->archive);
    ak_fs_remove(f->folder);
    ak_free(f);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_open_archive, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_cannot_be_written_waits),
        TEST(others_may_write_meanwhile),
        TEST(what_still_waits_goes_to_a_file),
        TEST(closing_keeps_what_waits),
        TEST(without_patience_a_lock_is_an_error),
        TEST(trials_share_a_commit),
        TEST(what_is_lost_is_named),
        TEST(what_is_refused_stops_nothing),
        TEST(others_of_a_group_are_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
