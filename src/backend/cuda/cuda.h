/* cuda.h: the parts of the CUDA backend, for each other. What they do is said in backend.h. */
#ifndef AK_BACKEND_CUDA_CUDA_H
#define AK_BACKEND_CUDA_CUDA_H

#include "backend/backend.h"
#include "backend/cuda/cuda_api.h"
#include "problem/launch.h"

extern const ak_backend_ops ak_cuda_ops;

/* cuda_inventory.c: what is there. A driver that crashes or hangs while it starts must not take the
   tuner along, so it is asked in a child process: `autokernel worker --inventory cuda`. */
ak_status ak_cuda_probe(ak_device_visitor visit, void *context, ak_error *err);
ak_status ak_cuda_missing(const char *device, ak_error *err);
ak_status ak_cuda_facts(ak_scope *out, const char *device, int threads, ak_error *err);
ak_status ak_cuda_environment(json_t **out, const char *device, ak_error *err);
/* For doctor: {"driver": ..., "nvrtc": ..., "cublaslt": ...}, each a version; in place of one that
   is missing its "driver_missing" and so on, which says why. */
ak_status ak_cuda_state(json_t **out, ak_error *err);
/* The child: writes one line of JSON. Returns the exit code. */
int ak_cuda_inventory_main(void);

/* cuda_sheet.c: the names of devices by their data sheets, NULL-terminated, and the facts of one:
   those that ak_cuda_facts has of a device. */
extern const char *const ak_cuda_sheets[];
ak_status ak_cuda_sheet_facts(ak_scope *out, const char *device, ak_error *err);

/* cuda_gauge.c: clocks, power and temperature, by NVML. Nothing of it is needed to run: without
   NVML, or where it does not know the device, there are no samples. */
typedef struct ak_cuda_gauge {
    const ak_cuda_nvml *nvml; /* NULL: there is none */
    void *handle;
    ak_conditions sum; /* since it was last taken */
    int64_t next_ns;   /* no sample before this time */
} ak_cuda_gauge;
/* NVML names devices by UUID: its order is not the driver's. */
void ak_cuda_gauge_open(ak_cuda_gauge *gauge, const char *uuid);
void ak_cuda_gauge_sample(ak_cuda_gauge *gauge);
void ak_cuda_gauge_take(ak_conditions *out, ak_cuda_gauge *gauge);
/* {"sm_clock_mhz": 1980, "memory_clock_mhz": 2619, "power_watts": 700}: the most that is allowed;
   what is not known is left out. NULL for want of memory. */
json_t *ak_cuda_gauge_limits(const ak_cuda_gauge *gauge);
/* "GPU-5fd4f087-86f3-7a43-b711-4771313afc50" */
void ak_cuda_uuid_text(char out[AK_UUID_BYTES], const unsigned char uuid[16]);

/* cuda_compile.c: source + options -> cubin, by NVRTC in a child process per compilation, with a
   cache on disk. */
#define AK_CUDA_SUFFIX ".cubin"
ak_status ak_cuda_source(ak_buf *out, const char *text, const char *name, ak_error *err);
ak_status ak_cuda_compile(ak_compile_result *out, const ak_compile_job *job, ak_error *err);
void ak_cuda_folders(char readable[AK_PATH_MAX], char writable[AK_PATH_MAX]);
/* The child: `autokernel worker --nvrtc SOURCE CUBIN OPTION...`; its log goes to stdout. */
int ak_cuda_nvrtc_main(int argc, char **argv);
/* Registers, shared and spilled bytes of what ptxas says; the worst of all entries. Returns the
   line of a note that a tensor instruction was serialised (C75xx), or NULL. */
const char *ak_cuda_read_log(ak_compile_result *out, const char *log);

#endif
