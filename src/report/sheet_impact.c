/* sheet_impact.c: what makes the difference, and what was tried. */
#include "report/sheet_builder.h"

#include "base/alloc.h"

static void add_shares(ak_sheet_builder *b, const ak_impact *impact)
{
    ak_sheet_begin(b, "What makes the difference", 3);
    ak_sheet_notef(b,
                   "Shares of the variance of log time. The model explains %.0f %% of it on trials "
                   "that it did not learn from (out-of-bag R2 %.2f, %zu trials).",
                   impact->r2 * 100, impact->r2, impact->learned);
    ak_sheet_column(b, 0, "parameter", false);
    ak_sheet_column(b, 1, "by itself", true);
    ak_sheet_column(b, 2, "with its pairs", true);
    for (size_t i = 0; i < impact->parameter_count; i++) {
        const ak_impact_parameter *p = &impact->parameters[i];
        if (p->value_count > 1) {
            ak_sheet_cell(b, p->name);
            ak_sheet_cellf(b, "%.1f %%", p->share * 100);
            ak_sheet_cellf(b, "%.1f %%", p->shared * 100);
        }
    }
}

static void add_pairs(ak_sheet_builder *b, const ak_impact *impact)
{
    if (impact->pair_count == 0) {
        return;
    }
    ak_sheet_begin(b, "Strongest pairs", 2);
    b->sheet->note = "What two parameters do together beyond what each does by itself.";
    ak_sheet_column(b, 0, "pair", false);
    ak_sheet_column(b, 1, "share", true);
    for (size_t i = 0; i < impact->pair_count; i++) {
        const ak_impact_pair *pair = &impact->pairs[i];
        ak_sheet_cellf(b, "%s with %s", impact->parameters[pair->a].name,
                       impact->parameters[pair->b].name);
        ak_sheet_cellf(b, "%.1f %%", pair->share * 100);
    }
}

static void add_region(ak_sheet_builder *b, const char *label, const ak_impact_region *region)
{
    if (region->text == NULL) {
        ak_sheet_pair(b, label, "nothing stands out");
        return;
    }
    bool faster = region->ratio > 1;
    ak_sheet_pairf(b, label, "%s: median %.2gx %s than the rest, %zu trials", region->text,
                   faster ? region->ratio : 1 / region->ratio, faster ? "faster" : "slower",
                   region->trials);
}

static void add_coverage(ak_sheet_builder *b, const ak_impact *impact)
{
    if (impact->parameter_count == 0) {
        return;
    }
    ak_sheet_begin(b, "What was tried", 2);
    b->sheet->note =
        "Each value with the number of trials and, where some failed, how many worked.";
    ak_sheet_column(b, 0, "parameter", false);
    ak_sheet_column(b, 1, "values", false);
    for (size_t i = 0; i < impact->parameter_count; i++) {
        const ak_impact_parameter *p = &impact->parameters[i];
        ak_buf text = AK_BUF(AK_SHEET_CELL_BYTES_MAX);
        for (size_t v = 0; v < p->value_count; v++) {
            const ak_impact_value *value = &p->values[v];
            ak_buf_print(&text, "%s%s (%zu", v == 0 ? "" : ", ", value->text, value->tried);
            if (value->ok < value->tried) {
                ak_buf_print(&text, ", %zu ok", value->ok);
            }
            ak_buf_putc(&text, ')');
        }
        ak_sheet_cell(b, p->name);
        ak_sheet_cell(b, text.failed == AK_LIMIT ? "(too many to show)" : text.data);
        ak_buf_free(&text);
    }
}

void ak_sheets_add_impact(ak_sheet_builder *b, const ak_report_model *model)
{
    const ak_impact *impact = &model->impact;
    if (model->count == 0) {
        return;
    }
    if (impact->why == NULL) {
        add_shares(b, impact);
        add_pairs(b, impact);
        ak_sheet_begin(b, "Where it is fast and slow", 2);
        add_region(b, "fastest", &impact->best);
        add_region(b, "slowest", &impact->worst);
    } else {
        ak_sheet_begin(b, "What makes the difference", 2);
        ak_sheet_pairf(b, "shares", "%s (%zu successful)", impact->why, impact->trials);
    }
    add_coverage(b, impact);
}
