/* facts.c: describes, before anything is compiled, what is known of a task and of a
   configuration. */

#include "base/value_json.h"
#include "llm/brief.h"
#include "problem/task_options.h"

static bool add_facts(json_t *object, const char *key, const ak_fact *facts, size_t count)
{
    json_t *list = json_object();
    bool good = list != NULL;
    for (size_t i = 0; i < count && good; i++) {
        good = ak_json_set_text(list, facts[i].name, facts[i].text);
    }
    return ak_json_set(object, key, ak_json_whole(list, good));
}

/* Adds the compiler, its options, the threads and the workspace. A recording has none of them. */
static ak_status add_compiled(json_t *object, const ak_task *task, const ak_config *config,
                              ak_error *err)
{
    AK_AT_END(ak_options_clear) ak_options options = {0};
    size_t workspace = 0;
    int threads = 0;
    AK_DO(ak_task_options(&options, task, config, err));
    AK_DO(ak_task_workspace(&workspace, &threads, task, &task->shape, config, err));
    bool good = ak_json_set_text(object, "compiler", options.compiler) &&
                ak_json_set(object, "options",
                            ak_json_texts((const char *const *)options.argv, options.count)) &&
                ak_json_set(object, "threads", json_integer(threads)) &&
                ak_json_set_count(object, "workspace_bytes", workspace);
    return ak_stored(good, err);
}

static ak_status add_config(json_t *object, const ak_brief *brief, const ak_task *task,
                            const ak_config *config, ak_error *err)
{
    uint64_t index = 0;
    json_t *derived = json_object();
    char *text = NULL, shown[200];
    bool good = derived != NULL && ak_config_text(&text, task->space, config, NULL) == AK_OK;
    for (size_t i = 0; i < brief->derived_count && good; i++) {
        ak_derived_show(shown, sizeof shown, brief, &brief->derived[i], config);
        good = ak_json_set_text(derived, brief->derived[i].name, shown);
    }
    (void)ak_space_find(&index, task->space, config);
    good = good && ak_json_set_text(object, "text", text) &&
           ak_json_set(object, "config", ak_config_json(task->space, config)) &&
           ak_json_set_count(object, "index", index) &&
           json_object_set(object, "derived", derived) == 0;
    json_decref(derived);
    ak_free(text);
    AK_DO(ak_stored(good, err));
    return task->recorded ? AK_OK : add_compiled(object, task, config, err);
}

ak_status ak_task_facts(char **out_json, const ak_task *task, const ak_config *config,
                        ak_error *err)
{
    AK_AT_END(ak_brief_close) ak_brief brief = {0};
    json_auto_t *object = json_object();
    AK_DO(ak_made(object, err));
    AK_DO(ak_brief_open(&brief, task, NULL, err));
    if (config == NULL) {
        AK_DO(ak_stored(add_facts(object, "hardware", brief.hardware, brief.hardware_count) &&
                            add_facts(object, "shape", brief.shape, brief.shape_count),
                        err));
    } else {
        AK_DO(add_config(object, &brief, task, config, err));
    }
    return ak_json_text(out_json, object, err);
}
