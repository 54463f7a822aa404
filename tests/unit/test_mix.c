/* test_mix.c: tests the analysis of disassembly listings: the hottest loop, the kinds of its
   instructions, and the sentence about it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "backend/mix.h"

/* Two nested loops, and a third behind them with less arithmetic. */
static const char x86[] =
    "\nk.so:     file format elf64-x86-64\n\n\nDisassembly of section .text:\n\n"
    "0000000000001000 <ak_kernel>:\n"
    "    1000:\tpush   %rbp\n"
    "    1001:\tvmovups (%rsi),%zmm3\n"
    "    1008:\tvbroadcastss (%rdi),%zmm2\n"
    "    1010:\tvfmadd231ps %zmm3,%zmm2,%zmm0\n"
    "    1018:\tvfmadd231ps (%rsi,%rax,4),%zmm2,%zmm1\n"
    "    1020:\tvmovaps 0x40(%rsp),%zmm5\n"
    "    1028:\tvpermps %zmm3,%zmm4,%zmm5\n"
    "    1030:\tadd    $0x4,%rdi\n"
    "    1034:\tlea    0x40(%rsi),%rsi\n"
    "    1038:\tcmp    %rdx,(%rcx)\n"
    "    103b:\tjne    1001 <ak_kernel+0x1>\n"
    "    1040:\tvmovups %zmm0,(%r8)\n"
    "    1048:\tdec    %r9\n"
    "    104b:\tjne    1000 <ak_kernel>\n"
    "    1050:\tvaddss 0x10(%rip),%xmm0,%xmm0        # 2000 <ones>\n"
    "    1058:\tjmp    1050 <ak_kernel+0x50>\n"
    "    105a:\tjmp    1100 <elsewhere>\n"
    "    105f:\tret\n";

/* The operand to which the FMA adds is set anew in each turn, so no FMA waits for the one
   before. */
static const char fresh[] = "0000000000001000 <ak_kernel>:\n"
                            "    1000:\tvmulps (%rsi),%ymm3,%ymm1\n"
                            "    1008:\tvfmadd231ps (%rdi),%ymm2,%ymm1\n"
                            "    1010:\tvmovups %ymm1,(%r8)\n"
                            "    1018:\tadd    $0x20,%rsi\n"
                            "    101c:\tjb     1000 <ak_kernel>\n";

static const char arm[] = "0000000000000740 <ak_kernel>:\n"
                          " 740:\tldr\tq1, [x1], #16\n"
                          " 744:\tldr\tq2, [x2], #16\n"
                          " 748:\tfmla\tv0.4s, v1.4s, v2.s[0]\n"
                          " 74c:\tzip1\tv3.4s, v1.4s, v2.4s\n"
                          " 750:\tsubs\tx0, x0, #0x1\n"
                          " 754:\tbl\t900 <other>\n"
                          " 758:\tb.ne\t740 <ak_kernel>  // b.any\n"
                          " 75c:\tstr\tq0, [x3]\n"
                          " 760:\tret\n";

/* A listing as nvdisasm writes it. A multiplication that only loads a constant does not count as
   arithmetic. */
static const char sass[] =
    ".text.k:\n"
    "        /*0000*/                   LDC R1, c[0x0][0x28] ;\n"
    "        /*0010*/               @P0 BRA `(.L_x_0) ;\n"
    "        /*0020*/                   HFMA2.MMA R24, -RZ, RZ, 0, 0 ;\n"
    ".L_x_0:\n"
    ".L_x_2:\n"
    "        /*0030*/                   LDG.E.CONSTANT R21, desc[UR6][R16.64] ;\n"
    "        /*0040*/                   HFMA2.MMA R8, -RZ, RZ, 0, 0 ;\n"
    "        /*0050*/                   STS [R9+UR4], R29 ;\n"
    "        /*0060*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;\n"
    "        /*0070*/                   LDS R23, [R6+UR4] ;\n"
    "        /*0080*/                   LDL R4, [R1] ;\n"
    "        /*0090*/                   FFMA R5, R23, R21, R5 ;\n"
    "        /*00a0*/                   HMMA.16816.F32 R8, R4, R6, R8 ;\n"
    "        /*00b0*/                   SHFL.BFLY PT, R2, R5, 0x1, 0x1f ;\n"
    "        /*00c0*/              @!P0 BRA `(.L_x_2) ;\n"
    "        /*00d0*/                   EXIT ;\n"
    ".L_x_3:\n"
    "        /*00e0*/                   BRA `(.L_x_3);\n";

/* A listing as cuobjdump writes it. */
static const char dumped[] =
    "\t\tFunction : k\n"
    "        /*0000*/                   FADD R1, R1, R2 ;          /* 0x0000000402007221 */\n"
    "                                                              /* 0x001fc80000000000 */\n"
    "        /*0010*/               @P0 BRA 0x0 ;                  /* 0x0000000402007221 */\n";

static void test_listings(void **state)
{
    (void)state;
    static const struct {
        const char *listing;
        bool gpu, found;
        const char *words;
    } rows[] = {
        {x86, false, true,
         "hot loop: 2 FMA of 512 bits, 4 loads, 1 accesses of spilled registers, 1 shuffles, 3 "
         "others; busiest: arithmetic that waits for its few sums (2)"},
        {fresh, false, true,
         "hot loop: 1 FMA of 256 bits, 1 other arithmetic, 2 loads, 1 stores, 2 others; busiest: "
         "the number of instructions"},
        {arm, false, true,
         "hot loop: 1 FMA of 128 bits, 2 loads, 1 shuffles, 3 others; busiest: arithmetic "
         "that waits for its few sums (1)"},
        {sass, true, true,
         "hot loop: 1 matrix products, 1 FMA, 1 loads, 1 loads from shared memory, 1 stores, 1 "
         "accesses of spilled registers, 1 shuffles, 1 barriers, 2 others; busiest: "
         "arithmetic"},
        {dumped, true, true,
         "hot loop: 1 other arithmetic, 1 others; busiest: the number of instructions"},
        {"0000000000001000 <f>:\n    1000:\tret\n", false, false, ""},
        {"", false, false, ""},
        {"no disassembler wrote this\n\n:\n", true, false, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ak_mix mix;
        ak_buf text = AK_BUF(1000);
        assert_int_equal(ak_mix_read(&mix, rows[i].listing, rows[i].gpu), rows[i].found);
        if (rows[i].found) {
            ak_mix_print(&text, &mix);
            assert_string_equal(text.data, rows[i].words);
        }
        ak_buf_free(&text);
    }
    ak_mix mix;
    assert_false(ak_mix_of(&mix, AK_TEST_DATA "/kernels/prompted/host.json"));
    assert_false(ak_mix_of(&mix, AK_TEST_DATA "/nothing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_listings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
