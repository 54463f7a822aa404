/* place_task.c: finds the ceilings that apply to a task by the caches that hold its data; see
   placement.h. */
#include "measure/placement.h"

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
