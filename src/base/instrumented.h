/*
 * instrumented.h: tells whether this build is for a sanitizer. Such a build needs many times the
 * time and memory for the same work, so that neither says anything about a candidate.
 */
#ifndef AK_BASE_INSTRUMENTED_H
#define AK_BASE_INSTRUMENTED_H

#include <stdbool.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define AK_INSTRUMENTED true
#else
#define AK_INSTRUMENTED false
#endif

#endif
