/* launcher_cmd.c: starts workers with a command of the user, such as `kubectl exec -i pod-{worker}
   --`. Blanks separate its words, and no shell reads them. */
#include <string.h>

#include "launcher/launcher.h"

/* Copies a word, with {worker} replaced by the worker's number, from 0 on, and {device} by its
   device. */
static ak_status fill_in(char out[AK_LAUNCHER_MAX], const char *word, const ak_launcher *l,
                         size_t seat, ak_error *err)
{
    char number[24];
    (void)snprintf(number, sizeof number, "%zu", l->first + seat);
    const struct {
        const char *name, *value;
    } known[] = {{"{worker}", number}, {"{device}", l->seats[seat].device}};
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(AK_LAUNCHER_MAX - 1);
    while (*word != 0) {
        size_t i = 0;
        while (i < 2 && strncmp(word, known[i].name, strlen(known[i].name)) != 0) {
            i++;
        }
        if (i < 2) {
            ak_buf_puts(&text, known[i].value);
            word += strlen(known[i].name);
        } else {
            ak_buf_putc(&text, *word++);
        }
    }
    ak_status status = ak_buf_status(&text, err);
    (void)snprintf(out, AK_LAUNCHER_MAX, "%s", text.data);
    return status;
}

static ak_status seats(ak_launcher *l, const char *devices, size_t most, ak_error *err)
{
    const size_t listed = ak_launcher_listed(devices);
    AK_FAIL_IF(l->text[strspn(l->text, " ")] == 0, err, AK_INVALID,
               "--launcher cmd: needs a command, such as cmd:env or 'cmd:kubectl exec -i "
               "pod-{worker} --'");
    for (size_t i = 0; i < (most == 0 ? listed : most); i++) {
        /* It is not known which workers share a machine, so a single device is given to all. */
        AK_DO(ak_launcher_seat(l, "", listed == 1 ? 0 : i, devices, err));
    }
    return AK_OK;
}

static ak_status prefix(ak_words *out, const ak_launcher *l, size_t seat, ak_error *err)
{
    AK_AT_END(ak_words_free) ak_words words = {.count = 0};
    char filled[AK_LAUNCHER_MAX];
    AK_DO(ak_words_split(&words, l->text, err));
    for (size_t i = 0; i < words.count; i++) {
        AK_DO(fill_in(filled, words.at[i], l, seat, err));
        AK_DO(ak_words_add(out, filled, err));
    }
    return AK_OK;
}

static const char *const passes[] = {"KUBECONFIG", "SSH_AUTH_SOCK", "KRB5CCNAME",
                                     "SLURM_",     "DOCKER_",       NULL};

const ak_launcher_ops ak_launcher_cmd = {
    .name = "cmd",
    .help = "cmd:WORDS",
    .seats = seats,
    .prefix = prefix,
    .passes = passes,
};
