/* sizes_open.c: opens a task for each of many sizes, all with one implementation. */

#include "tuner/sizes_run.h"

static ak_task_spec spec_of(const ak_many *m, size_t size)
{
    ak_task_spec spec = *m->request->spec;
    spec.size = m->request->sizes[size];
    return spec;
}

static void replace(ak_many *m, size_t size, ak_task *task)
{
    ak_task_close(m->tasks[size]);
    m->tasks[size] = task;
}

/* Opens all tasks before anything is measured, so that a mistake in the sizes is reported first. */
static ak_status open_each(ak_many *m, ak_error *err)
{
    ak_size_result *sizes = m->result->sizes;
    for (size_t i = 0; i < m->result->size_count; i++) {
        ak_task_spec spec = spec_of(m, i);
        AK_DO(ak_task_open(&m->tasks[i], &spec, err));
        AK_DO(ak_copy_text(&sizes[i].size, m->tasks[i]->size_text, err));
        for (size_t j = 0; j < i; j++) {
            AK_FAIL_IF(strcmp(sizes[j].size, sizes[i].size) == 0, err, AK_INVALID,
                       "size %s is given twice", sizes[i].size);
        }
    }
    return AK_OK;
}

/* Unless the user names the implementation, lets each size choose one by archived results or by
   measurements that are made at once (ak_task_choose). */
static ak_status choose_each(ak_many *m, ak_error *err)
{
    for (size_t i = 0; i < m->result->size_count; i++) {
        ak_task *task = NULL;
        ak_task_spec spec = spec_of(m, i);
        AK_DO(ak_task_choose(&task, &spec, m->archive, true, m->options->cancel, err));
        replace(m, i, task);
    }
    return AK_OK;
}

/* Returns how many sizes chose the implementation of this task. */
static size_t votes_for(const ak_many *m, const ak_task *task)
{
    size_t votes = 0;
    for (size_t i = 0; i < m->result->size_count; i++) {
        votes += strcmp(m->tasks[i]->implementation->name, task->implementation->name) == 0;
    }
    return votes;
}

/* Chooses for all sizes the implementation that most of them chose. If several were chosen equally
   often, takes the one whose size comes first. */
static ak_status agree_on_implementation(ak_many *m, ak_error *err)
{
    size_t count = m->result->size_count, most = 0;
    const ak_task *chosen = m->tasks[0];
    for (size_t i = 0; i < count; i++) {
        size_t votes = votes_for(m, m->tasks[i]);
        chosen = votes > most ? m->tasks[i] : chosen;
        most = votes > most ? votes : most;
    }
    AK_FREED char *name = NULL;
    char reason[80];
    AK_DO(ak_copy_text(&name, chosen->implementation->name, err));
    (void)snprintf(reason, sizeof reason, "%zu of the %zu sizes choose it", most, count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(m->tasks[i]->implementation->name, name) == 0) {
            continue;
        }
        ak_task *other = NULL;
        ak_task_spec spec = spec_of(m, i);
        spec.implementation = name;
        AK_DO(ak_task_open(&other, &spec, err));
        replace(m, i, other);
        AK_DO(ak_copy_text(&other->reason, reason, err));
    }
    return AK_OK;
}

ak_status ak_many_open_tasks(ak_many *m, ak_error *err)
{
    ak_sizes_result *result = m->result;
    AK_DO(open_each(m, err));
    AK_DO(choose_each(m, err));
    AK_DO(agree_on_implementation(m, err));
    const ak_task *first = m->tasks[0];
    AK_DO(ak_copy_text(&result->kernel, first->problem->name, err));
    AK_DO(ak_copy_text(&result->implementation, first->implementation->name, err));
    AK_DO(ak_copy_text(&result->device, first->device, err));
    AK_DO(ak_copy_text(&result->dtype, ak_dtype_text(first->dtype), err));
    AK_DO(ak_copy_text(&result->choices, first->choices_text, err));
    AK_DO(ak_copy_text(&result->objective, ak_task_objective(first), err));
    return ak_copy_text(&result->unit, ak_task_objective_unit(first), err);
}
