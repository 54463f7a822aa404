/*
 * host_elf.c: hashes the code of an artifact, because configurations that compile to the same code
 * need not be measured twice, and because a bundle must hold the code that was measured. The hash
 * covers every section that is loaded, whatever its name is: instructions, constants, initial data
 * and, through symbol names and relocations, what it calls. It leaves out notes, such as the
 * build-id, and what is not loaded: names for debuggers, paths, versions of compilers.
 *
 * The file comes from a compiler that ran on somebody's source, so every offset is checked.
 */
#include <elf.h>
#include <string.h>

#include "backend/host/host.h"
#include "base/hash.h"

#define SECTIONS_MAX 4096

static bool inside(uint64_t offset, uint64_t size, size_t length)
{
    return offset <= length && size <= length - offset;
}

bool ak_host_elf_hash(char out[33], const unsigned char *file, size_t length)
{
    Elf64_Ehdr head;
    if (length < sizeof head || memcmp(file, ELFMAG, SELFMAG) != 0 ||
        file[EI_CLASS] != ELFCLASS64) {
        return false;
    }
    memcpy(&head, file, sizeof head);
    if (head.e_shentsize != sizeof(Elf64_Shdr) || head.e_shnum == 0 ||
        head.e_shnum > SECTIONS_MAX || head.e_shstrndx >= head.e_shnum ||
        !inside(head.e_shoff, (uint64_t)head.e_shnum * sizeof(Elf64_Shdr), length)) {
        return false;
    }
    Elf64_Shdr names, section;
    memcpy(&names, file + head.e_shoff + head.e_shstrndx * sizeof names, sizeof names);
    if (!inside(names.sh_offset, names.sh_size, length) || names.sh_size == 0 ||
        file[names.sh_offset + names.sh_size - 1] != 0) {
        return false;
    }
    ak_hasher *hasher = ak_hasher_new();
    if (hasher == NULL) {
        return false;
    }
    bool good = true, found = false;
    for (size_t i = 0; good && i < head.e_shnum; i++) {
        memcpy(&section, file + head.e_shoff + i * sizeof section, sizeof section);
        good = section.sh_name < names.sh_size;
        const char *name = good ? (const char *)file + names.sh_offset + section.sh_name : "";
        if ((section.sh_flags & SHF_ALLOC) == 0 || section.sh_type == SHT_NOTE) {
            continue;
        }
        const bool stored = section.sh_type != SHT_NOBITS;
        const uint64_t facts[] = {section.sh_type, section.sh_flags, section.sh_addr,
                                  section.sh_size};
        good = good && (!stored || inside(section.sh_offset, section.sh_size, length));
        if (good) {
            found = found || strcmp(name, ".text") == 0;
            ak_hasher_add_text(hasher, name);
            ak_hasher_add(hasher, facts, sizeof facts);
            ak_hasher_add(hasher, file + section.sh_offset, stored ? section.sh_size : 0);
        }
    }
    char text[AK_HASH_BYTES];
    ak_hasher_end(text, hasher);
    if (good && found) {
        memcpy(out, text, sizeof text);
    }
    return good && found;
}
