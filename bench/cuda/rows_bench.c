/*
 * rows_bench.c: measures configurations of the kernels on rows (softmax, layernorm, rmsnorm,
 * reduce) against a copy of the same size, without the tuner.
 *
 *     rows_bench [options] [configurations.txt...] KERNEL:DTYPE:ROWSxCOLS...
 *
 * Each line of a file is one configuration, with the short names of `fields` below. It may begin
 * with the job that it is for; otherwise it is for all jobs. A configuration that is not legal for
 * a job is skipped. Without a file, a list is made for each job: every way to divide the row among
 * threads and vectors and then, --turns times, the best --parents of them with one change each.
 *
 * Every configuration is checked on all elements against a simple kernel in double precision (the
 * output is poisoned first) and timed quickly. Then the best are timed against two copies, that of
 * the driver and a kernel of this bench (for reduce, against a kernel that only reads),
 * interleaved: in each round each candidate runs once for some milliseconds, in an order that
 * changes. Sets of buffers take turns, two or as many as twice the level 2 cache holds, so that it
 * holds nothing useful; data are uniform in [-1, 1]; launches are graph replays; results are
 * medians over the rounds. `of copy` is the median over the rounds of the faster copy's time
 * divided by the configuration's.
 *
 * Build: cc -O2 -std=gnu17 rows_bench.c -o rows_bench -ldl -lpthread -lm. No CUDA headers are
 * needed, because the functions of the driver and NVRTC are declared here.
 */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OWN_DRIVER(X) X(cuMemcpyDtoDAsync_v2, (devptr, devptr, size_t, void *))
#include "bench.h"

enum {
    JOBS_MAX = 256,
    LINES_MAX = 4000,
    LIST_MAX = 400, /* configurations of a job */
    FINAL = 6,
    SETS_MAX = 128
};
#define ARENA   ((size_t)12 << 30)
#define TURNING 120e6 /* bytes that all sets of buffers have, at least */

/* ---- configurations ---- */

enum { T, C, R, VB, K, RE, PF, ST, W, B, L, S, O, WE, WH, SP, LE, N, Q, FIELDS };
static const struct {
    const char *name, *macro;
    int value; /* the default; -1: it depends on the shape */
} fields[FIELDS] = {{"t", "THREADS_PER_ROW", 128},
                    {"c", "CLUSTER", 1},
                    {"r", "ROWS", -1}, /* -1: 128 threads in a block */
                    {"v", "VEC_BYTES", 16},
                    {"k", "KEEP", -1}, /* -1: the whole row */
                    {"re", "REST", 0},
                    {"pf", "PREFETCH", 0},
                    {"st", "STAGES", 0},
                    {"w", NULL, 0}, /* WAVES */
                    {"b", "BLOCKS_PER_SM", 1},
                    {"l", "LOAD_HINT", 0},
                    {"s", "STORE_HINT", 0},
                    {"o", "ONLINE", 1}, /* MOMENTS for layernorm */
                    {"we", "WEIGHT_EARLY", 0},
                    {"wh", "WHOLE", -1}, /* -1: the largest valid value */
                    {"sp", "SPLIT", 1},
                    {"le", "LAUNCH_EARLY", 0},
                    {"n", "BATCH", 1},
                    {"q", NULL, 0}}; /* RESIDENT */

enum { SOFTMAX, LAYERNORM, RMSNORM, REDUCE, KERNELS };
static const char *const kernel_names[KERNELS] = {"softmax", "layernorm", "rmsnorm", "reduce"};
enum { F32, BF16, F16, DTYPES };
static const char *const dtype_names[DTYPES] = {"f32", "bf16", "f16"};

typedef struct job job;
typedef struct {
    int v[FIELDS];
    const job *of;
    char text[128];
    char *cubin, *log;
    size_t bytes;
    int registers, spills; /* `spills` is in bytes */
    bool compiled, failed;
    void *module, *function;
    int shared, resident;
    double error, quick;
    bool measured;
} variant;
struct job {
    int kernel, dtype, element;
    int64_t rows;
    int cols;
    variant list[LIST_MAX];
    int count;
    double copy; /* seconds of the faster copy in quickly() */
};
static job *jobs[JOBS_MAX];
static int job_count;
static char *source[KERNELS];
static double add_limit = 16; /* most vectors in registers, in the lists that are made here */

static bool has_weights(const job *j)
{
    return j->kernel == LAYERNORM || j->kernel == RMSNORM;
}

static const char *illegal(const job *j, const int *v)
{
    const int threads = v[T] * v[R], n = v[T] * v[C];
    const int64_t bytes = (int64_t)j->cols * j->element;
    const int64_t vectors = bytes / v[VB];
    const bool norm = has_weights(j);
    if (v[VB] < j->element || threads < 32 || threads > 1024 || (v[T] > 32 && v[R] > 8)) {
        return "block";
    }
    if (v[C] > 1 && (v[R] > 1 || v[T] < 32)) {
        return "cluster";
    }
    if (v[N] > 1 && (v[WH] == 1 || v[RE] || v[PF] || v[ST] || j->kernel == REDUCE ||
                     vectors > n * v[K] || v[N] * v[K] * v[VB] > 512)) {
        return "batch";
    }
    if (v[PF] && (v[RE] || !v[W])) {
        return "prefetch";
    }
    if ((v[K] == 0 && !v[RE]) || v[K] * v[VB] * (1 + v[PF]) > 512) {
        return "keep";
    }
    if (v[ST] && (v[WH] != 2 || v[PF] || !v[W] || threads < 32)) {
        return "ring";
    }
    if (v[WE] && (!norm || (v[WE] < 3 && v[K] * v[VB] > 256))) {
        return "weights";
    }
    if (v[WE] == 2 && !v[W]) {
        return "weights stay";
    }
    if (v[WH] && bytes % v[VB] != 0) {
        return "rows are not whole vectors";
    }
    if (v[WH] == 2 && (v[RE] || vectors != (int64_t)n * v[K])) {
        return "not all threads have as many vectors";
    }
    if (threads * v[B] > 2048) {
        return "threads of an SM";
    }
    if (j->kernel == REDUCE && (v[C] > 1 || v[RE] || v[PF] || v[ST] || v[S])) {
        return "reduce";
    }
    if (v[SP] > 1 && (j->kernel != REDUCE || v[R] > 1 || v[W])) {
        return "split";
    }
    return NULL;
}

static int shared_bytes(const job *j, const int *v)
{
    const int n = v[T] * v[C], warps = v[T] > 32 ? v[T] / 32 : 1;
    const int slots = (int)((int64_t)j->cols * j->element / v[VB] + 1) / n + 1;
    const int scratch =
        (warps * v[C] > 1 ? 32 * v[N] * v[R] * warps * v[C] : 0) + (v[C] > 1 ? 16 : 0);
    const int rest = v[RE] && slots > v[K] ? (slots - v[K]) * v[T] * v[R] * v[VB] : 0;
    const int groups = v[T] < 32 ? v[T] * v[R] / 32 : v[R];
    const int ring = v[ST] * (v[T] * v[R] * v[K] * v[VB] + 8 * groups);
    const int stay = v[WE] == 3 ? (j->kernel == LAYERNORM ? 2 : 1) * v[K] * v[T] * v[VB] : 0;
    const int needed = (scratch + 15) / 16 * 16 + rest + ring + stay;
    const int fill = v[Q] > 0 ? 233472 / v[Q] / 128 * 128 - 1024 : 0; /* so that Q blocks fit */
    return needed > fill ? needed : fill;
}

/* Adds a configuration unless it is in the list already or illegal. */
static void add(job *j, const int *given)
{
    variant *x = &j->list[j->count];
    int v[FIELDS], used = 0;
    memcpy(v, given, sizeof v);
    const int64_t bytes = (int64_t)j->cols * j->element;
    const int n = v[T] * v[C];
    if (v[R] < 0) {
        v[R] = v[C] > 1 || v[T] >= 128 ? 1 : 128 / v[T];
    }
    if (v[K] < 0) {
        v[K] = (int)((bytes / v[VB] + n - 1) / n); /* the rest are single elements */
    }
    if (v[WH] < 0) {
        const bool all = !v[RE] && bytes == (int64_t)v[VB] * n * v[K];
        v[WH] = bytes % v[VB] != 0 ? 0 : all && j->kernel != REDUCE ? 2 : 1;
    }
    if (j->kernel != SOFTMAX && j->kernel != LAYERNORM) {
        v[O] = 0;
    }
    if (j->count == LIST_MAX || illegal(j, v) != NULL || shared_bytes(j, v) > 232448) {
        return;
    }
    for (int i = 0; i < j->count; i++) {
        if (memcmp(j->list[i].v, v, sizeof v) == 0) {
            return;
        }
    }
    memset(x, 0, sizeof *x);
    memcpy(x->v, v, sizeof v);
    x->of = j;
    for (int i = 0; i < FIELDS; i++) {
        const bool usual = fields[i].value == v[i] || (i == WH && v[i] == 2) ||
                           (i == O && j->kernel != SOFTMAX && j->kernel != LAYERNORM);
        if (!usual || i == T) {
            used += snprintf(x->text + used, sizeof x->text - (size_t)used, "%s%s=%d",
                             used ? " " : "", fields[i].name, v[i]);
        }
    }
    j->count++;
}

static void usual(int *v)
{
    for (int i = 0; i < FIELDS; i++) {
        v[i] = fields[i].value;
    }
}

static void add_line(job *j, const char *line)
{
    int v[FIELDS];
    char copy[256];
    bool any = false;
    usual(v);
    snprintf(copy, sizeof copy, "%s", line);
    for (char *save, *word = strtok_r(copy, " \t\r\n", &save); word;
         word = strtok_r(NULL, " \t\r\n", &save)) {
        char *eq = strchr(word, '=');
        int i = 0;
        if (!any && strchr(word, ':') != NULL) { /* for one job only */
            char mine[64];
            snprintf(mine, sizeof mine, "%s:%s:%lldx%d", kernel_names[j->kernel],
                     dtype_names[j->dtype], (long long)j->rows, j->cols);
            if (strcmp(mine, word) != 0) {
                return;
            }
            continue;
        }
        if (eq == NULL) {
            return;
        }
        *eq = 0;
        while (i < FIELDS && strcmp(fields[i].name, word) != 0) {
            i++;
        }
        if (i == FIELDS) {
            printf("unknown field %s\n", word);
            exit(2);
        }
        v[i] = atoi(eq + 1);
        any = true;
    }
    if (any) {
        add(j, v);
    }
}

/* Returns the most blocks of an SM that leave each thread `registers` registers. */
static int blocks_for(int threads, int registers)
{
    int b = 65536 / (threads * registers);
    b = b > 2048 / threads ? 2048 / threads : b;
    return b < 1 ? 1 : b > 16 ? 16 : b;
}

/* Returns about how many registers a thread uses if nothing limits them (ptxas 13.0). */
static int registers_for(const job *j, const int *v)
{
    const bool norm = has_weights(j);
    const bool odd = (int64_t)j->cols * j->element % 16 != 0;
    const double vector = norm ? 6.5 : j->element == 2 ? 12 : 9; /* for each that is kept */
    const double weight = v[WE] == 2 && j->element == 2 ? 5 : v[WE] == 1 || v[WE] == 2 ? 4 : 0;
    const double more = 4 * v[PF] + weight * (j->kernel == LAYERNORM ? 2 : 1);
    return (int)((j->element == 2 ? 46 : 36) + 6 * odd + v[N] * v[K] * (vector + more));
}

/* Adds a configuration with as many blocks of an SM as its registers allow. */
static void add_resident(job *j, int *v)
{
    v[B] = blocks_for(v[T] * v[R], registers_for(j, v));
    add(j, v);
}

/* Adds the parent with weights that are asked for early, kept by blocks that stay, or shared by a
   batch of rows. */
static void add_weights(job *j, const int *parent)
{
    int v[FIELDS];
    memcpy(v, parent, sizeof v);
    for (v[WE] = 1; v[WE] <= 2 && v[K] <= 8; v[WE]++) {
        v[W] = v[WE] == 2;
        if (v[W] == 0 || j->rows / v[R] > 264 / v[C]) {
            add_resident(j, v);
        }
    }
    v[W] = v[WE] = 0;
    for (v[N] = 2; v[N] <= 4 && v[K] * v[N] <= 16; v[N] *= 2) {
        if (j->rows >= (int64_t)v[N] * v[R]) {
            add_resident(j, v);
        }
    }
}

/* Adds the parent with blocks that stay and ask for their next row early. */
static void add_prefetch(job *j, const int *parent)
{
    int v[FIELDS];
    memcpy(v, parent, sizeof v);
    v[W] = v[PF] = 1;
    const bool aligned = (int64_t)j->cols * j->element % 16 == 0;
    add_resident(j, v);
    for (v[WE] = aligned && v[K] <= 8 ? 2 : 3; has_weights(j) && v[WE] <= 3; v[WE]++) {
        add_resident(j, v);
    }
}

/* Adds every sensible way to divide the row among threads and vectors. */
static void add_cuts(job *j)
{
    const int64_t bytes = (int64_t)j->cols * j->element, vectors = bytes / 16;
    const bool few = j->rows < 264; /* fewer rows than two for each SM, so that clusters help */
    for (int c = 1; c <= (j->kernel == REDUCE || bytes < (few ? 4096 : 32768) ? 1 : 16); c *= 2) {
        for (int t = c == 1 ? 8 : few ? 64 : 128; t <= 1024; t *= 2) {
            int v[FIELDS];
            usual(v);
            v[T] = t;
            v[C] = c;
            v[LE] = 3;
            v[K] = (int)((vectors + t * c - 1) / (t * c));
            if (j->kernel == REDUCE) {
                v[K] = v[K] > 8 ? 8 : v[K];
            }
            if (v[K] > add_limit || (vectors < t * c) || (c > 1 && v[K] < 2 && !few)) {
                continue;
            }
            for (int n = t > 128 ? t : 128; n <= (t > 512 ? t : t > 64 ? 256 : 512); n *= 2) {
                if (c > 1 && n != t) {
                    continue;
                }
                v[R] = n / t;
                const int most = blocks_for(n, registers_for(j, v));
                v[B] = most + (most + 2) / 4; /* with fewer registers than it would use */
                add(j, v);
                v[B] = most;
                add(j, v);
                if (has_weights(j)) {
                    add_weights(j, v);
                }
                if (j->kernel != REDUCE) {
                    add_prefetch(j, v);
                }
                for (int split = 2; j->kernel == REDUCE && j->rows < 1056 && split <= 32;
                     split *= 2) {
                    v[SP] = split;
                    v[R] = 1;
                    if (t >= 128) {
                        add(j, v);
                    }
                }
                v[SP] = 1;
            }
            if (bytes >= 32768 && j->kernel != REDUCE) { /* a part of the row is in shared memory */
                const int all = v[K];
                v[R] = 1;
                v[RE] = 1;
                for (v[K] = all / 4; v[K] <= all / 2; v[K] += all / 4 > 0 ? all / 4 : 1) {
                    v[B] = blocks_for(t, registers_for(j, v));
                    while (v[B] > 1 && v[B] * (all - v[K]) * t * 16 > 220 << 10) {
                        v[B]--;
                    }
                    add(j, v);
                    v[W] = j->kernel != SOFTMAX; /* weights may stay in the level 1 cache */
                    add(j, v);
                    v[W] = 0;
                }
                v[RE] = 0;
                v[K] = all;
                v[W] = 1;
                for (v[ST] = 1; all >= 4 && v[ST] <= 2; v[ST]++) {
                    v[B] = blocks_for(t, registers_for(j, v));
                    while (v[B] > 1 && v[B] * v[ST] * all * t * 16 > 220 << 10) {
                        v[B]--;
                    }
                    add(j, v);
                }
            }
        }
    }
}

/* Adds persistent blocks that load the next rows into shared memory, 64 to 224 KB in an SM. */
static void add_rings(job *j)
{
    const int64_t vectors = (int64_t)j->cols * j->element / 16;
    for (int c = 1; c <= 16; c *= 2) {
        for (int t = c > 1 ? 128 : 8; t <= 1024; t *= 2) {
            int v[FIELDS];
            usual(v);
            v[T] = t;
            v[C] = c;
            v[W] = 1;
            v[S] = 1;
            v[K] = (int)(vectors / (t * c));
            if (v[K] < 1 || v[K] > add_limit || (c > 1 && v[K] < 2)) {
                continue;
            }
            for (int threads = t > 128 ? t : 128; threads <= (t > 512 ? t : 512); threads *= 2) {
                v[R] = threads / t;
                if (c > 1 && threads != t) {
                    continue;
                }
                for (int b = threads <= 128 ? 2 : 1; b * threads <= 1024 && b <= 2; b *= 2) {
                    const int need = registers_for(j, v);
                    v[B] = b;
                    for (v[ST] = 1; v[ST] <= 4 && need * b * threads <= 65536; v[ST] *= 2) {
                        const int bytes = b * v[ST] * threads * v[K] * 16;
                        for (v[WE] = 0; bytes >= 64 << 10 && bytes <= 224 << 10 && v[WE] <= 2;
                             v[WE] += 2) {
                            add(j, v);
                        }
                    }
                }
            }
        }
    }
}

/* Adds configurations that differ from the parent in one field, or in a few that belong
   together. */
static void add_children(job *j, const int *parent)
{
    static const struct {
        int field, value;
    } change[] = {{L, 0}, {L, 1}, {L, 2}, {S, 1}, {S, 0}, {O, 0}, {O, 1}, {WE, 0}, {WE, 1}};
    int v[FIELDS];
    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        memcpy(v, parent, sizeof v);
        v[change[i].field] = change[i].value;
        add(j, v);
    }
    for (int i = 0; i < 3; i++) {
        memcpy(v, parent, sizeof v);
        v[LE] = i;
        add(j, v);
    }
    for (int i = 0; i < 2; i++) {
        memcpy(v, parent, sizeof v);
        v[N] = i ? v[N] * 2 : v[N] / 2;
        v[B] = v[B] > 1 && i ? v[B] / 2 : v[B];
        if (v[N] > 0) {
            add(j, v);
        }
    }
    for (int i = 0; i < 4; i++) { /* twice or half the blocks of an SM, or the rows of a block */
        memcpy(v, parent, sizeof v);
        v[i < 2 ? B : R] = i % 2 ? v[i < 2 ? B : R] * 2 : v[i < 2 ? B : R] / 2;
        if (i >= 2) {
            v[B] = i % 2 ? v[B] / 2 : v[B] * 2;
        }
        if (v[B] > 0 && v[R] > 0) {
            add(j, v);
        }
    }
    /* persistent blocks, with the next row or the weights loaded early */
    for (int i = 0; i < 4; i++) {
        memcpy(v, parent, sizeof v);
        v[W] = i < 2 ? 0 : i == 2 ? 1 : 4;
        v[L] = i == 0 ? 0 : v[L];
        v[S] = i == 0 ? 0 : v[S];
        v[WE] = i < 2 ? v[WE] % 2 : 2;
        v[ST] = i < 2 ? 0 : v[ST];
        add(j, v);
    }
}

/* ---- compiling, in threads ---- */

static void compile_variant(variant *x)
{
    char text[40][48];
    const char *options[40];
    int n = 0;
    const int kernel = x->of->kernel;
    snprintf(text[n++], 48, "--gpu-architecture=sm_90a");
    snprintf(text[n++], 48, "--ptxas-options=-v");
    snprintf(text[n++], 48, "-Ddtype_is_%s=1", dtype_names[x->of->dtype]);
    for (int i = 0; i < FIELDS; i++) {
        if (fields[i].macro != NULL) {
            const bool moments = i == O && kernel != SOFTMAX;
            snprintf(text[n++], 48, "-D%s=%d", moments ? "MOMENTS" : fields[i].macro, x->v[i]);
        }
    }
    if (kernel == LAYERNORM || kernel == RMSNORM) {
        snprintf(text[n++], 48, "-DCENTRED=%d", kernel == LAYERNORM);
        snprintf(text[n++], 48, "-Dweight_is_scale=1");
        snprintf(text[n++], 48, "-Dbias_is_%s=1", kernel == LAYERNORM ? "add" : "none");
    }
    for (int i = 0; i < n; i++) {
        options[i] = text[i];
    }
    const int code = nvrtc_compile(&x->cubin, &x->log, source[kernel], "rows.cu", options, n);
    const char *used = strstr(x->log, "Used "), *spill = strstr(x->log, "bytes stack frame, ");
    x->registers = used ? atoi(used + 5) : 0;
    x->spills = spill ? atoi(spill + 19) : 0;
    x->failed = code != 0 || x->spills > 0;
}

static struct {
    job *of;
    int from, to;
} work[2 * JOBS_MAX];
static int work_count, work_next, work_at, threads = 16;
static double limit = 1e9, began; /* seconds, after which only the final rounds follow */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;

static void *compile_some(void *unused)
{
    (void)unused;
    for (;;) {
        variant *x = NULL;
        pthread_mutex_lock(&lock);
        while (work_next < work_count && work_at == work[work_next].to) {
            work_next++;
            work_at = work_next < work_count ? work[work_next].from : 0;
        }
        if (work_next < work_count) {
            x = &work[work_next].of->list[work_at++];
        }
        pthread_mutex_unlock(&lock);
        if (x == NULL || seconds() - began > limit) {
            return NULL;
        }
        compile_variant(x);
        pthread_mutex_lock(&lock);
        x->compiled = true;
        pthread_cond_broadcast(&done);
        pthread_mutex_unlock(&lock);
    }
}

static pthread_t pool[64];

/* Starts to compile the configurations, from `from` on, of all jobs. */
static void compile_start(const int *from)
{
    work_count = work_next = 0;
    for (int i = 0; i < job_count; i++) {
        work[work_count].of = jobs[i];
        work[work_count].from = from[i];
        work[work_count++].to = jobs[i]->count;
    }
    work_at = work[0].from;
    for (int i = 0; i < threads; i++) {
        pthread_create(&pool[i], NULL, compile_some, NULL);
    }
}

static void compile_end(void)
{
    for (int i = 0; i < threads; i++) {
        pthread_join(pool[i], NULL);
    }
}

static void compile_wait(variant *x)
{
    pthread_mutex_lock(&lock);
    while (!x->compiled) {
        pthread_cond_wait(&done, &lock);
    }
    pthread_mutex_unlock(&lock);
}

/* ---- running ---- */

static void *helpers[DTYPES];
static int sets; /* of buffers, which take turns */
static devptr X[SETS_MAX], Y[SETS_MAX], weight, bias, workspace, reference;
static const job *now;
static double round_seconds = 0.003;
static int rounds = 11, shown = 3, turns = 1, parents = 2;
static FILE *details;

static void run_helper(const char *name, unsigned grid, void **args)
{
    void *f;
    OK(cuModuleGetFunction(&f, helpers[now->dtype], name));
    OK(cuLaunchKernel(f, grid, 1, 1, 256, 1, 1, 0, stream, args, NULL));
}

static void wait_stream(const char *what)
{
    const double start = seconds();
    for (int code = cuStreamQuery(stream); code != 0; code = cuStreamQuery(stream)) {
        if (code != 600) {
            die(what, code);
        }
        if (seconds() - start > 10) {
            printf("HANG: %s\n", what);
            fflush(stdout);
            _Exit(4);
        }
    }
}

static void fill(devptr p, uint64_t count, uint64_t seed, float low)
{
    float high = 1;
    void *args[] = {&p, &count, &seed, &low, &high};
    run_helper("fill_random", 1056, args);
}

static devptr take(size_t *at, size_t bytes)
{
    const devptr p = arena + *at;
    *at += (bytes + 4095) / 4096 * 4096;
    if (*at > ARENA) {
        die("the arena is too small", 2);
    }
    return p;
}

/* Allocates the buffers of a job, fills them and computes the reference. */
static void begin_job(job *j)
{
    size_t at = 0;
    const uint64_t count = (uint64_t)j->rows * (uint64_t)j->cols;
    const uint64_t results = j->kernel == REDUCE ? (uint64_t)j->rows : count;
    now = j;
    sets = (int)(TURNING / (double)(count * (size_t)j->element * 2)) + 1;
    sets = sets < 2 ? 2 : sets > SETS_MAX ? SETS_MAX : sets;
    for (int i = 0; i < sets; i++) {
        X[i] = take(&at, count * (size_t)j->element);
        Y[i] = take(&at, count * (size_t)j->element);
        fill(X[i], count, (uint64_t)i + 1, -1);
    }
    weight = take(&at, (size_t)j->cols * 4);
    bias = take(&at, (size_t)j->cols * 4);
    workspace = take(&at, 1 << 22);
    OK(cuMemsetD32Async(workspace, 0, 1 << 20, stream));
    reference = take(&at, results * 8);
    fill(weight, (uint64_t)j->cols, 11, 0);
    fill(bias, (uint64_t)j->cols, 12, -1);
    void *args[] = {&reference, &X[0], &weight, &bias, &j->cols, &j->kernel};
    run_helper("reference", (unsigned)j->rows, args);
}

typedef struct {
    variant *ours; /* NULL: a copy */
    int copy;      /* 1: the driver's, 2: a kernel's, 3: a kernel that only reads */
    void *exec;
    int reps;
    double time[ROUNDS_MAX], median;
} contender;

static void launch(const contender *c, int set)
{
    const uint64_t bytes = (uint64_t)now->rows * (uint64_t)now->cols * (uint64_t)now->element;
    uint64_t vectors = bytes / 16;
    void *copy_args[] = {&Y[set], &X[set], &vectors};
    if (c->copy == 1) {
        OK(cuMemcpyDtoDAsync_v2(Y[set], X[set], bytes, stream));
    } else if (c->copy == 2) {
        run_helper("copy", (unsigned)((vectors + 1023) / 1024), copy_args);
    } else if (c->copy == 3) {
        run_helper("read", (unsigned)((vectors + 2047) / 2048), copy_args);
    } else {
        const variant *x = c->ours;
        const int *v = x->v;
        int64_t rows = now->rows;
        const bool stay = v[WE] >= 2 && !v[WH];
        const int64_t apart = v[WH] || (v[N] == 1 && !stay) ? 1 : v[VB] / now->element;
        const int64_t column = apart * (stay ? v[R] : 1);
        const int64_t batches = (rows + column * v[N] - 1) / (column * v[N]) * column;
        int64_t groups = (batches + v[R] - 1) / v[R];
        int cols = now->cols;
        float epsilon = 1e-5f;
        if (v[W] > 0) { /* all blocks do equally many groups, or one less */
            const int64_t most = (int64_t)v[W] * x->resident, times = (groups + most - 1) / most;
            groups = (groups + times - 1) / times;
            if (stay) { /* each block's rows begin at the same offset within a vector */
                const int64_t whole = groups + apart - 1 < most ? groups + apart - 1 : most;
                groups = whole < apart ? apart : whole / apart * apart;
            }
        }
        void *softmax[] = {&X[set], &Y[set], &rows, &cols};
        void *norm[] = {&X[set], &weight, &bias, &Y[set], &rows, &cols, &epsilon};
        void *reduce[] = {&X[set], &Y[set], &workspace, &rows, &cols};
        void **args = now->kernel == SOFTMAX ? softmax : now->kernel == REDUCE ? reduce : norm;
        launch_attr attrs[] = {{.id = 4, .value = {(unsigned)v[C], 1, 1}}, {.id = 6, .value = {1}}};
        launch_config config = {(unsigned)(groups * v[C] * v[SP]),
                                1,
                                1,
                                (unsigned)(v[T] * v[R]),
                                1,
                                1,
                                (unsigned)x->shared,
                                stream,
                                attrs,
                                v[LE] ? 2 : 1};
        OK(cuLaunchKernelEx(&config, x->function, args, NULL));
    }
}

static void record(contender *c, double total, double guess)
{
    void *graph;
    const double n = total / guess;
    c->reps = n < 2 ? 2 : n > 400 ? 400 : (int)n;
    OK(cuStreamBeginCapture_v2(stream, 0));
    for (int i = 0; i < c->reps; i++) {
        launch(c, i % sets);
    }
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiateWithFlags(&c->exec, graph, 0));
    OK(cuGraphDestroy(graph));
}

static double replay(contender *c)
{
    float ms;
    OK(cuEventRecord(events[0], stream));
    OK(cuGraphLaunch(c->exec, stream));
    OK(cuEventRecord(events[1], stream));
    wait_stream(c->ours ? c->ours->text : "copy");
    OK(cuEventElapsedTime(&ms, events[0], events[1]));
    return ms * 1e-3 / c->reps;
}

static double bytes_of(const job *j)
{
    return (j->kernel == REDUCE ? 1.0 : 2.0) * (double)j->rows * j->cols * j->element;
}

/* Times a contender roughly: the median of three replays of about a millisecond. */
static double quickly(contender *c)
{
    double time[3];
    record(c, 1e-3, bytes_of(now) / 4e12 + 1e-6);
    replay(c);
    for (int i = 0; i < 3; i++) {
        time[i] = replay(c);
    }
    OK(cuGraphExecDestroy(c->exec));
    return percentile(time, 3, 0.5);
}

static bool load_variant(variant *x)
{
    const int *v = x->v;
    launch_attr attr = {.id = 4, .value = {(unsigned)v[C], 1, 1}};
    launch_config config = {
        (unsigned)v[C] * 1000, 1, 1, (unsigned)(v[T] * v[R]), 1, 1, 0, NULL, &attr, 1};
    OK(cuModuleLoadData(&x->module, x->cubin));
    OK(cuModuleGetFunction(&x->function, x->module, "ak_kernel"));
    x->shared = shared_bytes(now, v);
    config.shared = (unsigned)x->shared;
    OK(cuFuncSetAttribute(x->function, 8, x->shared));
    if (v[C] > 8) {
        OK(cuFuncSetAttribute(x->function, 14, 1));
    }
    return cuOccupancyMaxActiveClusters(&x->resident, x->function, &config) == 0 && x->resident > 0;
}

static double tolerance(const job *j)
{
    return j->dtype == F32 ? 3e-6 : j->dtype == BF16 ? 2.5e-3 : 4e-4;
}

/* Checks and times the configurations from `from` on that were not measured yet. */
static void measure(job *j, int from)
{
    const uint64_t count = (uint64_t)j->rows * (uint64_t)j->cols;
    uint64_t results = j->kernel == REDUCE ? (uint64_t)j->rows : count;
    begin_job(j);
    contender one = {.copy = 1}, two = {.copy = j->kernel == REDUCE ? 3 : 2};
    const double driver = j->kernel == REDUCE ? 1 : quickly(&one), own = quickly(&two);
    j->copy = driver < own ? driver : own;
    for (int i = from; i < j->count; i++) {
        variant *x = &j->list[i];
        double r[4];
        if (seconds() - began > limit) {
            return;
        }
        compile_wait(x);
        if (x->failed) {
            if (details) {
                fprintf(details, "rejected: %s:%s %s: %.300s\n", kernel_names[j->kernel],
                        dtype_names[j->dtype], x->text,
                        strstr(x->log, "error") ? strstr(x->log, "error") : "spills");
            }
            continue;
        }
        if (!load_variant(x)) {
            continue;
        }
        contender c = {.ours = x};
        OK(cuMemsetD32Async(Y[0], 0xffffffffu, results * (size_t)j->element / 4, stream));
        OK(cuMemsetD32Async(result, 0, 8, stream));
        launch(&c, 0);
        void *args[] = {&result, &Y[0], &reference, &results};
        run_helper("compare", 1056, args);
        wait_stream(x->text);
        OK(cuMemcpyDtoH_v2(r, result, sizeof r));
        x->error = sqrt(r[0] / (r[1] > 0 ? r[1] : 1));
        if (!(x->error < tolerance(j)) || r[3] > 0) {
            printf("WRONG: %s:%s:%lldx%d %s: error %.3g, %.0f not finite\n",
                   kernel_names[j->kernel], dtype_names[j->dtype], (long long)j->rows, j->cols,
                   x->text, x->error, r[3]);
            continue;
        }
        x->quick = quickly(&c);
        x->measured = true;
        if (details) {
            fprintf(details, "quick %s:%s:%lldx%d %.3f %s regs=%d resident=%d us=%.3f\n",
                    kernel_names[j->kernel], dtype_names[j->dtype], (long long)j->rows, j->cols,
                    j->copy / x->quick, x->text, x->registers, x->resident, x->quick * 1e6);
        }
    }
}

static int ranked(job *j, variant **out)
{
    int n = 0;
    for (int i = 0; i < j->count; i++) {
        variant *x = &j->list[i];
        if (x->measured) {
            int at = n++;
            for (; at > 0 && out[at - 1]->quick > x->quick; at--) {
                out[at] = out[at - 1];
            }
            out[at] = x;
        }
    }
    return n;
}

static double geomean;
static int geomean_count;

/* Times the best configurations against the copies, interleaved. */
static void finals(job *j)
{
    static variant *order[LIST_MAX];
    static contender c[FINAL + 2];
    const int n = ranked(j, order), ours = n < FINAL ? n : FINAL;
    const int copies = j->kernel == REDUCE ? 1 : 2;
    memset(c, 0, sizeof c);
    if (n == 0) {
        printf("nothing measured for %s\n", kernel_names[j->kernel]);
        return;
    }
    begin_job(j);
    for (int i = 0; i < ours + copies; i++) {
        c[i].ours = i < ours ? order[i] : NULL;
        c[i].copy = i < ours ? 0 : j->kernel == REDUCE ? 3 : i - ours + 1;
        record(&c[i], round_seconds, i < ours ? order[i]->quick : j->copy);
    }
    for (int r = -1; r < rounds; r++) {
        for (int i = 0; i < ours + copies; i++) {
            contender *x = &c[r % 2 ? ours + copies - 1 - i : (i + r / 2) % (ours + copies)];
            const double t = replay(x);
            if (r >= 0) {
                x->time[r] = t;
            }
        }
    }
    int copy = ours;
    for (int i = 0; i < ours + copies; i++) {
        c[i].median = percentile(c[i].time, rounds, 0.5);
        OK(cuGraphExecDestroy(c[i].exec));
    }
    if (copies == 2 && c[ours + 1].median < c[ours].median) {
        copy = ours + 1;
    }
    const double gb = bytes_of(j) * 1e-9;
    printf("%s:%s:%lldx%d  %s %.0f GB/s", kernel_names[j->kernel], dtype_names[j->dtype],
           (long long)j->rows, j->cols, copies == 1 ? "reading" : "copies", gb / c[ours].median);
    if (copies == 2) {
        printf(" %.0f", gb / c[ours + 1].median);
    }
    printf(", %d configurations\n", n);
    for (int i = 0; i < ours; i++) { /* sorts by the medians */
        for (int k = i + 1; k < ours; k++) {
            if (c[k].median < c[i].median) {
                const contender swap = c[i];
                c[i] = c[k];
                c[k] = swap;
            }
        }
    }
    for (int i = 0; i < ours; i++) {
        double ratio[ROUNDS_MAX];
        for (int r = 0; r < rounds; r++) {
            ratio[r] = c[copy].time[r] / c[i].time[r];
        }
        const double mid = percentile(ratio, rounds, 0.5);
        FILE *to = i < shown ? stdout : details;
        if (i == 0) {
            geomean += log(mid);
            geomean_count++;
        }
        if (to) {
            fprintf(to,
                    "  %.3f [%.3f %.3f] %5.0f GB/s  %s  (%d registers, %d resident, error %.1e)\n",
                    mid, percentile(ratio, rounds, 0.1), percentile(ratio, rounds, 0.9),
                    gb / c[i].median, c[i].ours->text, c[i].ours->registers, c[i].ours->resident,
                    c[i].ours->error);
        }
        if (to == stdout && details) {
            fprintf(details, "final %s:%s:%lldx%d %.4f %s\n", kernel_names[j->kernel],
                    dtype_names[j->dtype], (long long)j->rows, j->cols, mid, c[i].ours->text);
        }
    }
    fflush(stdout);
}

static bool add_job(const char *text)
{
    char kernel[32], dtype[32];
    long long rows;
    int cols, k = 0, d = 0;
    if (sscanf(text, "%31[^:]:%31[^:]:%lldx%d", kernel, dtype, &rows, &cols) != 4) {
        return false;
    }
    while (k < KERNELS && strcmp(kernel, kernel_names[k]) != 0) {
        k++;
    }
    while (d < DTYPES && strcmp(dtype, dtype_names[d]) != 0) {
        d++;
    }
    if (k == KERNELS || d == DTYPES || rows < 1 || cols < 1 || job_count == JOBS_MAX) {
        printf("what is %s?\n", text);
        exit(2);
    }
    job *j = jobs[job_count++] = calloc(1, sizeof *j);
    j->kernel = k;
    j->dtype = d;
    j->element = d == F32 ? 4 : 2;
    j->rows = rows;
    j->cols = cols;
    return true;
}

static char *join(const char *root, const char *first, const char *second)
{
    char path[600];
    snprintf(path, sizeof path, "%s/kernels/%s", root, first);
    char *a = read_file(path, 1 << 18);
    snprintf(path, sizeof path, "%s/kernels/%s", root, second);
    char *b = read_file(path, 1 << 18);
    char *both = malloc(strlen(a) + strlen(b) + 1);
    strcpy(both, a);
    strcat(both, b);
    free(a);
    free(b);
    return both;
}

static void open_device(const char *root)
{
    int version;
    char name[128], path[600];
    open_driver(name, &version, ARENA);
    snprintf(path, sizeof path, "%s/bench/cuda/rows_helpers.cu", root);
    char *text = read_file(path, 1 << 18);
    for (int d = 0; d < DTYPES; d++) {
        char *cubin = NULL, *log = NULL, dtype[32];
        snprintf(dtype, sizeof dtype, "-Ddtype_is_%s=1", dtype_names[d]);
        const char *const options[] = {"--gpu-architecture=sm_90a", dtype};
        if (nvrtc_compile(&cubin, &log, text, "rows_helpers.cu", options, 2) != 0) {
            printf("%s\n", log);
            exit(2);
        }
        OK(cuModuleLoadData(&helpers[d], cubin));
    }
    printf("# %s, driver API %d, %d rounds of %.0f ms\n", name, version, rounds,
           round_seconds * 1e3);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static char *lines[LINES_MAX];
    static int from[JOBS_MAX];
    bool compile_only = false, cuts = true, rings = true;
    int line_count = 0;
    const char *root = ".";
    began = seconds();
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (!strcmp(a, "--compile")) {
            compile_only = true;
        } else if (!strcmp(a, "--rings")) {
            cuts = false;
        } else if (!strcmp(a, "--cuts")) {
            rings = false;
        } else if (!strncmp(a, "--threads=", 10)) {
            threads = atoi(a + 10);
            threads = threads < 1 ? 1 : threads > 64 ? 64 : threads;
        } else if (!strncmp(a, "--rounds=", 9)) {
            rounds = atoi(a + 9);
            rounds = rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
        } else if (!strncmp(a, "--ms=", 5)) {
            round_seconds = atof(a + 5) * 1e-3;
        } else if (!strncmp(a, "--root=", 7)) {
            root = a + 7;
        } else if (!strncmp(a, "--show=", 7)) {
            shown = atoi(a + 7);
        } else if (!strncmp(a, "--turns=", 8)) {
            turns = atoi(a + 8);
        } else if (!strncmp(a, "--parents=", 10)) {
            parents = atoi(a + 10);
        } else if (!strncmp(a, "--details=", 10)) {
            details = fopen(a + 10, "a");
            if (details != NULL) {
                setvbuf(details, NULL, _IOLBF, 0);
            }
        } else if (!strncmp(a, "--limit=", 8)) {
            limit = atof(a + 8);
        } else if (!add_job(a)) {
            for (char *save, *line = strtok_r(read_file(a, 1 << 18), "\n", &save); line;
                 line = strtok_r(NULL, "\n", &save)) {
                if (line[0] != '#' && line_count < LINES_MAX) {
                    lines[line_count++] = line;
                }
            }
        }
    }
    for (int i = 0; i < job_count; i++) {
        if (line_count == 0 && cuts) {
            add_cuts(jobs[i]);
        }
        if (line_count == 0 && jobs[i]->kernel != REDUCE && rings) {
            add_rings(jobs[i]);
        }
        for (int k = 0; k < line_count; k++) {
            add_line(jobs[i], lines[k]);
        }
    }
    if (job_count == 0) {
        printf("usage: rows_bench [options] [configurations.txt...] KERNEL:DTYPE:ROWSxCOLS...\n");
        return 2;
    }
    source[SOFTMAX] = join(root, "softmax/cuda_rows.cu", "softmax/cuda.cu");
    source[LAYERNORM] = join(root, "softmax/cuda_rows.cu", "layernorm/cuda_norm.cu");
    source[RMSNORM] = source[LAYERNORM];
    source[REDUCE] = join(root, "softmax/cuda_rows.cu", "reduce/cuda.cu");
    open_nvrtc();
    if (!compile_only) {
        open_device(root);
    }
    compile_start(from);
    if (compile_only) {
        for (int i = 0; i < job_count; i++) {
            for (int k = 0; k < jobs[i]->count; k++) {
                const variant *x = &jobs[i]->list[k];
                compile_wait(&jobs[i]->list[k]);
                const char *error = strstr(x->log, "error");
                printf("%3d registers %3d %s %s:%s:%lldx%d %s %.300s\n", x->registers, x->spills,
                       x->failed ? error ? "FAILED" : "spills" : "      ",
                       kernel_names[jobs[i]->kernel], dtype_names[jobs[i]->dtype],
                       (long long)jobs[i]->rows, jobs[i]->cols, x->text, error ? error : "");
            }
        }
        compile_end();
        return 0;
    }
    for (int turn = 0; turn <= (line_count ? 0 : turns); turn++) {
        static variant *order[LIST_MAX];
        if (turn > 0) {
            for (int i = 0; i < job_count; i++) {
                const int n = ranked(jobs[i], order);
                from[i] = jobs[i]->count;
                for (int k = 0; k < n && k < parents; k++) {
                    int parent[FIELDS];
                    memcpy(parent, order[k]->v, sizeof parent);
                    add_children(jobs[i], parent);
                }
            }
            compile_start(from);
        }
        for (int i = 0; i < job_count; i++) {
            measure(jobs[i], from[i]);
        }
        compile_end();
    }
    const double before = seconds() - began;
    for (int i = 0; i < job_count; i++) {
        finals(jobs[i]);
    }
    if (geomean_count > 0) {
        printf("# geomean of %d: %.4f of the faster copy; %.0f s, %.0f before the final rounds\n",
               geomean_count, exp(geomean / geomean_count), seconds() - began, before);
    }
    fflush(stdout);
    _Exit(0);
}
