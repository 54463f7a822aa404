"""Opens bundles as callables on NumPy arrays and tensors."""

from __future__ import annotations

import ctypes
import json
import math
import operator
import os
import sys
import threading
import weakref
from typing import Any, NamedTuple, NoReturn, Optional, Sequence, Union

import numpy as np

from . import _program
from . import _runtime as rt
from ._command import counted, warn
from ._gpu import GpuCaller, make_context
from ._host import ShortWay, address, aligned_empty, numpy_dtype

#: who copies more than this because of its alignment is told
_TOLD_BYTES = 1 << 20

PathLike = Union[str, "os.PathLike[str]"]
#: dtype, shape, and strides in elements
Described = tuple[str, Sequence[int], Sequence[float]]


class BundleError(ValueError):
    """The runtime refused a call: `status` is its number (ak_runtime.h), and the text says what to
    do."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class ArgumentError(BundleError, TypeError):
    """An argument of a call does not fit the bundle: its type, dtype, shape or strides. It is a
    ValueError and a TypeError, whichever a caller expects."""

    def __init__(self, text: str, status: int = rt.INVALID) -> None:
        super().__init__(status, text)


class Argument(NamedTuple):
    """An argument of the kernel: `access` is "in", "out" or "inout"; `extents` are expressions over
    the sizes; one that is unused with the bundle's options may be left out."""
    name: str
    dtype: str
    access: str
    extents: tuple[str, ...]
    unused: bool


class Measured(NamedTuple):
    """A size that was measured, and its median time in milliseconds (None: not known)."""
    size: dict[str, int]
    ms: Optional[float]


def _check(status: int, error: rt.Error) -> None:
    if status != rt.OK:
        raise BundleError(status, error.text.decode("utf-8", "replace"))


def _is_torch(array: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def _to_numpy(name: str, array: Any) -> np.ndarray:
    """Returns a NumPy array of the same memory."""
    if isinstance(array, np.ma.MaskedArray):
        raise ArgumentError(f"{name}: is a masked array, and the kernel would read what is masked; "
                            f"give {name}.filled(value), or {name}.data to mean that")
    if isinstance(array, np.ndarray):
        return array
    if _is_torch(array):
        torch = sys.modules["torch"]
        if array.device.type != "cpu":
            raise ArgumentError(f"{name}: is on {array.device}, and the bundle is for the CPU")
        array = array.detach()
        return (array.view(torch.int16).numpy().view(numpy_dtype("bfloat16"))
                if array.dtype is torch.bfloat16 else array.numpy())
    if not hasattr(array, "__dlpack__"):
        raise ArgumentError(f"{name}: must be a NumPy array, or one with __dlpack__, "
                            f"not {type(array).__name__}")
    return np.from_dlpack(array)


def _from_numpy(array: np.ndarray) -> Any:
    """Returns a torch tensor of the same memory."""
    torch = sys.modules["torch"]
    return (torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
            if array.dtype.name == "bfloat16" else torch.from_numpy(array))


class _PerThread(threading.local):
    """What each thread has of its own: the pool and the workspace of its calls."""
    pool: Optional["_Pool"] = None
    threads = 0
    workspace: Optional[np.ndarray] = None


_open: "weakref.WeakSet[Bundle]" = weakref.WeakSet()


def _forked() -> None:
    """Forgets, in the child of a fork, pools whose threads only the parent has."""
    for bundle in _open:
        bundle._own = _PerThread()
        bundle._short.forget_all()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class Bundle:
    """A bundle that is open. Call it with the arrays that the kernel reads, in their order or by
    name; it returns what the kernel writes (one array, or a tuple of several). An "inout" array is
    among both: it is changed in place, and returned. `out` takes the others that are written.

    Sizes follow from the shapes; one that does not is given by name.

    >>> product = ak.load("matmul_f32.akb")
    >>> c = product(a, b)                # a: float32 (M, K), b: float32 (K, N); c: float32 (M, N)
    >>> product(a, b, out=c)             # into an array that is there
    >>> filtered = fir(x, h, n=1000)     # a size by its name

    A bundle for the CPU takes NumPy arrays, torch tensors, and what else has __dlpack__; torch
    tensors give a torch tensor. One for CUDA takes torch tensors and what torch reads by __dlpack__,
    and runs on torch's current stream without waiting; a CUDA graph may capture the call.

    Shapes, dtypes and strides are checked, never guessed: arrays must be C-contiguous (rows as far
    apart as the bundle's options say). What does not fit is an ArgumentError. An array that is not
    aligned to 64 bytes is copied to one that is; `aligned_empty` makes aligned ones. What is
    written must not overlap another array. May be called from any number of threads.
    """

    def __init__(self, path: PathLike) -> None:
        handle, error, file = ctypes.c_void_p(), rt.Error(), os.fsencode(path)
        if b"\0" in file:
            raise ValueError(f"{path!r} is not a path: it has a null character")
        _check(rt.library.akr_open(ctypes.byref(handle), file, rt.LOOK,
                                   ctypes.byref(error)), error)
        gpu = rt.library.akr_describe(handle).contents.backend == b"cuda"
        rt.library.akr_close(handle)
        if gpu:
            make_context()
        _check(rt.library.akr_open(ctypes.byref(handle), file, 0,
                                   ctypes.byref(error)), error)
        self._handle = handle
        self._finalizer = weakref.finalize(self, rt.library.akr_close, handle)
        info = rt.library.akr_describe(handle).contents
        #: bundle.json (docs/formats.md)
        self.info: dict[str, Any] = json.loads(info.json.decode())
        self.name: str = info.name.decode()
        self.kernel: str = info.kernel.decode()
        self.dtype: str = info.dtype.decode()
        self.options: str = info.options.decode()
        self.sizes: tuple[str, ...] = tuple(info.size_name[i].decode()
                                            for i in range(info.size_count))
        self.arguments: tuple[Argument, ...] = tuple(
            Argument(a["name"], rt.DTYPES[info.argument[i].dtype], a["access"],
                     tuple(a["extents"]), bool(info.argument[i].unused))
            for i, a in enumerate(self.info["arguments"]))
        self.measured: tuple[Measured, ...] = tuple(
            Measured(dict(zip(self.sizes, m["size"])), m["ms"]) for m in self.info["measured"])
        #: where variants were not checked, or why they serve the measured sizes only; usually empty
        self.notes: tuple[str, ...] = tuple(
            f"variant {i} serves {'the measured sizes only' if v['workspace'] is None else 'other sizes, too'}: "
            f"{v['note']}" for i, v in enumerate(self.info["variants"]) if v.get("note"))
        measured_only = all(v["workspace"] is None for v in self.info["variants"])
        #: the sizes that can have one value only, as those of a T1 file
        self._only = {name: self.measured[0].size[name] for name in self.sizes
                      if measured_only and len({m.size[name] for m in self.measured}) == 1}
        self._alignment = [info.argument[i].alignment for i in range(info.argument_count)]
        self._inputs = [i for i, a in enumerate(self.arguments) if a.access != "out"]
        self._outputs = [i for i, a in enumerate(self.arguments) if a.access != "in"]
        #: whether the inputs that must be there have every size among their extents
        self._told = {program[0] for i in self._inputs if not self.arguments[i].unused
                      for program in self.info["arguments"][i]["shape"]
                      if len(program) == 1}.issuperset(self.sizes)
        self._own = _PerThread()
        self._gpu = GpuCaller(self, ArgumentError) if gpu else None
        self._short = ShortWay(self)
        _open.add(self)

    _check = staticmethod(_check)

    def __repr__(self) -> str:
        sizes = "; ".join(",".join(f"{k}={v}" for k, v in m.size.items()) for m in self.measured)
        return f"<autokernel bundle {self.name}, measured at {sizes}>"

    def close(self) -> None:
        """Unloads the code. No call may be running; one that follows is refused."""
        if self._gpu is not None:
            self._gpu.close()
        self._short.close()
        self._finalizer()

    def _check_open(self) -> None:
        if not self._finalizer.alive:
            raise BundleError(rt.INVALID, f"{self.name}: the bundle is closed")

    def plan(self, **sizes: int) -> dict[str, Any]:
        """Says how these sizes are served: {"measured", "variant", "threads",
        "workspace_bytes"}."""
        if set(sizes) != set(self.sizes):
            raise ArgumentError(f"{self.name} has the sizes {', '.join(self.sizes)}")
        plan = self._query([self._whole(name, sizes[name]) for name in self.sizes])
        return {"measured": bool(plan.measured), "variant": plan.variant,
                "threads": plan.threads, "workspace_bytes": plan.workspace_bytes}

    def __call__(self, *arrays: np.ndarray,
                 out: Union[None, np.ndarray, Sequence[np.ndarray]] = None,
                 **named: Union[np.ndarray, int]) -> Any:
        if self._gpu is not None:
            return self._gpu(arrays, out, named)
        if not named:
            done = self._short(arrays, out)
            if done is not None:
                return done
        self._check_open()
        given, sizes = self._bind(arrays, named)
        fresh = self._bind_outputs(given, out)
        originals = dict(given)
        given = {i: _to_numpy(self.arguments[i].name, a) for i, a in given.items()}
        wrap = next((_from_numpy for a in originals.values() if _is_torch(a)), lambda a: a)
        plan = self._plan({i: self._describe(i, a) for i, a in given.items()}, sizes)
        self._check_apart(plan, {i: address(a) for i, a in given.items()})
        for i in fresh:
            given[i] = self._allocate(plan, i)
        used = {i: self._aligned(plan, i, a) for i, a in given.items()}
        served = self._run(plan, [address(used[i]) if i in used else None
                                  for i in range(len(self.arguments))])
        if not named:
            self._short.remember(arrays, plan, *served)
        results = []
        for i in self._outputs:
            if used[i] is not given[i]:
                given[i][...] = used[i]
            results.append(originals[i] if i in originals else wrap(given[i]))
        return results[0] if len(results) == 1 else tuple(results)

    # ---- arguments ------------------------------------------------------------------------------

    def _bind(self, arrays: Sequence[Any],
              named: dict[str, Any]) -> tuple[dict[int, Any], dict[str, int]]:
        """Returns the arrays by their arguments, and the sizes that were given by name."""
        names = [self.arguments[i].name for i in self._inputs]
        if len(arrays) > len(names):
            raise ArgumentError(f"{self.name} reads {len(names)} arrays ({', '.join(names)}); "
                                f"{len(arrays)} were given")
        given, sizes = dict(zip(self._inputs, arrays)), {}
        for name, value in named.items():
            if name in names:
                index = self._inputs[names.index(name)]
                if index in given:
                    raise ArgumentError(f"{name} was given twice")
                given[index] = value
            elif name in self.sizes:
                sizes[name] = self._whole(name, value)
            else:
                raise ArgumentError(f"{self.name} reads no array {name!r} and has no such size; it "
                                    f"reads {', '.join(names)}, and has {', '.join(self.sizes)}")
        given = {i: a for i, a in given.items() if a is not None}
        missing = [self.arguments[i].name for i in self._inputs
                   if i not in given and not self.arguments[i].unused]
        if missing:
            raise ArgumentError(f"{self.name}: {', '.join(missing)} is missing")
        return given, sizes

    @staticmethod
    def _whole(name: str, value: Any) -> int:
        try:
            value = operator.index(value)
        except TypeError as why:
            raise ArgumentError(f"{name} is a size: it must be a whole number, "
                                f"not {type(value).__name__}") from why
        if not -2**63 <= value < 2**63:
            raise ArgumentError(f"{name}={value} is not a size: it has more than 64 bits")
        return value

    def _bind_outputs(self, given: dict[int, Any], out: Any) -> list[int]:
        """Adds the arrays of `out`; returns the arguments whose arrays are still to be made."""
        pure = [i for i in self._outputs if self.arguments[i].access == "out"]
        if out is None:
            return pure
        out = tuple(out) if isinstance(out, (tuple, list)) else (out,)
        if len(out) != len(pure):
            takes = ", ".join(self.arguments[i].name for i in pure)
            place = ", ".join(self.arguments[i].name for i in self._outputs if i not in pure)
            raise ArgumentError(
                f"{self.name}: out has {counted(len(out), 'array')}; "
                + (f"it takes {len(pure)} ({takes})" if pure else "leave it out")
                + (f": {place} is changed in place, give a copy to keep it" if place else ""))
        given.update(zip(pure, out))
        return []

    def _plan(self, given: dict[int, Described], sizes: dict[str, int]) -> rt.Plan:
        """Returns the plan for these arguments; raises ArgumentError for one that does not fit."""
        extents, inputs = [], 0  # those of inputs come first
        for i, (dtype, shape, _) in given.items():
            argument, programs = self.arguments[i], self.info["arguments"][i]["shape"]
            if dtype != argument.dtype:
                raise ArgumentError(f"{argument.name}: has dtype {dtype}; the bundle is for "
                                    f"{argument.dtype}", rt.DTYPE)
            if len(shape) == len(programs):
                extents += [(f"extent {d} of {argument.name}", p, n)
                            for d, (p, n) in enumerate(zip(programs, shape))]
            elif math.prod(shape) != 1:  # a single element may have any rank
                self._refuse_rank(i, shape)
            inputs = len(extents) if argument.access != "out" else inputs
        try:
            _program.infer(extents[:inputs], self.sizes, sizes)
            _program.infer(extents, self.sizes, sizes)  # out tells what inputs do not
        except _program.NoSize as why:
            raise ArgumentError(f"{self.name}: {why}", rt.SHAPE) from why
        for name, value in self._only.items():
            sizes.setdefault(name, value)
        missing = [name for name in self.sizes if name not in sizes]
        if missing:
            raise ArgumentError(f"{self.name}: the size {', '.join(missing)} cannot be told from "
                                f"the shapes: give it by name, {missing[0]}=.., or give out", rt.SHAPE)
        for name, value in sizes.items():
            if value < 1:
                raise ArgumentError(f"{self.name}: {name} must be at least 1, and it is {value}: "
                                    + next((f"{place} is {n}" for place, p, n in extents
                                            if name in p), "it was given"), rt.SHAPE)
        plan = self._query([sizes[name] for name in self.sizes])
        for i, (_, shape, strides) in given.items():
            self._check_shape(plan, i, tuple(shape), strides)
        return plan

    def _refuse_rank(self, i: int, shape: Sequence[int]) -> NoReturn:
        argument = self.arguments[i]
        raise ArgumentError(
            f"{argument.name}: has {counted(len(shape), 'extent')} instead of "
            f"{len(argument.extents)}", rt.SHAPE)

    def _check_shape(self, plan: rt.Plan, i: int, shape: tuple[int, ...],
                     strides: Sequence[int]) -> None:
        name, rank = self.arguments[i].name, len(self.arguments[i].extents)
        wanted = tuple(plan.extent[i][:rank])
        if math.prod(wanted) == 1 == math.prod(shape):
            return
        if len(shape) != rank:
            self._refuse_rank(i, shape)
        stride = 1
        for d in reversed(range(rank)):
            if shape[d] != wanted[d]:
                raise ArgumentError(f"{name}: extent {d} is {shape[d]} instead of {wanted[d]}",
                                    rt.SHAPE)
            if shape[d] > 1 and strides[d] != stride:
                fits = plan.pitch[i] == wanted[-1]
                written = self.arguments[i].access != "in"
                raise ArgumentError(
                    f"{name}: the stride of extent {d} is {strides[d]:.12g} instead of "
                    + counted(stride, "element")
                    + ("" if not fits else ": give an array that is contiguous" if written
                       else ": give a contiguous copy, such as np.ascontiguousarray or "
                       "contiguous() of a tensor makes"), rt.SHAPE)
            stride = plan.pitch[i] if d == rank - 1 else stride * wanted[d]

    def _check_apart(self, plan: rt.Plan, places: dict[int, int]) -> None:
        """Refuses arrays that overlap where one is written, before any of them is copied."""
        for k in self._outputs:
            for i, at in places.items():
                if i != k and k in places and not self.arguments[i].unused and \
                        at < places[k] + plan.bytes[k] and places[k] < at + plan.bytes[i]:
                    raise BundleError(rt.POINTER, f"{self.arguments[k].name}: overlaps "
                                      f"{self.arguments[i].name}, and one of them is written: give "
                                      "a copy")

    def _allocate(self, plan: rt.Plan, i: int) -> np.ndarray:
        shape = [plan.extent[i][d] for d in range(len(self.arguments[i].extents))]
        dtype = numpy_dtype(self.arguments[i].dtype)
        if not shape or plan.pitch[i] == shape[-1]:
            return aligned_empty(shape, dtype, self._alignment[i])
        return aligned_empty(shape[:-1] + [plan.pitch[i]], dtype,
                             self._alignment[i])[..., :shape[-1]]

    def _aligned(self, plan: rt.Plan, i: int, array: np.ndarray) -> np.ndarray:
        if address(array) % self._alignment[i] == 0:
            return array
        if array.nbytes >= _TOLD_BYTES:
            warn(f"{self.arguments[i].name}: {array.nbytes >> 20} MiB are copied in each call of "
                 f"{self.name}, because the array is not aligned to {self._alignment[i]} bytes; "
                 "ak.aligned_empty makes arrays that are")
        copy = aligned_empty(array.shape, array.dtype, self._alignment[i]) \
            if array.flags.c_contiguous else self._allocate(plan, i)  # rows that do not adjoin
        copy[...] = array
        return copy

    def _describe(self, i: int, array: np.ndarray) -> Described:
        name = self.arguments[i].name
        if self.arguments[i].access != "in" and not array.flags.writeable:
            raise ArgumentError(f"{name}: is written, and the array is read-only")
        dtype = array.dtype.name if array.dtype.isnative else str(array.dtype)
        return dtype, array.shape, [stride / array.itemsize for stride in array.strides]

    # ---- the runtime ----------------------------------------------------------------------------

    def _query(self, size: Sequence[int]) -> rt.Plan:
        plan, error = rt.Plan(), rt.Error()
        numbers = (ctypes.c_int64 * rt.SIZES_MAX)(*size)
        _check(rt.library.akr_query(ctypes.byref(plan), self._handle, numbers,
                                    ctypes.byref(error)), error)
        return plan

    def _pool(self, threads: int) -> Optional["_Pool"]:
        own = self._own
        if threads > 1 and own.threads < threads:
            pool, error = ctypes.c_void_p(), rt.Error()
            _check(rt.library.akr_pool_open(ctypes.byref(pool), threads, ctypes.byref(error)),
                   error)
            self._short.forget()
            own.pool, own.threads = _Pool(pool), threads
        return own.pool if threads > 1 else None

    def _run(self, plan: rt.Plan,
             addresses: Sequence[Optional[int]]) -> tuple[np.ndarray, Optional["_Pool"]]:
        own, error = self._own, rt.Error()
        need = plan.workspace_bytes
        if own.workspace is None or own.workspace.nbytes < need:
            self._short.forget()
            own.workspace = aligned_empty((max(need, 1),), np.uint8)
        pool = self._pool(plan.threads)
        pointers = (ctypes.c_void_p * len(addresses))(*addresses)
        _check(rt.library.akr_run(self._handle, ctypes.byref(plan), pointers,
                                  address(own.workspace), own.workspace.nbytes,
                                  pool.handle if pool is not None else None,
                                  ctypes.byref(error)), error)
        return own.workspace, pool


class _Pool:
    """Closes its pool when the thread that it belongs to ends."""

    def __init__(self, handle: ctypes.c_void_p) -> None:
        self.handle = handle
        weakref.finalize(self, rt.library.akr_pool_close, handle)


def load(path: PathLike) -> Bundle:
    """Opens a bundle: a .akb file, or the folder that one was unpacked to. A warning passes on each
    of its notes (Bundle.notes)."""
    bundle = Bundle(path)
    for note in bundle.notes:
        warn(f"{bundle.name}: {note}")
    return bundle
