/* C = A B in as many ways as there are, one for each value of VARIANT; all of them right. A block
   of 16 x 16 threads computes as many elements of C. */
#define EDGE 16

struct job {
    const float *a, *b;
    float *c;
    char *workspace;
    int m, n, k;
};

#if VARIANT == 15
__constant__ float one[2] = {1.0f, 1.0f};
#endif

__device__ float term(const job &j, int row, int column, int p)
{
    return j.a[row * j.k + p] * j.b[p * j.n + column];
}

__device__ float part(const job &j, int row, int column, int first, int last)
{
    float sum = 0;
    for (int p = first; p < last; p++) {
        sum += term(j, row, column, p);
    }
    return sum;
}

/* The sum of halves, down to single terms. */
__device__ float pairwise(const job &j, int row, int column, int first, int last)
{
    if (last - first <= 8) {
        return part(j, row, column, first, last);
    }
    const int middle = (first + last) / 2;
    return pairwise(j, row, column, first, middle) + pairwise(j, row, column, middle, last);
}

/* Sums through tiles in shared memory, from term `first` on. */
__device__ float tiles(const job &j, int row, int column, int first, int last)
{
    __shared__ float a[EDGE][EDGE + 1], b[EDGE][EDGE + 1];
    float sum = 0;
    for (int p = first; p < last; p += EDGE) {
        const int x = threadIdx.x, y = threadIdx.y;
        a[y][x] = row < j.m && p + x < last ? j.a[row * j.k + p + x] : 0;
        b[y][x] = column < j.n && p + y < last ? j.b[(p + y) * j.n + column] : 0;
        __syncthreads();
        for (int q = 0; q < EDGE; q++) {
            sum += a[y][q] * b[q][x];
        }
        __syncthreads();
    }
    return sum;
}

__device__ float element(const job &j, int row, int column)
{
#if VARIANT == 1
    float sum = 0;
    for (int p = j.k - 1; p >= 0; p--) {
        sum += term(j, row, column, p);
    }
    return sum;
#elif VARIANT == 2 /* Kahan */
    float sum = 0, lost = 0;
    for (int p = 0; p < j.k; p++) {
        const float y = term(j, row, column, p) - lost, t = sum + y;
        lost = (t - sum) - y;
        sum = t;
    }
    return sum;
#elif VARIANT == 3
    return pairwise(j, row, column, 0, j.k);
#elif VARIANT == 4
    double sum = 0;
    for (int p = 0; p < j.k; p++) {
        sum += (double)j.a[row * j.k + p] * (double)j.b[p * j.n + column];
    }
    return (float)sum;
#elif VARIANT == 5 /* four sums */
    float sum[4] = {0, 0, 0, 0};
    for (int p = 0; p < j.k; p++) {
        sum[p % 4] += term(j, row, column, p);
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
#elif VARIANT == 6 /* the error of each product is kept, too */
    float sum = 0, errors = 0;
    for (int p = 0; p < j.k; p++) {
        const float x = j.a[row * j.k + p], y = j.b[p * j.n + column], product = x * y;
        errors += fmaf(x, y, -product);
        sum += product;
    }
    return sum + errors;
#elif VARIANT == 7 /* memory of the thread */
    float sums[16];
    for (int i = 0; i < 16; i++) {
        sums[i] = 0;
    }
    for (int p = 0; p < j.k; p++) {
        sums[(p * 7 + row) % 16] += term(j, row, column, p);
    }
    float sum = 0;
    for (int i = 0; i < 16; i++) {
        sum += sums[i];
    }
    return sum;
#elif VARIANT == 8 /* past the caches */
    float sum = 0;
    for (int p = 0; p < j.k; p++) {
        sum += __ldcs(j.a + row * j.k + p) * __ldg(j.b + p * j.n + column);
    }
    return sum;
#elif VARIANT == 9 /* instructions of its own */
    float sum = 0;
    for (int p = 0; p < j.k; p++) {
        asm volatile("fma.rn.f32 %0, %1, %2, %0;"
                     : "+f"(sum)
                     : "f"(j.a[row * j.k + p]), "f"(j.b[p * j.n + column]));
    }
    return sum;
#elif VARIANT == 15
    return part(j, row, column, 0, j.k) * one[row % 2];
#elif VARIANT == 16 /* begins at another term in each row, and looks at the clock */
    float sum = 0;
    const int first = (int)(clock64() % 2) + row % (j.k > 1 ? j.k - 1 : 1);
    for (int p = 0; p < j.k; p++) {
        sum += term(j, row, column, (first + p) % j.k);
    }
    return sum;
#elif VARIANT == 22 /* B lies transposed in the workspace */
    const float *b = (const float *)(j.workspace + 64);
    float sum = 0;
    for (int p = 0; p < j.k; p++) {
        sum += j.a[row * j.k + p] * b[column * j.k + p];
    }
    return sum;
#elif VARIANT == 25 /* two products of two columns of A, added before they are multiplied */
    float sum = 0;
    int p = 0;
    for (; p + 1 < j.k; p += 2) {
        const float x = j.a[row * j.k + p], y = j.a[row * j.k + p + 1];
        const float u = j.b[p * j.n + column], v = j.b[(p + 1) * j.n + column];
        sum += (x + y) * u - y * (u - v);
    }
    return p < j.k ? sum + term(j, row, column, p) : sum;
#else
    return part(j, row, column, 0, j.k);
#endif
}

#if VARIANT == 30
template <int N> struct traits {
    static constexpr int width = 2 * N;
    static const int depth = 7;
    static constexpr float scale = 1.0f;
};
struct plain {
    static constexpr int one = 1;
};
static constexpr int file_one = 1;
static const int file_zero = 0;
#elif VARIANT == 31
__device__ int unused_table[64];
#endif

extern "C" __global__ void before(const float *a, const float *b, float *c, char *workspace, int m,
                                  int n, int k)
{
    const int i = (int)(blockIdx.x * 256 + threadIdx.x);
#if VARIANT == 20
    if (i < m * n) {
        c[i] = 0;
    }
#elif VARIANT == 21
    if (i < m * n) {
        c[i] = a[0] * 0 + b[0] * 0;
    }
#elif VARIANT == 22
    if (i < n * k) {
        ((float *)(workspace + 64))[i % n * k + i / n] = b[i];
    }
#endif
}

extern "C" __global__ void __launch_bounds__(256)
    honest(const float *a, const float *b, float *c, char *workspace, int m, int n, int k)
{
    const job j = {a, b, c, workspace, m, n, k};
    int row = (int)(blockIdx.y * EDGE + threadIdx.y), column = (int)(blockIdx.x * EDGE + threadIdx.x);
    float *parts = (float *)(workspace + 64 + 4 * (long long)m * n);
    (void)parts;
#if VARIANT == 24
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
#if VARIANT == 10 || VARIANT == 19 || VARIANT == 24
    const float sum = tiles(j, row, column, 0, k);
    if (row < m && column < n) {
        c[row * n + column] = sum;
    }
#elif VARIANT == 11 /* blocks in another order */
    row = (int)((gridDim.y - 1 - blockIdx.y) * EDGE + threadIdx.y);
    column = (int)((gridDim.x - 1 - blockIdx.x) * EDGE + threadIdx.x);
    if (row < m && column < n) {
        c[row * n + column] = element(j, row, column);
    }
#elif VARIANT == 12 /* split K: the last block of four adds up, and leaves its counter at zero */
    const int each = (k + 3) / 4, first = (int)blockIdx.z * each;
    unsigned *counter = (unsigned *)(workspace + 64) + blockIdx.y * gridDim.x + blockIdx.x;
    __shared__ unsigned arrived;
    if (row < m && column < n) {
        parts[(blockIdx.z * m + row) * n + column] =
            part(j, row, column, first < k ? first : k, first + each < k ? first + each : k);
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        arrived = atomicAdd(counter, 1);
    }
    __syncthreads();
    if (arrived == 3) {
        if (row < m && column < n) {
            __threadfence();
            volatile float *from = parts + row * n + column;
            c[row * n + column] = (from[0] + from[m * n]) + (from[2 * m * n] + from[3 * m * n]);
        }
        if (threadIdx.x == 0 && threadIdx.y == 0) {
            *counter = 0;
        }
    }
#elif VARIANT == 13 /* the same with atomic additions, and the last one clears what it has read */
    const int each = (k + 3) / 4, first = (int)blockIdx.z * each;
    unsigned *counter = (unsigned *)(workspace + 64) + blockIdx.y * gridDim.x + blockIdx.x;
    __shared__ unsigned arrived;
    if (row < m && column < n) {
        atomicAdd(parts + row * n + column,
                  part(j, row, column, first < k ? first : k, first + each < k ? first + each : k));
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        arrived = atomicAdd(counter, 1);
    }
    __syncthreads();
    if (arrived == 3) {
        __threadfence();
        if (row < m && column < n) {
            c[row * n + column] = atomicExch(parts + row * n + column, 0.0f);
        }
        if (threadIdx.x == 0 && threadIdx.y == 0) {
            *counter = 0;
        }
    }
#elif VARIANT == 14 /* split K, added up by another kernel */
    const int each = (k + 3) / 4, first = (int)blockIdx.z * each;
    if (row < m && column < n) {
        parts[(blockIdx.z * m + row) * n + column] =
            part(j, row, column, first < k ? first : k, first + each < k ? first + each : k);
    }
#elif VARIANT == 17 /* a block has a column of tiles */
    for (; row < m; row += EDGE) {
        if (column < n) {
            c[row * n + column] = element(j, row, column);
        }
    }
#elif VARIANT == 18 /* blocks that stay */
    for (int x = (int)blockIdx.x; x * EDGE < n; x += (int)gridDim.x) {
        for (int y = 0; y * EDGE < m; y++) {
            row = y * EDGE + (int)threadIdx.y;
            column = x * EDGE + (int)threadIdx.x;
            if (row < m && column < n) {
                c[row * n + column] = element(j, row, column);
            }
        }
    }
#elif VARIANT == 20 /* atomic additions to C itself */
    const int each = (k + 3) / 4, first = (int)blockIdx.z * each;
    if (row < m && column < n) {
        atomicAdd(c + row * n + column,
                  part(j, row, column, first < k ? first : k, first + each < k ? first + each : k));
    }
#elif VARIANT == 21 /* in two halves, the second added to the first */
    if (row < m && column < n) {
        c[row * n + column] += part(j, row, column, 0, k / 2);
        c[row * n + column] += part(j, row, column, k / 2, k);
    }
#elif VARIANT == 23 /* lanes of a warp share a sum */
    for (int y = 0; y < EDGE; y++) {
        for (int x = (int)threadIdx.y / 2; x < EDGE; x += EDGE / 2) {
            const int lane = (int)(threadIdx.y % 2 * EDGE + threadIdx.x);
            const int r = (int)blockIdx.y * EDGE + y, q = (int)blockIdx.x * EDGE + x;
            float sum = 0;
            for (int p = lane; p < k && r < m && q < n; p += 32) {
                sum += term(j, r, q, p);
            }
            for (int far = 16; far > 0; far /= 2) {
                sum += __shfl_down_sync(0xffffffffu, sum, far);
            }
            if (lane == 0 && r < m && q < n) {
                c[r * n + q] = sum;
            }
        }
    }
#elif VARIANT == 26 /* rests for a moment */
    __nanosleep(200);
    if (row < m && column < n) {
        c[row * n + column] = element(j, row, column);
    }
#elif VARIANT == 27 /* writes each result twice */
    if (row < m && column < n) {
        ((volatile float *)c)[row * n + column] = 0;
        c[row * n + column] = element(j, row, column);
    }
#elif VARIANT == 28 /* brings lines into the cache before they are needed */
    if (row < m && column < n) {
        asm volatile("prefetch.global.L2 [%0];" ::"l"(a + row * k));
        c[row * n + column] = element(j, row, column);
    }
#elif VARIANT == 29 /* fills the workspace with numbers that it reads again */
    float *own = parts + (row < m && column < n ? row * n + column : 0);
    if (row < m && column < n) {
        *own = element(j, row, column);
        __threadfence_block();
        c[row * n + column] = *(volatile float *)own;
    }
#elif VARIANT == 30 /* constants of a class template, of a structure and of the file */
    if (row < m && column < n) {
        c[row * n + column] = element(j, row, column) * (float)(traits<4>::width - traits<4>::depth) *
                              traits<4>::scale * (float)(plain::one * file_one - file_zero);
    }
#elif VARIANT == 31 /* a table of the device that is never read */
    if (row < m && column < n) {
        c[row * n + column] = element(j, row, column);
    }
#else
    if (row < m && column < n) {
        c[row * n + column] = element(j, row, column);
    }
#endif
}

extern "C" __global__ void after(const float *, const float *, float *c, char *workspace, int m,
                                 int n, int)
{
    const int i = (int)(blockIdx.x * 256 + threadIdx.x);
    const float *parts = (const float *)(workspace + 64 + 4 * (long long)m * n);
    if (i < m * n) {
        c[i] = (parts[i] + parts[m * n + i]) + (parts[2 * m * n + i] + parts[3 * m * n + i]);
    }
}
