/* attention_reference.c: runs attention's reference.cu on the CPU and compares it with the formula.
   See simt.h and cases.txt. */
#include "referee_bits.h"

#pragma GCC diagnostic ignored "-Wunused-function" /* the kernels that compare */

#define choice_scale 0.25
#ifndef layout_is_nhd
#define layout_is_nhd 0
#endif
#ifndef mask_is_causal
#define mask_is_causal 0
#endif

#include "../../src/backend/cuda/cuda_referee.cu"
#include "../../kernels/attention/reference.cu"

#ifndef sequences_is_packed
#define sequences_is_packed 0
#endif

/* Packed sequences are all in array 0: one has no queries, one no keys. */
enum { BATCH = 2 + 2 * sequences_is_packed, ARRAY_COUNT = sequences_is_packed ? 1 : BATCH };
enum { HEADS = 4, KV_HEADS = 2, QUERIES = 9, KEYS = 7 + 300 * !mask_is_causal, DIM = 8 };
static const int query_offsets[5] = {0, 4, 4, 6, QUERIES}, key_offsets[5] = {0, 3, 5, 5, KEYS};
static u16 q[ARRAY_COUNT * HEADS * QUERIES * DIM];
static u16 k[ARRAY_COUNT * KV_HEADS * KEYS * DIM], v[ARRAY_COUNT * KV_HEADS * KEYS * DIM];
static double o[ARRAY_COUNT * HEADS * QUERIES * DIM], lse[ARRAY_COUNT * HEADS * QUERIES];

static void call_reference(void)
{
    ak_reference(q, k, v, o, lse, query_offsets, key_offsets, BATCH, HEADS, KV_HEADS, QUERIES, KEYS,
                 DIM);
}

static void fill(u16 *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        x[i] = simt_to_16((float)((double)simt_random() / 2147483648.0 - 1));
    }
}

static int at(int array, int head, int row, int heads, int all)
{
    return (layout_is_nhd ? (array * all + row) * heads + head
                          : (array * heads + head) * all + row) *
           DIM;
}

static bool seen(int query, int key)
{
    const int window = (int)choice_window;
    int own = query + KEYS - QUERIES, sequence = 0;
    if (sequences_is_packed) {
        while (query >= query_offsets[sequence + 1]) {
            sequence++;
        }
        own = query - query_offsets[sequence + 1] + key_offsets[sequence + 1];
        if (key < key_offsets[sequence] || key >= key_offsets[sequence + 1]) {
            return false;
        }
    }
    return !mask_is_causal || (key <= own && (window == 0 || key > own - window));
}

static double score_of(int array, int head, int query, int key)
{
    double dot = 0;
    for (int d = 0; d < DIM; d++) {
        dot += simt_from_16(q[at(array, head, query, HEADS, QUERIES) + d]) *
               simt_from_16(k[at(array, head / (HEADS / KV_HEADS), key, KV_HEADS, KEYS) + d]);
    }
    dot *= choice_scale;
    return choice_soft_cap > 0 ? choice_soft_cap * tanh(dot / choice_soft_cap) : dot;
}

/* Counts what is wrong with a row of O and with its element of LSE. */
static int wrong_in(int array, int head, int query)
{
    double all = 0, sums[DIM] = {0};
    int wrong = 0;
    for (int j = 0; j < KEYS; j++) {
        const double weight = seen(query, j) ? exp(score_of(array, head, query, j)) : 0;
        all += weight;
        for (int d = 0; d < DIM; d++) {
            sums[d] += weight *
                       simt_from_16(v[at(array, head / (HEADS / KV_HEADS), j, KV_HEADS, KEYS) + d]);
        }
    }
    for (int d = 0; d < DIM; d++) {
        const double want = all > 0 ? sums[d] / all : 0;
        const double got = o[at(array, head, query, HEADS, QUERIES) + d];
        wrong += !(fabs(got - want) <= 1e-12);
    }
    const double got = lse[(array * HEADS + head) * QUERIES + query];
    return wrong + (all > 0 ? !(fabs(got - log(all)) <= 1e-12) : !(got < 0 && isinf(got)));
}

int main(void)
{
    int wrong = 0;
    fill(q, sizeof q / sizeof *q);
    fill(k, sizeof k / sizeof *k);
    fill(v, sizeof v / sizeof *v);
    memset(o, 0xff, sizeof o);
    memset(lse, 0xff, sizeof lse);
    simt_launch(call_reference, 5, THREADS, 1, (int)sizeof(finding[THREADS]), 1);
    for (int i = 0; i < ARRAY_COUNT * HEADS * QUERIES; i++) {
        const int bad = wrong_in(i / HEADS / QUERIES, i / QUERIES % HEADS, i % QUERIES);
        if (bad > 0) {
            (void)fprintf(stderr, "row %d: %d elements of O and LSE are wrong\n", i, bad);
        }
        wrong += bad;
    }
    return wrong > 0;
}
