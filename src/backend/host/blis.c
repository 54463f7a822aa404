/* blis.c: BLIS, through its cblas interface. BLIS uses one thread unless it is told otherwise. */
#include <stdlib.h>
#include <string.h>

#include "backend/host/cblas.h"
#include "backend/host/host.h"
#include "base/dl.h"

typedef const char *(*version_fn)(void);
typedef int (*query_fn)(void);
typedef const char *(*name_fn)(int arch);

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
    AK_DO(ak_cblas_open(out, &library, libraries, "libblis4-pthread", setup, err));
    describe(version, bytes, library);
    return AK_OK;
}

static const char *const problems[] = {"matmul", "matmul_act", NULL};

const ak_baseline_ops ak_baseline_blis = {
    .name = "blis",
    .title = "BLIS",
    .problems = problems,
    .open = blis_open,
    .prepare = ak_cblas_prepare,
    .run = ak_cblas_run,
};
