/* trial_table.h: prints trials of the archive as tables. */
#ifndef AK_CLI_TRIAL_TABLE_H
#define AK_CLI_TRIAL_TABLE_H

#include "cli/roofline_cell.h"

/* Adds a cell with a trial's configuration, unless `hidden`, and its reason. */
void ak_config_cell(ak_table *table, const ak_trial *trial, bool hidden);
/* Begin a table of trials, and add a row to it. */
void ak_history_begin(ak_table *table);
void ak_history_row(ak_table *table, ak_roofline_notes *notes, const ak_trial *trial);
/* Begin a table of the best trials of tasks, and add a row to it. */
void ak_best_begin(ak_table *table);
void ak_best_row(ak_table *table, ak_roofline_notes *notes, const ak_trial *trial);

/* Prints the trials as a JSON array with one trial on each line. If `archive` is not NULL, each has
   `finish`, what the run in whose finish it won says of it (ak_archive_evidence). */
ak_status ak_trials_print_json(const ak_trial *list, size_t count, ak_archive *archive,
                               ak_error *err);
/* Gives what the run of a trial says of it (ak_archive_evidence). */
ak_status ak_trial_evidence(json_t **out, ak_archive *archive, const ak_trial *trial,
                            ak_error *err);
/* Adds "SIZE TYPE: its speed is not decided against ..." if the finish that a trial won left that
   open. */
ak_status ak_trial_print_undecided(ak_buf *out, ak_archive *archive, const ak_trial *trial,
                                   ak_error *err);

#endif
