/* main.c: finds the command, reads options and settings, runs the command, and reports a failed
   write to standard output. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/proc.h"
#include "base/program.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/settings.h"

#define X(name) extern const ak_command ak_cmd_##name;
#include "cli/commands.def"
#undef X

const ak_command *const ak_commands[] = {
#define X(name) &ak_cmd_##name,
#include "cli/commands.def"
#undef X
    NULL};

const ak_command *ak_command_find(const char *name)
{
    for (size_t i = 0; ak_commands[i] != NULL; i++) {
        if (strcmp(ak_commands[i]->name, name) == 0) {
            return ak_commands[i];
        }
    }
    return NULL;
}

void ak_command_hint(char *out, size_t bytes, const char *name)
{
    const char *names[AK_COUNT(ak_commands)] = {NULL};
    for (size_t i = 0, count = 0; ak_commands[i] != NULL; i++) {
        if (!ak_commands[i]->hidden) {
            names[count++] = ak_commands[i]->name;
        }
    }
    ak_hint(out, bytes, name, names, "'autokernel help' lists them");
}

/* Opens closed standard streams on /dev/null. Otherwise a file that is opened later would get the
   number of one of them, and messages would be written into that file. */
static void hold_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            (void)open("/dev/null", O_RDONLY); /* read-only: writing to it must fail */
        }
    }
}

static int unknown_command(const char *word)
{
    ak_error err = AK_ERROR_INIT;
    char hint[120];
    ak_command_hint(hint, sizeof hint, word);
    if (word[0] == '-') {
        (void)ak_fail(&err, AK_INVALID,
                      "the command comes first, then its options: 'autokernel COMMAND %.80s'",
                      word);
    } else {
        (void)ak_fail(&err, AK_INVALID, "there is no command '%.80s'; %s", word, hint);
    }
    return ak_complain_error(&err);
}

/* Warns of unknown AUTOKERNEL_ variables that resemble a setting, except in `doctor`, which lists
   all unknown ones. */
static void warn_of_misspelled(const ak_command *command)
{
    json_auto_t *unknown = ak_settings_unknown();
    AK_EACH(name, unknown) {
        char meant[120];
        if (ak_settings_meant(meant, sizeof meant, json_string_value(name)) &&
            strcmp(command->name, "doctor") != 0) {
            ak_warn("the variable %s means nothing; did you mean %s?", json_string_value(name),
                    meant);
        }
    }
}

static int run_command(const ak_command *command, int argc, char **argv)
{
    ak_error error = AK_ERROR_INIT, *err = &error;
    ak_args args;
    AK_AT_END(ak_settings_close) ak_settings settings = {0};
    AK_OR_COMPLAIN(ak_args_parse(&args, command, argc, argv, err));
    if (ak_args_has(&args, AK_OPTION_HELP)) {
        ak_help_command(command);
        return AK_EXIT_DONE;
    }
    AK_OR_COMPLAIN(ak_settings_open(&settings, err));
    ak_out_settings(&args);
    warn_of_misspelled(command);
    int code = ak_settings_apply(&args, command, &settings, err) == AK_OK &&
                       ak_args_check_needs(&args, command, err) == AK_OK &&
                       ak_args_check_files(&args, err) == AK_OK
                   ? command->run(&args, err)
                   : ak_complain_error(err);
    ak_out_settings(NULL);
    return code;
}

/* Makes this executable the worker, whatever its name, unless the user has set
   AUTOKERNEL_WORKER. */
static void name_worker(void)
{
    char path[AK_PATH_MAX];
    if (ak_env("AUTOKERNEL_WORKER") == NULL && ak_program_self(path)) {
        (void)setenv("AUTOKERNEL_WORKER", path, 1);
    }
}

/* Limit on the stack, in KiB, below which commands do not begin: many functions have buffers of 40
   to 80 KiB, so with less a command could end by a segmentation fault in the middle of its work.
   With 200 KiB `tune` did. */
#define STACK_LEAST 512

/* Returns whether the stack may be as large as commands need. If not, says so. */
static bool has_stack(void)
{
    struct rlimit stack;
    if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur == RLIM_INFINITY ||
        stack.rlim_cur >= STACK_LEAST * 1024) {
        return true;
    }
    (void)fprintf(stderr,
                  "autokernel: the stack is limited to %llu KiB (ulimit -s), and needs %d: 'ulimit "
                  "-s 8192' sets the usual limit\n",
                  (unsigned long long)stack.rlim_cur / 1024, STACK_LEAST);
    return false;
}

/* Finds and runs the command. It is not inlined, so that main itself needs little stack and can
   refuse a small one. */
static __attribute__((noinline)) int start(int argc, char **argv)
{
    hold_standard_streams();
    ak_proc_own_program();
    name_worker();
    ak_out_started_as(argc > 0 ? argv[0] : "");
    const char *word = argc > 1 ? argv[1] : NULL;
    if (word == NULL) {
        ak_complain("which command? 'autokernel help' lists them, 'autokernel tune matmul' is a "
                    "good first one");
        return AK_EXIT_USAGE;
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        ak_out("autokernel %s\n", ak_version());
        return ak_out_end(AK_EXIT_DONE);
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        word = "help";
    }
    const ak_command *command = ak_command_find(word);
    if (command == NULL) {
        return unknown_command(word);
    }
    return command->raw ? command->main(argc, argv)
                        : ak_out_end(run_command(command, argc - 2, argv + 2));
}

int main(int argc, char **argv)
{
    return has_stack() ? start(argc, argv) : AK_EXIT_USAGE;
}
