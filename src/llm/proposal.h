/*
 * proposal.h: checks the proposals of a model against the space.
 *
 * A server may ignore the schema, so every element of an answer is checked here as if there were no
 * schema. Two rules change a proposal instead of refusing it, and the change is recorded:
 *
 *     a number between two legal values is replaced by the nearer of the two, or by the lower one
 *     if both are equally near; a number below or above all legal values, and any other value
 *     that is not legal, is refused
 *
 *     a parent that is not a trial is replaced by the default
 *
 * A configuration that is not valid is refused, and the condition that it breaks is named, except
 * in the space of a recording. The next prompt tells the model what was refused or changed. A value
 * for a parameter that has only one legal value is ignored.
 */
#ifndef AK_LLM_PROPOSAL_H
#define AK_LLM_PROPOSAL_H

#include "llm/prompt.h"

/* Proposals read from one answer; further ones are ignored. */
#define AK_PROPOSALS_MAX 256

/* Statuses of a proposal. X(NAME, text in archives and messages) */
#define AK_SUGGESTION_MAP(X)                                                                       \
    X(ACCEPTED, "accepted")                                                                        \
    X(SNAPPED, "snapped")     /* accepted after moving a value or the parent to a legal one */     \
    X(MALFORMED, "malformed") /* not in the requested form */                                      \
    X(UNKNOWN, "unknown")     /* names an unknown parameter */                                     \
    X(OFF_GRID, "off_grid")   /* has a value outside of the legal ones */                          \
    X(CONDITION, "condition") /* violates a condition, or was not recorded */                      \
    X(REPEATED, "repeated")   /* tried before, or twice in this answer */                          \
    X(SURPLUS, "surplus")     /* more than were asked for */

typedef enum ak_suggestion_status {
#define AK_SUGGESTION_ENUM(name, text) AK_SUGGESTION_##name,
    AK_SUGGESTION_MAP(AK_SUGGESTION_ENUM)
#undef AK_SUGGESTION_ENUM
        AK_SUGGESTION_COUNT
} ak_suggestion_status;
const char *ak_suggestion_status_text(ak_suggestion_status status);

typedef struct ak_suggestion {
    ak_suggestion_status status;
    ak_config config; /* valid if accepted or snapped */
    size_t parent;    /* number of a trial; 0 is the default */
    double expected;  /* expected gain of speed over the parent: 0.1 is 10 %; NaN if none is said */
    char hypothesis[AK_PROMPT_TEXT_MAX + 8]; /* printable ASCII */
    char text[AK_PROMPT_TEXT_MAX + 8];       /* proposed changes, cut to fit */
    /* why it was refused or what was changed; "" if neither */
    char note[AK_PROMPT_TEXT_MAX + 104];
} ak_suggestion;

/* An expected gain outside this range counts as none. */
#define AK_EXPECTED_LOW  (-0.99)
#define AK_EXPECTED_HIGH 100.0

/* Sets the status and appends to the note what was done with the proposal. */
void ak_suggestion_judge(ak_suggestion *out, ak_suggestion_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Checks one element. `trials` are those of the history; a parent is the number of any of them,
   even if the prompt did not show it. Never fails: any `element` gets a status. The caller sets the
   statuses REPEATED and SURPLUS, because they depend on what was tried and asked for. */
void ak_suggestion_read(ak_suggestion *out, const json_t *element, const ak_space *space,
                        const ak_experience *trials, size_t trial_count);

#endif
