# What a run makes small: time, energy, an expression. A recording with times and energies that disagree, a host whose
# counter a script moves, and what is refused.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
cat >make.py <<'END'
import json, sys
cache = {}
for a in range(1, 9):
    for b in range(1, 9):
        p = {"a": a, "b": b}
        # fast at (8, 8), frugal at (1, 8); the product is least between
        cache[f"{a},{b}"] = dict(p, time=1 + (8 - a) + (8 - b), nvml_energy=2 + 4 * (a - 1) + (8 - b),
                                 compile_time=1, benchmark_time=1)
        if len(sys.argv) > 2:
            del cache[f"{a},{b}"]["nvml_energy"]
values = {"a": list(range(1, 9)), "b": list(range(1, 9))}
json.dump({"device_name": "made", "kernel_name": "made", "problem_size": [64], "tune_params_keys": ["a", "b"],
           "tune_params": values, "objective": "time", "cache": cache}, open(sys.argv[1], "w"))
END
python3 make.py space.json
python3 make.py plain.json without
run() { autokernel tune "$@" --device sim --evals 64 --archive a.db --quiet 2>&1 | grep -E '^best|^     a=|^autokernel'; }
for objective in time energy edp 'max: 1 / (ms * joules)' 'joules if ms < 10 else 1000' 'joules + a * b'; do
    echo "-- $objective"
    run space.json --objective "$objective"
done
echo "-- results of one objective are not compared with those of another"
autokernel best made --device sim:space.json --archive a.db --json | python3 -c '
import json, sys
for t in json.load(sys.stdin): print(t["choices"] or "time", t["config"], t["ms"], t["joules"], t["cost"])'
autokernel export made --device sim:space.json --archive a.db 2>&1 | head -1
for objective in time energy; do
    autokernel export made --device sim:space.json --set objective=$objective --archive a.db --force -o $objective.json >/dev/null 2>&1 || echo "no export"
    grep -o '"a": [0-9]*\|"b": [0-9]*\|"objective": "[a-z]*"' $objective.json | tr '\n' ' '; echo
done
autokernel tune space.json --device sim --evals 64 --objective energy --resume --archive a.db --quiet 2>&1 | grep -o 'and [0-9]* of the archive'
echo "-- a study compares by the objective, whose optimum is known if it was recorded, as that of the time is"
study() {
    autokernel study "$1" --device "sim:$1" --arms random --seeds 2 --evals "$2" --archive study.db --json --quiet "${@:3}" | python3 -c '
import json, sys
s = json.load(sys.stdin)
a, last = s["arms"][0], s["arms"][0]["quality"]["evaluations"][-1]
print(s["reference_is"], round(s["reference"], 6), a["reached_reference"], round(last["quality"], 6))'
}
sed 's/"objective": "time"/"objective": "nvml_energy"/' space.json >frugal.json
sed 's/"objective": "time"/"objective": "GB\/s"/; s/nvml_energy/GB\/s/g' space.json >rates.json
study space.json 64
study space.json 64 --objective energy
study space.json 64 --objective 'max: 1 / (ms * joules)'
study frugal.json 64
study frugal.json 64 --objective time
study rates.json 64
echo "-- the report"
autokernel tune space.json --device sim --evals 64 --objective energy --archive r.db --quiet >/dev/null 2>&1
autokernel report --archive r.db | grep -E '^ *(objective|time|configuration)|^ *[12]  +[0-9]' | head -8
autokernel report --archive r.db --format json | python3 -c '
import json, sys
r = json.load(sys.stdin)
print(r["run"]["objective"], r["run"]["choices"])'
echo "-- a language model is told of the objective"
cat >answers.jsonl <<'JSON'
{"text": {"proposals": [{"hypothesis": "few cores", "expected_gain_pct": 10, "parent": null, "changes": {"a": 1}}]}}
{"text": {"proposals": [{"hypothesis": "and more of b", "expected_gain_pct": 200, "parent": 2, "changes": {"b": 8}}]}}
JSON
autokernel tune space.json --device sim --evals 8 --objective energy --strategy llm:fill=0 --generations 2 --batch 1 --llm replay:answers.jsonl --archive l.db --quiet 2>&1 | grep -E '^best|^     a='
autokernel llm show --archive l.db | grep -E 'make the objective|^ *[|] (Best|- #|- A)'
echo "-- what is refused"
run space.json --objective 'joule * 2'
run space.json --objective '1 + 2'
run space.json --objective 'min(ms, joules)'
run space.json --objective 'joules *'
run space.json --objective ''
run plain.json --objective energy
mkdir empty
AUTOKERNEL_POWERCAP=$PWD/empty autokernel tune softmax --size 64 --objective energy --evals 1 --quiet 2>&1 | grep -o 'this machine shows no energy of its processor: .*' | sed 's#/.*/empty#empty#'
echo "-- a host whose counter moves, and begins anew now and then"
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
mkdir -p cap/intel-rapl:0 cap/intel-rapl:1
echo package-0 >cap/intel-rapl:0/name
echo psys >cap/intel-rapl:1/name
echo 100000 >cap/intel-rapl:0/max_energy_range_uj
echo 0 >cap/intel-rapl:0/energy_uj
python3 -c '
import os, time
begin, path = time.monotonic(), "cap/intel-rapl:0/energy_uj"
while os.path.exists("cap/on") or time.monotonic() < begin + 1:
    open(path + ".new", "w").write("%d\n" % (int((time.monotonic() - begin) * 5e6) % 100000))
    os.rename(path + ".new", path)
    time.sleep(0.002)' &
touch cap/on
AUTOKERNEL_POWERCAP=$PWD/cap autokernel tune reduce --size rows=128,cols=64 --objective energy --evals 1 --finish-time 0.02 --libraries none --archive h.db --json 2>/dev/null | python3 -c '
import json, sys
r = json.load(sys.stdin)
b = r["best"]
print(r["objective"], b["value"] > 0, b["value"] == b["cost"] == b["joules"] or b["cost_low"] <= b["cost"] <= b["cost_high"])
print([c["name"] for c in r["contestants"] if c["cost"] > 0], "by energy" in r["summary"])'
autokernel tune reduce --sizes 'rows=128,cols=64;rows=64,cols=32' --objective 'max: 1 / code_bytes' --evals 2 --finish-time 0.02 --libraries none --archive s.db --json 2>/dev/null | python3 -c '
import json, sys
r = json.load(sys.stdin)
print(r["objective"], repr(r["unit"]), len(r["costs"]) == len(r["ms"]) == len(r["configs"]))
for one in r["sizes"]:
    costs = [row[r["sizes"].index(one)] for row in r["costs"]]
    print(one["cost"] == min(costs), abs(1 / one["cost"] - one["value"]) < 1e-9, 16 < round(one["cost"]) < 1e6, one["ms"] > 0, one["loss"] >= 1)'
echo "-- a rate of work that the kernel does not state"
echo 'void copy(const float *x, float *y, int n) { for (int i = 0; i < n; i++) { y[i] = x[i]; } }' >copy.c
autokernel new kernel copies --from copy.c >/dev/null
autokernel tune ./copies --objective tflops --evals 2 --quiet
sed -i 's/"bytes": "[^"]*"/"bytes": "0"/' copies/problem.json
autokernel tune ./copies --objective 'ms + gbs' --quiet
echo "-- a recording whose only option is its objective serves others"
sed 's/copy/twice/; s/= x/= 2 * x/' copy.c >twice.c
autokernel new kernel twice --from twice.c >/dev/null
autokernel tune ./twice --objective 'max: 1 / code_bytes' --evals 1 --finish-time 0.02 --libraries none --archive o.db --quiet >/dev/null
autokernel export twice --set 'objective=max: 1 / code_bytes' --archive o.db --format t4 --output o.json
grep -o '"choices":"[^"]*"' o.json
for objective in time 'max: 1 / ms'; do
    autokernel tune ./twice --device sim:o.json --objective "$objective" --evals 1 --archive p.db --json 2>&1 | grep -o '^autokernel.*\|"choices":"[^"]*"' | sort -u
done
echo "-- the candidate that is measured twice is compared by costs both times"
autokernel tune reduce --size rows=128,cols=64 --objective 'ms * 1e6' --evals 1 --finish-time 0.02 --libraries none --archive c.db --json 2>/dev/null | python3 -c '
import json, sys
print(1e-3 < json.load(sys.stdin)["noise"]["control"]["ratio"] < 1e3)'
autokernel report --archive s.db | grep -E '^ *size  .*max: 1'
rm cap/on
wait
