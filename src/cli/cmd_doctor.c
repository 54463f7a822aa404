/*
 * cmd_doctor.c: shows what works on this machine and what to install.
 *
 * The library's findings are JSON whose parts grow with backends, so their JSON type decides how
 * they are printed: a list of objects as a table of their members, an object as lines of a name and
 * a value, anything else that says something as one line. This file adds the settings and the
 * verdict, and prints them, the packages to install and the warnings in its own way. The pressure
 * is not printed.
 */

#include "cli/options.h"
#include "cli/settings.h"
#include "cli/table.h"

#define CELL_BYTES 512

/* Formats a member for people; a nested object becomes "peak_tflops 0.17, copy_gbs 12". */
static void show(char *out, size_t bytes, const json_t *value)
{
    char number[AK_NUMBER_BYTES];
    size_t used = 0;
    out[0] = 0;
    if (json_is_string(value)) {
        (void)snprintf(out, bytes, "%s", json_string_value(value));
    } else if (json_is_integer(value)) {
        (void)snprintf(out, bytes, "%lld", (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        (void)snprintf(out, bytes, "%s", ak_show_real(number, json_real_value(value)));
    } else if (json_is_boolean(value)) {
        (void)snprintf(out, bytes, "%s", json_is_true(value) ? "yes" : "no");
    } else if (json_is_null(value)) {
        (void)snprintf(out, bytes, "-");
    } else if (json_is_object(value)) {
        AK_EACH_MEMBER(key, member, value) {
            if (used + 2 >= bytes) {
                break;
            }
            (void)snprintf(out + used, bytes - used, "%s%s ", used == 0 ? "" : ", ", key);
            used = strlen(out);
            show(out + used, bytes - used, member);
            used = strlen(out);
        }
    } else if (json_is_array(value)) {
        AK_EACH(member, value) {
            (void)snprintf(out + used, bytes - used, "%s", used == 0 ? "" : " ");
            used = strlen(out);
            show(out + used, bytes - used, member);
            used = strlen(out);
        }
    }
}

/* Returns whether the value has a text to show, other than "" and "-". */
static bool says(const json_t *value)
{
    char text[CELL_BYTES];
    show(text, sizeof text, value);
    return text[0] != 0 && strcmp(text, "-") != 0;
}

/* Collects the columns of a table, at most AK_COLUMNS_MAX: the members that have a text to show in
   some row, in the order in which they first occur. */
static size_t columns_of(const char *columns[AK_COLUMNS_MAX], const json_t *rows)
{
    size_t count = 0;
    AK_EACH(row, rows) {
        AK_EACH_MEMBER(key, value, row) {
            if (says(value) && !AK_HAS_TEXT(columns, count, key) && count < AK_COLUMNS_MAX) {
                columns[count++] = key;
            }
        }
    }
    return count;
}

static void print_title(const char *title)
{
    ak_out("\n");
    ak_out_styled(AK_STYLE_GOOD, "%s", title);
    ak_out("\n");
}

static void print_rows(const char *title, const json_t *rows)
{
    const char *columns[AK_COLUMNS_MAX];
    size_t count = columns_of(columns, rows);
    ak_table table;
    ak_table_begin(&table, count > 0 ? columns[0] : "", NULL);
    for (size_t c = 1; c < count; c++) {
        table.headers[c] = columns[c];
    }
    table.columns = count;
    AK_EACH(row, rows) {
        for (size_t c = 0; c < count; c++) {
            char text[CELL_BYTES];
            show(text, sizeof text, json_object_get(row, columns[c]));
            ak_table_cell(&table, "%s", strcmp(text, "-") == 0 ? "" : text);
        }
    }
    print_title(title);
    ak_table_print(&table);
}

/* Prints an object as lines of a name and a value. */
static void print_pairs(const char *title, const json_t *object)
{
    ak_table table;
    ak_table_begin(&table, "", "", NULL);
    AK_EACH_MEMBER(key, value, object) {
        char text[CELL_BYTES];
        show(text, sizeof text, value);
        if (says(value)) {
            ak_table_cell(&table, "%s", key);
            ak_table_cell(&table, "%s", text);
        }
    }
    print_title(title);
    ak_table_print(&table);
}

/* Returns the settings that have a value; the others have the defaults that --help names. */
static json_t *settings_made(const json_t *settings)
{
    json_t *made = json_array();
    AK_EACH(row, settings) {
        if (says(json_object_get(row, "value"))) {
            (void)json_array_append(made, row);
        }
    }
    return made;
}

static void print_settings(const json_t *settings)
{
    json_auto_t *made = settings_made(settings);
    if (json_array_size(made) > 0) {
        print_rows("settings that were made", made);
    } else {
        print_title("settings");
        ak_out("none is made: all have their defaults\n");
    }
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static bool add_verdict(json_t *list, const char *what, bool works, const char *text)
{
    json_t *row = json_object();
    bool good = ak_json_set_text(row, "what", what) &&
                ak_json_set(row, "works", json_boolean(works)) &&
                ak_json_set_text(row, "text", text);
    return ak_json_append(list, row) && good;
}

/* Adds a name to a list such as "gcc, clang". */
static void add_name(char out[CELL_BYTES], const char *name)
{
    const size_t used = strlen(out);
    (void)snprintf(out + used, CELL_BYTES - used, "%s%s", used == 0 ? "" : ", ", name);
}

/* Joins the texts under `member`, "gcc, clang", in the rows where the member `wanted` is true, or
   in all rows if `wanted` is NULL. Leaves out the row named "copy". */
static void join(char out[CELL_BYTES], const json_t *rows, const char *member, const char *wanted)
{
    out[0] = 0;
    AK_EACH(row, rows) {
        const char *text = ak_json_text_or_null(row, member);
        /* "copy" is no library but autokernel's own baseline for memory-bound kernels */
        bool copy = ak_json_text_is(row, "name", "copy");
        if (text != NULL && !copy &&
            (wanted == NULL || json_is_true(json_object_get(row, wanted)))) {
            add_name(out, text);
        }
    }
}

static bool judge_cpu(json_t *list, const json_t *findings)
{
    char compilers[CELL_BYTES], libraries[CELL_BYTES], text[3 * CELL_BYTES];
    join(compilers, json_object_get(findings, "compilers"), "name", NULL);
    join(libraries, json_object_get(findings, "libraries"), "title", "installed");
    if (compilers[0] == 0) {
        return add_verdict(list, "kernels for this CPU", false,
                           "no compiler was found in PATH: apt-get install gcc, or add its folder");
    }
    (void)snprintf(text, sizeof text, "compiled by %s; compared with %s", compilers,
                   libraries[0] == 0 ? "no library: none is installed" : libraries);
    return add_verdict(list, "kernels for this CPU", true, text);
}

/* Joins the device names that begin with `prefix`; "" if there are none. */
static void devices_of(char out[CELL_BYTES], const json_t *findings, const char *prefix)
{
    out[0] = 0;
    AK_EACH(device, json_object_get(findings, "devices")) {
        const char *name = ak_json_text_at(device, "device");
        if (strncmp(name, prefix, strlen(prefix)) == 0) {
            add_name(out, name);
        }
    }
}

/* Adds the verdict on the devices whose names begin with `prefix`. If there are none, `why` is the
   reason; NULL: not known. */
static bool judge_devices(json_t *list, const json_t *findings, const char *what,
                          const char *prefix, const char *why)
{
    char text[CELL_BYTES];
    devices_of(text, findings, prefix);
    return add_verdict(list, what, text[0] != 0,
                       text[0] != 0  ? text
                       : why == NULL ? "no device was found"
                                     : why);
}

/* Adds the verdicts on the backends for CUDA and OpenCL. If this build lacks one of them, the
   findings lack it too, and there is no verdict on it. */
static bool judge_backends(json_t *list, const json_t *findings)
{
    const json_t *cuda = json_object_get(findings, "cuda");
    const json_t *opencl = json_object_get(findings, "opencl");
    return (cuda == NULL || judge_devices(list, findings, "kernels for NVIDIA devices",
                                          "cuda:", ak_json_text_or_null(cuda, "driver_missing"))) &&
           (opencl == NULL || judge_devices(list, findings, "kernels for OpenCL devices",
                                            "opencl:", ak_json_text_or_null(opencl, "missing")));
}

static bool judge_python(json_t *list, const json_t *findings)
{
    const json_t *python = json_object_get(findings, "python");
    const char *missing = ak_json_text_or_null(python, "missing");
    char text[CELL_BYTES];
    (void)snprintf(text, sizeof text, "Python %.40s with NumPy %.40s",
                   ak_json_text_at(python, "version"), ak_json_text_at(python, "numpy"));
    return add_verdict(list, "references and baselines in Python", missing == NULL,
                       missing == NULL ? text : missing);
}

/* Adds the verdict on Triton, whose kernels run on devices of the CUDA backend. */
static bool judge_triton(json_t *list, const json_t *findings)
{
    const json_t *python = json_object_get(findings, "python");
    const char *version = ak_json_text_or_null(python, "triton");
    const char *interpreter = ak_json_text_or_null(python, "interpreter");
    char text[2 * CELL_BYTES], devices[CELL_BYTES];
    if (json_object_get(findings, "cuda") == NULL || interpreter == NULL) {
        return true; /* no CUDA in this build, or no Python, on which there is a verdict */
    }
    devices_of(devices, findings, "cuda:");
    if (version == NULL) {
        (void)snprintf(text, sizeof text,
                       "%.200s has no Triton: make a virtual environment with it (`python3 -m venv "
                       "venv && venv/bin/pip install triton`) and set "
                       "AUTOKERNEL_PYTHON=venv/bin/python",
                       interpreter);
    } else {
        (void)snprintf(text, sizeof text, "Triton %.40s%s", version,
                       devices[0] == 0 ? " is installed, but no NVIDIA device was found" : "");
    }
    return add_verdict(list, "kernels in Triton", version != NULL && devices[0] != 0, text);
}

static bool judge_llm(json_t *list, const json_t *findings)
{
    char keyed[CELL_BYTES] = "", text[2 * CELL_BYTES];
    AK_EACH(row, json_object_get(findings, "providers")) {
        if (ak_json_text_is(row, "key", "set")) {
            add_name(keyed, ak_json_text_at(row, "provider"));
        }
    }
    const char *version = ak_json_text_at(findings, "curl"); /* or why there is none */
    const bool curl = version[0] >= '0' && version[0] <= '9';
    (void)snprintf(text, sizeof text, "%s%s%s",
                   !curl           ? version
                   : keyed[0] == 0 ? "no key is set (OPENAI_API_KEY, ANTHROPIC_API_KEY); models of "
                                     "this machine need none: --llm ollama:MODEL"
                                   : "keys are set for ",
                   curl ? keyed : "",
                   curl && keyed[0] != 0 ? "; 'autokernel llm check' asks one" : "");
    return add_verdict(list, "language models (not needed)", curl && keyed[0] != 0, text);
}

static bool judge_confinement(json_t *list, const json_t *findings)
{
    bool landlock = ak_json_number_at(findings, "landlock") > 0;
    bool seccomp = json_is_true(json_object_get(findings, "seccomp"));
    const char *text = landlock && seccomp ? "by Landlock and seccomp"
                       : seccomp  ? "by seccomp only: this kernel has no Landlock (Linux 5.13)"
                       : landlock ? "by Landlock only: this kernel has no seccomp"
                                  : "not at all: this kernel has neither Landlock nor seccomp";
    return add_verdict(list, "confinement of candidates", landlock && seccomp, text);
}

/* Adds the packages behind each "apt-get install" in a text. */
static bool add_packages(json_t *list, const char *text)
{
    static const char phrase[] = "apt-get install ";
    static const char word[] = "abcdefghijklmnopqrstuvwxyz0123456789.+-";
    const char *at = text;
    bool good = true;
    while (good && (at = strstr(at, phrase)) != NULL) {
        at += sizeof phrase - 2; /* at the last blank of the phrase */
        for (size_t length; *at == ' ' && (length = strspn(at + 1, word)) > 0; at += length + 1) {
            size_t i = 0;
            json_auto_t *name = json_stringn(at + 1, length);
            while (i < json_array_size(list) && !json_equal(json_array_get(list, i), name)) {
                i++;
            }
            good = good && name != NULL &&
                   (i < json_array_size(list) || json_array_append(list, name) == 0);
        }
    }
    return good;
}

/* Returns the packages worth installing: missing compilers, and what is named in the notes on
   missing libraries and in the verdicts on what does not work. */
static json_t *packages_of(const json_t *findings)
{
    char compilers[CELL_BYTES];
    json_t *list = json_array();
    join(compilers, json_object_get(findings, "compilers"), "name", NULL);
    bool good = list != NULL;
    good = good && (strstr(compilers, "gcc") != NULL || add_packages(list, "apt-get install gcc"));
    good =
        good && (strstr(compilers, "clang") != NULL || add_packages(list, "apt-get install clang"));
    AK_EACH(row, json_object_get(findings, "libraries")) {
        good = good && (json_is_true(json_object_get(row, "installed")) ||
                        add_packages(list, ak_json_text_at(row, "note")));
    }
    AK_EACH(row, json_object_get(findings, "verdict")) {
        good = good && (json_is_true(json_object_get(row, "works")) ||
                        add_packages(list, ak_json_text_at(row, "text")));
    }
    return ak_json_whole(list, good);
}

/* Returns the rows of the verdict: what works, and what does not, with the reason. */
static json_t *verdict_of(const json_t *findings)
{
    json_t *list = json_array();
    bool good = list != NULL && judge_cpu(list, findings) && judge_backends(list, findings) &&
                judge_triton(list, findings) && judge_python(list, findings) &&
                judge_llm(list, findings) && judge_confinement(list, findings);
    return ak_json_whole(list, good);
}

static void print_verdict(const json_t *findings)
{
    char text[CELL_BYTES];
    ak_table table;
    print_title("verdict");
    ak_table_begin(&table, "", "", "", NULL);
    AK_EACH(row, json_object_get(findings, "verdict")) {
        ak_table_cell(&table, "%s", json_is_true(json_object_get(row, "works")) ? "yes" : "no");
        ak_table_cell(&table, "%s", ak_json_text_at(row, "what"));
        ak_table_cell(&table, "%s", ak_json_text_at(row, "text"));
    }
    ak_table_print(&table);
    show(text, sizeof text, json_object_get(findings, "install"));
    if (text[0] != 0) {
        ak_out("to install what is missing: sudo apt-get install %s\n", text);
    } else {
        ak_out("nothing is missing that a package could add\n");
    }
}

/* Returns whether this machine can run a kernel, on its processor or on a device. */
static bool can_run(const json_t *findings)
{
    AK_EACH(row, json_object_get(findings, "verdict")) {
        if (strncmp(ak_json_text_at(row, "what"), "kernels for", strlen("kernels for")) == 0 &&
            json_is_true(json_object_get(row, "works"))) {
            return true;
        }
    }
    return false;
}

static void print(json_t *findings)
{
    char text[8 * CELL_BYTES];
    AK_EACH_MEMBER(key, value, findings) {
        bool table = json_is_array(value) && json_is_object(json_array_get(value, 0));
        show(text, sizeof text, value);
        if (!table && !json_is_object(value) && says(value) && strcmp(key, "install") != 0 &&
            strcmp(key, "pressure") != 0 && strcmp(key, "warnings") != 0) {
            ak_out("%s: %s\n", key, text);
        }
    }
    AK_EACH_MEMBER(key, value, findings) {
        bool table = json_is_array(value) && json_is_object(json_array_get(value, 0));
        if (strcmp(key, "settings") == 0) {
            print_settings(value);
        } else if (strcmp(key, "verdict") != 0 && table) {
            print_rows(key, value);
        } else if (json_is_object(value)) {
            print_pairs(key, value);
        }
    }
    print_verdict(findings);
    AK_EACH(value, json_object_get(findings, "warnings")) {
        ak_out("warning: %s\n", json_string_value(value));
    }
    ak_out("\n");
    if (can_run(findings)) {
        ak_out_next("tune matmul", "find the fastest matrix product of this machine");
    }
}

/* Adds the path of the archive that is used unless an option names another. */
static bool add_archive(json_t *findings, const ak_settings *settings)
{
    char folder[AK_PATH_MAX], path[AK_PATH_MAX];
    const char *set = settings->at[AK_OPTION_ARCHIVE].text;
    if (set == NULL && (ak_fs_data_folder(folder, NULL) != AK_OK ||
                        ak_fs_join(path, folder, "archive.db", NULL) != AK_OK)) {
        return true;
    }
    return ak_json_set_text(findings, "archive", set == NULL ? path : set);
}

/* Adds archive, settings and their files, verdict, packages to install, and unknown variables. */
static ak_status add_settings(json_t *findings, ak_error *err)
{
    AK_AT_END(ak_settings_close) ak_settings settings = {0};
    AK_DO(ak_settings_open(&settings, err));
    json_auto_t *unknown = ak_settings_unknown();
    bool good =
        unknown != NULL && add_archive(findings, &settings) &&
        ak_json_set_text(findings, "project_settings",
                         settings.has_project ? settings.project : "none") &&
        ak_json_set_text(findings, "user_settings", settings.has_user ? settings.user : "none") &&
        ak_json_set(findings, "settings", ak_settings_json(&settings)) &&
        ak_json_set(findings, "verdict", verdict_of(findings)) &&
        ak_json_set(findings, "install", packages_of(findings)) &&
        (json_array_size(unknown) == 0 ||
         ak_json_set(findings, "unknown_variables", json_incref(unknown)));
    return ak_stored(good, err);
}

static int run(const ak_args *args, ak_error *err)
{
    char *text = NULL;
    json_auto_t *findings = NULL;
    AK_OR_COMPLAIN(ak_out_parse(&findings, ak_doctor(&text, err), &text, "doctor", err));
    AK_OR_COMPLAIN(add_settings(findings, err));
    if (!ak_args_has(args, AK_OPTION_JSON)) {
        print(findings);
    } else if (!ak_out_json(findings)) {
        AK_OR_COMPLAIN(ak_fail_memory(err));
    }
    return AK_EXIT_DONE;
}

const ak_command ak_cmd_doctor = {
    .name = "doctor",
    .summary = "show what works on this machine, and what to install",
    .operands = "",
    .options = AK_O(JSON) | AK_O(HELP),
    .about = "Shows the devices with their ceilings, which it measures now, the compilers, the "
             "libraries with their versions, and the settings with where each comes from. At the "
             "end it says what works, what does not work and why, and which packages to install.",
    .examples = "  autokernel doctor\n"
                "  autokernel doctor --json\n",
    .run = run,
};
