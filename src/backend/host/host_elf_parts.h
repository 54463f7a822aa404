/*
 * host_elf_parts.h: what host_elf_rules.c asks about an artifact: which functions of libraries it
 * may call (host_elf_calls.c), and what the loader is told to do with it (host_elf_dynamic.c).
 */
#ifndef AK_BACKEND_HOST_ELF_PARTS_H
#define AK_BACKEND_HOST_ELF_PARTS_H

#include "backend/elf_file.h"

/* Returns whether a kernel may call the library's function of this name. */
bool ak_host_elf_callable(const char *name, size_t length);

/* For ak_elf_symbols: whether a symbol that the file defines belongs to the sanitizers' interface
   (__asan_on_error, __ubsan_default_options): --sanitize would have it in their place. `context` is
   a `const char *`, which gets the name. */
bool ak_host_elf_is_hook(void *context, const Elf64_Sym *symbol, const char *name);

/* Returns true, with the reason in `why`, if the dynamic section of an artifact has the loader do
   more than write plain addresses and load the libraries that compilers link. */
bool ak_host_elf_dynamic_refused(char *why, size_t bytes, const ak_elf *f);
/* The same for what it lists as to be run when the artifact is loaded or unloaded. */
bool ak_host_elf_runs_early(const ak_elf *f);

#endif
