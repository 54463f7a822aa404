"""Programs of bundles mean in Python what they mean in runtime/ak_runtime.c."""

import pytest

from autokernel import _program

N_IS_NONE = ["n", 0, "=="]


@pytest.mark.parametrize("program", [
    [*N_IS_NONE, 8, 8, "n", "//", "if()"],
    [*N_IS_NONE, 0, "!=", 8, 8, "n", "%", "if()"],
    ["n", 8, "n", "//", "and()", 8, "+"],
    [8, 8, "n", "//", "or()"]])
def test_what_is_not_chosen_may_fail(program):
    assert _program.evaluate(program, {"n": 0}) == 8


@pytest.mark.parametrize("program", [
    [8, "n", "//"], [8, "n", "%", 1, "+", "neg()"], [8, "n", "//", 1, 2, "if()"], [8, "n", "//", 1, "or()"],
    [*N_IS_NONE, 8, "n", "//", 8, "if()"]])
def test_what_is_chosen_may_not(program):
    with pytest.raises(ZeroDivisionError):
        _program.evaluate(program, {"n": 0})


def test_a_size_is_inferred_by_the_branch_that_is_chosen():
    sizes = {"m": 0}
    _program.infer([("A", ["m", "n", "m", "//", "n", 2, "*", "if()"], 10)], ["m", "n"], sizes)
    assert sizes == {"m": 0, "n": 5}
