/*
 * fuzz_llm_reply.c: reads any bytes as a server's reply, for every provider: as a whole reply, as
 * an event of a stream, as an error with headers, and as an answer on a tape. The first byte
 * chooses the provider and the status.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "llm/provider.h"
#include "llm/relaxed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_answer(ak_reply *reply)
{
    ak_llm_chat chat = {.array = "proposals"};
    ak_llm_answer answer = {0};
    json_t *schema = json_object();
    chat.schema = schema;
    if (reply->usage.input < 0 || reply->usage.output < 0) {
        abort();
    }
    if (ak_answer_read(&answer, reply, &chat, "fuzz", NULL) == AK_OK &&
        !json_is_array(answer.elements)) {
        abort();
    }
    ak_llm_answer_clear(&answer);
    json_decref(schema);
}

static void classify(const ak_provider *provider, int status, const json_t *body, const char *text)
{
    const char *line = strchr(text, '\n');
    ak_reply_headers headers = {.retry_after = line == NULL ? text : line + 1,
                                .retry_after_ms = line == NULL ? NULL : line,
                                .should_retry = text};
    ak_complaint complaint;
    provider->classify(&complaint, status, &headers, body, 0);
    if (complaint.fault == AK_LLM_FAULT_NONE || complaint.wait_ms < -1 ||
        complaint.wait_ms > 86400000 || complaint.output_tokens_max < 0) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int statuses[] = {301, 400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 503, 529};
    size_t providers = 0;
    while (ak_providers[providers] != NULL && ak_providers[providers]->ask == NULL) {
        providers++;
    }
    char *raw = size < 1 ? NULL : ak_strndup((const char *)data + 1, size - 1);
    char *text = raw == NULL ? NULL : ak_utf8_clean(raw);
    if (text != NULL) {
        const ak_provider *provider = ak_providers[data[0] % providers];
        ak_relaxed read;
        if (ak_relaxed_read(&read, text, strlen(text), NULL) != AK_OK) {
            abort();
        }
        classify(provider, statuses[data[0] / 8u % 13], read.value, text);
        for (int i = 0; i < 2 && read.value != NULL; i++) {
            ak_reply reply;
            ak_reply_init(&reply);
            if (i == 0) {
                provider->reply(&reply, read.value);
            } else {
                provider->delta(&reply, "", read.value);
            }
            read_answer(&reply);
            ak_reply_free(&reply);
        }
        json_decref(read.value);
    }
    ak_free(text);
    ak_free(raw);
    return 0;
}
