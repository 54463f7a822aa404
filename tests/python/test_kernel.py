"""tune_kernel: kernels that a script holds as a text."""

import json
import os
import subprocess

import numpy as np
import pytest

import autokernel as ak
from autokernel._command import executable

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
    return ak.tune_kernel("add", given.pop("source", ADD), N, given.pop("arguments", arguments),
                          params, **given)


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
    results, _ = tuned(answer=None, tune_params={"UNROLL": [1, 2], "WRONG": [0, 1]})
    assert sorted(r["status"] for r in results) == ["ok", "ok", "wrong_result", "wrong_result"]
    assert arguments[0].sum() == 0


def test_strategies_and_limits(tmp_path):
    results, run = tuned(strategy="random", strategy_options={"max_fevals": 2},
                         archive=tmp_path / "own.db")
    assert len(results) == 2 and run["stopped_by"] == "evaluations"
    assert len(ak.archive(tmp_path / "own.db").trials()) == 2


def test_what_does_not_fit_is_refused():
    def block(p):
        print(p)
        return True

    for more, part in [({"source": "int f;"}, "no function add"),
                       ({"arguments": arguments[:4]}, "has 5 parameters"),
                       ({"arguments": [*arguments[:4], N]}, r"arguments\[4\] must be"),
                       ({"answer": [None] * 5}, "no array is written"),
                       ({"answer": [a]}, "answer has 1"),
                       ({"answer": [a[:3], None, None, None, None]}, "3 elements"),
                       ({"lang": "HIP"}, "C, CUDA and OpenCL"),
                       ({"restrictions": block}, "one expression"),
                       ({"arguments": [arguments[0], a.astype(np.int8), *arguments[2:]]}, "int8")]:
        with pytest.raises(TypeError, match=part):
            tuned(**more)
    with pytest.raises(ak.TuneError, match="UNROLLED"):
        tuned(restrictions=["UNROLLED > 1"])


def test_a_gpu_kernel():
    listed = json.loads(subprocess.run([executable(), "doctor", "--json"], capture_output=True,
                                       text=True).stdout)
    if "opencl:0" not in json.dumps(listed) and "AK_TEST_OPENCL" not in os.environ:
        pytest.skip("there is no OpenCL device")
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
