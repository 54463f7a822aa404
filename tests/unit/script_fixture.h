/* script_fixture.h: replaces the language model by a script, a function from question to answer.
   The questions are kept, so that tests can examine the prompts. */
#ifndef AK_TEST_SCRIPT_FIXTURE_H
#define AK_TEST_SCRIPT_FIXTURE_H

#include <string.h>

#include "base/alloc.h"
#include "strategy/advisor.h"

#define SCRIPT_QUESTIONS 16

typedef struct script script;
/* Appends the answer, which should be {"proposals": [...]}, to `out`, or fails. */
typedef ak_status (*script_reply)(ak_buf *out, script *self, const char *state, ak_error *err);

struct script {
    script_reply reply;
    ak_llm_fault fault; /* of a call that fails */
    bool refuse_to_start;
    int looks; /* how often it is looked at before a reply is there */
    int questions;
    char *asked[SCRIPT_QUESTIONS]; /* the changing part of each prompt */
    char *brief;
    ak_model model;
    /* of the question under way */
    const ak_llm_chat *chat;
    int looked;
    bool abandoned, late;
};

static inline ak_status script_start(ak_llm_call **out_call, void *context, const ak_llm_chat *chat,
                                     ak_error *err)
{
    script *self = context;
    if (self->refuse_to_start) {
        return ak_fail(err, AK_IO, "script: nobody there");
    }
    assert_true(self->questions < SCRIPT_QUESTIONS);
    assert_int_equal(chat->message_count, 2);
    assert_string_equal(chat->array, "proposals");
    assert_non_null(chat->schema);
    self->asked[self->questions++] = ak_strdup(chat->messages[1].text);
    ak_free(self->brief);
    self->brief = ak_strdup(chat->messages[0].text);
    self->chat = chat;
    self->looked = 0;
    *out_call = (ak_llm_call *)self;
    return AK_OK;
}

static inline bool script_done(ak_llm_call *call)
{
    script *self = (script *)call;
    return self->looked++ >= self->looks;
}

static inline ak_status script_end(ak_llm_answer *out, ak_llm_call *call, ak_error *err)
{
    script *self = (script *)call;
    ak_buf text = AK_BUF(32u << 20);
    *out = (ak_llm_answer){.attempts = 1, .elapsed_ns = 1000000};
    ak_status status = self->reply(&text, self, self->asked[self->questions - 1], err);
    if (status != AK_OK) {
        out->fault = self->fault;
        ak_buf_free(&text);
        return status;
    }
    out->finish = AK_LLM_FINISH_STOP;
    out->usage = (ak_llm_usage){.known = true, .input = 1000, .output = 100};
    out->priced = true;
    out->cost_usd = 0.01;
    out->value = json_loads(text.data, JSON_DECODE_ANY, NULL);
    out->elements = json_incref(json_object_get(out->value, "proposals"));
    if (!json_is_array(out->elements)) { /* the client gives an empty array then */
        json_decref(out->elements);
        out->elements = json_array();
    }
    return ak_buf_take(&out->text, &text, err);
}

/* The reply has come since it was last looked for if `late` is set. */
static inline ak_status script_abandon(ak_llm_answer *out, char lost[AK_LLM_LOST_BYTES],
                                       ak_llm_call *call, ak_error *err)
{
    script *self = (script *)call;
    self->abandoned = true;
    if (self->late) {
        lost[0] = 0;
        return script_end(out, call, err);
    }
    (void)snprintf(lost, AK_LLM_LOST_BYTES, "nobody answered");
    *out = (ak_llm_answer){
        .fault = AK_LLM_FAULT_CANCELLED, .attempts = 1, .priced = true, .cost_usd = 0.25};
    return ak_fail(err, AK_CANCELLED, "script: cancelled");
}

static inline void script_open(script *self, script_reply reply)
{
    *self = (script){.reply = reply};
    self->model = (ak_model){.context = self,
                             .name = "script:one",
                             .start = script_start,
                             .done = script_done,
                             .end = script_end,
                             .abandon = script_abandon};
}

static inline void script_close(script *self)
{
    for (int i = 0; i < self->questions; i++) {
        ak_free(self->asked[i]);
    }
    ak_free(self->brief);
}

#endif
