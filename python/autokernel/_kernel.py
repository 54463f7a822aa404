"""Tunes a kernel that a script holds as a text, with the arguments of Kernel Tuner's
tune_kernel."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Mapping, Optional, Sequence, Union

import numpy as np

from . import _openmp
from ._archive import Archive
from ._command import TuneError, counted, run as _command, warn
from ._restriction import Restriction, expression
from ._runtime import DTYPE_TEXTS
from ._tune import Progress, Result, search as _search

#: names of the dtypes that NumPy itself has, in problem files and, of values, in a "Launch"
_DTYPES = {name: text for name, text in DTYPE_TEXTS.items() if hasattr(np, name)}
_SCALARS = {name: name.replace("uint", "UInt").replace("int", "Int").replace("float", "Float")
            for name, text in _DTYPES.items() if text != "f16"}
_LANGUAGES = {"C": "C", "C++": "C++", "CUDA": "CUDA", "CUPY": "CUDA", "NVCUDA": "CUDA",
              "OPENCL": "OpenCL"}
_BACKENDS = {"C": "host", "C++": "host", "CUDA": "cuda", "OpenCL": "opencl"}
_SUFFIXES = {"host": "c", "cuda": "cu", "opencl": "cl"}
_ERRORS = {"compile_error": "CompilationFailedConfig", "invalid": "InvalidConfig"}
_AXES = "xyz"
#: names that Kernel Tuner keeps for itself
_TAKEN = ("grid_size_x", "grid_size_y", "grid_size_z", "time")
#: the most that --evals takes
EVALS_MAX = 1_000_000
#: without an answer, as many configurations are tried as the one that others are compared with
REFERENCES_MAX = 3
#: strategies of Kernel Tuner: those that are here by another name, and what is nearest to others
_SAME = {"brute_force": "exhaustive", "random_sample": "random", "genetic_algorithm": "genetic",
         "diff_evo": "diffevo", "simulated_annealing": "anneal", "bayes_opt": "bayes"}
_NEAR = {"dual_annealing": "anneal", "skopt": "bayes", "firefly_algorithm": "pso",
         "minimize": "local", "basinhopping": "local", "mls": "local", "greedy_mls": "local",
         "ordered_greedy_mls": "local", "greedy_ils": "local", "hybrid_vndx": "local",
         "adaptive_tabu_greywolf": "portfolio", "pyatf_strategies": "portfolio"}
#: what has no effect here, and why, or what is for it
_IGNORED = {"verbose": "progress shows the search", "log": "archive=FILE keeps all trials",
            "iterations": "the harness decides how often it measures",
            "cache": "archive=FILE keeps all trials",
            "parallel": "the device measures one configuration at a time"}
#: what would give other results, and what to do
_REFUSED = {
    "verify": "results are checked away from Python: give answer, with atol",
    "observers": "what they measure would be missing in the results: leave them out",
    "simulation_mode": "replay a recording by ak.tune(FILE, device='sim')",
    "cmem_args": "pass constant memory as an argument, or write a space file with Constants",
    "texmem_args": "pass textures as arrays",
    "defines": "every parameter is a macro: give others in compiler_options, as -DNAME=VALUE",
    "platform": "name the device, such as device='opencl:1' ('autokernel doctor' lists them)"}

Restrictions = Union[None, Restriction, Sequence[Restriction]]


def _language(lang: Optional[str], source: str) -> str:
    """Returns the language of a source: the one named or, without a name, told from its
    keywords."""
    if lang is None:
        lang = "CUDA" if "__global__" in source else "OpenCL" if "__kernel" in source else "C"
    if lang.upper() not in _LANGUAGES:
        raise TypeError(f"lang {lang!r} is not supported; there are C, C++, CUDA and OpenCL")
    return _LANGUAGES[lang.upper()]


def _values(tune_params: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Returns the values of each parameter; each must have some."""
    params = {}
    for name, values in tune_params.items():
        try:
            if isinstance(values, (str, bytes)):
                raise TypeError
            params[name] = list(values)
        except TypeError as why:
            raise TypeError(f"tune_params: {name} must have a list of values, "
                            f"not {values!r}") from why
        if not params[name]:
            raise TypeError(f"tune_params: {name} has no values")
        for value in params[name]:
            if isinstance(value, (float, np.floating)) and not np.isfinite(value):
                raise TypeError(f"tune_params: {name} has {value}: give it as a text, such as "
                                "'INFINITY'")
        if name in _TAKEN:
            raise TypeError(f"tune_params: the name {name} is taken; rename it")
    if not params:
        raise TypeError("tune_params: there are no parameters")
    return params


def _strategy(name: Any, notes: list[str]) -> str:
    """Returns the strategy that is meant; adds a note if it is another one that is near."""
    if name is None:
        return "exhaustive"
    if not isinstance(name, str):
        raise TypeError("strategy must be a name: one of Kernel Tuner's or of autokernel's "
                        "('autokernel list')")
    if name in ("nsga2", "nsga3"):
        raise TypeError(f"strategy {name!r} is for several objectives; the only one here is time")
    if name in _NEAR:
        notes.append(f"strategy {name!r} is replaced by {_NEAR[name]!r}")
    return _NEAR.get(name, _SAME.get(name, name))


def _objective(objective: Any, higher: Any, objectives: Any) -> None:
    """Refuses any other objective than a short time."""
    if isinstance(objectives, Mapping):
        objective, higher = list(objectives), list(objectives.values())
    if objective not in (None, "time", ["time"], ("time",)) or higher not in (None, False, [False]):
        raise TypeError("objective: only a short time is searched for here; ak.tune has other "
                        "objectives")


def _add_metrics(found: list[dict[str, Any]], metrics: Mapping[str, Any]) -> None:
    """Adds metrics, in their order, to what was measured, as Kernel Tuner does."""
    measured = [entry for entry in found if entry["status"] == "ok"]
    for name, metric in metrics.items():
        try:
            values = [metric(e) if callable(metric) else eval(metric, {}, e) for e in measured]
        except Exception as why:  # the measurements are worth more than this
            warn(f"metrics: {name} is left out, because it raised {type(why).__name__}: {why}")
            continue
        for entry, value in zip(measured, values):
            entry[name] = value


def _parameters(source: str, name: str) -> list[str]:
    """Returns the declarations of the function's parameters."""
    if "(" not in source and Path(source).suffix:
        raise TypeError(f"kernel_source: there is no file {source}")
    plain = re.sub(r"/\*.*?\*/|//[^\n]*", " ", source, flags=re.S)
    found = re.search(rf"\b{re.escape(name)}\s*\(([^()]*)\)\s*\{{", plain)
    if found is None:
        raise TypeError(f"the source defines no function {name}")
    return [" ".join(one.split()) for one in found.group(1).split(",") if one.strip() != "void"]


#: words of a declaration that do not change what its type holds
_QUALIFIERS = {"const", "volatile", "restrict", "__restrict", "__restrict__", "register", "global",
               "__global", "constant", "__constant", "local", "__local"}
_WHOLE = {"signed", "unsigned", "char", "short", "int", "long"}
#: other plain types: their kind, and how many bytes they have
_PLAIN = {"bool": "bool", "_Bool": "bool", "float": "f4", "double": "f8", "_Float16": "f2",
          "half": "f2", "__half": "f2", "__fp16": "f2", "__bf16": "bf16", "nv_bfloat16": "bf16",
          "__nv_bfloat16": "bf16", "size_t": "u8", "uchar": "u1", "ushort": "u2", "uint": "u4",
          "ulong": "u8", **{f"{sign}int{8 * n}_t": f"{sign or 'i'}{n}" for sign in ("", "u")
                            for n in (1, 2, 4, 8)}}
#: the dtypes that each of them takes: the bits of a float of 16 bits may be those of a whole number
_TAKES = {"bool": "b1 u1 i1", "f4": "f4", "f8": "f8", "f2": "f2 u2 i2", "bf16": "V2 u2 i2"}


def _own_types(source: str) -> set[str]:
    """Returns names that a source defines, and that may be those of types."""
    found = re.findall(r"#[ \t]*define\s+(\w+)|\btypedef\b[^;]*\b(\w+)\s*;|"
                       r"\busing\s+(\w+)\s*=", source)
    return {name for names in found for name in names if name}


def _plain_type(declaration: str, own: set[str]) -> tuple[str, str]:
    """Returns the type of a parameter, without qualifiers, and what it or what it points to is:
    as in _PLAIN, or "" where that is not known."""
    text, bracket, _ = declaration.partition("=")[0].partition("[")
    left, star, rest = text.partition("*")
    words = [word for word in left.replace("std::", "").split() if word not in _QUALIFIERS]
    words = words if star or len(words) < 2 else words[:-1]
    name = " ".join(words) + " *" * bool(star or bracket)
    if "*" in rest or (star and bracket) or not words or own.intersection(words):
        return name, ""
    if not _WHOLE.issuperset(words):
        return name, _PLAIN.get(words[0], "") if len(words) == 1 else ""
    count = 1 if "char" in words else 2 if "short" in words else 8 if "long" in words else 4
    return name, f"{'u' if 'unsigned' in words else 'i'}{count}"


def _fitting(i: int, value: Any, declared: tuple[str, str], converted: bool) -> Any:
    """Returns an array or a scalar, which must be of the type that the source declares, where that
    is a plain one; signs are not compared. A scalar that is converted may be of any other type. A
    bool becomes a whole number of one byte."""
    (name, plain), array = declared, isinstance(value, np.ndarray)
    if array and value.size == 0:
        raise TypeError(f"arguments[{i}] has no elements")
    takes = _TAKES.get(plain, f"u{plain[1:]} i{plain[1:]}" + " b1" * (plain == "u1")).split()
    if plain and (array != name.endswith("*") or
                  ((array or not converted) and value.dtype.str[1:] not in takes)):
        raise TypeError(f"arguments[{i}] is {'' if array else 'a scalar, '}{value.dtype}, the source "
                        f"says {name}")
    if value.dtype.kind != "b":
        return value
    if not plain and not (converted and not array):
        raise TypeError(f"arguments[{i}] is bool, and the source says {name}: if these are bytes, "
                        "give it with .view(np.uint8)")
    return value.view(np.uint8)


def _checked(arguments: Sequence[Any], declared: Sequence[str], own: set[str],
             backend: str) -> list[Any]:
    """Returns the arguments, each of which must be an array or a scalar that fits the source."""
    checked = []
    for i, value in enumerate(arguments):
        if not isinstance(value, np.ndarray) and \
                not (isinstance(value, np.generic) and value.dtype.name in (*_SCALARS, "bool")):
            raise TypeError(f"arguments[{i}] must be a NumPy array or a NumPy scalar of "
                            + ", ".join(_SCALARS))
        if backend != "host" and isinstance(value, np.generic) and not np.isfinite(value):
            raise TypeError(f"arguments[{i}] is {value}, which a launch cannot pass: write it in the "
                            "source, as INFINITY or NAN")
        checked.append(_fitting(i, value, _plain_type(declared[i], own), backend == "host"))
    return checked


def _literal(value: np.generic) -> str:
    """Returns a scalar as C writes it."""
    if not np.isfinite(value):
        return '__builtin_nan("")' if np.isnan(value) else \
            f"{'-' if value < 0 else ''}__builtin_inf()"
    if value.dtype.kind == "f":
        return float(value).hex()
    if value == np.iinfo(value.dtype).min < 0:  # C has no such literal
        return f"({int(value) + 1}LL - 1)"
    return str(int(value)) + {"int64": "LL", "uint64": "ULL", "uint32": "U"}.get(value.dtype.name, "")


def _stored(wanted: np.ndarray, dtype: np.dtype, what: str) -> np.ndarray:
    """Returns expected contents in the dtype of their array, which must hold them."""
    stored = wanted.astype(dtype)
    if dtype.kind in "iu" and wanted.size:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        if not (wanted.min() >= low and wanted.max() <= high):
            raise TypeError(f"{what} has numbers that {dtype} cannot hold ({low} to {high})")
    return stored


def _tolerance(array: np.ndarray, arguments: Sequence[Any], answered: bool,
               atol: Optional[float]) -> dict[str, str]:
    """Returns how far an output may be from what is expected: from an answer as numpy.allclose
    has it; from another configuration as far as sums of all inputs in another order may be, but
    not so far that 1 % would pass."""
    if answered:
        return {"relative": "0" if array.dtype.kind in "iu" else "1e-5",
                "absolute": repr(float(1e-6 if atol is None else atol))}
    if array.dtype.kind in "iu":
        return {"relative": "0", "absolute": repr(float(atol or 0))}
    terms = sum(a.size for a in arguments if isinstance(a, np.ndarray)) / array.size
    part = min(max(100, 8 * math.sqrt(terms)) * float(np.finfo(array.dtype).eps), 0.004)
    return {"relative": repr(min(max(part, 1e-5), 0.004)), "rms": repr(part),
            "absolute": repr(float(atol or 0))}


def _problem(folder: Path, name: str, sizes: Mapping[str, int], arguments: Sequence[Any],
             answer: Optional[Sequence[Any]], written: Mapping[int, str],
             atol: Optional[float]) -> None:
    """Writes problem.json and the arrays."""
    listed: list[dict[str, Any]] = []
    expected: dict[str, str] = {}
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
        if access != "in":
            entry["tolerance"] = _tolerance(array, arguments, answer is not None, atol)
        listed.append(entry)
        if answer is not None and answer[i] is not None:
            wanted = np.asarray(answer[i])
            if wanted.size != array.size:
                raise TypeError(f"answer[{i}] has {wanted.size} elements, arguments[{i}] "
                                f"has {array.size}")
            np.save(folder / f"answer{i}.npy",
                    _stored(wanted, array.dtype, f"answer[{i}]").reshape(-1))
            expected[f"arg{i}"] = f"answer{i}.npy"
    kinds = [entry["dtype"] for entry in listed]
    dtype = next((k for k in kinds if k[0] not in "iu"), kinds[0])
    # Each array once: nobody says whether what is written is read before, and what need not be
    # moved would make the memory look faster than it is.
    traffic = sum(a.nbytes for a in arguments if isinstance(a, np.ndarray))
    (folder / "problem.json").write_text(json.dumps({
        "schema": 1, "name": name, "sizes": [{"name": n, "default": v} for n, v in sizes.items()],
        "dtypes": [dtype], "arguments": listed, "flops": "0", "bytes": str(traffic),
        "reference": {"arrays": expected} if expected else "default",
        "tolerance": {dtype: {"relative": "0" if dtype[0] in "iu" else "1e-5"}}, "awkward": []},
        indent=1))


#: clocks of kernels that return their own time, as Kernel Tuner wants it of C; here the harness
#: measures, and no code that is measured reads a clock. A word of the source, and what stops it.
_CLOCKS = (
    (r"\bclock_gettime\b", "#include <time.h>\n#define clock_gettime(clock, at) "
     "((void)(clock), (at)->tv_sec = 0, (at)->tv_nsec = 0, 0)\n"),
    (r"\bgettimeofday\b", "#include <sys/time.h>\n#define gettimeofday(at, zone) "
     "((void)(zone), (at)->tv_sec = 0, (at)->tv_usec = 0, 0)\n"),
    (r"(?<!:)\bclock\s*\(\s*\)", "#include <time.h>\n#define clock() ((clock_t)0)\n"),
    (r"\bomp_get_wtime\b", "#include <omp.h>\n#define omp_get_wtime() 0.0\n"),
    (r"\bstd::chrono\b", """#include <chrono>
namespace std { namespace chrono {
struct ak_clock {
    typedef nanoseconds duration;
    typedef duration::rep rep;
    typedef duration::period period;
    typedef std::chrono::time_point<ak_clock> time_point;
    static constexpr bool is_steady = true;
    static time_point now() noexcept { return time_point(); }
};
} }
#define steady_clock ak_clock
#define high_resolution_clock ak_clock
#define system_clock ak_clock
"""))


def _stopped_clocks(source: str) -> str:
    """Returns the source with clocks that stand still."""
    stopped = "".join(text for word, text in _CLOCKS if re.search(word, source))
    return f"{stopped}#line 1\n{source}" if stopped else source


def _host_source(source: str, name: str, declared: Sequence[str], arguments: Sequence[Any],
                 language: str) -> str:
    """Returns the source, followed by an ak_kernel that calls its function."""
    given, at = [], 0
    for declaration, value in zip(declared, arguments):
        if isinstance(value, np.ndarray):
            kind = re.sub(r"\w+\s*(\[[^]]*\])?$", lambda m: "*" if m[1] else "", declaration)
            given.append(f"({kind}) call->arg[{at}]" if language == "C++" else f"call->arg[{at}]")
            at += 1
        else:
            given.append(_literal(value))
    plain = source if language == "C++" else re.sub(r'\bextern\s+"C"\s+(?!\{)', "", source)
    return f"{_stopped_clocks(plain)}\n\nvoid ak_kernel(const ak_host_call *call)\n{{\n    " \
           f"(void){name}({', '.join(given)});\n}}\n"


def _blocks(names: Any, params: Mapping[str, Any]) -> list[str]:
    """Returns the names of a block's three extents: the given ones, else the parameters with the
    default names, in lower or upper case."""
    if names is not None and (isinstance(names, str) or len(names) > 3 or
                              not all(isinstance(name, str) for name in names)):
        raise TypeError(f"block_size_names must be a list of up to three names, not {names!r}")
    usual = [f"block_size_{axis}" for axis in _AXES]
    if not names:
        return [next((n for n in (name, *params) if n in params and n.lower() == name), name)
                for name in usual]
    return [*names, *usual[len(names):]]


def _extent(name: str, fallback: str, params: Mapping[str, Sequence[Any]]) -> str:
    whole = all(isinstance(v, (int, np.integer)) for v in params.get(name, ()))
    return fallback if name not in params else name if whole else f"int({name})"


def _grid(sizes: Sequence[str], divisors: Sequence[Any], blocks: Sequence[str],
          params: Mapping[str, Any]) -> list[str]:
    """Returns the extents of the grid: the sizes by the divisors, rounded up."""
    grid = []
    for axis, size in enumerate(sizes):
        own = divisors[axis]
        if own is None:
            own = [blocks[axis]] if blocks[axis] in params else []
        elif callable(own) or isinstance(own, (str, int, np.integer)):
            own = [own]
        own = [str(int(d)) if isinstance(d, (int, np.integer)) else
               f"int({d})" if isinstance(d, str) and not d.isidentifier() else
               expression(f"grid_div_{_AXES[axis]}", d, params, ask=False) for d in own]
        grid.append(f"ceil({size}/({'*'.join(f'({d})' for d in own)}))" if own else size)
    return grid


def _macros(grid: Sequence[str], blocks: Sequence[str], params: Mapping[str, Any]
            ) -> dict[str, str]:
    """Returns the macros, besides those of the parameters, that Kernel Tuner defines."""
    macros = {f"grid_size_{_AXES[i]}": grid[i] if i < len(grid) else "1" for i in range(3)}
    macros.update({name: "1" if i else "256" for i, name in enumerate(blocks)}, kernel_tuner="1")
    return {name: value for name, value in macros.items() if name not in params}


def _launch(grid: Sequence[str], arguments: Sequence[Any], blocks: Sequence[str],
            params: Mapping[str, Any], shared: Any) -> dict[str, Any]:
    """Returns grid, block and arguments of a GPU kernel, as "Launch" has them."""
    block = [_extent(name, "1" if i else "256", params) for i, name in enumerate(blocks)]
    passed = [{"Buffer": f"arg{i}"} if isinstance(a, np.ndarray)
              else {_SCALARS[a.dtype.name]: str(int(a)) if a.dtype.kind in "iu" else repr(float(a))}
              for i, a in enumerate(arguments)]
    while len(block) > 1 and block[-1] == "1":
        block.pop()
    if shared is not None:
        shared = str(shared) if isinstance(shared, (int, np.integer)) else \
            expression("smem_args: size", shared, params, ask=False)
    return {"Block": block, "Grid": list(grid), "Arguments": passed,
            **({} if shared is None else {"SharedMemory": shared})}


def _parameter(name: str, values: Sequence[Any]) -> dict[str, Any]:
    """Returns a parameter as a space file has it. Whole and other numbers together are real
    numbers there, and so each gets the macro that its own text gives."""
    plain = [v.item() if isinstance(v, np.generic) else v for v in values]
    if {type(v) for v in plain} != {int, float}:
        return {"Name": name, "Values": plain}
    return {"Name": name, "Values": [float(v) for v in plain], "Use": "option",
            "Options": {str(float(v)): [f"-D{name}={v}"] for v in plain}}


def _originals(values: Sequence[Any]) -> dict[str, Any]:
    """Returns the values by the texts that configurations may have for them."""
    found: dict[str, Any] = {}
    for value in values:
        plain = value.item() if isinstance(value, np.generic) else value
        found[str(plain)] = value
        if isinstance(plain, (int, float)) and not isinstance(plain, bool):
            found.setdefault(str(float(plain)), value)
    return found


def _unused(trials: Sequence[Mapping[str, Any]], params: Mapping[str, Sequence[Any]],
            launch: str) -> list[str]:
    """Returns the parameters of which another value never gave another code, and which the launch
    does not depend on either."""
    unused = []
    for name, values in params.items():
        alike: dict[str, list[tuple[str, str]]] = {}
        for trial in trials:
            pairs = trial["config"].split(",")
            own = next(p for p in pairs if p.startswith(f"{name}="))
            if trial.get("code_hash"):
                alike.setdefault(",".join(p for p in pairs if p != own), []).append(
                    (own, trial["code_hash"]))
        groups = [g for g in alike.values() if len({own for own, _ in g}) > 1]
        if len(values) > 1 and groups and not re.search(rf"\b{re.escape(name)}\b", launch) and \
                all(len({code for _, code in g}) == 1 for g in groups):
            unused.append(name)
    return unused


#: options of `autokernel tune`, and the arguments that become them
_OPTIONS = {"evals": "strategy_options: max_fevals", "time": "strategy_options: time_limit"}


def _numbers(extents: Sequence[Any], atol: Any, seed: Any, limits: Mapping[str, Any]) -> None:
    """Refuses numbers that the executable would refuse under names that the caller does not know."""
    def check(name: str, value: Any, low: float, high: float, whole: bool) -> None:
        good = isinstance(value, (int, np.integer) if whole else (int, float, np.number)) and \
            not isinstance(value, (bool, np.bool_)) and low <= value <= high
        if not good:
            raise TypeError(f"{name} must be a {'whole ' if whole else ''}number from {low} to "
                            f"{high}, not {value!r}")

    for extent in extents:
        check("problem_size", extent, 1, 2**53, True)
    if atol is not None:
        check("atol", atol, 0, sys.float_info.max, False)
    if seed is not None:
        check("seed", seed, 0, 2**53 - 1, True)
    if limits.get("max_fevals") is not None:
        check("strategy_options: max_fevals", limits["max_fevals"], 1, EVALS_MAX, True)
    if limits.get("time_limit") is not None:
        check("strategy_options: time_limit", limits["time_limit"], 0.1, 2592000, False)


def _words(text: str, folder: str) -> str:
    """Returns a message in which what a caller does not have is named as he knows it."""
    text = re.sub(rf"(\S*/)?{re.escape(folder)}/(arg\d+)\.npy: ", r"ak.tune_kernel: \2: ", text)
    text = re.sub(rf"(\S*/)?{re.escape(folder)}(/\w+\.json)?: ", "ak.tune_kernel: ", text)
    text = re.sub(r'\b(tighten|widen) "tolerance" in problem\.json', r"change atol", text)
    text = re.sub(r"\bin problem\.json", "in the arguments", text)
    text = re.sub(r"\barg(\d+)\b", r"arguments[\1]", text)
    return re.sub(r"it changes its input (arguments\[\d+\])",
                  r"it writes \1, which is const or has no answer", text)


#: what a reason says of a result that differs, and not of a write outside of an array
_DIFFERS = ", expected "


def _agreed(run: Callable[[Mapping[str, Any]], tuple[Result, list[dict[str, Any]]]],
            values_of: Callable[[str], dict[str, Any]]) -> tuple[Result, list[dict[str, Any]]]:
    """Runs a search whose results are compared with those of one configuration. If most do not
    agree with the first one, others take its place, and the one that most agree with counts."""
    kept, most, refused, first = None, -1, None, {}
    for _ in range(REFERENCES_MAX):
        result, trials = run(first)
        wrong = [t["config"] for t in trials if t["status"] == "wrong_result" and _DIFFERS in t["reason"]]
        right = sum(t["status"] == "ok" for t in trials)
        refused = set(wrong) if refused is None else refused & set(wrong)
        if right > most:
            kept, most, apart = (result, trials), right, len(wrong)
        if right >= len(wrong) or not refused:
            break
        first = {n: v.item() if isinstance(v, np.generic) else v
                 for n, v in values_of(next(c for c in wrong if c in refused)).items()}
    if apart > 0 and most > 0:  # where none is right, the run says why
        warn(f"ak.tune_kernel: without answer, {counted(most, 'configuration')} "
             f"agree{'s' if most == 1 else ''} and {apart} do{'es' if apart == 1 else ''} not agree "
             "with them: which are right is not known; give answer, or atol if they may differ by "
             "more")
    return kept


def tune_kernel(kernel_name: str, kernel_source: Union[str, os.PathLike],
                problem_size: Union[int, Sequence[int]], arguments: Sequence[Any],
                tune_params: Mapping[str, Sequence[Any]],
                grid_div_x: Any = None, grid_div_y: Any = None, grid_div_z: Any = None,
                restrictions: Restrictions = None, answer: Optional[Sequence[Any]] = None,
                atol: Optional[float] = None, verify: Any = None, verbose: Any = None,
                lang: Optional[str] = None, device: Union[None, int, str] = None,
                platform: Any = None, smem_args: Optional[Mapping[str, Any]] = None,
                cmem_args: Any = None, texmem_args: Any = None, compiler: Optional[str] = None,
                compiler_options: Optional[Sequence[str]] = None, defines: Any = None,
                log: Any = None, iterations: Any = None,
                block_size_names: Optional[Sequence[str]] = None, quiet: bool = False,
                strategy: Optional[str] = None,
                strategy_options: Optional[Mapping[str, Any]] = None, cache: Any = None,
                metrics: Optional[Mapping[str, Any]] = None, simulation_mode: Any = None,
                parallel: Any = None, observers: Any = None, objective: Any = None,
                objective_higher_is_better: Any = None, objectives: Any = None,
                seed: Optional[int] = None, *, outputs: Sequence[int] = (),
                archive: Union[None, str, os.PathLike] = None,
                progress: Union[bool, Progress] = True
                ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Tunes a kernel that is given as a text or a file, as Kernel Tuner's tune_kernel does.

    `arguments` are NumPy arrays and scalars in the order of the function's parameters;
    `tune_params` maps names, which the source sees as macros, to lists of values; `restrictions`
    are expressions or functions of one mapping; `answer` has the expected contents of each array
    that the kernel writes and None for the others. What it returns is the same, too: a list with a
    dictionary for each configuration (its values and `time` in milliseconds, or the name of what
    went wrong), and a dictionary of the run. Parameters have Kernel Tuner's names and order;
    `outputs`, `archive` and `progress` are our own.

    Differences:

    * The harness measures the time, whatever a C function returns; clocks that it reads for that
      (std::chrono, clock_gettime, gettimeofday, clock, omp_get_wtime) stand still. `time` is the
      median.
    * Each array begins every call with the contents that it was given, unless `outputs` lists its
      index as one that the kernel only writes. `gbs` counts each array once, also where a kernel
      reads what it writes.
    * Arrays and scalars are whole numbers of 8 to 64 bits or floats of NumPy (scalars of 32 and 64
      bits), of the types that the source declares, where these are plain; an array of bool is for
      bool, _Bool or unsigned char. Whole numbers may differ from `answer` by `atol` only, and must be below 2^53.
    * `answer` is compared as numpy.allclose does it, with `atol` (1e-6) for each array by itself;
      but an `atol` that would accept zeros, or results that are 1 % too large, is refused.
    * Without `answer`, where Kernel Tuner checks nothing, the results of all configurations have to
      agree as far as sums in another order do: by 100 eps, or 8 eps times the root of the number
      of elements of all arrays for each one that is written, if that is more, of the root mean
      square of the array, and as much relative (at least 1e-5); by 0.4 % at most; and by `atol`, if
      it is given. They are compared with those of
      the first configuration or, if most do not agree with it, of one with which more agree. A
      warning says how many do not agree.
    * A warning names parameters that never change the code, such as one that the source itself
      defines. The macros are those of Kernel Tuner (`kernel_tuner`, `block_size_x`, `grid_size_x`
      and so on), and so are blocks: 256 threads in x without `block_size_x`.
    * `lang` is "C", "C++", "CUDA" (also "CuPy" and "nvcuda") or "OpenCL"; HIP, Fortran and Julia
      are refused. "C" is compiled as C, or as C++ where `compiler` is "g++" or
      the source includes a header of C++.
    * A source in C or C++ with directives of OpenMP is compiled with -fopenmp, as there; so is one
      whose `compiler_options` have it. Its regions have at most as many threads as the process may
      use CPUs (or AUTOKERNEL_THREADS): a warning says if num_threads may ask for more. Directives for vectors only
      (simd) start no thread. Tasks, locks and omp_set_num_threads are refused by name.
    * `strategy` is one of autokernel's or of Kernel Tuner's; every configuration is tried if none
      is named. brute_force is exhaustive, random_sample random, genetic_algorithm genetic, diff_evo
      diffevo, simulated_annealing anneal, bayes_opt bayes. A warning says that dual_annealing
      becomes anneal, skopt bayes, firefly_algorithm pso; minimize, basinhopping, mls, greedy_mls,
      ordered_greedy_mls, greedy_ils and hybrid_vndx local; adaptive_tabu_greywolf and
      pyatf_strategies portfolio. nsga2, nsga3 and objects are refused.
    * `strategy_options` may have "max_fevals", "time_limit" in seconds and, for random_sample,
      "fraction"; a warning names others, which have no effect. Without "max_fevals" exhaustive tries
      all configurations, random_sample, as there, a tenth of those that are valid ("fraction": 0.1),
      and any other strategy 60. A search other than exhaustive ends earlier when nothing better was
      found for long.
    * `metrics` are computed when all is measured. One that raises is left out, with a warning.
    * `device` is a number, or a name such as "cuda:1". `smem_args` may have "size" (CUDA).
    * `restrictions` that are functions are read from their source. One that is not an expression of
      its parameter is asked for each combination of values, 4096 at most. `grid_div_x`, `_y`, `_z`
      are lists, names, numbers or functions in the same way.
    * A warning names those that have no effect here: verbose, log, iterations, cache (`archive`
      keeps all trials) and parallel. `quiet` stands for progress=False.
    * Refused are, unless they have no effect: verify, observers, simulation_mode, cmem_args,
      texmem_args, defines, platform, another objective than "time", another `compiler` of C than
      gcc and g++, a `kernel_source` that is a list or a function, and a `problem_size` that depends
      on parameters.
    """
    given = locals()
    for name, why in _REFUSED.items():
        value = given[name]
        if value is not None and value is not False and not (name == "platform" and value == 0) \
                and not (isinstance(value, (list, tuple, dict)) and not value):
            raise TypeError(f"{name} is not supported: {why}")
    notes = [f"{name} has no effect: {why}" for name, why in _IGNORED.items()
             if given[name] is not None and given[name] is not False]
    _objective(objective, objective_higher_is_better, objectives)
    if not isinstance(kernel_source, (str, os.PathLike)):
        raise TypeError("kernel_source must be a text or a path, not "
                        f"{type(kernel_source).__name__}")
    path = os.fspath(kernel_source)
    source = Path(path).read_text(encoding="utf-8") if "\n" not in path and os.path.exists(path) \
        else path
    language = _language(lang, source)
    backend = _BACKENDS[language]
    if backend == "host" and compiler is not None:
        if Path(compiler).name not in ("gcc", "g++"):
            raise TypeError(f"compiler {compiler!r} is not supported: it must be gcc or g++")
        language = "C++" if Path(compiler).name == "g++" else language
    if language == "C" and re.search(r"^\s*#\s*include\s*<\w+>", source, re.M):
        language = "C++"  # no header of C has a name without a suffix
    declared = _parameters(source, kernel_name)
    if len(declared) != len(arguments):
        raise TypeError(f"{kernel_name} has {counted(len(declared), 'parameter')}; arguments has "
                        f"{len(arguments)}")
    if answer is not None and len(answer) != len(arguments):
        raise TypeError(f"answer has {len(answer)} entries; arguments has {len(arguments)}")
    arguments = _checked(arguments, declared, _own_types(source) | set(tune_params), backend)
    writes = [i for i, value in enumerate(arguments) if isinstance(value, np.ndarray) and
              (answer[i] is not None if answer is not None else "const" not in declared[i])]
    if not writes:
        raise TypeError("no array is written: answer has None for all of them")
    for i in outputs:
        if i not in writes:
            raise TypeError(f"outputs: {i} is not the index of an array that is written; these are "
                            + ", ".join(map(str, writes)))
    extents = list(problem_size) if isinstance(problem_size, (list, tuple, np.ndarray)) \
        else [problem_size]
    if not 1 <= len(extents) <= 3 or \
            not all(isinstance(extent, (int, np.integer)) for extent in extents):
        raise TypeError("problem_size must be a whole number or up to three: where the grid "
                        "depends on parameters, give grid_div_x, grid_div_y or grid_div_z")
    sizes = {f"problem_size_{_AXES[i]}": int(n) for i, n in enumerate(extents)}
    params = _values(tune_params)
    limits = dict(strategy_options or {})
    _numbers(extents, atol, seed, limits)
    sampled = strategy == "random_sample"
    fraction = limits.get("fraction", 0.1)
    unused = [name for name in limits if name not in ("max_fevals", "time_limit") and
              not (sampled and name == "fraction")]
    if sampled and (isinstance(fraction, bool) or
                    not (isinstance(fraction, (int, float)) and 0 <= fraction <= 1)):
        raise TypeError("strategy_options: fraction must be a number from 0 to 1")
    if unused:
        notes.append(f"strategy_options: {', '.join(unused)} has no effect: 'autokernel list' has "
                     "the options of strategies")
    search = _strategy(strategy, notes)
    blocks = _blocks(block_size_names, params)
    for name in block_size_names or ():
        if name not in params:
            notes.append(f"block_size_names: {name} is not in tune_params")
    if backend != "host" and not any(name in params for name in blocks):
        notes.append("no parameter is the size of a block, which has 256 threads in x")
    grid = _grid(list(sizes), [grid_div_x, grid_div_y, grid_div_z], blocks, params)
    listed = restrictions if isinstance(restrictions, (list, tuple)) else \
        [] if restrictions is None else [restrictions]
    conditions = [expression(f"restrictions[{i}]", one, params) for i, one in enumerate(listed)]
    specification: dict[str, Any] = {
        "Language": language,
        "KernelName": "ak_kernel" if backend == "host" else kernel_name,
        "KernelFile": f"{backend}.{_SUFFIXES[backend]}",
        "Defines": _macros(grid, blocks, params),
        "CompilerOptions": list(compiler_options or ()) or
        ([f"-std=gnu{'++' if language == 'C++' else ''}17", "-O3", "-march=native"]
         if backend == "host" else [])}
    if backend == "host":
        specification.update(_openmp.specification(source, specification["CompilerOptions"]))
        many = _openmp.too_many(source, params)
        notes += [] if many is None else [many]
        source = _host_source(source, kernel_name, declared, arguments, language)
    else:
        specification["Launch"] = _launch(grid, arguments, blocks, params,
                                          (smem_args or {}).get("size"))
    if notes:
        warn("ak.tune_kernel: " + "; ".join(notes))
    every = min(math.prod(map(len, params.values())), EVALS_MAX)
    number = device if isinstance(device, (int, np.integer)) else 0
    named = device if isinstance(device, str) else \
        backend if backend == "host" else f"{backend}:{number}"
    names = {name: _originals(values) for name, values in params.items()}

    def values_of(config: str) -> dict[str, Any]:
        values = dict(pair.split("=", 1) for pair in config.split(","))
        return {n: names[n].get(values[n], values[n]) for n in names}

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / kernel_name
        folder.mkdir()
        _problem(folder, kernel_name, sizes, arguments, answer,
                 {i: "out" if i in outputs else "inout" for i in writes}, atol)
        (folder / specification["KernelFile"]).write_text(source, encoding="utf-8")
        evals = limits.get("max_fevals", every if search == "exhaustive" else None)
        own = os.fspath(archive) if archive is not None else os.path.join(place, "archive.db")

        def run(first: Mapping[str, Any]) -> tuple[Result, list[dict[str, Any]]]:
            (folder / f"{backend}.json").write_text(json.dumps({
                "ConfigurationSpace": {
                    "TuningParameters": [{**_parameter(n, v),
                                          **({"Default": first[n]} if n in first else {})}
                                         for n, v in params.items()],
                    "Conditions": conditions},
                "KernelSpecification": specification}, default=lambda v: v.item(), indent=1))
            tries = evals
            if sampled and tries is None:
                listed = json.loads(_command(["list", os.fspath(folder), "--device", named, "--json"]))
                tries = min(max(1, math.ceil(listed["valid"] * fraction)), EVALS_MAX)
            result = _search(folder, {"device": named, "strategy": search, "seed": seed,
                                      "evals": tries, "time": limits.get("time_limit"),
                                      "archive": own, "libraries": "none"},
                             False if quiet and progress is True else progress, _OPTIONS)
            return result, Archive(own).trials(os.fspath(folder), run=result.data["run"])

        try:
            result, trials = run({}) if answer is not None else _agreed(run, values_of)
            best = {n: names[n].get(str(v), v) for n, v in result.config.items()}
        except TuneError as why:
            raise TuneError(_words(str(why), os.fspath(folder))) from None
    for told in result.warnings:
        if "does not use the parameter" not in told:  # the next warning names these
            warn("ak.tune_kernel: " + _words(told, os.fspath(folder)))
    for name in _unused(trials, params, json.dumps(specification.get("Launch"))):
        warn(f"ak.tune_kernel: {name} never changes the code: the source does not use it or defines "
             "it itself, or the compiler makes the same of all its values")
    found = []
    for trial in trials:
        entry = values_of(trial["config"])
        times = trial.get("samples_ms") or []
        entry["time"] = float(np.median(times)) if trial["status"] == "ok" else \
            _ERRORS.get(trial["status"], "RuntimeFailedConfig")
        entry.update(times=times, compile_time=trial["compile_ns"] / 1e6, status=trial["status"],
                     reason=trial["reason"] and _words(trial["reason"], os.fspath(folder)))
        found.append(entry)
    _add_metrics(found, metrics or {})
    return found, {"best_config": best, "best": result.best, **{
        k: result.data[k] for k in ("device", "run", "seconds", "stopped_by", "failed")}}
