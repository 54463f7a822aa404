/* cmd_llm.c: tests the configured language model with a question for one word, or shows the
   conversations of a run (llm_show.c). */
#include <unistd.h>

#include "base/utf8.h"
#include "cli/search_args.h"
#include "cli/llm_show.h"
#include "cli/task_args.h"

#define REPLY_BYTES 400 /* limit on what is shown of a reply; --json has all of it */

static void print_money(const json_t *result)
{
    const json_t *cost = json_object_get(result, "cost_usd");
    const char *date = ak_json_text_or_null(result, "price_of");
    if (json_is_string(cost)) {
        ak_out("cost      unpriced; --llm-prices FILE gives the price\n");
    } else {
        bool known = json_is_object(json_object_get(result, "tokens"));
        ak_out("cost      %s$%.6f%s%s\n", known || json_number_value(cost) == 0 ? "" : "at most ",
               json_number_value(cost), date == NULL ? "" : ", list price of ", ak_or_empty(date));
    }
}

static void print(const json_t *result)
{
    const json_t *tokens = json_object_get(result, "tokens");
    const char *address = ak_json_text_or_null(result, "address");
    ak_out("provider  %s\n", ak_json_text_or_null(result, "provider"));
    ak_out("model     %s\n", ak_json_text_or_null(result, "model"));
    ak_out("address   %s\n", address == NULL ? "none, a recording" : address);
    const char *reply = ak_json_text_at(result, "reply");
    const size_t shown = ak_utf8_cut(reply, REPLY_BYTES);
    ak_out("reply     %.*s%s\n", (int)shown, reply,
           reply[shown] == 0 ? "" : " ... (--json has all of it)");
    if (ak_json_text_is(result, "finish", "length")) {
        ak_out(
            "cut off   at the limit of %.0f output tokens, reasoning included; --llm-output, the "
            "budget or the model sets it\n",
            ak_json_number_at(result, "output_limit"));
    }
    ak_out("schema    %s\n", json_is_true(json_object_get(result, "schema_kept"))
                                 ? "kept"
                                 : "not kept: proposals will be checked and some lost");
    if (json_is_object(tokens)) {
        ak_out("tokens    %lld in (%lld cached), %lld out (%lld of them reasoning)\n",
               (long long)json_integer_value(json_object_get(tokens, "input")),
               (long long)json_integer_value(json_object_get(tokens, "cached")),
               (long long)json_integer_value(json_object_get(tokens, "output")),
               (long long)json_integer_value(json_object_get(tokens, "reasoning")));
    } else {
        ak_out("tokens    not reported\n");
    }
    print_money(result);
    ak_out("took      %.1f s, %lld attempt%s\n", ak_json_number_at(result, "seconds"),
           (long long)json_integer_value(json_object_get(result, "attempts")),
           json_integer_value(json_object_get(result, "attempts")) == 1 ? "" : "s");
}

static void tell(void *context, const char *text)
{
    (void)context;
    ak_tell("%s", text);
}

static int run_check(const ak_args *args, ak_error *err)
{
    ak_llm_options options;
    char *text = NULL;
    json_auto_t *result = NULL;
    ak_catch_interrupts();
    AK_OR_COMPLAIN(ak_args_refuse(args, AK_O(ARCHIVE), "is for 'llm show'", err));
    ak_llm_args(&options, args, &ak_interrupted);
    options.notice = options.warning = tell;
    if (isatty(STDERR_FILENO)) {
        const char *model = options.model == NULL ? "the tape" : options.model;
        ak_tell("asking %s; a model may think for minutes, Ctrl-C ends it", model);
    }
    AK_OR_COMPLAIN(ak_out_parse(&result, ak_llm_check(&text, &options, err), &text, "llm", err));
    if (!ak_args_has(args, AK_OPTION_JSON)) {
        print(result);
    } else if (!ak_out_json(result)) {
        AK_OR_COMPLAIN(ak_fail_memory(err));
    }
    return AK_EXIT_DONE;
}

static int run(const ak_args *args, ak_error *err)
{
    static const ak_verb verbs[] = {{"check", run_check}, {"show", ak_llm_show_run}};
    return ak_verb_run(verbs, AK_COUNT(verbs), args, "llm has no subcommand",
                       "see 'autokernel llm --help'", err);
}

const ak_command ak_cmd_llm = {
    .name = "llm",
    .summary = "test a language model, or show what was said to it in a run",
    .operands = "check|show [RUN]",
    .least = 1,
    .most = 2,
    .options = AK_O_LLM | AK_O(SEED) | AK_O(ARCHIVE) | AK_O(JSON) | AK_O(HELP),
    .about = "check asks for one word and prints the answer, the tokens and the price. Keys are "
             "read from OPENAI_API_KEY, ANTHROPIC_API_KEY or the file of --llm-key-file, and are "
             "never printed.\n\n"
             "show prints each prompt, reply, proposal and prediction of a run, with what came of "
             "it. Without RUN it shows the latest run.",
    .examples = "  autokernel llm check --llm openai:gpt-5-mini --llm-budget 0.05\n"
                "  autokernel llm check --llm ollama:qwen3:8b\n"
                "  autokernel llm check --llm compatible:qwen3 --llm-url http://127.0.0.1:8000\n"
                "  autokernel tune matmul --llm openai:gpt-5-mini --llm-budget 0.50\n"
                "  autokernel llm show\n",
    .run = run,
};
