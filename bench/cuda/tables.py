#!/usr/bin/env python3
"""The CUDA tables of docs/BENCHMARKS.md, one set of shapes after the other. For each shape: `autokernel
tune` with few evaluations, whose finish measures what it found, the default configuration and the
libraries interleaved on the same rotating buffers; or, with --tune 0, `autokernel compare` of what the
archive has. Prints ratios with intervals, geometric mean and minimum, and writes every figure.

    python3 bench/cuda/tables.py SET... [--tune 12] [--time 5] [--dtype bf16] [--limit SECONDS]
    python3 bench/cuda/tables.py --list                 the sets and their shapes
    python3 bench/cuda/tables.py --print FILE...        the tables of earlier results again

--time is for one shape, search and finish together. Results are written after each shape to
bench/results/cuda-tables-SET-DATE.json (SET-PROTOCOL with --protocol, SET-FIX with --fix; or --output FOLDER); shapes that are there already are not
measured again unless they failed, so that a run that was cut off goes on where it stopped. AUTOKERNEL is the executable."""
import argparse, datetime, itertools, json, math, os, random, subprocess, sys, tempfile, time

EXE = os.environ.get("AUTOKERNEL", "build/release/autokernel")

def mnk(shapes):
    return ["M=%d,N=%d,K=%d" % s for s in shapes]

LARGE = mnk([(4096, 4096, 4096), (8192, 8192, 8192), (8192, 8192, 1024), (8192, 8192, 2048), (8192, 8192, 28672),
             (4096, 14336, 4096), (4096, 28672, 4096), (16384, 4096, 4096)])
MEDIUM = mnk([(n, n, n) for n in (512, 768, 1024, 1536, 2048)] + [(2048, 512, 2048), (2048, 5120, 2048)])
SKINNY = mnk([(m, n, k) for n, k in ((4096, 4096), (14336, 4096), (4096, 14336), (7168, 16384))
              for m in (1, 8, 16, 32, 64, 128)])
DEEP = mnk([(n, n, k) for n in (128, 256, 512) for k in (8192, 65536)])
AWKWARD = mnk([(1000, 3000, 5000), (1544, 1544, 1544), (2056, 1000, 3000), (1000, 3001, 5001)])
ROWS = ["rows=%d,cols=%d" % ((1 << 26) // n, n) for n in (1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18)]
# Rows of odd length, three shapes of each kernel: (kernel, dtype, rows, columns)
ROWS_ODD = [("softmax", "bf16", 8192, 50257), ("softmax", "bf16", 65536, 1021), ("softmax", "f32", 16384, 5003),
            ("layernorm", "bf16", 65536, 1021), ("layernorm", "bf16", 16384, 4099), ("layernorm", "f32", 2048, 32771),
            ("rmsnorm", "bf16", 32768, 2049), ("rmsnorm", "f16", 8192, 8191), ("rmsnorm", "f32", 4096, 16381),
            ("reduce", "bf16", 8192, 50257), ("reduce", "f32", 65536, 1023), ("reduce", "f16", 16384, 4097)]
# Seeds of random shapes. Each round of work on the defaults gets a new one, so that its shapes are unseen.
SEEDS = {"": 2026, "-second": 2027, "-third": 2028, "-fourth": 2034, "-fifth": 2050, "-sixth": 2060, "-seventh": 2070,
         "-eighth": 2080, "-ninth": 2090, "-tenth": 2100, "-eleventh": 2110,
         "-twelfth": 2120, "-thirteenth": 2130, "-fourteenth": 2140,
         "-fifteenth": 2150, "-sixteenth": 2160, "-seventeenth": 2180, "-eighteenth": 2190, "-nineteenth": 2200, "-twentieth": 2210,
         "-twenty-first": 2220, "-twenty-second": 2230,
         "-twenty-third": 2240}

def random_products(seed, count=40):
    """Returns M, N, K, log-uniform from 16 to 16384. They are multiples of 8; in every fourth shape all three are odd."""
    draw, shapes = random.Random(seed), []
    for i in range(count):
        sizes = [2 ** draw.uniform(4, 14) for _ in range(3)]
        shapes.append(tuple(int(x) // 2 * 2 + 1 if i % 4 == 3 else max(16, int(x / 8 + 0.5) * 8) for x in sizes))
    return mnk(shapes)

def random_few_rows(seed, count=12):
    """Returns sizes of 17 to 64 rows, with N and K log-uniform from 16 to 16384 in multiples of 8."""
    draw = random.Random(seed)
    return mnk([(draw.randint(17, 64),) + tuple(max(16, int(2 ** draw.uniform(4, 14) / 8 + 0.5) * 8) for _ in "nk")
                for _ in range(count)])

def random_models(seed, count=24):
    """Returns sizes of layers of language models that no Rank was fitted to: 16 to 8192 rows, whole lines of 128 bytes."""
    draw, shapes = random.Random(seed), []
    layers = [(10240, 8192), (8192, 3584), (27648, 5120), (5120, 27648), (9216, 2304), (2304, 9216), (16384, 3072), (3072, 16384), (5760, 2880),
              (2880, 4096), (6656, 6656), (17920, 6656), (4096, 7168), (7168, 18432), (1152, 1152), (1280, 8192), (8192, 1024), (49152, 2048)]
    while len(shapes) < count:
        n, k = draw.choice(layers)
        m = int(2 ** draw.uniform(0, 9.01)) * 16
        if 2 * m * n * k < 1e12:
            shapes.append((m, n, k))
    return mnk(shapes)

def random_odd_short(seed, count=8):
    """Returns odd sizes: K of 17 to 63, N log-uniform from 64 to 8192, and C of 2 to 32 million elements."""
    draw, shapes = random.Random(seed), []
    for _ in range(count):
        n = 2 ** draw.uniform(6, 13)
        shapes.append(tuple(int(x) // 2 * 2 + 1 for x in (2 ** draw.uniform(21, 25) / n, n, draw.randint(17, 62))))
    return mnk(shapes)

def random_rows(seed, least=22, most=26, count=5):
    """Returns cases of the kernels on rows, `count` for each and two dtypes: columns log-uniform from 64 to 2^18, and as many rows as
    give 2^least to 2^most elements. Every other number of columns is a multiple of 8."""
    draw, cases = random.Random(seed), []
    for kernel, dtype, i in itertools.product(("softmax", "layernorm", "rmsnorm", "reduce"), ("bf16", "f32"), range(count)):
        cols = int(2 ** draw.uniform(6, 18))
        cols = cols if i % 2 else max(64, cols // 8 * 8)
        cases.append((kernel, "rows=%d,cols=%d" % (max(1, int(2 ** draw.uniform(least, most) / cols)), cols), "", dtype))
    return cases

FUSED = ["activation=%s,bias=add" % a for a in ("relu", "leaky_relu", "gelu_tanh", "silu")]

# batch, heads of Q, heads of K and V, keys, head_dim
DECODE = ["batch=%d,heads=%d,kv_heads=%d,keys=%d,head_dim=%d" % s for s in (
    (64, 32, 8, 8192, 128), (16, 32, 8, 8192, 128), (16, 64, 8, 4096, 128), (1, 32, 8, 32768, 128),
    (1, 64, 8, 131072, 128), (128, 32, 8, 1024, 128), (4, 32, 8, 4096, 128), (32, 64, 8, 8192, 64),
    (16, 16, 8, 8192, 256))]
DECODE_PAGES = [(16, DECODE[1]), (64, DECODE[0]), (64, DECODE[2]), (256, DECODE[3])]

# batch, heads of Q, heads of K and V, queries, keys, head_dim
ATTENTION = ["batch=%d,heads=%d,kv_heads=%d,queries=%d,keys=%d,head_dim=%d" % s for s in (
    (16, 16, 16, 1024, 1024, 128), (4, 16, 16, 4096, 4096, 128), (1, 16, 16, 16384, 16384, 128), (4, 32, 32, 4096, 4096, 64),
    (1, 16, 16, 8192, 8192, 256), (4, 32, 8, 3000, 3000, 128), (2, 16, 16, 3000, 3000, 256))]

# sequences, heads of Q, heads of K and V, queries and keys of all sequences, head_dim; lengths are evenly spaced from 0
PACKED = ["batch=%d,heads=%d,kv_heads=%d,queries=%d,keys=%d,head_dim=%d" % s for s in (
    (16, 16, 16, 16384, 16384, 128), (64, 32, 8, 32768, 32768, 128), (16, 32, 32, 16384, 16384, 64), (8, 16, 16, 16384, 16384, 256))]

FP8_ROWS = mnk([(m, n, k) for n, k in ((8192, 8192), (7168, 16384), (4096, 14336)) for m in (1, 16, 64, 128)])
FP8_LARGE = mnk([(4096, 4096, 4096), (8192, 8192, 8192), (4096, 7168, 2048), (4096, 7168, 16384), (4096, 14336, 4096),
                 (16384, 4096, 4096)])
SCALES = ["scales=" + s for s in ("tensor", "rows", "blocks")]

# For each set: a list of (kernel, size, choices, dtype or None for --dtype), and the value of --libraries.
SETS = {
    "large": ([("matmul", s, "", None) for s in LARGE], "default"),
    "medium": ([("matmul", s, "", None) for s in MEDIUM], "default"),
    "skinny": ([("matmul", s, "", None) for s in SKINNY], "default"),
    "deep": ([("matmul", s, "", None) for s in DEEP], "default"),
    "awkward": ([("matmul", s, "", None) for s in AWKWARD] + [("matmul", s, "pad_a=1,pad_b=1,pad_c=1", None) for s in AWKWARD[:3]], "default"),
    "fused-large": ([("matmul_act", s, c, None) for s in LARGE for c in FUSED], "default"),
    "fused-medium": ([("matmul_act", s, c, None) for s in MEDIUM for c in FUSED], "default"),
    "pytorch": ([("matmul_act", "M=4096,N=4096,K=4096", "activation=leaky_relu,bias=none", d) for d in ("f16", "bf16")],
                "default,torch-eager,torch-compile"),
    "rows": ([(k, s, "", d) for d in ("bf16", "f32", "f16") for k in ("softmax", "layernorm", "rmsnorm") for s in ROWS],
             "default,torch-eager,torch-compile"),
    "attention": ([("attention", s, "mask=" + m, None) for s in ATTENTION for m in ("full", "causal")],
                  "torch-eager,torch-cudnn,torch-flash,torch-compile"),
    "attention-packed": ([("attention", s, "mask=%s,sequences=packed,layout=nhd" % m, None) for s in PACKED
                          for m in ("full", "causal")], "torch-flash"),
    "decode": ([("attention_decode", s, "lengths=full", None) for s in DECODE], "torch-eager,torch-cudnn,torch-flash"),
    "decode-nhd": ([("attention_decode", s, "lengths=full,layout=nhd", None) for s in DECODE], "torch-eager,torch-cudnn,torch-flash"),
    "decode-paged": ([("attention_decode", s, "lengths=%s,page=%d" % (l, p), None) for l in ("full", "mixed") for p, s in DECODE_PAGES] +
                     [("attention_decode", s + ",queries=4", "page=64", None) for s in DECODE[1:3]], "none"),
}
# The layout nhd is the only one for which PyTorch takes pages and lengths on the device.
SETS["decode-paged-nhd"] = ([("attention_decode", s, "lengths=full,layout=nhd,page=64", None) for s in DECODE] +
                            [("attention_decode", s, "lengths=mixed,layout=nhd,page=64", None) for s in DECODE[:4]] +
                            [("attention_decode", s, "lengths=mixed,layout=nhd", None) for s in DECODE[:4]], "torch-flash,torch-compile")
SETS["fp8-rows"] = ([("matmul_fp8", s, c, None) for c in SCALES for s in FP8_ROWS], "default,torch-eager,torch-fast")
SETS["fp8-large"] = ([("matmul_fp8", s, c, None) for c in SCALES for s in FP8_LARGE], "default,torch-eager,torch-fast")
FP8_TYPES = ["a_type=e5m2", "c_type=e4m3", "a_type=e5m2,c_type=e4m3"]
SETS["fp8-types"] = ([("matmul_fp8", s, "scales=tensor," + c, None) for s in FP8_LARGE for c in FP8_TYPES], "default,torch-eager")
SETS["decode-fp8"] = ([("attention_decode", s, "lengths=full,kv=" + k, None) for s in DECODE for k in ("e4m3", "dtype")], "none")
# groups, rows of all groups, N, K; the rows are divided unevenly
GROUPED = ["groups=%d,M=%d,N=%d,K=%d" % s for s in (
    (8, 128, 4096, 4096), (8, 1024, 4096, 4096), (8, 4096, 4096, 4096), (8, 512, 14336, 4096), (8, 2048, 4096, 14336),
    (16, 1024, 5120, 8192), (32, 2048, 4096, 7168), (32, 256, 7168, 2048), (64, 128, 1408, 2048), (64, 1024, 4096, 2048),
    (64, 4096, 2048, 1408))]
SETS["grouped"] = ([("matmul_grouped", s, "", None) for s in GROUPED], "default,torch-eager,torch-loop")
SETS["grouped-fp8"] = ([("matmul_grouped", s, "inputs=e4m3", None) for s in GROUPED], "default,torch-eager")
SETS["grouped-swiglu"] = ([("matmul_grouped", s, "activation=swiglu", None) for s in GROUPED], "default,torch-eager,torch-compile")
# cuBLASLt has nothing between tf32 and full f32, so the products of bf16 terms are compared with full f32.
F32 = mnk([(1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 1024), (4096, 14336, 4096), (1000, 3001, 5001)])
SETS["f32-splits"] = ([("matmul", s, "precision=" + p, "f32") for p in ("bf16x3", "bf16x6") for s in F32], "default")
SETS["f32-tf32"] = ([("matmul", s, "precision=tf32", "f32") for s in F32], "default")
SETS["rows-odd"] = ([(k, "rows=%d,cols=%d" % (r, n), "", d) for k, d, r, n in ROWS_ODD], "default")
for nth, seed in SEEDS.items():
    SETS["random" + nth] = ([("matmul", s, "", None) for s in random_products(seed)], "default")
# Shapes that were below 0.97 of lt_best in an earlier table or sweep (docs/kernel-log.md, steps 50 to 60)
SETS["random-losses"] = ([("matmul", s, "", None) for s in mnk([
    (1529, 2405, 25), (6368, 40, 6344), (200, 12632, 1512), (488, 5592, 6544), (1512, 392, 3776), (4968, 904, 3704),
    (736, 4696, 12712), (4680, 552, 1936), (11368, 88, 856), (128, 7264, 24), (911, 1111, 93), (7080, 14768, 14952), (10840, 15864, 8712)])], "default")
SETS["losses-second"] = ([("matmul", s, "", None) for s in mnk([ # or nearly lost, up to seed 2130
    (1352, 6984, 2352), (2984, 7024, 13096), (1000, 3000, 5000), (7072, 1000, 1384), (11920, 11208, 1816), (88, 9576, 4456),
    (4968, 904, 3704), (488, 5592, 6544), (5848, 552, 600)])], "default")
SETS["losses-third"] = ([("matmul", s, "", None) for s in mnk([ # without overlap, 2026-11-29, with few evaluations
    (464, 4568, 1424), (449, 6989, 159), (16, 8608, 2360), (1120, 12840, 3504), (1536, 1536, 1536), (512, 512, 65536),
    (512, 512, 8192), (2048, 2048, 2048)])], "default")
SETS["losses-fourth"] = ([("matmul", s, "", None) for s in mnk([ # or nearly lost: seed 2190, gemm_bench of 2026-11-30
    (264, 11072, 4592), (168, 11600, 7088), (6072, 5400, 6664), (128, 16000, 40), (24, 8840, 944), (2824, 784, 2152),
    (4496, 536, 5248), (472, 1984, 3288), (24, 5384, 14472), (1112, 304, 13760), (424, 2664, 3296)])], "default")
SETS["losses-fifth"] = ([("matmul", s, "", None) for s in mnk([(264, 11072, 4592), (1472, 1384, 10864)])], "default")
SETS["losses-sixth"] = ([("matmul", s, "", None) for s in mnk([ # seed 2220, and a sweep of 2026-11-30
    (4632, 320, 2048), (11288, 1248, 15408), (264, 11072, 4592), (424, 2664, 3296), (552, 8800, 1456), (1224, 6080, 11960),
    (6944, 632, 4168)])], "default")
SETS["models"] = ([("matmul", s, "", None) for s in random_models(2211)], "default")
SETS["odd-short"] = ([("matmul", s, "", None) for s in random_odd_short(SEEDS["-twelfth"])], "default")
for nth in ("", "-second", "-third"):
    SETS["random-few" + nth] = ([("matmul", s, "", None) for s in random_few_rows(SEEDS[nth])], "default")

for nth, seed in (("", 4714), ("-second", 4715)): # large ones, then those whose launches cost as much as their work
    SETS["rows-random" + nth] = (random_rows(seed), "default")
    SETS["rows-small" + nth] = (random_rows(seed + 10, 16, 22), "default")
for layout in ("nt", "tn", "tt"):
    SETS["random-" + layout] = ([("matmul", s, "layout=" + layout, None) for s in random_products(4711, 24)], "default")

# Columns of a table: the title, and the libraries of which the fastest counts. lt_best includes `cublaslt`, cuBLASLt's first
# algorithm, because cublaslt-best is chosen while the device is cooler than in the finish, where the first may be faster.
COLUMNS = [("lt_best", ("cublaslt-best", "cublaslt", "cublaslt-unfused")), ("lt_first", ("cublaslt",)),
           ("lt_best, unfused", ("cublaslt-unfused",)), ("cuDNN", ("cudnn",)),
           ("torch, cuDNN", ("torch-cudnn",)), ("torch, FlashAttention", ("torch-flash",)), ("lt fast sums", ("cublaslt-fast",)), ("torch eager", ("torch-eager",)), ("torch fast sums", ("torch-fast",)), ("torch loop", ("torch-loop",)), ("torch.compile", ("torch-compile",)), ("copy", ("copy",))]

def measure(case, libraries, args, archive):
    """Measures one shape. Returns the JSON of tune or compare, or {"error": ...}."""
    kernel, size, choices, dtype = case
    command = [EXE, "tune" if args.tune else "compare", kernel, "--device", args.device, "--size", size, "--dtype", dtype,
               "--libraries", args.libraries or libraries, "--archive", archive, "--time", str(args.time), "--json"]
    command += ["--set", choices] if choices else []
    command += ["--protocol", args.protocol] if args.protocol else []
    command += ["--evals", str(args.tune), "--quiet"] if args.tune else []
    command += ["--finish-time", str(args.finish)] if args.tune and args.finish else []
    command += ["--fix", args.fix] if args.fix else []
    begin = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        result = json.loads(done.stdout)
    except ValueError:
        said = (done.stderr.strip() or "nothing was said").splitlines()[-1]
        result = {"error": "exit code %d: %s" % (done.returncode, said)}
    result.update(case=list(case), wall_seconds=round(time.monotonic() - begin, 2), command=" ".join(command[1:]))
    return result

def ours(result):
    """Returns (tuned, default), which are the same if the default is the best; (None, None) if no configuration ran."""
    candidates = [c for c in result.get("contestants", []) if c["config"] is not None and c["ms"]]
    if not candidates:
        return None, None
    named = [c for c in candidates if c["name"] in ("tuned", "best", "best = default")]
    tuned = named[0] if named else min(candidates, key=lambda c: c["ms"])
    default = [c for c in candidates if c["name"] == "default"]
    return tuned, default[0] if default else tuned

def fastest(result, libraries):
    found = [c for c in result.get("contestants", []) if c["library"] in libraries and c["ms"]]
    return min(found, key=lambda c: c["ms"]) if found else None

def speed(tuned, library):
    """Returns the library's time over ours, and the ends of its interval. If the library is the run's
    reference, they are of the ratios within rounds, otherwise of the two medians."""
    if library["ratio_ci"] == [1, 1] and tuned["ratio"]:
        return tuned["ratio"], tuned["ratio_ci"][0], tuned["ratio_ci"][1]
    return (library["ms"] / tuned["ms"], library["ci_ms"][0] / tuned["ci_ms"][1], library["ci_ms"][1] / tuned["ci_ms"][0])

def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))

def label(case):
    kernel, size, choices, dtype = case
    return " ".join(filter(None, [kernel, size.replace(",", " "), choices.replace(",", " "), dtype]))

def table(name, results):
    """Returns the table of one set as Markdown, with a summary of the ratios of each column."""
    columns = [c for c in COLUMNS if any(fastest(r, c[1]) for r in results)]
    ratios, of_default = {c[0]: [] for c in columns}, []
    lines = ["### " + name, "", "Ratios are the library's time over ours: above 1 ours is faster. [ ]: 95 % interval.", "",
             "| case | tuned, ms | TFLOP/s | GB/s | default / tuned | " + " | ".join(c[0] for c in columns) + " |",
             "|---" * (5 + len(columns)) + "|"]
    for result in results:
        tuned, default = ours(result)
        if tuned is None:
            lines.append("| %s | failed: %s |" % (label(result["case"]), result.get("error", "no configuration is right")) +
                         " |" * (3 + len(columns)))
            continue
        cells = []
        for title, libraries in columns:
            library = fastest(result, libraries)
            if library is None:
                cells.append("–")
                continue
            ratio, low, high = speed(tuned, library)
            ratios[title].append(ratio)
            cells.append("%.4f, **%.3f** [%.3f, %.3f]" % (library["ms"], ratio, low, high))
        best = fastest(result, COLUMNS[0][1])
        if best is not None:
            of_default.append(best["ms"] / default["ms"])
        lines.append("| %s | %.4f [%.4f, %.4f] | %.1f | %.0f | %.3f | %s |" % (
            label(result["case"]), tuned["ms"], *tuned["ci_ms"], tuned["tflops"], tuned["gbs"],
            default["ms"] / tuned["ms"], " | ".join(cells)))
    lines.append("")
    for title, _ in columns:
        if ratios[title]:
            lines.append("* %s: geometric mean **%.3f**, minimum %.3f, of %d" % (
                title, geomean(ratios[title]), min(ratios[title]), len(ratios[title])))
    if of_default:
        lines.append("* default configuration against lt_best: geometric mean %.3f, minimum %.3f" % (
            geomean(of_default), min(of_default)))
    return "\n".join(lines + overlap(results) + [""])

def overlap(results):
    """Returns a line that says in how many cases a run may begin before the previous one has ended, or none if never. Such overlap makes
    runs look faster, so that a ratio is fair only if both sides have it."""
    early = lambda one: one is not None and one.get("overlap") == "between runs"
    mine = sum(early(ours(r)[0]) for r in results)
    theirs = sum(any(early(c) for c in r.get("contestants", []) if c["library"]) for r in results)
    unknown = sum(any(c.get("overlap") is None for c in r.get("contestants", []) if c["library"]) for r in results)
    return ["* runs overlap (programmatic launches): ours in %d of %d cases, a library's in %d%s" % (
        mine, len(results), theirs, ", not known of one in %d" % unknown if unknown else "")] if mine or theirs else []

def load(path):
    with open(path) as f:
        return json.load(f)

def store(path, document):
    with open(path + ".new", "w") as f:
        json.dump(document, f, indent=1)
    os.replace(path + ".new", path)

def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("sets", nargs="*", help=", ".join(SETS) + "; with --print: files")
    ap.add_argument("--list", action="store_true")
    ap.add_argument("--print", action="store_true")
    ap.add_argument("--tune", type=int, default=12, help="evaluations a shape; 0: only compare")
    ap.add_argument("--time", type=float, default=5, help="seconds a shape")
    ap.add_argument("--finish", type=float, default=0, help="seconds for each candidate and library of the finish; 0: as tune does")
    ap.add_argument("--limit", type=float, default=math.inf, help="seconds after which no other shape is begun")
    ap.add_argument("--first", type=int, default=None, help="only the first so many shapes of each set")
    ap.add_argument("--skip", type=int, default=0, help="not the first so many shapes of each set")
    ap.add_argument("--dtype", default="bf16")
    ap.add_argument("--device", default="cuda:0")
    ap.add_argument("--libraries", default="", help="instead of what the set wants")
    ap.add_argument("--protocol", default="", help="of finishes: interleaved (default), burst, sustained")
    ap.add_argument("--fix", default="", help="only part of the space, as of tune, such as LAUNCH_EARLY=0")
    ap.add_argument("--archive", default="", help="default: a new one")
    ap.add_argument("--output", default="bench/results", help="folder of the figures")
    ap.add_argument("--date", default=datetime.date.today().isoformat(), help="in the name of the file of figures; default: today")
    args = ap.parse_args()
    if args.print:
        for path in args.sets:
            document = load(path)
            print(table(document["set"], document["cases"]))
        return
    if args.list or not args.sets:
        for name, (cases, libraries) in SETS.items():
            print("%s (%d shapes, libraries %s)" % (name, len(cases), libraries))
            print("\n".join("  " + label(case) for case in cases))
        return
    unknown = [name for name in args.sets if name not in SETS]
    if unknown:
        sys.exit("no set %s; there are %s" % (", ".join(unknown), ", ".join(SETS)))
    begin = time.monotonic()
    archive = args.archive or os.path.join(tempfile.mkdtemp(), "tables.db")
    date = args.date
    for name in args.sets:
        cases, libraries = SETS[name]
        path = os.path.join(args.output, "cuda-tables-%s-%s.json" % ("-".join(filter(None, [name, args.protocol, args.fix.replace("=", "-")])), date))
        document = load(path) if os.path.exists(path) else {"set": name, "date": date, "commands": [], "cases": []}
        document["commands"].append("python3 bench/cuda/tables.py " + " ".join(sys.argv[1:]))
        document["cases"] = [result for result in document["cases"] if "error" not in result]
        known = [result["case"] for result in document["cases"]]
        for case in itertools.islice(cases, args.skip, args.first):
            case = [case[0], case[1], case[2], case[3] or args.dtype]
            if case in known or time.monotonic() - begin > args.limit:
                continue
            result = measure(case, libraries, args, archive)
            tuned, _ = ours(result)
            best = fastest(result, COLUMNS[0][1])
            print("%6.1f s  %-60s %s" % (
                result["wall_seconds"], label(case), result.get("error", "no configuration is right") if tuned is None else
                "%.4f ms%s" % (tuned["ms"], "" if best is None else ", %.3f of lt_best" % speed(tuned, best)[0])),
                file=sys.stderr, flush=True)
            document["cases"].append(result)
            store(path, document)
        print(table(name, document["cases"]))
        print("raw figures: %s\n" % path, flush=True)

main()
