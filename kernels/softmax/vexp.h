/*
 * vexp.h: exp of a vector, for softmax and for the activations of matmul_act. It needs vector.h.
 *
 * exp(x) = 2^n * exp(r) with n = round(x / ln 2), so that |r| <= ln(2)/2. exp(r) is a polynomial
 * of degree 6, fitted to a relative error of 8e-9, an eighth of half a unit in the last place.
 * The result is within 2 units in the last place if it is a normal number. It is 0 if it would
 * be denormal (x below -87.33) or x is -inf, and NaN for NaN.
 */
#ifndef AK_VEXP_H
#define AK_VEXP_H

#define VEXP_LOWEST (-87.33654f) /* the smallest x whose exponential is a normal number; there n =
                                    -126 */
#define VEXP_HIGHEST 88.376f     /* beyond it n is 128, and 2^128 is not a float */

/* Returns exp(x) for x <= VEXP_HIGHEST. */
AK_INLINE vec vec_exp_bounded(vec x)
{
    /* The order of operands matters here and in vec_exp, so that a NaN in x passes through. */
    const vec bounded = vec_max(vec_splat(VEXP_LOWEST), x);

    /* Adding 1.5 * 2^23 rounds to the nearest integer, which is then in the low bits. */
    const vec magic = vec_splat(12582912.0f);
    const vec shifted = bounded * vec_splat(1.44269504f) + magic;
    const vec n = shifted - magic;
    const vec power = (vec)(((ivec)shifted - (ivec)magic + 127) << 23);

    /* ln 2 is split in two: n times the first part is exact because |n| is less than 2^8. */
    const vec r = (bounded - n * vec_splat(0.693359375f)) - n * vec_splat(-2.12194440e-4f);

    vec p = vec_splat(0.00139262508f);
    p = p * r + vec_splat(0.00836323288f);
    p = p * r + vec_splat(0.0416665542f);
    p = p * r + vec_splat(0.166665767f);
    p = p * r + vec_splat(0.5f);
    p = p * r + vec_splat(1.0f);
    p = p * r + vec_splat(1.0f);

    return (vec)((ivec)(p * power) & ~(x < vec_splat(VEXP_LOWEST)));
}

/* Returns exp(x) for any x. Beyond VEXP_HIGHEST it stays at 2.4e38 instead of growing to
   infinity. */
AK_INLINE vec vec_exp(vec x)
{
    return vec_exp_bounded(vec_min(vec_splat(VEXP_HIGHEST), x));
}

#endif
