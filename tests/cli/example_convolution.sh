# The page of examples/kernels/convolution, step by step.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
cp -r "$TESTS/../../examples/kernels/convolution" .
autokernel list ./convolution | grep -E '^(STRIP|ROWS|argument|size)'
autokernel check ./convolution --size height=65,width=33 --configs 2 --quiet | grep -E '^(reference|3 of 3)'
sed -i 's/row\[x\] \* f/row[x] * f * 1.001f/' convolution/convolution.c
autokernel check ./convolution --size height=65,width=33 --configs 0 --quiet 2>&1 | grep -o -E '^(wrong_result|1 of 1)'
