# Files that a source, a T1 file or a Python file names lie beside it: links and names that lead out of the folder are
# refused, before they are read.
mkdir -p secret given/inner
echo 'int secret = 42;' >secret/key.c
echo '{"sizes": "secret"}' >secret/key.json
run() {
    "$@" 2>&1
    echo "exit $?"
    grep -r secret mine 2>/dev/null
    rm -rf mine
}
echo "-- a header that is included"
ln -s ../../secret/key.c given/inner/link.h
ln -s real.h given/inner/near.h
echo 'static float two(void) { return 2; }' >given/inner/real.h
source() { printf '#include "%s"\nvoid scale(float *y, const float *x, int n) { for (int i = 0; i < n; i++) y[i] = 2 * x[i]; }\n' "$1"; }
source link.h >given/inner/k.c
run autokernel new kernel mine --from given/inner/k.c
(cd given/inner && run autokernel new kernel mine --from k.c)
source near.h >given/inner/k.c
run autokernel new kernel mine --from given/inner/k.c | grep -E '^(autokernel|include|exit)'
echo "-- what a T1 file names"
cp "$TESTS"/../../examples/t1/* given/inner
t1() { sed "s|\"KernelFile\": \"[^\"]*\"|\"KernelFile\": \"$1\"|" "$TESTS/../../examples/t1/matmul_c.t1.json" >given/inner/t1.json; }
ln -s ../../secret/key.c given/inner/link.c
for file in link.c ../../../secret/key.c "$PWD/secret/key.c"; do
    t1 "$file"
    run autokernel new kernel mine --from given/inner/t1.json | sed "s|$PWD|HERE|"
done
t1 matmul.c
run autokernel new kernel mine --from given/inner/t1.json | grep exit
echo "-- what belongs to a Python file"
echo 'pass' >given/inner/k.py
ln -s ../../secret/key.json given/inner/k.json
run autokernel list given/inner/k.py
rm given/inner/k.json
echo '{"reference": "other.py:f"}' >given/inner/k.json
ln -s ../../secret/key.c given/inner/other.py
run autokernel list given/inner/k.py
run autokernel new kernel mine --from given/inner/k.py
echo '{"reference": "../../../secret/key.py:f"}' >given/inner/k.json
run autokernel list given/inner/k.py
