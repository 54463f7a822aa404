/* test_llm_file.c: tests the provider whose questions and answers are files: the contents and
   access rights of a prompt, when a reply counts as written, and how a question ends that nobody
   answers. Time is a counter, and the person who answers acts while the client sleeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "llm/llm.h"
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

/* A person who answers. After `after` sleeps of the client, one of `texts` is written at each
   further sleep or, if `apart_ns` is set, each time that much time has passed. */
typedef struct hand {
    int64_t now_ns, apart_ns;
    int sleeps, after;
    const char *name, *texts[4];
    size_t bytes; /* of each text; 0: they end with a 0 */
    volatile int cancel;
    bool cancels;
    int told;
    char line[AK_PATH_MAX];
} hand;

static int64_t hand_now(void *context)
{
    return ((hand *)context)->now_ns;
}

static void hand_sleep(void *context, int64_t ns)
{
    hand *self = context;
    char path[AK_PATH_MAX];
    self->now_ns += ns;
    int at = self->sleeps++ - self->after;
    if (self->apart_ns > 0) { /* as an index of texts, if this sleep reaches its time */
        int64_t before = self->now_ns - ns;
        bool reached = before == 0 || before / self->apart_ns < self->now_ns / self->apart_ns;
        at = reached ? (int)(self->now_ns / self->apart_ns) : -1;
    }
    if (at >= 0 && at < 4 && self->texts[at] != NULL) {
        assert_int_equal(ak_fs_join(path, folder, self->name, NULL), AK_OK);
        assert_int_equal(ak_fs_write(path, self->texts[at],
                                     self->bytes > 0 ? self->bytes : strlen(self->texts[at]), NULL),
                         AK_OK);
    }
    self->cancel = self->cancels;
}

static void hand_told(void *context, const char *text)
{
    hand *self = context;
    self->told++;
    (void)snprintf(self->line, sizeof self->line, "%s", text);
}

static const ak_llm_message messages[] = {{AK_LLM_USER, "The brief."}, {AK_LLM_USER, "The state."}};

static ak_status ask(ak_llm_answer *answer, hand *self, double timeout, ak_error *err)
{
    char spec[AK_PATH_MAX + 8];
    (void)snprintf(spec, sizeof spec, "file:%s/", folder);
    ak_llm *llm = NULL;
    ak_llm_options options = {.model = spec,
                              .timeout_seconds = timeout,
                              .cancel = &self->cancel,
                              .notice = hand_told,
                              .notice_context = self};
    ak_llm_seam seam = {.context = self, .now_ns = hand_now, .sleep_ns = hand_sleep};
    json_t *schema = json_pack("{s:s}", "type", "object");
    ak_llm_chat chat = {.system = "You tune kernels.",
                        .messages = messages,
                        .message_count = 2,
                        .schema = schema,
                        .array = "proposals"};
    assert_int_equal(ak_llm_open(&llm, &options, &seam, NULL), AK_OK);
    assert_true(ak_llm_is_slow(llm));
    ak_status status = ak_llm_ask(answer, llm, &chat, err);
    ak_llm_close(llm);
    json_decref(schema);
    return status;
}

static char *content(const char *name)
{
    char path[AK_PATH_MAX], *text = NULL;
    assert_int_equal(ak_fs_join(path, folder, name, NULL), AK_OK);
    return ak_fs_read(&text, NULL, path, 1u << 20, NULL) == AK_OK ? text : NULL;
}

static void a_prompt_is_a_private_file(void **state)
{
    (void)state;
    char path[AK_PATH_MAX];
    struct stat info;
    ak_llm_answer answer;
    hand self = {.after = 3, .name = "0001.reply.json", .texts = {"{\"proposals\": [{\"a\": 1}]}"}};
    assert_int_equal(ask(&answer, &self, 0, NULL), AK_OK);
    assert_int_equal(json_array_size(answer.elements), 1);
    assert_true(!answer.cut && !answer.priced && answer.attempts == 1);
    assert_int_equal(self.told, 1);
    assert_non_null(strstr(self.line, "/0001.prompt.md; the reply is expected in 0001.reply.json "
                                      "beside it within 30 min (--llm-timeout)"));
    ak_llm_answer_clear(&answer);
    char *prompt = content("0001.prompt.md");
    assert_string_equal(prompt,
                        "<!-- Write the answer to the file 0001.reply.json beside this one. -->\n"
                        "<!-- system -->\n\nYou tune kernels.\n\n<!-- user -->\n\nThe brief.\n\n"
                        "<!-- user -->\n\nThe state.\n\n<!-- schema -->\n\nThe answer is one JSON "
                        "value that matches this JSON schema, and nothing else.\n\n```json\n{\n  "
                        "\"type\": \"object\"\n}\n```\n");
    ak_free(prompt);
    assert_int_equal(ak_fs_join(path, folder, "0001.prompt.md", NULL), AK_OK);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    /* nothing else is left behind */
    AK_AT_END(ak_fs_names_free) ak_fs_names names = {0};
    assert_int_equal(ak_fs_list(&names, folder, NULL), AK_OK);
    assert_int_equal(names.count, 2);
}

/* The folder may have any name; the model is named by what of it can be shown. */
static void a_folder_may_have_any_name(void **state)
{
    (void)state;
    static const char *const names[][2] = {{"ans wers", "file:ans wers"},
                                           {"na\xc3\xafve", "file:na\xc3\xafve"},
                                           {"line\nbreak\xff", "file:line?break?"}};
    char path[AK_PATH_MAX], spec[AK_PATH_MAX + 8], longest[256];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    for (size_t i = 0; i < 4; i++) {
        ak_llm *llm = NULL;
        assert_int_equal(ak_fs_join(path, folder, i < 3 ? names[i][0] : longest, NULL), AK_OK);
        (void)snprintf(spec, sizeof spec, "file:%s", path);
        ak_llm_options options = {.model = spec};
        assert_int_equal(ak_llm_open(&llm, &options, NULL, NULL), AK_OK);
        assert_true(ak_fs_is_folder(path));
        if (i < 3) {
            assert_string_equal(ak_llm_name(llm), names[i][1]);
        }
        ak_llm_close(llm);
    }
}

/* A JSON reply that is written in pieces is taken once it is complete, and a reply in words once it
   has not changed for two seconds. Each question has a number of its own. */
static void a_reply_counts_when_it_is_written(void **state)
{
    (void)state;
    ak_llm_answer answer;
    hand self = {.name = "0001.reply.json",
                 .texts = {"", "{\"proposals\": [", "{\"proposals\": [{\"a\": 1}, {",
                           "{\"model\": \"someone\", \"proposals\": [{\"a\": 1}, {\"a\": 2}]}"}};
    assert_int_equal(ask(&answer, &self, 0, NULL), AK_OK);
    assert_int_equal(json_array_size(answer.elements), 2);
    assert_string_equal(answer.model, "someone");
    ak_llm_answer_clear(&answer);
    self = (hand){.name = "0002.reply.json",
                  .texts = {"Here it is:\n```json\n{\"proposals\": [{\"a\": 3}]}\n```\n"}};
    assert_int_equal(ask(&answer, &self, 0, NULL), AK_OK);
    assert_int_equal(json_array_size(answer.elements), 1);
    assert_true(self.now_ns >= INT64_C(2000000000) && self.now_ns < INT64_C(2500000000));
    ak_llm_answer_clear(&answer);
}

/* An edit that keeps the length counts as an edit: the reply is taken two seconds after it. */
static void an_edit_of_equal_length_is_seen(void **state)
{
    (void)state;
    ak_llm_answer answer;
    hand self = {
        .name = "0001.reply.json",
        .apart_ns = INT64_C(1800000000),
        .texts = {"words {\"proposals\": [{\"a\": 3}]}", "words {\"proposals\": [{\"a\": 4}]}"}};
    assert_int_equal(ask(&answer, &self, 0, NULL), AK_OK);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(answer.elements, 0), "a")),
                     4);
    assert_true(self.now_ns >= INT64_C(3800000000));
    ak_llm_answer_clear(&answer);
}

/* A question without an answer ends at the time limit and is marked as expired. Its number is not
   used again, so that a late answer is not taken for that of another question. */
static void a_question_expires(void **state)
{
    (void)state;
    ak_llm_answer answer;
    ak_error err = AK_ERROR_INIT;
    hand self = {.after = 1000000};
    assert_int_equal(ask(&answer, &self, 0, &err), AK_TIMED_OUT);
    assert_int_equal(answer.fault, AK_LLM_FAULT_TIMEOUT);
    assert_int_equal(answer.attempts, 1);
    assert_true(self.now_ns >= INT64_C(1800000000000) && self.now_ns < INT64_C(1801000000000));
    assert_non_null(
        strstr(err.text, "0001.reply.json was not written in time; raise --llm-timeout"));
    assert_null(strstr(err.text, "proxy"));
    ak_llm_answer_clear(&answer);
    self = (hand){.after = 1000000};
    assert_int_equal(ask(&answer, &self, 5, &err), AK_TIMED_OUT);
    assert_true(self.now_ns >= INT64_C(5000000000) && self.now_ns < INT64_C(5200000000));
    ak_llm_answer_clear(&answer);
    self = (hand){.after = 1000000, .cancels = true};
    assert_int_equal(ask(&answer, &self, 5, &err), AK_CANCELLED);
    ak_llm_answer_clear(&answer);
    static const char *const expired[] = {"0001.expired.md", "0002.expired.md", "0003.expired.md"};
    for (size_t i = 0; i < 3; i++) {
        char *text = content(expired[i]);
        assert_non_null(text);
        ak_free(text);
    }
    assert_null(content("0001.prompt.md"));
    self = (hand){.name = "0004.reply.json", .texts = {"{\"proposals\": []}"}};
    assert_int_equal(ask(&answer, &self, 5, NULL), AK_OK);
    ak_llm_answer_clear(&answer);
}

/* The error says whether the reply's file is missing, empty or unfinished at the time limit. */
static void a_reply_may_be_empty_or_unfinished(void **state)
{
    (void)state;
    ak_llm_answer answer;
    ak_error err = AK_ERROR_INIT;
    hand self = {.name = "0001.reply.json", .texts = {""}};
    assert_int_equal(ask(&answer, &self, 5, &err), AK_TIMED_OUT);
    assert_non_null(strstr(err.text, "0001.reply.json was still empty when the time was up"));
    ak_llm_answer_clear(&answer);
    self = (hand){.name = "0002.reply.json", .after = 80, .texts = {"{\"proposals\": ["}};
    assert_int_equal(ask(&answer, &self, 5, &err), AK_TIMED_OUT);
    assert_non_null(strstr(err.text, "0002.reply.json was still being written"));
    ak_llm_answer_clear(&answer);
}

/* A mistyped path is an error and leaves no folders behind. */
static void only_the_last_folder_is_made(void **state)
{
    (void)state;
    char spec[AK_PATH_MAX + 32], path[AK_PATH_MAX];
    ak_error err = AK_ERROR_INIT;
    ak_llm *llm = NULL;
    ak_llm_options options = {.model = spec};
    (void)snprintf(spec, sizeof spec, "file:%s/nowhere/box/", folder);
    assert_int_equal(ak_llm_open(&llm, &options, NULL, &err), AK_NOT_FOUND);
    assert_non_null(strstr(err.text, "/nowhere/ does not exist; create it, or correct the path"));
    assert_int_equal(ak_fs_join(path, folder, "nowhere", NULL), AK_OK);
    assert_false(ak_fs_is_folder(path));
    (void)snprintf(spec, sizeof spec, "file:%s/box/", folder);
    assert_int_equal(ak_llm_open(&llm, &options, NULL, &err), AK_OK);
    ak_llm_close(llm);
    assert_int_equal(ak_fs_join(path, folder, "box", NULL), AK_OK);
    assert_true(ak_fs_is_folder(path));
}

static void a_reply_is_bounded(void **state)
{
    (void)state;
    char path[AK_PATH_MAX];
    ak_llm_answer answer;
    ak_error err = AK_ERROR_INIT;
    size_t bytes = AK_LLM_REPLY_BYTES_MAX + 1;
    char *text = ak_alloc(bytes + 1, 1);
    memset(text, ' ', bytes);
    /* A file with the number of the next question is somebody's: the question takes another. */
    assert_int_equal(ak_fs_join(path, folder, "0007.reply.json", NULL), AK_OK);
    assert_int_equal(ak_fs_write(path, "{}", 2, NULL), AK_OK);
    hand self = {.name = "0008.reply.json", .texts = {text}};
    assert_int_equal(ask(&answer, &self, 0, &err), AK_UNAVAILABLE);
    assert_non_null(strstr(err.text, "larger than 16 MiB"));
    ak_llm_answer_clear(&answer);
    ak_free(text);
}

/* As a file in UTF-16 has them. */
static void a_reply_has_no_0_byte(void **state)
{
    (void)state;
    ak_llm_answer answer;
    ak_error err = AK_ERROR_INIT;
    hand self = {.name = "0001.reply.json", .texts = {"{\0}"}, .bytes = 3};
    assert_int_equal(ask(&answer, &self, 0, &err), AK_UNAVAILABLE);
    assert_non_null(strstr(err.text, "has a 0 byte; write it as text in UTF-8"));
    ak_llm_answer_clear(&answer);
}

/* No usage is reported, so each question that was written counts with its worst case. The limits on
   dollars and tokens hold, and the reported costs agree. */
static void a_question_costs_its_worst_case(void **state)
{
    (void)state;
    static const char list[] = "{\"file:*\": {\"input\": 1, \"output\": 2}}";
    char spec[AK_PATH_MAX + 8], prices[AK_PATH_MAX];
    (void)snprintf(spec, sizeof spec, "file:%s/", folder);
    assert_int_equal(ak_fs_join(prices, folder, "prices.json", NULL), AK_OK);
    assert_int_equal(ak_fs_write(prices, list, strlen(list), NULL), AK_OK);
    const ak_llm_chat chat = {.messages = messages, .message_count = 2};
    size_t number = 0;
    for (int by_tokens = 0; by_tokens < 2; by_tokens++) {
        hand self = {.texts = {"{}"}};
        ak_llm *llm = NULL;
        ak_llm_options options = {.model = spec, .prices = prices, .timeout_seconds = 5};
        ak_llm_seam seam = {.context = &self, .now_ns = hand_now, .sleep_ns = hand_sleep};
        ak_llm_answer answer;
        ak_llm_totals totals;
        double spent = 0;
        char name[32];
        options.budget_usd = by_tokens ? 0 : 0.045; /* two questions of $0.0175 and $0.0164 */
        options.tokens = by_tokens ? 2 * 9500 : 0;
        self.name = name;
        assert_int_equal(ak_llm_open(&llm, &options, &seam, NULL), AK_OK);
        const double worst = llm_worst_case(llm, &chat);
        for (int i = 0; i < 2; i++) { /* the second one gets no reply */
            self.sleeps = i == 0 ? 0 : 100;
            (void)snprintf(name, sizeof name, "%04zu.reply.json", ++number);
            assert_int_equal(ak_llm_ask(&answer, llm, &chat, NULL), i == 0 ? AK_OK : AK_TIMED_OUT);
            assert_true(answer.cost_usd > 0.99 * worst && answer.cost_usd < 1.01 * worst);
            spent += answer.cost_usd;
            ak_llm_answer_clear(&answer);
        }
        assert_int_equal(ak_llm_ask(&answer, llm, &chat, NULL), AK_LIMIT);
        assert_int_equal(answer.fault, AK_LLM_FAULT_BUDGET);
        ak_llm_answer_clear(&answer);
        ak_llm_total(&totals, llm);
        assert_true(totals.cost_usd == spent && totals.uncertain_usd == spent);
        assert_false(totals.usage.known);
        ak_llm_close(llm);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_folder_may_have_any_name, setup, teardown),
        cmocka_unit_test_setup_teardown(a_prompt_is_a_private_file, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reply_counts_when_it_is_written, setup, teardown),
        cmocka_unit_test_setup_teardown(an_edit_of_equal_length_is_seen, setup, teardown),
        cmocka_unit_test_setup_teardown(a_question_expires, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reply_may_be_empty_or_unfinished, setup, teardown),
        cmocka_unit_test_setup_teardown(only_the_last_folder_is_made, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reply_is_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reply_has_no_0_byte, setup, teardown),
        cmocka_unit_test_setup_teardown(a_question_costs_its_worst_case, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
