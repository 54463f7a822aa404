#include "base/base64.h"

#include <stdint.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void ak_base64_write(ak_buf *out, const void *bytes, size_t length)
{
    const unsigned char *in = bytes;
    for (size_t i = 0; i < length; i += 3) {
        size_t count = length - i < 3 ? length - i : 3;
        uint32_t group = (uint32_t)in[i] << 16 | (count > 1 ? (uint32_t)in[i + 1] << 8 : 0) |
                         (count > 2 ? in[i + 2] : 0);
        char text[4] = {digits[group >> 18], digits[group >> 12 & 63],
                        count > 1 ? digits[group >> 6 & 63] : '=',
                        count > 2 ? digits[group & 63] : '='};
        ak_buf_append(out, text, sizeof text);
    }
}

/* Writes the value of each character: 0 to 63, or 64 for one that base64 does not use. */
static void make_values(unsigned char values[256])
{
    memset(values, 64, 256);
    for (unsigned char i = 0; i < 64; i++) {
        values[(unsigned char)digits[i]] = i;
    }
}

bool ak_base64_read(ak_buf *out, const char *text, size_t length)
{
    unsigned char values[256];
    make_values(values);
    size_t pad = 0;
    while (pad < 2 && pad < length && text[length - 1 - pad] == '=') {
        pad++;
    }
    for (size_t i = 0; i < length - pad; i++) {
        if (values[(unsigned char)text[i]] == 64) {
            return false;
        }
    }
    if (length % 4 != 0) {
        return false;
    }
    for (size_t i = 0; i < length; i += 4) {
        uint32_t group = 0;
        for (size_t k = 0; k < 4; k++) {
            group = group << 6 | (values[(unsigned char)text[i + k]] & 63u);
        }
        const unsigned char bytes[3] = {(unsigned char)(group >> 16), (unsigned char)(group >> 8),
                                        (unsigned char)group};
        ak_buf_append(out, bytes, i + 4 == length ? 3 - pad : 3);
    }
    return true;
}
