# Host kernels with OpenMP ("Threads": "openmp"): its threads are the runner's own, so that what holds for other
# kernels holds for these: no thread of their own, no system call, no work left out.
command -v gcc >/dev/null && echo 'int x;' | gcc -fopenmp -fsyntax-only -xc - 2>/dev/null || { echo "no gcc with OpenMP"; exit 77; }
autokernel new kernel mine >/dev/null
sed -i 's/"Threads": "THREADS"/"Threads": "openmp"/; s/"Language": "C",/"Language": "C", "Launch": { "Arguments": [{ "Buffer": "Z" }, { "Buffer": "X" }, { "Buffer": "Y" }, { "Int64": "n" }] },/; s/"KernelName": "ak_kernel"/"KernelName": "axpy"/' mine/host.json
check() { autokernel check ./mine --config "UNROLL=4,THREADS=${2:-2},COMPILER=${3:-gcc},OPT_LEVEL=2" --size n=5000 --threads 2 --quiet 2>&1 | grep -E '^(ok|1 of|autokernel|compile_error|rejected|invalid|wrong_result|crashed)' | sed 's/error .* of what/error E of what/; s/ of [0-9]* elements/ of N elements/'; }
write() { printf '#include <omp.h>\nvoid axpy(float *z, const float *x, const float *y, int64_t n)\n{\n%s\n}\n' "$1" >mine/host.c; }
for schedule in static 'static, 7' dynamic 'dynamic, 16' guided runtime 'nonmonotonic: runtime' 'nonmonotonic: dynamic, 3' 'monotonic: guided, 5'; do
    echo "-- schedule($schedule)"
    write "#pragma omp parallel for schedule($schedule) num_threads(THREADS)
    for (int64_t i = 0; i < n; i++) z[i] = 2.0f * x[i] + y[i];"
    check
done
echo "-- loops with nowait, single, sections, critical, atomic, reduction, nested, what it asks"
write '    int threads = 0, sum = 0, both = 0, nested = 0, bad = 0;
    long double turns = 0;
#pragma omp parallel reduction(+ : threads)
    {
        threads += omp_get_thread_num() < omp_get_num_threads();
        for (int round = 0; round < 100; round++) {
#pragma omp for schedule(dynamic, 50) nowait
            for (int64_t i = 0; i < n / 2; i++) z[i] = 2.0f * x[i] + y[i];
#pragma omp for schedule(guided) nowait
            for (int64_t i = n - 1; i >= n / 2; i--) z[i] = 2.0f * x[i] + y[i];
        }
#pragma omp barrier
#pragma omp single
        sum = 1;
#pragma omp sections
        {
#pragma omp section
            {
#pragma omp critical
                both++;
            }
#pragma omp section
            {
#pragma omp critical
                both++;
            }
        }
#pragma omp parallel
        {
#pragma omp atomic
            nested += omp_get_num_threads();
#pragma omp critical
            {
#pragma omp atomic
                turns += 1.0L; /* needs a lock, because no instruction adds it */
            }
        }
    }
#pragma omp parallel sections
    {
#pragma omp section
        { _Pragma("omp atomic") both++; }
#pragma omp section
        { _Pragma("omp atomic") both++; }
    }
    bad = threads < 1 || threads > omp_get_max_threads() || sum != 1 || both != 4 || nested != threads || turns < threads || omp_in_parallel();
    if (bad) z[0] = -1e30f;'
check
check mine 1
echo "-- what is refused: other functions, threads of its own, a kernel that leaves out work, another compiler"
write '#pragma omp parallel
#pragma omp single
#pragma omp task
    for (int64_t i = 0; i < n; i++) z[i] = 2.0f * x[i] + y[i];'
check
write '    z[0] = (float)omp_get_wtime();'
check
write '    static int done;
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) if (!done) z[i] = 2.0f * x[i] + y[i];
    done = 1;'
check
write '#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) if (z[i] != z[i]) z[i] = 2.0f * x[i] + y[i];'
check | grep -o '^wrong_result'
if command -v clang >/dev/null; then
    write '#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) z[i] = 2.0f * x[i] + y[i];'
    check mine 2 clang | grep -o 'OpenMP is for gcc[^,]*\|cannot find.*omp\|uses __kmpc' | head -1 | sed 's/cannot find.*omp/uses __kmpc/'
else
    echo 'uses __kmpc'
fi
echo "-- a tuning run, end to end"
write '#pragma omp parallel for schedule(dynamic, 64 * UNROLL) num_threads(THREADS)
    for (int64_t i = 0; i < n; i++) z[i] = 2.0f * x[i] + y[i];'
autokernel tune ./mine --size n=20000 --threads 2 --fix COMPILER=gcc --evals 3 --finish-time 0.02 --libraries none --archive a.db --quiet 2>&1 | grep -c '^best'
autokernel export ./mine --size n=20000 --archive a.db --format bundle -o x.akb 2>&1 | grep -o 'a bundle cannot hold a kernel with OpenMP'
echo "-- without \"openmp\" the option is refused, and \"openmp\" is for the host"
sed -i 's/"Threads": "openmp"/"Threads": "THREADS"/; s/"-std=gnu17"/"-std=gnu17", "-fopenmp"/' mine/host.json
check
echo "-- directives that are ignored are named"
sed -i 's/, "-fopenmp"//' mine/host.json
autokernel tune ./mine --size n=20000 --fix COMPILER=gcc --evals 1 --libraries none --finish-time 0.02 --archive b.db --quiet 2>&1 | grep OpenMP
autokernel check ./mine --size n=200 --fix COMPILER=gcc --configs 0 --quiet 2>&1 | grep OpenMP
autokernel bench ./mine --sizes '200;300' --fix COMPILER=gcc --archive b.db --quiet 2>&1 | grep OpenMP
autokernel compare ./mine --sizes '200;300' --fix COMPILER=gcc --time 0.1 --archive b.db 2>&1 | grep OpenMP
