"""What the scripts *_variants.py share: it loads and launches kernels through the driver, without autokernel, and times CUDA graphs
of launches, which take turns. Needs PyTorch and an NVIDIA device."""
import ctypes, random

import torch

MAX_SHARED, PROGRAMMATIC = 8, 6  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION

cu = ctypes.CDLL("libcuda.so.1")
torch.manual_seed(1)
random.seed(1)
torch.zeros(1, device="cuda")
processors = torch.cuda.get_device_properties(0).multi_processor_count

class Attr(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", ctypes.c_int), ("rest", ctypes.c_char * 60)]
class Config(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint) for n in ("gx", "gy", "gz", "bx", "by", "bz", "smem")] + [("stream", ctypes.c_void_p), ("attrs", ctypes.POINTER(Attr)), ("n", ctypes.c_uint)]
def ck(code, what):
    if code: raise RuntimeError("%s: CUDA error %d" % (what, code))

class Module:
    """The entry of a cubin that was compiled for the configuration c."""
    def __init__(self, c, path):
        self.c = c
        with open(path, "rb") as f:
            data = f.read()
        m, f = ctypes.c_void_p(), ctypes.c_void_p()
        ck(cu.cuModuleLoadData(ctypes.byref(m), data), "load")
        ck(cu.cuModuleGetFunction(ctypes.byref(f), m, b"ak_kernel"), "function")
        self.f = f
    def allow(self, smem):
        ck(cu.cuFuncSetAttribute(self.f, MAX_SHARED, smem), "smem")
    def resident(self, threads, smem):
        """Returns how many blocks an SM holds at once."""
        n = ctypes.c_int()
        ck(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(ctypes.byref(n), self.f, threads, ctypes.c_size_t(smem)), "occ")
        return n.value
    def start(self, stream, blocks, threads, smem, maps, vals):
        """Launches the kernel. Its arguments are the tensor maps, given by their addresses, and then the values."""
        params = [ctypes.c_void_p(at) for at in maps] + [ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in vals]
        a = Attr(PROGRAMMATIC, b"", 1)
        g = Config(blocks, 1, 1, threads, 1, 1, smem, stream, ctypes.pointer(a), 1 if self.c["LAUNCH_EARLY"] else 0)
        ck(cu.cuLaunchKernelEx(ctypes.byref(g), self.f, (ctypes.c_void_p * len(params))(*params), None), "launch")

def graph(fn, sets, runs):
    st = torch.cuda.Stream()
    with torch.cuda.stream(st):
        for s in sets: fn(s, st.cuda_stream)
    torch.cuda.synchronize()
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g, stream=st):
        for i in range(runs): fn(sets[i % len(sets)], torch.cuda.current_stream().cuda_stream)
    return g

def times(graphs, runs, rounds):
    t = {n: [] for n in graphs}
    a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    names = list(graphs)
    for g in graphs.values(): g.replay()
    for _ in range(rounds):
        random.shuffle(names)
        for n in names:
            a.record(); graphs[n].replay(); b.record(); b.synchronize()
            t[n].append(a.elapsed_time(b) / runs * 1e3)
    return t
