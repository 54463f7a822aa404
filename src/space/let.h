/*
 * let.h: reads a "Let" of a space file: a list of named values, each an object with "Name" and
 * "Value". "Launch" and "Rank" have one.
 */
#ifndef AK_SPACE_LET_H
#define AK_SPACE_LET_H

#include "base/json.h"
#include "space/expr.h"

#define AK_LET_MAX AK_EXPR_PARTS_MAX

/* Returns a JSON text as it is, a number as text, and "1" or "0" for true or false; NULL for any
   other value. The result is in `buffer`, static, or borrowed from `value`. */
#define AK_WRITTEN_BYTES 64
const char *ak_written_text(char buffer[AK_WRITTEN_BYTES], const json_t *value);

/* Gives the member "Let" of an object, borrowed, after a check of its length and names; NULL if
   there is none. */
ak_status ak_let_read(json_t **out, const json_t *object, const char *where, ak_error *err);

#endif
