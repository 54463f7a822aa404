/* matmul_grouped, reference on a device: computes what reference.c does. The tiles of all groups
   form one line, of which each block takes every gridDim.x-th. */
#if activation_is_swiglu
#define PRODUCTS 2
#else
#define PRODUCTS 1
#endif
#if inputs_is_e4m3
#define ELEMENT 1 /* bytes */
#define KIND    (OWN_KIND + KIND_E4M3)
#elif dtype_is_f32
#define ELEMENT 4
#define KIND    0
#else
#define ELEMENT 2
#define KIND    0
#endif

DEVICE i64 whole(const void *array, i64 i)
{
    return (i64)((const int *)array)[i];
}

/* The scales of a group's rows of A, and of its rows of B. */
typedef struct scales {
    const float *a, *b;
} scales;

DEVICE double scaled(double x, scales s, i64 row, i64 column)
{
#if inputs_is_e4m3
    return x * ((double)s.a[row] * (double)s.b[column]);
#else
    (void)s;
    (void)row;
    (void)column;
    return x;
#endif
}

/* Computes the tile of C at (row, column) of a group that has `rows` rows from `begin` on. */
DEVICE void tile_of(double *c, i64 ldc, operand left, operand right, operand up, scales s,
                    i64 begin, i64 row, i64 column, i64 rows, i64 n, i64 k)
{
    double sum[EACH][EACH], second[EACH][EACH];
    product_tile(sum, left, right, row, column, rows, n, k);
    if (PRODUCTS == 2) {
        product_tile(second, left, up, row, column, rows, n, k);
    }
    for (int r = 0; r < EACH; r++) {
        for (int q = 0; q < EACH; q++) {
            const i64 i = row + (int)threadIdx.x / ACROSS + DOWN * r;
            const i64 j = column + (int)threadIdx.x % ACROSS + ACROSS * q;
            if (i < rows && j < n) {
                const double x = scaled(sum[r][q], s, i, j);
                c[(begin + i) * ldc + j] =
                    PRODUCTS == 2 ? x / (1 + exp(-x)) * scaled(second[r][q], s, i, n + j) : x;
            }
        }
    }
}

KERNEL ak_reference(const void *a, const void *b, const void *ends, const void *count, double *c,
                    const void *scale_a, const void *scale_b, i64 groups, i64 m, i64 n, i64 k,
                    i64 lda, i64 ldb, i64 ldends, i64 ldcount, i64 ldc)
{
    (void)ldends;
    (void)ldcount;
    const i64 across = (n + TILE - 1) / TILE;
    i64 x = blockIdx.x; /* distance to this block's next tile */
    for (i64 g = 0; g < groups; g++) {
#if layout_is_masked
        const i64 begin = g * m, rows = whole(count, g);
        for (i64 i = (begin + rows) * n + first_index(); i < (begin + m) * n; i += index_step()) {
            c[i] = 0; /* rows of C adjoin */
        }
        (void)ends;
#else
        const i64 begin = g == 0 ? 0 : whole(ends, g - 1), rows = whole(ends, g) - begin;
        (void)count;
        (void)m;
#endif
        const i64 down = (rows + TILE - 1) / TILE, first = g * n * PRODUCTS;
        for (i64 y = 0;; x += gridDim.x) {
            for (; x >= across && y < down; x -= across) { /* a division would be a call */
                y++;
            }
            if (y >= down) {
                break;
            }
            const unsigned char *from_a = (const unsigned char *)a;
            const unsigned char *from_b = (const unsigned char *)b;
            const i64 bytes = ELEMENT;
            const operand left = {from_a + begin * lda * bytes, lda, 1, KIND};
            const operand right = {from_b + first * ldb * bytes, 1, ldb, KIND};
            const operand up = {from_b + (first + n) * ldb * bytes, 1, ldb, KIND};
            const scales s = {(const float *)scale_a + begin, (const float *)scale_b + first};
            tile_of(c, ldc, left, right, up, s, begin, y * TILE, x * TILE, rows, n, k);
        }
    }
}
