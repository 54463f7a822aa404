# The page of examples/kernels/transpose as far as it needs no GPU. The kernel runs with threads of the processor.
command -v g++ >/dev/null || { echo "no g++"; exit 77; }
cp -r "$TESTS/../../examples/kernels/transpose" .
autokernel new kernel mine --from transpose/program.cu | grep -E '^(values|shapes|access|launch|host code|reference)' | cut -d : -f 1
autokernel list ./mine --device cuda:H200 | grep -E '^(TILE|ROWS|argument)'
autokernel list ./transpose --device cuda:H200 | grep -E '^(TILE|ROWS|argument|size|Cartesian)'
echo "-- transpose.cu is the copy without its host code"
sed -n '/^\/\/ A block/,/^}/p' mine/program.cu | sed '2{/^$/d}' | diff - transpose/transpose.cu && echo same
echo "-- what the kernel computes"
cat >try.cpp <<'C'
#include "blocks.h"
#include "transpose.cu"

int main()
{
    const int sizes[][2] = {{1, 1}, {1, 70}, {65, 31}, {97, 129}};
    for (const auto &size : sizes) {
        const int height = size[0], width = size[1];
        std::vector<float> from(height * width), to(height * width + 1, -1.0f);
        for (int i = 0; i < height * width; i++) {
            from[i] = (float)i;
        }
        run({(unsigned)(width + TILE - 1) / TILE, (unsigned)(height + TILE - 1) / TILE}, {TILE, ROWS},
            [&] { transpose(from.data(), to.data(), height, width); });
        bool right = to[height * width] == -1.0f;
        for (int y = 0; y < height; y++) {
            for (int x = 0; x < width; x++) {
                right = right && to[x * height + y] == from[y * width + x];
            }
        }
        std::printf("%d x %d: %s\n", height, width, right ? "right" : "wrong");
    }
}
C
for values in "16 4" "48 2"; do
    set -- $values
    g++ -O1 -std=c++17 -pthread -DTILE=$1 -DROWS=$2 -I"$TESTS" -Itranspose try.cpp -o try && ./try
done
sed -i 's/tile\[threadIdx.x\]\[threadIdx.y + i\]/tile[threadIdx.y + i][threadIdx.x]/' transpose/transpose.cu
g++ -O1 -std=c++17 -pthread -DTILE=16 -DROWS=4 -I"$TESTS" -Itranspose try.cpp -o try && ./try | tail -n 1
