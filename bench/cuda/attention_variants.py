#!/usr/bin/env python3
"""Compares configurations of attention with each other and with PyTorch's backends, without autokernel. Each is a CUDA graph of
launches that rotate over copies of Q, K, V and O. They take turns in random order. The results are medians: of 5 rounds for all, and
of 15 rounds for the best four. Before that, every configuration is checked against sums in double precision, on awkward shapes.

    python3 bench/cuda/attention_variants.py build FOLDER     compiles the configurations; needs nvcc
    python3 bench/cuda/attention_variants.py run FOLDER [FILE.json]      needs PyTorch and an NVIDIA device of capability 9.0"""
import ctypes, json, math, os, statistics, subprocess, sys
from concurrent.futures import ThreadPoolExecutor

KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../kernels")
NAMES = ("batch", "heads", "kv_heads", "queries", "keys", "d", "causal")
CASES = [(16, 16, 16, 1024, 1024, 128), (4, 16, 16, 4096, 4096, 128), (1, 16, 16, 16384, 16384, 128), (4, 32, 32, 4096, 4096, 64),
         (1, 16, 16, 8192, 8192, 256), (4, 32, 8, 3000, 3000, 128), (2, 16, 16, 3000, 3000, 256)]
AWKWARD = [(1, 1, 1, 1, 1), (2, 3, 1, 77, 77), (1, 4, 2, 300, 517), (2, 2, 2, 517, 300), (1, 2, 1, 129, 1000), (3, 2, 2, 1024, 1024), (1, 1, 1, 1000, 3),
           (40, 8, 4, 333, 333)]
SHORT = {"NUM_CONSUMERS": "C", "TILE_KEYS": "K", "num_stages": "S", "PING_PONG": "pp", "SCHEDULE": "sch", "RESCALE_ABOVE": "resc", "section_mb": "mb"}

def configurations():
    base = dict(PING_PONG=1, SCHEDULE=2, RESCALE_ABOVE=8, LAUNCH_EARLY=0, WINDOW=0, SOFT_CAP=0, PACKED=0, NUM_CONSUMERS=2, section_mb=24)
    shapes = [dict(HEAD_DIM=128, TILE_KEYS=k, num_stages=s) for k, s in ((128, 6), (128, 4), (176, 4), (160, 4), (144, 4), (112, 6), (96, 8), (192, 4))]
    shapes += [dict(HEAD_DIM=128, TILE_KEYS=k, num_stages=s, NUM_CONSUMERS=3) for k, s in ((64, 8), (80, 8))]
    shapes += [dict(HEAD_DIM=64, TILE_KEYS=k, num_stages=s, NUM_CONSUMERS=c) for c, k, s in ((3, 128, 8), (3, 96, 8), (3, 112, 8), (2, 128, 8), (2, 192, 6), (2, 176, 6))]
    shapes += [dict(HEAD_DIM=256, TILE_KEYS=k, num_stages=s) for k, s in ((80, 4), (64, 5), (64, 4), (48, 6))]
    out = []
    for causal in (0, 1):
        for i, shape in enumerate(shapes):
            out.append(dict(base, **shape, CAUSAL=causal))
            out.append(dict(base, **shape, CAUSAL=causal, PING_PONG=0))
            if (shape["HEAD_DIM"], shape["TILE_KEYS"]) in ((128, 128), (128, 176), (64, 128), (256, 80)):
                for change in (dict(SCHEDULE=0), dict(SCHEDULE=1), dict(RESCALE_ABOVE=0), dict(section_mb=12), dict(section_mb=48), dict(section_mb=4096)):
                    if shape["num_stages"] != 4 or shape["TILE_KEYS"] != 128:
                        out.append(dict(base, **shape, CAUSAL=causal, **change))
    for d, k in ((64, 128), (128, 128), (256, 64)):
        for change in (dict(WINDOW=1, CAUSAL=1), dict(SOFT_CAP=1, CAUSAL=0), dict(f16=1, CAUSAL=1), dict(f16=1, CAUSAL=0)):
            out.append(dict(base, HEAD_DIM=d, TILE_KEYS=k, num_stages=4, **change))
    return out

def file_of(c):
    return "_".join("%s%d" % ("".join(w[:2] for w in n.split("_")), c[n]) for n in sorted(c) if n != "section_mb") + ".cubin"

def build(folder):
    os.makedirs(folder, exist_ok=True)
    source = os.path.join(folder, "attention.cu")
    with open(source, "w") as out:
        for name in ("matmul/cuda_wgmma.cu", "matmul/cuda_ring.cu", "attention/cuda_sm90.cu"):
            with open(os.path.join(KERNELS, name)) as f:
                out.write(f.read())
    def one(c):
        path = os.path.join(folder, file_of(c))
        if os.path.exists(path):
            return
        command = ["nvcc", "-gencode=arch=compute_90a,code=sm_90a", "-cubin", "-Xptxas=-v", "-o", path, source, "-Ddtype_is_f16=%d" % c.get("f16", 0),
                   "-Ddtype_is_bf16=%d" % (1 - c.get("f16", 0)), "-DSWAP_AB=0", "-DA_LAYOUT=0", "-DB_LAYOUT=0", "-DBLOCK_SIZE_M=64", "-DBLOCK_SIZE_N=TILE_KEYS"]
        done = subprocess.run(command + ["-D%s=%d" % p for p in c.items() if p[0] not in ("section_mb", "f16")], capture_output=True, text=True)
        if done.returncode or " 0 bytes spill stores" not in done.stderr or "C75" in done.stderr:
            print("left out: %s\n%s" % (c, done.stderr[-600:]))
            if os.path.exists(path): os.remove(path)
    unique = list({file_of(c): c for c in configurations()}.values())
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, unique))

if sys.argv[1] == "build":
    build(sys.argv[2])
    sys.exit()

import torch
from graphs import Module, ck, cu, graph, processors, times
from torch.nn.attention import SDPBackend, sdpa_kernel
dev = "cuda"

def tensor_map(x, rows):
    """Returns a buffer with a tensor map of x (batch x heads x rows x d, any strides) in blocks of 64 columns, and its 64-byte aligned
    address. The caller keeps the buffer."""
    b, h, s, d = x.shape
    sizes = (ctypes.c_uint64 * 5)(64, s, d // 64, h, b)
    strides = (ctypes.c_uint64 * 4)(*(2 * n for n in (x.stride(2), 64, x.stride(1), x.stride(0))))
    box, ones = (ctypes.c_uint32 * 5)(64, rows, d // 64, 1, 1), (ctypes.c_uint32 * 5)(1, 1, 1, 1, 1)
    raw = ctypes.create_string_buffer(256)
    at = (ctypes.addressof(raw) + 63) // 64 * 64
    kind = 9 if x.dtype == torch.bfloat16 else 6
    ck(cu.cuTensorMapEncodeTiled(ctypes.c_void_p(at), kind, 5, ctypes.c_void_p(x.data_ptr()), sizes, strides, box, ones, 0, 3, 3, 0), "map")
    return raw, at

class Kernel(Module):
    def __init__(self, c, path):
        super().__init__(c, path)
        d, q = c["HEAD_DIM"], 64 * c["NUM_CONSUMERS"]
        self.smem = 2 * d * (q + c["num_stages"] * c["TILE_KEYS"]) + 16 * c["num_stages"] + 32
        self.allow(self.smem)
        self.work = torch.zeros(2, dtype=torch.int32, device=dev)
    def prepare(self, s):
        q = 64 * self.c["NUM_CONSUMERS"]
        return [tensor_map(s["q"], q), tensor_map(s["k"], self.c["TILE_KEYS"]), tensor_map(s["v"], self.c["TILE_KEYS"])]
    def launch(self, s, stream, window=0, cap=0.0):
        c, q = self.c, 64 * self.c["NUM_CONSUMERS"]
        maps = s.setdefault("maps", {})
        key = (q, c["TILE_KEYS"])
        if key not in maps: maps[key] = self.prepare(s)
        b, h, nq, d = s["q"].shape
        kv, nk = s["k"].shape[1:3]
        tiles = -(-nq // q) * b * h
        section = max(1, (c["section_mb"] << 20) // (nk * d * 4)) * (h // kv)
        blocks = tiles if c["SCHEDULE"] == 0 else min(tiles, processors)
        o = s["out"]
        vals = [ctypes.c_void_p(o.data_ptr()), ctypes.c_void_p(s["lse"].data_ptr()), ctypes.c_void_p(self.work.data_ptr())]
        vals += [ctypes.c_int(x) for x in (b, nq, nk, h, kv, section, window)] + [ctypes.c_float(1 / math.sqrt(d)), ctypes.c_float(cap)]
        vals += [ctypes.c_longlong(o.stride(i)) for i in (2, 1, 0)]
        vals += [ctypes.c_void_p(0)] * 2  # the offsets of packed sequences, which are not used here
        self.start(stream, blocks, 128 * c["NUM_CONSUMERS"] + 128, self.smem, [at for _, at in maps[key]], vals)

def make(b, h, kv, nq, nk, d, layout="hnd", dtype=torch.bfloat16):
    def tensor(heads, rows, fill):
        x = torch.randn(b, heads, rows, d, device=dev, dtype=dtype) if layout == "hnd" else torch.randn(b, rows, heads, d, device=dev, dtype=dtype).transpose(1, 2)
        return x if fill else x.fill_(float("nan"))
    return {"q": tensor(h, nq, 1), "k": tensor(kv, nk, 1), "v": tensor(kv, nk, 1), "out": tensor(h, nq, 0), "lse": torch.full((b, h, nq), float("nan"), device=dev)}

def truth(s, causal, window=0, cap=0.0):
    q, k, v = (s[n].double() for n in ("q", "k", "v"))
    g = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(g, 1), v.repeat_interleave(g, 1)
    x = q @ k.transpose(-1, -2) / math.sqrt(q.shape[3])
    if cap: x = cap * torch.tanh(x / cap)
    nq, nk = x.shape[2:]
    own = torch.arange(nq, device=dev)[:, None] + nk - nq
    key = torch.arange(nk, device=dev)[None]
    if causal:
        hidden = key > own
        if window: hidden = hidden | (key <= own - window)
        x = x.masked_fill(hidden, float("-inf"))
    lse = torch.logsumexp(x, -1)
    return torch.nan_to_num(torch.softmax(x, -1)) @ v, lse

def check(k):
    c, worst, worst_lse = k.c, 0, 0
    dtype = torch.float16 if c.get("f16") else torch.bfloat16
    for b, h, kv, nq, nk in AWKWARD:
        for layout in ("hnd", "nhd"):
            window, cap = (50 if c["WINDOW"] else 0), (5.0 if c["SOFT_CAP"] else 0.0)
            s = make(b, h, kv, nq, nk, c["HEAD_DIM"], layout, dtype)
            k.launch(s, torch.cuda.current_stream().cuda_stream, window, cap)
            torch.cuda.synchronize()
            o, lse = truth(s, c["CAUSAL"], window, cap)
            e = (s["out"].double() - o).norm(dim=-1).max() / o.norm(dim=-1).max()
            finite = torch.isfinite(lse)
            l = (s["lse"].double()[finite] - lse[finite]).abs().max() if finite.any() else torch.zeros(1)
            bad = not float(e) < 0.02 or not float(l) < 1e-3 or not bool((torch.isfinite(s["lse"]) == finite).all())
            if bad:
                row = (s["out"].double() - o).norm(dim=-1)
                print("WRONG %s %s %s: %g lse %g; first bad rows %s" % (label(c, 1), (b, h, kv, nq, nk), layout, float(e), float(l),
                      torch.nonzero(~(row < 0.02 * o.norm(dim=-1).max()))[:4].tolist()))
                return False
            worst, worst_lse = max(worst, float(e)), max(worst_lse, float(l))
    print("right: %s  worst %.2g, lse %.2g" % (label(c, 1), worst, worst_lse), flush=True)
    return True

def sdpa(backend, causal):
    def run(s, stream):
        with sdpa_kernel(backend):
            s["ref"] = torch.nn.functional.scaled_dot_product_attention(s["q"], s["k"], s["v"], is_causal=bool(causal), enable_gqa=s["q"].shape[1] != s["k"].shape[1])
    return run

def label(c, full=0):
    return ("d%d%s " % (c["HEAD_DIM"], " causal" if c["CAUSAL"] else "") if full else "") + " ".join("%s=%s" % (short, c[name]) for name, short in SHORT.items())

def run_case(case, causal, kernels, full):
    b, h, kv, nq, nk, d = case
    size = 2 * b * d * (2 * h * nq + 2 * kv * nk)
    copies = max(2, -(-240_000_000 // size))
    sets = [make(*case) for _ in range(copies)]
    flops = 4 * b * h * nq * nk * d / (2 if causal else 1)
    runs = -(-max(copies, int(3e-3 * 500e12 / flops)) // copies) * copies
    graphs, own = {}, [k for k in kernels if k.c["HEAD_DIM"] == d and k.c["CAUSAL"] == causal]
    for k in own:
        graphs[label(k.c)] = graph(lambda s, stream, k=k: k.launch(s, stream), sets, runs)
    libraries = []
    for name, backend in (("cuDNN", SDPBackend.CUDNN_ATTENTION), ("FlashAttention", SDPBackend.FLASH_ATTENTION)):
        graphs[name] = graph(sdpa(backend, causal), sets, runs)
        libraries.append(name)
    first = times(graphs, runs, 5)
    median = {n: statistics.median(t) for n, t in first.items()}
    ours = sorted((n for n in graphs if n not in libraries), key=lambda n: median[n])
    print("%s causal=%d" % (case, causal))
    print("  all: " + "; ".join("%s %.0f" % (n, flops / median[n] / 1e6) for n in ours))
    again = times({n: graphs[n] for n in ours[:4] + libraries}, runs, 15)
    best = min(statistics.median(again[n]) for n in libraries)
    for n, t in again.items():
        t = sorted(t)
        print("  %-44s %8.1f us [%.1f, %.1f]  %5.0f TFLOP/s  %.3f" % (n, t[7], t[3], t[11], flops / t[7] / 1e6, best / t[7]), flush=True)
        full.append(dict(case=case, causal=causal, name=n, us=t))

def main():
    full, folder = [], sys.argv[2]
    kernels, right = [], {}
    for c in configurations():
        if os.path.exists(os.path.join(folder, file_of(c))):
            kernels.append(Kernel(c, os.path.join(folder, file_of(c))))
    for k in kernels:
        name = file_of(k.c)
        if name not in right: right[name] = check(k)
    kernels = [k for k in kernels if right[file_of(k.c)] and not k.c["WINDOW"] and not k.c["SOFT_CAP"] and not k.c.get("f16")]
    for case in CASES:
        for causal in (0, 1):
            run_case(case, causal, kernels, full)
            torch.cuda.empty_cache()
    if len(sys.argv) > 3:
        with open(sys.argv[3], "w") as f:
            json.dump(full, f)

main()
