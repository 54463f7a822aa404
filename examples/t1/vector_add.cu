/* C = A + B; each thread adds elements_per_item elements that lie block_size_x apart. */
extern "C" __global__ void vector_add(float *c, const float *a, const float *b, int n)
{
    const int first = blockIdx.x * block_size_x * elements_per_item + threadIdx.x;
    for (int k = 0; k < elements_per_item; k++) {
        const int i = first + k * block_size_x;
        if (i < n) {
            c[i] = a[i] + b[i];
        }
    }
}
