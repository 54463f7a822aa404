#include "measure/overlap.h"

#include <stddef.h>

#include "base/text.h"

static const char *const words[] = {
#define WORD(name, word) word,
    AK_OVERLAP_MAP(WORD)
#undef WORD
};

const char *ak_overlap_text(ak_overlap overlap)
{
    return overlap == AK_OVERLAP_UNKNOWN ? NULL : words[overlap - 1];
}

bool ak_overlap_parse(ak_overlap *out, const char *text)
{
    const size_t i = AK_FIND_TEXT(words, AK_COUNT(words), text);
    if (i < AK_COUNT(words)) {
        *out = (ak_overlap)(i + 1);
    }
    return i < AK_COUNT(words);
}
