/*
 * mcp.h: what the source files of the Model Context Protocol server share.
 *
 *   mcp_rpc        lines and messages (JSON-RPC); no input or output of its own
 *   mcp_link       standard input and output, cancellation, deadlines
 *   mcp_schema     checks arguments against the JSON Schema that the client was shown
 *   mcp            the life of a session, and the table of methods
 *   mcp_tools      the table of tools: a tool is one function and one line there
 *   mcp_look, mcp_measure, mcp_archive    the tools
 *   mcp_words      turns messages for the command line into messages for a client
 *   mcp_resources  files that a client may read
 *
 * The user who starts the server decides what is allowed: which kernels, device and archive, how
 * many configurations, how long. The client only chooses within these limits.
 */
#ifndef AK_CLI_MCP_H
#define AK_CLI_MCP_H

#include "cli/mcp_link.h"
#include "cli/task_args.h"

/* A kernel that the client may use. */
typedef struct ak_mcp_kernel {
    char *name;          /* name that the client uses */
    const char *operand; /* operand of the command line, or `name` for a built-in kernel */
} ak_mcp_kernel;

typedef struct ak_mcp {
    const ak_args *args; /* arguments of the command line */
    ak_mcp_kernel kernels[AK_OPERANDS_MAX];
    size_t kernel_count;
    ak_mcp_link *link;
    ak_archive *archive;
    const char *revision;                /* revision of the protocol: that of the session or, while
                                            a request is run that names its own, that one; NULL:
                                            before initialize */
    bool ready;                          /* the client has sent notifications/initialized, or the
                                            request that is run names its revision */
    size_t evaluations, evaluations_max; /* configurations measured, but not those for which the
                                            tool measure took the time of the same code; max 0: no
                                            limit */
    int64_t spent_ns, spend_max_ns;      /* time spent in measuring; max 0: no limit */
} ak_mcp;

/* One call of a tool. */
typedef struct ak_mcp_call {
    ak_mcp *mcp;
    const json_t *arguments; /* an object that fits the tool's schema */
    const json_t *token;     /* progress token; NULL: the client wants no progress */
    json_t *result;          /* the structured content, an empty object at first */
    ak_buf text;             /* the result in short, as text for a reader; empty at first */
} ak_mcp_call;

typedef struct ak_mcp_tool {
    const char *name; /* mcp_tools.json describes it: "task", whether it takes the arguments that
                         name a task (kernel, size, ...); "reads", whether it changes nothing; the
                         properties of its own "arguments", and those of its "result" */
    ak_status (*run)(ak_mcp_call *call, ak_error *err);
} ak_mcp_tool;

extern const ak_mcp_tool ak_mcp_tools[];
extern const size_t ak_mcp_tool_count;

/* Appends a message written for the command line, with commands replaced by tools and options by
   their arguments: "the tool history" for "'autokernel history matmul'". */
void ak_mcp_words(ak_buf *out, const char *text);
/* Replaces commands and options in the text of an error as ak_mcp_words does. */
void ak_mcp_restate(ak_error *err);

ak_status ak_mcp_list_kernels(ak_mcp_call *call, ak_error *err);
ak_status ak_mcp_describe_space(ak_mcp_call *call, ak_error *err);
ak_status ak_mcp_facts(ak_mcp_call *call, ak_error *err);
ak_status ak_mcp_measure(ak_mcp_call *call, ak_error *err);
ak_status ak_mcp_compare(ak_mcp_call *call, ak_error *err);
ak_status ak_mcp_history(ak_mcp_call *call, ak_error *err);
ak_status ak_mcp_best(ak_mcp_call *call, ak_error *err);
ak_status ak_mcp_report(ak_mcp_call *call, ak_error *err);
ak_status ak_mcp_export(ak_mcp_call *call, ak_error *err);

/* The opened problem of a kernel, which `own` or `task` owns: a recording has a problem only as
   part of its task. */
typedef struct ak_mcp_opened {
    const ak_problem *problem;
    ak_problem *own;
    ak_task *task;
} ak_mcp_opened;
ak_status ak_mcp_open(ak_mcp_opened *out, const ak_mcp *mcp, const char *operand, ak_error *err);
void ak_mcp_opened_close(ak_mcp_opened *opened);

/* Returns how much of the limits on configurations and time is left, as results report it. */
json_t *ak_mcp_budget(const ak_mcp *mcp);

/* Return a tool's object in tools/list, and the schema of its arguments; NULL: no memory. */
json_t *ak_mcp_tool_json(const ak_mcp_tool *tool, const ak_mcp *mcp);
json_t *ak_mcp_input_schema(const ak_mcp_tool *tool, const ak_mcp *mcp);
/* Returns AK_INVALID if the value does not fit the schema; `where` names it in the error. */
ak_status ak_mcp_check(const json_t *schema, const json_t *value, const char *where, ak_error *err);

/* Turns the arguments of a call into ak_args: the kernel becomes the operand, and the arguments
   that name the task become options. *out borrows its texts from the call and from the server's
   arguments; it has no operand if the call names no kernel. */
ak_status ak_mcp_args(ak_args *out, const ak_mcp_call *call, ak_error *err);
/* Returns the argument `key` if it is given and a text, else `fallback`. */
const char *ak_mcp_text(const ak_mcp_call *call, const char *key, const char *fallback);
/* Writes a configuration such as {"UNROLL": 4} as text, "UNROLL=4"; a text is copied. Free with
   ak_free. */
ak_status ak_mcp_config_text(char **out, const json_t *value, ak_error *err);
/* Sets the result's "warnings" to a list of sentences, and adds them to the text. The caller keeps
   its reference to the list. */
ak_status ak_mcp_warn(ak_mcp_call *call, json_t *list, ak_error *err);
/* Sets the result's "warnings" to what ak_task_ignored, ak_task_unused and ak_default_sizes find,
   and adds it to the text. */
ak_status ak_mcp_warnings(ak_mcp_call *call, const ak_task *task, const ak_args *args,
                          ak_error *err);
/* Adds a warning, as ak_mcp_words restates it, to the result's "warnings", which must exist, and to
   the text. */
ak_status ak_mcp_warn_also(ak_mcp_call *call, const char *text, ak_error *err);
/* Reads a configuration from an argument: an object, a text, "default", or a trial's id, "#5". NULL
   and "" are the default. */
ak_status ak_mcp_config(ak_config *out, const json_t *value, const ak_args *args,
                        const ak_task *task, ak_error *err);
/* Write a trial as a JSON object, without the members that a client does not need, and as one line
   of text. ak_mcp_trial_json returns NULL if there is no memory. */
json_t *ak_mcp_trial_json(const ak_trial *trial);
void ak_mcp_trial_line(ak_buf *out, const ak_trial *trial);

/* Returns the result of resources/list; NULL: no memory. */
json_t *ak_mcp_resources(const ak_mcp *mcp);
/* Gives the result of resources/read. Returns AK_NOT_FOUND if there is no such resource. */
ak_status ak_mcp_resource(json_t **out, const ak_mcp *mcp, const char *uri, ak_error *err);

/* Handles one message or batch and returns the reply, or NULL if there is none. */
json_t *ak_mcp_answer(ak_mcp *mcp, const json_t *value);

#endif
