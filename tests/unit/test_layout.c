/* test_layout.c: tests texts and tables on screens of every width: no line is wider than the
   screen, and nothing is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/layout.h"

static void assert_lines_fit(const char *text, size_t width)
{
    char line[4096];
    while (*text != 0) {
        size_t length = strcspn(text, "\n");
        assert_true(length < sizeof line);
        memcpy(line, text, length);
        line[length] = 0;
        if (ak_layout_width(line) > width) {
            fail_msg("%zu columns instead of %zu: %s", ak_layout_width(line), width, line);
        }
        assert_true(length == 0 || line[length - 1] != ' ');
        text += length + (text[length] == '\n');
    }
}

/* Writes the characters of a text without blanks, to compare a folded text with the original. */
static void squeeze(char *out, const char *text)
{
    for (; *text != 0; text++) {
        if (*text != ' ' && *text != '\n') {
            *out++ = *text;
        }
    }
    *out = 0;
}

static void test_width(void **state)
{
    (void)state;
    assert_int_equal(ak_layout_width(""), 0);
    assert_int_equal(ak_layout_width("abc"), 3);
    assert_int_equal(ak_layout_width("\u00e4\u00f6"), 2);     /* two bytes each */
    assert_int_equal(ak_layout_width("e\u0301"), 1);          /* a combining accent */
    assert_int_equal(ak_layout_width("\u884c\u5217"), 4);     /* East Asian wide */
    assert_int_equal(ak_layout_width("\033[1mab\033[0m"), 2); /* styles take no room */
    assert_int_equal(ak_layout_width("\xff\xfe"), 2);         /* no UTF-8 */
    assert_int_equal(ak_layout_width("\xe8"), 1);             /* cut off */
    assert_int_equal(ak_layout_cut("\u884c\u5217", 3), 3);    /* half a character is none */
}

static void test_fold(void **state)
{
    (void)state;
    assert_int_equal(ak_layout_fold("one two", 20), 7);
    assert_int_equal(ak_layout_fold("one two", 5), 4);
    assert_int_equal(ak_layout_fold("one two", 3), 4); /* the blank needs no room */
    assert_int_equal(ak_layout_fold("A=1,B=2", 5), 4);
    assert_int_equal(ak_layout_fold("abcdef", 4), 4);       /* a word in two */
    assert_int_equal(ak_layout_fold("is 12.3 %", 7), 3);    /* a figure stays with its unit */
    assert_int_equal(ak_layout_fold("in 1 .. 2 ms", 8), 3); /* an interval in one piece */
    assert_int_equal(ak_layout_fold("\u884c", 1), 3);       /* at least one character */
}

static void test_fill_at_every_width(void **state)
{
    (void)state;
    static const char text[] =
        "best 10.14 ms (9.957 .. 10.55), 90.0 % of what \u884c\u5217 can do, "
        "MR=6,KC=256,COMPILER=gcc,PASSES=O3_unscheduled and so on";
    char want[sizeof text], got[2 * sizeof text];
    squeeze(want, text);
    for (size_t width = 12; width < 140; width++) {
        ak_buf out = AK_BUF(1 << 16);
        ak_layout_fill(&out, text, width, 0, 4);
        assert_lines_fit(out.data, width);
        squeeze(got, out.data);
        assert_string_equal(got, want);
        ak_buf_free(&out);
    }
}

static void test_command_can_be_copied(void **state)
{
    (void)state;
    ak_buf out = AK_BUF(1 << 16);
    ak_layout_command(&out, "autokernel tune matmul --size M=48,N=48,K=48 --set 'a b' --evals 3",
                      40, 6, 8);
    assert_lines_fit(out.data, 40);
    assert_string_equal(out.data, "autokernel tune matmul \\\n"
                                  "        --size M=48,N=48,K=48 \\\n"
                                  "        --set 'a b' --evals 3");
    ak_buf_free(&out);
}

static const char *const headers[] = {"name", "ms", "95 % interval", "roofline", "configuration"};
static const char *const cells[] = {
    "OpenBLAS 0.3.21 Cooperlake",
    "0.0006918",
    "0.0006843 .. 0.0007089",
    "63.3 %",
    "",
    "#1 tuned",
    "10.14",
    "9.952 .. 10.22",
    "90.0 %",
    "VL=16,NV=3,MR=8,KC=1024,MC=128,NC=1024,PACK_A=0,PACK_B=1,COMPILER=gcc,PASSES=O3_unroll"};

static ak_layout table_of(size_t width)
{
    return (ak_layout){.headers = headers,
                       .columns = 5,
                       .right = {false, true, false, true},
                       .below = {false, false, false, false, true},
                       .cells = cells,
                       .rows = 2,
                       .width = width};
}

static void test_table_at_every_width(void **state)
{
    (void)state;
    for (size_t width = 16; width < 160; width++) {
        ak_buf out = AK_BUF(1 << 16);
        ak_layout table = table_of(width);
        (void)ak_layout_table(&out, &table);
        assert_lines_fit(out.data, width);
        char got[4096];
        squeeze(got, out.data);
        assert_non_null(strstr(got, "COMPILER=gcc,PASSES=O3_unroll"));
        ak_buf_free(&out);
    }
}

/* Without a limit on the width, as in a pipe, each row is one line, with the configuration in its
   last column. */
static void test_table_without_limit(void **state)
{
    (void)state;
    ak_buf out = AK_BUF(1 << 16);
    ak_layout table = table_of(0);
    (void)ak_layout_table(&out, &table);
    size_t lines = 0;
    for (const char *p = out.data; *p != 0; p++) {
        lines += *p == '\n';
    }
    assert_int_equal(lines, 3);
    assert_non_null(strstr(out.data, "  VL=16,NV=3,MR=8,KC=1024,MC=128,NC=1024,PACK_A=0,PACK_B=1,"
                                     "COMPILER=gcc,PASSES=O3_unroll\n"));
    assert_lines_fit(out.data, 200);
    ak_buf_free(&out);
}

static void test_paragraphs(void **state)
{
    (void)state;
    ak_buf out = AK_BUF(1 << 16);
    ak_layout_paragraphs(&out, "one two\nthree four five\n\nnext\n  example --a b", 14);
    assert_string_equal(out.data, "one two three\nfour five\n\nnext\n  example --a\n    b\n");
    ak_buf_free(&out);
    ak_layout_paragraphs(&out, "see\n  example\nwhich ends\nhere\n\n\nnext", 30);
    assert_string_equal(out.data, "see\n  example\nwhich ends here\n\nnext\n");
    ak_buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_width),
        cmocka_unit_test(test_fold),
        cmocka_unit_test(test_fill_at_every_width),
        cmocka_unit_test(test_command_can_be_copied),
        cmocka_unit_test(test_table_at_every_width),
        cmocka_unit_test(test_table_without_limit),
        cmocka_unit_test(test_paragraphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
