# CUDA kernels that need what the device lacks: one line says which instruction, which target and what to do. NVRTC is
# the real one, the driver that of fakes/fake_cuda.c, an H200.
[ -n "${AK_TEST_FAKE_CUDA:-}" ] || { echo "no fake driver"; exit 77; }
for library in CUDA NVML CUBLASLT CUDNN; do export AUTOKERNEL_LIB$library="$AK_TEST_FAKE_CUDA"; done
export XDG_CACHE_HOME=$PWD/cache
autokernel new kernel mine --cuda >/dev/null
autokernel check ./mine --device cuda:0 --configs 0 2>&1 | grep -q 'NVRTC cannot be loaded' && { echo "no NVRTC"; exit 77; }
# Checks the kernel with an instruction at its begin, for an architecture.
try() {
    rm -rf edited && cp -r mine edited && sed -i 's/"mine"/"edited"/' edited/problem.json
    sed -i "0,/^{/s//{ asm volatile(\"$1\");/" edited/cuda.cu
    [ -z "${2:-}" ] || sed -i "s/\"Language\": \"CUDA\"/&, \"Architecture\": \"$2\"/" edited/cuda.json
    autokernel check ./edited --device cuda:0 --configs 0 --config default --quiet 2>&1 | sed -E '3!d; s/; THREADS.*//; s/  +/ /; s/line [0-9]*/line N/'
}
try 'wgmma.fence.sync.aligned;'
try 'wgmma.fence.sync.aligned;' sm_80
try 'cp.async.bulk.commit_group;' sm_80
try '' sm_999
echo "-- code for another architecture than the device's"
export AUTOKERNEL_LIBNVRTC="$AK_TEST_FAKE_CUDA"
FAKE_CUDA=no_binary autokernel check matmul --device cuda:0 --dtype bf16 --impl cuda_sm90 --size 128 --configs 0 --quiet 2>&1 | sed -E '3!d; s/; SWAP_.*//; s/  +/ /'
