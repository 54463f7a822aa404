/* registers.c: loads an X of f32 from a slot to registers (cuda_registers.cu) on the CPU, and
   compares what each lane has, rounded, with what wgmma and the epilogue expect of it. It counts
   conflicts of banks, too. See simt.h and cases.txt. */
#include "simt.h"

typedef uint32_t u32;

static struct {
    u32 address[512];
    int count;
} loads;

__attribute__((unused)) static void load_shared_two(u32 v[2], u32 from)
{
    loads.address[loads.count++] = from;
    memcpy(v, simt_at(from, 8), 8);
}

__attribute__((unused)) static void load_shared_four(u32 v[4], u32 from)
{
    loads.address[loads.count++] = from;
    memcpy(v, simt_at(from, 16), 16);
}

/* A product, cut off. */
static float __fmul_rz(float x, float y)
{
    const double product = (double)x * y;
    const float nearest = (float)product;
    return fabs((double)nearest) > fabs(product) ? nextafterf(nearest, 0) : nearest;
}

#define ELEMENT_BYTES 4
#define X_LAYOUT      1
#include "../../kernels/matmul/cuda_registers.cu"

enum { CONSUMERS = PING_PONG ? 1 : NUM_CONSUMERS, BYTES = X_WGMMAS == 1 ? 8 : 16, NONE = -1 };

/* A finite number that tells where it is. */
static u32 element(int p, int k)
{
    return 0x40000000u | (u32)p << 8 | (u32)k;
}

/* Fills a slot as the copy engine does. */
static void fill(void)
{
    for (int p = 0; p < BLOCK_P; p++) {
        for (int k = 0; k < BLOCK_SIZE_K; k++) {
            const int line = p / 32 * BLOCK_SIZE_K + k;
            const u32 x = element(p, k);
            memcpy(simt_at((u32)(line * 128 + (p % 32 / 4 ^ k % 8) * 16 + p % 4 * 4), 4), &x, 4);
        }
    }
}

/* Counts the lanes that a half slot of one warp is wrong for, and the conflicts of its loads: the
   lanes of 128 bytes are served together. */
static int wrong_of_warp(int row0, int half, int warp)
{
    static u32 at[32][512];
    int wrong = 0, count = 0;
    for (int lane = 0; lane < 32; lane++) {
        half_slot x;
        loads.count = 0;
        load_half(x, (u32)(row0 / 32 * BLOCK_SIZE_K * 128 + half * HALF_STEPS * 1024), warp, lane);
        count = loads.count;
        memcpy(at[lane], loads.address, (size_t)count * sizeof at[0][0]);
        for (int i = 0; i < HALF_STEPS * X_WGMMAS * 4; i++) {
            const int step = i / 4 / X_WGMMAS, j = i / 4 % X_WGMMAS;
            const int p = row0 + row_in_registers(j, i % 2, warp, lane);
            const int k = (half * HALF_STEPS + step) * 8 + lane % 4 + i % 4 / 2 * 4;
            wrong += x[step][j][i % 4] != round_tf32(element(p, k));
        }
    }
    for (int n = 0; n < count; n++) {
        for (int first = 0; first < 32; first += 128 / BYTES) {
            u32 banks = 0;
            for (int lane = first; lane < first + 128 / BYTES; lane++) {
                const u32 mine = (BYTES == 8 ? 3u : 15u) << at[lane][n] / 4 % 32;
                wrong += (banks & mine) != 0;
                banks |= mine;
            }
        }
    }
    return wrong;
}

/* Counts rows of a consumer that are not those of one lane, and those that a lane stores together
   but that are no neighbours or begin at no multiple of their number. */
static int wrong_rows(void)
{
    int owner[64 * X_WGMMAS];
    int wrong = 0;
    memset(owner, 0xff, sizeof owner); /* NONE */
    for (int i = 0; i < 64 * X_WGMMAS * 4; i++) {
        const int j = i / 256, half = i / 128 % 2, warp = i / 32 % 4, lane = i % 32;
        const int row = row_in_registers(j, half, warp, lane);
        if (row < 0 || row >= 64 * X_WGMMAS || (owner[row] != NONE && owner[row] != i / 4)) {
            wrong++;
            continue;
        }
        owner[row] = i / 4;
        const int first = row_in_registers(X_WGMMAS == 1 ? j : j / 2 * 2, 0, warp, lane);
        wrong += first % (BYTES / 4) != 0 ||
                 row != first + (X_WGMMAS == 1 ? half : j % 2 * 2 + half);
    }
    for (int row = 0; row < 64 * X_WGMMAS; row++) {
        wrong += owner[row] == NONE;
    }
    return wrong;
}

/* Counts numbers that tf32 has and that change, those whose error is more than two thirds of the
   last bit that is kept, and whether errors add up. */
static int wrong_rounding(void)
{
    static const u32 kept[] = {0,           0x80000000u, 0x7f800000u, 0xff800000u, 0x7fffe000u,
                               0xffffe000u, 0x7fc00000u, 0x7f7fe000u, 0xff7fe000u, 0x00802000u};
    enum { DRAWS = 10000 };
    double sum = 0;
    int wrong = 0;
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        wrong += ((round_tf32(kept[i]) ^ kept[i]) & 0xffffe000u) != 0;
    }
    wrong += (round_tf32(0x7f7fffffu) & 0xffffe000u) != 0x7f7fe000u;
    for (int i = 0; i < DRAWS; i++) {
        const u32 x = ((u32)simt_random() & 0x8fffffffu) | 0x01000000u; /* not tiny, nor large */
        const u32 cut = round_tf32(x) & 0xffffe000u;
        const double last = fabs((double)__uint_as_float((x & 0x7f800000u)) / 1024);
        const double error = ((double)__uint_as_float(cut) - (double)__uint_as_float(x)) / last;
        wrong += fabs(error) > 0.667;
        wrong += ((round_tf32(x & 0xffffe000u) ^ x) & 0xffffe000u) != 0;
        sum += x >> 31 ? -error : error;
    }
    return wrong + (fabs(sum) / DRAWS > 0.02);
}

static void call_kernel(void)
{
    static int wrong;
    fill();
    for (int i = 0; i < CONSUMERS * 8; i++) {
        wrong += wrong_of_warp(i / 8 * 64 * X_WGMMAS, i % 2, i / 2 % 4);
    }
    wrong += wrong_rows() + wrong_rounding();
    if (wrong > 0) {
        SIMT_FAIL("%d wrong", wrong);
    }
}

int main(void)
{
    simt_launch(call_kernel, 1, 1, 1, BLOCK_P * BLOCK_SIZE_K * 4, 1);
    return 0;
}
