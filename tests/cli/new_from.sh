# Makes kernel folders from T1 files and from sources, and checks that each says what is still missing.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
export AUTOKERNEL_LIBCUDA=$PWD/nowhere.so
cp -r "$TESTS/../../examples/t1" t1
run() { "$@" 2>&1; echo "exit $?"; }
run autokernel new kernel product --from t1/matmul_c.t1.json
ls product
autokernel check ./product --configs 1 --quiet | grep -E '^(reference|2 of 2)'
run autokernel new kernel sum --from t1/vector_add_opencl.t1.json | sed 1d
echo "-- C"
cat >scale.c <<'C'
/* gcc -O3 -DUNROLL=4 scale.c */
#include <stddef.h>
#ifndef STEP
#define STEP 8
#endif
static int helper(int x) { return x; }
void scale(const float *x, float *y /* (the result) */, float factor, int n)
{
    for (int i = 0; i < n; i += STEP) {
        for (int k = i; k < i + STEP && k < n; k++) {
            y[k] = (factor + (float)helper(1)) * x[k];
        }
    }
}
C
run autokernel new kernel scaled --from scale.c
grep '"notes"' scaled/problem.json
cat scaled/reference.c
autokernel list ./scaled | grep -E '^(STEP|UNROLL|OPT_LEVEL|argument|size)'
autokernel check ./scaled --size 1000 --configs 1 --quiet | grep -E '^(reference|2 of 2)'
sed -i 's/^}/    for (int64_t i = 0; i < n; i++) {\n        y[i] = 2 * x[i];\n    }\n}/' scaled/reference.c
sed -i 's/"default",$/"reference.c",/' scaled/problem.json
autokernel check ./scaled --size 1000 --configs 1 --quiet | grep -E '^(reference|2 of 2)'
echo "-- C++, a template, beside another function"
cat >twice.cpp <<'C'
static inline float twice(float x) { return 2 * x; }
void other(float *y) { y[0] = 0; }
template <int STEP>
void scale(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i += STEP) {
        for (int k = i; k < i + STEP && k < n; k++) {
            y[k] = twice(x[k]);
        }
    }
}
C
run autokernel new kernel doubled --from twice.cpp | grep '^kernel'
grep -o '"Language": .*' doubled/host.json
grep 'extern' doubled/twice.cpp
autokernel check ./doubled --size 1000 --configs 1 --quiet | grep -E '^2 of 2'
echo "-- CUDA, a template"
cat >tile.cu <<'C'
#include <cuda_fp16.h>
template <int BLOCK, int ITEMS = 4>
__global__ void __launch_bounds__(BLOCK) tile(const __half *in, double *out, int rows, int64_t columns)
{
    out[blockIdx.x * BLOCK + threadIdx.x] = ITEMS;
}
int main() { tile<128, 4><<<1, 128>>>(0, 0, 1, 1); }
C
run autokernel new kernel tiled --from tile.cu --json | tr '{' '\n' | sed 's/\\n/\n/g'
sed -n 1,4p tiled/tile.cu
autokernel list ./tiled --device cuda:H200 | grep -E '^(BLOCK|ITEMS|argument|size)'
tr -d ' \n' <tiled/cuda.json | grep -o '"Launch".*'
echo
echo "-- the skeleton, with CUDA"
autokernel new kernel mine --cuda >/dev/null
autokernel list ./mine --device cuda:H200 | grep -E '^(THREADS|ITEMS|Cartesian|implementation)'
echo "-- files beside it, and macros that nothing defines"
mkdir -p headers/parts
echo '#include "types.h"
#ifndef HALF
#define HALF 2
#endif
enum { FIRST = 0, SECOND };
static inline real twice(real x) { return HALF * x; }' >headers/twice.h
printf '#pragma once\ntypedef float real;\n' >headers/types.h
echo 'static const float part = 1;' >headers/parts/part.h
cat >headers/vector.c <<'C'
#include <float.h>
#include "types.h"
 # import "twice.h"
/*
#include "comment.h"
*/
#include "math.h"
#ifdef WIDE
#include "parts/part.h"
#endif
typedef real VECTOR __attribute__((vector_size(4 * VW)));
typedef struct { float X; } PAIR;
static float most(float A, float B) { const float C = A, D = B; return C > D ? C : D; }
void vector(const float *x, float *y, int N)
{
    PAIR p = {.X = FLT_MIN};
    for (int i = 0; i < N; i += VW * STEPS) {
        for (int k = 0; k < VW * STEPS && i + k < N; k++) {
            y[i + k] = most(twice(x[i + k]), p.X - FLT_MAX) + FIRST * sizeof(VECTOR);
        }
    }
}
C
run autokernel new kernel vector --from headers/vector.c
ls vector
cat vector/types.h vector/twice.h
sed -n 1,9p vector/vector.c
tr -d ' \n' <vector/host.json | grep -oE '"(Include|CompilerOptions)":[^]]*.|"COMPILER".*"compiler"'
sed -i 's/"TuningParameters": \[/&{"Name": "VW", "Type": "int", "Values": [4, 8], "Default": 4}, {"Name": "STEPS", "Type": "int", "Values": [1, 2], "Default": 2},/' vector/host.json
autokernel check ./vector --size 1000 --configs 2 --quiet | grep -E '^[0-9] of'
echo "-- OpenMP"
cat >half.c <<'C'
/* #pragma omp parallel is what this comment names */
#include <omp.h>
static float halved(float x) { return x / 2; }
void half(const float *x, float *y, int n)
{
#pragma omp parallel for num_threads(NT) \
    schedule(static, CHUNK)
    for (int i = 0; i < n; i++) {
        y[i] = omp_get_num_threads() == NT ? halved(x[i]) : 0;
    }
}
C
run autokernel new kernel half --from half.c | grep -E '^(OpenMP|the macro|compilers|exit)'
tr -d ' \n' <half/host.json | grep -oE '"COMPILER".*"compiler"|"Threads":[^,}]*'
sed -i 's/"TuningParameters": \[/&{"Name": "NT", "Values": [1, 2]}, {"Name": "CHUNK", "Values": [64]},/' half/host.json
sed -i 's/^}/    for (int64_t i = 0; i < n; i++) {\n        y[i] = x[i] \/ 2;\n    }\n}/' half/reference.c
sed -i 's/"default",$/"reference.c",/' half/problem.json
autokernel check ./half --size 1000 --threads 2 --config NT=1 --config NT=2 --quiet | grep -E '^(2 of 2|wrong)'
sed 's/^#pragma.*/_Pragma("omp parallel for")/; /schedule/d; s/omp_get_num_threads() == NT/1/' half.c >operator.c
autokernel new kernel operator --from operator.c | grep -E '^(OpenMP|the macro)'
sed 's/^#pragma.*/#pragma omp simd safelen(LEN)/; /schedule/d; /omp.h/d; s/omp_get_num_threads() == NT/1/' half.c >vectors.c
autokernel new kernel vectors --from vectors.c | grep -E '^(OpenMP|the macro|compilers)'
tr -d ' \n' <vectors/host.json | grep -oE '"CompilerOptions":[^]]*.|"COMPILER".*"compiler"|"Threads":[^,}]*'
sed 's/^#pragma.*/#pragma GCC unroll UNROLL/; /schedule/d; /omp.h/d; s/omp_get_num_threads() == NT/1/' half.c >unrolled.c
autokernel new kernel unrolled --from unrolled.c | grep -E '^(OpenMP|the macro)'
sed -i 's/"-march=native"/&, "-fopenmp"/' vectors/host.json
run autokernel check ./vectors
echo "-- macros that only conditions use, and a size with a name of expressions"
cat >modes.c <<'C'
#ifdef WIDE
#endif
void modes(const float *x, float *y, int n, int eps)
{
    for (int i = 0; i < n; i++) {
#if MODE == 1 && (defined(FAST) || defined SLOW)
        y[i] = x[i] * eps;
#elif STYLE
        y[i] = x[i] + eps;
#endif
#if DEBUG
        y[i] = 0;
#endif
    }
}
C
run autokernel new kernel modes --from modes.c | grep -E '^(the macro|.*taken for sizes|exit)'
echo "-- what is not understood"
echo 'void twice(const float *x, float *y, int n, int n) { y[0] = x[0]; }' >twice.c
run autokernel new kernel bad --from twice.c
echo 'int x;' >none.cu
run autokernel new kernel bad --from none.cu
echo 'kernel void f(local float *x, global float *y) {}' >local.cl
run autokernel new kernel bad --from local.cl
echo '__global__ void f(const float *x, int n) {}' >const.cu
run autokernel new kernel bad --from const.cu
echo 'template <typename T> __global__ void f(float *x, int n) {}' >type.cu
run autokernel new kernel bad --from type.cu
echo 'void f(struct a *x, int n) {}' >struct.c
run autokernel new kernel bad --from struct.c
echo '/* void f(float *x) {' >comment.c
run autokernel new kernel bad --from comment.c
run autokernel new kernel bad --from kernel.f90
run autokernel new kernel bad --from gone.cu
echo 'void f(const float *x, float **y, int n) {}' >stars.c
run autokernel new kernel bad --from stars.c
echo 'void (const float *x, float *y, int n) {}' >nameless.c
run autokernel new kernel bad --from nameless.c
printf 'void f(const float *x, float *y, int n) {}\0' >nul.c
run autokernel new kernel bad --from nul.c
printf 'int zero;\0' >nul.h
printf '#include "nul.h"\nvoid f(const float *x, float *y, int n) {}\n' >includes_nul.c
run autokernel new kernel bad --from includes_nul.c
echo 'float dot(const float *x, const float *y, int n) { return x[0] * y[0]; }' >dot.c
run autokernel new kernel bad --from dot.c
mkdir folder.c
run autokernel new kernel bad --from folder.c
run autokernel tune tile.cu
touch kernel.f90
run autokernel check kernel.f90
sed 's/vector_add\.c"/gone.c"/' t1/vector_add_c.t1.json >t1/bad.t1.json
run autokernel new kernel bad --from t1/bad.t1.json
run autokernel new kernel tiled --from tile.cu
ls -d bad
echo "-- a device is chosen that the kernel has an implementation for"
echo 'kernel void twice(global const float *x, global float *y, int n) { int i = get_global_id(0); if (i < n) y[i] = 2 * x[i]; }' >twice.cl
autokernel new kernel twice --from twice.cl >/dev/null
autokernel list ./twice 2>&1 | grep -E '^twice|for opencl devices' | sed 's/.* on opencl:.*/on OpenCL/; s/.* is for opencl devices.*/on OpenCL/'
run autokernel list ./twice --device host
echo "-- what C++ and CUDA files have: marks, brackets in letters, templates beside templates, qualifiers"
export AUTOKERNEL_FINISH_TIME=0.02
printf '\xef\xbb\xbf#ifdef __cplusplus\r\nextern "C" {\r\n#endif\r\nstatic int odd(char c) { return c == 123 || c == '"'{' || c == '\"'"'; }\r\nvoid twice(float const *x, float *const y, unsigned long n)\r\n{\r\nfor (unsigned long i = 0; i < n; i++) y[i] = 2 * x[i] + odd(65);\r\n}\r\n#ifdef __cplusplus\r\n}\r\n#endif\r\n' >marked.c
run autokernel new kernel marked --from marked.c | grep -E '^(wrote|autokernel|exit)'
autokernel check ./marked --size 100 --configs 1 --quiet | grep -E '^[0-9] of'
cat >beside.cpp <<'C'
template <int STEP> struct step {
    static constexpr int value = STEP;
};
template <int STEP = 4, bool TWICE = (STEP > 2)>
void scale(const float *x, float *y, int n = 10)
{
    for (int i = 0; i < n; i++) y[i] = (TWICE ? 2 : 1 + 1) * x[i] * step<STEP>::value / STEP;
}
C
run autokernel new kernel beside --from beside.cpp | grep -E '^(wrote|autokernel|exit)'
autokernel list ./beside | grep -E '^(STEP|TWICE|size)'
autokernel check ./beside --size 100 --configs 3 --quiet | grep -E '^[0-9] of'
cat >odd.cu <<'C'
template <int BLOCK> static __global__ void f(const float *x, float *y, unsigned long n, int m);
template <int BLOCK> __device__ float twice(float x) { return BLOCK * x; }
# ifndef ITEMS
# define ITEMS (0x4)
# endif
#if !defined(WIDE)
#define WIDE 2u
#endif
template <uint32_t BLOCK = 64> static __global__ __launch_bounds__(BLOCK) void f(const float *x, float *y, unsigned long n,
                                                                          int m = 3)
{
    extern __shared__ float part[];
    part[threadIdx.y] = x[threadIdx.x];
    y[threadIdx.x] = twice<BLOCK>(part[threadIdx.x]);
}
C
run autokernel new kernel odd --from odd.cu | grep -E '^(wrote|kernel|launch|shared|autokernel|exit)'
cat odd/odd.cu
autokernel list ./odd --device cuda:H200 | grep -E '^(BLOCK|ITEMS|WIDE|size|argument)'
tr -d ' \n' <odd/cuda.json | grep -o '"Arguments".*' | sed 's/}}}*$//'
bad() { echo "$1" >bad.cu; run autokernel new kernel bad --from bad.cu; }
bad '__global__ void f(const bool *x, float *y, int n) {}'
bad '__global__ void f(const long double *x, float *y, int n) {}'
bad 'template <> __global__ void f(float *y, int n) {}'
bad 'template <float BLOCK> __global__ void f(float *y, int n) {}'
bad 'template <int> __global__ void f(float *y, int n) {}'
bad 'template <int A, bool X> __global__ void f(float *y, bool X> __global__ void f(float *y, int n) {}'
bad '__global__ void größe(float *y, int n) {}'
bad '__global__ void f(void) {}'
bad '__global__ void f(float *y, int a, int b, int c, int d, int e, int g, int h, int i, int j) {}'
bad '__global__ void f(const float *x, int n);'
echo 'namespace a { void f(const float *x, float *y, int n) {} }' >inside.cpp
run autokernel new kernel bad --from inside.cpp
echo "-- whole numbers of every width, as C, CUDA and OpenCL spell them"
types() { grep -A 1 '"name": "[a-i]"' typed/problem.json | sed -n 's/.*"dtype": "\(.*\)",/\1/p' | tr '\n' ' '; grep -ohE '"(U?Int[0-9]+|Float[0-9]+)": ?"[a-z0-9]+"' typed/*.json | tr -d '\n' | sed 's/""/" "/g; s/: "/:"/g'; echo; rm -r typed; }
cat >typed.c <<'C'
#include <stddef.h>
#include <stdint.h>
void typed(const unsigned char *a, const signed char *b, const char *c, const uint16_t *d, const short int *e, uint32_t *f,
           unsigned long long *g, long *h, const size_t *i, uint8_t low, int16_t step, unsigned n, size_t m, double x) {}
C
autokernel new kernel typed --from typed.c >/dev/null
types
cat >typed.cu <<'C'
__global__ void typed(const uint8_t *__restrict__ a, const std::int8_t *b, unsigned short *c, unsigned int *d, long long *e,
                      unsigned long *f, unsigned char low, unsigned int n, unsigned long long m) {}
C
autokernel new kernel typed --from typed.cu >/dev/null
types
cat >typed.cl <<'C'
__kernel void typed(__global const uchar *a, __global const char *b, __constant ushort *c, __global short *d, __global uint *e,
                    __global ulong *f, __global long *g, uchar low, ulong n) {}
C
autokernel new kernel typed --from typed.cl >/dev/null
types
echo "-- what a kernel reads first is inout, but not what it has written before"
access() { autokernel new kernel reads --from "$1" >/dev/null; tr -d ' \n' <reads/problem.json | grep -oE '"name":"[a-z_]*","dtype"[^}]*"access":"[a-z]*"|"bytes":"[^"]*"' | sed 's/,.*,/ /'; rm -r reads; }
cat >reads.c <<'C'
#include <string.h>
void axpy(const float *x, float *y, float *in, float *z, float *w, float *last, float *sum, float a, int n)
{
    *last = 0;
    memset(sum, 0, sizeof *sum * n);
    for (int i = 0; i < n; i++) {
        y[i] += a * x[i];
        in[i] = 2 * in [ i ];
        z[n - 1 - i] = 0;
        z[i] += x[i];
        sum[i] += x[i];
        w[n - 1 - i] = x[i] == a;
        *last = x[i];
    }
}
C
access reads.c
echo '__global__ void count(const int *x, int *bins, int n) { atomicAdd(&bins[x[threadIdx.x]], 1); }' >reads.cu
access reads.cu
echo 'kernel void count(global const int *x, global int *bins, int n) { atomic_add(bins + x[get_global_id(0)], 1); }' >reads.cl
access reads.cl
echo "-- a folder whose kernel has another name, or takes other types"
autokernel new kernel named --from reads.c >/dev/null
sed -i 's/"axpy",/"axpi",/' named/host.json
run autokernel list ./named
sed -i 's/"axpi",/"axpy",/; s/float \*z/double *z/' named/host.json named/reads.c
run autokernel list ./named
sed -i 's/double \*z/REAL *z/' named/reads.c
autokernel list ./named | grep -c '^named '
autokernel new kernel counts --from reads.cu >/dev/null
sed -i 's/int n/long long n/' counts/reads.cu
run autokernel list ./counts --device cuda:H200
echo "-- shapes follow from the indices; where those are not plain, an array gets the product of all sizes"
shapes() {
    autokernel new kernel shaped --from "$1" | grep -E '^(shapes|the size at)'
    [ $# -eq 1 ] || autokernel check ./shaped --configs 1 --quiet 2>&1 | grep -E '^[0-9] of|^autokernel'
    tr -d ' \n' <shaped/problem.json | grep -oE '"shape":\["[^"]*"' | sed 's/"shape":\["/ /; s/"//' | tr -d '\n'
    tr -d ' \n' <"$(ls shaped/host.json shaped/cuda.json 2>/dev/null)" | grep -oE '"Grid":[^]]*'
    echo
    rm -r shaped
}
cat >deep.c <<'C'
void deep(const float *in, float *out, int nz, int ny, int nx)
{
    for (int z = 0; z < nz; z++)
        for (int y = 0; y < ny; y++)
            for (int x = 0; nx > x; x++) {
                long i = ((long)z * ny + y) * nx + x;
                out[i] = 2 * in[i];
            }
}
C
shapes deep.c checked
cat >product.c <<'C'
void product(const float *A, const float *B, const float *bias, float *C, float *first, int M, int N, int K)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = bias[j];
            for (int k = 0; k < K; k++) sum += A[i * K + k] * B[k * N + j];
            C[i * N + j] = sum;
        }
    first[0] = A[0];
    first[1] = 2;
}
C
shapes product.c checked
cat >far.c <<'C'
void far(float *out, const float *in_, float *first, int n, int m)
{
    for (int i = 0; i < n; i++) {
        int j = i;
        j <<= 1;
        out[j] = in_[i];
        out[j + 1] = in_[i];
    }
    for (int k = 0; k < 2 * n; k++) first[k] = in_[0];
    if (m > 3) out[0] = m;
}
C
shapes far.c checked
cat >filter.c <<'C'
#include <stddef.h>
void filter(const float *image, const float *weight, float *out, int h, int w, int channels, int k)
{
    for (int c = 0; c < channels; c++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                float sum = 0;
                for (int dy = 0; dy < k; dy++)
                    for (int dx = 0; dx < k; dx++)
                        sum += weight[(c * k + dy) * k + dx] * image[((size_t)c * (h + k - 1) + y + dy) * (w + k - 1) + x + dx];
                out[((size_t)c * h + y) * w + x] = sum;
            }
}
C
shapes filter.c checked
cat >vague.c <<'C'
#define AT(i) hidden[(i) * n]
void vague(const float *hidden, const int *rows, const float *val, const float *far, float *out, float *tail, float *sum, int n, int m)
{
    int pos = 0, off = 0;
    for (int r = 0; r < n; r++) {
        int end = rows[r + 1];
        for (int k = rows[r]; k < end; k++) out[pos++] = val[k] + AT(r);
        off += m;
        tail[off - 1] = far[rows[r]];
        *sum = 0;
    }
}
C
shapes vague.c
cat >tiles.cu <<'C'
template <int TILE> __global__ void mm(const float *A, const float *B, float *C, float *blocks, int M, int N, int K)
{
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x, b = blockIdx.z;
    float sum = 0;
    if (row >= M || col >= N) return;
    for (int k0 = 0; k0 < K; k0 += TILE)
        for (int k = 0; k < TILE; k++) if (k0 + k < K) sum += A[row * K + k0 + k] * B[(k0 + k) * N + col];
    C[row * N + col] = sum;
    blocks[b * N + col] = sum;
}
C
shapes tiles.cu
echo "-- a sum of bytes with many terms is whole, and no objective counts twice"
{
    echo 'void many(int number_of_rows_of_a_matrix_of_single_precision, int number_of_columns_of_a_matrix_of_single_precision'
    i=0
    while [ $i -lt 13 ]; do
        echo ", const float *source_of_numbers_$i"
        i=$((i + 1))
    done
    echo ', float *sums) { for (long i = 0; i < (long)number_of_rows_of_a_matrix_of_single_precision * number_of_columns_of_a_matrix_of_single_precision; i++) sums[i] = source_of_numbers_0[i]; }'
} >many.c
autokernel new kernel many --from many.c >/dev/null
grep -o '"bytes": .*' many/problem.json | grep -o '\*4' | wc -l
autokernel list many --set objective=energy,objective=edp
echo "exit $?"
