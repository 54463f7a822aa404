#include "measure/overlap.h"

#include <stddef.h>

#include "base/text.h"

static const struct {
    ak_overlap overlap;
    const char *word;
} words[] = {
#define WORD(name, word) {AK_OVERLAP_##name, word},
    AK_OVERLAP_MAP(WORD)
#undef WORD
};
enum { WORDS = AK_COUNT(words) };

const char *ak_overlap_text(ak_overlap overlap)
{
    for (size_t i = 0; i < WORDS; i++) {
        if (words[i].overlap == overlap) {
            return words[i].word;
        }
    }
    return NULL;
}

bool ak_overlap_parse(ak_overlap *out, const char *text)
{
    const size_t i = AK_FIND(words, WORDS, word, text);
    if (i < WORDS) {
        *out = words[i].overlap;
    }
    return i < WORDS;
}
