/* client.c: opens a client from the user's options, and lists the providers. */
#include "llm/client.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/plain.h"
#include "llm/key.h"

/* Defaults and limits of ak_llm_options. A provider without HTTP has its own default of the
   timeout. */
#define CONNECT_SECONDS 10
#define STALL_SECONDS   300
#define TIMEOUT_SECONDS 900
#define RETRIES         4
#define RETRIES_MAX     100
#define SECONDS_MAX     86400.0

/* ---- address --------------------------------------------------------------------------------- */

/* Returns true if the path has a version segment such as v1 or v1beta, which then replaces the
   provider's. */
static bool has_version(const char *path)
{
    for (const char *p = strchr(path, '/'); p != NULL; p = strchr(p + 1, '/')) {
        if (p[1] == 'v' && p[2] >= '0' && p[2] <= '9') {
            return true;
        }
    }
    return false;
}

static bool is_local(const char *host, size_t length)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < AK_COUNT(names); i++) {
        if (strlen(names[i]) == length && strncmp(names[i], host, length) == 0) {
            return true;
        }
    }
    return false;
}

/* Joins the base address and the provider's path, leaving out what the user has already written. */
static ak_status build_url(ak_llm *llm, const char *base, ak_error *err)
{
    const char *path = llm->provider->path;
    bool tls = strncmp(base, "https://", 8) == 0, plain = strncmp(base, "http://", 7) == 0;
    const char *host = base + (tls ? 8 : 7);
    AK_FAIL_IF(strpbrk(base, " \t\r\n\"'\\") != NULL, err, AK_INVALID,
               "the address of a server has no blanks, quotes or backslashes, not \"%.100s\"",
               base);
    AK_FAIL_IF((!tls && !plain) || *host == 0 || *host == '/', err, AK_INVALID,
               "the address of a server begins with https:// or http://, not \"%.100s\"", base);
    size_t host_bytes = strcspn(host, "/");
    AK_FAIL_IF(memchr(host, '@', host_bytes) != NULL || strpbrk(host, "?#") != NULL, err,
               AK_INVALID,
               "the address of a server must not hold a name, a password or a query; a key "
               "goes into --llm-key-file");
    size_t name_bytes = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/");
    llm->direct = plain && is_local(host, name_bytes);
    AK_FAIL_IF(plain && llm->key != NULL && !llm->direct, err, AK_INVALID,
               "%.*s: the key would cross the network unencrypted; use https://", (int)host_bytes,
               host);
    size_t length = strlen(base);
    while (length > 0 && base[length - 1] == '/') {
        length--;
    }
    size_t path_bytes = strlen(path);
    const char *rest = host + host_bytes;
    if (length >= path_bytes && memcmp(base + length - path_bytes, path, path_bytes) == 0) {
        path = "";
    } else if (strncmp(path, "/v1/", 4) == 0 && has_version(rest)) {
        path += 3;
    }
    AK_FAIL_IF((size_t)snprintf(llm->url, sizeof llm->url, "%.*s%s", (int)length, base, path) >=
                   sizeof llm->url,
               err, AK_LIMIT, "the address of the server is too long");
    return AK_OK;
}

/* ---- specification --------------------------------------------------------------------------- */

static ak_status take_effort(ak_llm *llm, const char *effort, ak_error *err)
{
    static const char *const known[] = {"none", "minimal", "low", "medium",
                                        "high", "xhigh",   "max", NULL};
    AK_FAIL_IF(effort != NULL && !ak_text_is_one_of(effort, known), err, AK_INVALID,
               "there is no effort \"%.40s\"; choose one of: none, minimal, low, medium, "
               "high, xhigh, max",
               effort);
    (void)snprintf(llm->effort, sizeof llm->effort, "%s", effort == NULL ? "" : effort);
    return AK_OK;
}

static ak_status take_name(ak_llm *llm, const char *model, ak_error *err)
{
    for (const char *p = model; *p != 0; p++) {
        AK_FAIL_IF((unsigned char)*p <= 0x20 || (unsigned char)*p >= 0x7f, err, AK_INVALID,
                   "the name of the model has a blank or another character that is not printable "
                   "ASCII");
    }
    AK_FAIL_IF(strlen(model) >= sizeof llm->model, err, AK_LIMIT,
               "the name of the model is longer than %zu characters", sizeof llm->model - 1);
    (void)snprintf(llm->model, sizeof llm->model, "%s", model);
    (void)snprintf(llm->name, sizeof llm->name, "%s:%s", llm->provider->name, model);
    return AK_OK;
}

/* Stores the place of a provider without HTTP. The model is named after the last folder of the
   path, because the whole path would reveal facts about this machine to readers of an archive. A
   path may have any bytes; in the name, '?' replaces those that cannot be shown. */
static ak_status take_place(ak_llm *llm, const char *place, ak_error *err)
{
    size_t length = strlen(place);
    while (length > 1 && place[length - 1] == '/') {
        length--;
    }
    AK_FAIL_IF(length >= sizeof llm->url, err, AK_LIMIT, "the path of the folder is too long");
    (void)snprintf(llm->url, sizeof llm->url, "%.*s", (int)length, place);
    const char *slash = strrchr(llm->url, '/');
    ak_plain_copy(llm->model, sizeof llm->model,
                  slash == NULL || slash[1] == 0 ? llm->url : slash + 1);
    (void)snprintf(llm->name, sizeof llm->name, "%s:%s", llm->provider->name, llm->model);
    return AK_OK;
}

/* Reads "provider:model". */
static ak_status take_model(ak_llm *llm, const char *text, ak_error *err)
{
    size_t length = strcspn(text, ":");
    const char *model = text + length + 1;
    AK_FAIL_IF(text[length] == 0 || *model == 0, err, AK_INVALID,
               "a language model is named PROVIDER:MODEL, such as openai:gpt-5 or "
               "ollama:qwen3:8b, not \"%.80s\"",
               text);
    AK_DO(ak_provider_find(&llm->provider, text, length, err));
    return llm->provider->ask != NULL ? take_place(llm, model, err) : take_name(llm, model, err);
}

/* Checks that the tape to record on holds answers of this model and effort only, because a replay
   asks only for such answers. */
static ak_status check_recording(const ak_llm *llm, ak_error *err)
{
    const char *model = ak_tape_model(llm->tape), *effort = ak_tape_effort(llm->tape);
    if (model[0] == 0 || (strcmp(model, llm->name) == 0 && strcmp(effort, llm->effort) == 0)) {
        return AK_OK;
    }
    return ak_fail(err, AK_INVALID,
                   "the tape has the answers of %s%s%s, not of %s%s%s: give --llm-record a "
                   "different folder",
                   model, effort[0] == 0 ? "" : " at effort ", effort, llm->name,
                   llm->effort[0] == 0 ? "" : " at effort ", llm->effort);
}

/* Opens the tape if one is named. "replay:PATH", or a replay without a model, takes the model from
   the tape, and also the effort if the user gives none. The model is called "replay" if the tape
   names none. */
static ak_status take_tape(ak_llm *llm, const ak_llm_options *options, ak_error *err)
{
    static const char prefix[] = "replay:";
    const char *model = options->model, *replay = options->replay;
    bool from_tape = model == NULL || strncmp(model, prefix, sizeof prefix - 1) == 0;
    if (from_tape && replay == NULL) {
        replay = model + sizeof prefix - 1;
    }
    AK_FAIL_IF(
        replay != NULL && options->record != NULL, err, AK_INVALID,
        "answers are either recorded or replayed: give --llm-record or --llm-replay, not both");
    if (replay != NULL || options->record != NULL) {
        AK_DO(ak_tape_open(&llm->tape, replay != NULL ? replay : options->record, replay == NULL,
                           err));
    }
    if (!from_tape) {
        AK_DO(take_model(llm, model, err));
        return options->record != NULL ? check_recording(llm, err) : AK_OK;
    }
    if (llm->effort[0] == 0 && ak_tape_effort(llm->tape)[0] != 0) {
        AK_DO(take_effort(llm, ak_tape_effort(llm->tape), err));
    }
    if (ak_tape_model(llm->tape)[0] != 0) {
        return take_model(llm, ak_tape_model(llm->tape), err);
    }
    (void)snprintf(llm->name, sizeof llm->name, "replay");
    (void)snprintf(llm->model, sizeof llm->model, "replay");
    return AK_OK;
}

bool ak_llm_replays(const ak_llm *llm)
{
    return llm->tape != NULL && !ak_tape_recording(llm->tape);
}

/* Prepares what only a client that sends needs: key, address and libcurl, or a folder. */
static ak_status prepare_sending(ak_llm *llm, const ak_llm_options *options, ak_error *err)
{
    const ak_provider *provider = llm->provider;
    const char *base = options->url != NULL ? options->url : provider->url;
    if (provider->ask != NULL) {
        return ak_fs_mkdir(llm->url, err);
    }
    AK_DO(ak_key_read(&llm->key, provider, options->key_file, err));
    AK_FAIL_IF(llm->key == NULL && provider->key_needed, err, AK_UNAVAILABLE,
               "%s needs a key: set %s, or name a file that holds it with --llm-key-file",
               provider->name, provider->key_variable);
    AK_FAIL_IF(base == NULL, err, AK_INVALID,
               "%s needs the address of its server; give it with --llm-url http://127.0.0.1:8000",
               provider->name);
    AK_DO(build_url(llm, base, err));
    return ak_http_load(err);
}

static ak_status take_numbers(ak_llm *llm, const ak_llm_options *options, ak_error *err)
{
    bool carried = llm->provider != NULL && llm->provider->ask != NULL;
    double timeout = carried ? llm->provider->timeout_seconds : TIMEOUT_SECONDS;
    const struct {
        double given, fallback;
        int64_t *out;
    } times[] = {{options->connect_seconds, CONNECT_SECONDS, &llm->connect_ns},
                 {options->stall_seconds, STALL_SECONDS, &llm->stall_ns},
                 {options->timeout_seconds, timeout, &llm->timeout_ns}};
    for (size_t i = 0; i < AK_COUNT(times); i++) {
        double seconds = times[i].given == 0 ? times[i].fallback : times[i].given;
        AK_FAIL_IF(!(seconds > 0) || !(seconds <= SECONDS_MAX), err, AK_INVALID,
                   "a time limit of a language model must be above 0 s and at most a day");
        *times[i].out = (int64_t)(seconds * (double)AK_SECOND_NS);
    }
    AK_FAIL_IF(!(options->budget_usd >= 0), err, AK_INVALID, "the budget must not be negative");
    llm->retries = options->retries == 0            ? RETRIES
                   : options->retries < 0           ? 0
                   : options->retries > RETRIES_MAX ? RETRIES_MAX
                                                    : options->retries;
    llm->budget_usd = options->budget_usd;
    AK_FAIL_IF(options->output_tokens < 0 || options->calls < 0 || options->tokens < 0, err,
               AK_INVALID, "a limit of tokens or calls must not be negative");
    llm->output_tokens_max = options->output_tokens;
    llm->calls_max = (size_t)options->calls;
    llm->tokens_max = options->tokens;
    llm->cancel = options->cancel;
    llm->notice = options->notice;
    llm->warning = options->warning;
    llm->notice_context = options->notice_context;
    ak_rng_seed(&llm->rng, options->seed);
    return AK_OK;
}

static ak_status take_price(ak_llm *llm, const ak_llm_options *options, ak_error *err)
{
    /* a tape that names no model has no provider, so its price is unknown */
    bool named = llm->provider != NULL;
    if (named) {
        ak_abilities_find(&llm->abilities, llm->provider, llm->model);
        AK_DO(ak_price_find(&llm->price, llm->provider, llm->model, options->prices, err));
    }
    AK_FAIL_IF(named && !llm->price.known && llm->budget_usd > 0, err, AK_INVALID,
               "%s is unpriced, so a budget cannot be kept: give its price with "
               "--llm-prices FILE, {\"%s\": {\"input\": 1, \"output\": 4}}, or leave "
               "--llm-budget out",
               llm->name, llm->name);
    llm->totals.priced = llm->price.known;
    llm->totals.budget_usd = llm->budget_usd;
    return AK_OK;
}

ak_status ak_llm_open(ak_llm **out, const ak_llm_options *options, const ak_llm_seam *seam,
                      ak_error *err)
{
    AK_FAIL_IF(options->model == NULL && options->replay == NULL, err, AK_INVALID,
               "no language model is named; give one, such as --llm openai:gpt-5");
    AK_AT_END(ak_llm_close_at) ak_llm *llm = NULL;
    AK_DO(AK_NEW(llm, 1, err));
    (void)pthread_mutex_init(&llm->lock, NULL);
    if (seam != NULL) {
        llm->seam = *seam;
    }
    AK_DO(take_effort(llm, options->effort, err));
    AK_DO(take_tape(llm, options, err));
    AK_DO(take_numbers(llm, options, err));
    AK_DO(take_price(llm, options, err));
    if (!ak_llm_replays(llm)) {
        AK_DO(prepare_sending(llm, options, err));
    }
    AK_GIVE(out, llm);
    return AK_OK;
}

void ak_llm_close(ak_llm *llm)
{
    if (llm != NULL) {
        ak_tape_close(llm->tape);
        ak_key_free(llm->key);
        (void)pthread_mutex_destroy(&llm->lock);
        ak_free(llm);
    }
}

const char *ak_llm_name(const ak_llm *llm)
{
    return llm->name;
}

bool ak_llm_is_slow(const ak_llm *llm)
{
    return !ak_llm_replays(llm) && llm->provider->ask != NULL;
}

void ak_llm_total(ak_llm_totals *out, ak_llm *llm)
{
    ak_llm_lock(llm);
    *out = llm->totals;
    out->tokens_used = llm->tokens_used;
    ak_llm_unlock(llm);
}

int64_t ak_llm_now(const ak_llm *llm)
{
    return llm->seam.now_ns != NULL ? llm->seam.now_ns(llm->seam.context) : ak_clock_ns();
}

void ak_llm_each_provider(ak_list_visitor visit, void *context)
{
    for (size_t i = 0; ak_providers[i] != NULL; i++) {
        visit(context, ak_providers[i]->name, ak_providers[i]->description);
    }
    visit(context, "replay", "answers that were recorded with --llm-record, without network");
}

json_t *ak_llm_doctor(void)
{
    char version[120];
    json_t *result = json_object(), *list = json_array();
    ak_error why = AK_ERROR_INIT;
    ak_http_version(version, sizeof version);
    (void)ak_http_load(&why);
    for (size_t i = 0; ak_providers[i] != NULL; i++) {
        const ak_provider *provider = ak_providers[i];
        const char *variable = provider->key_variable;
        bool set = variable != NULL && ak_env(variable) != NULL;
        ak_json_add(&list, json_pack("{s:s, s:s, s:s, s:s}", "provider", provider->name, "address",
                                     provider->ask != NULL   ? "the folder behind its name"
                                     : provider->url == NULL ? "--llm-url"
                                                             : provider->url,
                                     "key",
                                     variable == NULL ? "none needed"
                                     : set            ? "set"
                                                      : "not set",
                                     "from",
                                     provider->ask != NULL ? "none"
                                     : variable == NULL    ? "--llm-key-file"
                                                           : variable));
    }
    bool good = ak_json_set_text(result, "curl", version[0] != 0 ? version : why.text);
    good = ak_json_set(result, "providers", list) && good;
    return ak_json_whole(result, good);
}
