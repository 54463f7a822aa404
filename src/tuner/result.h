/* result.h: the outcome of a run as the object that `tune --json` prints and the archive keeps. */
#ifndef AK_TUNER_RESULT_H
#define AK_TUNER_RESULT_H

#include "base/json.h"
#include "problem/task.h"

/* ak_tune_result_json is in autokernel.h. A contestant as JSON, for compare and bench: */
json_t *ak_contestant_json(const ak_contestant *contestant, const ak_space *space);

#endif
