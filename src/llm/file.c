/*
 * file.c: lets a person, or a program of the user's, answer the questions to a model. Each question
 * becomes a file in a folder, NNNN.prompt.md, and the answer is read from NNNN.reply.json beside
 * it.
 *
 * A prompt is written under another name and then renamed, so nobody reads an unfinished prompt. A
 * reply may be written in place: it is taken once it is complete JSON (an object or an array), or
 * once its contents have not changed for SETTLED_NS, because an answer in words counts too
 * (extract.h finds the JSON in it). A question whose reply did not come in time, or whose call was
 * cancelled, is renamed to NNNN.expired.md, so that nobody works on it. Its number is not used
 * again.
 */
#include "llm/dialect.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/utf8.h"

#define LOOK_NS    (100 * AK_MS_NS) /* interval at which the folder is checked for the reply */
#define SETTLED_NS (2 * AK_SECOND_NS)
/* Most numbers that are tried while other processes take numbers in the same folder. */
#define CLAIMS_MAX 10000

typedef struct ticket {
    char prompt[AK_PATH_MAX], reply[AK_PATH_MAX], expired[AK_PATH_MAX];
} ticket;

/* ---- numbers --------------------------------------------------------------------------------- */

/* Returns the number before the first '.' of a file's name; 0 if there is none or it has more than
   9 digits. */
static size_t number_of(const char *name)
{
    size_t number = 0, digits = strspn(name, "0123456789");
    for (size_t i = 0; i < digits && digits <= 9; i++) {
        number = number * 10 + (size_t)(name[i] - '0');
    }
    return name[digits] == '.' ? number : 0;
}

static ak_status last_number(size_t *out, const char *folder, ak_error *err)
{
    AK_AT_END(ak_fs_names_free) ak_fs_names names = {0};
    *out = 0;
    AK_DO(ak_fs_list(&names, folder, err));
    for (size_t i = 0; i < names.count; i++) {
        size_t number = number_of(names.list[i]);
        *out = number > *out ? number : *out;
    }
    return AK_OK;
}

static ak_status path_of(char out[AK_PATH_MAX], const char *folder, size_t number, const char *end,
                         ak_error *err)
{
    char name[48];
    (void)snprintf(name, sizeof name, "%04zu.%s", number, end);
    return ak_fs_join(out, folder, name, err);
}

/* ---- question -------------------------------------------------------------------------------- */

static ak_status write_prompt(const ticket *t, const ak_llm_chat *chat, ak_error *err)
{
    const char *slash = strrchr(t->reply, '/');
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(2 * AK_LLM_PROMPT_BYTES_MAX);
    ak_buf_print(&text, "<!-- Write the answer to the file %s beside this one. -->\n",
                 slash == NULL ? t->reply : slash + 1);
    if (chat->system != NULL) {
        ak_buf_print(&text, "<!-- system -->\n\n%s\n", chat->system);
    }
    for (size_t i = 0; i < chat->message_count; i++) {
        ak_buf_print(&text, "\n<!-- %s -->\n\n%s\n",
                     chat->messages[i].role == AK_LLM_USER ? "user" : "assistant",
                     chat->messages[i].text);
    }
    if (chat->schema != NULL) {
        ak_buf_puts(&text, "\n<!-- schema -->\n\nThe answer is one JSON value that matches this "
                           "JSON schema, and nothing else.\n\n```json\n");
        ak_json_print(&text, chat->schema, true);
        ak_buf_puts(&text, "\n```\n");
    }
    AK_DO(ak_buf_status(&text, err));
    return ak_fs_write_private(t->prompt, text.data, text.length, err);
}

/* Writes the question under the next free number. A number is reserved by a lock file while the
   prompt is being written, and by the prompt itself afterwards. */
static ak_status post(ticket *out, const char *folder, const ak_llm_chat *chat, ak_error *err)
{
    size_t last;
    char lock[AK_PATH_MAX];
    AK_DO(last_number(&last, folder, err));
    for (size_t number = last + 1; number <= last + CLAIMS_MAX; number++) {
        AK_DO(path_of(lock, folder, number, "lock", err));
        AK_DO(path_of(out->prompt, folder, number, "prompt.md", err));
        AK_DO(path_of(out->reply, folder, number, "reply.json", err));
        AK_DO(path_of(out->expired, folder, number, "expired.md", err));
        if (!ak_fs_create_private(lock)) {
            continue;
        }
        bool taken =
            ak_fs_is_file(out->prompt) || ak_fs_is_file(out->reply) || ak_fs_is_file(out->expired);
        const ak_status status = taken ? AK_OK : write_prompt(out, chat, err);
        ak_fs_remove(lock);
        if (!taken) {
            return status;
        }
    }
    return ak_fail(err, AK_IO, "%s: no file can be created in it", folder);
}

/* ---- reply ----------------------------------------------------------------------------------- */

/* Takes the text as the reply. The member "model" of its JSON, if there is one, names the model
   that answered. */
static ak_status take(ak_reply *out, const char *text, const json_t *value, ak_error *err)
{
    char *clean = ak_utf8_clean(text);
    AK_DO(ak_made(clean, err));
    size_t length = strlen(clean);
    while (length > 0 && strchr(" \t\r\n", clean[length - 1]) != NULL) {
        length--;
    }
    ak_buf_append(&out->text, clean, length);
    ak_free(clean);
    ak_copy_at(out->model, value, "model");
    out->finish = AK_LLM_FINISH_STOP;
    out->ended = true;
    return AK_OK;
}

static void give_up(ak_reply *out, ak_llm_fault fault, const char *path, const char *why)
{
    out->fault = fault;
    (void)snprintf(out->fault_text, sizeof out->fault_text, "%.160s %s", path, why);
}

typedef struct look {
    bool found;       /* the file exists */
    size_t length;    /* length of its contents */
    uint64_t hash;    /* hash of the contents, because an edit may keep their length */
    int64_t since_ns; /* when these contents were first seen */
} look;

static const char *why_late(const look *last)
{
    return !last->found ? "was not written in time; raise --llm-timeout"
           : last->length == 0
               ? "was still empty when the time was up; write the reply into it before that"
               : "was still being written when the time was up; raise --llm-timeout";
}

/* Looks once for the reply. *done is true if the wait is over: the reply was taken, or its file is
   too large, or it is complete (see the top of this file) and has a zero byte. */
static ak_status look_for(bool *done, ak_reply *out, look *last, const ticket *t, int64_t now_ns,
                          ak_error *err)
{
    AK_FREED char *text = NULL;
    size_t length = 0;
    json_auto_t *value = NULL;
    *done = false;
    last->found = ak_fs_is_file(t->reply);
    if (!last->found) {
        return AK_OK;
    }
    ak_status status = ak_fs_read(&text, &length, t->reply, AK_LLM_REPLY_BYTES_MAX, err);
    if (status == AK_LIMIT) {
        give_up(out, AK_LLM_FAULT_DAMAGED, t->reply, "is larger than 16 MiB");
        *done = true;
        return AK_OK;
    }
    if (status != AK_OK) { /* the file may be gone, because an editor replaces it just now */
        return ak_fs_is_file(t->reply) ? status : AK_OK;
    }
    uint64_t hash = ak_hash64(text, length);
    if (hash != last->hash) {
        last->hash = hash;
        last->since_ns = now_ns;
    }
    last->length = length;
    bool settled = length > 0 && now_ns - last->since_ns >= SETTLED_NS;
    bool whole = ak_json_parse(&value, text, length, t->reply, NULL) == AK_OK &&
                 (json_is_object(value) || json_is_array(value));
    *done = settled || whole;
    if (*done && strlen(text) != length) {
        give_up(out, AK_LLM_FAULT_DAMAGED, t->reply, "has a 0 byte; write it as text in UTF-8");
    } else if (*done) {
        status = take(out, text, value, err);
    }
    return status;
}

static ak_status ask(ak_reply *out, const ak_request *request, const ak_errand *errand,
                     ak_error *err)
{
    ticket t;
    look last = {0};
    bool done = false;
    AK_DO(post(&t, errand->place, request->chat, err));
    errand->posted(errand->context, t.prompt, t.reply);
    ak_status status = AK_OK;
    int64_t end_ns = errand->now_ns(errand->context) + errand->timeout_ns;
    for (;;) {
        int64_t now_ns = errand->now_ns(errand->context);
        status = look_for(&done, out, &last, &t, now_ns, err);
        if (status != AK_OK || done) {
            return status;
        }
        if (now_ns >= end_ns) {
            give_up(out, AK_LLM_FAULT_TIMEOUT, t.reply, why_late(&last));
            break;
        }
        int64_t left_ns = end_ns - now_ns;
        if (!errand->wait(errand->context, left_ns < LOOK_NS ? left_ns : LOOK_NS)) {
            give_up(out, AK_LLM_FAULT_CANCELLED, t.reply, "is no longer awaited");
            break;
        }
    }
    (void)rename(t.prompt, t.expired); /* this fails if the user has removed the prompt */
    return AK_OK;
}

const ak_provider ak_provider_file = {
    .name = "file",
    .description = "a folder: each prompt becomes a file there, and a reply is read from one",
    .ask = ask,
    .timeout_seconds = 1800,
};
