/* scan_types.c: the types of C, CUDA and OpenCL that arguments and parameters may have. */
#include "problem/source_text.h"
#include "problem/scan_parts.h"

static const ak_scan_type types[] = {
    {"int", "i32", "Int32"},         {"long", NULL, "Int64"}, /* ak_scan_type_of knows their places
                                                               */
    {"float", "f32", "Float32"},     {"double", "f64", "Float64"}, {"int32_t", "i32", "Int32"},
    {"uint32_t", "i32", "Int32"},    {"uint", "i32", "Int32"},     {"ulong", NULL, "Int64"},
    {"int64_t", NULL, "Int64"},      {"uint64_t", NULL, "Int64"},  {"size_t", NULL, "Int64"},
    {"ptrdiff_t", NULL, "Int64"},    {"half", "f16", NULL},        {"__half", "f16", NULL},
    {"__nv_bfloat16", "bf16", NULL}, {"nv_bfloat16", "bf16", NULL}};

static const ak_scan_type *type_named(const char *name)
{
    size_t i = AK_FIND(types, AK_COUNT(types), name, name);
    return i < AK_COUNT(types) ? &types[i] : NULL;
}

/* Returns what the words of a type mean; NULL for a type that no argument can have. A word that is
   not known makes the type unknown: "unsigned char" is no "unsigned". */
const ak_scan_type *ak_scan_type_of(const char *words)
{
    static const char *const qualifiers[] = {
        "const",  "volatile", "restrict", "__restrict__", "__restrict", "register",
        "global", "__global", "constant", "__constant",   "std",        "__grid_constant__",
        NULL};
    static const char *const numbers[] = {"long", "unsigned", "signed", "int", NULL};
    const ak_scan_type *found = NULL;
    size_t longs = 0, named = 0, whole = 0;
    while (*(words += strcspn(words, AK_SOURCE_WORD)) != 0) {
        char word[AK_SCAN_NAME];
        size_t length = strspn(words, AK_SOURCE_WORD);
        ak_scan_copy_name(word, words, length);
        words += length;
        if (ak_text_is_one_of(word, numbers)) {
            whole++;
            longs += word[0] == 'l' ? 1 : 0;
        } else if (!ak_text_is_one_of(word, qualifiers)) {
            named++;
            found = type_named(word);
        }
    }
    if (whole == 0) {
        return named == 1 ? found : NULL;
    }
    return named > 0 ? NULL : &types[longs > 0 ? 1 : 0];
}
