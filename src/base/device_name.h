/*
 * device_name.h: tells what the name of a device says: "host", "cuda:0", "opencl:0", or "sim:FILE"
 * and "sim:DEVICE" for a recording in place of a device.
 */
#ifndef AK_BASE_DEVICE_NAME_H
#define AK_BASE_DEVICE_NAME_H

#include <stdbool.h>

#define AK_DEVICE_RECORDED "sim:"

/* Returns whether results of the device come from a recording; false if `device` is NULL. */
bool ak_device_is_recorded(const char *device);

#endif
