/*
 * character.h: finds the length of a character in UTF-8 (RFC 3629). utf8.h is about whole texts.
 */
#ifndef AK_BASE_CHARACTER_H
#define AK_BASE_CHARACTER_H

#include <stddef.h>

/* Returns the length in bytes of the first character: 1 for the 0 at the end of a text, 0 if it is
   not valid UTF-8. Reads nothing beyond that 0. */
size_t ak_character_bytes(const char *text);

#endif
