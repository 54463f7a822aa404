/*
 * device_name.h: tells from the name of a device whether it is a recording in place of a device:
 * "sim:FILE" and "sim:DEVICE" are; "host", "cuda:0" and "opencl:0" are not.
 */
#ifndef AK_BASE_DEVICE_NAME_H
#define AK_BASE_DEVICE_NAME_H

#include <stdbool.h>

#define AK_DEVICE_RECORDED "sim:"

/* Returns whether results of the device come from a recording; false if `device` is NULL. */
bool ak_device_is_recorded(const char *device);

#endif
