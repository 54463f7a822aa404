/* manual.h: the manual page and the completions of shells, made from the commands and options. */
#ifndef AK_CLI_MANUAL_H
#define AK_CLI_MANUAL_H

#include "base/buf.h"

typedef struct ak_manual {
    const char *name; /* name of the format: "man", "bash", "zsh", "fish" */
    void (*write)(ak_buf *out);
} ak_manual;

extern const ak_manual ak_manuals[];
extern const size_t ak_manual_count;

#endif
