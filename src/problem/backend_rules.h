/*
 * backend_rules.h: the rules that a backend adds to the space files of its implementations.
 * problem/ comes before backend/ and knows no backend: each backend brings its rules in its table
 * (backend.h), and backend.c finds them by name.
 */
#ifndef AK_PROBLEM_BACKEND_RULES_H
#define AK_PROBLEM_BACKEND_RULES_H

#include "base/fs.h"
#include "problem/task.h"

/* A host kernel whose entry is a plain function; "Launch" lists the arguments of this function. */
typedef struct ak_host_entry {
    const char *name;
    const char *language; /* NULL: C */
    const json_t *launch; /* the "Launch" that lists its arguments */
    const ak_problem *problem;
    const char *where; /* for messages */
} ak_host_entry;

/* The rules of a backend. Every member may be NULL. */
typedef struct ak_backend_rules {
    /* Returns AK_INVALID for a mistake in "Launch". Called when the space file is loaded. */
    ak_status (*check_launch)(const ak_implementation_spec *implementation,
                              const ak_problem *problem, ak_error *err);
    /* Returns true if a kernel with this "Launch" has a second entry, specialised for the task's
       own sizes. */
    bool (*is_specialised)(const json_t *launch);
    /* Appends the options that the backend's compiler needs for each configuration. They come after
       the task's macros and before the space file's options. */
    ak_status (*add_options)(ak_options *out, const ak_task *task, const ak_config *config,
                             ak_error *err);
    /* Appends to the source a function "ak_kernel" that calls the entry. */
    ak_status (*adapt)(ak_buf *out, const ak_host_entry *entry, ak_error *err);
    /* Returns true if a space file may give the compiler this option; NULL: any. Any other option
       is refused before anything is compiled, because it could run a program or reach other files;
       a backend therefore lists the prefixes that it allows (ak_text_begins). */
    bool (*allows_option)(const char *option);
} ak_backend_rules;

/* Returns a backend's rules; NULL if the backend adds none, or if this build has no backend of
   this name. Defined in backend/backend.c. */
const ak_backend_rules *ak_backend_rules_find(const char *backend);

/* A Triton function of a user's Python file. */
typedef struct ak_python_source {
    const char *path;
    const char *function;        /* "": the file's only function */
    const json_t *settings;      /* of the JSON file beside it; an empty object if there is none */
    const char *settings_name;   /* for messages */
    char reference[AK_PATH_MAX]; /* Python file beside it with the reference; "": none */
} ak_python_source;
/* Writes problem.json, triton.json and the sources into a folder. Defined in
   backend/triton/triton_adopt.c. */
ak_status ak_backend_adopt_python(const char *folder, const ak_python_source *source,
                                  ak_error *err);

#endif
