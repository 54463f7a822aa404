/*
 * recording.h: a recording holds the result and the cost of every measured configuration of a
 * space, so that a search can be repeated without the device. The public part is in autokernel.h.
 *
 * Four words are easily confused. A recording holds measurements of configurations. A replay
 * (lab/replay.c) runs a strategy on a recording, without the tuner. A recall (worker/pool_recall.c)
 * answers a trial of the whole tuner from a recording, with the backend sim as its device. A tape
 * (llm/tape.h) holds the questions to a language model and its answers.
 *
 * formats/recording_open.c reads the files. The valid configurations of a recording's space are
 * those that were recorded. This includes configurations that failed: a search may propose them
 * and pays what they cost.
 */
#ifndef AK_RECORDING_RECORDING_H
#define AK_RECORDING_RECORDING_H

#include "space/space.h"

/* The recorded result of one configuration. */
typedef struct ak_record {
    ak_trial_status status;
    double value;   /* value of the objective as recorded; above 0 if ok, else 0 */
    double seconds; /* seconds that the trial cost */
    double joules;  /* energy of one call; 0: not recorded */
    double ms;      /* time of one call if the objective is not a time; 0: not recorded */
} ak_record;

struct ak_recording {
    char *path, *kernel, *device, *size, *objective;
    char *implementation, *dtype, *choices; /* "" if the file does not say */
    char *unit;                             /* of an objective that is not a time; NULL: not
                                               known */
    const char *left_out;                   /* as in ak_recording_facts */
    bool maximise;
    bool has_default;   /* true if a space file declares a default that was recorded (fit.c) */
    json_t *definition; /* definition of the space as in a T1 file; it reads no constants */
    /* The member "rank" of the file: the "Rank" that the space file had when a language model was
       asked about this recording. Only with it can these conversations be replayed. NULL: the file
       has none. */
    char *stated_rank;
    /* The rank in use: stated_rank, else "Rank" of the space file. NULL if there is none or if it
       reads an unknown name. */
    char *rank;
    ak_scope *device_facts; /* device facts that the file states */
    /* What the file says of the environment that it was recorded in: an object such as {"name":
       "NVIDIA H200", "driver": "580.159.04", "nvrtc": "13.0"}; NULL: nothing. */
    json_t *environment;
    ak_scope *constants; /* device facts, sizes and dtype that the recording states, and the options
                            of the space file's problem; or the constants with which the recording
                            was opened */
    ak_config *configs;  /* sorted; the position is the index in the space */
    ak_record *records;  /* records[i] belongs to configs[i] */
    size_t count;
    ak_space *space;
    ak_recording_facts facts; /* its strings are members above */
    /* minimised objectives of the facts.ok configurations that worked, best first */
    double *ascending;
};

/* Opens a recording together with the space file of its kernel. The expressions of the space file
   may read `constants`; NULL stands for the constants of the recording. Every recorded
   configuration is valid, so conditions that read more than parameters are left out. So are all
   defaults if one of them cannot be computed or no recorded value serves for it, and a rank that
   reads an unknown name. If `space` is NULL, the function does what ak_recording_open does. */
ak_status ak_recording_open_space(ak_recording **out, const char *path, const json_t *space,
                                  const char *where, const ak_scope *constants, ak_error *err);

/* Returns whether the objective is a time, in ms. */
bool ak_recording_is_timed(const ak_recording *recording);
/* Returns the objective of a record that is OK as a value to minimise: the recorded value, or its
   negative if more is better. */
double ak_recording_minimised(const ak_recording *recording, const ak_record *record);
/* Returns the objective of a record that is OK as a positive number to minimise, which strategies
   take for a time: the recorded value, or its reciprocal if more is better. */
double ak_recording_time(const ak_recording *recording, const ak_record *record);
/* Returns the time of one call of a record that is OK, in ms; 0: not recorded. */
double ak_recording_ms(const ak_recording *recording, const ak_record *record);
/* Returns the least number above 0 that `of`, one of the two functions above, gives for the
   configurations that worked; 0 if there is none. */
double ak_recording_least(const ak_recording *recording,
                          double (*of)(const ak_recording *, const ak_record *));

/* Computes `facts` and `ascending` from the other fields. Returns AK_INVALID if no configuration
   worked. */
ak_status ak_recording_summarise(ak_recording *recording, ak_error *err);

/* Builds a second space with the same configurations at the same indices, which the caller frees
   with ak_space_free. Each thread needs its own, because a space may only be used by one thread at
   a time. */
ak_status ak_recording_space_new(ak_space **out, const ak_recording *recording, ak_error *err);
/* Draws a random default for a space of the recording, unless a space file declares one. Without a
   declared default the recording does not say where a search would start, and the first
   configuration of the space may happen to lie close to the optimum. */
void ak_recording_draw_default(ak_space *space, const ak_recording *recording, uint64_t seed);

/* Returns the minimised objective that random search is expected to have reached after `seconds`,
   in which it has made at least one trial. */
double ak_recording_baseline(const ak_recording *recording, double seconds);

#endif
