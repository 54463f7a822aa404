/* test_script.c: tests what follows from a wrong reply of a Python process, whose place a shell
   script takes: what is asked next fails at once, or gets a new process. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "backend/script.h"
#include "backend/triton/triton.h"
#include "base/clock.h"
#include "base/fs.h"

/* The time limit of replies that never come: long enough for a busy machine. */
#define LONG_NS (20 * AK_SECOND_NS)

static char folder[AK_PATH_MAX];

/* Answers like a script; the word of a request chooses how. Asked for its paths, it says where it
   lies, so that the same program runs again. */
static const char fake[] = "#!/bin/sh\n"
                           "if [ \"$1\" = -c ]; then echo \"$0\"; for i in 1 2 3 4 5 6 7; do echo "
                           "/nowhere; done; exit; fi\n"
                           "while read -r line <&3; do\n"
                           "    case $line in\n"
                           "    *nonsense*) echo 'Traceback (most recent call last):' ;;\n"
                           "    *array*) echo '[1]' ;;\n"
                           "    *mistyped*) echo '{\"ok\": 1}' ;;\n"
                           "    *silent*) echo '{\"ok\": false}' ;;\n"
                           "    *long*) printf '%070000d\\n' 0 ;;\n"
                           "    *end*) exit 3 ;;\n"
                           "    *wrong*) echo '{\"ok\": false, \"error\": \"it is wrong\"}' ;;\n"
                           "    *) echo '{\"ok\": true, \"version\": \"1\", \"status\": "
                           "\"rejected\", \"reason\": \"seen\"}' ;;\n"
                           "    esac >&4\n"
                           "done\n";

static ak_status ask(ak_script *script, const char *word, ak_error *err)
{
    json_t *reply = NULL;
    *err = (ak_error)AK_ERROR_INIT;
    ak_status status = ak_script_ask(&reply, script, json_pack("{s:s}", "op", word), LONG_NS, err);
    json_decref(reply);
    assert_int_equal(status == AK_OK ? AK_OK : err->status, status);
    return status;
}

/* Only a script that reports an error goes on; any other failure ends it, and what is asked then
   fails at once. */
static void test_wrong_replies(void **state)
{
    static const struct {
        const char *word;
        ak_status status;
        const char *says;
    } sample[] = {{"nonsense", AK_CRASHED, "the fake"},       {"array", AK_CRASHED, "the fake"},
                  {"mistyped", AK_CRASHED, "\"ok\""},         {"silent", AK_CRASHED, "\"error\""},
                  {"long", AK_LIMIT, "a reply of more than"}, {"end", AK_CRASHED, "exit code 3"}};
    (void)state;
    for (size_t i = 0; i < sizeof sample / sizeof sample[0]; i++) {
        const ak_script_spec spec = {.asset = "src/backend/cuda/torch_worker.py",
                                     .who = "the fake"};
        ak_script script;
        ak_error err = AK_ERROR_INIT;
        assert_int_equal(ak_script_start(&script, &spec, NULL, &err), AK_OK);
        assert_int_equal(ask(&script, "good", &err), AK_OK);
        assert_int_equal(ask(&script, "wrong", &err), AK_INVALID);
        assert_string_equal(err.text, "it is wrong");
        assert_int_equal(ask(&script, "good", &err), AK_OK);
        assert_int_equal(ask(&script, sample[i].word, &err), sample[i].status);
        if (strstr(err.text, sample[i].says) == NULL) {
            fail_msg("%s: %s", sample[i].word, err.text);
        }
        assert_int_equal(ask(&script, "good", &err), AK_CRASHED);
        assert_string_equal(err.text, "the fake has ended");
        ak_script_end(&script);
    }
}

/* A wrong reply costs one configuration of Triton; the next one gets a new process. */
static void test_triton(void **state)
{
    static const struct {
        const char *option;
        ak_trial_status status;
    } sample[] = {{"-Dnonsense=1", AK_TRIAL_COMPILE_ERROR},
                  {"-Dgood=1", AK_TRIAL_REJECTED},
                  {"-Dlong=1", AK_TRIAL_COMPILE_ERROR},
                  {"-Dgood=1", AK_TRIAL_REJECTED}};
    char source[AK_PATH_MAX], artifact[AK_PATH_MAX];
    (void)state;
    assert_int_equal(ak_fs_join(source, folder, "kernel.py", NULL), AK_OK);
    assert_int_equal(ak_fs_join(artifact, folder, "artifact.cubin", NULL), AK_OK);
    assert_int_equal(ak_fs_write(source, "", 0, NULL), AK_OK);
    for (size_t i = 0; i < sizeof sample / sizeof sample[0]; i++) {
        const char *const argv[] = {sample[i].option};
        const ak_compile_job job = {.source_path = source,
                                    .compiler = AK_TRITON,
                                    .argv = argv,
                                    .argc = 1,
                                    .folder = folder,
                                    .artifact = artifact,
                                    .timeout_ns = LONG_NS};
        ak_compile_result result = {0};
        ak_error err = AK_ERROR_INIT;
        if (ak_triton_compile(&result, &job, &err) != AK_OK) {
            fail_msg("%zu: %s", i, err.text);
        }
        assert_int_equal(result.status, sample[i].status);
        assert_true(result.status != AK_TRIAL_REJECTED || strcmp(result.reason, "seen") == 0);
        ak_compile_result_clear(&result);
    }
}

int main(void)
{
    char python[AK_PATH_MAX];
    (void)signal(SIGPIPE, SIG_IGN); /* as in every program of ours */
    if (ak_fs_temp(folder, NULL) != AK_OK || ak_fs_join(python, folder, "python", NULL) != AK_OK ||
        ak_fs_write(python, fake, sizeof fake - 1, NULL) != AK_OK || chmod(python, 0700) != 0 ||
        setenv("AUTOKERNEL_PYTHON", python, 1) != 0) {
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_wrong_replies),
                                       cmocka_unit_test(test_triton)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ak_fs_remove(folder);
    return failed;
}
