/* test_serve.c: tests which requests the dashboard answers, and what it sees of an archive that
   other processes write. */
#include "archive_fixture.h"

#include "archive/overview.h"
#include "archive/store.h"
#include "serve/gate.h"
#include "serve/watch.h"

/* ---- the gate ---------------------------------------------------------------------------------
 */

static unsigned ask(const char *token, ak_gate_request request)
{
    const char *why;
    const ak_gate gate = {.port = 8017, .token = token};
    request.method = request.method == NULL ? "GET" : request.method;
    unsigned status = ak_gate_check(&why, &gate, &request);
    assert_true((status == 200) == (why[0] == 0));
    return status;
}

static void test_hosts(void **state)
{
    static const char *const ours[] = {"127.0.0.1:8017", "localhost:8017", "LOCALHOST:8017",
                                       "[::1]:8017"};
    static const char *const others[] = {"evil.example",
                                         "evil.example:8017",
                                         "127.0.0.1",
                                         "127.0.0.1:8018",
                                         "localhost:80170",
                                         "localhost.evil.example:8017",
                                         "evil-127.0.0.1:8017",
                                         "",
                                         "127.0.0.1:8017.example"};
    (void)state;
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        assert_int_equal(ask(NULL, (ak_gate_request){.host = ours[i]}), 200);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(ask(NULL, (ak_gate_request){.host = others[i]}), 403);
    }
    assert_int_equal(ask(NULL, (ak_gate_request){0}), 403);
}

static void test_origins(void **state)
{
    static const char host[] = "localhost:8017";
    static const char *const others[] = {
        "http://evil.example",
        "https://localhost:8017",
        "http://localhost:8018",
        "http://127.0.0.1:8017", /* another origin than the one that was asked for */
        "null",
        "",
        "http://localhost:8017.evil.example"};
    (void)state;
    assert_int_equal(ask(NULL, (ak_gate_request){.host = host, .origin = "http://localhost:8017"}),
                     200);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(ask(NULL, (ak_gate_request){.host = host, .origin = others[i]}), 403);
    }
}

static void test_sites(void **state)
{
    static const char host[] = "localhost:8017";
    (void)state;
    assert_int_equal(ask(NULL, (ak_gate_request){.host = host, .site = "same-origin"}), 200);
    assert_int_equal(ask(NULL, (ak_gate_request){.host = host, .site = "none"}), 200);
    assert_int_equal(ask(NULL, (ak_gate_request){.host = host, .site = "same-site"}), 403);
    assert_int_equal(ask(NULL, (ak_gate_request){.host = host, .site = "cross-site"}), 403);
    /* Somebody follows a link; the other page cannot read what comes. */
    assert_int_equal(
        ask(NULL, (ak_gate_request){.host = host, .site = "cross-site", .mode = "navigate"}), 200);
}

static void test_methods(void **state)
{
    static const char host[] = "localhost:8017";
    static const char *const others[] = {"POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "get"};
    (void)state;
    assert_int_equal(ask(NULL, (ak_gate_request){.host = host, .method = "HEAD"}), 200);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(ask(NULL, (ak_gate_request){.host = host, .method = others[i]}), 405);
    }
}

static void test_token(void **state)
{
    static const char token[] = "correct-horse-battery", host[] = "bench.example:8017";
    static const char *const wrong[] = {"", "c", "correct-horse-batterx", "correct-horse-battery ",
                                        "correct-horse-batterycorrect-horse-battery"};
    (void)state;
    assert_int_equal(ask(token, (ak_gate_request){.host = host}), 401);
    assert_int_equal(ask(token, (ak_gate_request){.host = host, .cookie = token}), 200);
    assert_int_equal(ask(token, (ak_gate_request){.host = host, .argument = token}), 200);
    assert_int_equal(ask(token, (ak_gate_request){.host = host,
                                                  .authorization = "Bearer correct-horse-battery"}),
                     200);
    assert_int_equal(ask(token, (ak_gate_request){.host = host, .authorization = token}), 401);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(ask(token, (ak_gate_request){.host = host, .cookie = wrong[i]}), 401);
    }
    /* It does not open the dashboard to other sites. */
    assert_int_equal(
        ask(token,
            (ak_gate_request){.host = host, .cookie = token, .origin = "http://evil.example"}),
        403);
}

/* ---- the archive that is watched
 * -----------------------------------------------------------------
 */

/* Of the runs that changed since a place: how many, and a number of the first. */
static size_t changed_since(const ak_watch *watch, const char *place, const char *key, double *out)
{
    json_t *runs = ak_watch_runs(watch, place);
    size_t count = json_array_size(runs);
    *out = json_number_value(json_object_get(json_array_get(runs, 0), key));
    json_decref(runs);
    return count;
}

static void poll(ak_watch *watch, bool wanted)
{
    bool changed;
    assert_ok(ak_watch_poll(&changed, watch, err));
    assert_int_equal(changed, wanted);
}

static void test_watch(void **state)
{
    fixture *f = fixture_of(state);
    ak_watch *watch = NULL;
    char start[AK_WATCH_PLACE_BYTES], begun[AK_WATCH_PLACE_BYTES], tried[AK_WATCH_PLACE_BYTES];
    double value;
    assert_ok(ak_watch_open(&watch, f->path, err));
    ak_watch_place(start, watch);
    assert_int_equal(changed_since(watch, NULL, "trials", &value), 0);
    poll(watch, false);

    ak_run run = literal_run("r1");
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    poll(watch, true);
    poll(watch, false);
    ak_watch_place(begun, watch);
    assert_int_equal(changed_since(watch, start, "trials", &value), 1);
    assert_int_equal(changed_since(watch, begun, "trials", &value), 0);

    ak_trial trial = literal_trial("MR=4", 1.5);
    trial.run = run.id;
    (void)add_trial(f->archive, trial);
    trial.median_ms = 1.25;
    (void)add_trial(f->archive, trial);
    trial.status = AK_TRIAL_CRASHED;
    trial.median_ms = 0;
    (void)add_trial(f->archive, trial);
    poll(watch, true);
    ak_watch_place(tried, watch);
    assert_int_equal(changed_since(watch, begun, "trials", &value), 1);
    assert_true(value == 3);
    assert_int_equal(changed_since(watch, begun, "ok", &value), 1);
    assert_true(value == 2);
    assert_int_equal(changed_since(watch, begun, "best_ms", &value), 1);
    assert_true(value == 1.25);
    assert_int_equal(changed_since(watch, tried, "ok", &value), 0);

    assert_ok(ak_archive_end_run(f->archive, "r1", "2026-11-21T10:55:00.000Z",
                                 "{\"evaluated\": 3, \"failed\": {\"crashed\": 1}, \"best\": "
                                 "{\"ms\": 1.2}, \"summary\": \"a tie\"}",
                                 err));
    poll(watch, true);
    assert_int_equal(changed_since(watch, tried, "best_ms", &value), 1);
    assert_true(value == 1.2); /* of the finish */
    assert_int_equal(changed_since(watch, "nonsense", "ok", &value), 1);
    assert_true(value == 2);
    /* A server that starts anew gives a browser that comes back what it missed, and no more. */
    char last[AK_WATCH_PLACE_BYTES];
    ak_watch_place(last, watch);
    ak_watch_close(watch);
    assert_ok(ak_watch_open(&watch, f->path, err));
    assert_int_equal(changed_since(watch, last, "ok", &value), 0);
    assert_int_equal(changed_since(watch, tried, "ok", &value), 1);
    ak_watch_close(watch);
}

/* The archive comes later, and is not made by looking. */
static void test_no_archive_yet(void **state)
{
    fixture *f = fixture_of(state);
    ak_watch *watch = NULL;
    char path[AK_PATH_MAX];
    double value;
    assert_ok(ak_fs_join(path, f->folder, "later.db", err));
    assert_ok(ak_watch_open(&watch, path, err));
    poll(watch, false);
    assert_false(ak_fs_is_file(path));
    ak_archive *later = NULL;
    assert_ok(ak_archive_open(&later, path, err));
    ak_run run = literal_run("r1");
    assert_ok(ak_archive_add_run(later, &run, err));
    poll(watch, true);
    assert_int_equal(changed_since(watch, NULL, "trials", &value), 1);
    ak_trial trial = literal_trial("MR=4", 1.5);
    trial.run = run.id;
    /* The dashboard's own connection cannot write. */
    assert_true(ak_archive_add_trial(ak_watch_archive(watch), &trial, NULL) != AK_OK);
    ak_free(trial.timestamp);
    ak_archive_close(later);
    ak_watch_close(watch);
}

static size_t studies_since(const ak_watch *watch, const char *place, char *subject)
{
    json_t *studies = ak_watch_studies(watch, place);
    size_t count = json_array_size(studies);
    if (count > 0) {
        (void)snprintf(subject, 200, "%s",
                       ak_json_text_at(json_array_get(studies, count - 1), "subject"));
    }
    json_decref(studies);
    return count;
}

static void test_studies(void **state)
{
    static const char study[] =
        "{\"kernel\": \"gemm\", \"size\": \"M=64\", \"device\": \"host\", \"arms\": [{\"arm\": "
        "\"random\", \"quality\": {\"evaluations\": [{\"at\": 1, \"quality\": 0.5}]}}, {\"arm\": "
        "\"local\", \"quality\": {}}]}";
    static const char simulated[] =
        "{\"strategies\": [{\"strategy\": \"local\", \"score\": 0.75, \"recordings\": "
        "[{\"kernel\": \"conv\", \"size\": \"\", \"device\": \"A100\"}, {}]}]}";
    fixture *f = fixture_of(state);
    ak_watch *watch = NULL;
    char before[AK_WATCH_PLACE_BYTES], after[AK_WATCH_PLACE_BYTES], subject[200] = "";
    assert_ok(ak_watch_open(&watch, f->path, err));
    ak_watch_place(before, watch);
    assert_refused(ak_archive_add_study(f->archive, AK_STUDY, simulated, err), AK_INVALID,
                   "no result of study");
    assert_refused(ak_archive_add_study(f->archive, AK_SIMULATION, "{", err), AK_INVALID,
                   "simulate");
    assert_refused(ak_archive_add_study(f->archive, "tune", study, err), AK_INVALID, "kind");
    poll(watch, false);
    assert_ok(ak_archive_add_study(f->archive, AK_STUDY, study, err));
    poll(watch, true);
    assert_int_equal(studies_since(watch, before, subject), 1);
    assert_string_equal(subject, "gemm M=64 on host");
    ak_watch_place(after, watch);
    assert_int_equal(studies_since(watch, after, subject), 0);
    assert_ok(ak_archive_add_study(f->archive, AK_SIMULATION, simulated, err));
    poll(watch, true);
    assert_int_equal(studies_since(watch, after, subject), 1);
    assert_string_equal(subject, "conv on A100 and 1 more");
    json_t *studies = ak_watch_studies(watch, NULL);
    const json_t *arms = json_object_get(json_array_get(studies, 0), "arms");
    assert_int_equal(json_array_size(arms), 2);
    assert_true(ak_json_number_at(json_array_get(arms, 0), "value") == 0.5);
    assert_true(json_is_null(json_object_get(json_array_get(arms, 1), "value")));
    json_decref(studies);
    /* Another archive takes each once. */
    ak_archive *other = NULL;
    char path[AK_PATH_MAX];
    size_t added, known;
    assert_ok(ak_fs_join(path, f->folder, "other.db", err));
    assert_ok(ak_archive_open(&other, path, err));
    ak_watch_close(watch);
    for (int i = 0; i < 2; i++) {
        assert_ok(ak_archive_merge(&added, &known, other, f->path, err));
    }
    ak_archive_close(other);
    assert_ok(ak_watch_open(&watch, path, err));
    assert_int_equal(studies_since(watch, NULL, subject), 2);
    ak_watch_close(watch);
}

static unsigned statements;

static int count_statement(unsigned kind, void *context, void *statement, void *text)
{
    (void)kind;
    (void)context;
    (void)statement;
    (void)text;
    statements++;
    return 0;
}

/* A poll asks about what is new, however much there is: a thousand runs are answered from memory.
 */
static void test_many_runs(void **state)
{
    fixture *f = fixture_of(state);
    ak_watch *watch = NULL;
    char place[AK_WATCH_PLACE_BYTES];
    double value;
    static const char many[] =
        "INSERT INTO runs (id, started, ended, kernel, implementation, device, size, dtype, "
        "choices, "
        "strategy, result) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i "
        "< "
        "1000) SELECT printf('%016x', i), '2026-01-01T00:00:00.000Z', '2026-01-01T00:10:00.000Z', "
        "'matmul', 'host', 'host', 'M=1024,N=1024,K=1024', 'f32', '', 'portfolio', "
        "'{\"evaluated\": 1000, \"failed\": {\"crashed\": 3}, \"best\": {\"ms\": 1.25}, "
        "\"stopped_by\": \"evaluations\", \"summary\": \"1.1 times the speed of the default\"}' "
        "FROM n";
    assert_ok(ak_store_execute(f->archive, many, err));
    assert_ok(ak_watch_open(&watch, f->path, err));
    json_t *runs = ak_watch_runs(watch, NULL);
    char *text = json_dumps(runs, JSON_COMPACT);
    assert_int_equal(json_array_size(runs), 1000);
    assert_in_range(strlen(text), 100000, 600000);
    free(text);
    json_decref(runs);

    ak_run run = literal_run("r1");
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    poll(watch, true);
    ak_watch_place(place, watch);
    ak_trial trial = literal_trial("MR=4", 1.5);
    trial.run = run.id;
    trial.measured_on = (char *)"cuda:0@node3";
    (void)add_trial(f->archive, trial);
    assert_int_equal(
        sqlite3_trace_v2(ak_watch_archive(watch)->db, SQLITE_TRACE_STMT, count_statement, NULL),
        SQLITE_OK);
    statements = 0;
    poll(watch, true);
    assert_in_range(statements, 1, 8);
    statements = 0;
    poll(watch, false);
    assert_int_equal(statements, 1);
    assert_int_equal(changed_since(watch, place, "trials", &value), 1);
    assert_int_equal(statements, 1);
    /* What its devices do. */
    runs = ak_watch_runs(watch, place);
    const json_t *device = json_array_get(json_object_get(json_array_get(runs, 0), "devices"), 0);
    assert_string_equal(ak_json_text_at(device, "name"), "cuda:0@node3");
    assert_string_equal(ak_json_text_at(device, "config"), "MR=4");
    assert_true(ak_json_number_at(device, "trials") == 1);
    json_decref(runs);
    ak_watch_close(watch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_origins),
        cmocka_unit_test(test_sites),
        cmocka_unit_test(test_methods),
        cmocka_unit_test(test_token),
        cmocka_unit_test_setup_teardown(test_watch, fixture_open_archive, fixture_close),
        cmocka_unit_test_setup_teardown(test_no_archive_yet, fixture_open_archive, fixture_close),
        cmocka_unit_test_setup_teardown(test_studies, fixture_open_archive, fixture_close),
        cmocka_unit_test_setup_teardown(test_many_runs, fixture_open_archive, fixture_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
