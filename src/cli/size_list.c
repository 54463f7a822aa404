#include "cli/size_list.h"

#include "base/alloc.h"
#include "base/ascii.h"
#include "base/fs.h"
#include "base/utf8.h"

#define LIST_BYTES_MAX 65536

/* Splits the text. Items end at ';' or a line break; blanks around them, empty items and comments
   are ignored. */
static ak_status split(ak_size_list *list, const char *origin, ak_error *err)
{
    for (char *at = list->text + ak_utf8_mark(list->text); *at != 0;) {
        char *item = at + strspn(at, " \t\r");
        size_t length = strcspn(item, item[0] == '#' ? "\n" : ";\n");
        at = item + length + (item[length] == 0 ? 0 : 1);
        item[length] = 0;
        while (length > 0 && ak_ascii_is_blank(item[length - 1])) {
            item[--length] = 0;
        }
        if (length == 0 || item[0] == '#') {
            continue;
        }
        AK_FAIL_IF(list->count == AK_TUNE_SIZES_MAX, err, AK_INVALID, "%.200s: more than %d sizes",
                   origin, AK_TUNE_SIZES_MAX);
        list->items[list->count++] = item;
    }
    return list->count > 0
               ? AK_OK
               : ak_fail(err, AK_INVALID,
                         "%.200s: no size is given; one is written as M=64,N=64,K=64", origin);
}

ak_status ak_size_list_read(ak_size_list *out, const char *text, ak_error *err)
{
    bool from_file = text[0] == '@';
    if (from_file) {
        size_t length;
        AK_DO(ak_fs_read(&out->text, &length, text + 1, LIST_BYTES_MAX, err));
        AK_DO(strlen(out->text) == length
                  ? AK_OK
                  : ak_fail(err, AK_INVALID, "%.200s has a 0 byte: it is no text", text + 1));
    } else {
        AK_DO(ak_copy_text(&out->text, text, err));
    }
    return split(out, from_file ? text + 1 : "--sizes", err);
}

void ak_size_list_free(ak_size_list *list)
{
    ak_free(list->text);
    *list = (ak_size_list){0};
}
