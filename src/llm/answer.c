/* answer.c: reads answers (provider.h), and holds the texts for the enumerations in llm.h. */
#include "llm/provider.h"

#include "base/alloc.h"
#include "base/number.h"
#include "llm/extract.h"

static const struct {
    const char *text;
    ak_status status;
    bool lasting;
    const char *advice;
} faults[] = {
#define X(name, text, status, lasting, advice) {text, status, lasting, advice},
    AK_LLM_FAULT_MAP(X)
#undef X
};

static const char *const finishes[] = {
#define X(name, text) text,
    AK_LLM_FINISH_MAP(X)
#undef X
};

static const char *const founds[] = {
#define X(name, text) text,
    AK_LLM_FOUND_MAP(X)
#undef X
};

const char *ak_llm_fault_text(ak_llm_fault fault)
{
    return faults[fault].text;
}

bool ak_llm_fault_lasting(ak_llm_fault fault)
{
    return faults[fault].lasting;
}

const char *ak_llm_fault_advice(ak_llm_fault fault)
{
    return faults[fault].advice;
}

const char *ak_llm_finish_text(ak_llm_finish finish)
{
    return finishes[finish];
}

bool ak_llm_finish_parse(ak_llm_finish *out, const char *text)
{
    const size_t i = AK_FIND_TEXT(finishes, AK_COUNT(finishes), text);
    if (i < AK_COUNT(finishes)) {
        *out = (ak_llm_finish)i;
    }
    return i < AK_COUNT(finishes);
}

const char *ak_llm_found_text(ak_llm_found found)
{
    return founds[found];
}

void ak_llm_answer_clear(ak_llm_answer *answer)
{
    AK_FREE_ALL(answer->text, answer->reasoning);
    json_decref(answer->value);
    json_decref(answer->elements);
    *answer = (ak_llm_answer){0};
}

ak_status ak_answer_fail(ak_llm_answer *out, ak_llm_fault fault, ak_error *err, const char *format,
                         ...)
{
    char text[sizeof((ak_error *)0)->text];
    va_list args;
    va_start(args, format);
    (void)ak_number_vprint(text, sizeof text, format, args);
    va_end(args);
    out->fault = fault;
    (void)ak_fail(err, faults[fault].status, "%s", text);
    return faults[fault].status;
}

void ak_usage_add(ak_llm_usage *sum, const ak_llm_usage *more)
{
    sum->known |= more->known;
    sum->input += more->input;
    sum->input_cached += more->input_cached;
    sum->input_written += more->input_written;
    sum->output += more->output;
    sum->output_reasoning += more->output_reasoning;
}

void ak_reply_init(ak_reply *reply)
{
    *reply = (ak_reply){.text = AK_BUF(AK_LLM_REPLY_BYTES_MAX),
                        .reasoning = AK_BUF(AK_LLM_REPLY_BYTES_MAX)};
}

void ak_reply_free(ak_reply *reply)
{
    ak_buf_free(&reply->text);
    ak_buf_free(&reply->reasoning);
}

/* Hands the text of a buffer to the caller. A full buffer means that the text is cut, which is not
   a failure. */
static ak_status text_of(char **out, ak_buf *buf, ak_error *err)
{
    if (buf->failed == AK_LIMIT) {
        buf->failed = AK_OK;
    }
    return ak_buf_take(out, buf, err);
}

static ak_status find_elements(ak_llm_answer *out, const ak_llm_chat *chat, ak_error *err)
{
    const char *const places[] = {out->text, out->reasoning};
    for (int i = 0; i < 2; i++) {
        if (places[i] == NULL) {
            continue;
        }
        ak_extract found;
        AK_DO(ak_extract_read(&found, places[i], strlen(places[i]), chat->array, err));
        /* The reasoning counts only if the content has no value, or no elements where the reasoning
           has some. */
        bool better = out->elements == NULL || (out->value == NULL && found.value != NULL) ||
                      (json_array_size(out->elements) == 0 && json_array_size(found.elements) > 0);
        if (better) {
            json_decref(out->value);
            json_decref(out->elements);
            out->value = found.value;
            out->elements = found.elements;
            out->repaired = found.repaired;
            out->found = found.value == NULL ? AK_LLM_FOUND_NOTHING
                         : i == 1            ? AK_LLM_FOUND_REASONING
                         : found.whole       ? AK_LLM_FOUND_CONTENT
                                             : AK_LLM_FOUND_EMBEDDED;
            out->cut |= found.cut;
        } else {
            json_decref(found.value);
            json_decref(found.elements);
        }
    }
    return AK_OK;
}

ak_status ak_answer_read(ak_llm_answer *out, ak_reply *reply, const ak_llm_chat *chat,
                         const char *who, ak_error *err)
{
    out->finish = reply->finish;
    out->usage = reply->usage;
    out->cut = reply->finish == AK_LLM_FINISH_LENGTH || reply->finish == AK_LLM_FINISH_TOO_LONG ||
               reply->finish == AK_LLM_FINISH_LOST;
    (void)snprintf(out->model, sizeof out->model, "%s", reply->model);
    if (reply->id[0] != 0) {
        (void)snprintf(out->request_id, sizeof out->request_id, "%s", reply->id);
    }
    bool reasoned = reply->reasoning.length > 0;
    ak_status status = text_of(&out->text, &reply->text, err);
    if (status == AK_OK && reasoned) {
        status = text_of(&out->reasoning, &reply->reasoning, err);
    }
    if (status == AK_OK && chat->schema != NULL) {
        status = find_elements(out, chat, err);
    }
    if (status != AK_OK) {
        out->fault = AK_LLM_FAULT_LOCAL;
        return status;
    }
    if (reply->finish == AK_LLM_FINISH_REFUSAL && json_array_size(out->elements) == 0) {
        return ak_answer_fail(out, AK_LLM_FAULT_REFUSED, err, "%s: the model refused: %.200s", who,
                              out->text[0] == 0 ? "it gave no reason" : out->text);
    }
    if (out->text[0] == 0 && out->value == NULL) {
        return reply->finish == AK_LLM_FINISH_LENGTH
                   ? ak_answer_fail(out, AK_LLM_FAULT_EMPTY, err,
                                    "%s: all output tokens went into reasoning, none were left "
                                    "for the answer: lower --llm-effort",
                                    who)
                   : ak_answer_fail(out, AK_LLM_FAULT_EMPTY, err,
                                    "%s: the model said nothing (finish: %s)", who,
                                    ak_llm_finish_text(reply->finish));
    }
    return AK_OK;
}
