/*
 * test_compile_cache.c: tests that the cache of artifacts returns what was kept, and refuses what
 * was damaged, exchanged, or compiled from a header that has changed since.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "backend/compile_cache.h"
#include "base/alloc.h"

static char folder[AK_PATH_MAX];

static const char *in_folder(const char *name)
{
    static char paths[4][AK_PATH_MAX];
    static int next;
    char *path = paths[next++ % 4];
    assert_int_equal(ak_fs_join(path, folder, name, NULL), AK_OK);
    return path;
}

static void write_text(const char *name, const char *text)
{
    assert_int_equal(ak_fs_write(in_folder(name), text, strlen(text), NULL), AK_OK);
}

static ak_compile_cache place_of(const char *what)
{
    ak_compile_cache place;
    ak_hasher *hasher = ak_hasher_new();
    ak_hasher_add_text(hasher, what);
    ak_compile_cache_find(&place, "test", hasher);
    assert_true(place.usable);
    return place;
}

/* Keeps `text` in the cache as the artifact of source.c and "a head.h". */
static ak_compile_cache keep(const char *what, const char *text)
{
    char rule[3 * AK_PATH_MAX];
    ak_compile_cache place = place_of(what);
    write_text("artifact", text);
    (void)snprintf(rule, sizeof rule, "out.so: %s \\\n %s/a\\ head.h\n", in_folder("source.c"),
                   folder);
    write_text("rule.d", rule);
    ak_compile_cache_keep(&place, in_folder("artifact"), "said\n", in_folder("rule.d"),
                          in_folder("source.c"));
    return place;
}

/* Returns whether the cache has the artifact, which must then be `text`. */
static bool has(const ak_compile_cache *place, const char *text)
{
    char *log = NULL, *data = NULL;
    size_t length = 0;
    if (!ak_compile_cache_take(&log, place, in_folder("taken"))) {
        assert_null(log);
        return false;
    }
    assert_string_equal(log, "said\n");
    assert_int_equal(ak_fs_read(&data, &length, in_folder("taken"), 1000, NULL), AK_OK);
    assert_string_equal(data, text);
    ak_free(log);
    ak_free(data);
    return true;
}

static int make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "%s/autokernel-cache-XXXXXX",
                   getenv("TMPDIR") == NULL ? "/tmp" : getenv("TMPDIR"));
    assert_non_null(mkdtemp(folder));
    assert_int_equal(setenv("XDG_CACHE_HOME", folder, 1), 0);
    write_text("a head.h", "#define A 1\n");
    write_text("source.c", "int a;\n");
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    ak_fs_remove(folder);
    return 0;
}

static void what_was_kept_is_there(void **state)
{
    (void)state;
    ak_compile_cache place = keep("one", "code of one"), other = place_of("other");
    assert_true(has(&place, "code of one"));
    assert_false(has(&other, ""));
    write_text("source.c", "int a; /* its content is part of the hash */\n");
    assert_true(has(&place, "code of one"));
}

static void a_changed_header_makes_it_stale(void **state)
{
    (void)state;
    ak_compile_cache place = keep("one", "code of one");
    write_text("a head.h", "#define A 12\n");
    assert_false(has(&place, ""));
    place = keep("one", "code of one");
    assert_true(has(&place, "code of one"));
    assert_int_equal(unlink(in_folder("a head.h")), 0);
    assert_false(has(&place, ""));
    write_text("a head.h", "#define A 1\n");
}

static void damage_is_noticed(void **state)
{
    (void)state;
    ak_compile_cache one = keep("one", "code of one"), two = keep("two", "code of two");
    assert_int_equal(ak_fs_write(one.artifact, "code of 0ne", 11, NULL), AK_OK);
    assert_false(has(&one, ""));
    one = keep("one", "code of one");
    /* Both files of one in the place of the other. */
    assert_int_equal(rename(one.artifact, two.artifact), 0);
    assert_int_equal(rename(one.log, two.log), 0);
    assert_false(has(&two, ""));
    two = keep("two", "code of two");
    assert_int_equal(truncate(two.log, 40), 0);
    assert_false(has(&two, ""));
    assert_int_equal(truncate(two.log, 0), 0);
    assert_false(has(&two, ""));
}

static void nothing_is_kept_without_what_it_depends_on(void **state)
{
    (void)state;
    ak_compile_cache place = place_of("three");
    write_text("artifact", "code of three");
    ak_compile_cache_keep(&place, in_folder("artifact"), "said\n", in_folder("no such file"),
                          in_folder("source.c"));
    assert_false(has(&place, ""));
    ak_compile_cache_keep(&place, in_folder("artifact"), "said\n", NULL, NULL);
    assert_true(has(&place, "code of three"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_kept_is_there),
        cmocka_unit_test(a_changed_header_makes_it_stale),
        cmocka_unit_test(damage_is_noticed),
        cmocka_unit_test(nothing_is_kept_without_what_it_depends_on),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
