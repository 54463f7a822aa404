/*
 * ask.c: takes a call from question to answer, through tape, budget, attempts, corrections and
 * waits.
 *
 * The wait between attempts is the one that the server asks for. Without one it is 2 s while the
 * server loads a model, and otherwise 0.5 s, doubled each time up to 8 s and shortened by up to a
 * quarter at random, as in the clients of OpenAI and Anthropic. A server that asks for more than
 * WAIT_MAX_MS counts as having refused.
 */
#include <signal.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "llm/client.h"
#include "llm/key.h"

#define WAIT_FIRST_MS 500
#define WAIT_LAST_MS  8000
#define WAIT_MAX_MS   120000
/* Interval at which a wait looks for a cancel. */
#define SLICE_NS (50 * AK_MS_NS)
/* A local server takes minutes to load a model of 100 GB. The client asks again every two seconds,
   or after the wait that the server names, until the waits have taken 5 minutes in all or
   LOADING_TRIES waits were made, which also ends the questions if the server names a wait of 0. */
#define LOADING_WAIT_MS  2000
#define LOADING_TOTAL_MS 300000
#define LOADING_TRIES    (LOADING_TOTAL_MS / LOADING_WAIT_MS)
/* Most corrections of the output limit within one call, so that a server that names a lower limit
   each time cannot go on forever. */
#define LIMIT_CORRECTIONS 3

bool ak_call_cancelled(const ak_llm_call *call)
{
    const volatile int *cancel = call->llm->cancel;
    return (cancel != NULL && *cancel != 0) || atomic_load(&call->stop) != 0;
}

/* ---- waiting --------------------------------------------------------------------------------- */

void ak_call_tell(ak_llm_call *call)
{
    if (atomic_load(&call->posted) == 1) {
        atomic_store(&call->posted, 2);
        if (call->llm->notice != NULL) {
            call->llm->notice(call->llm->notice_context, call->place);
        }
    }
}

bool ak_call_wait(const ak_llm_call *call, int64_t ns)
{
    const ak_llm_seam *seam = &call->llm->seam;
    int64_t left = ns;
    while (left > 0 && !ak_call_cancelled(call)) {
        int64_t slice = left < SLICE_NS ? left : SLICE_NS;
        if (seam->sleep_ns != NULL) {
            seam->sleep_ns(seam->context, slice);
        } else {
            ak_clock_sleep_ns(slice);
        }
        left -= slice;
    }
    return !ak_call_cancelled(call);
}

static int64_t backoff_ms(ak_llm *llm, int tries)
{
    int64_t ms = WAIT_FIRST_MS;
    for (int i = 0; i < tries && ms < WAIT_LAST_MS; i++) {
        ms *= 2;
    }
    ak_llm_lock(llm);
    double less = ak_rng_real(&llm->rng) / 4;
    ak_llm_unlock(llm);
    return (int64_t)((double)(ms < WAIT_LAST_MS ? ms : WAIT_LAST_MS) * (1 - less));
}

/* ---- failures -------------------------------------------------------------------------------- */

static ak_status fail(ak_llm_call *call, const ak_attempt *attempt, ak_error *err)
{
    char status[24] = "", id[AK_LLM_NAME_MAX + 16] = "", tries[32] = "";
    const ak_llm *llm = call->llm;
    if (attempt->status != 0 && (attempt->status < 200 || attempt->status > 299)) {
        (void)snprintf(status, sizeof status, "HTTP %d: ", attempt->status);
    }
    if (call->answer.request_id[0] != 0) {
        (void)snprintf(id, sizeof id, " (request %.60s)", call->answer.request_id);
    }
    if (call->answer.attempts > 1) {
        (void)snprintf(tries, sizeof tries, " (%d attempts)", call->answer.attempts);
    }
    ak_llm_fault fault =
        attempt->fault == AK_LLM_FAULT_NONE ? AK_LLM_FAULT_DAMAGED : attempt->fault;
    /* the advice is about servers, and a provider with `ask` reaches none */
    const char *advice = llm->provider->ask != NULL ? "" : ak_llm_fault_advice(fault);
    return ak_answer_fail(&call->answer, fault, err, "%s: %s%s%s%s%s%s", llm->name, status,
                          attempt->text[0] == 0 ? ak_llm_fault_text(fault) : attempt->text, id,
                          tries, advice[0] == 0 ? "" : "; ", advice);
}

static ak_status fail_cancelled(ak_llm_call *call, ak_error *err)
{
    return ak_answer_fail(&call->answer, AK_LLM_FAULT_CANCELLED, err, "%s: cancelled",
                          call->llm->name);
}

/* ---- corrections ----------------------------------------------------------------------------- */

/* Adapts the client's abilities or output limit to what the server refused. Returns true if the
   request differs now, also because another call made the correction, and false if there is nothing
   left to change or LIMIT_CORRECTIONS does not allow it. */
static bool correct(ak_llm_call *call, const ak_request *sent, const ak_attempt *attempt,
                    int *limits)
{
    ak_llm *llm = call->llm;
    bool changed = false;
    ak_llm_lock(llm);
    if (attempt->output_tokens_max > 0 && attempt->output_tokens_max < sent->output_tokens &&
        *limits < LIMIT_CORRECTIONS) {
        llm->abilities.output_tokens_max = attempt->output_tokens_max;
        ++*limits;
        changed = true;
    }
    for (unsigned i = 0; i < AK_ABILITY_COUNT && !changed; i++) {
        unsigned bit = 1u << i;
        /* An ability that was not sent cannot be what was refused; but Chat Completions always has
           one of the two names for the token limit. With another API the toggle changes nothing,
           and the request is sent once more as it was. */
        bool on = (sent->abilities.set & bit) != 0 || bit == AK_ABILITY_COMPLETION_TOKENS;
        bool fresh = (llm->corrected & bit) == 0;
        if ((attempt->ability & bit) != 0 && on && fresh) {
            llm->abilities.set ^= bit;
            llm->corrected |= bit;
            changed = true;
        } else if ((attempt->ability & bit) != 0 && on &&
                   llm->abilities.set != sent->abilities.set) {
            changed = true; /* another call, in another thread, has already made this correction */
        }
    }
    ak_llm_unlock(llm);
    return changed;
}

/* ---- the call -------------------------------------------------------------------------------- */

/* Makes the answer of an attempt, if it has one, the answer of the call. The call keeps its number
   of attempts and its costs. Its request id is the latest one that a header named, even in a reply
   without an answer; the id in the body of the answer counts only if no header named one. */
static void adopt(ak_llm_call *call, const ak_request *request, ak_attempt *attempt)
{
    ak_llm_answer *answer = &call->answer;
    if (attempt->request_id[0] != 0) {
        (void)snprintf(answer->request_id, sizeof answer->request_id, "%s", attempt->request_id);
    }
    if (attempt->end == AK_ATTEMPT_ANSWERED) {
        ak_llm_answer before = *answer;
        *answer = attempt->answer;
        answer->output_tokens_max = request->output_tokens;
        answer->attempts = before.attempts;
        answer->cost_usd = before.cost_usd;
        if (before.request_id[0] != 0) {
            memcpy(answer->request_id, before.request_id, sizeof answer->request_id);
        }
    }
}

static ak_status one_attempt(ak_attempt *out, ak_request *request, ak_llm_call *call, ak_error *err)
{
    ak_reservation reserved;
    AK_DO(ak_call_reserve(&reserved, call, err));
    ak_call_request(request, call);
    call->answer.attempts++;
    ak_status status = ak_attempt_run(out, call, request, err);
    if (status != AK_OK) {
        /* The attempt failed on this side at an unknown point, so it may have been sent and
           billed. */
        *out = (ak_attempt){.uncertain = true};
        call->answer.fault = AK_LLM_FAULT_LOCAL;
    }
    ak_call_book(call, out, &reserved);
    if (status == AK_OK) {
        adopt(call, request, out);
    }
    return status;
}

static ak_status run(ak_llm_call *call, ak_error *err)
{
    int tries = 0, loading = 0, limits = 0;
    int64_t loading_left_ms = LOADING_TOTAL_MS;
    for (;;) {
        ak_attempt attempt;
        ak_request request;
        if (ak_call_cancelled(call)) {
            return fail_cancelled(call, err);
        }
        ak_status status = one_attempt(&attempt, &request, call, err);
        if (status != AK_OK || attempt.end == AK_ATTEMPT_ANSWERED) {
            return status;
        }
        if (attempt.fault == AK_LLM_FAULT_CANCELLED) {
            return fail_cancelled(call, err);
        }
        if (attempt.end == AK_ATTEMPT_CORRECT && correct(call, &request, &attempt, &limits)) {
            continue;
        }
        bool is_loading = attempt.fault == AK_LLM_FAULT_LOADING;
        bool left = is_loading ? loading_left_ms > 0 && loading++ < LOADING_TRIES
                               : tries < call->llm->retries;
        if (attempt.end != AK_ATTEMPT_RETRY || !left) {
            return fail(call, &attempt, err);
        }
        int64_t ms = attempt.wait_ms >= 0 ? attempt.wait_ms
                     : is_loading         ? LOADING_WAIT_MS
                                          : backoff_ms(call->llm, tries);
        tries += is_loading ? 0 : 1;
        (void)snprintf(call->lost, sizeof call->lost, "%s",
                       attempt.text[0] == 0 ? ak_llm_fault_text(attempt.fault) : attempt.text);
        if (ms > WAIT_MAX_MS) {
            char words[sizeof attempt.text];
            (void)snprintf(words, sizeof words, "%s", attempt.text);
            (void)snprintf(attempt.text, sizeof attempt.text,
                           "%.160s%sthe server asks to wait %lld s", words,
                           words[0] == 0 ? "" : "; ", (long long)(ms / 1000));
            return fail(call, &attempt, err);
        }
        if (is_loading) {
            ms = ms < loading_left_ms ? ms : loading_left_ms;
            loading_left_ms -= ms;
        }
        if (!ak_call_wait(call, ms * AK_MS_NS)) {
            return fail_cancelled(call, err);
        }
    }
}

/* Looks for the question on the tape, if there is one. *found is true if the tape has an answer,
   even if the budget then refuses it. Fails if the tape is only replayed and has none. */
static ak_status look_on_tape(bool *found, ak_llm_call *call, ak_error *err)
{
    ak_llm *llm = call->llm;
    AK_AT_END(ak_reply_free) ak_reply reply;
    ak_reply_init(&reply);
    *found = false;
    if (llm->tape == NULL) {
        return AK_OK;
    }
    call->question =
        ak_tape_question(llm->name, llm->effort[0] == 0 ? NULL : llm->effort, call->chat);
    ak_llm_lock(llm);
    ak_status status = ak_tape_name(call->name, llm->tape, call->question, err);
    if (status == AK_OK) {
        status = ak_tape_read(&call->answer, &reply, llm->tape, call->name, call->question, err);
    }
    ak_llm_unlock(llm);
    if (status == AK_NOT_FOUND && ak_tape_recording(llm->tape)) {
        return AK_OK;
    }
    if (status == AK_NOT_FOUND) {
        call->answer.fault = AK_LLM_FAULT_RECORDING;
    }
    ak_reservation reserved = {0};
    if (status == AK_OK) {
        *found = true;
        /* The budget also limits answers from a tape. */
        status = ak_call_reserve(&reserved, call, err);
        if (status != AK_OK) {
            /* A refused call counts as not sent. */
            call->answer.attempts = 0;
            call->answer.cost_usd = 0;
        }
    }
    if (status == AK_OK) {
        status = ak_answer_read(&call->answer, &reply, call->chat, llm->name, err);
        ak_call_book_replay(call, &reserved);
        ak_request request;
        ak_call_request(&request, call);
        call->answer.output_tokens_max = request.output_tokens;
    }
    return status;
}

/* Ends a call: writes its answer to the tape, if there is a tape and the answer does not come from
   it, updates the totals, and clears the texts and values if the call failed. An answer that cannot
   be written to the tape makes the call fail. */
static void finish(ak_llm_call *call)
{
    ak_llm *llm = call->llm;
    ak_llm_answer *answer = &call->answer;
    bool replayed = answer->replayed;
    if (!replayed) {
        answer->elapsed_ns = ak_llm_now(llm) - call->start_ns;
        answer->priced = llm->price.known;
    }
    if (call->uncertain) {
        answer->usage = (ak_llm_usage){0};
    }
    ak_llm_lock(llm);
    if (call->status == AK_OK && call->question != NULL && !replayed) {
        call->status = ak_tape_write(llm->tape, call->name, call->question, answer, &call->error);
    }
    /* a question that a limit refused before its first attempt was not asked and does not count
       against --llm-calls */
    bool asked = answer->fault != AK_LLM_FAULT_BUDGET || answer->attempts > 0;
    llm->begun -= call->counted && !asked;
    llm->totals.calls += asked;
    llm->totals.failed += asked && call->status != AK_OK;
    ak_llm_unlock(llm);
    if (call->status != AK_OK) {
        if (answer->fault == AK_LLM_FAULT_NONE) {
            answer->fault = AK_LLM_FAULT_LOCAL;
        }
        AK_FREE_ALL(answer->text, answer->reasoning);
        json_decref(answer->value);
        json_decref(answer->elements);
        answer->text = answer->reasoning = NULL;
        answer->value = answer->elements = NULL;
        ak_key_redact(call->error.text, llm->key);
    }
    atomic_store(&call->done, 1);
}

/* Counts the call. Fails if --llm-calls allows no further call. */
static ak_status count_call(ak_llm_call *call, ak_error *err)
{
    ak_llm *llm = call->llm;
    ak_llm_lock(llm);
    bool over = llm->calls_max > 0 && llm->begun >= llm->calls_max;
    llm->begun += !over;
    call->counted = !over;
    ak_llm_unlock(llm);
    return over ? ak_answer_fail(&call->answer, AK_LLM_FAULT_BUDGET, err,
                                 "%s: %zu call%s made, as many as --llm-calls allows", llm->name,
                                 llm->calls_max, llm->calls_max == 1 ? " was" : "s were")
                : AK_OK;
}

/* Does the part of a call that needs no waiting. *found is true if the call has ended: it failed,
   or the tape had its answer. */
static void begin(bool *found, ak_llm_call *call, ak_llm *llm, const ak_llm_chat *chat)
{
    *call = (ak_llm_call){.llm = llm, .chat = chat, .error = AK_ERROR_INIT};
    call->start_ns = ak_llm_now(llm);
    *found = false;
    call->status = ak_call_measure(&call->prompt_tokens_max, chat, &call->error);
    if (call->status == AK_OK) {
        call->status = count_call(call, &call->error);
        if (call->status == AK_OK) {
            call->status = look_on_tape(found, call, &call->error);
        }
    } else if (call->status == AK_INVALID || call->status == AK_LIMIT) {
        call->answer.fault = call->status == AK_LIMIT ? AK_LLM_FAULT_CONTEXT : AK_LLM_FAULT_REQUEST;
    }
    *found = *found || call->status != AK_OK;
}

static ak_status hand_over(ak_llm_answer *out, ak_llm_call *call, ak_error *err)
{
    ak_status status = call->status;
    *out = call->answer;
    json_decref(call->question);
    if (call->excess[0] != 0 && call->llm->warning != NULL) {
        call->llm->warning(call->llm->notice_context, call->excess);
    }
    return status == AK_OK ? AK_OK : ak_fail(err, status, "%s", call->error.text);
}

ak_status ak_llm_ask(ak_llm_answer *out, ak_llm *llm, const ak_llm_chat *chat, ak_error *err)
{
    ak_llm_call call;
    bool found;
    begin(&found, &call, llm, chat);
    if (!found) {
        call.status = run(&call, &call.error);
    }
    finish(&call);
    return hand_over(out, &call, err);
}

static void *thread_main(void *context)
{
    ak_llm_call *call = context;
    call->status = run(call, &call->error);
    finish(call);
    return NULL;
}

/* Starts the thread of a call with all signals blocked, so that the main thread receives them. */
static bool start_thread(ak_llm_call *call)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    bool good = pthread_create(&call->thread, NULL, thread_main, call) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return good;
}

ak_status ak_llm_start(ak_llm_call **out, ak_llm *llm, const ak_llm_chat *chat, ak_error *err)
{
    ak_llm_call *call = ak_alloc(1, sizeof *call);
    bool found;
    AK_DO(ak_made(call, err));
    begin(&found, call, llm, chat);
    if (found) {
        finish(call);
    } else {
        call->threaded = true;
        if (!start_thread(call)) {
            ak_llm_lock(llm);
            llm->begun -= call->counted;
            ak_llm_unlock(llm);
            json_decref(call->question);
            ak_free(call);
            return ak_fail(err, AK_UNAVAILABLE, "no thread could be started");
        }
    }
    *out = call;
    return AK_OK;
}

bool ak_llm_done(ak_llm_call *call)
{
    ak_call_tell(call);
    return atomic_load(&call->done) != 0;
}

ak_status ak_llm_end(ak_llm_answer *out, ak_llm_call *call, ak_error *err)
{
    if (call->threaded) {
        (void)pthread_join(call->thread, NULL);
    }
    ak_status status = hand_over(out, call, err);
    ak_free(call);
    return status;
}

ak_status ak_llm_abandon(ak_llm_answer *out, char lost[AK_LLM_LOST_BYTES], ak_llm_call *call,
                         ak_error *err)
{
    atomic_store(&call->stop, 1);
    if (call->threaded) {
        (void)pthread_join(call->thread, NULL);
        call->threaded = false;
    }
    memcpy(lost, call->lost, sizeof call->lost);
    return ak_llm_end(out, call, err);
}
