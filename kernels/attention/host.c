/*
 * host.c: attention in single precision.
 *
 * An item is a tile of TILE_QUERIES queries of a head of a sequence. The threads take items in
 * turn, with causal masks those with the most keys first. For each chunk of KEYS keys an item's
 * scores are computed, ROWS rows and DOTS keys at a time, turned into weights, and the weighted
 * rows of V added, ROWS rows and COLUMNS vectors at a time with the sums in registers. Sums are
 * relative to the largest score so far.
 */
enum { BATCH, HEADS, KV_HEADS, QUERIES, ALL_KEYS, HEAD_DIM };
enum { MASK, LAYOUT, WINDOW, SCALE, SOFT_CAP, SEQUENCES };
enum { Q, K, V, O, LSE, QUERY_OFFSETS, KEY_OFFSETS };

typedef struct attention {
    const ak_host_call *call;
    int64_t batch, heads, group, queries, keys, columns, window, tiles;
    float scale, cap;
} attention;

/* An item, and the memory of its thread. Its sequence has so many queries and keys, from the first
   of an array on, which is number `array`: packed sequences are all in array 0. */
typedef struct item {
    int64_t array, first_query, queries, first_key, keys;
    int64_t head, first, rows;
    float *sums;   /* TILE_QUERIES x columns */
    float *stats;  /* maximum and sum of each row */
    float *scores; /* TILE_QUERIES x KEYS */
    float *spare;  /* a row */
} item;

/* Returns where a row starts in arrays with so many heads and rows. */
static int64_t row_at(const attention *a, int64_t array, int64_t head, int64_t row, int64_t heads,
                      int64_t rows)
{
    return (a->call->choice[LAYOUT] == 0 ? (array * heads + head) * rows + row
                                         : (array * rows + row) * heads + head) *
           a->columns;
}

static int64_t query_at(const attention *a, const item *t, int64_t i)
{
    return row_at(a, t->array, t->head, t->first_query + t->first + (i < t->rows ? i : t->rows - 1),
                  a->heads, a->queries);
}

/* Stores where `count` keys' rows start; where there are no more keys, the last is repeated. */
static void rows_of_keys(const float **rows, const attention *a, const item *t, const float *of,
                         int64_t first, int64_t count, int64_t all)
{
    for (int64_t j = 0; j < all; ++j) {
        rows[j] = of + row_at(a, t->array, t->head / a->group,
                              t->first_key + first + (j < count ? j : count - 1),
                              a->heads / a->group, a->keys);
    }
}

/* The keys from *from up to and without *upto are those that row i attends to. */
static void keys_of(int64_t *from, int64_t *upto, const attention *a, const item *t, int64_t i)
{
    *from = 0;
    *upto = t->keys;
    if (a->call->choice[MASK] == 1) {
        const int64_t own = t->first + i + t->keys - t->queries;
        *upto = own < 0 ? 0 : own + 1;
        *from = a->window > 0 && own >= a->window ? own - a->window + 1 : 0;
    }
}

static void scores_of_chunk(const attention *a, const item *t, int64_t first, int64_t count)
{
    const float *k[KEYS + DOTS];
    rows_of_keys(k, a, t, a->call->arg[K], first, count, KEYS + DOTS);
    for (int64_t i = 0; i < t->rows; i += ROWS) {
        const float *q[ROWS];
        for (int64_t r = 0; r < ROWS; ++r) {
            q[r] = (const float *)a->call->arg[Q] + query_at(a, t, i + r);
        }
        float block[ROWS * DOTS];
        for (int64_t j = 0; j < count; j += DOTS) {
            dots(block, DOTS, q, k + j, a->columns, ROWS, DOTS);
            for (int64_t r = 0; r < ROWS && i + r < t->rows; ++r) {
                for (int64_t e = 0; e < DOTS && j + e < count; ++e) {
                    float x = block[r * DOTS + e] * a->scale;
                    x = a->cap > 0 ? a->cap * __builtin_tanhf(x / a->cap) : x;
                    t->scores[(i + r) * KEYS + j + e] = x;
                }
            }
        }
    }
}

static void add_chunk(const attention *a, const item *t, int64_t first, int64_t count)
{
    const float *v[KEYS];
    rows_of_keys(v, a, t, a->call->arg[V], first, count, count);
    for (int64_t i = 0; i < t->rows; i += ROWS) {
        float *sums[ROWS];
        const float *weights[ROWS];
        for (int64_t r = 0; r < ROWS; ++r) { /* a row that does not exist goes to a spare one */
            sums[r] = i + r < t->rows ? t->sums + (i + r) * a->columns : t->spare;
            weights[r] = t->scores + (i + r < t->rows ? i + r : i) * KEYS;
        }
        add_rows(sums, weights, v, count, a->columns);
    }
}

static void write_item(const attention *a, const item *t)
{
    float *lse =
        (float *)a->call->arg[LSE] + (t->array * a->heads + t->head) * a->queries + t->first_query;
    for (int64_t i = 0; i < t->rows; ++i) {
        float *to = (float *)a->call->arg[O] + query_at(a, t, i);
        const float sum = t->stats[2 * i + 1], one = sum > 0 ? 1 / sum : 0;
        for (int64_t d = 0; d < a->columns; ++d) {
            to[d] = t->sums[i * a->columns + d] * one;
        }
        lse[t->first + i] =
            sum > 0 ? t->stats[2 * i] + (float)__builtin_log((double)sum) : -__builtin_inff();
    }
}

static void run_item(const attention *a, const item *t)
{
    int64_t begin, end, unused;
    for (int64_t i = 0; i < t->rows * a->columns; ++i) {
        t->sums[i] = 0;
    }
    for (int64_t i = 0; i < t->rows; ++i) {
        t->stats[2 * i] = -__builtin_inff();
        t->stats[2 * i + 1] = 0;
    }
    keys_of(&begin, &unused, a, t, 0);
    keys_of(&unused, &end, a, t, t->rows - 1);
    for (int64_t first = begin; first < end; first += KEYS) {
        const int64_t count = end - first < KEYS ? end - first : KEYS;
        scores_of_chunk(a, t, first, count);
        for (int64_t i = 0; i < t->rows; ++i) {
            int64_t from, upto;
            keys_of(&from, &upto, a, t, i);
            from = from > first ? from - first : 0;
            upto = upto - first < count ? upto - first : count;
            weights_of_row(t->scores + i * KEYS, t->sums + i * a->columns, t->stats + 2 * i, from,
                           upto, a->columns);
        }
        add_chunk(a, t, first, count);
    }
    write_item(a, t);
}

static void find_sequence(item *t, const attention *a, int64_t sequence)
{
    t->array = sequence;
    t->first_query = 0;
    t->queries = a->queries;
    t->first_key = 0;
    t->keys = a->keys;
    if (a->call->choice[SEQUENCES] == 1) {
        const int32_t *of_queries = (const int32_t *)a->call->arg[QUERY_OFFSETS] + sequence;
        const int32_t *of_keys = (const int32_t *)a->call->arg[KEY_OFFSETS] + sequence;
        t->array = 0;
        t->first_query = of_queries[0];
        t->queries = of_queries[1] - of_queries[0];
        t->first_key = of_keys[0];
        t->keys = of_keys[1] - of_keys[0];
    }
}

static void attention_thread(void *context, int thread, int threads)
{
    const attention *a = context;
    const int64_t each = (TILE_QUERIES * (a->columns + 2 + KEYS) + a->columns + 15) / 16 * 16;
    float *own = (float *)a->call->workspace + thread * each;
    item t = {.sums = own,
              .scores = own + TILE_QUERIES * a->columns,
              .stats = own + TILE_QUERIES * (a->columns + KEYS),
              .spare = own + TILE_QUERIES * (a->columns + KEYS + 2)};
    int64_t turn = 0;
    for (t.first = (a->tiles - 1) * TILE_QUERIES; t.first >= 0; t.first -= TILE_QUERIES) {
        for (int64_t sequence = 0; sequence < a->batch; ++sequence) {
            find_sequence(&t, a, sequence);
            t.rows = t.queries - t.first < TILE_QUERIES ? t.queries - t.first : TILE_QUERIES;
            for (t.head = 0; t.head < a->heads && t.rows > 0; ++t.head) {
                if (turn++ % threads == thread) {
                    run_item(a, &t);
                }
            }
        }
    }
}

void ak_kernel(const ak_host_call *call)
{
    const int64_t *size = call->size;
    attention a = {.call = call,
                   .batch = size[BATCH],
                   .heads = size[HEADS],
                   .group = size[HEADS] / size[KV_HEADS],
                   .queries = size[QUERIES],
                   .keys = size[ALL_KEYS],
                   .columns = size[HEAD_DIM],
                   .window = (int64_t)call->number[WINDOW],
                   .tiles = (size[QUERIES] + TILE_QUERIES - 1) / TILE_QUERIES,
                   .cap = (float)call->number[SOFT_CAP]};
    a.scale = (float)(call->number[SCALE] == 0 ? 1 / __builtin_sqrt((double)a.columns)
                                               : call->number[SCALE]);
    call->parallel(call->pool, call->threads, attention_thread, &a);
}
