/* cuda_sheet.c: gives the facts that expressions read, from data sheets, without a device. */
#include <string.h>

#include "backend/cuda/cuda.h"

static const char *const facts[] = {"sm_count",        "compute_capability", "shared_bytes_max",
                                    "shared_bytes_sm", "registers_sm",       "threads_sm",
                                    "blocks_sm",       "l2_bytes",           "memory_bytes",
                                    "clock_mhz",       "memory_clock_mhz",   "memory_bus_bits"};
enum { FACTS = AK_COUNT(facts) };

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
    const size_t i = AK_FIND_TEXT(ak_cuda_sheets, AK_COUNT(values), device);
    AK_FAIL_IF(i == AK_COUNT(values), err, AK_NOT_FOUND, "there is no data sheet for %.40s",
               device);
    for (size_t f = 0; f < FACTS; f++) {
        AK_DO(ak_scope_set_int(out, facts[f], values[i][f], err));
    }
    return AK_OK;
}

/* Floating-point operations per clock of an SM, 0 if it has none of the type: 8-bit and 16-bit
   floats on tensor cores, f32 on the other units. Sources: "Throughput of native arithmetic
   instructions" of the CUDA programming guide (an FMA is two operations), and for tensor cores the
   architecture's white papers, without sparsity and with f32 accumulation. */
static const struct {
    int capability, byte, half, single;
} rates[] = {{80, 0, 2048, 128}, {90, 8192, 4096, 256}};

static double of_multiprocessor(int64_t compute_capability, ak_dtype dtype)
{
    for (size_t i = 0; i < AK_COUNT(rates); i++) {
        if (rates[i].capability == compute_capability) {
            return !ak_dtype_is_float(dtype)                         ? 0
                   : ak_dtype_bytes(dtype) == 1                      ? rates[i].byte
                   : dtype == AK_DTYPE_F16 || dtype == AK_DTYPE_BF16 ? rates[i].half
                   : dtype == AK_DTYPE_F32                           ? rates[i].single
                                                                     : 0;
        }
    }
    return 0;
}

static bool precision_is(const ak_scope *of, ak_dtype dtype, const char *name)
{
    ak_value value;
    return dtype == AK_DTYPE_F32 && ak_scope_get(&value, of, "precision") &&
           value.type == AK_VALUE_STRING && strcmp(value.as.string, name) == 0;
}

bool ak_cuda_is_tf32(const ak_scope *of, ak_dtype dtype)
{
    return precision_is(of, dtype, "tf32");
}

int ak_cuda_split_products(const ak_scope *of, ak_dtype dtype)
{
    return precision_is(of, dtype, "bf16x3") ? 3 : precision_is(of, dtype, "bf16x6") ? 6 : 0;
}

static double whole(const ak_scope *of, const char *name)
{
    ak_value value;
    return ak_scope_get(&value, of, name) && value.type == AK_VALUE_INT ? (double)value.as.integer
                                                                        : 0;
}

double ak_cuda_flops_per_clock(const ak_scope *of, ak_dtype dtype)
{
    int64_t capability = (int64_t)whole(of, "compute_capability");
    int products = ak_cuda_is_tf32(of, dtype) ? 2 /* half the rate of 16-bit floats */
                                              : ak_cuda_split_products(of, dtype);
    double each = products > 0 ? of_multiprocessor(capability, AK_DTYPE_BF16) / products
                               : of_multiprocessor(capability, dtype);
    return each * whole(of, "sm_count");
}
