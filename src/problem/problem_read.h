/*
 * problem_read.h: the state and the functions that the files which read problem.json share:
 * problem_read.c (sizes, dtypes, work, tolerances), problem_choices.c (problem options),
 * problem_arguments.c, reference_read.c and baselines_read.c. Texts are borrowed from the document,
 * which the problem owns. Internal to problem/.
 */
#ifndef AK_PROBLEM_PROBLEM_READ_H
#define AK_PROBLEM_PROBLEM_READ_H

#include "problem/kernel_files.h"
#include "space/expr.h"

typedef struct ak_problem_reader {
    ak_problem *problem;
    const ak_kernel_files *files;
    const json_t *json;
    const char *path;
    char where[AK_PATH_MAX + 64]; /* the current member, for messages */
    /* scope with sizes, dtype and problem options at their defaults, in which expressions are
       tried */
    ak_scope *sizes;
    ak_error *err;
} ak_problem_reader;

/* Sets r->where to "PATH: size 2". */
void ak_problem_at(ak_problem_reader *r, const char *what, size_t number);
/* Returns true if the text consists of 1 to AK_KERNEL_NAME_MAX letters, digits and '_'. Values of
   problem options become part of a macro's name. */
bool ak_problem_is_word(const char *text);
/* Returns whether a name, such as eps, has a meaning of its own in expressions, so that no size or
   problem option may have it. */
bool ak_problem_is_reserved(const char *name);
/* Reads "name". With `unique`, returns AK_INVALID if the name is reserved or a size or a problem
   option has it already. */
ak_status ak_problem_read_name(const char **out, const json_t *json, bool unique,
                               ak_problem_reader *r);
/* Reads an array that must exist and have at most `max` entries. */
ak_status ak_problem_read_array(json_t **out, size_t *count, const char *key, size_t max,
                                ak_problem_reader *r);
/* Returns AK_INVALID unless `json` is an object that has no keys but those in the list `keys`. */
ak_status ak_problem_check_object(const json_t *json, const char *const *keys,
                                  ak_problem_reader *r);

/* Reads the tolerance for a dtype, {"relative", "rms", "absolute"}; a missing rms or absolute is
   0. */
ak_status ak_problem_read_tolerance(ak_tolerance_spec *out, const json_t *json, ak_dtype dtype,
                                    ak_problem_reader *r);

/* Each reads its part of r->json into r->problem. ak_problem_read_choices also adds the options'
   names to r->sizes. */
ak_status ak_problem_read_choices(ak_problem_reader *r);
ak_status ak_problem_read_arguments(ak_problem_reader *r);
/* Reads "reference" (reference_read.c). The arguments and the edge-case sizes must have been
   read. */
ak_status ak_problem_read_reference(const ak_kernel_files *files, ak_problem_reader *r);
/* Reads "baselines" (baselines_read.c). */
ak_status ak_problem_read_baselines(ak_problem_reader *r);
/* Finds a data file of the kernel and gives its path; its hash becomes part of problem->data. */
ak_status ak_problem_read_data(const char **out, const char *name, ak_problem_reader *r);

#endif
