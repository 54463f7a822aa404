/* host_tiles.c: see host_tiles.h. */
#include "backend/host/host_tiles.h"

#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

bool ak_host_tiles(void)
{
#if defined(__x86_64__)
    /* arch/x86/include/uapi/asm/prctl.h and arch/x86/include/asm/fpu/types.h of Linux */
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILE_DATA = 18 };
    enum { AMX_BF16 = 1 << 22, AMX_TILE = 1 << 24 }; /* of leaf 7, register edx */
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & AMX_BF16) != 0 &&
           (edx & AMX_TILE) != 0 &&
           syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILE_DATA) == 0;
#else
    return false;
#endif
}
