/*
 * page.h: makes the data of a page in a browser. The C side writes one JSON object, whose members
 * docs/formats.md lists. The scripts in report/page/ draw it, both in a file that stands alone
 * (report_html.c) and from a server (serve/).
 */
#ifndef AK_REPORT_PAGE_H
#define AK_REPORT_PAGE_H

#include "report/report.h"

/* A page shows at most this many trials. If a run has more, these are the AK_PAGE_FAST_MIN best by
   the objective, those that were better than all before them, and every nth of the others. */
#define AK_PAGE_TRIALS_MAX 20000
#define AK_PAGE_FAST_MIN   2000
/* Limits on the kinds of failures, and on the bytes of a message, that are shown. */
#define AK_PAGE_FAILURES_MAX     100
#define AK_PAGE_REASON_BYTES_MAX 4000
/* Limit on the bytes of all prompts and replies; `autokernel llm show` prints all of them. */
#define AK_PAGE_TALK_BYTES_MAX (1536u << 10)

ak_status ak_page_object(json_t **out, const ak_report_model *model, ak_error *err);
/* Returns the trials as columns, each an array; a column in which nothing is known is left out.
   This function and the next one return NULL if memory ran out. */
json_t *ak_page_trials(const ak_report_model *model);

struct ak_sections; /* section.h */

/* Returns sections as an array of objects. */
json_t *ak_page_sections(const struct ak_sections *sections);

/* Gives the data for the page of a study or a simulation from its result, `json`. `kind` is one of
   those in archive/overview.h; `ended` is the time of its end, or NULL. */
ak_status ak_study_object(json_t **out, const char *kind, const char *ended, const char *json,
                          ak_error *err);

/* The scripts of a page, in the order in which they are loaded, with NULL at the end; and the
   style. */
extern const char *const ak_page_scripts[];
#define AK_PAGE_STYLE "src/report/page/page.css"

/* Prints a whole page that needs no network. It contains `data`, and its content security policy
   allows only its own scripts to run. */
ak_status ak_page_print(ak_buf *out, const char *title, const json_t *data, ak_error *err);

#endif
