/* C = A + B; each work-item adds elements_per_item elements that lie block_size_x apart. */
kernel void vector_add(global float *c, global const float *a, global const float *b, const int n)
{
    const int first = (int)get_group_id(0) * block_size_x * elements_per_item + (int)get_local_id(0);
    for (int k = 0; k < elements_per_item; k++) {
        const int i = first + k * block_size_x;
        if (i < n) {
            c[i] = a[i] + b[i];
        }
    }
}
