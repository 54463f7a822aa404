/* compile.c: see compile.h. */
#include "backend/compile.h"

#include <string.h>

#include "base/alloc.h"

#define ARTIFACT_MAX (256u << 20)

void ak_compile_result_clear(ak_compile_result *result)
{
    ak_free(result->reason);
    ak_free(result->log);
    *result = (ak_compile_result){0};
}

/* Control characters, the start of escape sequences among them, and what is not ASCII become '?'.
 */
static void clean(char *text)
{
    for (; *text != 0; text++) {
        unsigned char c = (unsigned char)*text;
        if ((c < 0x20 && c != '\n' && c != '\t') || c >= 0x7f) {
            *text = '?';
        }
    }
}

/* The first line with "error" in it, else the first line. */
static char *first_error(const char *log, const char *who)
{
    const char *best = NULL;
    size_t best_length = 0;
    for (const char *line = log; *line != 0;) {
        size_t length = strcspn(line, "\n");
        bool telling = memmem(line, length, "error", 5) != NULL;
        if (length > 0 && (best == NULL || telling)) {
            best = line;
            best_length = length < 200 ? length : 200;
        }
        if (telling) {
            break;
        }
        line += length + (line[length] == '\n' ? 1 : 0);
    }
    if (best == NULL) {
        char text[80];
        (void)snprintf(text, sizeof text, "%s failed without a message", who);
        return ak_strdup(text);
    }
    return ak_strndup(best, best_length);
}

static bool is_memory(const char *log)
{
    return strstr(log, "out of memory") != NULL || strstr(log, "annot allocate memory") != NULL ||
           strstr(log, "memory exhausted") != NULL || strstr(log, "bad_alloc") != NULL;
}

void ak_compile_judge(ak_compile_result *out, ak_proc_result *run, const ak_compile_job *job,
                      const char *who)
{
    char text[200];
    clean(run->output);
    if (run->timed_out) {
        (void)snprintf(text, sizeof text, "%s took longer than %.3g s", who,
                       (double)job->timeout_ns / 1e9);
        out->status = AK_TRIAL_TIMED_OUT;
        out->reason = ak_strdup(text);
    } else if (is_memory(run->output) && run->exit_code != 0) {
        (void)snprintf(text, sizeof text, "%s needs more than %zu MiB of memory", who,
                       job->memory_max >> 20);
        out->status = AK_TRIAL_OUT_OF_MEMORY;
        out->reason = ak_strdup(text);
    } else if (run->signal != 0) {
        (void)snprintf(text, sizeof text, "%s was ended by signal %d (%s)", who, run->signal,
                       strsignal(run->signal));
        out->status = AK_TRIAL_COMPILE_ERROR;
        out->reason = ak_strdup(text);
    } else if (run->exit_code != 0) {
        out->status = AK_TRIAL_COMPILE_ERROR;
        out->reason = first_error(run->output, who);
    } else {
        out->status = AK_TRIAL_OK;
    }
    if (run->output_length > 0) {
        out->log = run->output;
        run->output = NULL;
    }
}

ak_status ak_compile_hash(ak_compile_result *out, const ak_compile_job *job,
                          bool (*of_code)(char out[AK_HASH_BYTES], const unsigned char *file,
                                          size_t length),
                          ak_error *err)
{
    char *file = NULL;
    size_t length = 0;
    ak_status status = ak_fs_read(&file, &length, job->artifact, ARTIFACT_MAX, err);
    if (status == AK_LIMIT || status == AK_NOT_FOUND) {
        out->status = AK_TRIAL_COMPILE_ERROR;
        out->reason = ak_strdup(status == AK_LIMIT ? "the compiler's output is too large"
                                                   : "the compiler wrote no output");
        return out->reason == NULL ? ak_fail_memory(err) : AK_OK;
    }
    if (status != AK_OK) {
        return status;
    }
    if (of_code == NULL || !of_code(out->artifact_hash, (const unsigned char *)file, length)) {
        ak_hash_text(out->artifact_hash, file, length);
    }
    ak_free(file);
    return AK_OK;
}

ak_status ak_compile_end(const ak_compile_result *result, ak_error *err)
{
    return result->status != AK_TRIAL_OK && result->reason == NULL ? ak_fail_memory(err) : AK_OK;
}
