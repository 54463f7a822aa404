/*
 * cuda_gauge.c: what NVML says of a device while it works.
 *
 * A sample takes some microseconds, at most a few milliseconds on old drivers, on the host: the
 * batch that it describes is in the stream already and is timed by the device, so sampling costs
 * the search time but changes no result. Hence not more often than SAMPLE_NS.
 *
 * Power is that of the moment (the field NVML_FI_DEV_POWER_INSTANT) where the driver has it, else
 * the mean of about the last second.
 */
#include "backend/cuda/cuda.h"

#include <string.h>

#include "base/clock.h"

#define SAMPLE_NS (5 * AK_MS_NS)

void ak_cuda_uuid_text(char out[AK_UUID_BYTES], const unsigned char uuid[16])
{
    static const char digits[] = "0123456789abcdef";
    size_t used = (size_t)snprintf(out, AK_UUID_BYTES, "GPU-");
    for (size_t i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            out[used++] = '-';
        }
        out[used++] = digits[uuid[i] >> 4];
        out[used++] = digits[uuid[i] & 15];
    }
    out[used] = 0;
}

void ak_cuda_gauge_open(ak_cuda_gauge *gauge, const char *uuid)
{
    *gauge = (ak_cuda_gauge){0};
    if (ak_cuda_nvml_open(&gauge->nvml, NULL) != AK_OK ||
        gauge->nvml->by_uuid(uuid, &gauge->handle) != 0) {
        gauge->nvml = NULL; /* not there, or a part of a device (MIG) that it cannot tell of */
    }
}

static double power_now(const ak_cuda_gauge *gauge)
{
    const ak_cuda_nvml *nvml = gauge->nvml;
    ak_nvml_field field = {.id = AK_NVML_POWER_INSTANT};
    unsigned milliwatts = 0;
    if (nvml->fields != NULL && nvml->fields(gauge->handle, 1, &field) == 0 && field.code == 0 &&
        field.type == AK_NVML_UNSIGNED) {
        return field.value.number / 1e3;
    }
    return nvml->power != NULL && nvml->power(gauge->handle, &milliwatts) == 0 ? milliwatts / 1e3
                                                                               : 0;
}

static double clock_now(const ak_cuda_gauge *gauge, int type)
{
    unsigned mhz = 0;
    return gauge->nvml->clock != NULL && gauge->nvml->clock(gauge->handle, type, &mhz) == 0 ? mhz
                                                                                            : 0;
}

void ak_cuda_gauge_sample(ak_cuda_gauge *gauge)
{
    const ak_cuda_nvml *nvml = gauge->nvml;
    unsigned long long reasons = 0;
    unsigned celsius = 0;
    if (nvml == NULL || ak_clock_ns() < gauge->next_ns) {
        return;
    }
    ak_conditions one = {.samples = 1,
                         .sm_clock_mhz = clock_now(gauge, AK_NVML_CLOCK_SM),
                         .memory_clock_mhz = clock_now(gauge, AK_NVML_CLOCK_MEMORY),
                         .power_watts = power_now(gauge)};
    if (nvml->temperature != NULL &&
        nvml->temperature(gauge->handle, AK_NVML_SENSOR_CHIP, &celsius) == 0) {
        one.temperature_celsius = celsius;
    }
    if (nvml->throttle != NULL && nvml->throttle(gauge->handle, &reasons) == 0) {
        one.throttle = (uint32_t)reasons;
    }
    bool answered = nvml->clock == NULL || one.sm_clock_mhz > 0;
    if (answered) { /* a question that failed is no clock of 0 */
        ak_conditions_add(&gauge->sum, &one);
    }
    gauge->next_ns = ak_clock_ns() + SAMPLE_NS;
}

void ak_cuda_gauge_take(ak_conditions *out, ak_cuda_gauge *gauge)
{
    *out = gauge->sum;
    gauge->sum = (ak_conditions){0};
    gauge->next_ns = 0; /* what comes next shall have a sample however short it is */
}

json_t *ak_cuda_gauge_limits(const ak_cuda_gauge *gauge)
{
    const ak_cuda_nvml *nvml = gauge->nvml;
    json_t *object = json_object();
    unsigned value = 0;
    bool good = object != NULL;
    if (nvml != NULL && nvml->clock_max != NULL) {
        if (nvml->clock_max(gauge->handle, AK_NVML_CLOCK_SM, &value) == 0) {
            good = good && ak_json_set(object, "sm_clock_mhz", json_integer(value));
        }
        if (nvml->clock_max(gauge->handle, AK_NVML_CLOCK_MEMORY, &value) == 0) {
            good = good && ak_json_set(object, "memory_clock_mhz", json_integer(value));
        }
    }
    if (nvml != NULL && nvml->power_limit != NULL &&
        nvml->power_limit(gauge->handle, &value) == 0) {
        good = good && ak_json_set(object, "power_watts", json_integer(value / 1000));
    }
    if (!good) {
        json_decref(object);
        return NULL;
    }
    return object;
}
