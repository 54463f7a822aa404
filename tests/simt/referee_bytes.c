/*
 * referee_bytes.c: compares outputs of 8-bit floats with ak_examine of cuda_referee.cu on the CPU.
 * All numbers are results, the largest too, although they differ from poison in the last bits only;
 * a row's end and what is written behind it are seen. See simt.h and cases.txt.
 */
#include "referee_bits.h"

#pragma GCC diagnostic ignored "-Wunused-function" /* the kernels that compute */

#include "../../src/backend/cuda/cuda_referee.cu"

#if kind_is_e5m2
#define KIND    KIND_E5M2
#define LARGEST 0x7B
#else
#define KIND    KIND_E4M3
#define LARGEST 0x7E
#endif

enum { ROW = 64, PITCH = 67, ALL = 2 * (LARGEST + 1), LINES = (ALL + ROW - 1) / ROW };
static const u64 key = 12345;
static const stream gaps = {678, 0x8080808080808080u, 0x7F7F7F7F7F7F7F7Fu};
static unsigned char y[LINES * PITCH];
static u64 masked[LINES * ROW];
static finding found;

static void call_paint(void)
{
    ak_paint(y, LINES, ROW, PITCH, gaps.key, gaps.keep, gaps.set);
}

static void call_examine(void)
{
    ak_examine(y, masked, LINES, ROW, PITCH, KIND, 0x7F, key, 0.0, 0.0, gaps.key, gaps.keep,
               gaps.set, &found);
}

static int expect(const char *what, u64 bad, u64 unwritten, u64 strays)
{
    simt_launch(call_examine, 1, THREADS, 1, (int)sizeof(finding[THREADS]), 1);
    if (found.bad == bad && found.unwritten == unwritten && found.strays == strays) {
        return 0;
    }
    (void)fprintf(stderr, "%s: %llu bad, %llu unwritten, %llu strays\n", what, found.bad,
                  found.unwritten, found.strays);
    return 1;
}

int main(void)
{
    int wrong = 0;
    simt_launch(call_paint, 1, THREADS, 1, (int)sizeof(finding[THREADS]), 1);
    for (int i = 0; i < LINES * ROW; i++) { /* every number, of both signs */
        const int byte = i % ALL / 2 | (i % 2) << 7;
        y[i / ROW * PITCH + i % ROW] = (unsigned char)byte;
        masked[i] = bits_of(value_of_bits((u32)byte, KIND)) ^ mask_of(key, (u64)i);
    }
    wrong += expect("right", 0, 0, 0);
    y[5] = 0x7F;
    wrong += expect("poison", 1, 1, 0);
    y[5] = 0xFF;
    wrong += expect("NaN", 1, 0, 0);
    y[5] = y[7];
    wrong += expect("another number", 1, 0, 0);
    y[ROW + 1] ^= 0x80;
    wrong += expect("behind a row", 1, 0, 1);
    return wrong > 0;
}
