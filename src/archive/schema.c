/*
 * schema.c: the tables of the archive.
 *
 * Written for a person with the sqlite3 shell: statuses are words, times have their unit in the
 * name, texts are as the command line shows them. STRICT tables hold what they declare. Trials are
 * only ever added, so ids are never used twice.
 */
#include "archive/schema.h"

/* Version 2: conversations with language models. */
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
    "  reply TEXT,\n"  /* NULL: none came */                                                       \
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

/* Version 3: which of several devices, and what it did meanwhile. */
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

const char *const ak_schema_steps[AK_SCHEMA_VERSION - 1] = {
    "ALTER TABLE trials ADD COLUMN hypothesis TEXT;\n" CALLS,
    CONDITIONS,
};

const char ak_schema_sql[] =
    "CREATE TABLE environments (\n"
    "  hash TEXT PRIMARY KEY,\n"
    "  words TEXT,\n" /* JSON: what was hashed; NULL if only the hash is known */
    "  first_seen TEXT NOT NULL\n"
    ") STRICT, WITHOUT ROWID;\n"

    "CREATE TABLE runs (\n"
    "  number INTEGER PRIMARY KEY,\n" /* order in which they were started */
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
    "  imported INTEGER NOT NULL DEFAULT 0\n"
    ") STRICT;\n"

    "CREATE TABLE trials (\n"
    "  id INTEGER PRIMARY KEY,\n"
    "  run TEXT REFERENCES runs (id),\n"
    "  timestamp TEXT NOT NULL,\n"
    "  kernel TEXT NOT NULL,\n"
    "  implementation TEXT NOT NULL,\n"
    "  device TEXT NOT NULL,\n"
    "  size TEXT NOT NULL,\n"
    "  dtype TEXT NOT NULL,\n"
    "  choices TEXT NOT NULL,\n"
    "  config TEXT NOT NULL,\n"
    "  environment TEXT REFERENCES environments (hash),\n"
    "  strategy TEXT,\n"
    "  model TEXT,\n"
    "  generation INTEGER NOT NULL,\n"
    "  parent INTEGER REFERENCES trials (id),\n"
    "  predicted_gain REAL NOT NULL,\n"
    "  hypothesis TEXT,\n" /* of a language model */
    "  status TEXT NOT NULL,\n"
    "  reason TEXT,\n"
    "  propose_ns INTEGER NOT NULL,\n"
    "  compile_ns INTEGER NOT NULL,\n"
    "  check_ns INTEGER NOT NULL,\n"
    "  measure_ns INTEGER NOT NULL,\n"
    "  overhead_ns INTEGER NOT NULL,\n"
    "  samples_ms BLOB,\n" /* 64-bit IEEE numbers, little-endian */
    "  ms REAL,\n"         /* median; NULL: not measured, as in the columns that follow */
    "  ci_low_ms REAL,\n"
    "  ci_high_ms REAL,\n"
    "  max_error REAL,\n" /* NULL: not a number */
    "  registers INTEGER NOT NULL,\n"
    "  shared_bytes INTEGER NOT NULL,\n"
    "  spill_bytes INTEGER NOT NULL,\n"
    "  occupancy REAL NOT NULL,\n"
    "  tflops REAL,\n"
    "  gbs REAL,\n"
    "  efficiency REAL,\n"
    "  bound TEXT,\n"
    "  measured_on TEXT,\n"
    "  device_uuid TEXT,\n"
    "  sm_clock_mhz REAL,\n" /* of clocks and so on the mean; NULL: not known */
    "  memory_clock_mhz REAL,\n"
    "  power_watts REAL,\n"
    "  temperature_celsius REAL,\n"
    "  throttle TEXT,\n"
    "  utilisation REAL\n"
    ") STRICT;\n"

    /* By task, most selective questions first; by run; by configuration. */
    "CREATE INDEX trials_by_task ON trials (kernel, device, size, dtype, choices, implementation, "
    "environment);\n"
    "CREATE INDEX trials_by_run ON trials (run);\n"
    "CREATE INDEX trials_by_config ON trials (config);\n"
    "CREATE INDEX runs_by_task ON runs (kernel, device, size, dtype, choices);\n" CALLS;
