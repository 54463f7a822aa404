/*
 * cmd_doctor.c: what works here, and what to install.
 *
 * The library's findings are JSON whose parts grow with backends, so they are shown by shape: a
 * list of objects is a table of their members, anything else a line. The settings are the command
 * line's own.
 */
#include <string.h>

#include "cli/options.h"
#include "cli/settings.h"
#include "cli/table.h"

#define CELL_BYTES 512

/* A member as a person reads it; nested objects as "peak_tflops 0.17, copy_gbs 12". */
static void show(char *out, size_t bytes, const json_t *value)
{
    char number[AK_NUMBER_BYTES];
    const char *key;
    json_t *member;
    size_t used = 0, i;
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
        void *iterator = json_object_iter((json_t *)(uintptr_t)value);
        for (; iterator != NULL && used + 2 < bytes;
             iterator = json_object_iter_next((json_t *)(uintptr_t)value, iterator)) {
            key = json_object_iter_key(iterator);
            (void)snprintf(out + used, bytes - used, "%s%s ", used == 0 ? "" : ", ", key);
            used = strlen(out);
            show(out + used, bytes - used, json_object_iter_value(iterator));
            used = strlen(out);
        }
    } else if (json_is_array(value)) {
        json_array_foreach(value, i, member)
        {
            (void)snprintf(out + used, bytes - used, "%s", used == 0 ? "" : " ");
            used = strlen(out);
            show(out + used, bytes - used, member);
            used = strlen(out);
        }
    }
}

/* The columns of a table are the members of its rows, in the order in which they first occur. */
static size_t columns_of(const char *columns[AK_COLUMNS_MAX], const json_t *rows)
{
    size_t count = 0, i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        void *iterator = json_object_iter(row);
        for (; iterator != NULL; iterator = json_object_iter_next(row, iterator)) {
            const char *key = json_object_iter_key(iterator);
            bool known = false;
            for (size_t c = 0; c < count; c++) {
                known |= strcmp(columns[c], key) == 0;
            }
            if (!known && count < AK_COLUMNS_MAX) {
                columns[count++] = key;
            }
        }
    }
    return count;
}

static void print_rows(const char *title, const json_t *rows)
{
    const char *columns[AK_COLUMNS_MAX];
    size_t count = columns_of(columns, rows), i;
    ak_table table;
    ak_table_begin(&table, count > 0 ? columns[0] : "", NULL);
    for (size_t c = 1; c < count; c++) {
        table.headers[c] = columns[c];
    }
    table.columns = count;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        for (size_t c = 0; c < count; c++) {
            char text[CELL_BYTES];
            show(text, sizeof text, json_object_get(row, columns[c]));
            ak_table_cell(&table, "%s", text);
        }
    }
    ak_out("\n%s%s%s\n", ak_style_on(stdout, AK_STYLE_GOOD), title,
           ak_style_on(stdout, AK_STYLE_PLAIN));
    ak_table_print(&table);
}

static void print(json_t *findings)
{
    const char *key;
    json_t *value;
    char text[8 * CELL_BYTES];
    json_object_foreach(findings, key, value)
    {
        if (!json_is_array(value) || !json_is_object(json_array_get(value, 0))) {
            show(text, sizeof text, value);
            if (text[0] != 0) {
                ak_out("%s: %s\n", key, text);
            }
        }
    }
    json_object_foreach(findings, key, value)
    {
        if (json_is_array(value) && json_is_object(json_array_get(value, 0))) {
            print_rows(key, value);
        }
    }
    ak_out("\n");
    show(text, sizeof text, json_object_get(findings, "install"));
    if (text[0] != 0) {
        ak_out("to install what is missing: apt-get install %s\n", text);
    }
    ak_out_next("tune matmul", "find the fastest matrix product of this machine");
}

/* Where results are kept unless an option says otherwise. */
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

/* Adds the settings, the files they may be in and misspelled variables. */
static ak_status add_settings(json_t *findings, ak_error *err)
{
    ak_settings settings;
    ak_status status = ak_settings_open(&settings, err);
    if (status != AK_OK) {
        return status;
    }
    json_t *unknown = ak_settings_unknown();
    bool good =
        unknown != NULL && add_archive(findings, &settings) &&
        ak_json_set_text(findings, "project_settings",
                         settings.has_project ? settings.project : "none") &&
        ak_json_set_text(findings, "user_settings", settings.has_user ? settings.user : "none") &&
        ak_json_set(findings, "settings", ak_settings_json(&settings)) &&
        (json_array_size(unknown) == 0 ||
         ak_json_set(findings, "unknown_variables", json_incref(unknown)));
    json_decref(unknown);
    ak_settings_close(&settings);
    return good ? AK_OK : ak_fail_memory(err);
}

static int run(const ak_args *args)
{
    ak_error err = AK_ERROR_INIT;
    char *text = NULL;
    json_t *findings = NULL;
    ak_status status = ak_doctor(&text, &err);
    if (status == AK_OK) {
        status = ak_json_parse(&findings, text, strlen(text), "doctor", &err);
    }
    if (status == AK_OK) {
        status = add_settings(findings, &err);
    }
    if (status == AK_OK && !ak_args_has(args, AK_OPTION_JSON)) {
        print(findings);
    } else if (status == AK_OK && !ak_out_json(findings)) {
        status = ak_fail_memory(&err);
    }
    json_decref(findings);
    ak_text_free(text);
    return status == AK_OK ? AK_EXIT_DONE : ak_complain_error(&err);
}

const ak_command ak_cmd_doctor = {
    .name = "doctor",
    .summary = "what works on this machine, and what to install",
    .operands = "",
    .options = AK_O(JSON) | AK_O(HELP),
    .about = "Devices with the ceilings that were measured just now, compilers, libraries with "
             "versions,\n"
             "the settings in force and where each comes from, and what to install.",
    .examples = "  autokernel doctor\n"
                "  autokernel doctor --json\n",
    .run = run,
};
