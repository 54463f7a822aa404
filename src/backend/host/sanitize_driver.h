/*
 * sanitize_driver.h: the program that calls a candidate that was built with sanitizers
 * (host_sanitize.c, which puts ak_host.h and the tables of the shapes in front). autokernel does
 * not include this file, but carries its text.
 *
 *     program INPUTS KERNEL.so
 *
 * The candidate is a shared object that is loaded when the sanitizers are there already, so that
 * none of its functions takes the place of one of the sanitizers or of this program. Then the
 * program takes system calls from itself. It prints "@ N" before shape N, "lost BYTES" if each of
 * some calls has allocated more than it has freed, and in the end "done TOKEN", or "unable TOKEN"
 * if the machine lacks something. The token is the end of the file of inputs, and is read only when
 * it is printed.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { TOKEN_BYTES = 64 };

size_t __sanitizer_get_current_allocated_bytes(void);

static int inputs = -1;

typedef struct pool_of {
    pthread_barrier_t barrier;
    int n;
} pool_of;

typedef struct part_of {
    void (*task)(void *context, int thread, int n);
    void *context;
    int thread, n;
} part_of;

/* Prints `how` with the token, which only this function reads, and ends the program. */
static void end(const char *how, int code)
{
    char token[TOKEN_BYTES + 1] = "";
    const off_t length = lseek(inputs, 0, SEEK_END);
    if (length >= TOKEN_BYTES &&
        pread(inputs, token, TOKEN_BYTES, length - TOKEN_BYTES) == TOKEN_BYTES) {
        fprintf(stderr, "\n%s %s\n", how, token);
    }
    _exit(code);
}

static void *start(void *argument)
{
    part_of *p = argument;
    p->task(p->context, p->thread, p->n);
    return NULL;
}

static void parallel(void *opaque, int n, void (*task)(void *, int, int), void *context)
{
    pool_of *pool = opaque;
    pthread_t threads[ak_s_threads_max];
    part_of parts[ak_s_threads_max];
    n = n < 1 ? 1 : n > ak_s_threads_max ? ak_s_threads_max : n;
    pool->n = n;
    pthread_barrier_init(&pool->barrier, NULL, (unsigned)n);
    for (int i = 0; i < n; i++) {
        parts[i] = (part_of){task, context, i, n};
        if (i > 0 && pthread_create(&threads[i], NULL, start, &parts[i]) != 0) {
            end("unable", 98);
        }
    }
    task(context, 0, n);
    for (int i = 1; i < n; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&pool->barrier);
    pool->n = 1;
}

static void barrier(void *opaque)
{
    pool_of *pool = opaque;
    if (pool->n > 1) {
        pthread_barrier_wait(&pool->barrier);
    }
}

static void *memory(size_t bytes)
{
    void *all = NULL;
    if (posix_memalign(&all, 64, bytes > 0 ? bytes : 1) != 0) {
        end("unable", 98);
    }
    memset(all, 0xff, bytes);
    return all;
}

static void read_all(char *out, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t got = read(inputs, out, bytes);
        if (got <= 0) {
            end("unable", 98);
        }
        out += got;
        bytes -= (size_t)got;
    }
}

const char *__asan_default_options(void)
{
    return "detect_leaks=0:color=never:allocator_may_return_null=1";
}

const char *__ubsan_default_options(void)
{
    return "color=never";
}

int __lsan_is_turned_off(void)
{
    return 1;
}

/* Loads the candidate and then takes system calls away. */
static void (*load(const char *path))(const ak_host_call *)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library == NULL ? NULL : dlsym(library, "ak_kernel");
    void (*kernel)(const ak_host_call *) = NULL;
    if (symbol == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        end("unable", 98);
    }
    memcpy(&kernel, &symbol, sizeof symbol);
    struct sock_fprog filter = {.len = ak_s_filter_count,
                                .filter = (struct sock_filter *)(uintptr_t)ak_s_filter};
    if (ak_s_filter_count > 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
        end("unable", 98);
    }
    return kernel;
}

static void call_at(void (*kernel)(const ak_host_call *), const ak_s_shape *s)
{
    void *arg[ak_s_arguments];
    pool_of pool = {.n = 1};
    for (int a = 0; a < ak_s_arguments; a++) {
        arg[a] = memory(s->bytes[a]);
        if (ak_s_read[a]) {
            read_all(arg[a], s->bytes[a]);
        }
    }
    ak_host_call call = {.size = s->size,
                         .choice = ak_s_choice,
                         .number = ak_s_number,
                         .arg = arg,
                         .pitch = s->pitch,
                         .workspace = memory(s->workspace),
                         .threads = s->threads,
                         .parallel = parallel,
                         .barrier = barrier,
                         .pool = &pool};
    size_t before = 0, lost = (size_t)-1;
    for (int k = 0; k < 4; k++) {
        kernel(&call);
        size_t now = __sanitizer_get_current_allocated_bytes();
        size_t more = now > before ? now - before : 0;
        lost = k > 0 && more < lost ? more : lost;
        before = now;
    }
    if (lost > 0) {
        fprintf(stderr, "lost %zu\n", lost);
        end("done", 97);
    }
    for (int a = 0; a < ak_s_arguments; a++) {
        free(arg[a]);
    }
    free(call.workspace);
}

int main(int argc, char **argv)
{
    inputs = argc > 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    if (inputs < 0) {
        return 98;
    }
    void (*kernel)(const ak_host_call *) = load(argv[2]);
    for (size_t i = 0; i < ak_s_shape_count; i++) {
        fprintf(stderr, "@ %zu\n", i);
        call_at(kernel, &ak_s_shapes[i]);
    }
    end("done", 0);
}
