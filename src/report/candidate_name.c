#include "report/candidate_name.h"

#include "base/text.h"

static const char *const names[] = {"first finalist", "second finalist", "third finalist",
                                    "further finalist"};
enum { NAMES = AK_COUNT(names) };

const char *ak_candidate_name(size_t rank)
{
    return names[rank < NAMES ? rank : NAMES - 1];
}

bool ak_candidate_is_ranked(const char *name)
{
    return AK_HAS_TEXT(names, NAMES, name) || strncmp(name, "candidate ", 10) == 0;
}
