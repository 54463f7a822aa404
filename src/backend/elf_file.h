/*
 * elf_file.h: reads the segments, sections and symbols of an ELF file, for the checks of what a
 * candidate's code may contain, its hash and its size.
 *
 * The file comes from a compiler that ran on untrusted source, so every offset is checked.
 */
#ifndef AK_BACKEND_ELF_FILE_H
#define AK_BACKEND_ELF_FILE_H

#include <elf.h>

#include "base/status.h"

typedef struct ak_elf {
    const unsigned char *bytes;
    size_t length;
    Elf64_Ehdr head;
} ak_elf;

/* Opens a file in memory, which must outlive `out`. Returns false if it has no ELF header; the
   class and the machine are not checked. */
bool ak_elf_open(ak_elf *out, const void *bytes, size_t length);
/* Returns whether `size` bytes at `offset` lie within `length`. */
bool ak_elf_inside(uint64_t offset, uint64_t size, size_t length);
/* Gives the header of segment `i`; returns false if there is none, or its header lies beyond the
   file. The segment's contents may still lie beyond it. */
bool ak_elf_segment(Elf64_Phdr *out, const ak_elf *f, size_t i);
/* Gives the header of section `i`; returns false if there is none, or if its header or contents lie
   beyond the file. */
bool ak_elf_section(Elf64_Shdr *out, const ak_elf *f, size_t i);
/* Returns the text at this offset of a string table, or "" if there is none. `strings` must come
   from ak_elf_section, which has checked that its contents lie within the file. */
const char *ak_elf_text(const ak_elf *f, const Elf64_Shdr *strings, uint64_t offset);

/* Calls `visit` for each symbol in the tables of symbols (.symtab, .dynsym) until it returns true.
   Looks at the sections in front of the first that lies beyond the file. Returns whether `visit`
   returned true. */
typedef bool (*ak_elf_visitor)(void *context, const Elf64_Sym *symbol, const char *name);
bool ak_elf_symbols(const ak_elf *f, ak_elf_visitor visit, void *context);

#endif
