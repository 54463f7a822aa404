# The page of examples/kernels/layer_norm as far as it needs no GPU.
export AUTOKERNEL_PYTHON=$TEST_PYTHON
"$TEST_PYTHON" -c 'import triton, numpy' 2>/dev/null || { echo "no Python with Triton and NumPy"; exit 77; }
cp "$TESTS/../../examples/kernels/layer_norm"/*.py "$TESTS/../../examples/kernels/layer_norm"/*.json .
autokernel list layer_norm.py --device cuda:H200 | grep -E '^(BLOCK|num_|argument|size|reference|Cartesian)'
