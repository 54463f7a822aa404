/*
 * test_alone.c: tests what judge/alone.h decides from invented times of single calls. A candidate
 * passes by the most that its calls can have taken, and is rejected by the least. If waits for a
 * processor leave both possible, nothing is decided.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "judge/alone.h"

#define US 1000

/* Adds `count` calls that took `us` microseconds, for `waited_us` of which their threads waited for
   a processor. */
static void add(ak_alone_calls *calls, size_t count, double us, double waited_us)
{
    for (size_t i = 0; i < count; i++) {
        const ak_outcome outcome = {
            .ns = (int64_t)(us * US), .waited_ns = (int64_t)(waited_us * US), .waits_known = true};
        ak_alone_add(calls, &outcome);
    }
}

/* The limits if a call in a batch took 40 us: a single call may take 125 us. */
static const ak_alone_limits usual = {
    .call_ns = 125 * US, .full_ns = 125 * US, .times = 2, .more_ns = 25 * US, .batches = true};

typedef struct some {
    size_t count;
    double us, waited_us;
} some;

static ak_alone_finding decide(const some fresh[2], const some again[3])
{
    ak_alone_calls unseen = {0}, seen = {0};
    ak_alone_evidence evidence;
    for (size_t i = 0; i < 2; i++) {
        add(&unseen, fresh[i].count, fresh[i].us, fresh[i].waited_us);
    }
    for (size_t i = 0; i < 3; i++) {
        add(&seen, again[i].count, again[i].us, again[i].waited_us);
    }
    return ak_alone_decide(&evidence, &unseen, &seen, &usual);
}

static void a_quiet_machine_decides(void **state)
{
    (void)state;
    /* One fast call on unseen inputs is enough, whatever the others took. */
    assert_int_equal(decide((some[2]){{2, 9000, 0}, {1, 120, 0}}, (some[3]){{1, 9000, 0}}),
                     AK_ALONE_FINE);
    /* The work takes 1 ms alone, and 40 us in a batch. */
    assert_int_equal(decide((some[2]){{3, 1000, 0}}, (some[3]){{24, 1000, 0}}), AK_ALONE_IDLES);
    /* Calls on seen inputs are as fast as in a batch, those on unseen ones are not. */
    assert_int_equal(decide((some[2]){{3, 1000, 0}}, (some[3]){{24, 50, 0}}), AK_ALONE_REUSES);
    /* Somewhat slower on unseen inputs: no accusation, but no confirmation of the batch's time. */
    assert_int_equal(decide((some[2]){{3, 140, 0}}, (some[3]){{24, 60, 0}}), AK_ALONE_SLOWER);
    /* Slow in half of the calls on seen inputs, as if on purpose: nor is this one. */
    assert_int_equal(decide((some[2]){{3, 1000, 0}}, (some[3]){{12, 50, 0}, {12, 1000, 0}}),
                     AK_ALONE_SLOWER);
}

/* If other programs occupy the processors, long waits neither acquit nor reject a candidate by
   themselves. */
static void a_starved_machine_acquits_nobody(void **state)
{
    (void)state;
    /* It certainly computes for 1 ms in most calls. */
    assert_int_equal(decide((some[2]){{3, 90000, 89000}}, (some[3]){{24, 90000, 89000}}),
                     AK_ALONE_IDLES);
    /* More waits were counted than fit into a call, for every call: nothing is known. */
    assert_int_equal(decide((some[2]){{3, 90000, 95000}}, (some[3]){{24, 90000, 95000}}),
                     AK_ALONE_UNKNOWN);
    /* The same for a few calls, which a tenth of all does not leave out. */
    assert_int_equal(decide((some[2]){{3, 1000, 0}}, (some[3]){{20, 1000, 0}, {4, 90000, 95000}}),
                     AK_ALONE_UNKNOWN);
    /* Calls on seen inputs are fast; those on unseen ones waited, for too long to tell. */
    assert_int_equal(decide((some[2]){{3, 90000, 89950}}, (some[3]){{24, 50, 0}}),
                     AK_ALONE_UNKNOWN);
    /* Long waits of calls on seen inputs make 1 ms on unseen ones look no faster. */
    assert_int_equal(decide((some[2]){{3, 1000, 0}}, (some[3]){{4, 50, 0}, {20, 900, 850}}),
                     AK_ALONE_UNKNOWN);
    /* One call by itself proves that the work is done in time. */
    assert_int_equal(
        decide((some[2]){{2, 90000, 95000}, {1, 120, 0}}, (some[3]){{24, 90000, 95000}}),
        AK_ALONE_FINE);
    assert_int_equal(decide((some[2]){{2, 90000, 95000}, {1, 130, 0}},
                            (some[3]){{20, 60, 0}, {4, 90000, 95000}}),
                     AK_ALONE_SLOWER);
}

/* Returns what is decided from calls on unseen inputs alone, of which `fast`, `slow` and `waiting`
   are of these kinds. */
static ak_alone_finding decide_unseen(size_t fast, size_t slow, size_t waiting)
{
    ak_alone_calls calls = {0};
    add(&calls, slow, 1000, 0);
    add(&calls, waiting, 90000, 89950);
    add(&calls, fast, 120, 0);
    return ak_alone_decide_unseen(&calls, &usual);
}

static void unseen_inputs_decide_whose_time_counts(void **state)
{
    (void)state;
    assert_int_equal(decide_unseen(1, 14, 0), AK_ALONE_FINE);
    assert_int_equal(decide_unseen(0, 15, 0), AK_ALONE_SLOWER);
    assert_int_equal(decide_unseen(0, 10, 5), AK_ALONE_SLOWER);
    assert_int_equal(decide_unseen(0, 5, 10), AK_ALONE_UNKNOWN);
    assert_int_equal(decide_unseen(0, 0, 0), AK_ALONE_UNKNOWN);
}

/* Returns what is decided from 9 calls on unseen inputs that took `us`, where most readings of
   their arguments took `read_us`, of which waits are `waited_us`, and 50 us in a batch. */
static ak_alone_finding decide_cold(double us, double read_us, double waited_us)
{
    ak_alone_calls calls = {0}, reads = {0};
    ak_alone_limits raised = usual;
    add(&calls, 9, us, 0);
    add(&reads, 4, 60, 0);
    add(&reads, 5, read_us, waited_us);
    raised.full_ns += ak_alone_cold(&reads, (50 + 75) * US);
    return ak_alone_decide_unseen(&calls, &raised);
}

/* One candidate has the time of its batches, which are in the caches, and another that is as fast
   would get that of calls whose inputs came from memory. */
static void slow_memory_gives_nobody_another_kind_of_time(void **state)
{
    (void)state;
    ak_alone_calls none = {0};
    /* Memory is slow: reading the arguments takes as long. */
    assert_int_equal(decide_cold(300, 310, 0), AK_ALONE_FINE);
    /* The same call is slow where reading the arguments is not, and so is one that takes longer
       than memory does: these reuse results, or learn branches. */
    assert_int_equal(decide_cold(300, 60, 0), AK_ALONE_SLOWER);
    assert_int_equal(decide_cold(320, 310, 0), AK_ALONE_SLOWER);
    /* Waits of the reader excuse nobody. */
    assert_int_equal(decide_cold(300, 9000, 8950), AK_ALONE_SLOWER);
    assert_true(ak_alone_cold(&none, 125 * US) == 0);
}

/* Reading takes 1000 us in a batch and, on a busy machine, 5000 us alone. A kernel that reads all
   of its arguments in a batch may be delayed by as much; one whose calls take 20 us there reads at
   most a fiftieth of them, and its calls on unseen inputs, of 4000 us, are not excused. */
static void slow_memory_excuses_nobody_who_does_not_read(void **state)
{
    (void)state;
    ak_alone_calls calls = {0}, reads = {0};
    ak_alone_limits honest = {.full_ns = (2.5 * 1200 + 25) * US},
                    other = {.full_ns = (2.5 * 20 + 25) * US};
    add(&calls, 9, 4000, 0);
    add(&reads, 9, 5000, 0);
    honest.full_ns += ak_alone_delay(&reads, 1000 * US, 25 * US, 1200 * US);
    assert_int_equal(ak_alone_decide_unseen(&calls, &honest), AK_ALONE_FINE);
    assert_true(ak_alone_delay(&reads, 1000 * US, 25 * US, 20 * US) < 80 * US);
    other.full_ns += ak_alone_delay(&reads, 1000 * US, 25 * US, 20 * US);
    assert_int_equal(ak_alone_decide_unseen(&calls, &other), AK_ALONE_SLOWER);
}

/* Returns what is decided about a kernel that touches little, whose calls alone took `us` where a
   call in a batch took 40, and where `count` readings of as many bytes took `read_us`, of which
   waits are `waited_us`, and 1 us in a batch. */
static ak_alone_finding decide_little(double us, size_t count, double read_us, double waited_us)
{
    ak_alone_calls reads = {0};
    const ak_alone_evidence found = {.alone_ns = us * US};
    add(&reads, count, read_us, waited_us);
    return ak_alone_decide_little(&found, &reads, (1 + 25) * US, &usual);
}

static void memory_excuses_kernels_that_touch_little(void **state)
{
    (void)state;
    /* Reading its bytes takes 26 us more than the 26 us that are usual, so it may take 125 + 26. */
    assert_int_equal(decide_little(151, 3, 52, 0), AK_ALONE_SLOWER);
    assert_int_equal(decide_little(152, 3, 52, 0), AK_ALONE_IDLES);
    /* Where memory takes no longer than in a batch, nothing is excused. */
    assert_int_equal(decide_little(126, 3, 26, 0), AK_ALONE_IDLES);
    assert_int_equal(decide_little(126, 3, 1, 0), AK_ALONE_IDLES);
    /* Other programs, of which an attacker may start some, make the reader wait: that is no time
       of memory. One reading that they slow down in another way is not believed either. */
    assert_int_equal(decide_little(1000, 3, 9000, 8999), AK_ALONE_IDLES);
    ak_alone_calls reads = {0};
    const ak_alone_evidence found = {.alone_ns = 1000 * US};
    add(&reads, 2, 26, 0);
    add(&reads, 1, 9000, 0);
    assert_int_equal(ak_alone_decide_little(&found, &reads, 26 * US, &usual), AK_ALONE_IDLES);
    /* A reader that fails accuses nobody, and acquits nobody. */
    assert_int_equal(decide_little(1000, 0, 0, 0), AK_ALONE_UNKNOWN);
    assert_int_equal(decide_little(1000, 2, 9000, 0), AK_ALONE_UNKNOWN);
    /* The finding is never FINE, however long memory takes: that only calls on unseen inputs can
       say. So an attacker who idles in batches gains nothing by slow memory. */
    assert_int_equal(decide_little(126, 3, 90000, 0), AK_ALONE_SLOWER);
}

static void little_is_a_quarter_of_the_arguments(void **state)
{
    (void)state;
    assert_true(ak_alone_touches_little(1, 4));
    assert_true(ak_alone_touches_little(1, 1e12));
    assert_false(ak_alone_touches_little(1.01, 4));
    assert_false(ak_alone_touches_little(4, 4));
    /* A problem that declares nothing, or nonsense, gets no excuse. */
    assert_false(ak_alone_touches_little(0, 4));
    assert_false(ak_alone_touches_little(-1, 4));
    assert_false(ak_alone_touches_little(NAN, 4));
    assert_false(ak_alone_touches_little(HUGE_VAL, 4));
    assert_false(ak_alone_touches_little(1, 0));
}

/* If waits spoil three looks of four at a short kernel, fewer than one kernel in 200 is left
   unjudged. */
static void waits_leave_few_short_kernels_unjudged(void **state)
{
    (void)state;
    double unjudged = 1;
    int64_t spent = 0, pause = 0;
    int looks = 0;
    do {
        looks++;
        unjudged *= 0.75;
        pause = ak_alone_pause(looks, true, spent);
        spent += pause + 300 * AK_MS_NS; /* the pause, and a look of usual length there */
    } while (pause > 0);
    assert_true(unjudged < 1.0 / 200);
    assert_true(spent < 25 * AK_SECOND_NS);
    /* Looks with many calls, or long ones, end earlier. */
    assert_true(ak_alone_pause(5, false, 0) > 0);
    assert_int_equal(ak_alone_pause(6, false, 0), 0);
    assert_int_equal(ak_alone_pause(2, true, 21 * AK_SECOND_NS), 0);
}

static void without_batches_or_unseen_inputs(void **state)
{
    (void)state;
    ak_alone_limits single = usual;
    ak_alone_calls none = {0}, seen = {0};
    ak_alone_evidence evidence;
    single.batches = false;
    add(&seen, 24, 9000, 0);
    assert_int_equal(ak_alone_decide(&evidence, &none, &seen, &single), AK_ALONE_FINE);
    assert_int_equal(ak_alone_decide(&evidence, &none, &seen, &usual), AK_ALONE_IDLES);
    assert_true(evidence.alone_ns == 9000 * US);
}

/* Returns what is decided from AK_ALONE_CALLS calls whose results were changed, or as many as
   decide, where a call takes 400 us in a batch and every other one of them alone takes `us` and
   `other_us`, of which threads waited for waited_us. Batches around them have calls of batch_us; 0:
   there are none. */
static ak_alone_finding decide_results(double us, double other_us, double batch_us,
                                       double waited_us)
{
    const double slack = 25 * US;
    ak_alone_results results = {0};
    ak_alone_evidence evidence;
    ak_alone_finding finding;
    const ak_outcome batch = {
        .status = AK_TRIAL_OK, .ns = (int64_t)(batch_us * 4 * US), .waits_known = true};
    const ak_alone_batch beside = ak_alone_batch_of(&batch, 4);
    do {
        const ak_outcome outcome = {
            .status = AK_TRIAL_OK,
            .ns = (int64_t)((results.calls.count % 2 == 0 ? us : other_us) * US),
            .waited_ns = (int64_t)(waited_us * US),
            .waits_known = true};
        ak_alone_add_result(&results, &outcome, beside, beside, 400 * US, slack);
        finding = ak_alone_decide_results(&evidence, &results);
    } while (finding == AK_ALONE_UNKNOWN && results.calls.count < AK_ALONE_CALLS);
    assert_true((finding == AK_ALONE_IDLES) == (evidence.alone_ns > 0));
    return finding;
}

/* Nobody computes only what another call has not: 525 us is the limit. */
static void results_are_not_used_again(void **state)
{
    (void)state;
    assert_int_equal(decide_results(520, 520, 0, 0), AK_ALONE_FINE);
    assert_int_equal(decide_results(520, 900, 400, 0), AK_ALONE_FINE);
    assert_int_equal(decide_results(900, 900, 400, 0), AK_ALONE_IDLES);
    /* The processor is half as fast as it was, whether in all of the calls or not. */
    assert_int_equal(decide_results(900, 900, 800, 0), AK_ALONE_FINE);
    assert_int_equal(decide_results(400, 800, 800, 0), AK_ALONE_FINE);
    assert_int_equal(decide_results(1100, 1100, 800, 0), AK_ALONE_IDLES);
    /* Waits tell nothing, and neither do calls without batches beside them. */
    assert_int_equal(decide_results(900, 900, 400, 500), AK_ALONE_UNKNOWN);
    assert_int_equal(decide_results(900, 900, 0, 0), AK_ALONE_UNKNOWN);
}

/* One call in `apart` is fast. More than a tenth leaves it open whether the others only waited. */
static ak_alone_finding decide_apart(size_t apart)
{
    const ak_outcome slow = {.status = AK_TRIAL_OK, .ns = 900 * US};
    const ak_outcome quick = {.status = AK_TRIAL_OK, .ns = 400 * US};
    const ak_alone_batch batch = ak_alone_batch_of(&quick, 1);
    ak_alone_results results = {0};
    ak_alone_evidence evidence;
    while (results.calls.count < AK_ALONE_CALLS) {
        assert_int_equal(ak_alone_decide_results(&evidence, &results), AK_ALONE_UNKNOWN);
        const bool is_quick = results.calls.count % apart == 0;
        ak_alone_add_result(&results, is_quick ? &quick : &slow, batch, batch, 400 * US, 0);
    }
    return ak_alone_decide_results(&evidence, &results);
}

static void few_fast_calls_decide_late(void **state)
{
    (void)state;
    assert_int_equal(decide_apart(9), AK_ALONE_FINE);
    assert_int_equal(decide_apart(24), AK_ALONE_IDLES);
}

/* A batch beside a call was slow for a moment: it neither excuses nor accuses. */
static void one_slow_batch_says_nothing(void **state)
{
    (void)state;
    ak_alone_results results = {0};
    const ak_outcome call = {.status = AK_TRIAL_OK, .ns = 900 * US};
    const ak_alone_batch slow = {.ns = 850 * US, .certain = 850 * US};
    const ak_alone_batch quick = {.ns = 400 * US, .certain = 400 * US};
    ak_alone_add_result(&results, &call, quick, slow, 400 * US, 0);
    ak_alone_add_result(&results, &call, slow, quick, 400 * US, 0);
    assert_int_equal(results.fast, 0);
    assert_int_equal(results.slow, 0);
    ak_alone_add_result(&results, &call, slow, slow, 400 * US, 0);
    assert_int_equal(results.fast, 1);
    ak_alone_add_result(&results, &call, quick, quick, 400 * US, 0);
    assert_int_equal(results.slow, 1);
}

/* A reader of a device that takes READ_US for all arguments, what it took until now, and how much
   it was to read last. */
#define READ_US 5000
static double reader_us;
static size_t reader_bytes;

static ak_status load_reader(ak_runnable **out, ak_device *device, const ak_load *load,
                             ak_outcome *outcome, ak_error *err)
{
    (void)device, (void)load, (void)outcome, (void)err;
    *out = (ak_runnable *)&reader_us;
    return AK_OK;
}

static ak_status launch_reader(ak_outcome *out, ak_runnable *runnable, const ak_launch *launch,
                               ak_error *err)
{
    (void)runnable, (void)err;
    *out = (ak_outcome){.status = AK_TRIAL_OK, .ns = (int64_t)launch->iterations * READ_US * US};
    reader_us += (double)launch->iterations * READ_US;
    reader_bytes = launch->reads;
    return AK_OK;
}

static void unload_reader(ak_runnable *runnable)
{
    (void)runnable;
}

/* A kernel of 1.4 us that touches little of large arguments has 700 calls in a batch. Reading all
   of the arguments as often takes seconds for each batch. */
static void large_arguments_are_not_read_for_long(void **state)
{
    static const ak_backend_ops ops = {
        .load = load_reader, .launch = launch_reader, .unload = unload_reader};
    static ak_problem problem;
    static const ak_task task = {.problem = &problem};
    static ak_evaluator e = {.backend = &ops, .task = &task};
    static ak_stage stage = {.task = &task, .memory = &e.memory, .launched = true};
    ak_loaded r = {.e = &e, .threads = 1};
    ak_cold cold;
    (void)state;
    e.memory.resident[stage.place] = &stage;
    assert_int_equal(ak_cold_open(&cold, &r, &stage, 700, 0, NULL), AK_OK);
    assert_true(cold.batch_ns == READ_US * US);
    assert_true(reader_us <= 30.0 * READ_US);
    ak_cold_close(&cold);
    /* What such a call takes in memory is measured by as many bytes as it touches. */
    assert_int_equal(ak_cold_open(&cold, &r, &stage, 700, 65536, NULL), AK_OK);
    assert_int_equal(reader_bytes, 65536);
    ak_cold_close(&cold);
    ak_cold_close(&cold);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quiet_machine_decides),
        cmocka_unit_test(a_starved_machine_acquits_nobody),
        cmocka_unit_test(unseen_inputs_decide_whose_time_counts),
        cmocka_unit_test(slow_memory_gives_nobody_another_kind_of_time),
        cmocka_unit_test(slow_memory_excuses_nobody_who_does_not_read),
        cmocka_unit_test(memory_excuses_kernels_that_touch_little),
        cmocka_unit_test(little_is_a_quarter_of_the_arguments),
        cmocka_unit_test(waits_leave_few_short_kernels_unjudged),
        cmocka_unit_test(without_batches_or_unseen_inputs),
        cmocka_unit_test(results_are_not_used_again),
        cmocka_unit_test(few_fast_calls_decide_late),
        cmocka_unit_test(one_slow_batch_says_nothing),
        cmocka_unit_test(large_arguments_are_not_read_for_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
