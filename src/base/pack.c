/* pack.c: see pack.h. The fields of a ustar header are in POSIX.1-2017, pax, "ustar Interchange
   Format". */
#include "base/pack.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/text.h"

#define BLOCK    512
#define TAR_MAX  ((size_t)1 << 30)
#define SIZE_AT  124
#define SUM_AT   148
#define TYPE_AT  156
#define MAGIC_AT 257

void ak_pack_clear(ak_pack *pack)
{
    for (size_t i = 0; i < pack->count; i++) {
        AK_FREE_ALL(pack->files[i].name, pack->files[i].data);
    }
    ak_free(pack->files);
    *pack = (ak_pack){0};
}

const ak_pack_file *ak_pack_find(const ak_pack *pack, const char *name)
{
    size_t i = AK_FIND(pack->files, pack->count, name, name);
    return i < pack->count ? &pack->files[i] : NULL;
}

bool ak_pack_is_name(const char *name, size_t most)
{
    if (*name == 0 || strlen(name) > most) {
        return false;
    }
    for (const char *part = name;; part++) {
        size_t n = strcspn(part, "/");
        if (n == 0 || (n == 1 && part[0] == '.') || (n == 2 && memcmp(part, "..", 2) == 0)) {
            return false;
        }
        part += n;
        if (*part == 0) {
            return true;
        }
    }
}

ak_status ak_pack_add(ak_pack *pack, const char *name, const void *data, size_t length,
                      ak_error *err)
{
    const ak_pack_file *known = ak_pack_find(pack, name);
    if (known != NULL && known->length == length && memcmp(known->data, data, length) == 0) {
        return AK_OK;
    }
    AK_FAIL_IF(known != NULL || !ak_pack_is_name(name, AK_PACK_NAME_MAX), err, AK_INVALID,
               "%.100s: %s", name,
               known != NULL ? "is the name of two different files"
                             : "cannot be the name of a file in a bundle or an archive");
    AK_FAIL_IF(pack->count == AK_PACK_FILES_MAX, err, AK_LIMIT,
               "more than %d files belong together", AK_PACK_FILES_MAX);
    AK_DO(AK_GROW(pack->files, &pack->capacity, pack->count + 1, err));
    ak_pack_file made = {ak_strdup(name), ak_alloc(length + 1, 1), length};
    if (made.name == NULL || made.data == NULL) {
        AK_FREE_ALL(made.name, made.data);
        return ak_fail_memory(err);
    }
    memcpy(made.data, data, length);
    pack->files[pack->count++] = made;
    return AK_OK;
}

bool ak_pack_is_text(const char *data, size_t length)
{
    return memchr(data, 0, length) == NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const ak_pack_file *)a)->name, ((const ak_pack_file *)b)->name);
}

void ak_pack_sort(ak_pack *pack)
{
    if (pack->count > 1) {
        qsort(pack->files, pack->count, sizeof *pack->files, by_name);
    }
}

/* ---- tar ------------------------------------------------------------------------------------- */

static unsigned tar_sum(const unsigned char head[BLOCK])
{
    unsigned sum = 0;
    for (int i = 0; i < BLOCK; i++) {
        sum += i >= SUM_AT && i < SUM_AT + 8 ? ' ' : head[i];
    }
    return sum;
}

static void put_header(ak_buf *out, const ak_pack_file *file)
{
    unsigned char head[BLOCK] = {0};
    char *text = (char *)head;
    (void)snprintf(text, AK_PACK_NAME_MAX + 1, "%s", file->name);
    memcpy(text + 100, "0000644\0000000000\0000000000", 24); /* mode, user, group */
    (void)snprintf(text + SIZE_AT, 12, "%011zo", file->length);
    (void)snprintf(text + 136, 12, "%011o", 0U); /* time */
    text[TYPE_AT] = '0';
    static const char magic[8] = {'u', 's', 't', 'a', 'r', 0, '0', '0'};
    memcpy(text + MAGIC_AT, magic, sizeof magic);
    (void)snprintf(text + SUM_AT, 8, "%06o", tar_sum(head));
    text[SUM_AT + 7] = ' ';
    ak_buf_append(out, head, sizeof head);
}

static void fill_up(ak_buf *out, size_t bytes)
{
    static const char zeros[2 * BLOCK];
    ak_buf_append(out, zeros, bytes);
}

ak_status ak_pack_tar(ak_buf *out, const ak_pack *pack, ak_error *err)
{
    for (size_t i = 0; i < pack->count; i++) {
        put_header(out, &pack->files[i]);
        ak_buf_append(out, pack->files[i].data, pack->files[i].length);
        fill_up(out, (BLOCK - pack->files[i].length % BLOCK) % BLOCK);
    }
    fill_up(out, 2 * (size_t)BLOCK);
    return ak_buf_status(out, err);
}

static bool read_octal(size_t *out, const unsigned char *text)
{
    *out = 0;
    for (int i = 0; i < 11; i++) {
        if (text[i] < '0' || text[i] > '7') {
            return false;
        }
        *out = *out * 8 + (size_t)(text[i] - '0');
    }
    return text[11] == 0;
}

ak_status ak_pack_untar(ak_pack *out, const void *bytes, size_t length, const char *where,
                        ak_error *err)
{
    const unsigned char *p = bytes;
    ak_pack pack = {0};
    size_t at = 0;
    ak_status status = AK_OK;
    while (status == AK_OK && at + BLOCK <= length && p[at] != 0) {
        char name[AK_PACK_NAME_MAX + 1];
        char field[9] = "";
        memcpy(field, p + at + SUM_AT, 8); /* a damaged field may lack its final 0 */
        size_t size = 0, sum = strtoul(field, NULL, 8);
        memcpy(name, p + at, sizeof name);
        name[AK_PACK_NAME_MAX] = 0;
        if (memcmp(p + at + MAGIC_AT, "ustar", 6) != 0 || !read_octal(&size, p + at + SIZE_AT) ||
            sum != tar_sum(p + at) || size > length - at - BLOCK) {
            status = ak_fail(err, AK_CORRUPT, "%s is damaged at byte %zu: copy or export it again",
                             where, at);
            break;
        }
        status = ak_pack_add(&pack, name, p + at + BLOCK, size, err);
        at += BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
    }
    if (status == AK_OK && (at > length || length - at < 2 * (size_t)BLOCK)) {
        status = ak_fail(err, AK_CORRUPT, "%s is not a tar file, or its end is missing", where);
    }
    if (status != AK_OK) {
        ak_pack_clear(&pack);
        return status;
    }
    *out = pack;
    return AK_OK;
}

ak_status ak_pack_write(const ak_pack *pack, const char *folder, ak_error *err)
{
    AK_DO(ak_fs_mkdirs(folder, err));
    for (size_t i = 0; i < pack->count; i++) {
        char path[AK_PATH_MAX];
        const ak_pack_file *file = &pack->files[i];
        AK_DO(ak_fs_write_in(path, folder, file->name, file->data, file->length, err));
    }
    return AK_OK;
}

/* ---- compressed ------------------------------------------------------------------------------ */

ak_status ak_pack_squeeze(ak_buf *out, const ak_pack *pack, ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf tar = AK_BUF(TAR_MAX);
    ak_status status = ak_pack_tar(&tar, pack, err);
    uLongf length = compressBound(tar.length);
    AK_FREED unsigned char *data = status == AK_OK ? ak_alloc(length, 1) : NULL;
    if (status == AK_OK && (data == NULL || compress2(data, &length, (const Bytef *)tar.data,
                                                      tar.length, Z_BEST_COMPRESSION) != Z_OK)) {
        status = ak_fail_memory(err);
    }
    if (status == AK_OK) {
        ak_buf_append(out, data, length);
        status = ak_buf_status(out, err);
    }
    return status;
}

ak_status ak_pack_unsqueeze(ak_pack *out, const void *bytes, size_t length, size_t max,
                            const char *where, ak_error *err)
{
    uLongf size = max;
    AK_FREED unsigned char *data = NULL;
    AK_DO(AK_NEW(data, max, err));
    int code = uncompress(data, &size, bytes, length);
    return code == Z_OK          ? ak_pack_untar(out, data, size, where, err)
           : code == Z_MEM_ERROR ? ak_fail_memory(err)
           : code == Z_BUF_ERROR
               ? ak_fail(err, AK_LIMIT, "%s is larger than %zu KiB when it is unpacked", where,
                         max >> 10)
               : ak_fail(err, AK_CORRUPT, "%s is damaged", where);
}
