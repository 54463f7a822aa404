"""The short way of calls on the CPU: what the shapes of a call need is worked out once, and a call
with the same shapes then only passes addresses. It serves NumPy arrays with one output; whatever
else there is takes the long way of Bundle, which also says what does not fit."""

from __future__ import annotations

import ctypes
import itertools
import threading
from typing import TYPE_CHECKING, Any, Optional, Sequence

import numpy as np

from . import _runtime as rt

if TYPE_CHECKING:
    from ._bundle import Bundle

#: a thread remembers the calls of this many different shapes
CALLS_MAX = 512


_addressof, _byte_of = ctypes.addressof, ctypes.c_char.from_buffer


def address(array: np.ndarray) -> int:
    """Returns the address of the first element. The usual way, `array.ctypes.data`, takes four times
    as long; it is left for arrays that are read-only, have gaps, or are of dtypes without a buffer."""
    try:
        return _addressof(_byte_of(array))
    except (TypeError, ValueError, BufferError):
        return array.__array_interface__["data"][0]


#: arrays begin at different places in a page, as in the tuner: where all begin at the same, as large
#: ones from malloc do, they compete for the same sets of a cache
_PAGE, _GAP = 4096, 256
_places = itertools.cycle(range(0, _PAGE, _GAP))


def _placed_empty(shape: tuple[int, ...], dtype: np.dtype,
                  alignment: int) -> tuple[np.ndarray, int]:
    """Returns an uninitialised array and its address, which is a multiple of `alignment`. Large
    arrays begin at different places in a page, one after the other."""
    count = dtype.itemsize
    for extent in shape:
        count *= extent
    large = count >= _PAGE
    raw = np.empty(count + alignment + 2 * _PAGE * large, np.uint8)
    at = _addressof(_byte_of(raw))
    skip = -at % _PAGE + next(_places) if large else 0
    skip += -(at + skip) % alignment
    return np.ndarray(shape, dtype, raw, skip), at + skip


def aligned_empty(shape: Sequence[int], dtype: Any, alignment: int = rt.ALIGNMENT) -> np.ndarray:
    """Returns an uninitialised C-ordered array, with its first element aligned to `alignment`
    bytes."""
    return _placed_empty(tuple(shape), np.dtype(dtype), alignment)[0]


def numpy_dtype(name: str) -> np.dtype:
    if name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        try:
            import ml_dtypes  # type: ignore
        except ImportError as why:
            raise TypeError(f"{name} arrays need the package ml_dtypes") from why
        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


class Call:
    """One set of shapes in one thread: its plan, and the arguments of the C call."""

    __slots__ = ("shapes", "pointers", "copies", "kept", "at")

    def __init__(self, bundle: "Bundle", plan: rt.Plan, workspace: np.ndarray, pool: Any) -> None:
        count = len(bundle.arguments)
        self.pointers = (ctypes.c_void_p * count)()
        self.shapes = [tuple(plan.extent[i][:len(a.extents)])
                       for i, a in enumerate(bundle.arguments)]
        self.copies: list[Optional[tuple[np.ndarray, int]]] = [None] * count
        parts = rt.Call(bundle._handle, ctypes.addressof(plan), ctypes.addressof(self.pointers),
                        address(workspace), workspace.nbytes,
                        pool.handle if pool is not None else None, None)
        self.kept = (plan, parts, workspace, pool)
        self.at = ctypes.addressof(parts)

    def place(self, i: int, array: np.ndarray, alignment: int) -> tuple[np.ndarray, int]:
        """Returns memory of this call that is aligned, for an array that is not."""
        place = self.copies[i]
        if place is None:
            place = self.copies[i] = _placed_empty(array.shape, array.dtype, alignment)
        return place

    def copy(self, i: int, array: np.ndarray, alignment: int) -> int:
        """Copies an array to a place of this call that is aligned; returns its address."""
        place, at = self.place(i, array, alignment)
        place[...] = array
        return at


class _Own(threading.local):
    def __init__(self) -> None:
        self.calls: dict[Any, Call] = {}


class ShortWay:
    """What a bundle for the CPU knows of its calls. Each thread has its own."""

    def __init__(self, bundle: "Bundle") -> None:
        self.bundle = bundle
        try:
            dtypes = [numpy_dtype(a.dtype) for a in bundle.arguments]
        except TypeError:
            dtypes = []
        needed = [i for i in bundle._inputs if not bundle.arguments[i].unused]
        writes = bundle._outputs
        served = dtypes and bundle._told and \
            needed == bundle._inputs[:len(needed)] and \
            len(writes) == 1 and bundle.arguments[writes[0]].access == "out"
        self.count = len(needed)
        self.inputs = [(i, dtypes[i], bundle._alignment[i] - 1) for i in needed] if served else []
        self.one = writes[0] if served else None
        self.dtype = dtypes[writes[0]] if served else None
        self.alignment = bundle._alignment[writes[0]] if served else 1
        self.own = _Own()
        self.run = rt.library.akr_run_call

    def close(self) -> None:
        self.run = lambda at: rt.INVALID  # the long way says that the bundle is closed

    def forget(self) -> None:
        """Forgets the calls of this thread, whose pool or workspace is replaced."""
        self.own.calls.clear()

    def forget_all(self) -> None:
        """Forgets the calls of all threads."""
        self.own = _Own()

    def __call__(self, arrays: Sequence[Any], out: Any) -> Any:
        """Returns what the kernel has written, or None: then the long way must be gone."""
        one = self.one
        if one is None or len(arrays) != self.count:
            return None
        try:
            call = self.own.calls.get(tuple([x.shape for x in arrays]))
        except (AttributeError, TypeError):
            return None
        if call is None:
            return None
        pointers, back, copied, given = call.pointers, None, False, out
        if out is None:
            out, at = _placed_empty(call.shapes[one], self.dtype, self.alignment)
        elif type(out) is np.ndarray and out.dtype is self.dtype and \
                out.shape == call.shapes[one] and out.flags.c_contiguous and out.flags.writeable:
            at = address(out)
            if at % self.alignment != 0:
                back, at = call.place(one, out, self.alignment)
        else:
            return None
        pointers[one] = at
        for (i, dtype, mask), x in zip(self.inputs, arrays):
            if type(x) is not np.ndarray or x.dtype is not dtype or not x.flags.c_contiguous:
                return None
            at = address(x)
            if at & mask != 0:
                at, copied = call.copy(i, x, mask + 1), True
            pointers[i] = at
        if given is not None and (copied or back is not None) and \
                any([np.may_share_memory(given, x) for x in arrays]):
            return None
        if self.run(call.at) != rt.OK:
            return None
        if back is not None:
            out[...] = back
        return out

    def remember(self, arrays: Sequence[Any], plan: rt.Plan, workspace: np.ndarray,
                 pool: Any) -> None:
        """Keeps a call that has gone the long way, if the next one like it can go the short one."""
        if self.one is None or len(arrays) != self.count or \
                not all(type(x) is np.ndarray and x.flags.c_contiguous for x in arrays):
            return
        call = Call(self.bundle, plan, workspace, pool)
        shape = call.shapes[self.one]
        if shape and plan.pitch[self.one] != shape[-1]:
            return
        calls = self.own.calls
        if len(calls) >= CALLS_MAX:
            calls.clear()
        calls[tuple([x.shape for x in arrays])] = call
