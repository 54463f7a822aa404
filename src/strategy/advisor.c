/* advisor.c: see advisor.h. It is long because it holds one state machine: question, answer,
   observations and rechecks share its state. */
#include "strategy/advisor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"
#include "llm/proposal.h"

/* A generation counts as a gain if the best time or cost improved by this share; less is noise. */
#define GAIN 0.005
/* The advice ends after STALLED_MAX generations in a row without a gain, and fails after BARREN_MAX
   answers in a row without a usable proposal. */
#define STALLED_MAX 2
#define BARREN_MAX  2
/* Ends a note to the model on an answer that could not be read. */
#define UNTRIED ", so nothing of it was tried; answer with the object alone"
/* Output tokens for one proposal, which takes about 250 if it spells out thirty parameters as null,
   and for the reasoning of one answer, which comes on top. */
#define TOKENS_EACH     256
#define TOKENS_THINKING 8192
#define TEXT_MAX        400 /* bytes kept of a trial's reason, and of the line about its code */
#define AWAIT_STEP_NS   (5 * AK_MS_NS)

/* An accepted suggestion, handed out or still waiting. */
typedef struct advice {
    ak_suggestion what;
    ak_config parent;
    int generation;
    const char *hypothesis;
} advice;

struct ak_advisor {
    const ak_advisor_options *options;
    const ak_space *space;
    const ak_walk *walk;
    ak_arena *arena; /* holds reasons and hypotheses */
    ak_brief brief;
    ak_advice_plan plan;
    size_t evaluations; /* budget of the run, with trials of earlier runs; 0 if unknown */
    uint64_t seed;
    ak_advice_state state;
    const char *ending;
    char fault[480]; /* why the advice failed */
    bool yielded;

    ak_experience *trials; /* all observed trials; trial number n is trials[n - 1] */
    size_t count, capacity;
    double best_ms, asked_ms; /* best time or cost now and when the last question was asked */
    int generation;           /* generation of the last question; 0 if none was asked */
    int stalled, barren;
    bool used;

    ak_buf system, brief_text, prompt;   /* borrowed by the question under way */
    char situation[AK_HASH_QUICK_BYTES]; /* hash of the question's contents, whatever its wording */
    json_t *schema;
    ak_llm_message messages[2];
    ak_llm_chat chat;
    ak_llm_call *call;
    int64_t asked_ns;
    size_t shown; /* number of trials when the last question was asked; 0 if the model is told
                     none */

    advice *list; /* accepted suggestions of all answers */
    size_t advice_count, advice_capacity, next;
    /* What the next prompt says was wrong with the latest answer: the suggestions that were refused
       or changed, except surplus ones, or the whole answer if it could not be read. */
    ak_suggestion refused[AK_PROMPT_REFUSALS];
    size_t refused_count;
};

/* ---- open ------------------------------------------------------------------------------------ */

ak_advice_plan ak_advice_plan_of(const ak_strategy_context *context, const ak_hyper *hypers,
                                 size_t history, int generations)
{
    const ak_advisor_options *options = context->advisor;
    const bool given = options != NULL && options->generations > 0 && generations > 1;
    return (ak_advice_plan){.generations = given ? options->generations : generations,
                            .batch = options == NULL ? 0 : options->batch,
                            .no_history = ak_strategy_hyper(context, hypers, history) < 1,
                            .no_facts = ak_strategy_hyper(context, hypers, history + 1) < 1};
}

static void fail(ak_advisor *a, const char *why)
{
    a->state = AK_ADVICE_FAILED;
    (void)snprintf(a->fault, sizeof a->fault, "%s", why);
}

/* Ends the advice because the model gave nothing usable, and says what was wrong with its last
   answer. */
static void fail_barren(ak_advisor *a, const char *times)
{
    const ak_suggestion *last = a->refused_count > 0 ? &a->refused[0] : NULL;
    char why[sizeof a->fault], wrong[320] = "";
    if (last != NULL) {
        const char *untold = strstr(last->note, UNTRIED);
        const size_t length = untold == NULL ? strlen(last->note) : (size_t)(untold - last->note);
        (void)snprintf(wrong, sizeof wrong, " (the last: %.60s: %.*s)", last->text,
                       length < 200 ? (int)length : 200, last->note);
    }
    (void)snprintf(why, sizeof why, "%.100s gave no usable proposal%s%s", a->options->model->name,
                   times, wrong);
    fail(a, why);
}

static const char *or_else(const char *text, const char *fallback)
{
    return text == NULL || text[0] == 0 ? fallback : text;
}

static ak_status describe(ak_advisor *a, const ak_strategy_context *context, ak_error *err)
{
    AK_DO(a->options->task != NULL
              ? ak_brief_open(&a->brief, a->options->task, a->options->ceilings, err)
              : ak_brief_space(&a->brief, context->space, context->constants,
                               context->kernel == NULL ? "unnamed" : context->kernel,
                               or_else(a->options->device, "a recording"), err));
    if (a->options->task == NULL) {
        a->brief.description = or_else(a->options->description, "");
        a->brief.size = or_else(a->options->size, "");
        a->brief.dtype = or_else(a->options->dtype, "");
    }
    AK_DO(a->options->environment == NULL
              ? AK_OK
              : ak_brief_environment(&a->brief, a->options->environment, err));
    a->brief.objective = a->options->objective;
    a->brief.share = a->plan.no_facts ? AK_SHARE_SPACE : a->options->share;
    AK_DO(ak_prompt_system(&a->system, err));
    return ak_prompt_brief(&a->brief_text, &a->brief, err);
}

ak_status ak_advisor_open(ak_advisor **out, const ak_strategy_context *context,
                          const ak_advice_plan *plan, const ak_walk *walk, ak_error *err)
{
    static const ak_advisor_options nobody = {0};
    AK_AT_END(ak_advisor_close_at) ak_advisor *a = NULL;
    AK_DO(AK_NEW(a, 1, err));
    *a = (ak_advisor){.options = context->advisor == NULL ? &nobody : context->advisor,
                      .space = context->space,
                      .walk = walk,
                      .plan = *plan,
                      .evaluations =
                          context->evaluations == 0 ? 0 : context->evaluations + context->known,
                      .seed = context->seed,
                      .system = AK_BUF(AK_PROMPT_BYTES_MAX),
                      .brief_text = AK_BUF(AK_PROMPT_BYTES_MAX),
                      .prompt = AK_BUF(AK_PROMPT_BYTES_MAX)};
    a->arena = ak_arena_new();
    AK_DO(ak_made(a->arena, err));
    if (a->options->model == NULL) {
        fail(a,
             a->options->missing == NULL ? "no language model is configured" : a->options->missing);
    } else {
        AK_DO(describe(a, context, err));
    }
    AK_GIVE(out, a);
    return AK_OK;
}

ak_advice_state ak_advisor_state(const ak_advisor *a)
{
    return a->state;
}

const char *ak_advisor_ending(const ak_advisor *a)
{
    return a->ending;
}

int ak_advisor_generation(const ak_advisor *a)
{
    return a->generation;
}

void ak_advisor_yield(ak_advisor *a, const char *strategy)
{
    char line[600];
    if (!a->yielded && a->options->notice != NULL) {
        (void)snprintf(line, sizeof line, "%s; carrying on with the strategy %s", a->fault,
                       strategy);
        a->options->notice(a->options->context, line);
    }
    a->yielded = true;
}

/* ---- question -------------------------------------------------------------------------------- */

/* Describes the compiled code of the trials for which the prompt shows it. */
static ak_status look(ak_advisor *a, const ak_history *history, ak_error *err)
{
    size_t numbers[AK_PROMPT_LOOKS], count = 0;
    bool wanted = a->options->look != NULL && a->brief.share <= AK_SHARE_FACTS;
    AK_DO(!wanted ? AK_OK : ak_prompt_looks(numbers, &count, &a->brief, history));
    for (size_t i = 0; i < count; i++) {
        ak_experience *t = &a->trials[numbers[i] - 1];
        ak_buf text = AK_BUF(TEXT_MAX);
        bool seen = t->code == NULL && a->options->look(a->options->context, &text, &t->config);
        t->code = seen ? ak_arena_strndup(a->arena, text.data, text.length) : t->code;
        ak_buf_free(&text);
        AK_DO(ak_stored(!seen || t->code != NULL, err));
    }
    return AK_OK;
}

static ak_status write_prompt(ak_advisor *a, ak_error *err)
{
    ak_refusal refusals[AK_PROMPT_REFUSALS];
    for (size_t i = 0; i < a->refused_count; i++) {
        refusals[i] = (ak_refusal){a->refused[i].text, a->refused[i].note};
    }
    ak_history history = {.trials = a->trials,
                          .count = a->count,
                          .refusals = refusals,
                          .refusal_count = a->refused_count,
                          .library = a->options->library,
                          .library_ms = a->options->library_ms,
                          .generation = a->generation,
                          .generations = a->plan.generations,
                          .batch = a->plan.batch,
                          .evaluations = a->evaluations,
                          .searched = a->plan.searched,
                          .apart = a->plan.apart};
    if (a->plan.no_history) {
        history.count = history.refusal_count = 0;
        history.library_ms = 0;
        history.hidden = true;
    }
    ak_buf_clear(&a->prompt);
    json_decref(a->schema);
    a->schema = NULL;
    AK_DO(look(a, &history, err));
    AK_DO(ak_prompt_state(&a->prompt, &a->brief, &history, err));
    return ak_prompt_schema(&a->schema, &a->brief, &history, err);
}

/* Computes the hash of what a question is about, whatever its wording: the task (but not its
   device), the seed, the plan, the share, and the trials with their results. */
static ak_status take_situation(ak_advisor *a, ak_error *err)
{
    const ak_brief *b = &a->brief;
    const char *choices = a->options->task == NULL ? b->choices : a->options->task->choices_text;
    char config[4096];
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(AK_PROMPT_BYTES_MAX);
    ak_buf_print(&text, "%s;%s;%s;%s;%s;%llu;%d/%d;%zu;%d%d%s", b->kernel, b->implementation,
                 b->size, b->dtype, choices, (unsigned long long)a->seed, a->generation,
                 a->plan.generations, a->plan.batch, a->plan.no_history, a->plan.no_facts,
                 ak_share_text(b->share));
    for (size_t i = 0; i < a->count; i++) {
        const ak_experience *t = &a->trials[i];
        (void)ak_config_format(config, sizeof config, a->space, &t->config);
        ak_buf_print(&text, ";%s %s %.6g", config, ak_trial_status_text(t->status), t->ms);
    }
    AK_DO(ak_buf_status(&text, err));
    ak_hash_quick(a->situation, text.data, text.length);
    return AK_OK;
}

/* Decides whether to stop asking: after STALLED_MAX generations in a row without a gain, or when
   all planned generations were asked. */
static bool is_over(ak_advisor *a)
{
    if (a->generation > 0) {
        bool gained = a->best_ms > 0 && (a->asked_ms <= 0 || a->best_ms < a->asked_ms * (1 - GAIN));
        a->stalled = gained ? 0 : a->stalled + 1;
    }
    a->ending = a->generation >= a->plan.generations ? "generations"
                : a->stalled >= STALLED_MAX          ? "stalled"
                                                     : NULL;
    return a->ending != NULL;
}

/* Sends the question of this generation. */
static ak_status start_call(ak_advisor *a, ak_error *err)
{
    AK_DO(write_prompt(a, err));
    AK_DO(take_situation(a, err));
    a->messages[0] = (ak_llm_message){AK_LLM_USER, a->brief_text.data};
    a->messages[1] = (ak_llm_message){AK_LLM_USER, a->prompt.data};
    a->chat = (ak_llm_chat){.system = a->system.data,
                            .messages = a->messages,
                            .message_count = 2,
                            .schema = a->schema,
                            .schema_name = "proposals",
                            .array = "proposals",
                            .elements_max = (int)a->plan.batch,
                            .max_output_tokens = TOKENS_THINKING + TOKENS_EACH * (int)a->plan.batch,
                            .seed = a->seed,
                            .situation = a->situation};
    ak_error why = AK_ERROR_INIT;
    const ak_model *model = a->options->model;
    if (model->start(&a->call, model->context, &a->chat, &why) != AK_OK) {
        a->call = NULL;
        fail(a, why.text);
        return AK_OK;
    }
    a->asked_ns = ak_clock_ns();
    a->state = AK_ADVICE_ASKED;
    return AK_OK;
}

ak_status ak_advisor_ask(ak_advisor *a, ak_error *err)
{
    if (a->state != AK_ADVICE_IDLE) {
        return AK_OK;
    }
    if (is_over(a)) {
        a->state = AK_ADVICE_ENDED;
        if (!a->used) {
            fail_barren(a, "");
        }
        return AK_OK;
    }
    a->generation++;
    a->asked_ms = a->best_ms;
    a->shown = a->plan.no_history ? 0 : a->count;
    return start_call(a, err);
}

bool ak_advisor_await(ak_advisor *a, int64_t timeout_ns)
{
    if (a->state != AK_ADVICE_ASKED) {
        return false;
    }
    int64_t end_ns = ak_clock_ns() + timeout_ns;
    while (!a->options->model->done(a->call) && ak_clock_ns() < end_ns) {
        ak_clock_sleep_ns(AWAIT_STEP_NS);
    }
    return true;
}

/* ---- answer ---------------------------------------------------------------------------------- */

static bool repeated(const ak_advisor *a, const ak_config *config, size_t first)
{
    const size_t count = a->advice_count - first;
    return (count > 0 && AK_FIND_SAME(a->list + first, count, what.config, config) < count) ||
           ak_walk_seen(a->walk, config);
}

/* Returns the number of the configuration's trial; 0 if it was not observed. */
static size_t number_of(const ak_advisor *a, const ak_config *config)
{
    const size_t i = AK_FIND_SAME(a->trials, a->count, config, config);
    return i < a->count ? i + 1 : 0;
}

static ak_status keep(ak_advisor *a, const ak_suggestion *s, ak_error *err)
{
    AK_DO(AK_GROW(a->list, &a->advice_capacity, a->advice_count + 1, err));
    advice *kept = &a->list[a->advice_count];
    *kept = (advice){.what = *s, .generation = a->generation};
    if (s->parent > 0) {
        kept->parent = a->trials[s->parent - 1].config;
    } else {
        ak_space_default(&kept->parent, a->space);
    }
    kept->hypothesis = ak_arena_strndup(a->arena, s->hypothesis, strlen(s->hypothesis));
    AK_DO(ak_made(kept->hypothesis, err));
    a->advice_count++;
    return AK_OK;
}

/* Returns what the archive keeps of a suggestion: {"verdict", "hypothesis", "expected_gain",
   "parent", "changes", "config", "note"}. */
static json_t *record(const ak_advisor *a, const ak_suggestion *s)
{
    char text[4096] = "";
    bool valid = s->status == AK_SUGGESTION_ACCEPTED || s->status == AK_SUGGESTION_SNAPPED ||
                 s->status == AK_SUGGESTION_REPEATED || s->status == AK_SUGGESTION_SURPLUS;
    if (valid) {
        valid = ak_config_format(text, sizeof text, a->space, &s->config) < sizeof text;
    }
    json_t *object = json_object();
    bool good = ak_json_set_text(object, "verdict", ak_suggestion_status_text(s->status)) &&
                ak_json_set_text(object, "hypothesis", s->hypothesis) &&
                ak_json_set(object, "expected_gain",
                            isnan(s->expected) ? json_null() : ak_json_real(s->expected)) &&
                ak_json_set_count(object, "parent", s->parent) &&
                ak_json_set_text(object, "changes", s->text) &&
                ak_json_set_text(object, "config", valid ? text : NULL) &&
                ak_json_set_text(object, "note", s->note[0] == 0 ? NULL : s->note);
    return ak_json_whole(object, good);
}

static void judge(ak_advisor *a, ak_suggestion *s, const json_t *element, size_t first)
{
    ak_suggestion_read(s, element, a->space, a->trials, a->shown);
    if (s->status != AK_SUGGESTION_ACCEPTED && s->status != AK_SUGGESTION_SNAPPED) {
        return;
    }
    if (repeated(a, &s->config, first)) {
        size_t number = number_of(a, &s->config);
        if (number > 0 && !a->plan.no_history) {
            ak_suggestion_judge(s, AK_SUGGESTION_REPEATED, "is #%zu, which was tried before",
                                number);
        } else {
            ak_suggestion_judge(s, AK_SUGGESTION_REPEATED, "was tried or proposed before");
        }
    } else if (a->advice_count - first >= a->plan.batch) {
        ak_suggestion_judge(s, AK_SUGGESTION_SURPLUS, "more than the %zu that were asked for",
                            a->plan.batch);
    }
}

/* Checks the first AK_PROPOSALS_MAX elements of an answer and keeps the accepted ones. *out_record
   is the list for the archive. */
static ak_status take_elements(ak_advisor *a, const json_t *elements, json_t **out_record,
                               ak_error *err)
{
    json_auto_t *list = json_array();
    size_t total = json_array_size(elements), first = a->advice_count;
    AK_DO(ak_made(list, err));
    a->refused_count = 0;
    for (size_t i = 0; i < total && i < AK_PROPOSALS_MAX; i++) {
        ak_suggestion s;
        judge(a, &s, json_array_get(elements, i), first);
        bool taken = s.status == AK_SUGGESTION_ACCEPTED || s.status == AK_SUGGESTION_SNAPPED;
        AK_DO(taken ? keep(a, &s, err) : AK_OK);
        if (s.note[0] != 0 && s.status != AK_SUGGESTION_SURPLUS &&
            a->refused_count < AK_PROMPT_REFUSALS) {
            a->refused[a->refused_count++] = s;
        }
        AK_DO(ak_stored(ak_json_append(list, record(a, &s)), err));
    }
    *out_record = json_incref(list);
    return AK_OK;
}

/* Reports the call in the form that the archive keeps. The strings are borrowed for the duration of
   the report. */
static void tell(const ak_advisor *a, const ak_llm_answer *answer, const char *proposals,
                 const char *error)
{
    if (a->options->tell == NULL) {
        return;
    }
#define LENT(text) ((char *)(uintptr_t)(text))
    ak_call call = {.generation = a->generation,
                    .model = LENT(a->options->model->name),
                    .system = a->system.data,
                    .brief = a->brief_text.data,
                    .state = a->prompt.data,
                    .reply = answer->text,
                    .finish =
                        answer->text == NULL ? NULL : LENT(ak_llm_finish_text(answer->finish)),
                    .fault = error == NULL ? NULL : LENT(ak_llm_fault_text(answer->fault)),
                    .error = LENT(error),
                    .request_id = answer->request_id[0] == 0 ? NULL : LENT(answer->request_id),
                    .proposals = LENT(proposals),
                    .attempts = answer->attempts,
                    .elapsed_ns = answer->elapsed_ns,
                    .input_tokens = answer->usage.input,
                    .cached_tokens = answer->usage.input_cached,
                    .output_tokens = answer->usage.output,
                    .reasoning_tokens = answer->usage.output_reasoning,
                    .priced = answer->priced,
                    .replayed = answer->replayed,
                    .cost_usd = answer->cost_usd};
#undef LENT
    a->options->tell(a->options->context, &call);
}

/* Returns true if the answer is complete and its list is empty. The prompt tells the model to
   answer so if it expects nothing more. */
static bool expects_nothing(const ak_llm_answer *answer)
{
    const json_t *list =
        json_is_array(answer->value) ? answer->value : json_object_get(answer->value, "proposals");
    return !answer->cut && json_is_array(list) && json_array_size(list) == 0 &&
           json_array_size(answer->elements) == 0;
}

/* Lets the next prompt say that this answer had no list of proposals that can be read. */
static void keep_unreadable(ak_advisor *a, const ak_llm_answer *answer)
{
    ak_suggestion *s = &a->refused[a->refused_count++];
    *s = (ak_suggestion){.text = "the whole answer"};
    (void)snprintf(s->note, sizeof s->note, "%s" UNTRIED,
                   answer->cut ? "it ended before its list of proposals could be read"
                               : "it held no list of proposals that can be read");
}

static ak_status take_answer(ak_advisor *a, const ak_llm_answer *answer, ak_error *err)
{
    json_auto_t *list = NULL;
    AK_FREED char *proposals = NULL;
    size_t before = a->advice_count;
    AK_DO(take_elements(a, answer->elements, &list, err));
    AK_DO(ak_json_text(&proposals, list, err));
    tell(a, answer, proposals, NULL);
    const bool nothing = expects_nothing(answer);
    if (json_array_size(answer->elements) == 0 && !nothing) {
        keep_unreadable(a, answer);
    }
    if (a->used && nothing) {
        a->state = AK_ADVICE_ENDED;
        a->ending = "satisfied";
        return AK_OK;
    }
    bool usable = a->advice_count > before;
    a->used = a->used || usable;
    a->barren = usable ? 0 : a->barren + 1;
    a->state = usable ? AK_ADVICE_READY : AK_ADVICE_IDLE;
    if (a->barren >= BARREN_MAX) {
        char times[40];
        (void)snprintf(times, sizeof times, " %d times in a row", a->barren);
        fail_barren(a, times);
    }
    return AK_OK;
}

/* Asks the same question with fewer facts in it, because the model's context is too small. */
static ak_status ask_less(ak_advisor *a, ak_error *err)
{
    a->brief.share++;
    ak_buf_clear(&a->brief_text);
    AK_DO(ak_prompt_brief(&a->brief_text, &a->brief, err));
    return start_call(a, err);
}

ak_status ak_advisor_poll(ak_advisor *a, ak_error *err)
{
    if (a->state != AK_ADVICE_ASKED || !a->options->model->done(a->call)) {
        return AK_OK;
    }
    AK_AT_END(ak_llm_answer_clear) ak_llm_answer answer = {0};
    ak_error why = AK_ERROR_INIT;
    ak_llm_call *call = a->call;
    a->call = NULL;
    ak_status status = AK_OK;
    if (a->options->model->end(&answer, call, &why) == AK_OK) {
        status = take_answer(a, &answer, err);
    } else {
        tell(a, &answer, NULL, why.text);
        if (answer.fault == AK_LLM_FAULT_CONTEXT && a->brief.share < AK_SHARE_SPACE) {
            status = ask_less(a, err);
        } else {
            fail(a, why.text);
        }
    }
    return status;
}

bool ak_advisor_next(ak_proposal *out, ak_advisor *a)
{
    while (a->state == AK_ADVICE_READY) {
        const advice *given = &a->list[a->next++];
        if (a->next == a->advice_count) {
            a->state = AK_ADVICE_IDLE;
        }
        /* Another strategy may have proposed the same configuration while the reply was under
           way. */
        if (!ak_walk_seen(a->walk, &given->what.config)) {
            const double expected = given->what.expected;
            *out = (ak_proposal){.config = given->what.config,
                                 .parent = given->parent,
                                 .has_parent = true,
                                 .generation = given->generation,
                                 .predicted_gain = isnan(expected) ? 0 : expected / (1 + expected),
                                 .model = a->options->model->name,
                                 .hypothesis = given->hypothesis};
            return true;
        }
    }
    return false;
}

/* ---- close ----------------------------------------------------------------------------------- */

/* Reports that the run ended before the reply came, and what the question may have cost. The user
   is told if requests were lost or the model contributed nothing. */
static void report_abandoned(ak_advisor *a, ak_llm_answer *answer, const char *lost)
{
    char why[400];
    (void)snprintf(why, sizeof why, "%.100s: given up, the run ended before the reply came%s%s",
                   a->options->model->name, lost[0] == 0 ? "" : "; until then: ", lost);
    answer->elapsed_ns = ak_clock_ns() - a->asked_ns;
    tell(a, answer, NULL, why);
    if ((lost[0] != 0 || !a->used) && a->options->notice != NULL) {
        a->options->notice(a->options->context, why);
    }
}

/* Abandons the call under way and reports it, because it may have cost something. A reply that has
   come since the last poll is reported as an answer, but its proposals are not tried. */
static void abandon(ak_advisor *a)
{
    char lost[AK_LLM_LOST_BYTES] = "";
    AK_AT_END(ak_llm_answer_clear) ak_llm_answer answer = {0};
    ak_error why = AK_ERROR_INIT;
    ak_status status = a->options->model->abandon(&answer, lost, a->call, &why);
    a->call = NULL;
    if (status == AK_OK) {
        char late[160];
        (void)snprintf(late, sizeof late, "%.100s: the reply came when the run had ended",
                       a->options->model->name);
        if (!a->used && a->options->notice != NULL) {
            a->options->notice(a->options->context, late);
        }
        (void)take_answer(a, &answer, NULL); /* without memory the report is lost */
    } else if (answer.fault != AK_LLM_FAULT_CANCELLED) {
        tell(a, &answer, NULL, why.text);
        if (!a->used && a->options->notice != NULL) {
            a->options->notice(a->options->context, why.text);
        }
    } else {
        report_abandoned(a, &answer, lost);
    }
}

void ak_advisor_close(ak_advisor *a)
{
    if (a == NULL) {
        return;
    }
    if (a->call != NULL) {
        abandon(a);
    }
    ak_brief_close(&a->brief);
    ak_buf_free(&a->system);
    ak_buf_free(&a->brief_text);
    ak_buf_free(&a->prompt);
    json_decref(a->schema);
    ak_arena_free(a->arena);
    AK_FREE_ALL(a->trials, a->list, a);
}

/* ---- observations ---------------------------------------------------------------------------- */

static void correct(ak_advisor *a, const ak_observation *observation)
{
    a->best_ms = 0;
    for (size_t i = 0; i < a->count; i++) {
        ak_experience *t = &a->trials[i];
        if (memcmp(&t->config, observation->config, sizeof t->config) == 0) {
            t->again = true;
            t->ms = observation->ok ? observation->ms : t->ms;
            t->low_ms = observation->ok ? observation->low_ms : t->low_ms;
            t->high_ms = observation->ok ? observation->high_ms : t->high_ms;
        }
        if (t->status == AK_TRIAL_OK && (a->best_ms <= 0 || t->ms < a->best_ms)) {
            a->best_ms = t->ms;
        }
    }
}

/* Returns the model or strategy that proposed a trial. Returns NULL if it was the model that this
   advisor asks, even in an earlier run, or if it is unknown. */
static const char *author_of(const ak_advisor *a, const ak_trial *trial)
{
    const ak_model *model = a->options->model;
    bool same = trial->model != NULL && model != NULL && strcmp(trial->model, model->name) == 0;
    return same ? NULL : trial->model != NULL ? trial->model : trial->strategy;
}

ak_status ak_advisor_observe(ak_advisor *a, const ak_observation *observation, ak_error *err)
{
    if (observation->again) {
        correct(a, observation);
        return AK_OK;
    }
    const ak_trial *trial = observation->trial;
    if (trial != NULL && ak_trial_not_judged(trial)) {
        return AK_OK; /* the machine was too busy, which says nothing of the configuration */
    }
    ak_status status = AK_OK;
    AK_DO(AK_GROW(a->trials, &a->capacity, a->count + 1, err));
    ak_experience *t = &a->trials[a->count];
    *t = (ak_experience){.config = *observation->config,
                         .status = observation->ok ? AK_TRIAL_OK
                                   : trial == NULL ? AK_TRIAL_INVALID
                                                   : trial->status,
                         .ms = observation->ms};
    if (trial != NULL) {
        bool priced = a->options->objective != NULL;
        t->low_ms = !observation->ok ? 0 : priced ? trial->cost_low : trial->ci_low_ms;
        t->high_ms = !observation->ok ? 0 : priced ? trial->cost_high : trial->ci_high_ms;
        t->time_ms = observation->ok && priced ? trial->median_ms : 0;
        t->max_error = trial->max_error;
        t->same_code = trial->same_code != 0;
        t->spill_bytes = trial->spill_bytes;
        t->registers = trial->registers;
        t->shared_bytes = trial->shared_bytes;
        if (trial->reason != NULL) {
            size_t length = strnlen(trial->reason, TEXT_MAX);
            t->reason = ak_arena_strndup(a->arena, trial->reason, length);
            status = ak_made(t->reason, err);
        }
        const char *author = author_of(a, trial);
        if (author != NULL) {
            t->author = ak_arena_strndup(a->arena, author, strlen(author));
        }
    }
    for (size_t i = a->advice_count; i > 0 && !t->proposed; i--) {
        const advice *given = &a->list[i - 1];
        if (i <= a->next && memcmp(&given->what.config, &t->config, sizeof t->config) == 0) {
            t->proposed = true;
            t->author = NULL;
            t->generation = given->generation;
            t->parent = given->what.parent;
            t->expected = given->what.expected;
            t->hypothesis = given->hypothesis;
        }
    }
    a->count++;
    if (observation->ok && (a->best_ms <= 0 || t->ms < a->best_ms)) {
        a->best_ms = t->ms;
    }
    return status;
}

/* Finds the best trials, the best first. */
static size_t find_elites(size_t elites[AK_ADVICE_ELITES], const ak_advisor *a)
{
    size_t count = 0;
    for (size_t i = 0; i < a->count; i++) {
        if (a->trials[i].status == AK_TRIAL_OK) {
            ak_rank_insert(elites, &count, AK_ADVICE_ELITES, i, &a->trials[0].ms,
                           sizeof *a->trials);
        }
    }
    return count;
}

bool ak_advisor_in_doubt(const ak_advisor *a)
{
    size_t elites[AK_ADVICE_ELITES], count = find_elites(elites, a), doubts = 0;
    for (size_t i = 0; i < count; i++) {
        doubts += !a->trials[elites[i]].doubted;
    }
    return doubts > 0 && count > 1 && a->generation < a->plan.generations;
}

size_t ak_advisor_doubts(ak_config *out, ak_advisor *a, size_t max)
{
    size_t elites[AK_ADVICE_ELITES];
    size_t count = ak_advisor_in_doubt(a) ? find_elites(elites, a) : 0;
    for (size_t i = 0; i < count; i++) {
        /* an elite that was measured again raises no new doubt */
        a->trials[elites[i]].doubted = true;
        if (i < max) {
            out[i] = a->trials[elites[i]].config;
        }
    }
    return count < max ? count : max;
}

ak_status ak_advisor_retell(const ak_advisor *a, ak_strategy *strategy, ak_error *err)
{
    for (size_t i = 0; i < a->count; i++) {
        const ak_experience *t = &a->trials[i];
        ak_observation observation = {
            .config = &t->config, .ok = t->status == AK_TRIAL_OK, .ms = t->ms};
        AK_DO(strategy->ops->observe(strategy, &observation, err));
    }
    return AK_OK;
}
