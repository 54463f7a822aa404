/* roofline_cell.h: prints fractions of the roofline in a table and, beneath it, why some of them
   are above 100 %. */
#ifndef AK_CLI_ROOFLINE_CELL_H
#define AK_CLI_ROOFLINE_CELL_H

#include "cli/table.h"

/* The different reasons (ak_efficiency_doubt) among the cells of one table. Begins as {0}. */
typedef struct ak_roofline_notes {
    const char *doubts[3];
    size_t count;
} ak_roofline_notes;

/* Adds a cell: "88.4 %", or "-" for 0. */
void ak_roofline_cell(ak_table *table, ak_roofline_notes *notes, double efficiency,
                      bool memory_bound);
/* Adds the cell of a trial. */
void ak_roofline_trial_cell(ak_table *table, ak_roofline_notes *notes, const ak_trial *trial);
/* Prints a line for each reason; to be called after ak_table_print. */
void ak_roofline_say(const ak_roofline_notes *notes);
/* Writes " (REASON)" to follow a fraction that stands by itself; "" if it is at most 1. */
#define AK_ROOFLINE_WHY_BYTES 128
const char *ak_roofline_why(char out[AK_ROOFLINE_WHY_BYTES], const ak_trial *trial);

#endif
