#include "llm/provider.h"

#define DOLLARS_MAX 1e6 /* a higher price per million tokens must be a mistake */

static const struct {
    const char *provider, *model;
    double input, cached_input, cache_write, output;
    const char *date;
} prices[] = {
#define X(provider, model, input, cached, write, output, date, source)                             \
    {#provider, model, input, cached, write, output, date},
#include "llm/prices.def"
#undef X
};

/* Returns true if `name` is the model or a snapshot of it, which has -YYYY-MM-DD or -YYYYMMDD
   appended. */
static bool is_model(const char *name, const char *model)
{
    size_t length = strlen(model);
    if (strncmp(name, model, length) != 0) {
        return false;
    }
    const char *rest = name + length;
    size_t digits = 0;
    if (*rest == 0) {
        return true;
    }
    if (*rest != '-') {
        return false;
    }
    for (; *rest != 0; rest++) {
        if (*rest >= '0' && *rest <= '9') {
            digits++;
        } else if (*rest != '-') {
            return false;
        }
    }
    return digits == 8;
}

static ak_status read_price(ak_price *out, const json_t *entry, const char *where, ak_error *err)
{
    static const char *const keys[] = {"input", "cached_input", "cache_write", "output", NULL};
    double values[4] = {-1, -1, -1, -1};
    AK_DO(json_is_object(entry) ? ak_json_only(entry, keys, where, err)
                                : ak_fail(err, AK_INVALID, "%s: must be an object", where));
    for (int i = 0; i < 4; i++) {
        AK_DO(ak_json_real_or(&values[i], entry, keys[i], -1, where, err));
        bool given = json_object_get(entry, keys[i]) != NULL;
        bool needed = i == 0 || i == 3;
        AK_FAIL_IF((needed && !given) || (given && !(values[i] >= 0 && values[i] <= DOLLARS_MAX)),
                   err, AK_INVALID, "%s: \"%s\" must be dollars for a million tokens, 0 to %g",
                   where, keys[i], DOLLARS_MAX);
    }
    *out = (ak_price){.known = true,
                      .input = values[0],
                      .cached_input = values[1] < 0 ? values[0] : values[1],
                      .cache_write = values[2] < 0 ? values[0] : values[2],
                      .output = values[3]};
    return AK_OK;
}

static ak_status find_in_file(ak_price *out, const char *name, const char *path, ak_error *err)
{
    json_auto_t *document = NULL;
    AK_DO(ak_json_read(&document, path, err));
    AK_FAIL_IF(!json_is_object(document), err, AK_INVALID,
               "%s: must be an object such as {\"openai:gpt-5\": {\"input\": 1.25, "
               "\"output\": 10}}",
               path);
    AK_EACH_MEMBER(key, entry, document) {
        char where[AK_LLM_NAME_MAX + 512];
        ak_price price;
        (void)snprintf(where, sizeof where, "%.400s: \"%.100s\"", path, key);
        /* Checks every entry, so that a mistake shows before its model is used. */
        AK_DO(read_price(&price, entry, where, err));
        if (!out->known && ak_llm_glob(key, name)) {
            *out = price;
        }
    }
    return AK_OK;
}

ak_status ak_price_find(ak_price *out, const ak_provider *provider, const char *model,
                        const char *file, ak_error *err)
{
    char name[2 * AK_LLM_NAME_MAX];
    *out = (ak_price){0};
    (void)snprintf(name, sizeof name, "%s:%s", provider->name, model);
    AK_DO(file == NULL ? AK_OK : find_in_file(out, name, file, err));
    if (out->known) {
        return AK_OK;
    }
    if (provider->free) {
        out->known = true;
        return AK_OK;
    }
    /* The part before '-' is looked up, because "openai-chat" has the models and prices of
       "openai". */
    size_t length = strcspn(provider->name, "-");
    for (size_t i = 0; i < AK_COUNT(prices) && !out->known; i++) {
        if (strlen(prices[i].provider) == length &&
            strncmp(prices[i].provider, provider->name, length) == 0 &&
            is_model(model, prices[i].model)) {
            *out = (ak_price){.known = true,
                              .input = prices[i].input,
                              .cached_input = prices[i].cached_input,
                              .cache_write = prices[i].cache_write,
                              .output = prices[i].output};
            (void)snprintf(out->date, sizeof out->date, "%s", prices[i].date);
        }
    }
    return AK_OK;
}

double ak_price_of(const ak_price *price, const ak_llm_usage *usage)
{
    int64_t plain = usage->input - usage->input_cached - usage->input_written;
    return ((double)(plain < 0 ? 0 : plain) * price->input +
            (double)usage->input_cached * price->cached_input +
            (double)usage->input_written * price->cache_write +
            (double)usage->output * price->output) /
           1e6;
}

double ak_price_worst(const ak_price *price, size_t prompt_tokens, int output_tokens)
{
    double input = price->input > price->cache_write ? price->input : price->cache_write;
    input = input > price->cached_input ? input : price->cached_input;
    return ((double)prompt_tokens * input + (double)output_tokens * price->output) / 1e6;
}
