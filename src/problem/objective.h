/*
 * objective.h: what a run makes as small or as large as it can: the time by default, the energy, or
 * an expression over what is measured.
 *
 *   time             NULL stands for it
 *   energy           joules of one call
 *   edp              energy times time, in joule seconds
 *   EXPR             an expression (space/expr.h), which is made as small as possible
 *   max:EXPR         an expression, which is made as large as possible
 *
 * An expression may read what is measured (measured_names in objective.c), the sizes, the options
 * and the parameters of the configuration. `tflops` and `gbs` alone mean max:tflops and max:gbs.
 *
 * The objective is a part of the task: its text is one of the task's choices, as in
 * "objective=energy", so results with different objectives belong to different tasks. Searches
 * compare costs: a cost is the value, or its reciprocal if more is better, and always above 0.
 */
#ifndef AK_PROBLEM_OBJECTIVE_H
#define AK_PROBLEM_OBJECTIVE_H

#include "base/buf.h"
#include "space/space.h"

/* The name of the choice. */
#define AK_OBJECTIVE_CHOICE "objective"
#define AK_OBJECTIVE_BYTES  AK_OBJECTIVE_NAME_BYTES

typedef struct ak_objective ak_objective;
/* What was measured of one configuration or library; 0: not known. */
typedef struct ak_objective_facts {
    double ms, joules, flops, traffic; /* of one call; `flops` in flop, `traffic` in bytes */
    bool has_code;                     /* the members below are known; false for a library */
    int registers, shared_bytes, spill_bytes, code_bytes;
} ak_objective_facts;

/* Parses a text. *out is NULL for "time". */
ak_status ak_objective_parse(ak_objective **out, const char *text, ak_error *err);
/* Makes the objective of a recording, which has the values and no expression for them. */
ak_status ak_objective_recorded(ak_objective **out, const char *name, const char *unit,
                                bool maximise, ak_error *err);
void ak_objective_free(ak_objective *objective);
/* Returns the canonical text; "time" for NULL. */
const char *ak_objective_text(const ak_objective *objective);
/* Returns whether ak_objective_recorded made it. */
bool ak_objective_is_recorded(const ak_objective *objective);
/* Returns whether the energy must be measured. */
bool ak_objective_weighs(const ak_objective *objective);
/* Returns the unit of the value for tables; "" if it has no name. */
const char *ak_objective_unit(const ak_objective *objective);
/* Returns the value that a cost stands for. */
double ak_objective_value(const ak_objective *objective, double cost);
/* Appends the value of a cost with four digits: "8.25 ms", "2.5 J", or the number alone if it has
   no unit. */
void ak_objective_print(ak_buf *out, const ak_objective *objective, double cost);
/* Refuses names that are neither measured nor known to `knows`. */
ak_status ak_objective_check(const ak_objective *objective,
                             bool (*knows)(const void *context, const char *name),
                             const void *context, ak_error *err);
/* Refuses an objective that reads a rate of work that the task does not state: 0 flops or bytes. */
ak_status ak_objective_check_work(const ak_objective *objective, double flops, double traffic,
                                  ak_error *err);
/* Computes the cost; the objective must not be NULL. `scope` has sizes, options and parameters, or
   is NULL. Returns AK_UNAVAILABLE with one line if something that the expression reads was not
   measured, and AK_INVALID if the value is not a positive number. */
ak_status ak_objective_cost(double *out, const ak_objective *objective, const ak_scope *scope,
                            const ak_objective_facts *facts, ak_error *err);

#endif
