/* first_look.c: measures the libraries briefly before the search, so that the progress of the
   search can be compared with them and the search can stop at a target. The reported figures of the
   libraries come from the finish. */

#include "tuner/run.h"

/* Seconds of interleaved measuring for each library. */
#define SURVEY_SECONDS 0.25

ak_status ak_tuning_first_look(ak_tuning *r, ak_error *err)
{
    ak_comparison_candidate candidates[AK_LIBRARIES_MAX];
    const char *names[AK_LIBRARIES_MAX];
    size_t count = ak_session_libraries(candidates, names, &r->session, AK_LIBRARIES_MAX);
    if (r->session.baseline_count > 0) {
        ak_tuning_announce_phase(r, "survey");
    }
    if (count == 0) {
        return AK_OK;
    }
    ak_comparison_spec spec = {.candidates = candidates,
                               .names = names,
                               .count = count,
                               .fallback = count,
                               .seconds = SURVEY_SECONDS * (double)count};
    AK_AT_END(ak_comparison_result_clear) ak_comparison_result comparison = {0};
    ak_status status = ak_session_comparison(&comparison, &r->session, &spec, err);
    if (status != AK_OK) { /* a cancelled run ends like one that is cancelled in its search */
        return status == AK_CANCELLED ? AK_OK : status;
    }
    for (size_t i = 0; i < count; i++) {
        r->survey_ms[i] = comparison.list[i].median_ms;
        ak_tuning_announce_library(r, &comparison.list[i]);
    }
    if (comparison.library < count) {
        r->library_ms = comparison.list[comparison.library].median_ms;
        r->library_cost = ak_compared_cost(&comparison.list[comparison.library]);
        r->advisor.options.library = names[comparison.library];
        r->advisor.options.library_ms = r->library_cost;
    }
    return AK_OK;
}
