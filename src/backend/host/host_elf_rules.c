/*
 * host_elf_rules.c: decides what a candidate's artifact may contain. Results are trustworthy only
 * if "a kernel keeps no state between calls" (ak_host.h), so an artifact has no place to keep any:
 * what the loader maps writable is read-only once it is relocated (PT_GNU_RELRO), nothing is
 * thread-local, nothing runs when the artifact is loaded, and of libraries it names only functions
 * that compute or handle its own memory.
 */
#include <stdio.h>
#include <string.h>

#include "backend/elf_file.h"
#include "backend/host/host.h"
#include "backend/host/host_openmp.h"

#define SEGMENTS_MAX 64

typedef struct elf_file {
    ak_elf elf;
    Elf64_Phdr relro;
} elf_file;

static bool segment(Elf64_Phdr *out, const elf_file *f, size_t i)
{
    uint64_t at = f->elf.head.e_phoff + i * sizeof *out;
    if (i >= f->elf.head.e_phnum || !ak_elf_inside(at, sizeof *out, f->elf.length)) {
        return false;
    }
    memcpy(out, f->elf.bytes + at, sizeof *out);
    return true;
}

/* A variable in the part that stays writable, to be named in the message. */
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
    (void)snprintf(why, bytes,
                   "it keeps state between calls: %llu bytes that stay writable%s; a kernel's "
                   "memory is its workspace, and its tables are const",
                   (unsigned long long)(end - sealed), v.name);
    return true;
}

/* What a kernel may call: memory of its own, bytes, sorting, and mathematics, which
   is_mathematics knows. Whatever else the C library has keeps state (a locale, a random sequence,
   an environment), does input and output, or concerns the process. */
static const char *const callable[] = {
    "abort",         "abs",           "aligned_alloc",  "bcmp",
    "bsearch",       "bzero",         "calloc",         "div",
    "exit",          "free",          "imaxabs",        "labs",
    "ldiv",          "llabs",         "lldiv",          "malloc",
    "memalign",      "memccpy",       "memchr",         "memcmp",
    "memcpy",        "memmem",        "memmove",        "mempcpy",
    "memrchr",       "memset",        "posix_memalign", "qsort",
    "realloc",       "snprintf",      "strcmp",         "strlen",
    "strncmp",       "__assert_fail", "__memcpy_chk",   "__memmove_chk",
    "__mempcpy_chk", "__memset_chk",  "__snprintf_chk", "__stack_chk_fail"};

static const char *const mathematics[] = {
    "acos",         "acosh",       "asin",          "asinh",      "atan",         "atan2",
    "atanh",        "cbrt",        "ceil",          "copysign",   "cos",          "cosh",
    "erf",          "erfc",        "exp",           "exp10",      "exp2",         "expm1",
    "fabs",         "fdim",        "feclearexcept", "fegetround", "feholdexcept", "fesetround",
    "fetestexcept", "feupdateenv", "floor",         "fma",        "fmax",         "fmin",
    "fmod",         "frexp",       "hypot",         "ilogb",      "ldexp",        "lgamma",
    "llrint",       "llround",     "log",           "log10",      "log1p",        "log2",
    "logb",         "lrint",       "lround",        "modf",       "nan",          "nearbyint",
    "nextafter",    "nexttoward",  "pow",           "remainder",  "remquo",       "rint",
    "round",        "roundeven",   "scalbln",       "scalbn",     "significand",  "sin",
    "sincos",       "sinh",        "sqrt",          "tan",        "tanh",         "tgamma",
    "trunc",        "cabs",        "carg",          "cexp",       "cimag",        "clog",
    "conj",         "cpow",        "creal",         "csqrt",      "csin",         "ccos"};

/* Names of compilers for functions of vectors: of glibc (libmvec) and of Intel's compilers. */
static const char *const vectors[] = {"_ZGV", "__svml_", "__intel_", "_intel_fast_"};

static bool one_of(const char *const *list, size_t count, const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(list[i]) == length && strncmp(list[i], name, length) == 0) {
            return true;
        }
    }
    return false;
}

/* The float and long double versions of a function have its name and a letter more; older versions
   of glibc add a prefix and a suffix with -ffinite-math. */
static bool is_mathematics(const char *name, size_t length)
{
    static const char finite[] = "_finite";
    const size_t tail = sizeof finite - 1, count = sizeof mathematics / sizeof mathematics[0];
    if (length > tail + 2 && strncmp(name, "__", 2) == 0 &&
        strncmp(name + length - tail, finite, tail) == 0) {
        name += 2;
        length -= tail + 2;
    }
    bool letter = length > 1 && (name[length - 1] == 'f' || name[length - 1] == 'l');
    return one_of(mathematics, count, name, length) ||
           (letter && one_of(mathematics, count, name, length - 1));
}

static bool is_forbidden(void *context, const Elf64_Sym *symbol, const char *name)
{
    const char **found = context;
    size_t length = strcspn(name, "@");
    bool imported = symbol->st_shndx == SHN_UNDEF && length > 0;
    bool fine = !imported || one_of(callable, sizeof callable / sizeof callable[0], name, length) ||
                is_mathematics(name, length) || ak_openmp_has(name, length) ||
                strcmp(name, "_GLOBAL_OFFSET_TABLE_") == 0;
    for (size_t i = 0; !fine && i < sizeof vectors / sizeof vectors[0]; i++) {
        fine = strncmp(name, vectors[i], strlen(vectors[i])) == 0;
    }
    *found = fine ? NULL : name;
    return !fine;
}

static bool is_resolver(void *context, const Elf64_Sym *symbol, const char *name)
{
    (void)context, (void)name;
    return ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC && symbol->st_shndx != SHN_UNDEF;
}

/* What the loader may do to an artifact: write addresses of its own and of what it imports. All
   other relocations are refused: an IRELATIVE one calls code of the artifact (and needs no symbol
   that names a resolver), a COPY one brings a variable of a library, those of TLS bring state. */
static bool is_plain_relocation(const elf_file *f, uint64_t type)
{
    switch (f->elf.head.e_machine) {
    case EM_X86_64:
        return type == R_X86_64_NONE || type == R_X86_64_64 || type == R_X86_64_GLOB_DAT ||
               type == R_X86_64_JUMP_SLOT || type == R_X86_64_RELATIVE;
    case EM_AARCH64:
        return type == R_AARCH64_NONE || type == R_AARCH64_ABS64 || type == R_AARCH64_GLOB_DAT ||
               type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_RELATIVE;
    default:
        return true; /* such a processor's numbers are not known here */
    }
}

/* Finds bytes of the file by the address that they are loaded at. */
static bool loaded_at(uint64_t *out, const elf_file *f, uint64_t address, uint64_t size)
{
    Elf64_Phdr p;
    for (size_t i = 0; segment(&p, f, i); i++) {
        if (p.p_type == PT_LOAD && address >= p.p_vaddr &&
            ak_elf_inside(address - p.p_vaddr, size, p.p_filesz)) {
            *out = p.p_offset + (address - p.p_vaddr);
            return ak_elf_inside(*out, size, f->elf.length);
        }
    }
    return false;
}

/* Returns whether a table of relocations, as the dynamic section gives it, has others than plain
   ones, or is not where it should be. */
static bool has_odd_relocation(const elf_file *f, uint64_t address, uint64_t size)
{
    uint64_t at = 0;
    Elf64_Rela one;
    if (size == 0) {
        return false;
    }
    if (!loaded_at(&at, f, address, size)) {
        return true;
    }
    for (uint64_t k = 0; k + sizeof one <= size; k += sizeof one) {
        memcpy(&one, f->elf.bytes + at + k, sizeof one);
        if (!is_plain_relocation(f, ELF64_R_TYPE(one.r_info))) {
            return true;
        }
    }
    return false;
}

/* Returns whether the artifact runs code when it is loaded or unloaded, or is rewritten by the
   loader. */
static bool runs_early(const elf_file *f, const Elf64_Phdr *dynamic)
{
    Elf64_Dyn entry;
    for (uint64_t k = 0; k + sizeof entry <= dynamic->p_filesz; k += sizeof entry) {
        if (!ak_elf_inside(dynamic->p_offset + k, sizeof entry, f->elf.length)) {
            return true;
        }
        memcpy(&entry, f->elf.bytes + dynamic->p_offset + k, sizeof entry);
        if (entry.d_tag == DT_NULL) {
            break;
        }
        if (entry.d_tag == DT_INIT || entry.d_tag == DT_FINI || entry.d_tag == DT_INIT_ARRAY ||
            entry.d_tag == DT_FINI_ARRAY || entry.d_tag == DT_TEXTREL) {
            return true;
        }
    }
    return ak_elf_symbols(&f->elf, is_resolver, NULL);
}

/* Returns whether the loader would do more than write plain addresses. */
static bool is_relocated_oddly(const elf_file *f, const Elf64_Phdr *dynamic)
{
    Elf64_Dyn entry;
    uint64_t all = 0, bytes = 0, imports = 0, import_bytes = 0;
    for (uint64_t k = 0; k + sizeof entry <= dynamic->p_filesz; k += sizeof entry) {
        memcpy(&entry, f->elf.bytes + dynamic->p_offset + k, sizeof entry);
        if (entry.d_tag == DT_NULL) {
            break;
        }
        if (entry.d_tag == DT_REL) {
            return true;
        }
        all = entry.d_tag == DT_RELA ? entry.d_un.d_ptr : all;
        bytes = entry.d_tag == DT_RELASZ ? entry.d_un.d_val : bytes;
        imports = entry.d_tag == DT_JMPREL ? entry.d_un.d_ptr : imports;
        import_bytes = entry.d_tag == DT_PLTRELSZ ? entry.d_un.d_val : import_bytes;
    }
    return has_odd_relocation(f, all, bytes) || has_odd_relocation(f, imports, import_bytes);
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
    if (p->p_type == PT_DYNAMIC && runs_early(f, p)) {
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
    for (size_t i = 0; segment(&p, &f, i); i++) {
        f.relro = p.p_type == PT_GNU_RELRO ? p : f.relro;
    }
    for (size_t i = 0; segment(&p, &f, i); i++) {
        if (segment_refused(why, bytes, &f, &p)) {
            return true;
        }
    }
    for (size_t i = 0; segment(&p, &f, i); i++) {
        if (p.p_type == PT_DYNAMIC && is_relocated_oddly(&f, &p)) {
            (void)snprintf(why, bytes,
                           "it has code that runs when it is loaded, or variables of a library: "
                           "its relocations are not those of a kernel");
            return true;
        }
    }
    const char *name = NULL;
    if (ak_elf_symbols(&f.elf, is_forbidden, &name)) {
        (void)snprintf(why, bytes,
                       "it uses %.48s of a library: a kernel calls mathematics and what copies, "
                       "compares and allocates memory, and has threads from call->parallel",
                       name);
        return true;
    }
    return false;
}
