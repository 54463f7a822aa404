"""What a source needs of OpenMP. Kernel Tuner compiles every source with directives with -fopenmp."""

from __future__ import annotations

import os
import re
from typing import Any, Mapping, Optional, Sequence

_DIRECTIVE = re.compile(r"(?:^[ \t]*#[ \t]*pragma[ \t]+|\b_Pragma\s*\(\s*\")omp\b[ \t]*"
                        r"(?P<simd>(?:declare[ \t]+)?simd\b)?(?P<clauses>[^\n]*)", re.M)


def _directives(source: str) -> list["re.Match[str]"]:
    plain = re.sub(r"/\*.*?\*/|//[^\n]*", " ", source, flags=re.S)
    return list(_DIRECTIVE.finditer(plain.replace("\\\n", " ")))


def specification(source: str, options: Sequence[str]) -> dict[str, Any]:
    """Returns members of a "KernelSpecification": the options without -fopenmp, and with it, or with
    directives for threads, the "Threads" that mean OpenMP. Directives for vectors need an option."""
    kept = [option for option in options if option != "-fopenmp"]
    found = _directives(source)
    if len(kept) < len(options) or any(not one["simd"] for one in found):
        return {"CompilerOptions": kept, "Threads": "openmp"}
    return {"CompilerOptions": [*kept, "-fopenmp-simd"] if found else kept}


def too_many(source: str, params: Mapping[str, Sequence[Any]]) -> Optional[str]:
    """Returns a note if a region may ask for more threads than there are, else None."""
    threads, own = len(os.sched_getaffinity(0)), os.environ.get("AUTOKERNEL_THREADS", "")
    threads = int(own) if own.isdecimal() and int(own) > 0 else threads
    asked = " ".join(text for one in _directives(source)
                     for text in re.findall(r"num_threads\s*\(([^()]*)", one["clauses"]))
    for name, values in params.items():
        if re.search(rf"\b{re.escape(name)}\b", asked) and \
                any(not isinstance(v, str) and v > threads for v in values):
            return f"num_threads: regions have {threads} threads at most, also where {name} is larger"
    return None
