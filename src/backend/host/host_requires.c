/*
 * host_requires.c: finds which processor features an artifact needs. The macros that a compiler
 * defines under the job's options say which instructions it may use; the features have the names
 * that Linux gives them (/proc/cpuinfo, "flags" or "Features").
 */
#include <string.h>
#include <sys/utsname.h>

#include "backend/compile.h"
#include "backend/host/host.h"
#include "backend/sandbox.h"
#include "base/alloc.h"
#include "base/clock.h"

#define MACROS_MAX     (1u << 20)
#define MACROS_TIMEOUT (20 * AK_SECOND_NS)
#define CPUINFO_MAX    (16u << 20)

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

static ak_status ask(ak_proc_result *out, const char *const *argv, const char *compiler,
                     ak_error *err)
{
    char home[AK_PATH_MAX];
    const char *readable[AK_COMPILE_READS + 2];
    static const char *const writable[] = {"/dev/null", NULL};
    static const char *const variables[] = {"LC_ALL=C", NULL};
    ak_sandbox_plan plan;
    memcpy(readable, ak_compile_reads, sizeof ak_compile_reads);
    readable[AK_COMPILE_READS] = ak_compile_home(home, compiler) ? home : NULL;
    readable[AK_COMPILE_READS + 1] = NULL;
    ak_sandbox_plan_open(&plan, readable, writable);
    const ak_proc_spec spec = {.argv = argv,
                               .setenv = variables,
                               .confine = ak_sandbox_plan_apply,
                               .confine_context = &plan,
                               .timeout_ns = MACROS_TIMEOUT,
                               .output_max = MACROS_MAX};
    ak_status status = ak_proc_run(out, &spec, err);
    ak_sandbox_plan_close(&plan);
    if (status == AK_OK && out->exit_code != 0) {
        status = ak_fail(err, AK_IO, "%.100s: cannot be asked for its macros: %.*s", compiler,
                         (int)strcspn(out->output, "\n"), out->output);
    }
    return status;
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

/* Lists the features that the compiler may use and this machine reports. A feature that the system
   here does not report is left out, because another machine could not be asked for it either. */
static ak_status list_features(json_t *out, const char *macros, ak_error *err)
{
    char *cpuinfo = NULL;
    size_t length = 0;
    ak_status status = ak_fs_read(&cpuinfo, NULL, "/proc/cpuinfo", CPUINFO_MAX, err);
    const char *flags = status == AK_OK ? flags_of(&length, cpuinfo) : NULL;
    for (size_t i = 0; status == AK_OK && i < sizeof table / sizeof table[0]; i++) {
        if (flags != NULL && defines(macros, table[i].macro) &&
            tells(flags, length, table[i].feature) &&
            json_array_append_new(out, json_string(table[i].feature)) != 0) {
            status = ak_fail_memory(err);
        }
    }
    ak_free(cpuinfo);
    return status;
}

/* Returns whether a job asks for AMX by name (-mamx-bf16): what it compiles uses the tile
   registers, for which a process needs the system's permission. -march=native alone only allows
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

ak_status ak_host_requires(json_t **out, char *version, size_t bytes, const ak_compile_job *job,
                           ak_error *err)
{
    const char *compiler = job->compiler;
    static const char *const tail[] = {"-dM", "-E", "-x", "c", "/dev/null", NULL};
    enum { TAIL = sizeof tail / sizeof tail[0] };
    ak_proc_result run = {0};
    struct utsname here;
    json_t *needs = json_object(), *features = json_array();
    const char **argv = ak_alloc(job->argc + TAIL + 1, sizeof *argv);
    ak_status status = AK_OK;
    AK_TRY(needs == NULL || features == NULL || argv == NULL ? ak_fail_memory(err) : AK_OK);
    for (size_t i = 0; i < job->argc; i++) {
        if (strcmp(job->argv[i], AK_OPTION_OPENMP) == 0) {
            AK_TRY(ak_fail(err, AK_INVALID,
                           "a bundle cannot hold a kernel with OpenMP, because its runtime has "
                           "none; export best_config and compile the source with -fopenmp"));
        }
    }
    AK_TRY(compiler == NULL ? ak_host_compiler(&compiler, err) : AK_OK);
    argv[0] = compiler;
    for (size_t i = 0; i < job->argc; i++) {
        argv[1 + i] = job->argv[i];
    }
    memcpy(argv + 1 + job->argc, tail, sizeof tail);
    AK_TRY(ask(&run, argv, compiler, err));
    AK_TRY(list_features(features, run.output, err));
    ak_host_compiler_version(version, bytes, compiler);
    bool good = uname(&here) == 0 && ak_json_set_text(needs, "os", here.sysname) &&
                ak_json_set_text(needs, "architecture", here.machine) &&
                ak_json_set(needs, "cpu_features", json_incref(features)) &&
                (!uses_tiles(job) || ak_json_set(needs, "tiles", json_true()));
    AK_TRY(good ? AK_OK : ak_fail_memory(err));
    *out = json_incref(needs);
out:
    ak_proc_result_clear(&run);
    ak_free(argv);
    json_decref(needs);
    json_decref(features);
    return status;
}
