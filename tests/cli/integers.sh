# Whole numbers of every width: an image of bytes, prefix sums of 64 bits, products of bytes that are summed in 32, and
# values that are passed; wrong kernels are found out, and what is not supported says so.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
cp -r "$TESTS/../data/kernels/blur" .
echo "-- bytes: right; off by one; wrap-around; constant; one left out; one that leaves out what is there already"
wrong='WRONG=0;WRONG=1;WRONG=2;WRONG=3;WRONG=4'
autokernel check ./blur --config "$wrong" --quiet
# In batches of one call, this kernel would do all of the work. Batches of usual length have many calls of a small image,
# even where the machine is slow or busy. If its results for other inputs begin with the same byte, they are wrong.
(unset AUTOKERNEL_SAMPLES && autokernel tune ./blur --size height=13,width=17 --evals 2 --fix WRONG=0:5,LEVEL=3 \
    --strategy exhaustive --libraries none --quiet >/dev/null 2>&1)
autokernel history ./blur | sed -nE 's/.* (ok|rejected|wrong_result) .*(WRONG=[05]).*/\2 \1/; s/rejected|wrong_result/found out/p; /WRONG=0/p' |
    LC_ALL=C sort
echo "-- exported: the header has the types, and a program uses it"
autokernel export ./blur --format c
grep -o 'const uint8_t \*src' blur_u8/blur_u8.h
cat >main.c <<'C'
#include <stdio.h>
#include "blur_u8.h"
static uint8_t image[4 * 4] __attribute__((aligned(64))) = {255, 255, 0, 0, 255, 254}, soft[4 * 4] __attribute__((aligned(64)));
int main(void)
{
    int status = ak_blur_u8(4, 4, image, soft, NULL, 0);
    printf("%s: %d %d %d %d\n", ak_blur_u8_text(status), soft[0], soft[1], soft[2], soft[15]);
    return status;
}
C
gcc -O1 -Wall -Werror -Iblur_u8 main.c blur_u8/blur_u8.c -ldl -lm -pthread -o main && env -i ./main
gcc -O1 blur_u8/test_blur_u8.c blur_u8/blur_u8.c -ldl -lm -pthread -o test && env -i ./test
autokernel export ./blur --format bundle
autokernel bundle show blur_u8.akb | grep -E '(src|dst).*u8'
echo "-- 64 bits: sums beyond 32 bits"
mkdir prefix
cat >prefix/problem.json <<'J'
{ "schema": 1, "name": "prefix", "sizes": [{"name": "n", "default": 1000}], "dtypes": ["i64", "u64"],
  "arguments": [{"name": "x", "dtype": "u32", "shape": ["n"], "access": "in", "fill": "uniform(0,4294967295)"},
                {"name": "y", "shape": ["n"], "access": "out"}],
  "flops": "n", "bytes": "n*(4 + dtype_bytes)", "reference": "reference.c", "awkward": [{"n": 3}, {"n": 127}] }
J
cat >prefix/reference.c <<'C'
void ak_reference(const ak_host_call *call)
{
    double *x = call->arg[0], *y = call->arg[1], sum = 0;
    for (int64_t i = 0; i < call->size[0]; i++) {
        y[i] = sum += x[i];
    }
}
C
cat >prefix/host.c <<'C'
#include <stdint.h>
typedef NARROW sum;
void prefix(const uint32_t *x, int64_t *y, uint64_t n)
{
    sum total = 0;
    for (uint64_t i = 0; i < n; i++) {
        total += x[i];
        y[i] = (int64_t)total + (OFF && i == n - 1);
    }
}
C
cat >prefix/host.json <<'J'
{ "ConfigurationSpace": { "TuningParameters": [
    {"Name": "NARROW", "Type": "string", "Values": ["int64_t", "uint32_t"], "Default": "int64_t"},
    {"Name": "OFF", "Type": "int", "Values": [0, 1], "Default": 0}], "Conditions": [] },
  "KernelSpecification": { "Language": "C", "KernelName": "prefix", "KernelFile": "host.c", "CompilerOptions": ["-O2"],
    "Launch": { "Arguments": [{"Buffer": "x"}, {"Buffer": "y"}, {"UInt64": "n"}] } } }
J
for dtype in i64 u64; do
    autokernel check ./prefix --dtype $dtype --config 'NARROW=int64_t;NARROW=uint32_t;OFF=1' --quiet 2>/dev/null | grep -E '^(ok|wrong)'
done
# In a task of floats, too, whose tolerance is no excuse; an entry of its own allows a distance.
sed -i 's/\["i64", "u64"\]/["f32"]/; s/"name": "y",/& "dtype": "i64",/; s/"flops"/"tolerance": {"f32": {"relative": "1e-3"}}, &/' prefix/problem.json
autokernel check ./prefix --config 'OFF=0;OFF=1' --quiet 2>/dev/null | grep -oE '^(ok|wrong_result)'
sed -i 's/"1e-3"}/&, "i64": {"relative": "1e-9"}/' prefix/problem.json
autokernel check ./prefix --config 'OFF=0;OFF=1' --quiet 2>/dev/null | grep -oE '^(ok|wrong_result)'
sed -i 's/\["f32"\]/["i64", "u64"]/; s/"name": "y", "dtype": "i64",/"name": "y",/; s/"tolerance": .*, "flops"/"flops"/' prefix/problem.json
echo "-- i8 products summed in i32, over every type that is passed by value"
cat >dot.c <<'C'
#include <stdint.h>
#ifndef UNROLL
#define UNROLL 4
#endif
void dot(const signed char *a, const int8_t *b, int *c, size_t n)
{
    int sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    c[0] = sum + UNROLL * 0;
}
C
autokernel new kernel dot --from dot.c | grep 'numbers in'
sed -i -z 's/"name": "[ab]",/& "fill": "uniform(-128,127)",/g; s/"default",\n/"reference.c",\n/; s/1048576/4000/' dot/problem.json
sed -i 's/^}/    c[0] = 0;\n    for (int64_t i = 0; i < n; i++) {\n        c[0] += a[i] * b[i];\n    }\n}/' dot/reference.c
grep -o '"dtype": "[a-z0-9]*"\|"bytes": .*' dot/problem.json
autokernel check ./dot --config 'COMPILER=gcc' --quiet | grep -E '^(ok|wrong)'
cat >dot/pass.c <<'C'
#include <stdint.h>
void pass(const int8_t *a, const int8_t *b, int32_t *c, int8_t i8, uint8_t u8, int16_t i16, uint16_t u16, int32_t i32,
          uint32_t u32, int64_t i64, uint64_t n)
{
    int64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    const int right = i8 == -128 && u8 == 255 && i16 == -32768 && u16 == 65535 && i32 == -2147483647 - 1 &&
                      u32 == 4294967295 && i64 == -9007199254740992;
    c[0] = right ? (int32_t)sum : 0;
}
C
pass() {
    cat >dot/host.json <<J
{ "ConfigurationSpace": { "TuningParameters": [{"Name": "O", "Type": "int", "Values": [1, 2], "Use": "option", "Option": "-O{}"}] },
  "KernelSpecification": { "Language": "C", "KernelName": "pass", "KernelFile": "pass.c",
    "Launch": { "Arguments": [{"Buffer": "a"}, {"Buffer": "b"}, {"Buffer": "c"}, {"Int8": -128}, {"UInt8": $1}, {"Int16": -32768},
      {"UInt16": 65535}, {"Int32": -2147483648}, {"UInt32": 4294967295}, {"Int64": -9007199254740992}, {"UInt64": "n"}] } } }
J
    autokernel check ./dot --configs 1 --quiet | grep -E '^(ok|wrong)'
}
pass 255
echo "-- what is not supported"
pass 256
pass -1
alter() { # FILE SED...: the folder with changes
    rm -rf other && cp -r "$1" other && shift
    sed -i "s/\"name\": \"[a-z]*\", \"sizes\"/\"name\": \"other\", \"sizes\"/; $1" other/problem.json
    sed -i 's/^void prefix(const uint32_t \*x, int64_t/typedef uint32_t in;\ntypedef int64_t out;\nvoid prefix(const in *x, out/' other/*.c
    autokernel check ./other --configs 1 --quiet 2>&1 | grep '^autokernel'
}
alter blur 's/uniform(0,255)/uniform(-1,1)/'
alter blur 's/uniform(0,255)/constant(256)/'
alter blur 's/uniform(0,255)/uniform(0.2,0.8)/'
alter blur 's/"u8"/"u9"/'
alter prefix 's/4294967295/18014398509481984/; s/"u32"/"u64"/'
alter prefix 's/4294967295/9007199254740992/; s/"u32"/"u64"/'
alter prefix 's/\["i64", "u64"\]/["u32"]/'
alter prefix 's/"name": "y",/& "dtype": "f32",/'
echo "-- floats from whole numbers: an output that has a tolerance of its own needs no entry for its dtype"
cat >third.c <<'C'
#include <stdint.h>
void third(const uint32_t *x, float *y, int n) { for (int i = 0; i < n; i++) y[i] = (float)x[i] / 3; }
C
autokernel new kernel third --from third.c >/dev/null
python3 - <<'P'
import json
p = json.load(open("third/problem.json"))
p["sizes"][0]["default"] = 1000
p["arguments"][1]["tolerance"] = p.pop("tolerance")["f32"]
p["dtypes"] = ["u32"]
p["arguments"][0].update(fill="uniform(0,1000)", dtype="dtype")
p["reference"] = "reference.c"
json.dump(p, open("third/problem.json", "w"))
P
cat >third/reference.c <<'C'
void ak_reference(const ak_host_call *call)
{
    const double *x = call->arg[0];
    double *y = call->arg[1];
    for (int64_t i = 0; i < call->size[0]; i++) {
        y[i] = x[i] / 3;
    }
}
C
autokernel check ./third --config default --quiet | grep -oE '^(ok|wrong_result)'
sed -i 's# / 3# / 3.01f#' third/third.c
autokernel check ./third --config default --quiet 2>/dev/null | grep -oE '^(ok|wrong_result)'
echo "-- results that are what nobody wrote, by chance: honest kernels are right, those that leave one out are not"
mkdir near
cat >near/problem.json <<'J'
{ "schema": 1, "name": "near", "sizes": [{"name": "n", "default": 300}], "dtypes": ["u8"],
  "choices": [{"name": "kind", "values": ["poison", "mask"]}],
  "arguments": [{"name": "x", "dtype": "u8", "shape": ["n"], "access": "in", "fill": "uniform(0,255)"},
                {"name": "y", "shape": ["n"], "access": "out"}],
  "flops": "n", "bytes": "2*n", "reference": "reference.c", "awkward": [{"n": 2}, {"n": 15}, {"n": 255}] }
J
cat >near/reference.c <<'C'
void ak_reference(const ak_host_call *call)
{
    double *x = call->arg[0], *y = call->arg[1];
    for (int64_t i = 0; i < call->size[0]; i++) {
        int value = call->choice[0] == 0 ? 160 + ((int)x[i] & 15) : x[i] > 200 ? 255 : 0;
        y[i] = value;
    }
}
C
cat >near/host.c <<'C'
#include <stdint.h>
void near(const uint8_t *x, uint8_t *y, int32_t n)
{
    for (int32_t i = 0; i < n - (WRONG == 1); i++) {
#if kind_is_poison
        y[i] = (uint8_t)(160 + (x[i] & 15));
#else
        y[i] = x[i] > 200 ? 255 : 0;
#endif
    }
#if WRONG == 2
    y[n - 1]++; /* wraps around in one of 256 */
#endif
}
C
cat >near/host.json <<'J'
{ "ConfigurationSpace": { "TuningParameters": [{"Name": "WRONG", "Type": "int", "Values": [0, 1, 2]}] },
  "KernelSpecification": { "Language": "C", "KernelName": "near", "KernelFile": "host.c", "CompilerOptions": ["-O1"],
    "Launch": { "Arguments": [{"Buffer": "x"}, {"Buffer": "y"}, {"Int32": "n"}] } } }
J
for kind in poison mask; do
    for seed in 1 2; do
        autokernel check ./near --set kind=$kind --seed $seed --config 'WRONG=0;WRONG=1;WRONG=2' --quiet 2>/dev/null | grep -oE '^(ok|wrong_result)' | tr '\n' ' '
    done
    autokernel tune ./near --set kind=$kind --fix WRONG=0 --evals 1 --libraries none --quiet 2>/dev/null | grep -oE '^1 configuration.*: 1 ok|best' | head -1
done
