"""Registers bundles as torch operators, and puts tuned kernels into a model.

    op = ak.torch.register("matmul_bf16.akb")       # torch.ops.autokernel.matmul_bf16
    c = op(a, b)                                    # eager, in a graph, under torch.compile

    ak.torch.profile(model, x)                      # where a model's time goes, by shape
    fast = ak.torch.accelerate(model, x, budget=120)
    print(fast)                                     # what was replaced, and what it brought
    fast.undo()
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Optional, Union

import torch

from ._bundle import Bundle, BundleError, load
from ._command import PathLike, TuneError, counted
from ._program import evaluate, infer
from ._tune import tune

_library = torch.library.Library("autokernel", "FRAGMENT")
_registered: dict[str, "Operator"] = {}
_DTYPES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}

# ---- registered operators -------------------------------------------------------------------------


class Operator:
    """A bundle that torch knows as an operator: call it, or torch.ops.autokernel.NAME."""

    def __init__(self, bundle: Bundle, name: str) -> None:
        self.bundle, self.name = bundle, name
        self.inputs = [a for a in bundle.arguments if a.access == "in" and not a.unused]
        self.outputs = [i for i, a in enumerate(bundle.arguments) if a.access == "out"]
        self.dtype = getattr(torch, self.inputs[0].dtype)  # dtype of the first input
        if any(a.access == "inout" for a in bundle.arguments):
            raise ValueError(f"{bundle.name}: reads and writes one array, which no registered "
                             "operator may: call the bundle itself")
        options = {o["name"]: o["value"] for o in bundle.info["option_values"]}
        if any(value != 0 for name, value in options.items() if name.startswith("pad_")):
            raise ValueError(f"{bundle.name}: has rows apart (pad options): call the bundle itself")
        results = ", ".join("Tensor" for _ in self.outputs)
        arguments = ", ".join(f"Tensor {a.name}" for a in self.inputs)
        _library.define(f"{name}({arguments}) -> "
                        f"{results if len(self.outputs) == 1 else '(' + results + ')'}")
        device = "CUDA" if bundle._gpu is not None else "CPU"
        _library.impl(name, self._run, device)
        torch.library.register_fake(f"autokernel::{name}", self._fake, lib=_library)
        torch.library.register_autograd(f"autokernel::{name}", self._backward,
                                        setup_context=self._keep, lib=_library)
        self._op = getattr(torch.ops.autokernel, name).default

    def __repr__(self) -> str:
        return f"<torch.ops.autokernel.{self.name}>"

    def __call__(self, *tensors: torch.Tensor) -> Any:
        return self._op(*tensors)

    def _run(self, *tensors: torch.Tensor) -> Any:
        return self.bundle(*(x.contiguous() for x in tensors))

    def _fake(self, *tensors: torch.Tensor) -> Any:
        specs = self.bundle.info["arguments"]
        sizes: dict[str, Any] = {}
        extents: list[Any] = []
        for a, x in zip(self.inputs, tensors):
            programs = specs[self.bundle.arguments.index(a)]["shape"]
            torch._check(x.ndim == len(programs),
                         lambda: f"{a.name}: has {counted(x.ndim, 'extent')} instead of {len(programs)}")
            torch._check(str(x.dtype) == f"torch.{a.dtype}",
                         lambda: f"{a.name}: has dtype {x.dtype}; the bundle is for {a.dtype}")
            extents += [(a.name, p, n) for p, n in zip(programs, x.shape)]
        infer(extents, self.bundle.sizes, sizes)
        for a, x in zip(self.inputs, tensors):
            programs = specs[self.bundle.arguments.index(a)]["shape"]
            for d, program in enumerate(programs):
                torch._check(x.shape[d] == evaluate(program, sizes),
                             lambda: f"{a.name}: extent {d} does not fit the others")
        made = [tensors[0].new_empty(
            [evaluate(p, sizes) for p in specs[i]["shape"]],
            dtype=getattr(torch, self.bundle.arguments[i].dtype)) for i in self.outputs]
        return made[0] if len(made) == 1 else tuple(made)

    # ---- derivatives ----------------------------------------------------------------------------

    def _keep(self, ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        kept = {"matmul": inputs, "softmax": (output,)}.get(self.bundle.kernel, ())
        ctx.save_for_backward(*kept)

    def _backward(self, ctx: Any, *gradients: Any) -> Any:
        options = {o["name"]: o["value"] for o in self.bundle.info["option_values"]}
        g = gradients[0]
        if self.bundle.kernel == "softmax":
            y, = ctx.saved_tensors
            return torch.ops.aten._softmax_backward_data(g.contiguous(), y, 1, y.dtype)
        if self.bundle.kernel != "matmul" or options["beta"] != 0:
            raise NotImplementedError(f"autokernel::{self.name} has no derivative: call it under "
                                      "torch.no_grad()")
        a, b = ctx.saved_tensors
        g = g if options["alpha"] == 1 else g * options["alpha"]
        layout, need = options["layout"], ctx.needs_input_grad
        of_a = of_b = None
        if need[0]:
            of_a = g @ (b.t() if layout[1] == "n" else b)
            of_a = of_a.t() if layout[0] == "t" else of_a
        if need[1]:
            of_b = (a.t() if layout[0] == "n" else a) @ g
            of_b = of_b.t() if layout[1] == "t" else of_b
        return of_a, of_b


def register(bundle: Union[Bundle, PathLike], name: Optional[str] = None) -> Operator:
    """Makes torch.ops.autokernel.NAME of a bundle (a path or an open one); NAME is the bundle's own
    unless it is given. Products and softmax have derivatives; of others, asking for one is an
    error. Inputs that are not contiguous are copied. A name can be registered once."""
    bundle = bundle if isinstance(bundle, Bundle) else load(bundle)
    name = name or bundle.name
    if name in _registered:
        raise ValueError(f"autokernel::{name} is registered already: give another name")
    _registered[name] = Operator(bundle, name)
    return _registered[name]


# ---- profile --------------------------------------------------------------------------------------


@dataclass
class Row:
    """Modules that do the same work: a kernel at a size. `ms` is the time of all `calls`."""
    kernel: str
    size: str
    dtype: str
    options: dict[str, str]
    calls: int
    ms: float
    modules: list[str]

    def __str__(self) -> str:
        return f"{self.kernel:10s}  {self.size:24s}  {self.dtype:4s}  {self.calls:3d}x  " \
               f"{self.ms:8.4f} ms  {', '.join(self.modules)}"


class Profile(list):
    """Rows, the most expensive first."""

    def __str__(self) -> str:
        return "\n".join(str(row) for row in self) or "nothing that a kernel could replace"


def _epsilon_fits(module: Any) -> bool:
    return abs((getattr(module, "eps", None) or 0) - 1e-5) < 1e-12


def _work_of(module: torch.nn.Module, x: Any) -> Optional[tuple[str, dict[str, int],
                                                                dict[str, str]]]:
    """Returns the kernel, size and options that compute what the module computes from x; None if no
    kernel does. The kernels have an epsilon of 1e-5, so modules with another one are left alone."""
    if not isinstance(x, torch.Tensor) or x.dtype not in _DTYPES or x.numel() == 0 or x.ndim < 1:
        return None
    rows, cols = x.numel() // x.shape[-1], x.shape[-1]
    weight = getattr(module, "weight", None)
    if weight is not None and weight.dtype != x.dtype:
        return None
    if type(module) is torch.nn.Linear:
        size = {"M": rows, "N": module.out_features, "K": module.in_features}
        if module.bias is None:
            return "matmul", size, {"layout": "nt"}
        return "matmul_act", size, {"layout": "nt", "activation": "none", "bias": "add"}
    if type(module) is torch.nn.RMSNorm and len(module.normalized_shape) == 1 and \
            _epsilon_fits(module):
        return "rmsnorm", {"rows": rows, "cols": cols}, \
            {"weight": "none" if weight is None else "scale"}
    if type(module) is torch.nn.LayerNorm and len(module.normalized_shape) == 1 and \
            _epsilon_fits(module):
        return "layernorm", {"rows": rows, "cols": cols}, \
            {"weight": "none" if weight is None else "scale",
             "bias": "none" if module.bias is None else "add"}
    if type(module) is torch.nn.Softmax and module.dim in (-1, x.ndim - 1):
        return "softmax", {"rows": rows, "cols": cols}, {}
    return None


def _text(values: dict[str, Any]) -> str:
    return ",".join(f"{k}={v}" for k, v in values.items())


def _arguments(inputs: Any) -> tuple[Any, ...]:
    return inputs if isinstance(inputs, tuple) else (inputs,)


def _watch(model: torch.nn.Module, inputs: Any) -> list[tuple[str, Any, Any, float]]:
    """Runs the model; gives name, module, first input and ms of each call of each module with
    work."""
    seen: list[Any] = []
    handles = []

    def now() -> Any:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def before(name: str) -> Callable[..., None]:
        def hook(module: Any, args: Any) -> None:
            if args and _work_of(module, args[0]) is not None:
                seen.append([name, module, args[0].detach(), now(), None])
        return hook

    def after(module: Any, args: Any, output: Any) -> None:
        for call in reversed(seen):
            if call[1] is module and call[4] is None:
                call[4] = now()
                break

    for name, module in model.named_modules():
        handles += [module.register_forward_pre_hook(before(name)),
                    module.register_forward_hook(after)]
    try:
        model(*_arguments(inputs))
    finally:
        for handle in handles:
            handle.remove()
    torch.cuda.synchronize()
    return [(n, m, x, a.elapsed_time(b)) for n, m, x, a, b in seen if b is not None]


@torch.no_grad()
def profile(model: torch.nn.Module, inputs: Any, repeats: int = 3) -> Profile:
    """Lists the products, normalisations and softmaxes of a model on a GPU that a kernel could
    compute, with their shapes, calls and times in one run, the most expensive first. `inputs` is
    what the model is called with, a tuple for several. Times are those of eager torch."""
    best: list[tuple[str, Any, Any, float]] = []
    for _ in range(max(1, repeats) + 1):  # the first run warms up and is not counted
        run = _watch(model, inputs)
        if len(best) != len(run):
            best = [(n, m, x, float("inf")) for n, m, x, _ in run]
            continue
        best = [(n, m, x, min(old[3], ms)) for old, (n, m, x, ms) in zip(best, run)]
    rows: dict[Any, Row] = {}
    for name, module, x, ms in best:
        work = _work_of(module, x)
        assert work is not None
        kernel, size, options = work
        key = (kernel, _text(size), _DTYPES[x.dtype], _text(options))
        row = rows.setdefault(key, Row(*key[:3], options, 0, 0.0, []))
        row.calls += 1
        row.ms += ms
        row.modules += [name] if name not in row.modules else []
    return Profile(sorted(rows.values(), key=lambda row: -row.ms))


# ---- accelerate -----------------------------------------------------------------------------------


class _Own(threading.local):
    def __init__(self) -> None:
        self.calls: dict[Any, Any] = {}


class _Fast:
    """The forward of a module that calls bundles at the sizes that they serve, and the module's own
    forward at others. A call at a shape that was seen before does nothing but check, allocate and
    launch."""

    def __init__(self, module: torch.nn.Module) -> None:
        self.module, self.own = module, module.forward
        self.names = [n for n in ("weight", "bias") if module._parameters.get(n) is not None]
        self.operators: dict[int, Operator] = {}  # by the number of rows
        self.seen = _Own()
        self.stream = torch._C._cuda_getCurrentRawStream

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        if torch.compiler.is_compiling() or torch.is_grad_enabled():
            return self._general(x)
        device = x.get_device()
        known = self.seen.calls.get((self.stream(device), x.shape)) if device >= 0 else None
        if known is None:
            return self._first(x)
        call, caller, dtype, shape, weights, at = known
        if x.dtype is not dtype or not x.is_contiguous() or \
                (call.workspace is not None and caller.capturing()):
            return self._general(x)
        pointers, parameters = call.pointers, self.module._parameters
        for name, index, count in weights:
            w = parameters[name]
            if w.dtype is not dtype or w.numel() != count or not w.is_contiguous():
                return self._general(x)
            pointers[index] = w.data_ptr()
        pointers[caller.needed[0]] = x.data_ptr()
        y = x.new_empty(shape)
        pointers[at] = y.data_ptr()
        return y if caller.run(call.at) == 0 else self._general(x)

    def _general(self, x: torch.Tensor) -> torch.Tensor:
        cols = x.shape[-1]
        operator = self.operators.get(x.numel() // cols if cols else 0)
        others = [self.module._parameters[n] for n in self.names]
        if operator is None or not x.is_cuda or \
                any(t.dtype != operator.dtype for t in (x, *others)):
            return self.own(x)
        y = operator(x.reshape(-1, cols), *others)
        return y.view(*x.shape[:-1], y.shape[-1])

    def _first(self, x: torch.Tensor) -> torch.Tensor:
        """Runs a shape for the first time on a stream, and remembers how."""
        cols = x.shape[-1]
        operator = self.operators.get(x.numel() // cols if cols else 0)
        if operator is None or not x.is_cuda or not x.is_contiguous():
            return self._general(x)
        caller, wide = operator.bundle._gpu, x.view(-1, cols)
        others = [self.module._parameters[n] for n in self.names]
        y = self._general(x) if caller is None else None
        if caller is None or caller.capturing() or any(
                t.dtype is not caller.dtypes[i] for i, t in zip(caller.needed, [x, *others])):
            return self._general(x) if y is None else y
        flat = caller([wide, *others], None, {})
        call = caller.own.fast.get(tuple([caller.stream(caller.device), wide.shape]
                                         + [t.shape for t in others]))
        shape = (*x.shape[:-1], flat.shape[-1])
        if call is not None:
            calls = self.seen.calls
            if len(calls) > 64:
                calls.clear()
            calls[caller.stream(caller.device), x.shape] = (
                call, caller, x.dtype, shape,
                [(n, i, t.numel()) for n, i, t in zip(self.names, caller.needed[1:], others)],
                caller.one)
        return flat.view(shape)


@dataclass
class Replaced:
    """What became of one row of the profile: `kept` says whether modules now use the kernel, `why`
    why not. Times are of one call."""
    row: Row
    ms_before: float = 0.0
    ms_after: float = 0.0
    kept: bool = False
    why: str = ""

    def __str__(self) -> str:
        what = f"{self.row.kernel:10s}  {self.row.size:24s}  {self.row.calls:3d}x"
        if self.ms_after == 0:
            return f"{what}  {self.why}"
        return f"{what}  {self.ms_before:8.4f} -> {self.ms_after:8.4f} ms  " \
               f"{'kept' if self.kept else 'left: ' + self.why}"


@dataclass
class Accelerated:
    """A model with kernels in the place of some of its modules' forwards. `error` is the largest
    difference of the outputs, relative to the largest output; `times` has ms before and after for
    each input, by the clock on the wall, and `ms_before` and `ms_after` are their sums."""
    model: torch.nn.Module
    ms_before: float
    ms_after: float
    error: float
    rows: list[Replaced]
    times: list[tuple[float, ...]]
    _undo: list[Any] = field(repr=False)

    @property
    def speedup(self) -> float:
        return self.ms_before / self.ms_after

    def undo(self) -> torch.nn.Module:
        """Restores the model exactly."""
        for module in self._undo:
            module.__dict__.pop("forward", None)
        self._undo = []
        return self.model

    def __str__(self) -> str:
        lines = [str(row) for row in self.rows]
        lines += [f"input {i}: {a:.4f} -> {b:.4f} ms" for i, (a, b) in enumerate(self.times)]
        lines.append(f"end to end {self.ms_before:.4f} -> {self.ms_after:.4f} ms "
                     f"({self.speedup:.3f}x), outputs differ by {self.error:.2g} of the largest")
        return "\n".join(lines)


def _device_ms(calls: list[Callable[[], Any]], rounds: int = 15) -> list[float]:
    """Returns the median time of each call on the device, measured in turns. Batches are queued
    behind a pause of about 4 ms, so that the host's time is not measured."""
    times: list[list[float]] = [[] for _ in calls]
    for call in calls:
        call()
    for _ in range(rounds):
        for i, call in enumerate(calls):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda._sleep(8_000_000)
            begin.record()
            for _ in range(20):
                call()
            end.record()
            torch.cuda.synchronize()
            times[i].append(begin.elapsed_time(end) / 20)
    return [sorted(t)[len(t) // 2] for t in times]


def _wall_ms(calls: list[Callable[[], Any]], rounds: int = 25) -> list[float]:
    """Returns the median wall-clock time of each call, measured in turns: what a user waits."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds + 2):
        for i, call in enumerate(calls):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(4):
                call()
            torch.cuda.synchronize()
            times[i].append((time.perf_counter() - begin) * 250)
    return [sorted(t[2:])[rounds // 2] for t in times]


def _error(a: Any, b: Any) -> float:
    """Returns the largest difference relative to the largest element; infinite if the shapes
    differ."""
    if isinstance(a, (tuple, list)):
        return max([_error(x, y) for x, y in zip(a, b)], default=0.0) if len(a) == len(b) \
            else float("inf")
    if not isinstance(a, torch.Tensor) or not a.is_floating_point():
        return 0.0
    if a.shape != b.shape or bool((a.isnan() != b.isnan()).any()):
        return float("inf")
    largest = float(a.float().abs().nan_to_num().max()) if a.numel() else 0.0
    return float((a.float() - b.float()).abs().nan_to_num().max()) / (largest or 1.0) \
        if a.numel() else 0.0


def _operator_of(row: Row, seconds: float, folder: str, archive: Optional[PathLike]) -> Operator:
    result = tune(row.kernel, size=row.size, dtype=row.dtype, options=row.options or None,
                  device=f"cuda:{torch.cuda.current_device()}", time=max(2.0, seconds),
                  libraries="none", progress=False, archive=archive)
    name = f"{row.kernel}_{row.dtype}_{_text(row.options)}_{row.size}"
    name = "".join(c if c.isalnum() else "_" for c in name)
    # a name is registered once, so another run of accelerate takes a new one
    if name in _registered:
        number = 2
        while f"{name}_{number}" in _registered:
            number += 1
        name = f"{name}_{number}"
    return register(result.export(os.path.join(folder, name + ".akb")), name)


@torch.no_grad()
def accelerate(model: torch.nn.Module, inputs: Any, budget: float = 120.0,
               tolerance: float = 0.02, least: float = 0.02,
               archive: Optional[PathLike] = None) -> Accelerated:
    """Tunes the work of a model on a GPU for `budget` seconds, and keeps what makes it faster.

    Each row of `profile` that takes at least the part `least` of its input's time is tuned, checked
    against the module it would replace (outputs may differ by `tolerance` of the largest), and
    timed beside it. Then the whole model is checked and timed, the original and the changed one in
    turns, by the clock on the wall; if it is not faster or not right, everything is undone. The
    model is changed in place, for these shapes; at other shapes, and after `undo()`, its modules do
    what they did. `inputs` is what the model is called with (a tuple for several), or a list of
    such, which are all tuned for and measured. Parameters stay the model's own.
    """
    every = inputs if isinstance(inputs, list) else [inputs]
    expected = [model(*_arguments(x)) for x in every]
    wanted: dict[Any, Row] = {}
    calls: dict[Any, list[tuple[Any, Any]]] = {}
    for x in every:
        rows = profile(model, x)
        total = sum(row.ms for row in rows)
        for row in rows:
            if row.ms >= least * total:
                wanted.setdefault((row.kernel, row.size, row.dtype, _text(row.options)), row)
        for _, module, seen, _ in _watch(model, x):
            kernel, size, options = _work_of(module, seen)  # type: ignore
            key = (kernel, _text(size), _DTYPES[seen.dtype], _text(options))
            if all(module is not other for other, _ in calls.setdefault(key, [])):
                calls[key].append((module, seen))
    results: list[Replaced] = []
    changed: dict[torch.nn.Module, _Fast] = {}
    with tempfile.TemporaryDirectory() as folder:
        for key, row in wanted.items():
            done = Replaced(row)
            results.append(done)
            module, x = calls[key][0]
            count = x.numel() // x.shape[-1]
            try:
                fast = _Fast(module)
                fast.operators[count] = _operator_of(row, budget / len(wanted), folder, archive)
                off = _error(module(x), fast(x))
            except (BundleError, TuneError, ValueError) as why:
                done.why = f"cannot be replaced: {why}"
                continue
            done.ms_before, done.ms_after = _device_ms([lambda: module(x), lambda: fast(x)])
            done.kept = off <= tolerance and done.ms_after < done.ms_before
            done.why = "" if done.kept else "no faster" if off <= tolerance else \
                f"its output differs by {off:.2g} of the largest"
            for other, _ in calls[key] if done.kept else []:
                changed.setdefault(other, _Fast(other)).operators[count] = fast.operators[count]
    return _compare(model, every, expected, results, changed, tolerance)


def _compare(model: torch.nn.Module, every: list[Any], expected: list[Any],
             results: list[Replaced], changed: dict[torch.nn.Module, _Fast],
             tolerance: float) -> Accelerated:
    """Checks and times the whole model, and undoes what is not faster or not right."""

    def switch(on: bool) -> None:
        for module, fast in changed.items():
            if on:
                module.__dict__["forward"] = fast
            else:
                module.__dict__.pop("forward", None)

    def run(on: bool, x: Any) -> None:
        switch(on)
        model(*_arguments(x))

    switch(True)
    error = max(_error(a, model(*_arguments(x))) for a, x in zip(expected, every))
    times = [tuple(_wall_ms([lambda: run(False, x), lambda: run(True, x)])) for x in every]
    switch(True)
    done = Accelerated(model, sum(t[0] for t in times), sum(t[1] for t in times), error, results,
                       times, list(changed))
    if error > tolerance or done.ms_after >= done.ms_before:
        done.undo()
        for row in results:
            if row.kept:
                row.kept, row.why = False, "the whole model is not faster with it" \
                    if error <= tolerance else "the whole model is not right with it"
    return done
