/* section_importance.c: adds parameter importance, and which values were tried. */
#include "report/section_builder.h"

#include "base/number.h"

static void add_shares(ak_section_builder *b, const ak_importance *importance)
{
    ak_section_table(b, "Parameter importance", "parameter", ">alone", ">with its pairs", NULL);
    ak_section_notef(
        b,
        "Shares of the variance of log time. The model explains %.0f %% of it on trials "
        "that it did not learn from (out-of-bag R2 %.2f, %zu trials).",
        importance->r2 * 100, importance->r2, importance->learned);
    for (size_t i = 0; i < importance->parameter_count; i++) {
        const ak_importance_parameter *p = &importance->parameters[i];
        if (p->value_count > 1) {
            ak_section_cell(b, p->name);
            ak_section_cellf(b, "%.1f %%", p->share * 100);
            ak_section_cellf(b, "%.1f %%", p->shared * 100);
        }
    }
}

static void add_pairs(ak_section_builder *b, const ak_importance *importance)
{
    if (importance->pair_count == 0) {
        return;
    }
    ak_section_table(b, "Strongest pairs", "pair", ">share", NULL);
    b->section->note = "The shares of what two parameters do together beyond what each does alone.";
    for (size_t i = 0; i < importance->pair_count; i++) {
        const ak_importance_pair *pair = &importance->pairs[i];
        ak_section_cellf(b, "%s with %s", importance->parameters[pair->a].name,
                         importance->parameters[pair->b].name);
        ak_section_cellf(b, "%.1f %%", pair->share * 100);
    }
}

static void add_region(ak_section_builder *b, const char *label, const ak_importance_region *region)
{
    if (region->text == NULL) {
        ak_section_pair(b, label, "nothing stands out");
        return;
    }
    char times[AK_REAL_BYTES];
    bool faster = region->ratio > 1;
    ak_section_pairf(b, label, "%s: median %sx %s than the rest, %zu trial%s", region->text,
                     ak_number_short(times, faster ? region->ratio : 1 / region->ratio, 2),
                     faster ? "faster" : "slower", region->trials, ak_plural(region->trials));
}

static void add_coverage(ak_section_builder *b, const ak_importance *importance)
{
    if (importance->parameter_count == 0) {
        return;
    }
    ak_section_table(b, "Values tried", "parameter", "values", NULL);
    b->section->note =
        "Each value is shown with its number of trials and, if some failed, how many worked.";
    for (size_t i = 0; i < importance->parameter_count; i++) {
        const ak_importance_parameter *p = &importance->parameters[i];
        AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(AK_SECTION_CELL_BYTES_MAX);
        for (size_t v = 0; v < p->value_count; v++) {
            const ak_importance_value *value = &p->values[v];
            ak_buf_print(&text, "%s%s (%zu", v == 0 ? "" : ", ", value->text, value->tried);
            if (value->ok < value->tried) {
                ak_buf_print(&text, ", %zu ok", value->ok);
            }
            ak_buf_putc(&text, ')');
        }
        ak_section_cell(b, p->name);
        ak_section_cell(b, text.failed == AK_LIMIT ? "(too many to show)" : text.data);
    }
}

void ak_sections_add_importance(ak_section_builder *b, const ak_report_model *model)
{
    const ak_importance *importance = &model->importance;
    if (model->count == 0) {
        return;
    }
    if (importance->why == NULL) {
        add_shares(b, importance);
        add_pairs(b, importance);
        ak_section_begin(b, "Where it is fast and slow");
        add_region(b, "fastest", &importance->best);
        add_region(b, "slowest", &importance->worst);
    } else {
        ak_section_begin(b, "Parameter importance");
        ak_section_pairf(b, "shares", "%s (%zu successful)", importance->why, importance->trials);
    }
    add_coverage(b, importance);
}
