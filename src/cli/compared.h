/* compared.h: prints the candidates and libraries of one comparison. */
#ifndef AK_CLI_COMPARED_H
#define AK_CLI_COMPARED_H

#include "cli/table.h"

/* Limit on the bytes of a library's version that is printed beside its name. Longer versions follow
   the table. */
#define AK_VERSION_BESIDE 32

/* Prints a row for each candidate. A configuration that worked has its rank and, below its row,
   what it changes from the default; a candidate that failed has no rank, and the reason below its
   row. Doubts and conditions of the measurement follow the table. `reference` is the index of the
   candidate that speeds are relative to, as in ak_comparison. `placement` decides whether TFLOP/s
   or GB/s are shown. */
void ak_compared_print(const ak_compared *list, size_t count, size_t reference,
                       const ak_placement *placement, const ak_task *task);
/* Returns "  tie", "  not decided" or "". */
const char *ak_verdict_word(ak_speed_verdict verdict);
/* Writes and returns "  tie", "  not decided: REASON", or "". */
#define AK_VERDICT_WORDS 48
const char *ak_verdict_words(char out[AK_VERDICT_WORDS], const ak_compared *c);
/* Prints the summary and the warnings of a comparison. */
void ak_summary_print(const ak_comparison *comparison);

#endif
