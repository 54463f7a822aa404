#!/usr/bin/env python3
"""Compares configurations of matmul_grouped with each other, with torch._grouped_mm and with a loop of torch.mm, without autokernel.
Each is a CUDA graph of launches that rotate over copies of all arrays (at least 240 MB). They take turns in random order. The results
are medians: of 5 rounds for all, and of 15 rounds for the best five. Before that, every configuration is checked against products in
f32, also on odd shapes with empty groups.

    python3 bench/cuda/grouped_variants.py build FOLDER            needs nvcc: one cubin for each configuration
    python3 bench/cuda/grouped_variants.py run FOLDER [FILE.json]  needs PyTorch and an NVIDIA device of capability 9.0"""
import ctypes, itertools, json, os, random, statistics, subprocess, sys
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = [os.path.join(HERE, "../../kernels", f) for f in ("matmul/cuda_wgmma.cu", "matmul/cuda_ring.cu", "matmul_grouped/cuda_plan.cu", "matmul_grouped/cuda_sm90.cu")]
WIDTHS = (16, 32, 64, 96, 128, 192, 256)
# groups, rows of all groups together, N, K
CASES = [(8, 1024, 4096, 4096), (8, 128, 4096, 4096), (8, 4096, 4096, 4096), (8, 512, 14336, 4096), (8, 2048, 4096, 14336), (16, 1024, 5120, 8192),
         (32, 2048, 4096, 7168), (32, 256, 7168, 2048), (64, 128, 1408, 2048), (64, 4096, 2048, 1408), (64, 1024, 4096, 2048), (8, 32768, 4096, 4096)]
ODD = [(3, 100, 72, 72), (5, 333, 264, 200), (7, 1, 8, 8), (256, 1000, 136, 320), (4, 700, 1000, 1032), (1, 129, 128, 64)]

def configurations():
    """Returns the configurations to compare. A tile is: rows, columns, elements of a slot along K, slots, consumers."""
    def one(tile, stream, strips, evict=1, swiglu=0, masked=0):
        names = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "num_stages", "NUM_CONSUMERS")
        return dict(zip(names, tile), CLUSTER_N=1, STREAM=stream, STRIPS=strips, EVICT_B=evict, LAUNCH_EARLY=1, activation_is_swiglu=swiglu, layout_is_masked=masked)
    tile, wide, high, thin = (128, 128, 64, 6, 2), (128, 256, 64, 4, 2), (256, 128, 64, 4, 2), (128, 64, 64, 9, 1)
    out = [one(tile, s, n) for s in (0, 1) for n in (1, 4, 1024)] + [one(tile, 0, 16), one(tile, 0, 1, evict=0)]
    out += [one(t, 0, n) for t in (wide, high) for n in (1, 4)] + [one(high, 1, 1), one(thin, 0, 2)]
    out += [one(t, 0, n, swiglu=1) for t in ((128, 64, 64, 6, 1), (128, 128, 64, 4, 2)) for n in (1, 4)] + [one((128, 64, 64, 6, 1), 1, 1, swiglu=1)]
    return out + [one(tile, 1, 4, masked=1), one((128, 64, 64, 6, 1), 1, 2, swiglu=1, masked=1)]

def build(folder):
    configs = configurations()
    os.makedirs(folder, exist_ok=True)
    source = os.path.join(folder, "all.cu")
    with open(source, "w") as f:
        f.write("".join(open(name).read() for name in SOURCES))
    def one(i):
        command = ["nvcc", "-gencode=arch=compute_90a,code=sm_90a", "-cubin", "-Xptxas", "-v", "-o", os.path.join(folder, "%d.cubin" % i), "-Ddtype_is_bf16=1",
                   "-DSWAP_AB=1", "-DA_LAYOUT=0", "-DB_LAYOUT=0", source]
        text = subprocess.run(command + ["-D%s=%d" % pair for pair in configs[i].items()], check=True, capture_output=True, text=True).stderr
        if " 0 bytes spill stores" not in text or "C75" in text:
            print(i, configs[i], text)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, range(len(configs))))
    os.remove(source)
    with open(os.path.join(folder, "configs.json"), "w") as f:
        json.dump(configs, f)

if sys.argv[1] == "build":
    build(sys.argv[2])
    sys.exit()

import torch
from graphs import Module, ck, cu, graph, processors, times
BFLOAT16, SWIZZLE_128, PROMOTE_256 = 9, 3, 3

def tensor_map(address, columns, rows, box_rows):
    room = ctypes.create_string_buffer(192)
    at = (ctypes.addressof(room) + 63) // 64 * 64
    ck(cu.cuTensorMapEncodeTiled(ctypes.c_void_p(at), BFLOAT16, 2, ctypes.c_void_p(address), (ctypes.c_uint64 * 2)(columns, rows), (ctypes.c_uint64 * 1)(columns * 2),
                                 (ctypes.c_uint32 * 2)(64, box_rows), (ctypes.c_uint32 * 2)(1, 1), 0, SWIZZLE_128, PROMOTE_256, 0), "map")
    return room, at

class Kernel(Module):
    def __init__(self, c, path):
        super().__init__(c, path)
        self.allow(self.shared(256))
        n = self.resident(self.threads(), self.shared(256))
        self.blocks = processors * (min(1, n) if c["STREAM"] else n)
        self.room = torch.zeros(4096 + self.blocks * 8 * c["BLOCK_SIZE_M"] * c["BLOCK_SIZE_N"] * (1 + c["activation_is_swiglu"]), dtype=torch.uint8, device="cuda")
    def threads(self):
        return 128 * self.c["NUM_CONSUMERS"] + (32 if self.c["NUM_CONSUMERS"] == 1 else 128)
    def shared(self, groups):
        c = self.c
        rows = c["BLOCK_SIZE_M"] + c["BLOCK_SIZE_N"] * (1 + c["activation_is_swiglu"])
        return c["num_stages"] * (rows * c["BLOCK_SIZE_K"] * 2 + 16) + 4096 * c["NUM_CONSUMERS"] + 8 * groups + 4
    def launch(self, s, stream):
        c, x = self.c, s["case"]
        key = id(self)
        if key not in s["maps"]:
            rows = x["n"] * x["groups"] * (1 + c["activation_is_swiglu"])
            maps = [tensor_map(s["b"].data_ptr(), x["k"], rows, 64 if c["activation_is_swiglu"] else c["BLOCK_SIZE_N"])]
            maps += [tensor_map(s["a"].data_ptr(), x["k"], s["a"].shape[0], w) for w in WIDTHS]
            s["maps"][key] = maps
        vals = [ctypes.c_void_p(s[name].data_ptr()) for name in ("c", "ends", "ends")] + [ctypes.c_void_p(self.room.data_ptr())] + [ctypes.c_int(x[n]) for n in ("groups", "m", "n", "k")]
        self.start(stream, self.blocks, self.threads(), self.shared(x["groups"]), [at for _, at in s["maps"][key]], vals)

def ends_of(groups, rows, seed):
    r = random.Random(seed)
    return sorted(r.randint(0, rows) for _ in range(groups - 1)) + [rows]

def make(case, masked, swiglu, seed):
    groups, m, n, k = case
    places = 2 * m // groups + 1
    rows = groups * places if masked else m
    counts = [random.Random(seed + g).randint(0, places) for g in range(groups)]
    ends = counts if masked else ends_of(groups, m, seed)
    s = {"case": dict(groups=groups, m=places if masked else m, n=n, k=k), "maps": {}, "list": ends, "masked": masked, "swiglu": swiglu}
    s["a"] = torch.randn(rows, k, device="cuda", dtype=torch.bfloat16)
    s["b"] = torch.randn(groups, n * (1 + swiglu), k, device="cuda", dtype=torch.bfloat16)
    s["c"] = torch.full((rows, n), float("nan"), device="cuda", dtype=torch.bfloat16)
    s["ends"] = torch.tensor(ends, dtype=torch.int32, device="cuda")
    return s

def spans(s):
    if s["masked"]: return [(g * s["case"]["m"], g * s["case"]["m"] + r) for g, r in enumerate(s["list"])]
    return list(zip([0] + s["list"][:-1], s["list"]))

def check(s):
    """Returns the greatest ratio of an error to the allowed one; infinity for NaN, or if a row outside all groups is not 0."""
    worst, untouched = 0.0, torch.ones(s["a"].shape[0], dtype=torch.bool, device="cuda")
    for g, (begin, end) in enumerate(spans(s)):
        if begin == end: continue
        untouched[begin:end] = False
        x = s["a"][begin:end].float() @ s["b"][g].float().t()
        if s["swiglu"]:
            gate, up = x.chunk(2, 1)
            x = torch.nn.functional.silu(gate) * up
        e = (s["c"][begin:end].float() - x).abs() / (x.abs() * 2**-8 + 2**-9 * x.square().mean().sqrt())
        worst = max(worst, float("inf") if bool(e.isnan().any()) else float(e.max()))
    if bool(s["c"][untouched].ne(0).any()): worst = float("inf")
    return worst

def torch_grouped(s, stream):
    y = torch._grouped_mm(s["a"], s["b"].transpose(-2, -1), offs=s["ends"])
    if s["swiglu"]:
        gate, up = y.chunk(2, 1)
        y = torch.nn.functional.silu(gate) * up
    s["y"] = y

def torch_loop(s, stream):
    for g, (begin, end) in enumerate(spans(s)):
        if begin < end: torch.mm(s["a"][begin:end], s["b"][g].t(), out=s["y2"][begin:end])

def label(c):
    return "%dx%dx%d" % (c["BLOCK_SIZE_M"], c["BLOCK_SIZE_N"], c["BLOCK_SIZE_K"]) + " S=%d C=%d" % (c["num_stages"], c["NUM_CONSUMERS"]) + "".join(
        " %s=%d" % (short, c[n]) for n, short in (("CLUSTER_N", "cluster"), ("STREAM", "stream"), ("STRIPS", "strips"), ("EVICT_B", "evict"), ("LAUNCH_EARLY", "early"))
        if n in c)

def run_case(case, swiglu, kernels, full):
    groups, m, n, k = case
    ends = ends_of(groups, m, 1)
    used = sum(a != b for a, b in zip([0] + ends[:-1], ends))
    weights = used * n * (1 + swiglu) * k * 2
    size = weights + 2 * m * (n + k)
    copies = max(2, -(-240_000_000 // size))
    sets = [make(case, 0, swiglu, 1) for _ in range(copies)]
    for s in sets: s["y2"] = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
    runs = -(-max(copies, min(64, int(2.5e-3 / max(size / 4e12, 2.0 * m * n * (1 + swiglu) * k / 7e14)))) // copies) * copies
    graphs = {}
    for kernel in kernels:
        if kernel.c["activation_is_swiglu"] == swiglu and not kernel.c["layout_is_masked"]:
            graphs[label(kernel.c)] = graph(kernel.launch, sets, runs)
            torch.cuda.synchronize()
            error = check(sets[0])
            if not error < 2: print("WRONG: %s %s: %g" % (case, label(kernel.c), error), flush=True)
            sets[0]["c"].fill_(float("nan"))
    libraries = ["torch._grouped_mm"] + ([] if swiglu else ["torch.mm loop"])
    graphs["torch._grouped_mm"] = graph(torch_grouped, sets, runs)
    if not swiglu: graphs["torch.mm loop"] = graph(torch_loop, sets, runs)
    median = {n: statistics.median(t) for n, t in times(graphs, runs, 5).items()}
    ours = sorted((n for n in graphs if n not in libraries), key=lambda n: median[n])
    again = times({n: graphs[n] for n in ours[:5] + libraries}, runs, 15)
    print("%s swiglu=%d, %d groups with rows: %.1f MB of weights; all: %s" % (case, swiglu, used, weights / 1e6,
          ", ".join("%s %.1f" % (n.replace(" ", ","), median[n]) for n in ours)), flush=True)
    theirs = statistics.median(again["torch._grouped_mm"])
    for n, t in again.items():
        t = sorted(t)
        print("  %-52s %8.1f us [%.1f, %.1f] %5.0f GB/s %4.0f TFLOP/s %.3f" % (n, t[7], t[3], t[11], size / t[7] / 1e3, 2e-6 * m * case[2] * (1 + swiglu) * k / t[7], theirs / t[7]), flush=True)
        full.append(dict(case=case, swiglu=swiglu, name=n, us=t))

def odd(kernels):
    bad = 0
    for kernel, (i, case) in itertools.product(kernels, enumerate(ODD)):
        s = make(case, kernel.c["layout_is_masked"], kernel.c["activation_is_swiglu"], i)
        for _ in range(2):
            s["c"].fill_(float("nan"))
            kernel.launch(s, torch.cuda.current_stream().cuda_stream)
            torch.cuda.synchronize()
            error = check(s)
            if not error < 2:
                bad += 1
                print("WRONG: %s %s masked=%d swiglu=%d: %g" % (case, label(kernel.c), s["masked"], s["swiglu"], error), flush=True)
    print("odd shapes: %d kernels x %d shapes, %d wrong" % (len(kernels), len(ODD), bad), flush=True)

def main():
    driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
    print("%s, driver %s, PyTorch %s, CUDA %s" % (torch.cuda.get_device_name(0), driver, torch.__version__, torch.version.cuda), flush=True)
    full = []
    with open(os.path.join(sys.argv[2], "configs.json")) as f:
        kernels = [Kernel(c, os.path.join(sys.argv[2], "%d.cubin" % i)) for i, c in enumerate(json.load(f))]
    odd(kernels)
    for swiglu, cases in ((0, CASES), (1, CASES[:3] + CASES[8:11])):
        for case in cases:
            run_case(case, swiglu, kernels, full)
            torch.cuda.empty_cache()
            if len(sys.argv) > 3:
                with open(sys.argv[3], "w") as f:
                    json.dump(full, f)

main()
