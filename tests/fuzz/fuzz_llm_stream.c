/* fuzz_llm_stream.c: reads any bytes as a stream. Read whole or in pieces, it must give the same
   events. The first byte chooses the kind of the stream and the size of the pieces. */
#include <stdlib.h>
#include <string.h>

#include "llm/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static ak_status collect(void *context, const char *event, const char *data, size_t length,
                         ak_error *err)
{
    (void)err;
    if (strlen(data) != length) {
        abort();
    }
    ak_buf_print(context, "<%s|%s>", event, data);
    return AK_OK;
}

static void decode(ak_buf *out, ak_stream_kind kind, const char *bytes, size_t count, size_t piece)
{
    ak_stream stream;
    ak_stream_init(&stream, kind, collect, out);
    for (size_t at = 0; at < count; at += piece) {
        (void)ak_stream_feed(&stream, bytes + at, count - at < piece ? count - at : piece, NULL);
    }
    (void)ak_stream_end(&stream, NULL);
    ak_stream_free(&stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) {
        return 0;
    }
    ak_stream_kind kind = data[0] & 1 ? AK_STREAM_SSE : AK_STREAM_NDJSON;
    ak_buf whole = AK_BUF(1u << 24), pieces = AK_BUF(1u << 24);
    const char *bytes = (const char *)data + 1;
    decode(&whole, kind, bytes, size - 1, size);
    decode(&pieces, kind, bytes, size - 1, 1 + data[0] / 2u % 16);
    if (strcmp(whole.data, pieces.data) != 0) {
        abort();
    }
    ak_buf_free(&whole);
    ak_buf_free(&pieces);
    return 0;
}
