/*
 * test_fleet_cores.c: tests compile workers on the machines of device workers: who compiles, where
 * artifacts are and how they are sent, and that a lost compile worker or machine costs only a
 * compilation. Everything runs on this machine.
 */
#include "worker_fixture.h"

#include <signal.h>

#include "base/cores.h"
#include "pool_fixture.h"
#include "worker/pool_state.h"
#include "worker/relay.h"
#include "worker/travel.h"

/* Returns a launcher whose workers do not see the pool's folder, so that files must be sent. */
static const char *away(void)
{
    static char launcher[2 * AK_PATH_MAX];
    fixture_write("away.sh", "program=$1 beat=$4; shift 5\n"
                             "exec \"$program\" worker --stdio \"$beat\" /no/such/folder \"$@\"\n");
    (void)snprintf(launcher, sizeof launcher, "cmd:sh %s/away.sh", fixture_folder);
    return launcher;
}

static void turn(ak_pool *pool)
{
    ak_error err = AK_ERROR_INIT;
    if (ak_pool_turn(pool, AK_MS_NS, true, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
}

/* Opens a pool with this number of workers, and waits until all can compile. */
static ak_pool *open_fleet(const ak_task *task, const char *launcher, const char *workers)
{
    ak_pool_options options = {
        .compile_workers = 3, .every_device = true, .launcher = launcher, .workers = workers};
    ak_error err = AK_ERROR_INIT;
    ak_pool *pool = NULL;
    if (ak_pool_open(&pool, task, &options, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(ak_pool_compile_workers(pool), 3); /* those of this machine so far */
    const int64_t deadline = ak_clock_ns() + WAIT_NS;
    for (size_t fit = 0; fit < pool->device_count && ak_clock_ns() < deadline;) {
        turn(pool);
        fit = 0;
        for (size_t i = 0; i < pool->device_count; i++) {
            fit += pool->devices[i].state == AK_DEVICE_FREE ? 1 : 0;
        }
    }
    return pool;
}

static void submit(ak_pool *pool, const ak_task *task, ak_job_kind kind, enum mode mode)
{
    ak_error err = AK_ERROR_INIT;
    ak_job job = {.kind = kind,
                  .id = 1,
                  .config = fixture_config(task, mode),
                  .timer = {.budget_ns = 5 * AK_MS_NS}};
    if (ak_pool_submit(pool, &job, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
}

static void expect_good(ak_pool *pool, const char *what)
{
    ak_result result = wait_one(pool);
    expect_fate(&result, what, AK_TRIAL_OK, NULL);
    ak_result_clear(&result);
}

/* Returns a child of a process whose command line has this word, or 0. */
static pid_t child_with(pid_t parent, const char *word)
{
    char path[64], *list = NULL, *line = NULL;
    size_t length = 0;
    pid_t found = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
    if (ak_fs_read(&list, NULL, path, 65536, NULL) != AK_OK) {
        return 0;
    }
    for (char *at = list; found == 0 && *at != 0;) {
        long pid = strtol(at, &at, 10);
        at += *at == ' ' ? 1 : 0;
        (void)snprintf(path, sizeof path, "/proc/%ld/cmdline", pid);
        if (ak_fs_read(&line, &length, path, 65536, NULL) == AK_OK) {
            found = memmem(line, length, word, strlen(word)) != NULL ? (pid_t)pid : 0;
            ak_free(line);
        }
    }
    ak_free(list);
    return found;
}

static pid_t relay_of(const ak_pool_device *d)
{
    return child_with(d->worker.proc.pid, "--stdio");
}

/* Runs the pool until the first compile worker of a device has a process, and returns its id. */
static pid_t compiler_of(ak_pool *pool, const ak_pool_device *d)
{
    const int64_t deadline = ak_clock_ns() + WAIT_NS;
    pid_t pid = 0;
    while ((pid = child_with(relay_of(d), "--compile")) == 0 && ak_clock_ns() < deadline) {
        ak_clock_sleep_ns(AK_MS_NS / 5);
    }
    (void)pool;
    assert_true(pid > 0);
    return pid;
}

/* ---- who compiles ---------------------------------------------------------------------------- */

/* The machines of the workers compile. Two workers on the same machine share its cores. */
static void test_counted(void **state)
{
    (void)state;
    ak_task *task = fixture_task("N=100");
    ak_pool *pool = open_fleet(task, "cmd:env", "2");
    const size_t cores = (size_t)ak_cores() > AK_CORES_MAX ? AK_CORES_MAX : (size_t)ak_cores();
    const size_t each = cores / 2 == 0 ? 1 : cores / 2;
    assert_string_equal(pool->devices[0].place, pool->devices[1].place);
    assert_int_equal(pool->devices[0].share, each);
    assert_int_equal(ak_pool_compile_workers(pool), 2 * each);
    submit(pool, task, AK_JOB_CHECK, MODE_OK);
    submit(pool, task, AK_JOB_CHECK, MODE_NO_COMPILE);
    /* Usually the one that does not compile is first; on a busy machine the other may be. */
    ak_result results[] = {wait_one(pool), wait_one(pool)};
    const int good = results[0].trial.status == AK_TRIAL_OK ? 0 : 1;
    expect_fate(&results[good], "compiled beside a device", AK_TRIAL_OK, NULL);
    expect_fate(&results[1 - good], "does not compile", AK_TRIAL_COMPILE_ERROR,
                "this is not to be compiled");
    assert_in_range(results[1 - good].trial.compile_worker, 1, 2);
    ak_result_clear(&results[0]);
    ak_result_clear(&results[1]);
    for (size_t i = 0; i < pool->compiler_count; i++) {
        assert_int_equal(pool->compilers[i].proc.pid, 0); /* none of this machine was needed */
    }
    assert_true(ak_fs_is_file(pool->units[0].artifact)); /* the folder is shared */
    assert_int_equal(pool->units[0].place, AK_POOL_NONE);
    ak_pool_close(pool);
    ak_task_close(task);
}

/* As long as no worker's machine is ready, the tuner's machine compiles. */
static void test_before(void **state)
{
    (void)state;
    ak_task *task = fixture_task("N=100");
    ak_error err = AK_ERROR_INIT;
    char launcher[2 * AK_PATH_MAX];
    fixture_write("wait.sh", "exec sleep 1000000\n"); /* says nothing, whatever it is told */
    (void)snprintf(launcher, sizeof launcher, "cmd:sh %s/wait.sh", fixture_folder);
    ak_pool_options options = {.compile_workers = 1, .every_device = true, .launcher = launcher};
    ak_pool *pool = NULL;
    const int64_t deadline = ak_clock_ns() + WAIT_NS;
    assert_int_equal(ak_pool_open(&pool, task, &options, &err), AK_OK);
    submit(pool, task, AK_JOB_TRIAL, MODE_OK);
    while (pool->units[0].state != AK_UNIT_COMPILED && ak_clock_ns() < deadline) {
        turn(pool);
    }
    assert_int_equal(pool->units[0].compiled.status, AK_TRIAL_OK);
    ak_pool_close(pool);
    ak_task_close(task);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Artifacts stay on the machine that compiled them and are measured there. For a check, which the
   home device makes, the artifact is sent to it. */
static void test_stays(void **state)
{
    (void)state;
    char path[AK_PATH_MAX];
    ak_task *task = fixture_task("N=100");
    ak_pool *pool = open_fleet(task, away(), "2");
    submit(pool, task, AK_JOB_TRIAL, MODE_OK);
    submit(pool, task, AK_JOB_TRIAL, MODE_SAME);
    for (int i = 0; i < 2; i++) {
        expect_good(pool, "measured beside its artifact");
    }
    for (size_t i = 0; i < 2; i++) {
        const ak_pool_unit *u = &pool->units[i];
        assert_in_range(u->place, 0, 1);
        assert_false(ak_fs_is_file(u->artifact));
        ak_pool_travel_path(path, &pool->devices[u->place], u->artifact);
        assert_true(ak_fs_is_file(path));
    }
    assert_int_not_equal(pool->units[0].place, pool->units[1].place); /* one each */
    const size_t there = pool->units[0].place == pool->home ? 1 : 0;
    assert_false(ak_pool_artifact(path, pool, &pool->units[there].config)); /* not here */
    submit(pool, task, AK_JOB_CHECK, there == 0 ? MODE_OK : MODE_SAME);
    expect_good(pool, "it has travelled to the home");
    assert_true(ak_pool_artifact(path, pool, &pool->units[there].config));
    assert_int_equal(pool->units[there].place, AK_POOL_NONE);
    assert_true(ak_fs_is_file(pool->units[there].artifact));
    ak_pool_close(pool);
    ak_task_close(task);
}

/* Submits a trial while all devices are held, waits until it is compiled, and returns its unit. */
static const ak_pool_unit *compiled_only(ak_pool *pool, const ak_task *task, enum mode mode)
{
    const size_t at = pool->unit_count;
    const int64_t deadline = ak_clock_ns() + WAIT_NS;
    for (size_t i = 0; i < pool->device_count; i++) {
        pool->devices[i].held = true;
    }
    submit(pool, task, AK_JOB_TRIAL, mode);
    while (pool->units[at].ended_ns == 0 && ak_clock_ns() < deadline) {
        turn(pool);
    }
    assert_in_range(pool->units[at].place, 0, 1);
    return &pool->units[at];
}

/* Just after its compilation, a trial waits for the busy device on the same machine. Later its
   artifact is sent to a device that is free. */
static void test_patience(void **state)
{
    (void)state;
    ak_task *task = fixture_task("N=100");
    ak_pool *pool = open_fleet(task, away(), "2");
    const size_t place = compiled_only(pool, task, MODE_OK)->place;
    ak_pool_device *other = &pool->devices[1 - place];
    pool->units[0].ended_ns = ak_clock_ns() + WAIT_NS; /* no machine is too slow for this test */
    other->held = false;
    for (int i = 0; i < 20; i++) {
        turn(pool);
    }
    assert_int_equal(pool->job_count, 1);
    assert_int_equal(pool->jobs[0]->on, AK_POOL_NONE);
    assert_int_equal(other->given, 0);
    pool->units[0].ended_ns = ak_clock_ns() - AK_SECOND_NS;
    expect_good(pool, "it has travelled to the device that is free");
    assert_int_equal(other->given, 1);
    assert_int_equal(pool->devices[place].given, 0);
    assert_int_equal(pool->units[0].place, AK_POOL_NONE);
    ak_pool_close(pool);
    ak_task_close(task);
}

/* A machine that does not send an artifact in time gets no more compilations, and another machine
   compiles it. */
static void test_never_fetched(void **state)
{
    (void)state;
    ak_task *task = fixture_task("N=100");
    ak_pool *pool = open_fleet(task, away(), "2");
    const size_t place = compiled_only(pool, task, MODE_OK)->place;
    ak_pool_device *d = &pool->devices[place];
    const pid_t relay = relay_of(d);
    (void)kill(relay, SIGSTOP);
    ak_pool_travel_fetch(pool, 0);
    assert_int_equal(d->fetching, 0);
    assert_true(d->fetch_deadline > ak_clock_ns());
    d->fetch_deadline = 1;
    pool->watched_ns = 0;
    ak_pool_cores_watch(pool);
    assert_int_equal(d->core_count, 0);
    assert_int_not_equal(pool->units[0].state, AK_UNIT_COMPILED);
    pool->devices[1 - place].held = false;
    expect_good(pool, "compiled by another machine");
    assert_int_equal(pool->devices[1 - place].given, 1);
    (void)kill(relay, SIGCONT);
    ak_pool_close(pool);
    ak_task_close(task);
}

static ak_status said(ak_pool *pool, ak_pool_device *d, const char *text, ak_error *err)
{
    json_t *message = NULL;
    ak_link_message kind;
    assert_int_equal(ak_json_parse(&message, text, strlen(text), "test", NULL), AK_OK);
    ak_status status = ak_pool_link_said(&kind, pool, d, message, err);
    json_decref(message);
    return status;
}

/* False messages of a machine about files and compile workers are refused. */
static void test_lies(void **state)
{
    (void)state;
    static const char *const harmless[] = {"{\"file\":\"0.so\",\"at\":0,\"data\":\"\"}",
                                           "{\"file\":\"../../x\",\"at\":0,\"data\":\"\"}",
                                           "{\"fetched\":\"0.so\",\"why\":null}",
                                           "{\"file\":7}",
                                           "{\"core\":1,\"id\":99,\"ok\":true}",
                                           "{\"core\":1,\"ended\":\"\"}",
                                           "{\"died\":\"x\",\"begun\":7}"};
    static const struct {
        const char *text, *why;
    } bad[] = {{"{\"core\":0,\"id\":1}", "no such compile worker"},
               {"{\"core\":1e300,\"id\":1}", "no such compile worker"},
               {"{\"core\":\"x\"}", "no such compile worker"}},
      fetching[] = {{"{\"file\":\"%s\",\"at\":5,\"data\":\"\"}", "nobody had asked for"},
                    {"{\"file\":\"%s\"}", "nobody had asked for"},
                    {"{\"file\":\"%s\",\"at\":0,\"data\":\"*\"}", "damaged"}};
    char text[256];
    ak_task *task = fixture_task("N=100");
    ak_pool *pool = open_fleet(task, away(), "1");
    ak_pool_device *d = &pool->devices[0];
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++) {
        ak_error err = AK_ERROR_INIT;
        if (said(pool, d, harmless[i], &err) != AK_OK) {
            fail_msg("%s: %s", harmless[i], err.text);
        }
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ak_error err = AK_ERROR_INIT;
        assert_int_equal(said(pool, d, bad[i].text, &err), AK_CORRUPT);
        assert_non_null(strstr(err.text, bad[i].why));
    }
    submit(pool, task, AK_JOB_TRIAL, MODE_OK);
    expect_good(pool, "compiled there");
    ak_pool_travel_fetch(pool, 0);
    assert_int_equal(d->fetching, 0);
    for (size_t i = 0; i < sizeof fetching / sizeof fetching[0]; i++) {
        ak_error err = AK_ERROR_INIT;
        (void)snprintf(text, sizeof text, fetching[i].text, ak_fs_base(pool->units[0].artifact));
        assert_int_not_equal(said(pool, d, text, &err), AK_OK);
        if (strstr(err.text, fetching[i].why) == NULL) {
            fail_msg("%s: %s", text, err.text);
        }
    }
    /* a machine whose files do not come compiles no more; others do */
    (void)snprintf(text, sizeof text, "{\"fetched\":\"%s\",\"why\":\"lost\"}",
                   ak_fs_base(pool->units[0].artifact));
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(said(pool, d, text, &err), AK_OK);
    assert_true(pool->units[0].deleted);
    assert_int_equal(ak_pool_compile_workers(pool), 3);
    submit(pool, task, AK_JOB_CHECK, MODE_OK);
    expect_good(pool, "compiled here");
    ak_pool_close(pool);
    ak_task_close(task);
}

/* If an artifact does not arrive, the trial that runs on that machine goes on, and what its compile
   workers still say does not end the connection. */
static void test_running_stays(void **state)
{
    (void)state;
    char text[256];
    ak_task *task = fixture_task("N=100");
    ak_pool *pool = open_fleet(task, away(), "1");
    ak_pool_device *d = &pool->devices[0];
    (void)compiled_only(pool, task, MODE_WRONG);
    (void)compiled_only(pool, task, MODE_OK);
    assert_int_equal(pool->artifacts, 2);
    const pid_t relay = relay_of(d);
    (void)kill(relay, SIGSTOP); /* so that the trial does not end yet */
    d->held = false;
    turn(pool);
    assert_true(d->job != NULL && d->job->units[0] == 0);
    ak_pool_travel_fetch(pool, 1);
    (void)snprintf(text, sizeof text, "{\"fetched\":\"%s\",\"why\":\"lost\"}",
                   ak_fs_base(pool->units[1].artifact));
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(said(pool, d, text, &err), AK_OK);
    assert_int_equal(pool->units[0].state, AK_UNIT_COMPILED);
    assert_int_not_equal(pool->units[1].state, AK_UNIT_COMPILED);
    assert_true(d->has[0]);
    assert_false(d->has[1]);
    assert_int_equal(pool->artifacts, 1);
    assert_int_equal(said(pool, d, "{\"core\":1,\"id\":99,\"ok\":true}", &err), AK_OK);
    (void)kill(relay, SIGCONT);
    ak_result result = wait_one(pool);
    expect_fate(&result, "it was running", AK_TRIAL_WRONG_RESULT, NULL);
    assert_int_equal(strlen(result.artifact_hash), AK_HASH_BYTES - 1);
    ak_result_clear(&result);
    expect_good(pool, "compiled here");
    assert_int_equal(relay_of(d), relay); /* the connection stays */
    assert_int_equal(pool->artifacts, 1);
    ak_pool_close(pool);
    ak_task_close(task);
}

/* ---- losses ---------------------------------------------------------------------------------- */

/* If a compile worker is killed, is stopped or hangs, another compiles the unit. The relay is
   stopped until then, so that the compilation has not ended before, however slow this process is.
 */
static void test_compiler_lost(void **state)
{
    (void)state;
    ak_task *task = fixture_task("N=100");
    ak_pool *pool = open_fleet(task, "cmd:env", "1");
    ak_pool_device *d = &pool->devices[0];
    submit(pool, task, AK_JOB_CHECK, MODE_STACK); /* starts the compile worker */
    ak_result first = wait_one(pool);
    ak_result_clear(&first);
    static const enum mode modes[] = {MODE_OK, MODE_SAME, MODE_THREADS};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        pid_t pid = compiler_of(pool, d);
        pid_t relay = relay_of(d);
        (void)kill(relay, SIGSTOP);
        submit(pool, task, AK_JOB_CHECK, modes[i]);
        assert_true(d->cores[0].busy);
        (void)kill(pid, i == 0 ? SIGKILL : SIGSTOP);
        (void)kill(relay, SIGCONT);
        if (i == 2) {
            d->cores[0].deadline = 0;
            pool->watched_ns = 0;
        }
        expect_good(pool, i == 0 ? "killed" : i == 1 ? "stopped" : "hangs");
        assert_int_equal(relay_of(d), relay); /* the connection stays */
        const int64_t deadline = ak_clock_ns() + WAIT_NS;
        while (compiler_of(pool, d) == pid && ak_clock_ns() < deadline) {
            turn(pool);
        }
        assert_int_not_equal(compiler_of(pool, d), pid);
    }
    ak_pool_close(pool);
    ak_task_close(task);
}

/* If the device worker dies, the connection, the compile workers and their artifacts stay. If the
   whole machine is lost, its artifacts are compiled again. */
static void test_machine_lost(void **state)
{
    (void)state;
    ak_task *task = fixture_task("N=100");
    ak_pool *pool = open_fleet(task, away(), "1");
    ak_pool_device *d = &pool->devices[0];
    submit(pool, task, AK_JOB_CHECK, MODE_OK);
    expect_good(pool, "first");
    const pid_t relay = relay_of(d), compiler = compiler_of(pool, d);
    const int compiled = (int)pool->next_request;
    (void)kill(child_with(relay, "--device"), SIGKILL);
    submit(pool, task, AK_JOB_CHECK, MODE_OK);
    ak_result result = wait_one(pool); /* it crashed with the worker, or came after it */
    ak_result_clear(&result);
    submit(pool, task, AK_JOB_CHECK, MODE_OK);
    expect_good(pool, "after the device worker's death");
    assert_int_equal(relay_of(d), relay);
    assert_int_equal(compiler_of(pool, d), compiler);
    assert_int_equal(pool->units[0].place, 0);
    assert_true(pool->next_request <= compiled + 5); /* open, and a check or three: no compile */
    (void)kill(relay, SIGKILL);
    submit(pool, task, AK_JOB_CHECK, MODE_OK);
    expect_good(pool, "after the loss of the machine");
    assert_int_not_equal(relay_of(d), relay);
    ak_pool_close(pool);
    ak_task_close(task);
}

/* API keys do not reach the compile workers. */
static void test_secrets(void **state)
{
    (void)state;
    char path[64], *seen = NULL;
    size_t length = 0;
    ak_task *task = fixture_task("N=100");
    (void)setenv("OPENAI_API_KEY", "sk", 1);
    ak_pool *pool = open_fleet(task, "cmd:env", "1");
    submit(pool, task, AK_JOB_CHECK, MODE_OK);
    (void)snprintf(path, sizeof path, "/proc/%d/environ",
                   (int)compiler_of(pool, &pool->devices[0]));
    assert_int_equal(ak_fs_read(&seen, &length, path, 1u << 20, NULL), AK_OK);
    assert_null(memmem(seen, length, "OPENAI_API_KEY", 14));
    ak_free(seen);
    (void)unsetenv("OPENAI_API_KEY");
    ak_pool_close(pool);
    ak_task_close(task);
}

int main(int argc, char **argv)
{
    int code;
    if (fixture_main(&code, argc, argv)) {
        return code;
    }
    (void)setenv("AUTOKERNEL_BEAT_MS", "2000", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counted),       cmocka_unit_test(test_before),
        cmocka_unit_test(test_stays),         cmocka_unit_test(test_lies),
        cmocka_unit_test(test_patience),      cmocka_unit_test(test_never_fetched),
        cmocka_unit_test(test_compiler_lost), cmocka_unit_test(test_machine_lost),
        cmocka_unit_test(test_secrets),       cmocka_unit_test(test_running_stays),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
