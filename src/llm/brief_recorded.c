/* brief_recorded.c: finds out by a sample whether a recording lacks configurations that fulfil its
   conditions. If it holds only a part, a proposal may fulfil all conditions and still be
   refused. */
#include "llm/brief.h"

/* Number of neighbours of recorded configurations that are tried. They are drawn with a fixed seed,
   so that the same recording gives the same text. */
#define TRIES 400
#define SEED  1

/* Returns true if a configuration fulfils all conditions. A condition that cannot be evaluated
   counts as not fulfilled, so that it is no evidence that the recording is incomplete. */
static bool keeps_all(const ak_brief *brief, const ak_config *config)
{
    const ak_space *space = brief->space;
    AK_AT_END(ak_scope_free_at) ak_scope *scope = ak_scope_new(brief->constants);
    bool keeps = scope != NULL && ak_config_scope(scope, space, config, NULL) == AK_OK;
    for (size_t i = 0; keeps && i < ak_space_condition_count(space); i++) {
        bool kept = false;
        keeps =
            ak_expr_bool(&kept, ak_space_condition(space, i), scope, "condition", NULL) == AK_OK &&
            kept;
    }
    return keeps;
}

bool ak_brief_is_part(const ak_brief *brief)
{
    const ak_space *space = brief->space;
    ak_rng rng;
    bool part = false;
    ak_rng_seed(&rng, SEED);
    for (int i = 0; i < TRIES && !part && ak_space_is_listed(space); i++) {
        ak_config config;
        ak_space_sample(&config, space, &rng);
        const size_t p = (size_t)ak_rng_below(&rng, ak_space_parameter_count(space));
        const size_t value = (size_t)ak_rng_below(&rng, ak_space_parameter(space, p)->value_count);
        config.at[p] = (uint16_t)value;
        part = ak_space_occurs(space, p, value) && !ak_space_has(space, &config) &&
               keeps_all(brief, &config);
    }
    return part;
}
