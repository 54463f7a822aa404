/* host_libraries.c: finds what kernels on a CPU can be compared with, by loading each library and
   each baseline of the problem's own into a child. */
#include <stdio.h>
#include <string.h>

#include "backend/host/host.h"
#include "backend/host/host_baseline.h"
#include "backend/host/host_child.h"

#define OWN_MARK " (own)" /* behind the name of a baseline that the problem brings */

/* A library whose variants are visited. `seen` holds the versions visited so far, one per line: a
   core type that a library replaces by another is not a variant. */
typedef struct visited {
    ak_device *device;
    const ak_baseline_ops *ops;
    ak_buf seen;
    ak_baseline_visitor visit;
    void *context;
} visited;

static void end_visit(visited *v)
{
    ak_buf_free(&v->seen);
}

/* Loads one variant and visits it, unless its version has been visited. A named variant that cannot
   be loaded is left out; the library itself ("") is then visited as not installed, with the
   reason. */
static ak_status visit_baseline(visited *v, const char *variant, ak_error *err)
{
    ak_device *device = v->device;
    const ak_baseline_ops *ops = v->ops;
    char name[64], line[128], note[AK_RUNNER_REASON_MAX + 64];
    ak_runnable *runner = NULL;
    ak_outcome outcome;
    (void)snprintf(name, sizeof name, "%s%s%s", ops->name, variant[0] == 0 ? "" : ":", variant);
    ak_load load = {.baseline = name};
    AK_DO(ak_host_ops.load(&runner, device, &load, &outcome, err));
    if (outcome.status == AK_TRIAL_OK) {
        (void)snprintf(line, sizeof line, "\n%s\n", runner->version);
        if (strstr(v->seen.data, line) == NULL) {
            ak_buf_puts(&v->seen, line);
            (void)snprintf(note, sizeof note, "%d thread%s", device->threads,
                           device->threads == 1 ? "" : "s");
            v->visit(v->context, name, ops->title, runner->version, true, note);
        }
    } else if (variant[0] == 0) {
        v->visit(v->context, name, ops->title, "", false, outcome.reason);
    }
    ak_host_ops.unload(runner);
    return AK_OK;
}

/* Visits a baseline that the problem brings. One that cannot be used is an error, because the
   problem names it. */
static ak_status visit_own(ak_device *device, const ak_own_baseline *own, ak_baseline_visitor visit,
                           void *context, ak_error *err)
{
    ak_runnable *runner = NULL;
    ak_outcome outcome;
    char title[64 + sizeof OWN_MARK];
    const char *known = ak_baseline_resembled(own->name);
    AK_FAIL_IF(known != NULL, err, AK_INVALID,
               "%s: the baseline %s would be taken for the library %s: give it a name that does "
               "not begin like a library's",
               device->task->problem->where, own->name, known);
    /* A name has neither blanks nor parentheses, so no name can have or hide the mark. */
    (void)snprintf(title, sizeof title, "%s" OWN_MARK, own->name);
    AK_DO(ak_host_ops.load(&runner, device, &(ak_load){.baseline = own->name}, &outcome, err));
    ak_status status = AK_OK;
    if (outcome.status == AK_TRIAL_OK) {
        visit(context, own->name, title, runner->version, true, "");
    } else {
        status = ak_fail(err, AK_INVALID,
                         "%s: the baseline %s: %s; --libraries none goes on without baselines",
                         device->task->problem->where, own->name, outcome.reason);
    }
    ak_host_ops.unload(runner);
    return status;
}

ak_status ak_host_baselines(ak_device *device, const ak_task *task, ak_baseline_visitor visit,
                            void *context, ak_error *err)
{
    for (size_t i = 0; i < task->problem->own_count; i++) {
        AK_DO(visit_own(device, &task->problem->own[i], visit, context, err));
    }
    for (size_t i = 0; ak_baseline_table[i] != NULL; i++) {
        const ak_baseline_ops *ops = ak_baseline_table[i];
        if (!ak_baseline_applies(ops, task->problem->name, task->dtype)) {
            continue;
        }
        AK_AT_END(end_visit) visited v = {device, ops, AK_BUF(4096), visit, context};
        AK_DO(visit_baseline(&v, "", err));
        for (size_t j = 0; ops->variants != NULL && v.seen.length > 0 && ops->variants[j] != NULL;
             j++) {
            AK_DO(visit_baseline(&v, ops->variants[j], err));
        }
    }
    return AK_OK;
}

/* Visits the libraries. Loading needs a problem, so each library gets the first that it can
   compute. */
ak_status ak_host_libraries(ak_baseline_visitor visit, void *context, ak_error *err)
{
    char none[] = "";
    ak_problem problem = {0};
    ak_task task = {.problem = &problem, .choices_text = none, .dtype = AK_DTYPE_F32};
    ak_device *device = NULL;
    ak_status status = ak_host_ops.open(&device, &task, err);
    for (size_t i = 0; status == AK_OK && ak_baseline_table[i] != NULL; i++) {
        AK_AT_END(end_visit)
        visited v = {device, ak_baseline_table[i], AK_BUF(4096), visit, context};
        problem.name = ak_baseline_table[i]->problems[0];
        status = visit_baseline(&v, "", err);
    }
    ak_host_ops.close(device);
    return status;
}
