/*
 * cuda_api.h: the CUDA libraries as this program uses them. Each is loaded when it is first needed,
 * may be absent, and is declared here, because its own headers may be absent, too.
 *
 *     const ak_cuda_driver *cuda;
 *     if (ak_cuda_driver_open(&cuda, err) == AK_OK) cuda->device_count(&n);
 *
 * The functions are in cuda_*.def, one line each. An absent library is not a fault of the program:
 * the calls below then return AK_UNAVAILABLE with one line that says what is missing and how to get
 * it.
 *
 * AUTOKERNEL_LIBCUDA, AUTOKERNEL_LIBNVRTC, AUTOKERNEL_LIBCUBLASLT, AUTOKERNEL_LIBCUDNN and
 * AUTOKERNEL_LIBNVML name the files of these libraries. A library whose variable is not set is
 * searched in the loader's path, in CUDA_HOME and CUDA_PATH, and in /usr/local/cuda; then the
 * driver and NVML in /usr/lib/wsl/lib, and the others in the wheels of pip below VIRTUAL_ENV,
 * beside the python3 in PATH, in the home folder and in the system's Python.
 *
 * Constants are those of cuda.h, nvrtc.h, cublasLt.h and nvml.h of CUDA 12 and 13, and cudnn.h 9;
 * tests/unit/test_cuda_api.c compares them with the headers if these are installed.
 */
#ifndef AK_BACKEND_CUDA_CUDA_API_H
#define AK_BACKEND_CUDA_CUDA_API_H

#include <stdint.h>

#include "base/fs.h"

typedef uint64_t ak_cuda_address;

typedef struct ak_cuda_tensor_map {
    _Alignas(64) uint64_t opaque[16];
} ak_cuda_tensor_map;

typedef struct ak_cuda_launch_attribute {
    uint32_t id;
    char pad[4];
    union {
        char pad[64];
        uint32_t dimension[3];
        int32_t value;
    } as;
} ak_cuda_launch_attribute;

typedef struct ak_cuda_launch_config {
    uint32_t grid[3], block[3], shared_bytes;
    void *stream;
    ak_cuda_launch_attribute *attributes;
    uint32_t attribute_count;
} ak_cuda_launch_config;

/* How one node of a graph depends on another. */
typedef struct ak_cuda_edge {
    unsigned char from_port, to_port, type, reserved[5];
} ak_cuda_edge;

typedef struct ak_cublaslt_result {
    uint64_t algo[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
} ak_cublaslt_result;

/* A field to ask NVML for, and its value. */
typedef struct ak_nvml_field {
    uint32_t id, scope;
    int64_t timestamp, latency_us;
    uint32_t type; /* AK_NVML_UNSIGNED: the value is in `number` */
    int32_t code;
    union {
        uint32_t number;
        uint64_t bits;
    } value;
} ak_nvml_field;
#define AK_NVML_CLOCK_SM     1
#define AK_NVML_CLOCK_MEMORY 2
#define AK_NVML_SENSOR_CHIP  0
/* The field for the power at this moment; nvmlDeviceGetPowerUsage gives the mean of a second. */
#define AK_NVML_POWER_INSTANT 186
#define AK_NVML_UNSIGNED      1

/* X(member, constant of cuda.h, value) */
#define AK_CUDA_CONSTANTS(X)                                                                       \
    X(SUCCESS, CUDA_SUCCESS, 0)                                                                    \
    X(ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE, 1)                                            \
    X(ERROR_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY, 2)                                            \
    X(ERROR_NO_DEVICE, CUDA_ERROR_NO_DEVICE, 100)                                                  \
    X(ERROR_NO_BINARY, CUDA_ERROR_NO_BINARY_FOR_GPU, 209)                                          \
    X(ERROR_NOT_READY, CUDA_ERROR_NOT_READY, 600)                                                  \
    X(ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS, 700)                                      \
    X(ERROR_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701)                      \
    X(ERROR_LAUNCH_TIMEOUT, CUDA_ERROR_LAUNCH_TIMEOUT, 702)                                        \
    X(ERROR_ASSERT, CUDA_ERROR_ASSERT, 710)                                                        \
    X(ERROR_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_FAILED, 719)                                          \
    X(DEVICE_SHARED_OPTIN, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)              \
    X(FUNCTION_SHARED, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1)                                     \
    X(FUNCTION_LOCAL, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 3)                                       \
    X(FUNCTION_THREADS, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0)                                \
    X(FUNCTION_DYNAMIC_SHARED, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)                 \
    X(FUNCTION_CLUSTER_WIDTH, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 11)                        \
    X(FUNCTION_LARGE_CLUSTER, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 14)             \
    X(LAUNCH_CLUSTER, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 4)                                    \
    X(LAUNCH_EARLY, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 6)                      \
    X(STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING, 1)                                              \
    X(CAPTURE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED, 2)                                          \
    X(EDGE_PROGRAMMATIC, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, 1)                                 \
    X(SWIZZLE_32, CU_TENSOR_MAP_SWIZZLE_32B, 1)                                                    \
    X(SWIZZLE_64, CU_TENSOR_MAP_SWIZZLE_64B, 2)                                                    \
    X(SWIZZLE_128, CU_TENSOR_MAP_SWIZZLE_128B, 3)                                                  \
    X(PROMOTION_64, CU_TENSOR_MAP_L2_PROMOTION_L2_64B, 1)                                          \
    X(PROMOTION_128, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, 2)                                        \
    X(PROMOTION_256, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, 3)

enum {
#define AK_CUDA_ENUM(member, constant, value) AK_CUDA_##member = (value),
    AK_CUDA_CONSTANTS(AK_CUDA_ENUM)
#undef AK_CUDA_ENUM
};

/* X(member, constant of cudnn.h, value) */
#define AK_CUDNN_CONSTANTS(X)                                                                      \
    X(DATA_F32, CUDNN_DATA_FLOAT, 0)                                                               \
    X(DATA_F16, CUDNN_DATA_HALF, 2)                                                                \
    X(DATA_BF16, CUDNN_DATA_BFLOAT16, 9)                                                           \
    X(TENSOR_NCHW, CUDNN_TENSOR_NCHW, 0)                                                           \
    X(SOFTMAX_ACCURATE, CUDNN_SOFTMAX_ACCURATE, 1)                                                 \
    X(SOFTMAX_INSTANCE, CUDNN_SOFTMAX_MODE_INSTANCE, 0)
enum {
#define AK_CUDNN_ENUM(member, constant, value) AK_CUDNN_##member = (value),
    AK_CUDNN_CONSTANTS(AK_CUDNN_ENUM)
#undef AK_CUDNN_ENUM
};

/* X(name of the device fact, constant of cuda.h, its value); docs/formats.md describes the
   facts. */
#define AK_CUDA_FACTS(X)                                                                           \
    X(sm_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                                      \
    X(shared_bytes_max, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)                 \
    X(shared_bytes_sm, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81)               \
    X(registers_sm, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 82)                      \
    X(threads_sm, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 39)                          \
    X(blocks_sm, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 106)                           \
    X(l2_bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 38)                                             \
    X(memory_bus_bits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 37)
#define AK_CUDA_ATTRIBUTE_MAJOR        75
#define AK_CUDA_ATTRIBUTE_MINOR        76
#define AK_CUDA_ATTRIBUTE_CLOCK        13 /* kHz */
#define AK_CUDA_ATTRIBUTE_MEMORY_CLOCK 36 /* kHz */

#define AK_CUDA_MEMBER(member, symbol, arguments) int(*member) arguments;
typedef struct ak_cuda_driver {
#define X AK_CUDA_MEMBER
#include "backend/cuda/cuda_driver.def"
#undef X
} ak_cuda_driver;
typedef struct ak_cuda_nvrtc {
#define X AK_CUDA_MEMBER
#include "backend/cuda/cuda_nvrtc.def"
#undef X
    char path[AK_PATH_MAX];
} ak_cuda_nvrtc;
typedef struct ak_cublaslt {
#define X AK_CUDA_MEMBER
#include "backend/cuda/cuda_cublaslt.def"
#undef X
    size_t (*version)(void);
    char path[AK_PATH_MAX];
} ak_cublaslt;
typedef struct ak_cudnn {
#define X AK_CUDA_MEMBER
#include "backend/cuda/cuda_cudnn.def"
#undef X
    size_t (*version)(void);
} ak_cudnn;
typedef struct ak_cuda_nvml {
#define X AK_CUDA_MEMBER
#include "backend/cuda/cuda_nvml.def"
#undef X
} ak_cuda_nvml;
#undef AK_CUDA_MEMBER

/* Each function loads its library once; the library stays loaded until the process ends. Each
   returns AK_UNAVAILABLE if the library is missing or too old, or if it finds no driver or device.
   After ak_cuda_driver_open succeeds, the driver is initialised (cuInit) and has a device. */
ak_status ak_cuda_driver_open(const ak_cuda_driver **out, ak_error *err);
ak_status ak_cuda_nvrtc_open(const ak_cuda_nvrtc **out, ak_error *err);
ak_status ak_cublaslt_open(const ak_cublaslt **out, ak_error *err);
ak_status ak_cudnn_open(const ak_cudnn **out, ak_error *err);
ak_status ak_cuda_nvml_open(const ak_cuda_nvml **out, ak_error *err);

/* Returns whether there is any sign of a driver. Loads nothing, so it is cheap. */
bool ak_cuda_expected(void);

/* Writes an error as "CUDA_ERROR_OUT_OF_MEMORY: out of memory", or as "CUDA error 2" if the driver
   has no name or text for it. */
void ak_cuda_error_text(char *out, size_t bytes, const ak_cuda_driver *cuda, int code);

#endif
