/*
 * test_llm_tape.c: tests that answers are replayed, from a script in order or from a folder by
 * question. A replay gives the same answers and costs each time, refuses a question that was not
 * recorded, and sends nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "archive_fixture.h"
#include "llm/tape.h"
#include "llm_worst_case.h"

static char folder[AK_PATH_MAX];

static int setup(void **state)
{
    (void)state;
    return ak_fs_temp(folder, NULL) == AK_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    ak_fs_remove(folder);
    return 0;
}

static void write_text(char path[AK_PATH_MAX], const char *name, const char *text)
{
    assert_int_equal(ak_fs_join(path, folder, name, NULL), AK_OK);
    assert_int_equal(ak_fs_write(path, text, strlen(text), NULL), AK_OK);
}

static const ak_llm_message question = {AK_LLM_USER, "Propose."};

static ak_llm_chat chat_of(json_t *schema)
{
    return (ak_llm_chat){.system = "You tune kernels.",
                         .messages = &question,
                         .message_count = 1,
                         .schema = schema,
                         .array = "proposals"};
}

static void a_script_answers_in_order(void **state)
{
    (void)state;
    char path[AK_PATH_MAX], spec[AK_PATH_MAX + 8];
    write_text(path, "script.jsonl",
               "{\"text\": {\"proposals\": [{\"a\": 1}, {\"a\": 2}]}, \"usage\": {\"input\": 10, "
               "\"output\": 5}}\n\n{\"text\": \"{\\\"proposals\\\": [{\\\"a\\\": 3}\", \"finish\": "
               "\"length\"}\n");
    (void)snprintf(spec, sizeof spec, "replay:%s", path);
    ak_llm *llm = NULL;
    ak_llm_options options = {.model = spec};
    assert_int_equal(ak_llm_open(&llm, &options, NULL, NULL), AK_OK);
    assert_string_equal(ak_llm_name(llm), "replay");
    json_t *schema = json_object();
    ak_llm_chat chat = chat_of(schema);
    ak_llm_answer answer;
    assert_int_equal(ak_llm_ask(&answer, llm, &chat, NULL), AK_OK);
    assert_int_equal(json_array_size(answer.elements), 2);
    assert_true(answer.replayed && !answer.cut && answer.found == AK_LLM_FOUND_CONTENT);
    assert_int_equal(answer.usage.input, 10);
    ak_llm_answer_clear(&answer);
    ak_llm_call *call = NULL;
    assert_int_equal(ak_llm_start(&call, llm, &chat, NULL), AK_OK);
    assert_true(ak_llm_done(call));
    assert_int_equal(ak_llm_end(&answer, call, NULL), AK_OK);
    assert_int_equal(json_array_size(answer.elements), 1);
    assert_true(answer.cut && answer.finish == AK_LLM_FINISH_LENGTH);
    ak_llm_answer_clear(&answer);
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(ak_llm_ask(&answer, llm, &chat, &err), AK_NOT_FOUND);
    assert_int_equal(answer.fault, AK_LLM_FAULT_RECORDING);
    assert_non_null(strstr(err.text, "only 2 answers"));
    ak_llm_answer_clear(&answer);
    ak_llm_close(llm);
    json_decref(schema);
}

/* Writes a question and answer to a tape as a client that records would. */
static void record(const char *model, const ak_llm_chat *chat, const char *text, double cost)
{
    ak_tape *tape = NULL;
    char name[AK_HASH_BYTES + 16];
    ak_llm_answer answer = {.text = (char *)(uintptr_t)text,
                            .usage = {.known = true, .input = 100, .output = 20},
                            .priced = true,
                            .cost_usd = cost,
                            .finish = AK_LLM_FINISH_STOP,
                            .attempts = 2,
                            .elapsed_ns = 1500123457};
    assert_int_equal(ak_tape_open(&tape, folder, true, NULL), AK_OK);
    json_t *asked = ak_tape_question(model, NULL, chat);
    assert_int_equal(ak_tape_name(name, tape, asked, NULL), AK_OK);
    assert_int_equal(ak_tape_write(tape, name, asked, &answer, NULL), AK_OK);
    json_decref(asked);
    ak_tape_close(tape);
}

static void a_folder_answers_what_was_asked(void **state)
{
    (void)state;
    json_t *schema = json_object();
    ak_llm_chat chat = chat_of(schema), other = chat_of(schema);
    other.seed = 1;
    record("openai:gpt-5", &chat, "{\"proposals\": [{\"a\": 1}]}", 0.25);
    char spec[AK_PATH_MAX + 8];
    (void)snprintf(spec, sizeof spec, "replay:%s", folder);
    for (int i = 0; i < 3; i++) { /* the three ways to name it */
        ak_llm *llm = NULL;
        ak_llm_options options = {.model = i == 0   ? spec
                                           : i == 1 ? "openai:gpt-5"
                                                    : NULL,
                                  .replay = i == 0 ? NULL : folder};
        ak_error err = AK_ERROR_INIT;
        ak_llm_answer answer;
        assert_int_equal(ak_llm_open(&llm, &options, NULL, &err), AK_OK);
        assert_string_equal(ak_llm_name(llm), "openai:gpt-5");
        assert_int_equal(ak_llm_ask(&answer, llm, &chat, &err), AK_OK);
        assert_int_equal(json_array_size(answer.elements), 1);
        assert_true(answer.cost_usd == 0.25 && answer.attempts == 2 && answer.priced);
        assert_int_equal(answer.elapsed_ns, 1500123457); /* a replay has the same axis of time */
        ak_llm_answer_clear(&answer);
        /* Asked a second time, or with another seed, it is another question. */
        assert_int_equal(ak_llm_ask(&answer, llm, &chat, &err), AK_NOT_FOUND);
        ak_llm_answer_clear(&answer);
        assert_int_equal(ak_llm_ask(&answer, llm, &other, &err), AK_NOT_FOUND);
        assert_int_equal(answer.fault, AK_LLM_FAULT_RECORDING);
        assert_non_null(strstr(err.text, "not recorded"));
        ak_llm_answer_clear(&answer);
        ak_llm_totals totals;
        ak_llm_total(&totals, llm);
        assert_int_equal(totals.calls, 3);
        assert_int_equal(totals.failed, 2);
        assert_true(totals.cost_usd == 0.25 && totals.priced);
        ak_llm_close(llm);
    }
    json_decref(schema);
}

/* A tape takes answers of one model and effort only, because a replay would not find those of
   another. */
static void a_recording_is_of_one_model_and_effort(void **state)
{
    (void)state;
    static const struct {
        const char *model, *effort, *words;
    } cases[] = {
        {"ollama:qwen3", NULL, NULL},
        {"ollama:gemma3", NULL, "the answers of ollama:qwen3, not of ollama:gemma3"},
        {"ollama:qwen3", "high", "the answers of ollama:qwen3, not of ollama:qwen3 at effort high"},
    };
    json_t *schema = json_object();
    ak_llm_chat chat = chat_of(schema);
    record("ollama:qwen3", &chat, "{}", 0);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        ak_llm *llm = NULL;
        ak_error err = AK_ERROR_INIT;
        ak_llm_options options = {
            .model = cases[c].model, .effort = cases[c].effort, .record = folder};
        ak_status status = ak_llm_open(&llm, &options, NULL, &err);
        assert_int_equal(status, cases[c].words == NULL ? AK_OK : AK_INVALID);
        assert_true(cases[c].words == NULL || strstr(err.text, cases[c].words) != NULL);
        ak_llm_close(llm);
    }
    json_decref(schema);
}

static void damaged_recordings_are_refused(void **state)
{
    (void)state;
    static const char *const scripts[] = {
        "{\"text\": 1",
        "[]",
        "{\"answer\": \"x\"}",
        "{\"text\": \"a\"}\nx\n",
    };
    char path[AK_PATH_MAX];
    ak_tape *tape = NULL;
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        ak_error err = AK_ERROR_INIT;
        write_text(path, "bad.jsonl", scripts[i]);
        assert_int_not_equal(ak_tape_open(&tape, path, false, &err), AK_OK);
        assert_non_null(strstr(err.text, "bad.jsonl:"));
    }
    static const char *const answers[] = {
        "{\"text\": \"a\", \"cost_usd\": -1}", "{\"text\": \"a\", \"finish\": \"soon\"}",
        "{\"text\": \"a\", \"usage\": {\"input\": -4}}", "{\"text\": \"a\", \"attempts\": \"x\"}"};
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        ak_llm_answer answer = {0};
        ak_reply reply;
        ak_error err = AK_ERROR_INIT;
        ak_reply_init(&reply);
        write_text(path, "bad.jsonl", answers[i]);
        assert_int_equal(ak_tape_open(&tape, path, false, NULL), AK_OK);
        assert_int_equal(ak_tape_read(&answer, &reply, tape, "x", NULL, &err), AK_CORRUPT);
        assert_true(err.text[0] != 0);
        ak_reply_free(&reply);
        ak_tape_close(tape);
    }
    assert_int_equal(ak_tape_open(&tape, "/nonexistent/tape", false, NULL), AK_NOT_FOUND);
}

static void a_budget_holds_in_a_replay_too(void **state)
{
    (void)state;
    json_t *schema = json_object();
    ak_llm_chat chat = chat_of(schema);
    ak_llm *llm = NULL;
    ak_error err = AK_ERROR_INIT;
    ak_llm_answer answer;
    record("openai:gpt-5", &chat, "{}", 0.01);
    ak_llm_options options = {.model = "openai:gpt-5", .replay = folder, .budget_usd = 0.05};
    assert_int_equal(ak_llm_open(&llm, &options, NULL, &err), AK_OK);
    const double worst = llm_worst_case(llm, &chat);
    assert_true(worst > 0.0819 &&
                worst < 0.09); /* 8192 output tokens at $10 a million, and input */
    assert_int_equal(ak_llm_ask(&answer, llm, &chat, &err), AK_LIMIT);
    assert_int_equal(answer.fault, AK_LLM_FAULT_BUDGET);
    assert_non_null(strstr(err.text, "--llm-budget"));
    ak_llm_answer_clear(&answer);
    ak_llm_close(llm);
    json_decref(schema);
}

/* Each allocation fails once. Each time there is an error and no leak, and without a failure the
   call succeeds. */
static void no_memory_is_an_error(void **state)
{
    (void)state;
    char path[AK_PATH_MAX], spec[AK_PATH_MAX + 8];
    write_text(
        path, "script.jsonl",
        "{\"text\": \"Well: {'proposals': [{'a': 1}, {'b': 2}]}\", \"reasoning\": \"hm\"}\n");
    (void)snprintf(spec, sizeof spec, "replay:%s", path);
    json_t *schema = json_object();
    ak_llm_chat chat = chat_of(schema);
    bool answered = false;
    for (size_t nth = 1; !answered; nth++) {
        ak_llm *llm = NULL;
        ak_llm_answer answer = {0};
        ak_llm_options options = {.model = spec};
        ak_error err = AK_ERROR_INIT;
        ak_alloc_fail_at(nth);
        ak_status status = ak_llm_open(&llm, &options, NULL, &err);
        if (status == AK_OK) {
            status = ak_llm_ask(&answer, llm, &chat, &err);
            answered = status == AK_OK;
        }
        ak_alloc_fail_at(0);
        assert_true(status == AK_OK || status == AK_NO_MEMORY);
        assert_true(status == AK_OK || strstr(err.text, "memory") != NULL);
        assert_int_equal(json_array_size(answer.elements), answered ? 2 : 0);
        ak_llm_answer_clear(&answer);
        ak_llm_close(llm);
        assert_true(nth < 1000);
    }
    json_decref(schema);
}

/* The same for allocations of Jansson, which may then report a text as invalid. Nothing is freed
   twice. The script has more lines than a new array of Jansson has room for. */
static void no_memory_for_lines_is_an_error(void **state)
{
    (void)state;
    char path[AK_PATH_MAX], spec[AK_PATH_MAX + 8];
    write_text(path, "script.jsonl",
               "{\"text\": 1}\n{\"text\": 2}\n{\"text\": 3}\n{\"text\": 4}\n{\"text\": 5}\n"
               "{\"text\": 6}\n{\"text\": 7}\n{\"text\": 8}\n{\"text\": 9}\n");
    (void)snprintf(spec, sizeof spec, "replay:%s", path);
    const ak_llm_options options = {.model = spec};
    ak_status status = AK_NO_MEMORY;
    fixture_fail_json_too();
    for (size_t nth = 1; status != AK_OK; nth++) {
        ak_llm *llm = NULL;
        ak_alloc_fail_at(nth);
        status = ak_llm_open(&llm, &options, NULL, NULL);
        ak_alloc_fail_at(0);
        ak_llm_close(llm);
        assert_true(nth < 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_script_answers_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(a_folder_answers_what_was_asked, setup, teardown),
        cmocka_unit_test_setup_teardown(a_recording_is_of_one_model_and_effort, setup, teardown),
        cmocka_unit_test_setup_teardown(damaged_recordings_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_budget_holds_in_a_replay_too, setup, teardown),
        cmocka_unit_test_setup_teardown(no_memory_is_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(no_memory_for_lines_is_an_error, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
