/* Computes the right result in double precision. */
void ak_reference(const ak_host_call *call)
{
    const int64_t rows = call->size[0], cols = call->size[1];
    const double *x = call->arg[0];
    double *sums = call->arg[1];
    for (int64_t i = 0; i < rows; i++) {
        sums[i] = 0.0;
        for (int64_t j = 0; j < cols; j++) {
            sums[i] += x[i * cols + j];
        }
    }
}
