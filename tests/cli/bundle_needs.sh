# A bundle names all instructions that its code may use: also those of target attributes, pragmas and assembly, which the
# options do not name. The runtime refuses it where they are missing (unit/test_bundle).
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
[ "$(uname -m)" = x86_64 ] && grep -q " avx2 " /proc/cpuinfo && grep -q ' fma ' /proc/cpuinfo || { echo "no AVX2"; exit 77; }
export AUTOKERNEL_FINISH_TIME=0.02
autokernel new kernel part >/dev/null
sed -i 's/-march=native/-march=x86-64/' part/host.json
sed -i 's/"default": 1048576/"default": 4096/' part/problem.json
cp part/host.c plain.c
needs() { # COMPILER TEXT: what stands before the kernel
    command -v "$1" >/dev/null || set -- gcc "$2"
    { printf '%b\n' "$2"; cat plain.c; } >part/host.c
    autokernel tune ./part --evals 1 --libraries none --quiet --fix COMPILER=$1,OPT_LEVEL=2,UNROLL=1,THREADS=1 >/dev/null 2>&1
    trial=$(autokernel history ./part --limit 1 --json | grep -o '"id":[0-9]*' | tail -1 | tr -dc 0-9)
    autokernel export ./part --format bundle --config "#$trial" --output part.akb --force >/dev/null
    tar xOf part.akb bundle.json | tr -d ' \n' | grep -o '"cpu_features":\[[^]]*' | grep -oE '"(avx2|fma)"' | tr '\n' ' '
    echo
}
echo "-- nothing more than the options say"
for compiler in gcc clang; do
    needs $compiler ''
    needs $compiler '#include <immintrin.h>\nstatic inline void empty(void) { __asm__ volatile("" : : : "memory"); }'
    needs $compiler '#define PASTE(a) a##1\nenum { target1 = 1, PASTE(x) };\nstatic inline int target(int x) { return x; }'
done
echo "-- attributes and pragmas"
use='double used(double x, double y) { return x + y; }'
for compiler in gcc clang; do
    needs $compiler "__attribute__((target(\"avx2\"))) $use"
    needs $compiler "#define T __attribute__((__target__(\"sse3,\" \"av\" \"x2\")))\n#define E T\nE $use"
    needs $compiler "__attribute__((target(\"arch=haswell\"))) $use"
done
needs gcc "#pragma GCC target(\"no-sse3\", \"fma\")\n$use"
needs gcc "_Pragma(\"GCC target(\\\\\"avx2\\\\\")\") $use"
needs clang "#pragma clang attribute push(__attribute__((target(\"avx2\"))), apply_to=function)\n$use\n#pragma clang attribute pop"
echo "-- of what is not known, all that this machine has"
needs gcc 'void used(void) { __asm__ volatile("vz" "eroupper"); }'
needs gcc 'void used(void) { asm inline volatile ("" "vzeroupper" : : : "xmm0"); }'
needs gcc 'const unsigned used[] __attribute__((section(".text#"))) = {0xc377f8c5};'
needs gcc "# 1 \"/usr/lib/gcc/x86_64/include/immintrin.h\" 1 3\n__attribute__((target(\"avx2\"))) $use"
needs gcc "%: /* */ 1 \"/usr/lib/gcc/x86_64/include/immintrin.h\" 1 3\n__attribute__((target(\"avx2\"))) $use"
