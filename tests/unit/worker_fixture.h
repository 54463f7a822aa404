/*
 * worker_fixture.h: a kernel whose parameter MODE chooses how it misbehaves, in a temporary folder,
 * and tasks on it. The test executable is its own worker: main must call fixture_main first.
 */
#ifndef AK_TEST_WORKER_FIXTURE_H
#define AK_TEST_WORKER_FIXTURE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "backend/backend.h"
#include "base/alloc.h"
#include "base/fs.h"
#include "problem/task.h"
#include "worker/pool.h"

enum mode {
    MODE_OK,
    MODE_WRONG,
    MODE_CRASH,
    MODE_HANG,
    MODE_FORK,
    MODE_BEYOND,
    MODE_BEFORE,
    MODE_MUTATE,
    MODE_UNWRITTEN,
    MODE_EXIT,
    MODE_NO_COMPILE,
    MODE_PHASES,
    MODE_REMEMBER,
    MODE_ABORT,
    MODE_FORGE,
    MODE_SOCKET,
    MODE_NO_SYMBOL,
    MODE_WORKSPACE,
    MODE_NAN,
    MODE_THREADS,
    MODE_SAME,
    MODE_STACK,
    MODE_WRITE_FILE,
    MODE_EARLY,
    MODE_ONLY_BIG,
    MODE_RECITE,
    MODE_COUNT
};

static const char fixture_problem[] =
    "{\"schema\": 1, \"name\": \"affine\", \"description\": \"y = 2 x + 1\",\n"
    " \"sizes\": [{\"name\": \"N\", \"default\": 5000, \"description\": \"length\"}],\n"
    " \"dtypes\": [\"f32\"], \"choices\": [],\n"
    " \"arguments\": [\n"
    "  {\"name\": \"X\", \"dtype\": \"dtype\", \"shape\": [\"N\"], \"access\": \"in\",\n"
    "   \"fill\": \"uniform(-1,1)\"},\n"
    "  {\"name\": \"Y\", \"dtype\": \"dtype\", \"shape\": [\"N\"], \"access\": \"out\"}],\n"
    " \"flops\": \"2*N\", \"bytes\": \"2*N*dtype_bytes\", \"reference\": \"reference.c\",\n"
    " \"tolerance\": {\"f32\": {\"relative\": \"%s\", \"rms\": \"%s\"}},\n"
    " \"awkward\": [{\"N\": 1}, {\"N\": 7}, {\"N\": 1023}]}\n";

static const char fixture_space[] =
    "{\"ConfigurationSpace\": {\"TuningParameters\": [\n"
    "  {\"Name\": \"MODE\", \"Type\": \"int\", \"Values\": \"range(0,26)\", \"Default\": 0}],\n"
    "  \"Conditions\": []},\n"
    " \"KernelSpecification\": {\"Language\": \"C\", \"KernelName\": \"ak_kernel\",\n"
    "  \"KernelFile\": \"host.c\", \"CompilerOptions\": [\"-std=gnu17\", \"-O1\"],\n"
    "  \"Workspace\": \"64\", \"Threads\": \"2\"}}\n";

static const char fixture_reference[] = "void ak_reference(const ak_host_call *call)\n"
                                        "{\n"
                                        "    const double *x = call->arg[0];\n"
                                        "    double *y = call->arg[1];\n"
                                        "    for (int64_t i = 0; i < call->size[0]; i++) {\n"
                                        "        y[i] = 2.0 * x[i] + 1.0;\n"
                                        "    }\n"
                                        "}\n";

/* The source of the kernel. Its cases are in the order of enum mode. */
static const char fixture_source[] =
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "#include <fcntl.h>\n"
    "#include <sys/socket.h>\n"
    "#include <unistd.h>\n"
    "#if MODE == 10\n"
    "#error this is not to be compiled\n"
    "#endif\n"
    "static void part(void *context, int thread, int n)\n"
    "{\n"
    "    const ak_host_call *call = context;\n"
    "    const float *x = call->arg[0];\n"
    "    float *y = call->arg[1], *shared = call->workspace;\n"
    "    if (thread == 0) {\n"
    "        shared[0] = 1.0f;\n"
    "    }\n"
    "    call->barrier(call->pool);\n"
    "    for (int64_t i = call->size[0] * thread / n; i < call->size[0] * (thread + 1) / n; i++) "
    "{\n"
    "        y[i] = 2.0f * x[i] + shared[0];\n"
    "    }\n"
    "}\n"
    "static int deeper(volatile int *p)\n"
    "{\n"
    "    volatile int here[4096];\n"
    "    here[0] = *p + 1;\n"
    "    return deeper(here) + here[1];\n"
    "}\n"
    "static void run(const ak_host_call *call)\n"
    "{\n"
    "    float *x = call->arg[0], *y = call->arg[1];\n"
    "    int64_t n = call->size[0];\n"
    "    static int calls;\n"
    "    static float said[5000];\n"
    "    (void)part, (void)deeper, (void)calls, (void)said;\n"
    "#if MODE == 2\n"
    "    *(volatile int *)8 = 1;\n"
    "#elif MODE == 3\n"
    "    for (volatile int i = 0;; i++) {\n"
    "    }\n"
    "#elif MODE == 4\n"
    "    if (fork() == 0) {\n"
    "        _exit(0);\n"
    "    }\n"
    "#elif MODE == 9\n"
    "    exit(3);\n"
    "#elif MODE == 11\n"
    "    if (++calls > 4) {\n"
    "        return;\n"
    "    }\n"
    "#elif MODE == 12\n"
    "    if (y[0] == y[0]) {\n"
    "        return;\n"
    "    }\n"
    "#elif MODE == 13\n"
    "    abort();\n"
    "#elif MODE == 14\n"
    "    (void)!write(4, \"D\", 1);\n"
    "#elif MODE == 15\n"
    "    (void)socket(AF_INET, SOCK_STREAM, 0);\n"
    "#elif MODE == 17\n"
    "    ((char *)call->workspace)[64] = 1;\n"
    "#elif MODE == 21\n"
    "    y[0] = (float)deeper((volatile int *)y);\n"
    "#elif MODE == 22\n"
    "    int fd = open(\"autokernel-escaped\", O_WRONLY | O_CREAT, 0600);\n"
    "    if (fd >= 0) {\n"
    "        n = 0;\n"
    "    }\n"
    "#elif MODE == 23\n"
    "    (void)!write(4, \"DE\", 2);\n"
    "    for (volatile int i = 0; i < 100000000; i++) {\n"
    "    }\n"
    "#elif MODE == 24\n"
    "    if (n < 100) {\n"
    "        return;\n"
    "    }\n"
    "#elif MODE == 25\n"
    "    if (n == 5000 && calls++ > 0) {\n"
    "        memcpy(y, said, sizeof said);\n"
    "        return;\n"
    "    }\n"
    "#endif\n"
    "#if MODE == 19\n"
    "    call->parallel(call->pool, call->threads, part, (void *)call);\n"
    "    return;\n"
    "#endif\n"
    "    for (int64_t i = 0; i < n - (MODE == 8); i++) {\n"
    "        y[i] = 2.0f * x[i] + (MODE == 1 ? 1.02f : 1.0f);\n"
    "    }\n"
    "#if MODE == 5\n"
    "    y[n] = 0.0f;\n"
    "#elif MODE == 6\n"
    "    y[-1] = 0.0f;\n"
    "#elif MODE == 7\n"
    "    x[0] = 0.5f;\n"
    "    y[0] = 2.0f;\n"
    "#elif MODE == 18\n"
    "    y[n / 2] = 0.0f / (y[0] - y[0]);\n"
    "#elif MODE == 25\n"
    "    if (n == 5000) {\n"
    "        memcpy(said, y, sizeof said);\n"
    "    }\n"
    "#endif\n"
    "}\n"
    "#if MODE == 16\n"
    "void other(const ak_host_call *call)\n"
    "#else\n"
    "void ak_kernel(const ak_host_call *call)\n"
    "#endif\n"
    "{\n"
    "    run(call);\n"
    "}\n";

static char fixture_folder[AK_PATH_MAX];

static void fixture_write(const char *name, const char *text)
{
    char path[AK_PATH_MAX];
    assert_int_equal(ak_fs_join(path, fixture_folder, name, NULL), AK_OK);
    assert_int_equal(ak_fs_write(path, text, strlen(text), NULL), AK_OK);
}

static void fixture_problem_with(const char *relative, const char *rms)
{
    char text[sizeof fixture_problem + 128];
    (void)snprintf(text, sizeof text, fixture_problem, relative, rms);
    fixture_write("problem.json", text);
}

static int fixture_setup(void **state)
{
    (void)state;
    ak_error err = AK_ERROR_INIT;
    if (ak_fs_temp(fixture_folder, &err) != AK_OK) {
        return -1;
    }
    fixture_problem_with("8*eps", "8*eps");
    fixture_write("host.json", fixture_space);
    fixture_write("host.c", fixture_source);
    fixture_write("reference.c", fixture_reference);
    return 0;
}

static int fixture_teardown(void **state)
{
    (void)state;
    ak_fs_remove(fixture_folder);
    return 0;
}

__attribute__((unused)) static ak_task *fixture_task(const char *size)
{
    const ak_backend_ops *backend = NULL;
    ak_error err = AK_ERROR_INIT;
    ak_task *task = NULL;
    ak_scope *facts = ak_scope_new(NULL);
    assert_int_equal(ak_backend_find(&backend, "host", &err), AK_OK);
    assert_int_equal(backend->facts(facts, "host", 2, &err), AK_OK);
    ak_task_spec spec = {
        .kernel = fixture_folder, .device = "host", .size = size, .threads = 2, .seed = 1};
    ak_device_facts device = {
        .backend = "host", .device = "host", .facts = facts, .available = backend->available};
    if (ak_task_bind(&task, &spec, &device, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    ak_scope_free(facts);
    return task;
}

__attribute__((unused)) static ak_config fixture_config(const ak_task *task, int mode)
{
    char text[32];
    ak_config config;
    ak_error err = AK_ERROR_INIT;
    (void)snprintf(text, sizeof text, "MODE=%d", mode);
    if (ak_config_parse(&config, task->space, text, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    return config;
}

/* Returns true if this process was started as a worker; main must then return *code. */
static bool fixture_main(int *code, int argc, char **argv)
{
    static char self[AK_PATH_MAX];
    if (argc > 1 && strcmp(argv[1], "worker") == 0) {
        *code = ak_worker_main(argc, argv);
        return true;
    }
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length > 0) {
        self[length] = 0;
        (void)setenv("AUTOKERNEL_WORKER", self, 1);
    }
    return false;
}

#endif
