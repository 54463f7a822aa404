/*
 * test_recording.c: tests recordings: what is read from each format, that any other file is refused
 * in one line, and the statistics. tests/data/recordings/derive.py computes the expected figures of
 * tiny.json.
 */
#include "archive_fixture.h"

#include <zlib.h>

#include "base/unpack.h"
#include "recording/recording.h"

#define TINY AK_TEST_DATA "/recordings/tiny.json"

static ak_recording *open_path(const char *path)
{
    ak_recording *recording = NULL;
    assert_ok(ak_recording_open(&recording, path, err));
    return recording;
}

static ak_recording *open_text(fixture *f, const char *text)
{
    assert_ok(ak_fs_write(f->file, text, strlen(text), err));
    return open_path(f->file);
}

static void near(double got, double wanted)
{
    if (!(fabs(got - wanted) <= 1e-12 * fabs(wanted))) {
        fail_msg("got %.17g, wanted %.17g", got, wanted);
    }
}

static ak_recorded at_config(const ak_recording *recording, const char *text)
{
    ak_config config;
    uint64_t index = 0;
    ak_recorded recorded;
    assert_ok(ak_config_parse(&config, ak_recording_space(recording), text, err));
    assert_true(ak_space_find(&index, ak_recording_space(recording), &config));
    ak_recording_at(&recorded, recording, index);
    assert_memory_equal(&recorded.config, &config, sizeof config);
    return recorded;
}

/* ---- Kernel Tuner ---------------------------------------------------------------------------- */

static void check_tiny(const char *path)
{
    ak_recording *recording = open_path(path);
    const ak_recording_facts *facts = ak_recording_describe(recording);
    const ak_space *space = ak_recording_space(recording);
    assert_string_equal(facts->kernel, "tiny");
    assert_string_equal(facts->device, "a device");
    assert_string_equal(facts->size, "64x32");
    assert_string_equal(facts->objective, "time");
    assert_false(facts->maximise);
    assert_int_equal(facts->configurations, 36);
    assert_int_equal(facts->ok, 33);
    near(facts->optimum, 1.04);
    near(facts->median, 2.51);
    near(facts->seconds_median, 0.575375);
    near(facts->seconds_each, 0.6314214015151515);
    near(facts->first_seconds, 0.575375);
    near(facts->target, 1.1135000000000002);
    assert_int_equal(facts->evaluations, 16);
    near(facts->last_seconds, 9.206);
    near(ak_recording_baseline(recording, 9.206 * 0.25), 1.73);
    near(ak_recording_baseline(recording, 9.206 * 0.5), 1.33);
    near(ak_recording_baseline(recording, 9.206 * 0.75), 1.32);
    near(ak_recording_baseline(recording, 9.206), 1.04);
    near(ak_recording_baseline(recording, 0), 2.41); /* the first draw is about the median */

    /* the order of values is the file's, and nothing is valid but what was recorded */
    assert_int_equal(ak_space_count(space), 36);
    assert_true(ak_space_cartesian(space) == 40);
    assert_int_equal(ak_space_parameter_count(space), 3);
    assert_string_equal(ak_space_parameter(space, 2)->values[0].as.string, "b");
    ak_config config;
    assert_refused(ak_config_parse(&config, space, "x=16,y=4,z=a", err), AK_INVALID,
                   "this configuration was not recorded");
    ak_recorded recorded = at_config(recording, "x=2,y=3,z=a");
    assert_int_equal(recorded.status, AK_TRIAL_OK);
    near(recorded.value, 1.72);
    near(recorded.seconds, (400.5 + 20 + 3.25 + 121 + 0.5 + 20.125) / 1000);
    assert_int_equal(at_config(recording, "x=1,y=4,z=a").status, AK_TRIAL_COMPILE_ERROR);
    recorded = at_config(recording, "x=16,y=1,z=b");
    assert_int_equal(recorded.status, AK_TRIAL_LAUNCH_ERROR);
    assert_true(recorded.value == 0);
    near(recorded.seconds, (400.5 + 160 + 3.25 + 0.5 + 20.125) / 1000); /* it cost what it cost */
    ak_recording_close(recording);
}

static void test_kernel_tuner(void **state)
{
    (void)state;
    check_tiny(TINY); /* left open, as by a run that was stopped */
    check_tiny(TINY ".gz");
}

static const char cache_head[] =
    "{\"kernel_name\": \"k\", \"problem_size\": 7, \"tune_params_keys\": [\"n\", \"on\"],"
    "\"tune_params\": {\"n\": [4, 2, 1], \"on\": [true, false]},";

static void test_maximised(void **state)
{
    fixture *f = fixture_of(state);
    char text[2048];
    (void)snprintf(text, sizeof text,
                   "%s \"objective\": \"GFLOP/s\", \"cache\": {"
                   "\"4,True\": {\"n\": 4, \"on\": true, \"time\": 5, \"GFLOP/s\": 20.0},"
                   "\"2,True\": {\"n\": 2, \"on\": true, \"time\": 1, \"GFLOP/s\": 100},"
                   "\"1,False\": {\"n\": 1, \"on\": false, \"GFLOP/s\": \"InvalidConfig\"},"
                   "\"2,False\": {\"n\": 2, \"on\": false, \"time\": 2, \"GFLOP/s\": 50,"
                   "  \"compile_time\": 3000, \"benchmark_time\": -1}}}",
                   cache_head);
    ak_recording *recording = open_text(f, text);
    const ak_recording_facts *facts = ak_recording_describe(recording);
    assert_true(facts->maximise);
    near(facts->optimum, 100);
    near(facts->median, 50);
    near(facts->target, 97.5);
    assert_string_equal(facts->device, "");
    ak_record record = {.status = AK_TRIAL_OK, .value = 50};
    near(ak_recording_minimised(recording, &record), -50);
    near(ak_recording_time(recording, &record), 0.02);
    assert_int_equal(at_config(recording, "n=1,on=False").status, AK_TRIAL_INVALID);
    near(at_config(recording, "n=2,on=False").seconds, 3); /* what is negative was not measured */
    ak_recording_close(recording);
}

/* A time that its samples do not have would be the optimum of all studies. */
static void test_times_agree(void **state)
{
    fixture *f = fixture_of(state);
    /* What is no time among the samples excuses nothing. */
    static const char *const others[] = {"", ", 0", ", -1", ", null", ", \"x\""};
    char text[1024];
    ak_recording *recording = NULL;
    for (size_t i = 0; i < AK_COUNT(others); i++) {
        (void)snprintf(text, sizeof text,
                       "%s \"cache\": {\"4,True\": {\"n\": 4, \"on\": true, \"time\": 0.001, "
                       "\"times\": [2, 3%s]}}}",
                       cache_head, others[i]);
        assert_ok(ak_fs_write(f->file, text, strlen(text), err));
        assert_refused(ak_recording_open(&recording, f->file, err), AK_INVALID,
                       "\"time\" is 0.001 ms, and the runtimes are 2 to 3 ms");
    }
}

/* Writes a file with one configuration, whose parameter "flags" is a long text, and whose key has
   this text with another last character. */
static void write_long_text(fixture *f, char last)
{
    char text[2048], flags[200];
    memset(flags, 'f', sizeof flags);
    flags[sizeof flags - 1] = 0;
    (void)snprintf(text, sizeof text,
                   "{\"tune_params_keys\": [\"flags\"], \"tune_params\": {\"flags\": [\"%s1\"]}, "
                   "\"cache\": {\"%s%c\": {\"flags\": \"%s1\", \"time\": 1}}}",
                   flags, flags, last, flags);
    assert_ok(ak_fs_write(f->file, text, strlen(text), err));
}

static void test_long_texts(void **state)
{
    fixture *f = fixture_of(state);
    ak_recording *recording = NULL;
    write_long_text(f, '1');
    assert_ok(ak_recording_open(&recording, f->file, err));
    ak_recording_close(recording);
    write_long_text(f, '2');
    assert_refused(ak_recording_open(&recording, f->file, err), AK_INVALID, "but the key says");
}

static void test_failures(void **state)
{
    fixture *f = fixture_of(state);
    char text[2048];
    (void)snprintf(text, sizeof text,
                   "%s \"cache\": {"
                   "\"4,True\": {\"n\": 4, \"on\": true, \"time\": 1e20},"
                   "\"2,True\": {\"n\": 2, \"on\": true, \"time\": 1, \"__error__\": "
                   "\"RuntimeFailedConfig\"},"
                   "\"1,False\": {\"n\": 1, \"on\": false, \"time\": 3},"
                   "\"8,False\": {\"n\": 8, \"on\": false, \"time\": 4}}}",
                   cache_head);
    ak_recording *recording = open_text(f, text);
    assert_int_equal(ak_recording_describe(recording)->ok, 2);
    assert_int_equal(at_config(recording, "n=4,on=True").status, AK_TRIAL_LAUNCH_ERROR);
    assert_int_equal(at_config(recording, "n=2,on=True").status, AK_TRIAL_LAUNCH_ERROR);
    near(at_config(recording, "n=8,on=False").value, 4); /* a value that the head forgot */
    ak_recording_close(recording);
}

/* ---- with the T1 file of the space ------------------------------------------------------------
 */

static const char t1[] =
    "{\"ConfigurationSpace\": {\"TuningParameters\": ["
    "{\"Name\": \"z\", \"Type\": \"string\", \"Values\": [\"a\", \"b\"]},"
    "{\"Name\": \"y\", \"Type\": \"int\", \"Values\": \"[1, 2, 3, 4]\", \"Default\": 2},"
    "{\"Name\": \"x\", \"Type\": \"int\", \"Values\": \"[2**i for i in range(5)]\"}],"
    "\"Conditions\": [{\"Expression\": \"x * y <= %d\", \"Parameters\": [\"x\", \"y\"]}]}}";

static void test_t1(void **state)
{
    fixture *f = fixture_of(state);
    char text[sizeof t1];
    ak_recording *recording = NULL;
    (void)snprintf(text, sizeof text, t1, 32);
    assert_ok(ak_fs_write(f->file, text, strlen(text), err));
    assert_ok(ak_recording_open_t1(&recording, TINY, f->file, err));
    const ak_space *space = ak_recording_space(recording);
    ak_config config;
    ak_space_default(&config, space);
    (void)ak_config_format(text, sizeof text, space, &config);
    assert_string_equal(text, "z=a,y=2,x=1"); /* order and default are the T1 file's */
    assert_int_equal(ak_space_count(space), 36);
    assert_int_equal(ak_space_condition_count(space), 1);
    near(at_config(recording, "x=2,y=3,z=a").value, 1.72);
    near(ak_recording_describe(recording)->median, 2.51);
    /* every repeat starts from the default */
    ak_simulation s = {0};
    ak_simulate_options options = {.strategy = "local", .repeats = 3, .evaluations = 1};
    assert_ok(ak_simulate(&s, recording, &options, err));
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(s.repeats[i].best, s.repeats[0].best);
        near(s.repeats[i].best_value, at_config(recording, "z=a,y=2,x=1").value);
    }
    ak_simulation_clear(&s);
    ak_recording_close(recording);

    recording = NULL;
    (void)snprintf(text, sizeof text, t1, 16);
    assert_ok(ak_fs_write(f->file, text, strlen(text), err));
    assert_refused(ak_recording_open_t1(&recording, TINY, f->file, err), AK_INVALID,
                   "this configuration is not valid");
    assert_ok(ak_fs_write(f->file, "{}", 2, err));
    assert_refused(ak_recording_open_t1(&recording, TINY, f->file, err), AK_INVALID,
                   "this is not a T1 file");
    assert_refused(ak_recording_open_t1(&recording, TINY, "/nowhere", err), AK_NOT_FOUND,
                   "/nowhere");
}

/* ---- T4 and KTT ------------------------------------------------------------------------------ */

static void test_t4(void **state)
{
    ak_recording *recording = open_text(
        fixture_of(state),
        "{\"schema_version\": \"1.0.0\", \"metadata\": {}, \"results\": ["
        "{\"configuration\": {\"b\": 10, \"a\": \"x\"}, \"invalidity\": \"correct\","
        " \"times\": {\"compilation\": 100, \"framework\": 1, \"search_algorithm\": 2,"
        "   \"validation\": 3, \"runtimes\": [4.5, 4.5]},"
        " \"measurements\": [{\"name\": \"time\", \"value\": 4.5, \"unit\": \"\"}],"
        " \"objectives\": [\"time\"]},"
        "{\"configuration\": {\"b\": 9, \"a\": \"x\"}, \"invalidity\": \"correct\","
        " \"times\": {\"compilation\": 100, \"benchmark\": 50, \"runtimes\": [4.5, 4.5]},"
        " \"measurements\": [{\"name\": \"other\", \"value\": 1}, {\"name\": \"time\", \"value\": "
        "6}]},"
        "{\"configuration\": {\"b\": 10, \"a\": \"y\"}, \"invalidity\": \"runtime\","
        " \"measurements\": [{\"name\": \"time\", \"value\": \"RuntimeFailedConfig\"}]},"
        "{\"configuration\": {\"b\": 9, \"a\": \"x\"}, \"invalidity\": \"timeout\"}]}");
    assert_int_equal(ak_recording_describe(recording)->configurations, 3);
    near(at_config(recording, "b=10,a=x").seconds, 0.115); /* launches where benchmark is missing */
    near(at_config(recording, "b=9,a=x").seconds, 0.150);
    near(at_config(recording, "b=9,a=x").value, 6); /* what worked counts before what did not */
    assert_int_equal(at_config(recording, "b=10,a=y").status, AK_TRIAL_LAUNCH_ERROR);
    /* the file gives no order: numbers ascending, texts as they came */
    const ak_parameter *b = ak_space_parameter(ak_recording_space(recording), 0);
    assert_string_equal(b->name, "b");
    assert_int_equal(b->values[0].as.integer, 9);
    ak_recording_close(recording);
}

static void test_t4_units(void **state)
{
    ak_recording *recording = open_text(
        fixture_of(state),
        "{\"metadata\": {\"timeunit\": \"microseconds\", \"implementation\": \"fast\", "
        "\"dtype\": \"f16\"}, \"results\": ["
        "{\"configuration\": {\"b\": 1}, \"invalidity\": \"correct\", \"times\": {\"benchmark\": "
        "5000}, \"measurements\": [{\"name\": \"time\", \"value\": 1500}]},"
        "{\"configuration\": {\"b\": 2}, \"invalidity\": \"correct\", \"measurements\": "
        "[{\"name\": "
        "\"time\", \"value\": 2, \"unit\": \"s\"}]}]}");
    assert_string_equal(recording->implementation, "fast");
    assert_string_equal(recording->dtype, "f16");
    near(at_config(recording, "b=1").value, 1.5); /* ms */
    near(at_config(recording, "b=1").seconds, 0.005);
    near(at_config(recording, "b=2").value, 2000);
    ak_recording_close(recording);
}

static void test_ktt(void **state)
{
    ak_recording *recording = open_text(
        fixture_of(state),
        "{\"Metadata\": {\"Device\": \"card\", \"TimeUnit\": \"Microseconds\"}, \"Results\": ["
        "{\"Status\": \"Ok\", \"TotalDuration\": 2500, " /* names no kernel */
        "\"TotalOverhead\": 497500, \"Configuration\": [{\"Name\": \"MWG\", \"Value\": 16, "
        "\"ValueType\": \"UnsignedInt\"}], \"ComputationResults\": []},"
        "{\"KernelName\": \"gemm\", \"Status\": \"ValidationFailed\", \"TotalDuration\": 0, "
        "\"TotalOverhead\": 1000000, \"Configuration\": [{\"Name\": \"MWG\", \"Value\": 8}]}]}");
    const ak_recording_facts *facts = ak_recording_describe(recording);
    assert_string_equal(facts->kernel, "gemm");
    assert_string_equal(facts->device, "card");
    near(at_config(recording, "MWG=16").value, 2.5); /* ms */
    near(at_config(recording, "MWG=16").seconds, 0.5);
    assert_int_equal(at_config(recording, "MWG=8").status, AK_TRIAL_WRONG_RESULT);
    near(at_config(recording, "MWG=8").seconds, 1);
    ak_recording_close(recording);
}

static void test_ktt_refusals(void **state)
{
    static const char one[] = "{\"Results\": [{\"KernelName\": \"gemm\", \"Status\": \"Ok\", "
                              "\"TotalDuration\": 1, \"Configuration\": [{\"Name\": \"A\", "
                              "\"Value\": 1}";
    static const struct {
        const char *rest, *why;
    } files[] = {
        {", {\"Name\": \"A\", \"Value\": 2}]}]}", "result 1: \"Configuration\" has \"A\" twice"},
        {"]}, {\"KernelName\": \"fft\", \"Status\": \"Ok\", \"TotalDuration\": 0.1, "
         "\"Configuration\": [{\"Name\": \"A\", \"Value\": 2}]}]}",
         "result 2 is of the kernel \"fft\", and one before it of \"gemm\""}};
    fixture *f = fixture_of(state);
    ak_recording *recording = NULL;
    for (size_t i = 0; i < AK_COUNT(files); i++) {
        char text[1024];
        (void)snprintf(text, sizeof text, "%s%s", one, files[i].rest);
        assert_ok(ak_fs_write(f->file, text, strlen(text), err));
        assert_refused(ak_recording_open(&recording, f->file, err), AK_INVALID, files[i].why);
    }
}

/* ---- archives -------------------------------------------------------------------------------- */

static void test_archive(void **state)
{
    fixture *f = fixture_of(state);
    ak_trial trial = literal_trial("MR=6,cc=gcc", 3);
    trial.environment = (char *)"first";
    (void)add_trial(f->archive, trial);
    trial = literal_trial("MR=4,cc=gcc", 2);
    trial.environment = (char *)"second";
    (void)add_trial(f->archive, trial);
    trial = literal_trial("MR=6,cc=gcc", 0);
    trial.environment = (char *)"second";
    (void)add_trial(f->archive, trial);
    ak_recording *recording = open_path(f->path);
    const ak_recording_facts *facts = ak_recording_describe(recording);
    assert_int_equal(facts->configurations, 2); /* of the latest environment only */
    assert_string_equal(facts->kernel, "matmul");
    assert_string_equal(facts->size, "M=64,N=32,K=16");
    near(at_config(recording, "MR=4,cc=gcc").seconds, 0.3);
    assert_int_equal(at_config(recording, "MR=6,cc=gcc").status, AK_TRIAL_COMPILE_ERROR);
    ak_recording_close(recording);

    trial = literal_trial("MR=4,cc=gcc", 2);
    trial.dtype = (char *)"f64";
    (void)add_trial(f->archive, trial);
    assert_refused(ak_recording_open(&recording, f->path, err), AK_INVALID,
                   "holds trials of several tasks");
}

/* Texts of a parameter that look like numbers, of which some would come back different, stay apart,
   and the parameter is a text. */
static void test_archive_of_texts(void **state)
{
    fixture *f = fixture_of(state);
    static const char *const configs[] = {"S=0.50,F=0.5", "S=0.5,F=0.5", "S=4,F=1e-07",
                                          "S=2.0,F=2.0", "S=gcc,F=0.5"};
    enum { COUNT = sizeof configs / sizeof configs[0] };
    for (int i = 0; i < COUNT; i++) {
        ak_trial trial = literal_trial(configs[i], 1 + i);
        trial.environment = (char *)"one";
        (void)add_trial(f->archive, trial);
    }
    const char *const paths[] = {f->path, f->file};
    assert_ok(ak_archive_export(f->archive, NULL, "kernel-tuner", f->file, err));
    for (size_t k = 0; k < 2; k++) {
        ak_recording *recording = open_path(paths[k]);
        assert_int_equal(ak_recording_describe(recording)->configurations, COUNT);
        for (int i = 0; i < COUNT; i++) {
            near(at_config(recording, configs[i]).value, 1 + i);
        }
        ak_recording_close(recording);
    }
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void test_refused(void **state)
{
    fixture *f = fixture_of(state);
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"", "'[' or '{' expected"},
        {"[]", "is not a recording: it is neither a cache file of Kernel Tuner"},
        {"{\"a\": 1}", "is not a recording"},
        {"{\"cache\": {\"1\": {\"time\": 1}}}", "\"tune_params_keys\" is missing"},
        {"{\"cache\": {\"1\": 3}, \"tune_params_keys\": [\"n\"]}", "cache \"1\" must be an object"},
        {"{\"cache\": {\"1\": {\"time\": 1}}, \"tune_params_keys\": [\"n\"]}",
         "cache \"1\": parameter \"n\" is missing"},
        {"{\"cache\": {\"1\": {\"n\": [1], \"time\": 1}}, \"tune_params_keys\": [\"n\"]}",
         "the value of \"n\" must be a number, a text, true or false"},
        {"{\"cache\": {\"1\": {\"n\": 1, \"time\": \"What\"}}, \"tune_params_keys\": [\"n\"]}",
         "\"What\" is not a known error"},
        {"{\"cache\": {\"1\": {\"n\": 1, \"time\": true}}, \"tune_params_keys\": [\"n\"]}",
         "\"time\" must be a number or the name of an error"},
        {"{\"cache\": {\"1\": {\"n\": 1, \"time\": 1}}, \"tune_params_keys\": [\"n\"], "
         "\"objective\": \"GFLOP/s\"}",
         "the objective \"GFLOP/s\" is missing"},
        {"{\"cache\": {\"1\": {\"n\": 1, \"time\": 0}}, \"tune_params_keys\": [\"n\"]}",
         "worked, but its time is not above 0"},
        {"{\"cache\": {\"1\": {\"n\": 1, \"time\": \"InvalidConfig\"}}, \"tune_params_keys\": "
         "[\"n\"]}",
         "no configuration worked when it was recorded"},
        {"{\"cache\": {\"1\": {\"n\": 1, \"time\": 1, \"compile_time\": 1e300}}, "
         "\"tune_params_keys\": [\"n\"]}",
         "it cost more than 2.6e+06 seconds"},
        {"{\"cache\": {}, \"tune_params_keys\": [\"n\"]}", "holds no configuration"},
        {"{\"cache\": {\"1\": {\"a b\": 1, \"time\": 1}}, \"tune_params_keys\": [\"a b\"]}",
         "the name \"a b\" must be letters"},
        {"{\"cache\": {\"1\": {\"n\": 1, \"time\": 1}}, \"tune_params_keys\": [\"n\", \"n\"]}",
         "declared twice"},
        {"{\"results\": [3]}", "result 1 must be an object"},
        {"{\"results\": [{\"invalidity\": \"correct\"}]}", "\"configuration\" is missing"},
        {"{\"results\": [{\"invalidity\": \"odd\"}]}", "\"invalidity\" is \"odd\""},
        {"{\"results\": [{\"invalidity\": \"correct\", \"configuration\": {\"x\": 1}, \"times\": "
         "{\"runtimes\": [2, 3]}, \"measurements\": [{\"name\": \"time\", \"value\": 2.5, "
         "\"unit\": \"us\"}]}]}",
         "the measurement \"time\" is 0.0025 ms, and the runtimes are 2 to 3 ms"},
        {"{\"Results\": [], \"Metadata\": {\"TimeUnit\": \"Weeks\"}}", "\"TimeUnit\" is \"Weeks\""},
        {"{\"Results\": [{\"Status\": \"Ok\"}]}", "\"Configuration\" is missing"},
        {"{\"Results\": [{\"Status\": \"Odd\"}]}", "\"Status\" is \"Odd\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ak_recording *recording = NULL;
        ak_error fault = AK_ERROR_INIT;
        assert_ok(ak_fs_write(f->file, cases[i].text, strlen(cases[i].text), err));
        ak_status status = ak_recording_open(&recording, f->file, &fault);
        if (status != AK_INVALID || strstr(fault.text, cases[i].part) == NULL ||
            strstr(fault.text, f->file) == NULL) {
            fail_msg("%s: got \"%s\", wanted \"%s\"", cases[i].text, fault.text, cases[i].part);
        }
    }
    ak_recording *recording = NULL;
    assert_refused(ak_recording_open(&recording, "/nowhere/x.json", err), AK_NOT_FOUND,
                   "cannot be opened");
    assert_refused(ak_recording_open(&recording, f->folder, err), AK_INVALID, "is not a file");
    assert_ok(ak_fs_write(f->file, "{\0}", 3, err));
    assert_refused(ak_recording_open(&recording, f->file, err), AK_INVALID, "holds a 0 byte");
}

/* ---- gzip ------------------------------------------------------------------------------------ */

static size_t pack(char *out, size_t room, const char *text, size_t length)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)text,
                  .avail_in = (unsigned)length,
                  .next_out = (Bytef *)out,
                  .avail_out = (unsigned)room};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t bytes = z.total_out;
    assert_int_equal(deflateEnd(&z), Z_OK);
    return bytes;
}

static void test_unpack(void **state)
{
    fixture *f = fixture_of(state);
    static char zeros[1 << 20], packed[1 << 16];
    char *text = NULL;
    size_t length = 0, one = pack(packed, sizeof packed, "one ", 4);
    size_t both = one + pack(packed + one, sizeof packed - one, "two", 3);
    assert_ok(ak_fs_write(f->file, packed, both, err));
    assert_ok(ak_unpack_read(&text, &length, f->file, 100, err)); /* members join */
    assert_int_equal(length, 7);
    assert_string_equal(text, "one two");
    ak_free(text);
    assert_ok(ak_fs_write(f->file, packed, both - 9, err));
    assert_refused(ak_unpack_read(&text, &length, f->file, 100, err), AK_CORRUPT,
                   "ends in the middle");
    packed[one / 2] ^= 0x55;
    assert_ok(ak_fs_write(f->file, packed, both, err));
    assert_refused(ak_unpack_read(&text, &length, f->file, 100, err), AK_CORRUPT, "damaged");
    assert_ok(ak_fs_write(f->file, "\x1f\x8b", 2, err));
    assert_refused(ak_unpack_read(&text, &length, f->file, 100, err), AK_CORRUPT,
                   "ends in the middle");
    /* a thousand bytes that become a million */
    one = pack(packed, sizeof packed, zeros, sizeof zeros);
    assert_true(one < 5000);
    assert_ok(ak_fs_write(f->file, packed, one, err));
    assert_refused(ak_unpack_read(&text, &length, f->file, 5000, err), AK_LIMIT,
                   "unpacks to more than 5000 bytes");
    assert_ok(ak_unpack_read(&text, &length, f->file, sizeof zeros, err));
    assert_int_equal(length, sizeof zeros);
    ak_free(text);
    /* what is not packed is given as it is */
    assert_ok(ak_fs_write(f->file, "plain", 5, err));
    assert_ok(ak_unpack_read(&text, &length, f->file, 5, err));
    assert_string_equal(text, "plain");
    ak_free(text);
    assert_refused(ak_unpack_read(&text, &length, f->file, 4, err), AK_LIMIT, "larger than 4");
}

static void test_begins(void **state)
{
    fixture *f = fixture_of(state);
    assert_ok(ak_fs_write(f->file, "SQLite", 6, err));
    assert_true(ak_fs_begins(f->file, "SQL", 3));
    assert_true(ak_fs_begins(f->file, "SQLite", 6));
    assert_false(ak_fs_begins(f->file, "SQLite 3", 8));
    assert_false(ak_fs_begins(f->file, "sql", 3));
    assert_false(ak_fs_begins(f->folder, "SQL", 3));
}

/* Whichever allocation fails, the file is refused with a message, and nothing leaks. (Jansson
   reports some failures as errors in the text.) */
static void test_no_memory(void **state)
{
    (void)state;
    ak_status status = AK_NO_MEMORY;
    for (size_t nth = 1; status != AK_OK; nth++) {
        ak_recording *recording = NULL;
        ak_error fault = AK_ERROR_INIT;
        ak_alloc_fail_at(nth);
        status = ak_recording_open(&recording, TINY ".gz", &fault);
        ak_alloc_fail_at(0);
        ak_recording_close(recording);
        assert_true(status == AK_OK || (fault.status == status && fault.text[0] != 0));
        assert_true(status != AK_OK || nth > 100);
    }
}

/* A rank in the recording, in either form, replaces that of the space file, unless it reads an
   unknown name. */
static void test_rank(void **state)
{
    static const struct {
        const char *json, *text;
        bool known;
    } ranks[] = {
        {"\"2*a\"", "2*a", true},
        {"\"2*nobody\"", "2*nobody", false},
        {"{\"Let\": [{\"Name\": \"x\", \"Value\": \"2*a\"}], \"Value\": \"x + 1\"}",
         "{\"Let\":[{\"Name\":\"x\",\"Value\":\"2*a\"}],\"Value\":\"x + 1\"}", true},
        {"{\"Let\": [{\"Name\": \"x\", \"Value\": \"nobody\"}], \"Value\": \"x + 1\"}",
         "{\"Let\":[{\"Name\":\"x\",\"Value\":\"nobody\"}],\"Value\":\"x + 1\"}", false},
    };
    for (size_t i = 0; i < AK_COUNT(ranks); i++) {
        char text[500];
        (void)snprintf(text, sizeof text,
                       "{\"kernel_name\": \"k\", \"device_name\": \"d\", \"autokernel\": "
                       "{\"rank\": %s}, \"tune_params_keys\": [\"a\"], \"tune_params\": "
                       "{\"a\": [1, 2]}, \"cache\": {\"1\": {\"a\": 1, \"time\": 2.5}, "
                       "\"2\": {\"a\": 2, \"time\": 1.5}}}",
                       ranks[i].json);
        ak_recording *recording = open_text(*state, text);
        assert_string_equal(recording->stated_rank, ranks[i].text);
        assert_int_equal(recording->rank != NULL, ranks[i].known);
        if (ranks[i].known) {
            assert_string_equal(recording->rank, ranks[i].text);
        }
        ak_recording_close(recording);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernel_tuner),
        cmocka_unit_test_setup_teardown(test_t1, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_maximised, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_times_agree, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_long_texts, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_failures, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_t4, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_t4_units, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_ktt, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_ktt_refusals, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_archive, fixture_open_archive, fixture_close),
        cmocka_unit_test_setup_teardown(test_archive_of_texts, fixture_open_archive, fixture_close),
        cmocka_unit_test_setup_teardown(test_refused, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_unpack, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_begins, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_rank, fixture_open, fixture_close),
        cmocka_unit_test(test_no_memory),
    };
    fixture_fail_json_too();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
