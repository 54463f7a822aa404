/* earlier.c: see earlier.h. The archive keeps a run's result as the JSON that was printed of it. */
#include "tuner/earlier.h"

#include <string.h>

#include "archive/archive.h"
#include "archive/config_text.h"
#include "base/alloc.h"
#include "tuner/session.h"

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* A run that was held to a part of the space (--fix) knows that part. */
static bool same_part(const json_t *options, const ak_task *task)
{
    const char *fix = text_of(options, "fix");
    return fix == NULL || task->fix == NULL ? fix == task->fix : strcmp(fix, task->fix) == 0;
}

static bool had_no_more(const json_t *result)
{
    const char *why = text_of(result, "stopped_by");
    return why != NULL && (strcmp(why, "exhausted") == 0 || strcmp(why, "converged") == 0);
}

/* The text of a configuration of the result, if it is still one of the space; else NULL. */
static ak_status take_config(char **out, const json_t *of, const ak_task *task, ak_error *err)
{
    ak_config config;
    const char *text = text_of(of, "config");
    *out = NULL;
    if (text == NULL || ak_config_parse(&config, task->space, text, NULL) != AK_OK) {
        return AK_OK;
    }
    *out = ak_strdup(text);
    return *out == NULL ? ak_fail_memory(err) : AK_OK;
}

static ak_status take_contestants(ak_tune_result *out, const json_t *list, const ak_task *task,
                                  ak_error *err)
{
    size_t count = json_array_size(list);
    if (count == 0) {
        return AK_OK;
    }
    out->contestants = ak_alloc(count, sizeof *out->contestants);
    if (out->contestants == NULL) {
        return ak_fail_memory(err);
    }
    out->contestant_count = out->baseline = count;
    ak_status status = AK_OK;
    for (size_t i = 0; i < count && status == AK_OK; i++) {
        status = take_config(&out->contestants[i].config, json_array_get(list, i), task, err);
    }
    return status;
}

static ak_status take(bool *known, ak_tune_result *out, const ak_run *run, json_t *result,
                      const ak_task *task, size_t evaluations, ak_error *err)
{
    size_t tried = (size_t)json_integer_value(json_object_get(result, "evaluated")) +
                   (size_t)json_integer_value(json_object_get(result, "resumed"));
    const json_t *best = json_object_get(result, "best");
    ak_tune_result found = {.resumed = tried, .stopped_by = "resumed"};
    if (!json_is_object(best) || (tried < evaluations && !had_no_more(result))) {
        return AK_OK;
    }
    ak_status status = ak_config_text_in_result(result, err);
    if (status == AK_OK) {
        status = take_config(&found.best.config, best, task, err);
    }
    if (status != AK_OK || found.best.config == NULL) {
        return status;
    }
    found.found = true;
    found.run = ak_strdup(run->id);
    status = found.run == NULL ? ak_fail_memory(err) : AK_OK;
    if (status == AK_OK) {
        status = take_contestants(&found, json_object_get(result, "contestants"), task, err);
    }
    if (status != AK_OK) {
        ak_tune_result_clear(&found);
        return status;
    }
    *known = true;
    *out = found;
    return AK_OK;
}

ak_status ak_earlier_result(bool *known, ak_tune_result *out, const ak_task *task,
                            ak_archive *archive, size_t evaluations, ak_error *err)
{
    char hash[AK_ENVIRONMENT_BYTES], *words = NULL;
    ak_run run = {0};
    json_t *result = NULL, *options = NULL;
    bool there = false;
    *known = false;
    ak_status status = ak_session_environment(hash, &words, task, err);
    ak_free(words);
    if (status == AK_OK) {
        const ak_run like = {.kernel = (char *)(uintptr_t)task->problem->name,
                             .implementation = (char *)(uintptr_t)task->implementation->name,
                             .size = task->size_text,
                             .dtype = (char *)(uintptr_t)ak_dtype_text(task->dtype),
                             .choices = task->choices_text,
                             .environment = hash};
        status = ak_archive_ended_run(&there, &run, archive, &like, err);
    }
    if (status == AK_OK && there) {
        const char *texts[] = {run.result_json, run.options_json == NULL ? "{}" : run.options_json};
        status = ak_json_parse(&result, texts[0], strlen(texts[0]), "result of a run", err);
        status = status == AK_OK
                     ? ak_json_parse(&options, texts[1], strlen(texts[1]), "options of a run", err)
                     : status;
        if (status == AK_OK && same_part(options, task)) {
            status = take(known, out, &run, result, task, evaluations, err);
        }
    }
    json_decref(options);
    json_decref(result);
    ak_run_clear(&run);
    return status;
}
