/* run_command.c: writes the command that repeats a run. */
#include "report/report.h"

#include "base/fs.h"
#include "base/shell.h"

static const char *text(const json_t *object, const char *key)
{
    return ak_json_text_or_null(object, key);
}

/* Returns the value of an option that names a file: its path if the archive knows where the file
   lies, else what was given. */
static const char *file(const ak_report_model *model, const char *key)
{
    const char *path = text(model->paths, key);
    return path != NULL ? path : text(model->options, key);
}

static const json_t *list_of_files(const ak_report_model *model, const char *key)
{
    const json_t *paths = json_object_get(model->paths, key);
    return paths != NULL ? paths : json_object_get(model->options, key);
}

static void option(ak_buf *out, const char *flag, const char *value)
{
    if (value == NULL || *value == 0) {
        return;
    }
    ak_buf_print(out, "%s%s", flag, *flag == 0 ? "" : " ");
    ak_shell_quote(out, value);
    ak_buf_putc(out, ' ');
}

static void list_option(ak_buf *out, const char *flag, const json_t *list)
{
    AK_EACH(value, list) {
        option(out, flag, json_string_value(value));
    }
}

static void number_option(ak_buf *out, const char *flag, const json_t *options, const char *key)
{
    const json_t *value = json_object_get(options, key);
    AK_AT_END(ak_buf_free) ak_buf digits = AK_BUF(64);
    if (json_is_integer(value)) {
        ak_buf_print(&digits, "%lld", (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        ak_buf_real(&digits, json_real_value(value));
    }
    /* 0 means the default for all of these but the seed: --seed 0 may override a setting. */
    if (json_number_value(value) > 0 || (json_is_integer(value) && strcmp(key, "seed") == 0)) {
        option(out, flag, digits.data);
    }
}

/* Adds the options on the language model: which one is asked, where and with what limits, or which
   tape answers. */
static void llm_options(ak_buf *out, const ak_report_model *model)
{
    option(out, "--llm", file(model, "llm"));
    option(out, "--llm-url", text(model->paths, "llm_url"));
    option(out, "--llm-prices", text(model->paths, "llm_prices"));
    option(out, "--llm-replay", file(model, "llm_replay"));
    option(out, "--llm-effort", text(model->options, "llm_effort"));
    option(out, "--llm-share", text(model->options, "llm_share"));
    number_option(out, "--llm-budget", model->options, "llm_budget");
    number_option(out, "--llm-timeout", model->options, "llm_timeout");
    number_option(out, "--llm-calls", model->options, "llm_calls");
    number_option(out, "--llm-tokens", model->options, "llm_tokens");
    number_option(out, "--llm-output", model->options, "llm_output");
}

ak_status ak_report_command(ak_report_model *model, ak_error *err)
{
    ak_buf out = AK_BUF(1 << 16);
    const ak_run *run = &model->run;
    const char *typed = text(model->options, "command");
    if (typed != NULL) {
        ak_buf_puts(&out, typed);
    } else {
        ak_buf_puts(&out, "autokernel tune ");
        const char *devices = text(model->options, "device"); /* all devices that shared the
                                                                 trials */
        const char *device = devices == NULL ? run->device : devices;
        const char *recording = file(model, "recording");
        const char *kernel = text(model->paths, "kernel"); /* NULL: a built-in one, or not known */
        char place[AK_PATH_MAX + 8];
        (void)snprintf(place, sizeof place, "sim:%s", ak_or_empty(recording));
        /* A recording that is opened without its kernel has the kernel's name as its
           implementation, unless the recording names one. */
        bool alone = recording != NULL && run->kernel != NULL && run->implementation != NULL &&
                     strcmp(run->kernel, run->implementation) == 0;
        option(&out, "", alone ? recording : kernel != NULL ? kernel : run->kernel);
        option(&out, "--impl", alone ? NULL : run->implementation);
        option(&out, "--device", alone ? "sim" : recording != NULL ? place : device);
        const char *sizes = text(model->options, "sizes");
        option(&out, sizes == NULL ? "--size" : "--sizes", sizes == NULL ? run->size : sizes);
        number_option(&out, "--dispatch", model->options, "dispatch");
        option(&out, "--dtype", run->dtype);
        option(&out, "--set", run->choices);
        option(&out, "--fix", text(model->options, "fix"));
        /* Files of other programs do not say how they searched. */
        bool imported = run->strategy != NULL && strcmp(run->strategy, "import") == 0;
        const char *asked = text(model->options, "strategy"); /* with its hyper-parameters */
        option(&out, "--strategy", imported ? NULL : asked != NULL ? asked : run->strategy);
        number_option(&out, "--evals", model->options, "evaluations");
        number_option(&out, "--time", model->options, "seconds");
        number_option(&out, "--target-speedup", model->options, "target_speedup");
        number_option(&out, "--finish-time", model->options, "finish_seconds");
        if (json_is_true(json_object_get(model->options, "sanitize"))) {
            option(&out, "", "--sanitize");
        }
        list_option(&out, "--config", json_object_get(model->options, "config"));
        list_option(&out, "--like", list_of_files(model, "like"));
        number_option(&out, "--seed", model->options, "seed");
        option(&out, "--libraries", text(model->options, "libraries"));
        option(&out, "--protocol", text(model->options, "protocol"));
        number_option(&out, "--threads", model->options, "threads");
        llm_options(&out, model);
        number_option(&out, "--generations", model->options, "generations");
        number_option(&out, "--batch", model->options, "batch");
        if (json_is_true(json_object_get(model->options, "allow_numerics"))) {
            ak_buf_puts(&out, "--allow-numerics ");
        }
        if (out.length > 0 && out.failed == AK_OK) {
            out.data[--out.length] = 0; /* removes the last blank */
        }
    }
    return ak_buf_take(&model->command, &out, err);
}
