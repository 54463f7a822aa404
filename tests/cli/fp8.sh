# Tests matmul_fp8 on the host: three kinds of scales, both types of C, sizes that are not whole blocks, and
# what is refused.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
try() { autokernel check matmul_fp8 "$@" --quiet >out 2>&1; echo "exit $?"; grep -v '^ok' out; }
small=M=37,N=200,K=300
try --configs 1 --size $small
try --config default --size $small --set scales=rows --dtype f16
try --config default --fix COMPILER=gcc --configs 1 --size $small --set scales=blocks
echo "-- refused"
try --config default --dtype f32
autokernel list matmul_fp8 --impl cuda_sm90 --device cuda:H200 --size M=8,N=8,K=8 2>&1 | tail -n 1
mkdir -p k; sed 's/"access": "in", "fill": "normal(0,32)" },/"access": "inout" },/' "$TESTS/../../kernels/matmul_fp8/problem.json" >k/problem.json
autokernel list ./k 2>&1 | tail -n 1
echo "-- bias and activation"
try --config default --size $small --set bias=add,activation=gelu_erf,scales=rows
