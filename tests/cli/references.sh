# Tests every kind of reference, from the strongest to the weakest, and that the output names the one used.
# Python functions need NumPy: python/reference tests them.
command -v gcc >/dev/null && command -v python3 >/dev/null || { echo "no gcc or no python3"; exit 77; }
autokernel new kernel mine >/dev/null
refer() { sed -i "s#\"reference\": .*#\"reference\": $1,#" mine/problem.json; }
check() { autokernel check ./mine --configs 0 --size n=64 --quiet 2>&1 | sed -E 's/error .* of/error E of/; /^next/d'; }
check
echo "-- in the test of C source: a C file under any name; nothing else"
source_of() {
    autokernel tune ./mine --size n=4096 --evals 1 --libraries none --quiet >/dev/null 2>&1
    autokernel export ./mine --size n=4096 --format c --output source/ --force >/dev/null
    (cd source && gcc -O1 -Wall -Werror -std=gnu99 test_mine_f32.c mine_f32.c -ldl -lm -pthread -o test && ./test)
}
sed 's/^    const double/    call->size[0] < 0 ? abort() : (void)0;\n&/' mine/reference.c >mine/meaning.c
refer '"meaning.c"'
check # nothing declares abort
sed -i '1i void abort_it(void);' mine/meaning.c
sed -i 's/abort()/abort_it()/' mine/meaning.c
check # nothing defines it
sed -i 's/abort_it()/abort()/; 1i #include <stdlib.h>' mine/meaning.c
source_of
refer '"default"'
source_of
echo "-- the default configuration"
refer '"default"'
check
echo "-- a file that is not there"
refer "\"gone.c\""
check
refer "\"gone.py\""
check
echo "-- another implementation, which is not tuned unless named"
cp mine/host.json mine/host_plain.json
cp mine/host.c mine/plain.c
sed -i 's/host\.c/plain.c/' mine/host_plain.json
refer '{ "implementation": "host_plain" }'
check
sed -i 's/2\.0f \*/2.1f */' mine/host.c
check
sed -i 's/2\.1f \*/2.0f */' mine/host.c
refer '{ "implementation": "host_plane" }'
check
echo "-- arrays in files: raw, and NumPy's format"
sed -i 's/"fill": "uniform(-1,1)"/"fill": "constant(1)"/g; s/"awkward": .*/"awkward": []/' mine/problem.json
sed -i 's/"name": "X", "dtype": "dtype", "shape": \["n"\], "access": "in", "fill": "constant(1)"/"name": "X", "dtype": "dtype", "shape": ["n"], "access": "in", "fill": "file(x.npy)"/' mine/problem.json
npy() { printf '\223NUMPY\1\0\166\0%-117s\n' "{'descr': '$1', 'fortran_order': False, 'shape': ($2), }"; }
{ npy '<i2' 64,; for i in $(seq 0 63); do printf "\\x$(printf %02x "$i")\\0"; done; } >mine/x.npy
python3 -c 'import struct, sys; sys.stdout.buffer.write(struct.pack("<64f", *range(1, 129, 2)))' >mine/z.raw
refer '{ "arrays": { "Z": "z.raw" } }'
check
{ npy '<i4' 64,; for i in $(seq 0 63); do printf "\\x$(printf %02x $((2 * i + 1)))\\0\\0\\0"; done; } >mine/z.npy
refer '{ "arrays": { "Z": "z.npy" } }'
check
autokernel check ./mine --configs 0 --size n=64 --quiet --json | grep -o '"checked_against":"[^"]*"'
autokernel tune ./mine --size n=64 --evals 1 --quiet --json >run.json
grep -o '"checked_against":"[^"]*"' run.json
autokernel report | grep -E 'reference .*arrays'
autokernel tune ./mine --size n=64 --evals 1 --quiet | grep '^reference'
autokernel check ./mine --configs 0 --size n=32 --quiet
echo "exit $?"
{ npy '<i4' 8,8; head -c 256 /dev/zero; } >mine/z.npy
check
npy '<c8' 64, >mine/z.npy
check
printf '\223NUMPY\1\0\166' >mine/z.npy
check
rm mine/z.npy
check
refer '{ "arrays": { "Z": "../../elsewhere.npy" } }'
check
echo "-- what cannot be a reference"
refer '{ "arrays": { "Z": "z.raw", "X": "x.npy" } }'
check
refer '{ "arrays": {} }'
check
refer '{ "default": true }'
check
refer 7
check
refer '"reference.c:other"'
check
echo "-- no Python"
echo 'def reference(X, Y): return 2 * X + Y' >mine/reference.py
refer '"reference.py"'
AUTOKERNEL_PYTHON=no-such-python check
