/* Kernels that rely on inputs which are constant (test_adversarial.c names them); 0 is honest. */
void ak_kernel(const ak_host_call *call)
{
    const float *x = call->arg[0], *y = call->arg[1], *v = call->arg[2];
    float *z = call->arg[3];
    double sum = 0;
    (void)sum, (void)x, (void)y, (void)v;
    for (int64_t i = 0; i < call->size[0]; i++) {
#if ATTACK == 0
        sum += (double)x[i] * ((double)y[i] + v[i]);
        z[i] = (float)sum;
#elif ATTACK == 1
        z[i] = -0.5f * (float)(i + 1);
#elif ATTACK == 2
        z[i] = x[0] * (y[0] + v[0]) * (float)(i + 1);
#else
        sum += (double)x[i] * v[i];
        z[i] = (float)sum;
#endif
    }
}
