/*
 * cuda_late.cu: a kernel of the harness that lets the next one in the stream begin, and only then
 * writes what that one reads. A candidate with LaunchEarly must wait for this kernel
 * (griddepcontrol.wait), as in a program it must wait for the kernel that makes its inputs. This
 * kernel has few blocks, so that the candidate's blocks find room beside them.
 */
typedef struct ak_late {
    unsigned long long to, from; /* places of sets */
    unsigned count;              /* pieces of a set, each of whole 16 bytes and a rest */
    unsigned long long offset[AK_ARGUMENTS_MAX], bytes[AK_ARGUMENTS_MAX];
} ak_late;

static __device__ unsigned long long late_now(void)
{
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

extern "C" __global__ void __launch_bounds__(256)
    ak_copy_late(const __grid_constant__ ak_late late, unsigned delay_ns)
{
    const unsigned long long step = gridDim.x * 256, first = blockIdx.x * 256 + threadIdx.x;
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
    for (const unsigned long long end = late_now() + delay_ns; late_now() < end;) {
    }
    for (unsigned i = 0; i < late.count; i++) {
        const unsigned long long whole = late.bytes[i] / 16;
        uint4 *to = (uint4 *)(late.to + late.offset[i]);
        const uint4 *from = (const uint4 *)(late.from + late.offset[i]);
        for (unsigned long long at = first; at < whole; at += step) {
            to[at] = from[at];
        }
        if (first < late.bytes[i] % 16) {
            ((unsigned char *)(to + whole))[first] = ((const unsigned char *)(from + whole))[first];
        }
    }
}
