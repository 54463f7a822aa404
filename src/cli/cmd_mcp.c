/* cmd_mcp.c: starts the server of the Model Context Protocol, for coding agents (mcp.h). */
#include <math.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/mcp.h"
#include "cli/options.h"

#define EVALUATIONS_DEFAULT 60

static ak_status allow(ak_mcp *mcp, const char *operand, ak_error *err)
{
    AK_AT_END(ak_mcp_opened_close) ak_mcp_opened opened = {0};
    AK_DO(ak_mcp_open(&opened, mcp, operand, err));
    const char *name = ak_problem_name(opened.problem);
    const size_t at = AK_FIND(mcp->kernels, mcp->kernel_count, name, name);
    AK_FAIL_IF(at < mcp->kernel_count, err, AK_INVALID, "%.200s and %.200s are both called %.60s",
               mcp->kernels[at].operand, operand, name);
    mcp->kernels[mcp->kernel_count].operand = operand;
    AK_DO(ak_copy_text(&mcp->kernels[mcp->kernel_count].name, name, err));
    mcp->kernel_count++;
    return AK_OK;
}

static void allow_builtin(void *context, const char *name, const char *description)
{
    ak_mcp *mcp = context;
    (void)description;
    if (mcp->kernel_count < AK_OPERANDS_MAX) {
        mcp->kernels[mcp->kernel_count].operand = mcp->kernels[mcp->kernel_count].name =
            ak_strdup(name);
        mcp->kernel_count += mcp->kernels[mcp->kernel_count].name != NULL;
    }
}

static ak_status prepare(ak_mcp *mcp, ak_error *err)
{
    const ak_args *args = mcp->args;
    bool timed = ak_args_has(args, AK_OPTION_TIME);
    mcp->evaluations_max =
        (size_t)ak_args_number(args, AK_OPTION_EVALS, timed ? 0 : EVALUATIONS_DEFAULT);
    mcp->spend_max_ns = llround(ak_args_number(args, AK_OPTION_TIME, 0) * (double)AK_SECOND_NS);
    if (args->operand_count == 0) {
        AK_DO(ak_list(AK_LIST_KERNELS, allow_builtin, mcp, err));
    }
    for (size_t i = 0; i < args->operand_count; i++) {
        AK_DO(allow(mcp, args->operand[i], err));
    }
    AK_DO(ak_archive_open(&mcp->archive, args->text[AK_OPTION_ARCHIVE], err));
    return ak_mcp_link_open(&mcp->link, err);
}

static int run(const ak_args *args, ak_error *err)
{
    ak_mcp mcp = {.args = args};
    const json_t *message;
    ak_catch_interrupts();
    ak_status status = prepare(&mcp, err);
    while (status == AK_OK && (message = ak_mcp_link_take(mcp.link)) != NULL) {
        ak_mcp_link_send(mcp.link, ak_mcp_answer(&mcp, message));
    }
    ak_mcp_link_close(mcp.link);
    ak_archive_close(mcp.archive);
    for (size_t i = 0; i < mcp.kernel_count; i++) {
        ak_free(mcp.kernels[i].name);
    }
    return status == AK_OK ? AK_EXIT_DONE : ak_complain_error(err);
}

const ak_command ak_cmd_mcp = {
    .name = "mcp",
    .summary = "serve coding agents: the Model Context Protocol on standard input and output",
    .operands = "[KERNEL...]",
    .most = AK_OPERANDS_MAX,
    .options = AK_O(DEVICE) | AK_O(ALLOW_NUMERICS) | AK_O(LIBRARIES) | AK_O(PROTOCOL) | AK_O_RUN |
               AK_O(EVALS) | AK_O(TIME) | AK_O(ARCHIVE) | AK_O(HELP),
    .about =
        "A coding agent starts this command and gets tools to look at spaces, to check and\n"
        "measure configurations and to read what was found. It may use the KERNELs that are\n"
        "named, or the built-in ones if none is. It may measure --evals configurations in all\n"
        "(default 60, or no limit with --time) and spend --time on measuring. The results are\n"
        "archived. docs/mcp.md describes the tools and how to add the command to an agent.",
    .examples = "  autokernel mcp\n"
                "  autokernel mcp matmul softmax --evals 200 --time 1h\n",
    .run = run,
};
