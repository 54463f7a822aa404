/* brief_launch.c: computes from a launch's data (docs/formats.md, "Launch") how a configuration
   fills a GPU: blocks, how many of them a multiprocessor can hold, waves and occupancy. Only the
   last launch of an implementation counts, because earlier ones prepare its operands. */
#include <math.h>

#include "llm/brief.h"

#define RESIDENT     "resident_clusters"
#define UNLIMITED    ((int64_t)1 << 30) /* resident clusters if the device held all blocks */
#define BLOCKS_SM    32   /* most resident blocks of any multiprocessor, if the fact is unknown */
#define SHARED_OWN   1024 /* bytes of shared memory that CUDA adds to each block */
#define REGISTER_SET 256  /* a warp gets registers in multiples of this */

/* Returns the value of an expression or the product of a list of expressions; 1 if `json` is NULL.
   Clears *good if an expression has no value. */
static double value_of(bool *good, const json_t *json, const ak_scope *scope)
{
    double product = 1;
    size_t count = json_is_array(json) ? json_array_size(json) : json != NULL;
    for (size_t i = 0; i < count && *good; i++) {
        const json_t *one = json_is_array(json) ? json_array_get(json, i) : json;
        int64_t value = json_integer_value(one);
        *good = json_is_integer(one) ||
                (json_is_string(one) &&
                 ak_expr_int(&value, json_string_value(one), scope, "launch", NULL) == AK_OK);
        product *= (double)value;
    }
    return product;
}

static double fact_of(const ak_scope *scope, const char *name)
{
    ak_value value;
    bool known = ak_scope_get(&value, scope, name) && value.type == AK_VALUE_INT;
    return known ? (double)value.as.integer : 0;
}

/* Computes threads and shared memory of a block, and into how many blocks the work divides, as if
   the device held all of them; persistent kernels launch fewer. Returns false if an expression has
   no value, or if there is no thread or no block. */
static bool read_launch(ak_filling *out, const json_t *launch, ak_scope *scope)
{
    bool good = ak_scope_set_int(scope, RESIDENT, UNLIMITED, NULL) == AK_OK;
    AK_EACH(let, json_object_get(launch, "Let")) {
        const char *name = ak_json_text_or_null(let, "Name");
        double value = value_of(&good, json_object_get(let, "Value"), scope);
        good = good && name != NULL && ak_scope_set_int(scope, name, (int64_t)value, NULL) == AK_OK;
    }
    out->threads = value_of(&good, json_object_get(launch, "Block"), scope);
    out->shared_bytes = json_object_get(launch, "SharedMemory") == NULL
                            ? 0
                            : value_of(&good, json_object_get(launch, "SharedMemory"), scope);
    out->blocks = value_of(&good, json_object_get(launch, "Grid"), scope);
    return good && out->threads > 0 && out->blocks > 0;
}

static void limit(ak_filling *out, double blocks, const char *by)
{
    if (blocks < out->resident) {
        out->resident = blocks;
        out->limit = by;
    }
}

bool ak_brief_filling(ak_filling *out, const ak_brief *brief, const ak_config *config,
                      int registers)
{
    const json_t *launch =
        json_object_get(json_object_get(brief->definition, "KernelSpecification"), "Launch");
    launch = json_is_array(launch) ? json_array_get(launch, json_array_size(launch) - 1) : launch;
    AK_AT_END(ak_scope_free_at)
    ak_scope *scope = launch == NULL ? NULL : ak_scope_new(brief->constants);
    double sms = scope == NULL ? 0 : fact_of(scope, "sm_count");
    double blocks = scope == NULL ? 0 : fact_of(scope, "blocks_sm");
    *out =
        (ak_filling){.resident = blocks > 0 ? blocks : BLOCKS_SM, .limit = "the number of blocks"};
    bool good = sms > 0 && ak_config_scope(scope, brief->space, config, NULL) == AK_OK &&
                read_launch(out, launch, scope);
    double threads = good ? fact_of(scope, "threads_sm") : 0;
    double shared = good ? fact_of(scope, "shared_bytes_sm") : 0;
    double file = good ? fact_of(scope, "registers_sm") : 0;
    good = threads > 0 && shared > 0 && file > 0;
    if (good) {
        double warps = ceil(out->threads / 32);
        limit(out, floor(threads / (warps * 32)), "threads");
        limit(out, floor(shared / (out->shared_bytes + SHARED_OWN)), "shared memory");
        if (registers > 0) {
            double set = ceil(registers * 32.0 / REGISTER_SET) * REGISTER_SET;
            limit(out, floor(file / (warps * set)), "registers");
        }
        out->occupancy = out->resident * warps * 32 / threads;
        out->waves = out->resident > 0 ? out->blocks / (out->resident * sms) : 0;
        out->at_once = out->resident * sms;
    }
    out->over = good && out->resident < 1 ? out->limit : NULL;
    return good && out->resident > 0;
}
