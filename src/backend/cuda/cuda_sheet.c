/* cuda_sheet.c: devices by their data sheets: the facts that expressions read, without a device. */
#include <string.h>

#include "backend/cuda/cuda.h"

static const char *const facts[] = {"sm_count",         "compute_capability", "shared_bytes_max",
                                    "shared_bytes_sm",  "registers_sm",       "threads_sm",
                                    "l2_bytes",         "memory_bytes",       "clock_mhz",
                                    "memory_clock_mhz", "memory_bus_bits"};
enum { FACTS = sizeof facts / sizeof facts[0] };

static const int64_t values[][FACTS] = {
#define X(name, ...) {__VA_ARGS__},
#include "backend/cuda/cuda_sheets.def"
#undef X
};

const char *const ak_cuda_sheets[] = {
#define X(name, ...) name,
#include "backend/cuda/cuda_sheets.def"
#undef X
    NULL,
};

ak_status ak_cuda_sheet_facts(ak_scope *out, const char *device, ak_error *err)
{
    for (size_t i = 0; ak_cuda_sheets[i] != NULL; i++) {
        ak_status status = AK_OK;
        if (strcmp(ak_cuda_sheets[i], device) != 0) {
            continue;
        }
        for (size_t f = 0; status == AK_OK && f < FACTS; f++) {
            status = ak_scope_set_int(out, facts[f], values[i][f], err);
        }
        return status;
    }
    return ak_fail(err, AK_NOT_FOUND, "there is no data sheet of %.40s", device);
}
