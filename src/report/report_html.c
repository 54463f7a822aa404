/*
 * report_html.c: writes a page that stands alone: style, scripts, ECharts and the data in one file,
 * which opens from disk without a network. What a kernel, a compiler or a language model wrote is
 * data, except in the title, which is escaped. The data are JSON in a block that is no script. The
 * character "<" never appears there, and the scripts insert texts from there as text, never as
 * markup. The content security policy names the scripts by their hashes, so no other script can
 * run.
 */
#include "report/page.h"

#include "base/asset.h"
#include "base/base64.h"
#include "base/plain.h"

#define ECHARTS "third_party/echarts/echarts.min.js"

const char *const ak_page_scripts[] = {ECHARTS,
                                       "src/report/page/tools.js",
                                       "src/report/page/table.js",
                                       "src/report/page/charts.js",
                                       "src/report/page/many.js",
                                       "src/report/page/talk.js",
                                       "src/report/page/run.js",
                                       "src/report/page/versus.js",
                                       "src/report/page/study.js",
                                       "src/report/page/page.js",
                                       NULL};

static int digit(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* Writes the hash of an asset in the form of a content security policy: 'sha256-' and base64. */
static void put_hash(ak_buf *out, const char *hex)
{
    unsigned char bytes[32];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(16 * digit(hex[2 * i]) + digit(hex[2 * i + 1]));
    }
    ak_buf_puts(out, " 'sha256-");
    ak_base64_write(out, bytes, sizeof bytes);
    ak_buf_puts(out, "'");
}

static void put_escaped(ak_buf *out, const char *text)
{
    for (; *text != 0; text++) {
        switch (*text) {
        case '<':
            ak_buf_puts(out, "&lt;");
            break;
        case '>':
            ak_buf_puts(out, "&gt;");
            break;
        case '&':
            ak_buf_puts(out, "&amp;");
            break;
        default:
            ak_buf_putc(out, *text);
        }
    }
}

/* Writes JSON without "<". This character occurs only in JSON strings, where its escape is
   equivalent. */
static void put_data(ak_buf *out, const json_t *data)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(AK_REPORT_BYTES_MAX);
    ak_json_print(&text, data, false);
    const char *from = text.data;
    for (const char *at = strchr(from, '<'); at != NULL; at = strchr(from, '<')) {
        ak_buf_append(out, from, (size_t)(at - from));
        ak_buf_puts(out, "\\u003c");
        from = at + 1;
    }
    ak_buf_puts(out, from);
    out->failed = out->failed == AK_OK ? text.failed : out->failed;
}

static void put_policy(ak_buf *out, const ak_asset *style)
{
    ak_buf_puts(out, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "img-src data:; base-uri 'none'; form-action 'none'; script-src");
    for (size_t i = 0; ak_page_scripts[i] != NULL; i++) {
        put_hash(out, ak_asset_find(ak_page_scripts[i])->sha256);
    }
    ak_buf_puts(out, "; style-src");
    put_hash(out, style->sha256);
    ak_buf_puts(out, "\">\n");
}

ak_status ak_page_print(ak_buf *out, const char *title, const json_t *data, ak_error *err)
{
    const ak_asset *style = ak_asset_find(AK_PAGE_STYLE);
    ak_buf_puts(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    put_policy(out, style);
    ak_buf_puts(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    put_escaped(out, title);
    ak_buf_puts(out, "</title>\n<style>");
    ak_buf_append(out, style->data, style->length);
    ak_buf_puts(out, "</style>\n</head>\n<body>\n<main id=\"page\"><noscript>This page needs "
                     "JavaScript to draw; `autokernel report` prints the same as text."
                     "</noscript></main>\n<script type=\"application/json\" id=\"data\">");
    put_data(out, data);
    ak_buf_puts(out, "</script>\n");
    for (size_t i = 0; ak_page_scripts[i] != NULL; i++) {
        const ak_asset *script = ak_asset_find(ak_page_scripts[i]);
        ak_buf_puts(out, "<script>");
        ak_buf_append(out, script->data, script->length);
        ak_buf_puts(out, "</script>\n");
    }
    ak_buf_puts(out, "</body>\n</html>\n");
    return ak_buf_status(out, err);
}

static ak_status render(ak_buf *out, const ak_report_model *model, size_t width, ak_error *err)
{
    (void)width;
    AK_AT_END(ak_buf_free) ak_buf title = AK_BUF(4096);
    json_auto_t *data = NULL;
    AK_DO(ak_page_object(&data, model, err));
    ak_buf_print(&title, "autokernel: %.500s %.500s on %.500s", model->run.kernel, model->run.size,
                 model->run.device);
    if (title.length > 0) {
        ak_plain_line(title.data);
    }
    return ak_page_print(out, title.data, data, err);
}

const ak_report_ops ak_report_html = {.name = "html", .render = render};
