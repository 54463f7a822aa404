/*
 * compile.h: what became of a compiler that ran as a child, and of what it wrote: shared by the
 * backends, whichever compiler theirs is.
 *
 *     status = ak_proc_run(&run, &spec, err);
 *     ak_compile_judge(&result, &run, job, "NVRTC");
 *     if (result.status == AK_TRIAL_OK) {
 *         status = ak_compile_hash(&result, job, NULL, err);
 *     }
 *     status = status == AK_OK ? ak_compile_end(&result, err) : status;
 */
#ifndef AK_BACKEND_COMPILE_H
#define AK_BACKEND_COMPILE_H

#include "backend/backend.h"
#include "base/hash.h"
#include "base/proc.h"

/* Status, reason and log by how the child ended. The log is taken from `run`, and what a terminal
   might obey in it replaced. `who` is the compiler in reasons: "the compiler", "NVRTC". */
void ak_compile_judge(ak_compile_result *out, ak_proc_result *run, const ak_compile_job *job,
                      const char *who);

/* The hash of the artifact: of its code where `of_code` can tell it from the rest of the file
   (false: it cannot; NULL: nobody can), else of the file. A compiler that wrote nothing, or too
   much, has failed after all. */
ak_status ak_compile_hash(ak_compile_result *out, const ak_compile_job *job,
                          bool (*of_code)(char out[AK_HASH_BYTES], const unsigned char *file,
                                          size_t length),
                          ak_error *err);

/* AK_NO_MEMORY for a failure without a reason: there was no room for one. */
ak_status ak_compile_end(const ak_compile_result *result, ak_error *err);

#endif
