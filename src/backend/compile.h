/*
 * compile.h: runs a compiler as a confined child, and judges how it ended and what it wrote. All
 * backends that compile share it, whichever compiler they use.
 *
 *     ak_compile_limit(&spec, job);
 *     status = ak_compile_run(&run, spec, job->source_path, job->folder, err);
 *     status = status == AK_OK ? ak_compile_judge(&result, &run, job, "gcc", err) : status;
 *     if (status == AK_OK && result.status == AK_TRIAL_OK) {
 *         status = ak_compile_hash(&result, job, NULL, err);
 *     }
 *     return ak_compile_end(out, &result, status, err);
 */
#ifndef AK_BACKEND_COMPILE_H
#define AK_BACKEND_COMPILE_H

#include "backend/backend.h"
#include "base/hash.h"
#include "base/proc.h"

/* Runs the compiler or tool of `spec`, confined and with untranslated messages. It may read what is
   installed, its own installation and `source`, and write to `folder`, which gets its temporary
   files; `source` and `folder` may be NULL. */
ak_status ak_compile_run(ak_proc_result *out, ak_proc_spec spec, const char *source,
                         const char *folder, ak_error *err);

/* Runs this program, `spec.argv[0]`, as the compiler of a job, as confined as ak_compile_run,
   whether or not this process is a compile worker. It may read what is installed, the program with
   its libraries, the source, and what `folders` lists, which must have been opened (ak_reads_open);
   it may write to the job's folder and to `folders->writable`. */
ak_status ak_compile_run_self(ak_proc_result *out, ak_proc_spec spec, ak_compile_folders *folders,
                              const ak_compile_job *job, ak_error *err);

/* Makes an argument vector from the compiler, its options and the `more` texts in `tail`; leaves
   out texts that are NULL. The caller frees the array, but not the texts; NULL: no memory. */
const char **ak_compile_command(const char *compiler, const char *const *options, size_t count,
                                const char *const *tail, size_t more);

/* Sets time limits and priority of the child. The limit counts processor time, because elapsed time
   depends more on the machine's other load than on the configuration. A compilation at idle
   priority (SCHED_IDLE) is also stopped when a third of the limit has elapsed, and the pool repeats
   it at a usual priority; any other one is stopped after five times the limit. */
void ak_compile_limit(ak_proc_spec *spec, const ak_compile_job *job);

/* Sets status, reason and log by how the child ended. Unless the call fails, the log, if there is
   one, is taken from `run`; control characters, which a terminal might obey, and what is not ASCII
   are replaced in it. `who` names the compiler in reasons: "the compiler", "NVRTC". A fault of the
   machine is not a property of a configuration and makes the call fail: AK_TIMED_OUT if a compiler
   at idle priority got no processor; AK_IO if files cannot be written or no process can be started,
   with a line that says what to do. */
ak_status ak_compile_judge(ak_compile_result *out, ak_proc_result *run, const ak_compile_job *job,
                           const char *who, ak_error *err);

/* lacking.c: if result->reason says that the target lacks a feature which the source uses, appends
   target and advice: "; sm_80 lacks it: ...". Without memory the reason stays as it is. */
void ak_lacking_explain(ak_compile_result *result, const ak_compile_job *job);

/* Sets file_hash, code_bytes and artifact_hash. artifact_hash is that of the code if `of_code` is
   given and finds the code in the file, else that of the whole file; `of_code` returns false if it
   cannot find the code. If the compiler wrote nothing, or more than 256 MiB, the status becomes
   COMPILE_ERROR. */
ak_status ak_compile_hash(ak_compile_result *out, const ak_compile_job *job,
                          bool (*of_code)(char out[AK_HASH_BYTES], const unsigned char *file,
                                          size_t length),
                          ak_error *err);

/* Compiles in a folder of this process below `job->folder`, the only one that compilers may write
   to (those of OpenCL also to PoCL's cache), so that they cannot reach other artifacts. Then copies
   the artifact to `job->artifact`, or rejects it if it has changed since it was hashed. The folder
   is removed at the end unless a process of the compiler lives on (`compiler_process`); the next
   call then uses it again. */
ak_status ak_compile_apart(ak_compile_result *out, const ak_backend_ops *backend,
                           const ak_compile_job *job, ak_error *err);

/* Ends a compilation that returned `status`: moves `result` to `out` if that is AK_OK, else frees
   it. Returns AK_NO_MEMORY if a failed compilation has no reason, because there was no memory for
   its text. */
ak_status ak_compile_end(ak_compile_result *out, ak_compile_result *result, ak_status status,
                         ak_error *err);

#endif
