#include "measure/pressure.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"

#define FILE_BYTES_MAX 1024

int64_t ak_pressure_parse(const char *text)
{
    const char *line = strncmp(text, "some ", 5) == 0 ? text : strstr(text, "\nsome ");
    const char *total = line == NULL ? NULL : strstr(line, "total=");
    const char *end = line == NULL ? NULL : strchr(line + 1, '\n');
    if (total == NULL || (end != NULL && total > end)) {
        return -1;
    }
    char *rest;
    long long value = strtoll(total + strlen("total="), &rest, 10);
    return rest == total + strlen("total=") || value < 0 ? -1 : (int64_t)value;
}

void ak_pressure_take(ak_pressure_mark *out)
{
    char *text = NULL;
    *out = (ak_pressure_mark){.waited_us = -1};
    if (ak_fs_read(&text, NULL, "/proc/pressure/cpu", FILE_BYTES_MAX, NULL) == AK_OK) {
        out->waited_us = ak_pressure_parse(text);
    }
    ak_free(text);
    out->at_ns = ak_clock_ns();
}

double ak_pressure_between(const ak_pressure_mark *from, const ak_pressure_mark *to)
{
    double wall_us = (double)(to->at_ns - from->at_ns) / 1e3;
    if (from->waited_us < 0 || to->waited_us < from->waited_us || !(wall_us > 0)) {
        return -1;
    }
    double part = (double)(to->waited_us - from->waited_us) / wall_us;
    return part < 1 ? part : 1;
}

double ak_pressure_look(void)
{
    ak_pressure_mark from, to;
    ak_pressure_take(&from);
    if (from.waited_us < 0) {
        return -1;
    }
    ak_clock_sleep_ns(AK_PRESSURE_LOOK_NS);
    ak_pressure_take(&to);
    return ak_pressure_between(&from, &to);
}
