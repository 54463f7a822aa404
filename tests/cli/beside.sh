# What the best is compared with: a default that fails, and no library; one configuration that is not the
# default; a run that is interrupted in its finish.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
autokernel new kernel mine >/dev/null
small="--size 4096 --fix COMPILER=gcc --libraries none --threads 1 --finish-time 0.05"
echo "-- one configuration, no library"
autokernel bench ./mine $small --config UNROLL=2 --baselines --time 0.1s --quiet 2>&1 | grep -c 'the default'
echo "-- the verdict is beside the speed"
autokernel tune ./mine $small --evals 2 --seed 1 --json --quiet >result.json
autokernel report --json >report.json
python3 - <<'END'
import json
result, report = json.load(open("result.json")), json.load(open("report.json"))
best, tuned = result["best"], next(one for one in result["contestants"] if one["ms"] == result["best"]["ms"])
print([best[key] == tuned[key] == report["best"][key] for key in ("verdict", "undecided_because")])
print(best["speedup"] == tuned["ratio"])
END
echo "-- interrupted in the finish"
cat >drive.py <<'END'
import json, os, signal, subprocess, sys
os.mkfifo("events")
tune = subprocess.Popen(["autokernel", "tune", "./mine", *sys.argv[1:], "--evals", "2", "--events", "events"],
                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
for line in open("events"):
    if json.loads(line).get("name") == "finish":
        tune.send_signal(signal.SIGINT)
print(tune.communicate()[0])
END
python3 drive.py ${small/0.05/20} | grep -o -e '; interrupted' -e 'stopped before the finish' -e '^next: autokernel tune .* --resume'
echo "-- the default fails"
sed -i 's/^    work w = .*/#if UNROLL == 4\n    __builtin_trap();\n#endif\n&/' mine/host.c
autokernel tune ./mine $small --evals 4 --seed 1 --json --quiet >result.json
grep -o '"speedup":[^,]*,"speedup_over":[^,]*,"verdict":[^,]*,"undecided_because":[^,]*' result.json
autokernel tune ./mine $small --evals 4 --seed 1 --quiet | grep 'neither\|[0-9] times\|nothing else'
autokernel report | grep -e '^ *speed-up' -e '^ *baseline' -e '^  measured  *again' -e '^Speeds'
