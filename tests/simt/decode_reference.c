/* decode_reference.c: runs attention_decode's reference.cu on the CPU and compares it with the
   formula. See simt.h and cases.txt. */
#include "referee_bits.h"

#pragma GCC diagnostic ignored "-Wunused-function" /* the kernels that compare */

#define choice_scale 0.25
#ifndef layout_is_nhd
#define layout_is_nhd 0
#endif

#include "../../src/backend/cuda/cuda_referee.cu"
#include "../../kernels/attention_decode/reference.cu"

enum { BATCH = 3, QUERIES = 2, HEADS = 4, KV_HEADS = 2, ROOM = 70, DIM = 24 };
enum { EXTENT = (int)choice_page > 0 ? (int)choice_page : ROOM };
enum { PAGES = (ROOM + EXTENT - 1) / EXTENT };
static u16 q[BATCH * QUERIES * HEADS * DIM];
#if kv_is_e4m3
typedef unsigned char kv_number;
#else
typedef u16 kv_number;
#endif
static kv_number k[BATCH * PAGES * EXTENT * KV_HEADS * DIM],
    v[BATCH * PAGES * EXTENT * KV_HEADS * DIM];
static const float scale_k[KV_HEADS] = {0.5F, 1.5F}, scale_v[KV_HEADS] = {3, 0.25F};
static int length[BATCH] = {ROOM, 1, 33}, table[BATCH * PAGES];
static double o[BATCH * QUERIES * HEADS * DIM];

static void call_reference(void)
{
    ak_reference(q, k, v, length, table, scale_k, scale_v, o, BATCH, QUERIES, HEADS, KV_HEADS, ROOM,
                 DIM);
}

static void fill(u16 *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        x[i] = simt_to_16((float)((double)simt_random() / 2147483648.0 - 1));
    }
}

static void fill_keys(kv_number *x, size_t count)
{
#if kv_is_e4m3
    for (size_t i = 0; i < count; i++) {
        x[i] = (kv_number)((simt_random() & 0x80u) | (simt_random() >> 8) % 0x41u); /* to 2 */
    }
#else
    fill(x, count);
#endif
}

/* Element d of a key, of K or of V, times the factor of its head. */
static double number_at(const kv_number *of, int sequence, int head, int key, int d)
{
    const int outer = choice_page > 0 ? table[sequence * PAGES + key / EXTENT] : sequence;
    const int row = layout_is_nhd ? (outer * EXTENT + key % EXTENT) * KV_HEADS + head
                                  : (outer * KV_HEADS + head) * EXTENT + key % EXTENT;
#if kv_is_e4m3
    return simt_from_e4m3(of[row * DIM + d]) * (double)(of == k ? scale_k : scale_v)[head];
#else
    return simt_from_16(of[row * DIM + d]);
#endif
}

/* Element d of row i of O. */
static double right(int i, int d)
{
    const int sequence = i / HEADS / QUERIES, head = i % HEADS / (HEADS / KV_HEADS);
    const int keys = length[sequence] - QUERIES + 1 + i / HEADS % QUERIES;
    double sum = 0, all = 0;
    for (int j = 0; j < keys; j++) {
        double score = 0;
        for (int e = 0; e < DIM; e++) {
            score += simt_from_16(q[i * DIM + e]) * number_at(k, sequence, head, j, e);
        }
        all += exp(choice_scale * score);
        sum += exp(choice_scale * score) * number_at(v, sequence, head, j, d);
    }
    return keys > 0 ? sum / all : 0;
}

int main(void)
{
    int wrong = 0;
    fill(q, sizeof q / sizeof *q);
    fill_keys(k, sizeof k / sizeof *k);
    fill_keys(v, sizeof v / sizeof *v);
    for (int i = 0; i < BATCH * PAGES; i++) {
        table[i] = BATCH * PAGES - 1 - i;
    }
    memset(o, 0xff, sizeof o);
    simt_launch(call_reference, 5, THREADS, 1, (int)sizeof(finding[THREADS]), 1);
    for (int i = 0; i < BATCH * QUERIES * HEADS; i++) {
        for (int d = 0; d < DIM; d++) {
            const double want = right(i, d), got = o[i * DIM + d];
            if (!(fabs(got - want) <= 1e-12) && wrong++ < 3) {
                (void)fprintf(stderr, "row %d of O, [%d] is %.17g, not %.17g\n", i, d, got, want);
            }
        }
    }
    return wrong > 0;
}
