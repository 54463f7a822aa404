/*
 * search_rate.c: measures the trials an hour of a search, on one device or on several.
 *
 *     cmake --build build/release --target search_rate
 *     XDG_CACHE_HOME=/tmp/cold build/release/search_rate cuda:0 4096 400 1 /tmp/a.db
 *     XDG_CACHE_HOME=/tmp/cold2 build/release/search_rate cuda:all 4096 400 1 /tmp/a.db
 *
 * Arguments: device, size, trials, seed, archive, kernel (matmul), implementation (cuda_sm90),
 * dtype (bf16). It tries random configurations that depend only on the seed and not on devices or
 * on the order of results, so that two runs can be compared. With the same cache folder, the second
 * run compiles nothing. The rate counts from the beginning of the search; `steady` counts from a
 * tenth to nine tenths of the trials. `busy` is the share of that time for which a device loaded,
 * checked or measured.
 */
#include <stdlib.h>
#include <string.h>

#include "autokernel/autokernel.h"
#include "base/alloc.h"
#include "base/json.h"
#include "base/rng.h"
#include "problem/task.h"

#define TRIALS_MAX  10000
#define DEVICES_MAX 16
#define TEXT_BYTES  4096

typedef struct tally {
    size_t wanted, count, ok;
    double begin, *ends; /* seconds; `ends` has one for each trial, in the order of results */
    double *busy;        /* seconds for which each trial occupied its device */
    size_t *device;      /* device of each trial; DEVICES_MAX: none */
    double compiling;    /* seconds of all compilations */
    char devices[DEVICES_MAX][64];
    volatile int cancel;
} tally;

static void stop(const ak_error *err)
{
    (void)fprintf(stderr, "search_rate: %s\n", err->text);
    exit(1);
}

static size_t device_of(tally *t, const char *name)
{
    size_t i = 0;
    while (name != NULL && i < DEVICES_MAX && t->devices[i][0] != 0 &&
           strcmp(t->devices[i], name) != 0) {
        i++;
    }
    if (name == NULL || i == DEVICES_MAX) {
        return DEVICES_MAX;
    }
    (void)snprintf(t->devices[i], sizeof t->devices[i], "%s", name);
    return i;
}

/* Records trials, and ends the run after the search, because the finish has no influence on the
   rate. */
static void listen(void *context, const char *event, const char *json)
{
    tally *t = context;
    json_t *object = NULL;
    ak_error err = AK_ERROR_INIT;
    if (ak_json_parse(&object, json, strlen(json), "event", &err) != AK_OK) {
        stop(&err);
    }
    const char *name = json_string_value(json_object_get(object, "name"));
    double now = ak_json_number_at(object, "t");
    if (strcmp(event, "phase") == 0 && name != NULL && strcmp(name, "search") == 0) {
        t->begin = now;
    } else if (strcmp(event, "trial") == 0 && t->count < t->wanted) {
        const char *status = json_string_value(json_object_get(object, "status"));
        t->ok += status != NULL && strcmp(status, "ok") == 0 ? 1 : 0;
        t->device[t->count] =
            device_of(t, json_string_value(json_object_get(object, "measured_on")));
        t->busy[t->count] =
            (ak_json_number_at(object, "check_ns") + ak_json_number_at(object, "measure_ns") +
             ak_json_number_at(object, "overhead_ns")) /
            1e9;
        t->compiling += ak_json_number_at(object, "compile_ns") / 1e9;
        t->ends[t->count++] = now;
        t->cancel = t->count == t->wanted;
    }
    json_decref(object);
}

static char **draw(const ak_task *task, size_t count, uint64_t seed)
{
    ak_rng rng;
    char **texts = ak_alloc(count, sizeof *texts);
    ak_rng_seed(&rng, seed);
    for (size_t i = 0; texts != NULL && i < count; i++) {
        char text[TEXT_BYTES];
        ak_config config;
        ak_space_sample(&config, task->space, &rng);
        (void)ak_config_format(text, sizeof text, task->space, &config);
        texts[i] = ak_strdup(text);
    }
    return texts;
}

static void show(const tally *t, const char *device)
{
    const size_t first = t->count / 10, last = t->count - 1 - t->count / 10;
    const double all = t->ends[t->count - 1] - t->begin;
    const double steady = t->ends[last] - t->ends[first];
    printf("%-10s %zu trials (%zu ok) in %.2f s: %.0f an hour, steady %.0f; first after %.2f s; "
           "compiling %.3f s each;",
           device, t->count, t->ok, all, 3600.0 * (double)t->count / all,
           3600.0 * (double)(last - first) / steady, t->ends[0] - t->begin,
           t->compiling / (double)t->count);
    for (size_t d = 0; d < DEVICES_MAX && t->devices[d][0] != 0; d++) {
        double busy = 0;
        size_t n = 0;
        for (size_t i = 0; i < t->count; i++) {
            n += t->device[i] == d ? 1 : 0;
            busy += t->device[i] == d && i > first && i <= last ? t->busy[i] : 0;
        }
        printf(" %s %zu trials, busy %.0f %%;", t->devices[d], n, 100 * busy / steady);
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    if (argc < 6) {
        (void)fprintf(stderr, "usage: search_rate DEVICE SIZE TRIALS SEED ARCHIVE [KERNEL IMPL "
                              "DTYPE]\n");
        return 2;
    }
    const size_t wanted = (size_t)strtoul(argv[3], NULL, 10);
    const ak_task_spec spec = {.device = argv[1],
                               .size = argv[2],
                               .seed = strtoul(argv[4], NULL, 10),
                               .kernel = argc > 6 ? argv[6] : "matmul",
                               .implementation = argc > 7 ? argv[7] : "cuda_sm90",
                               .dtype = argc > 8 ? argv[8] : "bf16",
                               .libraries = "none"};
    tally t = {.wanted = wanted};
    ak_task *task = NULL;
    ak_archive *archive = NULL;
    ak_tune_result result = {0};
    ak_error err = AK_ERROR_INIT;
    if (wanted < 10 || wanted > TRIALS_MAX) {
        (void)ak_fail(&err, AK_INVALID, "trials must be from 10 to %d", TRIALS_MAX);
        stop(&err);
    }
    if (ak_task_open(&task, &spec, &err) != AK_OK ||
        ak_archive_open(&archive, argv[5], &err) != AK_OK) {
        stop(&err);
    }
    char **configs = draw(task, wanted, spec.seed);
    t.ends = ak_alloc(wanted, sizeof *t.ends);
    t.busy = ak_alloc(wanted, sizeof *t.busy);
    t.device = ak_alloc(wanted, sizeof *t.device);
    if (configs == NULL || t.ends == NULL || t.busy == NULL || t.device == NULL) {
        (void)ak_fail_memory(&err);
        stop(&err);
    }
    /* This strategy never ends by itself. It replaces configurations that were drawn twice by
       others. */
    const ak_tune_options options = {.strategy = "exhaustive",
                                     .evaluations = wanted,
                                     .first = (const char *const *)configs,
                                     .first_count = wanted,
                                     .sink = listen,
                                     .sink_context = &t,
                                     .cancel = &t.cancel};
    if (ak_tune(&result, task, archive, &options, &err) != AK_OK) {
        stop(&err);
    }
    show(&t, argv[1]);
    for (size_t i = 0; i < wanted; i++) {
        ak_free(configs[i]);
    }
    ak_free(configs);
    ak_free(t.ends);
    ak_free(t.busy);
    ak_free(t.device);
    ak_tune_result_clear(&result);
    ak_archive_close(archive);
    ak_task_close(task);
    return 0;
}
