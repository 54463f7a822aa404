/* cmd_serve.c: starts the dashboard. */
#include "base/fs.h"
#include "cli/options.h"
#include "cli/task_args.h"

#define PORT_DEFAULT 8017

static void tell(void *context, const char *url)
{
    (void)context;
    ak_out("the dashboard is at %s (Ctrl-C ends it)\n", url);
    (void)fflush(stdout);
}

static int run(const ak_args *args, ak_error *err)
{
    const ak_serve_options options = {
        .archive = args->text[AK_OPTION_ARCHIVE],
        .address = args->text[AK_OPTION_LISTEN],
        .port = (unsigned)ak_args_number(args, AK_OPTION_PORT, PORT_DEFAULT),
        .token_file = args->text[AK_OPTION_TOKEN_FILE],
        .ready = tell,
        .cancel = &ak_interrupted,
    };
    if (ak_args_typed(args, AK_OPTION_ARCHIVE) && !ak_fs_is_file(options.archive)) {
        ak_warn("%s: there is no such archive yet; runs are shown when one is written there",
                options.archive);
    }
    ak_catch_interrupts();
    return ak_serve(&options, err) == AK_OK ? AK_EXIT_DONE : ak_complain_error(err);
}

const ak_command ak_cmd_serve = {
    .name = "serve",
    .summary = "show the runs of the archive in a browser, live",
    .operands = "",
    .options = AK_O(PORT) | AK_O(LISTEN) | AK_O(TOKEN_FILE) | AK_O(ARCHIVE) | AK_O(HELP),
    .about =
        "Shows the runs of the archive, each as the page of 'report --format html', and brings\n"
        "them up to date while runs go on. It only reads the archive. Open http://127.0.0.1:8017\n"
        "in a browser, or the port that --port names; Ctrl-C ends it. It answers this machine\n"
        "alone unless --listen names another address, which needs --token-file: a file of mode\n"
        "0600. Its first line is the token: http://ADDRESS:PORT/?token=TOKEN opens the dashboard.\n"
        "The server needs libmicrohttpd, which is loaded when it starts.",
    .examples = "  autokernel serve\n"
                "  autokernel serve --port 8080 --archive runs.db\n",
    .run = run,
};
