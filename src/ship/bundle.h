/*
 * bundle.h: a bundle while it is being made. It holds the archive's best code, that of a chosen
 * trial, or that of a dispatch table, compiled once more, and all that is needed to run it without
 * autokernel (docs/formats.md, docs/shipping.md).
 *
 *   cases.c        finds the archive's trials, one for each size, and opens their tasks
 *   variants.c     groups cases that share code into variants, and compiles each variant
 *   launch_code.c  writes how a variant for a GPU is launched
 *   manifest.c     writes bundle.json
 *   ship.c         the public functions; puts the files of a bundle in order and writes it
 *   format_c.c     writes a bundle as C source
 *   read.c         opens a finished bundle and reads its bundle.json
 *   verify.c       verifies a finished bundle
 */
#ifndef AK_SHIP_BUNDLE_H
#define AK_SHIP_BUNDLE_H

#include "archive/archive.h"
#include "base/fs.h"
#include "base/pack.h"
#include "problem/task.h"

#define AK_BUNDLE_SCHEMA    1
#define AK_BUNDLE_JSON      "bundle.json"
#define AK_BUNDLE_SUM       "bundle.sha256"
#define AK_BUNDLE_KIND      "autokernel bundle"
#define AK_BUNDLE_BYTES_MAX (1u << 30)
#define AK_BUNDLE_NAME_MAX  128

/* One size that the bundle serves: its trial, its task, and the variant that serves it. */
typedef struct ak_bundle_case {
    ak_trial trial;   /* id 0: the configuration has no trial at this size, only a table entry */
    bool former_hash; /* the trial's code hash was made before these were SHA-256, and was
                         dropped */
    json_t *table;    /* the entry of the dispatch table; NULL: there is none */
    ak_task *task;
    ak_config config;
    size_t variant, workspace_bytes;
    int threads;
} ak_bundle_case;

/* One artifact, and the conditions under which its results are right. */
typedef struct ak_bundle_variant {
    const ak_bundle_case *first;
    char *config; /* its canonical text */
    ak_options options;
    const char *compiler; /* borrowed from the space of the first case, or static */
    char version[128];
    char file[AK_PACK_NAME_MAX + 1];
    json_t *when, *workspace, *threads; /* programs; workspace and threads are NULL if the
                                          variant serves only measured sizes */
    json_t *launch;                     /* how a GPU's kernels are launched; NULL: for the CPU */
    bool for_one;                       /* the launch holds for the first case's size only */
    const char *uncompared; /* why nobody compared the code with what trials measured; NULL: it was
                               compared */
    char *note; /* says where the code was not checked, or why it serves measured sizes only; NULL:
                   nothing */
} ak_bundle_variant;

typedef struct ak_bundle_build {
    ak_archive *archive;
    const char *kernel; /* as the user names it */
    char name[AK_BUNDLE_NAME_MAX];
    ak_bundle_case *cases;
    size_t case_count, case_capacity;
    ak_bundle_variant *variants;
    size_t variant_count;
    json_t *environment; /* environment of the trials, in words, with its hash */
    char *fix; /* --fix of the run, on which its default configuration depends; NULL: not given or
                  not known */
    json_t *needs;    /* what the code requires of a machine */
    json_t *warnings; /* of the run over many sizes that made the table; NULL if there is none */
    char *created;
    ak_fs_owned folder; /* for compiling */
    /* Sources from the archive; used only if the kernel has changed or is not found. */
    ak_fs_owned kept;
    ak_pack code, sources;
} ak_bundle_build;

/* Returns whether code of this backend runs on a device other than the CPU (ak_backend_ops.is_cpu).
   Such code takes a stream and has a launch in bundle.json. */
bool ak_bundle_is_for_gpu(const char *backend);
/* Fills in `cases`, `environment`, `fix`, `warnings` and `created`. */
ak_status ak_bundle_cases(ak_bundle_build *b, const ak_bundle_request *request, ak_error *err);
/* Fills in `variants`, `needs`, `code` and `sources`, and the variant of each case. */
ak_status ak_bundle_variants(ak_bundle_build *b, ak_error *err);
/* Fills in `when`, `workspace`, `threads` and `launch` of a variant from the sources of its first
   case, for all sizes that its conditions allow. With `measured_only`, or if a formula needs more
   than whole numbers, the variant serves only measured sizes (on a GPU only that of its first
   case), and `workspace` and `threads` are NULL. */
ak_status ak_bundle_programs(ak_bundle_variant *v, bool measured_only, ak_error *err);
/* Frees these four and sets them to NULL. */
void ak_bundle_programs_clear(ak_bundle_variant *variant);
/* Translates the "Launch" for the case's configuration. Returns AK_INVALID if the launch has
   "Constants" or, without `one_size`, if a value depends on the sizes by other means than
   arithmetic on whole numbers. */
ak_status ak_bundle_launch(json_t **out, const ak_bundle_case *one, bool one_size, ak_error *err);
/* Returns clocks, power, temperature and throttling while the trial was measured; a JSON null if
   its clock is not known. The caller owns the result. NULL: no memory. */
json_t *ak_bundle_conditions(const ak_trial *trial);
/* Gives the members of bundle.json that describe the problem of a task to programs that call the
   bundle: its names, description, options, sizes and arguments. */
ak_status ak_bundle_interface(json_t **out, const ak_task *task, ak_error *err);
/* Returns the tolerances with which the task's own size is checked, one for each argument: null for
   an input. NULL: no memory. */
json_t *ak_bundle_tolerances(const ak_task *task);
/* Writes bundle.json, after everything else has been filled in. */
ak_status ak_bundle_manifest(ak_buf *out, const ak_bundle_build *b, ak_error *err);

AK_END_AT(akr_close, akr_bundle)
/* Opens a bundle with the runtime's flags (ak_runtime.h). */
ak_status ak_bundle_open(akr_bundle **out, const char *path, int flags, ak_error *err);
/* Parses bundle.json and refuses numbers that no measurement gives. */
ak_status ak_bundle_file(json_t **out, const akr_bundle *bundle, const char *path, ak_error *err);

/* Gives all files of a bundle in the order in which they are written. *name is a C identifier, to
   be freed with ak_free. */
ak_status ak_bundle_make(ak_pack *out, char **name, ak_archive *archive,
                         const ak_bundle_request *request, ak_error *err);

#endif
