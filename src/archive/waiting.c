/*
 * waiting.c: keeps what cannot be written to the archive yet; see archive.h. While nothing waits, a
 * write that meets a lock waits up to a second, because two runs that share an archive lock it for
 * milliseconds only. Later tries wait only RETRY_BUSY_MS, so that the run goes on. An item that the
 * archive refuses, for a reason that does not pass, is set aside for the file of give_up, so that
 * the items behind it are written.
 */
#include <string.h>

#include "archive/field.h"
#include "archive/store.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/text.h"

#define FIRST_BUSY_MS  1000
#define RETRY_BUSY_MS  20
#define USUAL_BUSY_MS  10000
#define RETRY_FIRST_NS AK_SECOND_NS
#define RETRY_LONGEST  (30 * AK_SECOND_NS)
#define SETTLE_NS      (60 * AK_SECOND_NS)
#define SETTLE_STEP_NS (200 * AK_MS_NS)
#define FILE_BYTES_MAX (256u << 20)
#define LINE_BYTES     1000
#define WHAT_BYTES     80

typedef enum item_kind { ITEM_BEGIN, ITEM_TRIAL, ITEM_CALL, ITEM_END } item_kind;

typedef struct item {
    item_kind kind;
    ak_run run; /* for ITEM_END: id, ended and result */
    ak_trial trial;
    ak_call call;
    size_t ticket; /* for ITEM_TRIAL: its id is -ticket until it is written */
} item;

typedef struct ak_waiting {
    int depth; /* number of nested ak_archive_defer */
    ak_archive_patience patience;
    item *items;
    size_t count, capacity, first; /* items before `first` are written or refused */
    item *refused;                 /* items that the archive refused, in order */
    size_t refused_count, refused_capacity;
    ak_error refusal; /* why the first of them was refused */
    int64_t *ids;     /* ids by ticket, from 1 on; 0: not written (yet, or because of a refusal) */
    size_t tickets, ids_capacity;
    int64_t next_ns, pause_ns; /* time of the next try, and the pause before it */
    char run[40];              /* latest run, for the name of the file */
    char left[AK_PATH_MAX];    /* the file with what could not be written; "": there is none */
} waiting;

static void tell(const waiting *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void tell(const waiting *w, const char *format, ...)
{
    AK_AT_END(ak_buf_free) ak_buf line = AK_BUF(LINE_BYTES);
    va_list args;
    va_start(args, format);
    ak_buf_vprint(&line, format, args);
    va_end(args);
    if (w->patience.tell != NULL) {
        w->patience.tell(w->patience.context, line.data);
    }
}

static void item_clear(item *one)
{
    ak_run_clear(&one->run);
    ak_trial_clear(&one->trial);
    ak_call_clear(&one->call);
}

const char *ak_archive_left(const ak_archive *archive)
{
    const waiting *w = archive->waiting;
    return w == NULL || w->left[0] == 0 ? NULL : w->left;
}

size_t ak_archive_waiting(const ak_archive *archive)
{
    const waiting *w = archive->waiting;
    return w == NULL ? 0 : w->count - w->first;
}

int64_t ak_archive_trial_id(const ak_archive *archive, int64_t id)
{
    const waiting *w = archive->waiting;
    if (id >= 0) {
        return id;
    }
    return w != NULL && (size_t)-id <= w->tickets ? w->ids[-id] : 0;
}

ak_status ak_archive_defer(ak_archive *archive, const ak_archive_patience *patience, ak_error *err)
{
    if (archive->waiting == NULL) {
        AK_DO(AK_NEW(archive->waiting, 1, err));
    }
    if (archive->waiting->depth++ == 0) {
        archive->waiting->patience = *patience;
    }
    return AK_OK;
}

/* ---- writing ------------------------------------------------------------------------------- */

static ak_status write_item(ak_archive *archive, item *one, ak_error *err)
{
    waiting *w = archive->waiting;
    ak_status status = AK_OK;
    switch (one->kind) {
    case ITEM_BEGIN:
        return ak_store_add_run(archive, &one->run, err);
    case ITEM_END:
        return ak_store_end_run(archive, one->run.id, one->run.ended, one->run.result_json, err);
    case ITEM_CALL:
        return ak_store_add_call(archive, &one->call, err);
    case ITEM_TRIAL:
        one->trial.parent = ak_archive_trial_id(archive, one->trial.parent);
        status = ak_store_add_trial(archive, &one->trial, err);
        if (status == AK_OK) {
            w->ids[one->ticket] = one->trial.id;
        }
        return status;
    }
    return AK_INTERNAL;
}

/* Returns whether a failed write may succeed later. */
static bool is_passing(ak_status status)
{
    return status == AK_TIMED_OUT || status == AK_IO || status == AK_CORRUPT;
}

/* Returns whether the archive refused the item itself, so that others may be written. */
static bool is_refused(ak_status status)
{
    return status != AK_OK && status != AK_NO_MEMORY && !is_passing(status);
}

/* Moves an item to those that were refused. */
static ak_status set_aside(waiting *w, item *one, const ak_error *why, ak_error *err)
{
    AK_DO(AK_GROW(w->refused, &w->refused_capacity, w->refused_count + 1, err));
    w->refusal = w->refused_count == 0 ? *why : w->refusal;
    w->refused[w->refused_count++] = *one;
    *one = (item){.kind = ITEM_BEGIN};
    return AK_OK;
}

/* Writes the first item that waits, or sets it aside. Returns an error if it still waits. */
static ak_status write_first(ak_archive *archive, ak_error *err)
{
    waiting *w = archive->waiting;
    item *one = &w->items[w->first];
    ak_error why = AK_ERROR_INIT;
    const ak_status status = write_item(archive, one, &why);
    if (is_refused(status)) {
        AK_DO(set_aside(w, one, &why, err));
    } else if (status != AK_OK) {
        return ak_fail(err, status, "%s", why.text);
    }
    item_clear(one);
    w->first++;
    return AK_OK;
}

/* Writes as many items as it can, in order. Returns AK_OK if none waits any more. */
static ak_status flush(ak_archive *archive, int busy_ms, ak_error *err)
{
    waiting *w = archive->waiting;
    ak_status status = AK_OK;
    size_t before = ak_archive_waiting(archive);
    ak_store_busy(archive, busy_ms);
    while (status == AK_OK && w->first < w->count) {
        status = write_first(archive, err);
    }
    ak_store_busy(archive, USUAL_BUSY_MS);
    if (status == AK_OK && before > 0) {
        w->first = w->count = 0;
        const size_t refused = w->refused_count;
        if (refused == 0) {
            tell(w, "%.400s can be written again: nothing is lost", archive->path);
        } else {
            tell(w,
                 "%.400s can be written again, but refuses %zu result%s, which will be in a file",
                 archive->path, refused, ak_plural(refused));
        }
    }
    return status;
}

void ak_archive_retry(ak_archive *archive)
{
    waiting *w = archive->waiting;
    if (ak_archive_waiting(archive) == 0 || ak_clock_ns() < w->next_ns) {
        return;
    }
    if (flush(archive, RETRY_BUSY_MS, NULL) != AK_OK) {
        w->pause_ns = 2 * w->pause_ns < RETRY_LONGEST ? 2 * w->pause_ns : RETRY_LONGEST;
        w->next_ns = ak_clock_ns() + w->pause_ns;
    }
}

static bool defers(const ak_archive *archive)
{
    return archive->waiting != NULL && archive->waiting->depth > 0;
}

/* Writes the reason why the archive cannot be written, as a clause of a sentence. */
static void say_why(char out[LINE_BYTES], const ak_archive *archive, const ak_error *why)
{
    if (why->status == AK_TIMED_OUT) {
        (void)snprintf(out, LINE_BYTES, "%.300s is kept locked by another program", archive->path);
    } else {
        (void)snprintf(out, LINE_BYTES, "%.400s", why->text);
    }
}

/* Queues an item. Takes the contents of `one` only if the item is queued. */
static ak_status put(ak_archive *archive, item *one, const ak_error *why, ak_error *err)
{
    waiting *w = archive->waiting;
    char reason[LINE_BYTES];
    bool first = ak_archive_waiting(archive) == 0;
    AK_DO(AK_GROW(w->items, &w->capacity, w->count + 1, err));
    w->items[w->count++] = *one;
    *one = (item){.kind = ITEM_BEGIN};
    if (first) {
        w->pause_ns = RETRY_FIRST_NS;
        w->next_ns = ak_clock_ns() + w->pause_ns;
        say_why(reason, archive, why);
        tell(w, "%.440s; the run goes on, its results wait in memory until they can be written",
             reason);
    }
    return AK_OK;
}

/* Writes an item at once, or queues it if others wait before it or the write fails for a reason
   that may pass. Fails for any other reason. Takes the contents of `one`, also on failure. */
static ak_status add(ak_archive *archive, item *one, ak_error *err)
{
    ak_error why = AK_ERROR_INIT;
    ak_status status = AK_TIMED_OUT;
    if (ak_archive_waiting(archive) == 0) {
        ak_store_busy(archive, FIRST_BUSY_MS);
        status = write_item(archive, one, &why);
        ak_store_busy(archive, USUAL_BUSY_MS);
    }
    if (status != AK_OK) {
        status = is_passing(status) ? put(archive, one, &why, err)
                                    : ak_fail(err, status, "%s", why.text);
        ak_archive_retry(archive);
    }
    item_clear(one);
    return status;
}

ak_status ak_archive_add_trials(ak_archive *archive, ak_trial **trials, size_t count, ak_error *err)
{
    ak_status status = AK_TIMED_OUT;
    if (count > 1 && ak_archive_waiting(archive) == 0) {
        ak_store_busy(archive, FIRST_BUSY_MS);
        status = ak_store_begin(archive, NULL);
        for (size_t i = 0; i < count && status == AK_OK; i++) {
            status = ak_store_add_trial(archive, trials[i], NULL);
        }
        status = ak_store_end_transaction(archive, status, NULL);
        ak_store_busy(archive, USUAL_BUSY_MS);
    }
    /* If the trials cannot be added in one transaction, they are added one by one: the failure then
       names its trial, and a trial waits in memory if the archive is locked. */
    bool single = status != AK_OK;
    status = AK_OK;
    for (size_t i = 0; i < count && single; i++) {
        const bool first = status == AK_OK;
        const ak_status one = ak_archive_add_trial(archive, trials[i], first ? err : NULL);
        status = first ? one : status;
        single = one == AK_OK || is_refused(one);
    }
    return status;
}

ak_status ak_archive_add_trial(ak_archive *archive, ak_trial *trial, ak_error *err)
{
    if (!defers(archive)) {
        return ak_store_add_trial(archive, trial, err);
    }
    waiting *w = archive->waiting;
    item one = {.kind = ITEM_TRIAL, .ticket = w->tickets + 1};
    ak_status status = AK_OK;
    AK_TRY(ak_trial_copy(&one.trial, trial, err));
    one.trial.parent =
        trial->parent > 0 ? trial->parent : 0; /* the id of a parent that waits is negative */
    AK_TRY(ak_trial_validate(&one.trial, "trial", err));
    one.trial.parent = trial->parent;
    AK_TRY(AK_GROW(w->ids, &w->ids_capacity, w->tickets + 2, err));
    if (trial->timestamp == NULL) {
        char now[AK_CLOCK_UTC_BYTES];
        ak_clock_utc(now);
        AK_TRY(ak_trial_set_text(&trial->timestamp, now, err));
        AK_TRY(ak_trial_set_text(&one.trial.timestamp, now, err));
    }
    w->ids[++w->tickets] = 0;
    AK_DO(add(archive, &one, err)); /* takes the contents of `one` */
    int64_t id = w->ids[w->tickets];
    trial->id = id != 0 ? id : -(int64_t)w->tickets;
    return AK_OK;
out:
    ak_trial_clear(&one.trial);
    return status;
}

ak_status ak_archive_add_run(ak_archive *archive, const ak_run *run, ak_error *err)
{
    if (!defers(archive)) {
        return ak_store_add_run(archive, run, err);
    }
    item one = {.kind = ITEM_BEGIN};
    (void)snprintf(archive->waiting->run, sizeof archive->waiting->run, "%.32s", run->id);
    AK_DO(ak_run_copy(&one.run, run, err));
    return add(archive, &one, err);
}

ak_status ak_archive_end_run(ak_archive *archive, const char *id, const char *ended,
                             const char *result_json, ak_error *err)
{
    if (!defers(archive)) {
        return ak_store_end_run(archive, id, ended, result_json, err);
    }
    item one = {.kind = ITEM_END};
    const ak_run end = {.id = (char *)(uintptr_t)id,
                        .ended = (char *)(uintptr_t)ended,
                        .result_json = (char *)(uintptr_t)result_json};
    AK_DO(ak_run_copy(&one.run, &end, err));
    return add(archive, &one, err);
}

ak_status ak_archive_add_call(ak_archive *archive, const ak_call *call, ak_error *err)
{
    if (!defers(archive)) {
        return ak_store_add_call(archive, call, err);
    }
    char now[AK_CLOCK_UTC_BYTES];
    ak_call record = *call;
    item one = {.kind = ITEM_CALL};
    ak_clock_utc(now);
    record.started = call->started == NULL ? now : call->started;
    AK_DO(ak_call_copy(&one.call, &record, err));
    return add(archive, &one, err);
}

/* ---- the end ------------------------------------------------------------------------------- */

/* Returns the number of items that are not written: those that were refused and those that wait. */
static size_t kept_count(const waiting *w)
{
    return w->refused_count + w->count - w->first;
}

static const item *kept_item(const waiting *w, size_t i)
{
    return i < w->refused_count ? &w->refused[i] : &w->items[w->first + i - w->refused_count];
}

/* Gives an item as a new JSON object; NULL for a call, which such a file cannot hold. */
static ak_status item_json(json_t **out, const item *one, ak_error *err)
{
    *out = NULL;
    if (one->kind == ITEM_TRIAL) {
        ak_trial trial = one->trial; /* borrows the texts */
        trial.id = (int64_t)one->ticket;
        trial.parent = trial.parent < 0 ? -trial.parent : 0;
        return ak_trial_to_json(out, &trial, err);
    }
    if (one->kind == ITEM_CALL) {
        return AK_OK;
    }
    json_t *run = NULL;
    AK_DO(ak_run_to_json(&run, &one->run, err));
    *out = json_pack("{s:o}", "run", run);
    return ak_made(*out, err);
}

/* Prints what is not written as `export --format json` prints trials, with the beginnings and ends
   of runs between them. Ids count within the file; a parent that is in the archive already is left
   out. *count is the number of all entries. */
static ak_status print_items(ak_buf *out, size_t *count, const waiting *w, ak_error *err)
{
    ak_status status = AK_OK;
    *count = 0;
    ak_buf_putc(out, '[');
    for (size_t i = 0; i < kept_count(w); i++) {
        json_t *object;
        AK_TRY(item_json(&object, kept_item(w, i), err));
        if (object != NULL) {
            ak_buf_puts(out, (*count)++ == 0 ? "\n" : ",\n");
            ak_json_print(out, object, false);
            json_decref(object);
        }
    }
out:
    ak_buf_puts(out, "\n]\n");
    return status == AK_OK ? ak_buf_status(out, err) : status;
}

/* Writes the file beside the archive or, if that folder cannot be written either, to the folder for
   temporary files or the current one. */
static ak_status write_beside(char path[AK_PATH_MAX], const ak_archive *archive, const ak_buf *text,
                              ak_error *err)
{
    const waiting *w = archive->waiting;
    const char *temporary = ak_env("TMPDIR");
    const char *slash = strrchr(archive->path, '/');
    const int folder = slash == NULL ? 0 : (int)(slash - archive->path);
    const char *const folders[] = {temporary == NULL ? "/tmp" : temporary, "."};
    (void)snprintf(path, AK_PATH_MAX, "%.*s/autokernel-waiting-%s.json", folder == 0 ? 1 : folder,
                   folder == 0 ? "." : archive->path, w->run[0] == 0 ? "trials" : w->run);
    ak_status status = ak_fs_write(path, text->data, text->length, err);
    for (size_t i = 0; status != AK_OK && i < AK_COUNT(folders); i++) {
        (void)snprintf(path, AK_PATH_MAX, "%.3000s/autokernel-waiting-%s.json", folders[i],
                       w->run[0] == 0 ? "trials" : w->run);
        status = ak_fs_write(path, text->data, text->length, err);
    }
    return status;
}

static void forget(waiting *w)
{
    while (w->first < w->count) {
        item_clear(&w->items[w->first++]);
    }
    for (size_t i = 0; i < w->refused_count; i++) {
        item_clear(&w->refused[i]);
    }
    w->first = w->count = w->refused_count = 0;
}

/* Writes what is not written as the subject and verb of a sentence: "2 trials of the run are". */
static void name_items(char out[WHAT_BYTES], const waiting *w)
{
    size_t trials = 0;
    bool ended = false;
    for (size_t i = 0; i < kept_count(w); i++) {
        trials += kept_item(w, i)->kind == ITEM_TRIAL;
        ended = ended || kept_item(w, i)->kind == ITEM_END;
    }
    if (trials == 0) {
        (void)snprintf(out, WHAT_BYTES, "the result of the run is");
    } else {
        (void)snprintf(out, WHAT_BYTES, "%zu trial%s%s of the run %s", trials, ak_plural(trials),
                       ended ? " and the result" : "", trials == 1 && !ended ? "is" : "are");
    }
}

static ak_status give_up(ak_archive *archive, const ak_error *why, ak_error *err)
{
    waiting *w = archive->waiting;
    char path[AK_PATH_MAX], reason[LINE_BYTES], what[WHAT_BYTES];
    size_t count = 0;
    ak_error fault = AK_ERROR_INIT;
    ak_buf text = AK_BUF(FILE_BYTES_MAX);
    ak_status status = print_items(&text, &count, w, &fault);
    if (status == AK_OK && count > 0) {
        status = write_beside(path, archive, &text, &fault);
    }
    ak_buf_free(&text);
    say_why(reason, archive, why);
    name_items(what, w);
    AK_FAIL_IF(status != AK_OK, err, status, "%s lost: %.200s; and %.200s", what, reason,
               fault.text);
    if (count > 0) {
        tell(w,
             "%.250s; %s in a file; add with `autokernel import --format json %.300s --archive "
             "%.200s`",
             reason, what, path, ak_archive_path(archive));
        (void)snprintf(w->left, sizeof w->left, "%s", path);
    }
    forget(w);
    return AK_OK;
}

static bool cancelled(const waiting *w)
{
    return w->patience.cancel != NULL && *w->patience.cancel != 0;
}

ak_status ak_archive_settle(ak_archive *archive, ak_error *err)
{
    waiting *w = archive->waiting;
    ak_error why = AK_ERROR_INIT;
    if (w == NULL || w->depth == 0 || --w->depth > 0) {
        return AK_OK;
    }
    ak_status status = flush(archive, RETRY_BUSY_MS, &why);
    if (status != AK_OK && !cancelled(w)) {
        const size_t waits = ak_archive_waiting(archive);
        tell(w, "%zu result%s wait%s for %.300s: retrying for %d s; Ctrl-C stops", waits,
             ak_plural(waits), waits == 1 ? "s" : "", archive->path,
             (int)(SETTLE_NS / AK_SECOND_NS));
    }
    int64_t end = ak_clock_ns() + SETTLE_NS;
    while (status != AK_OK && !cancelled(w) && ak_clock_ns() < end) {
        ak_clock_sleep_ns(SETTLE_STEP_NS);
        status = flush(archive, RETRY_BUSY_MS, &why);
    }
    if (kept_count(w) > 0) {
        status = give_up(archive, status == AK_OK ? &w->refusal : &why, err);
    }
    w->patience = (ak_archive_patience){0};
    return status;
}

void ak_archive_undefer(ak_archive *archive)
{
    waiting *w = archive->waiting;
    if (w->depth > 0 && --w->depth == 0) {
        w->patience = (ak_archive_patience){0};
    }
}

/* Frees the items. If the archive is closed without `settle`, those that wait are written now, to
   the archive or else to a file (write_beside), and those that were refused to the file. */
void ak_waiting_free(ak_archive *archive)
{
    waiting *w = archive->waiting;
    ak_error why = AK_ERROR_INIT;
    if (w == NULL) {
        return;
    }
    const ak_status status =
        ak_archive_waiting(archive) == 0 ? AK_OK : flush(archive, FIRST_BUSY_MS, &why);
    if (kept_count(w) > 0) {
        (void)give_up(archive, status == AK_OK ? &w->refusal : &why, NULL);
    }
    forget(w);
    AK_FREE_ALL(w->items, w->refused, w->ids, w);
    archive->waiting = NULL;
}
