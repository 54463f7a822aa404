/* host.h: the parts of the host backend, for each other. What they do is said in backend.h. */
#ifndef AK_BACKEND_HOST_HOST_H
#define AK_BACKEND_HOST_HOST_H

#include "backend/backend.h"

extern const ak_backend_ops ak_host_ops;

/* host.c: all libraries that any problem can be compared with, loaded one after the other. */
ak_status ak_host_libraries(void (*visit)(void *context, const char *name, const char *title,
                                          const char *version, bool installed, const char *note),
                            void *context, ak_error *err);

/* host_device.c */
int ak_host_cpus(void);                 /* that this process may use */
int64_t ak_host_cache_bytes(int level); /* of the data caches, 1..3; modest if unknown */
ak_status ak_host_probe(ak_device_visitor visit, void *context, ak_error *err);
ak_status ak_host_facts(ak_scope *out, const char *device, int threads, ak_error *err);
ak_status ak_host_environment(json_t **out, const char *device, ak_error *err);

/* host_compile.c */
bool ak_host_available(void *context, const char *compiler);
ak_status ak_host_source(ak_buf *out, const char *text, const char *name, ak_error *err);
ak_status ak_host_compile(ak_compile_result *out, const ak_compile_job *job, ak_error *err);
/* The compiler that is used when a space has none: cc, gcc or clang, the first that is there. */
ak_status ak_host_compiler(const char **out, ak_error *err);
/* First line of `compiler --version`; "" if it cannot be run. */
void ak_host_compiler_version(char *out, size_t bytes, const char *compiler);

/* host_elf.c: hash of what an artifact does: its code, constants, and the names that it calls.
   False if the file is not a well-formed 64-bit ELF file. */
bool ak_host_elf_hash(char out[33], const unsigned char *file, size_t length);

/* host_ceilings.c */
ak_status ak_host_ceilings(ak_ceilings *out, ak_dtype dtype, int threads, ak_error *err);

#endif
