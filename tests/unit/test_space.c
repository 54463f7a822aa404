/* test_space.c: compares spaces with brute force on random spaces, and tests indices,
   neighbours, repair and faults. */
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

/* ---- random spaces --------------------------------------------------------------------------- */

typedef struct random_space {
    ak_buf json;
    char conditions[4][512];
    size_t condition_count;
    ak_rng rng;
} random_space;

static size_t below(random_space *r, size_t bound)
{
    return (size_t)ak_rng_below(&r->rng, bound);
}

/* Appends a random expression of numbers. A and B are ints, C is a real, S a text, F a bool. */
static void random_number(random_space *r, ak_buf *out, int depth);

static void random_truth(random_space *r, ak_buf *out, int depth)
{
    static const char *const compare[] = {"<", "<=", ">", ">=", "==", "!="};
    switch (depth <= 0 ? below(r, 5) : below(r, 12)) {
    case 0:
        ak_buf_puts(out, "F");
        break;
    case 1:
        ak_buf_print(out, "S %s 'y'", below(r, 2) ? "==" : "!=");
        break;
    case 2:
        ak_buf_print(out, "S %s ['x', 'z', 1]", below(r, 2) ? "in" : "not in");
        break;
    case 3:
        ak_buf_puts(out, "A ");
        ak_buf_puts(out, below(r, 2) ? "in [2**i for i in range(K)]" : "not in (B, 2, 0.5, [1])");
        break;
    case 4:
        random_number(r, out, depth - 1); /* a number's truth */
        break;
    case 5:
        ak_buf_puts(out, "not (");
        random_truth(r, out, depth - 1);
        ak_buf_puts(out, ")");
        break;
    case 6:
    case 7:
        ak_buf_puts(out, "(");
        random_truth(r, out, depth - 1);
        ak_buf_puts(out, below(r, 2) ? ") and (" : ") or (");
        random_truth(r, out, depth - 1);
        ak_buf_puts(out, ")");
        break;
    case 8:
        random_number(r, out, depth - 1);
        ak_buf_print(out, " %s ", compare[below(r, 6)]);
        random_number(r, out, depth - 1);
        ak_buf_print(out, " %s ", compare[below(r, 6)]);
        random_number(r, out, depth - 1);
        break;
    case 9:
        ak_buf_puts(out, "(");
        random_truth(r, out, depth - 1);
        ak_buf_puts(out, " if F else ");
        random_number(r, out, depth - 1);
        ak_buf_puts(out, ")");
        break;
    default:
        random_number(r, out, depth - 1);
        ak_buf_print(out, " %s ", compare[below(r, 6)]);
        random_number(r, out, depth - 1);
        break;
    }
}

static void random_number(random_space *r, ak_buf *out, int depth)
{
    static const char *const leaves[] = {"A", "B", "D", "C",   "K",  "F",
                                         "0", "2", "3", "0.5", "-4", "4611686018427387904"};
    static const char *const operators[] = {"+", "-", "*", "/", "//", "%", "**"};
    static const char *const functions[] = {"min",   "max",   "abs", "sqrt",  "log2", "ceil",
                                            "floor", "round", "int", "float", "sum",  "len"};
    size_t f;
    if (depth <= 0) {
        ak_buf_puts(out, leaves[below(r, 12)]);
        return;
    }
    switch (below(r, 9)) {
    case 0:
        ak_buf_puts(out, leaves[below(r, 12)]);
        break;
    case 1:
        ak_buf_puts(out, "-(");
        random_number(r, out, depth - 1);
        ak_buf_puts(out, ")");
        break;
    case 2:
        f = below(r, 12);
        ak_buf_print(out, "%s(%s", functions[f], f >= 10 ? "[" : "");
        random_number(r, out, depth - 1);
        if (f < 2 || f >= 10) {
            ak_buf_puts(out, ", ");
            random_number(r, out, depth - 1);
        }
        ak_buf_print(out, "%s)", f >= 10 ? "]" : "");
        break;
    case 3:
        ak_buf_puts(out, "(");
        random_number(r, out, depth - 1);
        ak_buf_puts(out, " if ");
        random_truth(r, out, depth - 1);
        ak_buf_puts(out, " else ");
        random_number(r, out, depth - 1);
        ak_buf_puts(out, ")");
        break;
    case 4:
        ak_buf_puts(out, "(");
        random_truth(r, out, depth - 1);
        ak_buf_puts(out, " and ");
        random_number(r, out, depth - 1);
        ak_buf_puts(out, ")");
        break;
    default:
        ak_buf_puts(out, "(");
        random_number(r, out, depth - 1);
        for (size_t n = 1 + below(r, 2); n > 0; n--) {
            ak_buf_print(out, " %s ", operators[below(r, 7)]);
            random_number(r, out, depth - 1);
        }
        ak_buf_puts(out, ")");
        break;
    }
}

static void random_ints(random_space *r, const char *name)
{
    static const int pool[] = {-3, 0, 1, 2, 3, 4, 6, 8, 16, 1000};
    bool used[10] = {false};
    ak_buf_print(&r->json, "{\"Name\":\"%s\",\"Values\":[", name);
    size_t n = 1 + below(r, 5);
    for (size_t i = 0; i < n; i++) {
        size_t at = below(r, 10);
        while (used[at]) {
            at = (at + 1) % 10;
        }
        used[at] = true;
        ak_buf_print(&r->json, "%s%d", i == 0 ? "" : ",", pool[at]);
    }
    ak_buf_puts(&r->json, "]},");
}

/* Makes a random space. Parameters are declared in varying order, because the order affects how
   configurations are found. */
static void random_definition(random_space *r, uint64_t seed)
{
    static const char *const fixed[] = {
        "{\"Name\":\"C\",\"Values\":[0.5, -1.25, 2, 3.0]},",
        "{\"Name\":\"S\",\"Values\":[\"x\", \"y\", \"z\"],\"Default\":\"z\"},",
        "{\"Name\":\"F\",\"Type\":\"bool\",\"Values\":[true, false]},"};
    static const char *const ints[] = {"A", "B", "D"};
    *r = (random_space){.json = AK_BUF(1 << 16)};
    ak_rng_seed(&r->rng, seed);
    ak_buf_puts(&r->json, "{\"TuningParameters\":[");
    size_t start = below(r, 6);
    for (size_t i = 0; i < 6; i++) {
        size_t which = (start + i * 5) % 6;
        if (which < 3) {
            random_ints(r, ints[which]);
        } else {
            ak_buf_puts(&r->json, fixed[which - 3]);
        }
    }
    r->json.length--; /* the last comma */
    ak_buf_puts(&r->json, "],\"Conditions\":[");
    r->condition_count = 1 + below(r, 4);
    for (size_t i = 0; i < r->condition_count; i++) {
        ak_buf text;
        do {
            text = (ak_buf)AK_BUF(8192);
            random_truth(r, &text, 3);
            if (text.length >= sizeof r->conditions[i]) {
                ak_buf_free(&text);
            }
        } while (text.length == 0);
        memcpy(r->conditions[i], text.data, text.length + 1);
        ak_buf_print(&r->json, "%s{\"Expression\":\"%s\"}", i == 0 ? "" : ",", text.data);
        ak_buf_free(&text);
    }
    ak_buf_puts(&r->json, "]}");
}

/* Evaluates all conditions one by one, without code of the space. A condition that cannot be
   evaluated excludes the configuration. */
static bool valid_by_force(const random_space *r, const ak_scope *scope)
{
    for (size_t i = 0; i < r->condition_count; i++) {
        bool truth;
        if (ak_expr_bool(&truth, r->conditions[i], scope, "test", NULL) != AK_OK || !truth) {
            return false;
        }
    }
    return true;
}

static void check_against_force(const ak_space *space, const random_space *r,
                                const ak_scope *constants)
{
    size_t n = ak_space_parameter_count(space);
    ak_config config = {{0}};
    uint64_t next = 0;
    for (;;) {
        ak_scope *scope = ak_scope_new(constants);
        assert_int_equal(ak_config_scope(scope, space, &config, NULL), AK_OK);
        bool valid = valid_by_force(r, scope);
        ak_scope_free(scope);
        uint64_t index = UINT64_MAX;
        if (ak_space_find(&index, space, &config) != valid) {
            char text[256];
            (void)ak_config_format(text, sizeof text, space, &config);
            fail_msg("%s should be %s: %s", text, valid ? "valid" : "invalid", r->json.data);
        }
        if (valid) { /* lexicographic: the next index */
            assert_int_equal(index, next);
            ak_config back;
            ak_space_at(&back, space, index);
            assert_memory_equal(&back, &config, sizeof back);
            next++;
        }
        size_t p = n;
        while (p > 0 && ++config.at[p - 1] == ak_space_parameter(space, p - 1)->value_count) {
            config.at[--p] = 0;
        }
        if (p == 0) {
            break;
        }
    }
    assert_int_equal(ak_space_count(space), next);
}

static size_t force_count(const random_space *r, const char *json, const ak_scope *constants)
{
    /* the same values without the conditions */
    ak_buf free_json = AK_BUF(1 << 16);
    const char *end = strstr(json, ",\"Conditions\"");
    ak_buf_append(&free_json, json, (size_t)(end - json));
    ak_buf_puts(&free_json, "}");
    ak_space *space = NULL;
    assert_int_equal(fixture_build(&space, free_json.data, constants, false, NULL), AK_OK);
    size_t count = 0;
    for (uint64_t i = 0; i < ak_space_count(space); i++) {
        ak_config config;
        ak_space_at(&config, space, i);
        ak_scope *scope = ak_scope_new(constants);
        assert_int_equal(ak_config_scope(scope, space, &config, NULL), AK_OK);
        count += valid_by_force(r, scope) ? 1 : 0;
        ak_scope_free(scope);
    }
    ak_space_free(space);
    ak_buf_free(&free_json);
    return count;
}

static void test_random_spaces(void **state)
{
    (void)state;
    ak_scope *constants = ak_scope_new(NULL);
    assert_int_equal(ak_scope_set_int(constants, "K", 5, NULL), AK_OK);
    size_t built = 0, empty = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        random_space r;
        random_definition(&r, seed);
        ak_space *space = NULL;
        ak_error err = AK_ERROR_INIT;
        ak_status status = fixture_build(&space, r.json.data, constants, false, &err);
        if (status == AK_OK) {
            built++;
            check_against_force(space, &r, constants);
        } else {
            if (status != AK_INVALID || strstr(err.text, "no configuration is valid") == NULL) {
                fail_msg("%s: %s", err.text, r.json.data);
            }
            assert_int_equal(force_count(&r, r.json.data, constants), 0);
            empty++;
        }
        ak_space_free(space);
        ak_buf_free(&r.json);
    }
    ak_scope_free(constants);
    assert_true(built > 150 && empty > 10); /* both happened */
}

/* ---- a small known space --------------------------------------------------------------------- */

static const char small[] =
    "{\"TuningParameters\":["
    "{\"Name\":\"MR\",\"Type\":\"int\",\"Values\":\"range(1,9)\",\"Default\":6},"
    "{\"Name\":\"NR\",\"Values\":[16,4,8],\"Default\":16},"
    "{\"Name\":\"compiler\",\"Type\":\"string\",\"Values\":[\"gcc\",\"clang\"],\"Use\":"
    "\"compiler\"}],"
    "\"Conditions\":[\"16 <= MR*NR <= 64\","
    "{\"Expression\":\"compiler == 'gcc' or NR != 8\",\"Description\":\"clang has none\"}]}";

static size_t changes(const ak_space *space, const ak_config *a, const ak_config *b)
{
    size_t n = 0;
    for (size_t p = 0; p < ak_space_parameter_count(space); p++) {
        n += a->at[p] != b->at[p] ? 1 : 0;
    }
    return n;
}

static void test_small_space(void **state)
{
    (void)state;
    ak_space *space = fixture_space(small);
    assert_int_equal(ak_space_parameter_count(space), 3);
    assert_true(ak_space_cartesian(space) == 48.0);
    /* NR=16: MR 1..4; NR=4: MR 4..8; NR=8: MR 2..8 for gcc only */
    assert_int_equal(ak_space_count(space), 4 * 2 + 5 * 2 + 7);
    assert_int_equal(ak_space_condition_count(space), 2);
    assert_string_equal(ak_space_condition(space, 0), "16 <= MR*NR <= 64");
    assert_string_equal(ak_space_condition_reason(space, 0), "");
    assert_string_equal(ak_space_condition_reason(space, 1), "clang has none");
    assert_null(ak_space_condition(space, 2));
    assert_null(ak_space_parameter(space, 3));
    size_t index = 9;
    assert_true(ak_space_parameter_find(&index, space, "compiler"));
    assert_int_equal(index, 2);
    assert_false(ak_space_parameter_find(&index, space, "Compiler"));
    ak_config config = {{60000, 0, 0}};
    assert_false(ak_space_has(space, &config)); /* no such value */
    ak_space_free(space);
}

/* The default MR=6, NR=16 breaks a condition. The repair changes NR to 8, which is one step; NR=4
   and MR=4 would be two steps. */
static void test_default_is_repaired(void **state)
{
    (void)state;
    ak_space *space = fixture_space(small);
    ak_config config;
    char text[64];
    ak_space_default(&config, space);
    (void)ak_config_format(text, sizeof text, space, &config);
    assert_string_equal(text, "MR=6,NR=8,compiler=gcc");
    for (size_t p = 0; p < ak_space_parameter_count(space);
         p++) { /* as lists and exports show it */
        assert_int_equal(ak_space_parameter(space, p)->default_index, config.at[p]);
    }
    ak_space_free(space);
}

static void test_repair_is_nearest(void **state)
{
    (void)state;
    ak_space *space = fixture_space(small);
    ak_config wish = {{0}};
    for (wish.at[0] = 0; wish.at[0] < 8; wish.at[0]++) {
        for (wish.at[1] = 0; wish.at[1] < 3; wish.at[1]++) {
            for (wish.at[2] = 0; wish.at[2] < 2; wish.at[2]++) {
                ak_config got;
                ak_space_repair(&got, space, &wish);
                assert_true(ak_space_has(space, &got));
                size_t fewest = 99;
                for (uint64_t i = 0; i < ak_space_count(space); i++) {
                    ak_config other;
                    ak_space_at(&other, space, i);
                    size_t n = changes(space, &wish, &other);
                    fewest = n < fewest ? n : fewest;
                }
                assert_int_equal(changes(space, &wish, &got), fewest);
            }
        }
    }
    ak_config wild = {{65535, 65535, 65535}}, got;
    ak_space_repair(&got, space, &wild); /* no such values: still something valid */
    assert_true(ak_space_has(space, &got));
    ak_config dirty = got, clean = got;
    dirty.at[40] = 1; /* past the parameters: not a part of the configuration */
    ak_space_repair(&got, space, &dirty);
    assert_memory_equal(&got, &clean, sizeof got);
    ak_space_free(space);
}

/* Costs of values: digits of a number that differs in each run. */
typedef struct costs {
    uint64_t run;
} costs;

static double odd_cost(const void *context, size_t parameter, uint16_t value)
{
    const costs *c = context;
    return (double)((c->run * 2654435761u + parameter * 40503u + value * 9973u) / 7u % 10u);
}

static double total_cost(const costs *c, const ak_space *space, const ak_config *config)
{
    double sum = 0.0;
    for (size_t p = 0; p < ak_space_parameter_count(space); p++) {
        sum += odd_cost(c, p, config->at[p]);
    }
    return sum;
}

static void test_cheapest(void **state)
{
    (void)state;
    ak_space *space = fixture_space(small);
    for (costs c = {0}; c.run < 200; c.run++) {
        ak_config got;
        ak_space_cheapest(&got, space, odd_cost, &c);
        assert_true(ak_space_has(space, &got));
        for (uint64_t i = 0; i < ak_space_count(space);
             i++) { /* the graph is narrower than a beam */
            ak_config other;
            ak_space_at(&other, space, i);
            assert_true(total_cost(&c, space, &got) <= total_cost(&c, space, &other));
        }
    }
    ak_space_free(space);
    /* Wider ones: always valid, and mostly as cheap as it gets. */
    ak_scope *constants = ak_scope_new(NULL);
    assert_int_equal(ak_scope_set_int(constants, "K", 5, NULL), AK_OK);
    size_t tried = 0, exact = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        random_space r;
        random_definition(&r, seed);
        ak_space *wide = NULL;
        if (fixture_build(&wide, r.json.data, constants, false, NULL) == AK_OK) {
            costs c = {.run = seed};
            ak_config got;
            ak_space_cheapest(&got, wide, odd_cost, &c);
            assert_true(ak_space_has(wide, &got));
            double least = HUGE_VAL;
            for (uint64_t i = 0; i < ak_space_count(wide); i++) {
                ak_config other;
                ak_space_at(&other, wide, i);
                least = fmin(least, total_cost(&c, wide, &other));
            }
            tried++;
            exact += total_cost(&c, wide, &got) == least;
        }
        ak_space_free(wide);
        ak_buf_free(&r.json);
    }
    ak_scope_free(constants);
    assert_true(tried > 30 && 10 * exact >= 9 * tried);
}

static void test_ranks(void **state)
{
    (void)state;
    ak_space *space = fixture_space(small);
    static const size_t places[] = {2, 0, 1}; /* of 16, 4, 8 */
    assert_true(ak_space_ordered(space, 1));
    assert_false(ak_space_ordered(space, 2));
    for (size_t v = 0; v < 3; v++) {
        assert_int_equal(ak_space_rank(space, 1, v), places[v]);
        assert_int_equal(ak_space_by_rank(space, 1, places[v]), v);
    }
    assert_int_equal(ak_space_rank(space, 2, 1), 1); /* texts: their index */
    assert_int_equal(ak_space_by_rank(space, 2, 1), 1);
    ak_space_free(space);
}

static void test_neighbours(void **state)
{
    (void)state;
    ak_space *space = fixture_space(small);
    ak_config out[64], config;
    assert_int_equal(ak_config_parse(&config, space, "MR=4,NR=16,compiler=gcc", NULL), AK_OK);
    /* any: MR 1 2 3, NR 4 8, clang */
    size_t n = ak_space_neighbours(out, 64, space, &config, AK_NEIGHBOUR_ANY);
    assert_int_equal(n, 6);
    /* adjacent: MR 3 (5 is too large, and so are the others), NR 8, not 4; texts have no order */
    n = ak_space_neighbours(out, 64, space, &config, AK_NEIGHBOUR_ADJACENT);
    assert_int_equal(n, 2);
    char text[64];
    (void)ak_config_format(text, sizeof text, space, &out[0]);
    assert_string_equal(text, "MR=3,NR=16,compiler=gcc");
    (void)ak_config_format(text, sizeof text, space, &out[1]);
    assert_string_equal(text, "MR=4,NR=8,compiler=gcc");
    /* skips what is not valid: for clang, NR 16 goes down to 4 */
    assert_int_equal(ak_config_parse(&config, space, "MR=4,NR=16,compiler=clang", NULL), AK_OK);
    n = ak_space_neighbours(out, 64, space, &config, AK_NEIGHBOUR_ADJACENT);
    assert_int_equal(n, 2);
    (void)ak_config_format(text, sizeof text, space, &out[1]);
    assert_string_equal(text, "MR=4,NR=4,compiler=clang");
    assert_int_equal(ak_space_neighbours(out, 1, space, &config, AK_NEIGHBOUR_ANY), 1);
    assert_int_equal(ak_space_neighbours(out, 0, space, &config, AK_NEIGHBOUR_ANY), 0);
    ak_space_free(space);
}

static void test_neighbours_against_force(void **state)
{
    (void)state;
    ak_space *space = fixture_space(small);
    uint64_t count = ak_space_count(space);
    for (uint64_t i = 0; i < count; i++) {
        ak_config config, out[64];
        ak_space_at(&config, space, i);
        size_t n = ak_space_neighbours(out, 64, space, &config, AK_NEIGHBOUR_ANY), expected = 0;
        for (uint64_t j = 0; j < count; j++) {
            ak_config other;
            ak_space_at(&other, space, j);
            expected += changes(space, &config, &other) == 1 ? 1 : 0;
        }
        assert_int_equal(n, expected);
        for (size_t k = 0; k < n; k++) {
            assert_true(ak_space_has(space, &out[k]));
            assert_int_equal(changes(space, &config, &out[k]), 1);
        }
    }
    ak_space_free(space);
}

static void test_sample_is_uniform(void **state)
{
    (void)state;
    ak_space *space = fixture_space(small);
    size_t seen[25] = {0};
    ak_rng rng;
    ak_rng_seed(&rng, 3);
    for (int i = 0; i < 25000; i++) {
        ak_config config;
        uint64_t index;
        ak_space_sample(&config, space, &rng);
        assert_true(ak_space_find(&index, space, &config));
        seen[index]++;
    }
    for (size_t i = 0; i < 25; i++) { /* 1000 expected, deviation 31 */
        assert_in_range(seen[i], 850, 1150);
    }
    ak_space_free(space);
}

/* ---- large spaces ---------------------------------------------------------------------------- */

/* Four tiled dimensions of five parameters: 20 parameters, 14 conditions, 2.4e9 combinations.
   `order` interleaves the dimensions. */
static void tiled_definition(ak_buf *json, bool interleaved)
{
    static const char *const roles[] = {"CACHE", "REG", "WG", "WI", "RES"};
    static const char *const values[] = {"[1,2,4,8]", "[1,2,4,8]", "[1,2,4,8]", "[1,2,4,8]", "[0]"};
    ak_buf_puts(json, "{\"TuningParameters\":[");
    for (int i = 0; i < 20; i++) {
        int dimension = interleaved ? i % 4 : i / 5, role = interleaved ? i / 4 : i % 5;
        /* 4^14 * 3^2 = 2,415,919,104 */
        const char *list = role == 4 && dimension == 0   ? "[0,1,2]"
                           : role == 4 && dimension == 1 ? "[0,1,2]"
                           : role == 3 && dimension >= 2 ? "[1]"
                                                         : values[role];
        ak_buf_print(json, "%s{\"Name\":\"%s_%d\",\"Values\":\"%s\"}", i == 0 ? "" : ",",
                     roles[role], dimension, list);
    }
    ak_buf_puts(json, "],\"Conditions\":[");
    for (int d = 0; d < 4; d++) {
        ak_buf_print(json,
                     "\"CACHE_%d %% REG_%d == 0\",\"8 %% (CACHE_%d*WG_%d) == 0\","
                     "\"WI_%d <= 8/(CACHE_%d*WG_%d)\",",
                     d, d, d, d, d, d, d);
    }
    ak_buf_puts(json, "\"WI_0*WI_1*WI_2*WI_3 <= 64\",\"RES_0 <= RES_1\"]}");
}

/* Returns the number of configurations by separate loops, dimension by dimension. */
static uint64_t tiled_count(void)
{
    uint64_t ways[5][4097] = {{0}}; /* [dimension][product of WI] */
    ways[0][1] = 1;
    for (int d = 0; d < 4; d++) {
        for (int product = 1; product <= 4096; product++) {
            if (ways[d][product] == 0) {
                continue;
            }
            for (int cache = 1; cache <= 8; cache *= 2) {
                for (int reg = 1; reg <= cache; reg *= 2) {
                    for (int wg = 1; cache * wg <= 8; wg *= 2) {
                        for (int wi = 1; wi <= (d >= 2 ? 1 : 8) && wi * cache * wg <= 8; wi *= 2) {
                            ways[d + 1][product * wi] += ways[d][product];
                        }
                    }
                }
            }
        }
    }
    uint64_t sum = 0;
    for (int product = 1; product <= 64; product++) {
        sum += ways[4][product];
    }
    return sum * 6; /* pairs RES_0 <= RES_1 */
}

static void test_billions_of_combinations(void **state)
{
    (void)state;
    for (int interleaved = 0; interleaved <= 1; interleaved++) {
        ak_buf json = AK_BUF(1 << 16);
        tiled_definition(&json, interleaved != 0);
        ak_space *space = fixture_space(json.data);
        assert_int_equal(ak_space_parameter_count(space), 20);
        assert_int_equal(ak_space_condition_count(space), 14);
        assert_true(ak_space_cartesian(space) == 2415919104.0);
        assert_int_equal(ak_space_count(space), tiled_count());
        ak_config first, last;
        ak_space_at(&first, space, 0);
        ak_space_at(&last, space, ak_space_count(space) - 1);
        uint64_t index;
        assert_true(ak_space_find(&index, space, &last));
        assert_int_equal(index, ak_space_count(space) - 1);
        ak_space_free(space);
        ak_buf_free(&json);
    }
}

/* A space with too many configurations to list can still be counted, indexed and sampled. */
static void test_more_than_can_be_listed(void **state)
{
    (void)state;
    ak_buf json = AK_BUF(1 << 16);
    ak_buf_puts(&json, "{\"TuningParameters\":[");
    for (int i = 0; i < 18; i++) {
        ak_buf_print(&json, "%s{\"Name\":\"p%d\",\"Values\":\"range(10)\"}", i == 0 ? "" : ",", i);
    }
    ak_buf_puts(&json, "],\"Conditions\":[\"p0 != p17\"]}");
    ak_space *space = fixture_space(json.data);
    assert_int_equal(ak_space_count(space), UINT64_C(900000000000000000));
    ak_rng rng;
    ak_rng_seed(&rng, 1);
    for (int i = 0; i < 1000; i++) {
        ak_config config, back;
        uint64_t index;
        ak_space_sample(&config, space, &rng);
        assert_true(config.at[0] != config.at[17]);
        assert_true(ak_space_find(&index, space, &config));
        ak_space_at(&back, space, index);
        assert_memory_equal(&config, &back, sizeof back);
    }
    ak_space_free(space);
    ak_buf_free(&json);
}

static void test_limits(void **state)
{
    (void)state;
    ak_error err = AK_ERROR_INIT;
    ak_space *space = NULL;
    ak_buf json = AK_BUF(1 << 20);
    ak_buf_puts(&json, "{\"TuningParameters\":[");
    for (int i = 0; i < 64; i++) {
        ak_buf_print(&json, "%s{\"Name\":\"p%d\",\"Values\":\"range(10)\"}", i == 0 ? "" : ",", i);
    }
    ak_buf_puts(&json, "]}");
    assert_int_equal(fixture_build(&space, json.data, NULL, false, &err), AK_LIMIT);
    assert_non_null(strstr(err.text, "2^63"));
    ak_buf_clear(&json);
    ak_buf_puts(&json, "{\"TuningParameters\":[");
    for (int i = 0; i < 65; i++) {
        ak_buf_print(&json, "%s{\"Name\":\"p%d\",\"Values\":[1]}", i == 0 ? "" : ",", i);
    }
    ak_buf_puts(&json, "]}");
    assert_int_equal(fixture_build(&space, json.data, NULL, false, &err), AK_LIMIT);
    assert_non_null(strstr(err.text, "65 parameters; at most 64"));
    assert_int_equal(
        fixture_build(&space,
                      "{\"TuningParameters\":[{\"Name\":\"p\",\"Values\":\"range(65536)\"}]}", NULL,
                      false, &err),
        AK_LIMIT);
    assert_non_null(strstr(err.text, "65536 values"));
    /* nothing to prune and nothing to share: refused, not endless */
    assert_int_equal(
        fixture_build(&space,
                      "{\"TuningParameters\":[{\"Name\":\"a\",\"Values\":\"range(1,65001)\"},"
                      "{\"Name\":\"b\",\"Values\":\"range(1,65001)\"}],"
                      "\"Conditions\":[\"a*7919 % b == 1\"]}",
                      NULL, false, &err),
        AK_LIMIT);
    assert_non_null(strstr(err.text, "condition 1"));
    ak_buf_free(&json);
}

static void test_work_limit(void **state)
{
    (void)state;
    json_t *definition;
    ak_space *space = NULL;
    ak_error err = AK_ERROR_INIT;
    static const char json[] =
        "{\"TuningParameters\":[{\"Name\":\"a\",\"Values\":\"range(1,101)\"},"
        "{\"Name\":\"b\",\"Values\":\"range(1,101)\"}],\"Conditions\":[\"a*31 % b == 1\"]}";
    assert_int_equal(ak_json_parse(&definition, json, strlen(json), "test.json", NULL), AK_OK);
    ak_space_spec spec = {.definition = definition, .where = "test.json", .work_max = 5000};
    assert_int_equal(ak_space_build(&space, &spec, &err), AK_LIMIT);
    assert_non_null(strstr(err.text, "condition 1 (a*31 % b == 1) takes too many evaluations"));
    spec.work_max = 50000;
    assert_int_equal(ak_space_build(&space, &spec, &err), AK_OK);
    ak_space_free(space);
    json_decref(definition);
}

/* The constant parts of conditions are limited, so that a short file cannot take minutes to
   read. */
static void test_constant_parts_limit(void **state)
{
    (void)state;
    ak_buf json = AK_BUF(1 << 20);
    ak_buf_puts(&json,
                "{\"TuningParameters\":[{\"Name\":\"a\",\"Values\":[1,2]}],\"Conditions\":[");
    for (int i = 0; i < 200; i++) {
        ak_buf_print(&json, "%s\"a + sum([i*i for i in range(60000)]) > %d\"", i == 0 ? "" : ",",
                     i);
    }
    ak_buf_puts(&json, "]}");
    ak_space *space = NULL;
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(fixture_build(&space, json.data, NULL, false, &err), AK_LIMIT);
    assert_non_null(strstr(err.text, "constant parts"));
    ak_buf_free(&json);
}

/* Intervals of values exclude most of the 4.2e9 combinations of two parameters, so the space is
   counted quickly. */
static void test_ranges_prune(void **state)
{
    (void)state;
    ak_space *space =
        fixture_space("{\"TuningParameters\":[{\"Name\":\"a\",\"Values\":\"range(1,65001)\"},"
                      "{\"Name\":\"b\",\"Values\":\"range(1,65001)\"}],"
                      "\"Conditions\":[\"a*b <= 100\", \"a >= 2\"]}");
    uint64_t expected = 0;
    for (int a = 2; a <= 100; a++) {
        expected += (uint64_t)(100 / a);
    }
    assert_int_equal(ak_space_count(space), expected);
    ak_space_free(space);
}

/* ---- constants, numerics, compilers ---------------------------------------------------------- */

static const char with_facts[] =
    "{\"TuningParameters\":["
    "{\"Name\":\"VL\",\"Type\":\"int\",\"Values\":[4,8,16],\"Default\":\"vector_bytes//4\"},"
    "{\"Name\":\"T\",\"Values\":\"range(1,cpu_threads+1)\",\"Default\":99},"
    "{\"Name\":\"CC\",\"Values\":[\"gcc\",\"clang\"],\"Default\":\"clang\",\"Use\":\"compiler\"},"
    "{\"Name\":\"FAST\",\"Type\":\"bool\",\"Values\":[true,false],\"Default\":false,"
    "\"Use\":\"option\",\"Option\":\"-ffast-math\",\"Numerics\":true}],"
    "\"Conditions\":[\"4*VL <= vector_bytes\"]}";

static bool only_gcc(void *context, const char *compiler)
{
    (*(size_t *)context)++;
    return strcmp(compiler, "gcc") == 0;
}

static bool nothing(void *context, const char *compiler)
{
    (void)context;
    (void)compiler;
    return false;
}

static void test_facts(void **state)
{
    (void)state;
    ak_scope *facts = ak_scope_new(NULL);
    assert_int_equal(ak_scope_set_int(facts, "vector_bytes", 32, NULL), AK_OK);
    assert_int_equal(ak_scope_set_int(facts, "cpu_threads", 3, NULL), AK_OK);
    json_t *definition;
    assert_int_equal(ak_json_parse(&definition, with_facts, strlen(with_facts), "test.json", NULL),
                     AK_OK);
    size_t asked = 0;
    ak_space *space;
    ak_space_spec spec = {.definition = definition,
                          .constants = facts,
                          .available = only_gcc,
                          .available_context = &asked,
                          .where = "test.json"};
    assert_int_equal(ak_space_build(&space, &spec, NULL), AK_OK);
    assert_int_equal(asked, 2);
    char text[128];
    ak_config config;
    ak_space_default(&config, space);
    (void)ak_config_format(text, sizeof text, space, &config);
    assert_string_equal(text, "VL=8,T=3,CC=gcc,FAST=False"); /* 99: the nearest value */
    assert_int_equal(ak_space_count(space), 2 * 3);
    ak_space_free(space);
    spec.allow_numerics = true;
    assert_int_equal(ak_space_build(&space, &spec, NULL), AK_OK);
    assert_int_equal(ak_space_count(space), 2 * 3 * 2);
    assert_true(ak_space_parameter(space, 3)->numerics);
    ak_space_free(space);
    ak_error err = AK_ERROR_INIT;
    spec.available = nothing;
    assert_int_equal(ak_space_build(&space, &spec, &err), AK_UNAVAILABLE);
    assert_non_null(strstr(err.text, "gcc, clang"));
    json_decref(definition);
    ak_scope_free(facts);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void test_faults(void **state)
{
    (void)state;
    static const struct {
        const char *parameters, *conditions, *message;
    } cases[] = {
        {"{\"Name\":\"MR\",\"Values\":[]}", "", "test.json: parameter \"MR\" has no values"},
        {"{\"Name\":\"MR\",\"Values\":\"[]\"}", "", "has no values"},
        {"{\"Name\":\"MR\"}", "", "\"Values\" is missing"},
        {"{\"Name\":\"MR\",\"Values\":7}", "", "must be a list"},
        {"{\"Name\":\"MR\",\"Values\":\"7\"}", "", "must be a list"},
        {"{\"Name\":\"MR\",\"Values\":[1,2,1]}", "", "the value \"1\" is there twice"},
        {"{\"Name\":\"MR\",\"Values\":[1,1.0]}", "", "there twice"},
        {"{\"Name\":\"MR\",\"Values\":[1,\"a\"]}", "",
         "the value a is not of the parameter's type"},
        {"{\"Name\":\"MR\",\"Values\":[[1]]}", "", "must be a number, text"},
        {"{\"Name\":\"MR\",\"Values\":[null]}", "", "must be a number, text"},
        {"{\"Name\":\"MR\",\"Values\":\"[['six', 'eight'], 6]\"}", "",
         "the value [six, eight] is not of the parameter's type"},
        {"{\"Name\":\"MR\",\"Type\":\"uint\",\"Values\":[-1]}", "", "not of the parameter's type"},
        {"{\"Name\":\"MR\",\"Type\":\"int\",\"Values\":[1.5]}", "", "not of the parameter's type"},
        {"{\"Name\":\"MR\",\"Type\":\"long\",\"Values\":[1]}", "", "Type \"long\" is unknown"},
        {"{\"Name\":\"MR\",\"Values\":[\"a,b\"]}", "", "comma"},
        {"{\"Name\":\"MR\",\"Values\":[\" a\"]}", "", "blank"},
        {"{\"Values\":[1]}", "", "parameter 1: \"Name\" is missing"},
        {"{\"Name\":\"2x\",\"Values\":[1]}", "", "the name \"2x\" must be"},
        {"{\"Name\":\"and\",\"Values\":[1]}", "", "not a keyword of the expression language"},
        {"{\"Name\":\"K\",\"Values\":[1]}", "", "has the name of a size"},
        {"{\"Name\":\"a\",\"Values\":[1]},{\"Name\":\"a\",\"Values\":[2]}", "", "declared twice"},
        {"7", "", "parameter 1 must be an object"},
        {"{\"Name\":\"MR\",\"Value\":[1]}", "", "did you mean \"Values\"?"},
        {"{\"Name\":\"MR\",\"Values\":[1],\"Default\":\"a\"}", "", "\"a\" is not known"},
        {"{\"Name\":\"MR\",\"Values\":[\"x\"],\"Default\":\"y\"}", "", "neither one of its values"},
        {"{\"Name\":\"MR\",\"Values\":[\"x\"],\"Default\":7}", "", "not one of its values"},
        {"{\"Name\":\"MR\",\"Values\":[1],\"Use\":\"magic\"}", "", "Use \"magic\" is unknown"},
        {"{\"Name\":\"MR\",\"Values\":[1],\"Use\":\"option\"}", "", "needs either Option"},
        {"{\"Name\":\"MR\",\"Values\":[1],\"Option\":\"-O{}\"}", "", "need Use \"option\""},
        {"{\"Name\":\"MR\",\"Values\":[\"a\"],\"Use\":\"option\",\"Option\":\"-g\"}", "", "no {}"},
        {"{\"Name\":\"MR\",\"Values\":[2,3],\"Use\":\"option\",\"Option\":\"-O\"}", "", "no {}"},
        {"{\"Name\":\"MR\",\"Values\":[1,2],\"Use\":\"option\",\"Options\":{\"1\":[]}}", "",
         "for the value \"2\""},
        {"{\"Name\":\"MR\",\"Values\":[1],\"Use\":\"option\",\"Options\":{\"1\":[],\"3\":[]}}", "",
         "\"3\", which is not one of the values"},
        {"{\"Name\":\"MR\",\"Values\":[1],\"Use\":\"compiler\"}", "", "names of compilers"},
        {"{\"Name\":\"MR\",\"Values\":[\"gcc-13\",\"./cc\"],\"Use\":\"compiler\"}", "",
         "must not have \"./cc\" run"},
        {"{\"Name\":\"MR\",\"Values\":[\"/usr/bin/gcc\"],\"Use\":\"compiler\"}", "",
         "must not have"},
        {"{\"Name\":\"MR\",\"Values\":[\"clang++-17.0\",\"gcc-\"],\"Use\":\"compiler\"}", "",
         "must not have \"gcc-\" run"},
        {"{\"Name\":\"MR\",\"Values\":[\"gcc-13;sh\"],\"Use\":\"compiler\"}", "", "must not have"},
        {"{\"Name\":\"MR\",\"Values\":[\"python3\"],\"Use\":\"compiler\"}", "", "must not have"},
        {"{\"Name\":\"a\",\"Values\":[\"cc\"],\"Use\":\"compiler\"},"
         "{\"Name\":\"b\",\"Values\":[\"cc\"],\"Use\":\"compiler\"}",
         "", "\"a\" has Use \"compiler\" already"},
        {"{\"Name\":\"MR\",\"Values\":[1]}", "\"MR > FOO\"",
         "condition 1 (MR > FOO) names \"FOO\", which is neither a parameter nor a size nor a "
         "device fact"},
        {"{\"Name\":\"MR\",\"Values\":[1]}", "\"MR >\"", "condition 1: column 5"},
        {"{\"Name\":\"MR\",\"Values\":[1]}", "{\"Expresion\":\"MR\"}",
         "did you mean \"Expression\"?"},
        {"{\"Name\":\"MR\",\"Values\":[1]}", "7", "condition 1 must be"},
        {"{\"Name\":\"MR\",\"Values\":[1,2]}",
         "\"MR > 0\",{\"Expression\":\"MR*K > 99\",\"Description\":\"why\"}",
         "no configuration is valid: condition 2 (MR*K > 99: why) excludes 100 %"},
        {"{\"Name\":\"MR\",\"Values\":[1,2]}", "\"MR / 0\"",
         "condition 1 (MR / 0) excludes 100 % of all combinations; for 100 % it cannot be "
         "evaluated: division by zero"},
        {"{\"Name\":\"MR\",\"Values\":[1,2]}", "\"MR % (MR - 2) == 1\"",
         "; for 50 % it cannot be evaluated: division by zero"},
        {"{\"Name\":\"MR\",\"Values\":[1,2]}", "\"MR in range(10**15)\"",
         "; for 100 % it cannot be evaluated: a list has more than 65536 items"},
        {"{\"Name\":\"MR\",\"Values\":[1,2,3]}", "\"MR < 3\",\"MR > 2\"", "excludes 66.7 %"},
    };
    ak_scope *constants = ak_scope_new(NULL);
    assert_int_equal(ak_scope_set_int(constants, "K", 8, NULL), AK_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ak_buf json = AK_BUF(4096);
        ak_buf_print(&json, "{\"TuningParameters\":[%s],\"Conditions\":[%s]}", cases[i].parameters,
                     cases[i].conditions);
        ak_space *space = NULL;
        ak_error err = AK_ERROR_INIT;
        ak_status status = fixture_build(&space, json.data, constants, false, &err);
        if (status == AK_OK || strstr(err.text, cases[i].message) == NULL) {
            fail_msg("%s: expected \"%s\", got \"%s\"", json.data, cases[i].message, err.text);
        }
        assert_ptr_equal(strstr(err.text, "test.json"), err.text);
        assert_int_equal(status, err.status);
        ak_buf_free(&json);
    }
    ak_scope_free(constants);
    ak_error err = AK_ERROR_INIT;
    ak_space *space;
    assert_int_equal(fixture_build(&space, "[]", NULL, false, &err), AK_INVALID);
    assert_int_equal(fixture_build(&space, "{}", NULL, false, &err), AK_INVALID);
    assert_non_null(strstr(err.text, "\"TuningParameters\" is missing"));
}

static void test_no_parameters(void **state)
{
    (void)state;
    ak_space *space = fixture_space("{\"TuningParameters\":[],\"Conditions\":[\"1 < 2\"]}");
    ak_config config;
    char text[8] = "x";
    assert_int_equal(ak_space_count(space), 1);
    ak_space_at(&config, space, 0);
    assert_true(ak_space_has(space, &config));
    assert_int_equal(ak_config_format(text, sizeof text, space, &config), 0);
    assert_string_equal(text, "");
    ak_space_free(space);
}

/* An outline judges each configuration as the whole space does. */
static void test_outline(void **state)
{
    (void)state;
    const char *text =
        "{\"TuningParameters\": ["
        "{\"Name\": \"A\", \"Type\": \"int\", \"Values\": \"[1, 2, 4]\"},"
        "{\"Name\": \"B\", \"Type\": \"int\", \"Values\": \"[1, 2, 3]\", \"Default\": 3},"
        "{\"Name\": \"C\", \"Type\": \"string\", \"Values\": \"['x', 'y']\"}],"
        "\"Conditions\": ["
        "{\"Expression\": \"A * B <= 6\", \"Parameters\": [\"A\", \"B\"]},"
        "{\"Expression\": \"C == 'x' or [A, B] != [2, 3]\","
        " \"Parameters\": [\"A\", \"B\", \"C\"]}]}";
    ak_space *whole = fixture_space(text), *outline = NULL;
    json_t *definition;
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(ak_json_parse(&definition, text, strlen(text), "test.json", &err), AK_OK);
    const ak_space_spec spec = {.definition = definition, .where = "test.json", .outline = true};
    assert_int_equal(ak_space_build(&outline, &spec, &err), AK_OK);
    json_decref(definition);
    size_t valid = 0;
    for (uint16_t i = 0; i < 18; i++) {
        const ak_config config = {.at = {i / 6, i / 2 % 3, i % 2}};
        ak_error why = AK_ERROR_INIT, also = AK_ERROR_INIT;
        ak_status status = ak_config_explain(whole, &config, &why);
        assert_int_equal(ak_config_explain(outline, &config, &also), status);
        assert_string_equal(also.text, why.text);
        valid += status == AK_OK;
    }
    assert_int_equal(valid, ak_space_count(whole));
    ak_config config;
    assert_int_equal(ak_config_parse(&config, outline, "A=2,C=y,B=2", &err), AK_OK);
    char canonical[64];
    (void)ak_config_format(canonical, sizeof canonical, outline, &config);
    assert_string_equal(canonical, "A=2,B=2,C=y");
    ak_space_free(outline);
    ak_space_free(whole);
}

static void test_no_memory(void **state)
{
    (void)state;
    static const char json[] =
        "{\"TuningParameters\":[{\"Name\":\"a\",\"Values\":\"range(1,9)\",\"Default\":\"1+1\"},"
        "{\"Name\":\"s\",\"Values\":[\"x\",\"y\"],\"Use\":\"option\",\"Option\":\"-f{}\"},"
        "{\"Name\":\"b\",\"Values\":[0.5,1.5]}],"
        "\"Conditions\":[\"a % 2 == 0 or s == 'x'\",\"a * b < 9\",\"len([a]) + a < 8\"]}";
    json_t *definition;
    assert_int_equal(ak_json_parse(&definition, json, strlen(json), "test.json", NULL), AK_OK);
    ak_space_spec spec = {.definition = definition, .where = "test.json"};
    size_t failures = 0;
    for (size_t nth = 1;; nth++) {
        ak_space *space = NULL;
        ak_error err = AK_ERROR_INIT;
        ak_alloc_fail_at(nth);
        ak_status status = ak_space_build(&space, &spec, &err);
        ak_alloc_fail_at(0);
        if (status == AK_OK) {
            assert_int_equal(ak_space_count(space), 16); /* x: 6 + 5, y: 3 + 2 */
            ak_space_free(space);
            break;
        }
        assert_int_equal(status, AK_NO_MEMORY);
        assert_int_equal(err.status, AK_NO_MEMORY);
        failures++;
    }
    assert_true(failures > 30);
    json_decref(definition);
}

/* ---- part of a space --------------------------------------------------------------------------
 */

static const char parts[] =
    "{\"TuningParameters\": ["
    "{\"Name\": \"A\", \"Type\": \"int\", \"Values\": \"[1, 2, 4, 8]\", \"Default\": 4},"
    "{\"Name\": \"B\", \"Type\": \"float\", \"Values\": \"[0.5, 1.5]\"},"
    "{\"Name\": \"C\", \"Type\": \"string\", \"Values\": [\"x\", \"y\"]},"
    "{\"Name\": \"F\", \"Type\": \"bool\", \"Values\": [true, false], \"Numerics\": true}],"
    "\"Conditions\": [\"A <= 4 or B > 1\"]}";

static ak_status build_part(ak_space **out, const char *fix, ak_error *err)
{
    json_t *definition;
    ak_status status = ak_json_parse(&definition, parts, strlen(parts), "test.json", err);
    if (status == AK_OK) {
        ak_space_spec spec = {.definition = definition, .fix = fix, .where = "test.json"};
        status = ak_space_build(out, &spec, err);
        json_decref(definition);
    }
    return status;
}

static void test_fixed(void **state)
{
    (void)state;
    static const struct {
        const char *fix;
        uint64_t count;
        const char *fallback;
    } good[] = {
        {NULL, 14, "A=4,B=0.5,C=x,F=True"},
        {"", 14, "A=4,B=0.5,C=x,F=True"},
        {"A=8", 2, "A=8,B=1.5,C=x,F=True"}, /* and the condition holds */
        {"A=1:4", 8, "A=4,B=0.5,C=x,F=True"},
        {"A=1:8,B=1.5", 4, "A=1,B=1.5,C=x,F=True"}, /* no default left: the first */
        {"B=5e-1,C=x,F=true", 3, "A=4,B=0.5,C=x,F=True"},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        ak_space *space = NULL;
        ak_error err = AK_ERROR_INIT;
        ak_config config;
        char text[128];
        if (build_part(&space, good[i].fix, &err) != AK_OK) {
            fail_msg("%s: %s", good[i].fix, err.text);
        }
        ak_space_default(&config, space);
        (void)ak_config_format(text, sizeof text, space, &config);
        assert_string_equal(text, good[i].fallback);
        assert_int_equal(ak_space_count(space), good[i].count);
        ak_space_free(space);
    }
    static const struct {
        const char *fix, *part;
    } bad[] = {
        {"A", "\"A\" fixes nothing"},
        {"A=", "\"A\" has no value \"\" to be fixed at"},
        {"A=1:3", "\"A\" has no value \"3\" to be fixed at"},
        {"A=1,,B=0.5", "\"\" fixes nothing"},
        {"D=1", "there is no parameter \"D\" to fix"},
        {"A=1,A=2", "\"A\" is fixed twice; write A=value:value"},
        {"F=false", "fixed at values that change results; --allow-numerics"},
        {"A=8,B=0.5", "no configuration is valid"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ak_space *space = NULL;
        ak_error err = AK_ERROR_INIT;
        assert_int_equal(build_part(&space, bad[i].fix, &err), AK_INVALID);
        if (strstr(err.text, bad[i].part) == NULL) {
            fail_msg("%s: got \"%s\", wanted \"%s\"", bad[i].fix, err.text, bad[i].part);
        }
    }
}

/* ---- listed configurations --------------------------------------------------------------------
 */

static ak_status build_listed(ak_space **out, const ak_config *configs, size_t count, ak_error *err)
{
    json_t *definition;
    ak_status status = ak_json_parse(&definition, parts, strlen(parts), "test.json", err);
    if (status == AK_OK) {
        ak_space_spec spec = {.definition = definition,
                              .allow_numerics = true,
                              .where = "test.json",
                              .listed = configs,
                              .listed_count = count};
        status = ak_space_build(out, &spec, err);
        json_decref(definition);
    }
    return status;
}

/* A space may be any list of configurations, also of some that its conditions exclude, such as A=8
   with B=0.5. */
static void test_listed(void **state)
{
    (void)state;
    ak_rng rng;
    ak_rng_seed(&rng, 3);
    for (int round = 0; round < 200; round++) {
        ak_config all[32], listed[32];
        size_t count = 0;
        for (size_t i = 0; i < 32; i++) {
            all[i] = (ak_config){{(uint16_t)(i / 8), i / 4 % 2, i / 2 % 2, i % 2}};
            if (ak_rng_below(&rng, 3) == 0 || i == (size_t)round % 32) {
                listed[count++] = all[i];
            }
        }
        ak_space *space = NULL;
        ak_error err = AK_ERROR_INIT;
        if (build_listed(&space, listed, count, &err) != AK_OK) {
            fail_msg("%s", err.text);
        }
        assert_int_equal(ak_space_count(space), count);
        assert_int_equal(ak_space_condition_count(space), 1); /* kept as a text */
        for (size_t i = 0, at = 0; i < 32; i++) {
            uint64_t index = 99;
            bool has = at < count && memcmp(&all[i], &listed[at], sizeof all[i]) == 0;
            assert_true(ak_space_find(&index, space, &all[i]) == has);
            if (has) {
                ak_config config;
                ak_space_at(&config, space, at);
                assert_memory_equal(&config, &all[i], sizeof config);
                assert_int_equal(index, at++);
            }
        }
        /* every neighbour is one of them */
        ak_config near[64], from;
        ak_space_sample(&from, space, &rng);
        ak_space_set_default(space, &from);
        ak_config fallback;
        ak_space_default(&fallback, space);
        assert_memory_equal(&fallback, &from, sizeof from);
        for (size_t p = 0; p < ak_space_parameter_count(space); p++) {
            assert_int_equal(ak_space_parameter(space, p)->default_index, from.at[p]);
        }
        size_t found = ak_space_neighbours(near, 64, space, &from, AK_NEIGHBOUR_ANY);
        for (size_t i = 0; i < found; i++) {
            assert_true(ak_space_has(space, &near[i]));
        }
        ak_space_free(space);
    }
    ak_space *space = NULL;
    ak_error err = AK_ERROR_INIT;
    ak_config none = {{0}};
    assert_int_equal(build_listed(&space, &none, 0, &err), AK_INVALID);
    assert_non_null(strstr(err.text, "holds no configuration"));
}

/* Builds a space for a size N. The caller frees *definition and *facts. */
static ak_space *build_at(json_t **definition, ak_scope **facts, const char *json, int64_t n,
                          ak_space_spec *spec)
{
    ak_space *space = NULL;
    ak_error err = AK_ERROR_INIT;
    *facts = ak_scope_new(NULL);
    assert_int_equal(ak_scope_set_int(*facts, "N", n, NULL), AK_OK);
    assert_int_equal(ak_json_parse(definition, json, strlen(json), "test.json", NULL), AK_OK);
    spec->definition = *definition;
    spec->constants = *facts;
    if (ak_space_build(&space, spec, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    return space;
}

/* If --fix excludes a value of a start, its other values are kept if they are valid with the fixed
   one; otherwise the next smaller valid ones are taken. */
static void test_starts_under_fix(void **state)
{
    static const char json[] =
        "{\"TuningParameters\": ["
        "{\"Name\": \"EARLY\", \"Type\": \"int\", \"Values\": [0, 1, 2], \"Default\": 0},"
        "{\"Name\": \"AHEAD\", \"Type\": \"int\", \"Values\": [1, 4, 8], \"Default\": 1},"
        "{\"Name\": \"TILE\", \"Type\": \"int\", \"Values\": [1, 2, 3], \"Default\": 1},"
        "{\"Name\": \"DEEP\", \"Type\": \"bool\", \"Values\": [false, true], \"Default\": false},"
        "{\"Name\": \"HOW\", \"Type\": \"string\", \"Values\": [\"a\", \"b\"], \"Default\": "
        "\"a\"}],"
        " \"Conditions\": [{\"Expression\": \"AHEAD == 1 or EARLY > 0\"},"
        " {\"Expression\": \"AHEAD < 8 or EARLY > 1\"}],"
        " \"Starts\": [{\"At\": {\"N\": 64}, \"Config\": {\"EARLY\": 2, \"AHEAD\": 8, \"TILE\": 3, "
        "\"DEEP\": true, \"HOW\": \"b\"}}]}";
    static const char *const cases[][2] = {
        {NULL, "EARLY=2,AHEAD=8,TILE=3,DEEP=True,HOW=b"},
        {"EARLY=0", "EARLY=0,AHEAD=1,TILE=3,DEEP=True,HOW=b"},
        {"EARLY=0:1", "EARLY=0,AHEAD=1,TILE=3,DEEP=True,HOW=b"},
        {"EARLY=1", "EARLY=1,AHEAD=4,TILE=3,DEEP=True,HOW=b"},
        {"EARLY=0,TILE=2", "EARLY=0,AHEAD=1,TILE=2,DEEP=True,HOW=b"},
        {"HOW=a", "EARLY=2,AHEAD=8,TILE=3,DEEP=True,HOW=a"},
        {"AHEAD=8,EARLY=0:2", "EARLY=2,AHEAD=8,TILE=3,DEEP=True,HOW=b"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ak_scope *facts;
        json_t *definition;
        ak_config first;
        char text[128];
        ak_space_spec spec = {.fix = cases[i][0]};
        ak_space *space = build_at(&definition, &facts, json, 64, &spec);
        ak_space_default(&first, space);
        ak_config_format(text, sizeof text, space, &first);
        assert_string_equal(text, cases[i][1]);
        ak_space_free(space);
        json_decref(definition);
        ak_scope_free(facts);
    }
}

/* Starts of a near size come first, then starts for every size in the order of the rank, then
   starts of sizes farther away. */
static const char with_starts[] =
    "{\"TuningParameters\": [{\"Name\": \"A\", \"Type\": \"int\", \"Values\": [1, 2, 3, 4, 5, 6, "
    "7],"
    " \"Default\": 7}], \"Conditions\": [{\"Expression\": \"A != 6\"}], \"StartsNear\": 0.6,"
    " \"Starts\": [{\"Config\": {\"A\": 1}}, {\"Config\": {\"A\": 2}}, {\"Config\": {\"A\": 6}},"
    " {\"At\": {\"N\": 64}, \"Config\": {\"A\": 3}}, {\"At\": {\"N\": 128}, \"Config\": {\"A\": "
    "4}},"
    " {\"At\": {\"N\": 4096}, \"Config\": {\"A\": 5}}]}";

static void test_starts(void **state)
{
    static const struct {
        int64_t size;
        const char *rank, *order; /* the default, then the starts */
    } cases[] = {
        {64, "A", "3: 3 1 2 4"},      /* the one that is near; then by rank; then from farther */
        {90, "20 + A", "3: 3 4 1 2"}, /* both are near, the first a little nearer */
        {90, "A", "1: 3 4 1 2"},      /* but of neither is as much expected as of another */
        {200, "8 - A", "7: 2 1 4 3"}, /* of no start is more expected than of the default */
        {200, "A", "1: 1 2 4 3"}, /* of the first it is; 6 is not valid; 5 is from too far away */
        {200, "A*A + 1//(A - 1)",
         "2: 2 1 4 3"}, /* of 1 nothing can be expected: it is last of its kind */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ak_scope *facts;
        json_t *definition;
        ak_error err = AK_ERROR_INIT;
        const ak_config *starts;
        ak_config first;
        char text[64];
        ak_space_spec spec = {.rank = cases[i].rank};
        ak_space *space = build_at(&definition, &facts, with_starts, cases[i].size, &spec);
        ak_space_default(&first, space);
        int used = snprintf(text, sizeof text, "%d:", first.at[0] + 1);
        size_t count = ak_space_starts(&starts, space);
        for (size_t k = 0; k < count; k++) {
            used += snprintf(text + used, sizeof text - (size_t)used, " %d", starts[k].at[0] + 1);
        }
        assert_string_equal(text, cases[i].order);
        ak_space_free(space);
        spec.rank = "A*FOO";
        assert_int_equal(ak_space_build(&space, &spec, &err), AK_INVALID);
        assert_non_null(strstr(err.text, "\"Rank\" reads \"FOO\""));
        spec.rank = NULL;
        assert_int_equal(ak_space_build(&space, &spec, &err), AK_INVALID);
        assert_non_null(strstr(err.text, "start 1 needs \"Config\", and also \"At\""));
        json_decref(definition);
        ak_scope_free(facts);
    }
}

/* A space for families of starts: A from 1 to 4, B of 1, 2, 4, 8, a text C, and A*B at most 16. */
static const char with_family[] =
    "{\"TuningParameters\": [{\"Name\": \"A\", \"Type\": \"int\", \"Values\": [1, 2, 3, 4]},"
    " {\"Name\": \"B\", \"Type\": \"int\", \"Values\": [1, 2, 4, 8]},"
    " {\"Name\": \"C\", \"Type\": \"string\", \"Values\": [\"x\", \"y\"]}],"
    " \"Conditions\": [{\"Expression\": \"A*B <= 16\"}], \"Starts\": [%s]}";

static void test_families(void **state)
{
    static const struct {
        const char *entry, *rank, *expected; /* the default and the starts, or the message */
    } cases[] = {
        /* 99 becomes the greatest value that is valid beside this A */
        {"{\"Family\": {\"A\": [1, 3, 4], \"B\": [99]}}", "A + B", "11x: 34x 44x 18x"},
        /* an expression over earlier parameters and sizes; a number between two values */
        {"{\"Family\": {\"A\": [2, 3], \"B\": [\"A*N\", 5]}}", "10*A + B", "11x: 24x 28x 34x"},
        /* a condition of the family; what is not named has its default */
        {"{\"Family\": {\"A\": [1, 2, 3, 4], \"B\": [2, 8]}, \"Where\": [\"A*B < 8\", \"A > 1\"]}",
         "A", "11x: 22x 32x"},
        /* texts are written as the language writes them */
        {"{\"Family\": {\"A\": [1], \"C\": [\"'y' if N == 4 else 'x'\", \"'x'\"]}}",
         "A*(1 if C == 'x' else 0.5)", "11y: 11y 11x"},
        /* of members of which the same time is expected the first is kept, also beside others */
        {"{\"Family\": {\"A\": [3, 2], \"B\": [4, 2]}}, {\"Config\": {\"A\": 4}}", "A",
         "11x: 24x 34x 41x"},
        /* no member is valid: there is no start */
        {"{\"Family\": {\"A\": [0]}}", "A", "11x:"},
        {"{\"Family\": {\"D\": [1]}}", "A", "there is no parameter \"D\""},
        {"{\"Family\": {\"A\": 1}}", "A", "\"A\" needs a list of 1 to 64 alternatives"},
        {"{\"Family\": {\"A\": []}}", "A", "\"A\" needs a list of 1 to 64 alternatives"},
        {"{\"Family\": {\"A\": [null]}}", "A", "\"A\" needs numbers and expressions"},
        {"{\"Family\": {\"A\": [\"B\"]}}", "A", "reads \"B\", which is declared later"},
        {"{\"Family\": {\"A\": [\"Q\"]}}", "A", "reads \"Q\", which is neither"},
        {"{\"Family\": {\"A\": [\"1//0\"]}}", "A", "division by zero"},
        {"{\"Family\": {\"A\": [1]}, \"Where\": [7]}", "A", "\"Where\" is a list of expressions"},
        {"{\"Family\": {\"A\": [1]}, \"At\": {\"N\": 1}}", "A", "\"At\""},
        {"{\"Family\": {\"A\": [1]}}", NULL,
         "has a \"Family\", for which the file needs a \"Rank\""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ak_scope *facts = ak_scope_new(NULL);
        json_t *definition;
        ak_space *space = NULL;
        ak_error err = AK_ERROR_INIT;
        const ak_config *starts;
        ak_config first;
        char json[1024], text[128];
        (void)snprintf(json, sizeof json, with_family, cases[i].entry);
        assert_int_equal(ak_scope_set_int(facts, "N", 4, NULL), AK_OK);
        assert_int_equal(ak_json_parse(&definition, json, strlen(json), "test.json", NULL), AK_OK);
        ak_space_spec spec = {.definition = definition, .constants = facts, .rank = cases[i].rank};
        if (ak_space_build(&space, &spec, &err) == AK_OK) {
            static const int b[] = {1, 2, 4, 8};
            ak_space_default(&first, space);
            int used = snprintf(text, sizeof text, "%d%d%c:", first.at[0] + 1, b[first.at[1]],
                                "xy"[first.at[2]]);
            size_t count = ak_space_starts(&starts, space);
            for (size_t k = 0; k < count; k++) {
                used += snprintf(text + used, sizeof text - (size_t)used, " %d%d%c",
                                 starts[k].at[0] + 1, b[starts[k].at[1]], "xy"[starts[k].at[2]]);
            }
            assert_string_equal(text, cases[i].expected);
        } else if (strstr(err.text, cases[i].expected) == NULL) {
            fail_msg("%s: %s", cases[i].entry, err.text);
        }
        ak_space_free(space);
        json_decref(definition);
        ak_scope_free(facts);
    }
}

/* A family of 10^7 combinations ends with an error in a short time, even if only the last
   parameter's condition excludes them all. */
static void test_family_ends(void **state)
{
    static const struct {
        const char *where, *message;
    } cases[] = {{"G < 0", "\"Where\" decides too late"},
                 {"A == A", "has more than 100000 members"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[2048] = "{\"TuningParameters\": [";
        size_t used = strlen(text);
        for (char name = 'A'; name <= 'G'; name++) {
            used += (size_t)snprintf(text + used, sizeof text - used,
                                     "%s{\"Name\": \"%c\", \"Type\": \"int\", \"Values\": "
                                     "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}",
                                     name == 'A' ? "" : ", ", name);
        }
        used += (size_t)snprintf(text + used, sizeof text - used, "], \"Starts\": [{\"Family\": {");
        for (char name = 'A'; name <= 'G'; name++) {
            used += (size_t)snprintf(text + used, sizeof text - used,
                                     "%s\"%c\": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]",
                                     name == 'A' ? "" : ", ", name);
        }
        (void)snprintf(text + used, sizeof text - used, "}, \"Where\": [\"%s\"]}]}",
                       cases[i].where);
        json_t *definition;
        ak_space *space = NULL;
        ak_error err = AK_ERROR_INIT;
        assert_int_equal(ak_json_parse(&definition, text, strlen(text), "test.json", NULL), AK_OK);
        ak_space_spec spec = {.definition = definition, .rank = "A + 1"};
        assert_int_equal(ak_space_build(&space, &spec, &err), AK_LIMIT);
        assert_non_null(strstr(err.text, cases[i].message));
        json_decref(definition);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_family_ends),
        cmocka_unit_test(test_random_spaces),
        cmocka_unit_test(test_small_space),
        cmocka_unit_test(test_default_is_repaired),
        cmocka_unit_test(test_repair_is_nearest),
        cmocka_unit_test(test_cheapest),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_neighbours_against_force),
        cmocka_unit_test(test_sample_is_uniform),
        cmocka_unit_test(test_billions_of_combinations),
        cmocka_unit_test(test_more_than_can_be_listed),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_work_limit),
        cmocka_unit_test(test_constant_parts_limit),
        cmocka_unit_test(test_ranges_prune),
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_no_parameters),
        cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_listed),
        cmocka_unit_test(test_starts),
        cmocka_unit_test(test_starts_under_fix),
        cmocka_unit_test(test_outline),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
