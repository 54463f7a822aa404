/*
 * fuzz_import.c: reads any bytes as a file of any format; the first byte chooses the format. The
 * import is refused with a message, or the trials that it added can be exported in every format
 * that can express them.
 */
#include <stdint.h>
#include <stdlib.h>

#include "archive/archive.h"
#include "formats/config_file.h"
#include "formats/format.h"
#include "base/alloc.h"
#include "base/fs.h"

static char folder[AK_PATH_MAX], input[AK_PATH_MAX], output[AK_PATH_MAX];

static void leave(void)
{
    ak_fs_remove(folder);
}

static void demand(bool good)
{
    if (!good) {
        abort();
    }
}

static void prepare(void)
{
    if (folder[0] == 0) {
        demand(ak_fs_temp(folder, NULL) == AK_OK);
        demand(ak_fs_join(input, folder, "input", NULL) == AK_OK);
        demand(ak_fs_join(output, folder, "output", NULL) == AK_OK);
        demand(atexit(leave) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = {"csv", "json", "kernels", "kernel-tuner", "t4"};
    char path[AK_PATH_MAX];
    ak_archive *archive = NULL;
    size_t added = 0;
    if (size == 0) {
        return 0;
    }
    prepare();
    const char *format = formats[data[0] % (sizeof formats / sizeof formats[0])];
    demand(ak_fs_join(path, folder, "archive.db", NULL) == AK_OK);
    demand(ak_fs_write(input, data + 1, size - 1, NULL) == AK_OK);
    demand(ak_archive_open(&archive, path, NULL) == AK_OK);
    ak_error err = AK_ERROR_INIT;
    ak_status status = ak_archive_import(&added, NULL, archive, format, input, &err);
    demand(status == AK_OK || (err.status == status && err.text[0] != 0));
    if (status == AK_OK) {
        /* What was taken in is sound, so the lossless formats take it and give it back. */
        demand(ak_archive_export(archive, NULL, "csv", output, NULL) == AK_OK);
        demand(ak_archive_import(&added, NULL, archive, "csv", output, &err) == AK_OK);
        demand(ak_archive_export(archive, NULL, "json", output, NULL) == AK_OK);
        demand(ak_archive_import(&added, NULL, archive, "json", output, &err) == AK_OK);
        for (size_t i = 2; i < sizeof formats / sizeof formats[0]; i++) {
            (void)ak_archive_export(archive, NULL, formats[i], output, NULL);
        }
        (void)ak_archive_export(archive, NULL, "best", output, NULL);
    }
    char *text = NULL;
    if (ak_best_config_read(&text, input, NULL) == AK_OK) {
        ak_free(text);
    }
    char **texts = NULL;
    size_t count = 0;
    if (ak_config_file_read(&texts, &count, input, "M=64,N=32", &err) == AK_OK) {
        demand(count > 0);
        ak_config_file_free(texts, count);
    }
    ak_archive_close(archive);
    ak_fs_remove(path);
    return 0;
}
