#!/usr/bin/env bash
# The C file of `export --format c` as TVM FFI loads and calls it (tvm_ffi.py).
# Usage: tvm_ffi.sh EXECUTABLE FOLDER
set -u
here=$(cd "$(dirname "$0")" && pwd)
executable=$(realpath "$1")
. "$here/venv.sh"
shared_venv "$2" "import numpy, tvm_ffi" apache-tvm-ffi==0.1.15.post2 numpy
command -v gcc >/dev/null || skip "no gcc"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/home"
cd "$scratch" || exit 1
for variable in $(compgen -e | grep -E '^(AUTOKERNEL|XDG)_'); do
    unset "$variable"
done
export HOME=$scratch/home LC_ALL=C TZ=UTC
brief
kernel=$here/../data/kernels/double
"$executable" tune "$kernel" --size 1000 --evals 1 --finish-time 0.02 --quiet >tune.txt 2>&1 || { cat tune.txt; exit 1; }
"$executable" export "$kernel" --size 1000 --format c >export.txt 2>&1 || { cat export.txt; exit 1; }
gcc -O1 -Wall -Wextra -Werror -shared -fPIC -fvisibility=hidden double_f32/double_f32.c -o double.so -ldl -lm -pthread || exit 1
# The same with two sizes, which the shape n*m does not tell.
cp -r "$kernel" product
sed -i 's/"shape": \["n"\]/"shape": ["n*m"]/; s/"sizes": \[/&{ "name": "m", "default": 1, "description": "rows" }, /; s/"name": "double"/"name": "product"/
    s/{ "n": \([0-9]*\) }/{ "n": \1, "m": 1 }/g' product/problem.json
sed -i 's/call->size\[0\]/call->size[0] * call->size[1]/' product/host.c product/reference.c
"$executable" tune ./product --size n=500,m=2 --evals 1 --finish-time 0.02 --quiet >tune.txt 2>&1 || { cat tune.txt; exit 1; }
"$executable" export ./product --size n=500,m=2 --format c >export.txt 2>&1 || { cat export.txt; exit 1; }
gcc -O1 -shared -fPIC -fvisibility=hidden product_f32/product_f32.c -o product.so -ldl -lm -pthread || exit 1
timeout 120 "$venv/bin/python" -B "$here/tvm_ffi.py" ./double.so ./product.so
