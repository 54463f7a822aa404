/*
 * test_fleet.c: tests workers that a launcher starts: the command lines of the launchers, every way
 * to lose a worker, and a launcher that sends false messages. Everything runs on this machine, with
 * milliseconds between beats.
 */
#include "worker_fixture.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "launcher/launcher.h"
#include "pool_fixture.h"
#include "worker/pool_state.h"
#include "worker/relay.h"
#include "worker/travel.h"

/* ---- texts ----------------------------------------------------------------------------------- */

static void expect_refused(const char *text, const char *workers, const char *part)
{
    ak_error err = AK_ERROR_INIT;
    ak_launcher l;
    assert_int_equal(ak_launcher_open(&l, text, workers, "host", &err), AK_INVALID);
    if (strstr(err.text, part) == NULL) {
        fail_msg("%s: %s", text, err.text);
    }
    ak_launcher_close(&l);
}

static void test_refused(void **state)
{
    (void)state;
    expect_refused("rsh:a", NULL, "no such launcher");
    expect_refused("cmd:", NULL, "needs a command");
    expect_refused("cmd:  ", NULL, "needs a command");
    expect_refused("ssh:", NULL, "needs hosts");
    expect_refused("ssh:a,,b", NULL, "needs hosts");
    expect_refused("ssh:a*0", NULL, "needs hosts");
    expect_refused("ssh:-oProxyCommand=x", NULL, "needs hosts");
    expect_refused("ssh:a", "2-3", "for 1 worker only");
    expect_refused("cmd:env", "0", "--workers");
    expect_refused("cmd:env", "3-2", "--workers");
    expect_refused("cmd:env", "2-x", "--workers");
    expect_refused("cmd:env", "1-257", "--workers");
}

/* Joins the words of a seat's command with '|'. */
static void command(char *out, size_t bytes, const char *text, const char *workers,
                    const char *devices, size_t seat)
{
    static const char *const argv[] = {"/a b/autokernel", "it's", NULL};
    ak_error err = AK_ERROR_INIT;
    ak_launcher l;
    ak_words words = {.count = 0};
    if (ak_launcher_open(&l, text, workers, devices, &err) != AK_OK ||
        ak_launcher_command(&words, &l, seat, argv, &err) != AK_OK) {
        fail_msg("%s: %s", text, err.text);
    }
    size_t used = (size_t)snprintf(out, bytes, "%s", l.seats[seat].device);
    for (size_t i = 0; i < words.count; i++) {
        used += (size_t)snprintf(out + used, bytes - used, "|%s", words.at[i]);
    }
    ak_words_free(&words);
    ak_launcher_close(&l);
}

/* A job that may wait in a queue has a unique name, by which it is cancelled if srun was killed. */
static void test_sweep(void **state)
{
    (void)state;
    static const char *const argv[] = {"worker", NULL};
    ak_error err = AK_ERROR_INIT;
    ak_launcher l;
    ak_words words = {.count = 0}, sweep = {.count = 0};
    assert_int_equal(ak_launcher_open(&l, "slurm", "2", "cuda:0", &err), AK_OK);
    (void)snprintf(l.run, sizeof l.run, "autokernel-x");
    assert_int_equal(ak_launcher_command(&words, &l, 1, argv, &err), AK_OK);
    assert_string_equal(words.at[3], "--job-name=autokernel-x-1");
    assert_int_equal(l.ops->sweep(&sweep, &l, 1, &err), AK_OK);
    assert_int_equal(sweep.count, 3);
    assert_string_equal(sweep.at[0], "scancel");
    assert_string_equal(sweep.at[2], "--name=autokernel-x-1");
    ak_words_free(&words);
    ak_words_free(&sweep);
    /* a worker of which nobody hears ends its own job, and no allocation of the user */
    (void)setenv("SLURM_JOB_ID", "7", 1);
    (void)setenv("SLURM_JOB_NAME", "autokernel-x-1", 1);
    assert_int_equal(ak_launcher_leave(&words, "autokernel-x", &err), AK_OK);
    assert_int_equal(words.count, 3);
    assert_string_equal(words.at[2], "7");
    ak_words_free(&words);
    static const char *const others[] = {"autokernel-x", "autokernel-xy-1", "autokernel", "bash"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        (void)setenv("SLURM_JOB_NAME", others[i], 1);
        assert_int_equal(ak_launcher_leave(&words, "autokernel-x", &err), AK_OK);
        assert_int_equal(words.count, 0);
    }
    (void)unsetenv("SLURM_JOB_NAME");
    (void)setenv("SLURM_JOB_ID", "7", 1); /* within an allocation a step ends with it */
    assert_int_equal(ak_launcher_command(&words, &l, 1, argv, &err), AK_OK);
    assert_string_equal(words.at[3], "--job-name=autokernel");
    assert_int_equal(l.ops->sweep(&sweep, &l, 1, &err), AK_OK);
    assert_int_equal(sweep.count, 0);
    (void)unsetenv("SLURM_JOB_ID");
    ak_words_free(&words);
    ak_launcher_close(&l);
}

static void test_commands(void **state)
{
    (void)state;
    char got[1024];
    command(got, sizeof got, "cmd:run  -w{worker} {device}", "3", "cuda:0,cuda:1", 2);
    assert_string_equal(got, "cuda:0|run|-w2|cuda:0|/a b/autokernel|it's");
    command(got, sizeof got, "ssh:-F file a,b*3", NULL, "cuda:0", 3);
    assert_non_null(strstr(got, "|--|b|exec|'/a b/autokernel'|'it'\\''s'"));
    assert_non_null(strstr(got, "|BatchMode=yes|"));
    assert_non_null(strstr(got, "|-F|file|"));
    assert_memory_equal(got, "cuda:2|ssh|", 11); /* the third worker of b */
    (void)unsetenv("SLURM_JOB_ID");
    command(got, sizeof got, "slurm:--gpus=1", "2", "cuda:0", 1);
    assert_string_equal(got, "cuda:0|srun|--nodes=1|--ntasks=1|--job-name=autokernel|--gpus=1|"
                             "/a b/autokernel|it's");
    (void)setenv("SLURM_JOB_ID", "7", 1);
    (void)setenv("SLURM_JOB_NUM_NODES", "2", 1);
    (void)setenv("SLURM_NTASKS", "4", 1);
    (void)setenv("SLURM_CPUS_ON_NODE", "16", 1);
    command(got, sizeof got, "slurm", NULL, "cuda:0", 3);
    assert_string_equal(got, "cuda:0|srun|--nodes=1|--ntasks=1|--job-name=autokernel|--exact|"
                             "--relative=1|--cpus-per-task=8|/a b/autokernel|it's");
    /* one of several tuners that share the seats */
    (void)setenv("AUTOKERNEL_SEAT", "3", 1);
    command(got, sizeof got, "slurm", NULL, "cuda:0", 0);
    assert_non_null(strstr(got, "|--relative=0|--cpus-per-task=8|"));
    command(got, sizeof got, "ssh:a*2,b*2", NULL, "cuda:0", 0);
    assert_memory_equal(got, "cuda:0|ssh|", 11);
    assert_non_null(strstr(got, "|--|b|exec|"));
    command(got, sizeof got, "cmd:run {worker}", "2-4", "host", 0);
    assert_string_equal(got, "host|run|2|/a b/autokernel|it's");
    (void)unsetenv("AUTOKERNEL_SEAT");
    (void)unsetenv("SLURM_JOB_ID");
}

/* ---- pools ----------------------------------------------------------------------------------- */

/* Path of the artifact that is compiled once for all tests; "" before. */
static char compiled[AK_PATH_MAX];

static ak_pool *open_pool(const ak_task *task, const char *launcher, const char *workers,
                          const char *environment)
{
    ak_pool_options options = {.compile_workers = 1,
                               .every_device = true,
                               .launcher = launcher,
                               .workers = workers,
                               .artifact = compiled[0] == 0 ? NULL : compiled,
                               .environment = environment};
    ak_error err = AK_ERROR_INIT;
    ak_pool *pool = NULL;
    if (ak_pool_open(&pool, task, &options, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    return pool;
}

static void submit(ak_pool *pool, const ak_task *task, ak_job_kind kind, int64_t budget_ns)
{
    ak_error err = AK_ERROR_INIT;
    ak_job job = {.kind = kind,
                  .id = 1,
                  .config = fixture_config(task, MODE_OK),
                  .timer = {.budget_ns = budget_ns}};
    if (budget_ns > AK_SECOND_NS) { /* long enough to be met at work */
        job.timer.samples_min = 60;
        job.timer.batch_ns = 10 * AK_MS_NS;
    }
    if (ak_pool_submit(pool, &job, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
}

static void set_beat(const char *ms)
{
    (void)setenv("AUTOKERNEL_BEAT_MS", ms, 1);
}

/* A trial runs on this machine, and its artifact is kept. */
static void test_compile(void **state)
{
    (void)state;
    char *code = NULL;
    size_t length = 0;
    ak_task *task = fixture_task("N=100");
    ak_pool *pool = open_pool(task, "cmd:env", NULL, NULL);
    submit(pool, task, AK_JOB_CHECK, 0);
    ak_result result = wait_one(pool);
    expect_fate(&result, "by cmd:env", AK_TRIAL_OK, NULL);
    assert_non_null(strstr(result.trial.measured_on, "host@"));
    assert_false(pool->devices[0].away); /* the folder is shared, so nothing travels */
    assert_string_equal(pool->devices[0].folder, pool->folder.path);
    ak_result_clear(&result);
    assert_int_equal(ak_fs_read(&code, &length, pool->units[0].artifact, 1u << 24, NULL), AK_OK);
    assert_int_equal(ak_fs_join(compiled, fixture_folder, "compiled.so", NULL), AK_OK);
    assert_int_equal(ak_fs_write(compiled, code, length, NULL), AK_OK);
    ak_free(code);
    ak_pool_close(pool);
    ak_task_close(task);
}

/* Writes a launcher whose worker 0 is faulty: it runs `before`, passes on the worker's first
   message, and then runs `after`. */
static void write_liar(const char *before, const char *after)
{
    char text[2048];
    (void)snprintf(text, sizeof text,
                   "worker=$1; shift\n"
                   "if [ \"$worker\" != 0 ]; then exec \"$@\"; fi\n"
                   "%s\n"
                   "\"$@\" | { IFS= read -r hello; printf '%%s\\n' \"$hello\"; %s; }\n",
                   before, after);
    fixture_write("liar.sh", text);
}

static void liar(char out[2 * AK_PATH_MAX])
{
    (void)snprintf(out, 2 * AK_PATH_MAX, "cmd:sh %s/liar.sh {worker}", fixture_folder);
}

static const struct {
    const char *name, *before, *after, *reason;
} lies[] = {
    {"a banner", "echo 'Welcome to node1!'", ":", "printed \"Welcome to node1!\""},
    {"a banner that is not UTF-8", "printf 'Gr\\374\\337e von \\033[2Jnode1\\n'", ":",
     "printed \"Gr??e von ?[2Jnode1\""},
    {"an error that is not UTF-8", "printf 'Zugriff f\\374r Sie verweigert\\n' >&2; exit 5", ":",
     "(exit code 5): Zugriff f?r Sie verweigert"},
    {"an error that is cut within a character",
     "{ printf x; printf '\\303\\251%.0s' $(seq 200); } >&2; exit 6", ":",
     "(exit code 6): x\303\251"},
    {"half a hello", "printf '{\"hello\": \"auto'; exit 3", ":", "(exit code 3)"},
    {"another program's hello", "echo '{\"hello\": \"world\"}'", ":", "should say hello"},
    {"another protocol", "echo '{\"hello\": \"autokernel\", \"host\": \"h\", \"protocol\": 99}'",
     ":", "h: speaks protocol 99"},
    {"another version",
     "echo '{\"hello\": \"autokernel\", \"host\": \"h\", \"protocol\": 3, \"version\": \"9\"}'",
     ":", "h: has autokernel 9"},
    {"another build",
     "echo '{\"hello\": \"autokernel\", \"host\": \"\\u001b[2J\", \"protocol\": 3, "
     "\"version\": \"" AK_VERSION "\", \"build\": \"abc\"}'",
     ":", "?[2J: has another build of autokernel (abc)"},
    {"a hello of 5 MiB", "head -c 5242880 /dev/zero | tr '\\0' x; cat >/dev/null", ":",
     "longer than"},
    {"silence", "while read -r line; do :; done; exit", ":", "no worker said hello"},
    {"an end at once", "echo no slot >&2; exit 1", ":", "(exit code 1): no slot"},
    {"a password", "read -r word </dev/tty || { echo 'no way to ask' >&2; exit 1; }", ":",
     "no way to ask"},
    {"an end after hello", ":", "kill $$", "the connection ended"},
    {"a line of 5 MiB", ":", "head -c 5242880 /dev/zero | tr '\\0' x; cat >/dev/null",
     "longer than"},
    {"half a line", ":", "printf '{\"id\"'; kill $$", "the connection ended"},
    {"no JSON", ":", "echo hm; cat >/dev/null", "wire protocol"},
    {"what nobody asked", ":", "echo '{\"id\": 99, \"ok\": true}'; cat >/dev/null",
     "nobody had asked"},
    {"two hellos", ":", "printf '%s\\n' \"$hello\"; cat >/dev/null", "nobody had asked"},
    {"silence after hello", ":", "while read -r line; do :; done", "nothing was heard"},
    {"an open that is none", ":", "echo '{\"id\": 2, \"ok\": 7}'; cat >/dev/null", ""},
};

/* A worker that sends false messages is given up with a message of one line, and the other worker
   does the work. */
static void test_lies(void **state)
{
    (void)state;
    ak_task *task = fixture_task("N=100");
    char launcher[2 * AK_PATH_MAX];
    liar(launcher);
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        write_liar(lies[i].before, lies[i].after);
        set_beat(strstr(lies[i].name, "silence") == NULL ? "2000" : "1000");
        ak_pool *pool = open_pool(task, launcher, "1-2", NULL);
        const int64_t deadline = ak_clock_ns() + WAIT_NS;
        submit(pool, task, AK_JOB_TRIAL, 5 * AK_MS_NS);
        ak_result result = wait_one(pool);
        expect_fate(&result, lies[i].name, AK_TRIAL_OK, NULL);
        assert_int_equal(result.device, 1);
        ak_result_clear(&result);
        while (pool->gone[0] == 0 && ak_clock_ns() < deadline) {
            ak_error err = AK_ERROR_INIT;
            assert_int_equal(ak_pool_turn(pool, 5 * AK_MS_NS, true, &err), AK_OK);
        }
        if (strstr(ak_pool_given_up_why(pool), lies[i].reason) == NULL) {
            fail_msg("%s: %s", lies[i].name, ak_pool_given_up_why(pool));
        }
        assert_null(strchr(ak_pool_given_up_why(pool), '\n'));
        ak_pool_close(pool);
    }
    ak_task_close(task);
}

/* If there is no other worker, the run ends with that message. */
static void test_alone(void **state)
{
    (void)state;
    ak_task *task = fixture_task("N=100");
    char launcher[2 * AK_PATH_MAX];
    ak_error err = AK_ERROR_INIT;
    ak_result result;
    liar(launcher);
    write_liar("echo 'Permission denied (publickey)' >&2; exit 255", ":");
    ak_pool *pool = open_pool(task, launcher, NULL, NULL);
    submit(pool, task, AK_JOB_TRIAL, 5 * AK_MS_NS);
    assert_int_equal(ak_pool_wait(&result, pool, WAIT_NS, &err), AK_UNAVAILABLE);
    assert_non_null(strstr(err.text, "(exit code 255): Permission denied (publickey)"));
    ak_pool_close(pool);
    pool = open_pool(task, launcher, "2", NULL); /* one of two that are needed */
    submit(pool, task, AK_JOB_TRIAL, 5 * AK_MS_NS);
    assert_int_equal(ak_pool_wait(&result, pool, WAIT_NS, &err), AK_UNAVAILABLE);
    assert_non_null(strstr(err.text, "1 of 2 workers are left, and 2 are needed"));
    ak_pool_close(pool);
    ak_task_close(task);
}

/* A worker that cannot be started, here because file descriptors are exhausted, is lost without
   harm to others. */
static void test_no_start(void **state)
{
    (void)state;
    ak_task *task = fixture_task("N=100");
    struct rlimit files, few;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    int next = dup(0); /* about so many are open; a worker takes three */
    few = (struct rlimit){.rlim_cur = (rlim_t)next + 16, .rlim_max = files.rlim_max};
    (void)close(next);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    ak_pool *pool = open_pool(task, "cmd:env", "1-16", NULL);
    submit(pool, task, AK_JOB_TRIAL, 5 * AK_MS_NS);
    ak_result result = wait_one(pool);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    expect_fate(&result, "few files", AK_TRIAL_OK, NULL);
    ak_result_clear(&result);
    /* one of the seats says it; one that has started may be lost later, for another reason */
    bool said = false;
    for (size_t i = 0; i < pool->device_count; i++) {
        said = said || strstr(pool->devices[i].gone, "ulimit -n") != NULL;
    }
    assert_true(said);
    ak_pool_close(pool);
    ak_task_close(task);
}

/* The error for a machine without the device names the machine and what it lacks. */
static void test_no_device(void **state)
{
    (void)state;
    char launcher[2 * AK_PATH_MAX];
    ak_task *task = fixture_task("N=100");
    ak_error err = AK_ERROR_INIT;
    ak_result result;
    fixture_write("lacks.sh",
                  "program=$1 beat=$4 folder=$5\n"
                  "exec \"$program\" worker --stdio \"$beat\" \"$folder\" --device cuda:77\n");
    (void)snprintf(launcher, sizeof launcher, "cmd:sh %s/lacks.sh", fixture_folder);
    ak_pool *pool = open_pool(task, launcher, "2", NULL);
    submit(pool, task, AK_JOB_TRIAL, 5 * AK_MS_NS);
    assert_int_equal(ak_pool_wait(&result, pool, WAIT_NS, &err), AK_UNAVAILABLE);
    assert_non_null(strstr(err.text, "of host@"));
    assert_non_null(strstr(err.text, "there is no device host there"));
    ak_pool_close(pool);
    ak_task_close(task);
}

static void test_environment(void **state)
{
    (void)state;
    ak_task *task = fixture_task("N=100");
    ak_error err = AK_ERROR_INIT;
    ak_result result;
    ak_pool *pool = open_pool(task, "cmd:env", NULL, "{\"threads\": 77}");
    submit(pool, task, AK_JOB_TRIAL, 5 * AK_MS_NS);
    assert_int_equal(ak_pool_wait(&result, pool, WAIT_NS, &err), AK_UNAVAILABLE);
    assert_non_null(strstr(err.text, "is another environment: threads: 2 there, 77 here"));
    ak_pool_close(pool);
    ak_task_close(task);
}

/* ---- files that travel -------------------------------------------------------------------- */

static size_t count_files(const char *folder)
{
    AK_AT_END(ak_fs_names_free) ak_fs_names names = {0};
    (void)ak_fs_list(&names, folder, NULL);
    return names.count;
}

static void expect_removed(const char *path)
{
    const int64_t deadline = ak_clock_ns() + WAIT_NS;
    while ((ak_fs_is_file(path) || ak_fs_is_folder(path)) && ak_clock_ns() < deadline) {
        ak_clock_sleep_ns(AK_MS_NS);
    }
    assert_false(ak_fs_is_file(path) || ak_fs_is_folder(path));
}

/* If no folder is shared, the files of the kernel and the artifacts are sent to the worker's
   machine. They are removed there when they are removed here, and nothing remains. */
static void test_travel(void **state)
{
    (void)state;
    char launcher[2 * AK_PATH_MAX], there[AK_PATH_MAX], artifact[AK_PATH_MAX];
    fixture_write("away.sh", "program=$1 beat=$4; shift 5\n"
                             "exec \"$program\" worker --stdio \"$beat\" /no/such/folder \"$@\"\n");
    (void)snprintf(launcher, sizeof launcher, "cmd:sh %s/away.sh", fixture_folder);
    ak_task *task = fixture_task("N=100");
    ak_pool *pool = open_pool(task, launcher, "2", NULL);
    ak_pool_device *d = &pool->devices[0];
    submit(pool, task, AK_JOB_CHECK, 0);
    ak_result result = wait_one(pool);
    expect_fate(&result, "away", AK_TRIAL_OK, NULL);
    d = &pool->devices[result.device];
    assert_true(d->away && d->has[0]);
    assert_string_not_equal(d->folder, pool->folder.path);
    (void)snprintf(there, sizeof there, "%.3000s", d->folder);
    ak_pool_travel_path(artifact, d, pool->units[0].artifact);
    assert_true(ak_fs_is_file(artifact));
    ak_result_clear(&result);
    submit(pool, task, AK_JOB_TRIAL, 5 * AK_MS_NS); /* sent once */
    result = wait_one(pool);
    expect_fate(&result, "away", AK_TRIAL_OK, NULL);
    ak_result_clear(&result);
    assert_true(count_files(there) >= 2); /* kernel, artifact */
    ak_pool_travel_remove(pool, &pool->units[0]);
    expect_removed(artifact);
    ak_error err = AK_ERROR_INIT;
    ak_pack_file *file = &pool->kernel.files[0];
    const size_t length = file->length;
    file->length = (size_t)AK_TRAVEL_FILE_MAX + 1;
    assert_int_equal(ak_pool_travel_begin(pool, d, &err), AK_LIMIT);
    assert_non_null(strstr(err.text, "larger than 268435456 bytes, so it is not sent to "));
    file->length = length;
    ak_pool_close(pool);
    expect_removed(there); /* the relay ends by itself, when its line is closed */
    ak_task_close(task);
}

static void expect_take(const char *line, ak_status status)
{
    ak_buf text = AK_BUF(4096);
    ak_error err = AK_ERROR_INIT;
    ak_buf_puts(&text, line);
    assert_true(ak_relay_begins(&text, "{\"file\":"));
    if (ak_travel_take(&text, fixture_folder, &err) != status) {
        fail_msg("%s: %s", line, err.text);
    }
    ak_buf_free(&text);
}

/* A line of the wire protocol can write files in the folder only. */
static void test_travel_lines(void **state)
{
    (void)state;
    char path[AK_PATH_MAX], *text = NULL;
    expect_take("{\"file\":\"a/b.txt\",\"at\":0,\"data\":\"aGVsbG8h\"}", AK_OK);
    expect_take("{\"file\":\"a/b.txt\",\"at\":5,\"data\":\"IHlvdQ==\"}", AK_OK);
    assert_int_equal(ak_fs_join(path, fixture_folder, "a/b.txt", NULL), AK_OK);
    assert_int_equal(ak_fs_read(&text, NULL, path, 100, NULL), AK_OK);
    assert_string_equal(text, "hello you");
    ak_free(text);
    expect_take("{\"file\":\"a/b.txt\",\"at\":0,\"data\":\"\"}", AK_OK);
    expect_take("{\"file\":\"a/b.txt\"}", AK_OK);
    assert_false(ak_fs_is_file(path));
    expect_take("{\"file\":\"a/b.txt\"}", AK_OK); /* it is gone already */
    static const char *const bad[] = {"/a", "../a", "a/../b", "", ".", "a//b", "a/", "..", "a/."};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char line[128];
        (void)snprintf(line, sizeof line, "{\"file\":\"%s\",\"at\":0,\"data\":\"\"}", bad[i]);
        expect_take(line, AK_INVALID);
    }
    expect_take("{\"file\":\"c\",\"at\":-1,\"data\":\"\"}", AK_INVALID);
    expect_take("{\"file\":\"c\",\"at\":268435456,\"data\":\"\"}", AK_INVALID);
    expect_take("{\"file\":\"c\",\"at\":0,\"data\":\"a\"}", AK_INVALID);
    expect_take("{\"file\":\"c\",\"at\":0,\"data\":\"a*==\"}", AK_INVALID);
    expect_take("{\"file\":\"c\",\"at\":0,\"data\":7}", AK_INVALID);
    expect_take("{\"file\":7}", AK_INVALID);
    expect_take("{\"file\":", AK_INVALID);
}

/* ---- workers that are lost ------------------------------------------------------------------- */

/* Returns the only child of a process, or 0. */
static pid_t child_of(pid_t pid)
{
    char path[64], text[64] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *file = fopen(path, "r");
    size_t got = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
    text[got] = 0;
    if (file != NULL) {
        (void)fclose(file);
    }
    return (pid_t)strtol(text, NULL, 10);
}

static void expect_gone(pid_t pid)
{
    char path[64], text[256];
    const int64_t deadline = ak_clock_ns() + WAIT_NS;
    assert_true(pid > 0);
    for (;;) {
        (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        FILE *file = fopen(path, "r");
        size_t got = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
        text[got] = 0;
        if (file != NULL) {
            (void)fclose(file);
        }
        /* where nobody reaps orphans, a zombie is as good as gone */
        if (got == 0 || strstr(text, ") Z ") != NULL) {
            return;
        }
        if (ak_clock_ns() > deadline) {
            fail_msg("process %d is still there: %s", (int)pid, text);
        }
        ak_clock_sleep_ns(AK_MS_NS);
    }
}

typedef struct members {
    pid_t near, far, worker;
} members;

static members members_of(const ak_pool_device *d)
{
    members m = {.near = d->worker.proc.pid};
    m.far = child_of(m.near);
    m.worker = child_of(m.far);
    assert_true(m.near > 0 && m.far > 0 && m.worker > 0);
    return m;
}

/* Runs the pool until a device is busy, and returns the device. */
static ak_pool_device *busy_device(ak_pool *pool)
{
    const int64_t deadline = ak_clock_ns() + WAIT_NS;
    while (ak_clock_ns() < deadline) {
        ak_error err = AK_ERROR_INIT;
        /* Devices are fed after the turn: a job that begins in it may also end in it. */
        if (ak_pool_turn(pool, AK_MS_NS, false, &err) != AK_OK ||
            ak_pool_feed_devices(pool, &err) != AK_OK) {
            fail_msg("%s", err.text);
        }
        for (size_t i = 0; i < pool->device_count; i++) {
            if (pool->devices[i].state == AK_DEVICE_JOB) {
                return &pool->devices[i];
            }
        }
    }
    for (size_t i = 0; i < pool->device_count; i++) {
        print_error("%s: state %d, %d failures, %s\n", pool->devices[i].name,
                    (int)pool->devices[i].state, pool->devices[i].failures, pool->gone);
    }
    fail_msg("no device has begun");
    return NULL;
}

/* Gives the pending check or comparison to the first device, whose relay is stopped before that:
   the job has not begun, however slow this process is, until the relay gets SIGCONT. */
static members hold_job(ak_pool *pool)
{
    ak_error err = AK_ERROR_INIT;
    ak_pool_device *d = &pool->devices[0];
    const int64_t deadline = ak_clock_ns() + WAIT_NS;
    for (size_t i = 0; i < pool->device_count && ak_clock_ns() < deadline;) {
        assert_int_equal(ak_pool_turn(pool, AK_MS_NS, false, &err), AK_OK);
        i = pool->devices[i].state == AK_DEVICE_FREE ? i + 1 : 0;
    }
    const members m = members_of(d);
    (void)kill(m.far, SIGSTOP);
    pool->home = 0; /* the other may have been ready first */
    assert_int_equal(ak_pool_feed_devices(pool, &err), AK_OK);
    assert_int_equal(d->state, AK_DEVICE_JOB);
    return m;
}

enum { NEAR, FAR, WORKER };
static const struct {
    const char *name;
    int who, signal;
    ak_trial_status status;
    const char *reason;
} losses[] = {
    {"the relay here is killed", NEAR, SIGKILL, AK_TRIAL_OK, NULL},
    {"the relay here is stopped", NEAR, SIGSTOP, AK_TRIAL_OK, NULL},
    {"the relay there is killed", FAR, SIGKILL, AK_TRIAL_OK, NULL},
    {"the relay there is told to end", FAR, SIGTERM, AK_TRIAL_OK, NULL},
    {"the relay there is stopped", FAR, SIGSTOP, AK_TRIAL_OK, NULL},
    {"the worker is stopped", WORKER, SIGSTOP, AK_TRIAL_OK, NULL},
    {"the worker is killed", WORKER, SIGKILL, AK_TRIAL_CRASHED, "signal 9"},
};

static void test_losses(void **state)
{
    (void)state;
    ak_task *task = fixture_task("N=100");
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {
        const bool stays_stopped = losses[i].who == FAR && losses[i].signal == SIGSTOP;
        set_beat(stays_stopped ? "1000" : "2000");
        ak_pool *pool = open_pool(task, "cmd:env", "2", NULL);
        submit(pool, task, AK_JOB_CHECK, 0);
        members m = hold_job(pool);
        (void)kill(losses[i].who == NEAR  ? m.near
                   : losses[i].who == FAR ? m.far
                                          : m.worker,
                   losses[i].signal);
        (void)kill(m.far, stays_stopped ? 0 : SIGCONT);
        ak_result result = wait_one(pool);
        expect_fate(&result, losses[i].name, losses[i].status, losses[i].reason);
        ak_result_clear(&result);
        submit(pool, task, AK_JOB_CHECK, 0); /* work goes on, at another home if need be */
        result = wait_one(pool);
        expect_fate(&result, losses[i].name, AK_TRIAL_OK, NULL);
        ak_result_clear(&result);
        ak_pool_close(pool);
        expect_gone(m.near);
        expect_gone(m.far);
        expect_gone(m.worker);
    }
    ak_task_close(task);
}

/* If the device of a comparison is lost, another device repeats the whole comparison. */
static void test_home_lost(void **state)
{
    (void)state;
    set_beat("2000");
    ak_task *task = fixture_task("N=100");
    ak_error err = AK_ERROR_INIT;
    ak_config config = fixture_config(task, MODE_OK);
    const ak_comparison_candidate two[] = {{.config = &config}, {.config = &config}};
    ak_job job = {.kind = AK_JOB_COMPARISON,
                  .id = 1,
                  .candidates = two,
                  .candidate_count = 2,
                  .plan = {.seconds = 0.05}};
    ak_pool *pool = open_pool(task, "cmd:env", "2", NULL);
    assert_int_equal(ak_pool_submit(pool, &job, &err), AK_OK);
    (void)kill(hold_job(pool).far, SIGKILL);
    ak_result result = wait_one(pool);
    assert_int_equal(result.device, 1);
    assert_int_equal(pool->home, 1);
    assert_false(result.died);
    assert_int_equal(result.entry_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(result.entries[i].status, AK_TRIAL_OK);
        assert_true(result.entries[i].sample_count > 0);
    }
    ak_result_clear(&result);
    ak_pool_close(pool);
    ak_task_close(task);
}

/* If no worker comes before the run's time is over, the run ends. */
static void test_deadline(void **state)
{
    (void)state;
    set_beat("60000");
    ak_task *task = fixture_task("N=100");
    ak_error err = AK_ERROR_INIT;
    char launcher[2 * AK_PATH_MAX];
    fixture_write("wait.sh", "exec sleep 1000000\n"); /* says nothing, whatever it is told */
    (void)snprintf(launcher, sizeof launcher, "cmd:sh %s/wait.sh", fixture_folder);
    ak_pool_options options = {.compile_workers = 1,
                               .every_device = true,
                               .launcher = launcher,
                               .artifact = compiled,
                               .deadline_ns = ak_clock_ns() + 50 * AK_MS_NS};
    ak_pool *pool = NULL;
    ak_ceilings ceilings;
    assert_int_equal(ak_pool_open(&pool, task, &options, &err), AK_OK);
    assert_int_equal(ak_pool_ceilings(&ceilings, pool, &err), AK_UNAVAILABLE);
    assert_non_null(strstr(err.text, "no worker is ready, and the time of the run is over"));
    ak_pool_close(pool);
    ak_task_close(task);
}

/* Results that are ready at the same time are taken together, and their devices wait until all are
   handled. */
static void test_take(void **state)
{
    (void)state;
    set_beat("2000");
    ak_task *task = fixture_task("N=100");
    ak_error err = AK_ERROR_INIT;
    ak_pool *pool = open_pool(task, "cmd:env", "2", NULL);
    for (int i = 0; i < 2; i++) {
        submit(pool, task, AK_JOB_TRIAL, 5 * AK_MS_NS);
    }
    while (pool->result_count < 2) { /* both devices are at work before the first has a result */
        assert_int_equal(ak_pool_turn(pool, AK_MS_NS, false, &err), AK_OK);
        assert_int_equal(ak_pool_feed_devices(pool, &err), AK_OK);
    }
    ak_result first = wait_one(pool), second, none;
    assert_true(ak_pool_take(&second, pool));
    assert_false(ak_pool_take(&none, pool));
    submit(pool, task, AK_JOB_CHECK, 0);
    submit(pool, task, AK_JOB_TRIAL, 5 * AK_MS_NS);
    if (first.device != second.device) {
        assert_int_equal(ak_pool_feed_devices(pool, &err), AK_OK);
        assert_true(pool->devices[0].held && pool->devices[1].held);
        assert_true(pool->devices[0].job == NULL && pool->devices[1].job == NULL);
    }
    ak_result_clear(&first);
    ak_result_clear(&second);
    for (int i = 0; i < 2; i++) {
        first = wait_one(pool);
        ak_result_clear(&first);
    }
    ak_pool_close(pool);
    ak_task_close(task);
}

/* A tuner that is killed leaves nothing behind. */
static void test_tuner_killed(void **state)
{
    (void)state;
    int to_us[2];
    set_beat("2000");
    members m = {.near = 0};
    assert_int_equal(pipe(to_us), 0);
    pid_t tuner = fork();
    if (tuner == 0) {
        ak_task *task = fixture_task("N=100");
        ak_pool *pool = open_pool(task, "cmd:env", "1", NULL);
        submit(pool, task, AK_JOB_TRIAL, 60 * AK_SECOND_NS);
        m = members_of(busy_device(pool));
        (void)!write(to_us[1], &m, sizeof m);
        (void)pause();
        _exit(0);
    }
    assert_int_equal(read(to_us[0], &m, sizeof m), sizeof m);
    (void)kill(tuner, SIGKILL);
    (void)waitpid(tuner, NULL, 0);
    expect_gone(m.near);
    expect_gone(m.far);
    expect_gone(m.worker);
    (void)close(to_us[0]);
    (void)close(to_us[1]);
}

/* A worker ends itself if it no longer hears from the tuner. Here the relay beside the tuner is
   stopped, which closes no pipe. */
static void test_cut_off(void **state)
{
    (void)state;
    set_beat("1000");
    ak_task *task = fixture_task("N=100");
    ak_pool *pool = open_pool(task, "cmd:env", "1", NULL);
    submit(pool, task, AK_JOB_TRIAL, 10 * AK_SECOND_NS);
    members m = members_of(busy_device(pool));
    (void)kill(m.near, SIGSTOP);
    expect_gone(m.worker);
    expect_gone(m.far);
    (void)kill(m.near, SIGCONT);
    ak_pool_close(pool);
    ak_task_close(task);
}

/* A relay beside a worker that was stopped (SIGSTOP) is ended by its guard, together with the
   worker, even if the program that started it does nothing. */
static void test_guard(void **state)
{
    (void)state;
    set_beat("1000");
    char launcher[2 * AK_PATH_MAX], path[2 * AK_PATH_MAX], *text = NULL;
    fixture_write("leave.sh", "cat | setsid \"$@\" | cat\n"); /* kills nobody, like sshd */
    (void)snprintf(launcher, sizeof launcher, "cmd:sh %s/leave.sh", fixture_folder);
    ak_task *task = fixture_task("N=100");
    ak_pool *pool = open_pool(task, launcher, "1", NULL);
    submit(pool, task, AK_JOB_TRIAL, 10 * AK_SECOND_NS);
    const ak_pool_device *d = busy_device(pool);
    /* the shell started three processes; the relay is the one that has children */
    pid_t shell = child_of(d->worker.proc.pid), far = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)shell, (int)shell);
    assert_int_equal(ak_fs_read(&text, NULL, path, 200, NULL), AK_OK);
    for (char *at = text; *at != 0 && far == 0;) {
        pid_t one = (pid_t)strtol(at, &at, 10);
        at += strspn(at, " ");
        far = child_of(one) > 0 ? one : 0;
    }
    ak_free(text);
    pid_t worker = child_of(far);
    assert_true(worker > 0);
    (void)kill(far, SIGSTOP);
    expect_gone(worker);
    expect_gone(far);
    ak_pool_close(pool);
    ak_task_close(task);
}

/* API keys are passed to nobody. The launcher gets the variables that it needs, and the worker does
   not. */
static void test_secrets(void **state)
{
    (void)state;
    static const char *const ours[] = {"SSH_AUTH_SOCK=/s", "KUBECONFIG=/k", "OPENAI_API_KEY=sk",
                                       "SLURM_JOB_ID=0"};
    char launcher[2 * AK_PATH_MAX], path[2 * AK_PATH_MAX], *seen = NULL;
    ak_task *task = fixture_task("N=100");
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        (void)putenv((char *)(uintptr_t)ours[i]);
    }
    char text[2 * AK_PATH_MAX];
    (void)snprintf(text, sizeof text,
                   "tr '\\0' '\\n' </proc/self/environ >%s/launcher.env\nexec \"$@\"\n",
                   fixture_folder);
    fixture_write("look.sh", text);
    (void)snprintf(launcher, sizeof launcher, "cmd:sh %s/look.sh", fixture_folder);
    ak_pool *pool = open_pool(task, launcher, NULL, NULL);
    submit(pool, task, AK_JOB_TRIAL, 100 * AK_MS_NS);
    members m = members_of(busy_device(pool));
    (void)snprintf(path, sizeof path, "%s/launcher.env", fixture_folder);
    assert_int_equal(ak_fs_read(&seen, NULL, path, 1u << 20, NULL), AK_OK);
    assert_non_null(strstr(seen, "SSH_AUTH_SOCK=/s"));
    assert_non_null(strstr(seen, "KUBECONFIG=/k"));
    assert_null(strstr(seen, "OPENAI_API_KEY"));
    ak_free(seen);
    size_t length = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/environ", (int)m.worker);
    assert_int_equal(ak_fs_read(&seen, &length, path, 1u << 20, NULL), AK_OK);
    assert_null(memmem(seen, length, "SSH_AUTH_SOCK", 13));
    assert_null(memmem(seen, length, "KUBECONFIG", 10));
    ak_free(seen);
    ak_pool_close(pool);
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(ours[i], "="), ours[i]);
        (void)unsetenv(name);
    }
    ak_task_close(task);
}

/* A relay passes on more bytes in all than it can hold, while some are always pending. */
static void test_backlog(void **state)
{
    enum { LINES = 24, LINE = 1 << 20 };
    (void)state;
    int sides[2];
    size_t got = 0;
    ak_relay_end end, *const ends[] = {&end};
    char *line = ak_alloc(LINE, 1);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sides), 0);
    memset(line, 'a', LINE);
    ak_relay_open(&end, sides[0], sides[0]);
    for (int i = 0; i < LINES; i++) {
        ak_relay_say(&end, line, LINE);
        while (ak_relay_waiting(&end) > (i < LINES - 1 ? LINE / 2 : 0)) {
            char chunk[16384];
            ak_relay_turn(ends, 1, -1, 0);
            const ssize_t count = recv(sides[1], chunk, sizeof chunk, MSG_DONTWAIT);
            got += count > 0 ? (size_t)count : 0;
        }
    }
    for (ssize_t count = 1; count > 0; got += count > 0 ? (size_t)count : 0) {
        count = recv(sides[1], line, LINE, MSG_DONTWAIT);
    }
    assert_int_equal(got, (size_t)LINES * (LINE + 1));
    ak_relay_close(&end);
    ak_free(line);
    (void)close(sides[0]);
    (void)close(sides[1]);
}

int main(int argc, char **argv)
{
    int code;
    if (fixture_main(&code, argc, argv)) {
        return code;
    }
    set_beat("2000");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),      cmocka_unit_test(test_commands),
        cmocka_unit_test(test_sweep),        cmocka_unit_test(test_compile),
        cmocka_unit_test(test_lies),         cmocka_unit_test(test_alone),
        cmocka_unit_test(test_environment),  cmocka_unit_test(test_no_device),
        cmocka_unit_test(test_no_start),     cmocka_unit_test(test_losses),
        cmocka_unit_test(test_tuner_killed), cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_guard),        cmocka_unit_test(test_secrets),
        cmocka_unit_test(test_home_lost),    cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_take),         cmocka_unit_test(test_travel),
        cmocka_unit_test(test_travel_lines), cmocka_unit_test(test_backlog),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
