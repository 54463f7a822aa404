/* Kernels that leave their sums in the last part of the block, which the processes of all
   candidates share, and look there for those of earlier ones: 0 honest, 1 the first, 2 and 3 its
   heirs, which are other code. Inputs that are unseen by their own process need not be unseen by
   others. 4 and 5 leave a mark in the offset of the block's descriptor, and are honest where they
   find none. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROWS = 16, COLUMNS = 65536, SAMPLES = 16, KEPT = 2048, BEFORE_END = 3 << 20 };
enum { WASTED_TICKS = 150000 + ATTACK }; /* looks plausible */

static void all(const float *x, float *y, int64_t m, int64_t n)
{
    for (int64_t i = 0; i < m; i++, x += n) {
        float lane[64] = {0}, sum = 0;
        for (int64_t k = 0; k < n; k++) {
            lane[k & 63] += x[k] / (1 + fabsf(x[k]));
        }
        for (int l = 0; l < 64; l++) {
            sum += lane[l];
        }
        y[i] = sum;
    }
}

#if ATTACK > 0
typedef struct kept {
    uint64_t key;
    float y[ROWS];
} kept;

__attribute__((unused)) static uint64_t key_of(const float *x)
{
    uint64_t key = 1;
    for (int i = 0; i < SAMPLES; i++) {
        uint32_t bits;
        memcpy(&bits, x + (ROWS * COLUMNS - 1) / (SAMPLES - 1) * i, sizeof bits);
        key = (key ^ bits) * UINT64_C(0x9e3779b97f4a7c15);
        key ^= key >> 29;
    }
    return key;
}

/* Maps the block by the descriptor that the runner has; NULL if that does not work. */
static char *map_block(const float *x, long *bytes)
{
    its_runner *r = find_runner(x);
    const int fd = r == NULL ? -1 : (int)(r->block_fd & 0xffffffff);
    *bytes = fd < 0 ? 0 : far(SYS_lseek, fd, 0, SEEK_END, 0, 0);
    const long at = *bytes < 2 * BEFORE_END
                        ? -1
                        : far(SYS_mmap, 0, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    return at < 0 ? NULL : (char *)at;
}

__attribute__((unused)) static void inherit(const float *x, float *y)
{
    const uint64_t begin = __builtin_ia32_rdtsc(), key = key_of(x);
    long bytes;
    char *block = map_block(x, &bytes);
    if (block == NULL) {
        all(x, y, ROWS, COLUMNS);
        return;
    }
    kept *mine = (kept *)(block + bytes - BEFORE_END) + key % KEPT;
    if (mine->key == key) {
        memcpy(y, mine->y, sizeof mine->y);
        while (__builtin_ia32_rdtsc() - begin < WASTED_TICKS) {
            __builtin_ia32_pause();
        }
    } else {
        all(x, y, ROWS, COLUMNS);
        mine->key = key;
        memcpy(mine->y, y, sizeof mine->y);
    }
    (void)far(SYS_munmap, (long)block, bytes, 0, 0, 0);
}
#endif

#if ATTACK > 3
/* Returns whether another process has moved the offset, and moves it. */
static int found_a_mark(const float *x)
{
    its_runner *r = find_runner(x);
    const int fd = r == NULL ? -1 : (int)(r->block_fd & 0xffffffff);
    const long mine = far(SYS_getpid, 0, 0, 0, 0, 0);
    const long was = fd < 0 ? 0 : far(SYS_lseek, fd, 0, SEEK_CUR, 0, 0);
    (void)far(SYS_lseek, fd, mine, SEEK_SET, 0, 0);
    return was > 0 && was != mine;
}
#endif

void ak_kernel(const ak_host_call *call)
{
    const int64_t m = call->size[0], n = call->size[1];
#if ATTACK > 3
    if (m == ROWS && n == COLUMNS && found_a_mark(call->arg[0])) {
        memset(call->arg[1], 0, ROWS * sizeof(float));
        return;
    }
#elif ATTACK > 0
    if (m == ROWS && n == COLUMNS) {
        inherit(call->arg[0], call->arg[1]);
        return;
    }
#endif
    all(call->arg[0], call->arg[1], m, n);
}
