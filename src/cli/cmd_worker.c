/* cmd_worker.c: runs a child process that compiles, checks or times candidates. Only the library
   starts it, so the command has no options, settings or help. */
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
