/*
 * identity.h: the canonical text of a problem.json or a space file: the members that decide which
 * code is built and what is measured.
 *
 * White space and the order of members make no difference, and prose is left out: descriptions,
 * notes, and what only prompts show. Every member that is not known to be prose counts, so members
 * that are added to the formats count without a change here.
 */
#ifndef AK_PROBLEM_IDENTITY_H
#define AK_PROBLEM_IDENTITY_H

#include "base/json.h"

/* Gives the canonical text of a problem.json or of a space file. The caller frees it with
   ak_free. */
ak_status ak_problem_identity(char **out, const json_t *problem, ak_error *err);
ak_status ak_space_identity(char **out, const json_t *space, ak_error *err);

#endif
