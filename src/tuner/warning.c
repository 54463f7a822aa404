/* warning.c: see warning.h. */
#include "tuner/warning.h"

#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"

#define CLOCK_DIFFERENCE 1.02
/* The survey is short, and a cold cache or a core that wakes up costs some percent. */
#define FAR_SLOWER 1.5
#define TEXT_BYTES 400

void ak_warnings_free(ak_warnings *warnings)
{
    for (size_t i = 0; i < warnings->count; i++) {
        ak_free(warnings->texts[i]);
    }
    ak_free(warnings->texts);
    *warnings = (ak_warnings){0};
}

static ak_status add(ak_warnings *out, ak_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static ak_status add(ak_warnings *out, ak_error *err, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    void *texts = out->texts;
    ak_status status = ak_grow(&texts, &out->capacity, out->count + 1, sizeof *out->texts, err);
    out->texts = texts;
    char *copy = status == AK_OK ? ak_strdup(text) : NULL;
    if (copy == NULL) {
        return status == AK_OK ? ak_fail_memory(err) : status;
    }
    out->texts[out->count++] = copy;
    return AK_OK;
}

static bool clocked(const ak_contestant *c)
{
    return c->median_ms > 0 && c->sm_clock_mhz > 0;
}

ak_status ak_warn_conditions(ak_warnings *out, const ak_contestant *list, size_t count,
                             ak_error *err)
{
    const ak_contestant *slow = NULL, *fast = NULL, *first = NULL, *other = NULL;
    for (size_t i = 0; i < count; i++) {
        const ak_contestant *c = &list[i];
        if (clocked(c)) {
            slow = slow == NULL || c->sm_clock_mhz < slow->sm_clock_mhz ? c : slow;
            fast = fast == NULL || c->sm_clock_mhz > fast->sm_clock_mhz ? c : fast;
        }
        if (c->median_ms > 0 && c->throttle != NULL) {
            first = first == NULL ? c : first;
            other = other == NULL && strcmp(c->throttle, first->throttle) != 0 ? c : other;
        }
    }
    ak_status status = AK_OK;
    if (slow != NULL && fast->sm_clock_mhz > CLOCK_DIFFERENCE * slow->sm_clock_mhz) {
        status =
            add(out, err,
                "the clock differed by %.1f %%: %.0f MHz for %.80s, %.0f MHz for %.80s; compare "
                "their utilisation, which does not depend on it",
                (fast->sm_clock_mhz / slow->sm_clock_mhz - 1) * 100, fast->sm_clock_mhz, fast->name,
                slow->sm_clock_mhz, slow->name);
    }
    if (status == AK_OK && other != NULL) {
        status = add(out, err,
                     "the clock was held back for different reasons: %.60s for %.80s, "
                     "%.60s for %.80s",
                     first->throttle, first->name, other->throttle, other->name);
    }
    return status;
}

ak_status ak_warn_slower(ak_warnings *out, const ak_contestant *library, double before_ms,
                         ak_error *err)
{
    if (before_ms <= 0 || library->median_ms <= FAR_SLOWER * before_ms) {
        return AK_OK;
    }
    return add(out, err,
               "%.80s took %.4g ms in the finish and %.4g ms when the run began: the machine was "
               "busy, and what is said against it is not to be trusted; run it again",
               library->name, library->median_ms, before_ms);
}
