/*
 * problem.h: a kernel folder, loaded and validated (docs/formats.md has the file formats).
 *
 * A problem says what to compute and holds no numbers of one run; ak_task (task.h) binds it to
 * sizes, a dtype, choices and a device. Everything here is immutable after loading and owned by the
 * problem.
 */
#ifndef AK_PROBLEM_PROBLEM_H
#define AK_PROBLEM_PROBLEM_H

#include "base/json.h"

#define AK_SIZES_MAX         8
#define AK_CHOICES_MAX       16
#define AK_ARGUMENTS_MAX     16
#define AK_CHOICE_NUMBER_MAX 9007199254740992.0 /* 2^53: whole numbers are exact up to there */
#define AK_RANK_MAX          4
#define AK_SOURCE_BYTES_MAX  (4u << 20)

/* X(NAME, text, bytes, machine epsilon) */
#define AK_DTYPE_MAP(X)                                                                            \
    X(F16, "f16", 2, 9.765625e-4)                                                                  \
    X(BF16, "bf16", 2, 7.8125e-3)                                                                  \
    X(F32, "f32", 4, 1.1920928955078125e-7)                                                        \
    X(F64, "f64", 8, 2.220446049250313e-16)                                                        \
    X(I32, "i32", 4, 0.0)

typedef enum ak_dtype {
#define AK_DTYPE_ENUM(name, text, bytes, eps) AK_DTYPE_##name,
    AK_DTYPE_MAP(AK_DTYPE_ENUM)
#undef AK_DTYPE_ENUM
} ak_dtype;

size_t ak_dtype_bytes(ak_dtype dtype);
double ak_dtype_epsilon(ak_dtype dtype);
const char *ak_dtype_text(ak_dtype dtype);
bool ak_dtype_parse(ak_dtype *out, const char *text);

typedef struct ak_size_spec {
    const char *name, *description;
    int64_t fallback; /* the default */
} ak_size_spec;

/* One of some texts, or a number. */
typedef enum ak_choice_kind { AK_CHOICE_TEXT, AK_CHOICE_WHOLE, AK_CHOICE_REAL } ak_choice_kind;

typedef struct ak_choice_spec {
    const char *name, *description;
    ak_choice_kind kind;
    const char *const *values; /* of a text */
    size_t value_count, default_index;
    double low, high, fallback; /* of a number; fallback is the default */
    bool implicit;              /* not named in a task's choices where it has its default */
} ak_choice_spec;

typedef enum ak_access { AK_ACCESS_IN, AK_ACCESS_OUT, AK_ACCESS_INOUT } ak_access;
typedef enum ak_fill_kind { AK_FILL_UNIFORM, AK_FILL_NORMAL, AK_FILL_CONSTANT } ak_fill_kind;

typedef struct ak_argument_spec {
    const char *name;
    bool dtype_follows; /* "dtype": the task's; else `dtype` */
    ak_dtype dtype;
    const char *shape[AK_RANK_MAX]; /* expressions over the sizes */
    size_t rank;
    const char *pitch; /* elements from one row to the next, an expression; NULL: rows adjoin */
    ak_access access;
    ak_fill_kind fill;
    double fill_a, fill_b; /* uniform(a, b), normal(mean, deviation), constant(a) */
} ak_argument_spec;

typedef struct ak_tolerance_spec {
    ak_dtype dtype;
    const char *relative, *rms; /* expressions over the sizes and eps; see check/compare.h */
} ak_tolerance_spec;

typedef struct ak_implementation_spec {
    const char *name;           /* "host", "cuda_sm90": the stem of the space file */
    const char *backend;        /* "host": the part before the first '_' */
    const json_t *definition;   /* the whole space file */
    const char *source;         /* text of Include files and of KernelFile, joined */
    const char *const *options; /* CompilerOptions */
    size_t option_count;
    const json_t *defines;    /* object: macros and expressions over the task; NULL: none */
    const char *workspace;    /* expression in bytes; "0" if none */
    const char *threads;      /* expression; "1" if none */
    const char *kernel_name;  /* "ak_kernel" if none */
    const char *architecture; /* "sm_90a"; NULL: the device's */
    const json_t *launch;     /* NULL: none; see launch.h */
    bool sized;               /* it has an entry for the task's own sizes only (SizedKernelName) */
    const json_t *needs;      /* array of conditions on the task; NULL: none */
    unsigned dtypes;          /* bit 1 << dtype for each that it computes in */
    const char *where;        /* path for messages */
} ak_implementation_spec;

struct ak_problem {
    const char *name, *description, *where;
    ak_size_spec sizes[AK_SIZES_MAX];
    size_t size_count;
    ak_dtype dtypes[8];
    size_t dtype_count;
    ak_choice_spec choices[AK_CHOICES_MAX];
    size_t choice_count;
    ak_argument_spec arguments[AK_ARGUMENTS_MAX];
    size_t argument_count;
    const char *flops, *bytes; /* expressions over sizes, dtype_bytes and `choice_NAME` indices */
    const char
        *reference_source; /* text of reference.c; "" if none: a space without a problem (T1) */
    const char *device_reference; /* text of reference.cu beside it; NULL if there is none */
    ak_tolerance_spec tolerances[8];
    size_t tolerance_count;
    int64_t (*awkward)[AK_SIZES_MAX];
    size_t awkward_count;
    int64_t tune_size[AK_SIZES_MAX];
    ak_implementation_spec *implementations;
    size_t implementation_count;
    bool builtin;
    /* owners of all of the above */
    struct ak_arena *arena;
    json_t **documents;
    size_t document_count, document_capacity;
};

/* A problem of which only the space is known, as ak_problem_open of a T1 file gives it. `name` ""
   is "space". Takes the document, which is like a T1 file's, also on failure. */
ak_status ak_problem_of_space(ak_problem **out, const char *name, json_t *document,
                              const char *where, ak_error *err);

/* Finds an implementation by name. */
ak_status ak_problem_find(const ak_implementation_spec **out, const ak_problem *problem,
                          const char *name, ak_error *err);

/* AK_INVALID, saying what is missing, for a T1 file by itself: it can be listed and simulated, but
   there is nothing to compile, check or time. */
ak_status ak_problem_runnable(const ak_problem *problem, ak_error *err);

bool ak_problem_is_builtin(const char *name);
/* Names of the built-in kernels, sorted, and their descriptions. */
ak_status ak_problem_each_builtin(ak_list_visitor visit, void *context, ak_error *err);

#endif
