/*
 * prompt.h: turns facts and history into text and a JSON schema. The functions are pure: without
 * clock, randomness and I/O, the same input gives the same bytes.
 *
 * A prompt has three parts. The most stable comes first, so that a provider's prompt cache can
 * serve the beginning again:
 *
 *   system   rules and the form of the answer       the same for every run
 *   brief    task, source, parameters, hardware,    the same for all generations of a run
 *            facts about this shape
 *   state    what was tried and what came of it     new each time
 *
 * Form and content follow what was reported to work for tuning kernels: sparse differences instead
 * of whole configurations, guidance by phase from wide to near, compressed history with two anchors
 * and the best (Helion's tuner, pytorch/helion pull requests 2003 and 2090), failures with their
 * reasons, and each hypothesis held against its outcome.
 *
 * Text that compilers, sources and models wrote is data. It is bounded, reduced to printable ASCII,
 * and put in quotes on one line or in a fence that it cannot close. The rules in the prompt tell
 * the model that such text is data.
 */
#ifndef AK_LLM_PROMPT_H
#define AK_LLM_PROMPT_H

#include "llm/brief.h"

#define AK_PROMPT_BYTES_MAX  (512u << 10) /* for each part; the limits below keep parts smaller */
#define AK_PROMPT_SOURCE_MAX (32u << 10)  /* without marks, a longer source becomes a skeleton */
/* A parameter with more values is listed with a gap and has a plain type in the schema. */
#define AK_PROMPT_VALUES   64
#define AK_PROMPT_TEXT_MAX 200 /* bytes of a reason or hypothesis */
#define AK_PROMPT_BEST     12  /* number of best trials that are always listed */
#define AK_PROMPT_SAMPLES  4   /* trials shown of each kind of failure */
#define AK_PROMPT_CLAIMS   12  /* predictions shown with their outcomes */
#define AK_PROMPT_LISTED   60  /* up to this many successful trials are all listed */
#define AK_PROMPT_PARENTS  (AK_PROMPT_LISTED + AK_PROMPT_CLAIMS + 1)
#define AK_PROMPT_LOOKS    (2 + AK_PROMPT_CLAIMS)
#define AK_PROMPT_WORST    4  /* number of worst trials that are always listed */
#define AK_PROMPT_REFUSALS 12 /* refused proposals shown with the reason */

/* A trial as prompts show it. Its number is shown as "#12". */
typedef struct ak_experience {
    ak_config config;
    ak_trial_status status;
    double ms; /* latest measurement if ok; with another objective, its minimised value */
    double low_ms, high_ms; /* 95 % interval of `ms`; 0 if unknown, both equal to `ms` in a
                               recording */
    double time_ms;         /* the time if the objective is another one; 0 if unknown */
    const char *reason;     /* one line of foreign text; NULL if none */
    /* largest error of the results in multiples of the tolerance; 0 if unknown */
    double max_error;
    int spill_bytes, registers, shared_bytes;
    bool doubted;       /* the advisor has asked to measure it again, which it does only once */
    bool again;         /* measured again, side by side with the other elites */
    bool same_code;     /* compiles to the same code as an earlier trial */
    const char *author; /* strategy that proposed it; NULL: the model, or not known */
    const char *code;   /* description of its compiled code; NULL if not known */
    /* The following describes trials that the model proposed. */
    bool proposed;
    int generation;
    size_t parent;   /* number of the parent's trial; 0 is the default configuration */
    double expected; /* expected gain of speed over the parent: 0.1 is 10 %; NaN if none is said */
    const char *hypothesis; /* foreign text; NULL if none */
} ak_experience;

/* A proposal that was not tried as it was made, or an answer that could not be read. */
typedef struct ak_refusal {
    const char *text;   /* the proposal, or "the whole answer" */
    const char *reason; /* why it was refused or could not be read, or what the proposal became */
} ak_refusal;

typedef struct ak_history {
    const ak_experience *trials; /* trial number n is trials[n - 1] */
    size_t count;
    const ak_refusal *refusals; /* refusals of the latest reply */
    size_t refusal_count;
    double library_ms; /* time or minimised value of the best library; 0 if there is none */
    const char *library;
    int generation, generations; /* number of this generation from 1; their total, 0 if unknown */
    size_t batch;                /* number of proposals to ask for */
    size_t evaluations; /* trials that the budget allows, as `count` counts them; 0 if unknown */
    bool searched;      /* a search proposes configurations, too */
    bool apart;         /* that search does not see the model's trials before the last question */
    bool hidden;        /* `trials` is empty although trials exist, as an arm of a study demands */
} ak_history;

/* Append the three parts. */
ak_status ak_prompt_system(ak_buf *out, ak_error *err);
ak_status ak_prompt_brief(ak_buf *out, const ak_brief *brief, ak_error *err);
ak_status ak_prompt_state(ak_buf *out, const ak_brief *brief, const ak_history *history,
                          ak_error *err);

/* Writes, in ascending order, the numbers of the successful trials that the state shows. */
ak_status ak_prompt_parents(size_t out[AK_PROMPT_PARENTS], size_t *count, const ak_brief *brief,
                            const ak_history *history);

/* Writes the numbers of the trials whose compiled code the state shows if it is known: the anchors,
   and the latest trials whose results contradict their predictions. An anchor that is also one of
   these is written twice. */
ak_status ak_prompt_looks(size_t out[AK_PROMPT_LOOKS], size_t *count, const ak_brief *brief,
                          const ak_history *history);

/* Builds the schema of the answer to the state of this history, in JSON Schema 2020-12:
   {"proposals": [{"hypothesis", "expected_gain_pct", "parent", "changes": {...}}]}. It allows at
   most history->batch proposals (and at least one if nothing was tried yet), the parents of
   ak_prompt_parents or null, and the values that occur in a valid configuration; a parameter with
   too many of them, or beyond the number that a schema may have, has only a type. It leaves out
   parameters with one such value, and sizes, dtype and options, because a model must not choose the
   problem that it is checked against. The answer leaves out parameters that do not change; for a
   provider that demands every property their value is null (ak_schema_openai). */
ak_status ak_prompt_schema(json_t **out, const ak_brief *brief, const ak_history *history,
                           ak_error *err);

/* Appends foreign text (may be NULL) as one quoted line, which is cut after `max` bytes. Escape
   sequences are removed, control characters and runs of blanks become one blank, quotation marks
   and backticks become ', and other characters outside ASCII become '?'. */
void ak_prompt_quote(ak_buf *out, const char *text, size_t max);
/* Appends the parameters in which `config` differs from `from`, "MR 6->8, KC 256->512", or else
   "no difference". */
void ak_prompt_difference(ak_buf *out, const ak_space *space, const ak_config *from,
                          const ak_config *config);

/* Appends a value of a parameter: "16". */
#define AK_PROMPT_VALUE_BYTES 256
void ak_prompt_value(ak_buf *out, const ak_space *space, size_t p, size_t value);

/* Appends a line with the title and how the configuration fills a GPU; nothing if that is not known
   or no block fits. */
void ak_prompt_filling(ak_buf *out, const char *title, const ak_brief *brief,
                       const ak_config *config, int registers);

#endif
