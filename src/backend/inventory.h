/*
 * inventory.h: which devices a driver has, for backends whose drivers and libraries must not be
 * loaded into this process, because their code may crash or hang. A child writes one line of JSON:
 * {"devices": [{"device": "cuda:0", FACT: number, ...}, ...], ...}.
 */
#ifndef AK_BACKEND_INVENTORY_H
#define AK_BACKEND_INVENTORY_H

#include "space/expr.h"
#include "base/json.h"

typedef struct ak_inventory_child {
    const char *who;              /* "CUDA" */
    const char *where;            /* "CUDA inventory" */
    const char *const *arguments; /* of this program; NULL-terminated */
    const char *variable;         /* "NAME=VALUE" for its environment; NULL or "": none */
} ak_inventory_child;

#define AK_INVENTORY_ARGUMENTS_MAX 4

/* Asks the child. Returns AK_UNAVAILABLE if it crashes or hangs. */
ak_status ak_inventory_ask(json_t **out, const ak_inventory_child *child, ak_error *err);
/* Writes the inventory to the standard output, in the child. Returns false if that fails. */
bool ak_inventory_write(const json_t *inventory);
/* Returns the device of this name, borrowed, or NULL. */
const json_t *ak_inventory_device(const json_t *inventory, const char *device);
/* Adds the whole numbers that are known of a device. */
ak_status ak_inventory_facts(ak_scope *out, const json_t *device, ak_error *err);

#endif
