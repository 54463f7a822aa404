/*
 * skeleton.c: `autokernel new kernel NAME`: a folder that works as it is (tune it, then change it).
 * The example is Z = 2 * X + Y: small enough to read in a minute, with everything that a kernel
 * folder has.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "problem/problem.h"

#define SKELETON_BYTES_MAX 16384

/* "@" stands for the kernel's name. */
static const char problem_json[] =
    "{\n"
    "  \"schema\": 1,\n"
    "  \"name\": \"@\",\n"
    "  \"description\": \"Z = 2 * X + Y over n elements\",\n"
    "  \"sizes\": [\n"
    "    { \"name\": \"n\", \"default\": 1048576, \"description\": \"elements of each array\" }\n"
    "  ],\n"
    "  \"dtypes\": [\"f32\"],\n"
    "  \"choices\": [],\n"
    "  \"arguments\": [\n"
    "    { \"name\": \"X\", \"dtype\": \"dtype\", \"shape\": [\"n\"], \"access\": \"in\", "
    "\"fill\": "
    "\"uniform(-1,1)\" },\n"
    "    { \"name\": \"Y\", \"dtype\": \"dtype\", \"shape\": [\"n\"], \"access\": \"in\", "
    "\"fill\": "
    "\"uniform(-1,1)\" },\n"
    "    { \"name\": \"Z\", \"dtype\": \"dtype\", \"shape\": [\"n\"], \"access\": \"out\" }\n"
    "  ],\n"
    "  \"flops\": \"2*n\",\n"
    "  \"bytes\": \"3*n*dtype_bytes\",\n"
    "  \"reference\": \"reference.c\",\n"
    "  \"tolerance\": { \"f32\": { \"relative\": \"4*eps\", \"rms\": \"4*eps\" } },\n"
    "  \"awkward\": [ { \"n\": 1 }, { \"n\": 7 }, { \"n\": 33 }, { \"n\": 1023 }, { \"n\": 1025 } "
    "]\n"
    "}\n";

static const char host_json[] =
    "{\n"
    "  \"ConfigurationSpace\": {\n"
    "    \"TuningParameters\": [\n"
    "      { \"Name\": \"UNROLL\", \"Type\": \"int\", \"Values\": [1, 2, 4, 8], \"Default\": 4,\n"
    "        \"Description\": \"elements per turn of the inner loop\" },\n"
    "      { \"Name\": \"THREADS\", \"Type\": \"int\", \"Values\": \"range(1, cpu_threads + 1)\", "
    "\"Default\": 1,\n"
    "        \"Description\": \"threads, each with a share of the elements\" },\n"
    "      { \"Name\": \"COMPILER\", \"Type\": \"string\", \"Values\": [\"gcc\", \"clang\"], "
    "\"Default\": \"gcc\",\n"
    "        \"Use\": \"compiler\", \"Description\": \"the compiler\" },\n"
    "      { \"Name\": \"OPT_LEVEL\", \"Type\": \"int\", \"Values\": [2, 3], \"Default\": 3,\n"
    "        \"Use\": \"option\", \"Option\": \"-O{}\", \"Description\": \"optimisation level\" }\n"
    "    ],\n"
    "    \"Conditions\": [\n"
    "      { \"Expression\": \"UNROLL * THREADS <= 16\",\n"
    "        \"Description\": \"an example of a condition: say why here\" }\n"
    "    ]\n"
    "  },\n"
    "  \"KernelSpecification\": {\n"
    "    \"Language\": \"C\",\n"
    "    \"KernelName\": \"ak_kernel\",\n"
    "    \"KernelFile\": \"host.c\",\n"
    "    \"CompilerOptions\": [\"-std=gnu17\", \"-fPIC\", \"-march=native\"],\n"
    "    \"Workspace\": \"0\",\n"
    "    \"Threads\": \"THREADS\"\n"
    "  }\n"
    "}\n";

static const char host_c[] =
    "/* host.c: Z = 2 * X + Y on a CPU. The text of ak_host.h is put in front of this file; the\n"
    "   parameters of host.json arrive as macros: UNROLL, THREADS. */\n"
    "\n"
    "typedef struct work {\n"
    "    int64_t n;\n"
    "    const float *x, *y;\n"
    "    float *z;\n"
    "} work;\n"
    "\n"
    "/* The share of thread number `thread` of `threads`. */\n"
    "static void task(void *context, int thread, int threads)\n"
    "{\n"
    "    const work *w = context;\n"
    "    int64_t begin = w->n * thread / threads, end = w->n * (thread + 1) / threads;\n"
    "    int64_t i = begin;\n"
    "    for (; i + UNROLL <= end; i += UNROLL) {\n"
    "        for (int u = 0; u < UNROLL; u++) {\n"
    "            w->z[i + u] = 2.0f * w->x[i + u] + w->y[i + u];\n"
    "        }\n"
    "    }\n"
    "    for (; i < end; i++) {\n"
    "        w->z[i] = 2.0f * w->x[i] + w->y[i];\n"
    "    }\n"
    "}\n"
    "\n"
    "void ak_kernel(const ak_host_call *call)\n"
    "{\n"
    "    work w = {call->size[0], call->arg[0], call->arg[1], call->arg[2]};\n"
    "    int n = THREADS < call->threads ? THREADS : call->threads;\n"
    "    call->parallel(call->pool, n, task, &w);\n"
    "}\n";

static const char reference_c[] =
    "/* reference.c: what @ means, in double and as plainly as possible. It is never tuned; every\n"
    "   candidate is compared with it. All arrays are double here. */\n"
    "\n"
    "void ak_reference(const ak_host_call *call)\n"
    "{\n"
    "    const double *x = call->arg[0], *y = call->arg[1];\n"
    "    double *z = call->arg[2];\n"
    "    for (int64_t i = 0; i < call->size[0]; i++) {\n"
    "        z[i] = 2.0 * x[i] + y[i];\n"
    "    }\n"
    "}\n";

static const char readme[] =
    "# @\n"
    "\n"
    "Made by `autokernel new kernel`. It works as it is:\n"
    "\n"
    "    autokernel list ./@\n"
    "    autokernel check ./@\n"
    "    autokernel tune ./@\n"
    "\n"
    "* `problem.json`: what is computed: sizes, arguments with shapes, work, tolerance, awkward "
    "sizes.\n"
    "* `reference.c`: the same in double, plain C; every candidate is checked against it.\n"
    "* `host.json`: the parameters of the CPU implementation, their values and conditions.\n"
    "* `host.c`: the implementation; its parameters arrive as macros.\n"
    "\n"
    "Change them in this order, and run `autokernel check` after each step. A tolerance that "
    "would\n"
    "accept zeros, a constant or an output that is 1 % wrong is refused.\n";

static ak_status write_one(const char *folder, const char *file, const char *text,
                           const char *kernel, ak_error *err)
{
    char path[AK_PATH_MAX];
    ak_buf out = AK_BUF(SKELETON_BYTES_MAX);
    for (const char *p = text; *p != 0; p++) {
        if (*p == '@') {
            ak_buf_puts(&out, kernel);
        } else {
            ak_buf_putc(&out, *p);
        }
    }
    ak_status status = ak_buf_status(&out, err);
    if (status == AK_OK) {
        status = ak_fs_join(path, folder, file, err);
    }
    if (status == AK_OK) {
        status = ak_fs_write(path, out.data, out.length, err);
    }
    ak_buf_free(&out);
    return status;
}

static bool is_identifier(const char *name)
{
    size_t letters =
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return name[0] != 0 && name[letters] == 0 && letters < 64 &&
           !(name[0] >= '0' && name[0] <= '9');
}

ak_status ak_kernel_new(const char *path, ak_error *err)
{
    static const struct {
        const char *file, *text;
    } files[] = {{"problem.json", problem_json},
                 {"host.json", host_json},
                 {"host.c", host_c},
                 {"reference.c", reference_c},
                 {"README.md", readme}};
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    if (!is_identifier(name)) {
        return ak_fail(err, AK_INVALID,
                       "\"%s\": a kernel's name has letters, digits and _ only, and starts with a "
                       "letter",
                       name);
    }
    if (ak_problem_is_builtin(name)) {
        return ak_fail(err, AK_INVALID, "\"%s\" is a built-in kernel; choose another name", name);
    }
    if (ak_fs_is_folder(path) || ak_fs_is_file(path)) {
        return ak_fail(err, AK_INVALID, "%s: exists already; choose another name", path);
    }
    ak_status status = ak_fs_mkdirs(path, err);
    bool made = status == AK_OK;
    for (size_t i = 0; status == AK_OK && i < sizeof files / sizeof files[0]; i++) {
        status = write_one(path, files[i].file, files[i].text, name, err);
    }
    if (status != AK_OK && made) {
        ak_fs_remove(path); /* all or nothing */
    }
    return status;
}
