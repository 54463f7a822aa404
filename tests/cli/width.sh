# Tests that no command prints lines wider than the terminal, at 80 and at 100 columns, and that a pipe gets
# whole lines. The archive is made once: a real run, trials with long texts, and a recording.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
recording=$TESTS/../../bench/recordings/matmul.json.gz
cp "$recording" recording.json.gz
cat >trials.csv <<'CSV'
name,ms,status,config,device,size,dtype,tflops,reason
a_kernel_with_a_rather_long_name,0.0012345,ok,"PARAMETER_ONE=1,PARAMETER_TWO=2,PARAMETER_THREE=3,PARAMETER_FOUR=4,PARAMETER_FIVE=5",host,"ROWS=100000,COLUMNS=2000000,DEPTH=300000",f32,1.5,
a_kernel_with_a_rather_long_name,,compile_error,"PARAMETER_ONE=9,PARAMETER_TWO=9",host,"ROWS=100000,COLUMNS=2000000,DEPTH=300000",f32,,"candidate.c:17:23: error: something that a compiler says at length about a line that it does not like and goes on about"
行列,0.5,ok,"幅=16,深さ=4",host,"行=8",f32,0.1,
CSV
autokernel import trials.csv >/dev/null
cat >commands <<'COMMANDS'
autokernel tune matmul --size 32 --evals 2 --fix MR=4,K_UNROLL=1,PASSES=O2 --libraries none
autokernel
autokernel --version
autokernel help
autokernel hsitory
autokernel tune matmul --evls 3
autokernel tune matmul --size M=1,N=2 --a-very-long-option-that-nobody-has-ever-heard-of-anywhere
autokernel list
autokernel list matmul
autokernel list softmax
autokernel list matmul --impl cuda_sm90 --dtype bf16 --device cuda:H200
autokernel list there-is-no-kernel-of-this-name
autokernel doctor
autokernel history
autokernel history --status compile_error
autokernel best
autokernel best matmul
autokernel stats
autokernel stats matmul
autokernel report
autokernel report --format text
autokernel export matmul --size 32 --output best.json
autokernel export matmul --size 33 --output best.json
autokernel import nowhere.csv
autokernel import trials.csv --archive ./second.db
autokernel check matmul --size 32 --fix MR=4,K_UNROLL=1,PASSES=O2 --configs 0
autokernel bench matmul --size 32 --fix MR=4,K_UNROLL=1,PASSES=O2
autokernel compare matmul --size 32 --fix MR=4,K_UNROLL=1,PASSES=O2 --time 0.1s --libraries openblas
autokernel tune recording.json.gz --device sim --evals 5
autokernel simulate recording.json.gz --strategy random,local --repeats 2 --score
autokernel simulate recording.json.gz --repeats 2
autokernel study recording.json.gz --arms random,local --seeds 2 --evals 10 --quiet
autokernel llm check
autokernel llm show
rm -rf made; autokernel new kernel made
COMMANDS
autokernel help --json | tr '{' '\n' |
    sed -n 's/.*"name": *"\([a-z]*\)".*"summary".*/autokernel \1 --help/p' >>commands
for width in 80 100; do
    python3 "$TESTS/pty_run.py" $width commands
    sed -i -E 's,^autokernel (tune|compare) matmul --size 32 .*,,' commands # once is enough
done
# A terminal that becomes narrower while a bar is drawn on it; COLUMNS overrides what it says.
python3 - "$TESTS" <<'PYTHON'
import sys
sys.path.insert(0, sys.argv[1])
import pty_run
code, text = pty_run.run("autokernel tune recording.json.gz --device sim --evals 2000", 120, resize_to=40)
late = pty_run.lines_of(text)[-12:]
print("resized: exit", code, "the last lines fit" if max(map(pty_run.width_of, late)) <= 40 else late)
print("a rate that is not known:", ", -" in text) # of a recording
code, text = pty_run.run("COLUMNS=60 autokernel best", 200)
print("COLUMNS:", max(map(pty_run.width_of, pty_run.lines_of(text))) <= 60)
PYTHON
# A pipe: one line a trial, with all of its configuration.
autokernel best | grep -c 'a_kernel_with_a_rather_long_name .*PARAMETER_ONE=1,.*PARAMETER_FIVE=5$'
COLUMNS=40 autokernel history --status compile_error | grep -c ' compile_error .*goes on about$'
# A report is folded there, too, if COLUMNS says how wide.
COLUMNS=80 autokernel report --format text | PYTHONUTF8=1 python3 -c '
import sys
print(sum(len(line) > 81 for line in sys.stdin), "lines are wider than 80")'
