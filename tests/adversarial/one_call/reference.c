void ak_reference(const ak_host_call *call)
{
    const double *x = call->arg[0], *w = call->arg[1];
    double *y = call->arg[2];
    for (int64_t i = 0; i < call->size[0]; i++) {
        y[i] = 0;
        for (int64_t k = 0; k < call->size[1]; k++) {
            y[i] += w[k] * x[i] * (x[i] + w[k]);
        }
    }
}
