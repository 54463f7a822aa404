/*
 * infix.h: writes programs of a bundle.json (docs/formats.md, Bundles) as expressions for people:
 * ["M", 15, "+", 16, "//"] as "(M + 15)//16". What changes no value is left out, such as "+ 0".
 */
#ifndef AK_BASE_INFIX_H
#define AK_BASE_INFIX_H

#include "base/json.h"

/* No expression is longer. */
#define AK_INFIX_MAX (1u << 20)

/* Writes a program; "?" in place of something that is no program. */
void ak_infix_print(ak_buf *out, const json_t *program);
/* Writes the shape of an argument of bundle.json, such as "[M, N]", and how far its rows are apart
   if they do not adjoin: "[M, N], rows N + 8 elements apart". */
void ak_infix_print_shape(ak_buf *out, const json_t *argument);
/* Writes a size that was measured, such as "M=64,N=32", with the names of the sizes in the
   bundle.json `file`. */
void ak_infix_print_size(ak_buf *out, const json_t *file, const json_t *size);

#endif
