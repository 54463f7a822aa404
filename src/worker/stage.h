/*
 * stage.h: one shape of a problem, made ready to be run and judged: inputs, the right outputs, and
 * the place of all arguments in the device's memory.
 *
 *     ak_stage_set(stage, round, err)     inputs as they should be, outputs poisoned
 *     ... launch ...
 *     ak_stage_judge(...)                 red zones whole, inputs untouched, outputs right?
 *
 * Several stages share a device's block: the task's own shape has a place of its own, the awkward
 * shapes take turns in another.
 */
#ifndef AK_WORKER_STAGE_H
#define AK_WORKER_STAGE_H

#include "backend/backend.h"
#include "check/compare.h"
#include "worker/reference.h"

/* A device's memory as the stages see it: the block itself where it is mapped, else a copy. */
typedef struct ak_stage_memory {
    const ak_backend_ops *backend;
    ak_device *device;
    unsigned char *bytes;         /* of the block, or of the copy */
    unsigned char *copy;          /* owned; NULL where the block is mapped */
    struct ak_stage *resident[2]; /* whose inputs lie in each place */
} ak_stage_memory;

typedef struct ak_stage {
    ak_stage_memory *memory;
    const ak_task *task;
    ak_shape shape;
    int place;                         /* 0: own, 1: shared by the awkward shapes */
    size_t base, total;                /* of the place in the block */
    size_t relative[AK_ARGUMENTS_MAX]; /* of each argument in the place */
    size_t offset[AK_ARGUMENTS_MAX];   /* of each argument in the block */
    bool ready;                        /* what follows has been computed */
    void *inputs[AK_ARGUMENTS_MAX];    /* bytes of what is read; NULL for outputs */
    uint64_t hash[AK_ARGUMENTS_MAX];
    double *reference[AK_ARGUMENTS_MAX]; /* of what is written; NULL for inputs */
    void *accepted[AK_ARGUMENTS_MAX];    /* outputs that passed, of the candidate at work */
    bool has_accepted;
    double slack; /* outputs may be off by this many times the tolerance; 1 for candidates */
} ak_stage;

/* Sizes and places only. */
ak_status ak_stage_plan(ak_stage *stage, ak_stage_memory *memory, const ak_task *task,
                        const int64_t *size, int place, size_t base, ak_error *err);
/* Inputs and reference. `stream` sets the inputs apart from those of other stages. With `selftest`,
   also asks whether the tolerance tells right from wrong here. */
ak_status ak_stage_prepare(ak_stage *stage, ak_reference *reference, uint64_t stream, bool selftest,
                           ak_error *err);
void ak_stage_free(ak_stage *stage);

ak_status ak_stage_set(ak_stage *stage, unsigned round, ak_error *err);
/* A new candidate: outputs that passed before were another's. */
void ak_stage_forget(ak_stage *stage);
/* Writes status and reason ("at M=7,N=33,K=1: C[17]: got ...") unless all is right; max_error
   grows. `quick`: outputs that equal those accepted before need no comparison. */
ak_status ak_stage_judge(ak_outcome *out, double *max_error, ak_stage *stage, bool quick,
                         ak_error *err);
/* Has the problem arguments that are read and written? Then an output is right after one run only.
 */
bool ak_stage_in_place(const ak_stage *stage);

#endif
