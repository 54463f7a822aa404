/* Computes the right result in double precision. */
void ak_reference(const ak_host_call *call)
{
    const int64_t height = call->size[0], width = call->size[1];
    double *to = call->arg[0];
    const double *source = call->arg[1], *filter = call->arg[2];
    for (int64_t y = 0; y < height; y++) {
        for (int64_t x = 0; x < width; x++) {
            double sum = 0.0;
            for (int64_t i = 0; i < 25; i++) {
                sum += source[(y + i / 5) * (width + 4) + x + i % 5] * filter[i];
            }
            to[y * width + x] = sum;
        }
    }
}
