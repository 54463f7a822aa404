#include "cli/roofline_cell.h"

#include <string.h>

static bool is_memory_bound(const ak_trial *trial)
{
    return trial->bound != NULL && strcmp(trial->bound, "memory") == 0;
}

void ak_roofline_cell(ak_table *table, ak_roofline_notes *notes, double efficiency,
                      bool memory_bound)
{
    char text[AK_NUMBER_BYTES];
    const char *doubt = ak_efficiency_doubt(efficiency, memory_bound);
    size_t i = 0;
    ak_table_cell(table, "%s", ak_show_percent(text, efficiency));
    while (i < notes->count && strcmp(notes->doubts[i], doubt) != 0) {
        i++;
    }
    if (doubt[0] != 0 && i == notes->count && i < AK_COUNT(notes->doubts)) {
        notes->doubts[notes->count++] = doubt;
    }
}

void ak_roofline_trial_cell(ak_table *table, ak_roofline_notes *notes, const ak_trial *trial)
{
    ak_roofline_cell(table, notes, trial->efficiency, is_memory_bound(trial));
}

void ak_roofline_say(const ak_roofline_notes *notes)
{
    for (size_t i = 0; i < notes->count; i++) {
        ak_out("roofline above 100 %%: %s\n", notes->doubts[i]);
    }
}

const char *ak_roofline_why(char out[AK_ROOFLINE_WHY_BYTES], const ak_trial *trial)
{
    const char *doubt = ak_efficiency_doubt(trial->efficiency, is_memory_bound(trial));
    (void)snprintf(out, AK_ROOFLINE_WHY_BYTES, doubt[0] == 0 ? "%s" : " (%s)", doubt);
    return out;
}
