/* price.h: what tokens cost: the list prices of prices.def, and the user's own file over them. */
#ifndef AK_LLM_PRICE_H
#define AK_LLM_PRICE_H

#include "llm/provider.h"

/* Beyond this many prompt tokens some models cost more than their list price says. */
#define AK_PRICE_PROMPT_TOKENS_MAX 200000

/* Dollars for a million tokens. */
typedef struct ak_price {
    bool known;
    double input, cached_input, cache_write, output;
    char date[12]; /* when it was read; "" of the user's own and of local models */
} ak_price;

/* `file` may be NULL: {"openai:gpt-5": {"input": 1.25, "cached_input": 0.125, "output": 10}, ...},
   dollars for a million tokens, '*' in a name stands for anything, the first match counts. */
ak_status ak_price_find(ak_price *out, const ak_provider *provider, const char *model,
                        const char *file, ak_error *err);
double ak_price_of(const ak_price *price, const ak_llm_usage *usage);
/* No call with this many bytes of prompt tokens and output tokens costs more. */
double ak_price_worst(const ak_price *price, size_t prompt_tokens, int output_tokens);

/* Does the text match the pattern, in which '*' stands for anything? */
bool ak_llm_glob(const char *pattern, const char *text);

#endif
