# An argument that "unused" says nobody reads holds NaN, and whole numbers the ends of their range: a kernel and a
# reference that read it are found out, also by the test of an export as C.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
mkdir un
cat >un/problem.json <<'J'
{
  "schema": 1, "name": "un", "description": "Z = 2*X + beta*C",
  "sizes": [{ "name": "n", "default": 4096 }],
  "dtypes": ["f32", "i32"],
  "choices": [{ "name": "beta", "type": "real", "default": 0 }],
  "arguments": [
    { "name": "X", "shape": ["n"], "access": "in", "fill": "uniform(-9,9)" },
    { "name": "C", "shape": ["n"], "access": "in", "unused": "beta == 0" },
    { "name": "Z", "shape": ["n"], "access": "out" }
  ],
  "flops": "3*n", "bytes": "2*n*dtype_bytes", "reference": "reference.c",
  "tolerance": { "f32": { "relative": "4*eps", "rms": "4*eps" }, "i32": { "relative": "0", "rms": "0" } },
  "awkward": [{ "n": 1 }, { "n": 7 }]
}
J
cat >un/reference.c <<'C'
void ak_reference(const ak_host_call *call)
{
    const double *x = call->arg[0], *c = call->arg[1], beta = call->number[0];
    double *z = call->arg[2];
    for (int64_t i = 0; i < call->size[0]; i++) z[i] = 2.0 * x[i] + (beta == 0 ? 0 : beta * c[i]);
}
C
cat >un/host.c <<'C'
void ak_kernel(const ak_host_call *call)
{
    const DTYPE *x = call->arg[0], *c = call->arg[1];
    DTYPE *z = call->arg[2], beta = (DTYPE)call->number[0];
    for (int64_t i = 0; i < call->size[0]; i++) {
        z[i] = READS == 1                ? 2 * x[i] + beta * c[i]
               : READS == 2              ? 2 * x[i] + (c[i] > 1000)
               : call->number[0] == 0    ? 2 * x[i]
                                         : 2 * x[i] + beta * c[i];
    }
}
C
cat >un/host.json <<'J'
{ "ConfigurationSpace": { "TuningParameters": [
   { "Name": "READS", "Type": "int", "Values": [0, 1, 2], "Default": 0 },
   { "Name": "DTYPE", "Type": "string", "Values": "['float'] if dtype == 'f32' else ['int32_t']" } ] },
  "KernelSpecification": { "Language": "C", "KernelName": "ak_kernel", "KernelFile": "host.c",
    "CompilerOptions": ["-std=gnu17", "-O1"], "Workspace": "0", "Threads": "1" } }
J
check() { autokernel check ./un --quiet "$@" 2>&1 | sed -E 's/  largest error .* allowed;//; /^next/d'; }
for reads in 0 1; do
    check --config "READS=$reads,DTYPE=float"
done
for reads in 0 2; do
    check --dtype i32 --config "READS=$reads,DTYPE=int32_t"
done
echo "-- with beta it is read, and holds ordinary numbers"
check --config READS=1,DTYPE=float --set beta=2
echo "-- the test of an export"
autokernel tune ./un --evals 1 --libraries none --quiet >/dev/null 2>&1
autokernel export ./un --format c --output source/ >/dev/null
run() { gcc -O1 "$1" source/un_f32.c -Isource -ldl -lm -pthread -o test && ./test; }
run source/test_un_f32.c
sed 's/beta == 0 ? 0 : beta \* c/beta * c/' source/test_un_f32.c >reads.c
run reads.c
echo "-- references that read it: every element, or as an index"
sed -i 's/beta == 0 ? 0 : beta \* c/beta * c/' un/reference.c
check --config READS=0,DTYPE=float
sed -i 's/beta \* c\[i\]/0 * x[(int64_t)c[i]]/' un/reference.c
check --dtype i32 --config READS=0,DTYPE=int32_t
