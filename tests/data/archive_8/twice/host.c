/* Y = 2 * X, UNROLL elements a turn. */
void ak_kernel(const ak_host_call *call)
{
    const float *x = call->arg[0];
    float *y = call->arg[1];
    int64_t n = call->size[0], i = 0;
    for (; i + UNROLL <= n; i += UNROLL) {
        for (int u = 0; u < UNROLL; u++) {
            y[i + u] = 2.0f * x[i + u];
        }
    }
    for (; i < n; i++) {
        y[i] = 2.0f * x[i];
    }
}
