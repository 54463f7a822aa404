/*
 * command.h: describes a command of the command line.
 *
 * A command is one file, cmd_<name>.c, that defines `const ak_command ak_cmd_<name>`, and one line
 * in commands.def. It selects its options from the list in options.def; parsing, settings, help and
 * messages about mistakes are shared by all commands except `worker`, which is raw.
 */
#ifndef AK_CLI_COMMAND_H
#define AK_CLI_COMMAND_H

#include "base/json.h"

typedef enum ak_option_kind {
    AK_KIND_FLAG,
    AK_KIND_TEXT,
    AK_KIND_WHOLE,
    AK_KIND_REAL,
    AK_KIND_TIME,   /* in seconds */
    AK_KIND_CONFIG, /* a text; the option may be repeated and is kept in ak_args.config */
    AK_KIND_LIKE    /* a text; the option may be repeated and is kept in ak_args.like */
} ak_option_kind;

typedef enum ak_option_id {
#define X(id, name, kind, low, high, value, setting, help) AK_OPTION_##id,
#include "cli/options.def"
#undef X
    AK_OPTION_COUNT
} ak_option_id;

typedef struct ak_option {
    const char *name; /* without the dashes */
    ak_option_kind kind;
    double low, high;
    const char *value; /* the placeholder in help: "FILE"; "" for a flag */
    bool setting;
    const char *help;
} ak_option;

extern const ak_option ak_options_all[AK_OPTION_COUNT];

/* Sets of options: bits by ak_option_id. */
__extension__ typedef unsigned __int128 ak_option_set;
_Static_assert(AK_OPTION_COUNT <= 128, "an option has a bit in ak_option_set");
#define AK_O_AT(id) ((ak_option_set)1 << (id))
#define AK_O(id)    AK_O_AT(AK_OPTION_##id)
#define AK_O_TASK                                                                                  \
    (AK_O(DEVICE) | AK_O(IMPL) | AK_O(SIZE) | AK_O(DTYPE) | AK_O(SET) | AK_O(FIX) |                \
     AK_O(ALLOW_NUMERICS) | AK_O(OBJECTIVE))
#define AK_O_RUN (AK_O(THREADS) | AK_O(SEED) | AK_O(LAUNCHER) | AK_O(WORKERS))
#define AK_O_LLM                                                                                   \
    (AK_O(LLM) | AK_O(LLM_URL) | AK_O(LLM_EFFORT) | AK_O(LLM_BUDGET) | AK_O(LLM_TIMEOUT) |         \
     AK_O(LLM_OUTPUT) | AK_O(LLM_TOKENS) | AK_O(LLM_CALLS) | AK_O(LLM_SHARE) |                     \
     AK_O(LLM_KEY_FILE) | AK_O(LLM_PRICES) | AK_O(LLM_RECORD) | AK_O(LLM_REPLAY))
#define AK_O_FILTER                                                                                \
    (AK_O(RUN) | AK_O(DEVICE) | AK_O(IMPL) | AK_O(SIZE) | AK_O(DTYPE) | AK_O(SET) |                \
     AK_O(OBJECTIVE) | AK_O(ARCHIVE))

#define AK_OPERANDS_MAX 64   /* operands of `simulate` and `mcp` */
#define AK_FILES_MAX    4096 /* operands of `import`; no command takes more */
#define AK_CONFIGS_MAX  64   /* configurations of --config; more would be a search */

#define AK_LIKES_MAX 16
#define AK_SET_BYTES 4096 /* bytes of --set and --objective together */

/* The parsed command line. Texts are borrowed from argv, the environment and the settings. */
typedef struct ak_args {
    const char *operand[AK_FILES_MAX + 1]; /* NULL past the end */
    size_t operand_count;
    const char *text[AK_OPTION_COUNT];   /* NULL: not given, or a flag set to false */
    const char *origin[AK_OPTION_COUNT]; /* "--evals", "AUTOKERNEL_EVALS", a file; NULL: default */
    double number[AK_OPTION_COUNT];
    const char *config[AK_CONFIGS_MAX];
    size_t config_count;
    const char *like[AK_LIKES_MAX];
    size_t like_count;
    char set[AK_SET_BYTES]; /* memory for text[AK_OPTION_SET], which joins --set and --objective */
    char **words;           /* what was typed after the command's name */
    int word_count;
} ak_args;

typedef struct ak_command {
    const char *name;
    const char *summary;  /* one line */
    const char *operands; /* as help shows them: "KERNEL", "[KERNEL]", "show|verify FILE" or "" */
    size_t least, most;   /* number of operands */
    ak_option_set options;
    const char *about;    /* paragraphs of help */
    const char *examples; /* lines that work as written */
    bool hidden;
    bool raw; /* argc and argv are passed unparsed to `main` */
    /* Returns the exit code, and has said an error; NULL if `raw`. */
    int (*run)(const ak_args *args, ak_error *err);
    int (*main)(int argc, char **argv);
} ak_command;

/* All commands; the last element is NULL. */
extern const ak_command *const ak_commands[];
const ak_command *ak_command_find(const char *name); /* NULL if there is none */
/* Writes what to do about a name that no command has that is not hidden. */
void ak_command_hint(char *out, size_t bytes, const char *name);

/* Print help, made from the tables of commands and options (help.c). */
void ak_help_overview(void);
void ak_help_command(const ak_command *command);

/* The manual page and the completions of shells, made from these tables too (manual.c). */
typedef struct ak_manual {
    const char *name; /* name of the format: "man", "bash", "zsh", "fish" */
    void (*write)(ak_buf *out);
} ak_manual;

extern const ak_manual ak_manuals[];
extern const size_t ak_manual_count;

/* Prints the report of the run `a` (NULL: the latest run that was not imported or, without one, the
   latest) or writes it to --output. If `b` is not NULL, the report compares both runs; with
   `versions`, it compares the kernel's versions in the runs of the same task. Also reads --format,
   --archive and --json. Returns the exit code. */
int ak_reported(const ak_args *args, const char *a, const char *b, bool versions, ak_error *err);

#endif
