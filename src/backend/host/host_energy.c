/*
 * host_energy.c: reads the energy of the processor packages from RAPL, as Linux shows it in
 * /sys/class/powercap (Documentation/power/powercap/powercap.rst): a folder intel-rapl:N for each
 * package, also on AMD, with a counter of its energy in microjoules and the value at which the
 * counter wraps around.
 */
#include "backend/host/host.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"

#define POWERCAP     "/sys/class/powercap"
#define NUMBER_BYTES 64

static const char *powercap(void)
{
    const char *folder = ak_env("AUTOKERNEL_POWERCAP");
    return folder == NULL || folder[0] == 0 ? POWERCAP : folder;
}

static ak_status read_number(double *out, const char *folder, const char *package, const char *file,
                             ak_error *err)
{
    char path[AK_PATH_MAX];
    AK_FREED char *text = NULL;
    (void)snprintf(path, sizeof path, "%s/%s/%s", folder, package, file);
    if (access(path, R_OK) != 0) {
        return errno == EACCES
                   ? ak_fail(err, AK_UNAVAILABLE,
                             "%.200s may be read by root only; `sudo chmod a+r %.200s` allows it "
                             "until the next boot",
                             path, path)
                   : ak_fail(err, AK_UNAVAILABLE, "%.200s: %s", path, strerror(errno));
    }
    AK_DO(ak_fs_read(&text, NULL, path, NUMBER_BYTES, err));
    text[strcspn(text, "\n")] = 0;
    bool good = ak_text_real(out, text) && *out >= 0;
    AK_FAIL_IF(!good, err, AK_UNAVAILABLE,
               "%.200s holds no number, so energy cannot be measured here: use --objective time",
               path);
    return AK_OK;
}

/* Adds the joules that one package has used since the last reading; none at the first reading and
   at the one after a failure. */
static ak_status add_package(ak_host_energy *energy, const char *folder, const char *package,
                             size_t at, ak_error *err)
{
    double now = 0, range = 0;
    AK_DO(read_number(&now, folder, package, "energy_uj", err));
    if (energy->begun && now < energy->last[at]) { /* the counter wrapped around */
        AK_DO(read_number(&range, folder, package, "max_energy_range_uj", err));
    }
    energy->sum += energy->begun ? (now + range - energy->last[at]) / 1e6 : 0;
    energy->last[at] = now;
    return AK_OK;
}

ak_status ak_host_energy_read(double *out, ak_host_energy *energy, ak_error *err)
{
    const char *folder = powercap();
    size_t count = 0;
    ak_status status = AK_OK;
    for (size_t i = 0; i < AK_HOST_PACKAGES_MAX; i++) {
        char name[32], path[AK_PATH_MAX];
        (void)snprintf(name, sizeof name, "intel-rapl:%zu", i);
        (void)snprintf(path, sizeof path, "%s/%s/name", folder, name);
        AK_FREED char *text = NULL;
        if (ak_fs_read(&text, NULL, path, NUMBER_BYTES, NULL) == AK_OK &&
            strncmp(text, "package", 7) == 0) { /* psys is the whole machine */
            AK_TRY(add_package(energy, folder, name, count++, err));
        }
    }
    if (count == 0) {
        AK_TRY(ak_fail(err, AK_UNAVAILABLE,
                       "this machine shows no energy of its processor: %.200s has no package "
                       "(virtual machines usually have none); choose another --objective",
                       folder));
    }
out:
    energy->begun = status == AK_OK;
    *out = energy->sum;
    return status;
}
