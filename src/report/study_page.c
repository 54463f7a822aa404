/* study_page.c: makes the page of a study or of simulations. */
#include "report/page.h"

#include "archive/overview.h"

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
