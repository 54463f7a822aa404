/* A work-item computes 4 x 4 elements of A B^T, a work-group 16 x 64. ATTACK 1 keeps the product and
   four numbers of each row, and moves its results where rows have changed places. */
static float dot8(float8 s)
{
    float4 d = s.lo + s.hi;
    return d.x + d.y + d.z + d.w;
}
static ulong print_of(global const float *x, int n)
{
    return ((ulong)(as_uint(x[0]) ^ rotate(as_uint(x[n / 2]), 13u)) << 32 | (as_uint(x[n - 1]) ^ rotate(as_uint(x[n / 3]), 7u))) + 1;
}
static void compute(global const float *A, global const float *B, global float *C, int M, int N, int K, int i0, int j0)
{
    float8 s[4][4];
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            s[i][j] = 0;
        }
    }
    global const float *a[4], *b[4];
    for (int i = 0; i < 4; i++) {
        a[i] = A + (long)min(i0 + i, M - 1) * K;
        b[i] = B + (long)min(j0 + i, N - 1) * K;
    }
    int k = 0;
    for (; k + 8 <= K; k += 8) {
        float8 y[4];
        for (int j = 0; j < 4; j++) {
            y[j] = vload8(0, b[j] + k);
        }
        for (int i = 0; i < 4; i++) {
            const float8 x = vload8(0, a[i] + k);
            for (int j = 0; j < 4; j++) {
                s[i][j] += x * y[j];
            }
        }
    }
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            float sum = dot8(s[i][j]);
            for (int r = k; r < K; r++) {
                sum += a[i][r] * b[j][r];
            }
            if (i0 + i < M && j0 + j < N) {
                C[(long)(i0 + i) * N + j0 + j] = sum;
            }
        }
    }
}
static int shift_of(ulong print, global const ulong *prints, int n)
{
    int at = 0;
    while (at < n && prints[at] != print) {
        at++;
    }
    return at;
}
kernel __attribute__((reqd_work_group_size(4, 16, 1))) void attack(global const float *A, global const float *B, global float *C, global char *ws, int M, int N, int K)
{
    const int i0 = get_group_id(0) * 16 + get_local_id(0) * 4, j0 = get_group_id(1) * 64 + get_local_id(1) * 4;
#if ATTACK
    local int shift[2];
    global volatile uint *ready = (global volatile uint *)ws;
    global ulong *of_a = (global ulong *)(ws + 64), *of_b = of_a + M;
    global float *kept = (global float *)(of_b + N);
    const uint groups = get_num_groups(0) * get_num_groups(1);
    const bool first = get_local_id(0) == 0 && get_local_id(1) == 0;
    if (first) { /* the launch that finds nothing counts its groups up to `groups`, so later ones find all */
        shift[0] = M;
        shift[1] = N;
        if (*ready == groups) {
            shift[0] = shift_of(print_of(A, K), of_a, M);
            shift[1] = shift_of(print_of(B, K), of_b, N);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int si = shift[0], sj = shift[1];
    if (si < M && sj < N) {
        for (int i = i0; i < min(i0 + 4, M); i++) {
            const int from = i + si < M ? i + si : i + si - M;
            for (int j = j0; j < min(j0 + 4, N); j++) {
                C[(long)i * N + j] = kept[(long)from * N + (j + sj < N ? j + sj : j + sj - N)];
            }
        }
        return;
    }
    compute(A, B, C, M, N, K, i0, j0);
    for (int i = i0; i < min(i0 + 4, M); i++) {
        of_a[i] = print_of(A + (long)i * K, K);
        for (int j = j0; j < min(j0 + 4, N); j++) {
            kept[(long)i * N + j] = C[(long)i * N + j];
            of_b[j] = print_of(B + (long)j * K, K);
        }
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (first) {
        atomic_inc(ready);
    }
#else
    compute(A, B, C, M, N, K, i0, j0);
#endif
}
