/*
 * recording_open.c: opens a recording. It unpacks the file, finds the format by its contents, lets
 * a reader fill a draft (draft.h), and fits the space file of a kernel to it if one is given.
 */

#include "base/unpack.h"
#include "formats/draft.h"
#include "formats/kernel_tuner.h"
#include "problem/task.h"
#include "space/rank.h"

static const ak_recording_format *const formats[] = {
#define X(name) &ak_recording_##name,
#include "formats/recordings.def"
#undef X
    NULL,
};

/* ---- reading a file -------------------------------------------------------------------------- */

static ak_status refuse(const char *path, ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf known = AK_BUF(256);
    for (size_t i = 0; formats[i] != NULL; i++) {
        ak_buf_print(&known, "%s%s", i == 0 ? "" : ", ", formats[i]->name);
    }
    return ak_fail(err, AK_INVALID,
                   "%s is not a recording: it is neither %s nor an archive of autokernel", path,
                   known.data);
}

static ak_status read_json(ak_draft *draft, const char *text, size_t length, const char *path,
                           ak_error *err)
{
    json_auto_t *file = NULL;
    AK_FAIL_IF(strlen(text) != length, err, AK_INVALID,
               "%s is not a recording: it holds a 0 byte, so it is neither JSON nor an archive",
               path);
    /* An error about JSON would mislead if the file was never meant to be JSON. */
    const char *begin = text + strspn(text, " \t\r\n");
    if (*begin != 0 && strchr("{[\xef\xff\xfe", *begin) == NULL &&
        !ak_fs_has_suffix(path, ".json")) {
        return refuse(path, err);
    }
    AK_DO(ak_kernel_tuner_parse(&file, &draft->recording->left_out, text, length, path, err));
    const ak_recording_format *const *format = formats;
    while (*format != NULL && !ak_format_has_mark(file, &(*format)->mark)) {
        format++;
    }
    return *format != NULL ? (*format)->read(draft, file, err) : refuse(path, err);
}

static ak_status read_file(ak_draft *draft, const char *path, ak_error *err)
{
    AK_FREED char *text = NULL;
    size_t length = 0;
    if (ak_archive_is_at(path)) {
        return ak_recording_read_archive(draft, path, err);
    }
    AK_DO(ak_unpack_read(&text, &length, path, AK_JSON_BYTES_MAX, err));
    return read_json(draft, text, length, path, err);
}

/* ---- with a space file ----------------------------------------------------------------------- */

/* Gives the space file's ConfigurationSpace, fitted to the recording. */
static ak_status read_space(json_t **fitted, const ak_recording *recording, const ak_draft *draft,
                            const json_t *space, const char *where, ak_error *err)
{
    json_t *definition = NULL;
    AK_DO(json_is_object(space)
              ? ak_json_object_or_null(&definition, space, "ConfigurationSpace", where, err)
              : ak_fail(err, AK_INVALID, "%s must be a JSON object", where));
    AK_FAIL_IF(definition == NULL, err, AK_INVALID,
               "%s: \"ConfigurationSpace\" is missing: this is not a T1 file", where);
    return ak_draft_fit(fitted, draft, definition, recording->constants, where, err);
}

/* Takes the rank of the recording or, if it states none, of the space file. A rank that reads a
   name that is not known is left out. */
static ak_status read_rank(ak_recording *recording, const json_t *space, const char *where,
                           ak_error *err)
{
    AK_FREED char *text = NULL;
    char place[320];
    bool known;
    AK_DO(recording->stated_rank == NULL ? ak_rank_text(&text, space, "Rank", where, err)
                                         : ak_copy_text(&text, recording->stated_rank, err));
    if (text == NULL) {
        return AK_OK;
    }
    (void)snprintf(place, sizeof place, "%.300s: \"Rank\"", recording->path);
    AK_DO(ak_rank_known(&known, recording->space, recording->constants, text, place, err));
    if (known) {
        recording->rank = text;
        text = NULL;
    }
    return AK_OK;
}

/* The space file with which a recording is opened. */
typedef struct space_file {
    const json_t *space; /* NULL: none */
    const char *where;
    /* Names that the space file may read; NULL: those of the recording and the options of
       `problem`, if there is one. */
    const ak_scope *constants;
    ak_problem *problem;
} space_file;

static ak_status set_constants(ak_recording *recording, const ak_draft *draft,
                               const space_file *with, ak_error *err)
{
    AK_DO(ak_draft_facts(&recording->device_facts, draft, err));
    if (with->constants == NULL) {
        AK_DO(ak_draft_constants(&recording->constants, draft, recording->device_facts, err));
        if (with->problem != NULL) {
            AK_DO(ak_task_choices_scope(recording->constants, with->problem,
                                        draft->recording->choices, err));
        }
    } else {
        recording->constants = ak_scope_new(NULL);
        AK_DO(recording->constants == NULL
                  ? ak_fail_memory(err)
                  : ak_scope_copy(recording->constants, with->constants, err));
    }
    return AK_OK;
}

static ak_status open_with(ak_recording **out, const char *path, const space_file *with,
                           ak_error *err)
{
    json_auto_t *fitted = NULL;
    AK_AT_END(ak_recording_close_at) ak_recording *recording = NULL;
    AK_DO(AK_NEW(recording, 1, err));
    AK_AT_END(ak_draft_clear) ak_draft draft = {.recording = recording, .where = path};
    recording->path = ak_strdup(path);
    AK_DO(recording->path == NULL ? ak_fail_memory(err) : read_file(&draft, path, err));
    AK_DO(set_constants(recording, &draft, with, err));
    if (with->space != NULL) {
        AK_DO(read_space(&fitted, recording, &draft, with->space, with->where, err));
    }
    AK_DO(ak_draft_finish(&draft, fitted, with->where, err));
    AK_DO(read_rank(recording, with->space, with->where, err));
    AK_DO(ak_recording_summarise(recording, err));
    *out = recording;
    recording = NULL;
    return AK_OK;
}

ak_status ak_recording_open_space(ak_recording **out, const char *path, const json_t *space,
                                  const char *where, const ak_scope *constants, ak_error *err)
{
    const space_file with = {.space = space, .where = where, .constants = constants};
    return open_with(out, path, &with, err);
}

/* Opens the problem that a space file belongs to if there is a problem.json beside it; otherwise
   leaves *out unchanged. */
static ak_status problem_beside(ak_problem **out, const char *t1, ak_error *err)
{
    char path[AK_PATH_MAX];
    const char *slash = strrchr(t1, '/');
    int folder = slash == NULL ? 0 : (int)(slash - t1 + 1);
    int length = snprintf(path, sizeof path, "%.*sproblem.json", folder, t1);
    return length < (int)sizeof path && ak_fs_is_file(path) ? ak_problem_open(out, path, err)
                                                            : AK_OK;
}

ak_status ak_recording_open_t1(ak_recording **out, const char *path, const char *t1, ak_error *err)
{
    json_auto_t *document = NULL;
    AK_AT_END(ak_problem_close_at) ak_problem *problem = NULL;
    AK_DO(t1 == NULL ? AK_OK : ak_json_read(&document, t1, err));
    if (t1 != NULL) {
        AK_DO(problem_beside(&problem, t1, err));
    }
    const space_file with = {.space = document, .where = t1, .problem = problem};
    return open_with(out, path, &with, err);
}

ak_status ak_recording_open(ak_recording **out, const char *path, ak_error *err)
{
    return ak_recording_open_space(out, path, NULL, path, NULL, err);
}
