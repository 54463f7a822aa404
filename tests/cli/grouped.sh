# matmul_grouped on the host: both layouts, with and without swiglu, each dtype, e4m3; what is refused.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
try() { autokernel check matmul_grouped "$@" --quiet >out 2>&1; echo "exit $?"; grep -v '^ok' out; }
small=groups=5,M=60,N=72,K=136
try --configs 1 --size $small
try --config default --size $small --dtype f16 --set layout=masked
try --config default --size $small --dtype f32 --set activation=swiglu
try --config default --size $small --set activation=swiglu,layout=masked --threads 2 --fix THREADS=2
try --config default --size $small --set inputs=e4m3
try --config default --size $small --dtype f32 --set inputs=e4m3,activation=swiglu,layout=masked
echo "-- refused"
autokernel list matmul_grouped --impl cuda_sm90 --device cuda:H200 --size K=12 2>&1 | tail -n 1
autokernel list matmul_grouped --impl cuda_sm90 --device cuda:H200 --size K=24 --set inputs=e4m3 2>&1 | tail -n 1
autokernel list matmul_grouped --impl cuda_sm90 --device cuda:H200 --size groups=2000 2>&1 | tail -n 1
autokernel list matmul_grouped --impl cuda_sm90 --device cuda:H200 --dtype f32 2>&1 | tail -n 1
