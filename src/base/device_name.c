#include "base/device_name.h"

#include <string.h>

bool ak_device_is_recorded(const char *device)
{
    return device != NULL && strncmp(device, AK_DEVICE_RECORDED, strlen(AK_DEVICE_RECORDED)) == 0;
}
