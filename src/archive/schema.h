/* schema.h: the tables of the archive, as SQL. docs/formats.md explains each column. */
#ifndef AK_ARCHIVE_SCHEMA_H
#define AK_ARCHIVE_SCHEMA_H

/* "AKAR", which tells an archive from any other SQLite file (PRAGMA application_id). */
#define AK_SCHEMA_APPLICATION 0x414b4152
/* The version (PRAGMA user_version). Every change of the tables increments the version and adds a
   step to ak_schema_steps. */
#define AK_SCHEMA_VERSION 11

extern const char ak_schema_sql[];
/* Step i migrates from version i + 1 to i + 2. Existing rows stay as they are. */
extern const char *const ak_schema_steps[AK_SCHEMA_VERSION - 1];

#endif
