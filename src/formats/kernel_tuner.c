/* kernel_tuner.c: see kernel_tuner.h. Facts about the files come from Kernel Tuner 1.5.0: util.py
   (process_cache, read_cache, store_cache) and backends/compiler.py. */
#include "formats/kernel_tuner.h"

#include "base/clock.h"
#include "base/proc.h"
#include "formats/draft.h"

/* ---- Python's JSON --------------------------------------------------------------------------- */

/* Returns the length of a word at `text` that Python writes but JSON does not allow; 0 if there is
   none. */
static size_t no_number(const char *text)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < AK_COUNT(words); i++) {
        if (strncmp(text, words[i], strlen(words[i])) == 0) {
            return strlen(words[i]);
        }
    }
    return 0;
}

/* Copies the text and replaces NaN, Infinity and -Infinity outside of strings by null. Returns
   false if the text has none of these words. */
static bool without_no_numbers(ak_buf *out, const char *text, size_t length)
{
    bool in_string = false, found = false;
    size_t begin = 0;
    for (size_t i = 0; i < length; i++) {
        if (in_string && text[i] == '\\') {
            i++;
        } else if (text[i] == '"') {
            in_string = !in_string;
        } else if (!in_string && strchr("NI-", text[i]) != NULL && text[i] != 0) {
            size_t word = no_number(text + i);
            if (word > 0) {
                ak_buf_append(out, text + begin, i - begin);
                ak_buf_puts(out, "null");
                i += word - 1;
                begin = i + 1;
                found = true;
            }
        }
    }
    ak_buf_append(out, text + begin, begin < length ? length - begin : 0);
    return found;
}

ak_status ak_python_json_parse(json_t **out, const char *text, size_t length, const char *path,
                               ak_error *err)
{
    ak_status status = ak_json_parse(out, text, length, path, err);
    if (status != AK_INVALID) {
        return status;
    }
    AK_AT_END(ak_buf_free) ak_buf plain = AK_BUF(AK_JSON_BYTES_MAX);
    if (without_no_numbers(&plain, text, length)) {
        status = ak_buf_status(&plain, err);
        if (status == AK_OK) {
            status = ak_json_parse(out, plain.data, plain.length, path, err);
        }
    }
    return status;
}

/* ---- cache files ----------------------------------------------------------------------------- */

/* Parses the first `length` bytes of the text, less the blanks and commas at their end, with
   `braces` appended. Returns false if that fails. */
static bool parse_closed(json_t **out, const char *text, size_t length, const char *braces,
                         const char *path)
{
    while (length > 0 && strchr(" \t\r\n,", text[length - 1]) != NULL) {
        length--;
    }
    AK_AT_END(ak_buf_free) ak_buf closed = AK_BUF(AK_JSON_BYTES_MAX);
    ak_buf_append(&closed, text, length);
    ak_buf_puts(&closed, braces);
    return ak_buf_status(&closed, NULL) == AK_OK &&
           ak_python_json_parse(out, closed.data, closed.length, path, NULL) == AK_OK;
}

/* Returns the length of the text up to the end of its last whole entry: the last brace that closes
   an object within an object within the file's. Returns 0 if there is none, or if the file's object
   is closed, because what follows is then no entry. */
static size_t whole_entries(const char *text, size_t length)
{
    size_t depth = 0, end = 0;
    bool in_string = false;
    for (size_t i = 0; i < length; i++) {
        if (in_string && text[i] == '\\') {
            i++;
        } else if (text[i] == '"') {
            in_string = !in_string;
        } else if (!in_string && text[i] == '{') {
            depth++;
        } else if (!in_string && text[i] == '}' && depth > 0) {
            depth--;
            if (depth == 0) {
                return 0;
            }
            end = depth == 2 ? i + 1 : end;
        }
    }
    return end;
}

/* Parses the text as it is. If that fails, tries again with closing braces added, and then also
   without what follows the last whole entry. The error is about the text as it is. */
ak_status ak_kernel_tuner_parse(json_t **out, const char **left_out, const char *text,
                                size_t length, const char *path, ak_error *err)
{
    ak_status status = ak_python_json_parse(out, text, length, path, err);
    if (status != AK_INVALID) {
        return status;
    }
    if (parse_closed(out, text, length, "}", path) || parse_closed(out, text, length, "}}", path)) {
        return AK_OK;
    }
    if (!parse_closed(out, text, whole_entries(text, length), "}}", path)) {
        return status;
    }
    *left_out = "the cache of Kernel Tuner ends in the middle of an entry, which is left out";
    return AK_OK;
}

/* Gives the value of a parameter as a number; true and false are 1 and 0, as in Python. Returns
   false for any other value. */
static bool number_of(double *out, const json_t *value)
{
    *out = json_is_boolean(value) ? (double)json_is_true(value) : json_number_value(value);
    return json_is_boolean(value) || json_is_number(value);
}

/* Returns whether a part of a key, as Python prints it, can be the value. A part of another kind
   than the value, such as "np.int64(3)", cannot be compared and fits. */
static bool part_fits(const char *part, size_t length, const json_t *value)
{
    double number, its = 0;
    if (number_of(&number, value)) {
        char text[128]; /* longer than what Python prints of a float or of an integer of 64 bits,
                           and the reader of JSON refuses longer ones */
        (void)snprintf(text, sizeof text, "%.*s", (int)length, part);
        bool word = strcmp(text, "True") == 0 || strcmp(text, "False") == 0;
        its = word ? (double)(text[0] == 'T') : 0;
        return !(word || ak_text_real(&its, text)) || number == its;
    }
    return !json_is_string(value) || memchr(part, '\'', length) != NULL ||
           (json_string_length(value) == length &&
            memcmp(part, json_string_value(value), length) == 0);
}

ak_status ak_kernel_tuner_agrees(const json_t *file, const char *key, const json_t *entry,
                                 const char *where, ak_error *err)
{
    const json_t *order = json_object_get(file, "tune_params_keys");
    size_t commas = 0;
    AK_DO(ak_draft_check_time(json_number_value(json_object_get(entry, "time")),
                              json_object_get(entry, "times"), 1, where, err));
    for (const char *at = key; *at != 0; at++) {
        commas += *at == ',';
    }
    if (commas + 1 != json_array_size(order)) {
        return AK_OK; /* a value may have a comma of its own */
    }
    AK_EACH(name, order) {
        AK_FREED char *text = NULL;
        const char *word = json_string_value(name), *part = key;
        const json_t *value = word == NULL ? NULL : json_object_get(entry, word);
        const size_t length = strcspn(part, ",");
        key += length + (part[length] == ',' ? 1 : 0);
        if (value == NULL || part_fits(part, length, value)) {
            continue; /* the reader reports a missing value */
        }
        AK_DO(ak_json_text(&text, value, err));
        return ak_fail(err, AK_INVALID, "%s: \"%.60s\" is %.60s, but the key says %.*s", where,
                       word, text, (int)(length < 60 ? length : 60), part);
    }
    return AK_OK;
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* Errors and the statuses that they stand for. The name that is written for a status is the first
   one here. */
static const struct {
    const char *name;
    ak_trial_status status;
} faults[] = {
    {"InvalidConfig", AK_TRIAL_INVALID},
    {"InvalidConfig", AK_TRIAL_REJECTED},
    {"CompilationFailedConfig", AK_TRIAL_COMPILE_ERROR},
    {"RuntimeFailedConfig", AK_TRIAL_LAUNCH_ERROR},
    {"RuntimeFailedConfig", AK_TRIAL_WRONG_RESULT},
    {"RuntimeFailedConfig", AK_TRIAL_CRASHED},
    {"RuntimeFailedConfig", AK_TRIAL_TIMED_OUT},
    {"RuntimeFailedConfig", AK_TRIAL_OUT_OF_MEMORY},
    /* The base class of errors, which does not tell what failed. */
    {"ErrorConfig", AK_TRIAL_LAUNCH_ERROR},
};
#define FAULT_COUNT (AK_COUNT(faults))

const char *ak_kernel_tuner_fault_name(ak_trial_status status)
{
    for (size_t i = 0; i < FAULT_COUNT; i++) {
        if (faults[i].status == status) {
            return faults[i].name;
        }
    }
    return NULL;
}

static bool find_fault(ak_trial_status *out, const char *name)
{
    const size_t at = name == NULL ? FAULT_COUNT : AK_FIND(faults, FAULT_COUNT, name, name);
    if (at < FAULT_COUNT) {
        *out = faults[at].status;
    }
    return at < FAULT_COUNT;
}

ak_status ak_kernel_tuner_fault(ak_trial_status *out, const char **name, const json_t *entry,
                                const char *where, ak_error *err)
{
    *out = AK_TRIAL_OK;
    *name = NULL;
    AK_EACH_MEMBER(key, value, entry) {
        if (find_fault(out, json_string_value(value))) {
            *name = json_string_value(value);
            return AK_OK;
        }
    }
    const json_t *value = json_object_get(entry, "__error__");
    if (!json_is_string(value)) {
        value = json_object_get(entry, "time");
    }
    return !json_is_string(value)
               ? AK_OK
               : ak_fail(
                     err, AK_INVALID,
                     "%s: \"%.60s\" is not a known error (InvalidConfig, CompilationFailedConfig, "
                     "RuntimeFailedConfig)",
                     where, json_string_value(value));
}

/* ---- objective and device -------------------------------------------------------------------- */

ak_status ak_kernel_tuner_objective(const char **out, const json_t *file, const char *where,
                                    ak_error *err)
{
    const json_t *value = json_object_get(file, "objective");
    if (json_is_array(value)) {
        value = json_array_get(value, 0);
    } else if (value == NULL || json_is_null(value)) {
        *out = "time";
        return AK_OK;
    }
    *out = json_string_value(value);
    return *out != NULL
               ? AK_OK
               : ak_fail(err, AK_INVALID,
                         "%s: \"objective\" must be a string or an array of strings", where);
}

void ak_kernel_tuner_processor(char out[AK_KERNEL_TUNER_NAME_BYTES])
{
    const char *const argv[] = {"uname", "-p", NULL};
    ak_proc_spec spec = {.argv = argv, .timeout_ns = 10 * AK_SECOND_NS, .only_stdout = true};
    AK_AT_END(ak_proc_result_clear) ak_proc_result result = {0};
    out[0] = 0;
    if (ak_proc_run(&result, &spec, NULL) == AK_OK && !result.timed_out && result.exit_code == 0 &&
        result.output != NULL) {
        size_t length = strcspn(result.output, "\r\n");
        if (length < AK_KERNEL_TUNER_NAME_BYTES && strncmp(result.output, "unknown", length) != 0) {
            memcpy(out, result.output, length);
            out[length] = 0;
        }
    }
}
