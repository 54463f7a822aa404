#!/usr/bin/env python3
"""Compares configurations of attention_decode with each other and with PyTorch's backends, without autokernel. Each is a CUDA graph
of launches that rotate over copies of Q, K, V and O of at least 240 MB together. They take turns in random order. The results are
medians: of 5 rounds for all, and of 15 rounds for the best four. Before that, every configuration is checked against sums in double
precision.

    python3 bench/cuda/decode_variants.py [FILE.json]        needs nvcc, PyTorch and an NVIDIA device of capability 9.0"""
import ctypes, json, math, os, statistics, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor

import torch
from graphs import Module, graph, processors, times
from torch.nn.attention import SDPBackend, sdpa_kernel

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../kernels/attention_decode/cuda.cu")
NAMES = ("batch", "queries", "heads", "kv_heads", "keys", "d")
CASES = [(64, 1, 32, 8, 8192, 128), (16, 1, 32, 8, 8192, 128), (16, 1, 64, 8, 4096, 128), (1, 1, 32, 8, 32768, 128), (1, 1, 64, 8, 131072, 128),
         (128, 1, 32, 8, 1024, 128), (4, 1, 32, 8, 4096, 128), (16, 4, 32, 8, 8192, 128), (32, 1, 64, 8, 8192, 64), (16, 1, 16, 8, 8192, 256)]
SHORT = {"TILE_KEYS": "T", "ROW_TILES": "N", "WARPS": "W", "STAGES": "S", "TAKE_SHARES": "shares", "LAUNCH_EARLY": "early"}

dev = "cuda"

class Kernel(Module):
    def prepare(self, case):
        c = self.c
        self.smem = c["WARPS"] * c["STAGES"] * c["TILE_KEYS"] * c["HEAD_DIM"] * 4 + c["WARPS"] * c["ROW_TILES"] * 64 + 4 * c["WARPS"] + 4 * (case["batch"] + 1)
        self.allow(self.smem)
        n = self.resident(32 * c["WARPS"], self.smem)
        self.blocks = processors * min(n, c["BLOCKS_PER_SM"])
        if n == 0: raise RuntimeError("does not fit")
        rows = case["queries"] * case["heads"] // case["kv_heads"]
        self.parts = -(-rows // (8 * c["ROW_TILES"]))
        self.work = torch.zeros(self.blocks * 2 * 8 * c["ROW_TILES"] * c["HEAD_DIM"] * 8, dtype=torch.uint8, device=dev)
    def launch(self, s, case, stream):
        vals = [ctypes.c_void_p(s[n].data_ptr()) for n in ("q", "k", "v", "lengths", "table")]
        vals += [ctypes.c_void_p(0), ctypes.c_void_p(0)] # the scales, which only quantised K and V have
        vals += [ctypes.c_void_p(s["out"].data_ptr()), ctypes.c_void_p(self.work.data_ptr())]
        vals += [ctypes.c_int(x) for x in (case["batch"], case["queries"], case["heads"] // case["kv_heads"], case["kv_heads"], case["keys"], s["table"].shape[1], self.parts)] + [ctypes.c_float(1 / math.sqrt(self.c["HEAD_DIM"]))]
        self.start(stream, self.blocks, 32 * self.c["WARPS"], self.smem, [], vals)

def make(case, page=0, nhd=0, lengths=None):
    B, Q, H, KV, S, D = (case[n] for n in ("batch", "queries", "heads", "kv_heads", "keys", "d"))
    s = {"q": torch.randn(B, Q, H, D, device=dev, dtype=torch.bfloat16), "out": torch.full((B, Q, H, D), float("nan"), device=dev, dtype=torch.bfloat16)}
    if page == 0:
        shape = (B, S, KV, D) if nhd else (B, KV, S, D); s["table"] = torch.zeros(B, 1, dtype=torch.int32, device=dev)
    else:
        n = -(-S // page); shape = (B * n, page, KV, D) if nhd else (B * n, KV, page, D)
        s["table"] = torch.randperm(B * n, device=dev).to(torch.int32).view(B, n)
    s["k"] = torch.randn(shape, device=dev, dtype=torch.bfloat16); s["v"] = torch.randn(shape, device=dev, dtype=torch.bfloat16)
    s["nhd"] = nhd
    s["lengths"] = torch.tensor(lengths or [S] * B, dtype=torch.int32, device=dev)
    return s

def kv_of(s, case, page, nhd, b):
    n = int(s["lengths"][b]); out = []
    for x in (s["k"], s["v"]):
        if page:
            x = x[s["table"][b].long()]
            x = x if nhd else x.transpose(1, 2)
            x = x.reshape(-1, case["kv_heads"], case["d"])
        else:
            x = x[b] if nhd else x[b].transpose(0, 1)
        out.append(x[:n].double())
    return out

def check(s, case, page, nhd):
    worst = 0
    G = case["heads"] // case["kv_heads"]
    for b in {0, case["batch"] // 2, case["batch"] - 1}:
        k, v = kv_of(s, case, page, nhd, b)
        n = k.shape[0]
        for qi in range(case["queries"]):
            lim = n - case["queries"] + 1 + qi
            q = s["q"][b, qi].double().view(case["kv_heads"], G, -1)
            p = torch.softmax(torch.einsum("hgd,nhd->hgn", q, k[:lim]) / math.sqrt(case["d"]), -1)
            o = torch.einsum("hgn,nhd->hgd", p, v[:lim]).reshape(case["heads"], -1)
            e = (s["out"][b, qi].double() - o).norm() / o.norm()
            worst = max(worst, float("inf") if math.isnan(float(e)) else float(e))
    return worst

def sdpa(backend):
    def run(s, stream):
        with sdpa_kernel(backend):
            k, v = (s[n].transpose(1, 2) if s["nhd"] else s[n] for n in ("k", "v"))
            s["ref"] = torch.nn.functional.scaled_dot_product_attention(s["q"].transpose(1, 2), k, v, enable_gqa=True)
    return run

def label(c):
    return " ".join("%s=%s" % (short, c[name]) for name, short in SHORT.items())

def fits(c, case, page, nhd):
    rows = case["queries"] * case["heads"] // case["kv_heads"]
    return (c["HEAD_DIM"] == case["d"] and (c["PAGE"], c["layout_is_nhd"]) == (page, nhd) and 8 * c["ROW_TILES"] >= rows
            and (c["ROW_TILES"] == 1 or 4 * c["ROW_TILES"] < rows))

def run_case(case, page, nhd, kernels, full):
    size = 4 * case["batch"] * case["kv_heads"] * case["keys"] * case["d"]
    copies = max(2, -(-240_000_000 // size))
    sets = [make(case, page, nhd) for _ in range(copies)]
    runs = -(-max(copies, min(64, int(2.5e-3 * 4e12 / size))) // copies) * copies
    graphs = {}
    for k in kernels:
        if fits(k.c, case, page, nhd):
            k.prepare(case)
            graphs[label(k.c)] = graph(lambda s, stream, k=k: k.launch(s, case, stream), sets, runs)
            graphs[label(k.c)].replay()
            torch.cuda.synchronize()
            error = check(sets[0], case, page, nhd)
            if not error < 6e-3:
                sys.exit("wrong: %s %s: %g" % (case, label(k.c), error))
            sets[0]["out"].fill_(float("nan"))
    libraries = []
    if page == 0 and case["queries"] == 1:
        for name, backend in (("cuDNN", SDPBackend.CUDNN_ATTENTION), ("FlashAttention", SDPBackend.FLASH_ATTENTION)):
            graphs[name] = graph(sdpa(backend), sets, runs)
            libraries.append(name)
    median = {n: statistics.median(t) for n, t in times(graphs, runs, 5).items()}
    ours = sorted((n for n in graphs if n not in libraries), key=lambda n: median[n])[:4]
    again = times({n: graphs[n] for n in ours + libraries}, runs, 15)
    print("%s page=%d nhd=%d: %.1f MB" % (case, page, nhd, size / 1e6))
    for n, t in again.items():
        t = sorted(t)
        print("  %-44s %8.1f us [%.1f, %.1f]  %5.0f GB/s" % (n, t[7], t[3], t[11], size / t[7] / 1e3))
        full.append(dict(case=case, page=page, nhd=nhd, name=n, us=t))

def build(configs, folder):
    def one(i):
        command = ["nvcc", "-gencode=arch=compute_90a,code=sm_90a", "-cubin", "-o", os.path.join(folder, "%d.cubin" % i), "-Ddtype_is_bf16=1", SOURCE]
        subprocess.run(command + ["-D%s=%d" % pair for pair in configs[i].items()], check=True)
    with ThreadPoolExecutor() as pool:
        list(pool.map(one, range(len(configs))))
    return [Kernel(c, os.path.join(folder, "%d.cubin" % i)) for i, c in enumerate(configs)]

def configurations():
    out = []
    for early in (0, 1):
        for page, nhd in ((0, 0), (0, 1), (16, 0), (64, 0)):
            for d, t, n, w, s in ((128, 32, 1, 4, 3), (128, 32, 1, 4, 2), (128, 16, 1, 8, 3), (128, 16, 1, 4, 3), (64, 64, 1, 4, 3), (64, 32, 1, 8, 3),
                                  (256, 16, 1, 4, 3), (128, 16, 2, 8, 3), (128, 32, 2, 4, 3)):
                for shares in (0, 1):
                    out.append(dict(HEAD_DIM=d, TILE_KEYS=t, ROW_TILES=n, WARPS=w, STAGES=s, BLOCKS_PER_SM=1, LEAST_TILES=w, PREFETCH=128,
                                    TAKE_SHARES=shares, EVICT_FIRST=1, LAUNCH_EARLY=early, PAGE=page, layout_is_nhd=nhd))
    return out

def main():
    full = []
    with tempfile.TemporaryDirectory() as folder:
        kernels = build(configurations(), folder)
    for case in CASES:
        for page, nhd in ((0, 0), (0, 1), (16, 0), (64, 0)):
            run_case(dict(zip(NAMES, case)), page, nhd, kernels, full)
            torch.cuda.empty_cache()
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w") as f:
            json.dump(full, f, indent=1)

main()
