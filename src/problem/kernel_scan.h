/*
 * kernel_scan.h: reads a kernel's entry, arguments and parameters from its source file. The scan
 * makes the documents that problem.json and the space file would hold. Where the source file does
 * not say something, the scan guesses, and it names each guess.
 */
#ifndef AK_PROBLEM_KERNEL_SCAN_H
#define AK_PROBLEM_KERNEL_SCAN_H

#include "problem/problem.h"

typedef struct ak_kernel_scan {
    json_t *problem, *space;
    char *source;    /* the file, with an entry that can be called by its name */
    char *reference; /* an ak_reference that only declares the arguments */
    char *notes;     /* guesses, a line "WHAT: where to write it\n" for each; "": none */
} ak_kernel_scan;

typedef struct ak_scan_input {
    const char *text;    /* the source file */
    const char *beside;  /* the text of the files beside it that it includes */
    const char *backend; /* the one whose language it is in: "host", "cuda" or "opencl" */
    const char *file;    /* the name that the source file gets */
    const char *name;    /* the name that the kernel gets */
} ak_scan_input;

/* Scans a source file. Returns AK_INVALID with a message about the first construct that the scan
   does not understand. The caller clears `out`, also on failure. */
ak_status ak_kernel_scan_text(ak_kernel_scan *out, const ak_scan_input *input, ak_error *err);
/* Looks whether the source of an implementation has the kernel that "KernelName" names, and whether
   this takes arrays and values of the types that "Launch" gives it. Returns AK_INVALID if not. What
   macros hide is not judged. */
ak_status ak_kernel_scan_check(const ak_implementation_spec *implementation,
                               const ak_problem *problem, ak_error *err);
void ak_kernel_scan_clear(ak_kernel_scan *scan);

#endif
