/* e4m3.h: numbers of e4m3: a sign, 4 bits of exponent with a bias of 7, 3 bits of fraction, no
   infinity. */
#ifndef AK_E4M3_H
#define AK_E4M3_H

static inline float e4m3_decoded(int byte)
{
    const int exponent = byte >> 3 & 15, fraction = byte & 7;
    float x = (float)(exponent == 0 ? fraction : 8 + fraction) / 512.0F; /* 2^-9 */
    for (int i = 1; i < exponent; ++i) {
        x *= 2;
    }
    x = (byte & 127) == 127 ? __builtin_nanf("") : x;
    return byte & 128 ? -x : x;
}

#endif
