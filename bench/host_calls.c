/* host_calls.c: the C programs of host_calls.py, which compiles this file twice: with the runtime,
 * and with the macros HEADER, RUN and ROOM for the C file of `export --format c`. It times calls as
 * the tuner does: batches of a millisecond or more, each after a pause and an uncounted call, on
 * two sets of arguments in turns.
 *
 *     host_calls BUNDLE SECONDS pinned|free|huge|abreast OUTPUT SIZE,.. ARGUMENT..
 *
 * pinned: each thread stays on a processor of its own, and arrays begin at different offsets within
 * a page, both as in the tuner. free: threads may move between processors. huge: large arrays ask
 * for huge pages, as NumPy's do. abreast: all arrays begin at the same offset within a page. An
 * ARGUMENT is a file with the contents, or a number of bytes for an output, which is written to the
 * file OUTPUT in the end, or - for an unused argument. Prints the median time of a call in
 * milliseconds.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define SETS     2
#define MAX      16
#define BATCH_NS 1000000
#define MOST_NS  100000000
#define SAMPLES  100000
#define HUGE     ((size_t)2 << 20)
#define PAGE     4096
#define GAP      256 /* bytes by which the offsets of successive arrays within a page differ */

static int64_t size[MAX];
static void *arg[SETS][MAX], *workspace;
static int huge, abreast;
static size_t workspace_bytes;

#ifdef RUN
#include HEADER

static int prepare(const char *path)
{
    (void)path;
    return ROOM(&workspace_bytes, size);
}

static int run(void **a)
{
    return RUN(size, a, workspace, workspace_bytes);
}
#else
#include "ak_runtime.h"

static akr_bundle *bundle;
static akr_plan plan;
static akr_pool *pool;

static int prepare(const char *path)
{
    akr_error err;
    if (akr_open(&bundle, path, 0, &err) != AKR_OK ||
        akr_query(&plan, bundle, size, &err) != AKR_OK ||
        akr_pool_open(&pool, plan.threads, &err) != AKR_OK) {
        return fprintf(stderr, "%s\n", err.text);
    }
    workspace_bytes = plan.workspace_bytes;
    return 0;
}

static int run(void **a)
{
    akr_error err;
    return akr_run(bundle, &plan, a, workspace, workspace_bytes, pool, &err) != AKR_OK &&
           fprintf(stderr, "%s\n", err.text);
}
#endif

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Pins each thread of this process to one processor, in the order in which they were started. */
static void pin(void)
{
    cpu_set_t all, one;
    double thread[CPU_SETSIZE];
    int count = 0, cpu = -1;
    DIR *tasks = opendir("/proc/self/task");
    sched_getaffinity(0, sizeof all, &all);
    for (struct dirent *e; tasks != NULL && (e = readdir(tasks)) != NULL && count < CPU_SETSIZE;) {
        if (e->d_name[0] != '.')
            thread[count++] = atof(e->d_name);
    }
    qsort(thread, (size_t)count, sizeof *thread, by_value);
    for (int i = 0; i < count && i < CPU_COUNT(&all); i++) {
        for (cpu++; !CPU_ISSET(cpu, &all);)
            cpu++;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity((pid_t)thread[i], sizeof one, &one);
    }
}

static void *place(size_t bytes)
{
    static size_t count;
    size_t shift = abreast ? 0 : GAP * (count++ % (PAGE / GAP));
    size_t room = (bytes + shift + PAGE) / PAGE * PAGE;
    char *at = aligned_alloc(PAGE, room);
    if (huge && bytes >= 2 * HUGE)
        madvise(at, room, MADV_HUGEPAGE);
    return at + shift;
}

static void *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return NULL;
    fseek(f, 0, SEEK_END);
    size_t bytes = (size_t)ftell(f);
    rewind(f);
    void *at = place(bytes);
    size_t got = fread(at, 1, bytes, f);
    fclose(f);
    return got == bytes ? at : NULL;
}

int main(int argc, char **argv)
{
    static double sample[SAMPLES];
    const char *output = NULL;
    size_t output_bytes = 0;
    int count = 0, output_at = 0, bad = argc < 7 || argc > 6 + MAX;
    for (char *s = bad ? NULL : strtok(argv[5], ","); s != NULL; s = strtok(NULL, ","))
        size[count++] = atoll(s);
    if (bad || prepare(argv[1]))
        return fprintf(stderr, "host_calls BUNDLE SECONDS MODE OUTPUT SIZE,.. ARGUMENT..\n"), 2;
    workspace = aligned_alloc(64, workspace_bytes + 64 - workspace_bytes % 64);
    huge = strcmp(argv[3], "huge") == 0;
    abreast = strcmp(argv[3], "abreast") == 0;
    for (int set = 0; set < SETS; set++) {
        for (int i = 0; i + 6 < argc; i++) {
            const char *a = argv[6 + i];
            if (a[0] >= '0' && a[0] <= '9') {
                output = argv[4];
                output_bytes = (size_t)atoll(a);
                output_at = i;
                arg[set][i] = place(output_bytes);
                memset(arg[set][i], 0xff, output_bytes);
            } else if (strcmp(a, "-") != 0 && (arg[set][i] = read_file(a)) == NULL) {
                return fprintf(stderr, "%s cannot be read\n", a), 2;
            }
        }
    }
    if (run(arg[0]))
        return fprintf(stderr, "the call failed\n"), 1;
    if (strcmp(argv[3], "free") != 0)
        pin();
    int64_t end = now_ns() + (int64_t)(atof(argv[2]) * 1e9), calls = 1;
    int samples = 0;
    for (int batch = 0; samples < SAMPLES && now_ns() < end; batch++) {
        void **a = arg[batch % SETS];
        bad |= run(a);
        int64_t begin = now_ns();
        for (int64_t i = 0; i < calls; i++)
            bad |= run(a);
        int64_t ns = now_ns() - begin;
        nanosleep(&(struct timespec){.tv_nsec = ns < MOST_NS ? ns : MOST_NS}, NULL);
        if (ns < BATCH_NS && batch < 40)
            calls *= 2; /* the batch was too short */
        else
            sample[samples++] = (double)ns / 1e6 / (double)calls;
    }
    qsort(sample, (size_t)samples, sizeof *sample, by_value);
    FILE *f = bad || output == NULL ? NULL : fopen(output, "wb");
    if (f == NULL || fwrite(arg[0][output_at], 1, output_bytes, f) != output_bytes || fclose(f))
        return fprintf(stderr, "a call failed, or its result cannot be written\n"), 1;
    printf("%.7f\n", sample[samples / 2]);
    return 0;
}
