# The page of examples/kernels/reduction on an OpenCL device; PoCL makes one of the processor.
device=$(autokernel doctor --json | grep -o '"device":"opencl:[0-9]*"' | head -n 1 | cut -d '"' -f 4)
[ -n "$device${AK_TEST_OPENCL:-}" ] || { echo "there is no OpenCL platform: apt-get install pocl-opencl-icd ocl-icd-libopencl1"; exit 77; }
cp -r "$TESTS/../../examples/kernels/reduction" .
autokernel check ./reduction --device opencl:0 --size rows=64,cols=5000 --config 'THREADS=64;THREADS=32,UNROLL=16' --quiet
autokernel tune ./reduction --device opencl:0 --size rows=64,cols=5000 --fix UNROLL=4,THREADS=32:64 --strategy exhaustive --evals 2 --quiet --json >run.json && echo tuned
grep -o '"checked_against":"[^"]*"' run.json
sed -i 's/step > 0/step > 1/' reduction/reduction.cl
autokernel check ./reduction --device opencl:0 --size rows=64,cols=5000 --config THREADS=64 --quiet 2>&1 | grep -o -E '^(wrong_result|1 of 1)'
