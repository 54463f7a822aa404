/* sanitize.c: builds and runs configurations with sanitizers: those that passed every check, gave a
   wrong result or crashed. */

#include "tuner/session.h"

#define REASON_BYTES_MAX 4096

/* Makes a trial that had passed its check rejected, with the finding as its reason. Another one
   keeps its status, and the finding is added to its reason. */
static ak_status take_finding(ak_trial *trial, const char *found, ak_error *err)
{
    AK_FREED char *before = trial->reason;
    ak_buf text = AK_BUF(REASON_BYTES_MAX);
    if (trial->status != AK_TRIAL_OK && before != NULL) {
        ak_buf_print(&text, "%.3000s; ", before);
    }
    ak_buf_puts(&text, found);
    trial->status = trial->status == AK_TRIAL_OK ? AK_TRIAL_REJECTED : trial->status;
    trial->reason = NULL;
    return ak_buf_take(&trial->reason, &text, err);
}

ak_status ak_session_sanitize(ak_trial *trial, ak_session *session, const ak_config *config,
                              ak_error *err)
{
    const ak_backend_ops *backend;
    ak_sanitizing *all = &session->sanitizing;
    ak_sanitized one = {.ran = false};
    if (!session->sanitize) {
        return AK_OK;
    }
    if (trial->status != AK_TRIAL_OK && trial->status != AK_TRIAL_WRONG_RESULT &&
        trial->status != AK_TRIAL_CRASHED) {
        all->left_out++;
        return AK_OK;
    }
    AK_DO(ak_backend_find(&backend, session->task->backend, err));
    if (backend->sanitize == NULL) {
        (void)snprintf(
            all->missing, sizeof all->missing,
            "kernels of %s are not built with sanitizers: run 'autokernel check' under "
            "a tool for them, such as compute-sanitizer --target-processes all on NVIDIA "
            "or Oclgrind for OpenCL",
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
    return take_finding(trial, one.found, err);
}

void ak_sanitizing_text(char *out, size_t bytes, const ak_session *session)
{
    const ak_sanitizing *all = &session->sanitizing;
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(REASON_BYTES_MAX);
    if (session->sanitize && all->configs > 0) {
        ak_buf_print(&text, "%s: %zu of %zu configuration%s without a finding, at %zu shape%s",
                     all->tool, all->configs - all->found, all->configs, ak_plural(all->configs),
                     all->shapes, ak_plural(all->shapes));
    }
    if (session->sanitize && all->missing[0] != 0) {
        ak_buf_print(&text, "%s%s", text.length > 0 ? "; " : "", all->missing);
        if (all->not_run > 1) {
            ak_buf_print(&text, " (the first of %zu that did not run)", all->not_run);
        }
    }
    if (session->sanitize && all->left_out > 0) {
        ak_buf_print(&text,
                     "%s%zu configuration%s failed otherwise than by a wrong result or a crash and "
                     "did not run with sanitizers",
                     text.length > 0 ? "; " : "", all->left_out, ak_plural(all->left_out));
    }
    (void)snprintf(out, bytes, "%s", ak_buf_status(&text, NULL) == AK_OK ? text.data : "");
}
