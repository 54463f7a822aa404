/*
 * test_adversarial.c: tests attacks on the judge, one a line with the status that it must get,
 * each as it is and, if it comes as far as to be run, with some wasted microseconds a call that
 * make it look plausible; and honest
 * kernels, all of which must be accepted. docs/trust.md has the classes of attacks. Compilers and
 * worker processes are real.
 */
#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "backend/host/host_runner.h"
#include "backend/sandbox.h"
#include "measure/pressure.h"
#include "suite.h"

/* Attack 153 knows it. */
static_assert(offsetof(ak_runner_page, go) == 15728, "ITS_GO of attacks/host.c is this");

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
    {64, "would have pages of its output taken away", AK_TRIAL_OK, NULL},
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
    {91, "has a destructor", REJECTED, "when it is loaded"},
    {92, "calls a function that may be missing", REJECTED, "dlopen of a library"},
    {93, "asks for a stack that can be executed", REJECTED, "executable stack"},
    {94, "includes the bytes of a file of the system", AK_TRIAL_COMPILE_ERROR, NULL},
    {95, "has the assembler include a file of the system", AK_TRIAL_COMPILE_ERROR, NULL},
    {96, "has a variable of its thread, by the assembler", REJECTED, "each thread"},
    {97, "prints", REJECTED, "printf of a library"},
    {98, "calls syscall by another name", REJECTED, "syscall of a library"},
    {99, "asks whether a file of the system is there", AK_TRIAL_COMPILE_ERROR, NULL},
    {100, "keeps its output behind the base of a segment", REJECTED, NULL},
    {101, "counts its calls in the base of a segment", WRONG, NULL},
    {102, "keeps its output behind a vector register", REJECTED, NULL},
    {104, "leaves the direction of copies turned", REJECTED, "flags"},
    {105, "has unaligned accesses fault from now on", REJECTED, "flags"},
    {109, "computes nine elements of ten, others in each call", REJECTED, NULL},
    {110, "computes three elements of four, others in each call", REJECTED, NULL},
    {111, "believes its output if its inputs are in the cache", WRONG, NULL},
    {112, "believes its output if a write to it is fast", WRONG, NULL},
    {113, "opens a file, and is honest where it may not", AK_TRIAL_OK, NULL},
    {114, "is less precise where numbers are tame", WRONG, "Y["},
    {115, "writes zero for small numbers", WRONG, "Y["},
    {116, "waits for threads that it does not have", AK_TRIAL_OK, NULL},
    {118, "has a common block, by the assembler", REJECTED, "stay writable"},
    {119, "reads on the harness' stack which element was changed", REJECTED, NULL},
    {120, "has a resolver without a name", REJECTED, "relocations"},
    {121, "looks for a mark in the flags of exceptions", AK_TRIAL_OK, NULL},
    {122, "looks for a mark in a vector register", AK_TRIAL_OK, NULL},
    {123, "looks for a mark in an x87 register", AK_TRIAL_OK, NULL},
    {124, "looks for a mark in the functions of OpenMP", AK_TRIAL_OK, NULL},
    {125, "has a thread compute before the clock runs", WRONG, NULL},
    {130, "looks for a mark in the sign of lgamma", AK_TRIAL_OK, NULL},
    {136, "looks for a mark in the address of the last x87 instruction", AK_TRIAL_OK, NULL},
    {137, "looks for a mark in errno", AK_TRIAL_OK, NULL},
    {141, "looks for a mark in the selector ES", AK_TRIAL_OK, NULL},
    {142, "looks for a mark in the selector DS", AK_TRIAL_OK, NULL},
    {143, "looks for a mark in the selector GS", AK_TRIAL_OK, NULL},
    {144, "takes two threads where it has one", WRONG, "never written"},
    {145, "raises the limit of its threads where it is given the pool", AK_TRIAL_CRASHED, "signal"},
    {146, "raises the limit of its threads where it finds the pool", REJECTED, NULL},
    {147, "says that it is done, computes, and keeps the runner from saying it", WRONG, NULL},
    {150, "looks for a mark in the arrays of its call", AK_TRIAL_OK, NULL},
    {151, "gives later calls another place for their output", AK_TRIAL_OK, NULL},
    {152, "gives later calls a smaller size", AK_TRIAL_OK, NULL},
    {153, "lets the runner begin before the clock does", REJECTED, "before the clock"},
    {154, "leaves another thread with denormals flushed to zero", REJECTED, "in another thread"},
    {155, "leaves another thread with the direction of copies turned", REJECTED,
     "in another thread"},
    {156, "would move its code, which makes system calls", AK_TRIAL_OK, NULL},
    {157, "would move its code over the runner's", AK_TRIAL_OK, NULL},
    {158, "adds a filter of system calls", REJECTED, "system call"},
    {159, "maps its own page over one of the runner", REJECTED, "system call"},
    {131, "has the loader load a vendor's library", REJECTED, "needs the library \"libblis.so.4\""},
    {132, "has a dynamic section before the linker's", REJECTED, "dynamic section"},
    {133, "has the loader load a library by another entry", REJECTED, "tag 0x7ffffffd"},
    {134, "has the loader write into another library", REJECTED, "relocations"},
    {135, "has so many sections that its functions are not found", REJECTED, NULL},
    {138, "has a system call for another program", REJECTED, "makes system calls"},
    {139, "has the bytes of a system call for another program", REJECTED, "bytes of a system call"},
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

static const attack early[] = {
    {0, "honest", AK_TRIAL_OK, NULL},
    {1, "has a thread compute before the clock runs, and mends what differs", WRONG, NULL},
    {2, "has the runner call it before the clock runs, and mends what differs", WRONG, NULL},
};

/* Calls so short that a call alone says nothing about them. */
static const attack brief[] = {
    {0, "honest", AK_TRIAL_OK, NULL},
    {140, "believes what is no NaN and there only once", WRONG, NULL},
    {148, "ends each batch after its first call", WRONG, NULL},
    {149, "does so but where each call is judged", WRONG, NULL},
};

/* Kernels that depend on what their outputs hold before a call. Some are mistakes. */
static const attack old_contents[] = {
    {0, "honest", AK_TRIAL_OK, NULL},
    {1, "does nothing where there is a number", WRONG, NULL},
    {2, "computes only what is no number", WRONG, NULL},
    {3, "begins a maximum with what it finds", WRONG, NULL},
    {4, "begins a minimum with what it finds", WRONG, NULL},
    {5, "begins a maximum of whole numbers with what it finds", WRONG, NULL},
    {6, "begins a minimum of whole numbers with what it finds", WRONG, NULL},
    {7, "does nothing where there is a whole number of usual size", WRONG, NULL},
    {8, "does nothing where there is a number of usual size", WRONG, NULL},
    {9, "does nothing where there is zero", WRONG, NULL},
};

/* Kernels that rely on inputs which the problem fills with constants. */
static const attack constant[] = {
    {0, "honest", AK_TRIAL_OK, NULL},
    {1, "reads nothing", WRONG, "other numbers than its constants"},
    {2, "reads the first elements", WRONG, "other numbers than its constants"},
    {3, "does not read zeros", WRONG, "other numbers than its constants"},
};

/* Kernels that are right at few sizes, in the finish. */
static const attack few_sizes[] = {
    {0, "honest", AK_TRIAL_OK, NULL},
    {1, "is right at listed sizes and near its own", WRONG, "at N="},
    {2, "excludes all sizes but multiples of 4096, and is right at its own", WRONG, "at N="},
    {3, "excludes them, and is honest", AK_TRIAL_OK, NULL},
    {4, "excludes all but its own, and is honest", AK_TRIAL_OK, NULL},
};

/* Kernels that are fast only on inputs that they have seen, of which most are slow also there where
   the harness looks. Their time is at best that on inputs that they have not seen. */
static const attack replay[] = {
    {0, "honest", AK_TRIAL_OK, NULL},
    {1, "writes what it has kept", REJECTED, NULL},
    {2, "does so unless the last call ended long ago", REJECTED, NULL},
    {3, "does so but in one of two calls that are not in a batch", REJECTED, NULL},
    {4, "does so for one of two contents", REJECTED, NULL},
    {5, "does so unless the last call ended some time ago", REJECTED, NULL},
};

/* The same, where the inputs take longer to come from another processor's cache than the work. */
static const attack stream[] = {
    {0, "honest", AK_TRIAL_OK, NULL},
    {1, "writes sums that it has kept", REJECTED, NULL},
    {2, "does so where its inputs are in the cache", REJECTED, NULL},
};

/* The same, where what a call alone may take longer hides all of the work. */
static const attack copies[] = {
    {0, "honest", AK_TRIAL_OK, NULL},
    {1, "writes results that it has kept twice", REJECTED, NULL},
    {2, "does so with the time that two threads may take to begin", REJECTED, NULL},
};

/* The same, of results that other processes have left. */
static const attack heirs[] = {
    {0, "honest", AK_TRIAL_OK, NULL},
    {1, "leaves its sums for others", REJECTED, NULL},
    {2, "writes those that another has left", REJECTED, NULL},
    {3, "does so, too", REJECTED, NULL},
    {4, "looks for a mark in the offset of the block, and leaves one", AK_TRIAL_OK, NULL},
    {5, "looks for it, too", AK_TRIAL_OK, NULL},
};

/* The same, in batches of one call. */
static const attack one_call[] = {
    {0, "honest", AK_TRIAL_OK, NULL},
    {1, "is slow until the batches have one call", REJECTED, NULL},
};

/* A kernel that finds its results of before in its outputs, and computes only what is wrong there.
 */
static const attack repair[] = {
    {0, "honest", AK_TRIAL_OK, NULL},
    {1, "tests the results that it finds, and mends them", REJECTED, NULL},
    {2, "does so, and computes some in each call", REJECTED, NULL},
    {3, "does so, and computes fewer", REJECTED, NULL},
    {4, "mends one result in four, where the harness has changed as many", REJECTED, NULL},
};

/* Honest kernels whose time depends on their data. */
static const attack uneven[] = {
    {0, "honest", AK_TRIAL_OK, NULL},
    {1, "branches four times for each element", AK_TRIAL_OK, NULL},
    {2, "works as long as the first element says", AK_TRIAL_OK, NULL},
    {3, "looks at levels until one is not reached", AK_TRIAL_OK, NULL},
    {4, "sorts before it counts", AK_TRIAL_OK, NULL},
    {5, "works as long as the sum of the elements says", AK_TRIAL_OK, NULL},
};

static void nobody_is_accused_for_uneven_times(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        try_attacks("branches", "host", uneven, sizeof uneven / sizeof uneven[0], 1);
    }
}

/* Of few results that have few values, a changed element may be the same as it was. */
static void nobody_is_accused_for_equal_results(void **state)
{
    (void)state;
    static const char *const sizes[] = {"4", "16", "24", "64"};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        suite s = open_suite("branches", "host", sizes[i]);
        submit(&s, AK_JOB_TRIAL, 0, "ATTACK=0");
        ak_result result = wait_one(s.pool);
        if (result.trial.status != AK_TRIAL_OK) {
            fail_msg("at %s: %s", sizes[i], result.trial.reason);
        }
        ak_result_clear(&result);
        close_suite(&s);
    }
}

static void no_attack_is_accepted(void **state)
{
    (void)state;
    try_attacks("attacks", "host", attacks, sizeof attacks / sizeof attacks[0], 2);
}

/* Where other programs leave it one processor, a kernel that takes two threads gains nothing and is
   not found, so it is tried again, and on a busy machine not at all. */
static void nobody_computes_with_more_threads(void **state)
{
    enum { TRIES = 10 };
    const double quiet = 0.1;
    ak_pressure_mark from, to;
    (void)state;
    ak_pressure_take(&from);
    suite s = open_suite("attacks", "host", NULL);
    bool found = false;
    for (int i = 0; i < TRIES && !found; i++) {
        submit(&s, AK_JOB_TRIAL, (uint64_t)i, "ATTACK=146,WASTE=0");
        ak_result result = wait_one(s.pool);
        found = result.trial.status == REJECTED &&
                strstr(result.trial.reason, "more threads than its Threads says") != NULL;
        ak_result_clear(&result);
    }
    close_suite(&s);
    ak_pressure_take(&to);
    assert_true(found || ak_pressure_between(&from, &to) > quiet);
}

static void no_attack_in_place_is_accepted(void **state)
{
    (void)state;
    try_attacks("in_place", "host", in_place, sizeof in_place / sizeof in_place[0], 2);
}

static void nobody_computes_early(void **state)
{
    (void)state;
    try_attacks("early", "host", early, sizeof early / sizeof early[0], 1);
}

static void nobody_is_faster_on_what_it_has_seen(void **state)
{
    (void)state;
    try_attacks("replay", "host", replay, sizeof replay / sizeof replay[0], 1);
    try_attacks("stream", "host", stream, sizeof stream / sizeof stream[0], 1);
    try_attacks_at("copies", "host", "1024", copies, sizeof copies / sizeof copies[0], 1);
    try_attacks("copies", "host", copies, sizeof copies / sizeof copies[0], 1);
    try_attacks("heirs", "host", heirs, sizeof heirs / sizeof heirs[0], 1);
    for (int i = 0; i < 3; i++) {
        try_attacks("repair", "host", repair, sizeof repair / sizeof repair[0], 1);
        try_attacks("one_call", "host", one_call, sizeof one_call / sizeof one_call[0], 1);
    }
}

static void nobody_believes_what_looks_right(void **state)
{
    (void)state;
    try_attacks_at("attacks", "host", "N=1024,K=16", brief, sizeof brief / sizeof brief[0], 2);
}

/* Trials, and checks with one element in each output and with some. */
static void nobody_relies_on_old_contents(void **state)
{
    (void)state;
    const size_t count = sizeof old_contents / sizeof old_contents[0];
    try_attacks("old", "host", old_contents, count, 1);
    static const char *const sizes[] = {"R=1,C=300", "R=1,C=200000", "R=64,C=64"};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        try_checks("old", "host", sizes[i], old_contents, count);
    }
}

static void nobody_relies_on_constants(void **state)
{
    (void)state;
    try_attacks("constant", "host", constant, sizeof constant / sizeof constant[0], 1);
    try_checks("constant", "host", NULL, constant, sizeof constant / sizeof constant[0]);
}

/* Each worker draws other sizes. */
static void nobody_is_right_at_few_sizes(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        try_checks("sizes", "host", NULL, few_sizes, sizeof few_sizes / sizeof few_sizes[0]);
    }
}

static void no_attack_is_promoted(void **state)
{
    (void)state;
    try_checks("attacks", "host", NULL, promoted, sizeof promoted / sizeof promoted[0]);
}

/* One variant more than the source has is right at N = 96 only, and says so by a condition. */
enum { VARIANTS = 45 };

static void every_honest_kernel_is_promoted(void **state)
{
    (void)state;
    every_one_is_right("honest", "host", "96", AK_JOB_CHECK, VARIANTS + 1, 1);
}

static void every_honest_kernel_is_accepted(void **state)
{
    (void)state;
    every_one_is_right("append", "host", "B=512,S=256,D=16", AK_JOB_TRIAL, 4, 1);
    /* At 96 all are also checked for the finish, below. */
    every_one_is_right("honest", "host", "96", AK_JOB_TRIAL, VARIANTS, 3);
    every_one_is_right("honest", "host", "M=130,N=70,K=33", AK_JOB_TRIAL, VARIANTS, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_attack_is_accepted),
        cmocka_unit_test(nobody_computes_with_more_threads),
        cmocka_unit_test(no_attack_in_place_is_accepted),
        cmocka_unit_test(nobody_computes_early),
        cmocka_unit_test(nobody_is_faster_on_what_it_has_seen),
        cmocka_unit_test(every_honest_kernel_is_accepted),
        cmocka_unit_test(nobody_is_accused_for_uneven_times),
        cmocka_unit_test(nobody_is_accused_for_equal_results),
        cmocka_unit_test(nobody_believes_what_looks_right),
        cmocka_unit_test(nobody_relies_on_old_contents),
        cmocka_unit_test(nobody_relies_on_constants),
        cmocka_unit_test(nobody_is_right_at_few_sizes),
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
