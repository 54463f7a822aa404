/*
 * schema.c: declares the tables of the archive, except those of fleets.c and whereabouts.c.
 *
 * They are meant to be read with the sqlite3 shell: statuses are words, durations have their unit
 * in the name, and texts are as the command line shows them. STRICT tables accept only values of
 * the declared types. Ids of trials that were removed (remove.c) may be used again.
 */
#include "archive/store.h"

#include "archive/field.h"

/* Version 2 adds conversations with language models, and to each trial its hypothesis. */
#define CALLS                                                                                      \
    "CREATE TABLE calls (\n"                                                                       \
    "  id INTEGER PRIMARY KEY,\n"                                                                  \
    "  run TEXT NOT NULL REFERENCES runs (id),\n"                                                  \
    "  generation INTEGER NOT NULL,\n"                                                             \
    "  started TEXT NOT NULL,\n"                                                                   \
    "  model TEXT NOT NULL,\n"                                                                     \
    "  system TEXT NOT NULL,\n"                                                                    \
    "  brief TEXT NOT NULL,\n"                                                                     \
    "  state TEXT NOT NULL,\n"                                                                     \
    "  reply TEXT,\n"  /* NULL: the call failed */                                                 \
    "  finish TEXT,\n" /* why the model stopped */                                                 \
    "  fault TEXT,\n"  /* NULL: the call succeeded */                                              \
    "  error TEXT,\n"                                                                              \
    "  request_id TEXT,\n"                                                                         \
    "  proposals TEXT,\n" /* JSON */                                                               \
    "  attempts INTEGER NOT NULL,\n"                                                               \
    "  elapsed_ns INTEGER NOT NULL,\n"                                                             \
    "  input_tokens INTEGER NOT NULL,\n"                                                           \
    "  cached_tokens INTEGER NOT NULL,\n"                                                          \
    "  output_tokens INTEGER NOT NULL,\n"                                                          \
    "  reasoning_tokens INTEGER NOT NULL,\n"                                                       \
    "  cost_usd REAL,\n" /* NULL: the model's price is not known */                                \
    "  replayed INTEGER NOT NULL\n"                                                                \
    ") STRICT;\n"                                                                                  \
    "CREATE INDEX calls_by_run ON calls (run);\n"

/* Version 3 adds to each trial which of several devices measured it, and the clocks, power,
   temperature, throttling and utilisation of that device. */
#define ADD(column) "ALTER TABLE trials ADD COLUMN " column ";\n"
#define CONDITIONS                                                                                 \
    ADD("measured_on TEXT")                                                                        \
    ADD("device_uuid TEXT")                                                                        \
    ADD("sm_clock_mhz REAL")                                                                       \
    ADD("memory_clock_mhz REAL")                                                                   \
    ADD("power_watts REAL")                                                                        \
    ADD("temperature_celsius REAL")                                                                \
    ADD("throttle TEXT")                                                                           \
    ADD("utilisation REAL")

/* Version 4 adds a checksum of each trial; NULL: the trial is older or another program wrote it. */
#define CHECKSUMS ADD("checksum INTEGER")

/* Version 5 adds the sources of kernels. */
#define SOURCES                                                                                    \
    "CREATE TABLE IF NOT EXISTS sources (\n"                                                       \
    "  hash TEXT PRIMARY KEY,\n" /* member "source" of an environment's words */                   \
    "  files BLOB NOT NULL,\n"   /* a tar file, compressed (RFC 1950) */                           \
    "  first_seen TEXT NOT NULL\n"                                                                 \
    ") STRICT, WITHOUT ROWID;\n"

/* Version 6 adds to each trial which compile worker compiled it and when, and adds the results of
   studies and simulations. */
#define COMPILED                                                                                   \
    ADD("compile_worker INTEGER NOT NULL DEFAULT 0")                                               \
    ADD("compiled_before_ns INTEGER NOT NULL DEFAULT 0")
#define STUDIES                                                                                    \
    "CREATE TABLE IF NOT EXISTS studies (\n"                                                       \
    "  id INTEGER PRIMARY KEY,\n"                                                                  \
    "  ended TEXT NOT NULL,\n"                                                                     \
    "  kind TEXT NOT NULL,\n"  /* study or simulate */                                             \
    "  result TEXT NOT NULL\n" /* JSON */                                                          \
    ") STRICT;\n"

/* Version 7 adds to each trial its energy, the size of its code and the cost under an objective
   other than the time. */
#define COSTS                                                                                      \
    ADD("joules REAL")                                                                             \
    ADD("joules_low REAL")                                                                         \
    ADD("joules_high REAL")                                                                        \
    ADD("code_bytes INTEGER NOT NULL DEFAULT 0")                                                   \
    ADD("cost REAL")                                                                               \
    ADD("cost_low REAL")                                                                           \
    ADD("cost_high REAL")

/* Version 8 adds to each trial a hash of the code that was judged. */
#define CODE ADD("code_hash TEXT")

/* Version 9 adds to each environment the hash that it has today (ak_archive_rename_environment);
   NULL: its own. */
#define IDENTITY "ALTER TABLE environments ADD COLUMN same_as TEXT;\n"

/* Version 10 marks the trials that were not measured because an earlier trial of the run with the
   same code gave their outcome. */
#define SAME ADD("same_code INTEGER NOT NULL DEFAULT 0")

/* Version 11 adds a checksum of each run's result; NULL: there is no result, or it is older. */
#define SUMS "ALTER TABLE runs ADD COLUMN result_checksum INTEGER;\n"

/* Version 12 marks the trials that were imported, from a file or from another archive. */
#define IMPORTED ADD("imported INTEGER NOT NULL DEFAULT 0")

const char *const ak_schema_steps[AK_SCHEMA_VERSION - 1] = {
    "ALTER TABLE trials ADD COLUMN hypothesis TEXT;\n" CALLS,
    CONDITIONS,
    CHECKSUMS,
    SOURCES,
    COMPILED STUDIES,
    COSTS,
    CODE,
    IDENTITY,
    SAME,
    SUMS,
    IMPORTED,
};

/* The columns of the fields of a trial, by their kinds in field.h. */
#define COLUMN_TEXT                    "TEXT NOT NULL"
#define COLUMN_NULLABLE                "TEXT"
#define COLUMN_FOREIGN                 "TEXT"
#define COLUMN_INT                     "INTEGER NOT NULL"
#define COLUMN_LONG                    "INTEGER NOT NULL"
#define COLUMN_LINK                    "INTEGER REFERENCES trials (id)"
#define COLUMN_REAL                    "REAL NOT NULL"
#define COLUMN_MEASURED                "REAL" /* NULL: not measured */
#define COLUMN_UNBOUNDED               "REAL" /* NULL: not a number */
#define COLUMN_STATUS                  "TEXT NOT NULL"
#define COLUMN_SAMPLES                 "BLOB" /* 64-bit IEEE numbers, little-endian */
#define COLUMN(name, kind, member, by) "  " #name " " COLUMN_##kind ",\n"

const char ak_schema_sql[] =
    "CREATE TABLE environments (\n"
    "  hash TEXT PRIMARY KEY,\n"
    "  words TEXT,\n" /* JSON: what was hashed; NULL if only the hash is known */
    "  first_seen TEXT NOT NULL,\n"
    "  same_as TEXT\n" /* the hash that it has today; NULL: its own */
    ") STRICT, WITHOUT ROWID;\n"

    "CREATE TABLE runs (\n"
    "  number INTEGER PRIMARY KEY,\n" /* order in which runs were added */
    "  id TEXT NOT NULL UNIQUE,\n"
    "  started TEXT NOT NULL,\n"
    "  ended TEXT,\n"
    "  kernel TEXT NOT NULL,\n"
    "  implementation TEXT NOT NULL,\n"
    "  device TEXT NOT NULL,\n"
    "  size TEXT NOT NULL,\n"
    "  dtype TEXT NOT NULL,\n"
    "  choices TEXT NOT NULL,\n"
    "  strategy TEXT,\n"
    "  environment TEXT REFERENCES environments (hash),\n"
    "  options TEXT,\n" /* JSON */
    "  result TEXT,\n"  /* JSON */
    "  imported INTEGER NOT NULL DEFAULT 0,\n"
    "  result_checksum INTEGER\n"
    ") STRICT;\n"

    "CREATE TABLE trials (\n"
    "  id INTEGER PRIMARY KEY,\n" AK_FIELD_MAP(
        COLUMN) "  checksum INTEGER,\n"
                "  FOREIGN KEY (run) REFERENCES runs (id),\n"
                "  FOREIGN KEY (environment) REFERENCES environments (hash)\n"
                ") STRICT;\n"

                /* Indices by task (most selective columns first), by run and by configuration. */
                "CREATE INDEX trials_by_task ON trials (kernel, device, size, dtype, choices, "
                "implementation, environment);\n"
                "CREATE INDEX trials_by_run ON trials (run);\n"
                "CREATE INDEX trials_by_config ON trials (config);\n"
                "CREATE INDEX runs_by_task ON runs (kernel, device, size, dtype, choices);\n" CALLS
                    SOURCES STUDIES;
