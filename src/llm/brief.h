/*
 * brief.h: holds, as data, what a language model is told about a task. A brief is filled once per
 * run, from the task and the ceilings of its device or from the space of a recording; prompt.h
 * turns it into text.
 *
 * The arithmetic is done here because models do not do it: shapes given as bare numbers had no
 * measurable effect on what they propose (arXiv 2605.19782). Everything that follows from the shape
 * and the device is therefore computed here and stated with its unit.
 */
#ifndef AK_LLM_BRIEF_H
#define AK_LLM_BRIEF_H

#include "measure/roofline.h"
#include "problem/task.h"

/* How much a model is told, and so how much leaves the machine. The first share tells the most.
   X(NAME, text, told) */
#define AK_SHARE_MAP(X)                                                                            \
    X(SOURCE, "source",                                                                            \
      "parameters, conditions, times, facts of the device and the shape, the source of the "       \
      "kernel, and messages of compilers")                                                         \
    X(FACTS, "facts", "parameters, conditions, times, and facts of the device and the shape")      \
    X(SPACE, "space", "parameters, conditions and times")

typedef enum ak_share {
#define X(name, text, told) AK_SHARE_##name,
    AK_SHARE_MAP(X)
#undef X
} ak_share;
/* Reads the name of a share; NULL is AK_SHARE_SOURCE. */
ak_status ak_share_parse(ak_share *out, const char *text, ak_error *err);
const char *ak_share_text(ak_share share);
/* Returns what a model is told of this task at this share, in words that leave out the source if
   there is none, as for a recording of an unknown kernel. */
const char *ak_share_told(ak_share share, const ak_task *task);

#define AK_FACTS_MAX 32 /* entries of a space file's "Facts" */

/* One line of the prompt: name "arithmetic intensity", text "170.7 flop/byte". */
typedef struct ak_fact {
    const char *name, *text;
} ak_fact;

/* A quantity that follows from a configuration: an entry of the space file's "Facts"
   (docs/formats.md). */
typedef struct ak_derived {
    const char *name; /* "block of B" */
    const char *unit; /* such as "bytes"; "" if it has none */
    ak_expr *expr;
} ak_derived;

/* The brief of a task or of a space alone. Its strings live in the arena or are borrowed from what
   it was opened with, which must outlive the brief. */
typedef struct ak_brief {
    const char *kernel, *description, *implementation, *device, *size, *dtype, *choices;
    const char *software;     /* "NVRTC 13.0, driver 580.159.04"; "" if unknown */
    const char *source;       /* source of the implementation; NULL or "" if there is none */
    ak_share share;           /* how much of this the prompt shows */
    const json_t *definition; /* the implementation's space file; NULL if there is none */
    const ak_space *space;
    const ak_scope *constants;
    bool rejects_spills; /* as in ak_implementation_spec */
    ak_fact *hardware, *shape;
    size_t hardware_count, hardware_capacity, shape_count, shape_capacity;
    ak_derived derived[AK_FACTS_MAX];
    size_t derived_count;
    const ak_objective *objective; /* NULL: the time */
    double least_ms;               /* least time that the ceilings allow; 0 if unknown */
    bool least_cached; /* least_ms assumes memory, but the data fit caches that the cores share */
    struct ak_arena *arena;
} ak_brief;

/* Opens the brief of a task. A ceiling of 0 is unknown; all are if `ceilings` is NULL. Fails if
   "Facts" has more than AK_FACTS_MAX entries or two of one name, or if the expression of an entry
   cannot be parsed or reads a name that is neither a parameter nor a constant. A recording may lack
   such names, so there an entry with such an expression is skipped instead. */
ak_status ak_brief_open(ak_brief *out, const ak_task *task, const ak_ceilings *ceilings,
                        ak_error *err);
/* Opens the brief of a space alone, as a recording has it, without source and ceilings: the
   constants (sizes, facts of the device, but not the dtype) are listed as they are. Strings are
   borrowed; `constants` may be NULL. */
ak_status ak_brief_space(ak_brief *out, const ak_space *space, const ak_scope *constants,
                         const char *kernel, const char *device, ak_error *err);
/* Takes the device's name and the versions of compilers and driver from an environment
   (ak_environment_facts). If the environment has no name, brief->device is kept. */
ak_status ak_brief_environment(ak_brief *brief, const json_t *environment, ak_error *err);
void ak_brief_close(ak_brief *brief);

/* Returns true if the space is that of a recording and a sample of configurations that fulfil all
   conditions has one that was not recorded (brief_recorded.c). */
bool ak_brief_is_part(const ak_brief *brief);

/* Writes the value of a derived fact in a configuration: a number with its unit, such as "131072
   bytes (128 KiB)", a text without a unit, or "?" if it cannot be evaluated. A boolean counts as 0
   or 1, and a list as 0. */
void ak_derived_show(char *out, size_t bytes, const ak_brief *brief, const ak_derived *derived,
                     const ak_config *config);

/* How a configuration fills a GPU. */
typedef struct ak_filling {
    double blocks, threads, shared_bytes; /* blocks in all; threads and shared bytes of a block */
    double resident;                      /* blocks that a multiprocessor can hold */
    double at_once;                       /* blocks that the device can hold */
    double waves;                         /* blocks / at_once */
    double occupancy;                     /* resident threads, as a share of those that fit */
    const char *limit;                    /* what limits `resident` */
    const char *over; /* limit that even a single block exceeds; NULL if it fits */
} ak_filling;
/* Computes how a configuration fills a GPU from the space file's "Launch" (of several launches, the
   last) and the device's facts. `registers` is the number for each thread; if it is 0 (unknown),
   `resident` is an upper bound. Returns false if the launch or a fact is not known (out->over is
   NULL), or if no block fits. */
bool ak_brief_filling(ak_filling *out, const ak_brief *brief, const ak_config *config,
                      int registers);

#endif
