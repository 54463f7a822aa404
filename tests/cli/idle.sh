# Tests that a tolerance is refused if it accepts a kernel that does nothing in place, or one that never
# reads an input; and that an input without any effect, an effect that only some fills show, and what moves
# from one argument to another do no harm.
export AUTOKERNEL_ARCHIVE=$PWD/archive.db
# Makes a kernel of three arrays and checks it: ACCESS of each, the RMS tolerance, and statements that set
# x[i], y[i] or z[i] from a, b and c, which they hold before, and from the mean size of x.
try() {
    local file type name
    echo "--- $1 $2 $3 within $4: $5"
    mkdir -p part
    cat >part/problem.json <<JSON
{"schema": 1, "name": "part", "description": "$5", "sizes": [{"name": "n", "default": ${size:-4096}}],
 "dtypes": ["f32"], "flops": "3*n", "bytes": "3*n*dtype_bytes", "reference": "reference.c",
 "arguments": [{"name": "X", "shape": ["n"], "access": "$1"$(fill "$1")},
               {"name": "Y", "shape": ["n"], "access": "$2"$(fill "$2")},
               {"name": "Z", "shape": ["n"], "access": "$3"$(fill "$3")}],
 "tolerance": {"f32": {"relative": "4*eps", "rms": "$4"}}, "awkward": [{"n": 1}, {"n": 7}, {"n": 1023}]}
JSON
    cat >part/host.json <<'JSON'
{"ConfigurationSpace": {"TuningParameters": [{"Name": "ONE", "Type": "int", "Values": [1], "Default": 1}]},
 "KernelSpecification": {"Language": "C", "KernelName": "ak_kernel", "KernelFile": "host.c",
  "CompilerOptions": ["-std=gnu17", "-O2"], "Workspace": "0", "Threads": "1"}}
JSON
    for file in reference host; do
        type=double name=ak_reference
        [ $file = reference ] || type=float name=ak_kernel
        cat >part/$file.c <<C
void $name(const ak_host_call *call)
{
    const int64_t n = call->size[0];
    $type *x = call->arg[0], *y = call->arg[1], *z = call->arg[2];
    double mean = 0;
    for (int64_t i = 0; i < n; i++) mean += (x[i] < 0 ? -x[i] : x[i]) / (double)n;
    for (int64_t i = 0; i < n; i++) {
        const $type a = x[i], b = y[i], c = $([ "$3" = out ] && echo 0 || echo 'z[i]');
        $5;
        (void)a, (void)b, (void)c;
    }
}
C
    done
    autokernel check part 2>&1 | grep -E 'right|autokernel:' | tail -n 1 |
        sed 's/, for each of 8 draws of the inputs//'
}
fill() {
    [ "$1" = out ] || echo ', "fill": "uniform(-1,1)"'
}
try in in inout 2**-11 'z[i] = 0.9999 * c + 0.0001 * a'
try in in inout 1e-6 'z[i] = 0.9999 * c + 0.0001 * a + b'
try in inout out 2**-11 'z[i] = 0.9999 * b, y[i] = 0.5 * a'
try in in out 2**-12 'z[i] = 0.5 * b + 0.00005 * a'
try in in out 1e-6 'z[i] = 0.5 * b + 0.00005 * a'
try in in out 2**-11 'z[i] = 0.5 * b'
try in inout inout 1e-6 'z[i] = b, y[i] = a + c'
size=262144 try in in out 1/150 'z[i] = b * mean'
echo "--- one element, in place"
size=1 try in in inout 2**-11 'z[i] = 0.9999 * c + 0.00005 * a + 0.00005 * b'
