# The page of examples/kernels/reduction as far as it needs no GPU, and the kernel's file by itself.
cp -r "$TESTS/../../examples/kernels/reduction" .
autokernel new kernel mine --from reduction/reduction.cu | grep -E '^(values|shapes|access|launch|host code|reference)' | cut -d : -f 1
autokernel list ./mine --device cuda:H200 | grep -E '^(THREADS|UNROLL)'
autokernel list ./reduction --device cuda:H200 | grep -E '^(THREADS|UNROLL|argument|size|Cartesian)'
