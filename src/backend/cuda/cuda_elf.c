/*
 * cuda_elf.c: hashes the code of a cubin, which is an ELF file, so that a bundle can be compared
 * with what was measured. The hash leaves out notes and the sections for debuggers: with -lineinfo
 * NVRTC writes the time into the latter, so they differ although the code is the same.
 */
#include <string.h>

#include "backend/cuda/cuda.h"
#include "backend/elf_file.h"
#include "base/hash.h"

static bool is_for_debuggers(const Elf64_Shdr *section, const char *name)
{
    static const char *const beginnings[] = {".debug",      ".nv_debug",     ".rel.debug",
                                             ".rela.debug", ".rel.nv_debug", ".rela.nv_debug",
                                             NULL};
    return ak_text_begins(name, beginnings) ? (section->sh_flags & SHF_ALLOC) == 0
                                            : section->sh_type == SHT_NOTE;
}

bool ak_cuda_code_hash(char out[AK_HASH_BYTES], const unsigned char *file, size_t length)
{
    ak_elf elf;
    Elf64_Shdr names, section;
    if (!ak_elf_open(&elf, file, length) || elf.head.e_shentsize != sizeof section ||
        !ak_elf_section(&names, &elf, elf.head.e_shstrndx)) {
        return false;
    }
    ak_hasher *hasher = ak_hasher_new();
    if (hasher == NULL) {
        return false;
    }
    size_t i = 0;
    for (; ak_elf_section(&section, &elf, i); i++) {
        const char *name = ak_elf_text(&elf, &names, section.sh_name);
        const uint64_t facts[] = {section.sh_type, section.sh_flags, section.sh_size,
                                  section.sh_info};
        if (!is_for_debuggers(&section, name)) {
            ak_hasher_add_text(hasher, name);
            ak_hasher_add(hasher, facts, sizeof facts);
            ak_hasher_add(hasher, file + section.sh_offset,
                          section.sh_type == SHT_NOBITS ? 0 : section.sh_size);
        }
    }
    char text[AK_HASH_BYTES];
    ak_hasher_end(text, hasher);
    if (i == elf.head.e_shnum) {
        memcpy(out, text, sizeof text);
    }
    return i > 1 && i == elf.head.e_shnum;
}
