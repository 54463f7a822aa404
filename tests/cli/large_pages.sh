# Host kernels where a page has 64 KiB, as on some AArch64 machines: arguments and workspace can be mapped, their red
# zones are watched, and a run ends.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
gcc -shared -fPIC -O1 -o pages.so "$TESTS/../fakes/large_pages.c" || exit 1
LD_PRELOAD=$PWD/pages.so autokernel --version >/dev/null 2>&1 || { echo "a build with AddressSanitizer takes no preloaded library"; exit 77; }
export LD_PRELOAD=$PWD/pages.so
autokernel check matmul --size 40 --config default --quiet | grep -o '^ok'
autokernel new kernel mine >/dev/null
autokernel tune ./mine --size n=1000 --evals 2 --libraries none --quiet --json 2>/dev/null | grep -o '"evaluated":2'
# A kernel that is right, and then does what $1 says.
with() {
    cat >mine/host.c <<END
void ak_kernel(const ak_host_call *call)
{
    const int64_t n = call->size[0];
    float *x = call->arg[0], *y = call->arg[1], *z = call->arg[2], *w = call->workspace;
    (void)w;
    for (int64_t i = 0; i < n; i++) {
        z[i] = 2 * x[i] + y[i];
    }
    $1
}
END
    echo "-- $1"
    autokernel check ./mine --config UNROLL=4,THREADS=1,COMPILER=gcc,OPT_LEVEL=2 --size n=1000 --quiet 2>&1 |
        grep '  config 1  ' | sed 's/  *config 1  */: /; s/at n=[0-9]*: //; s/;.*//; s/: *largest.*//'
}
with ''
with 'w[3] = w[4];'
with 'z[n] = x[n];'
with 'z[-1] = x[-1];'
