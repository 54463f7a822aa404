#include "backend/host/host_runner.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

void ak_host_forget_stack(void)
{
    unsigned char below[1024];
    memset(below, 0, sizeof below);
    __asm__ volatile("" : : "r"(below) : "memory");
}

#if defined(__x86_64__)

/* This mode rounds to nearest, keeps denormals and traps no exception; its flags say that none has
   happened. */
#define MXCSR_USUAL   0x1f80u
#define CONTROL_USUAL 0x37fu /* the same in the control word of x87, which has no flags */

static struct {
    int avx, avx512, segments, keys, tiles;
    uint32_t rights; /* of memory keys when the process began */
} has;

static uint32_t key_rights(void)
{
    uint32_t low, high;
    __asm__ volatile("rdpkru" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

void ak_host_forget_prepare(int tiles)
{
    /* OSPKE is a bit of ecx of CPUID's leaf 7. */
    enum { OSPKE = 1 << 4, AT_HWCAP2_FSGSBASE = 1 << 1 };
    unsigned eax, ebx, ecx = 0, edx;
    has.avx = __builtin_cpu_supports("avx") != 0;
    has.avx512 = __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
    has.segments = (getauxval(AT_HWCAP2) & AT_HWCAP2_FSGSBASE) != 0;
    has.keys = __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ecx & OSPKE) != 0;
    has.tiles = tiles;
    has.rights = has.keys ? key_rights() : 0;
}

static void clear_vectors(void)
{
    if (has.avx) {
        __asm__ volatile("vzeroall"
                         :
                         :
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                           "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
    } else {
        __asm__ volatile("xorps %%xmm0, %%xmm0; xorps %%xmm1, %%xmm1; xorps %%xmm2, %%xmm2;"
                         "xorps %%xmm3, %%xmm3; xorps %%xmm4, %%xmm4; xorps %%xmm5, %%xmm5;"
                         "xorps %%xmm6, %%xmm6; xorps %%xmm7, %%xmm7; xorps %%xmm8, %%xmm8;"
                         "xorps %%xmm9, %%xmm9; xorps %%xmm10, %%xmm10; xorps %%xmm11, %%xmm11;"
                         "xorps %%xmm12, %%xmm12; xorps %%xmm13, %%xmm13; xorps %%xmm14, %%xmm14;"
                         "xorps %%xmm15, %%xmm15"
                         :
                         :
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                           "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
    }
    if (has.avx512) { /* 128-bit instructions clear whole registers and do not lower the clock */
        __asm__ volatile("vpxord %%xmm16, %%xmm16, %%xmm16; vpxord %%xmm17, %%xmm17, %%xmm17;"
                         "vpxord %%xmm18, %%xmm18, %%xmm18; vpxord %%xmm19, %%xmm19, %%xmm19;"
                         "vpxord %%xmm20, %%xmm20, %%xmm20; vpxord %%xmm21, %%xmm21, %%xmm21;"
                         "vpxord %%xmm22, %%xmm22, %%xmm22; vpxord %%xmm23, %%xmm23, %%xmm23;"
                         "vpxord %%xmm24, %%xmm24, %%xmm24; vpxord %%xmm25, %%xmm25, %%xmm25;"
                         "vpxord %%xmm26, %%xmm26, %%xmm26; vpxord %%xmm27, %%xmm27, %%xmm27;"
                         "vpxord %%xmm28, %%xmm28, %%xmm28; vpxord %%xmm29, %%xmm29, %%xmm29;"
                         "vpxord %%xmm30, %%xmm30, %%xmm30; vpxord %%xmm31, %%xmm31, %%xmm31;"
                         "kxorq %%k0, %%k0, %%k0; kxorq %%k1, %%k1, %%k1; kxorq %%k2, %%k2, %%k2;"
                         "kxorq %%k3, %%k3, %%k3; kxorq %%k4, %%k4, %%k4; kxorq %%k5, %%k5, %%k5;"
                         "kxorq %%k6, %%k6, %%k6; kxorq %%k7, %%k7, %%k7"
                         :
                         :
                         :
#ifdef __AVX512F__
                         "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23",
                         "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31",
                         "k1", "k2", "k3", "k4", "k5", "k6", "k7",
#endif
                         "cc");
    }
}

/* Sets the segment selectors to 0, as in a new process; 64-bit code uses none of them. Loading FS
   clears its base, by which the C library finds the thread, so the base is saved and written back.
   Without instructions for that FS is left: a candidate that had changed it would have crashed. */
static void forget_selectors(void)
{
    uint32_t ds, es, fs, gs;
    __asm__ volatile("movl %%ds, %0; movl %%es, %1; movl %%fs, %2; movl %%gs, %3"
                     : "=r"(ds), "=r"(es), "=r"(fs), "=r"(gs));
    if (ds != 0) {
        __asm__ volatile("movl %0, %%ds" : : "r"(0));
    }
    if (es != 0) {
        __asm__ volatile("movl %0, %%es" : : "r"(0));
    }
    if (gs != 0) {
        __asm__ volatile("movl %0, %%gs" : : "r"(0));
    }
    if (fs != 0 && has.segments) {
        uint64_t base;
        __asm__ volatile("rdfsbase %0; movl %1, %%fs; wrfsbase %0" : "=&r"(base) : "r"(0));
    }
}

void ak_host_forget(void)
{
    static const float zero = 0;
    errno = 0;
    clear_vectors();
    /* Empty x87 registers keep their contents, so these are overwritten. */
    __asm__ volatile("pxor %%mm0, %%mm0; pxor %%mm1, %%mm1; pxor %%mm2, %%mm2; pxor %%mm3, %%mm3;"
                     "pxor %%mm4, %%mm4; pxor %%mm5, %%mm5; pxor %%mm6, %%mm6; pxor %%mm7, %%mm7;"
                     "emms"
                     :
                     :
                     : "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)");
    /* fninit takes 45 ns, so it is used only if a status or another mode is left. */
    uint16_t status, control;
    __asm__ volatile("fnstsw %0; fnstcw %1" : "=a"(status), "=m"(control));
    if (status != 0 || control != CONTROL_USUAL) {
        __asm__ volatile("fninit");
    }
    /* fnstenv shows the last x87 instruction and its operand, which are these from now on. */
    __asm__ volatile("flds %0; fstp %%st(0)" : : "m"(zero) : "st");
    __builtin_ia32_ldmxcsr(MXCSR_USUAL);
    forget_selectors(); /* before the base of GS is set, which a new selector may change */
    if (has.segments) {
        __asm__ volatile("wrgsbase %0" : : "r"(UINT64_C(0)));
    }
    if (has.keys && key_rights() != has.rights) {
        __asm__ volatile("wrpkru" : : "a"(has.rights), "c"(0), "d"(0) : "memory");
    }
    if (has.tiles) {
        __asm__ volatile(".byte 0xc4, 0xe2, 0x78, 0x49, 0xc0"); /* tilerelease */
    }
}

#elif defined(__aarch64__)

static int has_predicates; /* the Scalable Vector Extension */

void ak_host_forget_prepare(int tiles)
{
    enum { AT_HWCAP_SVE = 1 << 22 };
    (void)tiles;
    has_predicates = (getauxval(AT_HWCAP) & AT_HWCAP_SVE) != 0;
}

static void clear_predicates(void)
{
    __asm__ volatile(".arch_extension sve;"
                     "pfalse p0.b; pfalse p1.b; pfalse p2.b; pfalse p3.b; pfalse p4.b;"
                     "pfalse p5.b; pfalse p6.b; pfalse p7.b; pfalse p8.b; pfalse p9.b;"
                     "pfalse p10.b; pfalse p11.b; pfalse p12.b; pfalse p13.b; pfalse p14.b;"
                     "pfalse p15.b; setffr;"
                     ".arch_extension nosve"
                     :
                     :
                     :
#ifdef __ARM_FEATURE_SVE
                     "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11",
                     "p12", "p13", "p14", "p15", "ffr",
#endif
                     "memory");
}

void ak_host_forget(void)
{
    errno = 0;
    /* The lower halves of v8 to v15 belong to the caller; writing them clears the bits above. */
    __asm__ volatile(
        "fmov d8, d8; fmov d9, d9; fmov d10, d10; fmov d11, d11; fmov d12, d12; fmov d13, d13;"
        "fmov d14, d14; fmov d15, d15;"
        "msr fpsr, xzr; movi v0.2d, #0; movi v1.2d, #0; movi v2.2d, #0; movi v3.2d, #0;"
        "movi v4.2d, #0; movi v5.2d, #0; movi v6.2d, #0; movi v7.2d, #0; movi v16.2d, #0;"
        "movi v17.2d, #0; movi v18.2d, #0; movi v19.2d, #0; movi v20.2d, #0; movi v21.2d, #0;"
        "movi v22.2d, #0; movi v23.2d, #0; movi v24.2d, #0; movi v25.2d, #0; movi v26.2d, #0;"
        "movi v27.2d, #0; movi v28.2d, #0; movi v29.2d, #0; movi v30.2d, #0; movi v31.2d, #0"
        :
        :
        : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20", "v21",
          "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
    if (has_predicates) {
        clear_predicates();
    }
}

#else

void ak_host_forget_prepare(int tiles)
{
    (void)tiles;
}

void ak_host_forget(void)
{
    errno = 0;
}

#endif
