# Searches on a recorded space: a table for people, JSON for programs, the same bytes for the same
# seed and any number of threads, and one line for what is wrong. Thinking time is the only figure
# that is measured, so it is left out here.
tiny=$TESTS/../data/recordings/tiny.json
cp "$tiny" tiny.json
cp "$tiny.gz" tiny.json.gz
timeless() { sed -E 's/"ms_per_proposal":[^,}]*(,|)//g'; }
cut_last() { sed -E 's/ +[0-9.]+$//'; }

echo "- for people"
autokernel simulate tiny.json --strategy exhaustive --repeats 2 | cut_last
autokernel simulate tiny.json tiny.json.gz --strategy exhaustive,random --repeats 2 --score | cut_last
echo "- for programs"
autokernel simulate tiny.json --strategy exhaustive --repeats 1 --score --json | timeless
autokernel simulate tiny.json.gz --strategy exhaustive,local --repeats 1 --evals 4 --json | timeless |
    grep -o '"strategy":"[a-z]*"\|"evaluations":[0-9.]*'
echo "- the same bytes"
for jobs in 1 3; do
    autokernel simulate tiny.json --strategy random,local:starts=3,heuristic --score --json --seed 7 --jobs $jobs |
        timeless | tail -c +2 >jobs.$jobs
done
cmp jobs.1 jobs.3 && echo same
echo "- what is wrong"
autokernel simulate tiny.json --strategy magic; echo $?
autokernel simulate tiny.json --strategy random,,local; echo $?
autokernel simulate nothing.json; echo $?
autokernel simulate matmul; echo $?
echo '{"a": 1}' >other.json
autokernel simulate other.json; echo $?
head -c 300 tiny.json.gz >cut.json.gz
autokernel simulate cut.json.gz; echo $?
printf 'SQLite format 3\0garbage' >cut.db
autokernel simulate cut.db; echo $?
head -c 300 tiny.json >cut.json
autokernel simulate cut.json; echo $?
echo "- a cache of Kernel Tuner that is cut short, also with a byte order mark"
printf '{"kernel_name": "k", "tune_params_keys": ["n"], "cache": {"1": {"n": 1, "time": 2}, "2": {"n": 2, "ti' >tail
for mark in '' '\xef\xbb\xbf'; do
    { printf "$mark"; cat tail; } >cut_short.json
    autokernel simulate cut_short.json --evals 1 --strategy random --repeats 1 --json | grep -o '"configurations":[0-9]*'
    autokernel import cut_short.json --archive cut_short.db
    autokernel tune cut_short.json --device sim --evals 1 --archive cut_short.db | grep -i warning
done
autokernel simulate .; echo $?
echo '{"tune_params_keys": ["n"], "cache": {"1": {"n": 1, "time": 2, "compile_time": 100}}}' >one.json
autokernel simulate one.json; echo $?
autokernel simulate one.json --evals 1 --json | grep -o '"evaluations":[0-9.]*'
autokernel simulate; echo $?
echo "- with a kernel's space file"
cp "$TESTS"/../../bench/recordings/matmul.json.gz "$TESTS"/../../kernels/matmul/host.json .
autokernel simulate matmul.json.gz --space host.json --strategy heuristic --repeats 3 --json | grep -o '"configurations":[0-9]*'
autokernel simulate tiny.json --space host.json; echo $?
echo "- and its choices, which the recording does not name: every seed begins with the kernel's default"
for k in matmul matmul_act softmax; do
    for seed in 1 2 3 4; do
        autokernel simulate "$TESTS/../../bench/recordings/$k.json.gz" --space "$TESTS/../../kernels/$k/host.json" \
            --strategy local --evals 1 --repeats 1 --seed $seed --json | grep -o '"best":[0-9.]*'
    done | sort -u
done
echo "- part of a space"
autokernel list softmax --fix VL=8,UNROLL=1:4 | grep -E '^(VL|UNROLL) '
autokernel list softmax --fix UNROL=1; echo $?
autokernel list softmax --fix UNROLL=3; echo $?
echo "- the page"
autokernel simulate tiny.json --strategy local --repeats 1 --format html | head -n 1
autokernel simulate tiny.json --strategy local --repeats 1 --format csv; echo $?
echo "- a small recording"
cat >small.json <<'END'
{"device_name": "GPU X", "kernel_name": "vadd", "tune_params_keys": ["bx"], "tune_params": {"bx": [32, 64, 128]}, "cache": {
"32": {"bx": 32, "time": 2.0, "compile_time": 30, "benchmark_time": 20},
"64": {"bx": 64, "time": 1.0, "compile_time": 30, "benchmark_time": 20},
"128": {"bx": 128, "time": "InvalidConfig", "compile_time": 30}}}
END
autokernel simulate small.json --score --strategy random --repeats 3 | grep -o '[^ ]* s, 1 ev\|^small.*score.*'
autokernel simulate small.json --kernel vadd
autokernel study small.json --arms random,random
echo "status $?"
echo "- where one in twenty configurations takes 200 times as long to try, random search has a score of its own"
awk 'BEGIN {
    srand(7); line = ""
    printf "{\"device_name\":\"D\",\"kernel_name\":\"toy\",\"problem_size\":\"(64,)\",\"tune_params_keys\":[\"a\",\"b\"],\"tune_params\":{"
    for (p = 0; p < 2; p++) {
        printf (p ? ",\"b\":[" : "\"a\":[")
        for (i = 1; i <= 40; i++) printf (i == 1 ? "%d" : ",%d"), i
        printf "]"
    }
    printf "},\"objective\":\"time\",\"cache\":{"
    for (a = 1; a <= 40; a++)
        for (b = 1; b <= 40; b++) {
            t = 1 + 9 * rand()
            cost = (rand() < 0.05) ? 20000 : 100
            comma = (a * b > 1) ? "," : ""
            printf "%s\"%d,%d\":{\"a\":%d,\"b\":%d,\"time\":%.6f,\"times\":[%.6f],\"compile_time\":%d}", comma, a, b, a, b, t, t, cost
        }
    print "}}"
}' >uneven.json
autokernel simulate uneven.json --strategy random --repeats 2 --score | tail -n 1 | sed -E 's/scores 0\.[3-9][0-9] /scores 0.* /'
