/* fake_referee.c: runs cuda_referee.cu and matmul's reference.cu for bf16 by the emulator, on
   the memory of the fake device: see fake_cuda.c. */
#include "../simt/referee_bits.h"
#include "fake_referee.h"

#define dtype_is_bf16 1
#define choice_alpha  1.0
#define choice_beta   0.0
#include "../../src/backend/cuda/cuda_referee.cu"
#include "../../kernels/matmul/reference.cu"

static uint64_t v[FAKE_REFEREE_ARGUMENTS];
#define POINTER(type, i) ((type)(uintptr_t)v[i])

static void reference(void)
{
    ak_reference(POINTER(void *, 0), POINTER(void *, 1), POINTER(double *, 2), POINTER(void *, 3),
                 (i64)v[4], (i64)v[5], (i64)v[6], (i64)v[7], (i64)v[8], (i64)v[9], (i64)v[10]);
}

static void seal(void)
{
    ak_seal(POINTER(double *, 0), (i64)v[1], v[2], POINTER(finding *, 3));
}

static void squares(void)
{
    ak_squares(POINTER(u64 *, 0), (i64)v[1], v[2], from_bits(v[3]), POINTER(finding *, 4));
}

static void paint(void)
{
    ak_paint(POINTER(unsigned char *, 0), (i64)v[1], (i64)v[2], (i64)v[3], v[4], v[5], v[6]);
}

static void examine(void)
{
    ak_examine(POINTER(void *, 0), POINTER(u64 *, 1), (i64)v[2], (i64)v[3], (i64)v[4], (int)v[5],
               (u32)v[6], v[7], from_bits(v[8]), from_bits(v[9]), v[10], v[11], v[12],
               POINTER(finding *, 13));
}

static void fingerprint(void)
{
    ak_fingerprint(POINTER(void *, 0), (i64)v[1], v[2], POINTER(finding *, 3));
}

static const struct {
    const char *name;
    int count;
    unsigned narrow; /* bit i: argument i has 4 bytes, not 8 */
    void (*call)(void);
} kernels[] = {{"ak_reference", 11, 0, reference},
               {"ak_seal", 4, 0, seal},
               {"ak_squares", 5, 0, squares},
               {"ak_paint", 7, 0, paint},
               {"ak_examine", 14, 1 << 5 | 1 << 6, examine},
               {"ak_fingerprint", 4, 0, fingerprint}};
enum { KERNELS = sizeof kernels / sizeof kernels[0] };

int fake_referee_find(const char *name)
{
    for (int i = 0; i < KERNELS; i++) {
        if (strcmp(kernels[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

void fake_referee_run(int which, void **arguments, unsigned blocks, unsigned shared_bytes)
{
    memset(v, 0, sizeof v);
    for (int i = 0; i < kernels[which].count; i++) {
        memcpy(&v[i], arguments[i], kernels[which].narrow >> i & 1 ? 4 : 8);
    }
    simt_launch(kernels[which].call, blocks, THREADS, 1, (int)shared_bytes, blocks);
}
