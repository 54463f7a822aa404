/* test_host.c: tests the parts of the host backend: threads, the separate pass, compilers that
   fail in every way, hashes of artifacts, devices and their child processes. */
#include "worker_fixture.h"

#include <elf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <errno.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "backend/host/host.h"
#include "backend/host/host_baseline.h"
#include "backend/host/host_child.h"
#include "backend/host/host_elf_parts.h"
#include "backend/host/host_pool.h"
#include "backend/host/host_runner.h"
#include "base/clock.h"

/* The epilogue of matmul_act on vectors of four floats, which every machine has. */
#define VL                     4
#define activation_is_gelu_erf 1
#include "../../kernels/matmul/vector.h"
#include "../../kernels/softmax/vexp.h"
#include "../../kernels/matmul_act/activation.h"

/* ---- threads ------------------------------------------------------------------------------- */

typedef struct count {
    ak_host_pool *pool;
    int threads;
    int seen[8];   /* by thread: how often */
    int before[8]; /* written before the barrier, read by the others after it */
    bool good[8];
} count;

static void count_one(void *context, int thread, int n)
{
    count *c = context;
    c->seen[thread]++;
    c->good[thread] = n == c->threads;
}

static void pass_barrier(void *context, int thread, int n)
{
    count *c = context;
    for (int turn = 1; turn <= 50; turn++) {
        c->before[thread] = turn;
        ak_host_pool_barrier(c->pool);
        for (int i = 0; i < n; i++) {
            c->good[thread] = c->good[thread] && c->before[i] == turn;
        }
        ak_host_pool_barrier(c->pool);
    }
}

static void regions_use_the_threads_they_ask_for(void **state)
{
    (void)state;
    static const int64_t spins[] = {0, 20000};
    for (size_t s = 0; s < 2; s++) {
        count c = {0};
        assert_int_equal(ak_host_pool_open(&c.pool, 4, spins[s], NULL), AK_OK);
        assert_int_equal(ak_host_pool_threads(c.pool), 4);
        int expected[8] = {0};
        for (int round = 0; round < 300; round++) {
            c.threads = 1 + round * 7 % 4;
            for (int i = 0; i < c.threads; i++) {
                expected[i]++;
                c.good[i] = false;
            }
            ak_host_pool_parallel(c.pool, c.threads, count_one, &c);
            for (int i = 0; i < c.threads; i++) {
                assert_true(c.good[i]);
            }
        }
        assert_memory_equal(c.seen, expected, sizeof expected);
        c.threads = 4;
        ak_host_pool_parallel(c.pool, 99, count_one, &c); /* more than there are */
        assert_int_equal(c.seen[3], expected[3] + 1);
        ak_host_pool_limit(c.pool, 2); /* of a configuration that has two */
        ak_host_pool_parallel(c.pool, 4, count_one, &c);
        assert_int_equal(c.seen[1], expected[1] + 2);
        assert_int_equal(c.seen[2], expected[2] + 1);
        ak_host_pool_close(c.pool);
    }
}

/* Between two calls one element, even an only one, is changed, and the change is noted. The new
   value is NaN, a copy of another element, or another number. */
static void one_element_is_always_stained(void **state)
{
    (void)state;
    static const uint64_t counts[] = {1, 2, 1000};
    uint64_t seed = 5;
    for (size_t c = 0; c < 3; c++) {
        float right[1000], y[1000];
        void *arg[] = {y};
        const ak_host_stainable of = {
            .count = {counts[c]}, .bytes = {4}, .fraction = {23}, .arguments = 1};
        size_t copies = 0, blank = 0, others = 0;
        ak_host_stained s = {0};
        for (int i = 0; i < 1000; i++) {
            right[i] = 1.0f + (float)i / 8;
        }
        for (int i = 0; i < 300; i++) {
            memcpy(y, right, sizeof y);
            ak_host_stain(&of, arg, &s, &seed, i == 0);
            float put;
            memcpy(&put, &s.put[0], sizeof put);
            const size_t at = (size_t)((const float *)(uintptr_t)(s.at[0] ^ s.mask) - y);
            assert_true(at < counts[c] && memcmp(&y[at], &put, sizeof put) == 0);
            assert_true(s.put[0] != s.was[0] && (i > 0 || isnan(put)));
            const double k = 8 * ((double)put - 1);
            blank += isnan(put) ? 1 : 0;
            copies += k >= 0 && k < (double)counts[c] && k == floor(k) ? 1 : 0;
            others += !isnan(put) && !(k == floor(k)) ? 1 : 0;
            assert_int_equal(ak_host_stained_look(&of, &s), 1);
            assert_int_equal(s.skipped, i + 1);
        }
        assert_true(blank > 30 && others > 100 && (c == 0 || copies > 10));
        memcpy(y, right, sizeof y);
        for (int part = 0; part < 3; part++) {
            ak_host_scramble(&of, arg, seed, part, 3);
        }
        for (size_t i = 0; i < 1000; i++) {
            assert_int_equal(y[i] != right[i], i < counts[c]);
        }
    }
}

/* Of a large output, too, no result is left to a kernel that would compute only the others. */
static void all_results_are_changed(void **state)
{
    enum { COUNT = 1 << 20 };
    (void)state;
    float *y = ak_alloc(COUNT, sizeof *y);
    void *arg[] = {y};
    const ak_host_stainable of = {.count = {COUNT}, .bytes = {4}, .fraction = {23}, .arguments = 1};
    size_t changed = 0;
    for (size_t i = 0; i < COUNT; i++) {
        y[i] = 1.5f;
    }
    ak_host_scramble(&of, arg, 5, 0, 1);
    for (size_t i = 0; i < COUNT; i++) {
        changed += y[i] != 1.5f ? 1 : 0;
    }
    ak_free(y);
    assert_int_equal(changed, COUNT);
}

/* All rows of an output whose rows do not adjoin, and nothing between them. */
static void rows_apart_are_changed(void **state)
{
    enum { ROWS = 3, COUNT = 4, PITCH = 7, ALL = ROWS * PITCH };
    (void)state;
    float y[ALL], right[ALL];
    void *arg[] = {y};
    uint64_t seed = 5;
    const ak_host_stainable of = {.count = {COUNT},
                                  .more_rows = {ROWS - 1},
                                  .pitch = {PITCH},
                                  .bytes = {4},
                                  .fraction = {23},
                                  .arguments = 1};
    ak_host_stained s = {0};
    size_t stained[ALL] = {0};
    for (size_t i = 0; i < ALL; i++) {
        right[i] = y[i] = 1.0f + (float)i / 8;
    }
    ak_host_scramble(&of, arg, seed, 0, 1);
    for (size_t i = 0; i < ALL; i++) {
        assert_int_equal(y[i] != right[i], i % PITCH < COUNT);
    }
    for (int i = 0; i < 300; i++) {
        memcpy(y, right, sizeof y);
        ak_host_stain(&of, arg, &s, &seed, false);
        stained[(const float *)(uintptr_t)(s.at[0] ^ s.mask) - y]++;
    }
    for (size_t i = 0; i < ALL; i++) {
        assert_int_equal(stained[i] > 0, i % PITCH < COUNT);
    }
}

#ifdef __x86_64__
/* Segment selectors that a kernel has set are reset, and the thread's variables can still be
   reached. */
static void selectors_are_forgotten(void **state)
{
    (void)state;
    uint32_t ds, es, fs, gs;
    const bool bases = (getauxval(AT_HWCAP2) & 2) != 0; /* the base of FS can be put back */
    ak_host_forget_prepare(0);
    __asm__ volatile("movl %0, %%ds; movl %0, %%es; movl %0, %%gs" : : "r"(3));
    if (bases) {
        uint64_t base;
        __asm__ volatile("rdfsbase %0; movl %1, %%fs; wrfsbase %0" : "=&r"(base) : "r"(3));
    }
    errno = EAGAIN;
    ak_host_forget();
    assert_int_equal(errno, 0);
    __asm__ volatile("movl %%ds, %0; movl %%es, %1; movl %%fs, %2; movl %%gs, %3"
                     : "=r"(ds), "=r"(es), "=r"(fs), "=r"(gs));
    assert_int_equal(ds | es | fs | gs, 0);
}
#elif defined(__aarch64__)
/* The caller keeps the lower half of these vector registers. The upper half could keep a kernel's
   state, so it is cleared. */
#define FORGETS_HALF_OF(name)                                                                      \
    do {                                                                                           \
        const uint64_t in[2] = {UINT64_C(0x3ff4000000000000), UINT64_C(0xdeadbeef)};               \
        uint64_t out[2];                                                                           \
        __asm__ volatile("ldr " name ", %0" : : "m"(in) : "memory");                               \
        ak_host_forget();                                                                          \
        __asm__ volatile("str " name ", %0" : "=m"(out) : : "memory");                             \
        assert_true(out[0] == in[0] && out[1] == 0);                                               \
    } while (0)

static void halves_of_vectors_are_forgotten(void **state)
{
    (void)state;
    ak_host_forget_prepare(0);
    FORGETS_HALF_OF("q8");
    FORGETS_HALF_OF("q9");
    FORGETS_HALF_OF("q10");
    FORGETS_HALF_OF("q11");
    FORGETS_HALF_OF("q12");
    FORGETS_HALF_OF("q13");
    FORGETS_HALF_OF("q14");
    FORGETS_HALF_OF("q15");
}
#endif

static void a_barrier_waits_for_all(void **state)
{
    (void)state;
    count c = {0};
    assert_int_equal(ak_host_pool_open(&c.pool, 4, 20000, NULL), AK_OK);
    ak_host_pool_barrier(c.pool); /* outside of a region nobody is waited for */
    for (int n = 1; n <= 4; n++) {
        c = (count){.pool = c.pool, .threads = n, .good = {true, true, true, true}};
        ak_host_pool_parallel(c.pool, n, pass_barrier, &c);
        for (int i = 0; i < n; i++) {
            assert_true(c.good[i]);
        }
    }
    ak_host_pool_close(c.pool);
}

static void thread_numbers_are_checked(void **state)
{
    (void)state;
    ak_host_pool *pool = NULL;
    assert_int_equal(ak_host_pool_open(&pool, 0, 0, NULL), AK_INVALID);
    assert_int_equal(ak_host_pool_open(&pool, AK_HOST_THREADS_MAX + 1, 0, NULL), AK_INVALID);
    for (size_t n = 1; n <= 2; n++) {
        ak_alloc_fail_at(n);
        assert_int_equal(ak_host_pool_open(&pool, 2, 0, NULL), AK_NO_MEMORY);
        ak_alloc_fail_at(0);
    }
    ak_host_pool_close(NULL);
}

/* ---- the separate pass --------------------------------------------------------------------- */

/* Numbers at which functions overflow, as the pass finds them in C. */
static const float extremes[] = {INFINITY, -INFINITY, NAN,    3e38f, -3e38f, 1e20f,
                                 -1e20f,   88.5f,     -88.5f, -0.0f, 14.5f,  -14.5f};

static double wanted(int activation, double x)
{
    switch (activation) {
    case 1:
        return x < 0 ? 0 : x;
    case 2:
        return x < 0 ? 0.01 * x : x;
    case 3:
        return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case 4:
        return 0.5 * x * erfc(-x * 0.70710678118654752440);
    case 5:
        return x / (1 + exp(-x));
    default:
        return x;
    }
}

/* The functions of oneDNN without which it multiplies in f32, and the others that are used. The
   engine says that it cannot be made. */
#define DNNL_FIRST                                                                                 \
    "struct version { int major, minor, patch; const char *hash; unsigned cpu, gpu; };\n"          \
    "int dnnl_get_effective_cpu_isa(void) { return 0; }\n"                                         \
    "int dnnl_sgemm(void) { return 1; }\n"
#define DNNL_VERSION(major)                                                                        \
    "const struct version *dnnl_version(void)\n"                                                   \
    "{ static const struct version v = {" major ", 4, 5, \"\", 0, 0}; return &v; }\n"
static const char *const dnnl_others[] = {"engine_create",
                                          "memory_desc_init_by_tag",
                                          "memory_desc_init_by_strides",
                                          "matmul_desc_init",
                                          "primitive_attr_create",
                                          "primitive_attr_destroy",
                                          "primitive_attr_set_post_ops",
                                          "post_ops_create",
                                          "post_ops_destroy",
                                          "post_ops_append_eltwise",
                                          "softmax_forward_desc_init",
                                          "layer_normalization_forward_desc_init",
                                          "reduction_desc_init",
                                          "primitive_desc_create",
                                          "primitive_desc_destroy",
                                          "primitive_create",
                                          "primitive_destroy",
                                          "primitive_execute",
                                          "memory_create",
                                          "memory_destroy",
                                          "stream_wait"};

/* Makes a oneDNN in a folder and loads it as a baseline of softmax, in a child. */
static void load_dnnl(ak_outcome *out, const char *folder, const char *first, bool others,
                      const char *last)
{
    char from[AK_PATH_MAX], to[AK_PATH_MAX], choices[] = "", name[] = "softmax";
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(1u << 16);
    AK_AT_END(ak_proc_result_clear) ak_proc_result run = {0};
    ak_problem problem = {.name = name};
    ak_task task = {.problem = &problem, .choices_text = choices, .dtype = AK_DTYPE_F32};
    ak_device *device = NULL;
    ak_runnable *runner = NULL;
    ak_buf_print(&text, DNNL_FIRST "%s%s", first, last);
    for (size_t i = 0; others && i < AK_COUNT(dnnl_others); i++) {
        ak_buf_print(&text, "int dnnl_%s(void) { return 1; }\n", dnnl_others[i]);
    }
    assert_int_equal(ak_fs_join(from, folder, "dnnl.c", NULL), AK_OK);
    assert_int_equal(ak_fs_join(to, folder, "libdnnl.so.2", NULL), AK_OK);
    assert_int_equal(ak_fs_write(from, text.data, text.length, NULL), AK_OK);
    const char *const argv[] = {"cc", "-fPIC", "-shared", "-o", to, from, NULL};
    const ak_proc_spec spec = {.argv = argv, .output_max = 4096};
    assert_int_equal(ak_proc_run(&run, &spec, NULL), AK_OK);
    assert_int_equal(run.exit_code, 0);
    assert_int_equal(ak_host_ops.open(&device, &task, NULL), AK_OK);
    const ak_load load = {.baseline = "onednn"};
    assert_int_equal(ak_host_ops.load(&runner, device, &load, out, NULL), AK_OK);
    ak_host_ops.unload(runner);
    ak_host_ops.close(device);
}

/* A oneDNN that cannot be compared with says whether it is of another version, lacks a function, or
   cannot use the processor. */
static void a_library_says_what_it_lacks(void **state)
{
    char folder[AK_PATH_MAX];
    ak_outcome out;
    (void)state;
    AK_AT_END(ak_text_free_at) char *before = ak_strdup(getenv("LD_LIBRARY_PATH"));
    assert_int_equal(ak_fs_temp(folder, NULL), AK_OK);
    (void)setenv("LD_LIBRARY_PATH", folder, 1);
    load_dnnl(&out, folder, DNNL_VERSION("3"), false, "");
    assert_string_equal(out.reason, "only products in f32 are compared with oneDNN 3; for others: "
                                    "apt-get install libdnnl2");
    load_dnnl(&out, folder, DNNL_VERSION("2"), true, "");
    assert_string_equal(out.reason,
                        "oneDNN 2.4.5 lacks dnnl_stream_create: apt-get install libdnnl2");
    load_dnnl(&out, folder, DNNL_VERSION("2"), true,
              "int dnnl_stream_create(void) { return 1; }\n");
    assert_string_equal(out.reason, "oneDNN 2.4.5 cannot use this processor");
    load_dnnl(&out, folder, "", true, "");
    assert_string_equal(out.reason, "it lacks dnnl_version: apt-get install libdnnl2");
    (void)(before == NULL ? unsetenv("LD_LIBRARY_PATH") : setenv("LD_LIBRARY_PATH", before, 1));
    ak_fs_remove(folder);
}

static void the_pass_has_the_right_formulas(void **state)
{
    (void)state;
    static const char *const names[] = {"none",      "relu",     "leaky_relu",
                                        "gelu_tanh", "gelu_erf", "silu"};
    enum { ROWS = 5, COLUMNS = 37, PITCH = COLUMNS + 2 };
    ak_host_pool *pool = NULL;
    ak_product product;
    assert_int_equal(ak_host_pool_open(&pool, 2, 0, NULL), AK_OK);
    for (int activation = 0; activation < 6; activation++) {
        for (int with = 0; with < 8; with++) {
            const bool bias_too = with & 1, residual_too = with & 2, c_in_too = with & 4;
            char choices[96];
            float bias[COLUMNS], c[ROWS * PITCH], c_in[ROWS * PITCH], residual[ROWS * PITCH];
            (void)snprintf(choices, sizeof choices, "bias=%s,activation=%s%s%s",
                           bias_too ? "add" : "none", names[activation],
                           c_in_too ? ",beta=0.5" : "", residual_too ? ",residual=add" : "");
            const ak_baseline_setup setup = {.problem = "matmul_act", .choices = choices};
            assert_int_equal(ak_product_parse(&product, &setup, NULL), AK_OK);
            assert_true(product.beta == (c_in_too ? 0.5f : 0.0f));
            for (int i = 0; i < COLUMNS; i++) {
                bias[i] = (float)(i % 5) * 0.25f - 0.5f;
            }
            for (int i = 0; i < ROWS * PITCH; i++) {
                c_in[i] = (float)(i - ROWS * PITCH / 2) * 0.11f; /* -10..10 */
                residual[i] = (float)(i % 7);
                c[i] = i % PITCH >= COLUMNS ? 77.0f : c_in_too ? NAN : c_in[i];
            }
            int64_t size[] = {ROWS, COLUMNS, 1}, pitch[] = {1, 1, 1, PITCH, PITCH, PITCH};
            void *arg[] = {NULL, NULL, bias, c, c_in, residual};
            ak_host_call call = {.size = size,
                                 .arg = arg,
                                 .pitch = pitch,
                                 .threads = 2,
                                 .parallel = ak_host_pool_parallel,
                                 .barrier = ak_host_pool_barrier,
                                 .pool = pool};
            ak_product_begin(&product, &call);
            ak_product_end(&product, &call);
            for (int i = 0; i < ROWS * PITCH; i++) {
                float x = c_in[i] + (bias_too ? bias[i % PITCH % COLUMNS] : 0.0f);
                double right = wanted(activation, x) + (residual_too ? residual[i] : 0.0f);
                right = i % PITCH >= COLUMNS ? 77.0 : right; /* between the rows */
                assert_true(fabs(c[i] - right) <= 2e-6 * fabs(right) + 1e-6);
            }
        }
    }
    ak_baseline_setup setup = {.problem = "matmul_act", .choices = "bias=add,activation=softplus"};
    assert_int_equal(ak_product_parse(&product, &setup, NULL), AK_UNAVAILABLE);
    setup = (ak_baseline_setup){.problem = "matmul", .choices = ""};
    assert_int_equal(ak_product_parse(&product, &setup, NULL), AK_OK);
    assert_true(product.alpha == 1.0f && product.beta == 0.0f && product.c == 2);
    assert_false(product.a_transposed || product.b_transposed || product.bias);
    setup.choices = "layout=tn,alpha=-0.25,beta=1e-3,pad_c=5";
    assert_int_equal(ak_product_parse(&product, &setup, NULL), AK_OK);
    assert_true(product.alpha == -0.25f && product.beta == 1e-3f);
    assert_true(product.a_transposed && !product.b_transposed);
    ak_host_pool_close(pool);
}

/* Infinities, NaN and large numbers give what the reference gives, which computes in doubles. */
static void the_pass_is_right_at_extremes(void **state)
{
    (void)state;
    static const char *const names[] = {"none",      "relu",     "leaky_relu",
                                        "gelu_tanh", "gelu_erf", "silu"};
    enum { COUNT = sizeof extremes / sizeof extremes[0], COLUMNS = 3 * COUNT };
    ak_host_pool *pool = NULL;
    assert_int_equal(ak_host_pool_open(&pool, 1, 0, NULL), AK_OK);
    for (int activation = 0; activation < 6; activation++) {
        char choices[96];
        float c[COLUMNS];
        ak_product product;
        (void)snprintf(choices, sizeof choices, "activation=%s", names[activation]);
        const ak_baseline_setup setup = {.problem = "matmul_act", .choices = choices};
        assert_int_equal(ak_product_parse(&product, &setup, NULL), AK_OK);
        for (int i = 0; i < COLUMNS; i++) {
            c[i] = extremes[i % COUNT];
        }
        int64_t size[] = {1, COLUMNS, 1}, pitch[] = {1, 1, 1, COLUMNS, 1, 1};
        void *arg[] = {NULL, NULL, NULL, c, NULL, NULL};
        const ak_host_call call = {.size = size,
                                   .arg = arg,
                                   .pitch = pitch,
                                   .threads = 1,
                                   .parallel = ak_host_pool_parallel,
                                   .barrier = ak_host_pool_barrier,
                                   .pool = pool};
        ak_product_end(&product, &call);
        for (int i = 0; i < COLUMNS; i++) {
            const double right = wanted(activation, extremes[i % COUNT]);
            const bool same = isnan(right)   ? isnan(c[i])
                              : isinf(right) ? (double)c[i] == right
                                             : fabs(c[i] - right) <= 2e-6 * fabs(right) + 1e-6;
            if (!same) {
                fail_msg("%s of %g is %g, not %g", names[activation], (double)extremes[i % COUNT],
                         (double)c[i], right);
            }
        }
    }
    ak_host_pool_close(pool);
}

/* So does the epilogue of the kernel. */
static void the_kernel_is_right_at_extremes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof extremes / sizeof extremes[0]; i++) {
        float lanes[VL];
        const double right = wanted(4, extremes[i]);
        vec_store(lanes, activation(vec_splat(extremes[i])));
        assert_true(isnan(right)   ? isnan(lanes[0])
                    : isinf(right) ? (double)lanes[0] == right
                                   : fabs(lanes[0] - right) <= 2e-6 * fabs(right) + 1e-6);
    }
}

static void baselines_are_found_by_name(void **state)
{
    (void)state;
    const char *variant = NULL;
    const ak_baseline_ops *ops = ak_baseline_find(&variant, "openblas:Haswell");
    assert_non_null(ops);
    assert_string_equal(variant, "Haswell");
    assert_true(ak_baseline_applies(ops, "matmul", AK_DTYPE_F32));
    assert_false(ak_baseline_applies(ops, "softmax", AK_DTYPE_F32));
    ops = ak_baseline_find(&variant, "onednn");
    assert_non_null(ops);
    assert_true(ak_baseline_applies(ops, "layernorm", AK_DTYPE_F32));
    assert_true(ak_baseline_applies(ops, "reduce", AK_DTYPE_F32));
    assert_false(ak_baseline_applies(ops, "rmsnorm", AK_DTYPE_F32));
    assert_true(ak_baseline_applies(ops, "matmul_act", AK_DTYPE_BF16));
    assert_false(ak_baseline_applies(ops, "softmax", AK_DTYPE_BF16));
    assert_false(ak_baseline_applies(ops, "matmul", AK_DTYPE_F16));
    assert_string_equal(variant, "");
    assert_null(ak_baseline_find(&variant, "open"));
    assert_null(ak_baseline_find(&variant, "openblasx"));
    assert_null(ak_baseline_find(&variant, ""));
}

/* ---- compilers ----------------------------------------------------------------------------- */

static char artifact[AK_PATH_MAX], source[AK_PATH_MAX];

static ak_compile_result compile_with(const char *compiler, int64_t timeout_ns)
{
    static const char *const options[] = {"-std=gnu17", "-O1"};
    ak_compile_result result = {0};
    ak_error err = AK_ERROR_INIT;
    ak_compile_job job = {.source_path = source,
                          .compiler = compiler,
                          .argv = options,
                          .argc = 2,
                          .folder = fixture_folder,
                          .artifact = artifact,
                          .timeout_ns = timeout_ns,
                          .memory_max = (size_t)4 << 30};
    if (ak_host_compile(&result, &job, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    return result;
}

static void write_compiler(char *path, const char *body)
{
    assert_int_equal(ak_fs_join(path, fixture_folder, "compiler", NULL), AK_OK);
    fixture_write("compiler", body);
    assert_int_equal(chmod(path, 0700), 0);
}

static void use_source(const char *text)
{
    ak_buf whole = AK_BUF(1u << 20);
    assert_int_equal(ak_fs_join(source, fixture_folder, "source.c", NULL), AK_OK);
    assert_int_equal(ak_fs_join(artifact, fixture_folder, "artifact.so", NULL), AK_OK);
    assert_int_equal(ak_host_source(&whole, text, "kernel.c", NULL), AK_OK);
    assert_int_equal(ak_fs_write(source, whole.data, whole.length, NULL), AK_OK);
    ak_buf_free(&whole);
    ak_fs_remove(artifact);
}

static void a_compiler_may_fail_in_any_way(void **state)
{
    (void)state;
    char path[AK_PATH_MAX];
    use_source("void ak_kernel(const ak_host_call *call)\n{\n    call->nonsense;\n}\n");
    ak_compile_result result = compile_with(NULL, 60 * AK_SECOND_NS);
    assert_int_equal(result.status, AK_TRIAL_COMPILE_ERROR);
    assert_non_null(strstr(result.reason, "kernel.c:3:")); /* as in the author's file */
    assert_null(strchr(result.reason, '\n'));
    ak_compile_result_clear(&result);

    write_compiler(path, "#!/bin/sh\n[ $# = 1 ] && exit\nsleep 1000\n"); /* it has a version */
    result = compile_with(path, AK_SECOND_NS / 5);
    assert_int_equal(result.status, AK_TRIAL_TIMED_OUT);
    assert_non_null(strstr(result.reason, "longer than 1 s")); /* it used no processor time */
    ak_compile_result_clear(&result);

    write_compiler(path, "#!/bin/sh\nexit 0\n");
    result = compile_with(path, 60 * AK_SECOND_NS);
    assert_int_equal(result.status, AK_TRIAL_COMPILE_ERROR);
    assert_non_null(strstr(result.reason, "no output"));
    ak_compile_result_clear(&result);

    write_compiler(path,
                   "#!/bin/sh\nprintf 'a\\033[31m\\377\\nx.c:1: error: \\001bad\\n'; exit 1\n");
    result = compile_with(path, 60 * AK_SECOND_NS);
    assert_int_equal(result.status, AK_TRIAL_COMPILE_ERROR);
    assert_string_equal(result.reason, "x.c:1: error: ?bad");
    assert_string_equal(result.log, "a?[31m?\nx.c:1: error: ?bad\n");
    ak_compile_result_clear(&result);

    write_compiler(path, "#!/bin/sh\necho 'cc1: out of memory allocating 1 bytes'; exit 1\n");
    result = compile_with(path, 60 * AK_SECOND_NS);
    assert_int_equal(result.status, AK_TRIAL_OUT_OF_MEMORY);
    ak_compile_result_clear(&result);

    write_compiler(path, "#!/bin/sh\nkill -SEGV $$\n");
    result = compile_with(path, 60 * AK_SECOND_NS);
    assert_int_equal(result.status, AK_TRIAL_COMPILE_ERROR);
    assert_non_null(strstr(result.reason, "signal 11"));
    ak_compile_result_clear(&result);

    write_compiler(path, "#!/bin/sh\n[ $# = 1 ] && exit\n"
                         "while :; do echo flood flood flood flood flood; done\n");
    result = compile_with(path, AK_SECOND_NS / 5);
    assert_int_equal(result.status, AK_TRIAL_TIMED_OUT);
    assert_true(strlen(result.log) <= 65536);
    ak_compile_result_clear(&result);
}

/* Returns how often the compiler has run. It records this beside the artifact, the only place where
   it may write. */
static size_t runs(void)
{
    char *text = NULL;
    size_t length = 0;
    char path[AK_PATH_MAX];
    assert_int_equal(ak_fs_join(path, fixture_folder, "runs", NULL), AK_OK);
    assert_int_equal(ak_fs_read(&text, &length, path, 1000, NULL), AK_OK);
    ak_free(text);
    return length;
}

/* Compiles, with the compiler or from the cache, and gives the hash of the artifact. */
static void compile_well(char hash[AK_HASH_BYTES], const char *compiler)
{
    ak_fs_remove(artifact);
    ak_compile_result result = compile_with(compiler, 60 * AK_SECOND_NS);
    assert_int_equal(result.status, AK_TRIAL_OK);
    assert_string_equal(result.log, "look: a note\n");
    assert_true(result.compile_ns > 0);
    assert_true(ak_fs_is_file(artifact));
    (void)snprintf(hash, AK_HASH_BYTES, "%s", result.artifact_hash);
    ak_compile_result_clear(&result);
}

static void what_was_compiled_is_kept(void **state)
{
    (void)state;
    static const char *const body = "#!/bin/sh\n%s"
                                    "[ $# = 1 ] && exec gcc --version\n"
                                    "echo look: a note\nprintf x >>\"$TMPDIR/runs\"\n"
                                    "exec gcc \"$@\"\n";
    char path[AK_PATH_MAX], cache[AK_PATH_MAX], text[300], first[AK_HASH_BYTES],
        again[AK_HASH_BYTES];
    char *before = ak_strdup(getenv("XDG_CACHE_HOME"));
    assert_int_equal(ak_fs_join(cache, fixture_folder, "cache", NULL), AK_OK);
    (void)setenv("XDG_CACHE_HOME", cache, 1);
    (void)snprintf(text, sizeof text, body, "");
    write_compiler(path, text);
    use_source("void ak_kernel(const ak_host_call *c)\n{\n    *(float *)c->arg[0] = 1;\n}\n");
    compile_well(first, path);
    assert_int_equal(runs(), 1);
    compile_well(again, path);
    assert_int_equal(runs(), 1);
    assert_string_equal(first, again);

    /* Other code, another compiler of this name and other headers are compiled. */
    use_source("void ak_kernel(const ak_host_call *c)\n{\n    *(float *)c->arg[0] = 2;\n}\n");
    compile_well(again, path);
    assert_int_equal(runs(), 2);
    assert_string_not_equal(first, again);
    (void)snprintf(text, sizeof text, body, "# another\n");
    write_compiler(path, text);
    compile_well(again, path);
    assert_int_equal(runs(), 3);
    (void)setenv("CPATH", "/usr/include", 1);
    compile_well(again, path);
    (void)unsetenv("CPATH");
    assert_int_equal(runs(), 4);
    compile_well(again, path);
    assert_int_equal(runs(), 4);

    /* What failed, and where nothing can be kept. */
    use_source("void ak_kernel(const ak_host_call *c)\n{\n    nonsense;\n}\n");
    for (size_t n = 5; n <= 6; n++) {
        ak_compile_result result = compile_with(path, 60 * AK_SECOND_NS);
        assert_int_equal(result.status, AK_TRIAL_COMPILE_ERROR);
        assert_int_equal(runs(), n);
        ak_compile_result_clear(&result);
    }
    (void)setenv("XDG_CACHE_HOME", "/dev/null", 1);
    use_source("void ak_kernel(const ak_host_call *c)\n{\n    *(float *)c->arg[0] = 2;\n}\n");
    compile_well(again, path);
    compile_well(again, path);
    assert_int_equal(runs(), 8);
    (void)(before == NULL ? unsetenv("XDG_CACHE_HOME") : setenv("XDG_CACHE_HOME", before, 1));
    ak_free(before);
}

/* A source has the assembler read a file. */
static void is_rejected_for_reading(const char *compiler, const char *assembly, const char *path)
{
    char text[AK_PATH_MAX + 300];
    assert_int_equal(ak_fs_write(path, "12345678", 8, NULL), AK_OK);
    (void)snprintf(text, sizeof text,
                   "#define PASTE(x, y) x##y\n"
                   "%s(\".section .rodata\\n.inc\" \"bin \\\"%s\\\"\\n.text\");\n"
                   "void ak_kernel(const ak_host_call *c)\n{\n    (void)c;\n}\n",
                   assembly, path);
    use_source(text);
    ak_compile_result result = compile_with(compiler, 60 * AK_SECOND_NS);
    assert_int_equal(result.status, AK_TRIAL_REJECTED);
    assert_non_null(strstr(result.reason, ".incbin"));
    ak_compile_result_clear(&result);
    assert_int_equal(unlink(path), 0);
}

/* A source asks whether a file is there. */
static void is_not_kept_for_asking(const char *compiler, const char *asks, const char *path)
{
    char text[AK_PATH_MAX + 300], first[AK_HASH_BYTES];
    (void)snprintf(text, sizeof text,
                   "#define PASTE(x, y) x##y\n"
                   "void ak_kernel(const ak_host_call *c)\n{\n#if %s(\"%s\")\n"
                   "    *(float *)c->arg[0] = 1;\n#endif\n    (void)c;\n}\n",
                   asks, path);
    use_source(text);
    ak_compile_result result = compile_with(compiler, 60 * AK_SECOND_NS);
    assert_int_equal(result.status, AK_TRIAL_OK);
    memcpy(first, result.artifact_hash, sizeof first);
    ak_compile_result_clear(&result);
    assert_int_equal(ak_fs_write(path, "", 0, NULL), AK_OK);
    result = compile_with(compiler, 60 * AK_SECOND_NS);
    assert_string_not_equal(first, result.artifact_hash);
    ak_compile_result_clear(&result);
    assert_int_equal(unlink(path), 0);
}

/* A file that the assembler reads is named by no list of headers, so nothing would notice when it
   changes. A file that is asked for may appear, and so may a header in an earlier folder. */
static void nothing_is_read_unnoticed(void **state)
{
    (void)state;
    static const char *const compilers[] = {"gcc", "cc", "clang"};
    char path[AK_PATH_MAX];
    assert_int_equal(ak_fs_join(path, fixture_folder, "read", NULL), AK_OK);
    for (size_t i = 0; i < sizeof compilers / sizeof compilers[0]; i++) {
        if (ak_host_available(NULL, compilers[i])) {
            is_rejected_for_reading(compilers[i], "__asm__", path);
            is_rejected_for_reading(compilers[i], "PASTE(__a, sm__)", path);
            is_not_kept_for_asking(compilers[i], "__has_include", path);
            is_not_kept_for_asking(compilers[i], "PASTE(__has_inc, lude)", path);
            is_not_kept_for_asking(compilers[i], "__has_\\\ninclude", path);
        }
    }
}

static void a_missing_compiler_is_said(void **state)
{
    (void)state;
    char *kept = ak_strdup(getenv("PATH"));
    const char *compiler = NULL;
    ak_error err = AK_ERROR_INIT;
    (void)setenv("PATH", fixture_folder, 1);
    assert_int_equal(ak_host_compiler(&compiler, &err), AK_UNAVAILABLE);
    assert_string_equal(err.text,
                        "no C compiler was found in PATH: install gcc or clang, or add its "
                        "folder to PATH");
    assert_false(ak_host_available(NULL, "gcc"));
    (void)setenv("PATH", kept, 1);
    ak_free(kept);
}

static void a_compiler_without_a_version_is_not_available(void **state)
{
    (void)state;
    char path[AK_PATH_MAX], version[64], again[64];
    static const char mute[] = "#!/bin/sh\nexit 1\n", good[] = "#!/bin/sh\necho compiler $$\n";
    assert_int_equal(ak_fs_join(path, fixture_folder, "some-compiler", NULL), AK_OK);
    assert_int_equal(ak_fs_write(path, good, strlen(good), NULL), AK_OK);
    assert_int_equal(chmod(path, 0755), 0);
    assert_true(ak_host_available(NULL, path));
    ak_host_compiler_version(version, sizeof version, path, NULL);
    ak_host_compiler_version(again, sizeof again, path, NULL);
    assert_string_equal(version, again); /* it is asked once: $$ is another number each time */
    assert_int_equal(ak_fs_write(path, mute, strlen(mute), NULL), AK_OK);
    assert_int_equal(chmod(path, 0755), 0);
    assert_false(ak_host_available(NULL, path));
}

/* A compiler whose version was killed, or did not come in time, is not taken for another one: its
   name says what it is, and no result is archived that does not know its compiler. */
static void a_compiler_that_does_not_answer_is_not_guessed(void **state)
{
    (void)state;
    ak_error err = AK_ERROR_INIT;
    char path[AK_PATH_MAX], version[64], *kept = ak_strdup(getenv("PATH"));
    static const char silent[] = "#!/bin/sh\n[ \"$1\" = --version ] && kill -KILL $$\n"
                                 "PATH=/usr/bin:/bin\nexec clang \"$@\"\n";
    json_t *environment = NULL;
    const bool clang = ak_host_available(NULL, "clang");
    assert_int_equal(ak_fs_join(path, fixture_folder, "clang", NULL), AK_OK);
    assert_int_equal(ak_fs_write(path, silent, strlen(silent), NULL), AK_OK);
    assert_int_equal(chmod(path, 0755), 0);
    assert_false(ak_host_compiler_version(version, sizeof version, path, NULL));
    assert_true(ak_host_available(NULL, path));
    if (clang) {
        use_source("void ak_kernel(const ak_host_call *c)\n{\n    (void)c;\n}\n");
        ak_compile_result result = compile_with(path, 60 * AK_SECOND_NS);
        assert_int_equal(result.status, AK_TRIAL_OK);
        ak_compile_result_clear(&result);
    }
    (void)setenv("PATH", fixture_folder, 1);
    assert_int_equal(ak_host_environment(&environment, "host", &err), AK_UNAVAILABLE);
    assert_non_null(strstr(err.text, "'clang --version' gave no answer within 30 s"));
    (void)setenv("PATH", kept, 1);
    assert_int_equal(unlink(path), 0);
    ak_free(kept);
}

/* Nor is a compiler that cannot be started for want of files taken for one that is missing. */
static void a_compiler_that_cannot_be_started_is_there(void **state)
{
    (void)state;
    char path[AK_PATH_MAX], version[64];
    static const char good[] = "#!/bin/sh\necho compiler\n";
    struct rlimit kept;
    assert_int_equal(ak_fs_join(path, fixture_folder, "rare-compiler", NULL), AK_OK);
    assert_int_equal(ak_fs_write(path, good, strlen(good), NULL), AK_OK);
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &kept), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, kept.rlim_max}), 0);
    const bool there = ak_host_available(NULL, path);
    const bool answered = ak_host_compiler_version(version, sizeof version, path, NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &kept), 0);
    assert_true(there);
    assert_false(answered);
    assert_true(ak_host_compiler_version(version, sizeof version, path, NULL));
    assert_string_equal(version, "compiler");
}

/* Memory is measured with arrays beyond the caches of all threads, and caches with what each thread
   has for itself, on machines of every size. */
static void ceilings_are_measured_on_enough(void **state)
{
    enum { KIB = 1 << 10, MIB = 1 << 20 };
    static const struct {
        int64_t l2, l3;
        int last_count, threads;
        int64_t memory_mib, given_mib, array_mib; /* of all threads together; 0: more than enough */
    } sample[] = {
        {MIB, 32 * MIB, 1, 2, 8 << 10, 0, 64},          /* twice the last-level cache */
        {MIB, 4 * MIB, 1, 2, 8 << 10, 0, 32},           /* the least */
        {2 * MIB, 260 * MIB, 1, 4, 64 << 10, 0, 256},   /* the most for few threads */
        {MIB, 32 * MIB, 16, 1, 512 << 10, 0, 64},       /* a thread has one of 16 */
        {MIB, 32 * MIB, 16, 128, 512 << 10, 0, 1024},   /* 512 MiB of last-level caches */
        {MIB, 96 * MIB, 24, 384, 1024 << 10, 0, 4608},  /* 2.25 GiB of them */
        {MIB, 32 * MIB, 24, 384, 8 << 10, 0, 512},      /* little memory */
        {2 * MIB, 30 * MIB, 2, 128, 512 << 10, 0, 512}, /* the level 2 caches are larger */
        {4 * MIB, 108 * MIB, 2, 288, 64, 0, 0},         /* hardly any memory */
        {MIB, 32 * MIB, 1, 1, 8 << 10, 8, 8},           /* as asked */
        {MIB, 32 * MIB, 16, 128, 512 << 10, 8, 0},      /* asked for too little */
    };
    (void)state;
    for (size_t i = 0; i < sizeof sample / sizeof sample[0]; i++) {
        const ak_host_caches caches = {.bytes = {0, 32 * KIB, sample[i].l2, sample[i].l3},
                                       .last_count = sample[i].last_count,
                                       .memory_bytes = sample[i].memory_mib * MIB};
        const int64_t part =
            (int64_t)ak_host_ceiling_part(&caches, sample[i].threads, sample[i].given_mib * MIB) *
            (int64_t)sizeof(float);
        const int64_t all = part * sample[i].threads;
        assert_true(part >= sample[i].l2 / 4 && part % 128 == 0);
        if (sample[i].array_mib > 0) {
            assert_true(all <= sample[i].array_mib * MIB);
            assert_true(all > sample[i].array_mib * MIB - sample[i].threads * 128);
        } else {
            assert_int_equal(part, sample[i].l2 / 4);
        }
    }
    assert_int_equal(ak_host_count_listed("0-7,64-71\n"), 16);
    assert_int_equal(ak_host_count_listed("3"), 1);
    assert_int_equal(ak_host_count_listed(""), 0);
    assert_int_equal(ak_host_count_listed("5-2,9999999999999,x"), 0);
    ak_host_caches here;
    ak_host_caches_find(&here);
    assert_true(here.bytes[1] > 0 && here.bytes[3] > 0 && here.last_count >= 1);
    assert_true(here.memory_bytes > 0);
}

/* A kernel of bytes may use dot products, so the most that the processor can do with bytes is not
   what it can do with floats: four times as much here, by the processor time of the same loop. */
static void bytes_have_a_ceiling_of_their_own(void **state)
{
    (void)state;
#if defined(__x86_64__)
    ak_ceilings floats = {0}, bytes = {0};
    if (__builtin_cpu_supports("avx512vnni")) {
        (void)setenv("AUTOKERNEL_CEILING_MIB", "1", 1);
        assert_int_equal(ak_host_ceilings(&floats, AK_DTYPE_F32, 1, NULL), AK_OK);
        assert_int_equal(ak_host_ceilings(&bytes, AK_DTYPE_I8, 1, NULL), AK_OK);
        assert_true(bytes.peak_tflops > 1.5 * floats.peak_tflops);
        return;
    }
#endif
    skip();
}

static void equal_code_has_equal_hashes(void **state)
{
    (void)state;
    char first[AK_HASH_BYTES];
    use_source("void ak_kernel(const ak_host_call *c)\n{\n    *(float *)c->arg[0] = 1.5f;\n}\n");
    ak_compile_result result = compile_with(NULL, 60 * AK_SECOND_NS);
    assert_int_equal(result.status, AK_TRIAL_OK);
    assert_null(result.reason);
    memcpy(first, result.artifact_hash, sizeof first);
    ak_compile_result_clear(&result);
    use_source("/* other text */ void ak_kernel(const ak_host_call *call)\n"
               "{\n    *(float *)call->arg[0] = 3.0f / 2.0f;\n}\n");
    assert_int_equal(ak_fs_join(artifact, fixture_folder, "elsewhere.so", NULL), AK_OK);
    result = compile_with(NULL, 60 * AK_SECOND_NS);
    assert_string_equal(result.artifact_hash, first);
    ak_compile_result_clear(&result);
    use_source("void ak_kernel(const ak_host_call *c)\n{\n    *(float *)c->arg[0] = 1.25f;\n}\n");
    result = compile_with(NULL, 60 * AK_SECOND_NS);
    assert_string_not_equal(result.artifact_hash, first);
    ak_compile_result_clear(&result);
}

/* Compiles `text` with WHICH defined as a digit, and gives the hash of the artifact. */
static void hash_of(char out[AK_HASH_BYTES], const char *text, char which)
{
    char defined[1024];
    (void)snprintf(defined, sizeof defined, "#define WHICH %c\n%s", which, text);
    use_source(defined);
    ak_compile_result result = compile_with(NULL, 60 * AK_SECOND_NS);
    if (result.status != AK_TRIAL_OK) {
        fail_msg("%s", result.reason);
    }
    (void)snprintf(out, AK_HASH_BYTES, "%s", result.artifact_hash);
    ak_compile_result_clear(&result);
}

/* The hash of an artifact covers every section that is loaded, and the header of the file. */
static void other_code_has_another_hash_wherever_it_lies(void **state)
{
    (void)state;
    static const char *const places[] = {
        "__attribute__((noinline, section(\".kernel\"))) static float two(float x)\n"
        "{\n    return x * (WHICH + 2);\n}\n",
        "__attribute__((section(\".table,\\\"a\\\"#\"))) static const float table[] = {WHICH};\n"
        "static float two(float x)\n{\n"
        "    const float *volatile t = table;\n    return x * *t;\n}\n",
        "extern const char note[] __attribute__((visibility(\"hidden\")));\n"
        "__asm__(\".section .note.mine,\\\"a\\\",@note\\n.long 4, 4, 3\\n\"\n"
        "        \".asciz \\\"GNU\\\"\\n.globl note\\n.hidden note\\nnote: .long \" TEXT(WHICH) "
        "\"\\n.text\");\n"
        "static float two(float x)\n{\n    return x * note[0];\n}\n",
    };
    char first[AK_HASH_BYTES], second[AK_HASH_BYTES], text[1024];
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        (void)snprintf(text, sizeof text,
                       "#define TEXT_OF(x) #x\n#define TEXT(x) TEXT_OF(x)\n%s"
                       "void ak_kernel(const ak_host_call *c)\n"
                       "{\n    *(float *)c->arg[0] = two(*(float *)c->arg[0]);\n}\n",
                       places[i]);
        hash_of(first, text, '1');
        hash_of(second, text, '2');
        assert_string_not_equal(first, second);
        hash_of(second, text, '1');
        assert_string_equal(first, second);
    }
}

/* ---- what a kernel may call ---------------------------------------------------------------- */

static void mathematics_is_callable(void **state)
{
    (void)state;
    static const char *const good[] = {"j0f",
                                       "jn",
                                       "y0",
                                       "ynl",
                                       "csinhf",
                                       "ctan",
                                       "cacos",
                                       "cprojl",
                                       "clog10f",
                                       "fegetenv",
                                       "fesetenv",
                                       "feraiseexcept",
                                       "sinf",
                                       "sinl",
                                       "sinf64",
                                       "sinf32x",
                                       "expf128",
                                       "faddl",
                                       "f32addf64",
                                       "f64xmulf128",
                                       "fma",
                                       "fmaximum_numf",
                                       "nextup",
                                       "lgamma",
                                       "lgammaf_r",
                                       "lgammaf128_r",
                                       "__lgamma_r_finite",
                                       "__expf_finite",
                                       "__exp_finite",
                                       "__fpclassifyf",
                                       "__signbitl",
                                       "_ZGVdN8v_sinf",
                                       "_ZGVeN16vv_powf",
                                       "llroundf",
                                       "totalorderf",
                                       "memcpy",
                                       "strchr",
                                       "strtok_r",
                                       "strtod",
                                       "strtol",
                                       "__isoc23_strtol",
                                       "qsort_r",
                                       "__strcpy_chk",
                                       "aligned_alloc",
                                       "imaxdiv"};
    static const char *const bad[] = {"rand",
                                      "random",
                                      "drand48",
                                      "strtok",
                                      "strerror",
                                      "setlocale",
                                      "signgam",
                                      "__signgam",
                                      "matherr",
                                      "getenv",
                                      "system",
                                      "syscall",
                                      "dlopen",
                                      "printf",
                                      "fopen",
                                      "time",
                                      "clock",
                                      "pthread_create",
                                      "mmap",
                                      "sin_",
                                      "f",
                                      "l",
                                      "_r",
                                      "sin_r",
                                      "strlenf",
                                      "fopenf",
                                      "addf",
                                      "signal",
                                      "__errno_location",
                                      "environ",
                                      "_finite",
                                      "___finite"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        if (!ak_host_elf_callable(good[i])) {
            fail_msg("%s is refused", good[i]);
        }
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (ak_host_elf_callable(bad[i])) {
            fail_msg("%s is accepted", bad[i]);
        }
    }
    use_source("#define _GNU_SOURCE\n#include <complex.h>\n#include <fenv.h>\n#include <math.h>\n"
               "void ak_kernel(const ak_host_call *c)\n{\n"
               "    fenv_t kept;\n    float *x = c->arg[0];\n    int sign;\n"
               "    fegetenv(&kept);\n    fesetround(FE_UPWARD);\n"
               "    x[0] = j0f(x[0]) + (float)jn(2, x[1]) + crealf(csinhf(x[2]));\n"
               "    x[1] = (float)creal(ctan(x[0])) + (float)cimag(cacos(x[1]));\n"
               "    x[2] = lgammaf_r(x[2], &sign);\n"
               "    fesetenv(&kept);\n}\n");
    ak_compile_result result = compile_with(NULL, 60 * AK_SECOND_NS);
    if (result.status != AK_TRIAL_OK) {
        fail_msg("%s", result.reason);
    }
    ak_compile_result_clear(&result);
}

/* If the compiler calls a library function that is not allowed, the message names the source's
   construct that needs it. */
static void additions_are_explained(void **state)
{
    (void)state;
    static const char *const parts[][2] = {
        {"    if (__builtin_cpu_supports(\"avx2\")) {\n        x[0] = 1;\n    }\n",
         "__builtin_cpu_supports"},
        {"    _Decimal64 s = 0;\n    for (int i = 0; i < 9; i++) {\n"
         "        s += (_Decimal64)x[i];\n    }\n    x[0] = (float)s;\n",
         "_Decimal64"}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char text[600];
        (void)snprintf(text, sizeof text,
                       "void ak_kernel(const ak_host_call *c)\n{\n    float *x = c->arg[0];\n%s}\n",
                       parts[i][0]);
        use_source(text);
        ak_compile_result result = compile_with(NULL, 60 * AK_SECOND_NS);
        assert_int_equal(result.status, AK_TRIAL_REJECTED);
        if (strstr(result.reason, parts[i][1]) == NULL || strstr(result.reason, "libgcc") == NULL) {
            fail_msg("%s", result.reason);
        }
        ak_compile_result_clear(&result);
    }
}

/* A source with marks like those of the preprocessor could hide what follows them as a header of
   the compiler, however the marks are spelled: what it needs then counts as unknown. */
static void forged_marks_are_found(void **state)
{
    (void)state;
    static const char *const forged[] = {"# 1 \"/usr/lib/gcc/x.h\" 3\n",
                                         "%: 1 \"x\" 3\n",
                                         "?\?=1 \"x\" 3\n",
                                         "#\\\n 1 \"x\" 3\n",
                                         "# \\ \t\n1 \"x\" 3\n",
                                         "#\\\r\n1 \"x\" 3\n",
                                         "# ?\?/\n 1 \"x\" 3\n",
                                         "#?\?/ \n1 \"x\" 3\n",
                                         "%\\\n: 1 \"x\" 3\n",
                                         "%?\?/ \n:\\\n1 \"x\" 3\n",
                                         "#/**/1 \"x\" 3\n",
                                         "#/\\\n* c *\\\n/1 \"x\" 3\n",
                                         "#/?\?/\n**?\?/\n/1 \"x\" 3\n",
                                         "#\f\v 1 \"x\" 3\n",
                                         "#\\\r1 \"x\" 3\n",
                                         "# /* *?\?/\n/ */ 1 \"x\" 3\n"};
    static const char *const plain[] = {"#define A(a) a##1\n#if 1 % 2\n#endif\n",
                                        "#\n#pragma once\n", "int x = 5 %2, y = 5 / 1;\n",
                                        "#define B \\\n 1\n// # ?\?/ one\n"};
    for (size_t i = 0; i < sizeof forged / sizeof forged[0]; i++) {
        ak_host_targets targets;
        assert_int_equal(ak_host_targets_of(&targets, forged[i], "", NULL), AK_OK);
        if (!targets.unknown) {
            fail_msg("not found: %s", forged[i]);
        }
        ak_host_targets_clear(&targets);
    }
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        ak_host_targets targets;
        assert_int_equal(ak_host_targets_of(&targets, plain[i], "", NULL), AK_OK);
        if (targets.unknown) {
            fail_msg("taken for a mark: %s", plain[i]);
        }
        ak_host_targets_clear(&targets);
    }
}

/* System calls are found in assembly as gcc and clang write it. */
static void system_calls_are_found_in_assembly(void **state)
{
    (void)state;
    char why[200];
    static const char *const calls[] = {
        "\t.text\nf:\n#APP\n# 3 \"host.c\" 1\n\tsyscall\n# 0 \"\" 2\n#NO_APP\n",
        "f:\tSYSCALL\n",
        "f: rep; syscall\n",
        "f: int $0x80\n",
        "f: sysenter\n",
        "f: .byte 0x0f, 0x05\n",
        "f: .LONG 0x9090050f\n",
        "f: .string \"\\017\\005\"\n",
        "f: .balignw 4, 0x050f\n",
        "f: .balign 4, 0x0f\n",
        "\t.data\n.macro m a\n\tsys\\a\n.endm\n\t.text\n\tm call\n",
        "\t.section .text,\"a\",@progbits\nt:\t.ascii \"\\017\\005\"\n",
        "\t.section mine,\"ax\"\n\tret\n\t.section mine\n\t.byte 15, 5\n",
        "\t.section .rodata,\"ax\"\n\tret\n\t.section .rodata\n\t.byte 15, 5\n",
        "\t.section .gnu.linkonce.t.f,\"a\",@progbits\n\t.byte 15, 5\n",
        "\t.section .gnu.warning,\"a\",@progbits\n\t.byte 15, 5\n",
        "\t.section .rodata\n\t.long 1\n\t.previous\n\t.byte 15, 5\n",
        "f:\n/*\n# 1 \"*/ syscall # \"\n\tret\n"};
    static const char *const fine[] = {
        "\t.file\t\"syscall.c\"\n\t.text\n\t.p2align 4,,10\n\t.globl\tf\n\t.type\tf, @function\n"
        "f:\n.LFB0:\n\t.cfi_startproc\n\tmovl\t$0x50f, %eax\n\tjmp\t.L5\n.L5:\n\tret\n"
        "\t.size\tf, .-f\n\t.section\t.rodata\n\t.align 4\n\t.long\t1295\n\t.string \"int "
        "syscall\"\n"
        "\t.ident\t\"GCC: (with int) 12\"\n\t.section\t.note.GNU-stack,\"\",@progbits\n",
        "\t.text\n\t.file\t0 \"/home/.int\" \"int\"\n\t.p2align\t4, 0x90\nf:    # @f\n\tretq\n"
        "\t.section\t.rodata.cst8,\"aM\",@progbits,8\n.LCPI0_0:\n\t.quad 0x50f\n"
        "\t.section\t\".note.GNU-stack\",\"\",@progbits\n\t.addrsig\n"};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (!ak_host_assembly_calls(why, sizeof why, calls[i], false)) {
            fail_msg("not found: %s", calls[i]);
        }
    }
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
        if (ak_host_assembly_calls(why, sizeof why, fine[i], false)) {
            fail_msg("%s: %s", why, fine[i]);
        }
    }
}

/* On ARM a number among the code could be jumped to, so one with the bytes of a system call is
   refused, and the message says which instruction has put it there. */
static void numbers_in_code_are_refused_on_arm(void **state)
{
    (void)state;
    char why[220];
    static const char *const calls[] = {"f:\n\tsvc 0\n",
                                        "f: SVC #0\n",
                                        "f:\n\tldr w0, =0xd4000001\n\tret\n",
                                        "f: ldr x0,=0xd4000001d4000001\n",
                                        "f: LDR q0 , \t= 5\n",
                                        "f: ldrsw x0, =0xd4000001\n",
                                        "f: ldr w0, /* a\n */ =0xd4000001\n",
                                        "f: ldr/**/w0, =0xd4000001\n",
                                        "f: ldr w0/**/, =0xd4000001\n",
                                        "f: b .LC0\n.LC0: .word 0xd4000001\n",
                                        "f: .inst 0xd4000001\n",
                                        "f: ldr w0, .LC0\n\t.ltorg\n"};
    static const char *const fine[] = {
        "\t.arch armv8-a\n\t.text\n\t.align 2\nf:\n\tldr\tw0, [x1, 8]\n\tldr\tq0, .LC0\n"
        "\tldrsw\tx2, [x0, w1, sxtw 2]\n\tldrb w3, [x1]\n\tret\n\t.section\t.rodata\n"
        ".LC0:\n\t.word\t0xd4000001\n",
        "\t.text\n\t.p2align\t2\nf:    // @f\n\tldr\tx8, [x0]   // 8-byte Folded Reload\n"
        ".LBB0_1:    // =>This Inner Loop Header: Depth=1\n\tret\n"};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (!ak_host_assembly_calls(why, sizeof why, calls[i], true)) {
            fail_msg("not found: %s", calls[i]);
        }
    }
    assert_true(ak_host_assembly_calls(why, sizeof why, calls[2], true));
    assert_non_null(strstr(why, "\"ldr ..., =\" in its assembly may have put them there"));
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
        if (ak_host_assembly_calls(why, sizeof why, fine[i], true)) {
            fail_msg("%s: %s", why, fine[i]);
        }
    }
}

/* A file of two segments with code, of `size` bytes from `offset` on; `second` 0: of only one. */
typedef struct image {
    Elf64_Ehdr head;
    Elf64_Phdr segments[2];
    unsigned char rest[3 * 65536];
} image;

static bool may_call(int machine, uint64_t offset, uint64_t size, uint64_t second, size_t length,
                     uint64_t place)
{
    static image file;
    static const unsigned char x86[] = {0x0f, 0x05}, arm[] = {0x01, 0x00, 0x00, 0xd4};
    memset(&file, 0, sizeof file);
    memcpy(file.head.e_ident, ELFMAG, SELFMAG);
    file.head.e_machine = (Elf64_Half)machine;
    file.head.e_phoff = offsetof(image, segments);
    file.head.e_phnum = second > 0 ? 2 : 1;
    file.segments[0] = (Elf64_Phdr){.p_type = PT_LOAD,
                                    .p_flags = PF_R | PF_X,
                                    .p_offset = offset,
                                    .p_vaddr = offset,
                                    .p_filesz = size};
    file.segments[1] = file.segments[0];
    file.segments[1].p_offset = file.segments[1].p_vaddr = second;
    unsigned char *bytes = (unsigned char *)&file;
    memcpy(bytes + place, machine == EM_AARCH64 ? arm : x86,
           machine == EM_AARCH64 ? sizeof arm : sizeof x86);
    return ak_host_elf_may_call(bytes, length);
}

/* Instructions are found to the last byte of what the loader maps with the code: of its pages. */
static void system_calls_are_found_at_the_edges(void **state)
{
    (void)state;
    const size_t all = sizeof(image);
    assert_true(may_call(EM_X86_64, 0x1000, 0x10, 0, all, 0x1000));
    assert_true(may_call(EM_X86_64, 0x1000, 0x10, 0, all, 0x100e));
    assert_true(may_call(EM_X86_64, 0x1000, 0x10, 0, all, 0x100f)); /* ends behind the segment */
    assert_true(may_call(EM_X86_64, 0x1000, 0x10, 0, all, 0x1ffe)); /* ends its page */
    assert_true(may_call(EM_X86_64, 0x1080, 0x10, 0, all, 0x1000)); /* begins its page */
    assert_true(may_call(EM_X86_64, 0x1000, 0x10, 0, 0x1010, 0x100e));
    assert_true(may_call(EM_X86_64, 0x1000, 0x1000, 0x2000, all, 0x1fff)); /* in two segments */
    assert_true(may_call(EM_X86_64, 0x1000, all, 0, all, 0x1000)); /* a segment beyond the file */
    assert_false(may_call(EM_X86_64, 0x1000, 0x10, 0, all, 0x2000));
    assert_false(may_call(EM_X86_64, 0x1000, 0x10, 0, all, 0x0ffe));
    assert_true(may_call(EM_AARCH64, 0x10000, 0x10, 0, all, 0x1000c));
    assert_true(may_call(EM_AARCH64, 0x10000, 0x10, 0, all, 0x1fffc));
    assert_false(may_call(EM_AARCH64, 0x10000, 0x10, 0, all, 0x10006)); /* no instruction there */
    assert_false(may_call(EM_AARCH64, 0x10000, 0x10, 0, all, 0x20000));
}

/* The bytes of a system call within numbers, distances or tables are not taken for one. */
static void numbers_are_no_system_calls(void **state)
{
    (void)state;
    static const char *const numbers[] = {"0x050f",     "0x050f050f", "0x00050f00",
                                          "0x00340f00", "0x80cd",     "0x1280cd34"};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char text[600], *file = NULL;
        size_t length;
        (void)snprintf(text, sizeof text,
                       "void ak_kernel(const ak_host_call *c)\n{\n    int *x = c->arg[0];\n"
                       "    for (int i = 0; i < 9; i++) {\n"
                       "        x[i] = x[i] == %s ? x[i + 9] ^ %s : %s;\n    }\n"
                       "    __asm__ volatile(\"nop\");\n}\n",
                       numbers[i], numbers[i], numbers[i]);
        use_source(text);
        ak_compile_result result = compile_with(NULL, 60 * AK_SECOND_NS);
        if (result.status != AK_TRIAL_OK) {
            fail_msg("%s: %s", numbers[i], result.reason);
        }
        assert_int_equal(ak_fs_read(&file, &length, artifact, 1u << 24, NULL), AK_OK);
        assert_true(ak_host_elf_may_call((unsigned char *)file, length));
        ak_free(file);
        ak_compile_result_clear(&result);
    }
    use_source("static const int t[] = {0x050f, (int)0xd4000001, 3, 4, 5, 6, 7, 8};\n"
               "void ak_kernel(const ak_host_call *c)\n{\n    int *x = c->arg[0];\n"
               "    x[0] = t[x[1] & 7];\n}\n");
    ak_compile_result result = compile_with(NULL, 60 * AK_SECOND_NS);
    char *file = NULL;
    size_t length;
    assert_int_equal(result.status, AK_TRIAL_OK);
    assert_int_equal(ak_fs_read(&file, &length, artifact, 1u << 24, NULL), AK_OK);
    assert_false(ak_host_elf_may_call((unsigned char *)file, length));
    ak_free(file);
    ak_compile_result_clear(&result);
}

/* An artifact with any damaged byte, or cut at any length, does no harm. */
static void damaged_artifacts_do_no_harm(void **state)
{
    (void)state;
    char *file = NULL, hash[AK_HASH_BYTES];
    size_t length = 0;
    use_source("void ak_kernel(const ak_host_call *c)\n{\n    (void)c;\n}\n");
    ak_compile_result result = compile_with(NULL, 60 * AK_SECOND_NS);
    ak_compile_result_clear(&result);
    assert_int_equal(ak_fs_read(&file, &length, artifact, 1u << 24, NULL), AK_OK);
    assert_true(ak_host_elf_hash(hash, (unsigned char *)file, length));
    for (size_t cut = 0; cut < length; cut += 97) {
        unsigned char *part = ak_alloc(cut + 1, 1); /* of its own, so that a sanitizer sees */
        memcpy(part, file, cut);
        (void)ak_host_elf_hash(hash, part, cut);
        ak_free(part);
    }
    size_t headers;
    memcpy(&headers, file + 40, sizeof headers); /* e_shoff */
    for (size_t i = 0; i < 64 + 30 * 64; i++) {
        size_t at = i < 64 ? i : headers + i - 64;
        if (at < length) {
            char kept = file[at];
            file[at] = (char)0xff;
            (void)ak_host_elf_hash(hash, (unsigned char *)file, length);
            file[at] = kept;
        }
    }
    assert_false(ak_host_elf_hash(hash, (const unsigned char *)"#!/bin/sh", 9));
    ak_free(file);
}

/* ---- the device ---------------------------------------------------------------------------- */

static void note_device(void *context, const char *device, const char *description)
{
    assert_string_equal(device, "host");
    assert_non_null(strstr(description, "CPU"));
    *(int *)context += 1;
}

static void the_device_is_known(void **state)
{
    (void)state;
    static const char *const names[] = {"cpu_threads", "vector_bytes", "vector_registers",
                                        "l1d_bytes",   "l2_bytes",     "l3_bytes"};
    int seen = 0;
    assert_int_equal(ak_host_probe(note_device, &seen, NULL), AK_OK);
    assert_int_equal(seen, 1);
    ak_scope *facts = ak_scope_new(NULL);
    int cpus = ak_host_cpus();
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(ak_host_facts(facts, "host", cpus + 1, &err), AK_INVALID);
    assert_non_null(strstr(err.text, "is more than this machine's"));
    assert_int_equal(ak_host_facts(facts, "host", cpus, NULL), AK_OK);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        ak_value value;
        assert_true(ak_scope_get(&value, facts, names[i]));
        assert_int_equal(value.type, AK_VALUE_INT);
        assert_true(value.as.integer > 0);
        assert_true(i != 0 || value.as.integer == cpus);
    }
    ak_scope_free(facts);
    json_t *environment = NULL;
    assert_int_equal(ak_host_environment(&environment, "host", NULL), AK_OK);
    assert_true(json_is_string(json_object_get(environment, "name")));
    assert_true(json_is_object(json_object_get(environment, "compilers")));
    json_decref(environment);
}

/* /proc/cpuinfo of a thousand processors has megabytes. What is read are whole lines, among them
   all of the first processor. */
static void many_processors_are_read_like_few(void **state)
{
    char folder[AK_PATH_MAX], path[AK_PATH_MAX], *got = NULL;
    ak_buf text = AK_BUF(8u << 20);
    (void)state;
    assert_int_equal(ak_fs_temp(folder, NULL), AK_OK);
    assert_int_equal(ak_fs_join(path, folder, "cpuinfo", NULL), AK_OK);
    for (int n = 0; n < 1000; n++) {
        if (n == 0 || n == 2 || n == 999) {
            assert_int_equal(ak_fs_write(path, text.data, text.length, NULL), AK_OK);
            assert_int_equal(ak_host_cpuinfo(&got, path, NULL), AK_OK);
            const size_t length = strlen(got);
            assert_memory_equal(got, text.data, length);
            assert_true(n > 2 ? length > 60000 : length == text.length);
            assert_true(length == 0 || got[length - 1] == '\n');
            ak_free(got);
        }
        ak_buf_print(&text, "processor\t: %d\nmodel name\t: A %0*d\nflags\t\t: %01500d\n\n", n,
                     n % 70 + 1, 0, 0);
    }
    assert_true(text.length > 1u << 20);
    ak_buf_free(&text);
    ak_fs_remove(folder);
}

static void devices_are_found_by_name(void **state)
{
    (void)state;
    const ak_backend_ops *backend = NULL;
    char device[64];
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(ak_backend_device(&backend, device, sizeof device, "auto", NULL), AK_OK);
    assert_string_equal(device, "host");
    assert_int_equal(ak_backend_device(&backend, device, sizeof device, NULL, NULL), AK_OK);
    assert_int_equal(ak_backend_device(&backend, device, sizeof device, "host", NULL), AK_OK);
    assert_ptr_equal(backend, &ak_host_ops);
    assert_int_equal(ak_backend_device(&backend, device, sizeof device, "host:1", &err),
                     AK_NOT_FOUND);
    assert_int_equal(ak_backend_device(&backend, device, sizeof device, "toaster", &err),
                     AK_NOT_FOUND);
    assert_non_null(strstr(err.text, "toaster"));
    assert_int_equal(ak_backend_find(&backend, "toaster", &err), AK_NOT_FOUND);
    assert_non_null(strstr(err.text, "host"));
}

static void the_block_is_bounded(void **state)
{
    (void)state;
    ak_task *task = fixture_task("100");
    ak_device *device = NULL;
    ak_error err = AK_ERROR_INIT;
    if (ak_host_ops.open(&device, task, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    char there[8] = "abcdefg", back[8] = "";
    assert_int_equal(ak_host_ops.reserve(device, 100, NULL), AK_OK);
    assert_int_equal(ak_host_ops.upload(device, 92, there, 8, NULL), AK_OK);
    assert_int_equal(ak_host_ops.upload(device, 93, there, 8, NULL), AK_INTERNAL);
    assert_int_equal(ak_host_ops.upload(device, SIZE_MAX, there, 8, NULL), AK_INTERNAL);
    assert_int_equal(ak_host_ops.download(back, device, 92, 8, NULL), AK_OK);
    assert_string_equal(back, there);
    assert_int_equal(ak_host_ops.reserve(device, 100000, NULL), AK_OK);
    assert_int_equal(ak_host_ops.download(back, device, 99992, 8, NULL), AK_OK);
    ak_host_ops.close(device);
    ak_task_close(task);
}

static void a_dead_runnable_stays_dead(void **state)
{
    (void)state;
    use_source(
        "void ak_kernel(const ak_host_call *c)\n{\n    __builtin_trap();\n    (void)c;\n}\n");
    ak_compile_result compiled = compile_with(NULL, 60 * AK_SECOND_NS);
    ak_compile_result_clear(&compiled);
    ak_task *task = fixture_task("100");
    ak_device *device = NULL;
    ak_runnable *runnable = NULL;
    ak_outcome outcome;
    assert_int_equal(ak_host_ops.open(&device, task, NULL), AK_OK);
    assert_int_equal(ak_host_ops.reserve(device, 4096, NULL), AK_OK);
    ak_load load = {.artifact = artifact};
    assert_int_equal(ak_host_ops.load(&runnable, device, &load, &outcome, NULL), AK_OK);
    assert_int_equal(outcome.status, AK_TRIAL_OK);
    size_t offset[] = {0, 1024};
    ak_launch launch = {.task = task,
                        .shape = &task->shape,
                        .offset = offset,
                        .threads = 1,
                        .iterations = 1,
                        .timeout_ns = 60 * AK_SECOND_NS};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ak_host_ops.launch(&outcome, runnable, &launch, NULL), AK_OK);
        assert_int_equal(outcome.status, AK_TRIAL_CRASHED);
    }
    ak_host_ops.unload(runnable);
    offset[1] = 4000; /* beyond the block */
    assert_int_equal(ak_host_ops.load(&runnable, device, &load, &outcome, NULL), AK_OK);
    assert_int_equal(ak_host_ops.launch(&outcome, runnable, &launch, NULL), AK_INTERNAL);
    ak_host_ops.unload(runnable);
    ak_host_ops.close(device);
    ak_task_close(task);
}

/* Keeps a processor busy until it is told to end. */
static void *be_busy(void *context)
{
    while (!atomic_load((atomic_bool *)context)) {
    }
    return NULL;
}

/* If there are more threads than processors, the worker, which reads the clock, often runs again
   long after the call has ended. That wait must not count as time of the call, which is about 0.3
   ms. */
static void waits_of_the_worker_are_no_time_of_a_call(void **state)
{
    (void)state;
    enum { CALLS = 40, BUSY_MAX = 64 };
    ak_task *task = fixture_task("1000000");
    ak_device *device = NULL;
    ak_runnable *runnable = NULL;
    ak_outcome outcome;
    use_source("void ak_kernel(const ak_host_call *c)\n{\n"
               "    for (volatile int i = 0; i < 600000; i++) {\n    }\n"
               "    *(float *)c->arg[1] = 1;\n}\n");
    ak_compile_result compiled = compile_with(NULL, 60 * AK_SECOND_NS);
    ak_compile_result_clear(&compiled);
    assert_int_equal(ak_host_ops.open(&device, task, NULL), AK_OK);
    assert_int_equal(ak_host_ops.reserve(device, 16 << 20, NULL), AK_OK);
    ak_load load = {.artifact = artifact};
    assert_int_equal(ak_host_ops.load(&runnable, device, &load, &outcome, NULL), AK_OK);
    size_t offset[] = {0, 8 << 20};
    ak_launch launch = {.task = task,
                        .shape = &task->shape,
                        .offset = offset,
                        .threads = 1,
                        .iterations = 1,
                        .unseen = true,
                        .timeout_ns = 60 * AK_SECOND_NS};
    pthread_t busy[BUSY_MAX];
    atomic_bool end = false;
    const int threads = 2 * ak_host_cpus() < BUSY_MAX ? 2 * ak_host_cpus() : BUSY_MAX;
    for (int i = 0; i < threads; i++) {
        assert_int_equal(pthread_create(&busy[i], NULL, be_busy, &end), 0);
    }
    int late = 0;
    for (int i = 0; i < CALLS; i++) {
        assert_int_equal(ak_host_ops.launch(&outcome, runnable, &launch, NULL), AK_OK);
        assert_int_equal(outcome.status, AK_TRIAL_OK);
        late += outcome.waits_known && outcome.ns - outcome.waited_ns > 2 * AK_MS_NS ? 1 : 0;
    }
    atomic_store(&end, true);
    for (int i = 0; i < threads; i++) {
        assert_int_equal(pthread_join(busy[i], NULL), 0);
    }
    assert_true(late <= CALLS / 20);
    ak_host_ops.unload(runnable);
    ak_host_ops.close(device);
    ak_task_close(task);
}

/* What an empty batch takes is subtracted from each batch, so it must not hold the waits that other
   programs cause, which last milliseconds. Half of the values may: a busy machine can spoil all
   empty batches of an opening. */
static void waits_are_not_subtracted_from_batches(void **state)
{
    (void)state;
    enum { OPENINGS = 4, PER_PROCESSOR = 5, BUSY_MAX = 64 };
    ak_task *task = fixture_task("100");
    pthread_t busy[BUSY_MAX];
    atomic_bool end = false;
    int slow = 0;
    const int all = PER_PROCESSOR * ak_host_cpus(), threads = all < BUSY_MAX ? all : BUSY_MAX;
    for (int i = 0; i < threads; i++) {
        assert_int_equal(pthread_create(&busy[i], NULL, be_busy, &end), 0);
    }
    for (int i = 0; i < OPENINGS; i++) {
        ak_device *device = NULL;
        assert_int_equal(ak_host_ops.open(&device, task, NULL), AK_OK);
        for (int k = 0; k < 2; k++) {
            slow += device->roundtrip_ns[k] >= AK_MS_NS ? 1 : 0;
        }
        ak_host_ops.close(device);
    }
    atomic_store(&end, true);
    for (int i = 0; i < threads; i++) {
        assert_int_equal(pthread_join(busy[i], NULL), 0);
    }
    assert_true(slow <= OPENINGS);
    ak_task_close(task);
}

/* A runner in which nothing is loaded shows what calls cost besides their work. The worker keeps
   away from a candidate's processors while it polls, so that runner must be on them, too. */
static void what_is_not_loaded_runs_where_candidates_do(void **state)
{
    (void)state;
    ak_task *task = fixture_task("100");
    ak_device *device = NULL;
    ak_runnable *runnable = NULL;
    ak_outcome outcome;
    cpu_set_t all, its;
    size_t first = 0;
    const size_t offset[] = {0, 1024};
    const ak_launch launch = {.task = task,
                              .shape = &task->shape,
                              .offset = offset,
                              .threads = 1,
                              .iterations = 1,
                              .timeout_ns = 60 * AK_SECOND_NS};
    assert_int_equal(ak_host_ops.open(&device, task, NULL), AK_OK);
    assert_int_equal(ak_host_ops.reserve(device, 4096, NULL), AK_OK);
    assert_int_equal(ak_host_ops.load(&runnable, device, &(ak_load){0}, &outcome, NULL), AK_OK);
    assert_int_equal(ak_host_ops.launch(&outcome, runnable, &launch, NULL), AK_OK);
    assert_int_equal(outcome.status, AK_TRIAL_OK);
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    assert_int_equal(sched_getaffinity(runnable->proc.pid, sizeof its, &its), 0);
    while (!CPU_ISSET(first, &all)) {
        first++;
    }
    assert_true(CPU_COUNT(&its) == 1 && CPU_ISSET(first, &its));
    ak_host_ops.unload(runnable);
    ak_host_ops.close(device);
    ak_task_close(task);
}

static void what_is_no_artifact_is_not_loaded(void **state)
{
    (void)state;
    fixture_write("fake.so", "this is not a shared object\n");
    ak_task *task = fixture_task("100");
    ak_device *device = NULL;
    ak_outcome outcome;
    assert_int_equal(ak_host_ops.open(&device, task, NULL), AK_OK);
    static const char *const names[] = {"fake.so", "missing.so"};
    for (size_t i = 0; i < 2; i++) {
        char path[AK_PATH_MAX];
        ak_runnable *runnable = NULL;
        assert_int_equal(ak_fs_join(path, fixture_folder, names[i], NULL), AK_OK);
        ak_load load = {.artifact = path};
        assert_int_equal(ak_host_ops.load(&runnable, device, &load, &outcome, NULL), AK_OK);
        assert_int_equal(outcome.status, AK_TRIAL_LAUNCH_ERROR);
        assert_true(outcome.reason[0] != 0);
        ak_host_ops.unload(runnable);
    }
    ak_host_ops.close(device);
    ak_task_close(task);
}

/* ---- energy -------------------------------------------------------------------------------- */

/* Writes a file of a powercap folder; NULL removes it. */
static void put(const char *folder, const char *package, const char *file, const char *text)
{
    char path[AK_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", folder, package);
    assert_int_equal(ak_fs_mkdirs(path, NULL), AK_OK);
    (void)snprintf(path, sizeof path, "%s/%s/%s", folder, package, file);
    if (text == NULL) {
        ak_fs_remove(path);
    } else {
        assert_int_equal(ak_fs_write(path, text, strlen(text), NULL), AK_OK);
    }
}

/* Reads the energy counter and returns millionths of its value; -1 if it fails, with the reason in
 *err. */
static double read_energy(ak_host_energy *energy, ak_error *err)
{
    double joules = 0;
    return ak_host_energy_read(&joules, energy, err) == AK_OK ? joules * 1e6 : -1;
}

static void energy_is_that_of_all_packages(void **state)
{
    char folder[AK_PATH_MAX];
    ak_host_energy energy = {0};
    ak_error err = AK_ERROR_INIT;
    (void)state;
    assert_int_equal(ak_fs_temp(folder, NULL), AK_OK);
    (void)setenv("AUTOKERNEL_POWERCAP", folder, 1);
    assert_true(read_energy(&energy, &err) == -1);
    assert_non_null(strstr(err.text, "has no package"));
    put(folder, "intel-rapl:0", "name", "package-0\n");
    assert_true(read_energy(&energy, &err) == -1);
    assert_non_null(strstr(err.text, "intel-rapl:0/energy_uj: No such file"));
    put(folder, "intel-rapl:0", "energy_uj", "100\n");
    put(folder, "intel-rapl:1", "name", "psys\n");
    put(folder, "intel-rapl:1", "energy_uj", "7\n");
    put(folder, "intel-rapl:2", "name", "package-1\n");
    put(folder, "intel-rapl:2", "energy_uj", "900\n");
    assert_true(read_energy(&energy, &err) == 0);
    put(folder, "intel-rapl:0", "energy_uj", "150\n");
    put(folder, "intel-rapl:1", "energy_uj", "7000\n");
    put(folder, "intel-rapl:2", "energy_uj", "950\n");
    assert_float_equal(read_energy(&energy, &err), 100, 1e-6);
    put(folder, "intel-rapl:2", "energy_uj", "20\n"); /* it began anew, at a value not known */
    assert_true(read_energy(&energy, &err) == -1);
    assert_non_null(strstr(err.text, "max_energy_range_uj"));
    energy = (ak_host_energy){0};
    put(folder, "intel-rapl:2", "max_energy_range_uj", "1000\n");
    assert_true(read_energy(&energy, &err) == 0);
    put(folder, "intel-rapl:2", "energy_uj", "10\n");
    assert_float_equal(read_energy(&energy, &err), 990, 1e-6);
    put(folder, "intel-rapl:0", "energy_uj", "much\n");
    assert_true(read_energy(&energy, &err) == -1);
    assert_non_null(strstr(err.text, "holds no number"));
    (void)unsetenv("AUTOKERNEL_POWERCAP");
    ak_fs_remove(folder);
}

/* No process remains after a Python baseline that fails. Its message is not examined. */
static void a_python_baseline_that_fails_leaves_no_process(void **state)
{
    ak_runner_page *page = ak_alloc(1, sizeof *page);
    const ak_baseline_setup setup = {.page = page, .block_fd = -1};
    ak_baseline *baseline = ak_alloc(1, ak_baseline_own_python.bytes);
    char version[64];
    (void)state;
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    (void)snprintf(page->artifact, sizeof page->artifact, "/none");
    assert_int_not_equal(
        ak_baseline_own_python.open(baseline, version, sizeof version, &setup, NULL), AK_OK);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    ak_free(baseline);
    ak_free(page);
}

int main(int argc, char **argv)
{
    int code;
    if (fixture_main(&code, argc, argv)) {
        return code;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regions_use_the_threads_they_ask_for),
        cmocka_unit_test(one_element_is_always_stained),
        cmocka_unit_test(all_results_are_changed),
        cmocka_unit_test(rows_apart_are_changed),
#ifdef __x86_64__
        cmocka_unit_test(selectors_are_forgotten),
#elif defined(__aarch64__)
        cmocka_unit_test(halves_of_vectors_are_forgotten),
#endif
        cmocka_unit_test(a_barrier_waits_for_all),
        cmocka_unit_test(thread_numbers_are_checked),
        cmocka_unit_test(the_pass_has_the_right_formulas),
        cmocka_unit_test(the_pass_is_right_at_extremes),
        cmocka_unit_test(the_kernel_is_right_at_extremes),
        cmocka_unit_test(baselines_are_found_by_name),
        cmocka_unit_test(a_compiler_may_fail_in_any_way),
        cmocka_unit_test(what_was_compiled_is_kept),
        cmocka_unit_test(nothing_is_read_unnoticed),
        cmocka_unit_test(a_missing_compiler_is_said),
        cmocka_unit_test(a_compiler_without_a_version_is_not_available),
        cmocka_unit_test(a_compiler_that_does_not_answer_is_not_guessed),
        cmocka_unit_test(a_compiler_that_cannot_be_started_is_there),
        cmocka_unit_test(ceilings_are_measured_on_enough),
        cmocka_unit_test(bytes_have_a_ceiling_of_their_own),
        cmocka_unit_test(equal_code_has_equal_hashes),
        cmocka_unit_test(other_code_has_another_hash_wherever_it_lies),
        cmocka_unit_test(mathematics_is_callable),
        cmocka_unit_test(forged_marks_are_found),
        cmocka_unit_test(system_calls_are_found_in_assembly),
        cmocka_unit_test(additions_are_explained),
        cmocka_unit_test(numbers_in_code_are_refused_on_arm),
        cmocka_unit_test(system_calls_are_found_at_the_edges),
        cmocka_unit_test(numbers_are_no_system_calls),
        cmocka_unit_test(damaged_artifacts_do_no_harm),
        cmocka_unit_test(the_device_is_known),
        cmocka_unit_test(many_processors_are_read_like_few),
        cmocka_unit_test(devices_are_found_by_name),
        cmocka_unit_test(energy_is_that_of_all_packages),
        cmocka_unit_test(the_block_is_bounded),
        cmocka_unit_test(a_dead_runnable_stays_dead),
        cmocka_unit_test(waits_of_the_worker_are_no_time_of_a_call),
        cmocka_unit_test(waits_are_not_subtracted_from_batches),
        cmocka_unit_test(a_library_says_what_it_lacks),
        cmocka_unit_test(what_is_not_loaded_runs_where_candidates_do),
        cmocka_unit_test(what_is_no_artifact_is_not_loaded),
        cmocka_unit_test(a_python_baseline_that_fails_leaves_no_process),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
