/* npy.c: see inputs.h. The format:
 * https://numpy.org/doc/stable/reference/generated/numpy.lib.format
 */

#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/text.h"
#include "check/inputs.h"

#define MAGIC       "\x93NUMPY"
#define MAGIC_BYTES 6
#define HEADER_MAX  65536
#define RANK_MAX    32

typedef struct header {
    char kind;    /* 'f', 'i', 'u' or 'b' */
    size_t width; /* bytes of an element */
    size_t rank, extent[RANK_MAX];
    size_t data; /* where the elements begin */
} header;

static ak_status broken(const char *path, const char *what, ak_error *err)
{
    return ak_fail(err, AK_INVALID, "%s: %s", path, what);
}

/* Returns what follows `'key':` in the dictionary, or NULL. */
static const char *value_of(const char *dictionary, const char *key)
{
    const char *at = strstr(dictionary, key);
    at = at == NULL ? NULL : strchr(at, ':');
    return at == NULL ? NULL : at + 1 + strspn(at + 1, " ");
}

static ak_status read_shape(header *h, const char *text, const char *path, ak_error *err)
{
    const char *end = text == NULL || *text != '(' ? NULL : strchr(text, ')');
    if (end == NULL) {
        return broken(path, "its header has no shape", err);
    }
    for (text++; text < end; text += strspn(text, ", ")) {
        size_t digits = strspn(text, "0123456789");
        char number[24];
        int64_t value;
        if (digits == 0 || digits >= sizeof number || h->rank == RANK_MAX) {
            return broken(path, "its shape cannot be read", err);
        }
        memcpy(number, text, digits);
        number[digits] = 0;
        if (!ak_text_int(&value, number)) {
            return broken(path, "its shape cannot be read", err);
        }
        h->extent[h->rank++] = (size_t)value;
        text += digits;
    }
    return AK_OK;
}

static ak_status read_header(header *h, const unsigned char *file, size_t length, const char *path,
                             ak_error *err)
{
    char text[HEADER_MAX + 1];
    size_t at = 8, bytes;
    if (length < 12) {
        return broken(path, "the file ends in its header", err);
    }
    bytes = (size_t)file[8] | (size_t)file[9] << 8;
    at = 10;
    if (file[MAGIC_BYTES] > 1) { /* versions 2 and 3 store the length in 4 bytes instead of 2 */
        bytes |= (size_t)file[10] << 16 | (size_t)file[11] << 24;
        at = 12;
    }
    if (bytes > HEADER_MAX || bytes > length - at) {
        return broken(path, "the file ends in its header", err);
    }
    memcpy(text, file + at, bytes);
    text[bytes] = 0;
    h->data = at + bytes;
    const char *descr = value_of(text, "'descr'"), *order = value_of(text, "'fortran_order'");
    AK_FAIL_IF(descr == NULL || strlen(descr) < 5 || descr[0] != '\'' ||
                   strchr("<|", descr[1]) == NULL || strchr("fiub", descr[2]) == NULL ||
                   strchr("1248", descr[3]) == NULL || descr[4] != '\'' ||
                   (descr[2] == 'f' && descr[3] == '1'),
               err, AK_INVALID,
               "%s: elements of the kind %.*s cannot be read; floats, integers and booleans of "
               "this machine's byte order can",
               path, descr == NULL ? 1 : (int)strcspn(descr, ",}"), descr == NULL ? "?" : descr);
    if (order == NULL || strncmp(order, "False", 5) != 0) {
        return broken(path, "its columns adjoin (fortran_order): save numpy.ascontiguousarray(...)",
                      err);
    }
    h->kind = descr[2];
    h->width = (size_t)(descr[3] - '0');
    return read_shape(h, value_of(text, "'shape'"), path, err);
}

static void shape_text(char *out, size_t bytes, const size_t *extents, size_t rank)
{
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < rank && used < bytes; i++) {
        int wrote = snprintf(out + used, bytes - used, "%s%zu", i == 0 ? "" : " x ", extents[i]);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
}

static ak_status check_shape(const header *h, const ak_npy_array *array, size_t length,
                             const char *path, ak_error *err)
{
    const size_t *extents = array->extents;
    char has[120], wanted[120];
    size_t elements = 1;
    bool same = extents == NULL || h->rank == array->rank;
    for (size_t i = 0; i < h->rank; i++) {
        elements = h->extent[i] != 0 && elements > SIZE_MAX / h->extent[i]
                       ? SIZE_MAX
                       : elements * h->extent[i];
        same = same && (extents == NULL || h->extent[i] == extents[i]);
    }
    shape_text(has, sizeof has, h->extent, h->rank);
    shape_text(wanted, sizeof wanted, extents == NULL ? &array->count : extents,
               extents == NULL ? 1 : array->rank);
    AK_FAIL_IF(!same || elements != array->count, err, AK_INVALID,
               "%s: the array has the shape (%s); (%s) is needed here", path, has, wanted);
    return length - h->data == array->count * h->width
               ? AK_OK
               : broken(path, "the file is not as long as its header says", err);
}

static double element(const unsigned char *at, const header *h)
{
    uint64_t bits = 0;
    double value = 0.0;
    memcpy(&bits, at, h->width); /* little-endian, as every machine that this runs on */
    if (h->kind == 'f') {
        ak_dtype dtype = h->width == 2 ? AK_DTYPE_F16 : h->width == 4 ? AK_DTYPE_F32 : AK_DTYPE_F64;
        ak_inputs_decode(&value, &bits, 1, dtype);
        return value;
    }
    uint64_t sign = UINT64_C(1) << (8 * h->width - 1);
    return h->kind == 'i' && (bits & sign) != 0 ? -(double)((sign << 1) - bits) : (double)bits;
}

ak_status ak_npy_read(double *out, const ak_npy_array *array, const char *path, ak_error *err)
{
    const size_t count = array->count;
    const ak_dtype dtype = array->dtype;
    AK_FREED char *file = NULL;
    size_t length = 0;
    header h = {.kind = 0};
    AK_DO(ak_fs_read(&file, &length, path, AK_DATA_BYTES_MAX, err));
    const unsigned char *bytes = (const unsigned char *)file;
    if (length < MAGIC_BYTES || memcmp(file, MAGIC, MAGIC_BYTES) != 0) {
        AK_FAIL_IF(length != count * ak_dtype_bytes(dtype), err, AK_INVALID,
                   "%s is not a .npy file and has %zu bytes; %zu elements of %s have %zu", path,
                   length, count, ak_dtype_text(dtype), count * ak_dtype_bytes(dtype));
        ak_inputs_decode(out, file, count, dtype);
        return AK_OK;
    }
    AK_DO(read_header(&h, bytes, length, path, err));
    AK_DO(check_shape(&h, array, length, path, err));
    for (size_t i = 0; i < count; i++) {
        out[i] = element(bytes + h.data + i * h.width, &h);
    }
    return AK_OK;
}
