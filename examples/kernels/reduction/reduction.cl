// reduction.cl: sums the rows of a matrix. One work-group sums one row.
#ifndef THREADS
#define THREADS 256
#endif
#ifndef UNROLL
#define UNROLL 4
#endif

kernel void reduction(global const float *x, global float *sums, int cols)
{
    local float parts[THREADS];
    const int me = get_local_id(0);
    global const float *row = x + (size_t)get_group_id(0) * cols;
    float sum[UNROLL];
    for (int u = 0; u < UNROLL; u++) {
        sum[u] = 0.0f;
    }
    for (int begin = 0; begin < cols; begin += THREADS * UNROLL) {
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            const int i = begin + u * THREADS + me;
            sum[u] += i < cols ? row[i] : 0.0f;
        }
    }
    for (int u = 1; u < UNROLL; u++) {
        sum[0] += sum[u];
    }
    parts[me] = sum[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = THREADS / 2; step > 0; step /= 2) {
        if (me < step) {
            parts[me] += parts[me + step];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (me == 0) {
        sums[get_group_id(0)] = parts[0];
    }
}
