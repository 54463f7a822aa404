/* lists.c: implements ak_list and ak_doctor, which say what this build and this machine offer. */
#include <math.h>

#include "backend/script.h"
#include "formats/format.h"
#include "llm/llm.h"
#include "strategy/strategy.h"
#include "tuner/warning.h"

/* Lists what only a worker knows, such as devices and libraries: the tuner itself loads no driver
   or library. */
static ak_status list_probed(const char *key, const char *name_key, const char *text_key,
                             ak_list_visitor visit, void *context, ak_error *err)
{
    json_auto_t *probe = NULL;
    AK_DO(ak_pool_probe(&probe, false, err));
    AK_EACH(entry, json_object_get(probe, key)) {
        const char *name = ak_json_text_or_null(entry, name_key);
        const char *text = ak_json_text_or_null(entry, text_key);
        const char *note = ak_json_text_or_null(entry, "note");
        bool absent = json_is_false(json_object_get(entry, "installed"));
        if (name != NULL) {
            visit(context, name, absent && note != NULL ? note : text == NULL ? "" : text);
        }
    }
    return AK_OK;
}

static ak_status list_hypers(ak_list_visitor visit, void *context, ak_error *err)
{
    for (size_t i = 0; ak_strategies[i] != NULL; i++) {
        const ak_strategy_ops *ops = ak_strategies[i];
        for (size_t h = 0; h < ak_strategy_hyper_count(ops); h++) {
            AK_FREED char *text = NULL;
            char name[AK_STRATEGY_TEXT_MAX];
            AK_DO(ak_strategy_hyper_text(&text, &ops->hypers[h], err));
            (void)snprintf(name, sizeof name, "%s:%s", ops->name, ops->hypers[h].name);
            visit(context, name, text);
        }
    }
    return AK_OK;
}

ak_status ak_list(ak_list_kind kind, ak_list_visitor visit, void *context, ak_error *err)
{
    switch (kind) {
    case AK_LIST_KERNELS:
        return ak_problem_each_builtin(visit, context, err);
    case AK_LIST_BACKENDS:
        for (size_t i = 0; ak_backends[i] != NULL; i++) {
            visit(context, ak_backends[i]->name, ak_backends[i]->description);
        }
        return AK_OK;
    case AK_LIST_STRATEGIES:
        for (size_t i = 0; ak_strategies[i] != NULL; i++) {
            visit(context, ak_strategies[i]->name, ak_strategies[i]->description);
        }
        return AK_OK;
    case AK_LIST_HYPERPARAMETERS:
        return list_hypers(visit, context, err);
    case AK_LIST_FORMATS:
        return ak_formats_each(visit, context, err);
    case AK_LIST_DEVICES:
        return list_probed("devices", "device", "description", visit, context, err);
    case AK_LIST_BASELINES:
        return list_probed("libraries", "name", "version", visit, context, err);
    case AK_LIST_PROVIDERS:
        ak_llm_each_provider(visit, context);
        return AK_OK;
    }
    return ak_fail(err, AK_INVALID, "unknown list");
}

/* Adds the highest pressure (measure/pressure.h) before, while and after the ceilings were
   measured, and a warning if it was so high that the ceilings may be too low. */
static ak_status add_pressure(json_t *findings, double beside, double during, ak_error *err)
{
    AK_AT_END(ak_warnings_free) ak_warnings list = {0};
    const double most = fmax(beside, during);
    AK_DO(ak_warn_probe(&list, beside, during, err));
    bool good = ak_json_set(findings, "pressure", most < 0 ? json_null() : json_real(most)) &&
                ak_json_set(findings, "warnings",
                            list.count == 0 ? json_array() : json_pack("[s]", list.texts[0]));
    return ak_stored(good, err);
}

ak_status ak_doctor(char **out_json, ak_error *err)
{
    json_auto_t *probe = NULL, *llm = NULL;
    ak_pressure_mark from, to;
    const double before = ak_pressure_look();
    ak_pressure_take(&from);
    AK_DO(ak_pool_probe(&probe, true, err));
    ak_pressure_take(&to);
    AK_DO(add_pressure(probe, fmax(before, ak_pressure_look()), ak_pressure_between(&from, &to),
                       err));
    llm = ak_llm_doctor();
    bool good = llm != NULL && json_object_update(probe, llm) == 0 &&
                ak_json_set(probe, "python", ak_script_doctor()) &&
                ak_json_set_text(probe, "autokernel", AK_VERSION);
    return good ? ak_json_text(out_json, probe, err) : ak_fail_memory(err);
}
