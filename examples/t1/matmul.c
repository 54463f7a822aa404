/* C = A * B for square matrices, in blocks of BLOCK x BLOCK x BLOCK. */
void matmul(float *restrict c, const float *restrict a, const float *restrict b, int n)
{
    for (int i = 0; i < n * n; i++) {
        c[i] = 0.0f;
    }
    for (int i0 = 0; i0 < n; i0 += BLOCK) {
        for (int k0 = 0; k0 < n; k0 += BLOCK) {
            for (int j0 = 0; j0 < n; j0 += BLOCK) {
                for (int i = i0; i < i0 + BLOCK && i < n; i++) {
                    for (int k = k0; k < k0 + BLOCK && k < n; k++) {
                        const float x = a[i * n + k];
                        const int end = j0 + BLOCK < n ? j0 + BLOCK : n;
                        for (int j = j0; j < end; j++) {
                            c[i * n + j] += x * b[k * n + j];
                        }
                    }
                }
            }
        }
    }
}
