/*
 * mix.h: says what the hottest loop of compiled code consists of: how many instructions multiply
 * and add, load, store or shuffle, and what keeps the processor busiest. The code is disassembled
 * by the machine's own tools, objdump or nvdisasm or cuobjdump; where there is none, nothing is
 * said.
 *
 * The hottest loop is guessed: the innermost one that does most arithmetic per estimated cycle or,
 * if none does arithmetic, most loads and stores. The cycles of instructions are those of common
 * processors. The only waits that count are those of a CPU for the result of the previous FMA.
 */
#ifndef AK_BACKEND_MIX_H
#define AK_BACKEND_MIX_H

#include "base/buf.h"

/* X(NAME, text, cpu, gpu): a kind of instruction, and for how many cycles one keeps its unit busy
   on a CPU and on a GPU. */
#define AK_MIX_MAP(X)                                                                              \
    X(MATRIX, "matrix products", 16, 16)                                                           \
    X(FMA, "FMA", 0.5, 1)                                                                          \
    X(ARITHMETIC, "other arithmetic", 0.5, 1)                                                      \
    X(LOAD, "loads", 0.5, 4)                                                                       \
    X(SHARED, "loads from shared memory", 0.5, 4)                                                  \
    X(GATHER, "gathers", 8, 8)                                                                     \
    X(STORE, "stores", 1, 4)                                                                       \
    X(SPILL, "accesses of spilled registers", 0.5, 4)                                              \
    X(SHUFFLE, "shuffles", 1, 2)                                                                   \
    X(BARRIER, "barriers", 0, 0)                                                                   \
    X(OTHER, "others", 0, 0)

typedef enum ak_mix_kind {
#define X(name, text, cpu, gpu) AK_MIX_##name,
    AK_MIX_MAP(X)
#undef X
        AK_MIX_KINDS
} ak_mix_kind;

typedef struct ak_mix {
    int count[AK_MIX_KINDS]; /* an instruction that loads and multiplies counts as both */
    int all;                 /* instructions */
    int bits;                /* width of the widest arithmetic; 0: not known */
    int sums;                /* accumulators (at most 64): registers that iterations only add to */
    bool gpu;
} ak_mix;

/* Finds the hottest loop in the listing of a disassembler: objdump's of x86-64 or AArch64, or with
   `gpu` nvdisasm's or cuobjdump's. Returns false if there is no loop that computes, loads or
   stores (gathers and spilled registers alone do not count), or no memory. */
bool ak_mix_read(ak_mix *out, const char *listing, bool gpu);
/* Appends "hot loop: 96 FMA of 512 bits, 28 loads, 12 others; busiest: arithmetic". */
void ak_mix_print(ak_buf *out, const ak_mix *mix);
/* Disassembles a compiled file and finds its hottest loop. The disassembler is confined as a
   compiler is. Returns false if there is no disassembler for the file, if it fails, or if
   ak_mix_read does. */
bool ak_mix_of(ak_mix *out, const char *path);

#endif
