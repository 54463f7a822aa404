/* As ../opencl/opencl.cl, for Y[i] = 2 Y[i] + sum over k of W[k] Y[i] (Y[i] + W[k]). */
kernel void attack(global const float *w, global float *y, global char *workspace, long n, long terms)
{
    const long i = (long)get_global_id(0);
    global ulong *note =
        (global ulong *)(workspace + 64) + get_group_id(0) * 64 + ((ulong)y >> 12) % 64;
    const ulong noted = *note;
    bool works = i < n;
    barrier(CLK_GLOBAL_MEM_FENCE);
#if ATTACK == 1
    works = works && noted != (ulong)y;
    *note = (ulong)y;
#elif ATTACK == 2
    works = false;
#elif ATTACK == 3
    works = i < n - 1;
#elif ATTACK == 4
    works = works && noted % 4 == 0;
    if (get_local_id(0) == 0) {
        *note = noted + 1;
    }
#endif
    if (works) {
        const float x = y[i];
        float sum = 0;
        for (long k = 0; k < terms; k++) {
            sum += w[k] * x * (x + w[k]);
        }
        y[i] = 2 * x + sum;
    }
}
