/* proc_run.c: runs a child to its end and keeps its output; see proc.h. */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/proc_child.h"

#define OUTPUT_MAX_DEFAULT 65536

static void note_end(ak_proc_result *out, int wait_status)
{
    if (WIFSIGNALED(wait_status)) {
        out->signal = WTERMSIG(wait_status);
        out->exit_code = -1;
    } else {
        out->exit_code = WEXITSTATUS(wait_status);
    }
}

/* Reads the output until every holder of the pipe has closed it or the deadline has passed. */
static void read_output(ak_buf *output, ak_proc_result *result, int from, int64_t deadline)
{
    for (;;) {
        int64_t left = deadline - ak_clock_ns();
        if (left <= 0) {
            result->timed_out = true;
            return;
        }
        int64_t wait_ms = left / AK_MS_NS + 1;
        struct pollfd ready = {.fd = from, .events = POLLIN};
        int n = poll(&ready, 1, wait_ms > 1000000 ? 1000000 : (int)wait_ms);
        if (n == 0 || (n < 0 && errno == EINTR)) {
            continue;
        }
        char chunk[16384];
        ssize_t got = read(from, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return;
        }
        size_t room = output->max - output->length;
        size_t take = (size_t)got < room ? (size_t)got : room;
        result->cut = result->cut || take < (size_t)got;
        ak_buf_append(output, chunk, take);
    }
}

/* Waits for a child that has closed its output but may still run. Returns what ak_proc_reap
   returns, or 0 if the deadline passes or has passed. */
static pid_t await_end(ak_proc_result *result, int *how, pid_t pid, int64_t deadline)
{
    pid_t done = 0;
    while (!result->timed_out && done == 0) {
        done = ak_proc_reap(pid, how, &result->cpu_ns, deadline == INT64_MAX ? 0 : WNOHANG);
        if (done == 0 && ak_clock_ns() >= deadline) {
            result->timed_out = true;
        } else if (done == 0) {
            ak_clock_sleep_ns(AK_MS_NS / 5);
        }
    }
    return done;
}

ak_status ak_proc_run(ak_proc_result *out, const ak_proc_spec *spec, ak_error *err)
{
    int ends[2];
    if (!ak_proc_pipe(ends)) {
        int why = errno;
        ak_proc_close(&ends[0]);
        ak_proc_close(&ends[1]);
        return ak_proc_fail_pipe(spec, why, err);
    }
    pid_t pid = 0;
    int64_t begin = ak_clock_ns();
    ak_status status = ak_proc_launch_with(&pid, spec, ends[1], -1, -1, err);
    ak_proc_close(&ends[1]);
    if (status != AK_OK) {
        ak_proc_close(&ends[0]);
        return status;
    }
    ak_proc_running = pid;
    ak_proc_result result = {0};
    ak_buf output = AK_BUF(spec->output_max == 0 ? OUTPUT_MAX_DEFAULT : spec->output_max);
    int64_t deadline = spec->timeout_ns > 0 ? begin + spec->timeout_ns : INT64_MAX;
    read_output(&output, &result, ends[0], deadline);
    ak_proc_close(&ends[0]);
    int how = 0;
    pid_t done = await_end(&result, &how, pid, deadline);
    (void)kill(-pid, SIGKILL); /* kills the other processes of the group */
    if (done == 0) {
        done = ak_proc_reap(pid, &how, &result.cpu_ns, 0);
    }
    ak_proc_running = 0;
    result.wall_ns = ak_clock_ns() - begin;
    note_end(&result, how);
    result.output_length = output.length;
    if (done < 0) {
        ak_buf_free(&output);
        return ak_fail(err, AK_UNAVAILABLE,
                       "%s: its exit status is unknown because this program ignores SIGCHLD or "
                       "waits for children that are not its own",
                       spec->argv[0]);
    }
    status = ak_buf_take(&result.output, &output, err);
    if (status == AK_OK) {
        *out = result;
    }
    return status;
}

void ak_proc_result_clear(ak_proc_result *result)
{
    ak_free(result->output);
    *result = (ak_proc_result){0};
}
