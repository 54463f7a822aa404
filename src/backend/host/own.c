/*
 * own.c: runs the baselines that a problem brings, in a runner. host_own.c prepares them.
 *
 * Machine code gets the same call as a candidate. A Python function runs in a process of its own
 * (own_worker.py), which maps the arguments and runs the function when it is sent one byte. The
 * measured time includes some 20 us for that.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "backend/compile.h"
#include "backend/host/host_baseline.h"
#include "backend/host/host_runner.h"
#include "backend/sandbox.h"
#include "backend/script.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/dl.h"
#include "base/fs.h"
#include "base/hash.h"

#define SCRIPT "src/backend/host/own_worker.py"
#define RUN_NS (60 * AK_SECOND_NS)
#define DIGITS 8 /* of a hash that a version shows */

struct ak_baseline {
    void (*kernel)(const ak_host_call *call);
    ak_script script;
    int block_fd;
    const ak_runner_page *page;
};

/* ---- confinement ----------------------------------------------------------------------------- */

/* Lists what a baseline may read: what is installed, the kernel's folder, and what the problem and
   the user's variables name. Whoever tunes somebody else's problem runs its baselines, so they
   write nothing, reach no network and no other process, and start none. */
static void add_all(ak_reads *out, const ak_runner_page *page)
{
    ak_reads_open(out);
    ak_reads_add(out, "/etc/ld.so.conf");
    ak_reads_add(out, "/proc/self");
    ak_reads_add_folder(out, page->folder);
    ak_reads_add_beside(out, page->artifact);
    ak_reads_add_beside(out, page->library);
    ak_reads_add_variable(out, "LD_LIBRARY_PATH");
}

static const char *const writes[] = {"/dev/null", NULL};

void ak_own_confine(const ak_runner_page *page)
{
    ak_reads reads;
    AK_AT_END(ak_sandbox_plan_close) ak_sandbox_plan plan = {0};
    add_all(&reads, page);
    ak_sandbox_plan_open_alone(&plan, reads.path, writes);
    ak_sandbox_plan_apply(&plan);
}

/* ---- machine code ---------------------------------------------------------------------------- */

static ak_status fail_loading(const char *what, const char *path, ak_error *err)
{
    return ak_fail(err, AK_INVALID, "%.80s cannot be loaded: %.200s", what, ak_dl_error(path));
}

/* Writes the version of machine code: what it is, and the beginning of its file's hash, since
   results belong to one state of the file. */
static void name_version(char *version, size_t bytes, const char *what, const char *path)
{
    AK_FREED char *file = NULL;
    size_t length = 0;
    char hash[AK_HASH_BYTES] = "";
    if (ak_fs_read(&file, &length, path, AK_ARTIFACT_MAX, NULL) == AK_OK) {
        ak_hash_text(hash, file, length);
    }
    (void)snprintf(version, bytes, "%s%s%.*s", what, hash[0] == 0 ? "" : " ", DIGITS, hash);
}

/* Loads the library, so that the artifact finds the function there, and gives the path of the
   library's file. */
static ak_status load_library(char path[AK_PATH_MAX], const ak_runner_page *page, ak_error *err)
{
    void *library = dlopen(page->library, RTLD_NOW | RTLD_GLOBAL);
    const bool named = strchr(page->library, '/') == NULL; /* the system looks for it */
    ak_error why = AK_ERROR_INIT;
    if (library == NULL) {
        (void)fail_loading(page->library, page->library, &why);
        return ak_fail(err, AK_INVALID, "%s%s%.80s", why.text,
                       named ? "; one of the kernel's folder is named ./" : "",
                       named ? page->library : "");
    }
    void *function = dlsym(library, page->symbol);
    AK_FAIL_IF(function == NULL, err, AK_INVALID, "%.160s has no function %s", page->library,
               page->symbol);
    ak_dl_path(path, AK_PATH_MAX, function);
    return AK_OK;
}

static ak_status own_open(ak_baseline *b, char *version, size_t bytes,
                          const ak_baseline_setup *setup, ak_error *err)
{
    const ak_runner_page *page = setup->page;
    char path[AK_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s", page->artifact);
    AK_DO(page->library[0] != 0 ? load_library(path, page, err) : AK_OK);
    void *artifact = dlopen(page->artifact, RTLD_NOW | RTLD_LOCAL);
    if (artifact == NULL) {
        return fail_loading(page->baseline, page->artifact, err);
    }
    void *kernel = dlsym(artifact, "ak_kernel");
    AK_FAIL_IF(kernel == NULL, err, AK_INVALID,
               "it defines no ak_kernel: name a \"function\" and its \"arguments\"");
    memcpy(&b->kernel, &kernel, sizeof kernel);
    name_version(version, bytes, page->library[0] != 0 ? "library" : "C file", path);
    return AK_OK;
}

static void own_run(ak_baseline *b, const ak_host_call *call)
{
    b->kernel(call);
}

const ak_baseline_ops ak_baseline_own = {
    .name = "own", .bytes = sizeof(ak_baseline), .open = own_open, .run = own_run};

/* ---- Python ---------------------------------------------------------------------------------- */

static ak_status python_start(ak_script *out, const ak_runner_page *page, ak_error *err)
{
    static const ak_script_spec confined = {.asset = SCRIPT,
                                            .who = "the Python baseline",
                                            .purpose = "a Python baseline",
                                            .keep_files = true};
    ak_reads reads;
    add_all(&reads, page);
    ak_reads_add_variable(&reads, "PYTHONPATH");
    return ak_script_start(out, &confined, &reads, err);
}

static ak_status python_open(ak_baseline *b, char *version, size_t bytes,
                             const ak_baseline_setup *setup, ak_error *err)
{
    json_auto_t *reply = NULL;
    json_t *message = NULL;
    *b = (ak_baseline){.page = setup->page, .block_fd = setup->block_fd};
    AK_DO(python_start(&b->script, setup->page, err));
    ak_status status = AK_OK;
    AK_TRY(ak_json_read(&message, setup->page->artifact, err));
    status = ak_script_ask(&reply, &b->script, message, AK_SCRIPT_OPEN_NS, err);
    AK_TRY(status == AK_TIMED_OUT
               ? ak_fail(err, AK_TIMED_OUT,
                         "its Python file and what that imports were not ready within %.3g s: let "
                         "it import less, or build beforehand what it builds then",
                         (double)AK_SCRIPT_OPEN_NS / 1e9)
               : status);
    (void)snprintf(version, bytes, "Python %.*s, NumPy %.16s", DIGITS,
                   ak_json_text_at(reply, "hash"), ak_json_text_at(reply, "numpy"));
out:
    if (status != AK_OK) {
        ak_script_end(&b->script);
    }
    return status;
}

static json_t *numbers(const uint64_t *values, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        ak_json_add(&list, json_integer((json_int_t)values[i]));
    }
    return list;
}

/* Tells the process where the arguments are. The process then runs the function once, so that the
   text of an exception can be reported. It passes copies of the arguments that are both read and
   written, so that these stay as they are. */
static ak_status python_prepare(ak_baseline *b, const ak_host_call *call, ak_error *err)
{
    const ak_runner_page *page = b->page;
    uint64_t pitch[AK_ARGUMENTS_MAX], size[AK_SIZES_MAX];
    json_auto_t *reply = NULL;
    json_t *extents = json_array();
    for (size_t i = 0; i < page->argument_count; i++) {
        pitch[i] = (uint64_t)call->pitch[i];
        ak_json_add(&extents, numbers(page->extent[i], AK_RANK_MAX));
    }
    for (size_t i = 0; i < AK_SIZES_MAX; i++) {
        size[i] = (uint64_t)call->size[i];
    }
    json_t *message = json_pack("{s:i, s:I, s:I, s:o, s:o, s:o, s:o}", "fd", b->block_fd, "first",
                                (json_int_t)page->first, "span", (json_int_t)page->span, "offsets",
                                numbers(page->offset, page->argument_count), "pitches",
                                numbers(pitch, page->argument_count), "sizes",
                                numbers(size, AK_SIZES_MAX), "extents", extents);
    return ak_script_ask(&reply, &b->script, message, RUN_NS, err);
}

/* Sends a line, which runs the function, and waits for the reply. A function that fails now leaves
   outputs unwritten, at least in part, which is a wrong result. */
static void python_run(ak_baseline *b, const ak_host_call *call)
{
    char reply = 0;
    (void)call;
    if (write(b->script.proc.to, "\n", 1) != 1) {
        return;
    }
    while (read(b->script.proc.from, &reply, 1) < 0 && (errno == EINTR || errno == EAGAIN)) {
    }
}

const ak_baseline_ops ak_baseline_own_python = {.name = "own",
                                                .bytes = sizeof(ak_baseline),
                                                .open = python_open,
                                                .prepare = python_prepare,
                                                .run = python_run};
