/* value.c: values as Python sees them: truth, exact arithmetic, and their texts. */
#include "space/expr_tree.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"

bool ak_value_truth(const ak_value *value)
{
    switch (value->type) {
    case AK_VALUE_BOOL:
        return value->as.boolean;
    case AK_VALUE_INT:
        return value->as.integer != 0;
    case AK_VALUE_REAL:
        return value->as.real != 0.0;
    case AK_VALUE_STRING:
        return value->as.string[0] != 0;
    case AK_VALUE_LIST:
        return value->as.list.count > 0;
    }
    return false;
}

bool ak_value_number(double *out, const ak_value *value)
{
    if (value->type != AK_VALUE_INT && value->type != AK_VALUE_REAL) {
        return false;
    }
    *out = value->type == AK_VALUE_INT ? (double)value->as.integer : value->as.real;
    return true;
}

/* 2^63 is the first real above every int64_t. */
#define TWO_63 9223372036854775808.0

int ak_number_compare(int64_t integer, double real)
{
    assert(!isnan(real));
    if (real >= TWO_63) {
        return -1;
    }
    if (real < -TWO_63) {
        return 1;
    }
    /* Here the whole part fits into an int64_t. If it equals the integer, the fraction decides. */
    double whole = trunc(real);
    int64_t other = (int64_t)whole;
    if (integer != other) {
        return integer < other ? -1 : 1;
    }
    return real > whole ? -1 : real < whole ? 1 : 0;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

bool ak_int_floor_divide(int64_t *out, int64_t a, int64_t b)
{
    if (b == 0 || (a == INT64_MIN && b == -1)) {
        return false;
    }
    int64_t quotient = a / b;
    *out = a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
    return true;
}

bool ak_int_modulo(int64_t *out, int64_t a, int64_t b)
{
    if (b == 0) {
        return false;
    }
    if (b == -1) { /* INT64_MIN % -1 traps */
        *out = 0;
        return true;
    }
    int64_t rest = a % b;
    *out = rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    return true;
}

bool ak_int_power(int64_t *out, int64_t base, int64_t exponent)
{
    assert(exponent >= 0);
    int64_t result = 1;
    while (exponent > 0) {
        if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) {
            return false;
        }
        exponent >>= 1;
        if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) {
            return false;
        }
    }
    *out = result;
    return true;
}

double ak_int_divide(int64_t a, int64_t b)
{
    int64_t quotient;
    assert(b != 0);
    /* Beyond 2^53 the conversion to real would round, so an exact quotient is computed in
       integers. */
    return ak_int_floor_divide(&quotient, a, b) && a % b == 0
               ? (double)quotient
               : (double)((long double)a / (long double)b);
}

double ak_real_modulo(double a, double b)
{
    assert(b != 0.0);
    double rest = fmod(a, b);
    if (rest != 0.0 && (rest < 0.0) != (b < 0.0)) {
        rest += b;
    }
    return rest;
}

double ak_real_floor_divide(double a, double b)
{
    /* Like Python, this subtracts the remainder, divides, and rounds to the nearest whole
       number. */
    double quotient = (a - ak_real_modulo(a, b)) / b;
    double whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1.0 : whole;
}

bool ak_real_to_int(int64_t *out, double value)
{
    if (!(value >= -TWO_63 && value < TWO_63)) {
        return false;
    }
    *out = (int64_t)value;
    return true;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Appends the text of a value and returns the length of the whole text, as ak_text_put does. */
static size_t put_value(char *out, size_t bytes, size_t length, const ak_value *value)
{
    char number[AK_REAL_BYTES];
    switch (value->type) {
    case AK_VALUE_BOOL:
        return ak_text_put(out, bytes, length, value->as.boolean ? "True" : "False");
    case AK_VALUE_INT:
        (void)snprintf(number, sizeof number, "%lld", (long long)value->as.integer);
        return ak_text_put(out, bytes, length, number);
    case AK_VALUE_REAL:
        ak_number_shortest(number, value->as.real);
        length = ak_text_put(out, bytes, length, number);
        /* "nan", "inf" and exponents can only be reals */
        return ak_text_put(out, bytes, length, strpbrk(number, ".en") == NULL ? ".0" : "");
    case AK_VALUE_STRING:
        return ak_text_put(out, bytes, length, value->as.string);
    case AK_VALUE_LIST:
        length = ak_text_put(out, bytes, length, "[");
        for (size_t i = 0; i < value->as.list.count; i++) {
            length = ak_text_put(out, bytes, length, i == 0 ? "" : ", ");
            length = put_value(out, bytes, length, &value->as.list.items[i]);
        }
        return ak_text_put(out, bytes, length, "]");
    }
    return length;
}

size_t ak_value_format(char *out, size_t bytes, const ak_value *value)
{
    return put_value(out, bytes, 0, value);
}
