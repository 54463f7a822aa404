/*
 * test_cuda_api.c: compares the CUDA declarations of this project with the toolkit's headers,
 * where these are installed. Every symbol must be declared there (under this name, or by a macro
 * that leads to it) with the same number of arguments, and every constant must have this value.
 * Also tests what the loader says if libraries are missing or too old.
 */
#include <setjmp.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <elf.h>

#include "backend/cuda/cuda.h"
#include "backend/cuda/cuda_api.h"
#include "base/alloc.h"

#define HEADER_MAX ((size_t)8 << 20)

static char *read_header(const char *name)
{
    static const char *const roots[] = {"/usr/local/cuda/include", "/usr/include"};
    for (size_t i = 0; i < 2; i++) {
        char path[AK_PATH_MAX], *text = NULL;
        (void)snprintf(path, sizeof path, "%s/%s", roots[i], name);
        if (ak_fs_read(&text, NULL, path, HEADER_MAX, NULL) == AK_OK) {
            return text;
        }
    }
    return NULL;
}

/* Returns how many arguments a list such as "(a, b(c, d), e)" has. */
static int count_arguments(const char *at)
{
    int depth = 0, count = 1;
    if (strncmp(at, "(void)", 6) == 0 || strncmp(at, "()", 2) == 0) {
        return 0;
    }
    for (; *at != 0; at++) {
        depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
        count += *at == ',' && depth == 1 ? 1 : 0;
        if (depth == 0) {
            return count;
        }
    }
    return -1;
}

/* Returns the argument list in the declaration of `name`; mentions in comments are skipped. */
static const char *declaration(const char *header, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strstr(header, name); at != NULL; at = strstr(at + 1, name)) {
        const char *before = at;
        while (before > header && before[-1] != '\n') {
            before--;
        }
        bool word = at == header || strchr(" \t*\n", at[-1]) != NULL;
        before += strspn(before, " \t");
        bool declares = *before != '*' && *before != '/' && *before != '#';
        const char *after = at + length + strspn(at + length, " \n");
        if (word && declares && *after == '(') {
            return after;
        }
    }
    return NULL;
}

/* Finds the declaration of a symbol. One such as cuMemAlloc_v2 is declared as cuMemAlloc, which a
   macro renames. */
static const char *find(const char *header, const char *symbol)
{
    char plain[80];
    size_t length = strlen(symbol);
    const char *found = declaration(header, symbol);
    for (const char *at = strstr(header, "#define "); found == NULL && at != NULL;
         at = strstr(at + 1, "#define ")) {
        const char *name = at + 8;
        size_t name_length = strcspn(name, " (\n");
        const char *value = name + name_length + strspn(name + name_length, " ");
        if (strncmp(value, symbol, length) == 0 && strchr(" \n", value[length]) != NULL &&
            name_length < sizeof plain) {
            (void)snprintf(plain, sizeof plain, "%.*s", (int)name_length, name);
            found = declaration(header, plain);
        }
    }
    return found;
}

typedef struct function {
    const char *symbol, *arguments;
} function;
static const function driver[] = {
#define X(member, symbol, arguments) {symbol, #arguments},
#include "backend/cuda/cuda_driver.def"
#undef X
};
static const function nvrtc[] = {
#define X(member, symbol, arguments) {symbol, #arguments},
#include "backend/cuda/cuda_nvrtc.def"
#undef X
};
static const function cublaslt[] = {
#define X(member, symbol, arguments) {symbol, #arguments},
#include "backend/cuda/cuda_cublaslt.def"
#undef X
};
static const function cudnn[] = {
#define X(member, symbol, arguments) {symbol, #arguments},
#include "backend/cuda/cuda_cudnn.def"
#undef X
};
static const function nvml[] = {
#define X(member, symbol, arguments) {symbol, #arguments},
#include "backend/cuda/cuda_nvml.def"
#undef X
};

static void test_declarations(void **state)
{
    static const struct {
        const char *header;
        const function *functions;
        size_t count;
    } libraries[] = {{"cuda.h", driver, sizeof driver / sizeof driver[0]},
                     {"nvrtc.h", nvrtc, sizeof nvrtc / sizeof nvrtc[0]},
                     {"cublasLt.h", cublaslt, sizeof cublaslt / sizeof cublaslt[0]},
                     {"cudnn_graph.h", cudnn, 3},
                     {"cudnn_ops.h", cudnn + 3, sizeof cudnn / sizeof cudnn[0] - 3},
                     {"nvml.h", nvml, sizeof nvml / sizeof nvml[0]}};
    (void)state;
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        char *header = read_header(libraries[i].header);
        if (header == NULL) {
            print_message("no %s here: its declarations are not compared\n", libraries[i].header);
            continue;
        }
        for (size_t k = 0; k < libraries[i].count; k++) {
            const function *f = &libraries[i].functions[k];
            const char *theirs = find(header, f->symbol);
            if (theirs == NULL) {
                fail_msg("%s does not declare %s", libraries[i].header, f->symbol);
            }
            if (count_arguments(theirs) != count_arguments(f->arguments)) {
                fail_msg("%s has %d arguments in %s, here %d", f->symbol, count_arguments(theirs),
                         libraries[i].header, count_arguments(f->arguments));
            }
        }
        ak_free(header);
    }
}

/* Reads the value in "NAME = 12" or "NAME = 0x1". */
static bool constant(long *out, const char *header, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strstr(header, name); at != NULL; at = strstr(at + 1, name)) {
        const char *after = at + length + strspn(at + length, " ");
        if (*after == '=' && (at == header || strchr(" \t", at[-1]) != NULL)) {
            after += 1 + strspn(after + 1, " ");
            char *end;
            *out = strtol(after, &end, 0);
            return end > after;
        }
    }
    return false;
}

static void test_constants(void **state)
{
    static const struct {
        const char *name;
        long value;
    } constants[] = {
#define X(member, constant, value) {#constant, value},
        AK_CUDA_CONSTANTS(X)
#undef X
#define X(member, constant, value) {#constant, value},
            AK_CUDA_FACTS(X)
#undef X
    };
    char *header = read_header("cuda.h");
    (void)state;
    if (header == NULL) {
        print_message("no cuda.h here: constants are not compared\n");
        skip();
    }
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++) {
        long value = 0;
        /* cuda.h counts the types of tensor maps and such: only the first has a number */
        bool counted = strstr(constants[i].name, "TENSOR_MAP") != NULL;
        bool found = constant(&value, header, constants[i].name);
        if (!counted && (!found || value != constants[i].value)) {
            fail_msg("%s is %ld in cuda.h, here %ld", constants[i].name, value, constants[i].value);
        }
        assert_non_null(strstr(header, constants[i].name));
    }
    ak_free(header);
}

/* The constants for dtypes equal those of CUtensorMapDataType in cuda.h. */
static void test_tensor_types(void **state)
{
    (void)state;
    static const ak_dtype counted[] = {AK_DTYPE_U8,  AK_DTYPE_U16, AK_DTYPE_U32, AK_DTYPE_I32,
                                       AK_DTYPE_U64, AK_DTYPE_I64, AK_DTYPE_F16, AK_DTYPE_F32,
                                       AK_DTYPE_F64, AK_DTYPE_BF16};
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++) {
        assert_int_equal(ak_dtype_tensor_type(counted[i]), i);
    }
    assert_int_equal(ak_dtype_tensor_type(AK_DTYPE_I8), 0); /* that of its bits */
    assert_int_equal(ak_dtype_tensor_type(AK_DTYPE_I16), 1);
    assert_int_equal(ak_dtype_tensor_type(AK_DTYPE_E4M3), 0);
}

static void test_cudnn_constants(void **state)
{
    static const struct {
        const char *name;
        long value;
    } constants[] = {
#define X(member, constant, value) {#constant, value},
        AK_CUDNN_CONSTANTS(X)
#undef X
    };
    char *graph = read_header("cudnn_graph.h"), *ops = read_header("cudnn_ops.h");
    (void)state;
    if (graph == NULL || ops == NULL) {
        print_message("no cudnn_graph.h and cudnn_ops.h here: constants are not compared\n");
        ak_free(graph);
        ak_free(ops);
        skip();
    }
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++) {
        long value = -1;
        bool found =
            constant(&value, graph, constants[i].name) || constant(&value, ops, constants[i].name);
        if (!found || value != constants[i].value) {
            fail_msg("%s is %ld in cuDNN, here %ld", constants[i].name, value, constants[i].value);
        }
    }
    ak_free(graph);
    ak_free(ops);
}

/* The structures that the driver reads have the layout of the toolkit's. */
static void test_layout(void **state)
{
    (void)state;
    assert_int_equal(sizeof(ak_cuda_tensor_map), 128);
    assert_int_equal(_Alignof(ak_cuda_tensor_map), 64);
    assert_int_equal(sizeof(ak_cuda_launch_attribute), 72);
    assert_int_equal(offsetof(ak_cuda_launch_config, stream), 32);
    assert_int_equal(sizeof(ak_cuda_launch_config), 56);
    assert_int_equal(sizeof(ak_cublaslt_result), 64 + 8 + 4 + 4 + 16);
}

static void test_missing(void **state)
{
    const ak_cuda_driver *cuda;
    const ak_cublaslt *lt;
    ak_error err = AK_ERROR_INIT;
    (void)state;
    assert_int_equal(setenv("AUTOKERNEL_LIBCUDA", "/nowhere/libcuda.so", 1), 0);
    assert_int_equal(ak_cuda_driver_open(&cuda, &err), AK_UNAVAILABLE);
    assert_non_null(strstr(err.text, "AUTOKERNEL_LIBCUDA=/nowhere/libcuda.so"));
    /* a library, but not this one */
    assert_int_equal(setenv("AUTOKERNEL_LIBCUBLASLT", "libm.so.6", 1), 0);
    assert_int_equal(ak_cublaslt_open(&lt, &err), AK_UNAVAILABLE);
    assert_non_null(strstr(err.text, "it has no cublasLt"));
    assert_int_equal(setenv("AUTOKERNEL_LIBCUDA", AK_TEST_FAKE_CUDA, 1), 0);
    assert_int_equal(setenv("FAKE_CUDA", "no_device", 1), 0);
    assert_int_equal(ak_cuda_driver_open(&cuda, &err), AK_UNAVAILABLE);
    assert_non_null(strstr(err.text, "CUDA_ERROR_NO_DEVICE"));
    assert_int_equal(unsetenv("FAKE_CUDA"), 0);
    assert_int_equal(ak_cuda_driver_open(&cuda, &err), AK_OK);
}

/* ---- libraries of wheels ----------------------------------------------------------------------
 */

static char home[AK_PATH_MAX], tried[AK_PATH_MAX]; /* a HOME, and what was loaded from it first */
static char on_wsl[AK_PATH_MAX];                   /* what was loaded from the folder of WSL last */

/* Replaces dlopen of the C library. While `home` is set, no library can be loaded, so the test does
   not depend on the libraries of the machine. */
void *dlopen(const char *name, int mode)
{
    void *(*open)(const char *, int) = NULL;
    void *next = dlsym(RTLD_NEXT, "dlopen");
    if (home[0] != 0) {
        if (tried[0] == 0 && strncmp(name, home, strlen(home)) == 0) {
            (void)snprintf(tried, sizeof tried, "%s", name);
        }
        if (strncmp(name, "/usr/lib/wsl/", 13) == 0) {
            (void)snprintf(on_wsl, sizeof on_wsl, "%s", name);
        }
        return NULL;
    }
    memcpy(&open, &next, sizeof open);
    return open(name, mode);
}

static void the_newest_wheel_is_loaded(void **state)
{
    static const char *const pythons[] = {"python3.9", "python3.12"};
    const ak_cudnn *cudnn_table;
    (void)state;
    assert_int_equal(ak_fs_temp(home, NULL), AK_OK);
    for (size_t i = 0; i < AK_COUNT(pythons); i++) {
        char name[160], path[AK_PATH_MAX];
        (void)snprintf(name, sizeof name,
                       ".local/lib/%s/site-packages/nvidia/cudnn/lib/libcudnn.so.9", pythons[i]);
        assert_int_equal(ak_fs_write_in(path, home, name, "", 0, NULL), AK_OK);
    }
    assert_int_equal(unsetenv("AUTOKERNEL_LIBCUDNN"), 0);
    assert_int_equal(setenv("HOME", home, 1), 0);
    ak_status status = ak_cudnn_open(&cudnn_table, NULL);
    ak_fs_remove(home);
    home[0] = 0;
    assert_int_equal(status, AK_UNAVAILABLE);
    assert_non_null(strstr(tried, "/python3.12/"));
}

/* On WSL libraries of the driver lie in a folder of their own; each is tried there by its name. */
static void a_library_of_wsl_has_its_own_name(void **state)
{
    const ak_cuda_nvml *table;
    (void)state;
    assert_int_equal(unsetenv("AUTOKERNEL_LIBNVML"), 0);
    assert_int_equal(ak_fs_temp(home, NULL), AK_OK);
    ak_status status = ak_cuda_nvml_open(&table, NULL);
    ak_fs_remove(home);
    home[0] = 0;
    assert_int_equal(status, AK_UNAVAILABLE);
    assert_string_equal(on_wsl, "/usr/lib/wsl/lib/libnvidia-ml.so.1");
}

/* ---- hashes of cubins -------------------------------------------------------------------------
 */

/* A cubin with a section for debuggers and one with code, whose name also contains "debug". */
typedef struct cubin {
    Elf64_Ehdr head;
    Elf64_Shdr sections[4];
    char names[48];
    unsigned char line[8], code[8];
} cubin;

static void make_cubin(cubin *c)
{
    static const char names[] = "\0.shstrtab\0.debug_line\0.text.debug";
    *c = (cubin){.head = {.e_shoff = offsetof(cubin, sections),
                          .e_shentsize = sizeof(Elf64_Shdr),
                          .e_shnum = 4,
                          .e_shstrndx = 1}};
    memcpy(c->head.e_ident, ELFMAG, SELFMAG);
    memcpy(c->names, names, sizeof names);
    c->sections[1] = (Elf64_Shdr){.sh_name = 1,
                                  .sh_type = SHT_STRTAB,
                                  .sh_offset = offsetof(cubin, names),
                                  .sh_size = sizeof names};
    c->sections[2] = (Elf64_Shdr){.sh_name = 11,
                                  .sh_type = SHT_PROGBITS,
                                  .sh_offset = offsetof(cubin, line),
                                  .sh_size = sizeof c->line};
    c->sections[3] = (Elf64_Shdr){.sh_name = 23,
                                  .sh_type = SHT_PROGBITS,
                                  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                                  .sh_offset = offsetof(cubin, code),
                                  .sh_size = sizeof c->code};
}

/* The hash of a cubin ignores sections for debuggers, into which NVRTC writes the time with
   -lineinfo. */
static void test_hashes_of_cubins(void **state)
{
    cubin c;
    char first[AK_HASH_BYTES], second[AK_HASH_BYTES];
    const unsigned char *bytes = (const unsigned char *)&c;
    (void)state;
    make_cubin(&c);
    assert_true(ak_cuda_code_hash(first, bytes, sizeof c));
    c.line[3] = 1;
    assert_true(ak_cuda_code_hash(second, bytes, sizeof c));
    assert_string_equal(first, second);
    c.code[3] = 1;
    assert_true(ak_cuda_code_hash(second, bytes, sizeof c));
    assert_string_not_equal(first, second);
    c.sections[3].sh_size = sizeof c; /* beyond the file */
    assert_false(ak_cuda_code_hash(second, bytes, sizeof c));
    c.head.e_shstrndx = 9;
    assert_false(ak_cuda_code_hash(second, bytes, sizeof c));
    assert_false(ak_cuda_code_hash(second, bytes, 10));
    assert_false(ak_cuda_code_hash(second, (const unsigned char *)"// no cubin", 11));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_declarations),
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_tensor_types),
        cmocka_unit_test(test_cudnn_constants),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_hashes_of_cubins),
        cmocka_unit_test(the_newest_wheel_is_loaded),
        cmocka_unit_test(a_library_of_wsl_has_its_own_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
