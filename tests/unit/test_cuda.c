/*
 * test_cuda.c: tests the CUDA backend without a GPU. Worker processes are real; driver, compiler
 * and library are faked (tests/fakes/fake_cuda.c). Correct candidates are timed by the fake's own
 * clock. Every kind of failure gets its own status and costs one trial; the next trial is
 * unaffected.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "archive/archive.h"
#include "backend/cuda/cuda_device.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "confined_fixture.h"
#include "fake_cuda_fixture.h"
#include "pool_fixture.h"

#define LAUNCH_TIMEOUT_NS (8 * AK_SECOND_NS)
/* Candidates with this many stages hang. They are submitted with a short time-out, as if others
   were known to be fast. */
#define HANG_STAGES 9

/* The fault that the fake device gives each candidate, by its num_stages, and the expected
   result. */
static const struct {
    int stages;
    const char *fault;
    ak_trial_status status;
    const char *reason; /* a part of it */
} cases[] = {
    {8, NULL, AK_TRIAL_OK, NULL},
    {4, "wrong", AK_TRIAL_WRONG_RESULT, "C["},
    {5, "overrun", AK_TRIAL_WRONG_RESULT, "outside of C, behind its end"},
    {7, "illegal_address", AK_TRIAL_CRASHED, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {3, "launch_error", AK_TRIAL_LAUNCH_ERROR, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
    {HANG_STAGES, "hang", AK_TRIAL_TIMED_OUT, "did not end within 2 s"},
    {11, "spill", AK_TRIAL_REJECTED, "spills 40 bytes"},
    {12, "spill_few", AK_TRIAL_OK, NULL},
    {13, "serialised", AK_TRIAL_REJECTED, "serialised tensor instructions"},
    {20, "compile_error", AK_TRIAL_COMPILE_ERROR, "said by the fake compiler"},
    {6, "lazy", AK_TRIAL_WRONG_RESULT, "C["},
};
enum { CASES = sizeof cases / sizeof cases[0] };

/* A fault in a task whose B is so large that results are judged on the device, and the expected
   result. */
typedef struct large_case {
    int stages;
    const char *fault;
    ak_trial_status status;
    const char *reason;
} large_case;
static const large_case large_cases[] = {
    {8, NULL, AK_TRIAL_OK, NULL},
    {4, "large_wrong", AK_TRIAL_WRONG_RESULT, "elements wrong, worst"},
    {5, "large_overrun", AK_TRIAL_WRONG_RESULT, "outside of C, behind its end"},
    {6, "large_past", AK_TRIAL_WRONG_RESULT, "outside of C, behind its end"},
    {8, NULL, AK_TRIAL_OK, NULL},
    {7, "large_idle", AK_TRIAL_WRONG_RESULT, " never"},
    {3, "large_input", AK_TRIAL_WRONG_RESULT, "it changes its input A"},
    {9, "large_scribble", AK_TRIAL_WRONG_RESULT, "" /* or that of another argument */},
    {8, NULL, AK_TRIAL_OK, NULL},
};
/* The same for arrays with gaps between their rows. */
static const large_case apart_cases[] = {
    {8, NULL, AK_TRIAL_OK, NULL},
    {5, "large_gap", AK_TRIAL_WRONG_RESULT, "it writes between the rows of C"},
    {6, "large_gap_copy", AK_TRIAL_WRONG_RESULT, "it writes between the rows of C"},
    {4, "large_past", AK_TRIAL_WRONG_RESULT, "outside of C, behind its end"},
    {3, "large_wrong", AK_TRIAL_WRONG_RESULT, "elements wrong, worst"},
    {8, NULL, AK_TRIAL_OK, NULL},
};
enum {
    LARGE_CASES = sizeof large_cases / sizeof large_cases[0],
    APART_CASES = sizeof apart_cases / sizeof apart_cases[0]
};

static int use_fake(void **state)
{
    char faults[1024] = "";
    size_t used = 0;
    if (use_fake_cuda(state) != 0) {
        return 1;
    }
    for (size_t i = 0; i < CASES; i++) {
        if (cases[i].fault != NULL) {
            used += (size_t)snprintf(faults + used, sizeof faults - used, "%s@num_stages=%d ",
                                     cases[i].fault, cases[i].stages);
        }
    }
    (void)setenv("FAKE_CUDA", faults, 1);
    return 0;
}

static ak_task *open_task_on(const char *device, const char *kernel, const char *size,
                             const char *dtype, const char *choices)
{
    ak_task *task = NULL;
    ak_error err = AK_ERROR_INIT;
    ak_task_spec spec = {
        .kernel = kernel, .device = device, .size = size, .dtype = dtype, .choices = choices};
    if (ak_task_open(&task, &spec, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    return task;
}

static ak_task *open_task(const char *kernel, const char *size, const char *dtype,
                          const char *choices)
{
    return open_task_on("cuda:0", kernel, size, dtype, choices);
}

static ak_pool *open_pool(const ak_task *task)
{
    ak_pool_options options = {
        .compile_workers = 2, .launch_timeout_ns = LAUNCH_TIMEOUT_NS, .every_device = true};
    ak_pool *pool = NULL;
    ak_error err = AK_ERROR_INIT;
    if (ak_pool_open(&pool, task, &options, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    return pool;
}

static ak_config config_with(const ak_task *task, int stages, const char *more)
{
    char text[320];
    ak_config config;
    ak_error err = AK_ERROR_INIT;
    (void)snprintf(text, sizeof text,
                   "SWAP_AB=1,NUM_CONSUMERS=1,PRODUCER_WARPS=1,PRODUCER_REGISTERS=0,"
                   "CONSUMER_REGISTERS=0,BLOCK_SIZE_M=16,BLOCK_SIZE_N=64,BLOCK_SIZE_K=64,"
                   "CLUSTER_K=1,EPILOGUE_BUFFERS=1,BLOCKS_PER_SM=%d,num_stages=%d%s",
                   stages < 8 ? 2 : 1, stages, more);
    if (ak_config_parse(&config, ak_task_space(task), text, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    return config;
}

static ak_config config_of(const ak_task *task, int stages)
{
    return config_with(task, stages, "");
}

static void submit_after(ak_pool *pool, const ak_config *config, ak_job_kind kind, uint64_t id,
                         double give_up_ms)
{
    ak_error err = AK_ERROR_INIT;
    ak_job job = {.kind = kind,
                  .id = id,
                  .config = *config,
                  .timer = {.budget_ns = 20 * AK_MS_NS, .give_up_ms = give_up_ms}};
    if (ak_pool_submit(pool, &job, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
}

static void submit(ak_pool *pool, const ak_config *config, ak_job_kind kind, uint64_t id)
{
    submit_after(pool, config, kind, id, 0);
}

static double give_up_of(int stages)
{
    return stages == HANG_STAGES ? 0.01 : 0;
}

static void every_fate_is_named(void **state)
{
    (void)state;
    ak_task *task = open_task("matmul", "M=40,N=64,K=128", NULL, NULL);
    assert_string_equal(ak_task_dtype(task), "bf16");
    assert_string_equal(ak_task_implementation(task), "cuda_sm90");
    ak_pool *pool = open_pool(task);
    for (size_t i = 0; i < CASES; i++) {
        ak_config config = config_of(task, cases[i].stages);
        submit_after(pool, &config, AK_JOB_TRIAL, i, give_up_of(cases[i].stages));
    }
    for (size_t n = 0; n < CASES; n++) {
        ak_result result = wait_one(pool);
        size_t i = (size_t)result.id;
        expect_fate(&result, cases[i].fault == NULL ? "ok" : cases[i].fault, cases[i].status,
                    cases[i].reason);
        if (cases[i].status == AK_TRIAL_OK) {
            assert_int_equal(result.trial.registers, 168);
            assert_true(result.trial.median_ms > 0.05); /* the fake's launch */
            assert_true(result.trial.median_ms < 1.0);
            assert_true(result.trial.max_error <= 1.0);
            assert_string_equal(result.trial.measured_on, "cuda:0");
            assert_string_equal(result.trial.device_uuid,
                                "GPU-00000000-0000-0000-0000-000000000000");
            assert_true(result.trial.sm_clock_mhz == 1755);
            assert_true(result.trial.memory_clock_mhz == 3201);
            assert_true(result.trial.power_watts == 618.5); /* of the moment */
            assert_true(result.trial.temperature_celsius == 51);
            assert_string_equal(result.trial.throttle, "power_cap");
        }
        ak_result_clear(&result);
    }
    /* and the first still works, after all that */
    ak_config config = config_of(task, 8);
    submit(pool, &config, AK_JOB_CHECK, 99);
    ak_result result = wait_one(pool);
    assert_int_equal(result.trial.status, AK_TRIAL_OK);
    ak_result_clear(&result);
    ak_pool_close(pool);
    ak_task_close(task);
}

/* The files of a kernel whose parameter CASE decides which part of its launch is impossible. */
static const char *const odd_launch[][2] = {
    {"problem.json",
     "{\"schema\": 1, \"name\": \"odd\", \"description\": \"y = 2 x\",\n"
     " \"sizes\": [{\"name\": \"N\", \"default\": 5000, \"description\": \"length\"}],\n"
     " \"dtypes\": [\"f32\"], \"choices\": [], \"arguments\": [\n"
     "  {\"name\": \"X\", \"dtype\": \"dtype\", \"shape\": [\"N\"], \"access\": \"in\",\n"
     "   \"fill\": \"uniform(-1,1)\"},\n"
     "  {\"name\": \"Y\", \"dtype\": \"dtype\", \"shape\": [\"N\"], \"access\": \"out\"}],\n"
     " \"flops\": \"N\", \"bytes\": \"8*N\", \"reference\": \"reference.c\",\n"
     " \"tolerance\": {\"f32\": {\"relative\": \"eps\", \"rms\": \"eps\"}}, \"awkward\": []}\n"},
    {"reference.c", "void ak_reference(const ak_host_call *call)\n"
                    "{\n"
                    "    const double *x = call->arg[0];\n"
                    "    double *y = call->arg[1];\n"
                    "    for (int64_t i = 0; i < call->size[0]; i++) {\n"
                    "        y[i] = 2.0 * x[i];\n"
                    "    }\n"
                    "}\n"},
    {"cuda.cu", "extern \"C\" __global__ void ak_kernel(float *y, const float *x, int n) {}\n"},
    {"cuda.json",
     "{\"ConfigurationSpace\": {\"TuningParameters\": [{\"Name\": \"CASE\", \"Type\": \"int\",\n"
     "   \"Values\": [9, 0, 1, 2, 3, 4, 5, 6, 7]}], \"Conditions\": []},\n"
     " \"KernelSpecification\": {\"Language\": \"CUDA\", \"KernelName\": \"ak_kernel\",\n"
     "  \"KernelFile\": \"cuda.cu\", \"Launch\": {\n"
     "   \"Let\": [{\"Name\": \"part\", \"Value\": \"N // CASE if CASE < 2 else 1\"}],\n"
     "   \"Block\": [\"2048 if CASE == 2 else 32\", \"64 if CASE == 3 else 1\"],\n"
     "   \"Grid\": [\"N // 100000 if CASE == 1 else part\"],\n"
     "   \"SharedMemory\": \"240000 if CASE == 4 else 2**40 if CASE == 5 else 0\",\n"
     "   \"Cluster\": [\"32 if CASE == 6 else 1\"],\n"
     "   \"Arguments\": [{\"Buffer\": \"Y\"}, {\"Buffer\": \"X\"},\n"
     "    {\"Int32\": \"2**40 if CASE == 7 else N\"}]}}}\n"},
};

/* If the launch of a configuration is impossible, its trial fails with the reason, and others are
   not affected. */
static void an_impossible_launch_is_a_trial(void **state)
{
    static const char *const reasons[] = {
        "Launch: part: \"N // CASE if CASE < 2 else 1\": division by zero, for CASE=0",
        "Launch: Grid[0]: \"N // 100000 if CASE == 1 else part\" is 0",
        "Launch: Block[0]: \"2048 if CASE == 2 else 32\" is 2048",
        "a block has 2048 threads",
        NULL, /* what the device has */
        "SharedMemory: \"240000 if CASE == 4 else 2**40 if CASE == 5 else 0\" is 1099511627776",
        "Cluster[0]",
        "Int32: \"2**40 if CASE == 7 else N\" is 1099511627776",
    };
    enum { REASONS = sizeof reasons / sizeof reasons[0] };
    char kernel[AK_PATH_MAX], path[AK_PATH_MAX], text[16];
    (void)state;
    assert_int_equal(ak_fs_join(kernel, folder, "odd", NULL), AK_OK);
    assert_int_equal(ak_fs_mkdirs(kernel, NULL), AK_OK);
    for (size_t i = 0; i < sizeof odd_launch / sizeof odd_launch[0]; i++) {
        assert_int_equal(ak_fs_join(path, kernel, odd_launch[i][0], NULL), AK_OK);
        assert_int_equal(ak_fs_write(path, odd_launch[i][1], strlen(odd_launch[i][1]), NULL),
                         AK_OK);
    }
    ak_task *task = open_task(kernel, NULL, NULL, NULL);
    ak_pool *pool = open_pool(task);
    for (size_t i = 0; i < REASONS; i++) {
        ak_config config;
        (void)snprintf(text, sizeof text, "CASE=%zu", i);
        assert_int_equal(ak_config_parse(&config, ak_task_space(task), text, NULL), AK_OK);
        submit(pool, &config, i % 2 == 0 ? AK_JOB_TRIAL : AK_JOB_CHECK, i);
        ak_result result = wait_one(pool);
        expect_fate(&result, text, AK_TRIAL_INVALID, reasons[i]);
        expect_fate(&result, text, AK_TRIAL_INVALID, i == 4 ? "shared memory" : text);
        ak_result_clear(&result);
    }
    ak_pool_close(pool);
    ak_task_close(task);
}

/* A candidate that loses the device, or ends the process that holds all candidates, is named and
   left out. The others, and the libraries, are measured without it. */
static void a_comparison_outlives_its_candidates(void **state)
{
    static const char *const ways[] = {"late@num_stages=7", "illegal_address@num_stages=7",
                                       "die@num_stages=7", "late@num_stages=7 late@num_stages=8"};
    static const char *const names[] = {"first", "culprit", "third"};
    char *faults = ak_strdup(getenv("FAKE_CUDA"));
    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        (void)setenv("FAKE_CUDA", ways[i], 1);
        ak_task *task = open_task("matmul", "M=40,N=64,K=128", NULL, NULL);
        const ak_config configs[] = {config_of(task, 8), config_of(task, 7), config_of(task, 6)};
        ak_comparison comparison = {0};
        ak_error err = AK_ERROR_INIT;
        const ak_compare_options options = {
            .configs = configs, .names = names, .count = 3, .baselines = true, .seconds = 0.1};
        if (ak_compare(&comparison, task, &options, &err) != AK_OK) {
            fail_msg("%s: %s", ways[i], err.text);
        }
        assert_true(comparison.count > 3);
        for (size_t k = 0; k < comparison.count; k++) {
            const ak_compared *c = &comparison.candidates[k];
            bool bad = strcmp(c->name, "culprit") == 0 ||
                       (strstr(ways[i], "=8") != NULL && strcmp(c->name, "first") == 0);
            if (bad ? c->median_ms > 0 || c->reason == NULL || strstr(c->reason, "another") != NULL
                    : !(c->median_ms > 0)) {
                fail_msg("%s: %s: %s", ways[i], c->name, c->reason == NULL ? "ok" : c->reason);
            }
        }
        ak_comparison_clear(&comparison);
        ak_task_close(task);
    }
    (void)setenv("FAKE_CUDA", faults, 1);
    ak_free(faults);
}

/* A trial of a search is compiled for its own size only; a check is compiled for all sizes. A fault
   that exists only in the specialised code shows which code runs. */
static void a_search_compiles_what_it_times(void **state)
{
    enum { SEARCH, WHOLE, CHECK, KINDS };
    static const ak_job_kind kinds[KINDS] = {
        [SEARCH] = AK_JOB_TRIAL, [WHOLE] = AK_JOB_TRIAL, [CHECK] = AK_JOB_CHECK};
    char *faults = ak_strdup(getenv("FAKE_CUDA"));
    (void)state;
    assert_non_null(faults);
    for (int wrong = 0; wrong < 2; wrong++) {
        (void)setenv("FAKE_CUDA", wrong ? "wrong@OWN_SIZE_ONLY=1" : "", 1);
        ak_task *task = open_task("matmul", "M=40,N=64,K=128", NULL, NULL);
        ak_pool *pool = open_pool(task);
        ak_config config = config_of(task, 8);
        for (size_t i = 0; i < KINDS; i++) {
            ak_error err = AK_ERROR_INIT;
            ak_job job = {.kind = kinds[i],
                          .id = i,
                          .config = config,
                          .specialised = i == SEARCH,
                          .timer = {.budget_ns = 20 * AK_MS_NS}};
            assert_int_equal(ak_pool_submit(pool, &job, &err), AK_OK);
        }
        for (size_t n = 0; n < KINDS; n++) {
            ak_result result = wait_one(pool);
            assert_int_equal(result.trial.status,
                             wrong && result.id == SEARCH ? AK_TRIAL_WRONG_RESULT : AK_TRIAL_OK);
            ak_result_clear(&result);
        }
        ak_pool_close(pool);
        ak_task_close(task);
    }
    (void)setenv("FAKE_CUDA", faults, 1);
    ak_free(faults);
}

/* Batches include inputs that no earlier call has seen. So a candidate that reuses earlier results
   is found to be wrong or slow, whichever a random draw shows first. A candidate that computes
   nothing for inputs that do not come back is wrong where the harness has no result at hand, and
   one that may begin early and does not wait is wrong where its inputs are late. */
static void whoever_remembers_is_found(void **state)
{
    static const struct {
        const char *faults, *choices, *more;
        int tries; /* within which it is found; 0 if it is right */
    } ways[] = {{"", NULL, "", 0},
                {"address@OWN_SIZE_ONLY=1", NULL, "", 3},
                {"print@OWN_SIZE_ONLY=1", NULL, "", 3},
                {"stranger@OWN_SIZE_ONLY=1", NULL, "", 3},
                {"rows@OWN_SIZE_ONLY=1", "layout=nt", "", 3},
                {"early", NULL, ",LAUNCH_EARLY=1", 1},
                {"early", NULL, ",LAUNCH_EARLY=0", 0}};
    char *faults = ak_strdup(getenv("FAKE_CUDA"));
    (void)state;
    assert_non_null(faults);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        (void)setenv("FAKE_CUDA", ways[i].faults, 1);
        ak_task *task = open_task("matmul", "M=40,N=64,K=128", NULL, ways[i].choices);
        ak_pool *pool = open_pool(task);
        ak_config config = config_with(task, 8, ways[i].more);
        ak_result result = {0};
        bool found = false;
        /* On a busy machine batches may have one run only, which no other follows. */
        for (int tries = 0; tries == 0 || (tries < ways[i].tries && !found); tries++) {
            ak_error err = AK_ERROR_INIT;
            ak_job job = {.kind = AK_JOB_TRIAL, .id = i, .config = config, .specialised = true};
            ak_result_clear(&result);
            assert_int_equal(ak_pool_submit(pool, &job, &err), AK_OK);
            result = wait_one(pool);
            const char *why = result.trial.reason == NULL ? "" : result.trial.reason;
            found = (result.trial.status == AK_TRIAL_WRONG_RESULT &&
                     strstr(why, "elements wrong") != NULL) ||
                    (result.trial.status == AK_TRIAL_REJECTED &&
                     strstr(why, "it has not seen") != NULL);
        }
        if (ways[i].tries > 0 ? !found : result.trial.status != AK_TRIAL_OK) {
            fail_msg("\"%s\": %s: %s", ways[i].faults, ak_trial_status_text(result.trial.status),
                     result.trial.reason == NULL ? "" : result.trial.reason);
        }
        ak_result_clear(&result);
        ak_pool_close(pool);
        ak_task_close(task);
    }
    (void)setenv("FAKE_CUDA", faults, 1);
    ak_free(faults);
}

/* A check has no batches of several runs. */
static void a_check_finds_who_begins_early(void **state)
{
    char *faults = ak_strdup(getenv("FAKE_CUDA"));
    (void)state;
    assert_non_null(faults);
    (void)setenv("FAKE_CUDA", "early", 1);
    ak_task *task = open_task("matmul", "M=40,N=64,K=128", NULL, NULL);
    ak_pool *pool = open_pool(task);
    for (int waits = 0; waits < 2; waits++) {
        ak_error err = AK_ERROR_INIT;
        ak_job job = {.kind = AK_JOB_CHECK,
                      .config =
                          config_with(task, 8, waits ? ",LAUNCH_EARLY=0" : ",LAUNCH_EARLY=1")};
        assert_int_equal(ak_pool_submit(pool, &job, &err), AK_OK);
        ak_result result = wait_one(pool);
        assert_int_equal(result.trial.status, waits ? AK_TRIAL_OK : AK_TRIAL_WRONG_RESULT);
        ak_result_clear(&result);
    }
    ak_pool_close(pool);
    ak_task_close(task);
    (void)setenv("FAKE_CUDA", faults, 1);
    ak_free(faults);
}

/* In a comparison whose processes have one round each, none of these is compared with unseen
   contents, because first batches say nothing. The last batch is compared in any case. */
static void a_short_comparison_finds_who_remembers(void **state)
{
    char *faults = ak_strdup(getenv("FAKE_CUDA"));
    ak_error err = AK_ERROR_INIT;
    (void)state;
    assert_non_null(faults);
    (void)setenv("FAKE_CUDA", "rows@num_stages=8", 1);
    ak_task *task = open_task("matmul", "M=40,N=64,K=128", NULL, "layout=nt");
    ak_pool *pool = open_pool(task);
    ak_config configs[2] = {config_of(task, 8), config_of(task, 6)};
    ak_comparison_candidate candidates[2] = {{.config = &configs[0]}, {.config = &configs[1]}};
    ak_job job = {.kind = AK_JOB_COMPARISON,
                  .candidates = candidates,
                  .candidate_count = 2,
                  .plan = {.seconds = 0.1}};
    assert_int_equal(ak_pool_submit(pool, &job, &err), AK_OK);
    ak_result result = wait_one(pool);
    assert_int_equal(result.entry_count, 2);
    assert_int_equal(result.entries[0].status, AK_TRIAL_REJECTED);
    assert_non_null(strstr(result.entries[0].reason, "on inputs that it has not seen"));
    assert_int_equal(result.entries[1].status, AK_TRIAL_OK);
    ak_result_clear(&result);
    ak_pool_close(pool);
    ak_task_close(task);
    (void)setenv("FAKE_CUDA", faults, 1);
    ak_free(faults);
}

/* A run ends when a device has died 20 times in a row without a finished trial in between. Each of
   these trials still gets its result. */
static void deaths_in_a_row_have_a_limit(void **state)
{
    enum { DEATHS = 20 };
    ak_error err = AK_ERROR_INIT;
    ak_result over = {0};
    (void)state;
    ak_task *task = open_task("matmul", "M=8,N=8,K=64", NULL, NULL);
    ak_pool *pool = open_pool(task);
    ak_config poison = config_of(task, 7), good = config_of(task, 8);
    for (size_t i = 0; i < DEATHS + 2; i++) {
        submit(pool, i == 1 ? &good : &poison, AK_JOB_CHECK, i);
        ak_result result = wait_one(pool);
        assert_int_equal(result.id, i);
        assert_int_equal(result.trial.status, i == 1 ? AK_TRIAL_OK : AK_TRIAL_CRASHED);
        ak_result_clear(&result);
    }
    submit(pool, &good, AK_JOB_CHECK, 99);
    assert_int_equal(ak_pool_wait(&over, pool, WAIT_NS, &err), AK_CRASHED);
    assert_non_null(strstr(err.text, "20 times in a row without one finished trial"));
    ak_pool_close(pool);
    ak_task_close(task);
}

/* Two devices share ten trials, of which one hangs and one makes its device unusable. Each trial
   gets one result, both devices get some, and only the two faulty trials fail. */
static void devices_share_the_trials(void **state)
{
    static const struct {
        int stages;
        const char *more;
    } mixed[] = {{HANG_STAGES, ""},
                 {8, ""},
                 {8, ",EVICT_B=0,L2_PROMOTION=256"},
                 {7, ""},
                 {8, ",EVICT_B=0,L2_PROMOTION=64"},
                 {8, ",EVICT_B=0,L2_PROMOTION=0"},
                 {8, ",EVICT_B=1,L2_PROMOTION=256"},
                 {8, ",EVICT_B=1,L2_PROMOTION=128"},
                 {8, ",EVICT_B=1,L2_PROMOTION=64"},
                 {8, ",EVICT_B=1,L2_PROMOTION=0"}};
    enum { TRIALS = sizeof mixed / sizeof mixed[0] };
    size_t by_device[2] = {0, 0}, seen[TRIALS] = {0};
    (void)state;
    ak_task *task = open_task_on("cuda:0,1", "matmul", "M=40,N=64,K=128", NULL, NULL);
    assert_string_equal(ak_task_device(task), "cuda:0");
    assert_string_equal(ak_task_devices(task), "cuda:0,cuda:1");
    ak_pool *pool = open_pool(task);
    for (size_t i = 0; i < TRIALS; i++) {
        ak_config config = config_with(task, mixed[i].stages, mixed[i].more);
        submit_after(pool, &config, AK_JOB_TRIAL, i, give_up_of(mixed[i].stages));
    }
    for (size_t n = 0; n < TRIALS; n++) {
        ak_result result = wait_one(pool);
        const ak_trial *trial = &result.trial;
        int stage = mixed[result.id].stages;
        ak_trial_status status = stage == HANG_STAGES ? AK_TRIAL_TIMED_OUT
                                 : stage == 7         ? AK_TRIAL_CRASHED
                                                      : AK_TRIAL_OK;
        if (trial->status != status) {
            fail_msg("num_stages=%d: %s: %s", stage, ak_trial_status_text(trial->status),
                     trial->reason == NULL ? "" : trial->reason);
        }
        assert_non_null(trial->measured_on);
        size_t on = strcmp(trial->measured_on, "cuda:1") == 0 ? 1 : 0;
        assert_string_equal(trial->device_uuid, on == 0
                                                    ? "GPU-00000000-0000-0000-0000-000000000000"
                                                    : "GPU-01010101-0101-0101-0101-010101010101");
        by_device[on]++;
        seen[result.id]++;
        ak_result_clear(&result);
    }
    for (size_t i = 0; i < TRIALS; i++) {
        assert_int_equal(seen[i], 1);
    }
    assert_true(by_device[0] > 0 && by_device[1] > 0);
    assert_int_equal(ak_pool_given_up(pool), 0);
    /* what claims rest on is asked of the first */
    ak_config config = config_of(task, 8);
    submit(pool, &config, AK_JOB_CHECK, 99);
    ak_result result = wait_one(pool);
    assert_int_equal(result.trial.status, AK_TRIAL_OK);
    assert_string_equal(result.trial.measured_on, "cuda:0");
    ak_result_clear(&result);
    ak_pool_close(pool);
    ak_task_close(task);
}

/* Returns whether a device is idle although a compiled trial waits for one. */
static bool somebody_waits(const ak_pool *pool)
{
    bool ready = false, idle = false;
    for (size_t i = 0; i < pool->job_count; i++) {
        const ak_pool_job *j = pool->jobs[i];
        ready = ready || (j->on == AK_POOL_NONE && ak_pool_job_compiled(pool, j));
    }
    for (size_t i = 0; i < pool->device_count; i++) {
        const ak_pool_device *d = &pool->devices[i];
        idle = idle || (d->state == AK_DEVICE_FREE && !d->held);
    }
    return ready && idle;
}

/* Runs one turn of the pool, as far as it goes without the caller. */
static void turn(ak_pool *pool)
{
    ak_error err = AK_ERROR_INIT;
    if (ak_pool_turn(pool, AK_SECOND_NS, false, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
}

static bool all_free(const ak_pool *pool)
{
    bool free = true;
    for (size_t i = 0; i < pool->device_count; i++) {
        free = free && pool->devices[i].state == AK_DEVICE_FREE;
    }
    return free;
}

/* If all trials are compiled, two and four devices are kept busy. A device waits for the caller to
   handle its own result, but not for other devices or their results. */
static void no_device_waits_for_another(void **state)
{
    static const char *const names[] = {"cuda:0,1", "cuda:all"};
    static const size_t devices[] = {2, 4};
    enum { EVICTS = 2, PROMOTIONS = 4, STAGES = 2, TRIALS = EVICTS * PROMOTIONS * STAGES };
    static const int promotions[PROMOTIONS] = {0, 64, 128, 256};
    char *faults = ak_strdup(getenv("FAKE_CUDA"));
    (void)state;
    assert_non_null(faults);
    (void)setenv("FAKE_CUDA", "", 1);
    for (size_t m = 0; m < 2; m++) {
        ak_task *task = open_task_on(names[m], "matmul", "M=40,N=64,K=128", NULL, NULL);
        ak_pool *pool = open_pool(task);
        size_t done = 0, given = 0;
        assert_int_equal(pool->device_count, devices[m]);
        for (size_t i = 0; i < TRIALS; i++) {
            char more[64];
            (void)snprintf(more, sizeof more, ",EVICT_B=%d,L2_PROMOTION=%d", (int)(i % EVICTS),
                           promotions[i / EVICTS % PROMOTIONS]);
            ak_config config = config_with(task, 8 + (int)(i / (EVICTS * PROMOTIONS)), more);
            submit(pool, &config, AK_JOB_TRIAL, i);
        }
        while (count_compiling(pool) > 0 || !all_free(pool)) {
            turn(pool);
        }
        ak_result first = wait_one(pool);
        while (!all_free(pool)) {
            turn(pool);
        }
        for (size_t i = 0; i < devices[m]; i++) { /* all have finished, and none goes on */
            assert_int_equal(pool->devices[i].given, 1);
        }
        ak_result second = wait_one(pool);
        for (size_t i = 0; i < devices[m]; i++) { /* but that whose result was dealt with */
            assert_int_equal(pool->devices[i].given, i == first.device ? 2 : 1);
        }
        assert_int_not_equal(first.device, second.device);
        ak_result_clear(&first);
        ak_result_clear(&second);
        for (done = 2; done < TRIALS; done++) {
            assert_false(somebody_waits(pool));
            ak_result result = wait_one(pool);
            assert_int_equal(result.trial.status, AK_TRIAL_OK);
            ak_result_clear(&result);
        }
        for (size_t i = 0; i < devices[m]; i++) {
            given += pool->devices[i].given;
        }
        assert_int_equal(given, TRIALS);
        ak_pool_close(pool);
        ak_task_close(task);
    }
    (void)setenv("FAKE_CUDA", faults, 1);
    ak_free(faults);
}

static void devices_are_named(void **state)
{
    static const struct {
        const char *wanted;
        size_t count;
        const char *text; /* the last device, or a part of the message */
    } cases_of_names[] = {
        {"cuda:0", 1, "cuda:0"},
        {"cuda:1", 1, "cuda:1"},
        {"cuda:all", 4, "cuda:3"},
        {"cuda:1,cuda:0", 2, "cuda:0"},
        {"cuda:0,1", 2, "cuda:1"},
        {"host:all", 1, "host"},
        {"cuda:0,cuda:0", 0, "cuda:0 is named twice"},
        {"cuda:0,host", 0, "different kinds cannot share a run: cuda:0, host"},
        {"cuda:0,5", 0, "there is no device cuda:5: this machine has cuda:0 to cuda:3"},
        {"cuda:0,", 0, "unknown device \"\""},
        {"0,1", 0, "unknown device \"0\""},
        {"nothing:all", 0, "there is no backend \"nothing\""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases_of_names / sizeof cases_of_names[0]; i++) {
        const ak_backend_ops *backend;
        ak_device_list list = {.count = 0};
        ak_error err = AK_ERROR_INIT;
        ak_status status = ak_backend_devices(&backend, &list, cases_of_names[i].wanted, &err);
        if (cases_of_names[i].count == 0) {
            assert_int_not_equal(status, AK_OK);
            if (strstr(err.text, cases_of_names[i].text) == NULL) {
                fail_msg("%s: %s", cases_of_names[i].wanted, err.text);
            }
            continue;
        }
        if (status != AK_OK) {
            fail_msg("%s: %s", cases_of_names[i].wanted, err.text);
        }
        assert_int_equal(list.count, cases_of_names[i].count);
        const char *comma = strrchr(list.all, ',');
        assert_string_equal(comma == NULL ? list.all : comma + 1, cases_of_names[i].text);
    }
}

/* Checks and measures the named libraries in a comparison. The caller clears the result. */
static ak_result comparison_of(ak_pool *pool, const char *const *libraries, size_t count)
{
    ak_comparison_candidate candidates[4];
    ak_error err = AK_ERROR_INIT;
    for (size_t i = 0; i < count; i++) {
        candidates[i] = (ak_comparison_candidate){.baseline = libraries[i]};
    }
    ak_job job = {.kind = AK_JOB_COMPARISON,
                  .candidates = candidates,
                  .candidate_count = count,
                  .plan = {.seconds = 0.1}};
    if (ak_pool_submit(pool, &job, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    ak_result result = wait_one(pool);
    assert_int_equal(result.entry_count, count);
    return result;
}

/* Does the same as comparison_of, but fails the test if a library is wrong, and writes their
   versions. */
static void comparison(char versions[][200], ak_pool *pool, const char *const *libraries,
                       size_t count)
{
    ak_result result = comparison_of(pool, libraries, count);
    for (size_t i = 0; i < count; i++) {
        const ak_comparison_entry *entry = &result.entries[i];
        if (entry->status != AK_TRIAL_OK) {
            fail_msg("%s: %s", libraries[i], entry->reason == NULL ? "-" : entry->reason);
        }
        (void)snprintf(versions[i], sizeof versions[i], "%s",
                       entry->version == NULL ? "" : entry->version);
    }
    ak_result_clear(&result);
}

/* Tries faults in a task whose results are judged on the device. An emulator runs the real device
   code. The damage that one candidate does must not affect the next. */
static void try_large(const large_case *what, size_t count, const char *choices)
{
    char before[1024], faults[1024] = "";
    size_t used = 0;
    (void)snprintf(before, sizeof before, "%s", getenv("FAKE_CUDA"));
    for (size_t i = 0; i < count; i++) {
        if (what[i].fault != NULL) {
            used += (size_t)snprintf(faults + used, sizeof faults - used, "%s@num_stages=%d ",
                                     what[i].fault, what[i].stages);
        }
    }
    (void)setenv("FAKE_CUDA", faults, 1);
    ak_task *task = open_task("matmul", "M=16,N=4096,K=256", "bf16", choices);
    ak_pool *pool = open_pool(task);
    for (size_t i = 0; i < count; i++) {
        ak_config config = config_of(task, what[i].stages);
        submit(pool, &config, AK_JOB_CHECK, i);
    }
    for (size_t n = 0; n < count; n++) {
        ak_result result = wait_one(pool);
        const large_case *one = &what[result.id];
        expect_fate(&result, one->fault == NULL ? "ok" : one->fault, one->status, one->reason);
        assert_true(result.trial.status != AK_TRIAL_OK ||
                    (result.trial.max_error > 0 && result.trial.max_error <= 1));
        ak_result_clear(&result);
    }
    ak_pool_close(pool);
    ak_task_close(task);
    (void)setenv("FAKE_CUDA", before, 1);
}

static void large_results_are_judged_there(void **state)
{
    (void)state;
    try_large(large_cases, LARGE_CASES, NULL);
}

static void between_rows_nobody_writes_there(void **state)
{
    (void)state;
    try_large(apart_cases, APART_CASES, "pad_a=8,pad_c=8");
}

/* A reference on the device that differs from reference.c by a millionth in one element is refused,
   both at an edge-case size and in the last row at the task's own size. */
static void a_wrong_referee_is_refused(void **state)
{
    static const struct {
        const char *fault, *reason;
    } wrong[] = {
        {"small_bad_reference", "at M=1,N=1,K=1 the device's reference has C[0,0] ="},
        {"large_bad_reference", "at M=16,N=4096,K=256 the device's reference has C[15,4095] ="},
    };
    char before[1024];
    (void)state;
    (void)snprintf(before, sizeof before, "%s", getenv("FAKE_CUDA"));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ak_error err = AK_ERROR_INIT;
        ak_result result = {0};
        (void)setenv("FAKE_CUDA", wrong[i].fault, 1);
        ak_task *task = open_task("matmul", "M=16,N=4096,K=256", "bf16", NULL);
        ak_pool *pool = open_pool(task);
        ak_config config = config_of(task, 8);
        submit(pool, &config, AK_JOB_TRIAL, 1);
        assert_int_equal(ak_pool_wait(&result, pool, WAIT_NS, &err), AK_INVALID);
        if (strstr(err.text, wrong[i].reason) == NULL) {
            fail_msg("expected \"%s\", got \"%s\"", wrong[i].reason, err.text);
        }
        ak_pool_close(pool);
        ak_task_close(task);
    }
    (void)setenv("FAKE_CUDA", before, 1);
}

/* cuBLASLt takes part with its first heuristic and with its best algorithm. If it has no epilogue
   for an activation, an elementwise pass follows. If it has one, the way with a pass is a further
   library. Rows that are not aligned take another pass. */
static void libraries_are_listed(void **state)
{
    static const struct {
        const char *kernel, *size, *dtype, *choices, *way, *way_of_unfused;
        size_t count;
    } tasks[] = {
        {"matmul", "M=64,N=64,K=128", "f16", NULL, "split-K 1), 0 of 64 MiB", NULL, 2},
        /* sums so short that some of what is rounded twice is beyond a candidate's tolerance */
        {"matmul_act", "M=256,N=256,K=8", "bf16", "bias=add,activation=silu",
         "split-K 1, then an elementwise pass), 0", NULL, 2},
        {"matmul_act", "M=64,N=64,K=128", "bf16", "bias=add,activation=relu",
         "split-K 1, fused epilogue), 0", "split-K 1, then an elementwise pass), 0", 3},
        {"matmul_act", "M=33,N=35,K=40", "f16", "bias=add,activation=leaky_relu",
         "then an elementwise pass", NULL, 2},
    };
    ak_error err = AK_ERROR_INIT;
    (void)state;
    for (size_t k = 0; k < sizeof tasks / sizeof tasks[0]; k++) {
        static const char *const names[] = {"cublaslt", "cublaslt-best", "cublaslt-unfused"};
        char versions[4][200];
        ak_baseline_info *infos = NULL;
        size_t count = 0;
        ak_task *task = open_task(tasks[k].kernel, tasks[k].size, tasks[k].dtype, tasks[k].choices);
        ak_pool *pool = open_pool(task);
        if (ak_pool_baselines(&infos, &count, pool, &err) != AK_OK) {
            fail_msg("%s", err.text);
        }
        assert_int_equal(count, tasks[k].count);
        for (size_t i = 0; i < count; i++) {
            assert_string_equal(infos[i].name, names[i]);
            assert_string_equal(infos[i].version, "13.1.0, 64 MiB workspace");
        }
        ak_baseline_info_free(infos, count);
        comparison(versions, pool, names, count);
        assert_non_null(strstr(versions[0], "13.1.0, first heuristic (algorithm 0, tile 1, "));
        assert_non_null(strstr(versions[1], "13.1.0, no. 23 of 29 heuristics (algorithm 23, "));
        assert_non_null(strstr(versions[0], tasks[k].way));
        assert_non_null(strstr(versions[1], tasks[k].way));
        assert_true(count < 3 || strstr(versions[2], tasks[k].way_of_unfused) != NULL);
        ak_ceilings ceilings;
        assert_int_equal(ak_pool_ceilings(&ceilings, pool, &err), AK_OK);
        assert_true(ceilings.copy_gbs > 4100 && ceilings.copy_gbs < 4300);
        assert_true(ceilings.peak_tflops > 800 && ceilings.peak_tflops < 1000);
        ak_pool_close(pool);
        ak_task_close(task);
    }
}

/* Returns the ceiling of products of f32 on a device of a compute capability. */
static double peak_of(int64_t capability, const char *precision)
{
    ak_error err = AK_ERROR_INIT;
    ak_ceilings first, again;
    ak_device *device = NULL;
    char name[] = "cuda:0";
    ak_task task = {.device = name, .constants = ak_scope_new(NULL)};
    assert_int_equal(ak_scope_set_int(task.constants, "compute_capability", capability, NULL),
                     AK_OK);
    assert_int_equal(ak_scope_set_int(task.constants, "sm_count", 108, NULL), AK_OK);
    assert_int_equal(ak_scope_set_text(task.constants, "precision", precision, NULL), AK_OK);
    if (ak_cuda_ops.open(&device, &task, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(ak_cuda_ops.ceilings(&first, device, AK_DTYPE_F32, &err), AK_OK);
    device->ceilings.peak_tflops /= 2; /* as if something else had used the device */
    assert_int_equal(ak_cuda_ops.ceilings(&again, device, AK_DTYPE_F32, &err), AK_OK);
    assert_true(again.peak_tflops == first.peak_tflops);
    ak_cuda_ops.close(device);
    ak_scope_free(task.constants);
    return first.peak_tflops;
}

/* Products of f32 that may be rounded or split have the ceiling of the tensor cores, also before
   Hopper, and not that of fused multiply-adds, which they exceed. The fake's loops all take the
   same time. */
static void a_ceiling_is_of_what_multiplies(void **state)
{
    (void)state;
    const double full = peak_of(80, "full");
    assert_true(full > 0 && fabs(peak_of(80, "tf32") / full - 8) < 1e-3);
    assert_true(fabs(peak_of(86, "bf16x3") / full - 16 / 3.0) < 1e-3);
    assert_true(fabs(peak_of(75, "tf32") / full - 1) < 1e-3); /* it has none */
}

/* If some of the library's algorithms are inaccurate, each is judged by itself. The first accurate
   one counts as the first heuristic, and the fastest accurate one as the best, even if only the
   last request returns it and all others that were timed longest are wrong. */
static void inexact_algorithms_are_left_out(void **state)
{
    static const char *const names[] = {"cublaslt", "cublaslt-best"};
    /* the second is judged on the device, the first by the host */
    static const char *const sizes[] = {"M=64,N=64,K=128", "M=4,N=4096,K=256"};
    char before[1024], versions[2][200];
    (void)state;
    (void)snprintf(before, sizeof before, "%s", getenv("FAKE_CUDA"));
    (void)setenv("FAKE_CUDA", "inexact", 1);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ak_task *task = open_task("matmul", sizes[i], "bf16", NULL);
        ak_pool *pool = open_pool(task);
        for (size_t again = i; again < 2; again++) { /* what is known need not be found again */
            comparison(versions, pool, names, i == 0 ? 2 : 1);
            assert_string_equal(versions[0],
                                "13.1.0, no. 2 of 31 heuristics (algorithm 2, tile 1, split-K 1), "
                                "0 of 64 MiB workspace; 1 of 31 algorithms rejected: inaccurate");
            if (i > 0) {
                continue; /* the emulator has no time for all of them */
            }
            assert_string_equal(
                versions[1], "13.1.0, no. 30 of 31 heuristics (algorithm 1000, tile 1, split-K "
                             "1), 0 of 64 MiB workspace; 6 of 31 algorithms rejected: inaccurate");
        }
        ak_pool_close(pool);
        ak_task_close(task);
    }
    (void)setenv("FAKE_CUDA", before, 1);
}

/* The library is refused only if no algorithm is accurate, and the next comparison remembers
   this. */
static void a_library_may_have_nothing_right(void **state)
{
    static const struct {
        const char *kernel, *choices, *version;
    } tasks[] = {
        {"matmul", NULL, "13.1.0; 31 of 31 algorithms rejected: inaccurate"},
        /* with its own epilogue, then without */
        {"matmul_act", "activation=relu", "13.1.0; 62 of 62 algorithms rejected: inaccurate"}};
    static const char *const names[] = {"cublaslt-best"};
    char before[1024];
    (void)state;
    (void)snprintf(before, sizeof before, "%s", getenv("FAKE_CUDA"));
    (void)setenv("FAKE_CUDA", "all_inexact", 1);
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++) {
        ak_task *task = open_task(tasks[i].kernel, "M=32,N=64,K=256", "bf16", tasks[i].choices);
        ak_pool *pool = open_pool(task);
        for (int again = 0; again < 2; again++) {
            ak_result result = comparison_of(pool, names, 1);
            const char *reason =
                again == 0 ? "at M=32,N=64,K=256: C[" : "algorithms for this is accurate";
            if (result.entries[0].status != AK_TRIAL_WRONG_RESULT ||
                strstr(result.entries[0].reason, reason) == NULL) {
                fail_msg("%s, %s: %s", tasks[i].kernel, result.entries[0].version,
                         result.entries[0].reason == NULL ? "right" : result.entries[0].reason);
            }
            assert_string_equal(result.entries[0].version, tasks[i].version);
            ak_result_clear(&result);
        }
        ak_pool_close(pool);
        ak_task_close(task);
    }
    (void)setenv("FAKE_CUDA", before, 1);
}

/* --libraries chooses the libraries that take part, and refuses an unknown name. */
static void libraries_are_chosen(void **state)
{
    static const struct {
        const char *wanted, *names; /* of what is listed, or a part of the message */
    } cases_of[] = {{NULL, "cudnn copy "},
                    {"default", "cudnn copy "},
                    {"none", ""},
                    {"copy", "copy "},
                    {"none,cudnn", "cudnn "},
                    {"cudn", "no library \"cudn\" for this kernel and device; choose default, all, "
                             "none"}};
    (void)state;
    for (size_t k = 0; k < sizeof cases_of / sizeof cases_of[0]; k++) {
        ak_task *task = NULL;
        ak_error err = AK_ERROR_INIT;
        ak_baseline_info *infos = NULL;
        size_t count = 0;
        char names[200] = "", versions[4][200];
        ak_task_spec spec = {.kernel = "softmax",
                             .device = "cuda:0",
                             .size = "rows=16,cols=64",
                             .dtype = "bf16",
                             .libraries = cases_of[k].wanted};
        assert_int_equal(ak_task_open(&task, &spec, &err), AK_OK);
        ak_pool *pool = open_pool(task);
        if (ak_pool_baselines(&infos, &count, pool, &err) != AK_OK) {
            assert_non_null(strstr(err.text, cases_of[k].names));
        } else {
            for (size_t i = 0; i < count; i++) {
                (void)strcat(strcat(names, infos[i].name), " ");
            }
            assert_string_equal(names, cases_of[k].names);
        }
        ak_baseline_info_free(infos, count);
        if (k == 0) { /* it is right, too */
            static const char *const cudnn[] = {"cudnn"};
            comparison(versions, pool, cudnn, 1);
        }
        ak_pool_close(pool);
        ak_task_close(task);
    }
}

/* A Python whose PyTorch can be imported, and which then answers everything else with nonsense. */
static const char talks_nonsense[] =
    "#!/bin/sh\n"
    "while read -r line <&3; do\n"
    "    case $line in\n"
    "    *'\"open\"'*) echo '{\"ok\": true, \"version\": \"0.0\"}' ;;\n"
    "    *) echo nonsense ;;\n"
    "    esac >&4\n"
    "done\n";

/* PyTorch takes part in a process of its own, which runs the real script with a fake torch. Without
   torch, this library fails with a reason and the others are measured, as where the process answers
   with nonsense: each version of the library then gets a new one. */
static void torch_takes_part(void **state)
{
    static const char *const names[] = {"torch-eager", "copy", "torch-compile"};
    char python[AK_PATH_MAX], nonsense[AK_PATH_MAX];
    ak_error err = AK_ERROR_INIT;
    (void)state;
    if (!ak_fs_which(python, "python3")) {
        skip();
    }
    assert_int_equal(ak_fs_join(nonsense, folder, "python", NULL), AK_OK);
    assert_int_equal(ak_fs_write(nonsense, talks_nonsense, sizeof talks_nonsense - 1, NULL), AK_OK);
    assert_int_equal(chmod(nonsense, 0700), 0);
    (void)setenv("PYTHONPATH", AK_TEST_FAKES, 1);
    (void)setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    for (int k = 0; k < 3; k++) {
        ak_task *task = NULL;
        ak_task_spec spec = {.kernel = "softmax",
                             .device = "cuda:0",
                             .size = "rows=16,cols=64",
                             .dtype = "bf16",
                             .libraries = "copy,torch-eager,torch-compile"};
        (void)setenv("AUTOKERNEL_PYTHON", k == 0 ? "python3" : k == 1 ? "false" : nonsense, 1);
        assert_int_equal(ak_task_open(&task, &spec, &err), AK_OK);
        ak_pool *pool = open_pool(task);
        ak_comparison_candidate candidates[3];
        for (size_t i = 0; i < 3; i++) {
            candidates[i] = (ak_comparison_candidate){.baseline = names[i]};
        }
        ak_job job = {.kind = AK_JOB_COMPARISON,
                      .candidates = candidates,
                      .candidate_count = 3,
                      .plan = {.seconds = 0.1}};
        assert_int_equal(ak_pool_submit(pool, &job, &err), AK_OK);
        ak_result result = wait_one(pool);
        assert_int_equal(result.entry_count, 3);
        assert_int_equal(result.entries[1].status, AK_TRIAL_OK);
        for (size_t i = 0; i < 3; i += 2) {
            const ak_comparison_entry *entry = &result.entries[i];
            const char *reason = entry->reason == NULL ? "" : entry->reason;
            if (k == 0 && entry->status != AK_TRIAL_OK) {
                fail_msg("%s: %s", names[i], reason);
            }
            if (k == 0) {
                assert_string_equal(entry->version, "0.0 (fake)");
                for (size_t n = 0; n < entry->sample_count; n++) {
                    assert_true(fabs(entry->samples_ms[n] - 0.05) < 1e-6);
                }
            } else if (k == 2) {
                assert_int_equal(entry->status, AK_TRIAL_CRASHED);
                assert_non_null(strstr(reason, "PyTorch's process:1:"));
            } else {
                assert_int_equal(entry->status, AK_TRIAL_LAUNCH_ERROR);
                assert_non_null(strstr(reason, "ended: exit code 1 (Python is false; "
                                               "AUTOKERNEL_PYTHON names another)"));
            }
        }
        ak_result_clear(&result);
        ak_pool_close(pool);
        ak_task_close(task);
    }
    (void)unsetenv("AUTOKERNEL_PYTHON");
    (void)unsetenv("PYTHONPATH");
}

static void a_task_must_fit(void **state)
{
    static const struct {
        const char *size, *dtype, *message;
    } wrong[] = {
        {"M=8,N=2147483648,K=8", NULL, "needs sizes below 2^31"},
        {"M=8,N=8,K=8", "f32", "implementation cuda_sm90 has no dtype f32; it has bf16, f16"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ak_task *task = NULL;
        ak_error err = AK_ERROR_INIT;
        ak_task_spec spec = {.kernel = "matmul",
                             .device = "cuda:0",
                             .implementation = "cuda_sm90",
                             .size = wrong[i].size,
                             .dtype = wrong[i].dtype};
        assert_int_equal(ak_task_open(&task, &spec, &err), AK_INVALID);
        if (strstr(err.text, wrong[i].message) == NULL) {
            fail_msg("expected \"%s\", got \"%s\"", wrong[i].message, err.text);
        }
    }
}

/* The versions of driver, compiler and libraries are part of the environment, so another version
   makes another environment. */
static void versions_are_in_the_environment(void **state)
{
    static const char *const wanted[][2] = {
        {"driver", "fake 580.1"}, {"nvrtc", "13.0"}, {"cublaslt", "130100"}, {"cudnn", "91900"}};
    json_t *words = NULL;
    ak_error err = AK_ERROR_INIT;
    (void)state;
    assert_int_equal(ak_cuda_environment(&words, "cuda:0", &err), AK_OK);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        const char *text = json_string_value(json_object_get(words, wanted[i][0]));
        assert_string_equal(text == NULL ? wanted[i][0] : text, wanted[i][1]);
    }
    json_decref(words);
}

static bool keep_environment(void *context, const ak_trial *trial)
{
    (void)snprintf(context, AK_HASH_BYTES, "%s", trial->environment);
    return false;
}

/* The implementation is chosen by measuring the defaults if nothing is known, and otherwise by the
   best times in the archive, also those of a nearby size. */
static void results_choose_the_implementation(void **state)
{
    static const struct {
        const char *size;
        double sm90_ms, sm80_ms; /* put into the archive before; 0: nothing */
        const char *implementation, *reason;
    } steps[] = {
        {"M=40,N=64,K=128", 0, 0, "cuda_sm90",
         "by measuring the defaults: that of cuda_sm90 has 0.0"},
        {"M=40,N=64,K=128", 0, 0, "cuda_sm90", "by the archive: cuda_sm90 has 0.0"},
        {"M=40,N=64,K=128", 0, 0.01, "cuda_sm80",
         "by the archive: cuda_sm80 has 0.01 ms (best of 1 trial), cuda_sm90 0.0"},
        {"M=80,N=64,K=128", 0, 0, "cuda_sm80", "at the near size M=40,N=64,K=128"},
        {"M=41,N=64,K=128", 0, 0, "cuda_sm90", "by measuring the defaults"}, /* not alike */
        {"M=40,N=64,K=128", 0.005, 0, "cuda_sm90", "by the archive: cuda_sm90 has 0.005 ms"},
    };
    char path[AK_PATH_MAX], environment[2][AK_HASH_BYTES] = {"", ""}, before[1024];
    ak_archive *archive = NULL;
    ak_error err = AK_ERROR_INIT;
    (void)state;
    (void)snprintf(before, sizeof before, "%s", getenv("FAKE_CUDA"));
    (void)setenv("FAKE_CUDA", "", 1);
    assert_int_equal(ak_fs_join(path, folder, "choice.db", NULL), AK_OK);
    assert_int_equal(ak_archive_open(&archive, path, &err), AK_OK);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        ak_task *task = NULL;
        ak_task_spec spec = {.kernel = "matmul", .device = "cuda:0", .size = steps[i].size};
        for (int k = 0; k < 2; k++) {
            double ms = k == 0 ? steps[i].sm90_ms : steps[i].sm80_ms;
            ak_trial trial = {.kernel = (char *)"matmul",
                              .implementation = (char *)(k == 0 ? "cuda_sm90" : "cuda_sm80"),
                              .device = (char *)"cuda:1",
                              .size = (char *)(uintptr_t)steps[i].size,
                              .dtype = (char *)"bf16",
                              .choices = (char *)"",
                              .config = (char *)"x=1",
                              .environment = environment[k],
                              .median_ms = ms};
            if (ms > 0) {
                assert_int_equal(ak_archive_add_trial(archive, &trial, &err), AK_OK);
                ak_free(trial.timestamp); /* filled in by the archive */
            }
        }
        if (ak_task_choose(&task, &spec, archive, true, NULL, &err) != AK_OK) {
            fail_msg("%s", err.text);
        }
        assert_string_equal(ak_task_implementation(task), steps[i].implementation);
        if (strstr(ak_task_reason(task), steps[i].reason) == NULL) {
            fail_msg("step %zu: %s", i, ak_task_reason(task));
        }
        ak_task_close(task);
        for (int k = 0; k < 2 && i == 0; k++) { /* what the race has left behind */
            ak_archive_filter filter = {.implementation = k == 0 ? "cuda_sm90" : "cuda_sm80"};
            assert_int_equal(
                ak_archive_each(archive, &filter, keep_environment, environment[k], &err), AK_OK);
            assert_true(environment[k][0] != 0);
        }
    }
    /* who names one gets it, and no reason is given */
    ak_task *task = NULL;
    ak_task_spec spec = {.kernel = "matmul", .implementation = "cuda_sm80", .device = "cuda:0"};
    assert_int_equal(ak_task_choose(&task, &spec, archive, true, NULL, &err), AK_OK);
    assert_null(ak_task_reason(task));
    ak_task_close(task);
    ak_archive_close(archive);
    (void)setenv("FAKE_CUDA", before, 1);
}

/* A pool also tries configurations of another implementation of its task. Each is compiled from its
   own source and launched by its own description. */
static void a_trial_may_be_of_another_implementation(void **state)
{
    static const char *const reasons[] = {NULL, "said by the fake compiler"};
    ak_error err = AK_ERROR_INIT;
    ak_task *task[2] = {open_task("matmul", "M=40,N=64,K=128", NULL, NULL), NULL};
    const ak_task_spec spec = {.kernel = "matmul",
                               .implementation = "cuda_sm80",
                               .device = "cuda:0",
                               .size = "M=40,N=64,K=128"};
    (void)state;
    assert_int_equal(ak_task_open(&task[1], &spec, &err), AK_OK);
    const ak_task *const others[] = {task[1]};
    const ak_pool_options options = {.compile_workers = 2,
                                     .launch_timeout_ns = LAUNCH_TIMEOUT_NS,
                                     .others = others,
                                     .other_count = 1};
    ak_pool *pool = NULL;
    assert_int_equal(ak_pool_open(&pool, task[0], &options, &err), AK_OK);
    for (size_t i = 0; i < 2; i++) {
        ak_job job = {.kind = AK_JOB_TRIAL, .id = i, .task = task[i], .specialised = true};
        ak_space_default(&job.config, task[i]->space);
        assert_int_equal(ak_pool_submit(pool, &job, &err), AK_OK);
    }
    for (size_t i = 0; i < 2; i++) {
        ak_result result;
        assert_int_equal(ak_pool_wait(&result, pool, 60 * AK_SECOND_NS, &err), AK_OK);
        const char *reason = reasons[result.id];
        assert_int_equal(result.trial.status,
                         reason == NULL ? AK_TRIAL_OK : AK_TRIAL_COMPILE_ERROR);
        assert_true(reason == NULL || strstr(result.trial.reason, reason) != NULL);
        assert_true(reason != NULL || result.trial.median_ms > 0);
        ak_result_clear(&result);
    }
    ak_pool_close(pool);
    ak_task_close(task[0]);
    ak_task_close(task[1]);
}

/* Whether kernels may begin before their predecessors have ended is read from the recorded graph:
   for candidates that ask for it, and for a library within its own runs. A driver that does not
   report it makes it unknown, which is no error. */
static void early_beginnings_are_known(void **state)
{
    static const struct {
        const char *faults;
        ak_overlap expected[3];
    } drivers[] = {{"", {AK_OVERLAP_NONE, AK_OVERLAP_BETWEEN, AK_OVERLAP_NONE}},
                   {"lt_pairs", {AK_OVERLAP_NONE, AK_OVERLAP_BETWEEN, AK_OVERLAP_WITHIN}},
                   {"no_edges", {AK_OVERLAP_UNKNOWN, AK_OVERLAP_UNKNOWN, AK_OVERLAP_UNKNOWN}}};
    char before[1024];
    ak_error err = AK_ERROR_INIT;
    (void)state;
    (void)snprintf(before, sizeof before, "%s", getenv("FAKE_CUDA"));
    for (size_t k = 0; k < sizeof drivers / sizeof drivers[0]; k++) {
        (void)setenv("FAKE_CUDA", drivers[k].faults, 1);
        ak_task *task = open_task("matmul", "M=40,N=64,K=128", NULL, NULL);
        ak_pool *pool = open_pool(task);
        ak_config configs[2] = {config_with(task, 8, ",LAUNCH_EARLY=0"),
                                config_with(task, 8, ",LAUNCH_EARLY=1")};
        ak_comparison_candidate candidates[3] = {
            {.config = &configs[0]}, {.config = &configs[1]}, {.baseline = "cublaslt"}};
        ak_job job = {.kind = AK_JOB_COMPARISON,
                      .candidates = candidates,
                      .candidate_count = 3,
                      .plan = {.seconds = 0.05}};
        assert_int_equal(ak_pool_submit(pool, &job, &err), AK_OK);
        ak_result result = wait_one(pool);
        assert_int_equal(result.entry_count, 3);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(result.entries[i].status, AK_TRIAL_OK);
            assert_int_equal(result.entries[i].overlap, drivers[k].expected[i]);
        }
        ak_result_clear(&result);
        ak_pool_close(pool);
        ak_task_close(task);
    }
    (void)setenv("FAKE_CUDA", before, 1);
}

/* All protocols measure the same time, because they differ only in the order of batches. */
static void every_protocol_measures(void **state)
{
    ak_error err = AK_ERROR_INIT;
    (void)state;
    ak_task *task = open_task("matmul", "M=40,N=64,K=128", NULL, NULL);
    ak_pool *pool = open_pool(task);
    ak_config config = config_of(task, 8);
    ak_comparison_candidate candidate = {.config = &config};
    double ms[AK_PROTOCOL_COUNT];
    for (size_t i = 0; i < AK_PROTOCOL_COUNT; i++) {
        ak_job job = {.kind = AK_JOB_COMPARISON,
                      .id = i,
                      .candidates = &candidate,
                      .candidate_count = 1,
                      .plan = {.seconds = 0.05, .protocol = &ak_protocols[i]}};
        assert_int_equal(ak_pool_submit(pool, &job, &err), AK_OK);
        ak_result result = wait_one(pool);
        assert_int_equal(result.entry_count, 1);
        assert_int_equal(result.entries[0].status, AK_TRIAL_OK);
        assert_true(result.entries[0].sample_count >= AK_COMPARISON_ROUNDS_MIN);
        assert_true(result.entries[0].conditions.samples > 0);
        assert_true(result.entries[0].conditions.sm_clock_mhz == 1755);
        ms[i] = result.entries[0].samples_ms[0];
        assert_true(ms[i] > 0.99 * ms[0] && ms[i] < 1.01 * ms[0]);
        ak_result_clear(&result);
    }
    const ak_protocol *protocol = NULL;
    assert_int_equal(ak_protocol_find(&protocol, "burst", &err), AK_OK);
    assert_ptr_equal(protocol, &ak_protocols[AK_PROTOCOL_BURST]);
    assert_true(ak_protocol_seconds(protocol, 2, 9) > 9.0);
    assert_int_equal(ak_protocol_find(&protocol, "slow", &err), AK_INVALID);
    assert_non_null(strstr(err.text, "interleaved burst sustained"));
    ak_pool_close(pool);
    ak_task_close(task);
}

/* Makes the job that compiles a small source, and writes both paths, which the job borrows. */
static ak_compile_job small_job(char source[AK_PATH_MAX], char artifact[AK_PATH_MAX],
                                const char *const *options, size_t count)
{
    assert_int_equal(ak_fs_join(source, folder, "kernel.cu", NULL), AK_OK);
    assert_int_equal(ak_fs_join(artifact, folder, "kernel.cubin", NULL), AK_OK);
    assert_int_equal(ak_fs_write(source, "int x;\n", 7, NULL), AK_OK);
    return (ak_compile_job){.source_path = source,
                            .argv = options,
                            .argc = count,
                            .folder = folder,
                            .artifact = artifact,
                            .timeout_ns = 60 * AK_SECOND_NS};
}

/* NVRTC is confined also where no compile worker starts it, as for --sanitize and in bundles. */
static void the_compiler_is_confined(void **state)
{
    (void)state;
    assert_confined(ak_cuda_compile);
}

/* A cubin is compiled once and then taken from the cache. */
static void cubins_are_kept(void **state)
{
    char source[AK_PATH_MAX], artifact[AK_PATH_MAX];
    static const char *const options[] = {"-DNAME=1", "--gpu-architecture=sm_90a"};
    ak_compile_result first = {0}, second = {0};
    ak_error err = AK_ERROR_INIT;
    (void)state;
    ak_compile_job job = small_job(source, artifact, options, 2);
    if (ak_cuda_compile(&first, &job, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(first.status, AK_TRIAL_OK);
    assert_int_equal(first.registers, 168);
    ak_fs_remove(artifact);
    (void)setenv("AUTOKERNEL_WORKER", "/nowhere", 1); /* nobody can compile now */
    assert_int_equal(ak_cuda_compile(&second, &job, &err), AK_OK);
    assert_int_equal(second.status, AK_TRIAL_OK);
    assert_int_equal(second.registers, 168);
    assert_string_equal(first.artifact_hash, second.artifact_hash);
    assert_true(ak_fs_is_file(artifact));
    ak_compile_result_clear(&first);
    ak_compile_result_clear(&second);
}

/* A cubin whose source or options may make NVRTC read headers is not kept, because it is not known
   which were read. */
static void cubins_with_headers_are_not_kept(void **state)
{
    static const struct {
        const char *source, *option;
    } ways[] = {
        {"int x;\n", "-I/nowhere"},
        {"#include \"/nowhere/x.cuh\"\n", "-DX=1"},
        {"%: /* */ inc\\\nlude <x.cuh>\n", "-DX=1"},
        {"#import \"/nowhere/x.cuh\"\n", "-DX=1"},
        {"?\?=inc?\?/\nlude \"/nowhere/x.cuh\"\n", "-DX=1"},
        {"#if __has_include(\"/nowhere/x.cuh\")\n#endif\n", "-DX=1"},
        {"#define P(x, y) x##y\n#if P(__has_inc, lude)(\"/nowhere/x.cuh\")\n#endif\n", "-DX=1"},
        {"#if X\n#endif\n", "-DX=__has_include(<x>)"}};
    char source[AK_PATH_MAX], artifact[AK_PATH_MAX];
    ak_error err = AK_ERROR_INIT;
    char *worker = ak_strdup(getenv("AUTOKERNEL_WORKER"));
    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        const char *options[] = {"-DNAME=2", "--gpu-architecture=sm_90a", ways[i].option};
        ak_compile_result result = {0};
        ak_compile_job job = small_job(source, artifact, options, 3);
        assert_int_equal(ak_fs_write(source, ways[i].source, strlen(ways[i].source), NULL), AK_OK);
        (void)setenv("AUTOKERNEL_WORKER", worker, 1);
        if (ak_cuda_compile(&result, &job, &err) != AK_OK) {
            fail_msg("%s", err.text);
        }
        assert_int_equal(result.status, AK_TRIAL_OK);
        ak_compile_result_clear(&result);
        ak_fs_remove(artifact);
        (void)setenv("AUTOKERNEL_WORKER", "/nowhere", 1); /* nobody can compile now */
        assert_int_not_equal(ak_cuda_compile(&result, &job, &err), AK_OK);
        assert_false(ak_fs_is_file(artifact));
    }
    (void)setenv("AUTOKERNEL_WORKER", worker, 1);
    ak_free(worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fate_is_named),
        cmocka_unit_test(an_impossible_launch_is_a_trial),
        cmocka_unit_test(a_comparison_outlives_its_candidates),
        cmocka_unit_test(a_search_compiles_what_it_times),
        cmocka_unit_test(large_results_are_judged_there),
        cmocka_unit_test(between_rows_nobody_writes_there),
        cmocka_unit_test(a_wrong_referee_is_refused),
        cmocka_unit_test(libraries_are_listed),
        cmocka_unit_test(a_ceiling_is_of_what_multiplies),
        cmocka_unit_test(inexact_algorithms_are_left_out),
        cmocka_unit_test(a_library_may_have_nothing_right),
        cmocka_unit_test(libraries_are_chosen),
        cmocka_unit_test(a_task_must_fit),
        cmocka_unit_test(torch_takes_part),
        cmocka_unit_test(whoever_remembers_is_found),
        cmocka_unit_test(a_check_finds_who_begins_early),
        cmocka_unit_test(a_short_comparison_finds_who_remembers),
        cmocka_unit_test(deaths_in_a_row_have_a_limit),
        cmocka_unit_test(devices_share_the_trials),
        cmocka_unit_test(no_device_waits_for_another),
        cmocka_unit_test(devices_are_named),
        cmocka_unit_test(versions_are_in_the_environment),
        cmocka_unit_test(results_choose_the_implementation),
        cmocka_unit_test(a_trial_may_be_of_another_implementation),
        cmocka_unit_test(early_beginnings_are_known),
        cmocka_unit_test(every_protocol_measures),
        cmocka_unit_test(cubins_with_headers_are_not_kept),
        cmocka_unit_test(the_compiler_is_confined),
        cmocka_unit_test(cubins_are_kept), /* last: it takes the compiler away */
    };
    return cmocka_run_group_tests(tests, use_fake, drop_folder);
}
