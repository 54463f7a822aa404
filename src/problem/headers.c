#include "problem/sources.h"

#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/ascii.h"
#include "base/fs.h"
#include "base/map.h"
#include "base/text.h"

#define FOLDERS_MAX 256
#define HEADERS_MAX 8192 /* a library of templates has some hundreds */
/* Bytes. A larger header, such as data for #embed, counts with its size and date instead of its
   contents, and is not searched for further headers. */
#define HEADER_MAX (4u << 20)
/* A longer comment is not skipped, because many unclosed ones would take quadratic time. */
#define COMMENT_MAX 4096

typedef char path[AK_PATH_MAX];

typedef struct search {
    path folders[FOLDERS_MAX];
    size_t folder_count;
    char *found[HEADERS_MAX]; /* the first `read` of these have been read */
    size_t found_count, read;
    ak_map *known;                   /* the paths in `found` */
    bool more_folders, more_headers; /* there are more than the limits allow */
    bool no_memory;
    ak_hasher *hasher;
} search;

static void end_search(search **at)
{
    if (*at != NULL) {
        AK_END_EACH(ak_free, (*at)->found, (*at)->found_count);
        ak_map_free((*at)->known);
        ak_free(*at);
    }
}

static void add_folder(search *s, const char *text, size_t length)
{
    if (length == 0 || length >= AK_PATH_MAX || text[0] != '/') {
        return;
    }
    for (size_t i = 0; i < s->folder_count; i++) {
        if (strlen(s->folders[i]) == length && memcmp(s->folders[i], text, length) == 0) {
            return;
        }
    }
    if (s->folder_count == FOLDERS_MAX) {
        s->more_folders = true;
        return;
    }
    memcpy(s->folders[s->folder_count], text, length);
    s->folders[s->folder_count++][length] = 0;
}

/* Adds the folders that the options -I and --include-path in a text name by absolute paths. */
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
    if (json_is_string(value)) {
        add_option(s, json_string_value(value));
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        add_options(s, json_array_get(value, i));
    }
    AK_EACH_MEMBER(key, member, value) {
        add_options(s, member);
    }
}

/* Adds the folders that CPATH and the like name. */
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

/* Adds the header `name` in `folder` if it exists and was not added before. */
static void add_header(search *s, const char *folder, const char *name)
{
    path place;
    if (ak_fs_join(place, folder, name, NULL) != AK_OK || ak_map_get(NULL, s->known, place) ||
        !ak_fs_is_file(place)) {
        return;
    }
    if (s->found_count == HEADERS_MAX) {
        s->more_headers = true;
        return;
    }
    char *copy = ak_strdup(place);
    if (copy == NULL || ak_map_put(s->known, place, s->found_count, NULL) != AK_OK) {
        ak_free(copy);
        s->no_memory = true;
        return;
    }
    s->found[s->found_count++] = copy;
    ak_hasher_add_text(s->hasher, name);
}

/* Adds the header with this absolute path. If the name is relative, adds the headers of this name
   in `beside`, the folder of the file that names it (NULL: do not look there), and in all folders.
   Those after the one that a compiler would take count too: #include_next goes on from there, and
   each configuration may have other folders. */
static void find_header(search *s, const char *name, const char *beside)
{
    if (name[0] == '/') {
        add_header(s, "", name);
        return;
    }
    if (beside != NULL) {
        add_header(s, beside, name);
    }
    for (size_t i = 0; i < s->folder_count; i++) {
        add_header(s, s->folders[i], name);
    }
}

/* Skips blanks and comments. A comment that does not end within COMMENT_MAX bytes is not
   skipped. */
static const char *after_blanks(const char *at)
{
    for (;;) {
        at += strspn(at, " \t\r\v\f");
        const char *end = strncmp(at, "/*", 2) != 0
                              ? NULL
                              : memmem(at + 2, strnlen(at + 2, COMMENT_MAX), "*/", 2);
        if (end == NULL) {
            return at;
        }
        at = end + 2;
    }
}

static size_t word_length(const char *at)
{
    size_t length = 0;
    while (ak_ascii_is_word(at[length])) {
        length++;
    }
    return length;
}

/* Returns the quote or bracket with which a name begins at `at`, and gives the place and the length
   of the name; 0: there is none. */
static int read_name(const char **name, size_t *length, const char *at)
{
    const char end[] = {*at == '<' ? '>' : *at, '\n', 0};
    *name = at + 1;
    *length = *at == '<' || *at == '"' || *at == '\'' ? strcspn(at + 1, end) : 0;
    return *length == 0 || at[1 + *length] != end[0] ? 0 : *at;
}

int ak_headers_name(const char **name, size_t *length, const char *word)
{
    static const struct {
        const char *word;
        bool code; /* looked for beside the file that names it, too */
    } words[] = {{"include", true}, {"import", true}, {"include_next", false}, {"embed", false}};
    const size_t bytes = word_length(word);
    for (size_t i = 0; i < AK_COUNT(words); i++) {
        if (strlen(words[i].word) == bytes && ak_ascii_begins(word, words[i].word)) {
            const int kind = read_name(name, length, after_blanks(word + bytes));
            return kind == '"' && !words[i].code ? '<' : kind;
        }
    }
    return 0;
}

/* Reads the header name that a macro stands for, as in #define HEADER "header.h". Returns what
   read_name returns. */
static int read_macro(const char **name, size_t *length, const char *word)
{
    static const char define[] = "define";
    const size_t bytes = word_length(word);
    if (bytes != strlen(define) || memcmp(word, define, bytes) != 0) {
        return 0;
    }
    word = after_blanks(word + bytes);
    return read_name(name, length, after_blanks(word + word_length(word)));
}

/* Joins lines that end with a backslash, or with ??/ in its place, as C does. A 0 byte becomes a
   blank, as compilers read it. */
static void join_lines(char *text, size_t length)
{
    char *to = text;
    for (const char *at = text; at < text + length;) {
        const size_t sign = *at == '\\' ? 1 : strncmp(at, "?\?/", 3) == 0 ? 3 : 0;
        const char *end = sign == 0 ? at : at + sign + strspn(at + sign, " \t\r\v\f");
        if (sign > 0 && *end == '\n') {
            at = end + 1;
        } else {
            *to++ = *at == 0 ? ' ' : *at;
            at++;
        }
    }
    *to = 0;
}

/* Adds the headers that a text names; changes the text (join_lines). `beside` is the folder of the
   text's file; NULL: headers beside it are not looked for. */
static void scan(search *s, char *text, size_t bytes, const char *beside)
{
    path name;
    join_lines(text, bytes);
    for (const char *at = text; *at != 0;) {
        const char *begin;
        size_t length, word = word_length(at);
        if ((ak_headers_name(&begin, &length, at) != 0 || read_macro(&begin, &length, at) != 0) &&
            length < sizeof name) {
            memcpy(name, begin, length);
            name[length] = 0;
            find_header(s, name, beside);
        }
        at += word > 0 ? word : 1;
    }
}

/* Adds the contents of a header and searches it for further ones. Of a header that is too large, or
   cannot be read, adds size and date. */
static void read_found(search *s, const char *place)
{
    path folder;
    AK_FREED char *text = NULL;
    struct stat file;
    size_t bytes = 0;
    if (ak_fs_read(&text, &bytes, place, HEADER_MAX, NULL) == AK_OK) {
        (void)snprintf(folder, sizeof folder, "%.*s", (int)(ak_fs_base(place) - place), place);
        ak_hasher_add(s->hasher, text, bytes);
        scan(s, text, bytes, folder);
    } else if (stat(place, &file) == 0) {
        const int64_t facts[] = {(int64_t)file.st_size, (int64_t)file.st_mtim.tv_sec,
                                 (int64_t)file.st_mtim.tv_nsec};
        ak_hasher_add(s->hasher, facts, sizeof facts);
    }
}

ak_status ak_headers_add(ak_hasher *hasher, const char *where, const char *source,
                         const json_t *definition, ak_error *err)
{
    AK_AT_END(end_search) search *s = NULL;
    AK_FREED char *text = NULL;
    if (source == NULL) {
        return AK_OK;
    }
    AK_DO(AK_NEW(s, 1, err));
    s->known = ak_map_new();
    AK_DO(ak_stored(s->known != NULL, err));
    AK_DO(ak_copy_text(&text, source, err));
    s->hasher = hasher;
    add_options(s, definition);
    add_variables(s);
    scan(s, text, strlen(text), NULL);
    for (; s->read < s->found_count && !s->no_memory; s->read++) {
        read_found(s, s->found[s->read]);
    }
    AK_DO(ak_stored(!s->no_memory, err));
    AK_FAIL_IF(
        s->more_folders || s->more_headers, err, AK_LIMIT,
        "%s: the source names more than %d %s outside of the kernel's folder, so a change there "
        "could not be noticed: include fewer, or copy them into the folder",
        where, s->more_folders ? FOLDERS_MAX : HEADERS_MAX,
        s->more_folders ? "folders of headers" : "headers");
    return AK_OK;
}
