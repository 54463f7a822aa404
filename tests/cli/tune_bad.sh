# Tests runs that are impossible: each is refused in one line and leaves nothing behind.
try() { autokernel tune "$@" --quiet; echo "exit $?"; }
try nosuch
try matmul --strategy guess
try matmul --strategy local:starts=none
try matmul --strategy local:colour=3
try matmul --size 0
try matmul --size M=1000000000,N=1000000000,K=1000000000
try matmul --dtype f64
try matmul --size 16 --events /nosuch/folder/events
try matmul --size 16 --events -
try matmul --size 16 --archive /dev/null/archive.db
# No compiler at all: every configuration needs one.
mkdir bin
ln -s "$(command -v autokernel)" bin/autokernel
PATH=$PWD/bin autokernel tune matmul --size 16 --evals 2 --quiet
echo "exit $?"
PATH=$PWD/bin autokernel tune matmul --size 16 --evals 2 --json --quiet | head -c 400
ls
echo "--- work that no device does"
autokernel new kernel work >/dev/null
for key in flops bytes; do
    sed -i.bak "s/\"$key\": \"[^\"]*\"/\"$key\": \"1e308\"/" work/problem.json
    try ./work
    mv work/problem.json.bak work/problem.json
done
echo "--- sources that are pipes or devices"
rm work/host.c
mkfifo work/host.c
try ./work
rm work/host.c
ln -s /dev/zero work/host.c
try ./work
