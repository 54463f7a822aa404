/* host_baseline.c: the table of baselines. */
#include "backend/host/host_baseline.h"

#include <string.h>

#include "base/ascii.h"

#define PLAIN_BYTES 80

#define X(name) extern const ak_baseline_ops ak_baseline_##name;
#include "backend/host/baselines.def"
#undef X

const ak_baseline_ops *const ak_baseline_table[] = {
#define X(name) &ak_baseline_##name,
#include "backend/host/baselines.def"
#undef X
    NULL,
};

const ak_baseline_ops *ak_baseline_find(const char **variant, const char *name)
{
    size_t length = strcspn(name, ":");
    for (size_t i = 0; ak_baseline_table[i] != NULL; i++) {
        const char *known = ak_baseline_table[i]->name;
        if (strlen(known) == length && strncmp(known, name, length) == 0) {
            *variant = name[length] == ':' ? name + length + 1 : "";
            return ak_baseline_table[i];
        }
    }
    return NULL;
}

/* Keeps the letters and digits of a text, in lower case. */
static void plain_name(char out[PLAIN_BYTES], const char *text)
{
    size_t length = 0;
    for (; *text != 0 && length + 1 < PLAIN_BYTES; text++) {
        if (ak_ascii_is_letter(*text) || ak_ascii_is_digit(*text)) {
            out[length++] = ak_ascii_lower(*text);
        }
    }
    out[length] = 0;
}

static bool begins_like(const char *plain, const char *known, bool whole)
{
    char other[PLAIN_BYTES];
    plain_name(other, known);
    return strncmp(plain, other, strlen(other)) == 0 && (!whole || strlen(plain) == strlen(other));
}

const char *ak_baseline_resembled(const char *name)
{
    /* libraries that exist only for GPUs */
    static const char *const others[] = {"cuBLAS", "cuDNN"};
    char plain[PLAIN_BYTES];
    plain_name(plain, name);
    for (size_t i = 0; ak_baseline_table[i] != NULL; i++) {
        const ak_baseline_ops *ops = ak_baseline_table[i];
        const bool whole = strchr(ops->title, ' ') != NULL;
        if (begins_like(plain, ops->name, whole) || begins_like(plain, ops->title, whole)) {
            return ops->title;
        }
    }
    for (size_t i = 0; i < AK_COUNT(others); i++) {
        if (begins_like(plain, others[i], false)) {
            return others[i];
        }
    }
    return NULL;
}

bool ak_baseline_applies(const ak_baseline_ops *ops, const char *problem, ak_dtype dtype)
{
    const char *const *problems = dtype == AK_DTYPE_F32    ? ops->problems
                                  : dtype == AK_DTYPE_BF16 ? ops->bf16
                                                           : NULL;
    return problems != NULL && ak_text_is_one_of(problem, problems);
}
