/* test_compare.c: tests which results pass the comparison with the reference, and the self-test
   of tolerances. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "check/compare.h"
#include "check/guard.h"
#include "check/inputs.h"

enum { N = 5000 }; /* not a multiple of any block or lane */

static const ak_dtype every_dtype[] = {AK_DTYPE_F16, AK_DTYPE_BF16, AK_DTYPE_F32, AK_DTYPE_F64,
                                       AK_DTYPE_I32};
enum { DTYPES = sizeof every_dtype / sizeof every_dtype[0] };

static double reference[N], input[N];
static uint64_t output[N]; /* room for any dtype */

static void fill_reference(double scale)
{
    ak_rng rng;
    ak_rng_seed(&rng, 17);
    for (size_t i = 0; i < N; i++) {
        reference[i] = scale * ak_rng_normal(&rng);
        input[i] = scale * ak_rng_normal(&rng);
    }
}

static void *element(size_t i, ak_dtype dtype)
{
    return (unsigned char *)output + i * ak_dtype_bytes(dtype);
}

static void test_rounded_reference_passes(void **state)
{
    (void)state;
    for (size_t d = 0; d < DTYPES; d++) {
        ak_dtype dtype = every_dtype[d];
        fill_reference(10);
        ak_inputs_encode(output, reference, N, dtype);
        ak_compare_result r;
        /* An i32 is off by 1/2 at most, of an rms of 10; 6 % of that is enough. */
        double half_ulp = dtype == AK_DTYPE_I32 ? 0.0 : ak_dtype_epsilon(dtype) / 2;
        ak_compare_output(&r, output,
                          &(ak_compare_with){dtype, reference, N, half_ulp,
                                             dtype == AK_DTYPE_I32 ? 0.06 : half_ulp * 0.01});
        assert_true(r.ok && r.bad == 0 && r.unwritten == 0 && r.first == N && r.count == N);
        assert_true(r.max_error <= 1.0);
        assert_int_equal(r.max_error > 0.0, dtype != AK_DTYPE_F64);
    }
}

/* The worst error is reported as a multiple of the tolerance, wherever it is in the output. */
static void test_error_is_relative_to_the_limit(void **state)
{
    (void)state;
    for (size_t i = 0; i < N; i++) {
        reference[i] = i % 2 == 0 ? 3.0 : -4.0; /* rms: sqrt(12.5) */
    }
    const size_t places[] = {0, 1, 1023, 1024, 4095, N - 1};
    for (size_t p = 0; p < 6; p++) {
        ak_inputs_encode(output, reference, N, AK_DTYPE_F64);
        double want = reference[places[p]];
        double allowed = 0.01 * fabs(want) + 0.002 * sqrt(12.5);
        double value = want + 0.5 * allowed;
        memcpy(element(places[p], AK_DTYPE_F64), &value, sizeof value);
        ak_compare_result r;
        ak_compare_output(&r, output, &(ak_compare_with){AK_DTYPE_F64, reference, N, 0.01, 0.002});
        assert_true(r.ok && fabs(r.max_error - 0.5) < 1e-9);
        value = want - 1.5 * allowed;
        memcpy(element(places[p], AK_DTYPE_F64), &value, sizeof value);
        ak_compare_output(&r, output, &(ak_compare_with){AK_DTYPE_F64, reference, N, 0.01, 0.002});
        assert_false(r.ok);
        assert_int_equal(r.bad, 1);
        assert_int_equal(r.first, places[p]);
        assert_true(r.got == value && r.want == want);
        assert_true(fabs(r.max_error - 1.5) < 1e-9);
    }
}

static void test_first_and_bad_are_counted(void **state)
{
    (void)state;
    fill_reference(1);
    ak_inputs_encode(output, reference, N, AK_DTYPE_F32);
    const float wrong = 1e6f;
    for (size_t i = 100; i < N; i += 1000) {
        memcpy(element(i, AK_DTYPE_F32), &wrong, sizeof wrong);
    }
    ak_compare_result r;
    ak_compare_output(&r, output, &(ak_compare_with){AK_DTYPE_F32, reference, N, 1e-5, 1e-5});
    assert_int_equal(r.bad, 5);
    assert_int_equal(r.first, 100);
    char text[256];
    ak_compare_text(text, sizeof text, &r, &(ak_compare_argument){.name = "C"});
    assert_non_null(strstr(text, "C[100]: got 1000000, expected "));
    assert_non_null(strstr(text, "5 of 5000 elements wrong, worst "));
}

static void test_unwritten(void **state)
{
    (void)state;
    for (size_t d = 0; d < DTYPES; d++) {
        ak_dtype dtype = every_dtype[d];
        fill_reference(10);
        ak_inputs_encode(output, reference, N, dtype);
        ak_guard_poison(element(3000, dtype), 7 * ak_dtype_bytes(dtype), dtype, 5);
        ak_compare_result r;
        ak_compare_output(&r, output, &(ak_compare_with){dtype, reference, N, 0.1, 0.1});
        assert_false(r.ok);
        assert_int_equal(r.unwritten, 7);
        assert_int_equal(r.bad, 7);
        assert_int_equal(r.first, 3000);
        assert_true(isinf(r.max_error));
        char text[256];
        ak_compare_text(text, sizeof text, &r, &(ak_compare_argument){.name = "C"});
        assert_non_null(strstr(text, "C[3000]: was not written, expected "));
        assert_non_null(strstr(text, "(7 never written)"));
        assert_null(strstr(text, "inf times"));
    }
}

/* A whole number that equals the poison of a round counts as right if it is expected, and as
   unwritten otherwise. Poison differs between rounds, so an element that is never written is wrong
   in at least one of two. */
static void test_whole_numbers_that_are_poison(void **state)
{
    (void)state;
    static const ak_dtype narrow[] = {AK_DTYPE_I8, AK_DTYPE_U8, AK_DTYPE_I16, AK_DTYPE_U16,
                                      AK_DTYPE_I32};
    for (size_t d = 0; d < sizeof narrow / sizeof narrow[0]; d++) {
        ak_compare_with with = {narrow[d], reference, 100, 0, 0};
        ak_compare_result r;
        ak_guard_poison(output, 100 * ak_dtype_bytes(narrow[d]), narrow[d], 3);
        ak_inputs_decode(reference, output, 100, narrow[d]);
        ak_compare_output(&r, output, &with);
        assert_true(r.ok && r.unwritten == 0);
        reference[7] -= 1;
        ak_compare_output(&r, output, &with);
        /* One narrow number may equal the poison by chance. */
        assert_int_equal(r.unwritten, ak_dtype_bytes(narrow[d]) < 4 ? 0 : 1);
        assert_true(r.bad == 1 && r.first == 7);
        reference[7] += 1;
        ak_guard_poison(output, 100 * ak_dtype_bytes(narrow[d]), narrow[d], 4);
        ak_compare_output(&r, output, &with);
        assert_true(r.bad == 100 && r.unwritten == 100);
    }
}

/* Rows of which the reference is 0 everywhere belong to an output that is not: the tolerance is
   that of the output. */
static void test_rows_of_zeros(void **state)
{
    (void)state;
    ak_compare_result r;
    const float residue[] = {1e-4f, -1e-4f};
    const double zeros[] = {0, 0};
    const ak_compare_with with = {AK_DTYPE_F32, zeros, 2, 0, 1e-3};
    ak_compare_part(&r, residue, &with, 1);
    assert_true(r.ok && r.max_error > 0);
    ak_compare_part(&r, residue, &with, 0.01);
    assert_false(r.ok);
    ak_compare_output(&r, residue, &with);
    assert_false(r.ok);
}

/* Whole numbers of 64 bits are compared exactly up to 2^53, and messages show all their digits. */
static void test_wide_whole_numbers(void **state)
{
    (void)state;
    ak_error err = AK_ERROR_INIT;
    ak_compare_result r;
    char text[256];
    int64_t got = INT64_C(0x1fffffffffffff); /* 2^53 - 1 */
    reference[0] = 0x1p53 - 1;
    const ak_compare_with with = {AK_DTYPE_I64, reference, 1, 0, 0};
    ak_compare_output(&r, &got, &with);
    assert_true(r.ok);
    for (int step = 1; step < 3; step++) { /* what rounds to 2^53 is not taken for it */
        got += step;
        ak_compare_output(&r, &got, &with);
        assert_false(r.ok);
    }
    got = 12345678901;
    reference[0] = 12345678902;
    ak_compare_output(&r, &got, &with);
    ak_compare_text(text, sizeof text, &r, &(ak_compare_argument){.name = "C"});
    assert_string_equal(text, "C[0]: got 12345678901, expected 12345678902; 1 of 1 element wrong");
    assert_int_equal(
        ak_compare_representable("p", &(ak_compare_argument){.name = "C"}, "n=1", &with, &err),
        AK_OK);
    reference[0] = 0x1p53;
    assert_int_equal(
        ak_compare_representable("p", &(ak_compare_argument){.name = "C"}, "n=1", &with, &err),
        AK_INVALID);
    assert_non_null(strstr(err.text, "9007199254740992 at C[0] (n=1)"));
    /* What the reference leaves out is no number that is too large. */
    int64_t left;
    ak_guard_poison(&left, sizeof left, AK_DTYPE_I64, 3);
    reference[0] = (double)left;
    assert_int_equal(
        ak_compare_representable("p", &(ak_compare_argument){.name = "C"}, "n=1", &with, &err),
        AK_INVALID);
    assert_non_null(strstr(err.text, "p: the reference does not write C[0] (n=1): correct"));
    reference[0] = 256;
    const ak_compare_with byte = {AK_DTYPE_U8, reference, 1, 0, 0};
    assert_int_equal(
        ak_compare_representable("p", &(ak_compare_argument){.name = "C"}, "n=1", &byte, &err),
        AK_INVALID);
    reference[0] = 255;
    assert_int_equal(
        ak_compare_representable("p", &(ak_compare_argument){.name = "C"}, "n=1", &byte, &err),
        AK_OK);
}

/* Messages: a computed NaN is not called unwritten and has no sign. An error just over the
   tolerance is said to look like rounding, and is never printed as 1 times the tolerance. */
static void test_text(void **state)
{
    (void)state;
    const ak_compare_result computed = {
        .max_error = INFINITY, .count = 9, .bad = 2, .unwritten = 1, .got = -(double)NAN};
    ak_compare_result blank;
    memset(output, 0xff, sizeof(float));
    fill_reference(1);
    ak_compare_output(&blank, output, &(ak_compare_with){AK_DTYPE_F32, reference, 1, 0.1, 0.1});
    assert_int_equal(blank.unwritten, 1);
    const ak_compare_result near = {.max_error = 1.0000001, .count = 9, .bad = 1, .got = 2};
    const ak_compare_result loose = {.max_error = 2.6, .count = 9, .bad = 1, .got = 2};
    const ak_compare_result far = {.max_error = 17, .count = 9, .bad = 1, .got = 2};
    char text[256];
    ak_compare_text(text, sizeof text, &computed, &(ak_compare_argument){.name = "C"});
    assert_string_equal(text, "C[0]: got NaN, expected 0; 2 of 9 elements wrong (1 never written)");
    ak_compare_text(text, sizeof text, &near, &(ak_compare_argument){.name = "C"});
    assert_string_equal(text, "C[0]: got 2, expected 0; 1 of 9 elements wrong, worst 1.00001 times "
                              "the tolerance, which looks like rounding");
    ak_compare_text(text, sizeof text, &loose, &(ak_compare_argument){.name = "C"});
    assert_non_null(strstr(text, "worst 2.6 times the tolerance, which looks like rounding"));
    ak_compare_text(text, sizeof text, &far, &(ak_compare_argument){.name = "C"});
    assert_null(strstr(text, "rounding"));
}

/* If NaN is expected, poison, which is also a NaN, still counts as unwritten. */
static void test_unwritten_where_nan_is_right(void **state)
{
    (void)state;
    fill_reference(1);
    reference[10] = reference[11] = (double)NAN;
    ak_inputs_encode(output, reference, N, AK_DTYPE_F32);
    ak_compare_result r;
    ak_compare_output(&r, output, &(ak_compare_with){AK_DTYPE_F32, reference, N, 1e-6, 1e-6});
    assert_true(r.ok);
    ak_guard_poison(element(10, AK_DTYPE_F32), 4, AK_DTYPE_F32, 0);
    ak_compare_output(&r, output, &(ak_compare_with){AK_DTYPE_F32, reference, N, 1e-6, 1e-6});
    assert_int_equal(r.bad, 1);
    assert_int_equal(r.unwritten, 1);
}

/* Of the classes finite, infinite and NaN, only equal ones match. */
static void test_classes(void **state)
{
    (void)state;
    const double inf = (double)INFINITY;
    const double values[] = {(double)NAN, inf, -inf, 0.0, 1.0, -1.0};
    for (size_t want = 0; want < 6; want++) {
        for (size_t got = 0; got < 6; got++) {
            fill_reference(1);
            reference[1234] = values[want];
            ak_inputs_encode(output, reference, N, AK_DTYPE_F32);
            float value = (float)values[got];
            memcpy(element(1234, AK_DTYPE_F32), &value, sizeof value);
            ak_compare_result r;
            ak_compare_output(&r, output,
                              &(ak_compare_with){AK_DTYPE_F32, reference, N, 1e-3, 1e-3});
            assert_int_equal(r.ok, want == got);
            assert_int_equal(r.bad, want == got ? 0 : 1);
            if (want != got && (want < 3 || got < 3)) {
                assert_true(isinf(r.max_error));
            }
        }
    }
}

/* An infinite element of the reference does not widen the tolerance of the others, because only
   finite elements count for it. */
static void test_infinity_does_not_widen_the_rest(void **state)
{
    (void)state;
    fill_reference(1);
    reference[0] = (double)INFINITY;
    ak_inputs_encode(output, reference, N, AK_DTYPE_F32);
    float wrong = (float)reference[4000] + 1.0f;
    memcpy(element(4000, AK_DTYPE_F32), &wrong, sizeof wrong);
    ak_compare_result r;
    ak_compare_output(&r, output, &(ak_compare_with){AK_DTYPE_F32, reference, N, 1e-3, 1e-3});
    assert_int_equal(r.bad, 1);
}

static void test_extreme_scales(void **state)
{
    (void)state;
    const double scales[] = {1e-200, 1e-30, 1e30, 1e200};
    for (size_t i = 0; i < 4; i++) {
        fill_reference(scales[i]);
        ak_inputs_encode(output, reference, N, AK_DTYPE_F64);
        ak_compare_result r;
        ak_compare_output(&r, output, &(ak_compare_with){AK_DTYPE_F64, reference, N, 1e-12, 1e-12});
        assert_true(r.ok);
        double wrong = reference[7] + 1e-3 * scales[i];
        memcpy(element(7, AK_DTYPE_F64), &wrong, sizeof wrong);
        ak_compare_output(&r, output, &(ak_compare_with){AK_DTYPE_F64, reference, N, 0, 1e-2});
        assert_true(r.ok); /* within 1 % of the rms, which neither overflows nor vanishes */
        ak_compare_output(&r, output, &(ak_compare_with){AK_DTYPE_F64, reference, N, 0, 1e-5});
        assert_int_equal(r.bad, 1);
    }
}

static void test_zero_tolerance_is_equality(void **state)
{
    (void)state;
    fill_reference(100);
    for (size_t i = 0; i < N; i++) {
        reference[i] = nearbyint(reference[i]);
    }
    ak_inputs_encode(output, reference, N, AK_DTYPE_I32);
    ak_compare_result r;
    ak_compare_output(&r, output, &(ak_compare_with){AK_DTYPE_I32, reference, N, 0, 0});
    assert_true(r.ok && r.max_error == 0);
    int32_t wrong = (int32_t)reference[5] + 1;
    memcpy(element(5, AK_DTYPE_I32), &wrong, sizeof wrong);
    ak_compare_output(&r, output, &(ak_compare_with){AK_DTYPE_I32, reference, N, 0, 0});
    assert_true(!r.ok && r.bad == 1 && isinf(r.max_error));
    ak_inputs_encode(output, reference, N, AK_DTYPE_I32);
    ak_compare_output(&r, output, &(ak_compare_with){AK_DTYPE_I32, reference, N, (double)NAN, 0});
    assert_int_equal(r.bad, N); /* a tolerance that is no number accepts nothing */
}

static void test_no_elements(void **state)
{
    (void)state;
    ak_compare_result r;
    ak_compare_output(&r, output, &(ak_compare_with){AK_DTYPE_F32, reference, 0, 1e-3, 1e-3});
    assert_true(r.ok && r.bad == 0 && r.max_error == 0);
    char text[128];
    ak_compare_text(text, sizeof text, &r, &(ak_compare_argument){.name = "C"});
    assert_non_null(strstr(text, "C: 0 elements right"));
}

/* ---- self-test ---- */

/* An element is named by its indices in the declared shape, since nobody finds element 1000 of a
   matrix; what lies outside of the shape by its distance from the beginning. */
static void test_element(void **state)
{
    (void)state;
    const size_t extent[] = {2, 3, 5};
    static const struct {
        size_t rank;
        int64_t index;
        const char *name;
    } cases[] = {{3, 0, "C[0,0,0]"}, {3, 17, "C[1,0,2]"}, {3, 29, "C[1,2,4]"}, {3, 30, "C[30]"},
                 {3, -1, "C[-1]"},   {2, 5, "C[1,2]"},    {1, 1, "C[1]"},      {0, 7, "C[7]"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[AK_ELEMENT_BYTES];
        const ak_compare_argument argument = {"C", cases[i].rank, extent};
        assert_string_equal(ak_compare_element(out, &argument, cases[i].index), cases[i].name);
    }
    const ak_compare_argument empty = {"C", 2, (const size_t[]){0, 4}};
    char out[AK_ELEMENT_BYTES];
    assert_string_equal(ak_compare_element(out, &empty, 0), "C[0]");
}

static ak_status selftest(ak_dtype dtype, double relative, double rms, ak_error *err)
{
    const ak_compare_inputs inputs = {.list = {{"A", input, N - 1, false}, {"B", input, N, false}},
                                      .count = 2};
    return ak_compare_selftest("matmul", &(ak_compare_argument){.name = "C"},
                               &(ak_compare_with){dtype, reference, N, relative, rms}, &inputs,
                               err);
}

static void assert_refused(double relative, double rms, const char *what)
{
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(selftest(AK_DTYPE_F32, relative, rms, &err), AK_INVALID);
    if (strstr(err.text, what) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.text, what);
    }
}

static void test_selftest_accepts_honest_tolerances(void **state)
{
    (void)state;
    ak_error err = AK_ERROR_INIT;
    for (size_t d = 0; d < 4; d++) {
        ak_dtype dtype = every_dtype[d];
        fill_reference(3);
        double eps = ak_dtype_epsilon(dtype);
        assert_int_equal(selftest(dtype, eps, eps / 8, &err), AK_OK);
    }
    fill_reference(1000);
    for (size_t i = 0; i < N; i++) {
        reference[i] = nearbyint(reference[i]);
    }
    assert_int_equal(selftest(AK_DTYPE_I32, 0, 0, &err), AK_OK);
    for (size_t i = 0; i < N; i++) {
        reference[i] = (double)(i % 3); /* 1.01 times 2 rounds to 2: no wrong result */
    }
    assert_int_equal(selftest(AK_DTYPE_I32, 0, 0, &err), AK_OK);
}

/* Rounding to e4m3 changes x by at most |x|/17. With this tolerance the self-test passes, because
   results that are 1 % too large are refused where they round to the next number. A wider tolerance
   fails the self-test, and a narrower one refuses the reference. A reference of e4m3 numbers needs
   no tolerance. */
static void test_selftest_of_bytes(void **state)
{
    (void)state;
    ak_error err = AK_ERROR_INIT;
    fill_reference(100);
    assert_int_equal(selftest(AK_DTYPE_E4M3, 1.0 / 17, 0x1p-9, &err), AK_OK);
    assert_int_equal(selftest(AK_DTYPE_E4M3, 0.075, 0x1p-9, &err), AK_INVALID);
    assert_non_null(strstr(err.text, "1 % too large"));
    assert_int_equal(selftest(AK_DTYPE_E4M3, 1.0 / 18, 0x1p-20, &err), AK_INVALID);
    assert_non_null(strstr(err.text, "refuses the reference"));
    ak_inputs_encode(output, reference, N, AK_DTYPE_E4M3);
    ak_inputs_decode(reference, output, N, AK_DTYPE_E4M3);
    assert_int_equal(selftest(AK_DTYPE_E4M3, 0, 0, &err), AK_OK);
}

static void test_selftest_refuses_zeros(void **state)
{
    (void)state;
    fill_reference(1e-3);
    assert_refused(0, 10, "zeros");
    assert_refused(1.0, 0, "zeros");
    for (size_t i = 0; i < N; i++) {
        reference[i] = 0; /* any tolerance: the right answer itself is trivial */
    }
    assert_refused(1e-6, 1e-6, "the right result of C is zeros");
}

static void test_selftest_refuses_one_percent(void **state)
{
    (void)state;
    fill_reference(1);
    assert_refused(0.02, 0, "1 % too large");
    assert_refused(0, 0.05, "1 % too large");
}

/* Results that are all close to each other, as in the softmax of long rows, need a tolerance that
   refuses their mean. */
static void test_selftest_refuses_mean(void **state)
{
    (void)state;
    ak_rng rng;
    ak_rng_seed(&rng, 1);
    for (size_t i = 0; i < N; i++) {
        reference[i] = 1.0 + 1e-4 * ak_rng_normal(&rng);
    }
    assert_refused(1e-3, 0, "mean");
}

static void test_selftest_refuses_copy(void **state)
{
    (void)state;
    fill_reference(1);
    memcpy(input, reference, sizeof input);
    assert_refused(1e-6, 1e-6, "a copy of input B");
}

/* What an output holds before the launch is an input like others, so that a kernel which does
   nothing is refused; but the right result may be what another output held. */
static void test_selftest_refuses_what_was_there(void **state)
{
    (void)state;
    fill_reference(1);
    const ak_compare_with with = {AK_DTYPE_F32, reference, N, 1e-6, 1e-3};
    ak_compare_inputs inputs = {.list = {{"C", input, N, true}}, .count = 1};
    for (int exact = 0; exact < 2; exact++) {
        ak_error err = AK_ERROR_INIT;
        for (size_t i = 0; i < N; i++) {
            reference[i] = (float)reference[i];
            input[i] = reference[i] * (exact ? 1 : 1.0001);
        }
        inputs.list[0].name = "C";
        assert_int_equal(
            ak_compare_selftest("step", &(ak_compare_argument){.name = "C"}, &with, &inputs, &err),
            AK_INVALID);
        assert_non_null(strstr(err.text, "what C holds before the launch"));
        inputs.list[0].name = "D";
        assert_int_equal(
            ak_compare_selftest("step", &(ak_compare_argument){.name = "C"}, &with, &inputs, &err),
            exact ? AK_OK : AK_INVALID);
    }
}

static void test_selftest_refuses_shift(void **state)
{
    (void)state;
    for (size_t i = 0; i < N; i++) {
        reference[i] = sin(6.283185307179586 * (double)i / N); /* neighbours alike */
    }
    assert_refused(0, 0.005, "shifted");
}

static void test_selftest_refuses_nan(void **state)
{
    (void)state;
    fill_reference(1);
    reference[77] = (double)NAN;
    assert_refused(1e-6, 1e-6, "NaN at C[77]");
}

static void test_selftest_refuses_too_tight(void **state)
{
    (void)state;
    fill_reference(1);
    assert_refused(1e-9, 0, "refuses the reference itself");
    reference[3] = 1e39; /* not an f32 */
    assert_refused(1e-6, 1e-6, "refuses the reference itself");
}

static void test_selftest_of_one_element(void **state)
{
    (void)state;
    reference[0] = 0.75;
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(ak_compare_selftest("matmul", &(ak_compare_argument){.name = "C"},
                                         &(ak_compare_with){AK_DTYPE_F32, reference, 1, 1e-6, 1e-6},
                                         &(ak_compare_inputs){0}, &err),
                     AK_OK);
}

static void test_selftest_without_memory(void **state)
{
    (void)state;
    fill_reference(1);
    for (size_t nth = 1; nth <= 2; nth++) {
        ak_error err = AK_ERROR_INIT;
        ak_alloc_fail_at(nth);
        ak_status status = selftest(AK_DTYPE_F32, 1e-6, 1e-6, &err);
        ak_alloc_fail_at(0);
        assert_int_equal(status, AK_NO_MEMORY);
    }
}

/* A configuration that is the reference and does not write its whole array leaves the poison. */
static void test_a_reference_that_leaves_elements_out(void **state)
{
    (void)state;
    char text[300];
    uint32_t filled[100], got[100];
    double want[100];
    ak_compare_result r;
    ak_guard_poison(filled, sizeof filled, AK_DTYPE_U32, 3);
    ak_guard_poison(got, sizeof got, AK_DTYPE_U32, 4);
    for (size_t i = 0; i < 100; i++) {
        want[i] = i < 25 ? (double)i : (double)filled[i];
        got[i] = i < 25 ? (uint32_t)i : got[i];
    }
    const ak_compare_with with = {.dtype = AK_DTYPE_U32, .reference = want, .count = 100};
    ak_compare_output(&r, got, &with);
    assert_false(r.ok);
    ak_compare_text(text, sizeof text, &r, &(ak_compare_argument){.name = "h"});
    assert_string_equal(text,
                        "h[25]: was not written; 75 of 100 elements wrong; the reference writes "
                        "only 25 of them: is the shape of h right?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_reference_that_leaves_elements_out),
        cmocka_unit_test(test_rounded_reference_passes),
        cmocka_unit_test(test_error_is_relative_to_the_limit),
        cmocka_unit_test(test_first_and_bad_are_counted),
        cmocka_unit_test(test_unwritten),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_whole_numbers_that_are_poison),
        cmocka_unit_test(test_rows_of_zeros),
        cmocka_unit_test(test_wide_whole_numbers),
        cmocka_unit_test(test_unwritten_where_nan_is_right),
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_infinity_does_not_widen_the_rest),
        cmocka_unit_test(test_extreme_scales),
        cmocka_unit_test(test_zero_tolerance_is_equality),
        cmocka_unit_test(test_no_elements),
        cmocka_unit_test(test_selftest_accepts_honest_tolerances),
        cmocka_unit_test(test_selftest_of_bytes),
        cmocka_unit_test(test_selftest_refuses_zeros),
        cmocka_unit_test(test_selftest_refuses_one_percent),
        cmocka_unit_test(test_selftest_refuses_mean),
        cmocka_unit_test(test_selftest_refuses_copy),
        cmocka_unit_test(test_selftest_refuses_what_was_there),
        cmocka_unit_test(test_selftest_refuses_shift),
        cmocka_unit_test(test_selftest_refuses_nan),
        cmocka_unit_test(test_selftest_refuses_too_tight),
        cmocka_unit_test(test_selftest_of_one_element),
        cmocka_unit_test(test_element),
        cmocka_unit_test(test_selftest_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
