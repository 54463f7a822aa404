/*
 * picture.h: draws pictures of a run in characters, for reports that are text. Pictures are at most
 * AK_PICTURE_WIDTH columns wide and plain: no colours, no escape sequences. A picture that has
 * nothing to show stays empty.
 */
#ifndef AK_REPORT_PICTURE_H
#define AK_REPORT_PICTURE_H

#include "report/report.h"

#define AK_PICTURE_WIDTH     76
#define AK_PICTURE_BYTES_MAX (16u << 10)

/* Draws the best so far over the evaluations as one line: the time at the start, a block for every
   few evaluations, the time at the end. The height of a block is the speed on a logarithmic
   scale. */
void ak_picture_convergence(ak_buf *out, const ak_report_model *model);
/* Draws the roofline on logarithmic scales with the configurations, the libraries and the best. For
   a kernel without arithmetic, it draws a bar of the bandwidth. */
void ak_picture_roofline(ak_buf *out, const ak_report_model *model);

#endif
