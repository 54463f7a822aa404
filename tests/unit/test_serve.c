/* test_serve.c: tests which requests the dashboard answers, and how it follows an archive that
   other processes write. */
#include "archive_fixture.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "archive/overview.h"
#include "archive/store.h"
#include "serve/guests.h"
#include "serve/streams.h"
#include "serve/watch.h"
#include "base/alive.h"

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

/* The dashboard answers at the address that it listens at. */
static void test_own_address(void **state)
{
    const char *why;
    const ak_gate gate = {.port = 8017, .address = "127.0.0.2"};
    ak_gate_request request = {.method = "GET", .host = "127.0.0.2:8017"};
    (void)state;
    assert_int_equal(ak_gate_check(&why, &gate, &request), 200);
    request.host = "127.0.0.3:8017";
    assert_int_equal(ak_gate_check(&why, &gate, &request), 403);
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

/* ---- who may stay ------------------------------------------------------------------------------
 */

static ak_guest *enter(ak_guests *guests, ak_guest **leaver)
{
    ak_guest *fresh = ak_guests_enter(leaver, guests, -1);
    assert_non_null(fresh);
    if (*leaver != NULL) {
        ak_guests_dismiss(guests, *leaver);
    }
    return fresh;
}

/* However many connections are idle, a new one gets a place. Event streams are replaced last. */
static void test_guests(void **state)
{
    ak_guests guests = {0};
    ak_guest *leaver, *stream, *second, *idle, *asks;
    (void)state;
    stream = enter(&guests, &leaver);
    ak_guests_asked(&guests, stream, true);
    idle = enter(&guests, &leaver);
    asks = enter(&guests, &leaver);
    for (int i = 3; i < AK_GUESTS_MAX; i++) {
        (void)enter(&guests, &leaver);
        assert_null(leaver);
    }
    ak_guests_asked(&guests, asks, false);
    assert_int_equal(guests.count, AK_GUESTS_MAX);
    second = enter(&guests, &leaver);
    assert_ptr_equal(leaver, idle);
    assert_int_equal(guests.count, AK_GUESTS_MAX);
    ak_guests_leave(&guests, idle); /* once its connection has ended */
    assert_int_equal(guests.count, AK_GUESTS_MAX);
    for (int i = 0; i < AK_GUESTS_MAX - 3; i++) {
        (void)enter(&guests, &leaver);
        assert_true(leaver != NULL && leaver != stream && leaver != asks);
    }
    (void)enter(&guests, &leaver);
    assert_ptr_equal(leaver, asks);
    /* A house full of streams: the oldest of them goes. */
    for (ak_guest *one = guests.first; one != NULL; one = one->next) {
        if (!one->dismissed && one != stream) {
            ak_guests_asked(&guests, one, true);
        }
    }
    (void)enter(&guests, &leaver);
    assert_ptr_equal(leaver, stream);
    (void)second;
    while (guests.first != NULL) {
        ak_guests_leave(&guests, guests.first);
    }
    assert_int_equal(guests.count, 0);
}

/* A text with line breaks cannot begin a second field or event. */
static void test_one_line_a_field(void **state)
{
    ak_buf out = AK_BUF(4096);
    json_t *data = json_pack("[s]", "a\nb\r\n\n\xe2\x80\xa8");
    (void)state;
    ak_sse_put(&out, "1.2\nevent: forged\ndata: []\n\n", "runs\r", data);
    assert_string_equal(out.data, "id: 1.2 event: forged data: []  \nevent: runs \n"
                                  "data: [\"a\\nb\\r\\n\\n\\u2028\"]\n\n");
    ak_buf_free(&out);
    json_decref(data);
    assert_true(ak_watch_is_place("1.2.3.4"));
    assert_false(ak_watch_is_place("1.2.3.4\nevent: forged"));
    assert_false(ak_watch_is_place("1.2.3."));
    assert_false(ak_watch_is_place(NULL));
}

/* ---- the archive that is watched
 * -----------------------------------------------------------------
 */

/* Returns how many runs have changed since a place, and a number that is a member of the first. */
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

/* Watching an archive that does not exist does not create it. It is read once it exists. */
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
                   "this is not a result of study");
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

/* Damaged rows of another program do not keep other rows from being shown. */
static void test_spoiled_rows(void **state)
{
    static const char spoil[] =
        "PRAGMA foreign_keys = OFF;"
        "INSERT INTO studies (ended, kind, result) VALUES ('x', 'study', '{'), ('x', 'study', "
        "'[]'), "
        "('x', 'study', '{\"arms\": 3, \"size\": [], \"kernel\": \"gemm\"}');"
        "INSERT INTO runs (id, started, ended, kernel, implementation, device, size, dtype, "
        "choices, "
        "result) VALUES ('r1', '', '2026' || char(10) || 'event: forged', 'matmul', '', 'host', "
        "'', "
        "'', '', '{\"best\": {\"ms\": 9e999}, \"evaluated\": 1}'), "
        "('r2', '', 'zzzz', 'matmul', '', 'host', '', '', '', 'no JSON');"
        "CREATE TABLE fleets (id TEXT PRIMARY KEY, seen TEXT NOT NULL, run TEXT, about TEXT NOT "
        "NULL, "
        "workers TEXT NOT NULL);"
        "INSERT INTO fleets VALUES ('f1', '', NULL, '', '{\"map\": 1}'), ('f2', '', NULL, '', "
        "'{'), "
        "('f3', '', NULL, '', '[3, {\"name\": [], \"state\": \"lost\", \"compile_workers\": [7]}, "
        "{\"compile_workers\": 6}]')";
    fixture *f = fixture_of(state);
    ak_watch *watch = NULL;
    char place[AK_WATCH_PLACE_BYTES], subject[200] = "";
    double value;
    int64_t version;
    assert_ok(ak_watch_open(&watch, f->path, err));
    assert_ok(ak_store_execute(f->archive, spoil, err));
    ak_run run = literal_run("r3");
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    ak_trial trial = literal_trial("MR=4", 1.5);
    trial.run = run.id;
    (void)add_trial(f->archive, trial);
    assert_ok(ak_store_execute(f->archive, "UPDATE trials SET ms = 9e999, checksum = NULL", err));
    poll(watch, true);
    ak_watch_place(place, watch);
    assert_true(ak_watch_is_place(place));
    assert_int_equal(changed_since(watch, NULL, "trials", &value), 3);
    assert_int_equal(studies_since(watch, NULL, subject), 1);
    assert_string_equal(subject, "gemm on ");
    const json_t *fleets = ak_watch_fleets(&version, watch);
    assert_int_equal(json_array_size(fleets), 3);
    assert_int_equal(json_array_size(json_object_get(json_array_get(fleets, 0), "workers")), 0);
    const json_t *workers = json_object_get(json_array_get(fleets, 2), "workers");
    assert_int_equal(json_array_size(workers), 3);
    assert_true(ak_json_number_at(json_array_get(workers, 1), "compile_workers") == 0);
    assert_true(ak_json_number_at(json_array_get(workers, 2), "compile_workers") == 6);
    assert_string_equal(ak_json_text_at(json_array_get(workers, 1), "state"), "lost");
    assert_string_equal(json_string_value(json_object_get(json_array_get(workers, 0), "name")), "");
    /* An end is seen whatever times are in the archive: recordings begin in 1970. */
    assert_ok(ak_archive_end_run(f->archive, "r3", "1970-01-01T00:00:09.000Z", "{}", err));
    poll(watch, true);
    assert_int_equal(changed_since(watch, place, "trials", &value), 1);
    ak_watch_close(watch);
    assert_ok(ak_watch_open(&watch, f->path, err));
    ak_watch_close(watch);
}

static void put_process(ak_archive *archive, const char *note)
{
    char sql[2 * AK_ALIVE_BYTES];
    (void)snprintf(sql, sizeof sql, "UPDATE whereabouts SET process = '%s'", note);
    assert_ok(ak_store_execute(archive, sql, err));
}

/* A run whose process has ended is reported as killed at once, although nothing was written. */
static void test_killed(void **state)
{
    fixture *f = fixture_of(state);
    ak_watch *watch = NULL;
    char note[AK_ALIVE_BYTES], gone[AK_ALIVE_BYTES];
    int64_t before, after;
    ak_alive_note(note);
    if (note[0] == 0) {
        skip(); /* no /proc */
    }
    assert_int_equal(ak_alive_check(note), AK_ALIVE_YES);
    assert_int_equal(ak_alive_check("another-machine pid:[1] 1 1"), AK_ALIVE_UNKNOWN);
    assert_int_equal(ak_alive_check(""), AK_ALIVE_UNKNOWN);
    (void)snprintf(gone, sizeof gone, "%.*s1", (int)(strrchr(note, ' ') - note + 1), note);
    assert_int_equal(ak_alive_check(gone), AK_ALIVE_NO);
    /* A process that nobody has waited for yet, and one that is gone. */
    char none[2 * AK_ALIVE_BYTES];
    const char *place = strchr(strchr(note, ' ') + 1, ' ');
    pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    siginfo_t ended;
    assert_int_equal(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), 0);
    (void)snprintf(none, sizeof none, "%.*s%ld 1", (int)(place - note + 1), note, (long)child);
    assert_int_equal(ak_alive_check(none), AK_ALIVE_NO);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(ak_alive_check(none), AK_ALIVE_NO);

    ak_run run = literal_run("r1");
    json_t *paths = json_object();
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    ak_archive_note_whereabouts(f->archive, "r1", paths);
    json_decref(paths);
    assert_ok(ak_watch_open(&watch, f->path, err));
    assert_int_equal(json_array_size(ak_watch_killed(&before, watch)), 0);
    poll(watch, false);
    ak_watch_close(watch);
    put_process(f->archive, gone);
    assert_ok(ak_watch_open(&watch, f->path, err));
    const json_t *killed = ak_watch_killed(&after, watch);
    assert_int_equal(json_array_size(killed), 1);
    assert_string_equal(json_string_value(json_array_get(killed, 0)), "r1");
    assert_true(after > before);
    poll(watch, false);
    /* It was not killed after all. */
    assert_ok(ak_archive_end_run(f->archive, "r1", "2026-11-21T10:55:00.000Z", "{}", err));
    poll(watch, true);
    assert_int_equal(json_array_size(ak_watch_killed(&after, watch)), 0);
    ak_watch_close(watch);
}

/* The callbacks of the response that was made last: one gives its bytes, the other ends it. */
static struct {
    ak_mhd_reader read;
    void (*end)(void *context);
    void *context;
} response;

static struct MHD_Response *take_response(uint64_t bytes, size_t block, ak_mhd_reader reader,
                                          void *context, void (*end)(void *context))
{
    (void)bytes;
    (void)block;
    response.read = reader;
    response.end = end;
    response.context = context;
    return (struct MHD_Response *)&response;
}

/* A new stream begins with all states, because the browser may know others from an earlier server.
   Only its last list has the new place as its id. */
static void test_stream_begins(void **state)
{
    fixture *f = fixture_of(state);
    const ak_mhd mhd = {.MHD_create_response_from_callback = take_response};
    ak_streams streams = {.mhd = &mhd};
    char text[16384] = "";
    ak_run run = literal_run("r1");
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    assert_ok(ak_archive_add_study(f->archive, AK_STUDY, "{\"kernel\": \"k\", \"arms\": []}", err));
    assert_ok(ak_watch_open(&streams.watch, f->path, err));
    assert_non_null(ak_streams_add(&streams, NULL, NULL, NULL));
    assert_true(response.read(response.context, 0, text, sizeof text - 1) > 0);
    response.end(response.context);
    const char *studies = strstr(text, "event: studies"), *id = strstr(text, "id: ");
    const char *runs = strstr(text, "event: runs");
    assert_non_null(studies);
    assert_true(studies < runs);
    assert_non_null(id);
    assert_true(id > strstr(studies, "\n\n"));
    assert_non_null(strstr(text, "event: fleets\ndata: []"));
    assert_non_null(strstr(text, "event: killed\ndata: []"));
    ak_watch_close(streams.watch);
}

/* Returns how many devices the first run has. */
static size_t devices_of_first(const ak_watch *watch)
{
    json_t *runs = ak_watch_runs(watch, NULL);
    size_t count = json_array_size(json_object_get(json_array_get(runs, 0), "devices"));
    json_decref(runs);
    return count;
}

/* If a run is no longer among the latest, its devices are not shown with old data. */
static void test_devices_of_earlier_runs(void **state)
{
    fixture *f = fixture_of(state);
    ak_watch *watch = NULL;
    ak_run first = literal_run("first");
    ak_trial trial = literal_trial("MR=4", 1.5);
    trial.run = first.id;
    trial.measured_on = (char *)"cuda:0@node3";
    assert_ok(ak_archive_add_run(f->archive, &first, err));
    (void)add_trial(f->archive, trial);
    assert_ok(ak_watch_open(&watch, f->path, err));
    assert_int_equal(devices_of_first(watch), 1);
    for (int i = 0; i < AK_WATCH_FLEETS_MAX; i++) {
        char id[16];
        (void)snprintf(id, sizeof id, "later%d", i);
        ak_run later = literal_run(id);
        assert_ok(ak_archive_add_run(f->archive, &later, err));
    }
    poll(watch, true);
    assert_int_equal(devices_of_first(watch), 1); /* nothing is new in it */
    (void)add_trial(f->archive, trial);
    poll(watch, true);
    assert_int_equal(devices_of_first(watch), 0);
    assert_ok(ak_archive_end_run(f->archive, "later0", "2026-11-21T10:55:00.000Z", "{}", err));
    poll(watch, true);
    assert_int_equal(devices_of_first(watch), 1);
    ak_watch_close(watch);
}

/* Imported trials may say that they took any time: the run with their sum is shown like others. */
static void test_devices_that_took_long(void **state)
{
    fixture *f = fixture_of(state);
    ak_watch *watch = NULL;
    ak_run run = literal_run("long");
    ak_trial trial = literal_trial("MR=4", 1.5);
    trial.run = run.id;
    trial.check_ns = INT64_MAX;
    trial.measure_ns = 0; /* an integer and another that overflow would be a real number */
    run.result_json = (char *)"{\"failed\": {\"crashed\": 9223372036854775807, \"rejected\": 1}}";
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    (void)add_trial(f->archive, trial);
    (void)add_trial(f->archive, trial);
    assert_ok(ak_watch_open(&watch, f->path, err));
    poll(watch, false);
    assert_int_equal(devices_of_first(watch), 1);
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

/* A poll reads only what is new. A thousand runs that have not changed are answered from memory. */
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
    assert_in_range(statements, 1, 10);
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
        cmocka_unit_test(test_own_address),
        cmocka_unit_test(test_origins),
        cmocka_unit_test(test_sites),
        cmocka_unit_test(test_methods),
        cmocka_unit_test(test_token),
        cmocka_unit_test(test_guests),
        cmocka_unit_test(test_one_line_a_field),
        cmocka_unit_test_setup_teardown(test_spoiled_rows, fixture_open_archive, fixture_close),
        cmocka_unit_test_setup_teardown(test_killed, fixture_open_archive, fixture_close),
        cmocka_unit_test_setup_teardown(test_watch, fixture_open_archive, fixture_close),
        cmocka_unit_test_setup_teardown(test_no_archive_yet, fixture_open_archive, fixture_close),
        cmocka_unit_test_setup_teardown(test_studies, fixture_open_archive, fixture_close),
        cmocka_unit_test_setup_teardown(test_many_runs, fixture_open_archive, fixture_close),
        cmocka_unit_test_setup_teardown(test_stream_begins, fixture_open_archive, fixture_close),
        cmocka_unit_test_setup_teardown(test_devices_of_earlier_runs, fixture_open_archive,
                                        fixture_close),
        cmocka_unit_test_setup_teardown(test_devices_that_took_long, fixture_open_archive,
                                        fixture_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
