/* several.h: splits the options of a comparison by implementation: "--impl triton,cuda_sm90", and
   "--config NAME:CONFIGURATION", which belongs to the implementation NAME. */
#ifndef AK_CLI_SEVERAL_H
#define AK_CLI_SEVERAL_H

#include "cli/task_args.h"

/* More implementations than a kernel has for one device. */
#define AK_SEVERAL_MAX 8

/* An implementation that takes part. */
typedef struct ak_several_part {
    /* The command line as if it were alone: --impl, and the --config that are its, whose texts the
       part owns. */
    ak_args *args;
    char name[64]; /* "": the options name none, and the device decides */
} ak_several_part;

typedef struct ak_several {
    ak_several_part parts[AK_SEVERAL_MAX];
    size_t count; /* 1 or more */
} ak_several;

/* Splits the options. A --config that names no implementation belongs to the first: that of --impl
   or, without --impl, the first that a --config names. The caller frees the parts, also after a
   failure. */
ak_status ak_several_split(ak_several *out, const ak_args *args, ak_error *err);
void ak_several_free(ak_several *several);
/* Opens the task of a part beside that of the first: at its size, dtype and options, on its
   device. */
ak_status ak_several_task(ak_task **out, const ak_several_part *part, const ak_task *first,
                          ak_error *err);

#endif
