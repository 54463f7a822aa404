/* Y[i] = sixty steps of v = v / (1 + v v) + X[i] / 4. */
void ak_reference(const ak_host_call *call)
{
    const double *x = call->arg[0];
    double *y = call->arg[1];
    for (int64_t i = 0; i < call->size[0]; i++) {
        double v = x[i];
        for (int k = 0; k < 60; k++) {
            v = v / (1 + v * v) + x[i] / 4;
        }
        y[i] = v;
    }
}
