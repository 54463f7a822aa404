/*
 * cuda_cubin.c: decides what a candidate's compiled code may contain. A kernel may keep state from
 * one run to the next only in the workspace. So its code must not reach writable memory of the
 * module, nor call a function of the driver, which would print, allocate memory that lasts, or
 * launch other work.
 *
 * NVRTC gives every variable of a module writable memory, even a constant that the code holds as a
 * number and never reads (such as a static constexpr member). So a variable is allowed unless code
 * can read its address: the linker writes the address into a word of constant bank 4 that the code
 * loads, or into the code itself. Code without an address cannot reach this memory.
 */
#include <string.h>

#include "backend/cuda/cuda_device.h"
#include "backend/elf_file.h"

/* Bytes of flags that are allowed: from compute capability 9.0 on, NVRTC's atomicExch and atomicCAS
   keep a flag of one byte for each type that they are called with. */
#define FLAGS_MAX 4
/* From compute capability 7.0 on an instruction has 16 bytes. The first eight hold the bank and the
   byte offset of an operand in constant memory (nvdisasm shows this for 7.5 to 10.0). */
#define SM_MIN            70
#define INSTRUCTION_BYTES 16
#define BANK_BYTES        65536

static const char *name_of(const ak_elf *c, const Elf64_Shdr *s)
{
    Elf64_Shdr names;
    return ak_elf_section(&names, c, c->head.e_shstrndx) ? ak_elf_text(c, &names, s->sh_name) : "";
}

/* Returns whether memory of this section lasts from run to run and can be written. Shared memory
   has a section, too, and does not last. */
static bool is_lasting(const ak_elf *c, size_t index)
{
    Elf64_Shdr s;
    return ak_elf_section(&s, c, index) && (s.sh_flags & SHF_WRITE) != 0 &&
           (s.sh_flags & SHF_ALLOC) != 0 && s.sh_size > 0 &&
           strncmp(name_of(c, &s), ".nv.shared", 10) != 0;
}

/* Which words of constant bank 4 the code may load. */
typedef struct loads {
    bool all;
    bool word[BANK_BYTES / 4];
} loads;

/* Marks the words of bank 4 that the code may load. Whatever looks like an operand in bank 4 counts
   as one. An instruction whose offset is in a register may load any word. */
static void look_at_code(loads *out, const unsigned char *code, uint64_t length)
{
    for (uint64_t i = 0; i + INSTRUCTION_BYTES <= length; i += INSTRUCTION_BYTES) {
        uint64_t bits;
        memcpy(&bits, code + i, sizeof bits);
        if ((bits >> 54 & 31) != 4) {
            continue;
        }
        unsigned code_of = bits & 0xfff, index = bits >> 24 & 0xff;
        size_t first = (bits >> 38 & 0xffff) / 4;
        out->all = out->all || ((code_of == 0xb82 || code_of == 0x7ac) && index != 0xff);
        for (size_t k = 0; k < 4 && first + k < BANK_BYTES / 4; k++) { /* it may load 16 bytes */
            out->word[first + k] = true;
        }
    }
}

static bool is_bank_4(const char *name)
{
    return strncmp(name, ".nv.constant4", 13) == 0;
}

static void look_at_all_code(loads *out, const ak_elf *c)
{
    Elf64_Shdr s;
    unsigned flags = c->head.e_flags;
    unsigned sm = c->head.e_ident[EI_ABIVERSION] >= 8 ? flags >> 8 & 0xff : flags & 0xff;
    out->all = c->head.e_machine != EM_CUDA || sm < SM_MIN;
    for (size_t i = 0; ak_elf_section(&s, c, i); i++) {
        if ((s.sh_flags & SHF_EXECINSTR) != 0 && s.sh_type != SHT_NOBITS) {
            look_at_code(out, c->bytes + s.sh_offset, s.sh_size);
        }
    }
}

/* Returns whether the linker writes the address of lasting memory to a place that code can read, or
   whether the table is not well-formed. */
static bool sets_address(const ak_elf *c, const Elf64_Shdr *table, const loads *loaded)
{
    Elf64_Shdr target, symbols;
    Elf64_Rel entry; /* an Elf64_Rela begins with the same members */
    uint64_t step = table->sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof entry;
    if (!ak_elf_section(&target, c, table->sh_info) ||
        !ak_elf_section(&symbols, c, table->sh_link)) {
        return true;
    }
    if (strncmp(name_of(c, &target), ".debug", 6) == 0) {
        return false; /* the section is not loaded, so code cannot read it */
    }
    for (uint64_t at = 0; at + step <= table->sh_size; at += step) {
        Elf64_Sym symbol;
        memcpy(&entry, c->bytes + table->sh_offset + at, sizeof entry);
        uint64_t of = ELF64_R_SYM(entry.r_info) * sizeof symbol;
        if (!ak_elf_inside(of, sizeof symbol, symbols.sh_size)) {
            return true;
        }
        memcpy(&symbol, c->bytes + symbols.sh_offset + of, sizeof symbol);
        bool taken = loaded->all || !is_bank_4(name_of(c, &target)) ||
                     entry.r_offset > BANK_BYTES - 8 || loaded->word[entry.r_offset / 4] ||
                     loaded->word[entry.r_offset / 4 + 1];
        if (taken && symbol.st_shndx < SHN_LORESERVE && is_lasting(c, symbol.st_shndx)) {
            return true;
        }
    }
    return false;
}

/* Returns whether code can reach memory of the module that lasts. */
static bool reaches_lasting(const ak_elf *c)
{
    loads loaded = {.all = false};
    Elf64_Shdr s;
    look_at_all_code(&loaded, c);
    for (size_t i = 0; ak_elf_section(&s, c, i); i++) {
        if ((s.sh_type == SHT_RELA || s.sh_type == SHT_REL) && sets_address(c, &s, &loaded)) {
            return true;
        }
    }
    return false;
}

/* What ak_elf_symbols finds in a file. */
typedef struct survey {
    const ak_elf *file;
    const char *foreign;  /* a function that the file does not have; NULL: there is none */
    const char *variable; /* a variable that lasts */
    uint64_t flags;       /* bytes of the flags that NVRTC's own atomic functions keep */
} survey;

static bool look_at(void *context, const Elf64_Sym *symbol, const char *name)
{
    survey *out = context;
    static const char own[] = "_ZN26__nv_atomic_triv_cp_helper";
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    if (symbol->st_shndx == SHN_UNDEF) {
        out->foreign = type == STT_FUNC && out->foreign == NULL ? name : out->foreign;
    } else if (type == STT_OBJECT && symbol->st_shndx < SHN_LORESERVE &&
               is_lasting(out->file, symbol->st_shndx)) {
        bool flag = symbol->st_size == 1 && strncmp(name, own, sizeof own - 1) == 0;
        out->flags += flag ? 1 : 0;
        out->variable = !flag && out->variable == NULL ? name : out->variable;
    }
    return false;
}

void ak_cuda_cubin_judge(ak_outcome *out, const void *file, size_t length)
{
    ak_elf c;
    survey found = {.file = &c};
    Elf64_Shdr s;
    uint64_t lasting = 0;
    if (!ak_elf_open(&c, file, length)) {
        return; /* the driver will refuse the file */
    }
    (void)ak_elf_symbols(&c, look_at, &found);
    for (size_t i = 0; ak_elf_section(&s, &c, i); i++) {
        lasting += is_lasting(&c, i) ? s.sh_size : 0;
    }
    if (found.foreign != NULL) {
        ak_outcome_refuse(
            out, AK_TRIAL_REJECTED,
            "it calls %.60s of the driver: a kernel prints nothing, takes no memory and "
            "launches nothing",
            found.foreign);
    } else if ((found.variable != NULL || lasting > FLAGS_MAX || lasting > found.flags) &&
               reaches_lasting(&c)) {
        ak_outcome_refuse(
            out, AK_TRIAL_REJECTED,
            "its variable \"%.60s\" lasts from run to run: a kernel keeps state in the "
            "workspace only, and tables are __constant__",
            ak_or_empty(found.variable));
    }
}
