/*
 * opencl_activation.cl: the epilogue of matmul_act for ../matmul/opencl.cl. The problem's options
 * choose it by the macros activation_is_..., bias_is_... and residual_is_... All activations let a
 * NaN pass.
 */
#if bias_is_add
#define HAS_BIAS 1
#endif
#if residual_is_add
#define HAS_RESIDUAL 1
#endif

#define EPILOGUE(x) activation(x)

float activation(float x)
{
#if activation_is_relu
    return x < 0 ? 0 : x;
#elif activation_is_leaky_relu
    return x < 0 ? 0.01f * x : x;
#elif activation_is_gelu_tanh
    /* 0.5 x (1 + tanh u) = x / (1 + exp(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3): nothing cancels
       where tanh approaches -1. */
    return x / (1 + exp(x * (x * x * -0.0713548163f - 1.5957691216f)));
#elif activation_is_gelu_erf
    return 0.5f * x * erfc(x * -0.7071067812f);
#elif activation_is_silu
    return x / (1 + exp(-x));
#else
    return x;
#endif
}
