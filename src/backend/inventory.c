/* inventory.c: see inventory.h. */
#include "backend/inventory.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/proc.h"
#include "base/program.h"

/* The first start of a driver loads firmware. */
#define INVENTORY_TIMEOUT_NS (60 * AK_SECOND_NS)
#define INVENTORY_MAX        65536

ak_status ak_inventory_ask(json_t **out, const ak_inventory_child *child, ak_error *err)
{
    char program[AK_PATH_MAX];
    const char *argv[AK_INVENTORY_ARGUMENTS_MAX + 2] = {program};
    const char *const variables[] = {child->variable, NULL};
    const bool has_variable = child->variable != NULL && child->variable[0] != 0;
    ak_proc_result run = {0};
    ak_status status = AK_OK;
    AK_DO(ak_program_find(program, err));
    for (size_t i = 0; i < AK_INVENTORY_ARGUMENTS_MAX && child->arguments[i] != NULL; i++) {
        argv[i + 1] = child->arguments[i];
    }
    ak_proc_spec spec = {.argv = argv,
                         .setenv = has_variable ? variables : NULL,
                         .timeout_ns = INVENTORY_TIMEOUT_NS,
                         .output_max = INVENTORY_MAX};
    AK_TRY(ak_proc_run(&run, &spec, err));
    if (run.exit_code != 0) {
        AK_TRY(ak_fail(err, AK_UNAVAILABLE, "the %s libraries %s when they are loaded: %.200s",
                       child->who, run.timed_out ? "hang" : "crash", run.output));
    }
    /* A driver may write before or after our line. */
    const char *line = strstr(run.output, "{\"");
    const char *end = line == NULL ? NULL : strrchr(line, '}');
    AK_TRY(end == NULL ? ak_fail(err, AK_CORRUPT, "%s: no answer", child->where)
                       : ak_json_parse(out, line, (size_t)(end + 1 - line), child->where, err));
out:
    ak_proc_result_clear(&run);
    return status;
}

bool ak_inventory_write(const json_t *inventory)
{
    char *text = NULL;
    bool good = ak_json_text(&text, inventory, NULL) == AK_OK &&
                ak_fs_write_all(STDOUT_FILENO, text, strlen(text));
    ak_free(text);
    return good;
}

const json_t *ak_inventory_device(const json_t *inventory, const char *device)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(inventory, "devices"), i, one)
    {
        if (strcmp(ak_json_text_at(one, "device"), device) == 0) {
            return one;
        }
    }
    return NULL;
}

ak_status ak_inventory_facts(ak_scope *out, const json_t *device, ak_error *err)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)device, key, value)
    {
        if (json_is_integer(value)) {
            AK_DO(ak_scope_set_int(out, key, json_integer_value(value), err));
        }
    }
    return AK_OK;
}
