/*
 * zones.h: the red zones before and after a candidate's workspace on a device (check/guard.h). They
 * are painted before each batch, with another key and content each time, and checked after it. A
 * backend says how a zone is sent and fetched.
 */
#ifndef AK_BACKEND_LAUNCH_ZONES_H
#define AK_BACKEND_LAUNCH_ZONES_H

#include "backend/backend.h"
#include "check/guard.h"

typedef struct ak_zones {
    ak_guard_stream streams[2];          /* of the zones before and after, as painted */
    unsigned char bytes[AK_GUARD_BYTES]; /* of the zone that is sent or fetched */
    unsigned rounds;
} ak_zones;

/* Sends or fetches the zone on one side of the first `workspace` bytes, from or to `bytes` of
   ak_zones. Returns 0 or the driver's code. */
typedef int (*ak_zone_copy)(ak_device *device, ak_guard_side side, size_t workspace);

/* Paints and sends both zones. Returns 0 or the driver's code. */
int ak_zones_paint(ak_zones *zones, ak_dtype dtype, ak_device *device, size_t workspace,
                   ak_zone_copy send);
/* Gives whether the zones before and after the workspace are unchanged. Returns 0 or the driver's
   code. */
int ak_zones_check(bool whole[2], ak_zones *zones, ak_device *device, size_t workspace,
                   ak_zone_copy fetch);

#endif
