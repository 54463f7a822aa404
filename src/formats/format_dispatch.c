/*
 * format_dispatch.c: writes dispatch.json: the few configurations that a run over many sizes chose,
 * and which of them each size gets. `bench --config @FILE` reads it for any size (config_file.c).
 */
#include "formats/format.h"

#include "archive/config_text.h"
#include "archive/store.h"
#include "base/alloc.h"
#include "base/clock.h"

/* The latest run over many sizes whose result has a table. */
typedef struct source {
    ak_run run;
    json_t *result;
} source;

static void source_clear(source *from)
{
    ak_run_clear(&from->run);
    json_decref(from->result);
    *from = (source){.result = NULL};
}

/* Reads the run that a row names. Sets *found to whether its result has a table. */
static ak_status read_row(bool *found, source *out, ak_archive *archive, sqlite3_stmt *row,
                          ak_error *err)
{
    const char *id = (const char *)sqlite3_column_text(row, 0);
    AK_DO(ak_made(id, err));
    AK_DO(ak_archive_get_run(&out->run, archive, id, err));
    AK_DO(ak_json_parse_text(&out->result, out->run.result_json, "result of the run", err));
    *found = json_is_object(json_object_get(out->result, "table"));
    return AK_OK;
}

static ak_status find_source(source *out, ak_archive *archive, const ak_archive_filter *filter,
                             ak_error *err)
{
    AK_AT_END(ak_store_finalize) sqlite3_stmt *rows = NULL;
    bool found = false;
    const char *const texts[] = {filter->kernel, filter->implementation, filter->device,
                                 filter->dtype,  filter->choices,        filter->environment,
                                 filter->run};
    ak_status status = ak_store_query(
        &rows, archive,
        "SELECT id FROM " AK_STORE_RUNS_MADE
        " WHERE (?1 IS NULL OR kernel = ?1) AND (?2 IS NULL OR implementation = ?2) "
        "AND (?3 IS NULL OR device = ?3) AND (?4 IS NULL OR dtype = ?4) "
        "AND (?5 IS NULL OR choices = ?5) AND (?6 IS NULL OR environment IN " AK_STORE_ENVIRONMENTS(
            "?6") ") AND (?7 IS NULL OR id = ?7) AND (coalesce(?3, ?6, ?7) IS NOT NULL OR "
                  "NOT " AK_STORE_SIMULATED
                  ") AND result IS NOT NULL ORDER BY made DESC, number DESC",
        texts, 7, err);
    while (!found && ak_store_next(&status, archive, rows, err)) {
        source_clear(out);
        status = read_row(&found, out, archive, rows, err);
    }
    if (status == AK_OK && !found) {
        status = ak_fail(err, AK_NOT_FOUND,
                         "%s: no run over many sizes matches; make one with `autokernel tune "
                         "KERNEL --sizes ...`",
                         ak_archive_path(archive));
    }
    return status;
}

size_t ak_format_place_in(const json_t *table, const json_t *config)
{
    AK_EACH(one, json_object_get(table, "configs")) {
        if (json_is_integer(config) && json_integer_value(one) == json_integer_value(config)) {
            return one_at + 1;
        }
    }
    return 0;
}

static bool copy_member(json_t *to, const char *as, const json_t *from, const char *key)
{
    json_t *value = json_object_get(from, key);
    return value == NULL ? ak_json_set(to, as, json_null()) : json_object_set(to, as, value) == 0;
}

static ak_status size_entry(json_t **out, const json_t *one, const json_t *table, ak_error *err)
{
    json_auto_t *size = NULL, *object = json_object();
    const char *text = ak_json_text_or_null(one, "size");
    AK_DO(text == NULL ? ak_fail(err, AK_CORRUPT,
                                 "the archived result of 'tune --sizes' is damaged "
                                 "(an entry has no size): tune again")
                       : ak_config_text_to_json(&size, text, "result: size", err));
    const size_t at = ak_format_place_in(table, json_object_get(one, "config"));
    AK_FAIL_IF(at == 0, err, AK_CORRUPT,
               "the archived result of 'tune --sizes' is damaged (a size has no "
               "configuration): tune again");
    bool good = object != NULL && json_object_set(object, "size", size) == 0 &&
                ak_json_set_count(object, "config", at - 1) &&
                copy_member(object, "loss", one, "loss") &&
                copy_member(object, "loss_ci", one, "loss_ci") &&
                copy_member(object, "loss_verdict", one, "loss_verdict") &&
                copy_member(object, "best_ms", one, "ms") &&
                copy_member(object, "best_ci_ms", one, "ci_ms");
    AK_DO(ak_stored(good, err));
    *out = json_incref(object);
    return AK_OK;
}

/* Fails if a trial refutes the configuration of an entry at the size of the entry. */
static ak_status check_entry(ak_archive *archive, const source *from, const json_t *one,
                             ak_error *err)
{
    const json_t *configs = json_object_get(from->result, "configs");
    const json_t *config =
        json_array_get(configs, (size_t)json_integer_value(json_object_get(one, "config")));
    AK_FREED char *text = NULL;
    AK_DO(ak_config_text_from_json(&text, config, NULL, "result: configuration", err));
    ak_archive_filter filter = ak_run_filter(&from->run);
    filter.size = ak_json_text_or_null(one, "size");
    filter.config = text;
    return ak_archive_refuse_refuted(archive, &filter, err);
}

static ak_status lists_of(json_t *configs, json_t *sizes, ak_archive *archive, const source *from,
                          ak_error *err)
{
    const json_t *table = json_object_get(from->result, "table");
    const json_t *all = json_object_get(from->result, "configs");
    AK_EACH(one, json_object_get(table, "configs")) {
        json_int_t at = json_integer_value(one);
        json_t *config = json_array_get(all, (size_t)at);
        AK_DO(config == NULL
                  ? ak_fail(err, AK_CORRUPT, "result: configuration %lld is missing", (long long)at)
              : json_array_append(configs, config) != 0 ? ak_fail_memory(err)
                                                        : AK_OK);
    }
    AK_EACH(one, json_object_get(from->result, "sizes")) {
        json_t *entry = NULL;
        AK_DO(size_entry(&entry, one, table, err));
        AK_DO(ak_stored(ak_json_append(sizes, entry), err));
        AK_DO(check_entry(archive, from, one, err));
    }
    return AK_OK;
}

static ak_status build(json_t **out, ak_archive *archive, const char *kernel, const source *from,
                       ak_error *err)
{
    char now[AK_CLOCK_UTC_BYTES];
    const json_t *table = json_object_get(from->result, "table");
    json_auto_t *object = json_object(), *configs = json_array(), *sizes = json_array();
    json_auto_t *choices = NULL, *environment = NULL, *loss = json_object();
    AK_DO(object == NULL || configs == NULL || sizes == NULL || loss == NULL
              ? ak_fail_memory(err)
              : lists_of(configs, sizes, archive, from, err));
    AK_DO(ak_config_text_to_json(&choices, from->run.choices, "choices", err));
    AK_DO(ak_format_environment(&environment, archive, from->run.environment, err));
    ak_clock_utc(now);
    bool good =
        copy_member(loss, "geomean", table, "geomean") &&
        copy_member(loss, "worst", table, "worst") &&
        copy_member(loss, "worst_size", table, "worst_size") &&
        copy_member(loss, "undecided", table, "undecided") &&
        ak_json_set(object, "schema", json_integer(1)) &&
        ak_json_set_texts(object, "kind", "dispatch", "kernel", kernel, "implementation",
                          from->run.implementation, "device", from->run.device, "dtype",
                          from->run.dtype) &&
        json_object_set(object, "choices", choices) == 0 &&
        json_object_set(object, "configs", configs) == 0 &&
        json_object_set(object, "sizes", sizes) == 0 &&
        copy_member(object, "method", table, "method") &&
        json_object_set(object, "loss", loss) == 0 &&
        copy_member(object, "warnings", from->result, "warnings") &&
        json_object_set(object, "environment", environment) == 0 &&
        ak_json_set_texts(object, "run", from->run.id, "created", now, "autokernel", AK_VERSION);
    AK_DO(ak_stored(good, err));
    *out = json_incref(object);
    return AK_OK;
}

ak_status ak_format_dispatch_table(json_t **out, ak_archive *archive,
                                   const ak_archive_filter *filter, ak_error *err)
{
    static const ak_archive_filter everything = {0};
    AK_AT_END(source_clear) source from = {0};
    filter = filter == NULL ? &everything : filter;
    AK_FAIL_IF(filter->size != NULL, err, AK_INVALID,
               "a dispatch table is for all sizes of its run: leave the size out");
    AK_DO(find_source(&from, archive, filter, err));
    const char *kernel = ak_json_text_or_null(from.result, "kernel");
    return build(out, archive, kernel, &from, err);
}

static ak_status write_dispatch(ak_buf *out, ak_archive *archive, const ak_archive_filter *filter,
                                ak_error *err)
{
    json_auto_t *object = NULL;
    AK_DO(ak_format_dispatch_table(&object, archive, filter, err));
    ak_json_print(out, object, true);
    ak_buf_putc(out, '\n');
    return AK_OK;
}

const ak_format_ops ak_format_dispatch = {
    .name = "dispatch",
    .description = "dispatch.json: the configurations chosen for many sizes (export only)",
    .write = write_dispatch,
};
