#include "cli/trial_table.h"

#include "base/ascii.h"

static void size_cell(ak_table *table, const ak_trial *trial)
{
    ak_table_cell(table, "%s%s%s", ak_or_empty(trial->size),
                  ak_or_empty(trial->choices)[0] == 0 ? "" : " ", ak_or_empty(trial->choices));
}

/* Adds a cell with the rate and, if the objective is not the time, the objective's value. The
   options in the size's cell name that objective. */
static void rate_cell(ak_table *table, const ak_trial *trial)
{
    char a[AK_NUMBER_BYTES], b[AK_NUMBER_BYTES];
    const char *rate = ak_show_rate(a, trial->tflops, trial->gbs, trial->bound);
    if (trial->cost > 0) {
        ak_table_cell(table, "%s, objective %s", rate, ak_show_real(b, ak_trial_value(trial)));
    } else {
        ak_table_cell(table, "%s", rate);
    }
}

void ak_history_begin(ak_table *table)
{
    ak_table_begin(table, ">id", "time (UTC)", "kernel", "device", "size", "status", ">ms", ">rate",
                   ">roofline", "_configuration; reason", NULL);
}

void ak_config_cell(ak_table *table, const ak_trial *trial, bool hidden)
{
    const char *reason = ak_or_empty(trial->reason);
    const char *config = hidden ? "" : ak_or_empty(trial->config);
    ak_table_cell(table, "%s%s%s%s", config, config[0] != 0 && reason[0] != 0 ? "; " : "", reason,
                  trial->same_code ? AK_SAME_CODE : "");
}

void ak_history_row(ak_table *table, ak_roofline_notes *notes, const ak_trial *trial)
{
    char a[AK_NUMBER_BYTES];
    const char *time = ak_or_empty(trial->timestamp); /* printed without the fraction of a second */
    ak_table_cell(table, "%lld", (long long)trial->id);
    ak_table_cell(table, "%.10s%s%.8s", time, strlen(time) > 11 ? " " : "",
                  strlen(time) > 11 ? time + 11 : "");
    ak_table_cell(table, "%s", ak_or_empty(trial->kernel));
    ak_table_cell(table, "%s", ak_or_empty(trial->device));
    size_cell(table, trial);
    ak_table_cell(table, "%s", ak_trial_status_text(trial->status));
    ak_table_cell(table, "%s", ak_show_real(a, trial->median_ms));
    rate_cell(table, trial);
    ak_roofline_trial_cell(table, notes, trial);
    ak_config_cell(table, trial, false);
}

void ak_best_begin(ak_table *table)
{
    ak_table_begin(table, "kernel", "device", "size", "type", ">ms", "95 % interval", ">rate",
                   ">roofline", "_configuration", NULL);
}

void ak_best_row(ak_table *table, ak_roofline_notes *notes, const ak_trial *trial)
{
    char a[AK_NUMBER_BYTES];
    const char *device = ak_or_empty(trial->device),
               *implementation = ak_or_empty(trial->implementation);
    bool same = strcmp(device, implementation) == 0 || implementation[0] == 0;
    ak_table_cell(table, "%s", ak_or_empty(trial->kernel));
    ak_table_cell(table, "%s%s%s", same ? "" : implementation, same ? "" : " on ", device);
    size_cell(table, trial);
    ak_table_cell(table, "%s", ak_or_empty(trial->dtype));
    ak_table_cell(table, "%s", ak_show_real(a, trial->median_ms));
    ak_table_cell(table, "%s", ak_show_trial_interval(a, trial));
    rate_cell(table, trial);
    ak_roofline_trial_cell(table, notes, trial);
    ak_table_cell(table, "%s", ak_or_empty(trial->config));
}

ak_status ak_trial_evidence(json_t **out, ak_archive *archive, const ak_trial *trial, ak_error *err)
{
    char *text = NULL;
    ak_status status = ak_archive_evidence(&text, archive, trial, err);
    return ak_out_parse(out, status, &text, "evidence", err);
}

ak_status ak_trial_say_undecided(ak_archive *archive, const ak_trial *trial, ak_error *err)
{
    json_auto_t *evidence = NULL;
    AK_DO(ak_trial_evidence(&evidence, archive, trial, err));
    const char *words = ak_json_text_at(evidence, "undecided");
    if (words[0] != 0) {
        ak_out("%s %s %s%s%s: %c%s\n", ak_or_empty(trial->kernel), ak_or_empty(trial->size),
               ak_or_empty(trial->dtype), ak_or_empty(trial->choices)[0] == 0 ? "" : " ",
               ak_or_empty(trial->choices), ak_ascii_lower(words[0]), words + 1);
    }
    return AK_OK;
}

/* Gives a trial as JSON, with the member `finish` unless `archive` is NULL. Free with
   ak_text_free. */
static ak_status trial_text(char **out, const ak_trial *trial, ak_archive *archive, ak_error *err)
{
    char *text = NULL;
    json_auto_t *object = NULL, *finish = NULL;
    if (archive == NULL) {
        return ak_trial_json(out, trial, err);
    }
    AK_DO(ak_out_parse(&object, ak_trial_json(&text, trial, err), &text, "trial", err));
    AK_DO(ak_trial_evidence(&finish, archive, trial, err));
    AK_DO(ak_stored(json_object_set(object, "finish", finish) == 0, err));
    return ak_json_text(out, object, err);
}

ak_status ak_trials_print_json(const ak_trial *list, size_t count, ak_archive *archive,
                               ak_error *err)
{
    ak_out_whole("[");
    for (size_t i = 0; i < count; i++) {
        AK_AT_END(ak_text_free_at) char *text = NULL;
        AK_DO(trial_text(&text, &list[i], archive, err));
        ak_out_whole(i == 0 ? "\n" : ",\n");
        ak_out_whole(text);
    }
    ak_out_whole(count == 0 ? "]\n" : "\n]\n");
    return AK_OK;
}

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
