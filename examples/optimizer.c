/* optimizer.c: finds a fast configuration of a kernel and uses the result.
 *
 *     cc optimizer.c $(pkg-config --cflags --libs autokernel)
 *
 * The candidates are compiled and run by child processes: the autokernel executable must be in
 * PATH, beside this program, or named by AUTOKERNEL_WORKER. */
#include <autokernel/autokernel.h>

#include <string.h>

/* Receives every event of the run; this example counts on trials only. */
static void on_event(void *context, const char *event, const char *json)
{
    size_t *trials = context;
    (void)json; /* one object: status, config, ms, ... */
    *trials += strcmp(event, "trial") == 0;
}

int main(void)
{
    ak_error err = AK_ERROR_INIT;
    ak_task *task = NULL;
    ak_archive *archive = NULL;
    ak_tune_result result = {0};
    size_t trials = 0;
    int code = 1;

    /* What to compute: a small matrix product on this CPU. */
    ak_task_spec spec = {.kernel = "matmul", .device = "host", .size = "M=96,N=64,K=48", .seed = 1};
    /* How long to search, and for how many seconds the finish measures each candidate. A field
       that is left out has a default. */
    ak_tune_options options = {.evaluations = 4,
                               .finalists = 1,
                               .finish_seconds = 0.2,
                               .sink = on_event,
                               .sink_context = &trials};

    if (ak_task_open(&task, &spec, &err) != AK_OK ||
        ak_archive_open(&archive, NULL, &err) != AK_OK ||
        ak_tune(&result, task, archive, &options, &err) != AK_OK) {
        fprintf(stderr, "optimizer: %s\n", err.text);
    } else if (!result.found) {
        fprintf(stderr, "optimizer: none of %zu configurations worked\n", result.evaluated);
    } else {
        printf("%zu of %llu valid configurations tried\n", trials,
               (unsigned long long)ak_space_count(ak_task_space(task)));
        printf("best: %.4f ms, %.3f TFLOP/s with %s\n", result.best.median_ms, result.best.tflops,
               result.best.config);
        if (result.baseline < result.candidate_count) {
            const ak_compared *library = &result.candidates[result.baseline];
            const ak_compared *best = &result.candidates[result.tuned];
            if (best->verdict == AK_SPEED_UNDECIDED) { /* the ratio may be an accident */
                printf("not decided against %s %s: %s\n", library->name, library->version,
                       ak_speed_doubt_text(best->doubt));
            } else if (best->verdict == AK_SPEED_TIE) {
                printf("a tie with %s %s\n", library->name, library->version);
            } else {
                printf("%.2f times the speed of %s %s\n", result.speedup, library->name,
                       library->version);
            }
        }
        code = 0;
    }
    ak_tune_result_clear(&result);
    ak_archive_close(archive);
    ak_task_close(task);
    return code;
}
