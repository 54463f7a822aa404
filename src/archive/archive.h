/*
 * archive.h: the archive's internal side; the public side is in autokernel.h.
 *
 * The archive is one SQLite file with tables of trials, runs, environments, calls, sources and
 * studies (schema.c; docs/formats.md describes them). archive_open.c opens it, runs.c and rows.c
 * add and read runs and trials, waiting.c keeps what cannot be added yet, and trial.c copies and
 * validates trials and converts them to JSON and back. fleets.c and whereabouts.c keep tables of
 * their own in the same file. Exchange formats are in formats/.
 */
#ifndef AK_ARCHIVE_ARCHIVE_H
#define AK_ARCHIVE_ARCHIVE_H

#include "base/json.h"
#include "base/pack.h"

/* The reason of a trial begins with this if the machine was too busy to judge the candidate. Such a
   trial says nothing about the configuration. */
#define AK_NOT_JUDGED "not judged: "

/* Returns true if the machine was too busy to judge the candidate of this trial. */
bool ak_trial_not_judged(const ak_trial *trial);

/* Returns true if the failure of this trial excludes its configuration from being the best, even if
   another trial of that configuration passed. */
bool ak_trial_refutes(const ak_trial *trial);

/* Returns `filter`, restricted to a trial's task: kernel, implementation, device, size, dtype and
   options. The result borrows the trial's texts. */
ak_archive_filter ak_archive_narrow(ak_archive_filter filter, const ak_trial *trial);
/* Returns a filter for the trials with the configuration, task and environment of `trial`, whose
   texts it borrows. */
ak_archive_filter ak_trial_filter(const ak_trial *trial);

/* Returns AK_INVALID if a trial that `config` selects refutes its configuration at the trial's own
   size, so that this configuration is not exported for that size. `config` names a configuration,
   task and environment. */
ak_status ak_archive_refuse_refuted(ak_archive *archive, const ak_archive_filter *config,
                                    ak_error *err);

/* Returns true if the failure of this trial may be the machine's fault, so that a run that resumes
   may try the configuration again. */
bool ak_trial_may_be_tried_again(const ak_trial *trial);

/* Returns the winner that a run over many sizes names at `size`, as a new reference to an object in
   the form of a result for that size alone; NULL if the run names none or there is no memory. The
   winner is the best at `size` of the elites from all sizes. The member "beside" names the run over
   that size alone, if one is recorded; the winner of that run was one of the elites. "contestants"
   has the winner and the fastest library. Without a library for this size, it has the winner only,
   and "baseline" and "reference" are left out. "warnings" is there only if `result` has it. */
json_t *ak_result_at_size(const json_t *result, const char *size);

/* A run, as one row of the archive. ak_archive_add_run borrows the texts; a run that was read owns
   them. */
typedef struct ak_run {
    char *id;              /* 16 hex digits; in imported trials, any text */
    char *started, *ended; /* UTC; ended is NULL before the run ends, and if the run was killed or
                              is imported */
    char *kernel, *implementation, *device, *size, *dtype, *choices;
    char *strategy;
    char *environment;      /* hash */
    char *environment_json; /* the environment, as the JSON text that is hashed; NULL: not known */
    char *options_json;     /* JSON: budgets, seed, command line; NULL: not known */
    /* The object that tune --json prints. NULL if there is none; before the run ends, an object
       that has only the member "warnings"; of an imported run, only the figures of its finish
       (formats/finishes.c). */
    char *result_json;
    bool imported; /* set by reading: the run was added by an import of trials */
} ak_run;
void ak_run_clear(ak_run *run);
/* Returns a filter for the trials with a run's task and environment, including those from other
   runs. It borrows the run's texts. */
ak_archive_filter ak_run_filter(const ak_run *run);

/* Sets *out to a sentence, which the caller frees with ak_free, if a trial with the run's task and
   environment refutes the best configuration in `result`; otherwise to NULL. Configurations in
   `result` must be texts (ak_config_text_in_result). */
ak_status ak_archive_refuted(char **out, ak_archive *archive, const ak_run *run,
                             const json_t *result, ak_error *err);
/* Adds the sentence of ak_archive_refuted, if there is one, to the warnings in `result`. For a run
   over many sizes, adds such a sentence for each size at which a trial refutes the winner of that
   size. */
ak_status ak_archive_warn_refuted(json_t *result, ak_archive *archive, const ak_run *run,
                                  ak_error *err);

/* Returns whether the file at `path` begins with the signature of SQLite files, as every archive
   does unless the file is still empty. */
bool ak_archive_is_at(const char *path);
/* Opens a copy of an archive in memory, or an empty archive if there is no file or an empty one, so
   that the file never changes. (ak_archive_open_existing, however, brings a writable file up to the
   current schema.) */
ak_status ak_archive_open_copy(ak_archive **out, const char *path, ak_error *err);

/* Adds a run. Returns AK_INVALID if the archive has one with this id. */
ak_status ak_archive_add_run(ak_archive *archive, const ak_run *run, ak_error *err);
/* Sets the end and the result of a run. If `ended` is NULL, the run goes on, and the result holds
   what is known so far. */
ak_status ak_archive_end_run(ak_archive *archive, const char *id, const char *ended,
                             const char *result_json, ak_error *err);
/* Reads the run with this id. The caller clears *out with ak_run_clear. If `id` is NULL, reads the
   latest run that was not added by an import of trials or, if there is none, the latest imported
   run. The clock of a recording begins in 1970, so a run on a recording counts as made when it was
   added. Returns AK_NOT_FOUND if there is no such run. */
ak_status ak_archive_get_run(ak_run *out, ak_archive *archive, const char *id, ak_error *err);
/* Sets *out to whether two hashes stand for one environment, which in an older archive can have
   several hashes: former ones and today's (ak_archive_rename_environment). */
ak_status ak_archive_same_environment(bool *out, ak_archive *archive, const char *one,
                                      const char *other, ak_error *err);
/* Sets *out to whether two environments, named by their hashes, differ at most in the source that
   was measured: true if a hash is NULL, false if the hashes differ and the archive does not know
   what one of them stands for. */
ak_status ak_archive_same_but_source(bool *out, ak_archive *archive, const char *one,
                                     const char *other, ak_error *err);
/* Sets *out to whether a trial measured the kernel as it is now; false if that cannot be known.
   `place` as for ak_archive_kernel_changed. */
ak_status ak_archive_kernel_is_present(bool *out, ak_archive *archive, const ak_trial *trial,
                                       const char *place, ak_error *err);
/* Reads a run that was not imported, has ended with a result, and has the same kernel,
   implementation, size, dtype, options and environment as `like`: the one that ended before `later`
   others of these; 0 is the latest. Sets *found to whether there is one. */
ak_status ak_archive_ended_run(bool *found, ak_run *out, ak_archive *archive, const ak_run *like,
                               size_t later, ak_error *err);

/* Visits the runs, except imported ones, with the same kernel, implementation, device, size, dtype
   and options as `like`, in any environment, oldest first. Stops at the visitor's first failure. */
typedef ak_status (*ak_run_taker)(void *context, const ak_run *run, ak_error *err);
ak_status ak_archive_runs_like(ak_archive *archive, const ak_run *like, ak_run_taker take,
                               void *context, ak_error *err);
/* Visits trials as ak_archive_each does, and stops at the visitor's first failure. */
typedef ak_status (*ak_trial_taker)(void *context, const ak_trial *trial, ak_error *err);
ak_status ak_archive_take(ak_archive *archive, const ak_archive_filter *filter, ak_trial_taker take,
                          void *context, ak_error *err);

/* Computes efficiency and bound again for the successful trials of one task and environment that
   have both rates, with these ceilings; 0 means that a ceiling is not known. Does nothing if
   neither is known. The filter must name the task and the environment. */
ak_status ak_archive_place(ak_archive *archive, const ak_archive_filter *task, double peak_tflops,
                           double bandwidth_gbs, ak_error *err);

/* A question to a language model and its answer. ak_archive_add_call borrows the texts; a call that
   was read owns them. Numbers that are not known are 0. */
typedef struct ak_call {
    char *run;
    int generation;
    char *started;                /* UTC */
    char *model;                  /* "openai:gpt-5" */
    char *system, *brief, *state; /* the prompt, see llm/prompt.h */
    char *reply;                  /* NULL: the call failed, even if a reply came (a refusal) */
    char *finish;                 /* why the model stopped; NULL: the call failed */
    char *fault, *error;          /* kind and one line; NULL: success */
    char *request_id;             /* the provider's id */
    char *proposals;              /* JSON array, see docs/formats.md */
    int attempts;
    int64_t elapsed_ns;
    int64_t input_tokens, cached_tokens, output_tokens, reasoning_tokens;
    bool priced, replayed;
    double cost_usd;
} ak_call;
void ak_call_clear(ak_call *call);
/* Returns false if a limit set by the user (on calls, tokens or dollars) refused the question
   before it was sent. */
bool ak_call_was_asked(const ak_call *call);
/* Returns whether the numbers of tokens are known: they were reported, or nothing was sent. They
   stay 0 if an attempt was lost, because nobody knows whether the model worked on it. */
bool ak_call_tokens_known(const ak_call *call);
ak_status ak_archive_add_call(ak_archive *archive, const ak_call *call, ak_error *err);
/* Visits the calls of a run in the order in which they were added, until the visitor returns false.
   For a run over many sizes, visits the calls of the runs of all its sizes; if `run` is NULL, the
   calls of all runs. */
typedef bool (*ak_call_visitor)(void *context, const ak_call *call);
ak_status ak_archive_each_call(ak_archive *archive, const char *run, ak_call_visitor visit,
                               void *context, ak_error *err);

/* A run must not end because another program, perhaps a backup, keeps the archive locked for a
   while, because the file cannot be written, as on a full disk, or because the archive is damaged.
   Between `defer` and `settle`, runs, trials and calls that cannot be written for such a reason
   wait in memory, in order; other failures are returned at once. What waits is tried again whenever
   something is added and by `retry`, after pauses that grow from 1 to 30 s. If the archive then
   refuses an item for a reason that does not pass, the items behind it are still written, and
   `settle` writes the refused one to the file without trying again. A trial that waits has a
   negative id; ak_archive_trial_id returns its real id once it is written and 0 before. `settle`
   tries for at most a minute, unless it is cancelled, and then writes what remains, except calls,
   to a file that `autokernel import` reads: beside the archive or, if that fails, in the folder for
   temporary files or the current one. If no file can be written either, `settle` fails with a
   message that says what is lost. Pairs of `defer` and `settle` may be nested: the outermost pair
   counts. The function `tell` gets lines for the user about all this; it may be NULL. */
typedef struct ak_archive_patience {
    void (*tell)(void *context, const char *line);
    void *context;
    const volatile int *cancel; /* `settle` stops trying when it is not 0; may be NULL */
} ak_archive_patience;
ak_status ak_archive_defer(ak_archive *archive, const ak_archive_patience *patience, ak_error *err);
void ak_archive_retry(ak_archive *archive);
size_t ak_archive_waiting(const ak_archive *archive);
int64_t ak_archive_trial_id(const ak_archive *archive, int64_t id);
ak_status ak_archive_settle(ak_archive *archive, ak_error *err);
/* Ends the deferring as `settle` does, but writes nothing: the items that wait stay in memory until
   `retry` or the closing of the archive writes them. */
void ak_archive_undefer(ak_archive *archive);

/* Adds trials as ak_archive_add_trial does, in one transaction if possible, so that they share one
   flush to the disk. When it returns AK_OK all are durable, except trials that wait
   (ak_archive_defer). If the archive refuses a trial, the others have been added all the same; if
   it cannot be written, those before the failure. The error is that of the first that failed. */
ak_status ak_archive_add_trials(ak_archive *archive, ak_trial **trials, size_t count,
                                ak_error *err);

/* Adds what the archive at `path` has, except the tables that are true only on one machine; the
   file at `path` does not change. See merge.c. *added counts the new trials, and *known those that
   were here already. */
ak_status ak_archive_merge(size_t *added, size_t *known, ak_archive *archive, const char *path,
                           ak_error *err);

/* Stores the hash of the code to which a trial's configuration compiles for all sizes. Does nothing
   if the trial has such a hash, does not exist, or was made on a recording. */
ak_status ak_archive_keep_code(ak_archive *archive, int64_t trial, const char *hash, ak_error *err);
/* Stores the files of a kernel under `hash`, which environments name in their member "source".
   Files that the archive has under this hash are replaced, because they may come from another
   archive and nobody has checked their hash. ak_archive_get_sources reads the files; it returns
   AK_NOT_FOUND if there are none. Whoever compiles them or takes them for right must compare the
   hash (problem/sources.h). */
ak_status ak_archive_keep_sources(ak_archive *archive, const char *hash, const ak_pack *sources,
                                  ak_error *err);
ak_status ak_archive_get_sources(ak_pack *out, ak_archive *archive, const char *hash,
                                 ak_error *err);

/* Gives the object for which an environment's hash stands, for a former hash the object of today's
   (ak_archive_rename_environment). Gives NULL if the archive has only the hash, or not even that.
   The caller frees the object with json_decref. */
ak_status ak_archive_environment(json_t **out, ak_archive *archive, const char *hash,
                                 ak_error *err);

/* If the archive has an environment under the hash `former`, notes that this version gives the same
   environment the hash `hash` and the words `words`: older versions hashed environments in another
   way. The trials and runs of the environment do not change. A query for either hash gets the
   trials and runs of both. Sets *out to whether the archive had the former hash without such a note
   before the call. */
ak_status ak_archive_rename_environment(bool *out, ak_archive *archive, const char *former,
                                        const char *hash, const char *words, ak_error *err);
/* Converts a trial to the JSON object of `history --json` and of the exports. A value that was not
   measured is null; max_error is null if it is not finite. ak_trial_from_json below converts the
   object back, and takes a max_error that is null for infinity. */
ak_status ak_trial_to_json(json_t **out, const ak_trial *trial, ak_error *err);
/* Returns the interval of a trial's time as an array of its two ends in ms, or JSON null if there
   is none or the samples are too few (ak_trial_few_samples). Returns NULL without memory. */
json_t *ak_trial_interval(const ak_trial *trial);
/* Sets the interval of a successful trial that was read without one to the range of its samples if
   these are too few for an interval (ak_trial_few_samples), because exports then leave the interval
   out. */
void ak_trial_set_range(ak_trial *trial);
ak_status ak_trial_from_json(ak_trial *out, const json_t *object, const char *where, ak_error *err);
/* Reads from a list the samples of a trial that has no samples yet. `name` and `where` are for
   messages. */
ak_status ak_trial_samples(ak_trial *trial, const json_t *list, const char *name, const char *where,
                           ak_error *err);

#endif
