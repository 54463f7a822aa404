/*
 * instrumented.h: tells whether this build has AddressSanitizer, ThreadSanitizer or
 * MemorySanitizer. Such a build needs many times the time and memory for the same work, so neither
 * its times nor its memory say anything about a candidate. It reserves terabytes of address space
 * and reports through system calls, so children that run its code have no limit on memory and no
 * filter of system calls.
 */
#ifndef AK_BASE_INSTRUMENTED_H
#define AK_BASE_INSTRUMENTED_H

#include <stdbool.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define AK_INSTRUMENTED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define AK_INSTRUMENTED true
#endif
#endif
#ifndef AK_INSTRUMENTED
#define AK_INSTRUMENTED false
#endif

#endif
