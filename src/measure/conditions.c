#include "measure/conditions.h"

#include "base/alloc.h"

/* Moves a mean towards another by `weight`. If both are equal, the mean keeps its exact value. */
static void mix(double *to, double more, double weight)
{
    *to += (more - *to) * weight;
}

void ak_conditions_add(ak_conditions *to, const ak_conditions *more)
{
    if (more->samples == 0) {
        return;
    }
    double weight = (double)more->samples / ((double)to->samples + (double)more->samples);
    mix(&to->sm_clock_mhz, more->sm_clock_mhz, weight);
    mix(&to->memory_clock_mhz, more->memory_clock_mhz, weight);
    mix(&to->power_watts, more->power_watts, weight);
    mix(&to->temperature_celsius, more->temperature_celsius, weight);
    to->throttle |= more->throttle;
    to->samples += more->samples;
}

void ak_throttle_text(char out[AK_THROTTLE_BYTES], uint32_t reasons)
{
    static const struct {
        uint32_t bit;
        const char *word;
    } words[] = {
#define WORD(name, bit, word) {bit, word},
        AK_THROTTLE_MAP(WORD)
#undef WORD
    };
    size_t used = 0;
    uint32_t left = reasons & ~(uint32_t)AK_THROTTLE_IDLE;
    out[0] = 0;
    for (size_t i = 0; i < AK_COUNT(words); i++) {
        if ((left & words[i].bit) != 0) {
            used += (size_t)snprintf(out + used, AK_THROTTLE_BYTES - used, "%s%s",
                                     used == 0 ? "" : ",", words[i].word);
            left &= ~words[i].bit;
        }
    }
    if (left != 0 || used == 0) {
        (void)snprintf(out + used, AK_THROTTLE_BYTES - used, "%s%s", used == 0 ? "" : ",",
                       left != 0 ? "other" : "none");
    }
}

ak_status ak_conditions_to_trial(ak_trial *out, const ak_conditions *conditions, ak_error *err)
{
    char throttle[AK_THROTTLE_BYTES];
    if (conditions->samples == 0) {
        return AK_OK;
    }
    out->sm_clock_mhz = conditions->sm_clock_mhz;
    out->memory_clock_mhz = conditions->memory_clock_mhz;
    out->power_watts = conditions->power_watts;
    out->temperature_celsius = conditions->temperature_celsius;
    ak_throttle_text(throttle, conditions->throttle);
    ak_free(out->throttle);
    return ak_copy_text(&out->throttle, throttle, err);
}
