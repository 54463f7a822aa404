/*
 * attention, reference: each row of O is the mean of the rows of V that a query attends to,
 * weighted by exp of the scaled products of the query with rows of K, in double precision.
 */
#include <math.h>

enum { BATCH, HEADS, KV_HEADS, QUERIES, KEYS, HEAD_DIM };
enum { MASK, LAYOUT, WINDOW, SCALE, SOFT_CAP, SEQUENCES };
enum { Q, K, V, O, LSE, QUERY_OFFSETS, KEY_OFFSETS };
enum { CHUNK = 256 };

/* The rows of a sequence: `queries` of Q and O, `keys` of K and V, from the first of an array on,
   which is number `of` (packed sequences are all in array 0). */
typedef struct rows {
    int64_t of, first_query, queries, first_key, keys;
} rows;

static rows rows_of(const ak_host_call *call, int64_t sequence)
{
    if (call->choice[SEQUENCES] == 0) {
        return (rows){sequence, 0, call->size[QUERIES], 0, call->size[KEYS]};
    }
    const double *q = (const double *)call->arg[QUERY_OFFSETS] + sequence;
    const double *k = (const double *)call->arg[KEY_OFFSETS] + sequence;
    return (rows){0, (int64_t)q[0], (int64_t)(q[1] - q[0]), (int64_t)k[0], (int64_t)(k[1] - k[0])};
}

/* Returns where a row starts, in arrays with so many heads and rows. */
static int64_t row_at(const ak_host_call *call, int64_t array, int64_t head, int64_t row,
                      int64_t heads, int64_t all)
{
    return (call->choice[LAYOUT] == 0 ? (array * heads + head) * all + row
                                      : (array * all + row) * heads + head) *
           call->size[HEAD_DIM];
}

static double score_of(const ak_host_call *call, const double *q, const double *k)
{
    const int64_t columns = call->size[HEAD_DIM];
    const double scale = call->number[SCALE], cap = call->number[SOFT_CAP];
    double dot = 0;
    for (int64_t d = 0; d < columns; ++d) {
        dot += q[d] * k[d];
    }
    dot *= scale == 0 ? 1 / sqrt((double)columns) : scale;
    return cap == 0 ? dot : cap * tanh(dot / cap);
}

/* Attends to the keys from `from` up to and without `upto`. Returns the logarithm of the sum. */
static double attend(double *o, const double *q, const ak_host_call *call, int64_t array,
                     int64_t head, int64_t from, int64_t upto)
{
    const int64_t *size = call->size, columns = size[HEAD_DIM];
    double max = -INFINITY, sum = 0;
    for (int64_t d = 0; d < columns; ++d) {
        o[d] = 0;
    }
    for (int64_t first = from; first < upto; first += CHUNK) {
        const int64_t count = upto - first < CHUNK ? upto - first : CHUNK;
        double score[CHUNK], before = max;
        for (int64_t j = 0; j < count; ++j) {
            const int64_t row = row_at(call, array, head, first + j, size[KV_HEADS], size[KEYS]);
            score[j] = score_of(call, q, (const double *)call->arg[K] + row);
            max = score[j] > max ? score[j] : max;
        }
        const double less = exp(before - max);
        sum *= less;
        for (int64_t d = 0; d < columns; ++d) {
            o[d] *= less;
        }
        for (int64_t j = 0; j < count; ++j) {
            const double *v = (const double *)call->arg[V] +
                              row_at(call, array, head, first + j, size[KV_HEADS], size[KEYS]);
            const double weight = exp(score[j] - max);
            sum += weight;
            for (int64_t d = 0; d < columns; ++d) {
                o[d] += weight * v[d];
            }
        }
    }
    for (int64_t d = 0; d < columns && from < upto; ++d) {
        o[d] /= sum;
    }
    return from < upto ? max + log(sum) : -INFINITY;
}

static void attention_row(const ak_host_call *call, const rows *r, int64_t head, int64_t query)
{
    const int64_t *size = call->size, window = (int64_t)call->number[WINDOW];
    const int64_t own = query + r->keys - r->queries, at = r->first_query + query;
    int64_t from = 0, upto = r->keys;
    if (call->choice[MASK] == 1) {
        upto = own < 0 ? 0 : own + 1;
        from = window > 0 && own >= window ? own - window + 1 : 0;
    }
    const int64_t row = row_at(call, r->of, head, at, size[HEADS], size[QUERIES]);
    ((double *)call->arg[LSE])[(r->of * size[HEADS] + head) * size[QUERIES] + at] =
        attend((double *)call->arg[O] + row, (const double *)call->arg[Q] + row, call, r->of,
               head * size[KV_HEADS] / size[HEADS], r->first_key + from, r->first_key + upto);
}

/* Thread `thread` takes every `threads`-th row. */
static void attention_rows(void *context, int thread, int threads)
{
    const ak_host_call *call = context;
    int64_t count = 0;
    for (int64_t sequence = 0; sequence < call->size[BATCH]; ++sequence) {
        const rows r = rows_of(call, sequence);
        for (int64_t i = 0; i < call->size[HEADS] * r.queries; ++i) {
            if (count++ % threads == thread) {
                attention_row(call, &r, i / r.queries, i % r.queries);
            }
        }
    }
}

void ak_reference(const ak_host_call *call)
{
    call->parallel(call->pool, call->threads, attention_rows, (void *)call);
}
