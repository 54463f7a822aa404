/* blis.c: BLIS, through its cblas interface. BLIS uses one thread unless it is told otherwise. */
#include <stdlib.h>
#include <string.h>

#include "backend/host/host.h"
#include "backend/host/host_baseline.h"
#include "base/alloc.h"
#include "base/dl.h"

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112 }; /* values of cblas.h */

typedef void (*sgemm_fn)(int order, int transpose_a, int transpose_b, int m, int n, int k,
                         float alpha, const float *a, int lda, const float *b, int ldb, float beta,
                         float *c, int ldc);
typedef const char *(*version_fn)(void);
typedef int (*query_fn)(void);
typedef const char *(*name_fn)(int arch);

struct ak_baseline {
    sgemm_fn sgemm;
    ak_product product;
};

static const char *const libraries[] = {"libblis.so.4", "libblis.so.3", "libblis.so", NULL};

static void describe(char *version, size_t bytes, void *library)
{
    void *text = ak_dl_symbol(library, "bli_info_get_version_str");
    void *query = ak_dl_symbol(library, "bli_arch_query_id");
    void *name = ak_dl_symbol(library, "bli_arch_string");
    version_fn get_version = NULL;
    query_fn get_arch = NULL;
    name_fn get_name = NULL;
    memcpy(&get_version, &text, sizeof text);
    memcpy(&get_arch, &query, sizeof query);
    memcpy(&get_name, &name, sizeof name);
    bool named = get_arch != NULL && get_name != NULL;
    (void)snprintf(version, bytes, "%s %s", get_version == NULL ? "?" : get_version(),
                   named ? get_name(get_arch()) : "unknown core");
}

static ak_status blis_open(ak_baseline **out, char *version, size_t bytes,
                           const ak_baseline_setup *setup, ak_error *err)
{
    char threads[16];
    void *library = NULL;
    (void)snprintf(threads, sizeof threads, "%d",
                   setup->library_threads > 0 ? setup->library_threads : ak_host_cpus());
    (void)setenv("BLIS_NUM_THREADS", threads, 1);
    ak_baseline baseline = {.sgemm = NULL};
    if (ak_product_parse(&baseline.product, setup, err) != AK_OK) {
        return AK_UNAVAILABLE;
    }
    if (ak_dl_open(&library, libraries, NULL) != AK_OK) {
        return ak_fail(err, AK_UNAVAILABLE, "not installed: apt-get install libblis4-pthread");
    }
    void *symbol = ak_dl_symbol(library, "cblas_sgemm");
    if (symbol == NULL) {
        return ak_fail(err, AK_UNAVAILABLE, "%s has no cblas_sgemm", libraries[0]);
    }
    memcpy(&baseline.sgemm, &symbol, sizeof symbol);
    describe(version, bytes, library);
    *out = ak_alloc(1, sizeof **out);
    if (*out == NULL) {
        return ak_fail_memory(err);
    }
    **out = baseline;
    return AK_OK;
}

static ak_status blis_prepare(ak_baseline *baseline, const ak_host_call *call, ak_error *err)
{
    const int arguments[] = {0, 1, baseline->product.c};
    for (int i = 0; i < 3; i++) {
        if (call->size[i] > INT32_MAX || call->pitch[arguments[i]] > INT32_MAX) {
            return ak_fail(err, AK_LIMIT, "the library takes sizes of 32 bits only");
        }
    }
    return AK_OK;
}

static void blis_run(ak_baseline *baseline, const ak_host_call *call)
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

static const char *const problems[] = {"matmul", "matmul_act", NULL};

const ak_baseline_ops ak_baseline_blis = {
    .name = "blis",
    .title = "BLIS",
    .problems = problems,
    .open = blis_open,
    .prepare = blis_prepare,
    .run = blis_run,
};
