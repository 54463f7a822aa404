/* run_report.c: prints the report of a run, of the versions of a kernel, and of two runs side by
   side. */
#include "report/page.h"
#include "report/versions.h"
#include "report/versus.h"

static const ak_report_ops *const formats[] = {
#define X(name) &ak_report_##name,
#include "report/reports.def"
#undef X
};

/* Finds the format and the width in columns that a text such as "text:80" names. Without a number
   the width is AK_REPORT_WIDTH. */
static ak_status find_format(const ak_report_ops **out, size_t *width, const char *format,
                             ak_error *err)
{
#define X(name) " " #name
    static const char known[] =
#include "report/reports.def"
        ;
#undef X
    size_t length = strcspn(format, ":");
    int64_t given = AK_REPORT_WIDTH;
    bool good = format[length] == 0 || (ak_text_int(&given, format + length + 1) && given >= 0);
    *out = NULL;
    for (size_t i = 0; i < AK_COUNT(formats) && good; i++) {
        const char *name = formats[i]->name;
        *out = strlen(name) == length && memcmp(name, format, length) == 0 ? formats[i] : *out;
    }
    *width = (size_t)given;
    AK_FAIL_IF(*out == NULL, err, AK_INVALID,
               "there is no report format \"%.60s\"; the formats are:%s", format, known);
    return AK_OK;
}

static void print_sections(ak_buf *out, const ak_report_ops *ops, const char *title,
                           const ak_sections *sections, size_t width)
{
    if (ops->print_head != NULL) {
        ops->print_head(out, title);
    }
    for (size_t i = 0; i < sections->count; i++) {
        ops->print_section(out, &sections->items[i], width);
    }
}

static ak_status print_run(ak_buf *out, const ak_report_ops *ops, const ak_report_model *model,
                           size_t width, ak_error *err)
{
    AK_AT_END(ak_sections_clear) ak_sections sections = {0};
    AK_DO(ak_sections_build(&sections, model, err));
    /* The title is the kernel's name. The first section has it in its second pair, without control
       characters. */
    print_sections(out, ops, sections.items[0].cells[3], &sections, width);
    return ak_buf_status(out, err);
}

ak_status ak_report(char **out_text, ak_archive *archive, const char *run, const char *format,
                    ak_error *err)
{
    size_t width = 0;
    const ak_report_ops *ops;
    AK_AT_END(ak_report_model_clear) ak_report_model model = {0};
    AK_AT_END(ak_buf_free) ak_buf text_out = AK_BUF(AK_REPORT_BYTES_MAX);
    AK_DO(find_format(&ops, &width, format, err));
    AK_DO(ak_report_gather(&model, archive, run, err));
    AK_DO(ops->render == NULL ? print_run(&text_out, ops, &model, width, err)
                              : ops->render(&text_out, &model, width, err));
    return ak_buf_take(out_text, &text_out, err);
}

/* What was compared, in the forms that the formats print. */
typedef struct comparison {
    const char *title;
    ak_sections sections;
    json_t *object; /* for json and html */
} comparison;

static void comparison_clear(comparison *c)
{
    json_decref(c->object);
    ak_sections_clear(&c->sections);
}

static ak_status print_comparison(char **out_text, const comparison *c, const ak_report_ops *ops,
                                  size_t width, ak_error *err)
{
    char page_title[64];
    AK_AT_END(ak_buf_free) ak_buf out = AK_BUF(AK_REPORT_BYTES_MAX);
    if (ops->render == NULL) {
        print_sections(&out, ops, c->title, &c->sections, width);
    } else if (ops == &ak_report_html) {
        (void)snprintf(page_title, sizeof page_title, "autokernel: %s", c->title);
        AK_DO(ak_page_print(&out, page_title, c->object, err));
    } else {
        ak_json_print(&out, c->object, true);
        ak_buf_putc(&out, '\n');
    }
    return ak_buf_take(out_text, &out, err);
}

ak_status ak_report_versions(char **out_text, ak_archive *archive, const char *run,
                             const char *format, ak_error *err)
{
    size_t width = 0;
    const ak_report_ops *ops;
    AK_AT_END(ak_versions_clear) ak_versions versions = {0};
    AK_AT_END(comparison_clear) comparison c = {.title = "versions of a kernel"};
    AK_DO(find_format(&ops, &width, format, err));
    AK_DO(ak_versions_gather(&versions, archive, run, err));
    AK_DO(ak_versions_sections(&c.sections, &versions, err));
    AK_DO(ak_versions_object(&c.object, &versions, &c.sections, err));
    return print_comparison(out_text, &c, ops, width, err);
}

ak_status ak_report_versus(char **out_text, ak_archive *archive, const char *a, const char *b,
                           const char *format, ak_error *err)
{
    size_t width = 0;
    const ak_report_ops *ops;
    AK_AT_END(ak_versus_clear) ak_versus versus = {0};
    AK_AT_END(comparison_clear) comparison c = {.title = "two runs"};
    AK_DO(find_format(&ops, &width, format, err));
    AK_DO(ak_versus_gather(&versus, archive, a, b, err));
    AK_DO(ak_versus_sections(&c.sections, &versus, err));
    AK_DO(ak_versus_object(&c.object, &versus, &c.sections, err));
    return print_comparison(out_text, &c, ops, width, err);
}

void ak_text_free(char *text_to_free)
{
    ak_free(text_to_free);
}
