/*
 * script.h: runs one of our scripts in a Python process, which runs script.py before it. Requests
 * are JSON objects, one a line, on its descriptor 3; each gets one reply on its descriptor 4:
 * {"ok": true, ...}, or {"ok": false, "error": one line}. Only a baseline in Python (own.c) also
 * gets empty lines, and answers each by an empty line.
 */
#ifndef AK_BACKEND_SCRIPT_H
#define AK_BACKEND_SCRIPT_H

#include "backend/reads.h"
#include "base/json.h"
#include "base/proc.h"

#define AK_SCRIPT_REPLY_MAX (64u << 10)
/* Limit for asking the interpreter about itself (ak_script_find). */
#define AK_SCRIPT_FIND_NS (20 * AK_SECOND_NS)
/* Limit for the first reply of a script, until which Python starts and imports what it needs:
   Triton takes 0.3 to 2 s and PyTorch seconds, and all much longer from a cold disk on a busy
   machine. */
#define AK_SCRIPT_OPEN_NS (120 * AK_SECOND_NS)

typedef struct ak_script {
    const char *who; /* for messages: "PyTorch's process" */
    ak_proc proc;
    ak_buf held; /* an incomplete line of its replies */
} ak_script;

/* Returns the interpreter that the user wants: AUTOKERNEL_PYTHON, else "python3". */
const char *ak_script_python(void);

/* Returns an object that says what references and baselines in Python find: "interpreter",
   "version" and "numpy", and as "missing" why they do not work; also the versions "triton" and
   "torch". "missing" is null if they work; another member is null if it is not known or not
   installed. The caller owns the object; NULL: no memory. */
json_t *ak_script_doctor(void);

/* The interpreter and what it reads besides what every program reads: its prefix, the prefix of the
   Python behind a virtual environment, the user's packages, the standard library, two folders of
   packages, and libpython. The interpreter itself is asked for them, because the configured program
   may be a script that chooses an interpreter. */
#define AK_SCRIPT_PATHS 8
typedef struct ak_script_home {
    char *path[AK_SCRIPT_PATHS]; /* the interpreter first */
    char *text;                  /* owns the text of all paths */
} ak_script_home;
/* Asks the interpreter for its paths. Returns AK_UNAVAILABLE if there is none, with a message that
   names `who` as what needs it, or if it cannot be run. */
ak_status ak_script_find(ak_script_home *out, const char *who, ak_error *err);
void ak_script_home_clear(ak_script_home *home);
/* Adds these paths to a list of what a confined process may read. */
void ak_script_reads(ak_reads *reads, const ak_script_home *home);

typedef struct ak_script_spec {
    const char *asset; /* the script, which the executable carries */
    const char *who;
    const char *purpose;  /* what needs Python, for messages: "a Triton kernel" */
    const char *folder;   /* for temporary files, the only one that a confined process writes to;
                             "": none; NULL: none, and the environment stays as it is, without
                             `variable` */
    const char *variable; /* "NAME=value" for its environment; NULL: none */
    bool keep_files;      /* as in ak_proc_spec */
    bool may_start;       /* a confined process may start others */
} ak_script_spec;
/* Starts the user's interpreter with a script. If `reads` is not NULL, confines it to reading these
   paths, to which this function adds the interpreter's own. After a failure nothing has to be
   ended. */
ak_status ak_script_start(ak_script *out, const ak_script_spec *spec, ak_reads *reads,
                          ak_error *err);
/* Sends a message, whose reference it takes over, and gives the reply if that reports success; the
   caller owns the reply. Returns AK_INVALID, with the script's own text, for a reply that reports
   an error; the process then goes on. After any other failure the process has been ended, and every
   later message fails at once: AK_CRASHED if it ended by itself, had ended before, or sent a reply
   that is not of the form above; AK_TIMED_OUT; AK_LIMIT for too long a reply. */
ak_status ak_script_ask(json_t **out, ak_script *script, json_t *message, int64_t timeout_ns,
                        ak_error *err);
/* Ends the process; does nothing if it has ended. */
void ak_script_end(ak_script *script);

#endif
