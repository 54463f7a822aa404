# Every example that help shows works as written, with less to try and to measure: one configuration,
# small sizes, short comparisons, few libraries. Those of the commands that measure what is tuned have a test of
# their own: examples_measure.sh.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
commands=${commands:-help list doctor tune history best stats export import report new}
# Some of them name the size of an earlier run, which is a small one here.
small=MR=4,K_UNROLL=1,PASSES=O2 # a tile that the compiler needs half the time for
autokernel tune matmul --size 64 --evals 1 --fix $small --libraries none --quiet >/dev/null || echo "tune failed"
autokernel export matmul >/dev/null 2>&1 || echo "export failed"
cp "$TESTS/../../bench/recordings/matmul.json.gz" gemm.json.gz # what the examples call it
cp gemm.json.gz other-machine.json.gz
cat >kernel.cu <<'END'
#define TILE 32
extern "C" __global__ void scale(float *y, const float *x, int n)
{
    int i = blockIdx.x * TILE + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
END
for command in $commands; do
    while IFS= read -r line; do
        line=${line//=512/=64}
        case $line in
        'autokernel tune '*--sizes*) line="${line/256;512;M=64,N=2048/16;M=8,N=64} --evals 2 --libraries none" ;; # one for each
        'autokernel tune '*.gz*' sim '*) line="$line --evals 1" ;;
        'autokernel tune '*' --config '*) line="$line --evals 1 --size 64 --libraries none --fix MR=4,PASSES=O2" ;;
        'autokernel tune '*--size*) line="$line --evals 1 --libraries none" ;;
        'autokernel tune '*) line="$line --evals 1 --size 64 --libraries none" ;;
        'autokernel check softmax '*) line="$line --size 64 --configs 1" ;;
        'autokernel export matmul' | 'autokernel export matmul --format bundle') line="$line --size 64" ;;
        'autokernel check matmul --size 64') line="$line --configs 0" ;;
        'autokernel check ./'*) line="$line --configs 1" ;;
        'autokernel compare '*--config*) line="${line/256/64} --time 0.1s --libraries none" ;;
        'autokernel compare '*M=64*) line="$line --time 0.1s --libraries none" ;; # as without M=
        'autokernel compare '*--sizes*) line="${line/64;96;128/64;96} --time 0.1s --libraries openblas" ;;
        'autokernel compare '*) line="$line --time 0.1s --libraries openblas" ;;
        'autokernel bench '*--baselines*) line="$line --time 0.1s" ;;
        esac
        case $line in
        *--config*) ;;
        'autokernel tune matmul'*) line="$line --fix $small" ;;
        esac
        echo "$line"
        eval "words=($line)"
        "${words[@]}" >out 2>err || { echo "exit $?"; cat err; }
    done < <(autokernel "$command" --help | sed -n '/^examples:/,$s/^  //p')
done
