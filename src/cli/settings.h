/*
 * settings.h: reads options that are set once for all commands.
 *
 * Such options are set in the environment (AUTOKERNEL_EVALS), by the project (autokernel.json in
 * the current folder) or by the user (autokernel/config.json under XDG_CONFIG_HOME or, if that
 * variable is not set to an absolute path, under ~/.config). The first of command line,
 * environment, project and user wins. Files are objects whose keys are the options with '_' for
 * '-': {"device": "host", "time": "10m"}. Unknown keys are refused, and so are keys of a project
 * that only the user may set, such as "llm", and paths of a project that may lead out of its
 * folder.
 */
#ifndef AK_CLI_SETTINGS_H
#define AK_CLI_SETTINGS_H

#include "base/fs.h"
#include "cli/command.h"

typedef struct ak_settings {
    char project[AK_PATH_MAX], user[AK_PATH_MAX]; /* paths of the files, existing or not; `user` is
                                                     "" if no folder of the user is known */
    bool has_project, has_user;
    json_t *documents[2];
    struct {
        const char *text;   /* NULL: not set */
        const char *origin; /* "AUTOKERNEL_EVALS", or a file and its key; for messages */
    } at[AK_OPTION_COUNT];
    struct ak_arena *arena;
} ak_settings;

/* Reads and checks all settings. */
ak_status ak_settings_open(ak_settings *out, ak_error *err);
void ak_settings_close(ak_settings *settings);
/* Fills in the options that the command takes and the command line does not give. */
ak_status ak_settings_apply(ak_args *args, const ak_command *command, const ak_settings *settings,
                            ak_error *err);
/* Returns [{"name", "value", "from"}] for every setting; "from" is "default" if it is not set. */
json_t *ak_settings_json(const ak_settings *settings);
/* Returns the names of AUTOKERNEL_ variables that nothing reads, most of them misspelled; names of
   64 bytes or more are left out. */
json_t *ak_settings_unknown(void);

/* Writes the setting's variable that `name`, which begins with AUTOKERNEL_, resembles most. Returns
   false if it resembles none: it may then be a variable of the user's own. */
bool ak_settings_meant(char *out, size_t bytes, const char *name);

#endif
