/* replay.c: runs a fuzz target over the files of its corpus, without libFuzzer. */
#include <stdint.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/fs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
    size_t ran = 0;
    for (int i = 1; i < argc; i++) {
        AK_AT_END(ak_fs_names_free) ak_fs_names names = {0};
        ak_error err = AK_ERROR_INIT;
        if (ak_fs_list(&names, argv[i], &err) != AK_OK) {
            (void)fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        for (size_t j = 0; j < names.count; j++) {
            char path[AK_PATH_MAX], *text;
            size_t length;
            if (ak_fs_join(path, argv[i], names.list[j], &err) != AK_OK ||
                ak_fs_read(&text, &length, path, 1u << 24, &err) != AK_OK) {
                (void)fprintf(stderr, "%s\n", err.text);
                return 1;
            }
            (void)LLVMFuzzerTestOneInput((const uint8_t *)text, length);
            ak_free(text);
            ran++;
        }
    }
    (void)printf("%zu inputs\n", ran);
    return ran > 0 ? 0 : 1;
}
