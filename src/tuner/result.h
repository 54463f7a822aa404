/* result.h: writes the result of a run as the object that `tune --json` prints and the archive
   keeps. */
#ifndef AK_TUNER_RESULT_H
#define AK_TUNER_RESULT_H

#include "base/json.h"
#include "problem/task.h"

/* The member "llm" of a result: the calls of a language model and their cost. */
typedef struct ak_llm_use {
    const char *model; /* NULL if none was asked; the member is null then */
    size_t calls, failed;
    int64_t input_tokens, output_tokens;
    bool priced;
    double cost_usd;
} ak_llm_use;
/* Returns a speed with its interval and verdict; null if it was not measured, NULL without
   memory. */
json_t *ak_speed_json(const ak_speed *speed);
/* Returns NULL without memory. */
json_t *ak_llm_use_json(const ak_llm_use *use);

#endif
