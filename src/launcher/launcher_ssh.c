/* launcher_ssh.c: starts each worker over an ssh connection of its own. ssh never asks for a
   password here, so the hosts must accept a key. */
#include <string.h>

#include "launcher/launcher.h"

#include "base/text.h"

static const char usage[] =
    "needs hosts separated by commas, such as ssh:gpu1,gpu2*4 (four workers on gpu2), with options "
    "of ssh before them if need be: 'ssh:-F FILE gpu1,gpu2'";

/* Returns where the list of hosts begins: after the last blank. */
static const char *hosts_of(const ak_launcher *l)
{
    const char *blank = strrchr(l->text, ' ');
    return blank == NULL ? l->text : blank + 1;
}

static ak_status add_host(ak_launcher *l, const char *text, size_t length, const char *devices,
                          size_t most, ak_error *err)
{
    char host[64];
    int64_t times = 1;
    (void)snprintf(host, sizeof host, "%.*s", (int)(length < 64 ? length : 63), text);
    char *star = strchr(host, '*');
    bool good = length > 0 && length < sizeof host && host[0] != '-' &&
                (star == NULL || ak_text_int(&times, star + 1)) && times > 0 &&
                times <= AK_SEATS_MAX;
    if (star != NULL) {
        *star = 0;
    }
    AK_FAIL_IF(!good || host[0] == 0, err, AK_INVALID, "--launcher ssh:%.80s: %s", l->text, usage);
    for (int64_t i = 0; i < times && (most == 0 || l->count < most); i++) {
        AK_DO(ak_launcher_seat(l, host, (size_t)i, devices, err));
    }
    return AK_OK;
}

static ak_status seats(ak_launcher *l, const char *devices, size_t most, ak_error *err)
{
    ak_status status = AK_OK;
    const char *at = hosts_of(l);
    do {
        size_t length = strcspn(at, ",");
        status = add_host(l, at, length, devices, most, err);
        at += length;
    } while (status == AK_OK && *at++ == ',');
    return status;
}

static ak_status prefix(ak_words *out, const ak_launcher *l, size_t seat, ak_error *err)
{
    /* -T: no terminal; -a, -x: no forwarding of our agent or display; BatchMode: no questions;
       ControlMaster, ControlPath: no connection is shared; ServerAlive...: a connection ends
       when the other machine no longer answers */
    static const char options[] = "ssh -T -a -x -o BatchMode=yes -o ControlMaster=no "
                                  "-o ControlPath=none -o ServerAliveInterval=5 "
                                  "-o ServerAliveCountMax=3 -o ConnectTimeout=20";
    char own[AK_LAUNCHER_MAX];
    (void)snprintf(own, sizeof own, "%.*s", (int)(hosts_of(l) - l->text), l->text);
    AK_DO(ak_words_split(out, options, err));
    AK_DO(ak_words_split(out, own, err));
    AK_DO(ak_words_add(out, "--", err));
    AK_DO(ak_words_add(out, l->seats[seat].host, err));
    AK_DO(ak_words_add(out, "exec", err)); /* no shell stays between sshd and the worker */
    return AK_OK;
}

static const char *const passes[] = {"SSH_AUTH_SOCK", "KRB5CCNAME", NULL};

const ak_launcher_ops ak_launcher_ssh = {
    .name = "ssh",
    .help = "ssh:[OPTIONS ]HOST[*N],..",
    .seats = seats,
    .prefix = prefix,
    .shell = true,
    .passes = passes,
};
