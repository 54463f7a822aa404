/* C = A * B for square matrices of a multiple of the tile: a work-group computes block_size_x columns and
   block_size_y * rows_per_thread rows of C, tile by tile of A and B. */
kernel void matmul(global float *c, global const float *a, global const float *b, const int n)
{
    local float a_tile[block_size_y * rows_per_thread][block_size_x];
    local float b_tile[block_size_x][block_size_x];
    const int column = (int)get_group_id(0) * block_size_x + (int)get_local_id(0);
    const int first = (int)get_group_id(1) * block_size_y * rows_per_thread;
    float sum[rows_per_thread];
    for (int r = 0; r < rows_per_thread; r++) {
        sum[r] = 0.0f;
    }
    for (int k = 0; k < n; k += block_size_x) {
        for (int r = (int)get_local_id(1); r < block_size_y * rows_per_thread; r += block_size_y) {
            a_tile[r][get_local_id(0)] = a[(first + r) * n + k + (int)get_local_id(0)];
        }
        for (int r = (int)get_local_id(1); r < block_size_x; r += block_size_y) {
            b_tile[r][get_local_id(0)] = b[(k + r) * n + column];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int kk = 0; kk < block_size_x; kk++) {
            for (int r = 0; r < rows_per_thread; r++) {
                sum[r] += a_tile[get_local_id(1) + r * block_size_y][kk] * b_tile[kk][get_local_id(0)];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int r = 0; r < rows_per_thread; r++) {
        c[(first + (int)get_local_id(1) + r * block_size_y) * n + column] = sum[r];
    }
}
