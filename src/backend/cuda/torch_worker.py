"""torch_worker.py: PyTorch's side of a comparison; started and spoken to by cuda_torch.c.

One JSON object a line comes on descriptor 3, and one goes back on 4: {"ok": true, ...} or {"ok":
false, "error": one line}.

  open     device                         imports torch; tells its version
  prepare  key, way, kernel, dtype, size, choices, handle, bytes, sets, arguments
                                          gets at the harness' own memory (by its IPC handle), makes
                                          `sets` copies of the inputs, builds what is to be timed and
                                          runs it once
  run      key, runs                      inputs filled anew, outputs poisoned, `runs` runs in turn over
                                          the sets, as a CUDA graph between two events; then the output
                                          of one of the sets, chosen at random, is copied to where the
                                          harness looks for it. Tells nanoseconds and whether a graph
                                          could be made

What is said to standard output and error goes nowhere. Ends with descriptor 3."""
import sys

sys.path[:] = [folder for folder in sys.path if folder]  # not what lies where autokernel was started

import ctypes
import json
import os
import random

requests, replies = os.fdopen(3), os.fdopen(4, "w")
nowhere = os.open(os.devnull, os.O_RDWR)
os.dup2(nowhere, 1)
os.dup2(nowhere, 2)
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # one small kernel; workers take seconds

GRAPH_RUNS_MAX = 256
EPSILON = 1e-5  # of the norms, as their problems have it
LAZY_PEER_ACCESS = 1  # CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
torch = None
mapped = {}  # handle: address
contestants = {}


def activation(name):
    functional = torch.nn.functional
    return {
        "none": lambda x: x,
        "relu": torch.relu,
        "leaky_relu": lambda x: functional.leaky_relu(x, 0.01),
        "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
        "gelu_erf": functional.gelu,
        "silu": functional.silu,
    }[name]


def plain(choices, known):
    """The choices, none of which may ask for what we do not do."""
    for name, value in choices.items():
        if name not in known and value not in ("none", "nn", "0", "1"):
            raise ValueError("PyTorch is not told how to do %s=%s" % (name, value))
    return choices


def product(size, choices):
    choices = plain(choices, ("bias", "activation", "layout", "alpha", "beta", "residual"))
    m, n, k = size["M"], size["N"], size["K"]
    layout, act = choices.get("layout", "nn"), activation(choices.get("activation", "none"))
    flip = [letter == "t" for letter in layout]
    shapes = {"A": (k, m) if flip[0] else (m, k), "B": (n, k) if flip[1] else (k, n)}

    alpha, beta = float(choices.get("alpha", 1)), float(choices.get("beta", 0))
    if choices.get("bias", "none") == "add":
        shapes["bias"] = (n,)
    if beta != 0:
        shapes["C_in"] = (m, n)
    if choices.get("residual", "none") == "add":
        shapes["residual"] = (m, n)
    names = list(shapes)

    def run(*given):
        by = dict(zip(names, given))
        a = by["A"].t() if flip[0] else by["A"]
        b = by["B"].t() if flip[1] else by["B"]
        bias = by.get("bias")
        if beta != 0:
            x = torch.addmm(by["C_in"], a, b, beta=beta, alpha=alpha)
            x = x if bias is None else x + bias
        elif bias is not None:
            x = torch.addmm(bias, a, b, alpha=alpha)
        else:
            x = torch.matmul(a, b)
            x = x if alpha == 1 else x * alpha
        x = act(x)
        return x + by["residual"] if "residual" in by else x

    return run, shapes, "C", (m, n)


def rows(kernel, size, choices):
    choices = plain(choices, ("weight", "bias"))
    functional, shape = torch.nn.functional, (size["rows"], size["cols"])
    cols = shape[1:]
    shapes = {"X": shape}
    if choices.get("weight", "none") != "none":
        shapes["weight"] = cols
    if choices.get("bias", "none") != "none":
        shapes["bias"] = cols
    names = list(shapes)

    def softmax(*given):
        return torch.softmax(given[0], -1)

    def reduce(*given):
        return given[0].sum(-1)

    def layernorm(*given):
        by = dict(zip(names, given))
        return functional.layer_norm(by["X"], cols, by.get("weight"), by.get("bias"), EPSILON)

    def rmsnorm(*given):
        by = dict(zip(names, given))
        return functional.rms_norm(by["X"], cols, by.get("weight"), EPSILON)

    functions = {"softmax": softmax, "reduce": reduce, "layernorm": layernorm, "rmsnorm": rmsnorm}
    return functions[kernel], shapes, "Y", shape[:1] if kernel == "reduce" else shape


def build(kernel, size, choices):
    """(function of the inputs in order, their shapes by name, name and shape of the output)."""
    if kernel in ("matmul", "matmul_act"):
        return product(size, choices)
    return rows(kernel, size, choices)


class Array:
    """Foreign memory on the device, as torch takes it."""

    def __init__(self, address, count):
        self.__cuda_array_interface__ = {
            "data": (address, False), "shape": (count,), "typestr": "|u1", "version": 3}


class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * 64)]


def memory(text, count):
    """The harness' block; an earlier one is let go."""
    if text not in mapped:
        driver = ctypes.CDLL(os.environ.get("AUTOKERNEL_LIBCUDA") or "libcuda.so.1")
        address, handle = ctypes.c_uint64(), Handle()
        contestants.clear()
        for known in mapped.values():
            driver.cuIpcCloseMemHandle(ctypes.c_uint64(known))
        mapped.clear()
        handle.bytes[:] = bytes.fromhex(text)
        driver.cuIpcOpenMemHandle_v2.argtypes = [ctypes.c_void_p, Handle, ctypes.c_uint]
        code = driver.cuIpcOpenMemHandle_v2(ctypes.byref(address), handle, LAZY_PEER_ACCESS)
        if code != 0:
            raise RuntimeError("memory of another process cannot be used here (CUDA error %d)" % code)
        mapped[text] = address.value
    return torch.as_tensor(Array(mapped[text], count), device="cuda")


class Contestant:
    def __init__(self, request):
        dtype = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[request["dtype"]]
        function, shapes, out, out_shape = build(request["kernel"], request["size"], request["choices"])
        block = memory(request["handle"], request["bytes"])
        places = {a["name"]: (a["offset"], a["bytes"]) for a in request["arguments"]}

        def view(name, shape):
            offset, count = places[name]
            tensor = block[offset:offset + count].view(dtype)
            if tensor.numel() != torch.Size(shape).numel():
                raise ValueError("the rows of %s do not adjoin" % name)
            return tensor.view(shape)

        self.inputs = [[view(name, shape) for name, shape in shapes.items()]]
        self.inputs += [[t.clone() for t in self.inputs[0]] for _ in range(request["sets"] - 1)]
        self.target = view(out, out_shape)
        if request["way"] == "compile":
            function = torch.compile(function, dynamic=False)
        self.function, self.graph, self.graph_runs, self.outputs = function, None, 0, []
        self.captured = True
        self.stream = torch.cuda.Stream()
        self.events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        with torch.cuda.stream(self.stream):
            for _ in range(2):
                function(*self.inputs[0])
        torch.cuda.synchronize()

    def enqueue(self, runs):
        """Outputs stay, one for each set, so that they lie in as much memory as the inputs."""
        self.outputs = [None] * min(runs, len(self.inputs))
        for i in range(runs):
            i %= len(self.inputs)
            self.outputs[i] = self.function(*self.inputs[i])

    def record(self, runs):
        if self.graph_runs == runs or not self.captured:
            return
        self.graph, self.outputs, self.graph_runs = None, [], 0
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, stream=self.stream):
                self.enqueue(runs)
            self.graph, self.graph_runs = graph, runs
        except RuntimeError:
            torch.cuda.synchronize()
            self.captured = False

    def run(self, runs):
        sets = len(self.inputs)
        parts = (runs + GRAPH_RUNS_MAX - 1) // GRAPH_RUNS_MAX
        part = (runs + parts - 1) // parts
        if parts > 1:
            part = (part + sets - 1) // sets * sets
        with torch.cuda.stream(self.stream):
            self.record(part)
            for copy in self.inputs[1:min(sets, runs)]:
                for to, origin in zip(copy, self.inputs[0]):
                    to.copy_(origin)
            for output in self.outputs:
                output.fill_(float("nan"))
            self.events[0].record()
            for _ in range(parts):
                if self.captured:
                    self.graph.replay()
                else:
                    self.enqueue(part)
            self.events[1].record()
            self.target.copy_(random.choice(self.outputs))
        torch.cuda.synchronize()
        ms = self.events[0].elapsed_time(self.events[1])
        return {"ns": int(ms * 1e6 * runs / (part * parts)), "captured": self.captured}


def answer(request):
    global torch
    if request["op"] == "open":
        import torch as imported
        torch = imported
        torch.cuda.set_device(request["device"])
        torch.zeros(1, device="cuda")
        torch.cuda.synchronize()
        return {"version": torch.__version__}
    with torch.no_grad():
        if request["op"] == "prepare":
            contestants.pop(request["key"], None)
            contestants[request["key"]] = Contestant(request)
            return {}
        return contestants[request["key"]].run(request["runs"])


for line in requests:
    try:
        reply = dict(answer(json.loads(line)), ok=True)
    except Exception as e:  # whatever it is, the other side is told
        text = " ".join(str(e).split())
        reply = {"ok": False, "error": "%s: %s" % (type(e).__name__, text[:200])}
    replies.write(json.dumps(reply) + "\n")
    replies.flush()
