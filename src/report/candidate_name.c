#include "report/candidate_name.h"

static const char *const names[] = {"first finalist", "second finalist", "third finalist",
                                    "further finalist"};
enum { NAMES = AK_COUNT(names) };

const char *ak_candidate_name(size_t rank)
{
    return names[rank < NAMES ? rank : NAMES - 1];
}

bool ak_candidate_is_ranked(const char *name)
{
    for (size_t i = 0; i < NAMES; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return strncmp(name, "candidate ", 10) == 0;
}
