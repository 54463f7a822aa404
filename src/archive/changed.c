/* changed.c: finds out whether the sources of a kernel have changed since a trial measured it. */
#include "archive/archive.h"

#include <string.h>

#include "base/alloc.h"
#include "base/device_name.h"
#include "problem/sources.h"

/* Gives the hash of the sources that a trial measured; NULL if the archive does not know it. */
static ak_status hash_then(char **out, ak_archive *archive, const ak_trial *trial, ak_error *err)
{
    json_auto_t *environment = NULL;
    AK_DO(ak_archive_environment(&environment, archive, trial->environment, err));
    const char *hash = ak_json_text_or_null(environment, "source");
    return hash == NULL ? AK_OK : ak_copy_text(out, hash, err);
}

/* Gives the place of the kernel that the options of the trial's run name; NULL if that is not
   known. */
static ak_status place_then(char **out, ak_archive *archive, const ak_trial *trial, ak_error *err)
{
    AK_AT_END(ak_run_clear) ak_run run = {0};
    json_auto_t *options = NULL;
    if (trial->run != NULL && ak_archive_get_run(&run, archive, trial->run, NULL) == AK_OK) {
        (void)ak_json_parse_text(&options, run.options_json, "", NULL);
    }
    const char *place = ak_json_text_or_null(options, "kernel");
    return place == NULL ? AK_OK : ak_copy_text(out, place, err);
}

/* Finds out whether the sources of the trial's implementation, read from the kernel at `place`,
   have another hash than `then`. Returns false if `place` is NULL, has another kernel or none, or
   none with this implementation, or cannot be read. */
static bool compare_now(bool *out_changed, const char *then, const char *place,
                        const ak_trial *trial)
{
    ak_problem *problem = NULL;
    const ak_implementation_spec *implementation = NULL;
    bool same = false;
    bool found = place != NULL && ak_problem_open(&problem, place, NULL) == AK_OK &&
                 strcmp(ak_problem_name(problem), trial->kernel) == 0 &&
                 ak_problem_find(&implementation, problem, trial->implementation, NULL) == AK_OK &&
                 ak_problem_runnable(problem, NULL) == AK_OK &&
                 ak_sources_are(&same, then, problem, implementation, NULL) == AK_OK;
    ak_problem_close(problem);
    *out_changed = found && !same;
    return found;
}

/* Looks for the kernel of a trial where it may be, `place` first. Sets *out_place to where it is,
   which the caller frees, and *changed to whether its sources are others now. *out_place is NULL if
   that cannot be told. */
static ak_status look(char **out_place, bool *changed, ak_archive *archive, const ak_trial *trial,
                      const char *place, ak_error *err)
{
    AK_FREED char *then = NULL, *recorded = NULL;
    *out_place = NULL;
    *changed = false;
    if (ak_device_is_recorded(trial->device) || trial->environment == NULL ||
        trial->kernel == NULL || trial->implementation == NULL) {
        return AK_OK;
    }
    AK_DO(hash_then(&then, archive, trial, err));
    AK_DO(then == NULL ? AK_OK : place_then(&recorded, archive, trial, err));
    const char *const places[] = {place, recorded, trial->kernel};
    for (size_t i = 0; i < AK_COUNT(places) && then != NULL; i++) {
        if (compare_now(changed, then, places[i], trial)) {
            return ak_copy_text(out_place, places[i], err);
        }
    }
    return AK_OK;
}

ak_status ak_archive_kernel_changed(char **out_place, ak_archive *archive, const ak_trial *trial,
                                    const char *place, ak_error *err)
{
    bool changed;
    AK_FREED char *found = NULL;
    *out_place = NULL;
    AK_DO(look(&found, &changed, archive, trial, place, err));
    if (changed) {
        AK_GIVE(out_place, found);
    }
    return AK_OK;
}

ak_status ak_archive_kernel_is_present(bool *out, ak_archive *archive, const ak_trial *trial,
                                       const char *place, ak_error *err)
{
    bool changed;
    AK_FREED char *found = NULL;
    AK_DO(look(&found, &changed, archive, trial, place, err));
    *out = found != NULL && !changed;
    return AK_OK;
}
