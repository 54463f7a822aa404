/* launch_hash.c: the hash of a plan, by which equal launches are known; see launch.h. */
#include "backend/launch/launch.h"

#define ADD(hasher, value) ak_hasher_add(hasher, &(value), sizeof(value))

static void add_map(ak_hasher *hasher, const ak_launch_map *map)
{
    ADD(hasher, map->argument);
    ADD(hasher, map->used);
    ADD(hasher, map->in_workspace);
    ADD(hasher, map->offset);
    ADD(hasher, map->rank);
    ADD(hasher, map->size);
    ADD(hasher, map->stride);
    ADD(hasher, map->box);
    ADD(hasher, map->swizzle);
    ADD(hasher, map->promotion);
}

static void add_pass(ak_hasher *hasher, const ak_pass *pass)
{
    ADD(hasher, pass->kind);
    ADD(hasher, pass->index);
    ADD(hasher, pass->dtype);
    ADD(hasher, pass->integer);
    ADD(hasher, pass->real);
}

void ak_launch_add(ak_hasher *hasher, const ak_launch_plan *plan)
{
    ADD(hasher, plan->count);
    for (size_t k = 0; k < plan->count; k++) {
        const ak_launch_kernel *kernel = &plan->kernels[k];
        ak_hasher_add_text(hasher, kernel->name);
        ADD(hasher, kernel->grid);
        ADD(hasher, kernel->block);
        ADD(hasher, kernel->cluster);
        ADD(hasher, kernel->shared_bytes);
        ADD(hasher, kernel->early);
        ADD(hasher, kernel->map_count);
        for (size_t i = 0; i < kernel->map_count; i++) {
            add_map(hasher, &kernel->maps[i]);
        }
        ADD(hasher, kernel->pass_count);
        for (size_t i = 0; i < kernel->pass_count; i++) {
            add_pass(hasher, &kernel->passes[i]);
        }
        ak_hasher_add(hasher, kernel->constants,
                      kernel->constant_count * sizeof kernel->constants[0]);
    }
}
