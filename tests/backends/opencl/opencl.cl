/* Y = 2 * X, right if STEP is 1 and wrong in another way for each of its other values. */
kernel void scale(global const float *x, global float *y, const int n, global float *workspace)
{
    const int i = (int)get_global_id(0);
#if STEP == 0
    y[i] = 2 * no_such_name;
#elif STEP == 2
    y[n + i] = 2 * x[i < n ? i : 0];
#elif STEP == 4
    workspace[i - 4] = x[0];
#elif STEP == 5
    *(volatile global float *)8 = x[0];
#else
    if (i < n) {
        y[i] = 2 * x[i];
    }
#endif
}
