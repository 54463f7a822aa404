/* calls.c: writes conversations with language models to the archive and reads them. */
#include "archive/archive.h"

#include <string.h>

#include "archive/store.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/utf8.h"

/* Limit for each stored text, in bytes; a longer one is cut. Separately, the client limits how many
   bytes of a reply it reads. */
#define TEXT_BYTES_MAX (4u << 20)

/* X(column): the columns with texts, in the order of the statements. The columns with numbers
   follow them. */
#define TEXT_MAP(X)                                                                                \
    X(run)                                                                                         \
    X(started)                                                                                     \
    X(model)                                                                                       \
    X(system)                                                                                      \
    X(brief)                                                                                       \
    X(state)                                                                                       \
    X(reply)                                                                                       \
    X(finish)                                                                                      \
    X(fault)                                                                                       \
    X(error)                                                                                       \
    X(request_id)                                                                                  \
    X(proposals)
#define NUMBER_MAP(X)                                                                              \
    X(generation)                                                                                  \
    X(attempts)                                                                                    \
    X(elapsed_ns)                                                                                  \
    X(input_tokens)                                                                                \
    X(cached_tokens)                                                                               \
    X(output_tokens)                                                                               \
    X(reasoning_tokens)                                                                            \
    X(replayed)

#define NAME(column)  #column ", "
#define PLACE(column) "?, "
static const char add_sql[] = "INSERT INTO calls (" TEXT_MAP(NAME)
    NUMBER_MAP(NAME) "cost_usd) "
                     "VALUES (" TEXT_MAP(PLACE) NUMBER_MAP(PLACE) "?)";
static const char read_sql[] = "SELECT " TEXT_MAP(NAME)
    NUMBER_MAP(NAME) "cost_usd FROM calls "
                     "WHERE ?1 IS NULL OR run IN " AK_STORE_RUNS("?1") " ORDER BY id";
#undef NAME
#undef PLACE

void ak_call_clear(ak_call *call)
{
#define CLEAR(column) ak_free(call->column);
    TEXT_MAP(CLEAR)
#undef CLEAR
    *call = (ak_call){0};
}

bool ak_call_was_asked(const ak_call *call)
{
    return call->attempts > 0 || call->fault == NULL || strcmp(call->fault, "budget") != 0;
}

bool ak_call_tokens_known(const ak_call *call)
{
    bool nothing_sent = call->error != NULL && call->attempts == 0;
    return nothing_sent || call->input_tokens + call->output_tokens > 0;
}

ak_status ak_call_copy(ak_call *out, const ak_call *call, ak_error *err)
{
    bool lost = false;
    *out = *call;
#define COPY(column)                                                                               \
    out->column = ak_strdup(call->column);                                                         \
    lost = lost || (call->column != NULL && out->column == NULL);
    TEXT_MAP(COPY)
#undef COPY
    if (lost) {
        ak_call_clear(out);
    }
    return ak_stored(!lost, err);
}

/* Binds a text, which a model may have written. It is made valid UTF-8, and is cut if it is too
   long. */
static bool bind_foreign(sqlite3_stmt *statement, int position, const char *text)
{
    if (text == NULL) {
        return sqlite3_bind_null(statement, position) == SQLITE_OK;
    }
    AK_FREED char *cut = ak_strndup(text, strnlen(text, TEXT_BYTES_MAX));
    AK_FREED char *clean = cut == NULL ? NULL : ak_utf8_clean(cut);
    return clean != NULL &&
           sqlite3_bind_text(statement, position, clean, -1, SQLITE_TRANSIENT) == SQLITE_OK;
}

ak_status ak_store_add_call(ak_archive *archive, const ak_call *call, ak_error *err)
{
    sqlite3_stmt *statement;
    char now[AK_CLOCK_UTC_BYTES];
    ak_clock_utc(now);
    ak_call record = *call;
    if (record.started == NULL) {
        record.started = now;
    }
    AK_DO(ak_store_prepare(&statement, archive, add_sql, err));
    int position = 1;
    bool bound = true;
#define BIND_TEXT(column) bound = bound && bind_foreign(statement, position++, record.column);
#define BIND_NUMBER(column)                                                                        \
    bound = bound && sqlite3_bind_int64(statement, position++, record.column) == SQLITE_OK;
    TEXT_MAP(BIND_TEXT)
    NUMBER_MAP(BIND_NUMBER)
#undef BIND_TEXT
#undef BIND_NUMBER
    bound = bound && (record.priced ? sqlite3_bind_double(statement, position, record.cost_usd)
                                    : sqlite3_bind_null(statement, position)) == SQLITE_OK;
    return ak_store_finish(archive, statement, bound, err);
}

static ak_status read_call(ak_call *out, sqlite3_stmt *row, ak_error *err)
{
    int column = 0;
#define READ_TEXT(name) AK_DO(ak_store_text(&out->name, row, column++, err));
    TEXT_MAP(READ_TEXT)
#undef READ_TEXT
#define READ_NUMBER(name) out->name = (__typeof__(out->name))sqlite3_column_int64(row, column++);
    NUMBER_MAP(READ_NUMBER)
#undef READ_NUMBER
    out->priced = sqlite3_column_type(row, column) != SQLITE_NULL;
    out->cost_usd = sqlite3_column_double(row, column);
    return AK_OK;
}

ak_status ak_archive_each_call(ak_archive *archive, const char *run, ak_call_visitor visit,
                               void *context, ak_error *err)
{
    AK_AT_END(ak_store_finalize) sqlite3_stmt *statement = NULL;
    ak_status status = ak_store_query(&statement, archive, read_sql, &run, 1, err);
    bool more = true;
    while (more && ak_store_next(&status, archive, statement, err)) {
        AK_AT_END(ak_call_clear) ak_call call = {0};
        status = read_call(&call, statement, err);
        more = status == AK_OK && visit(context, &call);
    }
    return status;
}
