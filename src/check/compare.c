/*
 * compare.c: compares every element of an output with its reference on the host.
 *
 * For speed the output is widened to double in blocks that stay in the level 1 cache, and a block
 * is tested by a loop without branches. Only if an element fails or is not finite are the block's
 * elements tested one by one, which tells NaN, infinities and poison apart. A right result of
 * finite numbers therefore costs little more than reading it.
 */
#include "check/compare.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "check/guard.h"
#include "check/inputs.h"

enum { BLOCK = 1024, LANES = 4 };
/* An error below this many times the tolerance looks like rounding. Other orders of additions were
   seen to exceed tolerances of "4*eps" to "8*eps*sqrt(n)" by up to 2.6 times. An element that is
   not computed exceeds the widest tolerance of a built-in kernel, the 1/17 of e4m3, 17 times, and
   that of an f32 thousands of times. 10 lies between. */
#define ROUNDING 10.0
#define SURE_MIN 4 /* so many elements do not hold the poison by chance */

/* Returns the root mean square of the finite elements, scaled by the largest. It serves for values
   whose squares overflow, underflow or are NaN. */
static double rms_scaled(const double *values, size_t count)
{
    double largest = 0.0;
    for (size_t i = 0; i < count; i++) {
        if (isfinite(values[i]) && fabs(values[i]) > largest) {
            largest = fabs(values[i]);
        }
    }
    if (largest == 0.0) {
        return 0.0;
    }
    double sum = 0.0;
    size_t finite = 0;
    for (size_t i = 0; i < count; i++) {
        if (isfinite(values[i])) {
            sum += values[i] / largest * (values[i] / largest);
            finite++;
        }
    }
    return largest * sqrt(sum / (double)finite);
}

double ak_compare_rms(const double *values, size_t count)
{
    double lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        for (size_t j = 0; j < LANES; j++) {
            lane[j] += values[i + j] * values[i + j];
        }
    }
    double sum = (lane[0] + lane[1]) + (lane[2] + lane[3]);
    for (; i < count; i++) {
        sum += values[i] * values[i];
    }
    /* Below 1e-290 the squares may have lost digits to underflow. */
    return isfinite(sum) && sum > 1e-290 ? sqrt(sum / (double)count) : rms_scaled(values, count);
}

/* Computes the largest ratio of error to tolerance in a block. Returns false if an element fails
   or is not finite: comparisons with NaN are false, and an infinite reference must not allow an
   infinite error, so check_one decides about all such elements. */
static bool check_block(double *worst, const double *got, const double *want, size_t count,
                        double relative, double absolute)
{
    size_t bad[LANES] = {0};
    double most[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        for (size_t j = 0; j < LANES; j++) {
            double error = fabs(got[i + j] - want[i + j]);
            double allowed = relative * fabs(want[i + j]) + absolute;
            double ratio = error / allowed; /* 0/0 is NaN, which is not larger than any number */
            most[j] = ratio > most[j] ? ratio : most[j];
            bad[j] += !((error <= allowed) & (error <= DBL_MAX));
        }
    }
    for (; i < count; i++) {
        double error = fabs(got[i] - want[i]);
        double allowed = relative * fabs(want[i]) + absolute;
        double ratio = error / allowed;
        most[0] = ratio > most[0] ? ratio : most[0];
        bad[0] += !((error <= allowed) & (error <= DBL_MAX));
    }
    for (size_t j = 0; j < LANES; j++) {
        *worst = most[j] > *worst ? most[j] : *worst;
    }
    return bad[0] + bad[1] + bad[2] + bad[3] == 0;
}

/* Returns the ratio of an element's error to its tolerance. It is 0 if both numbers are NaN or the
   same infinity, and infinite if only one of them is NaN, if one is infinite and they differ, if
   the tolerance is 0 and they differ, or if the tolerance is NaN and they are finite. */
static double check_one(double got, double want, double relative, double absolute)
{
    if (isnan(want) || isnan(got)) {
        return isnan(want) && isnan(got) ? 0.0 : INFINITY;
    }
    if (isinf(want) || isinf(got)) {
        return got == want ? 0.0 : INFINITY;
    }
    double error = fabs(got - want);
    double allowed = relative * fabs(want) + absolute;
    if (error <= allowed) {
        return error > 0.0 ? error / allowed : 0.0;
    }
    return allowed > 0.0 ? error / allowed : INFINITY;
}

/* Returns true for the NaN whose bits are all 1, which the host runner puts into single elements
   between calls. No arithmetic gives this NaN in a float of 2 bytes or more; 8-bit floats and whole
   numbers do not count. */
static bool is_blank(const unsigned char *element, ak_dtype dtype)
{
    static const unsigned char ones[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    const size_t bytes = ak_dtype_bytes(dtype);
    return bytes > 1 && ak_dtype_is_float(dtype) && memcmp(element, ones, bytes) == 0;
}

/* Returns whether a number of a reference is the poison. A double holds a poison of 8 bytes only
   approximately. */
static bool is_poison(double value, ak_dtype dtype)
{
    unsigned char bytes[sizeof value];
    if (!ak_dtype_is_float(dtype) && ak_dtype_bytes(dtype) == sizeof value) {
        double poison;
        ak_guard_poison(bytes, sizeof bytes, dtype, 0);
        ak_inputs_decode(&poison, bytes, 1, dtype);
        return fabs(value - poison) <= 2 * DBL_EPSILON * poison;
    }
    ak_inputs_encode(bytes, &value, 1, dtype);
    return ak_guard_is_poison(bytes, dtype);
}

/* Returns how many whole numbers of the reference are the poison; 0 if the number at the first bad
   element is not, or if numbers have fewer than 4 bytes. A configuration that serves as the
   reference leaves the poison where it does not write. */
static size_t count_missing(const ak_compare_result *r, const ak_compare_with *with)
{
    size_t count = 0;
    const bool wide = r->whole && ak_dtype_bytes(with->dtype) >= sizeof(uint32_t);
    if (r->bad == 0 || !wide || !is_poison(r->want, with->dtype)) {
        return 0;
    }
    for (size_t i = 0; i < with->count; i++) {
        count += is_poison(with->reference[i], with->dtype) ? 1 : 0;
    }
    return count;
}

void ak_compare_output(ak_compare_result *out, const void *output, const ak_compare_with *with)
{
    ak_compare_part(out, output, with, 0);
}

void ak_compare_part(ak_compare_result *out, const void *output, const ak_compare_with *with,
                     double level)
{
    const size_t count = with->count, element = ak_dtype_bytes(with->dtype);
    double absolute = with->rms * fmax(level, ak_compare_rms(with->reference, count));
    const bool whole = !ak_dtype_is_float(with->dtype);
    *out = (ak_compare_result){.count = count, .first = count, .whole = whole};
    double got[BLOCK];
    for (size_t start = 0; start < count; start += BLOCK) {
        size_t length = count - start < BLOCK ? count - start : BLOCK;
        const unsigned char *bytes = (const unsigned char *)output + start * element;
        const double *want = with->reference + start;
        ak_inputs_decode(got, bytes, length, with->dtype);
        double worst = 0.0;
        if (check_block(&worst, got, want, length, with->relative, absolute)) {
            out->max_error = worst > out->max_error ? worst : out->max_error;
            continue;
        }
        for (size_t i = 0; i < length; i++) {
            double error = check_one(got[i], want[i], with->relative, absolute);
            bool poison =
                (!whole || error > 1.0) && ak_guard_is_poison(bytes + i * element, with->dtype);
            error = poison ? INFINITY : error;
            out->max_error = error > out->max_error ? error : out->max_error;
            out->unwritten += poison || is_blank(bytes + i * element, with->dtype);
            if (error > 1.0) {
                if (out->bad == 0) {
                    out->first = start + i;
                    out->got = got[i];
                    out->want = want[i];
                }
                out->bad++;
            }
        }
    }
    out->missing = count_missing(out, with);
    /* Wrong numbers of 8 or 16 bits can equal the poison by chance, but hardly if there are several
       and all do. */
    if (whole && element < sizeof(uint32_t) && (out->unwritten < out->bad || out->bad < SURE_MIN)) {
        out->unwritten = 0;
    }
    out->ok = out->bad == 0;
}

/* Prints a number for a message; whole numbers up to 2^53 get all their digits. */
static void print_number(char *out, size_t bytes, double value, bool whole)
{
    (void)ak_number_print(out, bytes, whole && fabs(value) <= 0x1p53 ? "%.0f" : "%.9g", value);
}

const char *ak_compare_element(char out[AK_ELEMENT_BYTES], const ak_compare_argument *argument,
                               int64_t index)
{
    int64_t at[AK_RANK_MAX] = {index}, left = index;
    size_t rank = argument->rank;
    for (size_t i = rank; i-- > 0;) {
        const int64_t extent = (int64_t)argument->extent[i];
        at[i] = extent > 0 ? left % extent : 0;
        left = extent > 0 ? left / extent : 1;
    }
    if (rank == 0 || index < 0 || left > 0) {
        at[0] = index;
        rank = 1;
    }
    size_t length = (size_t)snprintf(out, AK_ELEMENT_BYTES, "%.100s", argument->name);
    for (size_t i = 0; i < rank; i++) {
        length += (size_t)snprintf(out + length, AK_ELEMENT_BYTES - length, "%s%lld",
                                   i == 0 ? "[" : ",", (long long)at[i]);
    }
    (void)snprintf(out + length, AK_ELEMENT_BYTES - length, "]");
    return out;
}

void ak_compare_text(char *out, size_t bytes, const ak_compare_result *result,
                     const ak_compare_argument *argument)
{
    char element[AK_ELEMENT_BYTES];
    if (result->ok) {
        (void)ak_number_print(out, bytes, "%s: %zu element%s right, worst %.3g of the tolerance",
                              argument->name, result->count, ak_plural(result->count),
                              result->max_error);
        return;
    }
    char unwritten[64] = "";
    if (result->unwritten > 0) {
        (void)snprintf(unwritten, sizeof unwritten, " (%zu never written)", result->unwritten);
    }
    char worst[96] = "", got[64], want[64];
    if (isfinite(result->max_error)) {
        const bool near = result->max_error < ROUNDING;
        (void)ak_number_print(worst, sizeof worst, ", worst %.*g times the tolerance%s",
                              near ? 6 : 3, fmax(result->max_error, 1.00001),
                              near ? ", which looks like rounding" : "");
    }
    if (result->unwritten == result->bad) { /* the first bad element is then unwritten */
        (void)snprintf(got, sizeof got, "was not written");
    } else if (isnan(result->got)) { /* the sign of a NaN means nothing */
        (void)snprintf(got, sizeof got, "got NaN");
    } else {
        char number[48];
        print_number(number, sizeof number, result->got, result->whole);
        (void)snprintf(got, sizeof got, "got %s", number);
    }
    if (result->missing > 0) {
        (void)snprintf(out, bytes,
                       "%s: %s; %zu of %zu element%s wrong; the reference writes only %zu of "
                       "them: is the shape of %s right?",
                       ak_compare_element(element, argument, (int64_t)result->first), got,
                       result->bad, result->count, ak_plural(result->count),
                       result->count - result->missing, argument->name);
        return;
    }
    print_number(want, sizeof want, result->want, result->whole);
    (void)snprintf(out, bytes, "%s: %s, expected %s; %zu of %zu element%s wrong%s%s",
                   ak_compare_element(element, argument, (int64_t)result->first), got, want,
                   result->bad, result->count, ak_plural(result->count), unwritten, worst);
}

ak_status ak_compare_representable(const char *problem, const ak_compare_argument *argument,
                                   const char *where, const ak_compare_with *with, ak_error *err)
{
    char element[AK_ELEMENT_BYTES];
    ak_dtype_range holds;
    const bool wide = ak_dtype_bytes(with->dtype) == 8;
    for (size_t i = 0; ak_dtype_holds(&holds, with->dtype) && i < with->count; i++) {
        const double value = with->reference[i];
        /* From 2^53 on, a double may stand for a neighbour. */
        if (value < holds.low || value > holds.high || (wide && fabs(value) == holds.high)) {
            AK_FAIL_IF(is_poison(value, with->dtype) && wide, err, AK_INVALID,
                       "%s: the reference does not write %s (%s): correct the shape of %s in "
                       "problem.json or, if the reference is a kernel, its \"Launch\"; if it reads "
                       "what it finds in %s, the access there is \"inout\"",
                       problem, ak_compare_element(element, argument, (int64_t)i), where,
                       argument->name, argument->name);
            return ak_fail(err, AK_INVALID,
                           "%s: the reference gives %.17g at %s (%s); results of %s are %s "
                           "from %.0f to %.0f: choose other inputs or another dtype%s",
                           problem, value, ak_compare_element(element, argument, (int64_t)i), where,
                           ak_dtype_text(with->dtype), wide ? "compared" : "whole numbers",
                           holds.low + wide, holds.high - wide,
                           wide ? ", or give both halves of the numbers as two outputs of u32"
                                : ", or let the reference wrap or clamp as the kernel does");
        }
    }
    return AK_OK;
}

/* ---- self-test of a tolerance ---- */

typedef struct selftest {
    const char *problem;
    const ak_compare_argument *argument;
    const ak_compare_with *with;
    double *values;         /* a wrong output that is tried */
    unsigned char *encoded; /* that output in the dtype */
    bool exact;             /* the output tried last equals the reference */
} selftest;

static bool passes(selftest *t, const double *values)
{
    ak_compare_result result;
    ak_inputs_encode(t->encoded, values, t->with->count, t->with->dtype);
    ak_compare_output(&result, t->encoded, t->with);
    t->exact = result.max_error == 0.0;
    return result.ok;
}

/* Returns AK_INVALID for the wrong output `what`, which has just passed. */
static ak_status refuse(const selftest *t, const char *what, ak_error *err)
{
    if (t->exact) { /* no tolerance can tell this output from the right one */
        return ak_fail(err, AK_INVALID,
                       "%s: with these options, inputs and sizes the right result of %s is %s, so "
                       "that a kernel which computes nothing would pass; choose others",
                       t->problem, t->argument->name, what);
    }
    return ak_fail(err, AK_INVALID,
                   "%s: the tolerance of %s (relative %.3g, rms %.3g) would accept %s as a right "
                   "result; tighten \"tolerance\" in problem.json or choose other inputs or sizes",
                   t->problem, t->argument->name, t->with->relative, t->with->rms, what);
}

/* Returns true if the values, rounded to the dtype, are the reference. */
static bool rounds_to_reference(const ak_compare_with *with, const double *values)
{
    for (size_t i = 0; i < with->count; i++) {
        uint64_t value = 0, right = 0;
        ak_inputs_encode(&value, &values[i], 1, with->dtype);
        ak_inputs_encode(&right, &with->reference[i], 1, with->dtype);
        if (value != right) {
            return false;
        }
    }
    return true;
}

/* Returns whether 1.01 times a number may round to the number itself, which is no wrong result. */
static bool is_coarse(ak_dtype dtype)
{
    return !ak_dtype_is_float(dtype) || ak_dtype_bytes(dtype) == 1;
}

const char *ak_compare_copy_text(char *out, const char *input, bool own)
{
    (void)snprintf(out, AK_COMPARE_COPY_BYTES,
                   own ? "what %.64s holds before the launch" : "a copy of input %.64s", input);
    return out;
}

static void set_all(const selftest *t, double value)
{
    for (size_t i = 0; i < t->with->count; i++) {
        t->values[i] = value;
    }
}

static ak_status check_reference(const selftest *t, ak_error *err)
{
    char element[AK_ELEMENT_BYTES];
    for (size_t i = 0; i < t->with->count; i++) {
        AK_FAIL_IF(isnan(t->with->reference[i]), err, AK_INVALID,
                   "%s: the reference gives NaN at %s, where NaN would then be right; if it reads "
                   "what it finds in %s, the access there is \"inout\"; if it leaves this element "
                   "unwritten, correct the shape in problem.json or, if it is a kernel, its "
                   "\"Launch\"; else choose other inputs or mend the reference",
                   t->problem, ak_compare_element(element, t->argument, (int64_t)i),
                   t->argument->name);
    }
    ak_compare_result result;
    ak_inputs_encode(t->encoded, t->with->reference, t->with->count, t->with->dtype);
    ak_compare_output(&result, t->encoded, t->with);
    AK_FAIL_IF(!result.ok, err, AK_INVALID,
               "%s: the tolerance of %s (relative %.3g, rms %.3g) refuses the reference itself, "
               "rounded to %s: %s is %.9g instead of %.9g; widen \"tolerance\" in problem.json",
               t->problem, t->argument->name, t->with->relative, t->with->rms,
               ak_dtype_text(t->with->dtype),
               ak_compare_element(element, t->argument, (int64_t)result.first), result.got,
               result.want);
    return AK_OK;
}

static ak_status check_copy(selftest *t, const ak_compare_input *input, ak_error *err)
{
    const bool own = strcmp(input->name, t->argument->name) == 0;
    if (input->elements != t->with->count || !passes(t, input->values) ||
        (t->exact && input->written && !own)) {
        return AK_OK;
    }
    char what[AK_COMPARE_COPY_BYTES];
    return refuse(t, ak_compare_copy_text(what, input->name, own), err);
}

static ak_status check_wrong(selftest *t, const ak_compare_inputs *inputs, ak_error *err)
{
    set_all(t, 0.0);
    if (passes(t, t->values)) {
        return refuse(t, "zeros", err);
    }
    if (ak_dtype_is_float(t->with->dtype)) {
        set_all(t, (double)NAN);
        if (passes(t, t->values)) {
            return refuse(t, "NaN", err);
        }
    }
    for (size_t i = 0; i < t->with->count; i++) {
        t->values[i] = t->with->reference[i] * 1.01;
    }
    if (!(is_coarse(t->with->dtype) && rounds_to_reference(t->with, t->values)) &&
        passes(t, t->values)) {
        return refuse(t, "results that are 1 % too large", err);
    }
    for (size_t i = 0; i < inputs->count; i++) {
        AK_DO(check_copy(t, &inputs->list[i], err));
    }
    if (t->with->count > 1) {
        double sum = 0.0;
        for (size_t i = 0; i < t->with->count; i++) {
            sum += isfinite(t->with->reference[i]) ? t->with->reference[i] / (double)t->with->count
                                                   : 0.0;
        }
        set_all(t, sum);
        if (passes(t, t->values)) {
            return refuse(t, "the mean everywhere", err);
        }
        for (size_t i = 0; i < t->with->count; i++) {
            t->values[i] = t->with->reference[(i + 1) % t->with->count];
        }
        if (passes(t, t->values)) {
            return refuse(t, "the right result shifted by one element", err);
        }
    }
    return AK_OK;
}

static void selftest_clear(selftest *t)
{
    AK_FREE_ALL(t->values, t->encoded);
}

ak_status ak_compare_selftest(const char *problem, const ak_compare_argument *argument,
                              const ak_compare_with *with, const ak_compare_inputs *inputs,
                              ak_error *err)
{
    AK_AT_END(selftest_clear)
    selftest t = {.problem = problem,
                  .argument = argument,
                  .with = with,
                  .values = ak_alloc(with->count, sizeof(double)),
                  .encoded = ak_alloc(with->count, ak_dtype_bytes(with->dtype))};
    AK_DO(ak_stored(t.values != NULL && t.encoded != NULL, err));
    AK_DO(check_reference(&t, err));
    return check_wrong(&t, inputs, err);
}

ak_compare_tried ak_compare_try(const ak_compare_with *with, const double *values)
{
    double encoded[AK_SELFTEST_ELEMENTS];
    ak_compare_result result;
    ak_inputs_encode((unsigned char *)encoded, values, with->count, with->dtype);
    ak_compare_output(&result, encoded, with);
    return rounds_to_reference(with, values) ? AK_TRIED_RIGHT
           : result.ok                       ? AK_TRIED_ACCEPTED
                                             : AK_TRIED_REFUSED;
}
