/* test_mcp_link.c: tests that a message which was taken from a client lives as long as the thread
   that reads cancellations may look into it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/mcp_link.h"
#include "cli/task_args.h"

volatile int ak_interrupted; /* interrupts.c is not in the library */

static void say(int fd, const char *line)
{
    assert_int_equal(write(fd, line, strlen(line)), strlen(line));
}

/* Reads one line of the link's output. */
static void hear(char *out, size_t bytes, int fd)
{
    size_t at = 0;
    do {
        assert_true(at + 1 < bytes);
        assert_int_equal(read(fd, out + at, 1), 1);
    } while (out[at++] != '\n');
    out[at] = 0;
}

static void cancellations_may_come_at_any_time(void **state)
{
    int in[2], out[2], own_out = dup(STDOUT_FILENO);
    char line[200];
    ak_error err = AK_ERROR_INIT;
    ak_mcp_link *link;
    (void)state;
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    assert_int_equal(dup2(in[0], STDIN_FILENO), STDIN_FILENO);
    assert_int_equal(dup2(out[1], STDOUT_FILENO), STDOUT_FILENO);
    assert_int_equal(ak_mcp_link_open(&link, &err), AK_OK);
    say(in[1], "{\"jsonrpc\": \"2.0\", \"id\": \"work\", \"method\": \"tools/list\"}\n");
    json_t *first = json_incref((json_t *)(uintptr_t)ak_mcp_link_take(link));
    /* This is where the server has answered. The reply to the ping says that the reader has
       compared the cancellation with the message. */
    say(in[1], "{\"jsonrpc\": \"2.0\", \"method\": \"notifications/cancelled\", "
               "\"params\": {\"requestId\": \"work\"}}\n"
               "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"}\n"
               "{\"jsonrpc\": \"2.0\", \"id\": 2, \"method\": \"tools/list\"}\n");
    hear(line, sizeof line, out[0]);
    assert_int_equal(ak_mcp_link_stopped(link), AK_MCP_CANCELLED);
    assert_int_equal(first->refcount, 2); /* the link still has it */
    const json_t *second = ak_mcp_link_take(link);
    assert_int_equal(json_integer_value(json_object_get(second, "id")), 2);
    assert_int_equal(first->refcount, 1); /* the link has let it go */
    json_decref(first);
    assert_int_equal(close(in[1]), 0);
    assert_null(ak_mcp_link_take(link));
    ak_mcp_link_close(link);
    assert_int_equal(dup2(own_out, STDOUT_FILENO), STDOUT_FILENO);
    (void)close(own_out);
    (void)close(in[0]);
    (void)close(out[0]);
    (void)close(out[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cancellations_may_come_at_any_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
