# Tests matmul_fp8 on the host: three kinds of scales, all types of A and C, sizes that are not whole blocks,
# kernels that are wrong where C is e4m3, and what is refused. It takes long because it compiles ten kernels.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
try() { autokernel check matmul_fp8 "$@" --quiet >out 2>&1; echo "exit $?"; grep -v '^ok' out; }
small=M=37,N=200,K=300
try --configs 1 --size $small
try --config default --size $small --set scales=rows --dtype f16
try --config default --fix COMPILER=gcc --configs 1 --size $small --set scales=blocks
echo "-- refused"
try --config default --dtype f32
autokernel list matmul_fp8 --impl cuda_sm90 --device cuda:H200 --size M=8,N=8,K=8 2>&1 | tail -n 1
echo "-- bias and activation"
try --config default --size $small --set bias=add,activation=gelu_erf,scales=rows
echo "-- A in e5m2, C in e4m3"
try --config default --size $small --set a_type=e5m2,scales=blocks
try --config default --size $small --set a_type=e5m2,c_type=e4m3,scales=rows,bias=add,activation=silu --dtype f16
try --config default --size $small --set c_type=e4m3,scales=blocks
echo "-- wrong kernels"
# They saturate to NaN, cut off instead of rounding, and forget the scale; then a tolerance of more than half a
# unit, and an expression that gives no dtype.
kernels="$TESTS/../../kernels"
cp -r "$kernels/matmul" "$kernels/matmul_act" "$kernels/softmax" .
wrong() {
  rm -rf mine; cp -r "$kernels/matmul_fp8" mine; sed -i 's/"name": "matmul_fp8"/"name": "mine"/' mine/problem.json
  sed "$1" "mine/$2" >changed; cmp -s changed "mine/$2" && echo "nothing changed"; mv changed "mine/$2"
  autokernel check ./mine --impl host --config default --size $small --set c_type=e4m3,scales=rows --quiet 2>&1 |
    grep -e '^wrong' -e 'tolerance of' -e 'must give' | sed 's/\[[0-9,]*\].*//; s/  */ /g'
}
wrong 's/byte < 126 ? byte : 126/byte < 126 ? byte : 127/' host.c
wrong 's/magnitude + 0x7FFFF + (magnitude >> 20 \& 1)/magnitude/' host.c
wrong 's/((p)->scale_c.0.)/1.0F/' host.c
wrong 's|8\*eps/17|0.6*eps|' problem.json
wrong "s/dtype if c_type == 'dtype'/1 if c_type == 'dtype'/" problem.json
