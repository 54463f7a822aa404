#!/usr/bin/env bash
# check.sh: the CUDA backend on a real device. Exits 77, saying so, where there is none.
# $AUTOKERNEL is the executable.
set -u
ak=$(realpath "${AUTOKERNEL:?the executable}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export AUTOKERNEL_ARCHIVE=$scratch/archive.db
if ! "$ak" worker --inventory cuda | grep -q '"device":"cuda:0"'; then
    echo "no CUDA device here: skipped ($("$ak" worker --inventory cuda | grep -o '"driver_missing":"[^"]*"'))"
    exit 77
fi
failed=0
try() {
    if timeout 120 "$ak" "$@" --device cuda:0 >"$scratch/out" 2>&1; then
        echo "ok   $*"
    else
        failed=$((failed + 1))
        echo "FAIL $*"
        tail -n 12 "$scratch/out"
    fi
}
for dtype in bf16 f16; do
    for size in M=256,N=264,K=520 M=1000,N=3000,K=1000 M=7,N=1024,K=4096 M=128,N=128,K=8192; do
        try check matmul --dtype $dtype --size $size
    done
    for activation in none relu leaky_relu gelu_tanh gelu_erf silu; do
        try check matmul_act --dtype $dtype --size M=200,N=136,K=264 --set activation=$activation
    done
done
# the last tiles divided along K, by blocks that have had whole ones
last=SPLIT_LAST=1,SPLIT_WAIT=0,NUM_CONSUMERS=2,BLOCK_SIZE_M=128,BLOCK_SIZE_N=128,CLUSTER_M=1,CLUSTER_K=1,num_stages=5
last=$last,EPILOGUE_BUFFERS=1,PRODUCER_WARPS=4,PRODUCER_REGISTERS=40,CONSUMER_REGISTERS=232,MMA_IN_FLIGHT=1
for how in SWAP_AB=0,PING_PONG=0,CLUSTER_N=1,SPLIT_K=2 SWAP_AB=1,PING_PONG=1,CLUSTER_N=1,SPLIT_K=3 \
    SWAP_AB=1,PING_PONG=0,CLUSTER_N=2,SPLIT_K=3; do
    try check matmul --dtype bf16 --size M=2100,N=2304,K=776 --config $last,$how
done
try tune matmul --dtype bf16 --size 2048 --evals 10 --time 20
try compare matmul --dtype bf16 --size 2048

# A bundle, verified, and called from a program that knows nothing but the runtime and the driver.
root=$(cd "$(dirname "$0")/../.." && pwd)
(
    cd "$scratch" || exit 1
    set -e
    "$ak" export matmul --device cuda:0 --dtype bf16 --size 2048 --format bundle
    "$ak" bundle verify matmul_bf16.akb --max-slowdown 10%
    include=${CUDA_HOME:-/usr/local/cuda}/include
    [ -e "$include/cuda.h" ] || include=$root/tests/fakes/include
    driver=$(ldconfig -p | sed -n 's/.*libcuda\.so\.1 .*=> //p' | head -n 1)
    cc -O1 -I"$root/runtime" -I"$include" "$root/examples/runtime/product_gpu.c" "$root/runtime/ak_runtime.c" \
        "${driver:-/usr/local/nvidia/lib64/libcuda.so.1}" -ldl -lm -pthread -o product_gpu
    ./product_gpu matmul_bf16.akb 2048 2048 2048
    ./product_gpu matmul_bf16.akb 264 136 72
) >"$scratch/out" 2>&1 && echo "ok   a bundle" || {
    failed=$((failed + 1))
    echo "FAIL a bundle"
    tail -n 12 "$scratch/out"
}
python3 "$(dirname "$0")/adversarial.py" "$ak" cuda:0 || failed=$((failed + 1))
[ $failed -eq 0 ] && echo "all right" || echo "$failed failed"
exit $((failed > 0))
