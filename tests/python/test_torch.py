"""Bundles for the CPU with torch: tensors, registered operators, derivatives, torch.compile."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import autokernel as ak  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("bundles")


@pytest.fixture(scope="module")
def path(folder):
    result = ak.tune("matmul", size=48, evals=1, libraries="none", device="host", progress=False)
    return result.export(folder / "matmul.akb")


@pytest.fixture(scope="module")
def product(path):
    return ak.torch.register(path)


def random(*shape):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(1))


def test_tensors_are_arrays(path):
    bundle = ak.load(path)
    a, b = random(48, 20), random(20, 33)
    c = bundle(a, b)
    assert isinstance(c, torch.Tensor) and torch.allclose(c, a @ b, rtol=1e-5)
    out = torch.empty(48, 33)
    assert bundle(a, b, out=out) is out and torch.equal(out, c)
    assert isinstance(bundle(a.numpy(), b.numpy()), np.ndarray)
    with pytest.raises(ak.BundleError, match="stride"):
        bundle(a.t().contiguous().t(), b)
    with pytest.raises(ak.BundleError, match="dtype float64"):
        bundle(a.double(), b)
    with pytest.raises(TypeError, match="NumPy array"):
        bundle([[1.0]], b)


def test_an_operator(product):
    a, b = random(48, 48), random(48, 48)
    assert torch.allclose(torch.ops.autokernel.matmul_f32(a, b), a @ b, rtol=1e-5)
    assert torch.allclose(product(a.t(), b), a.t() @ b, rtol=1e-5)
    with pytest.raises(Exception, match="extent"):
        torch.compile(lambda x, y: product(x, y), fullgraph=True, backend="aot_eager")(a, b[:40])
    with pytest.raises(ValueError, match="registered already"):
        ak.torch.register(product.bundle)


def test_opcheck(product):
    a, b = random(16, 24).requires_grad_(), random(24, 8).requires_grad_()
    torch.library.opcheck(torch.ops.autokernel.matmul_f32.default, (a, b))


def test_derivatives(product):
    a, b = random(16, 24).requires_grad_(), random(24, 8).requires_grad_()
    product(a, b).square().sum().backward()
    mine = a.grad, b.grad
    a.grad = b.grad = None
    (a @ b).square().sum().backward()
    assert torch.allclose(mine[0], a.grad, rtol=1e-4) and torch.allclose(mine[1], b.grad, rtol=1e-4)


def test_no_derivative_is_an_error(folder):
    result = ak.tune("rmsnorm", size="rows=8,cols=16", evals=1, libraries="none", device="host",
                     progress=False)
    norm = ak.torch.register(result.export(folder / "rmsnorm.akb"), "norm")
    x, weight = random(8, 16), random(16)
    expected = torch.nn.functional.rms_norm(x, (16,), weight, 1e-5)
    assert torch.allclose(norm(x, weight), expected, rtol=1e-5)
    with pytest.raises(NotImplementedError, match="no_grad"):
        norm(x.requires_grad_(), weight).sum().backward()


@pytest.mark.parametrize("dynamic", [False, True])
def test_compile(product, dynamic):
    def f(x, y):
        return torch.relu(product(x, y) - 1)
    fast = torch.compile(f, fullgraph=True, backend="aot_eager", dynamic=dynamic)
    for m in (16, 17, 48):
        a, b = random(m, 24), random(24, 8)
        assert torch.allclose(fast(a, b), torch.relu(a @ b - 1), rtol=1e-5)


def test_the_vision_transformer_of_the_examples():
    """It computes, and all its modules with work are such as accelerate can replace."""
    from importlib import util
    from pathlib import Path
    path = Path(__file__).parents[2] / "examples" / "torch" / "vision_transformer.py"
    spec = util.spec_from_file_location("vision_transformer", path)
    example = util.module_from_spec(spec)
    spec.loader.exec_module(example)
    torch.manual_seed(0)
    model = example.VisionTransformer(size=32, patch=8, width=64, depth=2, heads=2, classes=10)
    seen = []
    for module in model.modules():
        module.register_forward_pre_hook(
            lambda m, args: seen.append(ak.torch._work_of(m, args[0])) if args else None)
    with torch.no_grad():
        scores = model(torch.randn(3, 3, 32, 32))
    assert scores.shape == (3, 10) and bool(scores.isfinite().all())
    work = [w for w in seen if w is not None]
    assert [w[0] for w in work].count("softmax") == 2 and len(work) == 16
    assert {w[0] for w in work} == {"softmax", "layernorm", "matmul_act"}
    assert work[0] == ("layernorm", {"rows": 51, "cols": 64}, {"weight": "scale", "bias": "add"})
