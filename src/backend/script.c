#include "backend/script.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "backend/sandbox.h"
#include "base/alloc.h"
#include "base/asset.h"
#include "base/clock.h"
#include "base/fs.h"

#define COMMON           "src/backend/script.py"
#define SCRIPT_BYTES_MAX (120u << 10) /* Linux takes at most 128 KiB as one argument */
/* A program that asks Python for the path of its own executable, its prefixes, the folders that it
   imports from, and libpython. */
#define ABOUT                                                                                      \
    "import os, site, sys, sysconfig; p = sysconfig.get_path; v = sysconfig.get_config_var; "      \
    "print(sys.executable, sys.prefix, sys.base_prefix, site.getusersitepackages(), "              \
    "p('stdlib'), p('purelib'), p('platlib'), "                                                    \
    "os.path.join(v('LIBDIR') or '', v('INSTSONAME') or ''), sep='\\n')"

const char *ak_script_python(void)
{
    const char *python = ak_env("AUTOKERNEL_PYTHON");
    return python == NULL ? "python3" : python;
}

ak_status ak_script_find(ak_script_home *out, const char *who, ak_error *err)
{
    const char *python = ak_script_python();
    const char *const argv[] = {python, "-c", ABOUT, NULL};
    const ak_proc_spec spec = {.argv = argv, .timeout_ns = AK_SCRIPT_FIND_NS};
    AK_AT_END(ak_proc_result_clear) ak_proc_result run = {0};
    char found[AK_PATH_MAX];
    *out = (ak_script_home){0};
    AK_FAIL_IF(!ak_fs_which(found, python), err, AK_UNAVAILABLE,
               "%s needs %.200s, which is not installed (AUTOKERNEL_PYTHON names another Python)",
               who, python);
    AK_DO(ak_proc_run(&run, &spec, err));
    ak_status status = AK_OK;
    char *at = run.output;
    size_t count = 0, lines = 0;
    for (const char *p = at; p != NULL && (p = strchr(p, '\n')) != NULL; p++) {
        lines++;
    }
    for (; lines > AK_SCRIPT_PATHS; lines--) {
        at = strchr(at, '\n') + 1; /* what the loader says of LD_PRELOAD comes first */
    }
    for (; at != NULL && run.exit_code == 0 && count < AK_SCRIPT_PATHS && strchr(at, '\n') != NULL;
         count++) {
        out->path[count] = at;
        at = strchr(at, '\n');
        *at++ = 0;
    }
    if (count < AK_SCRIPT_PATHS) {
        status = ak_fail(err, AK_UNAVAILABLE, "%.200s cannot be run: %.200s", python,
                         run.output_length == 0 ? "no output" : run.output);
    } else {
        out->text = run.output;
        run.output = NULL;
    }
    return status;
}

/* A program that prints the interpreter, its version, and the versions of Triton, PyTorch and
   NumPy, each on a line. The line of Triton or PyTorch is empty if it is not installed; that of
   NumPy is missing if it cannot be imported. Triton and PyTorch are not imported, because that
   takes seconds. */
#define VERSIONS                                                                                   \
    "import platform, sys\n"                                                                       \
    "from importlib import metadata\n"                                                             \
    "def version(name):\n"                                                                         \
    "    try:\n"                                                                                   \
    "        return metadata.version(name) or ''\n"                                                \
    "    except Exception:\n"                                                                      \
    "        return ''\n"                                                                          \
    "print(sys.executable, platform.python_version(), version('triton'), version('torch'), "       \
    "sep='\\n', flush=True)\n"                                                                     \
    "import numpy; print(numpy.__version__)\n"

json_t *ak_script_doctor(void)
{
    enum { INTERPRETER, VERSION, TRITON, TORCH, NUMPY, COUNT };
    const char *python = ak_script_python(), *values[COUNT] = {NULL};
    const char *const argv[] = {python, "-c", VERSIONS, NULL};
    const ak_proc_spec spec = {.argv = argv, .timeout_ns = AK_SCRIPT_FIND_NS, .only_stdout = true};
    AK_AT_END(ak_proc_result_clear) ak_proc_result run = {0};
    char found[AK_PATH_MAX], missing[AK_PATH_MAX + 200] = "";
    const bool there = ak_fs_which(found, python) && ak_proc_run(&run, &spec, NULL) == AK_OK;
    char *at = run.output;
    for (size_t i = 0;
         there && i < (run.exit_code == 0 ? COUNT : NUMPY) && strchr(at, '\n') != NULL; i++) {
        values[i] = *at == '\n' ? NULL : at;
        at = strchr(at, '\n');
        *at++ = 0;
    }
    if (values[INTERPRETER] == NULL && values[VERSION] != NULL) {
        values[INTERPRETER] = python; /* an embedded Python does not know its own path */
    }
    if (values[VERSION] == NULL) {
        (void)snprintf(missing, sizeof missing, "%.200s %s", python,
                       ak_env("AUTOKERNEL_PYTHON") != NULL
                           ? "cannot be run: AUTOKERNEL_PYTHON names another Python"
                           : "is not installed: apt-get install python3 python3-numpy");
    } else if (values[NUMPY] == NULL) {
        assert(values[INTERPRETER] != NULL);
        const bool system = strncmp(values[INTERPRETER], "/usr/bin/", 9) == 0;
        (void)snprintf(missing, sizeof missing,
                       "%.200s has no NumPy that can be imported: %s%.200s%s, or set "
                       "AUTOKERNEL_PYTHON to a Python that has it",
                       values[INTERPRETER], system ? "apt-get install python3-numpy" : "`",
                       system ? "" : values[INTERPRETER], system ? "" : " -m pip install numpy`");
    }
    return json_pack("{s:o, s:s?, s:s?, s:s?, s:s?, s:o}", "interpreter",
                     ak_json_shown(values[INTERPRETER]), "version", values[VERSION], "numpy",
                     values[NUMPY], "triton", values[TRITON], "torch", values[TORCH], "missing",
                     ak_json_shown(missing[0] == 0 ? NULL : missing));
}

void ak_script_home_clear(ak_script_home *home)
{
    ak_free(home->text);
    *home = (ak_script_home){0};
}

void ak_script_reads(ak_reads *reads, const ak_script_home *home)
{
    ak_reads_add(reads, home->path[0]);
    ak_reads_add_tool(reads, home->path[0]);
    ak_reads_add_installation(reads, home->path[1]);
    ak_reads_add_installation(reads, home->path[2]);
    for (size_t i = 3; i < AK_SCRIPT_PATHS - 1; i++) {
        ak_reads_add_folder(reads, home->path[i]);
    }
    if (ak_fs_is_file(home->path[AK_SCRIPT_PATHS - 1])) { /* the last path is that of libpython */
        ak_reads_add(reads, home->path[AK_SCRIPT_PATHS - 1]);
    }
}

void ak_script_end(ak_script *script)
{
    ak_proc_kill(&script->proc);
    ak_buf_free(&script->held);
}

/* Sends a message. If the process has ended, the missing reply will show it. */
static ak_status say(const ak_script *script, const json_t *message, ak_error *err)
{
    AK_FREED char *text = NULL;
    AK_DO(ak_json_text(&text, message, err));
    size_t length = strlen(text);
    text[length] = '\n'; /* replaces the final 0 */
    (void)ak_fs_write_all(script->proc.to, text, length + 1);
    return AK_OK;
}

static ak_status hear(json_t **out, ak_script *script, int64_t timeout_ns, ak_error *err)
{
    int64_t deadline = ak_clock_ns() + timeout_ns;
    ak_buf *held = &script->held;
    char *end;
    while ((end = memchr(held->data, '\n', held->length)) == NULL) {
        char bytes[4096];
        struct pollfd ready = {.fd = script->proc.from, .events = POLLIN};
        int64_t left = deadline - ak_clock_ns();
        AK_FAIL_IF(left <= 0, err, AK_TIMED_OUT, "%s did not answer within %.3g s", script->who,
                   (double)timeout_ns / 1e9);
        if (poll(&ready, 1, (int)(left / AK_MS_NS) + 1) <= 0) {
            continue;
        }
        ssize_t got = read(script->proc.from, bytes, sizeof bytes);
        if (got > 0) {
            ak_buf_append(held, bytes, (size_t)got);
        } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
            char how[128] = "";
            (void)ak_proc_wait(how, sizeof how, &script->proc, AK_SECOND_NS);
            return ak_fail(err, AK_CRASHED, "%s ended: %s", script->who, how);
        }
        AK_FAIL_IF(ak_buf_status(held, err) != AK_OK, err, AK_LIMIT,
                   "%s sent a reply of more than %u bytes", script->who, AK_SCRIPT_REPLY_MAX);
    }
    ak_status status = ak_json_parse(out, held->data, (size_t)(end - held->data), script->who, err);
    ak_buf_clear(held); /* the script only replies to requests, so nothing follows the line */
    return status;
}

/* Reads whether a reply reports success, and refuses one that says neither this nor why not. */
static ak_status read_ok(bool *good, const json_t *reply, const ak_script *script, ak_error *err)
{
    AK_DO(ak_json_bool_or(good, reply, "ok", false, script->who, err));
    AK_FAIL_IF(!*good && ak_json_text_or_null(reply, "error") == NULL, err, AK_INVALID,
               "%s: \"error\" is missing", script->who);
    return AK_OK;
}

ak_status ak_script_ask(json_t **out, ak_script *script, json_t *message, int64_t timeout_ns,
                        ak_error *err)
{
    json_t *reply = NULL;
    bool good = false;
    ak_status status = message == NULL ? ak_fail_memory(err)
                       : script->proc.pid <= 0
                           ? ak_fail(err, AK_CRASHED, "%s has ended", script->who)
                           : say(script, message, err);
    json_decref(message);
    status = status == AK_OK ? hear(&reply, script, timeout_ns, err) : status;
    status = status == AK_OK ? read_ok(&good, reply, script, err) : status;
    if (status == AK_INVALID) { /* AK_INVALID is for errors that a running script reports */
        status = AK_CRASHED;
        if (err != NULL) {
            err->status = status;
        }
    }
    if (status != AK_OK) {
        json_decref(reply);
        ak_script_end(script);
        return status;
    }
    if (!good) {
        status = ak_fail(err, AK_INVALID, "%.400s", ak_json_text_at(reply, "error"));
        json_decref(reply);
        return status;
    }
    *out = reply;
    return AK_OK;
}

ak_status ak_script_start(ak_script *out, const ak_script_spec *spec, ak_reads *reads,
                          ak_error *err)
{
    const ak_asset *common = ak_asset_find(COMMON), *script = ak_asset_find(spec->asset);
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(SCRIPT_BYTES_MAX);
    const char *const folder = ak_or_empty(spec->folder);
    char temporary[AK_PATH_MAX + 8];
    AK_AT_END(ak_script_home_clear) ak_script_home home = {{NULL}, NULL};
    ak_sandbox_plan plan;
    AK_FAIL_IF(common == NULL || script == NULL, err, AK_INTERNAL, "%s is not part of this build",
               spec->asset);
    ak_buf_puts(&text, common->data); /* an asset ends with a 0 */
    ak_buf_puts(&text, script->data);
    AK_DO(ak_buf_status(&text, err));
    AK_DO(reads == NULL ? AK_OK : ak_script_find(&home, spec->purpose, err));
    const char *const argv[] = {reads == NULL ? ak_script_python() : home.path[0], "-B", "-c",
                                text.data, NULL};
    (void)snprintf(temporary, sizeof temporary, "TMPDIR=%s", folder);
    const char *const variables[] = {"LC_ALL=C.UTF-8", temporary, spec->variable, NULL};
    ak_proc_spec process = {.argv = argv,
                            .setenv = spec->folder == NULL ? NULL : variables,
                            .keep_files = spec->keep_files};
    if (reads != NULL) {
        const char *const writable[] = {"/dev/null", folder[0] == 0 ? NULL : folder, NULL};
        ak_script_reads(reads, &home);
        ak_reads_add(reads, "/proc/self");
        (spec->may_start ? ak_sandbox_plan_open : ak_sandbox_plan_open_alone)(&plan, reads->path,
                                                                              writable);
        process.confine = ak_sandbox_plan_apply;
        process.confine_context = &plan;
    }
    *out = (ak_script){.who = spec->who, .held = AK_BUF(AK_SCRIPT_REPLY_MAX)};
    ak_status status = ak_proc_start(&out->proc, &process, err);
    if (reads != NULL) {
        ak_sandbox_plan_close(&plan);
    }
    return status;
}
