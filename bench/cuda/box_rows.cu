/* box_rows.cu: measures how many cycles the copy engine takes for the boxes of one slot of a matrix
 * product, when all that is read lies in the level 2 cache: by the distance of the rows, the height
 * of the boxes and the L2 promotion. One thread of each block keeps a ring of slots full; the data
 * are not used. The cycles are the mean over the blocks, the best of five launches after one.
 *
 *     nvcc -O2 -arch=sm_90a bench/cuda/box_rows.cu -lcuda -o box_rows
 *     ./box_rows < CASES
 *
 * Each line of CASES has these numbers: bytes from row to row; bytes before the first row; 0 to
 * walk along the rows (as for A), 1 across them (as for B with N contiguous); rows of a slot; boxes
 * of a slot side by side; rows of a box; bytes of a box's row (128, 64, 32); 2 for a box each, 3
 * for one box of three dimensions (lines outermost), 4 for one in which rows are outermost; L2
 * promotion (0, 64, 128, 256); slots; blocks. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <cuda.h>
#include <cuda_runtime.h>

#define ROW_BYTES    4096 /* that are read of each row */
#define MATRIX_BYTES (64 << 20)
#define BLOCKS_MAX   256

struct reading {
    int pitch, base, walk, rows, beside, box_rows, box_bytes, dims, promotion, slots, blocks;
    int all_rows; /* of the matrix */
    int strips;   /* of rows or columns; a block reads one of them */
    int steps;    /* slots of a strip */
};

static __device__ void wait(uint32_t barrier, uint32_t parity)
{
    asm volatile("{.reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p "
                 "bra done; bra again; done:}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

static __global__ void __launch_bounds__(32, 1)
    read_all(const __grid_constant__ CUtensorMap map, reading r, unsigned *cycles)
{
    extern __shared__ unsigned char shared[];
    if (threadIdx.x != 0) {
        return;
    }
    const uint32_t base = ((uint32_t)__cvta_generic_to_shared(shared) + 1023) & ~1023u;
    const int bytes = r.rows * r.beside * r.box_bytes;
    const uint32_t barriers = base + r.slots * bytes;
    for (int i = 0; i < r.slots; i++) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barriers + 8 * i));
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    long long begin = 0;
    int asked = 0, arrived = 0;
    const int strip = blockIdx.x % r.strips;
    for (int turn = 0; turn < 2; turn++) { /* the first turn loads the level 2 cache */
        if (turn == 1) {
            begin = clock64();
        }
        for (int i = 0; i < r.steps; i++, asked++) {
            if (asked - arrived == r.slots) {
                wait(barriers + 8 * (arrived % r.slots), arrived / r.slots % 2);
                arrived++;
            }
            const uint32_t slot = base + asked % r.slots * bytes,
                           bar = barriers + 8 * (asked % r.slots);
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes)
                         : "memory");
            const int x = r.walk == 0 ? i * r.box_bytes * r.beside : strip * r.box_bytes * r.beside,
                      y = r.walk == 0 ? strip * r.rows : i * r.rows;
            if (r.dims > 2) {
                const int line = x / r.box_bytes;
                asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx:"
                             ":bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(slot),
                             "l"(&map), "r"(0), "r"(r.dims == 3 ? y : line),
                             "r"(r.dims == 3 ? line : y), "r"(bar)
                             : "memory");
                continue;
            }
            for (int line = 0; line < r.beside; line++) {
                for (int row = 0; row < r.rows; row += r.box_rows) {
                    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
                                 "complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                                     slot + (line * r.rows + row) * r.box_bytes),
                                 "l"(&map), "r"(x + line * r.box_bytes), "r"(y + row), "r"(bar)
                                 : "memory");
                }
            }
        }
    }
    while (arrived < asked) {
        wait(barriers + 8 * (arrived % r.slots), arrived / r.slots % 2);
        arrived++;
    }
    cycles[blockIdx.x] = (unsigned)(clock64() - begin);
}

static CUtensorMap map_of(const reading *r, unsigned char *matrix)
{
    const cuuint64_t bytes = r->box_bytes, lines = ROW_BYTES / r->box_bytes, rows = r->all_rows;
    const cuuint64_t distance = r->pitch;
    const cuuint32_t steps[3] = {1, 1, 1};
    cuuint64_t size[3] = {ROW_BYTES, rows, 1}, pitch[2] = {distance, 0};
    cuuint32_t box[3] = {(cuuint32_t)bytes, (cuuint32_t)r->box_rows, 1};
    if (r->dims > 2) {
        const int line = r->dims == 3 ? 2 : 1,
                  row = 3 - line; /* the dimensions of lines and rows */
        size[0] = bytes;
        size[line] = lines;
        size[row] = rows;
        pitch[line - 1] = bytes;
        pitch[row - 1] = distance;
        box[line] = (cuuint32_t)r->beside;
        box[row] = (cuuint32_t)r->rows;
    }
    CUtensorMap map;
    const CUresult made = cuTensorMapEncodeTiled(
        &map, CU_TENSOR_MAP_DATA_TYPE_UINT8, r->dims > 2 ? 3 : 2, matrix + r->base, size, pitch,
        box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
        r->box_bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
        : r->box_bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                             : CU_TENSOR_MAP_SWIZZLE_32B,
        r->promotion == 256   ? CU_TENSOR_MAP_L2_PROMOTION_L2_256B
        : r->promotion == 128 ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B
        : r->promotion == 64  ? CU_TENSOR_MAP_L2_PROMOTION_L2_64B
                              : CU_TENSOR_MAP_L2_PROMOTION_NONE,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (made != CUDA_SUCCESS) {
        fprintf(stderr, "box_rows: the driver refuses a box of %d bytes and %d rows\n",
                r->box_bytes, r->box_rows);
        exit(1);
    }
    return map;
}

/* Returns the lines of 128 bytes that the boxes of a slot touch, row by row. */
static int lines_of(const reading *r)
{
    int lines = 0;
    for (int y = 0; y < r->rows; y++) {
        for (int b = 0; b < r->beside; b++) {
            const long first = r->base + (long)y * r->pitch + b * r->box_bytes;
            lines += (int)((first + r->box_bytes - 1) / 128 - first / 128 + 1);
        }
    }
    return lines;
}

/* Returns the cycles of a slot. */
static double measure(const reading *r, unsigned char *matrix, unsigned *cycles)
{
    const CUtensorMap map = map_of(r, matrix);
    const int shared = r->slots * (r->rows * r->beside * r->box_bytes + 8) + 1024;
    double best = 1e30;
    for (int i = 0; i < 6; i++) { /* the first warms up */
        unsigned of_block[BLOCKS_MAX];
        double sum = 0;
        read_all<<<r->blocks, 32, shared>>>(map, *r, cycles);
        if (cudaMemcpy(of_block, cycles, r->blocks * sizeof *cycles, cudaMemcpyDeviceToHost) !=
            cudaSuccess) {
            fprintf(stderr, "box_rows: %s\n", cudaGetErrorString(cudaGetLastError()));
            exit(1);
        }
        for (int b = 0; b < r->blocks; b++) {
            sum += of_block[b];
        }
        best = i > 0 && sum < best ? sum : best;
    }
    return best / r->blocks / r->steps;
}

int main(void)
{
    unsigned char *matrix;
    unsigned *cycles;
    reading r = {};
    if (cudaMalloc(&matrix, MATRIX_BYTES) != cudaSuccess ||
        cudaMemset(matrix, 0x35, MATRIX_BYTES) != cudaSuccess ||
        cudaMalloc(&cycles, BLOCKS_MAX * sizeof *cycles) != cudaSuccess) {
        fprintf(stderr, "usage: box_rows < CASES, on a device\n");
        return 2;
    }
    cudaFuncSetAttribute(read_all, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024);
    printf(
        "# pitch base walk rows beside box_rows box_bytes dims promotion slots blocks : cycles of "
        "a slot, bytes a cycle, lines of a slot, cycles a line\n");
    while (scanf("%d %d %d %d %d %d %d %d %d %d %d", &r.pitch, &r.base, &r.walk, &r.rows, &r.beside,
                 &r.box_rows, &r.box_bytes, &r.dims, &r.promotion, &r.slots, &r.blocks) == 11) {
        const int width = r.box_bytes * r.beside;
        r.all_rows = r.walk == 0 ? 3072 : 2048;
        r.strips = r.walk == 0 ? r.all_rows / r.rows : ROW_BYTES / width;
        r.steps = r.walk == 0 ? ROW_BYTES / width : r.all_rows / r.rows;
        const double slot = measure(&r, matrix, cycles);
        const int lines = lines_of(&r);
        printf("%5d %3d %d %3d %d %3d %3d %d %3d %2d %3d : %7.0f %6.1f %5d %.2f\n", r.pitch, r.base,
               r.walk, r.rows, r.beside, r.box_rows, r.box_bytes, r.dims, r.promotion, r.slots,
               r.blocks, slot, r.rows * width / slot, lines, slot / lines);
    }
    return 0;
}
