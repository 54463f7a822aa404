/*
 * relay.h: connects the tuner with the workers on another machine.
 *
 *     tuner -- near relay -- launcher (ssh, srun, ...) - - far relay -+- device worker
 *                                                                     +- compile worker 1
 *                                                                     +- compile worker 2 ...
 *
 * The pool starts the near relay as if it were the device worker (`autokernel worker --link`). The
 * near relay starts the launcher, whose standard input and output lead to the far relay
 * (`autokernel worker --stdio`). The far relay starts a device worker at once, and compile workers
 * when the first request for each comes. Both relays pass lines on. Besides that:
 *
 *   - The first line of the far relay is its hello: protocol, version, build, host, cores, the
 *     place where these cores are, and the folder for the files of the run. The folder is the
 *     pool's own if the other machine sees it ("shared"), else a new one, into which the files
 *     travel (travel.h). Any other first line, and another protocol, version or build, ends the
 *     connection with one line that says why.
 *   - A line that begins with {"core": K, is for compile worker K or comes from it; the far relay
 *     removes or adds that member. All other lines with an id are for the device worker or come
 *     from it. {"core": K, "ended": why} says that compile worker K is gone; the next request for
 *     it starts another. {"end": K} ends it.
 *   - {"died": why, "begun": N, "lost": true or false} says that the device worker is gone; the
 *     connection stays. {"begin": N} starts device worker N, in place of an earlier one if it is
 *     still there. The first is number 1.
 *   - An empty line is a beat. The near relay sends one now and then and the far relay answers it,
 *     whatever the worker is doing. A relay that hears nothing for several beats ends its side, so
 *     no process of ours stays behind on a machine that is cut off.
 *   - When the tuner has ended, however it did, the near relay says {"bye": true} and ends the
 *     launcher: it closes the pipe, then sends SIGTERM, then SIGKILL. A launcher that was killed
 *     may leave a job in a queue; its sweep (launcher.h) ends that. When its own input ends, the
 *     far relay ends its workers and, if it was not told bye, the job in which it runs.
 *   - The last line before an end that was not asked for is {"ended": why, "lost": true or false,
 *     "final": true or false}. "lost": the connection broke, which says nothing about the
 *     worker's job; "final": starting it again would not help.
 *
 * The tuner trusts nothing that comes from the other machine: it limits the length of lines and
 * checks every field, as it does for a worker's replies (wire.h).
 */
#ifndef AK_WORKER_RELAY_H
#define AK_WORKER_RELAY_H

#include "base/hash.h"
#include "base/proc.h"
#include "worker/wire.h"

#define AK_RELAY_PROTOCOL 3
/* Most compile workers of one far relay. */
#define AK_CORES_MAX 128
/* Start of a line that is for a compile worker or comes from one; its number follows. */
#define AK_RELAY_CORE "{\"core\":"
/* Beats that may be missed before the other side counts as lost. */
#define AK_RELAY_MISSED 4
/* A worker must say hello within this many beats, unless its launcher queues. */
#define AK_RELAY_HELLO 12
/* What ak_proc_wait says of a device worker that does not find its device
   (AK_WORKER_EXIT_USAGE). */
#define AK_RELAY_NO_DEVICE "exit code 2"
/* Milliseconds between two beats, unless AUTOKERNEL_BEAT_MS has a number from 5 to 60000. */
#define AK_RELAY_BEAT_MS 5000

/* One side of a relay: where its lines come from and where lines for it go. */
typedef struct ak_relay_end {
    int in, out; /* non-blocking */
    ak_line_reader lines;
    ak_buf pending; /* the bytes from `sent` on are not written yet */
    size_t sent;
    bool over;     /* this side closed its pipe, or sent a line that is too long (`broken`) */
    bool broken;   /* this side sent a line that is too long */
    int64_t heard; /* when bytes came last */
} ak_relay_end;

/* The first function makes the descriptors non-blocking. The second frees the buffers and leaves
   the descriptors open. */
void ak_relay_open(ak_relay_end *end, int in, int out);
void ak_relay_close(ak_relay_end *end);
/* Appends a line for this side. */
void ak_relay_say(ak_relay_end *end, const char *line, size_t length);
/* Appends an object as a line, unless that would be too long, and frees the object. */
void ak_relay_say_json(ak_relay_end *end, json_t *object);
/* Appends the last line before an end: {"ended": why, "lost": lost, "final": final}. */
void ak_relay_say_ended(ak_relay_end *end, const char *why, bool lost, bool final);
/* Returns whether a line begins with this text. */
bool ak_relay_begins(const ak_buf *line, const char *text);
/* Returns how many bytes wait to be written to this side. */
size_t ak_relay_waiting(const ak_relay_end *end);
/* Waits at most wait_ns until bytes can be read or written on one of the sides, or until the
   descriptor `extra` (-1: none) can be read; then reads and writes what the sides allow. The first
   side exchanges lines with all others, at most AK_RELAY_ENDS_MAX sides in all. It is not read
   while another side has more than AK_LINE_MAX bytes pending, and the others are not read while the
   first has. */
#define AK_RELAY_ENDS_MAX (2 + AK_CORES_MAX)
void ak_relay_turn(ak_relay_end *const *ends, size_t count, int extra, int64_t wait_ns);
/* Writes what is pending, but stops after about wait_ns. */
void ak_relay_flush(ak_relay_end *end, int64_t wait_ns);

/* Returns how many compile workers a device gets on a machine that reports this number of cores, if
   `sharing` devices share them: 1 to AK_CORES_MAX, or 0 if the machine reports no core. */
size_t ak_relay_compile_workers(double cores, size_t sharing);
/* Runs a command of a launcher in the environment of this process. Ignores its failure. */
void ak_relay_run(const char *const *argv, int64_t timeout_ns);
/* Returns the time between two beats in milliseconds. */
int64_t ak_relay_beat_ms(void);
/* Writes the hash of this program's file, or "" if it cannot be read. */
#define AK_BUILD_BYTES AK_HASH_QUICK_BYTES
void ak_relay_build(char out[AK_BUILD_BYTES]);

/* Runs the near relay: `worker --link BEAT_MS QUEUES COUNT SWEEP... WORDS...`. QUEUES: "1" if the
   launcher may let a worker wait in a queue for any time. WORDS: the command of the launcher.
   SWEEP: COUNT words of a command that ends what a launcher leaves behind if it does not end by
   itself. */
int ak_relay_near(int argc, char **argv);
/* Runs the far relay: `worker --stdio BEAT_MS FOLDER ROLE WHAT [BACKEND]`. FOLDER: the temporary
   folder of the pool. Its device worker is `worker ROLE WHAT`. BACKEND: of the compile workers;
   none if it is missing. */
int ak_relay_far(int argc, char **argv);
/* Runs the guard: `worker --guard PID PATIENCE_MS`. It kills the far relay PID, which started it,
   and the relay's workers if the relay writes nothing for that long, because somebody has stopped
   it (SIGSTOP). Ssh would let the stopped relay stay for ever, and its workers would keep their
   device. */
int ak_relay_guard(int argc, char **argv);

#endif
