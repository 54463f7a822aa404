#include "formats/config_file.h"

#include <math.h>
#include <stdlib.h>

#include "archive/config_text.h"
#include "base/alloc.h"
#include "base/fs.h"
#include "problem/task.h"

#define PLACE_BYTES 300

static ak_status read_document(json_t **out, const char *path, ak_error *err)
{
    AK_FREED char *text = NULL;
    size_t length;
    int64_t schema = 1;
    AK_DO(ak_fs_read(&text, &length, path, AK_CONFIG_FILE_BYTES_MAX, err));
    json_auto_t *file = NULL;
    AK_DO(ak_json_parse(&file, text, length, path, err));
    AK_FAIL_IF(!json_is_object(file), err, AK_INVALID,
               "%s must be an object as `autokernel export` writes it", path);
    AK_DO(ak_json_int_or(&schema, file, "schema", 1, path, err));
    AK_FAIL_IF(schema != 1, err, AK_INVALID, "%s has schema %lld; this autokernel reads schema 1",
               path, (long long)schema);
    *out = json_incref(file);
    return AK_OK;
}

/* Gives the "kind" of the file: "dispatch", or "" if it has none. Refuses any other. */
static ak_status kind_of(const char **out, const json_t *file, const char *path, ak_error *err)
{
    AK_DO(ak_json_string_or(out, file, "kind", "", path, err));
    AK_FAIL_IF(**out != 0 && strcmp(*out, "dispatch") != 0, err, AK_INVALID,
               "%s is of kind \"%.40s\"; only \"dispatch\" is known", path, *out);
    return AK_OK;
}

static ak_status read_one(char **out, const json_t *file, const char *path, ak_error *err)
{
    json_t *config = NULL;
    AK_DO(ak_json_object(&config, file, "config", path, err));
    return ak_config_text_from_json(out, config, NULL, path, err);
}

ak_status ak_best_config_read(char **config_text, const char *path, ak_error *err)
{
    json_auto_t *file = NULL;
    const char *kind = "";
    AK_DO(read_document(&file, path, err));
    AK_DO(kind_of(&kind, file, path, err));
    if (*kind != 0) {
        AK_DO(
            ak_fail(err, AK_INVALID, "%s is a table for many sizes, not a best_config.json", path));
    }
    return read_one(config_text, file, path, err);
}

/* ---- dispatch.json --------------------------------------------------------------------------- */

/* An entry of the table: the distance of its size, its position in the file, and the index of the
   configuration that it names. */
typedef struct entry {
    double distance;
    size_t at, config;
} entry;

static int by_distance(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->distance != y->distance) {
        return x->distance < y->distance ? -1 : 1;
    }
    return x->at < y->at ? -1 : x->at > y->at;
}

static ak_status measure(double *out, const json_t *wanted, const json_t *size, const char *place,
                         ak_error *err)
{
    *out = 0;
    AK_EACH_MEMBER(name, value, wanted) {
        int64_t here;
        AK_DO(ak_json_int(&here, size, name, place, err));
        AK_FAIL_IF(here < 1, err, AK_INVALID, "%s: \"%s\" must be 1 or more", place, name);
        double ratio = log((double)here / json_number_value(value));
        *out += ratio * ratio;
    }
    return AK_OK;
}

static ak_status read_entry(entry *out, const json_t *object, const json_t *wanted,
                            size_t config_count, const char *place, ak_error *err)
{
    json_t *size = NULL;
    int64_t config = 0;
    AK_DO(json_is_object(object) ? ak_json_object(&size, object, "size", place, err)
                                 : ak_fail(err, AK_INVALID, "%s must be an object", place));
    AK_DO(ak_json_int(&config, object, "config", place, err));
    AK_FAIL_IF(config < 0 || (uint64_t)config >= config_count, err, AK_INVALID,
               "%s: there is no configuration %lld", place, (long long)config);
    out->config = (size_t)config;
    return measure(&out->distance, wanted, size, place, err);
}

static ak_status take_config(char ***out, size_t *count, size_t *capacity, const json_t *config,
                             const char *place, ak_error *err)
{
    AK_FREED char *text = NULL;
    AK_FAIL_IF(!json_is_object(config), err, AK_INVALID, "%s must be an object", place);
    AK_DO(ak_config_text_from_json(&text, config, NULL, place, err));
    if (!AK_HAS_TEXT(*out, *count, text)) {
        AK_DO(AK_GROW(*out, capacity, *count + 1, err));
        (*out)[(*count)++] = text;
        text = NULL;
    }
    return AK_OK;
}

static ak_status read_table(char ***out, size_t *count, const json_t *file, const char *path,
                            const json_t *wanted, ak_error *err)
{
    json_t *sizes = NULL, *configs = NULL;
    char place[PLACE_BYTES];
    size_t capacity = 0;
    AK_FREED entry *entries = NULL;
    AK_DO(ak_json_array_or_null(&sizes, file, "sizes", path, err));
    AK_DO(ak_json_array_or_null(&configs, file, "configs", path, err));
    size_t length = json_array_size(sizes);
    AK_FAIL_IF(length == 0 || length > AK_DISPATCH_SIZES_MAX, err, AK_INVALID,
               "%s: \"sizes\" must have 1 to %d entries", path, AK_DISPATCH_SIZES_MAX);
    AK_DO(AK_NEW(entries, length, err));
    for (size_t i = 0; i < length; i++) {
        (void)snprintf(place, sizeof place, "%.200s: sizes[%zu]", path, i);
        entries[i].at = i;
        AK_DO(read_entry(&entries[i], json_array_get(sizes, i), wanted, json_array_size(configs),
                         place, err));
    }
    qsort(entries, length, sizeof *entries, by_distance);
    for (size_t i = 0; i < length; i++) {
        (void)snprintf(place, sizeof place, "%.200s: configs[%zu]", path, entries[i].config);
        AK_DO(take_config(out, count, &capacity, json_array_get(configs, entries[i].config), place,
                          err));
    }
    return AK_OK;
}

ak_status ak_config_file_read(char ***out, size_t *count, const char *path, const char *size,
                              ak_error *err)
{
    json_auto_t *file = NULL, *wanted = NULL;
    const char *kind = "";
    char **texts = NULL;
    size_t length = 0;
    ak_status status = AK_OK;
    AK_TRY(read_document(&file, path, err));
    AK_TRY(kind_of(&kind, file, path, err));
    AK_TRY(ak_config_text_to_json(&wanted, size, "size", err));
    if (*kind != 0) {
        AK_TRY(read_table(&texts, &length, file, path, wanted, err));
    } else {
        AK_TRY(AK_NEW(texts, 1, err));
        AK_TRY(read_one(&texts[0], file, path, err));
        length = 1;
    }
    *out = texts;
    *count = length;
    texts = NULL;
    length = 0;
out:
    ak_config_file_free(texts, length);
    return status;
}

void ak_config_file_free(char **texts, size_t count)
{
    AK_END_EACH(ak_free, texts, count);
    ak_free((void *)texts);
}

ak_status ak_config_read(ak_config *out, const ak_task *task, const char *path, ak_error *err)
{
    char **texts = NULL;
    size_t count = 0;
    AK_DO(ak_config_file_read(&texts, &count, path, task->size_text, err));
    /* why the configuration of the nearest size is invalid; reported if none is valid */
    ak_error why = AK_ERROR_INIT;
    ak_status status = ak_config_parse(out, task->space, texts[0], &why);
    ak_status nearest = status;
    for (size_t i = 1; i < count && status != AK_OK; i++) {
        status = ak_config_parse(out, task->space, texts[i], NULL);
    }
    if (status != AK_OK) {
        status = ak_fail(err, nearest, "%.200s: %s", path, why.text);
    }
    ak_config_file_free(texts, count);
    return status;
}
