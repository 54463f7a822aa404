/*
 * attention_decode, reference: each row of O is the mean of rows of V, weighted by exp of the
 * scaled products of a row of Q with rows of K, in double precision. K and V of e4m3 have a factor
 * for each of their heads.
 */
#include <math.h>

enum { BATCH, QUERIES, HEADS, KV_HEADS, KEYS, HEAD_DIM };
enum { LENGTHS, LAYOUT, PAGE, KV, SCALE };
enum { Q, K, V, LENGTH, TABLE, SCALE_K, SCALE_V, O };
enum { CHUNK = 256 };

/* Returns where a key's row starts in K and in V. */
static int64_t row_of_key(const ak_host_call *call, int64_t sequence, int64_t head, int64_t key)
{
    const int64_t *size = call->size, page = (int64_t)call->number[PAGE];
    const double *table = call->arg[TABLE];
    int64_t outer = sequence, extent = size[KEYS];
    if (page > 0) {
        const int64_t pages = (size[KEYS] + page - 1) / page;
        outer = (int64_t)table[sequence * pages + key / page];
        key %= page;
        extent = page;
    }
    return (call->choice[LAYOUT] == 0 ? (outer * size[KV_HEADS] + head) * extent + key
                                      : (outer * extent + key) * size[KV_HEADS] + head) *
           size[HEAD_DIM];
}

/* Returns the factor of a head of K or V. */
static double factor_of(const ak_host_call *call, int argument, int64_t head)
{
    return call->choice[KV] == 0 ? 1 : ((const double *)call->arg[argument])[head];
}

static void attend(double *o, const double *q, const ak_host_call *call, int64_t sequence,
                   int64_t head, int64_t keys)
{
    const int64_t columns = call->size[HEAD_DIM];
    const double given = call->number[SCALE];
    const double scale = given == 0 ? 1 / sqrt((double)columns) : given;
    double max = -INFINITY, sum = 0;
    for (int64_t d = 0; d < columns; ++d) {
        o[d] = 0;
    }
    for (int64_t first = 0; first < keys; first += CHUNK) {
        const int64_t count = keys - first < CHUNK ? keys - first : CHUNK;
        double score[CHUNK], before = max;
        for (int64_t j = 0; j < count; ++j) {
            const double *k =
                (const double *)call->arg[K] + row_of_key(call, sequence, head, first + j);
            double dot = 0;
            for (int64_t d = 0; d < columns; ++d) {
                dot += q[d] * k[d];
            }
            score[j] = dot * scale * factor_of(call, SCALE_K, head);
            max = score[j] > max ? score[j] : max;
        }
        const double less = exp(before - max);
        sum *= less;
        for (int64_t d = 0; d < columns; ++d) {
            o[d] *= less;
        }
        for (int64_t j = 0; j < count; ++j) {
            const double *v =
                (const double *)call->arg[V] + row_of_key(call, sequence, head, first + j);
            const double weight = exp(score[j] - max);
            sum += weight;
            for (int64_t d = 0; d < columns; ++d) {
                o[d] += weight * v[d];
            }
        }
    }
    for (int64_t d = 0; d < columns && keys > 0; ++d) {
        o[d] *= factor_of(call, SCALE_V, head) / sum;
    }
}

static void attention_rows(void *context, int thread, int threads)
{
    const ak_host_call *call = context;
    const int64_t *size = call->size, rows = size[BATCH] * size[QUERIES] * size[HEADS];
    const double *length = call->arg[LENGTH];
    for (int64_t i = rows * thread / threads; i < rows * (thread + 1) / threads; ++i) {
        const int64_t head = i % size[HEADS], query = i / size[HEADS] % size[QUERIES];
        const int64_t sequence = i / size[HEADS] / size[QUERIES];
        const int64_t keys = (int64_t)length[sequence] - size[QUERIES] + 1 + query;
        attend((double *)call->arg[O] + i * size[HEAD_DIM],
               (const double *)call->arg[Q] + i * size[HEAD_DIM], call, sequence,
               head * size[KV_HEADS] / size[HEADS], keys);
    }
}

void ak_reference(const ak_host_call *call)
{
    call->parallel(call->pool, call->threads, attention_rows, (void *)call);
}
