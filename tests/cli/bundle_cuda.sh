# Tests bundles for GPUs, with the driver and the compiler of tests/fakes: they are written, shown, verified,
# called from C on a stream and in a graph, as one .c and .h, and as a module of TVM FFI. Checks what is refused.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
root=$TESTS/../..
for library in CUDA NVRTC CUBLASLT CUDNN NVML; do export AUTOKERNEL_LIB$library=$AK_FAKE_CUDA; done
unset AUTOKERNEL_SAMPLES # the clock of this device falls only in batches of usual length
on='--device cuda:0 --dtype bf16'
autokernel tune matmul $on --sizes '256;M=64,N=128,K=256' --dispatch 2 --evals 2 --libraries none --quiet >/dev/null 2>&1
echo "-- written, and the same bytes again"
autokernel export matmul $on --format bundle --table
autokernel export matmul $on --format bundle --table --output again.akb
cmp matmul_bf16.akb again.akb && echo same
echo "-- shown and verified"
autokernel bundle show matmul_bf16.akb | grep -E '^(needs|measured on|variant)'
autokernel bundle verify matmul_bf16.akb
echo "exit $?"
autokernel tune matmul $on --size 256 --evals 2 --libraries none --quiet >/dev/null 2>&1
autokernel export matmul $on --size 256 --format bundle --output one/
grep -A 2 '"finish"' one/bundle.json
sed -i 's/"sm_clock_mhz": 1755.0/"sm_clock_mhz": 1900.0/; s/"ms": 0.81[0-9]*/"ms": 0.81/' one/bundle.json
(cd one && sha256sum bundle.json >bundle.sha256)
autokernel bundle verify one
sed -i 's/"throttle": "power_cap"/"throttle": "none"/' one/bundle.json
(cd one && sha256sum bundle.json >bundle.sha256)
FAKE_CUDA=cool autokernel bundle verify one
FAKE_CUDA=wrong autokernel bundle verify matmul_bf16.akb --json | grep -o '"status":"[a-z_]*"'
echo "-- other code than the finish measured, and code that no finish measured"
ship() { autokernel export matmul $on --size 256 --format bundle "$@" 2>&1 | grep -o 'this compiles to other code than trial\|nobody has.*\|wrote.*'; }
XDG_CACHE_HOME=$PWD/other FAKE_CUDA=other_code ship --output other.akb
autokernel tune matmul $on --size 264 --evals 12 --seed 1 --libraries none --quiet --archive quick.db >/dev/null 2>&1
loser=$(autokernel history --archive quick.db --status ok --json | python3 -c '
import json, sys
print(max(trial["id"] for trial in json.load(sys.stdin) if trial.get("code_hash") is None))')
autokernel export matmul $on --size 264 --archive quick.db --config "#$loser" --format bundle --output quick.akb 2>&1 | grep -o 'nobody has.*\|wrote.*'
echo "-- an own kernel whose entry has a long name"
mkdir own && cp -r "$root/kernels/matmul" own && cd own/matmul || exit 1
mv cuda_sm90.json mine && rm cuda_*.json host*.json opencl.json triton.json && mv mine cuda_mine.json
sed -i 's/\bak_kernel\b/ak_kernel_whose_name_has_more_than_31_bytes/' cuda_mine.json ./*.cu
cd ../..
autokernel tune ./own/matmul $on --size 256 --evals 2 --libraries none --quiet >/dev/null 2>&1
autokernel export ./own/matmul $on --size 256 --format bundle --output long.akb
tar xOf long.akb bundle.json | grep '"entry"'
autokernel bundle verify long.akb | tail -n 1
echo "-- called"
flags="-I$root/runtime -I$TESTS/../fakes/include"
ln -s "$AK_FAKE_CUDA" libcuda.so.1
ln -s "$AK_FAKE_CUDA" .
gcc $flags "$root/examples/runtime/product_gpu.c" "$root/runtime/ak_runtime.c" libcuda.so.1 -ldl -lm -pthread -o product_gpu || exit 1
unset AUTOKERNEL_LIBCUDA # the program finds libcuda.so.1 as any other
alone() { env -i PATH=/usr/bin:/bin LD_LIBRARY_PATH=. "$@"; echo "exit $?"; }
alone ./product_gpu matmul_bf16.akb 256 256 256
alone ./product_gpu matmul_bf16.akb 64 128 256
alone ./product_gpu matmul_bf16.akb 16 72 520
alone ./product_gpu matmul_bf16.akb 16 72 521
alone ./product_gpu long.akb 256 256 256
echo "-- another device, driver or none"
altered() {
    rm -rf altered && mkdir altered && tar xf matmul_bf16.akb -C altered
    sed -i "$1" altered/bundle.json && (cd altered && sha256sum bundle.json >bundle.sha256)
    alone ./product_gpu altered 256 256 256
}
altered 's/"compute_capability": 90/"compute_capability": 100/; s/"architecture": "sm_90a"/"architecture": "sm_100"/'
altered 's/"driver": 13000/"driver": 13010/'
altered 's/"resident_clusters"/"resident_clubs"/'
altered 's/"entry": "ak_kernel"/"entry": "ak_other"/'
altered 's/"buffer": 2/"buffer": 9/'
echo "no library" >none.so
env -i PATH=/usr/bin:/bin LD_LIBRARY_PATH=. AUTOKERNEL_LIBCUDA=./none.so ./product_gpu matmul_bf16.akb 256 256 256
env -i PATH=/usr/bin:/bin LD_LIBRARY_PATH=. FAKE_CUDA=no_device ./product_gpu matmul_bf16.akb 256 256 256
echo "-- bad calls, and a graph"
export AUTOKERNEL_LIBCUDA=$AK_FAKE_CUDA
autokernel tune matmul $on --size M=64,N=128,K=512 --fix SPLIT_K=2 --evals 1 --libraries none --quiet >/dev/null 2>&1
autokernel export matmul $on --size M=64,N=128,K=512 --format bundle --output split.akb
autokernel tune "$TESTS/../data/kernels/double" --device host --size 100 --evals 1 --quiet >/dev/null 2>&1
autokernel export "$TESTS/../data/kernels/double" --device host --size 100 --format bundle --output host.akb
gcc $flags -Wl,--wrap=malloc,--wrap=calloc "$TESTS/../data/bundle_gpu.c" "$root/runtime/ak_runtime.c" libcuda.so.1 -ldl -lm -pthread -o bundle_gpu || exit 1
alone ./bundle_gpu split.akb host.akb
echo "-- as source"
autokernel export matmul $on --table --format c
cd matmul_bf16 || exit 1
gcc -std=c99 -O1 -Wall -Wextra -pedantic -Werror -c matmul_bf16.c -o c.o
g++ -x c++ -Wall -Wextra -pedantic -Werror -c matmul_bf16.c -o cxx.o
for object in c.o cxx.o; do
    gcc test_matmul_bf16.c $object -ldl -lm -pthread -lstdc++ -o test && AUTOKERNEL_LIBCUDA=$AK_FAKE_CUDA ./test
done
echo "-- as a module of TVM FFI"
gcc -Wall -Werror -I"$TESTS/../fakes/include" -rdynamic -Wl,--wrap=dlsym,--wrap=calloc "$TESTS/../data/bundle_tvm.c" c.o ../libcuda.so.1 -ldl -lm -pthread -o tvm || exit 1
(cd .. && LD_LIBRARY_PATH=. AUTOKERNEL_LIBCUDA=$AK_FAKE_CUDA ./matmul_bf16/tvm)
