"""Calls bundles for CUDA with torch tensors, and with other arrays through DLPack."""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence

from . import _runtime as rt

if TYPE_CHECKING:
    from ._bundle import Bundle

#: a thread remembers this many pairs of a shape and a stream
CALLS_MAX = 512


def _torch() -> Any:
    try:
        import torch
    except ImportError as why:
        raise ImportError("a bundle for a GPU is called with torch tensors: install torch") from why
    return torch


def make_context() -> None:
    """Makes the context of torch's current device current, so that a bundle is opened in it."""
    torch = _torch()
    if torch.cuda.is_available():
        torch.zeros(1, device="cuda")


class Call:
    """One shape on one stream: its plan, its workspace, and the arguments of the C call."""

    def __init__(self, caller: "GpuCaller", plan: rt.Plan, stream: int) -> None:
        bundle, torch = caller.bundle, caller.torch
        self.error = rt.Error()
        count = plan.workspace_bytes
        self.workspace = torch.zeros(count, dtype=torch.uint8, device=f"cuda:{caller.device}") \
            if count > 0 else None
        self.pointers = (ctypes.c_void_p * caller.count)()
        self.shapes = [tuple(plan.extent[i][:len(a.extents)])
                       for i, a in enumerate(bundle.arguments)]
        self.parts = (plan, rt.Call(
            bundle._handle, ctypes.addressof(plan), ctypes.addressof(self.pointers),
            self.workspace.data_ptr() if count > 0 else None, count, stream,
            ctypes.addressof(self.error)))
        self.at = ctypes.addressof(self.parts[1])


class _Own(threading.local):
    def __init__(self) -> None:
        self.fast: dict[Any, Call] = {}  # of contiguous tensors with the right dtypes, by shapes
        self.calls: dict[Any, Call] = {}


class GpuCaller:
    """How a bundle for CUDA is called: on the current stream of the tensors' device, without a
    wait. A call may be captured in a CUDA graph; what is captured gets a workspace of its own."""

    def __init__(self, bundle: "Bundle", error: Callable[[str], Exception]) -> None:
        torch = _torch()
        if not torch.cuda.is_available():
            raise RuntimeError("torch has no CUDA device here")
        self.torch, self.bundle, self.error = torch, bundle, error
        missing = [a.dtype for a in bundle.arguments if not hasattr(torch, a.dtype)]
        if missing:
            raise RuntimeError(f"torch {torch.__version__} has no {missing[0]}")
        self.dtypes = [getattr(torch, a.dtype) for a in bundle.arguments]
        self.count = len(bundle.arguments)
        self.needed = [i for i in bundle._inputs if not bundle.arguments[i].unused]
        self.inputs = [(i, self.dtypes[i]) for i in self.needed]
        self.writes = [i for i in bundle._outputs if bundle.arguments[i].access == "out"]
        self.one = self.writes[0] if bundle._outputs == self.writes[:1] else None
        self.device = torch.cuda.current_device()
        self.stream = torch._C._cuda_getCurrentRawStream
        self.capturing = torch.cuda.is_current_stream_capturing
        self.captured: list[Call] = []  # graphs may be replayed as long as the bundle lives
        self.own = _Own()
        # PyDLL keeps the interpreter's lock: the call is shorter than releasing it would be.
        self.run = ctypes.PyDLL(rt.library._name).akr_run_call
        self.run.restype, self.run.argtypes = ctypes.c_int, [ctypes.c_void_p]

    def close(self) -> None:
        self.run = lambda at: rt.INVALID  # a caller may have kept the call

    def __call__(self, arrays: Sequence[Any], out: Any, named: dict[str, Any]) -> Any:
        at = self.one
        if named or at is None or len(arrays) != len(self.inputs):
            return self._slow(arrays, out, named)
        key = [self.stream(self.device)]
        device = self.device
        try:
            for (_, dtype), x in zip(self.inputs, arrays):
                if x.dtype is not dtype or x.get_device() != device or not x.is_contiguous():
                    return self._slow(arrays, out, named)
                key.append(x.shape)
        except AttributeError:
            return self._slow(arrays, out, named)
        call = self.own.fast.get(tuple(key))
        if call is None or (call.workspace is not None and self.capturing()):
            return self._slow(arrays, out, named)
        if out is None:
            out = arrays[0].new_empty(call.shapes[at], dtype=self.dtypes[at])
        elif not isinstance(out, self.torch.Tensor) or out.dtype is not self.dtypes[at] or \
                out.shape != call.shapes[at] or out.get_device() != device or \
                not out.is_contiguous():
            return self._slow(arrays, out, named)
        pointers = call.pointers
        for (i, _), x in zip(self.inputs, arrays):
            pointers[i] = x.data_ptr()
        pointers[at] = out.data_ptr()
        if self.run(call.at) != 0:
            # raises with the reason, or copies what is not aligned
            return self._slow(arrays, out, named)
        return out

    # ---- anything else --------------------------------------------------------------------------

    def _tensor(self, i: int, array: Any) -> Any:
        name = self.bundle.arguments[i].name
        if not isinstance(array, self.torch.Tensor):
            if not hasattr(array, "__dlpack__"):
                raise self.error(f"{name}: must be a torch tensor or an array with __dlpack__, "
                                 f"not {type(array).__name__}")
            array = self.torch.from_dlpack(array)
        if array.device.type != "cuda" or array.get_device() != self.device:
            raise self.error(f"{name}: is on {array.device}; the bundle was opened for "
                             f"cuda:{self.device}")
        return array

    def _slow(self, arrays: Sequence[Any], out: Any, named: dict[str, Any]) -> Any:
        bundle = self.bundle
        bundle._check_open()
        given, sizes = bundle._bind(arrays, named)
        fresh = bundle._bind_outputs(given, out)
        given = {i: self._tensor(i, a) for i, a in given.items()}
        plan = bundle._plan({i: (str(x.dtype).replace("torch.", ""), x.shape, x.stride())
                             for i, x in given.items()}, sizes)
        bundle._check_apart(plan, {i: x.data_ptr() for i, x in given.items()})
        for i in fresh:
            given[i] = self._empty(plan, i)
        used = {i: self._aligned(i, x) for i, x in given.items()}
        call = self._call(used, plan)
        for i in range(self.count):
            call.pointers[i] = used[i].data_ptr() if i in used else None
        bundle._check(self.run(call.at), call.error)
        results = []
        for i in bundle._outputs:
            if used[i] is not given[i]:
                given[i].copy_(used[i])
            results.append(given[i])
        return results[0] if len(results) == 1 else tuple(results)

    def _call(self, used: dict[int, Any], plan: rt.Plan) -> Call:
        own, stream = self.own, self.stream(self.device)
        key = (stream, tuple(plan.size),
               tuple((i, x.dtype, x.shape, x.stride()) for i, x in sorted(used.items())))
        call = own.calls.get(key)
        if call is None or (call.workspace is not None and self.capturing()):
            call = Call(self, plan, stream)
            if call.workspace is not None and self.capturing():
                self.captured.append(call)
                return call
            if len(own.calls) >= CALLS_MAX:
                own.calls.clear()
                own.fast.clear()
            own.calls[key] = call
            if self.bundle._told and len(used) == len(self.needed) + 1 and \
                    all(x.is_contiguous() for x in used.values()):
                own.fast[tuple([stream] + [used[i].shape for i in self.needed])] = call
        return call

    def _empty(self, plan: rt.Plan, i: int) -> Any:
        shape = list(plan.extent[i][:len(self.bundle.arguments[i].extents)])
        last = shape[-1] if shape else 1
        wide = shape[:-1] + [plan.pitch[i]] if shape else shape
        x = self.torch.empty(wide, dtype=self.dtypes[i], device=f"cuda:{self.device}")
        return x[..., :last] if shape and plan.pitch[i] != last else x

    def _aligned(self, i: int, x: Any) -> Any:
        return x if x.data_ptr() % self.bundle._alignment[i] == 0 or not x.is_contiguous() \
            else x.clone()
