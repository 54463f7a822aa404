# OpenCL kernels that need what a device lacks (PoCL has neither half nor subgroups): one line says which feature, which
# device and what to do.
autokernel doctor --json | grep -q '"device":"opencl:0"' || [ -n "${AK_TEST_OPENCL:-}" ] || { echo "there is no OpenCL platform"; exit 77; }
cp -r "$TESTS/../backends/opencl" twice
cp "$TESTS/../backends/kernel/"{problem.json,reference.c} twice
# Checks the kernel with another line for what it computes, behind lines at its begin.
try() {
    { printf '%b' "$2"; sed "s/y\[i\] = 2 \* x\[i\];/$1/" "$TESTS/../backends/opencl/opencl.cl"; } >twice/opencl.cl
    autokernel check twice --device opencl:0 --config STEP=1 --quiet 2>&1 | sed -E '3!d; s/  +/ /'
}
try 'half h = (half)x[i]; y[i] = 2 * (float)h;' '#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n' >half
grep -q '^ok ' half && { echo "this device has half"; exit 77; }
cat half
try 'y[i] = 2 * x[i];' '#ifndef cl_khr_fp16\n#error "this kernel needs cl_khr_fp16"\n#endif\n'
try 'y[i] = sub_group_reduce_add(x[i]);' ''
