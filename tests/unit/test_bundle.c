/*
 * test_bundle.c: tests the runtime on bundles. A program means what its expression means. A
 * bundle that is damaged, foreign or for another machine is refused. A call that could give a
 * wrong result returns a status.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "backend/backend.h"
#include "base/alloc.h"
#include "base/fs.h"
#include "base/infix.h"
#include "base/proc.h"
#include "ship/bundle.h"
#include "space/portable.h"
#include "unit/bundle_fixture.h"

#define ENTRY "ak_kernel_of_this_test"
#define TEXT  65536

/* ---- a bundle of two sizes, or with other texts in the places of these -------------------------
 */

typedef struct parts {
    const char *schema, *arguments, *when, *workspace, *threads, *measured, *architecture,
        *features;
} parts;

static const char usual_arguments[] =
    "[{\"name\":\"X\",\"dtype\":\"f32\",\"access\":\"in\",\"shape\":[[\"M\"],[\"N\"]],"
    "\"pitch\":[\"N\",\"N\",4,\"%\",\"+\"],\"alignment\":64},"
    "{\"name\":\"Y\",\"dtype\":\"f32\",\"access\":\"out\",\"shape\":[[\"M\"],[\"N\"]],"
    "\"pitch\":null,\"alignment\":64},"
    "{\"name\":\"Z\",\"dtype\":\"f64\",\"access\":\"in\",\"shape\":[],\"pitch\":null,"
    "\"alignment\":8,\"unused\":true}]";

static const char *or_else(const char *text, const char *otherwise)
{
    return text == NULL ? otherwise : text;
}

static void build(ak_buf *out, const parts *p, const void *code, size_t length)
{
    static char json[TEXT];
    char sum[65], files[200] = "";
    struct utsname here;
    assert_int_equal(uname(&here), 0);
    if (code != NULL) {
        akr_sha256(sum, code, length);
        (void)snprintf(files, sizeof files, "{\"name\":\"0.so\",\"bytes\":%zu,\"sha256\":\"%s\"}",
                       length, sum);
    }
    int n = snprintf(
        json, sizeof json,
        "{\"schema\":%s,\"kind\":\"autokernel bundle\",\"name\":\"t_f32\",\"kernel\":\"t\","
        "\"backend\":\"host\",\"dtype\":\"f32\",\"options\":\"\",\"option_values\":[{\"name\":"
        "\"factor\",\"index\":0,\"bits\":\"4008000000000000\"}],\"sizes\":[{\"name\":\"M\"},"
        "{\"name\":\"N\"}],\"arguments\":%s,\"variants\":[{\"file\":\"0.so\",\"entry\":\"" ENTRY
        "\",\"when\":%s,\"workspace\":%s,\"threads\":%s}],\"measured\":%s,\"requires\":{"
        "\"architecture\":\"%s\",\"cpu_features\":%s},\"files\":[%s]}",
        or_else(p->schema, "1"), or_else(p->arguments, usual_arguments),
        or_else(p->when, "[1,\"M\",2,\">=\",\"and()\"]"), or_else(p->workspace, "[8,\"M\",\"*\"]"),
        or_else(p->threads, "[\"M\",3,\"min()\"]"),
        or_else(p->measured,
                "[{\"size\":[8,8],\"variant\":0,\"workspace_bytes\":64,\"threads\":3},"
                "{\"size\":[8,64],\"variant\":0,\"workspace_bytes\":64,\"threads\":3}]"),
        or_else(p->architecture, here.machine), or_else(p->features, "[]"), files);
    assert_true(n > 0 && (size_t)n < sizeof json);
    assert_true(bundle_wrap(out, json, (size_t)n, code, length));
}

static void put(const char *folder, const char *name, const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(ak_fs_write(path, text, strlen(text), NULL), AK_OK);
}

static akr_status open_parts(akr_bundle **out, const parts *p, akr_error *err)
{
    ak_buf tar = AK_BUF(1u << 26);
    build(&tar, p, NULL, 0);
    akr_status status = akr_open_memory(out, tar.data, tar.length, AKR_LOOK, err);
    ak_buf_free(&tar);
    return status;
}

/* ---- programs ---------------------------------------------------------------------------------
 */

static ak_status write_program(char *out, size_t bytes, const char *text, const ak_scope *scope)
{
    static const char *const open[] = {"M", "N"};
    json_t *program = NULL;
    const ak_program_names names = {scope, open, 2, "test", true};
    ak_status status = ak_program_of(&program, text, &names, NULL);
    if (status == AK_OK) {
        char *json = json_dumps(program, JSON_COMPACT);
        (void)snprintf(out, bytes, "%s", json);
        free(json);
    }
    json_decref(program);
    return status;
}

static ak_scope *scope_of_test(void)
{
    ak_scope *scope = ak_scope_new(NULL);
    assert_int_equal(ak_scope_set_int(scope, "A", 3, NULL), AK_OK);
    assert_int_equal(ak_scope_set_text(scope, "layout", "nt", NULL), AK_OK);
    assert_int_equal(ak_scope_set_real(scope, "beta", 0.5, NULL), AK_OK);
    return scope;
}

/* Fails unless the expression for people that is made of a program has the value of `text`. */
static void check_infix(const char *program, const char *text, const ak_scope *scope)
{
    json_t *list = json_loads(program, 0, NULL);
    ak_buf infix = AK_BUF(AK_INFIX_MAX);
    int64_t wanted = 0, got = 0;
    ak_infix_print(&infix, list);
    json_decref(list);
    ak_status known = ak_expr_int(&wanted, text, scope, "test", NULL);
    if (known != ak_expr_int(&got, infix.data, scope, "test", NULL) || got != wanted) {
        fail_msg("%s, %s: %d", text, infix.data, (int)got);
    }
    ak_buf_free(&infix);
}

static void test_programs_are_shown_as_people_write_them(void **state)
{
    static const char *const shown[][2] = {
        {"[\"N\", 8, \"+\"]", "N + 8"},
        {"[\"N\", 0, \"+\"]", "N"},
        {"[\"M\", 15, \"+\", 16, \"//\"]", "(M + 15)//16"},
        {"[\"M\", \"neg()\", 4, \"//\", \"neg()\"]", "-(-M//4)"},
        {"[0, \"M\", 1, \"==\", \"or()\"]", "M == 1"},
        {"[\"M\", \"N\", 1, \"-\", \"-\"]", "M - (N - 1)"},
        {"[\"M\", 2, \"M\", 2, \"%\", 0, \"==\", \"*\", \"//\"]", "M/2"},
        {"[\"+\"]", "?"},
        {"[]", "?"},
        {"[1, 2]", "?"}};
    (void)state;
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        json_t *list = json_loads(shown[i][0], 0, NULL);
        ak_buf infix = AK_BUF(AK_INFIX_MAX);
        ak_infix_print(&infix, list);
        assert_string_equal(infix.data, shown[i][1]);
        json_decref(list);
        ak_buf_free(&infix);
    }
}

static void test_programs_mean_what_expressions_mean(void **state)
{
    static const char *const texts[] = {
        "4*A*M + N",
        "(M + A - 1)//A*N",
        "M % 3 + (0 - M) % 3 + (-N)//4 + 60",
        "max(M, N, 2*A) - min([M, N])",
        "M if layout in ['nn', 'nt'] else N",
        "M if N > 5 and M < 9 or N == 1 else N",
        "1000//(M - 3) if M != 3 else 7",
        "7 if M == 3 or 12//(M - 3) >= 0 else 1",
        "M*(1 < N <= 5 < 6) + (M in [1, 2, 3])*100 + (N not in [4, A])",
        "ceil(M/A) + floor(N/2) + int(M) + abs(M - N)",
        "4*(M*(1 if beta != 0 else 0) + N**2 + sum([i for i in range(A)]))",
        "not (M > 2) or N",
        "M and N or A",
        "M/2",
        "A*M/2*N/A + 1",
        "-(M/N) + 12 if N > 2 else M/1",
        "ceil((M + 1)*N/4) + floor(M/2/N)",
    };
    (void)state;
    ak_scope *scope = scope_of_test();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char program[4096];
        assert_int_equal(write_program(program, sizeof program, texts[i], scope), AK_OK);
        const parts p = {.workspace = program, .when = "[1]"};
        akr_bundle *bundle = NULL;
        akr_error why = {AKR_OK, ""};
        if (open_parts(&bundle, &p, &why) != AKR_OK) {
            fail_msg("%s: %s: %s", texts[i], program, why.text);
        }
        for (int64_t m = 1; m < 13; m++) {
            for (int64_t n = 1; n < 7; n++) {
                ak_scope *inner = ak_scope_new(scope);
                int64_t wanted = 0, size[] = {m, n};
                akr_plan plan;
                assert_int_equal(ak_scope_set_int(inner, "M", m, NULL), AK_OK);
                assert_int_equal(ak_scope_set_int(inner, "N", n, NULL), AK_OK);
                ak_status known = ak_expr_int(&wanted, texts[i], inner, "test", NULL);
                akr_status got = akr_query(&plan, bundle, size, &why);
                check_infix(program, texts[i], inner);
                ak_scope_free(inner);
                if (known != AK_OK || wanted < 0) {
                    assert_int_equal(got, AKR_UNSUPPORTED);
                } else if (got != AKR_OK || (int64_t)plan.workspace_bytes != wanted) {
                    fail_msg("%s at M=%d,N=%d: %zu", texts[i], (int)m, (int)n,
                             plan.workspace_bytes);
                }
            }
        }
        akr_close(bundle);
    }
    ak_scope_free(scope);
}

static void test_what_is_no_whole_number_is_no_program(void **state)
{
    static const char *const texts[] = {
        "int(M/2)", "max(M/2, N)",   "M/2 > 3",        "M//2/3", "0.5*M",    "M**N", "[M, N]",
        "sqrt(M)",  "sum(range(M))", "M + B",          "M +",    "M*layout", "2**M", "min(M)",
        "N in [M]", "M % 'a'",       "len([M, N]) + M"};
    (void)state;
    ak_scope *scope = scope_of_test();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char program[4096];
        assert_int_equal(write_program(program, sizeof program, texts[i], scope), AK_INVALID);
    }
    ak_scope_free(scope);
}

static void test_a_sum_is_known(void **state)
{
    char sum[65], million[1000];
    (void)state;
    akr_sha256(sum, "abc", 3); /* FIPS 180-4's own examples */
    assert_string_equal(sum, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    akr_sha256(sum, "", 0);
    assert_string_equal(sum, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    akr_sha256(sum, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56);
    assert_string_equal(sum, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    memset(million, 'a', sizeof million);
    akr_sha256(sum, million, 1000);
    assert_string_equal(sum, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
}

/* ---- what is refused --------------------------------------------------------------------------
 */

static void test_every_byte_counts(void **state)
{
    const parts p = {.schema = "1"};
    ak_buf tar = AK_BUF(1u << 26);
    akr_bundle *bundle = NULL;
    akr_error err;
    (void)state;
    build(&tar, &p, NULL, 0);
    for (size_t i = 0; i < tar.length; i++) {
        tar.data[i] = (char)(tar.data[i] ^ 0x11);
        akr_status status = akr_open_memory(&bundle, tar.data, tar.length, AKR_LOOK, &err);
        if (status != AKR_DAMAGED && status != AKR_FOREIGN) {
            fail_msg("byte %zu of %zu: %s", i, tar.length, akr_status_text(status));
        }
        tar.data[i] = (char)(tar.data[i] ^ 0x11);
    }
    for (size_t length = 0; length < tar.length; length += length < 1100 ? 37 : 256) {
        akr_status status = akr_open_memory(&bundle, tar.data, length, AKR_LOOK, &err);
        assert_true(status == AKR_DAMAGED || status == AKR_FOREIGN);
    }
    assert_int_equal(akr_open_memory(&bundle, tar.data, tar.length, AKR_LOOK, &err), AKR_OK);
    akr_close(bundle);
    ak_buf_free(&tar);
}

static void test_foreign_documents(void **state)
{
    static const parts cases[] = {
        {.schema = "2"},
        {.schema = "\"1\""},
        {.arguments = "[]"},
        {.arguments = "7"},
        {.arguments = "[{\"name\":\"X\",\"dtype\":\"f33\",\"access\":\"in\",\"shape\":[],"
                      "\"alignment\":4}]"},
        {.arguments = "[{\"name\":\"X\",\"dtype\":\"f32\",\"access\":\"in\",\"shape\":[],"
                      "\"alignment\":3}]"},
        {.arguments = "[{\"name\":\"X\",\"dtype\":\"f32\",\"access\":\"in\",\"shape\":[[\"Q\"]],"
                      "\"alignment\":4}]"},
        {.when = "null"},
        {.when = "[]"},
        {.when = "[1,2]"},
        {.when = "[\"+\"]"},
        {.when = "[1,\"+\"]"},
        {.when = "[0]"}, /* does not hold at the measured sizes */
        {.workspace = "[\"M\",1.5,\"*\"]"},
        {.workspace = "[\"M\",[],\"*\"]"},
        {.threads = "[\"if()\"]"},
        {.measured = "[]"},
        {.measured = "[{\"size\":[8],\"variant\":0,\"workspace_bytes\":0,\"threads\":1}]"},
        {.measured = "[{\"size\":[8,8],\"variant\":1,\"workspace_bytes\":0,\"threads\":1}]"},
        {.measured = "[{\"size\":[8,0],\"variant\":0,\"workspace_bytes\":0,\"threads\":1}]"},
        {.measured = "[{\"size\":[8,8],\"variant\":0,\"workspace_bytes\":-1,\"threads\":1}]"},
        {.measured = "[{\"size\":[8,8],\"variant\":0,\"workspace_bytes\":0,\"threads\":0}]"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        akr_bundle *bundle = NULL;
        akr_error err = {AKR_OK, ""};
        if (open_parts(&bundle, &cases[i], &err) != AKR_FOREIGN || err.text[0] == 0) {
            fail_msg("case %zu: %s", i, err.text);
        }
    }
}

/* Three hostile bundles are refused: a list that names one file twice and so leaves another
   unchecked, a bundle.json with a zero byte, which would hide the text behind it, with a key that
   occurs twice, or with bytes that are not UTF-8, and a FIFO among the files. */
static void test_hostile_files(void **state)
{
    (void)state;
    static const char code[] = "code";
    static char json[TEXT];
    ak_buf tar = AK_BUF(1u << 26);
    akr_bundle *bundle = NULL;
    akr_error err;
    const parts p = {.schema = "1"};
    build(&tar, &p, code, sizeof code);
    assert_int_equal(akr_open_memory(&bundle, tar.data, tar.length, AKR_LOOK, &err), AKR_OK);
    (void)snprintf(json, sizeof json, "%s", akr_describe(bundle)->json);
    akr_close(bundle);
    ak_buf_clear(&tar);
    size_t length = strlen(json);
    assert_true(bundle_wrap(&tar, json, length + 1, code, sizeof code)); /* with its final 0 */
    assert_int_equal(akr_open_memory(&bundle, tar.data, tar.length, AKR_LOOK, &err), AKR_FOREIGN);
    static char twice[2 * TEXT];
    ak_buf_clear(&tar);
    length = (size_t)snprintf(twice, sizeof twice, "{\"name\":\"other\",%s", json + 1);
    assert_true(bundle_wrap(&tar, twice, length, code, sizeof code));
    assert_int_equal(akr_open_memory(&bundle, tar.data, tar.length, AKR_LOOK, &err), AKR_FOREIGN);
    assert_non_null(strstr(err.text, "a key twice"));
    static const struct {
        const char *text, *why; /* NULL: it is UTF-8 */
    } texts[] = {{"\xc3\xa4 \xe2\x82\xac \xed\x9f\xbf \xf4\x8f\xbf\xbf \\ud83d\\ude00", NULL},
                 {"\xff", "no UTF-8 at byte 6"},
                 {"\xc0\xaf", "no UTF-8"},
                 {"\xe2\x82", "no UTF-8"},
                 {"\xe0\x9f\xbf", "no UTF-8"},
                 {"\xed\xa0\x80", "no UTF-8"},
                 {"\xf4\x90\x80\x80", "no UTF-8"},
                 {"\\udc00", "no JSON"}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ak_buf_clear(&tar);
        length = (size_t)snprintf(twice, sizeof twice, "{\"x\":\"%s\",%s", texts[i].text, json + 1);
        assert_true(bundle_wrap(&tar, twice, length, code, sizeof code));
        akr_status status = akr_open_memory(&bundle, tar.data, tar.length, AKR_LOOK, &err);
        assert_int_equal(status, texts[i].why == NULL ? AKR_OK : AKR_FOREIGN);
        if (status == AKR_OK) {
            akr_close(bundle);
        } else {
            assert_non_null(strstr(err.text, texts[i].why));
        }
    }
    ak_buf_free(&tar);

    char folder[] = "/tmp/test_bundle_XXXXXX", path[64];
    const char *list = strstr(json, "\"files\":[");
    assert_non_null(list);
    assert_non_null(mkdtemp(folder));
    const char *entry = list + strlen("\"files\":[");
    (void)snprintf(twice, sizeof twice, "%.*s%.*s,%s", (int)(entry - json), json,
                   (int)strcspn(entry, "]"), entry, entry);
    put(folder, "bundle.json", twice);
    char sum[96];
    akr_sha256(sum, twice, strlen(twice));
    memcpy(sum + 64, "  bundle.json\n", 15);
    put(folder, "bundle.sha256", sum);
    (void)snprintf(path, sizeof path, "%s/0.so", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(akr_open(&bundle, folder, AKR_LOOK, &err), AKR_FOREIGN);
    assert_non_null(
        strstr(err.text, "not a file")); /* the first entry is read, and not waited for */
    assert_int_equal(unlink(path), 0);
    assert_true(ak_fs_write(path, code, sizeof code, NULL) == AK_OK);
    assert_int_equal(akr_open(&bundle, folder, AKR_LOOK, &err), AKR_FOREIGN);
    assert_non_null(strstr(err.text, "an entry of files"));
    ak_fs_remove(folder);
}

static void test_queries(void **state)
{
    const parts p = {.workspace = NULL};
    akr_bundle *bundle = NULL;
    akr_error err;
    akr_plan plan;
    int64_t measured[] = {8, 64}, other[] = {5, 7}, few[] = {1, 8}, none[] = {8, 0},
            huge[] = {(int64_t)1 << 50, (int64_t)1 << 50};
    (void)state;
    assert_int_equal(open_parts(&bundle, &p, &err), AKR_OK);
    assert_int_equal(akr_query(&plan, bundle, measured, &err), AKR_OK);
    assert_int_equal(plan.measured, 1);
    assert_int_equal(plan.pitch[0], 64);
    assert_int_equal(akr_query(&plan, bundle, other, &err), AKR_OK);
    assert_int_equal(plan.measured, 0);
    assert_int_equal(plan.workspace_bytes, 40);
    assert_int_equal(plan.threads, 3);
    assert_int_equal(plan.pitch[0], 10); /* 7 + 7 % 4 */
    assert_int_equal(plan.bytes[0], (4 * 10 + 7) * 4);
    assert_int_equal(plan.bytes[1], 5 * 7 * 4);
    assert_int_equal(plan.bytes[2], 8);
    assert_int_equal(akr_query(&plan, bundle, few, &err), AKR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "M=1,N=8"));
    assert_int_equal(akr_query(&plan, bundle, none, &err), AKR_UNSUPPORTED);
    assert_int_equal(akr_query(&plan, bundle, huge, &err), AKR_UNSUPPORTED);
    assert_int_equal(akr_query(NULL, bundle, other, &err), AKR_INVALID);
    akr_close(bundle);
    /* Without formulas only what was measured is served. */
    const parts exact = {.workspace = "null", .threads = "null"};
    assert_int_equal(open_parts(&bundle, &exact, &err), AKR_OK);
    assert_int_equal(akr_query(&plan, bundle, measured, &err), AKR_OK);
    assert_int_equal(akr_query(&plan, bundle, other, &err), AKR_UNSUPPORTED);
    akr_close(bundle);
}

static void test_tensors(void **state)
{
    const parts p = {.workspace = NULL};
    akr_bundle *bundle = NULL;
    akr_error err;
    akr_plan plan;
    const akr_tensor usual[3] = {{NULL, AKR_F32, 2, {5, 7}, {10, 1}},
                                 {NULL, AKR_F32, 2, {5, 7}, {7, 1}},
                                 {NULL, AKR_F64, -1, {0}, {0}}};
    akr_tensor t[3];
    (void)state;
    assert_int_equal(open_parts(&bundle, &p, &err), AKR_OK);
    assert_int_equal(akr_match(&plan, bundle, usual, 3, &err), AKR_OK);
    assert_int_equal(plan.size[0], 5);
    assert_int_equal(akr_match(&plan, bundle, usual, 2, &err), AKR_INVALID);
    static const struct {
        int argument, field;
        int64_t value;
        akr_status wanted;
    } cases[] = {{0, 0, AKR_F64, AKR_DTYPE}, {0, 1, 3, AKR_SHAPE}, {1, 2, 6, AKR_SHAPE},
                 {1, 3, 8, AKR_SHAPE},       {0, 4, 7, AKR_SHAPE}, {0, 5, 2, AKR_SHAPE},
                 {2, 1, 0, AKR_OK},          {2, 0, 9, AKR_OK}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memcpy(t, usual, sizeof t);
        akr_tensor *one = &t[cases[i].argument];
        switch (cases[i].field) {
        case 0:
            one->dtype = (akr_dtype)cases[i].value;
            break;
        case 1:
            one->rank = (int)cases[i].value;
            break;
        case 2:
        case 3:
            one->shape[cases[i].field - 2] = cases[i].value;
            break;
        default:
            one->stride[cases[i].field - 4] = cases[i].value;
        }
        assert_int_equal(akr_match(&plan, bundle, t, 3, &err), cases[i].wanted);
    }
    akr_close(bundle);
}

/* ---- running ----------------------------------------------------------------------------------
 */

static const char source[] =
    "static void part(void *context, int thread, int n)\n"
    "{\n"
    "    const ak_host_call *call = context;\n"
    "    long *seen = call->workspace;\n"
    "    seen[thread] = n;\n"
    "    call->barrier(call->pool);\n"
    "    long sum = 0;\n"
    "    for (int i = 0; i < n; i++) sum += seen[i];\n"
    "    const float *x = call->arg[0];\n"
    "    float *y = call->arg[1];\n"
    "    long m = call->size[0], w = call->size[1];\n"
    "    for (long i = m * thread / n; i < m * (thread + 1) / n; i++)\n"
    "        for (long k = 0; k < w; k++)\n"
    "            y[i * w + k] = x[i * call->pitch[0] + k] * (float)call->number[0] + (float)sum;\n"
    "}\n"
    "void " ENTRY "(const ak_host_call *call)\n"
    "{\n"
    "    call->parallel(call->pool, call->threads, part, (void *)call);\n"
    "}\n";

typedef struct fixture {
    ak_buf tar;
    char *code;
    size_t length;
} fixture;

/* Compiles a text with the machine's compiler. The caller frees *code with ak_free. */
static void compile(char **code, size_t *length, const char *text)
{
    char folder[AK_PATH_MAX], from[AK_PATH_MAX], to[AK_PATH_MAX];
    ak_proc_result run = {0};
    assert_int_equal(ak_fs_temp(folder, NULL), AK_OK);
    assert_int_equal(ak_fs_join(from, folder, "k.c", NULL), AK_OK);
    assert_int_equal(ak_fs_join(to, folder, "k.so", NULL), AK_OK);
    assert_int_equal(ak_fs_write(from, text, strlen(text), NULL), AK_OK);
    const char *const argv[] = {"cc", "-O1", "-fPIC",    "-shared",    "-nostartfiles",
                                "-o", to,    "-include", AK_TEST_HOST, from,
                                NULL};
    const ak_proc_spec spec = {.argv = argv, .output_max = 4096};
    assert_int_equal(ak_proc_run(&run, &spec, NULL), AK_OK);
    assert_int_equal(run.exit_code, 0);
    ak_proc_result_clear(&run);
    assert_int_equal(ak_fs_read(code, length, to, 1u << 24, NULL), AK_OK);
    ak_fs_remove(folder);
}

static int make_code(void **state)
{
    static fixture f = {.tar = AK_BUF(1u << 26)};
    char cc[AK_PATH_MAX];
    if (!ak_fs_which(cc, "cc")) {
        *state = NULL;
        return 0;
    }
    compile(&f.code, &f.length, source);
    const parts p = {.workspace = NULL};
    build(&f.tar, &p, f.code, f.length);
    *state = &f;
    return 0;
}

static int drop_code(void **state)
{
    fixture *f = *state;
    if (f != NULL) {
        ak_free(f->code);
        ak_buf_free(&f->tar);
    }
    return 0;
}

static akr_bundle *open_running(void **state)
{
    const fixture *f = *state;
    akr_bundle *bundle = NULL;
    akr_error err;
    if (f == NULL) {
        skip();
    }
    char *bytes = malloc(f->tar.length);
    assert_non_null(bytes);
    memcpy(bytes, f->tar.data, f->tar.length);
    if (akr_open_memory(&bundle, bytes, f->tar.length, 0, &err) != AKR_OK) {
        fail_msg("%s", err.text);
    }
    memset(bytes, 0xa5, f->tar.length); /* an open bundle needs none of them */
    free(bytes);
    return bundle;
}

enum { M = 8, N = 64 };
typedef struct buffers {
    float x[M * N], y[M * N];
    unsigned char workspace[128];
} buffers;

static buffers *make_buffers(void)
{
    buffers *b = aligned_alloc(64, (sizeof *b + 63) / 64 * 64);
    assert_non_null(b);
    for (int i = 0; i < M * N; i++) {
        b->x[i] = (float)i;
        b->y[i] = -1;
    }
    return b;
}

static void assert_right(const buffers *b, int threads)
{
    for (int i = 0; i < M * N; i++) {
        assert_true(b->y[i] == 3 * (float)i + (float)(threads * threads));
    }
}

/* An open bundle, its plan for M x N, a pool and buffers. */
typedef struct running {
    akr_bundle *bundle;
    akr_plan plan;
    akr_pool *pool;
    buffers *b;
    void *arg[3];
} running;

static running start(void **state, int threads)
{
    running r = {.bundle = open_running(state), .b = make_buffers()};
    const int64_t size[] = {M, N};
    r.arg[0] = r.b->x;
    r.arg[1] = r.b->y;
    assert_int_equal(akr_query(&r.plan, r.bundle, size, NULL), AKR_OK);
    assert_int_equal(akr_pool_open(&r.pool, threads, NULL), AKR_OK);
    return r;
}

static akr_status run(const running *r, akr_error *err)
{
    return akr_run(r->bundle, &r->plan, r->arg, r->b->workspace, 64, r->pool, err);
}

static void stop(running *r)
{
    akr_pool_close(r->pool);
    akr_close(r->bundle);
    free(r->b);
}

static void test_a_run_computes(void **state)
{
    running r = start(state, 5), second = r;
    akr_error err;
    second.bundle = open_running(state);
    for (int i = 0; i < 200; i++) {
        memset(r.b->y, 0xff, sizeof r.b->y);
        assert_int_equal(run(&r, &err), AKR_OK);
        assert_right(r.b, 3);
    }
    assert_int_equal(run(&second, &err), AKR_INVALID); /* the plan is another bundle's */
    akr_close(second.bundle);
    stop(&r);
}

/* akr_run_call, which takes one argument, does the same as akr_run. */
static void test_a_call_of_one_argument(void **state)
{
    running r = start(state, 3);
    akr_error err;
    akr_call call = {r.bundle, &r.plan, r.arg, r.b->workspace, 64, r.pool, &err};
    assert_int_equal(akr_run_call(&call), AKR_OK);
    assert_right(r.b, 3);
    call.stream = NULL;
    assert_int_equal(akr_run_call(&call), AKR_THREADS);
    call.bundle = NULL;
    assert_int_equal(akr_run_call(&call), AKR_INVALID);
    assert_int_equal(akr_run_call(NULL), AKR_INVALID);
    stop(&r);
}

/* If the caller leaves out an argument, a kernel that reads it gets a NaN, at an aligned
   address. */
static void test_an_argument_left_out_is_nan(void **state)
{
    static const char reads[] =
        "void " ENTRY "(const ak_host_call *call)\n"
        "{\n"
        "    double z = *(const double *)call->arg[2];\n"
        "    ((float *)call->arg[1])[0] = z != z;\n"
        "    ((float *)call->arg[1])[1] = (float)((unsigned long)call->arg[2] % 64);\n"
        "}\n";
    fixture own = {.tar = AK_BUF(1u << 26)};
    void *mine = &own;
    const parts p = {.workspace = NULL};
    if (*state == NULL) {
        skip();
    }
    compile(&own.code, &own.length, reads);
    build(&own.tar, &p, own.code, own.length);
    running r = start(&mine, 3);
    assert_null(r.arg[2]);
    assert_int_equal(run(&r, NULL), AKR_OK);
    assert_true(r.b->y[0] == 1 && r.b->y[1] == 0);
    stop(&r);
    (void)drop_code(&mine);
}

/* After fork, a child lacks the threads of its parent's pools. The runtime reports this, and the
   child can open its own pool. The thread sanitizer ends such a child, so it skips this test. */
static void test_a_pool_stays_in_its_process(void **state)
{
#ifdef __SANITIZE_THREAD__
    skip();
#endif
    running r = start(state, 3);
    akr_error err;
    int ended = 0;
    assert_int_equal(run(&r, &err), AKR_OK);
    pid_t child = fork();
    if (child == 0) {
        (void)alarm(60);
        bool said = run(&r, &err) == AKR_THREADS && strstr(err.text, "forked") != NULL;
        akr_pool_close(r.pool);
        _exit(said && akr_pool_open(&r.pool, 3, NULL) == AKR_OK && run(&r, NULL) == AKR_OK ? 0 : 1);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(ended, 0);
    assert_int_equal(run(&r, &err), AKR_OK);
    stop(&r);
}

static void test_a_call_that_is_not_right_is_refused(void **state)
{
    running r = start(state, 3);
    buffers *b = r.b;
    akr_error err;
    akr_pool *pool = r.pool, *small = NULL;
    assert_int_equal(akr_pool_open(&small, 2, &err), AKR_OK);
    const struct {
        void *x, *y, *workspace;
        size_t bytes;
        akr_pool *pool;
        akr_status wanted;
        const char *part;
    } cases[] = {
        {NULL, b->y, b->workspace, 64, pool, AKR_POINTER, "X: is a null pointer"},
        {b->x, NULL, b->workspace, 64, pool, AKR_POINTER, "Y: is a null pointer"},
        {b->x + 1, b->y, b->workspace, 64, pool, AKR_POINTER, "X: must be aligned to 64"},
        {b->x, b->x, b->workspace, 64, pool, AKR_POINTER, "Y: overlaps X"},
        {b->x, b->x + 16, b->workspace, 64, pool, AKR_POINTER, "Y: overlaps X"},
        {b->x, b->y, b->y + 16, 64, pool, AKR_POINTER, "Y: overlaps the workspace"},
        {b->x, b->y, NULL, 64, pool, AKR_WORKSPACE, "64 bytes"},
        {b->x, b->y, b->workspace, 63, pool, AKR_WORKSPACE, "it has 63"},
        {b->x, b->y, b->workspace + 8, 64, pool, AKR_WORKSPACE, "misaligned"},
        {b->x, b->y, b->workspace, 64, NULL, AKR_THREADS, "3 threads are needed and there is 1"},
        {b->x, b->y, b->workspace, 64, small, AKR_THREADS, "3 threads are needed and there are 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        void *arg[] = {cases[i].x, cases[i].y, NULL};
        akr_status got = akr_run(r.bundle, &r.plan, arg, cases[i].workspace, cases[i].bytes,
                                 cases[i].pool, &err);
        if (got != cases[i].wanted || strstr(err.text, cases[i].part) == NULL) {
            fail_msg("case %zu: %s: %s", i, akr_status_text(got), err.text);
        }
    }
    for (int i = 0; i < M * N; i++) {
        assert_true(b->y[i] == -1); /* nothing was written */
    }
    akr_pool_close(small);
    stop(&r);
}

typedef struct caller {
    const akr_bundle *bundle;
    int threads;
} caller;

static void *call_often(void *context)
{
    const caller *c = context;
    akr_plan plan;
    akr_pool *pool = NULL;
    buffers *b = make_buffers();
    void *arg[] = {b->x, b->y, NULL};
    const int64_t size[] = {M, N};
    bool good = akr_query(&plan, c->bundle, size, NULL) == AKR_OK &&
                akr_pool_open(&pool, c->threads, NULL) == AKR_OK;
    for (int i = 0; i < 100 && good; i++) {
        memset(b->y, 0xff, sizeof b->y);
        good = akr_run(c->bundle, &plan, arg, b->workspace, 64, pool, NULL) == AKR_OK &&
               b->y[M * N - 1] == 3 * (float)(M * N - 1) + 9;
    }
    akr_pool_close(pool);
    free(b);
    return good ? context : NULL;
}

static void test_many_threads_share_a_bundle(void **state)
{
    akr_bundle *bundle = open_running(state);
    caller c = {bundle, 3};
    pthread_t thread[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, call_often, &c), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *result = NULL;
        assert_int_equal(pthread_join(thread[i], &result), 0);
        assert_ptr_equal(result, &c);
    }
    akr_close(bundle);
}

/* The table of backends, not the name, decides whether code is for a GPU. */
static void test_which_code_is_for_a_gpu(void **state)
{
    (void)state;
    for (size_t i = 0; ak_backends[i] != NULL; i++) {
        assert_int_equal(ak_bundle_is_for_gpu(ak_backends[i]->name), !ak_backends[i]->is_cpu);
    }
    assert_false(ak_bundle_is_for_gpu("host"));
    assert_true(ak_bundle_is_for_gpu("cuda"));
    assert_false(ak_bundle_is_for_gpu("nosuch"));
}

static void test_other_machines_and_code(void **state)
{
    const fixture *f = *state;
    akr_bundle *bundle = NULL;
    akr_error err;
    if (f == NULL) {
        skip();
    }
    static const struct {
        parts p;
        const char *part;
    } cases[] = {{{.architecture = "pdp11"}, "it is for pdp11"},
                 {{.features = "[\"avx9000\"]"}, "this processor has no avx9000"},
                 {{.features = "[\"\\u001b[2Jnope\"]"}, "this processor has no ?[2Jnope"}};
    for (size_t i = 0; i < 3; i++) {
        ak_buf tar = AK_BUF(1u << 26);
        build(&tar, &cases[i].p, f->code, f->length);
        assert_int_equal(akr_open_memory(&bundle, tar.data, tar.length, 0, &err), AKR_DEVICE);
        assert_non_null(strstr(err.text, cases[i].part));
        assert_int_equal(akr_open_memory(&bundle, tar.data, tar.length, AKR_LOOK, &err), AKR_OK);
        akr_close(bundle);
        ak_buf_free(&tar);
    }
    /* Code that is none, and code without the entry. */
    static const char junk[] = "this is not a shared object";
    const parts p = {.workspace = NULL};
    ak_buf tar = AK_BUF(1u << 26);
    build(&tar, &p, junk, sizeof junk);
    assert_int_equal(akr_open_memory(&bundle, tar.data, tar.length, 0, &err), AKR_DEVICE);
    assert_non_null(strstr(err.text, "0.so: cannot be loaded"));
    ak_buf_free(&tar);
    assert_int_equal(akr_open(&bundle, "/nonexistent.akb", 0, &err), AKR_NOT_FOUND);
    assert_int_equal(akr_open(&bundle, "/", 0, &err), AKR_NOT_FOUND);
    assert_int_equal(akr_open(&bundle, "/dev/null", 0, &err), AKR_FOREIGN);
}

/* If a program closes file descriptors that it does not own, two bundles can get the same path. For
   the second, dlopen then returns the library of the first, whose entry has the same name. */
static void test_other_code_in_its_place(void **state)
{
    running r = start(state, 3);
    const parts p = {.workspace = NULL};
    ak_buf tar = AK_BUF(1u << 26), text = AK_BUF(1u << 16);
    char *code = NULL;
    size_t length = 0;
    akr_bundle *first = r.bundle;
    const char *times = strstr(source, "x[i");
    ak_buf_print(&text, "%.*s2 * %s", (int)(times - source), source, times);
    compile(&code, &length, text.data);
    build(&tar, &p, code, length);
    for (int fd = 3; fd < 1024; fd++) {
        char path[64], target[256];
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, target, sizeof target - 1);
        target[n > 0 ? n : 0] = 0;
        if (strstr(target, "memfd:autokernel") != NULL) {
            (void)close(fd);
        }
    }
    assert_int_equal(akr_open_memory(&r.bundle, tar.data, tar.length, 0, NULL), AKR_OK);
    const int64_t size[] = {M, N};
    assert_int_equal(akr_query(&r.plan, r.bundle, size, NULL), AKR_OK);
    assert_int_equal(run(&r, NULL), AKR_OK);
    for (int i = 0; i < M * N; i++) {
        assert_true(r.b->y[i] == 6 * (float)i + (float)(3 * 3));
    }
    stop(&r);
    akr_close(first);
    ak_free(code);
    ak_buf_free(&tar);
    ak_buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs_are_shown_as_people_write_them),
        cmocka_unit_test(test_programs_mean_what_expressions_mean),
        cmocka_unit_test(test_what_is_no_whole_number_is_no_program),
        cmocka_unit_test(test_a_sum_is_known),
        cmocka_unit_test(test_every_byte_counts),
        cmocka_unit_test(test_foreign_documents),
        cmocka_unit_test(test_hostile_files),
        cmocka_unit_test(test_queries),
        cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_a_run_computes),
        cmocka_unit_test(test_a_call_of_one_argument),
        cmocka_unit_test(test_an_argument_left_out_is_nan),
        cmocka_unit_test(test_a_pool_stays_in_its_process),
        cmocka_unit_test(test_a_call_that_is_not_right_is_refused),
        cmocka_unit_test(test_many_threads_share_a_bundle),
        cmocka_unit_test(test_other_machines_and_code),
        cmocka_unit_test(test_other_code_in_its_place),
        cmocka_unit_test(test_which_code_is_for_a_gpu),
    };
    return cmocka_run_group_tests(tests, make_code, drop_code);
}
