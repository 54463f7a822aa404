/*
 * cuda_sampler.c: samples what NVML reports about a device while it works.
 *
 * A sample takes some microseconds of the host, at most a few milliseconds with old drivers. The
 * batch that it describes is in the stream already and is timed by the device, so sampling changes
 * no result. It does take time from the search, so samples are at least SAMPLE_NS apart, except for
 * the first one after ak_cuda_conditions.
 *
 * Power is that of the moment (the field NVML_FI_DEV_POWER_INSTANT) if the driver has it, otherwise
 * the mean of about the last second.
 */
#include "backend/cuda/cuda_device.h"

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

void ak_cuda_sampler_open(ak_cuda_sampler *sampler, const char *uuid)
{
    *sampler = (ak_cuda_sampler){0};
    if (ak_cuda_nvml_open(&sampler->nvml, NULL) != AK_OK ||
        sampler->nvml->by_uuid(uuid, &sampler->handle) != 0) {
        /* NVML is missing, or the device is a part (MIG) that it does not know. */
        sampler->nvml = NULL;
    }
}

static double power_now(const ak_cuda_sampler *sampler)
{
    const ak_cuda_nvml *nvml = sampler->nvml;
    ak_nvml_field field = {.id = AK_NVML_POWER_INSTANT};
    unsigned milliwatts = 0;
    if (nvml->fields != NULL && nvml->fields(sampler->handle, 1, &field) == 0 && field.code == 0 &&
        field.type == AK_NVML_UNSIGNED) {
        return field.value.number / 1e3;
    }
    return nvml->power != NULL && nvml->power(sampler->handle, &milliwatts) == 0 ? milliwatts / 1e3
                                                                                 : 0;
}

static double clock_now(const ak_cuda_sampler *sampler, int type)
{
    unsigned mhz = 0;
    return sampler->nvml->clock != NULL && sampler->nvml->clock(sampler->handle, type, &mhz) == 0
               ? mhz
               : 0;
}

void ak_cuda_sampler_sample(ak_cuda_sampler *sampler)
{
    const ak_cuda_nvml *nvml = sampler->nvml;
    unsigned long long reasons = 0;
    unsigned celsius = 0;
    if (nvml == NULL || ak_clock_ns() < sampler->next_ns) {
        return;
    }
    ak_conditions one = {.samples = 1,
                         .sm_clock_mhz = clock_now(sampler, AK_NVML_CLOCK_SM),
                         .memory_clock_mhz = clock_now(sampler, AK_NVML_CLOCK_MEMORY),
                         .power_watts = power_now(sampler)};
    if (nvml->temperature != NULL &&
        nvml->temperature(sampler->handle, AK_NVML_SENSOR_CHIP, &celsius) == 0) {
        one.temperature_celsius = celsius;
    }
    if (nvml->throttle != NULL && nvml->throttle(sampler->handle, &reasons) == 0) {
        one.throttle = (uint32_t)reasons;
    }
    bool answered = nvml->clock == NULL || one.sm_clock_mhz > 0;
    if (answered) { /* a failed query is not a clock of 0 */
        ak_conditions_add(&sampler->sum, &one);
    }
    sampler->next_ns = ak_clock_ns() + SAMPLE_NS;
}

void ak_cuda_conditions(ak_conditions *out, ak_device *device)
{
    ak_cuda_sampler *sampler = &device->sampler;
    *out = sampler->sum;
    sampler->sum = (ak_conditions){0};
    /* The next batch gets a sample however short it is. */
    sampler->next_ns = 0;
}

ak_status ak_cuda_joules(double *out, ak_device *device, ak_error *err)
{
    const ak_cuda_sampler *sampler = &device->sampler;
    unsigned long long millijoules = 0;
    AK_FAIL_IF(sampler->nvml == NULL || sampler->nvml->energy == NULL ||
                   sampler->nvml->energy(sampler->handle, &millijoules) != 0,
               err, AK_UNAVAILABLE,
               "NVML gives no energy of this device (it must be there, and the device of Volta or "
               "later and no MIG part); choose another --objective");
    *out = (double)millijoules / 1e3;
    return AK_OK;
}

json_t *ak_cuda_sampler_limits(const ak_cuda_sampler *sampler)
{
    static const struct {
        int clock;
        const char *key;
    } clocks[] = {{AK_NVML_CLOCK_SM, "sm_clock_mhz"}, {AK_NVML_CLOCK_MEMORY, "memory_clock_mhz"}};
    const ak_cuda_nvml *nvml = sampler->nvml;
    json_t *object = json_object();
    unsigned value = 0;
    bool good = object != NULL;
    for (size_t i = 0; i < AK_COUNT(clocks); i++) {
        if (nvml != NULL && nvml->clock_max != NULL &&
            nvml->clock_max(sampler->handle, clocks[i].clock, &value) == 0) {
            good = good && ak_json_set(object, clocks[i].key, json_integer(value));
        }
    }
    if (nvml != NULL && nvml->power_limit != NULL &&
        nvml->power_limit(sampler->handle, &value) == 0) {
        good = good && ak_json_set(object, "power_watts", json_integer(value / 1000));
    }
    return ak_json_whole(object, good);
}
