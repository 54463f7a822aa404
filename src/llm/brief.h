/*
 * brief.h: what a language model is told about a task, as data. Filled in once a run from the task
 * and the ceilings of its device; prompt.h turns it into text.
 *
 * The harness does the arithmetic: models do not (shapes given as bare numbers had no measurable
 * effect on what they propose, arXiv 2605.19782), so everything that follows from the shape and the
 * device is worked out here and stated with its unit.
 */
#ifndef AK_LLM_BRIEF_H
#define AK_LLM_BRIEF_H

#include "measure/roofline.h"
#include "problem/task.h"

#define AK_FACTS_MAX 32 /* of a space file */

/* A line of the prompt: "arithmetic intensity", "170.7 flop/byte". */
typedef struct ak_fact {
    const char *name, *text;
} ak_fact;

/* What follows from a configuration: an entry of the space file's "Facts" (docs/formats.md). */
typedef struct ak_derived {
    const char *name; /* "block of B" */
    const char *unit; /* "bytes", or "" */
    ak_expr *expr;
} ak_derived;

/* Texts live in the arena or are borrowed from the task, which must outlive the brief. */
typedef struct ak_brief {
    const char *kernel, *description, *implementation, *device, *size, *dtype, *choices;
    const char *source; /* of the implementation; NULL: there is none (a T1 file) */
    const ak_space *space;
    const ak_scope *constants;
    ak_fact *hardware, *shape;
    size_t hardware_count, hardware_capacity, shape_count, shape_capacity;
    ak_derived derived[AK_FACTS_MAX];
    size_t derived_count;
    struct ak_arena *arena;
} ak_brief;

/* `ceilings` NULL or 0: unknown. Fails if an entry of "Facts" cannot be parsed or reads a name that
   is neither a parameter nor a constant. */
ak_status ak_brief_open(ak_brief *out, const ak_task *task, const ak_ceilings *ceilings,
                        ak_error *err);
/* Of a space alone, as recordings have it: no shape, no source, no ceilings. Texts are borrowed;
   `constants` may be NULL. */
ak_status ak_brief_space(ak_brief *out, const ak_space *space, const ak_scope *constants,
                         const char *kernel, const char *device, ak_error *err);
void ak_brief_close(ak_brief *brief);

/* Value of a derived fact in a configuration, as text with its unit: "131072 bytes (128 KiB)". "?"
   where it cannot be evaluated. */
void ak_derived_show(char *out, size_t bytes, const ak_brief *brief, const ak_derived *derived,
                     const ak_config *config);

#endif
