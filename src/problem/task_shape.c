/* task_shape.c: computes a problem's shape at one set of sizes: elements, rows and bytes of each
   argument, work, compulsory traffic and tolerance. */
#include "problem/task_bind.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

double ak_task_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGE_SIZE);
    return pages <= 0 || bytes <= 0 ? INFINITY : (double)pages * (double)bytes;
}

/* Refuses numbers of a fill that a dtype of whole numbers cannot hold (except those of a normal
   one), because they would be clamped to its range, and a uniform fill with no whole number in its
   range. */
static ak_status check_held(const double given[2], const ak_argument_spec *argument, ak_dtype dtype,
                            const char *where, ak_error *err)
{
    const ak_fill_kind kind = argument->fill;
    const double *b = kind == AK_FILL_CONSTANT ? &given[0] : &given[1];
    ak_dtype_range holds;
    if (!ak_dtype_holds(&holds, dtype) || kind == AK_FILL_NORMAL || kind == AK_FILL_FILE) {
        return AK_OK;
    }
    AK_FAIL_IF(kind == AK_FILL_UNIFORM && floor(*b) < ceil(given[0]), err, AK_INVALID,
               "%s: argument %s cannot be filled with uniform of %g and %g: there is no whole "
               "number between them for %s",
               where, argument->name, given[0], *b, ak_dtype_text(dtype));
    const double end = given[0] >= holds.low && given[0] <= holds.high ? *b : given[0];
    if (end >= holds.low && end <= holds.high) {
        return AK_OK;
    }
    return ak_fail(err, AK_INVALID,
                   "%s: argument %s cannot be filled with %s, which reaches %.17g: %s %s whole "
                   "numbers from %.0f to %.0f; change \"fill\" in problem.json",
                   where, argument->name, ak_fill_text(kind), end, ak_dtype_text(dtype),
                   ak_dtype_bytes(dtype) == 8 ? "is filled with" : "holds", holds.low, holds.high);
}

/* Computes the numbers of an argument's fill at this shape. */
static ak_status measure_fill(double out[2], const ak_argument_spec *argument, ak_dtype dtype,
                              const ak_scope *scope, const char *where, ak_error *err)
{
    for (size_t i = 0; i < 2 && argument->fill_text[i] != NULL; i++) {
        AK_DO(ak_expr_real(&out[i], argument->fill_text[i], scope, where, err));
    }
    ak_dtype_range holds;
    if (argument->fill_usual && ak_dtype_holds(&holds, dtype) && holds.low == 0.0) {
        out[0] = 0.0; /* 0 to 2 holds as many numbers as -1 to 1 of a signed dtype */
        out[1] = 2.0;
    }
    /* Keys or indices may have one value, such as uniform(0,B-1) where B is 1. */
    bool single =
        !ak_dtype_is_float(dtype) && argument->fill == AK_FILL_UNIFORM && out[0] == out[1];
    AK_FAIL_IF(!single && !ak_fill_sane(argument->fill, out[0], out[1]), err, AK_INVALID,
               "%s: argument %s cannot be filled with %s of %g and %g: %s", where, argument->name,
               ak_fill_text(argument->fill), out[0], out[1],
               argument->fill == AK_FILL_NORMAL
                   ? "the deviation must be greater than 0"
                   : "the second number must be greater than the first one; change the expressions "
                     "of \"fill\" or leave this size out");
    return argument->access == AK_ACCESS_OUT ? AK_OK : check_held(out, argument, dtype, where, err);
}

static ak_status measure_argument(ak_shape *out, size_t i, const ak_task *task,
                                  const ak_scope *scope, const char *where, ak_error *err)
{
    const ak_argument_spec *argument = &task->problem->arguments[i];
    size_t elements = 1;
    int64_t extent = 1, pitch = 0;
    for (size_t d = 0; d < argument->rank; d++) {
        AK_DO(ak_expr_int(&extent, argument->shape[d], scope, where, err));
        AK_FAIL_IF(extent < 1, err, AK_INVALID,
                   "%s: argument %s has the extent %s = %lld; it must be 1 or more", where,
                   argument->name, argument->shape[d], (long long)extent);
        out->extent[i][d] = (size_t)extent;
        AK_FAIL_IF(__builtin_mul_overflow(elements, (size_t)extent, &elements), err, AK_LIMIT,
                   "%s: argument %s has 2^64 elements or more", where, argument->name);
    }
    ak_dtype dtype = ak_task_argument_dtype(task, i);
    AK_DO(argument->unused == NULL
              ? AK_OK
              : ak_expr_bool(&out->unused[i], argument->unused, scope, where, err));
    out->elements[i] = elements;
    out->row[i] = out->pitch[i] = (size_t)extent;
    if (argument->pitch != NULL) {
        AK_DO(ak_expr_int(&pitch, argument->pitch, scope, where, err));
        AK_FAIL_IF(pitch < extent, err, AK_INVALID,
                   "%s: argument %s has rows of %lld elements, more than its pitch %s = %lld",
                   where, argument->name, (long long)extent, argument->pitch, (long long)pitch);
        out->pitch[i] = (size_t)pitch;
    }
    size_t span; /* elements from the first to the last, including those between rows */
    AK_FAIL_IF(__builtin_mul_overflow(elements / out->row[i] - 1, out->pitch[i], &span) ||
                   __builtin_add_overflow(span, out->row[i], &span) ||
                   __builtin_mul_overflow(span, ak_dtype_bytes(dtype), &out->bytes[i]),
               err, AK_LIMIT, "%s: argument %s has 2^64 bytes or more", where, argument->name);
    return measure_fill(out->fill[i], argument, dtype, scope, where, err);
}

/* Evaluates an expression that must give a finite number of 0 or more. */
static ak_status measure_number(double *out, const char *text, const char *what,
                                const ak_scope *scope, const char *where, ak_error *err)
{
    AK_DO(ak_expr_real(out, text, scope, where, err));
    AK_FAIL_IF(!(*out >= 0.0 && *out < INFINITY), err, AK_INVALID,
               "%s: %s is %g; it must not be negative", where, what, *out);
    return AK_OK;
}

/* Limit for operations and bytes: more than any device manages in a year. Rates computed from them
   are finite. */
#define WORK_MAX 1e24

static ak_status measure_amount(double *out, const char *text, const char *what, ak_scope *scope,
                                const char *where, ak_error *err)
{
    AK_DO(measure_number(out, text, what, scope, where, err));
    AK_FAIL_IF(*out > WORK_MAX, err, AK_INVALID,
               "%s: %s is %g, which is more than %g: correct \"%s\" of the problem", where, what,
               *out, WORK_MAX, what);
    return AK_OK;
}

typedef struct tolerance {
    double relative, rms, absolute;
} tolerance;

/* Evaluates a tolerance for results of a dtype. */
static ak_status measure_one(tolerance *out, const ak_tolerance_spec *spec, ak_dtype dtype,
                             ak_scope *scope, const char *where, ak_error *err)
{
    AK_DO(ak_scope_set_real(scope, "eps", ak_dtype_epsilon(dtype), err));
    AK_DO(measure_number(&out->relative, spec->relative, "the relative tolerance", scope, where,
                         err));
    AK_DO(measure_number(&out->rms, spec->rms, "the rms tolerance", scope, where, err));
    return measure_number(&out->absolute, spec->absolute, "the absolute tolerance", scope, where,
                          err);
}

/* Evaluates the problem's tolerance for a dtype; leaves *out as it is if the problem has none. */
static ak_status measure_tolerance(tolerance *out, const ak_task *task, ak_dtype dtype,
                                   ak_scope *scope, const char *where, ak_error *err)
{
    const ak_problem *problem = task->problem;
    for (size_t i = 0; i < problem->tolerance_count; i++) {
        if (problem->tolerances[i].dtype == dtype) {
            AK_DO(measure_one(out, &problem->tolerances[i], dtype, scope, where, err));
        }
    }
    return AK_OK;
}

static ak_status measure_work(ak_shape *out, const ak_task *task, ak_scope *scope,
                              const char *where, ak_error *err)
{
    const ak_problem *problem = task->problem;
    AK_DO(measure_amount(&out->flops, problem->flops, "flops", scope, where, err));
    AK_DO(measure_amount(&out->traffic, problem->bytes, "bytes", scope, where, err));
    tolerance all = {0};
    AK_DO(measure_tolerance(&all, task, task->dtype, scope, where, err));
    out->relative = all.relative;
    out->rms = all.rms;
    for (size_t i = 0; i < problem->argument_count; i++) {
        const ak_argument_spec *argument = &problem->arguments[i];
        const ak_dtype dtype = ak_task_argument_dtype(task, i);
        tolerance own = all;
        if (argument->tolerance.relative != NULL) {
            AK_DO(measure_one(&own, &argument->tolerance, dtype, scope, where, err));
        } else if (argument->access != AK_ACCESS_IN && !argument->dtype_follows) {
            if (dtype != task->dtype && !ak_dtype_is_float(dtype)) {
                own = (tolerance){0}; /* whole numbers are exact */
            }
            AK_DO(measure_tolerance(&own, task, dtype, scope, where, err));
        }
        out->own_relative[i] = own.relative;
        out->own_rms[i] = own.rms;
        out->own_absolute[i] = own.absolute;
    }
    return AK_OK;
}

void ak_task_size_text(char *out, size_t bytes, const ak_problem *problem, const int64_t *size)
{
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < problem->size_count && used < bytes; i++) {
        int wrote = snprintf(out + used, bytes - used, "%s%.30s=%lld", i == 0 ? "" : ",",
                             problem->sizes[i].name, (long long)size[i]);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
}

ak_status ak_task_shape(ak_shape *out, const ak_task *task, const int64_t *size, ak_error *err)
{
    const ak_problem *problem = task->problem;
    ak_shape shape = {.flops = 0.0};
    char where[256] = "size ";
    ak_task_size_text(where + strlen(where), sizeof where - strlen(where), problem, size);
    for (size_t i = 0; i < problem->size_count; i++) {
        AK_FAIL_IF(size[i] < 1, err, AK_INVALID, "size %s is %lld; it must be 1 or more",
                   problem->sizes[i].name, (long long)size[i]);
        shape.size[i] = size[i];
    }
    AK_AT_END(ak_scope_free_at) ak_scope *scope = ak_scope_new(task->constants);
    AK_DO(scope == NULL ? ak_fail_memory(err) : ak_task_set_sizes(scope, problem, size, err));
    double total = 0.0, memory = ak_task_memory();
    for (size_t i = 0; i < problem->argument_count; i++) {
        AK_DO(measure_argument(&shape, i, task, scope, where, err));
        /* A check holds each argument three times: as the candidate sees it, unchanged, and in
           double for the reference. */
        total += 2.0 * (double)shape.bytes[i] + 8.0 * (double)shape.elements[i];
    }
    AK_FAIL_IF(total > memory && !task->recorded && !task->sheet, err, AK_LIMIT,
               "%s: the arguments and their reference need %.1f GB and this machine has %.1f GB; "
               "choose a smaller size",
               where, total / 1e9, memory / 1e9);
    AK_DO(measure_work(&shape, task, scope, where, err));
    *out = shape;
    return AK_OK;
}
