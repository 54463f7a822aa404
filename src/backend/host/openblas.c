/*
 * openblas.c: OpenBLAS. It chooses its kernels by the CPU's name, and not always the fastest ones:
 * a CPU that is newer than the library gets those of an older one. OPENBLAS_CORETYPE overrides the
 * choice and is read when the library is loaded, so each core type needs a process of its own.
 */
#include <stdlib.h>
#include <string.h>

#include "backend/host/cblas.h"
#include "base/dl.h"

typedef char *(*text_fn)(void);

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
    /* Either variable can halve the library's speed if it was set for another program. */
    (void)unsetenv("OPENBLAS_L2_SIZE");
    (void)unsetenv("OPENBLAS_CORETYPE");
    if (setup->variant[0] != 0) {
        (void)setenv("OPENBLAS_CORETYPE", setup->variant, 1);
    }
    if (setup->library_threads > 0) {
        (void)snprintf(threads, sizeof threads, "%d", setup->library_threads);
        (void)setenv("OPENBLAS_NUM_THREADS", threads, 1);
    }
    AK_DO(ak_cblas_open(out, &library, libraries, "libopenblas0-pthread", setup, err));
    describe(version, bytes, library);
    return AK_OK;
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
    .prepare = ak_cblas_prepare,
    .run = ak_cblas_run,
};
