# Tests a recording in place of a device: tune, report and history on its clock, the same bytes for the same
# seed, a language model that is replayed, a kernel of our own, and mistakes.
cp "$TESTS"/../data/recordings/tiny.json .
cp "$TESTS"/../../bench/recordings/matmul.json.gz .
echo "- a recording by itself"
autokernel tune tiny.json --device sim --evals 5 --seed 3 2>&1
autokernel history tiny --limit 2 --device sim
autokernel report | sed -n '/^Run/,/trials/p'
echo "- what was measured is apart from what was simulated"
autokernel tune tiny.json --device sim:tiny.json --evals 4 --archive both.db --quiet >/dev/null
autokernel stats tiny --archive both.db | head -1
autokernel best tiny --archive both.db
autokernel import tiny.json --format kernel-tuner --archive both.db | head -1
autokernel stats tiny --archive both.db | head -1
autokernel stats tiny --archive both.db --device sim | head -1
autokernel history --archive both.db --limit 1000 | grep -c 'sim:'
autokernel history --archive both.db --device sim --limit 1000 | grep -c 'sim:'
autokernel history --archive both.db --limit 1 | grep 'left out'
autokernel best --archive both.db | grep -c 'left out'
autokernel history --archive both.db --device sim --limit 1 | grep -c 'left out'
autokernel best tiny --archive both.db | sed -n 2p | grep -c 'sim:'
autokernel export tiny --archive both.db --output both.json
grep -c 'sim:' both.json
autokernel export tiny --archive both.db --format kernel-tuner | grep -c '"time"'
autokernel export tiny --archive both.db --format csv | grep -c 'sim:'
autokernel simulate both.db --strategy random | sed -n 2p
echo "- recorded times are compared as they are: nothing took part twice"
autokernel compare tiny.json --device sim --archive none.db --config x=2,y=3 --config x=4,z=a | sed -n '2,5p'
autokernel compare tiny.json --device sim --archive none.db --config x=2,y=3 --config x=4,z=a --json | grep -o -E '"(ratio_ci|verdict|undecided_because|control|during)":[^,]*' | sort | uniq -c | sed 's/^ *//'
echo "- the same bytes"
for i in 1 2; do
    autokernel tune tiny.json --device sim:tiny.json --strategy local --evals 30 --archive $i.db --events $i.events --quiet >/dev/null
    autokernel export tiny --archive $i.db --device sim --format json --output $i.json >/dev/null
    autokernel export tiny --archive $i.db --device sim --format csv --output $i.csv >/dev/null
done
grep -c sim: 1.csv
cmp 1.events 2.events && cmp 1.json 2.json && cmp 1.csv 2.csv && echo same
echo "- but for ids the same again in an archive that has the run"
cp 1.db twice.db
autokernel tune tiny.json --device sim:tiny.json --strategy local --evals 30 --archive twice.db --events 3.events --quiet >/dev/null
ids='s/"run": *"[0-9a-f]*"//; s/"\(id\|trial\|parent\)": *[0-9]*/"\1"/g'
cmp -s 1.events 3.events || { cmp <(sed "$ids" 1.events) <(sed "$ids" 3.events) && echo same; }
echo "- again, by the report's own command"
eval "$(autokernel report --archive 1.db | grep -o 'autokernel tune .*' | head -1) --archive again.db --quiet" | tail -n +2 | head -1
echo "- as a simulation"
autokernel simulate tiny.json --strategy exhaustive --repeats 1 --evals 36 --time 1h --json | grep -o '"best":[0-9.]*\|"seconds":[0-9.]*'
autokernel tune tiny.json --device sim --strategy exhaustive --evals 36 --json --quiet | grep -o '"median_ms":[0-9.]*\|"seconds":[0-9.]*' | head -2
echo "- a resumed run counts on"
autokernel tune tiny.json --device sim:tiny.json --evals 6 --archive both.db --resume 2>&1 | grep -o '^[0-9]*/[0-9]*'
echo "- replies take their time"
cat >answers.jsonl <<'END'
{"text": {"proposals": [{"hypothesis": "wider", "expected_gain_pct": 9, "parent": null, "changes": {"x": 4, "y": 3}}]}, "elapsed_ms": 60000}
END
autokernel tune tiny.json --device sim --strategy llm:fill=0 --generations 1 --evals 4 --llm replay:answers.jsonl 2>&1 | grep 'replay\|configurations in'
echo "- our own export of a kernel that is not here keeps its options"
sed '0,/{/s//{ "autokernel": {"device": "host", "implementation": "host", "size": "H=64,W=32", "dtype": "f32", "choices": "norm=mean,radius=2"},/' tiny.json >own.json
autokernel tune own.json --device sim --evals 5 --archive own.db --json --quiet | grep -o '"choices":"[^"]*"'
eval "$(autokernel report --archive own.db | grep -o 'autokernel tune .*' | head -1) --json --quiet" | grep -o '"choices":"[^"]*"'
autokernel best --device sim --archive own.db | grep -o 'norm=mean,radius=2'
echo "- a kernel that was recorded"
autokernel tune matmul --device sim:matmul.json.gz --evals 12 --quiet | head -5
autokernel tune matmul.json.gz --device sim --impl host --evals 2 --archive impl.db --quiet | grep -o 'implementation.*'
autokernel tune matmul --device sim:matmul.json.gz --evals 2 --archive impl.db --quiet | grep -o 'implementation.*'
autokernel best --device sim --archive impl.db | grep -c ' on sim:host '
echo "- a result from a recording is not sent to be measured"
autokernel export matmul --device sim:matmul.json.gz
autokernel bench matmul --config @best_config.json
echo "- as a recording again"
autokernel simulate 1.db --strategy exhaustive --repeats 1 --evals 30 --time 1h | sed -n '2p'
echo "- what is wrong"
autokernel tune tiny.json --device sim:nowhere.json; echo $?
autokernel tune matmul --device sim; echo $?
autokernel tune matmul --device sim:tiny.json; echo $?
autokernel tune softmax --device sim:matmul.json.gz; echo $?
autokernel tune matmul --device sim:matmul.json.gz --size 256; echo $?
autokernel tune tiny.json --device sim --fix x=1; echo $?
for option in '--finish-time 1' --sanitize; do
    autokernel tune tiny.json --device sim --evals 3 $option; echo $?
done
autokernel tune tiny.json --device sim --libraries openblas; echo $?
autokernel tune tiny.json --device sim --protocol burst; echo $?
autokernel tune tiny.json --device sim --target-speedup 2; echo $?
AUTOKERNEL_TARGET_SPEEDUP=2 autokernel tune tiny.json --device sim --evals 3 --json --quiet | grep -o '"evaluated":3'
autokernel tune tiny.json; echo $?
cp "$TESTS"/../data/recordings/tiny.json.gz .
autokernel tune tiny.json.gz; echo $?
autokernel list tiny.json.gz --device host; echo $?
echo "- no record says where the recording lies"
place="$PWD/nobody-needs-to-know"
mkdir "$place"
cp tiny.json "$place"
for kernel in tiny "$place/tiny.json"; do
    autokernel tune "$kernel" --device "sim:$place/tiny.json" --strategy hybrid --evals 8 --archive "$place/db" --events "$place/events" \
        --llm replay:answers.jsonl --json --quiet >"$place/result" 2>&1
done
mkdir "$place/questions"
(
    for i in $(seq 600); do [ -e "$place/questions/0001.prompt.md" ] && break; sleep 0.05; done
    echo '{"proposals": [{"hypothesis": "wider", "expected_gain_pct": 9, "parent": null, "changes": {"x": 4, "y": 3}}]}' \
        >"$place/questions/0001.reply.json"
) &
autokernel study "$place/tiny.json" --device "sim:$place/tiny.json" --arms llm:fill=0,history=0 --seeds 1 --generations 1 --evals 3 --archive "$place/db" \
    --llm "file:$place/questions" --llm-record "$place/tape" --json --quiet >"$place/study" 2>&1
wait
for format in text md json html csv; do
    autokernel report --archive "$place/db" --format $format >"$place/report.$format" 2>&1
done
autokernel history --archive "$place/db" --device sim >"$place/history"
autokernel llm show --archive "$place/db" >"$place/talk"
# next: and report: name the archive, which whoever typed the command has named
sed -i '/^next:/d; s/--archive [^|<"]*//; s/.*nobody-needs-to-know.db.*//' "$place"/report.* "$place/history" "$place/talk"
# The command that repeats a run has to find the recording here; it is no part of the record.
grep -l 'autokernel tune .*nobody-needs-to-know/tiny.json' "$place"/report.* | wc -l
sed -i "s/[^ \"',>]*nobody-needs-to-know[^ \"',<]*//g" "$place"/report.*
ls "$place/tape" | grep -c json
grep -c 'Device a device' "$place/questions/0001.prompt.md"
grep -rl 'nobody-needs-to-know' "$place/events" "$place/result" "$place/questions" "$place/tape" "$place/study" "$place"/report.* "$place/history" \
    "$place/talk" | sed 's/.*know//'
echo "- the command in a report tries what --config named, too"
autokernel tune tiny.json --device sim --evals 3 --seed 3 --config 'x=4,z=a;x=2,y=3' --archive named.db --quiet >/dev/null
again=$(autokernel report --archive named.db | sed -n 's/^  command *//p')
echo "$again" | grep -o -- '--config [^ ]*'
eval "$again --archive repeated.db --quiet" >/dev/null
for i in named repeated; do autokernel export tiny --archive $i.db --device sim --format csv --output $i.csv >/dev/null; done
cmp named.csv repeated.csv && wc -l <repeated.csv
echo "- a recording whose objective is no time"
cat >rate.json <<'END'
{"device_name": "GPU X", "kernel_name": "vadd", "problem_size": "callable", "tune_params_keys": ["bx"],
"tune_params": {"bx": [32, 64]}, "objective": "GFLOP/s", "cache": {
"32": {"bx": 32, "time": 2.0, "GFLOP/s": 10.0, "times": [2.0]},
"64": {"bx": 64, "time": 1.0, "GFLOP/s": 20.0, "times": [1.0]}}}
END
sed 's,GFLOP/s,energy,g' rate.json >energy.json
sed 's/"time": [0-9.]*, //' rate.json >no_time.json
for i in rate energy; do
    autokernel tune $i.json --device sim --archive $i.db --quiet | grep '^best'
    autokernel report --archive $i.db | grep '^  best  \|^  speed\|^  objective'
    autokernel best --device sim --archive $i.db | sed -n 2p
    autokernel export vadd --device sim --archive $i.db --format json | grep -o '"\(choices\|ms\|cost\)":[^,]*'
    for format in kernel-tuner t4; do
        autokernel export vadd --device sim --archive $i.db --format $format --output $i.$format
        grep -o '"objectives*": *[^]]*]\|"time": *[0-9.]*' $i.$format
        autokernel simulate $i.$format --evals 2 --json | grep -o '"\(objective\|optimum\)":[^,]*'
    done
done
eval "$(autokernel report --archive rate.db | grep -o 'autokernel tune .*' | head -1) --archive rate.db --resume --quiet" | head -2
autokernel tune rate.json --device sim --archive rate.db --objective GFLOP/s --quiet | grep '^best'
autokernel tune rate.json --device sim --archive rate.db --objective time --quiet | grep '^best'
autokernel tune no_time.json --device sim
echo "status $?"
echo "- T4 results that name no kernel"
sed 's/"kernel_name":"[a-z]*",//' rate.t4 >nameless.json
autokernel import nameless.json --archive nameless.db --format t4 >/dev/null
autokernel history --device sim --archive nameless.db --json | grep -o '"kernel":"[^"]*"' | head -n 1
autokernel tune nameless.json --device sim --archive nameless.db --quiet | grep -o '^nameless'
autokernel simulate nameless.json --evals 2 --json | grep -o '"kernel":"[^"]*"'
echo "--- options and the name of the recorded device, without a size"
cat >rates.json <<'JSON'
{"kernel_name": "k", "device_name": "dev", "problem_size": 8, "tune_params_keys": ["n"], "objective": "GFLOP/s",
 "cache": {"1": {"n": 1, "time": 2, "GFLOP/s": 10}, "2": {"n": 2, "time": 1, "GFLOP/s": 20}}}
JSON
autokernel tune rates.json --device sim --evals 2 --quiet --archive rates.db >/dev/null
autokernel export k --device sim:dev --set 'objective=max:GFLOP/s' --archive rates.db --format csv --output rates.csv
