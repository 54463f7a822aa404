/*
 * openblas.c: OpenBLAS. It chooses its kernels by the CPU's name, and not always the fastest ones:
 * a CPU that is newer than the library gets those of an older one. OPENBLAS_CORETYPE overrides the
 * choice and is read when the library is loaded, so each core type needs a process of its own.
 */
#include <stdlib.h>
#include <string.h>

#include "backend/host/host_baseline.h"
#include "base/alloc.h"
#include "base/dl.h"

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112 }; /* values of cblas.h */

typedef void (*sgemm_fn)(int order, int transpose_a, int transpose_b, int m, int n, int k,
                         float alpha, const float *a, int lda, const float *b, int ldb, float beta,
                         float *c, int ldc);
typedef char *(*text_fn)(void);

struct ak_baseline {
    sgemm_fn sgemm;
    ak_product product;
};

static const char *const libraries[] = {"libopenblas.so.0", "libopenblas.so", NULL};

/* Writes the version from a text such as "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY
   Cooperlake MAX_THREADS=64". */
static void describe(char *version, size_t bytes, void *library)
{
    void *config = ak_dl_symbol(library, "openblas_get_config");
    void *core = ak_dl_symbol(library, "openblas_get_corename");
    text_fn get_config = NULL, get_core = NULL;
    memcpy(&get_config, &config, sizeof config);
    memcpy(&get_core, &core, sizeof core);
    const char *text = get_config == NULL ? "" : get_config();
    const char *number = strchr(text, ' ');
    number = number == NULL ? "" : number + 1;
    (void)snprintf(version, bytes, "%.*s %s", (int)strcspn(number, " "), number,
                   get_core == NULL ? "unknown core" : get_core());
}

static ak_status openblas_open(ak_baseline **out, char *version, size_t bytes,
                               const ak_baseline_setup *setup, ak_error *err)
{
    char threads[16];
    void *library = NULL;
    /* Either can halve its speed if it is left over from something else. */
    (void)unsetenv("OPENBLAS_L2_SIZE");
    (void)unsetenv("OPENBLAS_CORETYPE");
    if (setup->variant[0] != 0) {
        (void)setenv("OPENBLAS_CORETYPE", setup->variant, 1);
    }
    if (setup->library_threads > 0) {
        (void)snprintf(threads, sizeof threads, "%d", setup->library_threads);
        (void)setenv("OPENBLAS_NUM_THREADS", threads, 1);
    }
    ak_baseline baseline = {.sgemm = NULL};
    if (ak_product_parse(&baseline.product, setup, err) != AK_OK) {
        return AK_UNAVAILABLE;
    }
    if (ak_dl_open(&library, libraries, NULL) != AK_OK) {
        return ak_fail(err, AK_UNAVAILABLE, "not installed: apt-get install libopenblas0-pthread");
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

static ak_status openblas_prepare(ak_baseline *baseline, const ak_host_call *call, ak_error *err)
{
    const int arguments[] = {0, 1, baseline->product.c};
    for (int i = 0; i < 3; i++) {
        if (call->size[i] > INT32_MAX || call->pitch[arguments[i]] > INT32_MAX) {
            return ak_fail(err, AK_LIMIT, "the library takes sizes of 32 bits only");
        }
    }
    return AK_OK;
}

static void openblas_run(ak_baseline *baseline, const ak_host_call *call)
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
static const char *const cores[] = {"Sandybridge", "Haswell",    "Zen",
                                    "SkylakeX",    "Cooperlake", "NEOVERSEN1",
                                    "NEOVERSEV1",  "CORTEXA57",  NULL};

const ak_baseline_ops ak_baseline_openblas = {
    .name = "openblas",
    .title = "OpenBLAS",
    .problems = problems,
    .keeps_threads = true,
    .variants = cores,
    .open = openblas_open,
    .prepare = openblas_prepare,
    .run = openblas_run,
};
