"""Calls the entries of a library with TVM FFI, with right and with wrong arguments."""
import sys
sys.path.pop(0)  # this folder, in which this file has the package's name
import numpy, tvm_ffi


def aligned(count):
    memory = numpy.zeros(count * 4 + 64, numpy.uint8)
    start = -memory.ctypes.data % 64
    return memory[start:start + count * 4].view(numpy.float32)


def refused(kind, text, *args, call=None):
    try:
        (call or module.ak_double_f32)(*args)
    except kind as error:
        assert text in str(error), f"{text!r} is not in {error}"
        return
    raise AssertionError(f"{text!r}: not refused")


module = tvm_ffi.load_module(sys.argv[1])
x, y = aligned(1000), aligned(1000)
x[:] = numpy.arange(1000)
for args in (x, y), (1000, x, y), (tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(y)), (x, y, None):
    y[:] = 0
    module.ak_double_f32(*args)
    assert (y == 2 * x).all()
assert module.ak_double_f32_workspace(1000) == module.ak_double_f32_workspace(x, y) == 0
refused(ValueError, "extent 0 is 999 instead of 1000", x, aligned(999))
refused(ValueError, "stride", x[::2], y[:500])
refused(ValueError, "overlaps", x, x)
refused(TypeError, "has dtype f64", x, numpy.zeros(1000))
refused(TypeError, "must be a tensor", x, None)
refused(TypeError, "takes 2 tensors", x)
# Shapes that do not tell the sizes are refused, also after a call that named them.
product = tvm_ffi.load_module(sys.argv[2])
refused(ValueError, "cannot be told", x, y, call=product.ak_product_f32)
y[:] = 0
product.ak_product_f32(2, 500, x, y)
assert (y == 2 * x).all()
refused(ValueError, "cannot be told", x, y, call=product.ak_product_f32)
print("all calls were as expected")
