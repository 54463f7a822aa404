/*
 * server.h: the dashboard, ak_serve in the public header.
 *
 * One thread does everything: it waits for requests and, twice a second, checks whether other
 * processes have written into the archive. The runs that changed are sent to the browsers that wait
 * on /events. Addresses are not paths of files: the server answers only those that server.c lists.
 *
 *     /, /run/ID, /study/N  a page; its scripts ask for the rest
 *     /assets/NAME          scripts and style, from the executable
 *     /api/runs             the runs and the studies, as JSON
 *     /api/run/ID           what the page of a run draws from (report/page.h)
 *     /api/study/N          what the page of a study draws from
 *     /events               server-sent events: "runs" and "studies", those that changed; the id of
 *                           an event is a place of watch.h, which Last-Event-ID gives back;
 *                           "fleets" and "killed", each the present state
 */
#ifndef AK_SERVE_SERVER_H
#define AK_SERVE_SERVER_H

#include "base/status.h"

/* Connections that are being ended while others have taken their places (guests.h). */
#define AK_SERVE_LEAVING_MAX 64
/* Seconds without a byte after which a connection ends. */
#define AK_SERVE_IDLE_S 60u
/* How often the archive is polled, and how often a silent stream gets a sign of life. */
#define AK_SERVE_POLL_MS  500
#define AK_SERVE_PULSE_MS 15000

#endif
