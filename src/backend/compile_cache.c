#include "backend/compile_cache.h"

#include <assert.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/ascii.h"
#include "base/buf.h"
#include "base/text.h"

#define LOG_MAX      (256u << 10)
#define RULE_MAX     (256u << 10)
#define ARTIFACT_MAX (64u << 20)
#define READ_MAX     (4u << 20) /* a longer file counts as having each word */
#define WORD_MAX     16         /* letters of a word that is looked for */
#define WORDS_MAX    4          /* such words */
#define SYSTEM       "/usr/"
/* The cache of a backend has 256 folders of at most this many files. Half of them are
   artifacts: 330 MB if each has 20 KB. */
#define FOLDER_MAX 128

/* Gives the folder of a backend's artifacts. Does not create it. */
static bool find_root(char out[AK_PATH_MAX], const char *backend)
{
    char cache[AK_PATH_MAX];
    return ak_fs_cache_folder(cache, NULL) == AK_OK &&
           ak_fs_join(out, cache, backend, NULL) == AK_OK;
}

void ak_compile_cache_open(char out[AK_PATH_MAX], const char *backend)
{
    if (!find_root(out, backend) || ak_fs_mkdirs(out, NULL) != AK_OK) {
        out[0] = 0;
    }
}

void ak_compile_cache_find(ak_compile_cache *out, const char *backend, ak_hasher *hasher)
{
    char root[AK_PATH_MAX], hash[AK_HASH_BYTES], name[AK_HASH_BYTES + 8];
    ak_hasher_end(hash, hasher);
    out->usable = false;
    (void)snprintf(name, sizeof name, "%.2s", hash);
    if (hash[0] != 0 && find_root(root, backend) &&
        ak_fs_join(out->folder, root, name, NULL) == AK_OK) {
        (void)snprintf(name, sizeof name, "%s.log", hash + 2);
        out->usable = ak_fs_join(out->artifact, out->folder, hash + 2, NULL) == AK_OK &&
                      ak_fs_join(out->log, out->folder, name, NULL) == AK_OK;
    }
}

/* Adds a line with the state of a file: its size, its time of change in ns and its path. */
static bool add_file(ak_buf *out, const char *path)
{
    struct stat file;
    if (stat(path, &file) != 0 || strchr(path, '\n') != NULL) {
        return false;
    }
    ak_buf_print(out, "%lld %lld %s\n", (long long)file.st_size,
                 (long long)file.st_mtim.tv_sec * 1000000000 + (long long)file.st_mtim.tv_nsec,
                 path);
    return true;
}

/* Takes the next path of a rule for make, in which "\ " is a blank within a path and "$$" a dollar;
   returns false at the end. */
static bool next_path(char out[AK_PATH_MAX], const char **at)
{
    size_t length = 0;
    while (**at == ' ' || **at == '\n' || (**at == '\\' && (*at)[1] == '\n')) {
        *at += **at == '\\' ? 2 : 1;
    }
    while (**at != 0 && **at != ' ' && **at != '\n' && length + 1 < AK_PATH_MAX) {
        *at += **at == '\\' && (*at)[1] == ' ' ? 1 : 0;
        *at += **at == '$' && (*at)[1] == '$' ? 1 : 0;
        out[length++] = *(*at)++;
    }
    out[length] = 0;
    return length > 0;
}

/* Adds the state of all files that a rule names, except `source`. */
static bool add_rule(ak_buf *out, const char *rule, const char *source)
{
    char path[AK_PATH_MAX];
    AK_FREED char *text = NULL;
    if (ak_fs_read(&text, NULL, rule, RULE_MAX, NULL) != AK_OK) {
        return false;
    }
    const char *at = strstr(text, ": "); /* behind the target */
    bool good = at != NULL;
    for (at = good ? at + 2 : text; good && next_path(path, &at);) {
        good = strcmp(path, source) == 0 || add_file(out, path);
    }
    return good;
}

/* The parts of a wanted word that occur as words in some text: bit n of from[i] stands for the n
   letters from letter i on. */
typedef struct word_parts {
    const char *word; /* NULL ends a list */
    uint32_t from[WORD_MAX];
} word_parts;

/* Returns the end of the string literal that begins at `at`, or NULL if it does not end before
   `end`. */
static const char *string_end(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++) {
        at += *at == '\\' ? 1 : 0;
    }
    return at < end ? at + 1 : NULL;
}

/* Returns whether every double quote in a line delimits a plain string: false if a character
   constant, comment, raw string or trigraph could hide one. */
static bool has_plain_quotes(const char *line, const char *end)
{
    static const char *const other[] = {"'", "/*", "*/", "?\?", "R\""};
    const size_t length = (size_t)(end - line);
    bool plain = true;
    for (size_t i = 0; i < AK_COUNT(other); i++) {
        plain = plain && memmem(line, length, other[i], strlen(other[i])) == NULL;
    }
    for (const char *at = line; plain && (at = memchr(at, '"', (size_t)(end - at))) != NULL;) {
        at = string_end(at, end);
        plain = at != NULL;
        at = plain ? at : end;
    }
    return plain;
}

/* Returns whether the text after a line may begin within a string. */
static bool may_continue(const char *line, const char *end)
{
    while (end > line && ak_ascii_is_blank(end[-1])) {
        end--;
    }
    return (end > line && end[-1] == '\\') ||
           memmem(line, (size_t)(end - line), "R\"", 2) != NULL ||
           memmem(line, (size_t)(end - line), "?\?/", 3) != NULL;
}

/* Notes which parts of the wanted words equal the `n` letters at `at`. A longer word that contains
   a wanted word counts as that word. */
static void note_word(word_parts *list, const char *at, size_t n)
{
    for (; list->word != NULL; list++) {
        const size_t all = strlen(list->word);
        for (size_t i = 0; n > 0 && i + n <= all; i++) {
            list->from[i] |= memcmp(list->word + i, at, n) == 0 ? 1u << n : 0;
        }
        list->from[0] |= n > all && memmem(at, n, list->word, all) != NULL ? 1u << all : 0;
    }
}

/* Notes the words of a line; with `skips`, except those in strings. */
static void note_line(word_parts *list, const char *at, const char *end, bool skips)
{
    while (at < end) {
        size_t n = 0;
        while (at + n < end && ak_ascii_is_word(at[n])) {
            n++;
        }
        note_word(list, at, n);
        at = skips && *at == '"' ? string_end(at, end) : at + (n == 0 ? 1 : n);
    }
}

/* Notes the words of a text, except those in what is certainly a string. */
static void note_text(word_parts *list, const char *text, size_t length)
{
    bool certain = true;
    for (const char *line = text; line < text + length;) {
        const char *end = memchr(line, '\n', length - (size_t)(line - text));
        end = end == NULL ? text + length : end;
        const bool plain = has_plain_quotes(line, end);
        note_line(list, line, end, certain && plain);
        certain = certain && (plain || !may_continue(line, end));
        line = end + 1;
    }
}

/* Returns whether some of the parts, joined, give the whole word. */
static bool makes_word(const word_parts *parts)
{
    const size_t all = strlen(parts->word);
    uint32_t reached = 1;
    for (size_t i = 0; i < all; i++) {
        reached |= (reached >> i & 1) != 0 ? parts->from[i] << i : 0;
    }
    return (reached >> all & 1) != 0;
}

/* Notes the words of a file. Returns false if it cannot be read. */
static bool note_file(word_parts *list, const char *path)
{
    AK_FREED char *text = NULL;
    size_t length = 0;
    const bool good = ak_fs_read(&text, &length, path, READ_MAX, NULL) == AK_OK;
    note_text(list, good ? text : "", length);
    return good;
}

/* Notes the words of the source, of the options and of the files that a rule names, except files in
   /usr. Returns false if a file cannot be read. */
static bool note_job(word_parts *list, const char *rule, const ak_compile_job *job)
{
    char path[AK_PATH_MAX];
    bool good = note_file(list, job->source_path);
    for (size_t i = 0; i < job->argc; i++) {
        note_text(list, job->argv[i], strlen(job->argv[i]));
    }
    const char *at = strstr(rule, ": ");
    for (at = at == NULL ? "" : at + 2; good && next_path(path, &at);) {
        good = strncmp(path, SYSTEM, strlen(SYSTEM)) == 0 || note_file(list, path);
    }
    return good;
}

bool ak_compile_may_have_word(const char *rule, const ak_compile_job *job, const char *const *words)
{
    word_parts list[WORDS_MAX + 1] = {{.word = NULL}};
    AK_FREED char *text = NULL;
    for (size_t i = 0; words[i] != NULL; i++) {
        assert(i < WORDS_MAX && strlen(words[i]) < WORD_MAX);
        list[i].word = words[i];
    }
    if (rule != NULL) {
        /* If the rule cannot be read, ak_compile_cache_keep keeps nothing. */
        (void)ak_fs_read(&text, NULL, rule, RULE_MAX, NULL);
    }
    bool may = !note_job(list, text == NULL ? "" : text, job);
    for (size_t i = 0; !may && list[i].word != NULL; i++) {
        may = makes_word(&list[i]);
    }
    return may;
}

/* Returns whether a rule names a path. */
static bool names(const char *rule, const char *wanted)
{
    char path[AK_PATH_MAX];
    bool found = false;
    for (const char *at = rule; !found && next_path(path, &at);) {
        found = strcmp(path, wanted) == 0;
    }
    return found;
}

bool ak_compile_reads_more(const char *list, const char *rule)
{
    AK_FREED char *known = NULL, *text = NULL;
    char path[AK_PATH_MAX];
    bool more = ak_fs_read(&text, NULL, list, RULE_MAX, NULL) != AK_OK ||
                ak_fs_read(&known, NULL, rule, RULE_MAX, NULL) != AK_OK;
    const char *at = more ? NULL : strstr(text, ": ");
    for (at = at == NULL ? "" : at + 2; !more && next_path(path, &at);) {
        more = ak_fs_is_file(path) && !names(known, path);
    }
    return more;
}

static bool files_unchanged(const char *lines, size_t length)
{
    AK_AT_END(ak_buf_free) ak_buf now = AK_BUF(LOG_MAX);
    bool same = true;
    for (const char *line = lines; same && line < lines + length;) {
        const char *end = strchr(line, '\n'), *path = strchr(line, '/');
        char copy[AK_PATH_MAX];
        const size_t bytes = path == NULL || path > end ? 0 : (size_t)(end - path);
        same = bytes > 0 && bytes < sizeof copy;
        if (same) {
            memcpy(copy, path, bytes);
            copy[bytes] = 0;
            same = add_file(&now, copy);
            line = end + 1;
        }
    }
    return same && now.length == length && memcmp(now.data, lines, length) == 0;
}

/* Hashes the artifact, the log without its first line, and the path that both belong to. */
static void checksum(char out[AK_HASH_BYTES], const ak_compile_cache *place, const char *artifact,
                     size_t length, const char *rest)
{
    ak_hasher *hasher = ak_hasher_new();
    ak_hasher_add_text(hasher, place->artifact);
    ak_hasher_add(hasher, artifact, length);
    ak_hasher_add_text(hasher, rest);
    ak_hasher_end(out, hasher);
}

/* Checks the log: it has the checksum, a line for each file that the compiler has read besides the
   source, an empty line, and the messages of the compiler. It is written last, so an artifact with
   a log is complete. */
bool ak_compile_cache_take(char **log, const ak_compile_cache *place, const char *artifact)
{
    char *data = NULL, *text = NULL, hash[AK_HASH_BYTES];
    size_t length = 0;
    *log = NULL;
    bool found = place->usable && ak_fs_read(&text, NULL, place->log, LOG_MAX, NULL) == AK_OK &&
                 ak_fs_read(&data, &length, place->artifact, ARTIFACT_MAX, NULL) == AK_OK &&
                 strlen(text) > sizeof hash && text[sizeof hash - 1] == '\n';
    if (found) {
        const char *files = text + sizeof hash;
        const char *end = files[0] == '\n' ? files : strstr(files, "\n\n");
        checksum(hash, place, data, length, files);
        end = end == NULL || end == files ? end : end + 1;
        found = end != NULL && memcmp(hash, text, sizeof hash - 1) == 0 &&
                files_unchanged(files, (size_t)(end - files)) &&
                (*log = ak_strdup(end + 1)) != NULL &&
                ak_fs_write(artifact, data, length, NULL) == AK_OK;
    }
    AK_FREE_ALL(data, text);
    if (!found) {
        ak_free(*log);
        *log = NULL;
    }
    return found;
}

/* Removes a folder that is full, to make room. */
static void make_room(const char *folder)
{
    AK_AT_END(ak_fs_names_free) ak_fs_names names = {0};
    if (ak_fs_list(&names, folder, NULL) == AK_OK && names.count >= FOLDER_MAX) {
        ak_fs_remove(folder);
    }
}

void ak_compile_cache_keep(const ak_compile_cache *place, const char *artifact, const char *log,
                           const char *rule, const char *source)
{
    AK_FREED char *data = NULL;
    char hash[AK_HASH_BYTES];
    size_t length = 0;
    AK_AT_END(ak_buf_free) ak_buf rest = AK_BUF(LOG_MAX), all = AK_BUF(LOG_MAX);
    if (place->usable && ak_fs_read(&data, &length, artifact, ARTIFACT_MAX, NULL) == AK_OK &&
        (rule == NULL || add_rule(&rest, rule, source))) {
        make_room(place->folder);
        ak_buf_print(&rest, "\n%s", ak_or_empty(log));
        checksum(hash, place, data, length, rest.data);
        ak_buf_print(&all, "%s\n%s", hash, rest.data);
        if (all.length < LOG_MAX && ak_fs_mkdirs(place->folder, NULL) == AK_OK &&
            ak_fs_write(place->artifact, data, length, NULL) == AK_OK) {
            (void)ak_fs_write(place->log, all.data, all.length, NULL);
        }
    }
}
