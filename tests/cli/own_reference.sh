# A user's reference.c that does what it must not is named, not the candidate; and inputs of whole numbers.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
mkdir sums
cat >sums/problem.json <<'J'
{"schema": 1, "name": "sums", "description": "y[i] = x[i] + x[i+1]; b[k] = how many keys are k",
 "sizes": [{"name": "n", "default": 1000}, {"name": "B", "default": 5}], "dtypes": ["f32"],
 "arguments": [{"name": "x", "shape": ["n + 1"], "access": "in"},
               {"name": "k", "dtype": "i32", "shape": ["n"], "access": "in", "fill": "uniform(0,B-1)"},
               {"name": "y", "shape": ["n"], "access": "out"},
               {"name": "b", "dtype": "i32", "shape": ["B"], "access": "out"}],
 "flops": "n", "bytes": "12*n", "reference": "reference.c",
 "tolerance": {"f32": {"relative": "2*eps"}}, "awkward": [{"n": 1, "B": 1}, {"n": 7, "B": 3}]}
J
cat >sums/host.json <<'J'
{"ConfigurationSpace": {"TuningParameters": [{"Name": "U", "Type": "int", "Values": [1, 2], "Default": 1}]},
 "KernelSpecification": {"Language": "C", "KernelFile": "host.c", "CompilerOptions": ["-std=gnu17", "-O2"]}}
J
body() {
    cat <<C
void $1(const ak_host_call *call)
{
    const $2 *x = call->arg[0];
    const $3 *k = call->arg[1];
    $2 *y = call->arg[2];
    $3 *b = call->arg[3];
    int64_t n = call->size[0], m = call->size[1];
    for (int64_t i = 0; i < n; i++) {
        y[i] = x[i] + x[i + 1];
    }
    for (int64_t j = 0; j < m; j++) {
        b[j] = 0;
    }
    for (int64_t i = 0; i < n; i++) {
        b[(int64_t)k[i]]++;
    }
}
C
}
body ak_kernel float int32_t >sums/host.c
try() {
    echo "-- $1"
    body ak_reference double double | sed "$2" >sums/reference.c
    autokernel check ./sums --config default 2>&1 | tail -n 1 | sed "s/next: .*/right/"
}
try "right, with keys of one value at B=1" ''
try "it reads past the end" 's/x\[i + 1\]/x[i + 2]/'
try "it writes past the end" 's/i < n; i++/i <= n; i++/'
try "it writes in front" 's/y\[i\] = /y[i - 1] = y[i] = /'
try "it reads far past the end at n=1000 only" 's/x\[i + 1\]/x[n < 999 ? i + 1 : i << 40]/'
try "it divides by 0" 's/y\[i\] = /y[i] = i \/ (n - 7) + /'
try "it leaves an element out" '0,/i = 0/s/i = 0/i = 1/'
try "it adds to what it never wrote" 's/b\[j\] = 0/(void)b/'
try "it changes an input" 's/y\[i\] = /((double *)x)[i] = y[i] = /'
echo "-- a fill that no size allows"
body ak_reference double double >sums/reference.c
sed -i 's/uniform(0,B-1)/uniform(1,B-2)/' sums/problem.json
autokernel check ./sums --config default
echo "-- a reference that is wrong, so that all configurations are; a kernel that one parameter makes wrong"
sed -i 's/uniform(1,B-2)/uniform(0,B-1)/' sums/problem.json
body ak_reference double double | sed 's/x\[i\] + x/x[i] - x/' >sums/reference.c
both() { autokernel check ./sums --config U=1 --config U=2 2>/dev/null | grep -E 'same|^[012] of'; }
both
body ak_reference double double >sums/reference.c
body ak_kernel float int32_t | sed 's/x\[i\] + x/x[i] + U * x/' >sums/host.c
both
echo "-- a tolerance that is too tight for all configurations"
body ak_kernel float int32_t | sed 's/x\[i\] + x\[i + 1\]/(x[i] + x[i + 1]) * (1 + 1e-6f)/' >sums/host.c
autokernel check ./sums --config U=1 --config U=2 2>&1 | grep -v '^warning' | sed 's/at n=.*worst/worst/'
