"""Turns a restriction of a search space, which may be a function of Python, into an expression of
space files (docs/formats.md, Expressions)."""

from __future__ import annotations

import ast
import builtins
import inspect
import itertools
import linecache
import math
import warnings
from types import CodeType, FunctionType
from typing import Any, Callable, Mapping, Optional, Sequence, Union

Restriction = Union[str, Callable[[Mapping[str, Any]], Any]]

#: a function that is no expression is asked for at most this many combinations of values
ASKED_MAX = 4096
_WANTED = "must be a text, or one expression of one mapping in a file, such as lambda p: p['x'] < 9"
#: lines by which the code that is looked for is moved, so that no other begins there
_MOVE = 10_000_000
_NODES = (ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.UAdd, ast.BinOp, ast.Add,
          ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.Compare, ast.Eq,
          ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.IfExp, ast.List,
          ast.Tuple, ast.Load)
_CALLS = {getattr(builtins, name): name for name in ("min", "max", "abs", "int", "float", "round")}
_CALLS.update({math.sqrt: "sqrt", math.log2: "log2", math.ceil: "ceil", math.floor: "floor"})


class _NoExpression(Exception):
    """The function is more than an expression of space files."""


class _Unknown(TypeError):
    """The function reads what is no parameter."""


def _same(a: Any, b: Any) -> bool:
    """Returns whether two constants, or two codes apart from their lines, are the same."""
    if isinstance(a, CodeType) and isinstance(b, CodeType):
        return all(getattr(a, part) == getattr(b, part) for part in (
            "co_name", "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars")) and \
            len(a.co_consts) == len(b.co_consts) and all(map(_same, a.co_consts, b.co_consts))
    return type(a) is type(b) and repr(a) == repr(b)  # 1 is not True, and 0.0 not -0.0


def _begins_at(code: CodeType, line: int) -> Optional[CodeType]:
    """Finds the code that begins at a line."""
    for one in code.co_consts:
        if isinstance(one, CodeType):
            found = one if one.co_firstlineno == line else _begins_at(one, line)
            if found is not None:
                return found
    return None


def _node(function: FunctionType) -> Union[ast.Lambda, ast.FunctionDef]:
    """Finds the function in the text of its file. Several may begin in its line: it is the one
    that becomes the same code."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    for at in itertools.count():
        tree = ast.parse(text)
        nodes = [n for n in ast.walk(tree) if isinstance(n, (ast.Lambda, ast.FunctionDef)) and
                 min([n.lineno] + [d.lineno for d in getattr(n, "decorator_list", [])])
                 == code.co_firstlineno]
        if at == len(nodes):
            raise _NoExpression
        ast.increment_lineno(nodes[at], _MOVE)
        moved = _begins_at(compile(tree, code.co_filename, "exec", dont_inherit=True),
                           code.co_firstlineno + _MOVE)
        if moved is not None and _same(moved, code):
            return nodes[at]
    raise _NoExpression


class _Expression(ast.NodeTransformer):
    """Makes an expression of parameters from one that reads a mapping. What does not read the
    mapping is replaced by its value."""

    def __init__(self, function: FunctionType, mapping: str, params: Mapping[str, Any]) -> None:
        cells = zip(function.__code__.co_freevars, function.__closure__ or ())
        self.mapping, self.params = mapping, params
        self.scope = {**function.__globals__, **{n: c.cell_contents for n, c in cells}}

    def _value(self, node: ast.expr) -> Any:
        return eval(compile(ast.Expression(node), "<restriction>", "eval"), self.scope)

    def _literal(self, value: Any) -> ast.expr:
        if isinstance(value, (list, tuple, set, frozenset, range)):
            return ast.List([self._literal(item) for item in value], ast.Load())
        value = value.item() if hasattr(value, "item") else value
        if not isinstance(value, (bool, int, float, str)) or \
                (isinstance(value, float) and not math.isfinite(value)):
            raise _NoExpression
        return ast.parse(repr(value), mode="eval").body

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr) and not any(
                isinstance(n, ast.Name) and n.id == self.mapping for n in ast.walk(node)):
            return self._literal(self._value(node))
        if isinstance(node, ast.Subscript):
            if not isinstance(node.value, ast.Name) or node.value.id != self.mapping:
                raise _NoExpression
            name = self._value(node.slice)
            if name not in self.params:
                raise _Unknown(f"reads {name!r}, which tune_params does not have")
            return ast.Name(name, ast.Load())
        if isinstance(node, ast.Call):
            name = _CALLS.get(self._value(node.func))
            if name is None or node.keywords or (name == "round" and len(node.args) != 1):
                raise _NoExpression
            arguments = [self.visit(a) for a in node.args]
            read = [n.id for a in arguments for n in ast.walk(a) if isinstance(n, ast.Name)]
            if any(isinstance(value, str) for n in read for value in self.params.get(n, ())):
                raise _NoExpression  # expressions have no int("4")
            return ast.Call(ast.Name(name, ast.Load()), arguments, [])
        if not isinstance(node, _NODES):
            raise _NoExpression
        return self.generic_visit(node)


def _by_source(function: Any, params: Mapping[str, Any]) -> str:
    """Returns what a function that is one expression computes; raises _NoExpression for others."""
    if not isinstance(function, FunctionType):
        raise _NoExpression
    code = function.__code__
    if (code.co_argcount, code.co_kwonlyargcount) != (1, 0) or code.co_flags & (
            inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR):
        raise _NoExpression
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about other lines of the file
            node = _node(function)
            body = node.body if isinstance(node, ast.Lambda) else [
                line for line in node.body if not (isinstance(line, ast.Expr) and
                                                   isinstance(line.value, ast.Constant))]
            if isinstance(body, list):
                if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
                    raise _NoExpression
                body = body[0].value
            return ast.unparse(ast.fix_missing_locations(
                _Expression(function, code.co_varnames[0], params).visit(body)))
    except (_NoExpression, _Unknown):
        raise
    except Exception as why:  # of the source, or of a part of the expression
        raise _NoExpression from why


def _by_asking(function: Callable[[Mapping[str, Any]], Any],
               params: Mapping[str, Sequence[Any]]) -> str:
    """Asks a function about every combination of values, and lists those that it allows."""
    every = math.prod(map(len, params.values()))
    if every > ASKED_MAX:
        raise TypeError(f"{_WANTED}; other functions are asked for each combination of values, and "
                        f"{every} are more than {ASKED_MAX}")
    allowed = []
    for values in itertools.product(*params.values()):
        given = dict(zip(params, values))
        try:
            if function(given):
                allowed.append([v.item() if hasattr(v, "item") else v for v in values])
        except Exception as why:
            raise TypeError(f"raised {type(why).__name__} for {given}: {why}") from why
    return f"[{', '.join(params)}] in {allowed}"


def expression(where: str, given: Restriction, params: Mapping[str, Sequence[Any]],
               ask: bool = True) -> str:
    """Returns a restriction as an expression: a text unchanged, a function of one mapping by its
    source or, where that is not one expression, by asking it if that will do. `where` names it in
    errors."""
    if isinstance(given, str):
        return given
    try:
        if not callable(given):
            raise TypeError(f"must be a text or a function, not {type(given).__name__}")
        try:
            return _by_source(given, params)
        except _NoExpression:
            if not ask:
                raise TypeError(_WANTED) from None
            return _by_asking(given, params)
    except TypeError as why:
        raise TypeError(f"{where}: {why}") from why
