/*
 * host_device.c: finds out what the CPU is, from /proc, /sys and CPUID. What cannot be read gets a
 * modest default or is left out.
 */
#include <assert.h>
#include <gnu/libc-version.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "backend/host/host.h"
#include "backend/host/host_pool.h"
#include "base/alloc.h"
#include "base/number.h"

/* Room for several processors, each with some 1.5 KiB. The lines that are read are the same for the
   others, so a longer file does not matter. */
#define CPUINFO_MAX  (64u << 10)
#define SYS_TEXT_MAX 256
#define CACHES_MAX   8
#define LISTED_MAX   (1 << 20) /* higher numbers in a list of CPUs are ignored */
/* Used if /sys says nothing, because most processors have caches of at least these sizes. */
#define L1D_FALLBACK (32 << 10)
#define L2_FALLBACK  (256 << 10)
#define L3_FALLBACK  (4 << 20)

static const char *const compilers[] = {"gcc", "clang"};
enum { COMPILERS = AK_COUNT(compilers) };

int ak_host_cpus(void)
{
    cpu_set_t set;
    const long cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                                  : sysconf(_SC_NPROCESSORS_ONLN);
    return cpus < 1 ? 1 : cpus > AK_HOST_THREADS_MAX ? AK_HOST_THREADS_MAX : (int)cpus;
}

ak_status ak_host_cpuinfo(char **out, const char *path, ak_error *err)
{
    AK_DO(ak_fs_read_head(out, path, CPUINFO_MAX, err));
    if (strlen(*out) == CPUINFO_MAX) {
        char *end = strrchr(*out, '\n');
        (end == NULL ? *out : end + 1)[0] = 0; /* the last line is not whole */
    }
    return AK_OK;
}

/* Gives the value of the first line `key : value`; returns false if there is none. */
static bool cpuinfo(char *out, size_t bytes, const char *key)
{
    AK_FREED char *text = NULL;
    if (ak_host_cpuinfo(&text, AK_HOST_CPUINFO, NULL) != AK_OK) {
        return false;
    }
    bool found = false;
    size_t length = strlen(key);
    for (char *line = text; line != NULL && !found;) {
        char *end = strchr(line, '\n');
        const char *colon = strchr(line, ':');
        found = strncmp(line, key, length) == 0 && colon != NULL &&
                strspn(line + length, " \t") == (size_t)(colon - line) - length;
        if (found) {
            const char *value = colon + 1 + strspn(colon + 1, " ");
            (void)snprintf(out, bytes, "%.*s", (int)strcspn(value, "\n"), value);
        }
        line = end == NULL ? NULL : end + 1;
    }
    return found;
}

bool ak_host_hash_processor(ak_hasher *hasher)
{
    static const char *const varies[] = {"processor", "cpu MHz",  "physical id",
                                         "core id",   "apicid",   "initial apicid",
                                         "bogomips",  "BogoMIPS", NULL};
    AK_FREED char *text = NULL;
    if (ak_host_cpuinfo(&text, AK_HOST_CPUINFO, NULL) != AK_OK) {
        return false;
    }
    for (const char *line = text; *line != 0 && *line != '\n';) {
        size_t length = strcspn(line, "\n");
        if (!ak_text_begins(line, varies)) {
            ak_hasher_add(hasher, line, length);
        }
        line += length + (line[length] == '\n' ? 1 : 0);
    }
    return true;
}

static void cpu_name(char *out, size_t bytes)
{
    struct utsname system;
    if (!cpuinfo(out, bytes, "model name")) {
        bool known = uname(&system) == 0;
        (void)snprintf(out, bytes, "%s CPU", known ? system.machine : "unknown");
    }
}

/* Reads a file that describes cache `index` of the first CPU; gives "" if there is none. Returns
   `out`. */
static const char *read_cache(char out[SYS_TEXT_MAX + 1], int index, const char *name)
{
    char path[128];
    AK_FREED char *text = NULL;
    (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
    (void)ak_fs_read(&text, NULL, path, SYS_TEXT_MAX, NULL);
    (void)snprintf(out, SYS_TEXT_MAX + 1, "%s", ak_or_empty(text));
    return out;
}

/* Returns the index of the first CPU's data or unified cache at a level; -1 if there is none. */
static int cache_index(int level)
{
    for (int index = 0; index < CACHES_MAX; index++) {
        char text[SYS_TEXT_MAX + 1];
        if (read_cache(text, index, "level")[0] - '0' == level &&
            strncmp(read_cache(text, index, "type"), "Instruction", 11) != 0) {
            return index;
        }
    }
    return -1;
}

int64_t ak_host_cache_bytes(int level)
{
    assert(level >= 1 && level <= 3);
    const int index = cache_index(level);
    int64_t found = 0;
    if (index >= 0) {
        char text[SYS_TEXT_MAX + 1];
        size_t digits = strspn(read_cache(text, index, "size"), "0123456789");
        int64_t unit = text[digits] == 'K' ? 1 << 10 : text[digits] == 'M' ? 1 << 20 : 1;
        text[digits] = 0;
        found = ak_text_int(&found, text) && found < INT64_C(1) << 30 ? found * unit : 0;
    }
    return found > 0 ? found : level == 1 ? L1D_FALLBACK : level == 2 ? L2_FALLBACK : L3_FALLBACK;
}

int ak_host_count_listed(const char *list)
{
    int count = 0;
    for (const char *at = list; *at >= '0' && *at <= '9';) {
        char *end;
        const long first = strtol(at, &end, 10);
        const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        count += last >= first && last < LISTED_MAX ? (int)(last - first) + 1 : 0;
        at = *end == ',' ? end + 1 : "";
    }
    return count;
}

/* Returns the bytes of memory that the machine has or, if that is less, those that the control
   group of a container allows; 0 if the machine's are not known. */
static int64_t memory_bytes(void)
{
    static const char *const limits[] = {"/sys/fs/cgroup/memory.max",
                                         "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    int64_t bytes = pages > 0 && page > 0 ? (int64_t)pages * page : 0, limit;
    for (size_t i = 0; i < AK_COUNT(limits); i++) {
        AK_FREED char *text = NULL;
        if (ak_fs_read(&text, NULL, limits[i], SYS_TEXT_MAX, NULL) == AK_OK) {
            text[strcspn(text, "\n")] = 0; /* "max" is no number */
            bytes = ak_text_int(&limit, text) && limit > 0 && limit < bytes ? limit : bytes;
        }
    }
    return bytes;
}

void ak_host_caches_find(ak_host_caches *out)
{
    char text[SYS_TEXT_MAX + 1] = "";
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const int index = cache_index(3);
    *out = (ak_host_caches){.last_count = 1, .memory_bytes = memory_bytes()};
    for (int level = 1; level <= 3; level++) {
        out->bytes[level] = ak_host_cache_bytes(level);
    }
    const int share =
        index < 0 ? 0 : ak_host_count_listed(read_cache(text, index, "shared_cpu_list"));
    if (share > 0 && cpus > share) {
        out->last_count = (int)((cpus + share - 1) / share);
    }
}

int ak_host_vector_bytes(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")) {
        return 64;
    }
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 32 : 16;
#else
    return 16;
#endif
}

bool ak_host_tiles(void)
{
#if defined(__x86_64__)
    /* arch/x86/include/uapi/asm/prctl.h and arch/x86/include/asm/fpu/types.h of Linux */
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILE_DATA = 18 };
    enum { AMX_BF16 = 1 << 22, AMX_TILE = 1 << 24 }; /* bits of register edx of CPUID's leaf 7 */
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & AMX_BF16) != 0 &&
           (edx & AMX_TILE) != 0 &&
           syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILE_DATA) == 0;
#else
    return false;
#endif
}

static const char *vector_name(int bytes)
{
#if defined(__x86_64__)
    return bytes == 64 ? "AVX-512" : bytes == 32 ? "AVX2" : "SSE2";
#else
    (void)bytes;
    return "128-bit vectors";
#endif
}

ak_status ak_host_probe(ak_device_visitor visit, void *context, ak_error *err)
{
    char name[128], text[256], l2[AK_REAL_BYTES], l3[AK_REAL_BYTES];
    (void)err;
    cpu_name(name, sizeof name);
    int cpus = ak_host_cpus();
    (void)snprintf(text, sizeof text, "%s, %d CPU%s, %s, L2 %s, L3 %s", name, cpus,
                   cpus == 1 ? "" : "s", vector_name(ak_host_vector_bytes()),
                   ak_number_size(l2, (size_t)ak_host_cache_bytes(2)),
                   ak_number_size(l3, (size_t)ak_host_cache_bytes(3)));
    visit(context, "host", text);
    return AK_OK;
}

ak_status ak_host_facts(ak_scope *out, const char *device, int threads, ak_error *err)
{
    int bytes = ak_host_vector_bytes();
#if defined(__x86_64__)
    int registers = bytes == 64 ? 32 : 16;
#else
    int registers = 32;
#endif
    const struct {
        const char *name;
        int64_t value;
    } facts[] = {
        {"cpu_threads", threads > 0 ? threads : ak_host_cpus()},
        {"vector_bytes", bytes},
        {"vector_registers", registers},
        {"amx_bf16", ak_host_tiles()},
        {"l1d_bytes", ak_host_cache_bytes(1)},
        {"l2_bytes", ak_host_cache_bytes(2)},
        {"l3_bytes", ak_host_cache_bytes(3)},
    };
    (void)device;
    int cpus = ak_host_cpus();
    AK_FAIL_IF(threads > cpus, err, AK_INVALID,
               "threads: %d is more than this machine's %d processor%s; give fewer, or 0 for all",
               threads, cpus, cpus == 1 ? "" : "s");
    for (size_t i = 0; i < AK_COUNT(facts); i++) {
        AK_DO(ak_scope_set_int(out, facts[i].name, facts[i].value, err));
    }
    return AK_OK;
}

/* Describes what results depend on. An artifact needs only the C library's and its compiler's
   libraries; the versions of the C library, gcc and clang are given. Vendor libraries take no part
   in a trial; a comparison names their versions. */
ak_status ak_host_environment(json_t **out, const char *device, ak_error *err)
{
    char name[128], version[COMPILERS][128];
    struct utsname system;
    cpu_name(name, sizeof name);
    for (size_t i = 0; i < COMPILERS; i++) {
        AK_DO(ak_host_need_version(version[i], sizeof version[i], compilers[i], err));
    }
    json_t *versions = json_object();
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:i, s:i, s:I, s:I}", "backend", "host", "device", device, "name", name,
        "cpus", ak_host_cpus(), "vector_bytes", ak_host_vector_bytes(), "l2_bytes",
        (json_int_t)ak_host_cache_bytes(2), "l3_bytes", (json_int_t)ak_host_cache_bytes(3));
    bool good = object != NULL && versions != NULL;
    if (good && uname(&system) == 0) {
        good = ak_json_set_text(object, "kernel", system.release) &&
               ak_json_set_text(object, "machine", system.machine);
    }
    good = good && ak_json_set_text(object, "libc", gnu_get_libc_version());
    for (size_t i = 0; good && i < COMPILERS; i++) {
        good = version[i][0] == 0 || ak_json_set_text(versions, compilers[i], version[i]);
    }
    good = ak_json_set(object, "compilers", versions) && good;
    return ak_json_give(out, object, good, err);
}
