/* section_words.c: adds what a run found, in sentences, and how its best differs from the
   default. */
#include "base/number.h"
#include "report/headline.h"
#include "report/section_builder.h"

void ak_sections_add_words(ak_section_builder *b, const ak_report_model *model)
{
    AK_AT_END(ak_headline_clear) ak_headline headline = {0};
    if (b->status != AK_OK) {
        return;
    }
    b->status = ak_headline_of(&headline, model, b->err);
    if (b->status != AK_OK || headline.count == 0) {
        return;
    }
    ak_section_begin(b, "In words");
    for (size_t i = 0; i < headline.count; i++) {
        ak_section_pair(b, headline.topic[i], headline.text[i]);
    }
}

void ak_sections_add_changes(ak_section_builder *b, const ak_report_model *model)
{
    if (model->change_count == 0) {
        return;
    }
    ak_section_table(b, "What the best changes", "parameter", "default", "best", ">times as fast",
                     ">interval", ">pairs", NULL);
    b->section->note =
        "Of every two configurations that differ in this parameter alone: the median "
        "ratio of their times, and what the intervals leave open.";
    for (size_t i = 0; i < model->change_count; i++) {
        const ak_report_change *change = &model->changes[i];
        ak_section_cell(b, change->name);
        ak_section_cell(b, change->from);
        ak_section_cell(b, change->to);
        char least[AK_REAL_BYTES], greatest[AK_REAL_BYTES];
        ak_section_ratio(b, change->speed, "");
        ak_section_cell_if(b, change->pairs > 0 && change->greatest > change->least, "%s .. %s%s",
                           ak_number_ratio(least, change->least),
                           ak_number_ratio(greatest, change->greatest),
                           ak_report_change_is_open(change) ? ", not decided" : "");
        ak_section_cellf(b, "%zu", change->pairs);
    }
}
