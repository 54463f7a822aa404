/* runner.h: how kernels that attack find what is not theirs: functions of a library by name, and
   the runner's own variables on its stack. */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What a library has under a name that the kernel may not use: looked up in the library's own
   table, which lies below a function of it. */
__attribute__((unused)) static void *found_below(uintptr_t known, const char *name)
{
    uintptr_t base = known & ~(uintptr_t)4095;
    while (memcmp((const void *)base, ELFMAG, SELFMAG) != 0) {
        base -= 4096;
    }
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)base;
    const Elf64_Phdr *segment = (const Elf64_Phdr *)(base + head->e_phoff);
    const Elf64_Dyn *dynamic = NULL;
    const Elf64_Sym *symbols = NULL;
    const char *names = NULL;
    for (int i = 0; i < head->e_phnum; i++) {
        if (segment[i].p_type == PT_DYNAMIC) {
            dynamic = (const Elf64_Dyn *)(base + segment[i].p_vaddr);
        }
    }
    for (; dynamic != NULL && dynamic->d_tag != DT_NULL; dynamic++) {
        uintptr_t at =
            dynamic->d_un.d_ptr < base ? base + dynamic->d_un.d_ptr : dynamic->d_un.d_ptr;
        symbols = dynamic->d_tag == DT_SYMTAB ? (const Elf64_Sym *)at : symbols;
        names = dynamic->d_tag == DT_STRTAB ? (const char *)at : names;
    }
    for (; (const char *)symbols < names; symbols++) {
        if (strcmp(names + symbols->st_name, name) == 0 && symbols->st_value != 0) {
            return (void *)(base + symbols->st_value);
        }
    }
    abort();
}

__attribute__((unused)) static void *found(const char *name)
{
    void *(*volatile known)(void *, const void *, size_t) = memcpy;
    return found_below((uintptr_t)known, name);
}

/* A system call by the C library's own instruction. */
__attribute__((unused)) static long far(long number, long a, long b, long c, long d, long e)
{
    long (*call)(long, long, long, long, long, long, long);
    *(void **)&call = found("syscall");
    return call(number, a, b, c, d, e, 0);
}

/* The runner's own variables, known by how they look on its stack: host_runner.c. */
typedef struct its_place {
    uint64_t first, span;
    char *memory;
} its_place;
typedef struct its_runner {
    char *page;
    int64_t block_fd;
    its_place places[3];
} its_runner;

__attribute__((unused)) static its_runner *find_runner(const void *argument)
{
    uintptr_t *stack = (uintptr_t *)__builtin_frame_address(0), own = (uintptr_t)argument;
    for (int i = 0; i < 3000; i++) {
        its_runner *r = (its_runner *)(stack + i);
        if ((uintptr_t)r->page % 4096 != 0 || r->page == NULL || (r->block_fd & 0xffffffff) < 3 ||
            (r->block_fd & 0xffffffff) > 99) {
            continue;
        }
        for (int k = 0; k < 3; k++) {
            uintptr_t memory = (uintptr_t)r->places[k].memory;
            if (memory % 4096 == 0 && memory <= own && r->places[k].span < (1u << 30) &&
                own < memory + r->places[k].span) {
                return r;
            }
        }
    }
    return NULL;
}
