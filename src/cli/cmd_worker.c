/* cmd_worker.c: is what the library's child processes run; worker.c lists their roles. Users do not
   start it, so it has no help and no settings, and ak_worker_main reads its arguments. */
#include "cli/command.h"
#include "cli/output.h"

static int run_worker(int argc, char **argv)
{
    int code = ak_worker_main(argc, argv);
    if (code == AK_EXIT_USAGE) {
        ak_complain(
            "the other commands start worker; people use one of those that 'autokernel help' "
            "lists");
    }
    return code;
}

const ak_command ak_cmd_worker = {
    .name = "worker",
    .summary = "a child process of the others",
    .operands = "",
    .about = "",
    .examples = "",
    .hidden = true,
    .raw = true,
    .main = run_worker,
};
