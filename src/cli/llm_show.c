/* llm_show.c: see llm_show.h. Prompts and replies are printed line by line, with a margin that sets
   them apart from the command's own text. Very long lines are cut. */
#include "cli/llm_show.h"

#include "cli/options.h"
#include "cli/table.h"
#include "cli/task_args.h"

#define LINE_MAX_BYTES 4000
#define TOKENS_BYTES   128

static void print_text(const char *title, const char *text)
{
    ak_out("\n");
    ak_out_styled(AK_STYLE_BOLD, "%s", title);
    ak_out("\n");
    while (*text != 0) {
        size_t length = strcspn(text, "\n");
        int shown = length > LINE_MAX_BYTES ? LINE_MAX_BYTES : (int)length;
        ak_out("  | %.*s%s\n", shown, text, (size_t)shown < length ? "..." : "");
        text += length;
        text += *text == '\n';
    }
}

/* Writes the outcome of a proposal: "0.157 ms, +12.3 %", "wrong_result: ...", or why it was not
   tried. */
static void show_outcome(char *out, size_t bytes, const json_t *proposal)
{
    const json_t *outcome = json_object_get(proposal, "outcome");
    const json_t *gain = json_object_get(outcome, "gain");
    char ms[AK_NUMBER_BYTES];
    if (!json_is_object(outcome)) {
        (void)snprintf(out, bytes, "%s", ak_json_text_at(proposal, "note"));
    } else if (!ak_json_text_is(outcome, "status", "ok")) {
        (void)snprintf(out, bytes, "%s: %s", ak_json_text_at(outcome, "status"),
                       ak_json_text_at(outcome, "reason"));
    } else if (json_is_number(gain)) {
        (void)snprintf(out, bytes, "%s ms, %+.1f %%%s",
                       ak_show_real(ms, ak_json_number_at(outcome, "ms")),
                       json_number_value(gain) * 100,
                       json_is_false(json_object_get(outcome, "decided")) ? ", not decided" : "");
    } else {
        (void)snprintf(out, bytes, "%s ms", ak_show_real(ms, ak_json_number_at(outcome, "ms")));
    }
}

static void print_proposals(const json_t *call)
{
    const json_t *list = json_object_get(call, "proposals");
    ak_table table;
    ak_table_begin(&table, "proposal", ">parent", ">predicted", "verdict", "outcome", "_hypothesis",
                   NULL);
    AK_EACH(proposal, list) {
        char outcome[200];
        show_outcome(outcome, sizeof outcome, proposal);
        ak_table_cell(&table, "%s", ak_json_text_at(proposal, "changes"));
        if (ak_json_number_at(proposal, "parent") > 0) {
            ak_table_cell(&table, "#%.0f", ak_json_number_at(proposal, "parent"));
        } else {
            ak_table_cell(&table, "default");
        }
        const json_t *gain = json_object_get(proposal, "expected_gain");
        ak_table_cell_if(&table, json_is_number(gain), "%+.1f %%", json_number_value(gain) * 100);
        ak_table_cell(&table, "%s", ak_json_text_at(proposal, "verdict"));
        ak_table_cell(&table, "%s", outcome);
        ak_table_cell(&table, "%s", ak_json_text_at(proposal, "hypothesis"));
    }
    if (json_array_size(list) > 0) {
        ak_out("\n");
    }
    ak_table_print(&table);
}

/* Writes "12,300 tokens in, 400 out" and the number of questions whose tokens are not known, for
   example because they failed or because a person answered them in files (--llm file:DIR). If no
   question's tokens are known, writes that instead. */
static void show_tokens(char out[TOKENS_BYTES], double in_tokens, double out_tokens, size_t asked,
                        size_t uncounted)
{
    char in[AK_NUMBER_BYTES], back[AK_NUMBER_BYTES], rest[48] = "";
    if (uncounted > 0 && uncounted >= asked) {
        (void)snprintf(out, TOKENS_BYTES, "number of tokens not known");
        return;
    }
    if (uncounted > 0) {
        (void)snprintf(rest, sizeof rest, " (not known for %zu question%s)", uncounted,
                       ak_plural(uncounted));
    }
    (void)snprintf(out, TOKENS_BYTES, "%s tokens in, %s out%s", ak_show_count(in, in_tokens),
                   ak_show_count(back, out_tokens), rest);
}

/* Prints a cost. If the tokens of a question are not known, the cost counts the most that it can
   have cost; 0 then says that the server refused the question and counted nothing. */
static void show_usd(const char *before, double usd, bool uncounted)
{
    if (uncounted && usd == 0) {
        ak_out("%sno cost was counted", before);
    } else {
        ak_out("%s%s$%.4f", before, uncounted ? "at most " : "", usd);
    }
}

static void show_cost(const char *before, const json_t *cost, bool uncounted)
{
    if (json_is_number(cost)) {
        show_usd(before, json_number_value(cost), uncounted);
    }
}

static void print_call(const json_t *call, bool first)
{
    static const struct {
        const char *finish, *why;
    } cuts[] = {{"enough", "it went on for long after the proposals that were asked for"},
                {"length", "it reached the limit of its tokens"},
                {"too_long", "it was larger than a reply may be"},
                {"lost", "the connection was lost"}};
    char seconds[AK_NUMBER_BYTES], tokens[TOKENS_BYTES];
    const char *error = ak_json_text_at(call, "error");
    show_tokens(tokens, ak_json_number_at(call, "input_tokens"),
                ak_json_number_at(call, "output_tokens"), 1,
                !json_is_number(json_object_get(call, "input_tokens")));
    ak_out("\n");
    ak_out_styled(AK_STYLE_BOLD, "generation %.0f", ak_json_number_at(call, "generation"));
    ak_out(": %s, %s%s, %s", ak_json_text_at(call, "model"),
           ak_show_seconds(seconds, ak_json_number_at(call, "seconds")),
           json_is_true(json_object_get(call, "replayed")) ? " (replayed)" : "", tokens);
    show_cost(", ", json_object_get(call, "cost_usd"),
              !json_is_number(json_object_get(call, "input_tokens")));
    ak_out("\n");
    if (first) { /* all generations have the same system text and brief */
        print_text("system", ak_json_text_at(call, "system"));
        print_text("brief", ak_json_text_at(call, "brief"));
    }
    print_text("prompt", ak_json_text_at(call, "state"));
    if (error[0] != 0) {
        bool asked = json_is_true(json_object_get(call, "asked"));
        ak_out("\n%s: %s\n", asked ? "no reply" : "not asked", error);
    } else {
        print_text("reply", ak_json_text_at(call, "reply"));
        for (size_t i = 0; i < AK_COUNT(cuts); i++) {
            if (ak_json_text_is(call, "finish", cuts[i].finish)) {
                ak_out("\nThe reply was cut: %s.\n", cuts[i].why);
            }
        }
        print_proposals(call);
    }
}

static void print_conversation(const json_t *conversation)
{
    const json_t *calls = json_object_get(conversation, "calls");
    size_t asked = 0;
    AK_EACH(call, calls) {
        asked += json_is_true(json_object_get(call, "asked"));
    }
    ak_out("run %s: %s %s on %s, strategy %s, %zu question%s to a language model\n",
           ak_json_text_at(conversation, "run"), ak_json_text_at(conversation, "kernel"),
           ak_json_text_at(conversation, "size"), ak_json_text_at(conversation, "device"),
           ak_json_text_at(conversation, "strategy"), asked, ak_plural(asked));
    AK_EACH(call, calls) {
        print_call(call, call_at == 0);
    }
}

int ak_llm_show_run(const ak_args *args, ak_error *err)
{
    AK_AT_END(ak_archive_close_at) ak_archive *archive = NULL;
    AK_AT_END(ak_text_free_at) char *id = NULL;
    char *text = NULL;
    json_auto_t *conversation = NULL;
    ak_status status = AK_OK;
    AK_TRY(ak_args_refuse(args, AK_O_LLM | AK_O(SEED), "is for 'llm check'", err));
    AK_TRY(ak_args_archive(&archive, args, err));
    AK_TRY(args->operand[1] == NULL ? AK_OK
                                    : ak_archive_find_run(&id, archive, args->operand[1], err));
    AK_TRY(ak_out_parse(&conversation, ak_llm_conversation(&text, archive, id, err), &text,
                        "conversation", err));
    if (!ak_args_has(args, AK_OPTION_JSON)) {
        print_conversation(conversation);
    } else {
        AK_TRY(ak_stored(ak_out_json(conversation), err));
    }
out:
    return status == AK_OK ? AK_EXIT_DONE
                           : ak_complain_none(err, archive == NULL || args->operand[1] != NULL);
}

/* ---- stats ----------------------------------------------------------------------------------- */

/* Adds a cell with the interval of the best speed, marked as not decided if it contains 1. The
   reference itself, 1 .. 1, has an empty cell, and a proposer without an interval has "-". */
static void interval_cell(ak_table *table, const json_t *row)
{
    char a[AK_NUMBER_BYTES], b[AK_NUMBER_BYTES];
    double low = ak_json_number_in(row, "best_speed_ci", 0);
    double high = ak_json_number_in(row, "best_speed_ci", 1);
    if (!(high > 0)) {
        ak_table_cell(table, "-");
    } else if (low == 1 && high == 1) {
        ak_table_cell(table, "%s", "");
    } else {
        ak_table_cell(table, "%s .. %s%s", ak_show_ratio(a, low), ak_show_ratio(b, high),
                      low <= 1 && high >= 1 ? "  not decided" : "");
    }
}

static void print_proposers(const json_t *list)
{
    ak_table table;
    ak_table_begin(&table, "proposed by", "model", ">trials", ">ok", ">best speed", "95 % interval",
                   "failed", NULL);
    AK_EACH(row, list) {
        char share[AK_NUMBER_BYTES], speed[AK_NUMBER_BYTES];
        AK_AT_END(ak_buf_free) ak_buf failed = AK_BUF(1024);
        AK_EACH_MEMBER(status, count, json_object_get(row, "failed")) {
            ak_buf_print(&failed, "%s%lld %s", failed.length == 0 ? "" : ", ",
                         (long long)json_integer_value(count), status);
        }
        ak_table_cell(&table, "%s", ak_json_text_at(row, "strategy"));
        ak_table_cell(&table, "%s", ak_json_text_at(row, "model"));
        ak_table_cell(&table, "%.0f", ak_json_number_at(row, "trials"));
        ak_table_cell(&table, "%s", ak_show_percent(share, ak_json_number_at(row, "success_rate")));
        ak_table_cell(&table, "%s", ak_show_ratio(speed, ak_json_number_at(row, "best_speed")));
        interval_cell(&table, row);
        ak_table_cell(&table, "%s", failed.data);
    }
    ak_table_print(&table);
}

static void print_generations(const json_t *list)
{
    ak_table table;
    ak_table_begin(&table, ">generation", ">trials", ">ok", ">best so far", NULL);
    AK_EACH(row, list) {
        char speed[AK_NUMBER_BYTES];
        ak_table_cell(&table, "%.0f", ak_json_number_at(row, "generation"));
        ak_table_cell(&table, "%.0f", ak_json_number_at(row, "trials"));
        ak_table_cell(&table, "%.0f", ak_json_number_at(row, "ok"));
        ak_table_cell(&table, "%s", ak_show_ratio(speed, ak_json_number_at(row, "best_speed")));
    }
    ak_out("%s", json_array_size(list) > 0 ? "\n" : "");
    ak_table_print(&table);
}

static void print_calibration(const json_t *calibration)
{
    ak_table table;
    double undecided = ak_json_number_at(calibration, "undecided");
    ak_out("\npredictions: %.0f, of which %.0f could be judged; %.0f were faster than their parent",
           ak_json_number_at(calibration, "predicted"), ak_json_number_at(calibration, "judged"),
           ak_json_number_at(calibration, "faster"));
    if (undecided > 0) {
        ak_out("; %.0f not decided, as times vary too much", undecided);
    }
    if (json_is_number(json_object_get(calibration, "mean_error"))) {
        ak_out("; off by %.1f points on average",
               ak_json_number_at(calibration, "mean_error") * 100);
    }
    ak_out("\n");
    ak_table_begin(&table, "predicted", ">count", ">mean prediction", ">mean outcome", NULL);
    AK_EACH(row, json_object_get(calibration, "bins")) {
        if (json_is_number(json_object_get(row, "up_to"))) {
            ak_table_cell(&table, "up to %+.0f %%", ak_json_number_at(row, "up_to") * 100);
        } else {
            ak_table_cell(&table, "more");
        }
        ak_table_cell(&table, "%.0f", ak_json_number_at(row, "count"));
        ak_table_cell(&table, "%+.1f %%", ak_json_number_at(row, "expected") * 100);
        ak_table_cell(&table, "%+.1f %%", ak_json_number_at(row, "measured") * 100);
    }
    ak_table_print(&table);
}

void ak_llm_use_print(const ak_llm_use *use)
{
    char tokens[TOKENS_BYTES];
    if (use->model == NULL) {
        return;
    }
    show_tokens(tokens, (double)use->input_tokens, (double)use->output_tokens, use->calls,
                use->uncounted);
    ak_out("%s: %zu question%s, %zu failed; %s", use->model, use->calls, ak_plural(use->calls),
           use->failed, tokens);
    if (use->priced) {
        show_usd("; ", use->cost_usd, use->uncounted > 0);
    }
    ak_out("\n");
}

void ak_llm_worth_print(const json_t *worth)
{
    const json_t *calls = json_object_get(worth, "calls");
    const bool uncounted = ak_json_number_at(calls, "uncounted") > 0;
    char tokens[TOKENS_BYTES], each[AK_NUMBER_BYTES];
    show_tokens(
        tokens, ak_json_number_at(calls, "input_tokens"), ak_json_number_at(calls, "output_tokens"),
        (size_t)ak_json_number_at(calls, "calls"), (size_t)ak_json_number_at(calls, "uncounted"));
    ak_out("\nruns that asked a language model (speed relative to the default)\n");
    print_proposers(json_object_get(worth, "proposers"));
    print_generations(json_object_get(worth, "generations"));
    print_calibration(json_object_get(worth, "calibration"));
    ak_out("\n%.0f question%s, %.0f failed; %s", ak_json_number_at(calls, "calls"),
           ak_plural((size_t)ak_json_number_at(calls, "calls")), ak_json_number_at(calls, "failed"),
           tokens);
    show_cost("; ", json_object_get(calls, "cost_usd"), uncounted);
    bool by_tokens = json_is_number(json_object_get(calls, "tokens_per_pct"));
    bool by_usd = ak_json_number_at(calls, "usd_per_pct") > 0;
    if (by_tokens) {
        ak_out("; %s tokens", ak_show_count(each, ak_json_number_at(calls, "tokens_per_pct")));
    }
    if (by_usd) {
        ak_out("%s%s$%.5f", by_tokens ? " and " : "; ", uncounted ? "at most " : "",
               ak_json_number_at(calls, "usd_per_pct"));
    }
    if (by_tokens || by_usd) {
        ak_out(" for each percent gained over the default");
    }
    ak_out("\n");
}
