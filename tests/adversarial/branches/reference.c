void ak_reference(const ak_host_call *call)
{
    const double *x = call->arg[0];
    double *y = call->arg[1];
    for (int64_t i = 0; i < call->size[0]; i++) {
        double levels = 0;
        for (int k = -7; k <= 7; k++) {
            levels += x[i] >= k / 8.0 ? 1 : 0;
        }
        y[i] = levels;
    }
}
