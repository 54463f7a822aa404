/* stage.c: fills and moves a stage's arrays and red zones; see stage.h. */
#include "judge/stage.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "check/inputs.h"
#include "check/argument.h"

/* A stage has this many streams of random numbers, one for each argument. */
#define STREAMS_PER_STAGE AK_ARGUMENTS_MAX
/* A thread fills this many elements at a time: 2 MiB as double. */
#define FILL_CHUNK ((size_t)64 * AK_INPUTS_BLOCK)

ak_dtype ak_stage_dtype(const ak_stage *stage, size_t argument)
{
    return ak_task_argument_dtype(stage->task, argument);
}

ak_compare_argument ak_stage_named(const ak_stage *stage, size_t argument)
{
    const ak_argument_spec *spec = &stage->task->problem->arguments[argument];
    return (ak_compare_argument){spec->name, spec->rank, stage->shape.extent[argument]};
}

ak_access ak_stage_access(const ak_stage *stage, size_t argument)
{
    return stage->task->problem->arguments[argument].access;
}

ak_status ak_stage_plan(ak_stage *stage, ak_stage_memory *memory, const ak_task *task,
                        const int64_t *size, int place, size_t base, ak_error *err)
{
    *stage = (ak_stage){.memory = memory, .task = task, .place = place, .base = base, .slack = 1.0};
    AK_DO(ak_task_shape(&stage->shape, task, size, err));
    ak_guard_arrays *arrays = &stage->arrays;
    arrays->count = ak_stage_arguments(stage);
    for (size_t i = 0; i < arrays->count; i++) {
        arrays->bytes[i] = stage->shape.bytes[i];
        arrays->dtype[i] = ak_stage_dtype(stage, i);
    }
    AK_FAIL_IF(!ak_guard_layout(arrays) || arrays->total > SIZE_MAX - base, err, AK_LIMIT,
               "%s: the arguments are too large", task->problem->name);
    for (size_t i = 0; i < arrays->count; i++) {
        stage->offset[i] = base + arrays->offset[i];
    }
    return AK_OK;
}

size_t ak_stage_elements(const ak_stage *stage)
{
    size_t elements = 0;
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        elements += stage->shape.elements[i];
    }
    return elements;
}

size_t ak_stage_least_output(const ak_stage *stage)
{
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        const size_t own = stage->shape.elements[i];
        least = ak_stage_is_output(stage, i) && own < least ? own : least;
    }
    return least;
}

double ak_stage_bytes(const ak_stage *stage)
{
    double bytes = 0;
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        bytes += (double)stage->shape.bytes[i];
    }
    return bytes;
}

/* ---- rows that do not adjoin ---- */

static bool rows_adjoin(const ak_stage *stage, size_t i)
{
    return stage->shape.pitch[i] == stage->shape.row[i];
}

size_t ak_stage_tight_bytes(const ak_stage *stage, size_t i)
{
    return stage->shape.elements[i] * ak_dtype_bytes(ak_stage_dtype(stage, i));
}

size_t ak_stage_run(size_t *length, const ak_stage *stage, size_t argument, size_t first,
                    size_t count)
{
    size_t row = stage->shape.row[argument], pitch = stage->shape.pitch[argument];
    if (row == pitch) {
        *length = count;
        return first;
    }
    size_t column = first % row;
    *length = row - column < count ? row - column : count;
    return first / row * pitch + column;
}

void ak_stage_decode(double *out, const ak_stage *stage, size_t argument, size_t first,
                     size_t count)
{
    ak_dtype dtype = ak_stage_dtype(stage, argument);
    const unsigned char *from = stage->inputs[argument];
    for (size_t done = 0, length; done < count; done += length) {
        size_t at = ak_stage_run(&length, stage, argument, first + done, count - done);
        ak_inputs_decode(out + done, from + at * ak_dtype_bytes(dtype), length, dtype);
    }
}

static void encode(const ak_stage *stage, size_t argument, const double *values, size_t first,
                   size_t count)
{
    ak_dtype dtype = ak_stage_dtype(stage, argument);
    unsigned char *to = stage->inputs[argument];
    for (size_t done = 0, length; done < count; done += length) {
        size_t at = ak_stage_run(&length, stage, argument, first + done, count - done);
        ak_inputs_encode(to + at * ak_dtype_bytes(dtype), values + done, length, dtype);
    }
}

ak_guard_rows ak_stage_guard_rows(const ak_stage *stage, size_t i)
{
    size_t element = ak_dtype_bytes(ak_stage_dtype(stage, i));
    return (ak_guard_rows){.rows = stage->shape.elements[i] / stage->shape.row[i],
                           .row = stage->shape.row[i] * element,
                           .pitch = stage->shape.pitch[i] * element};
}

ak_guard_stream ak_stage_gaps(const ak_stage *stage, size_t argument)
{
    return ak_guard_stream_of(&stage->pattern, argument, AK_GUARD_BETWEEN,
                              ak_stage_dtype(stage, argument));
}

static void paint_gaps(void *array, const ak_stage *stage, size_t i)
{
    ak_guard_rows rows = ak_stage_guard_rows(stage, i);
    ak_guard_stream stream = ak_stage_gaps(stage, i);
    ak_guard_paint_gaps(array, &rows, &stream);
}

/* ---- inputs ---- */

/* Draws a new key for the red zones. The key is not derived from the seed, which a candidate's
   author may know; no result depends on the key. */
static void choose_pattern(ak_stage *stage, unsigned round)
{
    ak_stage_memory *memory = stage->memory;
    uint64_t parts[] = {memory->secret, (uint64_t)ak_clock_ns(), (uint64_t)(uintptr_t)stage};
    memory->secret = ak_hash64(parts, sizeof parts);
    stage->pattern =
        (ak_guard_pattern){.key = memory->secret, .content = ak_guard_content_of(round)};
}

/* One argument that several threads fill. */
typedef struct filling {
    ak_stage *stage;
    double *values; /* NULL: the values are not kept */
    size_t argument;
    uint64_t stream;
    _Atomic bool out_of_memory;
} filling;

/* Fills the chunks t, t + n, ... as thread t of n. */
static void fill_chunks(void *context, int thread, int n)
{
    filling *f = context;
    ak_stage *stage = f->stage;
    size_t i = f->argument, elements = stage->shape.elements[i];
    ak_dtype dtype = ak_stage_dtype(stage, i);
    const bool usual = stage->habit == AK_HABIT_FEW && i != stage->few;
    ak_fill fill = {.kind = stage->task->problem->arguments[i].fill,
                    .habit = usual ? AK_HABIT_USUAL : stage->habit,
                    .row = stage->shape.row[i],
                    .period = stage->period,
                    .a = stage->shape.fill[i][0],
                    .b = stage->shape.fill[i][1],
                    .unused = stage->shape.unused[i],
                    .elements = elements};
    size_t first = (size_t)thread * FILL_CHUNK;
    double *own = f->values != NULL || first >= elements ? NULL : ak_alloc(FILL_CHUNK, sizeof *own);
    if (f->values == NULL && first < elements && own == NULL) {
        f->out_of_memory = true;
        return;
    }
    for (; first < elements; first += (size_t)n * FILL_CHUNK) {
        size_t length = elements - first < FILL_CHUNK ? elements - first : FILL_CHUNK;
        double *values = f->values != NULL ? f->values + first : own;
        ak_inputs_fill_part(values, first, length, &fill, dtype, stage->task->seed,
                            f->stream * STREAMS_PER_STAGE + i);
        encode(stage, i, values, first, length);
    }
    ak_free(own);
}

/* Reads an argument from its file. */
static ak_status read_input(ak_stage *stage, size_t i, double *values, ak_error *err)
{
    const ak_shape *shape = &stage->shape;
    AK_FREED double *own = values == NULL ? ak_alloc(shape->elements[i], sizeof *own) : NULL;
    double *to = values == NULL ? own : values;
    AK_DO(ak_made(to, err));
    AK_DO(ak_argument_read(to, stage->task, shape, i, err));
    encode(stage, i, to, 0, shape->elements[i]);
    /* The reference gets the numbers that the candidate gets. */
    ak_stage_decode(to, stage, i, 0, shape->elements[i]);
    return AK_OK;
}

ak_status ak_stage_make_inputs(ak_stage *stage, ak_reference *reference, double *const *arrays,
                               uint64_t stream, ak_error *err)
{
    choose_pattern(stage, 0);
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        if (ak_stage_access(stage, i) == AK_ACCESS_OUT) {
            continue;
        }
        stage->inputs[i] = ak_alloc(stage->shape.bytes[i], 1);
        AK_DO(ak_made(stage->inputs[i], err));
        if (!rows_adjoin(stage, i)) {
            paint_gaps(stage->inputs[i], stage, i);
        }
        if (stage->task->problem->arguments[i].fill == AK_FILL_FILE && !stage->shape.unused[i]) {
            AK_DO(read_input(stage, i, arrays == NULL ? NULL : arrays[i], err));
            continue;
        }
        filling f = {.stage = stage,
                     .values = arrays == NULL ? NULL : arrays[i],
                     .argument = i,
                     .stream = stream};
        ak_reference_parallel(reference, fill_chunks, &f);
        AK_DO(ak_stored(!f.out_of_memory, err));
    }
    return AK_OK;
}

void ak_stage_free(ak_stage *stage)
{
    for (size_t i = 0; i < AK_ARGUMENTS_MAX; i++) {
        AK_FREE_ALL(stage->inputs[i], stage->reference[i], stage->accepted[i], stage->rows[i]);
        stage->inputs[i] = stage->accepted[i] = stage->rows[i] = NULL;
        stage->reference[i] = NULL;
    }
    if (stage->referee != NULL) {
        stage->memory->backend->referee->close(stage->referee);
        stage->referee = NULL;
    }
    stage->ready = false;
}

void ak_stage_swap(ak_stage *a, ak_stage *b)
{
    ak_stage_memory *memory = a->memory;
    int place = a->place;
    size_t base = a->base, offset[AK_ARGUMENTS_MAX];
    assert(a->memory == b->memory && a->arrays.total == b->arrays.total && place != b->place);
    memcpy(offset, a->offset, sizeof offset);
    a->place = b->place;
    a->base = b->base;
    memcpy(a->offset, b->offset, sizeof offset);
    b->place = place;
    b->base = base;
    memcpy(b->offset, offset, sizeof offset);
    memory->resident[a->place] = memory->resident[b->place] = NULL;
}

void ak_stage_wipe(const ak_stage *stage)
{
    assert(stage->memory->copy == NULL);
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        if (ak_stage_is_output(stage, i)) {
            memset(stage->memory->bytes + stage->offset[i], 0, stage->shape.bytes[i]);
        }
    }
}

void ak_stage_forget(ak_stage *stage)
{
    stage->has_accepted = false;
}

/* ---- before and after a run ---------------------------------------------------------------- */

static ak_status upload(const ak_stage *stage, size_t offset, const void *data, size_t bytes,
                        ak_error *err)
{
    ak_stage_memory *memory = stage->memory;
    if (memory->copy == NULL) {
        memcpy(memory->bytes + offset, data, bytes);
        return AK_OK;
    }
    return memory->backend->upload(memory->device, offset, data, bytes, err);
}

/* Uploads a changed part of the copy; does nothing if the block is mapped. */
static ak_status push(const ak_stage *stage, size_t offset, size_t bytes, ak_error *err)
{
    ak_stage_memory *memory = stage->memory;
    return memory->copy == NULL ? AK_OK : upload(stage, offset, memory->copy + offset, bytes, err);
}

static ak_status paint_zones(ak_stage *stage, ak_error *err)
{
    ak_guard_paint(stage->memory->bytes + stage->base, &stage->arrays, &stage->pattern);
    for (size_t zone = 0; zone <= stage->arrays.count; zone++) {
        size_t begin, end;
        ak_guard_zone(&begin, &end, &stage->arrays, zone);
        AK_DO(push(stage, stage->base + begin, end - begin, err));
    }
    return AK_OK;
}

ak_status ak_stage_fetch_zones(ak_stage *stage, ak_error *err)
{
    ak_stage_memory *memory = stage->memory;
    for (size_t zone = 0; memory->copy != NULL && zone <= stage->arrays.count; zone++) {
        size_t begin, end;
        ak_guard_zone(&begin, &end, &stage->arrays, zone);
        AK_DO(memory->backend->download(memory->copy + stage->base + begin, memory->device,
                                        stage->base + begin, end - begin, err));
    }
    return AK_OK;
}

/* Fills a row with plausible but wrong results: results for the other set of inputs or, if there is
   none, altered results for these inputs from another position. */
static void put_results(unsigned char *to, const ak_stage *stage, size_t i, size_t row,
                        uint64_t key)
{
    enum { CHUNK = 512 };
    const bool has_other = stage->other != NULL && stage->other->reference[i] != NULL;
    const ak_stage *from = has_other ? stage->other : stage;
    const bool altered = from == stage;
    const ak_dtype dtype = ak_stage_dtype(stage, i);
    const size_t bytes = ak_dtype_bytes(dtype), count = stage->shape.elements[i];
    const size_t length = stage->shape.row[i];
    size_t at = (row * length + (altered ? (size_t)(key % count) : 0)) % count;
    double values[CHUNK];
    for (size_t k = 0; k < length; k++) {
        values[k % CHUNK] = from->reference[i][at];
        at = at + 1 == count ? 0 : at + 1;
        if ((k + 1) % CHUNK == 0 || k + 1 == length) {
            const size_t first = k / CHUNK * CHUNK;
            ak_inputs_encode(to + first * bytes, values, k + 1 - first, dtype);
        }
    }
    for (size_t k = 0; altered && k < length; k++) {
        uint64_t element = 0;
        memcpy(&element, to + k * bytes, bytes);
        element = ak_guard_altered(element, bytes, ak_guard_fraction(dtype),
                                   ak_guard_word(key, row * length + k));
        memcpy(to + k * bytes, &element, bytes);
    }
}

static bool holds_results(const ak_stage *stage, size_t i, unsigned round)
{
    return ak_guard_old_of(round) == AK_GUARD_OLD_RESULTS && stage->reference[i] != NULL;
}

/* Fills the rows only and leaves the gaps between them. */
static void fill_rows(unsigned char *output, const ak_stage *stage, size_t i, unsigned round)
{
    const ak_guard_rows rows = ak_stage_guard_rows(stage, i);
    const bool results = holds_results(stage, i, round);
    const uint64_t key = ak_guard_word(stage->pattern.key, round);
    for (size_t r = 0; r < rows.rows; r++) {
        if (results) {
            put_results(output + r * rows.pitch, stage, i, r, key);
        } else {
            ak_guard_fill_old(output + r * rows.pitch, rows.row, ak_stage_dtype(stage, i), round);
        }
    }
}

/* Fills an output with what it holds before the round (ak_guard_old). With `paint`, or if the block
   is not mapped, the gaps between its rows are painted, too. */
static ak_status fill_output(const ak_stage *stage, size_t i, unsigned round, bool paint,
                             ak_error *err)
{
    const ak_stage_memory *memory = stage->memory;
    unsigned char *output = memory->bytes + stage->offset[i];
    ak_dtype dtype = ak_stage_dtype(stage, i);
    size_t bytes = ak_dtype_bytes(dtype);
    bool adjoin = rows_adjoin(stage, i), can_paint = adjoin || stage->referee != NULL;
    bool equal = bytes <= sizeof(uint32_t) && !holds_results(stage, i, round);
    if (memory->copy != NULL && memory->backend->fill != NULL && equal && can_paint) {
        /* The copy need not be filled: it is downloaded before it is read. */
        uint64_t element = 0;
        ak_guard_stream stream = ak_stage_gaps(stage, i);
        ak_guard_fill_old(&element, bytes, dtype, round);
        ak_status status = memory->backend->fill(memory->device, stage->offset[i], &element, bytes,
                                                 stage->shape.bytes[i] / bytes, err);
        return status != AK_OK || adjoin
                   ? status
                   : memory->backend->referee->paint_gaps(stage->referee, i, &stream, err);
    }
    fill_rows(output, stage, i, round);
    if (!adjoin && (paint || memory->copy != NULL)) {
        paint_gaps(output, stage, i);
    }
    return push(stage, stage->offset[i], stage->shape.bytes[i], err);
}

ak_status ak_stage_set(ak_stage *stage, unsigned round, ak_error *err)
{
    ak_stage_memory *memory = stage->memory;
    ak_status status = AK_OK;
    bool move_in = memory->resident[stage->place] != stage;
    bool paint = move_in || !stage->launched;
    if (paint) {
        choose_pattern(stage, round);
        status = paint_zones(stage, err);
    }
    for (size_t i = 0; status == AK_OK && i < ak_stage_arguments(stage); i++) {
        ak_access access = ak_stage_access(stage, i);
        if (access == AK_ACCESS_OUT) {
            status = fill_output(stage, i, round, paint, err);
        } else if (access == AK_ACCESS_INOUT || move_in) {
            if (access == AK_ACCESS_INOUT && paint && !rows_adjoin(stage, i)) {
                paint_gaps(stage->inputs[i], stage, i);
            }
            status = upload(stage, stage->offset[i], stage->inputs[i], stage->shape.bytes[i], err);
        }
    }
    if (status == AK_OK && move_in && stage->ready && stage->referee != NULL) {
        /* Whatever damaged the arguments may have damaged the reference, too. */
        status = memory->backend->referee->compute(stage->referee, err);
    }
    memory->resident[stage->place] = status == AK_OK ? stage : NULL;
    stage->launched = true;
    return status;
}
