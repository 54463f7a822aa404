"""Binds the C runtime (runtime/ak_runtime.h) by ctypes: its structures, and its calls with their
types."""

from __future__ import annotations

import ctypes
import itertools
import os
from pathlib import Path

SIZES_MAX, ARGUMENTS_MAX, RANK_MAX, ALIGNMENT, LAUNCH_WORDS = 8, 16, 4, 64, 800
OK, INVALID, NOT_FOUND, DTYPE, SHAPE, POINTER = 0, 1, 2, 7, 8, 9
LOOK = 1
ACCESS = ("in", "out", "inout")


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("text", ctypes.c_char * 256)]


class Argument(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int), ("access", ctypes.c_int),
                ("rank", ctypes.c_int), ("alignment", ctypes.c_size_t), ("unused", ctypes.c_int)]


class Info(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("kernel", ctypes.c_char_p),
                ("backend", ctypes.c_char_p), ("dtype", ctypes.c_char_p),
                ("options", ctypes.c_char_p), ("json", ctypes.c_char_p),
                ("size_count", ctypes.c_int), ("size_name", ctypes.c_char_p * SIZES_MAX),
                ("argument_count", ctypes.c_int), ("argument", Argument * ARGUMENTS_MAX),
                ("variant_count", ctypes.c_int), ("measured_count", ctypes.c_int),
                ("threads", ctypes.c_int), ("alignment", ctypes.c_size_t)]


class Plan(ctypes.Structure):
    _fields_ = [("bundle", ctypes.c_void_p), ("variant", ctypes.c_int),
                ("measured", ctypes.c_int), ("threads", ctypes.c_int),
                ("workspace_bytes", ctypes.c_size_t), ("size", ctypes.c_int64 * SIZES_MAX),
                ("extent", (ctypes.c_int64 * RANK_MAX) * ARGUMENTS_MAX),
                ("pitch", ctypes.c_int64 * ARGUMENTS_MAX),
                ("bytes", ctypes.c_size_t * ARGUMENTS_MAX), ("kernels", ctypes.c_int),
                ("launch", ctypes.c_int64 * LAUNCH_WORDS)]


class Call(ctypes.Structure):
    _fields_ = [("bundle", ctypes.c_void_p), ("plan", ctypes.c_void_p), ("arg", ctypes.c_void_p),
                ("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_size_t),
                ("stream", ctypes.c_void_p), ("err", ctypes.c_void_p)]


def _open() -> ctypes.CDLL:
    path = os.environ.get("AUTOKERNEL_RUNTIME")
    path = path or str(Path(__file__).with_name("libautokernel_runtime.so"))
    try:
        library = ctypes.CDLL(path)
    except OSError as why:
        raise ImportError(f"the runtime of autokernel cannot be loaded: {why}; install the wheel "
                          "or set AUTOKERNEL_RUNTIME to libautokernel_runtime.so") from why
    void, err = ctypes.c_void_p, ctypes.POINTER(Error)
    plan = ctypes.POINTER(Plan)
    for name, result, arguments in (
            ("akr_open", ctypes.c_int, [ctypes.POINTER(void), ctypes.c_char_p, ctypes.c_int, err]),
            ("akr_close", None, [void]),
            ("akr_describe", ctypes.POINTER(Info), [void]),
            ("akr_query", ctypes.c_int, [plan, void, ctypes.POINTER(ctypes.c_int64), err]),
            ("akr_pool_open", ctypes.c_int, [ctypes.POINTER(void), ctypes.c_int, err]),
            ("akr_pool_close", None, [void]),
            ("akr_run", ctypes.c_int,
             [void, plan, ctypes.POINTER(void), void, ctypes.c_size_t, void, err]),
            ("akr_run_call", ctypes.c_int, [void]),
            ("akr_status_text", ctypes.c_char_p, [ctypes.c_int]),
            ("akr_dtype_text", ctypes.c_char_p, [ctypes.c_int]),
            ("akr_dtype_numpy", ctypes.c_char_p, [ctypes.c_int])):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


library = _open()
#: for each akr_dtype what NumPy, ml_dtypes and torch call it, and its name in problem files
DTYPES = tuple(name.decode() for name in
               iter(map(library.akr_dtype_numpy, itertools.count()).__next__, None))
DTYPE_TEXTS = dict(zip(DTYPES, (library.akr_dtype_text(i).decode() for i in range(len(DTYPES)))))
