/* test_rank.c: tests the two forms of a "Rank": that one with named parts has the value of the
   expression in which they are written out, also where parts fail, and what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "space_fixture.h"

#include "base/alloc.h"
#include "space/rank.h"

/* A takes 0, where divisions by it fail. */
static const char space_of_two[] =
    "{\"TuningParameters\": [{\"Name\": \"A\", \"Type\": \"int\", \"Values\": [0, 1, 2, 3]},"
    " {\"Name\": \"B\", \"Type\": \"float\", \"Values\": [0.5, 1.5, 3]}]}";

static ak_scope *constants_of(int64_t n)
{
    ak_scope *constants = ak_scope_new(NULL);
    assert_int_equal(ak_scope_set_int(constants, "N", n, NULL), AK_OK);
    return constants;
}

static ak_rank *open_rank(const ak_space *space, const ak_scope *constants, const char *text)
{
    ak_rank *rank = NULL;
    ak_error err = AK_ERROR_INIT;
    if (ak_rank_open(&rank, space, constants, text, "test.json", &err) != AK_OK) {
        fail_msg("%s: %s", text, err.text);
    }
    return rank;
}

/* Expects two ranks to agree to the bit at all configurations. Returns at how many both fail. */
static size_t compare_ranks(const char *parts, const char *written_out, int64_t n)
{
    ak_space *space = fixture_space(space_of_two);
    ak_scope *constants = constants_of(n);
    ak_rank *a = open_rank(space, constants, parts);
    ak_rank *b = open_rank(space, constants, written_out);
    size_t failed = 0;
    for (int i = 0; i < 12; i++) {
        const ak_config config = {.at = {(uint16_t)(i / 3), (uint16_t)(i % 3)}};
        const double x = ak_rank_log(a, &config), y = ak_rank_log(b, &config);
        if (memcmp(&x, &y, sizeof x) != 0) {
            fail_msg("%s\n%s\nat %d: %.17g and %.17g", parts, written_out, i, x, y);
        }
        failed += isinf(x) ? 1 : 0;
    }
    ak_rank_close(a);
    ak_rank_close(b);
    ak_scope_free(constants);
    ak_space_free(space);
    return failed;
}

static void test_values(void **state)
{
    static const struct {
        const char *parts, *written_out;
        size_t failed;
    } cases[] = {
        {"{\"Value\": \"A + B\"}", "A + B", 0},
        {"{\"Let\": [], \"Value\": 7}", "7", 0},
        {"{\"Let\": [{\"Name\": \"x\", \"Value\": 0.25}], \"Value\": \"x + A*x\"}", "0.25 + A*0.25",
         0},
        {"{\"Let\": [{\"Name\": \"t\", \"Value\": \"(N + A)//2\"},"
         " {\"Name\": \"u\", \"Value\": \"t*t + B\"}], \"Value\": \"u/(t + 1) + u\"}",
         "(((N + A)//2)*((N + A)//2) + B)/((N + A)//2 + 1) + (((N + A)//2)*((N + A)//2) + B)", 0},
        /* a part that fails counts only where it is read */
        {"{\"Let\": [{\"Name\": \"q\", \"Value\": \"N//A\"}], \"Value\": \"q if A > 0 else B\"}",
         "N//A if A > 0 else B", 0},
        {"{\"Let\": [{\"Name\": \"q\", \"Value\": \"N//A\"}], \"Value\": \"B < 1 and A > 0 and q "
         "or 4\"}",
         "B < 1 and A > 0 and N//A or 4", 0},
        {"{\"Let\": [{\"Name\": \"q\", \"Value\": \"N//A\"}, {\"Name\": \"r\", \"Value\": \"q + "
         "1\"}], \"Value\": \"r if B < 1 else B\"}",
         "N//A + 1 if B < 1 else B", 1},
        /* a part with a comprehension is first read within another comprehension */
        {"{\"Let\": [{\"Name\": \"s\", \"Value\": \"sum([i*i for i in range(A + 2)])\"},"
         " {\"Name\": \"t\", \"Value\": \"sum([s + i for i in range(3)])\"}],"
         " \"Value\": \"sum([t + s + i*(s - i) for i in range(1, 4)])\"}",
         "sum([sum([sum([j*j for j in range(A + 2)]) + k for k in range(3)]) + sum([j*j for j in "
         "range(A + 2)]) + i*(sum([j*j for j in range(A + 2)]) - i) for i in range(1, 4)])",
         0},
        /* the variable of a comprehension hides a part */
        {"{\"Let\": [{\"Name\": \"i\", \"Value\": \"A + 5\"}], \"Value\": \"i + sum([i for i in "
         "range(3)])\"}",
         "A + 5 + 3", 0},
    };
    (void)state;
    for (size_t i = 0; i < AK_COUNT(cases); i++) {
        assert_int_equal(compare_ranks(cases[i].parts, cases[i].written_out, 100), cases[i].failed);
    }
}

/* Writes a random expression with parts by name into `named`, and with their texts into `plain`. */
static void random_expression(ak_buf *named, ak_buf *plain, ak_rng *rng, char **texts, size_t count,
                              int depth)
{
    static const char *const leaves[] = {"A", "B", "N", "2", "0.75"};
    static const char *const operators[] = {" + ", " - ", "*", "/", "//", "%", " or ", " and "};
    const uint64_t kind = ak_rng_below(rng, depth == 0 ? 2 : 5);
    if (kind == 0 && count > 0) {
        const size_t part = (size_t)ak_rng_below(rng, count);
        ak_buf_print(named, "p%zu", part);
        ak_buf_print(plain, "(%s)", texts[part]);
    } else if (kind <= 1) {
        const char *leaf = leaves[ak_rng_below(rng, AK_COUNT(leaves))];
        ak_buf_puts(named, leaf);
        ak_buf_puts(plain, leaf);
    } else {
        const char *between =
            kind == 2 ? " if A > 1 else " : operators[ak_rng_below(rng, AK_COUNT(operators))];
        ak_buf_puts(named, "(");
        ak_buf_puts(plain, "(");
        random_expression(named, plain, rng, texts, count, depth - 1);
        ak_buf_puts(named, between);
        ak_buf_puts(plain, between);
        random_expression(named, plain, rng, texts, count, depth - 1);
        ak_buf_puts(named, ")");
        ak_buf_puts(plain, ")");
    }
}

static void test_random(void **state)
{
    enum { PARTS = 5, RANKS = 400 };
    ak_rng rng;
    size_t failed = 0;
    (void)state;
    ak_rng_seed(&rng, 7);
    for (int k = 0; k < RANKS; k++) {
        ak_buf json = AK_BUF(1 << 20), out = AK_BUF(1 << 20);
        char *texts[PARTS];
        ak_buf_puts(&json, "{\"Let\": [");
        for (size_t i = 0; i < PARTS; i++) {
            ak_buf named = AK_BUF(1 << 16), plain = AK_BUF(1 << 20);
            random_expression(&named, &plain, &rng, texts, i, 2);
            ak_buf_print(&json, "%s{\"Name\": \"p%zu\", \"Value\": \"%s\"}", i == 0 ? "" : ", ", i,
                         named.data);
            texts[i] = ak_strdup(plain.data);
            ak_buf_free(&named);
            ak_buf_free(&plain);
        }
        /* the branch that is never taken reads every part, so that none is unused */
        ak_buf_puts(&json, "], \"Value\": \"");
        random_expression(&json, &out, &rng, texts, PARTS, 3);
        ak_buf_puts(&json, " if A >= 0 else p0 + p1 + p2 + p3 + p4\"}");
        failed += compare_ranks(json.data, out.data, 1 + k % 9);
        AK_END_EACH(ak_free, texts, PARTS);
        ak_buf_free(&json);
        ak_buf_free(&out);
    }
    assert_true(failed > RANKS / 2 && failed < 11 * RANKS); /* of 12 configurations each */
}

/* Each part is computed once: written out, this expression has 2^60 terms. */
static void test_once(void **state)
{
    ak_buf json = AK_BUF(1 << 16);
    ak_space *space = fixture_space(space_of_two);
    (void)state;
    ak_buf_puts(&json, "{\"Let\": [{\"Name\": \"p0\", \"Value\": \"1 + A\"}");
    for (int i = 1; i <= 60; i++) {
        ak_buf_print(&json, ", {\"Name\": \"p%d\", \"Value\": \"p%d + p%d\"}", i, i - 1, i - 1);
    }
    ak_buf_puts(&json, "], \"Value\": \"p60\"}");
    ak_rank *rank = open_rank(space, NULL, json.data);
    for (uint16_t i = 0; i < 4; i++) {
        const ak_config config = {.at = {i}};
        assert_true(fabs(ak_rank_log(rank, &config) - log(ldexp(1 + i, 60))) < 1e-12);
    }
    ak_rank_close(rank);
    ak_space_free(space);
    ak_buf_free(&json);
}

#define LET(name, value)                                                                           \
    "{\"Let\": [{\"Name\": \"" name "\", \"Value\": \"A\"}], \"Value\": " value "}"

static void test_refused(void **state)
{
    static const struct {
        const char *rank, *message;
    } cases[] = {
        {"7", "\"Rank\" must be an expression, or an object with \"Let\" and \"Value\""},
        {"null", "must be an expression, or an object"},
        {"\"A +\"", "test.json: \"Rank\": column 4"},
        {"{\"Let\": []}", "\"Rank\": Value must be an expression or a number"},
        {"{\"Value\": [1]}", "Value must be an expression or a number"},
        {"{\"Value\": \"A\", \"Values\": 1}", "unknown key \"Values\"; did you mean \"Value\"?"},
        {"{\"Let\": {}, \"Value\": \"A\"}", "\"Let\" must be an array"},
        {"{\"Let\": [7], \"Value\": \"A\"}", "\"Rank\": Let: value 1 must be an object"},
        {"{\"Let\": [{\"Value\": \"A\"}], \"Value\": \"A\"}", "Let: value 1: \"Name\" is missing"},
        {"{\"Let\": [{\"Name\": \"x\"}], \"Value\": \"x\"}", "x must be an expression or a number"},
        {"{\"Let\": [{\"Name\": \"x\", \"Value\": 1, \"Unit\": 1}], \"Value\": \"x\"}",
         "Let: value 1: unknown key \"Unit\""},
        {LET("2x", "1"), "Let: \"2x\" is not a valid name"},
        {LET("if", "1"), "Let: \"if\" is not a valid name"},
        {LET("x", "\"A\""), "\"Rank\": nothing reads the part \"x\"; take it out"},
        {LET("x", "\"sum([x for x in range(A)])\""), "nothing reads the part \"x\""},
        {LET("x", "\"x +\""), "test.json: \"Rank\": column 4"},
        {LET("A", "\"A\""), "the part \"A\" has the name of a parameter; give it another"},
        {LET("N", "\"N\""), "the part \"N\" has the name of a size or device fact; give it"},
        {LET("x", "\"x*FOO\""), "\"Rank\" reads \"FOO\", which is neither a parameter nor a size "
                                "nor a device fact nor an earlier part"},
        {"{\"Let\": [{\"Name\": \"x\", \"Value\": \"A +\"}], \"Value\": \"x\"}",
         "\"Rank\": x: column 4"},
        {"{\"Let\": [{\"Name\": \"x\", \"Value\": \"x\"}], \"Value\": \"x\"}", "reads \"x\""},
        {"{\"Let\": [{\"Name\": \"x\", \"Value\": \"y\"}, {\"Name\": \"y\", \"Value\": 1}], "
         "\"Value\": \"x + y\"}",
         "reads \"y\", which is neither"},
        {"{\"Let\": [{\"Name\": \"x\", \"Value\": 1}, {\"Name\": \"x\", \"Value\": 2}], "
         "\"Value\": \"x\"}",
         "\"Rank\": x: the name is that of an earlier part"},
    };
    ak_space *space = fixture_space(space_of_two);
    ak_scope *constants = constants_of(1);
    (void)state;
    for (size_t i = 0; i < AK_COUNT(cases); i++) {
        ak_error err = AK_ERROR_INIT;
        ak_rank *rank = NULL;
        char *text = NULL, file[1024];
        json_t *object;
        (void)snprintf(file, sizeof file, "{\"Rank\": %s}", cases[i].rank);
        assert_int_equal(ak_json_parse_text(&object, file, "test.json", NULL), AK_OK);
        ak_status status = ak_rank_text(&text, object, "Rank", "test.json", &err);
        status = status == AK_OK ? ak_rank_open(&rank, space, constants, text, "test.json", &err)
                                 : status;
        assert_null(rank);
        if (status != AK_INVALID || strstr(err.text, cases[i].message) == NULL) {
            fail_msg("%s: expected \"%s\", got \"%s\"", file, cases[i].message, err.text);
        }
        assert_memory_equal(err.text, "test.json: \"Rank\"", 17);
        assert_null(strchr(err.text, '\n'));
        json_decref(object);
        ak_free(text);
    }
    ak_scope_free(constants);
    ak_space_free(space);
}

/* Parts are as many and as deep as an expression may be. Each part reads the one before it or, if
   they are `wide`, all read the first. */
static void test_limits(void **state)
{
    static const struct {
        int parts, parentheses;
        bool wide;
        const char *message;
    } cases[] = {{128, 0, true, NULL},
                 {129, 0, true, "Let has more than 128 entries"},
                 {99, 0, false, NULL},
                 {100, 0, false, "\"Rank\": the expression is nested deeper than 100, with the"},
                 {25, 3, false, NULL},
                 {26, 3, false, "\"Rank\": p25: the expression is nested deeper than 100"}};
    (void)state;
    for (size_t i = 0; i < AK_COUNT(cases); i++) {
        const int deep = cases[i].parentheses;
        ak_buf json = AK_BUF(1 << 16);
        json_t *object;
        ak_error err = AK_ERROR_INIT;
        char *text = NULL;
        ak_buf_puts(&json, "{\"Rank\": {\"Let\": [{\"Name\": \"p0\", \"Value\": \"A\"}");
        for (int k = 1; k < cases[i].parts; k++) {
            ak_buf_print(&json, ", {\"Name\": \"p%d\", \"Value\": \"%.*sp%d%.*s\"}", k, deep, "(((",
                         cases[i].wide ? 0 : k - 1, deep, ")))");
        }
        ak_buf_puts(&json, "], \"Value\": \"p0");
        for (int k = cases[i].wide ? 1 : cases[i].parts - 1; k < cases[i].parts; k++) {
            ak_buf_print(&json, " + p%d", k);
        }
        ak_buf_puts(&json, "\"}}");
        assert_int_equal(ak_json_parse_text(&object, json.data, "test.json", NULL), AK_OK);
        ak_status status = ak_rank_text(&text, object, "Rank", "test.json", &err);
        if (cases[i].message == NULL) {
            assert_int_equal(status, AK_OK);
        } else {
            assert_int_equal(status, AK_LIMIT);
            if (strstr(err.text, cases[i].message) == NULL) {
                fail_msg("%s", err.text);
            }
        }
        ak_free(text);
        json_decref(object);
        ak_buf_free(&json);
    }
}

/* The text of the object form is its JSON in one line, which reads back as the same rank. */
static void test_text(void **state)
{
    static const char file[] = "{\"Rank\": {\n  \"Let\": [ {\"Name\": \"x\", \"Value\": 0.1} ],\n"
                               "  \"Value\": \"x*A\"\n}, \"rank\": \"A + B\"}";
    json_t *object;
    char *text;
    (void)state;
    assert_int_equal(ak_json_parse_text(&object, file, "test.json", NULL), AK_OK);
    assert_int_equal(ak_rank_text(&text, object, "Rank", "test.json", NULL), AK_OK);
    assert_string_equal(text, "{\"Let\":[{\"Name\":\"x\",\"Value\":0.1}],\"Value\":\"x*A\"}");
    (void)compare_ranks(text, "0.1*A", 1);
    ak_free(text);
    assert_int_equal(ak_rank_text(&text, object, "rank", "test.json", NULL), AK_OK);
    assert_string_equal(text, "A + B");
    ak_free(text);
    assert_int_equal(ak_rank_text(&text, object, "Ranks", "test.json", NULL), AK_OK);
    assert_null(text);
    json_decref(object);
}

/* A recording may lack names that a rank reads, and may have facts with the names of its parts. */
static void test_known(void **state)
{
    static const struct {
        const char *rank;
        bool known;
    } cases[] = {{"A*N", true},
                 {"A*M", false},
                 {"{\"Let\": [{\"Name\": \"x\", \"Value\": \"N\"}], \"Value\": \"x*A\"}", true},
                 {"{\"Let\": [{\"Name\": \"x\", \"Value\": \"M\"}], \"Value\": \"x*A\"}", false},
                 {"{\"Let\": [{\"Name\": \"N\", \"Value\": \"1\"}], \"Value\": \"N*A\"}", false}};
    ak_space *space = fixture_space(space_of_two);
    ak_scope *constants = constants_of(1);
    bool known;
    (void)state;
    for (size_t i = 0; i < AK_COUNT(cases); i++) {
        assert_int_equal(ak_rank_known(&known, space, constants, cases[i].rank, "test", NULL),
                         AK_OK);
        assert_int_equal(known, cases[i].known);
    }
    assert_int_equal(ak_rank_known(&known, space, constants, "{\"Let\"", "test", NULL), AK_INVALID);
    ak_scope_free(constants);
    ak_space_free(space);
}

static void test_no_memory(void **state)
{
    static const char text[] = "{\"Let\": [{\"Name\": \"x\", \"Value\": \"N//2\"}], \"Value\": "
                               "\"x*A + B*sum([x for i in range(x)])\"}";
    ak_space *space = fixture_space(space_of_two);
    ak_scope *constants = constants_of(8);
    ak_status status = AK_NO_MEMORY;
    (void)state;
    for (size_t nth = 1; status != AK_OK; nth++) {
        ak_rank *rank = NULL;
        ak_error err = AK_ERROR_INIT;
        ak_alloc_fail_at(nth);
        status = ak_rank_open(&rank, space, constants, text, "test.json", &err);
        ak_alloc_fail_at(0);
        assert_true((status == AK_OK) == (rank != NULL));
        assert_true(status == AK_OK || err.text[0] != 0);
        assert_true(nth < 1000);
        ak_rank_close(rank);
    }
    ak_scope_free(constants);
    ak_space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values), cmocka_unit_test(test_random),
        cmocka_unit_test(test_once),   cmocka_unit_test(test_refused),
        cmocka_unit_test(test_limits), cmocka_unit_test(test_text),
        cmocka_unit_test(test_known),  cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
