/*
 * compatible.c: any server that speaks Chat Completions at --llm-url: vLLM, llama.cpp, LM Studio,
 * gateways. OPENAI_API_KEY is never sent to such a server because it belongs to OpenAI; a key
 * comes from --llm-key-file.
 *
 * Sources: docs.vllm.ai "OpenAI-compatible server", llama.cpp tools/server/README.md, lmstudio.ai
 * "Structured output". The effort "none" turns thinking off if the chat template supports that.
 */
#include "llm/dialect.h"

static ak_status request(json_t **out, const ak_request *request, ak_error *err)
{
    ak_request inner = *request;
    bool off = request->effort != NULL && strcmp(request->effort, "none") == 0 &&
               ak_can(request, AK_ABILITY_EFFORT);
    if (off) {
        inner.effort = NULL;
    }
    AK_DO(ak_chat_request(out, &inner, err));
    if (off &&
        !ak_json_set(*out, "chat_template_kwargs", json_pack("{s:b}", "enable_thinking", 0))) {
        json_decref(*out);
        *out = NULL;
        return ak_fail_memory(err);
    }
    return AK_OK;
}

const ak_provider ak_provider_compatible = {
    .name = "compatible",
    .description = "any server with the Chat Completions API: vLLM, llama.cpp, LM Studio",
    .path = "/v1/chat/completions",
    .key_header = "Authorization: Bearer ",
    .stream = AK_STREAM_SSE,
    .request = request,
    .reply = ak_chat_reply,
    .delta = ak_chat_delta,
    .classify = ak_classify,
};
