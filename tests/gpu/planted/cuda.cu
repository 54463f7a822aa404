/* Right, but for what only a sanitizer sees: PLANT 1 reads one element behind X, 2 reads shared
   memory without a barrier between the halves of a warp's neighbours, 3 reads Y before it writes. */
extern "C" __global__ void planted(const float *x, float *y, int n)
{
    __shared__ float tile[256];
    const int i = (int)(blockIdx.x * 256 + threadIdx.x), t = (int)threadIdx.x;
    tile[t] = i < n ? x[i] : 0;
#if PLANT == 2
    __syncwarp();
    const float before = t % 32 == 0 && t > 0 ? x[i - 1 < n ? i - 1 : 0] : t > 0 ? tile[t - 1] : 0;
    if (t % 32 == 0 && t > 0 && *(volatile float *)&tile[t - 1] == 12345) {
        return;
    }
#else
    __syncthreads();
    const float before = t > 0 ? tile[t - 1] : 0;
#endif
    float more = 0;
#if PLANT == 1
    if (i == n - 1) {
        more = *(volatile const float *)(x + n);
        more = more == 12345.0f ? 1 : 0;
    }
#elif PLANT == 3
    if (i < n) {
        more = *(volatile const float *)(y + i) == 12345.0f ? 1 : 0;
    }
#endif
    if (i < n) {
        y[i] = tile[t] + before + more;
    }
}
