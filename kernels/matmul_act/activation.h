/* activation.h: the epilogue of matmul_act on vectors. The problem's options choose it by the
   macros activation_is_..., bias_is_... and residual_is_... It needs vector.h and vexp.h and comes
   before gemm.h. No function needs fast-math, and all let a NaN pass. */
#ifndef AK_ACTIVATION_H
#define AK_ACTIVATION_H

#if bias_is_add
#define GEMM_BIAS                  1
#define GEMM_EPILOGUE(value, bias) activation((value) + (bias))
#else
#define GEMM_EPILOGUE(value, bias) activation(value)
#endif

#if residual_is_add
#define GEMM_RESIDUAL 1
#endif

#if activation_is_relu

AK_INLINE vec activation(vec x)
{
    return vec_max((vec){0}, x);
}

#elif activation_is_leaky_relu

AK_INLINE vec activation(vec x)
{
    return vec_max(x * 0.01f, x);
}

#elif activation_is_gelu_tanh

/* 0.5 x (1 + tanh u) = x / (1 + exp(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3): this form has one
   exponential, and no cancellation where tanh approaches -1. */
#define GEMM_EPILOGUE_ROLLED 1
AK_INLINE vec activation(vec x)
{
    const float linear = -1.5957691216f; /* -2 sqrt(2/pi) */
    const float cubic = -0.0713548163f;  /* that times 0.044715 */
    const vec minus_2u = x * (x * x * vec_splat(cubic) + vec_splat(linear));
    return x / (vec_splat(1.0f) + vec_exp(minus_2u));
}

#elif activation_is_gelu_erf

/* x Phi(x) = max(x, 0) - |x| Phi(-|x|): the tail Phi(-|x|) of the normal distribution is computed
   directly, so that nothing cancels for negative x. Phi(-y) = exp(-y^2/2) t Q(t) with t = 1 / (1 +
   0.35 y). Q has degree 8 and was fitted for 0 <= y <= 13.3 (beyond, exp gives 0) to a relative
   error of 4e-8. A larger x counts as 14 in the tail, so that an infinite one, too, has the tail 0
   and not NaN. */
#define GEMM_EPILOGUE_ROLLED 1
AK_INLINE vec activation(vec x)
{
    const vec y = vec_max(-x, vec_min(vec_splat(14.0f), x));
    const vec t = vec_splat(1.0f) / (vec_splat(1.0f) + y * vec_splat(0.35f));
    vec q = vec_splat(-0.0295765432871f);
    q = q * t + vec_splat(0.146069032926f);
    q = q * t + vec_splat(-0.260032900067f);
    q = q * t + vec_splat(0.164063494992f);
    q = q * t + vec_splat(-0.0264226950264f);
    q = q * t + vec_splat(0.106876461647f);
    q = q * t + vec_splat(0.119498141384f);
    q = q * t + vec_splat(0.139905974461f);
    q = q * t + vec_splat(0.139619016408f);
    const vec tail = vec_exp_bounded(y * y * vec_splat(-0.5f)) * t * q;
    return vec_max((vec){0}, x) - y * tail;
}

#elif activation_is_silu

#define GEMM_EPILOGUE_ROLLED 1
AK_INLINE vec activation(vec x)
{
    return x / (vec_splat(1.0f) + vec_exp(-x));
}

#else

AK_INLINE vec activation(vec x)
{
    return x;
}

#endif
#endif
