/* cuda.h: what the files of the CUDA backend offer each other. backend.h describes the functions
   that the table of the backend has. */
#ifndef AK_BACKEND_CUDA_CUDA_H
#define AK_BACKEND_CUDA_CUDA_H

#include "backend/backend.h"
#include "backend/cuda/cuda_api.h"
#include "backend/launch/launch.h"
#include "base/hash.h"

extern const ak_backend_ops ak_cuda_ops;

/* Bytes that code may spill for each thread where its implementation rejects spills: eight
   registers, which ptxas keeps out of the loops of the kernels in kernels/. */
enum { AK_CUDA_SPILLS_FEW = 32 };

/* cuda_rules.c: the rules for space files. */
extern const ak_backend_rules ak_cuda_rules;

/* cuda_inventory.c: finds out what is installed. A driver that crashes or hangs while it starts
   must not harm the tuner, so a child process asks it: `autokernel worker --inventory cuda`. */
ak_status ak_cuda_probe(ak_device_visitor visit, void *context, ak_error *err);
ak_status ak_cuda_missing(const char *device, ak_error *err);
ak_status ak_cuda_facts(ak_scope *out, const char *device, int threads, ak_error *err);
ak_status ak_cuda_environment(json_t **out, const char *device, ak_error *err);
/* Adds for doctor "cuda": {"driver_api": ..., "driver": ..., "nvrtc": ..., "cublaslt": ...,
   "cudnn": ...}, each with its version, and "nvrtc_path" and "cublaslt_path"; "driver" is left out
   if NVML does not tell it. If a library is missing, "driver_missing", "nvrtc_missing" and so on
   say why. */
ak_status ak_cuda_describe(json_t *object, ak_error *err);
/* Runs this child, a role of the backend. It writes one line of JSON. */
int ak_cuda_inventory_main(int argc, char **argv);

/* cuda_sheet.c: the names of devices that are known by their data sheets, NULL-terminated, and the
   facts of one: the same facts as ak_cuda_facts gives. */
extern const char *const ak_cuda_sheets[];
ak_status ak_cuda_sheet_facts(ak_scope *out, const char *device, ak_error *err);
/* Returns the dense floating-point operations of the device per clock; 0 if they are not known. */
double ak_cuda_flops_per_clock(const ak_scope *facts, ak_dtype dtype);
/* Returns whether the dtype is f32 and the problem's option `precision` lets tensor cores round its
   factors to tf32. */
bool ak_cuda_is_tf32(const ak_scope *constants, ak_dtype dtype);
/* Returns how many bf16 products replace one product in f32 under the problem's option `precision`:
   3 or 6; 0: f32 is not split. */
int ak_cuda_split_products(const ak_scope *constants, ak_dtype dtype);

/* cuda_sampler.c: samples clocks, power and temperature through NVML. Without NVML, or if it does
   not know the device, there are no samples and no energy, and everything else works. */
typedef struct ak_cuda_sampler {
    const ak_cuda_nvml *nvml; /* NULL: no NVML, or the device is not known to it */
    void *handle;
    ak_conditions sum; /* samples since the last ak_cuda_conditions */
    int64_t next_ns;   /* no sample before this time */
} ak_cuda_sampler;
/* Opens the sampler of a device by UUID, because NVML's order of devices is not the driver's. */
void ak_cuda_sampler_open(ak_cuda_sampler *sampler, const char *uuid);
/* Adds a sample to `sum`, unless the last one was taken only a few milliseconds ago. */
void ak_cuda_sampler_sample(ak_cuda_sampler *sampler);
/* Returns the limits of the device: {"sm_clock_mhz": 1980, "memory_clock_mhz": 2619, "power_watts":
   700}. Unknown ones are left out. Returns NULL if there is no memory. */
json_t *ak_cuda_sampler_limits(const ak_cuda_sampler *sampler);
/* Writes a UUID as "GPU-5fd4f087-86f3-7a43-b711-4771313afc50". */
void ak_cuda_uuid_text(char out[AK_UUID_BYTES], const unsigned char uuid[16]);

/* cuda_compile.c: compiles source and options to a cubin, with NVRTC in a child process per
   compilation and a cache on disk. Jobs whose compiler is "triton" go to ak_triton_compile. */
#define AK_CUDA_SUFFIX ".cubin"
ak_status ak_cuda_compile(ak_compile_result *out, const ak_compile_job *job, ak_error *err);
ak_status ak_cuda_folders(ak_compile_folders *out, const char *const *compilers, size_t count,
                          ak_error *err);
/* Gives {"architecture": "sm_90a", "compute_capability": 90, "driver": 13000}: a driver runs the
   code if its CUDA version is at least "driver", the first one with the major version of NVRTC. */
ak_status ak_cuda_requires(json_t **out, char *version, size_t bytes, const ak_compile_job *job,
                           ak_error *err);
/* cuda_elf.c: hashes the code of a cubin; returns false if the file is not one or there is no
   memory. */
bool ak_cuda_code_hash(char out[AK_HASH_BYTES], const unsigned char *file, size_t length);
/* cuda_compile.c: runs the child `autokernel worker --nvrtc SOURCE CUBIN OPTION...`; its log goes
   to stdout. */
int ak_cuda_nvrtc_main(int argc, char **argv);
/* cuda_sanitize.c: `sanitize` of backend.h, and the role of this program that compute-sanitizer
   runs. */
ak_status ak_cuda_sanitize(ak_sanitized *out, const ak_task *task, const ak_config *config,
                           ak_error *err);
int ak_cuda_sanitized_main(int argc, char **argv);

#endif
