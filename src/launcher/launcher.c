#include "launcher/launcher.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/shell.h"
#include "base/text.h"

#define X(name) extern const ak_launcher_ops ak_launcher_##name;
#include "launcher/launchers.def"
#undef X

static const ak_launcher_ops *const all[] = {
#define X(name) &ak_launcher_##name,
#include "launcher/launchers.def"
#undef X
};

/* ---- words ----------------------------------------------------------------------------------- */

ak_status ak_words_add(ak_words *words, const char *word, ak_error *err)
{
    AK_FAIL_IF(words->count == AK_WORDS_MAX, err, AK_LIMIT,
               "a launcher's command has more than %d words", AK_WORDS_MAX);
    return ak_copy_text(&words->at[words->count++], word, err);
}

ak_status ak_words_split(ak_words *words, const char *text, ak_error *err)
{
    char word[AK_LAUNCHER_MAX];
    ak_status status = AK_OK;
    for (const char *at = text + strspn(text, " "); status == AK_OK && *at != 0;) {
        size_t length = strcspn(at, " ");
        (void)snprintf(word, sizeof word, "%.*s", (int)length, at);
        status = ak_words_add(words, word, err);
        at += length + strspn(at + length, " ");
    }
    return status;
}

void ak_words_free(ak_words *words)
{
    while (words->count > 0) {
        ak_free(words->at[--words->count]);
        words->at[words->count] = NULL;
    }
}

/* Appends a word, quoted so that a POSIX shell reads back the word itself. */
static ak_status add_quoted(ak_words *words, const char *word, ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(4 * AK_LAUNCHER_MAX);
    ak_shell_quote(&text, word);
    AK_DO(ak_buf_status(&text, err));
    return ak_words_add(words, text.data, err);
}

/* ---- seats ----------------------------------------------------------------------------------- */

size_t ak_launcher_listed(const char *devices)
{
    size_t count = 1;
    for (const char *at = devices; *at != 0; at++) {
        count += *at == ',' ? 1 : 0;
    }
    return count;
}

/* Writes the device of worker `nth` of a host, counted from 0. */
static void device_of(char *out, size_t bytes, const char *devices, size_t nth)
{
    const size_t count = ak_launcher_listed(devices);
    const char *at = devices;
    for (size_t skip = nth % count; skip > 0; skip--) {
        at += strcspn(at, ",") + 1;
    }
    (void)snprintf(out, bytes, "%.*s", (int)strcspn(at, ","), at);
    char *colon = strrchr(out, ':');
    int64_t first;
    if (count == 1 && nth > 0 && colon != NULL && ak_text_int(&first, colon + 1) && first >= 0) {
        size_t head = (size_t)(colon + 1 - out);
        (void)snprintf(out + head, bytes - head, "%lld", (long long)first + (long long)nth);
    }
}

ak_status ak_launcher_seat(ak_launcher *l, const char *host, size_t nth, const char *devices,
                           ak_error *err)
{
    AK_FAIL_IF(l->count == AK_SEATS_MAX, err, AK_LIMIT, "--launcher: more than %d workers",
               AK_SEATS_MAX);
    ak_seat *seat = &l->seats[l->count++];
    (void)snprintf(seat->host, sizeof seat->host, "%s", host);
    device_of(seat->device, sizeof seat->device, devices, nth);
    return AK_OK;
}

size_t ak_launcher_number(const char *variable, size_t fallback)
{
    const char *text = ak_env(variable);
    int64_t number;
    return text != NULL && ak_text_int(&number, text) && number > 0 ? (size_t)number : fallback;
}

/* ---- launchers ------------------------------------------------------------------------------- */

/* Reads "N" or "MIN-MAX" into numbers from 1 to AK_SEATS_MAX. */
static ak_status read_workers(size_t *least, size_t *most, const char *text, ak_error *err)
{
    char first[32];
    const char *dash = strchr(text, '-');
    int64_t low = 0, high = 0;
    size_t length = dash == NULL ? strlen(text) : (size_t)(dash - text);
    (void)snprintf(first, sizeof first, "%.*s", (int)(length < 31 ? length : 31), text);
    bool good = ak_text_int(&low, first) && ak_text_int(&high, dash == NULL ? first : dash + 1);
    AK_FAIL_IF(!good || low < 1 || high < low || high > AK_SEATS_MAX, err, AK_INVALID,
               "--workers %.40s: must be a number N or a range MIN-MAX, from 1 to %d", text,
               AK_SEATS_MAX);
    *least = (size_t)low;
    *most = (size_t)high;
    return AK_OK;
}

static const ak_launcher_ops *find(const char *text, size_t length)
{
    for (size_t i = 0; i < AK_COUNT(all); i++) {
        if (strlen(all[i]->name) == length && strncmp(all[i]->name, text, length) == 0) {
            return all[i];
        }
    }
    return NULL;
}

static void count_sharing(ak_launcher *l)
{
    for (size_t i = 0; i < l->count; i++) {
        ak_seat *seat = &l->seats[i];
        seat->sharing = seat->host[0] == 0 ? 1 : 0;
        for (size_t k = 0; k < l->count && seat->host[0] != 0; k++) {
            seat->sharing += strcmp(seat->host, l->seats[k].host) == 0 ? 1 : 0;
        }
    }
}

/* Keeps only the seat that AUTOKERNEL_SEAT names, if it is set: several tuners share a launcher's
   seats (cli/wide.c). Seats are numbered from 1; a number beyond the last seat counts on from the
   first. */
static void keep_one_seat(ak_launcher *l)
{
    size_t number = ak_launcher_number("AUTOKERNEL_SEAT", 0);
    l->whole = l->count;
    if (number > 0 && l->count > 0) {
        l->first = (number - 1) % l->count;
        l->seats[0] = l->seats[l->first];
        l->count = 1;
    }
}

ak_status ak_launcher_open(ak_launcher *out, const char *text, const char *workers,
                           const char *devices, ak_error *err)
{
    size_t length = strcspn(text, ":"), least = 1, most = 0;
    *out = (ak_launcher){.ops = find(text, length)};
    AK_FAIL_IF(out->ops == NULL, err, AK_INVALID,
               "--launcher %.60s: there is no such launcher; use cmd:WORDS, ssh:HOST,.. or "
               "slurm[:OPTIONS]",
               text);
    const char *rest = text[length] == 0 ? "" : text + length + 1;
    AK_FAIL_IF(strlen(rest) >= sizeof out->text, err, AK_LIMIT, "--launcher: longer than %d bytes",
               AK_LAUNCHER_MAX);
    (void)snprintf(out->text, sizeof out->text, "%s", rest);
    AK_DO(AK_NEW(out->seats, AK_SEATS_MAX, err));
    if (workers != NULL) {
        AK_DO(read_workers(&least, &most, workers, err));
    }
    AK_DO(out->ops->seats(out, devices, most, err));
    count_sharing(out);
    keep_one_seat(out);
    out->least = out->whole > out->count ? 1 : least;
    AK_FAIL_IF(out->least > out->count, err, AK_INVALID,
               "--workers %.40s: the launcher %s has places for %zu worker%s only", workers,
               out->ops->name, out->count, ak_plural(out->count));
    return AK_OK;
}

void ak_launcher_close(ak_launcher *l)
{
    ak_free(l->seats);
    *l = (ak_launcher){0};
}

ak_status ak_launcher_command(ak_words *out, const ak_launcher *l, size_t seat,
                              const char *const *argv, ak_error *err)
{
    AK_DO(l->ops->prefix(out, l, seat, err));
    for (size_t i = 0; argv[i] != NULL; i++) {
        AK_DO(l->ops->shell ? add_quoted(out, argv[i], err) : ak_words_add(out, argv[i], err));
    }
    return AK_OK;
}

ak_status ak_launcher_leave(ak_words *out, const char *run, ak_error *err)
{
    for (size_t i = 0; i < AK_COUNT(all) && out->count == 0; i++) {
        AK_DO(all[i]->leave != NULL ? all[i]->leave(out, run, err) : AK_OK);
    }
    return AK_OK;
}
