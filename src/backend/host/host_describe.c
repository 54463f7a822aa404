/* host_describe.c: shows this machine in `autokernel doctor`: facts, ceilings, compilers, and the
   libraries that results can be compared with. */
#include "backend/host/host.h"

const char *const ak_host_shown_facts[] = {
    "cpu_threads", "vector_bytes", "vector_registers", "l1d_bytes", "l2_bytes", "l3_bytes", NULL};

ak_status ak_host_quick_ceilings(ak_ceilings *out, const char *device, ak_error *err)
{
    (void)device;
    return ak_host_ceilings(out, AK_DTYPE_F32, ak_host_cpus(), err);
}

typedef struct library_list {
    json_t *list;
    bool good;
} library_list;

static void add_library(void *context, const char *name, const char *title, const char *version,
                        bool installed, const char *note)
{
    library_list *libraries = context;
    json_t *object = json_pack("{s:s, s:s, s:s, s:b, s:s}", "name", name, "title", title, "version",
                               version, "installed", (int)installed, "note", note);
    libraries->good = ak_json_append(libraries->list, object) && libraries->good;
}

static bool add_compilers(json_t *list)
{
    static const char *const names[] = {"gcc", "clang"};
    bool good = true;
    for (size_t i = 0; good && i < AK_COUNT(names); i++) {
        char path[AK_PATH_MAX], version[128];
        if (ak_fs_which(path, names[i])) {
            const bool answered = ak_host_compiler_version(version, sizeof version, names[i], NULL);
            good =
                ak_json_append(list, json_pack("{s:s, s:s, s:s}", "name", names[i], "version",
                                               answered ? version : "(no answer)", "path", path));
        }
    }
    return good;
}

ak_status ak_host_describe(json_t *object, ak_error *err)
{
    json_t *compilers = json_array();
    library_list libraries = {.list = json_array(), .good = true};
    ak_status status = AK_OK;
    bool good = compilers != NULL && libraries.list != NULL && add_compilers(compilers);
    if (good) {
        status = ak_host_libraries(add_library, &libraries, err);
    }
    /* The object takes both lists, also on failure, and frees them with itself. */
    good = ak_json_set(object, "compilers", compilers) && good;
    good = ak_json_set(object, "libraries", libraries.list) && good && libraries.good;
    return status == AK_OK && !good ? ak_fail_memory(err) : status;
}
