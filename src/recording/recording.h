/*
 * recording.h: a space whose configurations were all measured once, so that a search can be
 * replayed without the device. The public part is in autokernel.h.
 *
 * recording.c opens a file: it unpacks it, finds the format by what is in it and lets a reader fill
 * a draft (draft.h); the draft becomes a space whose valid configurations are those that were
 * recorded, and a result for each. A configuration that failed when it was recorded is valid: it
 * could be proposed, and costs what it cost.
 */
#ifndef AK_RECORDING_RECORDING_H
#define AK_RECORDING_RECORDING_H

#include "base/json.h"
#include "problem/space.h"

/* What a configuration came to. */
typedef struct ak_record {
    ak_trial_status status;
    double value;   /* of the objective, as recorded; above 0 if ok, else 0 */
    double seconds; /* what trying it cost */
} ak_record;

struct ak_recording {
    char *path, *kernel, *device, *size, *objective;
    char *implementation, *dtype, *choices; /* "" where only archives of ours say them */
    bool maximise;
    bool has_default;       /* a space file says which configuration is the default */
    json_t *definition;     /* of the space, as in a T1 file; reads no constants */
    char *rank;             /* the space file's "Rank", if all that it reads is known; NULL: none */
    ak_scope *device_facts; /* those that the file says */
    ak_scope *constants;    /* these, and the sizes, as far as the recording has them */
    ak_config *configs;     /* sorted: the place is the index in the space */
    ak_record *records;     /* of each */
    size_t count;
    ak_space *space;
    ak_recording_facts facts; /* its texts are those above */
    double *ascending;        /* what is minimised, of the facts.ok that worked, best first */
    double seconds_each;      /* facts.seconds_each */
};

/* With the space file of a kernel, whose expressions may read `constants` (NULL: those that the
   recording has): what was recorded is valid whatever the conditions say, so those that read more
   than parameters are left out; so is a default or a rank of which something is not known. `space`
   NULL: as ak_recording_open. */
ak_status ak_recording_open_space(ak_recording **out, const char *path, const json_t *space,
                                  const char *where, const ak_scope *constants, ak_error *err);

/* The objective as something to minimise: the value, or its negative if more is better. */
double ak_recording_minimised(const ak_recording *recording, const ak_record *record);
/* The same as a positive number of the kind that strategies expect (a time): the value, or its
   reciprocal if more is better. */
double ak_recording_time(const ak_recording *recording, const ak_record *record);

/* Another space of the same configurations with the same indices, for another thread: a space is
   used by one thread at a time. */
ak_status ak_recording_space_new(ak_space **out, const ak_recording *recording, ak_error *err);

/* The cut-off of the score: where random search is expected to have gone the fraction `p` of the
   way from the median to the optimum (see ak_simulate). */
typedef struct ak_cutoff {
    double target; /* minimised objective */
    size_t evaluations;
    double seconds;
} ak_cutoff;
void ak_recording_cutoff(ak_cutoff *out, const ak_recording *recording, double p);
/* The minimised objective that random search is expected to have found after `seconds`. */
double ak_recording_baseline(const ak_recording *recording, double seconds);

#endif
