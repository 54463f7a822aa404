/*
 * cuda_activation.cu: the epilogue of matmul_act on CUDA devices. The problem's options choose
 * it by the macros activation_is_..., bias_is_... and residual_is_... It comes before
 * cuda_gemm_sm90.cu or cuda_async.cu.
 *
 * The main loop leaves little time to hide these functions in, so they consist of single
 * instructions: ex2, rcp and, with FAST_TANH, tanh.approx, whose relative error of 2^-11 is a
 * quarter of bf16's rounding.
 */
#if bias_is_add
#define HAS_BIAS 1
#endif
#if residual_is_add
#define HAS_RESIDUAL 1
#endif

#if activation_is_relu

#define EPILOGUE(x) fmaxf((x), 0.0f)

#elif activation_is_leaky_relu

#define EPILOGUE(x) fmaxf((x), 0.01f * (x))

#elif activation_is_gelu_tanh || activation_is_gelu_erf || activation_is_silu

#ifndef FAST_TANH
#define FAST_TANH 1
#endif

#ifndef SIMT /* tests/simt/simt.h defines these for a CPU */

__device__ __forceinline__ float tanh_fast(float x)
{
    float t;
    asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(x));
    return t;
}

__device__ __forceinline__ float exp2_fast(float x)
{
    float e;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(x));
    return e;
}

__device__ __forceinline__ float reciprocal_fast(float x)
{
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}

#endif

/* x / (1 + exp(-2u)) = x/2 (1 + tanh u) */
__device__ __forceinline__ float gate(float x, float u)
{
#if FAST_TANH
    const float half = 0.5f * x;
    return half * tanh_fast(u) + half;
#else
    return x * reciprocal_fast(1.0f + exp2_fast(u * -2.885390082f)); /* 2 / ln 2 */
#endif
}

#if activation_is_gelu_tanh
#define EPILOGUE(x) gate((x), (x) * (0.7978845608f + 0.0356774081f * (x) * (x)))
#elif activation_is_silu
#define EPILOGUE(x) gate((x), 0.5f * (x))
#else

/* x Phi(x), Phi being the normal distribution. */
__device__ __forceinline__ float gelu_erf(float x)
{
    return 0.5f * x * (1.0f + erff(0.7071067812f * x));
}
#define EPILOGUE(x) gelu_erf(x)
#endif

#endif
