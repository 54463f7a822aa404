/*
 * triton.h: kernels in Triton, as a language that backends compile: a Python process compiles them
 * ahead of time to binaries of the device (triton_worker.py), and a backend launches those as it
 * launches its own (cuda_kernel.c). No device is needed to compile.
 *
 * An artifact is a line of JSON and binaries. Triton specialises code by its arguments (integers
 * that are 1, integers that 16 divides), so an artifact has a variant for the task's own arguments.
 * It also has one for all others, unless the code runs at the task's own size only or the first
 * variant assumes nothing.
 */
#ifndef AK_BACKEND_TRITON_TRITON_H
#define AK_BACKEND_TRITON_TRITON_H

#include "backend/backend.h"
#include "backend/launch/launch.h"
#include "problem/backend_rules.h"

/* The `compiler` in compile jobs for Triton kernels. */
#define AK_TRITON "triton"

/* Appends what the Python process must know of a configuration: target, entry, and the arguments at
   the task's shape and at each edge-case shape where the configuration may run. `architecture` is
   the target, such as "cuda:90". */
ak_status ak_triton_options(ak_options *out, const ak_task *task, const ak_config *config,
                            const char *architecture, ak_error *err);

/* Compiles a job whose compiler is AK_TRITON. The Python process is started by the first call and
   serves later ones, until a job has another folder, or the process ends or does not answer in
   time. */
ak_status ak_triton_compile(ak_compile_result *out, const ak_compile_job *job, ak_error *err);
/* Returns the process id of ak_triton_compile's Python process, which the compile worker must not
   end with other children; 0: there is none. */
pid_t ak_triton_process(void);
/* Adds what the Python process reads to what the compile worker, which starts it, may read. */
ak_status ak_triton_folders(ak_compile_folders *out, ak_error *err);
/* Gives the version of Triton; AK_UNAVAILABLE says what to install. */
ak_status ak_triton_version(char *out, size_t bytes, ak_error *err);

/* Starts a Python process for one request and ends it after the reply. The process may read the
   folder `beside`, unless that is private (reads.h), and write to `folder`. Takes over the
   reference to `request`. */
ak_status ak_triton_ask(json_t **out, json_t *request, const char *folder, const char *beside,
                        int64_t timeout_ns, ak_error *err);

#define AK_TRITON_ARGUMENTS_BYTES (AK_LAUNCH_ARGUMENTS_MAX * 24)
/* Writes the arguments of a launch as a text, by which compiling and launching agree on a variant:
   "*f16,*f16,i4096,i1000,f,none", pointers by their type, integers by width and value. */
ak_status ak_triton_arguments(char out[AK_TRITON_ARGUMENTS_BYTES], const ak_launch_kernel *kernel,
                              const ak_task *task, ak_error *err);

/* ---- launching ------------------------------------------------------------------------------- */

typedef struct ak_triton_variant {
    const json_t *facts; /* borrowed from the artifact */
    const char *code;
    size_t length;
} ak_triton_variant;

typedef struct ak_triton_artifact {
    json_t *head;
    const char *bytes;    /* borrowed */
    size_t length, first; /* `first`: offset of the first binary */
} ak_triton_artifact;

/* Reads an artifact; returns AK_INVALID if it is damaged. `bytes` must outlive it. */
ak_status ak_triton_read(ak_triton_artifact *out, const char *bytes, size_t length, ak_error *err);
void ak_triton_clear(ak_triton_artifact *artifact);
/* Finds the variant for the arguments of a plan of one kernel, and writes into the plan what only
   the compiler knows: entry, block, shared memory, cluster (each block of the grid becomes a
   cluster), whether the kernel starts early, and the arguments that remain. Returns AK_NOT_FOUND if
   no variant serves the arguments. The plan borrows from the artifact. */
ak_status ak_triton_apply(ak_triton_variant *out, ak_launch_plan *plan,
                          const ak_triton_artifact *artifact, const ak_task *task, ak_error *err);

#endif
