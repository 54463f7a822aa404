/* llm_show.c: see llm_show.h. Prompts and replies are printed as they were, line by line, with a
   margin, so that they can be told from our own words. */
#include "cli/llm_show.h"

#include <string.h>

#include "base/alloc.h"
#include "cli/options.h"
#include "cli/table.h"
#include "cli/task_args.h"

#define LINE_MAX_BYTES 4000

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static void print_text(const char *title, const char *text)
{
    ak_out("\n%s%s%s\n", ak_style_on(stdout, AK_STYLE_BOLD), title,
           ak_style_on(stdout, AK_STYLE_PLAIN));
    while (*text != 0) {
        size_t length = strcspn(text, "\n");
        int shown = length > LINE_MAX_BYTES ? LINE_MAX_BYTES : (int)length;
        ak_out("  | %.*s%s\n", shown, text, (size_t)shown < length ? "..." : "");
        text += length;
        text += *text == '\n';
    }
}

/* "ok 0.157 ms, +12.3 %", "wrong_result: ...", or why it was not tried. */
static void show_outcome(char *out, size_t bytes, const json_t *proposal)
{
    const json_t *outcome = json_object_get(proposal, "outcome");
    const json_t *gain = json_object_get(outcome, "gain");
    char ms[AK_NUMBER_BYTES];
    if (!json_is_object(outcome)) {
        (void)snprintf(out, bytes, "%s", text_of(proposal, "note"));
    } else if (strcmp(text_of(outcome, "status"), "ok") != 0) {
        (void)snprintf(out, bytes, "%s: %s", text_of(outcome, "status"),
                       text_of(outcome, "reason"));
    } else if (json_is_number(gain)) {
        (void)snprintf(out, bytes, "%s ms, %+.1f %%", ak_show_real(ms, number_of(outcome, "ms")),
                       json_number_value(gain) * 100);
    } else {
        (void)snprintf(out, bytes, "%s ms", ak_show_real(ms, number_of(outcome, "ms")));
    }
}

static void print_proposals(const json_t *call)
{
    const json_t *list = json_object_get(call, "proposals"), *proposal;
    ak_table table;
    size_t i;
    ak_table_begin(&table, "proposal", ">parent", ">predicted", "verdict", "outcome", "hypothesis",
                   NULL);
    json_array_foreach(list, i, proposal)
    {
        char outcome[200];
        show_outcome(outcome, sizeof outcome, proposal);
        ak_table_cell(&table, "%s", text_of(proposal, "changes"));
        if (number_of(proposal, "parent") > 0) {
            ak_table_cell(&table, "#%.0f", number_of(proposal, "parent"));
        } else {
            ak_table_cell(&table, "default");
        }
        ak_table_cell(&table, "%+.1f %%", number_of(proposal, "expected_gain") * 100);
        ak_table_cell(&table, "%s", text_of(proposal, "verdict"));
        ak_table_cell(&table, "%s", outcome);
        ak_table_cell(&table, "%s", text_of(proposal, "hypothesis"));
    }
    if (json_array_size(list) > 0) {
        ak_out("\n");
    }
    ak_table_print(&table);
}

static void print_call(const json_t *call, bool first)
{
    char seconds[AK_NUMBER_BYTES], in[AK_NUMBER_BYTES], out[AK_NUMBER_BYTES];
    const char *error = text_of(call, "error");
    ak_out("\n%sgeneration %.0f%s: %s, %s%s, %s tokens in, %s out",
           ak_style_on(stdout, AK_STYLE_BOLD), number_of(call, "generation"),
           ak_style_on(stdout, AK_STYLE_PLAIN), text_of(call, "model"),
           ak_show_seconds(seconds, number_of(call, "seconds")),
           json_is_true(json_object_get(call, "replayed")) ? " (replayed)" : "",
           ak_show_count(in, number_of(call, "input_tokens")),
           ak_show_count(out, number_of(call, "output_tokens")));
    if (json_is_number(json_object_get(call, "cost_usd"))) {
        ak_out(", $%.4f", number_of(call, "cost_usd"));
    }
    ak_out("\n");
    if (first) { /* the same in all generations */
        print_text("system", text_of(call, "system"));
        print_text("brief", text_of(call, "brief"));
    }
    print_text("prompt", text_of(call, "state"));
    if (error[0] != 0) {
        ak_out("\nno reply: %s\n", error);
    } else {
        print_text("reply", text_of(call, "reply"));
        print_proposals(call);
    }
}

static void print_conversation(const json_t *conversation)
{
    const json_t *calls = json_object_get(conversation, "calls"), *call;
    size_t i;
    ak_out("run %s: %s %s on %s, strategy %s, %zu question%s to a language model\n",
           text_of(conversation, "run"), text_of(conversation, "kernel"),
           text_of(conversation, "size"), text_of(conversation, "device"),
           text_of(conversation, "strategy"), json_array_size(calls),
           ak_plural(json_array_size(calls)));
    json_array_foreach(calls, i, call)
    {
        print_call(call, i == 0);
    }
}

int ak_llm_show_run(const ak_args *args)
{
    ak_error err = AK_ERROR_INIT;
    ak_archive *archive = NULL;
    char *text = NULL;
    json_t *conversation = NULL;
    ak_status status = ak_args_archive(&archive, args, &err);
    if (status == AK_OK) {
        status = ak_llm_conversation(&text, archive, args->operand[1], &err);
    }
    if (status == AK_OK) {
        status = ak_json_parse(&conversation, text, strlen(text), "conversation", &err);
    }
    if (status == AK_OK && !ak_args_has(args, AK_OPTION_JSON)) {
        print_conversation(conversation);
    } else if (status == AK_OK && !ak_out_json(conversation)) {
        status = ak_fail_memory(&err);
    }
    json_decref(conversation);
    ak_text_free(text);
    ak_archive_close(archive);
    return status == AK_OK ? AK_EXIT_DONE : ak_complain_error(&err);
}

/* ---- stats ------------------------------------------------------------------------------------
 */

static void print_proposers(const json_t *list)
{
    const json_t *row, *count;
    const char *status;
    size_t i;
    ak_table table;
    ak_table_begin(&table, "proposed by", "model", ">trials", ">ok", ">best speed", "failed", NULL);
    json_array_foreach(list, i, row)
    {
        char share[AK_NUMBER_BYTES], speed[AK_NUMBER_BYTES];
        ak_buf failed = AK_BUF(1024);
        json_object_foreach((json_t *)(uintptr_t)json_object_get(row, "failed"), status, count)
        {
            ak_buf_print(&failed, "%s%lld %s", failed.length == 0 ? "" : ", ",
                         (long long)json_integer_value(count), status);
        }
        ak_table_cell(&table, "%s", text_of(row, "strategy"));
        ak_table_cell(&table, "%s", text_of(row, "model"));
        ak_table_cell(&table, "%.0f", number_of(row, "trials"));
        ak_table_cell(&table, "%s", ak_show_percent(share, number_of(row, "success_rate")));
        ak_table_cell(&table, "%s", ak_show_ratio(speed, number_of(row, "best_speed")));
        ak_table_cell(&table, "%s", failed.data);
        ak_buf_free(&failed);
    }
    ak_table_print(&table);
}

static void print_generations(const json_t *list)
{
    const json_t *row;
    size_t i;
    ak_table table;
    ak_table_begin(&table, ">generation", ">trials", ">ok", ">best so far", NULL);
    json_array_foreach(list, i, row)
    {
        char speed[AK_NUMBER_BYTES];
        ak_table_cell(&table, "%.0f", number_of(row, "generation"));
        ak_table_cell(&table, "%.0f", number_of(row, "trials"));
        ak_table_cell(&table, "%.0f", number_of(row, "ok"));
        ak_table_cell(&table, "%s", ak_show_ratio(speed, number_of(row, "best_speed")));
    }
    ak_out("%s", json_array_size(list) > 0 ? "\n" : "");
    ak_table_print(&table);
}

static void print_calibration(const json_t *calibration)
{
    const json_t *row;
    size_t i;
    ak_table table;
    ak_out("\npredictions: %.0f, of which %.0f could be judged; %.0f were faster than their parent",
           number_of(calibration, "predicted"), number_of(calibration, "judged"),
           number_of(calibration, "faster"));
    if (json_is_number(json_object_get(calibration, "mean_error"))) {
        ak_out("; off by %.1f points on average", number_of(calibration, "mean_error") * 100);
    }
    ak_out("\n");
    ak_table_begin(&table, "predicted", ">count", ">mean prediction", ">mean outcome", NULL);
    json_array_foreach(json_object_get(calibration, "bins"), i, row)
    {
        if (json_is_number(json_object_get(row, "up_to"))) {
            ak_table_cell(&table, "up to %+.0f %%", number_of(row, "up_to") * 100);
        } else {
            ak_table_cell(&table, "more");
        }
        ak_table_cell(&table, "%.0f", number_of(row, "count"));
        ak_table_cell(&table, "%+.1f %%", number_of(row, "expected") * 100);
        ak_table_cell(&table, "%+.1f %%", number_of(row, "measured") * 100);
    }
    ak_table_print(&table);
}

void ak_llm_use_print(const char *model, size_t calls, size_t failed, int64_t input_tokens,
                      int64_t output_tokens, const double *cost_usd)
{
    char in[AK_NUMBER_BYTES], out[AK_NUMBER_BYTES];
    ak_out("%s: %zu question%s, %zu failed; %s tokens in, %s out", model, calls, ak_plural(calls),
           failed, ak_show_count(in, (double)input_tokens),
           ak_show_count(out, (double)output_tokens));
    if (cost_usd != NULL) {
        ak_out("; $%.4f", *cost_usd);
    }
    ak_out("\n");
}

void ak_llm_worth_print(const json_t *worth)
{
    const json_t *calls = json_object_get(worth, "calls");
    char in[AK_NUMBER_BYTES], out[AK_NUMBER_BYTES], each[AK_NUMBER_BYTES];
    ak_out("\nruns that asked a language model (speed relative to the default)\n");
    print_proposers(json_object_get(worth, "proposers"));
    print_generations(json_object_get(worth, "generations"));
    print_calibration(json_object_get(worth, "calibration"));
    ak_out("\n%.0f question%s, %.0f failed; %s tokens in, %s out", number_of(calls, "calls"),
           ak_plural((size_t)number_of(calls, "calls")), number_of(calls, "failed"),
           ak_show_count(in, number_of(calls, "input_tokens")),
           ak_show_count(out, number_of(calls, "output_tokens")));
    if (json_is_number(json_object_get(calls, "cost_usd"))) {
        ak_out("; $%.4f", number_of(calls, "cost_usd"));
    }
    if (json_is_number(json_object_get(calls, "tokens_per_pct"))) {
        ak_out("; %s tokens", ak_show_count(each, number_of(calls, "tokens_per_pct")));
        if (json_is_number(json_object_get(calls, "usd_per_pct"))) {
            ak_out(" and $%.5f", number_of(calls, "usd_per_pct"));
        }
        ak_out(" for each percent gained over the default");
    }
    ak_out("\n");
}
