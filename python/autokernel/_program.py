"""Evaluates the programs of bundle.json (docs/formats.md), and infers sizes from shapes by them."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Mapping, Sequence

Program = Sequence[Any]

_TWO: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
    "//": lambda a, b: a // b, "%": lambda a, b: a % b, "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b), ">": lambda a, b: int(a > b), ">=": lambda a, b: int(a >= b),
    "==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b), "min()": min, "max()": max}
_ONE: dict[str, Callable[[Any], Any]] = {
    "not()": lambda a: int(not a), "neg()": lambda a: -a, "abs()": abs}


def _apply(call: Callable[..., Any], *operands: Any) -> Any:
    """Returns the result, or the error that it or an operand is: runtime/ak_runtime.c does so, too,
    because if(), and() and or() may not choose this result."""
    for operand in operands:
        if isinstance(operand, Exception):
            return operand
    try:
        return call(*operands)
    except (TypeError, ZeroDivisionError) as error:
        return error


def _choose(condition: Any, yes: Any, no: Any) -> Any:
    chosen = _apply(bool, condition)
    return chosen if isinstance(chosen, Exception) else yes if chosen else no


def evaluate(program: Program, sizes: Mapping[str, Any]) -> Any:
    """Returns the value of a program; sizes may be symbols of torch.compile."""
    stack: list[Any] = []
    for token in program:
        if isinstance(token, int):
            stack.append(token)
        elif token in sizes:
            stack.append(sizes[token])
        elif token in _TWO:
            b, a = stack.pop(), stack.pop()
            stack.append(_apply(_TWO[token], a, b))
        elif token in _ONE:
            stack.append(_apply(_ONE[token], stack.pop()))
        elif token in ("and()", "or()"):
            b, a = stack.pop(), stack.pop()
            stack.append(_choose(a, b, a) if token == "and()" else _choose(a, a, b))
        else:
            no, yes, condition = stack.pop(), stack.pop(), stack.pop()
            stack.append(_choose(condition, yes, no))
    if isinstance(stack[0], Exception):
        raise stack[0]
    return stack[0]


class _Line:
    """A value that depends on one size: factor*size + rest. What is not of this form raises
    TypeError."""

    def __init__(self, factor: Any, rest: Any) -> None:
        self.factor, self.rest = factor, rest

    def __add__(self, other: Any) -> "_Line":
        more = other if isinstance(other, _Line) else _Line(0, other)
        return _Line(self.factor + more.factor, self.rest + more.rest)

    def __mul__(self, other: Any) -> "_Line":
        return NotImplemented if isinstance(other, _Line) else \
            _Line(self.factor * other, self.rest * other)

    def __neg__(self) -> "_Line":
        return self * -1

    def __sub__(self, other: Any) -> "_Line":
        return self + -other

    def __rsub__(self, other: Any) -> "_Line":
        return -self + other

    def __eq__(self, other: object) -> bool:
        raise TypeError

    def __bool__(self) -> bool:
        raise TypeError

    __radd__, __rmul__ = __add__, __mul__


class NoSize(ValueError):
    """No whole size gives an extent; the text says which."""


def infer(extents: Iterable[tuple[str, Program, Any]], names: Sequence[str],
          sizes: dict[str, Any]) -> None:
    """Adds to `sizes` what the extents, each with the name of its place, tell of the others: those
    that are nothing but a size first, then those that are a line over a single unknown one."""
    left = []
    for place, program, extent in extents:
        if len(program) == 1 and program[0] in names:
            sizes.setdefault(program[0], extent)
        else:
            left.append((place, program, extent))
    found = True
    while found:
        found = False
        for place, program, extent in left:
            unknown = {t for t in program if t in names and t not in sizes}
            if len(unknown) != 1:
                continue
            name = unknown.pop()
            try:
                line = evaluate(program, {**sizes, name: _Line(1, 0)})
            except (TypeError, ZeroDivisionError):
                continue
            if not isinstance(line, _Line) or line.factor == 0:
                continue
            rest = extent - line.rest
            if line.factor != 1 and rest % line.factor != 0:
                raise NoSize(f"no whole {name} gives {place}, which is {extent}")
            sizes[name], found = rest // line.factor, True
