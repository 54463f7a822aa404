/*
 * proposal.h: what a model proposed, checked against the space.
 *
 * A schema is a wish that servers may ignore, so every element of an answer is checked here as if
 * there were none. One rule changes a proposal instead of refusing it, and the change is recorded:
 *
 *     a number that lies between two legal values is taken as the nearer one, the lower of two
 *     equally near; a number outside of all legal values, and any other value that is not legal,
 *     is refused
 *
 * A configuration that breaks a condition is refused, with the condition. What was refused or
 * changed is told to the model in the next prompt.
 */
#ifndef AK_LLM_PROPOSAL_H
#define AK_LLM_PROPOSAL_H

#include "llm/prompt.h"

/* Of one answer. The rest is not looked at, only counted. */
#define AK_PROPOSALS_MAX 256

/* X(NAME, text as archived and shown) */
#define AK_VERDICT_MAP(X)                                                                          \
    X(ACCEPTED, "accepted")                                                                        \
    X(SNAPPED, "snapped")     /* accepted, a value moved to a legal one */                         \
    X(MALFORMED, "malformed") /* not of the form that was asked for */                             \
    X(UNKNOWN, "unknown")     /* names no parameter of the space, or no trial */                   \
    X(OFF_GRID, "off_grid")   /* a value that is not legal and not near one */                     \
    X(CONDITION, "condition") /* breaks a condition */                                             \
    X(REPEATED, "repeated")   /* tried before, or twice in this answer */                          \
    X(SURPLUS, "surplus")     /* more than were asked for */

typedef enum ak_verdict {
#define AK_VERDICT_ENUM(name, text) AK_VERDICT_##name,
    AK_VERDICT_MAP(AK_VERDICT_ENUM)
#undef AK_VERDICT_ENUM
        AK_VERDICT_COUNT
} ak_verdict;
const char *ak_verdict_text(ak_verdict verdict);

typedef struct ak_suggestion {
    ak_verdict verdict;
    ak_config config;                        /* if accepted or snapped */
    size_t parent;                           /* number of a trial, 0: the default */
    double expected;                         /* gain of speed over the parent: 0.1 is 10 % */
    char hypothesis[AK_PROMPT_TEXT_MAX + 8]; /* printable ASCII */
    char text[AK_PROMPT_TEXT_MAX + 8];       /* the changes as proposed, cut */
    char note[AK_PROMPT_TEXT_MAX + 104];     /* why refused, or what was changed; "" if neither */
} ak_suggestion;

/* Gains are kept within these: what is beyond is no prediction. */
#define AK_EXPECTED_LOW  (-0.99)
#define AK_EXPECTED_HIGH 100.0

/* Checks one element. `trials` are those that the model was shown, for parents. Never fails:
   whatever `element` is becomes a verdict. It does not know what was tried (REPEATED, SURPLUS). */
void ak_suggestion_read(ak_suggestion *out, const json_t *element, const ak_space *space,
                        const ak_experience *trials, size_t trial_count);

#endif
