/*
 * attend.h: what the host implementations of attention share: scores of a few rows with a few keys,
 * the online softmax of a row, and weighted sums of rows of V. KEYS, ROWS, DOTS and COLUMNS are
 * parameters of the implementation (see host.json); vector.h and vexp.h are in front of this text.
 */

/* ---- scores ---- */

/* Computes the scores of ROWS rows of Q with DOTS rows of K. */
AK_INLINE void dots(float *to, int64_t stride, const float *const *q, const float *const *k,
                    int64_t columns, const int rows, const int keys)
{
    vec sum[ROWS][DOTS];
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < keys; ++j) {
            sum[i][j] = (vec){0};
        }
    }
    int64_t d = 0;
    for (; d + VL <= columns; d += VL) {
        AK_UNROLL_FULLY
        for (int j = 0; j < keys; ++j) {
            const vec x = vec_load(k[j] + d);
            AK_UNROLL_FULLY
            for (int i = 0; i < rows; ++i) {
                sum[i][j] += vec_load(q[i] + d) * x;
            }
        }
    }
    AK_UNROLL_FULLY
    for (int i = 0; i < rows; ++i) {
        AK_UNROLL_FULLY
        for (int j = 0; j < keys; ++j) {
            float all = vec_sum(sum[i][j]);
            for (int64_t e = d; e < columns; ++e) {
                all += q[i][e] * k[j][e];
            }
            to[i * stride + j] = all;
        }
    }
}

/* ---- weights ---- */

/* Turns the scores of a row into weights, 0 for keys that it does not attend to, which are those
   outside [from, upto), and scales its sums so far to the new maximum. stats are the maximum so far
   and the sum. */
static void weights_of_row(float *scores, float *sums, float *stats, int64_t from, int64_t upto,
                           int64_t columns)
{
    float max = stats[0], sum = 0;
    for (int64_t j = 0; j < from && j < KEYS; ++j) {
        scores[j] = -__builtin_inff();
    }
    for (int64_t j = upto > 0 ? upto : 0; j < KEYS; ++j) {
        scores[j] = -__builtin_inff();
    }
    vec largest = vec_splat(max);
    for (int64_t j = 0; j < KEYS; j += VL) {
        largest = vec_max(largest, vec_load(scores + j));
    }
    max = vec_largest(largest);
    if (from < upto && from < KEYS) {
        vec all = (vec){0};
        for (int64_t j = 0; j < KEYS; j += VL) {
            const vec weight = vec_exp_bounded(vec_load(scores + j) - vec_splat(max));
            vec_store(scores + j, weight);
            all += weight;
        }
        sum = vec_sum(all);
        const float less = vec_exp_bounded(vec_splat(stats[0] - max))[0];
        for (int64_t d = 0; d < columns; ++d) {
            sums[d] *= less;
        }
        stats[0] = max;
        stats[1] = stats[1] * less + sum;
    } else {
        for (int64_t j = 0; j < KEYS; ++j) {
            scores[j] = 0;
        }
    }
}

/* ---- rows of V ---- */

/* Adds weights x V to ROWS rows of sums, for `vectors` vectors of columns. */
AK_INLINE void add_values(float *const *sums, const float *const *weights, const float *const *v,
                          int64_t count, int64_t d, const int rows, const int vectors)
{
    vec sum[ROWS][COLUMNS];
    for (int i = 0; i < rows; ++i) {
        for (int c = 0; c < vectors; ++c) {
            sum[i][c] = vec_load(sums[i] + d + c * VL);
        }
    }
    for (int64_t j = 0; j < count; ++j) {
        vec x[COLUMNS];
        AK_UNROLL_FULLY
        for (int c = 0; c < vectors; ++c) {
            x[c] = vec_load(v[j] + d + c * VL);
        }
        AK_UNROLL_FULLY
        for (int i = 0; i < rows; ++i) {
            const vec weight = vec_splat(weights[i][j]);
            AK_UNROLL_FULLY
            for (int c = 0; c < vectors; ++c) {
                sum[i][c] += weight * x[c];
            }
        }
    }
    AK_UNROLL_FULLY
    for (int i = 0; i < rows; ++i) {
        AK_UNROLL_FULLY
        for (int c = 0; c < vectors; ++c) {
            vec_store(sums[i] + d + c * VL, sum[i][c]);
        }
    }
}

/* Adds weights x V to ROWS rows of sums, for all columns. */
AK_INLINE void add_rows(float *const *sums, const float *const *weights, const float *const *v,
                        int64_t count, int64_t columns)
{
    int64_t d = 0;
    for (; d + COLUMNS * VL <= columns; d += COLUMNS * VL) {
        add_values(sums, weights, v, count, d, ROWS, COLUMNS);
    }
    for (; d + VL <= columns; d += VL) {
        add_values(sums, weights, v, count, d, ROWS, 1);
    }
    for (; d < columns; ++d) {
        for (int64_t r = 0; r < ROWS; ++r) {
            for (int64_t j = 0; j < count; ++j) {
                sums[r][d] += weights[r][j] * v[j][d];
            }
        }
    }
}
