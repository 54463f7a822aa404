# Tests a bundle as one .c and one .h: they compile without a warning as C99 and as C++, by both compilers,
# and the test beside them runs without autokernel.
for tool in gcc g++ clang clang++; do command -v $tool >/dev/null || { echo "no $tool"; exit 77; }; done
kernel=$TESTS/../data/kernels/double
autokernel tune "$kernel" --sizes '100;n=200000' --evals 2 --dispatch 2 --quiet >/dev/null 2>&1
autokernel export "$kernel" --table --format c
(cd double_f32 && ls)
cd double_f32
for compiler in gcc clang; do
    $compiler -std=c99 -O1 -Wall -Wextra -pedantic -Werror -c double_f32.c -o $compiler.o || echo "$compiler: warnings"
done
for compiler in g++ clang++; do
    $compiler -x c++ -O1 -Wall -Wextra -pedantic -Werror -c double_f32.c -o $compiler.o || echo "$compiler: warnings"
done
for object in *.o; do
    gcc -O1 -c test_double_f32.c -o test.obj
    g++ test.obj $object -ldl -lm -pthread -o test_$object.out && env -i ./test_$object.out
done
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
autokernel export "$kernel" --table --format c --output -
echo "exit $?"
# Parameters whose names would be the same in C have names of their own.
cd .. && cp -r "$kernel" clash
sed -i 's/"name": "X"/"name": "while_array"/; s/"name": "Y"/"name": "while"/; s/"name": "double"/"name": "clash"/' clash/problem.json
autokernel tune ./clash --sizes '100;200' --evals 2 --dispatch 1 --quiet >/dev/null 2>&1
autokernel export ./clash --table --format c >/dev/null
grep -o '\*while[a-z_]*' clash_f32/clash_f32.h | sort -u && gcc -Wall -Werror -c clash_f32/clash_f32.c -o clash.o && echo "it compiles"
