/*
 * draft.h: a recording while its file is read. A reader names the parameters where the file does,
 * then adds one configuration after the other; ak_draft_finish sorts them and builds the space.
 *
 * Internal to recording/. A format is one file read_<name>.c with a table ak_recording_<name>, and
 * one line in recordings.def.
 */
#ifndef AK_RECORDING_DRAFT_H
#define AK_RECORDING_DRAFT_H

#include "base/map.h"
#include "recording/recording.h"

/* A few times the largest published space that was measured in full. */
#define AK_RECORDING_CONFIGS_MAX 1000000

typedef struct ak_draft_parameter {
    char *name;
    json_t *values; /* as in the file, each once */
    ak_map *places; /* of the values in that list, by their texts */
    bool ordered;   /* the file says in which order; else numbers are sorted at the end */
} ak_draft_parameter;

typedef struct ak_draft {
    const char *where; /* the file, for messages */
    char *kernel, *device, *size, *objective;
    char *implementation, *dtype, *choices;
    json_t *facts; /* of the device, an object of whole numbers; NULL: none */
    bool maximise;
    ak_draft_parameter parameters[AK_PARAMETERS_MAX];
    size_t parameter_count;
    ak_config *configs;
    ak_record *records;
    size_t count, config_capacity, record_capacity;
} ak_draft;

typedef struct ak_recording_format {
    const char *name;                      /* for messages: "a cache file of Kernel Tuner" */
    bool (*recognise)(const json_t *file); /* an object */
    ak_status (*read)(ak_draft *draft, const json_t *file, ak_error *err);
} ak_recording_format;

#define X(name) extern const ak_recording_format ak_recording_##name;
#include "recording/recordings.def"
#undef X

/* Trials of one task in an archive of ours: of the environment of the latest. */
ak_status ak_recording_read_archive(ak_draft *draft, const char *path, ak_error *err);

void ak_draft_clear(ak_draft *draft);
ak_status ak_draft_text(char **member, const char *text, ak_error *err); /* replaces; NULL is "" */
/* The objective by its name; whether more of it is better follows from that. */
ak_status ak_draft_objective(ak_draft *draft, const char *name, ak_error *err);
/* A parameter, with its values in their order, or NULL: those that occur, numbers ascending. */
ak_status ak_draft_parameter_add(ak_draft *draft, const char *name, const json_t *values,
                                 ak_error *err);
/* A configuration, as an object with a member for each parameter (others are left alone). Without
   parameters so far, its members are the parameters. A record that is ok must have a value above 0.
   Of several records of a configuration the last that is ok counts, else the last. */
ak_status ak_draft_add(ak_draft *draft, const json_t *config, const ak_record *record,
                       const char *where, ak_error *err);
/* What expressions may read of what the file says: facts, and besides them, in a scope whose parent
   they are, sizes ("M=128,N=64") and dtype. */
ak_status ak_draft_facts(ak_scope **out, const ak_draft *draft, ak_error *err);
ak_status ak_draft_constants(ak_scope **out, const ak_draft *draft, const ak_scope *facts,
                             ak_error *err);
/* A ConfigurationSpace that reads nothing but its parameters (fit.c): itself if it is one, else one
   with the recorded values, the defaults that `constants` suffice for, and the conditions that read
   only parameters. */
ak_status ak_draft_fit(json_t **out, const ak_draft *draft, const json_t *definition,
                       const ak_scope *constants, const char *where, ak_error *err);
/* Moves what was read into the recording, and builds its space. `definition`: the
   ConfigurationSpace of the space file `where`, as ak_draft_fit gives it, or NULL. */
ak_status ak_draft_finish(ak_recording *out, ak_draft *draft, const json_t *definition,
                          const char *where, ak_error *err);

/* What a file calls the statuses; a row without a word ends the list. */
typedef struct ak_draft_word {
    const char *word;
    ak_trial_status status;
} ak_draft_word;
/* The status of a result by its member `key`. AK_INVALID, with the words that there are, for
   another one. */
ak_status ak_draft_status(ak_record *record, const json_t *result, const char *key,
                          const ak_draft_word *words, const char *where, ak_error *err);

/* Sum of members of an object that are numbers and not negative; others count as 0. */
double ak_draft_sum(const json_t *object, const char *const *keys);

#endif
