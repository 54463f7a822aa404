/* options.c: see options.h. Without --help, arguments are read in one pass and each option is
   checked as it is read, so that the first mistake is the one reported. */
#include "cli/options.h"

#include <assert.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/output.h"

#define SHOWN_MAX 80 /* limit on the bytes of a wrong word that a message repeats */

const ak_option ak_options_all[AK_OPTION_COUNT] = {
#define X(id, name, kind, low, high, value, setting, help)                                         \
    [AK_OPTION_##id] = {name, AK_KIND_##kind, (double)(low), (double)(high), value, setting, help},
#include "cli/options.def"
#undef X
};

/* The options as they are typed, such as "--evals". This is also the origin of a value that is
   typed. */
static const char *const spelled[AK_OPTION_COUNT] = {
#define X(id, name, kind, low, high, value, setting, help) [AK_OPTION_##id] = "--" name,
#include "cli/options.def"
#undef X
};

const char *ak_option_help(const ak_command *command, ak_option_id id)
{
    static const struct {
        const char *command;
        ak_option_id id;
        const char *help;
    } words[] = {
#define X(command, id, help) {#command, AK_OPTION_##id, help},
#include "cli/option_words.def"
#undef X
    };
    for (size_t i = 0; i < AK_COUNT(words); i++) {
        if (words[i].id == id && strcmp(words[i].command, command->name) == 0) {
            return words[i].help;
        }
    }
    return ak_options_all[id].help;
}

/* Short forms of common options. */
static const struct {
    char letter;
    ak_option_id id;
} letters[] = {{'h', AK_OPTION_HELP}, {'q', AK_OPTION_QUIET}, {'o', AK_OPTION_OUTPUT}};

void ak_hint(char *out, size_t bytes, const char *word, const char *const *known,
             const char *otherwise)
{
    const char *nearest = ak_text_meant(word, known);
    if (nearest != NULL) {
        (void)snprintf(out, bytes, "did you mean %s?", nearest);
    } else {
        (void)snprintf(out, bytes, "%s", otherwise);
    }
}

bool ak_args_has(const ak_args *args, ak_option_id id)
{
    return args->text[id] != NULL;
}

double ak_args_number(const ak_args *args, ak_option_id id, double otherwise)
{
    return ak_args_has(args, id) ? args->number[id] : otherwise;
}

bool ak_args_typed(const ak_args *args, ak_option_id id)
{
    return args->text[id] != NULL && args->origin[id] != NULL &&
           strncmp(args->origin[id], "--", 2) == 0;
}

/* Reads the value of an option whose kind is a number or a time. */
static ak_status read_number(double *out, const ak_option *option, const char *text,
                             const char *origin, ak_error *err)
{
    int64_t whole = 0;
    bool good = false;
    if (option->kind == AK_KIND_WHOLE) {
        good = ak_text_int(&whole, text);
        *out = (double)whole;
    } else {
        good = option->kind == AK_KIND_TIME ? ak_text_seconds(out, text) : ak_text_real(out, text);
    }
    if (good && *out >= option->low && *out <= option->high) {
        return AK_OK;
    }
    AK_FAIL_IF(option->kind == AK_KIND_TIME, err, AK_INVALID,
               "%s must be a time such as 90s, 10m or 1.5h (0.1 s to 720 h), not '%.*s'", origin,
               SHOWN_MAX, text);
    return ak_fail(err, AK_INVALID, "%s must be a %s from %.16g to %.16g, not '%.*s'", origin,
                   option->kind == AK_KIND_WHOLE ? "whole number" : "number", option->low,
                   option->high, SHOWN_MAX, text);
}

ak_status ak_args_set(ak_args *args, ak_option_id id, const char *text, const char *origin,
                      ak_error *err)
{
    const ak_option *option = &ak_options_all[id];
    const bool list = id == AK_OPTION_SET || id == AK_OPTION_FIX;
    double number = 0;
    /* --config and --like keep all their values. Of other options the last value counts, as users
       expect, except that with --set and --fix they would expect both values to apply, so a second,
       different value is refused. */
    AK_FAIL_IF(list && strncmp(origin, "--", 2) == 0 && ak_args_typed(args, id) &&
                   strcmp(args->text[id], text) != 0,
               err, AK_INVALID,
               "%s is given twice, as '%.*s' and as '%.*s'; give it once, with "
               "commas between the parts",
               origin, SHOWN_MAX, args->text[id], SHOWN_MAX, text);
    switch (option->kind) {
    case AK_KIND_FLAG:
        if (strcmp(text, "false") == 0 || strcmp(text, "0") == 0) {
            args->text[id] = NULL;
            args->origin[id] = origin;
            return AK_OK;
        }
        AK_FAIL_IF(strcmp(text, "true") != 0 && strcmp(text, "1") != 0, err, AK_INVALID,
                   "%s must be true or false, not '%.*s'", origin, SHOWN_MAX, text);
        break;
    case AK_KIND_WHOLE:
    case AK_KIND_REAL:
    case AK_KIND_TIME:
        AK_DO(read_number(&number, option, text, origin, err));
        break;
    case AK_KIND_CONFIG:
        AK_FAIL_IF(args->config_count == AK_CONFIGS_MAX, err, AK_INVALID,
                   "%s: at most %d configurations at once", origin, AK_CONFIGS_MAX);
        args->config[args->config_count++] = text;
        break;
    case AK_KIND_LIKE:
        AK_FAIL_IF(args->like_count == AK_LIKES_MAX, err, AK_INVALID, "%s: at most %d recordings",
                   origin, AK_LIKES_MAX);
        args->like[args->like_count++] = text;
        break;
    case AK_KIND_TEXT:
        break;
    }
    AK_FAIL_IF(*text == 0, err, AK_INVALID, "%s needs a value: %s", origin, option->value);
    args->text[id] = text;
    args->origin[id] = origin;
    args->number[id] = number;
    return AK_OK;
}

ak_status ak_args_refuse(const ak_args *args, ak_option_set set, const char *why, ak_error *err)
{
    for (size_t i = 0; i < AK_OPTION_COUNT; i++) {
        AK_FAIL_IF((set & AK_O_AT(i)) != 0 && ak_args_typed(args, (ak_option_id)i), err, AK_INVALID,
                   "%s %s; leave it out", args->origin[i], why);
    }
    return AK_OK;
}

/* Writes the options of a set as text: "--llm or --llm-replay". */
static void name_options(char *out, size_t bytes, ak_option_set set)
{
    size_t length = 0;
    for (size_t i = 0; i < AK_OPTION_COUNT && length < bytes; i++) {
        if ((set & AK_O_AT(i)) != 0) {
            length += (size_t)snprintf(out + length, bytes - length, "%s%s",
                                       length == 0 ? "" : " or ", spelled[i]);
        }
    }
}

ak_status ak_args_check_needs(const ak_args *args, const ak_command *command, ak_error *err)
{
    static const struct {
        const char *command;
        ak_option_id id;
        ak_option_set partners;
    } needs[] = {
#define X(command, id, partners) {#command, AK_OPTION_##id, partners},
#include "cli/needs.def"
#undef X
    };
    for (size_t i = 0; i < AK_COUNT(needs); i++) {
        bool met =
            strcmp(needs[i].command, command->name) != 0 || !ak_args_typed(args, needs[i].id);
        for (size_t k = 0; k < AK_OPTION_COUNT && !met; k++) {
            met = (needs[i].partners & AK_O_AT(k)) != 0 && ak_args_has(args, (ak_option_id)k);
        }
        if (!met) {
            char partners[120] = "";
            name_options(partners, sizeof partners, needs[i].partners);
            return ak_fail(err, AK_INVALID, "%s does nothing without %s: add %s, or leave it out",
                           args->origin[needs[i].id], partners, partners);
        }
    }
    return AK_OK;
}

ak_status ak_check_file(const char *path, const char *what, ak_error *err)
{
    struct stat info;
    AK_FAIL_IF(stat(path, &info) != 0, err,
               errno == ENOENT || errno == ENOTDIR ? AK_NOT_FOUND : AK_IO,
               "%.200s: cannot be opened: %s; give %s", path, strerror(errno), what);
    AK_FAIL_IF(S_ISDIR(info.st_mode), err, AK_INVALID, "%.200s is a folder; give %s", path, what);
    AK_FAIL_IF(access(path, R_OK) != 0, err, AK_IO, "%.200s: cannot be read: %s; give %s", path,
               strerror(errno), what);
    return AK_OK;
}

/* Checks the value of an option that names a file. Sizes and configurations name a file only after
   '@', and --like may be "none". A bare '@' is left to the command, which reports it. */
static ak_status check_value(ak_option_id id, const char *value, const char *what, ak_error *err)
{
    bool marked = id == AK_OPTION_SIZES || id == AK_OPTION_CONFIG;
    bool is_path = marked ? value[0] == '@' && value[1] != 0
                          : id != AK_OPTION_LIKE || strcmp(value, "none") != 0;
    return is_path ? ak_check_file(value + (marked ? 1 : 0), what, err) : AK_OK;
}

ak_status ak_args_check_files(const ak_args *args, ak_error *err)
{
    static const struct {
        ak_option_id id;
        const char *what;
    } files[] = {
#define X(id, what) {AK_OPTION_##id, what},
#include "cli/files.def"
#undef X
    };
    for (size_t i = 0; i < AK_COUNT(files); i++) {
        ak_option_id id = files[i].id;
        const char *const *values = id == AK_OPTION_LIKE     ? args->like
                                    : id == AK_OPTION_CONFIG ? args->config
                                                             : &args->text[id];
        size_t count = id == AK_OPTION_LIKE     ? args->like_count
                       : id == AK_OPTION_CONFIG ? args->config_count
                                                : args->text[id] != NULL;
        for (size_t k = 0; k < count; k++) {
            AK_DO(check_value(id, values[k], files[i].what, err));
        }
    }
    return AK_OK;
}

#define NO_KERNEL "the kernel needs no option: 'autokernel %s KERNEL'"
#define OF_RECORDING                                                                               \
    "a recording is of one kernel: 'autokernel export KERNEL --format kernel-tuner --output "      \
    "FILE' "                                                                                       \
    "makes one of an archive of several"
#define NO_KEY                                                                                     \
    "keys are not options: set OPENAI_API_KEY or ANTHROPIC_API_KEY, or give a file of mode 0600 "  \
    "by --llm-key-file"
#define NO_WORDS "--events FILE writes all that happens; 'autokernel report' explains a run"

/* Options that do not exist but that users try, and what to do instead; "%s" is the command. */
static const struct {
    const char *word, *instead;
} explained[] = {
    {"--kernel", NO_KERNEL},
    {"--kernel-name", NO_KERNEL},
    {"--problem", NO_KERNEL},
    {"--api-key", "keys are not options, as they would be seen by everybody on this machine: set "
                  "OPENAI_API_KEY or ANTHROPIC_API_KEY, or give a file of mode 0600 by "
                  "--llm-key-file"},
    {"--key", NO_KEY},
    {"--llm-key", NO_KEY},
    {"--llm-api-key", NO_KEY},
    {"--version", "'autokernel --version' says it"},
    {"--verbose", NO_WORDS},
    {"--debug", NO_WORDS},
    {"-v", "'autokernel --version' says the version; --events FILE writes all that happens"},
};

/* Returns the explanation for `word`, which may be followed by '=' and a value; NULL if there is
   none. */
static const char *explanation(const char *word)
{
    size_t length = strcspn(word, "=");
    for (size_t i = 0; i < AK_COUNT(explained); i++) {
        if (strlen(explained[i].word) == length && memcmp(explained[i].word, word, length) == 0) {
            return explained[i].instead;
        }
    }
    return NULL;
}

/* Refuses an unknown option. The error does not repeat its value, which may be a key. */
static ak_status unknown_option(const ak_command *command, const char *word, ak_error *err)
{
    const char *known[AK_OPTION_COUNT + 1];
    size_t count = 0;
    for (size_t i = 0; i < AK_OPTION_COUNT; i++) {
        if (command->options & AK_O_AT(i)) {
            known[count++] = spelled[i];
        }
    }
    known[count] = NULL;
    char otherwise[80], hint[300], name[SHOWN_MAX + 1];
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    (void)snprintf(otherwise, sizeof otherwise, "see 'autokernel %s --help'", command->name);
    const char *instead = explanation(name);
    if (instead != NULL && strcmp(instead, NO_KERNEL) == 0 &&
        strcmp(command->name, "simulate") == 0) {
        instead = OF_RECORDING;
    }
    if (instead != NULL) {
        const char *blank = strstr(instead, "%s");
        int before = blank == NULL ? (int)strlen(instead) : (int)(blank - instead);
        (void)snprintf(hint, sizeof hint, "%.*s%s%s", before, instead,
                       blank == NULL ? "" : command->name, blank == NULL ? "" : blank + 2);
    } else {
        ak_hint(hint, sizeof hint, name, known, otherwise);
    }
    return ak_fail(err, AK_INVALID, "%s has no option %s; %s", command->name, name, hint);
}

/* Finds the option of `set` that `word` names ("--evals", "--evals=3", "-q"); *value is the text
   after '=' or NULL. */
static bool find_option(ak_option_id *out, const char **value, ak_option_set set, const char *word)
{
    *value = NULL;
    if (word[1] != '-') {
        for (size_t i = 0; i < AK_COUNT(letters); i++) {
            if (word[1] == letters[i].letter && word[2] == 0) {
                *out = letters[i].id;
                return (set & AK_O_AT(*out)) != 0;
            }
        }
        return false;
    }
    size_t length = strcspn(word + 2, "=");
    for (size_t i = 0; i < AK_OPTION_COUNT; i++) {
        const char *name = ak_options_all[i].name;
        if ((set & AK_O_AT(i)) && strlen(name) == length && memcmp(name, word + 2, length) == 0) {
            *out = (ak_option_id)i;
            *value = word[2 + length] == '=' ? word + 3 + length : NULL;
            return true;
        }
    }
    return false;
}

int ak_option_words(const char *word, ak_option_set set)
{
    ak_option_id id;
    const char *value;
    if (word[0] != '-' || !find_option(&id, &value, set, word)) {
        return 0;
    }
    return ak_options_all[id].kind != AK_KIND_FLAG && value == NULL ? 2 : 1;
}

static ak_status take_operand(ak_args *args, const ak_command *command, const char *word,
                              ak_error *err)
{
    AK_FAIL_IF(*word == 0, err, AK_INVALID, "%s: an argument is empty", command->name);
    if (args->operand_count == command->most) {
        AK_FAIL_IF(command->most == 0, err, AK_INVALID, "%s takes no argument, but got '%.*s'",
                   command->name, SHOWN_MAX, word);
        return ak_fail(err, AK_INVALID, "%s takes only %s; leave out '%.*s'", command->name,
                       command->operands, SHOWN_MAX, word);
    }
    args->operand[args->operand_count++] = word;
    return AK_OK;
}

int ak_options_end(int count, char *const *words)
{
    int end = 0;
    while (end < count && strcmp(words[end], "--") != 0) {
        end++;
    }
    return end;
}

static bool wants_help(const ak_command *command, int end, char **argv)
{
    for (int i = 0; i < end && (command->options & AK_O(HELP)); i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return true;
        }
    }
    return false;
}

/* Adds --objective to --set, because the objective is an option that every problem has. */
static ak_status join_objective(ak_args *args, ak_error *err)
{
    const char *objective = args->text[AK_OPTION_OBJECTIVE], *set = args->text[AK_OPTION_SET];
    if (objective == NULL) {
        return AK_OK;
    }
    bool more = set != NULL && set[0] != 0;
    int length = snprintf(args->set, sizeof args->set, "%s%sobjective=%s", more ? set : "",
                          more ? "," : "", objective);
    AK_FAIL_IF(length < 0 || (size_t)length >= sizeof args->set, err, AK_LIMIT,
               "--set and --objective are longer than %zu bytes together", sizeof args->set - 1);
    AK_FAIL_IF(strchr(objective, ',') != NULL, err, AK_INVALID,
               "--objective %.80s: must have no comma; write \"A if A < B else B\" for "
               "min(A, B)",
               objective);
    args->text[AK_OPTION_SET] = args->set;
    args->origin[AK_OPTION_SET] = "--objective";
    return AK_OK;
}

ak_status ak_args_parse(ak_args *out, const ak_command *command, int argc, char **argv,
                        ak_error *err)
{
    *out = (ak_args){.words = argv, .word_count = argc};
    const int end = ak_options_end(argc, argv);
    if (wants_help(command, end, argv)) {
        return ak_args_set(out, AK_OPTION_HELP, "true", "--help", err);
    }
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i], *value;
        ak_option_id id;
        ak_status status;
        if (i > end || word[0] != '-' || word[1] == 0) {
            status = take_operand(out, command, word, err);
        } else if (i == end) {
            continue;
        } else if (!find_option(&id, &value, command->options, word)) {
            status = unknown_option(command, word, err);
        } else {
            const ak_option *option = &ak_options_all[id];
            if (option->kind == AK_KIND_FLAG) {
                value = value == NULL ? "true" : value;
            } else if (value == NULL) {
                AK_FAIL_IF(i + 1 == argc || strncmp(argv[i + 1], "--", 2) == 0, err, AK_INVALID,
                           "%s needs a value: %s %s", spelled[id], spelled[id], option->value);
                value = argv[++i];
            }
            status = ak_args_set(out, id, value, spelled[id], err);
        }
        if (status != AK_OK) {
            return status;
        }
    }
    AK_FAIL_IF(out->operand_count < command->least, err, AK_INVALID,
               "%s needs %s; see 'autokernel %s --help'", command->name, command->operands,
               command->name);
    return join_objective(out, err);
}

int ak_verb_run(const ak_verb *verbs, size_t count, const ak_args *args, const char *refusal,
                const char *fallback, ak_error *err)
{
    const char *names[16] = {NULL}, *word = args->operand[0];
    assert(count < AK_COUNT(names));
    for (size_t i = 0; i < count; i++) {
        names[i] = verbs[i].name;
        if (strcmp(verbs[i].name, word) == 0) {
            return verbs[i].run(args, err);
        }
    }
    char hint[120];
    ak_hint(hint, sizeof hint, word, names, fallback);
    (void)ak_fail(err, AK_INVALID, "%s '%.80s'; %s", refusal, word, hint);
    return ak_complain_error(err);
}

#define FORMATS_MAX 32

typedef struct names {
    const char *at[FORMATS_MAX + 1];
    size_t count;
} names;

static void add(void *context, const char *name, const char *description)
{
    (void)description;
    names *n = context;
    if (n->count < FORMATS_MAX) {
        n->at[n->count++] = name; /* a text of the library's static table */
    }
}

static bool same(const char *a, const char *b)
{
    for (; *a != 0 && (*a == '_' ? '-' : *a) == (*b == '_' ? '-' : *b); a++) {
        b++;
    }
    return *a == 0 && *b == 0;
}

ak_status ak_format_named(const char **out, const char *name, ak_error *err)
{
    names known = {0};
    char hint[120];
    AK_DO(ak_list(AK_LIST_FORMATS, add, &known, err));
    for (size_t i = 0; i < known.count; i++) {
        if (same(known.at[i], name)) {
            *out = known.at[i];
            return AK_OK;
        }
    }
    ak_hint(hint, sizeof hint, name, known.at, "'autokernel list' shows them");
    return ak_fail(err, AK_INVALID, "there is no format '%.60s'; %s", name, hint);
}
