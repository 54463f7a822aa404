/*
 * archive.h: the archive's internal side; the public side is in autokernel.h.
 *
 * One SQLite file: a table of trials, one of runs, one of environments (schema.c, described in
 * docs/formats.md). archive.c opens it, rows.c adds and reads rows, trial.c is the trial
 * itself and its JSON, export.c and import.c drive the formats of formats.def.
 */
#ifndef AK_ARCHIVE_ARCHIVE_H
#define AK_ARCHIVE_ARCHIVE_H

#include "base/json.h"

/* One row per run. Texts are borrowed by add and owned by the record when read. */
typedef struct ak_run {
    char *id;              /* 16 hex digits */
    char *started, *ended; /* UTC; ended NULL while it runs or if it was killed */
    char *kernel, *implementation, *device, *size, *dtype, *choices;
    char *strategy;
    char *environment;      /* hash */
    char *environment_json; /* what was hashed, in words */
    char *options_json;     /* budgets, seed, command line */
    char *result_json;      /* the object that tune --json prints; NULL until the end */
    bool imported;          /* set when read: only its trials are known */
} ak_run;
void ak_run_clear(ak_run *run);

ak_status ak_archive_add_run(ak_archive *archive, const ak_run *run, ak_error *err);
ak_status ak_archive_end_run(ak_archive *archive, const char *id, const char *ended,
                             const char *result_json, ak_error *err);
/* id NULL: the latest that was made here or, if there is none, the latest that was imported. */
ak_status ak_archive_get_run(ak_run *out, ak_archive *archive, const char *id, ak_error *err);
/* The latest run that was made here of the same kernel, implementation, size, dtype, choices and
   environment as `like` and that came to its end. *found: there is one. */
ak_status ak_archive_ended_run(bool *found, ak_run *out, ak_archive *archive, const ak_run *like,
                               ak_error *err);
/* Durable when it returns; sets trial->id, and trial->timestamp if it is NULL. The run, if there is
   one, must have been added. A reason or model that is not UTF-8 is stored with U+FFFD in place of
   the bad bytes (a compiler may print anything); other texts that are not UTF-8 are refused. */
ak_status ak_archive_add_trial(ak_archive *archive, ak_trial *trial, ak_error *err);

/* A question to a language model and what came back. Texts are borrowed by add and owned by the
   record when read; numbers that are not known are 0. */
typedef struct ak_call {
    char *run;
    int generation;
    char *started;                /* UTC */
    char *model;                  /* "openai:gpt-5" */
    char *system, *brief, *state; /* the prompt, see llm/prompt.h */
    char *reply;                  /* NULL: none came */
    char *finish;                 /* why the model stopped; NULL: none came */
    char *fault, *error;          /* kind and one line; NULL: it succeeded */
    char *request_id;             /* the provider's */
    char *proposals;              /* JSON array, see docs/formats.md */
    int attempts;
    int64_t elapsed_ns;
    int64_t input_tokens, cached_tokens, output_tokens, reasoning_tokens;
    bool priced, replayed;
    double cost_usd;
} ak_call;
void ak_call_clear(ak_call *call);
ak_status ak_archive_add_call(ak_archive *archive, const ak_call *call, ak_error *err);
/* The calls of a run (of many sizes: of all of these), or of all (NULL), oldest first. */
typedef bool (*ak_call_visitor)(void *context, const ak_call *call);
ak_status ak_archive_each_call(ak_archive *archive, const char *run, ak_call_visitor visit,
                               void *context, ak_error *err);

/* What the environment's hash stands for; *out NULL if only the hash is known. ak_free. */
ak_status ak_archive_environment(char **out, ak_archive *archive, const char *hash, ak_error *err);

/* A trial as the JSON object of `history --json` and of the exports, and back. A value that was not
   measured is null; max_error is null where it is not finite. */
ak_status ak_trial_to_json(json_t **out, const ak_trial *trial, ak_error *err);
ak_status ak_trial_from_json(ak_trial *out, const json_t *object, const char *where, ak_error *err);

/* Names and descriptions of the formats of export and import, in the order of formats.def. */
ak_status ak_formats_each(ak_list_visitor visit, void *context, ak_error *err);

#endif
