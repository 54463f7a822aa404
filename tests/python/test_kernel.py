"""tune_kernel: kernels that a script holds as a text."""

import contextlib
import inspect
import json
import math
import os
import re
import subprocess
import warnings

import numpy as np
import pytest

import autokernel as ak
from autokernel import _kernel, _openmp
from autokernel._command import executable
from autokernel._restriction import expression

ADD = """
#include <stddef.h>
float add(float *c, const float *a, const float *b, float scale, int n)
{
    for (int i = 0; i < n; i += UNROLL) {
        for (int j = i; j < i + UNROLL; j++) {
            c[j] = a[j] + scale * b[j] + WRONG;
        }
    }
    return 0;
}
"""
N = 1 << 12
random = np.random.default_rng(2)
a, b = (random.random(N).astype(np.float32) for _ in range(2))
scale = np.float32(0.5)
arguments = [np.zeros(N, np.float32), a, b, scale, np.int32(N)]
answer = [a + scale * b, None, None, None, None]


def tuned(**more):
    given = {"answer": answer, "lang": "C", "progress": False, **more}
    params = given.pop("tune_params", {"UNROLL": [1, 2, 4], "WRONG": [0]})
    return ak.tune_kernel("add", given.pop("source", ADD), given.pop("problem_size", N), given.pop("arguments", arguments),
                          params, **given)


#: what a run warns of that has more to do than measure, or a device that changes its clock
OF_THE_MACHINE = (
    r"ak\.tune_kernel: (the (machine|clock|limits|fastest) |one candidate |all times are "
    r"|#[0-9]+ is |.* took .* ms )"
)


@contextlib.contextmanager
def no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", OF_THE_MACHINE)
        yield


def test_every_configuration_is_tried():
    results, run = tuned(tune_params={"UNROLL": [1, 2, 4, 8], "WRONG": [0, 1]},
                         restrictions=[lambda p: p["UNROLL"] < 8 or p["WRONG"] == 1, "UNROLL != 2"])
    assert {(r["UNROLL"], r["WRONG"]) for r in results} == \
        {(u, w) for u in (1, 4, 8) for w in (0, 1)} - {(8, 0)}
    for result in results:
        if result["WRONG"] == 1:
            assert result["time"] == "RuntimeFailedConfig" and result["status"] == "wrong_result"
        else:
            assert result["time"] > 0 and len(result["times"]) > 1
    assert run["best_config"]["WRONG"] == 0 and run["failed"]["wrong_result"] == 3


def test_each_array_is_moved_once():
    for outputs in (), (0,):
        best = tuned(tune_params={"UNROLL": [4], "WRONG": [0]}, outputs=outputs)[1]["best"]
        assert best["gbs"] * best["ms"] * 1e6 == pytest.approx(3 * 4 * N)


def test_that_nothing_works_is_explained():
    with pytest.raises(ak.TuneError, match=r"wrong_result: .*\[0\]: got"):
        tuned(tune_params={"UNROLL": [1], "WRONG": [1]})


def test_what_is_written_and_how(tmp_path):
    path = tmp_path / "add.c"
    path.write_text('extern "C" ' + ADD.replace("c[j] =", "c[j] +=").lstrip().split("\n", 1)[1])
    start = np.ones(N, np.float32)
    results, _ = tuned(source=path, arguments=[start, *arguments[1:]],
                       answer=[1 + a + scale * b, None, None, None, None])
    assert [r["status"] for r in results] == ["ok"] * 3  # each call begins with ones
    results, _ = tuned(outputs=[0])
    assert [r["status"] for r in results] == ["ok"] * 3
    with pytest.warns(UserWarning, match="2 configurations agree and 2 do not") as told:
        results, _ = tuned(answer=None, tune_params={"UNROLL": [1, 2], "WRONG": [0, 1]})
    assert {t.filename for t in told} == {__file__}  # the caller's line
    assert sorted(r["status"] for r in results) == ["ok", "ok", "wrong_result", "wrong_result"]
    assert arguments[0].sum() == 0


def test_strategies_and_limits(tmp_path):
    results, run = tuned(strategy="random", strategy_options={"max_fevals": 2},
                         archive=tmp_path / "own.db")
    assert len(results) == 2 and run["stopped_by"] == "evaluations"
    assert len(ak.archive(tmp_path / "own.db").trials()) == 2


LIMIT = 4


def test_the_restriction_that_is_meant():
    """Several functions may begin in one line, and a function is more than its text."""
    params = {"x": [1, 2, 3, 4], "y": [1, 2], "LIMIT": [0, 9], "text": ["a", "b'"]}
    both = [lambda p: p["x"] < 3, lambda p: p["y"] < 2]
    assert [expression("r", one, params) for one in both] == ["x < 3", "y < 2"]

    def second(metrics, restriction):
        return expression("r", restriction, params)

    assert second(metrics={"GB": lambda p: 1}, restriction=lambda p: p["x"] * p["y"] <= 6) == "x * y <= 6"
    made = [(lambda limit: lambda p: p["x"] <= limit)(limit) for limit in (2, np.float32(3.5))]
    assert [expression("r", one, params) for one in made] == ["x <= 2", "x <= 3.5"]
    # a name of the script is its value, also where a parameter has the same name
    assert expression("r", lambda p: p["x"] < LIMIT, params) == "x < 4"
    assert expression("r", lambda q: min(q["x"], 3) in {3} or
                      math.ceil(q["x"] / 2) == 1, params) == "min(x, 3) in [3] or ceil(x / 2) == 1"

    def one(p):
        """Is a function with one expression."""
        return p["text"] == "b'"
    assert expression("r", one, params) == 'text == "b\'"'


def test_restrictions_that_are_no_expression():
    def steps(p):
        total = sum(v for v in p.values())
        return total > 2
    params = {"x": [1, 2], "y": np.arange(1, 3)}
    names = {"limit": 2}
    exec("hidden = lambda p: p['x'] < limit", names)  # its source is not known
    for function, wanted in [(steps, [[1, 2], [2, 1], [2, 2]]), (names["hidden"], [[1, 1], [1, 2]]),
                             (lambda p, k=2: p["x"] == k, [[2, 1], [2, 2]]),
                             (lambda p, *, LIMIT=2: p["x"] == LIMIT, [[2, 1], [2, 2]]),
                             (lambda *p: p[0]["x"] == 1, [[1, 1], [1, 2]]),
                             (lambda p: p["x"] & 1, [[1, 1], [1, 2]]),
                             (lambda p: all(p[n] < 2 for n in "xy"), [[1, 1]])]:
        assert expression("r", function, params) == f"[x, y] in {wanted}"
    results, _ = tuned(tune_params={"UNROLL": [1, 2, 4], "WRONG": [0]},
                       restrictions=lambda p: sum(p.values()) > 1)
    assert sorted(r["UNROLL"] for r in results) == [2, 4]
    for function, part in [(lambda p: p["z"] < 1, "r: reads 'z', which tune_params does not have"),
                           (lambda p: 1 // (p["x"] - 1) & 1, "r: raised ZeroDivisionError for {'x': 1"),
                           (3, "r: must be a text or a function, not int")]:
        with pytest.raises(TypeError, match=re.escape(part)):
            expression("r", function, params)
    with pytest.raises(TypeError, match="r: must be a text, or one expression.* 5000 are more than 4096"):
        expression("r", steps, {"x": range(5000)})


def test_a_script_of_kernel_tuner():
    """Its strategies and parameters have their equivalent, a warning, or a reason to be refused."""
    with pytest.warns(UserWarning) as told:
        results, run = tuned(
            strategy="brute_force", strategy_options={"max_fevals": 9, "popsize": 4}, iterations=7,
            cache="cache.json", verbose=True, quiet=True, device=0, platform=0, objective="time",
            objective_higher_is_better=False, observers=[], simulation_mode=False, seed=3, log=None,
            compiler="gcc", smem_args={}, metrics={"GB": lambda p: 8 * N / p["time"], "twice": "2*GB",
                                                  "bad": lambda p: p["power"]})
    texts = [text for text in (str(one.message) for one in told) if not re.match(OF_THE_MACHINE, text)]
    assert len(texts) == 2 and texts[1].startswith("metrics: bad is left out, because it raised KeyError")
    for part in ("verbose has no effect: ", "iterations has no effect", "cache has no effect: archive=FILE",
                 "strategy_options: popsize has no effect"):
        assert part in texts[0]
    assert len(results) == 3 and "bad" not in results[0]
    assert all(r["twice"] == 2 * r["GB"] == 16 * N / r["time"] for r in results)
    with no_warning():
        assert len(tuned(strategy="genetic_algorithm", strategy_options={"max_fevals": 1})[0]) == 1
        # Kernel Tuner's sample: a tenth of the valid configurations, or the fraction, rounded up
        assert len(tuned(strategy="random_sample")[0]) == 1
        assert len(tuned(strategy="random_sample", strategy_options={"fraction": 0.5})[0]) == 2
    with pytest.warns(UserWarning, match="fraction has no effect"):
        tuned(strategy="pso", strategy_options={"fraction": 0.5, "max_fevals": 1})
    with pytest.raises(TypeError, match="fraction must be a number from 0 to 1"):
        tuned(strategy="random_sample", strategy_options={"fraction": 2})
    for more, part in [({"verify": np.allclose}, "verify is not supported: .*give answer"),
                       ({"observers": [1]}, "observers is not supported"),
                       ({"simulation_mode": True}, "simulation_mode is not supported"),
                       ({"defines": {"A": "1"}}, "defines is not supported"),
                       ({"platform": 1}, "platform is not supported: name the device"),
                       ({"objective": "GFLOP/s"}, "objective: only a short time"),
                       ({"objectives": {"time": False, "energy": False}}, "objective: only"),
                       ({"objective_higher_is_better": True}, "objective: only"),
                       ({"compiler": "icx"}, "compiler 'icx' is not supported"),
                       ({"strategy": "nsga2"}, "for several objectives"),
                       ({"strategy": object()}, "strategy must be a name"),
                       ({"source": lambda p: ADD}, "kernel_source must be a text or a path, not function")]:
        with pytest.raises(TypeError, match=part):
            tuned(**more)
    with pytest.raises(ak.TuneError, match="strategy"):
        tuned(strategy="no_such_strategy")
    listed = json.loads(subprocess.run([executable(), "list", "--json"], capture_output=True, text=True).stdout)
    ours = {one["name"] for one in listed["strategies"]}
    notes = []
    assert {_kernel._strategy(name, notes) for name in (*_kernel._SAME, "pso")} <= ours and not notes
    assert {_kernel._strategy(name, notes) for name in _kernel._NEAR} <= ours and len(notes) == len(_kernel._NEAR)
    assert "strategy 'greedy_ils' is replaced by 'local'" in notes


def test_the_parameters_are_those_of_kernel_tuner():
    ours = list(inspect.signature(ak.tune_kernel).parameters.values())
    theirs = ("kernel_name kernel_source problem_size arguments tune_params grid_div_x grid_div_y grid_div_z "
              "restrictions answer atol verify verbose lang device platform smem_args cmem_args texmem_args "
              "compiler compiler_options defines log iterations block_size_names quiet strategy "
              "strategy_options cache metrics simulation_mode parallel observers objective "
              "objective_higher_is_better objectives seed").split()
    assert [p.name for p in ours if p.kind == p.POSITIONAL_OR_KEYWORD] == theirs
    for one in ours:
        assert re.search(rf"\b{one.name}\b", ak.tune_kernel.__doc__) or \
            one.name in ("atol", "kernel_name", "block_size_names", "compiler_options", "seed",
                         "objective_higher_is_better", "objectives", "grid_div_y", "grid_div_z")
    kernel_tuner = pytest.importorskip("kernel_tuner")
    assert list(inspect.signature(kernel_tuner.tune_kernel).parameters) == theirs
    known = {*_kernel._SAME, *_kernel._NEAR, "pso", "nsga2", "nsga3"}
    assert set(kernel_tuner.interface.strategy_map) == known


CXX = ADD.replace("float add(", 'extern "C" float add(').replace("for (int i", "for (auto i")
CXX = CXX.replace("c[j] = a[j]", "c[j] = same<float>(a[j])").replace(
    "#include <stddef.h>", "template <typename T> static T same(T x) { return x; }")


@pytest.mark.parametrize("more", [{"lang": "C++"}, {"compiler": "g++"}])
def test_cxx(more):
    results, _ = tuned(source=CXX, **more)
    assert [r["status"] for r in results] == ["ok"] * 3


def test_what_does_not_fit_is_refused():
    for more, part in [({"source": "int f;"}, "no function add"),
                       ({"arguments": arguments[:4]}, "has 5 parameters"),
                       ({"arguments": [*arguments[:4], N]}, r"arguments\[4\] must be"),
                       ({"answer": [None] * 5}, "no array is written"),
                       ({"answer": [a]}, "answer has 1"),
                       ({"answer": [a[:3], None, None, None, None]}, "3 elements"),
                       ({"lang": "HIP"}, r"C, C\+\+, CUDA and OpenCL"),
                       ({"restrictions": 3}, r"restrictions\[0\]: must be a text or a function, not int"),
                       ({"problem_size": lambda p: p["UNROLL"]}, "problem_size must be a whole number"),
                       ({"tune_params": {"UNROLL": [1], "WRONG": []}}, "tune_params: WRONG has no values"),
                       ({"tune_params": {"UNROLL": 4}}, "UNROLL must have a list of values, not 4"),
                       ({"tune_params": {"UNROLL": "12"}}, "UNROLL must have a list of values, not '12'"),
                       ({"tune_params": {}}, "tune_params: there are no parameters"),
                       ({"arguments": [arguments[0], a > 0, *arguments[2:]]}, "bool"),
                       ({"source": ADD.replace("float *c", "unsigned char *c"),
                         "arguments": [arguments[0].astype(np.uint8), *arguments[1:]],
                         "answer": [np.full(N, 256), None, None, None, None]}, "uint8 cannot hold")]:
        with pytest.raises(TypeError, match=part):
            tuned(**more)
    with pytest.raises(ak.TuneError, match="UNROLLED"):
        tuned(restrictions=["UNROLLED > 1"])


def test_arguments_are_of_the_types_of_the_source():
    for more, part in [({"arguments": [arguments[0], a.astype(np.float64), *arguments[2:]]},
                        "arguments[1] is float64, the source says float *"),
                       ({"arguments": [arguments[0], scale, *arguments[2:]]},
                        "arguments[1] is a scalar, float32, the source says float *"),
                       ({"arguments": [*arguments[:3], a, np.int32(N)]}, "arguments[3] is float32, the source says float"),
                       ({"arguments": [*arguments[:2], b[:0], *arguments[3:]]}, "arguments[2] has no elements"),
                       ({"arguments": [a[:0], *arguments[1:]], "answer": None}, "arguments[0] has no elements"),
                       ({"arguments": [arguments[0], a > 0, *arguments[2:]],
                         "source": "typedef float real;" + ADD.replace("const float *a", "const real *a")},
                        "arguments[1] is bool, and the source says real *: if these are bytes, give it with .view(np.uint8)")]:
        with pytest.raises(TypeError, match=re.escape(part)):
            tuned(**more)
    x = np.zeros(3, np.int32)
    for declaration, name, plain in [
            ("const float *restrict x", "float *", "f4"), ("float const * x", "float *", "f4"),
            ("const float x[N][4]", "float *", "f4"), ("unsigned long int n", "unsigned long int", "u8"),
            ("__global const uint *x", "uint *", "u4"), ("const std::int16_t *x", "int16_t *", "i2"),
            ("const __half *__restrict__ x", "__half *", "f2"), ("short", "short", "i2"), ("int n = 3", "int", "i4"),
            ("const __nv_bfloat16 *x", "__nv_bfloat16 *", "bf16"), ("T *x", "T *", ""), ("float4 *x", "float4 *", ""),
            ("float **x", "float *", ""), ("struct s *x", "struct s *", ""), ("half *x", "half *", "")]:
        assert _kernel._plain_type(declaration, _kernel._own_types("typedef float half;")) == (name, plain)
    for right in ("int *", "i4"), ("unsigned *", "u4"), ("T *", ""):
        assert _kernel._fitting(0, x, right, True) is x
    for wrong in ("long *", "i8"), ("float *", "f4"), ("half *", "f2"), ("bool *", "bool"):
        with pytest.raises(TypeError, match=re.escape(f"arguments[0] is int32, the source says {wrong[0]}")):
            _kernel._fitting(0, x, wrong, True)
    with pytest.raises(TypeError, match="is a scalar, float64, the source says float"):
        _kernel._fitting(0, np.float64(1), ("float", "f4"), False)  # no compiler converts what a launch passes
    assert _kernel._fitting(0, np.float64(1), ("float", "f4"), True) == 1


def test_scalars_without_an_end():
    source = """
void clip(float *y, const float *x, float low, double high, float no, int n)
{
    for (int i = 0; i < n; i++) { y[i] = x[i] > low && x[i] < high && no != no ? (x[i] + 1) * FACTOR : 0; }
}
"""
    given = [np.zeros(N, np.float32), a, np.float32(-np.inf), np.float64(np.inf), np.float32(np.nan), np.int32(N)]
    for language in "C", "C++":
        results, _ = ak.tune_kernel("clip", source, N, given, {"FACTOR": [1, 2]}, lang=language, progress=False,
                                    answer=[a + 1, None, None, None, None, None])
        assert {r["FACTOR"]: r["status"] for r in results} == {1: "ok", 2: "wrong_result"}
    with pytest.raises(TypeError, match=r"arguments\[2\] is -inf, which a launch cannot pass"):
        ak.tune_kernel("clip", source.replace("void", "__global__ void"), N, given, {"FACTOR": [1]})
    with pytest.raises(TypeError, match="tune_params: UNROLL has inf: give it as a text"):
        tuned(tune_params={"UNROLL": [1, math.inf], "WRONG": [0]})


def test_numbers_that_no_run_takes():
    """A message names the caller's own argument."""
    for more, text in (({"atol": -1.0}, "atol must be a number from 0"),
                       ({"atol": math.nan}, "atol must be a number from 0"),
                       ({"problem_size": 0}, "problem_size must be a whole number from 1"),
                       ({"strategy_options": {"max_fevals": 0}}, "strategy_options: max_fevals must be a whole number"),
                       ({"strategy_options": {"time_limit": 0}}, "strategy_options: time_limit must be a number"),
                       ({"seed": -1}, "seed must be a whole number")):
        with pytest.raises(TypeError, match=text):
            tuned(**more)


def test_arguments_may_be_bool():
    source = """
void pick(float *y, const KIND *mask, const float *x, bool all, int n)
{
    for (int i = 0; i < n; i++) { y[i] = mask[i] || all ? x[i] * FACTOR : 0; }
}
"""
    for kind in "bool", "_Bool", "unsigned char":
        text = ("#include <stdbool.h>\n" + source).replace("KIND", kind)
        results, _ = ak.tune_kernel("pick", text, N, [np.zeros(N, np.float32), a > 0.5, a, np.bool_(False), np.int32(N)],
                                    {"FACTOR": [1, 2]}, answer=[np.where(a > 0.5, a, 0)] + [None] * 4, lang="C",
                                    progress=False)
        assert {r["FACTOR"]: r["status"] for r in results} == {1: "ok", 2: "wrong_result"}


BYTES = """
#include <stdint.h>
void soften(uint8_t *y, const uint8_t *x, uint8_t half, uint64_t n)
{
    for (uint64_t i = 0; i < n; i += UNROLL) {
        for (uint64_t k = i; k < i + UNROLL && k < n; k++) {
            SUM sum = (SUM)(x[k] + x[(k + 1) % n]);
            y[k] = (uint8_t)((sum + half) / 2);
        }
    }
}
"""
COUNT = """
#include <stdint.h>
void count(int64_t *bins, const int16_t *x, int64_t weight, uint32_t n)
{
    for (int i = 0; i < 16; i++) { bins[i] = 0; }
    for (uint32_t i = 0; i < n; i++) { bins[x[i] & 15] += (KIND)weight; }
    bins[0] += OFF;
}
"""
DOT = """
#include <stdint.h>
void dot(int32_t *sum, const int8_t *a, const int8_t *b, int n)
{
    TOTAL total = 0;
    for (int i = 0; i < n; i++) { total += a[i] * b[i]; }
    sum[0] = total;
}
"""


def statuses(name, source, arguments, answer, params, **more):
    results, _ = ak.tune_kernel(name, source, 1000, arguments, params, answer=answer, lang="C", progress=False, **more)
    return {tuple(r[p] for p in params): r["status"] for r in results}


def test_whole_numbers():
    draw = np.random.default_rng(3)
    x = draw.integers(0, 256, 1000).astype(np.uint8)
    sums = x.astype(int) + np.roll(x, -1)
    given = [np.zeros(1000, np.uint8), x, np.uint8(1), np.uint64(1000)]
    params = {"UNROLL": [1, 4], "SUM": ["int", "uint8_t"]}
    assert statuses("soften", BYTES, given, [(sums + 1) // 2, None, None, None], params) == {
        (u, s): "ok" if s == "int" else "wrong_result" for u in (1, 4) for s in ("int", "uint8_t")}
    # 255.5 levels of difference would be needed for the wrap-around, one for the rounding
    given[2] = np.uint8(0)
    for atol, status in ((1e-6, "wrong_result"), (1, "ok")):
        try:
            found = statuses("soften", BYTES, given, [(sums + 1) // 2, None, None, None],
                             {"UNROLL": [1], "SUM": ["int"]}, atol=atol)
        except ak.TuneError as why:
            found = {(1, "int"): "wrong_result"} if "wrong_result" in str(why) else why
        assert found == {(1, "int"): status}

    x = draw.integers(-32768, 32768, 1000).astype(np.int16)
    bins = np.bincount(x & 15, minlength=16) * 3_000_000_000_000
    given = [np.zeros(16, np.int64), x, np.int64(3_000_000_000_000), np.uint32(1000)]
    params = {"KIND": ["int64_t", "int32_t"], "OFF": [0, 1]}
    assert statuses("count", COUNT, given, [bins, None, None, None], params) == {
        (k, o): "ok" if (k, o) == ("int64_t", 0) else "wrong_result" for k in params["KIND"] for o in params["OFF"]}

    a, b = (draw.integers(-128, 128, 1000).astype(np.int8) for _ in range(2))
    right = np.array([a.astype(int) @ b.astype(int)])
    given = [np.zeros(1, np.int32), a, b, np.int32(1000)]
    assert statuses("dot", DOT, given, [right, None, None, None], {"TOTAL": ["int", "int16_t"]}) == {
        ("int",): "ok", ("int16_t",): "wrong_result"}


def test_scalars_of_every_kind():
    kinds = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
    ends = [end for kind in kinds for end in (kind(np.iinfo(kind).min), kind(np.iinfo(kind).max))]
    source = "#include <stdint.h>\nvoid all(uint64_t *y, " + ", ".join(
        f"{e.dtype}_t e{i}" for i, e in enumerate(ends)) + ")\n{\n" + "".join(
        f"    y[{i}] = (uint64_t)(e{i} >> 1) & {2**53 - 1}ULL;\n" for i in range(len(ends))) + "    (void)STEP;\n}\n"
    right = np.array([(int(e) >> 1) & (2**53 - 1) for e in ends], np.uint64)
    with pytest.warns(UserWarning, match="STEP never changes the code: .*the compiler makes the same of all its values"):
        results, _ = ak.tune_kernel("all", source, 1, [np.zeros(16, np.uint64), *ends], {"STEP": [1, 2]},
                                    answer=[right] + [None] * 16, lang="C", progress=False)
    assert [r["status"] for r in results] == ["ok", "ok"]
    assert _kernel._launch(["n"], [np.uint16(7), np.int8(-3)], ["x"], {}, None)["Arguments"] == [
        {"UInt16": "7"}, {"Int8": "-3"}]


def test_numbers_beyond_doubles_are_refused():
    x = np.array([2**60 + 1] * 1000, np.int64)
    with pytest.raises(ak.TuneError, match=r"arguments\[0\]: element 0 is 1\.15.*; an argument of i64 gets"):
        ak.tune_kernel("f", "void f(long *y, const long *x) { y[0] = x[0] + S; }", 1000, [x.copy(), x], {"S": [1, 2]},
                       lang="C", progress=False)


def test_how_a_grid_is_divided():
    params = {"block_size_x": [16, 32], "tile": [1, 2]}

    def grid(*divisors):
        return _kernel._grid(["n", "m", "k"][:len(divisors)], divisors, _kernel._blocks(None, params), params)

    assert grid(None, None) == ["ceil(n/((block_size_x)))", "m"]
    by = "(block_size_x * tile)"
    assert grid(lambda p: p["block_size_x"] * p["tile"]) == [f"ceil(n/({by}))"]
    assert grid(["block_size_x", "tile"], np.int64(4)) == ["ceil(n/((block_size_x)*(tile)))", "ceil(m/((4)))"]
    assert grid("block_size_x/2") == ["ceil(n/((int(block_size_x/2))))"]
    with pytest.raises(TypeError, match="grid_div_x: must be a text, or one expression"):
        grid(lambda p: sum(p.values()))


def test_blocks_as_kernel_tuner_has_them():
    usual = ["block_size_x", "block_size_y", "block_size_z"]

    def block(names, params):
        blocks = _kernel._blocks(names, params)
        return _kernel._launch(["1"], [], blocks, params, None)["Block"]

    assert block(None, {"block_size_x": [1], "block_size_y": [2]}) == usual[:2]
    assert block(None, {"BLOCK_SIZE_Y": [1], "Block_Size_X": [1]}) == ["Block_Size_X", "BLOCK_SIZE_Y"]
    assert block(None, {"n": [1]}) == ["256"]
    assert block(None, {"block_size_y": [1]}) == ["256", "block_size_y"]
    assert block(["bx"], {"bx": [1], "block_size_y": [2]}) == ["bx", "block_size_y"]
    assert block(None, {"block_size_x": [32.0]}) == ["int(block_size_x)"]
    for names in ("bx", ["a", "b", "c", "d"], [3]):
        with pytest.raises(TypeError, match="block_size_names must be a list of up to three names"):
            block(names, {"bx": [1]})
    shared = _kernel._launch(["1"], [], usual, {"n": [1]}, lambda p: 4 * p["n"])["SharedMemory"]
    assert shared == "4 * n"


DEFINED = """
#ifndef kernel_tuner
#define UNROLL 1
#define block_size_x 1
#endif
#if block_size_x != 256 || block_size_y != 1 || block_size_z != 1 || grid_size_y != 1 || grid_size_z != 1
#error "a macro differs from Kernel Tuner's"
#endif
#if grid_size_x != (PROBLEM + 3*UNROLL - 1)/(3*UNROLL)
#error "the grid differs from Kernel Tuner's"
#endif
""".replace("PROBLEM", str(N)) + ADD


def test_the_macros_of_kernel_tuner():
    with no_warning():
        results, _ = tuned(source=DEFINED, grid_div_x=["UNROLL", 3])
    assert [r["status"] for r in results] == ["ok"] * 3
    with pytest.raises(TypeError, match="tune_params: the name grid_size_x is taken"):
        tuned(tune_params={"UNROLL": [1], "grid_size_x": [1]})


def test_a_parameter_that_never_changes_the_code():
    with pytest.warns(UserWarning, match="UNROLL never changes the code: .*defines it itself"):
        results, _ = tuned(source="#undef UNROLL\n#define UNROLL 2\n" + ADD)
    assert len(results) == 3


SUMS = """
void add(float *c, const float *a, const float *b, float scale, int n)
{
    for (int r = 0; r < 16; r++) {
        float s[UNROLL] = {0}, all = 0;
        for (int i = 0; i < n; i += UNROLL) {
            for (int j = 0; j < UNROLL; j++) { s[j] += a[i + j] * b[(i + j + 37 * r) % n]; }
        }
        for (int j = 0; j < UNROLL; j++) { all += s[j]; }
        c[r] = all + WRONG;
    }
}
"""


def test_without_an_answer():
    """Configurations agree that add in another order, and the first one is not right by being first."""
    given = dict(source=SUMS, answer=None, arguments=[
        np.zeros(16, np.float32), a - np.float32(0.5), b - np.float32(0.5), scale, np.int32(N)])
    params = {"UNROLL": [1, 2, 8, 32], "WRONG": [0]}
    with no_warning():
        results, _ = tuned(tune_params=params, **given)
    assert [r["status"] for r in results] == ["ok"] * 4
    with pytest.warns(UserWarning, match="without answer, 2 configurations agree and 1 does not"):
        results, run = tuned(tune_params={"UNROLL": [4], "WRONG": ["3", "(UNROLL - 4)", "0*UNROLL"]}, **given)
    assert sorted((r["WRONG"], r["status"]) for r in results) == [
        ("(UNROLL - 4)", "ok"), ("0*UNROLL", "ok"), ("3", "wrong_result")]
    assert run["best_config"]["WRONG"] != "3"
    with no_warning():
        some = tuned(tune_params={"UNROLL": [4], "WRONG": ["0", "0.002f"]}, atol=0.01, **given)[0]
    assert [r["status"] for r in some] == ["ok"] * 2  # atol counts
    with pytest.warns(UserWarning, match="1 configuration agrees and 1 does not"):
        tuned(tune_params={"UNROLL": [4], "WRONG": ["0", "0.1f"]}, atol=0.01, **given)


@pytest.mark.parametrize("values", [[1, 8], [8]])
def test_a_write_outside_is_no_disagreement(values):
    """What writes outside of an array is wrong by itself, whatever else the others do."""
    n = 1001
    given = {"arguments": [np.zeros(n, np.float32), a[:n], b[:n], scale, np.int32(n)], "problem_size": n}
    with no_warning():
        if len(values) > 1:
            results, _ = tuned(answer=None, tune_params={"UNROLL": values, "WRONG": [0]}, **given)
            assert [r["status"] for r in results] == ["ok", "wrong_result"]
        else:
            with pytest.raises(ak.TuneError, match="it writes outside of arguments"):
                tuned(answer=None, tune_params={"UNROLL": values, "WRONG": [0]}, **given)


@pytest.mark.parametrize("header, before, after", [
    ("time.h", "struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t);", "t.tv_nsec"),
    ("sys/time.h", "struct timeval t; gettimeofday(&t, NULL);", "t.tv_usec"),
    ("time.h", "clock_t t = clock();", "(clock() - t)"),
    ("omp.h", "double t = omp_get_wtime();", "(omp_get_wtime() - t)"),
    ("chrono", "auto t = std::chrono::high_resolution_clock::now();",
     "(std::chrono::duration<float, std::milli>(std::chrono::high_resolution_clock::now() - t)).count()")])
def test_kernels_that_read_clocks(header, before, after):
    """Kernel Tuner's functions in C return their own time."""
    source = f"#include <{header}>\n" + ADD.replace("float add(", 'extern "C" float add(')
    source = source.replace("    for (int i = 0", f"    {before}\n    for (int i = 0", 1)
    results, _ = tuned(source=source.replace("return 0;", f"return {after};"), tune_params={"UNROLL": [4], "WRONG": [0]})
    assert [r["status"] for r in results] == ["ok"]


PARALLEL = """
#include <omp.h>
float add(float *c, const float *a, const float *b, float scale, int n)
{
    double start = omp_get_wtime();
    int chunk = n / THREADS;
    #pragma omp parallel num_threads(THREADS)
    {
        int offset = omp_get_thread_num() * chunk;
        for (int i = offset; i < offset + chunk; i++) {
            c[i] = a[i] + scale * b[i];
        }
    }
    return omp_get_wtime() - start;
}
"""


@pytest.mark.parametrize("options", [None, ["-O2", "-fopenmp"]])
def test_openmp(options, monkeypatch):
    """As in Kernel Tuner's examples/c/vector_add.py, each thread has a part of the work."""
    monkeypatch.setenv("AUTOKERNEL_THREADS", "2")
    with no_warning():  # "THREADS never changes the code"
        results, _ = tuned(source=PARALLEL, tune_params={"THREADS": [1, 2]}, compiler_options=options)
    assert [r["status"] for r in results] == ["ok"] * 2


def test_openmp_has_no_more_threads_than_the_task(monkeypatch):
    monkeypatch.setenv("AUTOKERNEL_THREADS", "2")
    with pytest.warns(UserWarning, match="num_threads: regions have 2 threads at most, also where THREADS is larger"):
        results, _ = tuned(source=PARALLEL, tune_params={"THREADS": [1, 8]})
    assert [r["status"] for r in results] == ["ok", "wrong_result"]


def test_openmp_for_vectors_starts_no_thread():
    source = ADD.replace("        for (int j", "#pragma omp simd safelen(LEN)\n        for (int j")
    with no_warning():
        results, _ = tuned(source=source, tune_params={"UNROLL": [32], "WRONG": [0], "LEN": [2, 8]})
    assert [r["status"] for r in results] == ["ok"] * 2
    assert _openmp.specification("#pragma omp \\\n parallel", []) == \
        _openmp.specification('_Pragma("omp for")', ["-fopenmp"]) == {"CompilerOptions": [], "Threads": "openmp"}
    assert _openmp.specification("# pragma omp declare simd\n", ["-O2"]) == {"CompilerOptions": ["-O2", "-fopenmp-simd"]}
    assert _openmp.specification("/* #pragma omp for */ // #pragma omp for", ["-O2"]) == {"CompilerOptions": ["-O2"]}


def test_each_output_has_its_tolerance():
    source = """
void two(float *c, float *d, const float *a, int n)
{
    for (int i = 0; i < n; i++) { c[i] = a[i] * 1e4f; d[i] = a[i] * 1e-3f + ERR; }
}
"""
    given = [np.zeros(N, np.float32), np.zeros(N, np.float32), a, np.int32(N)]
    results, _ = ak.tune_kernel("two", source, N, given, {"ERR": ["0", "5e-7f", "1e-4f"]}, lang="C",
                                answer=[a * np.float32(1e4), a * np.float32(1e-3), None, None], quiet=True)
    assert sorted((r["ERR"], r["status"]) for r in results) == [
        ("0", "ok"), ("1e-4f", "wrong_result"), ("5e-7f", "ok")]
    assert "arguments[1][" in next(r["reason"] for r in results if r["ERR"] == "1e-4f")


def test_values_come_back_as_they_were_given():
    values = [1, 2.0, np.float32(0.3)]
    source = ADD.replace("UNROLL", "1") + "extern int size[sizeof(UNROLL) == (UNROLL == 1 ? 4 : 8) ? 1 : -1];"
    with pytest.warns(UserWarning, match="UNROLL never changes the code"):
        results, run = tuned(source=source, tune_params={"UNROLL": values, "WRONG": [0]},
                             metrics={"twice": "2*UNROLL"}, outputs=[0])
    assert sorted(map(repr, (r["UNROLL"] for r in results))) == sorted(map(repr, values))
    assert all(r["twice"] == 2 * r["UNROLL"] for r in results)
    assert repr(run["best_config"]["UNROLL"]) in map(repr, values)


def test_errors_name_what_the_caller_has():
    for more, part in [({"atol": 10.0}, "change atol or choose"),
                       ({"restrictions": "FOO == 2"}, "ak.tune_kernel: condition 1 (FOO == 2) names"),
                       ({"compiler_options": ["-lfoo"]}, 'ak.tune_kernel: the compiler option "-lfoo"'),
                       ({"answer": [None, a + 1, None, None, None]}, "it writes arguments[0], which is const or has")]:
        with pytest.raises(ak.TuneError, match=re.escape(part)) as told:
            tuned(**more)
        assert "problem.json" not in str(told.value) and "host.json" not in str(told.value)
    for more, part in [({"outputs": [7]}, "outputs: 7 is not the index of an array that is written; these are 0"),
                       ({"outputs": [1]}, "outputs: 1 is not"),
                       ({"source": "nothing.c"}, "kernel_source: there is no file nothing.c")]:
        with pytest.raises(TypeError, match=re.escape(part)):
            tuned(**more)


def test_restrictions_that_expressions_do_not_have():
    params = {"x": [1, 2], "t": ["4", "5"]}
    assert expression("r", lambda p: p["x"] == 1 or int(p["t"]) == 4, params) == \
        "[x, t] in [[1, '4'], [1, '5'], [2, '4']]"
    assert expression("r", lambda p: p["x"] < math.inf, {"x": [1, 2]}) == "[x] in [[1], [2]]"
    assert expression("r", lambda p: round(p["x"] / 3, 1) > 0.5, {"x": [1, 2]}) == "[x] in [[2]]"
    assert expression("r", lambda p: max(p["t"], "45") == "5", params) == "[x, t] in [[1, '5'], [2, '5']]"


def opencl_or_skip():
    listed = json.loads(subprocess.run([executable(), "doctor", "--json"], capture_output=True,
                                       text=True).stdout)
    if "opencl:0" not in json.dumps(listed) and "AK_TEST_OPENCL" not in os.environ:
        pytest.skip("there is no OpenCL device")


def test_a_gpu_kernel():
    opencl_or_skip()
    source = """
__kernel void add(__global float *c, __global const float *a, __global const float *b, float scale,
                  int n)
{
    int i = get_global_id(0);
    if (i < n) { c[i] = a[i] + scale * b[i]; }
}
"""
    results, run = tuned(source=source, lang=None, tune_params={"block_size_x": [16, 64]})
    assert [r["status"] for r in results] == ["ok", "ok"] and run["device"] == "opencl:0"
    results, run = tuned(source=source.replace("int i =", "if (get_local_size(0) != BLOCK_SIZE_X) { return; } int i ="),
                         lang=None, tune_params={"BLOCK_SIZE_X": [16, 64]})
    assert [r["status"] for r in results] == ["ok", "ok"]
    with pytest.warns(UserWarning, match="no parameter is the size of a block, which has 256 threads in x"):
        results, _ = tuned(source=source.replace("int i =", "if (get_local_size(0) != 256) { return; }\nint i ="),
                           lang=None, grid_div_x=[256], tune_params={"X": [1]})
    assert results[0]["status"] == "ok"
