/*
 * host_requires.c: finds which processor features an artifact needs. The macros that a compiler
 * defines under the job's options, and under those of target attributes in the source, say which
 * instructions it may use, and so do options with the name of a feature (-mrtm). If the source has
 * assembly, or something else that may use any instruction, all features count that this machine
 * has and this file knows. The features have the names that Linux gives them (/proc/cpuinfo,
 * "flags" or "Features").
 */
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "backend/compile.h"
#include "backend/host/host.h"
#include "base/alloc.h"
#include "base/clock.h"

#define MACROS_MAX     (1u << 20)
#define MACROS_TIMEOUT (20 * AK_SECOND_NS)

/* The names are from arch/x86/include/asm/cpufeatures.h and arch/arm64/kernel/cpuinfo.c of Linux.
 */
static const struct {
    const char *macro, *feature;
} table[] = {{"__SSE3__", "pni"},
             {"__SSSE3__", "ssse3"},
             {"__SSE4_1__", "sse4_1"},
             {"__SSE4_2__", "sse4_2"},
             {"__POPCNT__", "popcnt"},
             {"__AVX__", "avx"},
             {"__AVX2__", "avx2"},
             {"__FMA__", "fma"},
             {"__F16C__", "f16c"},
             {"__BMI__", "bmi1"},
             {"__BMI2__", "bmi2"},
             {"__LZCNT__", "abm"},
             {"__MOVBE__", "movbe"},
             {"__ADX__", "adx"},
             {"__AES__", "aes"},
             {"__PCLMUL__", "pclmulqdq"},
             {"__VAES__", "vaes"},
             {"__VPCLMULQDQ__", "vpclmulqdq"},
             {"__GFNI__", "gfni"},
             {"__SHA__", "sha_ni"},
             {"__RDRND__", "rdrand"},
             {"__RDSEED__", "rdseed"},
             {"__FMA4__", "fma4"},
             {"__XOP__", "xop"},
             {"__AVXVNNI__", "avx_vnni"},
             {"__AVX512F__", "avx512f"},
             {"__AVX512CD__", "avx512cd"},
             {"__AVX512BW__", "avx512bw"},
             {"__AVX512DQ__", "avx512dq"},
             {"__AVX512VL__", "avx512vl"},
             {"__AVX512IFMA__", "avx512ifma"},
             {"__AVX512VBMI__", "avx512vbmi"},
             {"__AVX512VBMI2__", "avx512_vbmi2"},
             {"__AVX512VNNI__", "avx512_vnni"},
             {"__AVX512BITALG__", "avx512_bitalg"},
             {"__AVX512VPOPCNTDQ__", "avx512_vpopcntdq"},
             {"__AVX512BF16__", "avx512_bf16"},
             {"__AVX512FP16__", "avx512_fp16"},
             {"__AVX512VP2INTERSECT__", "avx512_vp2intersect"},
             {"__AMX_TILE__", "amx_tile"},
             {"__AMX_INT8__", "amx_int8"},
             {"__AMX_BF16__", "amx_bf16"},
             {"__ARM_FEATURE_ATOMICS", "atomics"},
             {"__ARM_FEATURE_CRC32", "crc32"},
             {"__ARM_FEATURE_DOTPROD", "asimddp"},
             {"__ARM_FEATURE_FP16_VECTOR_ARITHMETIC", "asimdhp"},
             {"__ARM_FEATURE_MATMUL_INT8", "i8mm"},
             {"__ARM_FEATURE_BF16_VECTOR_ARITHMETIC", "bf16"},
             {"__ARM_FEATURE_SVE", "sve"},
             {"__ARM_FEATURE_SVE2", "sve2"}};

/* Features that only intrinsics and assembly use; compilers never choose them by themselves. */
static const char *const more[] = {
    "sse4a",          "rtm",      "clflushopt",  "clwb",           "fsgsbase",
    "rdpid",          "waitpkg",  "movdiri",     "movdir64b",      "serialize",
    "sha512",         "sm3",      "sm4",         "avx_ifma",       "avx_vnni_int8",
    "avx_vnni_int16", "amx_fp16", "amx_complex", "avx_ne_convert", "cldemote",
    "3dnowprefetch"};

/* Asks options->compiler which macros it defines under `options` and `more_option` (NULL: none). */
static ak_status ask(ak_proc_result *out, const ak_options *options, const char *more_option,
                     ak_error *err)
{
    const char *const tail[] = {more_option, "-dM", "-E", "-x", "c", "/dev/null"};
    AK_FREED const char **argv =
        ak_compile_command(options->compiler, (const char *const *)options->argv, options->count,
                           tail, AK_COUNT(tail));
    AK_DO(ak_made(argv, err));
    const ak_proc_spec spec = {
        .argv = argv, .timeout_ns = MACROS_TIMEOUT, .output_max = MACROS_MAX};
    return ak_compile_run(out, spec, NULL, NULL, err);
}

/* Returns whether a macro is defined, by a line such as "#define __AVX2__ 1". */
static bool defines(const char *macros, const char *name)
{
    char line[80];
    (void)snprintf(line, sizeof line, "#define %.60s ", name);
    return strstr(macros, line) != NULL;
}

/* Returns whether the line of the first processor's flags holds a feature, such as " avx2 ". */
static bool tells(const char *line, size_t length, const char *feature)
{
    char word[64];
    int n = snprintf(word, sizeof word, " %.60s", feature);
    const char *at = line;
    while ((at = memmem(at, length - (size_t)(at - line), word, (size_t)n)) != NULL) {
        at += n;
        if (at == line + length || *at == ' ') {
            return true;
        }
    }
    return false;
}

/* Returns the line with the flags of the first processor; NULL if the system does not tell them. */
static const char *flags_of(size_t *length, const char *cpuinfo)
{
    for (const char *line = cpuinfo; line != NULL && *line != 0; line = strchr(line, '\n')) {
        line += *line == '\n' ? 1 : 0;
        if (strncmp(line, "flags", 5) == 0 || strncmp(line, "Features", 8) == 0) {
            *length = strcspn(line, "\n");
            return line;
        }
    }
    return NULL;
}

/* The line with the flags of this machine's first processor. */
typedef struct machine {
    char *cpuinfo;
    const char *flags;
    size_t length;
} machine;

/* Adds a feature that this machine reports, unless the list has it. One that the system here does
   not report is left out, because another machine could not be asked for it either. */
static ak_status add(json_t *list, const machine *here, const char *feature, ak_error *err)
{
    bool known = here->flags == NULL || !tells(here->flags, here->length, feature);
    for (size_t i = 0; i < json_array_size(list) && !known; i++) {
        known = strcmp(json_string_value(json_array_get(list, i)), feature) == 0;
    }
    return ak_stored(known || ak_json_append(list, json_string(feature)), err);
}

/* Adds the features whose macros are defined; if `macros` is NULL, all features of the table. */
static ak_status add_features(json_t *list, const machine *here, const char *macros, ak_error *err)
{
    for (size_t i = 0; i < AK_COUNT(table); i++) {
        if (macros == NULL || defines(macros, table[i].macro)) {
            AK_DO(add(list, here, table[i].feature, err));
        }
    }
    return AK_OK;
}

/* Adds the feature that an option names, such as -mrtm, if it has Linux's name. */
static ak_status add_named(json_t *list, const machine *here, const char *option, ak_error *err)
{
    char name[64];
    if (strncmp(option, "-m", 2) != 0 || strlen(option) >= sizeof name) {
        return AK_OK;
    }
    (void)snprintf(name, sizeof name, "%s", option + 2);
    for (char *p = name; *p != 0; p++) {
        *p = *p == '-' || *p == '.' ? '_' : *p;
    }
    return add(list, here, name, err);
}

/* Adds what the source lets the compiler use beyond the job's options: all that is known here if
   the source has something that is not understood, or a target that the compiler refuses. */
static ak_status add_targets(json_t *list, const machine *here, ak_host_targets *targets,
                             const ak_options *options, ak_error *err)
{
    for (size_t i = 0; i < targets->options.count; i++) {
        AK_AT_END(ak_proc_result_clear) ak_proc_result run = {0};
        const char *option = targets->options.argv[i];
        AK_DO(ask(&run, options, option, err));
        targets->unknown = targets->unknown || run.exit_code != 0;
        AK_DO(run.exit_code == 0 ? add_features(list, here, run.output, err) : AK_OK);
        AK_DO(add_named(list, here, option, err));
    }
    for (size_t i = 0; i < AK_COUNT(more) && targets->unknown; i++) {
        AK_DO(add(list, here, more[i], err));
    }
    return targets->unknown ? add_features(list, here, NULL, err) : AK_OK;
}

/* Looks for target attributes and pragmas in the source of a job. Its Fortran part, which has none,
   is left out. */
static ak_status read_source(ak_host_targets *out, const ak_options *options,
                             const ak_compile_job *job, ak_error *err)
{
    char path[AK_PATH_MAX], *begin, *end;
    AK_FREED char *text = NULL, *seen = NULL;
    size_t length = 0;
    AK_AT_END(ak_proc_result_clear) ak_proc_result run = {0};
    AK_DO(ak_fs_read(&text, &length, job->source_path, AK_SOURCE_BYTES_MAX, err));
    if (ak_host_fortran_part(&begin, &end, text)) {
        memset(begin, ' ', (size_t)(end - begin));
    }
    AK_DO(ak_fs_join(path, job->folder, "seen.c", err));
    AK_DO(ak_fs_write(path, text, length, err));
    AK_DO(ak_host_preprocess(&seen, &run, options, path, job->folder, err));
    ak_status status = ak_host_targets_of(out, text, ak_or_empty(seen), err);
    out->unknown = out->unknown || seen == NULL;
    (void)unlink(path);
    return status;
}

/* Returns whether a job asks for AMX by name (-mamx-bf16). Its code then uses the tile registers,
   for which a process needs the system's permission. Under -march=native alone code need not use
   them. */
static bool uses_tiles(const ak_compile_job *job)
{
    for (size_t i = 0; i < job->argc; i++) {
        if (strncmp(job->argv[i], "-mamx-", 6) == 0) {
            return true;
        }
    }
    return false;
}

static ak_status refuse_openmp(const ak_compile_job *job, ak_error *err)
{
    return AK_HAS_TEXT(job->argv, job->argc, AK_OPTION_OPENMP)
               ? ak_fail(err, AK_INVALID,
                         "a bundle cannot hold a kernel with OpenMP, because its runtime has "
                         "none; export best_config and compile the source with -fopenmp")
               : AK_OK;
}

ak_status ak_host_requires(json_t **out, char *version, size_t bytes, const ak_compile_job *job,
                           ak_error *err)
{
    ak_options options = {.compiler = job->compiler,
                          .argv = (char **)job->argv, /* borrowed */
                          .count = job->argc};
    AK_AT_END(ak_proc_result_clear) ak_proc_result run = {0};
    AK_AT_END(ak_host_targets_clear) ak_host_targets targets = {.unknown = false};
    AK_FREED char *cpuinfo = NULL;
    struct utsname system;
    json_auto_t *needs = json_object(), *features = json_array();
    AK_DO(ak_stored(needs != NULL && features != NULL, err));
    AK_DO(refuse_openmp(job, err));
    AK_DO(options.compiler == NULL ? ak_host_compiler(&options.compiler, err) : AK_OK);
    AK_DO(ask(&run, &options, NULL, err));
    AK_FAIL_IF(run.exit_code != 0, err, AK_IO, "%.100s: cannot be asked for its macros: %.*s",
               options.compiler, (int)strcspn(run.output, "\n"), run.output);
    AK_DO(ak_host_cpuinfo(&cpuinfo, AK_HOST_CPUINFO, err));
    machine here = {.cpuinfo = cpuinfo};
    here.flags = flags_of(&here.length, here.cpuinfo);
    AK_DO(add_features(features, &here, run.output, err));
    for (size_t i = 0; i < job->argc; i++) {
        AK_DO(add_named(features, &here, job->argv[i], err));
    }
    AK_DO(read_source(&targets, &options, job, err));
    AK_DO(add_targets(features, &here, &targets, &options, err));
    AK_DO(ak_host_need_version(version, bytes, options.compiler, err));
    bool good = uname(&system) == 0 && ak_json_set_text(needs, "os", system.sysname) &&
                ak_json_set_text(needs, "architecture", system.machine) &&
                ak_json_set(needs, "cpu_features", json_incref(features)) &&
                (!(uses_tiles(job) || targets.tiles) || ak_json_set(needs, "tiles", json_true()));
    AK_DO(ak_stored(good, err));
    *out = json_incref(needs);
    return AK_OK;
}
