"""As much of torch as torch_worker.py needs for a softmax, on memory that only looks like a device's
(fake_cuda.c), so that the worker and its other side can be tested without either. Graphs are replayed
and outputs are poisoned for real; time is a count of operations."""
import contextlib
import ctypes
import math
import struct
import types

__version__ = "0.0 (fake)"
float32, float16, bfloat16, uint8 = "f", "e", "bf16", "B"
BYTES = {float32: 4, float16: 2, bfloat16: 2, uint8: 1}
clock_ms = 0.0
capturing = None


class Size(tuple):
    def numel(self):
        return math.prod(self)


def narrow(x):
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 if x == x else 0x7FC0


class Tensor:
    def __init__(self, memory, dtype, shape):
        self.memory, self.dtype, self.shape = memory, dtype, Size(shape)

    def numel(self):
        return self.shape.numel()

    def __getitem__(self, part):
        memory = self.memory[part]
        return Tensor(memory, self.dtype, (len(memory),))

    def view(self, what):
        if isinstance(what, str):
            return Tensor(self.memory, what, (len(self.memory) // BYTES[what],))
        return Tensor(self.memory, self.dtype, what)

    def get(self):
        if self.dtype == bfloat16:
            words = struct.unpack("<%dH" % self.numel(), self.memory)
            return [struct.unpack("<f", struct.pack("<I", w << 16))[0] for w in words]
        return struct.unpack("<%d%s" % (self.numel(), self.dtype), self.memory)

    def put(self, values):
        if self.dtype == bfloat16:
            self.memory[:] = struct.pack("<%dH" % self.numel(), *[narrow(x) for x in values])
        else:
            self.memory[:] = struct.pack("<%d%s" % (self.numel(), self.dtype), *values)

    def clone(self):
        return Tensor(memoryview(bytearray(self.memory)), self.dtype, self.shape)

    def copy_(self, other):
        self.memory[:] = other.memory

    def fill_(self, value):
        self.put([value] * self.numel())


def as_tensor(array, device):
    what = array.__cuda_array_interface__
    buffer = (ctypes.c_ubyte * what["shape"][0]).from_address(what["data"][0])
    return Tensor(memoryview(buffer).cast("B"), uint8, what["shape"])


def zeros(count, device):
    return Tensor(memoryview(bytearray(4 * count)), float32, (count,))


def softmax(x, dim):
    out = x.clone()

    def compute():
        global clock_ms
        clock_ms += 0.05
        values, columns, result = x.get(), x.shape[-1], []
        for at in range(0, len(values), columns):
            row = values[at:at + columns]
            most = max(row)
            powers = [math.exp(value - most) for value in row]
            total = sum(powers)
            result += [power / total for power in powers]
        out.put(result)

    compute()
    if capturing is not None:
        capturing.work.append(compute)
    return out


def compile(function, dynamic):
    return function


class CUDAGraph:
    def __init__(self):
        self.work = []

    def replay(self):
        for compute in self.work:
            compute()


@contextlib.contextmanager
def graph(into, stream):
    global capturing
    capturing = into
    yield
    capturing = None


class Event:
    def __init__(self, enable_timing):
        self.at = 0.0

    def record(self):
        self.at = clock_ms

    def elapsed_time(self, other):
        return other.at - self.at


cuda = types.SimpleNamespace(
    set_device=lambda device: None, synchronize=lambda: None, Stream=object, Event=Event,
    CUDAGraph=CUDAGraph, graph=graph, stream=lambda stream: contextlib.nullcontext())
no_grad = contextlib.nullcontext
nn = types.SimpleNamespace(functional=None)
