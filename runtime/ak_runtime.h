/*
 * ak_runtime.h: runs kernels that autokernel has tuned, on machines that have neither autokernel
 * nor a compiler. A bundle (FILE.akb, written by `autokernel export KERNEL --format bundle`) holds
 * the machine code of one problem for one or many sizes, what it needs, and what was measured.
 *
 *     akr_bundle *bundle;                                     once
 *     akr_open(&bundle, "matmul.akb", 0, &err);
 *     akr_pool_open(&pool, akr_describe(bundle)->threads, &err);
 *
 *     int64_t size[] = {1024, 1024, 1024};                    for each shape
 *     akr_query(&plan, bundle, size, &err);
 *     workspace = aligned_alloc(64, plan.workspace_bytes);
 *
 *     void *arg[] = {A, B, C, NULL};                          as often as you like
 *     akr_run(bundle, &plan, arg, workspace, plan.workspace_bytes, pool, &err);
 *
 * A bundle for a GPU takes addresses of GPU memory and a stream, and needs no pool:
 *
 *     akr_run_stream(bundle, &plan, arg, workspace, plan.workspace_bytes, stream, &err);
 *
 * Link with -ldl -lm -pthread. The runtime needs Linux and libc only; it compiles as C99 and as
 * C++.
 *
 * Conventions. A function that can fail returns akr_status and takes `akr_error *err` last, which
 * may be NULL. Out parameters come first and are not changed on failure. Arrays are row-major: the
 * last extent is contiguous. Names of sizes in bytes end in _bytes; extents, strides and pitches
 * count elements. A `const char *` lives at least as long as the bundle that it came from.
 *
 * Threads. A bundle does not change once it is open: any number of threads may query and run it at
 * once, each with its own workspace, outputs and pool. akr_run and akr_run_stream allocate nothing
 * and take no lock.
 *
 * GPUs. The driver, libcuda.so.1 or what AUTOKERNEL_LIBCUDA names, is loaded when a bundle for CUDA
 * is opened, except with AKR_LOOK. The code belongs to the context that is current in the thread
 * that opens it, such as the one that cudaSetDevice or PyTorch has made; without one, to the
 * primary context of device 0.
 *
 * Trust. Checksums detect damage, not malice. A bundle is a program: do not open a bundle that you
 * would not run.
 */
#ifndef AK_RUNTIME_H
#define AK_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef AKR_API
#define AKR_API __attribute__((visibility("default")))
#endif

/* The schema of bundles that this runtime reads. */
#define AKR_SCHEMA 1

/* X(NAME, text) */
#define AKR_STATUS_MAP(X)                                                                          \
    X(OK, "ok")                                                                                    \
    X(INVALID, "the call is not right")                                                            \
    X(NOT_FOUND, "there is no such file")                                                          \
    X(FOREIGN, "not a bundle, or of another schema")                                               \
    X(DAMAGED, "the bundle is damaged")                                                            \
    X(DEVICE, "this machine cannot run the bundle")                                                \
    X(UNSUPPORTED, "the bundle does not serve these sizes")                                        \
    X(DTYPE, "an argument has another dtype")                                                      \
    X(SHAPE, "an argument has another shape or layout")                                            \
    X(POINTER, "an argument is null, misaligned or overlaps another")                              \
    X(WORKSPACE, "the workspace is missing, misaligned or too small")                              \
    X(THREADS, "there are too few threads")                                                        \
    X(BUSY, "the pool is in use by another call")                                                  \
    X(NO_MEMORY, "out of memory")                                                                  \
    X(SYSTEM, "the system refused")                                                                \
    X(DRIVER, "the driver refused")

typedef enum akr_status {
#define AKR_STATUS_ENUM(name, text) AKR_##name,
    AKR_STATUS_MAP(AKR_STATUS_ENUM)
#undef AKR_STATUS_ENUM
} akr_status;

AKR_API const char *akr_status_text(akr_status status);

/* Describes a failure in one line: what is wrong, where, what to do. The caller owns it and need
   not initialise it. */
typedef struct akr_error {
    akr_status status;
    char text[256];
} akr_error;

#define AKR_SIZES_MAX     8
#define AKR_ARGUMENTS_MAX 16
#define AKR_RANK_MAX      4
#define AKR_ALIGNMENT     64  /* bytes; alignment of the workspace of a bundle for the CPU */
#define AKR_ALIGNMENT_GPU 256 /* bytes; the same for a GPU */
#define AKR_LAUNCH_WORDS  800 /* length of akr_plan.launch */

/* The dtypes. One line here defines a dtype for the whole project.
   X(NAME, text, kind, bytes, epsilon, type, numpy, scalar, dlpack, cuda):
     kind     FLOAT, or SIGNED or UNSIGNED whole numbers
     bytes    of an element
     epsilon  machine epsilon; 0 for whole numbers
     type     the C type of an element or, if C has none, of its bits
     numpy    its name in NumPy (with ml_dtypes) and PyTorch
     scalar   its name in a "Launch" if a value of it can be passed; "" if not
     dlpack   its DLDataTypeCode
     cuda     its CUtensorMapDataType or, if there is none, that of its bits
   New lines are added at the end, because the numbers are part of the binary interface. */
#define AKR_DTYPE_MAP(X)                                                                           \
    X(F16, "f16", FLOAT, 2, 9.765625e-4, uint16_t, "float16", "", 2, 6)                            \
    X(BF16, "bf16", FLOAT, 2, 7.8125e-3, uint16_t, "bfloat16", "", 4, 9)                           \
    X(F32, "f32", FLOAT, 4, 1.1920928955078125e-7, float, "float32", "Float32", 2, 7)              \
    X(F64, "f64", FLOAT, 8, 2.220446049250313e-16, double, "float64", "Float64", 2, 8)             \
    X(I32, "i32", SIGNED, 4, 0.0, int32_t, "int32", "Int32", 0, 3)                                 \
    X(E4M3, "e4m3", FLOAT, 1, 0.125, uint8_t, "float8_e4m3fn", "", 10, 0)                          \
    X(E5M2, "e5m2", FLOAT, 1, 0.25, uint8_t, "float8_e5m2", "", 12, 0)                             \
    X(I64, "i64", SIGNED, 8, 0.0, int64_t, "int64", "Int64", 0, 5)                                 \
    X(I8, "i8", SIGNED, 1, 0.0, int8_t, "int8", "Int8", 0, 0)                                      \
    X(U8, "u8", UNSIGNED, 1, 0.0, uint8_t, "uint8", "UInt8", 1, 0)                                 \
    X(I16, "i16", SIGNED, 2, 0.0, int16_t, "int16", "Int16", 0, 1)                                 \
    X(U16, "u16", UNSIGNED, 2, 0.0, uint16_t, "uint16", "UInt16", 1, 1)                            \
    X(U32, "u32", UNSIGNED, 4, 0.0, uint32_t, "uint32", "UInt32", 1, 2)                            \
    X(U64, "u64", UNSIGNED, 8, 0.0, uint64_t, "uint64", "UInt64", 1, 4)

typedef enum akr_dtype {
#define AKR_DTYPE_ENUM(name, ...) AKR_##name,
    AKR_DTYPE_MAP(AKR_DTYPE_ENUM)
#undef AKR_DTYPE_ENUM
} akr_dtype;
typedef enum akr_access { AKR_IN, AKR_OUT, AKR_INOUT } akr_access;
/* Each returns 0 or NULL if the number is not that of a dtype. */
AKR_API size_t akr_dtype_bytes(akr_dtype dtype);
AKR_API const char *akr_dtype_text(akr_dtype dtype);  /* "f32" */
AKR_API const char *akr_dtype_numpy(akr_dtype dtype); /* "float32" */

/* ---- opening -------------------------------------------------------------------------------- */

typedef struct akr_bundle akr_bundle;

/* Flag of akr_open: loads no code and does not check the machine. The bundle can be described and
   queried, but akr_run refuses it. */
#define AKR_LOOK 1
/* Flag of akr_open: loads no code either, but fails unless this machine can run the bundle. */
#define AKR_FIT 2
/* Opens a bundle: a file, or the folder to which such a file was unpacked. Checks that it is whole
   and that this machine can run it, and loads its code; a flag from above in place of 0 leaves out
   some of this. The caller ends it with akr_close. */
AKR_API akr_status akr_open(akr_bundle **out, const char *path, int flags, akr_error *err);
/* Does the same with the bytes of a file, which are not needed after this call. */
AKR_API akr_status akr_open_memory(akr_bundle **out, const void *bytes, size_t length, int flags,
                                   akr_error *err);
/* Closes the bundle, which no other call may be using. `bundle` may be NULL. */
AKR_API void akr_close(akr_bundle *bundle);

typedef struct akr_argument {
    const char *name;
    akr_dtype dtype;
    akr_access access;
    int rank;         /* extents, 0 to AKR_RANK_MAX; 0 is a single element */
    size_t alignment; /* bytes; alignment of its first element */
    int unused;       /* 1: the kernel does not use it with the bundle's options; it may be NULL */
} akr_argument;

typedef struct akr_info {
    const char *name;    /* "matmul_f32", a C identifier */
    const char *kernel;  /* "matmul" */
    const char *backend; /* "host" or "cuda" */
    const char *dtype;   /* "f32" */
    const char *options; /* options of the problem: "layout=nn,alpha=1", "" if it has none */
    const char *json;    /* bundle.json, the whole description (docs/formats.md) */
    int size_count;
    const char *size_name[AKR_SIZES_MAX]; /* in the order of every `size` */
    int argument_count;
    akr_argument argument[AKR_ARGUMENTS_MAX]; /* in the order of every `arg` */
    int variant_count;
    int measured_count; /* sizes that were measured, see akr_measured_size */
    int threads;        /* a pool of this many threads serves every measured size */
    size_t alignment;   /* bytes; alignment of the workspace */
} akr_info;

/* Returns the description of a bundle, which lives as long as the bundle. */
AKR_API const akr_info *akr_describe(const akr_bundle *bundle);
/* Returns a measured size, which is `size_count` numbers; NULL past the last one. */
AKR_API const int64_t *akr_measured_size(const akr_bundle *bundle, int index);

/* ---- asking --------------------------------------------------------------------------------- */

/* Says how the bundle serves one set of sizes. A plan is plain data: the caller may copy it but
   must not change it. It is valid for this bundle until akr_close. */
typedef struct akr_plan {
    const akr_bundle *bundle;
    int variant;
    int measured; /* 1: these sizes were measured. 0: the variant is from the nearest measured
                     sizes whose variant is right here, too; it need not be the fastest */
    int threads;  /* threads that a pool must have, 1 or more */
    size_t workspace_bytes; /* 0: none is needed */
    int64_t size[AKR_SIZES_MAX];
    int64_t extent[AKR_ARGUMENTS_MAX][AKR_RANK_MAX];
    int64_t pitch[AKR_ARGUMENTS_MAX]; /* distance from one row to the next */
    size_t bytes[AKR_ARGUMENTS_MAX];  /* from the first element to the last, gaps included */
    int kernels;                      /* launches of one run; 0 if the bundle is for the CPU */
    int64_t launch[AKR_LAUNCH_WORDS]; /* private to the runtime: what these launches need */
} akr_plan;

/* Finds how the bundle serves these sizes. `size` has one number for each of the bundle's sizes.
   Fails with AKR_UNSUPPORTED if no variant gives right results for them. */
AKR_API akr_status akr_query(akr_plan *out, const akr_bundle *bundle, const int64_t *size,
                             akr_error *err);

typedef struct akr_tensor {
    void *data;
    akr_dtype dtype;
    int rank;
    int64_t shape[AKR_RANK_MAX];
    int64_t stride[AKR_RANK_MAX]; /* distance from one element to the next along each extent */
} akr_tensor;

/* Does what akr_query does, but takes the sizes from the shapes of all `count` arguments, in order.
   Dtypes and strides must fit, too, except that a single element may have any rank and strides.
   Fails with AKR_SHAPE if the shapes do not determine every size. The data is not read. An unused
   argument may have a rank of -1. */
AKR_API akr_status akr_match(akr_plan *out, const akr_bundle *bundle, const akr_tensor *tensors,
                             int count, akr_error *err);

/* ---- running -------------------------------------------------------------------------------- */

/* A pool of threads that wait for work. The caller of akr_run is one of them. A pool serves one
   call at a time: a second call at the same time gets AKR_BUSY. Idle threads spin for 0.1 ms, or
   not at all if the process may use fewer processors than the pool has threads, and then sleep.
   The child of a fork does not have its parent's pools: a run with one gets AKR_THREADS, and the
   child opens its own. */
typedef struct akr_pool akr_pool;
AKR_API akr_status akr_pool_open(akr_pool **out, int threads, akr_error *err);
/* Ends the threads of a pool, which no call may be using. `pool` may be NULL. */
AKR_API void akr_pool_close(akr_pool *pool);

/* Lets akr_run_team use the program's own threads in place of a pool. `parallel` runs task(context,
   0..n-1, n) on n <= threads threads at the same time and returns when all have ended; `barrier`
   returns when all n threads have called it. */
typedef struct akr_team {
    int threads;
    void (*parallel)(void *pool, int n, void (*task)(void *context, int thread, int n),
                     void *context);
    void (*barrier)(void *pool);
    void *pool;
} akr_team;

/* Runs the kernel and returns when it has ended. `arg` has the address of each argument's first
   element; an argument that is written must not overlap any other, and no argument the workspace.
   The workspace has `workspace_bytes` >= plan->workspace_bytes and is aligned to AKR_ALIGNMENT; its
   contents are overwritten. `pool` may be NULL if plan->threads is 1. */
AKR_API akr_status akr_run(const akr_bundle *bundle, const akr_plan *plan, void *const *arg,
                           void *workspace, size_t workspace_bytes, akr_pool *pool, akr_error *err);
/* Does the same on the threads of `team`, which may be NULL if plan->threads is 1. */
AKR_API akr_status akr_run_team(const akr_bundle *bundle, const akr_plan *plan, void *const *arg,
                                void *workspace, size_t workspace_bytes, const akr_team *team,
                                akr_error *err);

/* Enqueues one run on a GPU in `stream` (a CUstream or cudaStream_t; NULL is the default stream)
   and returns at once. It neither waits nor allocates, so a graph may capture it. `arg` and
   `workspace` are addresses of the device's memory. The workspace is aligned to AKR_ALIGNMENT_GPU
   and belongs to this plan: it must be zero before the first run with the plan, each run leaves in
   it what the next one expects, and runs that could overlap in time each need their own. */
AKR_API akr_status akr_run_stream(const akr_bundle *bundle, const akr_plan *plan, void *const *arg,
                                  void *workspace, size_t workspace_bytes, void *stream,
                                  akr_error *err);

/* The arguments of akr_run_stream as one structure, for languages in which each argument of a call
   takes time. For a bundle for the CPU, `stream` is the pool of akr_run. */
typedef struct akr_call {
    const akr_bundle *bundle;
    const akr_plan *plan;
    void *const *arg;
    void *workspace;
    size_t workspace_bytes;
    void *stream;
    akr_error *err;
} akr_call;
AKR_API akr_status akr_run_call(const akr_call *call);

/* Writes the SHA-256 (FIPS 180-4) of the data as 64 hexadecimal digits, the checksum in bundles. */
AKR_API void akr_sha256(char out[65], const void *data, size_t length);

#ifdef __cplusplus
}
#endif
#endif
