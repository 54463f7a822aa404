/* scan_types.c: the types of C, CUDA and OpenCL that arguments and parameters may have. */
#include "problem/source_text.h"
#include "problem/scan_parts.h"

/* Type names of one word, except those of stdint.h, which AKR_DTYPE_MAP has. */
static const struct {
    const char *name;
    ak_dtype dtype;
} types[] = {
    {"float", AK_DTYPE_F32},  {"double", AK_DTYPE_F64},         {"half", AK_DTYPE_F16},
    {"__half", AK_DTYPE_F16}, {"__nv_bfloat16", AK_DTYPE_BF16}, {"nv_bfloat16", AK_DTYPE_BF16},
    {"uchar", AK_DTYPE_U8},   {"ushort", AK_DTYPE_U16},         {"uint", AK_DTYPE_U32},
    {"ulong", AK_DTYPE_U64},  {"size_t", AK_DTYPE_U64},         {"ptrdiff_t", AK_DTYPE_I64}};

static bool type_named(ak_dtype *out, const char *name)
{
    const size_t i = AK_FIND(types, AK_COUNT(types), name, name);
    if (i < AK_COUNT(types)) {
        *out = types[i].dtype;
        return true;
    }
    for (size_t d = 0; d < AK_DTYPE_COUNT; d++) {
        if (!ak_dtype_is_float((ak_dtype)d) && strcmp(ak_dtype_c_type((ak_dtype)d), name) == 0) {
            *out = (ak_dtype)d;
            return true;
        }
    }
    return false;
}

/* Returns the dtype of whole numbers with this width and sign. */
static ak_dtype whole_of(size_t bytes, bool has_sign)
{
    size_t d = 0;
    ak_dtype_range holds;
    while (ak_dtype_bytes((ak_dtype)d) != bytes || !ak_dtype_holds(&holds, (ak_dtype)d) ||
           (holds.low < 0) != has_sign) {
        d++;
    }
    return (ak_dtype)d;
}

/* Finds what the words of a type mean; returns false for a type that no argument can have. An
   unknown word makes the type unknown: "unsigned thing" is not "unsigned". char is signed, as in
   OpenCL and on x86. */
bool ak_scan_type_of(ak_dtype *out, const char *words)
{
    static const char *const qualifiers[] = {
        "const",  "volatile", "restrict", "__restrict__", "__restrict", "register",
        "global", "__global", "constant", "__constant",   "std",        "__grid_constant__",
        NULL};
    static const char *const numbers[] = {"long", "unsigned", "signed", "int",
                                          "char", "short",    NULL};
    size_t bytes = 4, named = 0, whole = 0;
    bool known = false, has_sign = true;
    while (*(words += strcspn(words, AK_SOURCE_WORD)) != 0) {
        char word[AK_SCAN_NAME];
        size_t length = strspn(words, AK_SOURCE_WORD);
        ak_scan_copy_name(word, words, length);
        words += length;
        if (ak_text_is_one_of(word, numbers)) {
            whole++;
            bytes = word[0] == 'l'               ? 8
                    : word[0] == 'c'             ? 1
                    : strcmp(word, "short") == 0 ? 2
                                                 : bytes;
            has_sign = has_sign && word[0] != 'u';
        } else if (!ak_text_is_one_of(word, qualifiers)) {
            named++;
            known = type_named(out, word);
        }
    }
    if (whole > 0) {
        *out = whole_of(bytes, has_sign);
        return named == 0;
    }
    return named == 1 && known;
}
