# Tests what list prints: everything that the build has, and what can be tuned in a kernel.
autokernel list
echo "exit $?"
autokernel list --json | tr -d ' \n' | grep -o '"kernels":\[{"name":"attention"'
autokernel list matmul --size 64
echo "exit $?"
autokernel list matmul --size 64 --json | tr ',' '\n' | grep -E -c '^ *"(cartesian|valid)": *[0-9]+}?$'
autokernel list softmax --json | tr ',' '\n' | grep -c '"kernel": *"softmax"'
autokernel list softmax --size 64 --dtype f32 --threads 2 | tail -n 1
try() { autokernel list "$@"; echo "exit $?"; }
echo "-- mistakes"
try matmull
try ./nowhere
try matmul --device gpu7
try matmul --impl fpga
try matmul --dtype f23
try matmul --size M=0
try matmul --size M=-1,N=2,K=3
try matmul --size M=64,Q=3
try matmul --size M=x
try matmul --size 9223372036854775807
try matmul --size 99999999999999999999
try matmul_act --set activation=rleu
try matmul_act --set color=red
echo "-- one of the lists; a folder of that name is a kernel"
autokernel list backends | cut -d' ' -f1-3
autokernel list formats --json | tr -d ' \n' | grep -o '^{"[a-z]*":'
autokernel list strategies --size 64
autokernel list strategys
mkdir formats
autokernel list formats
echo "exit $?"
