#include "llm/tape.h"

#include <math.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/map.h"

#define FORMAT     "autokernel-llm-tape"
#define VERSION    1
#define ABOUT_NAME "tape.json"
#define LINES_MAX  100000 /* lines of a script */

struct ak_tape {
    char path[AK_PATH_MAX];
    bool recording;
    json_t *about;      /* tape.json; NULL if there is none */
    json_t *script;     /* array of answers; NULL if the tape is a folder */
    size_t next;        /* index of the next answer of the script */
    ak_map *asked;      /* number of times that each question or situation was asked */
    json_t *situations; /* {situation: [names of the files about it]}; NULL until it is needed */
};

/* ---- opening --------------------------------------------------------------------------------- */

static ak_status read_script(ak_tape *tape, ak_error *err)
{
    AK_FREED char *text = NULL;
    json_auto_t *entry = NULL;
    size_t length = 0, line = 0;
    AK_DO(ak_fs_read(&text, &length, tape->path, AK_JSON_BYTES_MAX, err));
    AK_DO(strlen(text) == length
              ? AK_OK
              : ak_fail(err, AK_INVALID, "%s has a 0 byte: it is no text", tape->path));
    tape->script = json_array();
    AK_DO(ak_made(tape->script, err));
    for (const char *p = text; *p != 0;) {
        size_t bytes = strcspn(p, "\n");
        char origin[AK_PATH_MAX + 32];
        (void)snprintf(origin, sizeof origin, "%s:%zu", tape->path, ++line);
        if (strspn(p, " \t\r") < bytes) {
            AK_DO(ak_json_parse(&entry, p, bytes, origin, err));
            AK_FAIL_IF(line > LINES_MAX, err, AK_LIMIT, "%s: a script has at most %d lines", origin,
                       LINES_MAX);
            AK_FAIL_IF(json_object_get(entry, "text") == NULL, err, AK_INVALID,
                       "%s: a line of a script is an object with \"text\"", origin);
            AK_DO(ak_stored(json_array_append(tape->script, entry) == 0, err));
            json_decref(entry);
            entry = NULL;
        }
        p += bytes + (p[bytes] == '\n');
    }
    return AK_OK;
}

static ak_status read_about(ak_tape *tape, ak_error *err)
{
    char path[AK_PATH_MAX];
    int64_t version = 0;
    const char *format = NULL, *ignored = NULL;
    AK_DO(ak_fs_join(path, tape->path, ABOUT_NAME, err));
    if (!ak_fs_is_file(path)) {
        return tape->recording
                   ? AK_OK
                   : ak_fail(err, AK_INVALID,
                             "%s is not a folder of recorded answers, because it has no %s: name "
                             "one that --llm-record has written",
                             tape->path, ABOUT_NAME);
    }
    AK_DO(ak_json_read(&tape->about, path, err));
    AK_DO(ak_json_string(&format, tape->about, "format", path, err));
    AK_DO(ak_json_int(&version, tape->about, "version", path, err));
    AK_DO(ak_json_string(&ignored, tape->about, "model", path, err));
    AK_FAIL_IF(strcmp(format, FORMAT) != 0 || version != VERSION, err, AK_INVALID,
               "%s: not a tape of version %d", path, VERSION);
    return AK_OK;
}

ak_status ak_tape_open(ak_tape **out, const char *path, bool recording, ak_error *err)
{
    AK_AT_END(ak_tape_close_at) ak_tape *tape = NULL;
    AK_DO(AK_NEW(tape, 1, err));
    tape->recording = recording;
    tape->asked = ak_map_new();
    AK_DO(ak_made(tape->asked, err));
    AK_FAIL_IF((size_t)snprintf(tape->path, sizeof tape->path, "%s", path) >= sizeof tape->path,
               err, AK_LIMIT, "the path of the tape is too long");
    if (recording) {
        AK_DO(ak_fs_mkdir(path, err));
    }
    AK_DO(ak_fs_reachable(path, err));
    AK_FAIL_IF(!recording && !ak_fs_is_folder(path) && !ak_fs_is_file(path), err, AK_NOT_FOUND,
               "there is no folder of recorded answers \"%s\"; --llm-record makes one", path);
    AK_DO(ak_fs_is_folder(path) ? read_about(tape, err) : read_script(tape, err));
    AK_GIVE(out, tape);
    return AK_OK;
}

void ak_tape_close(ak_tape *tape)
{
    if (tape != NULL) {
        json_decref(tape->about);
        json_decref(tape->script);
        json_decref(tape->situations);
        ak_map_free(tape->asked);
        ak_free(tape);
    }
}

const char *ak_tape_model(const ak_tape *tape)
{
    return ak_json_text_at(tape->about, "model");
}

const char *ak_tape_effort(const ak_tape *tape)
{
    return ak_json_text_at(tape->about, "effort");
}

bool ak_tape_recording(const ak_tape *tape)
{
    return tape->recording;
}

/* ---- questions ------------------------------------------------------------------------------- */

json_t *ak_tape_question(const char *model, const char *effort, const ak_llm_chat *chat)
{
    json_t *question = json_object();
    json_auto_t *messages = json_array();
    bool good = question != NULL && messages != NULL;
    for (size_t i = 0; i < chat->message_count && good; i++) {
        const ak_llm_message *message = &chat->messages[i];
        json_t *entry = json_object();
        good = ak_json_set_texts(entry, "role", message->role == AK_LLM_USER ? "user" : "assistant",
                                 "text", message->text);
        good = ak_json_append(messages, entry) && good;
    }
    char seed[24];
    (void)snprintf(seed, sizeof seed, "%llu", (unsigned long long)chat->seed);
    good = good &&
           ak_json_set_texts(question, "model", model, "effort", effort, "system", chat->system) &&
           ak_json_set(question, "messages", json_incref(messages)) &&
           ak_json_set(question, "schema",
                       chat->schema == NULL ? json_null() : json_deep_copy(chat->schema)) &&
           ak_json_set_text(question, "array", chat->array) &&
           ak_json_set(question, "max_output_tokens", json_integer(chat->max_output_tokens)) &&
           /* "temperature" is always null; the names on older tapes are hashes that cover it. */
           ak_json_set_texts(question, "temperature", NULL, "seed", seed) &&
           (chat->situation == NULL || ak_json_set_text(question, "situation", chat->situation));
    return ak_json_whole(question, good);
}

ak_status ak_tape_name(char out[AK_HASH_BYTES + 16], ak_tape *tape, const json_t *question,
                       ak_error *err)
{
    char hash[AK_HASH_QUICK_BYTES];
    char *text = NULL;
    AK_DO(ak_made(question, err));
    /* The situation is not part of the name, because the words imply it and older tapes lack it. */
    json_auto_t *words = json_copy((json_t *)(uintptr_t)question);
    (void)json_object_del(words, "situation");
    AK_DO(words == NULL ? ak_fail_memory(err) : ak_json_text(&text, words, err));
    ak_hash_quick(hash, text, strlen(text));
    ak_free(text);
    size_t before = 0;
    (void)ak_map_get(&before, tape->asked, hash);
    (void)snprintf(out, AK_HASH_BYTES + 16, "%s-%zu", hash, before % 1000000);
    return ak_map_put(tape->asked, hash, before + 1, err);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Returns true if a file may hold a question. The folder may also hold other files, such as notes,
   or the prompts and replies of the provider "file". */
static bool is_question(const char *name)
{
    return ak_fs_has_suffix(name, ".json") && !ak_fs_has_suffix(name, ".reply.json");
}

/* Lists the files of the tape by the situations of their questions. */
static ak_status read_situations(ak_tape *tape, ak_error *err)
{
    AK_AT_END(ak_fs_names_free) ak_fs_names names = {0};
    char path[AK_PATH_MAX];
    json_auto_t *situations = json_object();
    AK_DO(ak_made(situations, err));
    AK_DO(ak_fs_list(&names, tape->path, err));
    for (size_t i = 0; i < names.count; i++) {
        json_auto_t *document = NULL;
        if (!is_question(names.list[i])) {
            continue;
        }
        AK_DO(ak_fs_join(path, tape->path, names.list[i], err));
        AK_DO(ak_json_read(&document, path, err));
        const char *about = ak_json_text_at(json_object_get(document, "question"), "situation");
        json_t *list = json_object_get(situations, about);
        bool good = about[0] == 0 || list != NULL || ak_json_set(situations, about, json_array());
        good = good && (about[0] == 0 || ak_json_append(json_object_get(situations, about),
                                                        json_string(names.list[i])));
        AK_DO(ak_stored(good, err));
    }
    tape->situations = json_incref(situations);
    return AK_OK;
}

/* Finds the file of a recorded question about the same situation in other words; *out is "" if
   there is none. Each further question about that situation gets the next such file by name. */
static ak_status reworded(char out[AK_PATH_MAX], ak_tape *tape, const json_t *question,
                          ak_error *err)
{
    const char *about = ak_json_text_at(question, "situation");
    size_t before = 0;
    out[0] = 0;
    if (about[0] == 0) {
        return AK_OK;
    }
    AK_DO(tape->situations == NULL ? read_situations(tape, err) : AK_OK);
    const json_t *list = json_object_get(tape->situations, about);
    (void)ak_map_get(&before, tape->asked, about);
    if (before >= json_array_size(list)) {
        return AK_OK;
    }
    AK_DO(ak_map_put(tape->asked, about, before + 1, err));
    return ak_fs_join(out, tape->path, json_string_value(json_array_get(list, before)), err);
}

/* An answer, and the file that it comes from. */
typedef struct found {
    json_t *answer;
    char origin[AK_PATH_MAX];
    bool reworded; /* the recorded question is about the same situation in other words */
} found;

static ak_status find(found *out, ak_tape *tape, const char *name, const json_t *question,
                      ak_error *err)
{
    char file[AK_HASH_BYTES + 32];
    if (tape->script != NULL) {
        (void)snprintf(out->origin, sizeof out->origin, "%s", tape->path);
        out->answer = json_incref(json_array_get(tape->script, tape->next));
        tape->next++;
        return out->answer != NULL
                   ? AK_OK
                   : ak_fail(err, AK_NOT_FOUND, "%s: the script has only %zu answers", tape->path,
                             json_array_size(tape->script));
    }
    (void)snprintf(file, sizeof file, "%s.json", name);
    json_auto_t *document = NULL;
    AK_DO(ak_fs_join(out->origin, tape->path, file, err));
    if (!ak_fs_is_file(out->origin) && !tape->recording) {
        AK_DO(reworded(out->origin, tape, question, err));
        out->reworded = true;
    }
    AK_FAIL_IF(out->origin[0] == 0 || !ak_fs_is_file(out->origin), err, AK_NOT_FOUND,
               "%s: this question was not recorded (%s): model, effort, prompt, limits and "
               "seed must be those of the tape",
               tape->path, name);
    AK_DO(ak_json_read(&document, out->origin, err));
    out->answer = json_incref(json_object_get(document, "answer"));
    AK_FAIL_IF(!json_is_object(out->answer), err, AK_CORRUPT, "%s: has no \"answer\"", out->origin);
    return AK_OK;
}

static ak_status read_usage(ak_llm_usage *out, const json_t *usage, const char *where,
                            ak_error *err)
{
    struct {
        const char *key;
        int64_t *value;
    } const members[] = {{"input", &out->input},
                         {"input_cached", &out->input_cached},
                         {"input_written", &out->input_written},
                         {"output", &out->output},
                         {"output_reasoning", &out->output_reasoning}};
    out->known = json_is_object(usage);
    for (size_t i = 0; i < AK_COUNT(members) && out->known; i++) {
        ak_status status = ak_json_int_or(members[i].value, usage, members[i].key, 0, where, err);
        AK_FAIL_IF(status != AK_OK || *members[i].value < 0, err, AK_CORRUPT,
                   "%s: \"usage\" is damaged", where);
    }
    return AK_OK;
}

static ak_status read_answer(ak_llm_answer *out, ak_reply *reply, const json_t *answer,
                             const char *where, ak_error *err)
{
    const char *reasoning, *finish, *model, *id;
    double cost = 0, ms = 0;
    int64_t attempts = 0;
    json_t *usage = NULL;
    const json_t *text = json_object_get(answer, "text");
    if (ak_json_string_or(&reasoning, answer, "reasoning", "", where, err) != AK_OK ||
        ak_json_string_or(&finish, answer, "finish", "stop", where, err) != AK_OK ||
        ak_json_string_or(&model, answer, "model", "", where, err) != AK_OK ||
        ak_json_string_or(&id, answer, "request_id", "", where, err) != AK_OK ||
        ak_json_real_or(&cost, answer, "cost_usd", 0, where, err) != AK_OK ||
        ak_json_real_or(&ms, answer, "elapsed_ms", 0, where, err) != AK_OK ||
        ak_json_int_or(&attempts, answer, "attempts", 1, where, err) != AK_OK ||
        ak_json_bool_or(&out->priced, answer, "priced", false, where, err) != AK_OK ||
        ak_json_object_or_null(&usage, answer, "usage", where, err) != AK_OK ||
        read_usage(&reply->usage, usage, where, err) != AK_OK) {
        return AK_CORRUPT;
    }
    if (!ak_llm_finish_parse(&reply->finish, finish) || text == NULL || !(cost >= 0) ||
        !(cost <= 1e9) || !(ms >= 0) || !(ms <= 1e12) || attempts < 0 || attempts > 1000000) {
        return ak_fail(err, AK_CORRUPT, "%s: the answer is damaged", where);
    }
    ak_json_print_plain(&reply->text, text);
    ak_buf_puts(&reply->reasoning, reasoning);
    (void)snprintf(reply->model, sizeof reply->model, "%s", model);
    (void)snprintf(reply->id, sizeof reply->id, "%s", id);
    reply->ended = true;
    out->cost_usd = cost;
    out->attempts = (int)attempts;
    out->elapsed_ns = llround(ms * 1e6);
    out->replayed = true;
    return AK_OK;
}

ak_status ak_tape_read(ak_llm_answer *out, ak_reply *reply, ak_tape *tape, const char *name,
                       const json_t *question, ak_error *err)
{
    found one = {.answer = NULL};
    ak_status status = AK_OK;
    AK_TRY(find(&one, tape, name, question, err));
    AK_TRY(read_answer(out, reply, one.answer, one.origin, err));
    out->reworded = one.reworded;
out:
    json_decref(one.answer);
    return status;
}

static json_t *usage_json(const ak_llm_usage *usage)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I}", "input", (json_int_t)usage->input, "input_cached",
                     (json_int_t)usage->input_cached, "input_written",
                     (json_int_t)usage->input_written, "output", (json_int_t)usage->output,
                     "output_reasoning", (json_int_t)usage->output_reasoning);
}

static json_t *answer_json(const ak_llm_answer *answer)
{
    json_t *object = json_object();
    bool good =
        ak_json_set_text(object, "text", answer->text) &&
        (answer->reasoning == NULL || ak_json_set_text(object, "reasoning", answer->reasoning)) &&
        ak_json_set_texts(object, "finish", ak_llm_finish_text(answer->finish), "model",
                          answer->model, "request_id", answer->request_id) &&
        (!answer->usage.known || ak_json_set(object, "usage", usage_json(&answer->usage))) &&
        ak_json_set(object, "priced", json_boolean(answer->priced)) &&
        ak_json_set_real(object, "cost_usd", answer->cost_usd) &&
        ak_json_set(object, "attempts", json_integer(answer->attempts)) &&
        ak_json_set_real(object, "elapsed_ms", (double)answer->elapsed_ns / 1e6);
    return ak_json_whole(object, good);
}

static ak_status write_json(const ak_tape *tape, const char *file, const json_t *value,
                            ak_error *err)
{
    char path[AK_PATH_MAX];
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(AK_JSON_BYTES_MAX);
    ak_json_print(&text, value, true);
    ak_buf_putc(&text, '\n');
    AK_DO(ak_buf_status(&text, err));
    AK_DO(ak_fs_join(path, tape->path, file, err));
    return ak_fs_write_private(path, text.data, text.length, err);
}

static ak_status write_about(ak_tape *tape, const json_t *question, ak_error *err)
{
    const char *effort = ak_json_text_or_null(question, "effort");
    tape->about = json_object();
    if (!ak_json_set_text(tape->about, "format", FORMAT) ||
        !ak_json_set(tape->about, "version", json_integer(VERSION)) ||
        !ak_json_set_text(tape->about, "model", ak_json_text_at(question, "model")) ||
        (effort != NULL && !ak_json_set_text(tape->about, "effort", effort))) {
        return ak_fail_memory(err);
    }
    return write_json(tape, ABOUT_NAME, tape->about, err);
}

ak_status ak_tape_write(ak_tape *tape, const char *name, const json_t *question,
                        const ak_llm_answer *answer, ak_error *err)
{
    char file[AK_HASH_BYTES + 32];
    (void)snprintf(file, sizeof file, "%s.json", name);
    json_auto_t *document = json_object();
    AK_DO(ak_stored(ak_json_set(document, "question", json_deep_copy(question)) &&
                        ak_json_set(document, "answer", answer_json(answer)),
                    err));
    if (tape->about == NULL) {
        AK_DO(write_about(tape, question, err));
    }
    return write_json(tape, file, document, err);
}
