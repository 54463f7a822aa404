# Tests a bundle as one .c and one .h: they compile without a warning as C99 and as C++, by both compilers,
# and the test beside them runs without autokernel.
for tool in gcc g++ clang clang++; do command -v $tool >/dev/null || { echo "no $tool"; exit 77; }; done
kernel=$TESTS/../data/kernels/double
autokernel tune "$kernel" --sizes '100;n=200000' --evals 2 --dispatch 2 --quiet >/dev/null 2>&1
autokernel export "$kernel" --table --format c
(cd double_f32 && ls)
cd double_f32
# The warnings of gcc depend on the level of optimisation, those of clang do not.
declare -A level=([gcc]=-O1 [g++]=-O1 [clang]=-O0 [clang++]=-O0)
for compiler in gcc clang; do
    $compiler -std=c99 ${level[$compiler]} -Wall -Wextra -pedantic -Werror -c double_f32.c -o $compiler.o || echo "$compiler: warnings"
done
for compiler in g++ clang++; do
    $compiler -x c++ ${level[$compiler]} -Wall -Wextra -pedantic -Werror -c double_f32.c -o $compiler.o || echo "$compiler: warnings"
done
gcc -O1 -c test_double_f32.c -o test.obj
for object in *.o; do
    g++ test.obj $object -ldl -lm -pthread -o test_$object.out && env -i ./test_$object.out
done
# A function that is right after some contents of its output only is found: this one begins a maximum with them.
cat >lucky.c <<'END'
#include "double_f32.h"
int ak_double_f32_workspace(size_t *bytes, int64_t n) { return *bytes = 0, n < 0; }
const char *ak_double_f32_text(int status) { return status == 0 ? "fine" : "failed"; }
int ak_double_f32(int64_t n, const float *x, float *y, void *workspace, size_t bytes)
{
    for (int64_t i = 0; i < n; i++)
        if (!(y[i] >= 2 * x[i])) y[i] = 2 * x[i];
    return workspace == NULL && bytes > 0;
}
END
gcc -O1 test.obj lucky.c -ldl -lm -pthread -o lucky && env -i ./lucky
cat >other.c <<'END'
#include "double_f32.h"
#include <stdio.h>
int main(void)
{
    static float x[64] __attribute__((aligned(64))), y[64] __attribute__((aligned(64)));
    size_t bytes = 1;
    x[9] = 1.5f;
    printf("%d", ak_double_f32_workspace(&bytes, 10));
    printf(" %zu\n", bytes);
    printf("%d", ak_double_f32(10, x, y, NULL, 0));
    printf(" %g\n", y[9]);
    printf("%s\n", ak_double_f32_text(ak_double_f32(10, x, x, NULL, 0)));
    printf("%s\n", ak_double_f32_text(ak_double_f32(10, x, NULL, NULL, 0)));
    printf("%s\n", ak_double_f32_text(ak_double_f32(10, x, y + 1, NULL, 0)));
    printf("%s\n", ak_double_f32_text(ak_double_f32(-1, x, y, NULL, 0)));
    return 0;
}
END
gcc -O1 -Wall -Werror other.c gcc.o -ldl -lm -pthread -o other && env -i ./other
# The entry of TVM FFI, called as its loaders do: the file beside this one stands in for its library.
cat >tvm.c <<'END'
#include <stdint.h>
#include <stdio.h>
typedef struct { void *data; int32_t device, id, rank; uint8_t code, bits; uint16_t lanes; int64_t *shape, *strides; uint64_t offset; } tensor;
typedef struct { int32_t type; uint32_t zero; union { int64_t integer; void *pointer; } as; } any;
int __tvm_ffi_ak_double_f32(void *, const any *, int32_t, any *);
int __tvm_ffi_ak_double_f32_workspace(void *, const any *, int32_t, any *);
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *text) { printf("%s: %s\n", kind, text); }
static float x[64] __attribute__((aligned(64))), y[64] __attribute__((aligned(64)));
int main(void)
{
    int64_t n = 10, one = 1, far = 1 << 20;
    tensor a = {x, 1, 0, 1, 2, 32, 1, &n, &one, 0}, b = {y, 1, 0, 1, 2, 32, 1, &n, NULL, 0};
    struct { int64_t header[3]; tensor t; } object = {{0}, b};
    any args[4] = {{7, 0, {.pointer = &a}}, {70, 0, {.pointer = &object}}, {0, 0, {0}}, {0, 0, {0}}}, out = {9, 9, {9}};
    any sized[3] = {{1, 0, {.integer = 10}}, args[0], args[1]};
    x[9] = 1.5f;
    printf("%d", __tvm_ffi_ak_double_f32(NULL, args, 2, &out));
    printf(" %g, type %d\n", y[9], out.type);
    x[9] = 2.5f;
    printf("%d", __tvm_ffi_ak_double_f32(NULL, sized, 3, &out));
    printf(" %g\n", y[9]);
    printf("%d", __tvm_ffi_ak_double_f32_workspace(NULL, sized, 1, &out));
    printf(" %d bytes\n", (int)out.as.integer);
    (void)__tvm_ffi_ak_double_f32(NULL, args, 4, &out);
    (void)__tvm_ffi_ak_double_f32(NULL, args + 1, 2, &out);
    sized[0].as.integer = -1;
    (void)__tvm_ffi_ak_double_f32(NULL, sized, 3, &out);
    a.device = 2;
    (void)__tvm_ffi_ak_double_f32(NULL, args, 2, &out);
    a.device = 1, a.code = 0;
    (void)__tvm_ffi_ak_double_f32(NULL, args, 2, &out);
    a.code = 2, a.strides = &far, a.rank = 5;
    (void)__tvm_ffi_ak_double_f32(NULL, args, 2, &out);
    a.rank = 1;
    (void)__tvm_ffi_ak_double_f32(NULL, args, 2, &out);
    a.strides = NULL, a.offset = 4;
    (void)__tvm_ffi_ak_double_f32(NULL, args, 2, &out);
    a.offset = 0, object.t.id = 1;
    return __tvm_ffi_ak_double_f32(NULL, args, 2, &out) == -1 ? 0 : 1;
}
END
gcc -O1 -Wall -Werror -rdynamic tvm.c gcc.o -ldl -lm -pthread -o tvm && ./tvm
# So is it in a process that has used up its keys for what threads own.
cat >keys.c <<'END'
#include <pthread.h>
static __attribute__((constructor)) void use_up(void)
{
    pthread_key_t key;
    while (pthread_key_create(&key, NULL) == 0) {
    }
}
END
gcc -O1 -Wall -Werror -rdynamic tvm.c keys.c gcc.o -ldl -lm -pthread -o keys && ./keys | tail -n 1
autokernel export "$kernel" --table --format c --output -
echo "exit $?"
# Parameters whose names would be the same in C have names of their own.
cd .. && cp -r "$kernel" clash
sed -i 's/"name": "X"/"name": "while_array"/; s/"name": "Y"/"name": "while"/; s/"name": "double"/"name": "clash"/' clash/problem.json
autokernel tune ./clash --sizes '100;200' --evals 2 --dispatch 1 --quiet >/dev/null 2>&1
autokernel export ./clash --table --format c >/dev/null
grep -o '\*while[a-z_]*' clash_f32/clash_f32.h | sort -u && gcc -Wall -Werror -c clash_f32/clash_f32.c -o clash.o && echo "it compiles"
# Nor are they those of what the source declares, of macros, or of keywords of C++.
for names in 'ak_thread status' 'linux xor'; do
    sed -i "s/\"name\": \"while_array\"/\"name\": \"${names% *}\"/; s/\"name\": \"while\"/\"name\": \"${names#* }\"/" clash/problem.json
    autokernel tune ./clash --size 100 --evals 1 --libraries none --quiet >/dev/null 2>&1
    autokernel export ./clash --size 100 --format c --output clash_f32/ --force >/dev/null
    gcc -Wall -Werror -c clash_f32/clash_f32.c -o clash.o && g++ -fsyntax-only -x c++ clash_f32/clash_f32.h && grep -o '\*[a-z_]*,$' clash_f32/clash_f32.h | sort -u
    sed -i "s/\"name\": \"${names% *}\"/\"name\": \"while_array\"/; s/\"name\": \"${names#* }\"/\"name\": \"while\"/" clash/problem.json
done
# The test fills arrays as the problem says, those of offsets and of small types too, and finds what is wrong.
try() {
    autokernel tune "$@" --device host --fix PASSES=O2 --evals 1 --libraries none --quiet >/dev/null 2>&1
    autokernel export "$@" --device host --format c --output one/ >/dev/null
    (cd one && gcc -std=gnu99 -Wall -Wextra -pedantic -Werror test_*_*.c $(ls -- *_*.c | grep -v ^test_) -ldl -lm -pthread -o test && env -i ./test)
}
try matmul_grouped --set inputs=e4m3 --size groups=3,M=8,N=8,K=8
sed -i 's/right\[k\]\[i\] = /&(array->dtype == TEST_SIGNED ? 1 : 2) * /' one/test_matmul_grouped_bf16_inputs_e4m3.c
(cd one && gcc test_*_*.c matmul_*.c -ldl -lm -pthread -o test && env -i ./test | grep -o '[0-9]* elements' | sed 's/^[1-9].*/some/')
rm -r one
try attention --set sequences=packed --size batch=3,heads=1,kv_heads=1,queries=9,keys=12,head_dim=8
# Exports of one kernel with different options stand in one folder and in one program: names tell the options
# apart, also where two could be read as one, and an export with all defaults has the short name.
cp -r "$kernel" scaled
sed -i 's/"name": "double"/"name": "scaled"/; s/"dtypes"/"choices": [{ "name": "mode", "values": ["plain", "a", "a_more_b"] }, { "name": "more", "values": ["c", "b"] }, { "name": "factor", "type": "real", "default": 2 }],\n  &/' scaled/problem.json
sed -i 's/2\.0f* \*/call->number[2] * (1 + call->choice[0] + 10 * call->choice[1]) */' scaled/*.c
for set in mode=plain factor=0.5 mode=a mode=a,more=b mode=a_more_b more=b,factor=-1e-20; do
    autokernel tune ./scaled --size 100 --set $set --evals 1 --libraries none --quiet >/dev/null 2>&1
    autokernel export ./scaled --size 100 --set $set --format c --output options/
done
autokernel export ./scaled --size 100 --set more=b,factor=-1e-20 --format bundle
cd options
ls scaled*.c
{
    for header in scaled*.h; do echo "#include \"$header\""; done
    echo '#include <stdio.h>'
    echo 'int main(void) { static float x[64] __attribute__((aligned(64))), y[64] __attribute__((aligned(64))); x[0] = 1;'
    for header in scaled*.h; do echo "ak_${header%.h}(1, x, y, NULL, 0); printf(\"%g\\n\", y[0]);"; done
    echo 'return 0; }'
} >main.c
gcc -O1 -Wall -Werror main.c scaled*.c -ldl -lm -pthread -o all && env -i ./all
gcc -O1 -Wall -Werror test_scaled_f32_factor_0p5.c scaled_f32_factor_0p5.c -ldl -lm -pthread -o test && env -i ./test
cd ..
