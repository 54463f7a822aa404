/*
 * launch.h: describes as data how a kernel is launched on a grid: the "Launch" of a space file
 * (docs/formats.md), which the backends cuda and opencl share. Grid, block, cluster, shared memory,
 * tensor maps and arguments are expressions over sizes, options, device facts and parameters, so
 * that an implementation is device code and numbers, and never host code that the harness would
 * have to trust.
 *
 *     ak_launch_evaluate(&plan, task, shape, config, resident, err)
 *
 * A plan holds no addresses of device memory: it names buffers by the index of the argument, and
 * the launching code (cuda_kernel.c, opencl_launch.c) replaces them by addresses.
 */
#ifndef AK_BACKEND_LAUNCH_LAUNCH_H
#define AK_BACKEND_LAUNCH_LAUNCH_H

#include "base/hash.h"
#include "problem/backend_rules.h"
#include "problem/task.h"

#define AK_LAUNCH_KERNELS_MAX   4 /* kernels that run one after the other */
#define AK_LAUNCH_MAPS_MAX      8
#define AK_LAUNCH_ARGUMENTS_MAX 32
#define AK_LAUNCH_CONSTANTS_MAX 8
/* The hardware allows at most this many dimensions in a tensor map. */
#define AK_LAUNCH_RANK_MAX 5

/* A tensor map: a view of a buffer for the GPU's tensor copy engine. Sizes and box are in elements,
   the innermost dimension first; strides are in bytes, from dimension 1 on. */
typedef struct ak_launch_map {
    size_t argument;   /* index of the problem's argument */
    bool used;         /* false: the kernel gets a map of zeros */
    bool in_workspace; /* describes a copy of the argument, `offset` bytes into the workspace */
    uint64_t offset;
    unsigned rank;
    uint64_t size[AK_LAUNCH_RANK_MAX], stride[AK_LAUNCH_RANK_MAX];
    uint32_t box[AK_LAUNCH_RANK_MAX];
    int swizzle; /* in bytes: 0, 32, 64 or 128 */
    /* Bytes that are fetched into the level 2 cache at a time: 0, 64, 128 or 256. */
    int promotion;
} ak_launch_map;

typedef enum ak_pass_kind {
    AK_PASS_BUFFER, /* address of problem argument `index` */
    AK_PASS_WORKSPACE,
    AK_PASS_NULL,
    AK_PASS_MAP,  /* tensor map `index` of the kernel, by value */
    AK_PASS_VALUE /* a number of type `dtype` */
} ak_pass_kind;

typedef struct ak_pass {
    ak_pass_kind kind;
    size_t index;
    ak_dtype dtype;
    int64_t integer; /* the value, if `dtype` is an integer type */
    double real;     /* the value, if it is a floating-point type */
} ak_pass;

/* Writes a value as the kernel gets it, and returns its size in bytes. */
size_t ak_pass_encode(void *out, const ak_pass *pass);

typedef struct ak_launch_kernel {
    const char *name; /* entry of the artifact; borrowed from the space file or the artifact */
    uint32_t grid[3], block[3], cluster[3];
    uint32_t shared_bytes; /* of dynamic shared memory */
    bool early;            /* it may begin before the kernel in front of it has ended (programmatic
                              dependent launch) */
    ak_launch_map maps[AK_LAUNCH_MAPS_MAX];
    size_t map_count;
    ak_pass passes[AK_LAUNCH_ARGUMENTS_MAX];
    size_t pass_count;
    /* Problem arguments that the kernel reads as `__constant__` variables of the module. Each is
       copied to the variable of its name before a batch, not before each run. */
    size_t constants[AK_LAUNCH_CONSTANTS_MAX];
    size_t constant_count;
} ak_launch_kernel;

typedef struct ak_launch_plan {
    ak_launch_kernel kernels[AK_LAUNCH_KERNELS_MAX];
    size_t count;
} ak_launch_plan;

/* Gives how many clusters (blocks, if a cluster is one block) of the kernel the device runs at
   once, which depends on the compiled code. The kernel's block, cluster and shared memory are set
   before the call. */
typedef struct ak_launch_resident {
    ak_status (*ask)(int64_t *out, void *context, const ak_launch_kernel *kernel, ak_error *err);
    void *context;
} ak_launch_resident;

/* Finds mistakes in a "Launch" when the space file is loaded: unknown or missing keys, expressions
   that do not parse, arguments that the problem does not have. Without `needs_block` the compiler
   decides the block. */
ak_status ak_launch_check(const json_t *launch, bool needs_block, const ak_problem *problem,
                          const char *where, ak_error *err);

/* Returns whether a kernel of the "Launch" has a specialised entry (SizedKernelName). */
bool ak_launch_is_specialised(const json_t *launch);

/* Evaluates the "Launch". Returns AK_INVALID, with a reason, for a plan that cannot be launched,
   such as a grid of 0 or a box larger than 256. `resident` may be NULL; an expression that uses
   resident_clusters then fails. */
ak_status ak_launch_evaluate(ak_launch_plan *out, const ak_task *task, const ak_shape *shape,
                             const ak_config *config, const ak_launch_resident *resident,
                             ak_error *err);

/* Adds all parts of a plan that are in use to a hash. */
void ak_launch_add(ak_hasher *hasher, const ak_launch_plan *plan);

#endif
