/*
 * settings.h: options that may be given once for all: in the environment (AUTOKERNEL_EVALS), in the
 * project (autokernel.json in the current folder) or by the user (config.json in the folder
 * autokernel under XDG_CONFIG_HOME). The first of command line, environment, project, user wins.
 * Files are objects whose keys are the options with '_' for '-': {"device": "host", "time": "10m"}.
 * Unknown keys are refused.
 */
#ifndef AK_CLI_SETTINGS_H
#define AK_CLI_SETTINGS_H

#include "base/fs.h"
#include "cli/command.h"

typedef struct ak_settings {
    char project[AK_PATH_MAX], user[AK_PATH_MAX]; /* the files, there or not */
    bool has_project, has_user;
    json_t *documents[2];
    struct {
        const char *text;   /* NULL: not set */
        const char *origin; /* "AUTOKERNEL_EVALS" or a message's name for a member of a file */
    } at[AK_OPTION_COUNT];
    struct ak_arena *arena;
} ak_settings;

/* Reads and checks all of them. */
ak_status ak_settings_open(ak_settings *out, ak_error *err);
void ak_settings_close(ak_settings *settings);
/* Gives the arguments what the command takes and the command line left open. */
ak_status ak_settings_apply(ak_args *args, const ak_command *command, const ak_settings *settings,
                            ak_error *err);
/* [{"name", "value", "from"}], every setting there is; "from" is "default" where none is made. */
json_t *ak_settings_json(const ak_settings *settings);
/* AUTOKERNEL_ variables that mean nothing, most likely misspelled: an array of names. */
json_t *ak_settings_unknown(void);

#endif
