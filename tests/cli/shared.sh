# Configurations that compile to the same code share a trial only if it is checked and run in the same way: not
# where conditions allow them at other sizes, or where they have another workspace at some size. And a run resumes
# only trials that the same reference has judged, and that no later check refutes.
command -v gcc >/dev/null && command -v python3 >/dev/null || { echo "no gcc or no python3"; exit 77; }
export AUTOKERNEL_SAMPLES=4
autokernel new kernel mine >/dev/null
cat >mine/problem.json <<'J'
{"schema": 1, "name": "mine", "description": "Z = 2 * X + Y", "sizes": [{"name": "n", "default": 65536}],
 "dtypes": ["f32"],
 "arguments": [{"name": "X", "shape": ["n"], "access": "in", "fill": "uniform(-1,1)"},
               {"name": "Y", "shape": ["n"], "access": "in", "fill": "uniform(-1,1)"},
               {"name": "Z", "shape": ["n"], "access": "out"}],
 "flops": "2*n", "bytes": "12*n", "reference": "reference.c", "tolerance": {"f32": {"relative": "4*eps"}},
 "awkward": [{"n": 1}, {"n": 7}, {"n": 1023}, {"n": 1025}]}
J
# Writes the space (condition, workspace), and the kernel (its body). P is in no line of the kernel.
kernel() {
    cat >mine/host.json <<J
{"ConfigurationSpace": {"TuningParameters": [{"Name": "P", "Type": "int", "Values": [0, 1], "Default": 0}],
  "Conditions": [{"Expression": "$1", "EverySize": true}]},
 "KernelSpecification": {"Language": "C", "KernelFile": "host.c", "Workspace": "$2", "Threads": "1",
  "CompilerOptions": ["-std=gnu17", "-O2", "-fPIC"]}}
J
    cat >mine/host.c <<C
void ak_kernel(const ak_host_call *call)
{
    int64_t n = call->size[0];
    const float *x = call->arg[0], *y = call->arg[1];
    float *z = call->arg[2], *w = call->workspace;
    (void)w;
    $3
}
C
}
try() {
    autokernel bench ./mine --config 'P=0;P=1' --archive none.db --json 2>/dev/null | grep -o '"status": *"[a-z_]*"'
    rm -f a.db
    autokernel tune ./mine --strategy exhaustive --evals 2 --libraries none --archive a.db --json --quiet 2>/dev/null |
        grep -o '"best": *{[^}]*"config": *{[^}]*}' | grep -o '"P": *"*[01]'
    autokernel history --archive a.db --json | grep -o '"status":"[a-z_]*"' | sort | paste -sd " "
}
echo "-- P=0 runs at whole rows of 8 only, and is right there"
kernel "P == 1 or n % 8 == 0" 0 "for (int64_t i = 0; i < n / 8 * 8; i++) z[i] = 2.0f * x[i] + y[i];"
try
echo "-- P=1 has too little workspace where n is small"
kernel "True" "4*n if P == 0 else (262144 if n >= 65536 else 64)" \
    "for (int64_t i = 0; i < n; i++) w[i] = 2.0f * x[i];
    for (int64_t i = 0; i < n; i++) z[i] = w[i] + y[i];"
try
echo "-- P=0 is wrong at hidden sizes, at which P=1 does not run"
kernel "P == 0 or n % 4096 == 0 or n < 2000" 0 \
    "n = n < 2000 ? n : n / 4096 * 4096;
    for (int64_t i = 0; i < n; i++) z[i] = 2.0f * x[i] + y[i];"
try
echo "-- what is known to be wrong there is wrong for --resume and for who reads the archive as a recording"
autokernel tune ./mine --evals 2 --libraries none --archive a.db --quiet --resume 2>/dev/null | grep -o '^0 conf.*'
autokernel history --archive a.db --json | grep -c '"status"'
autokernel tune a.db --device sim:a.db --strategy exhaustive --evals 2 --archive s.db >/dev/null 2>&1
autokernel history --archive s.db --device sim --json | grep -o '"status":"[a-z_]*"' | sort | paste -sd ' '
echo "-- --fix makes another configuration the reference"
kernel "True" 0 "for (int64_t i = 0; i < n; i++) z[i] = 2.0f * x[i] + y[i] + P;"
sed -i 's#"reference.c"#"default"#' mine/problem.json
rm -f a.db
resumed() { autokernel tune ./mine --evals 2 --libraries none --archive a.db --json --quiet --resume "$@" 2>/dev/null |
    grep -o '"evaluated":[0-9]*\|"resumed":[0-9]*' | sort | paste -sd ' '; }
resumed --fix P=1
resumed --fix P=1
resumed
autokernel history --archive a.db --json | grep -o '"status":"[a-z_]*"' | sort | paste -sd ' '
echo "-- the reference is another implementation, which is compiled in another way"
kernel "True" 0 "for (int64_t i = 0; i < n; i++) z[i] = 2.0f * x[i] + y[i];"
cp mine/host.json mine/host_plain.json
sed -i 's#"reference": "default"#"reference": {"implementation": "host_plain"}#' mine/problem.json
resumed --impl host
resumed --impl host
sed -i 's/-O2/-O1/' mine/host_plain.json
resumed --impl host
echo "-- the winner of a size was refuted since"
sizes() {
    autokernel tune ./mine --impl host --sizes '64;128' --evals 8 --libraries none --archive b.db --json --quiet \
        "$@" 2>/dev/null | python3 -c 'import json, sys; print(*(s["run"] for s in json.load(sys.stdin)["sizes"]))'
}
sizes >first
sizes --resume >second
cmp first second && echo "the earlier runs"
autokernel export ./mine --size 64 --archive b.db --format json --output b.json >/dev/null
python3 - <<'P'
import json, sqlite3
won = sqlite3.connect("b.db").execute("SELECT result FROM runs WHERE size = 'n=64' AND result IS NOT NULL").fetchone()
config = ",".join(f"{name}={value}" for name, value in json.loads(won[0])["best"]["config"].items())
trial = next(trial for trial in json.load(open("b.json")) if trial["config"] == config)
trial.update(status="wrong_result", reason="at n=63: it is wrong", timestamp="2030-01-01T00:00:00Z")
json.dump([trial], open("refuted.json", "w"))
P
autokernel import --format json refuted.json --archive b.db | head -n 1
sizes --resume >third
[ "$(cut -d ' ' -f 1 first)" != "$(cut -d ' ' -f 1 third)" ] && echo "another run at n=64"
[ "$(cut -d ' ' -f 2 first)" = "$(cut -d ' ' -f 2 third)" ] && echo "the earlier run at n=128"
echo "-- a time that two trials share is marked wherever they are shown"
autokernel tune ./mine --impl host --strategy exhaustive --evals 2 --libraries none --archive c.db --quiet >/dev/null 2>&1
autokernel history --archive c.db | grep -o 'P=[01].*' | cut -c4- | sort # either may be compiled first
autokernel report --archive c.db | grep -o '(not measured.*' | head -n 1
autokernel history --archive c.db --json | grep -o '"same_code":[01]' | sort | paste -sd ' '
autokernel report --archive c.db --json | grep -o '"same_code": *[a-z]*' | sort | paste -sd ' '
