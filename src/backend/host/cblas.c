/* cblas.c: OpenBLAS and BLIS, libraries with the C interface of BLAS, which multiply matrices by
   cblas_sgemm. */
#include <stdlib.h>
#include <string.h>

#include "backend/host/host.h"
#include "backend/host/host_baseline.h"
#include "base/dl.h"

static const char *const problems[] = {"matmul", "matmul_act", NULL};

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112 }; /* values of the header cblas.h */

typedef void (*sgemm_fn)(int order, int transpose_a, int transpose_b, int m, int n, int k,
                         float alpha, const float *a, int lda, const float *b, int ldb, float beta,
                         float *c, int ldc);

struct ak_baseline {
    sgemm_fn sgemm;
    ak_product product;
};

/* Opens the first installed library in the NULL-terminated list `names`, and finds cblas_sgemm in
   it. `package` is the Debian package to install if there is none. *library stays open. */
static ak_status open_cblas(ak_baseline *baseline, void **library, const char *const *names,
                            const char *package, const ak_baseline_setup *setup, ak_error *err)
{
    char absent[100];
    (void)snprintf(absent, sizeof absent, "not installed: apt-get install %s", package);
    AK_DO(ak_product_parse(&baseline->product, setup, err));
    AK_DO(ak_dl_need(library, names, absent, err));
    return ak_dl_bind(&baseline->sgemm, *library, "cblas_sgemm")
               ? AK_OK
               : ak_fail(err, AK_UNAVAILABLE,
                         "it was installed without cblas_sgemm: apt-get install %s", package);
}

static ak_status cblas_prepare(ak_baseline *baseline, const ak_host_call *call, ak_error *err)
{
    const int arguments[] = {0, 1, baseline->product.c};
    for (int i = 0; i < 3; i++) {
        const int64_t size = call->size[i], pitch = call->pitch[arguments[i]];
        AK_FAIL_IF(size > INT32_MAX || pitch > INT32_MAX, err, AK_LIMIT,
                   "cblas_sgemm takes sizes and distances of rows up to %d, not %lld: --libraries "
                   "can leave this library out",
                   INT32_MAX, (long long)(size > pitch ? size : pitch));
    }
    return AK_OK;
}

static void cblas_run(ak_baseline *baseline, const ak_host_call *call)
{
    const ak_product *p = &baseline->product;
    int m = (int)call->size[0], n = (int)call->size[1], k = (int)call->size[2];
    ak_product_begin(p, call);
    baseline->sgemm(ROW_MAJOR, p->a_transposed ? TRANSPOSE : NO_TRANSPOSE,
                    p->b_transposed ? TRANSPOSE : NO_TRANSPOSE, m, n, k, p->alpha, call->arg[0],
                    (int)call->pitch[0], call->arg[1], (int)call->pitch[1], p->beta,
                    call->arg[p->c], (int)call->pitch[p->c]);
    ak_product_end(p, call);
}

/* ---- OpenBLAS -------------------------------------------------------------------------------- */

/* OpenBLAS chooses its kernels by the CPU's name, and not always the fastest ones: on a CPU that is
   newer than the library it uses the kernels for an older CPU. OPENBLAS_CORETYPE overrides the
   choice and is read when the library is loaded, so each core type needs its own process. */
static const char *const openblas_names[] = {"libopenblas.so.0", "libopenblas.so", NULL};

/* Writes the library's version and its name for the core. The version is the second word of a text
   such as "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY Cooperlake MAX_THREADS=64". */
static void describe_openblas(char *version, size_t bytes, void *library)
{
    char *(*get_config)(void), *(*get_core)(void);
    const char *text = ak_dl_bind(&get_config, library, "openblas_get_config") ? get_config() : "";
    const char *number = strchr(text, ' ');
    number = number == NULL ? "" : number + 1;
    (void)snprintf(version, bytes, "%.*s %s", (int)strcspn(number, " "), number,
                   ak_dl_bind(&get_core, library, "openblas_get_corename") ? get_core()
                                                                           : "unknown core");
}

static ak_status openblas_open(ak_baseline *baseline, char *version, size_t bytes,
                               const ak_baseline_setup *setup, ak_error *err)
{
    char threads[16];
    void *library = NULL;
    if (setup->variant[0] != 0) {
        (void)setenv("OPENBLAS_CORETYPE", setup->variant, 1);
    }
    if (setup->library_threads > 0) {
        (void)snprintf(threads, sizeof threads, "%d", setup->library_threads);
        (void)setenv("OPENBLAS_NUM_THREADS", threads, 1);
    }
    AK_DO(open_cblas(baseline, &library, openblas_names, "libopenblas0-pthread", setup, err));
    describe_openblas(version, bytes, library);
    return AK_OK;
}

static const char *const cores[] = {"Sandybridge", "Haswell",    "Zen",
                                    "SkylakeX",    "Cooperlake", "NEOVERSEN1",
                                    "NEOVERSEV1",  "CORTEXA57",  NULL};

const ak_baseline_ops ak_baseline_openblas = {
    .name = "openblas",
    .title = "OpenBLAS",
    .problems = problems,
    .keeps_threads = true,
    .variants = cores,
    .bytes = sizeof(ak_baseline),
    .open = openblas_open,
    .prepare = cblas_prepare,
    .run = cblas_run,
};

/* ---- BLIS ------------------------------------------------------------------------------------ */

static const char *const blis_names[] = {"libblis.so.4", "libblis.so.3", "libblis.so", NULL};

static void describe_blis(char *version, size_t bytes, void *library)
{
    const char *(*get_version)(void), *(*get_name)(int arch);
    int (*get_arch)(void);
    bool named = ak_dl_bind(&get_arch, library, "bli_arch_query_id") &&
                 ak_dl_bind(&get_name, library, "bli_arch_string");
    bool versioned = ak_dl_bind(&get_version, library, "bli_info_get_version_str");
    (void)snprintf(version, bytes, "%s %s", versioned ? get_version() : "?",
                   named ? get_name(get_arch()) : "unknown core");
}

static ak_status blis_open(ak_baseline *baseline, char *version, size_t bytes,
                           const ak_baseline_setup *setup, ak_error *err)
{
    char threads[16];
    void *library = NULL;
    /* BLIS uses one thread unless it is told otherwise. */
    (void)snprintf(threads, sizeof threads, "%d",
                   setup->library_threads > 0 ? setup->library_threads : ak_host_cpus());
    (void)setenv("BLIS_NUM_THREADS", threads, 1);
    AK_DO(open_cblas(baseline, &library, blis_names, "libblis4-pthread", setup, err));
    describe_blis(version, bytes, library);
    return AK_OK;
}

const ak_baseline_ops ak_baseline_blis = {
    .name = "blis",
    .title = "BLIS",
    .problems = problems,
    .bytes = sizeof(ak_baseline),
    .open = blis_open,
    .prepare = cblas_prepare,
    .run = cblas_run,
};
