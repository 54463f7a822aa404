/* test_expr.c: tests expressions against a table of Python's results, and their limits, names,
   and values as text. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/fs.h"
#include "base/number.h"
#include "base/rng.h"
#include "space/expr.h"

/* ---- the table ------------------------------------------------------------------------------- */

/* Writes a value with texts in quotes, so that '1' and 1 differ. */
static void repr(ak_buf *out, const ak_value *value)
{
    char text[256];
    if (value->type == AK_VALUE_LIST) {
        ak_buf_putc(out, '[');
        for (size_t i = 0; i < value->as.list.count; i++) {
            ak_buf_puts(out, i == 0 ? "" : ", ");
            repr(out, &value->as.list.items[i]);
        }
        ak_buf_putc(out, ']');
        return;
    }
    (void)ak_value_format(text, sizeof text, value);
    const char *quote = value->type == AK_VALUE_STRING ? "'" : "";
    ak_buf_print(out, "%s%s%s", quote, text, quote);
}

static void bind(ak_scope *scope, char *line)
{
    while (*line != 0) {
        char *next = strchr(line, ';');
        if (next != NULL) {
            *next++ = 0;
        }
        char *value = strchr(line, '=');
        assert_non_null(value);
        *value++ = 0;
        ak_expr *expr;
        ak_value v;
        ak_arena *arena = ak_arena_new();
        assert_int_equal(ak_expr_parse(&expr, value, "binding", NULL), AK_OK);
        assert_int_equal(ak_expr_eval(&v, expr, NULL, arena, NULL), AK_OK);
        assert_int_equal(ak_scope_set(scope, line, v, NULL), AK_OK);
        ak_expr_free(expr);
        ak_arena_free(arena);
        line = next == NULL ? line + strlen(line) : next;
    }
}

static void check_triple(const char *text, char *bindings, const char *expected)
{
    ak_error err = AK_ERROR_INIT;
    ak_scope *scope = ak_scope_new(NULL);
    ak_arena *arena = ak_arena_new();
    ak_expr *expr = NULL;
    ak_value value;
    ak_buf got = AK_BUF(4096);
    bind(scope, bindings);
    ak_status status = ak_expr_parse(&expr, text, "case", &err);
    if (status == AK_OK) {
        status = ak_expr_eval(&value, expr, scope, arena, &err);
    }
    if (strncmp(expected, "fails: ", 7) == 0) {
        if (status == AK_OK || strstr(err.text, expected + 7) == NULL) {
            fail_msg("%s: expected a fault with \"%s\", got \"%s\"", text, expected + 7, err.text);
        }
        assert_int_equal(err.status, status);
        assert_non_null(strstr(err.text, "case")); /* where */
    } else {
        if (status != AK_OK) {
            fail_msg("%s: expected %s, got: %s", text, expected, err.text);
        }
        repr(&got, &value);
        if (strcmp(got.data, expected) != 0) {
            fail_msg("%s: expected %s, got %s", text, expected, got.data);
        }
    }
    ak_buf_free(&got);
    ak_expr_free(expr);
    ak_arena_free(arena);
    ak_scope_free(scope);
}

static char *next_line(char **cursor)
{
    char *line = *cursor, *end = strchr(line, '\n');
    if (end == NULL) {
        *cursor = line + strlen(line);
    } else {
        *end = 0;
        *cursor = end + 1;
    }
    return line;
}

static void test_table(void **state)
{
    (void)state;
    char *text, *cursor;
    size_t length, count = 0;
    assert_int_equal(ak_fs_read(&text, &length, AK_TEST_DATA "/expr.test", 1 << 20, NULL), AK_OK);
    cursor = text;
    while (*cursor != 0) {
        char *line = next_line(&cursor);
        if (*line == 0 || *line == '#') {
            continue;
        }
        char *bindings = next_line(&cursor);
        check_triple(line, bindings, next_line(&cursor));
        count++;
    }
    assert_true(count > 90); /* the file was really read */
    ak_free(text);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static ak_status parse_only(const char *text, ak_error *err)
{
    ak_expr *expr = NULL;
    ak_status status = ak_expr_parse(&expr, text, "case", err);
    ak_expr_free(expr);
    return status;
}

static void test_depth(void **state)
{
    (void)state;
    char text[4096];
    static const char *const openers[] = {"(", "[", "-", "not ", "abs(", "1 if 1 else ", "1 ** "};
    for (size_t o = 0; o < sizeof openers / sizeof openers[0]; o++) {
        ak_buf deep = AK_BUF(sizeof text);
        for (int i = 0; i < 150; i++) {
            ak_buf_puts(&deep, openers[o]);
        }
        ak_error err = AK_ERROR_INIT;
        assert_int_equal(parse_only(deep.data, &err), AK_LIMIT);
        assert_non_null(strstr(err.text, "nested deeper than 100"));
        ak_buf_free(&deep);
    }
    ak_buf nested = AK_BUF(sizeof text);
    for (int i = 0; i < 90; i++) {
        ak_buf_putc(&nested, '(');
    }
    ak_buf_putc(&nested, '1');
    for (int i = 0; i < 90; i++) {
        ak_buf_putc(&nested, ')');
    }
    assert_int_equal(parse_only(nested.data, NULL), AK_OK);
    ak_buf_free(&nested);
}

/* A long chain of operators is not deeply nested, so it must neither fail nor use much stack. */
static void test_long_chain(void **state)
{
    (void)state;
    ak_buf sum = AK_BUF(AK_EXPR_TEXT_MAX);
    ak_buf_putc(&sum, '1');
    for (int i = 1; i < 30000; i++) {
        ak_buf_puts(&sum, "+1");
    }
    int64_t value;
    assert_int_equal(ak_expr_int(&value, sum.data, NULL, "case", NULL), AK_OK);
    assert_int_equal(value, 30000);
    ak_buf_free(&sum);
}

static void test_text_limit(void **state)
{
    (void)state;
    ak_error err = AK_ERROR_INIT;
    char *text = ak_alloc(AK_EXPR_TEXT_MAX + 2, 1);
    memset(text, ' ', AK_EXPR_TEXT_MAX + 1);
    text[0] = '1';
    assert_int_equal(parse_only(text, &err), AK_LIMIT);
    text[AK_EXPR_TEXT_MAX] = 0;
    assert_int_equal(parse_only(text, &err), AK_OK);
    ak_free(text);
}

static void test_names_limit(void **state)
{
    (void)state;
    ak_buf sum = AK_BUF(AK_EXPR_TEXT_MAX);
    for (int i = 0; i <= AK_EXPR_NAMES_MAX; i++) {
        ak_buf_print(&sum, "%sn%d", i == 0 ? "" : "+", i);
    }
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(parse_only(sum.data, &err), AK_LIMIT);
    ak_buf_free(&sum);
}

/* ---- the rest of the interface --------------------------------------------------------------- */

static void test_names(void **state)
{
    (void)state;
    ak_expr *expr;
    const char *const *names;
    assert_int_equal(
        ak_expr_parse(&expr, "a + b*a + sum([i + c for i in range(d)]) + min(a, 1)", "case", NULL),
        AK_OK);
    assert_int_equal(ak_expr_names(&names, expr), 4);
    assert_string_equal(names[0], "a");
    assert_string_equal(names[1], "b");
    assert_string_equal(names[2], "d"); /* the list is evaluated first, outside */
    assert_string_equal(names[3], "c");
    ak_expr_free(expr);
    assert_true(ak_expr_is_name("BLOCK_SIZE_M2"));
    assert_true(ak_expr_is_name("min"));
    assert_false(ak_expr_is_name("2x"));
    assert_false(ak_expr_is_name("a b"));
    assert_false(ak_expr_is_name("not"));
    assert_false(ak_expr_is_name(""));
}

static void test_scopes(void **state)
{
    (void)state;
    ak_scope *outer = ak_scope_new(NULL), *inner = ak_scope_new(outer), *copy = ak_scope_new(NULL);
    ak_value value, item = {.type = AK_VALUE_STRING};
    char text[] = "gcc";
    item.as.string = text;
    ak_value list = {.type = AK_VALUE_LIST, .as.list = {&item, 1}};
    assert_int_equal(ak_scope_set_int(outer, "K", 8, NULL), AK_OK);
    assert_int_equal(ak_scope_set_int(outer, "N", 9, NULL), AK_OK);
    assert_int_equal(ak_scope_set_int(inner, "K", 16, NULL), AK_OK);
    assert_int_equal(ak_scope_set(inner, "compilers", list, NULL), AK_OK);
    text[0] = 'x'; /* the scope has its own copy */
    assert_true(ak_scope_get(&value, inner, "K"));
    assert_int_equal(value.as.integer, 16);
    assert_true(ak_scope_get(&value, inner, "N"));
    assert_int_equal(value.as.integer, 9);
    assert_false(ak_scope_get(&value, inner, "M"));
    assert_true(ak_scope_get(&value, inner, "compilers"));
    assert_string_equal(value.as.list.items[0].as.string, "gcc");
    assert_int_equal(ak_scope_set_real(inner, "K", 0.5, NULL), AK_OK); /* replaces */
    assert_int_equal(ak_scope_copy(copy, inner, NULL), AK_OK);
    ak_scope_free(inner);
    ak_scope_free(outer);
    assert_true(ak_scope_get(&value, copy, "K"));
    assert_true(value.as.real == 0.5);
    assert_true(ak_scope_get(&value, copy, "N"));
    assert_string_equal(ak_scope_nearest(copy, "compiler"), "compilers");
    assert_null(ak_scope_nearest(copy, "entirely_else"));
    ak_scope_free(copy);
}

static void test_typed_results(void **state)
{
    (void)state;
    int64_t whole = 0;
    double real = 0.0;
    bool truth = false;
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(ak_expr_int(&whole, "8 / 2", NULL, "case", &err), AK_OK);
    assert_int_equal(whole, 4);
    assert_int_equal(ak_expr_int(&whole, "9 / 2", NULL, "case", &err), AK_INVALID);
    assert_int_equal(whole, 4); /* untouched */
    assert_int_equal(ak_expr_int(&whole, "2.0**70", NULL, "case", &err), AK_INVALID);
    assert_int_equal(ak_expr_real(&real, "1", NULL, "case", &err), AK_OK);
    assert_true(real == 1.0);
    assert_int_equal(ak_expr_real(&real, "'a'", NULL, "case", &err), AK_INVALID);
    assert_int_equal(ak_expr_bool(&truth, "'a'", NULL, "case", &err), AK_OK);
    assert_true(truth);
    assert_int_equal(ak_expr_bool(&truth, "[]", NULL, "case", &err), AK_OK);
    assert_false(truth);
}

static void test_format(void **state)
{
    (void)state;
    char text[64];
    ak_value value = {.type = AK_VALUE_REAL, .as.real = 0.1};
    assert_int_equal(ak_value_format(text, sizeof text, &value), 3);
    assert_string_equal(text, "0.1");
    value.as.real = 3.0;
    (void)ak_value_format(text, sizeof text, &value);
    assert_string_equal(text, "3.0");
    value.as.real = 1.0 / 3.0;
    (void)ak_value_format(text, sizeof text, &value);
    assert_true(ak_number_read(text, NULL) == value.as.real);
    value = (ak_value){.type = AK_VALUE_STRING, .as.string = "longer than the room"};
    assert_int_equal(ak_value_format(text, 7, &value), 20); /* cut, but the length is right */
    assert_string_equal(text, "longer");
    assert_int_equal(ak_value_format(NULL, 0, &value), 20);
}

/* Parsing and evaluating end with a status for any text. */
static void test_random_texts(void **state)
{
    (void)state;
    static const char *const words[] = {
        "1", "0.5", "x", "'a'", "+",   "-",  "*",  "/",   "//", "%",   "**",   "(",    ")",   "[",
        "]", ",",   "<", "==",  "and", "or", "in", "not", "if", "for", "else", "min(", "True"};
    ak_rng rng;
    ak_rng_seed(&rng, 5);
    ak_scope *scope = ak_scope_new(NULL);
    assert_int_equal(ak_scope_set_int(scope, "x", 3, NULL), AK_OK);
    size_t fine = 0;
    for (int round = 0; round < 20000; round++) {
        ak_buf text = AK_BUF(1024);
        size_t n = 1 + ak_rng_below(&rng, 8);
        for (size_t i = 0; i < n; i++) {
            ak_buf_print(&text, "%s ", words[ak_rng_below(&rng, sizeof words / sizeof words[0])]);
        }
        bool truth;
        ak_error err = AK_ERROR_INIT;
        ak_status status = ak_expr_bool(&truth, text.data, scope, "case", &err);
        assert_true(status == AK_OK || (status == AK_INVALID && err.text[0] != 0));
        fine += status == AK_OK ? 1 : 0;
        ak_buf_free(&text);
    }
    assert_true(fine > 100);
    ak_scope_free(scope);
}

static void test_no_memory(void **state)
{
    (void)state;
    static const char text[] =
        "sum([a*i for i in range(4)]) + len('a' + 'b') + max(1, 2, 3, 4) if a in [1, b] else c";
    size_t failures = 0;
    for (size_t nth = 1;; nth++) {
        ak_error err = AK_ERROR_INIT;
        int64_t value = 0;
        ak_alloc_fail_at(nth);
        ak_scope *scope = ak_scope_new(NULL);
        ak_status status = AK_NO_MEMORY;
        if (scope != NULL) {
            status = ak_scope_set_int(scope, "a", 1, &err);
            status = status == AK_OK ? ak_scope_set_text(scope, "b", "x", &err) : status;
            status = status == AK_OK ? ak_expr_int(&value, text, scope, "case", &err) : status;
        }
        ak_alloc_fail_at(0);
        ak_scope_free(scope);
        if (status == AK_OK) {
            assert_int_equal(value, 12);
            break;
        }
        assert_int_equal(status, AK_NO_MEMORY);
        failures++;
    }
    assert_true(failures > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),       cmocka_unit_test(test_depth),
        cmocka_unit_test(test_long_chain),  cmocka_unit_test(test_text_limit),
        cmocka_unit_test(test_names_limit), cmocka_unit_test(test_names),
        cmocka_unit_test(test_scopes),      cmocka_unit_test(test_typed_results),
        cmocka_unit_test(test_format),      cmocka_unit_test(test_random_texts),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
