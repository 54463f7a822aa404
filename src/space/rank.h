/*
 * rank.h: evaluates the "Rank" of a space file or a recording, which says how fast the kernel's
 * author expects a configuration to be.
 *
 * The expression predicts the time of a configuration, up to a constant factor, from its
 * parameters, the sizes and the device facts. So a kernel's models of registers and caches are in
 * its own space file. A rank is passed as a text: the expression, or the JSON of an object with
 * named parts ("Let") and the expression over them ("Value").
 */
#ifndef AK_SPACE_RANK_H
#define AK_SPACE_RANK_H

#include "space/space.h"

/* Gives the rank in the member `key` of an object as a text, which the caller frees with ak_free;
   NULL if there is none. Returns AK_INVALID if the member is neither a text nor an object, or if it
   cannot be parsed. */
ak_status ak_rank_text(char **out, const json_t *object, const char *key, const char *where,
                       ak_error *err);
/* Sets *out to whether every name that the rank reads is a parameter of the space or a constant,
   and no part has the name of one. Returns AK_INVALID if the text cannot be parsed. */
ak_status ak_rank_known(bool *out, const ak_space *space, const ak_scope *constants,
                        const char *text, const char *where, ak_error *err);

typedef struct ak_rank ak_rank;

/* Opens the rank of a space. *out is NULL if `text` is NULL. Returns AK_INVALID if the text cannot
   be parsed, reads an unknown name or has a part with the name of a parameter or constant; `where`
   begins the message. `space` and `constants` must outlive the rank. */
ak_status ak_rank_open(ak_rank **out, const ak_space *space, const ak_scope *constants,
                       const char *text, const char *where, ak_error *err);
void ak_rank_close(ak_rank *rank);
AK_END_AT(ak_rank_close, ak_rank)
/* Returns the natural logarithm of the expected time; 0 if `rank` is NULL. It is HUGE_VAL if the
   expression fails (a division by zero) or does not give a positive number. */
double ak_rank_log(ak_rank *rank, const ak_config *config);

#endif
