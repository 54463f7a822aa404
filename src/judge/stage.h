/*
 * stage.h: one shape of a problem, prepared to be run and judged: its inputs, its right outputs,
 * and the place of all arguments in the device's memory.
 *
 *     ak_stage_set(stage, round, err)     restores what is read, fills what is only written
 *                                         with what it holds before this round (ak_guard_old)
 *     ... launch ...
 *     ak_stage_judge(...)                 are red zones and inputs unchanged, and outputs right?
 *
 * Gaps between rows that do not adjoin are protected like the red zones and painted like them. In
 * inputs of floats they hold NaN; in outputs they must come back unchanged.
 *
 * Red zones are painted before a launch, with a new key and other content (check/guard.h), if they
 * were checked since the last launch or another stage lay in the place. If not, they stay as they
 * are, so that damage done by a batch that is not judged is found later.
 *
 * Several stages share a device's block: the task's own shape has a place for each set of inputs,
 * and the edge-case and hidden shapes share one more. The arguments of a batch on many inputs lie
 * behind these.
 *
 * The host judges by fetching the outputs and comparing them with what the reference computed
 * (stage_judge.c). If the backend has a referee and the shape is large, the device judges, and the
 * reference is in the device's memory, too (stage_referee.c). A referee is trusted only after its
 * reference was compared with the host's: in full on every edge-case shape, and on some rows of the
 * task's own shape.
 */
#ifndef AK_JUDGE_STAGE_H
#define AK_JUDGE_STAGE_H

#include "backend/backend.h"
#include "base/rng.h"
#include "check/compare.h"
#include "check/guard.h"
#include "check/inputs.h"
#include "judge/reference.h"

/* Most sets of inputs at the task's own shape. A result that a candidate remembers of one set is
   wrong for the other. */
#define AK_STAGE_SETS 2

/* A device's memory as the stages see it: the block itself if it is mapped, else a copy. */
typedef struct ak_stage_memory {
    const ak_backend_ops *backend;
    ak_device *device;
    unsigned char *bytes;                         /* the block or the copy */
    unsigned char *copy;                          /* owned; NULL if the block is mapped */
    struct ak_stage *resident[AK_STAGE_SETS + 1]; /* the stage whose inputs lie in each place;
                                                     NULL: not known */
    uint64_t secret;                              /* latest key of the red zones */
} ak_stage_memory;

/* How a problem can be divided. */
typedef struct ak_stage_split {
    bool known;    /* it was found out; else nothing can be divided */
    bool rows;     /* the values of the first size are separate problems */
    size_t column; /* the values of the size with this index are, too; 0: those of no other size */
} ak_stage_split;

typedef struct ak_stage {
    ak_stage_memory *memory;
    const ak_task *task;
    ak_shape shape;
    /* tolerance of each output in root mean squares of its reference, the absolute one included */
    double rms[AK_ARGUMENTS_MAX];
    double level[AK_ARGUMENTS_MAX];  /* root mean square of each output's reference */
    int place;                       /* index in memory->resident; AK_STAGE_SETS: shared by
                                        edge-case, hidden and `many` stages */
    size_t base;                     /* offset of the place in the block */
    ak_guard_arrays arrays;          /* layout of the arguments in the place */
    size_t offset[AK_ARGUMENTS_MAX]; /* offset of each argument in the block */
    ak_guard_pattern pattern;        /* content of red zones and of gaps in outputs */
    bool launched;                /* a launch has happened since the red zones were last checked */
    ak_fill_habit habit;          /* how its inputs are distributed in their range */
    size_t few, period;           /* for AK_HABIT_FEW: the argument, and as in ak_fill */
    const struct ak_stage *other; /* has the same shape and other inputs; may be NULL */
    bool drawn;                   /* the shape was drawn at random; nobody wrote it */
    bool ready;                   /* the fields below have been computed; in few.c only the
                                     inputs */
    /* Bytes of each argument that is read, gaps included; NULL for those that are only written. */
    void *inputs[AK_ARGUMENTS_MAX];
    uint64_t hash[AK_ARGUMENTS_MAX]; /* of those that are only read, if the device judges */
    /* Right values of each argument that is written; NULL for those that are only read. */
    double *reference[AK_ARGUMENTS_MAX];
    /* Buffer for an output without its gaps; NULL if its rows adjoin. */
    void *rows[AK_ARGUMENTS_MAX];
    /* Outputs of the current candidate that passed, without gaps. */
    void *accepted[AK_ARGUMENTS_MAX];
    bool has_accepted;
    /* Outputs may be off by this many times the tolerance; 1 for candidates. */
    double slack;
    /* NULL: the host judges, and `hash` is not set. Otherwise the device judges: `hash` holds the
       referee's hashes, and `reference`, `rows` and `accepted` are not set. */
    ak_referee *referee;
    const ak_stage_split *split; /* if the device judges: how rows are found that stand for all */
} ak_stage;

/* The times that opening the device and preparing a stage took. */
typedef struct ak_stage_times {
    int64_t device_ns, inputs_ns, upload_ns, reference_ns, witness_ns, selftest_ns;
} ak_stage_times;

/* Computes the stage's sizes and offsets only. */
ak_status ak_stage_plan(ak_stage *stage, ak_stage_memory *memory, const ak_task *task,
                        const int64_t *size, int place, size_t base, ak_error *err);
/* Makes inputs and reference, unless the stage is ready. `stream` makes the inputs differ from
   those of other stages. With `selftest`, also checks that the tolerance tells right from wrong
   here. */
ak_status ak_stage_prepare(ak_stage *stage, ak_reference *reference, uint64_t stream, bool selftest,
                           ak_error *err);
/* Prepares a stage that the device judges. Returns AK_UNAVAILABLE, with the stage as it was, if the
   device cannot judge it. */
ak_status ak_stage_prepare_referee(ak_stage *stage, ak_reference *reference, uint64_t stream,
                                   bool selftest, ak_stage_times *times, ak_error *err);
/* Compares the device's reference with the reference of a stage that the host has prepared. */
ak_status ak_stage_witness(ak_stage *stage, ak_error *err);
void ak_stage_free(ak_stage *stage);

ak_status ak_stage_set(ak_stage *stage, unsigned round, ak_error *err);
/* Lets two stages of one shape change places, so that the same addresses hold other contents from
   the next ak_stage_set on. The red zones must have been checked. */
void ak_stage_swap(ak_stage *a, ak_stage *b);
/* Sets the outputs of a stage in mapped memory to zero, so that a candidate cannot find a result
   there that an earlier batch has left. */
void ak_stage_wipe(const ak_stage *stage);
/* Forgets the outputs that passed, because they belong to the previous candidate. */
void ak_stage_forget(ak_stage *stage);
/* Judges the latest run: red zones, inputs, gaps and outputs. If anything is wrong, writes status
   and reason ("at M=7,N=33,K=1: C[17]: got ..."). *max_error only grows. With `quick`, outputs that
   equal accepted ones need no comparison; a device compares them always. */
ak_status ak_stage_judge(ak_outcome *out, double *max_error, ak_stage *stage, bool quick,
                         ak_error *err);
/* Checks the red zones after a batch whose output is not judged, unless they were checked since or
   the stage has left its place. ak_stage_judge includes this. */
ak_status ak_stage_check_zones(ak_outcome *out, ak_stage *stage, ak_error *err);
/* Checks the red zones, and the gaps between the rows of outputs, of a stage that the host judges
   in mapped memory and whose arguments lie there now, whether or not a launch has happened since
   they were last checked. Does nothing for other stages. */
void ak_stage_check_outside(ak_outcome *out, ak_stage *stage);
/* Returns the first argument that is only read and whose content is not what was put there, whoever
   has changed it; the number of arguments if there is none, if other contents lie there now, if the
   device's memory is not mapped, or if the device judges. */
size_t ak_stage_changed_input(const ak_stage *stage);

/* ---- for the files of judge/ that read or change a stage's arrays ---- */

ak_dtype ak_stage_dtype(const ak_stage *stage, size_t argument);
/* Names an argument in messages; the result borrows from the stage. */
ak_compare_argument ak_stage_named(const ak_stage *stage, size_t argument);
ak_access ak_stage_access(const ak_stage *stage, size_t argument);
/* Sets the tolerance of an output, given the root mean square of its reference. */
void ak_stage_know(ak_stage *stage, size_t argument, double rms);
static inline size_t ak_stage_arguments(const ak_stage *stage)
{
    return stage->task->problem->argument_count;
}
/* Marks every place as damaged, so that it is filled again before it is used. */
static inline void ak_stage_spoilt(ak_stage_memory *memory)
{
    for (size_t place = 0; place <= AK_STAGE_SETS; place++) {
        memory->resident[place] = NULL;
    }
}
/* Makes the bytes of all inputs of a stage. Unless `arrays` is NULL it has an array for each
   argument that is read, which gets the values. */
ak_status ak_stage_make_inputs(ak_stage *stage, ak_reference *reference, double *const *arrays,
                               uint64_t stream, ak_error *err);
/* Return how many elements all arguments have, how many the smallest output has, and how many bytes
   all arguments take, without the zones around them. */
size_t ak_stage_elements(const ak_stage *stage);
size_t ak_stage_least_output(const ak_stage *stage);
double ak_stage_bytes(const ak_stage *stage);
/* Returns how many bytes an argument's elements take, without the gaps between its rows. */
size_t ak_stage_tight_bytes(const ak_stage *stage, size_t argument);
/* Return where the gaps between the rows of an argument lie, and what the stage's current pattern
   paints into them. The gaps of an argument that is only read are painted once, when its inputs are
   made, and keep the pattern of that time. */
ak_guard_rows ak_stage_guard_rows(const ak_stage *stage, size_t argument);
ak_guard_stream ak_stage_gaps(const ak_stage *stage, size_t argument);
/* Takes the result of comparing an output: raises *max_error and, if the output is wrong, says so.
   Returns whether the output is right. */
bool ak_stage_take_compared(ak_outcome *out, double *max_error, const ak_stage *stage,
                            size_t argument, const ak_compare_result *result);
/* Sets out->reason to the sizes and `text`: "at M=7,N=33,K=1: ...". `text` may be out->reason
   itself. */
void ak_stage_say(ak_outcome *out, const ak_stage *stage, const char *text);
/* Marks the result as wrong, with a reason as ak_stage_say writes it. */
void ak_stage_wrong(ak_outcome *out, const ak_stage *stage, const char *text);
/* Writes the sizes, such as "M=7,N=33,K=1". */
void ak_stage_size_text(char *out, size_t bytes, const ak_stage *stage);
/* Returns whether the red zones in memory->bytes are unchanged; reports it if not. */
bool ak_stage_zones_whole(ak_outcome *out, ak_stage *stage);
/* Downloads the red zones to memory->bytes; does nothing if the block is mapped. */
ak_status ak_stage_fetch_zones(ak_stage *stage, ak_error *err);
/* Reports what the candidate does to an argument, and has the damage repaired before the next
   run. */
void ak_stage_damages(ak_outcome *out, ak_stage *stage, const char *what, size_t argument);
#define AK_STAGE_CHANGES      "changes its input"
#define AK_STAGE_BETWEEN_ROWS "writes between the rows of"
static inline bool ak_stage_is_output(const ak_stage *stage, size_t argument)
{
    return ak_stage_access(stage, argument) != AK_ACCESS_IN;
}
/* Returns where element `first` of an argument lies, in elements from the start, and gives how many
   of the `count` elements from there on lie together. */
size_t ak_stage_run(size_t *length, const ak_stage *stage, size_t argument, size_t first,
                    size_t count);
/* Gives the first elements of an output's reference. */
ak_status ak_stage_right(double *out, const ak_stage *stage, size_t argument, size_t count,
                         ak_error *err);
/* Checks that the tolerance of an output tells right from wrong here, with all of its elements or,
   if the device judges, with the first ones. ak_stage_selftest_all does so for every output. */
ak_status ak_stage_selftest(const ak_stage *stage, size_t argument, ak_error *err);
ak_status ak_stage_selftest_all(const ak_stage *stage, ak_error *err);
/* Decodes `count` elements of an input from element `first` on. */
void ak_stage_decode(double *out, const ak_stage *stage, size_t argument, size_t first,
                     size_t count);
/* Does what ak_stage_judge does, for a stage that the device judges. */
ak_status ak_stage_judge_referee(ak_outcome *out, double *max_error, ak_stage *stage,
                                 ak_error *err);

/* ---- stage_rows (stage_rows.c) --------------------------------------------------------------- */

/* Has the reference compute some rows of a stage's problem on the host, in a fraction of the time
   that all of them would take.

   This needs a problem that consists of separate problems, one for each value of its first size:
   each argument has that size as its first extent, or as the second of two, or not at all. Of
   another problem the only "row" is all of it. If rows are long, and if the problem also separates
   by another size, which is the last extent of its outputs, only some columns of the rows are
   computed: one row of a large product needs a whole matrix, a few columns of it do not.

   The shapes only allow this. Whether rows are problems of their own, as those of a product are and
   those of a stencil are not, the reference itself says (split.c). */

#define AK_STAGE_ROWS_MAX    64
#define AK_STAGE_COLUMNS_MAX 1024

/* How one value of a size uses an argument. */
typedef enum ak_stage_part {
    AK_PART_ALL,   /* all of it: it does not grow with the size */
    AK_PART_ROW,   /* a stretch of it: the size is its first extent */
    AK_PART_COLUMN /* one element of each of its rows: the size is the last of two extents */
} ak_stage_part;

/* Values of a size, drawn at random. */
typedef struct ak_stage_pick {
    size_t count; /* 0: all */
    const size_t *index;
    ak_stage_part part[AK_ARGUMENTS_MAX];
    size_t elements[AK_ARGUMENTS_MAX]; /* of each argument that one value uses */
} ak_stage_pick;

typedef struct ak_stage_rows {
    const ak_stage *stage;
    ak_shape shape; /* the problem's shape with only the chosen rows and columns */
    ak_stage_pick rows, columns;
    size_t row[AK_STAGE_ROWS_MAX], column[AK_STAGE_COLUMNS_MAX];
    /* Values of the chosen rows; owned. Of outputs: what the reference gives. */
    double *arrays[AK_ARGUMENTS_MAX];
    bool aside;            /* the outputs are those that a launch has set aside */
    const ak_mixed *mixed; /* inputs are changed, as in ak_outcome; NULL: they are not */
    size_t argument;       /* for the threads that decode */
} ak_stage_rows;

/* What is drawn. */
typedef struct ak_stage_draw {
    const ak_stage_split *split;
    double flops; /* about how much work the reference may take */
    size_t least; /* fewest rows, even if they take more, unless only some columns are computed */
    bool whole;   /* all columns of the rows */
    bool some;    /* only some of them, also if rows are short */
} ak_stage_draw;

/* Draws rows and, if these are long or draw->some is set, columns of them; draws no columns with
   draw->whole, or if the columns are not separate problems. An index may be drawn twice. Returns
   AK_UNAVAILABLE if the rows are not separate problems. */
ak_status ak_stage_rows_draw(ak_stage_rows *out, const ak_stage *stage, const ak_stage_draw *draw,
                             ak_rng *rng, ak_error *err);
/* Returns whether the shapes of the arguments allow that only some values of size `k`, which is not
   the first, are computed. Sets *elements to the number of elements that one value needs. */
bool ak_stage_has_columns(size_t *elements, const ak_stage *stage, size_t k);
/* Returns whether the chosen rows, whose reference has been computed, agree with the same rows in
   the whole stage's reference. */
bool ak_stage_rows_agree(const ak_stage_rows *rows);
/* Takes the whole problem as its only row. */
void ak_stage_rows_whole(ak_stage_rows *out, const ak_stage *stage);
/* Decodes the inputs of the chosen rows and has the reference compute their outputs. */
ak_status ak_stage_rows_compute(ak_stage_rows *rows, ak_reference *reference, ak_error *err);
/* Frees rows from AK_NEW. NULL is accepted. */
void ak_stage_rows_free(ak_stage_rows *rows);
AK_END_AT(ak_stage_rows_free, ak_stage_rows)
/* Returns whether two references agree on an element. */
bool ak_stage_values_agree(double x, double y, double rms);

#endif
