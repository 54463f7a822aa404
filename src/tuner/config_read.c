/* config_read.c: implements ak_config_read, which reads a configuration from a file for the space
   of a task. */
#include "formats/config_file.h"
#include "problem/task.h"

ak_status ak_config_read(ak_config *out, const ak_task *task, const char *path, ak_error *err)
{
    char **texts = NULL;
    size_t count = 0;
    AK_DO(ak_config_file_read(&texts, &count, path, task->size_text, err));
    /* why the configuration of the nearest size is invalid; reported if none is valid */
    ak_error why = AK_ERROR_INIT;
    ak_status status = ak_config_parse(out, task->space, texts[0], &why);
    ak_status nearest = status;
    for (size_t i = 1; i < count && status != AK_OK; i++) {
        status = ak_config_parse(out, task->space, texts[i], NULL);
    }
    if (status != AK_OK) {
        status = ak_fail(err, nearest, "%.200s: %s", path, why.text);
    }
    ak_config_file_free(texts, count);
    return status;
}
