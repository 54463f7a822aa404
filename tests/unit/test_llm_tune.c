/*
 * test_llm_tune.c: tests a closed loop end to end: the tuner on the host, the real client, and a
 * server that plays the model and knows only the prompt. Times that matter differ by a factor of
 * eight, which load on the machine does not reverse. No time is asserted.
 */
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "archive/archive.h"
#include "base/fs.h"
#include "base/json.h"
#include "llm_server.h"

static const char problem_text[] =
    "{\"schema\": 1, \"name\": \"slow\", \"description\": \"y = 2 x + 1\","
    " \"sizes\": [{\"name\": \"N\", \"default\": 4000}], \"dtypes\": [\"f32\"], \"choices\": [],"
    " \"arguments\": ["
    "{\"name\": \"X\", \"dtype\": \"dtype\", \"shape\": [\"N\"], \"access\": \"in\"},"
    "{\"name\": \"Y\", \"dtype\": \"dtype\", \"shape\": [\"N\"], \"access\": \"out\"}],"
    " \"flops\": \"2*N\", \"bytes\": \"2*N*dtype_bytes\", \"reference\": \"reference.c\","
    " \"tolerance\": {\"f32\": {\"relative\": \"4*eps\"}}, \"awkward\": [{\"N\": 7}]}";

static const char space_text[] =
    "{\"ConfigurationSpace\": {\"TuningParameters\": ["
    "{\"Name\": \"REPEAT\", \"Type\": \"int\", \"Values\": [1, 8, 64, 512, 4096], \"Default\": "
    "4096},"
    "{\"Name\": \"MODE\", \"Type\": \"string\", \"Values\": [\"right\", \"wrong\", \"broken\"]}],"
    "\"Conditions\": []},"
    "\"KernelSpecification\": {\"Language\": \"C\", \"KernelName\": \"ak_kernel\","
    "\"KernelFile\": \"host.c\", \"CompilerOptions\": [\"-std=gnu17\", \"-O1\"]}}";

static const char kernel_text[] = "#if MODE_is_broken\n"
                                  "#error this mode is not implemented\n"
                                  "#endif\n"
                                  "void ak_kernel(const ak_host_call *call)\n"
                                  "{\n"
                                  "    const float *x = call->arg[0];\n"
                                  "    volatile float *y = call->arg[1];\n"
                                  "    for (int r = 0; r < REPEAT; r++) {\n"
                                  "        for (long i = 0; i < call->size[0]; i++) {\n"
                                  "#if MODE_is_wrong\n"
                                  "            y[i] = 2 * x[i];\n"
                                  "#else\n"
                                  "            y[i] = 2 * x[i] + 1;\n"
                                  "#endif\n"
                                  "        }\n"
                                  "    }\n"
                                  "}\n";

static const char reference_text[] = "void ak_reference(const ak_host_call *call)\n"
                                     "{\n"
                                     "    const double *x = call->arg[0];\n"
                                     "    double *y = call->arg[1];\n"
                                     "    for (long i = 0; i < call->size[0]; i++) {\n"
                                     "        y[i] = 2 * x[i] + 1;\n"
                                     "    }\n"
                                     "}\n";

/* ---- the model --------------------------------------------------------------------------------
 */

/* Returns the number after `label` in the part of the text that begins with `from`; -1 if there is
   none. */
static int number_after(const char *text, const char *from, const char *label)
{
    const char *at = strstr(text, from);
    at = at == NULL ? NULL : strstr(at, label);
    return at == NULL ? -1 : atoi(at + strlen(label));
}

/* The model: it proposes an eighth of the work of the best that it sees. It also tries each other
   mode until the prompt shows how that mode fails. */
static json_t *think(const char *prompt)
{
    int best = number_after(prompt, "## Anchors", "A = #");
    int repeat = best < 0 ? 4096 : number_after(prompt, "A = #", "REPEAT=");
    const char *mode = strstr(prompt, "compile_error: ") == NULL  ? "broken"
                       : strstr(prompt, "wrong_result: ") == NULL ? "wrong"
                                                                  : "right";
    json_t *parent = best < 0 ? json_null() : json_integer(best);
    return json_pack("{s:[{s:s,s:f,s:o,s:{s:i,s:s}},{s:s,s:f,s:O,s:{s:i,s:s}}]}", "proposals",
                     "hypothesis", "an eighth of the work", "expected_gain_pct", 30.0, "parent",
                     parent, "changes", "REPEAT", repeat > 1 ? repeat / 8 : 1, "MODE", "right",
                     "hypothesis", "another mode", "expected_gain_pct", 10.0, "parent", parent,
                     "changes", "REPEAT", repeat, "MODE", mode);
}

typedef struct model {
    server server;
    const char *fault; /* a whole HTTP reply that is given instead; NULL: it thinks */
    int input_tokens;  /* that it claims to have read; 0: 1000 */
    bool silent;       /* it says nothing, until the client goes away */
    sem_t heard;       /* posted when a silent one was asked */
} model;

static void answer(int fd, const char *request, const model *m)
{
    const char *body = strstr(request, "\r\n\r\n");
    json_t *question = body == NULL ? NULL : json_loads(body + 4, 0, NULL);
    json_t *messages = json_object_get(question, "messages");
    json_t *last = json_array_get(messages, json_array_size(messages) - 1);
    const char *prompt = json_string_value(json_object_get(last, "content"));
    json_t *thought = think(prompt == NULL ? "" : prompt);
    char *content = json_dumps(thought, JSON_COMPACT);
    int input = m->input_tokens > 0 ? m->input_tokens : 1000;
    json_t *reply =
        json_pack("{s:s,s:s,s:[{s:i,s:{s:s,s:s},s:s}],s:{s:i,s:i,s:i}}", "id", "one", "model",
                  "scripted", "choices", "index", 0, "message", "role", "assistant", "content",
                  content, "finish_reason", "stop", "usage", "prompt_tokens", input,
                  "completion_tokens", 100, "total_tokens", input + 100);
    char *text = json_dumps(reply, JSON_COMPACT);
    char head[200];
    int count =
        snprintf(head, sizeof head,
                 "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n"
                 "Content-Length: %zu\r\n\r\n",
                 strlen(text));
    if (m->fault != NULL) {
        (void)server_send(fd, m->fault, strlen(m->fault), 1u << 16);
    } else if (server_send(fd, head, (size_t)count, 1u << 16)) {
        (void)server_send(fd, text, strlen(text), 1u << 16);
    }
    free(text);
    free(content);
    json_decref(reply);
    json_decref(thought);
    json_decref(question);
}

static void *model_main(void *context)
{
    model *m = context;
    server *s = &m->server;
    while (atomic_load(&s->stop) == 0) {
        int fd = accept(s->fd, NULL, NULL);
        if (fd < 0) {
            break;
        }
        char *text = server_read(fd);
        if (text != NULL && m->silent) {
            char byte;
            (void)sem_post(&m->heard);
            while (recv(fd, &byte, 1, 0) > 0) {
            }
        } else if (text != NULL) {
            answer(fd, text, m);
        }
        if (text != NULL) {
            (void)pthread_mutex_lock(&s->lock);
            if (s->asked < SERVER_REQUESTS_MAX) {
                s->request[s->asked++] = text;
                text = NULL;
            }
            (void)pthread_mutex_unlock(&s->lock);
        }
        ak_free(text);
        (void)shutdown(fd, SHUT_WR);
        (void)close(fd);
    }
    return NULL;
}

/* ---- fixture ----------------------------------------------------------------------------------
 */

typedef struct fixture {
    char folder[AK_PATH_MAX];
    ak_task *task;
    ak_archive *archive;
    char notices[2000];
    bool overspent;           /* a warning has said that the budget is exceeded */
    model *silent;            /* that the end of the search waits for: it was asked; NULL: none */
    char prices[AK_PATH_MAX]; /* a file; "": none */
} fixture;

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[AK_PATH_MAX];
    assert_int_equal(ak_fs_join(path, folder, name, NULL), AK_OK);
    assert_int_equal(ak_fs_write(path, text, strlen(text), NULL), AK_OK);
}

static int set_up(void **state)
{
    char path[AK_PATH_MAX];
    if (!ak_fs_which(path, "gcc") && !ak_fs_which(path, "clang")) {
        return 0; /* each test skips */
    }
    fixture *f = ak_alloc(1, sizeof *f);
    ak_error err = AK_ERROR_INIT;
    char kernel[AK_PATH_MAX];
    assert_int_equal(ak_fs_temp(f->folder, NULL), AK_OK);
    assert_int_equal(ak_fs_join(kernel, f->folder, "slow", NULL), AK_OK);
    assert_int_equal(ak_fs_mkdirs(kernel, NULL), AK_OK);
    write_file(kernel, "problem.json", problem_text);
    write_file(kernel, "host.json", space_text);
    write_file(kernel, "host.c", kernel_text);
    write_file(kernel, "reference.c", reference_text);
    assert_int_equal(ak_fs_join(path, f->folder, "archive.db", NULL), AK_OK);
    ak_task_spec spec = {.kernel = kernel, .device = "host", .seed = 1};
    if (ak_task_open(&f->task, &spec, &err) != AK_OK ||
        ak_archive_open(&f->archive, path, &err) != AK_OK) {
        print_error("%s\n", err.text);
        return -1;
    }
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    if (f != NULL) {
        ak_task_close(f->task);
        ak_archive_close(f->archive);
        ak_fs_remove(f->folder);
        ak_free(f);
    }
    return 0;
}

static void keep_notices(void *context, const char *event, const char *json)
{
    fixture *f = context;
    const bool spent = strstr(json, "the budget of $0.5 is exceeded") != NULL;
    f->overspent = f->overspent || (strcmp(event, "warning") == 0 && spent);
    if (strcmp(event, "warning") == 0 && strstr(json, "\"fell_back\":true") != NULL) {
        size_t used = strlen(f->notices);
        (void)snprintf(f->notices + used, sizeof f->notices - used, "%s\n", json);
    }
    if (f->silent != NULL && strcmp(event, "phase") == 0 && strstr(json, "\"finish\"") != NULL) {
        assert_int_equal(sem_wait(&f->silent->heard), 0);
    }
}

static void tune(ak_tune_result *out, fixture *f, model *m, const char *strategy, int generations,
                 size_t evaluations)
{
    ak_error err = AK_ERROR_INIT;
    assert_true(server_start_as(&m->server, NULL, 0, model_main, m));
    ak_llm_options llm = {.model = "compatible:scripted",
                          .url = m->server.url,
                          .retries = -1,
                          .prices = f->prices[0] == 0 ? NULL : f->prices};
    ak_tune_options options = {.finish_seconds = 0.15,
                               .strategy = strategy,
                               .evaluations = evaluations,
                               .finalists = 1,
                               .sink = keep_notices,
                               .sink_context = f,
                               .llm = &llm,
                               .generations = generations,
                               .batch = 2};
    ak_status status = ak_tune(out, f->task, f->archive, &options, &err);
    if (status != AK_OK) {
        fail_msg("%s", err.text);
    }
}

/* ---- tests ------------------------------------------------------------------------------------
 */

static void test_closed_loop(void **state)
{
    fixture *f = *state;
    model m = {0};
    ak_tune_result result = {0};
    if (f == NULL) {
        skip();
    }
    /* What a busy machine has measured again counts, too: more than 4 generations can use up. */
    tune(&result, f, &m, "llm:fill=0", 4, 60);
    assert_string_equal(result.stopped_by, "generations");
    assert_int_equal(result.llm.calls, 4);
    assert_int_equal(result.llm.failed, 0);
    assert_int_equal(server_asked(&m.server), 4);
    assert_int_equal(result.llm.input_tokens, 4000);
    assert_string_equal(f->notices, "");
    assert_true(result.found);
    /* Which of the right ones is the fastest, a busy machine may see otherwise. */
    assert_non_null(strstr(result.best.config, "MODE=right"));
    assert_int_equal(result.failed[AK_TRIAL_COMPILE_ERROR], 1);
    assert_int_equal(result.failed[AK_TRIAL_WRONG_RESULT], 1);
    /* What failed, and why, reached the model; and what it had promised. */
    const char *second = server_request(&m.server, 1), *third = server_request(&m.server, 2);
    assert_non_null(strstr(second, "this mode is not implemented"));
    assert_non_null(strstr(second, "an eighth of the work"));
    /* What came of it follows; the default, its parent, may be measured later than it. */
    assert_non_null(strstr(second, "expected +30 %, "));
    assert_non_null(strstr(third, "- 1 wrong_result: it ran, but its results were wrong"));
    assert_non_null(strstr(third, "times what is allowed"));
    /* What the search measured again is kept with its latest time. */
    assert_true(result.again_count > 0 && !result.best_again);
    for (size_t i = 0; i < result.again_count; i++) {
        assert_true(result.again[i].config != NULL && result.again[i].median_ms > 0);
    }
    /* Each generation built on the one before: the archive says who proposed what, and what became
       of it. */
    static const char *const first_of[] = {"REPEAT=512,MODE=right", "REPEAT=64,MODE=right",
                                           "REPEAT=8,MODE=right", "REPEAT=1,MODE=right"};
    char *text = NULL;
    assert_int_equal(ak_llm_conversation(&text, f->archive, NULL, NULL), AK_OK);
    json_t *conversation = json_loads(text, 0, NULL), *call;
    ak_text_free(text);
    size_t g;
    json_array_foreach(json_object_get(conversation, "calls"), g, call) {
        json_t *first = json_array_get(json_object_get(call, "proposals"), 0);
        json_t *outcome = json_object_get(first, "outcome");
        assert_in_range(g, 0, 3);
        assert_string_equal(json_string_value(json_object_get(first, "config")), first_of[g]);
        assert_string_equal(json_string_value(json_object_get(outcome, "status")), "ok");
        assert_non_null(json_string_value(json_object_get(call, "reply")));
    }
    assert_int_equal(g, 4);
    json_decref(conversation);
    ak_tune_result_clear(&result);
    server_stop(&m.server);
}

typedef struct found {
    size_t model, portfolio, hypotheses;
} found;

static bool count_proposers(void *context, const ak_trial *trial)
{
    found *count = context;
    count->model += trial->model != NULL && strcmp(trial->model, "compatible:scripted") == 0;
    count->hypotheses += trial->hypothesis != NULL;
    count->portfolio += strcmp(trial->strategy, "portfolio") == 0;
    return true;
}

/* If the key is refused, this is said once, the run continues with another strategy, and trials
   record that strategy. */
static void test_unauthorized(void **state)
{
    fixture *f = *state;
    model m = {.fault = "HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n"
                        "Content-Type: application/json\r\nContent-Length: 51\r\n\r\n"
                        "{\"error\":{\"message\":\"bad key\",\"code\":\"no_key_000\"}}"};
    ak_tune_result result = {0};
    if (f == NULL) {
        skip();
    }
    tune(&result, f, &m, "llm:fill=0", 2, 60);
    assert_true(result.found);
    assert_int_equal(result.llm.failed, 1);
    assert_int_equal(result.llm.uncounted, 1); /* nobody says what the question took */
    assert_non_null(strstr(f->notices, "carrying on with the strategy portfolio"));
    assert_non_null(strstr(f->notices, "401"));
    assert_non_null(strstr(f->notices, "bad key"));
    found count = {0};
    ak_archive_filter filter = {.run = result.run};
    assert_int_equal(ak_archive_each(f->archive, &filter, count_proposers, &count, NULL), AK_OK);
    assert_int_equal(count.model, 0);
    assert_int_equal(count.hypotheses, 0);
    assert_true(count.portfolio >= 5);
    ak_tune_result_clear(&result);
    server_stop(&m.server);
}

/* Sets the prices of the model, in dollars per million tokens. */
static void set_prices(fixture *f)
{
    write_file(f->folder, "prices.json", "{\"compatible:*\": {\"input\": 1, \"output\": 10}}");
    assert_int_equal(ak_fs_join(f->prices, f->folder, "prices.json", NULL), AK_OK);
}

/* If the evaluations end while a reply is pending, the possible cost of that call is counted and
   archived, and a run to which the model contributed nothing says so. */
static void test_given_up(void **state)
{
    fixture *f = *state;
    model m = {.silent = true};
    ak_tune_result result = {0};
    if (f == NULL) {
        skip();
    }
    assert_int_equal(sem_init(&m.heard, 0, 0), 0);
    f->silent = &m;
    set_prices(f);
    tune(&result, f, &m, "hybrid", 1, 12);
    assert_true(result.found);
    assert_int_equal(result.llm.calls, 1);
    assert_int_equal(result.llm.failed, 1);
    assert_true(result.llm.priced);
    assert_true(result.llm.cost_usd > 0);
    assert_non_null(strstr(f->notices, "given up, the run ended before the reply came"));
    bool listed = false; /* in the result, too */
    for (size_t i = 0; i < result.warning_count; i++) {
        listed = listed || strstr(result.warnings[i], "given up, the run ended") != NULL;
    }
    assert_true(listed);
    char *text = NULL;
    assert_int_equal(ak_llm_conversation(&text, f->archive, NULL, NULL), AK_OK);
    json_t *conversation = json_loads(text, 0, NULL);
    json_t *call = json_array_get(json_object_get(conversation, "calls"), 0);
    ak_text_free(text);
    assert_non_null(strstr(json_string_value(json_object_get(call, "error")), "given up"));
    json_decref(conversation);
    ak_tune_result_clear(&result);
    server_stop(&m.server);
    assert_int_equal(sem_destroy(&m.heard), 0);
}

/* All sizes share one budget. If the first size uses it up, nothing is sent for the second. */
static void test_sizes(void **state)
{
    fixture *f = *state;
    model m = {.input_tokens = 1000000};
    ak_sizes_result result = {0};
    ak_error err = AK_ERROR_INIT;
    char kernel[AK_PATH_MAX], *json = NULL;
    static const char *const sizes[] = {"1000", "2000"};
    if (f == NULL) {
        skip();
    }
    set_prices(f);
    assert_int_equal(ak_fs_join(kernel, f->folder, "slow", NULL), AK_OK);
    assert_true(server_start_as(&m.server, NULL, 0, model_main, &m));
    ak_llm_options llm = {.model = "compatible:scripted",
                          .url = m.server.url,
                          .retries = -1,
                          .prices = f->prices,
                          .budget_usd = 0.5};
    ak_task_spec spec = {.kernel = kernel, .device = "host", .seed = 1};
    ak_tune_options options = {.finish_seconds = 0.15,
                               .strategy = "llm-oneshot:fill=0",
                               .evaluations = 6,
                               .finalists = 1,
                               .sink = keep_notices,
                               .sink_context = f,
                               .llm = &llm,
                               .batch = 2};
    const ak_sizes_request request = {.spec = &spec, .sizes = sizes, .size_count = 2, .table = 1};
    if (ak_tune_sizes(&result, &request, f->archive, &options, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(server_asked(&m.server), 1);
    assert_non_null(strstr(f->notices, "raise --llm-budget"));
    assert_true(f->overspent);
    assert_string_equal(result.llm.model, "compatible:scripted");
    assert_int_equal(result.llm.calls, 1); /* what the budget refused was not asked */
    assert_int_equal(result.llm.failed, 0);
    assert_int_equal(result.llm.input_tokens, 1000000);
    assert_true(result.llm.priced);
    assert_true(result.llm.cost_usd > 1 && result.llm.cost_usd < 1.01);
    assert_int_equal(ak_sizes_result_json(&json, &result, &err), AK_OK);
    assert_non_null(strstr(json, "\"llm\":{\"model\":\"compatible:scripted\",\"calls\":1"));
    ak_text_free(json);
    ak_sizes_result_clear(&result);
    server_stop(&m.server);
}

int main(int argc, char **argv)
{
    static char self[AK_PATH_MAX];
    server_clean_environment();
    if (argc > 1 && strcmp(argv[1], "worker") == 0) {
        return ak_worker_main(argc, argv);
    }
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length > 0) {
        self[length] = 0;
        (void)setenv("AUTOKERNEL_WORKER", self, 1);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_closed_loop, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unauthorized, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_given_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sizes, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
