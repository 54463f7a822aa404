"""Tunes a kernel that a script holds as a text, with the arguments of Kernel Tuner's
tune_kernel."""

from __future__ import annotations

import ast
import inspect
import json
import math
import os
import re
import tempfile
import textwrap
from pathlib import Path
from typing import Any, Callable, Mapping, Optional, Sequence, Union

import numpy as np

from ._archive import Archive
from ._tune import Progress, tune

_DTYPES = {"float16": "f16", "float32": "f32", "float64": "f64", "int32": "i32"}
_SCALARS = {"int32": "Int32", "int64": "Int64", "float32": "Float32", "float64": "Float64"}
_BACKENDS = {"C": "host", "CUDA": "cuda", "OPENCL": "opencl"}
_SUFFIXES = {"host": "c", "cuda": "cu", "opencl": "cl"}
_ERRORS = {"compile_error": "CompilationFailedConfig", "invalid": "InvalidConfig"}
_AXES = "xyz"

Restrictions = Union[None, Callable[..., bool], Sequence[Union[str, Callable[..., bool]]]]


def _language(lang: Optional[str], source: str) -> str:
    """Returns the backend of a source: the one named or, without a name, told from its keywords."""
    if lang is None:
        lang = "CUDA" if "__global__" in source else "OpenCL" if "__kernel" in source else "C"
    if lang.upper() not in _BACKENDS:
        raise TypeError(f"lang {lang!r} is not supported; there are C, CUDA and OpenCL")
    return _BACKENDS[lang.upper()]


def _parameters(source: str, name: str) -> list[str]:
    """Returns the declarations of the function's parameters."""
    plain = re.sub(r"/\*.*?\*/|//[^\n]*", " ", source, flags=re.S)
    found = re.search(rf"\b{re.escape(name)}\s*\(([^()]*)\)\s*\{{", plain)
    if found is None:
        raise TypeError(f"the source defines no function {name}")
    return [" ".join(one.split()) for one in found.group(1).split(",") if one.strip() != "void"]


def _condition(restriction: Union[str, Callable[..., bool]]) -> str:
    """Returns a restriction as an expression: a text unchanged, a function of one mapping by its
    source."""
    if isinstance(restriction, str):
        return restriction
    try:
        text = textwrap.dedent(inspect.getsource(restriction)).strip()
        start = text.index("lambda") if "lambda" in text else 0
        tree = None
        # other code may follow the lambda: the longest text that parses is it
        for end in range(len(text), start, -1):
            try:
                tree = ast.parse(text[start:end])
                break
            except SyntaxError:
                continue
        node = next(n for n in ast.walk(tree) if isinstance(n, (ast.Lambda, ast.FunctionDef)))
        body = node.body if isinstance(node, ast.Lambda) else node.body[-1].value
        if isinstance(node, ast.FunctionDef) and len(node.body) != 1:
            raise ValueError
        mapping = node.args.args[0].arg
    except (OSError, ValueError, StopIteration, AttributeError, IndexError, TypeError) as why:
        raise TypeError("a restriction that is a function must be one expression of one mapping, "
                        "such as lambda p: p['x']*p['y'] <= 1024; or give it as a text") from why

    class Names(ast.NodeTransformer):
        def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
            if isinstance(node.value, ast.Name) and node.value.id == mapping and \
                    isinstance(node.slice, ast.Constant):
                return ast.Name(id=node.slice.value, ctx=ast.Load())
            return self.generic_visit(node)

    return ast.unparse(Names().visit(body))


def _literal(value: np.generic) -> str:
    return float(value).hex() if value.dtype.kind == "f" else str(int(value))


def _problem(folder: Path, name: str, sizes: Mapping[str, int], arguments: Sequence[Any],
             answer: Optional[Sequence[Any]], written: Mapping[int, str], atol: float) -> None:
    """Writes problem.json and the arrays."""
    listed, expected, scales = [], {}, []
    for i, array in enumerate(arguments):
        if not isinstance(array, np.ndarray):
            continue
        if array.dtype.name not in _DTYPES:
            raise TypeError(f"arguments[{i}] has dtype {array.dtype}; there are "
                            + ", ".join(_DTYPES))
        access = written.get(i, "in")
        entry = {"name": f"arg{i}", "dtype": _DTYPES[array.dtype.name],
                 "shape": [str(array.size)], "access": access}
        if access != "out":
            np.save(folder / f"arg{i}.npy", array.reshape(-1))
            entry["fill"] = f"file(arg{i}.npy)"
        listed.append(entry)
        if answer is not None and answer[i] is not None:
            wanted = np.asarray(answer[i])
            if wanted.size != array.size:
                raise TypeError(f"answer[{i}] has {wanted.size} elements, arguments[{i}] "
                                f"has {array.size}")
            np.save(folder / f"answer{i}.npy", wanted.astype(array.dtype).reshape(-1))
            expected[f"arg{i}"] = f"answer{i}.npy"
            rms = float(np.sqrt(np.mean(np.square(wanted.astype(np.float64)))))
            scales.append(atol / rms if rms > 0 else 0.0)
    kinds = [entry["dtype"] for entry in listed]
    dtype = next((k for k in kinds if k != "i32"), "i32")
    traffic = sum(a.nbytes * (2 if written.get(i) == "inout" else 1)
                  for i, a in enumerate(arguments) if isinstance(a, np.ndarray))
    tolerance = {"relative": "1e-5", "rms": repr(min(scales, default=0.0))}
    (folder / "problem.json").write_text(json.dumps({
        "schema": 1, "name": name, "sizes": [{"name": n, "default": v} for n, v in sizes.items()],
        "dtypes": [dtype], "arguments": listed, "flops": "0", "bytes": str(traffic),
        "reference": {"arrays": expected} if expected else "default",
        "tolerance": {dtype: tolerance}, "awkward": []}, indent=1))


def _host_source(source: str, name: str, declared: Sequence[str], arguments: Sequence[Any]) -> str:
    """Returns the source, followed by an ak_kernel that calls its function."""
    given, at = [], 0
    for declaration, value in zip(declared, arguments):
        if isinstance(value, np.ndarray):
            given.append(f"call->arg[{at}]")
            at += 1
        else:
            given.append(_literal(value))
    plain = re.sub(r'\bextern\s+"C"\s+(?!\{)', "", source)
    return f"{plain}\n\nvoid ak_kernel(const ak_host_call *call)\n{{\n    (void){name}({', '.join(given)});\n}}\n"


def _launch(sizes: Sequence[str], arguments: Sequence[Any], divisors: Sequence[Any],
            blocks: Sequence[str], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Returns grid, block and arguments of a GPU kernel, as "Launch" has them."""
    block = [b if b in parameters else "1" for b in blocks]
    grid = []
    for axis, size in enumerate(sizes):
        own = divisors[axis]
        own = ([blocks[axis]] if blocks[axis] in parameters else []) if own is None else list(own)
        by = "*".join(f"({d})" for d in own) or "1"
        grid.append(f"({size} + {by} - 1)//({by})")
    passed = [{"Buffer": f"arg{i}"} if isinstance(a, np.ndarray)
              else {_SCALARS[a.dtype.name]: _literal(a) if a.dtype.kind == "i" else repr(float(a))}
              for i, a in enumerate(arguments)]
    while len(block) > 1 and block[-1] == "1":
        block.pop()
    return {"Block": block, "Grid": grid, "Arguments": passed}


def tune_kernel(kernel_name: str, kernel_source: Union[str, os.PathLike],
                problem_size: Union[int, Sequence[int]], arguments: Sequence[Any],
                tune_params: Mapping[str, Sequence[Any]], *,
                grid_div_x: Optional[Sequence[str]] = None,
                grid_div_y: Optional[Sequence[str]] = None,
                grid_div_z: Optional[Sequence[str]] = None,
                restrictions: Restrictions = None, answer: Optional[Sequence[Any]] = None,
                atol: float = 1e-6, lang: Optional[str] = None, device: Optional[str] = None,
                block_size_names: Sequence[str] = ("block_size_x", "block_size_y", "block_size_z"),
                compiler_options: Sequence[str] = (), strategy: Optional[str] = None,
                strategy_options: Optional[Mapping[str, Any]] = None,
                outputs: Sequence[int] = (),
                archive: Union[None, str, os.PathLike] = None, progress: Union[bool, Progress] = True
                ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Tunes a kernel that is given as a text or a file, as Kernel Tuner's tune_kernel does.

    `arguments` are NumPy arrays and scalars in the order of the function's parameters; `tune_params`
    maps names, which the source sees as macros, to lists of values; `restrictions` are expressions
    or functions of one mapping; `answer` has the expected contents of each array that the kernel
    writes and None for the others. What it returns is the same, too: a list with a dictionary for
    each configuration (its values and `time` in milliseconds, or the name of what went wrong), and
    a dictionary of the run.

    Differences: the harness measures the time, whatever a C function returns; each array begins
    every call with the contents that it was given, unless `outputs` lists its index as one that
    the kernel only writes; without `answer`, results only have to agree with those of the first
    configuration. `strategy` is one of autokernel's, and every configuration is tried if none is
    named (`strategy_options` may have "max_fevals" and "time_limit" in seconds).
    """
    path = os.fspath(kernel_source)
    source = Path(path).read_text(encoding="utf-8") if "\n" not in path and os.path.exists(path) \
        else path
    backend = _language(lang, source)
    declared = _parameters(source, kernel_name)
    if len(declared) != len(arguments):
        raise TypeError(f"{kernel_name} has {len(declared)} parameters; arguments has "
                        f"{len(arguments)}")
    if answer is not None and len(answer) != len(arguments):
        raise TypeError(f"answer has {len(answer)} entries; arguments has {len(arguments)}")
    for i, value in enumerate(arguments):
        if not isinstance(value, np.ndarray) and \
                not (isinstance(value, np.generic) and value.dtype.name in _SCALARS):
            raise TypeError(f"arguments[{i}] must be a NumPy array or a NumPy scalar of "
                            + ", ".join(_SCALARS))
    writes = [i for i, value in enumerate(arguments) if isinstance(value, np.ndarray) and
              (answer[i] is not None if answer is not None else "const" not in declared[i])]
    if not writes:
        raise TypeError("no array is written: answer has None for all of them")
    extents = [problem_size] if isinstance(problem_size, (int, np.integer)) else list(problem_size)
    sizes = {f"problem_size_{_AXES[i]}": int(n) for i, n in enumerate(extents)}
    limits = dict(strategy_options or {})
    given = [restrictions] if callable(restrictions) or isinstance(restrictions, str) \
        else list(restrictions or [])
    specification: dict[str, Any] = {
        "Language": {"host": "C", "cuda": "CUDA", "opencl": "OpenCL"}[backend],
        "KernelName": "ak_kernel" if backend == "host" else kernel_name,
        "KernelFile": f"{backend}.{_SUFFIXES[backend]}",
        "CompilerOptions": list(compiler_options) or
        (["-std=gnu17", "-O3", "-march=native"] if backend == "host" else [])}
    if backend == "host":
        source = _host_source(source, kernel_name, declared, arguments)
    else:
        specification["Launch"] = _launch(list(sizes), arguments,
                                          [grid_div_x, grid_div_y, grid_div_z], block_size_names,
                                          tune_params)
    every = math.prod(len(values) for values in tune_params.values())
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / kernel_name
        folder.mkdir()
        _problem(folder, kernel_name, sizes, arguments, answer,
                 {i: "out" if i in outputs else "inout" for i in writes}, atol)
        (folder / specification["KernelFile"]).write_text(source, encoding="utf-8")
        (folder / f"{backend}.json").write_text(json.dumps({
            "ConfigurationSpace": {
                "TuningParameters": [{"Name": n, "Values": list(v)} for n, v in tune_params.items()],
                "Conditions": [_condition(r) for r in given]},
            "KernelSpecification": specification}, default=lambda value: value.item(), indent=1))
        own = os.fspath(archive) if archive is not None else os.path.join(place, "archive.db")
        result = tune(folder, device=device or (backend if backend == "host" else f"{backend}:0"),
                      strategy=strategy or "exhaustive",
                      evals=limits.get("max_fevals", None if strategy else every),
                      time=limits.get("time_limit"), archive=own, libraries="none",
                      progress=progress)
        trials = Archive(own).trials(os.fspath(folder), run=result.data["run"])
    names = {n: {str(v): v for v in values} for n, values in tune_params.items()}
    found = []
    for trial in trials:
        values = dict(pair.split("=", 1) for pair in trial["config"].split(","))
        entry: dict[str, Any] = {n: names[n].get(values[n], values[n]) for n in names}
        times = trial.get("samples_ms") or []
        entry["time"] = float(np.median(times)) if trial["status"] == "ok" else \
            _ERRORS.get(trial["status"], "RuntimeFailedConfig")
        entry.update(times=times, compile_time=trial["compile_ns"] / 1e6, status=trial["status"],
                     reason=trial["reason"])
        found.append(entry)
    return found, {"best_config": result.config, "best": result.best, **{
        k: result.data[k] for k in ("device", "run", "seconds", "stopped_by", "failed")}}
