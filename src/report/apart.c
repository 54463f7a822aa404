#include "report/apart.h"

#include <math.h>

#include "measure/verdict.h"
#include "archive/finish_order.h"

/* Returns by how much a control may differ from itself, in either direction; 0: there was none. */
static double reach(const ak_speed *control)
{
    return control->ratio > 0
               ? fmax(ak_verdict_deviation(control->low), ak_verdict_deviation(control->high))
               : 0;
}

ak_speed ak_apart_speed(const ak_apart *before, const ak_apart *after)
{
    ak_speed s = {0};
    if (!(before->ms > 0 && after->ms > 0)) {
        return s;
    }
    s.ratio = before->ms / after->ms;
    if (!(before->low_ms > 0 && before->high_ms > before->low_ms && after->low_ms > 0 &&
          after->high_ms > after->low_ms)) {
        return s;
    }
    s.low = before->low_ms / after->high_ms;
    s.high = before->high_ms / after->low_ms;
    const ak_speed of_before = ak_speed_read(json_object_get(before->noise, "control")),
                   of_after = ak_speed_read(json_object_get(after->noise, "control"));
    ak_speed_judge(&s, reach(&of_before) > reach(&of_after) ? &of_before : &of_after,
                   ak_noise_is_clean(before->noise) && ak_noise_is_clean(after->noise));
    return s;
}
