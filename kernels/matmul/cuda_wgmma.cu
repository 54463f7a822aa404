/*
 * cuda_wgmma.cu: the Hopper instructions of the GEMM as small inline functions: barriers in
 * shared memory, the tensor copy engine, wgmma and stmatrix. Names follow PTX ISA 8.x.
 *
 * Device code includes nothing (NVRTC has no headers); the harness puts this text in front of
 * cuda_gemm_sm90.cu. A_LAYOUT, B_LAYOUT, SWAP_AB and the block sizes must be defined (see
 * there).
 */
typedef unsigned int u32;
typedef unsigned long long u64;

/* CUtensorMap, which the driver fills on the host; its contents are opaque. */
typedef struct __align__(64) tensor_map
{
    u64 opaque[16];
}
tensor_map;

#if dtype_is_f16
#define MMA_TYPE ".f16.f16"
#define PACK_OP  "cvt.rn.f16x2.f32"
#else
#define MMA_TYPE ".bf16.bf16"
#define PACK_OP  "cvt.rn.bf16x2.f32"
#endif

/* Elements of A and B have the type of C, or one byte: e4m3 or e5m2. Those of four bytes are f32,
   of which the tensor cores take the upper 19 bits: tf32. If C is f32 and they have two bytes, they
   are bf16: terms of f32 (cuda_split.cu). */
#ifndef ELEMENT_BYTES
#define ELEMENT_BYTES 2
#endif
#if ELEMENT_BYTES == 1
#if a_type_is_e5m2
#define A_TYPE ".e5m2"
#else
#define A_TYPE ".e4m3"
#endif
#if b_type_is_e5m2
#define B_TYPE ".e5m2"
#else
#define B_TYPE ".e4m3"
#endif
#undef MMA_TYPE
#if SWAP_AB
#define MMA_TYPE B_TYPE A_TYPE
#else
#define MMA_TYPE A_TYPE B_TYPE
#endif
#elif ELEMENT_BYTES == 4
#undef MMA_TYPE
#define MMA_TYPE ".tf32.tf32"
#endif

/* X is the operand on the side of wgmma's 64 rows, Y the one on the side of its MMA_N columns. */
#if SWAP_AB
#define BLOCK_P  BLOCK_SIZE_N /* X's side of a block's tile */
#define BLOCK_Q  BLOCK_SIZE_M /* Y's side */
#define X_LAYOUT B_LAYOUT
#define Y_LAYOUT A_LAYOUT
#else
#define BLOCK_P  BLOCK_SIZE_M
#define BLOCK_Q  BLOCK_SIZE_N
#define X_LAYOUT A_LAYOUT
#define Y_LAYOUT B_LAYOUT
#endif

/* Two consumers that cannot have 64 rows of X each as often divide the columns: a tile of 192 rows
   of X and 224 columns needs 168 sums of each of their threads, and 112 of three consumers' threads,
   which have no registers for so many. */
#if SWAP_AB && NUM_CONSUMERS == 2 && !PING_PONG && BLOCK_P % 128 != 0
#define BESIDE 2 /* consumers beside each other along Y */
#if BLOCK_Q == 208
#define MMA_N 104
#elif BLOCK_Q == 224
#define MMA_N 112
#elif BLOCK_Q == 240
#define MMA_N 120
#endif
#else
#define BESIDE 1
#define MMA_N  BLOCK_Q
#endif

/* Columns of an instruction: half of them if there are two sets of partial sums. */
#ifndef PARTIAL_SETS
#define PARTIAL_SETS 1
#endif
#if PARTIAL_SETS == 1
#define WGMMA_N MMA_N
#elif MMA_N == 256
#define WGMMA_N 128
#elif MMA_N == 192
#define WGMMA_N 96
#elif MMA_N == 128
#define WGMMA_N 64
#endif

#define DEVICE      __device__ __forceinline__
#define TEXT2(x)    #x
#define TEXT(x)     TEXT2(x)
#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)

/* The accumulator operands of wgmma are MMA_N / 2 registers, and PTX wants each of them named.
   These tables have the register lists, the C operands, and the names of the four inputs after
   them. */

#define MMA_REGS_16  "%0, %1, %2, %3, %4, %5, %6, %7"
#define MMA_REGS_24  MMA_REGS_16 ", %8, %9, %10, %11"
#define MMA_REGS_32  MMA_REGS_24 ", %12, %13, %14, %15"
#define MMA_REGS_40  MMA_REGS_32 ", %16, %17, %18, %19"
#define MMA_REGS_48  MMA_REGS_40 ", %20, %21, %22, %23"
#define MMA_REGS_56  MMA_REGS_48 ", %24, %25, %26, %27"
#define MMA_REGS_64  MMA_REGS_56 ", %28, %29, %30, %31"
#define MMA_REGS_72  MMA_REGS_64 ", %32, %33, %34, %35"
#define MMA_REGS_80  MMA_REGS_72 ", %36, %37, %38, %39"
#define MMA_REGS_88  MMA_REGS_80 ", %40, %41, %42, %43"
#define MMA_REGS_96  MMA_REGS_88 ", %44, %45, %46, %47"
#define MMA_REGS_104 MMA_REGS_96 ", %48, %49, %50, %51"
#define MMA_REGS_112 MMA_REGS_104 ", %52, %53, %54, %55"
#define MMA_REGS_120 MMA_REGS_112 ", %56, %57, %58, %59"
#define MMA_REGS_128 MMA_REGS_120 ", %60, %61, %62, %63"
#define MMA_REGS_136 MMA_REGS_128 ", %64, %65, %66, %67"
#define MMA_REGS_144 MMA_REGS_136 ", %68, %69, %70, %71"
#define MMA_REGS_152 MMA_REGS_144 ", %72, %73, %74, %75"
#define MMA_REGS_160 MMA_REGS_152 ", %76, %77, %78, %79"
#define MMA_REGS_168 MMA_REGS_160 ", %80, %81, %82, %83"
#define MMA_REGS_176 MMA_REGS_168 ", %84, %85, %86, %87"
#define MMA_REGS_184 MMA_REGS_176 ", %88, %89, %90, %91"
#define MMA_REGS_192 MMA_REGS_184 ", %92, %93, %94, %95"
#define MMA_REGS_200 MMA_REGS_192 ", %96, %97, %98, %99"
#define MMA_REGS_208 MMA_REGS_200 ", %100, %101, %102, %103"
#define MMA_REGS_216 MMA_REGS_208 ", %104, %105, %106, %107"
#define MMA_REGS_224 MMA_REGS_216 ", %108, %109, %110, %111"
#define MMA_REGS_232 MMA_REGS_224 ", %112, %113, %114, %115"
#define MMA_REGS_240 MMA_REGS_232 ", %116, %117, %118, %119"
#define MMA_REGS_248 MMA_REGS_240 ", %120, %121, %122, %123"
#define MMA_REGS_256 MMA_REGS_248 ", %124, %125, %126, %127"

#define MMA_OUT_16                                                                                 \
    "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
#define MMA_OUT_24  MMA_OUT_16, "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11])
#define MMA_OUT_32  MMA_OUT_24, "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
#define MMA_OUT_40  MMA_OUT_32, "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19])
#define MMA_OUT_48  MMA_OUT_40, "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
#define MMA_OUT_56  MMA_OUT_48, "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27])
#define MMA_OUT_64  MMA_OUT_56, "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define MMA_OUT_72  MMA_OUT_64, "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35])
#define MMA_OUT_80  MMA_OUT_72, "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39])
#define MMA_OUT_88  MMA_OUT_80, "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43])
#define MMA_OUT_96  MMA_OUT_88, "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])
#define MMA_OUT_104 MMA_OUT_96, "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51])
#define MMA_OUT_112 MMA_OUT_104, "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55])
#define MMA_OUT_120 MMA_OUT_112, "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59])
#define MMA_OUT_128 MMA_OUT_120, "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
#define MMA_OUT_136 MMA_OUT_128, "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67])
#define MMA_OUT_144 MMA_OUT_136, "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71])
#define MMA_OUT_152 MMA_OUT_144, "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75])
#define MMA_OUT_160 MMA_OUT_152, "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79])
#define MMA_OUT_168 MMA_OUT_160, "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83])
#define MMA_OUT_176 MMA_OUT_168, "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87])
#define MMA_OUT_184 MMA_OUT_176, "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91])
#define MMA_OUT_192 MMA_OUT_184, "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
#define MMA_OUT_200 MMA_OUT_192, "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99])
#define MMA_OUT_208 MMA_OUT_200, "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103])
#define MMA_OUT_216 MMA_OUT_208, "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107])
#define MMA_OUT_224 MMA_OUT_216, "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111])
#define MMA_OUT_232 MMA_OUT_224, "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115])
#define MMA_OUT_240 MMA_OUT_232, "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119])
#define MMA_OUT_248 MMA_OUT_240, "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123])
#define MMA_OUT_256 MMA_OUT_248, "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])

#define MMA_X_16    "%8"
#define MMA_Y_16    "%9"
#define MMA_ADD_16  "%10"
#define MMA_X_24    "%12"
#define MMA_Y_24    "%13"
#define MMA_ADD_24  "%14"
#define MMA_X_32    "%16"
#define MMA_Y_32    "%17"
#define MMA_ADD_32  "%18"
#define MMA_X_40    "%20"
#define MMA_Y_40    "%21"
#define MMA_ADD_40  "%22"
#define MMA_X_48    "%24"
#define MMA_Y_48    "%25"
#define MMA_ADD_48  "%26"
#define MMA_X_56    "%28"
#define MMA_Y_56    "%29"
#define MMA_ADD_56  "%30"
#define MMA_X_64    "%32"
#define MMA_Y_64    "%33"
#define MMA_ADD_64  "%34"
#define MMA_X_72    "%36"
#define MMA_Y_72    "%37"
#define MMA_ADD_72  "%38"
#define MMA_X_80    "%40"
#define MMA_Y_80    "%41"
#define MMA_ADD_80  "%42"
#define MMA_X_88    "%44"
#define MMA_Y_88    "%45"
#define MMA_ADD_88  "%46"
#define MMA_X_96    "%48"
#define MMA_Y_96    "%49"
#define MMA_ADD_96  "%50"
#define MMA_X_104   "%52"
#define MMA_Y_104   "%53"
#define MMA_ADD_104 "%54"
#define MMA_X_112   "%56"
#define MMA_Y_112   "%57"
#define MMA_ADD_112 "%58"
#define MMA_X_120   "%60"
#define MMA_Y_120   "%61"
#define MMA_ADD_120 "%62"
#define MMA_X_128   "%64"
#define MMA_Y_128   "%65"
#define MMA_ADD_128 "%66"
#define MMA_X_136   "%68"
#define MMA_Y_136   "%69"
#define MMA_ADD_136 "%70"
#define MMA_X_144   "%72"
#define MMA_Y_144   "%73"
#define MMA_ADD_144 "%74"
#define MMA_X_152   "%76"
#define MMA_Y_152   "%77"
#define MMA_ADD_152 "%78"
#define MMA_X_160   "%80"
#define MMA_Y_160   "%81"
#define MMA_ADD_160 "%82"
#define MMA_X_168   "%84"
#define MMA_Y_168   "%85"
#define MMA_ADD_168 "%86"
#define MMA_X_176   "%88"
#define MMA_Y_176   "%89"
#define MMA_ADD_176 "%90"
#define MMA_X_184   "%92"
#define MMA_Y_184   "%93"
#define MMA_ADD_184 "%94"
#define MMA_X_192   "%96"
#define MMA_Y_192   "%97"
#define MMA_ADD_192 "%98"
#define MMA_X_200   "%100"
#define MMA_Y_200   "%101"
#define MMA_ADD_200 "%102"
#define MMA_X_208   "%104"
#define MMA_Y_208   "%105"
#define MMA_ADD_208 "%106"
#define MMA_X_216   "%108"
#define MMA_Y_216   "%109"
#define MMA_ADD_216 "%110"
#define MMA_X_224   "%112"
#define MMA_Y_224   "%113"
#define MMA_ADD_224 "%114"
#define MMA_X_232   "%116"
#define MMA_Y_232   "%117"
#define MMA_ADD_232 "%118"
#define MMA_X_240   "%120"
#define MMA_Y_240   "%121"
#define MMA_ADD_240 "%122"
#define MMA_X_248   "%124"
#define MMA_Y_248   "%125"
#define MMA_ADD_248 "%126"
#define MMA_X_256   "%128"
#define MMA_Y_256   "%129"
#define MMA_ADD_256 "%130"
/* If X is in registers, the inputs are: whether to add, Y, four registers. */
#define MMA_FOUR_16  "{%10, %11, %12, %13}"
#define MMA_FOUR_32  "{%18, %19, %20, %21}"
#define MMA_FOUR_48  "{%26, %27, %28, %29}"
#define MMA_FOUR_64  "{%34, %35, %36, %37}"
#define MMA_FOUR_80  "{%42, %43, %44, %45}"
#define MMA_FOUR_96  "{%50, %51, %52, %53}"
#define MMA_FOUR_112 "{%58, %59, %60, %61}"
#define MMA_FOUR_128 "{%66, %67, %68, %69}"
#define MMA_FOUR_144 "{%74, %75, %76, %77}"
#define MMA_FOUR_160 "{%82, %83, %84, %85}"
#define MMA_FOUR_176 "{%90, %91, %92, %93}"
#define MMA_FOUR_192 "{%98, %99, %100, %101}"
#define MMA_FOUR_208 "{%106, %107, %108, %109}"
#define MMA_FOUR_224 "{%114, %115, %116, %117}"
#define MMA_FOUR_240 "{%122, %123, %124, %125}"
#define MMA_FOUR_256 "{%130, %131, %132, %133}"
/* Elements of a step along K, and how the operands lie: wgmma takes those of one and of four bytes
   only with K contiguous. */
#if ELEMENT_BYTES == 1
#define MMA_K       32
#define MMA_LAYOUTS ""
#elif ELEMENT_BYTES == 4
#define MMA_K       8
#define MMA_LAYOUTS ""
#else
#define MMA_K       16
#define MMA_LAYOUTS ", " TEXT(X_LAYOUT) ", " TEXT(Y_LAYOUT)
#endif

/* heart: begin */
/* Computes d (+)= X * Y for one 64 x WGMMA_N x MMA_K step; add = 0 overwrites d. X_LAYOUT and
   Y_LAYOUT are 1 for an operand whose contiguous direction is not K. */
DEVICE void mma(float d[WGMMA_N / 2], u64 x, u64 y, int add)
{
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, " JOIN(
            MMA_ADD_,
            WGMMA_N) ", 0;\n"
                   "wgmma.mma_async.sync.aligned.m64n" TEXT(WGMMA_N) "k" TEXT(
                       MMA_K) ".f32" MMA_TYPE
                              " {" JOIN(MMA_REGS_, WGMMA_N) "}, " JOIN(MMA_X_, WGMMA_N) ", " JOIN(
                                  MMA_Y_, WGMMA_N) ", p, 1, 1" MMA_LAYOUTS ";\n}\n"
        : JOIN(MMA_OUT_, WGMMA_N)
        : "l"(x), "l"(y), "r"(add));
}
/* heart: end */

#if ELEMENT_BYTES == 4
/* Computes the same with X in registers: of the warp's 16 rows, a lane has rows lane / 4 and
   lane / 4 + 8 at lane % 4 along K, then both at lane % 4 + 4. */
DEVICE void mma_registers(float d[MMA_N / 2], const u32 x[4], u64 y, int add)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " JOIN(MMA_X_, MMA_N) ", 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n" TEXT(MMA_N) "k" TEXT(MMA_K) ".f32" MMA_TYPE
                 " {" JOIN(MMA_REGS_, MMA_N) "}, " JOIN(MMA_FOUR_, MMA_N) ", " JOIN(MMA_Y_, MMA_N)
                 ", p, 1, 1;\n}\n"
                 : JOIN(MMA_OUT_, MMA_N)
                 : "r"(add), "l"(y), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]));
}
#endif

DEVICE void mma_fence(void)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

DEVICE void mma_commit(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

#define MMA_WAIT(pending)                                                                          \
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory")

/* Returns the matrix descriptor of a tile with 128-byte swizzle: address, bytes between blocks of
   64 (used only if K is not contiguous), 1024 bytes between groups of 8 rows. */
DEVICE u64 mma_descriptor(u32 address, u32 block_bytes)
{
    return (u64)((address & 0x3ffffu) >> 4) | (u64)(block_bytes >> 4) << 16 |
           (u64)(1024 >> 4) << 32 | (u64)1 << 62;
}

DEVICE u32 shared_address(const void *p)
{
    return (u32)__cvta_generic_to_shared(p);
}

DEVICE void barrier_init(u32 barrier, u32 count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count));
}

DEVICE void barrier_expect(u32 barrier, u32 bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

DEVICE void barrier_arrive(u32 barrier)
{
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/* Arrives at the same barrier of another block of the cluster. It does not use .release.cluster,
   which compiles to a fence of the whole device at every slot and costs a third of the speed. It
   need not, because nothing was written. */
DEVICE void barrier_arrive_remote(u32 barrier, u32 rank)
{
    asm volatile("{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];\n}\n" ::"r"(barrier),
                 "r"(rank)
                 : "memory");
}

DEVICE void barrier_wait(u32 barrier, u32 parity)
{
    asm volatile("{\n.reg .pred done;\nagain:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n}\n" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

/* Copies four bytes from global to shared memory, without waiting for them. */
DEVICE void copy_word(u32 to, const void *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}

/* Arrives at the barrier when this thread's copies so far have arrived. */
DEVICE void copies_arrive(u32 barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

/* Synchronises some of the block's warps; ids are 1 to 15. */
DEVICE void named_sync(int id, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

DEVICE void named_arrive(int id, int threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/* Synchronise all threads of the cluster. cluster_sync makes earlier writes visible to all, which
   costs a fence of the whole device; cluster_meet only waits. */
DEVICE void cluster_sync(void)
{
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
}

/* The two halves of waiting for all threads of the cluster, without a fence. The threads of a warp
   may arrive and wait separately. */
DEVICE void cluster_arrive(void)
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

DEVICE void cluster_wait(void)
{
    asm volatile("barrier.cluster.wait;" ::: "memory");
}

DEVICE void cluster_meet(void)
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::
                     : "memory");
}

/* Returns true in one thread of a warp that is complete here. The compiler then knows that it is
   one thread, and gives the copy engine its operands without a loop over threads. Otherwise each
   request of a tile takes some hundred cycles. */
DEVICE bool elect_one(void)
{
    u32 one;
    asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(one));
    return one != 0;
}

DEVICE u32 cluster_rank(void)
{
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

DEVICE void load_tile(u32 to, const tensor_map *map, u32 barrier, int x, int y, u64 policy)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".L2::cache_hint [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(x), "r"(y), "l"(policy)
                 : "memory");
}

/* Loads the same bytes to the same place of every block in `mask`; they complete each block's
   barrier. */
DEVICE void load_tile_multicast(u32 to, const tensor_map *map, u32 barrier, int x, int y,
                                u64 policy, u32 mask)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster.L2::cache_hint [%0], [%1, {%3, %4}], [%2], %6, %5;" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(x), "r"(y), "l"(policy), "h"((unsigned short)mask)
                 : "memory");
}

DEVICE void prefetch_map(const tensor_map *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/* Prefetches one box into the level 2 cache; nothing signals its arrival. */
DEVICE void prefetch_box(const tensor_map *map, int x, int y)
{
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1, %2}];" ::"l"(map), "r"(x),
                 "r"(y)
                 : "memory");
}

/* Programmatic dependent launch. The next kernel of the stream may begin once all blocks have
   called this or have ended; its blocks wait until this kernel has ended and its writes can be
   seen. Without the launch attribute both functions do nothing. */
DEVICE void let_next_kernel_start(void)
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

DEVICE void wait_for_kernel_before(void)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

DEVICE void store_tile(const tensor_map *map, u32 from, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];\n"
                 "cp.async.bulk.commit_group;" ::"l"(map),
                 "r"(from), "r"(x), "r"(y)
                 : "memory");
}

#define STORE_WAIT(pending)                                                                        \
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory")

/* Makes ordinary stores to shared memory visible to the copy engine. */
DEVICE void fence_async(void)
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

DEVICE u32 pack(float low, float high)
{
    u32 both;
    asm(PACK_OP " %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

#if dtype_is_f16
DEVICE float unpack(unsigned short x)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x));
    return f;
}
#else
DEVICE float unpack(unsigned short x)
{
    return __uint_as_float((u32)x << 16);
}
#endif

#if c_type_is_e4m3
/* Rounds two numbers to e4m3, saturating: `low` to the lower byte. */
DEVICE u32 pack_bytes(float low, float high)
{
    unsigned short both;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(both) : "f"(high), "f"(low));
    return both;
}
#endif

DEVICE void store_matrix(u32 to, u32 a, u32 b, u32 c, u32 d)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
                 "r"(a), "r"(b), "r"(c), "r"(d)
                 : "memory");
}

DEVICE void store_matrix_transposed(u32 to, u32 a, u32 b, u32 c, u32 d)
{
    asm volatile(
        "stmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
        "r"(a), "r"(b), "r"(c), "r"(d)
        : "memory");
}
