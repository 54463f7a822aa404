"""bundle_calls.py: measures the host time of a call from Python and the device time of a run, for a
bundle, its registered operator, its C file as a module of TVM FFI, and torch's own function.

    python3 bench/cuda/bundle_calls.py matmul_bf16.akb softmax_bf16.akb rmsnorm_bf16.akb

Host: medians in microseconds over batches of 20 calls. All ways take turns:
`floor`: a function that does nothing, called by TVM FFI with the same tensors; only together with
    `ffi`, and if ffi_empty.so lies beside the bundle.
`ffi`: the C file as a module of TVM FFI; only if tvm_ffi can be imported and NAME/NAME.so lies
    beside NAME.akb (`export --format c`, compiled with -shared). The workspace is made once.
`out=` and `call`: a bundle with a given output, and with a new one.
`op`: the registered operator. `compiled`: this operator under torch.compile.
`torch out=` and `torch`: torch's function with a given output, and with a new one.

Device: microseconds of one run. `tuner`: the time that is stored in the bundle. `graph` and `torch`:
of the bundle and of torch in CUDA graphs of 40 runs on rotating inputs, which take turns.

`error` is the largest difference from torch's result in float, relative to the largest element of
this result, over `ffi`, `out=`, `call`, `op` and `compiled`.
"""

import os
import sys
import time

import torch

import autokernel as ak

try:
    import tvm_ffi
except ImportError:
    tvm_ffi = None

BATCH, ROUNDS, GRAPH, GRAPHS = 20, 100, 40, 40
NONE = float("nan")


def median(values):
    return sorted(values)[len(values) // 2]


def host_us(calls):
    """Returns the median host time of a call of each function, in microseconds. They take turns."""
    times = [[] for _ in calls]
    for call in calls:
        for _ in range(30):
            call()
    for _ in range(ROUNDS):
        for call, own in zip(calls, times):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(BATCH):
                call()
            own.append((time.perf_counter() - begin) / BATCH * 1e6)
    torch.cuda.synchronize()
    return [median(own) for own in times]


def device_us(calls, sets):
    """Returns the median device time of a run of each function, in microseconds, from graphs that take turns."""
    graphs, times = [], [[] for _ in calls]
    for call in calls:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for k in range(len(sets)):
                call(k)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for i in range(GRAPH):
                call(i % len(sets))
        graphs.append(graph)
    for _ in range(GRAPHS):
        for graph, own in zip(graphs, times):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize()
            own.append(begin.elapsed_time(end) * 1e3 / GRAPH)
    return [median(own) for own in times]


def torch_calls(kernel, arrays):
    """Returns torch's functions for these arrays: call(); call(out) or None; and one in float as the reference."""
    f = torch.nn.functional
    a, b = arrays[0], arrays[1] if len(arrays) > 1 else None
    if kernel == "matmul":
        return (lambda: torch.mm(a, b)), (lambda out: torch.mm(a, b, out=out)), \
            (lambda: a.float() @ b.float())
    if kernel == "matmul_act":
        bias = arrays[2]
        return (lambda: f.leaky_relu(torch.addmm(bias, a, b), 0.01)), None, \
            (lambda: f.leaky_relu(a.float() @ b.float() + bias.float(), 0.01))
    if kernel == "softmax":
        return (lambda: torch.softmax(a, 1)), (lambda out: torch.softmax(a, 1, out=out)), \
            (lambda: torch.softmax(a.float(), 1))
    return (lambda: f.rms_norm(a, a.shape[1:], b, 1e-5)), None, \
        (lambda: f.rms_norm(a.float(), a.shape[1:], b.float(), 1e-5))


def inputs_of(kernel, n):
    def random(*shape):
        return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)
    if kernel == "matmul":
        return [random(n[0], n[2]), random(n[2], n[1])]
    if kernel == "matmul_act":
        return [random(n[0], n[2]), random(n[2], n[1]), random(n[1])]
    return [random(*n)] if kernel == "softmax" else [random(*n), random(n[1])]


def ffi_calls(path, bundle, arrays, out, size):
    """Returns two functions without arguments: one calls the empty function, the other the entry of
    the C file, both through TVM FFI with the bundle's arguments. None stands for a missing one."""
    library = os.path.join(os.path.splitext(path)[0], bundle.name + ".so")
    nothing = os.path.join(os.path.dirname(path) or ".", "ffi_empty.so")
    if tvm_ffi is None or not os.path.exists(library):
        return None, None
    module = tvm_ffi.load_module(library)
    entry, room = f"ak_{bundle.name}", f"ak_{bundle.name}_workspace"
    given, result = iter(arrays), []
    for argument in bundle.arguments:
        result.append(out if argument.access == "out" else None if argument.unused else next(given))
    need = int(getattr(module, room)(*size))
    if need > 0:
        result.append(tvm_ffi.from_dlpack(torch.zeros(need, device="cuda", dtype=torch.uint8)))
    function, result = getattr(module, entry), tuple(result)
    empty = tvm_ffi.load_module(nothing).empty if os.path.exists(nothing) else None
    floor = None if empty is None else lambda: empty(*result)
    return floor, lambda: function(*result)


def largest_error(results, exact):
    scale = exact.abs().max().item()
    return max((r.float() - exact).abs().max().item() for r in results) / scale


def main():
    torch.set_grad_enabled(False)
    torch.backends.cuda.matmul.allow_tf32 = False
    print(f"{'':15s}  {'size':>15s}  {'floor':>5s}  {'ffi':>5s}  {'out=':>5s}  {'call':>5s}  {'op':>5s}  "
          f"{'compiled':>8s}  {'torch out=':>10s}  {'torch':>5s} | {'tuner':>7s}  {'graph':>7s}  "
          f"{'torch':>7s}  {'error':>7s}")
    for path in sys.argv[1:]:
        bundle = ak.load(path)
        op = ak.torch.register(bundle)
        for measured in bundle.measured:
            n = tuple(measured.size.values())
            total = 2 * sum(torch.Size(a.shape).numel() for a in inputs_of(bundle.kernel, n))
            sets = [inputs_of(bundle.kernel, n) for _ in range(max(2, min(12, (200 << 20) // total)))]
            x = sets[0]
            own, own_out, exact = torch_calls(bundle.kernel, x)
            out = bundle(*x)
            compiled = torch.compile(lambda *arrays: op(*arrays), fullgraph=True)
            floor, ffi = ffi_calls(path, bundle, x, out, n)
            results = [out.clone(), bundle(*x), op(*x), compiled(*x)]
            if ffi is not None:
                out.zero_()
                ffi()
                results.append(out.clone())
            error = largest_error(results, exact())
            ways = [floor, ffi, lambda: bundle(*x, out=out), lambda: bundle(*x), lambda: op(*x),
                    lambda: compiled(*x), (lambda: own_out(out)) if own_out else None, own]
            times = iter(host_us([w for w in ways if w is not None]))
            host = [next(times) if w is not None else NONE for w in ways]
            outs = [torch.empty_like(out) for _ in sets]
            libraries = [torch_calls(bundle.kernel, s) for s in sets]
            device = device_us([lambda k: bundle(*sets[k], out=outs[k]),
                                lambda k: libraries[k][1](outs[k]) if own_out else libraries[k][0]()],
                               sets)
            print(f"{bundle.name:15s}  {'x'.join(map(str, n)):>15s}  {host[0]:5.2f}  {host[1]:5.2f}  "
                  f"{host[2]:5.2f}  {host[3]:5.2f}  {host[4]:5.2f}  {host[5]:8.2f}  {host[6]:10.2f}  "
                  f"{host[7]:5.2f} | "
                  f"{(measured.ms or NONE) * 1e3:7.2f}  {device[0]:7.2f}  {device[1]:7.2f}  "
                  f"{error:7.4f}", flush=True)


main()
