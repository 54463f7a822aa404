/* schema.h: the tables of the archive, as SQL. docs/formats.md explains each column. */
#ifndef AK_ARCHIVE_SCHEMA_H
#define AK_ARCHIVE_SCHEMA_H

/* "AKAR": tells an archive from any other SQLite file (PRAGMA application_id). */
#define AK_SCHEMA_APPLICATION 0x414b4152
/* PRAGMA user_version. One more with every change of the tables, with the step that leads there. */
#define AK_SCHEMA_VERSION 3

extern const char ak_schema_sql[];
/* Step i leads from version i + 1 to i + 2. The rows that are there stay as they are. */
extern const char *const ak_schema_steps[AK_SCHEMA_VERSION - 1];

#endif
