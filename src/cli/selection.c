/* selection.c: selects trials of the archive by the options; see task_args.h. */
#include "cli/task_args.h"

#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/device_name.h"
#include "base/fs.h"
#include "base/shell.h"
#include "cli/options.h"

/* Finds the name of the kernel that `operand` names. Sets *archived_out if `operand` is itself the
   name of a kernel of which the archive has trials; a path never is. Opens the problem if that is
   false, or if a folder here has the same name. */
static ak_status kernel_name(ak_selection *out, bool *archived_out, const char *operand,
                             ak_error *err)
{
    const ak_archive_filter filter = {.kernel = operand, .simulated = true};
    size_t archived = 0;
    if (strchr(operand, '/') == NULL) {
        AK_DO(ak_archive_count(&archived, NULL, out->archive, &filter, err));
    }
    if (archived == 0) {
        AK_DO(ak_problem_open(&out->problem, operand, err));
    } else if (ak_fs_is_folder(operand)) { /* which may be no kernel, or another one */
        (void)ak_problem_open(&out->problem, operand, NULL);
    }
    *archived_out = archived > 0;
    const char *name = archived > 0 ? operand : ak_problem_name(out->problem);
    out->filter.problem = out->problem != NULL && strcmp(name, ak_problem_name(out->problem)) == 0
                              ? out->problem
                              : NULL;
    return ak_copy_text(&out->kernel, name, err);
}

static ak_status quoted(char **out, const char *word, ak_error *err)
{
    ak_buf text = AK_BUF(4 * AK_PATH_MAX);
    ak_shell_quote(&text, word);
    return ak_buf_take(out, &text, err);
}

/* Replaces size and options in the filter by their canonical forms, which the archive has, by
   opening a task. Without a KERNEL there is no task, and they are kept as typed. */
static ak_status canonical(ak_selection *out, const ak_args *args, bool archived, ak_error *err)
{
    const char *size = args->text[AK_OPTION_SIZE], *set = args->text[AK_OPTION_SET];
    if (size == NULL && set == NULL) {
        return AK_OK;
    }
    if (args->operand_count == 0) {
        AK_FAIL_IF(size != NULL && strchr(size, '=') == NULL, err, AK_INVALID,
                   "--size %.60s without a KERNEL must be in full, as in M=64,N=64,K=64", size);
        return AK_OK;
    }
    ak_task_spec spec = {.kernel = out->place == NULL ? args->operand[0] : out->place,
                         .implementation = out->filter.implementation,
                         .device = out->filter.device,
                         .size = size,
                         .dtype = out->filter.dtype,
                         .choices = set,
                         .look = true};
    ak_status status = ak_task_open(&out->task, &spec, err);
    if (status != AK_OK) {
        /* If the task cannot be opened, for example because the kernel or device is not on this
           machine, archived trials are found by size and options as typed. This needs a size in
           full or, without a size, the name of a recorded device, which trials on a recording have
           and which is no file. */
        const bool named = size == NULL && status == AK_NOT_FOUND && out->filter.device != NULL &&
                           ak_device_is_recorded(out->filter.device);
        const bool whole = size != NULL && strchr(size, '=') != NULL;
        return archived && (named || whole) ? AK_OK : status;
    }
    out->filter.size = size == NULL ? NULL : ak_task_size(out->task);
    out->filter.choices = set == NULL ? NULL : ak_task_choices(out->task);
    return AK_OK;
}

ak_status ak_args_archive(ak_archive **out, const ak_args *args, ak_error *err)
{
    const char *path = args->text[AK_OPTION_ARCHIVE];
    AK_FAIL_IF(ak_args_typed(args, AK_OPTION_ARCHIVE) && access(path, F_OK) != 0 && errno == ENOENT,
               err, AK_NOT_FOUND,
               "there is no archive %.300s: check --archive, or make it with 'autokernel "
               "tune --archive'",
               path);
    return ak_archive_open_existing(out, path, err);
}

#define IMPORTED_SHOWN 8 /* ids in a line */

ak_status ak_say_environment(ak_archive *archive, const ak_trial *taken, ak_error *err)
{
    const ak_archive_filter filter = {.kernel = taken->kernel,
                                      .implementation = taken->implementation,
                                      .device = taken->device,
                                      .size = taken->size,
                                      .dtype = taken->dtype,
                                      .choices = taken->choices,
                                      .ok_only = true};
    size_t trials, environments;
    AK_DO(ak_archive_count(&trials, &environments, archive, &filter, err));
    if (environments > 1 && taken->environment != NULL) {
        ak_out("%s %s: results of %zu environments are archived (compilers, sources, machine); "
               "taken is %.12s, which trial #%lld is from: the latest, or the latest that measured "
               "the kernel as it is\n",
               taken->kernel, ak_or_empty(taken->size), environments, taken->environment,
               (long long)taken->id);
    }
    return AK_OK;
}

/* Returns whether another machine may have measured a trial's time. A time from a finish was
   measured by the run that trial->run names, which is imported if its trials are; the trial itself
   may be of another run. */
static bool is_from_elsewhere(ak_archive *archive, const ak_trial *trial)
{
    AK_AT_END(ak_trial_clear) ak_trial one = {0};
    const ak_archive_filter of_run = {.run = trial->run, .simulated = true};
    bool found;
    if (!trial->imported || trial->search_ms <= 0 || trial->run == NULL) {
        return trial->imported;
    }
    return ak_archive_first(&found, &one, archive, &of_run, NULL) != AK_OK || !found ||
           one.imported;
}

void ak_say_imported(ak_archive *archive, const ak_trial *list, size_t count)
{
    size_t found = 0;
    AK_AT_END(ak_buf_free) ak_buf ids = AK_BUF(4096);
    for (size_t i = 0; i < count; i++) {
        if (is_from_elsewhere(archive, &list[i]) && !ak_device_is_recorded(list[i].device)) {
            if (found++ < IMPORTED_SHOWN) {
                ak_buf_print(&ids, "%s#%lld", found == 1 ? "" : ", ", (long long)list[i].id);
            }
        }
    }
    if (found > IMPORTED_SHOWN) {
        ak_buf_print(&ids, " and %zu more", found - IMPORTED_SHOWN);
    }
    if (found > 0) {
        ak_out("trial%s %s w%s imported, so another machine or tool may have measured %s: "
               "'autokernel bench' measures a configuration here\n",
               ak_plural(found), ids.data, found == 1 ? "as" : "ere", found == 1 ? "it" : "them");
    }
}

ak_status ak_selection_device(ak_task **recorded, ak_archive_filter *filter, ak_error *err)
{
    const char *device = ak_or_empty(filter->device);
    if (!ak_device_is_recorded(device) || !ak_fs_is_file(device + strlen(AK_DEVICE_RECORDED))) {
        return AK_OK;
    }
    ak_task_spec spec = {.kernel = device + 4, .device = "sim", .look = true};
    AK_DO(ak_task_open(recorded, &spec, err));
    filter->device = ak_task_device(*recorded);
    return AK_OK;
}

ak_status ak_selection_open(ak_selection *out, const ak_args *args, ak_error *err)
{
    *out = (ak_selection){0};
    const char *device = args->text[AK_OPTION_DEVICE];
    bool archived = false;
    out->filter =
        (ak_archive_filter){.implementation = args->text[AK_OPTION_IMPL],
                            .device = device != NULL && strcmp(device, "auto") == 0 ? NULL : device,
                            .size = args->text[AK_OPTION_SIZE],
                            .dtype = args->text[AK_OPTION_DTYPE],
                            .choices = args->text[AK_OPTION_SET]};
    ak_status status = AK_OK;
    AK_TRY(ak_args_archive(&out->archive, args, err));
    if (args->text[AK_OPTION_RUN] != NULL) {
        AK_TRY(ak_archive_find_run(&out->run, out->archive, args->text[AK_OPTION_RUN], err));
        out->filter.run = out->run;
    }
    if (args->operand_count > 0) {
        AK_TRY(kernel_name(out, &archived, args->operand[0], err));
        AK_TRY(
            ak_archive_kernel_place(&out->place, out->archive, out->kernel, args->operand[0], err));
        AK_TRY(quoted(&out->named, out->place == NULL ? "KERNEL" : out->place, err));
        out->filter.kernel = out->kernel;
        out->filter.named = out->named;
        out->filter.place = args->operand[0];
    }
    AK_TRY(canonical(out, args, archived, err));
    AK_TRY(ak_selection_device(&out->recorded, &out->filter, err));
out:
    if (status != AK_OK) {
        ak_selection_close(out);
    }
    return status;
}

const char *ak_selection_hint(const ak_selection *selection)
{
    ak_archive_filter filter = selection->filter;
    size_t seen = 0;
    filter.simulated = true;
    (void)ak_archive_count(&seen, NULL, selection->archive, &filter, NULL);
    return seen > 0 ? "; --device sim shows those on recordings" : "";
}

void ak_selection_say_settings(const ak_selection *selection, const ak_args *args)
{
    ak_archive_filter filter = selection->filter;
    const struct {
        ak_option_id id;
        const char **member;
    } parts[] = {{AK_OPTION_DEVICE, &filter.device},
                 {AK_OPTION_IMPL, &filter.implementation},
                 {AK_OPTION_SIZE, &filter.size},
                 {AK_OPTION_DTYPE, &filter.dtype},
                 {AK_OPTION_SET, &filter.choices}};
    for (size_t i = 0; i < AK_COUNT(parts); i++) {
        const char *kept = *parts[i].member, *origin = args->origin[parts[i].id];
        size_t hidden = 0;
        if (kept == NULL || origin == NULL || ak_args_typed(args, parts[i].id)) {
            continue;
        }
        *parts[i].member = NULL;
        (void)ak_archive_count(&hidden, NULL, selection->archive, &filter, NULL);
        *parts[i].member = kept;
        if (hidden > 0) {
            ak_tell("%s selects \"%.60s\" only and hides %zu trial%s: --%s on the command line "
                    "takes its place",
                    origin, args->text[parts[i].id], hidden, ak_plural(hidden),
                    ak_options_all[parts[i].id].name);
        }
    }
}

void ak_selection_say_hidden(const ak_selection *selection)
{
    ak_archive_filter filter = selection->filter;
    size_t hidden = 0;
    if (filter.device != NULL || filter.run != NULL || filter.environment != NULL) {
        return; /* these options select trials on recordings too */
    }
    filter.device = "sim";
    (void)ak_archive_count(&hidden, NULL, selection->archive, &filter, NULL);
    if (hidden > 0) {
        ak_out("%zu trial%s on recordings %s left out; --device sim shows %s\n", hidden,
               ak_plural(hidden), hidden == 1 ? "is" : "are", hidden == 1 ? "it" : "them");
    }
}

void ak_selection_close(ak_selection *selection)
{
    ak_task_close(selection->task);
    ak_task_close(selection->recorded);
    ak_problem_close(selection->problem);
    ak_archive_close(selection->archive);
    ak_free(selection->kernel);
    ak_text_free(selection->place);
    ak_free(selection->named);
    ak_text_free(selection->run);
    *selection = (ak_selection){0};
}
