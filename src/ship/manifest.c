/* manifest.c: writes bundle.json, which docs/formats.md describes. */
#include "ship/bundle.h"

#include <string.h>

#include "runtime/ak_runtime.h"
#include "archive/config_text.h"
#include "formats/format.h"
#include "space/portable.h"

/* The alignments of arrays in bytes that ak_host.h promises for the host and docs/formats.md for a
   GPU. */
#define HOST_ALIGNMENT 64
#define GPU_ALIGNMENT  256

/* ---- the problem ----------------------------------------------------------------------------- */

static json_t *sizes_of(const ak_problem *problem)
{
    json_t *list = json_array();
    for (size_t i = 0; i < problem->size_count; i++) {
        ak_json_add(&list, json_pack("{s:s, s:s?}", "name", problem->sizes[i].name, "description",
                                     problem->sizes[i].description));
    }
    return list;
}

/* Lists all options, also those at their defaults. A number is written also as the bits of a
   double, which every locale reads back as the same value. */
static json_t *options_of(const ak_task *task)
{
    json_t *list = json_array();
    for (size_t i = 0; i < task->problem->choice_count; i++) {
        const ak_choice_spec *option = &task->problem->choices[i];
        char bits[17];
        uint64_t raw;
        memcpy(&raw, &task->number[i], sizeof raw);
        (void)snprintf(bits, sizeof bits, "%016llx", (unsigned long long)raw);
        json_t *value =
            option->kind == AK_CHOICE_TEXT    ? json_string(option->values[task->choice[i]])
            : option->kind == AK_CHOICE_WHOLE ? json_integer((json_int_t)task->number[i])
                                              : json_real(task->number[i]);
        ak_json_add(&list, json_pack("{s:s, s:o, s:i, s:s}", "name", option->name, "value", value,
                                     "index", task->choice[i], "bits", bits));
    }
    return list;
}

typedef struct place {
    const ak_task *task;
    const char *sizes[AK_SIZES_MAX];
    char where[160];
} place;

static ak_status program(json_t **out, const char *text, const place *at, ak_error *err)
{
    const ak_program_names names = {at->task->constants, at->sizes, at->task->problem->size_count,
                                    at->where, true};
    return ak_program_of(out, text, &names, err);
}

static ak_status argument_of(json_t **out, size_t index, const place *at, ak_error *err)
{
    static const char *const access[] = {
        [AK_ACCESS_IN] = "in", [AK_ACCESS_OUT] = "out", [AK_ACCESS_INOUT] = "inout"};
    const ak_argument_spec *a = &at->task->problem->arguments[index];
    json_auto_t *object = json_object(), *shape = json_array(), *texts = json_array(),
                *pitch = NULL;
    AK_DO(ak_stored(object != NULL && shape != NULL && texts != NULL, err));
    for (size_t d = 0; d < a->rank; d++) {
        json_t *extent = NULL;
        AK_DO(program(&extent, a->shape[d], at, err));
        bool good =
            ak_json_append(shape, extent) && ak_json_append(texts, json_string(a->shape[d]));
        AK_DO(ak_stored(good, err));
    }
    AK_DO(a->pitch == NULL ? AK_OK : program(&pitch, a->pitch, at, err));
    bool good =
        ak_json_set_texts(object, "name", a->name, "dtype",
                          ak_dtype_text(ak_task_argument_dtype(at->task, index)), "access",
                          access[a->access]) &&
        ak_json_set(object, "shape", json_incref(shape)) &&
        ak_json_set(object, "extents", json_incref(texts)) &&
        ak_json_set(object, "pitch", pitch == NULL ? json_null() : json_incref(pitch)) &&
        ak_json_set(object, "alignment",
                    json_integer(ak_bundle_is_for_gpu(at->task->implementation->backend)
                                     ? GPU_ALIGNMENT
                                     : HOST_ALIGNMENT)) &&
        ak_json_set(object, "unused", json_boolean(at->task->shape.unused[index])) &&
        ak_json_set(object, "fill",
                    json_pack("{s:s, s:f, s:f}", "kind", ak_fill_text(a->fill), "a",
                              at->task->shape.fill[index][0], "b", at->task->shape.fill[index][1]));
    AK_DO(ak_stored(good, err));
    *out = json_incref(object);
    return AK_OK;
}

static ak_status set_arguments(json_t *file, const ak_task *task, ak_error *err)
{
    place at = {.task = task};
    json_auto_t *list = json_array();
    for (size_t i = 0; i < task->problem->size_count; i++) {
        at.sizes[i] = task->problem->sizes[i].name;
    }
    for (size_t i = 0; i < task->problem->argument_count; i++) {
        json_t *argument = NULL;
        (void)snprintf(at.where, sizeof at.where, "argument %.80s",
                       task->problem->arguments[i].name);
        AK_DO(argument_of(&argument, i, &at, err));
        AK_DO(ak_stored(ak_json_append(list, argument), err));
    }
    return ak_stored(ak_json_set(file, "arguments", json_incref(list)), err);
}

/* ---- the code -------------------------------------------------------------------------------- */

static json_t *compiler_of(const ak_bundle_variant *v)
{
    json_t *object = json_object();
    bool good = ak_json_set_texts(object, "name", v->compiler, "version", v->version) &&
                ak_json_set(object, "options",
                            ak_json_texts((const char *const *)v->options.argv, v->options.count));
    return ak_json_whole(object, good);
}

static json_t *program_or_null(json_t *value)
{
    return value == NULL ? json_null() : json_incref(value);
}

/* Returns a task's sizes as a list of numbers. */
static json_t *numbers_of(const ak_task *task)
{
    return ak_json_integers(task->shape.size, task->problem->size_count);
}

static ak_status set_variants(json_t *file, const ak_bundle_build *b, ak_error *err)
{
    ak_status status = AK_OK;
    json_auto_t *list = json_array();
    for (size_t i = 0; i < b->variant_count && status == AK_OK; i++) {
        const ak_bundle_variant *v = &b->variants[i];
        json_t *config = NULL, *one = json_object();
        status = ak_config_text_to_json(&config, v->config, "configuration", err);
        bool good =
            status == AK_OK && ak_json_set(one, "config", config) &&
            ak_json_set_texts(one, "file", v->file, "entry",
                              v->first->task->implementation->kernel_name) &&
            ak_json_set(one, "when", program_or_null(v->when)) &&
            ak_json_set(one, "workspace", program_or_null(v->workspace)) &&
            ak_json_set(one, "threads", program_or_null(v->threads)) &&
            (v->note == NULL || ak_json_set_text(one, "note", v->note)) &&
            /* specialised entries serve only the sizes for which they were compiled */
            (v->launch == NULL || (ak_json_set(one, "own_size", numbers_of(v->first->task)) &&
                                   ak_json_set(one, "launch", json_incref(v->launch)))) &&
            ak_json_set(one, "compiler", compiler_of(v));
        good = ak_json_append(list, ak_json_whole(one, good));
        status = status != AK_OK || good ? status : ak_fail_memory(err);
    }
    return status == AK_OK && json_object_set(file, "variants", list) != 0 ? ak_fail_memory(err)
                                                                           : status;
}

/* ---- evidence -------------------------------------------------------------------------------- */

json_t *ak_bundle_conditions(const ak_trial *t)
{
    return t->sm_clock_mhz > 0
               ? json_pack("{s:f,s:f,s:f,s:f,s:s?}", "sm_clock_mhz", t->sm_clock_mhz,
                           "memory_clock_mhz", t->memory_clock_mhz, "power_watts", t->power_watts,
                           "temperature_celsius", t->temperature_celsius, "throttle", t->throttle)
               : json_null();
}

/* Returns how many candidates and seconds the run's finish had, so that the time can be measured
   again in the same way; null if there was no finish. */
static json_t *finish_of(const ak_trial *t)
{
    return t->finish_seconds > 0
               ? json_pack("{s:I,s:f}", "candidates", (json_int_t)t->finish_candidates, "seconds",
                           t->finish_seconds)
               : json_null();
}

/* Returns the time and clock that the search measured, before the finish if there was one; null if
   they are not known. */
static json_t *search_of(const ak_trial *t)
{
    return t->search_ms > 0 ? json_pack("{s:f,s:o}", "ms", t->search_ms, "sm_clock_mhz",
                                        ak_json_known(t->search_clock_mhz))
                            : json_null();
}

static const char *const of_table[] = {"loss", "loss_ci", "loss_verdict", NULL};

static bool set_evidence(json_t *one, const ak_bundle_build *b, const ak_bundle_case *c)
{
    const ak_trial *t = &c->trial;
    return ak_json_set_known(one, "ms", t->median_ms) &&
           ak_json_set(one, "ci_ms", ak_trial_interval(t)) &&
           ak_json_set_count(one, "samples", t->sample_count) &&
           ak_json_set_known(one, "tflops", t->tflops) && ak_json_set_known(one, "gbs", t->gbs) &&
           ak_json_set_known(one, "efficiency", t->efficiency) &&
           ak_json_set_text(one, "bound", t->bound) &&
           ak_json_set(one, "trial", t->id > 0 ? json_integer(t->id) : json_null()) &&
           ak_json_set_texts(one, "run", t->run, "date", t->timestamp) &&
           ak_json_set(one, "conditions", ak_bundle_conditions(t)) &&
           ak_json_set(one, "finish", finish_of(t)) && ak_json_set(one, "search", search_of(t)) &&
           ak_format_set_evidence(one, b->archive, t, NULL) == AK_OK &&
           (c->table == NULL || ak_json_copy(one, c->table, of_table));
}

json_t *ak_bundle_tolerances(const ak_task *task)
{
    const ak_shape *shape = &task->shape;
    json_t *list = json_array();
    for (size_t i = 0; i < task->problem->argument_count; i++) {
        json_t *one = task->problem->arguments[i].access == AK_ACCESS_IN
                          ? json_null()
                          : json_pack("{s:f,s:f,s:f}", "relative", shape->own_relative[i], "rms",
                                      shape->own_rms[i], "absolute", shape->own_absolute[i]);
        ak_json_add(&list, one);
    }
    return list;
}

static json_t *measured_of(const ak_bundle_build *b)
{
    json_t *list = json_array();
    for (size_t i = 0; i < b->case_count; i++) {
        const ak_bundle_case *c = &b->cases[i];
        json_t *one = json_object();
        const bool good = ak_json_set(one, "size", numbers_of(c->task)) &&
                          ak_json_set_count(one, "variant", c->variant) &&
                          ak_json_set_count(one, "workspace_bytes", c->workspace_bytes) &&
                          ak_json_set(one, "threads", json_integer(c->threads)) &&
                          ak_json_set(one, "tolerances", ak_bundle_tolerances(c->task)) &&
                          set_evidence(one, b, c);
        ak_json_add(&list, ak_json_whole(one, good));
    }
    return list;
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool add_files(json_t *list, const ak_pack *pack)
{
    bool good = true;
    for (size_t i = 0; i < pack->count && good; i++) {
        char sum[65];
        json_t *one = json_object();
        akr_sha256(sum, pack->files[i].data, pack->files[i].length);
        good = ak_json_set_text(one, "name", pack->files[i].name) &&
               ak_json_set_count(one, "bytes", pack->files[i].length) &&
               ak_json_set_text(one, "sha256", sum);
        good = ak_json_append(list, one) && good;
    }
    return good;
}

ak_status ak_bundle_interface(json_t **out, const ak_task *task, ak_error *err)
{
    const ak_problem *problem = task->problem;
    json_auto_t *object = json_object();
    bool good =
        object != NULL &&
        ak_json_set_texts(object, "kernel", problem->name, "description", problem->description,
                          "implementation", task->implementation->name, "backend", task->backend,
                          "dtype", ak_dtype_text(task->dtype), "options", task->choices_text) &&
        ak_json_set(object, "option_values", options_of(task)) &&
        ak_json_set(object, "sizes", sizes_of(problem));
    AK_DO(ak_stored(good, err));
    AK_DO(set_arguments(object, task, err));
    *out = json_incref(object);
    return AK_OK;
}

ak_status ak_bundle_manifest(ak_buf *out, const ak_bundle_build *b, ak_error *err)
{
    const ak_task *task = b->cases[0].task;
    json_auto_t *file = json_object(), *files = json_array(), *interface = NULL;
    bool good = file != NULL && files != NULL &&
                ak_json_set(file, "schema", json_integer(AK_BUNDLE_SCHEMA)) &&
                ak_json_set_texts(file, "kind", AK_BUNDLE_KIND, "name", b->name);
    AK_DO(ak_stored(good, err));
    AK_DO(ak_bundle_interface(&interface, task, err));
    AK_DO(ak_stored(json_object_update(file, interface) == 0, err));
    AK_DO(set_variants(file, b, err));
    good = ak_json_set(file, "measured", measured_of(b)) &&
           (b->warnings == NULL || ak_json_set(file, "warnings", json_incref(b->warnings))) &&
           ak_json_set(file, "requires", json_incref(b->needs)) &&
           ak_json_set(file, "environment", json_incref(b->environment)) &&
           ak_json_set_text(file, "fix", b->fix) && add_files(files, &b->code) &&
           add_files(files, &b->sources) && ak_json_set(file, "files", json_incref(files)) &&
           ak_json_set_texts(file, "licence", task->problem->builtin ? "MIT" : NULL, "created",
                             b->created, "autokernel", AK_VERSION);
    AK_DO(ak_stored(good, err));
    ak_json_print(out, file, true);
    ak_buf_putc(out, '\n');
    return ak_buf_status(out, err);
}
