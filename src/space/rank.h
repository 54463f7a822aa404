/*
 * rank.h: evaluates the "Rank" expression of a space file, which says how fast the kernel's author
 * expects a configuration to be.
 *
 * The expression predicts the time of a configuration, up to a constant factor, from its
 * parameters, the sizes and the device facts. So a kernel's models of registers and caches are in
 * its own space file.
 */
#ifndef AK_SPACE_RANK_H
#define AK_SPACE_RANK_H

#include "space/space.h"

typedef struct ak_rank ak_rank;

/* Opens the rank of a space. *out is NULL if `text` is NULL. Returns AK_INVALID if the text cannot
   be parsed or reads an unknown name; `where` begins the message about a name. `space` and
   `constants` must outlive the rank. */
ak_status ak_rank_open(ak_rank **out, const ak_space *space, const ak_scope *constants,
                       const char *text, const char *where, ak_error *err);
void ak_rank_close(ak_rank *rank);
AK_END_AT(ak_rank_close, ak_rank)
/* Returns the logarithm of the expected time; 0 if `rank` is NULL. It is HUGE_VAL if the expression
   fails (a division by zero) or does not give a positive number. */
double ak_rank_log(ak_rank *rank, const ak_config *config);

#endif
