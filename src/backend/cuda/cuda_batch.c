/*
 * cuda_batch.c: times one batch.
 *
 *     arguments copied from set 0 to the others
 *     event | runs, as a graph | event
 *
 * The host queues all this at once, so that the device need not wait for the host between the
 * events. A single run is no graph. For candidates at the task's own shape launch/contents.c fills
 * the sets instead, if there is memory for its spare places.
 */
#include "backend/cuda/cuda_device.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/clock.h"

/* The largest number of runs in one graph, before split_runs rounds it up: large enough that the
   launch of a further graph costs next to nothing, and small enough that a graph is made
   quickly. */
#define GRAPH_RUNS_MAX 256
/* A batch of a single run is sampled if the run takes at least this many ns. */
#define SAMPLED_NS 1e6

static void forget(ak_cuda_graph *graph, const ak_device *device)
{
    if (graph->exec != NULL && !device->lost) {
        (void)device->cuda->graph_exec_destroy(graph->exec);
    }
    *graph = (ak_cuda_graph){0};
}

void ak_cuda_batch_forget(ak_runnable *runnable)
{
    forget(&runnable->graph, runnable->device);
    forget(&runnable->turn, runnable->device);
}

/* Returns whether kernels of a recorded graph may begin before the previous one has ended: a
   programmatic edge leads to each such kernel. Returns UNKNOWN for a single run, without memory,
   and if the driver does not tell edges. As the runs are equal, the number of such edges within
   them is a multiple of `runs`. If they also join consecutive runs, there are `runs - 1` more. */
static ak_overlap overlap_of(const ak_cuda_driver *cuda, void *graph, uint32_t runs)
{
    ak_overlap overlap = AK_OVERLAP_UNKNOWN;
    size_t count = 0, early = 0;
    if (runs < 2 || cuda->graph_edges == NULL ||
        cuda->graph_edges(graph, NULL, NULL, NULL, &count) != 0) {
        return overlap;
    }
    AK_FREED void **nodes = ak_alloc(2 * count + 1, sizeof *nodes);
    AK_FREED ak_cuda_edge *edges = ak_alloc(count + 1, sizeof *edges);
    if (nodes != NULL && edges != NULL &&
        (count == 0 || cuda->graph_edges(graph, nodes, nodes + count, edges, &count) == 0)) {
        for (size_t i = 0; i < count; i++) {
            early += edges[i].type == AK_CUDA_EDGE_PROGRAMMATIC ? 1 : 0;
        }
        overlap = early == 0          ? AK_OVERLAP_NONE
                  : early % runs == 0 ? AK_OVERLAP_WITHIN
                                      : AK_OVERLAP_BETWEEN;
    }
    return overlap;
}

/* Records `runs` runs on the sets 0, 1, ... in turn, as a graph, unless *out has that many already.
   After a failure *out has none. */
static int record(ak_cuda_graph *out, ak_runnable *runnable, uint32_t runs)
{
    ak_device *device = runnable->device;
    const ak_cuda_driver *cuda = device->cuda;
    void *graph = NULL;
    if (out->runs == runs) {
        return AK_CUDA_SUCCESS;
    }
    forget(out, device);
    int code = cuda->capture_begin(device->stream, AK_CUDA_CAPTURE_RELAXED);
    if (code != 0) {
        return code;
    }
    for (uint32_t i = 0; i < runs && code == 0; i++) {
        code = runnable->work->enqueue(runnable, i % runnable->places.sets);
    }
    int ended = cuda->capture_end(device->stream, &graph);
    code = code == 0 ? ended : code;
    code = code == 0 ? cuda->graph_instantiate(&out->exec, graph, 0) : code;
    if (code == 0) {
        runnable->overlap = overlap_of(cuda, graph, runs);
    }
    if (graph != NULL) {
        (void)cuda->graph_destroy(graph);
    }
    code = code == 0 ? cuda->graph_upload(out->exec, device->stream) : code;
    out->runs = code == 0 ? runs : 0;
    return code;
}

/* Splits at least `runs` runs into *parts launches of a graph of *part runs. If there are several
   launches, a graph runs on each set equally often, so that the first run of a launch uses another
   set than the run before it. */
static void split_runs(uint32_t *part, uint32_t *parts, uint32_t runs, uint32_t sets)
{
    assert(runs > 0 && sets > 0);
    *parts = (runs + GRAPH_RUNS_MAX - 1) / GRAPH_RUNS_MAX;
    *part = (runs + *parts - 1) / *parts;
    if (*parts > 1) {
        *part = (*part + sets - 1) / sets * sets;
    }
}

/* Waits for a batch in the stream and samples the clocks about half way through, when the device
   has been working for a while. How long a batch takes is known from the previous batch; the first
   batch and short single runs are not sampled. */
static int wait_and_sample(ak_runnable *runnable, uint32_t runs, int64_t timeout_ns)
{
    ak_device *device = runnable->device;
    int64_t begin = ak_clock_ns();
    double expected = runnable->run_ns * runs;
    if (runs > 1 || expected >= SAMPLED_NS) {
        int64_t half = begin + (int64_t)(expected / 2);
        half = half < begin + timeout_ns ? half : begin + timeout_ns;
        while (ak_clock_ns() < half &&
               device->cuda->stream_query(device->stream) == AK_CUDA_ERROR_NOT_READY) {
            ak_clock_sleep_ns(AK_CUDA_POLL_NS);
        }
        if (expected > 0) {
            ak_cuda_sampler_sample(&device->sampler);
        }
    }
    return ak_cuda_wait(device, timeout_ns);
}

int ak_cuda_time_runs(int64_t *ns, ak_runnable *runnable, uint32_t runs, size_t set,
                      int64_t timeout_ns)
{
    ak_device *device = runnable->device;
    const ak_cuda_driver *cuda = device->cuda;
    float ms = 0;
    uint32_t part = 1, parts = 1;
    split_runs(&part, &parts, runs, (uint32_t)runnable->places.sets);
    /* A batch with one run on each set has its own graph, so that the graph for other batches is
       kept. */
    ak_cuda_graph *graph = runs == runnable->places.sets ? &runnable->turn : &runnable->graph;
    int code = runs > 1 ? record(graph, runnable, part) : AK_CUDA_SUCCESS;
    code = code == 0 ? cuda->event_record(device->events[0], device->stream) : code;
    for (uint32_t i = 0; i < parts && code == 0; i++) {
        code = runs > 1 ? cuda->graph_launch(graph->exec, device->stream)
                        : runnable->work->enqueue(runnable, set);
    }
    code = code == 0 ? cuda->event_record(device->events[1], device->stream) : code;
    code = code == 0 ? wait_and_sample(runnable, runs, timeout_ns) : code;
    code = code == 0 ? cuda->event_elapsed(&ms, device->events[0], device->events[1]) : code;
    *ns = (int64_t)((double)ms * 1e6 * runs / ((double)part * parts));
    *ns = *ns > 0 ? *ns : 1;
    return code;
}

int ak_cuda_time(int64_t *ns, ak_runnable *runnable, uint32_t runs, int64_t timeout_ns)
{
    ak_device *device = runnable->device;
    const ak_cuda_places *places = &runnable->places;
    int code = AK_CUDA_SUCCESS;
    for (size_t set = 1; set < places->sets && set < runs && code == 0; set++) {
        code = device->cuda->copy(device->copies + (set - 1) * places->stride,
                                  device->block + places->first, places->span, device->stream);
    }
    code = code == 0 ? ak_cuda_time_runs(ns, runnable, runs, 0, timeout_ns) : code;
    runnable->run_ns = (double)*ns / runs;
    return code;
}

int ak_cuda_batch(int64_t *ns, ak_runnable *runnable, uint32_t runs, int64_t timeout_ns)
{
    ak_device *device = runnable->device;
    const ak_cuda_places *places = &runnable->places;
    size_t used = runs < places->sets ? runs : places->sets;
    int code = ak_cuda_time(ns, runnable, runs, timeout_ns);
    size_t set = code == 0 && runnable->work->computes ? ak_rng_below(&device->rng, used) : 0;
    return code != 0 || set == 0 ? code
                                 : device->cuda->copy(device->block + places->first,
                                                      device->copies + (set - 1) * places->stride,
                                                      places->span, device->stream);
}
