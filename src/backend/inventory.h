/*
 * inventory.h: finds out which devices a driver has, for backends whose drivers and libraries must
 * not be loaded into this process, because their code may crash or hang. A child asks the driver
 * and writes one line of JSON:
 * {"devices": [{"device": "cuda:0", FACT: number, ...}, ...], ...}.
 */
#ifndef AK_BACKEND_INVENTORY_H
#define AK_BACKEND_INVENTORY_H

#include "space/expr.h"
#include "base/json.h"

#define AK_INVENTORY_ARGUMENTS_MAX 4

/* The inventory of one backend, and how the child that writes it is started. Each backend that uses
   this defines one. */
typedef struct ak_inventory {
    const char *who;                                   /* "CUDA" */
    const char *where;                                 /* "CUDA inventory" */
    const char *arguments[AK_INVENTORY_ARGUMENTS_MAX]; /* of the child, which runs this program */
    /* Writes "NAME=VALUE" for the child's environment, or "". NULL: there is nothing to add. */
    void (*variable)(char *out, size_t bytes);
    const char *missing; /* member of `known` that says why there is no device */
    const char *prefix;  /* "cuda:" */
    json_t *known;       /* the answer; NULL: none yet */
} ak_inventory;

/* Gives the inventory, which is borrowed: it stays until the process ends, because drivers and
   devices do not change while a program runs. Returns AK_UNAVAILABLE if the child crashes or hangs,
   AK_CORRUPT if it writes no such line, and AK_INVALID if the line is no JSON. After any failure
   the next call asks again. */
ak_status ak_inventory_get(const json_t **out, ak_inventory *inventory, ak_error *err);
/* Writes the inventory to the standard output, in the child. Returns false if that fails. */
bool ak_inventory_write(const json_t *inventory);
/* Gives the device of this name, borrowed. Fails as ak_inventory_get does or, if there is no such
   device, as ak_inventory_missing does. */
ak_status ak_inventory_device(const json_t **out, ak_inventory *inventory, const char *device,
                              ak_error *err);
/* Always fails, with a line that says what this machine has, why it has no device, or why that is
   not known. */
ak_status ak_inventory_missing(ak_inventory *inventory, const char *device, ak_error *err);
/* Adds each whole number in a device's entry of the inventory as a fact. */
ak_status ak_inventory_facts(ak_scope *out, ak_inventory *inventory, const char *device,
                             ak_error *err);

#endif
