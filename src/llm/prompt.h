/*
 * prompt.h: facts and history in, text and JSON schema out. Pure: no clock, no randomness, no I/O;
 * the same input gives the same bytes.
 *
 * A prompt has three parts, the most stable first, so that a provider's prompt cache can serve the
 * beginning again:
 *
 *   system   rules and the form of the answer       the same for every run
 *   brief    task, source, parameters, hardware,    the same for all generations of a run
 *            facts about this shape
 *   state    what was tried and what came of it     new each time
 *
 * Form and content follow what was reported to work for tuning kernels: sparse differences instead
 * of whole configurations, a portfolio of near, balanced and bold proposals, compressed history
 * with two anchors and the dozen best (Helion's tuner, pytorch/helion pull requests 2003 and 2090),
 * failures with their reasons, and each hypothesis held against its outcome.
 *
 * Text that compilers, sources and models wrote is data: it is bounded, stripped to printable
 * ASCII, put in quotes on one line or in a fence that it cannot close, and the rules say so.
 */
#ifndef AK_LLM_PROMPT_H
#define AK_LLM_PROMPT_H

#include "llm/brief.h"

#define AK_PROMPT_BYTES_MAX  (512u << 10) /* of each part; never reached by the bounds below */
#define AK_PROMPT_SOURCE_MAX (32u << 10)  /* a longer source is shown as its tunable skeleton */
#define AK_PROMPT_TEXT_MAX   200          /* a reason or a hypothesis, in bytes */
#define AK_PROMPT_BEST       12           /* how many of the best are listed */
#define AK_PROMPT_SAMPLES    4            /* of each kind of failure */
#define AK_PROMPT_CLAIMS     12           /* predictions shown with what came of them */
#define AK_PROMPT_REFUSALS   12           /* proposals that were not tried, with why */

/* A trial as prompts see it. Trials are called by number, "#12". */
typedef struct ak_experience {
    ak_config config;
    ak_trial_status status;
    double ms;          /* if ok: the latest measurement */
    const char *reason; /* one line, foreign; NULL if none */
    double max_error;   /* of a wrong result: how many times the tolerance; 0: unknown */
    int spill_bytes, registers, shared_bytes;
    bool doubted;   /* is to be measured again, or was */
    bool again;     /* measured again, side by side with the other leaders */
    bool same_code; /* compiled to the same code as an earlier trial */
    /* of what the model proposed */
    bool proposed;
    int generation;
    size_t parent;          /* its number; 0: the default configuration */
    double expected;        /* gain of speed over the parent: 0.1 is 10 % */
    const char *hypothesis; /* foreign; NULL if none */
} ak_experience;

/* A proposal that was not tried as it was made. */
typedef struct ak_refusal {
    const char *text, *reason; /* what was proposed; why it was not tried, or what it became */
} ak_refusal;

typedef struct ak_history {
    const ak_experience *trials; /* trial number n is trials[n - 1] */
    size_t count;
    const ak_refusal *refusals; /* of the latest reply */
    size_t refusal_count;
    double library_ms; /* of the fastest library; 0: none */
    const char *library;
    int generation, generations; /* this one, 1 and up; how many there will be, 0: unknown */
    size_t batch;                /* proposals wanted */
} ak_history;

ak_status ak_prompt_system(ak_buf *out, ak_error *err);
ak_status ak_prompt_brief(ak_buf *out, const ak_brief *brief, ak_error *err);
ak_status ak_prompt_state(ak_buf *out, const ak_brief *brief, const ak_history *history,
                          ak_error *err);

/* Schema of the answer, JSON Schema 2020-12 in the subset that providers take:
       {"proposals": [{"hypothesis", "expected_gain_pct", "parent", "changes": {...}}]}
   with the legal values of every parameter. Sizes, dtype and choices are not in it: a model must
   not choose the problem that it is checked against. All keys are required, as strict modes
   demand; a parameter that stays as it is is null. */
ak_status ak_prompt_schema(json_t **out, const ak_space *space, size_t batch, ak_error *err);

/* Of `batch` proposals: how many near the best, balanced and bold. `failed` is the share of the
   latest trials that failed; from a third on, bold ones become near ones. */
typedef struct ak_portfolio {
    size_t near, balanced, bold;
} ak_portfolio;
void ak_prompt_portfolio(ak_portfolio *out, size_t batch, double failed);

/* Appends foreign text as one quoted line: escape sequences, control characters and everything that
   is not ASCII removed, quotes and backticks turned into ', cut after `max` bytes. */
void ak_prompt_quote(ak_buf *out, const char *text, size_t max);
/* The parameters in which `config` differs from `from`: "MR 6->8, KC 256->512". */
void ak_prompt_difference(ak_buf *out, const ak_space *space, const ak_config *from,
                          const ak_config *config);

#endif
