/* cblas.c: see cblas.h. */
#include "backend/host/cblas.h"

#include <string.h>

#include "base/alloc.h"
#include "base/dl.h"

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112 }; /* values of the header cblas.h */

typedef void (*sgemm_fn)(int order, int transpose_a, int transpose_b, int m, int n, int k,
                         float alpha, const float *a, int lda, const float *b, int ldb, float beta,
                         float *c, int ldc);

struct ak_baseline {
    sgemm_fn sgemm;
    ak_product product;
};

ak_status ak_cblas_open(ak_baseline **out, void **library, const char *const *names,
                        const char *package, const ak_baseline_setup *setup, ak_error *err)
{
    ak_baseline baseline = {.sgemm = NULL};
    if (ak_product_parse(&baseline.product, setup, err) != AK_OK) {
        return AK_UNAVAILABLE;
    }
    if (ak_dl_open(library, names, NULL) != AK_OK) {
        return ak_fail(err, AK_UNAVAILABLE, "not installed: apt-get install %s", package);
    }
    void *symbol = ak_dl_symbol(*library, "cblas_sgemm");
    if (symbol == NULL) {
        return ak_fail(err, AK_UNAVAILABLE, "%s has no cblas_sgemm", names[0]);
    }
    memcpy(&baseline.sgemm, &symbol, sizeof symbol);
    AK_DO(AK_NEW(*out, 1, err));
    **out = baseline;
    return AK_OK;
}

ak_status ak_cblas_prepare(ak_baseline *baseline, const ak_host_call *call, ak_error *err)
{
    const int arguments[] = {0, 1, baseline->product.c};
    for (int i = 0; i < 3; i++) {
        if (call->size[i] > INT32_MAX || call->pitch[arguments[i]] > INT32_MAX) {
            return ak_fail(err, AK_LIMIT, "the library takes sizes of 32 bits only");
        }
    }
    return AK_OK;
}

void ak_cblas_run(ak_baseline *baseline, const ak_host_call *call)
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
