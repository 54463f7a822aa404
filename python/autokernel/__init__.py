"""autokernel: fast, correct configurations of compute kernels, found and used from Python.

    import autokernel as ak

    result = ak.tune("softmax", size="rows=512,cols=1024", evals=20)
    softmax = result.load()              # or ak.load("softmax_f32.akb")
    y = softmax(x)                       # x: float32 array of shape (512, 1024)
    ak.archive().best("softmax")         # what was found before, on this machine too

A bundle is one file that runs without autokernel and without a compiler (docs/shipping.md).
"""

from typing import Any

from ._archive import Archive, Report, archive
from ._bundle import Argument, ArgumentError, Bundle, BundleError, Measured, aligned_empty, load
from ._command import TuneError
from ._kernel import tune_kernel
from ._reference import reference
from ._tune import Result, tune


def __getattr__(name: str) -> Any:
    """Imports autokernel.torch when it is first used, because that imports torch."""
    if name == "torch":
        import importlib
        return importlib.import_module(".torch", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["Archive", "Argument", "ArgumentError", "Bundle", "BundleError", "Measured", "Report",
           "Result", "TuneError", "aligned_empty", "archive", "load", "reference", "tune",
           "tune_kernel"]
__version__ = "0.1.0"
