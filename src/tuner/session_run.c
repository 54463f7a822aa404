/* session_run.c: the clock of a run, and its id; see session.h. */
#include <unistd.h>

#include "archive/archive.h"
#include "tuner/session.h"

void ak_run_id(char out[AK_RUN_ID_BYTES])
{
    char now[AK_CLOCK_UTC_BYTES];
    ak_clock_utc(now);
    uint64_t words[3] = {(uint64_t)ak_clock_ns(), (uint64_t)getpid(), ak_hash64(now, strlen(now))};
    (void)snprintf(out, AK_RUN_ID_BYTES, "%016llx",
                   (unsigned long long)ak_hash64(words, sizeof words));
}

int64_t ak_session_now_ns(const ak_session *session)
{
    return ak_pool_now_ns(session->pool);
}

void ak_session_utc(char out[AK_CLOCK_UTC_BYTES], const ak_session *session)
{
    ak_session_utc_of(out, session, ak_session_now_ns(session));
}

void ak_session_utc_of(char out[AK_CLOCK_UTC_BYTES], const ak_session *session, int64_t ns)
{
    if (ak_pool_recalls(session->pool)) {
        ak_clock_utc_at(out, ns);
    } else {
        ak_clock_utc_before(out, ak_session_now_ns(session) - ns);
    }
}

ak_status ak_session_run_id(char out[AK_RUN_ID_BYTES], const ak_session *session, const char *words,
                            ak_archive *archive, ak_error *err)
{
    ak_status status = AK_OK;
    uint64_t name[3] = {ak_hash64(session->environment, strlen(session->environment)),
                        ak_hash64(words, strlen(words)), 0};
    if (!ak_pool_recalls(session->pool)) {
        ak_run_id(out);
        return AK_OK;
    }
    while (status == AK_OK) {
        AK_AT_END(ak_run_clear) ak_run known = {0};
        (void)snprintf(out, AK_RUN_ID_BYTES, "%016llx",
                       (unsigned long long)ak_hash64(name, sizeof name));
        name[2]++;
        status = archive == NULL ? AK_NOT_FOUND : ak_archive_get_run(&known, archive, out, err);
    }
    return status == AK_NOT_FOUND ? AK_OK : status;
}
