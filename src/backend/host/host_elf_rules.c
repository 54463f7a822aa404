/*
 * host_elf_rules.c: decides what a candidate's artifact may contain. Results are trustworthy only
 * if "a kernel keeps no state between calls" (ak_host.h), so an artifact has no place to keep any:
 * what the loader maps writable is read-only once it is relocated (PT_GNU_RELRO), nothing is
 * thread-local, nothing runs when the artifact is loaded, and of libraries it names only functions
 * that compute, handle its own memory, carry out OpenMP (host_openmp.h), or end the process.
 */
#include <stdio.h>
#include <string.h>

#include "backend/host/host.h"
#include "backend/host/host_elf_parts.h"
#include "base/text.h"

#define SEGMENTS_MAX 64
#define NAME_BYTES   128

typedef struct elf_file {
    ak_elf elf;
    Elf64_Phdr relro;
} elf_file;

/* The memory that stays writable, from `begin` to `end`, and a variable there, which the message
   names. */
typedef struct variable {
    uint64_t begin, end;
    char name[64];
} variable;

static bool lies_there(void *context, const Elf64_Sym *symbol, const char *name)
{
    variable *v = context;
    bool there = ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_size > 0 &&
                 symbol->st_value >= v->begin && symbol->st_value < v->end && name[0] != 0;
    if (there) {
        (void)snprintf(v->name, sizeof v->name, " (\"%.48s\")", name);
    }
    return there;
}

/* Returns true, with the reason in `why`, if the compiler has added the variable. `name` is written
   as " ("NAME")". */
static bool not_its_own(char *why, size_t bytes, const char *name)
{
    static const struct {
        const char *name, *what;
    } added[] = {
        {"__cpu_model", "of libgcc, for target_clones and __builtin_cpu_supports: a kernel is "
                        "compiled for one processor; choose code by #ifdef and -march"},
        {"__cpu_features", "of libgcc, for target_clones and __builtin_cpu_supports: a kernel is "
                           "compiled for one processor; choose code by #ifdef and -march"},
        {"__bid_", "of libgcc, for decimal floating point (_Decimal64): use another type"},
        {"__dpd_", "of libgcc, for decimal floating point (_Decimal64): use another type"},
        {".gomp_critical_user_", "of \"#pragma omp critical\" with a name: leave out the name"},
        {".gomp_critical", "of \"#pragma omp critical\": compile with gcc"}};
    for (size_t i = 0; i < AK_COUNT(added) && name[0] != 0; i++) {
        if (strncmp(name + 3, added[i].name, strlen(added[i].name)) == 0) {
            (void)snprintf(why, bytes, "it has a variable that stays writable between calls%s %s",
                           name, added[i].what);
            return true;
        }
    }
    return false;
}

static bool keeps_state(char *why, size_t bytes, const elf_file *f, const Elf64_Phdr *load)
{
    uint64_t end = load->p_vaddr + load->p_memsz, sealed = load->p_vaddr;
    if (f->relro.p_memsz > 0 && f->relro.p_vaddr <= load->p_vaddr) {
        uint64_t relro_end = f->relro.p_vaddr + f->relro.p_memsz;
        sealed = relro_end > sealed ? relro_end : sealed;
    }
    if (end <= sealed) {
        return false;
    }
    variable v = {.begin = sealed, .end = end};
    (void)ak_elf_symbols(&f->elf, lies_there, &v);
    if (not_its_own(why, bytes, v.name)) {
        return true;
    }
    (void)snprintf(why, bytes,
                   "it keeps state between calls: %llu bytes that stay writable%s; a kernel's "
                   "memory is its workspace, and its tables are const",
                   (unsigned long long)(end - sealed), v.name);
    return true;
}

static bool is_forbidden(void *context, const Elf64_Sym *symbol, const char *name)
{
    const char **found = context;
    char bare[NAME_BYTES]; /* the name without its version; all callable names fit */
    (void)snprintf(bare, sizeof bare, "%.*s", (int)strcspn(name, "@"), name);
    bool imported = symbol->st_shndx == SHN_UNDEF && bare[0] != 0;
    bool fine = !imported || ak_host_elf_callable(bare);
    *found = fine ? NULL : name;
    return !fine;
}

bool ak_host_elf_is_hook(void *context, const Elf64_Sym *symbol, const char *name)
{
    static const char *const beginnings[] = {
        "__asan_",   "__ubsan_",  "__sanitizer_",   "__lsan_",         "__tsan_", "__msan_",
        "__hwasan_", "__sancov_", "__interceptor_", "___interceptor_", NULL};
    const bool hook = symbol->st_shndx != SHN_UNDEF && ak_text_begins(name, beginnings);
    *(const char **)context = name;
    return hook;
}

static bool is_resolver(void *context, const Elf64_Sym *symbol, const char *name)
{
    (void)context, (void)name;
    return ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC && symbol->st_shndx != SHN_UNDEF;
}

static bool segment_refused(char *why, size_t bytes, const elf_file *f, const Elf64_Phdr *p)
{
    bool writable = (p->p_flags & PF_W) != 0, executable = (p->p_flags & PF_X) != 0;
    if (p->p_type == PT_LOAD && writable && executable) {
        (void)snprintf(why, bytes, "its code is writable");
        return true;
    }
    if (p->p_type == PT_GNU_STACK && executable) {
        (void)snprintf(why, bytes, "it needs an executable stack");
        return true;
    }
    if (p->p_type == PT_TLS && p->p_memsz > 0) {
        (void)snprintf(
            why, bytes,
            "it keeps state between calls: %llu bytes for each thread; a kernel's memory "
            "is its workspace",
            (unsigned long long)p->p_memsz);
        return true;
    }
    if (p->p_type == PT_DYNAMIC &&
        (ak_host_elf_runs_early(&f->elf) || ak_elf_symbols(&f->elf, is_resolver, NULL))) {
        (void)snprintf(why, bytes,
                       "it has code that runs when it is loaded: constructors and resolvers are "
                       "not part of a kernel");
        return true;
    }
    return p->p_type == PT_LOAD && writable && keeps_state(why, bytes, f, p);
}

bool ak_host_elf_refused(char *why, size_t bytes, const unsigned char *file, size_t length)
{
    elf_file f = {0};
    Elf64_Phdr p;
    if (!ak_elf_open(&f.elf, file, length)) {
        return false; /* Loading will report a file that is not an artifact. */
    }
    if (f.elf.head.e_phentsize != sizeof p || f.elf.head.e_phnum > SEGMENTS_MAX) {
        (void)snprintf(why, bytes, "it is not a shared object as compilers write them");
        return true;
    }
    for (size_t i = 0; ak_elf_segment(&p, &f.elf, i); i++) {
        f.relro = p.p_type == PT_GNU_RELRO ? p : f.relro;
    }
    for (size_t i = 0; ak_elf_segment(&p, &f.elf, i); i++) {
        if (segment_refused(why, bytes, &f, &p)) {
            return true;
        }
    }
    static const char *const made_of_printf[] = {
        "puts", "putchar", "__printf_chk", "fwrite", "fputc", "__fprintf_chk", NULL};
    const char *name = NULL;
    if (ak_elf_symbols(&f.elf, is_forbidden, &name)) {
        if (strcmp(name, "omp_set_num_threads") == 0) {
            (void)snprintf(why, bytes,
                           "it uses omp_set_num_threads, which lasts from call to call: write "
                           "\"#pragma omp parallel num_threads(N)\"");
            return true;
        }
        if (strncmp(name, "_Z", 2) == 0 || strncmp(name, "__cxa_", 6) == 0) {
            (void)snprintf(why, bytes,
                           "it uses %.48s of the C++ library, which new, containers such as "
                           "std::vector and exceptions need: a kernel has C's library only, so "
                           "allocate by malloc and free",
                           name);
            return true;
        }
        (void)snprintf(why, bytes,
                       "it uses %.48s of a library%s: a kernel calls mathematics and what copies, "
                       "compares and allocates memory, and has threads from call->parallel",
                       name,
                       ak_text_is_one_of(name, made_of_printf)
                           ? ", into which compilers turn printf and fprintf"
                           : "");
        return true;
    }
    if (ak_elf_symbols(&f.elf, ak_host_elf_is_hook, &name)) {
        (void)snprintf(why, bytes, "it defines %.60s, which is part of the sanitizers", name);
        return true;
    }
    return ak_host_elf_dynamic_refused(why, bytes, &f.elf);
}
