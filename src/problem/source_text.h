/* source_text.h: finds words and brackets in the text of a source file, without parsing it. */
#ifndef AK_PROBLEM_SOURCE_TEXT_H
#define AK_PROBLEM_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* The characters that may begin a name in C, CUDA and OpenCL, those that may be in one, and
   blanks. */
#define AK_SOURCE_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
#define AK_SOURCE_WORD    AK_SOURCE_LETTERS "0123456789"
#define AK_SOURCE_BLANK   " \t\r\n"

/* Copies the text with blanks in place of comments, string literals and character constants.
   Offsets and line breaks stay the same. Returns NULL if there is no memory. The caller frees the
   copy with ak_free. */
char *ak_source_plain(const char *text);
/* The OpenMP support that a source needs: none, only -fopenmp-simd, or threads. */
typedef enum ak_source_omp {
    AK_SOURCE_OMP_NONE,
    AK_SOURCE_OMP_SIMD,
    AK_SOURCE_OMP_THREADS
} ak_source_omp;
/* Finds out what a text needs from its directives ("#pragma omp", _Pragma("omp")). Returns false if
   there is no memory. */
bool ak_source_openmp(ak_source_omp *out, const char *text);
/* Returns what follows `word` if the text begins with "#pragma WORD" or _Pragma("WORD"), else
   NULL. */
const char *ak_source_after_pragma(const char *text, const char *word);
/* Finds a whole word. Returns NULL if there is none. */
const char *ak_source_find(const char *text, const char *word);
bool ak_source_has(const char *text, const char *word);
/* Returns the bracket that closes the one at `open`, or NULL. */
const char *ak_source_closing(const char *open);
/* Returns the offset of the longest run of characters from `set` that ends right before `end`;
   `end` if no such character stands there. */
size_t ak_source_back(const char *text, size_t end, const char *set);
/* Returns the length of the text up to the first comma or `stop` outside brackets, or up to its
   end. */
size_t ak_source_item(const char *text, char stop);

#endif
