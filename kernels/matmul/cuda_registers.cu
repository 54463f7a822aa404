/*
 * cuda_registers.cu: how an X of f32 whose contiguous direction is not K comes to wgmma, which takes
 * it from registers only. The harness puts this text in front of cuda_gemm_sm90.cu, behind
 * cuda_wgmma.cu; tests/simt/registers.c runs it on the CPU.
 *
 * X lies in a slot as the copy engine leaves boxes of 32 elements along its rows of memory, that is
 * along X's 64 rows of a wgmma, and BLOCK_SIZE_K along K: a box is BLOCK_SIZE_K lines of 128 bytes,
 * whose chunks of 16 bytes are swizzled by the number of the line.
 *
 * Any row of X may be any row of wgmma, because only C must be stored accordingly. So a lane loads
 * neighbours in a line at once, as rows of its own: four for a pair of wgmmas side by side, which
 * have two rows of each lane each, or two for a single one. The eight lanes that are served at once
 * (16 of 8 bytes) are of two (four) rows and four lines, which the swizzle puts in all banks if the
 * rows are in both halves of a line. And what a warp has of 32 (16) neighbouring rows of X at one
 * place along Y is a whole line of C (two halves of 32 bytes), of which a lane stores 16 (8) bytes.
 */
#if ELEMENT_BYTES == 4 && X_LAYOUT

/* ---- instructions ---- */

#ifndef SIMT

#define UNROLL _Pragma("unroll")

DEVICE void load_shared_two(u32 v[2], u32 from)
{
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                 : "=r"(v[0]), "=r"(v[1])
                 : "r"(from)
                 : "memory");
}

DEVICE void load_shared_four(u32 v[4], u32 from)
{
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(from)
                 : "memory");
}

#endif

/* ---- half slots ---- */

#define X_WGMMAS   (BLOCK_P / (PING_PONG ? 64 : 64 * NUM_CONSUMERS)) /* of one consumer */
#define HALF_STEPS (BLOCK_SIZE_K / 16)                               /* of 8 along K */

/* What a lane has of half a slot: for each step and each wgmma, its two rows at lane % 4 along K,
   then both at lane % 4 + 4. */
typedef u32 half_slot[HALF_STEPS][X_WGMMAS][4];

/* Returns which of the consumer's rows of X a lane has as its first (half 0) or second row of the
   j-th wgmma. */
DEVICE int row_in_registers(int j, int half, int warp, int lane)
{
    const int g = lane / 4;
    if (X_WGMMAS == 1) {
        return warp / 2 * 32 + warp % 2 * 8 + g % 2 * 16 + g / 4 * 4 + g / 2 % 2 * 2 + half;
    }
    return j / 2 * 128 + warp * 32 + g % 2 * 16 + g / 2 * 4 + j % 2 * 2 + half;
}

/* Adds a third to two thirds of the last bit that tf32 keeps, half of it on average, before the tensor
   cores cut off what is behind that bit: this takes one instruction, and errors are about those of
   rounding to nearest. Numbers that tf32 has, infinity and NaN stay, and the largest is not
   exceeded. */
DEVICE u32 round_tf32(u32 x)
{
    return __float_as_uint(__fmul_rz(__uint_as_float(x), 1 + 1 / 3072.0f));
}

/* Loads half a slot, whose lines of this consumer begin at `from`, a multiple of 1024. */
DEVICE void load_half(half_slot x, u32 from, int warp, int lane)
{
    const u32 row = (u32)row_in_registers(0, 0, warp, lane), k = (u32)lane % 4;
    const u32 low = row / 32 * (BLOCK_SIZE_K * 128) + k * 128 + (row % 32 * 4 ^ k * 16);
    const u32 high = (low ^ 64) + 512; /* 4 lines on */
    UNROLL
    for (u32 step = 0; step < HALF_STEPS; step++) {
        UNROLL
        for (u32 i = 0; i < 2; i++) {
            const u32 at = from + (i == 0 ? low : high) + step * 1024;
            u32 v[4];
#if X_WGMMAS == 1
            load_shared_two(v, at);
            x[step][0][2 * i] = round_tf32(v[0]);
            x[step][0][2 * i + 1] = round_tf32(v[1]);
#else
            UNROLL
            for (u32 j = 0; j < X_WGMMAS; j += 2) {
                load_shared_four(v, at + j * (2 * BLOCK_SIZE_K * 128));
                x[step][j][2 * i] = round_tf32(v[0]);
                x[step][j][2 * i + 1] = round_tf32(v[1]);
                x[step][j + 1][2 * i] = round_tf32(v[2]);
                x[step][j + 1][2 * i + 1] = round_tf32(v[3]);
            }
#endif
        }
    }
}

#endif
