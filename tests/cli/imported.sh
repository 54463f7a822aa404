# What commands say of trials and runs of other tools and machines: where their times hold, which settings hide
# them, why a fraction of the roofline is above 100 %, and in which order runs are listed.
printf 'name,config,ms,status\nmatmul,MR=6,1.5,ok\n' >bare.csv
echo "-- without a device"
autokernel import bare.csv --archive bare.db
autokernel export matmul --output best.json --archive bare.db
echo "exit $?"
ls best.json 2>/dev/null
cat >full.json <<'JSON'
[{"kernel": "alpha", "device": "host", "size": "n=64", "dtype": "f32", "config": "A=1", "status": "ok", "ms": 1,
  "gbs": 40, "efficiency": 1.94, "bound": "memory"},
 {"kernel": "alpha", "device": "host", "size": "n=64", "dtype": "f32", "config": "A=2", "status": "ok", "ms": 2,
  "gbs": 20, "efficiency": 0.97, "bound": "memory"},
 {"kernel": "beta", "device": "host", "size": "n=64", "dtype": "f32", "config": "A=1", "status": "ok", "ms": 1,
  "tflops": 9, "efficiency": 2.19, "bound": "compute"}]
JSON
autokernel import full.json | head -n 1
echo "-- above the roofline"
{ autokernel history alpha | grep -o -E '^roofline.*|[0-9.]+ %.*'; autokernel best; autokernel stats beta; } | sed -n -E 's/^(roofline|[0-9.]+ %  A)/- \1/p' # run.sh leaves out such lines of measurements
echo "-- the best says that it was imported, from a file or another archive, and one that was measured here does not"
autokernel import ../archive.db --archive merged.db >/dev/null
autokernel new kernel mine >/dev/null
autokernel bench ./mine --size 64 --config UNROLL=1 --quiet --archive merged.db >/dev/null
for db in ../archive.db merged.db; do
    autokernel best --archive $db | grep imported
    autokernel best --archive $db --json | grep -o '"kernel":"[a-z]*"\|"imported":[01]' | paste -sd ' '
done
autokernel best ./mine --archive merged.db | grep -c imported
autokernel export alpha --archive merged.db --output alpha.json 2>/dev/null | grep imported
echo "-- settings that hide trials"
AUTOKERNEL_DEVICE=cuda:7 autokernel best alpha
AUTOKERNEL_DEVICE=cuda:7 autokernel history alpha | grep -v next:
AUTOKERNEL_DEVICE=cuda:7 autokernel export alpha 2>&1 | tail -n 1
autokernel best alpha --device cuda:7
echo "-- the latest run is the one that ended last"
cat >runs.json <<'JSON'
[{"run": {"id": "00000000000000aa", "kernel": "alpha", "device": "host", "started": "2026-01-01T10:00:00.000Z",
  "ended": "2026-01-01T12:00:00.000Z", "result": "{}", "options": "{}"}},
 {"run": {"id": "00000000000000bb", "kernel": "alpha", "device": "host", "started": "2026-01-01T11:00:00.000Z",
  "ended": "2026-01-01T11:30:00.000Z", "result": "{}", "options": "{}"}}]
JSON
autokernel import runs.json --archive runs.db | head -n 1
autokernel history --runs --archive runs.db | grep -o '^00000000000000[a-z]*  [^ ]* [^ ]*'
echo "-- the type of a foreign recording"
cat >cache.json <<'JSON'
{"device_name": "Some GPU", "kernel_name": "gamma", "problem_size": "64", "tune_params_keys": ["A", "B"],
 "tune_params": {"A": [1, 2], "B": [1, 2]}, "objective": "time",
 "cache": {"1,1": {"A": 1, "B": 1, "time": 1.5, "times": [1.5]}, "1,2": {"A": 1, "B": 2, "time": 1.25, "times": [1.25]},
           "2,1": {"A": 2, "B": 1, "time": 1.75, "times": [1.75]}, "2,2": {"A": 2, "B": 2, "time": 1, "times": [1]}}}
JSON
autokernel tune cache.json --device sim --evals 4 --quiet --archive sim.db --json >tuned.json && echo tuned
autokernel history --runs --archive sim.db --json >runs.json
autokernel history --device sim --archive sim.db --json --limit 1 >trials.json
autokernel best --device sim --archive sim.db --json >best.json
grep -o '"dtype": *"[^"]*"' tuned.json runs.json trials.json best.json
echo "-- a folder that does not exist"
autokernel tune matmul --size 16 --evals 1 --libraries none --archive none/such/a.db
echo "exit $?"
autokernel import full.json --archive none/such/a.db
echo "exit $?"
autokernel bench matmul --size 16 --archive none/such/a.db
echo "exit $?"
[ -e none ] || echo "no folder was made"
