/* elsewhere.c: see elsewhere.h. The archive is read twice: first for the list of places, then for
   the trials of the nearest ones. */
#include "tuner/elsewhere.h"

#include <math.h>
#include <stdlib.h>

#include "archive/config_text.h"
#include "base/device_name.h"
#include "strategy/like_read.h"

enum {
    PLACES_MAX = 8,  /* most places that a run learns from; further ones add little */
    KNOWN_MAX = 1024 /* most places of an archive that are considered */
};

/* Distances, in doublings of a size, that another dtype, option or device adds. Results of another
   device carry over least. */
#define OTHER_DTYPE  1.0
#define OTHER_CHOICE 1.0
#define OTHER_DEVICE 2.0

/* What identifies a place. Two places with equal texts before ENVIRONMENT are of one task. */
enum { SIZE, DTYPE, CHOICES, DEVICE, ENVIRONMENT, TEXTS };

/* A task in an environment, for which the archive has trials. */
typedef struct place {
    const char *text[TEXTS];
    double distance;
    size_t order;
    bool worked; /* at least one configuration worked there */
} place;

typedef struct reader {
    const ak_task *task;
    ak_arena *arena; /* holds the texts of the places */
    place *places;
    size_t count, capacity;
    ak_like *like;
} reader;

static bool are_same(const char *const *a, const char *const *b, size_t count)
{
    bool same = true;
    for (size_t i = 0; i < count; i++) {
        same = same && ak_text_same(a[i], b[i]);
    }
    return same;
}

/* Lists the texts of the run's own task; it has no ENVIRONMENT. */
static void own_texts(const char *out[TEXTS], const ak_task *task)
{
    out[SIZE] = task->size_text;
    out[DTYPE] = ak_task_dtype(task);
    out[CHOICES] = task->choices_text;
    out[DEVICE] = task->device;
    out[ENVIRONMENT] = NULL;
}

static double distance_of(const char *const *own, const char *const *other)
{
    static const double more[TEXTS] = {
        [DTYPE] = OTHER_DTYPE, [CHOICES] = OTHER_CHOICE, [DEVICE] = OTHER_DEVICE};
    double distance = ak_near_sizes(NULL, other[SIZE], own[SIZE]);
    for (size_t i = DTYPE; i <= DEVICE; i++) {
        distance += ak_text_same(other[i], own[i]) ? 0 : more[i];
    }
    return distance;
}

static ak_status add_place(reader *r, const char *const *text, double distance, ak_error *err)
{
    AK_DO(AK_GROW(r->places, &r->capacity, r->count + 1, err));
    place *p = &r->places[r->count];
    *p = (place){.distance = distance, .order = r->count};
    r->count++;
    for (size_t i = 0; i < TEXTS; i++) {
        AK_DO(ak_arena_text(&p->text[i], r->arena, ak_or_empty(text[i]), err));
    }
    return AK_OK;
}

static ak_status note_place(void *context, const ak_trial *trial, ak_error *err)
{
    reader *r = context;
    const char *own[TEXTS];
    const char *const text[TEXTS] = {trial->size, trial->dtype, trial->choices, trial->device,
                                     trial->environment};
    own_texts(own, r->task);
    double distance = distance_of(own, text);
    if (are_same(own, text, ENVIRONMENT) ||
        ak_device_is_recorded(trial->device) != ak_device_is_recorded(r->task->device) ||
        !(distance < HUGE_VAL)) {
        return AK_OK;
    }
    size_t i = r->count; /* latest first, as a place's trials are mostly adjacent */
    while (i > 0 && !are_same(r->places[i - 1].text, text, TEXTS)) {
        i--;
    }
    if (i == 0 && r->count == KNOWN_MAX) {
        return AK_OK;
    }
    if (i == 0) {
        AK_DO(add_place(r, text, distance, err));
        i = r->count;
    }
    r->places[i - 1].worked |= trial->status == AK_TRIAL_OK;
    return AK_OK;
}

/* Returns true if the trial says nothing about a configuration: it has none, or its failure may be
   the machine's fault. */
static bool says_nothing(const ak_trial *trial)
{
    return trial->config == NULL || trial->status == AK_TRIAL_TIMED_OUT ||
           trial->status == AK_TRIAL_CRASHED || trial->status == AK_TRIAL_OUT_OF_MEMORY;
}

static ak_status take_trial(void *context, const ak_trial *trial, ak_error *err)
{
    reader *r = context;
    json_auto_t *values = NULL;
    if (says_nothing(trial)) {
        return AK_OK;
    }
    double ms = trial->status == AK_TRIAL_OK ? ak_trial_cost(trial) : HUGE_VAL;
    AK_DO(ak_config_text_to_json(&values, trial->config, "a trial of the archive", err));
    return ak_like_add(r->like, values, ms, err);
}

static int nearest_first(const void *a, const void *b)
{
    const place *x = a, *y = b;
    /* Among equal distances the latest place comes first. */
    return x->distance != y->distance ? (x->distance > y->distance) - (x->distance < y->distance)
                                      : (x->order < y->order) - (x->order > y->order);
}

static ak_archive_filter filter_of(const ak_task *task)
{
    return (ak_archive_filter){.kernel = task->problem->name,
                               .implementation = task->implementation->name,
                               .simulated = ak_device_is_recorded(task->device)};
}

/* Looks for places before place `at` that differ from it in the environment only. *other says
   whether there is one, and *known whether one has the same environment under a former hash, so
   that the trials of place `at` have been taken with it. */
static ak_status look_before(bool *known, bool *other, const reader *r, size_t at,
                             ak_archive *archive, ak_error *err)
{
    const char *const *text = r->places[at].text;
    *known = *other = false;
    for (size_t i = 0; i < at && !*known; i++) {
        const char *const *before = r->places[i].text;
        if (are_same(text, before, ENVIRONMENT)) {
            AK_DO(ak_archive_same_environment(known, archive, text[ENVIRONMENT],
                                              before[ENVIRONMENT], err));
            *other = true;
        }
    }
    return AK_OK;
}

/* Adds the trials of one place, unless they were taken with an earlier place. The place is named
   after its size, "M=512,N=512,K=512", followed by whatever else differs from the task, and by a
   note if an earlier place differs in the environment only. */
static ak_status take_place(reader *r, size_t at, ak_archive *archive, ak_error *err)
{
    char name[512];
    bool known, other;
    const char *const *text = r->places[at].text, *own[TEXTS], *shown[TEXTS];
    AK_DO(look_before(&known, &other, r, at, archive, err));
    if (known) {
        return AK_OK;
    }
    own_texts(own, r->task);
    for (size_t i = 0; i < TEXTS; i++) {
        shown[i] = ak_text_same(text[i], own[i]) ? NULL : text[i]; /* what differs from the task */
    }
    (void)snprintf(name, sizeof name, "%.160s%s%.20s%s%.160s%s%.120s%s", text[SIZE],
                   shown[DTYPE] == NULL ? "" : " ", ak_or_empty(shown[DTYPE]),
                   shown[CHOICES] == NULL ? "" : " ", ak_or_empty(shown[CHOICES]),
                   shown[DEVICE] == NULL ? "" : " on ", ak_or_empty(shown[DEVICE]),
                   other ? " of another environment" : "");
    ak_archive_filter filter = filter_of(r->task);
    filter.device = text[DEVICE];
    filter.size = text[SIZE];
    filter.dtype = text[DTYPE];
    filter.choices = text[CHOICES];
    filter.environment = text[ENVIRONMENT];
    AK_DO(ak_like_begin(r->like, name, err));
    return ak_archive_take(archive, &filter, take_trial, r, err);
}

/* Leaves out the places where nothing worked, such as a version of the kernel that was wrong: they
   have no best, and do not tell one configuration from another. */
static void keep_what_worked(reader *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->count; i++) {
        if (r->places[i].worked) {
            r->places[kept++] = r->places[i];
        }
    }
    r->count = kept;
}

static ak_status read_archive(reader *r, ak_archive *archive, ak_error *err)
{
    ak_archive_filter filter = filter_of(r->task);
    AK_DO(ak_archive_take(archive, &filter, note_place, r, err));
    keep_what_worked(r);
    if (r->count > 0) {
        qsort(r->places, r->count, sizeof *r->places, nearest_first);
    }
    for (size_t i = 0; i < r->count && i < PLACES_MAX; i++) {
        AK_DO(take_place(r, i, archive, err));
    }
    return AK_OK;
}

ak_status ak_elsewhere(ak_like **out, const ak_task *task, ak_archive *archive,
                       const ak_tune_options *options, ak_error *err)
{
    ak_status status = AK_OK;
    reader r = {.task = task, .arena = ak_arena_new(), .like = ak_like_new(task->space)};
    *out = NULL;
    AK_TRY(ak_stored(r.arena != NULL && r.like != NULL, err));
    for (size_t i = 0; i < options->like_count; i++) {
        AK_TRY(ak_like_add_recording(r.like, options->like[i], err));
    }
    if (options->like_count == 0 && archive != NULL && !options->like_none) {
        AK_TRY(read_archive(&r, archive, err));
    }
    AK_TRY(ak_like_finish(r.like, task->seed, err));
    if (ak_like_text(r.like)[0] != 0) {
        *out = r.like;
        r.like = NULL; /* now owned by the caller */
    }
out:
    ak_free(r.places);
    ak_arena_free(r.arena);
    ak_like_free(r.like);
    return status;
}

bool ak_elsewhere_record(json_t *object, const ak_tune_options *options)
{
    if (options->like_count == 0 && !options->like_none) {
        return true;
    }
    json_t *list = json_array();
    for (size_t i = 0; i < options->like_count; i++) {
        ak_json_add(&list, json_string(options->like[i]->path));
    }
    if (options->like_count == 0) {
        ak_json_add(&list, json_string("none"));
    }
    return ak_json_set(object, "like", list);
}

double ak_near_sizes(bool *alike, const char *a, const char *b)
{
    double sum = 0;
    bool same = true;
    while (*a != 0 && *b != 0) {
        size_t name = strcspn(a, "=");
        if (a[name] != '=' || strncmp(a, b, name + 1) != 0) {
            return (double)INFINITY;
        }
        char *end_a, *end_b;
        const long long x = strtoll(a + name + 1, &end_a, 10);
        const long long y = strtoll(b + name + 1, &end_b, 10);
        if (x < 1 || y < 1 || *end_a != *end_b) {
            return (double)INFINITY;
        }
        sum += fabs(log2((double)x / (double)y));
        same = same && (x % 8 == 0) == (y % 8 == 0);
        a = end_a + (*end_a == ',' ? 1 : 0);
        b = end_b + (*end_b == ',' ? 1 : 0);
    }
    if (alike != NULL) {
        *alike = same;
    }
    return *a == *b ? sum : (double)INFINITY;
}
