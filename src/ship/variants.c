/* variants.c: the code of a bundle. Cases with the same configuration share a variant unless their
   sizes are compiled in or its launch holds for one size only. A variant is compiled exactly as a
   trial is: the same text, the same names and the same options, so that the source cannot tell the
   two apart. Where a trial has a hash of its code, the resulting code must have the same hash, or
   no bundle is made. */
#include "ship/bundle.h"

#include <string.h>

#include "backend/backend.h"
#include "base/alloc.h"
#include "base/fs.h"
#include "base/clock.h"
#include "problem/sources.h"
#include "problem/task_options.h"
#include "space/portable.h"

/* The compiler has compiled this configuration in a trial already, so only a compiler that hangs
   reaches the limits of time and memory. */
#define COMPILE_NS  (300 * AK_SECOND_NS)
#define MEMORY_MAX  ((size_t)4 << 30)
#define CONFIG_MAX  4096
#define PLACE_BYTES 300

/* ---- which cases share code ------------------------------------------------------------------ */

static bool same_options(const ak_options *a, const ak_options *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) {
        same = strcmp(a->argv[i], b->argv[i]) == 0;
    }
    return same;
}

/* ---- where it is right ----------------------------------------------------------------------- */

static ak_status add_condition(json_t *when, const char *text, const ak_program_names *names,
                               ak_error *err)
{
    json_auto_t *program = NULL;
    ak_status status = ak_program_of(&program, text, names, err);
    if (status == AK_OK &&
        (json_array_extend(when, program) != 0 || !ak_json_append(when, json_string("and()")))) {
        status = ak_fail_memory(err);
    }
    return status;
}

/* Writes the conditions that a configuration must fulfil at sizes other than the task's own
   (task_needs.c): "Needs" and the conditions with "EverySize". */
static ak_status write_when(json_t *when, const ak_task *task, const ak_program_names *names,
                            ak_error *err)
{
    const ak_implementation_spec *implementation = task->implementation;
    const json_t *space = json_object_get(implementation->definition, "ConfigurationSpace");
    const json_t *conditions = json_object_get(space, "Conditions");
    AK_EACH(need, implementation->needs) {
        AK_DO(add_condition(when, ak_json_text_at(need, "Expression"), names, err));
    }
    AK_EACH(condition, conditions) {
        if (json_is_true(json_object_get(condition, "EverySize"))) {
            AK_DO(add_condition(when, ak_json_text_at(condition, "Expression"), names, err));
        }
    }
    return AK_OK;
}

void ak_bundle_programs_clear(ak_bundle_variant *variant)
{
    json_t **const owned[] = {&variant->when, &variant->workspace, &variant->threads,
                              &variant->launch};
    for (size_t i = 0; i < AK_COUNT(owned); i++) {
        json_decref(*owned[i]);
        *owned[i] = NULL;
    }
}

static json_t *always(void)
{
    return json_pack("[i]", 1);
}

/* Lets a variant serve only the sizes that were measured; on a GPU only that of its first case, for
   which the launch is written. */
static ak_status serve_measured(ak_bundle_variant *v, ak_error *err)
{
    ak_bundle_programs_clear(v);
    v->when = always();
    v->for_one = ak_bundle_is_for_gpu(v->first->task->implementation->backend);
    return v->when == NULL ? ak_fail_memory(err)
           : v->for_one    ? ak_bundle_launch(&v->launch, v->first, true, err)
                           : AK_OK;
}

/* Writes the programs for `when`, `workspace` and `threads`, and for a GPU the launch. A variant
   whose formulas need more than whole numbers serves only the sizes that were measured. */
static ak_status write_programs(ak_bundle_variant *v, ak_error *err)
{
    const ak_task *task = v->first->task;
    const char *sizes[AK_SIZES_MAX];
    char place[PLACE_BYTES];
    AK_AT_END(ak_scope_free_at) ak_scope *scope = NULL;
    size_t count = task->problem->size_count;
    AK_DO(ak_task_scope(&scope, task, &task->shape, &v->first->config, err));
    for (size_t i = 0; i < count; i++) {
        sizes[i] = task->problem->sizes[i].name;
    }
    (void)snprintf(place, sizeof place, "%.200s", task->implementation->where);
    ak_program_names names = {scope, sizes, count, place, false};
    v->when = always();
    AK_DO(ak_made(v->when, err));
    ak_status status = write_when(v->when, task, &names, err);
    names.whole = true;
    status = status == AK_OK
                 ? ak_program_of(&v->workspace, task->implementation->workspace, &names, err)
                 : status;
    status = status == AK_OK
                 ? ak_program_of(&v->threads, task->implementation->threads, &names, err)
                 : status;
    if (status == AK_OK && ak_bundle_is_for_gpu(task->implementation->backend)) {
        status = ak_bundle_launch(&v->launch, v->first, false, err);
    }
    if (status == AK_INVALID) {
        status = serve_measured(v, err);
    }
    return status;
}

ak_status ak_bundle_programs(ak_bundle_variant *v, bool measured_only, ak_error *err)
{
    return measured_only ? serve_measured(v, err) : write_programs(v, err);
}

/* ---- where it was checked -------------------------------------------------------------------- */

/* A trial that refutes the configuration of a variant, at any size or at an edge case of one. */
typedef struct refutation {
    int64_t trial;     /* 0: there is none */
    const char *ended; /* its status, as a word */
    char at[160];      /* the size at which it failed */
} refutation;

static bool refute(void *context, const ak_trial *trial)
{
    refutation *found = context;
    if (ak_trial_refutes(trial)) {
        const char *reason = ak_or_empty(trial->reason);
        const bool edge = strncmp(reason, "at ", 3) == 0; /* "at N=1: ..." */
        const char *at = edge ? reason + 3 : trial->size;
        found->trial = trial->id;
        found->ended = ak_trial_status_text(trial->status);
        (void)snprintf(found->at, sizeof found->at, "%.*s", (int)strcspn(at, ":"), at);
    }
    return found->trial == 0;
}

/* Looks for a trial with the same configuration and environment that refutes it by a wrong result
   or a crash. */
static ak_status find_refutation(refutation *out, const ak_bundle_build *b, const ak_trial *like,
                                 ak_error *err)
{
    const ak_archive_filter filter = {.kernel = like->kernel,
                                      .implementation = like->implementation,
                                      .dtype = like->dtype,
                                      .choices = like->choices,
                                      .environment = like->environment,
                                      .config = like->config};
    *out = (refutation){.trial = 0};
    return ak_archive_each(b->archive, &filter, refute, out, err);
}

/* Returns whether the implementation demands the task's own value of each size ("N == 64" among its
   "Needs"), as the implementation in a T1 file does. Then it serves no other size, so there is none
   left to check. */
static bool has_one_size(const ak_task *task)
{
    const json_t *needs = task->implementation->needs;
    size_t count = task->problem->size_count, fixed = 0;
    for (size_t i = 0; i < count; i++) {
        char text[96];
        bool found = false;
        (void)snprintf(text, sizeof text, "%s == %lld", task->problem->sizes[i].name,
                       (long long)task->shape.size[i]);
        for (size_t k = 0; k < json_array_size(needs) && !found; k++) {
            found = ak_json_text_is(json_array_get(needs, k), "Expression", text);
        }
        fixed += found;
    }
    return count > 0 && fixed == count;
}

/* Restricts a variant to the measured sizes if the implementation demands one size, if a trial
   refutes the configuration, or if the kernel has edge-case sizes but the configuration could be
   checked at its own size only. The note says why, unless the implementation demands it. Of a
   variant that is not restricted, it says if edge-case or drawn sizes were not checked. */
static ak_status limit(ak_bundle_variant *v, const ak_bundle_build *b, ak_error *err)
{
    const ak_task *task = v->first->task;
    ak_checked_sizes reach;
    refutation wrong;
    char note[256] = "";
    AK_DO(ak_task_checked_sizes(&reach, task, &v->first->config, err));
    AK_DO(find_refutation(&wrong, b, &v->first->trial, err));
    const bool one_size = has_one_size(task);
    const bool excluded = reach == AK_CHECKED_OWN && task->problem->edge_case_count > 0;
    if (wrong.trial != 0) {
        (void)snprintf(note, sizeof note, "trial #%lld ended as %s at %s", (long long)wrong.trial,
                       wrong.ended, wrong.at);
    } else if (one_size) {
        note[0] = 0;
    } else if (excluded) {
        (void)snprintf(note, sizeof note,
                       "its conditions allow no edge-case size and none that could be drawn, so it "
                       "was checked at no other");
    } else if (reach == AK_CHECKED_OWN) {
        (void)snprintf(note, sizeof note,
                       "the kernel names no edge-case sizes (\"awkward\"), so only the measured "
                       "ones were checked");
    } else if (reach == AK_CHECKED_LISTED) {
        (void)snprintf(note, sizeof note,
                       "no size could be drawn, so only those that the kernel lists were checked");
    }
    AK_DO(wrong.trial != 0 || one_size || excluded ? serve_measured(v, err) : AK_OK);
    return note[0] == 0 ? AK_OK : ak_copy_text(&v->note, note, err);
}

/* ---- variants -------------------------------------------------------------------------------- */

static ak_status new_variant(ak_bundle_build *b, const ak_bundle_case *one, const char *config,
                             ak_options *options, ak_error *err)
{
    ak_bundle_variant *v = &b->variants[b->variant_count];
    const ak_backend_ops *backend;
    AK_DO(ak_backend_find(&backend, one->task->backend, err));
    AK_FAIL_IF(backend->requires == NULL, err, AK_UNAVAILABLE,
               "%s: bundles for such devices cannot be made yet", one->task->backend);
    AK_FAIL_IF(ak_implementation_is_triton(one->task->implementation), err, AK_UNAVAILABLE,
               "a bundle of a Triton kernel cannot be made yet: --format triton writes its "
               "configurations");
    *v = (ak_bundle_variant){.first = one,
                             .config = ak_strdup(config),
                             .options = *options,
                             .compiler = options->compiler};
    *options = (ak_options){0};
    if (ak_bundle_is_for_gpu(one->task->implementation->backend)) {
        v->compiler = "nvrtc";
    }
    (void)snprintf(v->file, sizeof v->file, "code/%zu%s", b->variant_count,
                   backend->artifact_suffix);
    b->variant_count++;
    AK_DO(ak_made(v->config, err));
    AK_DO(ak_bundle_programs(v, false, err));
    return limit(v, b, err);
}

static ak_status assign(ak_bundle_build *b, ak_bundle_case *one, ak_error *err)
{
    char config[CONFIG_MAX];
    AK_AT_END(ak_options_clear) ak_options options = {0};
    AK_FAIL_IF(ak_config_format(config, sizeof config, one->task->space, &one->config) >=
                   sizeof config,
               err, AK_LIMIT, "a configuration is longer than %d bytes", CONFIG_MAX);
    AK_DO(ak_task_options(&options, one->task, &one->config, err));
    for (one->variant = 0; one->variant < b->variant_count; one->variant++) {
        const ak_bundle_variant *v = &b->variants[one->variant];
        if (!v->for_one && strcmp(v->config, config) == 0 && same_options(&v->options, &options)) {
            break;
        }
    }
    return one->variant == b->variant_count ? new_variant(b, one, config, &options, err) : AK_OK;
}

/* ---- compiling ------------------------------------------------------------------------------- */

/* Adds what a variant requires of a machine (processor features, tiles) to what the bundle
   requires. */
static ak_status merge_needs(ak_bundle_build *b, json_t *needs, ak_error *err)
{
    if (b->needs == NULL) {
        b->needs = json_incref(needs);
        return AK_OK;
    }
    if (json_is_true(json_object_get(needs, "tiles"))) {
        AK_DO(ak_stored(ak_json_set(b->needs, "tiles", json_true()), err));
    }
    json_t *all = json_object_get(b->needs, "cpu_features");
    AK_EACH(feature, json_object_get(needs, "cpu_features")) {
        bool known = false;
        for (size_t k = 0; k < json_array_size(all); k++) {
            known = known || json_equal(json_array_get(all, k), feature);
        }
        AK_DO(ak_stored(known || json_array_append(all, feature) == 0, err));
    }
    return AK_OK;
}

static const char NO_HASH[] = "a trial of it has no hash of its code";

/* Fails if a trial of the variant measured other code. Sets v->uncompared if a trial has no hash of
   its code, because it was compiled for its own size only and never reached a finish, or is older
   than the archive's hashes. A size of a table at which the configuration has no trial of its own
   (its id is 0) needs no hash if another size has one. */
static ak_status compare(const ak_bundle_build *b, ak_bundle_variant *v, const char *hash,
                         ak_error *err)
{
    bool compared = false;
    for (size_t i = 0; i < b->case_count; i++) {
        const ak_trial *trial = &b->cases[i].trial;
        if (&b->variants[b->cases[i].variant] != v) {
            continue;
        }
        compared = compared || trial->code_hash != NULL;
        if (trial->code_hash == NULL && trial->id > 0) {
            v->uncompared = b->cases[i].former_hash
                                ? "its trial is from before hashes of code were SHA-256: tune "
                                  "again to have it compared"
                                : NO_HASH;
        }
        AK_FAIL_IF(trial->code_hash != NULL && strcmp(trial->code_hash, hash) != 0, err, AK_INVALID,
                   "%.160s: this compiles to other code than trial #%lld measured, so it is not "
                   "shipped: the compiler, a header or the machine has changed since, or the "
                   "source looks at the time or at files; tune it again",
                   v->config, (long long)trial->id);
    }
    if (v->uncompared == NULL && !compared) {
        v->uncompared = NO_HASH;
    }
    return AK_OK;
}

static ak_status compile(ak_bundle_build *b, ak_bundle_variant *v, ak_error *err)
{
    const ak_task *task = v->first->task;
    const ak_backend_ops *backend;
    AK_FREED char *code = NULL;
    char source[AK_PATH_MAX], artifact[AK_PATH_MAX];
    size_t length = 0;
    AK_AT_END(ak_compile_result_clear) ak_compile_result result = {0};
    json_auto_t *needs = NULL;
    AK_DO(ak_backend_find(&backend, task->backend, err));
    AK_DO(ak_fs_join(source, b->folder.path, "source.c", err));
    AK_DO(ak_backend_write_source(source, backend, task->implementation, err));
    AK_DO(ak_fs_join(artifact, b->folder.path, "artifact", err));
    ak_compile_job job = {.source_path = source,
                          .compiler = v->compiler,
                          .argv = (const char *const *)v->options.argv,
                          .argc = v->options.count,
                          .folder = b->folder.path,
                          .artifact = artifact,
                          .timeout_ns = COMPILE_NS,
                          .memory_max = MEMORY_MAX,
                          .priority = AK_PROC_USUAL};
    AK_DO(backend->requires(&needs, v->version, sizeof v->version, &job, err));
    AK_DO(backend->compile(&result, &job, err));
    AK_FAIL_IF(result.status != AK_TRIAL_OK, err, AK_INVALID, "%.160s: %s: %.160s", v->config,
               ak_trial_status_text(result.status), ak_or_empty(result.reason));
    AK_DO(compare(b, v, result.artifact_hash, err));
    AK_DO(ak_fs_read(&code, &length, artifact, AK_ARTIFACT_MAX, err));
    AK_DO(ak_pack_add(&b->code, v->file, code, length, err));
    return merge_needs(b, needs, err);
}

ak_status ak_bundle_variants(ak_bundle_build *b, ak_error *err)
{
    AK_DO(AK_NEW(b->variants, b->case_count, err));
    AK_DO(ak_fs_owned_open(&b->folder, err));
    for (size_t i = 0; i < b->case_count; i++) {
        AK_DO(assign(b, &b->cases[i], err));
    }
    for (size_t i = 0; i < b->variant_count; i++) {
        AK_DO(compile(b, &b->variants[i], err));
    }
    return ak_sources_of(&b->sources, b->cases[0].task->problem, b->cases[0].task->implementation,
                         SIZE_MAX, err);
}
