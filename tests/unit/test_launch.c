/*
 * test_launch.c: tests launch descriptions: the values of the Hopper GEMM's description at some
 * shapes, and errors in descriptions. Also tests that the configurations which bench/cuda found
 * fast are in the space, the defaults among them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "backend/cuda/cuda.h"
#include "backend/launch/contents.h"
#include "backend/launch/launch.h"

static ak_task *bind_dtype(const char *kernel, const char *dtype, const char *size,
                           const char *choices)
{
    static const struct {
        const char *name;
        int64_t value;
    } facts[] = {{"sm_count", 132},
                 {"compute_capability", 90},
                 {"l2_bytes", 62914560},
                 {"shared_bytes_max", 232448},
                 {"shared_bytes_sm", 233472}};
    ak_scope *scope = ak_scope_new(NULL);
    ak_task *task = NULL;
    ak_error err = AK_ERROR_INIT;
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        assert_int_equal(ak_scope_set_int(scope, facts[i].name, facts[i].value, NULL), AK_OK);
    }
    ak_task_spec spec = {.kernel = kernel, .dtype = dtype, .size = size, .choices = choices};
    ak_device_facts device = {.backend = "cuda", .device = "cuda:0", .facts = scope};
    if (ak_task_bind(&task, &spec, &device, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    ak_scope_free(scope);
    return task;
}

static ak_task *bind_task(const char *kernel, const char *size, const char *choices)
{
    return bind_dtype(kernel, NULL, size, choices);
}

static ak_status as_told(int64_t *out, void *context, const ak_launch_kernel *kernel, ak_error *err)
{
    (void)err;
    *out = *(int64_t *)context;
    assert_int_equal(kernel->grid[0], 0); /* not known yet */
    assert_true(kernel->block[0] > 0);
    return AK_OK;
}

static void launch_at(ak_launch_plan *plan, const ak_task *task, const ak_shape *shape,
                      const char *config, int64_t resident)
{
    ak_config parsed;
    ak_error err = AK_ERROR_INIT;
    if (ak_config_parse(&parsed, task->space, config, &err) != AK_OK ||
        ak_launch_evaluate(plan, task, shape, &parsed, &(ak_launch_resident){as_told, &resident},
                           &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
}

static void launch(ak_launch_plan *plan, const ak_task *task, const char *config, int64_t resident)
{
    launch_at(plan, task, &task->shape, config, resident);
}

/* 128 x 256 in clusters of two along M, whatever the default is. */
static const char wide[] =
    "BLOCK_SIZE_M=128,BLOCK_SIZE_N=256,BLOCK_SIZE_K=64,num_stages=4,SWAP_AB=0,"
    "NUM_CONSUMERS=2,PING_PONG=0,CLUSTER_M=2,CLUSTER_N=1,GROUP_SIZE=8,RASTER=0,"
    "MMA_IN_FLIGHT=1,EPILOGUE_COLUMNS=64,EPILOGUE_BUFFERS=2";

/* The facts of an OpenCL device limit the threads of a block. */
static void test_the_largest_block(void **state)
{
    ak_launch_plan *plan = ak_alloc(1, sizeof *plan);
    (void)state;
    ak_task *task = bind_task("matmul", "4096", NULL);
    int64_t resident = 66;
    for (int most = 256; most <= 512; most *= 2) { /* the block has 384 */
        ak_config config;
        ak_error err = AK_ERROR_INIT;
        assert_int_equal(ak_scope_set_int(task->constants, "work_group_max", most, NULL), AK_OK);
        assert_int_equal(ak_config_parse(&config, task->space, wide, NULL), AK_OK);
        ak_status status = ak_launch_evaluate(plan, task, &task->shape, &config,
                                              &(ak_launch_resident){as_told, &resident}, &err);
        assert_int_equal(status, most == 256 ? AK_INVALID : AK_OK);
        assert_true(most != 256 || strstr(err.text, "256") != NULL);
    }
    ak_task_close(task);
    ak_free(plan);
}

static void test_gemm(void **state)
{
    ak_launch_plan *plan = ak_alloc(1, sizeof *plan);
    (void)state;
    /* 4096^3, 128 x 256, clusters of two along M: 16 x 16 pairs of tiles on 66 pairs of SMs */
    ak_task *task = bind_task("matmul", "4096", NULL);
    launch(plan, task, wide, 66);
    const ak_launch_kernel *k = &plan->kernels[0];
    assert_int_equal(plan->count, 1);
    assert_string_equal(k->name, "ak_kernel_sized"); /* it is the task's own size */
    assert_int_equal(k->grid[0], 132);
    assert_int_equal(k->grid[1], 1);
    assert_int_equal(k->block[0], 384);
    assert_int_equal(k->cluster[0], 2);
    /* four slots of 16 + 32 KiB, two consumers with two pieces of 64 x 64, barriers */
    assert_int_equal(k->shared_bytes, 4 * 49152 + 2 * 2 * 8192 + 16 * 4 + 48);
    assert_int_equal(k->map_count, 3);
    assert_int_equal(k->maps[0].size[0], 4096);
    assert_int_equal(k->maps[0].stride[0], 8192);
    assert_int_equal(k->maps[0].box[1], 128);
    assert_int_equal(k->maps[1].box[1], 64); /* the four blocks of 64 columns are shared out */
    assert_int_equal(k->maps[2].swizzle, 128);
    assert_int_equal(k->pass_count, 16);
    assert_int_equal(k->passes[3].kind, AK_PASS_BUFFER);
    assert_int_equal(k->passes[3].index, 2);
    assert_int_equal(k->passes[4].kind, AK_PASS_NULL);
    assert_int_equal(k->passes[8].integer, 4096);
    assert_true(k->passes[12].real == 1.0 && k->passes[13].real == 0.0);
    /* 16 x 16 pairs of tiles in groups of 8 rows: 2^40 over 8 * 16, and over the last group's 8 */
    assert_int_equal(k->passes[14].integer, INT64_C(1) << 33);
    assert_int_equal(k->passes[15].integer, INT64_C(1) << 37);
    /* another size takes the code that is good for all */
    const int64_t other[AK_SIZES_MAX] = {4096, 4096, 2048};
    ak_shape shape;
    assert_int_equal(ak_task_shape(&shape, task, other, NULL), AK_OK);
    launch_at(plan, task, &shape, wide, 66);
    assert_string_equal(k->name, "ak_kernel");
    ak_task_close(task);
    /* layouts, rows at a distance, factors */
    task = bind_task("matmul", "M=256,N=512,K=128", "layout=tt,alpha=0.5,beta=2,pad_a=8,pad_c=16");
    launch(plan, task, "", 132);
    assert_int_equal(k->maps[0].size[0], 256); /* A: 128 rows of 256 */
    assert_int_equal(k->maps[0].size[1], 128);
    assert_int_equal(k->maps[0].stride[0], 2 * 264);
    assert_int_equal(k->maps[1].size[0], 128); /* B: 512 rows of 128 */
    assert_int_equal(k->maps[1].size[1], 512);
    assert_int_equal(k->maps[1].stride[0], 2 * 128);
    assert_int_equal(k->maps[2].stride[0], 2 * 528);
    assert_int_equal(k->passes[11].integer, 528);
    assert_true(k->passes[12].real == 0.5 && k->passes[13].real == 2.0);
    ak_task_close(task);
    /* few rows: transposed, K shared by a cluster, every cluster on the device at once */
    task = bind_task("matmul", "M=24,N=4096,K=4096", NULL);
    launch(plan, task,
           "BLOCK_SIZE_M=32,BLOCK_SIZE_N=128,BLOCK_SIZE_K=64,CLUSTER_M=1,CLUSTER_N=1,CLUSTER_K=2,"
           "SPLIT_K=1,SWAP_AB=1,PING_PONG=0,NUM_CONSUMERS=1,PRODUCER_WARPS=1,PRODUCER_REGISTERS=0,"
           "CONSUMER_REGISTERS=0,EARLY_SLOTS=0,num_stages=5,BLOCKS_PER_SM=2",
           1000);
    assert_int_equal(k->block[0], 160);
    assert_int_equal(k->cluster[0], 2);
    assert_int_equal(k->grid[0], 64);
    assert_int_equal(k->maps[2].box[0], 64);
    assert_int_equal(k->maps[2].box[1], 16); /* each block of the cluster finishes half of 32 */
    ak_task_close(task);
    ak_free(plan);
}

/* Rows that are no multiple of 16 bytes are first copied to the workspace, behind the sums. */
static void test_gemm_of_odd_rows(void **state)
{
    ak_launch_plan *plan = ak_alloc(1, sizeof *plan);
    ak_config config;
    size_t bytes = 0;
    int threads = 0;
    (void)state;
    ak_task *task = bind_task("matmul", "M=1001,N=3001,K=5001", NULL);
    launch(plan, task, "", 66);
    assert_int_equal(plan->count, 2);
    const ak_launch_kernel *pad = &plan->kernels[0], *k = &plan->kernels[1];
    assert_string_equal(pad->name, "ak_pad");
    assert_int_equal(pad->grid[0], 528);
    assert_int_equal(pad->passes[3].integer, 0);
    assert_int_equal(pad->passes[4].integer, 1001 * 5056 * 2);
    assert_true(k->maps[0].in_workspace && k->maps[1].in_workspace && !k->maps[2].used);
    assert_int_equal(k->maps[0].stride[0], 5056 * 2);
    assert_int_equal(k->maps[1].offset, 1001 * 5056 * 2);
    assert_int_equal(k->maps[1].stride[0], 3008 * 2);
    ak_space_default(&config, ak_task_space(task));
    assert_int_equal(ak_task_workspace(&bytes, &threads, task, &task->shape, &config, NULL), AK_OK);
    assert_int_equal(bytes, (1001 * 5056 + 5001 * 3008) * 2);
    ak_task_close(task);
    /* only A */
    task = bind_task("matmul", "M=512,N=512,K=8191", NULL);
    launch(plan, task, "", 132);
    assert_int_equal(plan->count, 2);
    assert_true(k->maps[0].in_workspace && !k->maps[1].in_workspace && k->maps[2].used);
    ak_task_close(task);
    ak_free(plan);
}

/* An f32 operand becomes three bf16 terms, in the workspace behind the sums. In the transposed A, a
   row has all terms of M. In B, the rows of each term follow those of the term before. Pairs of
   terms are copied as f32. */
static void test_gemm_of_terms(void **state)
{
    ak_launch_plan *plan = ak_alloc(1, sizeof *plan);
    ak_config config;
    size_t bytes = 0;
    int threads = 0;
    (void)state;
    ak_task *task =
        bind_dtype("matmul", "f32", "M=1001,N=3001,K=5001", "precision=bf16x6,layout=tt,pad_a=3");
    launch(plan, task, "", 66);
    assert_int_equal(plan->count, 2);
    const ak_launch_kernel *split = &plan->kernels[0], *k = &plan->kernels[1];
    const int64_t of_a = 3 * 1024 * 5056 * 2, of_b = 3 * 3008 * 5056 * 2;
    assert_string_equal(split->name, "ak_split");
    assert_int_equal(split->passes[4].integer, split->passes[3].integer + of_a);
    assert_int_equal(split->passes[5].integer, 5001);
    assert_int_equal(split->passes[7].integer, 1004);
    assert_true(k->maps[0].in_workspace && k->maps[1].in_workspace && !k->maps[2].used);
    assert_int_equal(k->maps[0].size[0], 3 * 1024 / 2);
    assert_int_equal(k->maps[0].size[1], 5001);
    assert_int_equal(k->maps[0].stride[0], 3 * 1024 * 2);
    assert_int_equal(k->maps[0].box[0], 32);
    assert_int_equal(k->maps[1].offset, split->passes[4].integer);
    assert_int_equal(k->maps[1].size[0], 2501);
    assert_int_equal(k->maps[1].size[1], 3 * 3008);
    assert_int_equal(k->maps[1].stride[0], 5056 * 2);
    assert_int_equal(k->passes[10].integer, 5001);
    ak_space_default(&config, ak_task_space(task));
    assert_int_equal(ak_task_workspace(&bytes, &threads, task, &task->shape, &config, NULL), AK_OK);
    assert_int_equal(bytes, split->passes[3].integer + of_a + of_b);
    ak_task_close(task);
    ak_free(plan);
}

static void test_sizes_that_do_not_fit(void **state)
{
    ak_task *task = bind_task("matmul", "M=128,N=128,K=8192", NULL);
    ak_config config;
    ak_shape shape;
    bool fits = true;
    const int64_t odd[] = {8, 9, 8}, shallow[] = {8, 8, 64}, deep[] = {8, 8, 8200};
    (void)state;
    assert_int_equal(ak_config_parse(&config, task->space,
                                     "SWAP_AB=0,BLOCK_SIZE_M=64,BLOCK_SIZE_N=64,CLUSTER_K=1,"
                                     "SPLIT_K=16,SPLIT_WAIT=1,EVICT_B=0",
                                     NULL),
                     AK_OK);
    assert_int_equal(ak_task_shape(&shape, task, odd, NULL), AK_OK);
    assert_int_equal(ak_task_allows(&fits, task, &shape, NULL, NULL), AK_OK);
    assert_true(fits);
    assert_int_equal(ak_task_allows(&fits, task, &shape, &config, NULL), AK_OK);
    assert_false(fits); /* EverySize: operands that are not copied */
    assert_int_equal(ak_task_shape(&shape, task, shallow, NULL), AK_OK);
    assert_int_equal(ak_task_allows(&fits, task, &shape, NULL, NULL), AK_OK);
    assert_true(fits);
    assert_int_equal(ak_task_allows(&fits, task, &shape, &config, NULL), AK_OK);
    assert_false(fits); /* EverySize: fewer slots than parts */
    assert_int_equal(ak_task_shape(&shape, task, deep, NULL), AK_OK);
    assert_int_equal(ak_task_allows(&fits, task, &shape, &config, NULL), AK_OK);
    assert_true(fits);
    ak_task_close(task);
}

static void test_mistakes(void **state)
{
    static const struct {
        const char *json, *message;
    } wrong[] = {
        {"[]", "from 1 to 4 kernels"},
        {"3", "must be an object"},
        {"{\"Blok\": [1]}", "did you mean \"Block\"?"},
        {"{\"Block\": [32], \"Arguments\": [{\"Int32\": 1}]}", "\"Grid\" is missing"},
        {"{\"Block\": [\"32+\"], \"Grid\": [1], \"Arguments\": [{\"Int32\": 1}]}", "Block[0]"},
        {"{\"Block\": [32], \"Grid\": [1]}", "\"Arguments\" must have"},
        {"{\"Block\": [32], \"Grid\": [1,1,1,1], \"Arguments\": [{\"Int32\": 1}]}",
         "Grid has 4 entries"},
        {"{\"Block\": [32], \"Grid\": [1], \"Arguments\": [{\"Buffer\": \"D\"}]}",
         "Buffer \"D\" is not an argument of matmul"},
        {"{\"Block\": [32], \"Grid\": [1], \"Arguments\": [{\"TensorMap\": \"x\"}]}",
         "no tensor map \"x\""},
        {"{\"Block\": [32], \"Grid\": [1], \"Arguments\": [{\"Int32\": 1, \"Null\": true}]}",
         "must have one member"},
        {"{\"Block\": [32], \"Grid\": [1], \"Arguments\": [{\"Null\": true}], \"TensorMaps\": "
         "[{\"Name\": \"x\", \"Buffer\": \"A\", \"Sizes\": [1, 2], \"Box\": [1]}]}",
         "as many numbers in Box"},
        {"{\"Let\": [{\"Name\": \"2x\", \"Value\": 1}], \"Block\": [32], \"Grid\": [1], "
         "\"Arguments\": [{\"Null\": true}]}",
         "\"2x\" is not a valid name"},
        {"{\"Let\": [{\"Name\": \"x\", \"Value\": 1}, 7], \"Block\": [32], \"Grid\": [1], "
         "\"Arguments\": [{\"Null\": true}]}",
         "Launch: Let: value 2 must be an object"},
    };
    ak_problem *problem = NULL;
    (void)state;
    assert_int_equal(ak_problem_open(&problem, "matmul", NULL), AK_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ak_error err = AK_ERROR_INIT;
        json_t *json = json_loads(wrong[i].json, JSON_DECODE_ANY, NULL);
        assert_non_null(json);
        assert_int_not_equal(ak_launch_check(json, true, problem, "x.json", &err), AK_OK);
        if (strstr(err.text, wrong[i].message) == NULL) {
            fail_msg("expected \"%s\", got \"%s\"", wrong[i].message, err.text);
        }
        json_decref(json);
    }
    ak_problem_close(problem);
}

/* ---- what bench/cuda found good -------------------------------------------------------------- */

static const struct {
    const char *name, *parameter;
} fields[] = {
    {"m", "BLOCK_SIZE_M"},      {"n", "BLOCK_SIZE_N"},        {"k", "BLOCK_SIZE_K"},
    {"st", "num_stages"},       {"nc", "NUM_CONSUMERS"},      {"pp", "PING_PONG"},
    {"cm", "CLUSTER_M"},        {"cn", "CLUSTER_N"},          {"ck", "CLUSTER_K"},
    {"sk", "SPLIT_K"},          {"wait", "SPLIT_WAIT"},       {"sw", "SWAP_AB"},
    {"fl", "MMA_IN_FLIGHT"},    {"pr", "PRODUCER_REGISTERS"}, {"cr", "CONSUMER_REGISTERS"},
    {"ec", "EPILOGUE_COLUMNS"}, {"eb", "EPILOGUE_BUFFERS"},   {"bps", "BLOCKS_PER_SM"},
    {"ebb", "EVICT_B"},         {"pw", "PRODUCER_WARPS"},     {"r", "RASTER"},
    {"g", "GROUP_SIZE"},        {"es", "EARLY_SLOTS"}};

/* Writes a line of a variants file as a configuration. Members that the line lacks have the
   defaults of gemm_bench.c. */
static void translate(char *out, size_t bytes, const char *line)
{
    size_t used = (size_t)snprintf(
        out, bytes,
        "BLOCK_SIZE_K=64,num_stages=4,NUM_CONSUMERS=2,PING_PONG=0,CLUSTER_M=1,CLUSTER_N=1,"
        "CLUSTER_K=1,SPLIT_K=1,SPLIT_WAIT=0,SWAP_AB=0,MMA_IN_FLIGHT=0,PRODUCER_REGISTERS=40,"
        "CONSUMER_REGISTERS=232,EPILOGUE_COLUMNS=64,EPILOGUE_BUFFERS=2,BLOCKS_PER_SM=1,EVICT_B=0,"
        "PRODUCER_WARPS=4,RASTER=0,GROUP_SIZE=8,EARLY_SLOTS=0");
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        char wanted[16], set[64];
        (void)snprintf(wanted, sizeof wanted, " %s=", fields[i].name);
        const char *at = strstr(line, wanted);
        if (at == NULL) {
            continue;
        }
        (void)snprintf(set, sizeof set, "%s=%ld", fields[i].parameter,
                       strtol(at + strlen(wanted), NULL, 10));
        char name[64];
        (void)snprintf(name, sizeof name, "%s=", fields[i].parameter);
        char *old = strstr(out, name);
        if (old == NULL) {
            used += (size_t)snprintf(out + used, bytes - used, ",%s", set);
        } else {
            size_t length = strcspn(old, ",");
            char tail[512];
            (void)snprintf(tail, sizeof tail, "%s", old + length);
            (void)snprintf(old, bytes - (size_t)(old - out), "%s%s", set, tail);
            used = strlen(out);
        }
    }
}

static void test_good_ones_are_in_the_space(void **state)
{
    static const struct {
        const char *size, *line;
    } winners[] = {
        /* docs/kernel-log.md, bench/results/cuda-2026-11-21-bf16-nn-tables.txt */
        {"4096", " m=128 n=256 cm=2 fl=1"},
        {"8192", " m=176 n=128 pp=1 cn=2 r=1 sw=1 fl=1 eb=1"},
        {"M=8192,N=8192,K=1024", " m=192 n=128 pp=1 cn=2 sw=1 fl=1 eb=1"},
        {"M=4096,N=14336,K=4096", " m=256 n=160 st=3 cm=2 ec=32"},
        {"512", " m=64 n=64 st=8 nc=1 fl=1 pr=0 cr=0 pw=1"},
        {"768", " m=80 n=64 st=11 nc=1 cm=2 cn=2 sw=1 fl=1 pr=0 cr=0 eb=1 pw=1 es=4"},
        {"1024", " m=64 n=128 st=8 nc=1 cn=2 fl=1 pr=0 cr=0 pw=1"},
        {"1536", " m=192 n=96 st=5 nc=3 cm=2 fl=1 pr=40 cr=152 ec=32 eb=1 es=2"},
        {"2048", " m=128 n=128 st=6 pp=1 cm=2 fl=1"},
        {"M=2048,N=5120,K=2048", " m=128 n=160 st=5 pp=1 cm=2 fl=1 ec=32"},
        {"M=1,N=4096,K=4096", " m=16 n=64 k=128 st=11 nc=1 sw=1 fl=1 pr=0 cr=0 eb=1 ebb=1 pw=1"},
        {"M=1,N=7168,K=16384",
         " m=32 n=128 st=5 nc=1 ck=2 sw=1 fl=1 pr=0 cr=0 eb=1 bps=2 ebb=1 pw=1"},
        {"M=64,N=4096,K=4096", " m=64 n=64 st=13 nc=1 ck=2 sw=1 fl=1 pr=0 cr=0 eb=1 ebb=1 pw=1"},
        {"M=128,N=7168,K=16384", " m=128 n=128 k=128 st=3 ck=2 sw=1 eb=1 ebb=1"},
        {"M=256,N=256,K=65536",
         " m=64 n=128 st=9 nc=1 cm=4 cn=2 sk=15 fl=1 pr=0 cr=0 eb=1 pw=1 wait=1 es=2"},
        {"M=128,N=128,K=8192", " m=64 n=64 k=128 st=6 nc=1 sk=16 fl=1 pr=0 cr=0 eb=1 pw=1 wait=1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof winners / sizeof winners[0]; i++) {
        char text[1024];
        ak_config config;
        ak_error err = AK_ERROR_INIT;
        ak_task *task = bind_task("matmul", winners[i].size, NULL);
        translate(text, sizeof text, winners[i].line);
        if (ak_config_parse(&config, task->space, text, &err) != AK_OK) {
            fail_msg("%s%s: %s", winners[i].size, winners[i].line, err.text);
        }
        ak_task_close(task);
    }
}

/* ---- contents of arguments: y = 2 * x, on a device of our own
 * ------------------------------------ */

enum { ROWS = 8, COLUMNS = 4, ELEMENTS = ROWS * COLUMNS, SETS = 4, BATCHES = 40 };

typedef enum habit {
    HONEST,
    ONCE,    /* computes only at the first run on a set */
    REUSES,  /* computes at once what it has computed before, which takes longer */
    SLOWS,   /* the same, until it has seen more contents than a batch has */
    SHARES,  /* the same where all sets share the input, and so it was computed before */
    BELIEVES /* computes the first element, and all others only if it is not there yet */
} habit;

typedef struct place {
    float x[ELEMENTS], y[ELEMENTS];
} place;

struct ak_runnable {
    habit habit;
    place block, at[SETS + AK_CONTENTS_SPARES], kept;
    float seen[SETS][ELEMENTS];
    bool ran[SETS];
    int computed;                            /* how often, of SLOWS */
    float shared[ELEMENTS], known[ELEMENTS]; /* of SHARES: what it reads, and has computed */
};

static int begin(ak_runnable *r)
{
    r->at[SETS + AK_CONTENTS_OWN] = r->at[SETS + AK_CONTENTS_OTHER] = r->block;
    return 0;
}

static int mix(ak_runnable *r, size_t argument, const ak_mixed *mixed)
{
    assert_int_equal(argument, 0); /* outputs stay */
    assert_true(mixed->span == ELEMENTS && mixed->wrap == ELEMENTS);
    assert_true(mixed->turn[0] != mixed->turn[1]);
    for (size_t i = 0; i < ELEMENTS; i++) {
        r->at[SETS + AK_CONTENTS_OTHER].x[i] =
            r->at[SETS + AK_CONTENTS_OWN].x[ak_mixed_from(*mixed, i)];
    }
    return 0;
}

static int fill(ak_runnable *r, size_t set, ak_contents_spare from, bool outputs)
{
    const place *of = &r->at[SETS + from];
    memcpy(r->at[set].x, of->x, sizeof of->x);
    memcpy(r->shared, of->x, sizeof of->x);
    if (outputs) {
        memcpy(r->at[set].y, of->y, sizeof of->y);
    }
    return 0;
}

static int64_t run_shared(ak_runnable *r, place *at)
{
    const bool known = memcmp(r->known, r->shared, sizeof r->known) == 0;
    for (int i = 0; i < ELEMENTS; i++) {
        at->y[i] = 2 * r->shared[i];
    }
    memcpy(r->known, r->shared, sizeof r->known);
    return known ? 10 : 1000;
}

static int64_t run_on(ak_runnable *r, size_t set)
{
    place *at = &r->at[set];
    if (r->habit == SHARES) {
        return run_shared(r, at);
    }
    const bool same = r->ran[set] && memcmp(r->seen[set], at->x, sizeof at->x) == 0;
    const bool believes = r->habit == BELIEVES && at->y[0] == 2 * at->x[0];
    const bool reuses = same && (r->habit == REUSES || (r->habit == SLOWS && r->computed <= 8));
    r->computed += reuses ? 0 : 1;
    if (r->habit == HONEST || !r->ran[set] ||
        ((r->habit == REUSES || r->habit == SLOWS) && !reuses) ||
        (r->habit == BELIEVES && !believes)) {
        for (int i = 0; i < ELEMENTS; i++) {
            at->y[i] = 2 * at->x[i];
        }
    }
    r->ran[set] = true;
    memcpy(r->seen[set], at->x, sizeof at->x);
    return reuses || believes ? 10 : 1000;
}

static int time_runs(int64_t *ns, ak_runnable *r, uint32_t runs, size_t set, int64_t timeout_ns)
{
    *ns = 0;
    assert_true(timeout_ns > 0 && set < SETS);
    for (uint32_t i = 0; i < runs; i++) {
        *ns += run_on(r, runs == 1 ? set : i % SETS);
    }
    return 0;
}

static int keep(ak_runnable *r, size_t set, double run_ns)
{
    assert_true(run_ns > 0);
    r->kept = r->at[set];
    return 0;
}

static int put_aside(ak_runnable *r, size_t set)
{
    r->at[SETS + AK_CONTENTS_OTHER] = r->at[set];
    return 0;
}

/* Returns whether what was set aside is right for the inputs that the outcome tells, which are no
   own ones. */
static bool aside_right(const ak_runnable *r, const ak_outcome *out)
{
    const place *aside = &r->at[SETS + AK_CONTENTS_OTHER];
    bool right = out->mixed[0].span > 0 && out->mixed[1].span == 0;
    for (size_t i = 0; i < ELEMENTS; i++) {
        right = right && aside->y[i] == 2 * r->block.x[ak_mixed_from(out->mixed[0], i)];
    }
    return right;
}

static const ak_contents_ops usual = {.times = 2, .each_ns = 300, .tries = 3};

/* Runs `count` batches of different lengths, with these limits, with a fake kernel of the given
   habit, for example one that reuses earlier results. Returns how many batches were wrong; *out is
   the last outcome. */
static int batches_of(ak_outcome *out, habit how, ak_dtype dtype, ak_fill_kind kind, int count,
                      const ak_contents_ops *limits)
{
    static const uint32_t runs[] = {1, 3, 64};
    ak_contents_ops ops = *limits;
    ops.begin = begin;
    ops.mix = mix;
    ops.fill = fill;
    ops.time = time_runs;
    ops.keep = keep;
    ops.set_aside = put_aside;
    ak_argument_spec arguments[] = {{.dtype = dtype, .access = AK_ACCESS_IN, .fill = kind},
                                    {.dtype = dtype, .access = AK_ACCESS_OUT}};
    ak_problem problem = {.argument_count = 2};
    memcpy(problem.arguments, arguments, sizeof arguments);
    const ak_task task = {.problem = &problem, .dtype = AK_DTYPE_F32};
    const ak_shape shape = {.elements = {ELEMENTS, ELEMENTS},
                            .row = {COLUMNS, COLUMNS},
                            .pitch = {COLUMNS, COLUMNS},
                            .bytes = {sizeof((place *)0)->x, sizeof((place *)0)->y}};
    ak_runnable *r = ak_alloc(1, sizeof *r);
    ak_rng rng;
    int wrong = 0;
    assert_non_null(r);
    ak_rng_seed(&rng, 1);
    r->habit = how;
    ak_contents contents = {
        .ops = &ops, .runnable = r, .rng = &rng, .sets = SETS, .shared = how == SHARES};
    for (int b = 0; b < count; b++) {
        int64_t ns = 0;
        const bool last = b == count - 1;
        const ak_launch launch = {.task = &task,
                                  .shape = &shape,
                                  .iterations = how == BELIEVES ? 1 : runs[last ? 2 : b % 3],
                                  .aside = b % 2 == 1,
                                  .last = last,
                                  .timeout_ns = 1};
        for (int i = 0; i < ELEMENTS; i++) {
            r->block.x[i] = (float)((how == BELIEVES ? 0 : b * ELEMENTS) + i);
            r->block.y[i] = -1;
        }
        *out = (ak_outcome){.status = AK_TRIAL_OK};
        assert_int_equal(ak_contents_batch(&ns, &contents, &launch, out), 0);
        assert_true(out->alone && ns > 0);
        assert_true(how != BELIEVES || ns >= 1000);
        assert_true(ops.fresh_bytes == 0 || ns == 1000 * (int64_t)launch.iterations);
        bool right = true;
        for (int i = 0; i < ELEMENTS; i++) {
            right = right && r->kept.y[i] == 2 * r->block.x[i];
        }
        wrong += !right;
        if (out->status == AK_TRIAL_OK) {
            assert_true(out->aside == launch.aside);
            assert_true(!out->aside || kind == AK_FILL_OFFSETS ||
                        aside_right(r, out) == (how != ONCE));
        }
        if (out->status != AK_TRIAL_OK) {
            break;
        }
    }
    ak_free(r);
    return wrong;
}

static int batches(ak_outcome *out, habit how)
{
    return batches_of(out, how, AK_DTYPE_F32, AK_FILL_UNIFORM, BATCHES, &usual);
}

/* The contents of whole-number inputs are also permuted if the elements are drawn independently,
   but not if they may be indices whose order matters. */
static void test_contents_of_whole_numbers(void **state)
{
    static const ak_dtype dtypes[] = {AK_DTYPE_I32, AK_DTYPE_U32};
    ak_outcome out;
    (void)state;
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        assert_int_equal(batches_of(&out, HONEST, dtypes[i], AK_FILL_UNIFORM, BATCHES, &usual), 0);
        assert_int_equal(out.status, AK_TRIAL_OK);
        assert_int_equal(batches_of(&out, REUSES, dtypes[i], AK_FILL_UNIFORM, BATCHES, &usual), 0);
        assert_int_equal(out.status, AK_TRIAL_REJECTED);
        assert_int_equal(batches_of(&out, HONEST, dtypes[i], AK_FILL_OFFSETS, BATCHES, &usual), 0);
        (void)batches_of(&out, REUSES, dtypes[i], AK_FILL_OFFSETS, BATCHES, &usual);
        assert_int_equal(out.status, AK_TRIAL_OK);
    }
}

/* A value that is passed to a kernel has the bytes of its type, in little-endian order. */
static void test_values_that_are_passed(void **state)
{
    static const struct {
        const char *scalar;
        int64_t integer;
        size_t bytes;
        uint64_t bits;
    } values[] = {{"Int8", -128, 1, 0x80},
                  {"UInt8", 255, 1, 0xff},
                  {"Int16", -2, 2, 0xfffe},
                  {"UInt16", 65535, 2, 0xffff},
                  {"Int32", INT32_MIN, 4, 0x80000000},
                  {"UInt32", UINT32_MAX, 4, 0xffffffff},
                  {"Int64", -1, 8, UINT64_MAX},
                  {"UInt64", INT64_C(1) << 53, 8, UINT64_C(1) << 53},
                  {"Float32", 0, 4, 0x3fc00000},
                  {"Float64", 0, 8, UINT64_C(0x3ff8000000000000)}};
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        ak_pass pass = {.kind = AK_PASS_VALUE, .integer = values[i].integer, .real = 1.5};
        uint64_t bits = 0;
        assert_true(ak_dtype_parse_scalar(&pass.dtype, values[i].scalar));
        assert_int_equal(ak_pass_encode(&bits, &pass), values[i].bytes);
        assert_true(bits == values[i].bits);
    }
}

static void test_contents(void **state)
{
    ak_outcome out;
    (void)state;
    assert_int_equal(batches(&out, HONEST), 0);
    assert_int_equal(out.status, AK_TRIAL_OK);
    assert_true(batches(&out, ONCE) > BATCHES / 2);
    assert_int_equal(batches(&out, REUSES), 0);
    assert_int_equal(out.status, AK_TRIAL_REJECTED);
    assert_non_null(strstr(out.reason, "it reuses results of earlier runs"));
    assert_int_equal(batches(&out, SHARES), 0);
    assert_int_equal(out.status, AK_TRIAL_REJECTED);
    assert_int_equal(batches(&out, BELIEVES), 0);
}

/* The last batch is compared with unseen contents if none was before, however few there were and
   whether what it sets aside is one of its own or not. */
static void test_the_last_batch(void **state)
{
    const ak_contents_ops cold = {.times = 2, .each_ns = 300, .tries = 3, .cold = 4};
    ak_outcome out;
    (void)state;
    for (int count = 1; count <= 4; count++) {
        assert_int_equal(batches_of(&out, HONEST, AK_DTYPE_F32, AK_FILL_UNIFORM, count, &cold), 0);
        assert_int_equal(out.status, AK_TRIAL_OK);
        assert_int_equal(batches_of(&out, REUSES, AK_DTYPE_F32, AK_FILL_UNIFORM, count, &cold), 0);
        assert_int_equal(out.status, AK_TRIAL_REJECTED);
    }
}

/* A batch that is timed again, beside unseen contents, may be slow on purpose. */
static void test_a_batch_that_slows(void **state)
{
    const ak_contents_ops repeats = {.times = 2, .each_ns = 300, .tries = 8, .repeats = true};
    ak_outcome out;
    (void)state;
    assert_int_equal(batches_of(&out, HONEST, AK_DTYPE_F32, AK_FILL_UNIFORM, 1, &repeats), 0);
    assert_int_equal(out.status, AK_TRIAL_OK);
    assert_int_equal(batches_of(&out, SLOWS, AK_DTYPE_F32, AK_FILL_UNIFORM, 1, &repeats), 0);
    assert_int_equal(out.status, AK_TRIAL_REJECTED);
}

/* Where the arguments are small, no run of a batch has contents that one has seen, so that who
   reuses results has the time of computing them. */
static void test_small_arguments(void **state)
{
    const ak_contents_ops fresh = {.times = 2, .each_ns = 300, .tries = 3, .fresh_bytes = 256};
    ak_outcome out;
    (void)state;
    assert_int_equal(batches_of(&out, HONEST, AK_DTYPE_F32, AK_FILL_UNIFORM, BATCHES, &fresh), 0);
    assert_int_equal(out.status, AK_TRIAL_OK);
    assert_int_equal(batches_of(&out, REUSES, AK_DTYPE_F32, AK_FILL_UNIFORM, BATCHES, &fresh), 0);
    assert_int_equal(out.status, AK_TRIAL_OK);
    assert_true(batches_of(&out, ONCE, AK_DTYPE_F32, AK_FILL_UNIFORM, BATCHES, &fresh) >
                BATCHES / 2);
}

/* Options of ptxas that choose how code is generated are allowed; those that name files, choose
   what is compiled or hide messages are not. */
static void test_options_of_ptxas(void **state)
{
    (void)state;
    static const char *const good[] = {
        "--ptxas-options=-v",       "-Xptxas=-O3",
        "--ptxas-options=-dlcm=ca", "--ptxas-options=--allow-expensive-optimizations=true",
        "-Xptxas=-O1,-dscm=wt,-v",  "--ptxas-options=--register-usage-level=8",
        "-Xptxas=-no-bb-merge",     "--ptxas-options=-maxrregcount=128"};
    static const char *const bad[] = {"--ptxas-options=-optf=/home/user/x",
                                      "--ptxas-options=--options-file=/etc/passwd",
                                      "-Xptxas=-o=/tmp/x",
                                      "-Xptxas=-o",
                                      "--ptxas-options=--output-file=x",
                                      "--ptxas-options=--apply-controls=x",
                                      "--ptxas-options=-w",
                                      "--ptxas-options=--disable-warnings",
                                      "--ptxas-options=-e=other",
                                      "--ptxas-options=--compile-only",
                                      "--ptxas-options=-arch=sm_80",
                                      "--ptxas-options=-v,-w",
                                      "--ptxas-options=-v,--output-file=x",
                                      "--ptxas-options=-v -o x",
                                      "--ptxas-options=-dlcm=ca -o x",
                                      "--ptxas-options=-O3/../x",
                                      "--ptxas-options=-dlcm=",
                                      "--ptxas-options=-v,",
                                      "--ptxas-options=-vv",
                                      "--ptxas-options=",
                                      "--ptxas-options",
                                      "-Xptxas"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        if (!ak_cuda_rules.allows_option(good[i])) {
            fail_msg("%s is refused", good[i]);
        }
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (ak_cuda_rules.allows_option(bad[i])) {
            fail_msg("%s is allowed", bad[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_largest_block),
        cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_gemm_of_odd_rows),
        cmocka_unit_test(test_gemm_of_terms),
        cmocka_unit_test(test_sizes_that_do_not_fit),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_good_ones_are_in_the_space),
        cmocka_unit_test(test_contents),
        cmocka_unit_test(test_the_last_batch),
        cmocka_unit_test(test_a_batch_that_slows),
        cmocka_unit_test(test_small_arguments),
        cmocka_unit_test(test_contents_of_whole_numbers),
        cmocka_unit_test(test_values_that_are_passed),
        cmocka_unit_test(test_options_of_ptxas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
