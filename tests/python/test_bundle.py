"""Bundles from Python: right results, and errors for everything that could be wrong."""

import gc
import inspect
import json
import os
import re
import signal
import subprocess
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import autokernel as ak
from autokernel._command import executable


@pytest.fixture(scope="module")
def product(tmp_path_factory):
    result = ak.tune("matmul", size=48, evals=2, libraries="none", progress=False)
    assert result.best["ms"] > 0 and len(result.trials) >= 2
    path = result.export(tmp_path_factory.mktemp("bundles") / "matmul.akb")
    return ak.load(path)


def random(*shape, dtype=np.float32):
    return np.random.default_rng(1).random(shape, dtype=np.float64).astype(dtype)


def test_it_says_what_it_is(product):
    assert product.name == "matmul_f32" and product.sizes == ("M", "N", "K")
    assert [a.name for a in product.arguments] == ["A", "B", "C", "C_in"]
    assert product.arguments[3].unused and product.measured[0].size == {"M": 48, "N": 48, "K": 48}
    assert product.plan(M=48, N=48, K=48)["measured"] and not product.plan(M=1, N=2, K=3)["measured"]
    assert "matmul_f32" in repr(product)


@pytest.mark.parametrize("m,n,k", [(48, 48, 48), (1, 1, 1), (7, 33, 100), (130, 65, 20)])
def test_it_computes(product, m, n, k):
    a, b = random(m, k), random(k, n)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    c = product(a, b)
    assert c.dtype == np.float32 and c.shape == (m, n)
    np.testing.assert_allclose(c, expected, rtol=1e-5)
    out = np.full((m, n), np.nan, np.float32)
    assert product(A=a, B=b, out=out) is out
    np.testing.assert_array_equal(out, c)


def test_misaligned_arrays_are_copied(product):
    a = np.zeros(48 * 48 + 1, np.float32)[1:].reshape(48, 48)
    a[...] = random(48, 48)
    out = np.zeros(48 * 48 + 1, np.float32)[1:].reshape(48, 48)
    product(a, a, out=out)
    np.testing.assert_allclose(out, a @ a, rtol=1e-4)
    out[...] = np.nan
    assert product(a, a, out=out) is out  # the short way, now that the shapes are known
    np.testing.assert_allclose(out, a @ a, rtol=1e-4)
    assert all(product._short.own.calls[(48, 48), (48, 48)].copies[i] for i in (0, 1, 2))
    assert ak.aligned_empty((3, 5), np.float64).ctypes.data % 64 == 0


def test_misaligned_arrays_whose_rows_do_not_adjoin_are_copied(tmp_path):
    result = ak.tune("matmul", size=48, options={"pad_a": 3, "pad_c": 8}, evals=1, libraries="none",
                     progress=False)
    padded = ak.load(result.export(tmp_path / "padded.akb"))
    a, b = random(9, 7), random(7, 5)
    wide = np.zeros(9 * 10 + 1, np.float32)[1:].reshape(9, 10)  # misaligned
    wide[:, :7] = a
    out = np.full(9 * 13 + 1, 5, np.float32)[1:].reshape(9, 13)
    np.testing.assert_allclose(padded(wide[:, :7], b, out=out[:, :5]), a @ b, rtol=1e-5)
    np.testing.assert_allclose(out[:, :5], a @ b, rtol=1e-5)
    assert (out[:, 5:] == 5).all()



def test_who_copies_much_is_told(product):
    a = np.zeros(1024 * 260 + 1, np.float32)[1:].reshape(1024, 260)
    b = ak.aligned_empty((260, 8), np.float32)
    with pytest.warns(UserWarning, match="A: 1 MiB are copied .* not aligned to 64 bytes") as told:
        product(a, b)
    assert told[0].filename == __file__  # the caller's line, not one of the package
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        product(a[:8], b)


def test_the_short_way(product):
    """A call whose shapes are known passes addresses only; its results and its errors are the same."""
    a, b = random(9, 20), random(20, 31)
    first = product(a, b)
    calls = product._short.own.calls
    assert ((9, 20), (20, 31)) in calls
    second = product(2 * a, b)  # another array, and memory of its own for the result
    np.testing.assert_array_equal(second, 2 * first)
    assert product(a, b) is not first and second.ctypes.data % 64 == 0
    frozen, shifted = a.copy(), np.zeros(9 * 20 + 1, np.float32)[1:].reshape(9, 20)
    frozen.flags.writeable = False
    shifted[...] = a
    for same in (frozen, shifted, np.asfortranarray(a).copy(order="C")):
        np.testing.assert_array_equal(product(same, b), first)
    out = np.zeros(9 * 31 + 1, np.float32)[1:].reshape(9, 31)  # misaligned
    assert product(a, b, out=out) is out
    np.testing.assert_array_equal(out, first)
    with pytest.raises(ak.ArgumentError, match="dtype"):
        product(a, b.astype(np.float64))
    with pytest.raises(ak.BundleError, match="stride"):
        product(a, np.asfortranarray(b))
    square = ak.aligned_empty((48, 48), np.float32)
    square[...] = random(48, 48)
    product(square, square)
    with pytest.raises(ak.BundleError, match="overlaps"):
        product(square, square, out=square)


def test_a_fork_has_pools_of_its_own(product):
    a = random(48, 48)
    expected = product(a, a)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if np.array_equal(product(a, a), expected) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_what_is_no_path_is_refused():
    with pytest.raises(ValueError, match="null character"):
        ak.load("a.akb\0b")
    with pytest.raises(ak.TuneError, match="'--help' is not a kernel"):
        ak.tune("--help")


def test_what_does_not_fit_is_refused(product):
    a = random(48, 48)
    for wrong, error, part in [
            (lambda: product(a), TypeError, "B is missing"),
            (lambda: product(a, a, a, a), TypeError, "3 arrays"),
            (lambda: product(a, X=a), TypeError, "no array 'X' and has no such size"),
            (lambda: product(a, a, M=1.5), TypeError, "M is a size: it must be a whole number"),
            (lambda: product(a, a, M=47), ValueError, "A: extent 0 is 48 instead of 47"),
            (lambda: product(a, A=a), TypeError, "given twice"),
            (lambda: product(a, a.astype(np.float64)), TypeError, "dtype float64; the bundle is for float32"),
            (lambda: product(a, a.astype(np.int64)), TypeError, "int64"),
            (lambda: product(a, a.astype(">f4")), TypeError, ">f4"),
            (lambda: product(a, [1.0]), TypeError, "NumPy array"),
            (lambda: product(a, np.ma.array(a, mask=True)), TypeError, "is a masked array"),
            (lambda: product(a, random(47, 48)), ak.BundleError, "extent 0"),
            (lambda: product(a, a.T), ak.BundleError, "stride"),
            (lambda: product(a, random(48, 96)[:, ::2]), ak.BundleError,
             "stride of extent 1 is 2 instead of 1 element: give a contiguous copy, such as np.ascontiguousarray"),
            (lambda: product(a, a, out=random(48, 96)[:, ::2]), ak.BundleError,
             "stride of extent 1 is 2 instead of 1 element: give an array that is contiguous"),
            (lambda: product(a, random(48)), TypeError, "B: has 1 extent instead of 2"),
            (lambda: product(a, random(48), out=a), TypeError, "B: has 1 extent instead of 2"),
            (lambda: product(a[:0], a), ValueError, "M must be at least 1, and it is 0: extent 0 of A"),
            (lambda: product(a, a, out=a), ak.BundleError, "overlaps"),
            (lambda: product(a, a, out=(a, a)), TypeError, "out has 2 arrays; it takes 1 (C)"),
            (lambda: product(a, a, out=np.zeros((48, 47), np.float32)), ak.BundleError, "extent"),
            (lambda: product.plan(M=1), TypeError, "sizes"),
            (lambda: product.plan(M=0, N=1, K=1), ak.BundleError, "M=0"),
            (lambda: product.plan(M=2**64 + 1, N=1, K=1), ValueError, "64 bits")]:
        aligned = ak.aligned_empty(a.shape, a.dtype)
        aligned[...] = a
        a = aligned
        with pytest.raises(error, match=re.escape(part)) as refused:
            wrong()
        assert isinstance(refused.value, ak.BundleError)
    frozen = np.zeros((48, 48), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        product(a, a, out=frozen)


def bundle_of(folder, body, arguments, sizes, dtype="f32", real="float"):
    """Makes a bundle of a kernel with one configuration; body computes, in its type and in doubles."""
    folder.mkdir()
    (folder / "problem.json").write_text(json.dumps({
        "schema": 1, "name": folder.name, "sizes": [{"name": n, "default": v} for n, v in sizes.items()],
        "dtypes": [dtype], "choices": [], "arguments": arguments, "flops": "1", "bytes": "4",
        "reference": "reference.c",
        "tolerance": {"f32": {"relative": "1e-4", "rms": "1e-4"}} if dtype == "f32" else {},
        "awkward": [dict.fromkeys(sizes, 3)]}))
    (folder / "host.json").write_text(json.dumps({
        "ConfigurationSpace": {"TuningParameters": [{"Name": "ONE", "Values": [1]}]},
        "KernelSpecification": {"Language": "C", "KernelName": "ak_kernel", "KernelFile": "host.c",
                                "CompilerOptions": ["-O2"]}}))
    pointers = "".join(f"{t['type']} *{t['name']} = call->arg[{i}];" for i, t in enumerate(
        {"name": a["name"], "type": "REAL" if a["access"] != "in" else "const REAL"} for a in arguments))
    numbers = "".join(f"const int64_t {n} = call->size[{i}];" for i, n in enumerate(sizes))
    for name, entry, real in (("host.c", "ak_kernel", real), ("reference.c", "ak_reference", "double")):
        text = f"void {entry}(const ak_host_call *call) {{ {numbers} {pointers} {body} }}"
        (folder / name).write_text(text.replace("REAL", real))
    path = folder.with_suffix(".akb")
    ak.tune(folder, evals=1, libraries="none", progress=False).export(path)
    return ak.load(path)


def array(name, shape, access="in"):
    return {"name": name, "dtype": "dtype", "shape": shape, "access": access}


def test_sizes_that_are_no_extent(tmp_path):
    """A size follows from an extent that is a line over it; what no shape tells is given by name."""
    fir = bundle_of(tmp_path / "fir", "for (int64_t i = 0; i < n; i++) { y[i] = 0; "
                    "for (int64_t k = 0; k < T; k++) y[i] += h[k] * x[i + k]; }",
                    [array("x", ["n + T - 1"]), array("h", ["T"]), array("y", ["n"], "out")],
                    {"n": 64, "T": 5})
    x, h = random(104), random(5)
    expected = np.convolve(x, h[::-1], "valid")
    for y in (fir(x, h), fir(x, h, n=100), fir(x=x, h=h), fir(x, h, out=np.empty(100, np.float32))):
        np.testing.assert_allclose(y, expected, rtol=1e-5)
    with pytest.raises(ValueError, match="x: extent 0 is 104 instead of 103"):
        fir(x, h, n=99)
    with pytest.raises(ValueError, match="fir_f32: n must be at least 1, and it is -1: extent 0 of x is 3"):
        fir(x[:3], h)
    with pytest.raises(TypeError, match="h: has 2 extents instead of 1"):
        fir(x, random(5, 2))
    pairs = bundle_of(tmp_path / "pairs", "for (int64_t i = 0; i < n; i++) y[i] = x[2*i] + x[2*i + 1];",
                      [array("x", ["2*n"]), array("y", ["n"], "out")], {"n": 64})
    np.testing.assert_array_equal(pairs(x), x[::2] + x[1::2])
    with pytest.raises(ValueError, match="pairs_f32: no whole n gives extent 0 of x, which is 103"):
        pairs(x[1:])
    for out in np.empty(51, np.float32), np.empty(53, np.float32):  # the input is not to blame
        with pytest.raises(ValueError, match=f"y: extent 0 is {out.size} instead of 52"):
            pairs(x, out=out)
    repeat = bundle_of(tmp_path / "repeat", "for (int64_t i = 0; i < n; i++) y[i] = x[0] * (i + 1);",
                       [array("x", [1]), array("y", ["n"], "out")], {"n": 64})
    np.testing.assert_array_equal(repeat(x[:1], n=7), x[0] * np.arange(1, 8, dtype=np.float32))
    assert repeat(x[:1], out=np.empty(9, np.float32)).shape == (9,)
    with pytest.raises(TypeError, match="the size n cannot be told from the shapes: give it by name, n="):
        repeat(x[:1])  # no call before tells it either


def placed(values, skip):
    """Returns the values in memory that is aligned, but for this many elements."""
    room = ak.aligned_empty((values.size + skip,), values.dtype)[skip:]
    room[...] = values
    return room


def test_arrays_that_are_changed_in_place(tmp_path):
    saxpy = bundle_of(tmp_path / "saxpy", "for (int64_t i = 0; i < n; i++) y[i] += 2 * x[i];",
                      [array("x", ["n"]), array("y", ["n"], "inout")], {"n": 64})
    x = random(50)
    for skip in (0, 1):
        y = placed(x + 1, skip)
        assert saxpy(placed(x, skip), y) is y
        np.testing.assert_allclose(y, 3 * x + 1, rtol=1e-6)
        same = placed(x, skip)
        with pytest.raises(ak.BundleError, match="y: overlaps x, and one of them is written"):
            saxpy(same, same)  # whether or not both would have been copied
        np.testing.assert_array_equal(same, x)
    with pytest.raises(TypeError, match="out has 1 array; leave it out: y is changed in place"):
        saxpy(x, x + 1, out=x + 2)


def test_notes_are_passed_on(tmp_path):
    """Who makes a bundle, or opens one, reads where it was not checked."""
    double = bundle_of(tmp_path / "double", "for (int64_t i = 0; i < n; i++) y[i] = 2 * x[i];",
                       [array("x", ["n"]), array("y", ["n"], "out")], {"n": 64})
    assert double.notes == ()
    problem = tmp_path / "double" / "problem.json"
    problem.write_text(json.dumps({**json.loads(problem.read_text()), "awkward": []}))
    result = ak.tune(tmp_path / "double", evals=1, libraries="none", progress=False)
    path = tmp_path / "noted.akb"
    for make in lambda: result.export(path), lambda: ak.load(path), result.load:
        with pytest.warns(UserWarning, match='serves other sizes, too: the kernel names no edge-case sizes') as seen:
            made = make()
        assert len(seen) == 1
    assert len(made.notes) == 1 and made.notes[0].startswith("variant 0 serves other sizes, too: ")


def test_one_size(tmp_path):
    """A bundle of a T1 file, whose size is fixed, says nothing of others, and calls need not give it."""
    examples = Path(os.environ["AK_TUTORIAL"]).parents[1] / "examples" / "t1"
    result = ak.tune(examples / "vector_add_c.t1.json", evals=1, libraries="none", progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        add = ak.load(result.export(tmp_path / "add.akb"))
    assert add.notes == () and add.info["variants"][0]["workspace"] is None
    a, b = random(65536), random(65536)
    np.testing.assert_array_equal(add(a, b), a + b)
    with pytest.raises(ValueError):
        add(a, b, problem_size_x=65535)


def test_warnings_of_a_run(tmp_path):
    """They become warnings of Python, whatever `progress` is, and are in the result."""
    array_of = [array("x", ["n"]), array("y", ["n"], "out")]
    bundle_of(tmp_path / "idle", "for (int64_t i = 0; i < n; i++) y[i] = 2 * x[i];", array_of, {"n": 64})
    path = tmp_path / "idle" / "host.json"
    space = json.loads(path.read_text())
    space["ConfigurationSpace"]["TuningParameters"] = [{"Name": "NOTHING", "Type": "int", "Values": [1, 2]}]
    path.write_text(json.dumps(space))
    for progress in False, lambda event: None:
        with pytest.warns(UserWarning, match="autokernel: .*does not use the parameter NOTHING"):
            result = ak.tune(tmp_path / "idle", evals=1, libraries="none", progress=progress)
        assert sum("does not use the parameter NOTHING" in told for told in result.warnings) == 1


def test_whole_numbers(tmp_path):
    kinds = {"i8": np.int8, "u16": np.uint16, "u64": np.uint64}
    for name, kind in kinds.items():
        called = np.dtype(kind).name
        turn = bundle_of(tmp_path / f"turn_{name}", "for (int64_t i = 0; i < n; i++) y[i] = x[n - 1 - i];",
                         [array("x", ["n"]), array("y", ["n"], "out")], {"n": 64}, name, f"{called}_t")
        assert turn.arguments[0].dtype == called
        x = np.array([np.iinfo(kind).min, np.iinfo(kind).max, 7], kind)
        y = turn(x)
        assert y.dtype == kind and list(y) == list(x[::-1])
        other = np.uint8 if kind is not np.uint8 else np.int8
        with pytest.raises(ak.ArgumentError, match=f"has dtype {np.dtype(other).name}; the bundle is for {called}"):
            turn(x.astype(other))


def test_what_overlaps_is_refused_when_it_is_misaligned(product):
    a = placed(random(48 * 48), 1).reshape(48, 48)
    for _ in range(2):  # the long way, then the short one
        with pytest.raises(ak.BundleError, match="C: overlaps A"):
            product(a, a, out=a)
        product(a, a)
    np.testing.assert_array_equal(a.reshape(-1), random(48 * 48))


def test_threads(product):
    a, b = random(48, 48), random(48, 48)
    expected, wrong = product(a, b), []

    def call():
        for _ in range(50):
            if not np.array_equal(product(a, b), expected):
                wrong.append(1)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_files_that_are_no_bundles(product, tmp_path):
    (tmp_path / "text.akb").write_text("no bundle")
    with pytest.raises(ak.BundleError, match="it is not a bundle"):
        ak.load(tmp_path / "text.akb")
    with pytest.raises(ak.BundleError, match="No such file"):
        ak.load(tmp_path / "missing.akb")


def test_tuning():
    events = []
    result = ak.tune("softmax", size={"rows": 8, "cols": 64}, evals=2, seed=3, libraries="none",
                     progress=events.append)
    assert len(repr(result)) < 300 and "softmax" in repr(result)
    assert result.config and {"start", "trial", "end"} <= {e["event"] for e in events}
    softmax = result.load()
    x = random(8, 64)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(softmax(x), e / e.sum(axis=1, keepdims=True), rtol=1e-5)
    softmax.close()
    with pytest.raises(ak.BundleError, match="closed"):
        softmax(x)
    with pytest.raises(ak.TuneError, match="unknown kernel"):
        ak.tune("no such kernel", progress=False)
    del softmax
    gc.collect()


def test_an_exception_of_progress_ends_the_run():
    with pytest.raises(ZeroDivisionError):
        ak.tune("matmul", size=48, evals=1000, time=60, libraries="none", progress=lambda event: 1 // 0)


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_a_callback_may_end_the_program(kind):
    def leave(event):
        raise kind(3)
    with pytest.raises(kind):
        ak.tune("softmax", size="rows=8,cols=64", evals=1000, time=60, libraries="none", progress=leave)


def test_any_option_of_tune_is_a_keyword(tmp_path):
    given = {"size": {"rows": 8, "cols": 64}, "libraries": "none", "progress": False,
             "archive": tmp_path / "archive.db", "threads": 1, "finish_time": 0.02, "like": "none"}
    result = ak.tune("softmax", fix={"VL": 4, "UNROLL": [1, 2]}, evals=3, impl="host", sanitize=True,
                     resume=False, objective=None, config=[{"VL": 4, "UNROLL": 2}, "UNROLL=1"], **given)
    assert {t["config"].split(",")[1] for t in result.trials} == {"UNROLL=1", "UNROLL=2"}
    assert {t["config"].split(",")[0] for t in result.trials} == {"VL=4"}
    again = ak.tune("softmax", fix="VL=4,UNROLL=1:2", evals=4, resume=True, **given)
    assert again.data["resumed"] >= 3
    for _ in range(2):  # the winner may be a trial of an earlier run; the last run has none of its own
        again = ak.tune("softmax", fix="VL=4,UNROLL=1:2", evals=1, resume=True, **given)
        shipped = json.loads(open(again.export(tmp_path / f"{again.data['run']}.json", "best")).read())
        assert shipped["config"] == again.best["config"] and shipped["ms"] == again.best["ms"]
        again.load().close()
    for more, part in [({"nothing_else": 3}, "autokernel: tune has no option nothing_else"),
                       ({"threads": True}, "autokernel: threads needs a value"),
                       ({"resume": "yes"}, "autokernel: .*'yes'"),
                       ({"strategy": "llm"}, "such as llm openai:gpt-5 .*, or leave strategy out"),
                       ({"llm_url": "http://x"}, "autokernel: llm_url ")]:
        with pytest.raises(ak.TuneError, match=part):
            ak.tune("softmax", **{**given, **more})
    for name in ("json", "events", "quiet", "help", "force"):
        with pytest.raises(TypeError, match=f"ak.tune takes no {name}: "):
            ak.tune("softmax", **{name: True})
    usage = subprocess.run([executable(), "tune", "--help"], capture_output=True, text=True).stdout
    known = f"{ak.tune.__doc__} help force {' '.join(inspect.signature(ak.tune).parameters)}"
    for name in re.findall(r"^  --([a-z-]+)", usage, re.M):
        assert re.search(rf"\b{name.replace('-', '_')}\b", known), name


def test_several_sizes(tmp_path):
    result = ak.tune("softmax", sizes=[8, {"rows": 4, "cols": 32}], dispatch=1, evals=2, threads=1,
                     archive=tmp_path / "archive.db", libraries=["none"], progress=False)
    assert [s["size"] for s in result.data["sizes"]] == ["rows=8,cols=8", "rows=4,cols=32"]
    assert result.best is None and "2 sizes" in repr(result)
    with pytest.raises(ak.TuneError, match="several sizes has no single configuration"):
        result.config
    assert {tuple(m.size.values()) for m in result.load().measured} == {(8, 8), (4, 32)}


def test_an_interrupt_keeps_what_was_found(tmp_path):
    sent = []

    def interrupt(event):
        if event["event"] == "trial" and not sent:
            sent.append(event)
            os.kill(os.getpid(), signal.SIGINT)  # this process only, as a notebook's kernel may get it

    result = ak.tune("softmax", size="rows=8,cols=64", evals=40, libraries="none",
                     archive=tmp_path / "archive.db", progress=interrupt)
    assert result.data["stopped_by"] == "cancelled" and result.best["ms"] > 0
    assert len(result.trials) < 40
