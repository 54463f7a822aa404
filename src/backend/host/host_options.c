/*
 * host_options.c: lists the options that a space file may give gcc and clang, by prefix. Other
 * options could run a program (-wrapper, -B, -specs, -fplugin), read a file (-include, @file) or
 * choose what is linked (-Wl, -l, -L): a candidate consists of its source and these options.
 */
#include <string.h>

#include "backend/host/host.h"

static const char *const listed[] = {
    "-D", "-U",        "-O", "-f",  "-m",       "-std=",    "--std=", "-ansi",   "-g",
    "-W", "-pedantic", "-I", "-lm", "--param=", "-pthread", "-pipe",  "-shared", NULL};

/* These options match the list above but do more than change the code, so they are refused. */
static const char *const unlisted[] = {
    "-fplugin", "-fpass-plugin", "-fprofile", "-fauto-profile", "-fbranch-probabilities", "-fdump",
    "-fuse-ld", "-foffload", "-fopenmp", "-fopenacc", "-fmodule", "-fcrash-diagnostics", "-fsave-",
    "-fcallgraph", "-fstack-usage", "-ftest-coverage", "-fsanitize", "-fopt-info", "-fthinlto",
    "-fbuild-session", "-fembed", "-ffile-", "-fdebug-prefix", "-fcs-profile", "-fxray",
    "-fcoverage", "-fload", "-mllvm", "-Wl,", "-Wa,", "-Wp,", "-gsplit",
    /* Newer compilers, or only clang, would write or read files with these. */
    "-foptimization-record", "-ftime-trace", "-fproc-stat-report", "-fdep", "-fdiagnostics-add",
    "-fdiagnostics-set", "-fdiagnostics-format", "-fthin-link", "-fprebuilt", "-frandomize-layout",
    "-fbuiltin-module", NULL};

/* Returns whether -I has an absolute path without "..", which means the same folder everywhere. The
   sandbox decides what may be read. */
static bool names_folder(const char *path)
{
    return path[0] == '/' && strstr(path, "/..") == NULL;
}

static bool allows_option(const char *option)
{
    if (strcmp(option, "-w") == 0 || strcmp(option, "-fopenmp-simd") == 0) {
        return true; /* -fopenmp-simd makes vectors and no call of the OpenMP library */
    }
    if (!ak_text_begins(option, listed) || ak_text_begins(option, unlisted)) {
        return false;
    }
    if (strncmp(option, "-I", 2) == 0) {
        return names_folder(option + 2);
    }
    /* Alone, -D or -U would consume the next option. */
    return strcmp(option, "-D") != 0 && strcmp(option, "-U") != 0 &&
           (strncmp(option, "-lm", 3) != 0 || option[3] == 0);
}

/* Adds the option for OpenMP and the one for C++, which is needed because the name of every source
   ends in .c. Fortran has a file of its own (host_compile.c). */
static ak_status add_language(ak_options *out, const ak_task *task, const ak_config *config,
                              ak_error *err)
{
    (void)config;
    if (task->implementation->openmp) {
        AK_DO(ak_options_add(out, AK_OPTION_OPENMP, err));
    }
    return ak_text_same(task->implementation->language, "c++") ? ak_options_add(out, "-xc++", err)
                                                               : AK_OK;
}

const ak_backend_rules ak_host_rules = {
    .add_options = add_language, .allows_option = allows_option, .adapt = ak_host_adapt};
