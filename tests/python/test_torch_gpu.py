"""Bundles for CUDA with torch, on a GPU: streams, graphs, operators, refusals, accelerate. Run by
`make check-torch` where there is a GPU; elsewhere all of it is skipped, and says so."""

import subprocess
import threading

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("torch has no GPU here", allow_module_level=True)

import autokernel as ak  # noqa: E402
from autokernel._command import executable  # noqa: E402

BF16 = torch.bfloat16


def export(folder, kernel, size, *more):
    archive = str(folder / "archive.db")
    same = ["--size", size, "--dtype", "bf16", "--device", "cuda:0", "--archive", archive]
    subprocess.run([executable(), "tune", kernel, *same, "--evals", "1", "--libraries", "none",
                    "--quiet", *more], check=True, capture_output=True)
    path = str(folder / f"{kernel}{len(more)}.akb")
    subprocess.run([executable(), "export", kernel, *same, "--format", "bundle", "--output", path],
                   check=True, capture_output=True)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("bundles")


@pytest.fixture(scope="module")
def path(folder):
    return export(folder, "matmul", "256")


@pytest.fixture(scope="module")
def product(path):
    return ak.load(path)


@pytest.fixture(scope="module")
def split(folder):
    """Its workspace holds counters from one run to the next."""
    bundle = ak.load(export(folder, "matmul", "M=128,N=256,K=4096", "--fix", "SPLIT_K=2"))
    assert bundle.plan(M=128, N=256, K=4096)["workspace_bytes"] > 0
    return bundle


def random(*shape, dtype=BF16):
    return torch.randn(*shape, device="cuda").to(dtype)


def close(got, want):
    return (got.float() - want.float()).abs().max() <= 0.01 * want.float().abs().max()


@pytest.mark.parametrize("m,n,k", [(256, 256, 256), (256, 264, 72), (1, 8, 8), (513, 128, 1024)])
def test_it_computes(product, m, n, k):
    a, b = random(m, k), random(k, n)
    c = product(a, b)
    assert c.dtype is BF16 and c.shape == (m, n) and close(c, a @ b)
    out = torch.full((m, n), float("nan"), device="cuda", dtype=BF16)
    assert product(A=a, B=b, out=out) is out and torch.equal(out, c)
    assert product(a, b, out=out) is out and torch.equal(out, c)


def test_what_does_not_fit_is_refused_also_after_it_fitted(product):
    a, b = random(256, 256), random(256, 256)
    for _ in range(3):
        assert close(product(a, b), a @ b)
        for wrong, error, part in [
                (lambda: product(a.t(), b), ak.BundleError, "stride"),
                (lambda: product(a.float(), b), ak.BundleError, "dtype float32"),
                (lambda: product(a.half(), b), ak.BundleError, "dtype float16"),
                (lambda: product(a, b[:128]), ak.BundleError, "extent"),
                (lambda: product(a.cpu(), b), ValueError, "is on cpu"),
                (lambda: product([1], b), TypeError, "torch tensor"),
                (lambda: product(a), TypeError, "B is missing"),
                (lambda: product(a, b, out=a), ak.BundleError, "overlaps"),
                (lambda: product(a, b, out=b.float()), ak.BundleError, "dtype"),
                (lambda: product(random(3, 5), random(5, 7)), ak.BundleError, "no variant")]:
            with pytest.raises(error, match=part):
                wrong()


def test_what_is_misaligned_is_copied(product):
    room = random(256 * 256 + 8)
    a, b = room[8:].view(256, 256), random(256, 256)
    for _ in range(3):
        assert close(product(a, b), a @ b)
        out = torch.empty(256 * 256 + 8, device="cuda", dtype=BF16)[8:].view(256, 256)
        product(a, b, out=out)
        assert close(out, a @ b)


@pytest.mark.parametrize("name,m,n,k", [("product", 256, 256, 256), ("split", 128, 256, 4096)])
def test_streams_graphs_and_threads(request, name, m, n, k):
    bundle = request.getfixturevalue(name)
    a, b = random(m, k), random(k, n)
    want = a @ b
    streams = [torch.cuda.Stream() for _ in range(3)]
    torch.cuda.synchronize()
    results = []
    for i in range(30):  # at the same time, each with its own workspace
        with torch.cuda.stream(streams[i % 3]):
            results.append(bundle(a, b))
    torch.cuda.synchronize()
    assert all(close(c, want) for c in results)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = bundle(a, b)
    for _ in range(3):
        a.copy_(random(m, k))
        graph.replay()
        again = bundle(a, b)
        assert close(captured, a @ b) and close(again, a @ b)
    failed = []

    def work():
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(20):
                c = bundle(a, b)
            torch.cuda.current_stream().synchronize()
            if not close(c, a @ b):
                failed.append(1)
    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failed


def test_a_closed_bundle_is_refused(path):
    bundle, a = ak.load(path), random(256, 256)
    bundle(a, a)
    bundle.close()
    with pytest.raises(ak.BundleError, match="closed"):
        bundle(a, a)


def test_an_operator(path):
    op = ak.torch.register(path, "gpu_product")
    a, b = random(256, 256).requires_grad_(), random(256, 256).requires_grad_()
    torch.library.opcheck(torch.ops.autokernel.gpu_product.default, (a, b))
    fast = torch.compile(lambda x, y: torch.relu(op(x, y)), fullgraph=True)
    assert close(fast(a, b), torch.relu(a @ b))
    op(a, b).sum().backward()
    mine, a.grad = a.grad, None
    (a @ b).sum().backward()
    assert close(mine, a.grad)
    with torch.cuda.stream(torch.cuda.Stream()):
        c = op(a.detach(), b.detach())
    torch.cuda.synchronize()
    assert close(c, a @ b)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.RMSNorm(512, eps=1e-5, dtype=BF16)
        self.up = torch.nn.Linear(512, 1024, bias=False, dtype=BF16)
        self.down = torch.nn.Linear(1024, 512, dtype=BF16)

    def forward(self, x):
        return x + self.down(torch.nn.functional.silu(self.up(self.norm(x))))


def test_profile_and_accelerate(folder):
    torch.manual_seed(0)
    model, x = Block().cuda(), random(2, 64, 512)
    before = model(x)
    state = {k: v.clone() for k, v in model.state_dict().items()}
    rows = ak.torch.profile(model, x)
    assert {r.kernel for r in rows} == {"rmsnorm", "matmul", "matmul_act"}
    assert all(r.ms > 0 and r.calls == 1 for r in rows) and "M=128,N=1024,K=512" in str(rows)
    fast = ak.torch.accelerate(model, x, budget=6, archive=folder / "accelerate.db")
    print(fast)
    assert len(fast.rows) == 3 and fast.error <= 0.02
    assert all(r.ms_after > 0 for r in fast.rows), str(fast)
    assert close(model(x), before)
    assert close(model(x[:1]), before[:1])  # at a size that was not tuned
    fast.undo()
    assert torch.equal(model(x), before)
    assert all(torch.equal(state[k], v) for k, v in model.state_dict().items())
    assert all("forward" not in m.__dict__ for m in model.modules())
