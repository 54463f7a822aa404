# Tests that a configuration whose results are in the archive no longer counts for best and export once
# `check` has found it wrong at another size, and that a check without results there adds nothing; and
# that neither a table of sizes nor a trial by its number is exported once its configuration is refuted
# at its own size.
export AUTOKERNEL_ARCHIVE=$PWD/archive.db
autokernel new kernel part >/dev/null
cat >part/host.c <<'C'
void ak_kernel(const ak_host_call *call)
{
    const float *x = call->arg[0], *y = call->arg[1];
    float *z = call->arg[2];
    for (int64_t i = 0; i < call->size[0]; i++) {
        z[i] = WRONG && call->size[0] == 7 ? 0 : 2.0f * x[i] + y[i];
    }
}
C
cat >part/host.json <<'JSON'
{"ConfigurationSpace": {"TuningParameters": [{"Name": "WRONG", "Type": "int", "Values": [0, 1], "Default": 0}]},
 "KernelSpecification": {"Language": "C", "KernelName": "ak_kernel", "KernelFile": "host.c",
  "CompilerOptions": ["-std=gnu17", "-O2"], "Workspace": "0", "Threads": "1"}}
JSON
check() {
    autokernel check part --size 4096 --config WRONG=1 "$@" 2>&1 | grep -oE '^(wrong_result|the archive .*)'
}
best() {
    autokernel best part --json | tr -d ' \n' | grep -o '"config":"[^"]*"'
}
check
[ -e archive.db ] || echo "no archive"
autokernel bench part --size 4096 --config WRONG=1 --quiet >/dev/null
best
check --size 2048
best
check
best 2>&1
autokernel bench part --size 4096 --config WRONG=0 --quiet >/dev/null
best
autokernel export part --output best.json >/dev/null
grep -o '"WRONG": .' best.json
autokernel history --status wrong_result --json | grep -c '"check of the finalists"'

echo "-- a table, and a trial by its number"
export AUTOKERNEL_ARCHIVE=$PWD/sizes.db
autokernel tune part --sizes '100;200' --fix WRONG=0 --evals 2 --dispatch 1 --finish-time 0.02 --libraries none --quiet >/dev/null 2>&1
autokernel export part --format dispatch
autokernel export part --size 100 --format json |
    sed 's/"status":"ok","reason":null/"status":"wrong_result","reason":"at n=7: Z[0]: got 0"/' >edge.json
sed 's/at n=7:/at n=100 (with other numbers than its constants):/; s/"timestamp":"..../"timestamp":"2001/' edge.json >own.json
autokernel import edge.json | head -n 1
autokernel export part --format dispatch
autokernel export part --format bundle --table 2>&1
autokernel import own.json | head -n 1
autokernel export part --format dispatch --output other.json 2>&1
autokernel export part --format bundle --table --output other.akb 2>&1
autokernel export part --format bundle --config '#1' --output other.akb 2>&1
ls | grep -c other
run=$(grep -o '"run":"[0-9a-f]*"' own.json | cut -d'"' -f4)
autokernel report "$run" | grep ' a check refuted'
autokernel report "$run" --format json | grep -c "a check refuted the best configuration"
autokernel history --runs | grep -c "$run: a check refuted the best configuration"
autokernel history --runs --json | tr -d ' \n' | grep -oE '"refuted":"acheckrefuted'
autokernel compare "$run" "$run" | grep -oE '^ *[AB] +a check refuted the best configuration'
autokernel compare "$run" | grep -cE "^ *$run +a check refuted the best configuration"
autokernel compare "$run" --format json | tr -d ' \n' | grep -o '"ms":null'
many=$(autokernel history --runs --json | tr -d ' \n' | grep -oE '"id":"[0-9a-f]*"[^{}]*"many_sizes":true' | cut -d'"' -f4)
autokernel report "$many" | grep -oE 'a check refuted the best configuration at n=[0-9]+'
