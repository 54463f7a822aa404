#include "backend/inventory.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/proc.h"
#include "base/program.h"

/* This is long because the first start of a driver loads firmware. */
#define INVENTORY_TIMEOUT_NS (60 * AK_SECOND_NS)
#define INVENTORY_MAX        65536

static ak_status ask(ak_inventory *inventory, ak_error *err)
{
    char program[AK_PATH_MAX], variable[AK_PATH_MAX + 32] = "";
    const char *argv[AK_INVENTORY_ARGUMENTS_MAX + 2] = {program};
    const char *const variables[] = {variable, NULL};
    AK_AT_END(ak_proc_result_clear) ak_proc_result run = {0};
    AK_DO(ak_program_find(program, err));
    memcpy(argv + 1, inventory->arguments, sizeof inventory->arguments);
    if (inventory->variable != NULL) {
        inventory->variable(variable, sizeof variable);
    }
    ak_proc_spec spec = {.argv = argv,
                         .setenv = variable[0] != 0 ? variables : NULL,
                         .timeout_ns = INVENTORY_TIMEOUT_NS,
                         .output_max = INVENTORY_MAX};
    AK_DO(ak_proc_run(&run, &spec, err));
    AK_FAIL_IF(run.exit_code != 0, err, AK_UNAVAILABLE,
               "the %s libraries %s when they are loaded: %.200s", inventory->who,
               run.timed_out ? "hang" : "crash", run.output);
    /* A driver may write before or after the child's line. */
    const char *line = strstr(run.output, "{\"");
    const char *end = line == NULL ? NULL : strrchr(line, '}');
    return end == NULL ? ak_fail(err, AK_CORRUPT, "%s: no answer", inventory->where)
                       : ak_json_parse(&inventory->known, line, (size_t)(end + 1 - line),
                                       inventory->where, err);
}

ak_status ak_inventory_get(const json_t **out, ak_inventory *inventory, ak_error *err)
{
    AK_DO(inventory->known == NULL ? ask(inventory, err) : AK_OK);
    *out = inventory->known;
    return AK_OK;
}

bool ak_inventory_write(const json_t *inventory)
{
    AK_FREED char *text = NULL;
    return ak_json_text(&text, inventory, NULL) == AK_OK &&
           ak_fs_write_all(STDOUT_FILENO, text, strlen(text));
}

ak_status ak_inventory_missing(ak_inventory *inventory, const char *device, ak_error *err)
{
    const json_t *all = NULL;
    ak_error why = AK_ERROR_INIT;
    AK_FAIL_IF(ak_inventory_get(&all, inventory, &why) != AK_OK, err, AK_NOT_FOUND,
               "there is no device %.40s: %s", device, why.text);
    const char *missing = ak_json_text_or_null(all, inventory->missing);
    size_t count = json_array_size(json_object_get(all, "devices"));
    AK_FAIL_IF(count == 0, err, AK_NOT_FOUND, "there is no device %.40s: %s", device,
               missing == NULL ? "the driver has none" : missing);
    return ak_fail(err, AK_NOT_FOUND, "there is no device %.40s: this machine has %s%s%s%zu",
                   device, count == 1 ? "only " : inventory->prefix, count == 1 ? "" : "0 to ",
                   inventory->prefix, count - 1);
}

ak_status ak_inventory_device(const json_t **out, ak_inventory *inventory, const char *device,
                              ak_error *err)
{
    const json_t *all = NULL;
    AK_DO(ak_inventory_get(&all, inventory, err));
    AK_EACH(one, json_object_get(all, "devices")) {
        if (ak_json_text_is(one, "device", device)) {
            *out = one;
            return AK_OK;
        }
    }
    return ak_inventory_missing(inventory, device, err);
}

ak_status ak_inventory_facts(ak_scope *out, ak_inventory *inventory, const char *device,
                             ak_error *err)
{
    const json_t *found = NULL;
    AK_DO(ak_inventory_device(&found, inventory, device, err));
    AK_EACH_MEMBER(key, value, found) {
        if (json_is_integer(value)) {
            AK_DO(ak_scope_set_int(out, key, json_integer_value(value), err));
        }
    }
    return AK_OK;
}
