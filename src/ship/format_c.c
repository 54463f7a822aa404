/*
 * format_c.c: writes the amalgamation: one .c and one .h with a bundle, the runtime and a plain
 * function, which a user copies into a source tree, and a program that tests them there. The
 * written code compiles without warnings as C99 and as C++, so it has casts and early declarations
 * that either language alone would not need.
 */
#include "ship/bundle.h"

#include <string.h>

#include "base/alloc.h"
#include "base/asset.h"
#include "base/code_text.h"
#include "base/fs.h"
#include "base/infix.h"
#include "formats/format.h"
#include "runtime/ak_runtime.h"

#define SOURCE_MAX (1u << 30)
#define LINE_BYTES 24
/* Room for the longest name of a size or argument, "_array" and as many "_" as there are other
   names. */
#define NAMES_MORE (AKR_SIZES_MAX + AKR_ARGUMENTS_MAX)
#define NAME_MAX_C (64 + 6 + NAMES_MORE + 1)

typedef struct writer {
    const akr_info *info;
    const akr_bundle *bundle;
    const ak_pack *pack;
    json_t *file; /* bundle.json */
    char size[AKR_SIZES_MAX][NAME_MAX_C], argument[AKR_ARGUMENTS_MAX][NAME_MAX_C];
} writer;

/* ---- names and types ------------------------------------------------------------------------- */

/* Returns whether a parameter cannot have this name, because it is a keyword of C or C++, a macro
   of a compiler or the C library, another parameter, or a name in the generated source. */
static bool is_word(const char *name)
{
    /* clang-format off */
    static const char *const words[] = {
        "ak_arg", "ak_found", "ak_size", "ak_thread", "AKR_ARGUMENTS_MAX", "AKR_OK",
        "AKR_SIZES_MAX", "akr_status", "alignas", "alignof", "and", "and_eq", "asm", "auto",
        "bitand", "bitor", "bool", "break", "bytes", "case", "catch", "char", "char16_t",
        "char32_t", "char8_t", "class", "co_await", "co_return", "co_yield", "compl", "concept",
        "const", "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype",
        "default", "delete", "do", "double", "dynamic_cast", "else", "enum", "errno", "explicit",
        "export", "extern", "false", "float", "for", "friend", "goto", "if", "inline", "int",
        "int16_t", "int32_t", "int64_t", "int8_t", "linux", "long", "mutable", "namespace", "new",
        "noexcept", "not", "not_eq", "NULL", "nullptr", "one_find", "one_run", "one_thread",
        "operator", "or", "or_eq", "private", "protected", "public", "register",
        "reinterpret_cast", "requires", "restrict", "return", "short", "signed", "size_t",
        "sizeof", "static", "static_assert", "static_cast", "stderr", "stdin", "stdout", "stream",
        "struct", "switch", "template", "this", "thread_local", "throw", "true", "try", "typedef",
        "typeid", "typename", "typeof", "typeof_unqual", "uint16_t", "uint32_t", "uint64_t",
        "uint8_t", "uintptr_t", "union", "unix", "unsigned", "using", "virtual", "void",
        "volatile", "wchar_t", "while", "workspace", "workspace_bytes", "xor", "xor_eq"};
    /* clang-format on */
    return AK_HAS_TEXT(words, AK_COUNT(words), name);
}

/* Returns whether a name is a reserved word (is_word), or the name of one of the first `sizes`
   sizes or the first `arguments` arguments. */
static bool is_taken(const writer *w, const char *name, int sizes, int arguments)
{
    bool taken = is_word(name);
    for (int i = 0; i < sizes; i++) {
        taken = taken || strcmp(w->size[i], name) == 0;
    }
    for (int i = 0; i < arguments; i++) {
        taken = taken || strcmp(w->argument[i], name) == 0;
    }
    return taken;
}

static void add_underscore(char name[NAME_MAX_C])
{
    size_t length = strlen(name);
    name[length] = '_';
    name[length + 1] = 0;
}

/* Chooses the names of the C parameters. A size keeps its name, and an argument whose name is taken
   gets "_array" at the end. While the result is taken, "_" is appended. */
static void choose_names(writer *w)
{
    const akr_info *info = w->info;
    for (int i = 0; i < info->size_count; i++) {
        (void)snprintf(w->size[i], NAME_MAX_C, "%.64s", info->size_name[i]);
        for (int more = 0; more < NAMES_MORE && is_taken(w, w->size[i], i, 0); more++) {
            add_underscore(w->size[i]);
        }
    }
    for (int i = 0; i < info->argument_count; i++) {
        const char *name = info->argument[i].name;
        bool taken = is_taken(w, name, info->size_count, i);
        (void)snprintf(w->argument[i], NAME_MAX_C, "%.64s%s", name, taken ? "_array" : "");
        for (int more = 0; more < NAMES_MORE && is_taken(w, w->argument[i], info->size_count, i);
             more++) {
            add_underscore(w->argument[i]);
        }
    }
}

/* Prints the sizes as parameters: "int64_t M, int64_t N". */
static void print_sizes(ak_buf *out, const writer *w)
{
    for (int i = 0; i < w->info->size_count; i++) {
        ak_buf_print(out, "%sint64_t %s", i == 0 ? "" : ", ", w->size[i]);
    }
}

static void print_prototypes(ak_buf *out, const writer *w, const char *tail)
{
    ak_buf_print(out, "int ak_%s_workspace(size_t *bytes, ", w->info->name);
    print_sizes(out, w);
    ak_buf_print(out, ")%s\n", tail);
}

static void print_function(ak_buf *out, const writer *w)
{
    ak_buf_print(out, "int ak_%s(", w->info->name);
    print_sizes(out, w);
    for (int i = 0; i < w->info->argument_count; i++) {
        const akr_argument *a = &w->info->argument[i];
        ak_buf_print(out, ",\n    %s%s *%s", a->access == AKR_IN ? "const " : "",
                     ak_dtype_c_type((ak_dtype)a->dtype), w->argument[i]);
    }
    ak_buf_print(out, ",\n    void *workspace, size_t workspace_bytes%s)",
                 ak_bundle_is_for_gpu(w->info->backend) ? ", void *stream" : "");
}

/* ---- the header ------------------------------------------------------------------------------ */

static void print_arguments(ak_buf *out, const writer *w)
{
    const json_t *list = json_object_get(w->file, "arguments");
    for (int i = 0; i < w->info->argument_count; i++) {
        const akr_argument *a = &w->info->argument[i];
        AK_AT_END(ak_buf_free) ak_buf shape = AK_BUF(SOURCE_MAX);
        ak_infix_print_shape(&shape, json_array_get(list, (size_t)i));
        ak_buf_print(out, " *   %s: %s, %s ", w->argument[i],
                     a->access == AKR_IN    ? "read"
                     : a->access == AKR_OUT ? "written"
                                            : "read and written",
                     akr_dtype_text(a->dtype));
        ak_code_comment(out, shape.data);
        ak_buf_puts(out, a->unused ? ", not looked at: may be NULL\n" : "\n");
    }
}

static ak_status write_header(ak_buf *out, const writer *w, ak_error *err)
{
    const akr_info *info = w->info;
    ak_buf_print(out, "/*\n * %s.h: ", info->name);
    ak_code_comment(out, ak_json_text_at(w->file, "description"));
    ak_buf_puts(out, "\n *\n * Written by autokernel " AK_VERSION
                     " (docs/shipping.md); link with -ldl -lm -pthread.\n *\n");
    print_arguments(out, w);
    ak_buf_print(
        out,
        " *\n * Arrays are row-major and aligned to %d bytes, and so is the workspace; "
        "what is written overlaps\n * nothing else. Rows adjoin unless a distance is given "
        "above; no function can see how long an array is.\n * %s",
        (int)info->alignment, info->options[0] == 0 ? "" : "Options: ");
    ak_code_comment(out, info->options);
    ak_buf_print(out, "%sMeasured sizes (", info->options[0] == 0 ? "" : ". ");
    for (int i = 0; i < info->size_count; i++) {
        ak_buf_print(out, "%s%s", i == 0 ? "" : ", ", info->size_name[i]);
    }
    ak_buf_puts(out, "):\n *   ");
    for (int i = 0; i < info->measured_count; i++) {
        const int64_t *size = akr_measured_size(w->bundle, i);
        for (int k = 0; k < info->size_count; k++) {
            ak_buf_print(out, "%s%lld", k == 0 ? (i == 0 ? "" : "; ") : "x", (long long)size[k]);
        }
    }
    ak_buf_puts(out, "\n *\n * Functions return 0 or one of these; nothing is written then:\n");
    for (int i = 1; strcmp(akr_status_text((akr_status)i), "unknown") != 0; i++) {
        ak_buf_print(out, " *   %2d  %s\n", i, akr_status_text((akr_status)i));
    }
    ak_buf_puts(
        out, ak_bundle_is_for_gpu(w->info->backend)
                 ? " *\n * Arrays and workspace are in the memory of the GPU. A call puts the work "
                   "into the stream (a CUstream or\n * cudaStream_t) and returns at once; a graph "
                   "may capture it. The code is loaded by the first call, into the\n * context "
                   "that is current then. A workspace must be zero before its first call, is for "
                   "one set of sizes, and\n * calls that could overlap in time each need their "
                   "own.\n"
                 : " *\n * Any number of threads may call at once, each with its own outputs and "
                   "workspace. The first call in a\n * thread starts the threads that it needs; "
                   "they end with it.\n");
    ak_buf_print(out,
                 " */\n#ifndef AK_%s_H\n#define AK_%s_H\n\n#include <stddef.h>\n"
                 "#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
                 "/* Gives the bytes of the workspace at these sizes. */\n",
                 info->name, info->name);
    print_prototypes(out, w, ";");
    print_function(out, w);
    ak_buf_print(out,
                 ";\n/* Says what a status means or, if the bundle could not be opened, why. */\n"
                 "const char *ak_%s_text(int status);\n\n#ifdef __cplusplus\n}\n#endif\n#endif\n",
                 info->name);
    return ak_buf_status(out, err);
}

/* ---- the source ------------------------------------------------------------------------------ */

static ak_status print_asset(ak_buf *out, const char *path, ak_error *err)
{
    const ak_asset *asset = ak_asset_find(path);
    AK_FAIL_IF(asset == NULL, err, AK_INTERNAL, "%s is not part of this build", path);
    for (const char *line = asset->data; *line != 0;) {
        size_t length = strcspn(line, "\n") + 1;
        if (strncmp(line, "#include \"ak_runtime.h\"", 23) != 0) {
            ak_buf_append(out, line, length);
        }
        line += length;
    }
    return ak_buf_status(out, err);
}

static ak_status print_bundle(ak_buf *out, const ak_pack *pack, ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf tar = AK_BUF(AK_BUNDLE_BYTES_MAX);
    ak_status status = ak_pack_tar(&tar, pack, err);
    ak_buf_puts(out, "\n/* The bundle: a tar file. */\nstatic const unsigned char one_bundle[] "
                     "__attribute__((aligned(64))) = {");
    for (size_t i = 0; i < tar.length && status == AK_OK; i++) {
        ak_buf_print(out, "%s%u,", i % LINE_BYTES == 0 ? "\n    " : "",
                     (unsigned)(unsigned char)tar.data[i]);
    }
    ak_buf_puts(out, "\n};\n\n");
    return status == AK_OK ? ak_buf_status(out, err) : status;
}

static void print_body(ak_buf *out, const writer *w)
{
    const akr_info *info = w->info;
    print_prototypes(out, w, "");
    ak_buf_puts(out, "{\n    one_thread *ak_thread;\n    int64_t ak_size[AKR_SIZES_MAX] = {0};\n"
                     "    akr_status ak_found;\n");
    for (int i = 0; i < info->size_count; i++) {
        ak_buf_print(out, "    ak_size[%d] = %s;\n", i, w->size[i]);
    }
    ak_buf_puts(out, "    ak_found = one_find(&ak_thread, ak_size, NULL);\n"
                     "    if (ak_found == AKR_OK && bytes != NULL) {\n"
                     "        *bytes = ak_thread->plan.workspace_bytes;\n    }\n"
                     "    return (int)ak_found;\n}\n\n");
    print_function(out, w);
    ak_buf_puts(out, "\n{\n    one_thread *ak_thread;\n    int64_t ak_size[AKR_SIZES_MAX] = {0};\n"
                     "    void *ak_arg[AKR_ARGUMENTS_MAX] = {NULL};\n    akr_status ak_found;\n");
    for (int i = 0; i < info->size_count; i++) {
        ak_buf_print(out, "    ak_size[%d] = %s;\n", i, w->size[i]);
    }
    for (int i = 0; i < info->argument_count; i++) {
        ak_buf_print(out, "    ak_arg[%d] = (void *)(uintptr_t)%s;\n", i, w->argument[i]);
    }
    ak_buf_print(out,
                 "    ak_found = one_find(&ak_thread, ak_size, NULL);\n"
                 "    return (int)(ak_found != AKR_OK ? ak_found\n"
                 "                                  : one_run(ak_thread, ak_arg, workspace, "
                 "workspace_bytes, %s, NULL));\n}\n\n"
                 "const char *ak_%s_text(int status)\n{\n"
                 "    return status != 0 && status == (int)one_status && one_error.text[0] != 0\n"
                 "               ? one_error.text\n"
                 "               : akr_status_text((akr_status)status);\n}\n",
                 ak_bundle_is_for_gpu(w->info->backend) ? "stream" : "NULL", info->name);
}

/* Prints the functions that TVM FFI calls. */
static ak_status print_tvm(ak_buf *out, const writer *w, ak_error *err)
{
    static const char *const tails[][2] = {{"", "run"}, {"_workspace", "workspace"}};
    ak_buf_puts(out, "\n#ifndef AK_NO_TVM_FFI\n");
    ak_status status = print_asset(out, "runtime/amalgam_tvm.c", err);
    for (size_t i = 0; i < AK_COUNT(tails); i++) {
        ak_buf_print(out,
                     "\nAK_TVM_ENTRY __tvm_ffi_ak_%s%s(void *handle, const one_any *args, int32_t "
                     "count, one_any *result);\n"
                     "AK_TVM_ENTRY __tvm_ffi_ak_%s%s(void *handle, const one_any *args, int32_t "
                     "count, one_any *result)\n{\n    (void)handle;\n"
                     "    return one_tvm_%s(args, count, result);\n}\n",
                     w->info->name, tails[i][0], w->info->name, tails[i][0], tails[i][1]);
    }
    ak_buf_puts(out, "#endif\n");
    return status == AK_OK ? ak_buf_status(out, err) : status;
}

static ak_status write_source(ak_buf *out, const writer *w, ak_error *err)
{
    ak_buf_print(out,
                 "/* %s.c: see %s.h. First the runtime of autokernel, then the bundle, then the "
                 "functions. */\n#ifndef _GNU_SOURCE\n#define _GNU_SOURCE\n#endif\n"
                 "#include \"%s.h\"\n\n#define AKR_API static __attribute__((unused))\n",
                 w->info->name, w->info->name, w->info->name);
    AK_DO(print_asset(out, "runtime/ak_runtime.h", err));
    AK_DO(print_asset(out, "runtime/ak_runtime.c", err));
    AK_DO(print_bundle(out, w->pack, err));
    AK_DO(print_asset(out, "runtime/amalgam_call.c", err));
    print_body(out, w);
    AK_DO(print_tvm(out, w, err));
    return ak_buf_status(out, err);
}

/* ---- the test -------------------------------------------------------------------------------- */

/* Prints what the test knows of an array: a test_array of runtime/amalgam_test.c. */
static void print_array(ak_buf *out, const writer *w, const akr_plan *plan, int i)
{
#define DTYPE_KIND(name, text, kind, ...) TEST_##kind(name)
#define TEST_FLOAT(name)                  #name
#define TEST_SIGNED(name)                 "SIGNED"
#define TEST_UNSIGNED(name)               "UNSIGNED"
#define DTYPE_TEXT(...)                   DTYPE_KIND(__VA_ARGS__),
    static const char *const dtypes[] = {AKR_DTYPE_MAP(DTYPE_TEXT)};
    static const char *const tolerances[] = {"relative", "rms", "absolute"};
    const akr_argument *a = &w->info->argument[i];
    const json_t *measured = json_array_get(json_object_get(w->file, "measured"), 0);
    const json_t *tolerance = json_array_get(json_object_get(measured, "tolerances"), (size_t)i);
    const json_t *fill =
        json_object_get(json_array_get(json_object_get(w->file, "arguments"), (size_t)i), "fill");
    const char *kind = ak_json_text_at(fill, "kind");
    const int64_t row = a->rank > 0 ? plan->extent[i][a->rank - 1] : 1;
    int64_t count = 1;
    for (int d = 0; d < a->rank; d++) {
        count *= plan->extent[i][d];
    }
    ak_buf_print(out, "        {TEST_%s, %zu, %d, %d, '%c', ", dtypes[a->dtype],
                 akr_dtype_bytes(a->dtype), a->access != AKR_OUT, a->access != AKR_IN,
                 a->unused                   ? 'x'
                 : strcmp(kind, "cuts") == 0 ? 'k'
                                             : kind[0]);
    ak_buf_real(out, ak_json_number_at(fill, "a"));
    ak_buf_puts(out, ", ");
    ak_buf_real(out, ak_json_number_at(fill, "b"));
    ak_buf_print(out, ", %lld, %lld, %lld, %zu", (long long)count, (long long)row,
                 (long long)plan->pitch[i], plan->bytes[i]);
    for (size_t t = 0; t < AK_COUNT(tolerances); t++) {
        ak_buf_puts(out, ", ");
        ak_buf_real(out, ak_json_number_at(tolerance, tolerances[t]));
    }
    ak_buf_print(out, "}, /* %s */\n", a->name);
}

/* Prints the elements of an array as arguments of a call. With `begins`, they are the first
   arguments, so no comma comes before them. */
static void print_elements(ak_buf *out, const char *array, int count, bool begins)
{
    for (int i = 0; i < count; i++) {
        ak_buf_print(out, "%s%s[%d]", begins && i == 0 ? "" : ", ", array, i);
    }
}

/* Prints the calls and comparisons of the test. */
static void print_calls(ak_buf *out, const writer *w)
{
    const akr_info *info = w->info;
    ak_buf_print(out,
                 "    void *workspace = aligned_alloc(64, (bytes + 127) / 64 * 64);\n"
                 "    ak_host_call call = {size, choice, number, (void *const *)right, rows, NULL, "
                 "1, test_alone, test_no_barrier, NULL};\n    ak_reference(&call);\n"
                 "    long most = 0;\n    for (int old = 0; old < TEST_OLDS; old++) {\n"
                 "        test_begin(arg, first, arrays, %d, (test_old)old);\n"
                 "        status = status != 0 ? status : ak_%s(",
                 info->argument_count, info->name);
    print_elements(out, "size", info->size_count, true);
    print_elements(out, "arg", info->argument_count, false);
    ak_buf_print(out,
                 ", workspace, bytes);\n        if (status != 0) {\n"
                 "            return test_refused(\"%s\", ak_%s_text(status));\n        }\n"
                 "        long wrong = test_compare(arg, right, arrays, %d);\n"
                 "        most = wrong > most ? wrong : most;\n    }\n"
                 "    return test_ended(\"%s\", most);\n}\n",
                 info->name, info->name, info->argument_count, info->name);
}

/* Prints the test of the first measured size: arrays, the reference, and a call and a comparison
   for each old content of the outputs. */
static void print_test(ak_buf *out, const writer *w, const akr_plan *plan)
{
    const akr_info *info = w->info;
    const json_t *options = json_object_get(w->file, "option_values");
    ak_buf_puts(out, "\nint main(void)\n{\n    static const test_array arrays[] = {\n");
    for (int i = 0; i < info->argument_count; i++) {
        print_array(out, w, plan, i);
    }
    ak_buf_puts(out, "    };\n    size_t bytes = 0;\n    int64_t size[] = {");
    for (int i = 0; i < info->size_count; i++) {
        ak_buf_print(out, "%s%lld", i == 0 ? "" : ", ", (long long)plan->size[i]);
    }
    ak_buf_puts(out, "};\n    int choice[] = {");
    for (size_t i = 0; i < json_array_size(options); i++) {
        ak_buf_print(
            out, "%lld, ",
            (long long)json_integer_value(json_object_get(json_array_get(options, i), "index")));
    }
    ak_buf_puts(out, "0};\n    double number[] = {");
    for (size_t i = 0; i < json_array_size(options); i++) {
        const json_t *value = json_object_get(json_array_get(options, i), "value");
        ak_buf_real(out, json_is_number(value) ? json_number_value(value) : 0);
        ak_buf_puts(out, ", ");
    }
    ak_buf_print(out,
                 "0};\n    int64_t rows[16] = {0};\n    double *right[16] = {NULL};\n"
                 "    void *arg[16] = {NULL}, *first[16] = {NULL};\n"
                 "    test_make(arg, first, right, rows, arrays, %d);\n"
                 "    int status = ak_%s_workspace(&bytes",
                 info->argument_count, info->name);
    print_elements(out, "size", info->size_count, false);
    ak_buf_puts(out, ");\n");
    print_calls(out, w);
}

/* Returns whether an argument is filled from a file, which the test in C cannot read. */
static bool needs_files(const json_t *file)
{
    const json_t *arguments = json_object_get(file, "arguments");
    for (size_t i = 0; i < json_array_size(arguments); i++) {
        const json_t *fill = json_object_get(json_array_get(arguments, i), "fill");
        if (ak_json_text_is(fill, "kind", "file")) {
            return true;
        }
    }
    return false;
}

/* Finds the C file that the problem in the bundle names as its reference; NULL if it names none. */
static const ak_pack_file *find_reference(const writer *w)
{
    char name[2 * AK_PACK_NAME_MAX + 16], file[AK_PACK_NAME_MAX + 4] = "";
    json_t *problem = NULL;
    (void)snprintf(name, sizeof name, "source/%.63s/problem.json", w->info->kernel);
    const ak_pack_file *found = ak_pack_find(w->pack, name);
    if (found != NULL && ak_json_parse(&problem, found->data, found->length, name, NULL) == AK_OK) {
        (void)snprintf(file, sizeof file, "%.100s", ak_json_text_at(problem, "reference"));
    }
    json_decref(problem);
    if (!ak_fs_has_suffix(file, ".c")) {
        return NULL;
    }
    (void)snprintf(name, sizeof name, "source/%.63s/%.100s", w->info->kernel, file);
    return ak_pack_find(w->pack, name);
}

/* Returns why the test cannot compare results; NULL if it can. Then *plan is for the first measured
   size. */
static const char *why_opened_only(akr_plan *plan, const writer *w, const ak_pack_file *reference)
{
    return ak_bundle_is_for_gpu(w->info->backend)
               ? "its arrays are in the memory of a GPU; 'autokernel bundle verify' compares them"
           : reference == NULL    ? "its reference is no C function; 'autokernel bundle verify' "
                                    "compares with it"
           : needs_files(w->file) ? "its inputs are in files; 'autokernel bundle verify' reads them"
           : akr_query(plan, w->bundle, akr_measured_size(w->bundle, 0), NULL) != AKR_OK
               ? "it does not serve the size at which it was measured"
               : NULL;
}

static ak_status write_test(ak_buf *out, const writer *w, ak_error *err)
{
    const akr_info *info = w->info;
    akr_plan plan;
    const ak_pack_file *reference = find_reference(w);
    const char *why = why_opened_only(&plan, w, reference);
    ak_buf_print(out,
                 "/* test_%s.c: %s.\n"
                 " * Written by autokernel " AK_VERSION ".\n"
                 " *     cc -O1 test_%s.c %s.c -ldl -lm -pthread -o test && ./test */\n"
                 "#ifndef _GNU_SOURCE\n#define _GNU_SOURCE\n#endif\n#include \"%s.h\"\n\n",
                 info->name,
                 why == NULL ? "some calls against the reference of the kernel"
                             : "opens the kernel, and compares nothing",
                 info->name, info->name, info->name);
    if (why != NULL) {
        AK_DO(print_asset(out, "runtime/amalgam_test.c", err));
        ak_buf_print(out,
                     "int main(void)\n{\n    size_t bytes = 0;\n"
                     "    int status = ak_%s_workspace(&bytes",
                     info->name);
        for (int i = 0; i < info->size_count; i++) {
            ak_buf_print(out, ", %lld", (long long)akr_measured_size(w->bundle, 0)[i]);
        }
        ak_buf_print(out,
                     ");\n    return status != 0 ? test_refused(\"%s\", ak_%s_text(status)) : "
                     "test_opened(\"%s\", \"%s\");\n}\n",
                     info->name, info->name, info->name, why);
        return ak_buf_status(out, err);
    }
    AK_DO(print_asset(out, "src/backend/host/ak_host.h", err));
    ak_buf_append(out, reference->data, reference->length);
    AK_DO(print_asset(out, "runtime/amalgam_test.c", err));
    print_test(out, w, &plan);
    return ak_buf_status(out, err);
}

/* ---- the files ------------------------------------------------------------------------------- */

typedef struct c_file {
    /* What stands before and after the bundle's name in the file's name. */
    const char *before, *after;
    ak_status (*write)(ak_buf *out, const writer *w, ak_error *err);
} c_file;

static const c_file c_files[] = {
    {"", ".h", write_header}, {"", ".c", write_source}, {"test_", ".c", write_test}};

static ak_status add(ak_pack *out, const c_file *file, const writer *w, ak_error *err)
{
    char path[AK_BUNDLE_NAME_MAX + 16];
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(SOURCE_MAX);
    (void)snprintf(path, sizeof path, "%s%s%s", file->before, w->info->name, file->after);
    AK_DO(file->write(&text, w, err));
    return ak_pack_add(out, path, text.data, text.length, err);
}

static void writer_free(writer **w)
{
    if (*w != NULL) {
        json_decref((*w)->file);
    }
    ak_free(*w);
}

static ak_status build_c(ak_pack *out, char **name, ak_archive *archive,
                         const ak_bundle_request *request, ak_error *err)
{
    AK_AT_END(ak_pack_clear) ak_pack bundle = {0}, made = {0};
    AK_AT_END(akr_close_at) akr_bundle *open = NULL;
    akr_error why;
    AK_AT_END(ak_buf_free) ak_buf tar = AK_BUF(AK_BUNDLE_BYTES_MAX);
    AK_AT_END(writer_free) writer *w = NULL;
    AK_DO(AK_NEW(w, 1, err));
    AK_DO(ak_bundle_make(&bundle, name, archive, request, err));
    AK_DO(ak_pack_tar(&tar, &bundle, err));
    AK_FAIL_IF(akr_open_memory(&open, tar.data, tar.length, AKR_LOOK, &why) != AKR_OK, err,
               AK_INTERNAL, "%s", why.text);
    w->info = akr_describe(open);
    w->bundle = open;
    w->pack = &bundle;
    AK_DO(ak_json_parse(&w->file, w->info->json, strlen(w->info->json), AK_BUNDLE_JSON, err));
    choose_names(w);
    for (size_t i = 0; i < AK_COUNT(c_files); i++) {
        AK_DO(add(&made, &c_files[i], w, err));
    }
    AK_GIVE(out, made);
    return AK_OK;
}

const ak_format_ops ak_format_c = {
    .name = "c",
    .description = "the same as one .c and one .h with a plain function, and a test (export only)",
    .build = build_c,
};
