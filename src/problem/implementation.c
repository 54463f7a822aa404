/* implementation.c: reads the KernelSpecification of a space file: the sources, which are joined
   into one text, and how they are compiled. The parameters are read when a task is bound
   (space_read.c). */
#include "problem/kernel_files.h"

#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "space/rank.h"
#include "problem/backend_rules.h"

static const char *const our_keys[] = {
    "Language", "KernelName", "KernelFile", "Include",        "CompilerOptions",    "Workspace",
    "Threads",  "GlobalSize", "LocalSize",  "GlobalSizeType", "SharedMemory",       "ProblemSize",
    "GridDivX", "GridDivY",   "GridDivZ",   "Arguments",      "ReferenceArguments", "BenchmarkName",
    "Stream",   "Misc",       "Dtypes",     "Needs",          "Architecture",       "Launch",
    "Defines",  "Spills",     NULL};

/* The languages of each backend. A space file whose name begins with a language (triton.json)
   belongs to the backend that runs this language. */
#define TRITON "triton"
static const struct {
    const char *backend, *language, *lower;
} languages[] = {
    {"host", "C", "c"},       {"host", "C++", "c++"},     {"host", "Fortran", "fortran"},
    {"cuda", "CUDA", "cuda"}, {"cuda", "Triton", TRITON}, {"opencl", "OpenCL", "opencl"}};
#define LANGUAGES AK_COUNT(languages)

static const char *backend_of(const char *beginning)
{
    size_t i = AK_FIND(languages, LANGUAGES, lower, beginning);
    return i < LANGUAGES ? languages[i].backend : beginning;
}

/* Reads "Language", in which all sources of the implementation are compiled. Returns AK_INVALID for
   one that the backend does not have; a backend that `languages` does not list is not checked.
   Without "Language" it is Triton if the name of the implementation begins so, else NULL. */
static ak_status read_language(ak_implementation_spec *implementation, const json_t *kernel,
                               ak_error *err)
{
    const char *backend = implementation->backend, *where = implementation->where;
    const char *wanted = NULL, *language;
    AK_DO(ak_json_string_or(&language, kernel, "Language", NULL, where, err));
    if (language == NULL) {
        bool named = strncmp(implementation->name, TRITON, strlen(TRITON)) == 0;
        implementation->language = named ? TRITON : NULL;
        return AK_OK;
    }
    for (size_t i = 0; i < LANGUAGES; i++) {
        if (strcmp(backend, languages[i].backend) != 0) {
            continue;
        }
        if (strcmp(language, languages[i].language) == 0 ||
            strcmp(language, languages[i].lower) == 0) {
            implementation->language = languages[i].lower;
            return AK_OK;
        }
        wanted = strcmp(backend, "host") == 0   ? "C, C++ or Fortran"
                 : strcmp(backend, "cuda") == 0 ? "CUDA or Triton"
                                                : languages[i].language;
    }
    AK_FAIL_IF(
        wanted != NULL, err, AK_INVALID,
        "%s: \"Language\" is \"%.40s\", which is not supported: a kernel for %s is written in %s",
        where, language, backend, wanted);
    return AK_OK;
}

const char *ak_backend_language(const char *backend)
{
    const size_t i = AK_FIND(languages, LANGUAGES, backend, backend);
    return languages[i < LANGUAGES ? i : 0].language;
}

bool ak_implementation_is_triton(const ak_implementation_spec *implementation)
{
    return ak_text_same(implementation->language, TRITON);
}

static bool is_fortran(const ak_implementation_spec *implementation)
{
    return ak_text_same(implementation->language, AK_LANGUAGE_FORTRAN);
}

/* A list of texts in a space file. */
typedef struct text_list {
    const json_t *object;
    const char *key;
    const char *where;
} text_list;

static ak_status read_strings(const char *const **out, size_t *count, ak_problem *problem,
                              const text_list *from, ak_error *err)
{
    const char *where = from->where, *key = from->key;
    json_t *array;
    AK_DO(ak_json_array_or_null(&array, from->object, key, where, err));
    *count = json_array_size(array);
    AK_FAIL_IF(*count > AK_INCLUDES_MAX, err, AK_LIMIT, "%s: \"%s\" has more than %zu entries",
               where, key, (size_t)AK_INCLUDES_MAX);
    const char **list;
    AK_DO(AK_ARENA_NEW(list, problem->arena, *count + 1, err));
    for (size_t i = 0; i < *count; i++) {
        list[i] = json_string_value(json_array_get(array, i));
        AK_FAIL_IF(list[i] == NULL, err, AK_INVALID, "%s: \"%s\" must be a list of texts", where,
                   key);
    }
    *out = list;
    return AK_OK;
}

static ak_status add_source(ak_buf *source, ak_problem *problem, const ak_kernel_files *files,
                            const char *name, ak_error *err)
{
    const char *text;
    AK_DO(ak_kernel_read(&text, problem, files, name, err));
    /* #line makes compiler messages name the original file. The byte order mark is left out,
       because it is valid only at the beginning of a text. */
    ak_buf_print(source, "#line 1 \"%s\"\n", name);
    ak_buf_puts(source, text + ak_utf8_mark(text));
    ak_buf_puts(source, "\n");
    return ak_buf_status(source, err);
}

static ak_status read_source(ak_implementation_spec *implementation, ak_problem *problem,
                             const ak_kernel_files *files, const json_t *kernel, ak_error *err)
{
    const char *where = implementation->where, *file;
    const char *const *includes = NULL;
    size_t count = 0;
    AK_AT_END(ak_buf_free) ak_buf source = AK_BUF(AK_SOURCE_BYTES_MAX);
    ak_status status = AK_OK;
    AK_TRY(read_strings(&includes, &count, problem, &(text_list){kernel, "Include", where}, err));
    AK_TRY(ak_json_string(&file, kernel, "KernelFile", where, err));
    const char **names;
    AK_TRY(AK_ARENA_NEW(names, problem->arena, count + 1, err));
    for (size_t i = 0; i <= count; i++) {
        names[i] = i < count ? includes[i] : file;
        AK_TRY(add_source(&source, problem, files, names[i], err));
    }
    implementation->files = names;
    implementation->file_count = count + 1;
    AK_TRY(ak_problem_text(&implementation->source, problem, source.data, err));
out:
    return status == AK_OK || status == AK_NO_MEMORY ? status : ak_fail_within(err, "%s", where);
}

/* Reads an expression. It is parsed only to find mistakes early; its names get values when a task
   is bound. */
static ak_status read_expression(const char **out, const json_t *kernel, const char *key,
                                 const char *fallback, const char *where, ak_error *err)
{
    char place[256];
    AK_AT_END(ak_expr_free_at) ak_expr *expr = NULL;
    AK_DO(ak_json_string_or(out, kernel, key, fallback, where, err));
    (void)snprintf(place, sizeof place, "%.200s: %s", where, key);
    return ak_expr_parse(&expr, *out, place, err);
}

/* Reads "Defines": macros whose values are expressions over the task and the parameters. */
static ak_status read_defines(ak_implementation_spec *implementation, const json_t *kernel,
                              ak_error *err)
{
    json_t *defines;
    const char *where = implementation->where, *text;
    AK_DO(ak_json_object_or_null(&defines, kernel, "Defines", where, err));
    AK_EACH_MEMBER(name, value, defines) {
        AK_FAIL_IF(!ak_expr_is_name(name) || strlen(name) > AK_KERNEL_NAME_MAX, err, AK_INVALID,
                   "%s: Defines: \"%.60s\" is not a name", where, name);
        AK_DO(read_expression(&text, defines, name, "", where, err));
    }
    implementation->defines = defines;
    return AK_OK;
}

/* Reads "Dtypes", the dtypes that the implementation computes in, each of which the problem must
   have. A missing or empty list means all. */
static ak_status read_dtypes(ak_implementation_spec *implementation, ak_problem *problem,
                             const json_t *kernel, ak_error *err)
{
    const char *const *names = NULL;
    size_t count = 0;
    unsigned dtypes = 0;
    ak_dtype dtype;
    const text_list list = {kernel, "Dtypes", implementation->where};
    AK_DO(read_strings(&names, &count, problem, &list, err));
    for (size_t i = 0; i < count; i++) {
        AK_FAIL_IF(!ak_dtype_parse(&dtype, names[i]) || !ak_problem_has_dtype(problem, dtype), err,
                   AK_INVALID, "%s: Dtypes: \"%.40s\" is not a dtype of %s", implementation->where,
                   names[i], problem->name);
        dtypes |= 1u << dtype;
    }
    implementation->dtypes = count == 0 ? ~0u : dtypes;
    return AK_OK;
}

static ak_status read_needs(ak_implementation_spec *implementation, const json_t *kernel,
                            ak_error *err)
{
    static const char *const keys[] = {"Expression", "Description", NULL};
    json_t *needs;
    const char *where = implementation->where, *text, *reason;
    AK_DO(ak_json_array_or_null(&needs, kernel, "Needs", where, err));
    AK_EACH(need, needs) {
        AK_DO(ak_json_only(need, keys, where, err));
        AK_DO(read_expression(&text, need, "Expression", "", where, err));
        AK_DO(ak_json_string(&reason, need, "Description", where, err));
    }
    implementation->needs = needs;
    return AK_OK;
}

static ak_status read_spills(ak_implementation_spec *implementation, const json_t *kernel,
                             ak_error *err)
{
    const char *text;
    AK_DO(ak_json_string_or(&text, kernel, "Spills", "allow", implementation->where, err));
    implementation->rejects_spills = strcmp(text, "reject") == 0;
    return implementation->rejects_spills || strcmp(text, "allow") == 0
               ? AK_OK
               : ak_fail(err, AK_INVALID, "%s: \"Spills\" is \"%.40s\"; it must be allow or reject",
                         implementation->where, text);
}

static ak_status adapt(ak_implementation_spec *implementation, ak_problem *problem,
                       const ak_backend_rules *rules, ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf source = AK_BUF(AK_SOURCE_BYTES_MAX);
    const bool fortran = is_fortran(implementation);
    ak_buf_puts(&source, fortran ? AK_FORTRAN_BEGIN "\n" : "");
    ak_buf_puts(&source, implementation->source);
    ak_buf_puts(&source, fortran ? "\n" AK_FORTRAN_END "\n" : "");
    const ak_host_entry entry = {.name = implementation->kernel_name,
                                 .language = implementation->language,
                                 .launch = implementation->launch,
                                 .problem = problem,
                                 .where = implementation->where};
    AK_DO(rules->adapt(&source, &entry, err));
    AK_DO(ak_buf_status(&source, err));
    AK_DO(ak_problem_text(&implementation->source, problem, source.data, err));
    implementation->kernel_name = "ak_kernel";
    return AK_OK;
}

static ak_status read_launch(ak_implementation_spec *implementation, ak_problem *problem,
                             const json_t *kernel, ak_error *err)
{
    const char *where = implementation->where;
    const ak_backend_rules *rules = ak_backend_rules_find(implementation->backend);
    const json_t *launch = json_object_get(kernel, "Launch");
    implementation->launch = launch;
    const bool is_triton = ak_implementation_is_triton(implementation);
    implementation->specialised =
        is_triton || (launch != NULL && rules != NULL && rules->is_specialised != NULL &&
                      rules->is_specialised(launch));
    AK_FAIL_IF(is_triton && launch == NULL, err, AK_INVALID,
               "%s: \"Launch\" is missing: a Triton kernel needs Grid and Arguments", where);
    AK_DO(ak_json_string_or(&implementation->kernel_name, kernel, "KernelName", "ak_kernel", where,
                            err));
    AK_DO(
        ak_json_string_or(&implementation->architecture, kernel, "Architecture", NULL, where, err));
    AK_DO(read_spills(implementation, kernel, err));
    const bool fortran = is_fortran(implementation);
    const char *mark = strstr(implementation->source, AK_FORTRAN_BEGIN "\n");
    AK_FAIL_IF(!fortran && mark != NULL && strstr(mark, AK_FORTRAN_END "\n") != NULL, err,
               AK_INVALID,
               "%s: the source has the marks between which autokernel puts Fortran, but its "
               "\"Language\" is another: leave these two comments out",
               where);
    AK_FAIL_IF(fortran && launch == NULL, err, AK_INVALID,
               "%s: \"Launch\" is missing: a kernel in Fortran is a subroutine with bind(c), whose "
               "arguments Launch lists",
               where);
    AK_FAIL_IF(launch == NULL && rules != NULL && rules->adapt != NULL &&
                   strcmp(implementation->kernel_name, "ak_kernel") != 0,
               err, AK_INVALID,
               "%s: \"KernelName\" is \"%.60s\", but without a \"Launch\" the entry is ak_kernel; "
               "leave KernelName out, or list in \"Launch\" the arguments of that function",
               where, implementation->kernel_name);
    if (launch != NULL && rules != NULL && rules->check_launch != NULL) {
        AK_DO(rules->check_launch(implementation, problem, err));
    }
    if (json_is_array(json_object_get(launch, "Arguments")) && !is_triton && !fortran &&
        implementation->kernel_name[0] != 0) {
        AK_DO(ak_kernel_scan_check(implementation, problem, err));
    }
    if (launch != NULL && rules != NULL && rules->adapt != NULL) {
        AK_DO(adapt(implementation, problem, rules, err));
    }
    return AK_OK;
}

ak_status ak_implementation_check_option(const ak_implementation_spec *implementation,
                                         const char *option, ak_error *err)
{
    const ak_backend_rules *rules = ak_backend_rules_find(implementation->backend);
    if (rules == NULL || rules->allows_option == NULL || rules->allows_option(option)) {
        return AK_OK;
    }
    AK_FAIL_IF(strcmp(implementation->backend, "host") == 0 &&
                   strncmp(option, "-fopenmp", strlen("-fopenmp")) == 0,
               err, AK_INVALID,
               "%s: the compiler option \"%.80s\" is refused: a kernel is compiled with OpenMP if "
               "\"Threads\" of its space file is \"openmp\"",
               implementation->where, option);
    return ak_fail(err, AK_INVALID,
                   "%s: the compiler option \"%.80s\" is refused: a space file may choose how code "
                   "is generated, not programs, files or libraries",
                   implementation->where, option);
}

/* Reads "KernelSpecification". For a T1 file by itself (`files` is NULL) it reads only what a
   space needs. */
static ak_status read_specification(ak_implementation_spec *implementation, ak_problem *problem,
                                    const ak_kernel_files *files, const json_t *kernel,
                                    ak_error *err)
{
    const char *where = implementation->where;
    AK_DO(read_strings(&implementation->options, &implementation->option_count, problem,
                       &(text_list){kernel, "CompilerOptions", where}, err));
    if (files != NULL) {
        for (size_t i = 0; i < implementation->option_count; i++) {
            AK_DO(ak_implementation_check_option(implementation, implementation->options[i], err));
        }
        AK_DO(ak_json_no_typo(kernel, our_keys, where, err));
        AK_DO(read_language(implementation, kernel, err));
        AK_DO(read_source(implementation, problem, files, kernel, err));
    }
    AK_DO(read_expression(&implementation->workspace, kernel, "Workspace", "0", where, err));
    AK_DO(read_expression(&implementation->threads, kernel, "Threads", "1", where, err));
    if (strcmp(implementation->threads, "openmp") == 0) {
        implementation->openmp = true;
        implementation->threads = "cpu_threads"; /* all that the task may use */
        AK_FAIL_IF(files != NULL && strcmp(implementation->backend, "host") != 0, err, AK_INVALID,
                   "%s: \"Threads\" is \"openmp\", which is for kernels of the host, not of %s",
                   where, implementation->backend);
    }
    if (files != NULL) {
        AK_DO(read_dtypes(implementation, problem, kernel, err));
        AK_DO(read_defines(implementation, kernel, err));
        AK_DO(read_needs(implementation, kernel, err));
        AK_DO(read_launch(implementation, problem, kernel, err));
    }
    return AK_OK;
}

static ak_status read_rank(ak_implementation_spec *implementation, ak_problem *problem,
                           ak_error *err)
{
    AK_FREED char *text = NULL;
    AK_DO(ak_rank_text(&text, implementation->definition, "Rank", implementation->where, err));
    return text == NULL ? AK_OK : ak_problem_text(&implementation->rank, problem, text, err);
}

ak_status ak_implementation_read(ak_problem *problem, const ak_kernel_files *files,
                                 const ak_space_file *file, ak_error *err)
{
    const json_t *definition = file->definition;
    const char *where = file->where;
    ak_implementation_spec *implementation =
        &problem->implementations[problem->implementation_count];
    json_t *space, *kernel;
    *implementation = (ak_implementation_spec){.definition = definition,
                                               .where = where,
                                               .source = "",
                                               .workspace = "0",
                                               .threads = "1",
                                               .kernel_name = "ak_kernel",
                                               .dtypes = ~0u};
    AK_DO(ak_problem_text(&implementation->name, problem, file->name, err));
    AK_DO(ak_problem_text(&implementation->backend, problem, backend_of(file->backend), err));
    AK_DO(ak_json_object(&space, definition, "ConfigurationSpace", where, err));
    AK_DO(ak_json_object_or_null(&kernel, definition, "KernelSpecification", where, err));
    AK_FAIL_IF(kernel == NULL && files != NULL, err, AK_INVALID,
               "%s: \"KernelSpecification\" is missing", where);
    AK_DO(read_rank(implementation, problem, err));
    if (kernel != NULL) {
        AK_DO(read_specification(implementation, problem, files, kernel, err));
    }
    problem->implementation_count++;
    return AK_OK;
}
