/*
 * matmul_act, host implementations: C[M,N] = activation(alpha * A[M,K] * B[K,N] + beta * C_in[M,N]
 * + bias[N]) + residual[M,N].
 *
 * The product is that of matmul: gemm.h in single precision (host.json), gemm_amx.h in bf16 with AMX
 * (host_amx.json). activation.h has the epilogue that it applies to finished tiles. The harness puts
 * both in front of this file (see Include there).
 */
#ifndef bias_is_add
#define bias_is_add 0
#endif
#ifndef residual_is_add
#define residual_is_add 0
#endif

enum { CHOICE_ALPHA = 3, CHOICE_BETA = 4 }; /* in the order of problem.json */

void ak_kernel(const ak_host_call *call)
{
    gemm g = {
        .m = call->size[0],
        .n = call->size[1],
        .k = call->size[2],
        .a = call->arg[0],
        .b = call->arg[1],
        .bias = bias_is_add ? call->arg[2] : NULL,
        .c = call->arg[3],
        .c_in = HAS_BETA ? call->arg[4] : NULL,
        .residual = residual_is_add ? call->arg[5] : NULL,
        .lda = call->pitch[0],
        .ldb = call->pitch[1],
        .ldc = call->pitch[3],
        .alpha = (float)call->number[CHOICE_ALPHA],
        .beta = (float)call->number[CHOICE_BETA],
        .call = call,
    };
    gemm_run(&g);
}
