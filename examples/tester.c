/* tester.c: checks and times one configuration that was chosen by hand.
 *
 * A configuration that does not compile, crashes, hangs or computes wrong results is not an
 * error of the program: its trial has a status that says so. */
#include <autokernel/autokernel.h>

static int try_one(ak_tester *tester, const ak_space *space, const char *text)
{
    ak_error err = AK_ERROR_INIT;
    ak_config config;
    ak_trial trial = {0};
    int code = 1;
    /* Parameters that the text leaves out take their default. */
    if (ak_config_parse(&config, space, text, &err) != AK_OK ||
        ak_tester_run(&trial, tester, &config, &err) != AK_OK) {
        fprintf(stderr, "tester: %s\n", err.text);
    } else if (trial.status != AK_TRIAL_OK) {
        fprintf(stderr, "tester: %s: %s\n", ak_trial_status_text(trial.status), trial.reason);
    } else {
        printf("%s\n  %.5f ms (95 %% interval %.5f .. %.5f, %zu samples), %.1f GB/s\n",
               trial.config, trial.median_ms, trial.ci_low_ms, trial.ci_high_ms, trial.sample_count,
               trial.gbs);
        printf("  largest error: %.3f of what is allowed\n", trial.max_error);
        code = 0;
    }
    ak_trial_clear(&trial);
    return code;
}

int main(int argc, char **argv)
{
    ak_error err = AK_ERROR_INIT;
    ak_task *task = NULL;
    ak_tester *tester = NULL;
    int code = 1;
    ak_task_spec spec = {.kernel = "softmax", .device = "host"};
    if (ak_task_open(&task, &spec, &err) != AK_OK || ak_tester_open(&tester, task, &err) != AK_OK) {
        fprintf(stderr, "tester: %s\n", err.text);
    } else {
        const ak_space *space = ak_task_space(task);
        for (size_t i = 0; i < ak_space_parameter_count(space); i++) {
            const ak_parameter *parameter = ak_space_parameter(space, i);
            printf("%-16s %zu values: %s\n", parameter->name, parameter->value_count,
                   parameter->description);
        }
        code = try_one(tester, space, argc > 1 ? argv[1] : "");
    }
    ak_tester_close(tester);
    ak_task_close(task);
    return code;
}
