# Compares two CUDA implementations and the libraries in one table, on a driver that needs no GPU
# (fakes/fake_cuda.c): each is compiled from its own source with its own options, and launched by its own space.
[ -n "${AK_TEST_FAKE_CUDA:-}" ] || { echo "no fake driver"; exit 77; }
for library in CUDA NVRTC NVML CUBLASLT CUDNN; do export AUTOKERNEL_LIB$library="$AK_TEST_FAKE_CUDA"; done
export XDG_CACHE_HOME=$PWD/cache
cp -r "$TESTS/../../kernels/matmul" product
sed -i '0,/"matmul"/s//"product"/' product/problem.json
cp product/cuda_sm90.json product/cuda_other.json
compare="autokernel compare ./product --device cuda:0 --dtype bf16 --size 128 --time 0.1s"
$compare --impl cuda_sm90,cuda_other --config 'cuda_other:default;cuda_other:BLOCK_SIZE_M=16' --json >json
echo "exit $?"
grep -o -E '"name":"[^"]*"|"implementation":"[^"]*","config"|"BLOCK_SIZE_M":[0-9]*|"reference":"[^"]*"' json
echo "-- mistakes"
$compare --impl cuda_sm90,host
$compare --impl cuda_sm90,cuda_sm90_tf32
$compare --impl cuda_sm90,cuda_sm80 --libraries none | grep -o -E '^#1 cuda_sm90 default|^cuda_sm80 default .*failed|kernel.cu.12.: error.*'  | sed -E 's/ +- .*failed/ failed/'
