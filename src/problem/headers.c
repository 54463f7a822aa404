/* headers.c: see headers.h. */
#include "problem/headers.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/text.h"

#define FOLDERS_MAX 32
#define HEADERS_MAX 512 /* further ones do not count, nor do larger ones than HEADER_MAX */
#define HEADER_MAX  (4u << 20)

typedef char path[AK_PATH_MAX];

typedef struct search {
    path folders[FOLDERS_MAX];
    size_t folder_count;
    path found[HEADERS_MAX]; /* those before `read` have been read */
    size_t found_count, read;
    ak_hasher *hasher;
} search;

static void add_folder(search *s, const char *text, size_t length)
{
    if (s->folder_count < FOLDERS_MAX && length > 0 && length < AK_PATH_MAX && text[0] == '/') {
        memcpy(s->folders[s->folder_count], text, length);
        s->folders[s->folder_count++][length] = 0;
    }
}

/* Adds the folders that options in a text name. */
static void add_option(search *s, const char *text)
{
    static const char *const options[] = {"-I/", "--include-path=/"};
    for (size_t i = 0; i < AK_COUNT(options); i++) {
        const size_t length = strlen(options[i]) - 1;
        for (const char *at = text; (at = strstr(at, options[i])) != NULL; at += length) {
            const size_t word = strcspn(at + length, " \t");
            add_folder(s, at + length, word);
            if (at == text && at[length + word] != 0) { /* or a folder with blanks in its name */
                add_folder(s, at + length, strlen(at + length));
            }
        }
    }
}

static void add_options(search *s, const json_t *value)
{
    const char *key;
    json_t *member;
    if (json_is_string(value)) {
        add_option(s, json_string_value(value));
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        add_options(s, json_array_get(value, i));
    }
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        add_options(s, member);
    }
}

/* Adds the folders of variables that compilers read. */
static void add_variables(search *s)
{
    static const char *const variables[] = {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"};
    for (size_t i = 0; i < AK_COUNT(variables); i++) {
        for (const char *at = ak_or_empty(ak_env(variables[i])); *at != 0; at += strspn(at, ":")) {
            const size_t length = strcspn(at, ":");
            add_folder(s, at, length);
            at += length;
        }
    }
}

/* Adds a header that exists, once; returns whether it exists. */
static bool add_header(search *s, const char *folder, const char *name)
{
    path place;
    if (ak_fs_join(place, folder, name, NULL) != AK_OK || !ak_fs_is_file(place)) {
        return false;
    }
    for (size_t i = 0; i < s->found_count; i++) {
        if (strcmp(s->found[i], place) == 0) {
            return true;
        }
    }
    if (s->found_count < HEADERS_MAX) {
        memcpy(s->found[s->found_count++], place, sizeof place);
        ak_hasher_add_text(s->hasher, name);
    }
    return true;
}

/* Looks for a header as a compiler does: beside the file that names it in quotes, then in the
   folders. */
static void find_header(search *s, const char *name, const char *beside)
{
    bool found =
        name[0] == '/' ? add_header(s, "", name) : beside != NULL && add_header(s, beside, name);
    for (size_t i = 0; i < s->folder_count && !found && name[0] != '/'; i++) {
        found = add_header(s, s->folders[i], name);
    }
}

int ak_headers_line(const char **name, size_t *length, const char *line)
{
    static const char blanks[] = " \t";
    line += strspn(line, blanks);
    if (*line != '#') {
        return 0;
    }
    line += 1 + strspn(line + 1, blanks);
    if (strncmp(line, "include", 7) != 0) {
        return 0;
    }
    line += 7;
    const bool next = strncmp(line, "_next", 5) == 0;
    line += next ? 5 : 0;
    line += strspn(line, blanks);
    const char *end = *line == '<' ? ">\n" : *line == '"' ? "\"\n" : "";
    *name = line + 1;
    *length = *end == 0 ? 0 : strcspn(line + 1, end);
    return *length == 0 || line[1 + *length] != *end ? 0 : next ? '<' : *line;
}

/* Looks for the headers of a text that lies in the folder `beside`; NULL: in none that counts. */
static void scan(search *s, const char *text, const char *beside)
{
    path name;
    for (const char *line = text; *line != 0; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *begin;
        size_t length;
        const int kind = ak_headers_line(&begin, &length, line);
        if (kind != 0 && length < sizeof name) {
            memcpy(name, begin, length);
            name[length] = 0;
            find_header(s, name, kind == '"' ? beside : NULL);
        }
    }
}

ak_status ak_headers_add(ak_hasher *hasher, const char *source, const json_t *definition,
                         ak_error *err)
{
    search *s;
    if (source == NULL || strstr(source, "include") == NULL) {
        return AK_OK;
    }
    AK_DO(AK_NEW(s, 1, err));
    s->hasher = hasher;
    add_options(s, definition);
    add_variables(s);
    scan(s, source, NULL);
    for (; s->read < s->found_count; s->read++) {
        char *text = NULL;
        path folder;
        const char *place = s->found[s->read];
        if (ak_fs_read(&text, NULL, place, HEADER_MAX, NULL) == AK_OK) {
            (void)snprintf(folder, sizeof folder, "%.*s", (int)(ak_fs_base(place) - place), place);
            ak_hasher_add_text(hasher, text);
            scan(s, text, folder);
        }
        ak_free(text);
    }
    ak_free(s);
    return AK_OK;
}
