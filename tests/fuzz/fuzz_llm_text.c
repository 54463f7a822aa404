/*
 * fuzz_llm_text.c: reads any text as the answer of a model. What Jansson reads, the relaxed
 * reader must read to the same value, without calling it cut or repaired; extraction must survive
 * any other text.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "llm/extract.h"
#include "llm/relaxed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(const char *text, size_t length)
{
    json_t *strict = NULL;
    ak_relaxed read;
    if (ak_relaxed_read(&read, text, length, NULL) != AK_OK || read.end > length) {
        abort();
    }
    if (ak_json_parse(&strict, text, length, "fuzz", NULL) == AK_OK &&
        (read.cut || read.repaired || !json_equal(strict, read.value))) {
        abort();
    }
    json_decref(strict);
    json_decref(read.value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *raw = ak_strndup((const char *)data, size);
    char *text = raw == NULL ? NULL : ak_utf8_clean(raw);
    if (text != NULL) {
        ak_extract found;
        size_t length = strlen(text);
        compare(text, length);
        for (int i = 0; i < 2; i++) {
            if (ak_extract_read(&found, text, length, i == 0 ? "p" : NULL, NULL) != AK_OK ||
                !json_is_array(found.elements)) {
                abort();
            }
            json_decref(found.value);
            json_decref(found.elements);
        }
    }
    ak_free(text);
    ak_free(raw);
    return 0;
}
