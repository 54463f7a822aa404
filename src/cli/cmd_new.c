/* cmd_new.c: writes the skeleton of a kernel or, with --from, a folder for a kernel that exists. */

#include "base/fs.h"
#include "cli/options.h"
#include "cli/task_args.h"

static int run(const ak_args *args, ak_error *err)
{
    AK_OR_COMPLAIN(
        strcmp(args->operand[0], "kernel") == 0
            ? AK_OK
            : ak_fail(err, AK_INVALID,
                      "new makes kernels only: 'autokernel new kernel NAME', not '%.80s'",
                      args->operand[0]));
    const char *path = args->operand[1];
    if (ak_args_has(args, AK_OPTION_FROM)) {
        AK_OR_COMPLAIN(ak_args_refuse(args, AK_O(CUDA) | AK_O(TRITON),
                                      "contradicts --from, whose file decides on the language",
                                      err));
    }
    if (ak_args_has(args, AK_OPTION_TRITON)) {
        AK_OR_COMPLAIN(ak_args_refuse(args, AK_O(CUDA), "contradicts --triton", err));
    }
    const bool is_triton = ak_args_has(args, AK_OPTION_TRITON);
    char *note = NULL;
    AK_OR_COMPLAIN(ak_args_has(args, AK_OPTION_FROM)
                       ? ak_kernel_adopt(&note, path, args->text[AK_OPTION_FROM], err)
                       : (is_triton                           ? ak_kernel_new_triton
                          : ak_args_has(args, AK_OPTION_CUDA) ? ak_kernel_new_cuda
                                                              : ak_kernel_new)(path, err));
    if (ak_args_has(args, AK_OPTION_JSON)) {
        json_t *object = json_object();
        bool good = ak_json_set_text(object, "path", path) &&
                    (note == NULL || ak_json_set_text(object, "note", note)) && ak_out_json(object);
        json_decref(object);
        ak_text_free(note);
        return good ? AK_EXIT_DONE : AK_EXIT_FAILED;
    }
    const char *here = strchr(path, '/') == NULL ? "./" : "";
    const char *name = ak_fs_base(path);
    char place[AK_PATH_MAX];
    if (is_triton) {
        (void)snprintf(place, sizeof place, "%s%s/%s.py", here, path, name);
        ak_out("wrote %s/%s.py, a Triton kernel, and %s/%s.json, its settings: edit both\n", path,
               name, path, name);
    } else {
        (void)snprintf(place, sizeof place, "%s%s", here, path);
        ak_out("wrote the kernel folder %s: edit problem.json, the space and the source in it\n",
               path);
    }
    ak_out("%s", ak_or_empty(note));
    ak_text_free(note);
    ak_next("check", place, "is it right?");
    ak_next("tune", place, "make it fast");
    return AK_EXIT_DONE;
}

const ak_command ak_cmd_new = {
    .name = "new",
    .summary = "write the skeleton of a kernel",
    .operands = "kernel NAME",
    .least = 2,
    .most = 2,
    .options = AK_O(FROM) | AK_O(CUDA) | AK_O(TRITON) | AK_O(JSON) | AK_O(HELP),
    .about = "Writes a folder NAME with a commented problem.json, a space file and a source. They "
             "work as they are; change them into your kernel. NAME may be a path; the folder must "
             "not exist.\n\n"
             "With --from FILE the folder is made of a kernel that exists: of a T1 file, or of a "
             "source, whose entry, arguments and parameters (template arguments, #ifndef/#define, "
             "-DNAME=16) are found in it. It prints what it could not find, and where to write it. "
             "A Python file with a Triton kernel (kernel.py, or kernel.py:function) needs its "
             "settings in the JSON file beside it (docs/howto-triton.md); 'tune kernel.py' takes "
             "such a file as it is.",
    .examples = "  autokernel new kernel saxpy\n"
                "  autokernel check ./saxpy\n"
                "  autokernel new kernel mine --from kernel.cu\n",
    .run = run,
};
