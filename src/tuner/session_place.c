/* session_place.c: places times on the roofline of the session's device, and detects those that are
   too fast to be true; see session.h. */
#include "archive/archive.h"
#include "base/number.h"
#include "measure/placement.h"
#include "tuner/session.h"

ak_archive_filter ak_session_filter(const ak_session *session)
{
    const ak_task *task = session->task;
    return (ak_archive_filter){.kernel = task->problem->name,
                               .implementation = task->implementation->name,
                               .device = task->device,
                               .size = task->size_text,
                               .dtype = ak_task_dtype(task),
                               .choices = task->choices_text,
                               .environment = session->environment};
}

ak_status ak_session_place_archived(const ak_session *session, ak_archive *archive, ak_error *err)
{
    ak_ceilings ceilings = ak_task_ceilings(session->task, &session->ceilings, false);
    const ak_archive_filter of = ak_session_filter(session);
    return ak_archive_place(archive, &of, ceilings.peak_tflops, ak_roofline_bandwidth(&ceilings),
                            err);
}

/* Returns the traffic that the problem declares or, if it declares none, the bytes of its
   arguments, which a kernel reads or writes in any case. */
static double traffic_of(const ak_task *task)
{
    double arguments = 0;
    for (size_t i = 0; i < task->problem->argument_count; i++) {
        arguments += (double)task->shape.bytes[i];
    }
    return task->shape.traffic > 0 ? task->shape.traffic : arguments;
}

bool ak_session_implausible(char why[AK_IMPLAUSIBLE_BYTES], const ak_session *session, double ms)
{
    const ak_task *task = session->task;
    ak_roofline roof;
    char times[AK_REAL_BYTES];
    ak_ceilings ceilings = ak_task_ceilings(task, &session->ceilings, true);
    ak_roofline_of(&roof, &ceilings, task->shape.flops, traffic_of(task), ms);
    if (!(roof.efficiency > AK_IMPLAUSIBLE)) {
        return false;
    }
    (void)snprintf(why, AK_IMPLAUSIBLE_BYTES,
                   "%s times as fast as this device can do the stated work: if a kernel needs "
                   "less, correct \"flops\" and \"bytes\" in problem.json",
                   ak_number_short(times, roof.efficiency, 3));
    return true;
}

/* Returns the utilisation (ak_session_reach). Because the clock is divided out, it depends on the
   kernel and not on how fast the device was clocked. */
static double utilisation_of(const ak_task *task, const ak_roofline *roof, double ms, double mhz)
{
    const ak_backend_ops *backend;
    if (ak_backend_find(&backend, task->backend, NULL) != AK_OK ||
        backend->flops_per_clock == NULL) {
        return 0;
    }
    double rate = backend->flops_per_clock(task->constants, ak_task_operands(task));
    double most = rate * mhz * 1e3; /* operations per millisecond */
    return roof->memory_bound || most <= 0 || ms <= 0 ? 0 : task->shape.flops / ms / most;
}

void ak_session_reach(ak_roofline *out, double *utilisation, const ak_session *session, double ms,
                      double sm_clock_mhz)
{
    const ak_task *task = session->task;
    ak_ceilings ceilings = ak_task_ceilings(session->task, &session->ceilings, false);
    ak_roofline_of(out, &ceilings, task->shape.flops, task->shape.traffic, ms);
    *utilisation = utilisation_of(task, out, ms, sm_clock_mhz);
}

void ak_session_place(ak_placement *out, const ak_session *session, double ms)
{
    ak_place_task(out, session->task, &session->ceilings, ms);
}
