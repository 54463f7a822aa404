/* sanitize.c: has configurations that passed every check built and run with sanitizers. */
#include <string.h>

#include "base/alloc.h"
#include "tuner/session.h"

ak_status ak_session_sanitize(ak_trial *trial, ak_session *session, const ak_config *config,
                              ak_error *err)
{
    const ak_backend_ops *backend;
    ak_sanitizing *all = &session->sanitizing;
    ak_sanitized one = {.ran = false};
    if (!session->sanitize || trial->status != AK_TRIAL_OK) {
        return AK_OK;
    }
    AK_DO(ak_backend_find(&backend, session->task->backend, err));
    if (backend->sanitize == NULL) {
        (void)snprintf(all->missing, sizeof all->missing,
                       "kernels of %s are not built with sanitizers: run 'autokernel check' under "
                       "the device's own tool, such as compute-sanitizer --target-processes all",
                       session->task->backend);
        return AK_OK;
    }
    AK_DO(backend->sanitize(&one, session->task, config, err));
    if (!one.ran) { /* the first reason is kept; later ones are only counted */
        if (all->not_run++ == 0) {
            memcpy(all->missing, one.found, sizeof all->missing);
        }
        return AK_OK;
    }
    (void)snprintf(all->tool, sizeof all->tool, "%s", one.tool);
    all->configs++;
    all->shapes = one.shapes > all->shapes ? one.shapes : all->shapes;
    if (one.found[0] == 0) {
        return AK_OK;
    }
    all->found++;
    trial->status = AK_TRIAL_REJECTED;
    ak_free(trial->reason);
    return ak_copy_text(&trial->reason, one.found, err);
}

void ak_sanitizing_text(char *out, size_t bytes, const ak_session *session)
{
    const ak_sanitizing *all = &session->sanitizing;
    int used = 0;
    out[0] = 0;
    if (session->sanitize && all->configs > 0) {
        used =
            snprintf(out, bytes, "%s: %zu of %zu configuration%s without a finding, at %zu shapes",
                     all->tool, all->configs - all->found, all->configs,
                     all->configs == 1 ? "" : "s", all->shapes);
    }
    if (session->sanitize && all->missing[0] != 0 && used >= 0 && (size_t)used < bytes) {
        char others[64] = "";
        if (all->not_run > 1) {
            (void)snprintf(others, sizeof others, " (the first of %zu that did not run)",
                           all->not_run);
        }
        (void)snprintf(out + used, bytes - (size_t)used, "%s%s%s", used > 0 ? "; " : "",
                       all->missing, others);
    }
}
