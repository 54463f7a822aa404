/*
 * classify.c: decides what an error reply means. The policy follows OpenAI's and Anthropic's own
 * clients: 408, 409, 429 and 5xx may be retried, x-should-retry overrules that (but not for an
 * exhausted account, a wrong key or a refused parameter), and retry-after-ms comes before
 * Retry-After, which holds seconds or a date. A status says little (an exhausted account and a rate
 * limit are both 429), so the words of the body can overrule it.
 */
#include <stdlib.h>
#include <time.h>

#include "base/ascii.h"
#include "base/plain.h"
#include "llm/provider.h"

/* Lower-case parts of a code or a message and the fault they mean. The first match counts. */
static const struct {
    const char *words;
    ak_llm_fault fault;
} meanings[] = {
    {"insufficient_quota", AK_LLM_FAULT_QUOTA},
    {"exceeded your current quota", AK_LLM_FAULT_QUOTA},
    {"billing", AK_LLM_FAULT_QUOTA},
    {"credit balance", AK_LLM_FAULT_QUOTA},
    {"insufficient credits", AK_LLM_FAULT_QUOTA},
    {"insufficient balance", AK_LLM_FAULT_QUOTA},
    {"invalid_api_key", AK_LLM_FAULT_KEY},
    {"authentication_error", AK_LLM_FAULT_KEY},
    {"permission_error", AK_LLM_FAULT_KEY},
    {"model_not_found", AK_LLM_FAULT_MODEL},
    {"not_found_error", AK_LLM_FAULT_MODEL},
    {"overloaded", AK_LLM_FAULT_OVERLOADED},
    {"loading model", AK_LLM_FAULT_LOADING},
    {"rate_limit", AK_LLM_FAULT_RATE_LIMIT},
    {"context_length_exceeded", AK_LLM_FAULT_CONTEXT},
    {"exceed_context_size", AK_LLM_FAULT_CONTEXT},    /* llama.cpp */
    {"available context size", AK_LLM_FAULT_CONTEXT}, /* older llama.cpp, without a type */
    {"maximum context length", AK_LLM_FAULT_CONTEXT}, /* vLLM */
    {"prompt is too long", AK_LLM_FAULT_CONTEXT},
    {"invalid_request", AK_LLM_FAULT_REQUEST},
};

static bool contains(const char *text, const char *part)
{
    return text != NULL && ak_ascii_find(text, part) != NULL;
}

ak_llm_fault ak_classify_words(const char *code, const char *message)
{
    for (size_t i = 0; i < AK_COUNT(meanings); i++) {
        if (contains(code, meanings[i].words) || contains(message, meanings[i].words)) {
            return meanings[i].fault;
        }
    }
    return AK_LLM_FAULT_SERVER;
}

void ak_error_words(const char **code, const char **message, const json_t *body)
{
    /* Servers write errors in five forms. OpenAI, Anthropic, vLLM: {"error": {"message", "type",
       "code"}}. Ollama: {"error": "text"}. Older vLLM: {"object": "error", "message"}. FastAPI:
       {"detail": "text"}, and with status 422 {"detail": [{"loc": ["body", "temperature"], "msg":
       "Extra inputs are not permitted"}]}. */
    const json_t *error = json_object_get(body, "error");
    const json_t *source = json_is_object(error) ? error : body;
    *message =
        json_is_string(error) ? json_string_value(error) : ak_json_text_at(source, "message");
    if (**message == 0) {
        *message = ak_json_text_at(body, "detail");
    }
    const json_t *detail = json_array_get(json_object_get(body, "detail"), 0);
    if (**message == 0) {
        *message = ak_json_text_at(detail, "msg");
    }
    *code = ak_json_text_at(source, "code");
    if (**code == 0) {
        *code = ak_json_text_at(source, "type");
    }
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* Reads an HTTP date in any of its three forms (RFC 9110, 5.6.7) as seconds since 1970. Returns
   false if the text is not an HTTP date. */
static bool http_date(int64_t *out, const char *text)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct tm date = {.tm_mon = -1, .tm_mday = -1, .tm_year = -1, .tm_hour = -1};
    for (const char *p = text; *p != 0;) {
        size_t length = strcspn(p, " ,-\t");
        char word[16];
        if (length == 0) {
            p++;
            continue;
        }
        (void)snprintf(word, sizeof word, "%.*s", (int)(length < 15 ? length : 15), p);
        const char *month = length == 3 ? strstr(months, word) : NULL;
        int64_t number;
        if (month != NULL && (month - months) % 3 == 0) {
            date.tm_mon = (int)(month - months) / 3;
        } else if (length == 8 && strspn(word, "0123456789:") == 8 && word[2] == ':' &&
                   word[5] == ':') {
            date.tm_hour = (int)strtol(word, NULL, 10);
            date.tm_min = (int)strtol(word + 3, NULL, 10);
            date.tm_sec = (int)strtol(word + 6, NULL, 10);
        } else if (length <= 4 && ak_text_int(&number, word) && number >= 0) {
            if (date.tm_mday < 0) {
                date.tm_mday = (int)number;
            } else {
                /* A two-digit year (RFC 850) below 70 lies in this century, any other in the
                   last. */
                date.tm_year =
                    (int)(length <= 2 ? number + (number < 70 ? 100 : 0) : number - 1900);
            }
        }
        p += length;
    }
    if (date.tm_mon < 0 || date.tm_mday < 1 || date.tm_mday > 31 || date.tm_year < 70 ||
        date.tm_hour < 0 || date.tm_hour > 24 || date.tm_min > 59 || date.tm_sec > 60) {
        return false;
    }
    *out = (int64_t)timegm(&date);
    return true;
}

/* Returns the wait that the server asks for in ms, or -1 if it asks for none. */
static int64_t wait_of(const ak_reply_headers *headers, int64_t now)
{
    double number;
    int64_t date;
    /* The wait is capped at a day, which keeps the arithmetic in range. The caller gives up on much
       shorter waits. */
    const double day_ms = 24.0 * 3600 * 1000;
    if (headers->retry_after_ms != NULL && ak_text_real(&number, headers->retry_after_ms) &&
        number >= 0) {
        return (int64_t)(number < day_ms ? number : day_ms);
    }
    if (headers->retry_after == NULL) {
        return -1;
    }
    if (ak_text_real(&number, headers->retry_after) && number >= 0) {
        return (int64_t)(number * 1000 < day_ms ? number * 1000 : day_ms);
    }
    if (http_date(&date, headers->retry_after)) {
        double ms = (double)(date - now) * 1000;
        return (int64_t)(ms < 0 ? 0 : ms < day_ms ? ms : day_ms);
    }
    return -1;
}

/* ---- parameters that the server does not take ------------------------------------------------ */

static const char *const ability_words[AK_ABILITY_COUNT] = {
#define X(name, words) words,
    AK_ABILITY_MAP(X)
#undef X
};

/* Returns true if `text` holds `word` as a whole word. */
static bool has_word(const char *text, const char *word, size_t length)
{
    for (const char *p = ak_ascii_find(text, word); p != NULL; p = ak_ascii_find(p + 1, word)) {
        if ((p == text || !ak_ascii_is_word(p[-1])) && !ak_ascii_is_word(p[length])) {
            return true;
        }
    }
    return false;
}

/* Returns the set of abilities that the text names. */
static unsigned abilities_in(const char *text)
{
    unsigned found = 0;
    for (unsigned i = 0; i < AK_ABILITY_COUNT; i++) {
        for (const char *p = ability_words[i]; *p != 0;) {
            char word[48];
            size_t length = strcspn(p, ",");
            (void)snprintf(word, sizeof word, "%.*s", (int)length, p);
            found |= has_word(text, word, length) ? 1u << i : 0;
            p += length + 1;
        }
    }
    return found;
}

/* Finds the smallest number in the text that can be a token limit: 8192 in "max_tokens: 64000 >
   8192, which is the maximum". Returns 0 if there is none. */
static int token_limit_in(const char *text)
{
    int64_t least = 0;
    for (const char *p = text; *p != 0;) {
        if (*p < '0' || *p > '9') {
            p++;
            continue;
        }
        char *end;
        long long number = strtoll(p, &end, 10);
        bool part_of_name = p > text && (ak_ascii_is_word(p[-1]) || p[-1] == '-' || p[-1] == '.');
        if (!part_of_name && number >= 256 && number <= 10000000 &&
            (least == 0 || number < least)) {
            least = number;
        }
        p = end;
    }
    return (int)least;
}

/* Returns the parameter that FastAPI's first complaint is about, or "". */
static const char *located(const json_t *body)
{
    const json_t *detail = json_array_get(json_object_get(body, "detail"), 0);
    const char *name = json_string_value(json_array_get(json_object_get(detail, "loc"), 1));
    return name == NULL ? "" : name;
}

/* Finds the parameter or limit that a reply with status 400 or 422 complains about. */
static void read_complaint(ak_complaint *out, const json_t *body, const char *message)
{
    const json_t *error = json_object_get(body, "error");
    const char *param = ak_json_text_at(json_is_object(error) ? error : body, "param");
    if (param[0] == 0) {
        param = located(body);
    }
    bool tokens = has_word(message, "max_tokens", 10) ||
                  has_word(message, "max_completion_tokens", 21) ||
                  has_word(message, "max_output_tokens", 17);
    bool limit = contains(message, "maximum") || contains(message, "too large") ||
                 contains(message, "at most") || strchr(message, '>') != NULL;
    bool renamed = contains(message, "max_completion_tokens") && contains(message, "max_tokens");
    if (contains(message, "context length") || contains(message, "prompt is too long")) {
        return; /* a lower output limit would not help */
    }
    if (tokens && limit && !renamed) {
        out->output_tokens_max = token_limit_in(message);
    }
    out->ability = out->output_tokens_max > 0 ? 0 : abilities_in(param);
    if (out->ability == 0 && out->output_tokens_max == 0) {
        out->ability = abilities_in(message);
    }
    if (out->ability != 0 || out->output_tokens_max > 0) {
        out->action = AK_COMPLAINT_CAPABILITY;
    }
}

/* ---- the complaint --------------------------------------------------------------------------- */

static ak_llm_fault fault_of_status(int status)
{
    static const struct {
        int status;
        ak_llm_fault fault;
    } known[] = {
        {401, AK_LLM_FAULT_KEY},     {402, AK_LLM_FAULT_QUOTA},      {403, AK_LLM_FAULT_KEY},
        {404, AK_LLM_FAULT_MODEL},   {408, AK_LLM_FAULT_TIMEOUT},    {409, AK_LLM_FAULT_SERVER},
        {413, AK_LLM_FAULT_CONTEXT}, {429, AK_LLM_FAULT_RATE_LIMIT}, {529, AK_LLM_FAULT_OVERLOADED},
    };
    for (size_t i = 0; i < AK_COUNT(known); i++) {
        if (known[i].status == status) {
            return known[i].fault;
        }
    }
    return status >= 500 ? AK_LLM_FAULT_SERVER : AK_LLM_FAULT_REQUEST;
}

void ak_classify(ak_complaint *out, int status, const ak_reply_headers *headers, const json_t *body,
                 int64_t now)
{
    const char *code, *message;
    ak_error_words(&code, &message, body);
    *out = (ak_complaint){.action = AK_COMPLAINT_FATAL, .wait_ms = wait_of(headers, now)};
    (void)snprintf(out->text, sizeof out->text, "%.239s", message[0] == 0 ? code : message);
    ak_plain_line(out->text);
    out->fault = fault_of_status(status);
    ak_llm_fault words = ak_classify_words(code, message);
    /* Words about quota, overload and loading overrule every status. Those about key, model and
       context do not overrule 429 and 5xx, whose messages may mention them in passing. */
    bool precise = words == AK_LLM_FAULT_QUOTA || words == AK_LLM_FAULT_OVERLOADED ||
                   words == AK_LLM_FAULT_LOADING ||
                   (status < 500 && status != 429 &&
                    (words == AK_LLM_FAULT_KEY || words == AK_LLM_FAULT_MODEL ||
                     words == AK_LLM_FAULT_CONTEXT));
    if (precise) {
        out->fault = words;
    }
    if (!ak_llm_fault_lasting(out->fault)) {
        out->action = AK_COMPLAINT_RETRY;
    } else if ((status == 400 || status == 422) && out->fault == AK_LLM_FAULT_REQUEST) {
        read_complaint(out, body, message);
    }
    if (headers->should_retry != NULL && out->action != AK_COMPLAINT_CAPABILITY &&
        out->fault != AK_LLM_FAULT_QUOTA && out->fault != AK_LLM_FAULT_KEY) {
        out->action = ak_ascii_equal(headers->should_retry, "true")    ? AK_COMPLAINT_RETRY
                      : ak_ascii_equal(headers->should_retry, "false") ? AK_COMPLAINT_FATAL
                                                                       : out->action;
    }
}
