/*
 * watch.h: finds what changed in an archive that other processes write. The watch reads the archive
 * only when it is polled, and never writes to it; if nothing changed, a poll costs one small query
 * and a look at the processes of the runs under way.
 *
 * A place in the stream of changes is a text: "TRIAL.RUN.STUDY.ENDS", the highest id of a trial,
 * the highest number of a run, the highest id of a study and the number of runs that have ended. A
 * place keeps its meaning after a restart of the server, so a browser that reconnects with a place
 * gets what it missed. If runs ended while no server was watching, the server does not know which
 * they are, so the browser gets all ended runs.
 */
#ifndef AK_SERVE_WATCH_H
#define AK_SERVE_WATCH_H

#include "archive/archive.h"

#define AK_WATCH_PLACE_BYTES 128
/* Limit on the runs under way whose devices are read; the latest take precedence. */
#define AK_WATCH_FLEETS_MAX 16

typedef struct ak_watch ak_watch;

/* Opens the archive, which need not exist yet. `path` is as for ak_archive_open. */
ak_status ak_watch_open(ak_watch **out, const char *path, ak_error *err);
void ak_watch_close(ak_watch *watch);
AK_END_AT(ak_watch_close, ak_watch)
/* Reads what is new in the archive. *changed is true if runs, trials or studies were added, if a
   run ended or was killed, or if the state of a fleet changed. */
ak_status ak_watch_poll(bool *changed, ak_watch *watch, ak_error *err);
ak_archive *ak_watch_archive(ak_watch *watch);

/* Returns whether `text` is a place; false for NULL. */
bool ak_watch_is_place(const char *text);
void ak_watch_place(char out[AK_WATCH_PLACE_BYTES], const ak_watch *watch);
/* Returns the runs that changed since the place `since` as a new array of objects, oldest first
   (docs/formats.md). If `since` is NULL or not a place, it returns all runs. NULL: no memory. */
json_t *ak_watch_runs(const ak_watch *watch, const char *since);
/* Does the same as ak_watch_runs for the results of studies and simulations. */
json_t *ak_watch_studies(const ak_watch *watch, const char *since);
/* Returns what the workers of all tuners do, as an array that belongs to the watch. *version grows
   whenever it changes. */
const json_t *ak_watch_fleets(int64_t *version, const ak_watch *watch);
/* Does the same as ak_watch_fleets for the ids of the runs that were killed on this machine: the
   process is gone, but the archive has no end of the run. */
const json_t *ak_watch_killed(int64_t *version, const ak_watch *watch);

/* ---- shown (shown.c) ------------------------------------------------------------------------- */

/* Makes the JSON that a page shows from the JSON in a row of the archive. Another program
   may have written the row, so members that are missing or of another type become empty. Each
   function returns NULL if there is no memory. */

/* Returns [{"name", "value"}]: each arm of a study with its final quality, or each simulated
   strategy with its score; a value that is missing is null. */
json_t *ak_shown_arms(const json_t *result, bool simulated);
/* Returns what was searched: "matmul M=64 on host". For simulations it describes the first
   recording, and " and 2 more" counts the others. */
json_t *ak_shown_subject(const json_t *result, bool simulated);
/* Returns the workers in `said`, the record of a fleet, with the members that a page shows. If
   `said` is NULL, returns an empty array. */
json_t *ak_shown_workers(const json_t *said);

#endif
