/* archive_fixture.h: makes a temporary folder, an archive in it, and trials, for the tests of
   the archive, its formats and the reports. */
#ifndef AK_TEST_ARCHIVE_FIXTURE_H
#define AK_TEST_ARCHIVE_FIXTURE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "archive/archive.h"
#include "archive/field.h"
#include "base/alloc.h"
#include "base/fs.h"

typedef struct fixture {
    char folder[AK_PATH_MAX], path[AK_PATH_MAX], file[AK_PATH_MAX];
    ak_archive *archive;
} fixture;

/* Jansson allocates by this function, so that tests can make its allocations fail, too. */
static inline void *fixture_allocate(size_t bytes)
{
    return ak_alloc(bytes, 1);
}

static inline void fixture_fail_json_too(void)
{
    json_set_alloc_funcs(fixture_allocate, ak_free);
}

static inline fixture *fixture_of(void **state)
{
    return *state;
}

/* Fails the test with the message of the error. */
#define assert_ok(call)                                                                            \
    do {                                                                                           \
        ak_error assert_err = AK_ERROR_INIT, *err = &assert_err;                                   \
        if ((call) != AK_OK) {                                                                     \
            fail_msg("%s: %s", #call, assert_err.text);                                            \
        }                                                                                          \
    } while (0)

/* Fails the test unless the call fails with the status `wanted` and a message that contains
   `part`. */
#define assert_refused(call, wanted, part)                                                         \
    do {                                                                                           \
        ak_error assert_err = AK_ERROR_INIT, *err = &assert_err;                                   \
        ak_status assert_got = (call);                                                             \
        if (assert_got != (wanted) || strstr(assert_err.text, (part)) == NULL ||                   \
            assert_err.status != (wanted)) {                                                       \
            fail_msg("%s: got %s (%s), wanted %s (%s)", #call, ak_status_text(assert_got),         \
                     assert_err.text, ak_status_text(wanted), (part));                             \
        }                                                                                          \
    } while (0)

static inline int fixture_open(void **state)
{
    fixture *f = ak_alloc(1, sizeof *f);
    if (f == NULL || ak_fs_temp(f->folder, NULL) != AK_OK ||
        ak_fs_join(f->path, f->folder, "archive.db", NULL) != AK_OK ||
        ak_fs_join(f->file, f->folder, "file", NULL) != AK_OK) {
        return -1;
    }
    *state = f;
    return 0;
}

static inline int fixture_open_archive(void **state)
{
    if (fixture_open(state) != 0) {
        return -1;
    }
    fixture *f = *state;
    return ak_archive_open(&f->archive, f->path, NULL) == AK_OK ? 0 : -1;
}

static inline int fixture_close(void **state)
{
    fixture *f = *state;
    ak_alloc_fail_at(0);
    ak_archive_close(f->archive);
    ak_fs_remove(f->folder);
    ak_free(f);
    return 0;
}

/* Returns a trial of matmul, a failed one if `ms` is 0. Its texts are literals, so it must not be
   cleared. */
static inline ak_trial literal_trial(const char *config, double ms)
{
    return (ak_trial){
        .kernel = (char *)"matmul",
        .implementation = (char *)"host",
        .device = (char *)"host",
        .size = (char *)"M=64,N=32,K=16",
        .dtype = (char *)"f32",
        .choices = (char *)"",
        .config = (char *)(uintptr_t)config,
        .strategy = (char *)"random",
        .status = ms > 0 ? AK_TRIAL_OK : AK_TRIAL_COMPILE_ERROR,
        .reason = ms > 0 ? NULL : (char *)"host.c:3: error: no such thing",
        .median_ms = ms > 0 ? ms : 0,
        .ci_low_ms = ms > 0 ? ms * 0.99 : 0,
        .ci_high_ms = ms > 0 ? ms * 1.01 : 0,
        .tflops = ms > 0 ? 1 / ms : 0,
        .compile_ns = 100000000,
        .measure_ns = ms > 0 ? 200000000 : 0,
    };
}

static inline int64_t add_trial(ak_archive *archive, ak_trial trial)
{
    char *timestamp = trial.timestamp;
    assert_ok(ak_archive_add_trial(archive, &trial, err));
    if (timestamp == NULL) {
        ak_free(trial.timestamp); /* filled in by the archive */
    }
    return trial.id;
}

/* Returns a trial with all members set, to values that are easily lost. `samples` has room for
   3. */
static inline ak_trial full_trial(double *samples)
{
    samples[0] = 0.1;
    samples[1] = 1.0 / 3.0;
    samples[2] = 5e-324;
    ak_trial trial = literal_trial("MR=6,KC=256,fast=True,alpha=0.1,compiler=gcc", 1.0 / 3.0);
    trial.timestamp = (char *)"2026-11-21T10:54:22.123Z";
    trial.run = (char *)"00112233445566aa";
    trial.choices = (char *)"activation=relu,bias=add";
    trial.environment = (char *)"ffeeddccbbaa99887766554433221100";
    trial.model = (char *)"openai:gpt-5";
    trial.generation = 3;
    trial.predicted_gain = 0.25;
    trial.propose_ns = 1;
    trial.compile_ns = INT64_MAX;
    trial.check_ns = 3;
    trial.measure_ns = 4;
    trial.overhead_ns = 5;
    trial.samples_ms = samples;
    trial.sample_count = 3; /* too few for an interval: it is their range */
    trial.ci_low_ms = samples[2];
    trial.ci_high_ms = samples[1];
    trial.max_error = (double)INFINITY;
    trial.registers = 255;
    trial.shared_bytes = 49152;
    trial.spill_bytes = 8;
    trial.occupancy = 0.75;
    trial.gbs = 123.456;
    trial.efficiency = 0.987654321;
    trial.bound = (char *)"compute";
    return trial;
}

static inline ak_run literal_run(const char *id)
{
    return (ak_run){
        .id = (char *)(uintptr_t)id,
        .started = (char *)"2026-11-21T10:54:00.000Z",
        .kernel = (char *)"matmul",
        .implementation = (char *)"host",
        .device = (char *)"host",
        .size = (char *)"M=64,N=32,K=16",
        .dtype = (char *)"f32",
        .choices = (char *)"",
        .strategy = (char *)"random",
    };
}

static inline bool same_text(const char *a, const char *b)
{
    return (a == NULL) == (b == NULL) && (a == NULL || strcmp(a, b) == 0);
}

/* Fails the test if the trials differ in anything but their ids. */
static inline void assert_same_trial(const ak_trial *a, const ak_trial *b)
{
    for (size_t i = 0; i < AK_FIELD_COUNT; i++) {
        const ak_field *field = &ak_fields[i];
        bool same = true;
        if (field->kind == AK_FIELD_TEXT || ak_field_is_text(field->kind)) {
            const char *x = *ak_field_text(a, field), *y = *ak_field_text(b, field);
            same = same_text(x, y) || (field->kind == AK_FIELD_TEXT && (x == NULL ? *y : *x) == 0);
        } else if (strcmp(field->name, "imported") == 0) {
            same = true; /* tells of the archive how it got the trial */
        } else if (field->kind == AK_FIELD_INT) {
            same = *ak_field_int(a, field) == *ak_field_int(b, field);
        } else if (field->kind == AK_FIELD_LONG) {
            same = *ak_field_long(a, field) == *ak_field_long(b, field);
        } else if (field->kind == AK_FIELD_STATUS) {
            same = a->status == b->status;
        } else if (field->kind == AK_FIELD_SAMPLES) {
            same = a->sample_count == b->sample_count &&
                   (a->sample_count == 0 ||
                    memcmp(a->samples_ms, b->samples_ms, a->sample_count * sizeof(double)) == 0);
        } else if (field->kind != AK_FIELD_LINK) {
            same = memcmp(ak_field_real(a, field), ak_field_real(b, field), sizeof(double)) == 0;
        }
        if (!same) {
            fail_msg("trials differ in \"%s\"", field->name);
        }
    }
}

/* A growing list of copies of the trials that are visited. */
typedef struct trial_list {
    ak_trial items[64];
    size_t count;
} trial_list;

static inline bool collect(void *context, const ak_trial *trial)
{
    trial_list *list = context;
    assert_true(list->count < 64);
    assert_ok(ak_trial_copy(&list->items[list->count], trial, err));
    list->count++;
    return true;
}

static inline void list_clear(trial_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        ak_trial_clear(&list->items[i]);
    }
    list->count = 0;
}

static inline bool count_one(void *context, const ak_trial *trial)
{
    (void)trial;
    (*(size_t *)context)++;
    return true;
}

static inline size_t count_trials(ak_archive *archive, const ak_archive_filter *filter)
{
    size_t count = 0;
    assert_ok(ak_archive_each(archive, filter, count_one, &count, err));
    return count;
}

static inline void write_file(const char *path, const char *text)
{
    assert_ok(ak_fs_write(path, text, strlen(text), err));
}

#endif
