/* prompt_trials.c: writes the trials of a prompt's state: up to two anchors in full, the listed
   trials from the best on, what the collapsed ones have in common, and the failures. No kind of
   failure is omitted. */
#include "base/number.h"
#include "llm/prompt_view.h"

/* The second anchor differs from the best in at least this many parameters, and its time or cost is
   higher by at most this factor. */
#define ANCHOR_DISTANCE 2
#define ANCHOR_SLOWER   1.5
/* Limits of the search for pairs of values that explain a group of trials. PAIR_MEMBERS: most
   members that are examined. PAIR_BESIDE: fewest trials outside the group. PAIRS_SHOWN: most pairs
   that are written. */
#define PAIR_MEMBERS 32
#define PAIR_BESIDE  4
#define PAIRS_SHOWN  3

void ak_prompt_trial_merit(ak_buf *out, const ak_prompt_view *v, const ak_experience *t)
{
    char a[AK_REAL_BYTES], b[AK_REAL_BYTES];
    ak_objective_print(out, v->brief->objective, t->ms);
    if (t->high_ms > t->low_ms && t->low_ms > 0) {
        double low = ak_objective_value(v->brief->objective, t->low_ms);
        double high = ak_objective_value(v->brief->objective, t->high_ms);
        ak_buf_print(out, " (%s .. %s)", ak_number_short(a, low < high ? low : high, AK_DIGITS),
                     ak_number_short(b, low < high ? high : low, AK_DIGITS));
    }
    if (!ak_prompt_timed(v) && t->time_ms > 0) {
        ak_buf_print(out, ", %s ms", ak_number_short(a, t->time_ms, AK_DIGITS));
    }
}

static size_t distance(const ak_space *space, const ak_config *a, const ak_config *b)
{
    size_t count = 0;
    for (size_t p = 0; p < ak_space_parameter_count(space); p++) {
        count += a->at[p] != b->at[p];
    }
    return count;
}

size_t ak_prompt_second(const ak_prompt_view *v)
{
    size_t chosen = 0, most = ANCHOR_DISTANCE - 1;
    for (size_t i = 1; i < v->ok && i < AK_PROMPT_BEST; i++) {
        size_t d = distance(v->brief->space, &ak_prompt_trial(v, v->order[0].number)->config,
                            &ak_prompt_trial(v, v->order[i].number)->config);
        if (d > most && v->order[i].ms <= v->order[0].ms * ANCHOR_SLOWER) {
            most = d;
            chosen = v->order[i].number;
        }
    }
    return chosen;
}

/* Writes what the compiler used, as far as it is known: "  compiled: 40 registers, 8 bytes
   spilled". */
static void put_used(ak_buf *out, const ak_experience *t)
{
    const struct {
        int amount;
        const char *unit;
    } rows[] = {{t->registers, "registers"},
                {t->shared_bytes, "bytes of static shared memory"},
                {t->spill_bytes, "bytes spilled"}};
    size_t shown = 0;
    for (size_t i = 0; i < AK_COUNT(rows); i++) {
        if (rows[i].amount > 0) {
            ak_buf_print(out, "%s%d %s", shown++ == 0 ? "  compiled: " : ", ", rows[i].amount,
                         rows[i].unit);
        }
    }
    if (shown > 0) {
        ak_buf_putc(out, '\n');
    }
}

void ak_prompt_compiled(ak_buf *out, const ak_prompt_view *v, const ak_experience *t)
{
    if (v->brief->share > AK_SHARE_FACTS) {
        return;
    }
    ak_prompt_filling(out, "  launch: ", v->brief, &t->config, t->registers);
    put_used(out, t);
    if (t->code != NULL) {
        ak_buf_print(out, "  %s\n", t->code);
    }
}

/* Writes a parameter and its value: "KC=256". */
static void put_value_of(ak_buf *out, const ak_space *space, const ak_config *config, size_t p)
{
    ak_buf_print(out, "%s=", ak_space_parameter(space, p)->name);
    ak_prompt_value(out, space, p, config->at[p]);
}

static void put_anchor(ak_buf *out, const ak_prompt_view *v, char letter, size_t number)
{
    const ak_experience *t = ak_prompt_trial(v, number);
    const ak_space *space = v->brief->space;
    char text[AK_PROMPT_VALUE_BYTES];
    ak_buf_print(out, "- %c = #%zu, ", letter, number);
    ak_prompt_trial_merit(out, v, t);
    ak_buf_puts(out, ": ");
    for (size_t p = 0, shown = 0; p < ak_space_parameter_count(space); p++) {
        if (ak_space_occurring(space, p) > 1) {
            ak_buf_puts(out, shown++ == 0 ? "" : ",");
            put_value_of(out, space, &t->config, p);
        }
    }
    ak_buf_putc(out, '\n');
    if (v->brief->share > AK_SHARE_FACTS) {
        return;
    }
    for (size_t i = 0; i < v->brief->derived_count; i++) {
        ak_derived_show(text, sizeof text, v->brief, &v->brief->derived[i], &t->config);
        ak_buf_print(out, "  %s: %s\n", v->brief->derived[i].name, text);
    }
    ak_prompt_compiled(out, v, t);
}

void ak_prompt_trials(ak_buf *out, const ak_prompt_view *v)
{
    if (v->ok == 0) {
        return;
    }
    size_t second = ak_prompt_second(v);
    ak_buf_print(out, "\n## Anchors%s\n\n",
                 second == 0 ? ""
                 : ak_prompt_timed(v)
                     ? ": A is the fastest, B differs most from it among the dozen fastest"
                     : ": A is the best, B differs most from it among the dozen best");
    put_anchor(out, v, 'A', v->order[0].number);
    if (second != 0) {
        put_anchor(out, v, 'B', second);
    }
    ak_buf_print(out, "\n## The %s, as differences from A\n\n",
                 ak_prompt_timed(v) ? "fastest" : "best");
    for (size_t i = 0; i < v->ok; i++) {
        if (!ak_prompt_is_listed(v, i)) {
            continue;
        }
        bool slowest = i >= AK_PROMPT_BEST && i + AK_PROMPT_WORST == v->ok;
        if (i == AK_PROMPT_BEST || slowest) {
            const bool timed = ak_prompt_timed(v);
            const char *title = slowest ? timed ? "slowest" : "worst"
                                : timed ? "others, from fast to slow"
                                        : "others, from good to bad";
            ak_buf_print(out, "\n## The %s\n\n", title);
        }
        const ak_experience *t = ak_prompt_trial(v, v->order[i].number);
        ak_buf_print(out, "- #%zu ", v->order[i].number);
        ak_prompt_trial_merit(out, v, t);
        if (t->author != NULL) {
            ak_buf_print(out, " (by %s)", t->author);
        }
        ak_buf_print(out, "%s%s", t->again ? " (measured again)" : "",
                     t->same_code ? " (compiles to the same code as an earlier one)" : "");
        if (t->spill_bytes > 0 && v->brief->share <= AK_SHARE_FACTS) {
            ak_buf_print(out, " (spills %d bytes)", t->spill_bytes);
        }
        ak_buf_puts(out, ": ");
        if (i == 0) {
            ak_buf_puts(out, "A itself");
        } else {
            ak_prompt_difference(out, v->brief->space,
                                 &ak_prompt_trial(v, v->order[0].number)->config, &t->config);
        }
        ak_buf_putc(out, '\n');
    }
}

/* Returns true if a trial took AK_PROMPT_COLLAPSED times as long as the best (or cost as much more)
   even at the lower end of its interval, so that a busy machine does not explain it. */
static bool has_collapsed(const ak_prompt_view *v, const ak_experience *t)
{
    return ak_prompt_least(t) >= v->order[0].ms * AK_PROMPT_COLLAPSED;
}

/* Returns true if a trial is a member of the group `kind`: the trials that ended with this status
   or, for AK_TRIAL_OK, those that have collapsed. */
static bool is_of(const ak_prompt_view *v, const ak_experience *t, ak_trial_status kind)
{
    return t->status == kind && (kind != AK_TRIAL_OK || has_collapsed(v, t));
}

/* Returns true if the group is compared with this trial, which is not a member. Collapsed trials
   are compared with successful ones only, because a failure says nothing about speed. */
static bool is_beside(const ak_prompt_view *v, const ak_experience *t, ak_trial_status kind)
{
    return !is_of(v, t, kind) && (kind != AK_TRIAL_OK || t->status == AK_TRIAL_OK);
}

/* Writes the values that all members of a group (two or more) have, but at most a third of the
   trials that it is compared with. Returns how many values it wrote. */
static size_t put_shared_values(ak_buf *out, const ak_prompt_view *v, ak_trial_status kind)
{
    const ak_space *space = v->brief->space;
    const ak_history *h = v->history;
    size_t members = 0, rest = 0, shown = 0, last = 0;
    for (size_t i = 0; i < h->count; i++) {
        bool member = is_of(v, &h->trials[i], kind);
        members += member;
        rest += is_beside(v, &h->trials[i], kind);
        last = member ? i : last;
    }
    for (size_t p = 0; members > 1 && p < ak_space_parameter_count(space); p++) {
        size_t value = h->trials[last].config.at[p], with = 0, others = 0;
        for (size_t i = 0; i < h->count; i++) {
            bool has = h->trials[i].config.at[p] == value;
            with += has && is_of(v, &h->trials[i], kind);
            others += has && is_beside(v, &h->trials[i], kind);
        }
        if (with == members && rest > 0 && others * 3 <= rest) {
            ak_buf_puts(out, shown++ == 0 ? "; what all of them have and few others: " : ", ");
            put_value_of(out, space, &h->trials[last].config, p);
            ak_buf_print(out, " (%zu of the %zu others)", others, rest);
        }
    }
    return shown;
}

/* The values of the parameters p and q (one value if p is q) in trial `member`, and how many trials
   have both: `with` members that no earlier pair explains, `others` among the trials that the group
   is compared with. The count ends at the first of these, because the pair is then of no use. */
typedef struct pair {
    size_t p, q, member;
    size_t with, others;
} pair;

typedef struct pairs {
    pair at[PAIRS_SHOWN];
    size_t count;
} pairs;

static bool has_pair(const ak_history *h, const pair *of, size_t i)
{
    const ak_config *config = &h->trials[i].config, *want = &h->trials[of->member].config;
    return config->at[of->p] == want->at[of->p] && config->at[of->q] == want->at[of->q];
}

static bool is_explained(const pairs *found, const ak_history *h, size_t i)
{
    bool explained = false;
    for (size_t k = 0; k < found->count; k++) {
        explained = explained || has_pair(h, &found->at[k], i);
    }
    return explained;
}

static void count_pair(pair *one, const ak_prompt_view *v, ak_trial_status kind, const pairs *found)
{
    const ak_history *h = v->history;
    for (size_t i = 0; one->others == 0 && i < h->count; i++) {
        bool has = has_pair(h, one, i);
        one->with += has && is_of(v, &h->trials[i], kind) && !is_explained(found, h, i);
        one->others += has && is_beside(v, &h->trials[i], kind);
    }
}

/* Finds, among the pairs of values that none of the compared trials has, the one that explains the
   most members that no earlier pair explains. Between equals, a single value is preferred. Only the
   pairs of PAIR_MEMBERS unexplained members are tried. */
static pair find_pair(const ak_prompt_view *v, ak_trial_status kind, const pairs *found)
{
    const ak_history *h = v->history;
    const size_t parameters = ak_space_parameter_count(v->brief->space);
    pair best = {0};
    size_t looked = 0;
    for (size_t m = 0; m < h->count && looked < PAIR_MEMBERS; m++) {
        if (is_explained(found, h, m) || !is_of(v, &h->trials[m], kind)) {
            continue;
        }
        looked++;
        for (size_t p = 0; p < parameters; p++) {
            for (size_t q = p; q < parameters; q++) {
                pair one = {.p = p, .q = q, .member = m};
                count_pair(&one, v, kind, found);
                bool simpler = one.with == best.with && p == q && best.p != best.q;
                best = one.others == 0 && (one.with > best.with || simpler) ? one : best;
            }
        }
    }
    return best;
}

/* Writes up to PAIRS_SHOWN pairs of values that several members of a group have and none of the
   trials that it is compared with; returns how many. Writes none if the group is compared with
   fewer than PAIR_BESIDE trials, which would prove nothing. */
static size_t put_pairs(ak_buf *out, const ak_prompt_view *v, ak_trial_status kind)
{
    const ak_space *space = v->brief->space;
    pairs found = {.count = 0};
    size_t beside = 0;
    for (size_t i = 0; i < v->history->count; i++) {
        beside += is_beside(v, &v->history->trials[i], kind);
    }
    if (beside < PAIR_BESIDE) {
        return 0;
    }
    for (pair next; found.count < PAIRS_SHOWN; found.at[found.count++] = next) {
        next = find_pair(v, kind, &found);
        if (next.with < 2) {
            break;
        }
        const ak_config *config = &v->history->trials[next.member].config;
        ak_buf_puts(out, found.count == 0 ? "; what several have and none of the others: " : ", ");
        put_value_of(out, space, config, next.p);
        if (next.q != next.p) {
            ak_buf_puts(out, " with ");
            put_value_of(out, space, config, next.q);
        }
        ak_buf_print(out, " (%zu)", next.with);
    }
    return found.count;
}

/* Writes what a group has in common. Returns the number of values or pairs that were found. */
static size_t put_common(ak_buf *out, const ak_prompt_view *v, ak_trial_status kind)
{
    size_t shown = put_shared_values(out, v, kind);
    return shown > 0 ? shown : put_pairs(out, v, kind);
}

static void put_collapses(ak_buf *out, const ak_prompt_view *v)
{
    size_t collapsed = 0;
    for (size_t i = 0; i < v->ok; i++) {
        collapsed += has_collapsed(v, ak_prompt_trial(v, v->order[i].number));
    }
    if (collapsed < 2) {
        return;
    }
    ak_buf_print(out,
                 "\n## Collapses\n\n%zu of %zu trials %s at least %.3g times as %s as the best",
                 collapsed, v->ok, ak_prompt_timed(v) ? "took" : "were", AK_PROMPT_COLLAPSED,
                 ak_prompt_timed(v) ? "long" : "bad");
    size_t shown = put_common(out, v, AK_TRIAL_OK);
    ak_buf_puts(out, shown == 0 ? "; no value and no pair of values explains several of them: look "
                                  "at products, such as a tile that does not divide the size, or "
                                  "blocks that are too large.\n"
                                : ".\n");
}

/* Writes which limit of a multiprocessor one block exceeds, if that follows from the launch. */
static void put_over_limit(ak_buf *out, const ak_prompt_view *v, const ak_experience *t)
{
    ak_filling f;
    if (v->brief->share <= AK_SHARE_FACTS &&
        !ak_brief_filling(&f, v->brief, &t->config, t->registers) && f.over != NULL) {
        ak_buf_print(out,
                     "; no multiprocessor holds its block of %.0f threads and %.0f bytes of shared "
                     "memory (limit: %s)",
                     f.threads, f.shared_bytes, f.over);
    }
}

static void put_failure(ak_buf *out, const ak_prompt_view *v, size_t number)
{
    const ak_experience *t = ak_prompt_trial(v, number);
    ak_config fallback;
    ak_space_default(&fallback, v->brief->space);
    ak_buf_print(out, "  - #%zu, ", number);
    if (v->ok > 0) {
        ak_buf_puts(out, "from A: ");
        ak_prompt_difference(out, v->brief->space, &ak_prompt_trial(v, v->order[0].number)->config,
                             &t->config);
    } else {
        ak_buf_puts(out, "from the default: ");
        ak_prompt_difference(out, v->brief->space, &fallback, &t->config);
    }
    if (t->max_error > 1.0 && t->max_error < 1e300) {
        char times[AK_REAL_BYTES];
        ak_buf_print(out, "; error %s times what is allowed",
                     ak_number_short(times, t->max_error, 3));
    }
    if (t->spill_bytes > 0 && v->brief->share <= AK_SHARE_FACTS) {
        ak_buf_print(out, "; spills %d bytes", t->spill_bytes);
    }
    put_over_limit(out, v, t);
    /* A message of a compiler quotes the source, so it is shown only if the source is. */
    bool source = t->status == AK_TRIAL_COMPILE_ERROR;
    if (t->reason != NULL && v->brief->share <= (source ? AK_SHARE_SOURCE : AK_SHARE_FACTS)) {
        ak_buf_puts(out, "; ");
        ak_prompt_quote(out, t->reason, AK_PROMPT_TEXT_MAX);
    }
    ak_buf_putc(out, '\n');
}

/* What a status says about the cause of a failure. A recording holds no other reason. */
static const char *const causes[AK_TRIAL_STATUS_COUNT] = {
    [AK_TRIAL_INVALID] = "over a limit of the device, or against a constraint that is not listed",
    [AK_TRIAL_COMPILE_ERROR] = "it did not compile",
    [AK_TRIAL_LAUNCH_ERROR] =
        ("it compiled, but could not be launched or failed in the launch; often "
         "it needs too many threads, registers or bytes of shared memory"),
    [AK_TRIAL_WRONG_RESULT] = "it ran, but its results were wrong",
    [AK_TRIAL_CRASHED] = "it crashed while it ran",
    [AK_TRIAL_TIMED_OUT] = "it did not end in time",
    [AK_TRIAL_OUT_OF_MEMORY] = "memory ran out",
    [AK_TRIAL_REJECTED] = "it was refused after it was compiled",
};

/* Writes the number of failures of each kind, and the latest of each. */
static void put_kinds_of_failure(ak_buf *out, const ak_prompt_view *v)
{
    if (v->ok == v->history->count) {
        return;
    }
    ak_buf_puts(out, "\n## Failures\n\n");
    for (int kind = 0; kind < AK_TRIAL_STATUS_COUNT; kind++) {
        size_t count = 0, shown = 0;
        for (size_t i = 0; i < v->history->count; i++) {
            count += v->history->trials[i].status == (ak_trial_status)kind;
        }
        if (kind == AK_TRIAL_OK || count == 0) {
            continue;
        }
        ak_buf_print(out, "- %zu %s: %s", count, ak_trial_status_text((ak_trial_status)kind),
                     causes[kind]);
        (void)put_common(out, v, (ak_trial_status)kind);
        ak_buf_putc(out, '\n');
        for (size_t number = v->history->count; number > 0 && shown < AK_PROMPT_SAMPLES; number--) {
            if (ak_prompt_trial(v, number)->status == (ak_trial_status)kind) {
                put_failure(out, v, number);
                shown++;
            }
        }
    }
}

void ak_prompt_failures(ak_buf *out, const ak_prompt_view *v)
{
    put_collapses(out, v);
    put_kinds_of_failure(out, v);
}
