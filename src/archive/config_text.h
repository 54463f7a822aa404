/*
 * config_text.h: converts configurations between text and JSON without knowing their space:
 * "MR=6,fast=True,cc=gcc" is {"MR": 6, "fast": true, "cc": "gcc"}. Other tools keep configurations
 * as objects; the archive keeps them as texts.
 */
#ifndef AK_ARCHIVE_CONFIG_TEXT_H
#define AK_ARCHIVE_CONFIG_TEXT_H

#include "archive/archive.h"

/* Converts a text to a new object whose members have the same order. A value may hold commas if
   what follows them does not look like another NAME=. */
ak_status ak_config_text_to_json(json_t **out, const char *text, const char *where, ak_error *err);
/* Does the same for the configuration of an archived trial. Messages name the trial. */
ak_status ak_config_of_trial(json_t **out, const ak_trial *trial, ak_error *err);

/* Converts an object of numbers, booleans and strings to text, which the caller frees with ak_free.
   `order` is an array of the names to write, all of which must exist; NULL: all members, in the
   object's own order. Returns AK_INVALID if a value is of another type, a name has characters that
   no parameter may have, or a string would read like several parameters. */
ak_status ak_config_text_from_json(char **out, const json_t *object, const json_t *order,
                                   const char *where, ak_error *err);

/* Replaces the "config" objects of a run's result, in the best configuration and in each candidate,
   by texts as in trials, or by null if an object cannot be written as text. */
ak_status ak_config_text_in_result(json_t *result, ak_error *err);

#endif
