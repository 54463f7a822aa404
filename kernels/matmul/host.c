/* matmul, host implementations: C[M,N] = alpha * A[M,K] * B[K,N] + beta * C_in[M,N]. gemm.h does
   the work in single precision (host.json), gemm_amx.h in bf16 with AMX (host_amx.json); the harness
   puts one of them in front of this file (see Include there). */
enum { CHOICE_ALPHA = 1, CHOICE_BETA = 2 }; /* in the order of problem.json */

void ak_kernel(const ak_host_call *call)
{
    gemm g = {
        .m = call->size[0],
        .n = call->size[1],
        .k = call->size[2],
        .a = call->arg[0],
        .b = call->arg[1],
        .c = call->arg[2],
        .c_in = HAS_BETA ? call->arg[3] : NULL,
        .lda = call->pitch[0],
        .ldb = call->pitch[1],
        .ldc = call->pitch[2],
        .alpha = (float)call->number[CHOICE_ALPHA],
        .beta = (float)call->number[CHOICE_BETA],
        .call = call,
    };
    gemm_run(&g);
}
