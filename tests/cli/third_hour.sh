# What a new user stumbled over in an hour on 2026-11-28, the third one.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
python=${TEST_PYTHON:-python3}
autokernel new kernel mine >/dev/null
cp -r mine kept
restore() { rm -rf mine; cp -r kept mine; }
# Puts a line into the kernel: edit FILE FROM TO
edit() { sed "s#$2#$3#" "mine/$1" >edited && ! cmp -s edited "mine/$1" && cp edited "mine/$1" || echo "no edit: $2"; }

echo "-- runs, and ids in short"
autokernel tune softmax --size rows=16,cols=128 --evals 2 --quiet >/dev/null 2>&1
autokernel tune ./mine --size n=1000 --evals 3 --quiet >/dev/null 2>&1
autokernel history --runs
autokernel history --runs --limit 1 | head -n 3
autokernel history softmax --runs --json | grep -o '"kernel":"[^"]*"\|"strategy":"[^"]*"\|"trials":[0-9]*'
autokernel history --runs --status ok
id=$(autokernel history ./mine --runs --json | grep -o '"id":"[0-9a-f]*"' | grep -o '[0-9a-f]\{16\}')
echo "$id" | cut -c5- | sed 's/[0-9a-f]//g;s/^$/16 digits/'
short=$(echo "$id" | cut -c1-6)
autokernel report "$short" | grep -c "$id"
autokernel report --run "$short" | grep -c "$id"
autokernel llm show "$short" | grep -c "$id"
autokernel compare "$short" | grep -c "run $id is of version 1"
autokernel history --run "$short" --json | grep -c "$id"
autokernel report 123 2>&1 | sed 's#^autokernel: .* has no#has no#'

echo "-- a resumed run says what does not count"
echo '/* another version */' >>mine/host.c
autokernel tune ./mine --size n=1000 --evals 4 --resume 2>&1 | grep 'not counted'
AUTOKERNEL_THREADS=2 autokernel tune ./mine --size n=1000 --evals 4 --resume 2>&1 | grep 'not counted'
restore

echo "-- when a run began agrees with how long it took"
autokernel report "$short" --json | "$python" -c '
import json, sys
from datetime import datetime
report = json.load(sys.stdin)
began, ended = [datetime.strptime(report["run"][k], "%Y-%m-%dT%H:%M:%S.%fZ") for k in ("started", "ended")]
apart = (ended - began).total_seconds() - report["seconds"]["wall"]
print("agrees" if abs(apart) < 0.1 else apart)'

echo "-- failed checks"
edit host.c 'for (; i < end; i++)' 'for (; i < end - 1; i++)'
autokernel check ./mine --config default 2>&1 | grep -v '^computing inputs'
restore
edit host.c 'int64_t i = begin;' 'int64_t i = begin; if (w->n > 1025 \&\& w->n != 1000000) { return; }'
autokernel check ./mine --config default --size 1000000 2>&1 | grep -o 'at n=.* drawn at random): Z.* expected\|never written'
restore
edit host.c 'w->z\[i\] = 2.0f \* w->x\[i\] + w->y\[i\];' 'w->z[i] = 2.0f * w->x[i] + w->y[i] + 1.3e-6f;'
autokernel check ./mine --config default 2>&1 | grep -o 'worst 1.*rounding'
restore
edit host.c 'void ak_kernel' 'int leak = 0; void ak_kernel'
edit host.json '"UNROLL", "Type"' '"LEAK", "Type": "int", "Values": [0, 1] }, { "Name": "UNROLL", "Type"'
edit host.c 'int leak = 0;' '\n\#if LEAK\nint leak;\n\#endif\n'
edit host.c 'for (; i < end; i++)' 'for (; i < end - 1; i++)'
autokernel check ./mine --configs 5 --fix UNROLL=4 | grep 'right over'
restore

echo "-- a space file in place of its kernel"
autokernel tune mine/host.json
(cd mine && autokernel list host.json)
autokernel list mine/problem.json | head -n 1

echo "-- results of configurations that are no more"
sed 's/UNROLL/UNROLLED/g' mine/host.json >edited && cp edited mine/host.json
sed 's/UNROLL/UNROLLED/g' mine/host.c >edited && cp edited mine/host.c
autokernel compare ./mine --size n=1000 --time 0.3 2>/dev/null | grep -v '^ \|^[a-z]* *[0-9.]* *[0-9.]* \.\.' |
    grep 'archive\|environments'
restore

echo "-- recordings"
cat >cache.json <<'END'
{"kernel_name": "t", "device_name": "d", "problem_size": [4], "tune_params_keys": ["tile", "flat"], "tune_params": {"tile": [1, 2, 4], "flat": [true, false]}, "objective": "time", "cache": {"1,True": {"tile": 1, "flat": true, "time": 4.0, "compile_time": 9}, "2,True": {"tile": 2, "flat": true, "time": 3.0, "compile_time": 9}, "4,True": {"tile": 4, "flat": true, "time": 1.0, "compile_time": 9}, "1,False": {"tile": 1, "flat": false, "time": 2.5, "compile_time": 9}, "2,False": {"tile": 2, "flat": false, "time": 5.0, "compile_time": 9}, "4,False": {"tile": 4, "flat": false, "time": 2.0, "compile_time": 9}}}
END
sed 's/"tile": 4, "flat": true/"tile": 3, "flat": true/' cache.json >other.json
autokernel simulate other.json
autokernel import other.json --archive new.db
sed 's/"tile": 2, "flat": false/"tile": 2, "flat": true/' cache.json >other.json
autokernel simulate other.json
sed 's/"4,True"/"4,Maybe"/' cache.json >other.json
autokernel simulate other.json | sed -n 2p
head -c 560 cache.json >cut.json
autokernel simulate cut.json | sed -n 2p
autokernel import cut.json --archive new.db | head -n 1
autokernel simulate cache.json --strategy random --score | tail -n 1

echo "-- words"
echo '{"finish_time": 0.1}' >autokernel.json
(unset AUTOKERNEL_FINISH_TIME && autokernel doctor --json | grep -o '"value":"0.1[^"]*"')
rm autokernel.json
AUTOKERNEL_EVLAS=3 AUTOKERNEL_KEY=3 autokernel list ./mine | head -n 1
autokernel tune ./mine --size n=1000 --evals 100 --fix THREADS=1,COMPILER=gcc 2>&1 | grep -c '^8/8 '
for condition in 'UNROLL =< 4' 'UNROLL => 4' 'UNROLL = 4' 'UNROLL > 1 \&\& 1' 'UNROLL > 1 || 1' '!UNROLL'; do
    edit host.json 'UNROLL . THREADS <= 16' "$condition"
    autokernel list ./mine
    restore
done
edit host.json '"Use": "option"' '"Use": "flag"'
autokernel list ./mine
restore
edit problem.json awkward edge_cases
autokernel list ./mine
restore
autokernel serve --listen 127.0.0.1:18123
true
