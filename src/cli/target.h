/* target.h: keeps a command from replacing a file that autokernel has not written. The comment of
   each function says which files it accepts (AK_OK). Any other file that exists is refused, unless
   --force is given and the file is no archive. A path "-" is standard output; an empty file may be
   replaced, and what is no regular file, such as a pipe, may be written to. */
#ifndef AK_CLI_TARGET_H
#define AK_CLI_TARGET_H

#include "cli/command.h"

/* The bytes that a file is to get; borrowed. */
typedef struct ak_content {
    const void *data;
    size_t length;
} ak_content;

/* Accepts a file unless it is an export of another task than `text`, the export to be written: all
   tasks have the same default name for their exports, so the file of another one could be lost. */
ak_status ak_target_of_task(const char *path, const char *text, const ak_args *args, ak_error *err);
/* Accepts a file that export wrote for the same kernel, and a folder that is no kernel's. A file of
   another kernel may be in use elsewhere. */
ak_status ak_target_of_export(const char *path, const char *kernel, const ak_args *args,
                              ak_error *err);
/* Accepts a file in `folder` that belongs to a bundle of the same kernel, is an earlier export of
   the C source in `content`, or has this content. If `folder` is NULL, `name` is the path of a file
   on its own, which is accepted as by ak_target_of_export. */
ak_status ak_target_in_bundle(const char *folder, const char *name, const ak_content *content,
                              const char *kernel, const ak_args *args, ak_error *err);
/* Accepts reports, in all formats. */
ak_status ak_target_of_report(const char *path, const ak_args *args, ak_error *err);
/* Accepts the events of a run. */
ak_status ak_target_of_events(const char *path, const ak_args *args, ak_error *err);
/* Accepts a file that has this content already, so a kernel that a user has changed is not lost. */
ak_status ak_target_of_source(const char *path, const ak_content *content, const ak_args *args,
                              ak_error *err);

/* A format that the end of a file's name stands for. */
typedef struct ak_ending {
    const char *ending;     /* "csv" */
    const char *formats[8]; /* those that a file with this ending may have, then NULL; none: the
                               name is refused */
} ak_ending;
/* Refuses a name whose end, if it is one of the list, stands for other formats than `format`, which
   the option `asked` ("--json") asked for; NULL: none did. `path` may be NULL. */
ak_status ak_target_of_format(const char *path, const char *format, const char *asked,
                              const ak_ending *endings, size_t count, ak_error *err);

#endif
