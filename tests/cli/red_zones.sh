# What a kernel writes outside of its arguments is found by check and by tune, whatever it writes.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
autokernel new kernel oob >/dev/null
cp oob/host.c right.c
configuration=UNROLL=4,THREADS=1,COMPILER=gcc,OPT_LEVEL=2
# The kernel is right, and has LOOP or BODY behind that; workspace and arguments have their names.
with() {
    cat >oob/host.c <<END
#include <string.h>
void ak_kernel(const ak_host_call *call)
{
    const int64_t n = call->size[0];
    float *x = call->arg[0], *y = call->arg[1], *z = call->arg[2], *w = call->workspace;
    (void)x, (void)y, (void)w;
    for (int64_t i = 0; i < n; i++) {
        z[i] = 2 * x[i] + y[i];
    }
    $1
}
END
    echo "-- $1"
    autokernel check ./oob --config $configuration --size 4096 --quiet 2>&1 | grep -v -e '^reference: ' -e '^warning: ' |
        sed -n 's/  *config 1  */: /;s/at n=[0-9]*: //;s/;.*//;s/: *largest.*//;2p'
}
with ''
with 'for (int64_t i = -1; i <= n + 40; i++) z[i] = 2 * x[i] + y[i];'
with 'z[n] = 2 * x[n] + y[n];'
with 'z[-1] = x[-1] * y[-1];'
with 'z[n + 3000] = x[n];'
with 'memcpy(z + n, x + n, 20);'
with 'z[n + 3] = x[n];'
with 'z[n] = x[n] > 0 ? x[n] : 0;'
with 'for (int64_t i = n; i < n + 9; i++) z[i] = z[i] < x[i] ? x[i] : z[i];'
with 'for (int i = 0; i < 8; i++) z[n + i] = z[n + i] < 0 ? 0 : z[n + i];'
with 'z[n] = 0;'
with 'memset(z + n, 0xff, 4);'
with 'memcpy(x + n, y + n, 8);'
with 'w[3] = w[4];'
with 'volatile float sink = z[n] + x[n] + y[-1]; (void)sink;'
# Far beyond: whichever memory it is, nobody else's result suffers.
with 'z[n + 200000] = 1;'
with 'z[n + (1 << 21)] = 1;'
echo "-- and tune does not make it the best"
with 'for (int64_t i = 0; i <= n; i++) z[i] = 2 * x[i] + y[i];' >/dev/null
for more in "" --resume; do
    # shellcheck disable=SC2086
    autokernel tune ./oob --size 4096 --fix COMPILER=gcc --evals 2 $more --quiet 2>&1 | tail -n 1
done
cp right.c oob/host.c
autokernel check ./oob --config $configuration --size 4096 --quiet | grep -v -e '^reference: ' -e '^warning: ' | sed -n '2s/ .*//p'
