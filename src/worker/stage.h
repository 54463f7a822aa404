/*
 * stage.h: one shape of a problem, made ready to be run and judged: inputs, the right outputs, and
 * the place of all arguments in the device's memory.
 *
 *     ak_stage_set(stage, round, err)     inputs as they should be, outputs poisoned
 *     ... launch ...
 *     ak_stage_judge(...)                 red zones whole, inputs untouched, outputs right?
 *
 * Where rows do not adjoin, what is between them is as forbidden as the red zones: inputs have NaN
 * there, outputs must come back with it as it was.
 *
 * Several stages share a device's block: the task's own shape has a place for each set of inputs,
 * the awkward shapes take turns in another.
 *
 * Who judges. On the host: the outputs are fetched and compared with what reference.c computed
 * (stage.c). Where the backend has a referee and the arrays are large, on the device, where the
 * reference lies, too (stage_referee.c); before such a referee is believed, it is held against
 * reference.c on every awkward shape, in whole, and on some rows of the shape itself.
 */
#ifndef AK_WORKER_STAGE_H
#define AK_WORKER_STAGE_H

#include "backend/backend.h"
#include "check/compare.h"
#include "worker/reference.h"

/* Sets of inputs at the task's own shape. What a candidate remembers of one set is wrong for the
   other. */
#define AK_STAGE_SETS 2

/* A device's memory as the stages see it: the block itself where it is mapped, else a copy. */
typedef struct ak_stage_memory {
    const ak_backend_ops *backend;
    ak_device *device;
    unsigned char *bytes;                         /* of the block, or of the copy */
    unsigned char *copy;                          /* owned; NULL where the block is mapped */
    struct ak_stage *resident[AK_STAGE_SETS + 1]; /* whose inputs lie in each place */
} ak_stage_memory;

typedef struct ak_stage {
    ak_stage_memory *memory;
    const ak_task *task;
    ak_shape shape;
    int place;                         /* AK_STAGE_SETS: shared by the awkward shapes */
    size_t base, total;                /* of the place in the block */
    size_t relative[AK_ARGUMENTS_MAX]; /* of each argument in the place */
    size_t offset[AK_ARGUMENTS_MAX];   /* of each argument in the block */
    bool ready;                        /* what follows has been computed */
    void *inputs[AK_ARGUMENTS_MAX];    /* bytes of what is read, and of what is between its rows;
                                          NULL for outputs */
    uint64_t hash[AK_ARGUMENTS_MAX];
    double *reference[AK_ARGUMENTS_MAX]; /* of what is written; NULL for inputs */
    void *rows[AK_ARGUMENTS_MAX];        /* an output without what is between its rows; NULL where
                                            they adjoin */
    void *accepted[AK_ARGUMENTS_MAX];    /* outputs that passed, of the candidate at work, without
                                            what is between their rows */
    bool has_accepted;
    double slack; /* outputs may be off by this many times the tolerance; 1 for candidates */
    /* judged on the device: of the above only inputs and hash (the referee's) are there */
    ak_referee *referee; /* NULL: on the host */
} ak_stage;

/* What opening the device and making a stage ready took. */
typedef struct ak_stage_times {
    int64_t device_ns, inputs_ns, upload_ns, reference_ns, witness_ns, selftest_ns;
} ak_stage_times;

/* Sizes and places only. */
ak_status ak_stage_plan(ak_stage *stage, ak_stage_memory *memory, const ak_task *task,
                        const int64_t *size, int place, size_t base, ak_error *err);
/* Inputs and reference. `stream` sets the inputs apart from those of other stages. With `selftest`,
   also asks whether the tolerance tells right from wrong here. */
ak_status ak_stage_prepare(ak_stage *stage, ak_reference *reference, uint64_t stream, bool selftest,
                           ak_error *err);
/* The same, to be judged on the device. AK_UNAVAILABLE if that cannot be, and nothing has changed.
 */
ak_status ak_stage_prepare_referee(ak_stage *stage, ak_reference *reference, uint64_t stream,
                                   bool selftest, ak_stage_times *times, ak_error *err);
/* Holds the device's reference against that of a stage which is ready on the host. AK_INVALID where
   they differ. */
ak_status ak_stage_witness(ak_stage *stage, ak_error *err);
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

/* ---- for stage.c and stage_referee.c ---- */

ak_dtype ak_stage_dtype(const ak_stage *stage, size_t argument);
ak_access ak_stage_access(const ak_stage *stage, size_t argument);
static inline size_t ak_stage_arguments(const ak_stage *stage)
{
    return stage->task->problem->argument_count;
}
/* Nothing can be believed to lie where it was put: it is put there again before it is used. */
static inline void ak_stage_spoilt(ak_stage_memory *memory)
{
    for (size_t place = 0; place <= AK_STAGE_SETS; place++) {
        memory->resident[place] = NULL;
    }
}
/* The bytes of all inputs of a stage, and their values in `arrays` unless NULL, which has an array
   for each argument that is read. */
ak_status ak_stage_make_inputs(ak_stage *stage, ak_reference *reference, double *const *arrays,
                               uint64_t stream, ak_error *err);
ak_status ak_stage_upload(const ak_stage *stage, size_t offset, const void *data, size_t bytes,
                          ak_error *err);
/* "at M=7,N=33,K=1: ..." */
void ak_stage_wrong(ak_outcome *out, const ak_stage *stage, const char *text);
void ak_stage_size_text(char *out, size_t bytes, const ak_stage *stage);
/* Are the red zones whole, by what lies in memory->bytes? Says so if not. */
bool ak_stage_zones_whole(ak_outcome *out, ak_stage *stage);
void ak_stage_changes_input(ak_outcome *out, ak_stage *stage, size_t argument);
void ak_stage_between_rows(ak_outcome *out, ak_stage *stage, size_t argument);
/* Of elements first .. first + count of an argument, how many lie together from the first on, and
   where that one lies, in elements from the start. */
size_t ak_stage_run(size_t *length, const ak_stage *stage, size_t argument, size_t first,
                    size_t count);
/* Elements first .. first + count of an input. */
void ak_stage_decode(double *out, const ak_stage *stage, size_t argument, size_t first,
                     size_t count);
ak_status ak_stage_paint_referee(ak_stage *stage, ak_error *err);
ak_status ak_stage_judge_referee(ak_outcome *out, double *max_error, ak_stage *stage,
                                 ak_error *err);

#endif
