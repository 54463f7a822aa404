/* provider.c: holds the tables of providers and models, and finds entries in them. */
#include "llm/provider.h"

const ak_provider *const ak_providers[] = {
#define X(name) &ak_provider_##name,
#include "llm/providers.def"
#undef X
    NULL,
};

static const struct {
    const char *provider, *pattern;
    unsigned set;
    int output_tokens_max;
} models[] = {
/* models.def names abilities without their prefix. */
#define SCHEMA            AK_ABILITY_SCHEMA
#define STRICT            AK_ABILITY_STRICT
#define EFFORT            AK_ABILITY_EFFORT
#define ADAPTIVE          AK_ABILITY_ADAPTIVE
#define THINKING          AK_ABILITY_THINKING
#define COMPLETION_TOKENS AK_ABILITY_COMPLETION_TOKENS
#define SEED              AK_ABILITY_SEED
#define STREAM            AK_ABILITY_STREAM
#define STREAM_USAGE      AK_ABILITY_STREAM_USAGE
#define STORE             AK_ABILITY_STORE

#define X(provider, pattern, abilities, output) {#provider, pattern, (unsigned)(abilities), output},
#include "llm/models.def"
#undef X
};

ak_status ak_provider_find(const ak_provider **out, const char *name, size_t length, ak_error *err)
{
    ak_buf known = AK_BUF(512);
    for (size_t i = 0; ak_providers[i] != NULL; i++) {
        const char *candidate = ak_providers[i]->name;
        if (strlen(candidate) == length && strncmp(candidate, name, length) == 0) {
            ak_buf_free(&known);
            *out = ak_providers[i];
            return AK_OK;
        }
        ak_buf_print(&known, "%s, ", candidate);
    }
    ak_status status = ak_fail(err, AK_NOT_FOUND,
                               "there is no provider of language models \"%.*s\"; choose one of: "
                               "%sreplay",
                               (int)(length < 80 ? length : 80), name, known.data);
    ak_buf_free(&known);
    return status;
}

bool ak_llm_glob(const char *pattern, const char *text)
{
    const char *star = NULL, *resume = NULL;
    while (*text != 0) {
        if (*pattern == '*') {
            star = pattern++;
            resume = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star + 1;
            text = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return *pattern == 0;
}

void ak_abilities_find(ak_abilities *out, const ak_provider *provider, const char *model)
{
    *out = (ak_abilities){0};
    for (size_t i = 0; i < AK_COUNT(models); i++) {
        if (strcmp(models[i].provider, provider->name) == 0 &&
            ak_llm_glob(models[i].pattern, model)) {
            *out = (ak_abilities){models[i].set, models[i].output_tokens_max};
            return;
        }
    }
}
