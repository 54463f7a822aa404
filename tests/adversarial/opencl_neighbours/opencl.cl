/* The mean of an element and those above and below it, or itself where there is none. */
kernel void mean(global const float *x, global float *y, int h, int w)
{
    const int i = get_global_id(1), j = get_global_id(0);
    if (j < w) {
        const float here = x[i * w + j];
        const float above = i > 0 ? x[(i - 1) * w + j] : here;
        const float below = i + 1 < h ? x[(i + 1) * w + j] : here;
#if VARIANT == 0
        y[i * w + j] = (above + here + below) / 3;
#else
        y[i * w + j] = (below + (here + above)) * (1.0f / 3);
#endif
    }
}
