/*
 * portable.h: translates an expression into a program over whole numbers, which other programs can
 * evaluate without this library: ["M", 15, "+", 16, "//"] is (M + 15)//16. The program runs on a
 * stack. A number or a name pushes a value; an operation takes its operands from the stack and
 * pushes its result (docs/formats.md, Bundles, lists the operations). The operations mean what they
 * mean in expr.h.
 */
#ifndef AK_SPACE_PORTABLE_H
#define AK_SPACE_PORTABLE_H

#include "base/json.h"
#include "space/expr.h"

/* What the names in an expression mean. Those in `open` stay names; all others get their values
   from the scope. */
typedef struct ak_program_names {
    const ak_scope *scope;
    const char *const *open;
    size_t open_count;
    const char *where; /* the file, for messages */
    /* The value must be a whole number, as an extent must. Then a/b is a//b where that leaves no
       remainder, and has no value elsewhere. */
    bool whole;
} ak_program_names;

/* Translates an expression; parts without open names are evaluated during the translation. Returns
   AK_INVALID if the expression is wrong, has an unknown name, is too long, or needs lists, texts or
   numbers that are not whole. The caller frees *out with json_decref. */
ak_status ak_program_of(json_t **out, const char *text, const ak_program_names *names,
                        ak_error *err);

#endif
