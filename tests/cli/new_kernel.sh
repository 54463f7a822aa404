# The skeleton of a kernel works before anything is changed in it.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
autokernel new kernel mine
ls mine
autokernel new kernel mine
echo "exit $?"
autokernel new kernel nowhere/deep
echo "exit $?"
autokernel new kernel made --json
autokernel list ./mine | grep -E '^Cartesian'
autokernel check ./mine --configs 1 --quiet
echo "exit $?"
autokernel tune ./mine --size 4096 --evals 2 --json --quiet | tr ',' '\n' | grep -E '"(kernel|evaluated)"'
echo "-- no library"
mkdir 'a b'
mv mine 'a b/mine'
autokernel tune './a b/mine' --size 64 --evals 1 --target-speedup 2 --quiet | grep -o -E '^ +(a tie with the default|not decided|nothing faster than the default|[0-9.]+ times the default).*|next: .* export.*'
mv 'a b/mine' mine
# What goes wrong in a kernel costs a line each, and exit code 1.
sed -i 's/2\.0f \*/2.1f */' mine/host.c
autokernel check ./mine --size 4096 --config UNROLL=4,THREADS=1 --quiet
echo "exit $?"
sed -i 's/2\.1f \*/(*(volatile float *)8) +/' mine/host.c
autokernel check ./mine --size 4096 --config UNROLL=4,THREADS=1 --quiet
echo "exit $?"
# A crash that only the check before the finish meets is no further evaluation.
sed -i 's/(\*(volatile float \*)8) +/(w->n == 7 ? *(volatile float *)8 : 2.0f) */' mine/host.c
autokernel tune ./mine --size 4096 --evals 1 --fix UNROLL=4,THREADS=1,COMPILER=gcc --libraries none 2>&1 |
    grep -E '^(1/1|check before)'
sed -i 's/(w->n == 7/(syntax error/' mine/host.c
autokernel check ./mine --size 4096 --config UNROLL=4,THREADS=1 --quiet
echo "exit $?"
sed -i 's/"bytes": "3/"bytes": "3 +* /' mine/problem.json
autokernel check ./mine --quiet
echo "exit $?"
