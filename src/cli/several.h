/* several.h: splits the options of a comparison by implementation: "--impl triton,cuda_sm90", and
   "--config NAME:CONFIGURATION", which belongs to the implementation NAME. */
#ifndef AK_CLI_SEVERAL_H
#define AK_CLI_SEVERAL_H

#include "cli/task_args.h"

/* Limit on the implementations in one comparison; no built-in kernel has more for one device. */
#define AK_SEVERAL_MAX 8

/* An implementation that takes part in the comparison. */
typedef struct ak_several_part {
    /* The command line as if this implementation took part alone: with its own --impl and --config,
       whose texts the part owns. */
    ak_args *args;
    char name[64]; /* "": the options name no implementation, and the device decides */
} ak_several_part;

typedef struct ak_several {
    ak_several_part parts[AK_SEVERAL_MAX];
    size_t count; /* 1 or more */
} ak_several;

/* Splits the options. A configuration that names no implementation belongs to the first: that of
   --impl or, without --impl, the first that a --config names. The caller frees *out, also after a
   failure. */
ak_status ak_several_split(ak_several *out, const ak_args *args, ak_error *err);
void ak_several_free(ak_several *several);
/* Opens the task of a later part, with the size, dtype, options and device of `first`, whose texts
   the part's arguments then borrow. */
ak_status ak_several_task(ak_task **out, const ak_several_part *part, const ak_task *first,
                          ak_error *err);

#endif
