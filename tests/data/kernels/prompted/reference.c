void ak_reference(const ak_host_call *call)
{
    const double *x = call->arg[0];
    double *y = call->arg[1];
    for (long i = 0; i < call->size[0] * call->size[1]; i++) {
        y[i] = 2 * x[i];
    }
}
