/* test_config.c: tests configurations: their canonical text in both directions, messages, keys,
   compiler options. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/map.h"
#include "space_fixture.h"

static const char definition[] =
    "{\"TuningParameters\":["
    "{\"Name\":\"MR\",\"Type\":\"int\",\"Values\":[2,4,6,14],\"Default\":6},"
    "{\"Name\":\"NV\",\"Type\":\"int\",\"Values\":[1,2,4],\"Default\":2},"
    "{\"Name\":\"SCALE\",\"Type\":\"float\",\"Values\":[0.5,1,2.25],\"Default\":1},"
    "{\"Name\":\"PACK\",\"Type\":\"bool\",\"Values\":[true,false]},"
    "{\"Name\":\"layout\",\"Type\":\"string\",\"Values\":[\"row\",\"col-major\"]},"
    "{\"Name\":\"CC\",\"Type\":\"string\",\"Values\":[\"gcc\",\"clang\"],\"Use\":\"compiler\"},"
    "{\"Name\":\"WIDTH\",\"Type\":\"string\",\"Values\":[\"\",\"256\",\"512\"],\"Use\":\"option\","
    "\"Option\":\"-mprefer-vector-width={}\"},"
    "{\"Name\":\"LOOPS\",\"Type\":\"bool\",\"Values\":[false,true],\"Use\":\"option\","
    "\"Option\":\"-funroll-loops\"},"
    "{\"Name\":\"SCHED\",\"Type\":\"int\",\"Values\":[0,1],\"Use\":\"option\","
    "\"Options\":{\"0\":[],\"1\":[\"-fa\",\"-fb\"]}}],"
    "\"Conditions\":[{\"Expression\":\"MR*NV + NV + 1 <= 32\",\"Description\":\"registers\"},"
    "\"layout == 'row' or PACK\"]}";

static int set_up(void **state)
{
    *state = fixture_space(definition);
    return 0;
}

static int tear_down(void **state)
{
    ak_space_free(*state);
    return 0;
}

static void test_default_text(void **state)
{
    ak_config config;
    char text[256];
    static const char expected[] =
        "MR=6,NV=2,SCALE=1.0,PACK=True,layout=row,CC=gcc,WIDTH=,LOOPS=False,SCHED=0";
    ak_space_default(&config, *state);
    assert_int_equal(ak_config_format(text, sizeof text, *state, &config), strlen(expected));
    assert_string_equal(text, expected);
    assert_int_equal(ak_config_format(text, 6, *state, &config), strlen(expected));
    assert_string_equal(text, "MR=6,"); /* cut, and ended */
    assert_int_equal(ak_config_format(NULL, 0, *state, &config), strlen(expected));
}

/* The text of every configuration is read back as the same configuration, and all keys differ. */
static void test_round_trip(void **state)
{
    ak_set *keys = ak_set_new();
    uint64_t count = ak_space_count(*state);
    for (uint64_t i = 0; i < count; i++) {
        ak_config config, back;
        char text[256];
        bool added;
        ak_space_at(&config, *state, i);
        (void)ak_config_format(text, sizeof text, *state, &config);
        assert_int_equal(ak_config_parse(&back, *state, text, NULL), AK_OK);
        assert_memory_equal(&config, &back, sizeof back);
        assert_int_equal(ak_set_add(&added, keys, ak_config_key(*state, &config), NULL), AK_OK);
        assert_true(added);
    }
    assert_true(count > 1000);
    ak_set_free(keys);
}

static void test_parse_freely(void **state)
{
    ak_config config, fallback;
    char text[256];
    assert_int_equal(
        ak_config_parse(&config, *state, " LOOPS=true , PACK=0,SCALE=2.250, MR=04 ,CC=clang", NULL),
        AK_OK);
    (void)ak_config_format(text, sizeof text, *state, &config);
    assert_string_equal(
        text, "MR=4,NV=2,SCALE=2.25,PACK=False,layout=row,CC=clang,WIDTH=,LOOPS=True,SCHED=0");
    ak_space_default(&fallback, *state);
    assert_int_equal(ak_config_parse(&config, *state, "", NULL), AK_OK);
    assert_memory_equal(&config, &fallback, sizeof config);
    assert_int_equal(ak_config_parse(&config, *state, "  ", NULL), AK_OK);
}

static void test_parse_faults(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"MS=4", "there is no parameter \"MS\"; did you mean \"MR\"?"},
        {"something_else=4", "there are MR, NV, SCALE"},
        {"MR", "\"MR\" is not of the form parameter=value"},
        {"MR=4,,NV=1", "not of the form"},
        {"MR=4,", "not of the form"},
        {"MR=4,MR=4", "MR is given twice"},
        {"MR=5", "MR has no value \"5\"; it can be 2, 4, 6, 14"},
        {"MR=4x", "MR has no value \"4x\""},
        {"MR=", "MR has no value \"\""},
        {"SCALE=0.3", "it can be 0.5, 1.0, 2.25"},
        {"PACK=yes", "it can be True, False"},
        {"layout=rows", "it can be row, col-major"},
        {"MR=14,NV=4", "MR=14, NV=4 breaks condition 1, MR*NV + NV + 1 <= 32 (registers)"},
        {"PACK=false,layout=col-major",
         "layout=col-major, PACK=False breaks condition 2, layout == 'row' or PACK"},
    };
    ak_config config = {{9}}, before = config;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ak_error err = AK_ERROR_INIT;
        assert_int_equal(ak_config_parse(&config, *state, cases[i].text, &err), AK_INVALID);
        if (strstr(err.text, cases[i].message) == NULL) {
            fail_msg("%s: expected \"%s\", got \"%s\"", cases[i].text, cases[i].message, err.text);
        }
        assert_memory_equal(&config, &before, sizeof config); /* untouched */
    }
    char *huge = ak_alloc(100001, 1);
    memset(huge, 'a', 100000);
    assert_int_equal(ak_config_parse(&config, *state, huge, NULL), AK_LIMIT);
    ak_free(huge);
}

static void test_options(void **state)
{
    static const struct {
        const char *config;
        const char *argv[16];
        const char *compiler;
    } cases[] = {
        {"",
         {"-DMR=6", "-DNV=2", "-DSCALE=1.0", "-DPACK=1", "-DPACK_is_True=1", "-Dlayout=row",
          "-Dlayout_is_row=1"},
         "gcc"},
        {"PACK=True,layout=col-major,CC=clang,WIDTH=256,LOOPS=True,SCHED=1",
         {"-DMR=6", "-DNV=2", "-DSCALE=1.0", "-DPACK=1", "-DPACK_is_True=1", "-Dlayout=col-major",
          "-Dlayout_is_col_major=1", "-mprefer-vector-width=256", "-funroll-loops", "-fa", "-fb"},
         "clang"},
        {"PACK=False,SCALE=0.5",
         {"-DMR=6", "-DNV=2", "-DSCALE=0.5", "-DPACK=0", "-DPACK_is_False=1", "-Dlayout=row",
          "-Dlayout_is_row=1"},
         "gcc"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ak_config config;
        ak_options options = {0};
        assert_int_equal(ak_config_parse(&config, *state, cases[i].config, NULL), AK_OK);
        assert_int_equal(ak_config_options(&options, *state, &config, NULL), AK_OK);
        for (size_t k = 0; cases[i].argv[k] != NULL; k++) {
            assert_true(k < options.count);
            assert_string_equal(options.argv[k], cases[i].argv[k]);
        }
        assert_null(cases[i].argv[options.count]);
        assert_null(options.argv[options.count]);
        assert_string_equal(options.compiler, cases[i].compiler);
        ak_options_clear(&options);
        assert_int_equal(options.count, 0);
    }
}

static void test_scope(void **state)
{
    ak_config config;
    ak_scope *scope = ak_scope_new(NULL);
    bool truth = false;
    assert_int_equal(ak_config_parse(&config, *state, "MR=2,layout=col-major", NULL), AK_OK);
    assert_int_equal(ak_config_scope(scope, *state, &config, NULL), AK_OK);
    assert_int_equal(ak_expr_bool(&truth,
                                  "MR == 2 and layout == 'col-major' and PACK == True and "
                                  "SCALE == 1.0",
                                  scope, "test", NULL),
                     AK_OK);
    assert_true(truth);
    assert_int_equal(ak_config_value(*state, &config, 0).as.integer, 2);
    ak_scope_free(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_text), cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_parse_freely), cmocka_unit_test(test_parse_faults),
        cmocka_unit_test(test_options),      cmocka_unit_test(test_scope),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
