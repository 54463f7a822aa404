/* trial_table.h: prints trials of the archive as tables. */
#ifndef AK_CLI_TRIAL_TABLE_H
#define AK_CLI_TRIAL_TABLE_H

#include "cli/table.h"

/* The different reasons (ak_efficiency_doubt) why roofline cells of one table are above 100 %.
   Begins as {0}. */
typedef struct ak_roofline_notes {
    const char *doubts[3];
    size_t count;
} ak_roofline_notes;

/* Adds a cell, "88.4 %", or "-" for 0, and a note on why the efficiency is above 1, if it is. */
void ak_roofline_cell(ak_table *table, ak_roofline_notes *notes, double efficiency,
                      bool memory_bound);
/* Adds the same cell for a trial. */
void ak_roofline_trial_cell(ak_table *table, ak_roofline_notes *notes, const ak_trial *trial);
/* Prints a line for each reason; to be called after ak_table_print. */
void ak_roofline_say(const ak_roofline_notes *notes);
/* Writes " (REASON)" to follow a fraction that stands by itself; "" if it is at most 1. */
#define AK_ROOFLINE_WHY_BYTES 128
const char *ak_roofline_why(char out[AK_ROOFLINE_WHY_BYTES], const ak_trial *trial);
/* Adds a cell with a trial's configuration and reason, and AK_SAME_CODE if it took the time of an
   earlier trial. `hidden` leaves out the configuration. */
void ak_config_cell(ak_table *table, const ak_trial *trial, bool hidden);
/* Begin a table of trials, and add a row to it. */
void ak_history_begin(ak_table *table);
void ak_history_row(ak_table *table, ak_roofline_notes *notes, const ak_trial *trial);
/* Begin a table of the best trials of tasks, and add a row to it. */
void ak_best_begin(ak_table *table);
void ak_best_row(ak_table *table, ak_roofline_notes *notes, const ak_trial *trial);

/* Prints the trials as a JSON array with one trial on each line. If `archive` is not NULL, each has
   a member `finish`: what its run says of it if it is the run's best (ak_archive_evidence). */
ak_status ak_trials_print_json(const ak_trial *list, size_t count, ak_archive *archive,
                               ak_error *err);
/* Gives the same `finish` of one trial, an object; its members are null if the trial is not its
   run's best. */
ak_status ak_trial_evidence(json_t **out, ak_archive *archive, const ak_trial *trial,
                            ak_error *err);
/* Prints "KERNEL SIZE TYPE OPTIONS: its speed is not decided against ..." if the finish that the
   trial won left that open; else nothing. */
ak_status ak_trial_say_undecided(ak_archive *archive, const ak_trial *trial, ak_error *err);

#endif
