#include "report/page.h"

#include "archive/overview.h"
#include "base/map.h"
#include "base/utf8.h"
#include "report/headline.h"
#include "report/section.h"

/* ---- sections -------------------------------------------------------------------------------- */

static bool append_text(json_t *list, const char *text)
{
    return ak_json_append(list, json_string(ak_or_empty(text)));
}

/* Returns a section as an object, whose "headers" are null if the section holds pairs of a label
   and a text. */
static json_t *section_json(const ak_section *section)
{
    bool pairs = section->headers[0] == NULL, good = true;
    json_t *headers = pairs ? json_null() : json_array();
    json_t *right = json_array(), *below = json_array(), *cells = json_array();
    for (size_t c = 0; good && c < section->columns; c++) {
        good = (pairs || append_text(headers, section->headers[c])) &&
               ak_json_append(right, json_boolean(section->right[c])) &&
               ak_json_append(below, json_boolean(section->below[c]));
    }
    for (size_t i = 0; good && i < section->cell_count; i++) {
        good = append_text(cells, section->cells[i]);
    }
    json_t *object =
        json_pack("{s:s, s:s?, s:o, s:o, s:o, s:o}", "title", section->title, "note", section->note,
                  "headers", headers, "right", right, "below", below, "cells", cells);
    return ak_json_whole(object, good);
}

json_t *ak_page_sections(const ak_sections *sections)
{
    json_t *list = json_array();
    for (size_t i = 0; i < sections->count; i++) {
        ak_json_add(&list, section_json(&sections->items[i]));
    }
    return list;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static ak_status headline_json(json_t **out, const ak_report_model *model, ak_error *err)
{
    AK_AT_END(ak_headline_clear) ak_headline headline = {0};
    AK_DO(ak_headline_of(&headline, model, err));
    json_t *list = json_array();
    for (size_t i = 0; i < headline.count; i++) {
        ak_json_add(&list,
                    json_pack("{s:s, s:s}", "topic", headline.topic[i], "text", headline.text[i]));
    }
    return ak_json_give(out, list, true, err);
}

static json_t *changes_json(const ak_report_model *model)
{
    json_t *list = json_array();
    for (size_t i = 0; i < model->change_count; i++) {
        const ak_report_change *c = &model->changes[i];
        json_t *one =
            json_pack("{s:s, s:s, s:s, s:I, s:o, s:o, s:o}", "parameter", c->name, "from", c->from,
                      "to", c->to, "pairs", (json_int_t)c->pairs, "speed", ak_json_known(c->speed),
                      "least", ak_json_known(c->least), "greatest", ak_json_known(c->greatest));
        ak_json_add(&list, one);
    }
    return list;
}

/* Keeps at most AK_PAGE_FAILURES_MAX kinds of failures, and cuts their reasons; "failure_kinds"
   says how many kinds there were. */
static bool cut_failures(json_t *report)
{
    json_t *list = json_object_get(report, "failures");
    size_t count = json_array_size(list);
    while (json_array_size(list) > AK_PAGE_FAILURES_MAX) {
        (void)json_array_remove(list, json_array_size(list) - 1);
    }
    AK_EACH(one, list) {
        const char *reason = ak_json_text_at(one, "reason");
        const size_t length = ak_utf8_cut(reason, AK_PAGE_REASON_BYTES_MAX);
        if (reason[length] != 0 && !ak_json_set(one, "reason", json_stringn(reason, length))) {
            return false;
        }
    }
    return ak_json_set_count(report, "failure_kinds", count);
}

/* Returns the index of `text` in `texts`, and adds it there if it is new. Returns JSON's null if
   `text` is NULL or would exceed the limit of bytes, and NULL if memory ran out. */
static json_t *keep_text(json_t *texts, ak_map *at, size_t *bytes, const char *text)
{
    size_t index = json_array_size(texts);
    if (text == NULL) {
        return json_null();
    }
    if (ak_map_get(&index, at, text)) {
        return json_integer((json_int_t)index);
    }
    if (*bytes + strlen(text) > AK_PAGE_TALK_BYTES_MAX) {
        return json_null();
    }
    *bytes += strlen(text);
    bool good = append_text(texts, text) && ak_map_put(at, text, index, NULL) == AK_OK;
    return good ? json_integer((json_int_t)index) : NULL;
}

/* Returns the conversation with each text once, in "texts"; in place of a text, a call has its
   index there, or null. */
static json_t *talk_json(const json_t *conversation)
{
    static const char *const keys[] = {"reply", "state", "system", "brief"};
    size_t bytes = 0;
    json_t *talk = json_deep_copy(conversation);
    json_auto_t *texts = json_array();
    AK_AT_END(ak_map_free_at) ak_map *at = ak_map_new();
    bool good = talk != NULL && texts != NULL && at != NULL;
    for (size_t k = 0; good && k < AK_COUNT(keys); k++) {
        AK_EACH(call, json_object_get(talk, "calls")) {
            const char *text = ak_json_text_or_null(call, keys[k]);
            good = good && ak_json_set(call, keys[k], keep_text(texts, at, &bytes, text));
        }
    }
    good = good && ak_json_set(talk, "texts", json_incref(texts));
    return ak_json_whole(talk, good);
}

ak_status ak_page_object(json_t **out, const ak_report_model *model, ak_error *err)
{
    AK_AT_END(ak_sections_clear) ak_sections sections = {0};
    json_auto_t *headline = NULL;
    json_auto_t *report = ak_report_object(model);
    AK_DO(ak_stored(report != NULL && cut_failures(report), err));
    AK_DO(headline_json(&headline, model, err));
    AK_DO(ak_sections_build(&sections, model, err));
    *out = json_pack("{s:i, s:s, s:O, s:O, s:o, s:s?, s:o, s:o, s:O?, s:o}", "schema", 1, "kind",
                     "run", "headline", headline, "report", report, "changes", changes_json(model),
                     "default", model->default_config, "trials", ak_page_trials(model), "talk",
                     model->conversation == NULL ? json_null() : talk_json(model->conversation),
                     "worth", model->worth, "sections", ak_page_sections(&sections));
    return ak_made(*out, err);
}

ak_status ak_study_object(json_t **out, const char *kind, const char *ended, const char *json,
                          ak_error *err)
{
    json_t *result = NULL;
    AK_DO(ak_json_parse_text(&result, json, kind, err));
    *out = json_pack("{s:i, s:s, s:s?, s:s, s:o}", "schema", 1, "kind", kind, "ended", ended,
                     "autokernel", AK_VERSION, "result", result);
    return ak_made(*out, err);
}

ak_status ak_study_page(char **out, const char *kind, const char *json, ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(AK_REPORT_BYTES_MAX);
    json_auto_t *page = NULL;
    AK_FAIL_IF(strcmp(kind, AK_STUDY) != 0 && strcmp(kind, AK_SIMULATION) != 0, err, AK_INVALID,
               "a result of a study has the kind study or simulate");
    AK_DO(ak_study_object(&page, kind, NULL, json, err));
    AK_DO(ak_page_print(
        &text, strcmp(kind, AK_STUDY) == 0 ? "autokernel: study" : "autokernel: simulation", page,
        err));
    return ak_buf_take(out, &text, err);
}
