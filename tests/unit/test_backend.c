/* test_backend.c: tests the contract of backend.h on every backend of the table and every device
   that this machine has. */
#include "worker_fixture.h"

#include "base/clock.h"

#define DEVICES_MAX 16

typedef struct devices {
    const ak_backend_ops *backend;
    char name[DEVICES_MAX][64];
    size_t count;
} devices;

static void note_device(void *context, const char *device, const char *description)
{
    devices *d = context;
    size_t length = strlen(d->backend->name);
    assert_true(strlen(description) > 0);
    assert_null(strchr(description, '\n'));
    assert_true(strncmp(device, d->backend->name, length) == 0);
    assert_true(device[length] == 0 || device[length] == ':');
    if (d->count < DEVICES_MAX) {
        (void)snprintf(d->name[d->count++], sizeof d->name[0], "%s", device);
    }
}

static devices devices_of(const ak_backend_ops *backend)
{
    devices d = {.backend = backend};
    ak_error err = AK_ERROR_INIT;
    if (backend->probe(note_device, &d, &err) != AK_OK) {
        fail_msg("%s: %s", backend->name, err.text); /* without hardware: no device, no failure */
    }
    return d;
}

static void the_table_is_whole(void **state)
{
    (void)state;
    for (size_t i = 0; ak_backends[i] != NULL; i++) {
        const ak_backend_ops *b = ak_backends[i], *found = NULL;
        assert_true(strlen(b->name) > 0 && strlen(b->description) > 0);
        assert_null(strpbrk(b->name, ": ,=/"));
        assert_int_equal(ak_backend_find(&found, b->name, NULL), AK_OK);
        assert_ptr_equal(found, b); /* and so no name is there twice */
        assert_true(b->probe && b->facts && b->environment && b->open && b->close);
        if (b->recall != NULL) { /* nothing is compiled or run: test_sim.c */
            assert_true(b->bind && !b->source && !b->compile && !b->load && !b->launch);
            continue;
        }
        assert_int_equal(b->artifact_suffix[0], '.');
        assert_true(b->source && b->compile);
        assert_true(b->reserve && b->upload && b->download && b->load && b->launch && b->unload);
        assert_true((b->ceilings && b->baselines) || strcmp(b->name, "opencl") == 0);
    }
}

static void every_device_is_known_without_opening_it(void **state)
{
    (void)state;
    for (size_t i = 0; ak_backends[i] != NULL; i++) {
        const ak_backend_ops *b = ak_backends[i], *found = NULL;
        devices d = devices_of(b);
        ak_error err = AK_ERROR_INIT;
        char name[64];
        for (size_t k = 0; k < d.count; k++) {
            assert_int_equal(ak_backend_device(&found, name, sizeof name, d.name[k], NULL), AK_OK);
            assert_ptr_equal(found, b);
            assert_string_equal(name, d.name[k]);
            ak_scope *facts = ak_scope_new(NULL);
            if (b->facts(facts, d.name[k], 0, &err) != AK_OK) {
                fail_msg("%s", err.text);
            }
            ak_scope_free(facts);
            json_t *first = NULL, *again = NULL;
            assert_int_equal(b->environment(&first, d.name[k], NULL), AK_OK);
            assert_int_equal(b->environment(&again, d.name[k], NULL), AK_OK);
            assert_true(json_is_string(json_object_get(first, "name")));
            assert_true(json_equal(first, again)); /* it is part of every key */
            json_decref(first);
            json_decref(again);
        }
        (void)snprintf(name, sizeof name, "%s:no-such-device", b->name);
        assert_int_not_equal(ak_backend_device(&found, name, sizeof name, name, &err), AK_OK);
        assert_non_null(strstr(err.text, "no-such-device"));
    }
}

static ak_task *bind(const ak_backend_ops *backend, const char *device, const char *kernel,
                     ak_error *err)
{
    ak_scope *facts = ak_scope_new(NULL);
    ak_task *task = NULL;
    assert_int_equal(backend->facts(facts, device, 0, err), AK_OK);
    ak_task_spec spec = {.kernel = kernel, .device = device, .seed = 1};
    ak_device_facts known = {.backend = backend->name,
                             .device = device,
                             .facts = facts,
                             .available = backend->available};
    ak_status status = ak_task_bind(&task, &spec, &known, err);
    ak_scope_free(facts);
    return status == AK_OK ? task : NULL;
}

/* Opens the task of the first built-in kernel that has an implementation for the device. */
static ak_task *any_task(const ak_backend_ops *backend, const char *device)
{
    static const char *const kernels[] = {"softmax", "matmul", "matmul_act"};
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        ak_error err = AK_ERROR_INIT;
        ak_task *task = bind(backend, device, kernels[i], &err);
        if (task != NULL) {
            return task;
        }
        assert_true(err.status == AK_NOT_FOUND || err.status == AK_UNAVAILABLE);
    }
    return NULL;
}

typedef void (*device_test)(const ak_backend_ops *backend, const ak_task *task, ak_device *device);

/* Runs the test on every device of this machine. Skips it, with a message, if there is none. */
static void on_every_device(device_test test)
{
    size_t tested = 0;
    for (size_t i = 0; ak_backends[i] != NULL; i++) {
        devices d = devices_of(ak_backends[i]);
        for (size_t k = 0; k < d.count; k++) {
            ak_task *task = any_task(ak_backends[i], d.name[k]);
            if (task == NULL) {
                continue;
            }
            ak_device *device = NULL;
            ak_error err = AK_ERROR_INIT;
            if (ak_backends[i]->open(&device, task, &err) != AK_OK) {
                fail_msg("%s: %s", d.name[k], err.text);
            }
            test(ak_backends[i], task, device);
            ak_backends[i]->close(device);
            ak_task_close(task);
            tested++;
        }
        if (d.count == 0) {
            print_message("%s has no device here\n", ak_backends[i]->name);
        }
    }
    if (tested == 0) {
        skip();
    }
}

static void memory(const ak_backend_ops *b, const ak_task *task, ak_device *device)
{
    enum { BYTES = 3 * 4096 };
    unsigned char out[BYTES], in[BYTES];
    (void)task;
    for (size_t i = 0; i < BYTES; i++) {
        out[i] = (unsigned char)(i * 7 + i / 256);
    }
    assert_int_equal(b->reserve(device, BYTES, NULL), AK_OK);
    assert_int_equal(b->upload(device, 0, out, BYTES, NULL), AK_OK);
    assert_int_equal(b->upload(device, 5, "abc", 3, NULL), AK_OK);
    memcpy(out + 5, "abc", 3);
    assert_int_equal(b->download(in, device, 0, BYTES, NULL), AK_OK);
    assert_memory_equal(in, out, BYTES);
    assert_int_equal(b->download(in, device, BYTES - 3, 3, NULL), AK_OK);
    assert_memory_equal(in, out + BYTES - 3, 3);
    /* beyond the block: refused, by name, and nothing written */
    ak_error err = AK_ERROR_INIT;
    assert_int_not_equal(b->upload(device, BYTES - 2, out, 3, &err), AK_OK);
    assert_true(strlen(err.text) > 0);
    assert_int_not_equal(b->download(in, device, SIZE_MAX - 1, 3, &err), AK_OK);
    if (b->map != NULL) {
        assert_memory_equal(b->map(device), out, BYTES);
    }
    assert_int_equal(b->reserve(device, 64, NULL), AK_OK); /* a second one replaces the first */
    assert_int_equal(b->upload(device, 0, out, 64, NULL), AK_OK);
}

static void memory_keeps_what_is_put_there(void **state)
{
    (void)state;
    on_every_device(memory);
}

/* An artifact or library that cannot be loaded gives a reason and does not break the backend. */
static void loads(const ak_backend_ops *b, const ak_task *task, ak_device *device)
{
    static const char *const baselines[] = {"no-such-library", "", ":", ":copy"};
    char path[AK_PATH_MAX];
    ak_error err = AK_ERROR_INIT;
    (void)task;
    fixture_write("damaged", "this is not code");
    assert_int_equal(ak_fs_join(path, fixture_folder, "damaged", NULL), AK_OK);
    const char *const artifacts[] = {"/nonexistent/artifact", path};
    assert_int_equal(b->reserve(device, 4096, NULL), AK_OK);
    for (size_t i = 0; i < 6; i++) {
        ak_load load = {.artifact = i < 2 ? artifacts[i] : NULL,
                        .baseline = i < 2 ? NULL : baselines[i - 2]};
        ak_runnable *runnable = NULL;
        ak_outcome outcome = {.status = AK_TRIAL_OK};
        ak_status status = b->load(&runnable, device, &load, &outcome, &err);
        assert_true(status != AK_OK || outcome.status != AK_TRIAL_OK);
        assert_true(status == AK_OK ? strlen(outcome.reason) > 0 : strlen(err.text) > 0);
        assert_null(strpbrk(outcome.reason, "\n\r\t"));
        b->unload(runnable);
    }
    b->unload(NULL);
}

static void what_cannot_be_loaded_is_data(void **state)
{
    (void)state;
    on_every_device(loads);
}

static void ceilings(const ak_backend_ops *b, const ak_task *task, ak_device *device)
{
    ak_ceilings c = {0};
    ak_error err = AK_ERROR_INIT;
    if (b->ceilings == NULL) {
        return;
    }
    if (b->ceilings(&c, device, task->dtype, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    assert_true(c.peak_tflops > 0 && c.copy_gbs > 0);
    assert_true(c.peak_tflops < 1e5 && c.copy_gbs < 1e6); /* units: TFLOP/s and GB/s */
}

static void ceilings_are_measured(void **state)
{
    (void)state;
    on_every_device(ceilings);
}

static void note_baseline(void *context, const char *name, const char *title, const char *version,
                          bool installed, const char *note)
{
    assert_true(strlen(name) > 0 && strlen(title) > 0);
    assert_true(!installed || strlen(version) > 0);
    assert_true(installed || strlen(note) > 0); /* what to install */
    *(size_t *)context += 1;
}

static void baselines(const ak_backend_ops *b, const ak_task *task, ak_device *device)
{
    size_t count = 0;
    if (b->baselines == NULL) {
        assert_string_equal(b->name, "opencl"); /* no library is known to it */
        return;
    }
    assert_int_equal(b->baselines(device, task, note_baseline, &count, NULL), AK_OK);
    assert_true(count > 0);
}

static void baselines_have_names_and_versions(void **state)
{
    (void)state;
    on_every_device(baselines);
}

static void compiling_needs_no_device_and_failing_is_data(void **state)
{
    (void)state;
    for (size_t i = 0; ak_backends[i] != NULL; i++) {
        const ak_backend_ops *b = ak_backends[i];
        devices d = devices_of(b);
        if (d.count == 0) {
            continue; /* a machine without such a device may lack its compiler */
        }
        char source[AK_PATH_MAX], artifact[AK_PATH_MAX];
        ak_buf text = AK_BUF(1u << 20);
        ak_error err = AK_ERROR_INIT;
        assert_int_equal(b->source(&text, "this is no program;\n", "kernel.x", NULL), AK_OK);
        fixture_write("source", text.data);
        ak_buf_free(&text);
        assert_int_equal(ak_fs_join(source, fixture_folder, "source", NULL), AK_OK);
        assert_int_equal(ak_fs_join(artifact, fixture_folder, "artifact", NULL), AK_OK);
        ak_compile_job job = {.source_path = source,
                              .folder = fixture_folder,
                              .artifact = artifact,
                              .timeout_ns = 60 * AK_SECOND_NS,
                              .memory_max = (size_t)4 << 30};
        ak_compile_result result = {0};
        if (b->compile(&result, &job, &err) != AK_OK) {
            fail_msg("%s: %s", b->name, err.text);
        }
        assert_int_equal(result.status, AK_TRIAL_COMPILE_ERROR);
        assert_non_null(result.reason);
        assert_null(strpbrk(result.reason, "\n\r\033"));
        assert_int_not_equal(access(artifact, F_OK), 0);
        ak_compile_result_clear(&result);
    }
}

/* A trial goes from source code through all processes to a checked and timed result. */
static void defaults(const ak_backend_ops *b, const ak_task *task, ak_device *device)
{
    ak_tester *tester = NULL;
    ak_trial trial = {0};
    ak_error err = AK_ERROR_INIT;
    (void)b, (void)device;
    ak_config config;
    ak_space_default(&config, task->space);
    if (ak_tester_open(&tester, task, &err) != AK_OK ||
        ak_tester_run(&trial, tester, &config, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    if (trial.status != AK_TRIAL_OK) {
        fail_msg("%s on %s: %s", task->problem->name, task->device, trial.reason);
    }
    assert_true(trial.median_ms > 0 && trial.ci_low_ms <= trial.median_ms);
    assert_true(trial.median_ms <= trial.ci_high_ms);
    ak_trial_clear(&trial);
    ak_tester_close(tester);
}

static void the_default_configuration_is_right(void **state)
{
    (void)state;
    on_every_device(defaults);
}

int main(int argc, char **argv)
{
    int code = 0;
    if (fixture_main(&code, argc, argv)) {
        return code;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_whole),
        cmocka_unit_test(every_device_is_known_without_opening_it),
        cmocka_unit_test(memory_keeps_what_is_put_there),
        cmocka_unit_test(what_cannot_be_loaded_is_data),
        cmocka_unit_test(ceilings_are_measured),
        cmocka_unit_test(baselines_have_names_and_versions),
        cmocka_unit_test(compiling_needs_no_device_and_failing_is_data),
        cmocka_unit_test(the_default_configuration_is_right),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
