"""The decorator that a file with a Triton kernel has its settings in (docs/howto-triton.md)."""

from typing import Any, Callable, Optional


def reference(function: Optional[Callable[..., Any]] = None, *, kernel: Any = None,
              torch: bool = False, **settings: Any) -> Any:
    """Marks a function as the reference of a Triton kernel in the same file, and says how to tune it.

    kernel    the kernel, or its name; not needed if the file has one
    torch     the function computes with torch's tensors and not with NumPy's arrays
    settings  sizes, arguments, grid and what else the JSON beside a kernel may say

    Has no effect when the file is imported: `autokernel tune path/kernel.py` reads it.
    """
    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        function.autokernel = {"kernel": kernel, "torch": torch, "settings": settings}  # type: ignore
        return function
    return mark if function is None else mark(function)
