/*
 * space_family.h: configurations that an author describes together, by alternatives for each
 * parameter instead of one by one. Internal to space/.
 *
 *     {"Family": {"SWAP": [0, 1], "TILE": [64, 128, "M/4"], "num_stages": [99]},
 *      "Where": ["TILE*(SWAP + 1) <= 128"]}
 *
 * An alternative is a number or an expression over the parameters declared before this one, the
 * sizes and the device facts. A number becomes the largest value not above it that is valid
 * together with the parameters before; a text, written as a quoted literal ("'gcc'"), must be such
 * a value. If there is none, the alternative is left out. A parameter that the family does not name
 * has its default or, where that is not valid, the only value that is; with several there is no
 * member. A member of the family fulfils all conditions of the space, and all of "Where".
 */
#ifndef AK_SPACE_SPACE_FAMILY_H
#define AK_SPACE_SPACE_FAMILY_H

#include "space/space_body.h"

#define AK_FAMILY_MAX       100000  /* most members of a family; more cause AK_LIMIT */
#define AK_FAMILY_STEPS_MAX 5000000 /* values tried on the way to members; takes a few seconds */

/* Receives a member. A failure ends the search for members. */
typedef ak_status (*ak_family_take)(void *context, const ak_config *member, ak_error *err);

typedef struct ak_family {
    const json_t *alternatives; /* the object "Family" */
    const json_t *conditions;   /* the array "Where", or NULL */
    const ak_scope *constants;  /* sizes and device facts */
    const char *where;          /* begins messages */
} ak_family;

/* Gives all members of the family, each once. */
ak_status ak_space_family(const ak_space *space, const ak_family *family, ak_family_take take,
                          void *context, ak_error *err);

#endif
