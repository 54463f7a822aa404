/* result.h: writes the result of a run over one size or many as the object that `tune --json`
   prints and the archive keeps. Reports and `export --format dispatch` read it (docs/formats.md).
 */
#ifndef AK_TUNER_RESULT_H
#define AK_TUNER_RESULT_H

#include "problem/task.h"

/* Returns a speed with its interval and verdict. Returns JSON's null if it was not measured, and
   NULL if there is no memory. */
json_t *ak_speed_json(const ak_speed *speed);
/* Returns the member "noise" of a comparison, or NULL without memory. */
json_t *ak_noise_json(const ak_noise *noise);
/* Returns the member "llm" of a result. Returns JSON's null if the run had no model, and NULL if
   there is no memory. */
json_t *ak_llm_use_json(const ak_llm_use *use);

/* Returns the result of a run over many sizes, or NULL without memory. */
json_t *ak_sizes_to_json(const ak_sizes_result *result);

#endif
