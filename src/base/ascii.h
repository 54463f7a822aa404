/*
 * ascii.h: classifies characters and compares texts without case, for names, keywords and headers.
 * The functions treat texts as ASCII in every locale of the program that uses the library: in a
 * Turkish locale, the C library's toupper('i') does not return 'I'.
 */
#ifndef AK_BASE_ASCII_H
#define AK_BASE_ASCII_H

#include <stdbool.h>

static inline bool ak_ascii_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool ak_ascii_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Returns true for a letter, a digit or '_', the characters of names in C, Python and our files. */
static inline bool ak_ascii_is_word(char c)
{
    return ak_ascii_is_letter(c) || ak_ascii_is_digit(c) || c == '_';
}

/* Returns true for a space, a tab, a line feed, a vertical tab, a form feed or a carriage
   return. */
static inline bool ak_ascii_is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline char ak_ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static inline char ak_ascii_upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* Return, without regard to case, whether `text` begins with `head`, whether two texts are equal,
   and where `part` first occurs in `text` (NULL: nowhere). */
bool ak_ascii_begins(const char *text, const char *head);
bool ak_ascii_equal(const char *a, const char *b);
const char *ak_ascii_find(const char *text, const char *part);

#endif
