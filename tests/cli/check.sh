# Correctness only: a line for each configuration.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
# The error of the default is 4.0 % with vectors of 512 bits and 3.7 % with those of 256.
autokernel check softmax --configs 1 --size rows=64,cols=1024 --quiet >out
code=$?
sed '/^ok  *default/s/ error \(3\.[5-9]\|4\.0\) %/ error 3.5 to 4.0 %/' out
echo "exit $code"
autokernel check softmax --config default --size 64 --json | tr ',' '\n' | grep -E '"(kernel|name|status|ok)"'
for kernel in layernorm rmsnorm reduce; do
    autokernel check $kernel --configs 2 --size 65 --quiet | grep -v ^ok
done
autokernel check layernorm --config default --set weight=none,bias=none --size 65 --quiet | tail -n 2 | head -n 1
echo "-- mistakes"
try() { autokernel check softmax "$@"; echo "exit $?"; }
try --config NOSUCH=1
try --config COMPILER=tcc
autokernel new kernel mine >/dev/null
sed -i 's/"clang"/"gcc-99"/' mine/host.json
autokernel check ./mine --config COMPILER=gcc-99
sed '/^void ak_kernel/,$s/^{/{ __builtin_printf("no");/' -i mine/host.c
autokernel check ./mine --config UNROLL=2,COMPILER=gcc --config UNROLL=4,COMPILER=gcc --quiet 2>&1 | tail -n 2
autokernel check ./mine --configs 2 --quiet 2>&1 | tail -n 2
try --config COMPILER
try --config @nosuch.json
try --config @
echo '{"config": 3}' >bad.json
try --config @bad.json
echo '[1]' >bad.json
try --config @bad.json
echo "- few outputs: the tolerance is tested at an edge-case size that is not trivial"
for kernel in reduce softmax; do
    autokernel check $kernel --size rows=2,cols=9 --device host --configs 0 --quiet | grep 'is right'
done
echo "- the host computes each precision of f32 in full"
autokernel check matmul --config MR=4,K_UNROLL=1,PASSES=O2 --size 64 --set precision=bf16x6 --quiet | grep -E -o '.* (is|are) right'
echo "-- a file of the folder that the source includes by itself"
autokernel new kernel parts >/dev/null
echo '#define TWO 2' >parts/two.h
cp parts/host.c host.c
sed '1i #include "two.h"' <host.c >parts/host.c
autokernel check ./parts --size 64 --config default --quiet 2>/dev/null | grep -o '; name a file .* out'
sed -i 's/"KernelFile"/"Include": ["two.h"], "KernelFile"/' parts/host.json
cp host.c parts/host.c
autokernel check ./parts --size 64 --config default --quiet | grep -c '^ok'
echo "-- gcc replaces no macro in a directive for unrolling"
cp host.c parts/host.c
sed -i '0,/^    *for (/s//#pragma GCC unroll UNROLL\n&/' parts/host.c
autokernel check ./parts --size 64 --config COMPILER=gcc --quiet 2>/dev/null | grep -o '; gcc replaces .* n)'
