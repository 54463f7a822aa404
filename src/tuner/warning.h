/* warning.h: writes warnings about what makes a comparison less certain than its intervals
   suggest. */
#ifndef AK_TUNER_WARNING_H
#define AK_TUNER_WARNING_H

#include "tuner/session.h"

/* A list of warnings. ak_warnings_free frees it, unless its texts have moved into a result,
   which then owns them. */
typedef struct ak_warnings {
    char **texts;
    size_t count, capacity;
} ak_warnings;

void ak_warnings_free(ak_warnings *warnings);

/* Adds a warning. After a failure the list is as it was, though perhaps elsewhere in memory. */
ak_status ak_warn_text(ak_warnings *out, const char *text, ak_error *err);
/* Adds a warning to the result of a run and, at once, to the run's record in the archive (NULL, or
   an empty `run`: there is none), because a run that is killed has no result. Returns the text,
   which the result owns; NULL: there was no memory. */
const char *ak_warn_keep(ak_tune_result *result, ak_archive *archive, const char *run,
                         const char *text);
/* Removes a text that ak_warn_keep returned (NULL: does nothing) from the result. */
void ak_warn_drop(ak_tune_result *result, const char *text);
/* Warns if the machine was busy during the measurement. Also warns if the control differed from its
   original by more than the factor AK_VERDICT_LEAST or left a candidate undecided: says by how much
   they differ, and which speeds that affects. */
ak_status ak_warn_noise(ak_warnings *out, const ak_noise *noise, const ak_compared *list,
                        size_t count, ak_error *err);
/* Warns of what makes a comparison less certain: times on unseen inputs, notes of candidates,
   different clocks or throttling, times whose order contradicts a verdict, and what ak_warn_noise
   warns of. */
ak_status ak_warn_comparison(ak_warnings *out, const ak_noise *noise, const ak_compared *list,
                             size_t count, ak_error *err);
/* Warns before anything is timed if the machine is busy: `pressure` as in measure/pressure.h. */
ak_status ak_warn_start(ak_warnings *out, double pressure, ak_error *err);
/* Warns if the machine was busy when a run began. The record of the run keeps this warning only if
   no finish follows, because a finish says itself how busy the machine was. */
ak_status ak_warn_began(ak_warnings *out, double pressure, ak_error *err);
/* Warns if the machine was busy beside trials that no comparison follows. Before and after them the
   pressure may be up to AK_VERDICT_BUSY. During them it may be up to AK_VERDICT_BUSY_ALONE, or to
   AK_VERDICT_BUSY if a trial was disturbed, that is, waited for a processor while it was timed. */
ak_status ak_warn_trials(ak_warnings *out, const ak_noise *noise, ak_error *err);
/* Warns if the machine was busy beside a check that timed out, which may be why it did. */
ak_status ak_warn_timed_out(ak_warnings *out, double pressure, ak_error *err);
/* Warns if the machine was busy beside a measurement of the ceilings: `beside` is the pressure
   before or after it, when nothing of ours ran, `during` that of the measurement itself. */
ak_status ak_warn_probe(ak_warnings *out, double beside, double during, ak_error *err);
/* Warns if the ceilings rose by more than 10 % during a run: it began on a busy machine. */
ak_status ak_warn_ceilings(ak_warnings *out, const ak_ceilings *before, const ak_ceilings *after,
                           ak_error *err);
/* Warns if a library is far slower in the finish than when the run began, `before_ms` (0 if
   unknown): the machine was busy, and a speed-up over the library would mean nothing. Does nothing
   if the library has a note, because its time is then of another kind. */
ak_status ak_warn_slower(ak_warnings *out, const ak_compared *library, double before_ms,
                         ak_error *err);
/* Warns if the time of the best in the finish is far from its time in the search, `before_ms`: the
   machine was busy in one of them, and the search may have been led astray. Does nothing if the
   best has a note, because its time is then of another kind. */
ak_status ak_warn_apart(ak_warnings *out, const ak_compared *best, double before_ms, ak_error *err);
/* Warns if `fastest`, the best of the search, could not be judged in the finish. */
ak_status ak_warn_not_judged(ak_warnings *out, const ak_compared *fastest, ak_error *err);
/* Warns if the problem has edge-case sizes and the best configuration was checked at the task's own
   size only, because its conditions exclude all other sizes that could be tried. */
ak_status ak_warn_unchecked(ak_warnings *out, const ak_task *task, const ak_config *best,
                            ak_error *err);

#endif
