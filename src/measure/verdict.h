/*
 * verdict.h: decides whether one candidate is faster than another or the difference is noise.
 *
 * The times of a comparison come in rounds, with a batch of each candidate, and rounds come in
 * groups. Disturbances of a machine last longer than a round, and two processes with the same code
 * can differ by some per cent all their lives, depending on where their pages lie; so rounds are
 * not independent of each other. Groups are nearly independent: each begins with new processes
 * where that is possible. So the ratio of two candidates is computed by batch means (Law and
 * Kelton, Simulation Modeling and Analysis, section 9.5.3): the logarithm of the ratio in each
 * round, the median over the rounds of each group, and the mean over the groups. From six groups on
 * the mean is trimmed, so that one bad group cannot spoil it. The interval is that of Tukey and
 * McLaughlin (Sankhya A 25, 1963; Student's t, Winsorised variance).
 *
 * A comparison with a control also measures its own error: one candidate takes part twice, and the
 * ratio of its two times shows by how much identical code differs in this comparison.
 */
#ifndef AK_MEASURE_VERDICT_H
#define AK_MEASURE_VERDICT_H

#include "measure/stats.h"
#include "base/status.h"

/* An interval that reaches within this factor of 1, or within the control's deviation from 1 if
   that is larger, is a tie, unless the ratio is undecided (AK_VERDICT_WIDEST): between runs
   identical code differs by up to this factor, even if no single run shows a difference
   (docs/BENCHMARKS.md, "A/A study"). */
#define AK_VERDICT_LEAST 1.01
/* If the ends of the candidate's interval, or of the control's, have a larger ratio, the verdict is
   undecided. If the control differs from itself by more than this factor, a candidate within that
   deviation is undecided, not a tie. */
#define AK_VERDICT_WIDEST 1.2
/* A batch is disturbed if a thread waited for a processor for more than this part of it. */
#define AK_VERDICT_DISTURBED 0.02
/* A machine is busy if the pressure (pressure.h) is above the first value, or if it is above the
   second and more than a quarter of the rounds were disturbed. At the lower pressure both are
   required because work on a separate device, such as a GPU, suffers less from a busy processor. */
#define AK_VERDICT_BUSY_ALONE 0.5
#define AK_VERDICT_BUSY       0.1

/* Computes the ratio of two candidates' times or, under another objective, of their costs;
   numerator[i] and denominator[i] belong to the same round, which is left out if one of them is 0
   (not measured). `group` rounds make a group; the last group may be shorter. With fewer rounds
   than three groups have, and if `group` is 0, each round is a group. Rounds for which `disturbed`
   is true are left out if all groups have undisturbed rounds, or at least four groups and half of
   all groups have some; NULL: none was disturbed. Returns false if too few groups have undisturbed
   rounds (one in which nothing was measured counts as a group without any), in which case
   disturbed rounds count as well, or if there is no memory. out->count is the number of groups that
   were measured; if there are fewer than two, it is 0 and all other members are NaN. */
bool ak_verdict_ratio(ak_stats *out, const double *numerator, const double *denominator,
                      const bool *disturbed, size_t count, size_t group);

/* Decides by the interval of the ratio between two candidates, above 1 if the judged one is faster,
   and by the ratio of the control to itself; `control` is NULL if there was no control. Every
   verdict comes from here. A difference that is beyond the control's ratio, but not beyond its
   interval, is undecided: identical code may differ by as much. If the rounds were not `clean`
   (ak_verdict_ratio returned false), the result is a tie or undecided: a scheduler can favour one
   of two processes with the same code for all their lives (docs/BENCHMARKS.md, "A/A study"). A
   ratio that was the same in all rounds, such as one of code sizes, is decided all the same. *out
   is the reason if the verdict is undecided, else AK_DOUBT_NONE. */
ak_speed_verdict ak_verdict_doubt(ak_speed_doubt *out, const ak_stats *ratio,
                                  const ak_stats *control, bool clean);
/* Returns true if an interval is narrow enough (AK_VERDICT_WIDEST) to decide anything. */
bool ak_verdict_decides(double low, double high);
/* Returns true if the machine was busy (AK_VERDICT_BUSY). */
bool ak_verdict_busy(const ak_noise *noise);
/* Returns how far a ratio is from 1 in either direction: 0.02 for 1.02 and for 1/1.02. */
double ak_verdict_deviation(double ratio);

#endif
