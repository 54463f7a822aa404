#include "cli/compared.h"

#include <math.h>

#include "base/alloc.h"
#include "base/value_json.h"
#include "cli/trial_table.h"

/* A line explains a speed that differs from the ratio of two medians by more than this fraction. */
#define PAIRED_APART 0.02

/* Prints clocks, power and temperature if the device's driver reported them. */
static void print_conditions(const ak_compared *list, size_t count)
{
    ak_table table;
    char a[AK_NUMBER_BYTES];
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        any = any || list[i].sm_clock_mhz > 0;
    }
    if (!any) {
        return;
    }
    ak_out("\n");
    ak_table_begin(&table, "while it ran", ">SM MHz", ">memory MHz", ">W", ">degrees C",
                   "clock limited by", ">utilisation", NULL);
    for (size_t i = 0; i < count; i++) {
        const ak_compared *c = &list[i];
        ak_table_cell(&table, "%s", c->name);
        ak_table_cell(&table, "%.0f", c->sm_clock_mhz);
        ak_table_cell(&table, "%.0f", c->memory_clock_mhz);
        ak_table_cell(&table, "%.0f", c->power_watts);
        ak_table_cell(&table, "%.0f", c->temperature_celsius);
        ak_table_cell(&table, "%s", c->throttle == NULL ? "-" : c->throttle);
        ak_table_cell(&table, "%s", c->utilisation > 0 ? ak_show_percent(a, c->utilisation) : "-");
    }
    ak_table_print(&table);
}

/* Names the candidates whose kernels may begin before their predecessors have ended (programmatic
   launches); prints nothing if there are none. */
static void print_overlap(const ak_compared *list, size_t count)
{
    static const struct {
        const char *word, *text;
    } lines[] = {
        {"between runs", "runs that may begin before the one before has ended (programmatic "
                         "launches)"},
        {"within runs", "kernels of one run that may begin before the one before has ended "
                        "(programmatic launches)"},
    };
    for (size_t k = 0; k < AK_COUNT(lines); k++) {
        bool any = false;
        for (size_t i = 0; i < count; i++) {
            if (list[i].overlap != NULL && strcmp(list[i].overlap, lines[k].word) == 0) {
                ak_out("%s%s %s", any ? ";" : lines[k].text, any ? "" : ":", list[i].name);
                any = true;
            }
        }
        ak_out("%s", any ? "\n" : "");
    }
}

/* Returns the rank of a configuration, from 1; 0 for a library and for what failed. */
static size_t rank_of(const ak_compared *list, size_t count, const ak_compared *one)
{
    size_t order[AK_COMPARED_MAX], ranks = ak_compared_order(order, list, count);
    for (size_t i = 0; i < ranks; i++) {
        if (&list[order[i]] == one) {
            return i + 1;
        }
    }
    return 0;
}

/* Adds the name of a candidate: a configuration with its rank, "#1 tuned", "#2", "#3 default", a
   failed configuration without a rank, and a library with its version if that is short. */
static void name_cell(ak_table *table, const ak_compared *list, size_t count, const ak_compared *c)
{
    bool brief = c->version != NULL && strlen(c->version) <= AK_VERSION_BESIDE;
    size_t rank = rank_of(list, count, c);
    if (rank > 0) {
        ak_table_cell(table, "#%zu%s%s", rank, c->ranked ? "" : " ", c->ranked ? "" : c->name);
    } else {
        ak_table_cell(table, "%s%s%s", c->name, brief ? " " : "", brief ? c->version : "");
    }
}

/* Gives words only for a tie and for an undecided verdict, since figures show who is faster or
   slower. Without the words, the interval may look decisive although the verdict is undecided. */
const char *ak_verdict_word(ak_speed_verdict verdict)
{
    return verdict == AK_SPEED_TIE ? "  tie" : verdict == AK_SPEED_UNDECIDED ? "  not decided" : "";
}

const char *ak_verdict_words(char out[AK_VERDICT_WORDS], const ak_compared *c)
{
    const char *why = ak_speed_doubt_text(c->doubt);
    (void)snprintf(out, AK_VERDICT_WORDS, "%s%s%s", ak_verdict_word(c->verdict),
                   *why == 0 ? "" : ": ", why);
    return out;
}

/* Explains why verdicts are undecided; each reason is printed once. */
static void print_doubts(const ak_compared *list, size_t count)
{
    unsigned seen = 0;
    for (size_t i = 0; i < count; i++) {
        const ak_speed_doubt doubt = list[i].doubt;
        if (doubt != AK_DOUBT_NONE && (seen & 1u << doubt) == 0) {
            seen |= 1u << doubt;
            ak_out("not decided: %s: %s\n", ak_speed_doubt_text(doubt),
                   ak_speed_doubt_sentence(doubt));
        }
    }
}

static void speed_cells(ak_table *table, const ak_compared *c, bool is_reference)
{
    char a[AK_NUMBER_BYTES], b[AK_NUMBER_BYTES], words[AK_VERDICT_WORDS];
    ak_table_cell(table, "%s", ak_show_ratio(a, c->ratio));
    if (c->median_ms <= 0) {
        ak_table_cell(table, "failed");
    } else if (is_reference) {
        ak_table_cell(table, "reference");
    } else {
        ak_table_cell_if(table, c->ratio_high > 0, "%s .. %s%s", ak_show_ratio(a, c->ratio_low),
                         ak_show_ratio(b, c->ratio_high), ak_verdict_words(words, c));
    }
}

/* Returns whether a name says "default" already: "default", or "cuda_sm90 default". */
static bool is_default(const char *name)
{
    const char *last = strrchr(name, ' ');
    return strcmp(last == NULL ? name : last + 1, "default") == 0 && strchr(name, '=') == NULL;
}

/* Adds why the candidate failed, with its configuration, or what its configuration changes from
   `base` (NULL: all of it). For a library or the default that worked, the cell is empty. */
static void below_cell(ak_table *table, const ak_compared *c, const char *base)
{
    AK_AT_END(ak_buf_free) ak_buf changes = AK_BUF(1 << 16);
    if (c->median_ms <= 0 && c->config != NULL) {
        char trial[40] = "";
        if (c->trial > 0) {
            (void)snprintf(trial, sizeof trial, "trial #%lld, ", (long long)c->trial);
        }
        ak_table_cell(table, "%s: %s%s", ak_or_empty(c->reason), trial, c->config);
    } else if (c->median_ms <= 0) {
        ak_table_cell(table, "%s", ak_or_empty(c->reason));
    } else if (c->config == NULL || is_default(c->name)) {
        ak_table_cell(table, "%s", "");
    } else if (base == NULL) {
        ak_table_cell(table, "%s", c->config);
    } else {
        ak_buf_unshared(&changes, c->config, base);
        ak_table_cell(table, "%s%s", changes.length == 0 ? "is the default" : "default but ",
                      changes.data);
    }
}

static bool has_objective(const ak_task *task)
{
    return strcmp(ak_task_objective(task), "time") != 0;
}

/* The input of a comparison's table. */
typedef struct compared_rows {
    const ak_compared *list;
    size_t count, reference;
    const char *base; /* the default configuration; NULL: not known */
    bool bytes;       /* GB/s instead of TFLOP/s */
    const ak_task *task;
} compared_rows;

/* Sets *out to the text of a task's default configuration, which the caller frees with ak_free, or
   to NULL if memory is out. */
static void default_text(char **out, const ak_task *task)
{
    ak_config fallback;
    *out = NULL;
    ak_space_default(&fallback, ak_task_space(task));
    (void)ak_config_text(out, ak_task_space(task), &fallback, NULL);
}

static void add_row(ak_table *table, ak_roofline_notes *notes, const compared_rows *rows,
                    const ak_compared *c)
{
    char a[AK_NUMBER_BYTES];
    const ak_task *task = rows->task;
    name_cell(table, rows->list, rows->count, c);
    if (has_objective(task)) {
        double low = ak_task_objective_value(task, c->cost_low);
        double high = ak_task_objective_value(task, c->cost_high);
        ak_table_cell(table, "%s", ak_show_real(a, ak_task_objective_value(task, c->cost)));
        ak_table_cell(table, "%s",
                      ak_show_interval(a, low < high ? low : high, low < high ? high : low));
    }
    ak_table_cell(table, "%s", ak_show_real(a, c->median_ms));
    ak_table_cell(table, "%s", ak_show_interval(a, c->ci_low_ms, c->ci_high_ms));
    ak_table_cell(table, "%s", ak_show_real(a, rows->bytes ? c->gbs : c->tflops));
    ak_roofline_cell(table, notes, c->efficiency, rows->bytes);
    speed_cells(table, c, c == &rows->list[rows->reference]);
    AK_FREED char *base = NULL;
    if (c->task != NULL) {
        default_text(&base, c->task);
    }
    below_cell(table, c, c->task != NULL ? base : rows->base);
}

/* Adds the configurations by rank, then those that failed, then the libraries. */
static void add_rows(ak_table *table, ak_roofline_notes *notes, const compared_rows *rows)
{
    const ak_compared *list = rows->list;
    const size_t count = rows->count;
    for (size_t rank = 1; rank <= count; rank++) {
        for (size_t i = 0; i < count; i++) {
            if (rank_of(list, count, &list[i]) == rank) {
                add_row(table, notes, rows, &list[i]);
            }
        }
    }
    for (int libraries = 0; libraries < 2; libraries++) {
        for (size_t i = 0; i < count; i++) {
            bool library = list[i].config == NULL;
            if (rank_of(list, count, &list[i]) == 0 && library == (libraries == 1)) {
                add_row(table, notes, rows, &list[i]);
            }
        }
    }
}

/* If a speed differs from the ratio of the times beside it, explains why. */
static void print_paired(const ak_compared *list, size_t count, size_t reference)
{
    bool apart = false;
    const double base = reference < count ? list[reference].median_ms : 0; /* none if nothing ran */
    for (size_t i = 0; base > 0 && i < count; i++) {
        double of_times = list[i].median_ms > 0 ? base / list[i].median_ms : 0;
        apart = apart || (of_times > 0 && list[i].ratio > 0 &&
                          fabs(of_times / list[i].ratio - 1) > PAIRED_APART);
    }
    if (apart) {
        ak_out("speed compares times of the same round, so it can differ from the ratio of the "
               "times in ms, which are medians of all rounds\n");
    }
}

void ak_compared_print(const ak_compared *list, size_t count, size_t reference,
                       const ak_placement *placement, const ak_task *task)
{
    char *base;
    default_text(&base, task);
    ak_table table;
    bool bytes = placement->memory_bound;
    char value[AK_OBJECTIVE_NAME_BYTES + 32];
    const char *unit = ak_task_objective_unit(task);
    (void)snprintf(value, sizeof value, ">%s%s%s", ak_task_objective(task), unit[0] == 0 ? "" : " ",
                   unit);
    if (has_objective(task)) {
        ak_table_begin(&table, "measured", value, "95 % interval", ">ms", "95 % interval",
                       bytes ? ">GB/s" : ">TFLOP/s", ">roofline", ">gain", "95 % interval",
                       "_what it changes", NULL);
    } else {
        ak_table_begin(&table, "measured", ">ms", "95 % interval", bytes ? ">GB/s" : ">TFLOP/s",
                       ">roofline", ">speed", "95 % interval", "_what it changes", NULL);
    }
    const compared_rows rows = {list, count, reference, base, bytes, task};
    ak_roofline_notes notes = {0};
    add_rows(&table, &notes, &rows);
    ak_table_print(&table);
    ak_roofline_say(&notes);
    ak_free(base);
    for (size_t i = 0; i < count; i++) {
        if (list[i].version != NULL && strlen(list[i].version) > AK_VERSION_BESIDE) {
            ak_out("%s: %s\n", list[i].name, list[i].version);
        }
    }
    if (has_objective(task)) {
        ak_out("gain compares the %s of the same rounds; more is better\n",
               ak_task_objective(task));
    } else {
        print_paired(list, count, reference);
    }
    print_doubts(list, count);
    print_overlap(list, count);
    print_conditions(list, count);
}

void ak_summary_print(const ak_comparison *comparison)
{
    if (comparison->summary != NULL) {
        ak_out("\n%s: %s\n", comparison->candidates[comparison->count - 1].name,
               comparison->summary);
    }
    for (size_t i = 0; i < comparison->warning_count; i++) {
        ak_out("warning: %s\n", comparison->warnings[i]);
    }
}
