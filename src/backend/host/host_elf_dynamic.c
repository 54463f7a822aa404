/*
 * host_elf_dynamic.c: checks what the loader is told to do with an artifact. By inline assembly a
 * source can write into the dynamic section and the tables of relocations and symbols, to which the
 * linker adds its own entries. So all is read here as the loader reads it: by address, from the one
 * dynamic section, up to its first DT_NULL. Other checks find the table of symbols by its section
 * (ak_elf_symbols), so that must be the table that the loader uses.
 */
#include <stdio.h>
#include <string.h>

#include "backend/host/host_elf_parts.h"

/* The headers of some distributions lack these tags. */
#define TAG_RELRSZ  35
#define TAG_RELR    36
#define TAG_RELRENT 37

/* The tags that linkers write into a shared object of functions and constants only. Each occurs at
   most once, except DT_NEEDED. Those of a processor (0x70000000 and more) describe procedure
   linkage tables. */
static const int64_t usual[] = {DT_NEEDED,   DT_PLTRELSZ, DT_PLTGOT,   DT_HASH,       DT_STRTAB,
                                DT_SYMTAB,   DT_RELA,     DT_RELASZ,   DT_RELAENT,    DT_STRSZ,
                                DT_SYMENT,   DT_RPATH,    DT_RUNPATH,  DT_PLTREL,     DT_JMPREL,
                                DT_BIND_NOW, DT_FLAGS,    DT_GNU_HASH, DT_RELACOUNT,  DT_FLAGS_1,
                                DT_VERNEED,  DT_VERSYM,   TAG_RELRSZ,  DT_VERNEEDNUM, TAG_RELR,
                                TAG_RELRENT, 0x70000000,  0x70000001,  0x70000003,    0x70000005};
enum { USUAL = AK_COUNT(usual) };

/* The libraries that compilers link without being told, without their versions: of the C library
   (older ones have several), of gcc, of C++, and of Intel's compilers. Others are refused, because
   a vendor's library would do the kernel's work. */
static const char *const libraries[] = {"libc.so",
                                        "libm.so",
                                        "libmvec.so",
                                        "libdl.so",
                                        "libpthread.so",
                                        "librt.so",
                                        "libgcc_s.so",
                                        "libstdc++.so",
                                        "libsvml.so",
                                        "libirng.so",
                                        "libimf.so",
                                        "libintlc.so",
                                        "ld-linux-x86-64.so",
                                        "ld-linux-aarch64.so",
                                        "libc.musl-x86_64.so",
                                        "libc.musl-aarch64.so"};

/* The dynamic section: where it lies in the file, and the values of the usual tags. */
typedef struct dynamic {
    const ak_elf *f;
    uint64_t at, size;
    bool has[USUAL];
    uint64_t value[USUAL];
} dynamic;

/* Gives the offset in the file of the bytes that are loaded at an address; returns false if there
   are none. */
static bool loaded_at(uint64_t *out, const ak_elf *f, uint64_t address, uint64_t size)
{
    Elf64_Phdr p;
    for (size_t i = 0; ak_elf_segment(&p, f, i); i++) {
        if (p.p_type == PT_LOAD && address >= p.p_vaddr &&
            ak_elf_inside(address - p.p_vaddr, size, p.p_filesz)) {
            *out = p.p_offset + (address - p.p_vaddr);
            return ak_elf_inside(*out, size, f->length);
        }
    }
    return false;
}

static bool find_dynamic(dynamic *out, const ak_elf *f)
{
    Elf64_Phdr p;
    size_t found = 0;
    *out = (dynamic){.f = f};
    for (size_t i = 0; ak_elf_segment(&p, f, i); i++) {
        if (p.p_type == PT_DYNAMIC) {
            found++;
            out->size = p.p_memsz;
            if (!loaded_at(&out->at, f, p.p_vaddr, p.p_memsz)) {
                return false;
            }
        }
    }
    return found == 1;
}

/* Gives entry `i`; returns false at the end. */
static bool entry_at(Elf64_Dyn *out, const dynamic *d, size_t i)
{
    if ((i + 1) * sizeof *out > d->size) {
        return false;
    }
    memcpy(out, d->f->bytes + d->at + i * sizeof *out, sizeof *out);
    return out->d_tag != DT_NULL;
}

static uint64_t value_of(const dynamic *d, int64_t tag)
{
    for (size_t i = 0; i < USUAL; i++) {
        if (usual[i] == tag) {
            return d->value[i];
        }
    }
    return 0;
}

bool ak_host_elf_runs_early(const ak_elf *f)
{
    dynamic d;
    Elf64_Dyn entry;
    bool early = false, good = find_dynamic(&d, f);
    for (size_t i = 0; good && !early && entry_at(&entry, &d, i); i++) {
        early = entry.d_tag == DT_INIT || entry.d_tag == DT_FINI || entry.d_tag == DT_INIT_ARRAY ||
                entry.d_tag == DT_FINI_ARRAY || entry.d_tag == DT_TEXTREL;
    }
    return early;
}

/* Finds the section of the symbols that the loader uses, and the section of their names. Returns
   false if the loader uses other tables than the sections say. */
static bool find_symbols(Elf64_Shdr *symbols, Elf64_Shdr *names, const dynamic *d)
{
    for (size_t i = 0; ak_elf_section(symbols, d->f, i); i++) {
        if (symbols->sh_type == SHT_DYNSYM) {
            uint64_t at = 0, names_at = 0;
            return symbols->sh_addr == value_of(d, DT_SYMTAB) &&
                   ak_elf_section(names, d->f, symbols->sh_link) &&
                   names->sh_addr == value_of(d, DT_STRTAB) &&
                   loaded_at(&at, d->f, symbols->sh_addr, symbols->sh_size) &&
                   loaded_at(&names_at, d->f, names->sh_addr, names->sh_size) &&
                   at == symbols->sh_offset && names_at == names->sh_offset;
        }
    }
    return false;
}

/* Returns whether a relocation only writes an address of the artifact or of what it imports. Others
   are refused: IRELATIVE calls code of the artifact (and needs no symbol that names a resolver),
   COPY brings a variable of a library, and those of TLS bring state. */
static bool is_plain_relocation(const ak_elf *f, uint64_t type)
{
    switch (f->head.e_machine) {
    case EM_X86_64:
        return type == R_X86_64_NONE || type == R_X86_64_64 || type == R_X86_64_GLOB_DAT ||
               type == R_X86_64_JUMP_SLOT || type == R_X86_64_RELATIVE;
    case EM_AARCH64:
        return type == R_AARCH64_NONE || type == R_AARCH64_ABS64 || type == R_AARCH64_GLOB_DAT ||
               type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_RELATIVE;
    default:
        return true; /* the numbers of other processors are not known here, so none is refused */
    }
}

/* Returns whether a relocation at this address writes into a writable segment of the artifact. */
static bool is_own_place(const ak_elf *f, uint64_t address)
{
    Elf64_Phdr p;
    for (size_t i = 0; ak_elf_segment(&p, f, i); i++) {
        if (p.p_type == PT_LOAD && (p.p_flags & PF_W) != 0 && address >= p.p_vaddr &&
            ak_elf_inside(address - p.p_vaddr, sizeof address, p.p_memsz)) {
            return true;
        }
    }
    return false;
}

/* Returns whether a table of relocations is not part of the loaded file, or holds a relocation that
   is not plain, names a symbol beyond the `symbols` that exist, or writes outside of the artifact's
   writable memory. */
static bool has_odd_relocation(const ak_elf *f, uint64_t address, uint64_t size, uint64_t symbols)
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
        memcpy(&one, f->bytes + at + k, sizeof one);
        if (!is_plain_relocation(f, ELF64_R_TYPE(one.r_info)) ||
            ELF64_R_SYM(one.r_info) >= symbols ||
            (ELF64_R_TYPE(one.r_info) != R_X86_64_NONE && !is_own_place(f, one.r_offset))) {
            return true;
        }
    }
    return false;
}

/* Does what has_odd_relocation does for the packed table of relative relocations (DT_RELR): an even
   word is the address of a relocation; an odd word has a bit for each of the 63 words of memory
   that follow. */
static bool has_odd_relr(const ak_elf *f, uint64_t address, uint64_t size)
{
    uint64_t at = 0, word, place = 0;
    if (size == 0) {
        return false;
    }
    if (!loaded_at(&at, f, address, size)) {
        return true;
    }
    for (uint64_t k = 0; k + sizeof word <= size; k += sizeof word) {
        memcpy(&word, f->bytes + at + k, sizeof word);
        if ((word & 1) == 0) {
            if (!is_own_place(f, word)) {
                return true;
            }
            place = word + sizeof word;
            continue;
        }
        for (unsigned bit = 1; bit < 64; bit++) {
            if ((word >> bit & 1) != 0 && !is_own_place(f, place + (bit - 1) * sizeof word)) {
                return true;
            }
        }
        place += 63 * sizeof word;
    }
    return false;
}

/* Returns whether a path of libraries has only absolute folders, apart from an empty one at its
   end; $ORIGIN and the like would depend on where the artifact lies. */
static bool is_library_path(const char *text)
{
    for (const char *at = text; *at != 0;) {
        size_t length = strcspn(at, ":");
        if (at[0] != '/' || memchr(at, '$', length) != NULL) {
            return false;
        }
        at += length + (at[length] == ':' ? 1 : 0);
    }
    return text[0] != 0;
}

static bool is_usual_library(const char *name)
{
    for (size_t i = 0; i < AK_COUNT(libraries); i++) {
        const size_t n = strlen(libraries[i]);
        const char *version = name + n;
        if (strncmp(name, libraries[i], n) == 0 &&
            (*version == 0 ||
             (*version == '.' && version[1 + strspn(version + 1, "0123456789.")] == 0))) {
            return true;
        }
    }
    return false;
}

/* Keeps the value of an entry that linkers write for a kernel. Returns true, with the reason in
   `why`, for an entry with another tag or value, a second one of its tag, or an unusual library. */
static bool entry_refused(char *why, size_t bytes, dynamic *d, const Elf64_Dyn *entry,
                          const Elf64_Shdr *names)
{
    size_t i = 0;
    while (i < USUAL && usual[i] != entry->d_tag) {
        i++;
    }
    const char *text =
        entry->d_tag == DT_NEEDED || entry->d_tag == DT_RUNPATH || entry->d_tag == DT_RPATH
            ? ak_elf_text(d->f, names, entry->d_un.d_val)
            : "";
    if (entry->d_tag == DT_NEEDED) {
        if (!is_usual_library(text)) {
            (void)snprintf(why, bytes,
                           "it needs the library \"%.60s\": a kernel does its work itself", text);
            return true;
        }
        return false;
    }
    const uint64_t value = entry->d_un.d_val;
    bool fine =
        i < USUAL && !d->has[i] && (entry->d_tag != DT_PLTREL || value == DT_RELA) &&
        (entry->d_tag != DT_FLAGS || (value & ~(uint64_t)(DF_BIND_NOW | DF_SYMBOLIC)) == 0) &&
        (entry->d_tag != DT_FLAGS_1 || (value & ~(uint64_t)DF_1_NOW) == 0) &&
        ((entry->d_tag != DT_RUNPATH && entry->d_tag != DT_RPATH) || is_library_path(text));
    if (fine) {
        d->has[i] = true;
        d->value[i] = value;
        return false;
    }
    (void)snprintf(why, bytes,
                   "its dynamic section has an entry that is not a kernel's (tag 0x%llx): it tells "
                   "the loader to do more than load code and constants",
                   (unsigned long long)entry->d_tag);
    return true;
}

bool ak_host_elf_dynamic_refused(char *why, size_t bytes, const ak_elf *f)
{
    dynamic d;
    Elf64_Dyn entry;
    Elf64_Shdr symbols = {0}, names = {0};
    bool good = find_dynamic(&d, f);
    /* A first pass finds the table of names, which the checks of the entries need. */
    for (size_t i = 0; good && entry_at(&entry, &d, i); i++) {
        for (size_t k = 0; k < USUAL; k++) {
            d.value[k] = usual[k] == entry.d_tag ? entry.d_un.d_val : d.value[k];
        }
    }
    if (!good || !find_symbols(&symbols, &names, &d)) {
        (void)snprintf(why, bytes,
                       "its dynamic section is not one that a linker makes of a kernel: the table "
                       "of symbols that it names is not the one that the section headers describe");
        return true;
    }
    for (size_t i = 0; entry_at(&entry, &d, i); i++) {
        if (entry_refused(why, bytes, &d, &entry, &names)) {
            return true;
        }
    }
    const uint64_t count = symbols.sh_size / sizeof(Elf64_Sym);
    if (has_odd_relocation(f, value_of(&d, DT_RELA), value_of(&d, DT_RELASZ), count) ||
        has_odd_relocation(f, value_of(&d, DT_JMPREL), value_of(&d, DT_PLTRELSZ), count) ||
        has_odd_relr(f, value_of(&d, TAG_RELR), value_of(&d, TAG_RELRSZ))) {
        (void)snprintf(why, bytes,
                       "it has code that runs when it is loaded, or variables of a library: "
                       "its relocations are not those of a kernel");
        return true;
    }
    return false;
}
