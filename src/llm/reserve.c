/*
 * reserve.c: keeps a run within its budget of dollars and tokens. Each attempt reserves its worst
 * case before it is made; afterwards the run is charged what the attempt has used.
 */
#include <limits.h>

#include "base/alloc.h"
#include "base/number.h"
#include "base/utf8.h"
#include "llm/client.h"

/* Factors by which limits exceed the most that earlier calls have used: LEARNED_MARGIN for the
   bound on input tokens, OUTPUT_MARGIN for the least output limit to which a call may be lowered so
   that it fits into the budget. */
#define LEARNED_MARGIN 1.5
#define OUTPUT_MARGIN  2
/* MESSAGE_TOKENS and REQUEST_TOKENS are generous allowances for the special tokens around a message
   and for what a provider adds to a request. */
#define MESSAGE_TOKENS 16
#define ROUNDING       1e-9 /* a cost above its worst case by this share is equal to it */
#define REQUEST_TOKENS 1024

ak_status ak_call_measure(size_t *out, const ak_llm_chat *chat, ak_error *err)
{
    size_t bytes = chat->system == NULL ? 0 : strlen(chat->system);
    bool valid = (chat->system == NULL || ak_utf8_valid(chat->system)) && chat->message_count > 0 &&
                 chat->messages[0].role == AK_LLM_USER;
    for (size_t i = 0; i < chat->message_count && valid; i++) {
        bytes += strlen(chat->messages[i].text) + MESSAGE_TOKENS;
        valid = ak_utf8_valid(chat->messages[i].text);
    }
    AK_FAIL_IF(!valid, err, AK_INVALID,
               "a question must be UTF-8 and begin with a message of the user");
    if (chat->schema != NULL) {
        AK_FREED char *text = NULL;
        AK_DO(ak_json_text(&text, chat->schema, err));
        bytes += strlen(text);
    }
    AK_FAIL_IF(bytes > AK_LLM_PROMPT_BYTES_MAX, err, AK_LIMIT,
               "the question has %zu bytes, more than %u", bytes, AK_LLM_PROMPT_BYTES_MAX);
    *out = bytes + REQUEST_TOKENS;
    return AK_OK;
}

void ak_call_request(ak_request *out, ak_llm_call *call)
{
    ak_llm *llm = call->llm;
    int wanted = call->chat->max_output_tokens;
    *out = (ak_request){.model = llm->model,
                        .effort = llm->effort[0] == 0 ? NULL : llm->effort,
                        .chat = call->chat,
                        .output_tokens = wanted > 0 ? wanted : AK_LLM_OUTPUT_TOKENS,
                        .prompt_tokens_max = call->prompt_tokens_max};
    ak_llm_lock(llm);
    out->abilities = llm->abilities;
    const int limits[] = {llm->abilities.output_tokens_max, llm->output_tokens_max,
                          call->output_tokens_fit};
    ak_llm_unlock(llm);
    for (size_t i = 0; i < AK_COUNT(limits); i++) {
        if (limits[i] > 0 && out->output_tokens > limits[i]) {
            out->output_tokens = limits[i];
        }
    }
}

/* Returns a bound on the input tokens of a call. Every byte counts as one token until earlier calls
   have shown the number of tokens per byte; then the bound is that number times LEARNED_MARGIN, but
   more than one token per byte only if a server has counted that many. */
static size_t input_tokens(ak_llm *llm, size_t prompt_tokens_max)
{
    double rate = llm->tokens_per_byte, learned = rate * LEARNED_MARGIN;
    return (learned > 0 && learned < 1) || rate > 1
               ? (size_t)((double)prompt_tokens_max * learned) + 1
               : prompt_tokens_max;
}

static void learn(ak_llm *llm, size_t prompt_tokens_max, const ak_llm_usage *usage)
{
    double rate = (double)usage->input / (double)prompt_tokens_max;
    if (usage->known && usage->input > 0) {
        llm->tokens_per_byte = rate > llm->tokens_per_byte ? rate : llm->tokens_per_byte;
        llm->output_most = usage->output > llm->output_most ? usage->output : llm->output_most;
    }
}

/* Returns how many output tokens the budget and the token limit still allow after `input` input
   tokens: at most INT_MAX, and below 0 if even the input does not fit. */
static double output_left(const ak_llm *llm, size_t input)
{
    double most = INT_MAX;
    if (llm->budget_usd > 0 && llm->price.output > 0) {
        double left = llm->budget_usd - llm->totals.cost_usd - llm->reserved_usd;
        double tokens = (left - ak_price_worst(&llm->price, input, 0)) / llm->price.output * 1e6;
        most = tokens < most ? tokens : most;
    }
    if (llm->tokens_max > 0) {
        double tokens =
            (double)(llm->tokens_max - llm->tokens_used - llm->tokens_reserved) - (double)input;
        most = tokens < most ? tokens : most;
    }
    return most;
}

/* Before the first attempt of a call, lowers its output limit to what budget and token limit leave,
   if this is at least OUTPUT_MARGIN times the most that an earlier call has used. */
static void fit_output(ak_request *request, ak_llm_call *call, size_t input)
{
    const ak_llm *llm = call->llm;
    double tokens = output_left(llm, input);
    if (tokens < request->output_tokens && llm->output_most > 0 && call->answer.attempts == 0 &&
        tokens >= (double)(llm->output_most * OUTPUT_MARGIN)) {
        call->output_tokens_fit = (int)tokens;
        request->output_tokens = (int)tokens;
    }
}

/* Fails and names the limit that an attempt with this worst case would break. `dear` is the number
   of tokens if a prompt is so long that it may cost more than the list price, else 0. */
static ak_status refuse(ak_llm_call *call, const ak_reservation *worst, size_t dear, ak_error *err)
{
    const ak_llm *llm = call->llm;
    ak_llm_answer *answer = &call->answer;
    double left = llm->budget_usd - llm->totals.cost_usd - llm->reserved_usd;
    int64_t tokens = llm->tokens_max - llm->tokens_used - llm->tokens_reserved;
    if (dear > 0) {
        return ak_answer_fail(answer, AK_LLM_FAULT_BUDGET, err,
                              "%s: a question that may have %zu tokens may cost more than the "
                              "list price, so the budget cannot be kept: shorten it",
                              llm->name, dear);
    }
    if (llm->budget_usd > 0 && worst->usd > left) {
        return ak_answer_fail(answer, AK_LLM_FAULT_BUDGET, err,
                              "%s: this call could cost $%.4f and $%.4f of the budget of $%.4g is "
                              "left: raise --llm-budget",
                              llm->name, worst->usd, left < 0 ? 0 : left, llm->budget_usd);
    }
    return ak_answer_fail(answer, AK_LLM_FAULT_BUDGET, err,
                          "%s: this call could use %lld tokens and %lld of the %lld that the run "
                          "may use are left: raise --llm-tokens",
                          llm->name, (long long)worst->tokens, (long long)(tokens < 0 ? 0 : tokens),
                          (long long)llm->tokens_max);
}

ak_status ak_call_reserve(ak_reservation *out, ak_llm_call *call, ak_error *err)
{
    ak_llm *llm = call->llm;
    ak_request request;
    ak_call_request(&request, call);
    ak_llm_lock(llm);
    size_t input = input_tokens(llm, request.prompt_tokens_max);
    bool dear = llm->budget_usd > 0 && llm->price.output > 0 && input > AK_PRICE_PROMPT_TOKENS_MAX;
    fit_output(&request, call, input);
    ak_reservation worst = {ak_price_worst(&llm->price, input, request.output_tokens),
                            (int64_t)input + request.output_tokens};
    bool spent = llm->budget_usd > 0 &&
                 worst.usd > llm->budget_usd - llm->totals.cost_usd - llm->reserved_usd;
    bool used = llm->tokens_max > 0 &&
                worst.tokens > llm->tokens_max - llm->tokens_used - llm->tokens_reserved;
    ak_status status = AK_OK;
    *out = (ak_reservation){0};
    if (dear || spent || used) {
        status = refuse(call, &worst, dear ? input : 0, err);
    } else {
        *out = worst;
        llm->reserved_usd += worst.usd;
        llm->tokens_reserved += worst.tokens;
    }
    ak_llm_unlock(llm);
    return status;
}

/* Ends a reservation. The caller holds the client's lock. */
static void give_back(ak_llm *llm, const ak_reservation *reserved)
{
    llm->reserved_usd -= reserved->usd;
    llm->tokens_reserved -= reserved->tokens;
}

/* Notes that an attempt has used more than was reserved for it: the server counts more input tokens
   than the bound on them (input_tokens), or more output than its limit. The caller holds the
   client's lock and has counted the attempt already. */
static void note_excess(ak_llm_call *call, const ak_llm_usage *usage, double cost,
                        const ak_reservation *reserved)
{
    const ak_llm *llm = call->llm;
    char spent[80] = "";
    if (llm->budget_usd > 0 && llm->totals.cost_usd > llm->budget_usd) {
        (void)ak_number_print(spent, sizeof spent, "; the budget of $%.4g is exceeded",
                              llm->budget_usd);
    } else if (llm->tokens_max > 0 && llm->tokens_used > llm->tokens_max) {
        (void)ak_number_print(spent, sizeof spent, "; the limit of %lld tokens is exceeded",
                              (long long)llm->tokens_max);
    }
    (void)ak_number_print(
        call->excess, sizeof call->excess,
        "%s: the server counts %lld tokens in and %lld out ($%.4f) for a question for "
        "which %lld tokens ($%.4f) were set aside%s",
        llm->name, (long long)usage->input, (long long)usage->output, cost,
        (long long)reserved->tokens, reserved->usd, spent);
}

void ak_call_book(ak_llm_call *call, const ak_attempt *attempt, const ak_reservation *reserved)
{
    ak_llm *llm = call->llm;
    const ak_llm_usage *usage = &attempt->usage;
    double cost = attempt->uncertain ? reserved->usd
                  : usage->known     ? ak_price_of(&llm->price, usage)
                                     : 0;
    int64_t tokens = attempt->uncertain ? reserved->tokens
                     : usage->known     ? usage->input + usage->output
                                        : 0;
    call->answer.cost_usd += cost;
    call->uncertain = call->uncertain || attempt->uncertain;
    if (attempt->end != AK_ATTEMPT_ANSWERED) { /* an answer brings its own usage */
        ak_usage_add(&call->answer.usage, usage);
    }
    ak_llm_lock(llm);
    give_back(llm, reserved);
    llm->totals.cost_usd += cost;
    llm->totals.uncertain_usd += attempt->uncertain ? cost : 0;
    llm->totals.attempts++;
    ak_usage_add(&llm->totals.usage, usage);
    llm->tokens_used += tokens;
    learn(llm, call->prompt_tokens_max, usage);
    bool limited = llm->budget_usd > 0 || llm->tokens_max > 0;
    if (limited && (tokens > reserved->tokens || cost > reserved->usd * (1 + ROUNDING))) {
        note_excess(call, usage, cost, reserved);
    }
    ak_llm_unlock(llm);
}

void ak_call_book_replay(ak_llm_call *call, const ak_reservation *reserved)
{
    ak_llm *llm = call->llm;
    const ak_llm_answer *answer = &call->answer;
    ak_llm_lock(llm);
    give_back(llm, reserved);
    llm->totals.cost_usd += answer->cost_usd;
    llm->totals.priced = llm->totals.priced || answer->priced; /* when it was recorded */
    llm->totals.attempts += (size_t)answer->attempts;
    ak_usage_add(&llm->totals.usage, &answer->usage);
    llm->tokens_used +=
        answer->usage.known ? answer->usage.input + answer->usage.output : reserved->tokens;
    learn(llm, call->prompt_tokens_max, &answer->usage);
    ak_llm_unlock(llm);
}
