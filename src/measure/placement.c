#include "measure/placement.h"

#include <math.h>
#include <stdio.h>

#include "base/number.h"

#define LINE_BYTES 160

static double ratio(double part, double whole)
{
    return whole > 0 && part > 0 ? part / whole : 0;
}

void ak_place(ak_placement *out, const ak_ceilings *ceilings, double flops, double bytes, double ms,
              bool cache)
{
    ak_roofline roof;
    ak_roofline_of(&roof, ceilings, flops, bytes, ms);
    double bandwidth = ak_roofline_bandwidth(ceilings);
    *out = (ak_placement){.flops = flops,
                          .bytes = bytes,
                          .intensity = ratio(flops, bytes),
                          .peak_tflops = fmax(ceilings->peak_tflops, 0),
                          .bandwidth_gbs = bandwidth,
                          .compute_ms = ratio(flops / 1e9, ceilings->peak_tflops),
                          .memory_ms = ratio(bytes / 1e6, bandwidth),
                          .memory_bound = roof.memory_bound,
                          .cache = cache,
                          .memory_gbs = cache ? 0 : bandwidth,
                          .cache_gbs = fmax(ceilings->cache_gbs, 0),
                          .l1_gbs = fmax(ceilings->l1_gbs, 0),
                          .tflops = roof.tflops,
                          .gbs = roof.gbs,
                          .efficiency = roof.efficiency};
    out->compute_utilisation = ratio(out->tflops, out->peak_tflops);
    out->bandwidth_utilisation = ratio(out->gbs, out->bandwidth_gbs);
}

void ak_place_trial(ak_placement *out, const ak_trial *trial)
{
    bool memory = trial->bound != NULL && trial->bound[0] == 'm';
    *out = (ak_placement){.flops = trial->tflops * trial->median_ms * 1e9,
                          .bytes = trial->gbs * trial->median_ms * 1e6,
                          .intensity = ratio(trial->tflops * 1e3, trial->gbs),
                          .memory_bound = memory,
                          .tflops = trial->tflops,
                          .gbs = trial->gbs,
                          .efficiency = trial->efficiency};
    out->compute_utilisation = memory ? 0 : trial->efficiency;
    out->bandwidth_utilisation = memory ? trial->efficiency : 0;
}

/* ---- the ceilings of a task, by the caches that hold its data ---------------------------------
 */

static void raise_bandwidth(ak_ceilings *ceilings, double gbs)
{
    if (gbs > ceilings->copy_gbs) {
        ceilings->copy_gbs = ceilings->triad_gbs = ceilings->read_gbs = gbs;
    }
}

ak_ceilings ak_task_ceilings(const ak_task *task, const ak_ceilings *device, bool highest)
{
    ak_ceilings ceilings = *device;
    double working_set = 0, threads = (double)ak_task_fact(task, "cpu_threads");
    for (size_t i = 0; i < task->problem->argument_count; i++) {
        working_set += (double)task->shape.bytes[i];
    }
    double private_bytes = (double)ak_task_fact(task, "l2_bytes") * threads;
    double cached_bytes =
        highest ? private_bytes + (double)ak_task_fact(task, "l3_bytes") : private_bytes;
    if (working_set <= cached_bytes) {
        raise_bandwidth(&ceilings, ceilings.cache_gbs);
    }
    if (working_set <=
        (highest ? private_bytes : (double)ak_task_fact(task, "l1d_bytes") * threads)) {
        raise_bandwidth(&ceilings, ceilings.l1_gbs);
    }
    return ceilings;
}

void ak_place_task(ak_placement *out, const ak_task *task, const ak_ceilings *device, double ms)
{
    ak_ceilings ceilings = ak_task_ceilings(task, device, false);
    double memory_gbs = ak_roofline_bandwidth(device);
    bool cache = ak_roofline_bandwidth(&ceilings) > memory_gbs;
    ak_place(out, &ceilings, task->shape.flops, task->shape.traffic, ms, cache);
    out->memory_gbs = memory_gbs;
}

/* ---- words ----------------------------------------------------------------------------------- */

static const char *show_bytes(char out[32], double bytes)
{
    static const char *const units[] = {"byte", "kB", "MB", "GB", "TB"};
    size_t unit = 0;
    while (bytes >= 1000 && unit + 1 < AK_COUNT(units)) {
        bytes /= 1000;
        unit++;
    }
    (void)ak_number_print(out, 32, "%.4g %s", bytes, units[unit]);
    return out;
}

/* If a compute-bound result exceeds the measured ceiling by more than this factor, one of the two
   is wrong: clocks do not vary that much. */
#define BEYOND 1.25

const char *ak_efficiency_doubt(double efficiency, bool memory_bound)
{
    return !(efficiency > 1) ? ""
           : memory_bound
               ? "the data stay in a cache, or the device was busy when its ceilings were measured"
           : efficiency > BEYOND
               ? "the device was busy when its ceilings were measured, or the time is wrong"
               : "the device was slower when its ceilings were measured";
}

/* Writes, for example, "88.4 % of what this device can do, bound by compute". */
static void describe_efficiency(char out[LINE_BYTES], const ak_placement *p)
{
    const char *doubt = ak_efficiency_doubt(p->efficiency, p->memory_bound);
    double percent = p->efficiency * 100;
    if (doubt[0] != 0) {
        (void)ak_number_print(out, LINE_BYTES, "%.1f %% of %s, as %s", percent,
                              p->memory_bound ? "the memory's bandwidth"
                                              : "what this device was measured to do",
                              doubt);
    } else {
        (void)ak_number_print(out, LINE_BYTES, "%.1f %% of what this device can do, bound by %s",
                              percent,
                              !p->memory_bound ? "compute"
                              : p->cache       ? "the bandwidth of a cache"
                                               : "memory");
    }
}

static void describe_limits(char out[LINE_BYTES], const ak_placement *p)
{
    char peak[AK_REAL_BYTES], compute[AK_REAL_BYTES], rate[AK_REAL_BYTES], memory[AK_REAL_BYTES];
    (void)snprintf(out, LINE_BYTES, "%s TFLOP/s of arithmetic (%s ms), %s GB/s of %s (%s ms)",
                   ak_number_figure(peak, p->peak_tflops, AK_DIGITS),
                   ak_number_figure(compute, p->compute_ms, AK_DIGITS),
                   ak_number_figure(rate, p->bandwidth_gbs, AK_DIGITS),
                   p->cache ? "cache" : "memory",
                   ak_number_figure(memory, p->memory_ms, AK_DIGITS));
}

void ak_placement_describe(const ak_placement *p, ak_placement_visitor visit, void *context)
{
    char text[LINE_BYTES], bytes[32];
    if (p->efficiency > 0) {
        describe_efficiency(text, p);
        visit(context, "roofline", text);
    }
    if (p->intensity > 0) {
        (void)ak_number_print(text, sizeof text,
                              "%.4g flop/byte (%.4g flop, %s of traffic at least)", p->intensity,
                              p->flops, show_bytes(bytes, p->bytes));
        visit(context, "intensity", text);
    } else if (p->bytes > 0) {
        visit(context, "traffic", show_bytes(bytes, p->bytes));
    }
    if (p->compute_ms > 0 && p->memory_ms > 0) {
        describe_limits(text, p);
        visit(context, "limits", text);
    }
    if (p->compute_utilisation > 0 && p->bandwidth_utilisation > 0) {
        (void)ak_number_print(text, sizeof text,
                              "%.1f %% of the arithmetic, %.1f %% of the bandwidth",
                              p->compute_utilisation * 100, p->bandwidth_utilisation * 100);
        visit(context, "utilisation", text);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

#define MEMBERS(X)                                                                                 \
    X(flops)                                                                                       \
    X(bytes)                                                                                       \
    X(intensity)                                                                                   \
    X(peak_tflops)                                                                                 \
    X(bandwidth_gbs)                                                                               \
    X(memory_gbs)                                                                                  \
    X(cache_gbs)                                                                                   \
    X(l1_gbs)                                                                                      \
    X(compute_ms)                                                                                  \
    X(memory_ms)                                                                                   \
    X(tflops)                                                                                      \
    X(gbs)                                                                                         \
    X(efficiency)                                                                                  \
    X(compute_utilisation)                                                                         \
    X(bandwidth_utilisation)

json_t *ak_placement_json(const ak_placement *p)
{
    json_t *object = json_object();
    bool good = object != NULL &&
                ak_json_set_text(object, "bound", p->memory_bound ? "memory" : "compute") &&
                ak_json_set(object, "cache", json_boolean(p->cache));
#define SET(name) good = good && ak_json_set_real(object, #name, p->name > 0 ? p->name : NAN);
    MEMBERS(SET)
#undef SET
    return ak_json_whole(object, good);
}

void ak_placement_read(ak_placement *out, const json_t *object)
{
    const char *bound = ak_json_text_or_null(object, "bound");
    *out = (ak_placement){.memory_bound = bound != NULL && bound[0] == 'm',
                          .cache = json_is_true(json_object_get(object, "cache"))};
#define GET(name) out->name = ak_json_number_at(object, #name);
    MEMBERS(GET)
#undef GET
}
