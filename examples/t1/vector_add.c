/* C = A + B. It is an ordinary C function, which does not depend on autokernel. */
#include <stdint.h>

void vector_add(float *restrict c, const float *restrict a, const float *restrict b, int n)
{
    int i = 0;
    for (; i + UNROLL <= n; i += UNROLL) {
        for (int k = 0; k < UNROLL; k++) {
            c[i + k] = a[i + k] + b[i + k];
        }
    }
    for (; i < n; i++) {
        c[i] = a[i] + b[i];
    }
}
