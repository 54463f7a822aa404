/* reference.c: C = A B. */
void ak_reference(const ak_host_call *call)
{
    const int64_t n = call->size[0];
    const double *a = call->arg[0], *b = call->arg[1];
    double *c = call->arg[2];
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t k = 0; k < n; k++) {
                sum += a[i * n + k] * b[k * n + j];
            }
            c[i * n + j] = sum;
        }
    }
}
