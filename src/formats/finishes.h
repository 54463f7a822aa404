/*
 * finishes.h: carries what finishes found of their winners through files of trials.
 *
 * The finish of a run measures the winner again, but the archived trial of the winner has only the
 * figures of the search. Files therefore add to that trial a member "finish" with the figures of
 * the finish of its own run, and "finishes", a list, with those of later runs that took the trial
 * over (--resume): each has "run" and "started" besides. A run over many sizes measures the winners
 * of its sizes side by side; its figures stand for the finish of the run of that size.
 */
#ifndef AK_FORMATS_FINISHES_H
#define AK_FORMATS_FINISHES_H

#include "archive/archive.h"

/* Makes an object of what the finishes of all runs of an archive found. The key is the id of the
   winner's trial, the value a list as described above, with the trial's own run in it. */
ak_status ak_finishes_read(json_t **out, ak_archive *archive, ak_error *err);
/* Sets "finish" and "finishes" in the JSON of a trial, if it won any. */
ak_status ak_finishes_set(json_t *object, const json_t *finishes, const ak_trial *trial,
                          ak_error *err);
/* Stores "finish" and "finishes" of an entry of a file as results of their runs, unless these have
   one. A run that is not in the archive is added, marked as imported. The trial is the one that was
   imported from the entry. */
ak_status ak_finishes_import(ak_archive *archive, const ak_trial *trial, const json_t *entry,
                             const char *where, ak_error *err);

#endif
