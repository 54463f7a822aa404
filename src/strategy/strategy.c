/* strategy.c: the table of strategies. */
#include "strategy/strategy.h"

#include <string.h>

#include "base/buf.h"

const ak_strategy_ops *const ak_strategies[] = {
#define X(name) &ak_strategy_##name,
#include "strategy/strategies.def"
#undef X
    NULL,
};

ak_status ak_strategy_find(const ak_strategy_ops **out, const char *name, ak_error *err)
{
    for (size_t i = 0; ak_strategies[i] != NULL; i++) {
        if (strcmp(ak_strategies[i]->name, name) == 0) {
            *out = ak_strategies[i];
            return AK_OK;
        }
    }
    ak_buf known = AK_BUF(256);
    for (size_t i = 0; ak_strategies[i] != NULL; i++) {
        ak_buf_print(&known, "%s%s", i == 0 ? "" : ", ", ak_strategies[i]->name);
    }
    ak_status status = ak_fail(
        err, AK_NOT_FOUND, "there is no strategy \"%.80s\"; choose one of: %s", name, known.data);
    ak_buf_free(&known);
    return status;
}
