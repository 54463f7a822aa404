# Runs T1 files with their kernels unchanged, the examples in C, and checks that unsupported members are
# named.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
cp -r "$TESTS/../../examples/t1" t1
check() { autokernel check "$@" --configs 0 --quiet 2>&1 | sed -E 's/error .* of/error E of/; /^next/d'; }
for name in vector_add convolution matmul; do
    check t1/${name}_c.t1.json
done
echo "-- from the folder of the file, and tuned, reported, exported"
cd t1 || exit 1
autokernel tune matmul_c.t1.json --evals 2 --finish-time 0.05 --quiet --json | grep -o '"checked_against":"[^"]*"'
autokernel report | grep -E '(reference|implementation) .*(C function|host)'
autokernel history matmul_c --source '#1' | grep -E '^(==|matmul|.*\.json|.*\.c)' | head -n 4
autokernel list matmul_c.t1.json | sed -n 3,10p
echo "-- a study of it on the device"
autokernel study vector_add_c.t1.json --device host --arms random,local --seeds 1 --evals 2 --quiet 2>/dev/null | head -n 4 | grep -o '^[a-z_]*'
echo "-- a wrong configuration"
sed 's/c\[i \* n + j\] += x/c[i * n + j] += (BLOCK == 64 ? 1.1f : 1.0f) * x/' matmul.c >wrong.c
sed 's/matmul\.c/wrong.c/' matmul_c.t1.json >wrong.t1.json
check wrong.t1.json --config BLOCK=64 | sed -E 's/got .*/.../'
echo "-- what is not supported"
try() { sed "$1" vector_add_c.t1.json >bad.t1.json; check bad.t1.json; }
try 's/"Random"/"Generator"/'
try 's/"FillType": "Random"/"FillType": "BinaryRaw"/'
try 's/"Vector"/"Image"/'
try 's/"Type": "float"/"Type": "bool"/'
try 's/"WriteOnly"/"ReadOnly"/'
try 's/"WriteOnly"/"Write"/'
try 's/"Size": 65536/"Length": 65536/'
try 's/"ProblemSize": \[65536\]/"ProblemSize": [0]/'
try 's/"KernelName"/"TextureMemory": [], "KernelName"/'
try 's/"ProblemSize"/"ProblemSise"/'
try 's/vector_add\.c"/gone.c"/'
try 's/"KernelName"/"LocalSize": {"W": 4}, "KernelName"/'
try 's/"KernelName"/"GlobalSize": "n", "KernelName"/'
try 's/"KernelName"/"GlobalSizeType": "HIP", "KernelName"/'
try 's/"KernelName"/"GridDivX": 5, "KernelName"/'
try 's/"FillType": "Random"/"FillType": "Random", "DataSource": "a.bin"/'
try 's/"FillType": "Random"/&, "TypeSize": 8/'
try 's/"FillType": "Random"/&, "RandomSeed": "x"/'
try 's/"FillType": "Random"/&, "Output": 1/'
try 's/"FillType": "Constant"/&, "Output": 2/'
try 's/"FillValue": 65536 }/"FillValue": 65536, "Output": 1 }/'
try 's/"Language": "C"/"Language": "Rust"/'
try 's/"CompilerOptions": \[/"CompilerOptions": ["-fplugin=x", /'
try 's/"FillValue": 65536 }/"FillValue": 65536.5 }/'
try 's/"FillValue": 65536 }/"FillValue": 4294967296 }/'
try 's/"KernelName": "vector_add"/"KernelName": "gone"/'
try 's/"KernelName": "vector_add"/"KernelName": ""/'
try 's/"KernelFile": "vector_add.c"/"KernelFile": 5/'
try 's/"FillValue": 65536 }/"FillValue": 2000000000 }/'
try 's/"ConfigurationSpace"/"Space"/'
cp vector_add_c.t1.json bad.t1.json
sed -i 's/"ConfigurationSpace"/"Space"/' bad.t1.json
autokernel new kernel bad --from bad.t1.json
sed 's/"ReadOnly", "FillValue": 65536/"ReadOnly"/; s/"AccessType": "ReadOnly" }/"AccessType": "ReadOnly"}/' vector_add_c.t1.json >bad.t1.json
check bad.t1.json
check vector_add_c.t1.json --size problem_size_x=5
check convolution_cuda.t1.json --device host
echo "-- our own space, written for others"
autokernel export reduce --size 256 --format t1 --output ours.t1.json
autokernel list ours.t1.json | grep '^implementation '
autokernel tune ours.t1.json
echo "exit $?"
echo "-- members of arguments that agree with what is done, and those that are not used"
sed 's/"FillType": "Constant"/&, "TypeSize": 4, "Output": 1/; s/"FillType": "Random"/&, "Output": 0/' vector_add_c.t1.json >marks.t1.json
autokernel list marks.t1.json | grep -E '^(not used|cannot)'
sed 's/"FillType": "Constant"/&, "Output": 0/; s/"FillType": "Random"/&, "RandomSeed": 7/' vector_add_c.t1.json >marks.t1.json
autokernel list marks.t1.json | grep -E '^(not used|cannot)'
echo "-- 'list' says why a file cannot be run"
sed 's/"Name": "a"/"Name": "2a"/' vector_add_c.t1.json >digit.t1.json
autokernel list digit.t1.json | grep -E '^(not used|cannot)'
sed 's/vector_add\.c/gone.c/' vector_add_c.t1.json >gone.t1.json
autokernel list gone.t1.json | grep -E '^(not used|cannot)'
echo "-- a name that expressions use for something else"
sed 's/"Name": "a"/"Name": "in"/' vector_add_c.t1.json >reserved.t1.json
autokernel list reserved.t1.json | grep -E '^(argument +in|cannot)'
check reserved.t1.json
