/* warning.h: what makes a comparison less sure than its intervals say. */
#ifndef AK_TUNER_WARNING_H
#define AK_TUNER_WARNING_H

#include "tuner/session.h"

/* Texts that people read; freed by whoever has the result. */
typedef struct ak_warnings {
    char **texts;
    size_t count, capacity;
} ak_warnings;

void ak_warnings_free(ak_warnings *warnings);

/* Contestants whose clocks differ by more than 2 %, or were held back for different reasons: a part
   of what sets them apart is then the device's and not theirs. */
ak_status ak_warn_conditions(ak_warnings *out, const ak_contestant *list, size_t count,
                             ak_error *err);
/* A library that is far slower than it was a while ago on the same device: the machine was busy,
   and a speed-up against it would be no merit. `before_ms` 0: not known. */
ak_status ak_warn_slower(ak_warnings *out, const ak_contestant *library, double before_ms,
                         ak_error *err);

#endif
