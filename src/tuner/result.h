/* result.h: the outcome of a run as the object that `tune --json` prints and the archive keeps. */
#ifndef AK_TUNER_RESULT_H
#define AK_TUNER_RESULT_H

#include "base/json.h"
#include "problem/task.h"

/* The member "llm" of a result: what a language model was asked, and what that cost. */
typedef struct ak_llm_use {
    const char *model; /* NULL: none was asked, which is null */
    size_t calls, failed;
    int64_t input_tokens, output_tokens;
    bool priced;
    double cost_usd;
} ak_llm_use;
/* NULL: no memory. */
json_t *ak_llm_use_json(const ak_llm_use *use);

/* ak_tune_result_json is in autokernel.h. A contestant as JSON, for compare and bench: */
json_t *ak_contestant_json(const ak_contestant *contestant, const ak_space *space);

#endif
