# The page of examples/kernels/reduction as far as it needs no device. The kernel for CUDA runs with threads of the
# processor.
command -v g++ >/dev/null || { echo "no g++"; exit 77; }
cp -r "$TESTS/../../examples/kernels/reduction" .
for file in reduction.cu reduction.cl; do
    autokernel new kernel mine --from reduction/$file | grep -E '^(values|shapes|access|launch|host code|reference)' | cut -d : -f 1 | tr '\n' ','
    echo
    grep -o '"Name": "[A-Z]*"' mine/*cuda.json mine/opencl.json 2>/dev/null
    rm -r mine
done
autokernel list ./reduction --device cuda:H200 | grep -E '^(THREADS|UNROLL|argument|size|Cartesian)'
cat >try.cpp <<'C'
#include "blocks.h"
#include "reduction.cu"

int main()
{
    for (int cols : {1, 31, 257, 5000}) {
        std::vector<float> x(2 * cols), sums(2);
        for (int i = 0; i < 2 * cols; i++) {
            x[i] = (float)(i % 100);
        }
        run({2, 1}, {THREADS, 1}, [&] { reduction(x.data(), sums.data(), cols); });
        float first = 0, second = 0;
        for (int i = 0; i < cols; i++) {
            first += x[i];
            second += x[cols + i];
        }
        std::printf("%d: %s\n", cols, sums[0] == first && sums[1] == second ? "right" : "wrong");
    }
}
C
for values in "32 16" "128 1"; do
    set -- $values
    g++ -O1 -std=c++17 -pthread -DTHREADS=$1 -DUNROLL=$2 -I"$TESTS" -Ireduction try.cpp -o try && ./try
done
sed -i 's/i < cols ?/i <= cols ?/' reduction/reduction.cu
g++ -O1 -std=c++17 -pthread -DTHREADS=32 -DUNROLL=1 -I"$TESTS" -Ireduction try.cpp -o try && ./try | head -n 1
