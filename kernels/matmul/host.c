/*
 * matmul, host implementation: C[M,N] = A[M,K] * B[K,N], single precision, row-major.
 * The work is in gemm.h, which the harness puts in front of this file (see Include in host.json).
 */
void ak_kernel(const ak_host_call *call)
{
    gemm g = {
        .m = call->size[0],
        .n = call->size[1],
        .k = call->size[2],
        .a = call->arg[0],
        .b = call->arg[1],
        .c = call->arg[2],
        .call = call,
    };
    gemm_run(&g);
}
