/* cmd_worker.c: the child processes that compile, check and time candidates. Started by the
   library, never by people, and so without options, settings or help. */
#include "cli/command.h"
#include "cli/output.h"

static int run_worker(int argc, char **argv)
{
    int code = ak_worker_main(argc, argv);
    if (code == AK_EXIT_USAGE) {
        ak_complain(
            "worker is started by the other commands, never by people; 'autokernel help' lists "
            "what is");
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
