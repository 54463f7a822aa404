/*
 * cuda_cubin.c: decides what a candidate's compiled code may contain. A kernel keeps nothing from
 * one run to the next except in the workspace, so a module has no memory that can be written, and
 * calls no function of the driver: those print, take memory that lasts, or launch other work.
 *
 * The file comes from a compiler that ran on somebody's source, so every offset is checked.
 */
#include <elf.h>
#include <string.h>

#include "backend/cuda/cuda_device.h"

#define SECTIONS_MAX 65280
/* NVRTC's atomicExch and atomicCAS of floats have a flag of one byte for each type. */
#define FLAGS_MAX 4

typedef struct cubin {
    const unsigned char *bytes;
    size_t length;
    Elf64_Ehdr head;
} cubin;

static bool inside(uint64_t offset, uint64_t size, size_t length)
{
    return offset <= length && size <= length - offset;
}

static bool section(Elf64_Shdr *out, const cubin *c, size_t i)
{
    uint64_t at = c->head.e_shoff + i * sizeof *out;
    if (i >= c->head.e_shnum || i >= SECTIONS_MAX || !inside(at, sizeof *out, c->length)) {
        return false;
    }
    memcpy(out, c->bytes + at, sizeof *out);
    return inside(out->sh_offset, out->sh_type == SHT_NOBITS ? 0 : out->sh_size, c->length);
}

static const char *text_at(const cubin *c, const Elf64_Shdr *strings, uint64_t offset)
{
    const char *text = (const char *)c->bytes + strings->sh_offset;
    bool whole = strings->sh_type == SHT_STRTAB && offset < strings->sh_size &&
                 memchr(text + offset, 0, strings->sh_size - offset) != NULL;
    return whole ? text + offset : "";
}

static const char *name_of(const cubin *c, const Elf64_Shdr *s)
{
    Elf64_Shdr names;
    return section(&names, c, c->head.e_shstrndx) ? text_at(c, &names, s->sh_name) : "";
}

/* Returns whether memory of this section lasts from run to run and can be written. Shared memory
   has a section, too, and does not last. */
static bool is_lasting(const cubin *c, size_t index)
{
    Elf64_Shdr s;
    return section(&s, c, index) && (s.sh_flags & SHF_WRITE) != 0 &&
           (s.sh_flags & SHF_ALLOC) != 0 && s.sh_size > 0 &&
           strncmp(name_of(c, &s), ".nv.shared", 10) != 0;
}

/* What the symbols of a file say. */
typedef struct survey {
    const char *foreign;  /* a function that the file does not have; NULL: there is none */
    const char *variable; /* a variable that lasts */
    uint64_t flags;       /* bytes of the flags that NVRTC's own atomic functions keep */
} survey;

static void look_at(survey *out, const cubin *c, const Elf64_Sym *symbol, const char *name)
{
    static const char own[] = "_ZN26__nv_atomic_triv_cp_helper";
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    if (symbol->st_shndx == SHN_UNDEF) {
        out->foreign = type == STT_FUNC && out->foreign == NULL ? name : out->foreign;
    } else if (type == STT_OBJECT && symbol->st_shndx < SHN_LORESERVE &&
               is_lasting(c, symbol->st_shndx)) {
        bool flag = symbol->st_size == 1 && strncmp(name, own, sizeof own - 1) == 0;
        out->flags += flag ? 1 : 0;
        out->variable = !flag && out->variable == NULL ? name : out->variable;
    }
}

static void look_at_all(survey *out, const cubin *c)
{
    Elf64_Shdr table, strings;
    Elf64_Sym symbol;
    for (size_t i = 0; section(&table, c, i); i++) {
        if (table.sh_type != SHT_SYMTAB || !section(&strings, c, table.sh_link)) {
            continue;
        }
        for (uint64_t k = 0; k + sizeof symbol <= table.sh_size; k += sizeof symbol) {
            memcpy(&symbol, c->bytes + table.sh_offset + k, sizeof symbol);
            look_at(out, c, &symbol, text_at(c, &strings, symbol.st_name));
        }
    }
}

void ak_cuda_cubin_judge(ak_outcome *out, const void *file, size_t length)
{
    cubin c = {.bytes = file, .length = length};
    survey found = {0};
    Elf64_Shdr s;
    uint64_t lasting = 0;
    if (length < sizeof c.head || memcmp(file, ELFMAG, SELFMAG) != 0) {
        return; /* the driver refuses it */
    }
    memcpy(&c.head, file, sizeof c.head);
    look_at_all(&found, &c);
    for (size_t i = 0; section(&s, &c, i); i++) {
        lasting += is_lasting(&c, i) ? s.sh_size : 0;
    }
    if (found.foreign != NULL) {
        ak_outcome_refuse(
            out, AK_TRIAL_REJECTED,
            "it calls %.60s of the driver: a kernel prints nothing, takes no memory and "
            "launches nothing",
            found.foreign);
    } else if (found.variable != NULL || lasting > FLAGS_MAX || lasting > found.flags) {
        ak_outcome_refuse(
            out, AK_TRIAL_REJECTED,
            "its variable \"%.60s\" lasts from run to run: a kernel keeps state in the "
            "workspace only, and tables are __constant__",
            found.variable == NULL ? "" : found.variable);
    }
}
