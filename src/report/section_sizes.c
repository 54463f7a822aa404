/* section_sizes.c: adds the result of a run over many sizes, which tuner/sizes_json.c has written:
   which configuration each size gets, how much slower (or worse by the objective) it is there than
   the size's winner, and how much slower the winners are at other sizes. */

#include "archive/config_text.h"
#include "formats/format.h"
#include "report/headline.h"
#include "report/section_builder.h"

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = ak_json_text_or_null(object, key);
    return text == NULL ? "-" : text;
}

/* Returns whether the sizes were compared by their times. */
static bool timed(const json_t *result)
{
    const char *objective = ak_json_text_or_null(result, "objective");
    return objective == NULL || strcmp(objective, "time") == 0;
}

/* Returns words for a tie or an undecided verdict; "" for others. */
static const char *verdict_words(const char *verdict)
{
    return strcmp(verdict, "undecided") == 0 ? " (not decided)"
           : strcmp(verdict, "tie") == 0     ? " (tie)"
                                             : "";
}

/* Adds a ratio of times or costs as a loss: "3.1 %" for 1.031; "-" if it is not known. */
static void loss_cell(ak_section_builder *b, const json_t *object, const char *key)
{
    double loss = ak_json_number_at(object, key);
    ak_section_cell_if(b, loss > 0, "%.1f %%%s", (loss - 1) * 100,
                       verdict_words(text_of(object, "loss_verdict")));
}

/* Adds a cell with a number of sizes; "-" for none. */
static void sizes_cell(ak_section_builder *b, const json_t *object, const char *key)
{
    const double count = ak_json_positive_at(object, key);
    ak_section_cell_if(b, count > 0, "%.0f size%s", count, ak_plural((size_t)count));
}

/* Says how much slower, or worse by the objective, the table is than tuning each size, and for how
   many sizes that was not decided. */
static void note_loss(ak_section_builder *b, const json_t *result, const json_t *table)
{
    AK_AT_END(ak_buf_free) ak_buf note = AK_BUF(AK_SECTION_CELL_BYTES_MAX);
    const ak_sizes_lost lost = ak_sizes_lost_of(result);
    const char *method = strcmp(text_of(table, "method"), "exact") == 0
                             ? "the best choice of all"
                             : "chosen greedily, perhaps not the best choice";
    if (lost.geomean > 0) {
        ak_buf_print(
            &note, "%s than tuning each size by %.1f %% (geometric mean), at worst %.1f %%",
            timed(result) ? "Slower" : "Worse", (lost.geomean - 1) * 100, (lost.worst - 1) * 100);
        if (lost.worst_size != NULL) {
            ak_buf_print(&note, " (%s)", lost.worst_size);
        }
        ak_buf_print(&note, "; %s.", method);
    }
    if (lost.open > 0) {
        ak_buf_print(&note, "%sNot decided for %zu size%s.", note.length == 0 ? "" : " ", lost.open,
                     ak_plural(lost.open));
    }
    if (ak_buf_status(&note, NULL) == AK_OK) {
        ak_section_notef(b, "%s", note.data);
    }
}

static void add_table(ak_section_builder *b, const json_t *result, const json_t *table)
{
    const json_t *all = json_object_get(result, "configs");
    const json_t *chosen = json_object_get(table, "configs");
    ak_section_table(b, "Configurations for all sizes", ">#", "configuration", NULL);
    note_loss(b, result, table);
    for (size_t i = 0; i < json_array_size(chosen); i++) {
        json_int_t at = json_integer_value(json_array_get(chosen, i));
        const json_t *config = json_array_get(all, (size_t)at);
        AK_FREED char *text = NULL;
        ak_section_cellf(b, "%zu", i + 1);
        if (json_is_object(config) && b->status == AK_OK) {
            b->status = ak_config_text_from_json(&text, config, NULL, "result", b->err);
        }
        ak_section_cell(b, text == NULL ? "-" : text);
    }
}

static void add_each(ak_section_builder *b, const json_t *result, const json_t *table)
{
    const json_t *sizes = json_object_get(result, "sizes");
    const bool by_time = timed(result);
    if (by_time) {
        ak_section_table(b, "Sizes", "size", ">tuned ms", "library", ">library ms", ">speed",
                         ">gets #", ">loss", "run", NULL);
    } else {
        ak_section_table(b, "Sizes", "size", ">objective", ">tuned ms", "library", ">its value",
                         ">library ms", ">gain", ">gets #", ">loss", "run", NULL);
        b->section->headers[1] = text_of(result, "objective");
    }
    b->section->note = "Speed is that of the size's own winner relative to the library. Loss is "
                       "relative to that winner, measured again beside it.";
    AK_EACH(one, sizes) {
        size_t place = ak_format_place_in(table, json_object_get(one, "config"));
        ak_section_cell(b, text_of(one, "size"));
        if (!by_time) {
            ak_section_figure(b, "%.4g", ak_json_number_at(one, "value"));
        }
        ak_section_value(b, ak_json_number_at(one, "ms"));
        ak_section_cell(b, text_of(one, "library"));
        if (!by_time) {
            ak_section_figure(b, "%.4g", ak_json_number_at(one, "library_value"));
        }
        ak_section_value(b, ak_json_number_at(one, "library_ms"));
        const json_t *over = json_object_get(one, "over_library");
        ak_section_ratio(b, ak_json_number_at(over, "ratio"),
                         verdict_words(text_of(over, "verdict")));
        ak_section_figure(b, "%.0f", (double)place);
        loss_cell(b, one, "loss");
        ak_section_cell(b, text_of(one, "run"));
    }
}

static void add_stability(ak_section_builder *b, const json_t *result)
{
    const json_t *list = json_object_get(result, "stability");
    if (json_array_size(list) == 0) {
        return;
    }
    ak_section_table(b, "Stability of the winners", "the winner of", ">loses", ">at worst", "at",
                     ">not decided at", ">cannot be used at", NULL);
    b->section->note = "What one size's winner would lose if all sizes used it.";
    AK_EACH(one, list) {
        const json_t *winner_of = json_object_get(one, "winner_of");
        AK_AT_END(ak_buf_free) ak_buf names = AK_BUF(AK_SECTION_CELL_BYTES_MAX);
        for (size_t s = 0; s < json_array_size(winner_of); s++) {
            const char *name = json_string_value(json_array_get(winner_of, s));
            ak_buf_print(&names, "%s%s", s == 0 ? "" : "; ", name == NULL ? "-" : name);
        }
        ak_section_cell(b, names.data);
        loss_cell(b, one, "geomean");
        loss_cell(b, one, "worst");
        ak_section_cell(b, text_of(one, "worst_size"));
        sizes_cell(b, one, "undecided");
        sizes_cell(b, one, "unusable");
    }
}

static void add_tradeoff(ak_section_builder *b, const json_t *result)
{
    const json_t *list = json_object_get(result, "tradeoff");
    if (json_array_size(list) == 0) {
        return;
    }
    bool all = true;
    AK_EACH(one, list) {
        all = all && ak_json_positive_at(one, "unusable") <= 0;
    }
    ak_section_table(b, "How many configurations it takes", ">configurations", ">loss", ">at worst",
                     "at", ">not decided at", all ? NULL : ">cannot be used at", NULL);
    b->section->note = "Figures of the measurement that chose them.";
    AK_EACH(one, list) {
        ak_section_figure(b, "%.0f", ak_json_number_at(one, "configs"));
        loss_cell(b, one, "geomean");
        loss_cell(b, one, "worst");
        ak_section_cell(b, text_of(one, "worst_size"));
        sizes_cell(b, one, "undecided");
        if (!all) {
            sizes_cell(b, one, "unusable");
        }
    }
}

void ak_sections_add_sizes(ak_section_builder *b, const ak_report_model *model)
{
    const json_t *table = json_object_get(model->result, "table");
    if (json_is_object(table)) {
        add_table(b, model->result, table);
    }
    add_each(b, model->result, table);
    add_stability(b, model->result);
    add_tradeoff(b, model->result);
}
