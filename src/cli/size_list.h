/* size_list.h: reads --sizes: "256;512;M=64,N=2048,K=64", or a file with one size a line. */
#ifndef AK_CLI_SIZE_LIST_H
#define AK_CLI_SIZE_LIST_H

#include "cli/output.h"

typedef struct ak_size_list {
    char *text; /* owns the items */
    const char *items[AK_TUNE_SIZES_MAX];
    size_t count;
} ak_size_list;

ak_status ak_size_list_read(ak_size_list *out, const char *text, ak_error *err);
void ak_size_list_free(ak_size_list *list);

#endif
