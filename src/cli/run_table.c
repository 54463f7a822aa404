/* run_table.c: see run_table.h. */
#include "cli/run_table.h"

#include <string.h>

#include "cli/options.h"
#include "cli/table.h"
#include "cli/task_args.h"

static void add_row(ak_table *table, const json_t *run)
{
    char ms[AK_NUMBER_BYTES];
    const char *time = ak_json_text_at(run, "started"), *choices = ak_json_text_at(run, "choices");
    const bool many = json_is_true(json_object_get(run, "many_sizes"));
    ak_table_cell(table, "%s", ak_json_text_at(run, "id"));
    ak_table_cell(table, "%.10s%s%.8s", time, strlen(time) > 11 ? " " : "",
                  strlen(time) > 11 ? time + 11 : "");
    ak_table_cell(table, "%s", ak_json_text_at(run, "kernel"));
    ak_table_cell(table, "%s", ak_json_text_at(run, "device"));
    ak_table_cell(table, "%s%s%s", many ? "many sizes" : ak_json_text_at(run, "size"),
                  choices[0] == 0 ? "" : " ", choices);
    ak_table_cell(table, "%s", ak_json_text_at(run, "strategy"));
    ak_table_cell(table, "%.0f", ak_json_number_at(run, "trials"));
    ak_table_cell(table, "%s", ak_show_real(ms, many ? 0 : ak_json_number_at(run, "best_ms")));
}

static void print_table(const json_t *runs, size_t matched, const ak_selection *selection,
                        const ak_args *args)
{
    const json_t *run;
    size_t i;
    ak_table table;
    ak_table_begin(&table, "run", "time (UTC)", "kernel", "device", "size", "strategy",
                   ">evaluations", ">best ms", NULL);
    json_array_foreach(runs, i, run)
    {
        add_row(&table, run);
    }
    ak_table_print(&table);
    if (matched == 0) {
        ak_out("no run matches\n");
        ak_next_on_archive(selection->kernel == NULL ? "tune matmul" : "history --runs",
                           selection->kernel == NULL ? "make one" : "all runs", args);
        return;
    }
    if (matched > i) {
        ak_out("the latest %zu of %zu; --limit shows more\n", i, matched);
    }
    char command[64];
    (void)snprintf(command, sizeof command, "report %.16s",
                   ak_json_text_at(json_array_get(runs, 0), "id"));
    ak_next_on_archive(command, "what happened in it", args);
}

int ak_run_table_show(const ak_args *args, size_t shown)
{
    ak_error err = AK_ERROR_INIT;
    ak_selection selection = {0};
    const bool json = ak_args_has(args, AK_OPTION_JSON);
    char *text = NULL;
    json_t *runs = NULL;
    size_t matched = 0;
    ak_status status = AK_OK;
    AK_TRY(ak_args_refuse(args, AK_O(STATUS), "is for trials and does not go with --runs", &err));
    AK_TRY(ak_selection_open(&selection, args, &err));
    ak_archive_filter filter = selection.filter;
    filter.limit = ak_args_has(args, AK_OPTION_LIMIT) ? (size_t)args->number[AK_OPTION_LIMIT]
                   : json                             ? 0
                                                      : shown;
    AK_TRY(ak_archive_runs_json(&text, &matched, selection.archive, &filter, &err));
    AK_TRY(ak_json_parse(&runs, text, strlen(text), "runs", &err));
    if (json) {
        AK_TRY(ak_out_json(runs) ? AK_OK : ak_fail_memory(&err));
    } else {
        print_table(runs, matched, &selection, args);
    }
out:
    json_decref(runs);
    ak_text_free(text);
    ak_selection_close(&selection);
    return status == AK_OK ? AK_EXIT_DONE : ak_complain_error(&err);
}
