/*
 * space_read.h: the steps by which space_read.c reads one parameter, in this order: its values, its
 * default, how it reaches the compiler, the values that `fix` names, which values are kept, and
 * their order. Arrays belong to space->arena. Internal to space/.
 */
#ifndef AK_SPACE_SPACE_READ_H
#define AK_SPACE_SPACE_READ_H

#include "space/space_body.h"

typedef struct ak_space_reader {
    ak_space *space;
    const ak_space_spec *spec;
    ak_arena *scratch;
    char where[512]; /* the current parameter or condition, for messages */
    ak_error *err;
} ak_space_reader;

/* Reads "Type" and "Values" into parameter->values and body->text. */
ak_status ak_space_read_values(ak_parameter *parameter, ak_parameter_body *body, const json_t *json,
                               ak_space_reader *r);
/* Reads "Default": a value or an expression that gives one. If it is missing or null, the default
   is the first value. A number that is not a value means the nearest one. */
ak_status ak_space_read_default(ak_parameter *parameter, const json_t *json, ak_space_reader *r);
/* Reads "Use", "Option", "Options" and "Numerics". Sets body->added if "Use" is "option". */
ak_status ak_space_read_use(ak_parameter *parameter, ak_parameter_body *body, const json_t *json,
                            ak_space_reader *r);
/* Returns true if `fix`, which may be NULL, names the parameter. */
bool ak_space_fixes(const char *fix, const char *name);
/* Returns AK_INVALID if spec->fix names a value that the parameter does not have. */
ak_status ak_space_check_fix(const ak_parameter *parameter, const ak_parameter_body *body,
                             ak_space_reader *r);
/* Returns AK_INVALID if a part of spec->fix has no '=', names a parameter that does not exist, or
   fixes one twice. Called after all parameters are read. */
ak_status ak_space_check_fix_names(const ak_space *space, ak_space_reader *r);
/* Removes the values that the task cannot use (space_offer.c). Returns an error if none is left. */
ak_status ak_space_filter_values(ak_parameter *parameter, ak_parameter_body *body,
                                 ak_space_reader *r);
/* Sets body->rank and body->by_rank for numbers and booleans. Texts have no order. */
ak_status ak_space_rank_values(const ak_parameter *parameter, ak_parameter_body *body,
                               ak_space_reader *r);

#endif
