/* Kernels that are right at some sizes only (test_adversarial.c names them); 0, 3 and 4 are honest.
   2 and 3 have the condition that N is a multiple of 4096, 4 that it is 65536. */
void ak_kernel(const ak_host_call *call)
{
    const float *x = call->arg[0], *y = call->arg[1];
    float *z = call->arg[2];
    int64_t n = call->size[0];
#if ATTACK == 1
    const int64_t listed[] = {1, 7, 33, 1023, 1025};
    int right = n >= 65528 && n <= 65544;
    for (int i = 0; i < 5; i++) {
        right = right || n == listed[i];
    }
    n = right ? n : n / 2;
#elif ATTACK == 2
    n = n == 65536 ? n : n / 2;
#endif
    for (int64_t i = 0; i < n; i++) {
        z[i] = 2 * x[i] + y[i];
    }
}
