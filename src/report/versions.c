#include "report/versions.h"

#include "archive/config_text.h"
#include "archive/field.h"
#include "report/versus.h"
#include "report/page.h"
#include "report/section_builder.h"

/* Of the changes of one file, at most this many lines are shown. */
#define LINES_SHOWN 400

/* ---- gathering ------------------------------------------------------------------------------- */

typedef struct gathering {
    ak_versions *out;
    ak_archive *archive;
    ak_kernel_version *version; /* the version that the run being read belongs to */
} gathering;

/* Finds the version with these sources, or adds it if there is none. */
static ak_status find_version(gathering *g, const ak_run *run, const char *hash, ak_error *err)
{
    ak_versions *v = g->out;
    const size_t at = AK_FIND(v->list, v->count, hash, hash);
    if (at < v->count) {
        g->version = &v->list[at];
        return AK_OK;
    }
    AK_DO(AK_GROW(v->list, &v->capacity, v->count + 1, err));
    ak_kernel_version *one = &v->list[v->count++];
    *one = (ak_kernel_version){.hash = ak_strdup(hash), .since = ak_strdup(run->started)};
    AK_DO(ak_stored(one->hash != NULL && one->since != NULL, err));
    g->version = one;
    ak_status known = ak_archive_get_sources(&one->sources, g->archive, hash, err);
    return known == AK_NOT_FOUND ? AK_OK : known;
}

static bool take_trial(void *context, const ak_trial *trial)
{
    gathering *g = context;
    ak_kernel_version *v = g->version;
    v->trials++;
    if (trial->status == AK_TRIAL_OK && trial->median_ms > 0 && g->out->config != NULL &&
        strcmp(trial->config, g->out->config) == 0 &&
        (v->same_ms <= 0 || trial->median_ms < v->same_ms)) {
        v->same_ms = trial->median_ms;
    }
    return true;
}

/* Takes the best of a run as the best of its version if it is the version's fastest so far. */
static ak_status take_best(ak_kernel_version *v, const ak_run *run, const json_t *result,
                           ak_error *err)
{
    const json_t *best = json_object_get(result, "best");
    double ms = ak_json_number_at(best, "ms");
    if (!(ms > 0) || (v->ms > 0 && v->ms <= ms)) {
        return AK_OK;
    }
    v->ms = ms;
    v->low_ms = ak_json_number_in(best, "ci_ms", 0);
    v->high_ms = ak_json_number_in(best, "ci_ms", 1);
    json_decref(v->noise);
    v->noise = json_incref(json_object_get(result, "noise"));
    AK_DO(ak_trial_set_text(&v->run, run->id, err));
    return ak_trial_set_text(&v->config, ak_json_text_at(best, "config"), err);
}

static ak_status take(void *context, const ak_run *run, ak_error *err)
{
    gathering *g = context;
    json_auto_t *environment = NULL, *result = NULL;
    AK_FREED char *refuted = NULL;
    const ak_archive_filter filter = {.run = run->id, .simulated = true};
    AK_DO(ak_json_parse_text(&environment, run->environment_json, "run", err));
    AK_DO(ak_json_parse_text(&result, run->result_json, "run", err));
    AK_DO(ak_config_text_in_result(result, err));
    const char *hash = ak_json_text_or_null(environment, "source");
    if (hash == NULL) {
        return AK_OK; /* the run did not record the hash of its sources */
    }
    AK_DO(find_version(g, run, hash, err));
    g->version->runs++;
    json_decref(g->version->environment);
    g->version->environment = json_incref(environment);
    AK_DO(ak_archive_refuted(&refuted, g->archive, run, result, err));
    if (strcmp(run->id, g->out->run.id) == 0) {
        g->out->at = (size_t)(g->version - g->out->list);
    }
    if (refuted != NULL) {
        json_t *one = json_pack("{s:s, s:s}", "run", run->id, "refuted", refuted);
        AK_DO(ak_stored(ak_json_append(g->out->refuted, one), err));
    } else {
        AK_DO(take_best(g->version, run, result, err));
    }
    return ak_archive_each(g->archive, &filter, take_trial, g, err);
}

ak_status ak_versions_gather(ak_versions *out, ak_archive *archive, const char *run, ak_error *err)
{
    AK_AT_END(ak_versions_clear) ak_versions v = {.at = SIZE_MAX, .refuted = json_array()};
    json_auto_t *result = NULL;
    gathering g = {.out = &v, .archive = archive};
    AK_DO(ak_made(v.refuted, err));
    AK_DO(ak_archive_get_run(&v.run, archive, run, err));
    AK_DO(ak_json_parse_text(&result, v.run.result_json, "run", err));
    AK_DO(ak_config_text_in_result(result, err));
    const char *config = ak_json_text_at(json_object_get(result, "best"), "config");
    AK_DO(config[0] == 0 ? AK_OK : ak_trial_set_text(&v.config, config, err));
    AK_DO(ak_archive_runs_like(archive, &v.run, take, &g, err));
    AK_DO(v.at != SIZE_MAX ? AK_OK
                           : ak_fail(err, AK_NOT_FOUND,
                                     "run %s does not say which sources it was made of, so its "
                                     "versions are not known",
                                     v.run.id));
    AK_GIVE(out, v);
    return AK_OK;
}

void ak_versions_clear(ak_versions *versions)
{
    for (size_t i = 0; i < versions->count; i++) {
        ak_kernel_version *v = &versions->list[i];
        AK_FREE_ALL(v->hash, v->since, v->run, v->config);
        json_decref(v->environment);
        json_decref(v->noise);
        ak_pack_clear(&v->sources);
    }
    AK_FREE_ALL(versions->list, versions->config);
    json_decref(versions->refuted);
    ak_run_clear(&versions->run);
    *versions = (ak_versions){0};
}

/* ---- sections -------------------------------------------------------------------------------- */

static void add_speed(ak_section_builder *b, const ak_kernel_version *before,
                      const ak_kernel_version *one)
{
    const ak_speed s =
        ak_apart_speed(&(ak_apart){before->ms, before->low_ms, before->high_ms, before->noise},
                       &(ak_apart){one->ms, one->low_ms, one->high_ms, one->noise});
    const bool undecided = s.verdict == AK_SPEED_UNDECIDED;
    char end[64];
    (void)snprintf(end, sizeof end, "x%s%s%s",
                   undecided                   ? " (not decided: "
                   : s.verdict == AK_SPEED_TIE ? " (tie)"
                                               : "",
                   undecided ? ak_speed_doubt_text(s.doubt) : "", undecided ? ")" : "");
    ak_section_ratio(b, s.ratio, end);
}

static void add_versions(ak_section_builder *b, const ak_versions *v)
{
    ak_section_table(b, "Versions of the kernel", "version", "since", ">runs", ">trials",
                     ">best ms", ">interval", ">speed", "_best configuration", NULL);
    ak_section_notef(b,
                     "All runs of %s %s %s%s%s on %s, oldest version first; run %s is of version "
                     "%zu. Speed is that of a version's best over the best of the version before. "
                     "They were not measured beside each other.",
                     v->run.kernel, v->run.size, v->run.dtype, v->run.choices[0] == 0 ? "" : " ",
                     v->run.choices, v->run.device, v->run.id, v->at + 1);
    for (size_t i = 0; i < v->count; i++) {
        const ak_kernel_version *one = &v->list[i];
        ak_section_cellf(b, "%zu (%.8s)", i + 1, one->hash);
        ak_section_cellf(b, "%.10s %.5s", one->since,
                         strlen(one->since) > 16 ? one->since + 11 : "");
        ak_section_cellf(b, "%zu", one->runs);
        ak_section_cellf(b, "%zu", one->trials);
        ak_section_value(b, one->ms);
        ak_section_interval(b, one->low_ms, one->high_ms);
        if (i > 0) {
            add_speed(b, one - 1, one);
        } else {
            ak_section_cell(b, "-");
        }
        ak_section_cell(b, one->config == NULL ? "-" : one->config);
    }
}

static void add_same(ak_section_builder *b, const ak_versions *v)
{
    if (v->config == NULL) {
        return;
    }
    ak_section_table(b, "The best of this run in each version", "version", ">ms",
                     ">times as fast as in this run's version", NULL);
    ak_section_notef(b, "%s; medians of single trials.", v->config);
    for (size_t i = 0; i < v->count; i++) {
        double own = v->list[v->at].same_ms, ms = v->list[i].same_ms;
        ak_section_cellf(b, "%zu%s", i + 1, i == v->at ? " (this run's)" : "");
        ak_section_value(b, ms);
        ak_section_ratio(b, ms > 0 && own > 0 ? own / ms : 0, "");
    }
}

static void add_refuted(ak_section_builder *b, const ak_versions *v)
{
    if (json_array_size(v->refuted) == 0) {
        return;
    }
    ak_section_begin(b, "Runs whose best does not count");
    AK_EACH(one, v->refuted) {
        ak_section_pair(b, ak_json_text_at(one, "run"), ak_json_text_at(one, "refuted"));
    }
}

/* Adds a row of the table of changes that shows no line of a file. */
static void add_note(ak_section_builder *b, const char *name, const char *text)
{
    ak_section_cell(b, name);
    ak_section_cell(b, "");
    ak_section_cell(b, "");
    ak_section_cell(b, text);
}

/* Adds the changed lines of one file. */
static void add_lines(ak_section_builder *b, const char *name, const char *before,
                      const char *after)
{
    AK_FREED ak_line_change *list = NULL;
    size_t count = 0;
    if (b->status != AK_OK) {
        return;
    }
    b->status = ak_line_diff(&list, &count, before, after, b->err);
    for (size_t i = 0; b->status == AK_OK && i < count && i < LINES_SHOWN; i++) {
        ak_section_cell(b, name);
        ak_section_cellf(b, "%zu", list[i].line);
        ak_section_cellf(b, "%c", list[i].kind);
        ak_section_cellf(b, "%.*s", (int)list[i].length, list[i].text);
    }
    if (count > LINES_SHOWN) {
        ak_section_cell(b, name);
        ak_section_cell(b, "");
        ak_section_cell(b, "");
        ak_section_cellf(b, "(and %zu line%s more)", count - LINES_SHOWN,
                         ak_plural(count - LINES_SHOWN));
    }
}

/* Adds the changed lines of a file, or that its data changed. `before` or `after` is NULL if the
   file was not there. */
static void add_file(ak_section_builder *b, const ak_pack_file *before, const ak_pack_file *after)
{
    const ak_pack_file none = {.data = ""}, *file = after != NULL ? after : before;
    before = before == NULL ? &none : before;
    after = after == NULL ? &none : after;
    if (ak_pack_is_text(before->data, before->length) &&
        ak_pack_is_text(after->data, after->length)) {
        add_lines(b, file->name, before->data, after->data);
    } else if (before->length != after->length ||
               memcmp(before->data, after->data, after->length) != 0) {
        add_note(b, file->name, "(other data)");
    }
}

/* Appends the names of the members of `one` that `other` lacks and, unless `missing`, of those that
   have another value there. The member "source" is left out. */
static void list_changed(ak_buf *out, const json_t *one, const json_t *other, bool missing)
{
    AK_EACH_MEMBER(key, value, one) {
        const json_t *there = json_object_get(other, key);
        if (strcmp(key, "source") != 0 &&
            (there == NULL || !(missing || json_equal(there, value)))) {
            ak_buf_print(out, "%s%.100s", out->length == 0 ? "" : ", ", key);
        }
    }
}

/* Notes which members of the environment, besides the sources, differ, because they may also
   explain a change of speed. */
static void note_change(ak_section_builder *b, const ak_versions *v, size_t at)
{
    AK_AT_END(ak_buf_free) ak_buf others = AK_BUF(4096);
    const json_t *before = v->list[at - 1].environment, *after = v->list[at].environment;
    list_changed(&others, after, before, false);
    list_changed(&others, before, after, true);
    ak_section_notef(b, "From version %zu to version %zu.%s%s%s", at, at + 1,
                     others.length == 0 ? "" : " The environment differs also in: ",
                     others.length == 0 ? "" : others.data, others.length == 0 ? "" : ".");
}

static void add_changes(ak_section_builder *b, const ak_versions *v, size_t at)
{
    const ak_pack *before = &v->list[at - 1].sources, *after = &v->list[at].sources;
    ak_section_table(b, "What changed", "file", ">line", "", "text", NULL);
    note_change(b, v, at);
    for (size_t i = 0; i < after->count && before->count > 0; i++) {
        add_file(b, ak_pack_find(before, after->files[i].name), &after->files[i]);
    }
    for (size_t i = 0; i < before->count && after->count > 0; i++) {
        if (ak_pack_find(after, before->files[i].name) == NULL) {
            add_file(b, &before->files[i], NULL);
        }
    }
    if (b->status == AK_OK && b->section->cell_count == 0) {
        add_note(b, "-", "the archive has not kept the sources of both");
    }
}

ak_status ak_versions_sections(ak_sections *out, const ak_versions *v, ak_error *err)
{
    ak_section_builder b;
    AK_DO(ak_sections_open(&b, out, err));
    add_versions(&b, v);
    add_same(&b, v);
    add_refuted(&b, v);
    /* Each change from a version to the next is a section. If there is no room for all changes,
       only the latest are shown. */
    size_t most = AK_SECTIONS_MAX - 3, first = v->count > most ? v->count - most : 1;
    for (size_t i = first; i < v->count; i++) {
        add_changes(&b, v, i);
    }
    return ak_sections_end(&b);
}

/* ---- the page -------------------------------------------------------------------------------- */

ak_status ak_versions_object(json_t **out, const ak_versions *v, const ak_sections *sections,
                             ak_error *err)
{
    json_t *list = json_array();
    for (size_t i = 0; i < v->count; i++) {
        const ak_kernel_version *one = &v->list[i];
        json_t *version =
            json_pack("{s:s, s:s, s:s?, s:s?, s:I, s:I, s:o, s:o, s:o, s:o}", "source", one->hash,
                      "since", one->since, "run", one->run, "config", one->config, "runs",
                      (json_int_t)one->runs, "trials", (json_int_t)one->trials, "ms",
                      ak_json_known(one->ms), "low_ms", ak_json_known(one->low_ms), "high_ms",
                      ak_json_known(one->high_ms), "same_ms", ak_json_known(one->same_ms));
        ak_json_add(&list, version);
    }
    *out = json_pack("{s:o, s:i, s:s, s:s, s:s?, s:s?, s:s?, s:I, s:o}", "versions", list, "schema",
                     1, "kind", "versions", "run", v->run.id, "kernel", v->run.kernel, "size",
                     v->run.size, "device", v->run.device, "version", (json_int_t)v->at + 1,
                     "sections", ak_page_sections(sections));
    return ak_made(*out, err);
}
