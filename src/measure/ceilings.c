#include "measure/ceilings.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"

#define FILE_NAME "ceilings.json"

bool ak_ceilings_raise(ak_ceilings *to, const ak_ceilings *more)
{
    bool rose = false;
#define RAISE(figure)                                                                              \
    if (more->figure > to->figure) {                                                               \
        to->figure = more->figure;                                                                 \
        rose = true;                                                                               \
    }
    AK_CEILINGS_FIGURES(RAISE)
#undef RAISE
    to->measured = to->measured || more->measured;
    return rose;
}

double ak_ceilings_growth(const ak_ceilings *before, const ak_ceilings *after)
{
    double was = ak_roofline_bandwidth(before), is = ak_roofline_bandwidth(after);
    double compute = before->peak_tflops > 0 ? after->peak_tflops / before->peak_tflops : 1;
    double memory = was > 0 ? is / was : 1;
    return compute > memory ? compute : memory;
}

static void read_figures(ak_ceilings *out, const json_t *object)
{
    *out = (ak_ceilings){.measured = json_is_object(object)};
#define READ(figure) out->figure = ak_json_number_at(object, #figure);
    AK_CEILINGS_FIGURES(READ)
#undef READ
}

json_t *ak_ceilings_json(const ak_ceilings *c)
{
    json_t *object = json_object();
    bool good = object != NULL;
#define SET(figure) good = good && ak_json_set_real(object, #figure, c->figure);
    AK_CEILINGS_FIGURES(SET)
#undef SET
    return ak_json_whole(object, good);
}

/* Reads the file's object. Returns an empty object if the file cannot be read or holds no object,
   or NULL if there is no memory. */
static json_t *read_file(const char *path)
{
    json_t *object = NULL;
    if (ak_json_read(&object, path, NULL) == AK_OK && !json_is_object(object)) {
        json_decref(object);
        object = NULL;
    }
    return object == NULL ? json_object() : object;
}

void ak_ceilings_keep(ak_ceilings *ceilings, const char *key)
{
    char folder[AK_PATH_MAX], path[AK_PATH_MAX];
    ak_ceilings kept;
    if (ak_fs_cache_folder(folder, NULL) != AK_OK ||
        ak_fs_join(path, folder, FILE_NAME, NULL) != AK_OK) {
        return;
    }
    json_t *all = read_file(path);
    read_figures(&kept, json_object_get(all, key));
    if (ak_ceilings_raise(&kept, ceilings)) {
        AK_FREED char *text = NULL;
        if (ak_json_set(all, key, ak_ceilings_json(&kept)) &&
            ak_json_text(&text, all, NULL) == AK_OK && ak_fs_mkdirs(folder, NULL) == AK_OK) {
            (void)ak_fs_write(path, text, strlen(text), NULL);
        }
    }
    json_decref(all);
    (void)ak_ceilings_raise(ceilings, &kept);
}
