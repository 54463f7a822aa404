# Tests expressions of an implementation that have no value, or an impossible one, for some configurations:
# each such configuration is an invalid trial with the reason, and the run goes on.
export AUTOKERNEL_ARCHIVE=$PWD/archive.db
write() { # WORKSPACE THREADS, each an expression
    cat >part/host.json <<JSON
{"ConfigurationSpace": {"TuningParameters": [
  {"Name": "UNROLL", "Type": "int", "Values": [1, 2, 4, 0], "Default": ${3:-1}}], "Conditions": []},
 "KernelSpecification": {"Language": "C", "KernelName": "ak_kernel", "KernelFile": "host.c",
  "CompilerOptions": ["-std=gnu17", "-O1"], "Workspace": "$1", "Threads": "$2"}}
JSON
}
tune() {
    autokernel tune part --size 1000 --strategy exhaustive --quiet "$@" | grep -E '^[0-9]+ config'
}
history() {
    autokernel history --json | python3 -c '
import json, sys
for t in sorted(json.load(sys.stdin), key=lambda t: t["config"]):
    print(t["config"], t["status"], t["reason"] or "")'
}
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
autokernel new kernel part >/dev/null
cat >part/host.c <<'C'
void ak_kernel(const ak_host_call *call)
{
    float *z = call->arg[2];
    const float *x = call->arg[0], *y = call->arg[1];
    for (int64_t i = 0; i < call->size[0] + 0 * UNROLL; i++) {
        z[i] = 2.0f * x[i] + y[i];
    }
}
C
write 0 '2 // UNROLL'
tune
history
echo "--- resumed"
tune --resume
echo "--- one at a time"
for value in 1 4 0; do
    autokernel check part --size 1000 --config UNROLL=$value 2>&1 | grep -E '^(ok|invalid)'
    autokernel bench part --size 1000 --config UNROLL=$value 2>&1 | grep -E 'invalid|must be|division' | head -n 1
done
echo "--- other expressions"
for workspace in '1 - UNROLL' '2**62 * UNROLL' '2**50 * UNROLL' 'log2(UNROLL)' '4.5 * UNROLL' \
    "[1, 2, 3][UNROLL]"; do
    rm -f archive.db*
    write "$workspace" 1
    tune || echo "refused: $workspace"
    [ ! -e archive.db ] || history | grep invalid | head -n 1
done
echo "--- a default that is none"
rm -f archive.db*
write 0 '2 // UNROLL' 4
tune
echo "--- what no configuration can mend"
write 0 0
autokernel tune part --size 1000 --quiet
write -4 'UNROLL + 1'
autokernel tune part --size 1000 --quiet
write 'UNROLL - 2' 0
autokernel tune part --size 1000 --quiet
write 0 'UNROL'
autokernel tune part --size 1000 --quiet
write '1 +' 1
autokernel tune part --size 1000 --quiet
echo "--- a tolerance that accepts wrong results of few elements"
mkdir dot
cat >dot/reference.c <<'C'
void ak_reference(const ak_host_call *call)
{
    const double *x = call->arg[0], *y = call->arg[1];
    double *sum = call->arg[2], *twice = call->arg[3];
    *sum = 0;
    for (int64_t i = 0; i < call->size[0]; i++) {
        *sum += x[i] * y[i];
        twice[i] = 2 * x[i];
    }
}
C
sed 's/ak_reference/ak_kernel/; s/double/float/g' dot/reference.c >dot/host.c
sed 's/"Values": .*, 0\], "Default": [^}]*/"Values": [1], "Default": 1/' part/host.json |
    sed 's/"Workspace".*/"Workspace": "0", "Threads": "1"}}/' >dot/host.json
accept() { # TOLERANCE-OF-SUM TOLERANCE-OF-TWICE SIZE
    cat >dot/problem.json <<JSON
{"schema": 1, "name": "dot", "description": "a dot product, and an array", "sizes": [{"name": "n", "default": 1000}],
 "dtypes": ["f32"], "arguments": [
  {"name": "x", "shape": ["n"], "access": "in", "fill": "uniform(-1,1)"},
  {"name": "y", "shape": ["n"], "access": "in", "fill": "uniform(-1,1)"},
  {"name": "sum", "shape": [], "access": "out", "tolerance": {$1}},
  {"name": "twice", "shape": ["n"], "access": "out", "tolerance": {$2}}],
 "flops": "3*n", "bytes": "16*n", "reference": "reference.c", "tolerance": {"f32": {"relative": "4*eps"}}, "awkward": []}
JSON
    autokernel check ./dot --size "$3" --quiet 2>&1 | grep -v ^next | sed 's/error .* of/error E of/; s/relative .*) would/.. would/'
}
honest='"relative": "8*eps*sqrt(n)", "absolute": "8*eps*sqrt(n)"' fine='"relative": "4*eps"'
for n in 1 7 1000; do accept "$honest" "$fine" $n; done
accept '"relative": "10"' "$fine" 1000
accept '"relative": "0.02"' "$fine" 7
accept "$honest" '"relative": "0.02"' 1000
