/*
 * character.h: knows how UTF-8 encodes a character (RFC 3629). utf8.h is about whole texts.
 */
#ifndef AK_BASE_CHARACTER_H
#define AK_BASE_CHARACTER_H

#include <stddef.h>

/* Returns the bytes of the character that begins the text, or 0 if that is not UTF-8; 1 for the 0
   at the end. Reads nothing behind the end. */
size_t ak_character_bytes(const char *text);

#endif
