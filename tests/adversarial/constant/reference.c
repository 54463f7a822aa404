void ak_reference(const ak_host_call *call)
{
    const double *x = call->arg[0], *y = call->arg[1], *v = call->arg[2];
    double *z = call->arg[3], sum = 0;
    for (int64_t i = 0; i < call->size[0]; i++) {
        sum += x[i] * (y[i] + v[i]);
        z[i] = sum;
    }
}
