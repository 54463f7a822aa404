/* test_base.c: tests allocation, texts, maps, files, limits of JSON, and processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/asset.h"
#include "base/charset.h"
#include "base/clock.h"
#include "base/cores.h"
#include "base/csv.h"
#include "base/dl.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/map.h"
#include "base/number.h"
#include "base/pack.h"
#include "base/plain.h"
#include "base/proc.h"
#include "base/rng.h"
#include "base/text.h"
#include "base/utf8.h"

static void test_alloc_fails_where_told(void **state)
{
    (void)state;
    void *p = ak_alloc(SIZE_MAX, 2);
    assert_null(p);
    ak_alloc_fail_at(2);
    p = ak_alloc(1, 8);
    assert_non_null(p);
    assert_null(ak_alloc(1, 8));
    assert_null(ak_resize(p, 2, 8));
    ak_alloc_fail_at(0);
    ak_free(p);
    assert_null(ak_strdup(NULL));
}

static void test_arena_refuses_a_size_that_overflows(void **state)
{
    (void)state;
    ak_error err = AK_ERROR_INIT;
    ak_arena *arena = ak_arena_new();
    uint64_t *list = NULL;
    /* Without a test of the product these are 0, 8 and 16 bytes. */
    static const size_t counts[] = {SIZE_MAX / 8 + 1, SIZE_MAX / 8 + 2, SIZE_MAX / 8 + 3, SIZE_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        assert_int_equal(AK_ARENA_NEW(list, arena, counts[i], &err), AK_NO_MEMORY);
        assert_null(list);
    }
    assert_int_equal(AK_ARENA_NEW(list, arena, 3, &err), AK_OK);
    assert_int_equal(list[2], 0);
    ak_arena_free(arena);
}

/* The message names the library that it gives the reason of: one that is there, else the first. */
static void test_a_library_that_cannot_be_loaded(void **state)
{
    (void)state;
    ak_error err = AK_ERROR_INIT;
    void *library = NULL;
    char path[AK_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/ak_no_library_XXXXXX",
                   getenv("TMPDIR") == NULL ? "/tmp" : getenv("TMPDIR"));
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, "no ELF file", 11), 11);
    (void)close(file);
    const char *const missing[] = {"libak_first.so.1", "libak_second.so", NULL};
    assert_int_equal(ak_dl_open(&library, missing, &err), AK_UNAVAILABLE);
    assert_non_null(strstr(err.text, "libak_first.so.1 could not be loaded: "));
    assert_null(strstr(err.text, "libak_second"));
    assert_int_equal(ak_dl_need(&library, missing, "install first", &err), AK_UNAVAILABLE);
    assert_string_equal(err.text, "install first");
    const char *const orders[][4] = {{path, "libak_second.so", NULL},
                                     {"libak_first.so.1", path, NULL},
                                     {"libak_first.so.1", path, "libak_third.so", NULL}};
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        assert_int_equal(ak_dl_need(&library, orders[i], "install it", &err), AK_UNAVAILABLE);
        assert_int_equal(strncmp(err.text, path, strlen(path)), 0);
        assert_null(strstr(err.text, "libak_"));
        assert_null(strstr(err.text, strerror(ENOENT)));
    }
    (void)remove(path);
}

static void test_arena_is_zeroed_and_reusable(void **state)
{
    (void)state;
    ak_arena *arena = ak_arena_new();
    for (int round = 0; round < 3; round++) {
        for (size_t i = 1; i < 3000; i += 7) {
            unsigned char *p = ak_arena_alloc(arena, i);
            assert_int_equal((uintptr_t)p % 16, 0);
            for (size_t j = 0; j < i; j++) {
                assert_int_equal(p[j], 0);
            }
            memset(p, 0xff, i);
        }
        ak_arena_reset(arena);
    }
    assert_string_equal(ak_arena_strndup(arena, "hello", 4), "hell");
    ak_arena_free(arena);
}

static void test_buf_stops_at_its_maximum(void **state)
{
    (void)state;
    ak_error err = AK_ERROR_INIT;
    ak_buf buf = AK_BUF(8);
    ak_buf_print(&buf, "%d-%s", 12, "ab");
    assert_string_equal(buf.data, "12-ab");
    ak_buf_puts(&buf, "cdef");
    assert_int_equal(ak_buf_status(&buf, &err), AK_LIMIT);
    assert_string_equal(buf.data, "12-ab");
    ak_buf_clear(&buf);
    ak_buf_puts(&buf, "12345678");
    assert_int_equal(ak_buf_status(&buf, &err), AK_OK);
    char *text;
    assert_int_equal(ak_buf_take(&text, &buf, &err), AK_OK);
    assert_string_equal(text, "12345678");
    ak_free(text);
    assert_int_equal(buf.length, 0);
}

static void test_map_and_set(void **state)
{
    (void)state;
    ak_map *map = ak_map_new();
    ak_set *set = ak_set_new();
    char key[32];
    for (size_t i = 0; i < 1000; i++) {
        (void)snprintf(key, sizeof key, "key %zu", i);
        assert_int_equal(ak_map_put(map, key, i * 3, NULL), AK_OK);
        bool added = false;
        assert_int_equal(ak_set_add(&added, set, i * 4096, NULL), AK_OK);
        assert_true(added);
        assert_int_equal(ak_set_add(&added, set, i * 4096, NULL), AK_OK);
        assert_false(added);
    }
    size_t value = 0;
    assert_int_equal(ak_map_count(map), 1000);
    assert_true(ak_map_get(&value, map, "key 999"));
    assert_int_equal(value, 2997);
    assert_false(ak_map_get(&value, map, "key 1000"));
    assert_int_equal(ak_map_put(map, "key 1", 7, NULL), AK_OK);
    assert_true(ak_map_get(&value, map, "key 1"));
    assert_int_equal(value, 7);
    assert_true(ak_set_has(set, 0));
    assert_false(ak_set_has(set, 1));
    ak_map_free(map);
    ak_set_free(set);
}

static void test_errors_are_one_clean_line(void **state)
{
    (void)state;
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(ak_fail(&err, AK_INVALID, "a\nb\x1b[31m"), AK_INVALID);
    assert_string_equal(err.text, "a b [31m");
    assert_int_equal(ak_fail_within(&err, "file %d", 3), AK_INVALID);
    assert_string_equal(err.text, "file 3: a b [31m");
    assert_int_equal(ak_fail(NULL, AK_IO, "x"), AK_IO);
    assert_string_equal(ak_status_text(AK_CORRUPT), "damaged data");
}

static void test_names_are_found_in_tables(void **state)
{
    (void)state;
    static const struct {
        int number;
        const char *name;
    } rows[] = {{1, "one"}, {2, "two"}, {3, "three"}};
    static const char *const words[] = {"tune", "check", NULL};
    assert_int_equal(AK_FIND(rows, AK_COUNT(rows), name, "one"), 0);
    assert_int_equal(AK_FIND(rows, AK_COUNT(rows), name, "three"), 2);
    assert_int_equal(AK_FIND(rows, AK_COUNT(rows), name, "thre"), AK_COUNT(rows));
    assert_true(AK_HAS(rows, AK_COUNT(rows), name, "two"));
    assert_false(AK_HAS(rows, 1, name, "two"));
    assert_int_equal(AK_FIND_TEXT(words, 2, "check"), 1);
    assert_false(AK_HAS_TEXT(words, 1, "check"));
    assert_true(ak_text_is_one_of("check", words));
    assert_false(ak_text_is_one_of("", words));
}

static void test_json_is_whole_or_nothing(void **state)
{
    (void)state;
    static const double numbers[] = {0.5, NAN};
    static const char *const words[] = {"a", "b"};
    ak_error err = AK_ERROR_INIT;
    char *text = NULL;
    json_t *object = json_object(), *out = NULL;
    bool good = ak_json_set(object, "numbers", ak_json_reals(numbers, 2)) &&
                ak_json_set(object, "words", ak_json_texts(words, 2));
    assert_int_equal(ak_json_give(&out, object, good, &err), AK_OK);
    assert_int_equal(ak_json_text(&text, out, &err), AK_OK);
    assert_string_equal(text, "{\"numbers\":[0.5,null],\"words\":[\"a\",\"b\"]}");
    ak_free(text);
    assert_null(ak_json_whole(out, false));
    out = NULL;
    assert_int_equal(ak_json_give(&out, json_object(), false, &err), AK_NO_MEMORY);
    assert_null(out);
    assert_int_equal(ak_json_give_text(&text, json_object(), true, &err), AK_OK);
    assert_string_equal(text, "{}");
    ak_free(text);
    text = NULL;
    assert_int_equal(ak_json_give_text(&text, json_object(), false, &err), AK_NO_MEMORY);
    assert_int_equal(ak_json_give_text(&text, NULL, true, &err), AK_NO_MEMORY);
    assert_null(text);
    json_t *list = json_array();
    ak_json_add(&list, json_string("a"));
    ak_json_add(&list, json_null());
    assert_int_equal(json_array_size(list), 2);
    ak_json_add(&list, NULL);
    assert_null(list);
    ak_json_add(&list, json_string("b"));
    assert_null(list);
}

static void test_memory_is_there_or_a_failure(void **state)
{
    (void)state;
    ak_error err = AK_ERROR_INIT;
    double *numbers = NULL;
    char *copy = NULL;
    assert_int_equal(AK_NEW(numbers, 3, &err), AK_OK);
    assert_true(numbers[0] == 0 && numbers[2] == 0);
    ak_free(numbers);
    assert_int_equal(ak_copy_text(&copy, "text", &err), AK_OK);
    assert_string_equal(copy, "text");
    ak_free(copy);
    assert_int_equal(ak_copy_text(&copy, NULL, &err), AK_OK);
    assert_null(copy);
    ak_alloc_fail_at(1);
    assert_int_equal(AK_NEW(numbers, 3, &err), AK_NO_MEMORY);
    assert_int_equal(ak_copy_text(&copy, "text", &err), AK_NO_MEMORY);
    ak_alloc_fail_at(0);
    assert_null(copy);
}

static void test_texts(void **state)
{
    (void)state;
    static const char *const words[] = {"tune", "check", "bench", "compare", NULL};
    assert_string_equal(ak_text_nearest("tun", words), "tune");
    assert_string_equal(ak_text_nearest("bnech", words), "bench");
    assert_null(ak_text_nearest("zzzzzz", words));
    int64_t i = 0;
    double r = 0;
    assert_true(ak_text_int(&i, "-42"));
    assert_int_equal(i, -42);
    assert_false(ak_text_int(&i, "42x"));
    assert_false(ak_text_int(&i, ""));
    assert_false(ak_text_int(&i, " 1"));
    assert_false(ak_text_int(&i, "99999999999999999999"));
    assert_true(ak_text_real(&r, "1.5e3"));
    assert_float_equal(r, 1500.0, 0);
    assert_false(ak_text_real(&r, "nan"));
    assert_false(ak_text_real(&r, "1e999"));
    assert_true(ak_text_seconds(&r, "1.5h"));
    assert_float_equal(r, 5400.0, 0);
    assert_true(ak_text_seconds(&r, "90"));
    assert_float_equal(r, 90.0, 0);
    assert_false(ak_text_seconds(&r, "-1s"));
    assert_false(ak_text_seconds(&r, "m"));
}

static ak_status parse(const char *text, ak_error *err)
{
    json_t *value = NULL;
    ak_status status = ak_json_parse(&value, text, strlen(text), "test", err);
    json_decref(value);
    return status;
}

/* Numbers are shown with the expected digits, as figures, as ratios and in the short form. */
static void test_figures(void **state)
{
    static const struct {
        double value;
        const char *figure, *ratio, *brief; /* with two digits at most */
    } cases[] = {{0.5, "0.5000", "0.500", "0.5"},
                 {9.9996, "10.00", "10.000", "10"},
                 {0.0249, "0.02490", "0.0249", "0.025"},
                 {12345.6, "12346", "12345.6", "12346"},
                 {999.96, "1000", "1000.0", "1000"},
                 {100, "100.0", "100.0", "100"},
                 {1.0, "1.000", "1.000", "1"},
                 {0, "0", "0", "0"},
                 {1e15, "1.000e+15", "1.00e+15", "1.0e+15"},
                 {1e-9, "1.000e-09", "1.00e-09", "1.0e-09"},
                 {(double)INFINITY, "?", "?", "?"},
                 {(double)NAN, "?", "?", "?"},
                 {-2.5, "-2.500", "-2.50", "-2.5"}};
    char out[AK_REAL_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(ak_number_figure(out, cases[i].value, AK_DIGITS), cases[i].figure);
        assert_string_equal(ak_number_ratio(out, cases[i].value), cases[i].ratio);
        assert_string_equal(ak_number_short(out, cases[i].value, 2), cases[i].brief);
    }
}

/* A size is shown in the largest unit in which it is at least 1. */
static void test_sizes_in_words(void **state)
{
    static const struct {
        size_t bytes;
        const char *text;
    } cases[] = {{0, "0 bytes"},
                 {1, "1 byte"},
                 {1023, "1023 bytes"},
                 {1024, "1 KiB"},
                 {786432, "768 KiB"},
                 {1572864, "1.5 MiB"},
                 {256 << 20, "256 MiB"},
                 {(size_t)5 << 30, "5 GiB"},
                 {(size_t)3 << 50, "3072 TiB"}};
    char out[AK_REAL_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(ak_number_size(out, cases[i].bytes), cases[i].text);
    }
}

/* Characters that control a terminal or change the direction of text are replaced, and no text
   becomes longer. */
static void test_plain_texts(void **state)
{
    char tamed[] = "a\tb\x1b[1m\xe2\x80\xae"
                   "c\xe2\x81\xa9\xd8\x9c\xc2\x9b"
                   "1m\xe2\x80\xa8\xe2\x80\x9c\xc3\xa4\xe2\x82\xac";
    char line[] = "a\tb\nc\x7f\xe2\x80\xae";
    char cut[] = "\xe2\x80", screen[] = "\x1b[31mred\x1b[0m\n\t\x1b[2J\r\x07\x1b]0;t\x1b[8m";
    (void)state;
    ak_plain_tame(tamed);
    assert_string_equal(tamed, "a\tb\x1b[1m\xef\xbf\xbd"
                               "c\xef\xbf\xbd    1m\xef\xbf\xbd\xe2\x80\x9c\xc3\xa4\xe2\x82\xac");
    ak_plain_line(line);
    assert_string_equal(line, "a b c \xef\xbf\xbd");
    ak_plain_screen(screen);
    assert_string_equal(screen, " [31mred [0m\n\t [2J   ]0;t [8m");
    ak_plain_line(cut);
    assert_string_equal(cut, "\xe2 ");
    static const struct {
        const char *all, *type, *lang;
        bool is;
    } locales[] = {{NULL, NULL, "de_DE.UTF-8", true}, {"C", "C.UTF-8", "C.UTF-8", false},
                   {"", "C.utf8", "C", true},         {NULL, NULL, NULL, false},
                   {NULL, "UTF-8", NULL, true},       {NULL, NULL, "de_DE.ISO-8859-1", false}};
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    char *kept[AK_COUNT(names)];
    for (size_t v = 0; v < AK_COUNT(names); v++) {
        kept[v] = ak_strdup(getenv(names[v]));
    }
    for (size_t i = 0; i < AK_COUNT(locales); i++) {
        const char *const values[] = {locales[i].all, locales[i].type, locales[i].lang};
        char shown[] = "2 \xc2\xb5s \xe2\x96\x81\xe2\x96\x88 \xc3\xa4\xc2\xb5.c \xc2";
        for (size_t v = 0; v < AK_COUNT(names); v++) {
            (void)(values[v] == NULL ? unsetenv(names[v]) : setenv(names[v], values[v], 1));
        }
        assert_int_equal(ak_charset_is_utf8(), locales[i].is);
        ak_charset_fit(shown);
        assert_string_equal(
            shown, locales[i].is ? "2 \xc2\xb5s \xe2\x96\x81\xe2\x96\x88 \xc3\xa4\xc2\xb5.c \xc2"
                                 : "2 us _# \xc3\xa4\xc2\xb5.c \xc2");
    }
    for (size_t v = 0; v < AK_COUNT(names); v++) {
        (void)(kept[v] == NULL ? unsetenv(names[v]) : setenv(names[v], kept[v], 1));
        ak_free(kept[v]);
    }
    char copy[8];
    ak_plain_copy(copy, sizeof copy, "f\xfcr\x1b[\xc3\xa4\xc3\xa4");
    assert_string_equal(copy, "f?r?[\xc3\xa4");
    ak_plain_copy(copy, sizeof copy, "123456\xc3\xa4"); /* no half character */
    assert_string_equal(copy, "123456");
    ak_plain_copy(copy, sizeof copy, "a\xe2\x80\xae\xe2\x80");
    assert_string_equal(copy, "a???");
    json_t *value = json_string("\xe2\x80\xae\x7f\xc2\x9b\xc3\xa4");
    char *text = NULL;
    assert_int_equal(ak_json_text(&text, value, NULL), AK_OK);
    assert_string_equal(text, "\"\\u202e\\u007f\\u009b\xc3\xa4\"");
    ak_free(text);
    json_decref(value);
    json_t *none = ak_json_real((double)INFINITY), *one = ak_json_interval(1, 1);
    assert_true(json_is_null(none) && json_is_null(one));
    json_decref(none);
    json_decref(one);
}

/* A text that a spreadsheet could take for a formula gets an apostrophe, which reading removes. */
static void test_cells(void **state)
{
    static const struct {
        const char *text, *cell;
    } cases[] = {{"=1+2", "'=1+2"},
                 {"+cmd", "'+cmd"},
                 {"@SUM(A1)", "'@SUM(A1)"},
                 {"-x", "'-x"},
                 {"-", "-"},
                 {"-1.5", "-1.5"},
                 {"+3e5", "+3e5"},
                 {"-3.1 %", "-3.1 %"},
                 {"-1+2", "'-1+2"},
                 {"-inf", "'-inf"},
                 {"'=1", "''=1"},
                 {"'x", "'x"},
                 {"a,b", "\"a,b\""},
                 {"=\"a\"", "\"'=\"\"a\"\"\""},
                 {"\tx", "'\tx"},
                 {"", ""},
                 {"M=64", "M=64"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ak_buf out = AK_BUF(100);
        ak_csv_text(&out, cases[i].text);
        assert_string_equal(out.data, cases[i].cell);
        if (out.data[0] != '"') {
            assert_string_equal(ak_csv_read(out.data), cases[i].text);
        }
        ak_buf_free(&out);
    }
    ak_buf out = AK_BUF(100);
    ak_csv_text(&out, "a\033[8mb\r\x7f");
    assert_string_equal(out.data, "a [8mb  "); /* a terminal may show it */
    ak_buf_free(&out);
}

static void test_json_refuses_what_is_hostile(void **state)
{
    (void)state;
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(parse("{\"a\": [1, 2.5, null]}", &err), AK_OK);
    assert_int_equal(parse("{\"a\": 1, \"a\": 2}", &err), AK_INVALID);
    assert_int_equal(parse("{\"a\": NaN}", &err), AK_INVALID);
    assert_int_equal(parse("{\"a\": 1} x", &err), AK_INVALID);
    assert_int_equal(parse("{\"a\": 1e999}", &err), AK_INVALID);
    assert_int_equal(parse("", &err), AK_INVALID);
    assert_int_equal(parse("{\"a\":\n  oops}", &err), AK_INVALID);
    assert_non_null(strstr(err.text, "test:2:"));
    char deep[2 * AK_JSON_DEPTH_MAX + 4];
    memset(deep, '[', AK_JSON_DEPTH_MAX + 1);
    memset(deep + AK_JSON_DEPTH_MAX + 1, ']', AK_JSON_DEPTH_MAX + 1);
    deep[2 * AK_JSON_DEPTH_MAX + 2] = 0;
    assert_int_equal(parse(deep, &err), AK_LIMIT);
    deep[2 * AK_JSON_DEPTH_MAX + 1] = 0;
    assert_int_equal(parse(deep + 1, &err), AK_OK);
    assert_int_equal(parse("[\"[[[[[[\"]", &err), AK_OK);
}

/* A number is written with as few digits as possible so that reading gives the same value. */
/* JSON with frequent mistakes is refused with advice on how to correct it. */
static void test_json_says_what_people_usually_mean(void **state)
{
    static const struct {
        const char *text, *advice;
    } cases[] = {
        {"{\"a\": NaN}", "neither NaN"},
        {"{\"a\": Infinity}", "neither NaN"},
        {"{\"a\": -Infinity}", "neither NaN"},
        {"{\"a\": 1,}", "one too many"},
        {"[1,\n 2,\n]", "one too many"},
        {"{\"a\": 1\n \"b\": 2}", "2:4: '}' expected near '\"b\"'; the comma before it is missing"},
        {"[1 {\"a\": 2}]", "; the comma before it is missing"},
        {"// mine\n{}", "no comments"},
        {"{} # mine", "no comments"},
        {"{'a': 1}", "double quotes"},
        {"{\"a\": True}", "true, false and null"},
        {"{\"a\": None}", "true, false and null"},
        {"{\"a\": \"\xe9\"}", "save it as UTF-8"},
        {"\xff\xfe{", "save it as UTF-8"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ak_error err = AK_ERROR_INIT;
        assert_int_equal(parse(cases[i].text, &err), AK_INVALID);
        if (strstr(err.text, cases[i].advice) == NULL) {
            fail_msg("%s: %s", cases[i].text, err.text);
        }
    }
    assert_int_equal(parse("\xef\xbb\xbf{\"a\": 1}", NULL), AK_OK);
    assert_int_equal(parse("\xef\xbb\xbf", NULL), AK_INVALID);
}

static void test_json_is_written_as_it_was_read(void **state)
{
    static const char *const texts[] = {"[0.1]",
                                        "[1.0]",
                                        "[-2.5]",
                                        "[1e300]",
                                        "[3.141592653589793]",
                                        "[0.30000000000000004]",
                                        "[5e-324]",
                                        "[123456789012.0]",
                                        "[9007199254740993]",
                                        "[true,false,null]",
                                        "[]",
                                        "{}",
                                        "[1,[2,{}],null]",
                                        "{\"b\":[0.2,1e-7],\"a\":{\"x\":false}}",
                                        "[\"\\\"\\\\\\n\\t\\u0001 \xc3\xa9/\"]"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        json_t *value = NULL;
        char *text = NULL;
        assert_int_equal(ak_json_parse(&value, texts[i], strlen(texts[i]), "text", NULL), AK_OK);
        assert_int_equal(ak_json_text(&text, value, NULL), AK_OK);
        json_t *again = NULL;
        assert_int_equal(ak_json_parse(&again, text, strlen(text), "text", NULL), AK_OK);
        assert_true(json_equal(value, again));
        bool same_digits = strstr(texts[i], "e300") == NULL && strstr(texts[i], "e-") == NULL;
        if (same_digits) { /* exponents have a form of their own */
            assert_string_equal(text, texts[i]);
        }
        ak_free(text);
        json_decref(again);
        json_decref(value);
    }
    json_t *value = json_pack("{s:[i,f],s:{}}", "list", 1, 0.1, "none");
    ak_buf out = AK_BUF(200);
    ak_json_print(&out, value, true);
    assert_string_equal(out.data, "{\n  \"list\": [\n    1,\n    0.1\n  ],\n  \"none\": {}\n}");
    ak_buf_free(&out);
    json_decref(value);
    /* Nothing is written that would not be read. */
    json_t *deep = json_array();
    for (int i = 0; i < AK_JSON_DEPTH_MAX + 1; i++) {
        deep = json_pack("[o]", deep);
    }
    char *text = NULL;
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(ak_json_text(&text, deep, &err), AK_LIMIT);
    assert_non_null(strstr(err.text, "nested deeper than JSON may be"));
    json_decref(deep);
}

static void test_json_getters_say_where(void **state)
{
    (void)state;
    ak_error err = AK_ERROR_INIT;
    json_t *object = json_pack("{s:s,s:i,s:f,s:b,s:[]}", "text", "x", "whole", 3, "real", 0.5,
                               "flag", 1, "list");
    const char *text = NULL;
    int64_t whole = 0;
    double real = 0;
    bool flag = false;
    json_t *list = NULL;
    assert_int_equal(ak_json_string(&text, object, "text", "here", &err), AK_OK);
    assert_string_equal(text, "x");
    assert_int_equal(ak_json_string(&text, object, "whole", "here", &err), AK_INVALID);
    assert_string_equal(err.text, "here: \"whole\" must be a string");
    assert_int_equal(ak_json_string(&text, object, "none", "here", &err), AK_INVALID);
    assert_string_equal(err.text, "here: \"none\" is missing");
    assert_int_equal(ak_json_int(&whole, object, "whole", "here", &err), AK_OK);
    assert_int_equal(whole, 3);
    assert_int_equal(ak_json_int(&whole, object, "real", "here", &err), AK_INVALID);
    assert_int_equal(ak_json_real_or(&real, object, "whole", 1.0, "here", &err), AK_OK);
    assert_float_equal(real, 3.0, 0);
    assert_int_equal(ak_json_bool_or(&flag, object, "none", true, "here", &err), AK_OK);
    assert_true(flag);
    assert_int_equal(ak_json_bool_or(&flag, object, "text", true, "here", &err), AK_INVALID);
    assert_int_equal(ak_json_array_or_null(&list, object, "list", "here", &err), AK_OK);
    assert_non_null(list);
    assert_int_equal(ak_json_object_or_null(&list, object, "list", "here", &err), AK_INVALID);
    static const char *const keys[] = {"text", "whole", "real", "flag", "lust", NULL};
    assert_int_equal(ak_json_only(object, keys, "here", &err), AK_INVALID);
    assert_string_equal(err.text, "here: unknown key \"list\"; did you mean \"lust\"?");
    assert_true(ak_json_set_real(object, "nan", NAN));
    assert_true(json_is_null(json_object_get(object, "nan")));
    json_decref(object);
}

static void test_files(void **state)
{
    (void)state;
    ak_error err = AK_ERROR_INIT;
    char folder[AK_PATH_MAX], path[AK_PATH_MAX], inner[AK_PATH_MAX];
    assert_int_equal(ak_fs_temp(folder, &err), AK_OK);
    assert_int_equal(ak_fs_join(inner, folder, "a/b/c", &err), AK_OK);
    assert_int_equal(ak_fs_mkdirs(inner, &err), AK_OK);
    assert_int_equal(ak_fs_mkdirs(inner, &err), AK_OK);
    /* What is wrong with it is told, not what looking at it afterwards says. */
    assert_int_equal(ak_fs_join(path, inner, "link", &err), AK_OK);
    assert_int_equal(symlink("nowhere", path), 0);
    assert_int_equal(ak_fs_mkdirs(path, &err), AK_IO);
    assert_non_null(strstr(err.text, "exists"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(ak_fs_join(path, inner, "file", &err), AK_OK);
    assert_int_equal(ak_fs_write(path, "12345", 5, &err), AK_OK);
    char *text = NULL;
    size_t length = 0;
    assert_int_equal(ak_fs_read(&text, &length, path, 5, &err), AK_OK);
    assert_int_equal(length, 5);
    assert_string_equal(text, "12345");
    ak_free(text);
    assert_int_equal(ak_fs_read(&text, &length, path, 4, &err), AK_LIMIT);
    for (size_t max = 0; max <= 6; max++) { /* the file has five bytes */
        assert_int_equal(ak_fs_read_head(&text, path, max, &err), AK_OK);
        assert_int_equal(strlen(text), max < 5 ? max : 5);
        ak_free(text);
    }
    assert_int_equal(ak_fs_read(&text, &length, inner, 4, &err), AK_INVALID);
    assert_int_equal(ak_fs_read(&text, &length, "/dev/zero", 4, &err), AK_INVALID);
    assert_int_equal(ak_fs_write("/dev/full/x", "1", 1, &err), AK_IO);
    assert_int_equal(ak_fs_write("/dev/null", "1", 1, &err), AK_OK);
    assert_false(ak_fs_is_file("/dev/null")); /* still the device */
    assert_int_equal(ak_fs_write("/dev/full", "1", 1, &err), AK_IO);
    assert_false(ak_fs_is_file("/dev/full"));
    AK_AT_END(ak_fs_names_free) ak_fs_names names = {0};
    assert_int_equal(ak_fs_list(&names, inner, &err), AK_OK);
    assert_int_equal(names.count, 1);
    assert_string_equal(names.list[0], "file");
    ak_fs_remove(folder);
    assert_false(ak_fs_is_folder(folder));
    assert_int_equal(ak_fs_read(&text, &length, path, 5, &err), AK_NOT_FOUND);
    assert_true(ak_fs_which(path, "sh"));
    assert_false(ak_fs_which(path, "no-such-program-at-all"));
}

/* The next start removes the temporary folder of a process that was killed. Folders of live
   processes, and folders of other programs, stay. */
static void test_folders_of_the_killed_are_removed(void **state)
{
    (void)state;
    char root[AK_PATH_MAX], foreign[AK_PATH_MAX], inner[AK_PATH_MAX];
    const char *before = ak_env("TMPDIR");
    char *kept = ak_strdup(before);
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(ak_fs_temp(root, &err), AK_OK);
    assert_int_equal(setenv("TMPDIR", root, 1), 0);
    ak_fs_owned mine;
    assert_int_equal(ak_fs_owned_open(&mine, &err), AK_OK);
    assert_int_equal(ak_fs_temp(foreign, &err), AK_OK); /* of an older version, or not begun yet */
    int pipe_ends[2];
    assert_int_equal(pipe(pipe_ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        ak_fs_owned theirs;
        char file[AK_PATH_MAX];
        bool good =
            ak_fs_owned_open(&theirs, NULL) == AK_OK &&
            ak_fs_join(file, theirs.path, "artifact", NULL) == AK_OK &&
            ak_fs_write(file, "x", 1, NULL) == AK_OK &&
            write(pipe_ends[1], theirs.path, sizeof theirs.path) == (ssize_t)sizeof theirs.path;
        (void)raise(good ? SIGKILL : SIGTERM);
    }
    char left[AK_PATH_MAX];
    int how = 0;
    assert_int_equal(read(pipe_ends[0], left, sizeof left), sizeof left);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
    assert_true(ak_fs_is_folder(left));
    ak_fs_owned next;
    assert_int_equal(ak_fs_owned_open(&next, &err), AK_OK);
    assert_false(ak_fs_is_folder(left));
    assert_true(ak_fs_is_folder(mine.path));
    assert_true(ak_fs_is_folder(foreign));
    assert_int_equal(ak_fs_join(inner, mine.path, "file", &err), AK_OK);
    assert_int_equal(ak_fs_write(inner, "x", 1, &err), AK_OK);
    ak_fs_owned_close(&next);
    ak_fs_owned_close(&mine);
    ak_fs_owned_close(&mine); /* twice is no fault */
    ak_fs_remove(foreign);
    ak_fs_names names = {.count = 1};
    assert_int_equal(ak_fs_list(&names, root, &err), AK_OK);
    assert_int_equal(names.count, 0);
    ak_fs_names_free(&names);
    (void)close(pipe_ends[0]);
    (void)close(pipe_ends[1]);
    (void)(kept == NULL ? unsetenv("TMPDIR") : setenv("TMPDIR", kept, 1));
    ak_free(kept);
    ak_fs_remove(root);
}

/* Paths in it are longer than any buffer. What a link points to stays. */
static void test_a_deep_tree_is_removed(void **state)
{
    (void)state;
    char root[AK_PATH_MAX], outside[AK_PATH_MAX];
    assert_int_equal(ak_fs_temp(root, NULL), AK_OK);
    assert_int_equal(ak_fs_temp(outside, NULL), AK_OK);
    int at = open(root, O_RDONLY | O_DIRECTORY);
    for (size_t depth = 0; depth < 20000; depth++) {
        assert_int_equal(mkdirat(at, "folder", 0700), 0);
        assert_int_equal(mkdirat(at, ".removed-3", 0700), 0);
        assert_int_equal(symlinkat(outside, at, "link"), 0);
        int next = openat(at, "folder", O_RDONLY | O_DIRECTORY);
        assert_true(next >= 0);
        (void)close(at);
        at = next;
    }
    (void)close(at);
    ak_fs_remove(root);
    assert_false(ak_fs_is_folder(root));
    assert_true(ak_fs_is_folder(outside));
    ak_fs_remove(outside);
    assert_false(ak_fs_is_folder(outside));
}

static void test_cores(void **state)
{
    (void)state;
    assert_true(ak_cores() >= 1);
    assert_int_equal(ak_cores_within(8, "max 100000"), 8);
    assert_int_equal(ak_cores_within(8, "-1 100000"), 8);
    assert_int_equal(ak_cores_within(8, ""), 8);
    assert_int_equal(ak_cores_within(8, "200000"), 8);
    assert_int_equal(ak_cores_within(8, "0 0"), 8);
    assert_int_equal(ak_cores_within(8, "nan nan"), 8);
    assert_int_equal(ak_cores_within(8, "200000 100000"), 2);
    assert_int_equal(ak_cores_within(8, "250000 100000"), 3);
    assert_int_equal(ak_cores_within(8, "1000 100000"), 1);
    assert_int_equal(ak_cores_within(8, "9e300 1"), 8);
}

static int call(void *context)
{
    const char *text = getenv("AK_T");
    if (text == NULL || fcntl(*(int *)context, F_GETFD) != -1 ||
        write(STDOUT_FILENO, text, strlen(text)) < 0) {
        return 1;
    }
    *(int *)context = -1; /* of its own copy */
    return 3;
}

static int call_without_end(void *context)
{
    for (;;) {
        (void)pause();
    }
    return context != NULL;
}

static void test_calls_in_a_copy(void **state)
{
    (void)state;
    ak_error err = AK_ERROR_INIT;
    ak_proc_result result;
    static const char *const name[] = {"a copy", NULL};
    static const char *const variables[] = {"AK_T=value", NULL};
    int open_here = open("/dev/null", O_RDONLY);
    const int number = open_here;
    ak_proc_spec spec = {.argv = name, .setenv = variables, .call = call, .context = &open_here};
    assert_true(number > 2);
    assert_int_equal(ak_proc_run(&result, &spec, &err), AK_OK);
    assert_int_equal(result.exit_code, 3);
    assert_string_equal(result.output, "value");
    assert_int_equal(open_here, number);
    assert_null(getenv("AK_T"));
    ak_proc_result_clear(&result);
    spec = (ak_proc_spec){.argv = name, .call = call_without_end, .timeout_ns = AK_MS_NS * 50};
    assert_int_equal(ak_proc_run(&result, &spec, &err), AK_OK);
    assert_true(result.timed_out);
    ak_proc_result_clear(&result);
    (void)close(number);
}

static void test_processes(void **state)
{
    (void)state;
    ak_error err = AK_ERROR_INIT;
    ak_proc_result result;
    static const char *const echo[] = {"sh", "-c", "echo $AK_T; echo bad >&2; exit 3", NULL};
    static const char *const variables[] = {"AK_T=value", NULL};
    ak_proc_spec spec = {.argv = echo, .setenv = variables};
    assert_int_equal(ak_proc_run(&result, &spec, &err), AK_OK);
    assert_int_equal(result.exit_code, 3);
    assert_string_equal(result.output, "value\nbad\n");
    ak_proc_result_clear(&result);

    static const char *const killed[] = {"sh", "-c", "kill -SEGV $$", NULL};
    spec = (ak_proc_spec){.argv = killed};
    assert_int_equal(ak_proc_run(&result, &spec, &err), AK_OK);
    assert_int_equal(result.signal, SIGSEGV);
    ak_proc_result_clear(&result);

    /* A child of the child holds the pipe: the time-out must end the whole group. */
    static const char *const hang[] = {"sh", "-c", "sleep 1000 & sleep 1000", NULL};
    spec = (ak_proc_spec){.argv = hang, .timeout_ns = AK_MS_NS * 50};
    assert_int_equal(ak_proc_run(&result, &spec, &err), AK_OK);
    assert_true(result.timed_out);
    ak_proc_result_clear(&result);

    static const char *const flood[] = {"sh", "-c", "yes | head -c 1000000", NULL};
    spec = (ak_proc_spec){.argv = flood, .output_max = 1000};
    assert_int_equal(ak_proc_run(&result, &spec, &err), AK_OK);
    assert_true(result.cut);
    assert_int_equal(result.output_length, 1000);
    ak_proc_result_clear(&result);

    static const char *const none[] = {"no-such-program-at-all", NULL};
    spec = (ak_proc_spec){.argv = none};
    assert_int_equal(ak_proc_run(&result, &spec, &err), AK_NOT_FOUND);

    static const char *const cat[] = {"sh", "-c", "cat <&3 >&4", NULL};
    spec = (ak_proc_spec){.argv = cat};
    ak_proc proc;
    assert_int_equal(ak_proc_start(&proc, &spec, &err), AK_OK);
    assert_int_equal(write(proc.to, "ping", 4), 4);
    char reply[8] = {0};
    ssize_t got = -1;
    while (got < 0) {
        got = read(proc.from, reply, sizeof reply);
    }
    assert_string_equal(reply, "ping");
    char how[64];
    assert_false(ak_proc_ended(how, sizeof how, &proc));
    ak_proc_kill(&proc);
    assert_true(ak_proc_ended(how, sizeof how, &proc));
}

static void test_rng_and_hash_are_fixed(void **state)
{
    (void)state;
    /* First outputs of xoshiro256** seeded by splitmix64(0), computed from the authors' definition;
     * they must never change, or recorded seeds would mean something else. */
    ak_rng rng;
    ak_rng_seed(&rng, 0);
    assert_true(ak_rng_next(&rng) == UINT64_C(0x99ec5f36cb75f2b4));
    assert_true(ak_rng_next(&rng) == UINT64_C(0xbf6e1f784956452a));
    size_t seen[5] = {0};
    for (int i = 0; i < 5000; i++) {
        seen[ak_rng_below(&rng, 5)]++;
        double x = ak_rng_real(&rng);
        assert_true(x >= 0 && x < 1);
    }
    for (int i = 0; i < 5; i++) {
        assert_in_range(seen[i], 850, 1150);
    }
    char a[AK_HASH_BYTES], b[AK_HASH_BYTES];
    ak_hasher *h = ak_hasher_new();
    ak_hasher_add_text(h, "ab");
    ak_hasher_add_text(h, "c");
    ak_hasher_end(a, h);
    h = ak_hasher_new();
    ak_hasher_add_text(h, "a");
    ak_hasher_add_text(h, "bc");
    ak_hasher_end(b, h);
    assert_string_not_equal(a, b);
    ak_hash_text(a, "", 0);
    assert_string_equal(a, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_false(ak_hash_is_quick(a));
    ak_hash_quick(a, "", 0);
    assert_true(ak_hash_is_quick(a));
    assert_string_equal(a, "99aa06d3014798d86001c324468d497f"); /* XXH3's published empty hash */
}

/* Two words in one lane of XXH3, the low half of each of which equals that of its key: only their
   sum counts. */
static void test_other_contents_have_another_hash(void **state)
{
    (void)state;
    enum { BYTES = 2048, AT_A = 3 * 64 + 16, AT_B = 9 * 64 + 16 };
    const uint64_t by = UINT64_C(2) << 32;
    const uint64_t a = UINT64_C(0x407dd05a82), b = UINT64_C(0x9046ef1938);
    const uint64_t other_a = a + by, other_b = b - by;
    unsigned char one[BYTES] = {0}, other[BYTES] = {0};
    memcpy(one + AT_A, &a, sizeof a);
    memcpy(one + AT_B, &b, sizeof b);
    memcpy(other + AT_A, &other_a, sizeof a);
    memcpy(other + AT_B, &other_b, sizeof b);
    char first[AK_HASH_BYTES], second[AK_HASH_BYTES];
    ak_hash_quick(first, one, BYTES);
    ak_hash_quick(second, other, BYTES);
    assert_string_equal(first, second);
    ak_hash_text(first, one, BYTES);
    ak_hash_text(second, other, BYTES);
    assert_string_not_equal(first, second);
}

static void test_assets_are_sorted_and_found(void **state)
{
    (void)state;
    for (size_t i = 1; i < ak_asset_count; i++) {
        assert_true(strcmp(ak_assets[i - 1].path, ak_assets[i].path) < 0);
    }
    const ak_asset *asset = ak_asset_find("kernels/matmul/problem.json");
    assert_non_null(asset);
    assert_int_equal(strlen(asset->data), asset->length);
    assert_null(ak_asset_find("kernels/none"));
}

/* A file that would be too large when unpacked is refused as too large, not as damaged. */
static void test_packs_have_a_limit(void **state)
{
    (void)state;
    ak_error err = AK_ERROR_INIT;
    ak_pack pack = {0}, back = {0};
    ak_buf out = AK_BUF(1u << 20);
    static char zeros[100000];
    assert_int_equal(ak_pack_add(&pack, "zeros", zeros, sizeof zeros, &err), AK_OK);
    assert_int_equal(ak_pack_squeeze(&out, &pack, &err), AK_OK);
    assert_int_equal(ak_pack_unsqueeze(&back, out.data, out.length, 1u << 20, "here", &err), AK_OK);
    ak_pack_clear(&back);
    assert_int_equal(ak_pack_unsqueeze(&back, out.data, out.length, 8192, "here", &err), AK_LIMIT);
    assert_non_null(strstr(err.text, "larger than 8 KiB"));
    out.data[out.length / 2] ^= 0x55;
    assert_int_equal(ak_pack_unsqueeze(&back, out.data, out.length, 1u << 20, "here", &err),
                     AK_CORRUPT);
    ak_buf_free(&out);
    ak_pack_clear(&pack);
}

/* Control characters are replaced, except the sequences for styles, which the program itself
   uses. */
static void test_terminals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *tamed;
    } cases[] = {
        {"a\tb\n", "a\tb\n"},
        {"\033[1mbold\033[0m", " [1mbold [0m"},
        {"\033[2Ja\007\177", " [2Ja  "},
        {"\033]0;title\007", " ]0;title "},
        {"\033[1", " [1"},
        {"x\xc2\x9b"
         "31m",
         "x  31m"},
        {"\x9bq", " q"},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xc2", "\xc2"},
        {"", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "%s", cases[i].text);
        ak_plain_screen(text);
        assert_string_equal(text, cases[i].tamed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_terminals),
        cmocka_unit_test(test_alloc_fails_where_told),
        cmocka_unit_test(test_arena_refuses_a_size_that_overflows),
        cmocka_unit_test(test_arena_is_zeroed_and_reusable),
        cmocka_unit_test(test_a_library_that_cannot_be_loaded),
        cmocka_unit_test(test_buf_stops_at_its_maximum),
        cmocka_unit_test(test_map_and_set),
        cmocka_unit_test(test_errors_are_one_clean_line),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_names_are_found_in_tables),
        cmocka_unit_test(test_json_is_whole_or_nothing),
        cmocka_unit_test(test_memory_is_there_or_a_failure),
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_sizes_in_words),
        cmocka_unit_test(test_plain_texts),
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_json_refuses_what_is_hostile),
        cmocka_unit_test(test_json_says_what_people_usually_mean),
        cmocka_unit_test(test_json_is_written_as_it_was_read),
        cmocka_unit_test(test_json_getters_say_where),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_folders_of_the_killed_are_removed),
        cmocka_unit_test(test_a_deep_tree_is_removed),
        cmocka_unit_test(test_cores),
        cmocka_unit_test(test_calls_in_a_copy),
        cmocka_unit_test(test_processes),
        cmocka_unit_test(test_rng_and_hash_are_fixed),
        cmocka_unit_test(test_other_contents_have_another_hash),
        cmocka_unit_test(test_assets_are_sorted_and_found),
        cmocka_unit_test(test_packs_have_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
