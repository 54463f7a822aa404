/*
 * cuda_referee.c: the reference and the comparison on the device; see ak_referee in backend.h and
 * cuda_referee.cu, which is the device's part.
 *
 *     ak_reference    the kernel's reference.cu: writes outputs in double to memory of the referee
 *     ak_seal         masks the outputs with a key that no candidate knows, and hashes them
 *     ak_squares      adds up the squares of an output, for its root mean square
 *     ak_paint        paints the gaps between the rows of an output, which nothing may change
 *     ak_examine      compares an output with the reference, and hashes the reference again, to
 *                     reveal damage to it
 *     ak_fingerprint  computes a keyed hash of an argument
 *
 * Each block writes its findings into an entry of an array, and the host combines the entries.
 * There are no atomics, so the same arrays always give the same result.
 */
#include "backend/cuda/cuda_device.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/number.h"
#include "check/guard.h"
#include "check/inputs.h"

#define REFEREE_THREADS 256 /* as THREADS in cuda_referee.cu */
#define BLOCKS_PER_SM   8   /* 2048 threads: the most that an SM holds */
/* Each block gets at most this many elements of the largest array, or more if BLOCKS_PER_SM limits
   the blocks. */
#define BLOCK_ELEMENTS ((size_t)256 * REFEREE_THREADS)
/* A product of 16384^3 takes 20 s where double precision is slow. */
#define REFEREE_TIMEOUT (120 * AK_SECOND_NS)

/* Must match `finding` in cuda_referee.cu. */
typedef struct ak_cuda_finding {
    uint64_t hash, bad, unwritten, first, strays, finite, nans;
    double worst, squares;
} finding;

/* Shared bytes of a block: a finding for each thread. The tiles of product_tile, 64 x 17 and 16 x
   64 doubles, need less. */
#define REFEREE_SHARED (REFEREE_THREADS * sizeof(finding))

typedef enum referee_kernel {
    REFERENCE,
    SEAL,
    SQUARES,
    PAINT,
    EXAMINE,
    FINGERPRINT,
    KERNELS
} kernel;
static const char *const kernel_names[KERNELS] = {"ak_reference", "ak_seal",    "ak_squares",
                                                  "ak_paint",     "ak_examine", "ak_fingerprint"};

struct ak_cuda_referee_code {
    void *module;
    void *functions[KERNELS];
    uint32_t blocks; /* largest number of blocks in one launch */
    ak_cuda_address findings;
    finding *found; /* one per block */
};

struct ak_referee {
    ak_device *device;
    ak_shape shape;
    size_t offset[AK_ARGUMENTS_MAX];
    uint64_t key;
    ak_cuda_address reference[AK_ARGUMENTS_MAX]; /* masked; 0 for inputs */
    uint64_t hash[AK_ARGUMENTS_MAX];
    size_t nans[AK_ARGUMENTS_MAX];
    double rms[AK_ARGUMENTS_MAX];
    ak_guard_stream gaps[AK_ARGUMENTS_MAX]; /* content between the rows of outputs */
};

/* ---- the code -------------------------------------------------------------------------------- */

void ak_cuda_referee_close(ak_device *device)
{
    ak_cuda_referee_code *code = device->referee;
    if (code == NULL) {
        return;
    }
    if (!device->lost) {
        if (code->findings != 0) {
            (void)device->cuda->memory_free(code->findings);
        }
        if (code->module != NULL) {
            (void)device->cuda->module_unload(code->module);
        }
    }
    ak_free(code->found);
    ak_free(code);
    device->referee = NULL;
}

static ak_status compile(ak_cuda_referee_code *code, ak_device *device, ak_error *err)
{
    static const char *const parts[] = {"src/backend/cuda/cuda_referee.cu"};
    const ak_task *task = device->task;
    char choices[AK_CHOICES_MAX][160];
    const char *options[AK_CHOICES_MAX + 1];
    size_t count = 0;
    options[count++] = "--fmad=false"; /* to compute the same numbers as compare.c */
    for (size_t i = 0; i < task->problem->choice_count; i++) {
        const ak_choice_spec *choice = &task->problem->choices[i];
        if (choice->kind == AK_CHOICE_TEXT) {
            (void)snprintf(choices[i], sizeof choices[i], "-D%.63s_is_%.63s=1", choice->name,
                           choice->values[task->choice[i]]);
        } else { /* %.17e keeps all digits and makes a literal of type double */
            (void)ak_number_print(choices[i], sizeof choices[i], "-Dchoice_%.63s=(%.17e)",
                                  choice->name, task->number[i]);
        }
        options[count++] = choices[i];
    }
    const ak_cuda_source_parts source = {.parts = parts,
                                         .count = 1,
                                         .text = task->problem->device_reference,
                                         .dtype = task->dtype,
                                         .options = options,
                                         .option_count = count};
    AK_DO(ak_cuda_helper(&code->module, device, &source, err));
    for (size_t i = 0; i < KERNELS; i++) {
        AK_FAIL_IF(
            device->cuda->module_function(&code->functions[i], code->module, kernel_names[i]) != 0,
            err, AK_INVALID, "%s: reference.cu has no kernel %s", task->problem->name,
            kernel_names[i]);
    }
    return AK_OK;
}

static ak_status open_code(ak_device *device, ak_error *err)
{
    if (device->referee != NULL) {
        return AK_OK;
    }
    ak_cuda_referee_code *code;
    AK_DO(AK_NEW(code, 1, err));
    device->referee = code;
    code->blocks = (uint32_t)(device->sm_count > 0 ? device->sm_count : 1) * BLOCKS_PER_SM;
    code->found = ak_alloc(code->blocks, sizeof *code->found);
    ak_status status = AK_OK;
    AK_TRY(code->found == NULL ? ak_fail_memory(err) : compile(code, device, err));
    int failed = device->cuda->memory_alloc(&code->findings, code->blocks * sizeof(finding));
    AK_TRY(ak_cuda_fail(device, failed, "memory for the referee", err));
out:
    if (status != AK_OK) {
        ak_cuda_referee_close(device);
    }
    return status;
}

/* ---- running --------------------------------------------------------------------------------- */

static uint32_t blocks_for(const ak_cuda_referee_code *code, size_t elements)
{
    size_t blocks = elements / BLOCK_ELEMENTS + 1;
    return blocks < code->blocks ? (uint32_t)blocks : code->blocks;
}

/* Runs a kernel and waits for it. `elements` is how many elements (or words or bytes) its largest
   array has, which decides the number of blocks. */
static ak_status run(const ak_referee *referee, kernel which, void **arguments, size_t elements,
                     ak_error *err)
{
    ak_device *device = referee->device;
    const ak_cuda_referee_code *code = device->referee;
    ak_cuda_launch_config config = {.grid = {blocks_for(code, elements), 1, 1},
                                    .block = {REFEREE_THREADS, 1, 1},
                                    .shared_bytes = REFEREE_SHARED,
                                    .stream = device->stream};
    AK_FAIL_IF(device->lost, err, AK_CRASHED, "the device is lost: %s", device->why);
    int failed =
        device->cuda->set8(code->findings, 0xff, code->blocks * sizeof(finding), device->stream);
    failed = failed == 0 ? device->cuda->launch(&config, code->functions[which], arguments, NULL)
                         : failed;
    failed = failed == 0 ? ak_cuda_wait(device, REFEREE_TIMEOUT) : failed;
    return ak_cuda_fail(device, failed, kernel_names[which], err);
}

/* Runs a kernel that writes findings, and combines them in *out. */
static ak_status find(finding *out, const ak_referee *referee, kernel which, void **arguments,
                      size_t elements, ak_error *err)
{
    ak_device *device = referee->device;
    ak_cuda_referee_code *code = device->referee;
    size_t blocks = blocks_for(code, elements);
    *out = (finding){.first = UINT64_MAX};
    AK_DO(run(referee, which, arguments, elements, err));
    int failed = device->cuda->download(code->found, code->findings, blocks * sizeof(finding),
                                        device->stream);
    failed = failed == 0 ? ak_cuda_wait(device, REFEREE_TIMEOUT) : failed;
    AK_DO(ak_cuda_fail(device, failed, kernel_names[which], err));
    for (size_t i = 0; i < blocks; i++) {
        const finding *f = &code->found[i];
        out->hash += f->hash;
        out->bad += f->bad;
        out->unwritten += f->unwritten;
        out->strays += f->strays;
        out->first = f->first < out->first ? f->first : out->first;
        out->finite += f->finite;
        out->nans += f->nans;
        out->worst = f->worst > out->worst ? f->worst : out->worst;
        out->squares += f->squares;
    }
    return AK_OK;
}

/* ---- the reference --------------------------------------------------------------------------- */

static const ak_argument_spec *spec_of(const ak_referee *referee, size_t argument)
{
    return &referee->device->task->problem->arguments[argument];
}

static ak_dtype dtype_of(const ak_referee *referee, size_t argument)
{
    return ak_task_argument_dtype(referee->device->task, argument);
}

static size_t count_of(const ak_referee *referee)
{
    return referee->device->task->problem->argument_count;
}

static void referee_close(ak_referee *referee)
{
    if (referee == NULL) {
        return;
    }
    for (size_t i = 0; i < AK_ARGUMENTS_MAX; i++) {
        if (referee->reference[i] != 0 && !referee->device->lost) {
            (void)referee->device->cuda->memory_free(referee->reference[i]);
        }
    }
    ak_free(referee);
}

static ak_status no_room(size_t wanted, ak_error *err)
{
    char size[AK_REAL_BYTES];
    return ak_fail(err, AK_UNAVAILABLE, "the device has no memory for the reference of %s",
                   ak_number_size(size, wanted));
}

/* Reserves the reference only if as much memory again stays free, because the rotating copies need
   some, too. */
static ak_status reserve(ak_referee *referee, ak_error *err)
{
    ak_device *device = referee->device;
    size_t free_bytes = 0, total = 0, wanted = 0;
    for (size_t i = 0; i < count_of(referee); i++) {
        wanted += spec_of(referee, i)->access == AK_ACCESS_IN
                      ? 0
                      : referee->shape.elements[i] * sizeof(double);
    }
    if (device->cuda->memory_info(&free_bytes, &total) != 0 || wanted > free_bytes / 2) {
        return no_room(wanted, err);
    }
    for (size_t i = 0; i < count_of(referee); i++) {
        size_t bytes = referee->shape.elements[i] * sizeof(double);
        if (spec_of(referee, i)->access != AK_ACCESS_IN &&
            device->cuda->memory_alloc(&referee->reference[i], bytes) != 0) {
            return no_room(wanted, err);
        }
    }
    return AK_OK;
}

/* Draws a key. The seed alone is not enough, because the author of a candidate may know it. No
   result depends on the key. */
static uint64_t secret(ak_device *device)
{
    uint64_t parts[3] = {ak_rng_next(&device->rng), (uint64_t)ak_clock_ns(),
                         (uint64_t)(uintptr_t)device};
    return ak_hash64(parts, sizeof parts);
}

AK_END_AT(referee_close, ak_referee)

static ak_status referee_open(ak_referee **out, ak_device *device, const ak_shape *shape,
                              const size_t *offset, ak_error *err)
{
    const ak_problem *problem = device->task->problem;
    AK_FAIL_IF(problem->device_reference == NULL, err, AK_UNAVAILABLE, "%s has no reference.cu",
               problem->name);
    AK_FAIL_IF(!ak_dtype_is_float(device->task->dtype), err, AK_UNAVAILABLE,
               "device references are for floating dtypes");
    AK_AT_END(referee_close_at) ak_referee *referee = NULL;
    AK_DO(AK_NEW(referee, 1, err));
    referee->device = device;
    referee->shape = *shape;
    memcpy(referee->offset, offset, problem->argument_count * sizeof *offset);
    referee->key = secret(device);
    for (size_t i = 0; i < problem->argument_count; i++) {
        const ak_dtype dtype = dtype_of(referee, i);
        /* An argument that is both read and written cannot be restored when the reference must be
           computed again. Of the integer dtypes cuda_referee.cu supports i32 only. */
        AK_FAIL_IF(ak_dtype_bytes(dtype) > 4 ||
                       (!ak_dtype_is_float(dtype) && dtype != AK_DTYPE_I32) ||
                       spec_of(referee, i)->access == AK_ACCESS_INOUT,
                   err, AK_UNAVAILABLE,
                   "device references are for floats up to 4 bytes and i32, and for outputs that "
                   "are not read");
    }
    AK_DO(open_code(device, err));
    AK_DO(reserve(referee, err));
    AK_GIVE(out, referee);
    return AK_OK;
}

/* Masks the computed reference and keeps its hash, number of NaNs and root mean square. */
static ak_status seal(ak_referee *referee, size_t argument, ak_error *err)
{
    finding f;
    int64_t count = (int64_t)referee->shape.elements[argument];
    ak_cuda_address findings = referee->device->referee->findings;
    uint64_t key = referee->key + argument;
    ak_cuda_address *reference = &referee->reference[argument];
    void *first[] = {reference, &count, &key, &findings};
    AK_DO(find(&f, referee, SEAL, first, (size_t)count, err));
    referee->hash[argument] = f.hash;
    referee->nans[argument] = f.nans;
    referee->rms[argument] = 0.0;
    if (f.finite == 0 || f.worst == 0.0) {
        return AK_OK;
    }
    /* With this scale, squares neither overflow nor lose digits to underflow. */
    double scale = f.worst > 1e-140 && f.worst < 1e140 ? 1.0 : f.worst;
    uint64_t finite = f.finite;
    void *second[] = {reference, &count, &key, &scale, &findings};
    ak_status status = find(&f, referee, SQUARES, second, (size_t)count, err);
    referee->rms[argument] = scale * sqrt(f.squares / (double)finite);
    return status;
}

static ak_status referee_compute(ak_referee *referee, ak_error *err)
{
    const ak_device *device = referee->device;
    ak_cuda_address addresses[AK_ARGUMENTS_MAX];
    int64_t pitch[AK_ARGUMENTS_MAX];
    void *arguments[2 * AK_ARGUMENTS_MAX + AK_SIZES_MAX];
    size_t most = 0, count = 0, outputs = 0;
    for (size_t i = 0; i < count_of(referee); i++) {
        bool output = referee->reference[i] != 0;
        addresses[i] = output ? referee->reference[i] : device->block + referee->offset[i];
        arguments[count++] = &addresses[i];
        most = referee->shape.elements[i] > most ? referee->shape.elements[i] : most;
        outputs += output;
    }
    for (size_t i = 0; i < device->task->problem->size_count; i++) {
        arguments[count++] = &referee->shape.size[i];
    }
    for (size_t i = 0; i < count_of(referee); i++) {
        bool output = referee->reference[i] != 0;
        pitch[i] = (int64_t)(output ? referee->shape.row[i] : referee->shape.pitch[i]);
        arguments[count++] = &pitch[i];
    }
    AK_FAIL_IF(outputs == 0, err, AK_INTERNAL, "the problem has no output to judge");
    AK_DO(run(referee, REFERENCE, arguments, most, err));
    for (size_t i = 0; i < count_of(referee); i++) {
        AK_DO(referee->reference[i] != 0 ? seal(referee, i, err) : AK_OK);
    }
    return AK_OK;
}

static void referee_describe(size_t *nans, double *rms, const ak_referee *referee, size_t argument)
{
    *nans = referee->nans[argument];
    *rms = referee->rms[argument];
}

static ak_status referee_values(double *out, ak_referee *referee, size_t argument, size_t first,
                                size_t count, ak_error *err)
{
    ak_device *device = referee->device;
    size_t all = referee->shape.elements[argument];
    AK_FAIL_IF(device->lost, err, AK_CRASHED, "the device is lost: %s", device->why);
    AK_FAIL_IF(referee->reference[argument] == 0 || first > all || count > all - first, err,
               AK_INTERNAL, "elements %zu..%zu are beyond the reference", first, first + count);
    int failed = device->cuda->download(out, referee->reference[argument] + first * sizeof *out,
                                        count * sizeof *out, device->stream);
    failed = failed == 0 ? ak_cuda_wait(device, REFEREE_TIMEOUT) : failed;
    for (size_t i = 0; failed == 0 && i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &out[i], sizeof bits);
        bits ^= ak_guard_word(referee->key + argument, first + i);
        memcpy(&out[i], &bits, sizeof bits);
    }
    return ak_cuda_fail(device, failed, "fetching the reference", err);
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Fetches the element of an output that a message shows, and its right value. */
static ak_status fetch(double *got, double *want, ak_referee *referee, size_t argument, size_t i,
                       ak_error *err)
{
    uint64_t element = 0;
    ak_device *device = referee->device;
    ak_dtype dtype = dtype_of(referee, argument);
    size_t bytes = ak_dtype_bytes(dtype);
    size_t row = referee->shape.row[argument];
    size_t place = i / row * referee->shape.pitch[argument] + i % row;
    ak_cuda_address at = device->block + referee->offset[argument] + place * bytes;
    int failed = device->cuda->download(&element, at, bytes, device->stream);
    failed = failed == 0 ? ak_cuda_wait(device, REFEREE_TIMEOUT) : failed;
    AK_DO(ak_cuda_fail(device, failed, "fetching a result", err));
    ak_inputs_decode(got, &element, 1, dtype);
    return referee_values(want, referee, argument, i, 1, err);
}

static ak_status referee_paint_gaps(ak_referee *referee, size_t argument,
                                    const ak_guard_stream *gaps, ak_error *err)
{
    size_t element = ak_dtype_bytes(dtype_of(referee, argument));
    ak_cuda_address output = referee->device->block + referee->offset[argument];
    int64_t row = (int64_t)(referee->shape.row[argument] * element);
    int64_t pitch = (int64_t)(referee->shape.pitch[argument] * element);
    int64_t rows = (int64_t)(referee->shape.elements[argument] / referee->shape.row[argument]);
    ak_guard_stream *own = &referee->gaps[argument];
    void *arguments[] = {&output, &rows, &row, &pitch, &own->key, &own->keep, &own->set};
    *own = *gaps;
    return row == pitch || rows < 2
               ? AK_OK
               : run(referee, PAINT, arguments, (size_t)rows * (size_t)(pitch - row), err);
}

static ak_status referee_compare(ak_compare_result *out, bool *intact, ak_referee *referee,
                                 size_t argument, const ak_compare_with *with, ak_error *err)
{
    finding f;
    ak_dtype dtype = dtype_of(referee, argument);
    uint64_t element = 0;
    ak_guard_poison(&element, ak_dtype_bytes(dtype), dtype, 0);
    ak_cuda_address output = referee->device->block + referee->offset[argument];
    ak_cuda_address findings = referee->device->referee->findings;
    int64_t count = (int64_t)referee->shape.elements[argument];
    int64_t row = (int64_t)referee->shape.row[argument];
    int64_t pitch = (int64_t)referee->shape.pitch[argument], rows = count / row;
    int32_t kind = (int32_t)dtype;
    uint32_t poison = (uint32_t)element;
    uint64_t key = referee->key + argument;
    double relative = with->relative, absolute = with->rms * referee->rms[argument];
    ak_guard_stream *gaps = &referee->gaps[argument];
    void *arguments[] = {&output,    &referee->reference[argument],
                         &rows,      &row,
                         &pitch,     &kind,
                         &poison,    &key,
                         &relative,  &absolute,
                         &gaps->key, &gaps->keep,
                         &gaps->set, &findings};
    *out = (ak_compare_result){.count = (size_t)count, .first = (size_t)count};
    *intact = true;
    AK_DO(find(&f, referee, EXAMINE, arguments, (size_t)count, err));
    *intact = f.hash == referee->hash[argument];
    out->ok = f.bad == 0;
    out->bad = (size_t)f.bad;
    out->unwritten = (size_t)f.unwritten;
    out->strays = (size_t)f.strays;
    out->max_error = f.worst;
    if (f.first < (uint64_t)count) {
        out->first = (size_t)f.first;
        AK_DO(fetch(&out->got, &out->want, referee, argument, out->first, err));
    }
    return AK_OK;
}

static ak_status referee_fingerprint(uint64_t *out, ak_referee *referee, size_t argument,
                                     ak_error *err)
{
    finding f;
    ak_cuda_address array = referee->device->block + referee->offset[argument];
    ak_cuda_address findings = referee->device->referee->findings;
    int64_t bytes = (int64_t)referee->shape.bytes[argument];
    uint64_t key = referee->key + argument;
    void *arguments[] = {&array, &bytes, &key, &findings};
    ak_status status =
        find(&f, referee, FINGERPRINT, arguments, (size_t)bytes / sizeof(uint64_t), err);
    *out = f.hash;
    return status;
}

const ak_referee_ops ak_cuda_referee_ops = {.open = referee_open,
                                            .compute = referee_compute,
                                            .describe = referee_describe,
                                            .values = referee_values,
                                            .paint_gaps = referee_paint_gaps,
                                            .compare = referee_compare,
                                            .fingerprint = referee_fingerprint,
                                            .close = referee_close};
