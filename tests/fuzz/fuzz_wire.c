/* fuzz_wire.c: reads any bytes as what a worker sends: lines in pieces, then every reader of
   messages on the objects that result. The first byte chooses the size of the pieces. */
#include "base/alloc.h"
#include "worker/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(const json_t *message)
{
    ak_trial trial = {0};
    ak_timer_plan plan;
    ak_compile_result compiled = {0};
    ak_comparison_entry entry = {0};
    ak_ceilings ceilings;
    ak_baseline_info *info = ak_alloc(1, sizeof *info);
    const char **texts = NULL;
    size_t count = 0;
    ak_error err = AK_ERROR_INIT;
    (void)ak_message_fault(message, &err);
    ak_conditions conditions;
    if (ak_message_to_trial(&trial, &conditions, message, &err) == AK_OK) {
        json_decref(ak_message_from_trial(&trial, &conditions));
        ak_trial_clear(&trial);
    }
    if (ak_message_to_compile(&compiled, message, &err) == AK_OK) {
        json_decref(ak_message_from_compile(&compiled));
        ak_compile_result_clear(&compiled);
    }
    if (ak_message_to_comparison(&entry, message, &err) == AK_OK) {
        json_decref(ak_message_from_comparison(&entry));
        ak_free(entry.reason);
        ak_free(entry.version);
        ak_free(entry.samples_ms);
    }
    if (info != NULL) {
        bool good = ak_message_to_baseline(info, message, &err) == AK_OK;
        ak_baseline_info_free(info, good ? 1 : 0);
    }
    if (ak_message_texts(&texts, &count, message, "options", &err) == AK_OK) {
        ak_free(texts);
    }
    (void)ak_message_to_plan(&plan, message, &err);
    (void)ak_message_to_ceilings(&ceilings, message, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ak_line_reader reader;
    ak_line_reader_init(&reader);
    size_t piece = size > 0 ? 1 + data[0] % 64u : 1;
    for (size_t at = size > 0 ? 1 : 0; at < size; at += piece) {
        size_t count = size - at < piece ? size - at : piece;
        json_t *message = NULL;
        if (ak_line_reader_feed(&reader, (const char *)data + at, count, NULL) != AK_OK) {
            break;
        }
        do {
            message = NULL;
            if (ak_line_reader_next(&message, &reader, NULL) == AK_OK && message != NULL) {
                read_all(message);
                json_decref(message);
            }
        } while (message != NULL);
    }
    ak_line_reader_free(&reader);
    return 0;
}
