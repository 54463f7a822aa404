/*
 * problem.h: a problem with its implementations, loaded and validated: that of a kernel folder,
 * built in or not, of a Python file or of a T1 file (docs/formats.md has the file formats).
 *
 * A problem says what to compute and holds no numbers of a run; ak_task (task.h) binds it to sizes,
 * a dtype, problem options and a device. Everything here is immutable after loading and owned by
 * the problem.
 */
#ifndef AK_PROBLEM_PROBLEM_H
#define AK_PROBLEM_PROBLEM_H

#include "base/json.h"
#include "runtime/ak_runtime.h"
#include "space/expr.h"

#define AK_SIZES_MAX     8
#define AK_CHOICES_MAX   16
#define AK_ARGUMENTS_MAX 16
/* 2^53: up to this number a double holds every whole number exactly. */
#define AK_CHOICE_NUMBER_MAX   9007199254740992.0
#define AK_RANK_MAX            4
#define AK_SOURCE_BYTES_MAX    (4u << 20)
#define AK_DATA_BYTES_MAX      ((size_t)4 << 30) /* bytes of a data file: inputs or right results */
#define AK_IMPLEMENTATIONS_MAX 64

typedef enum ak_dtype {
#define AK_DTYPE_ENUM(name, ...) AK_DTYPE_##name,
    AKR_DTYPE_MAP(AK_DTYPE_ENUM)
#undef AK_DTYPE_ENUM
} ak_dtype;

#define AK_DTYPE_ONE(...) +1
enum { AK_DTYPE_COUNT = AKR_DTYPE_MAP(AK_DTYPE_ONE) };
#undef AK_DTYPE_ONE

/* These return the columns of AKR_DTYPE_MAP (runtime/ak_runtime.h), in this order: bytes of an
   element, machine epsilon (0 for whole numbers), name, type in C ("int32_t"; floats of 8 and 16
   bits are "uint8_t" and "uint16_t"), name in NumPy, key of a value in "Launch" ("Int32"; NULL if
   no value can be passed), and CUtensorMapDataType. e4m3 and e5m2 are the 8-bit floats of the OCP
   specification (OFP8): e4m3 has no infinity, its largest number is 448, and it has one NaN of each
   sign. */
size_t ak_dtype_bytes(ak_dtype dtype);
double ak_dtype_epsilon(ak_dtype dtype);
const char *ak_dtype_text(ak_dtype dtype);
const char *ak_dtype_c_type(ak_dtype dtype);
const char *ak_dtype_numpy(ak_dtype dtype);
const char *ak_dtype_scalar(ak_dtype dtype);
int ak_dtype_tensor_type(ak_dtype dtype);
/* Returns whether the dtype is a float of any width. */
bool ak_dtype_is_float(ak_dtype dtype);
/* Gives the range of a whole-number dtype; for 64 bits it ends at 2^53, up to which a double is
   exact. Returns false for a float, whose `out` means nothing. */
typedef struct ak_dtype_range {
    double low, high;
} ak_dtype_range;
bool ak_dtype_holds(ak_dtype_range *out, ak_dtype dtype);
/* Returns whether a task may have this dtype. Only arguments may have the 8-bit floats. */
bool ak_dtype_is_of_tasks(ak_dtype dtype);
/* Find a dtype by its name ("i32"), or by the key of its values in "Launch" ("Int32"). Return false
   if there is none. */
bool ak_dtype_parse(ak_dtype *out, const char *text);
bool ak_dtype_parse_scalar(ak_dtype *out, const char *text);
/* Lists names of the dtypes that pass `which` (NULL: all), for messages: "f16, bf16 and f32", with
   `last` (" and ") before the last one. Dtypes without a name are left out. */
#define AK_DTYPE_LIST_BYTES (AK_DTYPE_COUNT * 12)
void ak_dtype_list(char out[AK_DTYPE_LIST_BYTES], const char *(*name)(ak_dtype dtype),
                   bool (*which)(ak_dtype dtype), const char *last);
/* Evaluates `text`, an expression that must give the name of a dtype, else returns AK_INVALID.
   `where` names the place in messages. */
ak_status ak_dtype_choose(ak_dtype *out, const char *text, const ak_scope *scope, const char *where,
                          ak_error *err);

typedef struct ak_size_spec {
    const char *name, *description;
    int64_t fallback; /* the default */
} ak_size_spec;

/* A problem option ("choices" in problem.json) is a text from a list, a whole number or a real
   number. */
typedef enum ak_choice_kind { AK_CHOICE_TEXT, AK_CHOICE_WHOLE, AK_CHOICE_REAL } ak_choice_kind;

typedef struct ak_choice_spec {
    const char *name, *description;
    ak_choice_kind kind;
    const char *const *values; /* AK_CHOICE_TEXT only */
    size_t value_count, default_index;
    double low, high, fallback; /* numbers only; `fallback` is the default */
    bool implicit;              /* a task's text leaves it out if it has its default */
} ak_choice_spec;

typedef enum ak_access { AK_ACCESS_IN, AK_ACCESS_OUT, AK_ACCESS_INOUT } ak_access;
/* How the values of an argument are made (check/inputs.h). AK_FILL_SPREAD gives numbers at equal
   distances in a random order; AK_FILL_CUTS gives numbers at random distances in ascending order;
   AK_FILL_OFFSETS gives numbers in ascending order whose distances are a spread; AK_FILL_FILE gives
   the numbers of a file (check/npy.c). */
typedef enum ak_fill_kind {
    AK_FILL_UNIFORM,
    AK_FILL_NORMAL,
    AK_FILL_CONSTANT,
    AK_FILL_SPREAD,
    AK_FILL_CUTS,
    AK_FILL_OFFSETS,
    AK_FILL_FILE
} ak_fill_kind;

/* Returns the name of a kind: "uniform". */
const char *ak_fill_text(ak_fill_kind kind);
/* Returns whether the two numbers make sense for this kind: a range is not empty, a deviation is
   positive. A kind that has neither accepts all numbers. */
bool ak_fill_sane(ak_fill_kind kind, double a, double b);

typedef struct ak_tolerance_spec {
    ak_dtype dtype;
    const char *relative, *rms, *absolute; /* expressions over sizes, options and eps;
                                              check/compare.h */
} ak_tolerance_spec;

typedef struct ak_argument_spec {
    const char *name;
    bool dtype_follows; /* the argument has the task's dtype; else `dtype` */
    ak_dtype dtype;
    /* expression over the options and the task's dtype that gives the name of the argument's dtype;
       NULL: it does not depend on them. A task has the result (ak_task_argument_dtype). */
    const char *dtype_text;
    const char *shape[AK_RANK_MAX]; /* expressions over sizes and problem options */
    size_t rank;
    const char *pitch; /* expression: elements from one row to the next; NULL: rows adjoin */
    ak_access access;
    ak_tolerance_spec tolerance; /* for this output alone; `relative` is NULL if there is none */
    /* condition under which nothing reads the argument; NULL: it is always read */
    const char *unused;
    ak_fill_kind fill;
    bool fill_usual; /* problem.json has no "fill": -1 to 1, or 0 to 2 if the dtype is unsigned */
    /* The numbers of uniform(a, b), normal(mean, deviation), constant(a), spread(a, b), cuts(a, b)
       or offsets(a, b): expressions over the sizes and problem options (NULL: not needed), and
       their values at the default sizes. */
    const char *fill_text[2];
    double fill_a, fill_b;
    const char *fill_file; /* path, for AK_FILL_FILE */
} ak_argument_spec;

/* The compiler option for code that is launched at the task's own sizes only. With it, a source
   that has an entry specialised for these sizes may leave out the general entry, which halves the
   time to compile. */
#define AK_OWN_SIZE_ONLY "-DOWN_SIZE_ONLY=1"

/* The language of sources that are compiled separately from the C code that calls them. In the
   joined text they stand between these two lines. */
#define AK_LANGUAGE_FORTRAN "fortran"
#define AK_FORTRAN_BEGIN    "/* autokernel: Fortran begins here */"
#define AK_FORTRAN_END      "/* autokernel: Fortran ends here */"

typedef struct ak_implementation_spec {
    const char *name;     /* "host", "cuda_sm90": the stem of the space file */
    const char *backend;  /* "host": the part of the name before the first '_', or the backend
                             that runs the language */
    const char *language; /* in lower case: "c", "c++", "cuda"; "triton" if the file has none but is
                             named so; else NULL */
    const json_t *definition; /* the whole space file */
    const char *source;       /* joined text of the Include files and KernelFile, as the backend
                                 adapts it */
    const char *const *files; /* names of these files, in the same order */
    size_t file_count;
    const char *const *options; /* CompilerOptions */
    size_t option_count;
    const json_t *defines;    /* object of macros and expressions; NULL: none */
    const char *workspace;    /* expression, in bytes; "0" if the file has none */
    const char *threads;      /* expression; "1" if the file has none, "cpu_threads" for "openmp" */
    const char *rank;         /* "Rank" as a text (space/rank.h); NULL: the file has none */
    const char *kernel_name;  /* "ak_kernel" if the file has none, or if the backend adapts the
                                 source */
    const char *architecture; /* "sm_90a"; NULL: the device's */
    bool openmp;              /* compiled with -fopenmp; runs with the task's threads */
    bool rejects_spills;      /* code that spills more than 32 bytes of registers, or whose tensor
                                 instructions ptxas serialised, is rejected */
    const json_t *launch;     /* "Launch", for the backend; NULL: none */
    bool specialised;    /* it is in Triton or has an entry specialised for the task's own sizes */
    const json_t *needs; /* array of "Needs", conditions on the task; NULL: none */
    unsigned dtypes;     /* bit 1 << dtype is set for each dtype that it computes in; all bits
                            are set if the file has no "Dtypes" */
    const char *where;   /* path for messages */
} ak_implementation_spec;

/* Returns the "Language" of new kernels for this backend: "C", "CUDA". An unknown backend gets
   "C". */
const char *ak_backend_language(const char *backend);

/* Returns whether the implementation is written in Triton. */
bool ak_implementation_is_triton(const ak_implementation_spec *implementation);

/* The reference that results are compared with ("reference" in problem.json). */
typedef struct ak_reference_spec {
    const char *kind; /* a line of judge/references.def: "c", "python", "default" */
    const char *text; /* its name in outputs: "Python function reference.py:reference" */
    const char *name; /* name of the file ("c", "python") or implementation ("kernel"); else NULL */
    const char *function;                /* name of its function ("c", "python"); else NULL */
    const char *array[AK_ARGUMENTS_MAX]; /* paths ("arrays"); NULL for inputs */
} ak_reference_spec;

/* A baseline that the user supplies, besides the libraries ("baselines" in problem.json). It runs
   on the host. Exactly one of source, library and python is not NULL. */
#define AK_OWN_MAX           8
#define AK_FUNCTION_NAME_MAX 1023 /* bytes of a name, which may be a mangled C++ name */
typedef struct ak_own_baseline {
    const char *name;
    const char *source;    /* name of a C file in the kernel's folder */
    const char *library;   /* a shared library, by path or as the system finds it */
    const char *python;    /* name of a Python file in the kernel's folder */
    const char *text;      /* the content of the C or Python file; NULL for a library */
    const char *function;  /* NULL: a C file that defines ak_kernel */
    const json_t *launch;  /* {"Arguments": [...]}; NULL without a function, and for Python */
    const json_t *options; /* texts for the C compiler; NULL: the default options */
} ak_own_baseline;

/* A file of the kernel as it was read; the name is relative to the kernel's folder. */
typedef struct ak_kernel_file {
    const char *name, *text;
    size_t length;
    bool module; /* a Python module that the reference imports (modules.c) */
    bool beside; /* a Python module that a baseline imports */
} ak_kernel_file;

/* Says that each element of an output is a sum over one size, and that each of some inputs
   contributes a factor to every term ("few_terms" in problem.json). Where sums are long, a
   tolerance that grows with their length lets imprecise kernels pass. Candidates are therefore also
   checked on inputs that are mostly zero, with the tolerance for sums of `terms` terms. */
typedef struct ak_few_terms {
    int64_t terms; /* 0: the problem declares none */
    size_t size;   /* index of the size */
    size_t arguments[AK_ARGUMENTS_MAX], count;
} ak_few_terms;

struct ak_problem {
    const char *name, *description, *where;
    ak_size_spec sizes[AK_SIZES_MAX];
    size_t size_count;
    ak_dtype dtypes[AK_DTYPE_COUNT];
    size_t dtype_count;
    ak_choice_spec choices[AK_CHOICES_MAX];
    size_t choice_count;
    ak_argument_spec arguments[AK_ARGUMENTS_MAX];
    size_t argument_count;
    /* expressions over sizes, dtype_bytes, options and option indices (choice_NAME) */
    const char *flops, *bytes;
    ak_reference_spec reference;
    /* text of the reference's file, or its kind if it has no file; "": a space without a problem
       (T1) */
    const char *reference_source;
    const char *unread; /* unused members of a T1 file, separated by commas; NULL: none */
    const char *lacks;  /* why a T1 file cannot be run; NULL: it can, or this was not tried */
    const char *data;   /* a line with name and hash for each data file; "": none; NULL: a space
                           without a problem */
    const char *device_reference; /* text of reference.cu; NULL if there is none */
    ak_own_baseline own[AK_OWN_MAX];
    size_t own_count;
    ak_tolerance_spec tolerances[AK_DTYPE_COUNT];
    size_t tolerance_count;
    ak_few_terms few_terms;
    int64_t (*edge_cases)[AK_SIZES_MAX];
    size_t edge_case_count;
    int64_t tune_size[AK_SIZES_MAX];
    ak_implementation_spec *implementations;
    size_t implementation_count;
    bool builtin;
    ak_kernel_file *files; /* all that were read, in order */
    size_t file_count, file_capacity;
    /* these own what the members above point to, except the list `files` itself */
    struct ak_arena *arena;
    json_t **documents;
    size_t document_count, document_capacity;
};

/* Opens spec->kernel as ak_problem_open does. With spec->kept, a kernel with the name of a built-in
   one may differ from it, because it may be an earlier version of that kernel. */
ak_status ak_problem_open_spec(ak_problem **out, const ak_task_spec *spec, ak_error *err);

/* Makes a problem of which only the space is known from a document like that of a T1 file. An empty
   `name` becomes "space", and an empty `implementation` becomes the name. Takes ownership of the
   document, also on failure. */
ak_status ak_problem_of_space(ak_problem **out, const char *name, const char *implementation,
                              json_t *document, const char *where, ak_error *err);

/* Returns whether the problem has an argument that is read and written. Such an argument holds the
   right result only after a single run. */
bool ak_problem_works_in_place(const ak_problem *problem);

/* Returns whether the problem lists the dtype in "dtypes". */
bool ak_problem_has_dtype(const ak_problem *problem, ak_dtype dtype);

/* Fails with `status`, because the problem has no `what` ("size") of this name; suggests the
   nearest of the NULL-terminated names, or lists them. */
ak_status ak_problem_lacks(const ak_problem *problem, const char *what, const char *name,
                           const char *const *names, ak_status status, ak_error *err);
/* Finds an implementation by name. Returns AK_NOT_FOUND with the nearest name, or with all
   names. */
ak_status ak_problem_find(const ak_implementation_spec **out, const ak_problem *problem,
                          const char *name, ak_error *err);

/* Returns AK_INVALID, with what is missing, for a space without a problem: it can be listed and
   simulated, but there is nothing to compile, check or time. */
ak_status ak_problem_runnable(const ak_problem *problem, ak_error *err);

/* Returns true if a built-in kernel has this name. */
bool ak_problem_is_builtin(const char *name);
/* Sets *same to whether the problem computes the same as the built-in kernel with its name, and is
   checked in the same way. That built-in kernel must exist. */
ak_status ak_problem_is_as_builtin(bool *same, const ak_problem *problem, ak_error *err);
/* Calls `visit` with the name and the description of each built-in kernel, sorted by name. */
ak_status ak_problem_each_builtin(ak_list_visitor visit, void *context, ak_error *err);

#endif
