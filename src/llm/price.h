/* price.h: finds what tokens cost: the list prices of prices.def, which the user's own file
   overrides. */
#ifndef AK_LLM_PRICE_H
#define AK_LLM_PRICE_H

#include "llm/provider.h"

/* Above this many prompt tokens some models cost more than their list price. */
#define AK_PRICE_PROMPT_TOKENS_MAX 200000

/* Prices in dollars per million tokens. */
typedef struct ak_price {
    bool known;
    double input, cached_input, cache_write, output;
    char date[12]; /* date of the list price; "" for the user's own and for local models */
} ak_price;

/* Finds the price of a model. `file` may be NULL; it holds {"openai:gpt-5": {"input": 1.25,
   "cached_input": 0.125, "output": 10}, ...} in dollars per million tokens. '*' in a name stands
   for any text, and the first match counts. */
ak_status ak_price_find(ak_price *out, const ak_provider *provider, const char *model,
                        const char *file, ak_error *err);
double ak_price_of(const ak_price *price, const ak_llm_usage *usage);
/* Returns an upper bound on the cost of a call with these numbers of prompt and output tokens. */
double ak_price_worst(const ak_price *price, size_t prompt_tokens, int output_tokens);

#endif
