/*
 * attention, reference: each row of O is the mean of the rows of V that a query attends to,
 * weighted by exp of the scaled products of the query with rows of K, in double precision.
 */
#include <math.h>

enum { BATCH, HEADS, KV_HEADS, QUERIES, KEYS, HEAD_DIM };
enum { MASK, LAYOUT, WINDOW, SCALE, SOFT_CAP };
enum { Q, K, V, O, LSE };
enum { CHUNK = 256 };

/* Returns where a row starts, in an array with so many heads and rows of a sequence. */
static int64_t row_at(const ak_host_call *call, int64_t sequence, int64_t head, int64_t row,
                      int64_t heads, int64_t rows)
{
    return (call->choice[LAYOUT] == 0 ? (sequence * heads + head) * rows + row
                                      : (sequence * rows + row) * heads + head) *
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
static double attend(double *o, const double *q, const ak_host_call *call, int64_t sequence,
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
            const int64_t row = row_at(call, sequence, head, first + j, size[KV_HEADS], size[KEYS]);
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
                              row_at(call, sequence, head, first + j, size[KV_HEADS], size[KEYS]);
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

static void attention_rows(void *context, int thread, int threads)
{
    const ak_host_call *call = context;
    const int64_t *size = call->size, rows = size[BATCH] * size[HEADS] * size[QUERIES];
    const int64_t window = (int64_t)call->number[WINDOW];
    for (int64_t i = thread; i < rows; i += threads) {
        const int64_t query = i % size[QUERIES], head = i / size[QUERIES] % size[HEADS];
        const int64_t sequence = i / size[QUERIES] / size[HEADS];
        const int64_t own = query + size[KEYS] - size[QUERIES];
        int64_t from = 0, upto = size[KEYS];
        if (call->choice[MASK] == 1) {
            upto = own < 0 ? 0 : own + 1;
            from = window > 0 && own >= window ? own - window + 1 : 0;
        }
        const int64_t row = row_at(call, sequence, head, query, size[HEADS], size[QUERIES]);
        ((double *)call->arg[LSE])[i] =
            attend((double *)call->arg[O] + row, (const double *)call->arg[Q] + row, call, sequence,
                   head * size[KV_HEADS] / size[HEADS], from, upto);
    }
}

void ak_reference(const ak_host_call *call)
{
    call->parallel(call->pool, call->threads, attention_rows, (void *)call);
}
