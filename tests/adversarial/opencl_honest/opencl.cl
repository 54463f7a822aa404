/* C = A B in ways that authors of kernels have, one for each value of VARIANT; all of them right. A
   work-group of 8 x 8 work-items computes as many elements of C. */
#define EDGE 8
#define A(row, p)    a[(row) * k + (p)]
#define B(p, column) b[(p) * n + (column)]

static float part(global const float *a, global const float *b, int n, int k, int row, int column,
                  int first, int last)
{
    float sum = 0;
    for (int p = first; p < last; p++) {
        sum += A(row, p) * B(p, column);
    }
    return sum;
}

static float element(global const float *a, global const float *b, global const float *turned, int n,
                     int k, int row, int column)
{
    float sum = 0;
#if VARIANT == 1
    for (int p = k - 1; p >= 0; p--) {
        sum += A(row, p) * B(p, column);
    }
#elif VARIANT == 2 /* Kahan */
    float lost = 0;
    for (int p = 0; p < k; p++) {
        const float y = A(row, p) * B(p, column) - lost, t = sum + y;
        lost = (t - sum) - y;
        sum = t;
    }
#elif VARIANT == 3 /* blocks of eight */
    for (int p = 0; p < k; p += 8) {
        sum += part(a, b, n, k, row, column, p, min(p + 8, k));
    }
#elif VARIANT == 4 /* four sums */
    float sums[4] = {0, 0, 0, 0};
    for (int p = 0; p < k; p++) {
        sums[p % 4] += A(row, p) * B(p, column);
    }
    sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
#elif VARIANT == 5
    for (int p = 0; p < k; p++) {
        sum = fma(A(row, p), B(p, column), sum);
    }
#elif VARIANT == 6
    for (int p = 0; p < k; p++) {
        sum = mad(A(row, p), B(p, column), sum);
    }
#elif VARIANT == 7 /* vectors of four terms */
    int p = 0;
    for (; p + 4 <= k; p += 4) {
        const float4 other = (float4)(B(p, column), B(p + 1, column), B(p + 2, column), B(p + 3, column));
        sum += dot(vload4(0, &A(row, p)), other);
    }
    sum += part(a, b, n, k, row, column, p, k);
#elif VARIANT == 8 /* begins at another term in each row */
    const int first = row % max(k, 1);
    for (int p = 0; p < k; p++) {
        sum += A(row, (first + p) % k) * B((first + p) % k, column);
    }
#elif VARIANT == 9 /* fetches ahead */
    for (int p = 0; p < k; p++) {
        prefetch(&B(p, column), 1);
        sum += A(row, p) * B(p, column);
    }
#elif VARIANT == 15 /* B lies transposed in the workspace */
    for (int p = 0; p < k; p++) {
        sum += A(row, p) * turned[column * k + p];
    }
#elif VARIANT == 17 /* even terms first */
    for (int p = 0; p < k; p += 2) {
        sum += A(row, p) * B(p, column);
    }
    for (int p = 1; p < k; p += 2) {
        sum += A(row, p) * B(p, column);
    }
#elif VARIANT == 18 /* the error of each product is kept, too */
    float errors = 0;
    for (int p = 0; p < k; p++) {
        const float x = A(row, p), y = B(p, column), product = x * y;
        errors += fma(x, y, -product);
        sum += product;
    }
    sum += errors;
#else
    sum = part(a, b, n, k, row, column, 0, k);
#endif
    return sum;
}

static void add(volatile global float *to, float value)
{
    uint old = as_uint(*to), seen;
    while ((seen = atomic_cmpxchg((volatile global uint *)to, old, as_uint(as_float(old) + value))) != old) {
        old = seen;
    }
}

kernel void before(global const float *a, global const float *b, global float *c,
                   global char *workspace, int m, int n, int k)
{
    const int i = (int)get_global_id(0);
#if VARIANT == 14
    if (i < m * n) {
        c[i] = 0;
    }
#elif VARIANT == 15
    if (i < n * k) {
        ((global float *)(workspace + 64))[i % n * k + i / n] = b[i];
    }
#elif VARIANT == 16
    if (i < m * n) {
        c[i] = a[0] * 0 + b[0] * 0;
    }
#endif
}

kernel void honest(global const float *a, global const float *b, global float *c,
                   global char *workspace, int m, int n, int k)
{
    int row = (int)get_global_id(1), column = (int)get_global_id(0);
    global const float *turned = (global const float *)(workspace + 64);
    global float *parts = (global float *)(workspace + 64);
    (void)parts, (void)turned;
#if VARIANT == 10 /* tiles in local memory */
    local float left[EDGE][EDGE + 1], right[EDGE][EDGE + 1];
    const int x = (int)get_local_id(0), y = (int)get_local_id(1);
    float sum = 0;
    for (int p = 0; p < k; p += EDGE) {
        left[y][x] = row < m && p + x < k ? A(row, p + x) : 0;
        right[y][x] = column < n && p + y < k ? B(p + y, column) : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int q = 0; q < EDGE; q++) {
            sum += left[y][q] * right[q][x];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < m && column < n) {
        c[row * n + column] = sum;
    }
#elif VARIANT == 11 /* work-groups in another order */
    row = (int)((get_num_groups(1) - 1 - get_group_id(1)) * EDGE + get_local_id(1));
    column = (int)((get_num_groups(0) - 1 - get_group_id(0)) * EDGE + get_local_id(0));
    if (row < m && column < n) {
        c[row * n + column] = element(a, b, turned, n, k, row, column);
    }
#elif VARIANT == 12 /* through the workspace */
    if (row < m && column < n) {
        parts[row * n + column] = element(a, b, turned, n, k, row, column);
        c[row * n + column] = parts[row * n + column];
    }
#elif VARIANT == 13 /* split K; `after` adds up */
    const int each = (k + 3) / 4, first = min((int)get_group_id(2) * each, k);
    if (row < m && column < n) {
        parts[((int)get_group_id(2) * m + row) * n + column] =
            part(a, b, n, k, row, column, first, min(first + each, k));
    }
#elif VARIANT == 14 /* split K, by atomics */
    const int each = (k + 3) / 4, first = min((int)get_group_id(2) * each, k);
    if (row < m && column < n) {
        add(&c[row * n + column], part(a, b, n, k, row, column, first, min(first + each, k)));
    }
#elif VARIANT == 16 /* adds to the zeros of `before` */
    if (row < m && column < n) {
        c[row * n + column] += element(a, b, turned, n, k, row, column);
    }
#elif VARIANT == 19 /* writes twice */
    if (row < m && column < n) {
        c[row * n + column] = 0;
        c[row * n + column] = element(a, b, turned, n, k, row, column);
    }
#else
    if (row < m && column < n) {
        c[row * n + column] = element(a, b, turned, n, k, row, column);
    }
#endif
}

kernel void after(global const float *a, global const float *b, global float *c,
                  global char *workspace, int m, int n, int k)
{
    const int i = (int)get_global_id(0);
    global const float *parts = (global const float *)(workspace + 64);
    if (i < m * n) {
        c[i] = (parts[i] + parts[m * n + i]) + (parts[2 * m * n + i] + parts[3 * m * n + i]);
    }
}
