/*
 * server.h: the dashboard, ak_serve in the public header.
 *
 * One thread does everything: it waits for requests and, twice a second, checks whether other
 * processes have written into the archive. It sends what changed to the browsers that wait on
 * /events. No address is a file path: the server answers only the addresses that server.c lists.
 *
 *     /, /run/ID, /study/N  a page; its scripts ask for its data
 *     /assets/NAME          scripts and style, from the executable
 *     /api/runs             the runs and the studies, as JSON
 *     /api/run/ID           the data that the page /run/ID shows (report/page.h), as JSON
 *     /api/study/N          the data that the page /study/N shows, as JSON
 *     /events               server-sent events: "runs" and "studies" list what changed, and their
 *                           event id, if they have one, is a place (watch.h), which a browser that
 *                           reconnects sends as Last-Event-ID; "fleets" and "killed" hold the whole
 *                           present state
 */
#ifndef AK_SERVE_SERVER_H
#define AK_SERVE_SERVER_H

/* Limit on dismissed connections that are not closed yet (guests.h). */
#define AK_SERVE_LEAVING_MAX 64
/* Seconds without a byte after which a connection ends. */
#define AK_SERVE_IDLE_S 60u
/* Intervals in ms between polls of the archive, and between comments that keep streams open. */
#define AK_SERVE_POLL_MS  500
#define AK_SERVE_PULSE_MS 15000

#endif
