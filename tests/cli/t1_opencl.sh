# The examples in T1 form on an OpenCL device; PoCL makes one of the processor.
device=$(autokernel doctor --json | grep -o '"device":"opencl:[0-9]*"' | head -n 1 | cut -d '"' -f 4)
[ -n "$device${AK_TEST_OPENCL:-}" ] || { echo "there is no OpenCL platform: apt-get install pocl-opencl-icd ocl-icd-libopencl1"; exit 77; }
cp -r "$TESTS/../../examples/t1" t1
for name in vector_add convolution matmul; do
    autokernel check t1/${name}_opencl.t1.json --configs 1 --quiet | grep -E '^(reference|2 of 2)'
done
