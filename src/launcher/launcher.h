/*
 * launcher.h: starts workers on other machines, by ssh, Slurm or a command of the site.
 *
 * A launcher is named by a text: its name and, after a colon, its settings ("ssh:gpu1,gpu2*4"). It
 * has seats, one for each worker. For each seat it gives the words that stand in front of the
 * worker's own command line. The program that these words start connects standard input and output
 * to the worker; worker/relay.h describes the protocol. Nothing listens on a port: ssh, Slurm or
 * the command decides who may start a worker.
 *
 * A launcher is one file, launcher_<name>.c, that defines `const ak_launcher_ops
 * ak_launcher_<name>`, and one line in launchers.def.
 */
#ifndef AK_LAUNCHER_LAUNCHER_H
#define AK_LAUNCHER_LAUNCHER_H

#include "base/buf.h"

#define AK_SEATS_MAX 256
#define AK_WORDS_MAX 64
/* Limit in bytes for a launcher's text and for a word in it, including the 0 at the end. */
#define AK_LAUNCHER_MAX 4096

typedef struct ak_seat {
    char host[64];   /* "" if the launcher chooses it */
    char device[64]; /* device of the worker, as the machine there names it */
    size_t sharing;  /* number of seats on that host, this one included; 1 if that is not known */
} ak_seat;

/* The words of a command line. The struct owns them; a NULL follows the last. */
typedef struct ak_words {
    char *at[AK_WORDS_MAX + 1];
    size_t count;
} ak_words;

typedef struct ak_launcher ak_launcher;

typedef struct ak_launcher_ops {
    const char *name;
    const char *help; /* how the user writes it: "ssh:[OPTIONS ]HOST[*N],.." */
    /* Fills in the seats, at least one and at most `most` (0: the launcher decides how many).
       `devices` is the task's list ("cuda:0,cuda:1"). */
    ak_status (*seats)(ak_launcher *l, const char *devices, size_t most, ak_error *err);
    /* Appends the words in front of the worker's command line. */
    ak_status (*prefix)(ak_words *out, const ak_launcher *l, size_t seat, ak_error *err);
    /* Appends the command that ends what a launcher has started on a seat, for a launcher that was
       killed or failed before it could do so itself. Appends nothing if there is nothing to end.
       NULL: there is no such command. */
    ak_status (*sweep)(ak_words *out, const ak_launcher *l, size_t seat, ak_error *err);
    /* Appends the command that ends the job in which this process runs, if that is the job of a
       worker of this run, else nothing. The far relay (worker/relay.h) runs it if the connection
       ends without a message from the tuner, because then nobody else may end the job. NULL: there
       are no jobs. */
    ak_status (*leave)(ak_words *out, const char *run, ak_error *err);
    bool shell; /* a shell on the other side reads the worker's words, so they are quoted */
    /* Environment variables that the launcher needs, as in ak_proc_spec. Workers do not see
       them. */
    const char *const *passes;
} ak_launcher_ops;

struct ak_launcher {
    const ak_launcher_ops *ops;
    char text[AK_LAUNCHER_MAX]; /* the settings: the text after the colon */
    ak_seat *seats;
    size_t count; /* number of seats */
    /* AUTOKERNEL_SEAT leaves one of the launcher's seats. `whole` is the number of all its seats,
       and `first` is the index of seats[0] among them. */
    size_t whole, first;
    size_t least; /* number of workers with which work begins; 1 if AUTOKERNEL_SEAT leaves one
                     seat */
    bool queues;  /* a worker may wait in a queue for any length of time */
    /* Name of the run, which no other run has at the same time; "": none. The names of queued jobs
       begin with it. */
    char run[64];
};

/* Opens the launcher that a text names. `workers` is "N" or "MIN-MAX"; NULL means that work begins
   with one worker and that every seat of the launcher is used. The caller closes the launcher with
   ak_launcher_close, also after a failure. */
ak_status ak_launcher_open(ak_launcher *out, const char *text, const char *workers,
                           const char *devices, ak_error *err);
void ak_launcher_close(ak_launcher *l);
/* Makes the command line that starts `argv` (NULL-terminated) on a seat. The caller frees *out with
   ak_words_free, also after a failure. */
ak_status ak_launcher_command(ak_words *out, const ak_launcher *l, size_t seat,
                              const char *const *argv, ak_error *err);

/* Asks all launchers for the command that ends the job of this worker (`leave`). *out stays empty
   if there is no such command. The caller frees *out with ak_words_free, also after a failure. */
ak_status ak_launcher_leave(ak_words *out, const char *run, ak_error *err);

/* The functions below are for the launchers themselves. */

/* ak_words_add appends one word, ak_words_split every word of a text, separated by blanks. */
ak_status ak_words_add(ak_words *words, const char *word, ak_error *err);
ak_status ak_words_split(ak_words *words, const char *text, ak_error *err);
void ak_words_free(ak_words *words);
/* Adds a seat, number `nth` of its host, from 0. Its device is entry `nth`, modulo the number of
   entries, from a list ("cuda:0,cuda:1"). With a single numbered device ("cuda:0"), `nth` is added
   to the number ("cuda:2" for 2). */
ak_status ak_launcher_seat(ak_launcher *l, const char *host, size_t nth, const char *devices,
                           ak_error *err);
/* Returns the number of devices in a list such as "cuda:0,cuda:1". */
size_t ak_launcher_listed(const char *devices);
/* Returns the value of an environment variable, or `fallback` if it is not a whole number of at
   least 1. */
size_t ak_launcher_number(const char *variable, size_t fallback);

#endif
