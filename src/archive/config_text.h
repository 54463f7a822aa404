/*
 * config_text.h: configurations as text and as JSON, without their space:
 * "MR=6,fast=True,cc=gcc" is {"MR": 6, "fast": true, "cc": "gcc"}. Other tools keep them as
 * objects, the archive as text.
 */
#ifndef AK_ARCHIVE_CONFIG_TEXT_H
#define AK_ARCHIVE_CONFIG_TEXT_H

#include "base/json.h"

/* An object in the order of the text. A value may hold commas if what follows them does not look
   like another NAME=. */
ak_status ak_config_text_to_json(json_t **out, const char *text, const char *where, ak_error *err);

/* The text (ak_free) of an object of numbers, booleans and strings. With `order` (an array of
   names) in that order, and all of them must be there; else in the object's. */
ak_status ak_config_text_from_json(char **out, const json_t *object, const json_t *order,
                                   const char *where, ak_error *err);

/* Run results keep configurations as objects: makes the "config" of the best and of each contestant
   the text that trials have. One that cannot be written as text becomes null. */
ak_status ak_config_text_in_result(json_t *result, ak_error *err);

/* "6" is 6, "0.5" is 0.5, "True" is true, anything else a string. NULL: no memory, or not UTF-8. */
json_t *ak_config_text_value(const char *text);

#endif
