void ak_reference(const ak_host_call *call)
{
    const int64_t h = call->size[0], w = call->size[1];
    const double *x = call->arg[0];
    double *y = call->arg[1];
    for (int64_t i = 0; i < h; ++i) {
        for (int64_t j = 0; j < w; ++j) {
            const double here = x[i * w + j];
            const double above = i > 0 ? x[(i - 1) * w + j] : here;
            const double below = i + 1 < h ? x[(i + 1) * w + j] : here;
            y[i * w + j] = (above + here + below) / 3;
        }
    }
}
