# Tests a kernel that does not end: the progress says what it waits for, and gives up soon if the reference is
# fast.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
autokernel new kernel mine >/dev/null
sed -i 's/^    int n = .*/    for (volatile int on = 1; on;) {}\n&/' mine/host.c
autokernel check ./mine --config UNROLL=1,THREADS=1 --size 64 >out 2>err
echo "exit $?"
grep -o -E 'timed_out|no answer within [0-9.]+ s' out | sed 's/within .*/in time/'
grep -o 'compiling or running for .*' err
autokernel bench ./mine --config UNROLL=1,THREADS=1 --size 64 2>&1 | grep -o -E 'timed_out|compiling or running .*' | sort
autokernel check ./mine --config UNROLL=1,THREADS=1 --size 64 --quiet 2>&1 | grep -c 'compiling or running' || true
# Nor is a kernel blamed while the reference is computed.
sed -i 's/^    const double \*x/    for (volatile int on = 1; on;) {}\n&/' mine/reference.c
mkfifo said
timeout -k 5 300 autokernel check ./mine --config UNROLL=1,THREADS=1 --size 64 >said 2>&1 &
echo "- $(grep -m 1 -o -E '(compiling|computing) .*' <said)"
kill $!
wait $! || true
