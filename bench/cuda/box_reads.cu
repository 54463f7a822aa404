/* box_reads.cu: measures how fast the copy engine reads a matrix from memory, either in the boxes
 * with which a product with few rows loads its weights, or in contiguous pieces of as many bytes.
 * One thread of each block keeps a ring of slots full; the data are not used. Prints the best and
 * the mean of six launches.
 *
 *     nvcc -O2 -arch=sm_90a bench/cuda/box_reads.cu -lcuda -o box_reads
 *     ./box_reads 131072 8192 < CASES
 *
 * reads 131072 rows of 8192 bytes. Each line of CASES has these numbers: rows of a slot; rows of a
 * box; bytes of a slot along the row; slots; 1 to evict first; L2 promotion (0, 128, 256); parts of
 * a row; the number of different offsets in a row at which blocks begin; and the way: 0 for boxes
 * of 128 bytes along the row, 1 for pieces that the blocks take in turn, 2 for one stretch of
 * pieces for each block. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <cuda.h>
#include <cuda_runtime.h>

struct reading {
    int rows, box_rows, slot_bytes, slots, evict_first, promotion, parts, begins, how;
    int strips, row_bytes;
    const unsigned char *matrix;
};

static __device__ void wait(uint32_t barrier, uint32_t parity)
{
    asm volatile("{.reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; "
                 "@p bra done; bra again; done:}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

static __global__ void __launch_bounds__(32, 1)
    read_all(const __grid_constant__ CUtensorMap map, reading r)
{
    extern __shared__ unsigned char shared[];
    if (threadIdx.x != 0) {
        return;
    }
    const uint32_t base = ((uint32_t)__cvta_generic_to_shared(shared) + 1023) & ~1023u;
    const int bytes = r.rows * r.slot_bytes;
    const uint32_t barriers = base + r.slots * bytes;
    for (int i = 0; i < r.slots; i++) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barriers + 8 * i));
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    uint64_t policy;
    if (r.evict_first) {
        asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    } else {
        asm volatile("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
    }
    const int per_part = r.row_bytes / r.parts, count = per_part / r.slot_bytes;
    long long asked = 0, arrived = 0;
    for (int t = blockIdx.x; t < r.strips * r.parts; t += gridDim.x) {
        const int begin = t % r.begins * count / r.begins;
        for (int i = 0; i < count; i++, asked++) {
            const long long piece =
                r.how == 1 ? ((long long)(t / gridDim.x) * count + i) * gridDim.x + blockIdx.x
                           : (long long)t * count + i;
            if (piece * bytes + bytes > (long long)r.strips * r.rows * r.row_bytes) {
                break; /* in the last round of way 1, some blocks get no piece */
            }
            if (asked - arrived == r.slots) {
                wait(barriers + 8 * (arrived % r.slots), arrived / r.slots % 2);
                arrived++;
            }
            const uint32_t slot = base + asked % r.slots * bytes;
            const uint32_t bar = barriers + 8 * (asked % r.slots);
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes)
                         : "memory");
            if (r.how != 0) {
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                             ".L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(slot),
                             "l"(r.matrix + piece * bytes), "r"(bytes), "r"(bar), "l"(policy)
                             : "memory");
                continue;
            }
            const int x = t % r.parts * per_part + (i + begin) % count * r.slot_bytes;
            for (int row = 0; row < r.rows; row += r.box_rows) {
                for (int line = 0; line < r.slot_bytes; line += 128) {
                    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global"
                                 ".mbarrier::complete_tx::bytes.L2::cache_hint "
                                 "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(slot + line * r.rows +
                                                                         row * 128),
                                 "l"(&map), "r"(x + line), "r"(t / r.parts * r.rows + row),
                                 "r"(bar), "l"(policy)
                                 : "memory");
                }
            }
        }
    }
    while (arrived < asked) {
        wait(barriers + 8 * (arrived % r.slots), arrived / r.slots % 2);
        arrived++;
    }
}

static CUtensorMap map_of(const reading *r, int rows)
{
    CUtensorMap map;
    const cuuint64_t size[2] = {(cuuint64_t)r->row_bytes, (cuuint64_t)rows};
    const cuuint64_t pitch[1] = {(cuuint64_t)r->row_bytes};
    const cuuint32_t box[2] = {128, (cuuint32_t)r->box_rows}, steps[2] = {1, 1};
    const CUresult made = cuTensorMapEncodeTiled(
        &map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 2, (void *)r->matrix, size, pitch, box, steps,
        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
        r->promotion == 256   ? CU_TENSOR_MAP_L2_PROMOTION_L2_256B
        : r->promotion == 128 ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B
                              : CU_TENSOR_MAP_L2_PROMOTION_NONE,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (made != CUDA_SUCCESS) {
        fprintf(stderr, "box_reads: the driver refuses a box of %d rows\n", r->box_rows);
        exit(1);
    }
    return map;
}

int main(int count, char **words)
{
    const int rows = count == 3 ? atoi(words[1]) : 0;
    reading r = {};
    r.row_bytes = count == 3 ? atoi(words[2]) : 0;
    const size_t bytes = (size_t)rows * r.row_bytes;
    unsigned char *matrix;
    if (bytes == 0 || cudaMalloc(&matrix, bytes) != cudaSuccess ||
        cudaMemset(matrix, 0x35, bytes) != cudaSuccess) {
        fprintf(stderr, "usage: box_reads ROWS BYTES < CASES, on a device that can hold them\n");
        return 2;
    }
    r.matrix = matrix;
    cudaFuncSetAttribute(read_all, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024);
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    int sms = 132;
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
    printf("rows box_rows slot_bytes slots evict_first promotion parts begins how  us GB/s (mean)\n");
    while (scanf("%d %d %d %d %d %d %d %d %d", &r.rows, &r.box_rows, &r.slot_bytes, &r.slots,
                 &r.evict_first, &r.promotion, &r.parts, &r.begins, &r.how) == 9) {
        r.strips = rows / r.rows;
        const CUtensorMap map = map_of(&r, rows);
        const int shared = r.slots * (r.rows * r.slot_bytes + 8) + 1024;
        const int blocks = r.strips * r.parts < sms ? r.strips * r.parts : sms;
        float best = 1e9f, sum = 0;
        for (int i = 0; i < 7; i++) { /* the first warms up */
            float ms;
            cudaEventRecord(begin);
            read_all<<<blocks, 32, shared>>>(map, r);
            cudaEventRecord(end);
            if (cudaEventSynchronize(end) != cudaSuccess) {
                fprintf(stderr, "box_reads: %s\n", cudaGetErrorString(cudaGetLastError()));
                return 1;
            }
            cudaEventElapsedTime(&ms, begin, end);
            best = i > 0 && ms < best ? ms : best;
            sum += i > 0 ? ms : 0;
        }
        printf("%4d %8d %10d %5d %11d %9d %5d %6d %3d  %.1f %.0f (%.0f)\n", r.rows, r.box_rows,
               r.slot_bytes, r.slots, r.evict_first, r.promotion, r.parts, r.begins, r.how,
               best * 1e3, bytes / best / 1e6, bytes / (sum / 6) / 1e6);
    }
    return 0;
}
