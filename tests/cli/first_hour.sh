# Tests what a new user meets in the first hour: a configuration that one of several sizes does not have, a
# limit on the size of files, a PATH without compilers, a folder that may not be read, and a default
# configuration that is its own reference.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
try() { "$@"; echo "exit $?"; }
cp -r "$TESTS/../data/kernels/double" double
kernel=./double
echo "--- one of two sizes does not have the configuration"
try autokernel bench "$kernel" --sizes '950;4096' --config UNROLL=64 --quiet
try autokernel bench "$kernel" --size 950 --config '#1'
try autokernel bench "$kernel" --sizes '950;4096' --config 'UNROLL=64;UNROLL=3'
echo "--- no file may become larger than 20 KiB"
(ulimit -f 20; try autokernel tune "$kernel" --size 64 --evals 1 --archive small.db --quiet) 2>&1
(ulimit -f 400; try autokernel tune "$kernel" --size 20000 --evals 1 --archive big.db --quiet) 2>&1
echo "--- PATH"
program=$(command -v autokernel)
env -u PATH "$program" list reduce --size 64 | grep -c "^COMPILER"
try env PATH=/nowhere "$program" list reduce --size 64
env PATH=/nowhere AUTOKERNEL_SEAT=1 AUTOKERNEL_LIBOPENCL=none AUTOKERNEL_RUNTIME=none AUTOKERNEL_EVLS=9 "$program" doctor |
    grep -E 'kernels for this CPU|kernels for OpenCL|in Python|^to install|EVLS|SEAT|OPENCL|^next' | tr -s ' '
python_says() { printf '#!/bin/sh\nprintf "%%s\\n" /some/python 3.12.1 "%s" "" 2.4.0\n' "$1" >python; chmod 755 python; }
for version in 3.6.0 ''; do
    python_says "$version"
    AUTOKERNEL_PYTHON=$PWD/python autokernel doctor | tr -s ' ' |
        grep -o -E '^triton .*|kernels in Triton (Triton 3.6.0|/some/python has no Triton: make)|in Python .*'
done
env PATH=/nowhere AUTOKERNEL_ARCHIVE=none.db "$program" history | tail -n 1 # it is not in PATH, so its path is named
echo "--- a folder that may not be read"
mkdir closed
chmod 000 closed
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 755 "$PWD" "$HOME"/..
    as() { setpriv --reuid 65534 --clear-groups "$@"; }
else
    as() { "$@"; }
fi
try as autokernel list ./closed
try as autokernel list ./closed/inner
try as autokernel new kernel some --from closed/inner.c
try as autokernel tune closed/recording.json --device sim
echo "--- case"
try autokernel tune matmul --fix kc=128
try autokernel check matmul --config kc=128
echo "--- a default configuration that disagrees with itself"
cat >shift.c <<'C'
void shift(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++) {
        y[i] = x[i + 16];
    }
}
C
autokernel new kernel shift --from shift.c | grep -E '^(the size|edge-case|flops)'
autokernel list ./shift --impl host | grep -c '^$'
try autokernel check ./shift --size 1000 --config default --quiet
echo "--- an array whose shape is too large, so that the reference leaves elements unwritten"
cat >rowmax.c <<'C'
void rowmax(int rows, int cols, const float *restrict x, float *restrict y)
{
    for (int r = 0; r < rows; r++) {
        y[r] = x[(long)r * cols];
    }
}
C
autokernel new kernel rowmax --from rowmax.c >made
sed -i 's/"rows"$/"rows*cols"/' rowmax/problem.json
try autokernel check ./rowmax --size 16 --config default --quiet
echo "-- paths with bytes that are not UTF-8"
odd=$(printf 'p\377')
mkdir "$odd"
AUTOKERNEL_PYTHON=/nowhere/$odd autokernel doctor 2>&1 | grep -a -c 'references and baselines in Python'
XDG_DATA_HOME=$PWD/$odd autokernel doctor --json 2>&1 | grep -a -c '"verdict"'
autokernel stats --json --archive "$odd/none.db" 2>&1 | grep -a -c 'out of memory'
