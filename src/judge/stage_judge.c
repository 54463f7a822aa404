/* stage_judge.c: judges the latest run of a stage on the host, and says what is wrong; see
   stage.h. */
#include "judge/stage.h"

#include <string.h>

/* ---- what is wrong --------------------------------------------------------------------------- */

void ak_stage_size_text(char *out, size_t bytes, const ak_stage *stage)
{
    ak_task_size_text(out, bytes, stage->task->problem, stage->shape.size);
}

void ak_stage_say(ak_outcome *out, const ak_stage *stage, const char *text)
{
    char size[64], where[128], reason[sizeof out->reason];
    ak_stage_size_text(size, sizeof size, stage);
    (void)snprintf(where, sizeof where, "at %s%s: ", size,
                   stage->habit == AK_HABIT_VARIED ? " (with other numbers than its constants)"
                   : stage->habit == AK_HABIT_FEW  ? " (with few terms in each sum)"
                   : stage->drawn                  ? " (a size drawn at random)"
                                                   : "");
    const int room = (int)(sizeof reason - 1 - strlen(where));
    (void)snprintf(reason, sizeof reason, "%s%.*s", where, room, text);
    memcpy(out->reason, reason, sizeof reason);
}

void ak_stage_wrong(ak_outcome *out, const ak_stage *stage, const char *text)
{
    out->status = AK_TRIAL_WRONG_RESULT;
    ak_stage_say(out, stage, text);
}

/* Reports damage and has it repaired before the next candidate runs. */
static void damaged(ak_outcome *out, ak_stage *stage, const char *text)
{
    ak_stage_wrong(out, stage, text);
    ak_stage_spoilt(stage->memory);
}

bool ak_stage_zones_whole(ak_outcome *out, ak_stage *stage)
{
    char text[160];
    bool after = false;
    size_t which = ak_guard_damaged(&after, stage->memory->bytes + stage->base, &stage->arrays,
                                    &stage->pattern);
    stage->launched = false;
    if (which == ak_stage_arguments(stage)) {
        return true;
    }
    (void)snprintf(text, sizeof text, "it writes outside of %s, %s",
                   stage->task->problem->arguments[which].name,
                   after ? "behind its end" : "before its start");
    damaged(out, stage, text);
    return false;
}

ak_status ak_stage_check_zones(ak_outcome *out, ak_stage *stage, ak_error *err)
{
    if (!stage->launched || stage->memory->resident[stage->place] != stage) {
        return AK_OK;
    }
    AK_DO(ak_stage_fetch_zones(stage, err));
    (void)ak_stage_zones_whole(out, stage);
    return AK_OK;
}

void ak_stage_damages(ak_outcome *out, ak_stage *stage, const char *what, size_t argument)
{
    char text[160];
    (void)snprintf(text, sizeof text, "it %s %s", what,
                   stage->task->problem->arguments[argument].name);
    damaged(out, stage, text);
}

/* ---- judging --------------------------------------------------------------------------------- */

/* Returns whether the gaps between the rows of an output are unchanged. */
static bool gaps_whole(const ak_stage *stage, size_t i)
{
    ak_guard_rows rows = ak_stage_guard_rows(stage, i);
    ak_guard_stream stream = ak_stage_gaps(stage, i);
    return ak_guard_gaps_whole(stage->memory->bytes + stage->offset[i], &rows, &stream);
}

/* Returns the first argument that is only read and differs from what was put there, in bytes that
   the host has; the number of arguments if there is none. Bytes are compared, because a candidate
   can compute other bytes that have the same hash. */
static size_t changed_input(const ak_stage *stage)
{
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        const unsigned char *input = stage->memory->bytes + stage->offset[i];
        if (!ak_stage_is_output(stage, i) &&
            memcmp(input, stage->inputs[i], stage->shape.bytes[i]) != 0) {
            return i;
        }
    }
    return ak_stage_arguments(stage);
}

/* Returns whether the host judges the stage and its arguments lie in mapped memory now. */
static bool is_mapped(const ak_stage *stage)
{
    const ak_stage_memory *memory = stage->memory;
    return memory->copy == NULL && stage->referee == NULL &&
           memory->resident[stage->place] == stage;
}

size_t ak_stage_changed_input(const ak_stage *stage)
{
    return is_mapped(stage) ? changed_input(stage) : ak_stage_arguments(stage);
}

/* Checks that the gaps between the rows of all outputs are unchanged. */
static bool rows_apart(ak_outcome *out, ak_stage *stage)
{
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        if (ak_stage_is_output(stage, i) && !gaps_whole(stage, i)) {
            ak_stage_damages(out, stage, AK_STAGE_BETWEEN_ROWS, i);
            return false;
        }
    }
    return true;
}

void ak_stage_check_outside(ak_outcome *out, ak_stage *stage)
{
    if (is_mapped(stage) && ak_stage_zones_whole(out, stage)) {
        (void)rows_apart(out, stage);
    }
}

/* Checks that the red zones, the inputs and the gaps between the rows of outputs are unchanged. */
static bool untouched(ak_outcome *out, ak_stage *stage)
{
    if (!ak_stage_zones_whole(out, stage)) {
        return false;
    }
    const size_t changed = changed_input(stage);
    if (changed < ak_stage_arguments(stage)) {
        ak_stage_damages(out, stage, AK_STAGE_CHANGES, changed);
        return false;
    }
    return rows_apart(out, stage);
}

bool ak_stage_take_compared(ak_outcome *out, double *max_error, const ak_stage *stage,
                            size_t argument, const ak_compare_result *result)
{
    char text[240];
    *max_error = result->max_error > *max_error ? result->max_error : *max_error;
    if (!result->ok) {
        const ak_compare_argument named = ak_stage_named(stage, argument);
        ak_compare_text(text, sizeof text, result, &named);
        ak_stage_wrong(out, stage, text);
    }
    return result->ok;
}

static bool output_right(ak_outcome *out, double *max_error, const unsigned char *output,
                         const ak_stage *stage, size_t i)
{
    ak_compare_result result;
    const ak_compare_with with = {
        ak_stage_dtype(stage, i), stage->reference[i], stage->shape.elements[i],
        stage->slack * stage->shape.own_relative[i], stage->slack * stage->rms[i]};
    ak_compare_output(&result, output, &with);
    return ak_stage_take_compared(out, max_error, stage, i, &result);
}

/* Returns the rows of an output without the gaps between them. */
static const unsigned char *output_rows(const ak_stage *stage, size_t i)
{
    const unsigned char *output = stage->memory->bytes + stage->offset[i];
    const ak_guard_rows of = ak_stage_guard_rows(stage, i);
    unsigned char *rows = stage->rows[i];
    for (size_t r = 0; rows != NULL && r < of.rows; r++) {
        memcpy(rows + r * of.row, output + r * of.pitch, of.row);
    }
    return rows == NULL ? output : rows;
}

ak_status ak_stage_judge(ak_outcome *out, double *max_error, ak_stage *stage, bool quick,
                         ak_error *err)
{
    ak_stage_memory *memory = stage->memory;
    if (stage->referee != NULL) {
        return ak_stage_judge_referee(out, max_error, stage, err);
    }
    if (memory->copy != NULL) {
        AK_DO(memory->backend->download(memory->copy + stage->base, memory->device, stage->base,
                                        stage->arrays.total, err));
    }
    if (!untouched(out, stage)) {
        return AK_OK;
    }
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        if (!ak_stage_is_output(stage, i)) {
            continue;
        }
        const unsigned char *output = output_rows(stage, i);
        if (quick && stage->has_accepted &&
            memcmp(output, stage->accepted[i], ak_stage_tight_bytes(stage, i)) == 0) {
            continue;
        }
        if (!output_right(out, max_error, output, stage, i)) {
            return AK_OK;
        }
        memcpy(stage->accepted[i], output, ak_stage_tight_bytes(stage, i));
    }
    stage->has_accepted = true;
    return AK_OK;
}
