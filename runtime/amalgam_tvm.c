/* amalgam_tvm.c: the part of the C file of `export --format c` that serves TVM FFI
   (https://github.com/apache/tvm-ffi). Loaders of TVM FFI find its two functions by name and pass
   tensors of torch, CuPy, NumPy and others in the form of DLPack. It needs no header of theirs:
   what it uses of the binary interfaces of tvm-ffi 0.1 and DLPack 1 is declared here. In a process
   without TVM FFI's library nobody calls the functions. This file is included in that C file and is
   not compiled by itself. */

#ifdef __cplusplus
#define AK_TVM_ENTRY extern "C" __attribute__((visibility("default"))) int
#else
#define AK_TVM_ENTRY __attribute__((visibility("default"))) int
#endif

/* DLTensor and its members. */
typedef struct one_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t rank;
    uint8_t code, bits;
    uint16_t lanes;
    const int64_t *shape, *strides; /* NULL strides: row-major without gaps */
    uint64_t byte_offset;
} one_tensor;

/* TVMFFIAny. */
typedef struct one_any {
    int32_t type;
    uint32_t padding;
    union {
        int64_t integer;
        void *pointer;
    } as;
} one_any;

enum {
    ONE_NONE = 0,
    ONE_INT = 1,
    ONE_TENSOR = 7,         /* a pointer to a DLTensor */
    ONE_OBJECT = 70,        /* an object: a header, then a DLTensor */
    ONE_OBJECT_HEADER = 24, /* bytes of that header */
    ONE_CPU = 1,            /* kinds of memory */
    ONE_CUDA = 2,
    ONE_CUDA_HOST = 3,
    ONE_CUDA_MANAGED = 13
};

/* The arguments of a call: sizes (or none, if they follow from the shapes), one tensor or None for
   each argument and perhaps a workspace. */
typedef struct one_call {
    int64_t size[AKR_SIZES_MAX];
    akr_tensor tensor[AKR_ARGUMENTS_MAX];
    void *arg[AKR_ARGUMENTS_MAX];
    void *workspace;
    size_t workspace_bytes;
    int32_t device_id; /* device of the tensors read so far; -1 before the first */
} one_call;

/* Initialises the members that may be read before they are set. */
static void one_prepare(one_call *call)
{
    call->workspace = NULL;
    call->workspace_bytes = 0;
    call->device_id = -1;
}

/* The functions of TVM FFI's library that are called; NULL if the library is not in the process.
   They are looked up once, because that takes a lock and, in a process with many libraries,
   microseconds. */
static pthread_once_t one_tvm_once = PTHREAD_ONCE_INIT;
static void (*one_tvm_raise)(const char *kind, const char *text);
static void *(*one_tvm_stream)(int32_t device_type, int32_t device_id);

static void one_tvm_begin(void)
{
    (void)find_symbol(&one_tvm_raise, RTLD_DEFAULT, "TVMFFIErrorSetRaisedFromCStr");
    (void)find_symbol(&one_tvm_stream, RTLD_DEFAULT, "TVMFFIEnvGetStream");
}

/* Raises the error in the caller's language. */
static int one_raise(const char *kind, const char *text)
{
    (void)pthread_once(&one_tvm_once, one_tvm_begin);
    if (one_tvm_raise != NULL) {
        one_tvm_raise(kind, text);
    }
    return -1;
}

static int one_refuse(akr_status status, const akr_error *err)
{
    const char *kind = status == AKR_DTYPE                            ? "TypeError"
                       : status == AKR_NO_MEMORY                      ? "MemoryError"
                       : status == AKR_SYSTEM || status == AKR_DRIVER ? "RuntimeError"
                                                                      : "ValueError";
    return one_raise(kind, err->text);
}

/* Returns the tensor of a value; NULL if it is not a tensor. */
static const one_tensor *one_tensor_of(const one_any *value)
{
    return value->type == ONE_TENSOR ? (const one_tensor *)value->as.pointer
           : value->type == ONE_OBJECT
               ? (const one_tensor *)(const void *)((const char *)value->as.pointer +
                                                    ONE_OBJECT_HEADER)
               : NULL;
}

static akr_dtype one_dtype(const one_tensor *t)
{
    int i = 0;
    while (i < DTYPES &&
           (t->lanes != 1 || t->code != dtypes[i].dlpack || t->bits != 8 * dtypes[i].bytes)) {
        i++;
    }
    return i < DTYPES ? (akr_dtype)i : (akr_dtype)-1;
}

/* Returns 1 if the bundle's processor reaches the tensor's memory. */
static int one_reaches(const one_tensor *t)
{
    return one_open->gpu != NULL ? t->device_type == ONE_CUDA || t->device_type == ONE_CUDA_MANAGED
                                 : t->device_type == ONE_CPU || t->device_type == ONE_CUDA_HOST;
}

/* Reads argument `i`. A tensor in memory that the bundle's processor does not reach, or of another
   device than those before it, is refused. */
static akr_status one_take(one_call *call, int i, const one_any *value, akr_error *err)
{
    const akr_argument *a = &one_open->info.argument[i];
    const one_tensor *t = one_tensor_of(value);
    akr_tensor *out = &call->tensor[i];
    int64_t stride = 1;
    int d;
    if (value->type == ONE_NONE && a->unused) {
        out->rank = -1;
        call->arg[i] = NULL;
        return AKR_OK;
    }
    if (t == NULL) {
        return fail(err, AKR_DTYPE, "%s: must be a tensor%s", a->name, a->unused ? " or None" : "");
    }
    if (!one_reaches(t)) {
        return fail(err, AKR_INVALID, "%s: its memory is not that of a %s", a->name,
                    one_open->gpu != NULL ? "GPU" : "CPU");
    }
    if (call->device_id >= 0 && t->device_id != call->device_id) {
        return fail(err, AKR_INVALID, "%s: is on another device than the tensors before it",
                    a->name);
    }
    call->device_id = t->device_id;
    if (t->rank > AKR_RANK_MAX) {
        return fail(err, AKR_SHAPE, "%s: has %d extent%s instead of %d", a->name, t->rank,
                    t->rank == 1 ? "" : "s", a->rank);
    }
    out->data = call->arg[i] = (char *)t->data + t->byte_offset;
    out->dtype = one_dtype(t);
    out->rank = t->rank;
    for (d = t->rank - 1; d >= 0; d--) {
        out->shape[d] = t->shape[d];
        out->stride[d] = t->strides != NULL ? t->strides[d] : stride;
        stride *= t->shape[d];
    }
    return AKR_OK;
}

/* Takes the workspace: any tensor without gaps on the same device. */
static akr_status one_take_workspace(one_call *call, const one_any *value, akr_error *err)
{
    const one_tensor *t = one_tensor_of(value);
    int64_t count = 1;
    int d;
    if (value->type == ONE_NONE) {
        return AKR_OK;
    }
    if (t == NULL || !one_reaches(t) || t->device_id != call->device_id) {
        return fail(err, AKR_DTYPE,
                    "the workspace must be a tensor on the same device as the others");
    }
    for (d = t->rank - 1; d >= 0; d--) {
        if (t->strides != NULL && t->shape[d] > 1 && t->strides[d] != count) {
            return fail(err, AKR_SHAPE, "the workspace must be a tensor without gaps");
        }
        count *= t->shape[d];
    }
    call->workspace = (char *)t->data + t->byte_offset;
    call->workspace_bytes = (size_t)count * ((size_t)t->bits * t->lanes / 8);
    return AKR_OK;
}

/* Returns 1 if the arguments fit the thread's plan, as in every call but the first with a shape;
   then no sizes need to be inferred. A plan for sizes that a call named does not count, because the
   shapes may not determine them. */
static int one_fits(const one_call *call, const one_thread *t)
{
    int i, fits = t->planned && t->inferred;
    for (i = 0; fits && i < one_open->info.argument_count; i++) {
        const akr_tensor *given = &call->tensor[i];
        fits = (given->rank < 0 || given->rank == one_open->info.argument[i].rank) &&
               check_tensor(&t->plan, one_open, i, given, NULL) == AKR_OK;
    }
    return fits;
}

/* Reads the arguments and checks them against what the bundle serves. On success the plan is
   (*thread)->plan. */
static akr_status one_read(one_call *call, one_thread **thread, const one_any *args, int32_t count,
                           akr_error *err)
{
    const akr_info *info;
    int i, sizes = 0, tensors;
    DO(one_mine(thread, err));
    info = &one_open->info;
    while (sizes < count && sizes < info->size_count && args[sizes].type == ONE_INT) {
        call->size[sizes] = args[sizes].as.integer;
        sizes++;
    }
    tensors = (int)count - sizes;
    if ((sizes > 0 && sizes != info->size_count) ||
        (tensors != info->argument_count && tensors != info->argument_count + 1)) {
        return fail(
            err, AKR_DTYPE,
            "%s takes %d tensors and, if it needs one, a workspace; the sizes (%d) may stand "
            "before them",
            info->name, info->argument_count, info->size_count);
    }
    for (i = 0; i < info->argument_count; i++) {
        DO(one_take(call, i, &args[sizes + i], err));
    }
    DO(tensors > info->argument_count
           ? one_take_workspace(call, &args[sizes + info->argument_count], err)
           : AKR_OK);
    if (sizes == 0) {
        if (one_fits(call, *thread)) {
            return AKR_OK;
        }
        DO(infer_sizes(call->size, one_open, call->tensor, err));
    }
    DO(one_plan(*thread, call->size, err));
    (*thread)->inferred |= sizes == 0;
    for (i = 0; i < info->argument_count; i++) {
        DO(check_tensor(&(*thread)->plan, one_open, i, &call->tensor[i], err));
    }
    return AKR_OK;
}

/* Gives the result of a call; `type` is ONE_NONE or ONE_INT. */
static int one_give(one_any *result, int32_t type, int64_t integer)
{
    result->type = type;
    result->padding = 0;
    result->as.integer = integer;
    return 0;
}

static int one_tvm_run(const one_any *args, int32_t count, one_any *result)
{
    one_call call;
    one_thread *thread = NULL;
    akr_error err;
    void *stream = NULL;
    akr_status status;
    one_prepare(&call);
    status = one_read(&call, &thread, args, count, &err);
    if (status != AKR_OK) {
        return one_refuse(status, &err);
    }
    if (thread->plan.kernels > 0) {
        (void)pthread_once(&one_tvm_once, one_tvm_begin);
        stream = one_tvm_stream == NULL ? NULL : one_tvm_stream(ONE_CUDA, call.device_id);
    }
    status = one_run(thread, call.arg, call.workspace, call.workspace_bytes, stream, &err);
    if (status != AKR_OK) {
        return one_refuse(status, &err);
    }
    return one_give(result, ONE_NONE, 0);
}

/* Returns the bytes of the workspace for the same arguments, or for the sizes alone. */
static int one_tvm_workspace(const one_any *args, int32_t count, one_any *result)
{
    one_call call;
    one_thread *thread = NULL;
    akr_error err;
    akr_status status;
    int i, sizes = 0;
    one_prepare(&call);
    while (sizes < count && sizes < AKR_SIZES_MAX && args[sizes].type == ONE_INT) {
        sizes++;
    }
    status = one_mine(&thread, &err);
    if (status == AKR_OK && sizes == count && count == one_open->info.size_count) {
        for (i = 0; i < sizes; i++) {
            call.size[i] = args[i].as.integer;
        }
        status = one_plan(thread, call.size, &err);
    } else if (status == AKR_OK) {
        status = one_read(&call, &thread, args, count, &err);
    }
    if (status != AKR_OK) {
        return one_refuse(status, &err);
    }
    return one_give(result, ONE_INT, (int64_t)thread->plan.workspace_bytes);
}
