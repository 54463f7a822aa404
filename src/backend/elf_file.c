#include "backend/elf_file.h"

#include <string.h>

#define SECTIONS_MAX 65280 /* SHN_LORESERVE: indices from here on have other meanings */

bool ak_elf_open(ak_elf *out, const void *bytes, size_t length)
{
    *out = (ak_elf){.bytes = bytes, .length = length};
    if (length < sizeof out->head || memcmp(bytes, ELFMAG, SELFMAG) != 0) {
        return false;
    }
    memcpy(&out->head, bytes, sizeof out->head);
    return true;
}

bool ak_elf_inside(uint64_t offset, uint64_t size, size_t length)
{
    return offset <= length && size <= length - offset;
}

bool ak_elf_segment(Elf64_Phdr *out, const ak_elf *f, size_t i)
{
    uint64_t at = f->head.e_phoff + i * sizeof *out;
    if (i >= f->head.e_phnum || at < f->head.e_phoff ||
        !ak_elf_inside(at, sizeof *out, f->length)) {
        return false;
    }
    memcpy(out, f->bytes + at, sizeof *out);
    return true;
}

bool ak_elf_section(Elf64_Shdr *out, const ak_elf *f, size_t i)
{
    uint64_t at = f->head.e_shoff + i * sizeof *out;
    if (i >= f->head.e_shnum || i >= SECTIONS_MAX || !ak_elf_inside(at, sizeof *out, f->length)) {
        return false;
    }
    memcpy(out, f->bytes + at, sizeof *out);
    return ak_elf_inside(out->sh_offset, out->sh_type == SHT_NOBITS ? 0 : out->sh_size, f->length);
}

const char *ak_elf_text(const ak_elf *f, const Elf64_Shdr *strings, uint64_t offset)
{
    const char *text = (const char *)f->bytes + strings->sh_offset;
    bool whole = strings->sh_type == SHT_STRTAB && offset < strings->sh_size &&
                 memchr(text + offset, 0, strings->sh_size - offset) != NULL;
    return whole ? text + offset : "";
}

bool ak_elf_symbols(const ak_elf *f, ak_elf_visitor visit, void *context)
{
    Elf64_Shdr table, strings;
    Elf64_Sym symbol;
    for (size_t i = 0; ak_elf_section(&table, f, i); i++) {
        if ((table.sh_type != SHT_SYMTAB && table.sh_type != SHT_DYNSYM) ||
            !ak_elf_section(&strings, f, table.sh_link)) {
            continue;
        }
        for (uint64_t k = 0; k + sizeof symbol <= table.sh_size; k += sizeof symbol) {
            memcpy(&symbol, f->bytes + table.sh_offset + k, sizeof symbol);
            if (visit(context, &symbol, ak_elf_text(f, &strings, symbol.st_name))) {
                return true;
            }
        }
    }
    return false;
}
