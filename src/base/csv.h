/*
 * csv.h: texts in cells of CSV (RFC 4180).
 *
 * A spreadsheet takes a cell that begins with =, +, - or @ for a formula and runs it, and names and
 * messages come from others. So such a text gets an apostrophe before it, by which spreadsheets
 * know a text; numbers stay as they are. Reading takes the apostrophe away again, so that nothing
 * is lost.
 */
#ifndef AK_BASE_CSV_H
#define AK_BASE_CSV_H

#include "base/buf.h"

/* Appends a text as a cell, quoted where it needs to be. */
void ak_csv_text(ak_buf *out, const char *text);
/* Returns the text of a cell whose quotes are gone, which is in `cell` itself. */
const char *ak_csv_read(const char *cell);

#endif
