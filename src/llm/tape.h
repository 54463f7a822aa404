/*
 * tape.h: a tape keeps the questions to a language model and its answers, so that a run can be
 * repeated without network or cost and with the same result. A recording (recording.h) is something
 * else: it holds the results of measured configurations.
 *
 * A tape is a folder with one file per question, NAME-N.json. NAME is the hash of the canonical
 * question (model, effort, system, messages, schema, array, output limit, seed) without its
 * situation, and N counts a client's equal questions from 0. A file holds the question with its
 * situation, and the answer with its text, reasoning, usage, cost and time. tape.json names the
 * model and the effort. No file holds a key.
 *
 * A file instead of a folder is a script for tests and demonstrations: JSON lines, each an object
 * with at least "text" (a string, or any JSON, which becomes the text). Its answers are given in
 * order, whatever the question.
 */
#ifndef AK_LLM_TAPE_H
#define AK_LLM_TAPE_H

#include "base/hash.h"
#include "llm/provider.h"

typedef struct ak_tape ak_tape;

/* Opens a tape. For reading, `path` must exist; for recording it is created. */
ak_status ak_tape_open(ak_tape **out, const char *path, bool recording, ak_error *err);
void ak_tape_close(ak_tape *tape);
AK_END_AT(ak_tape_close, ak_tape)
/* Returns the recorded model, such as "openai:gpt-5", or "" if the tape names none. */
const char *ak_tape_model(const ak_tape *tape);
const char *ak_tape_effort(const ak_tape *tape);
bool ak_tape_recording(const ak_tape *tape);

/* Builds the canonical question. Its members have a fixed order, so that equal questions have equal
   texts. `model` is the specification, such as "openai:gpt-5". */
json_t *ak_tape_question(const char *model, const char *effort, const ak_llm_chat *chat);
/* Writes the name of a question: its hash, and the number of times that this tape was asked the
   same question before. */
ak_status ak_tape_name(char out[AK_HASH_BYTES + 16], ak_tape *tape, const json_t *question,
                       ak_error *err);

/* Reads the answer of that name (of a script the next answer, whatever the name) into `reply` and
   those members of `out` that a tape keeps (cost, attempts, time). If there is none, a replay of a
   folder takes the answer to a question about the same situation in other words and sets
   out->reworded. Returns AK_NOT_FOUND if there is none either. */
ak_status ak_tape_read(ak_llm_answer *out, ak_reply *reply, ak_tape *tape, const char *name,
                       const json_t *question, ak_error *err);
/* Writes a question and its answer, and tape.json if there is none yet. */
ak_status ak_tape_write(ak_tape *tape, const char *name, const json_t *question,
                        const ak_llm_answer *answer, ak_error *err);

#endif
