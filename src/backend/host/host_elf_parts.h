/*
 * host_elf_parts.h: what host_elf_rules.c asks about an artifact: which functions of libraries it
 * may call (host_elf_calls.c), and what the loader is told to do with it (host_elf_dynamic.c).
 */
#ifndef AK_BACKEND_HOST_ELF_PARTS_H
#define AK_BACKEND_HOST_ELF_PARTS_H

#include "backend/elf_file.h"

/* Returns whether a kernel may call the library's function of this name. */
bool ak_host_elf_callable(const char *name);

/* Returns, as a visitor for ak_elf_symbols, whether the file defines a symbol of the sanitizers'
   interface (__asan_on_error, __ubsan_default_options), which would replace theirs in --sanitize.
   `context` points to a `const char *`, which gets the name. */
bool ak_host_elf_is_hook(void *context, const Elf64_Sym *symbol, const char *name);

/* Returns true, with the reason in `why`, if the dynamic section of an artifact tells the loader to
   do more than write plain addresses and load the libraries that compilers link. */
bool ak_host_elf_dynamic_refused(char *why, size_t bytes, const ak_elf *f);
/* Returns whether the dynamic section lists functions that run when the artifact is loaded or
   unloaded, or has the loader write into code (DT_TEXTREL). */
bool ak_host_elf_runs_early(const ak_elf *f);

#endif
