/*
 * skeleton.c: implements `autokernel new kernel NAME`, which writes a folder that can be tuned as
 * it is and then changed. The example is Z = 2 * X + Y: small enough to read in a minute, with
 * everything that a kernel folder has.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "problem/problem.h"
#include "tuner/skeleton.h"

#define SKELETON_BYTES_MAX 16384

/* In these texts '@' stands for the kernel's name, and "@@" for one '@'. */
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

static const char cuda_json[] =
    "{\n"
    "  \"ConfigurationSpace\": {\n"
    "    \"TuningParameters\": [\n"
    "      { \"Name\": \"THREADS\", \"Type\": \"int\", \"Values\": [64, 128, 256, 512], "
    "\"Default\": 256,\n"
    "        \"Description\": \"threads of a block\" },\n"
    "      { \"Name\": \"ITEMS\", \"Type\": \"int\", \"Values\": [1, 2, 4, 8], \"Default\": 4,\n"
    "        \"Description\": \"elements of a thread\" }\n"
    "    ],\n"
    "    \"Conditions\": [\n"
    "      { \"Expression\": \"THREADS * ITEMS <= 2048\",\n"
    "        \"Description\": \"an example of a condition: say why here\" }\n"
    "    ]\n"
    "  },\n"
    "  \"KernelSpecification\": {\n"
    "    \"Language\": \"CUDA\",\n"
    "    \"KernelName\": \"@\",\n"
    "    \"KernelFile\": \"cuda.cu\",\n"
    "    \"Launch\": {\n"
    "      \"Block\": [\"THREADS\"],\n"
    "      \"Grid\": [\"(n + THREADS * ITEMS - 1)//(THREADS * ITEMS)\"],\n"
    "      \"Arguments\": [{ \"Buffer\": \"X\" }, { \"Buffer\": \"Y\" }, { \"Buffer\": \"Z\" }, "
    "{ \"Int32\": \"n\" }]\n"
    "    }\n"
    "  }\n"
    "}\n";

static const char cuda_cu[] =
    "/* cuda.cu: Z = 2 * X + Y on a CUDA device. The parameters of cuda.json arrive as macros:\n"
    "   THREADS, ITEMS. How it is started is the \"Launch\" there. */\n"
    "\n"
    "extern \"C\" __global__ void @(const float *x, const float *y, float *z, int n)\n"
    "{\n"
    "    const int first = blockIdx.x * THREADS * ITEMS + threadIdx.x;\n"
    "    for (int k = 0; k < ITEMS; k++) {\n"
    "        const int i = first + k * THREADS;\n"
    "        if (i < n) {\n"
    "            z[i] = 2.0f * x[i] + y[i];\n"
    "        }\n"
    "    }\n"
    "}\n";

static const char triton_py[] =
    "\"\"\"Z = 2 * X + Y in Triton. The parameters and their values are those of "
    "@@triton.autotune; @.json beside this file\n"
    "says sizes, arguments and grid.\"\"\"\n"
    "import triton\n"
    "import triton.language as tl\n"
    "\n"
    "\n"
    "@@triton.autotune(\n"
    "    configs=[triton.Config({\"BLOCK_SIZE\": size}, num_warps=warps) for size in (512, 1024, "
    "2048) for warps in (2, 4, 8)],\n"
    "    key=[\"n\"])\n"
    "@@triton.jit\n"
    "def @(x_ptr, y_ptr, z_ptr, n, BLOCK_SIZE: tl.constexpr):\n"
    "    i = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)\n"
    "    inside = i < n\n"
    "    x = tl.load(x_ptr + i, mask=inside)\n"
    "    y = tl.load(y_ptr + i, mask=inside)\n"
    "    tl.store(z_ptr + i, 2 * x + y, mask=inside)\n"
    "\n"
    "\n"
    "def reference(x_ptr, y_ptr):\n"
    "    \"\"\"Computes the right result with NumPy, in double. The parameters are names of "
    "arguments and sizes.\"\"\"\n"
    "    return 2 * x_ptr + y_ptr\n";

static const char triton_json[] =
    "{\n"
    "  \"description\": \"Z = 2 * X + Y over n elements\",\n"
    "  \"sizes\": {\"n\": 1048576},\n"
    "  \"dtypes\": [\"f32\"],\n"
    "  \"arguments\": {\n"
    "    \"x_ptr\": {\"shape\": [\"n\"]},\n"
    "    \"y_ptr\": {\"shape\": [\"n\"]},\n"
    "    \"z_ptr\": {\"shape\": [\"n\"], \"access\": \"out\"},\n"
    "    \"n\": \"n\"\n"
    "  },\n"
    "  \"grid\": [\"(n + BLOCK_SIZE - 1)//BLOCK_SIZE\"],\n"
    "  \"flops\": \"2*n\",\n"
    "  \"bytes\": \"3*n*dtype_bytes\",\n"
    "  \"reference\": \"@.py:reference\",\n"
    "  \"tolerance\": {\"f32\": {\"relative\": \"4*eps\", \"rms\": \"4*eps\"}},\n"
    "  \"awkward\": [{\"n\": 1}, {\"n\": 7}, {\"n\": 33}, {\"n\": 1023}, {\"n\": 1025}]\n"
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
    "* `problem.json`: what is computed: sizes, arguments with shapes, work, tolerance, edge-case "
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
    ak_status status = AK_OK;
    char path[AK_PATH_MAX];
    ak_buf filled = AK_BUF(SKELETON_BYTES_MAX);
    for (const char *p = text; *p != 0; p++) {
        if (p[0] == '@' && p[1] == '@') {
            ak_buf_putc(&filled, *p++);
        } else if (*p == '@') {
            ak_buf_puts(&filled, kernel);
        } else {
            ak_buf_putc(&filled, *p);
        }
    }
    AK_TRY(ak_buf_status(&filled, err));
    AK_TRY(ak_fs_join(path, folder, file, err));
    AK_TRY(ak_fs_write(path, filled.data, filled.length, err));
out:
    ak_buf_free(&filled);
    return status;
}

#define NAME_MAX_LETTERS 63

static bool is_identifier(const char *name)
{
    size_t letters =
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return name[0] != 0 && name[letters] == 0 && letters <= NAME_MAX_LETTERS &&
           !(name[0] >= '0' && name[0] <= '9');
}

ak_status ak_skeleton_folder(const char *path, ak_error *err)
{
    const char *name = ak_fs_base(path);
    if (!is_identifier(name)) {
        return ak_fail(err, AK_INVALID,
                       "\"%.100s\": a kernel's name has only letters, digits and _, does not start "
                       "with a digit "
                       "and has at most %d characters",
                       name, NAME_MAX_LETTERS);
    }
    if (ak_problem_is_builtin(name)) {
        return ak_fail(err, AK_INVALID, "\"%s\" is a built-in kernel; choose another name", name);
    }
    if (ak_fs_is_folder(path) || ak_fs_is_file(path)) {
        return ak_fail(err, AK_INVALID, "%s already exists; choose another name", path);
    }
    return ak_fs_mkdirs(path, err);
}

ak_status ak_kernel_new_cuda(const char *path, ak_error *err)
{
    const char *name = ak_fs_base(path);
    AK_DO(ak_kernel_new(path, err));
    ak_status status = AK_OK;
    AK_TRY(write_one(path, "cuda.json", cuda_json, name, err));
    AK_TRY(write_one(path, "cuda.cu", cuda_cu, name, err));
    return AK_OK;
out:
    ak_fs_remove(path);
    return status;
}

ak_status ak_kernel_new_triton(const char *path, ak_error *err)
{
    const char *name = ak_fs_base(path);
    char file[80];
    ak_status status = AK_OK;
    AK_DO(ak_skeleton_folder(path, err));
    (void)snprintf(file, sizeof file, "%.64s.py", name);
    AK_TRY(write_one(path, file, triton_py, name, err));
    (void)snprintf(file, sizeof file, "%.64s.json", name);
    AK_TRY(write_one(path, file, triton_json, name, err));
    return AK_OK;
out:
    ak_fs_remove(path);
    return status;
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
    const char *name = ak_fs_base(path);
    AK_DO(ak_skeleton_folder(path, err));
    ak_status status = AK_OK;
    for (size_t i = 0; i < AK_COUNT(files); i++) {
        AK_TRY(write_one(path, files[i].file, files[i].text, name, err));
    }
    return AK_OK;
out:
    ak_fs_remove(path); /* removes the unfinished folder after a failure */
    return status;
}
