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
try history --status bad
try history --limit 0
try report --format exel
try report --format md --json
try export matmul --format exel
try import trials.txt
try check matmul --size M=8,N=8 --config NOSUCH=1 2>&1 | head -n 1 # a size left out is no secret
try bench softmax --sizes '8;rows=3' --config NOSUCH=1 2>&1 | head -n 1
autokernel tune softmax --sizes '8;rows=3;rows=4,cols=4;cols=5' --strategy nosuch 2>&1
echo "neither JSON nor a kernel" >notes.txt
try tune notes.txt
try simulate notes.txt
try best --size 64
try list --size 64
try list --dtype f32 --json
try report one --run another
try worker --foo
echo "--- options that do nothing without another one"
try tune matmul --workers 2
try bench matmul --workers 2-4
try fleet status --workers 2
try tune matmul --llm-budget 1
try study matmul --generations 2
try tune matmul --dispatch 2
try bench matmul --libraries none
try bench matmul --protocol burst
try bench matmul --time 5
try history --output folder
AUTOKERNEL_LLM_BUDGET=1 AUTOKERNEL_WORKERS=2 try llm check # settings hold for other commands too
echo "--- options that another verb, format or operand needs"
try bundle show a.akb --max-slowdown 5%
try llm show --llm openai:gpt-5
try llm check --archive a.db
try fleet status --launcher slurm --sizes 64
try export matmul --format t1 --config '#1'
try export matmul --table
try compare 0123456789abcdef --impl host
try compare 0123456789abcdef0 # longer than the id of a run: a kernel
try compare matmul --format html
try history --source '#1' --status ok
try study matmul --space a.json
try new kernel k --from a.cu --cuda
try new kernel k --triton --cuda
autokernel new kernel tri --triton >/dev/null
try check ./tri/
