# Runs the whole loop on an OpenCL device; PoCL makes one of the processor. Sizes are tiny: the test checks
# results and failures, not speed. It takes 10 s of processor time, which PoCL needs to compile: each program, and
# each again for every size of work-groups.
device=$(autokernel doctor --json | grep -o '"device":"opencl:[0-9]*"' | head -n 1 | cut -d '"' -f 4)
[ -n "$device${AK_TEST_OPENCL:-}" ] || { echo "there is no OpenCL platform: apt-get install pocl-opencl-icd ocl-icd-libopencl1"; exit 77; }
autokernel list softmax --device opencl:0 | grep -E 'on opencl:0|^THREADS '
local='TILE_M=32,TILE_N=32,TILE_K=8,WPT_M=4,WPT_N=4,VEC=4,LOCAL=1,PAD=1'
autokernel check matmul --device opencl:0 --size 64 --set layout=tt,alpha=2,beta=3,pad_c=3 --config "$local"
autokernel check matmul_act --device opencl:0 --size 64 --set activation=gelu_erf,residual=add --config default | grep -E '^ok '
autokernel tune softmax --device opencl:0 --size 64 --evals 2 --fix ROWS=1:2,THREADS=1:16 --libraries none --quiet --json >run.json && echo tuned
autokernel history softmax | grep -c ' ok '
autokernel best softmax --device opencl:0 --json | grep -o '"device":"opencl:0"'
# What the compiler refuses; a kernel that writes behind its output, that asks for too much, or that crashes.
cp -r "$TESTS/../backends/opencl" twice
cp "$TESTS/../backends/kernel/"{problem.json,reference.c} twice
autokernel check twice --device opencl:0 --config 'STEP=0;STEP=1;STEP=2;STEP=3;STEP=4;STEP=5' || echo "exit code $?"
sed -i 's/"Block": .*/&\n      "SharedMemory": 4096,/' twice/opencl.json
autokernel check twice --device opencl:0 || echo "exit code $?"
autokernel check softmax --device opencl:99 || echo "exit code $?"
# Compiling for another device than the child reaches, as where its first is not the tuner's, keeps the source.
cp "$TESTS/../backends/opencl/opencl.cl" k.cl
identity=$(autokernel worker --opencl-inventory | grep -o '"identity":[0-9]*' | head -n 1 | cut -d : -f 2)
autokernel worker --opencl-compile k.cl same opencl:0 "$identity" -DSTEP=1
autokernel worker --opencl-compile k.cl moved opencl:5 "$identity" -DSTEP=1
autokernel worker --opencl-compile k.cl other opencl:0 1 -DSTEP=1
for file in same moved other; do
    head -c 20 $file | grep -qa '^//autokernel-opencl' && echo "$file: source" || echo "$file: binary"
done
