/*
 * infix.h: writes programs of a bundle.json (docs/formats.md, Bundles) as expressions for people:
 * ["M", 15, "+", 16, "//"] as "(M + 15)//16". What changes no value is left out, such as "+ 0".
 */
#ifndef AK_BASE_INFIX_H
#define AK_BASE_INFIX_H

#include "base/json.h"

/* Most bytes in the text of one expression. */
#define AK_INFIX_MAX (1u << 20)

/* Writes a program as an expression, or "?" if the array is not a program. */
void ak_infix_print(ak_buf *out, const json_t *program);
/* Writes the shape of an argument in bundle.json, such as "[M, N]", and the distance between its
   rows if there are gaps: "[M, N], rows N + 8 elements apart". */
void ak_infix_print_shape(ak_buf *out, const json_t *argument);
/* Writes a measured size, such as "M=64,N=32", with the names that the bundle.json `file` gives to
   the numbers in `size`. */
void ak_infix_print_size(ak_buf *out, const json_t *file, const json_t *size);

#endif
