/*
 * tape.h: recorded answers, so that a study runs again without network, money or surprises.
 *
 * A folder with one file for each question: NAME-N.json, where NAME is the hash of the canonical
 * question (model, effort, system, messages, schema, limits, seed) and N counts equal questions of
 * one client from 0. A file holds the question, for people, and the answer: text, reasoning, usage,
 * cost, time. tape.json names the model. Keys are in none of them.
 *
 * A file instead of a folder is a script: JSON lines, each an object with at least "text" (a text,
 * or any JSON that becomes the text), given in order whatever is asked. For tests and
 * demonstrations.
 */
#ifndef AK_LLM_TAPE_H
#define AK_LLM_TAPE_H

#include "base/hash.h"
#include "llm/provider.h"

typedef struct ak_tape ak_tape;

/* For reading, `path` must be there; for recording it is created. */
ak_status ak_tape_open(ak_tape **out, const char *path, bool recording, ak_error *err);
void ak_tape_close(ak_tape *tape);
/* "openai:gpt-5": what was recorded; "" if nothing says. */
const char *ak_tape_model(const ak_tape *tape);
const char *ak_tape_effort(const ak_tape *tape);
bool ak_tape_recording(const ak_tape *tape);

/* The canonical question. Members have a fixed order, so that equal questions are equal texts. */
json_t *ak_tape_question(const char *model, const char *effort, const ak_llm_chat *chat);
/* Its name, and its number among the equal ones that this tape was asked for before. */
ak_status ak_tape_name(char out[AK_HASH_BYTES + 16], ak_tape *tape, const json_t *question,
                       ak_error *err);

/* The answer of that name into `reply` and the members of `out` that a recording keeps (cost,
   attempts, time). AK_NOT_FOUND if there is none. */
ak_status ak_tape_read(ak_llm_answer *out, ak_reply *reply, ak_tape *tape, const char *name,
                       ak_error *err);
/* `model` is the specification, "openai:gpt-5". */
ak_status ak_tape_write(ak_tape *tape, const char *name, const json_t *question, const char *model,
                        const char *effort, const ak_llm_answer *answer, ak_error *err);

#endif
