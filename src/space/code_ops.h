/*
 * code_ops.h: the operators of typed code on single cells (code_point.c), which evaluation over
 * ranges applies to the ends of its intervals. The functions that return bool and write *out return
 * false where Python would raise an error, where an int needs more than 64 bits, or where a real is
 * not finite. Internal to space/.
 */
#ifndef AK_SPACE_CODE_OPS_H
#define AK_SPACE_CODE_OPS_H

#include "space/code.h"

/* Apply + - * // % to ints, or + - * / // % to reals. */
bool ak_cell_combine_int(int64_t *out, ak_op op, int64_t a, int64_t b);
bool ak_cell_combine_real(double *out, ak_op op, double a, double b);
/* Computes a ** b of two ints, with an exponent of 0 or more, or of two reals. */
bool ak_cell_power(ak_cell *out, ak_cell_type type, ak_cell a, ak_cell b);
/* Applies sqrt or log2, which give a real, or ceil, floor, round or int, which give an int. */
bool ak_cell_call(ak_cell *out, ak_function function, double x);

/* Returns whether a comparison holds for operands of this order: the first is less (below 0), equal
   (0) or greater (above 0). It is inline because it judges every configuration of a space. */
static inline bool ak_op_holds(ak_op op, int order)
{
    switch (op) {
    case AK_OP_LESS:
        return order < 0;
    case AK_OP_LESS_EQUAL:
        return order <= 0;
    case AK_OP_GREATER:
        return order > 0;
    case AK_OP_GREATER_EQUAL:
        return order >= 0;
    case AK_OP_EQUAL:
        return order == 0;
    default:
        return order != 0;
    }
}
/* Returns true if one is a text and the other a number: they are different and have no order. */
bool ak_cell_incomparable(ak_cell_type a, ak_cell_type b);
/* Returns the order of two numbers, or of the indices of two texts: -1, 0 or 1. */
int ak_cell_compare(ak_cell_type a_type, ak_cell a, ak_cell_type b_type, ak_cell b);

#endif
