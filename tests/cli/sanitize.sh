# Tests --sanitize: a configuration that passed, is wrong or crashed is built with sanitizers and run at the edge-case
# sizes. Reads outside of an argument, undefined behaviour and memory that every call leaks are found and named, in text,
# in JSON and in the report; nothing is printed about configurations without a finding.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
echo 'int main(void) { return 0; }' >probe.c
gcc -fsanitize=address,undefined probe.c -o probe 2>/dev/null && ./probe || { echo "gcc has no sanitizers here"; exit 77; }
autokernel doctor --json | grep -q '"seccomp": *true' || { echo "a build with sanitizers"; exit 77; }
export AUTOKERNEL_ARCHIVE=$PWD/archive.db
autokernel new kernel part >/dev/null
with() { # NAME CODE: the kernel with one more statement
    cp -r part "$1"
    sed "/^void ak_kernel/,\$s/^{/{ $2/" -i "$1/host.c"
}
with leak 'volatile char *lost = (volatile char *)__builtin_malloc(100); lost[0] = 1;'
beyond='volatile float beyond = ((const float *)call->arg[0])[call->size[0]]; (void)beyond;'
with beyond "$beyond"
with undefined 'volatile int big = 2147483647; big = big + (int)call->size[0];'
for kernel in leak beyond undefined; do
    echo "--- $kernel"
    autokernel check ./$kernel --size 1000 --config COMPILER=gcc --quiet --sanitize 2>/dev/null
    echo "exit $?"
done
# What is wrong or crashes runs with sanitizers too; the line is that of the kernel's own file, or of one it includes.
own() { # NAME CODE
    with "$1" "$2"
    mv "$1/host.c" "$1/$1.c"
    sed -i "s/\"KernelFile\": *\"host.c\"/\"KernelFile\": \"$1.c\"/" "$1/host.json"
}
own passes "$beyond"
own wrong "$beyond ((float *)call->arg[2])[0] = 7; return;"
own crashes '*(volatile char *)(uintptr_t)8 = 0;'
own prints '__builtin_printf("no");'
own prints_a_line '__builtin_puts("no");' # as compilers write printf of a line
own below 'beyond(call);'
echo 'static inline void beyond(const ak_host_call *call) { volatile float v = ((const float *)call->arg[0])[call->size[0]]; (void)v; }' >below/below.h
sed -i 's/"KernelFile"/"Include": ["below.h"], &/' below/host.json
for case in 'passes gcc' 'passes clang' 'below gcc' 'wrong gcc' 'crashes gcc' 'prints gcc' 'prints_a_line gcc'; do
    set -- $case
    echo "--- $case"
    command -v "$2" >/dev/null && $2 -fsanitize=address,undefined probe.c -o probe 2>/dev/null || set -- "$1" gcc
    autokernel check "./$1" --size 1000 --config COMPILER=$2 --quiet --sanitize 2>/dev/null |
        sed '/^part/d; /^reference/d; s/\(\.[ch]:[0-9]*\):[0-9]*, at /\1, at /; s/; UNROLL.*//'
done
echo "--- a run in which nothing works"
autokernel tune ./wrong --size 1000 --fix COMPILER=gcc --evals 1 --libraries none --json --sanitize --quiet 2>/dev/null |
    grep -o '"sanitizers": *"[^"]*"'
# None of these ways to be other code, or to be left out, hides the read beyond the argument.
hidden() { # NAME LINE: the kernel reads beyond its argument behind LINE
    cp -r part "$1"
    { printf '%b' "$2"; sed "/^void ak_kernel/,\$s/^{/{\n$3/" part/host.c; } >"$1/host.c"
    for compiler in gcc clang; do
        if ! command -v $compiler >/dev/null || ! $compiler -fsanitize=address,undefined probe.c -o probe 2>/dev/null; then
            echo "$compiler: AddressSanitizer: heap-buffer-overflow"
            continue
        fi
        autokernel check "./$1" --size 1000 --config COMPILER=$compiler --quiet --sanitize 2>/dev/null |
            sed -n "s/^rejected .*config 1  \(AddressSanitizer: [a-z-]*\) .*/$compiler: \1/p"
    done
}
read=$beyond
echo "--- hidden by macros of sanitizers"
hidden macro '#ifndef __has_feature\n#define __has_feature(x) 0\n#endif\n' \
    "#if !defined __SANITIZE_ADDRESS__ \&\& !__has_feature(address_sanitizer)\n$read\n#endif\n"
echo "--- hidden by attributes"
hidden attribute '#define HIDE(a, b) __attribute__((a##b))\nHIDE(no_, sanitize_address)\nHIDE(no_sani, tize("address"))\nvoid ak_kernel(const ak_host_call *call);\n' "$read\n"
echo "--- hidden by an option"
cp -r beyond option
sed -i 's/"-march=native"/"-march=native", "--param=asan-instrument-reads=0"/' option/host.json
autokernel check ./option --size 1000 --config COMPILER=gcc --quiet --sanitize 2>/dev/null | sed -n 's/^rejected .*config 1  \(AddressSanitizer: [a-z-]*\) .*/\1/p'
echo "--- hidden by a comment"
hidden comment '/* autokernel: Fortran begins here */\n' "$read\n"
hidden comments '/* autokernel: Fortran begins here */\n/* autokernel: Fortran ends here */\n' "$read\n"
autokernel check ./comments --size 1000 2>&1 | sed 's/.*: the source/the source/'
echo "--- targets and C++ are built as they are"
hidden target 'static inline void mark(void) { __asm__ volatile(""); }\n#pragma GCC target("avx2")\n#include <immintrin.h>\n#ifndef __AVX2__\n#error no AVX2\n#endif\n' "$read\n" | sed -n '/^gcc/p'
cp -r beyond plus
sed -i 's/"Language": "C"/"Language": "C++"/; s/-std=gnu17/-std=gnu++17/' plus/host.json
sed -i 's/= context;/= (const work *)context;/; s/work w = {.*/work w = {call->size[0], (const float *)call->arg[0], (const float *)call->arg[1], (float *)call->arg[2]};/; s/^void ak_kernel/extern "C" void ak_kernel/' plus/host.c
autokernel check ./plus --size 1000 --config COMPILER=gcc --quiet --sanitize 2>/dev/null | sed -n 's/^[a-z]* .*config 1  \(AddressSanitizer: [a-z-]*\) .*/\1/p'
echo "--- without it"
autokernel check ./beyond --size 1000 --config COMPILER=gcc --quiet | sed -n 's/^\([a-z_]*\) .*UNROLL.*/\1/p'
echo "--- a run"
autokernel tune ./part --size 1000 --fix COMPILER=gcc --evals 3 --strategy random --seed 1 --libraries none --json --sanitize --quiet \
    2>/dev/null | grep -o '"sanitizers": *"[^"]*"' | sed 's/[0-9]* of [0-9]* configurations* /N of N configurations /'
autokernel report --format json | grep -o '"sanitizers": *"[^"]*"' | sed 's/[0-9]* of [0-9]* configurations* /N of N configurations /'
autokernel report | grep -c 'without a finding'
# The sanitizers' own functions, and ways to end before the report or to pretend that there is none.
echo "--- their hooks"
refused() { # NAME LINE STATEMENT
    hidden "$@" >/dev/null
    autokernel check "./$1" --size 1000 --config COMPILER=gcc --quiet --sanitize 2>/dev/null |
        sed -n 's/^\([a-z]*\) .*config 1  \([^;]*\), at n=.*/\1: \2/p; s/^\([a-z]*\) .*config 1  \([^;]*\);.*/\1: \2/p' |
        sed 's/ in host.c:[0-9]*//'
}
refused on_error '#include <stdlib.h>\nvoid __asan_on_error(void) { exit(0); }\n' "$read\n"
refused options 'const char *__asan_default_options(void) { return "exitcode=0"; }\n' "$read\n"
refused own_report '#include <stdlib.h>\nvoid report(void) __asm__("__ubsan_on_report");\nvoid report(void) { exit(0); }\n' "$read\n"
refused hidden_hook '__attribute__((visibility("hidden"))) void __asan_on_error(void) { __builtin_exit(0); }\n' "$read\n"
refused local_hook '__attribute__((used)) static void report(void *p) __asm__("__asan_report_load4");\nstatic void report(void *p) { (void)p; }\n' "$read\n"
echo "--- an end before the end"
for way in 0 97 98; do
    if [ "$(uname -m)" != x86_64 ]; then # where the sanitizer's allocator lies is known for this processor
        echo "rejected: it ends the program with sanitizers before its end (exit code $way, signal 0)"
        continue
    fi
    refused "leaves_$way" '#include <stdlib.h>\n' \
        "void *volatile here = malloc(16); const uintptr_t at = (uintptr_t)here >> 40; free(here); if (at == 0x60) exit($way);\n"
done
echo "--- a process, memory that stays, a file"
if [ "$(uname -m)" = x86_64 ]; then # 57 fork, 59 execve, 29 shmget, 68 msgget, 85 creat, 41 socket
    hidden reaches '#include <stdlib.h>\nstatic long raw(long n, long a, long b, long c)\n{\n    long r;\n    __asm__ volatile("sub $128, %%rsp\\n\\tcall 1f + 1\\n\\tjmp 2f\\n1:\\tmov $0x90c3050f, %%ecx\\n2:\\tadd $128, %%rsp" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");\n    return r;\n}\n' \
        "void *volatile here = malloc(16); const uintptr_t at = (uintptr_t)here >> 40; free(here); if (at == 0x60 \&\& (raw(39, 0, 0, 0) < 0 || raw(57, 0, 0, 0) >= 0 || raw(29, 0xa77d, 4096, 01600) >= 0 || raw(68, 0xa77d, 01600, 0) >= 0 || raw(85, (long)\"left\", 0600, 0) >= 0 || raw(41, 1, 1, 0) >= 0 || raw(59, (long)\"left\", 0, 0) != -1)) {\n$read\n}\n" >/dev/null
    autokernel check ./reaches --size 1000 --config COMPILER=gcc --quiet --sanitize | sed -n 's/^\([a-z_]*\) .*config 1.*/\1/p'
else
    echo ok
fi
echo "--- indices from a file"
autokernel new kernel gather >/dev/null
i=0
while [ $i -lt 100 ]; do
    printf "\\$(printf %03o $((i == 50 ? 100 : i)))\\000\\000\\000" # 50 becomes one past the end
    i=$((i + 1))
done >gather/index.raw
sed -i 's/1048576/100/; s/"awkward": .*\]/"awkward": []/; s/"name": "Y", "dtype": "dtype"\(.*\)"uniform(-1,1)"/"name": "Y", "dtype": "i32"\1"file(index.raw)"/' gather/problem.json
sed -i 's/z\[i\] = .*/z[i] = x[(int64_t)y[i] < call->size[0] ? (int64_t)y[i] : 0];/' gather/reference.c
sed -i 's/w->z\[i\(.*\)\] = .*/w->z[i\1] = w->x[((const int *)w->y)[i\1]];/' gather/host.c
autokernel check ./gather --size 100 --config COMPILER=gcc --quiet --sanitize 2>/dev/null | grep -o 'heap-buffer-overflow.*at n=100' | sed 's/ in .* at/ .. at/'
