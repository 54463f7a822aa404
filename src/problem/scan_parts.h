/*
 * scan_parts.h: what is known of a kernel while its source file is scanned. kernel_scan.c finds the
 * entry and its arguments, scan_parameters.c the parameters, scan_undefined.c names that may be
 * parameters, and scan_shapes.c the shapes of arrays; scan_documents.c makes the documents.
 */
#ifndef AK_PROBLEM_SCAN_PARTS_H
#define AK_PROBLEM_SCAN_PARTS_H

#include <string.h>

#include "base/buf.h"
#include "problem/kernel_files.h"
#include "problem/problem.h"
#include "problem/source_text.h"

#define AK_SCAN_NAME       (AK_KERNEL_NAME_MAX + 1)
#define AK_SCAN_PARAMETERS 16
#define AK_SCAN_SHAPE      (AK_SIZES_MAX * (AK_SCAN_NAME + 1))

typedef struct ak_scan_argument {
    char name[AK_SCAN_NAME];
    ak_dtype dtype;
    bool pointer, reads_only;
    bool reads;       /* of an array that is not const: the kernel reads it before it writes it */
    bool guessed;     /* of an array: its indices say how many elements it has */
    unsigned sizes;   /* if guessed, the array has the product of these sizes, one bit each in the
                         order of the arguments */
    int64_t elements; /* if guessed and `sizes` is 0, the array has this many elements */
} ak_scan_argument;

typedef struct ak_scan {
    const char *text, *backend, *file;
    const char *beside; /* the text of the files beside the source that it includes */
    bool cpp;
    ak_source_omp openmp; /* the OpenMP support that the text and `beside` need */
    char *own;            /* a copy of the text; for CUDA without declarations of the entry and
                             without its "static" and "inline" */
    char *plain;          /* the text with blanks in place of comments and quoted texts */
    size_t begin, end;    /* offsets of "template <...>" in the text; equal if there is no
                             template */
    size_t entry;         /* where the entry's qualifiers begin */
    char name[AK_SCAN_NAME];
    ak_scan_argument arguments[AK_ARGUMENTS_MAX];
    size_t argument_count;
    struct {
        char name[AK_SCAN_NAME];
        int64_t value;
        bool truth; /* a template argument of type bool: 0 or 1 */
    } parameters[AK_SCAN_PARAMETERS];
    size_t parameter_count, parameters_left; /* left: how many did not fit */
    size_t others;                           /* number of kernels besides the chosen one */
    ak_buf names;                            /* the names of all functions that may be the entry,
                                                separated by commas */
    ak_buf notes;
    ak_error *err;
} ak_scan;

/* Returns whether an argument is likely a size: a whole number of 32 or 64 bits. */
static inline bool ak_scan_is_size(const ak_scan_argument *a)
{
    return !a->pointer && !ak_dtype_is_float(a->dtype) && ak_dtype_bytes(a->dtype) >= 4;
}

/* Finds the dtype that the words before a name mean, such as "const float"; returns false if the
   type is unknown. */
bool ak_scan_type_of(ak_dtype *out, const char *words);

/* ak_scan_is_parameter returns whether a parameter of this name has been found. The others find
   parameters: names that the source lets the compiler define, options such as -DX=16 anywhere in
   the file, and the arguments of the template right before the entry. */
bool ak_scan_is_parameter(const ak_scan *s, const char *name);
void ak_scan_guarded(ak_scan *s);
void ak_scan_options(ak_scan *s);
ak_status ak_scan_template(ak_scan *s);
/* Notes the first 8 names in capitals that the source uses and nothing defines, because they are
   likely parameters. */
void ak_scan_undefined(ak_scan *s);
/* Finds the "template <...>" that ends at `end`, and sets s->begin and s->end to its offsets.
   Returns false if there is none. */
bool ak_scan_find_template(ak_scan *s, size_t end);

void ak_scan_copy_name(char out[AK_SCAN_NAME], const char *from, size_t length);
/* Copies the word that ends before offset `at`, blanks left out, and returns its length; 0 if there
   is none. */
size_t ak_scan_name_before(char out[AK_SCAN_NAME], const char *text, size_t at);
/* Returns the '{' of the function whose '(' is at `open`, and gives its '}'. Both are NULL if there
   is none. */
const char *ak_scan_body(const char **end, const char *open);
/* Notes a guess: what is guessed, and where the user writes the right value. */
void ak_scan_note(ak_scan *s, const char *what, const char *where);

/* Returns whether the source, or a file beside it, has "#define NAME". */
bool ak_scan_defines(const ak_scan *s, const char *name);
/* Finds the name that an argument has in the source: the scan calls "in", which is a keyword,
   "in_". */
void ak_scan_source_name(char out[AK_SCAN_NAME], const ak_scan *s, const ak_scan_argument *a);
/* Sets `guessed`, `sizes` and `elements` of each array from the indices that the kernel uses, whose
   arguments begin at `open`. */
ak_status ak_scan_guess_shapes(ak_scan *s, const char *open);
/* Writes the extent of an array as an expression of sizes: what its indices say, else the product
   of all sizes, or "n" if there is no size. */
void ak_scan_shape(char out[AK_SCAN_SHAPE], const ak_scan *s, const ak_scan_argument *a);
struct ak_kernel_scan; /* kernel_files.h */

/* Make the parts of *out. The first two return false if there is no memory. */
bool ak_scan_problem(struct ak_kernel_scan *out, ak_scan *s, const char *name);
bool ak_scan_space(struct ak_kernel_scan *out, ak_scan *s);
ak_status ak_scan_source(struct ak_kernel_scan *out, const ak_scan *s);
ak_status ak_scan_reference(struct ak_kernel_scan *out, const ak_scan *s);
/* Notes each guess that the documents hold. */
void ak_scan_notes(ak_scan *s);

#endif
