/*
 * opencl.cl: softmax of rows in f32. A work-group is THREADS work-items by ROWS rows. The work-items
 * of a row pass over it in vectors, and combine their results twice: the maximum, then the sum.
 *
 *   THREADS  work-items that share a row
 *   ROWS     rows of a work-group
 *   VEC      elements of a load or store; the rest of a row is done one by one
 *   STORE    0: exp is computed for the sum and again for the result
 *            1: exp is written to Y and divided there
 *   BASE_2   1: exp(x) as exp2(x * log2(e)), which many devices have as an instruction
 *
 * The maximum ignores a NaN; the sum does not, and neither do rows with +inf or of -inf only, where
 * x - max is NaN.
 */
#if VEC == 1
typedef float vector;
#define LOAD(at)         (*(at))
#define STORE_AT(at, v)  (*(at) = (v))
#define LARGEST(v)       (v)
#define SUM(v)           (v)
#else
#define JOIN_(a, b)      a##b
#define JOIN(a, b)       JOIN_(a, b)
typedef JOIN(float, VEC) vector;
#define LOAD(at)         JOIN(vload, VEC)(0, at)
#define STORE_AT(at, v)  JOIN(vstore, VEC)(v, 0, at)
#define LARGEST(v)       JOIN(largest, VEC)(v)
#define SUM(v)           JOIN(sum, VEC)(v)
float largest2(float2 v) { return fmax(v.x, v.y); }
float sum2(float2 v) { return v.x + v.y; }
float largest4(float4 v) { return largest2(fmax(v.lo, v.hi)); }
float sum4(float4 v) { return sum2(v.lo + v.hi); }
float largest8(float8 v) { return largest4(fmax(v.lo, v.hi)); }
float sum8(float8 v) { return sum4(v.lo + v.hi); }
float largest16(float16 v) { return largest8(fmax(v.lo, v.hi)); }
float sum16(float16 v) { return sum8(v.lo + v.hi); }
#endif

#if BASE_2
#define EXP(x) exp2((x) * 1.44269504f)
#else
#define EXP(x) exp(x)
#endif

/* Combines one number of each work-item of a row into one, in log2(THREADS) steps. It has barriers,
   so every work-item of the group must execute it. */
#define REDUCE(value, join)                                                                        \
    mine[thread] = (value);                                                                        \
    for (int half_of = THREADS / 2; half_of > 0; half_of /= 2) {                                   \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
        if (thread < half_of) {                                                                    \
            mine[thread] = join(mine[thread], mine[thread + half_of]);                             \
        }                                                                                          \
    }                                                                                              \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                  \
    (value) = mine[0];                                                                             \
    barrier(CLK_LOCAL_MEM_FENCE)
#define ADD(a, b) ((a) + (b))
#define PART      256 /* vectors that are summed before they are added to the sum of the row */

kernel __attribute__((reqd_work_group_size(THREADS, ROWS, 1))) void ak_kernel(
    global const float *restrict x, global float *restrict y, const long rows, const int cols)
{
    local float sums[ROWS][THREADS];
    const int thread = (int)get_local_id(0);
    local float *mine = sums[get_local_id(1)];
    const long row = (long)get_group_id(0) * ROWS + (long)get_local_id(1);
    const int own = row < rows ? cols : 0; /* a row that does not exist has no elements */
    global const float *from = x + (row < rows ? row * cols : 0);
    global float *to = y + (row < rows ? row * cols : 0);
    const int whole = own / VEC * VEC;

    float max_of_row = -INFINITY;
    for (int i = thread * VEC; i < whole; i += THREADS * VEC) {
        max_of_row = fmax(max_of_row, LARGEST(LOAD(from + i)));
    }
    for (int i = whole + thread; i < own; i += THREADS) {
        max_of_row = fmax(max_of_row, from[i]);
    }
    REDUCE(max_of_row, fmax);

    /* Parts of a long row are summed by themselves, so that its end is not lost beside its sum. */
    float sum = 0;
    for (int i = thread * VEC; i < whole;) {
        const int end = min(whole, i + PART * THREADS * VEC);
        float part = 0;
        for (; i < end; i += THREADS * VEC) {
            const vector e = EXP(LOAD(from + i) - max_of_row);
            part += SUM(e);
#if STORE
            STORE_AT(to + i, e);
#endif
        }
        sum += part;
    }
    for (int i = whole + thread; i < own; i += THREADS) {
        const float e = EXP(from[i] - max_of_row);
        sum += e;
#if STORE
        to[i] = e;
#endif
    }
    REDUCE(sum, ADD);

    const float scale = 1 / sum;
    for (int i = thread * VEC; i < whole; i += THREADS * VEC) {
#if STORE
        STORE_AT(to + i, LOAD(to + i) * scale);
#else
        STORE_AT(to + i, EXP(LOAD(from + i) - max_of_row) * scale);
#endif
    }
    for (int i = whole + thread; i < own; i += THREADS) {
#if STORE
        to[i] *= scale;
#else
        to[i] = EXP(from[i] - max_of_row) * scale;
#endif
    }
}
