/* fuzz_proposal.c: reads any text as the proposals of a model. Each proposal gets a status, and
   an accepted one is valid. */
#include <string.h>

#include "llm/proposal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char space_text[] =
    "{\"TuningParameters\": ["
    "{\"Name\": \"TILE\", \"Type\": \"int\", \"Values\": [1, 2, 4, 8, 64], \"Default\": 4},"
    "{\"Name\": \"RATE\", \"Type\": \"float\", \"Values\": [0.5, 1.5, 2.25]},"
    "{\"Name\": \"KIND\", \"Type\": \"string\", \"Values\": [\"a\", \"b c\"]},"
    "{\"Name\": \"FAST\", \"Type\": \"bool\", \"Values\": [false, true]}],"
    "\"Conditions\": [\"TILE < 64 or FAST == False\"]}";

static ak_space *build(void)
{
    ak_space *space = NULL;
    json_t *definition = NULL;
    if (ak_json_parse(&definition, space_text, sizeof space_text - 1, "fuzz", NULL) != AK_OK ||
        ak_space_build(&space, &(ak_space_spec){.definition = definition, .where = "fuzz"}, NULL) !=
            AK_OK) {
        __builtin_trap();
    }
    json_decref(definition);
    return space;
}

static void check(const ak_suggestion *s, const ak_space *space)
{
    bool taken = s->status == AK_SUGGESTION_ACCEPTED || s->status == AK_SUGGESTION_SNAPPED;
    if (s->status >= AK_SUGGESTION_COUNT || (taken && !ak_space_has(space, &s->config)) ||
        (!taken && s->note[0] == 0) || s->expected < AK_EXPECTED_LOW ||
        s->expected > AK_EXPECTED_HIGH) {
        __builtin_trap();
    }
    const char *texts[] = {s->hypothesis, s->text, s->note};
    for (size_t i = 0; i < 3; i++) {
        for (const char *c = texts[i]; *c != 0; c++) {
            if (*c < 0x20 || *c >= 0x7f || *c == '"' || *c == '`') {
                __builtin_trap(); /* it could leave its quotes in the next prompt */
            }
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ak_space *space = build();
    ak_experience trials[2] = {0};
    json_t *element = NULL;
    ak_space_default(&trials[0].config, space);
    ak_space_default(&trials[1].config, space);
    if (ak_json_parse(&element, (const char *)data, size, "fuzz", NULL) == AK_OK) {
        ak_suggestion s;
        ak_suggestion_read(&s, element, space, trials, 2);
        check(&s, space);
    }
    json_decref(element);
    /* Any bytes as foreign text. */
    char *text = ak_strndup((const char *)data, size);
    ak_buf quoted = AK_BUF(1 << 16);
    ak_prompt_quote(&quoted, text, AK_PROMPT_TEXT_MAX);
    size_t length = quoted.length;
    if (length < 2 || length > AK_PROMPT_TEXT_MAX + 5 || quoted.data[0] != '"' ||
        strchr(quoted.data + 1, '"') != quoted.data + length - 1) {
        __builtin_trap();
    }
    ak_buf_free(&quoted);
    ak_free(text);
    ak_space_free(space);
    return 0;
}
