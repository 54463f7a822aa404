/*
 * export.c: holds the table of formats, writes files in these formats, and holds the functions that
 * the formats share.
 *
 * A file is built in memory, written beside the target and renamed, so that the target is either
 * complete or unchanged. A target that is no regular file, such as a pipe, is written directly. The
 * path "-" is standard output.
 */
#include "formats/format.h"

#include <errno.h>
#include <math.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "measure/stats.h"

const ak_format_ops *const ak_formats[] = {
#define X(name) &ak_format_##name,
#include "formats/formats.def"
#undef X
    NULL,
};

ak_status ak_formats_each(ak_list_visitor visit, void *context, ak_error *err)
{
    (void)err;
    for (size_t i = 0; ak_formats[i] != NULL; i++) {
        visit(context, ak_formats[i]->name, ak_formats[i]->description);
    }
    return AK_OK;
}

ak_status ak_format_find(const ak_format_ops **out, const char *name, ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf names = AK_BUF(256);
    for (size_t i = 0; ak_formats[i] != NULL; i++) {
        if (strcmp(ak_formats[i]->name, name) == 0) {
            *out = ak_formats[i];
            return AK_OK;
        }
        ak_buf_print(&names, "%s%s", i == 0 ? "" : ", ", ak_formats[i]->name);
    }
    AK_DO(ak_buf_status(&names, err));
    return ak_fail(err, AK_INVALID, "there is no format \"%.60s\"; the formats are: %s", name,
                   names.data);
}

ak_status ak_format_holds(ak_format_content *out, const char *format, ak_error *err)
{
    const ak_format_ops *ops;
    AK_DO(ak_format_find(&ops, format, err));
    *out = ops->build != NULL        ? AK_FORMAT_BUNDLE
           : ops->write_task != NULL ? AK_FORMAT_TASK
                                     : AK_FORMAT_TRIALS;
    return AK_OK;
}

ak_status ak_format_standard_output(const char *text, size_t length, ak_error *err)
{
    return ak_fs_write_all(STDOUT_FILENO, text, length)
               ? AK_OK
               : ak_fail(err, AK_IO, "standard output: cannot be written: %s%s", strerror(errno),
                         ak_fs_advice(errno));
}

/* Writes the buffer to the file if `status`, which comes from filling it, is AK_OK, and frees the
   buffer. */
static ak_status write_out(ak_buf *text, ak_status status, const char *path, ak_error *err)
{
    AK_TRY(status);
    AK_TRY(ak_buf_status(text, err));
    AK_TRY(strcmp(path, "-") == 0 ? ak_format_standard_output(text->data, text->length, err)
                                  : ak_fs_write(path, text->data, text->length, err));
out:
    ak_buf_free(text);
    return status;
}

static ak_status write_trials(ak_buf *out, ak_archive *archive, const ak_archive_filter *filter,
                              const char *format, ak_error *err)
{
    const ak_format_ops *ops;
    AK_DO(ak_format_find(&ops, format, err));
    AK_FAIL_IF(ops->write == NULL, err, AK_INVALID, "format %s holds no trials: %s", format,
               ops->build != NULL ? "ak_bundle_export makes it" : "it describes a task");
    return ops->write(out, archive, filter, err);
}

ak_status ak_archive_export(ak_archive *archive, const ak_archive_filter *filter,
                            const char *format, const char *path, ak_error *err)
{
    ak_buf text = AK_BUF(AK_EXPORT_BYTES_MAX);
    return write_out(&text, write_trials(&text, archive, filter, format, err), path, err);
}

ak_status ak_archive_export_text(char **out, ak_archive *archive, const ak_archive_filter *filter,
                                 const char *format, ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(AK_EXPORT_BYTES_MAX);
    AK_DO(write_trials(&text, archive, filter, format, err));
    return ak_buf_take(out, &text, err);
}

ak_status ak_task_export(const ak_task *task, const char *format, const char *path, ak_error *err)
{
    const ak_format_ops *ops;
    AK_DO(ak_format_find(&ops, format, err));
    AK_FAIL_IF(ops->write_task == NULL, err, AK_INVALID,
               "format %s is of trials: ak_%s_export writes it", format,
               ops->build != NULL ? "bundle" : "archive");
    ak_buf text = AK_BUF(AK_EXPORT_BYTES_MAX);
    return write_out(&text, ops->write_task(&text, task, err), path, err);
}

/* ---- shared by the formats ------------------------------------------------------------------- */

bool ak_format_has_mark(const json_t *file, const ak_format_mark *mark)
{
    const json_t *value = json_object_get(file, mark->member);
    return value != NULL && json_typeof(value) == mark->type;
}

ak_status ak_format_check_task(ak_trial *first, const char *format, const ak_trial *trial,
                               ak_error *err)
{
    if (first->kernel == NULL) {
        return ak_trial_copy(first, trial, err);
    }
    const char *name = ak_trial_task_difference(first, trial);
    if (name == NULL) {
        return AK_OK;
    }
    char before[160];
    (void)snprintf(before, sizeof before,
                   "a %s file holds one task, but trials of different ones match", format);
    return ak_fail_tasks(err, before, name, *ak_trial_text(first, name),
                         *ak_trial_text(trial, name));
}

bool ak_format_set_texts(json_t *object, const ak_trial *trial, const char *const *names)
{
    bool good = true;
    for (; *names != NULL && good; names++) {
        good = ak_json_set_text(object, *names, *ak_trial_text(trial, *names));
    }
    return good;
}

ak_status ak_format_take_texts(ak_trial *trial, const json_t *object, const char *const *names,
                               const char *where, ak_error *err)
{
    for (; *names != NULL; names++) {
        const char *text;
        AK_DO(ak_json_string_or(&text, object, *names, NULL, where, err));
        AK_DO(text == NULL ? AK_OK : ak_trial_set_text(ak_trial_text(trial, *names), text, err));
    }
    return AK_OK;
}

ak_status ak_format_add_entry(ak_entry_writer *writer, json_t *entry, ak_error *err)
{
    AK_DO(ak_made(entry, err));
    ak_buf_puts(writer->out, writer->count++ == 0 ? "\n" : ",\n");
    ak_json_print(writer->out, entry, false);
    json_decref(entry);
    return ak_buf_status(writer->out, err);
}

static bool two_digits(int *out, const char *text, int low, int high)
{
    if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9') {
        return false;
    }
    *out = (text[0] - '0') * 10 + (text[1] - '0');
    return *out >= low && *out <= high;
}

/* Reads "", "Z", "+hh:mm" or "+hhmm", also with "-", as minutes east of Greenwich. */
static bool read_zone(int *minutes, const char *text)
{
    int hours, rest;
    *minutes = 0;
    if (*text == 0 || strcmp(text, "Z") == 0) {
        return true;
    }
    if ((*text != '+' && *text != '-') || !two_digits(&hours, text + 1, 0, 14)) {
        return false;
    }
    const char *tail = text + 3 + (text[3] == ':' ? 1 : 0);
    if (!two_digits(&rest, tail, 0, 59) || tail[2] != 0) {
        return false;
    }
    *minutes = (*text == '-' ? -1 : 1) * (hours * 60 + rest);
    return true;
}

/* Reads the whole seconds since 1970, and the milliseconds beyond them. */
static bool read_timestamp(time_t *seconds, int *ms, const char *text)
{
    static const char shape[] = "dddd-dd-dd?dd:dd:dd";
    if (strlen(text) < sizeof shape - 1) {
        return false;
    }
    for (size_t i = 0; shape[i] != 0; i++) {
        bool good = shape[i] == 'd'   ? text[i] >= '0' && text[i] <= '9'
                    : shape[i] == '?' ? text[i] == 'T' || text[i] == ' '
                                      : text[i] == shape[i];
        if (!good) {
            return false;
        }
    }
    int century, year, month, day, hour, minute, second, zone;
    if (!two_digits(&century, text, 19, 99) || !two_digits(&year, text + 2, 0, 99) ||
        !two_digits(&month, text + 5, 1, 12) || !two_digits(&day, text + 8, 1, 31) ||
        !two_digits(&hour, text + 11, 0, 23) || !two_digits(&minute, text + 14, 0, 59) ||
        !two_digits(&second, text + 17, 0, 60)) {
        return false;
    }
    const char *p = text + sizeof shape - 1;
    *ms = 0;
    if (*p == '.') {
        int scale = 100;
        for (p++; *p >= '0' && *p <= '9'; p++) {
            *ms += (*p - '0') * scale;
            scale /= 10;
        }
    }
    if (!read_zone(&zone, p)) {
        return false;
    }
    struct tm utc = {
        .tm_year = century * 100 + year - 1900,
        .tm_mon = month - 1,
        .tm_mday = day,
        .tm_hour = hour,
        .tm_min = minute,
        .tm_sec = second,
    };
    *seconds = timegm(&utc) - (time_t)zone * 60;
    return true;
}

bool ak_format_timestamp(char out[AK_TIMESTAMP_BYTES], const char *text)
{
    char whole[24];
    struct tm utc;
    time_t seconds;
    int ms;
    if (!read_timestamp(&seconds, &ms, text) || gmtime_r(&seconds, &utc) == NULL ||
        strftime(whole, sizeof whole, "%Y-%m-%dT%H:%M:%S", &utc) == 0) {
        return false;
    }
    (void)snprintf(out, AK_TIMESTAMP_BYTES, "%s.%03dZ", whole, ms);
    return true;
}

bool ak_format_seconds(double *out, const char *text)
{
    time_t seconds = 0;
    int ms = 0;
    const bool good = text != NULL && read_timestamp(&seconds, &ms, text);
    *out = (double)seconds + ms / 1e3;
    return good;
}

void ak_format_summarise(ak_trial *trial)
{
    if (trial->sample_count > 0) {
        ak_stats stats;
        ak_stats_of(&stats, trial->samples_ms, trial->sample_count);
        trial->median_ms = stats.median;
        trial->ci_low_ms = stats.low;
        trial->ci_high_ms = stats.high;
    }
}

int64_t ak_format_ns(double ms)
{
    /* 1e12 ms are 30 years. A longer time comes from a damaged file, and could overflow. */
    const double longest_ms = 1e12;
    return ms > 0 && ms < longest_ms ? (int64_t)llround(ms * 1e6) : 0;
}

double ak_format_ms(int64_t ns)
{
    return (double)ns / 1e6;
}

ak_status ak_format_environment(json_t **out, ak_archive *archive, const char *hash, ak_error *err)
{
    json_auto_t *known = NULL;
    ak_status status = ak_archive_environment(&known, archive, hash, err);
    if (status != AK_OK && status != AK_INVALID && status != AK_LIMIT) {
        return status; /* an environment that is not JSON is left out */
    }
    json_t *object = json_object();
    bool good = object != NULL && ak_json_set_text(object, "hash", hash);
    if (json_is_object(known)) {
        good = good && json_object_update_missing(object, known) == 0;
    }
    return ak_json_give(out, object, good, err);
}
