/*
 * csv.h: writes texts as cells of CSV (RFC 4180), and reads them back.
 *
 * A spreadsheet takes a cell that begins with =, +, - or @ for a formula and runs it, and the names
 * and messages in our tables may come from strangers. A text that begins with one of these or with
 * a tab, perhaps after apostrophes, is therefore written with a leading apostrophe, which marks a
 * text in spreadsheets; numbers, and "-" alone, stay as they are. Reading removes the apostrophe.
 */
#ifndef AK_BASE_CSV_H
#define AK_BASE_CSV_H

#include "base/buf.h"

/* Appends a text as a cell, quoted if necessary. Control characters except line breaks and tabs are
   replaced, because a terminal may show the table. */
void ak_csv_text(ak_buf *out, const char *text);
/* Returns the text in a cell that is given without its quotes. The result points into `cell`. */
const char *ak_csv_read(const char *cell);

#endif
