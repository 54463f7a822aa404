/*
 * host_targets.c: shows a source as the compiler sees it, after its preprocessor, and finds there
 * what makes the compiler use instructions that its options do not name: target attributes and
 * pragmas, assembly, and code that is put into sections by hand.
 *
 * The compiler's own headers have such pragmas for every extension, so they are skipped; the
 * preprocessor's marks say where they begin and end. If a source has such marks itself, they cannot
 * be told apart, and its targets count as unknown.
 */
#include <string.h>
#include <unistd.h>

#include "backend/compile.h"
#include "backend/host/host.h"
#include "base/alloc.h"
#include "base/ascii.h"
#include "base/clock.h"

#define PREPROCESS_NS (60 * AK_SECOND_NS)
#define TEXT_MAX      (64u << 20)
#define MESSAGE_MAX   (16u << 10)
#define TARGETS_MAX   64
#define NAMES_BYTES   512
#define BLANK         " \t\n"

/* ---- what the compiler sees -------------------------------------------------------------------
 */

ak_status ak_host_preprocess(char **out, ak_proc_result *run, const ak_options *options,
                             const char *source, const char *folder, ak_error *err)
{
    char path[AK_PATH_MAX];
    AK_FREED const char **argv = NULL;
    size_t n = 0;
    *out = NULL;
    AK_DO(AK_NEW(argv, options->count + 8, err));
    AK_DO(ak_fs_join(path, folder, "preprocessed", err));
    argv[n++] = options->compiler;
    for (size_t i = 0; i < options->count; i++) {
        if (strcmp(options->argv[i], "-shared") != 0) {
            argv[n++] = options->argv[i];
        }
    }
    argv[n++] = "-w";
    argv[n++] = "-E";
    argv[n++] = "-o";
    argv[n++] = path;
    argv[n++] = source;
    const ak_proc_spec spec = {
        .argv = argv, .folder = folder, .timeout_ns = PREPROCESS_NS, .output_max = MESSAGE_MAX};
    ak_status status = ak_compile_run(run, spec, source, folder, err);
    if (status == AK_OK && run->exit_code == 0 && !run->timed_out) {
        status = ak_fs_read(out, NULL, path, TEXT_MAX, err);
    }
    (void)unlink(path);
    return status;
}

/* ---- marks ------------------------------------------------------------------------------------
 */

/* Moves behind ends of lines that join this line with the next one, in every spelling: a backslash
   or the trigraph in its place, blanks, and the end. Compilers differ in what they take for one, so
   all count that any of them takes. */
static const char *skip_joints(const char *p)
{
    for (;;) {
        const size_t sign = *p == '\\' ? 1 : strncmp(p, "?\?/", 3) == 0 ? 3 : 0;
        const char *end = p + sign + strspn(p + sign, " \t\f\v");
        if (sign == 0 || (*end != '\n' && *end != '\r')) {
            return p;
        }
        p = end + (end[0] == '\r' && end[1] == '\n' ? 2 : 1);
    }
}

/* Moves behind a mark that begins a directive, #, %: or ??=; returns NULL if there is none. */
static const char *skip_sign(const char *p)
{
    if (*p == '%') {
        p = skip_joints(p + 1);
        return *p == ':' ? p + 1 : NULL;
    }
    return *p == '#' ? p + 1 : strncmp(p, "?\?=", 3) == 0 ? p + 3 : NULL;
}

/* Returns whether a source has marks like those of the preprocessor: # 1 "file" 3. What a comment
   behind the sign hides is not looked at: it counts as a mark. */
static bool has_marks(const char *source)
{
    for (const char *at = source; *at != 0; at++) {
        const bool pastes = at > source && at[-1] == '#'; /* a##1 */
        const char *p = pastes ? NULL : skip_sign(at);
        for (const char *from = NULL; p != NULL && p != from;) {
            from = p;
            p = skip_joints(p + strspn(p, " \t\f\v\r"));
        }
        if (p != NULL && (ak_ascii_is_digit(*p) || (*p == '/' && *skip_joints(p + 1) == '*'))) {
            return true;
        }
    }
    return false;
}

typedef enum whose { OF_SOURCE, OF_SYSTEM, OF_COMPILER } whose;

/* Returns whose lines follow this one: what the line says if it is a mark, else `now`. */
static whose read_mark(whose now, const char *line, size_t length)
{
    if (length < 3 || line[0] != '#' || line[1] != ' ' || line[2] < '0' || line[2] > '9') {
        return now;
    }
    const char *name = memchr(line, '"', length);
    const char *end = name == NULL ? NULL : memrchr(line, '"', length);
    if (end == NULL || memmem(end, length - (size_t)(end - line), " 3", 2) == NULL) {
        return OF_SOURCE;
    }
    const size_t bytes = (size_t)(end - name);
    return memmem(name, bytes, "/lib/gcc/", 9) != NULL || memmem(name, bytes, "/clang/", 7) != NULL
               ? OF_COMPILER
               : OF_SYSTEM;
}

/* ---- targets ----------------------------------------------------------------------------------
 */

static ak_status add_option(ak_host_targets *out, const char *option, ak_error *err)
{
    if (AK_HAS_TEXT(out->options.argv, out->options.count, option)) {
        return AK_OK;
    }
    const bool full = out->options.count >= TARGETS_MAX;
    out->unknown = out->unknown || full;
    return full ? AK_OK : ak_options_add(&out->options, option, err);
}

/* Adds what one name of a target attribute stands for: "avx2", "arch=haswell", "no-fma". */
static ak_status add_name(ak_host_targets *out, const char *name, ak_error *err)
{
    static const char *const silent[] = {"no-",   "tune=",   "prefer-vector-width=", "fpmath=",
                                         "mtune", "default", "general-regs-only",    NULL};
    char option[NAMES_BYTES + 8];
    const bool arch = strncmp(name, "arch=", 5) == 0;
    const char *rest = arch ? name + 5 : name;
    if (*name == 0 || ak_text_begins(name, silent)) {
        return AK_OK;
    }
    out->tiles = out->tiles || strncmp(name, "amx", 3) == 0;
    bool named = true;
    for (const char *p = rest; *p != 0; p++) {
        named = named && (ak_ascii_is_word(*p) || *p == '-' || *p == '.');
    }
    out->unknown = out->unknown || !named;
    (void)snprintf(option, sizeof option, arch ? "-march=%s" : "-m%s", rest);
    return named ? add_option(out, option, err) : AK_OK;
}

static ak_status add_names(ak_host_targets *out, char *names, ak_error *err)
{
    for (char *rest = names; rest != NULL;) {
        char *name = strsep(&rest, ",");
        name += strspn(name, BLANK);
        name[strcspn(name, BLANK)] = 0;
        AK_DO(add_name(out, name, err));
    }
    return AK_OK;
}

/* Reads the strings behind target or target_clones: ("avx2,fma"), ("avx2", "default"), "avx2". */
static ak_status read_target(ak_host_targets *out, const char *p, ak_error *err)
{
    char names[NAMES_BYTES];
    size_t n = 0;
    p += strspn(p, BLANK);
    const bool bracket = *p == '(';
    p += bracket ? 1 + strspn(p + 1, BLANK) : 0;
    if (*p != '"') {
        /* This is a name of the source's own, unless another kind of string follows: R"(avx2)". */
        out->unknown = out->unknown || memchr(p, '"', strcspn(p, ");\n")) != NULL;
        return AK_OK;
    }
    while (*p == '"' || *p == ',') {
        const size_t length = *p == ',' ? 1 : strcspn(p + 1, "\"\\\n");
        if (n + length + 1 > sizeof names || (*p == '"' && p[1 + length] != '"')) {
            out->unknown = true;
            return AK_OK;
        }
        memcpy(names + n, *p == ',' ? p : p + 1, length);
        n += length;
        p += *p == ',' ? 1 : length + 2;
        p += strspn(p, BLANK);
        if (!bracket) {
            break;
        }
    }
    names[n] = 0;
    out->unknown = out->unknown || (bracket && *p != ')');
    return add_names(out, names, err);
}

/* Returns whether what follows "asm" says nothing to the assembler: ("" ...). */
static bool is_empty_asm(const char *p)
{
    static const char *const words[] = {"volatile", "__volatile__", "__volatile",
                                        "inline",   "__inline",     "goto"};
    p += strspn(p, BLANK);
    for (size_t i = 0; i < AK_COUNT(words); i++) {
        size_t length = strlen(words[i]);
        if (strncmp(p, words[i], length) == 0 && !ak_ascii_is_word(p[length])) {
            p += length + strspn(p + length, BLANK);
            i = (size_t)-1; /* the loop begins again at the first word */
        }
    }
    if (*p != '(') {
        return false;
    }
    p += 1 + strspn(p + 1, BLANK);
    if (p[0] != '"' || p[1] != '"') {
        return false;
    }
    p += 2 + strspn(p + 2, BLANK);
    return *p == ':' || *p == ')';
}

/* Looks at one word; `rest` is the text behind it. */
static ak_status read_word(ak_host_targets *out, const char *word, size_t length, const char *rest,
                           whose now, ak_error *err)
{
    static const char *const targets[] = {"target", "__target__", "target_clones",
                                          "__target_clones__", "target_version"};
    static const char *const assembly[] = {"asm", "__asm", "__asm__"};
    static const char *const sections[] = {"section", "__section__"};
    char name[24];
    if (length >= sizeof name) {
        return AK_OK;
    }
    memcpy(name, word, length);
    name[length] = 0;
    if (AK_HAS_TEXT(targets, AK_COUNT(targets), name)) {
        return read_target(out, rest, err);
    }
    if (now == OF_SOURCE) {
        out->unknown =
            out->unknown ||
            (AK_HAS_TEXT(assembly, AK_COUNT(assembly), name) && !is_empty_asm(rest)) ||
            (AK_HAS_TEXT(sections, AK_COUNT(sections), name) && rest[strspn(rest, BLANK)] == '(');
    }
    return AK_OK;
}

static ak_status read_line(ak_host_targets *out, const char *line, size_t length, whose now,
                           ak_error *err)
{
    for (size_t i = 0; i < length;) {
        size_t begin = i;
        while (i < length && ak_ascii_is_word(line[i])) {
            i++;
        }
        if (i > begin) {
            AK_DO(read_word(out, line + begin, i - begin, line + i, now, err));
        } else {
            i++;
        }
    }
    return AK_OK;
}

ak_status ak_host_targets_of(ak_host_targets *out, const char *source, const char *preprocessed,
                             ak_error *err)
{
    whose now = OF_SOURCE;
    ak_status status = AK_OK;
    *out = (ak_host_targets){.unknown = has_marks(source)};
    for (const char *line = preprocessed; *line != 0 && status == AK_OK;) {
        size_t length = strcspn(line, "\n");
        now = read_mark(now, line, length);
        status = now == OF_COMPILER ? AK_OK : read_line(out, line, length, now, err);
        line += length + (line[length] == '\n' ? 1 : 0);
    }
    out->tiles = out->tiles || (out->unknown && (strstr(preprocessed, "ldtilecfg") != NULL ||
                                                 strstr(preprocessed, "tilezero") != NULL ||
                                                 strstr(preprocessed, "tileload") != NULL));
    return status;
}

void ak_host_targets_clear(ak_host_targets *targets)
{
    ak_options_clear(&targets->options);
}
