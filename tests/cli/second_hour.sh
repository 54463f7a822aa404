# What a new user stumbled over in an hour on 2026-11-28, the second one.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
autokernel tune softmax --size rows=16,cols=128 --evals 3 --quiet >/dev/null 2>&1
echo "-- a trial that the kernel or the options do not select"
autokernel export matmul --format bundle --config '#1'
autokernel export softmax --format bundle --config '#1' --size rows=5,cols=1024
autokernel export softmax --format bundle --config '#1' --dtype bf16
autokernel export softmax --format bundle --config '#1' --size rows=16,cols=128
autokernel new kernel mine >/dev/null
autokernel tune ./mine --config '#1' --evals 2
echo "-- a finish outlives two imports"
best() { autokernel best softmax --json "$@" | grep -o '"ms": *[0-9.e-]*' | head -n 1; }
best >first.txt
autokernel export softmax --format json --output 1.json >/dev/null
autokernel import 1.json --archive one.db >/dev/null
autokernel export softmax --format json --archive one.db --output 2.json >/dev/null
autokernel import 2.json --archive two.db >/dev/null
best --archive one.db | cmp - first.txt && best --archive two.db | cmp - first.txt && echo the same
echo "-- a bench of the winner leaves the winner its run"
autokernel export softmax >/dev/null
for i in 1 2 3; do autokernel bench softmax --config @best_config.json --quiet >/dev/null 2>&1; done
autokernel best softmax --json | grep -c '"run": *null'
echo "-- an empty file is no archive, and stays as it is"
: >empty.c
autokernel history --archive empty.c | head -n 1
wc -c <empty.c
echo "-- names, addresses and hints"
autokernel new kernel "$(printf 'a%.0s' $(seq 64))"
autokernel llm check --llm compatible:x --llm-url "http://127.0.0.1:1/a b"
mkdir 'my dir'
autokernel new kernel 'my dir/second' | grep next:
echo "-- a server that nobody reaches"
autokernel tune softmax --size rows=16,cols=128 --evals 3 --llm compatible:x --llm-url http://127.0.0.1:1 2>&1 |
    grep -o 'given up, the run ended.*Failed to connect\|cannot be reached\|Failed to connect' | head -n 1 |
    grep -o 'Failed to connect'
echo "-- jobs that would all fail"
autokernel fleet batch nosuch --sizes 1 2>&1 | cut -c1-40
autokernel fleet batch softmax --sizes '0'
autokernel fleet batch softmax --sizes 'rows=5,cols=7' --dtype f33
autokernel fleet batch softmax --sizes 'rows=5,cols=7' --device cuda:7 | tail -n 1
