/*
 * decode.c: runs one configuration of attention_decode on the CPU, over edge-case shapes and
 * lengths, and compares it with sums in double. See simt.h and cases.txt.
 *
 * Memory behind the keys of a sequence holds NaN, and page numbers behind its pages are invalid.
 */
#include "simt.h"

#define copy_async(to, from, has, policy) ((void)(policy), copy_async_16(to, from, 16, has))
#define copy_policy()                     0
#define COPY_WAIT(pending)                simt_copy_wait_groups(pending)
#ifndef kv_is_e4m3
#define kv_is_e4m3 0
#endif

#include "../../kernels/attention_decode/cuda.cu"

static struct call {
    u16 *q, *out;
    kv_number *k, *v;
    float *scale_k, *scale_v;
    int *lengths, *table;
    unsigned char *workspace;
    int batch, queries, heads, kv_heads, keys, pages;
} c;

static void call_kernel(void)
{
    ak_kernel(c.q, c.k, c.v, c.lengths, c.table, c.scale_k, c.scale_v, c.out, c.workspace, c.batch,
              c.queries, c.heads / c.kv_heads, c.kv_heads, c.keys, c.pages,
              (c.queries * (c.heads / c.kv_heads) + ROWS - 1) / ROWS, 0.125f);
}

static float number(void)
{
    return (float)((double)simt_random() / 1073741824.0 - 2);
}

static u16 *array(size_t count, int nothing)
{
    u16 *x = simt_buffer(count * 2, 16, 0);
    for (size_t i = 0; i < count; i++) {
        x[i] = nothing ? 0xffff : simt_to_16(number());
    }
    return x;
}

/* K and V, of NaN. */
static kv_number *keys(size_t count)
{
    kv_number *x = simt_buffer(count * sizeof *x, 16, 0);
    memset(x, 0xff, count * sizeof *x);
    return x;
}

/* An element of K or V, and its value without the scale. */
static kv_number element(void)
{
#if kv_is_e4m3
    return (kv_number)((simt_random() & 0x80u) | (0x20u + (simt_random() >> 8) % 0x21u)); /* to 2 */
#else
    return simt_to_16(number());
#endif
}

static double value_of(kv_number x)
{
#if kv_is_e4m3
    return simt_from_e4m3(x);
#else
    return simt_from_16(x);
#endif
}

/* Where key j of a sequence's head is. */
static size_t key_at(int b, int h, int j)
{
    const int extent = PAGE > 0 ? PAGE : c.keys;
    const size_t outer = (size_t)(PAGE > 0 ? c.table[b * c.pages + j / extent] : b);
    const size_t within = (size_t)(j % extent);
    return (layout_is_nhd ? (outer * (size_t)extent + within) * (size_t)c.kv_heads + (size_t)h
                          : (outer * (size_t)c.kv_heads + (size_t)h) * (size_t)extent + within) *
           HEAD_DIM;
}

static void make(void)
{
    const int extent = PAGE > 0 ? PAGE : c.keys;
    c.pages = PAGE > 0 ? (c.keys + PAGE - 1) / PAGE : 1;
    const int pool = PAGE > 0 ? c.batch * c.pages : c.batch;
    const size_t all = (size_t)pool * (size_t)extent * (size_t)c.kv_heads * HEAD_DIM;
    const size_t rows = (size_t)c.batch * (size_t)c.queries * (size_t)c.heads * HEAD_DIM;
    c.q = array(rows, 0);
    c.out = array(rows, 1);
    c.k = keys(all);
    c.v = keys(all);
    c.scale_k = simt_buffer((size_t)c.kv_heads * 4, 4, 0);
    c.scale_v = simt_buffer((size_t)c.kv_heads * 4, 4, 0);
    for (int h = 0; h < c.kv_heads; h++) { /* not read unless K and V are e4m3 */
        c.scale_k[h] = kv_is_e4m3 ? 0.75f + 0.5f * (float)h : NAN;
        c.scale_v[h] = kv_is_e4m3 ? 1.25f - 0.5f * (float)h : NAN;
    }
    c.table = simt_buffer((size_t)c.batch * (size_t)c.pages * 4, 4, 0);
    for (int i = 0; i < c.batch * c.pages; i++) { /* pages in the opposite order */
        const bool there = PAGE > 0 && i % c.pages * PAGE < c.lengths[i / c.pages];
        c.table[i] = there ? pool - 1 - i : -1;
    }
    for (int b = 0; b < c.batch; b++) {
        for (int h = 0; h < c.kv_heads; h++) {
            for (int j = 0; j < c.lengths[b]; j++) {
                for (int d = 0; d < HEAD_DIM; d++) {
                    c.k[key_at(b, h, j) + (size_t)d] = element();
                    c.v[key_at(b, h, j) + (size_t)d] = element();
                }
            }
        }
    }
}

/* A row of O in double. */
static void right(double o[HEAD_DIM], int b, int query, int head)
{
    const int h = head / (c.heads / c.kv_heads), keys = c.lengths[b] - c.queries + 1 + query;
    const u16 *q =
        c.q + (((size_t)b * (size_t)c.queries + (size_t)query) * (size_t)c.heads + (size_t)head) *
                  HEAD_DIM;
    double sum = 0;
    memset(o, 0, HEAD_DIM * sizeof *o);
    for (int j = 0; j < keys; j++) {
        double score = 0;
        for (int d = 0; d < HEAD_DIM; d++) {
            score += simt_from_16(q[d]) * value_of(c.k[key_at(b, h, j) + (size_t)d]);
        }
        const double weight = exp(score * 0.125 * (kv_is_e4m3 ? c.scale_k[h] : 1));
        sum += weight;
        for (int d = 0; d < HEAD_DIM; d++) {
            o[d] += weight * value_of(c.v[key_at(b, h, j) + (size_t)d]);
        }
    }
    for (int d = 0; d < HEAD_DIM; d++) {
        o[d] = sum > 0 ? o[d] / sum * (kv_is_e4m3 ? c.scale_v[h] : 1) : 0;
    }
}

static int compare(const char *what)
{
    int wrong = 0;
    for (int i = 0; i < c.batch * c.queries * c.heads; i++) {
        double o[HEAD_DIM];
        right(o, i / (c.queries * c.heads), i / c.heads % c.queries, i % c.heads);
        for (int d = 0; d < HEAD_DIM; d++) {
            const double got = simt_from_16(c.out[(size_t)i * HEAD_DIM + (size_t)d]);
            if (!(fabs(got - o[d]) <= 0.02) && wrong++ < 3) {
                (void)fprintf(stderr, "%s: row %d of O, [%d] is %g, not %g\n", what, i, d, got,
                              o[d]);
            }
        }
    }
    return wrong;
}

static int run(const char *what, int queries, int heads, int kv_heads, int keys, int blocks,
               int batch, const int *lengths)
{
    int wrong = 0;
    simt.random = (uint64_t)(queries * 7919 + heads * 31 + keys);
    c = (struct call){
        .batch = batch, .queries = queries, .heads = heads, .kv_heads = kv_heads, .keys = keys};
    c.lengths = simt_buffer((size_t)batch * 4, 4, 0);
    memcpy(c.lengths, lengths, (size_t)batch * 4);
    make();
    const size_t work = (size_t)blocks * 2 * ROWS * HEAD_DIM * 8;
    const int shared = SLOTS_BYTES + STATS_BYTES + 4 * (WARPS + batch + 1);
    c.workspace = simt_buffer(work, 128, 0);
    memset(c.workspace, 0, work);
    for (int again = 0; again < 2; again++) { /* with the workspace as left */
        memset(c.out, 0xff, (size_t)(batch * queries * heads) * HEAD_DIM * 2);
        simt.early = LAUNCH_EARLY;
        simt_launch(call_kernel, (unsigned)blocks, THREADS, blocks, shared, (uint64_t)keys);
        wrong += compare(what);
        for (size_t i = 0; i < work; i++) { /* what was left is taken */
            if (c.workspace[i] != 0 && wrong++ < 3) {
                (void)fprintf(stderr, "%s: byte %zu of the workspace is not 0\n", what, i);
            }
        }
    }
    return wrong;
}

int main(void)
{
    const int long_one = TILE_KEYS * WARPS * STAGES + 5;
    int wrong = 0;
    wrong += run("one key", 1, 1, 1, 1, 3, 1, (int[]){1});
    wrong += run("split", 1, 4, 1, long_one, 5, 1, (int[]){long_one});
    wrong += run("mixed lengths", 1, 8, 2, 3 * TILE_KEYS, 4, 5,
                 (int[]){3 * TILE_KEYS, 1, TILE_KEYS, 0, TILE_KEYS + 1});
    wrong += run("several queries", 3, 10, 2, 2 * TILE_KEYS, 3, 2, (int[]){2 * TILE_KEYS, 2});
    wrong += run("more blocks than tiles", 2, 2, 2, 17, 7, 1, (int[]){17});
    wrong += run("one block", 1, 2, 1, 5 * TILE_KEYS, 1, 3, (int[]){7, 5 * TILE_KEYS, 16});
    if (simt_conflicts > 0) {
        (void)fprintf(stderr, "%ld conflicts of banks\n", simt_conflicts);
        wrong++;
    }
    return wrong > 0;
}
