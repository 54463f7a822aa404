/*
 * test_adversarial.c: tests attacks on the judge, one a line with the status that it must get,
 * each as it is and with some wasted microseconds a call that make it look plausible; and honest
 * kernels, all of which must be accepted. docs/trust.md has the classes of attacks. Compilers and
 * worker processes are real.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "backend/backend.h"
#include "backend/sandbox.h"
#include "base/fs.h"
#include "../unit/pool_fixture.h"

typedef struct attack {
    int number;
    const char *name;
    ak_trial_status status; /* one that may be found in several ways: of the first of them */
    const char *reason;     /* a part of it; NULL: any of a wrong result or a rejection */
} attack;

#define WRONG    AK_TRIAL_WRONG_RESULT
#define REJECTED AK_TRIAL_REJECTED

static const attack attacks[] = {
    {0, "honest", AK_TRIAL_OK, NULL},
    {1, "does nothing", WRONG, "never written"},
    {2, "writes zeros", WRONG, "Y["},
    {3, "computes the first half", WRONG, "Y["},
    {4, "leaves out the last element", WRONG, "Y["},
    {5, "writes a NaN", WRONG, "Y["},
    {6, "adds up in half precision", WRONG, "Y["},
    {7, "makes its input zero", WRONG, "changes its input X"},
    {8, "writes behind its output", WRONG, "outside of Y"},
    {9, "leaves out one term in a hundred", WRONG, "Y["},
    {10, "is right ten times", REJECTED, "\"calls\""},
    {11, "keeps its output by address, in a variable", REJECTED, "\"kept\""},
    {12, "keeps its output in a variable of its thread", REJECTED, "each thread"},
    {13, "has a constructor", REJECTED, "when it is loaded"},
    {14, "has a resolver", REJECTED, "when it is loaded"},
    {15, "has code that can be written", REJECTED, NULL},
    {16, "has an entry in the list of constructors", REJECTED, "when it is loaded"},
    {17, "leaves its call by longjmp", REJECTED, "jmp of a library"},
    {18, "calls mprotect", REJECTED, "mprotect of a library"},
    {19, "loads a library", REJECTED, "dlopen of a library"},
    {20, "calls syscall", REJECTED, "syscall of a library"},
    {21, "makes its code writable", REJECTED, "system call"},
    {22, "asks for memory that can be executed", REJECTED, "system call"},
    {23, "says that it is done, and computes", REJECTED, NULL},
    {24, "answers for the harness", REJECTED, "pipe"},
    {25, "ends the process", AK_TRIAL_CRASHED, "exit code 0"},
    {26, "starts a process", REJECTED, "system call"},
    {27, "does nothing in three of four calls", WRONG, NULL},
    {28, "computes what is missing only", WRONG, NULL},
    {29, "looks at one element in 64", WRONG, NULL},
    {30, "keeps its output on the stack", REJECTED, NULL},
    {31, "keeps its output in freed memory", REJECTED, NULL},
    {32, "keeps its output by address, in the workspace", REJECTED, NULL},
    {33, "keeps its output by a fingerprint", REJECTED, NULL},
    {34, "keeps its output by a hash of all inputs", REJECTED, NULL},
    {35, "keeps its output behind a variable of the C library", REJECTED, "environ of a library"},
    {36, "changes the request", REJECTED, "harness' request"},
    {37, "is right for small inputs", WRONG, "Y["},
    {38, "is right at one size", WRONG, "at N="},
    {39, "copies its input", WRONG, "Y["},
    {40, "keeps its output behind the workspace", WRONG, NULL},
    {41, "keeps its output in a mapping of its own", REJECTED, NULL},
    {43, "keeps all outputs by a hash of all inputs, behind a variable of the C library", REJECTED,
     NULL},
    {42, "reads the memory of its process, and is honest where it may not", AK_TRIAL_OK, NULL},
    {44, "flushes denormals, for all calls that follow", REJECTED, "denormals"},
    {45, "leaves another rounding mode", REJECTED, "rounding mode"},
    {46, "keeps its output behind a register that nobody uses", REJECTED, NULL},
    {47, "takes what a batch on the other inputs has left", WRONG, NULL},
    {48, "keeps its output in the place of the edge-case shapes", WRONG, NULL},
    {49, "loses a mebibyte in each call", REJECTED, "does not free"},
    {50, "makes a system call itself", REJECTED, "system call"},
    {51, "handles its own page faults", REJECTED, "system call"},
    {52, "has the kernel work through a ring", REJECTED, "system call"},
    {53, "makes a file in memory", REJECTED, "system call"},
    {54, "sets a timer", REJECTED, "system call"},
    {55, "handles a signal", REJECTED, "system call"},
    {56, "starts a thread", REJECTED, "system call"},
    {57, "counts events", REJECTED, "system call"},
    {58, "writes another process' memory", REJECTED, "system call"},
    {59, "chooses its processor", REJECTED, "system call"},
    {60, "opens a socket", REJECTED, "system call"},
    {61, "sends a signal", REJECTED, "system call"},
    {62, "changes what may be seen of its process", REJECTED, "system call"},
    {63, "maps its own pages over its output", WRONG, NULL},
    {64, "has pages of its output taken away", WRONG, NULL},
    {65, "sets a variable of the environment", REJECTED, "setenv of a library"},
    {66, "counts by a random sequence", REJECTED, "rand of a library"},
    {67, "has a buffer of the C library", REJECTED, NULL},
    {68, "looks at the clock", REJECTED, "clock_gettime of a library"},
    {69, "has something done at exit", REJECTED, "on_exit of a library"},
    {70, "has its work done by a thread of its own", REJECTED, "call->parallel"},
    {71, "looks for the address of what was overwritten", REJECTED, NULL},
    {72, "is less precise in one element of a hundred", WRONG, "Y["},
    {73, "is wrong by a thousandth in one element", WRONG, "Y["},
    {74, "writes an infinity", WRONG, "Y["},
    {75, "computes whole vectors only", WRONG, "at N="},
    {76, "exchanges neighbours", WRONG, "Y["},
    {77, "is shifted by one element", WRONG, "Y["},
    {78, "writes the mean", WRONG, "Y["},
    {79, "writes before its output", WRONG, "outside of Y"},
    {80, "writes behind its workspace", WRONG, "workspace"},
    {81, "divides by zero", AK_TRIAL_CRASHED, "signal"},
    {82, "writes to no memory", AK_TRIAL_CRASHED, "signal"},
    {83, "writes far behind its output", AK_TRIAL_CRASHED, "signal"},
    {84, "ends itself by a signal", AK_TRIAL_CRASHED, "signal"},
    {85, "keeps all outputs by a hash of all inputs, in freed memory", REJECTED, NULL},
    {86, "computes every second element where it has been", REJECTED, NULL},
    {87, "is killed, by itself", AK_TRIAL_OUT_OF_MEMORY, "killed"},
};

/* What a trial does not see, and the check of finalists must. */
static const attack promoted[] = {
    {0, "honest", AK_TRIAL_OK, NULL},
    {1, "does nothing", WRONG, "at N="},
    {38, "is right at one size", WRONG, "at N="},
    {45, "leaves another rounding mode", REJECTED, "rounding mode"},
    {75, "computes whole vectors only", WRONG, "at N="},
    {88, "is right at the sizes that are listed", WRONG, "at N="},
    {89, "is right where numbers lie evenly", WRONG, "at N="},
};

static const attack in_place[] = {
    {0, "honest", AK_TRIAL_OK, NULL},
    {1, "does nothing where it has been before", REJECTED, NULL},
    {2, "does nothing", WRONG, "Y["},
    {3, "leaves out the last element", WRONG, "Y["},
};

typedef struct suite {
    ak_task *task;
    ak_pool *pool;
} suite;

static suite open_suite(const char *folder, const char *size)
{
    const ak_backend_ops *backend = NULL;
    ak_error err = AK_ERROR_INIT;
    char path[AK_PATH_MAX];
    suite s = {0};
    ak_scope *facts = ak_scope_new(NULL);
    assert_int_equal(ak_fs_join(path, AK_TEST_ADVERSARIAL, folder, &err), AK_OK);
    assert_int_equal(ak_backend_find(&backend, "host", &err), AK_OK);
    assert_int_equal(backend->facts(facts, "host", 2, &err), AK_OK);
    ak_task_spec spec = {.kernel = path, .device = "host", .size = size, .threads = 2, .seed = 7};
    ak_device_facts device = {
        .backend = "host", .device = "host", .facts = facts, .available = backend->available};
    ak_pool_options options = {.compile_workers = 2, .launch_timeout_ns = 20 * AK_SECOND_NS};
    if (ak_task_bind(&s.task, &spec, &device, &err) != AK_OK ||
        ak_pool_open(&s.pool, s.task, &options, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    ak_scope_free(facts);
    return s;
}

static void close_suite(suite *s)
{
    ak_pool_close(s->pool);
    ak_task_close(s->task);
}

static void submit(const suite *s, ak_job_kind kind, uint64_t id, const char *config)
{
    ak_error err = AK_ERROR_INIT;
    ak_job job = {.kind = kind, .id = id, .timer = {.budget_ns = 20 * AK_MS_NS}};
    if (ak_config_parse(&job.config, s->task->space, config, &err) != AK_OK ||
        ak_pool_submit(s->pool, &job, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
}

/* Whoever does all of the work after all, as where the machine is so busy that batches are single
   calls, has not won anything. */
#define NO_FASTER 0.5

/* 1 if that is not what must become of it. */
static int wrong_fate(const attack *a, bool wasting, const ak_trial *trial, double honest_ms)
{
    const char *reason = trial->reason == NULL ? "" : trial->reason;
    bool named = a->reason != NULL || a->status == AK_TRIAL_OK;
    bool stopped = trial->status == WRONG || trial->status == REJECTED ||
                   (trial->status == AK_TRIAL_OK && trial->median_ms > NO_FASTER * honest_ms);
    bool fits = named ? trial->status == a->status &&
                            (a->reason == NULL || strstr(reason, a->reason) != NULL)
                      : stopped || (a->number == 15 && trial->status == AK_TRIAL_COMPILE_ERROR);
    if (!fits) {
        print_error("%2d %s%s: must be %s (%s), is %s in %g ms (honest: %g): %s\n", a->number,
                    a->name, wasting ? ", and wastes time" : "", ak_trial_status_text(a->status),
                    a->reason == NULL ? "any reason" : a->reason,
                    ak_trial_status_text(trial->status), trial->median_ms, honest_ms, reason);
    }
    return fits ? 0 : 1;
}

static double fastest_of(const ak_trial *trial)
{
    double least = HUGE_VAL;
    for (size_t i = 0; i < trial->sample_count; i++) {
        least = trial->samples_ms[i] < least ? trial->samples_ms[i] : least;
    }
    return least;
}

/* The first of the list is honest. */
static void try_attacks(const char *folder, const attack *list, size_t count)
{
    enum { TRIALS_MAX = 256 };
    suite s = open_suite(folder, NULL);
    ak_result results[TRIALS_MAX] = {0};
    int wrong = 0;
    assert_true(2 * count <= TRIALS_MAX);
    for (size_t i = 0; i < 2 * count; i++) {
        char config[64];
        (void)snprintf(config, sizeof config, "ATTACK=%d,WASTE=%d", list[i / 2].number,
                       (int)(i % 2));
        submit(&s, AK_JOB_TRIAL, i, config);
    }
    for (size_t i = 0; i < 2 * count; i++) {
        ak_result result = wait_one(s.pool);
        results[result.id] = result;
    }
    double honest_ms = fmin(fastest_of(&results[0].trial), fastest_of(&results[1].trial));
    for (size_t i = 0; i < 2 * count; i++) {
        wrong += wrong_fate(&list[i / 2], i % 2 == 1, &results[i].trial, honest_ms);
    }
    for (size_t i = 0; i < 2 * count; i++) {
        ak_result_clear(&results[i]);
    }
    close_suite(&s);
    assert_int_equal(wrong, 0);
}

static void no_attack_is_accepted(void **state)
{
    (void)state;
    try_attacks("attacks", attacks, sizeof attacks / sizeof attacks[0]);
}

static void no_attack_in_place_is_accepted(void **state)
{
    (void)state;
    try_attacks("in_place", in_place, sizeof in_place / sizeof in_place[0]);
}

static void no_attack_is_promoted(void **state)
{
    enum { COUNT = sizeof promoted / sizeof promoted[0] };
    suite s = open_suite("attacks", NULL);
    int wrong = 0;
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        char config[64];
        (void)snprintf(config, sizeof config, "ATTACK=%d,WASTE=0", promoted[i].number);
        submit(&s, AK_JOB_CHECK, i, config);
    }
    for (size_t i = 0; i < COUNT; i++) {
        ak_result result = wait_one(s.pool);
        wrong += wrong_fate(&promoted[result.id], false, &result.trial, 0);
        ak_result_clear(&result);
    }
    close_suite(&s);
    assert_int_equal(wrong, 0);
}

/* One variant more than the source has is right at N = 96 only, and says so by a condition. */
enum { VARIANTS = 45 };

static void every_honest_kernel_is_promoted(void **state)
{
    suite s = open_suite("honest", "96");
    int wrong = 0;
    (void)state;
    for (int i = 0; i <= VARIANTS; i++) {
        char config[32];
        (void)snprintf(config, sizeof config, "VARIANT=%d", i);
        submit(&s, AK_JOB_CHECK, (uint64_t)i, config);
    }
    for (int i = 0; i <= VARIANTS; i++) {
        ak_result result = wait_one(s.pool);
        if (result.trial.status != AK_TRIAL_OK) {
            print_error("variant %d: %s: %s\n", (int)result.id,
                        ak_trial_status_text(result.trial.status), result.trial.reason);
            wrong++;
        }
        ak_result_clear(&result);
    }
    close_suite(&s);
    assert_int_equal(wrong, 0);
}

static void every_honest_kernel_is_accepted(void **state)
{
    static const char *const sizes[] = {"96", "M=130,N=70,K=33"};
    int wrong = 0;
    (void)state;
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        suite s = open_suite("honest", sizes[k]);
        for (int i = 0; i < VARIANTS; i++) {
            char config[32];
            (void)snprintf(config, sizeof config, "VARIANT=%d", i);
            submit(&s, AK_JOB_TRIAL, (uint64_t)i, config);
        }
        for (int i = 0; i < VARIANTS; i++) {
            ak_result result = wait_one(s.pool);
            if (result.trial.status != AK_TRIAL_OK) {
                print_error("variant %d at %s: %s: %s\n", (int)result.id, sizes[k],
                            ak_trial_status_text(result.trial.status), result.trial.reason);
                wrong++;
            }
            ak_result_clear(&result);
        }
        close_suite(&s);
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_attack_is_accepted),
        cmocka_unit_test(no_attack_in_place_is_accepted),
        cmocka_unit_test(every_honest_kernel_is_accepted),
        cmocka_unit_test(no_attack_is_promoted),
        cmocka_unit_test(every_honest_kernel_is_promoted),
    };
    if (!ak_sandbox_seccomp()) {
        print_message("seccomp is not in force here\n");
        return 77;
    }
#ifndef __x86_64__
    print_message("the attacks are written for x86-64\n");
    return 77;
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
