/* test_line_diff.c: tests which lines are found to differ between two texts. */
#include "archive_fixture.h"

#include "report/versions.h"

/* Compares the changes with `wanted`, a text such as "-2 old;+2 new;". */
static void assert_diff(const char *before, const char *after, const char *wanted)
{
    ak_line_change *list = NULL;
    size_t count = 0;
    char text[400] = "";
    assert_ok(ak_line_diff(&list, &count, before, after, err));
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "%c%zu %.*s;", list[i].kind, list[i].line,
                       (int)list[i].length, list[i].text);
    }
    assert_string_equal(text, wanted);
    ak_free(list);
}

static void test_changes(void **state)
{
    (void)state;
    assert_diff("", "", "");
    assert_diff("a\nb\n", "a\nb\n", "");
    assert_diff("a\nb\nc\n", "a\nx\nc\n", "-2 b;+2 x;");
    assert_diff("a\nc\n", "a\nb\nc\n", "+2 b;");
    assert_diff("a\nb\nc\n", "a\nc\n", "-2 b;");
    assert_diff("", "a\n\nb", "+1 a;+2 ;+3 b;");
    assert_diff("a\nb\n", "", "-1 a;-2 b;");
    assert_diff("a\nb", "a\nb\n", ""); /* the last line break is no line */
    assert_diff("1\na\n2\nb\n3\n", "1\nA\n2\nB\n3\n", "-2 a;+2 A;-4 b;+4 B;");
    assert_diff("x\na\nb\nc\ny\n", "x\nb\nc\na\ny\n", "-2 a;+4 a;");
}

/* If texts are too long to be compared line by line, all lines between their common beginning and
   end count as changed. */
static void test_long(void **state)
{
    (void)state;
    enum { LINES = 3000 };
    ak_buf before = AK_BUF(1 << 20), after = AK_BUF(1 << 20);
    for (int i = 0; i < LINES; i++) {
        ak_buf_print(&before, "%d\n", i);
        ak_buf_print(&after, "%d\n", i + 1);
    }
    ak_line_change *list = NULL;
    size_t count = 0;
    assert_ok(ak_line_diff(&list, &count, before.data, after.data, err));
    assert_int_equal(count, 2 * LINES);
    ak_free(list);
    ak_buf_free(&before);
    ak_buf_free(&after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
