/* host_baseline.c: the table of baselines. */
#include "backend/host/host_baseline.h"

#include <string.h>

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

bool ak_baseline_applies(const ak_baseline_ops *ops, const char *problem, ak_dtype dtype)
{
    const char *const *problems = dtype == AK_DTYPE_F32    ? ops->problems
                                  : dtype == AK_DTYPE_BF16 ? ops->bf16
                                                           : NULL;
    return problems != NULL && ak_text_is_one_of(problem, problems);
}
