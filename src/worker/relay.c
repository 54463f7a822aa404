/* relay.c: moves lines between processes, for both relays; see relay.h. */
#include "worker/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/text.h"

#define BEAT_MS_MIN 5
#define BEAT_MS_MAX 60000

void ak_relay_open(ak_relay_end *end, int in, int out)
{
    *end = (ak_relay_end){
        .in = in, .out = out, .pending = AK_BUF(4 * (size_t)AK_LINE_MAX), .heard = ak_clock_ns()};
    ak_line_reader_init(&end->lines);
    (void)fcntl(in, F_SETFL, fcntl(in, F_GETFL) | O_NONBLOCK);
    (void)fcntl(out, F_SETFL, fcntl(out, F_GETFL) | O_NONBLOCK);
}

void ak_relay_close(ak_relay_end *end)
{
    ak_line_reader_free(&end->lines);
    ak_buf_free(&end->pending);
}

void ak_relay_say(ak_relay_end *end, const char *line, size_t length)
{
    ak_buf_append(&end->pending, line, length);
    ak_buf_putc(&end->pending, '\n');
}

void ak_relay_say_json(ak_relay_end *end, json_t *object)
{
    AK_AT_END(ak_buf_free) ak_buf line = AK_BUF(AK_LINE_MAX);
    ak_json_print(&line, object, false);
    if (ak_buf_status(&line, NULL) == AK_OK) {
        ak_relay_say(end, line.data, line.length);
    }
    json_decref(object);
}

void ak_relay_say_ended(ak_relay_end *end, const char *why, bool lost, bool final)
{
    ak_relay_say_json(
        end, json_pack("{s:s, s:b, s:b}", "ended", why, "lost", (int)lost, "final", (int) final));
}

bool ak_relay_begins(const ak_buf *line, const char *text)
{
    size_t length = strlen(text);
    return line->length >= length && memcmp(line->data, text, length) == 0;
}

size_t ak_relay_waiting(const ak_relay_end *end)
{
    return end->pending.length - end->sent;
}

/* Reads the bytes that have arrived. */
static void take(ak_relay_end *end)
{
    char chunk[65536];
    ssize_t got = read(end->in, chunk, sizeof chunk);
    if (got > 0) {
        end->heard = ak_clock_ns();
        end->broken = ak_line_reader_feed(&end->lines, chunk, (size_t)got, NULL) != AK_OK;
        end->over = end->broken;
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
        end->over = true;
    }
}

static void put(ak_relay_end *end)
{
    ssize_t wrote = write(end->out, end->pending.data + end->sent, ak_relay_waiting(end));
    if (wrote > 0) {
        end->sent += (size_t)wrote;
        if (ak_relay_waiting(end) == 0) {
            ak_buf_clear(&end->pending);
            end->sent = 0;
        } else if (end->sent > AK_LINE_MAX) { /* else the buffer might grow without end */
            end->pending.length -= end->sent;
            memmove(end->pending.data, end->pending.data + end->sent, end->pending.length + 1);
            end->sent = 0;
        }
    } else if (wrote < 0 && errno != EINTR && errno != EAGAIN) {
        /* the other process no longer reads; lines that it sent before may still be read */
        ak_buf_clear(&end->pending);
        end->sent = 0;
    }
}

void ak_relay_turn(ak_relay_end *const *ends, size_t count, int extra, int64_t wait_ns)
{
    struct pollfd ready[2 * AK_RELAY_ENDS_MAX + 1];
    struct timespec wait = {.tv_sec = wait_ns / AK_SECOND_NS, .tv_nsec = wait_ns % AK_SECOND_NS};
    bool full = false; /* another side has too many bytes pending */
    for (size_t i = 1; i < count; i++) {
        full = full || ak_relay_waiting(ends[i]) > AK_LINE_MAX;
    }
    for (size_t i = 0; i < count; i++) {
        const ak_relay_end *end = ends[i];
        bool held = i == 0 ? full : ak_relay_waiting(ends[0]) > AK_LINE_MAX;
        /* poll ignores a negative descriptor */
        ready[2 * i] = (struct pollfd){.fd = end->over ? -1 : end->in, .events = held ? 0 : POLLIN};
        ready[2 * i + 1] =
            (struct pollfd){.fd = ak_relay_waiting(end) > 0 ? end->out : -1, .events = POLLOUT};
    }
    ready[2 * count] = (struct pollfd){.fd = extra, .events = POLLIN};
    if (ppoll(ready, 2 * count + 1, &wait, NULL) <= 0) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (ready[2 * i].revents != 0) {
            take(ends[i]);
        }
        if (ready[2 * i + 1].revents != 0) {
            put(ends[i]);
        }
    }
}

void ak_relay_flush(ak_relay_end *end, int64_t wait_ns)
{
    int64_t deadline = ak_clock_ns() + wait_ns;
    while (ak_relay_waiting(end) > 0 && ak_clock_ns() < deadline) {
        struct pollfd ready = {.fd = end->out, .events = POLLOUT};
        (void)poll(&ready, 1, 50);
        put(end);
    }
}

size_t ak_relay_compile_workers(double cores, size_t sharing)
{
    if (!(cores >= 1)) {
        return 0;
    }
    const size_t count = cores > AK_CORES_MAX ? AK_CORES_MAX : (size_t)cores;
    return count > sharing && sharing > 0 ? count / sharing : 1;
}

void ak_relay_run(const char *const *argv, int64_t timeout_ns)
{
    static const char *const everything[] = {"*", NULL};
    const ak_proc_spec spec = {.argv = argv, .timeout_ns = timeout_ns, .passes = everything};
    ak_proc_result result = {0};
    if (ak_proc_run(&result, &spec, NULL) == AK_OK) {
        ak_proc_result_clear(&result);
    }
}

int64_t ak_relay_beat_ms(void)
{
    const char *text = ak_env("AUTOKERNEL_BEAT_MS");
    int64_t ms;
    bool good = text != NULL && ak_text_int(&ms, text) && ms >= BEAT_MS_MIN && ms <= BEAT_MS_MAX;
    return good ? ms : AK_RELAY_BEAT_MS;
}

void ak_relay_build(char out[AK_BUILD_BYTES])
{
    struct stat file;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    out[0] = 0;
    if (fd >= 0 && fstat(fd, &file) == 0 && file.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            ak_hash_quick(out, bytes, (size_t)file.st_size);
            (void)munmap(bytes, (size_t)file.st_size);
        }
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}
