/* exhaustive.c: proposes every configuration that was not observed yet, in the order of the
   space. */
#include "strategy/strategy.h"

#include "base/map.h"

typedef struct exhaustive {
    ak_strategy base;
    const ak_space *space;
    uint64_t next;
    ak_set *skip; /* indices from `next` on that were observed without being proposed */
} exhaustive;

static void close_exhaustive(ak_strategy *strategy)
{
    ak_set_free(((exhaustive *)strategy)->skip);
}

static ak_status open_exhaustive(ak_strategy *strategy, const ak_strategy_context *context,
                                 ak_error *err)
{
    exhaustive *self = (exhaustive *)strategy;
    self->space = context->space;
    self->skip = ak_set_new();
    return ak_made(self->skip, err);
}

static ak_status propose_exhaustive(ak_proposal *out, bool *found, ak_strategy *strategy,
                                    ak_error *err)
{
    (void)err;
    exhaustive *self = (exhaustive *)strategy;
    while (ak_set_has(self->skip, self->next)) {
        self->next++;
    }
    *out = (ak_proposal){0};
    *found = self->next < ak_space_count(self->space);
    if (*found) {
        ak_space_at(&out->config, self->space, self->next++);
    }
    return AK_OK;
}

static ak_status observe_exhaustive(ak_strategy *strategy, const ak_observation *observation,
                                    ak_error *err)
{
    exhaustive *self = (exhaustive *)strategy;
    uint64_t index;
    return !ak_space_find(&index, self->space, observation->config) || index < self->next
               ? AK_OK
               : ak_set_add(NULL, self->skip, index, err);
}

const ak_strategy_ops ak_strategy_exhaustive = {
    .name = "exhaustive",
    .description = "every configuration, in order: for small spaces",
    .bytes = sizeof(exhaustive),
    .open = open_exhaustive,
    .propose = propose_exhaustive,
    .observe = observe_exhaustive,
    .close = close_exhaustive,
    .thorough = true,
};
