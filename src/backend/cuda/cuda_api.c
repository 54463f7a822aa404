#include "backend/cuda/cuda_api.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/dl.h"

/* A library is searched by at most this many major versions, the newest first. */
#define MAJORS 3
/* The first NVML_NEEDED lines of cuda_nvml.def are needed; the last DRIVER_OPTIONAL lines of
   cuda_driver.def may be missing. */
#define NVML_NEEDED     3
#define DRIVER_OPTIONAL 1

/* ---- what is needed of libraries ---------------------------------------------------------------
 */

typedef struct entry {
    const char *symbol;
    size_t offset; /* offset of the member */
} entry;

static const entry driver_entries[] = {
#define X(member, symbol, arguments) {symbol, offsetof(ak_cuda_driver, member)},
#include "backend/cuda/cuda_driver.def"
#undef X
};
static const entry nvrtc_entries[] = {
#define X(member, symbol, arguments) {symbol, offsetof(ak_cuda_nvrtc, member)},
#include "backend/cuda/cuda_nvrtc.def"
#undef X
};
static const entry cublaslt_entries[] = {
#define X(member, symbol, arguments) {symbol, offsetof(ak_cublaslt, member)},
#include "backend/cuda/cuda_cublaslt.def"
#undef X
    {"cublasLtGetVersion", offsetof(ak_cublaslt, version)},
};
static const entry cudnn_entries[] = {
#define X(member, symbol, arguments) {symbol, offsetof(ak_cudnn, member)},
#include "backend/cuda/cuda_cudnn.def"
#undef X
    {"cudnnGetVersion", offsetof(ak_cudnn, version)},
};
static const entry nvml_entries[] = {
#define X(member, symbol, arguments) {symbol, offsetof(ak_cuda_nvml, member)},
#include "backend/cuda/cuda_nvml.def"
#undef X
};

/* ---- where libraries are --------------------------------------------------------------------- */

typedef struct wanted {
    const char *title;         /* "NVRTC" */
    const char *variable;      /* environment variable that overrides the search */
    const char *names[MAJORS]; /* file names, best first; NULL ends the list */
    const char *wheel;         /* folder of its wheel below nvidia/; NULL: no wheel */
    const char *advice;
    const entry *entries;
    size_t count, needed; /* the first `needed` entries must exist */
    bool loaded;
} wanted;
#define ALL(entries)           entries, AK_COUNT(entries), AK_COUNT(entries), false
#define FIRST(entries, needed) entries, AK_COUNT(entries), needed, false

static wanted driver_wanted = {"the CUDA driver",
                               "AUTOKERNEL_LIBCUDA",
                               {"libcuda.so.1"},
                               NULL,
                               "install the driver of the graphics processor",
                               FIRST(driver_entries, AK_COUNT(driver_entries) - DRIVER_OPTIONAL)};
static wanted nvrtc_wanted = {"NVRTC",
                              "AUTOKERNEL_LIBNVRTC",
                              {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"},
                              "cuda_nvrtc",
                              "install the CUDA toolkit, or `pip install nvidia-cuda-nvrtc`",
                              ALL(nvrtc_entries)};
static wanted cublaslt_wanted = {"cuBLASLt",
                                 "AUTOKERNEL_LIBCUBLASLT",
                                 {"libcublasLt.so.13", "libcublasLt.so.12"},
                                 "cublas",
                                 "install the CUDA toolkit, or `pip install nvidia-cublas`",
                                 ALL(cublaslt_entries)};
static wanted cudnn_wanted = {"cuDNN",
                              "AUTOKERNEL_LIBCUDNN",
                              {"libcudnn.so.9"},
                              "cudnn",
                              "install it, or `pip install nvidia-cudnn-cu13`",
                              ALL(cudnn_entries)};
static wanted nvml_wanted = {"NVML", "AUTOKERNEL_LIBNVML",       {"libnvidia-ml.so.1"},
                             NULL,   "it comes with the driver", FIRST(nvml_entries, NVML_NEEDED)};

static void *try_one(const char *name)
{
    const char *const names[] = {name, NULL};
    void *library = NULL;
    return ak_dl_open(&library, names, NULL) == AK_OK ? library : NULL;
}

static int by_version(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

/* Tries the newest version first: python3.12 before python3.9. */
static void *try_pattern(const char *pattern)
{
    glob_t found;
    void *library = NULL;
    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
        qsort(found.gl_pathv, found.gl_pathc, sizeof *found.gl_pathv, by_version);
        for (size_t i = found.gl_pathc; library == NULL && i > 0; i--) {
            library = try_one(found.gl_pathv[i - 1]);
        }
        globfree(&found);
    }
    return library;
}

static void *try_folders(const wanted *w, const char *name)
{
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"};
    static const char *const below[] = {"lib64", "lib"};
    char path[AK_PATH_MAX];
    void *library = NULL;
    for (size_t i = 0; library == NULL && i <= 2; i++) {
        const char *root = i < 2 ? ak_env(variables[i]) : "/usr/local/cuda";
        for (size_t j = 0; library == NULL && root != NULL && j < 2; j++) {
            (void)snprintf(path, sizeof path, "%s/%s/%s", root, below[j], name);
            library = try_one(path);
        }
    }
    if (library == NULL && w->wheel == NULL) {
        (void)snprintf(path, sizeof path, "/usr/lib/wsl/lib/%s", name);
        library = try_one(path);
    }
    return library;
}

static void *try_wheels(const wanted *w, const char *name)
{
    const char *home = ak_env("HOME"), *environment = ak_env("VIRTUAL_ENV");
    char python[AK_PATH_MAX] = "", *slash = NULL;
    /* The python3 in PATH may be in a virtual environment that no variable names. */
    if (ak_fs_which(python, "python3") && (slash = strrchr(python, '/')) != NULL) {
        *slash = 0;
        slash = strrchr(python, '/');
    }
    if (slash != NULL) {
        *slash = 0;
    }
    const struct {
        const char *root, *packages;
    } places[] = {{environment, "/lib/python3*/site-packages"},
                  {slash == NULL ? NULL : python, "/lib/python3*/site-packages"},
                  {home, "/.local/lib/python3*/site-packages"},
                  {"/usr/local/lib", "/python3*/site-packages"},
                  {"/usr/local/lib", "/python3*/dist-packages"},
                  {"/usr/lib", "/python3*/dist-packages"}};
    char pattern[AK_PATH_MAX];
    void *library = NULL;
    for (size_t i = 0; library == NULL && i < AK_COUNT(places); i++) {
        if (places[i].root != NULL) {
            /* Wheels have one folder per library up to CUDA 12 and one for all from CUDA 13 on. */
            (void)snprintf(pattern, sizeof pattern, "%s%s/nvidia/%s/lib/%s", places[i].root,
                           places[i].packages, w->wheel, name);
            library = try_pattern(pattern);
            (void)snprintf(pattern, sizeof pattern, "%s%s/nvidia/cu1*/lib/%s", places[i].root,
                           places[i].packages, name);
            library = library == NULL ? try_pattern(pattern) : library;
        }
    }
    return library;
}

static ak_status find(void **out, const wanted *w, ak_error *err)
{
    const char *only = ak_env(w->variable);
    if (only != NULL) {
        const char *const names[] = {only, NULL};
        AK_FAIL_IF(ak_dl_open(out, names, NULL) != AK_OK, err, AK_UNAVAILABLE,
                   "%s cannot be loaded: %s=%.200s", w->title, w->variable, only);
        return AK_OK;
    }
    void *library = NULL;
    for (size_t i = 0; library == NULL && i < MAJORS && w->names[i] != NULL; i++) {
        library = try_one(w->names[i]);
        library = library == NULL ? try_folders(w, w->names[i]) : library;
        library = library == NULL && w->wheel != NULL ? try_wheels(w, w->names[i]) : library;
    }
    *out = library;
    return library != NULL ? AK_OK
                           : ak_fail(err, AK_UNAVAILABLE, "%s (%s) was not found: %s", w->title,
                                     w->names[0], w->advice);
}

/* ---- loading --------------------------------------------------------------------------------- */

/* Loads the library and fills the table; does nothing if this was done before. A function that the
   library may lack is NULL if it does. `path`, unless it is NULL, gets the file that the library
   was loaded from. */
static ak_status load(void *table, wanted *w, char path[AK_PATH_MAX], ak_error *err)
{
    void *library = NULL;
    if (w->loaded) {
        return AK_OK;
    }
    AK_DO(find(&library, w, err));
    for (size_t i = 0; i < w->count; i++) {
        const char *symbol = w->entries[i].symbol;
        AK_FAIL_IF(!ak_dl_bind((char *)table + w->entries[i].offset, library, symbol) &&
                       i < w->needed,
                   err, AK_UNAVAILABLE, "%s is too old: it has no %s", w->title, symbol);
    }
    if (path != NULL) {
        ak_dl_path(path, AK_PATH_MAX, ak_dl_symbol(library, w->entries[0].symbol));
    }
    w->loaded = true;
    return AK_OK;
}

bool ak_cuda_expected(void)
{
    return ak_env(driver_wanted.variable) != NULL || access("/dev/nvidiactl", F_OK) == 0 ||
           access("/dev/dxg", F_OK) == 0;
}

ak_status ak_cuda_driver_open(const ak_cuda_driver **out, ak_error *err)
{
    static ak_cuda_driver driver;
    static bool ready;
    char text[160];
    if (ready) {
        *out = &driver;
        return AK_OK;
    }
    AK_FAIL_IF(!ak_cuda_expected(), err, AK_UNAVAILABLE, "/dev/nvidiactl does not exist: %s",
               driver_wanted.advice);
    AK_DO(load(&driver, &driver_wanted, NULL, err));
    int code = driver.init(0), count = 0;
    code = code == AK_CUDA_SUCCESS ? driver.device_count(&count) : code;
    if (code == AK_CUDA_SUCCESS && count == 0) {
        code = AK_CUDA_ERROR_NO_DEVICE;
    }
    if (code != AK_CUDA_SUCCESS) {
        ak_cuda_error_text(text, sizeof text, &driver, code);
        return ak_fail(err, AK_UNAVAILABLE, "the CUDA driver finds no device: %s", text);
    }
    ready = true;
    *out = &driver;
    return AK_OK;
}

ak_status ak_cuda_nvrtc_open(const ak_cuda_nvrtc **out, ak_error *err)
{
    static ak_cuda_nvrtc nvrtc;
    *out = &nvrtc;
    return load(&nvrtc, &nvrtc_wanted, nvrtc.path, err);
}

ak_status ak_cublaslt_open(const ak_cublaslt **out, ak_error *err)
{
    static ak_cublaslt cublaslt;
    *out = &cublaslt;
    return load(&cublaslt, &cublaslt_wanted, cublaslt.path, err);
}

ak_status ak_cudnn_open(const ak_cudnn **out, ak_error *err)
{
    static ak_cudnn cudnn;
    *out = &cudnn;
    return load(&cudnn, &cudnn_wanted, NULL, err);
}

ak_status ak_cuda_nvml_open(const ak_cuda_nvml **out, ak_error *err)
{
    static ak_cuda_nvml nvml;
    static bool ready;
    if (!ready) {
        AK_DO(load(&nvml, &nvml_wanted, NULL, err));
        AK_FAIL_IF(nvml.init() != 0, err, AK_UNAVAILABLE, "NVML cannot reach the driver");
        ready = true;
    }
    *out = &nvml;
    return AK_OK;
}

void ak_cuda_error_text(char *out, size_t bytes, const ak_cuda_driver *cuda, int code)
{
    const char *name = NULL, *text = NULL;
    bool named = cuda->error_name(code, &name) == AK_CUDA_SUCCESS && name != NULL;
    bool described = cuda->error_text(code, &text) == AK_CUDA_SUCCESS && text != NULL;
    if (named && described) {
        (void)snprintf(out, bytes, "%s: %s", name, text);
    } else {
        (void)snprintf(out, bytes, "CUDA error %d", code);
    }
}
