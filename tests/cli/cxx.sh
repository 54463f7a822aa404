# Host kernels in C++: as ak_kernel and as a plain function that a Launch calls; and what C++ cannot do here.
command -v gcc >/dev/null && echo 'int x;' | gcc -xc++ -c -o /dev/null - 2>/dev/null || { echo "no gcc for C++"; exit 77; }
autokernel new kernel mine >/dev/null
check() { autokernel check ./mine "$@" --config "UNROLL=4,THREADS=1,COMPILER=gcc,OPT_LEVEL=2" --size n=64 --quiet 2>&1 | grep -E '^(ok|1 of|autokernel|compile_error|rejected|invalid)' | sed 's/error .* of what/error E of what/'; }
sed -i 's/"Language": "C"/"Language": "C++"/; s/gnu17/gnu++17/' mine/host.json
cat >mine/host.c <<'C'
template <int N> static inline void part(float *z, const float *x, const float *y)
{
    for (int i = 0; i < N; i++) {
        z[i] = 2.0f * x[i] + y[i];
    }
}
void ak_kernel(const ak_host_call *call)
{
    auto *z = static_cast<float *>(call->arg[2]);
    auto *x = static_cast<const float *>(call->arg[0]), *y = static_cast<const float *>(call->arg[1]);
    int64_t i = 0, n = call->size[0];
    for (; i + UNROLL <= n; i += UNROLL) {
        part<UNROLL>(z + i, x + i, y + i);
    }
    for (; i < n; i++) {
        part<1>(z + i, x + i, y + i);
    }
}
C
check
echo "-- a plain function"
sed -i 's/void ak_kernel(const ak_host_call \*call)/void axpy(float *z, const float *x, const float *y, int64_t n)/; /static_cast/d; s/int64_t i = 0, n = call->size\[0\]/int64_t i = 0/' mine/host.c
sed -i 's/"KernelName": "ak_kernel"/"KernelName": "axpy", "Launch": { "Arguments": [{ "Buffer": "Z" }, { "Buffer": "X" }, { "Buffer": "Y" }, { "Int64": "n" }] }/' mine/host.json
check
try() { sed "$1" host.json >mine/host.json; check; }
cp mine/host.json .
try 's/{ "Buffer": "X" }/{ "Buffer": "W" }/'
try 's/{ "Int64": "n" }/{ "Int64": "n if n > 2 else 1" }/'
try 's/{ "Int64": "n" }/{ "Int64": "010*n" }/'
try 's/{ "Int64": "n" }/{ "Int64": "1e-05*100000*n + 0.05*0" }/' | grep -o "^ok"
try 's/{ "Int64": "n" }/{ "Int64": "n + 65536*65536 - 2*2147483648" }/' | grep -o "^ok"
try 's/{ "Int64": "n" }/{ "Int64": "n" }, { "Float32": 1e-5 }/' | grep -o 'too many arguments'
try 's/{ "Int64": "n" }/{ "TensorMap": "n" }/'
try 's/"Launch": {/"Launch": { "Grid": [1],/'
try 's/"Language": "C++"/"Language": "Pascal"/'
try 's/"Threads": "THREADS"/"Threads": "openmp"/'
echo "-- a plain function of the task's own dtype"
cp host.json mine
cp mine/host.c host.c
sed -i 's/"dtypes": \["f32"\]/"dtypes": ["f32", "f64"]/; s/"tolerance": {/& "f64": { "relative": "4*eps", "rms": "4*eps" },/' mine/problem.json
(printf '#if dtype_is_f64\ntypedef double real;\n#else\ntypedef float real;\n#endif\n'; sed 's/float /real /g; s/2\.0f/2/' <host.c) >mine/host.c
check
check --dtype f64
cp host.c mine
echo "-- a plain function that takes options which are numbers"
cp mine/problem.json problem.json
sed -i 's/"choices": \[\]/"choices": [{ "name": "alpha", "type": "real", "default": 2 }, { "name": "times", "type": "int", "minimum": 1, "maximum": 3, "default": 1 }]/' mine/problem.json
cp mine/reference.c reference.c
sed -i 's/2 \* x\[i\]/call->number[0] * call->number[1] * x[i]/; s/2\.0 \* x\[i\]/call->number[0] * call->number[1] * x[i]/' mine/reference.c
sed -i 's/int64_t n)/int64_t n, float a, int times)/; s/2\.0f \* x\[i\]/a * x[i]/; s/part<\(.*\)>(z + i, x + i, y + i)/part<\1>(z + i, x + i, y + i, a * times)/; s/const float \*y)$/const float *y, float a)/' mine/host.c
sed 's/{ "Int64": "n" }/{ "Int64": "n" }, { "Float32": "alpha" }, { "Int32": "times" }/' host.json >mine/host.json
check
check --set alpha=-1.5,times=3
try 's/{ "Int64": "n" }/{ "Int64": "n" }, { "Float32": "alpha" }, { "Int32": "alpha" }/'
try 's/{ "Int64": "n" }/{ "Int64": "n" }, { "Float32": "alpha" }, { "Int32": "1000000000*times" }/'
cp host.json mine
cp host.c mine
cp problem.json reference.c mine
echo "-- what needs the library of C++"
sed -i 's/int64_t i = 0;/int64_t i = 0; float *p = new float[n]; p[n \/ 2] = x[0]; z[0] = p[n \/ 3]; delete[] p;/' mine/host.c
check
