/*
 * launch.h: how a kernel of a GPU implementation is started, as data: the "Launch" of a space file
 * (docs/formats.md). Grid, block, cluster, shared memory, tensor maps and arguments are expressions
 * over sizes, choices, device facts and parameters, so that an implementation is device code and
 * numbers, and never host code that the harness would have to trust.
 *
 *     ak_launch_evaluate(&plan, task, shape, config, resident, context, err)
 *
 * A plan holds no pointers into memory of the device: buffers are named by the index of the
 * argument, and whoever launches puts addresses in their place.
 */
#ifndef AK_PROBLEM_LAUNCH_H
#define AK_PROBLEM_LAUNCH_H

#include "problem/task.h"

#define AK_LAUNCH_KERNELS_MAX   4  /* kernels that run one after the other */
#define AK_LAUNCH_LET_MAX       64 /* named intermediate values */
#define AK_LAUNCH_MAPS_MAX      8
#define AK_LAUNCH_ARGUMENTS_MAX 32
#define AK_LAUNCH_RANK_MAX      5 /* dimensions of a tensor map: what the hardware has */

/* The compiler's option for code that is started at the task's own sizes only, of an implementation
   with an entry for just these: the source may leave out the entry for all others, and compiling
   then takes half as long. */
#define AK_LAUNCH_OWN_SIZE_ONLY "-DOWN_SIZE_ONLY=1"

/* A view of a buffer for the tensor copy engine. Sizes and box in elements, innermost first;
   strides in bytes, of dimension 1 and up. */
typedef struct ak_launch_map {
    size_t argument;   /* of the problem */
    bool used;         /* false: all bytes zero */
    bool in_workspace; /* of a copy of the argument, `offset` bytes into the workspace */
    uint64_t offset;
    unsigned rank;
    uint64_t size[AK_LAUNCH_RANK_MAX], stride[AK_LAUNCH_RANK_MAX];
    uint32_t box[AK_LAUNCH_RANK_MAX];
    int swizzle;   /* bytes: 0, 32, 64, 128 */
    int promotion; /* bytes fetched into the level 2 cache at a time: 0, 64, 128, 256 */
} ak_launch_map;

typedef enum ak_pass_kind {
    AK_PASS_BUFFER, /* address of problem argument `index` */
    AK_PASS_WORKSPACE,
    AK_PASS_NULL,
    AK_PASS_MAP, /* tensor map `index` of the plan, by value */
    AK_PASS_I32,
    AK_PASS_I64,
    AK_PASS_F32,
    AK_PASS_F64
} ak_pass_kind;

typedef struct ak_pass {
    ak_pass_kind kind;
    size_t index;
    int64_t integer; /* I32, I64 */
    double real;     /* F32, F64 */
} ak_pass;

typedef struct ak_launch_kernel {
    const char *name; /* entry of the artifact; borrowed from the space file */
    uint32_t grid[3], block[3], cluster[3];
    uint32_t shared_bytes; /* dynamic */
    bool early;            /* programmatic dependent launch */
    ak_launch_map maps[AK_LAUNCH_MAPS_MAX];
    size_t map_count;
    ak_pass passes[AK_LAUNCH_ARGUMENTS_MAX];
    size_t pass_count;
} ak_launch_kernel;

typedef struct ak_launch_plan {
    ak_launch_kernel kernels[AK_LAUNCH_KERNELS_MAX];
    size_t count;
} ak_launch_plan;

/* How many clusters (blocks, if the cluster is 1) of this kernel the device holds at once: known
   only of compiled code. Block, cluster and shared memory are filled in. */
typedef ak_status (*ak_launch_resident)(int64_t *out, void *context, const ak_launch_kernel *kernel,
                                        ak_error *err);

/* Finds mistakes in a "Launch" when the space file is loaded: unknown or missing keys, expressions
   that do not parse, arguments that the problem has not. */
ak_status ak_launch_check(const json_t *launch, const ak_problem *problem, const char *where,
                          ak_error *err);

/* Has one of its kernels an entry of its own for the task's sizes (SizedKernelName)? */
bool ak_launch_is_sized(const json_t *launch);

/* AK_INVALID, with a reason, for what cannot be launched: a grid of 0, a box larger than 256.
   `resident` may be NULL: then an expression that asks for resident_clusters fails. */
ak_status ak_launch_evaluate(ak_launch_plan *out, const ak_task *task, const ak_shape *shape,
                             const ak_config *config, ak_launch_resident resident, void *context,
                             ak_error *err);

#endif
