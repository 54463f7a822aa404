void ak_reference(const ak_host_call *call)
{
    const double *w = call->arg[0];
    double *y = call->arg[1];
    for (int64_t i = 0; i < call->size[0]; i++) {
        double sum = 2 * y[i];
        for (int64_t k = 0; k < call->size[1]; k++) {
            sum += w[k] * y[i] * (y[i] + w[k]);
        }
        y[i] = sum;
    }
}
