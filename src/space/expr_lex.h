/*
 * expr_lex.h: the tokens of an expression, for its parser (expr_parse.c). p->now is the current
 * token. The first fault is kept in p->status, and nothing advances after it. Internal to space/.
 */
#ifndef AK_SPACE_EXPR_LEX_H
#define AK_SPACE_EXPR_LEX_H

#include "space/expr_tree.h"

typedef enum ak_token_kind {
    AK_TOKEN_END,
    AK_TOKEN_NUMBER,
    AK_TOKEN_STRING,
    AK_TOKEN_NAME,
    AK_TOKEN_MARK
} ak_token_kind;

typedef struct ak_token {
    ak_token_kind kind;
    const char *at; /* first byte, in the text of the parser */
    size_t length;
    ak_value value; /* value of a number or a string; its text is in the expression's arena */
} ak_token;

typedef struct ak_parser {
    ak_expr *expr;
    const char *text, *cursor;
    ak_token now;
    size_t depth, deepest;
    ak_error *err;
    ak_status status; /* status of the first fault, after which parsing functions return NULL */
} ak_parser;

/* Returns true for a keyword of the language, which cannot be a name. */
bool ak_lex_is_keyword(const char *text, size_t length);

/* Record a fault unless there was one before, and return NULL. `at` points into the text: the
   message gives its column. */
void *ak_lex_no_memory(ak_parser *p);
void *ak_lex_fault(ak_parser *p, const char *at, const char *what);

/* Reads the next token. Returns false after a fault. */
bool ak_lex_advance(ak_parser *p);
/* Returns true if the current token is this name or mark. */
bool ak_lex_is(const ak_parser *p, const char *text);
/* Reads the next token if the current one is this name or mark; any other current token is a
   fault. */
bool ak_lex_expect(ak_parser *p, const char *text);

#endif
