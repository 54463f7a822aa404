# A kernel that needs what the target lacks: one line says which feature, which target and what to do. Instructions of
# a processor, on the host; functions of an OpenCL device.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "not an x86-64 processor"; exit 77; }
autokernel new kernel mine >/dev/null
# Checks the kernel after edits of its source and of its space file.
try() {
    rm -rf edited && cp -r mine edited && sed -i 's/"mine"/"edited"/' edited/problem.json
    sed -i "$1" edited/host.c && sed -i "$2" edited/host.json
    autokernel check ./edited --size 64 --configs 0 --config default --quiet 2>&1 | sed -E '3!d; s/; UNROLL.*//; s/  +/ /; s#/[^ ]*/([a-z0-9]*intrin.h)[0-9:]*#\1#'
}
wide='/^void ak_kernel/i #include <immintrin.h>\nvoid use(__m512 *p) { *p = _mm512_add_ps(*p, *p); }'
echo "-- AVX-512 for a processor that has none, by options and by an instruction that none has"
try "$wide" 's/-march=native/-march=haswell/'
try 's/^    work w = /    __asm__ volatile("ud1 %eax, %eax");\n    work w = /' ''
try 's/^    work w = /    __asm__ volatile("vnosuch %eax");\n    work w = /' ''
try '' 's/-march=native/-march=nosuch/'
echo "-- said before anything is compiled"
sed 's/"Threads": "THREADS"/"Threads": "THREADS", "Needs": [{"Expression": "vector_bytes == 4096", "Description": "vectors of 4096 bytes"}]/' mine/host.json >needs.json
cp needs.json mine/host.json
autokernel check ./mine --size 64
