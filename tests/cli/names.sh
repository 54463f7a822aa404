# Tests that a folder with the name of a built-in kernel is refused unless it holds the same kernel.
kernels=$TESTS/../../kernels
try() { autokernel list ./ours/reduce >out 2>err; echo "exit $?"; cat err; }
cp -r "$kernels" ours
try
echo "-- another implementation"
echo '/* ours */' >>ours/reduce/host.c
try
echo "-- under a name of its own"
mv ours/reduce/host.c ours/reduce/host_mine.c
sed 's/"host\.c"/"host_mine.c"/' ours/reduce/host.json >ours/reduce/host_mine.json
rm ours/reduce/host.json
try
grep -o 'host_mine (host)' out
echo "-- another problem"
sed -i 's/1\.04/1.05/' ours/reduce/problem.json
try
sed -i '0,/"reduce"/s//"sum"/' ours/reduce/problem.json
try
echo "-- what is made new"
autokernel new kernel matmul
echo "exit $?"
