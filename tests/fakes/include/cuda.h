/* cuda.h: what examples/runtime/product_gpu.c and the tests of bundles use of the header of that
   name, so that they compile where it is not installed. Names and types are those of CUDA 12 and
   13. */
#ifndef AK_FAKE_CUDA_H
#define AK_FAKE_CUDA_H

#include <stddef.h>

typedef int CUresult;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;

#define cuMemAlloc           cuMemAlloc_v2
#define cuMemcpyHtoDAsync    cuMemcpyHtoDAsync_v2
#define cuMemcpyDtoHAsync    cuMemcpyDtoHAsync_v2
#define cuStreamBeginCapture cuStreamBeginCapture_v2

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, int device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxSynchronize(void);
CUresult cuMemAlloc(CUdeviceptr *out, size_t bytes);
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream);
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream);
CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult cuStreamCreate(CUstream *out, unsigned flags);
CUresult cuStreamBeginCapture(CUstream stream, int mode);
CUresult cuStreamEndCapture(CUstream stream, CUgraph *out);
CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags);
CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream);

#endif
