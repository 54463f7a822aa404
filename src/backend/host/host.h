/* host.h: what the files of the host backend share. backend.h explains the functions that are
   members of ak_backend_ops. */
#ifndef AK_BACKEND_HOST_HOST_H
#define AK_BACKEND_HOST_HOST_H

#include "backend/backend.h"
#include "base/hash.h"

extern const ak_backend_ops ak_host_ops;
extern const ak_backend_rules ak_host_rules;

/* host_libraries.c: `baselines` of backend.h */
ak_status ak_host_baselines(ak_device *device, const ak_task *task, ak_baseline_visitor visit,
                            void *context, ak_error *err);
/* Loads the libraries of baselines.def one after the other and visits each, installed or not,
   without its variants. */
ak_status ak_host_libraries(ak_baseline_visitor visit, void *context, ak_error *err);

/* host_describe.c: what `doctor` shows of this machine */
extern const char *const ak_host_shown_facts[];
ak_status ak_host_quick_ceilings(ak_ceilings *out, const char *device, ak_error *err);
ak_status ak_host_describe(json_t *object, ak_error *err);

/* host_device.c */
/* Returns how many CPUs this process may use, at most AK_HOST_THREADS_MAX: a kernel can have as
   many threads. */
int ak_host_cpus(void);
/* Returns the size in bytes of the first CPU's data or unified cache at level 1, 2 or 3; a modest
   size if it is unknown. */
int64_t ak_host_cache_bytes(int level);
typedef struct ak_host_caches {
    int64_t bytes[4];     /* by ak_host_cache_bytes, at the index of the level; [0] is not used */
    int last_count;       /* number of level 3 caches; 1 if not known */
    int64_t memory_bytes; /* what this process may use of the memory; 0 if not known */
} ak_host_caches;
void ak_host_caches_find(ak_host_caches *out);
/* Returns how many CPUs a list of the system names, such as "0-7,64-71". */
int ak_host_count_listed(const char *list);
/* Returns the bytes of the widest vectors that the host backend's own loops are compiled for and
   that this processor has: 64 with AVX-512 (F, VL, DQ and BW), 32 with AVX2 and FMA, else 16. */
int ak_host_vector_bytes(void);
/* Asks for the tile registers of AMX, for this process and its children by fork, and returns
   whether they may multiply bf16. A process may use them only if it has asked the system
   (Linux 5.16, Documentation/arch/x86/xstate.rst). Asking again is cheap. */
bool ak_host_tiles(void);
#define AK_HOST_CPUINFO "/proc/cpuinfo"
/* Reads the beginning of such a file, in whole lines. It describes at least one processor, but not
   all if there are many. The caller frees *out. */
ak_status ak_host_cpuinfo(char **out, const char *path, ak_error *err);
/* Hashes what -march=native depends on; returns false if the system does not tell. */
bool ak_host_hash_processor(ak_hasher *hasher);
ak_status ak_host_probe(ak_device_visitor visit, void *context, ak_error *err);
ak_status ak_host_facts(ak_scope *out, const char *device, int threads, ak_error *err);
ak_status ak_host_environment(json_t **out, const char *device, ak_error *err);

/* host_adapt.c: `adapt` of backend_rules.h */
ak_status ak_host_adapt(ak_buf *out, const ak_host_entry *entry, ak_error *err);

/* host_compile.c */
/* The option that marks a job whose source uses OpenMP. */
#define AK_OPTION_OPENMP "-fopenmp"
bool ak_host_available(void *context, const char *compiler);
ak_status ak_host_source(ak_buf *out, const char *text, const char *name, ak_error *err);
/* Finds the Fortran in a source, from AK_FORTRAN_BEGIN to AK_FORTRAN_END; returns false if there is
   none. */
bool ak_host_fortran_part(char **begin, char **end, char *source);
/* Compiles a reference or a problem's own baseline. Both may keep state, unlike a candidate. Writes
   `text` to the job's source_path and sets the limits. Returns AK_INVALID if it does not compile;
   `who` names it in the message. */
ak_status ak_host_compile_own(ak_compile_job job, const ak_buf *text, const char *who,
                              ak_error *err);
ak_status ak_host_compile(ak_compile_result *out, const ak_compile_job *job, ak_error *err);
ak_status ak_host_folders(ak_compile_folders *out, const char *const *compilers, size_t count,
                          ak_error *err);
/* Gives the compiler for a space that names none: the first of cc, gcc and clang that is installed.
   Fails with AK_UNAVAILABLE if there is none. */
ak_status ak_host_compiler(const char **out, ak_error *err);
/* Gives the first line of `compiler --version`; "" if it is not installed, fails or does not
   answer. Returns false only if it did not answer: time ran out, a signal ended it, or it could not
   be started; in the last case `why`, unless NULL, gets the reason. The answers of the last four
   compilers are kept until their files change. Any thread may call this. */
bool ak_host_compiler_version(char *out, size_t bytes, const char *compiler, ak_error *why);
/* Does the same, but fails with AK_UNAVAILABLE if there was no answer. */
ak_status ak_host_need_version(char *out, size_t bytes, const char *compiler, ak_error *err);

/* host_own.c: the baselines that a problem brings ("baselines" of problem.json). own.c runs them.
 */
/* Finds the problem's baseline of this name; NULL if there is none. */
const ak_own_baseline *ak_host_own_find(const ak_problem *problem, const char *name);
/* Gives the library to load: a relative path that has a folder starts at the kernel's folder; a
   bare name is for the loader to find; "" if the baseline has no library. */
ak_status ak_host_own_library(char out[AK_PATH_MAX], const ak_problem *problem,
                              const ak_own_baseline *own, ak_error *err);
/* Gives the absolute path of the kernel's folder; "" if there is none. */
void ak_host_own_folder(char out[AK_PATH_MAX], const ak_problem *problem);
/* Writes into `folder` what a runner needs, and gives its path: a shared object whose ak_kernel is
   the baseline or calls it, or a JSON file that says what own_worker.py runs. Keeps what an earlier
   call has written there. */
ak_status ak_host_own_prepare(char out[AK_PATH_MAX], const ak_task *task,
                              const ak_own_baseline *own, const char *folder, ak_error *err);

/* host_targets.c */
/* Gives the source as options->compiler preprocesses it with its line markers, to be freed with
   ak_free; NULL if the compiler refuses the source or does not end in time. `run` has its messages;
   the caller clears it. `folder` is for a temporary file. */
ak_status ak_host_preprocess(char **out, ak_proc_result *run, const ak_options *options,
                             const char *source, const char *folder, ak_error *err);
/* What a source lets the compiler use beyond the options of the job. */
typedef struct ak_host_targets {
    ak_options options; /* that its target attributes and pragmas stand for, as far as they are
                           understood: -mavx2, -march=haswell */
    bool unknown;       /* the source has something else, such as assembly, that may use any
                           instruction */
    bool tiles;         /* the source seems to use the tile registers of AMX: it has a target whose
                           name begins with amx or, if `unknown`, the name of an instruction */
} ak_host_targets;
/* Reads a source and its preprocessed text (ak_host_preprocess). The caller clears `out`, also on
   failure. */
ak_status ak_host_targets_of(ak_host_targets *out, const char *source, const char *preprocessed,
                             ak_error *err);
void ak_host_targets_clear(ak_host_targets *targets);

/* host_requires.c: implements `requires` of backend.h. */
ak_status ak_host_requires(json_t **out, char *version, size_t bytes, const ak_compile_job *job,
                           ak_error *err);

/* host_sanitize.c */
ak_status ak_host_sanitize(ak_sanitized *out, const ak_task *task, const ak_config *config,
                           ak_error *err);

/* host_energy.c: the energy of the processor packages by RAPL */
#define AK_HOST_PACKAGES_MAX 64
typedef struct ak_host_energy {
    bool begun;                        /* the latest reading succeeded */
    double last[AK_HOST_PACKAGES_MAX]; /* microjoules when each package was last read */
    double sum; /* joules since the first reading; a reading that fails loses those up to the next
                   one, and may lose some since the one before */
} ak_host_energy;
ak_status ak_host_energy_read(double *out, ak_host_energy *energy, ak_error *err);

/* host_elf.c. Hashes all that is loaded of an artifact: code, constants, names of imports. Returns
   false if the file is not a well-formed 64-bit ELF file that loads something, or if there is no
   memory. */
bool ak_host_elf_hash(char out[AK_HASH_BYTES], const unsigned char *file, size_t length);
/* host_elf_rules.c. Returns true, with the reason in `why`, if the artifact is more than code and
   constants: it could keep state between calls, run code when it is loaded, call functions of
   libraries that do more than compute, need a library that compilers do not link by themselves, or
   define functions of the sanitizers. Does not refuse a file that is no ELF file: loading reports
   that. */
bool ak_host_elf_refused(char *why, size_t bytes, const unsigned char *file, size_t length);

/* host_system_calls.c. Returns whether the artifact's code has bytes that would be a system call if
   an instruction began there. */
bool ak_host_elf_may_call(const unsigned char *file, size_t length);
/* Returns true, with the reason in `why`, if the compiler's assembly, of x86 or of `arm`, has
   system calls, or what could hide one: code given as bytes, numbers among the code, macros,
   included files. */
bool ak_host_assembly_calls(char *why, size_t bytes, const char *assembly, bool arm);
/* Returns whether the assembly has the assembler read a file, which no list of headers names. If it
   returns false, *unknown says whether there are macros, which could do so all the same. */
bool ak_host_assembly_reads(bool *unknown, const char *assembly);

/* host_ceilings.c */
/* Returns how many floats of each array a thread has while ceilings are measured. All threads
   together reach far beyond the caches, if the memory is large enough, and a thread has at least
   what it copies within its own caches. `given_bytes`, unless 0, is the length of an array. */
size_t ak_host_ceiling_part(const ak_host_caches *caches, int threads, int64_t given_bytes);
ak_status ak_host_ceilings(ak_ceilings *out, ak_dtype dtype, int threads, ak_error *err);

#endif
