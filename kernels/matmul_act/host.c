/*
 * matmul_act, host implementation: C[M,N] = activation(A[M,K] * B[K,N] + bias[N]), row-major.
 * The product is matmul's (gemm.h), the epilogue that it applies to finished tiles in activation.h;
 * the harness puts both in front of this file (see Include in host.json).
 */
void ak_kernel(const ak_host_call *call)
{
    gemm g = {
        .m = call->size[0],
        .n = call->size[1],
        .k = call->size[2],
        .a = call->arg[0],
        .b = call->arg[1],
        .bias = call->arg[2],
        .c = call->arg[3],
        .call = call,
    };
    gemm_run(&g);
}
