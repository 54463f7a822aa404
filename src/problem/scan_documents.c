/* scan_documents.c: makes the documents of a scanned source file: the problem, the space, the
   source with an entry that can be called by its name, a reference that only declares arrays and
   sizes, and notes of each guess. */
#include "problem/scan_parts.h"

#include "problem/kernel_files.h"
#include "problem/source_text.h"

void ak_scan_note(ak_scan *s, const char *what, const char *where)
{
    ak_buf_print(&s->notes, "%s: %s\n", what, where);
}

static size_t count_sizes(const ak_scan *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->argument_count; i++) {
        count += ak_scan_is_size(&s->arguments[i]) ? 1 : 0;
    }
    return count;
}

/* Returns the size at which a kernel is checked and tuned: the product of all sizes is at most some
   2 million, because an array may have that many elements. */
static json_int_t usual_size(const ak_scan *s)
{
    static const json_int_t usual[AK_SIZES_MAX + 1] = {1048576, 1048576, 256, 128, 32, 16, 8, 8, 4};
    return usual[count_sizes(s)];
}

bool ak_scan_problem(ak_kernel_scan *out, ak_scan *s, const char *name)
{
    json_t *sizes = json_array(), *arguments = json_array(), *tolerance = json_object();
    const char *dtype = NULL;
    AK_AT_END(ak_buf_free) ak_buf bytes = AK_BUF(AK_EXPR_TEXT_MAX);
    const json_int_t usual = usual_size(s);
    char shape[AK_SCAN_SHAPE];
    bool good = true;
    for (size_t i = 0; i < s->argument_count; i++) {
        const ak_scan_argument *a = &s->arguments[i];
        if (ak_scan_is_size(a)) {
            good =
                ak_json_append(sizes, json_pack("{s:s, s:I}", "name", a->name, "default", usual)) &&
                good;
        } else if (a->pointer) {
            ak_scan_shape(shape, s, a);
            good = ak_json_append(arguments,
                                  json_pack("{s:s, s:s, s:[s], s:s}", "name", a->name, "dtype",
                                            ak_dtype_text(a->dtype), "shape", shape, "access",
                                            a->reads_only ? "in"
                                            : a->reads    ? "inout"
                                                          : "out")) &&
                   good;
            if (!a->reads_only) {
                const char *own = ak_dtype_text(a->dtype);
                dtype = dtype == NULL ? own : dtype;
                good =
                    ak_json_set(tolerance, own,
                                json_pack("{s:s, s:s}", "relative", "100*eps", "rms", "100*eps")) &&
                    good;
            }
            ak_buf_print(&bytes, "%s%s%s*%zu", bytes.length == 0 ? "" : " + ", a->reads ? "2*" : "",
                         shape, ak_dtype_bytes(a->dtype));
        }
    }
    if (json_array_size(sizes) == 0) {
        good =
            ak_json_append(sizes, json_pack("{s:s, s:I}", "name", "n", "default", usual)) && good;
    }
    out->problem =
        json_pack("{s:i, s:s, s:s, s:o, s:[s], s:o, s:s, s:s, s:s, s:o, s:[]}", "schema", 1, "name",
                  name, "description", s->name, "sizes", sizes, "dtypes", dtype, "arguments",
                  arguments, "flops", "0", "bytes", ak_or_empty(bytes.data), "reference", "default",
                  "tolerance", tolerance, "awkward");
    return good && ak_buf_status(&bytes, NULL) == AK_OK && out->problem != NULL;
}

static bool add_values(json_t *list, const char *name, int64_t value, bool truth)
{
    const int64_t choices[] = {truth ? 0 : value / 2, truth ? 1 : value, truth ? 0 : 2 * value};
    json_t *values = json_array();
    bool good = true;
    for (size_t i = 0; i < (truth ? 2 : AK_COUNT(choices)); i++) {
        good = ((choices[i] == 0 && !truth) || ak_json_append(values, json_integer(choices[i]))) &&
               good;
    }
    return ak_json_append(list, json_pack("{s:s, s:s, s:o, s:I}", "Name", name, "Type", "int",
                                          "Values", values, "Default", (json_int_t)value)) &&
           good;
}

/* Finds the shape whose elements get a thread each: that of the array with the most sizes, of a
   result if several have as many. An array whose indices are not understood counts as one with the
   most sizes. */
static void launch_shape(char out[AK_SCAN_SHAPE], const ak_scan *s)
{
    const ak_scan_argument *most = NULL;
    int count = 0;
    for (size_t i = 0; i < s->argument_count; i++) {
        const ak_scan_argument *a = &s->arguments[i];
        const int sizes = a->guessed ? __builtin_popcount(a->sizes) : AK_SIZES_MAX;
        const bool better = most == NULL || sizes > count || (sizes == count && most->reads_only);
        if (a->pointer && better) {
            most = a;
            count = sizes;
        }
    }
    ak_scan_shape(out, s, most);
}

static json_t *make_launch(const ak_scan *s, const char *block)
{
    json_auto_t *passed = json_array();
    json_t *launch = NULL;
    bool good = passed != NULL;
    for (size_t i = 0; good && i < s->argument_count; i++) {
        const ak_scan_argument *a = &s->arguments[i];
        good = ak_json_append(passed, a->pointer ? json_pack("{s:s}", "Buffer", a->name)
                                                 : json_pack("{s:s}", ak_dtype_scalar(a->dtype),
                                                             ak_scan_is_size(a) ? a->name : "1"));
    }
    if (block == NULL) {
        launch = json_pack("{s:O}", "Arguments", passed);
    } else {
        char shape[AK_SCAN_SHAPE], grid[AK_SCAN_SHAPE + 2 * AK_SCAN_NAME + 32];
        launch_shape(shape, s);
        (void)snprintf(grid, sizeof grid, "(%s + %s - 1)//%s", shape, block, block);
        launch =
            json_pack("{s:[s], s:[s], s:O}", "Block", block, "Grid", grid, "Arguments", passed);
    }
    return ak_json_whole(launch, good);
}

/* Adds the parameters COMPILER and OPT_LEVEL (-O2, -O3). Threads of OpenMP need gcc, whose libgomp
   the runner replaces. */
static bool add_compilers(json_t *parameters, const ak_scan *s)
{
    json_t *compilers = s->openmp == AK_SOURCE_OMP_THREADS ? json_pack("[s]", "gcc")
                                                           : json_pack("[s, s]", "gcc", "clang");
    return ak_json_append(parameters, json_pack("{s:s, s:s, s:o, s:s, s:s}", "Name", "COMPILER",
                                                "Type", "string", "Values", compilers, "Default",
                                                "gcc", "Use", "compiler")) &&
           ak_json_append(parameters, json_pack("{s:s, s:s, s:[i, i], s:i, s:s, s:s}", "Name",
                                                "OPT_LEVEL", "Type", "int", "Values", 2, 3,
                                                "Default", 3, "Use", "option", "Option", "-O{}"));
}

/* Adds "CompilerOptions" to a host kernel and, if its source needs OpenMP threads, "Threads". */
static bool set_host(json_t *kernel, const ak_scan *s)
{
    return ak_json_set(kernel, "CompilerOptions",
                       s->openmp == AK_SOURCE_OMP_SIMD
                           ? json_pack("[s, s]", "-march=native", "-fopenmp-simd")
                           : json_pack("[s]", "-march=native")) &&
           (s->openmp != AK_SOURCE_OMP_THREADS || ak_json_set_text(kernel, "Threads", "openmp"));
}

bool ak_scan_space(ak_kernel_scan *out, ak_scan *s)
{
    bool host = strcmp(s->backend, "host") == 0;
    const char *block = NULL, *language = s->cpp ? "C++" : ak_backend_language(s->backend);
    json_t *parameters = json_array();
    bool good = true;
    for (size_t i = 0; i < s->parameter_count; i++) {
        const char *name = s->parameters[i].name;
        bool threads = strstr(name, "BLOCK") != NULL || strstr(name, "block") != NULL ||
                       strstr(name, "THREADS") != NULL;
        block = block == NULL && threads && !s->parameters[i].truth ? name : block;
        good = add_values(parameters, name, s->parameters[i].value, s->parameters[i].truth) && good;
    }
    if (!host && block == NULL) {
        block = "block_size_x";
        good = add_values(parameters, block, 128, false) && good;
    }
    good = (!host || add_compilers(parameters, s)) && good;
    json_t *launch = make_launch(s, host ? NULL : block);
    out->space =
        json_pack("{s:{s:o, s:[]}, s:{s:s, s:s, s:s, s:o}}", "ConfigurationSpace",
                  "TuningParameters", parameters, "Conditions", "KernelSpecification", "Language",
                  language, "KernelName", s->name, "KernelFile", s->file, "Launch", launch);
    json_t *kernel = json_object_get(out->space, "KernelSpecification");
    return good && launch != NULL && out->space != NULL && (!host || set_host(kernel, s));
}

/* Returns the end of the entry's body in the text. */
static size_t end_of_entry(const ak_scan *s)
{
    const char *body = strchr(s->plain + s->entry, '{');
    const char *close = body == NULL ? NULL : ak_source_closing(body);
    return close == NULL ? strlen(s->plain) : (size_t)(close - s->plain) + 1;
}

static void print_line_number(ak_buf *out, const ak_scan *s, size_t at)
{
    size_t line = 1;
    for (size_t i = 0; i < at; i++) {
        line += s->plain[i] == '\n';
    }
    ak_buf_print(out, "\n#line %zu\n", line);
}

/* Returns whether the name of a template argument also occurs outside the entry, such as in a
   template that the kernel calls. A macro of this name would replace it there. */
static bool is_elsewhere(const ak_scan *s, const char *name, size_t end)
{
    for (const char *at = s->plain; (at = ak_source_find(at, name)) != NULL; at += strlen(name)) {
        size_t place = (size_t)(at - s->plain);
        if (place < s->begin || place >= end) {
            return true;
        }
    }
    return false;
}

/* Handles template arguments whose names also occur outside the entry. `what` 0 makes a constant of
   each macro and undefines the macro; 1 defines the macro as this constant, for the entry only; 2
   undefines it again. `at` is the offset in the file that follows, for #line. */
static void print_constants(ak_buf *out, const ak_scan *s, size_t end, int what, size_t at)
{
    bool any = false;
    for (size_t i = 0; s->end > s->begin && i < s->parameter_count; i++) {
        const char *name = s->parameters[i].name;
        const char *head = ak_source_find(s->plain + s->begin, name);
        if (head == NULL || head >= s->plain + s->end || !is_elsewhere(s, name, end)) {
            continue;
        }
        any = true;
        if (what == 0) {
            ak_buf_print(out, "enum : int { %s_value = %s };\n#undef %s\n", name, name, name);
        } else if (what == 1) {
            ak_buf_print(out, "\n#define %s ((%s)%s_value)", name,
                         s->parameters[i].truth ? "bool" : "int", name);
        } else {
            ak_buf_print(out, "\n#undef %s", name);
        }
    }
    if (any) {
        print_line_number(out, s, at);
    }
}

/* Writes the source: a template becomes a plain function, with macros for the template's arguments,
   and an entry in CUDA or C++ gets a plain name (extern "C"). */
ak_status ak_scan_source(ak_kernel_scan *out, const ak_scan *s)
{
    ak_buf text = AK_BUF(AK_SOURCE_BYTES_MAX);
    size_t end = end_of_entry(s);
    bool named = (strcmp(s->backend, "cuda") != 0 && !s->cpp) ||
                 strncmp(s->plain + s->entry, "extern", 6) == 0;
    print_constants(&text, s, end, 0, 0);
    ak_buf_append(&text, s->own, s->begin);
    print_constants(&text, s, end, 1, s->end);
    ak_buf_append(&text, s->own + s->end, s->entry - s->end);
    ak_buf_puts(&text, named ? "" : "extern \"C\" ");
    ak_buf_append(&text, s->own + s->entry, end - s->entry);
    print_constants(&text, s, end, 2, end);
    ak_buf_puts(&text, s->own + end);
    return ak_buf_take(&out->source, &text, s->err);
}

ak_status ak_scan_reference(ak_kernel_scan *out, const ak_scan *s)
{
    ak_buf text = AK_BUF(AK_SOURCE_BYTES_MAX);
    size_t array = 0, size = 0;
    ak_buf_print(&text,
                 "/* reference.c: what %s means, in double and as plainly as possible. Write the "
                 "body,\n   then say \"reference\": \"reference.c\" in problem.json. */\n\n"
                 "void ak_reference(const ak_host_call *call)\n{\n",
                 s->name);
    for (size_t i = 0; i < s->argument_count; i++) {
        const ak_scan_argument *a = &s->arguments[i];
        if (a->pointer) {
            ak_buf_print(&text, "    %sdouble *%s = call->arg[%zu];\n",
                         a->reads_only ? "const " : "", a->name, array++);
        } else if (ak_scan_is_size(a)) {
            ak_buf_print(&text, "    const int64_t %s = call->size[%zu];\n", a->name, size++);
        }
    }
    ak_buf_puts(&text, "}\n");
    return ak_buf_take(&out->reference, &text, s->err);
}

/* Notes the functions and parameters of the file that the scan leaves out. */
static void note_rest(ak_scan *s)
{
    char what[256];
    if (s->others > 0) {
        (void)snprintf(what, sizeof what, "kernel: %s is taken, the %s in the file", s->name,
                       strcmp(s->backend, "host") == 0 ? "last function that is not static"
                                                       : "first kernel");
        ak_scan_note(
            s, what,
            "where another one is meant, leave only that in a file of its own and begin again");
    }
    if (s->parameters_left > 0) {
        ak_scan_note(s, "parameters",
                     "there are more than 16; write the others into the space file");
    }
}

static bool has_second_dimension(const ak_scan *s)
{
    static const char *const signs[] = {"threadIdx.y",      "blockIdx.y",      "blockDim.y",
                                        "get_global_id(1)", "get_local_id(1)", "get_group_id(1)"};
    for (size_t i = 0; i < AK_COUNT(signs); i++) {
        if (strstr(s->plain, signs[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/* Returns whether the file has an array of shared memory whose size the launch gives. */
static bool has_launch_memory(const ak_scan *s)
{
    for (const char *at = s->plain; (at = ak_source_find(at, "__shared__")) != NULL; at += 10) {
        const char *open = at + strcspn(at, "[;=");
        if (*open == '[' && open[1 + strspn(open + 1, AK_SOURCE_BLANK)] == ']') {
            return true;
        }
    }
    return false;
}

static void note_launch(ak_scan *s)
{
    if (strcmp(s->backend, "host") != 0) {
        ak_scan_note(
            s, "launch",
            has_second_dimension(s)
                ? "the kernel asks for its place in a second dimension, and the launch that is "
                  "written has one; write \"Block\" and \"Grid\" into the space file"
                : "an element a thread is a guess; write \"Block\" and \"Grid\" into the "
                  "space file");
    }
    if (has_launch_memory(s)) {
        ak_scan_note(
            s, "shared memory",
            "the launch says how much there is (extern __shared__), and the one that is written "
            "gives none; write \"SharedMemory\", in bytes, into \"Launch\" of the space file");
    }
}

/* Names the guesses about parameters and options. */
static void note_parameters(ak_scan *s)
{
    if (s->parameter_count > 0) {
        ak_scan_note(
            s, "values of the parameters",
            "half and twice the file's own are guesses; write those worth trying into the space "
            "file");
    } else {
        ak_scan_note(
            s, "parameters",
            strcmp(s->backend, "host") == 0
                ? "none was found (template arguments, #ifndef/#define, -DNAME=16); write them "
                  "into the space file"
                : "none was found (template arguments, #ifndef/#define, -DNAME=16), so only the "
                  "launch has one, block_size_x; write others into the space file");
    }
    ak_scan_undefined(s);
    if (s->openmp == AK_SOURCE_OMP_THREADS) {
        ak_scan_note(
            s, "OpenMP",
            "the source has directives for threads, so \"Threads\" of the space file is "
            "\"openmp\": gcc compiles it with -fopenmp, and it has the threads of the task "
            "(--threads); some directives are refused (docs/formats.md), and 'export' writes its "
            "best_config.json, but no bundle");
    } else if (s->openmp == AK_SOURCE_OMP_SIMD) {
        ak_scan_note(s, "OpenMP",
                     "the source has directives for vectors only, so \"CompilerOptions\" of the "
                     "space file has -fopenmp-simd");
    }
    if (strcmp(s->backend, "host") == 0) {
        ak_scan_note(s, "compilers and options",
                     s->openmp == AK_SOURCE_OMP_THREADS
                         ? "-O2 and -O3 and -march=native are guesses; write others into the space "
                           "file (\"CompilerOptions\")"
                         : "gcc and clang with -O2 and -O3 and -march=native are guesses; write "
                           "others into the space file (\"CompilerOptions\")");
    }
}

/* Notes the inputs that are whole numbers, because the default fill draws only three different
   values. */
static void note_numbers(ak_scan *s)
{
    char what[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < s->argument_count && used < sizeof what; i++) {
        const ak_scan_argument *a = &s->arguments[i];
        if (a->pointer && a->reads_only && !ak_dtype_is_float(a->dtype)) {
            used += (size_t)snprintf(what + used, sizeof what - used, "%s%s",
                                     used == 0 ? "the numbers in " : ", ", a->name);
        }
    }
    if (used > 0) {
        ak_scan_note(s, what,
                     "-1 to 1 are drawn, 0 to 2 where there is no sign; write \"fill\", such as "
                     "uniform(0,255) for an image, into problem.json");
    }
}

/* Notes the whole numbers that are taken for sizes if there are several: some may be values, such
   as a radius. */
static void note_sizes(ak_scan *s)
{
    char what[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < s->argument_count && used < sizeof what; i++) {
        if (ak_scan_is_size(&s->arguments[i])) {
            used += (size_t)snprintf(what + used, sizeof what - used, "%s%s", used == 0 ? "" : ", ",
                                     s->arguments[i].name);
        }
    }
    if (count_sizes(s) > 1) {
        ak_scan_note(
            s, what,
            "taken for sizes; if one is a value, such as a radius, take it out of \"sizes\" "
            "of problem.json and write the value into \"Launch\" of the space file");
    }
}

/* Notes the shape of each array, whether its indices say it, and what to look at. */
static void note_shapes(ak_scan *s)
{
    char shape[AK_SCAN_SHAPE];
    bool all = false, some = false;
    ak_buf_puts(&s->notes, "shapes of the arrays: ");
    for (size_t i = 0; i < s->argument_count; i++) {
        const ak_scan_argument *a = &s->arguments[i];
        if (a->pointer) {
            ak_scan_shape(shape, s, a);
            ak_buf_print(&s->notes, "%s%s[%s]%s", all || some ? ", " : "", a->name, shape,
                         a->guessed ? "" : "*");
            all = all || !a->guessed;
            some = true;
        }
    }
    ak_buf_print(
        &s->notes,
        " are guesses from the sizes that bound the indices%s; compare them with the "
        "indices, also with offsets and strides, and correct them in problem.json: if there "
        "are too few elements, the kernel accesses memory outside of the array; if there "
        "are too many, part of an output stays unwritten\n",
        !all                  ? ""
        : count_sizes(s) == 0 ? " (*: no argument is a whole number, so a size n is made up)"
                              : " (*: the product of all sizes, because the indices are "
                                "not plain)");
}

void ak_scan_notes(ak_scan *s)
{
    char what[256];
    note_rest(s);
    note_parameters(s);
    note_sizes(s);
    note_shapes(s);
    (void)snprintf(what, sizeof what,
                   "%lld is a guess; write \"default\" of \"sizes\" into problem.json",
                   (long long)usual_size(s));
    ak_scan_note(s, "the size at which it is checked and tuned", what);
    ak_scan_note(s, "edge-case sizes",
                 "none is checked; write some that are small, odd and no multiple of a block into "
                 "\"awkward\" of problem.json");
    ak_scan_note(s, "flops",
                 "0 is a guess, so no rate in flop/s is shown; write a formula into problem.json");
    ak_scan_note(
        s, "bytes",
        "each array moved once is a guess, which rates in GB/s and the roofline follow; write "
        "a formula into problem.json");
    ak_scan_note(
        s, "access",
        "const is in, what the kernel reads first is inout, the rest is out; correct it in "
        "problem.json where the kernel reads it by way of another pointer");
    for (size_t i = 0; i < s->argument_count; i++) {
        if (!s->arguments[i].pointer && !ak_scan_is_size(&s->arguments[i])) {
            (void)snprintf(what, sizeof what, "the value of %s", s->arguments[i].name);
            ak_scan_note(s, what, "1 is passed; write it into \"Launch\" of the space file");
        }
    }
    note_numbers(s);
    note_launch(s);
    if (strcmp(s->backend, "cuda") == 0 && !ak_source_has(s->plain, "__CUDACC_RTC__") &&
        (ak_source_has(s->plain, "main") || strstr(s->plain, "<<<") != NULL)) {
        ak_scan_note(s, "host code",
                     "NVRTC compiles device code only; put main and the launch between #ifndef "
                     "__CUDACC_RTC__ and #endif in the copied file");
    }
    ak_scan_note(s, "reference",
                 "candidates are compared with the default configuration; write the body of "
                 "reference.c and name it in problem.json");
}
