/* mcp_archive.c: the tools that read the archive. */

#include "base/alloc.h"
#include "base/fs.h"
#include "cli/mcp.h"
#include "cli/outdated.h"
#include "cli/trial_table.h"

#define HISTORY_DEFAULT 20
#define EXPORT_MAX      (16u << 20)

/* The filter that the arguments describe, and what owns its texts. */
typedef struct selected {
    ak_archive_filter filter; /* texts belong to the arguments, the session and these tasks */
    ak_task *task;            /* NULL unless sizes or options had to be parsed */
    ak_task *recorded;        /* NULL unless the device is a recording's file */
} selected;

static void selected_close(selected *s)
{
    ak_task_close(s->task);
    ak_task_close(s->recorded);
}

/* Returns the operand by which the server knows the kernel that the call names; NULL if the call
   names none. */
static const char *operand_of(const ak_mcp_call *call)
{
    const char *kernel = ak_mcp_text(call, "kernel", "");
    size_t i = AK_FIND(call->mcp->kernels, call->mcp->kernel_count, name, kernel);
    return i < call->mcp->kernel_count ? call->mcp->kernels[i].operand : NULL;
}

static ak_status select_trials(selected *out, const ak_mcp_call *call, ak_error *err)
{
    ak_args args;
    AK_DO(ak_mcp_args(&args, call, err));
    const char *device = args.text[AK_OPTION_DEVICE];
    out->filter =
        (ak_archive_filter){.kernel = ak_mcp_text(call, "kernel", NULL),
                            .place = operand_of(call),
                            .implementation = args.text[AK_OPTION_IMPL],
                            .device = device != NULL && strcmp(device, "auto") == 0 ? NULL : device,
                            .dtype = args.text[AK_OPTION_DTYPE]};
    if (args.text[AK_OPTION_SIZE] != NULL || args.text[AK_OPTION_SET] != NULL) {
        AK_DO(ak_args_look(&out->task, &args, err));
        out->filter.size = args.text[AK_OPTION_SIZE] == NULL ? NULL : ak_task_size(out->task);
        out->filter.choices = args.text[AK_OPTION_SET] == NULL ? NULL : ak_task_choices(out->task);
    }
    return ak_selection_device(&out->recorded, &out->filter, err);
}

/* ---- history --------------------------------------------------------------------------------- */

typedef struct latest {
    json_t *trials; /* at most `limit`: the latest */
    size_t limit, matched;
    bool by_status;
    ak_trial_status wanted;
    bool good;
} latest;

static bool keep_latest(void *context, const ak_trial *trial)
{
    latest *l = context;
    if (l->by_status && trial->status != l->wanted) {
        return true;
    }
    l->matched++;
    if (json_array_size(l->trials) == l->limit) {
        (void)json_array_remove(l->trials, 0);
    }
    l->good = ak_json_append(l->trials, ak_mcp_trial_json(trial));
    return l->good;
}

static void describe_trials(ak_buf *out, const json_t *trials)
{
    AK_EACH(each, trials) {
        char ms[AK_NUMBER_BYTES];
        const char *reason = ak_json_text_at(each, "reason");
        const char *const task[] = {ak_json_text_at(each, "dtype"),
                                    ak_json_text_at(each, "choices")};
        ak_buf_print(
            out, "#%lld %s %s ms; %s", (long long)json_integer_value(json_object_get(each, "id")),
            ak_json_text_at(each, "status"), ak_show_real(ms, ak_json_number_at(each, "ms")),
            ak_json_text_at(each, "size"));
        for (size_t t = 0; t < AK_COUNT(task); t++) {
            ak_buf_print(out, "%s%s", task[t][0] == 0 ? "" : " ", task[t]);
        }
        ak_buf_print(out, " on %s; %s%s%s\n", ak_json_text_at(each, "device"),
                     ak_json_text_at(each, "config"), reason[0] == 0 ? "" : "; ", reason);
    }
}

ak_status ak_mcp_history(ak_mcp_call *call, ak_error *err)
{
    AK_AT_END(selected_close) selected selection = {0};
    json_auto_t *trials = json_array();
    const json_t *limit = json_object_get(call->arguments, "limit");
    const char *wanted = ak_mcp_text(call, "status", NULL);
    latest l = {.trials = trials, .by_status = wanted != NULL, .good = true};
    l.limit = limit == NULL ? HISTORY_DEFAULT : (size_t)json_integer_value(limit);
    if (wanted != NULL && !ak_trial_status_parse(&l.wanted, wanted)) {
        AK_DO(ak_fail(err, AK_INVALID,
                      "there is no status '%.60s'; trials are ok, invalid, compile_error, "
                      "launch_error, wrong_result, crashed, timed_out, out_of_memory or rejected",
                      wanted));
    }
    AK_DO(select_trials(&selection, call, err));
    AK_DO(ak_archive_each(call->mcp->archive, &selection.filter, keep_latest, &l, err));
    ak_buf_print(&call->text, "%zu trial%s match%s\n", l.matched, ak_plural(l.matched),
                 l.matched == 1 ? "es" : "");
    describe_trials(&call->text, trials);
    return ak_stored(l.good && ak_json_set_count(call->result, "matched", l.matched) &&
                         json_object_set(call->result, "trials", trials) == 0,
                     err);
}

/* ---- best ------------------------------------------------------------------------------------ */

ak_status ak_mcp_best(ak_mcp_call *call, ak_error *err)
{
    AK_AT_END(selected_close) selected selection = {0};
    AK_AT_END(ak_trials_clear) ak_trials best = {0};
    json_auto_t *trials = json_array(), *changed = json_array();
    AK_DO(select_trials(&selection, call, err));
    AK_DO(ak_archive_best_of_tasks(&best, call->mcp->archive, &selection.filter, err));
    const ak_outdated_to to = {.operand = operand_of(call), .list = changed};
    AK_DO(ak_say_changed(call->mcp->archive, best.list, best.count, &to, err));
    for (size_t i = 0; i < best.count; i++) {
        json_t *one = ak_mcp_trial_json(&best.list[i]), *finish = NULL;
        AK_DO(ak_stored(ak_json_append(trials, one), err));
        AK_DO(ak_trial_evidence(&finish, call->mcp->archive, &best.list[i], err));
        AK_DO(ak_stored(ak_json_set(one, "finish", finish), err));
    }
    describe_trials(&call->text, trials);
    for (size_t i = 0; i < best.count; i++) {
        const json_t *finish = json_object_get(json_array_get(trials, i), "finish");
        const char *undecided = ak_json_text_at(finish, "undecided");
        if (undecided[0] != 0) {
            ak_buf_print(&call->text, "#%lld: %s\n", (long long)best.list[i].id, undecided);
        }
    }
    if (best.count == 0) {
        ak_buf_puts(&call->text, "nothing that is ok matches; measure makes trials\n");
    }
    AK_DO(ak_stored(json_object_set(call->result, "trials", trials) == 0, err));
    return ak_mcp_warn(call, changed, err);
}

/* ---- report and export ----------------------------------------------------------------------- */

/* Finds the id of the run that `text` names, or of the latest run if that is NULL, among the runs
   of kernels that the client may use. Errors name no other runs. The caller frees *out. */
static ak_status find_run(char **out, const ak_mcp_call *call, const char *text, ak_error *err)
{
    const ak_mcp *mcp = call->mcp;
    AK_AT_END(ak_text_free_at) char *id = NULL;
    char *list = NULL;
    const char *found = NULL;
    json_auto_t *runs = NULL;
    size_t matched = 0;
    if (text == NULL || ak_archive_find_run(&id, mcp->archive, text, NULL) == AK_OK) {
        const ak_archive_filter filter = {.run = id};
        AK_DO(ak_out_parse(&runs, ak_archive_runs_json(&list, &matched, mcp->archive, &filter, err),
                           &list, "runs", err));
    }
    AK_EACH(each, runs) {
        const char *kernel = ak_json_text_at(each, "kernel");
        const bool imported = json_is_true(json_object_get(each, "imported"));
        if (AK_FIND(mcp->kernels, mcp->kernel_count, name, kernel) == mcp->kernel_count) {
            continue;
        }
        found = found == NULL || !imported ? ak_json_text_at(each, "id") : found;
        if (!imported) {
            break; /* as in the command `report`, a run that was not imported comes first */
        }
    }
    if (found == NULL) {
        AK_DO(text == NULL
                  ? ak_fail(err, AK_NOT_FOUND,
                            "there is no run of the kernels of this server; autokernel tune, in a "
                            "shell, makes one")
                  : ak_fail(err, AK_NOT_FOUND,
                            "no run of the kernels of this server is called %.60s, or several "
                            "begin so; without \"run\" the latest is reported",
                            text));
    }
    return ak_copy_text(out, found, err);
}

ak_status ak_mcp_report(ak_mcp_call *call, ak_error *err)
{
    AK_AT_END(ak_text_free_at) char *text = NULL;
    AK_FREED char *id = NULL;
    const char *format = ak_mcp_text(call, "format", "md"), *run = ak_mcp_text(call, "run", NULL);
    AK_DO(find_run(&id, call, run, err));
    AK_DO(ak_report(&text, call->mcp->archive, id, format, err));
    ak_buf_puts(&call->text, text);
    return ak_stored(ak_json_set_text(call->result, "format", format) &&
                         ak_json_set(call->result, "report", ak_json_shown(text)),
                     err);
}

/* Writes the export to `path` and gives its text, and appends to `changed` a sentence on each
   kernel that has changed since the exported trials were measured. */
static ak_status write_export(char **text, json_t *changed, const char *path, const char *format,
                              const ak_mcp_call *call, ak_error *err)
{
    ak_archive *archive = call->mcp->archive;
    const ak_outdated_to to = {.operand = operand_of(call), .list = changed};
    AK_AT_END(selected_close) selected selection = {0};
    ak_args args;
    AK_AT_END(ak_task_close_at) ak_task *task = NULL;
    AK_AT_END(ak_trials_clear) ak_trials best = {0};
    ak_format_content holds;
    AK_DO(ak_format_holds(&holds, format, err));
    if (holds == AK_FORMAT_TASK) {
        AK_DO(ak_mcp_args(&args, call, err));
        AK_DO(ak_args_look(&task, &args, err));
        AK_DO(ak_task_export(task, format, path, err));
        AK_DO(ak_fs_read(text, NULL, path, EXPORT_MAX, err));
    } else {
        AK_DO(select_trials(&selection, call, err));
        const ak_archive_filter *filter = &selection.filter;
        AK_DO(ak_archive_export(archive, filter, format, path, err));
        AK_DO(ak_fs_read(text, NULL, path, EXPORT_MAX, err));
        if (strcmp(format, "best") == 0) {
            AK_DO(ak_archive_best_of_tasks(&best, archive, filter, err));
            AK_DO(ak_say_changed(archive, best.list, best.count, &to, err));
        } else if (strcmp(format, "dispatch") == 0) {
            AK_DO(ak_say_changed_table(archive, *text, &to, err));
        } else {
            AK_DO(ak_say_changed_matching(archive, filter, &to, err));
        }
    }
    return AK_OK;
}

ak_status ak_mcp_export(ak_mcp_call *call, ak_error *err)
{
    char folder[AK_PATH_MAX], path[AK_PATH_MAX];
    AK_FREED char *text = NULL;
    const char *format = ak_mcp_text(call, "format", "best");
    json_auto_t *changed = json_array();
    ak_status status = AK_OK;
    AK_DO(ak_fs_temp(folder, err));
    AK_TRY(ak_fs_join(path, folder, "export", err));
    AK_TRY(write_export(&text, changed, path, format, call, err));
    ak_buf_puts(&call->text, text);
    AK_TRY(ak_stored(ak_json_set_text(call->result, "format", format) &&
                         ak_json_set(call->result, "content", ak_json_shown(text)) &&
                         json_object_set(call->result, "warnings", changed) == 0,
                     err));
out:
    ak_fs_remove(folder);
    return status;
}
