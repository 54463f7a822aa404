/*
 * compile.h: judges how a compiler that ran as a child has ended, and what it wrote. All backends
 * share it, whichever compiler they use.
 *
 *     status = ak_proc_run(&run, &spec, err);
 *     status = ak_compile_judge(&result, &run, job, "NVRTC", err);
 *     if (status == AK_OK && result.status == AK_TRIAL_OK) {
 *         status = ak_compile_hash(&result, job, NULL, err);
 *     }
 *     return ak_compile_end(out, &result, status, err);
 */
#ifndef AK_BACKEND_COMPILE_H
#define AK_BACKEND_COMPILE_H

#include "backend/backend.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/proc.h"

/* Runs the compiler or tool of `spec`, confined and without translated messages. It may read what
   is installed, its own folder and `source`, and write to `folder`, where its temporary files are;
   these may be NULL. */
ak_status ak_compile_run(ak_proc_result *out, ak_proc_spec spec, const char *source,
                         const char *folder, ak_error *err);

/* Sets limits and priority of the child. The limit counts processor time, because time by the
   clock says more about the machine's other load than about the configuration. A compilation at
   idle priority (SCHED_IDLE) is also stopped when a third of the limit has passed by the clock, and
   is then repeated with a usual priority; any other one is stopped after several times the limit.
 */
void ak_compile_limit(ak_proc_spec *spec, const ak_compile_job *job);

/* Sets status, reason and log by how the child ended. Takes the log from `run` and replaces in it
   what a terminal might obey. `who` names the compiler in reasons: "the compiler", "NVRTC". A fault
   of the machine is not a property of a configuration and makes the call fail: AK_TIMED_OUT if the
   compiler got no processor; AK_IO if files cannot be written or no process can be started, with a
   line that says what to do. */
ak_status ak_compile_judge(ak_compile_result *out, ak_proc_result *run, const ak_compile_job *job,
                           const char *who, ak_error *err);

/* Hashes the artifact: only its code if `of_code` is given and finds the code in the file, else the
   whole file. `of_code` returns false if it cannot find the code. A compiler that wrote nothing, or
   too much, has failed. */
ak_status ak_compile_hash(ak_compile_result *out, const ak_compile_job *job,
                          bool (*of_code)(char out[AK_HASH_BYTES], const unsigned char *file,
                                          size_t length),
                          ak_error *err);

/* Compiles in a folder of its own below `job->folder`, the only one that the compiler is told of
   and may write to, so that it cannot reach the artifacts of others. Then copies the artifact, if
   it is still the file that was looked at, to `job->artifact`. A process of the compiler that goes
   on
   (`compiler_process`) keeps its folder, which the next compilation of this process has too. */
ak_status ak_compile_apart(ak_compile_result *out, const ak_backend_ops *backend,
                           const ak_compile_job *job, ak_error *err);

/* Ends a compilation that returned `status`: gives its result, or frees it if it is a failure.
   Returns AK_NO_MEMORY if a failed compilation has no reason, because there was no memory for its
   text. */
ak_status ak_compile_end(ak_compile_result *out, ak_compile_result *result, ak_status status,
                         ak_error *err);

#endif
