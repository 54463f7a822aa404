/*
 * host.c: attention of one to a few queries of each sequence to long keys, in single precision. K
 * and V may be e4m3; their rows of a chunk are widened before they are used.
 *
 * An item is a sequence and a head of K and V. The chunks of KEYS keys of all items form one
 * line, which the threads share evenly whatever the lengths are. A thread's sums of an item are
 * relative to a maximum. If several threads work on an item, they leave their sums in the
 * workspace, and after a barrier the thread with the item's first chunk adds them.
 *
 * For each chunk a thread computes the scores of all rows (all queries of the heads of Q that
 * share the head), ROWS rows and DOTS keys at a time, so that what is loaded is used several
 * times. It turns them into weights, and adds the weighted rows of V, ROWS rows and COLUMNS
 * vectors at a time with the sums in registers. The chunk of V is still in the cache if KEYS is
 * not too large.
 */
enum { BATCH, QUERIES, HEADS, KV_HEADS, ROOM, HEAD_DIM };
enum { LENGTHS, LAYOUT, PAGE, KV, SCALE };
enum { Q, K, V, LENGTH, TABLE, SCALE_K, SCALE_V, O };

#if kv_is_e4m3
enum { ROWS_WIDENED = KEYS };
#else
enum { ROWS_WIDENED = 0 };
#endif

typedef struct attention {
    const ak_host_call *call;
    int64_t batch, queries, group, kv_heads, room, columns, page, pages, rows;
    float scale;
    int64_t line; /* chunks of all items */
#if kv_is_e4m3
    float number[256]; /* the values of bytes */
#endif
} attention;

/* A thread's part of an item. Its sums are rows x columns, then a maximum and a sum for each
   row. */
typedef struct part {
    int64_t sequence, head, length;
    int64_t begin, chunks; /* the item's first chunk in the line, and its number of chunks */
    int64_t first, last;   /* first and last chunk of the part */
    float *sums;
    float *widened; /* room for KEYS rows of K or V */
} part;

static int64_t chunks_of(const attention *a, int64_t sequence)
{
    const int64_t length = ((const int32_t *)a->call->arg[LENGTH])[sequence];
    return length > 0 ? (length + KEYS - 1) / KEYS : 1;
}

static int64_t floats_of_sums(const attention *a)
{
    return a->rows * (a->columns + 2);
}

/* Returns where a key's row starts in K and in V. */
static int64_t row_of_key(const attention *a, const part *p, int64_t key)
{
    int64_t outer = p->sequence, extent = a->room;
    if (a->page > 0) {
        outer = ((const int32_t *)a->call->arg[TABLE])[p->sequence * a->pages + key / a->page];
        key %= a->page;
        extent = a->page;
    }
    return (a->call->choice[LAYOUT] == 0 ? (outer * a->kv_heads + p->head) * extent + key
                                         : (outer * extent + key) * a->kv_heads + p->head) *
           a->columns;
}

/* Returns the row of Q and O: row i of an item is head i % group of query i / group. */
static int64_t row_at(const attention *a, const part *p, int64_t i)
{
    return (((p->sequence * a->queries + i / a->group) * a->kv_heads + p->head) * a->group +
            i % a->group) *
           a->columns;
}

/* Gives the rows of `count` keys of K or V, times the scale of their head. */
static void rows_of_keys(const float **rows, const attention *a, const part *p, int argument,
                         int64_t first, int64_t count)
{
    for (int64_t j = 0; j < count; ++j) {
        const int64_t at = row_of_key(a, p, first + j);
#if kv_is_e4m3
        const uint8_t *from = (const uint8_t *)a->call->arg[argument] + at;
        const float *scales = a->call->arg[argument == K ? SCALE_K : SCALE_V];
        float *to = p->widened + j * a->columns;
        for (int64_t d = 0; d < a->columns; ++d) {
            to[d] = a->number[from[d]] * scales[p->head];
        }
        rows[j] = to;
#else
        rows[j] = (const float *)a->call->arg[argument] + at;
#endif
    }
}

/* ---- scores ---- */

static void scores_of_chunk(float *scores, const attention *a, const part *p, int64_t first,
                            int64_t count)
{
    const float *k[KEYS + DOTS];
    rows_of_keys(k, a, p, K, first, count);
    for (int64_t j = count; j < KEYS + DOTS; ++j) { /* there are no more: the last is repeated */
        k[j] = k[count - 1];
    }
    for (int64_t i = 0; i < a->rows; i += ROWS) {
        const float *q[ROWS];
        for (int64_t r = 0; r < ROWS; ++r) {
            q[r] = (const float *)a->call->arg[Q] +
                   row_at(a, p, i + r < a->rows ? i + r : a->rows - 1);
        }
        float block[ROWS * DOTS];
        for (int64_t j = 0; j < count; j += DOTS) {
            dots(block, DOTS, q, k + j, a->columns, ROWS, DOTS);
            for (int64_t r = 0; r < ROWS && i + r < a->rows; ++r) {
                for (int64_t e = 0; e < DOTS && j + e < count; ++e) {
                    scores[(i + r) * KEYS + j + e] = block[r * DOTS + e] * a->scale;
                }
            }
        }
    }
}

/* ---- rows of V ---- */

static void add_chunk(const attention *a, const part *p, const float *scores, float *spare,
                      int64_t first, int64_t count)
{
    const float *v[KEYS];
    rows_of_keys(v, a, p, V, first, count);
    for (int64_t i = 0; i < a->rows; i += ROWS) {
        float *sums[ROWS];
        const float *weights[ROWS];
        for (int64_t r = 0; r < ROWS; ++r) { /* a row that does not exist goes to a spare one */
            sums[r] = i + r < a->rows ? p->sums + (i + r) * a->columns : spare;
            weights[r] = scores + (i + r < a->rows ? i + r : i) * KEYS;
        }
        add_rows(sums, weights, v, count, a->columns);
    }
}

/* ---- items ---- */

static void run_part(const attention *a, const part *p, float *scores, float *spare)
{
    float *stats = p->sums + a->rows * a->columns;
    for (int64_t i = 0; i < a->rows * a->columns; ++i) {
        p->sums[i] = 0;
    }
    for (int64_t i = 0; i < a->rows; ++i) {
        stats[2 * i] = -__builtin_inff();
        stats[2 * i + 1] = 0;
    }
    for (int64_t c = p->first; c < p->last; ++c) {
        const int64_t first = c * KEYS;
        const int64_t count = p->length - first < KEYS ? p->length - first : KEYS;
        if (count <= 0) {
            break;
        }
        scores_of_chunk(scores, a, p, first, count);
        for (int64_t i = 0; i < a->rows; ++i) {
            const int64_t limit = p->length - a->queries + 1 + i / a->group - first;
            weights_of_row(scores + i * KEYS, p->sums + i * a->columns, stats + 2 * i, 0,
                           limit < 0       ? 0
                           : limit < count ? limit
                                           : count,
                           a->columns);
        }
        add_chunk(a, p, scores, spare, first, count);
    }
}

/* Adds the sums of another part of the item. */
static void add_sums(const attention *a, float *to, const float *from)
{
    float *stats = to + a->rows * a->columns;
    const float *other = from + a->rows * a->columns;
    for (int64_t i = 0; i < a->rows; ++i) {
        const float max = stats[2 * i] > other[2 * i] ? stats[2 * i] : other[2 * i];
        if (max == -__builtin_inff()) {
            continue;
        }
        const float mine = vec_exp_bounded(vec_splat(stats[2 * i] - max))[0];
        const float its = vec_exp_bounded(vec_splat(other[2 * i] - max))[0];
        for (int64_t d = 0; d < a->columns; ++d) {
            to[i * a->columns + d] = mine * to[i * a->columns + d] + its * from[i * a->columns + d];
        }
        stats[2 * i] = max;
        stats[2 * i + 1] = mine * stats[2 * i + 1] + its * other[2 * i + 1];
    }
}

static void write_item(const attention *a, const part *p)
{
    const float *stats = p->sums + a->rows * a->columns;
    for (int64_t i = 0; i < a->rows; ++i) {
        float *to = (float *)a->call->arg[O] + row_at(a, p, i);
        const float one = stats[2 * i + 1] > 0 ? 1 / stats[2 * i + 1] : 0;
        for (int64_t d = 0; d < a->columns; ++d) {
            to[d] = p->sums[i * a->columns + d] * one;
        }
    }
}

/* ---- threads ---- */

static int64_t begin_of(const attention *a, int64_t thread, int64_t threads)
{
    return a->line * thread / threads;
}

/* Finds the item that has chunk `at` of the line. */
static void find_item(part *p, const attention *a, int64_t at)
{
    int64_t before = 0, chunks = chunks_of(a, 0);
    p->sequence = 0;
    while (before + chunks * a->kv_heads <= at) {
        before += chunks * a->kv_heads;
        chunks = chunks_of(a, ++p->sequence);
    }
    p->head = (at - before) / chunks;
    p->chunks = chunks;
    p->begin = before + p->head * chunks;
    p->length = ((const int32_t *)a->call->arg[LENGTH])[p->sequence];
}

/* Returns one of a thread's two places for sums: of the item of its first chunk, or of its last. */
static float *place_of(const attention *a, int64_t thread, int second)
{
    const int64_t each = (floats_of_sums(a) + 15) / 16 * 16;
    return (float *)a->call->workspace + (2 * thread + second) * each;
}

/* Adds the sums of the item's other threads to those of its first thread, and writes the result. */
static void finish_item(const attention *a, part *p, int64_t thread, int64_t threads)
{
    for (int64_t t = thread + 1; t < threads; ++t) {
        if (begin_of(a, t, threads) >= p->begin + p->chunks) {
            break;
        }
        if (begin_of(a, t, threads) < begin_of(a, t + 1, threads)) {
            add_sums(a, p->sums, place_of(a, t, 0));
        }
    }
    write_item(a, p);
}

static void attention_thread(void *context, int thread, int threads)
{
    const attention *a = context;
    const int64_t end = begin_of(a, thread + 1, threads);
    const int64_t each = (a->rows * KEYS + (1 + ROWS_WIDENED) * a->columns + 15) / 16 * 16;
    float *own = place_of(a, threads, 0) + thread * each;
    part p, open = {.chunks = 0}; /* the item that begins in this thread's stretch and ends in
                                     another's */
    int64_t at = begin_of(a, thread, threads);
    for (int first = 1; at < end; first = 0) {
        find_item(&p, a, at);
        p.first = at - p.begin;
        p.last = end - p.begin < p.chunks ? end - p.begin : p.chunks;
        p.sums = place_of(a, thread, !first);
        p.widened = own + a->columns + a->rows * KEYS;
        run_part(a, &p, own + a->columns, own);
        if (p.first == 0 && p.last == p.chunks) {
            write_item(a, &p);
        } else if (p.first == 0) {
            open = p;
        }
        at = p.begin + p.last;
    }
    a->call->barrier(a->call->pool);
    if (open.chunks > 0) {
        finish_item(a, &open, thread, threads);
    }
}

void ak_kernel(const ak_host_call *call)
{
    const int64_t *size = call->size;
    attention a = {.call = call,
                   .batch = size[BATCH],
                   .queries = size[QUERIES],
                   .group = size[HEADS] / size[KV_HEADS],
                   .kv_heads = size[KV_HEADS],
                   .room = size[ROOM],
                   .columns = size[HEAD_DIM],
                   .page = (int64_t)call->number[PAGE]};
    a.pages = a.page > 0 ? (a.room + a.page - 1) / a.page : 1;
    a.rows = a.queries * a.group;
    a.scale = (float)(call->number[SCALE] == 0 ? 1 / __builtin_sqrt((double)a.columns)
                                               : call->number[SCALE]);
#if kv_is_e4m3
    for (int i = 0; i < 256; ++i) {
        a.number[i] = e4m3_decoded(i);
    }
#endif
    for (int64_t i = 0; i < a.batch; ++i) {
        a.line += chunks_of(&a, i) * a.kv_heads;
    }
    call->parallel(call->pool, call->threads, attention_thread, &a);
}
