# Tests --sanitize: a configuration that passed is built with sanitizers and run at the edge-case sizes. Reads
# outside of an argument, undefined behaviour and memory that every call leaks are found and named, in text,
# in JSON and in the report; nothing is printed about configurations without a finding.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
echo 'int main(void) { return 0; }' >probe.c
gcc -fsanitize=address,undefined probe.c -o probe 2>/dev/null && ./probe || { echo "gcc has no sanitizers here"; exit 77; }
autokernel doctor --json | grep -q '"seccomp": *true' || { echo "a build with sanitizers"; exit 77; }
export AUTOKERNEL_ARCHIVE=$PWD/archive.db
autokernel new kernel part >/dev/null
with() { # NAME CODE: the kernel with one more statement
    cp -r part "$1"
    sed "/^void ak_kernel/,\$s/^{/{ $2/" -i "$1/host.c"
}
with leak 'volatile char *lost = (volatile char *)__builtin_malloc(100); lost[0] = 1;'
with beyond 'volatile float beyond = ((const float *)call->arg[0])[call->size[0]]; (void)beyond;'
with undefined 'volatile int big = 2147483647; big = big + (int)call->size[0];'
for kernel in leak beyond undefined; do
    echo "--- $kernel"
    autokernel check ./$kernel --size 1000 --config COMPILER=gcc --quiet --sanitize 2>/dev/null
    echo "exit $?"
done
echo "--- without it"
autokernel check ./beyond --size 1000 --config COMPILER=gcc --quiet | sed -n 's/^\([a-z_]*\) .*UNROLL.*/\1/p'
echo "--- a run"
autokernel tune ./part --size 1000 --fix COMPILER=gcc --evals 3 --strategy random --seed 1 --libraries none --json --sanitize --quiet \
    2>/dev/null | grep -o '"sanitizers": *"[^"]*"' | sed 's/[0-9]* of [0-9]* configurations* /N of N configurations /'
autokernel report --format json | grep -o '"sanitizers": *"[^"]*"' | sed 's/[0-9]* of [0-9]* configurations* /N of N configurations /'
autokernel report | grep -c 'without a finding'
