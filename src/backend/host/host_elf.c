/*
 * host_elf.c: hashes the code of an artifact, because configurations that compile to the same code
 * need not be measured twice. The hash covers every byte that is loaded, whatever its section is
 * called, and how it is loaded: the head of the file, the segments and what is in them. Names of
 * files, symbols for debuggers and the compiler's own comment are not loaded. The head is hashed
 * too, because code can read it. It holds the offset of the section table, so the hash also changes
 * with the number of bytes that are not loaded.
 *
 * The file comes from a compiler that ran on untrusted source, so every offset is checked.
 */
#include <elf.h>
#include <string.h>

#include "backend/elf_file.h"
#include "backend/host/host.h"
#include "base/hash.h"

bool ak_host_elf_hash(char out[AK_HASH_BYTES], const unsigned char *file, size_t length)
{
    ak_elf f;
    Elf64_Phdr p;
    char text[AK_HASH_BYTES];
    if (!ak_elf_open(&f, file, length) || file[EI_CLASS] != ELFCLASS64) {
        return false;
    }
    ak_hasher *hasher = ak_hasher_new();
    if (hasher == NULL) {
        return false;
    }
    bool good = f.head.e_phentsize == sizeof p, found = false;
    ak_hasher_add(hasher, &f.head, sizeof f.head);
    for (size_t i = 0; good && i < f.head.e_phnum; i++) {
        good = ak_elf_segment(&p, &f, i) && ak_elf_inside(p.p_offset, p.p_filesz, length);
        if (good) {
            found = found || p.p_type == PT_LOAD;
            ak_hasher_add(hasher, &p, sizeof p);
            ak_hasher_add(hasher, file + p.p_offset, p.p_filesz);
        }
    }
    ak_hasher_end(text, hasher);
    if (good && found) {
        memcpy(out, text, sizeof text);
    }
    return good && found;
}
