# Mistakes on the command line: one line that names the nearest right word, and exit code 2.
try() { autokernel "$@"; echo "exit $?"; }
try
try hsitory
try tuen matmul
try nonsense
try --json list
try ''
try tune
try tune --help=false
try tune matmul softmax
try list matmul softmax
try doctor here
try tune matmul --evls 3
try tune matmul --frobnicate
try tune matmul --evals
try tune matmul --evals --json
try tune matmul --evals=
try tune matmul --evals 0
try tune matmul --evals 1.5
try tune matmul --evals 99999999999999999999
try tune matmul --time 5x
try tune matmul --time -3
try tune matmul --target-speedup nan
try tune matmul --quiet=perhaps
try tune matmul -x
try tune matmul --size ''
try new module x
try new kernel
try help tuen
try history --status okk
try history --limit 0
try report --format exel
try report --format md --json
try export matmul --format exel
try import trials.txt
try best --size 64
try list --size 64
try list --dtype f32 --json
try report one --run another
try worker --foo
