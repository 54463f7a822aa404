# Compares Triton's product with the template on a driver that needs no GPU (fakes/fake_cuda.c) and takes only
# what its own compiler made: both are compiled side by side, and the template is measured.
[ -n "${AK_TEST_FAKE_CUDA:-}" ] || { echo "no fake driver"; exit 77; }
export AUTOKERNEL_PYTHON=$TEST_PYTHON
"$TEST_PYTHON" -c 'import triton' 2>/dev/null || { echo "no Python with Triton"; exit 77; }
for library in CUDA NVRTC NVML CUBLASLT CUDNN; do export AUTOKERNEL_LIB$library="$AK_TEST_FAKE_CUDA"; done
export XDG_CACHE_HOME=$PWD/cache
compare="autokernel compare matmul --device cuda:0 --dtype bf16 --size 128 --time 0.1s --libraries none"
for order in cuda_sm90,triton triton,cuda_sm90; do
    $compare --impl $order >words
    echo "exit $?"
    sed -E '/^(#1 cuda_sm90|triton) default .*(reference|failed)/!d; s/ +[0-9.]+ .*reference| +- .*failed +/ ... /' words
done
echo "-- without Triton nothing is begun"
AUTOKERNEL_PYTHON=nowhere/python $compare --impl cuda_sm90,triton
