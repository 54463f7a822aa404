/* gather.h: reads the trials that a filter selects into memory, and finds them by id and
   configuration. */
#ifndef AK_REPORT_GATHER_H
#define AK_REPORT_GATHER_H

#include "archive/archive.h"
#include "base/map.h"

typedef struct ak_gathered {
    ak_trial *trials; /* oldest first */
    size_t count, capacity;
    /* Parents of these trials that the filter leaves out, for example because they belong to a run
       that was resumed. */
    ak_trial *parents;
    size_t parent_count, parent_capacity;
    /* Trials and parents, the lowest id first. This is not the order of age, because imports add
       older trials later. */
    const ak_trial **by_id;
    ak_map *configs; /* from a configuration's text to the index of its first trial */
} ak_gathered;

ak_status ak_gather(ak_gathered *out, ak_archive *archive, const ak_archive_filter *filter,
                    ak_error *err);
void ak_gathered_clear(ak_gathered *gathered);

/* Find a trial or parent by its id, and the first trial with a configuration, given as text; NULL
   if there is none. */
const ak_trial *ak_gathered_trial(const ak_gathered *gathered, int64_t id);
const ak_trial *ak_gathered_config(const ak_gathered *gathered, const char *config);

#endif
